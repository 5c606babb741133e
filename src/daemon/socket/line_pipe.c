/*
 * Lines over a socket, with a limit on how long one waits. The buffer's front is given back when more is
 * read, not with each line.
 */
#include "daemon/socket/line_pipe.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/clock.h"

#define READ_BYTES ((size_t)64 << 10)

void line_pipe_fini(struct line_pipe *line_pipe)
{
    strbuf_fini(&line_pipe->input);
    line_pipe->taken = line_pipe->scanned = 0;
}

/* Reads what is there, waiting until `end_ns` for it. -ETIMEDOUT, -EINTR, -ECONNRESET, … */
static int read_more(struct line_pipe *line_pipe, uint64_t end_ns)
{
    struct pollfd poll_fd = {.fd = line_pipe->fd, .events = POLLIN};
    struct strbuf *input = &line_pipe->input;
    int ready = poll(&poll_fd, 1, clock_ms_until(end_ns));

    if (ready <= 0)
        return ready < 0 ? -errno : -ETIMEDOUT;
    if (line_pipe->taken > 0) {
        memmove(input->data, input->data + line_pipe->taken, input->length - line_pipe->taken + 1);
        input->length -= line_pipe->taken;
        line_pipe->scanned -= line_pipe->taken;
        line_pipe->taken = 0;
    }
    if (input->length > LINE_PIPE_LINE_MAX)
        return -EMSGSIZE;
    if (strbuf_reserve(input, READ_BYTES) < 0)
        return -ENOMEM;

    ssize_t count = recv(line_pipe->fd, input->data + input->length, READ_BYTES, MSG_DONTWAIT);

    if (count == 0)
        return -ECONNRESET;
    if (count < 0)
        return errno == EAGAIN ? 0 : -errno;
    input->length += (size_t)count;
    input->data[input->length] = '\0';
    return 0;
}

int line_pipe_next(struct line_pipe *line_pipe, uint64_t end_ns, struct json_text *line)
{
    struct strbuf *input = &line_pipe->input;

    for (;;) {
        const char *from = strbuf_text(input) + line_pipe->scanned;
        const char *end = memchr(from, '\n', input->length - line_pipe->scanned);

        if (end) {
            *line = (struct json_text){input->data + line_pipe->taken,
                                       (size_t)(end - input->data) - line_pipe->taken};
            line_pipe->taken = line_pipe->scanned = (size_t)(end - input->data) + 1;
            return 0;
        }
        line_pipe->scanned = input->length;

        int code = read_more(line_pipe, end_ns);

        if (code < 0)
            return code;
    }
}

int line_pipe_send(struct line_pipe *line_pipe, const char *bytes, size_t length, uint64_t end_ns)
{
    size_t sent = 0;

    while (sent < length) {
        struct pollfd poll_fd = {.fd = line_pipe->fd, .events = POLLOUT};
        ssize_t count = send(line_pipe->fd, bytes + sent, length - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (count >= 0)
            sent += (size_t)count;
        else if (errno == EAGAIN) {
            int ready = poll(&poll_fd, 1, clock_ms_until(end_ns));

            if (ready == 0)
                return -ETIMEDOUT;
            if (ready < 0 && errno != EINTR)
                return -errno;
        } else if (errno != EINTR)
            return -errno;
    }
    return 0;
}
