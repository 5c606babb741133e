/* Processes that run already: who is followed, from which baseline, until when. Nothing here is reaped
 * through the tree: their parent is this test, or another process, as it is with any stranger's. */
#include "tree_fixture.h"

static uint64_t start_ticks_of(pid_t pid)
{
    char path[64], text[PID_STAT_SIZE];
    struct pid_stat stat;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof(text), file);
    (void)fclose(file);
    assert_int_equal(pid_stat_parse(text, length, &stat), 0);
    return stat.start_ticks;
}

static void watch_roots(void **state, const pid_t *pids, size_t count, bool alone)
{
    struct tree_root roots[8];

    for (size_t i = 0; i < count; i++)
        roots[i] = (struct tree_root){pids[i], start_ticks_of(pids[i])};
    if (method_of(state) == TREE_BPF)
        programs_load(); /* who lives already is not followed by itself */
    struct tree_options options = tree_options_for(method_of(state));
    options.scope = TREE_OF_ROOTS;
    options.reaps = false;
    options.roots = roots;
    options.root_count = count;
    options.alone = alone;
    watch_with(&options, method_of(state));
    tree_refresh(watch.tree);
}

/* What each of a family has used before it is followed, and its root after that, in seconds. */
#define PAST 0.08
#define WORK 0.1

/* A root (0) with a child (1) and that one's child (2). */
static void live_as_family(double past, double work)
{
    if (fork() == 0) {
        if (fork() == 0) {
            burn_process(past);
            wait_for_said(2);
            say();
            wait_for_go(2);
            _exit(0);
        }
        burn_process(past);
        wait_for_said(1);
        say();
        wait_for_go(2);
        (void)wait(NULL);
        _exit(0);
    }
    burn_process(past);
    say();
    wait_for_go(1);
    burn_process(work);
    say();
    wait_for_go(2);
    (void)wait(NULL);
    say();
    wait_for_go(3);
    _exit(7);
}

static void body_family(void)
{
    live_as_family(0, 0);
}

static void body_family_at_work(void)
{
    live_as_family(PAST, WORK);
}

static void a_root_is_followed_with_its_descendants(void **state)
{
    pid_t root = start(body_family);

    await_said(3);
    watch_roots(state, &root, 1, false);
    assert_int_equal(tree_living(watch.tree), 3);
    for (int i = 0; i < 3; i++)
        assert_non_null(who(shared->pids[i]));
    assert_null(who(getpid()));
    assert_int_equal(tree_found(watch.tree), 3);
    assert_int_equal(tree_spawned(watch.tree), 0); /* they began before */
}

static void alone_it_is_followed_without_them(void **state)
{
    pid_t root = start(body_family_at_work);

    await_said(3);
    watch_roots(state, &root, 1, true);
    assert_int_equal(tree_living(watch.tree), 1);
    let_go(2);
    await_said(5);
    tree_refresh(watch.tree);
    /* What its children had used, and left to it, is not its own. */
    assert_true(cpu_published() > WORK - 0.01 && cpu_published() < WORK + 0.06);
    assert_int_equal(tree_count(watch.tree), 1);
}

/* A child's past comes to the root once more when the root waits for the child, and is not ours there either.
 */
static void what_was_used_before_is_not_counted_and_not_inherited(void **state)
{
    pid_t root = start(body_family_at_work);

    await_said(3);
    watch_roots(state, &root, 1, false);
    assert_true(cpu_published() < 0.02);
    let_go(1);
    await_said(4);
    tree_refresh(watch.tree);
    assert_true(cpu_published() > WORK - 0.01 && cpu_published() < WORK + 0.05);
    let_go(2);
    await_said(5);
    for (int i = 0; i < 3; i++)
        tree_refresh(watch.tree);
    assert_int_equal(tree_living(watch.tree), 1);
    /* What is inherited comes in ticks of 10 ms, of either sort. */
    assert_true(cpu_published() > WORK - 0.04 && cpu_published() < WORK + 0.06);
}

/* A child with a smaller pid than this process, asked for until it is not taken by somebody else. */
static bool fork_smaller(void)
{
    enum { LOWEST = 301, TRIES = 1000 }; /* the kernel gives no smaller one a second time (RESERVED_PIDS) */
    pid_t own = getpid(), child = 0;

    for (int i = 0; i < TRIES && ask_for_pid(own > LOWEST + 1000 ? own - 1000 : LOWEST) == 0; i++) {
        child = fork();
        if (child == 0) {
            if (getpid() > own)
                _exit(0);
            burn_process(PAST);
            say();
            wait_for_go(1);
            _exit(0);
        }
        if (child < own)
            return true;
        (void)waitpid(child, NULL, 0);
    }
    say(); /* in place of the missing child */
    return false;
}

/* The child's child has a smaller pid than its parent, as when pids begin anew, and the same age in ticks. */
static void body_where_pids_began_anew(void)
{
    if (fork() == 0) {
        atomic_store(&shared->counts[0], fork_smaller());
        say();
        wait_for_go(1);
        _exit(0);
    }
    say();
    wait_for_go(1);
}

static void a_parent_may_have_the_larger_pid(void **state)
{
    pid_t root = start(body_where_pids_began_anew);

    await_said(3);
    if (!atomic_load(&shared->counts[0])) {
        print_message("skip: no pid can be asked for here (ns_last_pid is for root)\n");
        skip();
    }
    watch_roots(state, &root, 1, false);
    assert_int_equal(tree_living(watch.tree), 3);
    assert_int_equal(tree_found(watch.tree), 3);
    assert_true(cpu_published() < 0.02);
}

static void body_burn_and_leave(void)
{
    burn_process(PAST);
    say();
    wait_for_go(1);
    burn_process(WORK);
    _exit(0);
}

static void what_it_used_last_is_known_where_the_kernel_tells(void **state)
{
    pid_t root = start(body_burn_and_leave);

    await_said(1);
    watch_roots(state, &root, 1, false);
    let_go(1);
    assert_int_equal(waitpid(root, NULL, 0), root); /* gone: nobody can look at it any more */
    if (method_of(state) == TREE_BPF)
        tree_drain(watch.tree);
    tree_refresh(watch.tree);
    sleep_seconds(method_of(state) == TREE_BPF ? 0.6 : 0);
    tree_refresh(watch.tree);
    assert_int_equal(tree_living(watch.tree), 0);
    assert_int_equal(times_told(EVENT_EXIT, root), 1);
    if (method_of(state) == TREE_BPF) {
        assert_true(cpu_published() > WORK - 0.01 && cpu_published() < WORK + 0.05);
        assert_null(tree_cpu_missing(watch.tree));
    } else {
        assert_ptr_equal(tree_cpu_missing(watch.tree), &note_ended_unseen);
    }
}

static void how_it_ended_is_known_where_the_kernel_tells(void **state)
{
    int status = 0;
    pid_t root = start(body_family);

    await_said(3);
    watch_roots(state, &root, 1, false);
    let_go(3);
    await_said(5);
    /* A zombie now, which nobody waits for. */
    for (int ms = 0; ms < PATIENCE_MS && tree_living(watch.tree) > 0; ms++) {
        tree_refresh(watch.tree);
        sleep_seconds(0.001);
    }
    assert_int_equal(tree_living(watch.tree), 0);
    tree_drain(watch.tree);
    tree_settle(watch.tree);
    assert_int_equal(times_told(EVENT_EXIT, root), 1);
    assert_int_equal(tree_root_status(watch.tree, &status), is_told(state));
    if (is_told(state)) {
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 7);
        assert_int_equal(told_of(EVENT_EXIT, root)->wait_status, status);
    }
}

/* It leaves its session and its parent; the one in between is gone at once. */
static void body_that_escapes(void)
{
    say();
    wait_for_go(1);
    if (fork() == 0) {
        (void)setsid();
        if (fork() == 0) {
            say();
            wait_for_go(2);
        }
        _exit(0);
    }
    (void)wait(NULL);
    say();
    wait_for_go(2);
}

static void whoever_escapes_is_followed_where_the_kernel_tells(void **state)
{
    pid_t root = start(body_that_escapes);

    await_said(1);
    watch_roots(state, &root, 1, false);
    let_go(1);
    await_said(3);
    tree_refresh(watch.tree);
    /* Born and orphaned between two looks: without events nobody knows whose it was. */
    assert_int_equal(tree_living(watch.tree), is_told(state) ? 2 : 1);
    assert_int_equal(tree_counts_all(watch.tree), is_told(state));
}

static void body_that_forks_slowly(void)
{
    say();
    wait_for_go(1);
    if (fork() == 0) {
        say();
        wait_for_go(2);
        (void)setsid();
        if (fork() == 0) {
            say();
            wait_for_go(4);
            _exit(0);
        }
        wait_for_go(3);
        _exit(0);
    }
    wait_for_go(3);
    (void)wait(NULL);
    say();
    wait_for_go(4);
}

static void one_that_was_seen_once_stays_a_member(void **state)
{
    pid_t root = start(body_that_forks_slowly);

    await_said(1);
    watch_roots(state, &root, 1, false);
    let_go(1);
    await_said(2);
    tree_refresh(watch.tree);
    let_go(2);
    await_said(3);
    tree_refresh(watch.tree);
    assert_int_equal(tree_living(watch.tree), 3);
    let_go(3); /* the one in between ends: the last is ours by adoption, nobody's of the target */
    await_said(4);
    tree_refresh(watch.tree);
    for (int ms = 0; tree_living(watch.tree) > 2 && ms < PATIENCE_MS; ms++) {
        sleep_seconds(0.001);
        tree_refresh(watch.tree);
    }
    tree_refresh(watch.tree);
    assert_int_equal(tree_living(watch.tree), 2);
    assert_non_null(who(shared->pids[2]));
}

static void a_pid_used_again_is_not_followed(void **state)
{
    pid_t pid = start(body_that_escapes);
    struct tree_root root = {pid, start_ticks_of(pid) - 1}; /* as if another had had it */

    await_said(1);
    struct tree_options options = tree_options_for(method_of(state));
    options.scope = TREE_OF_ROOTS;
    options.reaps = false;
    options.roots = &root;
    options.root_count = 1;
    watch_with(&options, method_of(state));
    tree_refresh(watch.tree);
    assert_int_equal(tree_living(watch.tree), 0);
    tree_settle(watch.tree);
    assert_int_equal(times_told(EVENT_EXIT, pid), 1); /* of the one that was meant */
}

static void two_roots_of_which_one_descends_from_the_other_count_once(void **state)
{
    pid_t root = start(body_family_at_work);

    await_said(3);
    pid_t both[] = {shared->pids[1], root};
    watch_roots(state, both, 2, false);
    assert_int_equal(tree_living(watch.tree), 3);
    let_go(1);
    await_said(4);
    tree_refresh(watch.tree);
    assert_true(cpu_published() > WORK - 0.01 && cpu_published() < WORK + 0.05);
}

static void marks_of_before_are_not_ours(void **state)
{
    pid_t root = start(body_family);

    await_said(3);
    watch_roots(state, &root, 1, false);
    struct process *process = who(root);
    assert_false(tree_note_hwm(watch.tree, process, 500));
    assert_false(tree_note_hwm(watch.tree, process, 500));
    tree_note_resident(watch.tree, process, 200);
    assert_int_equal(tree_ledger(watch.tree)->hwm_bytes, 200);
    assert_true(tree_note_hwm(watch.tree, process, 501));
    assert_int_equal(tree_ledger(watch.tree)->hwm_bytes, 501);
    assert_true(tree_note_hwm(watch.tree, process, 500)); /* another program since */
    tree_note_resident(watch.tree, process, 900);         /* its mark tells, from now on */
    assert_int_equal(tree_ledger(watch.tree)->hwm_bytes, 501);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALL_WAYS(a_root_is_followed_with_its_descendants),
        ALL_WAYS(alone_it_is_followed_without_them),
        ALL_WAYS(what_was_used_before_is_not_counted_and_not_inherited),
        ALL_WAYS(a_parent_may_have_the_larger_pid),
        ALL_WAYS(what_it_used_last_is_known_where_the_kernel_tells),
        ALL_WAYS(how_it_ended_is_known_where_the_kernel_tells),
        ALL_WAYS(whoever_escapes_is_followed_where_the_kernel_tells),
        ALL_WAYS(one_that_was_seen_once_stays_a_member),
        ALL_WAYS(a_pid_used_again_is_not_followed),
        ALL_WAYS(two_roots_of_which_one_descends_from_the_other_count_once),
        ONE_WAY(marks_of_before_are_not_ours, by_listings),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
