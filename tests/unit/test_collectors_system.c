/* sys, self, rusage and ledger: what is read of the machine, of ourselves, and of the reaped. */
#include "collectors_fixture.h"

#include <fcntl.h>

#include "base/file.h"

/* A root folder of our own, with the three files that sys reads. */
static char root[64];

static void put(const char *name, const char *bytes)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(file_replace(AT_FDCWD, path, bytes, strlen(bytes), 0600), 0);
}

static void make_root(void)
{
    (void)snprintf(root, sizeof(root), "/tmp/metron-collectors-XXXXXX");
    assert_non_null(mkdtemp(root));
    context.proc_root = root;
    put("meminfo", "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\n"
                   "SwapTotal:       500 kB\nSwapFree:        200 kB\n");
    put("loadavg", "1.50 2.25 3.75 2/345 6789\n");
    put("stat", "cpu  100 20 300 4000 55 6 7 8 90 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nbtime 1700000000\n");
}

static void remove_root(void)
{
    static const char *const names[] = {"meminfo", "loadavg", "stat", ""};
    char path[128];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", root, names[i]);
        (void)remove(path);
    }
}

static void sys_reads_the_machine(void **state)
{
    (void)state;
    const double tick = 1.0 / (double)clock_ticks_per_second();

    make_root();
    assert_null(reason_of("sys_mem_total"));
    assert_null(reason_of("sys_load15"));
    assert_null(reason_of("sys_iowait_pct"));
    collect("sys", COST_SYSTEM);
    number_is("sys_mem_total", 1024000);
    number_is("sys_mem_available", 409600);
    number_is("sys_mem_used", 614400);
    number_is("sys_swap_used", 307200);
    number_is("sys_load1", 1.5);
    number_is("sys_load5", 2.25);
    number_is("sys_load15", 3.75);
    number_is("sys_cpu_pct", (100 + 20 + 300 + 6 + 7 + 8) * tick); /* guest is in user already */
    number_is("sys_iowait_pct", 55 * tick);
    assert_int_equal(pass.count, 0);
    remove_root();
}

static void what_the_machine_does_not_tell_is_absent(void **state)
{
    (void)state;
    char path[128];

    make_root();
    put("meminfo", "MemTotal:       1000 kB\nMemFree:         100 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
    (void)snprintf(path, sizeof(path), "%s/loadavg", root);
    assert_int_equal(unlink(path), 0);
    put("stat", "no such line\n");
    collect("sys", COST_SYSTEM);
    number_is("sys_mem_total", 1024000);
    number_is("sys_swap_used", 0);
    assert_false(has(&pass.single, "sys_mem_available"));
    assert_false(has(&pass.single, "sys_mem_used"));
    assert_false(has(&pass.single, "sys_load1"));
    assert_false(has(&pass.single, "sys_cpu_pct"));
    assert_false(has(&pass.single, "sys_iowait_pct"));
    /* and why */
    assert_null(reason_of("sys_mem_total"));
    assert_null(reason_of("sys_swap_used"));
    assert_non_null(strstr(reason_of("sys_mem_available"), "/proc/meminfo"));
    assert_non_null(strstr(reason_of("sys_mem_used"), "/proc/meminfo"));
    assert_non_null(strstr(reason_of("sys_load1"), "/proc/loadavg"));
    assert_non_null(strstr(reason_of("sys_cpu_pct"), "/proc/stat"));
    remove_root();
    assert_non_null(strstr(reason_of("sys_mem_total"), "/proc/meminfo"));
}

static void self_tells_our_own_cost(void **state)
{
    (void)state;
    collect("self", COST_NOTHING);
    assert_false(has(&pass.single, "self_sample_seconds")); /* there was no sample yet */
    figures = (struct loop_figures){.samples = 5, .missed_ticks = 2, .sample_seconds = 0.25};
    collect("self", COST_NOTHING);
    number_is("self_samples", 5);
    number_is("self_missed_ticks", 2);
    number_is("self_sample_seconds", 0.25);
    double rss = number(&pass.single, "self_rss");
    assert_true(rss > 500e3 && rss < 4e9);
    double before = number(&pass.single, "self_cpu_seconds");
    burn_process(0.05);
    collect("self", COST_NOTHING);
    double used = number(&pass.single, "self_cpu_seconds") - before;
    assert_true(used >= 0.04 && used < 0.2);
    figures.helper_cpu_seconds = 100; /* what ps used for us is our cost too */
    collect("self", COST_NOTHING);
    assert_true(number(&pass.single, "self_cpu_seconds") >= 100 + before);
}

static void rusage_tells_what_was_reaped(void **state)
{
    watch_tree(state);
    const struct rusage usage = {.ru_utime = {1, 500000},
                                 .ru_stime = {0, 250000},
                                 .ru_maxrss = 2000,
                                 .ru_inblock = 3,
                                 .ru_oublock = 5,
                                 .ru_nvcsw = 7,
                                 .ru_nivcsw = 9};
    context.spawner_maxrss_bytes = 1000 * 1024;
    collect("rusage", COST_NOTHING);
    assert_false(has(&pass.single, "rusage_max_rss")); /* nobody was reaped */
    tree_reap(watch.tree, 1 << 21, 0, &usage);
    collect("rusage", COST_NOTHING);
    number_is("rusage_cpu_user_seconds", 1.5);
    number_is("rusage_cpu_system_seconds", 0.25);
    number_is("rusage_in_bytes", 3 * 512);
    number_is("rusage_out_bytes", 5 * 512);
    number_is("rusage_ctx_voluntary", 7);
    number_is("rusage_ctx_involuntary", 9);
    number_is("rusage_max_rss", 2000 * 1024);
    context.spawner_maxrss_bytes = 2000 * 1024; /* no more than what it inherited: not measured */
    collect("rusage", COST_NOTHING);
    assert_false(has(&pass.single, "rusage_max_rss"));
    collect("ledger", COST_STAT | COST_CLOCK);
    number_is("ledger_reaped_seconds", 1.75);
    number_is("ledger_live_seconds", 0);
    assert_false(has(&pass.single, "ledger_unaccounted_seconds")); /* without an own group */
}

static void a_broken_reader_costs_its_own_keys(void **state)
{
    (void)state;
    static const struct {
        const char *reader, *absent[3], *present[3];
    } cases[] = {
        {"meminfo", {"sys_mem_total", "sys_mem_available", "sys_swap_used"}, {"sys_load1", "sys_cpu_pct"}},
        {"loadavg", {"sys_load1", "sys_load5", "sys_load15"}, {"sys_mem_total", "sys_cpu_pct"}},
        {"cpu", {"sys_cpu_pct", "sys_iowait_pct"}, {"sys_mem_total", "sys_load1"}},
    };

    make_root();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        breakage_set(cases[i].reader);
        collect("sys", COST_SYSTEM);
        for (size_t j = 0; j < 3 && cases[i].absent[j]; j++) {
            assert_false(has(&pass.single, cases[i].absent[j]));
            assert_non_null(reason_of(cases[i].absent[j]));
        }
        for (size_t j = 0; j < 3 && cases[i].present[j]; j++) {
            assert_true(has(&pass.single, cases[i].present[j]));
            assert_null(reason_of(cases[i].present[j]));
        }
    }
    remove_root();
}

static void what_the_ledger_misses_needs_an_own_group(void **state)
{
    watch_tree(state);
    assert_null(reason_of("ledger_live_seconds"));
    assert_null(reason_of("ledger_reaped_seconds"));
    assert_non_null(strstr(reason_of("ledger_unaccounted_seconds"), "own control group"));
    breakage_set("stat");
    assert_non_null(strstr(reason_of("ledger_live_seconds"), "/proc/PID/stat"));
    assert_null(reason_of("ledger_reaped_seconds")); /* from wait4 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        READS(sys_reads_the_machine),
        READS(what_the_machine_does_not_tell_is_absent),
        READS(self_tells_our_own_cost),
        READS(rusage_tells_what_was_reaped),
        READS(a_broken_reader_costs_its_own_keys),
        READS(what_the_ledger_misses_needs_an_own_group),
    };

    (void)by_connector;
    (void)by_scan;
    return cmocka_run_group_tests(tests, setup, teardown);
}
