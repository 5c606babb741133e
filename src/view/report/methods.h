/*
 * One quantity by several methods: what each source says of it, all of them in tables for programs, and in
 * few words whether they agree. Which keys belong together is read off the registry (topic, source, unit).
 */
#ifndef METRON_VIEW_REPORT_METHODS_H
#define METRON_VIEW_REPORT_METHODS_H

#include "view/report/measures.h"
#include "view/report/page.h"

/* Two numbers that differ by less, as a share of the larger, are the same. */
#define REPORT_AGREE 0.01

/* All CPU by one source. */
struct report_cpu_total {
    const char *source;               /* "cgroup" */
    const char *key;                  /* "cgroup_cpu_seconds", "rusage_cpu_*_seconds" */
    double seconds;                   /* in all */
    double user, system;              /* -1: not told apart */
    const struct report_measure *all; /* NULL: it is the sum of the two */
};

/* Each source once, in the order of the recording; returns how many. */
size_t report_cpu_totals(struct report_page *page, const struct report_measures *measures,
                         struct report_cpu_total *out, size_t limit);

/* What was read and what was written, by one source; one of the two may be NULL. */
struct report_pair {
    const struct report_measure *read, *written;
};

/* Of two topics in one unit, each source once. */
size_t report_pairs(const struct report_measures *measures, enum topic read, enum topic written,
                    enum unit unit, struct report_pair *out, size_t limit);
const char *report_pair_source(const struct report_pair *pair);
/* "32 KiB read, 175 MiB written" */
const char *report_pair_text(struct report_page *page, const struct report_pair *pair);
/* "io_*_bytes_total" */
const char *report_pair_key(struct report_page *page, const struct report_pair *pair);
bool report_pairs_agree(const struct report_pair *a, const struct report_pair *b);

/* A table for programs: all of a group of topics in one unit, with where it was read; of a rate its mean and
 * its peak. */
void report_add_measures(struct report_section *section, const struct report_measures *measures,
                         const char *name, enum topic group, enum unit unit);
/* Fields of con-duct's summary of a group of topics, under their own names. */
void report_add_duct_fields(struct report_section *section, const struct recording *recording,
                            enum topic group);

/* "provenance.NAME", a boolean: on the screen, with `lacks`, where it is false. */
void report_add_conserved(struct report_section *section, const struct recording *recording, const char *name,
                          const char *lacks);

/* How far apart, as a share of the larger; 0 of two zeros. */
double report_difference(double a, double b);
/* Names that differ in one place: "cgroup_ave_psi_*_some_pct"; one name is itself; with little in common all
 * of them. */
const char *report_names(struct report_page *page, const char *const *names, size_t count);
/* "proc, rusage and exit" */
const char *report_list(struct report_page *page, const char *before, const char *one, bool is_last);

#endif
