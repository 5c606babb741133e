/*
 * What the ledger holds: CPU seconds of the living and of the reaped, and what it misses where the own
 * control group of the target counts more. The arithmetic is in tree/ledger.c.
 */
#include "collect/collector.h"

#include <errno.h>

#include "probe/breakage.h"
#include "probe/cgroup/reader.h"

enum { LIVE_SECONDS, REAPED_SECONDS, UNACCOUNTED_SECONDS, FIELD_COUNT };

static const char *const fields[] = {
    [LIVE_SECONDS] = "live_seconds",
    [REAPED_SECONDS] = "reaped_seconds",
    [UNACCOUNTED_SECONDS] = "cgroup_cpu_seconds of an own group - the ledger",
};

static const struct measurement measurements[] = {
    MEASUREMENT("ledger_live_seconds", TOPIC_CPU_PART, LIVE_SECONDS, SCOPE_SINGLE, TYPE_GAUGE, UNIT_SECONDS,
                REDUCE_LAST, COST_STAT | COST_CLOCK,
                "CPU seconds held by living and zombie processes, their waited-for children included; "
                "falls at each reap"),
    MEASUREMENT(
        "ledger_reaped_seconds", TOPIC_CPU_PART, REAPED_SECONDS, SCOPE_SINGLE, TYPE_COUNTER, UNIT_SECONDS,
        REDUCE_DELTA, COST_NOTHING,
        "CPU seconds of the processes that metron reaped, from wait4, their waited-for children included"),
    MEASUREMENT("ledger_unaccounted_seconds", TOPIC_CPU_PART, UNACCOUNTED_SECONDS, SCOPE_SINGLE, TYPE_GAUGE,
                UNIT_SECONDS, REDUCE_LAST, COST_STAT | COST_CLOCK | COST_CGROUP,
                "CPU seconds that the own control group counts and the ledger misses, because the kernel "
                "dropped them with the processes that used them; next to 0 where none are missing"),
};

static const char no_own_group[] = "only an own control group knows what the ledger misses";

static bool has_own_group(const struct collect_context *context)
{
    return context->cgroup && context->cgroup->scope == CGROUP_SCOPE_OWN;
}

static void survey(const struct collect_context *context, const char *reasons[])
{
    const char *facts[CGROUP_FACT_COUNT];

    reasons[REAPED_SECONDS] = context->why_no_reaping;
    if (breakage_has("stat")) {
        reasons[LIVE_SECONDS] = reasons[UNACCOUNTED_SECONDS] = "/proc/PID/stat cannot be read";
        return;
    }
    if (!has_own_group(context)) {
        reasons[UNACCOUNTED_SECONDS] = no_own_group;
        return;
    }
    cgroup_reader_survey(context->cgroup, facts);
    reasons[UNACCOUNTED_SECONDS] = facts[CGROUP_CPU_SECONDS];
}

static int open_state(const struct collect_context *context, unsigned cost, void **state)
{
    (void)cost;
    if (!has_own_group(context) || !(context->selected >> UNACCOUNTED_SECONDS & 1))
        return 0;
    *state = cgroup_reader_new(context->cgroup, CGROUP_FACT(CGROUP_CPU_SECONDS));
    return *state ? 0 : -ENOMEM;
}

static void close_state(void *state)
{
    cgroup_reader_free(state);
}

static int collect(void *state, const struct collect_context *context, struct pass *pass)
{
    const struct ledger *ledger = tree_ledger(context->tree);
    struct cgroup_facts facts;

    row_number(&pass->single, LIVE_SECONDS, ledger->live.cpu_seconds);
    row_number(&pass->single, REAPED_SECONDS, ledger->reaped_cpu_seconds);
    if (!state)
        return 0;
    cgroup_reader_read(state, &facts);
    if (facts.present & CGROUP_FACT(CGROUP_CPU_SECONDS))
        row_number(&pass->single, UNACCOUNTED_SECONDS,
                   facts.values[CGROUP_CPU_SECONDS] - ledger->published.cpu_seconds);
    return 0;
}

const struct collector collector_ledger = {
    .source = SOURCE("ledger", "CPU time conserved over the tree: living + reaped"),
    .survey = survey,
    .open = open_state,
    .collect = collect,
    .close = close_state,
};
