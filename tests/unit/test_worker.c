/* Workers: the kernel's own word on their names and masks; and who frees what they use. */
#include "base/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"

#define MS ((int64_t)(NS_PER_SECOND / 1000))

struct clerk {
    struct worker worker;
    char name[32];
    unsigned long long blocked;
    int hold_fd; /* the thread ends once this is poked; -1: at once */
};

static atomic_uint released;

static void release(void *owner)
{
    free(owner);
    atomic_fetch_add(&released, 1);
}

/* Its own name and mask, as the kernel has them. */
static void read_status(void *owner)
{
    struct clerk *clerk = owner;
    char line[256];

    assert_true(worker_wait(&clerk->worker, -1)); /* its name is set by the one that makes it */
    FILE *status = fopen("/proc/thread-self/status", "re");
    while (status && fgets(line, sizeof(line), status)) {
        (void)sscanf(line, "Name:\t%31s", clerk->name);
        (void)sscanf(line, "SigBlk:\t%llx", &clerk->blocked);
    }
    if (status)
        (void)fclose(status);
    if (clerk->hold_fd >= 0)
        (void)wake_wait(clerk->hold_fd, -1);
}

static void block_in_poll(void *owner)
{
    (void)owner;
    while (poll(NULL, 0, -1) >= 0 || errno != EINTR)
        ;
}

static struct clerk *hire(void (*run)(void *owner), int hold_fd)
{
    struct clerk *clerk = calloc(1, sizeof(*clerk));
    const struct worker_options options = {
        .name = "metron-test", .run = run, .release = release, .owner = clerk, .is_interruptible = true};

    assert_non_null(clerk);
    clerk->hold_fd = hold_fd;
    atomic_store(&released, 0);
    assert_int_equal(worker_start(&clerk->worker, &options), 0);
    return clerk;
}

static void a_worker_has_its_name_and_takes_no_signal(void **state)
{
    (void)state;
    sigset_t before, after;

    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
    struct clerk *clerk = hire(read_status, -1);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    assert_false(worker_await(&clerk->worker, 0));
    worker_wake(&clerk->worker);
    assert_true(worker_await(&clerk->worker, 10000));
    assert_string_equal(clerk->name, "metron-test");
    assert_true(clerk->blocked & (1ULL << (SIGTERM - 1)));
    assert_true(clerk->blocked & (1ULL << (SIGCHLD - 1)));
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM)); /* ours is as it was */
    assert_int_equal(atomic_load(&released), 0);
    assert_true(worker_free(&clerk->worker));
    assert_int_equal(atomic_load(&released), 1);
}

static void a_worker_that_is_left_behind_releases_its_owner_itself(void **state)
{
    (void)state;
    int hold_fd = wake_open();
    struct clerk *clerk = hire(read_status, hold_fd);

    worker_stop(&clerk->worker);
    assert_false(worker_await(&clerk->worker, 20));
    assert_false(worker_free(&clerk->worker));
    assert_int_equal(atomic_load(&released), 0);
    wake_poke(hold_fd);
    for (int i = 0; i < 10000 && atomic_load(&released) == 0; i++)
        (void)poll(NULL, 0, 1);
    assert_int_equal(atomic_load(&released), 1);
    (void)close(hold_fd);
}

static void a_blocked_call_is_interrupted(void **state)
{
    (void)state;
    struct clerk *clerk = hire(block_in_poll, -1);

    while (!worker_await(&clerk->worker, 1))
        worker_interrupt(&clerk->worker);
    assert_true(worker_free(&clerk->worker));
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
        cmocka_unit_test(a_worker_has_its_name_and_takes_no_signal),
        cmocka_unit_test(a_worker_that_is_left_behind_releases_its_owner_itself),
        cmocka_unit_test(a_blocked_call_is_interrupted),
        cmocka_unit_test(a_poke_is_not_lost_and_counts_once),
        cmocka_unit_test(signals_do_not_shorten_the_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
