/*
 * Made-up sources for the tests of windows, one measurement of each kind, and short ways to feed passes and
 * look at records. Times are seconds since the start of the run; the start itself is an odd monotonic stamp,
 * so that nothing works by being zero.
 */
#ifndef METRON_TESTS_WINDOW_FIXTURE_H
#define METRON_TESTS_WINDOW_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reduce/window.h"

#define FIXTURE_START_NS 987654321987ULL
#define FIXTURE_TICK_NS  10000000ULL /* 10 ms */
#define FIXTURE_ONLINE   6.0
#define FIXTURE_CORES    4.0
#define BORN_UNKNOWN     (-1.0)

enum fixture_source { SOURCE_T, SOURCE_U, SOURCE_D, SOURCE_COUNT };

/* Fields of t: of each process, then of the target. */
enum { LEVEL, CORES, OPS, STATE, NAME, TREE_CORES, GRAND, FREE, NOW, LOAD, BANNER, MOOD, T_FIELDS };
enum { U_CORES, U_LOAD, U_MACHINE, U_STALLED, U_KEPT, U_FIELDS };
enum { D_TEMPERATURE, D_ENERGY, D_FIELDS };

static const char *const fixture_t_fields[T_FIELDS] = {
    "level", "cores", "ops", "state", "name", "tree cores", "grand", "free", "now", "load", "banner", "mood"};
static const char *const fixture_u_fields[U_FIELDS] = {"cores", "load", "machine", "stalled", "kept"};
static const char *const fixture_d_fields[D_FIELDS] = {"temperature", "energy"};

#define MADE(KEY, FIELD, SCOPE, TYPE, UNIT, ...)                                                             \
    {                                                                                                        \
        .key = (KEY), .field = (FIELD), .scope = SCOPE_##SCOPE, .type = TYPE_##TYPE, .unit = UNIT_##UNIT,    \
        .meaning = "m", __VA_ARGS__                                                                          \
    }
#define BY_RATE .derive = DERIVE_RATE

static const struct measurement fixture_t_table[] = {
    MADE("t_level", LEVEL, PER_PID, GAUGE, BYTES, .reduce = REDUCE_MAX),
    MADE("t_level_total", LEVEL, SINGLE, GAUGE, BYTES, .collapse = COLLAPSE_SUM, .reduce = REDUCE_MAX),
    MADE("t_level_largest", LEVEL, SINGLE, GAUGE, BYTES, .collapse = COLLAPSE_MAX, .reduce = REDUCE_MAX),
    MADE("t_cores", CORES, PER_PID, COUNTER, PERCENT, BY_RATE, .reduce = REDUCE_MAX,
         .ceiling = CEILING_USABLE_CORES),
    MADE("t_cores_sum", CORES, SINGLE, COUNTER, PERCENT, BY_RATE, .collapse = COLLAPSE_SUM,
         .reduce = REDUCE_MAX),
    MADE("t_ops", OPS, PER_PID, COUNTER, COUNT, .reduce = REDUCE_DELTA),
    MADE("t_ops_total", OPS, SINGLE, COUNTER, COUNT, .collapse = COLLAPSE_SUM, .reduce = REDUCE_DELTA),
    MADE("t_state", STATE, PER_PID, CATEGORICAL, NONE, .reduce = REDUCE_TALLY),
    MADE("t_states", STATE, SINGLE, CATEGORICAL, NONE, .collapse = COLLAPSE_COUNT, .reduce = REDUCE_TALLY),
    MADE("t_name", NAME, PER_PID, LABEL, NONE, .reduce = REDUCE_LAST),
    MADE("t_tree_cores", TREE_CORES, SINGLE, COUNTER, PERCENT, BY_RATE, .reduce = REDUCE_MAX,
         .ceiling = CEILING_USABLE_CORES),
    MADE("t_grand", GRAND, SINGLE, COUNTER, COUNT, .reduce = REDUCE_DELTA),
    MADE("t_free", FREE, SINGLE, GAUGE, BYTES, .reduce = REDUCE_MIN),
    MADE("t_now", NOW, SINGLE, GAUGE, BYTES, .reduce = REDUCE_LAST),
    MADE("t_load", LOAD, SINGLE, GAUGE, NONE, .reduce = REDUCE_MAX),
    MADE("t_banner", BANNER, SINGLE, LABEL, NONE, .reduce = REDUCE_LAST),
    MADE("t_mood", MOOD, SINGLE, CATEGORICAL, NONE, .reduce = REDUCE_TALLY),
};
static const struct measurement fixture_u_table[] = {
    MADE("u_cores", U_CORES, SINGLE, COUNTER, PERCENT, BY_RATE, .reduce = REDUCE_MAX),
    MADE("u_load", U_LOAD, SINGLE, GAUGE, NONE, .reduce = REDUCE_MAX),
    MADE("u_machine", U_MACHINE, SINGLE, COUNTER, PERCENT, BY_RATE, .reduce = REDUCE_MAX,
         .ceiling = CEILING_ONLINE_CORES),
    MADE("u_stalled", U_STALLED, SINGLE, COUNTER, PERCENT, BY_RATE, .reduce = REDUCE_MAX,
         .ceiling = CEILING_ONE),
    MADE("u_kept", U_KEPT, SINGLE, GAUGE, BYTES, .reduce = REDUCE_MAX, .kept = true),
};
static const struct measurement fixture_d_table[] = {
    MADE("d_temperature", D_TEMPERATURE, PER_DEVICE, GAUGE, CELSIUS, .reduce = REDUCE_MAX),
    MADE("d_energy", D_ENERGY, PER_DEVICE, COUNTER, JOULES, .reduce = REDUCE_DELTA),
};

#define FIXTURE_SOURCE(NAME, FIELDS, COUNT, TABLE)                                                           \
    {                                                                                                        \
        .name = (NAME), .title = "made up", .fields = (FIELDS), .field_count = (COUNT),                      \
        .measurements = (TABLE), .measurement_count = sizeof(TABLE) / sizeof((TABLE)[0])                     \
    }
static const struct source fixture_t = FIXTURE_SOURCE("t", fixture_t_fields, T_FIELDS, fixture_t_table);
static const struct source fixture_u = FIXTURE_SOURCE("u", fixture_u_fields, U_FIELDS, fixture_u_table);
static const struct source fixture_d = FIXTURE_SOURCE("d", fixture_d_fields, D_FIELDS, fixture_d_table);
static const struct source *const fixture_sources[SOURCE_COUNT] = {&fixture_t, &fixture_u, &fixture_d};

static struct {
    struct registry registry;
    struct window *window;
    struct pass pass[SOURCE_COUNT];
    struct record record; /* of the last report or summary */
} bench;

static inline uint64_t at_ns(double seconds)
{
    return FIXTURE_START_NS + (uint64_t)llround(seconds * 1e9);
}

/* The least seconds of a rate in records and in the summary: for windows made from then on. */
static double bench_record_rate, bench_summary_rate;

static inline void bench_select(const char *list)
{
    const struct window_options options = {.start_ns = FIXTURE_START_NS,
                                           .tick_ns = FIXTURE_TICK_NS,
                                           .record_rate_ns = (uint64_t)llround(bench_record_rate * 1e9),
                                           .summary_rate_ns = (uint64_t)llround(bench_summary_rate * 1e9),
                                           .usable_cores = FIXTURE_CORES,
                                           .online_cores = FIXTURE_ONLINE};

    window_free(bench.window);
    assert_int_equal(registry_select(&bench.registry, list, NULL, NULL), 0);
    bench.window = window_new(&bench.registry, &options);
    assert_non_null(bench.window);
}

static inline int bench_setup(void **state)
{
    struct metron_error error = {0};

    (void)state;
    memset(&bench, 0, sizeof(bench));
    bench_record_rate = bench_summary_rate = 0;
    if (registry_init(&bench.registry, fixture_sources, SOURCE_COUNT, &error) < 0)
        fail_msg("%s", error.message);
    for (size_t i = 0; i < SOURCE_COUNT; i++)
        if (pass_init(&bench.pass[i], fixture_sources[i]->field_count) < 0)
            return -1;
    bench_select("all");
    return 0;
}

static inline int bench_teardown(void **state)
{
    (void)state;
    window_free(bench.window);
    record_fini(&bench.record);
    for (size_t i = 0; i < SOURCE_COUNT; i++)
        pass_fini(&bench.pass[i]);
    registry_fini(&bench.registry);
    return 0;
}

/* Begins a pass of a source; its single row is returned. */
static inline struct row *begin(enum fixture_source source, enum pass_kind kind, double seconds)
{
    pass_begin(&bench.pass[source], kind, at_ns(seconds));
    return &bench.pass[source].single;
}

static inline struct row *add_row(enum fixture_source source, uint64_t serial, int32_t id,
                                  uint32_t incarnation, double born)
{
    const struct subject subject = {
        .serial = serial, .id = id, .incarnation = incarnation, .born_ns = born < 0 ? 0 : at_ns(born)};
    struct row *row = pass_row(&bench.pass[source], &subject);

    assert_non_null(row);
    return row;
}

/* A process of source t, its pid 100 + its serial. */
static inline struct row *process(uint64_t serial, double born)
{
    return add_row(SOURCE_T, serial, (int32_t)(100 + serial), 1, born);
}

static inline void fold(enum fixture_source source)
{
    assert_int_equal(window_fold(bench.window, source, &bench.pass[source]), 0);
}

/* A pass of one source in which one single number was read. */
static inline void fold_single_number(enum fixture_source source, enum pass_kind kind, double seconds,
                                      unsigned field, double number)
{
    row_number(begin(source, kind, seconds), field, number);
    fold(source);
}

/* A pass of t in which one process had one number. */
static inline void fold_process_number(enum pass_kind kind, double seconds, uint64_t serial, double born,
                                       unsigned field, double number)
{
    (void)begin(SOURCE_T, kind, seconds);
    row_number(process(serial, born), field, number);
    fold(SOURCE_T);
}

static inline void bench_rates(double record_seconds, double summary_seconds)
{
    bench_record_rate = record_seconds;
    bench_summary_rate = summary_seconds;
    bench_select("all");
}

static inline void report(void)
{
    assert_int_equal(window_report(bench.window, &bench.record), 0);
}

static inline void summarise(void)
{
    assert_int_equal(window_summarise(bench.window, &bench.record), 0);
}

static inline const struct record_entry *entry_of(const char *key)
{
    for (size_t i = 0; i < bench.record.count; i++)
        if (strcmp(bench.record.entries[i].key, key) == 0)
            return &bench.record.entries[i];
    return NULL;
}

/* The value under `key` of the last record; `subject` as records name it, NULL for a single value. */
static inline const struct record_value *value_of(const char *key, const char *subject)
{
    const struct record_entry *entry = entry_of(key);
    char name[SUBJECT_NAME_SIZE];

    for (size_t i = 0; entry && i < entry->count; i++)
        if (!subject || strcmp(subject_name(&entry->values[i].subject, name), subject) == 0)
            return &entry->values[i];
    return NULL;
}

#define absent(KEY)                assert_null(entry_of(KEY))
#define absent_of(KEY, WHO)        assert_null(value_of((KEY), (WHO)))
#define is(KEY, NUMBER)            number_is((KEY), NULL, (NUMBER), __LINE__)
#define is_of(KEY, WHO, NUM)       number_is((KEY), (WHO), (NUM), __LINE__)
#define text_is_of(KEY, WHO, TEXT) text_is((KEY), (WHO), (TEXT), __LINE__)

static inline void number_is(const char *key, const char *subject, double wanted, int line)
{
    const struct record_value *value = value_of(key, subject);

    if (!value)
        fail_msg("line %d: %s of %s is absent, not %.12g", line, key, subject ? subject : "the target",
                 wanted);
    if (fabs(value->number - wanted) > 1e-9 * (fabs(wanted) + 1))
        fail_msg("line %d: %s of %s is %.12g, not %.12g", line, key, subject ? subject : "the target",
                 value->number, wanted);
}

static inline void text_is(const char *key, const char *subject, const char *wanted, int line)
{
    const struct record_value *value = value_of(key, subject);

    if (!value || strcmp(value->text, wanted) != 0)
        fail_msg("line %d: %s is '%s', not '%s'", line, key, value ? value->text : "(absent)", wanted);
}

/* How often `state` was tallied; 0 where it, or the key, is absent. */
static inline double tallied(const char *key, const char *subject, const char *state)
{
    const struct record_value *value = value_of(key, subject);

    for (size_t i = 0; value && i < value->tally.count; i++)
        if (strcmp(value->tally.items[i].state, state) == 0)
            return value->tally.items[i].count;
    return 0;
}

#define RULE(NAME) cmocka_unit_test_setup_teardown(NAME, bench_setup, bench_teardown)

#endif
