/*
 * A process out of its rows: in a snapshot, and along the snapshots.
 */

#include "store/history/ranges.h"
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

/* A sample of the process, and the room its texts live in. */
struct point {
    int64_t sample; /* 0: none */
    struct snapshot_process process;
    double numbers[COLUMNS_MAX]; /* of its row */
    bool has_started;
    double started;
    struct arena arena;
};

/* Two points, of which one is current and the other lies ahead. */
struct points {
    struct point at[2];
    int current;
    bool more; /* the other one is a sample that lies ahead */
};

static int point_next(struct history_reader *reader, sqlite3_stmt *samples, const struct columns *columns,
                      struct points *points)
{
    struct point *ahead = &points->at[!points->current];
    int code = database_step(reader->database, samples);

    points->more = code == 1;
    if (code != 1)
        return code;
    arena_reset(&ahead->arena);
    ahead->sample = sqlite3_column_int64(samples, PROCESS_SAMPLE);
    ahead->has_started = column_real(samples, PROCESS_STARTED, &ahead->started);
    ahead->process.values.numbers = ahead->numbers;
    return process_read(samples, columns, &ahead->arena, 0, &ahead->process);
}

struct search {
    int64_t id;
    bool found;
};

static int find_in_range(void *context, int64_t first, int64_t last)
{
    struct search *search = context;

    search->found = search->found || (search->id >= first && search->id <= last);
    return 0;
}

/* The last sample up to this snapshot's last, if it is one of the snapshot's. */
static int visit_tick(struct history_reader *reader, sqlite3_stmt *tick, sqlite3_stmt *samples,
                      const struct columns *columns, struct points *points, history_visit_process *visit,
                      void *context, bool *visited)
{
    double timestamp = sqlite3_column_double(tick, 1);
    int64_t last = sqlite3_column_int64(tick, 2);
    int code = 0;

    while (code == 0 && points->more && points->at[!points->current].sample <= last) {
        points->current = !points->current;
        code = point_next(reader, samples, columns, points);
    }
    struct point *point = &points->at[points->current];
    const char *text = (const char *)sqlite3_column_text(tick, 3);
    if (code < 0 || point->sample == 0 || !text)
        return code;
    struct search search = {.id = point->sample};
    code = ranges_read(text, (size_t)sqlite3_column_bytes(tick, 3), find_in_range, &search);
    if (code < 0 || !search.found)
        return code;
    set_age(&point->process, point->has_started, point->started, timestamp);
    *visited = true;
    return visit(context, timestamp, &point->process);
}

int history_read_process(struct history_reader *reader, const struct snapshot_columns *columns, pid_t pid,
                         uint64_t start_ticks, double since, size_t limit, history_visit_process *visit,
                         void *context, struct metron_error *error)
{
    static const char tick_sql[] =
        "SELECT id, timestamp, last_sample, ranges FROM ticks WHERE timestamp >= ?1 AND id >="
        " (SELECT min(id) FROM (SELECT id FROM ticks WHERE timestamp >= ?1 ORDER BY id DESC LIMIT ?2)) ORDER "
        "BY id";
    static const char sample_sql[] =
        "SELECT " PROCESS_COLUMNS
        " FROM samples AS s CROSS JOIN processes AS p ON p.id = s.process" PROCESS_JOINS
        " WHERE s.process IN (SELECT id FROM processes WHERE pid = ?3 AND (?4 = 0 OR start_ticks = ?4))"
        " AND s.id >= (SELECT min(first_sample) FROM ticks WHERE timestamp >= ?1 AND id >="
        "  (SELECT min(id) FROM (SELECT id FROM ticks WHERE timestamp >= ?1 ORDER BY id DESC LIMIT ?2)))"
        " ORDER BY s.id";
    struct points points = {0};
    bool visited = false;
    int code = reader_begin(reader, error);

    if (code < 0)
        return code;
    sqlite3_stmt *ticks = reader_prepare(reader, tick_sql, &code);
    sqlite3_stmt *samples = reader_prepare_columns(reader, sample_sql, columns, &code);
    bind_real(ticks, 1, true, since);
    bind_integer(ticks, 2, true, limit < INT64_MAX ? (int64_t)limit : INT64_MAX);
    bind_real(samples, 1, true, since);
    bind_integer(samples, 2, true, limit < INT64_MAX ? (int64_t)limit : INT64_MAX);
    bind_integer(samples, 3, true, pid);
    bind_integer(samples, 4, true, (int64_t)start_ticks);
    if (code == 0)
        code = point_next(reader, samples, &columns->process, &points);
    while (code == 0) {
        int step = database_step(reader->database, ticks);

        if (step != 1) {
            code = step;
            break;
        }
        visited = false;
        code = visit_tick(reader, ticks, samples, &columns->process, &points, visit, context, &visited);
    }
    (void)sqlite3_finalize(ticks);
    (void)sqlite3_finalize(samples);
    arena_fini(&points.at[0].arena);
    arena_fini(&points.at[1].arena);
    return reader_end(reader, code, visited, error);
}
