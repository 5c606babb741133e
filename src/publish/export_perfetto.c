/*
 * A trace for Perfetto (ui.perfetto.dev) and chrome://tracing, in the JSON trace event format: times are
 * microseconds from the start of the run.
 *
 * - Every process is a process track with one slice for its lifetime: from its spawn event to its exit event,
 *   or, where the run has none of these, from the window in which it was first seen to the last.
 * - Every single number of the records is a counter of the track "run", every number of a process one of that
 *   process. What was reduced over a window (a largest, a smallest, a mean) stands from the window's
 *   beginning, since a step is drawn to the right; what grows is added up, and stands, as the last of a
 * window does, at its end. A process that is gone has no memory and no CPU: its levels fall to 0 then.
 * - Signals, kills, OOM kills and whatever else happened are instants.
 *
 * Order does not matter to the readers, so nothing is held back. Remembered is one small entry per process,
 * for its name and its lifetime. Past PERFETTO_PROCESS_MAX of them a process has no name, and no lifetime
 * unless an event tells of it; its levels are still counters.
 */
#include "publish/export_perfetto.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "publish/export_values.h"

/* The first key of a topic; -1: none. */
static ptrdiff_t first_key(const struct recording *recording, enum topic topic)
{
    for (size_t i = 0; i < recording->key_count; i++)
        if (recording->keys[i].topic == topic)
            return (ptrdiff_t)i;
    return -1;
}

/* A straight line (an age) and what is told once, at the end, make no counter of a process. */
static bool is_counter(const struct recorded_key *key)
{
    return type_is_number(key->type) && !(key->scope == SCOPE_PER_PID && key->reduce == REDUCE_LAST);
}

static bool perfetto_wants(const struct recording *recording, const struct recorded_key *key)
{
    ptrdiff_t index = key - recording->keys;

    return is_counter(key) || index == first_key(recording, TOPIC_PROCESS_COMMAND) ||
           index == first_key(recording, TOPIC_PROCESS_START) ||
           index == first_key(recording, TOPIC_PROCESS_AGE);
}

/* Nanoseconds are more than anybody measured. */
static double rounded(double microseconds)
{
    return round(1000 * microseconds) / 1000;
}

bool perfetto_is_time(double microseconds)
{
    return isfinite(rounded(microseconds));
}

void perfetto_open(struct export *export, char phase, long long pid, double microseconds)
{
    struct perfetto_state *state = export->state;

    strbuf_adds(&export->out, state->begun ? ",\n" : "\n");
    state->begun = true;
    strbuf_addf(&export->out, "{\"ph\":\"%c\",\"pid\":%lld,\"tid\":%lld,\"ts\":", phase, pid, pid);
    (void)export_number(&export->out, rounded(microseconds));
}

void perfetto_name(struct export *export, const char *name)
{
    strbuf_adds(&export->out, ",\"name\":");
    export_json_text(&export->out, name);
}

void perfetto_metadata(struct export *export, long long pid, const char *what, const char *argument,
                       const char *text)
{
    perfetto_open(export, 'M', pid, 0);
    strbuf_addf(&export->out, ",\"name\":\"%s\",\"args\":{\"%s\":", what, argument);
    export_json_text(&export->out, text);
    strbuf_adds(&export->out, "}}");
}

static int perfetto_begin(struct export *export, struct metron_error *error)
{
    const struct recording *recording = export->recording;
    const char *command = recording_text(recording, "command");
    struct perfetto_state *state = calloc(1, sizeof(*state));

    (void)error;
    export->state = state;
    if (!state)
        return -ENOMEM;
    state->start_wall = recording->start_wall;
    state->command_key = first_key(recording, TOPIC_PROCESS_COMMAND);
    state->start_key = first_key(recording, TOPIC_PROCESS_START);
    state->age_key = first_key(recording, TOPIC_PROCESS_AGE);
    state->key_count = recording->key_count;
    state->sums = calloc(recording->key_count + 1, sizeof(*state->sums));
    if (!state->sums)
        return -ENOMEM;
    strbuf_adds(&export->out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    perfetto_metadata(export, PERFETTO_RUN_PID, "process_name", "name", "run");
    if (command)
        perfetto_metadata(export, PERFETTO_RUN_PID, "process_labels", "labels", command);
    perfetto_open(export, 'M', PERFETTO_RUN_PID, 0);
    strbuf_adds(&export->out, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":-1}}");
    return 0;
}

static struct perfetto_process *process_of(struct export *export, const char *subject)
{
    struct perfetto_state *state = export->state;
    struct perfetto_process *process = perfetto_find(state, subject);

    if (process)
        return process;
    if (HASH_COUNT(state->processes) == PERFETTO_PROCESS_MAX) {
        export->processes_left_out = true;
        return NULL;
    }
    process = perfetto_new(state, subject);
    if (process) {
        process->first = 1e6 * (export->elapsed - export->window);
        process->first_record = process->last_record = export->record_count;
        perfetto_metadata(export, process->pid, "thread_name", "name", "lifetime");
    }
    return process;
}

/* The number as a counter. `counter` tells tracks of the same key apart; NULL: there is one. */
static void add_counter(struct export *export, const struct recorded_key *key, long long pid, double at,
                        const char *counter, double value)
{
    if (!isfinite(value) || !perfetto_is_time(at))
        return;
    perfetto_open(export, 'C', pid, at);
    strbuf_adds(&export->out, ",\"name\":");
    if (counter) {
        struct strbuf name = STRBUF_INIT;

        strbuf_addf(&name, "%s %s", key->key, counter);
        export_json_text(&export->out, strbuf_text(&name));
        strbuf_fini_part(&name, &export->out);
    } else {
        export_json_text(&export->out, key->key);
    }
    strbuf_addf(&export->out, ",\"args\":{\"%s\":",
                key->unit == UNIT_NONE || key->unit == UNIT_COUNT ? "value" : unit_name(key->unit));
    (void)export_number(&export->out, value);
    strbuf_adds(&export->out, "}}");
}

static bool at_end(const struct recorded_key *key)
{
    return key->reduce == REDUCE_DELTA || key->reduce == REDUCE_LAST;
}

static void add_label(struct export *export, struct perfetto_process *process,
                      const struct usage_value *value)
{
    const struct perfetto_state *state = export->state;

    if (!value->text)
        return;
    if ((ptrdiff_t)value->key == state->start_key) {
        (void)snprintf(process->start_time, sizeof(process->start_time), "%s", value->text);
        return;
    }
    if ((ptrdiff_t)value->key != state->command_key)
        return;
    char kept[sizeof(process->command)];
    const size_t length = text_cut(value->text, sizeof(kept) - sizeof("…"));
    (void)snprintf(kept, sizeof(kept), "%.*s%s", (int)length, value->text, value->text[length] ? "…" : "");
    if (strcmp(process->command, kept) == 0)
        return;
    memcpy(process->command, kept, sizeof(kept));
    perfetto_metadata(export, process->pid, "process_name", "name", value->text);
}

/* Microseconds: where what the value is of began. */
static double begin_of(const struct export *export, const struct usage_value *value)
{
    return 1e6 * fmax(0, export->elapsed - (value->span > 0 ? value->span : export->window));
}

/* The value of a process. */
static void add_value(struct export *export, const struct usage_value *value)
{
    struct perfetto_state *state = export->state;
    const struct recorded_key *key = &export->recording->keys[value->key];
    struct perfetto_process *process = process_of(export, value->subject);
    double begin = begin_of(export, value), end = 1e6 * export->elapsed;
    double number = value->number;

    if (!process) {
        if (value->kind == FIELD_NUMBER && is_counter(key) && !at_end(key))
            add_counter(export, key, perfetto_pid(value->subject), begin, NULL, number);
        return;
    }
    if (!process->alive) {
        process->alive = true;
        process->previous_alive = state->alive;
        state->alive = process;
    }
    process->last_record = export->record_count;
    process->last = end;
    if (value->kind != FIELD_NUMBER) {
        add_label(export, process, value);
        return;
    }
    if ((ptrdiff_t)value->key == state->age_key && process->first_record == export->record_count &&
        end - 1e6 * number > process->first)
        process->first = end - 1e6 * number;
    if (!is_counter(key))
        return;
    if (key->reduce == REDUCE_DELTA)
        number = perfetto_sum(state, process, value->key, number);
    else
        perfetto_level(state, process, value->key);
    add_counter(export, key, process->pid, at_end(key) ? end : begin, NULL, number);
}

/* Processes that were in the record before and are not in this one. */
static void end_levels(struct export *export)
{
    struct perfetto_state *state = export->state;
    struct perfetto_process **link = &state->alive;
    double at = 1e6 * (export->elapsed - export->window);

    while (*link) {
        struct perfetto_process *process = *link;

        if (process->last_record == export->record_count) {
            link = &process->previous_alive;
            continue;
        }
        for (size_t i = 0; process->levels && i < state->key_count; i++)
            if (process->levels[i / 8] >> i % 8 & 1)
                add_counter(export, &export->recording->keys[i], process->pid, at, NULL, 0);
        *link = process->previous_alive;
        perfetto_gone(process);
    }
}

static int perfetto_record(struct export *export, const struct usage_record *record)
{
    struct perfetto_state *state = export->state;
    double end = 1e6 * export->elapsed;

    if (state->start_wall <= 0)
        state->start_wall = record->wall - record->elapsed;
    for (size_t i = 0; i < record->count; i++) {
        const struct usage_value *value = &record->values[i];
        const struct recorded_key *key = &export->recording->keys[value->key];
        double number = value->number;

        if (key->scope == SCOPE_PER_PID && value->subject) {
            add_value(export, value);
            continue;
        }
        if (value->kind != FIELD_NUMBER || !is_counter(key))
            continue;
        if (key->reduce == REDUCE_DELTA && !value->subject)
            number = state->sums[value->key] += number;
        add_counter(export, key, PERFETTO_RUN_PID, at_end(key) ? end : begin_of(export, value),
                    value->subject, number);
    }
    if (record->num_samples > 0)
        end_levels(export);
    return state->failed ? -ENOMEM : 0;
}

static int perfetto_end(struct export *export)
{
    struct perfetto_state *state = export->state;
    const struct recording *recording = export->recording;

    perfetto_sampled_lifetimes(export);
    strbuf_adds(&export->out, "\n],\"otherData\":{\"exported_by\":\"metron " METRON_VERSION "\"");
    static const char *const texts[] = {"command",      "job",        "cause",
                                        "outcome.kind", "start_time", "system.hostname"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *text = recording_text(recording, texts[i]);

        if (!text)
            continue;
        strbuf_addf(&export->out, ",\"%s\":", texts[i]);
        export_json_text(&export->out, text);
    }
    strbuf_adds(&export->out, "}}\n");
    return state->failed ? -ENOMEM : 0;
}

const struct exporter exporter_perfetto = {
    .name = "perfetto",
    .wants = perfetto_wants,
    .begin = perfetto_begin,
    .record = perfetto_record,
    .event = perfetto_event,
    .end = perfetto_end,
    .fini = perfetto_fini,
};
