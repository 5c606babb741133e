/*
 * The daemon: watches, remembers, answers.
 *
 * At every tick the watch (loop/watch.h) brings a snapshot; the jobs add what they used; it becomes the
 * latest one, which clients ask for, and goes to the writer (store/writer.h), which stores it in a thread of
 * its own. What happened goes to the bus, and stays among the last events. An error in one part is told once,
 * and the rest goes on.
 */
#ifndef METRON_DAEMON_DAEMON_H
#define METRON_DAEMON_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "base/json.h"
#include "collect/collector.h"
#include "loop/kernel_events.h"
#include "schema/registry.h"
#include "store/history/history.h"

struct secrets;

struct daemon_options {
    double interval;   /* seconds */
    double lost_after; /* likewise: a job that nothing is left of for so long is lost */
    bool all_users;    /* watch everybody's processes */
    bool jobs_only;    /* store and show only those of jobs */
    /* Masked where they are recorded; NULL: none are. */
    const struct secrets *secrets;
    bool count_calls;         /* of jobs: by our programs, if `events` has them marking, else by strace */
    const char *socket;       /* where it listens */
    const char *socket_group; /* NULL: nobody but the owner and root */
    const char *database;     /* NULL: no history */
    const char *log_file;     /* NULL: no log */
    const char *trace_folder; /* of full traces; NULL: none are made */
    uint64_t log_limit_bytes;
    double full_hours, minute_days, event_days;
    uint64_t database_cap_bytes;
    struct history_upgrade upgrade; /* daemon_open gives -ECANCELED if it stopped that of an older history */
    const char *version;
    struct kernel_events *events; /* borrowed, as is the rest */
    const struct collect_context *context;
    const struct registry *registry;
    const struct snapshot_columns *columns; /* of what snapshots keep */
    /* Writes the settings in force: one object. */
    void (*config_json)(struct json *json, void *context);
    void *config_context;
};

struct daemon;

/* Only its loop, in which the caller installs its handlers of signals. */
int daemon_new(const struct daemon_options *options, struct daemon **out, struct metron_error *error);
/* Everything that can go wrong at the start goes wrong here: nothing runs yet. From here on clients can
 * connect. */
int daemon_open(struct daemon *daemon, struct metron_error *error);
/* Runs until it was stopped. */
int daemon_run(struct daemon *daemon, struct metron_error *error);
/* From a callback of its loop: writes what is queued, and ends. `graceful`: with a last snapshot, and waits
 * for straces to leave and for clients to read their answers. */
void daemon_stop(struct daemon *daemon, bool graceful);
/* Settings that may change while it runs. */
void daemon_set_interval(struct daemon *daemon, double seconds);
void daemon_set_jobs_only(struct daemon *daemon, bool jobs_only);
uv_loop_t *daemon_loop(struct daemon *daemon);
/* 0; -ETIMEDOUT: a thread is left behind, stuck in a write or in the driver of the GPUs or not waited for:
 * what is run at an ordinary exit might wait for it. */
int daemon_free(struct daemon *daemon);

#endif
