/* A screen for terminals that have no other characters. */
#include <string.h>

#include "view/plot/screen.h"
#include "view/text_width.h"

/* Of what a plot itself writes; the rest comes from commands and file names. */
static const struct {
    const char *character;
    char likeness;
} likenesses[] = {
    {"·", '-'}, {"…", '~'}, {"×", 'x'}, {"↑", '^'}, {"╌", '='}, {"┈", '_'}, {"│", '|'}, {"┤", '+'},
    {"└", '+'}, {"─", '-'}, {"┬", '+'}, {"✖", 'X'}, {"▼", 'K'}, {"▽", 'S'}, {"◆", '!'}, {"▁", '.'},
    {"▂", '.'}, {"▃", ':'}, {"▄", ':'}, {"▅", '|'}, {"▆", '|'}, {"▇", '#'}, {"█", '#'},
};

static size_t character_length(const char *text, size_t left)
{
    size_t length = 1;

    while (length < left && ((unsigned char)text[length] & 0xc0) == 0x80)
        length++;
    return length;
}

static char likeness_of(const char *character, size_t length)
{
    for (size_t i = 0; i < sizeof(likenesses) / sizeof(likenesses[0]); i++)
        if (strlen(likenesses[i].character) == length &&
            memcmp(likenesses[i].character, character, length) == 0)
            return likenesses[i].likeness;
    return '?';
}

void screen_to_ascii(struct strbuf *text, size_t begin)
{
    size_t out = begin;

    /* In place: a character has at least as many bytes as columns. */
    for (size_t i = begin; i < text->length;) {
        const char *character = text->data + i;
        const size_t length = character_length(character, text->length - i);
        if (length == 1 && (unsigned char)*character < 0x80) {
            text->data[out++] = *character;
        } else {
            const size_t columns = text_width(character, length);
            const char likeness = likeness_of(character, length);
            for (size_t column = 0; column < columns && column < length; column++)
                text->data[out++] = likeness;
        }
        i += length;
    }
    if (out < text->length) {
        text->length = out;
        text->data[out] = '\0';
    }
}
