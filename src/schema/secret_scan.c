/*
 * Finding secrets. One scan goes over an argument from word to word (runs of letters, digits, - _ .) and
 * marks the bytes that are secret. Marks may overlap, so each rule is applied without regard to the others.
 *
 * The scan is linear: it goes back only to the start of a value that may be none after all, and reads a URL
 * ahead only up to the next one.
 */
#include "schema/secret_scan.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "schema/secret_rules.h"

#define BLOCK_LOOKAHEAD 64
#define CODE_DIGITS     4 /* at least, of a PIN or a one-time password */

/* What ends a bare value within a script or a URL, within JSON, and within a list such as UID=bob;PWD=X. */
#define BARE_ENDERS " \t\r\n'\"`;|&()<>"
#define JSON_ENDERS " \t\r\n'\"`,}]"
#define LIST_ENDERS " \t\r\n'\"`;"
/* What may follow the closing quote of a text that ends with a blank. */
#define AFTER_QUOTE " \t\r\n;|&()<>,]}"
/* What ends a command of a script. */
#define COMMAND_ENDERS ";|&\n"

/* For a value that is secret by a name of the user, or by the word before it. */
static const struct secret_rule by_name = {.kind = SECRET_NAME};

const struct secret_rule *secret_name_rule(const struct secrets *secrets, const char *name, size_t length,
                                           char before)
{
    char words[SECRET_WORDS_SIZE];

    (void)secret_words(name, length, words);
    for (size_t i = 0; i < secrets->names.length;) {
        size_t added = strlen(secrets->names.data + i);

        if (strstr(words, secrets->names.data + i))
            return &by_name;
        i += added + 1;
    }
    return secret_name(name, length, words, before);
}

/* ---- words, and where values end ---- */

struct scan {
    const struct secrets *secrets;
    struct secrets_state *state;
    const char *text;
    size_t length;
    char *marks;        /* a byte for each of the text: 1 if it is secret, else 0 */
    size_t quotes_read; /* up to here: */
    char quote;         /* is open; NUL: none */
    char inner;         /* the same of \", within quotes or not */
};

/* A run of letters, digits, - _ and dots. */
struct word {
    size_t from, to;
    char quote;     /* the word follows this one, which is closed later; NUL: none */
    bool closed;    /* there is nothing else in its quotes */
    char separator; /* what follows: = : a blank, NUL at the end of the text, else NO_SEPARATOR */
    size_t value;   /* begins here, with one of the first three */
};

#define NO_SEPARATOR '/'

static bool is_quote(char byte)
{
    return byte == '\'' || byte == '"' || byte == '`';
}

static bool is_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '-' || byte == '_' || byte == '.';
}

static char at(const struct scan *scan, size_t i)
{
    return i < scan->length ? scan->text[i] : '\0';
}

static bool has(const struct scan *scan, size_t i, const char *text)
{
    size_t length = strlen(text);

    return i + length <= scan->length && memcmp(scan->text + i, text, length) == 0;
}

/* Also over the backslash that continues a line of a script. */
static size_t skip_blanks(const struct scan *scan, size_t i)
{
    while (i < scan->length && (strchr(" \t\r\n", at(scan, i)) || has(scan, i, "\\\n")))
        i++;
    return i;
}

/* The byte before a word and the blanks in front of it; NUL: there is none. */
static char before_blanks(const struct scan *scan, size_t i)
{
    while (i > 0 && (scan->text[i - 1] == ' ' || scan->text[i - 1] == '\t'))
        i--;
    return i > 0 ? scan->text[i - 1] : '\0';
}

static size_t find_any(const struct scan *scan, size_t i, size_t limit, const char *enders)
{
    while (i < limit && (scan->text[i] == '\0' || !strchr(enders, scan->text[i])))
        i++;
    return i;
}

static size_t find_quote(const struct scan *scan, size_t i, char quote)
{
    for (; i < scan->length && scan->text[i] != quote; i++) {
        if (quote != '\'' && scan->text[i] == '\\')
            i++;
    }
    return i < scan->length ? i : scan->length;
}

static struct word word_at(const struct scan *scan, size_t from)
{
    struct word word = {.from = from, .to = from, .separator = NO_SEPARATOR};

    while (word.to < scan->length && is_word(scan->text[word.to]))
        word.to++;

    size_t after = word.to;

    if (from > 0 && is_quote(scan->text[from - 1])) {
        size_t close = word.to + (at(scan, word.to) == '\\'); /* where text is quoted twice */

        word.closed = at(scan, close) == scan->text[from - 1];
        word.quote = word.closed ? '\0' : scan->text[from - 1];
        after = word.closed ? close + 1 : after;
        if (word.closed && at(scan, after) == ']' && at(scan, skip_blanks(scan, after + 1)) == '=')
            after++; /* environ["TOKEN"] = "X" */
    }
    word.value = skip_blanks(scan, after);

    char next = at(scan, word.value), second = at(scan, word.value + 1);
    bool touches = word.value == after;
    bool doubled = next == '=' ? second == '=' || second == '>' : second == '=' && strchr(":?+!", next);

    if (word.value == scan->length) {
        word.separator = '\0';
    } else if (next == '=' || doubled) {
        word.separator = '=';
        word.value += doubled ? 2 : 1;
        if (!touches || word.closed || doubled) /* password = "X", =="X", => "X", := "X" */
            word.value = skip_blanks(scan, word.value);
    } else if ((next == ':' && (touches || word.closed)) || (next == ',' && word.closed)) {
        word.separator = next == ':' ? ':' : ' '; /* "--token", "X" */
        word.value = skip_blanks(scan, word.value + 1);
    } else if (!touches) {
        word.separator = ' ';
    }
    return word;
}

/* Where the value behind a word ends; `from`: where it begins, inside quotes of its own. */
static size_t value_end(const struct scan *scan, const struct word *word, size_t *from)
{
    size_t i = *from = word->value;
    char first = at(scan, i);
    bool joined = word->separator != ' ';

    if (word->separator == '=' && word->from == 0)
        return scan->length; /* all the rest of the argument, blanks included */
    if (joined && word->quote)
        return find_quote(scan, i, word->quote);
    if (first == '\\' && is_quote(at(scan, i + 1))) {
        *from = i + 2;
        return find_any(scan, *from, scan->length, "\\\"'`");
    }
    if (is_quote(first)) {
        *from = i + 1;
        return find_quote(scan, *from, first);
    }
    if (joined && (first == '[' || first == '{'))
        return scan->length; /* how deep it goes is not counted */
    if (word->separator == ':' && !word->closed)
        return find_any(scan, i, scan->length, "\n"); /* a header */
    if (word->separator == ':')
        return find_any(scan, i, scan->length, JSON_ENDERS);
    if (joined && before_blanks(scan, word->from) == ';')
        return find_any(scan, i, scan->length, LIST_ENDERS);
    return find_any(scan, i, scan->length, BARE_ENDERS);
}

/* Reads on to `end`, which is never before the last one. */
static void read_quotes(struct scan *scan, size_t end)
{
    for (; scan->quotes_read < end; scan->quotes_read++) {
        char byte = scan->text[scan->quotes_read], next = at(scan, scan->quotes_read + 1);
        bool escaped = byte == '\\' && !(scan->quote == '\'' && next == '\'');
        char *open = escaped ? &scan->inner : &scan->quote;

        byte = escaped ? next : byte;
        scan->quotes_read += escaped;
        if (is_quote(byte) && (*open == '\0' || *open == byte)) {
            *open = *open ? '\0' : byte;
            if (!escaped)
                scan->inner = '\0';
        }
    }
}

/* Whether a quote where the value of a word should begin really opens one. It closes what is before it in
 * "Enter password "; but a quote that is open may be an apostrophe, so what follows has to fit, too. */
static bool has_value(struct scan *scan, const struct word *word)
{
    size_t from;

    (void)value_end(scan, word, &from);
    if (from == word->value)
        return true;
    read_quotes(scan, word->from);
    char open = scan->text[word->value] == '\\' ? scan->inner : scan->quote;
    return open != scan->text[from - 1] || (from < scan->length && !strchr(AFTER_QUOTE, scan->text[from]));
}

/* ---- marking ---- */

static void mark(struct scan *scan, size_t from, size_t to)
{
    bool digit = to - from == 1 && isdigit((unsigned char)scan->text[from]);

    if (!digit)
        memset(scan->marks + from, 1, to - from);
}

/* user:password, in [from, to). Where there is no real password, the user is the secret. */
static void mark_login(struct scan *scan, size_t from, size_t to, const char *separators)
{
    size_t colon = find_any(scan, from, to, separators);

    if (colon == to)
        return;
    if (colon + 1 == to || has(scan, colon + 1, "x-oauth-basic"))
        mark(scan, from, colon);
    mark(scan, colon + 1, to);
}

/* A number at `i`, maybe in quotes, if it has enough digits. */
static void mark_code(struct scan *scan, size_t i)
{
    i += at(scan, i) == '\\';
    i += is_quote(at(scan, i));

    size_t to = i;

    while (isdigit((unsigned char)at(scan, to)))
        to++;
    if (to - i >= CODE_DIGITS && !is_word(at(scan, to)))
        mark(scan, i, to);
}

static void mark_by(struct scan *scan, const struct secret_rule *rule, size_t from, size_t to)
{
    if (rule->kind == SECRET_LOGIN)
        mark_login(scan, from, to, ":%,");
    else if (rule->kind == SECRET_CODE)
        mark_code(scan, from);
    else
        mark(scan, from, to);
}

/* The value behind a word; it may be the next argument. One that begins with a dash may be another option,
 * and a quote may close what is before it after all: the scan goes over these as well. Returns where to go
 * on. */
static size_t mark_value(struct scan *scan, const struct word *word, const struct secret_rule *rule)
{
    size_t from, to;

    if (word->separator == '\0') {
        scan->state->next = rule;
        return scan->length;
    }
    if (rule->kind == SECRET_CODE) { /* what is no number may have secrets in it */
        mark_code(scan, word->value);
        return word->to;
    }
    to = value_end(scan, word, &from);
    mark_by(scan, rule, from, to);
    char first = at(scan, word->value);
    return word->separator == ' ' && (first == '-' || is_quote(first)) ? word->value : to;
}

/* Where a URL ends whose scheme ends at `i`: at the latest where the next one has its "://". */
static size_t url_end(const struct scan *scan, size_t i)
{
    while (i < scan->length && (scan->text[i] == '\0' || !strchr(" \t\r\n'\"`<>", scan->text[i])) &&
           !has(scan, i, "://"))
        i++;
    return i;
}

/* From behind "://" on: user:password@host. A password with an unescaped / ? or # in it ends the authority
 * too early; what is no port there is taken for the start of one. On the web a lone user is a token. */
static void mark_url(struct scan *scan, size_t i, bool web)
{
    size_t span = url_end(scan, i);
    size_t authority = find_any(scan, i, span, "/?#");
    size_t colon = find_any(scan, i, authority, ":");
    size_t port = colon;
    const char *sign = memrchr(scan->text + i, '@', authority - i);

    do
        port++;
    while (port < authority && isdigit((unsigned char)scan->text[port]));
    if (!sign && port < authority)
        sign = memrchr(scan->text + colon, '@', span - colon);
    if (!sign || at(scan, i) == '[')
        return;

    size_t host = (size_t)(sign - scan->text);

    if (web && colon > host)
        mark(scan, i, host);
    else
        mark_login(scan, i, host, ":");
}

/* The path behind a host and maybe its port, if it is secret. Returns where to go on; 0: it is no path. */
static size_t mark_path(struct scan *scan, const struct word *word)
{
    size_t path = word->to;

    if (at(scan, path) == ':') {
        do
            path++;
        while (isdigit((unsigned char)at(scan, path)));
    }
    if (at(scan, path) != '/')
        return 0;

    size_t skip =
        secret_path(scan->text + word->from, word->to - word->from, scan->text + path, scan->length - path);

    if (skip == 0)
        return path == word->to ? path : 0; /* password:1/2 is a name and its value */

    size_t from = path + skip, to = find_any(scan, from, scan->length, BARE_ENDERS "?#");

    mark(scan, from, to);
    return to;
}

/* -----BEGIN RSA PRIVATE KEY----- up to its end, or that of the text. */
static size_t mark_block(struct scan *scan, const struct word *word)
{
    const char *text = scan->text + word->to;
    size_t rest = scan->length - word->to;

    if (!memmem(text, rest < BLOCK_LOOKAHEAD ? rest : BLOCK_LOOKAHEAD, "PRIVATE KEY", 11))
        return word->to;

    const char *end = memmem(text, rest, "-----END", 8);
    size_t to = end ? (size_t)(end - scan->text) : scan->length;

    mark(scan, word->from, to);
    return to;
}

static void mark_matches(struct scan *scan, const regex_t *pattern, const char *text)
{
    regmatch_t match = {.rm_so = 0, .rm_eo = (regoff_t)scan->length};

    while (match.rm_so < match.rm_eo &&
           regexec(pattern, text, 1, &match, REG_STARTEND | (match.rm_so > 0 ? REG_NOTBOL : 0)) == 0) {
        memset(scan->marks + match.rm_so, 1, (size_t)(match.rm_eo - match.rm_so));
        match.rm_so = match.rm_eo + (match.rm_eo == match.rm_so);
        match.rm_eo = (regoff_t)scan->length;
    }
}

static void mark_patterns(struct scan *scan)
{
    struct strbuf text = STRBUF_INIT;

    if (scan->secrets->pattern_count == 0)
        return;
    strbuf_add(&text, scan->text, scan->length); /* regexec wants a NUL behind it */
    if (text.failed)
        memset(scan->marks, 1, scan->length);
    for (size_t i = 0; i < scan->secrets->pattern_count && !text.failed; i++)
        mark_matches(scan, &scan->secrets->patterns[i], strbuf_text(&text));
    strbuf_fini(&text);
}

/* ---- the scan ---- */

/* Whether an option of one letter has its value attached: "-uX", "-u!X". It becomes the word's value. */
static bool take_attached(struct scan *scan, struct word *word)
{
    struct word attached = *word;

    attached.value = word->from + 2;
    attached.separator = '=';
    if (word->to == attached.value &&
        (word->closed || word->to == scan->length || isspace((unsigned char)scan->text[word->to])))
        return false;
    if (!has_value(scan, &attached))
        return false;
    *word = attached;
    return true;
}

/* The rule for an option of the latest program, or NULL: "-u X", "-uX", "-sSu X", "--user X", "password X".
 * The word's attached value becomes its value. */
static const struct secret_rule *find_option(struct scan *scan, struct word *word)
{
    const char *text = scan->text + word->from;
    size_t length = word->to - word->from;

    for (const struct secret_rule *rule = scan->state->program; rule; rule = secret_program_next(rule)) {
        const char *option = rule->text + rule->length + 1;
        size_t letters = strlen(option);

        if (letters == 2 && length >= 2 && memcmp(text, option, 2) == 0 && take_attached(scan, word))
            return rule;
        if (rule->kind != SECRET_ATTACHED && length >= 2 &&
            (letters == 2 ? text[0] == '-' && text[1] != '-' && text[length - 1] == option[1]
                          : letters == length && memcmp(text, option, length) == 0))
            return rule;
    }
    return NULL;
}

/* "password X" within an argument. */
static bool is_secret_word(struct scan *scan, const struct word *word)
{
    return word->separator == ' ' && !word->closed && !scan->state->search &&
           secret_word(scan->text + word->from, word->to - word->from) && has_value(scan, word);
}

/* A word that is an option or has a value behind it. Its name is judged last, since that takes longest. */
static size_t scan_name(struct scan *scan, const struct word *word)
{
    const char *name = scan->text + word->from;
    size_t length = word->to - word->from;
    bool joined = word->separator == '=' || word->separator == ':';
    const struct secret_rule *rule = NULL;

    if (word->separator == NO_SEPARATOR)
        return word->to;
    if (joined || name[0] == '-') {
        char before = before_blanks(scan, word->from);

        if (before != ';') /* UID=bob; PWD=X is a list, but "x & sig=X" no query */
            before = word->from > 0 ? name[-1] : '\0';
        rule = secret_name_rule(scan->secrets, name, length, before);
        if (rule && rule->kind == SECRET_CODE && !joined && name[1] != '-')
            rule = NULL; /* mdrun -pin 1234 */
    } else if (is_secret_word(scan, word)) {
        rule = &by_name;
    }
    return rule ? mark_value(scan, word, rule) : word->to;
}

/* A program, or an argument with the name of one: mysqldump may dump the database rg. So a search replaces
 * the program before it only where it surely begins a command. */
static void enter_program(struct scan *scan, const struct word *word, const struct secret_rule *rule)
{
    char before = before_blanks(scan, word->from);
    bool search = rule->kind == SECRET_SEARCH;

    scan->state->search = scan->state->search || search;
    if (!search || (before != '\0' && strchr(COMMAND_ENDERS, before)))
        scan->state->program = rule;
}

/* Returns where to go on. */
static size_t scan_word(struct scan *scan, struct word *word)
{
    const char *text = scan->text + word->from;
    size_t length = word->to - word->from;
    bool option = text[0] == '-';
    size_t letter = option && length > 2 && text[1] != '-' ? 2 : 0; /* -tghp_… */
    const struct secret_rule *rule;
    size_t path;

    if (has(scan, word->to, "://")) {
        mark_url(scan, word->to + 3, strncasecmp(text, "http", 4) == 0);
        return word->to + 3;
    }
    if (secret_value(text + letter, length - letter)) {
        mark(scan, word->from + letter, word->to);
        return word->to;
    }
    if (has(scan, word->from, "-----BEGIN"))
        return mark_block(scan, word);
    if (!option && (path = mark_path(scan, word)) > 0)
        return path;
    if ((rule = find_option(scan, word)) != NULL)
        return mark_value(scan, word, rule);
    if (!option && word->separator != NO_SEPARATOR && (rule = secret_program(text, length)) != NULL)
        enter_program(scan, word, rule);
    return scan_name(scan, word);
}

void secret_scan(struct strbuf *marks, const struct secrets *secrets, struct secrets_state *state,
                 const char *text, size_t length)
{
    const struct secret_rule *rule = state->next;

    strbuf_reset(marks);
    if (strbuf_reserve(marks, length + 1) < 0)
        return;
    memset(marks->data, 0, length);
    marks->length = length;
    if (!secrets || secrets->off)
        return;

    struct scan scan = {
        .secrets = secrets, .state = state, .text = text, .length = length, .marks = marks->data};

    state->next = NULL;
    if (rule)
        mark_by(&scan, rule, 0, length);
    for (size_t i = 0; i < length;) {
        if (is_word(text[i])) {
            struct word word = word_at(&scan, i);

            i = scan_word(&scan, &word);
        } else {
            if (strchr(COMMAND_ENDERS, text[i]))
                state->search = false;
            i++;
        }
    }
    state->search = false; /* it ends with its argument, too */
    mark_patterns(&scan);
}
