/*
 * Running strace. No shell; nothing of our own surroundings but the time zone: default signals, a process
 * group of its own (the keyboard's Ctrl-C is for us), no terminal.
 *
 * Its messages go into a pipe that does not block it: strace announces every process it follows, and if that
 * could fill a pipe that nobody reads, strace and with it the target would stand still. What does not fit is
 * lost.
 *
 * An announcement comes after PTRACE_INTERRUPT was sent: from then on the process cannot run another
 * instruction of its own before strace has seen it stop. TracerPid in its status is set somewhat earlier,
 * which is why that is not what we wait for.
 *
 * strace names threads; which of them are of one process is listed once it has announced them all. None of
 * them may end before: so the pipe for its lines is filled beforehand, and strace, which writes the line of a
 * call before it lets the thread go on, waits until that list is there and the pipe is read.
 */
#include "probe/strace/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/worker.h"
#include "probe/strace/child.h"
#include "probe/strace/messages.h"
#include "probe/strace/target.h"

#define OUTPUT_PIPE_BYTES (1 << 20)
#define PIECE_BYTES       ((size_t)64 << 10)
/* Woken at every line, the reader would cost strace a change of the CPU for each call. */
#define READ_PAUSE_NS     2000000
#define ENDS_BY_ITSELF_NS (NS_PER_SECOND / 2)
#define INTERRUPTED_NS    (5 * NS_PER_SECOND)
#define CALM_NS           (NS_PER_SECOND / 5)
#define LOOK_NS           (NS_PER_SECOND / 10)
#define QUICK_LOOK_NS     (NS_PER_SECOND / 50)
#define LOOKS_AT_SLEEP    3
#define KILLED_NS         (NS_PER_SECOND / 2)

struct strace_run {
    struct strace_calls *calls; /* NULL: a full trace */
    struct worker reader;       /* of the calls, while `reading` */
    bool reading;
    struct strace_child child;
    pid_t pid; /* 0: none */
    bool ended;
    int wait_status;
    bool has_usage;
    struct rusage usage;
    int list_fd;     /* write end: the processes to attach to; -1: they are known, or there will be none */
    int gate_fd;     /* write end: open until strace has ended (child.h) */
    int output_fd;   /* read end */
    int messages_fd; /* read end */
    struct strace_messages messages;
};

int strace_available(struct metron_error *error)
{
    char path[PROGRAM_PATH_SIZE];

    return strace_locate(path, error);
}

/* ---- starting ---- */

static int pipe_open(int *read_end, int *write_end)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    *read_end = ends[0];
    *write_end = ends[1];
    return 0;
}

/* Until nothing fits any more: with empty lines. */
static void output_fill(int fd)
{
    char lines[4096];

    memset(lines, '\n', sizeof(lines));
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    for (size_t length = sizeof(lines); length > 0;)
        if (write(fd, lines, length) < 0 && errno != EINTR)
            length /= 2;
    (void)fcntl(fd, F_SETFL, 0);
}

static int output_open(struct strace_run *run)
{
    int code = pipe_open(&run->output_fd, &run->child.output);

    if (code == 0)
        (void)fcntl(run->output_fd, F_SETPIPE_SZ, OUTPUT_PIPE_BYTES); /* fewer waits, where permitted */
    if (code == 0 && run->calls)
        output_fill(run->child.output);
    return code;
}

static int plumbing_open(struct strace_run *run)
{
    struct strace_child *child = &run->child;
    int code = pipe_open(&child->list_read, &run->list_fd);

    if (code == 0)
        code = pipe_open(&child->gate_read, &run->gate_fd);
    if (code == 0)
        code = output_open(run);
    if (code == 0)
        code = pipe_open(&run->messages_fd, &child->messages);
    if (code == 0 &&
        (fcntl(child->messages, F_SETFL, O_NONBLOCK) < 0 || fcntl(run->messages_fd, F_SETFL, O_NONBLOCK) < 0))
        code = -errno;
    child->list_write = run->list_fd;
    child->gate_write = run->gate_fd;
    return code;
}

static int process_start(struct strace_run *run, struct metron_error *error)
{
    sigset_t all, before;
    int code = plumbing_open(run);

    if (code == 0) {
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        pid_t pid = fork();
        if (pid == 0)
            strace_child_main(&run->child);
        code = pid < 0 ? -errno : 0;
        run->pid = pid < 0 ? 0 : pid;
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    file_close(&run->child.list_read);
    file_close(&run->child.gate_read);
    file_close(&run->child.output);
    file_close(&run->child.messages);
    return code < 0 ? error_set(error, code, "strace cannot be started: %s", strerror(-code)) : 0;
}

int strace_start(struct strace_calls *calls, struct strace_run **out, struct metron_error *error)
{
    struct strace_run *run = calloc(1, sizeof(*run));
    const char *zone = getenv("TZ");

    *out = NULL;
    if (!run || !(run->child.list = malloc(STRACE_LIST_SIZE))) {
        free(run);
        return error_set(error, -ENOMEM, "no memory for strace");
    }
    run->calls = calls;
    run->list_fd = run->gate_fd = run->output_fd = run->messages_fd = -1;
    run->child.counted = calls != NULL;
    run->child.parent = getpid();
    run->child.list_read = run->child.gate_read = run->child.output = run->child.messages = -1;
    if (zone) /* without it, the times of a full trace would be another zone's */
        (void)snprintf(run->child.zone, sizeof(run->child.zone), "TZ=%s", zone);
    int code = strace_locate(run->child.path, error);
    if (code == 0)
        code = process_start(run, error);
    if (code < 0) {
        strace_free(run);
        return code;
    }
    *out = run;
    return 0;
}

/* "12,13\n" in `list`, without those that have gone or are hidden; the others are noted as awaited. */
static int targets_list(struct strace_run *run, const pid_t *pids, size_t count, struct strbuf *list,
                        struct metron_error *error)
{
    pid_t *kept = calloc(count, sizeof(*kept));
    struct metron_error why = {0};
    size_t kept_count = 0;
    int code = kept ? 0 : -ENOMEM;

    for (size_t i = 0; i < count && code == 0; i++) {
        code = strace_target_check("/proc", pids[i], &why);
        if ((code == -ESRCH || code == -EPERM) && i > 0) {
            code = 0; /* which is no error: the caller takes a filled one for that */
        } else if (code == 0) {
            kept[kept_count++] = pids[i];
            strbuf_addf(list, "%s%d", list->length ? "," : "", (int)pids[i]);
        }
    }
    strbuf_addc(list, '\n');
    if (code == 0)
        code = list->failed ? -ENOMEM : strace_messages_init(&run->messages, kept, kept_count);
    free(kept);
    if (code == -ENOMEM)
        return error_set(error, code, "no memory for strace");
    if (code == 0 && list->length > STRACE_LIST_SIZE)
        return error_set(error, -E2BIG, "%zu processes are too many for one strace", count);
    return code < 0 ? error_set(error, code, "%s", why.message) : 0;
}

/* The child may be gone, killed by somebody: that must be EPIPE, and no signal. */
static int list_write(int fd, const struct strbuf *list)
{
    sigset_t broken, before;

    (void)sigemptyset(&broken);
    (void)sigaddset(&broken, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &broken, &before);
    int code = file_write_all(fd, list->data, list->length);
    if (code == -EPIPE)
        (void)sigtimedwait(&broken, NULL, &(struct timespec){0});
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

int strace_release(struct strace_run *run, const pid_t *pids, size_t count, struct metron_error *error)
{
    struct strbuf list = STRBUF_INIT;
    int code = targets_list(run, pids, count, &list, error);

    if (code == 0) {
        code = list_write(run->list_fd, &list);
        if (code < 0)
            code = error_set(error, code, "strace has ended before its time: %s", strerror(-code));
    }
    strbuf_fini(&list);
    file_close(&run->list_fd);
    return code;
}

/* ---- what it says ---- */

/* Takes what is there; false at the end: strace has ended. */
static bool messages_take(struct strace_run *run)
{
    char bytes[4096];

    for (;;) {
        ssize_t count = read(run->messages_fd, bytes, sizeof(bytes));

        if (count > 0)
            strace_messages_add(&run->messages, bytes, (size_t)count);
        else if (count == 0 || (errno != EINTR && errno != EAGAIN))
            return false;
        else if (errno == EAGAIN)
            return true;
    }
}

/* Why the first process was not attached to. */
static int refusal_explain(const struct strace_run *run, struct metron_error *error)
{
    const struct strace_messages *messages = &run->messages;
    pid_t pid = messages->pids[0];

    if (messages->refused && messages->refusal == STRACE_NO_PROCESS)
        return error_set(error, -ESRCH, "process %d has ended", (int)pid);
    if (messages->refused && messages->refusal == STRACE_NOT_PERMITTED)
        return strace_target_refused("/proc", pid, error);
    return error_set(error, -EIO, "strace cannot attach to process %d: %s", (int)pid,
                     messages->last[0] ? messages->last : "it has ended without a word");
}

static int await_attached(struct strace_run *run, int timeout_ms, struct metron_error *error)
{
    uint64_t end_ns = clock_after_ms(timeout_ms);

    for (;;) {
        bool more = messages_take(run);

        if (run->messages.refused)
            return refusal_explain(run, error);
        if (run->messages.attached && (run->messages.waiting == 0 || !more))
            return 0;
        if (!more)
            return refusal_explain(run, error);
        if (clock_monotonic_ns() >= end_ns)
            return error_set(error, -ETIME, "strace did not attach to process %d within %d ms",
                             (int)run->messages.pids[0], timeout_ms);
        struct pollfd waiting = {.fd = run->messages_fd, .events = POLLIN};
        (void)poll(&waiting, 1, clock_ms_until(end_ns));
    }
}

/* ---- what it counts ---- */

/* In a thread of its own: until strace has closed the pipe, or is not to be waited for any longer. */
static void lines_read(void *owner)
{
    const struct timespec pause = {.tv_nsec = READ_PAUSE_NS};
    struct strace_run *run = owner;
    char bytes[PIECE_BYTES];

    for (;;) {
        struct pollfd polled[] = {{.fd = run->output_fd, .events = POLLIN},
                                  {.fd = run->reader.wake_fd, .events = POLLIN}};
        if (poll(polled, 2, -1) < 0 && errno != EINTR)
            break;
        ssize_t count = polled[0].revents ? read(run->output_fd, bytes, sizeof(bytes)) : -1;
        if (count == 0)
            strace_calls_close(run->calls); /* strace may have been killed long before it is stopped */
        if (count == 0 || (!polled[0].revents && worker_is_stopping(&run->reader)))
            break;
        if (count > 0)
            strace_calls_add(run->calls, bytes, (size_t)count);
        if (count < (ssize_t)sizeof(bytes))
            (void)nanosleep(&pause, NULL);
    }
}

static void keep_run(void *owner)
{
    (void)owner; /* the thread is always waited for */
}

struct listing {
    struct strace_calls *calls;
    pid_t process;
};

static void visit_thread(void *context, pid_t thread)
{
    const struct listing *listing = context;

    strace_calls_know(listing->calls, thread, listing->process);
}

static int reading_start(struct strace_run *run, struct metron_error *error)
{
    const struct worker_options reader = {
        .name = "metron-lines", .run = lines_read, .release = keep_run, .owner = run};

    for (size_t i = 0; i < run->messages.count; i++) {
        struct listing listing = {run->calls, run->messages.pids[i]};
        strace_target_threads("/proc", listing.process, visit_thread, &listing);
    }
    int code = worker_start(&run->reader, &reader);
    run->reading = code == 0;
    return code < 0 ? error_set(error, code, "cannot read what strace writes: %s", strerror(-code)) : 0;
}

/* strace has ended, or never will. */
static void reading_end(struct strace_run *run)
{
    if (run->reading) {
        worker_stop(&run->reader);
        (void)worker_await(&run->reader, -1);
        (void)worker_free(&run->reader);
        strace_calls_close(run->calls);
    }
    run->reading = false;
}

int strace_wait_attached(struct strace_run *run, int timeout_ms, struct metron_error *error)
{
    int code = await_attached(run, timeout_ms, error);

    return code == 0 && run->calls ? reading_start(run, error) : code;
}

pid_t strace_pid(const struct strace_run *run)
{
    return run->pid;
}

int strace_output_fd(const struct strace_run *run)
{
    return run->calls ? -1 : run->output_fd;
}

/* ---- ending ---- */

bool strace_reaped(struct strace_run *run, pid_t pid, int wait_status, const struct rusage *usage)
{
    if (!run || run->ended || pid != run->pid)
        return false;
    run->ended = true;
    file_close(&run->gate_fd); /* kills the children that it may have left */
    run->wait_status = wait_status;
    run->has_usage = usage != NULL;
    if (usage)
        run->usage = *usage;
    return true;
}

const struct rusage *strace_usage(const struct strace_run *run)
{
    return run->has_usage ? &run->usage : NULL;
}

/* Whether it has ended within the time; waits for it unless somebody has. */
static bool ends_within(struct strace_run *run, uint64_t limit_ns)
{
    struct timespec pause = {.tv_nsec = 100000};
    uint64_t end_ns = clock_monotonic_ns() + limit_ns;
    struct rusage usage;
    int status = 0;

    while (!run->ended) {
        pid_t found = wait4(run->pid, &status, WNOHANG, &usage);

        if (found == run->pid)
            (void)strace_reaped(run, found, status, &usage);
        else if (found < 0 && errno == ECHILD) /* waited for by somebody who did not tell */
            (void)strace_reaped(run, run->pid, 0, NULL);
        if (run->ended || clock_monotonic_ns() >= end_ns)
            break;
        (void)messages_take(run);
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < 10000000)
            pause.tv_nsec *= 2;
    }
    return run->ended;
}

bool strace_has_ended(struct strace_run *run)
{
    return ends_within(run, 0);
}

static bool targets_are_gone(const struct strace_run *run)
{
    for (size_t i = 0; i < run->messages.count; i++)
        if (strace_target_tracer("/proc", run->messages.pids[i]) == run->pid)
            return false;
    return true;
}

/* A moment at which nobody is in vfork: at others strace would stand still, see ends_when_interrupted. */
static void await_calm(const struct strace_run *run)
{
    const struct timespec pause = {.tv_nsec = 200000};
    uint64_t end_ns = clock_monotonic_ns() + CALM_NS;
    bool held;

    do {
        held = false;
        for (size_t i = 0; i < run->messages.count && !held; i++)
            held = strace_target_is_held("/proc", run->messages.pids[i]);
        if (held)
            (void)nanosleep(&pause, NULL);
    } while (held && clock_monotonic_ns() < end_ns);
}

void strace_interrupt(struct strace_run *run)
{
    file_close(&run->list_fd); /* if it still waits for its processes, it exits */
    if (run->pid <= 0 || run->ended)
        return;
    await_calm(run);
    (void)kill(run->pid, SIGINT);
}

/* Interrupted strace waits until every process it traces has stopped. One that has called vfork does not stop
 * before its child has executed something or ended, and if that child stands before strace it never will: all
 * three wait for each other. So strace that does nothing at all is not waited for any longer. Interrupted it
 * writes nothing more but the end of a full trace: one that counts may be killed early. */
static bool ends_when_interrupted(struct strace_run *run)
{
    const uint64_t look_ns = run->calls ? QUICK_LOOK_NS : LOOK_NS;
    long before = -1;
    int asleep = 0;

    for (uint64_t waited_ns = 0; waited_ns < INTERRUPTED_NS; waited_ns += look_ns) {
        if (ends_within(run, look_ns))
            return true;
        long switches = strace_target_switches("/proc", run->pid);
        asleep = switches >= 0 && switches == before ? asleep + 1 : 0;
        if (asleep == LOOKS_AT_SLEEP)
            return false;
        before = switches;
    }
    return false;
}

/* True if it ended in peace. With the last target gone it does so by itself; descendants that we do not know
 * may keep it, and then it is told. */
static bool process_end(struct strace_run *run)
{
    file_close(&run->list_fd);
    if (targets_are_gone(run) && ends_within(run, ENDS_BY_ITSELF_NS))
        return true;
    strace_interrupt(run);
    if (ends_when_interrupted(run))
        return true;
    (void)kill(run->pid, SIGKILL); /* the kernel releases what it traced */
    (void)ends_within(run, KILLED_NS);
    return false;
}

int strace_stop(struct strace_run *run, struct metron_error *error)
{
    const char *what = run->calls ? "the calls after that are missing" : "the trace may lack its end";
    bool peaceful = process_end(run);

    reading_end(run);
    (void)messages_take(run);
    if (!peaceful && run->calls && run->messages.attached)
        return 0; /* it has counted all that it would have */
    if (!peaceful)
        return error_set(error, -ETIME, "strace did not end in time and was killed: %s", what);
    if (!run->messages.attached)
        return error_set(error, -EIO, "strace was ended before it had attached");
    /* Interrupted it ends by that very signal; 0 when the last target has ended. */
    if (WIFSIGNALED(run->wait_status) && WTERMSIG(run->wait_status) != SIGINT)
        return error_set(error, -EIO, "strace was ended by signal %d: %s", WTERMSIG(run->wait_status), what);
    if (WIFEXITED(run->wait_status) && WEXITSTATUS(run->wait_status) != 0)
        return error_set(error, -EIO, "strace failed (%s): %s",
                         run->messages.last[0] ? run->messages.last : "without a word", what);
    return 0;
}

void strace_free(struct strace_run *run)
{
    if (!run)
        return;
    if (run->pid > 0 && !run->ended)
        (void)process_end(run);
    reading_end(run);
    file_close(&run->list_fd);
    file_close(&run->gate_fd);
    file_close(&run->output_fd);
    file_close(&run->messages_fd);
    strace_messages_fini(&run->messages);
    free(run->child.list);
    free(run);
}
