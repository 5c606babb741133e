/*
 * What can be measured: the vocabulary of a measurement and the rules for combining its parts.
 *
 * A collector reads *fields*; a measurement says what becomes of a field: derive (per subject) -> collapse
 * (over the processes of the target) -> reduce (over the window). Several measurements may share one field.
 */
#ifndef METRON_SCHEMA_MEASUREMENT_H
#define METRON_SCHEMA_MEASUREMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/units.h"
#include "schema/note.h"
#include "schema/topic.h"

enum scope { SCOPE_SINGLE, SCOPE_PER_PID, SCOPE_PER_DEVICE };
enum type { TYPE_GAUGE, TYPE_COUNTER, TYPE_LABEL, TYPE_CATEGORICAL };
enum derive { DERIVE_NONE, DERIVE_RATE };
enum collapse { COLLAPSE_NONE, COLLAPSE_SUM, COLLAPSE_MAX, COLLAPSE_COUNT };
enum reduce { REDUCE_MAX, REDUCE_MIN, REDUCE_LAST, REDUCE_DELTA, REDUCE_TALLY };
/* What a rate can never truly exceed: a higher reading is a late one, and is cut. */
enum ceiling { CEILING_NONE, CEILING_ONE, CEILING_USABLE_CORES, CEILING_ONLINE_CORES };

/* What a measurement makes us read, so that what nobody selected is not read. A bit set. */
enum cost {
    COST_NOTHING = 0, /* already in memory */
    COST_STAT = 1 << 0,
    COST_CLOCK = 1 << 1, /* process CPU clock */
    COST_STATM = 1 << 2,
    COST_STATUS = 1 << 3,
    COST_TASKS = 1 << 4, /* status of every thread */
    COST_FD = 1 << 5,
    COST_LIMITS = 1 << 6,
    COST_CMDLINE = 1 << 7,
    COST_SYSTEM = 1 << 8, /* a file about the whole machine */
    COST_IO = 1 << 9,
    COST_SMAPS = 1 << 10,    /* walks the page tables of the process */
    COST_CGROUP = 1 << 11,   /* a file of the target's control group */
    COST_PRESSURE = 1 << 12, /* a file about the stalls of the whole machine */
    COST_PS = 1 << 13,       /* runs ps */
    COST_SYSCALLS = 1 << 14, /* counts every system call of the target as it happens */
    COST_EVENTS = 1 << 15,   /* the kernel's word on every process that ends */
    COST_GPU = 1 << 16,      /* asks the driver of the GPUs, in a thread */
};

struct measurement {
    const char *key; /* SOURCE_quantity[_total] */
    enum topic topic;
    enum bound bound; /* how it stands to its topic: BOUND_NONE is exact */
    uint8_t field;    /* index into the source's fields */
    enum scope scope;
    enum type type;
    enum unit unit;
    enum derive derive;
    enum collapse collapse; /* COLLAPSE_NONE with SCOPE_SINGLE: the field itself is single */
    enum reduce reduce;
    enum ceiling ceiling;
    bool kept;     /* a gauge that the kernel kept since the pass before: the last look counts as well */
    unsigned cost; /* enum cost bits */
    const char *meaning;
    /* How snapshots and the history keep it (schema/columns.h): the name in the JSON and in the views, and
     * that of the column in the history's tables. NULL: they do not. */
    const char *column, *stored;
};
/* A row of a table; what is not of the common case follows its meaning: .bound = BOUND_UPPER, a COLUMN. */
#define MEASUREMENT(KEY, TOPIC, FIELD, SCOPE, TYPE, UNIT, REDUCE, COST, MEANING, ...)                        \
    {                                                                                                        \
        .key = (KEY), .topic = (TOPIC), .field = (FIELD), .scope = (SCOPE), .type = (TYPE), .unit = (UNIT),  \
        .reduce = (REDUCE), .cost = (COST), .meaning = (MEANING), __VA_ARGS__                                \
    }
#define COLUMN(NAME, STORED) .column = (NAME), .stored = (STORED)

/* A source: what one collector can read. Static tables; nothing here is owned. */
struct source {
    const char *name;  /* "proc": every key of it starts with "proc_" */
    const char *title; /* one line for documents: where it reads */
    const char *const *fields;
    uint8_t field_count; /* at most 64 */
    const struct measurement *measurements;
    uint8_t measurement_count;
};

/* By the values of their enum. */
extern const char *const scope_names[];
extern const char *const type_names[];
extern const char *const derive_names[];
extern const char *const collapse_names[];
extern const char *const reduce_names[];
/* Neither a text nor a state. */
static inline bool type_is_number(enum type type)
{
    return type == TYPE_GAUGE || type == TYPE_COUNTER;
}
const char *reduce_statistic(enum reduce reduce); /* in a summary: "peak", "low"; NULL: the key itself */
/* "stat", "status+fd", "nothing"; into `out`, which is returned. */
#define COST_TEXT_SIZE 160
char *cost_text(unsigned cost, char out[COST_TEXT_SIZE]);

/* Whether a categorical value has an amount for each state ({read: 120}: it has a unit) instead of being one
 * state, of which the samples are counted (unit none). */
bool measurement_has_amounts(const struct measurement *measurement);

/* 0, or -EINVAL and why this combination cannot be. */
int measurement_check(const struct source *source, const struct measurement *measurement,
                      struct metron_error *error);

/* The key with its statistic after the source: ("proc", "proc_rss_total", "peak") -> "proc_peak_rss_total".
 */
#define MEASUREMENT_KEY_SIZE 80
char *measurement_statistic_key(const struct source *source, const struct measurement *measurement,
                                const char *statistic, char out[MEASUREMENT_KEY_SIZE]);

#endif
