/* When samples are due. */
#include "loop/ticker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS    1000000ULL
#define START (5000 * MS)

static struct ticker ticker;

/* Milliseconds since the start at which the next sample is due. */
static uint64_t due_ms(void)
{
    return (ticker.next_ns - START) / MS;
}

static uint64_t serve_at_ms(uint64_t ms)
{
    return ticker_advance(&ticker, START + ms * MS);
}

static void the_first_interval_has_one_early_deadline(void **state)
{
    (void)state;
    static const uint64_t due[] = {100, 1000, 2000, 3000};

    ticker_init(&ticker, START, 1000 * MS);
    for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
        assert_int_equal(due_ms(), due[i]);
        assert_int_equal(ticker_advance(&ticker, ticker.next_ns + 1), 0);
    }
}

static void no_deadline_is_sooner_than_10_ms(void **state)
{
    (void)state;
    static const uint64_t due[] = {10, 50, 100, 150};

    ticker_init(&ticker, START, 50 * MS);
    for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
        assert_int_equal(due_ms(), due[i]);
        assert_int_equal(ticker_advance(&ticker, ticker.next_ns), 0);
    }
}

static void the_shortest_interval_has_no_early_deadline(void **state)
{
    (void)state;
    ticker_init(&ticker, START, 10 * MS);
    for (uint64_t due = 10; due <= 50; due += 10) {
        assert_int_equal(due_ms(), due);
        assert_int_equal(ticker_advance(&ticker, ticker.next_ns), 0);
    }
    ticker_init(&ticker, START, 5 * MS); /* below what is allowed: never later than the interval */
    assert_int_equal(due_ms(), 5);
}

static void lateness_does_not_drift(void **state)
{
    (void)state;
    ticker_init(&ticker, START, 1000 * MS);
    (void)ticker_advance(&ticker, ticker.next_ns);
    for (uint64_t tick = 1; tick <= 1000; tick++) {
        assert_int_equal(due_ms(), tick * 1000);
        assert_int_equal(serve_at_ms(tick * 1000 + 900), 0);
    }
}

static void a_deadline_served_early_still_gives_the_next_one(void **state)
{
    (void)state;
    ticker_init(&ticker, START, 1000 * MS);
    (void)serve_at_ms(1000); /* to 2000 */
    assert_int_equal(due_ms(), 2000);
    assert_int_equal(serve_at_ms(1999), 0);
    assert_int_equal(due_ms(), 3000);
}

static void full_deadlines_passed_over_are_missed(void **state)
{
    (void)state;
    ticker_init(&ticker, START, 1000 * MS);
    (void)ticker_advance(&ticker, ticker.next_ns);
    assert_int_equal(due_ms(), 1000);
    assert_int_equal(serve_at_ms(1000), 0);
    assert_int_equal(serve_at_ms(2999), 0); /* late by all but a whole interval */
    assert_int_equal(due_ms(), 3000);
    assert_int_equal(serve_at_ms(4000), 1); /* 4000 is due and will not be served */
    assert_int_equal(due_ms(), 5000);
    assert_int_equal(serve_at_ms(8500), 3); /* 6000, 7000, 8000 */
    assert_int_equal(due_ms(), 9000);
}

static void an_early_deadline_served_late_owes_nothing(void **state)
{
    (void)state;
    ticker_init(&ticker, START, 1000 * MS);
    assert_int_equal(serve_at_ms(999), 0);
    assert_int_equal(due_ms(), 1000);
}

static void full_deadlines_missed_by_an_early_one_are_counted(void **state)
{
    (void)state;
    ticker_init(&ticker, START, 1000 * MS);
    assert_int_equal(serve_at_ms(1000), 1);
    assert_int_equal(due_ms(), 2000);
    ticker_init(&ticker, START, 1000 * MS);
    assert_int_equal(serve_at_ms(2500), 2);
    assert_int_equal(due_ms(), 3000);
}

static void what_passed_while_we_were_stopped_was_not_missed(void **state)
{
    (void)state;
    ticker_init(&ticker, START, 1000 * MS);
    for (int i = 0; i < 2; i++)
        (void)ticker_advance(&ticker, ticker.next_ns);
    assert_int_equal(due_ms(), 2000);
    ticker_resume(&ticker, START + 7300 * MS);
    assert_int_equal(due_ms(), 8000);
    assert_int_equal(serve_at_ms(8001), 0);
    ticker_resume(&ticker, START + 8500 * MS); /* nothing lay in between: nothing changes */
    assert_int_equal(due_ms(), 9000);
    ticker_init(&ticker, START, 1000 * MS);
    ticker_resume(&ticker, START + 500 * MS); /* past the early one */
    assert_int_equal(due_ms(), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_interval_has_one_early_deadline),
        cmocka_unit_test(no_deadline_is_sooner_than_10_ms),
        cmocka_unit_test(the_shortest_interval_has_no_early_deadline),
        cmocka_unit_test(lateness_does_not_drift),
        cmocka_unit_test(a_deadline_served_early_still_gives_the_next_one),
        cmocka_unit_test(full_deadlines_passed_over_are_missed),
        cmocka_unit_test(an_early_deadline_served_late_owes_nothing),
        cmocka_unit_test(full_deadlines_missed_by_an_early_one_are_counted),
        cmocka_unit_test(what_passed_while_we_were_stopped_was_not_missed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
