/*
 * A process of ours that takes the command's output to the screen and to its files, as long as somebody can
 * write it: until the last writer has closed it, not until metron ends. So a command whose metron was killed,
 * and a child that outlives the command, go on writing as they would without metron.
 *
 * It is forked without exec, before the command and in a session of its own, and is never part of the target.
 * Of metron's descriptors it keeps only those it needs. It also notes when the command ended, which metron
 * may notice late, and restores the user's terminal if metron was killed.
 */
#ifndef METRON_LAUNCH_CAPTURE_PROCESS_H
#define METRON_LAUNCH_CAPTURE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/error.h"
#include "launch/keyboard.h"

enum { CAPTURE_STREAMS = 2 }; /* stdout and stderr; on a pty all is stdout */

struct capture_stream {
    int source_fd; /* borrowed: the process has its own; -1: not captured */
    int show_fd;   /* 1, 2 or -1 */
    int record_fd; /* -1: none */
};

struct capture_process;

/* Returns when the process is ready to read; an errno such as -EAGAIN if it could not be started. */
int capture_process_start(const struct capture_stream streams[CAPTURE_STREAMS], struct capture_process **out,
                          struct metron_error *error);
pid_t capture_process_pid(const struct capture_process *process); /* 0: it has been reaped */
/* Where the keyboard notes what it did to the user's terminal. */
struct keyboard_terminal *capture_process_terminal(struct capture_process *process);
/* The command was started, and has not been reaped yet. */
void capture_process_watch(struct capture_process *process, pid_t command);
/* Asks to deliver what the command has written so far. `fd` is then readable. */
void capture_process_deliver(struct capture_process *process);
int capture_process_fd(const struct capture_process *process); /* borrowed */
enum capture_news {
    CAPTURE_WARNED,    /* it was logged */
    CAPTURE_DELIVERED, /* what was asked for */
    CAPTURE_ENDED,     /* nobody writes any more, or the screen has gone: close what is kept of a pty */
};
/* Takes one message. */
enum capture_news capture_process_read(struct capture_process *process);
/* When the command ended (monotonic); 0: not known (yet). */
uint64_t capture_process_end_ns(const struct capture_process *process);
/* CPU seconds it has used so far. */
double capture_process_cpu_seconds(struct capture_process *process);
/* A child was reaped: was it this one? */
bool capture_process_reaped(struct capture_process *process, pid_t pid, const struct rusage *usage);
/* Releases it: it exits on its own when there is nothing more to deliver. Once CAPTURE_ENDED was read, it has
 * exited. NULL is allowed. */
void capture_process_free(struct capture_process *process);
/* Ends it, when no command was started: nothing of it is left. */
void capture_process_cancel(struct capture_process *process);

#endif
