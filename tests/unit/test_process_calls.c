/* The book of calls by process, filled from lines of strace: who a process is may be known before or after.
 *
 * process_calls.c is compiled into the test, which so counts how often it waits.
 */
#include <time.h>

static int pause_counted(const struct timespec *time, struct timespec *rest);
#define nanosleep pause_counted
#include "loop/process_calls.c" /* NOLINT(bugprone-suspicious-include) */
#undef nanosleep

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"

enum {
    GONE = 4000001,
    FIRST_SERIAL = 1000
}; /* a pid that nobody has, and serials that the tree does not give */

static struct {
    struct kernel_facts facts;
    struct tree *tree;
    struct strace_calls *strace;
    struct process_calls *calls;
    uint64_t taken;
    unsigned pauses;
    pid_t child;
} test;

static int pause_counted(const struct timespec *time, struct timespec *rest)
{
    test.pauses++;
    return nanosleep(time, rest);
}

static bool take_one(void *owner, struct counted *counted, const char *name,
                     const struct syscall_totals *more)
{
    assert_ptr_equal(owner, &test);
    assert_true(counted->is_known);
    assert_string_equal(name, "getppid");
    test.taken += more->count;
    return true;
}

static void open_book(bool all_are_ours)
{
    const struct process_calls_options options = {.tree = test.tree,
                                                  .strace = test.strace,
                                                  .all_are_ours = all_are_ours,
                                                  .owner = &test,
                                                  .take = take_one};

    test.calls = process_calls_new(&options);
    assert_non_null(test.calls);
}

static int setup(void **state)
{
    (void)state;
    memset(&test, 0, sizeof(test));
    if (kernel_facts_read("/proc", &test.facts) < 0)
        return -1;
    const struct tree_options tree = {
        .proc_root = "/proc", .facts = &test.facts, .start_ns = clock_monotonic_ns()};
    test.tree = tree_new(&tree, NULL);
    test.strace = strace_calls_new("/nonexistent");
    test.child = fork();
    if (test.child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)pause();
    }
    if (!test.tree || !test.strace || test.child < 0 || tree_add_root(test.tree, test.child) < 0)
        return -1;
    tree_refresh(test.tree);
    return tree_find(test.tree, test.child) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    process_calls_free(test.calls);
    strace_calls_free(test.strace);
    tree_free(test.tree);
    (void)kill(test.child, SIGKILL);
    return waitpid(test.child, NULL, 0) == test.child ? 0 : -1;
}

static void calls_of(pid_t pid, int count, bool exits)
{
    char line[64];

    for (int i = 0; i < count + exits; i++) {
        (void)snprintf(line, sizeof(line),
                       i < count ? "%d getppid() = 1 <0.000001>\n" : "%d +++ exited with 0 +++\n", (int)pid);
        strace_calls_add(test.strace, line, strlen(line));
    }
}

static struct process of_subject(uint64_t serial, pid_t pid)
{
    return (struct process){.subject = {.serial = serial, .id = pid, .incarnation = 1}};
}

/* One that has left, and that strace has not reported. */
static struct process of_child(uint64_t serial, pid_t parent, uint64_t born_ns)
{
    struct process process = of_subject(serial, GONE);

    process.passes = 1;
    process.stat.ppid = parent;
    process.subject.born_ns = born_ns;
    return process;
}

/* How often it has called since it is followed, as the book has it; -1: it is not there. */
static int booked(uint64_t serial)
{
    int found = -1;

    for (struct counted *counted = NULL; (counted = process_calls_next(test.calls, counted));)
        if (counted->subject.serial == serial) {
            assert_int_equal(found, -1);
            found = counted->table.count ? (int)counted->table.entries[0].totals.count : 0;
        }
    return found;
}

static void a_member_of_the_tree_has_its_calls_until_it_has_left(void **state)
{
    (void)state;
    open_book(true);
    struct process *child = tree_find(test.tree, test.child);
    const uint64_t serial = child->subject.serial;

    calls_of(test.child, 3, false);
    assert_int_equal(process_calls_read(test.calls), 0);
    assert_int_equal(booked(serial), 3);
    calls_of(test.child, 4, true);
    child->kernel_id = 0; /* an event of its birth came late */
    process_calls_leave(test.calls, child);
    assert_int_equal(process_calls_read(test.calls), 0);
    assert_int_equal(booked(serial), 7);
    assert_int_equal(process_calls_read(test.calls), 0);
    assert_int_equal(booked(serial), -1); /* it is reported once after its end */
    assert_int_equal(test.taken, 7);
}

static void one_that_strace_saw_first_is_known_once_the_tree_reports_its_end(void **state)
{
    (void)state;
    open_book(true);
    const struct process gone = of_subject(FIRST_SERIAL, GONE);

    calls_of(GONE, 5, true);
    assert_int_equal(process_calls_read(test.calls), 0);
    assert_int_equal(test.taken, 5);
    process_calls_leave(test.calls, &gone);
    assert_int_equal(process_calls_read(test.calls), 0);
    assert_int_equal(booked(FIRST_SERIAL), 5);
    assert_int_equal(process_calls_read(test.calls), 0);
    assert_int_equal(booked(FIRST_SERIAL), -1);
}

static void one_that_the_tree_saw_first_is_found_at_the_reading(void **state)
{
    (void)state;
    open_book(true);
    const struct process gone = of_subject(FIRST_SERIAL, GONE);

    process_calls_leave(test.calls, &gone);
    calls_of(GONE, 6, true);
    assert_int_equal(process_calls_read(test.calls), 0);
    assert_int_equal(booked(FIRST_SERIAL), 6);
}

static void two_of_one_pid_have_their_own_calls(void **state)
{
    (void)state;
    open_book(true);
    const struct process first = of_subject(FIRST_SERIAL, GONE), second = of_subject(FIRST_SERIAL + 1, GONE);

    calls_of(GONE, 1, true);
    process_calls_leave(test.calls, &first);
    calls_of(GONE, 2, true);
    process_calls_leave(test.calls, &second);
    assert_int_equal(process_calls_read(test.calls), 0);
    assert_int_equal(booked(FIRST_SERIAL), 1);
    assert_int_equal(booked(FIRST_SERIAL + 1), 2);
    assert_int_equal(test.taken, 3);
}

static void those_that_nobody_knows_are_forgotten(void **state)
{
    (void)state;
    open_book(true);
    calls_of(GONE, 5, true);
    for (int i = 0; i < 10; i++)
        assert_int_equal(process_calls_read(test.calls), 0);
    assert_null(process_calls_next(test.calls, NULL));
    assert_int_equal(test.taken, 5); /* of the whole target */
}

static void where_not_all_are_ours_others_are_left_out(void **state)
{
    (void)state;
    open_book(false);
    calls_of(GONE, 5, false);
    calls_of(test.child, 3, false);
    assert_int_equal(process_calls_read(test.calls), 0);
    assert_int_equal(test.taken, 3);
    assert_int_equal(booked(tree_find(test.tree, test.child)->subject.serial), 3);
}

static void those_that_strace_does_not_follow_do_not_hold_up_every_reading(void **state)
{
    (void)state;
    open_book(true);
    strace_calls_know(test.strace, test.child, test.child);
    for (int i = 0; i < 12; i++) {
        const struct process gone = of_child(FIRST_SERIAL + (uint64_t)i, test.child, clock_monotonic_ns());

        test.pauses = 0;
        process_calls_leave(test.calls, &gone);
        assert_int_equal(process_calls_read(test.calls), 0);
    }
    assert_true(test.pauses <= 1);
}

static void those_that_strace_cannot_follow_are_not_awaited(void **state)
{
    (void)state;
    open_book(true);
    const uint64_t before_ns = clock_monotonic_ns();
    const struct process before = of_child(FIRST_SERIAL, test.child, before_ns);

    process_calls_leave(test.calls, &before);
    assert_int_equal(process_calls_read(test.calls), 0);
    strace_calls_know(test.strace, test.child, test.child);
    const uint64_t now_ns = clock_monotonic_ns();
    const struct process meanwhile = of_child(FIRST_SERIAL + 1, test.child, before_ns),
                         unfollowed = of_child(FIRST_SERIAL + 2, GONE + 1, now_ns),
                         followed = of_child(FIRST_SERIAL + 3, test.child, now_ns);
    process_calls_leave(test.calls, &meanwhile);
    process_calls_leave(test.calls, &unfollowed);
    assert_int_equal(process_calls_read(test.calls), 0);
    assert_int_equal(test.pauses, 0);
    process_calls_leave(test.calls, &followed);
    assert_int_equal(process_calls_read(test.calls), 0);
    assert_true(test.pauses > 0);
}

#define BOOK(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOOK(a_member_of_the_tree_has_its_calls_until_it_has_left),
        BOOK(one_that_strace_saw_first_is_known_once_the_tree_reports_its_end),
        BOOK(one_that_the_tree_saw_first_is_found_at_the_reading),
        BOOK(two_of_one_pid_have_their_own_calls),
        BOOK(those_that_nobody_knows_are_forgotten),
        BOOK(where_not_all_are_ours_others_are_left_out),
        BOOK(those_that_strace_does_not_follow_do_not_hold_up_every_reading),
        BOOK(those_that_strace_cannot_follow_are_not_awaited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
