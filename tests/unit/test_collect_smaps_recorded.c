/* smaps over recorded processes, which can be made to answer late. */
#include "smaps_fixture.h"

#include <fcntl.h>

static void watch_recorded(const char *root)
{
    struct tree_options options = tree_options_for(TREE_LISTINGS);

    assert_int_equal(kernel_facts_read(root, &watch.facts), 0);
    options.proc_root = with.context.proc_root = root;
    options.reaps = options.read_clock = false;
    watch_with(&options, TREE_LISTINGS);
    with.context.tree = watch.tree;
    with.tuning = at_every_sample;
    assert_int_equal(collector_smaps.open(&with.context, COST_SMAPS, &with.state), 0);
    assert_int_equal(tree_add_root(watch.tree, 19135), 0);
}

static void a_recorded_tree_is_read(void **state)
{
    (void)state;
    watch_recorded(METRON_FIXTURES "/linux-6.18/proc");
    look();
    double sum = 0;
    for (size_t i = 0; i < with.pass.count; i++)
        sum += held(&with.pass.rows[i], "smaps_pss");
    assert_true(fabs(held(row_of(19135), "smaps_pss") - 189 * 1024) < 1);
    assert_true(fabs(held(row_of(19142), "smaps_pss") - 131 * 1024) < 1);
    assert_true(fabs(held(&with.pass.single, "smaps_pss_total") - sum) < 1);
}

static char copy[64];

/* Has a lease on what is read first: the reader has to wait until it is given back. */
static void body_that_keeps_a_reader_waiting(void)
{
    char path[128];
    sigset_t broken;
    int number;

    (void)snprintf(path, sizeof(path), "%s/proc/19135/smaps_rollup", copy);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    (void)sigemptyset(&broken);
    (void)sigaddset(&broken, SIGIO);
    (void)sigprocmask(SIG_BLOCK, &broken, NULL);
    atomic_store(&shared->counts[0], fcntl(fd, F_SETLEASE, F_WRLCK) == 0);
    say();
    (void)sigwait(&broken, &number);
    sleep_seconds(0.1);
    (void)fcntl(fd, F_SETLEASE, F_UNLCK);
}

/* A pass whose first read has to wait for 0.1 s. */
static void look_and_wait(double budget)
{
    char command[256];

    (void)strcpy(copy, "/tmp/metron-smaps-XXXXXX");
    assert_non_null(mkdtemp(copy));
    (void)snprintf(command, sizeof(command), "cp -r '%s/linux-6.18/proc' %s", METRON_FIXTURES, copy);
    assert_int_equal(system(command), 0);
    (void)strcat(copy, "/proc");
    watch_recorded(copy);
    *strrchr(copy, '/') = '\0';
    start(body_that_keeps_a_reader_waiting);
    await_said(1);
    bool has_lease = atomic_load(&shared->counts[0]);
    with.tuning.smaps_budget = budget;
    if (has_lease)
        look();
    (void)snprintf(command, sizeof(command), "rm -rf %s", copy);
    assert_int_equal(system(command), 0);
    if (!has_lease) {
        print_message("skip: no lease on a file in /tmp\n");
        skip();
    }
}

static void a_read_that_waited_has_not_used_up_the_time(void **state)
{
    (void)state;
    look_and_wait(0.05);
    assert_true(has_total());
    assert_true(skipped() < 0.5);
}

static void a_pass_that_waits_for_ten_times_its_budget_ends(void **state)
{
    (void)state;
    look_and_wait(0.005);
    assert_false(has_total());
    assert_true(skipped() > 0.5);
    assert_non_null(row_of(19135));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE(a_recorded_tree_is_read),
        LIVE(a_read_that_waited_has_not_used_up_the_time),
        LIVE(a_pass_that_waits_for_ten_times_its_budget_ends),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
