/* Readers that are made to fail: by which names, and who then fails. */
#include "probe/breakage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/connector.h"
#include "probe/kernel.h"
#include "probe/pid/dir.h"
#include "probe/process_clock.h"

static int mend(void **state)
{
    (void)state;
    breakage_set(NULL);
    return 0;
}

static void nothing_is_broken_unless_asked_for(void **state)
{
    (void)state;
    assert_false(breakage_has("stat"));
    breakage_set("");
    assert_false(breakage_has("stat"));
    breakage_set("stat");
    assert_true(breakage_has("stat"));
    breakage_set(NULL);
    assert_false(breakage_has("stat"));
}

static void names_are_whole_and_separated_by_commas(void **state)
{
    (void)state;
    breakage_set("statm, io,,smaps_rollup ");
    assert_true(breakage_has("statm"));
    assert_true(breakage_has("io"));
    assert_true(breakage_has("smaps_rollup"));
    assert_false(breakage_has("stat")); /* no beginning of another */
    assert_false(breakage_has("smaps"));
    assert_false(breakage_has("status"));
    assert_false(breakage_has(""));
}

static void every_reader_has_a_name(void **state)
{
    static const char names[] =
        "stat,statm,status,children,cmdline,limits,fd,task,io,smaps_rollup,meminfo,loadavg,cpu,"
        "clock,connector,pressure,cgroup,ps";
    unsigned length;

    (void)state;
    assert_null(breakage_unknown(names, &length));
    assert_null(breakage_unknown("", &length));
    assert_null(breakage_unknown(" , ", &length));
}

static void the_first_unknown_name_is_told(void **state)
{
    static const struct {
        const char *list, *unknown;
    } cases[] = {
        {"stat,nothing,other", "nothing"}, {"stat , Stat", "Stat"}, {"stats", "stats"}, {"sta", "sta"},
        {"io,/proc/stat", "/proc/stat"},
    };
    unsigned length = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *unknown = breakage_unknown(cases[i].list, &length);

        assert_non_null(unknown);
        assert_int_equal(length, strlen(cases[i].unknown));
        assert_memory_equal(unknown, cases[i].unknown, length);
    }
}

static void a_broken_file_cannot_be_read_and_the_others_can(void **state)
{
    static const struct {
        const char *name;
        enum pid_file file;
    } cases[] = {
        {"stat", PID_FILE_STAT},          {"statm", PID_FILE_STATM},   {"status", PID_FILE_STATUS},
        {"cmdline", PID_FILE_CMDLINE},    {"limits", PID_FILE_LIMITS}, {"io", PID_FILE_IO},
        {"smaps_rollup", PID_FILE_SMAPS},
    };
    struct kernel_facts facts;
    struct pid_reader reader;
    char text[4096];
    (void)state;

    assert_int_equal(kernel_facts_read("/proc", &facts), 0);
    assert_int_equal(pid_reader_init(&reader, "/proc", &facts, 0), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        breakage_set(cases[i].name);
        for (size_t j = 0; j < sizeof(cases) / sizeof(cases[0]); j++) {
            struct pid_dir dir;
            pid_dir_init(&dir, getpid());
            ssize_t length = pid_dir_read(&dir, &reader, cases[j].file, false, text, sizeof(text));
            if (i == j)
                assert_int_equal(length, -EIO);
            else
                assert_true(length > 0);
            pid_dir_close(&dir, &reader);
        }
    }
    pid_reader_fini(&reader);
}

static void broken_folders_cannot_be_listed(void **state)
{
    struct kernel_facts facts;
    struct pid_reader reader;
    struct pid_dir dir;
    uint64_t count;
    (void)state;

    assert_int_equal(kernel_facts_read("/proc", &facts), 0);
    for (int in_size = 0; in_size <= (int)facts.fd_count_in_size; in_size++) {
        struct kernel_facts less = facts;
        less.fd_count_in_size = in_size;
        assert_int_equal(pid_reader_init(&reader, "/proc", &less, 0), 0);
        pid_dir_init(&dir, getpid());
        breakage_set(NULL);
        assert_int_equal(pid_dir_count_fds(&dir, &reader, false, &count), 0);
        breakage_set("fd");
        assert_int_equal(pid_dir_count_fds(&dir, &reader, false, &count), -EIO);
        assert_int_equal(pid_dir_count_fds(&dir, &reader, true, &count), -EIO);
        pid_dir_close(&dir, &reader);
        pid_reader_fini(&reader);
    }
}

static void a_broken_clock_tells_no_time(void **state)
{
    uint64_t cpu_ns;
    (void)state;

    assert_int_equal(process_clock_read(getpid(), &cpu_ns), 0);
    breakage_set("clock");
    assert_int_equal(process_clock_read(getpid(), &cpu_ns), -EIO);
    assert_int_equal(process_clock_read(0, &cpu_ns), -ESRCH); /* who is not there stays so */
}

static void a_broken_connector_does_not_open(void **state)
{
    struct metron_error error = {0};
    (void)state;

    breakage_set("connector");
    assert_int_equal(connector_open(&error), -EIO);
    assert_true(error.message[0] != '\0');
}

#define TEST(NAME) cmocka_unit_test_teardown(NAME, mend)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_broken_unless_asked_for),
        TEST(names_are_whole_and_separated_by_commas),
        TEST(every_reader_has_a_name),
        TEST(the_first_unknown_name_is_told),
        TEST(a_broken_file_cannot_be_read_and_the_others_can),
        TEST(broken_folders_cannot_be_listed),
        TEST(a_broken_clock_tells_no_time),
        TEST(a_broken_connector_does_not_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
