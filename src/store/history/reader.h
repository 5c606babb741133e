/*
 * Reading the history, on a connection of its own that cannot write: safe in any thread or process while the
 * daemon writes. One thread at a time for one reader. Each function sees the file as it was at one instant.
 *
 * Times are unix seconds. `visit` returns 0 to go on; anything else ends the reading and is returned. What it
 * is given lives until it returns, unless said otherwise.
 */
#ifndef METRON_STORE_HISTORY_READER_H
#define METRON_STORE_HISTORY_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "schema/snapshot.h"

struct history_reader;

/* -ENOENT: there is none yet; -ENOTSUP: of another version than this metron's; -EINVAL: no history. */
int history_reader_open(const char *path, struct history_reader **out, struct metron_error *error);
void history_reader_close(struct history_reader *reader); /* NULL is nothing */
/* Asks now and then, while it reads, whether to stop (not 0): what is being read then fails with -ECANCELED.
 */
void history_reader_watch(struct history_reader *reader, int (*is_to_stop)(void *context), void *context);

/* When the last snapshot before this time (unix seconds) was taken. -ENOENT: there is none. */
int history_read_last_time(struct history_reader *reader, double before, struct timespec *out,
                           struct metron_error *error);

/* The first `limit` snapshots of a span of time: since <= t < until. */
struct history_span {
    double since, until;
    size_t limit;
};

/* The snapshots of a span, oldest first, with their processes, GPUs and jobs (not their
 * events and changed jobs). `tick` is the snapshot's id; a process has the same `serial` in all of them. One
 * that is needed for longer is held with snapshot_hold. */
typedef int history_visit_snapshot(void *context, struct snapshot *snapshot);
int history_read_snapshots(struct history_reader *reader, const struct snapshot_columns *columns,
                           const struct history_span *span, struct snapshot_pool *pool,
                           history_visit_snapshot *visit, void *context, struct metron_error *error);

/* An event as the store has it: `json` is the object that the socket gives, whatever kind it is. */
struct history_event {
    int64_t id;
    double timestamp;
    const char *event_type;
    const char *json;
    size_t json_length;
};

/* The last `limit` events since a time, oldest first; of one job unless it is NULL. */
typedef int history_visit_event(void *context, const struct history_event *event);
int history_read_events(struct history_reader *reader, double since, const char *job_id, size_t limit,
                        history_visit_event *visit, void *context, struct metron_error *error);

/* One process in the first `limit` snapshots of a span that it is in, oldest first. `start_ticks` 0: every
 * process that had the pid. */
typedef int history_visit_process(void *context, double timestamp, const struct snapshot_process *process);
int history_read_process(struct history_reader *reader, const struct snapshot_columns *columns, pid_t pid,
                         uint64_t start_ticks, const struct history_span *span, history_visit_process *visit,
                         void *context, struct metron_error *error);

/* The jobs that run, as far as the history knows (after a restart: those that ran when the daemon ended),
 * with their sheets, oldest first. */
typedef int history_visit_job(void *context, const struct job *job);
int history_read_running_jobs(struct history_reader *reader, history_visit_job *visit, void *context,
                              struct metron_error *error);

/* What a job used: by itself and by sheet in `job`, and the system calls that its processes were counted in,
 * most time first. */
struct history_profile {
    struct job job;
    const struct snapshot_call *calls; /* NULL: none counted */
    size_t call_count;
};
/* The last job of this name; all of it in the arena. -ENOENT: none was announced. */
int history_read_profile(struct history_reader *reader, const char *job_id, struct arena *arena,
                         struct history_profile *out, struct metron_error *error);

#endif
