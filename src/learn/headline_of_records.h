/*
 * The headline of a run whose info.json has none: it has just begun, or an older metron records it. The
 * records are reduced to the summary that they would end in, and reduce/headline.h answers from that.
 */
#ifndef METRON_LEARN_HEADLINE_OF_RECORDS_H
#define METRON_LEARN_HEADLINE_OF_RECORDS_H

#include <stdbool.h>

#include "schema/recording.h"
#include "schema/run_info.h"

/* Reads the whole usage.jsonl of a run of metron. Sources and notes are static. False: it has no record that
 * can be read, or there is no memory. */
bool headline_of_records(const struct recording *recording, struct headline *out);
/* The same from records that were reduced already: a total for each key of the recording. False: no memory.
 */
bool headline_of_totals(const struct recording *recording, const struct recorded_total *totals,
                        struct headline *out);

#endif
