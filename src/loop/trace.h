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
    const char *path;     /* the file; made with mode 0600, its folders too */
    bool path_is_ours;    /* metron chose the name: no link is followed */
    bool path_is_default; /* and the folder: it must be the caller's or root's */
    bool clobber;         /* it may be there already */
    bool show;            /* on stdout as well */
};

struct trace_outcome {
    uint64_t calls;     /* begun while traced */
    bool file_is_whole; /* every byte was saved */
};

/* Traces until the last process has ended, a SIGINT, SIGTERM or SIGHUP has come, or whoever read stdout has
 * gone; strace is then gone too, and the processes go on. 0; or a negative errno with one line: nothing was
 * traced, and a file made here is removed again. Call it once, before any other thread is there. */
int trace_execute(const struct trace_options *options, struct trace_outcome *outcome,
                  struct metron_error *error);

#endif
