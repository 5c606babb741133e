/*
 * One client of the server: bytes in, lines to answer.c, bytes out.
 *
 * Whatever happens to a connection (it can be read, it can be written, its turn has come, a deferred answer
 * is there) changes its state and ends in connection_settle, which alone decides what follows from the state.
 * So nobody above has to know whether it is still there, but for who called.
 *
 * While a connection is served its requests are in use, and so is the connection itself: nothing closes it
 * then. A method may resume any deferred call, one of the same client too; what follows from that is decided
 * when the turn is over.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "daemon/socket/protocol.h"
#include "daemon/socket/server_state.h"

#define STREAM_A_TURN  64 /* notifications of one client */
#define GREEDY_NS      (NS_PER_SECOND / 2000)
#define TURN_NS        (NS_PER_SECOND / 1000) /* of one client */
#define STILL_LIMIT_NS (30 * NS_PER_SECOND)
#define LINGER_NS      (5 * NS_PER_SECOND)
#define LINGER_BYTES   ((size_t)64 << 20)

size_t connection_unsent(const struct connection *connection)
{
    return connection->output.length - connection->sent;
}

/* Whether its next request may be answered. */
static bool may_be_served(const struct connection *connection)
{
    return !connection->lingers && !connection->doomed && connection->deferred_count < DEFERRED_MAX &&
           connection_unsent(connection) + connection->batch_bytes < OUTPUT_PAUSE;
}

/* Drops the first `used` bytes: all, with its memory, or so many that moving the rest is paid for. */
static bool drop_front(struct strbuf *buffer, size_t used)
{
    if (used == buffer->length) {
        strbuf_fini(buffer);
        return true;
    }
    if (used < buffer->length / 2)
        return false;
    memmove(buffer->data, buffer->data + used, buffer->length - used + 1);
    buffer->length -= used;
    return true;
}

/* -- Out -- */

static void begin_message(struct connection *connection)
{
    if (connection_unsent(connection) == 0)
        connection->progress_ns = clock_monotonic_ns();
}

static void end_message(struct connection *connection)
{
    strbuf_addc(&connection->output, '\n');
    /* Half a message would be worse than none. */
    if (connection->output.failed)
        connection->doomed = true;
    server_hold(connection->server, connection);
}

void connection_send(struct connection *connection, const char *message, size_t length)
{
    begin_message(connection);
    strbuf_add(&connection->output, message, length);
    end_message(connection);
}

void connection_refuse(struct connection *connection, int code, const char *message, const char *hint)
{
    struct strbuf *out = &connection->server->message;

    strbuf_reset(out);
    rpc_error(out, NULL, code, message, hint);
    connection_send(connection, strbuf_text(out), out->length);
}

/* The same, and no more of it: it is closed when it has had the time to read why. */
static void dismiss(struct connection *connection, int code, const char *message, const char *hint)
{
    connection_refuse(connection, code, message, hint);
    connection->lingers = true;
    connection->has_line = false;
    strbuf_fini(&connection->input);
    connection->taken = connection->scanned = 0;
    connection->progress_ns = clock_monotonic_ns();
    connection_end_stream(connection);
    server_hold(connection->server, connection);
}

static void flush(struct connection *connection)
{
    while (!connection->doomed && connection_unsent(connection) > 0) {
        ssize_t count = send(connection->fd, connection->output.data + connection->sent,
                             connection_unsent(connection), MSG_DONTWAIT | MSG_NOSIGNAL);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno != EAGAIN)
            connection->doomed = true;
        if (count < 0)
            break;
        connection->sent += (size_t)count;
        connection->progress_ns = clock_monotonic_ns();
    }
    if (connection->output.length > 0 && drop_front(&connection->output, connection->sent)) {
        connection->sent = 0;
        server_hold(connection->server, connection);
    }
}

/* -- Streams -- */

static void notify(struct connection *connection, const char *method, const char *params, size_t length)
{
    const struct json_text text = {params, length};

    begin_message(connection);
    rpc_request(&connection->output, 0, method, &text);
    end_message(connection);
}

static void tell_dropped(struct connection *connection, uint64_t dropped)
{
    char params[64];
    int length = snprintf(params, sizeof(params), "{\"count\":%llu}", (unsigned long long)dropped);

    notify(connection, "monitor.dropped", params, (size_t)length);
}

static bool has_room_for(struct connection *connection, size_t length)
{
    return length <= HELD_SMALL ||
           (length <= ANSWER_MAX && server_make_room(connection->server, connection, 2 * length));
}

/* The next message of its stream; false: there is none. */
static bool send_next(struct connection *connection)
{
    uint64_t dropped = 0;
    const struct bus_message *message =
        connection->subscriber ? bus_take(connection->subscriber, &dropped) : NULL;
    bool has_room = message && has_room_for(connection, message->length);
    bool is_there = message;

    dropped += message && !has_room;
    if (dropped > 0)
        tell_dropped(connection, dropped);
    if (has_room)
        notify(connection, "monitor.event", message->text, message->length);
    bus_message_release(message);
    return is_there;
}

void connection_begin_stream(struct connection *connection, struct bus_subscriber *subscriber,
                             struct call *call)
{
    while (send_next(connection)) /* what waits in the stream before it */
        ;
    connection_end_stream(connection);
    connection->subscriber = subscriber;
    connection->stream = call;
    connection->server->counts.streams++;
}

void connection_end_stream(struct connection *connection)
{
    struct call *call = connection->stream;

    if (!call)
        return;
    bus_unsubscribe(connection->subscriber);
    connection->subscriber = NULL;
    connection->stream = NULL;
    connection->server->counts.streams--;
    json_object_begin(call_result(call));
    json_key_string(call_result(call), "status", "ended");
    json_object_end(call_result(call));
    call_end(call);
}

/* As much as the client has room for; whether there may be more. */
static bool fill_from_stream(struct connection *connection)
{
    bool more = connection->subscriber;

    for (int i = 0; more && i < STREAM_A_TURN && connection_unsent(connection) < OUTPUT_PAUSE; i++)
        more = send_next(connection);
    return more;
}

/* -- In -- */

/* Looks for the end of the next line in what has come since it last looked. */
static void find_line(struct connection *connection)
{
    const struct strbuf *input = &connection->input;

    if (connection->has_line || connection->lingers)
        return;

    const char *end = input->length > connection->scanned ? memchr(input->data + connection->scanned, '\n',
                                                                   input->length - connection->scanned)
                                                          : NULL;

    connection->line_end = end ? (size_t)(end - input->data) : input->length;
    connection->scanned = connection->line_end;
    connection->has_line = end || (connection->input_ended && input->length > connection->taken);
    if (connection->line_end - connection->taken > RPC_LINE_MAX)
        dismiss(connection, RPC_INVALID_REQUEST, "a request of more than 1 MiB",
                "send smaller ones, on a new connection: this one is closed");
}

static void take_input(struct connection *connection, const char *bytes, size_t length)
{
    struct strbuf *input = &connection->input;

    if (connection->lingers) {
        connection->thrown_away += length;
        if (connection->thrown_away > LINGER_BYTES)
            connection->doomed = true;
        return;
    }
    if (input->length + length > HELD_SMALL &&
        !server_make_room(connection->server, connection, 2 * length)) {
        dismiss(connection, RPC_EXHAUSTED, "unfinished requests hold all the memory there is for them",
                "try again in a second, on a new connection: this one is closed");
        return;
    }
    strbuf_add(input, bytes, length);
    if (input->failed)
        connection->doomed = true;
    connection->progress_ns = clock_monotonic_ns();
    server_hold(connection->server, connection);
}

/* Whether the client is gone, not only done with sending. Polling for it would never stop once it has done
 * the latter. */
static bool has_hung_up(const struct connection *connection)
{
    struct pollfd poll_fd = {.fd = connection->fd};

    return poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static void receive(struct connection *connection)
{
    struct server *server = connection->server;
    ssize_t count = recv(connection->fd, server->buffer, sizeof(server->buffer), MSG_DONTWAIT);

    if (count > 0)
        take_input(connection, server->buffer, (size_t)count);
    else if (count == 0)
        connection->input_ended = true;
    else if (errno != EAGAIN && errno != EINTR)
        connection->doomed = true;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct connection *connection = poll->data;

    if (status < 0)
        connection->doomed = true;
    if (!connection->doomed && (events & UV_WRITABLE))
        flush(connection);
    if (!connection->doomed && (events & UV_READABLE))
        receive(connection);
    connection_settle(connection);
}

/* -- Its turn -- */

static void take_line(struct connection *connection)
{
    const char *line = connection->input.data + connection->taken;
    size_t length = connection->line_end - connection->taken;

    connection->taken = connection->line_end;
    if (connection->taken < connection->input.length)
        connection->taken++; /* the line end */
    connection->scanned = connection->taken;
    connection->has_line = false;
    answer_line(connection, line, length);
}

void connection_serve(struct connection *connection)
{
    uint64_t start_ns = clock_monotonic_ns(), spent_ns = 0;
    int count = 0;

    connection->is_served = true;
    for (; count < REQUESTS_A_TURN && spent_ns < TURN_NS; count++) {
        find_line(connection);
        if (!connection->has_line || !may_be_served(connection))
            break;
        take_line(connection);
        spent_ns = clock_monotonic_ns() - start_ns;
    }
    if (count > 0)
        connection->is_greedy = count == REQUESTS_A_TURN || spent_ns > GREEDY_NS;
    if (connection->input.length > 0 && drop_front(&connection->input, connection->taken)) {
        connection->scanned -= connection->taken;
        if (connection->has_line)
            connection->line_end -= connection->taken;
        connection->taken = 0;
        server_hold(connection->server, connection);
    }
    connection->is_served = false;
    connection_settle(connection);
}

/* -- What follows -- */

/* Nothing will come from it any more, and nothing is owed to it. A stream is owed as long as it can be
 * written to. */
static bool is_over(const struct connection *connection)
{
    if (connection->doomed)
        return true;
    return connection->input_ended && !connection->has_line && !connection->subscriber &&
           !connection->deferred && connection_unsent(connection) == 0;
}

static void poll_for(struct connection *connection, int events)
{
    if (events == connection->events)
        return;
    connection->events = events;
    if (events == 0)
        (void)uv_poll_stop(&connection->poll);
    else
        (void)uv_poll_start(&connection->poll, events, on_poll);
}

static bool has_deadline(const struct connection *connection)
{
    return connection->lingers || connection->input_ended ||
           (connection_unsent(connection) > 0 && !connection->subscriber);
}

void connection_settle(struct connection *connection)
{
    bool more;

    if (connection->is_served)
        return; /* connection_serve does it, once nothing of it is in use */
    find_line(connection);
    more = fill_from_stream(connection);
    if (!more && connection->server->closing)
        connection_end_stream(connection);
    flush(connection);
    if (is_over(connection)) {
        connection_close(connection);
        return;
    }

    size_t unsent = connection_unsent(connection);
    bool ready = connection->has_line && may_be_served(connection);
    bool wants_input = connection->lingers || (!connection->has_line && may_be_served(connection));

    if (connection->lingers && unsent == 0 && !connection->output_shut)
        connection->output_shut = shutdown(connection->fd, SHUT_WR) == 0;
    if (ready || (more && unsent == 0))
        server_queue(connection->server, connection,
                     ready && (connection->is_greedy || connection->line_end - connection->taken > HEAVY_LINE)
                         ? QUEUE_HEAVY
                         : QUEUE_LIGHT);
    else
        server_queue(connection->server, connection, QUEUE_NONE);
    poll_for(connection,
             (wants_input && !connection->input_ended ? UV_READABLE : 0) | (unsent > 0 ? UV_WRITABLE : 0));
    if (has_deadline(connection))
        server_watch_deadlines(connection->server);
}

bool connection_check_deadline(struct connection *connection, uint64_t now_ns)
{
    uint64_t limit_ns = connection->lingers ? LINGER_NS : STILL_LIMIT_NS;
    bool owes = connection->lingers || (connection_unsent(connection) > 0 && !connection->subscriber);
    bool is_late = owes && now_ns >= connection->progress_ns + limit_ns;

    if (!is_late && !(connection->input_ended && has_hung_up(connection)))
        return has_deadline(connection);
    if (is_late && !connection->lingers)
        connection->server->counts.closed++;
    connection_close(connection);
    return false;
}

/* -- Birth and end -- */

static void on_freed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    struct server *server = connection->server;

    free(connection);
    server_handle_closed(server);
}

void connection_close(struct connection *connection)
{
    struct server *server = connection->server;

    connection->doomed = true;
    /* First: the end of its stream must not write an answer while another client's is in the scratch. */
    for (struct call *call = connection->deferred; call; call = call->next) {
        call->connection = NULL;
        __atomic_store_n(&call->is_abandoned, true, __ATOMIC_RELEASE);
    }
    connection_end_stream(connection);
    server_queue(server, connection, QUEUE_NONE);
    DL_DELETE(server->connections, connection);
    server->counts.clients--;
    strbuf_fini(&connection->input);
    strbuf_fini(&connection->output);
    connection->batch_bytes = 0;
    server_hold(server, connection);
    uv_close((uv_handle_t *)&connection->poll, on_freed);
    (void)close(connection->fd);
}

int connection_new(struct server *server, int fd, struct call_peer peer)
{
    struct connection *connection = calloc(1, sizeof(*connection));

    if (!connection)
        return -ENOMEM;
    connection->server = server;
    connection->fd = fd;
    connection->peer = peer;

    int code = uv_poll_init(server->loop, &connection->poll, fd);

    if (code < 0) {
        free(connection);
        return code;
    }
    connection->poll.data = connection;
    server->open_handles++;
    server->counts.clients++;
    DL_APPEND(server->connections, connection);
    connection_settle(connection);
    return 0;
}
