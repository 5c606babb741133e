/*
 * Inside of the usage reader: the record that is being filled, and the two kinds of line it is filled from.
 */
#ifndef METRON_STORE_RECORDING_USAGE_VALUES_H
#define METRON_STORE_RECORDING_USAGE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash_table.h"
#include "base/json_reader.h"
#include "schema/recording.h"
#include "store/recording/line_reader.h"

/* A record has not more values that are wanted: a longer one is passed over. */
#define USAGE_VALUES_MAX ((size_t)1 << 20)

struct duct_rates;

struct key_entry {
    size_t length; /* of its name */
    UT_hash_handle hh;
};

struct usage_reader {
    const struct recording *recording; /* borrowed */
    bool *wanted;                      /* owned: one per key */
    struct line_reader lines;
    struct json_reader json;

    struct usage_record record;
    size_t capacity;    /* of record.values, which is owned */
    struct arena arena; /* of the texts of this record */
    bool has_elapsed, has_wall, has_values;
    bool too_many, no_memory;
    double first_wall; /* of the first record; 0: not seen yet */

    struct key_entry *entries; /* owned: one per key */
    struct key_entry *keys;    /* uthash of them by name */
    struct duct_rates *rates;
};
/* The same of one subject, which lives in the reader's arena (NULL: a single). */
void usage_read_scalar(struct usage_reader *reader, uint32_t key, const char *subject);
void usage_add_number(struct usage_reader *reader, uint32_t key, const char *subject, double number);
/* A rate over the last `span` seconds, which need not be those of the record. */
void usage_add_rate(struct usage_reader *reader, uint32_t key, const char *subject, double rate, double span);
/* A copy in the reader's arena; NULL for want of memory, which is remembered. */
const char *usage_copy(struct usage_reader *reader, const struct json_text *text);
/* "timestamp" and "num_samples", which both kinds of line have; false: it is none of these, and nothing was
 * taken. */
bool usage_read_common(struct usage_reader *reader, const struct json_text *key);

/* One line of metron's, of con-duct's. The object is entered already; what is wrong is the reader's to find.
 */
void usage_read_line(struct usage_reader *reader);
void duct_read_line(struct usage_reader *reader);

/* "05:06", "01:02:03", "1-02:03:04" as seconds. False: it is none, or more than a century (ps writes
 * "441077234-00:18:40" of a process that was born in the same instant). */
bool duct_parse_etime(const char *text, double *seconds);

#endif
