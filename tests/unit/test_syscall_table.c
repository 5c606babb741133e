/* Counts of system calls: added, merged, walked. */
#include "probe/syscall_table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "probe/error_names.h"
#include "probe/syscall_names.h"

static void add(struct syscall_table *table, uint32_t number, uint64_t count, uint64_t errors, uint64_t ns)
{
    const struct syscall_totals more = {count, errors, ns};
    assert_int_equal(syscall_table_add(table, number, &more), 0);
}

static const struct syscall_totals *find_call(const struct syscall_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->entries[i].name, name) == 0)
            return &table->entries[i].totals;
    return NULL;
}

static void totals_are(const struct syscall_table *table, const char *name, uint64_t count, uint64_t errors,
                       uint64_t ns)
{
    const struct syscall_totals *totals = find_call(table, name);

    if (!totals)
        fail_msg("no %s", name);
    assert_int_equal(totals->count, count);
    assert_int_equal(totals->errors, errors);
    assert_int_equal(totals->ns, ns);
}

static void what_is_added_to_one_call_adds_up(void **state)
{
    (void)state;
    struct syscall_table table = {0};

    add(&table, SYS_read, 5, 1, 1000);
    add(&table, SYS_write, 2, 0, 70);
    add(&table, SYS_read, 7, 2, 500);
    assert_int_equal(table.count, 2);
    totals_are(&table, "read", 12, 3, 1500);
    totals_are(&table, "write", 2, 0, 70);
    assert_null(find_call(&table, "close"));
    syscall_table_fini(&table);
}

static void by_name_and_by_number_it_is_the_same_call(void **state)
{
    (void)state;
    struct syscall_table table = {0};
    char name[] = "read";

    add(&table, SYS_read, 5, 1, 1000);
    assert_int_equal(syscall_table_add_named(&table, name, &(struct syscall_totals){1, 1, 1}), 0);
    assert_int_equal(syscall_table_add_named(&table, "syscall_4000", &(struct syscall_totals){1, 0, 0}), 0);
    add(&table, 4000, 1, 0, 0);
    name[0] = 'x';
    assert_int_equal(table.count, 2);
    totals_are(&table, "read", 6, 2, 1001);
    totals_are(&table, "syscall_4000", 2, 0, 0);
    syscall_table_fini(&table);
}

static uint64_t failures(const struct syscall_table *table, const char *name, int error)
{
    uint64_t count = 0;

    for (size_t i = 0; i < table->failure_count; i++)
        if (strcmp(table->failures[i].name, name) == 0 && table->failures[i].error == error)
            count += table->failures[i].count;
    return count;
}

static void errors_are_counted_by_call_and_error(void **state)
{
    (void)state;
    struct syscall_table table = {0}, sum = {0};
    char name[] = "read";

    assert_int_equal(syscall_table_add_failure(&table, name, EAGAIN, 5), 0);
    assert_int_equal(syscall_table_add_failure(&table, "read", EINTR, 1), 0);
    assert_int_equal(syscall_table_add_failure(&table, "write", EAGAIN, 2), 0);
    assert_int_equal(syscall_table_add_failure(&table, "read", EAGAIN, 7), 0);
    name[0] = 'x';
    assert_int_equal(table.failure_count, 3);
    assert_int_equal(failures(&table, "read", EAGAIN), 12);
    assert_int_equal(failures(&table, "read", EINTR), 1);
    assert_int_equal(failures(&table, "write", EAGAIN), 2);
    assert_int_equal(table.count, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(syscall_table_merge(&sum, &table), 0);
    assert_int_equal(failures(&sum, "read", EAGAIN), 24);
    syscall_table_clear(&table);
    assert_int_equal(table.failure_count, 0);
    syscall_table_fini(&table);
    syscall_table_fini(&sum);
}

static void errors_have_names_and_names_numbers(void **state)
{
    (void)state;
    static const struct {
        int number;
        const char *name;
    } known[] = {
        {ENOENT, "ENOENT"}, {EAGAIN, "EAGAIN"}, {512, "ERESTARTSYS"}, {516, "ERESTART_RESTARTBLOCK"}};
    char text[ERROR_NAME_SIZE];

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        assert_string_equal(error_name(known[i].number, text), known[i].name);
        assert_int_equal(error_number_named(known[i].name, strlen(known[i].name)), known[i].number);
    }
    assert_string_equal(error_name(4000, text), "4000");
    assert_int_equal(error_number_named("ENOENTX", 7), 0);
    assert_int_equal(error_number_named("ENOENTX", 6), ENOENT);
    assert_int_equal(error_number_named("", 0), 0);
}

static void a_walk_goes_by_name(void **state)
{
    (void)state;
    struct syscall_table table = {0};

    for (uint32_t number = 300; number-- > 0;)
        add(&table, number, number + 1, 0, 0);
    add(&table, SYSCALL_COMPAT | 5, 1, 0, 0);
    assert_int_equal(table.count, 301);
    for (size_t i = 1; i < table.count; i++)
        assert_true(strcmp(table.entries[i - 1].name, table.entries[i].name) < 0);
    for (uint32_t number = 0; number < 300; number++)
        totals_are(&table, syscall_name(number), number + 1, 0, 0);
    syscall_table_fini(&table);
}

static void merging_adds_all_of_the_other(void **state)
{
    (void)state;
    struct syscall_table one = {0}, two = {0};

    add(&one, SYS_read, 5, 1, 1000);
    add(&two, SYS_read, 1, 1, 1);
    add(&two, SYS_close, 3, 0, 30);
    assert_int_equal(syscall_table_merge(&one, &two), 0);
    totals_are(&one, "read", 6, 2, 1001);
    totals_are(&one, "close", 3, 0, 30);
    totals_are(&two, "read", 1, 1, 1);
    syscall_table_fini(&one);
    syscall_table_fini(&two);
}

static void a_cleared_table_is_empty_and_keeps_its_memory(void **state)
{
    (void)state;
    struct syscall_table table = {0};

    add(&table, SYS_read, 5, 1, 1000);
    const void *memory = table.entries;
    syscall_table_clear(&table);
    assert_null(find_call(&table, "read"));
    assert_int_equal(table.count, 0);
    add(&table, SYS_read, 2, 0, 10);
    totals_are(&table, "read", 2, 0, 10);
    assert_ptr_equal(table.entries, memory);
    syscall_table_fini(&table);
    syscall_table_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_to_one_call_adds_up),
        cmocka_unit_test(by_name_and_by_number_it_is_the_same_call),
        cmocka_unit_test(errors_are_counted_by_call_and_error),
        cmocka_unit_test(errors_have_names_and_names_numbers),
        cmocka_unit_test(a_walk_goes_by_name),
        cmocka_unit_test(merging_adds_all_of_the_other),
        cmocka_unit_test(a_cleared_table_is_empty_and_keeps_its_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
