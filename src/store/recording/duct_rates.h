/*
 * What CPU con-duct's records imply: rates and seconds of processes, and the rate of all together.
 */
#ifndef METRON_STORE_RECORDING_DUCT_RATES_H
#define METRON_STORE_RECORDING_DUCT_RATES_H

#include <stdbool.h>

#include "store/recording/usage_values.h"

/* What a record says of one process. */
struct duct_sighting {
    bool has_pcpu, has_etime, has_wall;
    double pcpu, etime, wall;
};

/* `start`: of the run, unix seconds; 0: unknown. -ENOMEM. */
int duct_rates_new(double start, struct duct_rates **out);
void duct_rates_free(struct duct_rates *rates);
/* For each record: begin, each of its processes, end, which adds what is wanted to the record. */
void duct_rates_begin(struct duct_rates *rates);
void duct_rates_see(struct usage_reader *reader, const char *subject, const struct duct_sighting *now);
void duct_rates_end(struct usage_reader *reader);

#endif
