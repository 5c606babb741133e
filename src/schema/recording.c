#include "schema/recording.h"

#include <string.h>

void recording_fini(struct recording *recording)
{
    arena_fini(&recording->arena);
    *recording = (struct recording){0};
}

/* From the end: the aliases stand there. */
const struct recorded_field *recording_field(const struct recording *recording, const char *name)
{
    for (size_t i = recording->field_count; i-- > 0;)
        if (strcmp(recording->fields[i].name, name) == 0)
            return &recording->fields[i];
    return NULL;
}

bool recording_number(const struct recording *recording, const char *name, double *out)
{
    const struct recorded_field *field = recording_field(recording, name);

    if (!field || field->kind != FIELD_NUMBER)
        return false;
    *out = field->number;
    return true;
}

const char *recording_text(const struct recording *recording, const char *name)
{
    const struct recorded_field *field = recording_field(recording, name);

    return field && field->kind == FIELD_TEXT ? field->text : NULL;
}

/* In the words of reduce/headline.c, tree/ and store/. */
enum bound recording_bound(const char *note)
{
    static const struct {
        const char *words;
        enum bound bound;
    } said[] = {
        {"lower bound", BOUND_LOWER},
        {"not conserved", BOUND_LOWER},
        {"several may have held more", BOUND_LOWER},
        {"upper bound", BOUND_UPPER},
        {"an estimate", BOUND_ABOUT},
    };

    for (size_t i = 0; note && i < sizeof(said) / sizeof(said[0]); i++)
        if (strstr(note, said[i].words))
            return said[i].bound;
    return BOUND_NONE;
}

const char *bound_name(enum bound bound)
{
    static const char *const names[] = {NULL, "lower", "upper", "estimate"};

    return names[bound & 3];
}

ptrdiff_t recording_key_index(const struct recording *recording, const char *key)
{
    for (size_t i = 0; i < recording->key_count; i++)
        if (strcmp(recording->keys[i].key, key) == 0)
            return (ptrdiff_t)i;
    return -1;
}

/* What follows `prefix` in `text`; NULL if it does not begin so. */
static const char *behind(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);

    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* Whether the summary key is one of the statistics of the key: they stand behind the source. */
static bool is_statistic_of(const char *summary_key, const struct recorded_key *key)
{
    static const char *const statistics[] = {"_peak", "_ave", "_low"};
    const char *rest = behind(summary_key, key->source);
    const char *quantity = behind(key->key, key->source);

    if (!rest || !quantity)
        return false;
    for (size_t i = 0; i < sizeof(statistics) / sizeof(statistics[0]); i++) {
        const char *end = behind(rest, statistics[i]);

        if (end && strcmp(end, quantity) == 0)
            return true;
    }
    return false;
}

/* con-duct: peak_rss and average_rss are the largest and the mean of totals.rss. */
static bool is_statistic_of_total(const char *summary_key, const struct recorded_key *key)
{
    const char *quantity = behind(summary_key, "peak_");
    const char *total = behind(key->key, "total_");

    if (!quantity)
        quantity = behind(summary_key, "average_");
    return quantity && total && strcmp(quantity, total) == 0;
}

/* A key stands before its own mean, so that one is never found. */
const struct recorded_key *recording_key_of_summary(const struct recording *recording,
                                                    const char *summary_key)
{
    for (size_t i = 0; i < recording->key_count; i++) {
        const struct recorded_key *key = &recording->keys[i];

        if (recording->kind == RECORDING_METRON && key->key[0] != summary_key[0])
            continue; /* most: this is asked for every field of every run */
        if (recording->kind == RECORDING_DUCT
                ? is_statistic_of_total(summary_key, key)
                : strcmp(key->key, summary_key) == 0 || is_statistic_of(summary_key, key))
            return key;
    }
    return NULL;
}
