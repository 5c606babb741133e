/*
 * A collector: one I/O pass over one source.
 *
 * It is pure: it turns what probe/ and tree/ see into raw readings and remembers nothing of the last pass but
 * open descriptors. It says what of it can be read here and, if something cannot, why. To add one: a file
 * with one `const struct collector`, its name below and in collectors.c, a line in the build file
 * (docs/tour.md walks through it).
 */
#ifndef METRON_COLLECT_COLLECTOR_H
#define METRON_COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "probe/allowance.h"
#include "schema/measurement.h"
#include "schema/pass.h"
#include "tree/tree.h"

struct cgroup_target;
struct secrets;
struct syscall_table;

/* What the loop tells of itself. */
struct loop_figures {
    uint64_t samples, missed_ticks;
    double sample_seconds;     /* wall time of the latest sample */
    double helper_cpu_seconds; /* CPU of programs that were run in order to measure (ps) */
    pid_t capture_pid;         /* the process that captures the command's output; 0: none */
    double capture_cpu_seconds;
    double kernel_cpu_seconds; /* CPU of our programs inside the kernel, taken in the target's processes */
    bool has_kernel_cpu;       /* there are such programs */
};

/* What the user may set about single sources. */
struct collect_tuning {
    /* Masked where they are recorded; NULL: none are. */
    const struct secrets *secrets;
    double sample_interval;     /* seconds */
    bool smaps;                 /* read it at all */
    double smaps_interval;      /* seconds; 0: five samples */
    double smaps_budget;        /* CPU seconds that a pass of smaps may take */
    uint64_t smaps_limit_bytes; /* larger processes are passed over by smaps */
    bool gpu_off;               /* GPUs are not read */
    bool is_daemon;             /* may run programs, which in a run would count as the target's */
};

/* Who counts system calls: our programs in the kernel, or strace. All counts are cumulative since the
 * process, or the target, was first followed. */
typedef void syscall_visit(void *visitor, const struct subject *subject, const struct syscall_table *table);
struct syscall_source {
    /* Brings everything up to date. 0 or a negative errno. */
    int (*update)(void *context);
    /* Visits each process that was counted, those included that have left since the last update. */
    void (*each)(void *context, syscall_visit *visit, void *visitor);
    const struct syscall_table *(*of_target)(void *context); /* NULL: it could not be counted */
    void *context;
    const char *method; /* "bpf", "strace" */
};

/* What collectors may look at; borrowed for the time of a call. */
struct collect_context {
    const char *proc_root;
    const struct kernel_facts *facts; /* of that root */
    struct tree *tree;                /* NULL where nothing is followed (a survey) */
    struct loop_figures *figures;     /* NULL likewise */
    const struct collect_tuning *tuning;
    const struct cgroup_target *cgroup;    /* the target's control group; NULL: none is looked at */
    const struct allowance *allowance;     /* what the target may use; NULL: not known */
    const struct syscall_source *syscalls; /* who counts system calls; NULL: not asked for */
    const char *why_no_events;      /* why our programs in the kernel tell nothing; NULL: they do, or may */
    const char *why_no_exit_totals; /* why not of everybody from the start; NULL: they do, or may */
    const char *why_no_reaping;     /* why none of the target is waited for; NULL: metron does */
    bool of_machine;                /* the target is everybody on the machine (the daemon's) */
    uint64_t selected;              /* while a collector is opened: a bit for each field that is wanted */
    uint64_t spawner_maxrss_bytes;  /* the floor of ru_maxrss: what the command's parent held at the fork */
};

/* Not an error: a source that is dear has longer pauses than a sample. */
#define COLLECT_NOT_DUE 1

/* The source of a collector: the tables `fields` and `measurements` of its file. */
#define SOURCE(NAME, TITLE)                                                                                  \
    {                                                                                                        \
        .name = (NAME), .title = (TITLE), .fields = fields, .field_count = ARRAY_LENGTH(fields),             \
        .measurements = measurements, .measurement_count = ARRAY_LENGTH(measurements)                        \
    }

struct collector {
    struct source source;
    bool opt_in;        /* left out of the group "default" */
    bool logs_failures; /* says itself why a pass failed */
    bool of_machine;    /* what it counts goes on when the target has ended */
    /* Seconds between its readings, where it is not read at every sample; NULL: it is. */
    double (*interval)(const struct collect_tuning *tuning);
    /* Looks once, at the start, whether it can be read here: sets reasons[field] (text that outlives the run)
     * for each field that cannot, leaves NULL what can. May be NULL: everything can. */
    void (*survey)(const struct collect_context *context, const char *reasons[]);
    /* `cost`: what the selected measurements need. State may be NULL. May itself be NULL: nothing to open. */
    int (*open)(const struct collect_context *context, unsigned cost, void **state);
    /* At the beginning of a sample: a source that takes its time is asked now. May be NULL. */
    void (*ask)(void *state, const struct collect_context *context);
    /* One of these two: `collect` at every sample, `read` at every report. Stamps are already set. A negative
     * errno: nothing could be measured this time; COLLECT_NOT_DUE: nothing was looked at, on purpose. */
    int (*collect)(void *state, const struct collect_context *context, struct pass *pass);
    int (*read)(void *state, const struct collect_context *context, struct pass *pass);
    void (*close)(void *state);
};

/* One per file. */
extern const struct collector collector_proc, collector_ledger, collector_smaps, collector_io,
    collector_cgroup, collector_rusage, collector_exit, collector_psi, collector_sys, collector_gpu,
    collector_syscall, collector_ps, collector_self;

/* For a survey: the same reason for every field of a source. */
static inline void survey_all(const struct source *source, const char *reason, const char *reasons[])
{
    for (unsigned field = 0; field < source->field_count; field++)
        reasons[field] = reason;
}

#endif
