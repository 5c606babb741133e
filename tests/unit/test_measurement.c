/*
 * Which measurements can be. Every combination of the parts is tried against the rules of the vocabulary,
 * written down here a second time; then each rule is broken once, and must say what it is about.
 */
#include "schema/measurement.h"

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

static const char *const fields[] = {"one", "two"};
static const struct source source = {.name = "t", .title = "made up", .fields = fields, .field_count = 2};

static const struct measurement level = {
    .key = "t_level",
    .scope = SCOPE_PER_PID,
    .type = TYPE_GAUGE,
    .unit = UNIT_BYTES,
    .reduce = REDUCE_MAX,
    .meaning = "a level",
};
static const struct measurement rate = {
    .key = "t_cores",
    .type = TYPE_COUNTER,
    .unit = UNIT_PERCENT,
    .derive = DERIVE_RATE,
    .reduce = REDUCE_MAX,
    .ceiling = CEILING_USABLE_CORES,
    .meaning = "a rate",
};
static const struct measurement count = {
    .key = "t_count",
    .type = TYPE_COUNTER,
    .unit = UNIT_COUNT,
    .reduce = REDUCE_DELTA,
    .meaning = "a count",
};
static const struct measurement label = {
    .key = "t_label",
    .scope = SCOPE_PER_PID,
    .type = TYPE_LABEL,
    .reduce = REDUCE_LAST,
    .meaning = "a name",
};
static const struct measurement states = {
    .key = "t_states",
    .type = TYPE_CATEGORICAL,
    .collapse = COLLAPSE_COUNT,
    .reduce = REDUCE_TALLY,
    .meaning = "states",
};

/* What each type may be, said the other way round than the code does: as lists of what is allowed. */
static bool type_allows(const struct measurement *m)
{
    bool sum = m->collapse == COLLAPSE_SUM, max = m->collapse == COLLAPSE_MAX;
    bool none = m->collapse == COLLAPSE_NONE;

    switch (m->type) {
    case TYPE_LABEL:
        return m->reduce == REDUCE_LAST && m->derive == DERIVE_NONE && none && m->unit == UNIT_NONE;
    case TYPE_CATEGORICAL:
        if (m->unit != UNIT_NONE) /* an amount for each state */
            return m->reduce == REDUCE_TALLY && m->derive == DERIVE_NONE && none && m->unit != UNIT_PERCENT;
        return m->reduce == REDUCE_TALLY && m->derive == DERIVE_NONE &&
               (none || m->collapse == COLLAPSE_COUNT);
    case TYPE_GAUGE:
        return m->derive == DERIVE_NONE && (none || sum || max) &&
               (m->reduce == REDUCE_MAX || m->reduce == REDUCE_MIN || m->reduce == REDUCE_LAST);
    case TYPE_COUNTER:
        if (m->derive == DERIVE_RATE)
            return (none || sum || max) && (m->reduce == REDUCE_MAX || m->reduce == REDUCE_MIN) &&
                   (m->unit == UNIT_PERCENT || m->unit == UNIT_BYTES_PER_SECOND);
        return (none || sum) && m->reduce == REDUCE_DELTA && m->unit != UNIT_PERCENT;
    }
    return false;
}

static bool vocabulary_allows(const struct measurement *m)
{
    if (m->scope != SCOPE_SINGLE && m->collapse != COLLAPSE_NONE)
        return false;
    if (m->unit == UNIT_BYTES_PER_SECOND && m->derive != DERIVE_RATE)
        return false;
    if (m->ceiling != CEILING_NONE && (m->derive != DERIVE_RATE || m->unit != UNIT_PERCENT))
        return false;
    if (m->kept && m->type != TYPE_GAUGE)
        return false;
    return type_allows(m);
}

static void combination(unsigned number, struct measurement *out)
{
    static const unsigned sizes[] = {3, 4, 9, 2, 4, 5, 4, 2};
    unsigned parts[sizeof(sizes) / sizeof(sizes[0])];

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        parts[i] = number % sizes[i];
        number /= sizes[i];
    }
    *out = (struct measurement){
        .key = "t_any",
        .scope = (enum scope)parts[0],
        .type = (enum type)parts[1],
        .unit = (enum unit)parts[2],
        .derive = (enum derive)parts[3],
        .collapse = (enum collapse)parts[4],
        .reduce = (enum reduce)parts[5],
        .ceiling = (enum ceiling)parts[6],
        .kept = parts[7] != 0,
        .meaning = "any",
    };
}

static void every_combination_is_judged_as_the_vocabulary_does(void **state)
{
    (void)state;
    unsigned legal = 0;

    for (unsigned number = 0; number < 3 * 4 * 9 * 2 * 4 * 5 * 4 * 2; number++) {
        struct measurement m;
        struct metron_error error = {0};

        combination(number, &m);
        bool allowed = vocabulary_allows(&m);
        if ((measurement_check(&source, &m, &error) == 0) != allowed)
            fail_msg("%s %s %s derive %s collapse %s reduce %s ceiling %d kept %d should%s be legal: %s",
                     scope_names[m.scope], type_names[m.type], unit_name(m.unit), derive_names[m.derive],
                     collapse_names[m.collapse], reduce_names[m.reduce], (int)m.ceiling, (int)m.kept,
                     allowed ? "" : " not", error.message);
        legal += allowed;
        assert_true(allowed || (error.code == -EINVAL && strstr(error.message, "t_any")));
    }
    assert_in_range(legal, 50, 2000); /* both kinds were met */
}

static int check(const struct source *of, struct measurement m)
{
    return measurement_check(of, &m, NULL);
}

static void refused(struct measurement m, const char *why)
{
    struct metron_error error = {0};

    assert_int_equal(measurement_check(&source, &m, &error), -EINVAL);
    assert_int_equal(error.code, -EINVAL);
    if (!strstr(error.message, why))
        fail_msg("'%s' does not say '%s'", error.message, why);
    assert_non_null(strstr(error.message, "source 't'"));
    assert_int_equal(check(&source, m), -EINVAL);
}

/* Writes `base` with one or more parts changed. */
#define BUT(base, ...)                                                                                       \
    __extension__({                                                                                          \
        struct measurement m = (base);                                                                       \
        __VA_ARGS__;                                                                                         \
        m;                                                                                                   \
    })

static void the_examples_are_legal(void **state)
{
    (void)state;
    const struct measurement *const examples[] = {&level, &rate, &count, &label, &states};

    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
        assert_int_equal(measurement_check(&source, examples[i], NULL), 0);
}

static void a_label_is_text(void **state)
{
    (void)state;
    refused(BUT(label, m.reduce = REDUCE_MAX), "a label is text");
    refused(BUT(label, m.reduce = REDUCE_DELTA), "a label is text");
    refused(BUT(label, m.derive = DERIVE_RATE), "a label has no rate");
    refused(BUT(label, m.unit = UNIT_BYTES), "a label has no rate, no sum and no unit");
    refused(BUT(label, m.scope = SCOPE_SINGLE; m.collapse = COLLAPSE_SUM), "a label has no rate, no sum");
}

static void a_categorical_value_is_tallied(void **state)
{
    (void)state;
    refused(BUT(states, m.reduce = REDUCE_LAST), "tallied");
    refused(BUT(states, m.derive = DERIVE_RATE), "has no rate");
    refused(BUT(states, m.collapse = COLLAPSE_SUM), "counted, not summed");
    refused(BUT(states, m.collapse = COLLAPSE_MAX), "counted, not summed");
}

static void a_categorical_value_with_a_unit_has_amounts(void **state)
{
    (void)state;
    struct measurement m = states;

    assert_false(measurement_has_amounts(&m));
    m.unit = UNIT_SECONDS;
    assert_true(measurement_has_amounts(&m));
    assert_int_equal(measurement_check(&source, &m, NULL), -EINVAL); /* states are collapsed, amounts not */
    m.collapse = COLLAPSE_NONE;
    assert_int_equal(measurement_check(&source, &m, NULL), 0);
    m.unit = UNIT_PERCENT;
    assert_int_equal(measurement_check(&source, &m, NULL), -EINVAL);
    assert_false(measurement_has_amounts(&count));
}

static void a_gauge_is_a_level(void **state)
{
    (void)state;
    refused(BUT(level, m.derive = DERIVE_RATE), "only a counter has a rate");
    refused(BUT(level, m.reduce = REDUCE_DELTA), "a gauge is a level");
    refused(BUT(level, m.reduce = REDUCE_TALLY), "a gauge is a level");
    refused(BUT(level, m.scope = SCOPE_SINGLE; m.collapse = COLLAPSE_COUNT), "only states are counted");
}

static void a_counter_is_never_read_as_a_level(void **state)
{
    (void)state;
    refused(BUT(count, m.reduce = REDUCE_MAX), "never read as a level");
    refused(BUT(count, m.reduce = REDUCE_MIN), "never read as a level");
    refused(BUT(count, m.reduce = REDUCE_LAST), "never read as a level");
    refused(BUT(count, m.reduce = REDUCE_TALLY), "never read as a level");
    refused(BUT(count, m.collapse = COLLAPSE_MAX), "no counter");
    refused(BUT(count, m.collapse = COLLAPSE_COUNT), "only states are counted");
    refused(BUT(rate, m.reduce = REDUCE_LAST), "a rate is reduced by max or min");
    refused(BUT(rate, m.reduce = REDUCE_DELTA), "a rate is reduced by max or min");
}

static void units_fit_what_they_measure(void **state)
{
    (void)state;
    refused(BUT(level, m.unit = UNIT_BYTES_PER_SECOND), "the unit of a rate");
    refused(BUT(count, m.unit = UNIT_PERCENT), "a counter in percent must be a rate");
    refused(BUT(rate, m.unit = UNIT_BYTES; m.ceiling = CEILING_NONE), "a rate is in percent");
    refused(BUT(rate, m.unit = UNIT_BYTES_PER_SECOND), "only a rate in percent has a ceiling");
    refused(BUT(count, m.ceiling = CEILING_USABLE_CORES), "only a rate in percent has a ceiling");
    refused(BUT(level, m.ceiling = CEILING_ONE), "only a rate in percent has a ceiling");
    assert_int_equal(check(&source, BUT(rate, m.ceiling = CEILING_ONE)), 0);
}

static void only_a_gauge_is_kept_between_passes(void **state)
{
    (void)state;
    assert_int_equal(check(&source, BUT(level, m.kept = true)), 0);
    refused(BUT(count, m.kept = true), "only a gauge is kept");
    refused(BUT(rate, m.kept = true), "only a gauge is kept");
}

static void only_a_single_value_is_collapsed(void **state)
{
    (void)state;
    refused(BUT(level, m.collapse = COLLAPSE_SUM), "only a single value is collapsed");
    refused(BUT(level, m.scope = SCOPE_PER_DEVICE; m.collapse = COLLAPSE_MAX), "only a single value");
    refused(BUT(states, m.scope = SCOPE_PER_PID), "only a single value is collapsed");
}

static void a_key_belongs_to_its_source(void **state)
{
    (void)state;
    static const char longest[] =
        "t_3456789012345678901234567890123456789012345678901234567890123456789012345";

    refused(BUT(level, m.key = NULL), "(none)");
    refused(BUT(level, m.meaning = NULL), "a key and a meaning");
    refused(BUT(level, m.meaning = ""), "a key and a meaning");
    refused(BUT(level, m.key = "u_level"), "starts with its source");
    refused(BUT(level, m.key = "tlevel"), "starts with its source");
    refused(BUT(level, m.key = "t"), "starts with its source");
    refused(BUT(level, m.key = "t_"), "starts with its source");
    refused(BUT(level, m.key = longest), "too long");
    refused(BUT(level, m.field = 2), "not one of the source's");
    assert_int_equal(check(&source, BUT(level, m.field = 1)), 0);
}

static void a_source_has_at_most_64_fields(void **state)
{
    (void)state;
    struct source wide = source;

    wide.field_count = 64;
    assert_int_equal(check(&wide, BUT(level, m.field = 63)), 0);
    wide.field_count = 65;
    assert_int_equal(measurement_check(&wide, &level, NULL), -EINVAL);
}

static void the_longest_key_has_room_for_its_statistic(void **state)
{
    (void)state;
    char key[MEASUREMENT_KEY_SIZE], peak[MEASUREMENT_KEY_SIZE];
    struct measurement m = level;

    memset(key, 'x', sizeof(key));
    memcpy(key, "t_", 2);
    m.key = key;
    for (size_t length = sizeof(key) - 1; length > 2; length--) {
        key[length] = '\0';
        if (measurement_check(&source, &m, NULL) == 0)
            break;
    }
    measurement_statistic_key(&source, &m, "peak", peak);
    assert_int_equal(strlen(peak), strlen(key) + strlen("peak_"));
}

static void the_statistic_follows_the_source(void **state)
{
    (void)state;
    const struct source proc = {.name = "proc"}, sys = {.name = "sys"};
    const struct measurement rss = {.key = "proc_rss_total"}, available = {.key = "sys_mem_available"};
    char key[MEASUREMENT_KEY_SIZE];

    assert_string_equal(measurement_statistic_key(&proc, &rss, "peak", key), "proc_peak_rss_total");
    assert_string_equal(measurement_statistic_key(&proc, &rss, "ave", key), "proc_ave_rss_total");
    assert_string_equal(measurement_statistic_key(&sys, &available, "low", key), "sys_low_mem_available");
}

static void names_are_the_vocabulary(void **state)
{
    (void)state;
    assert_string_equal(scope_names[SCOPE_SINGLE], "single");
    assert_string_equal(scope_names[SCOPE_PER_PID], "per_pid");
    assert_string_equal(scope_names[SCOPE_PER_DEVICE], "per_device");
    assert_string_equal(type_names[TYPE_GAUGE], "gauge");
    assert_string_equal(type_names[TYPE_COUNTER], "counter");
    assert_string_equal(type_names[TYPE_LABEL], "label");
    assert_string_equal(type_names[TYPE_CATEGORICAL], "categorical");
    assert_string_equal(derive_names[DERIVE_NONE], "none");
    assert_string_equal(derive_names[DERIVE_RATE], "rate");
    assert_string_equal(collapse_names[COLLAPSE_NONE], "none");
    assert_string_equal(collapse_names[COLLAPSE_SUM], "sum");
    assert_string_equal(collapse_names[COLLAPSE_MAX], "max");
    assert_string_equal(collapse_names[COLLAPSE_COUNT], "count");
    assert_string_equal(reduce_names[REDUCE_MAX], "max");
    assert_string_equal(reduce_names[REDUCE_MIN], "min");
    assert_string_equal(reduce_names[REDUCE_LAST], "last");
    assert_string_equal(reduce_names[REDUCE_DELTA], "delta");
    assert_string_equal(reduce_names[REDUCE_TALLY], "tally");
}

static void a_cost_names_what_is_read(void **state)
{
    (void)state;
    char text[COST_TEXT_SIZE];

    assert_string_equal(cost_text(COST_NOTHING, text), "nothing");
    assert_string_equal(cost_text(COST_STAT, text), "stat");
    assert_string_equal(cost_text(COST_STATUS | COST_FD, text), "status+fd");
    assert_string_equal(cost_text(COST_STAT | COST_CLOCK | COST_CGROUP, text), "stat+clock+cgroup");
    assert_string_equal(cost_text(COST_PS, text), "ps");
    assert_string_equal(cost_text(COST_SYSCALLS, text), "syscalls");
    assert_string_equal(cost_text(COST_EVENTS, text), "events");
    assert_string_equal(cost_text(~0U, text), /* the longest there can be */
                        "stat+clock+statm+status+tasks+fd+limits+cmdline+system+io+smaps+cgroup+pressure+ps"
                        "+syscalls+events+gpu");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_is_judged_as_the_vocabulary_does),
        cmocka_unit_test(the_examples_are_legal),
        cmocka_unit_test(a_label_is_text),
        cmocka_unit_test(a_categorical_value_is_tallied),
        cmocka_unit_test(a_categorical_value_with_a_unit_has_amounts),
        cmocka_unit_test(a_gauge_is_a_level),
        cmocka_unit_test(a_counter_is_never_read_as_a_level),
        cmocka_unit_test(units_fit_what_they_measure),
        cmocka_unit_test(only_a_gauge_is_kept_between_passes),
        cmocka_unit_test(only_a_single_value_is_collapsed),
        cmocka_unit_test(a_key_belongs_to_its_source),
        cmocka_unit_test(a_source_has_at_most_64_fields),
        cmocka_unit_test(the_longest_key_has_room_for_its_statistic),
        cmocka_unit_test(the_statistic_follows_the_source),
        cmocka_unit_test(names_are_the_vocabulary),
        cmocka_unit_test(a_cost_names_what_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
