/*
 * What works on this machine, what does not, and why: for people and as JSON.
 */
#ifndef METRON_VIEW_DOCTOR_H
#define METRON_VIEW_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

enum doctor_verdict {
    DOCTOR_FACT, /* neither good nor bad: a setting, something about the machine */
    DOCTOR_WORKS,
    DOCTOR_FAILS,
};

/* One thing that was looked at. Texts are borrowed while the report is written. */
struct doctor_finding {
    const char *group; /* "sources", "processes": findings of one group stand together */
    const char *name;
    enum doctor_verdict verdict;
    const char *detail; /* what was found, or why not and what would help */
};

void doctor_text(struct strbuf *out, const struct doctor_finding *findings, size_t count, bool colors);
void doctor_json(struct strbuf *out, const struct doctor_finding *findings, size_t count);

#endif
