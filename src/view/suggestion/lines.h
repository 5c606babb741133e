/*
 * A suggestion as the lines that schedulers and workflows take.
 */
#ifndef METRON_VIEW_SUGGESTION_LINES_H
#define METRON_VIEW_SUGGESTION_LINES_H

#include "base/strbuf.h"
#include "learn/suggestion.h"

enum suggestion_consumer {
    SUGGESTION_FOR_PEOPLE, /* no lines */
    SUGGESTION_FOR_SLURM,
    SUGGESTION_FOR_PBS,
    SUGGESTION_FOR_LSF,
    SUGGESTION_FOR_SGE,
    SUGGESTION_FOR_NEXTFLOW,
    SUGGESTION_FOR_SNAKEMAKE,
    SUGGESTION_FOR_K8S,
};

/* Adds the lines; what could not be suggested is not in them. */
void suggestion_lines(struct strbuf *out, const struct suggestion *suggestion,
                      enum suggestion_consumer consumer);
/* What the lines take for granted and a site may have otherwise: a sentence a line, ended by a newline. */
void suggestion_assumptions(struct strbuf *out, const struct suggestion *suggestion,
                            enum suggestion_consumer consumer);
/* What begins a comment there: "# ", "// "; "" for people. */
const char *suggestion_comment(enum suggestion_consumer consumer);

#endif
