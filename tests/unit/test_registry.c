/* All measurements of a table, and the choice among them. */
#include "schema/registry.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const fields[] = {"one", "two", "three"};

#define LEVEL(KEY, FIELD, COST)                                                                              \
    {                                                                                                        \
        .key = (KEY), .field = (FIELD), .scope = SCOPE_PER_PID, .unit = UNIT_BYTES, .cost = (COST),          \
        .meaning = "a level"                                                                                 \
    }

static const struct measurement proc_table[] = {
    LEVEL("proc_rss", 0, COST_STATM),
    LEVEL("proc_vsz", 1, COST_STAT),
    LEVEL("proc_hwm", 2, COST_STATUS),
    LEVEL("proc_fds", 2, COST_FD),
    LEVEL("proc_clock", 2, COST_CLOCK | COST_STAT),
};
static const struct measurement sys_table[] = {
    LEVEL("sys_load", 0, COST_SYSTEM),
    LEVEL("sys_free", 1, COST_NOTHING),
};
static const struct measurement ps_table[] = {
    LEVEL("ps_rss", 0, COST_STAT),
    LEVEL("ps_vsz", 1, COST_STATUS),
};

#define SOURCE(NAME, TABLE)                                                                                  \
    {                                                                                                        \
        .name = (NAME), .title = "made up", .fields = fields, .field_count = 3, .measurements = (TABLE),     \
        .measurement_count = sizeof(TABLE) / sizeof((TABLE)[0])                                              \
    }

static const struct source proc = SOURCE("proc", proc_table);
static const struct source sys = SOURCE("sys", sys_table);
static const struct source ps = SOURCE("ps", ps_table);
static const struct source *const sources[] = {&proc, &sys, &ps};
static const bool opt_in[] = {false, false, true};

static struct registry registry;

static int setup(void **state)
{
    (void)state;
    return registry_init(&registry, sources, 3, NULL);
}

static int teardown(void **state)
{
    (void)state;
    registry_fini(&registry);
    return 0;
}

/* What cannot be read here, as a survey fills it in: by field. */
static const char *const everything_is_there[3];
static const char *const nothing_is_there[3] = {"no such file here", "no such file here",
                                                "no such file here"};

/* Makes the source `sys` unavailable for the rest of the test. */
static void take_sys_away(void)
{
    registry_set_reasons(&registry, 1, nothing_is_there);
}

/* The keys selected by `list`, in the order of the table, joined by spaces. */
static const char *selected(const char *list)
{
    static char text[512];
    struct metron_error error = {0};
    size_t length = 0;

    text[0] = '\0';
    if (registry_select(&registry, list, opt_in, &error) < 0)
        fail_msg("'%s': %s", list, error.message);
    for (size_t i = 0; i < registry.count; i++)
        if (registry.entries[i].selected)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", length ? " " : "",
                                       registry.entries[i].measurement->key);
    return text;
}

/* The message with which `list` is refused. */
static const char *refused(const char *list)
{
    static struct metron_error error;

    error = (struct metron_error){0};
    assert_int_equal(registry_select(&registry, list, opt_in, &error), -EINVAL);
    assert_int_equal(error.code, -EINVAL);
    return error.message;
}

static void entries_stand_in_the_order_of_the_tables(void **state)
{
    (void)state;
    assert_int_equal(registry.count, 9);
    assert_string_equal(registry.entries[0].measurement->key, "proc_rss");
    assert_string_equal(registry.entries[8].measurement->key, "ps_vsz");
    assert_int_equal(registry.entries[5].source_index, 1);
    assert_ptr_equal(registry.entries[5].source, &sys);
    assert_false(registry.entries[0].selected);
}

static void a_key_is_found_by_its_whole_name(void **state)
{
    (void)state;
    const struct registry_entry *entry = registry_find(&registry, "sys_free");

    assert_non_null(entry);
    assert_ptr_equal(entry->measurement, &sys_table[1]);
    assert_null(registry_find(&registry, "sys_fre"));
    assert_null(registry_find(&registry, "sys_*"));
    assert_null(registry_find(&registry, ""));
}

static void init_refuses(const struct source *a, const struct source *b, const char *why)
{
    const struct source *const both[] = {a, b};
    struct registry wrong;
    struct metron_error error = {0};

    assert_int_equal(registry_init(&wrong, both, 2, &error), -EINVAL);
    if (!strstr(error.message, why))
        fail_msg("'%s' does not say '%s'", error.message, why);
    registry_fini(&wrong); /* safe after a failure */
}

static void a_key_defined_twice_is_refused(void **state)
{
    (void)state;
    static const struct measurement again[] = {LEVEL("proc_vsz", 1, COST_STAT)};
    static const struct source other = SOURCE("proc", again);

    init_refuses(&proc, &other, "'proc_vsz' is defined twice");
}

static void a_key_named_as_a_statistic_of_another_is_refused(void **state)
{
    (void)state;
    static const struct measurement peak[] = {LEVEL("proc_peak_rss", 0, COST_STAT)};
    static const struct measurement mean[] = {LEVEL("proc_ave_rss", 0, COST_STAT)};
    static const struct measurement low[] = {LEVEL("proc_low_rss", 0, COST_STAT)};
    static const struct source others[] = {SOURCE("proc", peak), SOURCE("proc", mean), SOURCE("proc", low)};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        init_refuses(&proc, &others[i], "the name of a statistic of 'proc_rss'");
}

static void an_illegal_measurement_is_refused_at_the_start(void **state)
{
    (void)state;
    static const struct measurement illegal[] = {
        {.key = "ps_count", .type = TYPE_COUNTER, .reduce = REDUCE_MAX, .meaning = "a counter as a level"}};
    static const struct source other = SOURCE("ps", illegal);

    init_refuses(&proc, &other, "'ps_count'");
}

static void keys_are_selected_by_name(void **state)
{
    (void)state;
    assert_string_equal(selected("proc_vsz"), "proc_vsz");
    assert_string_equal(selected("sys_load,proc_rss"), "proc_rss sys_load");
    assert_string_equal(selected(" proc_rss ,, sys_load\t"), "proc_rss sys_load");
    assert_string_equal(selected("proc_rss,proc_rss"), "proc_rss");
    assert_string_equal(selected("ps_vsz"), "ps_vsz"); /* opt-in, but named */
}

static void a_new_selection_replaces_the_old(void **state)
{
    (void)state;
    (void)selected("all");
    assert_string_equal(selected("proc_rss"), "proc_rss");
}

static void globs_match_whole_keys(void **state)
{
    (void)state;
    assert_string_equal(selected("*_rss"), "proc_rss ps_rss");
    assert_string_equal(selected("sys_*"), "sys_load sys_free");
    assert_string_equal(selected("p?_*"), "ps_rss ps_vsz");
    assert_string_equal(selected("proc_???"), "proc_rss proc_vsz proc_hwm proc_fds");
}

static void the_group_all_takes_everything(void **state)
{
    (void)state;
    assert_string_equal(selected("all"),
                        "proc_rss proc_vsz proc_hwm proc_fds proc_clock sys_load sys_free ps_rss ps_vsz");
}

static void the_group_default_leaves_out_what_is_opt_in(void **state)
{
    (void)state;
    assert_string_equal(selected("default"),
                        "proc_rss proc_vsz proc_hwm proc_fds proc_clock sys_load sys_free");
    assert_string_equal(selected("default,ps_rss"),
                        "proc_rss proc_vsz proc_hwm proc_fds proc_clock sys_load sys_free ps_rss");
}

static void the_group_minimal_takes_only_the_cheapest_files(void **state)
{
    (void)state;
    assert_string_equal(selected("minimal"), "proc_vsz proc_clock sys_free");
    assert_string_equal(selected("minimal,proc_fds"), "proc_vsz proc_fds proc_clock sys_free");
}

static void without_opt_in_flags_nothing_is_opt_in(void **state)
{
    (void)state;
    assert_int_equal(registry_select(&registry, "default", NULL, NULL), 0);
    assert_true(registry_find(&registry, "ps_rss")->selected);
}

static void groups_and_globs_skip_what_is_unavailable(void **state)
{
    (void)state;
    take_sys_away();
    assert_string_equal(selected("default"), "proc_rss proc_vsz proc_hwm proc_fds proc_clock");
    assert_string_equal(selected("*_load,proc_rss"), "proc_rss");
    assert_string_equal(selected("s*"), "");
}

static void an_unavailable_key_named_in_full_is_an_error_with_the_reason(void **state)
{
    (void)state;
    take_sys_away();
    const char *message = refused("proc_rss,sys_load");

    assert_non_null(strstr(message, "'sys_load'"));
    assert_non_null(strstr(message, "no such file here"));
}

static void a_reason_takes_out_the_measurements_of_its_field_alone(void **state)
{
    (void)state;
    static const char *const second[3] = {[1] = "the kernel does not tell"};

    registry_set_reasons(&registry, 0, second);
    assert_string_equal(selected("proc_*"), "proc_rss proc_hwm proc_fds proc_clock");
    assert_null(registry_find(&registry, "proc_rss")->reason);
    assert_string_equal(registry_find(&registry, "proc_vsz")->reason, "the kernel does not tell");
    assert_null(registry_find(&registry, "sys_free")->reason); /* the same field, but of another source */
    assert_non_null(strstr(refused("proc_vsz"), "the kernel does not tell"));
    registry_set_reasons(&registry, 0, everything_is_there);
    assert_string_equal(selected("proc_vsz"), "proc_vsz");
}

static void a_source_is_unavailable_only_if_all_of_it_is(void **state)
{
    (void)state;
    static const char *const first[3] = {"no file", NULL, NULL}, *const both[3] = {"no file", "no right",
                                                                                   NULL};

    assert_null(registry_source_reason(&registry, 1));
    registry_set_reasons(&registry, 1, first);
    assert_null(registry_source_reason(&registry, 1));
    registry_set_reasons(&registry, 1, both); /* nobody measures the third field */
    assert_string_equal(registry_source_reason(&registry, 1), "no file");
    assert_null(registry_source_reason(&registry, 0));
    assert_null(registry_source_reason(&registry, 2));
}

static void an_unknown_key_is_an_error_with_the_nearest_names(void **state)
{
    (void)state;
    const char *message = refused("proc_rsz");

    assert_non_null(strstr(message, "'proc_rsz'"));
    assert_non_null(strstr(message, "'proc_rss'"));
    assert_non_null(strstr(message, "'proc_vsz'"));
    assert_null(strstr(message, "'sys_load'"));
    assert_non_null(strstr(message, "metron measurements"));
    /* the nearest stands first */
    message = refused("proc_fdss");
    assert_non_null(strstr(message, "near it: 'proc_fds'"));
}

static void part_of_a_key_names_the_keys_that_hold_it(void **state)
{
    (void)state;
    assert_non_null(strstr(refused("load"), "'sys_load'"));
    assert_non_null(strstr(refused("clock"), "'proc_clock'"));
}

static void a_name_unlike_any_other_suggests_nothing(void **state)
{
    (void)state;
    const char *message = refused("quuxquuxquux");

    assert_null(strstr(message, "near it"));
    assert_null(strstr(message, "proc_"));
}

static void a_glob_that_matches_no_key_is_an_error(void **state)
{
    (void)state;
    assert_non_null(strstr(refused("gpu_*"), "'gpu_*'"));
}

static void a_name_with_odd_bytes_is_shown_harmlessly(void **state)
{
    (void)state;
    const char *message = refused("proc_\033[31mrss");

    assert_null(strchr(message, '\033'));
    assert_non_null(strstr(message, "\\x1b"));
}

static void an_empty_list_is_an_error(void **state)
{
    (void)state;
    assert_non_null(strstr(refused(""), "empty"));
    assert_non_null(strstr(refused(" , ,\t"), "empty"));
}

static void the_cost_is_the_union_of_what_is_selected(void **state)
{
    (void)state;
    bool any = false;

    (void)selected("proc_rss,proc_clock,sys_free");
    assert_int_equal(registry_cost(&registry, 0, &any), COST_STATM | COST_CLOCK | COST_STAT);
    assert_true(any);
    assert_int_equal(registry_cost(&registry, 1, &any), COST_NOTHING);
    assert_true(any); /* it costs nothing, but it is wanted */
    assert_int_equal(registry_cost(&registry, 2, &any), COST_NOTHING);
    assert_false(any);
    assert_int_equal(registry_cost(&registry, 0, NULL), COST_STATM | COST_CLOCK | COST_STAT);
}

static void the_fields_are_those_of_what_is_selected(void **state)
{
    (void)state;
    (void)selected("proc_rss,sys_free");
    assert_int_equal(registry_fields(&registry, 0), 1 << 0);
    assert_int_equal(registry_fields(&registry, 1), 1 << 1);
    assert_int_equal(registry_fields(&registry, 2), 0);
    (void)selected("proc_*");
    assert_int_equal(registry_fields(&registry, 0), 1 << 0 | 1 << 1 | 1 << 2);
    assert_int_equal(registry_fields(&registry, 1), 0);
}

static void a_cost_is_asked_of_all_sources_together(void **state)
{
    (void)state;
    (void)selected("proc_vsz,sys_load");
    assert_true(registry_costs(&registry, COST_STAT));
    assert_true(registry_costs(&registry, COST_SYSTEM));
    assert_true(registry_costs(&registry, COST_FD | COST_STAT)); /* one of them */
    assert_false(registry_costs(&registry, COST_FD | COST_STATUS));
    assert_false(registry_costs(&registry, COST_NOTHING));
}

#define RULE(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(entries_stand_in_the_order_of_the_tables),
        RULE(a_key_is_found_by_its_whole_name),
        RULE(a_key_defined_twice_is_refused),
        RULE(a_key_named_as_a_statistic_of_another_is_refused),
        RULE(an_illegal_measurement_is_refused_at_the_start),
        RULE(keys_are_selected_by_name),
        RULE(a_new_selection_replaces_the_old),
        RULE(globs_match_whole_keys),
        RULE(the_group_all_takes_everything),
        RULE(the_group_default_leaves_out_what_is_opt_in),
        RULE(the_group_minimal_takes_only_the_cheapest_files),
        RULE(without_opt_in_flags_nothing_is_opt_in),
        RULE(groups_and_globs_skip_what_is_unavailable),
        RULE(an_unavailable_key_named_in_full_is_an_error_with_the_reason),
        RULE(a_reason_takes_out_the_measurements_of_its_field_alone),
        RULE(a_source_is_unavailable_only_if_all_of_it_is),
        RULE(an_unknown_key_is_an_error_with_the_nearest_names),
        RULE(part_of_a_key_names_the_keys_that_hold_it),
        RULE(a_name_unlike_any_other_suggests_nothing),
        RULE(a_glob_that_matches_no_key_is_an_error),
        RULE(a_name_with_odd_bytes_is_shown_harmlessly),
        RULE(an_empty_list_is_an_error),
        RULE(the_cost_is_the_union_of_what_is_selected),
        RULE(the_fields_are_those_of_what_is_selected),
        RULE(a_cost_is_asked_of_all_sources_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
