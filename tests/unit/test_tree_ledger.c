/* What the ledger holds of a tree: real processes, each way of finding them. test_ledger.c has its
 * arithmetic. */
#include "tree/tree.h"

#include "tree_fixture.h"

#include <fcntl.h>
#include <sched.h>

static void body_burn(void)
{
    burn_process(0.06);
    say();
    wait_for_go(1);
}

static void what_was_reaped_moves_from_the_living_to_the_gone(void **state)
{
    watch_begin(state);
    const struct ledger *ledger = tree_ledger(watch.tree);
    (void)start_root(body_burn);
    await_said(1);
    tree_refresh(watch.tree);
    double before = ledger->published.cpu_seconds;
    assert_true(before >= 0.06 && before < 0.5);
    assert_true(ledger->gone.cpu_seconds <= 0);
    assert_true(fabs(ledger->live.cpu_seconds - before) < 1e-9);
    let_go(1);
    await_reaped(1);
    assert_int_equal(tree_count(watch.tree), 0); /* at once: its pid may be somebody else's by now */
    tree_refresh(watch.tree);
    assert_true(ledger->live.cpu_seconds <= 0);
    assert_true(ledger->gone.cpu_seconds >= 0.06);
    assert_true(fabs(ledger->reaped_cpu_seconds - ledger->gone.cpu_seconds) < 1e-9);
    assert_true(ledger->published.cpu_seconds >= before && ledger->published.cpu_seconds < before + 0.1);
    assert_int_equal(ledger->reaped_count, 1);
    assert_true(ledger->published.counts[LEDGER_MINOR_FAULTS] > 0);
}

static void body_waited_children(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            burn_process(0.03);
            _exit(0);
        }
        (void)wait_checked(pid);
    }
    burn_process(0.03);
    say();
    wait_for_go(1);
}

static void children_that_their_parent_waited_for_are_counted_once(void **state)
{
    watch_begin(state);
    (void)start_root(body_waited_children);
    /* Passes see the children alive, and then as part of their parent. */
    for (int ms = 0; atomic_load(&shared->said) < 1 && ms < PATIENCE_MS; ms += 5) {
        tree_refresh(watch.tree);
        sleep_seconds(0.005);
    }
    tree_refresh(watch.tree);
    double alive = tree_ledger(watch.tree)->live.cpu_seconds;
    let_go(1);
    await_reaped(1);
    tree_refresh(watch.tree);
    double truth = children_cpu_seconds() - watch.children_before;
    assert_true(truth >= 0.12 && truth < 0.4);
    assert_true(fabs(cpu_published() - truth) < 0.011); /* a pass between two ticks */
    assert_true(fabs(alive - truth) < 0.04);
}

/* 100 children of 1 ms; every tenth leaves a child of its own behind that nobody but us will wait for. */
static void body_storm(void)
{
    for (int i = 0; i < 100; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (i % 10 == 0 && fork() == 0) {
                burn_process(0.002);
                _exit(0);
            }
            burn_process(0.001);
            _exit(0);
        }
        if (i % 5 != 0)
            (void)wait_checked(pid);
    }
    while (wait(NULL) > 0)
        ;
}

enum { STORM_PROCESSES = 1 + 100 + 10 };

static bool nobody_is_left(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

static void the_ledger_never_falls_and_conserves_a_fork_storm(void **state)
{
    watch_begin(state);
    (void)start_root(body_storm);
    double before = 0;
    unsigned passes = 0;
    for (int ms = 0; ms < PATIENCE_MS; ms += 4) {
        (void)reap_all();
        tree_refresh(watch.tree);
        passes++;
        assert_true(cpu_published() >= before);
        before = cpu_published();
        if (tree_count(watch.tree) == 0 && nobody_is_left())
            break;
        sleep_seconds(0.004);
    }
    double truth = children_cpu_seconds() - watch.children_before;
    assert_true(passes > 2);
    assert_true(truth > 0.1);
    if (fabs(cpu_published() - truth) > 0.01 * truth)
        fail_msg("the ledger has %.6f s, the kernel %.6f s", cpu_published(), truth);
    assert_int_equal(tree_spawned(watch.tree), tree_exited(watch.tree));
    if (is_told(state) && tree_events_lost(watch.tree) == 0)
        assert_int_equal(tree_spawned(watch.tree), STORM_PROCESSES);
    else
        assert_in_range(tree_spawned(watch.tree), 1, STORM_PROCESSES);
    assert_int_equal(tree_counts_all(watch.tree), is_told(state) && tree_events_lost(watch.tree) == 0);
    assert_int_equal(tree_living(watch.tree), 0);
}

static void the_largest_high_water_mark_is_kept(void **state)
{
    watch_begin(state);
    struct process *process = &(struct process){0};
    (void)tree_note_hwm(watch.tree, process, 300);
    (void)tree_note_hwm(watch.tree, process, 500);
    (void)tree_note_hwm(watch.tree, process, 400);
    assert_int_equal(tree_ledger(watch.tree)->hwm_bytes, 500);
}

/* So many writes of so many bytes, none of which reaches storage; and reads. */
static void do_io(int writes, int bytes)
{
    static char block[4096];
    int out = open("/dev/null", O_WRONLY | O_CLOEXEC), in = open("/dev/zero", O_RDONLY | O_CLOEXEC);

    for (int i = 0; i < writes; i++)
        if (write(out, block, (size_t)bytes) != bytes || read(in, block, 2 * (size_t)bytes) != 2 * bytes)
            _exit(95);
    (void)close(out);
    (void)close(in);
}

/* A waited-for child, one that nobody but us will wait for, and itself. */
static void body_io(void)
{
    pid_t waited = fork();

    if (waited == 0) {
        do_io(100, 1000);
        _exit(0);
    }
    (void)wait_checked(waited);
    if (fork() == 0) {
        do_io(10, 300);
        say();
        wait_for_go(2);
        _exit(0);
    }
    do_io(50, 200);
    say();
    wait_for_go(1);
}

enum { IO_CALLS = 100 + 10 + 50, IO_BYTES = 100 * 1000 + 10 * 300 + 50 * 200 };

static void io_published_is(uint64_t calls, uint64_t bytes)
{
    const uint64_t *counts = tree_ledger(watch.tree)->published.counts;

    assert_int_equal(counts[LEDGER_SYSCW], calls);
    assert_int_equal(counts[LEDGER_WCHAR], bytes);
    assert_int_equal(counts[LEDGER_SYSCR], calls);
    assert_int_equal(counts[LEDGER_RCHAR], 2 * bytes);
}

static void io_of_a_reaped_process_is_not_lost(void **state)
{
    watch_begin(state);
    const struct ledger *ledger = tree_ledger(watch.tree);
    assert_false(tree_has_io(watch.tree));
    (void)start_root(body_io);
    await_said(2);
    tree_refresh(watch.tree);
    assert_true(tree_has_io(watch.tree));
    io_published_is(IO_CALLS, IO_BYTES); /* the waited-for child's once, in its parent's */
    let_go(1);
    await_reaped(1);
    tree_refresh(watch.tree);
    assert_int_equal(ledger->gone.counts[LEDGER_WCHAR], IO_BYTES - 10 * 300);
    assert_int_equal(ledger->live.counts[LEDGER_WCHAR], 10 * 300);
    io_published_is(IO_CALLS, IO_BYTES);
    let_go(2);
    await_reaped(1);
    tree_refresh(watch.tree);
    assert_int_equal(ledger->live.counts[LEDGER_WCHAR], 0);
    io_published_is(IO_CALLS, IO_BYTES);
}

static void body_io_at_once(void)
{
    do_io(20, 4);
}

static void io_of_a_process_that_no_pass_saw_is_not_lost(void **state)
{
    watch_begin(state);
    (void)start_root(body_io_at_once);
    await_reaped(1);
    tree_refresh(watch.tree);
    assert_true(tree_has_io(watch.tree));
    io_published_is(20, 80);
}

static void body_io_storm(void)
{
    for (int i = 0; i < 50; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            do_io(3, 500);
            if (i % 10 == 0 && fork() == 0)
                do_io(3, 500); /* left to us */
            _exit(0);
        }
        if (i % 5 != 0)
            (void)wait_checked(pid);
    }
    while (wait(NULL) > 0)
        ;
}

static void io_of_a_fork_storm_is_conserved(void **state)
{
    watch_begin(state);
    (void)start_root(body_io_storm);
    uint64_t before = 0;
    for (int ms = 0; ms < PATIENCE_MS; ms += 2) {
        (void)reap_all();
        tree_refresh(watch.tree);
        uint64_t now = tree_ledger(watch.tree)->published.counts[LEDGER_WCHAR];
        assert_true(now >= before);
        before = now;
        if (tree_count(watch.tree) == 0 && nobody_is_left())
            break;
        sleep_seconds(0.002);
    }
    io_published_is(55 * 3, 55 * 3 * 500);
}

static void io_that_nobody_asked_for_is_not_read(void **state)
{
    struct tree_options options = tree_options_for(method_of(state));

    options.read_io = false;
    watch_with(&options, method_of(state));
    (void)start_root(body_io);
    await_said(2);
    tree_refresh(watch.tree);
    let_go(2);
    await_reaped(2);
    tree_refresh(watch.tree);
    assert_false(tree_has_io(watch.tree));
    io_published_is(0, 0);
}

static void body_ignores_its_children(void)
{
    (void)signal(SIGCHLD, SIG_IGN);
    if (fork() == 0) {
        say();
        wait_for_go(1);
        _exit(0);
    }
    say();
    (void)pause(); /* it does not run again */
}

static void a_parent_that_ignores_its_children_makes_cpu_not_conserved(void **state)
{
    watch_begin(state);
    assert_null(tree_cpu_missing(watch.tree));
    (void)start_root(body_ignores_its_children);
    await_said(2);
    tree_refresh(watch.tree);
    tree_refresh(watch.tree); /* that it has children may be known only after it was read */
    assert_ptr_equal(tree_cpu_missing(watch.tree), &note_ignored_sigchld);
}

static void body_ignores_nobody(void)
{
    (void)signal(SIGCHLD, SIG_IGN);
    say();
    wait_for_go(1);
}

static void ignoring_children_without_having_any_loses_nothing(void **state)
{
    watch_begin(state);
    (void)start_root(body_ignores_nobody);
    await_said(1);
    tree_refresh(watch.tree);
    tree_refresh(watch.tree);
    assert_null(tree_cpu_missing(watch.tree));
}

/* Most of it is more than the ledger takes for a process between two states. */
#define NAMESPACE_WORK 0.18

/* A pid namespace whose first process leaves: the kernel kills the other one, and nobody inherits its times.
 * Inside, getpid() is another number: nothing there may say(). */
static void body_namespace(void)
{
    if (unshare(CLONE_NEWPID) != 0) {
        atomic_store(&shared->counts[0], -1);
        _exit(0);
    }
    pid_t first = fork();
    if (first == 0) {
        if (fork() == 0) {
            burn_process(NAMESPACE_WORK);
            atomic_store(&shared->counts[0], 1);
            wait_for_go(OVER);
            _exit(0);
        }
        wait_for_go(1);
        _exit(0);
    }
    (void)wait_checked(first);
    say();
    wait_for_go(2);
}

/* Follows such a tree until the namespace is gone and one pass has missed its CPU. */
static void watch_a_namespace_end(void **state)
{
    watch_begin(state);
    (void)start_root(body_namespace);
    for (int ms = 0; atomic_load(&shared->counts[0]) == 0 && ms < PATIENCE_MS; ms++)
        sleep_seconds(0.001);
    if (atomic_load(&shared->counts[0]) < 0) {
        print_message("no pid namespace can be made here\n");
        skip();
    }
    tree_refresh(watch.tree);
    assert_true(cpu_published() >= NAMESPACE_WORK);
    let_go(1);
    await_said(1);
    tree_refresh(watch.tree);
    assert_true(tree_ledger(watch.tree)->live.cpu_seconds < 0.12);
    assert_true(cpu_published() >= NAMESPACE_WORK); /* it never falls */
    assert_null(tree_cpu_missing(watch.tree));
}

static void cpu_dropped_with_a_pid_namespace_is_noticed(void **state)
{
    watch_a_namespace_end(state);
    for (int i = 1; i < LEDGER_PATIENCE; i++)
        tree_refresh(watch.tree);
    assert_non_null(tree_cpu_missing(watch.tree));
    assert_non_null(strstr(tree_cpu_missing(watch.tree)->text, "at least 0."));
    assert_int_equal(tree_cpu_missing(watch.tree)->bound, BOUND_LOWER);
    assert_true(tree_ledger(watch.tree)->dropped_cpu_seconds >= 0.12);
}

static void what_the_last_pass_misses_is_lost(void **state)
{
    watch_a_namespace_end(state);
    tree_settle(watch.tree);
    assert_non_null(tree_cpu_missing(watch.tree));
    assert_non_null(strstr(tree_cpu_missing(watch.tree)->text, "dropped by the kernel"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALL_WAYS(what_was_reaped_moves_from_the_living_to_the_gone),
        ALL_WAYS(children_that_their_parent_waited_for_are_counted_once),
        ALL_WAYS(the_ledger_never_falls_and_conserves_a_fork_storm),
        ONE_WAY(the_largest_high_water_mark_is_kept, by_listings),
        ALL_WAYS(io_of_a_reaped_process_is_not_lost),
        ALL_WAYS(io_of_a_process_that_no_pass_saw_is_not_lost),
        ALL_WAYS(io_of_a_fork_storm_is_conserved),
        ONE_WAY(io_that_nobody_asked_for_is_not_read, by_listings),
        ALL_WAYS(a_parent_that_ignores_its_children_makes_cpu_not_conserved),
        ALL_WAYS(ignoring_children_without_having_any_loses_nothing),
        ALL_WAYS(cpu_dropped_with_a_pid_namespace_is_noticed),
        ONE_WAY(what_the_last_pass_misses_is_lost, by_listings),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
