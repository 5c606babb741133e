/* What the ledger holds: CPU seconds of the living and of the reaped. The arithmetic is in tree/ledger.c. */
#include "collect/collector.h"

enum { LIVE_SECONDS, REAPED_SECONDS, FIELD_COUNT };

static const char *const fields[] = {[LIVE_SECONDS] = "live_seconds", [REAPED_SECONDS] = "reaped_seconds"};

static const struct measurement measurements[] = {
    {
        .key = "ledger_live_seconds",
        .field = LIVE_SECONDS,
        .type = TYPE_GAUGE,
        .unit = UNIT_SECONDS,
        .reduce = REDUCE_LAST,
        .cost = COST_STAT | COST_CLOCK,
        .meaning = "CPU seconds held by living and zombie processes, their waited-for children included; "
                   "falls at each reap",
    },
    {
        .key = "ledger_reaped_seconds",
        .field = REAPED_SECONDS,
        .type = TYPE_COUNTER,
        .unit = UNIT_SECONDS,
        .reduce = REDUCE_DELTA,
        .cost = COST_NOTHING,
        .meaning =
            "CPU seconds of the processes that metron reaped, from wait4, their waited-for children included",
    },
};

static int collect(void *state, const struct collect_context *context, struct pass *pass)
{
    const struct ledger *ledger = tree_ledger(context->tree);
    (void)state;
    row_number(&pass->single, LIVE_SECONDS, ledger->live.cpu_seconds);
    row_number(&pass->single, REAPED_SECONDS, ledger->reaped_cpu_seconds);
    return 0;
}

extern const struct collector collector_ledger;
const struct collector collector_ledger = {
    .source = {.name = "ledger",
               .title = "CPU time conserved over the tree: living + reaped",
               .fields = fields,
               .field_count = FIELD_COUNT,
               .measurements = measurements,
               .measurement_count = sizeof(measurements) / sizeof(measurements[0])},
    .collect = collect,
};
