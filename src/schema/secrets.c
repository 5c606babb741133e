/*
 * Finding secrets. One scan goes over an argument from name to name (runs of letters, digits, - _ .), and
 * looks at what stands before and after each: a secret name with a value has that value masked and the scan
 * goes on behind it. The scan is linear: it never goes back, and looks ahead a bounded way only for URLs.
 */
#include "schema/secrets.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

#define URL_LOOKAHEAD 2048

/* ---- names ---- */

static bool word_is(const char *word, size_t length, const char *known)
{
    return strlen(known) == length && strncasecmp(word, known, length) == 0;
}

static bool word_ends(const char *word, size_t length, const char *known)
{
    size_t known_length = strlen(known);

    return length >= known_length && strncasecmp(word + length - known_length, known, known_length) == 0;
}

static bool word_contains(const char *word, size_t length, const char *known)
{
    size_t known_length = strlen(known);

    for (size_t i = 0; i + known_length <= length; i++) {
        if (strncasecmp(word + i, known, known_length) == 0)
            return true;
    }
    return false;
}

static bool word_is_secret(const char *word, size_t length)
{
    static const char *const words[] = {
        "key",    "apikey", "accesskey", "secretkey", "privatekey", "auth",       "authorization",
        "bearer", "jwt",    "pwd",       "pass",      "passphrase", "credential", "credentials",
    };

    while (length > 0 && isdigit((unsigned char)word[length - 1])) /* KEY2 */
        length--;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (word_is(word, length, words[i]))
            return true;
    }
    /* Endings, not parts: --max-tokens and --tokenizer are common and harmless. */
    return word_ends(word, length, "token") || word_ends(word, length, "cookie") ||
           word_contains(word, length, "passw") || word_contains(word, length, "secret");
}

/* apiKey, HTTPAuth: a new word begins with a capital after a small letter or digit, and with the last capital
 * of several before a small letter. */
static bool word_begins(const char *name, size_t length, size_t i)
{
    unsigned char before = (unsigned char)name[i - 1];
    unsigned char here = (unsigned char)name[i];

    if (!isupper(here))
        return false;
    if (islower(before) || isdigit(before))
        return true;
    return isupper(before) && i + 1 < length && islower((unsigned char)name[i + 1]);
}

bool secrets_name_is_secret(const char *name, size_t length)
{
    size_t start = 0;

    /* Every shell has this one, and it names the working folder. */
    if (length == 3 && memcmp(name, "PWD", 3) == 0)
        return false;
    for (size_t i = 0; i <= length; i++) {
        bool separator = i < length && !isalnum((unsigned char)name[i]);

        if (i == length || separator || (i > start && word_begins(name, length, i))) {
            if (word_is_secret(name + start, i - start))
                return true;
            start = separator ? i + 1 : i;
        }
    }
    return false;
}

/* ---- where values end ---- */

struct scan {
    struct strbuf *out;
    const char *text;
    size_t length;
    size_t copied; /* up to here the text is in `out` */
    const char *mask;
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static bool is_quote(char byte)
{
    return byte == '\'' || byte == '"' || byte == '`';
}

static bool is_name(char byte)
{
    return isalnum((unsigned char)byte) || byte == '-' || byte == '_' || byte == '.';
}

static char at(const struct scan *scan, size_t i)
{
    return i < scan->length ? scan->text[i] : '\0';
}

/* Also over the backslash that continues a line of a script. */
static size_t skip_blanks(const struct scan *scan, size_t i)
{
    while (i < scan->length &&
           (is_blank(scan->text[i]) || (scan->text[i] == '\\' && at(scan, i + 1) == '\n')))
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

static size_t find_any(const struct scan *scan, size_t i, const char *enders)
{
    while (i < scan->length && (scan->text[i] == '\0' || !strchr(enders, scan->text[i])))
        i++;
    return i;
}

/* Writes what is not yet copied up to `from`, then the mask for [from, to). Returns to. */
static size_t mask(struct scan *scan, size_t from, size_t to)
{
    if (to <= from)
        return from;
    strbuf_add(scan->out, scan->text + scan->copied, from - scan->copied);
    strbuf_adds(scan->out, scan->mask);
    scan->copied = to;
    return to;
}

/* A value from `i` on: in quotes of its own (escaped ones, where text is quoted twice), else up to one of
 * `enders`. */
static size_t mask_value_at(struct scan *scan, size_t i, const char *enders)
{
    if (at(scan, i) == '\\' && is_quote(at(scan, i + 1)))
        return mask(scan, i + 2, find_any(scan, i + 2, "\\\"'`"));
    if (is_quote(at(scan, i)))
        return mask(scan, i + 1, find_quote(scan, i + 1, at(scan, i)));
    return mask(scan, i, find_any(scan, i, enders));
}

/* ---- the scan ---- */

/* What ends a bare value within a script or a URL. */
#define BARE_ENDERS " \t\r\n'\"`;|&()<>"
#define JSON_ENDERS " \t\r\n'\"`,}]"

/* "NAME=value". From the start of an argument the value is all the rest, blanks included. */
static size_t mask_assigned(struct scan *scan, size_t name, size_t value, char quote)
{
    if (name == 0)
        return mask(scan, value, scan->length);
    if (quote)
        return mask(scan, value, find_quote(scan, value, quote));
    return mask_value_at(scan, value, BARE_ENDERS);
}

/* "Name: value", as in a header: up to the end of the line, or of the quotes it stands in. */
static size_t mask_header(struct scan *scan, size_t value, char quote)
{
    value = skip_blanks(scan, value);
    if (quote)
        return mask(scan, value, find_quote(scan, value, quote));
    if (is_quote(at(scan, value)))
        return mask_value_at(scan, value, "");
    return mask(scan, value, find_any(scan, value, "\n"));
}

/* After a secret name that ends at `end`. Returns where to go on; `value_is_next` if the value is the next
 * argument. */
static size_t mask_after_name(struct scan *scan, size_t name, size_t end, bool *value_is_next)
{
    char before = name > 0 ? scan->text[name - 1] : '\0';
    char quote = is_quote(before) ? before : '\0';
    size_t escaped = quote && at(scan, end) == '\\' ? 1 : 0;
    bool closed = quote && at(scan, end + escaped) == quote;
    size_t after = closed ? end + escaped + 1 : end;
    size_t next = skip_blanks(scan, after);

    if (at(scan, end) == '=')
        return mask_assigned(scan, name, end + 1, quote);
    if (closed && at(scan, next) == ':') /* a member of a JSON object */
        return mask_value_at(scan, skip_blanks(scan, next + 1), JSON_ENDERS);
    if (at(scan, end) == ':' && !(at(scan, end + 1) == '/' && at(scan, end + 2) == '/'))
        return mask_header(scan, end + 1, quote);

    bool option = scan->text[name] == '-' && strncmp(scan->text + name, "--no-", 5) != 0;
    bool bearer = word_is(scan->text + name, end - name, "bearer");

    if (!option && !bearer)
        return end;
    if (closed && at(scan, next) == ',') /* "--token", "X" */
        next = skip_blanks(scan, next + 1);
    if (next == scan->length) {
        *value_is_next = option;
        return scan->length;
    }
    if (next == after || at(scan, next) == '-')
        return after;
    return mask_value_at(scan, next, BARE_ENDERS);
}

static bool all_digits(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)text[i]))
            return false;
    }
    return true;
}

/* After "://" at `i`: the password of user:password@host. A password with an unescaped / ? or # in it ends
 * the authority too early; what is no port there is taken for the start of one. */
static size_t mask_url(struct scan *scan, size_t i)
{
    struct scan near = *scan;

    if (near.length > i + URL_LOOKAHEAD)
        near.length = i + URL_LOOKAHEAD;

    size_t span = find_any(&near, i, " \t\r\n'\"`<>");
    size_t authority = find_any(&near, i, "/?#");
    size_t colon = i;
    size_t host = span;

    if (authority > span)
        authority = span;
    while (colon < authority && scan->text[colon] != ':')
        colon++;
    if (colon == authority || scan->text[i] == '[')
        return i;
    while (host > colon && scan->text[host - 1] != '@')
        host--;
    if (host == colon) /* no @ behind the colon */
        return i;
    /* host:port/path@x: the @ belongs to the path */
    if (host - 1 > authority && all_digits(scan->text + colon + 1, authority - colon - 1))
        return i;
    /* With an @ in the authority, the last one there counts, not one of the path. */
    for (size_t j = colon; j < authority; j++) {
        if (scan->text[j] == '@')
            host = j + 1;
    }
    return mask(scan, colon + 1, host - 1);
}

/* True if anything was masked. `text` must be NUL-terminated behind `length`. */
static bool mask_text(struct strbuf *out, const char *text, size_t length, const char *mask,
                      bool *value_is_next)
{
    struct scan scan = {.out = out, .text = text, .length = length, .mask = mask};

    for (size_t i = 0; i < length;) {
        if (!is_name(text[i])) {
            i++;
            continue;
        }

        size_t end = i;

        while (end < length && is_name(text[end]))
            end++;
        if (at(&scan, end) == ':' && at(&scan, end + 1) == '/' && at(&scan, end + 2) == '/')
            i = mask_url(&scan, end + 3);
        else if (secrets_name_is_secret(text + i, end - i))
            i = mask_after_name(&scan, i, end, value_is_next);
        else
            i = end;
    }

    bool masked = scan.copied > 0;

    strbuf_add(out, text + scan.copied, length - scan.copied);
    return masked;
}

/* One argument; true if it was changed. */
static bool mask_argument(struct strbuf *out, const char *argument, size_t length, const char *mask,
                          bool *value_is_next)
{
    bool is_value = *value_is_next && length > 0 && argument[0] != '-';

    *value_is_next = false;
    if (is_value) {
        strbuf_adds(out, mask);
        return true;
    }
    return mask_text(out, argument, length, mask, value_is_next);
}

void secrets_mask_argument(struct strbuf *out, const char *argument, size_t length, bool *value_is_next,
                           bool enabled)
{
    struct strbuf copy = STRBUF_INIT;

    if (!enabled) {
        strbuf_add(out, argument, length);
        return;
    }
    strbuf_add(&copy, argument, length);
    if (copy.failed)
        out->failed = true; /* rather nothing than something unmasked */
    else
        (void)mask_argument(out, copy.data, length, SECRETS_MASK, value_is_next);
    strbuf_fini(&copy);
}

struct line {
    struct strbuf *out;
    struct strbuf masked;
    struct strbuf probe;
    struct strbuf quoted;
    bool value_is_next;
    bool enabled;
    bool first;
};

/* The stars of a mask need no quotes by themselves: whether the rest does is asked with a letter in their
 * place. (Asking with the value itself would tell of what is in it.) */
static bool needs_quotes(struct line *line, const char *argument, size_t length, bool value_is_next)
{
    strbuf_reset(&line->probe);
    strbuf_reset(&line->quoted);
    (void)mask_argument(&line->probe, argument, length, "x", &value_is_next);
    text_shell_quote(&line->quoted, strbuf_text(&line->probe));
    return line->quoted.length != line->probe.length;
}

static void line_add(struct line *line, const char *argument)
{
    size_t length = strlen(argument);
    bool was_next = line->value_is_next;
    bool changed = false;

    strbuf_reset(&line->masked);
    if (line->enabled)
        changed = mask_argument(&line->masked, argument, length, SECRETS_MASK, &line->value_is_next);
    else
        strbuf_add(&line->masked, argument, length);

    bool bare = changed && !needs_quotes(line, argument, length, was_next);

    strbuf_reset(&line->quoted);
    if (bare)
        strbuf_adds(&line->quoted, strbuf_text(&line->masked));
    else
        text_shell_quote(&line->quoted, strbuf_text(&line->masked));
    if (line->masked.failed || line->quoted.failed) {
        line->out->failed = true;
        return;
    }
    if (!line->first)
        strbuf_addc(line->out, ' ');
    line->first = false;
    text_printable(line->out, strbuf_text(&line->quoted), line->quoted.length);
}

static void line_fini(struct line *line)
{
    strbuf_fini(&line->masked);
    strbuf_fini(&line->probe);
    strbuf_fini(&line->quoted);
}

void secrets_mask_arguments(struct strbuf *out, const char *cmdline, size_t length, bool enabled)
{
    struct line line = {.out = out, .enabled = enabled, .first = true};
    struct strbuf copy = STRBUF_INIT;

    while (length > 0 && cmdline[length - 1] == '\0')
        length--;
    strbuf_add(&copy, cmdline, length); /* for the NUL behind the last argument */
    if (copy.failed) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < length;) {
        line_add(&line, copy.data + i);
        i += strlen(copy.data + i) + 1;
    }
    strbuf_fini(&copy);
    line_fini(&line);
}

void secrets_mask_argv(struct strbuf *out, char *const *argv, bool enabled)
{
    struct line line = {.out = out, .enabled = enabled, .first = true};

    for (; *argv; argv++)
        line_add(&line, *argv);
    line_fini(&line);
}

void secrets_mask_value(struct strbuf *out, const char *name, const char *value, bool enabled)
{
    bool ignored = false;

    if (!enabled)
        strbuf_adds(out, value);
    else if (value[0] != '\0' && secrets_name_is_secret(name, strlen(name)))
        strbuf_adds(out, SECRETS_MASK);
    else
        (void)mask_text(out, value, strlen(value), SECRETS_MASK, &ignored);
}
