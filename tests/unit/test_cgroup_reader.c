/* What a group counts: every fact of recorded v1 and v2 layouts, and of a leaf on this machine. */
#include "probe/cgroup/reader.h"

#include "cgroup_fixture.h"

#include <math.h>
#include <sys/mman.h>

#include "../workloads/workload.h"

static struct cgroup_target target;
static struct cgroup_reader *reader;
static struct cgroup_facts facts;
static const char *reasons[CGROUP_FACT_COUNT];

#define ALL (CGROUP_FACT(CGROUP_FACT_COUNT) - 1)

static int reset(void **state)
{
    (void)state;
    target = (struct cgroup_target){0};
    reader = NULL;
    return 0;
}

static int close_all(void **state)
{
    cgroup_reader_free(reader);
    reader = NULL;
    cgroup_target_close(&target);
    return remove_layout(state);
}

/* The group metron was started in, of a recorded layout. */
static void inherit(const char *layout)
{
    copy_layout(layout);
    struct cgroup_place place = copied_place();
    assert_int_equal(cgroup_target_open(&target, &place, CGROUP_MODE_INHERITED, false, NULL), 0);
}

/* Makes the group of a recorded v2 layout the target's own leaf, with the controllers that it has. */
static void own(const char *layout)
{
    inherit(layout);
    const char *folder = target.place.spots[CGROUP_UNIFIED].folder;
    target.scope = CGROUP_SCOPE_OWN;
    target.why_not_own = NULL;
    target.leaves[CGROUP_UNIFIED] = CGROUP_LEAF_NONE;
    target.leaves[CGROUP_UNIFIED].folder = strdup(folder);
    target.reasons[CGROUP_CPUACCT] = "CPU time is counted in the v2 leaf";
    target.reasons[CGROUP_CPU] = "a leaf of the cpu controller would change scheduling";
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        target.in_unified[i] = target.place.spots[i].version == 2;
        if (!target.in_unified[i] && i != CGROUP_UNIFIED && !target.reasons[i])
            target.reasons[i] = target.place.spots[i].reason;
    }
}

static void read_wanted(uint32_t wanted)
{
    if (!reader)
        reader = cgroup_reader_new(&target, wanted);
    assert_non_null(reader);
    cgroup_reader_read(reader, &facts);
}

static void survey(void)
{
    cgroup_reader_survey(&target, reasons);
}

static bool has(enum cgroup_fact fact)
{
    return facts.present >> fact & 1;
}

static void fact_is(enum cgroup_fact fact, double wanted)
{
    if (!has(fact))
        fail_msg("fact %d is absent", (int)fact);
    if (fabs(facts.values[fact] - wanted) > 1e-9 * (wanted + 1))
        fail_msg("fact %d is %.9g, not %.9g", (int)fact, facts.values[fact], wanted);
}

/* Absent, and the survey said so, for this reason. */
static void lacks(enum cgroup_fact fact, const char *reason)
{
    assert_false(has(fact));
    if (!reasons[fact] || !strstr(reasons[fact], reason))
        fail_msg("fact %d: '%s' does not say '%s'", (int)fact, reasons[fact] ? reasons[fact] : "(no reason)",
                 reason);
}

static const char *group(enum cgroup_controller controller)
{
    return target.place.spots[controller].folder;
}

/* ---- recorded ---- */

static void every_fact_of_a_v2_group_is_read(void **state)
{
    (void)state;
    inherit("v2-5.10");
    survey();
    read_wanted(ALL);
    fact_is(CGROUP_MEM_CURRENT, 640000000);
    fact_is(CGROUP_MEM_ANON, 401390080);
    fact_is(CGROUP_MEM_SHMEM, 4194304);
    fact_is(CGROUP_MEM_FILE, 202653184);
    fact_is(CGROUP_CPU_SECONDS, 11.8653);
    fact_is(CGROUP_CPU_USER_SECONDS, 9.0012);
    fact_is(CGROUP_CPU_SYSTEM_SECONDS, 2.8641);
    fact_is(CGROUP_THROTTLED_SECONDS, 3.05122);
    fact_is(CGROUP_OOM_KILLS, 2);
    fact_is(CGROUP_OOM_EVENTS, 2);
    fact_is(CGROUP_READ_BYTES, 1459200 + 90430464);
    fact_is(CGROUP_WRITE_BYTES, 314773504 + 299008000);
    fact_is(CGROUP_PSI_CPU_SOME, 0.812345);
    fact_is(CGROUP_PSI_MEMORY_SOME, 0.001234);
    fact_is(CGROUP_PSI_MEMORY_FULL, 0.000987);
    fact_is(CGROUP_PSI_IO_SOME, 33.337974);
    fact_is(CGROUP_PSI_IO_FULL, 22.27437);
}

static void an_older_kernel_says_what_it_lacks(void **state)
{
    (void)state;
    inherit("v2-5.10");
    survey();
    read_wanted(ALL);
    lacks(CGROUP_MEM_PEAK, "5.19");
    lacks(CGROUP_MEM_INTERVAL_PEAK, "own leaf");
    lacks(CGROUP_PIDS_PEAK, "6.1");
    for (unsigned fact = 0; fact < CGROUP_FACT_COUNT; fact++)
        if (fact != CGROUP_PSI_CPU_FULL) /* the next test's */
            assert_int_equal(has((enum cgroup_fact)fact), reasons[fact] == NULL);
}

static void pressure_without_a_full_line_lacks_it_with_a_reason(void **state)
{
    (void)state;
    inherit("v2-5.10");
    survey();
    read_wanted(ALL);
    assert_true(has(CGROUP_PSI_CPU_SOME));
    lacks(CGROUP_PSI_CPU_FULL, "5.13");
}

static void every_fact_of_a_v1_group_is_read(void **state)
{
    (void)state;
    inherit("v1-batch");
    survey();
    read_wanted(ALL);
    fact_is(CGROUP_MEM_CURRENT, 6434062336.0);
    fact_is(CGROUP_MEM_ANON, 4286578688.0);
    fact_is(CGROUP_MEM_SHMEM, 524288000);
    fact_is(CGROUP_MEM_FILE, 2147483648.0);
    fact_is(CGROUP_OOM_KILLS, 1);
    fact_is(CGROUP_READ_BYTES, 2 * 1459200);
    fact_is(CGROUP_WRITE_BYTES, 2.0 * 314773504);
    fact_is(CGROUP_THROTTLED_SECONDS, 0); /* of the root group: there is no other */
    lacks(CGROUP_OOM_EVENTS, "v1 does not count");
    lacks(CGROUP_MEM_INTERVAL_PEAK, "own leaf"); /* others would lose their peak */
    lacks(CGROUP_PIDS_PEAK, "6.1");
    lacks(CGROUP_CPU_SECONDS, "root group");
    lacks(CGROUP_CPU_USER_SECONDS, "root group");
    lacks(CGROUP_CPU_SYSTEM_SECONDS, "root group");
    lacks(CGROUP_PSI_CPU_SOME, "not mounted");
    lacks(CGROUP_PSI_IO_FULL, "not mounted");
}

static void a_v1_group_counts_those_below_it(void **state)
{
    (void)state;
    inherit("v1-batch");
    group_put(group(CGROUP_MEMORY), "memory.stat",
              "cache 1\nrss 2\nshmem 3\ntotal_cache 10\ntotal_rss 20\ntotal_shmem 30\n");
    read_wanted(ALL);
    fact_is(CGROUP_MEM_FILE, 10);
    fact_is(CGROUP_MEM_ANON, 20);
    fact_is(CGROUP_MEM_SHMEM, 30);
}

static void cpuacct_counts_where_there_is_no_v2(void **state)
{
    (void)state;
    inherit("container-v1");
    target.place.spots[CGROUP_UNIFIED].version = 0; /* its line is there, its mount is not */
    survey();
    read_wanted(ALL);
    assert_null(reasons[CGROUP_CPU_SECONDS]);
    char path[600], text[64];
    (void)snprintf(path, sizeof(path), "%s/cpuacct.usage", group(CGROUP_CPUACCT));
    ssize_t length = file_read(AT_FDCWD, path, text, sizeof(text) - 1);
    assert_true(length > 0);
    text[length] = '\0';
    fact_is(CGROUP_CPU_SECONDS, (double)strtoll(text, NULL, 10) * 1e-9);
    assert_true(facts.values[CGROUP_CPU_USER_SECONDS] + facts.values[CGROUP_CPU_SYSTEM_SECONDS] <=
                facts.values[CGROUP_CPU_SECONDS] * 1.001);
}

static void the_root_group_of_a_hybrid_host_tells_nothing_of_the_target(void **state)
{
    (void)state;
    inherit("hybrid-6.18");
    survey();
    read_wanted(ALL);
    lacks(CGROUP_CPU_SECONDS, "root group");
    lacks(CGROUP_PSI_CPU_SOME, "root group");
    lacks(CGROUP_READ_BYTES, "root group");
    fact_is(CGROUP_MEM_CURRENT, 4472832);
    fact_is(CGROUP_MEM_ANON, 2031616);
    fact_is(CGROUP_MEM_SHMEM, 4096);
    fact_is(CGROUP_OOM_KILLS, 0);
}

static void a_peak_of_an_inherited_v1_group_counts_once_it_has_grown(void **state)
{
    (void)state;
    inherit("v1-batch");
    survey();
    assert_null(reasons[CGROUP_MEM_PEAK]);
    read_wanted(ALL);
    assert_false(has(CGROUP_MEM_PEAK)); /* it may be as old as the group */
    group_put(group(CGROUP_MEMORY), "memory.max_usage_in_bytes", "8581545984\n");
    read_wanted(ALL);
    assert_false(has(CGROUP_MEM_PEAK));
    group_put(group(CGROUP_MEMORY), "memory.max_usage_in_bytes", "8589934592\n");
    read_wanted(ALL);
    fact_is(CGROUP_MEM_PEAK, 8589934592.0);
    read_wanted(ALL);
    fact_is(CGROUP_MEM_PEAK, 8589934592.0); /* and stays */
}

static void a_peak_of_an_inherited_v2_group_counts_once_it_has_grown(void **state)
{
    (void)state;
    inherit("v2-6.12");
    assert_int_equal(chmod(copied, 0755), 0);
    if (!become_ordinary_user()) { /* whoever may write could reset it */
        print_message("only root can become somebody else\n");
        skip();
    }
    survey();
    reader = cgroup_reader_new(&target, ALL);
    become_root();
    read_wanted(ALL);
    lacks(CGROUP_MEM_INTERVAL_PEAK, "own leaf");
    assert_false(has(CGROUP_MEM_PEAK));
    assert_false(has(CGROUP_PIDS_PEAK));
    group_put(group(CGROUP_MEMORY), "memory.peak", "524288001\n");
    group_put(group(CGROUP_PIDS), "pids.peak", "18\n");
    read_wanted(ALL);
    fact_is(CGROUP_MEM_PEAK, 524288001);
    fact_is(CGROUP_PIDS_PEAK, 18);
}

/* A plain file takes what is written to it, as memory.peak does from Linux 6.12; what a peak is then, we
 * write. */
static void a_peak_that_was_reset_begins_with_the_run(void **state)
{
    (void)state;
    own("v2-6.12");
    survey();
    assert_null(reasons[CGROUP_MEM_INTERVAL_PEAK]);
    reader = cgroup_reader_new(&target, ALL);
    assert_non_null(reader);
    group_put(group(CGROUP_MEMORY), "memory.peak", "1000\n");
    cgroup_reader_read(reader, &facts);
    fact_is(CGROUP_MEM_PEAK, 1000);
    fact_is(CGROUP_MEM_INTERVAL_PEAK, 1000);
    group_put(group(CGROUP_MEMORY), "memory.peak", "700\n");
    cgroup_reader_read(reader, &facts);
    fact_is(CGROUP_MEM_INTERVAL_PEAK, 700);
    fact_is(CGROUP_MEM_PEAK, 1000); /* the largest is kept */
}

/* Others may watch it, and a reset would take from them what they had. */
static void the_peak_of_a_group_that_is_not_ours_alone_is_never_reset(void **state)
{
    (void)state;
    inherit("v2-6.12");
    survey();
    assert_non_null(strstr(reasons[CGROUP_MEM_INTERVAL_PEAK], "own leaf"));
    reader = cgroup_reader_new(&target, ALL);
    assert_non_null(reader);
    cgroup_reader_read(reader, &facts);
    assert_false(has(CGROUP_MEM_INTERVAL_PEAK));
    assert_false(has(CGROUP_MEM_PEAK)); /* older than the run */
}

static void a_peak_of_an_own_group_is_the_runs_from_the_start(void **state)
{
    (void)state;
    own("v2-6.12");
    read_wanted(CGROUP_FACT(CGROUP_MEM_PEAK) | CGROUP_FACT(CGROUP_PIDS_PEAK));
    fact_is(CGROUP_MEM_PEAK, 524288000);
    fact_is(CGROUP_PIDS_PEAK, 17);
}

static void only_what_is_wanted_is_read(void **state)
{
    (void)state;
    inherit("v2-5.10");
    read_wanted(CGROUP_FACT(CGROUP_MEM_ANON) | CGROUP_FACT(CGROUP_CPU_SECONDS));
    assert_true(has(CGROUP_MEM_ANON));
    assert_true(has(CGROUP_CPU_SECONDS));
    assert_false(has(CGROUP_MEM_CURRENT));
    assert_false(has(CGROUP_READ_BYTES));
    assert_false(has(CGROUP_PSI_IO_SOME));
}

static void throttling_is_that_of_the_nearest_quota(void **state)
{
    (void)state;
    inherit("v2-5.10");
    char slice[512];
    (void)snprintf(slice, sizeof(slice), "%s", group(CGROUP_CPU));
    *strrchr(slice, '/') = '\0';
    group_put(slice, "cpu.max", "200000 100000\n");
    group_put(slice, "cpu.stat",
              "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 9\nnr_throttled 8\n"
              "throttled_usec 7000000\n");
    read_wanted(ALL);
    fact_is(CGROUP_THROTTLED_SECONDS, 7); /* the group itself has none */
    fact_is(CGROUP_PERIODS, 9);
    fact_is(CGROUP_THROTTLED_PERIODS, 8);
    fact_is(CGROUP_CPU_SECONDS, 11.8653); /* of the target's group all the same */
    cgroup_reader_free(reader);
    reader = NULL;
    group_put(group(CGROUP_CPU), "cpu.max", "50000 100000\n");
    read_wanted(ALL);
    fact_is(CGROUP_THROTTLED_SECONDS, 3.05122);
}

static void a_quota_above_binds_a_group_without_the_cpu_controller(void **state)
{
    (void)state;
    inherit("v2-6.12"); /* cpu.max is in user-1000.slice; from there on down the controller is off */
    char slice[512];
    (void)snprintf(slice, sizeof(slice), "%s/sys/fs/cgroup/user.slice/user-1000.slice", copied);
    group_put(slice, "cpu.stat",
              "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 9\nnr_throttled 8\n"
              "throttled_usec 7000000\n");
    survey();
    read_wanted(ALL);
    assert_null(reasons[CGROUP_THROTTLED_SECONDS]);
    fact_is(CGROUP_THROTTLED_SECONDS, 7);
}

static void a_file_that_goes_bad_costs_its_own_facts(void **state)
{
    (void)state;
    inherit("v2-5.10");
    read_wanted(ALL);
    group_put(group(CGROUP_MEMORY), "memory.stat", "not what the kernel writes\n");
    group_put(group(CGROUP_MEMORY), "memory.current", "many\n");
    group_put(group(CGROUP_UNIFIED), "io.pressure", "");
    read_wanted(ALL);
    assert_false(has(CGROUP_MEM_ANON));
    assert_false(has(CGROUP_MEM_SHMEM));
    assert_false(has(CGROUP_MEM_CURRENT));
    assert_false(has(CGROUP_PSI_IO_SOME));
    fact_is(CGROUP_OOM_KILLS, 2);
    fact_is(CGROUP_CPU_SECONDS, 11.8653);
}

static void a_group_without_the_file_says_so(void **state)
{
    (void)state;
    inherit("v2-5.10");
    group_put(group(CGROUP_UNIFIED), "memory.pressure", NULL); /* CONFIG_PSI is off, or psi=0 */
    group_put(group(CGROUP_IO), "io.stat", NULL);
    survey();
    read_wanted(ALL);
    lacks(CGROUP_PSI_MEMORY_SOME, "does not have this file");
    lacks(CGROUP_READ_BYTES, "does not have this file");
    assert_true(has(CGROUP_PSI_IO_SOME));
}

static void a_controller_without_a_leaf_says_why(void **state)
{
    (void)state;
    own("v2-5.10");
    target.in_unified[CGROUP_MEMORY] = false;
    target.reasons[CGROUP_MEMORY] = "only in a delegated group";
    survey();
    read_wanted(ALL);
    lacks(CGROUP_MEM_CURRENT,
          "only in a delegated group"); /* not read from the group above: it holds others */
    lacks(CGROUP_MEM_ANON, "only in a delegated group");
    lacks(CGROUP_OOM_KILLS, "only in a delegated group");
    fact_is(CGROUP_CPU_SECONDS, 11.8653);
    fact_is(CGROUP_READ_BYTES, 1459200 + 90430464);
}

/* ---- this machine ---- */

static void open_own_leaf(void)
{
    struct cgroup_place place = live_place();
    struct metron_error error = {0};

    if (cgroup_target_open(&target, &place, CGROUP_MODE_OWN, false, &error) < 0) {
        print_message("%s\n", error.message);
        skip();
    }
}

static void a_look_tells_the_reasons_that_a_run_has(void **state)
{
    const char *looked[CGROUP_FACT_COUNT];
    struct cgroup_place place = live_place();

    (void)state;
    assert_int_equal(cgroup_target_open(&target, &place, CGROUP_MODE_AUTO, true, NULL), 0);
    survey();
    memcpy(looked, reasons, sizeof(looked));
    bool own_leaf = target.scope == CGROUP_SCOPE_OWN;
    cgroup_target_close(&target);
    place = live_place();
    assert_int_equal(cgroup_target_open(&target, &place, CGROUP_MODE_AUTO, false, NULL), 0);
    survey();
    for (unsigned fact = 0; fact < CGROUP_FACT_COUNT; fact++) {
        /* Whether a kernel has a file is known only once the leaf is there. */
        bool unknowable = own_leaf && reasons[fact] && strstr(reasons[fact], "the kernel");
        if (!unknowable && (looked[fact] == NULL) != (reasons[fact] == NULL))
            fail_msg("fact %u: a look says '%s', a run '%s'", fact,
                     looked[fact] ? looked[fact] : "it can be had",
                     reasons[fact] ? reasons[fact] : "it can be had");
    }
}

/* In the leaf: holds memory for a moment, then uses CPU, then waits for the pipe to be closed. */
static void member(int go_fd, int told_fd, size_t bytes)
{
    char byte;
    char *spike = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (spike == MAP_FAILED)
        _exit(1);
    memset(spike, 1, bytes);
    (void)munmap(spike, bytes);
    burn_process(0.1);
    (void)!write(told_fd, "", 1);
    (void)!read(go_fd, &byte, 1);
    _exit(0);
}

static void an_own_leaf_counts_what_happened_in_it(void **state)
{
    const size_t bytes = 64UL << 20;
    int join_fds[CGROUP_CONTROLLER_COUNT], go[2], told[2];
    char byte;

    (void)state;
    open_own_leaf();
    survey();
    reader = cgroup_reader_new(&target, ALL);
    assert_non_null(reader);
    size_t count = cgroup_target_entrances(&target, join_fds);
    if (target.leaves[CGROUP_UNIFIED].folder)
        join_fds[count++] = target.leaves[CGROUP_UNIFIED].join_fd;
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(told), 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (size_t i = 0; i < count; i++)
            if (write(join_fds[i], "0", 1) != 1)
                _exit(1);
        (void)close(go[1]);
        member(go[0], told[1], bytes);
    }
    assert_int_equal(read(told[0], &byte, 1), 1);
    cgroup_reader_read(reader, &facts);
    for (unsigned fact = 0; fact < CGROUP_FACT_COUNT; fact++)
        assert_int_equal(has((enum cgroup_fact)fact), reasons[fact] == NULL);
    bool memory = has(CGROUP_MEM_PEAK), interval = has(CGROUP_MEM_INTERVAL_PEAK);
    if (memory) {
        assert_true(facts.values[CGROUP_MEM_PEAK] >= (double)bytes);
        assert_true(facts.values[CGROUP_MEM_CURRENT] < (double)bytes / 2);
        assert_true(facts.values[CGROUP_MEM_ANON] <= facts.values[CGROUP_MEM_CURRENT]);
        fact_is(CGROUP_OOM_KILLS, 0);
    }
    if (interval)
        assert_true(facts.values[CGROUP_MEM_INTERVAL_PEAK] >= (double)bytes);
    if (has(CGROUP_PIDS_PEAK))
        fact_is(CGROUP_PIDS_PEAK, 1);
    assert_true(has(CGROUP_CPU_SECONDS));
    assert_true(facts.values[CGROUP_CPU_SECONDS] >= 0.099 && facts.values[CGROUP_CPU_SECONDS] < 5);
    double peak = facts.values[CGROUP_MEM_PEAK], cpu = facts.values[CGROUP_CPU_SECONDS];

    (void)close(go[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    cgroup_reader_read(reader, &facts); /* nobody is left, and nothing is lost */
    if (memory)
        assert_true(facts.values[CGROUP_MEM_PEAK] >= peak);
    if (interval) /* since the reading before, not since the start */
        assert_true(facts.values[CGROUP_MEM_INTERVAL_PEAK] < (double)bytes / 2);
    assert_true(facts.values[CGROUP_CPU_SECONDS] >= cpu);
    (void)close(go[0]);
    (void)close(told[0]);
    (void)close(told[1]);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, reset, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_fact_of_a_v2_group_is_read),
        TEST(an_older_kernel_says_what_it_lacks),
        TEST(pressure_without_a_full_line_lacks_it_with_a_reason),
        TEST(every_fact_of_a_v1_group_is_read),
        TEST(a_v1_group_counts_those_below_it),
        TEST(cpuacct_counts_where_there_is_no_v2),
        TEST(the_root_group_of_a_hybrid_host_tells_nothing_of_the_target),
        TEST(a_peak_of_an_inherited_v1_group_counts_once_it_has_grown),
        TEST(a_peak_of_an_inherited_v2_group_counts_once_it_has_grown),
        TEST(a_peak_that_was_reset_begins_with_the_run),
        TEST(the_peak_of_a_group_that_is_not_ours_alone_is_never_reset),
        TEST(a_peak_of_an_own_group_is_the_runs_from_the_start),
        TEST(only_what_is_wanted_is_read),
        TEST(throttling_is_that_of_the_nearest_quota),
        TEST(a_quota_above_binds_a_group_without_the_cpu_controller),
        TEST(a_file_that_goes_bad_costs_its_own_facts),
        TEST(a_group_without_the_file_says_so),
        TEST(a_controller_without_a_leaf_says_why),
        TEST(a_look_tells_the_reasons_that_a_run_has),
        TEST(an_own_leaf_counts_what_happened_in_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
