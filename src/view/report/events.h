/*
 * What events.jsonl tells of a run, in one pass and in bounded memory: births and ends, how long lives were,
 * who failed, who killed whom, and what each process had used at its end (where the kernel told). Of those
 * that ended only the largest are kept, and sums by program; of those alive a line each.
 */
#ifndef METRON_VIEW_REPORT_EVENTS_H
#define METRON_VIEW_REPORT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/recording.h"
#include "view/report/compilations.h"
#include "view/report/groups.h"
#include "view/report/processes.h"

enum { REPORT_ENDS_MAX = 8, REPORT_NOTABLE_MAX = 16 };

/* One process at its end. */
struct report_end {
    int64_t pid;
    double cpu_seconds, max_rss, read_bytes, write_bytes; /* max_rss 0: not told */
    double lifetime_seconds;                              /* -1: not told */
    bool has_exit_code;
    int exit_code, signal_num; /* signal_num 0: none */
    struct report_command command;
};

/* All that ran one program, by the first word of the command line, without its folder. */
struct report_program {
    const char *name; /* "": not told */
    uint64_t ended, with_use, failed;
    double cpu_seconds, max_rss, read_bytes, write_bytes, lifetime_seconds; /* of those with_use */
};

/* An OOM kill, or an anomaly: rare, and told one by one. */
struct report_notable {
    double wall;
    int64_t pid;
    struct report_command command;
    char type[48], severity[16], description[256]; /* of an anomaly; "" if not told */
};

struct report_life {
    double seconds; /* -1: none is known */
    int64_t pid;
    struct report_command command;
};

struct report_events {
    uint64_t count, spawned, ended, with_use;
    uint64_t births_sampled;   /* noticed in a pass: there may have been others */
    uint64_t lives_timed;      /* ended with a known lifetime */
    double spawn_rate_peak;    /* births in the busiest second; 0: none */
    double spawn_rate_peak_at; /* seconds after the start of the run */
    struct report_life shortest, longest;
    bool lives_are_exact; /* all told by the kernel, none from two time stamps */
    double cpu_seconds;   /* of all with use */
    struct report_end tops[REPORT_USE_COUNT][REPORT_ENDS_MAX];
    size_t top_counts[REPORT_USE_COUNT];
    struct report_compilations compilations;
    struct report_groups *failing;  /* by program: exit codes other than 0 */
    struct report_groups *failures; /* the same by exit code and program */
    struct report_groups *kills;    /* by signal: who killed which program */
    struct report_groups *signals;  /* by signal: who sent it to which program */
    struct report_notable ooms[REPORT_NOTABLE_MAX], anomalies[REPORT_NOTABLE_MAX];
    uint64_t oom_count, anomaly_count;
    int64_t root;     /* the command itself: the first that was born; 0: unknown */
    bool root_failed; /* it is one of the failing */
    bool root_killer_is_told;
    int64_t root_killer; /* its pid; 0: the kernel; -1: unknown, only the name is told */
    char root_killer_name[64];
    struct report_events_inner *inner;
};

/* 0 or -ENOMEM; fini is safe after either. */
int report_events_init(struct report_events *events, const struct recording *recording);
void report_events_fini(struct report_events *events);
/* `processes` is told of those whose use is known exactly. */
void report_events_add(struct report_events *events, const struct recorded_event *event,
                       struct report_processes *processes);
void report_events_end(struct report_events *events);

/* The `limit` programs with the most CPU (without any use told: with the most processes). */
size_t report_programs_top(const struct report_events *events, struct report_program *out, size_t limit);
size_t report_programs_count(const struct report_events *events);
/* "/usr/bin/cc1 -quiet x.c" -> "cc1". Returns out. */
char *report_program_name(const char *command, char out[REPORT_GROUP_TEXT_MAX]);

#endif
