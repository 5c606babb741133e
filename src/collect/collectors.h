/* Every collector of this build, in the order of documents and records. */
#ifndef METRON_COLLECT_COLLECTORS_H
#define METRON_COLLECT_COLLECTORS_H

#include <stddef.h>

#include "collect/collector.h"

extern const struct collector *const collectors[];
extern const size_t collector_count;
/* The same as a table of sources, for a registry. */
const struct source *const *collector_sources(void);

#endif
