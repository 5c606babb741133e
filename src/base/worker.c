/*
 * The signal that interrupts is a real-time one with a handler without SA_RESTART. A worker that can be
 * interrupted is the only thread that does not block it: one that comes from outside is handed on to the main
 * thread.
 */
#include "base/worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define SMALL_STACK_BYTES (256UL * 1024)

/* ---- descriptors ---- */

int wake_open(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    return fd < 0 ? -errno : fd;
}

void wake_poke(int fd)
{
    const uint64_t one = 1;

    /* It fails only when it has been poked 2^64 times and never looked. */
    (void)!write(fd, &one, sizeof(one));
}

bool wake_wait(int fd, int64_t milliseconds)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    uint64_t end_ns = clock_after_ms(milliseconds), count;
    int found;

    do
        found = poll(&ready, 1, clock_ms_until(end_ns));
    while (found < 0 && errno == EINTR);
    return found > 0 && read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count);
}

/* ---- the thread ---- */

static int interrupt_signal(void)
{
    return SIGRTMIN + 6;
}

static void give_to_main_thread(int signal, siginfo_t *info, void *context)
{
    const pid_t self = getpid();
    const int before = errno;

    (void)context;
    if (info->si_pid == self || gettid() == self)
        return;
    info->si_code = SI_QUEUE; /* with another code a thread may send only to itself */
    (void)syscall(SYS_rt_tgsigqueueinfo, self, self, signal, info);
    errno = before;
}

static void worker_close(struct worker *worker)
{
    file_close(&worker->wake_fd);
    file_close(&worker->news_fd);
}

static void worker_release(struct worker *worker)
{
    worker_close(worker);
    worker->options.release(worker->options.owner);
}

static void *begin(void *context)
{
    struct worker *worker = context;

    worker->options.run(worker->options.owner);
    if (atomic_exchange(&worker->left, true))
        worker_release(worker);
    else
        wake_poke(worker->news_fd);
    return NULL;
}

static int start_thread(struct worker *worker)
{
    const struct worker_options *options = &worker->options;
    const struct sigaction action = {.sa_sigaction = give_to_main_thread, .sa_flags = SA_SIGINFO};
    pthread_attr_t attributes;
    sigset_t blocked, before;
    int code = pthread_attr_init(&attributes);

    if (code != 0)
        return -code;
    (void)sigfillset(&blocked);
    if (options->is_interruptible) {
        (void)pthread_attr_setstacksize(&attributes, SMALL_STACK_BYTES);
        code = sigaction(interrupt_signal(), &action, NULL) == 0 ? 0 : errno;
        (void)sigdelset(&blocked, interrupt_signal());
    }
    /* The new thread inherits the mask of the one that makes it. */
    (void)pthread_sigmask(SIG_SETMASK, &blocked, &before);
    if (code == 0)
        code = pthread_create(&worker->thread, &attributes, begin, worker);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (code == 0)
        (void)pthread_setname_np(worker->thread, options->name);
    return -code;
}

int worker_start(struct worker *worker, const struct worker_options *options)
{
    *worker = (struct worker){.options = *options, .wake_fd = wake_open(), .news_fd = wake_open()};
    int code = worker->wake_fd < 0   ? worker->wake_fd
               : worker->news_fd < 0 ? worker->news_fd
                                     : start_thread(worker);
    if (code < 0)
        worker_close(worker);
    return code;
}

bool worker_wait(struct worker *worker, int64_t milliseconds)
{
    return wake_wait(worker->wake_fd, milliseconds);
}

bool worker_is_stopping(const struct worker *worker)
{
    return atomic_load(&worker->stop);
}

void worker_notify(struct worker *worker)
{
    wake_poke(worker->news_fd);
}

/* ---- the loop ---- */

void worker_wake(struct worker *worker)
{
    wake_poke(worker->wake_fd);
}

void worker_stop(struct worker *worker)
{
    atomic_store(&worker->stop, true);
    worker_wake(worker);
}

bool worker_await(struct worker *worker, int64_t milliseconds)
{
    uint64_t end_ns = clock_after_ms(milliseconds);

    while (!atomic_load(&worker->left))
        if (!wake_wait(worker->news_fd, clock_ms_until(end_ns)))
            break;
    return atomic_load(&worker->left);
}

void worker_interrupt(const struct worker *worker)
{
    (void)pthread_kill(worker->thread, interrupt_signal());
}

bool worker_free(struct worker *worker)
{
    pthread_t thread = worker->thread;

    if (!atomic_exchange(&worker->left, true)) {
        (void)pthread_detach(thread);
        return false;
    }
    (void)pthread_join(thread, NULL);
    worker_release(worker);
    return true;
}
