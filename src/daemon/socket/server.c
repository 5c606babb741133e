/*
 * The server as a whole: whose turn it is, what all clients hold together, and its end.
 *
 * Clients with a request wait in one of two queues, first come first served, and are taken from them once a
 * turn of the loop, right after the kernel was asked who has sent something. A client with more goes to the
 * end of its queue.
 */
#include "daemon/socket/server.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "daemon/socket/server_state.h"

#define LIGHT_NS     (5 * NS_PER_SECOND / 1000) /* a turn */
#define HEAVY_NS     (2 * NS_PER_SECOND / 1000)
#define CLOCK_MS     1000
#define CLOSING_MS   20
#define STANDS_STILL NS_PER_SECOND
#define HANDLES_OWN  5 /* the one that listens is closed first */

/* -- Turns -- */

static void on_again(uv_idle_t *idle)
{
    (void)idle;
}

void server_queue(struct server *server, struct connection *connection, enum queue queue)
{
    if (connection->queue == queue)
        return;
    if (connection->queue != QUEUE_NONE) {
        DL_DELETE2(server->queues[connection->queue], connection, queue_prev, queue_next);
        server->queued[connection->queue]--;
    }
    connection->queue = queue;
    if (queue != QUEUE_NONE) {
        DL_APPEND2(server->queues[queue], connection, queue_prev, queue_next);
        server->queued[queue]++;
        (void)uv_idle_start(&server->again, on_again); /* until a turn ends with empty queues */
    }
}

/* Each of those who wait now once, and at least one, until the time is up. */
static void serve_queue(struct server *server, enum queue queue, uint64_t limit_ns)
{
    uint64_t end_ns = server->queued[queue] > 0 ? clock_monotonic_ns() + limit_ns : 0;

    for (size_t left = server->queued[queue]; left > 0 && server->queues[queue]; left--) {
        struct connection *connection = server->queues[queue];

        server_queue(server, connection, QUEUE_NONE);
        connection_serve(connection);
        if (clock_monotonic_ns() >= end_ns)
            break;
    }
}

static void on_turn(uv_check_t *check)
{
    struct server *server = check->data;

    serve_queue(server, QUEUE_LIGHT, LIGHT_NS);
    serve_queue(server, QUEUE_HEAVY, HEAVY_NS);
    if (server->queued[QUEUE_LIGHT] + server->queued[QUEUE_HEAVY] > 0)
        return;
    (void)uv_idle_stop(&server->again);
}

/* -- What all hold together -- */

void server_hold(struct server *server, struct connection *connection)
{
    size_t held = connection->input.capacity + connection->output.capacity + connection->batch_bytes;

    server->counts.held_bytes += held - connection->held; /* may fall: unsigned numbers wrap */
    connection->held = held;
}

static struct connection *find_idler(const struct server *server, const struct connection *except)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct connection *found = NULL;

    for (struct connection *connection = server->connections; connection; connection = connection->next) {
        if (connection != except && !connection->is_served && connection->held > HELD_SMALL &&
            now_ns - connection->progress_ns > STANDS_STILL && (!found || connection->held > found->held))
            found = connection;
    }
    return found;
}

bool server_make_room(struct server *server, const struct connection *connection, size_t bytes)
{
    while (server->counts.held_bytes + bytes > HELD_MAX) {
        struct connection *idler = find_idler(server, connection);

        if (!idler)
            return false;
        server->counts.closed++;
        connection_close(idler);
    }
    return true;
}

void server_count(const struct server *server, struct server_counts *out)
{
    *out = server->counts;
}

/* -- Deadlines -- */

static void close_handles(struct server *server);

static bool is_drained(const struct server *server)
{
    for (const struct connection *connection = server->connections; connection;
         connection = connection->next) {
        if (connection_unsent(connection) > 0 || connection->deferred || connection->has_line)
            return false;
    }
    return true;
}

static void on_clock(uv_timer_t *timer)
{
    struct server *server = timer->data;
    uint64_t now_ns = clock_monotonic_ns();
    bool needed = server->closing;

    for (struct connection *connection = server->connections, *next; connection; connection = next) {
        next = connection->next;
        needed |= connection_check_deadline(connection, now_ns);
    }
    if (server->closing && (now_ns >= server->close_ns || is_drained(server)))
        close_handles(server);
    else if (!needed)
        (void)uv_timer_stop(timer);
}

void server_watch_deadlines(struct server *server)
{
    if (!server->handles_closed && !uv_is_active((uv_handle_t *)&server->clock))
        (void)uv_timer_start(&server->clock, on_clock, CLOCK_MS, CLOCK_MS);
}

/* -- Life -- */

void server_handle_closed(struct server *server)
{
    if (--server->open_handles > 0)
        return;

    void (*on_closed)(void *) = server->on_closed;
    void *context = server->closed_context;

    listener_close(&server->listener);
    strbuf_fini(&server->result);
    strbuf_fini(&server->message);
    arena_fini(&server->arena);
    free(server);
    if (on_closed)
        on_closed(context);
}

static void on_handle_closed(uv_handle_t *handle)
{
    server_handle_closed(handle->data);
}

static void close_handles(struct server *server)
{
    uv_handle_t *own[] = {
        (uv_handle_t *)&server->turn,
        (uv_handle_t *)&server->again,
        (uv_handle_t *)&server->clock,
        (uv_handle_t *)&server->resume,
    };

    server->handles_closed = true;
    while (server->connections)
        connection_close(server->connections);
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        uv_close(own[i], on_handle_closed);
}

/* Maybe called by a method: connections are closed from the clock, never under a request's feet. */
void server_close(struct server *server, unsigned linger_ms, void (*on_closed)(void *context), void *context)
{
    if (server->closing)
        return;
    server->closing = true;
    server->on_closed = on_closed;
    server->closed_context = context;
    server->close_ns = clock_monotonic_ns() + linger_ms * (NS_PER_SECOND / 1000);
    accept_end(server);
    /* Streams end once they are empty. */
    for (struct connection *connection = server->connections; connection; connection = connection->next)
        if (connection->subscriber && connection->queue == QUEUE_NONE)
            server_queue(server, connection, QUEUE_LIGHT);
    (void)uv_timer_start(&server->clock, on_clock, 0, CLOSING_MS);
}

/* The descriptor becomes that of another socket, which the poll must not notice. */
int server_mend_socket(struct server *server, struct metron_error *error)
{
    if (server->closing || listener_is_in_place(&server->listener))
        return 0;
    (void)uv_poll_stop(&server->listen_poll);
    accept_waiting(server);
    int code = listener_mend(&server->listener, error);
    accept_on_resume(&server->resume);
    if (code < 0)
        return code;
    server->counts.remade++;
    return 1;
}

static void init_handles(struct server *server)
{
    /* None of these can fail: they only fill in their struct. */
    (void)uv_check_init(server->loop, &server->turn);
    (void)uv_idle_init(server->loop, &server->again);
    (void)uv_timer_init(server->loop, &server->clock);
    (void)uv_timer_init(server->loop, &server->resume);
    server->listen_poll.data = server->turn.data = server->again.data = server->clock.data =
        server->resume.data = server;
    server->open_handles = HANDLES_OWN;
    (void)uv_check_start(&server->turn, on_turn);
}

int server_new(const struct server_options *options, struct server **out, struct metron_error *error)
{
    struct server *server = calloc(1, sizeof(*server));

    if (!server)
        return error_set(error, -ENOMEM, "no memory for the socket's server");
    server->loop = options->loop;
    server->methods = options->methods;
    server->method_count = options->method_count;
    server->context = options->context;
    server->owner = geteuid();
    server->reserve_fd = -1;

    int code = listener_open(&server->listener, options->path, options->group, error);

    if (code == 0) {
        code = uv_poll_init(server->loop, &server->listen_poll, server->listener.fd);
        if (code < 0)
            (void)error_set(error, code, "socket '%s': %s", options->path, uv_strerror(code));
    }
    if (code < 0) {
        listener_close(&server->listener);
        free(server);
        return code;
    }
    init_handles(server);
    (void)accept_begin(server);
    *out = server;
    return 0;
}
