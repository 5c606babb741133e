/* Members that do not run: what is not read of them, and what is seen all the same. */
#include "tree/tree.h"

#include "tree_fixture.h"

static void on_usr1(int number)
{
    (void)number;
}

/* Sleeps but for signals, and uses CPU after each. */
static void body_sleeps(void)
{
    (void)signal(SIGUSR1, on_usr1);
    say();
    for (;;) {
        (void)pause();
        burn_process(0.02);
        say();
    }
}

/* Starts one, and reads it after it fell asleep. */
static pid_t watch_asleep(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_sleeps);
    await_said(1);
    await_rest(root, 1);
    tree_refresh(watch.tree);
    assert_int_equal(who(root)->stat.state, 'S');
    return root;
}

static void what_has_not_run_is_not_read_again(void **state)
{
    pid_t root = watch_asleep(state);
    const double cpu = tree_ledger(watch.tree)->live.cpu_seconds;

    for (int i = 0; i < 5; i++) {
        const uint64_t before_ns = clock_monotonic_ns();
        const uint64_t looked_ns = before_ns; /* as if just now: passes may be slow, and it is not due yet */
        who(root)->looked_ns = looked_ns;
        tree_refresh(watch.tree);
        assert_int_equal(who(root)->looked_ns, looked_ns);
        assert_true(who(root)->stat_ns >= before_ns); /* its clock is: the reading is of this pass */
        assert_true(who(root)->fresh);
        assert_true(fabs(tree_ledger(watch.tree)->live.cpu_seconds - cpu) < 1e-12);
    }
    assert_int_equal(tree_living(watch.tree), 1);
}

static void what_has_run_is_read(void **state)
{
    pid_t root = watch_asleep(state);
    const uint64_t looked_ns = who(root)->looked_ns;
    const double cpu = cpu_published();

    assert_int_equal(kill(root, SIGUSR1), 0);
    await_said(2);
    tree_refresh(watch.tree);
    assert_true(who(root)->looked_ns > looked_ns);
    assert_true(cpu_published() >= cpu + 0.019);
}

static void a_sleeper_that_is_stopped_is_seen(void **state)
{
    pid_t root = watch_asleep(state);
    int status;

    assert_int_equal(kill(root, SIGSTOP), 0);
    assert_int_equal(waitpid(root, &status, WUNTRACED), root);
    /* We are told while it is still on its CPU: its clock moves when it leaves it. */
    for (int ms = 0; ms < PATIENCE_MS && who(root)->stat.state != 'T'; ms++) {
        tree_refresh(watch.tree);
        sleep_seconds(0.001);
    }
    assert_int_equal(who(root)->stat.state, 'T');
    assert_int_equal(kill(root, SIGCONT), 0);
}

static void body_leaves_a_sleeper(void)
{
    if (fork() == 0)
        body_sleeps();
    wait_for_said(1);
    wait_for_go(1);
}

static void a_sleeper_whose_parent_ended_has_another_at_once(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_leaves_a_sleeper);
    await_said(1);
    pid_t sleeper = shared->pids[0];
    await_rest(sleeper, 1);
    tree_refresh(watch.tree);
    tree_refresh(watch.tree);
    assert_int_equal(who(sleeper)->stat.ppid, root);
    let_go(1);
    await_reaped(1);
    tree_refresh(watch.tree);
    assert_int_equal(who(sleeper)->stat.ppid, getpid());
    assert_int_equal(strtol(who(sleeper)->ppid_text, NULL, 10), getpid());
}

static void a_sleeper_is_looked_at_again_after_a_while(void **state)
{
    pid_t root = watch_asleep(state);
    const uint64_t looked_ns = who(root)->looked_ns;

    who(root)->looked_ns -= TREE_LOOK_AGAIN_NS; /* as if it were so long ago */
    tree_refresh(watch.tree);
    assert_true(who(root)->looked_ns > looked_ns);
}

static void without_its_clock_a_sleeper_is_read_in_every_pass(void **state)
{
    struct tree_options options = tree_options_for(method_of(state));

    options.read_clock = false;
    watch_with(&options, method_of(state));
    pid_t root = start_root(body_sleeps);
    await_said(1);
    await_rest(root, 1);
    tree_refresh(watch.tree);
    for (int i = 0; i < 3; i++) {
        const uint64_t before_ns = clock_monotonic_ns();
        tree_refresh(watch.tree);
        assert_true(who(root)->looked_ns >= before_ns);
    }
}

static void a_sleeper_that_was_killed_is_gone(void **state)
{
    pid_t root = watch_asleep(state);

    tree_refresh(watch.tree);
    assert_int_equal(kill(root, SIGKILL), 0);
    await_reaped(1);
    tree_refresh(watch.tree);
    assert_null(who(root));
    assert_int_equal(tree_exited(watch.tree), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALL_WAYS(what_has_not_run_is_not_read_again),
        ALL_WAYS(what_has_run_is_read),
        ALL_WAYS(a_sleeper_that_is_stopped_is_seen),
        ALL_WAYS(a_sleeper_whose_parent_ended_has_another_at_once),
        ALL_WAYS(a_sleeper_is_looked_at_again_after_a_while),
        ONE_WAY(without_its_clock_a_sleeper_is_read_in_every_pass, by_listings),
        ALL_WAYS(a_sleeper_that_was_killed_is_gone),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
