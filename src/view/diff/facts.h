/*
 * The facts in metron diff: what is no amount and differs, before and now in one line.
 */
#ifndef METRON_VIEW_DIFF_FACTS_H
#define METRON_VIEW_DIFF_FACTS_H

#include <stddef.h>

#include "base/strbuf.h"
#include "learn/comparison.h"

/* A line each, ended by a newline; a text that is too wide is cut to where both differ. */
void diff_facts_print(struct strbuf *out, const struct comparison_field *const *fields, size_t count,
                      size_t width);

#endif
