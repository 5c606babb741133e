/*
 * The memory that jobs really hold: the sum of PSS over their processes, and its peak.
 *
 * Reading /proc/PID/smaps_rollup takes the kernel some 25 ms per GiB. It is done for members of jobs alone,
 * one job after the other, in a thread of its own, so that neither a tick nor a client waits for it; and at
 * most one per cent of the time: after a pass that took t of CPU there is none for 100 t. A job has its turn
 * every 10 seconds, or when it has grown. If none of its processes has run, come or gone since, its turn
 * comes after ten minutes: only what others share with it can have changed.
 *
 * A pass is a sum only if it is one of an instant: every living member was read, none was born meanwhile, and
 * none has grown or shrunk by much. Else there is none, rather than a wrong one.
 */
#ifndef METRON_DAEMON_JOBS_PSS_H
#define METRON_DAEMON_JOBS_PSS_H

#include <uv.h>

#include "daemon/jobs/jobs.h"

struct jobs_pss;

/* NULL for want of memory. Both are borrowed. */
struct jobs_pss *jobs_pss_new(uv_loop_t *loop, struct jobs *jobs);
struct pss_look;
/* Whether a job is due that was last read `since_ns` ago, when it was like `before`, and is like `now`. */
bool jobs_pss_is_due(uint64_t since_ns, const struct pss_look *before, const struct pss_look *now);

/* After jobs_observe: the next pass begins, if it is time. */
void jobs_pss_tick(struct jobs_pss *pss);
/* Once the loop has run out. A pass that is under way is waited for, but not for ever. */
void jobs_pss_free(struct jobs_pss *pss); /* NULL is nothing */

#endif
