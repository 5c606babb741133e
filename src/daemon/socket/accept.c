/*
 * Who gets in. The kernel says who connected; names of users and groups are not looked up here, since that
 * may ask a server far away, and the loop must not wait.
 *
 * Where descriptors are used up, the one in reserve is given up for a moment: the next client in line is
 * accepted, told and closed. Else it would stay in line, the socket would stay readable, and the loop would
 * turn without end. Where even that does not help, nobody is accepted for a quarter of a second.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "daemon/socket/protocol.h"
#include "daemon/socket/server_state.h"

#define ACCEPTS_A_TURN 32
#define RESUME_MS      250
#define GROUPS_MAX     1024
#define WARN_EVERY_NS  (60 * NS_PER_SECOND)
#define RESERVE_PATH   "/dev/null"

static bool is_member(int fd, gid_t primary, gid_t group)
{
    gid_t groups[GROUPS_MAX];
    socklen_t size = sizeof(groups);

    if (primary == group)
        return true;
    /* Since Linux 4.13; before, only the primary group is known. */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
        return false;
    for (size_t i = 0; i < size / sizeof(*groups); i++)
        if (groups[i] == group)
            return true;
    return false;
}

static bool may_enter(const struct server *server, int fd, struct call_peer *peer)
{
    struct ucred credentials;
    socklen_t size = sizeof(credentials);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
        return false;
    *peer = (struct call_peer){.pid = credentials.pid, .uid = credentials.uid};
    return credentials.uid == server->owner || credentials.uid == 0 ||
           (server->listener.has_group && is_member(fd, credentials.gid, server->listener.group));
}

/* A socket that was just made has room for a line. */
static void turn_away(struct server *server, int fd, int code, const char *message, const char *hint)
{
    struct strbuf *out = &server->message;

    server->counts.refused++;
    strbuf_reset(out);
    rpc_error(out, NULL, code, message, hint);
    strbuf_addc(out, '\n');
    (void)send(fd, strbuf_text(out), out->length, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)close(fd);
}

static void welcome(struct server *server, int fd)
{
    struct call_peer peer = {0};

    if (!may_enter(server, fd, &peer))
        turn_away(server, fd, RPC_NOT_PERMITTED, "this daemon is another user's",
                  "ask its owner to set socket_group to a group of yours, or start a daemon of your own");
    else if (server->counts.clients >= CLIENTS_MAX)
        turn_away(server, fd, RPC_EXHAUSTED, "the daemon has 512 clients already",
                  "close connections that are not needed, or try again later");
    else if (connection_new(server, fd, peer) < 0)
        turn_away(server, fd, RPC_EXHAUSTED, "the daemon has no memory for another client",
                  "try again later");
    else
        server->counts.accepted++;
}

static void pause_accepting(struct server *server)
{
    (void)uv_poll_stop(&server->listen_poll);
    (void)uv_timer_start(&server->resume, accept_on_resume, RESUME_MS, 0);
}

static int accept_next(const struct server *server)
{
    /* cppcheck-suppress nullPointer ; who it is, is asked otherwise */
    return accept4(server->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* Whether the next in line could be told. */
static bool refuse_next(struct server *server)
{
    if (server->reserve_fd < 0)
        return false;
    (void)close(server->reserve_fd);

    int fd = accept_next(server);

    if (fd >= 0)
        turn_away(server, fd, RPC_EXHAUSTED, "the daemon has no descriptors left for another client",
                  "try again later, or raise its limit of open files");
    server->reserve_fd = open(RESERVE_PATH, O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

static bool on_shortage(struct server *server, int code)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (server->warned_ns == 0 || now_ns - server->warned_ns > WARN_EVERY_NS) {
        log_warning("a client cannot be let in: %s%s", uv_strerror(code),
                    code == -EMFILE ? "; raise the limit of open files (ulimit -n)" : "");
        server->warned_ns = now_ns;
    }
    if ((code == -EMFILE || code == -ENFILE) && refuse_next(server))
        return true;
    pause_accepting(server);
    return false;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct server *server = poll->data;

    (void)events;
    if (status < 0) {
        pause_accepting(server);
        return;
    }
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        int fd = accept_next(server);

        if (fd >= 0)
            welcome(server, fd);
        else if (errno == EAGAIN || (errno != EINTR && errno != ECONNABORTED && !on_shortage(server, -errno)))
            return;
    }
}

void accept_waiting(struct server *server)
{
    int fd;

    while ((fd = accept_next(server)) >= 0 || errno == EINTR || errno == ECONNABORTED)
        if (fd >= 0)
            welcome(server, fd);
}

void accept_on_resume(uv_timer_t *timer)
{
    struct server *server = timer->data;

    if (server->reserve_fd < 0)
        server->reserve_fd = open(RESERVE_PATH, O_RDONLY | O_CLOEXEC);
    if (!server->closing)
        (void)uv_poll_start(&server->listen_poll, UV_READABLE, on_readable);
}

int accept_begin(struct server *server)
{
    server->reserve_fd = open(RESERVE_PATH, O_RDONLY | O_CLOEXEC);
    return uv_poll_start(&server->listen_poll, UV_READABLE, on_readable);
}

static void on_poll_closed(uv_handle_t *handle)
{
    server_handle_closed(handle->data);
}

/* The handle first: libuv goes by the number of its descriptor, which another thread may get. */
void accept_end(struct server *server)
{
    (void)uv_timer_stop(&server->resume);
    uv_close((uv_handle_t *)&server->listen_poll, on_poll_closed);
    listener_shut(&server->listener);
    file_close(&server->reserve_fd);
}
