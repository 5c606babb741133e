/* Books of system calls: by job and sheet, viewed by time, forgotten with the job. */
#include "daemon/calls/call_books.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct call_books *books;

static int setup(void **state)
{
    (void)state;
    books = call_books_new();
    return books ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    call_books_free(books);
    return 0;
}

static struct call_book_key key_of(uint64_t job, bool has_sheet, int64_t sheet)
{
    return (struct call_book_key){job, has_sheet, sheet};
}

static void add(struct call_book_key key, const char *name, uint64_t count, uint64_t ns)
{
    const struct syscall_totals more = {.count = count, .ns = ns};
    struct syscall_table *table = call_books_open(books, key);

    assert_non_null(table);
    assert_int_equal(syscall_table_add_named(table, name, &more), 0);
}

static void what_took_most_time_comes_first(void **state)
{
    const struct call_book_key key = key_of(1, false, 0);
    const struct snapshot_call *calls = NULL;
    size_t count = 0;

    (void)state;
    add(key, "read", 5, 1000);
    add(key, "openat", 7, 3000000000);
    add(key, "close", 9, 1000);
    add(key, "openat", 1, 1);
    assert_true(call_books_view(books, key, &calls, &count));
    assert_int_equal(count, 3);
    assert_string_equal(calls[0].name, "openat");
    assert_int_equal(calls[0].count, 8);
    assert_true(calls[0].seconds > 3 && calls[0].seconds < 3.1);
    assert_string_equal(calls[1].name, "close"); /* of the same time: what was called more often */
    assert_string_equal(calls[2].name, "read");
}

static void a_view_stays_as_it_is_until_the_next(void **state)
{
    const struct call_book_key key = key_of(1, false, 0);
    const struct snapshot_call *calls = NULL;
    char name[16];
    size_t count = 0;

    (void)state;
    add(key, "read", 5, 1000);
    assert_true(call_books_view(books, key, &calls, &count));
    const struct snapshot_call *before = calls;
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof(name), "call_%d", i);
        add(key, name, 1, 5);
    }
    add(key, "read", 1, 0);
    assert_int_equal(before[0].count, 5);
    assert_int_equal(count, 1);
    assert_true(call_books_view(books, key, &calls, &count));
    assert_int_equal(count, 101);
    assert_int_equal(calls[0].count, 6);
}

static void jobs_and_sheets_have_books_of_their_own(void **state)
{
    const struct snapshot_call *calls = NULL;
    size_t count = 0;

    (void)state;
    add(key_of(1, false, 0), "read", 1, 1);
    add(key_of(1, true, 0), "read", 2, 1); /* a sheet may have the number 0 */
    add(key_of(1, true, -7), "read", 3, 1);
    add(key_of(2, false, 0), "read", 4, 1);
    const struct call_book_key keys[] = {key_of(1, false, 0), key_of(1, true, 0), key_of(1, true, -7),
                                         key_of(2, false, 0)};
    for (size_t i = 0; i < 4; i++) {
        assert_true(call_books_view(books, keys[i], &calls, &count));
        assert_int_equal(calls[0].count, i + 1);
    }
    assert_false(call_books_view(books, key_of(3, false, 0), &calls, &count));
}

static void a_job_is_forgotten_with_all_its_sheets_and_no_other(void **state)
{
    const struct snapshot_call *calls = NULL;
    size_t count = 0;

    (void)state;
    for (int64_t sheet = 0; sheet < 50; sheet++) {
        add(key_of(1, true, sheet), "read", 1, 1);
        add(key_of(2, true, sheet), "read", 1, 1);
    }
    call_books_forget(books, 1);
    for (int64_t sheet = 0; sheet < 50; sheet++) {
        assert_false(call_books_view(books, key_of(1, true, sheet), &calls, &count));
        assert_true(call_books_view(books, key_of(2, true, sheet), &calls, &count));
    }
}

static void what_comes_after_the_job_finds_no_books_and_makes_none(void **state)
{
    const struct call_book_key key = key_of(1, true, 7);
    const struct snapshot_call *calls = NULL;
    size_t count = 0;

    (void)state;
    assert_null(call_books_find(books, key));
    add(key, "read", 1, 1);
    assert_ptr_equal(call_books_find(books, key), call_books_open(books, key));
    call_books_forget(books, 1);
    assert_null(call_books_find(books, key));
    assert_false(call_books_view(books, key, &calls, &count));
}

static void nothing_counted_is_no_view(void **state)
{
    const struct snapshot_call *calls = NULL;
    size_t count = 0;

    (void)state;
    assert_non_null(call_books_open(books, key_of(1, false, 0)));
    assert_false(call_books_view(books, key_of(1, false, 0), &calls, &count));
    assert_null(calls);
}

static void copies_are_of_their_own(void **state)
{
    struct arena arena = {0};
    const struct snapshot_call *calls = NULL, *none = NULL;
    size_t count = 0;

    (void)state;
    add(key_of(1, false, 0), "read", 5, 1000);
    assert_true(call_books_view(books, key_of(1, false, 0), &calls, &count));
    assert_true(calls_copy(&arena, &calls, count));
    call_books_forget(books, 1);
    assert_int_equal(calls[0].count, 5);
    assert_string_equal(calls[0].name, "read");
    assert_true(calls_copy(&arena, &none, 0));
    assert_null(none);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_took_most_time_comes_first, setup, teardown),
        cmocka_unit_test_setup_teardown(a_view_stays_as_it_is_until_the_next, setup, teardown),
        cmocka_unit_test_setup_teardown(jobs_and_sheets_have_books_of_their_own, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_is_forgotten_with_all_its_sheets_and_no_other, setup, teardown),
        cmocka_unit_test_setup_teardown(what_comes_after_the_job_finds_no_books_and_makes_none, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nothing_counted_is_no_view, setup, teardown),
        cmocka_unit_test_setup_teardown(copies_are_of_their_own, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
