/* What is told of a target's processes, and who is signalled. */
#include "tree_fixture.h"

#include <pthread.h>
#include <sys/socket.h>

static void body_wait(void)
{
    say();
    wait_for_go(1);
    _exit(42);
}

static void spawn_is_told_before_exit_and_the_exit_with_its_code(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_wait);
    await_said(1);
    tree_refresh(watch.tree);
    assert_int_equal(watch.told_count, 1);
    assert_int_equal(watch.told[0].type, EVENT_SPAWN);
    assert_int_equal(watch.told[0].pid, root);
    assert_int_equal(watch.told[0].ppid, getpid());
    assert_int_equal(watch.told[0].seen, is_told(state) ? SEEN_EVENT : SEEN_SAMPLED);
    let_go(1);
    await_reaped(1);
    tree_refresh(watch.tree);
    assert_int_equal(watch.told_count, 2);
    assert_int_equal(watch.told[1].type, EVENT_EXIT);
    assert_int_equal(watch.told[1].pid, root);
    assert_true(watch.told[1].has_status);
    assert_int_equal(WEXITSTATUS(watch.told[1].wait_status), 42);
    assert_true(watch.told[1].has_start);
    assert_non_null(strstr(watch.told[1].command, "test_tree_events"));
    assert_int_equal(watch.told[1].seen, is_told(state) ? SEEN_EVENT : SEEN_REAPED);
    assert_int_equal(watch.ended, 1);
}

static void a_process_reaped_before_any_pass_is_told_too(void **state)
{
    watch_begin(state);
    let_go(1);
    pid_t root = start_root(body_wait);
    await_reaped(1);
    assert_int_equal(times_told(EVENT_SPAWN, root), 1);
    assert_int_equal(times_told(EVENT_EXIT, root), 1);
    assert_int_equal(WEXITSTATUS(told_of(EVENT_EXIT, root)->wait_status), 42);
    tree_refresh(watch.tree);
    assert_int_equal(watch.told_count, 2);
    assert_int_equal(tree_spawned(watch.tree), 1);
    assert_int_equal(tree_exited(watch.tree), 1);
    assert_int_equal(tree_count(watch.tree), 0);
}

static void a_fatal_signal_is_a_kill_and_an_exit(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_wait);
    await_said(1);
    tree_refresh(watch.tree);
    assert_int_equal(kill(root, SIGKILL), 0);
    await_reaped(1);
    assert_int_equal(watch.told_count, 3);
    assert_int_equal(watch.told[1].type, EVENT_KILL);
    assert_int_equal(watch.told[2].type, EVENT_EXIT);
    for (size_t i = 1; i < 3; i++)
        assert_int_equal(WTERMSIG(watch.told[i].wait_status), SIGKILL);
    assert_int_equal(tree_exited(watch.tree), 1);
}

static void body_ends_as_if_killed(void)
{
    _exit(128 + SIGKILL);
}

static void only_sigkill_is_counted_as_killed(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_wait), other = start(body_wait);
    await_said(2);
    tree_refresh(watch.tree);
    assert_int_equal(tree_killed(watch.tree), 0);
    assert_int_equal(kill(root, SIGKILL), 0);
    await_reaped(1);
    assert_int_equal(tree_killed(watch.tree), 1);
    assert_int_equal(kill(other, SIGTERM), 0);
    (void)start(body_ends_as_if_killed); /* 137 alone proves nothing */
    await_reaped(2);
    tree_refresh(watch.tree);
    assert_int_equal(tree_killed(watch.tree), 1);
    assert_int_equal(tree_exited(watch.tree), 3);
}

static void body_with_a_child_that_ends(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        say();
        wait_for_go(1);
        _exit(5);
    }
    (void)wait_checked(pid);
    say();
    wait_for_go(2);
}

static void a_child_that_its_parent_waited_for_has_its_exit_told(void **state)
{
    watch_begin(state);
    (void)start_root(body_with_a_child_that_ends);
    await_said(1);
    pid_t child = shared->pids[0];
    tree_refresh(watch.tree);
    let_go(1);
    await_said(2);
    tree_refresh(watch.tree);
    tree_drain(watch.tree);
    tree_refresh(watch.tree);
    assert_null(who(child));
    assert_int_equal(times_told(EVENT_EXIT, child), 1);
    if (is_told(state)) { /* nobody else can know the code */
        assert_true(told_of(EVENT_EXIT, child)->has_status);
        assert_int_equal(WEXITSTATUS(told_of(EVENT_EXIT, child)->wait_status), 5);
    } else {
        assert_false(told_of(EVENT_EXIT, child)->has_status);
        assert_int_equal(told_of(EVENT_EXIT, child)->seen, SEEN_SAMPLED);
    }
}

static void body_storm(void)
{
    for (int i = 0; i < 64; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (i % 8 == 0 && fork() == 0)
                sleep_seconds(0.003);
            _exit(i % 3);
        }
        if (i % 4 != 0)
            (void)wait_checked(pid);
    }
    while (wait(NULL) > 0)
        ;
}

static void every_process_has_exactly_one_spawn_and_one_exit_in_this_order(void **state)
{
    watch_begin(state);
    (void)start_root(body_storm);
    for (int ms = 0; ms < PATIENCE_MS; ms += 3) {
        siginfo_t info;
        (void)reap_all();
        tree_refresh(watch.tree);
        if (tree_count(watch.tree) == 0 && waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
            break;
        sleep_seconds(0.003);
    }
    assert_true(watch.told_count < TOLD_MAX);
    for (size_t i = 0; i < watch.told_count; i++) {
        int open_before = 0; /* spawns of this pid that have no exit yet */
        for (size_t j = 0; j < i; j++)
            if (watch.told[j].pid == watch.told[i].pid)
                open_before += watch.told[j].type == EVENT_SPAWN ? 1 : -1;
        assert_int_equal(open_before, watch.told[i].type == EVENT_SPAWN ? 0 : 1);
    }
    assert_int_equal(watch.told_count, tree_spawned(watch.tree) + tree_exited(watch.tree));
    assert_int_equal(tree_spawned(watch.tree), tree_exited(watch.tree));
    assert_true(watch.ended >= tree_exited(watch.tree)); /* some are gone before they are read */
    if (is_told(state) && tree_events_lost(watch.tree) == 0)
        assert_int_equal(tree_spawned(watch.tree), 1 + 64 + 8);
}

static void *thread_that_leaves(void *argument)
{
    (void)argument;
    wait_for_go(1);
    return NULL;
}

static void body_with_threads(void)
{
    pthread_t threads[3];

    for (size_t i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, thread_that_leaves, NULL) != 0)
            _exit(1);
    say();
    for (size_t i = 0; i < 3; i++)
        (void)pthread_join(threads[i], NULL);
    say();
    wait_for_go(2);
    _exit(3);
}

static void threads_that_end_are_no_exits(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_with_threads);
    await_said(1);
    tree_refresh(watch.tree);
    assert_int_equal(who(root)->stat.threads, 4);
    let_go(1);
    await_said(2);
    tree_refresh(watch.tree);
    assert_int_equal(tree_exited(watch.tree), 0);
    assert_int_equal(tree_living(watch.tree), 1);
    let_go(2);
    await_reaped(1);
    assert_int_equal(times_told(EVENT_EXIT, root), 1);
    assert_int_equal(WEXITSTATUS(told_of(EVENT_EXIT, root)->wait_status), 3);
}

static void body_family(void)
{
    say();
    if (fork() == 0) {
        say();
        (void)setsid();
        if (fork() == 0)
            say();
    }
    wait_for_go(1);
}

static void a_signal_reaches_every_descendant(void **state)
{
    watch_begin(state);
    (void)start_root(body_family);
    await_said(3);
    assert_int_equal(tree_signal(watch.tree, SIGTERM), 3);
    await_reaped(3);
    tree_refresh(watch.tree);
    assert_int_equal(tree_count(watch.tree), 0);
    for (int i = 0; i < 3; i++)
        if (told_of(EVENT_EXIT, shared->pids[i])->has_status)
            assert_int_equal(WTERMSIG(told_of(EVENT_EXIT, shared->pids[i])->wait_status), SIGTERM);
    assert_int_equal(tree_signal(watch.tree, SIGTERM), 0);
}

static void *thread_that_waits(void *argument)
{
    (void)argument;
    while (state_of(getpid()) != 'Z') /* until the main thread has left */
        sleep_seconds(0.001);
    say();
    wait_for_go(1);
    _exit(0);
}

static void body_leader_leaves(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, thread_that_waits, NULL) != 0)
        _exit(1);
    pthread_exit(NULL);
}

static void a_signal_reaches_a_process_whose_main_thread_left(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_leader_leaves);
    await_said(1);
    assert_int_equal(tree_signal(watch.tree, SIGTERM), 1);
    await_reaped(1);
    assert_int_equal(times_told(EVENT_EXIT, root), 1);
}

static void body_zombie(void)
{
    siginfo_t info;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    (void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    say();
    wait_for_go(1);
}

static void a_zombie_is_not_reached_by_a_signal(void **state)
{
    watch_begin(state);
    (void)start_root(body_zombie);
    await_said(1);
    assert_int_equal(tree_signal(watch.tree, 0), 1);
}

static void body_session_with_threads(void)
{
    (void)setsid();
    body_with_threads();
}

static void threads_begun_before_we_looked_may_end(void **state)
{
    pid_t leader = start(body_session_with_threads);

    await_said(1);
    if (method_of(state) == TREE_BPF)
        programs_load();
    struct tree_options options = tree_options_for(method_of(state));
    options.reaps = false;
    options.scope = TREE_OF_SESSION;
    options.session = leader;
    watch_with(&options, method_of(state));
    tree_refresh(watch.tree);
    assert_int_equal(who(leader)->stat.threads, 4);
    let_go(1);
    await_said(2);
    tree_refresh(watch.tree);
    assert_int_equal(tree_living(watch.tree), 1);
    assert_int_equal(tree_exited(watch.tree), 0); /* no event told of their beginning */
    assert_int_equal(times_told(EVENT_EXIT, leader), 0);
}

static void lost_events_are_counted_and_healed_by_a_listing(void **state)
{
    watch_begin(state);
    int least = 0;
    /* So little room that the storm below cannot fit. */
    assert_int_equal(setsockopt(lifecycle_fd(watch.source), SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)), 0);
    pid_t storm = start_root(body_storm);
    int status;
    struct rusage usage;
    assert_int_equal(wait4(storm, &status, 0, &usage), storm);
    tree_reap(watch.tree, storm, status, &usage);
    assert_true(tree_events_lost(watch.tree) > 0);
    assert_false(tree_counts_all(watch.tree));
    pid_t quiet = start(body_family); /* its beginning may be lost as well */
    await_said(3);
    (void)reap_all();
    tree_refresh(watch.tree);
    tree_refresh(watch.tree);
    assert_non_null(who(quiet));
    for (int i = 0; i < 3; i++)
        assert_non_null(who(shared->pids[i]));
}

static void body_with_late_threads(void)
{
    say();
    while (atomic_load(&shared->counts[0]) == 0 && !is_over())
        sleep_seconds(0.001);
    body_with_threads();
}

static void threads_whose_beginning_was_lost_may_end(void **state)
{
    watch_begin(state);
    int least = 0, much = 1 << 20;
    pid_t root = start_root(body_with_late_threads);
    await_said(1);
    tree_refresh(watch.tree); /* its own beginning was told */
    assert_int_equal(setsockopt(lifecycle_fd(watch.source), SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)), 0);
    pid_t storm = start(body_storm); /* fills what room there is */
    int status;
    struct rusage usage;
    assert_int_equal(wait4(storm, &status, 0, &usage), storm);
    atomic_store(&shared->counts[0], 1);
    await_said(2);
    tree_reap(watch.tree, storm, status, &usage);
    assert_true(tree_events_lost(watch.tree) > 0);
    assert_int_equal(setsockopt(lifecycle_fd(watch.source), SOL_SOCKET, SO_RCVBUF, &much, sizeof(much)), 0);
    let_go(1);
    await_said(3);
    tree_refresh(watch.tree);
    assert_non_null(who(root));
    assert_int_equal(times_told(EVENT_EXIT, root), 0);
    let_go(2);
    for (int ms = 0; times_told(EVENT_EXIT, root) == 0 && ms < PATIENCE_MS; ms++) {
        (void)reap_all();
        tree_refresh(watch.tree);
        sleep_seconds(0.001);
    }
    assert_int_equal(WEXITSTATUS(told_of(EVENT_EXIT, root)->wait_status), 3);
}

static void the_end_of_a_thread_is_not_the_status_of_its_process(void **state)
{
    pid_t leader = start(body_session_with_threads);

    await_said(1);
    struct tree_options options = tree_options_for(method_of(state));
    options.reaps = false;
    options.scope = TREE_OF_SESSION;
    options.session = leader;
    watch_with(&options, method_of(state));
    let_go(1);
    await_said(2);
    tree_refresh(watch.tree); /* its threads were told to end, each with status 0 */
    int least = 0;
    assert_int_equal(setsockopt(lifecycle_fd(watch.source), SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)), 0);
    assert_true(wait_checked(start(body_storm)) >= 0); /* fills what room there is */
    let_go(2);
    assert_int_equal(WEXITSTATUS(wait_checked(leader)), 3);
    tree_refresh(watch.tree);
    assert_int_equal(times_told(EVENT_EXIT, leader), 1);
    const struct told *told = told_of(EVENT_EXIT, leader);
    assert_true(!told->has_status || WEXITSTATUS(told->wait_status) == 3); /* unknown, but never wrong */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALL_WAYS(spawn_is_told_before_exit_and_the_exit_with_its_code),
        ALL_WAYS(a_process_reaped_before_any_pass_is_told_too),
        ALL_WAYS(a_fatal_signal_is_a_kill_and_an_exit),
        ALL_WAYS(only_sigkill_is_counted_as_killed),
        ALL_WAYS(a_child_that_its_parent_waited_for_has_its_exit_told),
        ALL_WAYS(every_process_has_exactly_one_spawn_and_one_exit_in_this_order),
        ALL_WAYS(threads_that_end_are_no_exits),
        ALL_WAYS(a_signal_reaches_every_descendant),
        ALL_WAYS(a_signal_reaches_a_process_whose_main_thread_left),
        ALL_WAYS(a_zombie_is_not_reached_by_a_signal),
        ONE_WAY(threads_begun_before_we_looked_may_end, by_bpf),
        ONE_WAY(threads_begun_before_we_looked_may_end, by_connector),
        ONE_WAY(threads_begun_before_we_looked_may_end, by_scan),
        ONE_WAY(lost_events_are_counted_and_healed_by_a_listing, by_connector),
        ONE_WAY(threads_whose_beginning_was_lost_may_end, by_connector),
        ONE_WAY(the_end_of_a_thread_is_not_the_status_of_its_process, by_connector),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
