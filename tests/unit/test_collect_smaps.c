/* When smaps looks, at whom, and when a total is one. */
#include "smaps_fixture.h"

#include <pthread.h>

/* SLACK_BYTES: memory of the test itself, most of it a sanitizer's. Too little to hide what counts twice. */
enum { HELD_BYTES = 24 << 20, SLACK_BYTES = HELD_BYTES / 2 };

static char *touch(size_t bytes, int flags)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        _exit(95);
    memset(memory, 1, bytes);
    return memory;
}

static void fork_body(void (*body)(void))
{
    pid_t pid = fork();

    if (pid < 0)
        _exit(94);
    if (pid == 0) {
        body();
        _exit(0);
    }
}

static void body_wait(void)
{
    say();
    wait_for_go(OVER);
}

/* ---- values ---- */

static char *common;

static void body_share(void)
{
    for (size_t i = 0; i < HELD_BYTES; i += 4096)
        common[i] = 2;
    body_wait();
}

static void body_workers(void)
{
    common = touch(HELD_BYTES, MAP_SHARED);
    for (int i = 0; i < 3; i++)
        fork_body(body_share);
    body_wait();
}

static void memory_that_all_share_counts_once_in_the_sum(void **state)
{
    watch_tree(state);
    start_root(body_workers);
    await_said(4);
    look();
    assert_int_equal(with.pass.count, 4);
    assert_true(has_total());
    double pss = 0, rss = 0;
    for (size_t i = 0; i < 4; i++) {
        const struct row *row = &with.pass.rows[i];
        double share = held(row, "smaps_pss");
        assert_true(share >= HELD_BYTES / 4.0 && share < HELD_BYTES / 4.0 + SLACK_BYTES);
        assert_true(held(row, "smaps_uss") < SLACK_BYTES); /* nobody has it alone */
        pss += share;
        rss += (double)who(row->subject.id)->stat.rss_pages * (double)sysconf(_SC_PAGESIZE);
    }
    assert_true(rss >= 4.0 * HELD_BYTES);
    double total = held(&with.pass.single, "smaps_pss_total");
    assert_true(fabs(total - pss) < 1);
    assert_true(total >= HELD_BYTES && total < HELD_BYTES + SLACK_BYTES);
    assert_true(skipped() < 0.5);
}

static void body_private(void)
{
    (void)touch(HELD_BYTES, MAP_PRIVATE);
    body_wait();
}

static void memory_of_one_is_its_own(void **state)
{
    watch_tree(state);
    pid_t root = start_root(body_private);
    await_said(1);
    look();
    double uss = held(row_of(root), "smaps_uss");
    assert_true(uss >= HELD_BYTES && uss < HELD_BYTES + SLACK_BYTES);
    assert_true(held(row_of(root), "smaps_pss") >= uss);
    assert_true(fabs(held(&with.pass.single, "smaps_uss_total") - uss) < 1);
    assert_true(held(row_of(root), "smaps_swap") >= 0);
}

static void body_exec(void)
{
    say();
    wait_for_go(1);
    (void)execl("/bin/sleep", "sleep", "30", (char *)NULL);
    _exit(93);
}

static void a_program_that_executes_another_is_read_on(void **state)
{
    watch_tree(state);
    pid_t root = start_root(body_exec);
    await_said(1);
    look();
    look();
    assert_true(has_total());
    let_go(1);
    for (int ms = 0; ms < PATIENCE_MS; ms++) {
        sleep_seconds(0.001);
        tree_refresh(watch.tree);
        if (who(root) && strcmp(who(root)->stat.comm, "sleep") == 0)
            break;
    }
    look();
    assert_true(held(row_of(root), "smaps_pss") > 0);
    assert_true(has_total());
}

static void body_vfork(void)
{
    (void)touch(HELD_BYTES, MAP_PRIVATE);
    /* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): it is what is tested */
    if (vfork() == 0) {
        say(); /* the parent waits until this child executes or ends */
        wait_for_go(OVER);
        _exit(0);
    }
    _exit(0);
}

static void memory_lent_to_a_vforked_child_counts_once(void **state)
{
    watch_tree(state);
    pid_t root = start_root(body_vfork);
    await_said(1);
    look();
    assert_int_equal(tree_living(watch.tree), 2);
    assert_int_equal(with.pass.count, 1);
    assert_true(held(row_of(root), "smaps_pss") >= HELD_BYTES);
    double total = held(&with.pass.single, "smaps_pss_total");
    assert_true(total >= HELD_BYTES && total < HELD_BYTES + SLACK_BYTES);
    assert_true(skipped() < 0.5);
}

/* ---- holes ---- */

static void body_pair(void)
{
    fork_body(body_wait);
    body_private();
}

static void one_too_large_is_passed_over_and_leaves_no_total(void **state)
{
    watch_tree(state);
    with.tuning.smaps_limit_bytes = HELD_BYTES;
    pid_t root = start_root(body_pair);
    await_said(2);
    look();
    assert_int_equal(with.pass.count, 1);
    assert_null(row_of(root));
    assert_false(has_total());
    assert_true(fabs(skipped() - 1) < 0.5);
    look();
    assert_true(fabs(skipped() - 2) < 0.5);
    with.tuning.smaps_limit_bytes = (uint64_t)NO_LIMIT_GIB << 30;
    look();
    assert_true(has_total());
    assert_true(fabs(skipped() - 2) < 0.5);
}

static void without_time_nobody_is_read(void **state)
{
    watch_tree(state);
    with.tuning.smaps_budget = 0;
    start_root(body_pair);
    await_said(2);
    look();
    assert_int_equal(with.pass.count, 0);
    assert_false(has_total());
    assert_true(fabs(skipped() - 2) < 0.5);
    with.tuning.smaps_budget = 60;
    with.tuning.sample_interval = 1e-9; /* half a sample is the most that a pass may take */
    look();
    assert_int_equal(with.pass.count, 0);
}

static void too_slow_a_speed_is_not_believed_for_ever(void **state)
{
    watch_tree(state);
    pid_t root = start_root(body_private);
    await_said(1);
    with.tuning.smaps_budget = 0.0005; /* 24 MiB would take 0.6 ms at the speed that is taken for granted */
    look();
    assert_null(row_of(root));
    assert_false(has_total());
    for (int passes = 0; passes < 1000 && !row_of(root); passes++)
        look();
    assert_non_null(row_of(root));
}

static void body_large_child(void)
{
    fork_body(body_private);
    body_wait();
}

static void who_had_no_time_is_the_first_in_the_next_pass(void **state)
{
    watch_tree(state);
    pid_t root = start_root(body_large_child);
    await_said(2);
    with.tuning.smaps_budget = 0.0005;
    look();
    assert_int_equal(tree_count(watch.tree), 2);
    pid_t child = tree_process(watch.tree, 1)->subject.id;
    assert_null(row_of(child));
    with.tuning.smaps_budget = 60;
    look();
    assert_int_equal(with.pass.rows[0].subject.id, child);
    assert_int_equal(with.pass.count, 2);
    look();
    assert_int_equal(with.pass.rows[0].subject.id, root);
}

static void body_zombie(void)
{
    fork_body(say);
    body_wait();
}

static void a_zombie_holds_nothing_and_spoils_nothing(void **state)
{
    watch_tree(state);
    start_root(body_zombie);
    await_said(2);
    for (int ms = 0; ms < PATIENCE_MS && tree_zombies(watch.tree) == 0; ms++) {
        sleep_seconds(0.001);
        tree_refresh(watch.tree);
    }
    assert_int_equal(tree_zombies(watch.tree), 1);
    look();
    assert_int_equal(with.pass.count, 1);
    assert_true(has_total());
    assert_true(skipped() < 0.5);
}

static void what_one_shared_that_ends_meanwhile_is_in_no_sum(void **state)
{
    watch_tree(state);
    start_root(body_wait);
    pid_t orphan = start(body_wait); /* a child of ours is one that we adopted */
    await_said(2);
    tree_refresh(watch.tree);
    assert_non_null(who(orphan));
    assert_int_equal(kill(orphan, SIGKILL), 0);
    assert_int_equal(waitpid(orphan, NULL, 0), orphan);
    assert_int_equal(pass_after(1, PASS_SAMPLE), 0);
    assert_int_equal(with.pass.count, 1);
    assert_false(has_total()); /* of no instant; the one that lives on is told all the same */
    assert_true(skipped() < 0.5);
    tree_refresh(watch.tree);
    assert_int_equal(pass_after(2, PASS_SAMPLE), 0); /* and the next sample looks again */
    assert_true(has_total());
}

static void a_sum_of_no_instant_is_tried_again_before_the_interval(void **state)
{
    watch_tree(state);
    with.tuning.sample_interval = 1;
    with.tuning.smaps_interval = 0; /* five samples */
    start_root(body_wait);
    pid_t orphan = start(body_wait);
    await_said(2);
    tree_refresh(watch.tree);
    assert_int_equal(pass_after(1, PASS_SAMPLE), 0);
    assert_true(has_total());
    assert_int_equal(kill(orphan, SIGKILL), 0);
    assert_int_equal(waitpid(orphan, NULL, 0), orphan);
    assert_int_equal(pass_after(5, PASS_SAMPLE), 0);
    assert_false(has_total());
    tree_refresh(watch.tree);
    assert_int_equal(pass_after(1, PASS_SAMPLE), 0); /* although it has not grown */
    assert_true(has_total());
    assert_int_equal(pass_after(1, PASS_SAMPLE), COLLECT_NOT_DUE);
}

static void *other_thread(void *argument)
{
    (void)argument;
    wait_for_go(OVER);
    _exit(0);
}

static void body_leader_leaves(void)
{
    pthread_t other;

    say();
    if (pthread_create(&other, NULL, other_thread, NULL) != 0)
        _exit(92);
    pthread_exit(NULL);
}

static void one_whose_first_thread_left_is_a_hole(void **state)
{
    watch_tree(state);
    pid_t root = start_root(body_leader_leaves);
    await_said(1);
    for (int ms = 0; ms < PATIENCE_MS; ms++) {
        sleep_seconds(0.001);
        tree_refresh(watch.tree);
        if (who(root) && who(root)->stat.state == 'Z')
            break;
    }
    assert_int_equal(tree_living(watch.tree), 1);
    look();
    assert_int_equal(with.pass.count, 0);
    assert_false(has_total());
    assert_true(fabs(skipped() - 1) < 0.5);
}

static void body_hidden(void)
{
    if (prctl(PR_SET_DUMPABLE, 0) != 0)
        _exit(91);
    body_wait();
}

static void one_that_hides_its_memory_is_a_hole(void **state)
{
    if (geteuid() == 0) {
        print_message("nothing is hidden from root\n");
        skip();
    }
    watch_tree(state);
    (void)start_root(body_wait);
    (void)start(body_hidden);
    await_said(2);
    look();
    assert_int_equal(tree_living(watch.tree), 2);
    assert_int_equal(with.pass.count, 1);
    assert_false(has_total());
    assert_true(fabs(skipped() - 1) < 0.5);
}

/* ---- when ---- */

static void body_grow(void)
{
    (void)touch(HELD_BYTES, MAP_PRIVATE);
    say();
    for (int step = 1; step < 3; step++) {
        wait_for_go(step);
        if (is_over())
            return;
        (void)touch(HELD_BYTES, MAP_PRIVATE);
        say();
    }
    wait_for_go(OVER);
}

static void a_pass_is_due_after_the_interval_or_when_the_target_grew(void **state)
{
    watch_tree(state);
    with.tuning.sample_interval = 1;
    with.tuning.smaps_interval = 0; /* five samples */
    start_root(body_grow);
    await_said(1);
    tree_refresh(watch.tree);
    assert_int_equal(pass_after(1, PASS_SAMPLE), 0); /* the first */
    assert_int_equal(pass_after(1, PASS_SAMPLE), COLLECT_NOT_DUE);
    assert_int_equal(pass_after(3.4, PASS_SAMPLE), COLLECT_NOT_DUE);
    assert_int_equal(pass_after(0.59, PASS_SAMPLE), 0); /* ticks are a little early at times */
    assert_int_equal(pass_after(1, PASS_SAMPLE), COLLECT_NOT_DUE);
    for (int step = 1; step < 3; step++) {
        let_go(step);
        await_said(step + 1);
        tree_refresh(watch.tree);
        assert_int_equal(pass_after(0.1, PASS_SAMPLE), 0);
        assert_true(held(&with.pass.single, "smaps_pss_total") >= (1.0 + step) * HELD_BYTES);
        assert_int_equal(pass_after(0.1, PASS_SAMPLE), COLLECT_NOT_DUE);
    }
    with.tuning.smaps_interval = 0.2; /* shorter than a sample: at every one */
    assert_int_equal(pass_after(0.1, PASS_SAMPLE), 0);
}

static void before_and_after_the_run_only_the_counter_is_told(void **state)
{
    watch_tree(state);
    assert_int_equal(pass_after(0, PASS_SEED), 0);
    assert_true(skipped() < 0.5);
    assert_false(has_total());
    with.tuning.smaps_budget = 0;
    start_root(body_wait);
    await_said(1);
    look();
    assert_int_equal(pass_after(0.1, PASS_FINAL), 0);
    assert_true(fabs(skipped() - 1) < 0.5);
    assert_int_equal(with.pass.count, 0);
    assert_false(has_total());
}

/* ---- where ---- */

static void a_survey_says_whether_and_why_not(void **state)
{
    (void)state;
    const char *reasons[64] = {NULL};

    with.context.proc_root = METRON_FIXTURES "/linux-6.18/proc";
    with.tuning.smaps = false;
    collector_smaps.survey(&with.context, reasons);
    assert_non_null(strstr(reasons[0], "--no-smaps"));
    memset(reasons, 0, sizeof(reasons));
    with.tuning.smaps = true;
    collector_smaps.survey(&with.context, reasons);
    for (unsigned i = 0; i < 64; i++)
        assert_null(reasons[i]);
    with.context.proc_root = "/nonexistent";
    collector_smaps.survey(&with.context, reasons);
    for (unsigned i = 0; i < collector_smaps.source.field_count; i++)
        assert_non_null(strstr(reasons[i], "4.14"));
    assert_null(reasons[collector_smaps.source.field_count]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE(memory_that_all_share_counts_once_in_the_sum),
        BY(by_connector, memory_that_all_share_counts_once_in_the_sum),
        BY(by_scan, memory_that_all_share_counts_once_in_the_sum),
        LIVE(memory_of_one_is_its_own),
        LIVE(a_program_that_executes_another_is_read_on),
        LIVE(memory_lent_to_a_vforked_child_counts_once),
        LIVE(one_too_large_is_passed_over_and_leaves_no_total),
        LIVE(without_time_nobody_is_read),
        LIVE(too_slow_a_speed_is_not_believed_for_ever),
        LIVE(who_had_no_time_is_the_first_in_the_next_pass),
        LIVE(a_zombie_holds_nothing_and_spoils_nothing),
        LIVE(what_one_shared_that_ends_meanwhile_is_in_no_sum),
        LIVE(a_sum_of_no_instant_is_tried_again_before_the_interval),
        LIVE(one_whose_first_thread_left_is_a_hole),
        LIVE(one_that_hides_its_memory_is_a_hole),
        LIVE(a_pass_is_due_after_the_interval_or_when_the_target_grew),
        LIVE(before_and_after_the_run_only_the_counter_is_told),
        LIVE(a_survey_says_whether_and_why_not),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
