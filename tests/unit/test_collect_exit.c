/*
 * What the kernel tells of processes that end: the collectors that bring it, through the sampler and its
 * windows, up to the record. The processes are made up; the tree that is told of their ends is a real one.
 */
#include "collect/collectors.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "loop/sampler.h"
#include "probe/kernel.h"
#include "probe/syscall_table.h"
#include "schema/registry.h"
#include "tree/members.h"

#define COUNT(ARRAY) (sizeof(ARRAY) / sizeof((ARRAY)[0]))
#define MIB          1048576

static struct registry registry;
static struct kernel_facts facts;
static struct collect_context context;
static struct tree *tree;
static struct sampler *sampler;
static struct record record, summary;
static uint64_t start_ns;

/* ---- short ways ---- */

static const char *const totals[] = {"exit_cpu_seconds_total",  "exit_read_bytes_total",
                                     "exit_write_bytes_total",  "exit_minor_faults_total",
                                     "exit_major_faults_total", "exit_processes"};
static const char *const others[] = {"exit_cpu_seconds",  "exit_read_bytes",      "exit_write_bytes",
                                     "exit_minor_faults", "exit_major_faults",    "exit_max_rss",
                                     "exit_max_rss_max",  "exit_lifetime_seconds"};

static const char *reason_of(const char *key)
{
    const struct registry_entry *entry = registry_find(&registry, key);
    const char *reasons[64] = {0};

    if (!entry)
        fail_msg("there is no %s", key);
    collectors[entry->source_index]->survey(&context, reasons);
    return reasons[entry->measurement->field];
}

/* A sampler of `keys` whose tree is told by programs in the kernel, from the start. */
static void begin(const char *keys)
{
    struct metron_error error = {0};
    start_ns = clock_monotonic_ns();
    const struct tree_options tree_options = {.proc_root = "/proc", .facts = &facts, .start_ns = start_ns};

    if (registry_select(&registry, keys, NULL, &error) < 0 || !(tree = tree_new(&tree_options, &error)))
        fail_msg("%s", error.message);
    tree->method = TREE_BPF;
    tree->told_from_start = true;
    const struct sampler_options options = {
        .registry = &registry, .tree = tree, .context = &context, .start_ns = start_ns};
    sampler = sampler_new(&options, &error);
    assert_non_null(sampler);
    sampler_seed(sampler);
}

static struct process made_up(int pid)
{
    return (struct process){
        .subject = {.serial = (uint64_t)pid * 10, .id = pid, .incarnation = 1, .born_ns = start_ns + 1},
    };
}

static struct lifecycle_event an_end(uint64_t cpu_ms, uint64_t peak_bytes)
{
    return (struct lifecycle_event){
        .what = LIFECYCLE_EXIT,
        .stamp_ns = 1,
        .exit = {.lifetime_ns = 250000000,
                 .peak_bytes = peak_bytes,
                 .has_use = true,
                 .is_whole = true,
                 .use = {.cpu_ns = cpu_ms * 1000000,
                         .minor_faults = 70 + cpu_ms,
                         .major_faults = 5,
                         .io = {.rchar = 1, .read_bytes = 4096, .write_bytes = 512}}}};
}

static void ends(int pid, uint64_t cpu_ms, uint64_t peak_bytes)
{
    struct process process = made_up(pid);
    const struct lifecycle_event event = an_end(cpu_ms, peak_bytes);

    ended_add(tree, &process, &event);
}

static void report(void)
{
    assert_int_equal(sampler_report(sampler, &record), 0);
    assert_int_equal(sampler_summarise(sampler, &summary), 0);
}

static void number_is(const struct record *in, const char *key, double wanted)
{
    double got;

    if (!record_number(in, key, &got))
        fail_msg("%s is not there", key);
    if (fabs(got - wanted) > 1e-9)
        fail_msg("%s is %.12g, not %.12g", key, got, wanted);
}

static const struct record_value *value_of(const char *key, int pid)
{
    const struct record_entry *entry = record_find(&record, key);

    for (size_t i = 0; entry && i < entry->count; i++)
        if (entry->values[i].subject.id == pid)
            return &entry->values[i];
    return NULL;
}

static void of_pid_is(const char *key, int pid, double wanted)
{
    const struct record_value *value = value_of(key, pid);

    if (!value)
        fail_msg("%s has no %d", key, pid);
    if (fabs(value->number - wanted) > 1e-9)
        fail_msg("%s of %d is %.12g, not %.12g", key, pid, value->number, wanted);
}

static void totals_are_absent(const struct record *in)
{
    for (size_t i = 0; i < COUNT(totals); i++)
        if (record_find(in, totals[i]))
            fail_msg("%s is there", totals[i]);
}

/* ---- what can be measured ---- */

static void without_kernel_events_everything_has_their_reason(void **state)
{
    (void)state;
    context.why_no_events = "made up";
    context.why_no_exit_totals = "another";
    for (size_t i = 0; i < COUNT(totals); i++)
        assert_string_equal(reason_of(totals[i]), "made up");
    for (size_t i = 0; i < COUNT(others); i++)
        assert_string_equal(reason_of(others[i]), "made up");
    assert_string_equal(reason_of("self_kernel_seconds"), "made up");
    assert_null(reason_of("self_cpu_seconds"));
}

static void events_that_came_late_leave_out_the_totals_alone(void **state)
{
    (void)state;
    context.why_no_exit_totals = "came late";
    for (size_t i = 0; i < COUNT(totals); i++)
        assert_string_equal(reason_of(totals[i]), "came late");
    for (size_t i = 0; i < COUNT(others); i++)
        assert_null(reason_of(others[i]));
    assert_null(reason_of("self_kernel_seconds"));
    context.why_no_exit_totals = NULL;
    for (size_t i = 0; i < COUNT(totals); i++)
        assert_null(reason_of(totals[i]));
}

static void a_kernel_that_counts_no_io_has_none_at_the_end_either(void **state)
{
    (void)state;
    context.proc_root = METRON_FIXTURES "/linux-4.18/proc"; /* no self/io in it */
    assert_non_null(strstr(reason_of("exit_read_bytes"), "CONFIG_TASK_IO_ACCOUNTING"));
    assert_non_null(strstr(reason_of("exit_write_bytes_total"), "CONFIG_TASK_IO_ACCOUNTING"));
    assert_null(reason_of("exit_cpu_seconds"));
    assert_null(reason_of("exit_cpu_seconds_total"));
    context.why_no_exit_totals = "came late";
    assert_string_equal(reason_of("exit_write_bytes_total"), "came late");
}

/* ---- what is brought ---- */

static void one_that_ended_is_brought_with_what_it_used(void **state)
{
    (void)state;
    begin("exit_*");
    ends(7, 20, 3 * MIB);
    report();
    of_pid_is("exit_cpu_seconds", 7, 0.020);
    of_pid_is("exit_read_bytes", 7, 4096);
    of_pid_is("exit_write_bytes", 7, 512);
    of_pid_is("exit_minor_faults", 7, 90);
    of_pid_is("exit_major_faults", 7, 5);
    of_pid_is("exit_max_rss", 7, 3 * MIB);
    of_pid_is("exit_lifetime_seconds", 7, 0.25);
}

static void what_was_not_told_of_it_is_absent(void **state)
{
    (void)state;
    begin("exit_*");
    struct process process = made_up(7);
    struct lifecycle_event event = an_end(20, 0);

    event.exit.lifetime_ns = 0;
    ended_add(tree, &process, &event);
    report();
    assert_null(record_find(&record, "exit_max_rss"));
    assert_null(record_find(&record, "exit_max_rss_max"));
    assert_null(record_find(&record, "exit_lifetime_seconds"));
    of_pid_is("exit_minor_faults", 7, 90);
}

static void what_one_used_before_it_was_followed_is_not_counted(void **state)
{
    (void)state;
    begin("exit_*");
    struct process process = made_up(7);
    const struct lifecycle_event event = an_end(20, MIB);

    process.subject.born_ns = 0;
    ended_add(tree, &process, &event);
    report();
    assert_null(record_find(&record, "exit_cpu_seconds"));
    of_pid_is("exit_max_rss", 7, MIB); /* a level, not an amount */
}

static void each_is_in_one_report(void **state)
{
    (void)state;
    begin("exit_*");
    ends(7, 20, MIB);
    report();
    ends(8, 30, MIB);
    report();
    assert_null(value_of("exit_cpu_seconds", 7));
    assert_null(value_of("exit_max_rss", 7));
    of_pid_is("exit_cpu_seconds", 8, 0.030);
    report();
    assert_null(record_find(&record, "exit_cpu_seconds"));
}

static void the_last_look_and_its_report_count_once(void **state)
{
    (void)state;
    begin("exit_*");
    ends(7, 20, MIB);
    sampler_finish(sampler, clock_monotonic_ns());
    assert_int_equal(tree_ended_count(tree), 0);
    ends(8, 30, 2 * MIB); /* told between the two */
    report();
    of_pid_is("exit_cpu_seconds", 7, 0.020);
    of_pid_is("exit_max_rss", 7, MIB);
    of_pid_is("exit_cpu_seconds", 8, 0.030);
    number_is(&record, "exit_cpu_seconds_total", 0.050);
    number_is(&summary, "exit_cpu_seconds_total", 0.050);
    number_is(&summary, "exit_processes", 2);
}

static void a_zombie_is_not_forgotten_before_it_is_gone(void **state)
{
    (void)state;
    const struct collector *collector = NULL;
    struct pass pass;

    begin("exit_*");
    ends(7, 20, MIB);
    for (size_t i = 0; i < collector_count; i++)
        if (strcmp(collectors[i]->source.name, "exit") == 0)
            collector = collectors[i];
    context.tree = tree;
    assert_int_equal(pass_init(&pass, collector->source.field_count), 0);
    pass_begin(&pass, PASS_SAMPLE, clock_monotonic_ns());
    assert_int_equal(collector->read(NULL, &context, &pass), 0);
    assert_int_equal(pass.count, 1);
    assert_false(pass.rows[0].ended); /* its faults would be counted anew with the next sample */
    pass_fini(&pass);
}

/* ---- totals ---- */

static void totals_add_up_over_the_reports(void **state)
{
    (void)state;
    begin("exit_*");
    report();
    number_is(&record, "exit_processes", 0); /* nobody ended: that was measured */
    number_is(&record, "exit_cpu_seconds_total", 0);
    assert_null(record_find(&record, "exit_max_rss_max"));
    ends(7, 20, 3 * MIB);
    ends(8, 30, 2 * MIB);
    report();
    number_is(&record, "exit_cpu_seconds_total", 0.050);
    number_is(&record, "exit_read_bytes_total", 8192);
    number_is(&record, "exit_write_bytes_total", 1024);
    number_is(&record, "exit_minor_faults_total", 190);
    number_is(&record, "exit_major_faults_total", 10);
    number_is(&record, "exit_processes", 2);
    number_is(&record, "exit_max_rss_max", 3 * MIB);
    ends(9, 1, MIB);
    report();
    number_is(&record, "exit_cpu_seconds_total", 0.001);
    number_is(&record, "exit_max_rss_max", 3 * MIB);
    number_is(&summary, "exit_cpu_seconds_total", 0.051);
    number_is(&summary, "exit_minor_faults_total", 261);
    number_is(&summary, "exit_processes", 3);
    number_is(&summary, "exit_max_rss_max", 3 * MIB);
}

static void totals_that_were_never_whole_are_absent(void **state)
{
    (void)state;
    begin("exit_*");
    tree->told_from_start = false;
    for (int pid = 7; pid < 10; pid++) {
        ends(pid, 20, MIB);
        report();
        totals_are_absent(&record);
        totals_are_absent(&summary);
        of_pid_is("exit_cpu_seconds", pid, 0.020);
        number_is(&record, "exit_max_rss_max", MIB);
    }
}

static void an_end_that_was_missed_takes_the_totals_with_it(void **state)
{
    (void)state;
    begin("exit_*");
    ends(7, 20, MIB);
    report();
    number_is(&summary, "exit_cpu_seconds_total", 0.020);
    ended_miss(tree);
    for (int pid = 8; pid < 11; pid++) {
        ends(pid, 30, MIB);
        report();
        totals_are_absent(&record);
        totals_are_absent(&summary); /* and not what it was until then */
        of_pid_is("exit_cpu_seconds", pid, 0.030);
    }
    sampler_finish(sampler, clock_monotonic_ns());
    report();
    totals_are_absent(&record);
    totals_are_absent(&summary);
}

/* ---- others that the kernel's word serves ---- */

static void what_our_programs_took_counts_from_nothing(void **state)
{
    (void)state;
    begin("self_kernel_seconds,self_cpu_seconds");
    (void)sampler_finish(sampler, clock_monotonic_ns());
    report();
    assert_null(record_find(&record, "self_kernel_seconds")); /* there are none yet */
    assert_non_null(record_find(&record, "self_cpu_seconds"));
    sampler_set_kernel_cpu(sampler, 0.25);
    sampler_finish(sampler, clock_monotonic_ns());
    report();
    number_is(&record, "self_kernel_seconds", 0.25);
    sampler_set_kernel_cpu(sampler, 0.75);
    sampler_finish(sampler, clock_monotonic_ns());
    report();
    number_is(&record, "self_kernel_seconds", 0.5);
    number_is(&summary, "self_kernel_seconds", 0.75);
}

/* ---- set-up ---- */

static int set_up(void **state)
{
    (void)state;
    context = (struct collect_context){.proc_root = "/proc", .facts = &facts};
    record = summary = (struct record){0};
    sampler = NULL;
    tree = NULL;
    if (kernel_facts_read("/proc", &facts) < 0)
        return -1;
    return registry_init(&registry, collector_sources(), collector_count, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    sampler_free(sampler);
    tree_free(tree);
    record_fini(&record);
    record_fini(&summary);
    registry_fini(&registry);
    return 0;
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_kernel_events_everything_has_their_reason),
        TEST(events_that_came_late_leave_out_the_totals_alone),
        TEST(a_kernel_that_counts_no_io_has_none_at_the_end_either),
        TEST(one_that_ended_is_brought_with_what_it_used),
        TEST(what_was_not_told_of_it_is_absent),
        TEST(what_one_used_before_it_was_followed_is_not_counted),
        TEST(each_is_in_one_report),
        TEST(the_last_look_and_its_report_count_once),
        TEST(a_zombie_is_not_forgotten_before_it_is_gone),
        TEST(totals_add_up_over_the_reports),
        TEST(totals_that_were_never_whole_are_absent),
        TEST(an_end_that_was_missed_takes_the_totals_with_it),
        TEST(what_our_programs_took_counts_from_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
