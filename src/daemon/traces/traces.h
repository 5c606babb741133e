/*
 * The full traces that clients have asked for (trace.start, trace.stop): which run, which have ended and were
 * not asked for since, and who waits for an answer.
 */
#ifndef METRON_DAEMON_TRACES_TRACES_H
#define METRON_DAEMON_TRACES_TRACES_H

#include <sys/types.h>
#include <uv.h>

#include "daemon/socket/call.h"

struct traces;

/* `folder`: where files lie; NULL: there is none, and nothing is traced. Borrowed. NULL for want of memory.
 */
struct traces *traces_new(uv_loop_t *loop, const char *folder);
/* Ends all that run, waits for them and answers whoever waits. Nothing begins after that. */
void traces_close(struct traces *traces);
/* The loop has ended, or the handle was never used. NULL is allowed. */
void traces_free(struct traces *traces);

/* Both answer later, or refuse: for `return` of a method. */
int traces_start(struct traces *traces, struct call *call, pid_t pid);
int traces_stop(struct traces *traces, struct call *call, pid_t pid);

#endif
