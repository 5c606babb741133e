/* cgroup, and what the ledger misses: keys of recorded groups and of a leaf on this machine. */
#include "collectors_fixture.h"

#include "cgroup_fixture.h"

#include "probe/cgroup/reader.h"

static struct cgroup_target target;

static int cgroup_setup(void **state)
{
    target = (struct cgroup_target){0};
    return readings_setup(state);
}

static int cgroup_teardown(void **state)
{
    int code = readings_teardown(state);

    cgroup_target_close(&target);
    return code < 0 ? code : remove_layout(state);
}

static void open_copied(const char *layout, enum cgroup_mode mode)
{
    copy_layout(layout);
    struct cgroup_place place = copied_place();
    assert_int_equal(cgroup_target_open(&target, &place, mode, false, NULL), 0);
    context.cgroup = &target;
}

static void open_own(void)
{
    struct cgroup_place place = live_place();
    struct metron_error error = {0};

    if (cgroup_target_open(&target, &place, CGROUP_MODE_OWN, false, &error) < 0) {
        print_message("%s\n", error.message);
        skip();
    }
    context.cgroup = &target;
}

static void the_keys_are_what_the_group_counts(void **state)
{
    (void)state;
    open_copied("v2-5.10", CGROUP_MODE_INHERITED);
    collect("cgroup", COST_CGROUP);
    number_is("cgroup_mem_current", 640000000);
    number_is("cgroup_mem_anon", 401390080);
    number_is("cgroup_mem_shmem", 4194304);
    number_is("cgroup_mem_file", 202653184);
    number_is("cgroup_mem_anon_shmem", 401390080 + 4194304);
    number_is("cgroup_cpu_seconds", 11.8653);
    number_is("cgroup_cpu_user_seconds", 9.0012);
    number_is("cgroup_cpu_system_seconds", 2.8641);
    number_is("cgroup_cpu_throttled_seconds", 3.05122);
    number_is("cgroup_cpu_periods", 412);
    number_is("cgroup_cpu_throttled_periods", 97);
    number_is("cgroup_oom_kills", 2);
    number_is("cgroup_oom_events", 2);
    number_is("cgroup_io_read_bytes", 91889664);
    number_is("cgroup_io_write_bytes", 613781504);
    number_is("cgroup_psi_io_some_pct", 33.337974); /* seconds: the rate is made of them later */
    assert_string_equal(text(&pass.single, "cgroup_scope"), "inherited");
    assert_int_equal(pass.count, 0);
}

static void what_the_group_does_not_tell_is_absent_with_its_reason(void **state)
{
    static const char *const keys[] = {"cgroup_mem_peak", "cgroup_mem_interval_peak", "cgroup_pids_peak"};

    (void)state;
    open_copied("v2-5.10", CGROUP_MODE_INHERITED);
    collect("cgroup", COST_CGROUP);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        assert_false(has(&pass.single, keys[i]));
        assert_non_null(reason_of(keys[i]));
    }
    assert_null(reason_of("cgroup_mem_anon"));
    assert_null(reason_of("cgroup_scope"));
}

static void a_sum_needs_both_its_parts(void **state)
{
    (void)state;
    open_copied("v2-5.10", CGROUP_MODE_INHERITED);
    assert_null(reason_of("cgroup_mem_anon_shmem"));
    group_put(target.place.spots[CGROUP_MEMORY].folder, "memory.stat", "anon 5\nfile 7\n");
    collect("cgroup", COST_CGROUP);
    number_is("cgroup_mem_anon", 5);
    assert_false(has(&pass.single, "cgroup_mem_shmem"));
    assert_false(has(&pass.single, "cgroup_mem_anon_shmem")); /* not 5 */
}

static void a_limit_is_told_where_there_is_one(void **state)
{
    (void)state;
    open_copied("v2-5.10", CGROUP_MODE_INHERITED);
    collect("cgroup", COST_CGROUP);
    assert_false(has(&pass.single, "cgroup_mem_limit"));
    assert_non_null(strstr(reason_of("cgroup_mem_limit"), "memory limit"));
    allowance.memory_limit_bytes = 2147483648;
    assert_null(reason_of("cgroup_mem_limit"));
    collect("cgroup", COST_CGROUP);
    number_is("cgroup_mem_limit", 2147483648.0);
}

/* As the sampler opens it: for some of its fields. */
static void only_the_files_of_selected_keys_are_read(void **state)
{
    const struct collector *collector = collector_named("cgroup");
    const uint8_t field = registry_find(&registry, "cgroup_mem_anon_shmem")->measurement->field;
    void *opened = NULL;

    (void)state;
    open_copied("v2-5.10", CGROUP_MODE_INHERITED);
    context.selected = UINT64_C(1) << field;
    assert_int_equal(collector->open(&context, COST_CGROUP, &opened), 0);
    assert_int_equal(pass_init(&pass, collector->source.field_count), 0);
    pass_begin(&pass, PASS_SAMPLE, clock_monotonic_ns());
    assert_int_equal(collector->collect(opened, &context, &pass), 0);
    number_is("cgroup_mem_anon_shmem", 401390080 + 4194304);
    assert_false(has(&pass.single, "cgroup_mem_current"));
    assert_false(has(&pass.single, "cgroup_cpu_seconds"));
    collector->close(opened);
}

static void without_a_group_every_key_has_the_reason(void **state)
{
    (void)state;
    assert_non_null(reason_of("cgroup_mem_peak")); /* no target at all */
    open_copied("v2-5.10", CGROUP_MODE_OFF);
    assert_string_equal(reason_of("cgroup_mem_peak"), "switched off");
    assert_string_equal(reason_of("cgroup_scope"), "switched off");
    cgroup_target_close(&target);
    assert_int_equal(remove_layout(state), 0);
    breakage_set("cgroup");
    open_copied("v2-5.10", CGROUP_MODE_AUTO);
    assert_string_equal(reason_of("cgroup_cpu_seconds"), "cgroup files cannot be read");
}

static int join_fds[CGROUP_CONTROLLER_COUNT + 1];
static size_t join_count;

static void body_in_the_leaf(void)
{
    for (size_t i = 0; i < join_count; i++)
        if (write(join_fds[i], "0", 1) != 1)
            _exit(1);
    burn_process(0.3);
    say();
    wait_for_go(1);
}

static void what_the_ledger_misses_is_told_by_the_own_group(void **state)
{
    open_own();
    join_count = cgroup_target_entrances(&target, join_fds);
    if (target.leaves[CGROUP_UNIFIED].folder)
        join_fds[join_count++] = target.leaves[CGROUP_UNIFIED].join_fd;
    assert_null(reason_of("ledger_unaccounted_seconds"));
    watch_tree(state);
    collect("cgroup", COST_CGROUP);
    assert_string_equal(text(&pass.single, "cgroup_scope"), "own");
    (void)start_root(body_in_the_leaf);
    await_said(1);
    tree_refresh(watch.tree);
    collect("ledger", COST_STAT | COST_CLOCK | COST_CGROUP);
    if (fabs(number(&pass.single, "ledger_unaccounted_seconds")) >
        0.03) /* what it used before it joined, ticks */
        fail_msg("%.4f s", number(&pass.single, "ledger_unaccounted_seconds"));
    pid_t other = start(body_in_the_leaf); /* in the group, and no member: as if its times had been dropped */
    tree_ignore(watch.tree, other);
    await_said(2);
    tree_refresh(watch.tree);
    collect("ledger", COST_STAT | COST_CLOCK | COST_CGROUP);
    double missed = number(&pass.single, "ledger_unaccounted_seconds");
    if (missed < 0.27 || missed > 0.35)
        fail_msg("%.4f s", missed);
}

static void what_nobody_asked_of_the_ledger_opens_no_group(void **state)
{
    const struct collector *collector = collector_named("ledger");
    void *opened = NULL;

    (void)state;
    open_copied("v2-5.10", CGROUP_MODE_INHERITED);
    target.scope = CGROUP_SCOPE_OWN;
    context.selected = 1;
    assert_int_equal(collector->open(&context, COST_STAT, &opened), 0);
    assert_null(opened);
    collector->close(opened);
}

#define READS_GROUP(NAME)                                                                                    \
    {                                                                                                        \
#NAME, NAME, cgroup_setup, cgroup_teardown, &by_listings                                             \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        READS_GROUP(the_keys_are_what_the_group_counts),
        READS_GROUP(what_the_group_does_not_tell_is_absent_with_its_reason),
        READS_GROUP(a_sum_needs_both_its_parts),
        READS_GROUP(a_limit_is_told_where_there_is_one),
        READS_GROUP(only_the_files_of_selected_keys_are_read),
        READS_GROUP(without_a_group_every_key_has_the_reason),
        READS_GROUP(what_the_ledger_misses_is_told_by_the_own_group),
        READS_GROUP(what_nobody_asked_of_the_ledger_opens_no_group),
    };

    (void)by_connector;
    (void)by_scan;
    return cmocka_run_group_tests(tests, setup, teardown);
}
