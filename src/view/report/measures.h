/*
 * What was measured of the whole target, one value for each summary key: of a run that has ended, as its
 * info.json has it; of one that runs or was lost, made here from the records so far. Sections of a report
 * choose from these by what the registry says of a key (topic, unit), not from a list of keys.
 */
#ifndef METRON_VIEW_REPORT_MEASURES_H
#define METRON_VIEW_REPORT_MEASURES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "schema/recording.h"

/* {state: amount}; the largest first once sorted. */
struct report_amount {
    char *name; /* owned */
    double amount;
};

struct report_tally {
    struct report_amount *items; /* owned */
    size_t count, capacity;
    size_t next; /* where the last was found: states come in about the same order */
};

struct report_measure {
    const char *name; /* of the summary: "proc_peak_rss_total" */
    const struct recorded_key *key;
    const char *statistic; /* "peak", "ave", "low"; NULL: the key itself */
    double value;          /* as the file has it */
    bool is_tally;
    struct report_tally tally;
};

struct report_measures {
    const struct recording *recording;
    struct report_measure *items; /* owned */
    size_t count, capacity;
    bool from_records;             /* made here: up to the last record */
    struct report_mean *means;     /* while it is made; owned */
    struct recorded_total *totals; /* from records: of each key of the recording; owned */
    struct arena arena;
    bool failed; /* for want of memory */
};

/* Takes what info.json has; without a summary, gets ready for report_measures_add. */
void report_measures_init(struct report_measures *measures, const struct recording *recording);
void report_measures_fini(struct report_measures *measures);
/* Of a run without a summary: which keys it needs of each record (`wanted` is or-ed), one record (`seconds`
 * long), and the end of them. */
void report_measures_want(const struct report_measures *measures, bool *wanted);
void report_measures_add(struct report_measures *measures, const struct usage_record *record, double seconds);
void report_measures_end(struct report_measures *measures);

const struct report_measure *report_measure_find(const struct report_measures *measures, const char *name);
/* The first number of this topic and statistic (NULL: of the key itself) that is exact, else the first; NULL:
 * there is none. */
const struct report_measure *report_measure_of(const struct report_measures *measures, enum topic topic,
                                               const char *statistic);
/* Whether it is a number in this unit whose topic is of this group, and no mean. */
bool report_measure_in(const struct report_measure *measure, enum topic group, enum unit unit);

double report_tally_amount(const struct report_tally *tally, const char *name); /* 0: not there */
void report_tally_sort(struct report_tally *tally);

#endif
