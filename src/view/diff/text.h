/*
 * What changed between runs, for people and for programs.
 */
#ifndef METRON_VIEW_DIFF_TEXT_H
#define METRON_VIEW_DIFF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "learn/comparison.h"
#include "learn/limit.h"

/* A limit and what came of it. */
struct diff_limit {
    const struct limit *limit;
    enum limit_result result;
    struct limit_numbers numbers;
    struct metron_error reason; /* of one that could not be judged */
};

struct diff_page {
    const struct comparison *comparison; /* finished */
    const char *now, *before;            /* the run, and the one before or the glob of the earlier ones */
    bool history;                        /* compared with a glob */
    size_t left_out;                     /* earlier runs that did not succeed, and so were not counted */
    const char *fields; /* only these: names and globs separated by commas; NULL: the usual */
    const struct diff_limit *limits;
    size_t limit_count;
};

void diff_text(struct strbuf *out, const struct diff_page *page, size_t width, bool colors);
/* Every number and every changed fact, unrounded. */
void diff_json(struct strbuf *out, const struct diff_page *page);
/* "FAIL: peak_memory > +10%: 2 GiB before, 2.5 GiB now (+25 %)", without a newline. */
void diff_limit_text(struct strbuf *out, const struct diff_limit *limit);
/* Whether the field is wanted: by its name, or by a glob of the list; NULL takes all. */
bool diff_wants(const char *fields, const char *name);

#endif
