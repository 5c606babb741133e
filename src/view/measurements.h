/*
 * The registry for people and programs: a table, JSON, and the Markdown of docs/measurements.md.
 */
#ifndef METRON_VIEW_MEASUREMENTS_H
#define METRON_VIEW_MEASUREMENTS_H

#include "base/strbuf.h"
#include "schema/registry.h"
#include "schema/run_info.h"

/* `sources`: availability, one per source of the registry, in its order. `width`: columns to fill. */
void measurements_table(struct strbuf *out, const struct registry *registry,
                        const struct run_collector *sources, size_t width);
void measurements_json(struct strbuf *out, const struct registry *registry);
void measurements_markdown(struct strbuf *out, const struct registry *registry);

#endif
