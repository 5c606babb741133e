/*
 * The server of the socket: JSON-RPC 2.0 (protocol.h) on a unix socket, in the caller's libuv loop.
 *
 * Nobody else gets in: the owner's uid, root and the members of the configured group are asked of the kernel
 * (SO_PEERCRED, SO_PEERGROUPS); others get one error and are closed.
 *
 * No client can hold up the loop, which also samples. Nothing here ever waits. In each turn of the loop at
 * most 32 requests of one client are answered, and those of modest clients before those of greedy ones (which
 * used all that in their last turn, or half a millisecond, or have a request of more than 16 KiB); for both
 * together there are 7 ms a turn, and the rest follows in the next. A request under way is not interrupted.
 * What a client may hold is bounded:
 *
 *   a request           1 MiB, 64 levels, 100 requests a batch; more is an error; too long closes it
 *   unread answers      64 KiB, then its next request waits until it reads; after 30 s it is closed
 *   unread stream       the same, then the bus drops its oldest; it is told how many, and never closed for it
 *   one answer          16 MiB, all of a batch together 4 MiB; more is an error instead
 *   deferred requests   16, then its next waits
 *   clients             512; one more gets an error
 *   all of it together  64 MiB; beyond, those that have stood still for a second are closed, largest first
 *
 * A client that waits for nothing has no memory but its own small struct.
 */
#ifndef METRON_DAEMON_SOCKET_SERVER_H
#define METRON_DAEMON_SOCKET_SERVER_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "daemon/socket/call.h"

struct server;

struct server_options {
    uv_loop_t *loop;                   /* borrowed, longer than the server */
    const char *path;                  /* of the socket; its folder is there (socket_path.h) */
    const char *group;                 /* whose members get in too; NULL or "": nobody's */
    const struct call_method *methods; /* borrowed, longer than the server */
    size_t method_count;
    void *context; /* for the methods */
};

struct server_counts {
    size_t clients;    /* connected now */
    size_t streams;    /* of them, subscribers */
    size_t held_bytes; /* of requests and answers that wait */
    uint64_t accepted, refused, requests;
    uint64_t closed; /* by us: stood still, or held too much */
    uint64_t remade; /* the socket: somebody had removed it */
};

/* Listens from when it returns. -EADDRINUSE: another daemon has the path, with its pid in the message. To be
 * called after a daemon went to the background: the lock belongs to the process that made it. */
int server_new(const struct server_options *options, struct server **out, struct metron_error *error);
/* To be called now and then: 1 if somebody has removed the socket or its lock, and they were made anew; 0:
 * they are in place; negative: they cannot be made. Clients that are connected stay so. */
int server_mend_socket(struct server *server, struct metron_error *error);
void server_count(const struct server *server, struct server_counts *out);
/* Ends it: at once the socket is gone, and requests that still come are answered with -32003, unless
 * the method is `while_closing`. Answers on their way, deferred ones too, and what waits in streams have
 * `linger_ms` to be read; the lock is held so long. Then everything is freed and `on_closed` (NULL: none)
 * called, from the loop, which has to run for it. */
void server_close(struct server *server, unsigned linger_ms, void (*on_closed)(void *context), void *context);

#endif
