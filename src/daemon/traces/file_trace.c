#include "daemon/traces/file_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "loop/trace.h"

#define NAMES_MAX 100 /* of one process, in one second */

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
    file_close(&fd);
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

static void on_attached(void *owner)
{
    struct file_trace *trace = owner;

    atomic_store(&trace->state, TRACE_RUNS);
    worker_notify(&trace->worker);
}

/* Once it has ended: what is missing in the file. */
static void take_outcome(struct file_trace *trace, const struct trace_outcome *outcome)
{
    trace->bytes = outcome->bytes;
    trace->error = outcome->ending;
    if (outcome->file_code && outcome->bytes == trace->options.limit_bytes)
        (void)error_set(&trace->error, -EFBIG, "the trace was ended: the file has reached %llu MiB",
                        (unsigned long long)(trace->options.limit_bytes >> 20));
    else if (outcome->file_code)
        (void)error_set(&trace->error, outcome->file_code, "the trace was ended: it cannot be written: %s",
                        strerror(-outcome->file_code));
}

static void run(void *owner)
{
    struct file_trace *trace = owner;
    struct trace_options options = {.pid = trace->options.pid,
                                    .limit_bytes = trace->options.limit_bytes,
                                    .stop_fd = trace->worker.wake_fd,
                                    .on_attached = on_attached,
                                    .owner = trace};
    struct trace_outcome outcome;
    int code = trace_check(options.pid, &trace->error);

    if (code == 0)
        code = open_file(trace, &trace->error);
    options.file_fd = trace->file_fd;
    if (code == 0)
        code = trace_execute(&options, &outcome, &trace->error);
    trace->error.code = code;
    if (code < 0 && trace->file_fd >= 0)
        (void)unlink(trace->path);
    if (code == 0)
        take_outcome(trace, &outcome);
    atomic_store(&trace->state, code < 0 ? TRACE_FAILED : TRACE_ENDED);
}

/* ---- the loop's thread ---- */

static void release(void *owner)
{
    struct file_trace *trace = owner;

    file_close(&trace->file_fd);
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

void file_trace_free(struct file_trace *trace)
{
    if (!trace)
        return;
    wake_watch_free(trace->watch);
    worker_stop(&trace->worker);
    (void)worker_await(&trace->worker, -1);
    (void)worker_free(&trace->worker);
}
