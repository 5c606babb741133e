#include "reduce/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"

struct state_name {
    UT_hash_handle hh;
    char text[];
};

struct tally {
    size_t count, capacity;
    bool amounts; /* of amounts, not of samples */
    struct tally_state {
        const char *name; /* of the window's names */
        double fallen;    /* to it in this span */
        double last;      /* the cumulative amount when it was last taken */
    } states[];
};

/* The one copy of a name; NULL for want of memory. */
static const char *state_names_keep(struct state_names *names, const char *text)
{
    struct state_name *name;
    size_t length = strlen(text);

    HASH_FIND(hh, names->first, text, (unsigned)length, name);
    if (name)
        return name->text;
    name = malloc(sizeof(*name) + length + 1);
    if (!name)
        return NULL;
    memcpy(name->text, text, length + 1);
    HASH_ADD_KEYPTR(hh, names->first, name->text, (unsigned)length, name);
    if (!name->hh.tbl) { /* no memory for the map */
        free(name);
        return NULL;
    }
    return name->text;
}

void state_names_fini(struct state_names *names)
{
    HASH_FREE_ALL(names->first, free);
}

/* The state's place, made if there is none; NULL for want of memory. A source brings its states in much the
 * same order every time, so that the place is at `guess` or a little further. */
static struct tally_state *tally_state(struct tally **tally, struct state_names *names, const char *state,
                                       size_t guess)
{
    struct tally *table = *tally;
    size_t count = table ? table->count : 0;

    for (size_t i = 0; i < count; i++) {
        struct tally_state *place = &table->states[(guess + i) % count];
        if (place->name == state || strcmp(place->name, state) == 0)
            return place;
    }
    if (!table || count == table->capacity) {
        size_t capacity = count ? count * 2 : 4;
        table = realloc(table, sizeof(*table) + capacity * sizeof(table->states[0]));
        if (!table)
            return NULL;
        if (count == 0)
            *table = (struct tally){0};
        table->capacity = capacity;
        *tally = table;
    }
    const char *name = state_names_keep(names, state);
    if (!name)
        return NULL;
    table->states[count] = (struct tally_state){.name = name};
    table->count = count + 1;
    return &table->states[count];
}

int tally_add(struct tally **tally, struct state_names *names, const char *state, double more)
{
    struct tally_state *place = tally_state(tally, names, state, 0);
    if (!place)
        return -ENOMEM;
    place->fallen += more;
    return 0;
}

int tally_take(struct tally **tally, struct tally **run, struct state_names *names,
               const struct amounts *amounts, bool seed, bool *grew)
{
    int code = 0;

    for (size_t i = 0; i < amounts->count; i++) {
        const struct amount *amount = &amounts->items[i];
        struct tally_state *place = tally_state(tally, names, amount->state, i);
        if (!place) {
            code = -ENOMEM;
            continue;
        }
        (*tally)->amounts = true;
        double more = amount->value < place->last ? amount->value : amount->value - place->last;
        place->last = amount->value;
        if (seed || !(more > 0))
            continue;
        place->fallen += more;
        *grew = true;
        if (!run)
            continue;
        struct tally_state *whole = tally_state(run, names, place->name, i);
        if (!whole) {
            code = -ENOMEM;
            continue;
        }
        (*run)->amounts = true;
        whole->fallen += more;
    }
    return code;
}

static int larger_first(const void *left, const void *right)
{
    const struct tally_item *a = left, *b = right;

    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return strcmp(a->state, b->state);
}

int tally_value(const struct tally *tally, struct arena *arena, struct record_value *out)
{
    size_t count = 0, all = tally ? tally->count : 0;
    struct tally_item *items = arena_alloc(arena, (all + 1) * sizeof(*items));

    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < all; i++) {
        if (!(tally->states[i].fallen > 0))
            continue; /* a state of an earlier window, kept for its memory */
        items[count].state = arena_strdup(arena, tally->states[i].name);
        items[count].count = tally->states[i].fallen;
        if (!items[count].state)
            return -ENOMEM;
        count++;
    }
    if (all > 0 && tally->amounts)
        qsort(items, count, sizeof(*items), larger_first);
    out->tally.items = items;
    out->tally.count = count;
    return 0;
}

void tally_reset(struct tally *tally)
{
    for (size_t i = 0; tally && i < tally->count; i++)
        tally->states[i].fallen = 0;
}
