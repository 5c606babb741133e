/*
 * Something that happened to a process of the target, as a line of events.jsonl.
 */
#ifndef METRON_SCHEMA_EVENT_H
#define METRON_SCHEMA_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/json.h"

enum event_type { EVENT_SPAWN, EVENT_EXIT, EVENT_KILL, EVENT_SIGNAL, EVENT_OOM };

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
    pid_t pid;
    const char *start_time; /* ISO-8601, NULL if unknown; borrowed */
    pid_t ppid;             /* 0: unknown */
    const char *command;    /* one line, secrets masked; NULL if unknown; borrowed */
    bool has_status;        /* exit: the wait status is known */
    int wait_status;
    int signal_num;                    /* signal: which */
    const struct event_sender *sender; /* signal, kill: NULL if unknown; borrowed */
    const struct event_use *use;       /* exit: NULL if not told; borrowed */
};

const char *event_type_name(enum event_type type);
void event_json(struct json *json, const struct event *event);

#endif
