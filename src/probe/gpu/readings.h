/*
 * Readings of the GPUs, made in a thread of their own.
 *
 * A call into the driver may block: for milliseconds mostly, for seconds when a GPU sleeps or has fallen off
 * the bus, for good when the driver is broken. So the loop only asks for a reading, and takes the newest
 * there is: it never waits, not even for a lock. A reading that is too old is no reading.
 *
 * All functions are for one thread, that of the loop.
 */
#ifndef METRON_PROBE_GPU_READINGS_H
#define METRON_PROBE_GPU_READINGS_H

#include <stdbool.h>

#include "base/error.h"
#include "probe/gpu/gpu.h"

struct gpu_readings;

/* Starts the thread, which reads the `wanted` fields (a bit each). Fails as gpu_source_open does, and then
 * nothing was started. */
int gpu_readings_new(struct gpu_readings **out, bool may_run_program, uint64_t wanted,
                     struct metron_error *error);
const char *gpu_readings_source(const struct gpu_readings *readings); /* the library, or the program's path */
/* Asks for a reading; one that is under way is enough. */
void gpu_readings_ask(struct gpu_readings *readings);
/* Asks, and waits for the answer, at most so long: for those who have time. */
void gpu_readings_wait(struct gpu_readings *readings, double seconds);
/* The newest reading, borrowed until the next call, and when it was begun (monotonic). Asked for at every
 * `interval` (seconds), it is at most two of them old, or a second. NULL, with the reason: -EAGAIN: there was
 * none yet; -ETIME: it is older; another negative errno: it failed. */
const struct gpu_list *gpu_readings_take(struct gpu_readings *readings, double interval, uint64_t *begin_ns,
                                         struct metron_error *error);
/* Ends the thread; one that the driver blocks is left behind. NULL is nothing. */
void gpu_readings_free(struct gpu_readings *readings);
/* Whether a thread was left behind in this process, which must then end with _exit(): the driver's library
 * would wait for the thread. */
bool gpu_readings_left_behind(void);

#endif
