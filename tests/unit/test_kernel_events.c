/* The program that loads our programs is a child: it is taken when it has ended, and what it used is told. */
#include <errno.h>
#include <fcntl.h>

#include "loop/kernel_events.h"
#include "machine_fixture.h"

static struct kernel_events events;

/* Ends when the pipe is closed, having used a little. */
static pid_t start_loader(int *gate)
{
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char none;

        (void)close(ends[1]);
        (void)!read(ends[0], &none, sizeof(none));
        burn_process(0.05);
        _exit(0);
    }
    (void)close(ends[0]);
    *gate = ends[1];
    return pid;
}

static void the_loader_is_taken_when_it_has_ended(void **state)
{
    int gate;

    watch_machine(state);
    pid_t loader = start_loader(&gate);
    events = (struct kernel_events){.start.pid = loader};
    kernel_events_reap(&events, watch.tree);
    assert_int_equal(events.start.pid, loader); /* it lives */

    assert_int_equal(close(gate), 0);
    siginfo_t ended;
    assert_int_equal(waitid(P_PID, (id_t)loader, &ended, WEXITED | WNOWAIT), 0);
    kernel_events_reap(&events, watch.tree);
    assert_int_equal(events.start.pid, 0);
    assert_near(events.loader_cpu_seconds, 0.05, 0.02);
    assert_int_equal(waitpid(loader, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);

    kernel_events_reap(&events, watch.tree); /* nobody to wait for: other children are left alone */
    assert_near(events.loader_cpu_seconds, 0.05, 0.02);
}

static void other_children_are_left_alone(void **state)
{
    int gate;

    watch_machine(state);
    pid_t other = start_loader(&gate);
    assert_int_equal(close(gate), 0);
    siginfo_t ended;
    assert_int_equal(waitid(P_PID, (id_t)other, &ended, WEXITED | WNOWAIT), 0);
    events = (struct kernel_events){0};
    kernel_events_reap(&events, watch.tree);
    assert_int_equal(waitpid(other, NULL, WNOHANG), other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE_WAY(the_loader_is_taken_when_it_has_ended, by_scan),
        ONE_WAY(other_children_are_left_alone, by_scan),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
