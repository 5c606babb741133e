/*
 * In place of the rest of this folder where metron is built without SQLite: there is no history, and whoever
 * asks for one is told so.
 */
#include <errno.h>

#include "store/history/history.h"
#include "store/history/reader.h"

static int absent(struct metron_error *error)
{
    return error_set(error, -ENOTSUP,
                     "this metron was built without SQLite and keeps no history; install libsqlite3-dev and "
                     "build it with -Dhistory=enabled");
}

int history_open(const struct history_options *options, struct history **out, struct metron_error *error)
{
    (void)options;
    *out = NULL;
    return absent(error);
}

const char *history_set_aside(const struct history *history)
{
    (void)history;
    return NULL;
}

int history_write(struct history *history, const struct snapshot *snapshot, struct metron_error *error)
{
    (void)history, (void)snapshot;
    return absent(error);
}

int history_write_jobs(struct history *history, const struct snapshot *snapshot, struct metron_error *error)
{
    (void)history, (void)snapshot;
    return absent(error);
}

int history_maintain(struct history *history, double now, double budget_seconds, struct metron_error *error)
{
    (void)history, (void)now, (void)budget_seconds;
    return absent(error);
}

void history_close(struct history *history)
{
    (void)history;
}

int history_reader_open(const char *path, struct history_reader **out, struct metron_error *error)
{
    (void)path;
    *out = NULL;
    return absent(error);
}

void history_reader_close(struct history_reader *reader)
{
    (void)reader;
}

void history_reader_watch(struct history_reader *reader, int (*is_to_stop)(void *context), void *context)
{
    (void)reader;
    (void)is_to_stop;
    (void)context;
}

int history_read_snapshots(struct history_reader *reader, const struct snapshot_columns *columns,
                           const struct history_span *span, struct snapshot_pool *pool,
                           history_visit_snapshot *visit, void *context, struct metron_error *error)
{
    (void)reader, (void)columns, (void)span, (void)pool, (void)visit, (void)context;
    return absent(error);
}

int history_read_process(struct history_reader *reader, const struct snapshot_columns *columns, pid_t pid,
                         uint64_t start_ticks, const struct history_span *span, history_visit_process *visit,
                         void *context, struct metron_error *error)
{
    (void)reader, (void)columns, (void)pid, (void)start_ticks, (void)span, (void)visit, (void)context;
    return absent(error);
}

int history_read_events(struct history_reader *reader, double since, const char *job_id, size_t limit,
                        history_visit_event *visit, void *context, struct metron_error *error)
{
    (void)reader, (void)since, (void)job_id, (void)limit, (void)visit, (void)context;
    return absent(error);
}

int history_read_running_jobs(struct history_reader *reader, history_visit_job *visit, void *context,
                              struct metron_error *error)
{
    (void)reader, (void)visit, (void)context;
    return absent(error);
}

int history_read_profile(struct history_reader *reader, const char *job_id, struct arena *arena,
                         struct history_profile *out, struct metron_error *error)
{
    (void)reader, (void)job_id, (void)arena, (void)out;
    return absent(error);
}
