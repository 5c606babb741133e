#include "view/command_line.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "view/compiler_command.h"
#include "view/text_width.h"

#define TAIL_MIN 6 /* columns; less of an end tells nothing */

/* Of a line break or a tab at `text`, the bytes it takes: as it is, or as a command was recorded with it. */
static size_t break_length(const char *text, const char *end)
{
    static const char *const recorded[] = {"\\x0a", "\\x09", "\\x0d"};
    static const size_t recorded_length = 4;
    const size_t left = (size_t)(end - text);

    if (left >= 1 && (*text == '\n' || *text == '\t' || *text == '\r'))
        return 1;
    for (size_t i = 0; left >= recorded_length && i < sizeof(recorded) / sizeof(recorded[0]); i++)
        if (memcmp(text, recorded[i], recorded_length) == 0)
            return recorded_length;
    return 0;
}

void text_one_line(struct strbuf *out, const char *text, size_t length)
{
    const char *const end = text + length;

    while (text < end) {
        const char *stop = text, *next;
        while (stop < end && !break_length(stop, end))
            stop++;
        for (next = stop; next < end && (*next == ' ' || break_length(next, end));)
            next += *next == ' ' ? 1 : break_length(next, end);
        while (next > stop && stop > text && stop[-1] == ' ')
            stop--;
        text_printable(out, text, (size_t)(stop - text));
        if (stop > text && next > stop && next < end)
            strbuf_addc(out, ' ');
        text = next;
    }
}

void text_one_line_cut(struct strbuf *out, const char *text, size_t limit)
{
    const size_t length = text_cut(text, limit);

    text_one_line(out, text, length);
    strbuf_adds(out, text[length] ? "…" : "");
}

/* Programs that run what their first operand names. */
static bool is_interpreter(const char *name, size_t length)
{
    static const char *const names[] = {"python", "pypy", "perl", "ruby", "node", "Rscript", "julia",
                                        "bash",   "sh",   "dash", "zsh",  "ksh",  "php",     "lua"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t known = strlen(names[i]);
        if (length < known || strncmp(name, names[i], known) != 0)
            continue;
        while (known < length && (isdigit((unsigned char)name[known]) || name[known] == '.'))
            known++;
        if (known == length)
            return true;
    }
    return false;
}

/* The word at `*at`, which then stands behind it and its blank. */
static size_t next_word(const char **at, const char *end, const char **word)
{
    *word = *at;
    while (*at < end && **at != ' ')
        ++*at;
    size_t length = (size_t)(*at - *word);
    while (*at < end && **at == ' ')
        ++*at;
    return length;
}

/* A path without its folders; one in quotes may have blanks and stays whole. Returns where its name began. */
static size_t add_name(struct strbuf *out, const char *word, size_t length)
{
    size_t name = 0;

    for (size_t i = 0; i + 1 < length && word[0] != '\''; i++)
        if (word[i] == '/')
            name = i + 1;
    size_t from = name > 2 ? name : 0; /* ./train.py is short enough */
    strbuf_adds(out, from > 0 ? "…/" : "");
    strbuf_add(out, word + from, length - from);
    return name;
}

/* The command with short paths in its leading words. Returns the columns of these: of the program, and of the
 * script or the -c if it is an interpreter. `script_only`: where there is a script, what stands before it is
 * left out as well. */
static size_t shorten(struct strbuf *out, const char *text, size_t length, bool script_only)
{
    const char *at = text, *end = text + length, *word;
    size_t count = next_word(&at, end, &word), name = add_name(out, word, count);
    size_t kept = out->length;
    bool leads = is_interpreter(word + name, count - name), is_module = false;

    while (at < end) {
        const char *gap = word + count;
        count = next_word(&at, end, &word);
        strbuf_add(out, gap, (size_t)(word - gap));
        if (!leads) {
            strbuf_add(out, word, count);
        } else if (word[0] == '-' && !is_module) {
            strbuf_add(out, word, count);
            is_module = count == 2 && word[1] == 'm';
            leads = count != 2 || !strchr("ce", word[1]); /* what follows is the program itself */
            kept = leads ? kept : out->length;
        } else {
            if (script_only)
                strbuf_reset(out);
            size_t before = out->length;
            (void)add_name(out, word, count);
            if (script_only && strncmp(strbuf_text(out) + before, "…", strlen("…")) != 0) {
                strbuf_reset(out);
                strbuf_addf(out, "… %.*s", (int)count, word);
            }
            leads = false;
            kept = out->length;
        }
    }
    strbuf_add(out, word + count, (size_t)(end - (word + count)));
    return text_width(strbuf_text(out), kept);
}

/* The beginning of a command, … and the word in it that must be seen: the end of that word if it is too wide
 * itself. `kept`: columns of the program. Returns how many were taken; 0: there is no room. */
static size_t fit_word(struct strbuf *out, const struct strbuf *command, size_t kept, const char *word,
                       size_t word_length, size_t width)
{
    const char *text = strbuf_text(command), *rest = word + word_length;
    const size_t before = out->length, word_columns = text_width(word, word_length);
    const size_t goes_on = rest < text + command->length; /* then … follows it too */
    const size_t least = kept + 2 + goes_on;              /* the program, a blank, … */

    if (text_width(text, (size_t)(rest - text)) + goes_on <= width)
        return text_fit_tail(out, text, command->length, width, 0);
    if (least + TAIL_MIN > width)
        return 0;
    if (least + word_columns <= width) {
        strbuf_add(out, text, text_head(text, (size_t)(word - text), width - 2 - goes_on - word_columns));
        strbuf_adds(out, "… ");
        strbuf_add(out, word, word_length);
    } else {
        strbuf_add(out, text, text_head(text, (size_t)(word - text), kept + 1));
        (void)text_fit_tail(out, word, word_length, width - least, width - least - 1);
    }
    strbuf_adds(out, goes_on ? "…" : "");
    return text_width(strbuf_text(out) + before, out->length - before);
}

size_t command_fit(struct strbuf *out, const char *text, size_t length, size_t width, bool end_matters)
{
    struct strbuf shorter = STRBUF_INIT;
    size_t taken;

    if (text_width(text, length) <= width)
        return text_fit(out, text, length, width);
    const struct compiler_command compiler = compiler_command_parse(text, length);
    size_t kept = shorten(&shorter, text, length, false);
    if (compiler.word) {
        /* What follows the program is as it was. */
        const char *word = strbuf_text(&shorter) + shorter.length - (size_t)(text + length - compiler.word);
        taken = fit_word(out, &shorter, kept, word, compiler.length, width);
        if (taken) {
            strbuf_fini_part(&shorter, out);
            return taken;
        }
    }
    if (kept + TAIL_MIN > width && text_width(strbuf_text(&shorter), shorter.length) > width) {
        strbuf_reset(&shorter);
        kept = shorten(&shorter, text, length, true);
    }
    size_t tail = end_matters ? width / 3 : 0;
    if (kept + 1 + tail > width)
        tail = width > kept + 1 ? width - kept - 1 : 0;
    taken = text_fit_tail(out, strbuf_text(&shorter), shorter.length, width, tail < TAIL_MIN ? 0 : tail);
    strbuf_fini_part(&shorter, out);
    return taken;
}
