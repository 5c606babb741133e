/*
 * Capturing a stream.
 *
 * The thread polls the source and an eventfd with requests. What it reads goes to the file first, so
 * that the record is complete whatever becomes of the screen, then to the screen with an ordinary blocking
 * write. There is no queue in between: while the screen blocks nothing is read, the pipe fills up and the
 * command waits, just as it would without metron.
 *
 * A descriptor of the screen is shared with other processes, so it is never made non-blocking. A thread stuck
 * in its write is therefore called back by a signal (base/worker.h), again and again until it has noticed.
 */
#include "launch/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/worker.h"
#include "probe/privilege.h"

#define BUFFER_BYTES   (64UL * 1024) /* the default capacity of a pipe, and the most a terminal buffers */
#define HUNG_RETRY_MS  100
#define JOIN_RETRY_MS  20
#define ABANDON_TRIES  100 /* one per millisecond */
#define ERROR_TEXT_MAX 128

struct capture {
    const char *name;
    int source_fd, show_fd, record_fd; /* the last two become -1 when given up; the thread's own */
    bool source_is_terminal, screen_is_terminal;
    struct worker worker; /* woken: flush, or stop; its news: a flush is done */
    atomic_bool flushed;
    atomic_bool command_ended;
    atomic_bool screen_abandoned; /* capture_stop asks for it */
    atomic_bool screen_released;  /* the thread has noticed, and writes to it no more */
    uint64_t bytes;               /* read so far; the thread's own */
    char buffer[BUFFER_BYTES];
};

enum taken { TAKEN, TAKEN_NOTHING, TAKEN_HUNG_UP, TAKEN_END };

static void record(struct capture *capture, size_t length)
{
    char text[ERROR_TEXT_MAX];

    if (capture->record_fd < 0)
        return;

    int code = file_write_all(capture->record_fd, capture->buffer, length);

    if (code == 0)
        return;
    capture->record_fd = -1;
    log_warning("%s is not recorded any more: %s; %s", capture->name, strerror_r(-code, text, sizeof(text)),
                capture->show_fd >= 0 ? "it is still shown" : "the rest of it is lost");
}

/* Waits until a screen that somebody else made non-blocking takes more, or a signal. */
static void await_screen(const struct capture *capture)
{
    struct pollfd screen = {.fd = capture->show_fd, .events = POLLOUT};

    (void)poll(&screen, 1, -1);
}

/* Whether the screen is given up; takes note of it if so. */
static bool release_screen(struct capture *capture)
{
    if (!atomic_load(&capture->screen_abandoned))
        return false;
    capture->show_fd = -1;
    atomic_store(&capture->screen_released, true);
    return true;
}

/* False if the screen has gone. */
static bool show(struct capture *capture, size_t length)
{
    const char *rest = capture->buffer;
    char text[ERROR_TEXT_MAX];

    while (capture->show_fd >= 0 && length > 0) {
        if (release_screen(capture))
            break;

        ssize_t count = write(capture->show_fd, rest, length);

        if (count >= 0) {
            rest += count;
            length -= (size_t)count;
        } else if (errno == EAGAIN) {
            await_screen(capture);
        } else if (errno == EIO && capture->screen_is_terminal) {
            capture->show_fd = -1; /* it has hung up */
        } else if (errno == EPIPE) {
            return false;
        } else if (errno != EINTR) {
            log_warning("%s cannot be shown any more: %s; it is closed", capture->name,
                        strerror_r(errno, text, sizeof(text)));
            return false;
        }
    }
    return true;
}

/* One read, which never waits after poll, and its delivery. */
static enum taken take(struct capture *capture, size_t limit)
{
    ssize_t count = read(capture->source_fd, capture->buffer, limit < BUFFER_BYTES ? limit : BUFFER_BYTES);

    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return TAKEN_NOTHING;
    /* Nobody has the terminal open. Somebody may open it again (/dev/tty), and closing the master would hang
     * up on a command that merely closed its stdio: only the end of the command ends this stream. */
    if (count < 0 && errno == EIO && capture->source_is_terminal)
        return atomic_load(&capture->command_ended) ? TAKEN_END : TAKEN_HUNG_UP;
    if (count <= 0)
        return TAKEN_END;
    capture->bytes += (uint64_t)count;
    record(capture, (size_t)count);
    return show(capture, (size_t)count) ? TAKEN : TAKEN_END;
}

/* What is in the pipe now, and not what a writer who outlives the command goes on adding. False: the stream
 * has ended. */
static bool drain(struct capture *capture)
{
    struct pollfd source = {.fd = capture->source_fd, .events = POLLIN};
    int waiting = 0;
    int capacity = fcntl(capture->source_fd, F_GETPIPE_SZ);

    /* A terminal counts only what its line discipline has seen; poll makes it process the rest. */
    (void)poll(&source, 1, 0);
    if (ioctl(capture->source_fd, FIONREAD, &waiting) != 0)
        waiting = 0;

    size_t left = (size_t)waiting + (capacity > 0 ? (size_t)capacity : BUFFER_BYTES);

    while (left > 0 && poll(&source, 1, 0) > 0) {
        uint64_t before = capture->bytes;
        enum taken taken = take(capture, left);

        if (taken == TAKEN_END || taken == TAKEN_HUNG_UP)
            return taken == TAKEN_HUNG_UP;
        left -= (size_t)(capture->bytes - before);
    }
    return true;
}

/* False: the stream has ended, or shall. */
static bool answer_request(struct capture *capture)
{
    (void)worker_wait(&capture->worker, 0);
    if (!drain(capture) || worker_is_stopping(&capture->worker))
        return false;
    atomic_store(&capture->flushed, true);
    worker_notify(&capture->worker);
    return true;
}

static void run(void *owner)
{
    struct capture *capture = owner;
    bool hung_up = false;

    (void)privilege_drop(NULL, NULL); /* capabilities are each thread's own */
    for (;;) {
        struct pollfd polled[] = {
            {.fd = capture->worker.wake_fd, .events = POLLIN},
            {.fd = hung_up ? -1 : capture->source_fd, .events = POLLIN},
        };

        /* A hung-up terminal is readable all the time: check it from time to time. */
        if (poll(polled, 2, hung_up ? HUNG_RETRY_MS : -1) < 0) {
            (void)release_screen(capture);
            continue;
        }
        if (polled[0].revents && !answer_request(capture))
            break;
        if (polled[0].revents)
            continue;
        if (hung_up) {
            hung_up = false;
            continue;
        }

        enum taken taken = take(capture, BUFFER_BYTES);

        if (taken == TAKEN_END)
            break;
        hung_up = taken == TAKEN_HUNG_UP;
    }
    file_close(&capture->source_fd);
}

static void release(void *owner)
{
    struct capture *capture = owner;

    file_close(&capture->source_fd);
    free(capture);
}

int capture_start(const struct capture_options *options, struct capture **out, struct metron_error *error)
{
    struct capture *capture = malloc(sizeof(*capture));
    const struct worker_options worker = {
        .name = "metron-output", .run = run, .release = release, .owner = capture, .is_interruptible = true};

    if (!capture) {
        close(options->source_fd);
        return error_set(error, -ENOMEM, "cannot capture %s: out of memory", options->name);
    }
    capture->name = options->name;
    capture->source_fd = options->source_fd;
    capture->show_fd = options->show_fd;
    capture->record_fd = options->record_fd;
    capture->source_is_terminal = isatty(options->source_fd);
    /* Asked now: one that has been hung up does not say that it is a terminal any more. */
    capture->screen_is_terminal = options->show_fd >= 0 && isatty(options->show_fd);
    atomic_init(&capture->flushed, false);
    atomic_init(&capture->command_ended, false);
    atomic_init(&capture->screen_abandoned, false);
    atomic_init(&capture->screen_released, false);
    capture->bytes = 0;
    int code = worker_start(&capture->worker, &worker);
    if (code < 0) {
        release(capture);
        return error_set(error, code, "cannot capture %s: %s", options->name, strerror(-code));
    }
    *out = capture;
    return 0;
}

void capture_command_ended(struct capture *capture)
{
    atomic_store(&capture->command_ended, true);
}

void capture_flush(struct capture *capture)
{
    worker_wake(&capture->worker);
}

bool capture_flushed(struct capture *capture)
{
    return atomic_exchange(&capture->flushed, false);
}

bool capture_has_ended(struct capture *capture)
{
    return worker_await(&capture->worker, 0);
}

int capture_news_fd(const struct capture *capture)
{
    return capture->worker.news_fd;
}

/* Ends a write to a screen that blocks. Waits a tenth of a second at most. */
static void abandon_screen(struct capture *capture)
{
    atomic_store(&capture->screen_abandoned, true);
    /* The signal may come just before the thread enters its write, and a lost one would leave it there:
     * repeat it until the thread has noticed. Only a slow disk takes longer than a moment, and after that the
     * thread checks. */
    for (int tries = 0; tries < ABANDON_TRIES && !atomic_load(&capture->screen_released); tries++) {
        worker_interrupt(&capture->worker);
        if (worker_await(&capture->worker, 1))
            break;
    }
}

void capture_stop(struct capture *capture)
{
    worker_stop(&capture->worker);
    while (!worker_await(&capture->worker, JOIN_RETRY_MS))
        abandon_screen(capture);
}

void capture_free(struct capture *capture)
{
    if (!capture)
        return;
    capture_stop(capture);
    (void)worker_free(&capture->worker);
}
