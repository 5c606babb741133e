/*
 * Starting a command.
 *
 * All that can be decided or allocated is done before the fork; the child then makes only calls that are
 * allowed in the child of a process with threads. What fails there, exec above all, comes back through a pipe
 * that a successful exec closes: reading its end means that the command runs.
 *
 * Signals are blocked across the fork, so that no handler of metron's runs in the child.
 */
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "launch/descriptor.h"
#include "launch/failure.h"
#include "launch/signals.h"
#include "launch/terminal.h"

/* Descriptors of one start; -1 where there is none. `child` is by stdio number: what becomes 0, 1, 2 there.
 */
struct plumbing {
    int child[3];
    int ours[3];      /* read ends or the master; [0] is not used */
    int slave;        /* the pty's side of the command */
    int failure_read; /* how the child's failure comes back */
    int failure_write;
    int hold_read; /* where the child waits, if it is held */
    int hold_write;
    char path[PATH_MAX]; /* of the command, if it is held: looked up before, so that nobody sees the search */
};

enum step { STEP_CGROUP, STEP_SESSION, STEP_TERMINAL, STEP_STDIO, STEP_LIMIT, STEP_EXEC };

/* What the child sends before exec, and again if it fails. Much shorter than PIPE_BUF: written at once or not
 * at all. */
struct failure {
    enum step step;
    int code;                     /* errno; 0: not failed yet */
    uint64_t inherited_rss_bytes; /* its ru_maxrss so far, which exec does not take away */
};

/* The pipe keeps its default size: with a larger one 1 GiB is recorded in the same time, and the command
 * would run further ahead of what is shown. */
static int open_pipe(int *read_end, int *write_end)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    *read_end = descriptor_above_stdio(ends[0]);
    *write_end = descriptor_above_stdio(ends[1]);
    return *read_end < 0 ? *read_end : *write_end < 0 ? *write_end : 0;
}

static void plumbing_close(struct plumbing *plumbing)
{
    for (int number = 0; number < 3; number++) {
        /* With a pty, the slave stands here up to three times. */
        if (plumbing->child[number] == plumbing->slave)
            plumbing->child[number] = -1;
        file_close(&plumbing->child[number]);
        file_close(&plumbing->ours[number]);
    }
    file_close(&plumbing->slave);
    file_close(&plumbing->failure_read);
    file_close(&plumbing->failure_write);
    file_close(&plumbing->hold_read);
    file_close(&plumbing->hold_write);
}

/* stdout and stderr, and with a pty stdin. */
static int open_outputs(const struct launch_options *options, struct plumbing *plumbing,
                        struct metron_error *error)
{
    const bool wanted[3] = {false, options->pipe_stdout, options->pipe_stderr};

    if (options->pty) {
        int code = terminal_open(&plumbing->ours[STDOUT_FILENO], &plumbing->slave, error);

        plumbing->child[STDOUT_FILENO] = plumbing->slave;
        plumbing->child[STDERR_FILENO] = plumbing->slave;
        return code;
    }
    for (int number = STDOUT_FILENO; number <= STDERR_FILENO; number++) {
        int code = wanted[number] ? open_pipe(&plumbing->ours[number], &plumbing->child[number]) : 0;

        if (code < 0)
            return error_set(error, code, "cannot make a pipe for %s: %s",
                             number == STDOUT_FILENO ? "stdout" : "stderr", strerror(-code));
    }
    return 0;
}

/* The ends of the outputs, and a reader for them; else none, as if nothing were captured. */
static int prepare_outputs(const struct launch_options *options, struct plumbing *plumbing,
                           struct launched *out, struct metron_error *error)
{
    if (!options->read_outputs)
        return open_outputs(options, plumbing, error);
    int code = open_outputs(options, plumbing, &out->why_not_read);
    if (code == 0 && (plumbing->ours[STDOUT_FILENO] >= 0 || plumbing->ours[STDERR_FILENO] >= 0))
        code = options->read_outputs(options->read_context, plumbing->ours[STDOUT_FILENO],
                                     plumbing->ours[STDERR_FILENO], &out->why_not_read);
    if (code < 0) {
        out->outputs_are_ours = true;
        plumbing_close(plumbing);
    } else if (!options->pty) {
        file_close(&plumbing->ours[STDOUT_FILENO]);
        file_close(&plumbing->ours[STDERR_FILENO]);
    }
    return 0;
}

static int open_input(const struct launch_options *options, struct plumbing *plumbing, struct launched *out,
                      struct metron_error *error)
{
    bool leaves_session = options->new_session || options->pty;

    /* The kernel stops a background reader (SIGTTIN) only on the terminal of its own session. */
    if (leaves_session && terminal_in_background(STDIN_FILENO)) {
        plumbing->child[STDIN_FILENO] = descriptor_new_null();
        if (plumbing->child[STDIN_FILENO] < 0)
            return error_set(error, -EIO, "cannot open /dev/null for the command's stdin: %s",
                             strerror(-plumbing->child[STDIN_FILENO]));
        out->stdin_withheld = true;
    } else if (plumbing->slave >= 0 && isatty(STDIN_FILENO)) {
        plumbing->child[STDIN_FILENO] = plumbing->slave;
    }
    return 0;
}

/* In the child; `entered`: it began in the v2 group. */
static bool enter_cgroup(const struct launch_cgroup *cgroup, bool entered)
{
    if (!cgroup)
        return true;
    if (cgroup->folder_fd >= 0 && !entered && write(cgroup->procs_fd, "0", 1) != 1)
        return false;
    for (size_t i = 0; i < cgroup->join_count; i++)
        if (write(cgroup->join_fds[i], "0", 1) != 1)
            return false;
    return true;
}

/* In the child: lets itself be traced, and is let go when metron ends as well. */
static void prepare_hold(const struct launch_options *options, const struct plumbing *plumbing)
{
    if (options->tracer)
        (void)prctl(PR_SET_PTRACER, options->tracer); /* fails where there is no Yama to ask */
    (void)close(plumbing->hold_write);
}

/* In the child: the one system call, beside the command's own, that a tracer sees from here on. */
static void wait_while_held(const struct plumbing *plumbing)
{
    char go;

    while (read(plumbing->hold_read, &go, sizeof(go)) < 0 && errno == EINTR)
        ;
}

/* In the child. Returns only on failure: the step, with errno set. */
static enum step become_command(const struct launch_options *options, const struct plumbing *plumbing,
                                const sigset_t *mask, bool entered)
{
    if (!enter_cgroup(options->cgroup, entered))
        return STEP_CGROUP;
    if ((options->new_session || options->pty) && setsid() < 0)
        return STEP_SESSION;
    if (plumbing->slave >= 0 && ioctl(plumbing->slave, TIOCSCTTY, 0) != 0)
        return STEP_TERMINAL;
    for (int number = 0; number < 3; number++) {
        if (plumbing->child[number] >= 0 && dup2(plumbing->child[number], number) < 0)
            return STEP_STDIO;
    }
    if (options->open_files && setrlimit(RLIMIT_NOFILE, options->open_files) != 0)
        return STEP_LIMIT;
    launch_signals_restore(mask);

    struct rusage usage;
    struct failure ready = {.step = STEP_EXEC};

    if (options->hold)
        prepare_hold(options, plumbing);
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        ready.inherited_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
    (void)!write(plumbing->failure_write, &ready, sizeof(ready));
    if (options->hold) {
        wait_while_held(plumbing);
        if (plumbing->path[0])
            (void)execve(plumbing->path, options->argv,
                         options->environment ? options->environment : environ);
    }
    execvpe(options->argv[0], options->argv, options->environment ? options->environment : environ);
    return STEP_EXEC;
}

/* The file that the command's name stands for, as far as that is plain; "" otherwise. */
static void find_command(const char *name, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");

    path[0] = '\0';
    if (strchr(name, '/') || !folders)
        return;
    for (size_t length; *folders; folders += length + (folders[length] == ':')) {
        length = strcspn(folders, ":");
        int size = snprintf(path, PATH_MAX, "%.*s/%s", (int)length, folders, name);
        if (length > 0 && size < PATH_MAX && access(path, X_OK) == 0)
            return;
    }
    path[0] = '\0';
}

/* The child's next word; false: there is none, it has become the command (or was killed). */
static bool hear_child(const struct plumbing *plumbing, struct failure *failure)
{
    ssize_t count;

    do {
        count = read(plumbing->failure_read, failure, sizeof(*failure));
    } while (count < 0 && errno == EINTR);
    return count == (ssize_t)sizeof(*failure);
}

/* Waits until the child has become the command or failed to; 0 or what it reported. The child says first that
 * it is ready: whom it is held for must not see what it does until then. */
static int await_exec(const struct launch_options *options, struct plumbing *plumbing, pid_t pid,
                      struct failure *failure)
{
    *failure = (struct failure){0};
    bool received = hear_child(plumbing, failure);
    if (options->hold && failure->code == 0) {
        options->hold(options->hold_context, pid);
        file_close(&plumbing->hold_write); /* it goes on */
    }
    while (received && failure->code == 0)
        received = hear_child(plumbing, failure);
    return -failure->code;
}

static int explain(const char *command, const struct failure *failure, struct metron_error *error)
{
    static const char *const steps[] = {
        [STEP_CGROUP] = "put it into its control group (--cgroup off does without)",
        [STEP_SESSION] = "make a session for it",
        [STEP_TERMINAL] = "give it a terminal",
        [STEP_STDIO] = "arrange its stdio",
        [STEP_LIMIT] = "restore its limit of open files",
    };
    struct strbuf name = STRBUF_INIT;

    if (failure->step == STEP_EXEC)
        return failure_explain(command, -failure->code, error);
    text_printable(&name, command, strlen(command));
    error_set(error, -failure->code, "'%s': cannot %s: %s", strbuf_text(&name), steps[failure->step],
              strerror(failure->code));
    strbuf_fini(&name);
    return -failure->code;
}

/* A fork whose child begins in the given group: moving it there afterwards would take a lock that every fork
 * of the machine waits for. The child may only do what the child of a process with threads may, as after
 * fork; that glibc does not know of it matters only to what it never calls. */
static pid_t fork_into(int cgroup_fd)
{
    struct clone_args arguments = {
        .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned)cgroup_fd};

    return (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
}

static int fork_command(const struct launch_options *options, struct plumbing *plumbing, struct launched *out,
                        struct metron_error *error)
{
    struct failure failure;
    sigset_t all, before;

    int code = open_pipe(&plumbing->failure_read, &plumbing->failure_write);

    if (code == 0 && options->hold) {
        find_command(options->argv[0], plumbing->path);
        code = open_pipe(&plumbing->hold_read, &plumbing->hold_write);
    }
    if (code < 0)
        return error_set(error, code, "cannot make a pipe: %s", strerror(-code));
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    out->start_wall = clock_wall();
    out->start_ns = clock_monotonic_ns();
    bool entered = options->cgroup && options->cgroup->folder_fd >= 0;
    out->pid = entered ? fork_into(options->cgroup->folder_fd) : -1;
    if (out->pid < 0) {
        entered = false;
        out->pid = fork();
    }
    if (out->pid == 0) {
        failure = (struct failure){.step = become_command(options, plumbing, &before, entered)};
        failure.code = errno;
        (void)!write(plumbing->failure_write, &failure, sizeof(failure));
        _exit(127);
    }
    code = out->pid < 0 ? -errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code < 0)
        return error_set(error, code, "cannot start a process: %s", strerror(-code));

    file_close(&plumbing->failure_write);
    file_close(&plumbing->hold_read);
    code = await_exec(options, plumbing, out->pid, &failure);
    out->inherited_rss_bytes = failure.inherited_rss_bytes;
    if (code == 0)
        return 0;
    while (waitpid(out->pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
    return explain(options->argv[0], &failure, error);
}

int launch_start(const struct launch_options *options, struct launched *out, struct metron_error *error)
{
    struct plumbing plumbing = {.child = {-1, -1, -1},
                                .ours = {-1, -1, -1},
                                .slave = -1,
                                .failure_read = -1,
                                .failure_write = -1,
                                .hold_read = -1,
                                .hold_write = -1};

    *out = (struct launched){.pid = -1, .stdout_fd = -1, .stderr_fd = -1};

    int code = prepare_outputs(options, &plumbing, out, error);

    if (code == 0)
        code = open_input(options, &plumbing, out, error);
    if (code == 0)
        code = fork_command(options, &plumbing, out, error);
    if (code == 0) {
        out->stdout_fd = plumbing.ours[STDOUT_FILENO];
        out->stderr_fd = plumbing.ours[STDERR_FILENO];
        plumbing.ours[STDOUT_FILENO] = plumbing.ours[STDERR_FILENO] = -1;
    } else {
        out->pid = -1;
    }
    plumbing_close(&plumbing);
    return code;
}

int launch_failure_exit_code(int code)
{
    return code == -ENOENT ? 127 : 126;
}
