/*
 * Inside of the Perfetto format: what is remembered of each process, and the writing of lifetimes and events.
 */
#ifndef METRON_PUBLISH_EXPORT_PERFETTO_H
#define METRON_PUBLISH_EXPORT_PERFETTO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash_table.h"
#include "publish/exporter.h"

/* The track of the run's own counters: above the largest pid that Linux knows (PID_MAX_LIMIT). */
#define PERFETTO_RUN_PID     4194305
#define PERFETTO_PROCESS_MAX 100000

struct perfetto_process {
    char subject[24];    /* "4711", "4711#2" */
    char start_time[40]; /* as the recording tells it; "": not told */
    char command[120];   /* cut: then it ends with …; "": unknown */
    long long pid;
    double first, last;               /* microseconds: the beginning and the end of what was seen of it */
    size_t first_record, last_record; /* from 1 */
    bool has_slice;                   /* an event told of its lifetime */
    bool alive;                       /* it is in the list of the newest record */
    struct perfetto_process *previous_alive;
    double *sums;          /* while it lives, of what grows, per key; NULL: nothing yet */
    unsigned char *levels; /* while it lives, a bit per key: it has a level that must fall */
    UT_hash_handle hh;
};

struct perfetto_state {
    bool begun; /* an event has been written: the next one needs a comma */
    bool failed;
    double start_wall;
    ptrdiff_t command_key, start_key, age_key; /* -1: the recording has none */
    size_t key_count;
    double *sums;                       /* of the run's own counters that grow; per key */
    struct perfetto_process *processes; /* hash by subject */
    struct perfetto_process *alive;     /* list: those of the newest record */
};

/* Whether a time can be written. A damaged recording may have one that is past all numbers: its event is left
 * out. */
bool perfetto_is_time(double microseconds);
/* Begins an event at a time that can be written; the caller goes on with ",…}" */
void perfetto_open(struct export *export, char phase, long long pid, double microseconds);
void perfetto_name(struct export *export, const char *name);
/* Says something about a process: "process_name", {"name": text}. */
void perfetto_metadata(struct export *export, long long pid, const char *what, const char *argument,
                       const char *text);

/* Of "4711" and "4711#2"; that of the run for what is none. */
long long perfetto_pid(const char *subject);
struct perfetto_process *perfetto_find(const struct perfetto_state *state, const char *subject);
/* NULL for want of memory, and `failed` is set. */
struct perfetto_process *perfetto_new(struct perfetto_state *state, const char *subject);
/* Adds to what the process has of a growing key, and returns the sum. */
double perfetto_sum(struct perfetto_state *state, struct perfetto_process *process, size_t key, double value);
/* Notes that the process has a level of this key, which falls when it is gone. */
void perfetto_level(struct perfetto_state *state, struct perfetto_process *process, size_t key);
/* It is in no later record: what is kept of a living process is freed. */
void perfetto_gone(struct perfetto_process *process);

int perfetto_event(struct export *export, const struct recorded_event *event);
/* Lifetimes of the processes that no event told of. */
void perfetto_sampled_lifetimes(struct export *export);
void perfetto_fini(struct export *export);

#endif
