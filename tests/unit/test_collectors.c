/* The tables of all collectors: legal, complete, and what the documents promise. */
#include "collect/collectors.h"

#include "collectors_fixture.h"

static void every_measurement_of_every_collector_is_legal(void **state)
{
    (void)state;
    unsigned count = 0;
    struct registry fresh;
    struct metron_error refused = {0};

    if (registry_init(&fresh, collector_sources(), collector_count, &refused) < 0)
        fail_msg("%s", refused.message);
    registry_fini(&fresh);
    for (size_t i = 0; i < collector_count; i++) {
        const struct source *source = &collectors[i]->source;
        assert_ptr_equal(collector_sources()[i], source);
        for (size_t j = 0; j < source->measurement_count; j++, count++) {
            struct metron_error error = {0};
            if (measurement_check(source, &source->measurements[j], &error) < 0)
                fail_msg("%s", error.message);
            assert_non_null(registry_find(&registry, source->measurements[j].key));
        }
    }
    assert_int_equal(count, registry.count);
    assert_true(count > 50);
}

static void every_collector_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < collector_count; i++) {
        const struct collector *collector = collectors[i];
        const struct source *source = &collector->source;
        uint64_t used = 0;

        assert_true(source->name && source->title && source->title[0]);
        assert_true(!collector->collect != !collector->read); /* one of the two */
        assert_true(!collector->open == !collector->close);
        for (size_t j = 0; j < source->measurement_count; j++)
            used |= UINT64_C(1) << source->measurements[j].field;
        for (unsigned field = 0; field < source->field_count; field++) {
            assert_true(source->fields[field] && source->fields[field][0]);
            assert_true((used >> field) & 1); /* nothing is read for nobody */
        }
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(collectors[j]->source.name, source->name);
    }
}

#define PER_PID(KEY, TYPE, UNIT, DERIVE, REDUCE)                                                             \
    {                                                                                                        \
        KEY, SCOPE_PER_PID, TYPE_##TYPE, UNIT_##UNIT, DERIVE_##DERIVE, COLLAPSE_NONE, REDUCE_##REDUCE        \
    }
#define SINGLE(KEY, TYPE, UNIT, DERIVE, REDUCE)                                                              \
    {                                                                                                        \
        KEY, SCOPE_SINGLE, TYPE_##TYPE, UNIT_##UNIT, DERIVE_##DERIVE, COLLAPSE_NONE, REDUCE_##REDUCE         \
    }
#define PER_DEVICE(KEY, TYPE, UNIT, DERIVE, REDUCE)                                                          \
    {                                                                                                        \
        KEY, SCOPE_PER_DEVICE, TYPE_##TYPE, UNIT_##UNIT, DERIVE_##DERIVE, COLLAPSE_NONE, REDUCE_##REDUCE     \
    }
#define TOTAL(KEY, TYPE, UNIT, DERIVE, REDUCE)                                                               \
    {                                                                                                        \
        KEY, SCOPE_SINGLE, TYPE_##TYPE, UNIT_##UNIT, DERIVE_##DERIVE, COLLAPSE_SUM, REDUCE_##REDUCE          \
    }

/* The table of the specification. A total that parents inherit from their children is no sum over processes:
 * it comes from the ledger, as a single field. */
static const struct {
    const char *key;
    enum scope scope;
    enum type type;
    enum unit unit;
    enum derive derive;
    enum collapse collapse;
    enum reduce reduce;
} promised[] = {
    PER_PID("proc_rss", GAUGE, BYTES, NONE, MAX),
    TOTAL("proc_rss_total", GAUGE, BYTES, NONE, MAX),
    PER_PID("proc_vsz", GAUGE, BYTES, NONE, MAX),
    TOTAL("proc_vsz_total", GAUGE, BYTES, NONE, MAX),
    PER_PID("proc_hwm", GAUGE, BYTES, NONE, MAX),
    SINGLE("proc_hwm_max", GAUGE, BYTES, NONE, LAST),
    PER_PID("proc_pmem", GAUGE, PERCENT, NONE, MAX),
    TOTAL("proc_pmem_total", GAUGE, PERCENT, NONE, MAX),
    PER_PID("proc_pdcpu", COUNTER, PERCENT, RATE, MAX),
    PER_PID("proc_own_cpu_seconds", COUNTER, SECONDS, NONE, DELTA),
    SINGLE("proc_pdcpu_total", COUNTER, PERCENT, RATE, MAX),
    SINGLE("proc_cpu_seconds", COUNTER, SECONDS, NONE, DELTA),
    PER_PID("proc_etime", GAUGE, SECONDS, NONE, LAST),
    PER_PID("proc_stat", CATEGORICAL, NONE, NONE, TALLY),
    PER_PID("proc_cmd", LABEL, NONE, NONE, LAST),
    PER_PID("proc_ppid", LABEL, NONE, NONE, LAST),
    PER_PID("proc_start_time", LABEL, NONE, NONE, LAST),
    PER_PID("proc_threads", GAUGE, COUNT, NONE, MAX),
    TOTAL("proc_threads_total", GAUGE, COUNT, NONE, MAX),
    PER_PID("proc_fds", GAUGE, COUNT, NONE, MAX),
    TOTAL("proc_fds_total", GAUGE, COUNT, NONE, MAX),
    PER_PID("proc_fd_limit", GAUGE, COUNT, NONE, MAX),
    PER_PID("proc_minor_faults", COUNTER, COUNT, NONE, DELTA),
    SINGLE("proc_minor_faults_total", COUNTER, COUNT, NONE, DELTA),
    PER_PID("proc_major_faults", COUNTER, COUNT, NONE, DELTA),
    SINGLE("proc_major_faults_total", COUNTER, COUNT, NONE, DELTA),
    PER_PID("proc_ctx_voluntary", COUNTER, COUNT, NONE, DELTA),
    TOTAL("proc_ctx_voluntary_total", COUNTER, COUNT, NONE, DELTA),
    PER_PID("proc_ctx_involuntary", COUNTER, COUNT, NONE, DELTA),
    TOTAL("proc_ctx_involuntary_total", COUNTER, COUNT, NONE, DELTA),
    SINGLE("proc_processes", GAUGE, COUNT, NONE, MAX),
    SINGLE("proc_zombies", GAUGE, COUNT, NONE, MAX),
    SINGLE("proc_spawned", COUNTER, COUNT, NONE, DELTA),
    SINGLE("proc_exited", COUNTER, COUNT, NONE, DELTA),
    SINGLE("ledger_live_seconds", GAUGE, SECONDS, NONE, LAST),
    SINGLE("ledger_reaped_seconds", COUNTER, SECONDS, NONE, DELTA),
    SINGLE("ledger_unaccounted_seconds", GAUGE, SECONDS, NONE, LAST),
    PER_PID("smaps_pss", GAUGE, BYTES, NONE, MAX),
    SINGLE("smaps_pss_total", GAUGE, BYTES, NONE, MAX),
    PER_PID("smaps_uss", GAUGE, BYTES, NONE, MAX),
    SINGLE("smaps_uss_total", GAUGE, BYTES, NONE, MAX),
    PER_PID("smaps_swap", GAUGE, BYTES, NONE, MAX),
    SINGLE("smaps_swap_total", GAUGE, BYTES, NONE, MAX),
    PER_PID("io_read_bytes", COUNTER, BYTES, NONE, DELTA),
    SINGLE("io_read_bytes_total", COUNTER, BYTES, NONE, DELTA),
    PER_PID("io_write_bytes", COUNTER, BYTES, NONE, DELTA),
    SINGLE("io_write_bytes_total", COUNTER, BYTES, NONE, DELTA),
    PER_PID("io_rchar", COUNTER, BYTES, NONE, DELTA),
    SINGLE("io_rchar_total", COUNTER, BYTES, NONE, DELTA),
    PER_PID("io_wchar", COUNTER, BYTES, NONE, DELTA),
    SINGLE("io_wchar_total", COUNTER, BYTES, NONE, DELTA),
    PER_PID("io_syscr", COUNTER, COUNT, NONE, DELTA),
    SINGLE("io_syscr_total", COUNTER, COUNT, NONE, DELTA),
    PER_PID("io_syscw", COUNTER, COUNT, NONE, DELTA),
    SINGLE("io_syscw_total", COUNTER, COUNT, NONE, DELTA),
    PER_PID("io_read_rate", COUNTER, BYTES_PER_SECOND, RATE, MAX),
    SINGLE("io_read_rate_total", COUNTER, BYTES_PER_SECOND, RATE, MAX),
    PER_PID("io_write_rate", COUNTER, BYTES_PER_SECOND, RATE, MAX),
    SINGLE("io_write_rate_total", COUNTER, BYTES_PER_SECOND, RATE, MAX),
    PER_PID("io_blocked_pct", COUNTER, PERCENT, RATE, MAX),
    SINGLE("cgroup_mem_peak", GAUGE, BYTES, NONE, LAST),
    SINGLE("cgroup_mem_interval_peak", GAUGE, BYTES, NONE, MAX),
    SINGLE("cgroup_mem_current", GAUGE, BYTES, NONE, MAX),
    SINGLE("cgroup_mem_anon", GAUGE, BYTES, NONE, MAX),
    SINGLE("cgroup_mem_shmem", GAUGE, BYTES, NONE, MAX),
    SINGLE("cgroup_mem_file", GAUGE, BYTES, NONE, MAX),
    SINGLE("cgroup_mem_anon_shmem", GAUGE, BYTES, NONE, MAX),
    SINGLE("cgroup_mem_limit", GAUGE, BYTES, NONE, MAX),
    SINGLE("cgroup_cpu_seconds", COUNTER, SECONDS, NONE, DELTA),
    SINGLE("cgroup_cpu_user_seconds", COUNTER, SECONDS, NONE, DELTA),
    SINGLE("cgroup_cpu_system_seconds", COUNTER, SECONDS, NONE, DELTA),
    SINGLE("cgroup_cpu_throttled_seconds", COUNTER, SECONDS, NONE, DELTA),
    SINGLE("cgroup_cpu_periods", COUNTER, COUNT, NONE, DELTA),
    SINGLE("cgroup_cpu_throttled_periods", COUNTER, COUNT, NONE, DELTA),
    SINGLE("cgroup_oom_kills", COUNTER, COUNT, NONE, DELTA),
    SINGLE("cgroup_oom_events", COUNTER, COUNT, NONE, DELTA),
    SINGLE("cgroup_io_read_bytes", COUNTER, BYTES, NONE, DELTA),
    SINGLE("cgroup_io_write_bytes", COUNTER, BYTES, NONE, DELTA),
    SINGLE("cgroup_pids_peak", GAUGE, COUNT, NONE, LAST),
    SINGLE("cgroup_psi_cpu_some_pct", COUNTER, PERCENT, RATE, MAX),
    SINGLE("cgroup_psi_cpu_full_pct", COUNTER, PERCENT, RATE, MAX),
    SINGLE("cgroup_psi_memory_some_pct", COUNTER, PERCENT, RATE, MAX),
    SINGLE("cgroup_psi_memory_full_pct", COUNTER, PERCENT, RATE, MAX),
    SINGLE("cgroup_psi_io_some_pct", COUNTER, PERCENT, RATE, MAX),
    SINGLE("cgroup_psi_io_full_pct", COUNTER, PERCENT, RATE, MAX),
    SINGLE("cgroup_scope", LABEL, NONE, NONE, LAST),
    SINGLE("rusage_cpu_user_seconds", COUNTER, SECONDS, NONE, DELTA),
    SINGLE("rusage_cpu_system_seconds", COUNTER, SECONDS, NONE, DELTA),
    SINGLE("rusage_ctx_voluntary", COUNTER, COUNT, NONE, DELTA),
    SINGLE("rusage_ctx_involuntary", COUNTER, COUNT, NONE, DELTA),
    SINGLE("rusage_in_bytes", COUNTER, BYTES, NONE, DELTA),
    SINGLE("rusage_out_bytes", COUNTER, BYTES, NONE, DELTA),
    SINGLE("rusage_max_rss", GAUGE, BYTES, NONE, LAST),
    PER_PID("exit_cpu_seconds", COUNTER, SECONDS, NONE, DELTA),
    SINGLE("exit_cpu_seconds_total", COUNTER, SECONDS, NONE, DELTA),
    PER_PID("exit_read_bytes", COUNTER, BYTES, NONE, DELTA),
    SINGLE("exit_read_bytes_total", COUNTER, BYTES, NONE, DELTA),
    PER_PID("exit_write_bytes", COUNTER, BYTES, NONE, DELTA),
    SINGLE("exit_write_bytes_total", COUNTER, BYTES, NONE, DELTA),
    PER_PID("exit_minor_faults", COUNTER, COUNT, NONE, DELTA),
    SINGLE("exit_minor_faults_total", COUNTER, COUNT, NONE, DELTA),
    PER_PID("exit_major_faults", COUNTER, COUNT, NONE, DELTA),
    SINGLE("exit_major_faults_total", COUNTER, COUNT, NONE, DELTA),
    SINGLE("exit_processes", COUNTER, COUNT, NONE, DELTA),
    PER_PID("exit_max_rss", GAUGE, BYTES, NONE, LAST),
    SINGLE("exit_max_rss_max", GAUGE, BYTES, NONE, LAST),
    PER_PID("exit_lifetime_seconds", GAUGE, SECONDS, NONE, LAST),
    SINGLE("psi_cpu_some_pct", COUNTER, PERCENT, RATE, MAX),
    SINGLE("psi_memory_some_pct", COUNTER, PERCENT, RATE, MAX),
    SINGLE("psi_memory_full_pct", COUNTER, PERCENT, RATE, MAX),
    SINGLE("psi_io_some_pct", COUNTER, PERCENT, RATE, MAX),
    SINGLE("psi_io_full_pct", COUNTER, PERCENT, RATE, MAX),
    SINGLE("sys_mem_total", GAUGE, BYTES, NONE, MAX),
    SINGLE("sys_mem_used", GAUGE, BYTES, NONE, MAX),
    SINGLE("sys_mem_available", GAUGE, BYTES, NONE, MIN),
    SINGLE("sys_swap_used", GAUGE, BYTES, NONE, MAX),
    SINGLE("sys_load1", GAUGE, NONE, NONE, MAX),
    SINGLE("sys_load5", GAUGE, NONE, NONE, MAX),
    SINGLE("sys_load15", GAUGE, NONE, NONE, MAX),
    SINGLE("sys_cpu_pct", COUNTER, PERCENT, RATE, MAX),
    SINGLE("sys_iowait_pct", COUNTER, PERCENT, RATE, MAX),
    PER_DEVICE("gpu_util", GAUGE, PERCENT, NONE, MAX),
    PER_DEVICE("gpu_mem_used", GAUGE, BYTES, NONE, MAX),
    PER_DEVICE("gpu_mem_total", GAUGE, BYTES, NONE, MAX),
    PER_DEVICE("gpu_temp", GAUGE, CELSIUS, NONE, MAX),
    PER_DEVICE("gpu_power", GAUGE, WATTS, NONE, MAX),
    PER_DEVICE("gpu_energy", COUNTER, JOULES, NONE, DELTA),
    PER_PID("syscall_counts", CATEGORICAL, COUNT, NONE, TALLY),
    SINGLE("syscall_counts_total", CATEGORICAL, COUNT, NONE, TALLY),
    PER_PID("syscall_seconds", CATEGORICAL, SECONDS, NONE, TALLY),
    SINGLE("syscall_seconds_total", CATEGORICAL, SECONDS, NONE, TALLY),
    PER_PID("syscall_errors", CATEGORICAL, COUNT, NONE, TALLY),
    SINGLE("syscall_errors_total", CATEGORICAL, COUNT, NONE, TALLY),
    PER_PID("ps_rss", GAUGE, BYTES, NONE, MAX),
    TOTAL("ps_rss_total", GAUGE, BYTES, NONE, MAX),
    PER_PID("ps_vsz", GAUGE, BYTES, NONE, MAX),
    TOTAL("ps_vsz_total", GAUGE, BYTES, NONE, MAX),
    PER_PID("ps_pmem", GAUGE, PERCENT, NONE, MAX),
    TOTAL("ps_pmem_total", GAUGE, PERCENT, NONE, MAX),
    PER_PID("ps_pdcpu", COUNTER, PERCENT, RATE, MAX),
    PER_PID("ps_cpu_seconds", COUNTER, SECONDS, NONE, DELTA),
    PER_PID("ps_etime", GAUGE, SECONDS, NONE, LAST),
    PER_PID("ps_stat", CATEGORICAL, NONE, NONE, TALLY),
    PER_PID("ps_cmd", LABEL, NONE, NONE, LAST),
    SINGLE("self_cpu_seconds", COUNTER, SECONDS, NONE, DELTA),
    SINGLE("self_kernel_seconds", COUNTER, SECONDS, NONE, DELTA),
    SINGLE("self_samples", COUNTER, COUNT, NONE, DELTA),
    SINGLE("self_missed_ticks", COUNTER, COUNT, NONE, DELTA),
    SINGLE("self_rss", GAUGE, BYTES, NONE, MAX),
    SINGLE("self_sample_seconds", GAUGE, SECONDS, NONE, MAX),
};

static void every_promised_key_is_there_as_promised(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(promised) / sizeof(promised[0]); i++) {
        const struct registry_entry *entry = registry_find(&registry, promised[i].key);
        if (!entry)
            fail_msg("there is no %s", promised[i].key);
        const struct measurement *m = entry->measurement;
        if (m->scope != promised[i].scope || m->type != promised[i].type || m->unit != promised[i].unit ||
            m->derive != promised[i].derive || m->collapse != promised[i].collapse ||
            m->reduce != promised[i].reduce)
            fail_msg("%s is %s %s %s derive %s collapse %s reduce %s", m->key, scope_names[m->scope],
                     type_names[m->type], unit_name(m->unit), derive_names[m->derive],
                     collapse_names[m->collapse], reduce_names[m->reduce]);
    }
}

static void cpu_rates_are_cut_at_the_usable_cores(void **state)
{
    (void)state;
    assert_int_equal(registry_find(&registry, "proc_pdcpu")->measurement->ceiling, CEILING_USABLE_CORES);
    assert_int_equal(registry_find(&registry, "proc_pdcpu_total")->measurement->ceiling,
                     CEILING_USABLE_CORES);
}

static void a_sum_of_resident_memory_says_that_it_double_counts(void **state)
{
    (void)state;
    const char *meaning = registry_find(&registry, "proc_rss_total")->measurement->meaning;

    assert_non_null(strstr(meaning, "shared"));
    assert_non_null(strstr(meaning, "upper bound"));
}

static void a_share_of_time_is_cut_at_all_of_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < registry.count; i++) {
        const struct measurement *m = registry.entries[i].measurement;
        if (strstr(m->key, "psi_"))
            assert_int_equal(m->ceiling, CEILING_ONE);
    }
    assert_int_equal(registry_find(&registry, "cgroup_psi_io_full_pct")->measurement->ceiling, CEILING_ONE);
}

static void only_the_peak_of_an_interval_is_kept_by_the_kernel(void **state)
{
    (void)state;
    for (size_t i = 0; i < registry.count; i++) {
        const struct measurement *m = registry.entries[i].measurement;
        if (m->kept != (strcmp(m->key, "cgroup_mem_interval_peak") == 0))
            fail_msg("%s", m->key);
    }
}

static void ps_alone_must_be_asked_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < collector_count; i++)
        assert_int_equal(collectors[i]->opt_in, strcmp(collectors[i]->source.name, "ps") == 0);
}

/* What nobody selected is not read: its cost names the file, so that the others stay closed. */
static void every_source_has_the_cost_of_its_files(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        unsigned cost;
    } cases[] = {
        {"proc_pmem", COST_STATM},
        {"ledger_unaccounted_seconds", COST_STAT | COST_CLOCK | COST_CGROUP},
        {"smaps_pss_total", COST_SMAPS},
        {"io_rchar", COST_IO},
        {"io_write_rate_total", COST_IO},
        {"io_blocked_pct", COST_STAT},
        {"cgroup_mem_peak", COST_CGROUP},
        {"psi_cpu_some_pct", COST_PRESSURE},
        {"ps_rss", COST_PS},
        {"gpu_energy", COST_GPU},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(registry_find(&registry, cases[i].key)->measurement->cost, cases[i].cost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_measurement_of_every_collector_is_legal),
        cmocka_unit_test(every_collector_is_complete),
        cmocka_unit_test(every_promised_key_is_there_as_promised),
        cmocka_unit_test(cpu_rates_are_cut_at_the_usable_cores),
        cmocka_unit_test(a_sum_of_resident_memory_says_that_it_double_counts),
        cmocka_unit_test(a_share_of_time_is_cut_at_all_of_it),
        cmocka_unit_test(only_the_peak_of_an_interval_is_kept_by_the_kernel),
        cmocka_unit_test(ps_alone_must_be_asked_for),
        cmocka_unit_test(every_source_has_the_cost_of_its_files),
    };

    (void)by_connector;
    (void)by_listings;
    (void)by_scan;
    return cmocka_run_group_tests(tests, setup, teardown);
}
