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
    const char *reason;  /* why it cannot be measured here; NULL: it can. Borrowed */
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
/* Takes what is not available out of the choice: reasons[field] for every field of the source that cannot be
 * read here, NULL for those that can. Borrowed. */
void registry_set_reasons(struct registry *registry, size_t source_index, const char *const *reasons);
/* Why nothing of a source can be measured here; NULL if something can. */
const char *registry_source_reason(const struct registry *registry, size_t source_index);

/* Selects by a comma-separated list of keys, globs and groups (minimal, default, all). Globs and groups take
 * what has no reason against it; a key named in full must have none. `opt_in` says, per source, that
 * "default" leaves it out. -EINVAL: an unknown or unavailable key, with the reason and the nearest names. */
int registry_select(struct registry *registry, const char *list, const bool *opt_in,
                    struct metron_error *error);
/* Selects what snapshots keep (schema/columns.h), as far as it can be measured here. */
void registry_select_columns(struct registry *registry);
/* The union of the costs of what is selected of one source; `any` (may be NULL) says whether anything is. */
unsigned registry_cost(const struct registry *registry, size_t source_index, bool *any);
/* The fields of one source that something selected is made of, a bit each. */
uint64_t registry_fields(const struct registry *registry, size_t source_index);
/* Whether something selected, of whatever source, costs this (enum cost). */
bool registry_costs(const struct registry *registry, unsigned cost);

#endif
