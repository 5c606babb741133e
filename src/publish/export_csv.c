/*
 * CSV for pandas, R and spreadsheets: a header and one row per record, in the wide form. The columns are
 * elapsed, timestamp and num_samples, then every single key of the recording under its own name, in its
 * order. What a record does not have is an empty cell (NaN, NA). A tally is its JSON in one cell. Values of
 * single processes and devices are left out: their number changes from row to row.
 *
 * Levels of a source that is not read at every sample (PSS) hold its newest reading, up to twice its
 * interval. How old that is stands in a last column of the source, smaps_age: 0 in the rows of the records
 * that have the reading.
 *
 * Quoting as in RFC 4180; lines end with a line feed, as pandas and R write them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "publish/export_values.h"

/* The newest reading of a key. */
struct held {
    double seconds; /* for which it may be held; 0: not at all */
    bool has_age;   /* it is the first of its source, whose age is shown */
    bool has;
    double number, elapsed; /* and the end of the record that has it */
};

struct csv_state {
    const struct usage_value **cells; /* one per key, of the record at hand; owned */
    struct held *held;                /* one per key; owned */
};

static bool csv_wants(const struct recording *recording, const struct recorded_key *key)
{
    (void)recording;
    return key->scope == SCOPE_SINGLE;
}

static bool is_held(const struct export *export, const struct held *held)
{
    return held->has && export->elapsed - held->elapsed <= held->seconds;
}

/* Its readings may be held, and none of its source's before it. */
static bool is_first_held(const struct export *export, size_t index)
{
    const struct csv_state *state = export->state;
    const struct recorded_key *keys = export->recording->keys;

    for (size_t i = 0; i < index; i++)
        if (state->held[i].seconds > 0 && strcmp(keys[i].source, keys[index].source) == 0)
            return false;
    return state->held[index].seconds > 0;
}

static void add_age_title(struct export *export, const char *source)
{
    struct strbuf title = STRBUF_INIT;

    strbuf_addf(&title, "%s_age", source);
    strbuf_addc(&export->out, ',');
    text_csv(&export->out, strbuf_text(&title));
    strbuf_fini_part(&title, &export->out);
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
    state->held = calloc(recording->key_count + 1, sizeof(*state->held));
    if (!state->cells || !state->held)
        return -ENOMEM;
    strbuf_adds(&export->out, "elapsed,timestamp,num_samples");
    for (size_t i = 0; i < recording->key_count; i++) {
        if (!csv_wants(recording, &recording->keys[i]))
            continue;
        state->held[i].seconds = recording_hold_seconds(recording, &recording->keys[i]);
        strbuf_addc(&export->out, ',');
        text_csv(&export->out, recording->keys[i].key);
    }
    for (size_t i = 0; i < recording->key_count; i++) {
        state->held[i].has_age = is_first_held(export, i);
        if (state->held[i].has_age)
            add_age_title(export, recording->keys[i].source);
    }
    strbuf_addc(&export->out, '\n');
    return 0;
}

/* The key's cell. */
static void add_cell(struct export *export, size_t index, const struct usage_value *cell)
{
    struct csv_state *state = export->state;
    struct held *held = &state->held[index];
    struct strbuf *out = &export->out;

    if (cell && cell->kind == FIELD_NUMBER) {
        held->has = export_number(out, cell->number);
        held->number = cell->number;
        held->elapsed = export->elapsed;
    } else if (cell && cell->text) {
        text_csv(out, cell->text);
    } else if (is_held(export, held)) {
        (void)export_number(out, held->number);
    }
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
        if (!csv_wants(recording, &recording->keys[i]))
            continue;
        strbuf_addc(out, ',');
        add_cell(export, i, state->cells[i]);
    }
    for (size_t i = 0; i < recording->key_count; i++) {
        if (!state->held[i].has_age)
            continue;
        strbuf_addc(out, ',');
        if (is_held(export, &state->held[i]))
            (void)export_number(out, export->elapsed - state->held[i].elapsed);
    }
    strbuf_addc(out, '\n');
    return 0;
}

static void csv_fini(struct export *export)
{
    struct csv_state *state = export->state;

    if (state) {
        free(state->cells);
        free(state->held);
    }
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
