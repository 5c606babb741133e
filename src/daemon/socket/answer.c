/*
 * From a line to its answers: checks it, takes its requests apart, finds their methods, collects what they
 * wrote. A batch is answered in one array, once its last request is; until then its answers are kept beside
 * the connection's output and count as such.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "daemon/socket/protocol.h"
#include "daemon/socket/server_state.h"

#define SCRATCH_KEPT ((size_t)1 << 20) /* a larger one is given back */

static void trim(struct strbuf *scratch)
{
    if (scratch->capacity > SCRATCH_KEPT)
        strbuf_fini(scratch);
    else
        strbuf_reset(scratch);
}

/* -- One answer -- */

static void write_exhausted(struct strbuf *message, const struct call *call, const char *what,
                            const char *hint)
{
    strbuf_reset(message);
    rpc_error(message, &call->id, RPC_EXHAUSTED, what, hint);
}

static void write_answer(struct strbuf *message, const struct call *call)
{
    strbuf_reset(message);
    if (call->fail_code != 0) {
        rpc_error(message, &call->id, call->fail_code, call->fail_message, call->fail_hint);
        return;
    }
    rpc_result(message, &call->id, call->result);
    if (message->failed || call->result->failed)
        write_exhausted(message, call, "no memory for the answer", "ask for less, or later");
}

/* Whether the answer may be kept for this client; if not, an error takes its place. */
static void limit_answer(struct strbuf *message, const struct call *call)
{
    struct connection *connection = call->connection;
    size_t waiting = call->batch ? call->batch->answers.length : connection_unsent(connection);

    if (message->length > ANSWER_MAX)
        write_exhausted(message, call, "the answer is larger than 16 MiB", "ask for less: a job, a limit");
    else if (waiting > 0 && waiting + message->length > OUTPUT_MAX)
        write_exhausted(message, call, "more than 4 MiB of answers wait for you",
                        "read the answers, and send fewer requests at once");
    else if (message->length > HELD_SMALL &&
             !server_make_room(connection->server, connection, 2 * message->length))
        write_exhausted(message, call, "clients that do not read hold all the memory there is for answers",
                        "try again in a second");
}

static void leave_batch(struct connection *connection, struct batch *batch)
{
    struct strbuf *answers = &batch->answers;

    if (--batch->waiting > 0)
        return;
    if (connection) {
        connection->batch_bytes -= answers->length;
        if (answers->failed)
            connection->doomed = true;
        else if (answers->length > 0) { /* not one of notifications only */
            strbuf_addc(answers, ']');
            connection_send(connection, answers->data, answers->length);
        }
    }
    strbuf_fini(answers);
    free(batch);
}

void answer_finish(struct call *call)
{
    struct connection *connection = call->connection;
    struct batch *batch = call->batch;

    if (connection && !call->is_notification) {
        struct strbuf *message = &connection->server->message;

        write_answer(message, call);
        limit_answer(message, call);
        if (batch) {
            connection->batch_bytes -= batch->answers.length;
            strbuf_addc(&batch->answers, batch->answers.length == 0 ? '[' : ',');
            strbuf_add(&batch->answers, strbuf_text(message), message->length);
            connection->batch_bytes += batch->answers.length;
            server_hold(connection->server, connection);
        } else {
            connection_send(connection, strbuf_text(message), message->length);
        }
        trim(message);
    }
    if (batch)
        leave_batch(connection, batch);
}

/* -- One request -- */

/* `name`: as it was written, in quotes and maybe with escapes. */
static const struct call_method *find_method(const struct server *server, const struct json_text *name)
{
    const struct call_method *found = NULL;
    struct json_reader reader;
    struct json_text text;

    json_reader_init(&reader, name->bytes, name->length);
    bool is_text = json_read_text(&reader, &text);
    for (size_t i = 0; is_text && !found && i < server->method_count; i++)
        if (json_text_is(&text, server->methods[i].name))
            found = &server->methods[i];
    json_reader_fini(&reader);
    return found;
}

static int answer_call(struct call *call, const struct request *request)
{
    const struct call_method *method;

    if (request->complaint)
        return call_fail(call, RPC_INVALID_REQUEST,
                         "send {\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": NAME, \"params\": {…}}",
                         "no request of JSON-RPC 2.0: %s", request->complaint);
    method = find_method(call->server, &request->method);
    if (call->server->closing && !(method && method->while_closing))
        return call_fail(call, RPC_SHUTTING_DOWN, "ask again when it has been started again",
                         "the daemon is shutting down");
    if (!method)
        return call_fail(call, RPC_NO_SUCH_METHOD, "the methods are listed in metron-daemon(1)",
                         "there is no method %.*s", (int)request->method.length, request->method.bytes);
    if (call->params.length > 0 && call->params.bytes[0] == '[')
        return call_fail(call, RPC_INVALID_PARAMS, "send them by name: {\"job_id\": \"night\"}",
                         "params of '%s' are an array", method->name);
    return method->answer(call, &call->json);
}

static void answer_request(struct connection *connection, const struct request *request, struct batch *batch)
{
    struct server *server = connection->server;
    struct call call = {
        .server = server,
        .connection = connection,
        .peer = connection->peer,
        .context = server->context,
        .batch = batch,
        .id = request->id,
        .is_notification = request->is_notification,
        .params = request->params,
        .result = &server->result,
        .arena = &server->arena,
    };

    server->counts.requests++;
    strbuf_reset(call.result);
    json_init(&call.json, call.result, 0);
    if (batch)
        batch->waiting++;

    int code = answer_call(&call, request);

    if (code < 0 && call.fail_code == 0)
        (void)call_fail(&call, RPC_INTERNAL_ERROR, "the daemon's log may say more", "%s", strerror(-code));
    if (call.deferred) {
        if (batch)
            batch->waiting--; /* the copy counts */
    } else {
        answer_finish(&call);
    }
    trim(call.result);
    if (request->params.length > HEAVY_LINE)
        arena_fini(call.arena);
    else
        arena_reset(call.arena);
}

/* -- One line -- */

static void answer_batch(struct connection *connection, const struct request_line *requests)
{
    struct batch *batch;

    if (requests->count == 0 || requests->count > RPC_BATCH_MAX) {
        connection_refuse(connection, RPC_INVALID_REQUEST,
                          requests->count == 0 ? "an empty batch" : "more than 100 requests in a batch",
                          "send 1 to 100 requests in an array, or one request a line");
        return;
    }
    batch = calloc(1, sizeof(*batch));
    if (!batch) {
        connection_refuse(connection, RPC_EXHAUSTED, "no memory for the batch", "send one request a line");
        return;
    }
    batch->waiting = 1;
    for (size_t i = 0; i < requests->count; i++)
        answer_request(connection, &requests->items[i], batch);
    leave_batch(connection, batch);
}

void answer_line(struct connection *connection, const char *line, size_t length)
{
    struct request_line *requests = &connection->server->requests;
    struct metron_error error = {0};

    if (text_is_only_blanks(line, length))
        return;
    if (request_line_read(requests, line, length, &error) < 0) {
        connection_refuse(connection, RPC_PARSE_ERROR, error.message,
                          "send one request as JSON in UTF-8 on one line");
        return;
    }
    if (requests->is_array)
        answer_batch(connection, requests);
    else
        answer_request(connection, &requests->items[0], NULL);
}
