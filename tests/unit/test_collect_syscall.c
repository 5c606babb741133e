/* The collector of system calls, with a source of made-up counts. */
#include "collectors_fixture.h"

#include <sys/syscall.h>

#include "probe/syscall_table.h"

static struct {
    struct syscall_table target, process;
    struct subject subject; /* whose counts `process` is; serial 0: nobody's */
    unsigned updates;
    int failure;
} counted;

static int update(void *given)
{
    assert_ptr_equal(given, &counted);
    counted.updates++;
    return counted.failure;
}

static void each(void *given, syscall_visit *visit, void *visitor)
{
    (void)given;
    if (counted.subject.serial)
        visit(visitor, &counted.subject, &counted.process);
}

static const struct syscall_table *of_target(void *given)
{
    (void)given;
    return &counted.target;
}

static const struct syscall_source tells_all = {update, each, of_target, &counted, "bpf"};

static int counts_setup(void **state)
{
    memset(&counted, 0, sizeof(counted));
    (void)syscall_table_add(&counted.target, SYS_read, &(struct syscall_totals){10, 2, 1500000000});
    (void)syscall_table_add(&counted.target, SYS_getppid, &(struct syscall_totals){7, 0, 700});
    (void)syscall_table_add_failure(&counted.target, "read", EAGAIN, 2);
    (void)syscall_table_add(&counted.process, SYS_read, &(struct syscall_totals){4, 1, 500000000});
    return readings_setup(state);
}

static int counts_teardown(void **state)
{
    syscall_table_fini(&counted.target);
    syscall_table_fini(&counted.process);
    return readings_teardown(state);
}

static double amount(const struct row *row, const char *key, const char *state)
{
    if (!has(row, key))
        fail_msg("%s was not read", key);
    const struct amounts *amounts = row->values[registry_find(&registry, key)->measurement->field].amounts;
    for (size_t i = 0; i < amounts->count; i++)
        if (strcmp(amounts->items[i].state, state) == 0)
            return amounts->items[i].value;
    return -1;
}

static void sleeps(void)
{
    say();
    for (;;)
        (void)pause();
}

/* A pass as the sampler makes it; its amounts are looked at before the collector is closed. */
static void *opened;
static const struct row *one_pass(uint64_t selected)
{
    const struct collector *collector = collector_named("syscall");

    pass_fini(&pass);
    assert_int_equal(pass_init(&pass, collector->source.field_count), 0);
    context.selected = selected;
    assert_int_equal(collector->open(&context, COST_SYSCALLS, &opened), 0);
    pass_begin(&pass, PASS_SAMPLE, clock_monotonic_ns());
    assert_int_equal(collector->read(opened, &context, &pass), 0);
    return &pass.single;
}

static void end_pass(void)
{
    collector_named("syscall")->close(opened);
}

static void without_being_asked_for_nothing_is_there(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "syscall_counts",        "syscall_seconds",      "syscall_errors",           "syscall_counts_total",
        "syscall_seconds_total", "syscall_errors_total", "syscall_error_names_total"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_string_equal(reason_of(keys[i]), "asked for with --syscalls summary");
    context.syscalls = &tells_all;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_null(reason_of(keys[i]));
}

static void the_target_and_each_process_have_their_own_counts(void **state)
{
    context.syscalls = &tells_all;
    watch_tree(state);
    pid_t root = start_root(sleeps);
    await_said(1);
    tree_refresh(watch.tree);
    counted.subject = who(root)->subject;

    const struct row *single = one_pass(UINT64_MAX);
    assert_int_equal(counted.updates, 1);
    assert_float_equal(amount(single, "syscall_counts_total", "read"), 10, 0);
    assert_float_equal(amount(single, "syscall_counts_total", "getppid"), 7, 0);
    assert_float_equal(amount(single, "syscall_seconds_total", "read"), 1.5, 1e-12);
    assert_float_equal(amount(single, "syscall_seconds_total", "getppid"), 7e-7, 1e-18);
    assert_float_equal(amount(single, "syscall_errors_total", "read"), 2, 0);
    assert_float_equal(amount(single, "syscall_errors_total", "getppid"), -1, 0); /* none: left out */
    assert_float_equal(amount(single, "syscall_error_names_total", "read EAGAIN"), 2, 0);
    assert_int_equal(pass.count, 1);
    const struct row *row = row_of(root);
    assert_int_equal(row->subject.serial, who(root)->subject.serial);
    assert_false(row->ended);
    assert_float_equal(amount(row, "syscall_counts", "read"), 4, 0);
    assert_float_equal(amount(row, "syscall_seconds", "read"), 0.5, 1e-12);
    assert_float_equal(amount(row, "syscall_errors", "read"), 1, 0);
    end_pass();
}

static void a_process_that_was_not_counted_has_no_row(void **state)
{
    context.syscalls = &tells_all;
    watch_tree(state);
    (void)start_root(sleeps);
    await_said(1);
    tree_refresh(watch.tree);
    (void)one_pass(UINT64_MAX);
    assert_int_equal(pass.count, 0);
    end_pass();
}

static void what_nobody_selected_is_not_made(void **state)
{
    const struct measurement *wanted = registry_find(&registry, "syscall_seconds_total")->measurement;

    context.syscalls = &tells_all;
    watch_tree(state);
    pid_t root = start_root(sleeps);
    await_said(1);
    tree_refresh(watch.tree);
    counted.subject = who(root)->subject;
    const struct row *single = one_pass(UINT64_C(1) << wanted->field);
    assert_true(has(single, "syscall_seconds_total"));
    assert_false(has(single, "syscall_counts_total"));
    assert_int_equal(pass.count, 0);
    end_pass();
}

static void a_source_that_fails_fails_the_pass(void **state)
{
    const struct collector *collector = collector_named("syscall");

    context.syscalls = &tells_all;
    watch_tree(state);
    (void)one_pass(UINT64_MAX);
    counted.failure = -EIO;
    pass_begin(&pass, PASS_SAMPLE, clock_monotonic_ns());
    assert_int_equal(collector->read(opened, &context, &pass), -EIO);
    end_pass();
}

#define COUNTS(NAME)                                                                                         \
    {                                                                                                        \
#NAME, NAME, counts_setup, counts_teardown, &by_listings                                             \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        COUNTS(without_being_asked_for_nothing_is_there),
        COUNTS(the_target_and_each_process_have_their_own_counts),
        COUNTS(a_process_that_was_not_counted_has_no_row),
        COUNTS(what_nobody_selected_is_not_made),
        COUNTS(a_source_that_fails_fails_the_pass),
    };
    (void)by_connector;
    (void)by_scan;
    return cmocka_run_group_tests(tests, setup, teardown);
}
