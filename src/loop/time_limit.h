/*
 * When the time of the batch job is up that metron runs in, as far as its environment says.
 *
 * Slurm (22.05 and later) and Cobalt export that time. Torque and OAR export how long the job may run, and
 * its processes are in a session that began with it. LSF, Grid Engine, PBS Professional and HTCondor export
 * neither.
 */
#ifndef METRON_LOOP_TIME_LIMIT_H
#define METRON_LOOP_TIME_LIMIT_H

#include <stdbool.h>

#include "schema/outcome.h"

/* `session_start`: when the session of this process began, in unix seconds; 0: not known. The source is NULL
 * where the environment does not say. */
struct time_limit time_limit_find(double session_start);
/* When this process's session began, in unix seconds; 0: not known. */
double time_limit_session_start(const char *proc_root);
/* Whether what happened then (unix seconds) happened because the time was up. */
bool time_limit_explains(const struct time_limit *limit, double wall);

#endif
