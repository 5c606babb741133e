/*
 * Readings of the GPUs, made in a thread of their own.
 *
 * A call into the driver may block: for milliseconds mostly, for seconds when a GPU sleeps or has fallen off
 * the bus, for good when the driver is broken. So the loop only asks for a reading, and takes the newest
 * there is: it never waits, not even for a lock. A reading that is too old is no reading.
 *
 * All functions are for one thread, that of the loop.
 */
#ifndef METRON_LOOP_GPU_READINGS_H
#define METRON_LOOP_GPU_READINGS_H

#include "base/error.h"
#include "probe/gpu/gpu.h"
#include "schema/snapshot.h"

struct gpu_readings;

/* Starts the thread. -ENOENT: there is neither NVIDIA's library nor its program, and nothing was started. */
int gpu_readings_new(struct gpu_readings **out, struct metron_error *error);
const char *gpu_readings_source(const struct gpu_readings *readings); /* the library, or the program's path */
/* Asks for a reading; one that is under way is enough. */
void gpu_readings_ask(struct gpu_readings *readings);
/* The newest reading, at most `seconds` old, borrowed until the next call. NULL, with the reason: -EAGAIN:
 * there was none yet; -ETIME: it is older; another negative errno: it failed. */
const struct gpu_list *gpu_readings_take(struct gpu_readings *readings, double seconds,
                                         struct metron_error *error);
/* Puts the newest reading into a snapshot if it is younger than two intervals (or a second), and logs, once,
 * what cannot be read. Without a reading the snapshot says nothing of GPUs. */
void gpu_readings_fill(struct gpu_readings *readings, double interval, struct snapshot *snapshot);
/* 0; -ETIMEDOUT: the driver has it blocked, and the thread is left behind. NULL is nothing. */
int gpu_readings_free(struct gpu_readings *readings);

#endif
