/*
 * The capture process.
 *
 * metron and it talk through a socket, one message a packet; that the socket has ended means to each that the
 * other has gone. Times go through a page that both share: they can be read when a process that is stopped or
 * stuck would not answer.
 *
 * Each stream has its thread (capture.h); the first thread waits for metron and for the end of the
 * command, which a pidfd reports (Linux 5.3). All signals are blocked: what a terminal or a batch system
 * sends to a whole group or tree is for the command.
 */
#include "launch/capture_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "launch/capture.h"
#include "launch/descriptor.h"
#include "probe/privilege.h"
#include "probe/process_clock.h"

#define EXIT_MS 1000 /* of a process that has nothing left to do, and was stopped by somebody */

enum what { READY, WATCH, DELIVER, DELIVERED, WARNING, OUTPUT_ENDED };

struct message {
    enum what what;
    int code;       /* READY: 0 or a negative errno */
    char text[256]; /* WARNING */
};

/* Seen by both processes. */
struct shared {
    _Atomic uint64_t end_ns;
    struct keyboard_terminal terminal;
};

struct capture_process {
    pid_t pid; /* 0: reaped */
    int socket_fd;
    bool output_ended; /* so it exits as soon as we close the socket, if not before */
    struct shared *shared;
    double cpu_seconds;
};

/* ---- the process itself ---- */

struct server {
    struct shared *shared;
    int socket_fd;
    bool metron_gone;
    int command_fd; /* a pidfd; -1: none, or it has ended */
    int tty_fd;     /* the user's terminal, as long as it may be left raw or hang up; -1: none */
    bool is_pty;    /* what is captured */
    struct capture *captures[CAPTURE_STREAMS];
    bool open[CAPTURE_STREAMS], flushing[CAPTURE_STREAMS];
    bool asked; /* metron waits for what is delivered */
};

static const char *const names[CAPTURE_STREAMS] = {"stdout", "stderr"};

static void send_message(int fd, enum what what, int code, const char *text)
{
    struct message message = {.what = what, .code = code};

    if (text)
        (void)strncpy(message.text, text, sizeof(message.text) - 1);
    (void)send(fd, &message, sizeof(message), MSG_NOSIGNAL);
}

/* Messages of ours are metron's to show; it knows where. */
static void send_warning(void *context, enum log_level level, const char *text)
{
    const struct server *server = context;

    (void)level;
    send_message(server->socket_fd, WARNING, 0, text);
}

/* Keeps the streams, the screen, the files, the socket and the user's terminal. */
static int close_others(const struct capture_stream streams[CAPTURE_STREAMS], const struct server *server)
{
    int kept[2 * CAPTURE_STREAMS + 2];
    size_t count = 0;
    bool shown[3] = {false};

    for (int i = 0; i < CAPTURE_STREAMS; i++) {
        if (streams[i].source_fd >= 0)
            kept[count++] = streams[i].source_fd;
        if (streams[i].record_fd >= 0)
            kept[count++] = streams[i].record_fd;
        if (streams[i].source_fd >= 0 && streams[i].show_fd >= 0)
            shown[streams[i].show_fd] = true;
    }
    kept[count++] = server->socket_fd;
    if (server->tty_fd >= 0)
        kept[count++] = server->tty_fd;
    int code = descriptor_close_others(kept, count);
    int null_fd = descriptor_new_null();
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && null_fd >= 0; fd++)
        if (!shown[fd])
            (void)dup2(null_fd, fd);
    if (code == 0 && null_fd < 0)
        code = null_fd;
    file_close(&null_fd);
    return code;
}

static int start_captures(struct server *server, const struct capture_stream streams[CAPTURE_STREAMS])
{
    for (int i = 0; i < CAPTURE_STREAMS; i++) {
        struct capture_options options = {.source_fd = streams[i].source_fd,
                                          .show_fd = streams[i].show_fd,
                                          .record_fd = streams[i].record_fd,
                                          .name = names[i]};
        int code = streams[i].source_fd < 0 ? 0 : capture_start(&options, &server->captures[i], NULL);

        if (code < 0)
            return code;
        server->open[i] = server->captures[i] != NULL;
    }
    return 0;
}

static void note_end(struct server *server)
{
    uint64_t unknown = 0;

    (void)atomic_compare_exchange_strong(&server->shared->end_ns, &unknown, clock_monotonic_ns());
    file_close(&server->command_fd);
    for (int i = 0; i < CAPTURE_STREAMS; i++)
        if (server->open[i])
            capture_command_ended(server->captures[i]);
}

static void deliver(struct server *server)
{
    note_end(server);
    server->asked = true;
    for (int i = 0; i < CAPTURE_STREAMS; i++) {
        server->flushing[i] = server->open[i];
        if (server->open[i])
            capture_flush(server->captures[i]);
    }
}

static void on_metron_gone(struct server *server)
{
    struct keyboard_terminal *terminal = &server->shared->terminal;

    server->metron_gone = true;
    if (server->tty_fd >= 0 && atomic_load(&terminal->raw))
        (void)tcsetattr(server->tty_fd, TCSANOW, &terminal->found);
    if (!server->is_pty)
        file_close(&server->tty_fd);
    if (server->command_fd < 0) /* nobody will say when it ends: a terminal ends when it is closed */
        for (int i = 0; i < CAPTURE_STREAMS; i++)
            if (server->open[i])
                capture_command_ended(server->captures[i]);
}

/* One message with at most one descriptor; false: there is none, the other end has gone. */
static bool receive(int fd, struct message *message, int *passed_fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {message, sizeof(*message)};
    struct msghdr parts = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof(control.bytes)};
    ssize_t count;

    /* ECONNRESET: it went without reading all that it was sent. What it sent before is still there. */
    do {
        count = recvmsg(fd, &parts, MSG_CMSG_CLOEXEC);
    } while (count < 0 && (errno == EINTR || errno == ECONNRESET));
    if (count != (ssize_t)sizeof(*message))
        return false;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&parts);
    if (passed_fd && header && header->cmsg_type == SCM_RIGHTS)
        memcpy(passed_fd, CMSG_DATA(header), sizeof(*passed_fd));
    return true;
}

static void on_message(struct server *server)
{
    struct message message;

    if (!receive(server->socket_fd, &message, &server->command_fd)) {
        on_metron_gone(server);
        return;
    }
    if (message.what == DELIVER)
        deliver(server);
}

/* Without metron, nobody else hangs up the command's terminal with the user's. */
static void on_hangup(struct server *server)
{
    file_close(&server->tty_fd);
    for (int i = 0; i < CAPTURE_STREAMS; i++)
        if (server->open[i])
            capture_stop(server->captures[i]);
}

static bool output_open(const struct server *server)
{
    return server->open[0] || server->open[1];
}

static void look_at_streams(struct server *server)
{
    bool flushing = false, was_open = output_open(server);

    for (int i = 0; i < CAPTURE_STREAMS; i++) {
        if (server->open[i] && capture_has_ended(server->captures[i]))
            server->open[i] = false;
        if (!server->open[i] || (server->flushing[i] && capture_flushed(server->captures[i])))
            server->flushing[i] = false;
        flushing = flushing || server->flushing[i];
    }
    if (was_open && !output_open(server)) /* says more than DELIVERED, after which metron reads nothing */
        send_message(server->socket_fd, OUTPUT_ENDED, 0, NULL);
    if (server->asked && !flushing) {
        send_message(server->socket_fd, DELIVERED, 0, NULL);
        server->asked = false;
    }
}

/* A command closes its output before it ends, be it only for a moment. */
static bool end_is_awaited(const struct server *server)
{
    return !server->metron_gone && atomic_load(&server->shared->end_ns) == 0;
}

static void serve(struct server *server)
{
    while (output_open(server) || end_is_awaited(server)) {
        struct pollfd polled[3 + CAPTURE_STREAMS] = {
            {.fd = server->metron_gone ? -1 : server->socket_fd, .events = POLLIN},
            {.fd = server->command_fd, .events = POLLIN},
            {.fd = server->metron_gone ? server->tty_fd : -1, .events = 0}, /* it hangs up */
        };

        for (int i = 0; i < CAPTURE_STREAMS; i++)
            polled[3 + i] = (struct pollfd){.fd = server->open[i] ? capture_news_fd(server->captures[i]) : -1,
                                            .events = POLLIN};
        if (poll(polled, sizeof(polled) / sizeof(*polled), -1) < 0)
            continue;
        if (polled[1].revents) /* before what metron says of it */
            note_end(server);
        if (polled[0].revents)
            on_message(server);
        if (polled[2].revents)
            on_hangup(server);
        look_at_streams(server);
    }
}

static _Noreturn void be_capture_process(const struct capture_stream streams[CAPTURE_STREAMS],
                                         struct shared *shared, int socket_fd)
{
    struct server server = {.shared = shared, .socket_fd = socket_fd, .command_fd = -1, .tty_fd = -1};

    (void)setsid(); /* a signal to metron's group, a hangup or a Ctrl-Z is none of its business */
    (void)prctl(PR_SET_NAME, "metron-capture");
    (void)privilege_drop(NULL, NULL);
    server.is_pty = isatty(streams[0].source_fd);
    if (isatty(STDIN_FILENO))
        server.tty_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    log_set_sink(send_warning, &server);
    int code = close_others(streams, &server);
    if (code == 0)
        code = start_captures(&server, streams);
    send_message(socket_fd, READY, code, NULL);
    if (code == 0)
        serve(&server);
    for (int i = 0; i < CAPTURE_STREAMS; i++)
        capture_free(server.captures[i]);
    _exit(0);
}

/* ---- metron's side ---- */

static int fork_process(const struct capture_stream streams[CAPTURE_STREAMS], struct capture_process *process)
{
    sigset_t all, before;
    int sockets[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        return -errno;
    process->socket_fd = descriptor_above_stdio(sockets[0]);
    sockets[1] = descriptor_above_stdio(sockets[1]);
    if (process->socket_fd < 0 || sockets[1] < 0) {
        file_close(&sockets[1]);
        return -EMFILE;
    }
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        be_capture_process(streams, process->shared, sockets[1]);
    int code = pid < 0 ? -errno : 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)close(sockets[1]);
    process->pid = pid < 0 ? 0 : pid;
    return code;
}

int capture_process_start(const struct capture_stream streams[CAPTURE_STREAMS], struct capture_process **out,
                          struct metron_error *error)
{
    struct capture_process *process = calloc(1, sizeof(*process));
    struct message ready = {.code = -ECHILD};

    *out = NULL;
    if (!process)
        return error_set(error, -ENOMEM, "no memory to capture output");
    process->socket_fd = -1;
    process->shared =
        mmap(NULL, sizeof(*process->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (process->shared == MAP_FAILED)
        process->shared = NULL;
    int code = process->shared ? fork_process(streams, process) : -ENOMEM;
    if (code == 0 && receive(process->socket_fd, &ready, NULL))
        code = ready.code;
    else if (code == 0)
        code = -ECHILD;
    if (code < 0) {
        capture_process_cancel(process);
        return error_set(error, code, "%s", strerror(-code));
    }
    *out = process;
    return 0;
}

pid_t capture_process_pid(const struct capture_process *process)
{
    return process->pid;
}

struct keyboard_terminal *capture_process_terminal(struct capture_process *process)
{
    return &process->shared->terminal;
}

void capture_process_watch(struct capture_process *process, pid_t command)
{
    int fd = (int)syscall(SYS_pidfd_open, command, 0);
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct message message = {.what = WATCH};
    struct iovec part = {&message, sizeof(message)};
    struct msghdr parts = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof(control.bytes)};

    if (fd < 0)
        return; /* before Linux 5.3: metron's own time is all there is */
    control.header.cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    (void)sendmsg(process->socket_fd, &parts, MSG_NOSIGNAL);
    (void)close(fd);
}

void capture_process_deliver(struct capture_process *process)
{
    send_message(process->socket_fd, DELIVER, 0, NULL);
}

int capture_process_fd(const struct capture_process *process)
{
    return process->socket_fd;
}

enum capture_news capture_process_read(struct capture_process *process)
{
    struct message message;

    if (!receive(process->socket_fd, &message, NULL) || message.what == OUTPUT_ENDED) {
        process->output_ended = true;
        return CAPTURE_ENDED;
    }
    message.text[sizeof(message.text) - 1] = '\0';
    if (message.what == WARNING)
        log_warning("%s", message.text);
    return message.what == DELIVERED ? CAPTURE_DELIVERED : CAPTURE_WARNED;
}

uint64_t capture_process_end_ns(const struct capture_process *process)
{
    return atomic_load(&process->shared->end_ns);
}

double capture_process_cpu_seconds(struct capture_process *process)
{
    uint64_t cpu_ns;

    if (process->pid > 0 && process_clock_read(process->pid, &cpu_ns) == 0)
        process->cpu_seconds = (double)cpu_ns / (double)NS_PER_SECOND;
    return process->cpu_seconds;
}

bool capture_process_reaped(struct capture_process *process, pid_t pid, const struct rusage *usage)
{
    if (!process || pid != process->pid)
        return false;
    process->pid = 0;
    process->cpu_seconds = clock_timeval_seconds(usage->ru_utime) + clock_timeval_seconds(usage->ru_stime);
    return true;
}

/* So that its files are closed once we return: their disk may be unmounted next. */
static void await_exit(pid_t pid)
{
    struct pollfd exited = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};

    if (exited.fd < 0)
        return;
    (void)poll(&exited, 1, EXIT_MS);
    (void)close(exited.fd);
}

void capture_process_free(struct capture_process *process)
{
    if (!process)
        return;
    file_close(&process->socket_fd);
    if (process->output_ended && process->pid > 0)
        await_exit(process->pid);
    if (process->shared)
        (void)munmap(process->shared, sizeof(*process->shared));
    free(process);
}

void capture_process_cancel(struct capture_process *process)
{
    if (!process)
        return;
    if (process->pid > 0)
        (void)kill(process->pid, SIGKILL);
    while (process->pid > 0 && waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    capture_process_free(process);
}
