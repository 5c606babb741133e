/*
 * CSV for pandas, R and spreadsheets: a header and one row per record, in the wide form. The columns are
 * elapsed, timestamp and num_samples, then every single key of the recording under its own name, in its
 * order. What a record does not have is an empty cell (NaN, NA). A tally is its JSON in one cell. Values of
 * single processes and devices are left out: their number changes from row to row.
 *
 * Quoting as in RFC 4180; lines end with a line feed, as pandas and R write them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "publish/export_values.h"

struct csv_state {
    const struct usage_value **cells; /* one per key, of the record at hand; owned */
};

static bool csv_wants(const struct recording *recording, const struct recorded_key *key)
{
    (void)recording;
    return key->scope == SCOPE_SINGLE;
}

static int csv_begin(struct export *export, struct metron_error *error)
{
    const struct recording *recording = export->recording;
    struct csv_state *state = calloc(1, sizeof(*state));

    (void)error;
    export->state = state;
    if (!state)
        return -ENOMEM;
    state->cells = calloc(recording->key_count + 1, sizeof(*state->cells));
    if (!state->cells)
        return -ENOMEM;
    strbuf_adds(&export->out, "elapsed,timestamp,num_samples");
    for (size_t i = 0; i < recording->key_count; i++) {
        if (!csv_wants(recording, &recording->keys[i]))
            continue;
        strbuf_addc(&export->out, ',');
        text_csv(&export->out, recording->keys[i].key);
    }
    strbuf_addc(&export->out, '\n');
    return 0;
}

static int csv_record(struct export *export, const struct usage_record *record)
{
    const struct recording *recording = export->recording;
    const struct csv_state *state = export->state;
    struct strbuf *out = &export->out;

    memset(state->cells, 0, recording->key_count * sizeof(*state->cells));
    for (size_t i = 0; i < record->count; i++)
        if (!record->values[i].subject)
            state->cells[record->values[i].key] = &record->values[i];
    (void)export_number(out, record->elapsed);
    strbuf_addc(out, ',');
    export_timestamp(out, record->wall);
    strbuf_addf(out, ",%u", record->num_samples);
    for (size_t i = 0; i < recording->key_count; i++) {
        const struct usage_value *cell = state->cells[i];

        if (!csv_wants(recording, &recording->keys[i]))
            continue;
        strbuf_addc(out, ',');
        if (cell && cell->kind == FIELD_NUMBER)
            (void)export_number(out, cell->number);
        else if (cell && cell->text)
            text_csv(out, cell->text);
    }
    strbuf_addc(out, '\n');
    return 0;
}

static void csv_fini(struct export *export)
{
    struct csv_state *state = export->state;

    if (state)
        free(state->cells);
    free(state);
}

const struct exporter exporter_csv = {
    .name = "csv",
    .needs_records = true,
    .wants = csv_wants,
    .begin = csv_begin,
    .record = csv_record,
    .fini = csv_fini,
};
