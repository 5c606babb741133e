/* For the tests of groups, of the machine and of jobs: a tree of everybody, in which the processes that a
 * test starts are some among many. This process is a member itself; it reaps nobody through the tree. */
#ifndef METRON_TESTS_MACHINE_FIXTURE_H
#define METRON_TESTS_MACHINE_FIXTURE_H

#include "tree/groups.h"
#include "tree_fixture.h"

static inline void watch_machine_with(void **state, struct tree_options options)
{
    options.scope = TREE_OF_MACHINE;
    options.reaps = false;
    options.all_users = geteuid() == 0;
    watch_with(&options, method_of(state));
    tree_refresh(watch.tree);
}

static inline void watch_machine(void **state)
{
    if (method_of(state) == TREE_BPF && has_children())
        programs_load(); /* who lives already is not followed by itself */
    watch_machine_with(state, tree_options_for(method_of(state)));
}

static inline double cpu_of(const struct group *group)
{
    struct job_usage usage = {0};

    group_usage(watch.tree, group, &usage);
    assert_true(usage.present & USAGE_BIT(USAGE_CPU));
    return usage.numbers[USAGE_CPU];
}

/* What is said of ends comes a moment after whoever waited knows of them. */
static inline void refresh_until_gone(pid_t pid)
{
    for (int ms = 0; ms < PATIENCE_MS; ms++) {
        tree_refresh(watch.tree);
        if (!tree_find(watch.tree, pid))
            return;
        sleep_seconds(0.001);
    }
    fail_msg("%d does not go", (int)pid);
}

static inline void wait_for(pid_t pid)
{
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A look hides so much: ticks of user and system time, and what a process uses beside its work. */
__attribute__((unused)) static const double look = 0.03;

/* ---- bodies ---- */

/* What a process uses in each of its steps, in seconds: more than twice what a look hides. */
#define STEP 0.07

/* Steps that the test leaves out use nothing; the last one is after the fourth let_go(). */
static inline void body_burn_at_every_step(void)
{
    for (int step = 1; step <= 3; step++) {
        say();
        wait_for_go(step);
        if (atomic_load(&shared->go) < 4)
            burn_process(STEP);
    }
    say();
    wait_for_go(4);
    burn_process(STEP);
}

static inline pid_t start_at_steps(struct group *group)
{
    pid_t pid = start(body_burn_at_every_step);

    await_said(1);
    tree_refresh(watch.tree);
    if (group)
        assert_int_equal(group_adopt(watch.tree, group, pid, MEMBER_BY_DESCENT), 1);
    return pid;
}

/* Has the process use a STEP; nobody looks meanwhile. */
static inline void step(int number)
{
    let_go(number);
    await_said(number + 1);
}

static inline struct group *group_of(pid_t pid)
{
    const struct process *process = tree_find(watch.tree, pid);

    assert_non_null(process);
    return process->group;
}

/* Told by the kernel, or looked for: there are no listings of a machine. */
#define MACHINE_WAYS(NAME) ONE_WAY(NAME, by_bpf), ONE_WAY(NAME, by_connector), ONE_WAY(NAME, by_scan)

#define assert_near(VALUE, EXPECTED, SLACK)                                                                  \
    do {                                                                                                     \
        if (fabs((VALUE) - (EXPECTED)) > (SLACK))                                                            \
            fail_msg("%s is %.4f, not %.4f", #VALUE, (double)(VALUE), (double)(EXPECTED));                   \
    } while (0)

#endif
