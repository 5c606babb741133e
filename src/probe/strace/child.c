/*
 * From the fork to exec. The child of a process with threads may do little: everything it needs was made
 * ready before the fork.
 */
#include "probe/strace/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "probe/breakage.h"
#include "probe/privilege.h"

#define OUTPUT_FD   3
#define OUTPUT_NAME "/proc/self/fd/3"
#define GATE_FD     4
#define SPARE_FD    10 /* descriptors are moved here first, out of the way of these two */

int strace_locate(char path[PROGRAM_PATH_SIZE], struct metron_error *error)
{
    if (breakage_has("strace"))
        return error_set(error, -EIO, "strace cannot be run: it is broken on purpose (--break-readers)");
    if (program_find("strace", path) < 0)
        return error_set(error, -ENOENT,
                         "strace is not installed: there is none in PATH; install the package strace");
    return 0;
}

/* Reads the list of processes up to its newline. False: the parent has gone or thought better of it. */
static bool list_await(int list_fd, char *list)
{
    size_t length = 0;

    while (length < STRACE_LIST_SIZE) {
        ssize_t count = read(list_fd, list + length, STRACE_LIST_SIZE - length);

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        length += (size_t)count;
        if (list[length - 1] == '\n') {
            list[length - 1] = '\0';
            return true;
        }
    }
    return false;
}

static void signals_reset(void)
{
    const struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &plain, NULL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* strace forks children when it starts, to test what ptrace can do, and they do not inherit the parent's
 * death signal. So we have the kernel send SIGKILL to the whole process group when the last write end of the
 * gate is closed, which only the parent holds. False: it is closed already. */
static bool group_bind(int gate_fd)
{
    struct pollfd gate = {.fd = gate_fd, .events = POLLIN};

    (void)fcntl(gate_fd, F_SETOWN, -getpid());
    (void)fcntl(gate_fd, F_SETSIG, SIGKILL);
    (void)fcntl(gate_fd, F_SETFL, O_ASYNC);
    return poll(&gate, 1, 0) == 0;
}

void strace_child_main(const struct strace_child *child)
{
    /* Arguments are not decoded: that costs time, and what the target wrote there is not to be parsed. Of the
     * calls that make threads the flags are wanted. */
    char *const counted[] = {
        "strace", "-f",        "-T", "-a1",       "-e", "raw=!clone,?clone3,?fork,?vfork",
        "-o",     OUTPUT_NAME, "-p", child->list, NULL};
    char *const full[] = {"strace", "-f", "-tt", "-T", "-o", OUTPUT_NAME, "-p", child->list, NULL};
    char *const environment[] = {"LC_ALL=C", child->zone[0] ? (char *)child->zone : NULL, NULL};
    static const char failed[] = "strace: it cannot be run\n";

    (void)setpgid(0, 0);
    /* Killed, for the kernel releases at once what it traced; told to detach strace may stand still
     * (program.c). A parent that is gone by now will not send it any more. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != child->parent)
        _exit(127);
    privilege_keep_dropped();
    signals_reset();
    (void)close(child->list_write);
    (void)close(child->gate_write);
    if (!list_await(child->list_read, child->list) || !group_bind(child->gate_read))
        _exit(127);
    int gate = fcntl(child->gate_read, F_DUPFD_CLOEXEC, SPARE_FD);
    int output = fcntl(child->output, F_DUPFD_CLOEXEC, SPARE_FD);
    int messages = fcntl(child->messages, F_DUPFD_CLOEXEC, SPARE_FD);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
        dup2(messages, STDERR_FILENO) < 0 || dup2(output, OUTPUT_FD) < 0 || dup2(gate, GATE_FD) < 0)
        _exit(127);
    execve(child->path, child->counted ? counted : full, environment);
    (void)!write(STDERR_FILENO, failed, sizeof(failed) - 1);
    _exit(127);
}
