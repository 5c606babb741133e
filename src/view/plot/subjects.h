/*
 * The largest of many: a line for each process (or device) of a recording, of which a plot shows a few.
 *
 * Which those are is known only at the end, and there may be a million; so a bounded number is followed, and
 * a new one takes the place of the smallest. Large is what had a high value once (levels), or what used most
 * in all (rates and amounts). One that was let go and grows large after that is followed from then on.
 */
#ifndef METRON_VIEW_PLOT_SUBJECTS_H
#define METRON_VIEW_PLOT_SUBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/plot/series.h"

#define PLOT_SUBJECTS_FOLLOWED 256
#define PLOT_SUBJECT_NAME_SIZE 24
#define PLOT_SUBJECT_SEGMENTS  1024

struct plot_subject {
    char name[PLOT_SUBJECT_NAME_SIZE]; /* "4711", "4711#2", a device; a longer one is cut */
    char *command;                     /* owned; NULL: not told */
    struct plot_series series;
    double rank;
    uint64_t hash;
};

struct plot_subjects {
    struct plot_subject *followed; /* owned; largest first after plot_subjects_sort */
    size_t count;
    bool by_integral;
    double hold;    /* of each line (series.h) */
    size_t last;    /* where the last one was found: the next stands behind it as a rule */
    uint64_t *seen; /* owned; a set of hashes */
    size_t seen_room, seen_count;
};

int plot_subjects_init(struct plot_subjects *subjects, bool by_integral); /* 0 or -ENOMEM */
void plot_subjects_fini(struct plot_subjects *subjects);
int plot_subjects_add(struct plot_subjects *subjects, const char *name, double begin, double end,
                      double value);
/* What it runs; the first word on it counts. Only of one that is followed. */
void plot_subjects_name(struct plot_subjects *subjects, const char *name, const char *command);
void plot_subjects_sort(struct plot_subjects *subjects);

#endif
