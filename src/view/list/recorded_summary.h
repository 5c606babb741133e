/*
 * What `metron run` says at the end of a run, from its recording; of a run of con-duct what that has, under
 * its own names.
 */
#ifndef METRON_VIEW_LIST_RECORDED_SUMMARY_H
#define METRON_VIEW_LIST_RECORDED_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "schema/recording.h"

/* The recording must have been read with all its fields. Lines are broken at `width` columns; 0: not at all.
 */
void recorded_summary_write(struct strbuf *out, const struct recording *recording, size_t width, bool colors);

#endif
