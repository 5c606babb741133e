/*
 * One source of events after another, in the middle of a tree that forks all the time: nobody lost, nobody
 * told twice. And who is none of ours although the kernel tells of it, and what was lost.
 */
#include "tree/tree.h"

#include "tree_fixture.h"

#include <sys/socket.h>

enum { BIRTHS_MAX = 3000 };

/* Who was born, as the tree itself says: shared with all of it. */
static struct {
    atomic_int count;
    atomic_bool taken_over; /* the new source is in force */
    struct birth {
        pid_t pid;
        bool after; /* it was */
    } births[BIRTHS_MAX];
} * record;

static int takeover_setup(void **state)
{
    record = mmap(NULL, sizeof(*record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return record == MAP_FAILED ? -1 : become_reaper(state);
}

/* A fork that is written down. */
static pid_t fork_recorded(void)
{
    const bool after = atomic_load(&record->taken_over);
    pid_t pid = fork();

    if (pid > 0) {
        int place = atomic_fetch_add(&record->count, 1);
        if (place < BIRTHS_MAX)
            record->births[place] = (struct birth){pid, after};
    }
    return pid;
}

/* Children that live for 0 to 6 ms, some with a child of their own that outlives them, one thing every 0.3
 * ms, until told to stop; and a few that stay. */
static void body_forks_all_the_time(void)
{
    for (int i = 0; i < 5; i++)
        if (fork_recorded() == 0) {
            wait_for_go(1);
            _exit(0);
        }
    say();
    for (int i = 0; atomic_load(&shared->go) < 1 && atomic_load(&record->count) < BIRTHS_MAX - 10; i++) {
        if (fork_recorded() == 0) {
            if (i % 3 == 0 && fork_recorded() == 0) {
                sleep_seconds(0.002 * (i % 5));
                _exit(0);
            }
            sleep_seconds(0.001 * (i % 7));
            _exit(i % 2);
        }
        while (i % 4 && waitpid(-1, NULL, WNOHANG) > 0)
            ;
        /* On a busy machine it takes long until our programs are loaded: some room must be left. */
        sleep_seconds(atomic_load(&record->count) < BIRTHS_MAX / 3 ? 0.0003 : 0.01);
    }
    while (wait(NULL) > 0)
        ;
}

static void follow_for(double seconds)
{
    for (double until = clock_seconds(CLOCK_MONOTONIC) + seconds; clock_seconds(CLOCK_MONOTONIC) < until;) {
        (void)reap_all();
        tree_refresh(watch.tree);
        sleep_seconds(0.005);
    }
}

static void follow_until_born(int count)
{
    for (int ms = 0; atomic_load(&record->count) < count && ms < PATIENCE_MS; ms += 20)
        follow_for(0.02);
}

static void follow_to_the_end(void)
{
    siginfo_t info;

    let_go(OVER);
    for (int ms = 0; waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0; ms += 5) {
        if (ms > PATIENCE_MS)
            fail_msg("they do not end");
        (void)reap_all();
        tree_refresh(watch.tree);
        sleep_seconds(0.005);
    }
    for (int ms = 0; tree_count(watch.tree) > 0 && ms < PATIENCE_MS; ms += 5) {
        sleep_seconds(0.005); /* who was not followed to its end has to be given up */
        tree_refresh(watch.tree);
    }
    assert_int_equal(tree_count(watch.tree), 0);
}

static void body_ends_at_once(void)
{
}

/* A program of ours that comes and goes. */
static void run_helper(void)
{
    pid_t helper = start(body_ends_at_once);

    tree_ignore(watch.tree, helper);
    (void)wait_checked(helper);
    tree_unignore(watch.tree, helper);
}

/* To our programs, which are loaded. */
static struct lifecycle *listen_to_programs(void)
{
    struct lifecycle *old = watch.source;

    watch.source = lifecycle_bpf(kernel_side.programs);
    assert_non_null(watch.source);
    assert_int_equal(tree_listen(watch.tree, watch.source), 0);
    atomic_store(&record->taken_over, true);
    assert_int_equal(tree_method(watch.tree), TREE_BPF);
    return old;
}

/* As `metron run` does it: they are loaded while the tree goes on. */
static struct lifecycle *take_over(void)
{
    programs_load();
    run_helper(); /* the new source has told of it, and nobody has read that */
    return listen_to_programs();
}

/* How many of the tree's had this pid, one after the other: where others are busy, or pids are few, they come
 * round while a test runs. */
static unsigned times_born(pid_t pid)
{
    const int count = atomic_load(&record->count);
    unsigned born = 0;

    for (int i = 0; i < count && i < BIRTHS_MAX; i++)
        born += record->births[i].pid == pid;
    return born;
}

static void nobody_is_told_twice(pid_t root)
{
    const int count = atomic_load(&record->count);

    assert_true(count > 100 && count < BIRTHS_MAX);
    assert_true(watch.told_count < TOLD_MAX);
    assert_int_equal(times_told(EVENT_SPAWN, root), 1);
    assert_int_equal(times_told(EVENT_EXIT, root), 1);
    for (int i = 0; i < count; i++) {
        const pid_t pid = record->births[i].pid;
        const unsigned spawns = times_told(EVENT_SPAWN, pid), exits = times_told(EVENT_EXIT, pid);
        if (spawns != exits || spawns > times_born(pid))
            fail_msg("%d of %d: process %d has %u spawns and %u exits", i, count, (int)pid, spawns, exits);
    }
    assert_int_equal(tree_spawned(watch.tree), tree_exited(watch.tree));
    assert_int_equal(watch.told_count, tree_spawned(watch.tree) + tree_exited(watch.tree));
    for (size_t i = 0; i < watch.told_count; i++) {
        bool is_ours = watch.told[i].pid == root;
        for (int j = 0; j < count && !is_ours; j++)
            is_ours = watch.told[i].pid == record->births[j].pid;
        if (!is_ours)
            fail_msg("process %d is none of the tree's", (int)watch.told[i].pid);
    }
}

static pid_t takeover_begin(void **state)
{
    memset(record, 0, sizeof(*record));
    needs_programs(); /* or there is nothing to take over */
    watch_begin(state);
    pid_t root = start_root(body_forks_all_the_time);
    await_said(1);
    follow_until_born(100);
    return root;
}

/* False: the connector, which reports the whole machine, had no room for all of it. */
static bool follows_all(void **state)
{
    pid_t root = takeover_begin(state);
    struct lifecycle *old = take_over();

    lifecycle_free(old);
    follow_until_born(atomic_load(&record->count) + 150);
    follow_to_the_end();
    nobody_is_told_twice(root);
    return tree_events_lost(watch.tree) == 0;
}

static void from_the_connector_nobody_is_lost(void **state)
{
    for (int tries = 1; !follows_all(state); tries++) {
        if (tries == 10) {
            print_message("skip: others start more processes than the connector can tell of\n");
            skip();
        }
        assert_int_equal(watch_teardown(state), 0);
        assert_int_equal(watch_setup(state), 0);
    }
    assert_int_equal(tree_spawned(watch.tree), 1 + atomic_load(&record->count));
    assert_true(tree_counts_all(watch.tree));
    /* What some had used before was not told. */
    assert_false(tree_ended_sum(watch.tree).is_whole);
}

static void from_listings_nobody_that_stays_is_lost(void **state)
{
    pid_t root = takeover_begin(state);

    assert_null(take_over());
    follow_until_born(atomic_load(&record->count) + 150);
    follow_to_the_end();
    nobody_is_told_twice(root);
    unsigned after = 0;
    for (int i = 0; i < atomic_load(&record->count); i++) {
        /* The first five stay; of the others those are told that began under the new source. */
        if (i >= 5 && !record->births[i].after)
            continue;
        after++;
        if (times_told(EVENT_SPAWN, record->births[i].pid) == 0)
            fail_msg("process %d, number %d, was not told", (int)record->births[i].pid, i);
    }
    assert_true(after > 50);
    assert_false(tree_counts_all(watch.tree)); /* before that, some were too short to be seen */
}

static void again_and_again(void **state)
{
    for (int i = 0; i < 3; i++) {
        (method_of(state) == TREE_CONNECTOR ? from_the_connector_nobody_is_lost
                                            : from_listings_nobody_that_stays_is_lost)(state);
        assert_int_equal(watch_teardown(state), 0);
        assert_int_equal(watch_setup(state), 0);
    }
}

static void who_lived_before_is_told_with_its_end(void **state)
{
    pid_t root = takeover_begin(state);

    lifecycle_free(take_over());
    assert_false(tree_ended_sum(watch.tree).is_whole);
    follow_to_the_end();
    for (int i = 0; i < 5; i++) {
        const struct told *told = told_of(EVENT_EXIT, record->births[i].pid);
        assert_int_equal(told->seen, SEEN_EVENT);
        assert_true(told->has_status && told->has_use);
    }
    assert_int_equal(told_of(EVENT_EXIT, root)->seen, SEEN_EVENT);
}

static void body_stays(void)
{
    say();
    wait_for_go(3);
}

static void the_sum_of_the_ended_is_not_whole_even_if_nobody_had_ended(void **state)
{
    needs_programs();
    watch_begin(state);
    (void)start_root(body_stays);
    await_said(1);
    tree_refresh(watch.tree);
    lifecycle_free(take_over());
    assert_int_equal(tree_exited(watch.tree), 0);
    assert_true(tree_counts_all(watch.tree));
    assert_false(tree_ended_sum(watch.tree).is_whole); /* its ended threads' use was not told */
}

static void what_the_kernel_calls_it_survives_an_event_of_the_connector(void **state)
{
    needs_programs();
    watch_begin(state);
    pid_t root = start_root(body_stays);
    await_said(1);
    lifecycle_free(listen_to_programs()); /* the connector reports its fork only now, without such a name */
    assert_true(who(root)->kernel_id != 0);
}

/* ---- lost ---- */

static void on_usr1(int number)
{
    (void)number;
}

/* Twice as much as there is room for, if nobody reads it: a signal is the cheapest event. */
static void body_floods(void)
{
    (void)signal(SIGUSR1, on_usr1);
    say();
    wait_for_go(1);
    for (int i = 0; i < 2 * WIRE_RING_BYTES / (int)sizeof(struct wire_signal); i++)
        (void)raise(SIGUSR1);
    if (fork() == 0) {
        if (fork() == 0) {
            say();
            wait_for_go(3);
            _exit(0);
        }
        say();
        wait_for_go(2);
        if (fork() == 0) {
            say();
            wait_for_go(3);
            _exit(0);
        }
        wait_for_go(3);
        _exit(0);
    }
    wait_for_go(3);
}

static void on_event_but_signals(void *context, const struct event *event)
{
    if (event->type != EVENT_SIGNAL)
        on_event(context, event);
}

static void lost_events_of_our_programs_are_counted_and_healed(void **state)
{
    struct tree_options options = tree_options_for(method_of(state));

    options.on_event = on_event_but_signals;
    watch_with(&options, method_of(state));
    pid_t root = start_root(body_floods);
    await_said(1);
    tree_refresh(watch.tree);
    assert_true(tree_counts_all(watch.tree));
    let_go(1);
    await_said(3);
    tree_refresh(watch.tree);
    assert_true(tree_events_lost(watch.tree) > 0);
    assert_false(tree_counts_all(watch.tree));
    assert_false(tree_ended_sum(watch.tree).is_whole);
    for (int i = 0; i < 3; i++) {
        assert_non_null(who(shared->pids[i]));
        assert_int_equal(times_told(EVENT_SPAWN, shared->pids[i]), 1);
    }
    assert_int_equal(told_of(EVENT_SPAWN, shared->pids[1])->seen, SEEN_SAMPLED);
    const uint64_t lost = tree_events_lost(watch.tree);
    let_go(2);
    await_said(4);
    tree_refresh(watch.tree);
    assert_int_equal(told_of(EVENT_SPAWN, shared->pids[3])->seen, SEEN_EVENT);
    follow_to_the_end();
    assert_int_equal(tree_events_lost(watch.tree), lost);
    assert_int_equal(tree_spawned(watch.tree), 4);
    assert_int_equal(tree_exited(watch.tree), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(times_told(EVENT_EXIT, shared->pids[i]), 1);
    assert_int_equal(told_of(EVENT_EXIT, root)->seen, SEEN_EVENT);
}

static void body_storm(void)
{
    for (int i = 0; i < 200; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        (void)wait_checked(pid);
    }
    if (fork() == 0) { /* its birth is lost as well */
        say();
        wait_for_go(1);
        if (fork() == 0) {
            say();
            wait_for_go(2);
            _exit(0);
        }
        wait_for_go(2);
        _exit(0);
    }
    wait_for_go(2);
}

static void who_was_lost_by_the_source_before_is_followed_by_the_next(void **state)
{
    int least = 0;

    needs_programs();
    watch_begin(state);
    assert_int_equal(setsockopt(lifecycle_fd(watch.source), SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)), 0);
    (void)start_root(body_storm);
    await_said(1);
    struct lifecycle *old = take_over();
    assert_true(tree_events_lost(watch.tree) > 0);
    lifecycle_free(old);
    tree_refresh(watch.tree);
    assert_non_null(who(shared->pids[0]));
    let_go(1);
    await_said(2);
    tree_refresh(watch.tree);
    assert_non_null(who(shared->pids[1]));
    assert_int_equal(told_of(EVENT_SPAWN, shared->pids[1])->seen, SEEN_EVENT);
}

/* ---- none of ours ---- */

/* A program of ours that has children, one of which it leaves to us. */
static void body_helper_with_children(void)
{
    if (fork() == 0) {
        say();
        if (fork() == 0) {
            burn_process(0.03);
            say();
            wait_for_go(2);
            _exit(0);
        }
        _exit(0);
    }
    (void)wait(NULL);
    say();
    wait_for_go(1);
}

static void descendants_of_a_program_of_ours_are_no_members(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_stays);
    pid_t helper = start(body_helper_with_children);
    tree_ignore(watch.tree, helper);
    await_said(4);
    tree_refresh(watch.tree);
    tree_refresh(watch.tree);
    assert_int_equal(tree_count(watch.tree), 1);
    let_go(1);
    (void)wait_checked(helper);
    tree_unignore(watch.tree, helper);
    tree_refresh(watch.tree);
    assert_int_equal(tree_count(watch.tree), 1);
    let_go(2);
    await_reaped(1); /* what it left behind */
    tree_refresh(watch.tree);
    assert_int_equal(tree_count(watch.tree), 1);
    assert_non_null(who(root));
    assert_int_equal(tree_spawned(watch.tree), 1);
    assert_int_equal(tree_exited(watch.tree), 0);
    assert_int_equal(tree_ledger(watch.tree)->reaped_count, 0);
    assert_int_equal(tree_ended_count(watch.tree), 0);
    assert_true(tree_ended_sum(watch.tree).is_whole);
    for (int i = 0; i < 4; i++)
        if (shared->pids[i] != root)
            assert_int_equal(times_told(EVENT_SPAWN, shared->pids[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE_WAY(from_the_connector_nobody_is_lost, by_connector),
        ONE_WAY(from_listings_nobody_that_stays_is_lost, by_listings),
        ONE_WAY(from_listings_nobody_that_stays_is_lost, by_scan),
        ONE_WAY(again_and_again, by_connector),
        ONE_WAY(again_and_again, by_listings),
        ONE_WAY(who_lived_before_is_told_with_its_end, by_connector),
        ONE_WAY(the_sum_of_the_ended_is_not_whole_even_if_nobody_had_ended, by_connector),
        ONE_WAY(what_the_kernel_calls_it_survives_an_event_of_the_connector, by_connector),
        ONE_WAY(lost_events_of_our_programs_are_counted_and_healed, by_bpf),
        ONE_WAY(who_was_lost_by_the_source_before_is_followed_by_the_next, by_connector),
        ONE_WAY(descendants_of_a_program_of_ours_are_no_members, by_bpf),
    };

    return cmocka_run_group_tests(tests, takeover_setup, NULL);
}
