/*
 * The client. A line that comes (line_pipe.h) is an answer to the call
 * that waits, a notification, which is kept for client_next_notification, or an answer that came too late.
 */
#include "daemon/socket/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_reader.h"
#include "daemon/socket/line_pipe.h"
#include "daemon/socket/protocol.h"
#include "daemon/socket/request.h"
#include "daemon/socket/socket_path.h"

#define KEPT_MAX ((size_t)8 << 20)

struct client {
    pid_t daemon_pid;
    int timeout_ms;
    long long last_id, stream_id; /* 0: none */
    bool stream_ended;
    int rpc_code;
    struct line_pipe pipe;
    struct strbuf kept; /* lines of notifications */
    size_t kept_taken;
    struct strbuf output;
    char path[SOCKET_PATH_SIZE];
};

/* -- Connecting -- */

static int check_daemon(struct client *client, struct metron_error *error)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (getsockopt(client->pipe.fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return error_set(error, -errno, "socket '%s': who listens there is not to be told: %s", client->path,
                         strerror(errno));
    if (peer.uid != geteuid() && peer.uid != 0)
        return error_set(error, -EACCES,
                         "socket '%s' is user %lu's, neither yours nor root's; set socket to another path",
                         client->path, (unsigned long)peer.uid);
    client->daemon_pid = peer.pid;
    return 0;
}

static int explain_connect(const char *path, int code, struct metron_error *error)
{
    if (client_is_absent(code))
        return error_set(error, code, "no daemon listens on '%s'; start one with: metron daemon", path);
    if (code == -EAGAIN)
        return error_set(error, -ETIMEDOUT, "the daemon on '%s' does not take connections; is it stopped?",
                         path);
    if (code == -EACCES || code == -EPERM)
        return error_set(error, -EACCES,
                         "the daemon on '%s' is another user's; ask its owner to set socket_group", path);
    return error_set(error, code, "socket '%s': %s", path, strerror(-code));
}

/* The descriptor of a connected socket. */
static int connect_to(const char path[SOCKET_PATH_SIZE], int timeout_ms, struct metron_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000L};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return error_set(error, -errno, "no socket to be had: %s", strerror(errno));
    memcpy(address.sun_path, path, SOCKET_PATH_SIZE);
    /* Where many wait to be accepted, connect waits too: as long as sending would. */
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        int code = explain_connect(path, -errno, error);

        (void)close(fd);
        return code;
    }
    return fd;
}

bool client_is_absent(int code)
{
    return code == -ENOENT || code == -ECONNREFUSED || code == -ENOTDIR;
}

int client_over(int fd, const char *path, int timeout_ms, struct client **out, struct metron_error *error)
{
    struct client *client = calloc(1, sizeof(*client));

    if (!client) {
        (void)close(fd);
        return error_set(error, -ENOMEM, "no memory for a client of the daemon");
    }
    client->pipe.fd = fd;
    client->timeout_ms = timeout_ms;
    (void)snprintf(client->path, sizeof(client->path), "%s", path);
    int code = check_daemon(client, error);
    if (code < 0)
        client_free(client);
    else
        *out = client;
    return code;
}

int client_connect(const char *path, int timeout_ms, struct client **out, struct metron_error *error)
{
    const struct socket_place place = socket_place_own();
    char paths[SOCKET_PATHS_MAX][SOCKET_PATH_SIZE];
    int count = socket_path_list(&place, path, paths, error);
    int fd = -ENOENT, tried = 0;

    if (count < 0)
        return count;
    if (timeout_ms <= 0)
        timeout_ms = CLIENT_TIMEOUT_MS;
    while (tried < count && client_is_absent(fd))
        fd = connect_to(paths[tried++], timeout_ms, error);
    if (fd >= 0)
        return client_over(fd, paths[tried - 1], timeout_ms, out, error);
    if (client_is_absent(fd) && count > 1)
        (void)error_set(error, fd, "no daemon listens on '%s' or '%s'; start one with: metron daemon",
                        paths[0], paths[1]);
    return fd;
}

void client_free(struct client *client)
{
    if (!client)
        return;
    (void)close(client->pipe.fd);
    line_pipe_fini(&client->pipe);
    strbuf_fini(&client->kept);
    strbuf_fini(&client->output);
    free(client);
}

void client_set_timeout(struct client *client, int timeout_ms)
{
    client->timeout_ms = timeout_ms;
}

/* -- Messages -- */

static int lost(const struct client *client, int code, struct metron_error *error)
{
    if (code == -ETIMEDOUT)
        return error_set(error, code, "the daemon (pid %d) did not answer within %g s; is it stopped?",
                         (int)client->daemon_pid, client->timeout_ms / 1e3);
    if (code == -EMSGSIZE || code == -EBADMSG)
        return error_set(error, code, "'%s' sent what is no answer of a metron daemon", client->path);
    if (code == -EINTR || code == -ENOMEM)
        return error_set(error, code, "%s", strerror(-code));
    /* Which of the two it is depends on how far the daemon had come with the connection. */
    const bool closed = code == -ECONNRESET || code == -EPIPE;
    return error_set(error, -ECONNRESET, "the daemon (pid %d) %s%s; check with: metron daemon status",
                     (int)client->daemon_pid,
                     closed ? "closed the connection" : "has gone: ", closed ? "" : strerror(-code));
}

struct message {
    double id; /* 0: none, or null */
    struct json_text method, params, result, error;
};

/* Of a line that request_check let pass. The method may lie in the reader: it is taken last. */
static void read_message(const struct json_text *line, struct json_reader *reader, struct message *out)
{
    struct json_text key, method = {0}, ignored = {0};

    *out = (struct message){0};
    json_reader_reset(reader, line->bytes, line->length);
    if (!json_enter_object(reader))
        return;
    while (json_next_key(reader, &key)) {
        struct json_text *member = json_text_is(&key, "method")   ? &method
                                   : json_text_is(&key, "params") ? &out->params
                                   : json_text_is(&key, "result") ? &out->result
                                   : json_text_is(&key, "error")  ? &out->error
                                                                  : &ignored;

        if (!json_text_is(&key, "id") || !json_read_number(reader, &out->id))
            (void)json_read_raw(reader, member);
    }
    if (method.length > 0) {
        json_reader_reset(reader, method.bytes, method.length);
        (void)json_read_text(reader, &out->method);
    }
}

/* Without room or memory for it, it is lost. */
static void keep_notification(struct client *client, const struct json_text *line)
{
    if (client->kept.length - client->kept_taken + line->length > KEPT_MAX)
        return;
    strbuf_add(&client->kept, line->bytes, line->length);
    strbuf_addc(&client->kept, '\n');
    client->kept.failed = false;
}

/* The daemon's error in one line. */
static int explain_error(struct client *client, const struct json_text *object, struct metron_error *error)
{
    struct strbuf message = STRBUF_INIT, hint = STRBUF_INIT;
    struct json_text data;
    double code = 0;

    (void)json_find_text(object, "message", &message);
    if (json_find(object, "data", &data))
        (void)json_find_text(&data, "hint", &hint);
    (void)json_find_number(object, "code", &code);
    client->rpc_code = code >= -99999 && code <= 99999 ? (int)code : RPC_INTERNAL_ERROR;

    int result = error_set(error, rpc_errno(client->rpc_code), "the daemon refused: %s%s%s",
                           strbuf_text(&message), hint.length > 0 ? "; " : "", strbuf_text(&hint));

    strbuf_fini(&message);
    strbuf_fini(&hint);
    return result;
}

static bool is_of_stream(const struct client *client, const struct message *message)
{
    return client->stream_id && message->method.length == 0 && message->id == (double)client->stream_id;
}

/* 1: it was the answer; 0: something else. */
static int take_answer(struct client *client, const struct json_text *line, struct strbuf *result,
                       struct metron_error *error)
{
    struct json_reader reader;
    struct message message;
    int code = 0;

    if (request_check(line->bytes, line->length, NULL) < 0)
        return lost(client, -EBADMSG, error);
    json_reader_init(&reader, NULL, 0);
    read_message(line, &reader, &message);
    if (message.method.length > 0)
        keep_notification(client, line);
    else if (message.error.length > 0 &&
             (message.id == 0 || message.id == (double)client->last_id || is_of_stream(client, &message)))
        code = explain_error(client, &message.error, error);
    else if (message.id == (double)client->last_id) {
        code = 1;
        if (result)
            strbuf_add(result, message.result.bytes, message.result.length);
        if (result && result->failed)
            code = lost(client, -ENOMEM, error);
    } else if (is_of_stream(client, &message))
        client->stream_ended = true;
    json_reader_fini(&reader);
    return code;
}

/* Reads until the answer to the last call has come. `sent`: what sending it gave. */
static int wait_for_answer(struct client *client, int sent, uint64_t end_ns, struct strbuf *result,
                           struct metron_error *error)
{
    struct json_text line;
    int code = 0;

    while (code == 0) {
        /* Who is turned away is told so before the connection is closed: it is there to be read although
         * nothing can be sent any more. */
        code = line_pipe_next(&client->pipe, end_ns, &line);
        if (code == -EINTR)
            code = 0;
        else if (code < 0)
            return lost(client, sent < 0 ? sent : code, error);
        else
            code = take_answer(client, &line, result, error);
    }
    return code < 0 ? code : 0;
}

/* `id` 0: it is not answered. 0; -ETIMEDOUT; another negative errno. */
static int send_request(struct client *client, long long id, const char *method, const char *params,
                        uint64_t end_ns)
{
    const struct json_text text = {params, params ? strlen(params) : 0};

    strbuf_reset(&client->output);
    rpc_request(&client->output, id, method, &text);
    strbuf_addc(&client->output, '\n');
    if (client->output.failed)
        return -ENOMEM;
    return line_pipe_send(&client->pipe, client->output.data, client->output.length, end_ns);
}

int client_call(struct client *client, const char *method, const char *params, struct strbuf *result,
                struct metron_error *error)
{
    uint64_t end_ns = clock_after_ms(client->timeout_ms);

    client->rpc_code = 0;
    if (result)
        strbuf_reset(result);
    int sent = send_request(client, ++client->last_id, method, params, end_ns);
    if (sent == -ETIMEDOUT || sent == -ENOMEM)
        return lost(client, sent, error);
    return wait_for_answer(client, sent, end_ns, result, error);
}

/* A stream is answered when it ends, or at once if it is refused: the answer to another request behind it
 * says that it has begun. */
int client_subscribe(struct client *client, const char *params, struct metron_error *error)
{
    uint64_t end_ns = clock_after_ms(client->timeout_ms);

    client->rpc_code = 0;
    client->stream_ended = false;
    client->stream_id = ++client->last_id;
    int sent = send_request(client, client->stream_id, "daemon.monitor.stream", params, end_ns);
    return sent < 0 ? lost(client, sent, error) : client_call(client, "daemon.health", NULL, NULL, error);
}

int client_post(struct client *client, const char *method, const char *params, struct metron_error *error)
{
    int sent = send_request(client, 0, method, params, clock_after_ms(client->timeout_ms));

    return sent < 0 ? lost(client, sent, error) : 0;
}

int client_late_answer(struct client *client, struct strbuf *result, struct metron_error *error)
{
    if (result)
        strbuf_reset(result);
    return wait_for_answer(client, 0, clock_after_ms(client->timeout_ms), result, error);
}

int client_rpc_code(const struct client *client)
{
    return client->rpc_code;
}

/* -- Notifications -- */

/* 1: it is one. */
static int take_notification(struct client *client, const struct json_text *line, struct strbuf *method,
                             struct strbuf *params, struct metron_error *error)
{
    struct json_reader reader;
    struct message message;

    if (request_check(line->bytes, line->length, NULL) < 0)
        return lost(client, -EBADMSG, error);
    json_reader_init(&reader, NULL, 0);
    read_message(line, &reader, &message);
    if (message.method.length > 0 && method)
        strbuf_add(method, message.method.bytes, message.method.length);
    if (message.method.length > 0 && params)
        strbuf_add(params, message.params.bytes, message.params.length);
    client->stream_ended |= is_of_stream(client, &message);
    json_reader_fini(&reader);
    return message.method.length > 0;
}

static bool next_kept(struct client *client, struct json_text *line)
{
    struct strbuf *kept = &client->kept;
    const char *from = strbuf_text(kept) + client->kept_taken;
    const char *end = memchr(from, '\n', kept->length - client->kept_taken);

    if (!end) {
        strbuf_fini(kept);
        client->kept_taken = 0;
        return false;
    }
    *line = (struct json_text){from, (size_t)(end - from)};
    client->kept_taken += line->length + 1;
    return true;
}

int client_next_notification(struct client *client, int timeout_ms, struct strbuf *method,
                             struct strbuf *params, struct metron_error *error)
{
    uint64_t end_ns = clock_after_ms(timeout_ms);
    struct json_text line;
    int code = 0;

    if (method)
        strbuf_reset(method);
    if (params)
        strbuf_reset(params);
    while (code == 0) {
        if (!next_kept(client, &line))
            code = client->stream_ended ? -ECONNRESET : line_pipe_next(&client->pipe, end_ns, &line);
        if (code == -ETIMEDOUT)
            return 0;
        if (code < 0)
            return lost(client, code, error);
        code = take_notification(client, &line, method, params, error);
    }
    return code;
}

pid_t client_daemon_pid(const struct client *client)
{
    return client->daemon_pid;
}

int client_fd(const struct client *client)
{
    return client->pipe.fd;
}
