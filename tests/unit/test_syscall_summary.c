/* System calls of a run for people and for info.json: from the amounts in its summary. */
#include "schema/syscall_summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schema/run_info.h"
#include "view/run_summary.h"

static const struct measurement counts = {
    .key = "syscall_counts_total", .type = TYPE_CATEGORICAL, .unit = UNIT_COUNT};
static const struct measurement seconds = {
    .key = "syscall_seconds_total", .type = TYPE_CATEGORICAL, .unit = UNIT_SECONDS};
static const struct measurement errors = {
    .key = "syscall_errors_total", .type = TYPE_CATEGORICAL, .unit = UNIT_COUNT};

static const struct tally_item counted[] = {{"read", 1234000}, {"futex", 400}, {"getppid", 2}};
static const struct tally_item lasted[] = {{"futex", 4.5}, {"read", 2.5}, {"write", 3}};
static const struct measurement names = {
    .key = "syscall_error_names_total", .type = TYPE_CATEGORICAL, .unit = UNIT_COUNT};

static const struct tally_item failed[] = {{"read", 12}};
static const struct tally_item named[] = {{"read EINTR", 3}, {"readv EIO", 99}, {"read EAGAIN", 8}};
static struct record_value values[] = {
    {.tally = {counted, 3}}, {.tally = {lasted, 2}}, {.tally = {failed, 1}}, {.tally = {named, 3}}};
static struct record_entry entries[] = {
    {.key = "syscall_counts_total", .measurement = &counts, .values = &values[0], .count = 1},
    {.key = "syscall_seconds_total", .measurement = &seconds, .values = &values[1], .count = 1},
    {.key = "syscall_errors_total", .measurement = &errors, .values = &values[2], .count = 1},
    {.key = "syscall_error_names_total", .measurement = &names, .values = &values[3], .count = 1},
};
static const struct record whole = {.entries = entries, .count = 4};
static const struct record unnamed = {.entries = entries, .count = 3};
static const struct record nothing = {0};

static struct registry registry;
static struct strbuf text = STRBUF_INIT;

static int end(void **state)
{
    (void)state;
    strbuf_fini(&text);
    return 0;
}

static void the_hotspot_has_the_largest_share_of_time(void **state)
{
    (void)state;
    const char *name = NULL;
    double share = -1;

    assert_true(syscall_hotspot(&whole, &name, &share));
    assert_string_equal(name, "futex");
    assert_float_equal(share, 4.5 / 7, 1e-12);
}

static void without_times_there_is_no_hotspot(void **state)
{
    (void)state;
    const struct record untimed = {.entries = entries, .count = 1};
    struct record_value none = {.tally = {lasted, 0}};
    struct record_entry empty = entries[1];
    const struct record idle = {.entries = &empty, .count = 1};
    const char *name = "untouched";
    double share = -1;

    empty.values = &none;
    assert_false(syscall_hotspot(&nothing, &name, &share));
    assert_false(syscall_hotspot(&untimed, &name, &share));
    assert_false(syscall_hotspot(&idle, &name, &share));
    assert_string_equal(name, "untouched");
    assert_float_equal(share, -1, 0);
}

static void sums_tell_what_was_measured(void **state)
{
    (void)state;
    struct syscall_sums sums;
    const struct record untimed = {.entries = entries, .count = 1};

    assert_true(syscall_sums(&whole, &sums));
    assert_float_equal(sums.count, 1234402, 0);
    assert_float_equal(sums.errors, 12, 0);
    assert_float_equal(sums.seconds, 7, 0);
    assert_float_equal(sums.waiting_seconds, 4.5, 0);
    assert_true(syscall_sums(&untimed, &sums));
    assert_true(sums.errors < 0 && sums.seconds < 0 && sums.waiting_seconds < 0);
    assert_false(syscall_sums(&nothing, &sums));
}

static void calls_of_every_architecture_and_a_parent_until_its_child_executes_wait(void **state)
{
    (void)state;
    static const char *const wait[] = {"io_pgetevents_time64", "mq_timedreceive_time64", "vfork", "futex"};
    static const char *const work[] = {"clone", "read", "mq_timedsend"};

    for (size_t i = 0; i < sizeof(wait) / sizeof(wait[0]); i++)
        assert_true(syscall_waits(wait[i]));
    for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++)
        assert_false(syscall_waits(work[i]));
}

static void the_call_that_failed_most_has_its_most_frequent_error(void **state)
{
    (void)state;
    struct syscall_failing failing;

    assert_true(syscall_failing(&whole, &failing));
    assert_string_equal(failing.name, "read");
    assert_float_equal(failing.errors, 12, 0);
    assert_string_equal(failing.error, "EAGAIN");
    assert_true(syscall_failing(&unnamed, &failing));
    assert_null(failing.error);
    assert_false(syscall_failing(&nothing, &failing));
}

static const char *info_of(const struct run_info *info)
{
    struct json json;

    strbuf_reset(&text);
    json_init(&json, &text, 0);
    run_info_json(&json, info);
    return strbuf_text(&text);
}

static void info_json_has_every_call_the_largest_time_first(void **state)
{
    (void)state;
    struct run_info info = {.ended = true, .registry = &registry, .summary = &whole};

    info.syscalls = (struct run_syscalls){.method = "bpf", .lost = 3};
    const char *json = info_of(&info);
    const char *wanted =
        "\"syscalls\":{\"method\":\"bpf\",\"lost\":3,\"bound\":\"lower\",\"count\":1234402,\"errors\":12,"
        "\"seconds\":7,"
        "\"waiting_seconds\":4.5,\"working_seconds\":2.5,"
        "\"most_errors\":{\"name\":\"read\",\"errors\":12,\"most_frequent_error\":\"EAGAIN\"},"
        "\"hotspot\":{\"name\":\"futex\",\"share\":0.6429},\"by_call\":{"
        "\"futex\":{\"count\":400,\"errors\":0,\"seconds\":4.5,\"seconds_per_call\":0.01125,\"time_pct\":64."
        "29,\"waits\":true},"
        "\"read\":{\"count\":1234000,\"errors\":12,\"most_frequent_error\":\"EAGAIN\",\"seconds\":2.5,"
        "\"seconds_per_call\":2.026e-06,"
        "\"time_pct\":35.71},"
        "\"getppid\":{\"count\":2,\"errors\":0,\"seconds\":0,\"seconds_per_call\":0,\"time_pct\":0}}}";
    if (!strstr(json, wanted))
        fail_msg("%s\ndoes not hold\n%s", json, wanted);
}

static void info_json_tells_nothing_of_what_nobody_asked_for(void **state)
{
    (void)state;
    struct run_info info = {.ended = true, .registry = &registry, .summary = &nothing};

    assert_null(strstr(info_of(&info), "syscalls"));
    info.syscalls.reason = "strace is not installed";
    assert_non_null(strstr(info_of(&info), "\"syscalls\":{\"reason\":\"strace is not installed\"}"));
    info.ended = false;
    assert_null(strstr(info_of(&info), "\"syscalls\":{"));
}

static const char *line_of(const struct run_info *info)
{
    struct run_summary summary;

    strbuf_reset(&text);
    run_summary_of_info(&summary, info, false);
    run_summary_write(&text, &summary, 0, false);
    char *line = strstr(text.data, "  syscalls");
    if (line)
        *strchr(line, '\n') = '\0';
    return line;
}

static void the_summary_says_how_many_and_where_the_time_went(void **state)
{
    (void)state;
    struct run_info info = {.ended = true, .prefix = "p", .registry = &registry, .summary = &whole};

    assert_null(line_of(&info));
    info.syscalls.method = "bpf";
    assert_string_equal(
        line_of(&info),
        "  syscalls  1,234,402 calls, 12 errors, in read (EAGAIN); 64 % of their time in futex, "
        "64 % waiting (by bpf)");
    info.syscalls.lost = 5;
    assert_string_equal(line_of(&info), "  syscalls  at least 1,234,402 calls, 12 errors, in read (EAGAIN); "
                                        "64 % of their time in futex, 64 % waiting; 5 lost (by bpf)");
}

static void what_was_not_measured_is_not_in_the_line(void **state)
{
    (void)state;
    const struct record counts_alone = {.entries = entries, .count = 1};
    const struct record seconds_alone = {.entries = &entries[1], .count = 1};
    struct run_info info = {.ended = true, .prefix = "p", .registry = &registry, .summary = &counts_alone};

    info.syscalls.method = "bpf";
    assert_string_equal(line_of(&info), "  syscalls  1,234,402 calls (by bpf)");
    info.summary = &seconds_alone;
    assert_string_equal(line_of(&info), "  syscalls  64 % of their time in futex, 64 % waiting (by bpf)");
}

static void calls_that_could_not_be_counted_have_no_line(void **state)
{
    (void)state;
    struct run_info info = {.ended = true, .prefix = "p", .registry = &registry, .summary = &nothing};

    info.syscalls.reason = "strace is not installed"; /* the loop has warned of it */
    assert_null(line_of(&info));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hotspot_has_the_largest_share_of_time),
        cmocka_unit_test(without_times_there_is_no_hotspot),
        cmocka_unit_test(sums_tell_what_was_measured),
        cmocka_unit_test(calls_of_every_architecture_and_a_parent_until_its_child_executes_wait),
        cmocka_unit_test(the_call_that_failed_most_has_its_most_frequent_error),
        cmocka_unit_test(info_json_has_every_call_the_largest_time_first),
        cmocka_unit_test(info_json_tells_nothing_of_what_nobody_asked_for),
        cmocka_unit_test(the_summary_says_how_many_and_where_the_time_went),
        cmocka_unit_test(what_was_not_measured_is_not_in_the_line),
        cmocka_unit_test(calls_that_could_not_be_counted_have_no_line),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
