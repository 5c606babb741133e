/*
 * A record: one reduced window. Also the shape of the whole run's summary.
 *
 * An entry is one key with one value (single) or one per subject. Everything in it lives in the record's
 * arena; numbers are inner values (bytes, seconds, cores): unit_edge makes them what people read.
 */
#ifndef METRON_SCHEMA_RECORD_H
#define METRON_SCHEMA_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/arena.h"
#include "base/json.h"
#include "schema/measurement.h"
#include "schema/subject.h"

struct tally_item {
    const char *state;
    double count; /* samples, or the amount in the measurement's unit */
};

struct record_value {
    struct subject subject; /* unused in a single value */
    union {
        double number;
        const char *text;
        struct {
            const struct tally_item *items;
            size_t count;
        } tally;
    };
};

struct record_entry {
    const char *key; /* the measurement's own, or with its statistic */
    const struct measurement *measurement;
    struct record_value *values;
    size_t count; /* 1 for a single */
};

struct record {
    struct timespec wall; /* of the window's end */
    double elapsed_seconds;
    unsigned num_samples;
    struct record_entry *entries;
    size_t count;
    struct arena arena;
};

void record_fini(struct record *record);
/* The entry under `key`; NULL: it is not there. */
const struct record_entry *record_find(const struct record *record, const char *key);
/* The number under `key` of a single entry, at the edge (percent = 100 x). False if it is not there. */
bool record_number(const struct record *record, const char *key, double *out);
/* One entry's value: a number, a string, {state: count or amount}, or an object of those keyed by subject. */
void record_entry_json(struct json *json, const struct record_entry *entry);
/* A line of usage.jsonl, without its newline. */
void record_json(struct json *json, const struct record *record);

#endif
