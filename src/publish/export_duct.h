/*
 * Inside of con-duct's format: the processes of a record, and the writing of its two files.
 */
#ifndef METRON_PUBLISH_EXPORT_DUCT_H
#define METRON_PUBLISH_EXPORT_DUCT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash_table.h"
#include "publish/exporter.h"

/* What is looked at. */
enum {
    /* of each process */
    DUCT_RSS,
    DUCT_VSZ,
    DUCT_ETIME,
    DUCT_STAT,
    DUCT_CMD,
    DUCT_RATE,
    DUCT_CPU_AT_END,
    DUCT_LIFETIME,
    DUCT_CPU_COUNTED,
    DUCT_START,
    DUCT_PROCESS_PLACES,
    /* of all together */
    DUCT_RSS_TOTAL = DUCT_PROCESS_PLACES,
    DUCT_RSS_AVERAGE,
    DUCT_VSZ_TOTAL,
    DUCT_VSZ_AVERAGE,
    DUCT_CPU_SECONDS,
    DUCT_PLACES,
};

struct duct_process {
    char subject[24];
    bool has[DUCT_PLACES];
    double numbers[DUCT_PLACES];
    const char *texts[DUCT_PLACES]; /* borrowed from the record */
    bool has_cpu, has_pcpu;
    double cpu_seconds; /* since it began */
    double pcpu;        /* percent, over its life */
    double begin, end;  /* unix seconds, as far as it is known to have lived */
    UT_hash_handle hh;
};

/* Where the sum over those that live at once changes. */
struct duct_change {
    double at;
    double by;
};

struct duct_state {
    ptrdiff_t keys[DUCT_PLACES]; /* of the recording; -1: it has none */
    bool has_single[DUCT_PLACES];
    double singles[DUCT_PLACES];
    double memory_total;           /* bytes; 0: unknown */
    double cpu_seconds;            /* of the tree so far */
    struct duct_process *current;  /* hashes by subject, of the record at hand and the one before: the dead */
    struct duct_process *previous; /* are forgotten, so that memory is bounded by those that live at once */
    struct duct_change *changes;   /* scratch; owned */
    size_t change_capacity;
    size_t num_reports;
    bool has_peak_pcpu;
    double peak_pcpu;
    double average_pcpu_sum, average_pcpu_weight; /* over the records, by samples */
};

struct duct_process *duct_find(struct duct_process *processes, const char *subject);
/* Found or made; NULL for want of memory. */
struct duct_process *duct_process(struct duct_process **processes, const char *subject);
void duct_forget(struct duct_process **processes);

/* "01:23", "2-03:04:05", as ps has it: [[DD-]HH:]MM:SS. */
void duct_age(struct strbuf *out, double seconds);
int duct_write_record(struct export *export, const struct usage_record *record);
int duct_write_info(struct export *export);

#endif
