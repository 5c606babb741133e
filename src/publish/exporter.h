/*
 * Writing a recorded run in another tool's format: one file per format (export_NAME.c), one const struct
 * each.
 *
 *     export_init(&export, exporter, recording, prefix, &error);
 *     export_begin(&export);
 *     for (every record of the run, with the keys that export_wants names)
 *         export_record(&export, record);
 *     for (every event, if exporter->event)
 *         export_event(&export, event);
 *     export_end(&export);
 *
 * Every call appends to `out` (and `second`), which the caller writes away and empties whenever it likes, so
 * that a recording of any length takes little memory. An exporter keeps what it must remember in `state`.
 *
 * Present if and only if measured: what a recording does not have is the format's own mark for a missing
 * value (an empty cell, `-`, `NA`, null), or is left out; never 0.
 */
#ifndef METRON_PUBLISH_EXPORTER_H
#define METRON_PUBLISH_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "schema/recording.h"

struct export
{
    const struct exporter *exporter;
    const struct recording *recording; /* borrowed, with its keys */
    const char *prefix;                /* of the files, for a format with two; else NULL. Borrowed */
    struct strbuf out;                 /* what is to be written */
    struct strbuf second;              /* the same, of the second file */
    struct recorded_total *totals;     /* one per key, of a run that has no summary; owned */
    size_t record_count, sample_count; /* so far */
    double elapsed;                    /* of the newest record; 0: there was none */
    double window;                     /* how long the newest record's window was */
    bool processes_left_out;           /* there were too many to remember */
    void *state;                       /* the exporter's own */
};

struct exporter {
    const char *name;
    const char *suffix;        /* "usage.jsonl": the format has two files, and these are their names after */
    const char *second_suffix; /* the prefix; NULL: it has one */
    bool needs_records;        /* nothing can be written of a run without a usage file */
    bool reduces;              /* wants the single numbers of a run that has no summary */
    /* Whether it looks at this key of the records; NULL: at none. */
    bool (*wants)(const struct recording *recording, const struct recorded_key *key);
    /* Each may be NULL. 0 or -ENOMEM; begin also others, with the error. */
    int (*begin)(struct export *export, struct metron_error *error);
    int (*record)(struct export *export, const struct usage_record *record);
    int (*event)(struct export *export, const struct recorded_event *event);
    int (*end)(struct export *export);
    void (*fini)(struct export *export); /* frees `state` */
};

extern const struct exporter exporter_csv, exporter_prometheus, exporter_nextflow, exporter_snakemake,
    exporter_perfetto, exporter_duct;

/* By name; NULL: there is none. */
const struct exporter *exporter_find(const char *name);

/* 0; -ENOMEM; -EINVAL and why this recording cannot be had in this format. export_fini is safe after either.
 */
int export_init(struct export *export, const struct exporter *exporter, const struct recording *recording,
                const char *prefix, struct metron_error *error);
/* Sets wanted[i] for every key that is looked at. False: for none, the records need not be read. */
bool export_wants(const struct export *export, bool *wanted);
int export_begin(struct export *export, struct metron_error *error);
int export_record(struct export *export, const struct usage_record *record);
int export_event(struct export *export, const struct recorded_event *event);
int export_end(struct export *export);
void export_fini(struct export *export);

#endif
