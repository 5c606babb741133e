/* metron's own cost, in every run. */
#include "collect/collector.h"

#include <errno.h>
#include <fcntl.h>
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
    {.key = "self_cpu_seconds",
     .field = CPU_SECONDS,
     .type = TYPE_COUNTER,
     .unit = UNIT_SECONDS,
     .reduce = REDUCE_DELTA,
     .meaning = "CPU seconds that metron itself used"},
    {.key = "self_kernel_seconds",
     .field = KERNEL_SECONDS,
     .type = TYPE_COUNTER,
     .unit = UNIT_SECONDS,
     .reduce = REDUCE_DELTA,
     .meaning = "CPU seconds that metron's own programs inside the kernel took in the target's processes "
                "(part of the target's CPU)"},
    {.key = "self_samples",
     .field = SAMPLES,
     .type = TYPE_COUNTER,
     .unit = UNIT_COUNT,
     .reduce = REDUCE_DELTA,
     .meaning = "samples that metron took"},
    {.key = "self_missed_ticks",
     .field = MISSED_TICKS,
     .type = TYPE_COUNTER,
     .unit = UNIT_COUNT,
     .reduce = REDUCE_DELTA,
     .meaning = "samples that were due and not taken because metron was late"},
    {.key = "self_rss",
     .field = RSS,
     .type = TYPE_GAUGE,
     .unit = UNIT_BYTES,
     .reduce = REDUCE_MAX,
     .cost = COST_NOTHING,
     .meaning = "resident memory of metron itself"},
    {.key = "self_sample_seconds",
     .field = SAMPLE_SECONDS,
     .type = TYPE_GAUGE,
     .unit = UNIT_SECONDS,
     .reduce = REDUCE_MAX,
     .meaning = "wall time that taking one sample took"},
};

/* The descriptor of our own statm, kept open; ourselves, whatever tree the context's proc_root may be. */
struct self_state {
    int statm;
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
    self->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    *state = self;
    return 0;
}

static void close_state(void *state)
{
    struct self_state *self = state;
    if (self->statm >= 0)
        (void)close(self->statm);
    free(self);
}

static int collect(void *state, const struct collect_context *context, struct pass *pass)
{
    const struct self_state *self = state;
    const struct loop_figures *figures = context->figures;
    struct rusage usage;
    struct row *row = &pass->single;
    char text[128];
    struct pid_statm statm;

    if (getrusage(RUSAGE_SELF, &usage) == 0)
        row_number(row, CPU_SECONDS,
                   clock_timeval_seconds(usage.ru_utime) + clock_timeval_seconds(usage.ru_stime) +
                       figures->helper_cpu_seconds);
    /* They may come after the command has started: what they take counts from 0 all the same. */
    if (figures->has_kernel_cpu || pass->kind == PASS_SEED)
        row_number(row, KERNEL_SECONDS, figures->has_kernel_cpu ? figures->kernel_cpu_seconds : 0);
    row_number(row, SAMPLES, (double)figures->samples);
    row_number(row, MISSED_TICKS, (double)figures->missed_ticks);
    if (figures->samples > 0)
        row_number(row, SAMPLE_SECONDS, figures->sample_seconds);
    ssize_t length = self->statm >= 0 ? pread(self->statm, text, sizeof(text), 0) : -1;
    if (length > 0 && pid_statm_parse(text, (size_t)length, &statm) == 0)
        row_number(row, RSS, (double)statm.resident_pages * (double)sysconf(_SC_PAGESIZE));
    return 0;
}

extern const struct collector collector_self;
const struct collector collector_self = {
    .source = {.name = "self",
               .title = "metron itself",
               .fields = fields,
               .field_count = FIELD_COUNT,
               .measurements = measurements,
               .measurement_count = sizeof(measurements) / sizeof(measurements[0])},
    .survey = survey,
    .open = open_state,
    .collect = collect,
    .close = close_state,
};
