/* Control groups of jobs: recorded ones of v1, v2 and both, and real ones where they can be made. */
#include "jobs_fixture.h"

#include "cgroup_fixture.h"
#include "daemon/jobs/cgroup.h"
#include "probe/cgroup/group.h"
#include "probe/cgroup/members.h"
#include "probe/cgroup/target.h"

#define PID 4711

static struct job_cgroup *cgroup;
static char folders[4][512];

static int fixture_teardown(void **state)
{
    job_cgroup_close(cgroup);
    cgroup = NULL;
    return remove_layout(state);
}

/* A group of the copied layout, empty but for its members; its folder. */
static const char *add_group(int number, const char *folder, const char *members)
{
    char path[600];

    (void)snprintf(folders[number], sizeof(folders[number]), "%s/sys/fs/cgroup/%s", copied, folder);
    (void)snprintf(path, sizeof(path), "mkdir -p '%s'", folders[number]);
    assert_int_equal(system(path), 0);
    group_put(folders[number], "cgroup.procs", members);
    return folders[number];
}

/* Process PID is where `lines` say, as /proc/PID/cgroup has them. */
static void add_process(const char *lines)
{
    char folder[128];

    (void)snprintf(folder, sizeof(folder), "%s/proc/%d", copied, PID);
    assert_int_equal(mkdir(folder, 0755), 0);
    group_put(folder, "cgroup", lines);
}

static int open_it(void)
{
    char proc[128];

    (void)snprintf(proc, sizeof(proc), "%s/proc", copied);
    why = (struct metron_error){0};
    cgroup = job_cgroup_open(proc, copied, PID, &why);
    return cgroup ? 0 : why.code;
}

struct pids {
    pid_t pids[4096];
    int count;
};

static void note_pid(void *context, pid_t pid)
{
    struct pids *pids = context;

    assert_true(pids->count < 4096);
    pids->pids[pids->count++] = pid;
}

static int read_members(const struct cgroup_members *members, struct pids *out)
{
    struct strbuf scratch = STRBUF_INIT;

    out->count = 0;
    int code = cgroup_members_read(members, &scratch, note_pid, out);
    strbuf_fini(&scratch);
    return code;
}

/* ---- which group, and what it counts ---- */

static void hybrid_leaf(void)
{
    copy_layout("hybrid-6.18");
    add_process("8:pids:/metron-99\n4:memory:/jobs/55d64081/metron-99\n2:cpuacct:/\n0::/metron-99\n");
    const char *unified = add_group(0, "unified/metron-99", "4711\n4712\n");
    group_put(unified, "cpu.stat", "usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\n");
    const char *memory = add_group(1, "memory/jobs/55d64081/metron-99", "4711\n");
    group_put(memory, "memory.max_usage_in_bytes", "8192\n");
    group_put(memory, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    (void)add_group(2, "pids/metron-99", "4711\n");
}

static void a_hybrid_host_counts_cpu_in_v2_and_memory_in_v1(void **state)
{
    struct job_usage usage = {0};
    struct pids pids;

    (void)state;
    hybrid_leaf();
    assert_int_equal(open_it(), 0);
    assert_string_equal(cgroup->folder, folders[0]);
    job_cgroup_take(cgroup, &usage);
    assert_int_equal(usage.present,
                     USAGE_BIT(USAGE_CGROUP_CPU) | USAGE_BIT(USAGE_PEAK_CGROUP) | USAGE_BIT(USAGE_OOM_KILLS));
    assert_near(usage.numbers[USAGE_CGROUP_CPU], 1.5, 1e-9); /* and not the root group's, where cpuacct is */
    assert_int_equal(usage.numbers[USAGE_PEAK_CGROUP], 8192);
    assert_int_equal(usage.numbers[USAGE_OOM_KILLS], 2);
    assert_int_equal(read_members(&cgroup->members, &pids), 2);
    assert_int_equal(pids.pids[1], 4712);
}

/* Another metron may sweep a leaf away just after it was made: then it is made again with a number. */
static void a_leaf_with_a_number_is_the_jobs_as_well(void **state)
{
    static const struct {
        const char *name;
        bool is_own;
    } cases[] = {{"metron-99-2", true}, {"metron-99-2x", false}, {"metron-999", false}, {"task_0", false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job_usage usage = {0};
        char text[128];
        copy_layout("hybrid-6.18");
        (void)snprintf(text, sizeof(text), "4:memory:/jobs/55d64081/%s\n2:cpuacct:/\n0::/metron-99\n",
                       cases[i].name);
        add_process(text);
        const char *unified = add_group(0, "unified/metron-99", "4711\n4712\n");
        group_put(unified, "cpu.stat", "usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\n");
        (void)snprintf(text, sizeof(text), "memory/jobs/55d64081/%s", cases[i].name);
        group_put(add_group(1, text, "4711\n"), "memory.max_usage_in_bytes", "8192\n");
        assert_int_equal(open_it(), 0);
        assert_string_equal(cgroup->folder, folders[cases[i].is_own ? 0 : 1]);
        job_cgroup_take(cgroup, &usage);
        assert_true(usage_has(&usage, USAGE_PEAK_CGROUP));
        assert_int_equal(usage_has(&usage, USAGE_CGROUP_CPU), cases[i].is_own);
        (void)fixture_teardown(state);
    }
}

static void a_v2_host_counts_all_in_one_group(void **state)
{
    struct job_usage usage = {0};
    const char *leaf = "/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1f2.scope/metron-99";
    char text[256];

    (void)state;
    copy_layout("v2-6.12");
    (void)snprintf(text, sizeof(text), "0::%s\n", leaf);
    add_process(text);
    const char *folder = add_group(0, leaf + 1, "4711\n");
    group_put(folder, "cpu.stat", "usage_usec 2500000\nuser_usec 1\nsystem_usec 1\n");
    group_put(folder, "memory.current", "1024\n"); /* the controller is there */
    group_put(folder, "memory.peak", "4096\n");
    group_put(folder, "memory.events", "low 0\nhigh 0\nmax 0\noom 1\noom_kill 1\n");
    assert_int_equal(open_it(), 0);
    job_cgroup_take(cgroup, &usage);
    assert_near(usage.numbers[USAGE_CGROUP_CPU], 2.5, 1e-9);
    assert_int_equal(usage.numbers[USAGE_PEAK_CGROUP], 4096);
    assert_int_equal(usage.numbers[USAGE_OOM_KILLS], 1);
}

/* The quota may be that of a group above, which has been there for longer. */
static void periods_count_from_when_the_group_was_announced(void **state)
{
    struct job_usage usage = {0};

    (void)state;
    copy_layout("v2-6.12");
    add_process("0::/other.slice/leaf\n");
    const char *leaf = add_group(0, "other.slice/leaf", "");
    group_put(leaf, "cpu.max", "50000 100000\n");
    group_put(leaf, "memory.max", "65536\n");
    group_put(leaf, "cpu.stat", "usage_usec 1\nnr_periods 9\nnr_throttled 8\nthrottled_usec 7\n");
    assert_int_equal(open_it(), 0);
    job_cgroup_go_on(cgroup, &usage, true);
    group_put(leaf, "cpu.stat", "usage_usec 1\nnr_periods 19\nnr_throttled 11\nthrottled_usec 7\n");
    job_cgroup_take(cgroup, &usage);
    assert_true(usage_has(&usage, USAGE_CPU_PERIODS) && usage_has(&usage, USAGE_CPU_THROTTLED_PERIODS));
    assert_int_equal(usage.numbers[USAGE_CPU_PERIODS], 10);
    assert_int_equal(usage.numbers[USAGE_CPU_THROTTLED_PERIODS], 3);
    assert_int_equal(usage.numbers[USAGE_MEMORY_LIMIT], 65536);
}

/* In v2 a leaf has a controller's files only where that was handed down. */
static void what_no_controller_counts_is_absent(void **state)
{
    struct job_usage usage = {0};

    (void)state;
    copy_layout("v2-6.12");
    add_process("0::/other.slice/leaf\n");
    group_put(add_group(0, "other.slice/leaf", ""), "cpu.stat", "usage_usec 1000000\n");
    assert_int_equal(open_it(), 0);
    job_cgroup_take(cgroup, &usage);
    assert_int_equal(usage.present, USAGE_BIT(USAGE_CGROUP_CPU));
}

/* Of a step of a batch system the leaf is memory's alone: its CPU is counted with that of others. */
static void a_group_of_another_name_is_not_the_jobs(void **state)
{
    struct job_usage usage = {0};
    struct pids pids;

    (void)state;
    copy_layout("v1-batch");
    add_process(
        "10:pids:/other\n8:memory:/slurm/uid_1000/job_42/step_0/task_0/metron-99\n4:cpu,cpuacct:/other\n");
    const char *memory = add_group(0, "memory/slurm/uid_1000/job_42/step_0/task_0/metron-99", "4711\n");
    group_put(memory, "memory.max_usage_in_bytes", "8192\n");
    group_put(add_group(1, "cpu,cpuacct/other", "1\n4711\n"), "cpuacct.usage", "99000000000\n");
    (void)add_group(2, "pids/other", "1\n4711\n");
    assert_int_equal(open_it(), 0);
    assert_string_equal(cgroup->folder, folders[0]);
    job_cgroup_take(cgroup, &usage);
    /* The limit is that of the job's group above it. */
    assert_int_equal(usage.present, USAGE_BIT(USAGE_PEAK_CGROUP) | USAGE_BIT(USAGE_MEMORY_LIMIT));
    assert_int_equal(read_members(&cgroup->members, &pids), 1);
}

static void groups_that_others_are_in_are_refused(void **state)
{
    static const struct {
        const char *layout, *lines, *reason;
    } cases[] = {
        {"hybrid-6.18", "8:pids:/\n4:memory:/\n2:cpuacct:/\n0::/\n", "root group"},
        {"hybrid-6.18", "8:pids:/\n4:memory:/jobs/55d64081\n0::/\n", "the daemon is in its group"},
        {"hybrid-6.18", "4:memory:/jobs\n0::/\n", "the daemon is in its group, or below it"},
        {"v2-6.12", "0::/\n", "root group"},
        {"v2-6.12", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1f2.scope\n",
         "the daemon is in its group"},
        {"v2-6.12", "0::/user.slice\n", "or below it"},
        {"v2-6.12", "0::/gone\n", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        copy_layout(cases[i].layout);
        add_process(cases[i].lines);
        assert_true(open_it() < 0);
        assert_null(cgroup);
        assert_true(why.message[0] != '\0');
        if (cases[i].reason && !strstr(why.message, cases[i].reason))
            fail_msg("%zu: %s", i, why.message);
        assert_int_equal(remove_layout(state), 0);
    }
}

static void a_name_that_begins_alike_is_another_group(void **state)
{
    (void)state;
    copy_layout("hybrid-6.18");
    add_process("4:memory:/jobs/55d6\n0::/\n");
    (void)add_group(0, "memory/jobs/55d6", "4711\n");
    assert_int_equal(open_it(), 0);
    assert_string_equal(cgroup->folder, folders[0]);
}

static void of_a_group_that_is_gone_the_last_is_known(void **state)
{
    struct job_usage usage = {0};

    (void)state;
    hybrid_leaf();
    assert_int_equal(open_it(), 0);
    job_cgroup_take(cgroup, &usage);
    group_put(folders[0], "cpu.stat", "");
    group_put(folders[1], "memory.max_usage_in_bytes", "");
    group_put(folders[1], "memory.oom_control", "");
    job_cgroup_take(cgroup, &usage);
    assert_near(usage.numbers[USAGE_CGROUP_CPU], 1.5, 1e-9);
    assert_int_equal(usage.numbers[USAGE_PEAK_CGROUP], 8192);
    assert_int_equal(usage.numbers[USAGE_OOM_KILLS], 2);
}

static void a_second_try_is_added_to_the_first(void **state)
{
    struct job_usage usage = {
        .present = USAGE_BIT(USAGE_CGROUP_CPU) | USAGE_BIT(USAGE_OOM_KILLS),
        .numbers = {[USAGE_CGROUP_CPU] = 10, [USAGE_OOM_KILLS] = 7, [USAGE_PEAK_CGROUP] = 9000}};

    (void)state;
    hybrid_leaf();
    assert_int_equal(open_it(), 0);
    job_cgroup_go_on(cgroup, &usage, false);
    job_cgroup_take(cgroup, &usage);
    assert_near(usage.numbers[USAGE_CGROUP_CPU], 10, 1e-9);
    group_put(folders[0], "cpu.stat", "usage_usec 2000000\nuser_usec 1000000\nsystem_usec 500000\n");
    group_put(folders[1], "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    job_cgroup_take(cgroup, &usage);
    assert_near(usage.numbers[USAGE_CGROUP_CPU], 10.5, 1e-9);
    assert_int_equal(usage.numbers[USAGE_OOM_KILLS], 8);
    assert_int_equal(usage.numbers[USAGE_PEAK_CGROUP], 9000);
}

static void what_no_group_counted_before_is_not_completed_by_one(void **state)
{
    struct job_usage usage = {.present = USAGE_BIT(USAGE_CPU), .numbers = {[USAGE_CPU] = 10}};

    (void)state;
    hybrid_leaf();
    assert_int_equal(open_it(), 0);
    job_cgroup_go_on(cgroup, &usage, false);
    job_cgroup_take(cgroup, &usage);
    assert_int_equal(usage.present, USAGE_BIT(USAGE_CPU));
}

/* ---- members ---- */

static void half_a_number_and_other_namespaces_are_passed_over(void **state)
{
    struct cgroup_members members;
    struct pids pids;

    (void)state;
    copy_layout("v2-6.12");
    const char *folder = add_group(0, "some", "0\n12\n0\n99999999999\n13\n4");
    assert_int_equal(cgroup_members_open(&members, folder, 2), 0);
    assert_int_equal(read_members(&members, &pids), 2);
    assert_int_equal(pids.pids[0], 12);
    assert_int_equal(pids.pids[1], 13);
    group_put(folder, "cgroup.procs", "");
    assert_int_equal(read_members(&members, &pids), 0);
    cgroup_members_close(&members);
    cgroup_members_close(&members);
    assert_int_equal(cgroup_members_open(&members, "/nowhere", 2), -ENOENT);
}

/* The kernel gives the list page by page. */
static void a_long_list_is_read_whole(void **state)
{
    struct cgroup_members members;
    struct strbuf text = STRBUF_INIT;
    struct pids pids;

    (void)state;
    copy_layout("v2-6.12");
    for (int pid = 30001; pid <= 33000; pid++)
        strbuf_addf(&text, "%d\n", pid);
    const char *folder = add_group(0, "some", strbuf_text(&text));
    for (int version = 1; version <= 2; version++) {
        assert_int_equal(cgroup_members_open(&members, folder, version), 0);
        assert_int_equal(read_members(&members, &pids), 3000);
        assert_int_equal(pids.pids[2999], 33000);
        if (version == 1) {
            group_put(folder, "cgroup.procs", NULL);
            assert_int_equal(read_members(&members, &pids), -ENODEV);
            group_put(folder, "cgroup.procs", strbuf_text(&text));
        }
        cgroup_members_close(&members);
    }
    strbuf_fini(&text);
}

/* ---- this machine's ---- */

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

/* Who began the job could name a group that others are in as well. */
static void another_users_process_does_not_join_by_the_group(void **state)
{
    make_leaf(state);
    pid_t first = start_waiting(1), second = start_waiting(2);
    const struct job_start of_another = {
        .job_id = "a", .pid = first, .own_cgroup = true, .owner = getuid() + 1};
    move_in(first);
    assert_int_equal(jobs_start(jobs, &of_another, &why), 0);
    assert_int_equal(found("a")->own_cgroup, OWN_CGROUP_HELD);
    move_in(second);
    look_around();
    assert_ptr_equal(jobs_of_process(jobs, first), found("a"));
    assert_null(jobs_of_process(jobs, second));
    assert_int_equal(finish("a"), 0);
    assert_int_equal(jobs_start(jobs, &of_another, &why), 0);
    assert_int_equal(found("a")->own_cgroup, OWN_CGROUP_REFUSED); /* what it counts is not the job's alone */
    assert_int_equal(finish("a"), 0);
    jobs_note_one_user(jobs);
    assert_int_equal(jobs_start(jobs, &of_another, &why), 0);
    assert_int_equal(found("a")->own_cgroup, OWN_CGROUP_HELD);
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

#define RECORDED(NAME) cmocka_unit_test_teardown(NAME, fixture_teardown)
#define ONE_LEAF(NAME, WAY)                                                                                  \
    {                                                                                                        \
#NAME "_" #WAY, NAME, watch_setup, leaf_teardown, &(WAY)                                             \
    }
#define LEAF_WAYS(NAME) ONE_LEAF(NAME, by_bpf), ONE_LEAF(NAME, by_scan)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORDED(a_hybrid_host_counts_cpu_in_v2_and_memory_in_v1),
        cmocka_unit_test(a_leaf_with_a_number_is_the_jobs_as_well),
        RECORDED(a_v2_host_counts_all_in_one_group),
        RECORDED(periods_count_from_when_the_group_was_announced),
        RECORDED(what_no_controller_counts_is_absent),
        RECORDED(a_group_of_another_name_is_not_the_jobs),
        RECORDED(groups_that_others_are_in_are_refused),
        RECORDED(a_name_that_begins_alike_is_another_group),
        RECORDED(of_a_group_that_is_gone_the_last_is_known),
        RECORDED(a_second_try_is_added_to_the_first),
        RECORDED(what_no_group_counted_before_is_not_completed_by_one),
        RECORDED(half_a_number_and_other_namespaces_are_passed_over),
        RECORDED(a_long_list_is_read_whole),
        LEAF_WAYS(whoever_is_moved_into_a_jobs_group_is_the_jobs),
        LEAF_WAYS(another_users_process_does_not_join_by_the_group),
        LEAF_WAYS(a_sheets_group_takes_from_the_job_alone),
        LEAF_WAYS(this_process_group_is_nobodys_own),
        LEAF_WAYS(a_group_is_found_again_after_a_restart),
        LEAF_WAYS(a_try_without_a_group_is_not_counted_by_groups),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
