/*
 * Something that happened to a process of the target or of a job, as a line of events.jsonl and as the daemon
 * tells it.
 */
#ifndef METRON_SCHEMA_EVENT_H
#define METRON_SCHEMA_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/json.h"

enum event_type {
    EVENT_SPAWN,
    EVENT_EXIT,
    EVENT_KILL,
    EVENT_SIGNAL,
    EVENT_OOM,
    EVENT_OF_JOB, /* of a job or sheet, not of a process: it has a `name` */
};

/* How it was learnt: seen in a pass, from wait4, or told by the kernel as it happened. */
enum event_seen { SEEN_SAMPLED, SEEN_REAPED, SEEN_EVENT };

/* Who sent a signal. */
struct event_sender {
    pid_t pid;        /* 0: the kernel itself */
    const char *name; /* of that process, as the kernel has it; NULL: unknown; borrowed */
};

/* What a process had used itself when it ended: all its threads, no children. */
struct event_use {
    double cpu_seconds, lifetime_seconds;
    uint64_t max_rss_bytes; /* 0: not told */
    uint64_t read_bytes, write_bytes;
    uint64_t minor_faults, major_faults;
};

struct event {
    enum event_type type;
    enum event_seen seen;
    struct timespec wall;
    const char *name;       /* EVENT_OF_JOB: job.started, sheet.failed, …; borrowed */
    const char *data;       /* EVENT_OF_JOB: what came with it, an object as JSON; NULL: nothing; borrowed */
    pid_t pid;              /* 0: of no process */
    const char *start_time; /* ISO-8601, NULL if unknown; borrowed */
    pid_t ppid;             /* 0: unknown */
    const char *command;    /* one line, secrets masked; NULL if unknown; borrowed */
    bool command_is_truncated; /* it is cut, and ends with … */
    bool has_status;           /* exit: the wait status is known */
    int wait_status;
    int signal_num;                    /* signal: which */
    const struct event_sender *sender; /* signal, kill: NULL if unknown; borrowed */
    const struct event_use *use;       /* exit: NULL if not told; borrowed */
    uint64_t serial;                   /* in which order it was told; for whoever sorts them */
    const char *job_id;                /* whose process it is; NULL: of no job; borrowed */
    bool has_sheet;
    int64_t sheet_num;
};

/* Inside an object: `command`, and `command_truncated` if it was cut. Nothing if it is not known. */
void command_json(struct json *json, const char *command, bool is_truncated);
/* "spawn", …, or its own. */
const char *event_name(const struct event *event);
/* As events.jsonl has it: `timestamp` in ISO-8601. */
void event_json(struct json *json, const struct event *event);
/* As the socket and the store have it: `timestamp` in unix seconds, a number. */
void event_json_unix(struct json *json, const struct event *event);

#endif
