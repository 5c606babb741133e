/*
 * The words of the socket: JSON-RPC 2.0, one message a line.
 *
 *     → {"jsonrpc": "2.0", "id": 1, "method": "job.status", "params": {"job_id": "night"}}
 *     ← {"jsonrpc":"2.0","id":1,"result":{…}}
 *     ← {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"…","data":{"hint":"what to do"}}}
 *
 * What JSON-RPC leaves open is decided so:
 * - A line is one request or one batch. Blank lines are passed over, and so is a carriage return at the end
 * of one. A last line without its end is taken once the client has shut down its side.
 * - Params come by name (an object) or not at all; an array of them is -32602. A name that a method does not
 *   know is ignored, so that a newer client can talk to an older daemon; null is the same as absent. Of two
 *   equal names the last counts, as in Python and JavaScript.
 * - An id comes back byte for byte. Answers may come in another order than requests.
 * - `data` of an error is always an object, whose `hint` says what to do.
 */
#ifndef METRON_DAEMON_SOCKET_PROTOCOL_H
#define METRON_DAEMON_SOCKET_PROTOCOL_H

#include <stddef.h>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/strbuf.h"

#define RPC_LINE_MAX   ((size_t)1 << 20) /* bytes of a request or batch, without its line end */
#define RPC_BATCH_MAX  100               /* requests */
#define RPC_ID_MAX     1024              /* bytes, as written */
#define RPC_METHOD_MAX 128               /* bytes */

enum rpc_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_NO_SUCH_METHOD = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    RPC_NO_SUCH_JOB = -32000,
    RPC_EXHAUSTED = -32001,
    RPC_SHUTTING_DOWN = -32003,
    RPC_NOT_PERMITTED = -32010,
};

/* The negative errno that stands for a code on the client's side. */
int rpc_errno(int code);

/* An answer with a result: one JSON value, null if it is empty. `id` is JSON as it was written; NULL or empty
 * is null. No line end is added. */
void rpc_result(struct strbuf *out, const struct json_text *id, const struct strbuf *result);
void rpc_error(struct strbuf *out, const struct json_text *id, int code, const char *message,
               const char *hint);
/* A notification or, with an id (0: none), a request. `params` is JSON; NULL or empty: none. */
void rpc_request(struct strbuf *out, long long id, const char *method, const struct json_text *params);

/* Writes JSON that is known to be right as one value: what a client sent, for example. */
void rpc_raw_value(struct json *json, const struct json_text *text);

#endif
