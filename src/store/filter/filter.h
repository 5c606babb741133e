/*
 * Which runs to show: a small expression language over the fields of a recording. It reads fields and
 * compares them; it can do nothing else.
 *
 *     peak_memory > 2GiB and exit_code != 0
 *     command =~ 'train.*py' and not (status == lost or wall < 1h30m)
 *     job == "a b" and start_time >= 2026-11-01
 *
 * EXPR is comparisons joined by `not`, `and`, `or` (also ! && ||; in this order of strength) and ( ). A
 * comparison is a field, one of == (=) != < <= > >= =~ !~, and a value: an amount (store/quantity.h), a day
 * or an instant (2026-11-15, 2026-11-15T07:42; local time unless a zone is told; a day or a minute is meant
 * as a whole), a word, or a text in '…' or "…". =~ matches a POSIX extended regular expression anywhere in
 * the field. A field alone holds if the run has it and it is neither 0, false nor empty.
 *
 * A comparison with a field that a run does not have is false, whatever it asks, also !=; `not FIELD` asks
 * for absence. An amount in another unit than the field's, a word where the field is a number, and the like
 * are errors, never just false: those that the expression itself gives away are found when it is parsed, the
 * others when the first such run is met.
 */
#ifndef METRON_STORE_FILTER_FILTER_H
#define METRON_STORE_FILTER_FILTER_H

#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "schema/recording.h"

#define FILTER_LENGTH_MAX 4096 /* bytes */
#define FILTER_DEPTH_MAX  64   /* of parentheses and nots */
#define FILTER_NODES_MAX  512

struct filter;

/* 0; -EINVAL with the place in the text (bytes from its start) in *place; -ENOMEM. */
int filter_parse(const char *text, struct filter **out, size_t *place, struct metron_error *error);
void filter_free(struct filter *filter);

/* The fields that it looks at, each once, ended by NULL; borrowed. */
const char *const *filter_fields(const struct filter *filter);

/* 1: it holds; 0: it does not; -EINVAL as above. The recording must have been read with filter_fields, and
 * with its keys where units count. */
int filter_holds(const struct filter *filter, const struct recording *recording, size_t *place,
                 struct metron_error *error);

/* The expression, cut to `width` columns around the place if it is longer, and a caret below it; two lines.
 */
void filter_point(struct strbuf *out, const char *text, size_t place, size_t width);

#endif
