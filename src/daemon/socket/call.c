/*
 * Calls: reading params, refusing, and the ways of a call that outlives its turn.
 *
 * Params are looked up in the request's own text, by name, each time one is asked for: methods ask for a few,
 * once. The line was checked before (request.h), so that a reader on it cannot fail.
 */
#include "daemon/socket/call.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "daemon/socket/server_state.h"

void *call_context(const struct call *call)
{
    return call->context;
}

struct call_peer call_peer(const struct call *call)
{
    return call->peer;
}

/* -- Params -- */

bool call_raw(const struct call *call, const char *name, struct json_text *out)
{
    struct json_text value;

    if (!json_find(&call->params, name, &value) || value.bytes[0] == 'n') /* null: as if it was not there */
        return false;
    *out = value;
    return true;
}

enum param call_text(struct call *call, const char *name, const char **out)
{
    struct json_reader reader;
    struct json_text value, text;
    const char *copy = NULL;

    if (!call_raw(call, name, &value))
        return PARAM_ABSENT;
    json_reader_init(&reader, value.bytes, value.length);
    if (json_read_text(&reader, &text))
        copy = arena_copy(call->arena, text.bytes, text.length);
    json_reader_fini(&reader);
    if (copy)
        *out = copy;
    return copy ? PARAM_FOUND : PARAM_WRONG;
}

enum param call_number(struct call *call, const char *name, double *out)
{
    struct json_text value;

    if (!call_raw(call, name, &value))
        return PARAM_ABSENT;
    return json_find_number(&call->params, name, out) ? PARAM_FOUND : PARAM_WRONG;
}

enum param call_integer(struct call *call, const char *name, int64_t *out)
{
    struct json_text value;
    double number = 0;
    enum param found = call_number(call, name, &number);

    if (found != PARAM_FOUND)
        return found;
    /* A double tells every whole number below 2^53 from its neighbours; from there on the digits are read. */
    if (fabs(number) < 0x1p53) {
        if (number != floor(number))
            return PARAM_WRONG;
        *out = (int64_t)number;
        return PARAM_FOUND;
    }

    char digits[24] = "";
    char *end;

    if (!call_raw(call, name, &value) || value.length >= sizeof(digits))
        return PARAM_WRONG;
    memcpy(digits, value.bytes, value.length);
    errno = 0;
    long long integer = strtoll(digits, &end, 10);
    if (errno != 0 || *end != '\0')
        return PARAM_WRONG;
    *out = integer;
    return PARAM_FOUND;
}

enum param call_boolean(struct call *call, const char *name, bool *out)
{
    struct json_text value;

    if (!call_raw(call, name, &value))
        return PARAM_ABSENT;
    return json_find_boolean(&call->params, name, out) ? PARAM_FOUND : PARAM_WRONG;
}

static size_t count_items(struct json_reader *reader)
{
    size_t count = 0;

    if (json_enter_array(reader))
        while (json_next_item(reader) && json_skip(reader))
            count++;
    return count;
}

enum param call_texts(struct call *call, const char *name, const char *const **out, size_t *count)
{
    struct json_reader reader;
    struct json_text value, text;

    if (!call_raw(call, name, &value))
        return PARAM_ABSENT;
    json_reader_init(&reader, value.bytes, value.length);

    size_t items = count_items(&reader), taken = 0;
    const char **texts = arena_alloc(call->arena, (items + 1) * sizeof(*texts));

    json_reader_reset(&reader, value.bytes, value.length);

    bool good = texts && json_enter_array(&reader);

    while (good && taken < items && json_next_item(&reader)) {
        good = json_read_text(&reader, &text) &&
               (texts[taken] = arena_copy(call->arena, text.bytes, text.length));
        taken++;
    }
    json_reader_fini(&reader);
    if (!good)
        return PARAM_WRONG;
    *out = texts;
    *count = items;
    return PARAM_FOUND;
}

/* -- Refusing -- */

int call_fail(struct call *call, int code, const char *hint, const char *format, ...)
{
    va_list arguments;

    call->fail_code = code;
    va_start(arguments, format);
    (void)vsnprintf(call->fail_message, sizeof(call->fail_message), format, arguments);
    va_end(arguments);
    (void)snprintf(call->fail_hint, sizeof(call->fail_hint), "%s", hint);
    return rpc_errno(code);
}

int call_wrong(struct call *call, const char *name, const char *expected)
{
    struct json_text value;
    bool is_there = call_raw(call, name, &value);
    char hint[128];

    (void)snprintf(hint, sizeof(hint), "send \"%s\" in params: %s", name, expected);
    return call_fail(call, RPC_INVALID_PARAMS, hint, is_there ? "\"%s\" is not %s" : "\"%s\" is missing: %s",
                     name, expected);
}

bool call_is_too_long(const struct call *call)
{
    return call->result->failed || call->result->length > ANSWER_MAX;
}

/* -- Later -- */

struct call *call_defer(struct call *call)
{
    struct call *later = call->deferred ? NULL : malloc(sizeof(*later));

    if (!later)
        return NULL;
    *later = *call;
    later->copy = malloc(call->id.length + call->params.length + 1);
    if (!later->copy) {
        free(later);
        return NULL;
    }
    if (call->id.length > 0)
        memcpy(later->copy, call->id.bytes, call->id.length);
    if (call->params.length > 0)
        memcpy(later->copy + call->id.length, call->params.bytes, call->params.length);
    later->id.bytes = later->copy;
    later->params.bytes = later->copy + call->id.length;
    later->own_result = (struct strbuf)STRBUF_INIT;
    later->own_arena = (struct arena){0};
    later->result = &later->own_result;
    later->arena = &later->own_arena;
    if (call->result->length > 0)
        strbuf_add(later->result, call->result->data, call->result->length);
    later->json.out = later->result;
    if (later->batch)
        later->batch->waiting++;
    DL_APPEND(call->connection->deferred, later);
    call->connection->deferred_count++;
    call->deferred = true;
    return later;
}

struct json *call_result(struct call *call)
{
    return &call->json;
}

bool call_is_abandoned(const struct call *call)
{
    return __atomic_load_n(&call->is_abandoned, __ATOMIC_ACQUIRE);
}

void call_end(struct call *call)
{
    struct connection *connection = call->connection;

    if (connection) {
        DL_DELETE(connection->deferred, call);
        connection->deferred_count--;
    }
    answer_finish(call);
    strbuf_fini(&call->own_result);
    arena_fini(&call->own_arena);
    free(call->copy);
    free(call);
}

void call_resume(struct call *call)
{
    struct connection *connection = call->connection;

    call_end(call);
    if (connection)
        connection_settle(connection);
}

/* -- Streams -- */

/* Called while something is published, maybe by a method that this very connection asked for: it only gets
 * into line. */
static void on_message(void *context)
{
    struct connection *connection = context;

    if (connection->queue == QUEUE_NONE)
        server_queue(connection->server, connection, QUEUE_LIGHT);
}

int call_subscribe(struct call *call, struct bus *bus, const struct bus_subscription *wanted)
{
    struct connection *connection = call->connection;
    struct bus_subscription subscription = *wanted;
    struct bus_subscriber *subscriber;
    struct metron_error error = {0};

    if (call->batch)
        return call_fail(call, RPC_INVALID_REQUEST, "send its request alone, on a line of its own",
                         "a stream cannot be asked for in a batch");
    subscription.wake = on_message;
    subscription.context = connection;

    int code = bus_subscribe(bus, &subscription, &subscriber, &error);

    if (code == -EINVAL || code == -E2BIG)
        return call_fail(call, RPC_INVALID_PARAMS,
                         "send \"events\" as an array of names such as sheet.started or sheet.*", "%s",
                         error.message);
    if (code < 0)
        return call_fail(call, RPC_EXHAUSTED, "close streams that are not needed, or try again later", "%s",
                         error.message);

    struct call *later = call_defer(call);

    if (!later) {
        bus_unsubscribe(subscriber);
        return -ENOMEM;
    }
    connection_begin_stream(connection, subscriber, later);
    return CALL_LATER;
}
