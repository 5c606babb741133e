#include "base/thread.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"

#define NS_PER_MS (NS_PER_SECOND / 1000)

int thread_start(pthread_t *thread, const char *name, void *(*run)(void *context), void *context)
{
    sigset_t all, before;

    /* The new thread inherits the mask of the one that makes it. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(thread, NULL, run, context);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0)
        (void)pthread_setname_np(*thread, name);
    return -code;
}

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

/* What is left until then, rounded up; -1: no limit. */
static int left_ms(bool is_limited, uint64_t end_ns)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (!is_limited)
        return -1;
    return now_ns < end_ns ? (int)((end_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

bool wake_wait(int fd, int64_t milliseconds)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    bool is_limited = milliseconds >= 0;
    uint64_t end_ns = is_limited ? clock_monotonic_ns() + (uint64_t)milliseconds * NS_PER_MS : 0;
    uint64_t count;
    int found;

    do
        found = poll(&ready, 1, left_ms(is_limited, end_ns));
    while (found < 0 && errno == EINTR);
    return found > 0 && read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count);
}
