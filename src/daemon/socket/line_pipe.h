/*
 * Lines over a connected socket, sent and waited for. Of the client; the server has a loop instead.
 */
#ifndef METRON_DAEMON_SOCKET_LINE_PIPE_H
#define METRON_DAEMON_SOCKET_LINE_PIPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/json_reader.h"
#include "base/strbuf.h"

#define LINE_PIPE_LINE_MAX ((size_t)64 << 20) /* bytes; a longer one is -EMSGSIZE */

struct line_pipe {
    int fd; /* borrowed */
    struct strbuf input;
    size_t taken, scanned; /* of input: handed out; without a line end */
};

void line_pipe_fini(struct line_pipe *line_pipe); /* does not close the descriptor */
/* The next line without its end, until the next call. `end_ns`: monotonic. -ETIMEDOUT; -EINTR: a signal came;
 * -ECONNRESET: the other end has closed; -ENOMEM; and others. */
int line_pipe_next(struct line_pipe *line_pipe, uint64_t end_ns, struct json_text *line);
/* All bytes, whatever signals come. */
int line_pipe_send(struct line_pipe *line_pipe, const char *bytes, size_t length, uint64_t end_ns);

#endif
