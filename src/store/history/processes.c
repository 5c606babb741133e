/*
 * The processes of a snapshot: a row only for what changed.
 *
 * Both the snapshot and what is known of the previous one are in the order of pids, so that one walk over the
 * two finds which processes are new, gone, changed and the same. A row holds from its snapshot on until the
 * process has another row or is gone; then its last snapshot is written to it. From time to time all
 * processes are written again, so that a reader of a snapshot finds its rows among the last few: after
 * FULL_ROWS rows for each process, and after ten minutes.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "store/history/schema.h"
#include "store/history/state.h"

#define FULL_SECONDS 600
#define FULL_ROWS    4   /* a reader passes over so many rows, at most, for each one that it needs */
#define CLOCK_STEP   0.5 /* seconds by which a start time may seem to have moved */

static const struct columns *columns_of(const struct history *history)
{
    return &history->options.columns->process;
}

static int reserve(struct history *history, struct known_processes *processes, size_t count)
{
    int code = ARRAY_FIT(processes->entries, processes->capacity, count);

    return code < 0
               ? code
               : ARRAY_FIT(processes->values, processes->value_capacity, count * columns_of(history)->count);
}

void known_processes_fini(struct known_processes *processes)
{
    free(processes->entries);
    free(processes->values);
    *processes = (struct known_processes){0};
}

/* The values of one of them. */
static union stored_value *values_at(const struct history *history, const struct known_processes *processes,
                                     const struct known_process *entry)
{
    return processes->values + (size_t)(entry - processes->entries) * columns_of(history)->count;
}

int command_row(struct history *history, const char *text, int64_t hour, int64_t *out)
{
    int64_t hash = (int64_t)(hash_bytes(HASH_BEGIN, text, strlen(text)) >> 32); /* four bytes are enough */
    sqlite3_stmt *find = history_statement(history, SQL_COMMAND_FIND);

    bind_integer(find, 1, true, hash);
    bind_text(find, 2, text);
    int code = database_step(history->database, find);
    bool found = code == 1;
    *out = found ? sqlite3_column_int64(find, 0) : 0;
    bool old = found && sqlite3_column_int64(find, 1) < hour;
    (void)sqlite3_reset(find);
    if (code < 0 || (found && !old))
        return code < 0 ? code : 0;
    sqlite3_stmt *set = history_statement(history, found ? SQL_COMMAND_TOUCH : SQL_COMMAND_ADD);
    if (found) {
        bind_integer(set, 1, true, hour);
        bind_integer(set, 2, true, *out);
        return history_run(history, set);
    }
    bind_integer(set, 1, true, hash);
    bind_integer(set, 2, true, hour);
    bind_text(set, 3, text);
    code = history_run(history, set);
    *out = sqlite3_last_insert_rowid(history->database);
    return code;
}

static uint64_t hash_calls(const struct snapshot_process *process)
{
    uint64_t hash = HASH_BEGIN;

    for (size_t i = 0; i < process->call_count; i++) {
        const struct snapshot_call *call = &process->calls[i];

        hash = hash_bytes(hash, call->name, strlen(call->name));
        hash = hash_bytes(hash, &call->count, sizeof(call->count));
        hash = hash_bytes(hash, &call->seconds, sizeof(call->seconds));
    }
    return hash;
}

static void values_take(struct history *history, const struct snapshot_process *process,
                        struct known_process *entry)
{
    const struct columns *columns = columns_of(history);
    union stored_value *values = values_at(history, &history->next, entry);

    entry->state = process->state;
    entry->calls = process->calls && process->call_count ? hash_calls(process) : 0;
    entry->present = 0;
    (void)memset(values, 0, columns->count * sizeof(*values));
    for (uint64_t rest = process->values.present; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctzll(rest);
        double number = process->values.numbers[i];

        if (!(number >= 0) || !isfinite(number))
            continue;
        entry->present |= UINT64_C(1) << i;
        values[i] = column_store(columns->of[i], number);
    }
}

static bool values_equal(const struct history *history, const struct known_process *before,
                         const struct known_process *entry)
{
    return before->present == entry->present && before->state == entry->state &&
           before->calls == entry->calls &&
           memcmp(values_at(history, &history->known, before), values_at(history, &history->next, entry),
                  columns_of(history)->count * sizeof(union stored_value)) == 0;
}

int calls_text(struct history *history, const struct snapshot_call *calls, size_t count)
{
    struct json json;

    strbuf_reset(&history->text);
    json_init(&json, &history->text, 0);
    json_object_begin(&json);
    for (size_t i = 0; i < count; i++) {
        double seconds = calls[i].seconds;

        json_key_array(&json, calls[i].name);
        json_integer(&json, (int64_t)calls[i].count);
        json_number(&json, isfinite(seconds) ? seconds : 0);
        json_array_end(&json);
    }
    json_object_end(&json);
    return history->text.failed ? -ENOMEM : 0;
}

static int calls_write(struct history *history, const struct snapshot_process *process,
                       const struct known_process *entry)
{
    int code = calls_text(history, process->calls, process->call_count);

    if (code < 0)
        return code;
    sqlite3_stmt *add = history_statement(history, SQL_CALLS_ADD);
    bind_integer(add, 1, true, entry->sample);
    bind_text(add, 2, strbuf_text(&history->text));
    code = history_run(history, add);
    sqlite3_stmt *latest = history_statement(history, SQL_CALLS_LATEST);
    bind_integer(latest, 1, true, entry->row);
    bind_text(latest, 2, strbuf_text(&history->text));
    return code < 0 ? code : history_run(history, latest);
}

static int sample_write(struct history *history, const struct snapshot_process *process,
                        struct known_process *entry)
{
    const struct columns *columns = columns_of(history);
    const union stored_value *values = values_at(history, &history->next, entry);
    sqlite3_stmt *add = history_statement(history, SQL_SAMPLE_ADD);

    entry->sample = ++history->counters.sample;
    if (add)
        (void)sqlite3_clear_bindings(add); /* to NULL */
    bind_integer(add, 1, true, entry->sample);
    bind_integer(add, 2, true, entry->row);
    bind_integer(add, 3, true, history->counters.tick + 1);
    if (entry->state)
        (void)sqlite3_bind_text(add, 4, &entry->state, 1, SQLITE_STATIC);
    for (uint64_t rest = entry->present; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctzll(rest);
        bind_stored(add, 5 + (int)i, true, columns->of[i], values[i]);
    }
    int code = history_run(history, add);
    return code == 0 && entry->calls ? calls_write(history, process, entry) : code;
}

/* What is known of the process held for the last time in the previous snapshot. */
static int sample_end(struct history *history, const struct known_process *entry)
{
    sqlite3_stmt *end = history_statement(history, SQL_SAMPLE_END);

    bind_integer(end, 1, true, history->counters.tick);
    bind_integer(end, 2, true, entry->sample);
    return history_run(history, end);
}

/* The same of all processes. */
static int samples_end(struct history *history)
{
    sqlite3_stmt *end = history_statement(history, SQL_SAMPLES_END);

    bind_integer(end, 1, true, history->counters.tick);
    bind_integer(end, 2, true, history->counters.full_sample);
    return history_run(history, end);
}

static int process_end(struct history *history, const struct known_process *entry)
{
    sqlite3_stmt *end = history_statement(history, SQL_PROCESS_END);

    bind_real(end, 1, true, history->counters.wall);
    bind_integer(end, 2, true, entry->row);
    int code = history_run(history, end);
    return code < 0 ? code : sample_end(history, entry);
}

static bool same_identity(const struct known_process *a, const struct known_process *b)
{
    return a->serial == b->serial && a->image == b->image && a->ppid == b->ppid && a->job == b->job &&
           a->has_sheet == b->has_sheet && a->sheet == b->sheet && a->membership == b->membership &&
           a->has_started == b->has_started && fabs(a->started - b->started) <= CLOCK_STEP;
}

static int identity_write(struct history *history, const struct snapshot_process *process,
                          struct known_process *entry)
{
    sqlite3_stmt *add = history_statement(history, SQL_PROCESS_ADD);

    entry->row = ++history->counters.process;
    if (entry->origin == 0)
        entry->origin = entry->row;
    bind_integer(add, 1, true, entry->row);
    bind_integer(add, 2, true, entry->origin);
    bind_integer(add, 3, true, entry->pid);
    bind_integer(add, 4, entry->ppid >= 0, entry->ppid);
    bind_integer(add, 5, true, (int64_t)process->start_ticks);
    bind_real(add, 6, entry->has_started, entry->started);
    bind_integer(add, 7, entry->command != 0, entry->command);
    bind_integer(add, 8, entry->job != 0, entry->job);
    bind_integer(add, 9, entry->has_sheet, entry->sheet);
    bind_integer(add, 10, entry->membership != MEMBER_OF_NONE, entry->membership);
    return history_run(history, add);
}

/* The entry of a process, of which `before` (NULL: none) is known under the same pid; with a row of its own
 * if it is not who that was. */
static int entry_fill(struct history *history, const struct snapshot_process *process,
                      const struct known_process *before, double wall, struct known_process *entry)
{
    int64_t hour = (int64_t)(wall / 3600);
    bool same = before && before->serial == process->serial;
    int code = process->job_id ? job_row(history, process->job_id, &entry->job) : 0;

    if (code < 0)
        return code;
    if (same && before->image == process->image && before->command) {
        entry->command = before->command;
        entry->command_hour = before->command_hour;
    } else if (process->command) {
        code = command_row(history, process->command, hour, &entry->command);
        entry->command_hour = hour;
    }
    entry->origin = same ? before->origin : 0;
    if (same && same_identity(before, entry) && before->command == entry->command) {
        entry->row = before->row;
        entry->started = before->started; /* or small steps would add up unseen */
        entry->sample = before->sample;
        return code;
    }
    if (code == 0 && before)
        code = process_end(history, before);
    return code < 0 ? code : identity_write(history, process, entry);
}

static struct known_process entry_of(const struct snapshot_process *process, double wall)
{
    bool aged = process->has_age && isfinite(process->age_seconds);
    bool sheet = process->has_sheet;

    return (struct known_process){
        .serial = process->serial,
        .image = process->image,
        .pid = process->pid,
        .ppid = process->ppid,
        .has_started = aged,
        .started = aged ? wall - process->age_seconds : 0,
        .has_sheet = sheet,
        .sheet = sheet ? process->sheet_num : 0,
        .membership = (int)process->membership,
    };
}

/* The commands of the living stay young. */
static int command_touch(struct history *history, struct known_process *entry, int64_t hour)
{
    if (entry->command == 0 || entry->command_hour >= hour)
        return 0;
    sqlite3_stmt *touch = history_statement(history, SQL_COMMAND_TOUCH);

    entry->command_hour = hour;
    bind_integer(touch, 1, true, hour);
    bind_integer(touch, 2, true, entry->command);
    return history_run(history, touch);
}

/* One walk over the snapshot and what was known; `sample` of an entry is 0 where a row is to be written. */
static int match(struct history *history, const struct snapshot *snapshot, double wall)
{
    const struct known_process *known = history->known.entries;
    size_t at = 0, count = history->known.count;
    int code = 0;

    for (size_t i = 0; i < snapshot->process_count && code == 0; i++) {
        const struct snapshot_process *process = &snapshot->processes[i];
        struct known_process *entry = &history->next.entries[i];

        for (; at < count && known[at].pid < process->pid && code == 0; at++)
            code = process_end(history, &known[at]);
        const struct known_process *before =
            at < count && known[at].pid == process->pid ? &known[at++] : NULL;
        *entry = entry_of(process, wall);
        values_take(history, process, entry);
        if (code == 0)
            code = entry_fill(history, process, before, wall, entry);
        if (code == 0 && before && entry->sample && !values_equal(history, before, entry)) {
            code = sample_end(history, before);
            entry->sample = 0;
        }
    }
    for (; at < count && code == 0; at++)
        code = process_end(history, &known[at]);
    history->next.count = snapshot->process_count;
    return code;
}

static bool full_is_due(const struct history *history, size_t count, double wall)
{
    const struct history_counters *counters = &history->counters;

    return history->known.count == 0 || fabs(wall - counters->full_wall) >= FULL_SECONDS ||
           (uint64_t)(counters->sample - counters->full_sample) > (uint64_t)count * FULL_ROWS;
}

static int samples_write(struct history *history, const struct snapshot *snapshot, bool full, int64_t hour)
{
    int code = 0;

    for (size_t i = 0; i < snapshot->process_count && code == 0; i++) {
        struct known_process *entry = &history->next.entries[i];

        if (full)
            code = command_touch(history, entry, hour);
        if (code == 0 && (full || entry->sample == 0))
            code = sample_write(history, &snapshot->processes[i], entry);
    }
    return code;
}

int processes_write(struct history *history, const struct snapshot *snapshot, double wall)
{
    struct history_counters *counters = &history->counters;
    bool full = full_is_due(history, snapshot->process_count, wall);
    int code = reserve(history, &history->next, snapshot->process_count);

    if (code == 0)
        code = match(history, snapshot, wall);
    if (code == 0 && full) {
        code = samples_end(history);
        counters->full_sample = counters->sample + 1;
        counters->full_wall = wall;
    }
    return code < 0 ? code : samples_write(history, snapshot, full, (int64_t)(wall / 3600));
}
