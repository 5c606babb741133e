/* Amounts per state ({read: 120}) from cumulative readings to records, and what is kept of those that ended.
 */
#include "reduce/window.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define START_NS 987654321987ULL

enum { CALLS, SECONDS, CALLS_TOTAL, ERRORS_TOTAL, OPS, PEAK, FIELD_COUNT };
static const char *const fields[FIELD_COUNT] = {"calls", "seconds", "calls", "errors", "ops", "peak"};

#define AMOUNTS(KEY, FIELD, SCOPE, UNIT)                                                                     \
    {                                                                                                        \
        .key = (KEY), .field = (FIELD), .scope = (SCOPE), .type = TYPE_CATEGORICAL, .unit = (UNIT),          \
        .reduce = REDUCE_TALLY, .meaning = "m"                                                               \
    }
static const struct measurement table[] = {
    AMOUNTS("a_calls", CALLS, SCOPE_PER_PID, UNIT_COUNT),
    AMOUNTS("a_seconds", SECONDS, SCOPE_PER_PID, UNIT_SECONDS),
    AMOUNTS("a_calls_total", CALLS_TOTAL, SCOPE_SINGLE, UNIT_COUNT),
    AMOUNTS("a_errors_total", ERRORS_TOTAL, SCOPE_SINGLE, UNIT_COUNT),
    {.key = "a_ops",
     .field = OPS,
     .scope = SCOPE_PER_PID,
     .type = TYPE_COUNTER,
     .unit = UNIT_COUNT,
     .reduce = REDUCE_DELTA,
     .meaning = "m"},
    {.key = "a_ops_total",
     .field = OPS,
     .type = TYPE_COUNTER,
     .unit = UNIT_COUNT,
     .collapse = COLLAPSE_SUM,
     .reduce = REDUCE_DELTA,
     .meaning = "m"},
    {.key = "a_peak",
     .field = PEAK,
     .scope = SCOPE_PER_PID,
     .type = TYPE_GAUGE,
     .unit = UNIT_BYTES,
     .reduce = REDUCE_LAST,
     .meaning = "m"},
};
static const struct source source = {.name = "a",
                                     .title = "made up",
                                     .fields = fields,
                                     .field_count = FIELD_COUNT,
                                     .measurements = table,
                                     .measurement_count = sizeof(table) / sizeof(table[0])};
static const struct source *const sources[] = {&source};

static struct registry registry;
static struct window *window;
static struct pass pass;
static struct record record;
static struct strbuf text = STRBUF_INIT;
static uint64_t now_ns;

static int setup(void **state)
{
    const struct window_options options = {.start_ns = START_NS, .tick_ns = 10000000};

    (void)state;
    now_ns = START_NS;
    if (registry_init(&registry, sources, 1, NULL) < 0 || registry_select(&registry, "all", NULL, NULL) < 0 ||
        pass_init(&pass, FIELD_COUNT) < 0)
        return -1;
    window = window_new(&registry, &options);
    return window ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    window_free(window);
    record_fini(&record);
    pass_fini(&pass);
    registry_fini(&registry);
    strbuf_fini(&text);
    return 0;
}

static void begin(enum pass_kind kind)
{
    now_ns += 1000000000;
    pass_begin(&pass, kind, now_ns);
}

static void fold(void)
{
    assert_int_equal(window_fold(window, 0, &pass), 0);
}

static struct row *process(uint64_t serial)
{
    const struct subject subject = {
        .serial = serial, .id = (int32_t)(100 + serial), .incarnation = 1, .born_ns = now_ns - 1000};
    struct row *row = pass_row(&pass, &subject);

    assert_non_null(row);
    return row;
}

/* The amounts of a pass live until it is folded: one set per row and field. */
#define READING(NAME, ...)                                                                                   \
    const struct amount NAME##_items[] = {__VA_ARGS__};                                                      \
    const struct amounts NAME = {NAME##_items, sizeof(NAME##_items) / sizeof(NAME##_items[0])}

static const char *json_of(const char *key)
{
    const struct record_entry *entry = record_find(&record, key);
    struct json json;

    if (!entry)
        return "absent";
    strbuf_reset(&text);
    json_init(&json, &text, 0);
    record_entry_json(&json, entry);
    return strbuf_text(&text);
}

static void report(void)
{
    assert_int_equal(window_report(window, &record), 0);
}

static void summarise(void)
{
    assert_int_equal(window_summarise(window, &record), 0);
}

static void single(enum pass_kind kind, unsigned field, const struct amounts *amounts)
{
    begin(kind);
    row_amounts(&pass.single, field, amounts);
    fold();
}

static void a_window_has_what_was_added_per_state_the_largest_first(void **state)
{
    (void)state;
    READING(first, {"write", 3}, {"read", 120});
    READING(second, {"close", 1}, {"write", 13}, {"read", 121});

    single(PASS_SAMPLE, CALLS_TOTAL, &first);
    report();
    assert_string_equal(json_of("a_calls_total"), "{\"read\":120,\"write\":3}");
    single(PASS_SAMPLE, CALLS_TOTAL, &second);
    report();
    assert_string_equal(json_of("a_calls_total"), "{\"write\":10,\"close\":1,\"read\":1}");
}

static void a_state_that_did_not_change_is_left_out(void **state)
{
    (void)state;
    READING(first, {"read", 5}, {"write", 3});
    READING(second, {"read", 5}, {"write", 4});

    single(PASS_SAMPLE, CALLS_TOTAL, &first);
    report();
    single(PASS_SAMPLE, CALLS_TOTAL, &second);
    report();
    assert_string_equal(json_of("a_calls_total"), "{\"write\":1}");
    single(PASS_SAMPLE, CALLS_TOTAL, &second);
    report();
    assert_string_equal(json_of("a_calls_total"), "{}"); /* measured: nothing */
    report();
    assert_string_equal(json_of("a_calls_total"), "absent"); /* not measured */
}

static void several_passes_of_a_window_add_up(void **state)
{
    (void)state;
    READING(first, {"read", 5});
    READING(second, {"read", 7}, {"write", 1});

    single(PASS_SAMPLE, CALLS_TOTAL, &first);
    single(PASS_SAMPLE, CALLS_TOTAL, &second);
    single(PASS_FINAL, CALLS_TOTAL, &second);
    report();
    assert_string_equal(json_of("a_calls_total"), "{\"read\":7,\"write\":1}");
}

static void the_summary_has_the_whole_of_single_keys(void **state)
{
    (void)state;
    READING(first, {"read", 5}, {"write", 3});
    READING(second, {"read", 50}, {"write", 3}, {"close", 1});
    READING(none_at_all, {"read", 0});

    for (int i = 0; i < 2; i++) {
        begin(i ? PASS_FINAL : PASS_SAMPLE);
        row_amounts(&pass.single, CALLS_TOTAL, i ? &second : &first);
        row_amounts(&pass.single, ERRORS_TOTAL, &none_at_all);
        row_amounts(process(1), CALLS, &first);
        fold();
        report();
    }
    summarise();
    assert_string_equal(json_of("a_calls_total"), "{\"read\":50,\"write\":3,\"close\":1}");
    assert_string_equal(json_of("a_errors_total"), "{}");
    assert_string_equal(json_of("a_calls"), "absent");
}

static void what_was_there_before_the_start_is_not_counted(void **state)
{
    (void)state;
    READING(before, {"read", 1000});
    READING(after, {"read", 1002}, {"write", 1});

    single(PASS_SEED, CALLS_TOTAL, &before);
    report();
    assert_string_equal(json_of("a_calls_total"), "absent");
    single(PASS_SAMPLE, CALLS_TOTAL, &after);
    report();
    assert_string_equal(json_of("a_calls_total"), "{\"read\":2,\"write\":1}");
    summarise();
    assert_string_equal(json_of("a_calls_total"), "{\"read\":2,\"write\":1}");
}

static void a_state_that_fell_starts_anew(void **state)
{
    (void)state;
    READING(first, {"read", 100}, {"write", 10});
    READING(second, {"read", 7}, {"write", 11});

    single(PASS_SAMPLE, CALLS_TOTAL, &first);
    report();
    single(PASS_SAMPLE, CALLS_TOTAL, &second);
    report();
    assert_string_equal(json_of("a_calls_total"), "{\"read\":7,\"write\":1}");
    summarise();
    assert_string_equal(json_of("a_calls_total"), "{\"read\":107,\"write\":11}");
}

static void seconds_are_told_to_the_nanosecond(void **state)
{
    (void)state;
    READING(first, {"futex", 12345.1234567}, {"read", 0.1});
    READING(second, {"futex", 12345.123456709}, {"read", 0.3});

    for (int i = 0; i < 2; i++) {
        begin(PASS_SAMPLE);
        row_amounts(process(1), SECONDS, i ? &second : &first);
        fold();
        report();
    }
    assert_string_equal(json_of("a_seconds"), "{\"101\":{\"read\":0.2,\"futex\":9e-09}}");
}

static void each_process_has_its_own_and_one_without_is_left_out(void **state)
{
    (void)state;
    READING(one, {"read", 5});
    READING(two, {"write", 2}, {"read", 1});

    for (int i = 0; i < 2; i++) {
        begin(PASS_SAMPLE);
        row_amounts(process(1), CALLS, &one);
        row_amounts(process(2), CALLS, i ? &two : &one);
        fold();
        report();
        if (i == 0)
            assert_string_equal(json_of("a_calls"), "{\"101\":{\"read\":5},\"102\":{\"read\":5}}");
    }
    /* the first did nothing; the second's reads fell from 5 to 1 */
    assert_string_equal(json_of("a_calls"), "{\"102\":{\"write\":2,\"read\":1}}");
    begin(PASS_SAMPLE);
    row_amounts(process(1), CALLS, &one);
    fold();
    report();
    assert_string_equal(json_of("a_calls"), "absent");
}

static void the_names_of_states_may_go_after_the_pass(void **state)
{
    (void)state;
    char name[8] = "read";
    READING(reading, {name, 5});

    single(PASS_SAMPLE, CALLS_TOTAL, &reading);
    memset(name, 'x', sizeof(name) - 1);
    report();
    assert_string_equal(json_of("a_calls_total"), "{\"read\":5}");
}

static void many_states_in_changing_order_are_told_apart(void **state)
{
    (void)state;
    enum { STATES = 300 };
    char names[STATES][16];
    struct amount items[STATES];
    const struct amounts amounts = {items, STATES};

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < STATES; i++) {
            int which = round ? STATES - 1 - i : i * 7 % STATES; /* 7 and 300 share no divisor: each once */
            (void)snprintf(names[i], sizeof(names[i]), "call_%d", which);
            items[i] = (struct amount){names[i], (double)(which + 1) * (1 + 2 * round)};
        }
        single(PASS_SAMPLE, CALLS_TOTAL, &amounts);
    }
    report();
    const struct record_value *value = &record_find(&record, "a_calls_total")->values[0];
    assert_int_equal(value->tally.count, STATES);
    for (int i = 0; i < STATES; i++) {
        (void)snprintf(names[0], sizeof(names[0]), "call_%d", STATES - 1 - i);
        assert_string_equal(value->tally.items[i].state, names[0]);
        assert_float_equal(value->tally.items[i].count, (float)(3 * (STATES - i)), 0);
    }
}

/* ---- those that ended ---- */

static void what_is_brought_after_the_end_counts_in_that_window(void **state)
{
    (void)state;
    READING(first, {"read", 5});
    READING(last, {"read", 9}, {"exit", 1});

    begin(PASS_SAMPLE);
    row_amounts(process(1), CALLS, &first);
    fold();
    report();
    window_end_subject(window, 1);
    begin(PASS_SAMPLE);
    row_amounts(process(1), CALLS, &last);
    fold();
    report();
    assert_string_equal(json_of("a_calls"), "{\"101\":{\"read\":4,\"exit\":1}}");
    report();
    assert_string_equal(json_of("a_calls"), "absent");
}

/* All that is ever heard of a short process: one row, when it has ended already. */
static void bring_once(uint64_t serial, bool ended)
{
    READING(calls, {"read", 5}, {"exit", 1});
    struct row *row = process(serial);

    row_amounts(row, CALLS, &calls);
    row_number(row, OPS, 42);
    row_number(row, PEAK, 4096);
    row->ended = ended;
    fold();
}

static void check_brought_once(void)
{
    report();
    assert_string_equal(json_of("a_calls"), "{\"101\":{\"read\":5,\"exit\":1}}");
    assert_string_equal(json_of("a_ops"), "{\"101\":42}");
    assert_string_equal(json_of("a_ops_total"), "42");
    assert_string_equal(json_of("a_peak"), "{\"101\":4096}");
    report();
    assert_int_equal(record.count, 0);
}

static void a_process_first_heard_of_after_its_end_has_its_full_value(void **state)
{
    (void)state;
    window_end_subject(window, 1);
    begin(PASS_SAMPLE);
    bring_once(1, false);
    check_brought_once();
}

static void a_row_may_itself_say_that_it_is_the_last(void **state)
{
    (void)state;
    window_end_subject(window, 1);
    report(); /* its end was announced long ago */
    begin(PASS_SAMPLE);
    bring_once(1, true);
    check_brought_once();
}

static void a_last_row_that_is_brought_twice_in_a_window_counts_once(void **state)
{
    (void)state;
    begin(PASS_FINAL);
    bring_once(1, true);
    begin(PASS_SAMPLE);
    bring_once(1, true);
    check_brought_once();
}

/* Were anything of it remembered, the second time would be no increment. */
static void nothing_is_remembered_after_the_report(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        begin(PASS_SAMPLE);
        bring_once(1, true);
        check_brought_once();
    }
}

static void the_living_are_remembered(void **state)
{
    (void)state;
    begin(PASS_SAMPLE);
    bring_once(1, false);
    check_brought_once();
    begin(PASS_SAMPLE);
    bring_once(1, false);
    report();
    assert_string_equal(json_of("a_calls"), "absent");
    assert_string_equal(json_of("a_ops"), "{\"101\":0}");
}

static void processes_that_come_and_go_take_no_memory_with_them(void **state)
{
    (void)state;
    enum { PROCESSES = 2000, WINDOWS = 12 };
    uint64_t serial = 0;
    size_t settled = 0;

    for (int i = 0; i < WINDOWS; i++) {
        for (int j = 0; j < PROCESSES; j++) {
            serial++;
            begin(PASS_SAMPLE);
            if (j % 2)
                window_end_subject(window, serial);
            bring_once(serial, j % 2 == 0);
        }
        report();
        assert_int_equal(record_find(&record, "a_ops")->count, PROCESSES);
        if (i == 1)
            settled = mallinfo2().uordblks;
    }
    size_t used = mallinfo2().uordblks;
    if (used > settled + (size_t)4 * PROCESSES) /* the allocator keeps some small ones at hand */
        fail_msg("%zu bytes more than ten windows before", used - settled);
}

#define HOLDS(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOLDS(a_window_has_what_was_added_per_state_the_largest_first),
        HOLDS(a_state_that_did_not_change_is_left_out),
        HOLDS(several_passes_of_a_window_add_up),
        HOLDS(the_summary_has_the_whole_of_single_keys),
        HOLDS(what_was_there_before_the_start_is_not_counted),
        HOLDS(a_state_that_fell_starts_anew),
        HOLDS(seconds_are_told_to_the_nanosecond),
        HOLDS(each_process_has_its_own_and_one_without_is_left_out),
        HOLDS(the_names_of_states_may_go_after_the_pass),
        HOLDS(many_states_in_changing_order_are_told_apart),
        HOLDS(what_is_brought_after_the_end_counts_in_that_window),
        HOLDS(a_process_first_heard_of_after_its_end_has_its_full_value),
        HOLDS(a_row_may_itself_say_that_it_is_the_last),
        HOLDS(a_last_row_that_is_brought_twice_in_a_window_counts_once),
        HOLDS(nothing_is_remembered_after_the_report),
        HOLDS(the_living_are_remembered),
        HOLDS(processes_that_come_and_go_take_no_memory_with_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
