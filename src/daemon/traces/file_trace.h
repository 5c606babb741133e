/*
 * A full trace of a process tree into a file, in a thread of its own: strace writes as fast as its processes
 * call, and a disk that is slow holds them up, not the daemon.
 *
 * strace ends when the thread that started it ends, however that comes about, and its processes go on: so a
 * trace lasts no longer than the daemon, even if that is killed.
 */
#ifndef METRON_DAEMON_TRACES_FILE_TRACE_H
#define METRON_DAEMON_TRACES_FILE_TRACE_H

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/error.h"
#include "base/worker.h"
#include "daemon/wake_watch.h"

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
    TRACE_ENDED,  /* by worker_stop, with its last process, or at the limit */
    TRACE_FAILED, /* nothing was traced, and no file is left */
};

/* For the loop's thread to read, once the state is so. */
struct file_trace {
    struct file_trace_options options;
    struct worker worker; /* worker_stop ends the trace, within some seconds */
    struct wake_watch *watch;
    _Atomic enum file_trace_state state;
    char path[PATH_MAX]; /* runs, or has ended */
    int file_fd;
    uint64_t bytes; /* has ended */
    /* Has failed: why. Has ended: what is missing in the file; code 0: nothing. */
    struct metron_error error;
};

/* 0 or a negative errno: nothing was begun. */
int file_trace_start(const struct file_trace_options *options, struct file_trace **out);
/* One that still runs is ended and waited for. NULL is allowed. */
void file_trace_free(struct file_trace *trace);

#endif
