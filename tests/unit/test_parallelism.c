/* How many cores were busy over time, and how many CPUs are enough: against sums over the records themselves.
 */
#include "learn/parallelism.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(items) (sizeof(items) / sizeof((items)[0]))
#define NUMBER(n, v)                                                                                         \
    {                                                                                                        \
        .name = (n), .kind = FIELD_NUMBER, .number = (v)                                                     \
    }

struct span {
    double seconds, cores;
};

/* A build: configure alone, many compilers at once, the linker alone. */
static const struct span build[] = {{4, 0.9}, {1, 0.2}, {10, 7.6}, {3, 2.4}, {2, 1.0}};

static struct recording ended(struct recorded_field *fields, size_t count)
{
    return (struct recording){.status = RECORDING_ENDED, .fields = fields, .field_count = count};
}

static void make(struct parallelism *out, const struct span *spans, size_t count)
{
    double elapsed = 0;

    for (size_t i = 0; i < count; i++)
        elapsed += spans[i].seconds;
    struct recorded_field fields[] = {NUMBER("wall", elapsed)};
    struct recording recording = ended(fields, 1);
    parallelism_init(out, &recording);
    elapsed = 0;
    for (size_t i = 0; i < count; i++) {
        elapsed += spans[i].seconds;
        assert_int_equal(parallelism_add(out, elapsed, spans[i].seconds * spans[i].cores), 0);
    }
}

static void time_is_counted_by_the_nearest_number_of_cores(void **state)
{
    (void)state;
    struct parallelism made;

    make(&made, build, COUNT(build));
    assert_true(made.seconds == 20 && made.longest == 10 && made.records == 5);
    assert_true(parallelism_busy(&made, 0) == 1);
    assert_true(parallelism_busy(&made, 1) == 6);
    assert_true(parallelism_busy(&made, 2) == 3);
    assert_true(parallelism_busy(&made, 3) == 0);
    assert_true(parallelism_busy(&made, 8) == 10);
    assert_true(parallelism_busy(&made, 9) == 0 && parallelism_busy(&made, 5000) == 0);
    assert_int_equal(parallelism_most(&made), 8);
    parallelism_fini(&made);
}

static void fewer_cpus_stretch_what_kept_more_of_them_busy(void **state)
{
    (void)state;
    struct parallelism made;

    make(&made, build, COUNT(build));
    for (size_t cpus = 1; cpus <= 9; cpus++) {
        double seconds = 0;
        for (size_t i = 0; i < COUNT(build); i++)
            seconds += build[i].seconds * fmax(1, build[i].cores / (double)cpus);
        assert_float_equal(parallelism_stretch(&made, cpus), seconds / 20, 1e-12);
    }
    /* 6 CPUs: 10 s become 12.7, which is 13 % of 20 s more; 7: 10.9, 4 % */
    assert_int_equal(parallelism_enough(&made), 7);
    parallelism_fini(&made);
}

static void one_cpu_is_enough_for_what_is_hardly_parallel(void **state)
{
    (void)state;
    static const struct span idle[] = {{10, 0}}, helper[] = {{10, 1.05}}, mostly[] = {{90, 1}, {10, 1.9}},
                             two[] = {{10, 1.4}};
    struct parallelism made;

    make(&made, idle, 1);
    assert_int_equal(parallelism_enough(&made), 1);
    assert_int_equal(parallelism_most(&made), 0);
    parallelism_fini(&made);
    make(&made, helper, 1);
    assert_int_equal(parallelism_enough(&made), 1);
    parallelism_fini(&made);
    make(&made, mostly, 2);
    assert_int_equal(parallelism_enough(&made), 1);
    parallelism_fini(&made);
    make(&made, two, 1);
    assert_int_equal(parallelism_enough(&made), 2);
    parallelism_fini(&made);
}

static void long_records_may_hide_bursts(void **state)
{
    (void)state;
    static const struct span one[] = {{60, 1.2}},
                             many[] = {{10, 1.2}, {10, 0.5}, {10, 0.5}, {10, 0.5}, {10, 0.5},
                                       {10, 0.5}, {10, 0.5}, {10, 0.5}, {10, 0.5}, {10, 0.5}};
    struct parallelism made;

    make(&made, one, 1);
    assert_int_equal(parallelism_enough(&made), 2);
    assert_true(parallelism_hides_bursts(&made, 4));
    assert_false(parallelism_hides_bursts(&made, 2.4)); /* not more than is suggested */
    assert_false(parallelism_hides_bursts(&made, NAN));
    parallelism_fini(&made);
    make(&made, many, COUNT(many)); /* they show what is longer than a tenth */
    assert_false(parallelism_hides_bursts(&made, 4));
    parallelism_fini(&made);
}

static void tenths_share_a_record_that_lies_in_several(void **state)
{
    (void)state;
    static const struct span spans[] = {{15, 2}, {85, 1}};
    struct parallelism made;

    make(&made, spans, 2);
    assert_true(made.part == 10);
    assert_float_equal(made.cpu_of_parts[0], 20, 1e-9);
    assert_float_equal(made.cpu_of_parts[1], 15, 1e-9);
    assert_float_equal(made.cpu_of_parts[9], 10, 1e-9);
    parallelism_fini(&made);
}

static void groups_are_exact_where_cores_are_few(void **state)
{
    (void)state;
    static const size_t firsts[] = {0, 1, 2, 3, 5, 9, 17};

    for (size_t i = 0; i < COUNT(firsts); i++)
        assert_int_equal(parallelism_group_first(i), firsts[i]);
    for (size_t cores = 0; cores <= PARALLELISM_CORES_MAX; cores++) {
        size_t group = parallelism_group(cores);
        assert_true(group < PARALLELISM_GROUPS);
        assert_in_range(cores, parallelism_group_first(group), parallelism_group_last(group));
    }
}

static void what_is_not_measured_or_absurd_is_left_out(void **state)
{
    (void)state;
    struct recording recording = ended(NULL, 0);
    struct parallelism made;

    parallelism_init(&made, &recording);
    assert_int_equal(parallelism_add(&made, 1, NAN), 0);
    assert_int_equal(parallelism_add(&made, 2, -1), 0);
    assert_int_equal(parallelism_add(&made, 3, 1e9), 0);
    assert_int_equal(parallelism_add(&made, 3, 1), 0); /* no time has passed */
    assert_int_equal(parallelism_add(&made, NAN, 1), 0);
    assert_int_equal(parallelism_add(&made, INFINITY, 1), 0);
    assert_int_equal(made.records, 0);
    assert_true(parallelism_stretch(&made, 1) == 1);
    assert_int_equal(parallelism_add(&made, 5, PARALLELISM_CORES_MAX * 2.0), 0);
    assert_true(made.seconds == 2 && parallelism_busy(&made, PARALLELISM_CORES_MAX) == 2);
    assert_int_equal(parallelism_enough(&made), 3724); /* a tenth longer */
    parallelism_fini(&made);
}

static void a_run_without_records_is_one_record(void **state)
{
    (void)state;
    struct recorded_field fields[] = {NUMBER("wall", 100), NUMBER("cpu_seconds", 160)};
    struct recording recording = ended(fields, 2);
    struct parallelism made;

    assert_int_equal(parallelism_read(&recording, &made), 0);
    assert_int_equal(made.records, 1);
    assert_true(parallelism_busy(&made, 2) == 100);
    parallelism_fini(&made);
    recording.field_count = 1;
    assert_int_equal(parallelism_read(&recording, &made), 0);
    assert_int_equal(made.records, 0);
    parallelism_fini(&made);
}

static void the_key_is_one_that_grows_as_cpu_is_used(void **state)
{
    (void)state;
    struct recorded_key keys[] = {
        {.key = "exit_cpu_seconds_total"}, {.key = "proc_cpu_seconds"}, {.key = "cgroup_cpu_seconds"}};
    struct recorded_field fields[] = {NUMBER("cpu_seconds", 1)};
    struct recording recording = ended(fields, 1);

    assert_int_equal(parallelism_key(&recording), -1);
    recording.keys = keys;
    recording.key_count = COUNT(keys);
    assert_int_equal(parallelism_key(&recording), 1);
    fields[0].source = "cgroup_cpu_seconds"; /* the headline's, so the group is the run's own */
    assert_int_equal(parallelism_key(&recording), 2);
    fields[0].source = "exit_cpu_seconds_total";
    assert_int_equal(parallelism_key(&recording), 1);
}

static void a_shortage_of_cpu_is_its_own_or_perhaps_that_of_others(void **state)
{
    (void)state;
    struct recorded_field fields[] = {
        NUMBER("stall.cpu.share", 0.5),
        {.name = "stall.cpu.of", .kind = FIELD_TEXT, .text = "run"},
        NUMBER("wall", 100),
        NUMBER("cgroup_cpu_throttled_seconds", 0),
        NUMBER("sys_ave_cpu_pct", 390),
        NUMBER("system.cpu_total", 4),
    };
    struct recording recording = ended(fields, COUNT(fields));
    struct cpu_shortage shortage = cpu_shortage_of(&recording);

    assert_true(cpu_shortage_is_long(&shortage) && !cpu_shortage_is_possible(&shortage));
    fields[1].text = "machine";
    shortage = cpu_shortage_of(&recording);
    assert_true(!cpu_shortage_is_long(&shortage) && cpu_shortage_is_possible(&shortage));
    fields[3].number = 2; /* of 100 s */
    shortage = cpu_shortage_of(&recording);
    assert_true(cpu_shortage_is_long(&shortage) && !cpu_shortage_is_possible(&shortage));
    fields[0].number = fields[3].number = 0;
    shortage = cpu_shortage_of(&recording);
    assert_false(cpu_shortage_is_long(&shortage) || cpu_shortage_is_possible(&shortage));
    fields[0].number = -1; /* no pressure is known: the machine's use is */
    shortage = cpu_shortage_of(&recording);
    assert_true(!cpu_shortage_is_long(&shortage) && cpu_shortage_is_possible(&shortage));
    fields[4].number = 200;
    shortage = cpu_shortage_of(&recording);
    assert_false(cpu_shortage_is_long(&shortage) || cpu_shortage_is_possible(&shortage));
    recording.field_count = 0;
    shortage = cpu_shortage_of(&recording);
    assert_true(isnan(shortage.waited) && isnan(shortage.others) && isnan(shortage.throttled));
    assert_false(cpu_shortage_is_long(&shortage) || cpu_shortage_is_possible(&shortage));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_counted_by_the_nearest_number_of_cores),
        cmocka_unit_test(fewer_cpus_stretch_what_kept_more_of_them_busy),
        cmocka_unit_test(one_cpu_is_enough_for_what_is_hardly_parallel),
        cmocka_unit_test(long_records_may_hide_bursts),
        cmocka_unit_test(tenths_share_a_record_that_lies_in_several),
        cmocka_unit_test(groups_are_exact_where_cores_are_few),
        cmocka_unit_test(what_is_not_measured_or_absurd_is_left_out),
        cmocka_unit_test(a_run_without_records_is_one_record),
        cmocka_unit_test(the_key_is_one_that_grows_as_cpu_is_used),
        cmocka_unit_test(a_shortage_of_cpu_is_its_own_or_perhaps_that_of_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
