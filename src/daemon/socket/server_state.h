/*
 * What server.c, connection.c and call.c share; for nobody else.
 */
#ifndef METRON_DAEMON_SOCKET_SERVER_STATE_H
#define METRON_DAEMON_SOCKET_SERVER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "daemon/socket/call.h"
#include "daemon/socket/listener.h"
#include "daemon/socket/request.h"
#include "daemon/socket/server.h"

#define READ_BYTES      ((size_t)64 << 10) /* at once, of one client */
#define OUTPUT_PAUSE    ((size_t)64 << 10) /* unread: no more requests are answered */
#define OUTPUT_MAX      ((size_t)4 << 20)  /* of several answers that wait together */
#define ANSWER_MAX      ((size_t)16 << 20)
#define HELD_MAX        ((size_t)64 << 20) /* by all clients */
#define HELD_SMALL      ((size_t)64 << 10) /* always granted */
#define HEAVY_LINE      ((size_t)16 << 10)
#define CLIENTS_MAX     512
#define DEFERRED_MAX    16
#define REQUESTS_A_TURN 32

/* Answers to the requests of one array, as they come in. */
struct batch {
    unsigned waiting; /* calls, and one for the reading of the array */
    struct strbuf answers;
};

struct call {
    struct server *server;         /* NULL: closed meanwhile */
    struct connection *connection; /* NULL: gone meanwhile */
    struct call_peer peer;
    void *context;
    struct batch *batch; /* NULL: it came alone */
    struct json_text id; /* as it was written */
    bool is_notification;
    struct json_text params; /* an object; length 0: none */
    struct json json;        /* over `result` */
    struct strbuf *result;   /* the server's scratch, or own_result */
    struct arena *arena;     /* texts of params; the server's, or own_arena */
    int fail_code;           /* 0: none */
    char fail_message[256], fail_hint[256];
    /* Deferred only: */
    bool deferred;     /* said of the call on the stack, once it has a copy */
    bool is_abandoned; /* atomic */
    char *copy;        /* id and params */
    struct strbuf own_result;
    struct arena own_arena;
    struct call *prev, *next; /* of the same connection */
};

enum queue { QUEUE_NONE, QUEUE_LIGHT, QUEUE_HEAVY, QUEUE_COUNT };

struct connection {
    struct server *server;
    struct connection *prev, *next; /* of all */
    struct connection *queue_prev, *queue_next;
    enum queue queue; /* in which of them it waits for its turn */
    uv_poll_t poll;
    int events; /* polled for */
    int fd;
    struct call_peer peer;
    struct strbuf input;
    size_t taken;    /* of input: answered */
    size_t scanned;  /* of input: no line end before it */
    size_t line_end; /* where the next line ends, if has_line */
    bool has_line;
    bool input_ended;
    struct strbuf output;
    size_t sent;          /* of output */
    uint64_t progress_ns; /* when it last took or sent something, or began to owe it */
    size_t batch_bytes;   /* answers of batches that are not complete */
    size_t held;          /* bytes booked with the server */
    bool is_served;       /* one of its requests is being answered: it is not closed now */
    bool is_greedy;       /* used up what it may in its last turn, or much time */
    bool lingers;         /* refused: what it sends is thrown away until it closes */
    bool output_shut;
    size_t thrown_away;
    bool doomed;                       /* to be closed by connection_settle */
    struct bus_subscriber *subscriber; /* NULL: no stream */
    struct call *stream;               /* the request for it, answered when it ends */
    struct call *deferred;             /* list; that one too */
    unsigned deferred_count;
};

struct server {
    uv_loop_t *loop;
    struct listener listener;
    const struct call_method *methods;
    size_t method_count;
    void *context;
    uid_t owner;
    uv_poll_t listen_poll;
    uv_check_t turn;
    uv_idle_t again;    /* active: more is to be done, do not wait for the kernel */
    uv_timer_t clock;   /* once a second while somebody has a deadline */
    uv_timer_t resume;  /* listening goes on after the kernel was short of something */
    int reserve_fd;     /* given up for a moment to refuse somebody when descriptors are used up; -1: none */
    uint64_t warned_ns; /* about that */
    struct connection *connections;
    struct connection *queues[QUEUE_COUNT];
    size_t queued[QUEUE_COUNT];
    struct server_counts counts;
    unsigned open_handles;
    /* Scratch, one line and one of its requests at a time: */
    struct request_line requests;
    struct strbuf result, message;
    struct arena arena;
    char buffer[READ_BYTES];
    /* Closing: */
    bool closing;
    uint64_t close_ns; /* at the latest */
    bool handles_closed;
    void (*on_closed)(void *context);
    void *closed_context;
};

/* -- connection.c -- */
int connection_new(struct server *server, int fd, struct call_peer peer);
void connection_serve(struct connection *connection); /* its turn */
/* Brings everything in line after something changed: sends, fills up from its stream, takes its place in a
 * queue, says what to poll for, closes it if it is over. It may be gone afterwards. Nothing while it is
 * served: its turn ends with this. */
void connection_settle(struct connection *connection);
void connection_close(struct connection *connection); /* not while it is served */
size_t connection_unsent(const struct connection *connection);
/* Queues one message and its line end. */
void connection_send(struct connection *connection, const char *message, size_t length);
/* Answers with an error that belongs to no request. */
void connection_refuse(struct connection *connection, int code, const char *message, const char *hint);
/* `call`: the deferred request for it. A stream before it ends with all that waits in it. */
void connection_begin_stream(struct connection *connection, struct bus_subscriber *subscriber,
                             struct call *call);
void connection_end_stream(struct connection *connection); /* answers the request for it */
/* Closes it if it has had its time; whether it still has a deadline. */
bool connection_check_deadline(struct connection *connection, uint64_t now_ns);

/* -- answer.c -- */
/* Answers one line, which has no line end any more. */
void answer_line(struct connection *connection, const char *line, size_t length);
/* Sends what the call has written, or its failure. */
void answer_finish(struct call *call);

/* -- call.c -- */
void call_end(struct call *call); /* call_resume, but that its connection is settled by the caller */

/* -- accept.c -- */
int accept_begin(struct server *server);
void accept_end(struct server *server);
void accept_on_resume(uv_timer_t *timer);
/* Everybody who has connected so far: with the socket they would be lost. */
void accept_waiting(struct server *server);

/* -- server.c -- */
void server_queue(struct server *server, struct connection *connection, enum queue queue);
void server_hold(struct server *server, struct connection *connection); /* books what it holds */
/* Makes room for `bytes` more of this connection (buffers double when they grow); false: there is none. */
bool server_make_room(struct server *server, const struct connection *connection, size_t bytes);
void server_watch_deadlines(struct server *server);
void server_handle_closed(struct server *server);

#endif
