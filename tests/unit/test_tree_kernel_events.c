/* What only our programs in the kernel tell: what a process had used when it ended, however short it was. */
#include "probe/lifecycle.h"

/* tree/events.c is compiled into the test, so that events can come late. */
static int read_late(struct lifecycle *lifecycle, lifecycle_visit *visit, void *context);
#define lifecycle_read read_late
#include "tree/events.c" /* NOLINT(bugprone-suspicious-include) */
#undef lifecycle_read

#include "tree_fixture.h"

#include <limits.h>
#include <sys/mman.h>

enum { MIB = 1048576 };

static unsigned reads_in_vain; /* so many, before the next events come */

static int read_late(struct lifecycle *lifecycle, lifecycle_visit *visit, void *context)
{
    if (reads_in_vain == 0)
        return lifecycle_read(lifecycle, visit, context);
    reads_in_vain--;
    return 0;
}

static void body_waits(void)
{
    say();
    wait_for_go(1);
}

static void body_uses(void)
{
    const size_t bytes = 24 * MIB;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        _exit(95);
    for (size_t i = 0; i < bytes; i += 4096)
        memory[i] = 1;
    (void)munmap(memory, bytes); /* the peak is told, not what it has at the end */
    burn_process(0.08);
}

static void what_a_process_used_is_told_with_its_exit(void **state)
{
    struct rusage usage;
    int status;

    watch_begin(state);
    const uint64_t begin_ns = clock_monotonic_ns();
    pid_t root = start_root(body_uses);
    assert_int_equal(wait4(root, &status, 0, &usage), root);
    const double seconds = (double)(clock_monotonic_ns() - begin_ns) / 1e9;
    tree_reap(watch.tree, root, status, &usage);
    tree_drain(watch.tree);
    const struct told *told = told_of(EVENT_EXIT, root);
    assert_non_null(told);
    assert_int_equal(told->seen, SEEN_EVENT);
    assert_true(told->has_use);
    const double cpu = clock_timeval_seconds(usage.ru_utime) + clock_timeval_seconds(usage.ru_stime);
    /* wait4 counts up to when it became a zombie, the kernel's word until it left the CPU. */
    if (fabs(told->use.cpu_seconds - cpu) > 0.002)
        fail_msg("%.6f s were told, wait4 has %.6f s", told->use.cpu_seconds, cpu);
    assert_int_equal(told->use.minor_faults, usage.ru_minflt);
    assert_int_equal(told->use.major_faults, usage.ru_majflt);
    assert_int_equal(told->use.read_bytes, usage.ru_inblock * 512);
    assert_int_equal(told->use.write_bytes, usage.ru_oublock * 512);
    assert_in_range(told->use.max_rss_bytes, 24 * MIB, 24 * MIB + (uint64_t)usage.ru_maxrss * 1024);
    assert_true(told->use.lifetime_seconds >= 0.08 && told->use.lifetime_seconds <= seconds + 0.1);
    assert_true(tree_ledger(watch.tree)->hwm_bytes >= 24 * MIB);
}

static void body_three_generations(void)
{
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (pid > 0) {
            (void)wait_checked(pid);
            burn_process(0.03);
            say();
            _exit(0);
        }
    }
    burn_process(0.03);
    say();
}

static void everybody_that_ended_is_listed_with_its_own_use(void **state)
{
    watch_begin(state);
    assert_true(tree_ended_sum(watch.tree).is_whole);
    assert_int_equal(tree_ended_count(watch.tree), 0);
    (void)start_root(body_three_generations);
    await_said(3);
    await_reaped(1);
    const struct ended_sum ended = tree_ended_sum(watch.tree), *sum = &ended;
    double listed = 0;
    assert_int_equal(tree_ended_count(watch.tree), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct ended *ended = tree_ended(watch.tree, i);
        const double cpu = (double)ended->use.cpu_ns / 1e9;
        assert_int_equal(ended->subject.id, shared->pids[i]); /* in the order in which they ended */
        assert_true(ended->subject.serial > 0);
        assert_true(cpu >= 0.03 && cpu < 0.055); /* its own, not its children's */
        assert_true(ended->max_rss_bytes > 0);
        assert_true(ended->lifetime_seconds >= 0.03);
        listed += cpu;
    }
    assert_true(sum->is_whole);
    assert_int_equal(sum->processes, 3);
    assert_true(fabs((double)sum->use.cpu_ns / 1e9 - listed) < 1e-6);
    assert_true(fabs(listed - (children_cpu_seconds() - watch.children_before)) < 0.005);
    tree_forget_ended(watch.tree);
    assert_int_equal(tree_ended_count(watch.tree), 0);
    assert_int_equal(tree_ended_sum(watch.tree).processes, 3);
    tree_refresh(watch.tree);
    assert_int_equal(tree_ended_count(watch.tree), 0);
    assert_true(tree_living_cpu_seconds(watch.tree) <= 0);
}

static void body_ignores_its_children(void)
{
    (void)signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 10; i++)
        if (fork() == 0) {
            burn_process(0.02);
            say();
            _exit(i);
        }
    (void)wait(NULL); /* until there are no more: the kernel takes them */
    say();
    wait_for_go(1);
}

static void children_whose_parent_ignores_them_are_told_with_what_they_used(void **state)
{
    double cpu = 0;

    watch_begin(state);
    (void)start_root(body_ignores_its_children);
    await_said(11);
    for (int ms = 0; tree_exited(watch.tree) < 10 && ms < PATIENCE_MS; ms++) {
        tree_refresh(watch.tree);
        sleep_seconds(0.001);
    }
    tree_refresh(watch.tree);
    for (int i = 0; i < 10; i++) {
        const struct told *told = told_of(EVENT_EXIT, shared->pids[i]);
        assert_int_equal(times_told(EVENT_EXIT, shared->pids[i]), 1);
        assert_true(told->has_use && told->has_status);
        cpu += told->use.cpu_seconds;
    }
    assert_true(cpu >= 0.2 && cpu < 0.3);
    assert_int_equal(tree_ended_sum(watch.tree).processes, 10);
    assert_true(tree_ended_sum(watch.tree).is_whole);
    assert_int_equal(tree_count(watch.tree), 1);
    tree_settle(watch.tree);
    assert_true(tree_ended_sum(watch.tree).is_whole);
}

static void body_ends_at_once(void)
{
    _exit(5);
}

static void every_short_child_is_told_once_and_whole(void **state)
{
    enum { CHILDREN = 300 };
    struct rusage usage;
    int status;

    watch_begin(state);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = start(body_ends_at_once);
        assert_int_equal(wait4(pid, &status, 0, &usage), pid);
        tree_reap(watch.tree, pid, status, &usage);
    }
    tree_drain(watch.tree);
    assert_int_equal(tree_count(watch.tree), 0);
    assert_int_equal(tree_spawned(watch.tree), CHILDREN);
    assert_int_equal(tree_exited(watch.tree), CHILDREN);
    assert_int_equal(watch.told_count, 2 * CHILDREN);
    for (size_t i = 0; i < watch.told_count; i++) {
        assert_int_equal(watch.told[i].seen, SEEN_EVENT);
        assert_int_equal(watch.told[i].has_use, watch.told[i].type == EVENT_EXIT);
    }
    assert_true(tree_ended_sum(watch.tree).is_whole);
    assert_int_equal(watch.ended, CHILDREN);
}

/* A process leaves its CPU a moment after it can be waited for, and only then its end is told. So short a
 * moment cannot be made longer; but that it was waited for can be said too early. */
static void who_is_reaped_before_the_word_on_it_is_told_once_and_whole(void **state)
{
    const struct rusage nothing = {0};

    watch_begin(state);
    pid_t root = start_root(body_waits);
    await_said(1);
    tree_refresh(watch.tree);
    assert_true(who(root)->fresh);
    tree_reap(watch.tree, root, 0, &nothing);
    assert_true(who(root)->was_reaped);
    assert_false(who(root)->fresh); /* there is nothing to be read of it any more */
    tree_refresh(watch.tree);
    assert_false(who(root)->fresh);
    assert_int_equal(tree_living(watch.tree), 0);
    assert_int_equal(tree_command_alive(watch.tree), 0);
    assert_int_equal(times_told(EVENT_EXIT, root), 0);
    who(root)->missing_ns -= TREE_AWAIT_NS; /* it is long enough ago */
    tree_refresh(watch.tree);
    assert_int_equal(times_told(EVENT_EXIT, root), 1);
    assert_false(told_of(EVENT_EXIT, root)->has_use);
    assert_null(who(root));

    pid_t other = start(body_waits);
    await_said(2);
    tree_refresh(watch.tree);
    tree_reap(watch.tree, other, 0, &nothing);
    tree_refresh(watch.tree);
    assert_int_equal(times_told(EVENT_EXIT, other), 0);
    let_go(1);
    (void)wait_checked(other);
    tree_drain(watch.tree);
    assert_int_equal(times_told(EVENT_EXIT, other), 1);
    assert_int_equal(told_of(EVENT_EXIT, other)->seen, SEEN_EVENT);
    assert_true(told_of(EVENT_EXIT, other)->has_use);
    assert_null(who(other));
    tree_refresh(watch.tree);
    tree_settle(watch.tree);
    assert_int_equal(times_told(EVENT_EXIT, other), 1);
    assert_int_equal(tree_exited(watch.tree), 2);
}

static void body_waits_for_a_child(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        burn_process(0.1);
        say();
        wait_for_go(1);
        _exit(0);
    }
    (void)wait_checked(pid);
    say();
    wait_for_go(2);
}

static void who_is_gone_before_the_word_on_it_is_not_counted_twice(void **state)
{
    watch_begin(state);
    (void)start_root(body_waits_for_a_child);
    await_said(1);
    pid_t child = shared->pids[0];
    tree_refresh(watch.tree);
    const uint64_t kernel_id = who(child)->kernel_id;
    who(child)->kernel_id = kernel_id + 1000; /* the word on it will be taken for another's */
    let_go(1);
    await_said(2);
    sleep_seconds(0.01);
    tree_refresh(watch.tree);
    assert_non_null(who(child)); /* awaited */
    assert_false(who(child)->fresh);
    assert_int_equal(times_told(EVENT_EXIT, child), 0);
    assert_int_equal(tree_command_alive(watch.tree), 1); /* its parent */
    if (cpu_published() > 0.15)
        fail_msg("%.3f s of 0.1 s", cpu_published()); /* its parent has inherited it */
    tree_settle(watch.tree);
    assert_int_equal(times_told(EVENT_EXIT, child), 1);
    assert_int_equal(told_of(EVENT_EXIT, child)->seen, SEEN_SAMPLED);
    assert_null(who(child));
}

static void who_is_awaited_at_the_end_of_the_run_is_told_then(void **state)
{
    const struct rusage nothing = {0};

    watch_begin(state);
    pid_t root = start_root(body_waits);
    await_said(1);
    tree_refresh(watch.tree);
    tree_reap(watch.tree, root, 0, &nothing);
    tree_drain(watch.tree); /* in vain */
    assert_int_equal(times_told(EVENT_EXIT, root), 0);
    tree_settle(watch.tree);
    assert_int_equal(times_told(EVENT_EXIT, root), 1);
    assert_int_equal(told_of(EVENT_EXIT, root)->seen, SEEN_REAPED);
    assert_false(tree_ended_sum(watch.tree).is_whole);
    assert_int_equal(tree_count(watch.tree), 0); /* nobody is left to be called a survivor */
}

static void body_ignores_its_child(void)
{
    (void)signal(SIGCHLD, SIG_IGN);
    if (fork() == 0) {
        say();
        wait_for_go(1);
        _exit(0);
    }
    wait_for_go(2);
}

/* The kernel removes it from the table of processes before its last switch, with which the exit is reported.
 */
static void a_child_that_nobody_waits_for_is_awaited_at_the_end_of_the_run(void **state)
{
    watch_begin(state);
    (void)start_root(body_ignores_its_child);
    await_said(1);
    pid_t child = shared->pids[0];
    tree_refresh(watch.tree);
    assert_non_null(who(child));
    let_go(1);
    for (int ms = 0; ms < PATIENCE_MS && kill(child, 0) == 0; ms++)
        sleep_seconds(0.001);
    reads_in_vain = 3;
    tree_drain(watch.tree);
    assert_int_equal(reads_in_vain, 0);
    assert_int_equal(times_told(EVENT_EXIT, child), 1);
    assert_int_equal(told_of(EVENT_EXIT, child)->seen, SEEN_EVENT);
    tree_refresh(watch.tree);
    assert_null(who(child)); /* no survivor */
}

/* Several jobs may end between two ticks of the daemon, which does nothing else while it waits. */
static void exits_that_are_not_reported_are_awaited_for_so_long_together(void **state)
{
    const uint64_t all_ns = NS_PER_SECOND / 10;
    uint64_t patience_ns = all_ns;

    watch_begin(state);
    pid_t children[2] = {start(body_waits), start(body_waits)};
    await_said(2);
    tree_refresh(watch.tree);
    let_go(1);
    for (int i = 0; i < 2; i++)
        (void)wait_checked(children[i]);
    reads_in_vain = UINT_MAX;
    for (int i = 0; i < 2; i++)
        tree_await_exit(watch.tree, children[i], &patience_ns);
    assert_int_equal(patience_ns, 0);
    reads_in_vain = 2;
    tree_await_exit(watch.tree, children[0], &patience_ns); /* reads once, and does not wait */
    assert_int_equal(reads_in_vain, 1);
    assert_int_equal(times_told(EVENT_EXIT, children[0]), 0);
    reads_in_vain = 0;
    tree_drain(watch.tree);
    patience_ns = all_ns;
    tree_await_exit(watch.tree, children[0], &patience_ns);
    assert_int_equal(patience_ns, all_ns);
}

static void who_is_never_told_of_is_told_by_us(void **state)
{
    siginfo_t info;
    pid_t zombie = start(body_ends_at_once);

    assert_int_equal(waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT), 0);
    needs_programs();
    programs_load(); /* it has ended already */
    watch_begin(state);
    tree_unignore(watch.tree, zombie); /* it was there before the tree */
    assert_int_equal(tree_add_root(watch.tree, zombie), 0);
    assert_int_equal(reap_all(), 1);
    assert_int_equal(times_told(EVENT_EXIT, zombie), 0);
    tree_refresh(watch.tree);
    who(zombie)->missing_ns -= TREE_AWAIT_NS;
    tree_refresh(watch.tree);
    assert_null(who(zombie));
    assert_int_equal(times_told(EVENT_EXIT, zombie), 1);
    assert_int_equal(told_of(EVENT_EXIT, zombie)->seen, SEEN_REAPED);
    assert_int_equal(WEXITSTATUS(told_of(EVENT_EXIT, zombie)->wait_status), 5);
    assert_false(told_of(EVENT_EXIT, zombie)->has_use);
    assert_false(tree_ended_sum(watch.tree).is_whole);
}

static void body_executes(void)
{
    (void)execl("/bin/sh", "sh", "-c", "exit 3", "--password=hunter2", (char *)NULL);
}

static void a_program_that_no_pass_saw_is_told_with_its_command(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_executes);
    await_reaped(1);
    assert_int_equal(watch.told_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(watch.told[i].pid, root);
        assert_non_null(strstr(watch.told[i].command, "sh -c"));
        assert_non_null(strstr(watch.told[i].command, "--password=***"));
    }
    assert_int_equal(WEXITSTATUS(watch.told[1].wait_status), 3);
}

/* ---- a storm ---- */

enum { STORM = 200 };

/* Has a child, and waits for it, each time it is asked to. */
static void body_has_children_on_demand(void)
{
    for (long made = 0; atomic_load(&shared->go) < 1;) {
        if (atomic_load(&shared->counts[0]) == made) {
            sleep_seconds(0.001);
            continue;
        }
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        (void)wait_checked(pid);
        atomic_store(&shared->counts[1], ++made);
    }
}

static void have_child(void)
{
    const long made = atomic_fetch_add(&shared->counts[0], 1) + 1;

    while (atomic_load(&shared->counts[1]) < made)
        sleep_seconds(0.0001);
}

/* Whenever one is reported, the next has come and gone. */
static void on_event_have_child(void *context, const struct event *event)
{
    on_event(context, event);
    if (event->type == EVENT_SPAWN && event->ppid != getpid() && atomic_load(&shared->counts[0]) < STORM)
        have_child();
}

static void a_pass_leaves_those_who_come_meanwhile_to_the_next(void **state)
{
    struct tree_options options = tree_options_for(method_of(state));

    options.on_event = on_event_have_child;
    watch_with(&options, method_of(state));
    (void)start_root(body_has_children_on_demand);
    have_child();
    tree_refresh(watch.tree);
    assert_in_range(atomic_load(&shared->counts[0]), 2, STORM / 4);
    let_go(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE_WAY(what_a_process_used_is_told_with_its_exit, by_bpf),
        ONE_WAY(everybody_that_ended_is_listed_with_its_own_use, by_bpf),
        ONE_WAY(children_whose_parent_ignores_them_are_told_with_what_they_used, by_bpf),
        ONE_WAY(every_short_child_is_told_once_and_whole, by_bpf),
        ONE_WAY(who_is_gone_before_the_word_on_it_is_not_counted_twice, by_bpf),
        ONE_WAY(who_is_awaited_at_the_end_of_the_run_is_told_then, by_bpf),
        ONE_WAY(a_child_that_nobody_waits_for_is_awaited_at_the_end_of_the_run, by_bpf),
        ONE_WAY(who_is_reaped_before_the_word_on_it_is_told_once_and_whole, by_bpf),
        ONE_WAY(exits_that_are_not_reported_are_awaited_for_so_long_together, by_bpf),
        ONE_WAY(who_is_never_told_of_is_told_by_us, by_bpf),
        ONE_WAY(a_program_that_no_pass_saw_is_told_with_its_command, by_bpf),
        ONE_WAY(a_pass_leaves_those_who_come_meanwhile_to_the_next, by_bpf),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
