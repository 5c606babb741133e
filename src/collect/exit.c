/*
 * What the kernel told of every process that ended: what it had used itself, all its threads and no children,
 * however short it lived. Our programs in the kernel tell it (tree_ended); without them there is nothing
 * here.
 *
 * The totals are of everybody or they are absent: one process that ended untold, before the programs were in
 * force or because its event was lost, and they would be too low without a sign of it. What is known of a
 * single process needs no such care.
 */
#include "collect/collector.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum {
    CPU_SECONDS,
    READ_BYTES,
    WRITE_BYTES,
    MINOR_FAULTS,
    MAJOR_FAULTS,
    QUANTITIES, /* of a process, then of all that ended */
    MAX_RSS = 2 * QUANTITIES,
    LIFETIME,
    ALL_PROCESSES,
    ALL_MAX_RSS,
    FIELD_COUNT
};

static const char *const fields[FIELD_COUNT] = {
    [CPU_SECONDS] = "sum of se.sum_exec_runtime of its threads",
    [READ_BYTES] = "sum of ioac.read_bytes of its threads",
    [WRITE_BYTES] = "sum of ioac.write_bytes of its threads",
    [MINOR_FAULTS] = "sum of min_flt of its threads",
    [MAJOR_FAULTS] = "sum of maj_flt of its threads",
    [QUANTITIES + CPU_SECONDS] = "the same of all that ended",
    [QUANTITIES + READ_BYTES] = "the same of all that ended",
    [QUANTITIES + WRITE_BYTES] = "the same of all that ended",
    [QUANTITIES + MINOR_FAULTS] = "the same of all that ended",
    [QUANTITIES + MAJOR_FAULTS] = "the same of all that ended",
    [MAX_RSS] = "the larger of mm.hiwater_rss and resident memory at the exit",
    [LIFETIME] = "from start_time to the exit",
    [ALL_PROCESSES] = "exits told",
    [ALL_MAX_RSS] = "the largest of those told",
};

#define USED(KEY, TOPIC, QUANTITY, UNIT, MEANING, MEANING_TOTAL)                                             \
    MEASUREMENT(KEY, TOPIC, (QUANTITY), SCOPE_PER_PID, TYPE_COUNTER, UNIT, REDUCE_DELTA, COST_EVENTS,        \
                MEANING),                                                                                    \
        MEASUREMENT(KEY "_total", TOPIC, QUANTITIES + (QUANTITY), SCOPE_SINGLE, TYPE_COUNTER, UNIT,          \
                    REDUCE_DELTA, COST_EVENTS, MEANING_TOTAL)

static const struct measurement measurements[] = {
    USED("exit_cpu_seconds", TOPIC_CPU, CPU_SECONDS, UNIT_SECONDS,
         "CPU seconds that a process which ended had used itself, without its children",
         "CPU seconds of all processes that ended; absent where the end of one was not reported"),
    USED("exit_read_bytes", TOPIC_IO_READ, READ_BYTES, UNIT_BYTES,
         "bytes fetched from storage by a process which ended, without its children",
         "bytes fetched from storage by all processes that ended; absent where the end of one was not "
         "reported"),
    USED("exit_write_bytes", TOPIC_IO_WRITE, WRITE_BYTES, UNIT_BYTES,
         "bytes sent towards storage by a process which ended, without its children, counted when a page is "
         "dirtied",
         "bytes sent towards storage by all processes that ended; absent where the end of one was not "
         "reported"),
    USED("exit_minor_faults", TOPIC_FAULT, MINOR_FAULTS, UNIT_COUNT,
         "page faults without storage of a process which ended, without its children",
         "page faults without storage of all processes that ended; absent where the end of one was not "
         "reported"),
    USED(
        "exit_major_faults", TOPIC_FAULT_MAJOR, MAJOR_FAULTS, UNIT_COUNT,
        "page faults with storage of a process which ended, without its children",
        "page faults with storage of all processes that ended; absent where the end of one was not reported"),
    MEASUREMENT(
        "exit_processes", TOPIC_PROCESS, ALL_PROCESSES, SCOPE_SINGLE, TYPE_COUNTER, UNIT_COUNT, REDUCE_DELTA,
        COST_EVENTS,
        "processes that ended, as the totals count them; absent where the end of one was not reported"),
    MEASUREMENT("exit_max_rss", TOPIC_MEMORY_MARK, MAX_RSS, SCOPE_PER_PID, TYPE_GAUGE, UNIT_BYTES,
                REDUCE_LAST, COST_EVENTS,
                "largest resident memory of a process which ended, kept by the kernel"),
    MEASUREMENT("exit_max_rss_max", TOPIC_MEMORY_MARK, ALL_MAX_RSS, SCOPE_SINGLE, TYPE_GAUGE, UNIT_BYTES,
                REDUCE_LAST, COST_EVENTS,
                "largest resident memory of a single process, of all whose end was reported",
                .bound = BOUND_LOWER),
    MEASUREMENT("exit_lifetime_seconds", TOPIC_OTHER, LIFETIME, SCOPE_PER_PID, TYPE_GAUGE, UNIT_SECONDS,
                REDUCE_LAST, COST_EVENTS, "how long a process which ended had lived"),
};

static int read_ended(void *state, const struct collect_context *context, struct pass *pass);
static void survey(const struct collect_context *context, const char *reasons[]);

const struct collector collector_exit = {
    .source = SOURCE("exit", "every process as it ends, told by our programs in the kernel (BPF)"),
    .survey = survey,
    .read = read_ended,
};

/* The programs read the same counters as this file: a kernel without it has none. */
static const char *why_no_io(const struct collect_context *context)
{
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/self/io", context->proc_root);
    return access(path, F_OK) == 0 ? NULL : "the kernel has no /proc/PID/io (CONFIG_TASK_IO_ACCOUNTING)";
}

static void survey(const struct collect_context *context, const char *reasons[])
{
    const char *no_totals = context->why_no_exit_totals;

    if (context->why_no_events) {
        survey_all(&collector_exit.source, context->why_no_events, reasons);
        return;
    }
    reasons[READ_BYTES] = reasons[WRITE_BYTES] = why_no_io(context);
    for (unsigned quantity = 0; quantity < QUANTITIES; quantity++)
        reasons[QUANTITIES + quantity] = no_totals ? no_totals : reasons[quantity];
    reasons[ALL_PROCESSES] = no_totals;
}

static void fill_use(double values[QUANTITIES], const struct lifecycle_use *use)
{
    values[CPU_SECONDS] = (double)use->cpu_ns / (double)NS_PER_SECOND;
    values[READ_BYTES] = (double)use->io.read_bytes;
    values[WRITE_BYTES] = (double)use->io.write_bytes;
    values[MINOR_FAULTS] = (double)use->minor_faults;
    values[MAJOR_FAULTS] = (double)use->major_faults;
}

/* The row does not say that it is the last one of the process: it may be a zombie that others still read, and
 * that it is gone is the tree's to say (on_end). */
static void read_process(const struct ended *ended, struct pass *pass)
{
    struct row *row = pass_row(pass, &ended->subject);
    double values[QUANTITIES];

    if (!row)
        return;
    fill_use(values, &ended->use);
    for (unsigned quantity = 0; quantity < QUANTITIES; quantity++)
        row_number(row, quantity, values[quantity]);
    if (ended->max_rss_bytes)
        row_number(row, MAX_RSS, (double)ended->max_rss_bytes);
    if (ended->lifetime_seconds > 0)
        row_number(row, LIFETIME, ended->lifetime_seconds);
}

/* A sum that is not whole any more must not stay in the summary with what it was until then. So it falls, as
 * low as can be: a counter that fell has no value, neither in this window nor in the run. */
static void read_totals(const struct ended_sum *sum, struct pass *pass)
{
    /* Before the command starts nobody has ended. */
    bool known = sum->is_whole || pass->kind == PASS_SEED;
    double values[QUANTITIES];

    fill_use(values, &sum->use);
    for (unsigned quantity = 0; quantity < QUANTITIES; quantity++)
        row_number(&pass->single, QUANTITIES + quantity, known ? values[quantity] : -INFINITY);
    row_number(&pass->single, ALL_PROCESSES, known ? (double)sum->processes : -INFINITY);
}

static int read_ended(void *state, const struct collect_context *context, struct pass *pass)
{
    const struct ended_sum ended = tree_ended_sum(context->tree), *sum = &ended;

    (void)state;
    for (size_t i = 0; i < tree_ended_count(context->tree); i++)
        read_process(tree_ended(context->tree, i), pass);
    read_totals(sum, pass);
    if (sum->max_rss_bytes)
        row_number(&pass->single, ALL_MAX_RSS, (double)sum->max_rss_bytes);
    return 0;
}
