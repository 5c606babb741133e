#include "reduce/statistic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Few states at a time: a linear list is the fastest map. */
struct tally {
    size_t count, capacity;
    struct {
        char *state; /* owned */
        double count;
    } items[];
};

void statistic_fold(struct statistic *statistic, enum reduce reduce, double number, double seconds)
{
    switch (reduce) {
    case REDUCE_MAX:
        if (!statistic->has || number > statistic->value)
            statistic->value = number;
        break;
    case REDUCE_MIN:
        if (!statistic->has || number < statistic->value)
            statistic->value = number;
        break;
    case REDUCE_LAST:
        statistic->value = number;
        break;
    case REDUCE_DELTA:
        statistic->value += number;
        break;
    case REDUCE_TALLY:
        return;
    }
    statistic->has = true;
    statistic_fold_mean(statistic, number, seconds);
}

void statistic_fold_mean(struct statistic *statistic, double number, double seconds)
{
    statistic->weighted += number * seconds;
    statistic->weight += seconds;
}

int statistic_fold_text(struct statistic *statistic, const char *text)
{
    if (!statistic->text || strcmp(statistic->text, text) != 0) {
        char *copy = strdup(text);
        if (!copy)
            return -ENOMEM;
        free(statistic->text);
        statistic->text = copy;
    }
    statistic->has = true;
    return 0;
}

int statistic_fold_state(struct statistic *statistic, const char *state)
{
    struct tally *tally = statistic->tally;
    size_t count = tally ? tally->count : 0;

    for (size_t i = 0; i < count; i++)
        if (strcmp(tally->items[i].state, state) == 0) {
            tally->items[i].count += 1;
            statistic->has = true;
            return 0;
        }
    if (!tally || count == tally->capacity) {
        size_t capacity = count ? count * 2 : 4;
        tally = realloc(tally, sizeof(*tally) + capacity * sizeof(tally->items[0]));
        if (!tally)
            return -ENOMEM;
        tally->count = count;
        tally->capacity = capacity;
        statistic->tally = tally;
    }
    char *copy = strdup(state);
    if (!copy)
        return -ENOMEM;
    tally->items[count].state = copy;
    tally->items[count].count = 1;
    tally->count = count + 1;
    statistic->has = true;
    return 0;
}

double statistic_mean(const struct statistic *statistic)
{
    return statistic->weight > 0 ? statistic->weighted / statistic->weight : statistic->value;
}

static int tally_value(const struct tally *tally, struct arena *arena, struct record_value *out)
{
    struct tally_item *items = arena_alloc(arena, tally->count * sizeof(*items));
    if (!items)
        return -ENOMEM;
    size_t count = 0;
    for (size_t i = 0; i < tally->count; i++) {
        if (tally->items[i].count <= 0)
            continue; /* a state of an earlier window, kept for its memory */
        items[count].state = arena_strdup(arena, tally->items[i].state);
        items[count].count = tally->items[i].count;
        if (!items[count].state)
            return -ENOMEM;
        count++;
    }
    out->tally.items = items;
    out->tally.count = count;
    return 0;
}

int statistic_value(const struct statistic *statistic, enum type type, struct arena *arena,
                    struct record_value *out)
{
    switch (type) {
    case TYPE_LABEL:
        out->text = arena_strdup(arena, statistic->text);
        return out->text ? 0 : -ENOMEM;
    case TYPE_CATEGORICAL:
        return tally_value(statistic->tally, arena, out);
    case TYPE_GAUGE:
    case TYPE_COUNTER:
        break;
    }
    out->number = statistic->value;
    return 0;
}

void statistic_reset(struct statistic *statistic, enum type type)
{
    if (type == TYPE_CATEGORICAL && statistic->tally)
        for (size_t i = 0; i < statistic->tally->count; i++)
            statistic->tally->items[i].count = 0;
    statistic->value = statistic->weighted = statistic->weight = 0;
    statistic->has = statistic->fell = false;
}

void statistic_fini(struct statistic *statistic, enum type type)
{
    if (type == TYPE_LABEL) {
        free(statistic->text);
    } else if (type == TYPE_CATEGORICAL && statistic->tally) {
        for (size_t i = 0; i < statistic->tally->count; i++)
            free(statistic->tally->items[i].state);
        free(statistic->tally);
    }
    *statistic = (struct statistic){0};
}
