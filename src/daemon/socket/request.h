/*
 * Reading the lines of the socket: bytes from anybody in, requests out.
 *
 *     if (request_check(line, length, &error) < 0) … -32700, error.message
 *     request_batch_begin(&batch, line, length);
 *     while (request_batch_next(&batch, &text))
 *         request_parse(&request, &text);
 *
 * request_check looks at the whole line once, strictly (base/json_reader.h passes over values without looking
 * at them closely), so that what follows cannot fail for want of JSON, and that any part of the line may be
 * sent back as it is. Nothing here allocates but for strings with escapes, and no depth of nesting makes it
 * call itself.
 */
#ifndef METRON_DAEMON_SOCKET_REQUEST_H
#define METRON_DAEMON_SOCKET_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json_reader.h"

/* One request. Texts are borrowed from the line, `method` maybe from the reader. */
struct request {
    struct json_text id; /* JSON as it was written; length 0: none was sent */
    bool is_notification;
    struct json_text method;
    struct json_text params; /* an object or an array as it was written; length 0: none */
    const char *complaint;   /* why it is no request; NULL: it is one. Static */
    struct json_reader reader;
};

/* 0; -EBADMSG: not exactly one value of JSON in UTF-8, and where; -ENOMEM. */
int request_check(const char *line, size_t length, struct metron_error *error);

void request_init(struct request *request);
void request_fini(struct request *request);
/* Of one value of a line that was checked. What is wrong with it is its `complaint` (-32600), and its id is
 * there if it could be told. */
void request_parse(struct request *request, const struct json_text *text);

/* The requests of a line. */
struct request_batch {
    bool is_array; /* its answers go into an array too */
    size_t count;  /* 0: an empty array, which is an error of its own */
    struct json_reader reader;
};

void request_batch_begin(struct request_batch *batch, const char *line, size_t length);
bool request_batch_next(struct request_batch *batch, struct json_text *text);

#endif
