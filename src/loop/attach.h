/*
 * The run of processes that run already: the same loop, from a baseline that is taken when it attaches.
 *
 * The target is never touched: nothing is sent to it, nobody traces it (but strace, if it is to count system
 * calls and the kernel does not), none of it is reaped, and it stays in its control group. It may end or go
 * on; the run ends when the last of it has ended, when the time is up, or at SIGINT, SIGTERM, SIGHUP or
 * SIGQUIT, and is then no failure.
 */
#ifndef METRON_LOOP_ATTACH_H
#define METRON_LOOP_ATTACH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "probe/running.h"

struct run;

struct attach_target {
    const struct running *processes; /* at least one, each once */
    size_t count;
    bool children;   /* and all their descendants, those to come as well */
    double duration; /* seconds; 0: until they have ended */
};

/* After run_prepare, with options.attach: follows them. 0, or a negative errno: the loop could not start. */
int attach_execute(struct run *run, struct metron_error *error);

#endif
