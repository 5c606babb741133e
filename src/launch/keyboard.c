/*
 * The keyboard: a thread that copies keys from the user's terminal to the command's.
 *
 * It writes to the master without blocking and keeps what did not fit: a command that does not read its
 * terminal must not hang metron's end. With its small buffer full, nothing more is read from the user.
 *
 * After `bg` the terminal is the shell's. A later `fg` is not announced (a shell sends SIGCONT only to a job
 * that was stopped), so the thread checks from time to time whether the foreground is ours again.
 */
#include "launch/keyboard.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/worker.h"
#include "launch/terminal.h"
#include "probe/privilege.h"

#define PENDING_BYTES       4096
#define JOIN_RETRY_MS       20
#define FOREGROUND_RETRY_MS 200

enum mode {
    MODE_PAUSED,
    MODE_WAITING, /* for the foreground */
    MODE_COPYING,
    MODE_ENDING,
};

struct keyboard {
    int tty_fd, master_fd;
    struct worker worker; /* woken: the mode has changed; its news: there are requests */
    pthread_mutex_t lock; /* changes of the terminal and of `mode` */
    struct keyboard_terminal *terminal;
    _Atomic enum mode mode;
    atomic_uint requests;
    /* The thread's own: */
    uint64_t interrupted_ns; /* when Ctrl-C was last typed, 0 before */
    char pending[PENDING_BYTES];
    size_t pending_length;
};

/* For exit(): a terminal left raw is unusable. */
static struct keyboard *at_exit;

static void raise_request(struct keyboard *keyboard, enum keyboard_request request)
{
    atomic_fetch_or(&keyboard->requests, request);
    worker_notify(&keyboard->worker);
}

/* Whether the command itself, the leader of its session, is in the foreground of its terminal. If it is not,
 * a shell with job control runs in there, and stopping what is in the foreground is that shell's business. */
static bool leader_in_foreground(int master_fd)
{
    pid_t foreground, session;

    return ioctl(master_fd, TIOCGPGRP, &foreground) == 0 && ioctl(master_fd, TIOCGSID, &session) == 0 &&
           foreground == session;
}

/* Handles the keys that mean something to metron; true if this one goes to the command. */
static bool inspect_key(struct keyboard *keyboard, const struct termios *modes, unsigned char key)
{
    /* _POSIX_VDISABLE, 0 on Linux, stands for "no such key". */
    if (!(modes->c_lflag & ISIG) || key == _POSIX_VDISABLE)
        return true;
    if (key == modes->c_cc[VINTR]) {
        uint64_t now_ns = clock_monotonic_ns();

        if (keyboard->interrupted_ns != 0 && now_ns - keyboard->interrupted_ns <= NS_PER_SECOND)
            raise_request(keyboard, KEYBOARD_INTERRUPTED_TWICE);
        keyboard->interrupted_ns = now_ns;
    }
    if (key == modes->c_cc[VSUSP] && leader_in_foreground(keyboard->master_fd)) {
        raise_request(keyboard, KEYBOARD_SUSPEND);
        return false;
    }
    return true;
}

/* False when the user's terminal has gone. */
static bool read_keys(struct keyboard *keyboard)
{
    char keys[PENDING_BYTES];
    struct termios modes = {0};
    ssize_t count = read(keyboard->tty_fd, keys, PENDING_BYTES - keyboard->pending_length);

    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    /* A read in the background, with SIGTTIN blocked: we were moved there without notice. */
    if (count < 0 && errno == EIO && terminal_in_background(keyboard->tty_fd)) {
        enum mode copying = MODE_COPYING;

        atomic_compare_exchange_strong(&keyboard->mode, &copying, MODE_WAITING);
        return true;
    }
    if (count <= 0)
        return false;
    /* On a master this gives the modes of the command's side. */
    if (tcgetattr(keyboard->master_fd, &modes) != 0)
        modes.c_lflag = 0;
    for (ssize_t i = 0; i < count; i++) {
        if (inspect_key(keyboard, &modes, (unsigned char)keys[i]))
            keyboard->pending[keyboard->pending_length++] = keys[i];
    }
    return true;
}

/* What can be written now; the rest stays. */
static void write_pending(struct keyboard *keyboard)
{
    ssize_t count = write(keyboard->master_fd, keyboard->pending, keyboard->pending_length);

    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    /* Nobody reads any more: what was typed is dropped. */
    if (count <= 0)
        count = (ssize_t)keyboard->pending_length;
    keyboard->pending_length -= (size_t)count;
    memmove(keyboard->pending, keyboard->pending + count, keyboard->pending_length);
}

/* With the lock held: raw mode if the terminal is ours to set, else we wait for it. */
static void take_terminal(struct keyboard *keyboard)
{
    struct termios raw;

    atomic_store(&keyboard->mode, MODE_WAITING);
    if (terminal_in_background(keyboard->tty_fd))
        return;
    /* After a stop by SIGSTOP the shell has put back its own modes while ours are still noted as in force:
     * its modes are read again only if we restored them. */
    struct keyboard_terminal *terminal = keyboard->terminal;
    if (!atomic_load(&terminal->raw) && tcgetattr(keyboard->tty_fd, &terminal->found) != 0)
        return;
    raw = terminal->found;
    cfmakeraw(&raw);
    atomic_store(&terminal->raw, true); /* first: metron may be killed in between */
    if (tcsetattr(keyboard->tty_fd, TCSANOW, &raw) != 0)
        atomic_store(&terminal->raw, false);
    terminal_copy_size(keyboard->tty_fd, keyboard->master_fd);
    atomic_store(&keyboard->mode, MODE_COPYING);
}

static void look_for_foreground(struct keyboard *keyboard)
{
    pthread_mutex_lock(&keyboard->lock);
    if (atomic_load(&keyboard->mode) == MODE_WAITING)
        take_terminal(keyboard);
    pthread_mutex_unlock(&keyboard->lock);
}

static void run(void *owner)
{
    struct keyboard *keyboard = owner;
    bool there = true;

    (void)privilege_drop(NULL, NULL); /* capabilities are each thread's own */
    for (;;) {
        enum mode mode = atomic_load(&keyboard->mode);
        bool readable = there && mode == MODE_COPYING && keyboard->pending_length < PENDING_BYTES;
        bool writable = keyboard->pending_length > 0;
        struct pollfd polled[] = {
            {.fd = keyboard->worker.wake_fd, .events = POLLIN},
            {.fd = readable ? keyboard->tty_fd : -1, .events = POLLIN},
            {.fd = writable ? keyboard->master_fd : -1, .events = POLLOUT},
        };

        if (mode == MODE_ENDING)
            break;
        if (poll(polled, 3, there && mode == MODE_WAITING ? FOREGROUND_RETRY_MS : -1) < 0)
            continue;
        if (there && mode == MODE_WAITING)
            look_for_foreground(keyboard);
        if (polled[0].revents)
            (void)worker_wait(&keyboard->worker, 0);
        if (polled[2].revents)
            write_pending(keyboard);
        if (polled[1].revents && atomic_load(&keyboard->mode) == MODE_COPYING) {
            there = read_keys(keyboard);
            if (keyboard->pending_length > 0)
                write_pending(keyboard);
        }
    }
}

/* Nothing more is read, and the terminal is as it was found. */
static void leave_terminal(struct keyboard *keyboard, enum mode mode)
{
    pthread_mutex_lock(&keyboard->lock);
    atomic_store(&keyboard->mode, mode);
    /* In the background the terminal is somebody else's, who has set it as he needs it; and to set it would
     * stop us (SIGTTOU). TCSANOW: to wait for the output to drain could be for ever (Ctrl-S). */
    if (atomic_load(&keyboard->terminal->raw) && !terminal_in_background(keyboard->tty_fd))
        tcsetattr(keyboard->tty_fd, TCSANOW, &keyboard->terminal->found);
    atomic_store(&keyboard->terminal->raw, false);
    pthread_mutex_unlock(&keyboard->lock);
    worker_wake(&keyboard->worker);
}

void keyboard_suspend(struct keyboard *keyboard)
{
    if (keyboard)
        leave_terminal(keyboard, MODE_PAUSED);
}

void keyboard_resume(struct keyboard *keyboard)
{
    if (!keyboard)
        return;
    pthread_mutex_lock(&keyboard->lock);
    take_terminal(keyboard);
    pthread_mutex_unlock(&keyboard->lock);
    worker_wake(&keyboard->worker);
}

static void release(void *owner)
{
    struct keyboard *keyboard = owner;

    pthread_mutex_destroy(&keyboard->lock);
    free(keyboard);
}

static void finish_at_exit(void)
{
    keyboard_finish(at_exit);
}

int keyboard_start(int tty_fd, int master_fd, struct keyboard_terminal *terminal, struct keyboard **out,
                   struct metron_error *error)
{
    static bool registered;
    struct keyboard *keyboard = calloc(1, sizeof(*keyboard));
    const struct worker_options worker = {.name = "metron-keyboard",
                                          .run = run,
                                          .release = release,
                                          .owner = keyboard,
                                          .is_interruptible = true};

    if (!keyboard)
        return error_set(error, -ENOMEM, "cannot read the keyboard: out of memory");
    keyboard->tty_fd = tty_fd;
    keyboard->master_fd = master_fd;
    keyboard->terminal = terminal;
    atomic_init(&keyboard->mode, MODE_PAUSED);
    pthread_mutex_init(&keyboard->lock, NULL);
    int code = worker_start(&keyboard->worker, &worker);
    if (code < 0) {
        release(keyboard);
        return error_set(error, code, "cannot read the keyboard: %s", strerror(-code));
    }
    if (!registered)
        registered = atexit(finish_at_exit) == 0;
    at_exit = keyboard;
    keyboard_resume(keyboard);
    *out = keyboard;
    return 0;
}

int keyboard_request_fd(const struct keyboard *keyboard)
{
    return keyboard->worker.news_fd;
}

unsigned keyboard_take_requests(struct keyboard *keyboard)
{
    (void)wake_wait(keyboard->worker.news_fd, 0);
    return atomic_exchange(&keyboard->requests, 0);
}

void keyboard_finish(struct keyboard *keyboard)
{
    if (!keyboard)
        return;
    leave_terminal(keyboard, MODE_ENDING);
    /* The thread waits only in poll, unless somebody else took the key it was about to read. */
    while (!worker_await(&keyboard->worker, JOIN_RETRY_MS))
        worker_interrupt(&keyboard->worker);
    at_exit = NULL;
    (void)worker_free(&keyboard->worker);
}
