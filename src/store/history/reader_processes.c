/*
 * A process out of its rows: in a snapshot, and along the snapshots.
 */
#include "store/history/reader_state.h"

static void set_age(struct snapshot_process *process, bool has_started, double started, double timestamp)
{
    if (!has_started)
        return;
    process->has_age = true;
    process->age_seconds = timestamp > started ? timestamp - started : 0;
}

int process_read(sqlite3_stmt *row, const struct columns *columns, struct arena *arena, double timestamp,
                 struct snapshot_process *out)
{
    const unsigned char *state = sqlite3_column_text(row, PROCESS_STATE);
    int64_t membership = sqlite3_column_int64(row, PROCESS_MEMBERSHIP);
    double started = 0;
    int code = 0;

    *out = (struct snapshot_process){
        .serial = (uint64_t)sqlite3_column_int64(row, PROCESS_ORIGIN),
        .image = (uint64_t)sqlite3_column_int64(row, PROCESS_COMMAND),
        .pid = (pid_t)sqlite3_column_int64(row, PROCESS_PID),
        .ppid = (pid_t)sqlite3_column_int64(row, PROCESS_PPID),
        .start_ticks = (uint64_t)sqlite3_column_int64(row, PROCESS_START_TICKS),
        .state = state ? (char)state[0] : '\0',
        .membership = membership >= 0 && membership <= MEMBER_BY_VARIABLE ? (enum membership)membership
                                                                          : MEMBER_OF_NONE,
        .values = {.numbers = out->values.numbers},
    };
    column_row(row, PROCESS_VALUES, columns, &out->values);
    bool has_started = column_real(row, PROCESS_STARTED, &started);
    set_age(out, has_started, started, timestamp);
    out->command = column_copy(row, PROCESS_TEXT, arena, &code);
    out->job_id = column_copy(row, PROCESS_JOB, arena, &code);
    out->has_sheet = column_integer(row, PROCESS_SHEET, &out->sheet_num);
    const char *calls = (const char *)sqlite3_column_text(row, PROCESS_CALLS);
    if (code == 0 && calls)
        code = calls_read(calls, (size_t)sqlite3_column_bytes(row, PROCESS_CALLS), arena, &out->calls,
                          &out->call_count);
    return code;
}

#define SPAN "timestamp >= ?1 AND timestamp < ?2"

int history_read_process(struct history_reader *reader, const struct snapshot_columns *columns, pid_t pid,
                         uint64_t start_ticks, const struct history_span *span, history_visit_process *visit,
                         void *context, struct metron_error *error)
{
    static const char sql[] =
        "SELECT " PROCESS_COLUMNS
        ", t.timestamp FROM samples AS s CROSS JOIN processes AS p ON p.id = s.process"
        " CROSS JOIN ticks AS t ON t.id BETWEEN s.first_tick AND s.last_tick AND " SPAN PROCESS_JOINS
        " WHERE s.process IN (SELECT id FROM processes WHERE pid = ?4 AND (?5 = 0 OR start_ticks = ?5))"
        " AND s.id BETWEEN (SELECT min(first_sample) FROM ticks WHERE " SPAN ")"
        "  AND (SELECT max(last_sample) FROM ticks WHERE " SPAN ")"
        " ORDER BY t.timestamp, t.id LIMIT ?3";
    struct snapshot_process process = {0};
    double numbers[COLUMNS_MAX];
    struct arena arena = {0};
    bool visited = false;
    int code = reader_begin(reader, error);

    if (code < 0)
        return code;
    sqlite3_stmt *rows = reader_prepare_columns(reader, sql, columns, &code);
    reader_bind_span(rows, span);
    bind_integer(rows, 4, true, pid);
    bind_integer(rows, 5, true, (int64_t)start_ticks);
    while (code == 0 && (code = database_step(reader->database, rows)) == 1) {
        double timestamp = sqlite3_column_double(rows, PROCESS_VALUES + (int)columns->process.count);

        arena_reset(&arena);
        process.values.numbers = numbers;
        code = process_read(rows, &columns->process, &arena, timestamp, &process);
        if (code == 0) {
            code = visit(context, timestamp, &process);
            visited = code != 0;
        }
    }
    (void)sqlite3_finalize(rows);
    arena_fini(&arena);
    return reader_end(reader, code, visited, error);
}
