/*
 * A full trace of the system calls of a process, its descendants, and what they start: shown as it happens,
 * and saved.
 */
#ifndef METRON_LOOP_TRACE_H
#define METRON_LOOP_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct trace_options {
    pid_t pid;
    const char *path;     /* the file; made with mode 0600, its folders too. NULL: file_fd */
    bool path_is_ours;    /* metron chose the name: no link is followed */
    bool path_is_default; /* and the folder: it must be the caller's or root's */
    bool clobber;         /* it may be there already */
    bool show;            /* on stdout as well */
    /* For a trace beside other work, in a thread of its own; without `path`. */
    int file_fd;          /* open; borrowed */
    uint64_t limit_bytes; /* of the file: then the trace ends */
    int stop_fd;          /* an eventfd; readable: the trace is to end */
    void (*on_attached)(void *owner);
    void *owner;
};

struct trace_outcome {
    uint64_t calls;             /* begun while traced */
    uint64_t bytes;             /* saved */
    int file_code;              /* 0: every byte was saved; -EFBIG: the limit was reached; a negative errno */
    struct metron_error ending; /* what went wrong when strace ended; code 0: nothing */
};

/* Whether the process can be traced, as far as is known before it is tried. 0; or a negative errno with one
 * line. */
int trace_check(pid_t pid, struct metron_error *error);
/* Traces until the last process has ended, or it is to end; strace is then gone too, and the processes go on.
 * 0; or a negative errno with one line: nothing was traced, and a file made here is removed again.
 *
 * With `path`, the trace is all that this program does: it ends with a SIGINT, SIGTERM or SIGHUP, or when
 * the reader of stdout has gone, and it logs what happens. Call it once, before any other thread is there. */
int trace_execute(const struct trace_options *options, struct trace_outcome *outcome,
                  struct metron_error *error);

#endif
