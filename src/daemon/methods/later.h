/*
 * Answers that take a while, because the history is read: made in a thread of libuv's pool, sent when they
 * are there. If the client has gone by then, or the server was closed, they are not made, or not to the end.
 */
#ifndef METRON_DAEMON_METHODS_LATER_H
#define METRON_DAEMON_METHODS_LATER_H

#include <uv.h>

#include "daemon/socket/call.h"
#include "store/history/reader.h"

/* Has `answer` called in a thread: it writes to call_result(call) or calls call_fail. Then, in the loop's
 * thread, the answer is sent and `release` called, which is so in every case, failures too. What a method
 * returns: CALL_LATER, or a negative errno. */
int answer_later(struct call *call, uv_loop_t *loop, void (*answer)(void *context, struct call *call),
                 void (*release)(void *context), void *context);

/* In such a thread: history_reader_open, and what is read ends early if nobody waits for it any more. */
int open_history_for(struct call *call, const char *database, struct history_reader **out,
                     struct metron_error *error);

/* What a method wants to read in the history: the first member of a struct of its own. */
struct question {
    /* In the thread: writes the members of the answer. */
    int (*read)(struct question *question, struct history_reader *reader, struct json *json,
                struct metron_error *error);
    char *job_id; /* set by answer_from_history; NULL: none */
    const char *database;
};

/* Answers a copy of the question, which has `size` bytes. What a method returns. */
int answer_from_history(struct call *call, const struct question *question, size_t size, const char *job_id);

#endif
