#include "store/recording/duct.h"

#include <string.h>

#define LIFETIME "an average over the life of each process, not a rate"
#define ESTIMATE "an estimate: derived from consecutive pcpu x etime"
#define SHARED   "a sum over processes: shared pages count once for each"

const char duct_peak_note[] = "an estimate: the largest sum of resident memory that a sample saw; a shared "
                              "page counts once for each process";

/* key, topic, bound, source, field, statistic, unit, scope, type, reduce, note */
const struct recorded_key duct_keys[DUCT_KEY_COUNT] = {
    [DUCT_PCPU] = {"pcpu", TOPIC_CPU, BOUND_ABOUT, "ps", "pcpu", NULL, UNIT_PERCENT, SCOPE_PER_PID,
                   TYPE_GAUGE, REDUCE_MAX, LIFETIME},
    [DUCT_PMEM] = {"pmem", TOPIC_MEMORY, BOUND_NONE, "ps", "pmem", NULL, UNIT_PERCENT, SCOPE_PER_PID,
                   TYPE_GAUGE, REDUCE_MAX, NULL},
    [DUCT_RSS] = {"rss", TOPIC_MEMORY, BOUND_NONE, "ps", "rss", NULL, UNIT_BYTES, SCOPE_PER_PID, TYPE_GAUGE,
                  REDUCE_MAX, NULL},
    [DUCT_VSZ] = {"vsz", TOPIC_MEMORY_PART, BOUND_NONE, "ps", "vsz", NULL, UNIT_BYTES, SCOPE_PER_PID,
                  TYPE_GAUGE, REDUCE_MAX, NULL},
    [DUCT_ETIME] = {"etime", TOPIC_PROCESS_AGE, BOUND_NONE, "ps", "etime", NULL, UNIT_SECONDS, SCOPE_PER_PID,
                    TYPE_GAUGE, REDUCE_LAST, NULL},
    [DUCT_STAT] = {"stat", TOPIC_PROCESS, BOUND_NONE, "ps", "stat", NULL, UNIT_NONE, SCOPE_PER_PID,
                   TYPE_CATEGORICAL, REDUCE_TALLY, NULL},
    [DUCT_CMD] = {"cmd", TOPIC_PROCESS_COMMAND, BOUND_NONE, "ps", "cmd", NULL, UNIT_NONE, SCOPE_PER_PID,
                  TYPE_LABEL, REDUCE_LAST, NULL},
    [DUCT_TOTAL_PCPU] = {"total_pcpu", TOPIC_CPU, BOUND_ABOUT, "ps", "totals.pcpu", NULL, UNIT_PERCENT,
                         SCOPE_SINGLE, TYPE_GAUGE, REDUCE_MAX, LIFETIME},
    [DUCT_TOTAL_PMEM] = {"total_pmem", TOPIC_MEMORY, BOUND_UPPER, "ps", "totals.pmem", NULL, UNIT_PERCENT,
                         SCOPE_SINGLE, TYPE_GAUGE, REDUCE_MAX, SHARED},
    [DUCT_TOTAL_RSS] = {"total_rss", TOPIC_MEMORY, BOUND_UPPER, "ps", "totals.rss", NULL, UNIT_BYTES,
                        SCOPE_SINGLE, TYPE_GAUGE, REDUCE_MAX, SHARED},
    [DUCT_TOTAL_VSZ] = {"total_vsz", TOPIC_MEMORY_PART, BOUND_NONE, "ps", "totals.vsz", NULL, UNIT_BYTES,
                        SCOPE_SINGLE, TYPE_GAUGE, REDUCE_MAX, NULL},
    [DUCT_AVERAGE_PCPU] = {"average_pcpu", TOPIC_CPU, BOUND_ABOUT, "ps", "averages.pcpu", "ave", UNIT_PERCENT,
                           SCOPE_SINGLE, TYPE_GAUGE, REDUCE_MAX, LIFETIME},
    [DUCT_AVERAGE_PMEM] = {"average_pmem", TOPIC_MEMORY, BOUND_UPPER, "ps", "averages.pmem", "ave",
                           UNIT_PERCENT, SCOPE_SINGLE, TYPE_GAUGE, REDUCE_MAX, SHARED},
    [DUCT_AVERAGE_RSS] = {"average_rss", TOPIC_MEMORY, BOUND_UPPER, "ps", "averages.rss", "ave", UNIT_BYTES,
                          SCOPE_SINGLE, TYPE_GAUGE, REDUCE_MAX, SHARED},
    [DUCT_AVERAGE_VSZ] = {"average_vsz", TOPIC_MEMORY_PART, BOUND_NONE, "ps", "averages.vsz", "ave",
                          UNIT_BYTES, SCOPE_SINGLE, TYPE_GAUGE, REDUCE_MAX, NULL},
    [DUCT_PCPU_RATE] = {"pcpu_rate", TOPIC_CPU, BOUND_ABOUT, "ps", "pcpu x etime", NULL, UNIT_PERCENT,
                        SCOPE_PER_PID, TYPE_COUNTER, REDUCE_MAX, ESTIMATE},
    [DUCT_PCPU_SECONDS] = {"pcpu_seconds", TOPIC_CPU, BOUND_ABOUT, "ps", "pcpu x etime", NULL, UNIT_SECONDS,
                           SCOPE_PER_PID, TYPE_COUNTER, REDUCE_DELTA, ESTIMATE},
    [DUCT_TOTAL_PCPU_RATE] = {"total_pcpu_rate", TOPIC_CPU, BOUND_ABOUT, "ps", "pcpu x etime", NULL,
                              UNIT_PERCENT, SCOPE_SINGLE, TYPE_COUNTER, REDUCE_MAX, ESTIMATE},
};

bool duct_field_words(const char *name, enum unit *unit, const char **note)
{
    static const struct {
        const char *name;
        enum unit unit;
        const char *note;
    } words[] = {
        {"peak_pcpu", UNIT_PERCENT, "made of averages over the life of each process, not a rate"},
        {"average_pcpu", UNIT_PERCENT, "made of averages over the life of each process, not a rate"},
        {"peak_pmem", UNIT_PERCENT, SHARED},
        {"average_pmem", UNIT_PERCENT, SHARED},
        {"peak_rss", UNIT_BYTES, SHARED},
        {"average_rss", UNIT_BYTES, SHARED},
        {"peak_vsz", UNIT_BYTES, NULL},
        {"average_vsz", UNIT_BYTES, NULL},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].name, name) == 0) {
            *unit = words[i].unit;
            *note = words[i].note;
            return true;
        }
    return false;
}
