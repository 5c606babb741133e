/* Groups: what they have used, against what the processes themselves and the kernel's rusage say. */
#include <fcntl.h>

#include "machine_fixture.h"
#include "tree/members.h"

enum { STORM = 50 };

static long cpu_microseconds(int whose)
{
    struct rusage usage;

    (void)getrusage(whose, &usage);
    return (long)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_usec;
}

/* ---- what a group has used ---- */

/* So many children, and more of them until the test lets go for the second time. */
static void body_storm(void)
{
    say();
    wait_for_go(1);
    long before = cpu_microseconds(RUSAGE_SELF);
    for (int i = 0; i < STORM || atomic_load(&shared->go) < 2; i += 2) {
        for (int pair = 0; pair < 2; pair++)
            if (fork() == 0) {
                burn_process(0.01);
                _exit(0);
            }
        (void)wait(NULL);
        (void)wait(NULL);
        (void)atomic_fetch_add(&shared->counts[2], 2);
    }
    atomic_store(&shared->counts[0], cpu_microseconds(RUSAGE_SELF) - before);
    atomic_store(&shared->counts[1], cpu_microseconds(RUSAGE_CHILDREN));
    say();
    wait_for_go(3);
}

/* Until the root of the storm, which has said that its children have ended, is the only member left. A
 * child's end may be told a moment after the child was waited for; its birth was told before. */
static void refresh_until_alone(const struct group *group)
{
    tree_refresh(watch.tree);
    for (int ms = 0; group->living > 1 && ms < PATIENCE_MS; ms++) {
        sleep_seconds(0.001);
        tree_refresh(watch.tree);
    }
    tree_refresh(watch.tree);
}

static void a_storm_of_short_children_is_counted_as_the_kernel_counts_it(void **state)
{
    struct job_usage usage = {0};
    pid_t root;

    watch_machine(state);
    struct group *group = group_new(watch.tree, "storm", NULL);
    root = start(body_storm);
    await_said(1);
    assert_non_null(tree_take_in(watch.tree, root));
    assert_int_equal(group_adopt(watch.tree, group, root, MEMBER_BY_DESCENT), 1);
    let_go(2);
    while (atomic_load(&shared->said) < 2) {
        tree_refresh(watch.tree);
        sleep_seconds(0.03);
    }
    refresh_until_alone(group);
    double used = (double)(atomic_load(&shared->counts[0]) + atomic_load(&shared->counts[1])) / 1e6;
    assert_true(used > STORM * 0.01);
    assert_near(cpu_of(group), used, 0.02); /* two ticks; a child that is missing takes one with it */
    group_usage(watch.tree, group, &usage);
    assert_int_equal(usage.numbers[USAGE_SPAWNED_IS_EXACT], is_told(state));
    if (is_told(state)) {
        assert_int_equal(usage.numbers[USAGE_SPAWNED], STORM);
        assert_int_equal(usage.numbers[USAGE_EXITED], STORM);
        assert_int_equal(usage.numbers[USAGE_UNIQUE_PROCESSES], STORM + 1);
    } else {
        assert_true(usage.numbers[USAGE_SPAWNED] <= STORM &&
                    usage.numbers[USAGE_UNIQUE_PROCESSES] == usage.numbers[USAGE_SPAWNED] + 1);
    }
    assert_int_equal(group->living, 1);
}

static void what_was_waited_for_outside_stays_the_groups(void **state)
{
    watch_machine(state);
    struct group *group = group_new(watch.tree, "a", NULL);
    pid_t pid = start_at_steps(group);

    step(1);
    tree_refresh(watch.tree);
    assert_near(cpu_of(group), STEP, look);
    let_go(4);
    wait_for(pid); /* this process is in no group */
    refresh_until_gone(pid);
    /* Its last step nobody saw, but for the kernel. */
    assert_near(cpu_of(group), method_of(state) == TREE_BPF ? 2 * STEP : STEP, look);
    for (int i = 0; i < 3; i++)
        tree_refresh(watch.tree);
    assert_near(cpu_of(group), method_of(state) == TREE_BPF ? 2 * STEP : STEP, look);
    assert_int_equal(group->living, 0);
    assert_int_equal(group->exited, 1);
}

/* A parent whose child burns a STEP. It waits for the child and exits: no pass sees one without the other. */
static void body_waits_for_a_child_and_ends(void)
{
    if (fork() == 0) {
        burn_process(STEP);
        say();
        wait_for_go(1);
        _exit(0);
    }
    (void)wait(NULL);
}

/* It has exited, and is not waited for yet. */
static void await_zombie(pid_t pid)
{
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void what_a_parent_had_inherited_when_it_exited_is_counted_once(void **state)
{
    watch_machine(state);
    struct group *group = group_new(watch.tree, "a", NULL);
    pid_t pid = start(body_waits_for_a_child_and_ends);

    await_said(1);
    tree_refresh(watch.tree);
    /* The child has used nothing in the group until now. */
    assert_int_equal(group_adopt(watch.tree, group, pid, MEMBER_BY_DESCENT), 2);
    tree_refresh(watch.tree);
    let_go(1);
    await_zombie(pid);
    tree_read_events(watch.tree);
    wait_for(pid);
    refresh_until_gone(pid);
    assert_near(cpu_of(group), 0, look);
}

static void body_of_three_generations(void)
{
    say();
    wait_for_go(1);
    if (fork() == 0) {
        if (fork() == 0) {
            burn_process(STEP);
            say();
            wait_for_go(2);
            _exit(0);
        }
        (void)wait(NULL);
        _exit(0);
    }
    (void)wait(NULL);
}

static void what_three_generations_leave_at_once_is_counted_once(void **state)
{
    watch_machine(state);
    struct group *group = group_new(watch.tree, "a", NULL);
    pid_t pid = start(body_of_three_generations);

    await_said(1);
    assert_non_null(tree_take_in(watch.tree, pid));
    assert_int_equal(group_adopt(watch.tree, group, pid, MEMBER_BY_DESCENT), 1);
    let_go(1);
    await_said(2);
    tree_refresh(watch.tree);
    assert_near(cpu_of(group), STEP, look);
    let_go(2);
    await_zombie(pid);
    tree_read_events(watch.tree);
    wait_for(pid);
    refresh_until_gone(pid);
    assert_near(cpu_of(group), STEP, look);
}

static void what_was_used_before_it_joined_is_not_the_groups(void **state)
{
    watch_machine(state);
    struct group *group = group_new(watch.tree, "a", NULL);
    pid_t pid = start_at_steps(NULL);

    step(1); /* nobody has looked since */
    assert_int_equal(group_adopt(watch.tree, group, pid, MEMBER_BY_DESCENT), 1);
    tree_refresh(watch.tree);
    assert_near(cpu_of(group), 0, look);
    step(2);
    tree_refresh(watch.tree);
    assert_near(cpu_of(group), STEP, look);
    let_go(4);
    wait_for(pid);
    refresh_until_gone(pid);
    assert_true(cpu_of(group) > STEP - look);
    if (method_of(state) == TREE_BPF)
        assert_near(cpu_of(group), 2 * STEP, look);
    struct job_usage usage = {0};
    group_usage(watch.tree, group, &usage);
    assert_int_equal(usage.numbers[USAGE_SPAWNED], 0); /* it was born elsewhere */
    assert_int_equal(usage.numbers[USAGE_UNIQUE_PROCESSES], 1);
}

/* A parent whose child was born and has worked before anybody looked. */
static void body_with_a_busy_child(void)
{
    say();
    wait_for_go(1);
    if (fork() == 0) {
        burn_process(2 * STEP); /* more than it uses later: neither can pass for the other */
        say();
        wait_for_go(2);
        burn_process(STEP);
        say();
        wait_for_go(3);
        _exit(0);
    }
    wait_for_go(3);
    (void)wait(NULL);
    say();
    wait_for_go(4);
}

static void a_child_born_before_its_parent_joined_brings_nothing_with_it(void **state)
{
    watch_machine(state);
    struct group *group = group_new(watch.tree, "a", NULL);
    pid_t pid = start(body_with_a_busy_child);

    await_said(1);
    tree_refresh(watch.tree);
    let_go(1);
    await_said(2);
    assert_true(group_adopt(watch.tree, group, pid, MEMBER_BY_DESCENT) >= 1);
    tree_refresh(watch.tree);
    assert_ptr_equal(group_of(shared->pids[1]), group);
    assert_near(cpu_of(group), 0, look);
    let_go(2);
    await_said(3);
    tree_refresh(watch.tree);
    assert_near(cpu_of(group), STEP, look);
    let_go(3); /* the parent inherits all that the child ever used */
    await_said(4);
    for (int i = 0; i < 3; i++)
        tree_refresh(watch.tree);
    assert_near(cpu_of(group), STEP, look);
}

/* The same of those that ran before the tree was made. */
static void an_inherited_past_is_not_the_groups(void **state)
{
    pid_t pid = start(body_with_a_busy_child);

    let_go(1);
    await_said(2);
    watch_machine(state);
    struct group *group = group_new(watch.tree, "a", NULL);
    assert_int_equal(group_adopt(watch.tree, group, pid, MEMBER_BY_DESCENT), 2);
    let_go(3);
    await_said(4);
    for (int i = 0; i < 3; i++)
        tree_refresh(watch.tree);
    assert_near(cpu_of(group), STEP, look);
}

static void what_is_told_between_two_passes_is_counted_once(void **state)
{
    watch_machine(state);
    struct group *group = group_new(watch.tree, "a", NULL);
    pid_t pid = start_at_steps(group);

    step(1);
    tree_refresh(watch.tree);
    let_go(4);
    wait_for(pid);
    for (int ms = 0; ms < 100; ms++) {
        tree_read_events(watch.tree);
        assert_true(cpu_of(group) < 2 * STEP + look);
        sleep_seconds(0.001);
    }
    refresh_until_gone(pid);
    assert_true(cpu_of(group) < 2 * STEP + look);
}

static void a_group_that_is_older_than_the_word_of_the_kernel_is_conserved(void **state)
{
    struct metron_error error = {0};

    needs_programs();
    programs_load();
    watch_machine(state); /* by scan, until now */
    struct group *group = group_new(watch.tree, "a", NULL);
    pid_t pid = start(body_storm);
    await_said(1);
    tree_refresh(watch.tree);
    assert_int_equal(group_adopt(watch.tree, group, pid, MEMBER_BY_DESCENT), 1);
    let_go(1);
    while (atomic_load(&shared->counts[2]) < STORM / 3) /* some of its children have come and gone */
        sleep_seconds(0.001);
    struct lifecycle *source = lifecycle_bpf(kernel_side.programs);
    assert_non_null(source);
    if (tree_listen(watch.tree, source) < 0)
        fail_msg("cannot listen: %s", error.message);
    let_go(2);
    await_said(2);
    refresh_until_alone(group);
    double used = (double)(atomic_load(&shared->counts[0]) + atomic_load(&shared->counts[1])) / 1e6;
    assert_near(cpu_of(group), used, used * 0.01 + look);
    tree_free(watch.tree);
    watch.tree = NULL;
    lifecycle_free(source);
}

/* ---- sheets ---- */

static void one_that_moves_leaves_what_it_used(void **state)
{
    watch_machine(state);
    struct group *job = group_new(watch.tree, "a", NULL);
    struct group *first = group_new_sheet(watch.tree, job, 1);
    struct group *second = group_new_sheet(watch.tree, job, 2);
    struct group *other = group_new(watch.tree, "b", NULL);
    pid_t pid = start_at_steps(first);

    step(1);
    assert_int_equal(group_adopt(watch.tree, second, pid, MEMBER_BY_DESCENT), 1);
    step(2);
    tree_refresh(watch.tree);
    assert_near(cpu_of(first), STEP, look);
    assert_near(cpu_of(second), STEP, look);
    assert_near(cpu_of(job), 2 * STEP, look);
    assert_int_equal(job->joined, 1);
    assert_int_equal(job->living, 1);
    assert_int_equal(first->living, 0);
    assert_int_equal(group_adopt(watch.tree, other, pid, MEMBER_BY_DESCENT), 1);
    assert_near(cpu_of(job), 2 * STEP, look);
    step(3);
    let_go(4);
    wait_for(pid);
    refresh_until_gone(pid);
    assert_near(cpu_of(job), 2 * STEP, look);
    assert_near(cpu_of(second), STEP, look);
    if (method_of(state) == TREE_BPF)
        assert_near(cpu_of(other), 2 * STEP, look);
}

/* A parent (0) with two children (1, 2), each of which burns a STEP and ends; it waits for both. */
static void body_two_sheets(void)
{
    say();
    for (int i = 0; i < 2; i++) {
        wait_for_said(i + 1);
        if (fork() == 0) {
            say();
            wait_for_go(1);
            burn_process(STEP);
            say();
            wait_for_go(2);
            _exit(0);
        }
    }
    wait_for_go(2);
    (void)wait(NULL);
    (void)wait(NULL);
    say();
    wait_for_go(3);
}

static void a_job_has_the_sum_of_its_sheets_once(void **state)
{
    struct group *sheets[2];

    watch_machine(state);
    struct group *job = group_new(watch.tree, "a", NULL);
    pid_t pid = start(body_two_sheets);
    await_said(3);
    tree_refresh(watch.tree);
    assert_int_equal(group_adopt(watch.tree, job, pid, MEMBER_BY_DESCENT), 3);
    for (int i = 0; i < 2; i++) {
        sheets[i] = group_new_sheet(watch.tree, job, i);
        assert_int_equal(group_adopt(watch.tree, sheets[i], shared->pids[i + 1], MEMBER_BY_DESCENT), 1);
    }
    let_go(1);
    await_said(5);
    for (int pass = 0; pass < 5; pass++) {
        tree_refresh(watch.tree);
        assert_near(cpu_of(job), 2 * STEP, look * 2);
        assert_near(cpu_of(sheets[0]), STEP, look);
        assert_near(cpu_of(sheets[1]), STEP, look);
        if (pass == 1) {
            let_go(2); /* the parent inherits, which is in the job and in no sheet */
            await_said(6);
        }
    }
    assert_int_equal(job->joined, 3);
    assert_int_equal(job->exited, 2);
    assert_int_equal(sheets[0]->exited, 1);
    /* The job is asked for again: who is in a sheet of it stays there. */
    assert_int_equal(group_adopt(watch.tree, job, pid, MEMBER_BY_DESCENT), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MACHINE_WAYS(a_storm_of_short_children_is_counted_as_the_kernel_counts_it),
        MACHINE_WAYS(what_was_waited_for_outside_stays_the_groups),
        MACHINE_WAYS(what_a_parent_had_inherited_when_it_exited_is_counted_once),
        MACHINE_WAYS(what_three_generations_leave_at_once_is_counted_once),
        MACHINE_WAYS(what_was_used_before_it_joined_is_not_the_groups),
        MACHINE_WAYS(a_child_born_before_its_parent_joined_brings_nothing_with_it),
        MACHINE_WAYS(an_inherited_past_is_not_the_groups),
        MACHINE_WAYS(what_is_told_between_two_passes_is_counted_once),
        ONE_WAY(a_group_that_is_older_than_the_word_of_the_kernel_is_conserved, by_scan),
        MACHINE_WAYS(one_that_moves_leaves_what_it_used),
        MACHINE_WAYS(a_job_has_the_sum_of_its_sheets_once),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
