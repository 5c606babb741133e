/*
 * All members read in one go, in the kernel's order and not in the tree's: a child may be read before its
 * parent, end, and be waited for before the parent is read. It must not be counted twice.
 */
#include "tree_tasks_fixture.h"

#include "tree/groups.h"

static _Noreturn void be_a_parent(bool with_thread)
{
    static atomic_int asleep;
    pthread_t thread;
    pid_t pid = fork();

    if (pid == 0) {
        burn_process(0.2);
        say();
        wait_for_go(1);
        _exit(0);
    }
    if (with_thread)
        (void)pthread_create(&thread, NULL, thread_sleeps, &asleep);
    say();
    (void)wait_checked(pid);
    say();
    sleep_for_ever();
}

static void body_family_with_a_parent(void)
{
    start_family();
    if (fork() == 0)
        be_a_parent(false);
    (void)pause();
}

static void body_family_with_a_parent_of_threads(void)
{
    start_family();
    if (fork() == 0)
        be_a_parent(true);
    (void)pause();
}

/* The list as it is if the child is read first, and its parent after it was waited for: what such a moment
 * brings about by chance. */
static struct wire_task *made_up;
static bool forgets_threads; /* and a thread of the parent's escaped it */

static ssize_t child_before_parent(struct bpf_programs *programs, const struct wire_task **tasks)
{
    const pid_t child = (pid_t)atomic_load(&shared->counts[0]);
    ssize_t count = bpf_programs_read_tasks(programs, false, tasks);
    size_t kept = 0;

    assert_true(count > 0 && count < 4 * MEMBERS);
    for (ssize_t i = 0; i < count; i++)
        if ((pid_t)(*tasks)[i].pid == child)
            made_up[kept++] = (*tasks)[i];
    assert_int_equal(kept, 1);
    let_go(1);
    await_said(4);
    count = bpf_programs_read_tasks(programs, false, tasks);
    for (ssize_t i = 0; i < count; i++)
        if (!forgets_threads || (*tasks)[i].is_first)
            made_up[kept++] = (*tasks)[i];
    *tasks = made_up;
    return (ssize_t)kept;
}

static void is_counted_once(void **state, void (*body)(void))
{
    watch_twice(state);
    tree_free(reference);
    reference = NULL;
    atomic_store(&family->members, MEMBERS);
    pid_t root = start_root(body);
    await_said(3);
    sleep_seconds(0.1);
    tree_refresh(watch.tree);
    tree_refresh(watch.tree);
    pid_t child = shared->pids[who(shared->pids[1])->stat.ppid == root ? 2 : 1];
    atomic_store(&shared->counts[0], child);
    assert_true(is_read_in_one_go(watch.tree));
    const double before = tree_ledger(watch.tree)->live.cpu_seconds;
    assert_true(who(child)->cpu_ns >= 200000000);
    made_up = calloc(4 * MEMBERS, sizeof(*made_up));
    assert_non_null(made_up);
    hand.read_tasks = child_before_parent;
    tree_refresh(watch.tree);
    hand.read_tasks = NULL;
    free(made_up);
    made_up = NULL;
    assert_true(is_read_in_one_go(watch.tree));
    const double after = tree_ledger(watch.tree)->live.cpu_seconds;
    if (after - before > 0.1)
        fail_msg("%.3f s before the child was waited for, %.3f s after it", before, after);
    assert_true(cpu_published() < before + 0.1);
}

static void a_child_that_was_read_before_its_parent_is_counted_once(void **state)
{
    forgets_threads = false;
    is_counted_once(state, body_family_with_a_parent);
}

static void a_child_whose_parent_is_read_from_its_files_is_counted_once(void **state)
{
    forgets_threads = true;
    is_counted_once(state, body_family_with_a_parent_of_threads);
}

/* As if all threads but the first had come or gone meanwhile: whoever has some is read from its files. */
static ssize_t without_threads(struct bpf_programs *programs, const struct wire_task **tasks)
{
    ssize_t count = bpf_programs_read_tasks(programs, false, tasks);
    size_t kept = 0;

    assert_true(count > 0);
    made_up = reallocarray(made_up, (size_t)count, sizeof(*made_up));
    assert_non_null(made_up);
    for (ssize_t i = 0; i < count; i++)
        if ((*tasks)[i].is_first)
            made_up[kept++] = (*tasks)[i];
    *tasks = made_up;
    return (ssize_t)kept;
}

static void watch_machine_in_one_go(void **state)
{
    struct tree_options options = tree_options_for(method_of(state));

    options.scope = TREE_OF_MACHINE;
    options.reaps = false;
    options.all_users = geteuid() == 0;
    watch_with(&options, method_of(state));
    tree_use_tasks(watch.tree, kernel_side.programs);
}

/* What is inherited outside of every job counts nowhere: there the order is no matter, and files need not be
 * read for it. */
static void on_a_machine_only_a_jobs_child_is_read_after_its_parent(void **state)
{
    watch_machine_in_one_go(state);
    atomic_store(&family->members, MEMBERS);
    pid_t root = start(body_family_with_a_parent_of_threads);
    await_said(3);
    hand.read_tasks = without_threads;
    tree_refresh(watch.tree);
    tree_refresh(watch.tree);
    const bool child_is_second = who(shared->pids[1])->stat.ppid == root;
    const pid_t parent = shared->pids[child_is_second ? 1 : 2], child = shared->pids[child_is_second ? 2 : 1];
    assert_int_equal(who(child)->stat.ppid, parent);
    assert_false(who(parent)->by_tasks);
    assert_true(who(child)->by_tasks);
    struct group *job = group_new(watch.tree, "job", NULL);
    assert_non_null(job);
    assert_true(group_adopt(watch.tree, job, parent, MEMBER_BY_DESCENT) >= 2);
    tree_refresh(watch.tree);
    assert_false(who(child)->by_tasks);
}

static int order_teardown(void **state)
{
    free(made_up);
    made_up = NULL;
    return tasks_teardown(state);
}

#define ORDER(NAME)                                                                                          \
    {                                                                                                        \
#NAME, NAME, tasks_setup, order_teardown, &by_bpf                                                    \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ORDER(a_child_that_was_read_before_its_parent_is_counted_once),
        ORDER(a_child_whose_parent_is_read_from_its_files_is_counted_once),
        ORDER(on_a_machine_only_a_jobs_child_is_read_after_its_parent),
    };

    return cmocka_run_group_tests(tests, tasks_group_setup, NULL);
}
