/*
 * What a method of the socket sees of the request that it answers.
 *
 *     static int answer_status(struct call *call, struct json *result)
 *     {
 *         const char *job_id;
 *
 *         if (call_text(call, "job_id", &job_id) != PARAM_FOUND)
 *             return call_wrong(call, "job_id", "the name of a job");
 *         …
 *         if (!job)
 *             return call_fail(call, RPC_NO_SUCH_JOB, "metron job list shows those that are known",
 *                              "there is no job '%s'", job_id);
 *         job_json(result, job);
 *         return 0;
 *     }
 *
 * A method writes one value to `result` and returns 0; writing none answers null. It runs in the loop's
 * thread and must not wait for anything. What takes longer than a millisecond is deferred (methods/later.h
 * does it all):
 *
 *     struct call *later = call_defer(call);
 *     if (!later)
 *         return -ENOMEM;
 *     work->call = later;
 *     uv_queue_work(…);
 *     return CALL_LATER;
 *
 * The worker may read params of `later`, write to call_result(later), and call call_fail and
 * call_is_abandoned on it; nothing else. Back in the loop's thread, call_resume(later) sends the answer and
 * frees it. That is owed in every case, be it that the client has gone or the server was closed meanwhile. It
 * may be done at any time, also inside a method, the very one that deferred the call.
 */
#ifndef METRON_DAEMON_SOCKET_CALL_H
#define METRON_DAEMON_SOCKET_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/json.h"
#include "base/json_reader.h"
#include "daemon/socket/protocol.h"
#include "publish/bus.h"

struct call;

enum { CALL_LATER = 1 };

/* 0: answered; CALL_LATER: deferred; negative: refused, with what call_fail said or else as an internal error
 * with the text of this errno. */
typedef int call_answer(struct call *call, struct json *result);

struct call_method {
    const char *name; /* static */
    call_answer *answer;
    bool while_closing; /* answered also while the server closes */
};

void *call_context(const struct call *call); /* the server's options.context */

struct call_peer {
    pid_t pid; /* 0: not to be seen from here */
    uid_t uid;
};
/* Who asks, as the kernel told when it connected. */
struct call_peer call_peer(const struct call *call);

/* -- Params. Texts live as long as the call. -- */

enum param { PARAM_WRONG = -1, PARAM_ABSENT = 0, PARAM_FOUND = 1 };

/* PARAM_WRONG: it is there and of another kind, or there is no memory for it. What `out` points to is only
 * changed with PARAM_FOUND. */
enum param call_text(struct call *call, const char *name, const char **out);
/* A whole number: 3, 3.0 and 3e0 are; 3.5 and one past 64 bits are not. */
enum param call_integer(struct call *call, const char *name, int64_t *out);
enum param call_number(struct call *call, const char *name, double *out);
enum param call_boolean(struct call *call, const char *name, bool *out);
/* An array of texts. */
enum param call_texts(struct call *call, const char *name, const char *const **out, size_t *count);
/* Any value, as it was written: one line of JSON that is known to be right (see rpc_raw_value). False: it is
 * absent. */
bool call_raw(const struct call *call, const char *name, struct json_text *out);

/* -- Answering -- */

/* Whether more is written than can be sent (16 MiB) or than there is memory for: the client is refused, and
 * what would follow is not needed any more. */
bool call_is_too_long(const struct call *call);
/* Refuses: `hint` says what to do about it. Returns a negative code, for `return`. */
int call_fail(struct call *call, int code, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A param is missing or of another kind than `expected`, such as "a text". */
int call_wrong(struct call *call, const char *name, const char *expected);

/* What was written to the result by now is the beginning of the answer. NULL: out of memory, or this call is
 * deferred already. */
struct call *call_defer(struct call *call);
struct json *call_result(struct call *call); /* where a deferred call's answer is written */
/* From any thread, of a deferred call: the client or the server has gone, and nobody reads the answer. */
bool call_is_abandoned(const struct call *call);
void call_resume(struct call *call);

/* -- Streams -- */

/* From now on the connection gets what the bus has for it as notifications `monitor.event`, whose params are
 * the message's text, as fast as the client reads; what it lost is counted by `monitor.dropped` {count},
 * before the event that follows the gap. Other requests on the connection go on. The call is answered when
 * the stream ends: with the server, or because another one on the connection takes its place. `wanted` says
 * what of: its wake and context are set here. Not of a deferred call. The bus outlives the server. For
 * `return`. */
int call_subscribe(struct call *call, struct bus *bus, const struct bus_subscription *wanted);

#endif
