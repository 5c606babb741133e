/*
 * A full trace of a process tree into a file, in a thread of its own: strace writes as fast as its processes
 * call, and a disk that is slow holds them up, not the daemon.
 *
 * strace ends when the thread that started it ends, however that comes about, and its processes go on: so a
 * trace lasts no longer than the daemon, even if that is killed.
 */
#ifndef METRON_DAEMON_TRACES_FILE_TRACE_H
#define METRON_DAEMON_TRACES_FILE_TRACE_H

#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/error.h"

struct file_trace;

struct file_trace_options {
    pid_t pid;
    const char *folder;   /* where files lie; made with mode 0700. Borrowed */
    uint64_t limit_bytes; /* of the file: then the trace ends */
    uv_loop_t *loop;
    void (*on_change)(void *owner); /* the state has changed; in the loop */
    void *owner;
};

enum file_trace_state {
    TRACE_BEGINS,
    TRACE_RUNS,   /* every call of the process is written from now on */
    TRACE_ENDED,  /* by file_trace_stop, with its last process, or at the limit */
    TRACE_FAILED, /* nothing was traced, and no file is left */
};

/* 0 or a negative errno: nothing was begun. */
int file_trace_start(const struct file_trace_options *options, struct file_trace **out);
/* Tells it to end; returns at once. */
void file_trace_stop(struct file_trace *trace);
/* Waits until it has ended, some seconds at most. */
void file_trace_join(struct file_trace *trace);
/* One that still runs is told to end and waited for. NULL is allowed. */
void file_trace_free(struct file_trace *trace);

enum file_trace_state file_trace_state(const struct file_trace *trace);
const char *file_trace_path(const struct file_trace *trace); /* once it runs or has ended */
uint64_t file_trace_bytes(const struct file_trace *trace);   /* once it has ended */
/* Once it has failed: why. Once it has ended: what is missing in the file; code 0: nothing. */
const struct metron_error *file_trace_error(const struct file_trace *trace);

#endif
