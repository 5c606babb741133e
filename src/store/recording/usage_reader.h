/*
 * Reading usage.jsonl (and con-duct's usage.json) record by record, of any length, in bounded memory.
 *
 * A line that is no record is passed over and counted; so is a last line that was cut off (a run that was
 * killed while it wrote). Of each record only the wanted keys are looked at. A value of another kind than its
 * key's type says (a number for a gauge or counter, text for a label, a tally for a categorical) is passed
 * over, so that what is handed out can be relied on.
 *
 * con-duct's records have these keys: pcpu, pmem, rss, vsz, etime, stat, cmd (per_pid); total_pcpu,
 * total_pmem, total_rss, total_vsz and average_pcpu, average_pmem, average_rss, average_vsz (single). `pcpu`
 * there is an average over the life of the process (a note says so). Derived from consecutive pcpu x etime,
 * and estimates by their notes, are pcpu_rate and pcpu_seconds (per_pid) and total_pcpu_rate (single); see
 * duct_rates.c. etime is a number of seconds here.
 */
#ifndef METRON_STORE_RECORDING_USAGE_READER_H
#define METRON_STORE_RECORDING_USAGE_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "schema/recording.h"

struct usage_reader;

/* `recording` (with its keys) must outlive the reader. `wanted`: one per key of the recording; NULL: all.
 * -ENOENT: the run has no usage file. */
int usage_reader_open(const struct recording *recording, const bool *wanted, struct usage_reader **out,
                      struct metron_error *error);
/* The same over bytes, which are borrowed, for tests and fuzzing. */
int usage_reader_open_bytes(const struct recording *recording, const bool *wanted, const char *bytes,
                            size_t length, struct usage_reader **out, struct metron_error *error);
/* 1 and a record; 0 at the end; or a negative errno. */
int usage_reader_next(struct usage_reader *reader, const struct usage_record **out);
/* Lines that were passed over, and the number of the first (from 1; 0: none). */
size_t usage_reader_damaged(const struct usage_reader *reader, size_t *first_line);
void usage_reader_free(struct usage_reader *reader);

#endif
