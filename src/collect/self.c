/* metron's own cost, in every run. */
#include "collect/collector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CPU_SECONDS, KERNEL_SECONDS, SAMPLES, MISSED_TICKS, RSS, SAMPLE_SECONDS, FIELD_COUNT };

static const char *const fields[FIELD_COUNT] = {
    [CPU_SECONDS] = "getrusage(RUSAGE_SELF), and wait4 of programs run to measure",
    [KERNEL_SECONDS] = "clock inside our programs in the kernel",
    [SAMPLES] = "loop",
    [MISSED_TICKS] = "loop",
    [RSS] = "/proc/self/statm",
    [SAMPLE_SECONDS] = "loop",
};

static const struct measurement measurements[] = {
    MEASUREMENT("self_cpu_seconds", TOPIC_SELF_CPU, CPU_SECONDS, SCOPE_SINGLE, TYPE_COUNTER, UNIT_SECONDS,
                REDUCE_DELTA, COST_NOTHING,
                "CPU seconds that metron itself used, its capture process included"),
    MEASUREMENT("self_kernel_seconds", TOPIC_SELF, KERNEL_SECONDS, SCOPE_SINGLE, TYPE_COUNTER, UNIT_SECONDS,
                REDUCE_DELTA, COST_NOTHING,
                "CPU seconds that metron's own programs inside the kernel took in the target's processes "
                "(part of the target's CPU)"),
    MEASUREMENT("self_samples", TOPIC_SELF_SAMPLES, SAMPLES, SCOPE_SINGLE, TYPE_COUNTER, UNIT_COUNT,
                REDUCE_DELTA, COST_NOTHING, "samples that metron took"),
    MEASUREMENT("self_missed_ticks", TOPIC_SELF_MISSED, MISSED_TICKS, SCOPE_SINGLE, TYPE_COUNTER, UNIT_COUNT,
                REDUCE_DELTA, COST_NOTHING, "samples that were due and not taken because metron was late"),
    MEASUREMENT("self_rss", TOPIC_SELF_MEMORY, RSS, SCOPE_SINGLE, TYPE_GAUGE, UNIT_BYTES, REDUCE_MAX,
                COST_NOTHING,
                "resident memory of metron itself and of its capture process (pages they share count twice)",
                .bound = BOUND_UPPER, COLUMN("daemon_rss_mb", "daemon_rss")),
    MEASUREMENT("self_sample_seconds", TOPIC_SELF, SAMPLE_SECONDS, SCOPE_SINGLE, TYPE_GAUGE, UNIT_SECONDS,
                REDUCE_MAX, COST_NOTHING, "wall time that taking one sample took"),
};

/* Descriptors of statm, kept open: our own, whatever tree the context's proc_root may be, and that of the
 * capture process. */
struct self_state {
    int statm, capture_statm;
    bool has_capture; /* it was opened, or tried */
};

static void survey(const struct collect_context *context, const char *reasons[])
{
    reasons[KERNEL_SECONDS] = context->why_no_events;
}

static int open_state(const struct collect_context *context, unsigned cost, void **state)
{
    struct self_state *self = malloc(sizeof(*self));
    (void)context;
    (void)cost;
    if (!self)
        return -ENOMEM;
    *self = (struct self_state){.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC), .capture_statm = -1};
    *state = self;
    return 0;
}

static void close_state(void *state)
{
    struct self_state *self = state;
    if (self->statm >= 0)
        (void)close(self->statm);
    if (self->capture_statm >= 0)
        (void)close(self->capture_statm);
    free(self);
}

static void open_capture(struct self_state *self, pid_t pid)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    self->capture_statm = open(path, O_RDONLY | O_CLOEXEC);
    self->has_capture = true;
}

/* 0: it has ended. */
static double resident_bytes(int statm_fd)
{
    char text[128];
    struct pid_statm statm;
    ssize_t length = statm_fd >= 0 ? pread(statm_fd, text, sizeof(text), 0) : -1;

    if (length <= 0 || pid_statm_parse(text, (size_t)length, &statm) != 0)
        return 0;
    return (double)statm.resident_pages * (double)sysconf(_SC_PAGESIZE);
}

static int collect(void *state, const struct collect_context *context, struct pass *pass)
{
    struct self_state *self = state;
    const struct loop_figures *figures = context->figures;
    struct rusage usage;
    struct row *row = &pass->single;

    if (getrusage(RUSAGE_SELF, &usage) == 0)
        row_number(row, CPU_SECONDS,
                   clock_timeval_seconds(usage.ru_utime) + clock_timeval_seconds(usage.ru_stime) +
                       figures->helper_cpu_seconds + figures->capture_cpu_seconds);
    /* They may come after the command has started: what they take counts from 0 all the same. */
    if (figures->has_kernel_cpu || pass->kind == PASS_SEED)
        row_number(row, KERNEL_SECONDS, figures->has_kernel_cpu ? figures->kernel_cpu_seconds : 0);
    row_number(row, SAMPLES, (double)figures->samples);
    row_number(row, MISSED_TICKS, (double)figures->missed_ticks);
    if (figures->samples > 0)
        row_number(row, SAMPLE_SECONDS, figures->sample_seconds);
    if (figures->capture_pid > 0 && !self->has_capture)
        open_capture(self, figures->capture_pid);
    double resident = resident_bytes(self->statm);
    if (resident > 0)
        row_number(row, RSS, resident + resident_bytes(self->capture_statm));
    return 0;
}

const struct collector collector_self = {
    .source = SOURCE("self", "metron itself"),
    .survey = survey,
    .open = open_state,
    .collect = collect,
    .close = close_state,
};
