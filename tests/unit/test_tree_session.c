/* Sessions that we did not start: who is in them, what is told of them, who is signalled. */
#include "tree_fixture.h"

/*
 * A session that was there before us: its leader (0), a bystander (1), the command (2) and the command's
 * child (3). The leader has used so much CPU already.
 */
static void live_as_session(double past)
{
    (void)setsid();
    burn_process(past);
    say();
    if (fork() == 0) {
        say();
        wait_for_go(3);
        _exit(0);
    }
    wait_for_said(2);
    if (fork() == 0) {
        say();
        if (fork() == 0)
            say();
        wait_for_go(3);
        _exit(0);
    }
    wait_for_said(4);
    wait_for_go(1);
    burn_process(0.1);
    say();
    wait_for_go(2);
}

static void body_session(void)
{
    live_as_session(0);
}

static void body_session_with_a_past(void)
{
    live_as_session(0.1);
}

static pid_t watch_session(void **state, void (*body)(void))
{
    pid_t leader = start(body);

    await_said(4);
    if (method_of(state) == TREE_BPF)
        programs_load(); /* who lives already is not followed by itself */
    struct tree_options options = tree_options_for(method_of(state));
    options.reaps = false;
    options.scope = TREE_OF_SESSION;
    options.session = leader;
    watch_with(&options, method_of(state));
    tree_refresh(watch.tree);
    assert_int_equal(tree_add_root(watch.tree, shared->pids[2]), 0);
    tree_refresh(watch.tree);
    return leader;
}

static void a_session_is_followed_as_it_stands(void **state)
{
    (void)watch_session(state, body_session);
    assert_int_equal(tree_living(watch.tree), 4);
    for (int i = 0; i < 4; i++)
        assert_non_null(who(shared->pids[i]));
    assert_false(tree_counts_all(watch.tree));
    assert_ptr_equal(tree_cpu_missing(watch.tree), &note_ended_unseen);
}

static void body_session_that_grows(void)
{
    (void)setsid();
    say();
    wait_for_go(1);
    if (fork() == 0) {
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

static void whoever_is_born_into_a_session_is_found(void **state)
{
    pid_t leader = start(body_session_that_grows);

    await_said(1);
    if (method_of(state) == TREE_BPF)
        programs_load();
    struct tree_options options = tree_options_for(method_of(state));
    options.reaps = false;
    options.scope = TREE_OF_SESSION;
    options.session = leader;
    watch_with(&options, method_of(state));
    tree_refresh(watch.tree);
    assert_int_equal(tree_living(watch.tree), 1);
    let_go(1);
    await_said(3);
    tree_refresh(watch.tree);
    assert_int_equal(tree_living(watch.tree), 2); /* an orphan by now */
    assert_true(tree_spawned(watch.tree) >= 1);
}

/* A child that burns, and its parent that waits for it, begin and end between two passes. */
static void body_session_with_a_short_family(void)
{
    (void)setsid();
    say();
    wait_for_go(1);
    if (fork() == 0) {
        if (fork() == 0) {
            burn_process(0.12);
            _exit(0);
        }
        (void)wait(NULL);
        _exit(0);
    }
    (void)wait(NULL);
    say();
    wait_for_go(2);
}

static void a_family_that_no_pass_saw_is_counted_once(void **state)
{
    pid_t leader = start(body_session_with_a_short_family);

    await_said(1);
    if (method_of(state) == TREE_BPF)
        programs_load();
    struct tree_options options = tree_options_for(method_of(state));
    options.reaps = false;
    options.scope = TREE_OF_SESSION;
    options.session = leader;
    watch_with(&options, method_of(state));
    tree_refresh(watch.tree);
    let_go(1);
    await_said(2);
    tree_refresh(watch.tree);
    tree_drain(watch.tree);
    tree_refresh(watch.tree);
    assert_int_equal(tree_living(watch.tree), 1);
    /* The leader has inherited it: in ticks of 10 ms, of user and system time. */
    assert_true(cpu_published() > 0.09 && cpu_published() < 0.2);
}

static void we_are_never_part_of_the_target(void **state)
{
    struct tree_options options = tree_options_for(method_of(state));

    options.reaps = false;
    options.scope = TREE_OF_SESSION;
    options.session = getsid(0); /* our own, as a batch job's shell has us in its own */
    watch_with(&options, method_of(state));
    pid_t root = start_root(body_that_waits);
    await_said(1);
    tree_refresh(watch.tree);
    assert_non_null(who(root));
    assert_null(who(getpid()));
}

static void what_a_session_used_before_is_not_counted(void **state)
{
    (void)watch_session(state, body_session_with_a_past);
    assert_true(cpu_published() < 0.05);
    let_go(1);
    await_said(5);
    tree_refresh(watch.tree);
    assert_true(cpu_published() >= 0.09 && cpu_published() < 0.2);
}

static void a_session_member_that_ends_keeps_what_it_used(void **state)
{
    pid_t leader = watch_session(state, body_session);
    siginfo_t info;

    let_go(1);
    await_said(5);
    tree_refresh(watch.tree);
    let_go(2);
    assert_int_equal(waitid(P_PID, (id_t)leader, &info, WEXITED), 0); /* not by us as its reaper */
    tree_refresh(watch.tree);
    tree_drain(watch.tree);
    tree_refresh(watch.tree);
    assert_null(who(leader));
    assert_int_equal(times_told(EVENT_EXIT, leader), 1);
    assert_true(cpu_published() >= 0.09);
    assert_true(tree_ledger(watch.tree)->gone.cpu_seconds >= 0.09);
    assert_int_equal(tree_ledger(watch.tree)->reaped_count, 0);
    assert_int_equal(tree_living(watch.tree), 3); /* orphans now, and still of the session */
}

static void a_signal_reaches_only_descendants_of_the_command(void **state)
{
    (void)watch_session(state, body_session);
    assert_int_equal(tree_signal(watch.tree, SIGTERM), 2);
    for (int ms = 0; tree_living(watch.tree) > 2 && ms < PATIENCE_MS; ms++) {
        sleep_seconds(0.001);
        tree_refresh(watch.tree);
    }
    assert_int_equal(kill(shared->pids[0], 0), 0);
    assert_int_equal(kill(shared->pids[1], 0), 0);
    assert_true(who(shared->pids[0])->stat.state != 'Z');
    assert_true(who(shared->pids[1])->stat.state != 'Z');
    for (int i = 2; i < 4; i++) {
        const struct process *process = who(shared->pids[i]);
        assert_true(!process || process->stat.state == 'Z');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE_WAY(a_session_is_followed_as_it_stands, by_bpf),
        ONE_WAY(a_session_is_followed_as_it_stands, by_connector),
        ONE_WAY(a_session_is_followed_as_it_stands, by_scan),
        ONE_WAY(whoever_is_born_into_a_session_is_found, by_bpf),
        ONE_WAY(whoever_is_born_into_a_session_is_found, by_connector),
        ONE_WAY(whoever_is_born_into_a_session_is_found, by_scan),
        ONE_WAY(a_family_that_no_pass_saw_is_counted_once, by_bpf),
        ONE_WAY(a_family_that_no_pass_saw_is_counted_once, by_connector),
        ONE_WAY(a_family_that_no_pass_saw_is_counted_once, by_scan),
        ONE_WAY(we_are_never_part_of_the_target, by_bpf),
        ONE_WAY(we_are_never_part_of_the_target, by_connector),
        ONE_WAY(we_are_never_part_of_the_target, by_scan),
        ONE_WAY(what_a_session_used_before_is_not_counted, by_bpf),
        ONE_WAY(what_a_session_used_before_is_not_counted, by_connector),
        ONE_WAY(what_a_session_used_before_is_not_counted, by_scan),
        ONE_WAY(a_session_member_that_ends_keeps_what_it_used, by_bpf),
        ONE_WAY(a_session_member_that_ends_keeps_what_it_used, by_connector),
        ONE_WAY(a_session_member_that_ends_keeps_what_it_used, by_scan),
        ONE_WAY(a_signal_reaches_only_descendants_of_the_command, by_bpf),
        ONE_WAY(a_signal_reaches_only_descendants_of_the_command, by_connector),
        ONE_WAY(a_signal_reaches_only_descendants_of_the_command, by_scan),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
