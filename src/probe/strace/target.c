/*
 * The fields of /proc/PID/status that matter here; all stand near its beginning:
 *
 *   Name:\tsleep\n…State:\tS (sleeping)\nTgid:\t7588\n…TracerPid:\t0\nUid:\t1000\t1000\t1000\t1000\n
 */
#include "probe/strace/target.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "probe/numbers_dir.h"

enum { STATUS_SIZE = 4096, PATH_SIZE = 4096, NAME_SIZE = 64, LOOKED_AT_MAX = 64 };

static int status_read(const char *proc_root, pid_t pid, pid_t thread, char text[STATUS_SIZE])
{
    char path[PATH_SIZE];

    (void)snprintf(path, sizeof(path), "%s/%d/task/%d/status", proc_root, (int)pid, (int)thread);
    ssize_t length = file_read(AT_FDCWD, path, text, STATUS_SIZE);
    if (length == -E2BIG)
        return 0;
    return length == -ENOENT ? -ESRCH : (int)(length < 0 ? length : 0);
}

/* What follows "NAME:\t", or NULL. The name of a process cannot pass for a field: its newline is escaped. */
static const char *field(const char *text, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && line[length] == ':' && line[length + 1] == '\t')
            return line + length + 2;
    }
    return NULL;
}

static long number(const char *text, const char *name, long otherwise)
{
    const char *value = field(text, name);

    return value ? strtol(value, NULL, 10) : otherwise;
}

static void name_of(const char *text, char out[NAME_SIZE])
{
    const char *value = field(text, "Name");

    (void)snprintf(out, NAME_SIZE, "%.*s", value ? (int)strcspn(value, "\n") : 1, value ? value : "?");
}

pid_t strace_target_tracer(const char *proc_root, pid_t pid)
{
    char text[STATUS_SIZE];
    int code = status_read(proc_root, pid, pid, text);

    return code < 0 ? code : (pid_t)number(text, "TracerPid", 0);
}

pid_t strace_target_process(const char *proc_root, pid_t thread)
{
    char text[STATUS_SIZE];
    int code = status_read(proc_root, thread, thread, text);

    return code < 0 ? code : (pid_t)number(text, "Tgid", -EBADMSG);
}

long strace_target_switches(const char *proc_root, pid_t pid)
{
    char text[STATUS_SIZE];
    const char *state = status_read(proc_root, pid, pid, text) < 0 ? NULL : field(text, "State");

    if (!state || *state != 'S')
        return -1;
    return number(text, "voluntary_ctxt_switches", -1) + number(text, "nonvoluntary_ctxt_switches", 0);
}

/* Adds the children of a process to `pids`, as far as there is room. */
static size_t add_children(const char *proc_root, pid_t pid, pid_t pids[LOOKED_AT_MAX], size_t count)
{
    char text[STATUS_SIZE], path[PATH_SIZE];

    (void)snprintf(path, sizeof(path), "%s/%d/task/%d/children", proc_root, (int)pid, (int)pid);
    if (file_read(AT_FDCWD, path, text, sizeof(text)) < 0)
        return count;
    char *next = text;
    for (long child; count < LOOKED_AT_MAX && (child = strtol(next, &next, 10)) > 0;)
        pids[count++] = (pid_t)child;
    return count;
}

bool strace_target_is_held(const char *proc_root, pid_t pid)
{
    pid_t pids[LOOKED_AT_MAX] = {pid};
    size_t count = 1;

    for (size_t i = 0; i < count; i++) {
        char text[STATUS_SIZE];
        const char *state = status_read(proc_root, pids[i], pids[i], text) < 0 ? NULL : field(text, "State");

        if (state && *state == 'D')
            return true;
        count = add_children(proc_root, pids[i], pids, count);
    }
    return false;
}

struct threads {
    const char *proc_root;
    pid_t pid, tracer;
};

static void visit_thread(void *context, pid_t thread)
{
    struct threads *threads = context;
    char text[STATUS_SIZE];

    if (threads->tracer == 0 && status_read(threads->proc_root, threads->pid, thread, text) == 0)
        threads->tracer = (pid_t)number(text, "TracerPid", 0);
}

void strace_target_threads(const char *proc_root, pid_t pid, void (*visit)(void *context, pid_t thread),
                           void *context)
{
    char path[PATH_SIZE];

    (void)snprintf(path, sizeof(path), "%s/%d/task", proc_root, (int)pid);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)numbers_dir_visit(fd, visit, context);
    (void)close(fd);
}

/* The tracer of any of its threads, or 0. */
static pid_t tracer_of_threads(const char *proc_root, pid_t pid)
{
    struct threads threads = {.proc_root = proc_root, .pid = pid};

    strace_target_threads(proc_root, pid, visit_thread, &threads);
    return threads.tracer;
}

int strace_target_check(const char *proc_root, pid_t pid, struct metron_error *error)
{
    char text[STATUS_SIZE], name[NAME_SIZE] = "?";
    /* /proc/TID is there for every thread, and has a task folder: the leader's. */
    int code = status_read(proc_root, pid, pid, text);

    /* Signal 0 is none: it asks whether one could be sent. /proc may hide what others run (hidepid). */
    if (code == -ESRCH && kill(pid, 0) < 0 && errno == EPERM)
        return error_set(error, -EPERM,
                         "process %d may not be traced: it is another user's, and hidden from this one; only "
                         "root may trace that",
                         (int)pid);
    if (code == -ESRCH)
        return error_set(error, code, "there is no process %d", (int)pid);
    if (code < 0)
        return error_set(error, code, "process %d: its status cannot be read: %s", (int)pid, strerror(-code));
    long leader = number(text, "Tgid", pid);
    if (leader != pid)
        return error_set(error, -EINVAL, "%d is a thread of process %ld: give that number", (int)pid, leader);
    const char *state = field(text, "State");
    pid_t tracer = tracer_of_threads(proc_root, pid);
    /* A process whose main thread alone has left shows as Z too, but other threads can be traced. */
    if (state && (*state == 'Z' || *state == 'X') && number(text, "Threads", 1) <= 1)
        return error_set(error, -ESRCH, "process %d has ended", (int)pid);
    if (tracer == 0)
        return 0;
    if (status_read(proc_root, tracer, tracer, text) == 0)
        name_of(text, name);
    return error_set(error, -EBUSY,
                     "process %d is traced already, by process %d (%s); a process has one tracer at most",
                     (int)pid, (int)tracer, name);
}

int strace_target_refused(const char *proc_root, pid_t pid, struct metron_error *error)
{
    char text[STATUS_SIZE], path[PATH_SIZE], scope[8] = "0";
    int code = strace_target_check(proc_root, pid, error);

    if (code < 0)
        return code;
    if (status_read(proc_root, pid, pid, text) < 0)
        text[0] = '\0';
    long uid = number(text, "Uid", (long)geteuid());
    if (geteuid() != 0 && uid != (long)geteuid())
        return error_set(
            error, -EPERM,
            "process %d may not be traced: it is another user's (uid %ld), and only root may trace that",
            (int)pid, uid);
    (void)snprintf(path, sizeof(path), "%s/sys/kernel/yama/ptrace_scope", proc_root);
    (void)file_read(AT_FDCWD, path, scope, sizeof(scope));
    if (scope[0] > '0' && scope[0] <= '9')
        return error_set(error, -EPERM, "process %d may not be traced: kernel.yama.ptrace_scope is %c; %s",
                         (int)pid, scope[0],
                         scope[0] == '3' ? "it forbids all tracing until the next boot"
                                         : "as root, or after sysctl kernel.yama.ptrace_scope=0, it may");
    return error_set(
        error, -EPERM,
        "process %d may not be traced: the kernel refused it (a container without CAP_SYS_PTRACE, a "
        "program with privileges of its own, or a thread of the kernel)",
        (int)pid);
}
