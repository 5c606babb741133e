/*
 * Between strace's pipe, the file and the screen. The daemon traces into a file alone (daemon/traces).
 *
 * One thread reads what strace writes, counts, and saves it; what is to be shown goes on through a second
 * pipe to a thread of its own (launch/capture.h), since a screen may stand still. While it does, nothing is
 * read, and strace with its targets waits, as with strace alone; but a signal is answered all the same: then
 * the screen has a moment left, and what it does not take is only saved.
 *
 * strace has to be read until it ends, also while it is being stopped: it cannot detach while it is stuck in
 * a write.
 */
#include "loop/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "launch/capture.h"
#include "launch/signals.h"
#include "loop/tracees.h"
#include "probe/kernel.h"
#include "probe/strace/lines.h"
#include "probe/strace/program.h"
#include "probe/strace/target.h"
#include "tree/tree.h"

#define ATTACH_LIMIT_MS 10000
#define BUFFER_BYTES    (64UL * 1024)
#define SCREEN_LAST_MS  500  /* of a screen that stands still, once the trace is being stopped */
#define STOP_LIMIT_MS   5000 /* then strace is killed */

struct trace {
    const struct trace_options *options;
    struct trace_outcome *outcome;
    struct tree *tree;
    struct strace_run *strace;
    struct strace_counter counter;
    struct capture *screen; /* NULL: not shown (any more) */
    int screen_fd;          /* write end of the pipe to it, non-blocking; -1: none */
    int folder_fd;          /* where the file is, if its name is ours; else AT_FDCWD */
    const char *name;       /* in there */
    int file_fd;
    bool file_made;   /* by us */
    int stop_fd;      /* of signals, or the caller's */
    uint64_t stop_ns; /* when it was told to stop; 0: not yet */
    char buffer[BUFFER_BYTES];
    size_t length, shown; /* of what was read last; all of it is saved by then */
};

/* ---- who is traced: the process and its descendants ---- */

static int open_tree(struct trace *trace, struct metron_error *error)
{
    struct kernel_facts facts;
    int code = kernel_facts_read("/proc", &facts);

    if (code < 0)
        return error_set(error, code, "/proc cannot be read: %s", strerror(-code));
    const struct tree_options options = {
        .proc_root = "/proc", .facts = &facts, .start_ns = clock_monotonic_ns()};
    trace->tree = tree_new(&options, error);
    code = trace->tree            ? tree_add_root(trace->tree, trace->options->pid)
           : error && error->code ? error->code
                                  : -ENOMEM;
    if (code == -ENOMEM)
        (void)error_set(error, code, "no memory for the list of processes");
    return code;
}

static int attach(struct trace *trace, struct metron_error *error)
{
    pid_t *pids = NULL;
    size_t count = 0;
    int code = open_tree(trace, error);

    if (code == 0)
        code = strace_start(NULL, &trace->strace, error);
    if (code == 0)
        code = tracees_list(trace->tree, trace->options->pid, &pids, &count, error);
    if (code == 0)
        code = strace_release(trace->strace, pids, count, error);
    if (code == 0)
        code = strace_wait_attached(trace->strace, ATTACH_LIMIT_MS, error);
    free(pids);
    if (code < 0)
        return code;
    if (trace->options->on_attached) {
        trace->options->on_attached(trace->options->owner);
        return 0;
    }
    log_info("tracing process %d and %zu descendant%s; Ctrl-C detaches", (int)trace->options->pid, count - 1,
             count == 2 ? "" : "s");
    tracees_warn_of_missed(trace->tree);
    return 0;
}

/* ---- where it goes ---- */

static int open_file(struct trace *trace, struct metron_error *error)
{
    const char *path = trace->options->path;
    const char *slash = strrchr(path, '/');
    const bool ours = trace->options->path_is_ours, is_default = trace->options->path_is_default;
    struct stat file;
    int code = (is_default ? file_open_own_folder : file_make_folders)(path, error);

    if (code < 0)
        return code;
    trace->folder_fd = is_default ? code : AT_FDCWD;
    trace->name = is_default && slash ? slash + 1 : path;
    trace->file_fd = openat(trace->folder_fd, trace->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    trace->file_made = trace->file_fd >= 0;
    if (trace->file_fd < 0 && errno == EEXIST) {
        /* A user who names a device or a link wants the trace there; under a name that metron chose,
         * nobody does. */
        bool is_file = fstatat(trace->folder_fd, trace->name, &file, ours ? AT_SYMLINK_NOFOLLOW : 0) == 0 &&
                       S_ISREG(file.st_mode);

        if (ours && !is_file)
            return error_set(error, -EEXIST, "'%s' is not a regular file; choose another --output-prefix",
                             path);
        if (is_file && !trace->options->clobber)
            return error_set(error, -EEXIST, "'%s' is there already; choose another name or use --clobber",
                             path);
        trace->file_fd =
            openat(trace->folder_fd, trace->name, O_WRONLY | O_TRUNC | O_CLOEXEC | (ours ? O_NOFOLLOW : 0));
        if (trace->file_fd >= 0 && fstat(trace->file_fd, &file) == 0 && S_ISREG(file.st_mode))
            (void)fchmod(trace->file_fd, 0600); /* whatever the older file let others do */
    }
    if (trace->file_fd >= 0)
        return 0;
    code = -errno;
    return error_set(error, code, "cannot make '%s': %s", path, strerror(-code));
}

static int open_screen(struct trace *trace, struct metron_error *error)
{
    int ends[2];

    if (!trace->options->show)
        return 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(error, -errno, "cannot make a pipe: %s", strerror(errno));
    trace->screen_fd = ends[1];
    (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
    const struct capture_options options = {
        .source_fd = ends[0], .show_fd = STDOUT_FILENO, .record_fd = -1, .name = "the trace"};
    return capture_start(&options, &trace->screen, error);
}

/* Ctrl-Z would hold up the target with us, which nobody means: it is ignored. What the caller had ignored
 * (nohup) stays so. */
static int open_signals(struct trace *trace, struct metron_error *error)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t wanted;

    (void)sigemptyset(&wanted);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (!launch_signal_was_ignored(numbers[i]))
            (void)sigaddset(&wanted, numbers[i]);
    (void)pthread_sigmask(SIG_BLOCK, &wanted, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGTSTP, SIG_IGN);
    trace->stop_fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return trace->stop_fd < 0 ? error_set(error, -errno, "cannot wait for signals: %s", strerror(errno)) : 0;
}

/* ---- the pump ---- */

static void stop(struct trace *trace)
{
    if (trace->stop_ns == 0)
        trace->stop_ns = clock_monotonic_ns();
    strace_interrupt(trace->strace);
}

static void leave_screen(struct trace *trace)
{
    file_close(&trace->screen_fd);
    trace->shown = trace->length;
}

static void leave_file(struct trace *trace)
{
    if (trace->options->path)
        (void)close(trace->file_fd);
    trace->file_fd = -1;
}

/* What does not fit is read all the same. */
static void save(struct trace *trace)
{
    const uint64_t limit = trace->options->limit_bytes ? trace->options->limit_bytes : UINT64_MAX;
    const uint64_t room = limit - trace->outcome->bytes;
    const size_t fits = trace->length < room ? trace->length : (size_t)room;

    if (trace->file_fd < 0)
        return;
    int code = file_write_all(trace->file_fd, trace->buffer, fits);
    if (code == 0)
        trace->outcome->bytes += fits;
    if (code == 0 && fits == trace->length)
        return;
    trace->outcome->file_code = code < 0 ? code : -EFBIG;
    leave_file(trace);
    if (trace->options->path)
        log_warning("the trace is not saved any more: '%s': %s%s", trace->options->path, strerror(-code),
                    trace->screen_fd >= 0 ? "; it is still shown" : "");
    if (trace->screen_fd < 0)
        stop(trace);
}

/* False at the end: strace has ended. */
static bool take(struct trace *trace)
{
    ssize_t count = read(strace_output_fd(trace->strace), trace->buffer, BUFFER_BYTES);

    if (count < 0)
        return errno == EINTR;
    trace->length = (size_t)count;
    trace->shown = trace->screen_fd >= 0 ? 0 : trace->length;
    strace_counter_add(&trace->counter, trace->buffer, trace->length);
    save(trace);
    return count > 0;
}

static void show(struct trace *trace)
{
    ssize_t count = write(trace->screen_fd, trace->buffer + trace->shown, trace->length - trace->shown);

    if (count >= 0) {
        trace->shown += (size_t)count;
    } else if (errno != EINTR && errno != EAGAIN) { /* whoever read has gone: nobody wants more of it */
        leave_screen(trace);
        stop(trace);
    }
}

static void answer_stop(struct trace *trace)
{
    struct signalfd_siginfo one; /* an eventfd gives less, at once */

    while (read(trace->stop_fd, &one, sizeof(one)) > 0) {
        if (trace->stop_ns != 0) /* the second one: not even for the screen */
            leave_screen(trace);
        stop(trace);
    }
}

static uint64_t stopping_ms(const struct trace *trace)
{
    return trace->stop_ns ? (clock_monotonic_ns() - trace->stop_ns) / 1000000 : 0;
}

/* Until strace has closed its output. */
static void pump(struct trace *trace)
{
    for (;;) {
        bool showing = trace->shown < trace->length;
        struct pollfd polled[] = {
            {.fd = trace->stop_fd, .events = POLLIN},
            {.fd = showing ? -1 : strace_output_fd(trace->strace), .events = POLLIN},
            {.fd = showing ? trace->screen_fd : -1, .events = POLLOUT},
            /* Nothing but the news that its reader has gone, which also comes while nothing is written. */
            {.fd = trace->screen_fd >= 0 ? STDOUT_FILENO : -1, .events = 0},
        };

        if (poll(polled, 4, trace->stop_ns ? 50 : -1) < 0 && errno != EINTR)
            break;
        if (polled[0].revents)
            answer_stop(trace);
        if (polled[3].revents & (POLLERR | POLLHUP | POLLNVAL)) {
            leave_screen(trace);
            stop(trace);
        } else if (polled[2].revents && trace->screen_fd >= 0) {
            show(trace);
        }
        if (polled[1].revents && !take(trace))
            break;
        if (stopping_ms(trace) >= SCREEN_LAST_MS && trace->shown < trace->length)
            leave_screen(trace);
        if (stopping_ms(trace) >= STOP_LIMIT_MS)
            break;
    }
}

/* The last bytes are on their way to the screen: they have a moment, unless the user is impatient. */
static void finish_screen(struct trace *trace)
{
    uint64_t end_ns = clock_monotonic_ns() + (uint64_t)SCREEN_LAST_MS * 1000000;

    file_close(&trace->screen_fd);
    if (!trace->screen)
        return;
    for (;;) {
        struct pollfd polled[] = {{.fd = capture_news_fd(trace->screen), .events = POLLIN},
                                  {.fd = trace->stop_fd, .events = POLLIN}};
        /* A reader that is merely slow gets all of it, as long as nobody has asked for the end. */
        int ready = poll(polled, 2, trace->stop_ns ? SCREEN_LAST_MS : -1);
        bool late = trace->stop_ns && clock_monotonic_ns() >= end_ns;
        if ((ready > 0 && (polled[0].revents || polled[1].revents)) || late || (ready < 0 && errno != EINTR))
            break;
    }
    capture_free(trace->screen);
    trace->screen = NULL;
}

static void trace_close(struct trace *trace, bool remove_file)
{
    strace_free(trace->strace);
    file_close(&trace->screen_fd);
    capture_free(trace->screen);
    if (trace->options->path) {
        file_close(&trace->file_fd);
        file_close(&trace->stop_fd);
    }
    tree_free(trace->tree);
    if (remove_file && trace->file_made)
        (void)unlinkat(trace->folder_fd, trace->name, 0);
    file_close(&trace->folder_fd);
    free(trace);
}

int trace_check(pid_t pid, struct metron_error *error)
{
    if (pid == getpid())
        return error_set(error, -EINVAL, "process %d is this metron: it cannot trace itself", (int)pid);
    int code = strace_target_check("/proc", pid, error);
    return code < 0 ? code : strace_available(error);
}

int trace_execute(const struct trace_options *options, struct trace_outcome *outcome,
                  struct metron_error *error)
{
    struct trace *trace = calloc(1, sizeof(*trace));

    if (!trace)
        return error_set(error, -ENOMEM, "no memory for a trace");
    trace->options = options;
    trace->outcome = outcome;
    trace->screen_fd = -1;
    trace->file_fd = options->path ? -1 : options->file_fd;
    trace->stop_fd = options->path ? -1 : options->stop_fd;
    trace->folder_fd = AT_FDCWD;
    *outcome = (struct trace_outcome){0};
    /* A target that cannot be traced should cost no file and no folder. */
    int code = trace_check(options->pid, error);
    if (code == 0 && options->path)
        code = open_file(trace, error);
    if (code == 0 && options->path)
        code = open_signals(trace, error);
    if (code == 0)
        code = attach(trace, error);
    if (code == 0)
        code = open_screen(trace, error);
    if (code == 0) {
        pump(trace);
        if (strace_stop(trace->strace, &outcome->ending) < 0 && options->path)
            log_warning("%s", outcome->ending.message);
        finish_screen(trace);
        outcome->calls = trace->counter.calls;
    }
    trace_close(trace, code < 0);
    return code;
}
