/*
 * Jobs and their sheets. A job that is started again under an old name is another row; processes and events
 * belong to the last one of their name. Where that has no row (the cap has deleted it), they have no job.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"
#include "store/history/schema.h"
#include "store/history/state.h"

#define KNOWN_MAX 4096 /* names in memory; with more of them all are forgotten, and looked up again */

struct known_job {
    char *name;         /* owned */
    int64_t row;        /* 0: none */
    int64_t started_ns; /* 0: not known */
    uint64_t members;   /* hash of those that were written; 0: not known */
    UT_hash_handle hh;
};

void jobs_forget(struct history *history)
{
    struct known_job *job = history->jobs;

    HASH_CLEAR(hh, history->jobs);
    while (job) {
        struct known_job *next = job->hh.next;

        free(job->name);
        free(job);
        job = next;
    }
    history->jobs = NULL;
}

static int64_t nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The last job of this name, or the one that was started at this time (0: whenever). 0 in `row`: none. */
static int job_find(struct history *history, const char *name, int64_t at_ns, int64_t *row,
                    int64_t *started_ns)
{
    sqlite3_stmt *find = history_statement(history, SQL_JOB_FIND);

    bind_text(find, 1, name);
    bind_integer(find, 2, at_ns != 0, at_ns);
    int code = database_step(history->database, find);
    if (code == 1) {
        *row = sqlite3_column_int64(find, 0);
        *started_ns = sqlite3_column_int64(find, 1);
    }
    (void)sqlite3_reset(find);
    return code < 0 ? code : 0;
}

static int job_add(struct history *history, const char *name, int64_t *row)
{
    sqlite3_stmt *add = history_statement(history, SQL_JOB_ADD);

    bind_text(add, 1, name);
    int code = history_run(history, add);
    *row = sqlite3_last_insert_rowid(history->database);
    return code;
}

/* The last job of this name. */
static int job_known(struct history *history, const char *name, struct known_job **out)
{
    struct known_job *job = NULL;

    HASH_FIND_STR(history->jobs, name, job);
    *out = job;
    if (job)
        return 0;
    if (HASH_COUNT(history->jobs) >= KNOWN_MAX)
        jobs_forget(history);
    job = calloc(1, sizeof(*job));
    if (!job || !(job->name = strdup(name))) {
        free(job);
        return -ENOMEM;
    }
    int code = job_find(history, name, 0, &job->row, &job->started_ns);
    if (code == 0) {
        HASH_ADD_KEYPTR(hh, history->jobs, job->name, strlen(job->name), job);
        code = job->hh.tbl ? 0 : -ENOMEM;
    }
    if (code < 0) {
        free(job->name);
        free(job);
        return code;
    }
    *out = job;
    return 0;
}

int job_row(struct history *history, const char *name, int64_t *out)
{
    struct known_job *job = NULL;
    int code = job_known(history, name, &job);

    if (code == 0)
        *out = job->row;
    return code;
}

static void bind_usage(sqlite3_stmt *statement, const struct job_usage *usage)
{
    for (unsigned i = 0; i < USAGE_COUNT; i++) {
        bool there = usage_is_known(usage, i);

        if (job_usage_columns[i].kind == USAGE_SECONDS)
            bind_real(statement, 1 + (int)i, there, usage->numbers[i]);
        else
            bind_integer(statement, 1 + (int)i, there, (int64_t)usage->numbers[i]);
    }
}

static void bind_own_cgroup(sqlite3_stmt *statement, int place, enum own_cgroup own)
{
    bind_integer(statement, place, own != OWN_CGROUP_NOT_TOLD, own == OWN_CGROUP_HELD);
}

static int sheet_write(struct history *history, int64_t job, const struct job_sheet *sheet)
{
    int64_t started = nanoseconds(sheet->started), ended = nanoseconds(sheet->ended);
    int code = sheet->calls ? calls_text(history, sheet->calls, sheet->call_count) : 0;

    if (code < 0)
        return code;
    sqlite3_stmt *set = history_statement(history, SQL_SHEET_SET);
    int place = USAGE_COUNT;
    bind_usage(set, &sheet->usage);
    bind_integer(set, ++place, true, job);
    bind_integer(set, ++place, true, sheet->number);
    bind_text(set, ++place, sheet_status_names[sheet->status]);
    bind_integer(set, ++place, sheet->pid > 0, sheet->pid);
    bind_integer(set, ++place, started != 0, started);
    bind_integer(set, ++place, ended != 0, ended);
    bind_integer(set, ++place, true, sheet->tries);
    bind_integer(set, ++place, sheet->pid_start_ticks != 0, (int64_t)sheet->pid_start_ticks);
    bind_own_cgroup(set, ++place, sheet->own_cgroup);
    bind_integer(set, ++place, sheet->runner > 0, sheet->runner);
    bind_integer(set, ++place, sheet->runner > 0, (int64_t)sheet->runner_start_ticks);
    bind_text(set, ++place, sheet->calls ? strbuf_text(&history->text) : NULL);
    return history_run(history, set);
}

/* A snapshot has only those sheets of a job that changed. */
static int sheets_write(struct history *history, int64_t row, const struct job *job)
{
    int code = 0;

    for (size_t i = 0; i < job->sheet_count && code == 0; i++)
        code = sheet_write(history, row, &job->sheets[i]);
    return code;
}

/* The row of this job. One that has ended may be written again after the next of its name. */
static int job_row_of(struct history *history, const struct job *job, int64_t *row, uint64_t **members)
{
    int64_t started = nanoseconds(job->started);
    struct known_job *latest = NULL;
    int code = job_known(history, job->id, &latest);
    bool is_another = code == 0 && latest->started_ns != 0 && latest->started_ns != started;

    if (is_another) {
        code = job_find(history, job->id, started, row, &started);
        if (code < 0 || *row != 0)
            return code;
    }
    if (code == 0 && (is_another || latest->row == 0)) {
        code = job_add(history, job->id, &latest->row);
        latest->members = 0;
    }
    if (code < 0)
        return code;
    latest->started_ns = started;
    *row = latest->row;
    *members = &latest->members;
    return 0;
}

static int job_write(struct history *history, const struct job *job)
{
    int64_t started = nanoseconds(job->started), ended = nanoseconds(job->ended);
    int64_t row = 0;
    uint64_t unknown = 0, *members = &unknown;
    int code = job_row_of(history, job, &row, &members);

    if (code == 0)
        code = members_write(history, row, job, members);
    if (code < 0)
        return code;
    sqlite3_stmt *set = history_statement(history, SQL_JOB_SET);
    int place = USAGE_COUNT;
    bind_usage(set, &job->usage);
    bind_text(set, ++place, job->workspace);
    bind_text(set, ++place, job->config_hash);
    bind_integer(set, ++place, job->has_total, job->total_sheets);
    bind_text(set, ++place, job_status_names[job->status]);
    bind_integer(set, ++place, job->pid > 0, job->pid);
    bind_integer(set, ++place, started != 0, started);
    bind_integer(set, ++place, ended != 0, ended);
    bind_integer(set, ++place, job->pid_start_ticks != 0, (int64_t)job->pid_start_ticks);
    bind_own_cgroup(set, ++place, job->own_cgroup);
    bind_integer(set, ++place, true, job->owner);
    bind_integer(set, ++place, job->runner > 0, job->runner);
    bind_integer(set, ++place, job->runner > 0, (int64_t)job->runner_start_ticks);
    bind_integer(set, ++place, true, retention_clock(history));
    bind_integer(set, ++place, true, row);
    code = history_run(history, set);
    return code < 0 ? code : sheets_write(history, row, job);
}

int jobs_write(struct history *history, const struct snapshot *snapshot)
{
    int code = 0;

    for (size_t i = 0; i < snapshot->changed_job_count && code == 0; i++)
        code = job_write(history, &snapshot->changed_jobs[i]);
    return code;
}

int jobs_write_hotspots(struct history *history, const struct snapshot *snapshot)
{
    int code = 0;

    for (size_t i = 0; i < snapshot->changed_job_count && code == 0; i++) {
        const struct job *job = &snapshot->changed_jobs[i];
        int64_t row = 0, started = nanoseconds(job->started);

        if (job->status == JOB_RUNNING && !job->calls)
            continue;
        code = job_find(history, job->id, started, &row, &started);
        if (code == 0 && job->calls)
            code = calls_text(history, job->calls, job->call_count);
        if (code < 0)
            return code;
        sqlite3_stmt *set = history_statement(history, job->calls ? SQL_JOB_CALLS : SQL_JOB_HOTSPOTS);
        bind_integer(set, 1, true, row);
        if (job->calls)
            bind_text(set, 2, strbuf_text(&history->text));
        code = history_run(history, set);
    }
    return code;
}
