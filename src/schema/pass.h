/*
 * One pass of a collector: the raw readings it took, before anything is made of them.
 *
 * A pass has one row for the target as a whole (`single`) and one row per subject (process or device). A row
 * holds one slot per field of the source and a bit for each slot that was really read: what was not measured
 * is absent, never 0. The memory is kept from pass to pass; in the steady state nothing is allocated.
 */
#ifndef METRON_SCHEMA_PASS_H
#define METRON_SCHEMA_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/measurement.h"
#include "schema/subject.h"

/* How much of something fell to one state: {read: 120}. A counter per state, cumulative since the subject was
 * first followed. */
struct amount {
    const char *state;
    double value;
};

/* Each state once, in whatever order. */
struct amounts {
    const struct amount *items;
    size_t count;
};

/* Text and amounts are borrowed until the pass is folded. */
union value {
    double number;                 /* gauges and counters: bytes, seconds, counts */
    const char *text;              /* labels and categorical states */
    const struct amounts *amounts; /* categorical measurements with a unit */
};

enum pass_kind {
    PASS_SAMPLE,
    PASS_SEED,  /* the baseline before the first window: counters are seeded, nothing is reported */
    PASS_FINAL, /* the last look at counters and running values: gauges of it are no sample */
};

struct row {
    struct subject subject; /* unused in the single row */
    uint64_t stamp_ns;      /* monotonic, when this row was read: rates divide by its differences */
    uint64_t present;       /* bit per field */
    bool ended;             /* the subject is gone: this is the last row of it, forgotten after the report */
    union value *values;    /* [field_count], borrowed from the pass */
};

struct pass {
    enum pass_kind kind;
    uint64_t stamp_ns; /* monotonic, taken when the pass began */
    uint8_t field_count;
    struct row single;
    struct row *rows;
    size_t count;
    size_t capacity;
    union value *values; /* (capacity + 1) x field_count */
};

int pass_init(struct pass *pass, uint8_t field_count);
void pass_fini(struct pass *pass);
/* Starts over: no rows, nothing present; stamps the pass and its single row with `stamp_ns`. */
void pass_begin(struct pass *pass, enum pass_kind kind, uint64_t stamp_ns);
/* Adds a row, stamped as the pass is. NULL for want of memory: that subject's reading is lost, nothing more.
 */
struct row *pass_row(struct pass *pass, const struct subject *subject);

static inline void row_number(struct row *row, unsigned field, double number)
{
    row->values[field].number = number;
    row->present |= UINT64_C(1) << field;
}

static inline void row_text(struct row *row, unsigned field, const char *text)
{
    row->values[field].text = text;
    row->present |= UINT64_C(1) << field;
}

static inline void row_amounts(struct row *row, unsigned field, const struct amounts *amounts)
{
    row->values[field].amounts = amounts;
    row->present |= UINT64_C(1) << field;
}

static inline int row_has(const struct row *row, unsigned field)
{
    return (row->present >> field) & 1;
}

#endif
