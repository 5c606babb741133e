/* Control groups of jobs: real ones, where they can be made. */
#include "jobs_fixture.h"

#include "cgroup_fixture.h"
#include "probe/cgroup/group.h"
#include "probe/cgroup/target.h"

static struct cgroup_target target;

/* A leaf of this process's own, as `metron run` makes it. */
static void make_leaf(void **state)
{
    struct cgroup_place place = live_place();

    begin(state);
    assert_int_equal(cgroup_target_open(&target, &place, CGROUP_MODE_AUTO, false, NULL), 0);
    if (target.scope != CGROUP_SCOPE_OWN) {
        print_message("no group can be made here: %s\n", target.why_not_own);
        skip();
    }
}

static int leaf_teardown(void **state)
{
    int code = jobs_teardown(state);

    if (target.scope)
        cgroup_target_close(&target);
    return code;
}

/* Moves a process that runs already. */
static void move_in(pid_t pid)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", (int)pid);
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        if (target.leaves[i].folder)
            assert_int_equal(cgroup_group_write(target.leaves[i].folder, "cgroup.procs", text), 0);
}

static int start_owning(const char *name, pid_t pid)
{
    const struct job_start start_options = {.job_id = name, .pid = pid, .own_cgroup = true};

    return jobs_start(jobs, &start_options, &why);
}

static pid_t start_waiting(int said)
{
    pid_t pid = start(body_that_waits);

    await_said(said);
    return pid;
}

static void look_around(void)
{
    tree_refresh(watch.tree);
    jobs_end_pass(jobs);
}

static void whoever_is_moved_into_a_jobs_group_is_the_jobs(void **state)
{
    make_leaf(state);
    pid_t first = start_waiting(1), second = start_waiting(2), third = start_waiting(3);
    move_in(first);
    assert_int_equal(start_owning("a", first), 0);
    assert_int_equal(found("a")->own_cgroup, OWN_CGROUP_HELD);
    assert_int_equal(start_job("b", third), 0);
    look_around();
    assert_null(jobs_of_process(jobs, second));
    move_in(second);
    move_in(third);
    look_around();
    assert_ptr_equal(jobs_of_process(jobs, second), found("a"));
    assert_int_equal(process_of(second)->membership, MEMBER_BY_CGROUP);
    assert_int_equal(process_of(first)->membership, MEMBER_BY_DESCENT);
    assert_ptr_equal(jobs_of_process(jobs, third), found("b")); /* it had one */
    assert_int_equal(finish("a"), 0);
    assert_true(found("a")->usage.present & USAGE_BIT(USAGE_CGROUP_CPU));
    let_go(1);
}

/* Its count has nothing of one that was moved out of it, or never was in it. */
static void with_a_member_outside_the_group_counts_a_lower_bound(void **state)
{
    make_leaf(state);
    pid_t first = start_waiting(1), second = start_waiting(2);
    double seconds;
    bool is_low;
    move_in(first);
    assert_int_equal(start_owning("a", first), 0);
    tick();
    assert_string_equal(job_usage_cpu(&found("a")->usage, &seconds, &is_low), "cgroup_cpu_seconds");
    assert_false(is_low);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, second), 0);
    tick();
    assert_true(usage_has(&found("a")->usage, USAGE_LEFT_CGROUP));
    const char *method = job_usage_cpu(&found("a")->usage, &seconds, &is_low);
    assert_true(is_low || strcmp(method, "proc_cpu_seconds") == 0); /* the ledger, where it misses nothing */
    let_go(1);
}

static enum own_cgroup start_for_another(pid_t pid)
{
    const struct job_start options = {.job_id = "a", .pid = pid, .own_cgroup = true, .owner = getuid() + 1};

    assert_int_equal(jobs_start(jobs, &options, &why), 0);
    return found("a")->own_cgroup;
}

static void another_users_process_that_no_pass_has_seen_is_noticed(void **state)
{
    make_leaf(state);
    pid_t first = start_waiting(1);
    move_in(first);
    move_in(start_waiting(2));
    assert_int_equal(start_for_another(first), OWN_CGROUP_REFUSED);
    let_go(1);
}

/* Who began the job could name a group that others are in as well. */
static void another_users_process_does_not_join_by_the_group(void **state)
{
    make_leaf(state);
    pid_t first = start_waiting(1), second = start_waiting(2);
    move_in(first);
    assert_int_equal(start_for_another(first), OWN_CGROUP_HELD);
    move_in(second);
    look_around();
    assert_ptr_equal(jobs_of_process(jobs, first), found("a"));
    assert_null(jobs_of_process(jobs, second));
    assert_int_equal(finish("a"), 0);
    assert_int_equal(start_for_another(first),
                     OWN_CGROUP_REFUSED); /* what it counts is not the job's alone */
    assert_int_equal(finish("a"), 0);
    jobs_note_one_user(jobs);
    assert_int_equal(start_for_another(first), OWN_CGROUP_HELD);
    look_around();
    assert_ptr_equal(jobs_of_process(jobs, second), found("a"));
    let_go(1);
}

static void a_sheets_group_takes_from_the_job_alone(void **state)
{
    make_leaf(state);
    pid_t first = start_waiting(1), second = start_waiting(2);
    move_in(first);
    move_in(second);
    assert_int_equal(start_job("a", second), 0);
    assert_int_equal(jobs_sheet(jobs, "a", 1, SHEET_EVENT_STARTED,
                                &(struct sheet_start){.pid = first, .own_cgroup = true}, NULL, &why),
                     0);
    look_around();
    assert_true(process_of(second)->group->has_sheet);
    assert_int_equal(process_of(second)->membership, MEMBER_BY_CGROUP);
    /* One group, one sheet. */
    assert_int_equal(jobs_sheet(jobs, "a", 2, SHEET_EVENT_STARTED,
                                &(struct sheet_start){.pid = first, .own_cgroup = true}, NULL, &why),
                     0);
    assert_int_equal(found("a")->sheets[1].own_cgroup, OWN_CGROUP_REFUSED);
    assert_int_equal(start_owning("b", first), 0);
    assert_int_equal(found("b")->own_cgroup, OWN_CGROUP_REFUSED);
    let_go(1);
}

static void this_process_group_is_nobodys_own(void **state)
{
    make_leaf(state);
    assert_int_equal(start_owning("a", getpid()), 0);
    assert_int_equal(found("a")->own_cgroup, OWN_CGROUP_REFUSED);
    tick();
    assert_false(found("a")->usage.present & USAGE_BIT(USAGE_CGROUP_CPU));
    assert_int_equal(jobs_sheet(jobs, "a", 1, SHEET_EVENT_STARTED,
                                &(struct sheet_start){.pid = getpid(), .own_cgroup = false}, NULL, &why),
                     0);
    assert_int_equal(found("a")->sheets[0].own_cgroup, OWN_CGROUP_NOT_TOLD);
}

static void body_that_waits_longer(void)
{
    say();
    wait_for_go(3);
}

static void a_group_is_found_again_after_a_restart(void **state)
{
    make_leaf(state);
    pid_t pid = start(body_burn_at_every_step);
    await_said(1);
    move_in(pid);
    assert_int_equal(start_owning("a", pid), 0);
    step(1);
    tick();
    struct job stored = *changed("a");
    stored.id = "a";
    assert_near(stored.usage.numbers[USAGE_CGROUP_CPU], STEP, look);
    jobs_free(jobs);
    step(2); /* the daemon is away */
    jobs = jobs_new(watch.tree);
    assert_non_null(jobs);
    assert_int_equal(jobs_restore(jobs, &stored), 0);
    assert_int_equal(found("a")->own_cgroup, OWN_CGROUP_HELD);
    tick();
    assert_near(found("a")->usage.numbers[USAGE_CGROUP_CPU], 2 * STEP, look);
    pid_t other = start(body_that_waits_longer);
    await_said(4);
    move_in(other);
    look_around();
    assert_ptr_equal(jobs_of_process(jobs, other), found("a"));
    let_go(3);
}

static void a_try_without_a_group_is_not_counted_by_groups(void **state)
{
    make_leaf(state);
    pid_t pid = start_waiting(1);
    move_in(pid);
    assert_int_equal(start_job("a", 0), 0);
    assert_int_equal(jobs_sheet(jobs, "a", 1, SHEET_EVENT_STARTED,
                                &(struct sheet_start){.pid = pid, .own_cgroup = true}, NULL, &why),
                     0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_FAILED, 0), 0);
    assert_true(found("a")->sheets[0].usage.present & USAGE_BIT(USAGE_CGROUP_CPU));
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, pid), 0);
    tick();
    assert_false(found("a")->sheets[0].usage.present & USAGE_BIT(USAGE_CGROUP_CPU));
    assert_true(found("a")->sheets[0].usage.present & USAGE_BIT(USAGE_CPU));
    let_go(1);
}

#define ONE_LEAF(NAME, WAY)                                                                                  \
    {                                                                                                        \
#NAME "_" #WAY, NAME, watch_setup, leaf_teardown, &(WAY)                                             \
    }
#define LEAF_WAYS(NAME) ONE_LEAF(NAME, by_bpf), ONE_LEAF(NAME, by_scan)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LEAF_WAYS(whoever_is_moved_into_a_jobs_group_is_the_jobs),
        LEAF_WAYS(with_a_member_outside_the_group_counts_a_lower_bound),
        LEAF_WAYS(another_users_process_that_no_pass_has_seen_is_noticed),
        LEAF_WAYS(another_users_process_does_not_join_by_the_group),
        LEAF_WAYS(a_sheets_group_takes_from_the_job_alone),
        LEAF_WAYS(this_process_group_is_nobodys_own),
        LEAF_WAYS(a_group_is_found_again_after_a_restart),
        LEAF_WAYS(a_try_without_a_group_is_not_counted_by_groups),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
