/* Control groups of jobs: recorded ones of v1, v2 and both. */
#include "jobs_fixture.h"

#include "cgroup_fixture.h"
#include "daemon/jobs/cgroup.h"
#include "probe/cgroup/group.h"
#include "probe/cgroup/members.h"

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

#define RECORDED(NAME) cmocka_unit_test_teardown(NAME, fixture_teardown)

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
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
