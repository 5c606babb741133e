/*
 * The end of a run for a person: short, aligned, each number with the name of its method.
 */
#ifndef METRON_VIEW_RUN_SUMMARY_H
#define METRON_VIEW_RUN_SUMMARY_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "schema/run_info.h"

#define RUN_SUMMARY_INDENT 12 /* the column behind the labels */

/* The built-in summary. `discarded`: the files were removed again. */
void run_summary_write(struct strbuf *out, const struct run_info *info, bool discarded, bool colors);
/* By a format of the user's (view/format.h), ended by a newline. */
void run_summary_format(struct strbuf *out, const char *format, const struct run_info *info, bool colors);
/* Whether every key of `format` is one that a run may have: 0, or -EINVAL and why. */
int run_summary_check(const char *format, const struct registry *registry, struct metron_error *error);

#endif
