/*
 * Reading the lines of the socket: bytes from anybody in, requests out.
 *
 *     if (request_line_read(&requests, line, length, &error) < 0) … -32700, error.message
 *     for (size_t i = 0; i < requests.count; i++) … requests.items[i]
 *
 * The line is read once and strictly, all of it before anything is done, so that a request that is half JSON
 * never has half an effect, and that any part of the line may be sent back as it is. Nothing here allocates
 * but for strings with escapes, and no depth of nesting makes it call itself.
 */
#ifndef METRON_DAEMON_SOCKET_REQUEST_H
#define METRON_DAEMON_SOCKET_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json_reader.h"
#include "daemon/socket/protocol.h"

/* One request. Texts are JSON as it was written, borrowed from the line; length 0: there is none. */
struct request {
    struct json_text id;
    bool is_notification;
    struct json_text method;
    struct json_text params; /* an object or an array */
    const char *complaint;   /* why it is no request (-32600); NULL: it is one. Static */
};

/* The requests of a line. */
struct request_line {
    bool is_array; /* its answers go into an array too */
    size_t count;  /* may be more than RPC_BATCH_MAX, or 0 of an empty array: errors of their own */
    struct request items[RPC_BATCH_MAX + 1];
};

/* 0; -EBADMSG: not exactly one value of JSON in UTF-8, and where; -ENOMEM. */
int request_line_read(struct request_line *out, const char *line, size_t length, struct metron_error *error);
/* The same check of a line that is none of requests. */
int request_check(const char *line, size_t length, struct metron_error *error);

#endif
