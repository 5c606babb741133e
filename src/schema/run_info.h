/*
 * What is known of a run beside its readings: info.json. Plain data; every pointer is borrowed, NULL is
 * absent.
 */
#ifndef METRON_SCHEMA_RUN_INFO_H
#define METRON_SCHEMA_RUN_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/json.h"
#include "schema/note.h"
#include "schema/outcome.h"
#include "schema/record.h"
#include "schema/registry.h"

#define METRON_SCHEMA_VERSION "1.1"

/* One answer to a common question, with the key it was taken from. */
struct headline_answer {
    bool has;
    double value;
    const char *source; /* the key, static or borrowed */
    struct note note;
    const char *of; /* of a stall, who waited: "run", "group" (shared with others), "machine" */
};

/* One way of measuring the peak of memory, and what it gave. */
struct headline_method {
    const char *source; /* the key */
    double value;       /* bytes */
    enum bound bound;
    const char *method, *bias;
};

enum stall { STALL_CPU, STALL_MEMORY, STALL_IO, STALL_COUNT };
enum { HEADLINE_METHODS_MAX = 8 };

struct headline {
    struct headline_answer cpu_seconds;
    struct headline_answer peak_memory_bytes;
    struct headline_answer memory_upper_bound; /* what the target was charged with, page cache included */
    struct headline_answer processes;
    struct headline_answer stalls[STALL_COUNT]; /* share of the wall time, 0 to 1 */
    struct headline_method memory_methods[HEADLINE_METHODS_MAX];
    size_t memory_method_count;
};

const char *stall_name(enum stall stall); /* "cpu" */

/* What the target may use. */
struct run_allowance {
    double cpus;
    uint64_t memory_bytes; /* 0: unknown */
    const char *cpus_by, *memory_by;
    bool ancestors_hidden; /* groups above cannot be seen: there may be lower limits */
};

struct run_variable {
    const char *name, *value; /* the value already masked */
};

struct run_collector {
    const char *name;
    double interval;    /* seconds between its readings; 0: it is read at every sample */
    const char *reason; /* why nothing of it can be read; NULL: something can */
    uint64_t failures;  /* passes that failed, and why the last of them did */
    const char *failure;
};

struct run_survivor {
    pid_t pid;
    const char *command;
    bool command_is_truncated; /* it is cut, and ends with … */
};

/* How the system calls of a run were counted; the counts themselves are in its summary. */
struct run_syscalls {
    const char *method; /* "bpf", "strace"; NULL: they were not counted */
    const char *reason; /* why not, though asked for; NULL */
    const char *note;   /* why calls are missing that nobody could count; NULL: none are known to be */
    uint64_t lost;      /* calls that the method knows to have missed */
};

/* A process that ran already. */
struct run_root {
    pid_t pid;
    uint64_t start_ticks; /* field 22 of its stat: with the pid, which process */
    const char *start_time;
    uid_t uid;
    const char *command;           /* masked; NULL: not known */
    const char *working_directory; /* NULL: not known */
};

/* What was attached to. */
struct run_attached {
    const struct run_root *roots; /* NULL: nothing, a command was started */
    size_t root_count;
    bool children;   /* with all their descendants */
    double duration; /* seconds that were asked for; 0: until the end */
    /* Once it has ended: */
    const char *ended_by; /* "target", "duration", "signal" or "request" */
    bool has_exit;        /* how the only root ended was told: exit_code, signal and cause are there */
    size_t processes;     /* that ran already when the baseline was taken */
};

struct run_info {
    const char *metron_version;
    /* Who records: with the boot id, a reader can tell a running run from a lost one. */
    pid_t metron_pid;
    uint64_t metron_start_ticks; /* field 22 of its /proc/PID/stat; 0: unknown */
    const char *boot_id;

    const char *command;          /* one line, masked, quoted for a shell */
    const char *const *arguments; /* masked, NULL-terminated */
    const char *working_directory;
    const char *message, *job, *config_hash;
    bool has_sheet;
    int64_t sheet;
    struct run_attached attached;

    const char *hostname, *user, *os, *kernel, *architecture, *cpu_model;
    uid_t uid;
    unsigned cpu_total, cpu_usable;
    uint64_t memory_total_bytes;
    struct run_allowance may_use;
    const struct run_variable *environment;
    size_t environment_count;

    const char *prefix, *stdout_path, *stderr_path, *usage_path, *events_path, *info_path;

    double sample_interval, report_interval; /* auto: as it stands after the start; as it stood last */
    bool sample_interval_auto, report_interval_auto;
    const char *mode, *wait;
    const char *tier, *tier_reason;    /* in force; why not a higher one */
    const char *cgroup_scope;          /* own, inherited or none */
    const char *cgroup_reason;         /* why not own; NULL if it is */
    const char *processes_seen_by;     /* connector, listings or scan */
    const char *processes_seen_reason; /* why not the connector */
    const char *processes_read_by;     /* procfs, iterator, or both in turn */
    bool spawned_is_exact, cpu_is_conserved, io_is_conserved;
    bool has_io; /* I/O was measured at all */
    uint64_t events_lost;
    const struct run_collector *collectors;
    size_t collector_count;
    const struct registry *registry; /* what was selected */

    struct timespec start_wall;
    struct headline headline; /* of the newest report; none before the first */
    /* From here on: only once the run has ended. */
    bool ended;
    struct timespec end_wall;
    double wall_seconds;
    struct outcome outcome;
    const char *cause; /* the outcome as a sentence */
    unsigned num_samples, num_reports;
    const struct record *summary;
    struct run_syscalls syscalls;
    const struct run_survivor *survivors; /* members that outlived the command; at most some are named */
    size_t survivor_count, survivors_in_all;
};

/* Whether it is known how it ended: of a command always, of processes that ran already seldom. */
static inline bool run_info_has_exit(const struct run_info *info)
{
    return !info->attached.roots || info->attached.has_exit;
}

void run_info_json(struct json *json, const struct run_info *info);
/* What one measurement is: a member of provenance.measurements. */
void run_info_measurement_json(struct json *json, const struct source *source,
                               const struct measurement *measurement);

#endif
