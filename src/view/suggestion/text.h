/*
 * A suggestion for people and for programs: what to request, by which rule, from how many runs, and what to
 * be careful about.
 */
#ifndef METRON_VIEW_SUGGESTION_TEXT_H
#define METRON_VIEW_SUGGESTION_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "learn/suggestion.h"
#include "view/suggestion/lines.h"

/* `unreadable` runs were named elsewhere; 0 columns: lines stay as they are. With a consumer all that is said
 * stands in its comments, so that the whole can be pasted. */
void suggestion_text(struct strbuf *out, const struct suggestion *suggestion, size_t unreadable,
                     enum suggestion_consumer consumer, size_t width, bool colors);
/* Exactly, as it is requested: "1.125 GiB". */
void suggestion_memory(struct strbuf *out, double bytes);
/* What to be careful about: one line each, ended by a newline. */
void suggestion_warnings(struct strbuf *out, const struct suggestion *suggestion);
void suggestion_json(struct strbuf *out, const struct suggestion *suggestion, size_t unreadable,
                     enum suggestion_consumer consumer);

#endif
