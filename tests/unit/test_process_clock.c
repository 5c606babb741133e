/* The CPU clock of a process: against getrusage, with threads, for others, for zombies, for nobody. */
#include "probe/process_clock.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MILLISECOND 1000000ULL

static uint64_t rusage_ns(const struct rusage *usage)
{
    return ((uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec) * 1000000000ULL +
           ((uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec) * 1000ULL;
}

/* Burns CPU time of the calling thread. */
static void burn(uint64_t milliseconds)
{
    struct timespec now;

    do {
        for (volatile int i = 0; i < 10000; i++)
            ;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / MILLISECOND < milliseconds);
}

static void *burn_thread(void *unused)
{
    burn(20);
    return unused;
}

static void own_clock_agrees_with_getrusage(void **state)
{
    (void)state;
    struct rusage before, after;
    uint64_t cpu_ns = 0;

    burn(20);
    getrusage(RUSAGE_SELF, &before);
    assert_int_equal(process_clock_read(getpid(), &cpu_ns), 0);
    getrusage(RUSAGE_SELF, &after);
    /* getrusage cuts user and system time to microseconds each. */
    assert_true(cpu_ns + 2000 >= rusage_ns(&before));
    assert_true(cpu_ns <= rusage_ns(&after) + 2000);
}

static void threads_are_summed(void **state)
{
    (void)state;
    pthread_t threads[2];
    uint64_t before = 0, after = 0;

    assert_int_equal(process_clock_read(getpid(), &before), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, burn_thread, NULL), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(process_clock_read(getpid(), &after), 0);
    assert_true(after - before >= 40 * MILLISECOND);
}

static void zombie_keeps_its_time_until_reaped(void **state)
{
    (void)state;
    struct rusage usage;
    siginfo_t info;
    uint64_t first = 0, second = 0;
    int64_t difference;
    pid_t child = fork();

    if (child == 0) {
        burn(20);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    do { /* until its last steps in the kernel are past */
        assert_int_equal(process_clock_read(child, &first), 0);
        usleep(20000);
        assert_int_equal(process_clock_read(child, &second), 0);
    } while (first != second);
    assert_true(first >= 20 * MILLISECOND);
    assert_int_equal(wait4(child, NULL, 0, &usage), child);
    difference = (int64_t)first - (int64_t)rusage_ns(&usage);
    assert_true(difference > -100000 && difference < 100000);
    assert_int_equal(process_clock_read(child, &first), -ESRCH);
}

static void clock_of_a_process_of_another_user_is_read(void **state)
{
    (void)state;
    uint64_t cpu_ns = 0;

    /* The first process of the machine or of the container is root's. */
    assert_int_equal(process_clock_read(1, &cpu_ns), 0);
    assert_true(cpu_ns > 0);
}

static void nobody_has_no_clock(void **state)
{
    (void)state;
    uint64_t cpu_ns = 0;

    assert_int_equal(process_clock_read(0, &cpu_ns), -ESRCH); /* not the caller's own */
    assert_int_equal(process_clock_read(-1, &cpu_ns), -ESRCH);
    assert_int_equal(process_clock_read(0x1FFFFFF, &cpu_ns), -ESRCH); /* past any pid_max */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_clock_agrees_with_getrusage),
        cmocka_unit_test(threads_are_summed),
        cmocka_unit_test(zombie_keeps_its_time_until_reaped),
        cmocka_unit_test(clock_of_a_process_of_another_user_is_read),
        cmocka_unit_test(nobody_has_no_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
