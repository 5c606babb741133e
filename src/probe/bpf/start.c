/* Starting metron-bpf and taking over what it has loaded. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/handover.h"
#include "probe/bpf/programs.h"
#include "probe/bpf/state.h"
#include "probe/breakage.h"
#include "probe/companion.h"
#include "probe/namespaces.h"
#include "probe/privilege.h"

#define LOADER_NAME     "metron-bpf"
#define GENTLE_NICENESS 10

/* The one given, or the one that metron is shipped with. 0 or -ENOENT. */
static int find_loader(const char *given, char path[PATH_MAX])
{
    if (!given)
        return companion_find(LOADER_NAME, path);
    (void)snprintf(path, PATH_MAX, "%s", given);
    return access(path, X_OK) == 0 ? 0 : -ENOENT;
}

/* Also finds the loader, whose path it leaves in `path`. */
static const char *why_not(const char *given, char path[PATH_MAX])
{
    if (breakage_has("bpf"))
        return "switched off by --break-readers";
    if (find_loader(given, path) < 0)
        return "metron-bpf is not installed beside metron (built without libbpf, clang or bpftool)";
    if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
        return "this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)";
    if (!in_initial_namespace("pid"))
        return "the kernel's pids are not those of this pid namespace";
    if (!in_initial_namespace("time"))
        return "the kernel's start times are not those of this time namespace";
    if (!in_initial_namespace("user") || !privilege_for_bpf())
        return "not permitted: run as root, or give metron the right once: "
               "setcap cap_bpf,cap_perfmon=ep $(command -v metron)";
    return NULL;
}

const char *bpf_programs_why_not(void)
{
    char path[PATH_MAX];

    return why_not(NULL, path);
}

static void exec_loader(const char *path, int socket_fd, const struct bpf_start_options *options,
                        pid_t parent)
{
    char *const none_of_it[] = {NULL};
    /* With privilege from metron's file, nothing that a user set is passed on. */
    char *const *environment = getauxval(AT_SECURE) ? none_of_it : environ;
    char socket_text[16], spawner_text[16];
    sigset_t none;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setpgid(0, 0); /* Ctrl-C is for the command */
    /* What it has to say comes through the socket; what its dynamic loader says is not for the user's screen.
     */
    int nowhere = open("/dev/null", O_RDWR);
    for (int number = 0; nowhere >= 0 && number < 3; number++)
        (void)dup2(nowhere, number);
    if (options->gently)
        (void)setpriority(PRIO_PROCESS, 0, GENTLE_NICENESS);
    privilege_pass_on();
    (void)fcntl(socket_fd, F_SETFD, 0);
    (void)snprintf(socket_text, sizeof(socket_text), "%d", socket_fd);
    (void)snprintf(spawner_text, sizeof(spawner_text), "%d", (int)options->spawner);
    char *calls = options->marked_calls ? "marked-calls" : options->calls ? "calls" : NULL;
    char *const arguments[] = {LOADER_NAME, socket_text, spawner_text, calls, NULL};
    (void)execve(path, arguments, environment);
    _exit(127);
}

int bpf_start(struct bpf_start *start, const struct bpf_start_options *options, struct metron_error *error)
{
    char path[PATH_MAX];
    int sockets[2];
    const char *why = why_not(options->loader_path, path);
    const pid_t self = getpid();

    *start = (struct bpf_start){.fd = -1};
    if (why)
        return error_set(error, -ENOTSUP, "%s", why);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        return error_set(error, -errno, "%s", strerror(errno));
    pid_t pid = fork();
    int code = pid < 0 ? -errno : 0;
    if (pid == 0)
        exec_loader(path, sockets[1], options, self);
    (void)close(sockets[1]);
    if (code < 0) {
        (void)close(sockets[0]);
        return error_set(error, code, "metron-bpf cannot be started: %s", strerror(-code));
    }
    *start = (struct bpf_start){.pid = pid, .fd = sockets[0]};
    return 0;
}

struct answer {
    struct handover message;
    int fds[HANDOVER_PARTS + HANDOVER_LINKS_MAX];
    size_t count;
};

static int receive(int fd, bool wait, struct answer *answer)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(answer->fds))];
    } control;
    struct iovec part = {.iov_base = &answer->message, .iov_len = sizeof(answer->message)};
    struct msghdr envelope = {.msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof(control.bytes)};
    ssize_t length;

    do {
        length = recvmsg(fd, &envelope, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    } while (length < 0 && errno == EINTR);
    if (length < 0)
        return -errno;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&envelope);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        answer->count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        (void)memcpy(answer->fds, CMSG_DATA(header), answer->count * sizeof(int));
    }
    return length == sizeof(answer->message) ? 0 : -EPIPE;
}

bool bpf_start_is_answered(const struct bpf_start *start)
{
    char byte;

    return recv(start->fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

int bpf_start_finish(struct bpf_start *start, bool wait, struct bpf_programs **out,
                     struct metron_error *error)
{
    struct answer answer = {0};
    int code = receive(start->fd, wait, &answer);

    if (code == -EAGAIN)
        return code;
    (void)close(start->fd);
    start->fd = -1;
    answer.message.text[sizeof(answer.message.text) - 1] = '\0';
    if (code == 0 && answer.message.code < 0)
        code = error_set(error, answer.message.code, "%s", answer.message.text);
    else if (code < 0)
        code =
            error_set(error, code, "metron-bpf ended without an answer; does it find its libraries (ldd %s)?",
                      LOADER_NAME);
    if (code == 0)
        return bpf_programs_new(&answer.message, answer.fds, answer.count, out, error);
    for (size_t i = 0; i < answer.count; i++)
        (void)close(answer.fds[i]);
    return code;
}

void bpf_start_cancel(struct bpf_start *start)
{
    if (start->pid <= 0 || start->fd < 0)
        return;
    (void)close(start->fd);
    start->fd = -1;
    (void)kill(start->pid, SIGKILL);
}
