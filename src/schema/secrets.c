/*
 * Masking secrets: what a user adds to the rules, and the text with a mask for each run of bytes that
 * secret_scan.c marked.
 */
#include "schema/secrets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "schema/secret_rules.h"
#include "schema/secret_scan.h"

const struct secrets secrets_built_in = {0};

/* ---- what a user adds ---- */

int secrets_add_name(struct secrets *secrets, const char *name, size_t length)
{
    char words[SECRET_WORDS_SIZE];
    size_t count = secret_words(name, length, words);

    if (count > 1) { /* else it has no letter, and would be part of every name */
        strbuf_add(&secrets->names, words, count);
        strbuf_addc(&secrets->names, '\0');
    }
    return secrets->names.failed ? -ENOMEM : 0;
}

int secrets_add_pattern(struct secrets *secrets, const char *pattern, size_t length)
{
    char *text = strndup(pattern, length);
    int code = ARRAY_RESERVE(secrets->patterns, secrets->pattern_capacity, secrets->pattern_count + 1);

    if (code == 0 && !text)
        code = -ENOMEM;
    if (code == 0 && regcomp(&secrets->patterns[secrets->pattern_count], text, REG_EXTENDED) != 0)
        code = -EINVAL;
    secrets->pattern_count += code == 0;
    free(text);
    return code;
}

void secrets_fini(struct secrets *secrets)
{
    for (size_t i = 0; i < secrets->pattern_count; i++)
        regfree(&secrets->patterns[i]);
    free(secrets->patterns);
    strbuf_fini(&secrets->names);
    *secrets = (struct secrets){0};
}

/* ---- writing ---- */

/* The text with a mask for each run of marked bytes. */
static void write_masked(struct strbuf *out, const struct strbuf *marks, const char *text, const char *mask)
{
    for (size_t i = 0; i < marks->length;) {
        const char *end = memchr(marks->data + i, 1 - marks->data[i], marks->length - i);
        size_t to = end ? (size_t)(end - marks->data) : marks->length;

        if (marks->data[i])
            strbuf_adds(out, mask);
        else
            strbuf_add(out, text + i, to - i);
        i = to;
    }
    if (marks->failed)
        out->failed = true; /* rather nothing than something unmasked */
}

void secrets_mask_argument(struct strbuf *out, const struct secrets *secrets, struct secrets_state *state,
                           const char *argument, size_t length)
{
    struct strbuf marks = STRBUF_INIT;

    secret_scan(&marks, secrets, state, argument, length);
    write_masked(out, &marks, argument, SECRETS_MASK);
    strbuf_fini(&marks);
}

struct line {
    struct strbuf *out;
    const struct secrets *secrets;
    struct secrets_state state;
    struct strbuf marks, text, quoted;
    bool begun;
};

/* The stars of a mask alone need no quotes: whether the rest does is tried with a letter in their place. (The
 * value itself would reveal what is in it.) */
static void line_add(struct line *line, const char *argument, size_t length)
{
    struct strbuf *text = &line->text, *quoted = &line->quoted;

    strbuf_reset(text);
    strbuf_reset(quoted);
    secret_scan(&line->marks, line->secrets, &line->state, argument, length);
    write_masked(text, &line->marks, argument, "x");
    text_shell_quote(quoted, strbuf_text(text));

    bool bare = quoted->length == text->length;

    if (memchr(strbuf_text(&line->marks), 1, line->marks.length)) {
        strbuf_reset(text);
        write_masked(text, &line->marks, argument, SECRETS_MASK);
        strbuf_reset(quoted);
        if (bare)
            strbuf_adds(quoted, strbuf_text(text));
        else
            text_shell_quote(quoted, strbuf_text(text));
    }
    if (line->begun)
        strbuf_addc(line->out, ' ');
    line->begun = true;
    text_printable(line->out, strbuf_text(quoted), quoted->length);
    line->out->failed = line->out->failed || text->failed || quoted->failed;
}

static void line_fini(struct line *line)
{
    strbuf_fini(&line->marks);
    strbuf_fini(&line->text);
    strbuf_fini(&line->quoted);
}

void secrets_mask_arguments(struct strbuf *out, const struct secrets *secrets, const char *cmdline,
                            size_t length)
{
    struct line line = {.out = out, .secrets = secrets};

    while (length > 0 && cmdline[length - 1] == '\0')
        length--;
    for (size_t i = 0; i < length;) {
        size_t argument = strnlen(cmdline + i, length - i);

        line_add(&line, cmdline + i, argument);
        i += argument + 1;
    }
    line_fini(&line);
}

void secrets_mask_argv(struct strbuf *out, const struct secrets *secrets, char *const *argv)
{
    struct line line = {.out = out, .secrets = secrets};

    for (; *argv; argv++)
        line_add(&line, *argv, strlen(*argv));
    line_fini(&line);
}

void secrets_mask_value(struct strbuf *out, const struct secrets *secrets, const char *name,
                        const char *value)
{
    struct secrets_state state = {0};

    if (secrets)
        state.next = secret_name_rule(secrets, name, strlen(name), '\0');
    secrets_mask_argument(out, secrets, &state, value, strlen(value));
}
