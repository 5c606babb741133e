/*
 * One quantity by several methods, in few words: what each source says of it, and whether they agree. Which
 * keys belong together is read off the registry (source, unit, a word in the name).
 */
#ifndef METRON_VIEW_REPORT_METHODS_H
#define METRON_VIEW_REPORT_METHODS_H

#include "view/report/choose.h"
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

/* Of those chosen, with `part` in their names (or, with `without`, not in them), each source once. */
size_t report_pairs(const struct report_measures *measures, report_choice *choose, const char *part,
                    bool without, struct report_pair *out, size_t limit);
/* "32 KiB read, 175 MiB written" */
const char *report_pair_text(struct report_page *page, const struct report_pair *pair);
/* "io_*_bytes_total" */
const char *report_pair_key(struct report_page *page, const struct report_pair *pair);
bool report_pairs_agree(const struct report_pair *a, const struct report_pair *b);

/* How far apart, as a share of the larger; 0 of two zeros. */
double report_difference(double a, double b);
/* Names that differ in one place: "cgroup_ave_psi_*_some_pct"; one name is itself; with little in common all
 * of them. */
const char *report_names(struct report_page *page, const char *const *names, size_t count);
/* "proc, rusage and exit" */
const char *report_list(struct report_page *page, const char *before, const char *one, bool is_last);

#endif
