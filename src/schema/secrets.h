/*
 * Secrets in command lines and environments: each is recorded as ***.
 *
 * A value is secret because of the name before it: an option (--api-key X, --token=X), a variable
 * (GITHUB_TOKEN=X), a header (Authorization: X), a member of a JSON object or of a URL's query; because of
 * its place: the password in scheme://user:password@host, the value of an option of a known program
 * (sshpass -p X); or because of how it begins: ghp_…, eyJ…, a private key. All are found inside an argument
 * too, as in sh -c "curl --token X". Where it is unclear how far a value goes, too much is masked rather than
 * too little. One digit alone is no secret: ffmpeg -pass 2, sort --key=3.
 *
 * The rules are in secret_rules.c; a user adds names and patterns to them (struct secrets).
 */
#ifndef METRON_SCHEMA_SECRETS_H
#define METRON_SCHEMA_SECRETS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define SECRETS_MASK "***"

/* What is secret beside the built-in rules. Zeroed: nothing. */
struct secrets {
    bool off;            /* nothing is secret, not even by the built-in rules */
    struct strbuf names; /* as words (secret_rules.h), each ended by NUL */
    regex_t *patterns;
    size_t pattern_count, pattern_capacity;
};

extern const struct secrets secrets_built_in;

/* A name of options and variables, or words in such names; case, - and _ do not matter. 0 or -ENOMEM. */
int secrets_add_name(struct secrets *secrets, const char *name, size_t length);
/* A POSIX extended regular expression: what it matches is secret. 0, or -EINVAL where it is none. */
int secrets_add_pattern(struct secrets *secrets, const char *pattern, size_t length);
void secrets_fini(struct secrets *secrets);

/* In all that follows, `secrets` NULL or off: the same text is made with nothing masked. */

/* Arguments as /proc/PID/cmdline has them, NUL-separated; appends one printable line, quoted for a shell.
 * Empty arguments at the end are dropped: there they are what a process left that overwrote its own
 * arguments. */
void secrets_mask_arguments(struct strbuf *out, const struct secrets *secrets, const char *cmdline,
                            size_t length);
/* The same from an argument vector, NULL-terminated; here nothing is dropped. */
void secrets_mask_argv(struct strbuf *out, const struct secrets *secrets, char *const *argv);

/* What one argument means for those after it; starts zeroed. */
struct secrets_state {
    const struct secret_rule *next;    /* makes the next argument secret; NULL: none does */
    const struct secret_rule *program; /* the latest program that has rules of its own; NULL: none */
    bool search;                       /* SECRET_WORDs are what the command searches for */
};

/* One argument after the other, neither quoted nor made printable, for lists of them. */
void secrets_mask_argument(struct strbuf *out, const struct secrets *secrets, struct secrets_state *state,
                           const char *argument, size_t length);

/* The value of the environment variable `name`. */
void secrets_mask_value(struct strbuf *out, const struct secrets *secrets, const char *name,
                        const char *value);

#endif
