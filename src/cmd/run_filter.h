/*
 * --filter of the commands that read many runs: parsed before a file is opened, then applied to each run.
 * What is wrong with it is reported on stderr, with the place.
 */
#ifndef METRON_CMD_RUN_FILTER_H
#define METRON_CMD_RUN_FILTER_H

#include "schema/recording.h"
#include "settings/settings.h"

struct run_filter {
    struct filter *filter; /* NULL: all runs */
    const char *text;      /* of the settings */
};

/* EXIT_OK or EXIT_WRONG_USAGE. */
int run_filter_init(struct run_filter *filter, const struct settings *settings);
void run_filter_fini(struct run_filter *filter);
/* The fields that it needs, ended by NULL; borrowed. */
const char *const *run_filter_fields(const struct run_filter *filter);
/* 1: the run is wanted; 0: it is not; -EINVAL: the filter does not suit it (reported). */
int run_filter_holds(const struct run_filter *filter, const struct recording *recording);
/* Says that no run is left. */
void run_filter_say_none(size_t runs);

#endif
