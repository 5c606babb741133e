/* One pass: rows, what is present in them, and memory that is kept from pass to pass. */
#include "schema/pass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct pass pass;

static int setup(void **state)
{
    (void)state;
    return pass_init(&pass, 64);
}

static int teardown(void **state)
{
    (void)state;
    pass_fini(&pass);
    pass_fini(&pass); /* twice is safe */
    return 0;
}

static struct row *row_of(int32_t pid)
{
    const struct subject subject = {.serial = (uint64_t)pid, .id = pid, .incarnation = 1, .born_ns = 5};
    struct row *row = pass_row(&pass, &subject);

    assert_non_null(row);
    return row;
}

static void what_was_not_read_is_absent(void **state)
{
    (void)state;
    pass_begin(&pass, PASS_SAMPLE, 100);
    struct row *row = row_of(7);

    for (unsigned field = 0; field < 64; field++) {
        assert_false(row_has(row, field));
        assert_false(row_has(&pass.single, field));
    }
    row_number(row, 0, 0.0); /* zero is a reading like any other */
    row_number(row, 63, 1.5);
    row_text(&pass.single, 31, "S");
    assert_true(row_has(row, 0));
    assert_true(row_has(row, 63));
    assert_false(row_has(row, 1));
    assert_false(row_has(row, 31));
    assert_true(row_has(&pass.single, 31));
    assert_float_equal(row->values[63].number, 1.5, 0);
    assert_string_equal(pass.single.values[31].text, "S");
}

static void a_pass_begins_with_nothing_and_its_own_stamp(void **state)
{
    (void)state;
    pass_begin(&pass, PASS_SAMPLE, 100);
    row_number(row_of(7), 3, 1);
    row_number(&pass.single, 3, 1);
    pass_begin(&pass, PASS_FINAL, 200);
    assert_int_equal(pass.kind, PASS_FINAL);
    assert_int_equal(pass.stamp_ns, 200);
    assert_int_equal(pass.single.stamp_ns, 200);
    assert_int_equal(pass.count, 0);
    assert_false(row_has(&pass.single, 3));
    struct row *row = row_of(8);
    assert_false(row_has(row, 3)); /* the memory is an old row's, its content is not */
    assert_int_equal(row->stamp_ns, 200);
}

static void rows_stay_whole_while_the_pass_grows(void **state)
{
    (void)state;
    enum { ROWS = 1000 };

    pass_begin(&pass, PASS_SAMPLE, 300);
    row_number(&pass.single, 63, 4711);
    for (int32_t pid = 1; pid <= ROWS; pid++) {
        struct row *row = row_of(pid);
        row_number(row, 0, pid);
        row_number(row, 63, -pid);
    }
    assert_int_equal(pass.count, ROWS);
    assert_float_equal(pass.single.values[63].number, 4711, 0);
    for (int32_t pid = 1; pid <= ROWS; pid++) {
        const struct row *row = &pass.rows[pid - 1];
        assert_int_equal(row->subject.id, pid);
        assert_int_equal(row->subject.born_ns, 5);
        assert_int_equal(row->stamp_ns, 300);
        assert_float_equal(row->values[0].number, pid, 0);
        assert_float_equal(row->values[63].number, -pid, 0);
        assert_false(row_has(row, 1));
    }
}

static void memory_is_kept_for_the_next_pass(void **state)
{
    (void)state;
    pass_begin(&pass, PASS_SAMPLE, 1);
    for (int32_t pid = 1; pid <= 100; pid++)
        (void)row_of(pid);
    const struct row *rows = pass.rows;
    const union value *values = pass.values;
    pass_begin(&pass, PASS_SAMPLE, 2);
    for (int32_t pid = 1; pid <= 100; pid++)
        (void)row_of(pid);
    assert_ptr_equal(pass.rows, rows);
    assert_ptr_equal(pass.values, values);
}

static void memory_of_a_crowd_is_given_back(void **state)
{
    (void)state;
    const struct subject subject = {.serial = 1, .id = 7, .incarnation = 1};

    for (int i = 0; i < 20000; i++)
        assert_non_null(pass_row(&pass, &subject));
    assert_true(pass.capacity >= 20000);
    for (int i = 0; i < 2; i++) {
        pass_begin(&pass, PASS_SAMPLE, 1);
        for (int j = 0; j < 50; j++)
            assert_non_null(pass_row(&pass, &subject));
    }
    pass_begin(&pass, PASS_SAMPLE, 2);
    assert_true(pass.capacity < 2000);
}

static void a_subject_is_named_by_its_pid_and_incarnation(void **state)
{
    (void)state;
    char name[SUBJECT_NAME_SIZE];
    struct subject subject = {.serial = 1, .id = 4711, .incarnation = 1};

    assert_string_equal(subject_name(&subject, name), "4711");
    subject.incarnation = 2;
    assert_string_equal(subject_name(&subject, name), "4711#2");
    subject = (struct subject){.id = 0, .incarnation = 0}; /* a device's index */
    assert_string_equal(subject_name(&subject, name), "0");
    subject = (struct subject){.id = INT32_MIN, .incarnation = UINT32_MAX};
    assert_string_equal(subject_name(&subject, name), "-2147483648#4294967295");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_not_read_is_absent, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pass_begins_with_nothing_and_its_own_stamp, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_stay_whole_while_the_pass_grows, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_is_kept_for_the_next_pass, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_of_a_crowd_is_given_back, setup, teardown),
        cmocka_unit_test(a_subject_is_named_by_its_pid_and_incarnation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
