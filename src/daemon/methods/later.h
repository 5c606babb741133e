/*
 * Answers that take a while, because the history is asked: made in a thread of libuv's pool, sent when they
 * are there.
 */
#ifndef METRON_DAEMON_METHODS_LATER_H
#define METRON_DAEMON_METHODS_LATER_H

#include <uv.h>

#include "daemon/socket/call.h"

/* Has `answer` called in a thread: it writes to call_result(call) or calls call_fail. Then, in the loop's
 * thread, the answer is sent and `release` called, which is so in every case, failures too. What a method
 * returns: CALL_LATER, or a negative errno. */
int answer_later(struct call *call, uv_loop_t *loop, void (*answer)(void *context, struct call *call),
                 void (*release)(void *context), void *context);

#endif
