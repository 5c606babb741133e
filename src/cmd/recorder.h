/*
 * Whether the metron that records a run still lives: with it a reader tells a running run from a lost one.
 */
#ifndef METRON_CMD_RECORDER_H
#define METRON_CMD_RECORDER_H

#include <stdbool.h>

#include "store/recording/reader.h"

/* A recorder_lives; `context` is not used. One of this machine is looked for; one of another (a batch job,
 * seen from the login node) lives as long as its records come: ten minutes without one, or three times the
 * usual interval, and it is taken for gone. */
bool recorder_is_alive(void *context, const struct recorder *recorder);
/* The same by records alone, as a run without an info.json has nothing else; by its start if there are none.
 */
bool recorder_wrote_lately(const char *usage_path, double start_wall);

#endif
