/* How many files of processes may stay open. */
#ifndef METRON_LOOP_DESCRIPTORS_H
#define METRON_LOOP_DESCRIPTORS_H

#include <sys/resource.h>

/* Raises our own limit as far as we may, and returns how many may be kept. `found`: the limit as it was, for
 * a command that is started; may be NULL. */
int descriptors_to_keep(struct rlimit *found);

#endif
