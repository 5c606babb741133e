/*
 * The daemon's history: one SQLite file that any program may read while the daemon writes it. The views
 * snapshots, process_metrics, process_events, snapshots_1m and process_metrics_1m are the format; the tables
 * below them (schema.c) are nobody's business but this folder's.
 *
 * What it holds against: the file is in WAL mode with synchronous=NORMAL. A kill -9 at any moment loses
 * nothing that history_write said was written. A power cut or a crash of the kernel never damages the file,
 * but may lose what was written since the last checkpoint (about the last 4 MiB of log).
 *
 * One thread at a time. Readers have connections of their own (reader.h), in any thread or process.
 */
#ifndef METRON_STORE_HISTORY_HISTORY_H
#define METRON_STORE_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "schema/snapshot.h"

/* Watches how a file of an older version is brought up to this one, which may take minutes: called at the
 * start and then several times a second, in the thread that opens the file, with the part that is done, 0
 * to 1. True stops it. */
struct history_upgrade {
    bool (*watch)(void *context, double done); /* may be NULL */
    void *context;
};

/* 0: the default of each number. */
struct history_options {
    const char *path;
    const struct snapshot_columns *columns; /* what is kept of processes and the machine; borrowed */
    double full_hours;                      /* every snapshot; 24 */
    double minute_days;                     /* one-minute means and maxima; 7 */
    double event_days;                      /* 30 */
    uint64_t size_cap_bytes;  /* of the file and its log (-wal), after each write; while one is under way,
                               * plus the pages being written, and all that is written while another
                               * program reads in one long transaction. Running jobs and the newest job stay:
                               * where they need more, the file is larger by as much. 0: none */
    unsigned busy_timeout_ms; /* how long another program's lock is waited for; 2000 */
    struct history_upgrade upgrade; /* for history_open alone */
};

struct history;

/* Opens the file, makes it (0600, its folders 0700) or brings it up to this version. A file that is no
 * database or is damaged is set aside by renaming it, with what belongs to it, and a new one is begun. 1: the
 * disk is full, as `error` says; it will be opened by the first write that finds space.
 * -ECANCELED: options->upgrade stopped it, and the file is as it was;
 * -EBUSY: another daemon has it, or another program has locked it; -ENOTSUP: a newer metron wrote it;
 * -EINVAL: another program's database, or no plain file; -ELOOP: a symbolic link; -EPERM: the file, or one of
 * SQLite's beside it, is another user's. */
int history_open(const struct history_options *options, struct history **out, struct metron_error *error);
/* The new name of a damaged file, the last one that was set aside; NULL: none was. Borrowed. */
const char *history_set_aside(const struct history *history);

/* Writes a snapshot, its events and its changed jobs in one transaction. On failure (-ENOSPC, -EBUSY, -EIO,
 * …) nothing of it is written; the next call tries anew, with this or another snapshot. If the file was
 * removed or is damaged (then it is set aside), the snapshot is the first one of a new file: 1, and `error`
 * has why. Also 1, once, with -EFBIG in `error`: running jobs alone need more than the cap. */
int history_write(struct history *history, const struct snapshot *snapshot, struct metron_error *error);
/* Writes the changed jobs and the events of a snapshot, and nothing else of it, in one transaction: between
 * two snapshots. On failure nothing of it is written. */
int history_write_jobs(struct history *history, const struct snapshot *snapshot, struct metron_error *error);

/* Makes the means and maxima of the minutes that have ended, and forgets what is older than it may be, in
 * small steps until the budget is spent. `now` in unix seconds. 1: there is more to do; 0: there is not; or a
 * negative errno. To be called after each write or now and then: with nothing to do it costs microseconds. */
int history_maintain(struct history *history, double now, double budget_seconds, struct metron_error *error);

void history_close(struct history *history); /* NULL is nothing */

#endif
