/* Reaping: whose status and usage come back, and when there is nothing to take. */
#include "launch/reap.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Up to ten seconds, which only a hang would take. */
static struct reaped await(pid_t pid)
{
    struct reaped reaped = {0};
    int found = 0;

    for (int tries = 0; tries < 10000 && found == 0; tries++) {
        found = launch_reap(pid, &reaped);
        if (found == 0)
            usleep(1000);
    }
    assert_int_equal(found, 1);
    return reaped;
}

static void burn(double seconds)
{
    struct rusage usage;

    do {
        for (volatile int i = 0; i < 100000; i++)
            ;
        getrusage(RUSAGE_SELF, &usage);
    } while ((double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 < seconds);
}

static void nobody_to_reap_is_told(void **state)
{
    struct reaped reaped;
    (void)state;
    assert_int_equal(launch_reap(-1, &reaped), -ECHILD);
    assert_int_equal(launch_reap(getpid(), &reaped), -ECHILD);
}

static void living_child_is_not_waited_for(void **state)
{
    struct reaped reaped;
    pid_t child = fork();
    (void)state;

    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_int_equal(launch_reap(-1, &reaped), 0);
    assert_int_equal(launch_reap(child, &reaped), 0);
    kill(child, SIGTERM);
    reaped = await(child);
    assert_int_equal(reaped.pid, child);
    assert_true(WIFSIGNALED(reaped.wait_status));
    assert_int_equal(WTERMSIG(reaped.wait_status), SIGTERM);
}

static void stopped_child_is_not_an_ended_one(void **state)
{
    struct reaped reaped;
    siginfo_t stopped;
    pid_t child = fork();
    (void)state;

    if (child == 0) {
        raise(SIGSTOP);
        _exit(9);
    }
    assert_int_equal(waitid(P_PID, (id_t)child, &stopped, WSTOPPED | WNOWAIT), 0);
    assert_int_equal(launch_reap(-1, &reaped), 0);
    kill(child, SIGCONT);
    assert_int_equal(WEXITSTATUS(await(-1).wait_status), 9);
}

/* Up to ten seconds, which only a hang would take. */
static pid_t await_ended(pid_t pid)
{
    pid_t found = 0;

    for (int tries = 0; tries < 10000 && found == 0; tries++) {
        found = launch_ended(pid);
        if (found == 0)
            usleep(1000);
    }
    return found;
}

static void an_ended_child_is_told_and_left_to_be_reaped(void **state)
{
    struct reaped reaped;
    siginfo_t zombie;
    pid_t child = fork();
    (void)state;

    if (child == 0)
        _exit(6);
    assert_int_equal(await_ended(-1), child);
    assert_int_equal(launch_ended(-1), child); /* as often as one asks */
    assert_int_equal(launch_ended(child), child);
    assert_int_equal(waitid(P_PID, (id_t)child, &zombie, WEXITED | WNOHANG | WNOWAIT), 0);
    assert_int_equal(zombie.si_pid, child);
    assert_int_equal(launch_reap(child, &reaped), 1);
    assert_int_equal(WEXITSTATUS(reaped.wait_status), 6);
    assert_int_equal(launch_ended(-1), -ECHILD);
}

static void a_child_that_has_not_ended_is_not_told(void **state)
{
    siginfo_t stopped;
    pid_t living = fork();
    (void)state;

    assert_int_equal(launch_ended(getpid()), -ECHILD); /* none of ours */
    if (living == 0) {
        raise(SIGSTOP);
        pause();
        _exit(0);
    }
    assert_int_equal(launch_ended(-1), 0);
    assert_int_equal(launch_ended(living), 0);
    assert_int_equal(waitid(P_PID, (id_t)living, &stopped, WSTOPPED | WNOWAIT), 0);
    assert_int_equal(launch_ended(-1), 0); /* stopped is not ended */
    pid_t ended = fork();
    if (ended == 0)
        _exit(0);
    assert_int_equal(await_ended(-1), ended);
    assert_int_equal(launch_ended(living), 0); /* another one has */
    (void)await(ended);
    kill(living, SIGKILL);
    (void)await(living);
}

static void usage_includes_waited_for_children(void **state)
{
    pid_t child = fork();
    (void)state;

    if (child == 0) {
        pid_t grandchild = fork();

        if (grandchild == 0) {
            burn(0.05);
            _exit(0);
        }
        waitpid(grandchild, NULL, 0);
        _exit(0);
    }

    struct reaped reaped = await(-1);

    assert_int_equal(reaped.pid, child);
    assert_true((double)reaped.usage.ru_utime.tv_usec / 1e6 + (double)reaped.usage.ru_utime.tv_sec >= 0.05);
    assert_true(reaped.usage.ru_maxrss > 0);
}

static void orphan_of_a_subreaper_is_reaped_here(void **state)
{
    int pids[2];
    pid_t orphan = 0;
    (void)state;

    assert_int_equal(launch_become_subreaper(), 0);
    assert_int_equal(pipe(pids), 0);

    pid_t child = fork();

    if (child == 0) {
        pid_t grandchild = fork();

        if (grandchild == 0) {
            setsid();
            usleep(30000);
            _exit(5);
        }
        _exit(write(pids[1], &grandchild, sizeof(grandchild)) == sizeof(grandchild) ? 0 : 1);
    }
    assert_int_equal(read(pids[0], &orphan, sizeof(orphan)), sizeof(orphan));
    close(pids[0]);
    close(pids[1]);
    assert_int_equal(await(child).wait_status, 0);

    struct reaped reaped = await(-1);

    assert_int_equal(reaped.pid, orphan);
    assert_int_equal(WEXITSTATUS(reaped.wait_status), 5);
}

static int clone_main(void *argument)
{
    (void)argument;
    return 6;
}

static void child_with_another_exit_signal_is_reaped(void **state)
{
    const size_t stack_bytes = 64UL * 1024;
    char *stack = malloc(stack_bytes);
    (void)state;

    assert_non_null(stack);

    pid_t child = clone(clone_main, stack + stack_bytes, 0, NULL);

    assert_true(child > 0);
    assert_int_equal(WEXITSTATUS(await(child).wait_status), 6);
    free(stack);
}

/* ---- children that have themselves traced ---- */

static volatile sig_atomic_t handled;

static void on_signal(int number)
{
    (void)number;
    handled++;
}

static void trace_me(void)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(99);
}

static void a_traced_child_gets_its_signals_and_ends_once(void **state)
{
    const bool by_pid[] = {true, false};
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        pid_t child = fork();

        if (child == 0) {
            trace_me();
            (void)signal(SIGUSR1, on_signal);
            for (int times = 0; times < 3; times++)
                raise(SIGUSR1);
            _exit(handled);
        }
        struct reaped reaped = await(by_pid[i] ? child : -1);
        assert_int_equal(reaped.pid, child);
        assert_true(WIFEXITED(reaped.wait_status));
        assert_int_equal(WEXITSTATUS(reaped.wait_status), 3);
    }
}

/* The SIGTRAP of the exec would end it. */
static void a_traced_child_may_exec(void **state)
{
    pid_t child = fork();
    (void)state;

    if (child == 0) {
        trace_me();
        execl("/bin/sh", "sh", "-c", "exec /bin/sh -c 'exit 7'", (char *)NULL);
        _exit(98);
    }
    assert_int_equal(await_ended(-1), child);
    assert_int_equal(WEXITSTATUS(await(child).wait_status), 7);
}

static void a_signal_that_ends_a_traced_child_ends_it(void **state)
{
    const int numbers[] = {SIGTRAP, SIGTERM, SIGKILL};
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        pid_t child = fork();

        if (child == 0) {
            trace_me();
            raise(numbers[i]);
            _exit(0);
        }
        struct reaped reaped = await(child);
        assert_true(WIFSIGNALED(reaped.wait_status));
        assert_int_equal(WTERMSIG(reaped.wait_status), numbers[i]);
    }
}

static void a_traced_child_that_stops_is_stopped_like_any_other(void **state)
{
    siginfo_t stopped = {0};
    pid_t child = fork();
    (void)state;

    if (child == 0) {
        trace_me();
        raise(SIGSTOP);
        _exit(8);
    }
    for (int tries = 0; tries < 10000 && stopped.si_code != CLD_STOPPED; tries++) { /* CLD_TRAPPED before */
        assert_int_equal(launch_ended(-1), 0);
        assert_int_equal(waitid(P_PID, (id_t)child, &stopped, WSTOPPED | WNOWAIT | WNOHANG), 0);
        usleep(1000);
    }
    assert_int_equal(stopped.si_code, CLD_STOPPED);
    kill(child, SIGCONT);
    assert_int_equal(WEXITSTATUS(await(child).wait_status), 8);
}

static void *raise_in_thread(void *argument)
{
    trace_me();
    raise(SIGUSR1);
    return argument;
}

static void *end_in_thread(void *argument)
{
    trace_me();
    return argument;
}

/* A traced thread that has ended keeps its process from ending until it was waited for. */
static void traced_threads_are_no_children(void **state)
{
    const bool by_pid[] = {true, false};
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        pid_t child = fork();

        if (child == 0) {
            pthread_t raising, ending;

            (void)signal(SIGUSR1, on_signal);
            if (pthread_create(&raising, NULL, raise_in_thread, NULL) != 0 ||
                pthread_create(&ending, NULL, end_in_thread, NULL) != 0 || pthread_join(raising, NULL) != 0 ||
                pthread_join(ending, NULL) != 0)
                _exit(97);
            _exit(handled ? 9 : 96);
        }
        struct reaped reaped = await(by_pid[i] ? child : -1);
        assert_int_equal(reaped.pid, child);
        assert_int_equal(WEXITSTATUS(reaped.wait_status), 9);
        assert_int_equal(launch_ended(-1), -ECHILD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_to_reap_is_told),
        cmocka_unit_test(living_child_is_not_waited_for),
        cmocka_unit_test(stopped_child_is_not_an_ended_one),
        cmocka_unit_test(an_ended_child_is_told_and_left_to_be_reaped),
        cmocka_unit_test(a_child_that_has_not_ended_is_not_told),
        cmocka_unit_test(usage_includes_waited_for_children),
        cmocka_unit_test(orphan_of_a_subreaper_is_reaped_here),
        cmocka_unit_test(child_with_another_exit_signal_is_reaped),
        cmocka_unit_test(a_traced_child_gets_its_signals_and_ends_once),
        cmocka_unit_test(a_traced_child_may_exec),
        cmocka_unit_test(a_signal_that_ends_a_traced_child_ends_it),
        cmocka_unit_test(a_traced_child_that_stops_is_stopped_like_any_other),
        cmocka_unit_test(traced_threads_are_no_children),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
