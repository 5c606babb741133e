#include "learn/headline_of_records.h"

#include <stdlib.h>
#include <string.h>

#include "reduce/headline.h"
#include "store/recording/reader.h"
#include "store/recording/usage_reader.h"

/* Levels and counts of the whole target. Means are not needed: no answer is one. */
static bool is_wanted(const struct recorded_key *key)
{
    return key->scope == SCOPE_SINGLE && type_is_number(key->type) && !key->statistic;
}

/* False: there is no record, or no memory. */
static bool reduce_records(const struct recording *recording, struct recorded_total *totals)
{
    struct usage_reader *reader = NULL;
    const struct usage_record *record;
    bool any = false;
    bool *wanted = calloc(recording->key_count + 1, sizeof(*wanted));

    for (size_t i = 0; wanted && i < recording->key_count; i++)
        wanted[i] = is_wanted(&recording->keys[i]);
    if (wanted && usage_reader_open(recording, wanted, &reader, NULL) == 0)
        for (; usage_reader_next(reader, &record) > 0; any = true)
            for (size_t i = 0; i < record->count; i++)
                if (record->values[i].kind == FIELD_NUMBER)
                    recorded_total_take(&totals[record->values[i].key],
                                        recording->keys[record->values[i].key].reduce,
                                        record->values[i].number);
    usage_reader_free(reader);
    free(wanted);
    return any;
}

static bool make_summary(const struct recording *recording, const struct recorded_total *totals,
                         struct record *out)
{
    /* The numbers of a recording are at the edge already. */
    static const struct measurement as_recorded = {.scope = SCOPE_SINGLE, .type = TYPE_GAUGE};
    const size_t count = recording->key_count;
    struct record_value *values = arena_alloc(&out->arena, count * sizeof(*values));

    out->entries = arena_alloc(&out->arena, count * sizeof(*out->entries));
    if (!values || !out->entries)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!totals[i].seen || !is_wanted(&recording->keys[i]))
            continue;
        values[i] = (struct record_value){.number = totals[i].value};
        out->entries[out->count] =
            (struct record_entry){recorded_key_statistic(&out->arena, &recording->keys[i],
                                                         reduce_statistic(recording->keys[i].reduce)),
                                  &as_recorded, &values[i], 1};
        if (!out->entries[out->count++].key)
            return false;
    }
    return true;
}

bool headline_of_totals(const struct recording *recording, const struct recorded_total *totals,
                        struct headline *out)
{
    const char *scope = recording_text(recording, "provenance.cgroup_scope");
    /* What the living use, and which spawns were missed, only the metron that records it knows. */
    const struct headline_method_facts facts = {
        .own_cgroup = scope && strcmp(scope, "own") == 0,
        .attached = recording_field(recording, "attached.children") != NULL,
        .living_cpu_seconds = -1,
    };
    struct record summary = {0};
    bool is_made = make_summary(recording, totals, &summary);

    *out = is_made ? headline_of(&summary, &facts) : (struct headline){0};
    if (facts.attached)
        out->processes.has = false; /* how many ran already is not recorded before the end */
    record_fini(&summary);
    return is_made;
}

bool headline_of_records(const struct recording *recording, struct headline *out)
{
    static const char *const fields[] = {"provenance.cgroup_scope", "attached.children", NULL};
    const struct recording_wish wish = {.fields = fields, .keys = true};
    struct recording whole;

    const char *made = recording->made_info;
    int code = made ? recording_parse(made, strlen(made), recording->path, &wish, &whole, NULL)
                    : recording_read(recording->path, &wish, &whole, NULL);
    if (code < 0)
        return false;
    struct recorded_total *totals = calloc(whole.key_count + 1, sizeof(*totals));
    bool is_made = totals && reduce_records(&whole, totals) && headline_of_totals(&whole, totals, out);
    free(totals);
    recording_fini(&whole);
    return is_made;
}
