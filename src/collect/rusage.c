/*
 * What wait4 told of every process we reaped, its waited-for children included: complete at the end of a run,
 * and growing only when a process that is our child ends.
 */
#include "collect/collector.h"

enum { USER, SYSTEM, VOLUNTARY, INVOLUNTARY, IN_BYTES, OUT_BYTES, MAX_RSS, FIELD_COUNT };

static const char *const fields[FIELD_COUNT] = {
    [USER] = "ru_utime",         [SYSTEM] = "ru_stime",     [VOLUNTARY] = "ru_nvcsw",
    [INVOLUNTARY] = "ru_nivcsw", [IN_BYTES] = "ru_inblock", [OUT_BYTES] = "ru_oublock",
    [MAX_RSS] = "ru_maxrss",
};

#define REAPED(KEY, TOPIC, FIELD, UNIT, MEANING)                                                             \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE_SINGLE, TYPE_COUNTER, UNIT, REDUCE_DELTA, COST_NOTHING, MEANING)

static const struct measurement measurements[] = {
    REAPED("rusage_cpu_user_seconds", TOPIC_CPU_USER, USER, UNIT_SECONDS,
           "user CPU of reaped processes and their waited-for children"),
    REAPED("rusage_cpu_system_seconds", TOPIC_CPU_SYSTEM, SYSTEM, UNIT_SECONDS,
           "system CPU of reaped processes and their waited-for children"),
    REAPED("rusage_ctx_voluntary", TOPIC_SWITCH, VOLUNTARY, UNIT_COUNT,
           "voluntary context switches of reaped processes"),
    REAPED("rusage_ctx_involuntary", TOPIC_SWITCH, INVOLUNTARY, UNIT_COUNT,
           "involuntary context switches of reaped processes"),
    REAPED("rusage_in_bytes", TOPIC_IO_READ, IN_BYTES, UNIT_BYTES,
           "bytes fetched from storage by reaped processes (blocks x 512)"),
    REAPED("rusage_out_bytes", TOPIC_IO_WRITE, OUT_BYTES, UNIT_BYTES,
           "bytes sent towards storage by reaped processes (blocks x 512), counted when a page is dirtied"),
    MEASUREMENT("rusage_max_rss", TOPIC_MEMORY_MARK, MAX_RSS, SCOPE_SINGLE, TYPE_GAUGE, UNIT_BYTES,
                REDUCE_LAST, COST_NOTHING,
                "largest resident memory of a single reaped process; absent where it is not above what the "
                "process inherited from the one that started it",
                .bound = BOUND_LOWER),
};

static void survey(const struct collect_context *context, const char *reasons[]);
static int read_reaped(void *state, const struct collect_context *context, struct pass *pass)
{
    static const double block_bytes = 512, kibibyte = 1024;
    const struct ledger *ledger = tree_ledger(context->tree);
    const struct rusage *usage = &ledger->reaped;
    struct row *row = &pass->single;
    double max_rss = (double)usage->ru_maxrss * kibibyte;

    (void)state;
    row_number(row, USER, clock_timeval_seconds(usage->ru_utime));
    row_number(row, SYSTEM, clock_timeval_seconds(usage->ru_stime));
    row_number(row, VOLUNTARY, (double)usage->ru_nvcsw);
    row_number(row, INVOLUNTARY, (double)usage->ru_nivcsw);
    row_number(row, IN_BYTES, (double)usage->ru_inblock * block_bytes);
    row_number(row, OUT_BYTES, (double)usage->ru_oublock * block_bytes);
    if (ledger->reaped_count > 0 && max_rss > (double)context->spawner_maxrss_bytes)
        row_number(row, MAX_RSS, max_rss);
    return 0;
}

const struct collector collector_rusage = {
    .source = SOURCE("rusage", "wait4 of every process that metron reaps"),
    .survey = survey,
    .read = read_reaped,
};

static void survey(const struct collect_context *context, const char *reasons[])
{
    if (context->why_no_reaping)
        survey_all(&collector_rusage.source, context->why_no_reaping, reasons);
}
