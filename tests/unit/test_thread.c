/* Threads beside a loop: the kernel says what their names and masks are. */
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"

#define MS ((int64_t)(NS_PER_SECOND / 1000))

static int asked, answered;
static char name[32];
static unsigned long long blocked;

/* Its own name and mask, as the kernel has them. */
static void *tell_status(void *context)
{
    char line[256];

    (void)context;
    assert_true(wake_wait(asked, -1)); /* its name is set by the one that makes it */
    FILE *status = fopen("/proc/thread-self/status", "re");
    while (status && fgets(line, sizeof(line), status)) {
        (void)sscanf(line, "Name:\t%31s", name);
        (void)sscanf(line, "SigBlk:\t%llx", &blocked);
    }
    if (status)
        (void)fclose(status);
    wake_poke(answered);
    return NULL;
}

static void a_thread_has_its_name_and_takes_no_signal(void **state)
{
    (void)state;
    sigset_t before, after;
    pthread_t thread;

    asked = wake_open();
    answered = wake_open();
    assert_true(asked >= 0 && answered >= 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
    assert_int_equal(thread_start(&thread, "metron-test", tell_status, NULL), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    wake_poke(asked);
    assert_true(wake_wait(answered, 10000));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(name, "metron-test");
    assert_true(blocked & (1ULL << (SIGTERM - 1)));
    assert_true(blocked & (1ULL << (SIGCHLD - 1)));
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM)); /* ours is as it was */
    (void)close(asked);
    (void)close(answered);
}

static void a_poke_is_not_lost_and_counts_once(void **state)
{
    (void)state;
    int fd = wake_open();

    wake_poke(fd);
    wake_poke(fd);
    assert_true(wake_wait(fd, 0));
    assert_false(wake_wait(fd, 0));
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    (void)close(fd);
}

static void on_alarm(int number)
{
    (void)number;
}

static void signals_do_not_shorten_the_waiting(void **state)
{
    (void)state;
    const struct sigaction action = {.sa_handler = on_alarm};
    int fd = wake_open();
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    const struct itimerspec every = {.it_value = {.tv_nsec = 5 * MS}, .it_interval = {.tv_nsec = 5 * MS}};

    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &every, NULL), 0);
    uint64_t begin_ns = clock_monotonic_ns();
    assert_false(wake_wait(fd, 60));
    assert_true(clock_monotonic_ns() - begin_ns >= (uint64_t)(60 * MS));
    assert_int_equal(timer_delete(timer), 0);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_has_its_name_and_takes_no_signal),
        cmocka_unit_test(a_poke_is_not_lost_and_counts_once),
        cmocka_unit_test(signals_do_not_shorten_the_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
