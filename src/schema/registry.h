/*
 * Every measurement of this build, and the choice among them (`--measurements`).
 */
#ifndef METRON_SCHEMA_REGISTRY_H
#define METRON_SCHEMA_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "schema/measurement.h"

struct registry_entry {
    const struct source *source;
    const struct measurement *measurement;
    size_t source_index; /* the collector's place in the table it was made from */
    bool selected;
};

struct registry {
    const struct source *const *sources; /* borrowed */
    size_t source_count;
    struct registry_entry *entries; /* owned; in the order of the tables */
    size_t count;
};

/* Takes all measurements of all sources, checking each and that no key (its statistics included) occurs
 * twice. 0, -EINVAL (an illegal table: a programming error), -ENOMEM. */
int registry_init(struct registry *registry, const struct source *const *sources, size_t source_count,
                  struct metron_error *error);
void registry_fini(struct registry *registry);
const struct registry_entry *registry_find(const struct registry *registry, const char *key);

/* Why a source cannot be read here, or NULL if it can. Borrowed until the next call. */
typedef const char *registry_unavailable(void *context, size_t source_index);

/* Selects by a comma-separated list of keys, globs and groups (minimal, default, all). Globs and groups take
 * what is available; a key named in full must be. `opt_in` says, per source, that "default" leaves it out.
 * -EINVAL: an unknown or unavailable key, with the reason and the nearest names. */
int registry_select(struct registry *registry, const char *list, const bool *opt_in,
                    registry_unavailable *unavailable, void *context, struct metron_error *error);
/* The union of the costs of what is selected of one source; `any` (may be NULL) says whether anything is. */
unsigned registry_cost(const struct registry *registry, size_t source_index, bool *any);

#endif
