/*
 * What the formats share: finding a number of a run under the names that different recordings have for the
 * same quantity, and writing numbers, times and texts exactly.
 */
#ifndef METRON_PUBLISH_EXPORT_VALUES_H
#define METRON_PUBLISH_EXPORT_VALUES_H

#include <stdbool.h>

#include "base/json.h"
#include "publish/exporter.h"

/* The first of `names` (NULL-terminated: keys of the summary, fields, aliases) that the run has. Of a run
 * without a summary it is made from the records. *source (may be NULL) is the key it was taken from. */
bool export_find(const struct export *export, const char *const *names, double *value, const char **source);
/* Seconds: the wall time of a run that ended; else until its newest record. */
bool export_wall(const struct export *export, double *value);
/* CPU seconds of the tree, and from which key. */
bool export_cpu_seconds(const struct export *export, double *value, const char **source);
/* The larger of the largest sum of resident memory over the tree, which is sampled, and of the highest mark
 * of a single process, which the kernel keeps. */
bool export_peak_resident(const struct export *export, double *value);
/* 100 x CPU seconds / wall: 100 is one core. */
bool export_mean_cpu(const struct export *export, double *percent);

/* Names of the same quantity, best first: conserved totals, sums over the tree, and what con-duct calls them.
 */
extern const char *const export_peak_rss[];
extern const char *const export_peak_vsz[];
extern const char *const export_read_bytes[];
extern const char *const export_write_bytes[];
extern const char *const export_ctx_voluntary[];
extern const char *const export_ctx_involuntary[];
extern const char *const export_minor_faults[];
extern const char *const export_major_faults[];

/* As short as it can be and still be read back as the very same number. Not finite: nothing, and false. */
bool export_number(struct strbuf *out, double value);
/* "2026-11-15T07:42:53.123456+00:00"; of 0, a time that was not told, nothing. */
void export_timestamp(struct strbuf *out, double wall);
/* A JSON string. */
void export_json_text(struct strbuf *out, const char *text);
/* Key and exact number into an object that is being written; null if `has` is not set. */
void export_json_number(struct json *json, const char *key, bool has, double value);

#endif
