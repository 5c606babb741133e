/*
 * Inside of the Prometheus format: the writing of families and samples, and the walk over the registry.
 */
#ifndef METRON_PUBLISH_EXPORT_PROMETHEUS_H
#define METRON_PUBLISH_EXPORT_PROMETHEUS_H

#include "publish/exporter.h"

#define PROMETHEUS_STATES 5

struct prometheus_state {
    struct strbuf labels; /* of every sample: run, metron_job, host, command */
    const char *family;   /* that was begun last; NULL: none */
    double states[PROMETHEUS_STATES];
    bool has_states;
};

/* Adds NAME="text" to a list of labels; a very long text is cut, with dots after it. */
void prometheus_label(struct strbuf *out, const char *name, const char *text);
void prometheus_family(struct strbuf *out, const char *name, const char *type, const char *help);
void prometheus_sample(struct export *export, const char *name, const char *labels, double value);

/* "io_read_bytes_total" -> "metron_io_read_bytes_total": prefix, letters that are allowed, base unit, and
 * _total for counters only. Appended to `out`. */
void prometheus_name(struct strbuf *out, const struct recording *recording, const struct recorded_key *key);
/* Every number of the summary. 0 or -ENOMEM. */
int prometheus_registry(struct export *export);

#endif
