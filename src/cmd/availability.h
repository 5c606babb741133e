/* What of the registry can be read on this machine: shared by every command that shows or selects
 * measurements. */
#ifndef METRON_CMD_AVAILABILITY_H
#define METRON_CMD_AVAILABILITY_H

#include "base/error.h"
#include "schema/registry.h"
#include "schema/run_info.h"

enum { AVAILABILITY_MAX = 32 }; /* collectors */

struct availability {
    struct registry registry;
    struct run_collector sources[AVAILABILITY_MAX]; /* in the registry's order */
    bool opt_in[AVAILABILITY_MAX];
};

/* Checks the whole table of measurements and asks every collector. An illegal table is an error. */
int availability_init(struct availability *availability, const char *proc_root, struct metron_error *error);
void availability_fini(struct availability *availability);
/* Selects by `--measurements`. */
int availability_select(struct availability *availability, const char *list, struct metron_error *error);

#endif
