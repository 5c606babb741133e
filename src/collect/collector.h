/*
 * A collector: one I/O pass over one source.
 *
 * It is pure: it turns what probe/ and tree/ see into raw readings and remembers nothing of the last pass but
 * open descriptors. It says whether it is available here and, if not, why. To add one: a file with one `const
 * struct collector`, a line in collectors.c and one in the build file (docs/tour.md walks through it).
 */
#ifndef METRON_COLLECT_COLLECTOR_H
#define METRON_COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/measurement.h"
#include "schema/pass.h"
#include "tree/tree.h"

/* What the loop tells of itself. */
struct loop_figures {
    uint64_t samples, missed_ticks;
    double sample_seconds; /* wall time of the latest sample */
};

/* What collectors may look at; borrowed for the time of a call. */
struct collect_context {
    const char *proc_root;
    struct tree *tree; /* NULL where nothing is followed (doctor) */
    const struct loop_figures *figures;
    uint64_t spawner_maxrss_bytes; /* the floor of ru_maxrss: what the command's parent held at the fork */
};

struct collector {
    struct source source;
    bool opt_in; /* left out of the group "default" */
    /* NULL if it can be read here, else why not (static text). */
    const char *(*unavailable)(const struct collect_context *context);
    /* `cost`: what the selected measurements need. State may be NULL. May itself be NULL: nothing to open. */
    int (*open)(const struct collect_context *context, unsigned cost, void **state);
    /* One of these two: `collect` at every sample, `read` at every report. Stamps are already set. A negative
     * errno: nothing was measured this time. */
    int (*collect)(void *state, const struct collect_context *context, struct pass *pass);
    int (*read)(void *state, const struct collect_context *context, struct pass *pass);
    void (*close)(void *state);
};

#endif
