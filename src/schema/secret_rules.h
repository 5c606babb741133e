/*
 * The table of what is secret, one rule a row, and the names that it makes secret. How a value is found and
 * masked is in secret_scan.c.
 *
 * Names are compared as words: "--apiKey2" is "_api_key_", in small letters, without the digits at the end of
 * a word. A rule for names is a part of that text, so "_key_" is a whole word and "token_" the end of one.
 */
#ifndef METRON_SCHEMA_SECRET_RULES_H
#define METRON_SCHEMA_SECRET_RULES_H

#include <stdbool.h>
#include <stddef.h>

enum secret_kind {
    /* Names of options, variables, headers, members. The last row that fits decides. */
    SECRET_NAME,       /* the name has this */
    SECRET_NAME_END,   /* it ends with this */
    SECRET_QUERY,      /* it ends with this and is a parameter of a URL */
    SECRET_OPTION,     /* it is exactly this option */
    SECRET_CODE,       /* it ends with this, and the value is a number of several digits */
    SECRET_NOT_END,    /* harmless: it ends with this */
    SECRET_NOT_NAME,   /* harmless: it is exactly this, not behind a semicolon */
    SECRET_NOT_OPTION, /* harmless: it is an option of these words, and maybe more */
    /* Values that show what they are. */
    SECRET_VALUE,  /* begins so; `least` letters and digits follow */
    SECRET_DASHED, /* the same, - and _ among them */
    SECRET_PATH,   /* what follows in the path of a URL: a host, and a text soon after it */
    SECRET_WORD,   /* this word alone, not an option, makes the next one of the argument secret */
    /* Options of one program; its rows are neighbours. */
    SECRET_PASSWORD, /* the value is a password: "sshpass -p X", "sshpass -pX" */
    SECRET_LOGIN,    /* the value is a user, and a password behind a colon: "curl -u X:Y" */
    SECRET_ATTACHED, /* a password only if it is attached: "mysql -pX" */
    SECRET_PROGRAM,  /* none: options that follow are no longer those of the program before it */
    SECRET_SEARCH,   /* none, and SECRET_WORDs that follow are what it searches for */
};

struct secret_rule {
    enum secret_kind kind;
    unsigned least; /* of SECRET_VALUE and SECRET_DASHED */
    const char *text;
    size_t length; /* of the text; of the host in SECRET_PATH, of the name in the rules for programs */
};

extern const struct secret_rule secret_rules[];
extern const size_t secret_rule_count;

#define SECRET_WORDS_SIZE 256

/* Writes a name as words, ended by NUL, and returns their length. Of a name that is too long, only the end
 * counts. */
size_t secret_words(const char *name, size_t length, char out[SECRET_WORDS_SIZE]);
/* The rule that makes a name secret, or NULL. `words`: the name as words; `before`: the byte in front of it,
 * or NUL. */
const struct secret_rule *secret_name(const char *name, size_t length, const char *words, char before);
/* Whether a word begins as a known kind of token does. */
bool secret_value(const char *text, size_t length);
/* Whether a word alone makes the next one secret. */
bool secret_word(const char *word, size_t length);
/* Where in a path, which follows its host and port, the secret begins; 0: there is none. */
size_t secret_path(const char *host, size_t length, const char *path, size_t rest);
/* A rule for the options of a program, and the next one of the same program; NULL: there is none. */
const struct secret_rule *secret_program(const char *name, size_t length);
const struct secret_rule *secret_program_next(const struct secret_rule *rule);

#endif
