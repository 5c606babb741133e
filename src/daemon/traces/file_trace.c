#include "daemon/traces/file_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/worker.h"
#include "daemon/wake_watch.h"
#include "loop/trace_targets.h"
#include "probe/strace/program.h"
#include "probe/strace/target.h"

#define ATTACH_LIMIT_MS 10000
#define STOP_LIMIT_NS   (5 * NS_PER_SECOND) /* then strace is killed */
#define STOPPING_MS     50
#define BUFFER_BYTES    (64UL * 1024)
#define NAMES_MAX       100 /* of one process, in one second */

struct file_trace {
    struct file_trace_options options;
    struct worker worker; /* woken: it is to end; its news: the state has changed */
    struct wake_watch *watch;
    atomic_int state;
    /* The thread's until it has ended or failed; the path until it runs. */
    char path[PATH_MAX];
    int file_fd;
    struct strace_run *strace;
    uint64_t bytes;
    uint64_t stop_ns; /* when strace was told to end; 0: not yet */
    struct metron_error error;
    char buffer[BUFFER_BYTES];
};

/* ---- the file ---- */

/* The folder is ours alone: nobody else can put a link where the file will be. */
static int open_folder(const char *path, struct metron_error *error)
{
    struct stat folder;
    int code = file_make_folders(path, error);

    if (code < 0)
        return code;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return error_set(error, -errno, "cannot make the folder '%s': %s", path, strerror(errno));
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &folder) != 0) {
        code = error_set(error, -errno, "the folder '%s' cannot be opened: %s", path, strerror(errno));
    } else if (folder.st_uid != geteuid() || (folder.st_mode & (S_IWGRP | S_IWOTH))) {
        code = error_set(error, -EACCES, "the folder '%s' is not the daemon's alone: others may write to it",
                         path);
    }
    if (code == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return code;
}

/* FOLDER/PID-TIME.trace; a second one of the same process and second gets a number. */
static int open_file(struct file_trace *trace, struct metron_error *error)
{
    const char *folder = trace->options.folder;
    char time_text[CLOCK_ISO_SIZE], name[64];
    int folder_fd = open_folder(folder, error);

    if (folder_fd < 0)
        return folder_fd;
    (void)clock_file_stamp(clock_wall(), time_text);
    for (int i = 1; i <= NAMES_MAX && trace->file_fd < 0; i++) {
        if (i == 1)
            (void)snprintf(name, sizeof(name), "%d-%s.trace", (int)trace->options.pid, time_text);
        else
            (void)snprintf(name, sizeof(name), "%d-%s-%d.trace", (int)trace->options.pid, time_text, i);
        trace->file_fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (trace->file_fd < 0 && errno != EEXIST)
            break;
    }
    int code = trace->file_fd < 0 ? -errno : 0;
    (void)close(folder_fd);
    int length = snprintf(trace->path, sizeof(trace->path), "%s/%s", folder, name);
    if (code == 0 && (size_t)length >= sizeof(trace->path))
        code = -ENAMETOOLONG;
    return code < 0 ? error_set(error, code, "cannot make '%s/%s': %s", folder, name, strerror(-code)) : 0;
}

/* ---- the thread ---- */

static int attach(struct file_trace *trace, struct metron_error *error)
{
    struct trace_targets *targets = NULL;
    pid_t *pids = NULL;
    size_t count = 0;
    int code = strace_target_check("/proc", trace->options.pid, error);

    if (code == 0)
        code = strace_available(error);
    if (code == 0)
        code = open_file(trace, error);
    if (code == 0)
        code = strace_start(STRACE_FULL, &trace->strace, error);
    if (code == 0)
        code = trace_targets_open(trace->options.pid, &targets, error);
    if (code == 0)
        code = trace_targets_list(targets, &pids, &count, error);
    if (code == 0)
        code = strace_release(trace->strace, pids, count, error);
    if (code == 0)
        code = strace_wait_attached(trace->strace, ATTACH_LIMIT_MS, error);
    free(pids);
    trace_targets_close(targets);
    return code;
}

static void stop(struct file_trace *trace)
{
    if (trace->stop_ns == 0)
        trace->stop_ns = clock_monotonic_ns();
    strace_interrupt(trace->strace);
}

/* What does not fit is read all the same: strace cannot detach while it is stuck in a write. */
static void save(struct file_trace *trace, size_t length)
{
    uint64_t room = trace->options.limit_bytes - trace->bytes;
    size_t fits = length < room ? length : (size_t)room;

    if (trace->error.code)
        return;
    int code = file_write_all(trace->file_fd, trace->buffer, fits);
    if (code < 0)
        (void)error_set(&trace->error, code, "the trace was ended: it cannot be written: %s",
                        strerror(-code));
    else
        trace->bytes += fits;
    if (code == 0 && fits < length)
        (void)error_set(&trace->error, -EFBIG, "the trace was ended: the file has reached %llu MiB",
                        (unsigned long long)(trace->options.limit_bytes >> 20));
    if (trace->error.code)
        stop(trace);
}

/* Until strace has closed its output. */
static void pump(struct file_trace *trace)
{
    for (;;) {
        struct pollfd polled[] = {{.fd = strace_output_fd(trace->strace), .events = POLLIN},
                                  {.fd = trace->stop_ns ? -1 : trace->worker.wake_fd, .events = POLLIN}};

        if (poll(polled, 2, trace->stop_ns ? STOPPING_MS : -1) < 0 && errno != EINTR)
            break;
        if (polled[1].revents)
            stop(trace);
        if (polled[0].revents) {
            ssize_t length = read(polled[0].fd, trace->buffer, BUFFER_BYTES);
            if (length == 0 || (length < 0 && errno != EINTR))
                break;
            if (length > 0)
                save(trace, (size_t)length);
        }
        if (trace->stop_ns && clock_monotonic_ns() - trace->stop_ns > STOP_LIMIT_NS)
            break;
    }
}

static void run(void *owner)
{
    struct file_trace *trace = owner;
    struct metron_error ending = {0};
    int code = attach(trace, &trace->error);

    if (code < 0) {
        trace->error.code = code;
        if (trace->file_fd >= 0)
            (void)unlink(trace->path);
        strace_free(trace->strace);
        trace->strace = NULL;
        atomic_store(&trace->state, TRACE_FAILED);
        return;
    }
    trace->error = (struct metron_error){0};
    atomic_store(&trace->state, TRACE_RUNS);
    worker_notify(&trace->worker);
    pump(trace);
    code = strace_stop(trace->strace, NULL, NULL, &ending);
    if (code < 0 && !trace->error.code)
        trace->error = ending;
    strace_free(trace->strace);
    trace->strace = NULL;
    atomic_store(&trace->state, TRACE_ENDED);
}

/* ---- the loop's thread ---- */

static void release(void *owner)
{
    struct file_trace *trace = owner;

    if (trace->file_fd >= 0)
        (void)close(trace->file_fd);
    free(trace);
}

int file_trace_start(const struct file_trace_options *options, struct file_trace **out)
{
    struct file_trace *trace = calloc(1, sizeof(*trace));
    const struct worker_options worker = {
        .name = "metron-trace", .run = run, .release = release, .owner = trace};

    if (!trace)
        return -ENOMEM;
    trace->options = *options;
    trace->file_fd = -1;
    int code = worker_start(&trace->worker, &worker);
    if (code < 0) {
        free(trace);
        return code;
    }
    trace->watch = wake_watch_new(options->loop, trace->worker.news_fd, options->on_change, options->owner);
    if (!trace->watch) {
        file_trace_free(trace);
        return -ENOMEM;
    }
    *out = trace;
    return 0;
}

void file_trace_stop(struct file_trace *trace)
{
    worker_stop(&trace->worker);
}

void file_trace_join(struct file_trace *trace)
{
    (void)worker_await(&trace->worker, -1);
}

void file_trace_free(struct file_trace *trace)
{
    if (!trace)
        return;
    wake_watch_free(trace->watch);
    file_trace_stop(trace);
    file_trace_join(trace);
    (void)worker_free(&trace->worker);
}

enum file_trace_state file_trace_state(const struct file_trace *trace)
{
    return (enum file_trace_state)atomic_load(&trace->state);
}

const char *file_trace_path(const struct file_trace *trace)
{
    return trace->path;
}

uint64_t file_trace_bytes(const struct file_trace *trace)
{
    return trace->bytes;
}

const struct metron_error *file_trace_error(const struct file_trace *trace)
{
    return &trace->error;
}
