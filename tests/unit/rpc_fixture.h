/*
 * A server of the socket with a few methods that do nothing useful: for the tests of daemon/. Beside it a
 * timer fires every 5 ms, as a daemon's sampling would, and notes how late it ever was.
 */
#ifndef METRON_TESTS_RPC_FIXTURE_H
#define METRON_TESTS_RPC_FIXTURE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "daemon/socket/call.h"
#include "daemon/socket/server.h"
#include "publish/bus.h"

#define RPC_TICK_MS 5

struct rpc_service {
    uv_loop_t loop;
    uv_timer_t tick;
    uv_async_t stop;
    uv_prepare_t turn;
    uint64_t ticks, turns; /* of the timer, of the loop */
    struct server *server;
    struct bus *bus;
    int notes;    /* what notifications did */
    int resumed;  /* deferred calls */
    int deferred; /* that are out */
};

static inline int rpc_health(struct call *call, struct json *result)
{
    (void)call;
    json_object_begin(result);
    json_key_boolean(result, "alive", true);
    json_object_end(result);
    return 0;
}

static inline int rpc_nothing(struct call *call, struct json *result)
{
    (void)call;
    (void)result;
    return 0;
}

static inline int rpc_note(struct call *call, struct json *result)
{
    struct rpc_service *service = call_context(call);

    json_integer(result, ++service->notes);
    return 0;
}

static inline int rpc_echo(struct call *call, struct json *result)
{
    struct json_text raw;

    if (call_raw(call, "value", &raw) == PARAM_FOUND)
        rpc_raw_value(result, &raw);
    return 0;
}

/* Each kind of param under the name of its kind: what was found comes back, "wrong" if it is of another. */
static inline int rpc_kinds(struct call *call, struct json *result)
{
    const char *text;
    const char *const *texts;
    size_t count;
    int64_t integer;
    double number;
    bool boolean;
    enum param found;

    json_object_begin(result);
    found = call_text(call, "text", &text);
    if (found != PARAM_ABSENT)
        json_key_string(result, "text", found == PARAM_FOUND ? text : "wrong");
    found = call_integer(call, "integer", &integer);
    if (found == PARAM_FOUND)
        json_key_integer(result, "integer", integer);
    else if (found == PARAM_WRONG)
        json_key_string(result, "integer", "wrong");
    found = call_number(call, "number", &number);
    if (found == PARAM_FOUND)
        json_key_number(result, "number", number);
    else if (found == PARAM_WRONG)
        json_key_string(result, "number", "wrong");
    found = call_boolean(call, "boolean", &boolean);
    if (found == PARAM_FOUND)
        json_key_boolean(result, "boolean", boolean);
    else if (found == PARAM_WRONG)
        json_key_string(result, "boolean", "wrong");
    found = call_texts(call, "texts", &texts, &count);
    if (found == PARAM_FOUND) {
        json_key(result, "texts");
        json_array_begin(result);
        for (size_t i = 0; i < count; i++)
            json_string(result, texts[i]);
        json_array_end(result);
    } else if (found == PARAM_WRONG) {
        json_key_string(result, "texts", "wrong");
    }
    json_object_end(result);
    return 0;
}

static inline int rpc_job(struct call *call, struct json *result)
{
    const char *job_id;

    json_object_begin(result); /* what was written before a refusal is not sent */
    if (call_text(call, "job_id", &job_id) != PARAM_FOUND)
        return call_wrong(call, "job_id", "the name of a job");
    return call_fail(call, RPC_NO_SUCH_JOB, "metron job list shows those that are known",
                     "there is no job '%s'", job_id);
}

static inline int rpc_broken(struct call *call, struct json *result)
{
    (void)call;
    (void)result;
    return -EIO;
}

/* An answer of this many bytes. */
static inline int rpc_big(struct call *call, struct json *result)
{
    int64_t bytes;

    if (call_integer(call, "bytes", &bytes) != PARAM_FOUND || bytes < 0 || bytes > 64 << 20)
        return call_wrong(call, "bytes", "a number of bytes");

    char *text = malloc((size_t)bytes + 1);

    if (!text)
        return -ENOMEM;
    memset(text, 'x', (size_t)bytes);
    json_bytes(result, text, (size_t)bytes);
    free(text);
    return 0;
}

/* Takes this long in the loop, as a method should not. */
static inline int rpc_busy(struct call *call, struct json *result)
{
    int64_t us = 0;

    (void)call_integer(call, "us", &us);
    for (uint64_t end_ns = clock_monotonic_ns() + (uint64_t)us * 1000; clock_monotonic_ns() < end_ns;)
        ;
    json_boolean(result, true);
    return 0;
}

struct rpc_work {
    uv_work_t work;
    struct rpc_service *service;
    struct call *call;
};

/* Takes this long, and until there is this file. */
static inline void rpc_do_work(uv_work_t *request)
{
    struct rpc_work *work = (struct rpc_work *)request;
    const char *text, *until;
    int64_t ms = 0;

    (void)call_integer(work->call, "ms", &ms);
    (void)usleep((useconds_t)ms * 1000);
    while (call_text(work->call, "until", &until) == PARAM_FOUND && access(until, F_OK) != 0 &&
           !call_is_abandoned(work->call))
        (void)usleep(1000);
    if (call_text(work->call, "text", &text) == PARAM_FOUND)
        json_string(call_result(work->call), text);
    else
        (void)call_fail(work->call, RPC_NO_SUCH_JOB, "send a text", "the work came to nothing");
}

static inline void rpc_end_work(uv_work_t *request, int status)
{
    struct rpc_work *work = (struct rpc_work *)request;

    (void)status;
    __atomic_add_fetch(&work->service->resumed, 1, __ATOMIC_RELEASE); /* a test reads it in its own thread */
    work->service->deferred--;
    call_resume(work->call);
    free(work);
}

static inline int rpc_later(struct call *call, struct json *result)
{
    struct rpc_work *work = malloc(sizeof(*work));

    (void)result;
    if (!work)
        return -ENOMEM;
    work->service = call_context(call);
    work->call = call_defer(call);
    if (!work->call) {
        free(work);
        return -ENOMEM;
    }
    work->service->deferred++;
    (void)uv_queue_work(&work->service->loop, &work->work, rpc_do_work, rpc_end_work);
    return CALL_LATER;
}

/* Deferred, and resumed before the method has returned. */
static inline int rpc_at_once(struct call *call, struct json *result)
{
    struct call *later = call_defer(call);

    (void)result;
    if (!later)
        return -ENOMEM;
    json_boolean(call_result(later), true);
    call_resume(later);
    return CALL_LATER;
}

/* Writes until nobody would read it. */
static inline int rpc_endless(struct call *call, struct json *result)
{
    json_array_begin(result);
    while (!call_is_too_long(call))
        json_string(result, "and so on");
    json_array_end(result);
    return 0;
}

static inline int rpc_stream(struct call *call, struct json *result)
{
    struct rpc_service *service = call_context(call);
    struct bus_subscription wanted = {0};
    enum param found = call_texts(call, "events", &wanted.events, &wanted.event_count);

    if (found == PARAM_WRONG)
        return call_wrong(call, "events", "an array of names");
    (void)call_text(call, "job_id", &wanted.job_id);
    (void)result;
    return call_subscribe(call, service->bus, &wanted);
}

struct rpc_latest {
    int64_t bytes;
    unsigned written;
};

static inline void rpc_write_latest(void *context, const char *job_id, struct strbuf *text)
{
    struct rpc_latest *latest = context;

    latest->written++;
    strbuf_addf(text, "{\"event\":\"latest\",\"job_id\":\"%.40s\",\"bytes\":\"", job_id ? job_id : "");
    for (int64_t i = 0; i < latest->bytes; i++)
        strbuf_addc(text, 'x');
    strbuf_adds(text, "\"}");
}

/* Publishes one of so many bytes that takes the place of the one before; how often it was written comes back.
 */
static inline int rpc_latest(struct call *call, struct json *result)
{
    struct rpc_service *service = call_context(call);
    struct rpc_latest latest = {0};

    (void)call_integer(call, "bytes", &latest.bytes);
    bus_publish_latest(service->bus, "latest", rpc_write_latest, &latest);
    json_integer(result, latest.written);
    return 0;
}

/* Publishes `count` events, numbered. */
static inline int rpc_publish(struct call *call, struct json *result)
{
    struct rpc_service *service = call_context(call);
    const char *event = "test.event", *job_id = NULL;
    int64_t count = 1;
    char text[128];

    (void)call_text(call, "event", &event);
    (void)call_text(call, "job_id", &job_id);
    (void)call_integer(call, "count", &count);
    for (int64_t i = 0; i < count; i++) {
        int length =
            snprintf(text, sizeof(text), "{\"event\":\"%.40s\",\"number\":%lld}", event, (long long)i);

        (void)bus_publish(service->bus, event, job_id, text, (size_t)length);
    }
    json_integer(result, count);
    return 0;
}

static inline int rpc_peer(struct call *call, struct json *result)
{
    struct call_peer peer = call_peer(call);

    json_object_begin(result);
    json_key_integer(result, "pid", peer.pid);
    json_key_integer(result, "uid", peer.uid);
    json_object_end(result);
    return 0;
}

/* What the server and its loop have done so far. */
static inline int rpc_counts(struct call *call, struct json *result)
{
    struct rpc_service *service = call_context(call);
    struct server_counts counts;

    server_count(service->server, &counts);
    json_object_begin(result);
    json_key_integer(result, "clients", (int64_t)counts.clients);
    json_key_integer(result, "streams", (int64_t)counts.streams);
    json_key_integer(result, "held_bytes", (int64_t)counts.held_bytes);
    json_key_integer(result, "accepted", (int64_t)counts.accepted);
    json_key_integer(result, "refused", (int64_t)counts.refused);
    json_key_integer(result, "requests", (int64_t)counts.requests);
    json_key_integer(result, "closed", (int64_t)counts.closed);
    json_key_integer(result, "subscribers", (int64_t)bus_subscriber_count(service->bus));
    json_key_integer(result, "resumed", service->resumed);
    json_key_integer(result, "notes", service->notes);
    json_key_integer(result, "ticks", (int64_t)service->ticks);
    json_key_integer(result, "turns", (int64_t)service->turns);
    json_object_end(result);
    return 0;
}

static inline void rpc_closed(void *context)
{
    struct rpc_service *service = context;

    uv_close((uv_handle_t *)&service->tick, NULL);
    uv_close((uv_handle_t *)&service->stop, NULL);
    uv_close((uv_handle_t *)&service->turn, NULL);
}

static inline int rpc_shutdown(struct call *call, struct json *result)
{
    struct rpc_service *service = call_context(call);
    int64_t linger_ms = 1000;

    (void)call_integer(call, "linger_ms", &linger_ms);
    json_boolean(result, true);
    server_close(service->server, (unsigned)linger_ms, rpc_closed, service);
    return 0;
}

static inline void rpc_on_tick(uv_timer_t *timer)
{
    struct rpc_service *service = timer->data;

    service->ticks++;
}

static inline void rpc_on_turn(uv_prepare_t *turn)
{
    struct rpc_service *service = turn->data;

    service->turns++;
}

/* From any thread. */
static inline void rpc_on_stop(uv_async_t *async)
{
    struct rpc_service *service = async->data;

    server_close(service->server, 0, rpc_closed, service);
}

static const struct call_method rpc_methods[] = {
    {.name = "health", .answer = rpc_health},
    {.name = "nothing", .answer = rpc_nothing},
    {.name = "note", .answer = rpc_note},
    {.name = "echo", .answer = rpc_echo},
    {.name = "kinds", .answer = rpc_kinds},
    {.name = "job", .answer = rpc_job},
    {.name = "broken", .answer = rpc_broken},
    {.name = "big", .answer = rpc_big},
    {.name = "busy", .answer = rpc_busy},
    {.name = "later", .answer = rpc_later},
    {.name = "stream", .answer = rpc_stream},
    {.name = "latest", .answer = rpc_latest},
    /* As the client calls them. */
    {.name = "daemon.health", .answer = rpc_health},
    {.name = "daemon.monitor.stream", .answer = rpc_stream},
    {.name = "publish", .answer = rpc_publish},
    {.name = "peer", .answer = rpc_peer, .while_closing = true},
    {.name = "counts", .answer = rpc_counts},
    {.name = "shutdown", .answer = rpc_shutdown},
    {.name = "at_once", .answer = rpc_at_once},
    {.name = "endless", .answer = rpc_endless},
};

static inline int rpc_begin(struct rpc_service *service, const char *path, const char *group,
                            struct metron_error *error)
{
    struct server_options options = {
        .loop = &service->loop,
        .path = path,
        .group = group,
        .methods = rpc_methods,
        .method_count = sizeof(rpc_methods) / sizeof(*rpc_methods),
        .context = service,
    };

    *service = (struct rpc_service){0};
    service->bus = bus_new();
    if (!service->bus || uv_loop_init(&service->loop) < 0)
        return -ENOMEM;

    int code = server_new(&options, &service->server, error);

    if (code < 0) {
        bus_free(service->bus);
        (void)uv_loop_close(&service->loop);
        return code;
    }
    (void)uv_timer_init(&service->loop, &service->tick);
    (void)uv_async_init(&service->loop, &service->stop, rpc_on_stop);
    (void)uv_prepare_init(&service->loop, &service->turn);
    service->tick.data = service->stop.data = service->turn.data = service;
    (void)uv_timer_start(&service->tick, rpc_on_tick, RPC_TICK_MS, RPC_TICK_MS);
    (void)uv_prepare_start(&service->turn, rpc_on_turn);
    return 0;
}

/* Serves until it is stopped. */
static inline int rpc_run(struct rpc_service *service)
{
    (void)uv_run(&service->loop, UV_RUN_DEFAULT);
    bus_free(service->bus);
    return uv_loop_close(&service->loop);
}

#endif
