/*
 * What snapshots and the history keep: every measurement that has a column.
 *
 * The snapshot's JSON, the tables of the history, its views and its one-minute means are each one walk over
 * these lists. A value is an inner one (bytes, seconds, 1 = one core) in a row of them; how it is written
 * follows from its measurement:
 *
 *                          in the JSON and the views     in the tables
 *   bytes, a gauge         MiB                           whole KiB
 *   percent                percent                       whole tenths of a percent
 *   bytes, a counter       the number                    the number
 *   counts                 the number                    the number
 *   anything else          a real number                 a real number
 */
#ifndef METRON_SCHEMA_COLUMNS_H
#define METRON_SCHEMA_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "schema/measurement.h"

#define COLUMNS_MAX 64 /* a row has a bit for each */

struct columns {
    const struct measurement *of[COLUMNS_MAX];
    size_t source[COLUMNS_MAX]; /* whose it is, in the table of sources */
    unsigned count;
};

/* Of each process, of each device, and of the machine as a whole. */
struct snapshot_columns {
    struct columns process, device, machine;
};

/* A value for each column of a list; what was not measured has no bit. */
struct value_row {
    uint64_t present;
    double *numbers;
};

/* Borrows the sources, which a registry has checked. -EINVAL: too many columns, a programming error. */
int snapshot_columns_init(struct snapshot_columns *out, const struct source *const *sources, size_t count);

static inline void value_row_set(struct value_row *row, unsigned column, double number)
{
    row->numbers[column] = number;
    row->present |= UINT64_C(1) << column;
}

static inline bool value_row_has(const struct value_row *row, unsigned column)
{
    return (row->present >> column) & 1;
}

/* The value under a name of the JSON, as the JSON has it. False: it is not there. */
bool value_row_find(const struct columns *columns, const struct value_row *row, const char *name,
                    double *out);
/* Sets a value that the JSON has under a name; another name is passed over. -EBADMSG: beyond all bounds. */
int value_row_read(const struct columns *columns, struct value_row *row, const char *name, size_t length,
                   double shown);
/* Each value that is there, under its name. */
void value_row_json(struct json *json, const struct columns *columns, const struct value_row *row);

/* Whether the tables have a real number for it, not a whole one. */
bool column_is_real(const struct measurement *measurement);
/* Whether it says how things are, so that it has a mean and a maximum over time: not how far a count came. */
bool column_has_mean(const struct measurement *measurement);
/* A stored value divided by this is the one of the JSON and the views. */
unsigned column_divisor(const struct measurement *measurement);
/* From an inner value to the one that is stored, and back. Of a real number `real` is used, else `whole`. */
union stored_value {
    double real;
    int64_t whole;
};
union stored_value column_store(const struct measurement *measurement, double number);
double column_load(const struct measurement *measurement, union stored_value stored);

#endif
