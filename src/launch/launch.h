/*
 * Starting a command: session, terminal, pipes, signal dispositions, limits; and knowing whether exec worked.
 *
 * The command is forked (not vforked) from this process, which must still be small: a child's ru_maxrss
 * starts from what its parent held at the fork, and after vfork from the parent's lifetime peak.
 */
#ifndef METRON_LAUNCH_LAUNCH_H
#define METRON_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"

/* The control groups that the command enters before it runs. */
struct launch_cgroup {
    int folder_fd;       /* a v2 group's folder; -1: none */
    int procs_fd;        /* its cgroup.procs, for kernels that cannot start a process inside (before 5.7) */
    const int *join_fds; /* files of v1 groups to enter by writing "0" to them */
    size_t join_count;
};

struct launch_options {
    char *const *argv;        /* NULL-terminated; argv[0] is looked up in PATH */
    char *const *environment; /* NULL-terminated; NULL: the caller's own */
    bool new_session;         /* setsid: the command and its descendants leave our session */
    bool pty;                 /* the command gets a terminal of its own (implies new_session) */
    bool pipe_stdout;         /* give us the read end; else inherited (with pty: the terminal) */
    bool pipe_stderr;
    /* Called with our ends (with pty: the master, and -1), before the command is started, to put a reader in
     * place, which has its own copies of them: of ours, only a pty's master is kept. If that or a pipe or pty
     * is not available, the command gets our own stdout and stderr instead, and `launched` says why. NULL:
     * the caller reads them once the command runs, and what is not available is an error. */
    int (*read_outputs)(void *context, int stdout_fd, int stderr_fd, struct metron_error *error);
    void *read_context;
    const struct launch_cgroup *cgroup; /* where the command starts; NULL: where we are */
    const struct rlimit *open_files;    /* restored in the child if not NULL: metron raises its own */
    pid_t tracer; /* this process may trace the command, where the kernel asks for consent (Yama); 0: none */
    /* Called when the command's process is ready; it executes the command when this has returned. NULL: it
     * does not wait. */
    void (*hold)(void *context, pid_t pid);
    void *hold_context;
};

struct launched {
    pid_t pid;
    uint64_t start_ns; /* monotonic, just before the fork */
    struct timespec start_wall;
    int stdout_fd, stderr_fd; /* our read ends, CLOEXEC; -1 where inherited. pty: stdout_fd is the master */
    /* Our stdin is a terminal and we are a background job on it. In a session of its own the command would
     * not be stopped when it reads, as a background job should, but take the shell's input: it reads
     * /dev/null. (A job that was started in the foreground and is moved with `bg` keeps the terminal: without
     * a pty, nothing stops it from reading there.) */
    bool stdin_withheld;
    /* What the command's ru_maxrss began with, whatever it uses itself: a floor under small values. */
    uint64_t inherited_rss_bytes;
    bool outputs_are_ours;            /* nothing is captured, */
    struct metron_error why_not_read; /* because of this */
};

/* Starts the command. 0; or -ENOENT-like errno of exec or of an earlier step, with a message that names the
 * command. On failure nothing is left behind: no child, no descriptor. */
int launch_start(const struct launch_options *options, struct launched *out, struct metron_error *error);
/* The exit code a shell gives for a command that cannot be run: 127 not found, 126 found but not executable.
 */
int launch_failure_exit_code(int code);

#endif
