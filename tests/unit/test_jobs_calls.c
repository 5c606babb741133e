/* System calls of jobs: counts that come late go to the job that they are of, if it is still known. */
#include "daemon/calls/call_books.h"
#include "jobs_fixture.h"

static struct call_books *books;

static void begin_with_books(void **state)
{
    begin(state);
    books = call_books_new();
    assert_non_null(books);
    jobs_keep_calls(jobs, books);
}

static int books_teardown(void **state)
{
    int code = jobs_teardown(state);

    call_books_free(books);
    books = NULL;
    return code;
}

static struct call_book_key key_of_job(const char *name)
{
    struct call_book_key key = {0};

    assert_true(jobs_serial(jobs, name, &key.job));
    return key;
}

/* As strace tells at its end. */
static void count(struct call_book_key key, uint64_t amount)
{
    const struct syscall_totals more = {.count = amount, .ns = 1000};
    struct syscall_table *table = call_books_find(books, key);

    if (!table)
        return;
    assert_int_equal(syscall_table_add_named(table, "read", &more), 0);
    jobs_calls_counted(jobs, key);
}

static void late_counts_are_told_of_the_job_before_that_had_the_name(void **state)
{
    begin_with_books(state);
    assert_int_equal(start_job("a", 0), 0);
    const struct call_book_key first = key_of_job("a");
    assert_non_null(call_books_open(books, first));
    assert_int_equal(finish("a"), 0);
    assert_int_equal(start_job("a", 0), 0);
    count(first, 5);
    tick();
    assert_int_equal(snapshot->changed_job_count, 2);
    assert_int_equal(snapshot->changed_jobs[0].status, JOB_COMPLETED);
    assert_int_equal(snapshot->changed_jobs[0].call_count, 1);
    assert_int_equal(snapshot->changed_jobs[0].calls[0].count, 5);
    assert_int_equal(snapshot->changed_jobs[1].call_count, 0);
}

static void late_counts_of_a_job_that_was_forgotten_leave_nothing_behind(void **state)
{
    begin_with_books(state);
    assert_int_equal(start_job("a", 0), 0);
    const struct call_book_key first = key_of_job("a");
    assert_non_null(call_books_open(books, first));
    assert_int_equal(finish("a"), 0);
    tick();
    jobs_told(jobs);
    assert_int_equal(start_job("a", 0), 0); /* the one before was stored, and goes */
    count(first, 5);
    assert_null(call_books_find(books, first));
    tick();
    assert_int_equal(found("a")->call_count, 0);
}

#define ONE_BOOK(NAME)                                                                                       \
    {                                                                                                        \
#NAME, NAME, watch_setup, books_teardown, &by_scan                                                   \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE_BOOK(late_counts_are_told_of_the_job_before_that_had_the_name),
        ONE_BOOK(late_counts_of_a_job_that_was_forgotten_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
