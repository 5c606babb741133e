#include "schema/registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"

static int compare_keys(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* No key is what a statistic of another would be called (proc_ave_rss_total). `keys` is sorted. */
static int check_statistics(const struct registry_entry *entry, const char *const *keys, size_t count,
                            struct metron_error *error)
{
    static const char *const statistics[] = {"peak", "ave", "low"};
    char name[MEASUREMENT_KEY_SIZE];
    const char *wanted = name;

    for (size_t i = 0; i < sizeof(statistics) / sizeof(*statistics); i++) {
        measurement_statistic_key(entry->source, entry->measurement, statistics[i], name);
        if (bsearch(&wanted, keys, count, sizeof(*keys), compare_keys))
            return error_set(error, -EINVAL, "measurement '%s' has the name of a statistic of '%s'", name,
                             entry->measurement->key);
    }
    return 0;
}

/* Sorts first: `metron run` begins with this. */
static int check_unique(const struct registry_entry *entries, size_t count, struct metron_error *error)
{
    const char **keys = calloc(count ? count : 1, sizeof(*keys));
    int code = 0;

    if (!keys)
        return error_set(error, -ENOMEM, "no memory for the registry of measurements");
    for (size_t i = 0; i < count; i++)
        keys[i] = entries[i].measurement->key;
    qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 1; i < count && code == 0; i++)
        if (strcmp(keys[i - 1], keys[i]) == 0)
            code = error_set(error, -EINVAL, "measurement '%s' is defined twice", keys[i]);
    for (size_t i = 0; i < count && code == 0; i++)
        code = check_statistics(&entries[i], keys, count, error);
    free(keys);
    return code;
}

int registry_init(struct registry *registry, const struct source *const *sources, size_t source_count,
                  struct metron_error *error)
{
    size_t total = 0, count = 0;

    *registry = (struct registry){.sources = sources, .source_count = source_count};
    for (size_t i = 0; i < source_count; i++)
        total += sources[i]->measurement_count;
    registry->entries = calloc(total ? total : 1, sizeof(*registry->entries));
    if (!registry->entries)
        return error_set(error, -ENOMEM, "no memory for the registry of measurements");

    for (size_t i = 0; i < source_count; i++) {
        const struct source *source = sources[i];
        for (size_t j = 0; j < source->measurement_count; j++) {
            int code = measurement_check(source, &source->measurements[j], error);
            if (code < 0) {
                registry_fini(registry);
                return code;
            }
            registry->entries[count++] = (struct registry_entry){
                .source = source, .measurement = &source->measurements[j], .source_index = i};
        }
    }
    registry->count = count;
    int code = check_unique(registry->entries, count, error);
    if (code < 0)
        registry_fini(registry);
    return code;
}

void registry_fini(struct registry *registry)
{
    free(registry->entries);
    *registry = (struct registry){0};
}

const struct registry_entry *registry_find(const struct registry *registry, const char *key)
{
    for (size_t i = 0; i < registry->count; i++)
        if (strcmp(registry->entries[i].measurement->key, key) == 0)
            return &registry->entries[i];
    return NULL;
}

void registry_set_reasons(struct registry *registry, size_t source_index, const char *const *reasons)
{
    for (size_t i = 0; i < registry->count; i++)
        if (registry->entries[i].source_index == source_index)
            registry->entries[i].reason = reasons[registry->entries[i].measurement->field];
}

const char *registry_source_reason(const struct registry *registry, size_t source_index)
{
    const char *first = NULL;

    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_entry *entry = &registry->entries[i];
        if (entry->source_index != source_index)
            continue;
        if (!entry->reason)
            return NULL;
        if (!first)
            first = entry->reason;
    }
    return first;
}

/* Up to three known names close to `word`, as "'a', 'b'"; empty if none is near. */
static void registry_nearest(const struct registry *registry, const char *word, struct strbuf *out)
{
    static const size_t shown = 3;
    size_t limit = strlen(word) / 3 + 1;
    size_t found = 0;

    for (size_t distance = 0; distance <= limit && found < shown; distance++)
        for (size_t i = 0; i < registry->count && found < shown; i++) {
            const char *key = registry->entries[i].measurement->key;
            if (text_distance(word, key) == distance)
                strbuf_addf(out, "%s'%s'", found++ ? ", " : "", key);
        }
    for (size_t i = 0; i < registry->count && found < shown && strlen(word) >= 3; i++)
        if (strstr(registry->entries[i].measurement->key, word))
            strbuf_addf(out, "%s'%s'", found++ ? ", " : "", registry->entries[i].measurement->key);
}

/* What the "minimal" group may make us read of each process: what the ledger needs anyway. */
#define COST_MINIMAL ((unsigned)(COST_STAT | COST_CLOCK))

struct selector {
    struct registry *registry;
    const bool *opt_in;
};

static bool group_takes(const struct selector *selector, const char *word, const struct registry_entry *entry)
{
    if (strcmp(word, "all") == 0)
        return true;
    if (selector->opt_in && selector->opt_in[entry->source_index])
        return false;
    if (strcmp(word, "default") == 0)
        return true;
    return (entry->measurement->cost & ~COST_MINIMAL) == 0;
}

static int select_word(const struct selector *selector, const char *word, struct metron_error *error)
{
    struct registry *registry = selector->registry;
    bool group = strcmp(word, "all") == 0 || strcmp(word, "default") == 0 || strcmp(word, "minimal") == 0;
    bool glob = strpbrk(word, "*?") != NULL;
    bool matched = false;

    for (size_t i = 0; i < registry->count; i++) {
        struct registry_entry *entry = &registry->entries[i];
        const char *key = entry->measurement->key;
        if (group ? !group_takes(selector, word, entry) : !text_glob(word, key))
            continue;
        matched = true;
        if (entry->reason && !group && !glob)
            return error_set(error, -EINVAL, "measurement '%s' cannot be taken here: %s", key, entry->reason);
        if (!entry->reason)
            entry->selected = true;
    }
    if (!matched) {
        struct strbuf near = STRBUF_INIT;
        struct strbuf shown = STRBUF_INIT;
        registry_nearest(registry, word, &near);
        text_printable(&shown, word, strlen(word));
        int code =
            error_set(error, -EINVAL, "no measurement is called '%s'%s%s; 'metron measurements' lists them",
                      strbuf_text(&shown), near.length ? "; near it: " : "", strbuf_text(&near));
        strbuf_fini(&near);
        strbuf_fini(&shown);
        return code;
    }
    return 0;
}

int registry_select(struct registry *registry, const char *list, const bool *opt_in,
                    struct metron_error *error)
{
    struct selector selector = {registry, opt_in};
    char *copy = strdup(list);
    char *rest = copy;
    int code = 0;
    bool any = false;

    if (!copy)
        return error_set(error, -ENOMEM, "no memory for the selection of measurements");
    for (size_t i = 0; i < registry->count; i++)
        registry->entries[i].selected = false;
    for (char *word; code == 0 && (word = strsep(&rest, ", \t")) != NULL;)
        if (word[0]) {
            any = true;
            code = select_word(&selector, word, error);
        }
    if (code == 0 && !any)
        code = error_set(error, -EINVAL, "the list of measurements is empty");
    free(copy);
    return code;
}

void registry_select_columns(struct registry *registry)
{
    for (size_t i = 0; i < registry->count; i++) {
        struct registry_entry *entry = &registry->entries[i];
        entry->selected = entry->measurement->column && !entry->reason;
    }
}

unsigned registry_cost(const struct registry *registry, size_t source_index, bool *any)
{
    unsigned cost = 0;

    if (any)
        *any = false;
    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_entry *entry = &registry->entries[i];
        if (!entry->selected || entry->source_index != source_index)
            continue;
        cost |= entry->measurement->cost;
        if (any)
            *any = true;
    }
    return cost;
}

uint64_t registry_fields(const struct registry *registry, size_t source_index)
{
    uint64_t fields = 0;

    for (size_t i = 0; i < registry->count; i++)
        if (registry->entries[i].selected && registry->entries[i].source_index == source_index)
            fields |= UINT64_C(1) << registry->entries[i].measurement->field;
    return fields;
}

bool registry_costs(const struct registry *registry, unsigned cost)
{
    for (size_t i = 0; i < registry->count; i++)
        if (registry->entries[i].selected && (registry->entries[i].measurement->cost & cost))
            return true;
    return false;
}
