/*
 * Text from outside, made fit for terminals, shells and comparison. Nothing here depends on the locale:
 * bytes are UTF-8 or they are shown as \xNN.
 */
#include "base/text.h"

#include <stdint.h>
#include <string.h>

#define DISTANCE_MAX 64

/* Table 3-7 of the Unicode standard: the second byte's range excludes overlong forms, surrogates and what
 * lies past U+10FFFF; the others are 80..BF. */
size_t text_utf8_length(const char *bytes, size_t length)
{
    if (length == 0)
        return 0;

    const unsigned char *in = (const unsigned char *)bytes;
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    size_t needed;

    if (in[0] < 0x80)
        return 1;
    if (in[0] < 0xC2 || in[0] > 0xF4)
        return 0;
    if (in[0] < 0xE0) {
        needed = 2;
    } else if (in[0] < 0xF0) {
        needed = 3;
        if (in[0] == 0xE0)
            low = 0xA0;
        else if (in[0] == 0xED)
            high = 0x9F;
    } else {
        needed = 4;
        if (in[0] == 0xF0)
            low = 0x90;
        else if (in[0] == 0xF4)
            high = 0x8F;
    }
    if (length < needed || in[1] < low || in[1] > high)
        return 0;
    for (size_t i = 2; i < needed; i++) {
        if ((in[i] & 0xC0) != 0x80)
            return 0;
    }
    return needed;
}

bool text_is_utf8(const char *text)
{
    size_t left = strlen(text);

    for (size_t step; left > 0; text += step, left -= step)
        if ((step = (unsigned char)*text < 0x80 ? 1 : text_utf8_length(text, left)) == 0)
            return false;
    return true;
}

size_t text_cut(const char *text, size_t limit)
{
    size_t length = strnlen(text, limit + 1);

    if (length <= limit)
        return length;
    length = 0;
    while (length < limit) {
        size_t step = text_utf8_length(text + length, strnlen(text + length, 4));

        step = step ? step : 1;
        if (length + step > limit)
            break;
        length += step;
    }
    return length;
}

size_t text_whole_characters(const char *bytes, size_t length)
{
    enum { LONGEST = 4 };

    for (size_t back = 1; back < LONGEST && back <= length; back++) {
        const unsigned char byte = (unsigned char)bytes[length - back];
        const size_t wants = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;

        if (byte < 0x80 || wants > 1)
            return wants > back ? length - back : length;
    }
    return length;
}

bool text_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    size_t end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

uint32_t text_character(const char *bytes, size_t sequence)
{
    const unsigned char *in = (const unsigned char *)bytes;
    uint32_t character = sequence > 1 ? in[0] & (0xFFu >> (sequence + 1)) : in[0];

    for (size_t i = 1; i < sequence; i++)
        character = character << 6 | (in[i] & 0x3F);
    return character;
}

bool text_is_control(uint32_t character)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x0000, 0x001F}, /* C0 */
        {0x007F, 0x009F}, /* DEL, C1 */
        {0x061C, 0x061C}, /* Arabic letter mark */
        {0x200E, 0x200F}, /* marks of direction */
        {0x2028, 0x202E}, /* separators of lines and paragraphs, embeddings and overrides of direction */
        {0x2066, 0x2069}, /* isolates of direction */
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]) && character >= ranges[i].first; i++)
        if (character <= ranges[i].last)
            return true;
    return false;
}

static void add_hex(struct strbuf *out, const char *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        char escaped[4] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};

        strbuf_add(out, escaped, sizeof(escaped));
    }
}

/* `kept`: control characters that are copied, too. */
static void add_printable(struct strbuf *out, const char *bytes, size_t length, const char *kept)
{
    size_t plain = 0; /* start of what is copied as it is */

    for (size_t i = 0; i < length;) {
        size_t sequence = text_utf8_length(bytes + i, length - i);

        if (sequence > 0 && (!text_is_control(text_character(bytes + i, sequence)) ||
                             (bytes[i] != '\0' && strchr(kept, bytes[i])))) {
            i += sequence;
            continue;
        }
        if (sequence == 0)
            sequence = 1;
        strbuf_add(out, bytes + plain, i - plain);
        add_hex(out, bytes + i, sequence);
        i += sequence;
        plain = i;
    }
    if (plain < length)
        strbuf_add(out, bytes + plain, length - plain);
}

void text_printable(struct strbuf *out, const char *bytes, size_t length)
{
    add_printable(out, bytes, length, "");
}

void text_printable_lines(struct strbuf *out, const char *bytes, size_t length)
{
    add_printable(out, bytes, length, "\n\t");
}

void text_shell_quote(struct strbuf *out, const char *argument)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";

    if (argument[0] != '\0' && argument[strspn(argument, safe)] == '\0') {
        strbuf_adds(out, argument);
        return;
    }
    /* Within '…' every byte but ' stands for itself; ' itself has to leave the quotes for a moment. */
    strbuf_addc(out, '\'');
    for (const char *rest = argument;;) {
        size_t run = strcspn(rest, "'");

        strbuf_add(out, rest, run);
        rest += run;
        if (*rest == '\0')
            break;
        strbuf_adds(out, "'\\''");
        rest++;
    }
    strbuf_addc(out, '\'');
}

void text_shell_unquote(struct strbuf *out, const char *line)
{
    char quote = '\0'; /* that is open */

    for (; *line; line++) {
        if (quote ? *line == quote : *line == '\'' || *line == '"')
            quote = quote ? '\0' : *line;
        else if (*line == '\\' && line[1] && (!quote || (quote == '"' && strchr("\"\\$`", line[1]))))
            strbuf_addc(out, *++line);
        else
            strbuf_addc(out, *line);
    }
}

bool text_shell_is_same(const char *a, const char *b)
{
    struct strbuf bare_a = STRBUF_INIT, bare_b = STRBUF_INIT;

    if (strcmp(a, b) == 0)
        return true;
    text_shell_unquote(&bare_a, a);
    text_shell_unquote(&bare_b, b);
    bool same = !bare_a.failed && !bare_b.failed &&
                (strcmp(strbuf_text(&bare_a), strbuf_text(&bare_b)) == 0 ||
                 strcmp(strbuf_text(&bare_a), b) == 0 || strcmp(a, strbuf_text(&bare_b)) == 0);
    strbuf_fini(&bare_a);
    strbuf_fini(&bare_b);
    return same;
}

void text_csv(struct strbuf *out, const char *text)
{
    size_t length = strlen(text);

    if (!strpbrk(text, "\",\r\n") && (length == 0 || (text[0] != ' ' && text[length - 1] != ' '))) {
        strbuf_add(out, text, length);
        return;
    }
    strbuf_addc(out, '"');
    for (const char *quote; (quote = strchr(text, '"')) != NULL; text = quote + 1) {
        strbuf_add(out, text, (size_t)(quote - text) + 1);
        strbuf_addc(out, '"');
    }
    strbuf_adds(out, text);
    strbuf_addc(out, '"');
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t text_distance(const char *a, const char *b)
{
    size_t a_full = strlen(a);
    size_t b_full = strlen(b);
    size_t a_length = least(a_full, DISTANCE_MAX);
    size_t b_length = least(b_full, DISTANCE_MAX);
    /* What is past the limit on one side only is at least that many edits. */
    size_t excess = (a_full > b_full ? a_full - b_full : b_full - a_full) -
                    (a_length > b_length ? a_length - b_length : b_length - a_length);
    size_t row[DISTANCE_MAX + 1];

    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            row[j] = least(replaced, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[b_length] + excess;
}

/* Only the last star is ever retried: what an earlier one could give up, the last one can take. This keeps
 * the worst case at pattern x text. */
bool text_glob(const char *pattern, const char *text)
{
    const char *star = NULL;
    const char *star_text = NULL;

    while (*text != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            star_text = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++star_text;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}
