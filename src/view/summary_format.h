/*
 * The end of a run in the user's own words: `metron run --summary-format`, a format string (view/format.h)
 * filled in with fields of the run and with every key of its summary.
 */
#ifndef METRON_VIEW_SUMMARY_FORMAT_H
#define METRON_VIEW_SUMMARY_FORMAT_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "schema/registry.h"
#include "schema/run_info.h"

/* Ended by a newline; an empty format adds nothing. */
void summary_format_write(struct strbuf *out, const char *format, const struct run_info *info, bool colors);
/* Whether every key of `format` is one that a run may have: 0, or -EINVAL and why. */
int summary_format_check(const char *format, const struct registry *registry, struct metron_error *error);

#endif
