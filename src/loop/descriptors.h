/* How many descriptors there are: how many files of processes may stay open, and whether a run can begin. */
#ifndef METRON_LOOP_DESCRIPTORS_H
#define METRON_LOOP_DESCRIPTORS_H

#include <stddef.h>
#include <sys/resource.h>

#include "base/error.h"

/* Raises our own limit as far as we may, and returns how many may be kept. `found`: the limit as it was, for
 * a command that is started; may be NULL. */
int descriptors_to_keep(struct rlimit *found);
/* As many as a run needs for its files, its loop and its command. */
enum { DESCRIPTORS_NEEDED = 24 };

struct descriptors_held {
    int fds[DESCRIPTORS_NEEDED];
    size_t count;
};

/* Where there are few, keeps those from the collectors, which open as many files as they can: the loop must
 * get its own, and libuv aborts where it does not. 0, or -EMFILE and why. */
int descriptors_hold(struct descriptors_held *held, struct metron_error *error);
void descriptors_release(struct descriptors_held *held);

#endif
