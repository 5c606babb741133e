/*
 * Whom a full trace is of: a process and its descendants, as of now.
 */
#ifndef METRON_LOOP_TRACE_TARGETS_H
#define METRON_LOOP_TRACE_TARGETS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct trace_targets;

/* 0 or a negative errno. From any thread. */
int trace_targets_open(pid_t pid, struct trace_targets **out, struct metron_error *error);
void trace_targets_close(struct trace_targets *targets); /* NULL is allowed */

/* The process itself, then its living descendants; the caller frees them. This process, if it is among them,
 * is left out, and so are its children. 0 or a negative errno. */
int trace_targets_list(struct trace_targets *targets, pid_t **pids, size_t *count,
                       struct metron_error *error);
/* After attaching: how many of them nobody traces. They were born between the listing and the attaching, or
 * it was not permitted. */
size_t trace_targets_missed(struct trace_targets *targets);

#endif
