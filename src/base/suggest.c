/*
 * The nearest names, kept sorted in a list of three while they are offered.
 */
#include "base/suggest.h"

#include <string.h>

#include "base/text.h"

/* Shorter ones are in half of all names. */
#define CONTAINED_MIN 3

void suggest_init(struct suggest *suggest, const char *wrong)
{
    *suggest = (struct suggest){.wrong = wrong};
}

void suggest_offer(struct suggest *suggest, const char *name)
{
    size_t length = strlen(suggest->wrong);
    size_t distance = text_distance(suggest->wrong, name);
    size_t limit = 1 + length / 3;

    if (length >= CONTAINED_MIN && distance > limit && strstr(name, suggest->wrong))
        distance = limit;
    if (distance > limit)
        return;
    for (size_t i = 0; i < suggest->count; i++)
        if (strcmp(suggest->names[i], name) == 0)
            return;

    size_t place = suggest->count;

    while (place > 0 && suggest->distances[place - 1] > distance)
        place--;
    if (place == SUGGEST_MAX)
        return;
    if (suggest->count < SUGGEST_MAX)
        suggest->count++;
    for (size_t i = suggest->count - 1; i > place; i--) {
        suggest->names[i] = suggest->names[i - 1];
        suggest->distances[i] = suggest->distances[i - 1];
    }
    suggest->names[place] = name;
    suggest->distances[place] = distance;
}

char *suggest_text(const struct suggest *suggest, const char *before, char out[SUGGEST_TEXT_SIZE])
{
    struct strbuf text = STRBUF_INIT;
    size_t count = 0;

    out[0] = '\0';
    /* Where one name is very near, the far ones only distract. */
    while (count < suggest->count && suggest->distances[count] <= suggest->distances[0] + 1)
        count++;
    for (size_t i = 0; i < count; i++) {
        strbuf_adds(&text, i == 0 ? " (did you mean " : i + 1 == count ? " or " : ", ");
        strbuf_addf(&text, "'%s%s'", before, suggest->names[i]);
    }
    if (count > 0)
        strbuf_adds(&text, "?)");
    /* A suggestion is a courtesy: one that does not fit, or for which there is no memory, is left out. */
    if (!text.failed && text.length < SUGGEST_TEXT_SIZE)
        memcpy(out, strbuf_text(&text), text.length + 1);
    strbuf_fini(&text);
    return out;
}
