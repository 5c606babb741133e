/* Whose limit it was: recorded groups whose counters rise between the baseline and the verdict. */
#include "probe/oom_watch.h"

#include "cgroup_fixture.h"

#include "base/clock.h"
#include "probe/cgroup/files.h"

static struct cgroup_target target;
static struct oom_watch *watch;
static struct oom_verdict verdict;
static char proc_root[128];

static int reset(void **state)
{
    (void)state;
    target = (struct cgroup_target){0};
    watch = NULL;
    return 0;
}

static int close_all(void **state)
{
    oom_watch_free(watch);
    cgroup_target_close(&target);
    return remove_layout(state);
}

static void put_vmstat(unsigned kills)
{
    char text[128];

    (void)snprintf(text, sizeof(text), "nr_free_pages 1234\npgfault 99\noom_kill %u\nnr_unstable 0\n", kills);
    group_put(proc_root, "vmstat", text);
}

static void inherit(const char *layout)
{
    copy_layout(layout);
    (void)snprintf(proc_root, sizeof(proc_root), "%s/proc", copied);
    put_vmstat(7);
    struct cgroup_place place = copied_place();
    assert_int_equal(cgroup_target_open(&target, &place, CGROUP_MODE_INHERITED, false, NULL), 0);
    assert_int_equal(target.scope, CGROUP_SCOPE_INHERITED);
}

static void begin(void)
{
    watch = oom_watch_new(proc_root, &target);
    assert_non_null(watch);
}

static enum oom_kind now(void)
{
    oom_watch_read(watch, &verdict);
    return verdict.kind;
}

/* The group that metron was started in, or one so many levels above it. */
static const char *group(unsigned above)
{
    static char folder[512];

    (void)snprintf(folder, sizeof(folder), "%s", target.place.spots[CGROUP_MEMORY].folder);
    while (above-- > 0)
        assert_true(cgroup_spot_ascend(&target.place.spots[CGROUP_MEMORY], folder));
    return folder;
}

static void put_number(const char *folder, const char *name, unsigned long long number)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%llu\n", number);
    group_put(folder, name, text);
}

/* v1: `oom_kill` of a group, and its failed charges. */
static void put_v1_kills(const char *folder, unsigned kills)
{
    char text[128];

    (void)snprintf(text, sizeof(text), "oom_kill_disable 0\nunder_oom 0\noom_kill %u\n", kills);
    group_put(folder, "memory.oom_control", text);
}

static void put_v1_failures(const char *folder, unsigned failures)
{
    put_number(folder, "memory.failcnt", failures);
}

/* v2: memory.events (of all below) and memory.events.local (its own limit). */
static void put_v2_events(const char *folder, const char *name, unsigned oom, unsigned kills)
{
    char text[256];

    (void)snprintf(text, sizeof(text), "low 0\nhigh 0\nmax 9\noom %u\noom_kill %u\noom_group_kill 0\n", oom,
                   kills);
    group_put(folder, name, text);
}

/* ---- v1 ---- */

static void nothing_happened(void **state)
{
    (void)state;
    inherit("v1-batch");
    begin();
    assert_int_equal(now(), OOM_NONE);
    assert_int_equal(verdict.kills, 0);
    put_vmstat(8); /* somebody else on the machine */
    assert_int_equal(now(), OOM_NONE);
    put_v1_failures(group(0), 5); /* a limit was hit, and reclaim helped */
    assert_int_equal(now(), OOM_NONE);
}

static void a_v1_group_killed_at_its_own_limit(void **state)
{
    (void)state;
    inherit("v1-batch");
    put_number(group(0), "memory.limit_in_bytes", 1073741824);
    begin();
    put_v1_failures(group(0), 5);
    put_v1_kills(group(0), 3);
    assert_int_equal(now(), OOM_OWN_LIMIT);
    assert_int_equal(verdict.kills, 2);
    assert_int_equal(verdict.limit_bytes, 1073741824);
    assert_string_equal(verdict.group, "/slurm/uid_1000/job_42/step_0/task_0");
}

/* Whether a kill was that of a process that has ended now is told by the time. */
static void a_kill_long_before_the_end_is_not_just_now(void **state)
{
    (void)state;
    inherit("v1-batch");
    begin();
    oom_watch_look(watch);
    put_v1_kills(group(0), 3);
    const uint64_t begin_ns = clock_monotonic_ns();
    assert_int_equal(now(), OOM_HOST);
    assert_true(verdict.just_now); /* since the last look */
    oom_watch_look(watch);
    (void)now();
    /* Who was killed takes a while to go; on a busy machine that while may have passed. */
    assert_true(verdict.just_now || clock_monotonic_ns() - begin_ns >= NS_PER_SECOND / 2);
    (void)usleep(600000);
    (void)now();
    assert_false(verdict.just_now);
    assert_int_equal(verdict.kills, 2);
}

static void a_v1_group_killed_at_the_limit_of_an_ancestor(void **state)
{
    (void)state;
    inherit("v1-batch");
    begin();
    put_v1_failures(group(2), 99); /* job_42; it was 31 at the start */
    put_v1_kills(group(0), 2);
    assert_int_equal(now(), OOM_ANCESTOR_LIMIT);
    assert_int_equal(verdict.kills, 1);
    assert_int_equal(verdict.limit_bytes, 8589934592);
    assert_string_equal(verdict.group, "/slurm/uid_1000/job_42");
}

static void the_nearest_limit_is_told_first(void **state)
{
    (void)state;
    inherit("v1-batch");
    put_number(group(1), "memory.limit_in_bytes", 2147483648);
    begin();
    put_v1_failures(group(1), 1);
    put_v1_failures(group(2), 99);
    put_v1_kills(group(0), 2);
    assert_int_equal(now(), OOM_ANCESTOR_LIMIT);
    assert_string_equal(verdict.group, "/slurm/uid_1000/job_42/step_0");
    assert_int_equal(verdict.limit_bytes, 2147483648);
}

static void killed_without_any_limit_it_was_the_host(void **state)
{
    (void)state;
    inherit("v1-batch");
    begin();
    put_v1_kills(group(0), 2);
    assert_int_equal(now(), OOM_HOST);
    assert_int_equal(verdict.kills, 1);
    assert_int_equal(verdict.limit_bytes, CGROUP_NO_LIMIT);
}

static void put_v1_memsw(const char *folder, unsigned long long limit, unsigned long long most)
{
    put_number(folder, "memory.memsw.limit_in_bytes", limit);
    put_number(folder, "memory.memsw.max_usage_in_bytes", most);
}

/* memory and swap together at the same limit as memory alone: no failure is counted anywhere. */
static void a_limit_of_memory_and_swap_is_known_by_its_high_water_mark(void **state)
{
    (void)state;
    inherit("v1-batch");
    put_v1_memsw(group(2), 8589934592, 4294967296);
    put_v1_memsw(group(1), 9223372036854771712ULL, 4294967296);
    begin();
    put_v1_kills(group(0), 2);
    assert_int_equal(now(), OOM_HOST); /* far from it */
    put_v1_memsw(group(2), 8589934592, 8589934592);
    assert_int_equal(now(), OOM_ANCESTOR_LIMIT);
    assert_string_equal(verdict.group, "/slurm/uid_1000/job_42");
    assert_int_equal(verdict.limit_bytes, 8589934592);
}

static void a_high_water_mark_from_before_proves_nothing(void **state)
{
    (void)state;
    inherit("v1-batch");
    put_v1_memsw(group(2), 8589934592, 8589934592);
    begin();
    put_v1_kills(group(0), 2);
    assert_int_equal(now(), OOM_HOST);
}

static void what_rose_before_the_start_does_not_count(void **state)
{
    (void)state;
    inherit("v1-batch"); /* job_42 has failed 31 times already, and one was killed */
    begin();
    assert_int_equal(now(), OOM_NONE);
    put_v1_kills(group(0), 2);
    assert_int_equal(now(), OOM_HOST);
}

static void a_group_above_that_cannot_be_read_leaves_it_unknown(void **state)
{
    (void)state;
    inherit("v1-batch");
    group_put(group(3), "memory.failcnt", NULL);
    begin();
    put_v1_kills(group(0), 2);
    assert_int_equal(now(), OOM_UNKNOWN);
    put_v1_failures(group(2), 99); /* but a limit that is seen to be hit is known */
    assert_int_equal(now(), OOM_ANCESTOR_LIMIT);
}

static void hidden_ancestors_leave_it_unknown(void **state)
{
    (void)state;
    inherit("container-v1");
    assert_true(target.place.spots[CGROUP_MEMORY].ancestors_hidden);
    put_v1_kills(group(0), 0);
    begin();
    put_v1_kills(group(0), 1);
    assert_int_equal(now(), OOM_UNKNOWN);
    put_number(group(0), "memory.limit_in_bytes", 536870912);
    put_v1_failures(group(0), 1000000);
    assert_int_equal(now(), OOM_OWN_LIMIT);
    assert_int_equal(verdict.limit_bytes, 536870912);
    assert_string_equal(verdict.group, "/");
}

/* ---- v2 ---- */

static void a_v2_group_killed_at_its_own_limit(void **state)
{
    (void)state;
    inherit("v2-5.10"); /* two were killed before */
    begin();
    assert_int_equal(now(), OOM_NONE);
    put_v2_events(group(0), "memory.events", 3, 3);
    put_v2_events(group(0), "memory.events.local", 3, 3);
    assert_int_equal(now(), OOM_OWN_LIMIT);
    assert_int_equal(verdict.kills, 1);
    assert_int_equal(verdict.limit_bytes, 2147483648);
    assert_string_equal(verdict.group, "/system.slice/batch.service");
}

static void a_v2_group_killed_at_the_limit_of_an_ancestor(void **state)
{
    (void)state;
    inherit("v2-6.12");
    begin();
    put_v2_events(group(0), "memory.events", 0, 1);
    put_v2_events(group(0), "memory.events.local", 0, 1);
    put_v2_events(group(2), "memory.events.local", 2, 1);
    assert_int_equal(now(), OOM_ANCESTOR_LIMIT);
    assert_int_equal(verdict.limit_bytes, 4294967296);
    assert_string_equal(verdict.group, "/user.slice/user-1000.slice/user@1000.service");
}

static void the_v2_root_has_no_limit_and_need_not_be_read(void **state)
{
    (void)state;
    inherit("v2-6.12");
    begin();
    put_v2_events(group(0), "memory.events", 0, 1);
    assert_int_equal(now(), OOM_HOST);
    assert_int_equal(verdict.kills, 1);
}

static void a_v2_namespace_hides_whose_limit_it_was(void **state)
{
    (void)state;
    inherit("container-v2");
    begin();
    put_v2_events(group(0), "memory.events", 0, 1);
    assert_int_equal(now(), OOM_UNKNOWN);
}

/* ---- with a leaf ---- */

/* Makes a v1 leaf below the group, as far as this watch looks. */
static const char *make_leaf(void)
{
    struct cgroup_leaf *leaf = &target.leaves[CGROUP_MEMORY];

    *leaf = CGROUP_LEAF_NONE;
    assert_true(asprintf(&leaf->folder, "%s/metron-1", group(0)) > 0);
    assert_int_equal(mkdir(leaf->folder, 0755), 0);
    target.scope = CGROUP_SCOPE_OWN;
    put_v1_kills(leaf->folder, 0);
    put_v1_failures(leaf->folder, 0);
    put_number(leaf->folder, "memory.limit_in_bytes", 9223372036854771712ULL);
    return leaf->folder;
}

/* The folder is no cgroup: its files must go before it. */
static void remove_leaf(void)
{
    static const char *const names[] = {"memory.oom_control", "memory.failcnt", "memory.limit_in_bytes"};

    for (size_t i = 0; i < 3; i++)
        group_put(target.leaves[CGROUP_MEMORY].folder, names[i], NULL);
}

static void kills_are_those_in_the_leaf(void **state)
{
    (void)state;
    inherit("v1-batch");
    const char *leaf = make_leaf();
    begin();
    put_v1_kills(group(0), 9); /* others in the group we were started in */
    put_v1_failures(group(2), 99);
    assert_int_equal(now(), OOM_NONE);
    put_v1_kills(leaf, 1);
    assert_int_equal(now(), OOM_ANCESTOR_LIMIT);
    assert_int_equal(verdict.kills, 1);
    remove_leaf();
}

static void the_limit_of_the_group_it_was_started_in_is_its_own(void **state)
{
    (void)state;
    inherit("v1-batch");
    put_number(group(0), "memory.limit_in_bytes", 1073741824);
    const char *leaf = make_leaf();
    begin();
    put_v1_kills(leaf, 1);
    put_v1_failures(leaf, 4); /* a leaf without a limit fails for the group above */
    put_v1_failures(group(0), 4);
    assert_int_equal(now(), OOM_OWN_LIMIT);
    assert_int_equal(verdict.limit_bytes, 1073741824);
    assert_string_equal(verdict.group, "/slurm/uid_1000/job_42/step_0/task_0");
    remove_leaf();
}

static void a_limit_that_is_no_more_is_still_the_nearest_ones(void **state)
{
    (void)state;
    inherit("v1-batch");
    const char *leaf = make_leaf();
    begin();
    put_v1_kills(leaf, 1);
    put_v1_failures(leaf, 4);
    put_v1_failures(group(1), 4); /* neither has a limit now */
    assert_int_equal(now(), OOM_OWN_LIMIT);
    assert_int_equal(verdict.limit_bytes, CGROUP_NO_LIMIT);
    remove_leaf();
}

/* ---- the machine only ---- */

static void without_a_group_the_machine_tells_that_somebody_was_killed(void **state)
{
    (void)state;
    copy_layout("v1-batch");
    (void)snprintf(proc_root, sizeof(proc_root), "%s/proc", copied);
    put_vmstat(7);
    watch = oom_watch_new(proc_root, NULL);
    assert_non_null(watch);
    assert_int_equal(now(), OOM_NONE);
    put_vmstat(8);
    assert_int_equal(now(), OOM_ON_MACHINE);
    assert_int_equal(verdict.kills, 0); /* not known whose */
    assert_int_equal(verdict.limit_bytes, CGROUP_NO_LIMIT);
}

static void a_group_that_is_switched_off_is_not_read(void **state)
{
    (void)state;
    copy_layout("v1-batch");
    (void)snprintf(proc_root, sizeof(proc_root), "%s/proc", copied);
    put_vmstat(7);
    struct cgroup_place place = copied_place();
    assert_int_equal(cgroup_target_open(&target, &place, CGROUP_MODE_OFF, false, NULL), 0);
    begin();
    put_v1_kills(target.place.spots[CGROUP_MEMORY].folder, 2);
    assert_int_equal(now(), OOM_NONE);
    put_vmstat(8);
    assert_int_equal(now(), OOM_ON_MACHINE);
}

static void a_kernel_that_does_not_count_kills_of_a_group_leaves_the_machine(void **state)
{
    (void)state;
    inherit("v1-batch");
    group_put(group(0), "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n"); /* before Linux 4.13 */
    begin();
    put_v1_failures(group(2), 99);
    assert_int_equal(now(), OOM_NONE);
    put_vmstat(8);
    assert_int_equal(now(), OOM_ON_MACHINE);
}

static void nothing_to_read_is_no_verdict(void **state)
{
    (void)state;
    watch = oom_watch_new("/nowhere", NULL);
    assert_non_null(watch);
    assert_int_equal(now(), OOM_NONE);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, reset, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_happened),
        TEST(a_v1_group_killed_at_its_own_limit),
        TEST(a_v1_group_killed_at_the_limit_of_an_ancestor),
        TEST(the_nearest_limit_is_told_first),
        TEST(killed_without_any_limit_it_was_the_host),
        TEST(a_limit_of_memory_and_swap_is_known_by_its_high_water_mark),
        TEST(a_high_water_mark_from_before_proves_nothing),
        TEST(what_rose_before_the_start_does_not_count),
        TEST(a_group_above_that_cannot_be_read_leaves_it_unknown),
        TEST(hidden_ancestors_leave_it_unknown),
        TEST(a_v2_group_killed_at_its_own_limit),
        TEST(a_v2_group_killed_at_the_limit_of_an_ancestor),
        TEST(the_v2_root_has_no_limit_and_need_not_be_read),
        TEST(a_v2_namespace_hides_whose_limit_it_was),
        TEST(kills_are_those_in_the_leaf),
        TEST(the_limit_of_the_group_it_was_started_in_is_its_own),
        TEST(a_limit_that_is_no_more_is_still_the_nearest_ones),
        TEST(without_a_group_the_machine_tells_that_somebody_was_killed),
        TEST(a_group_that_is_switched_off_is_not_read),
        TEST(a_kernel_that_does_not_count_kills_of_a_group_leaves_the_machine),
        TEST(a_kill_long_before_the_end_is_not_just_now),
        TEST(nothing_to_read_is_no_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
