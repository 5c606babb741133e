/* /proc/PID/stat: every field, names that imitate the line, older kernels, and texts cut off anywhere. */
#include "probe/pid/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"

static size_t fixture_read(const char *path, char *text, size_t capacity)
{
    ssize_t length = file_read(AT_FDCWD, path, text, capacity);

    assert_true(length > 0);
    return (size_t)length;
}

static void every_field_is_taken_from_its_place(void **state)
{
    (void)state;
    static const char line[] = "3 (name) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 "
                               "28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52\n";
    struct pid_stat stat;

    assert_int_equal(pid_stat_parse(line, sizeof(line) - 1, &stat), 0);
    assert_int_equal(stat.pid, 3);
    assert_string_equal(stat.comm, "name");
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.ppid, 4);
    assert_int_equal(stat.session, 6);
    assert_int_equal(stat.flags, 9);
    assert_int_equal(stat.minor_faults, 10);
    assert_int_equal(stat.child_minor_faults, 11);
    assert_int_equal(stat.major_faults, 12);
    assert_int_equal(stat.child_major_faults, 13);
    assert_int_equal(stat.user_ticks, 14);
    assert_int_equal(stat.system_ticks, 15);
    assert_int_equal(stat.child_user_ticks, 16);
    assert_int_equal(stat.child_system_ticks, 17);
    assert_int_equal(stat.threads, 20);
    assert_int_equal(stat.start_ticks, 22);
    assert_int_equal(stat.vsize_bytes, 23);
    assert_int_equal(stat.rss_pages, 24);
    assert_int_equal(stat.start_stack, 28);
    assert_int_equal(stat.ignored_signals, 33);
    assert_int_equal(stat.blocked_ticks, 42);
}

static void recorded_process_is_read(void **state)
{
    (void)state;
    char text[PID_STAT_SIZE];
    struct pid_stat stat;
    size_t length = fixture_read(METRON_FIXTURES "/linux-6.18/proc/19135/stat", text, sizeof(text));

    assert_int_equal(pid_stat_parse(text, length, &stat), 0);
    assert_int_equal(stat.pid, 19135);
    assert_string_equal(stat.comm, "many");
    assert_int_equal(stat.ppid, 1);
    assert_int_equal(stat.threads, 3);
    assert_int_equal(stat.minor_faults, 347);
    assert_int_equal(stat.major_faults, 2);
    assert_int_equal(stat.start_ticks, 203767);
    assert_int_equal(stat.vsize_bytes, 19320832);
    assert_int_equal(stat.rss_pages, 342);
    assert_int_equal(stat.start_stack, 140722317927968);
    assert_int_equal(stat.ignored_signals, 1 << (SIGINT - 1) | 1 << (SIGQUIT - 1));
    assert_int_equal(stat.blocked_ticks, 0);
}

static void older_kernel_is_read(void **state)
{
    (void)state;
    char text[PID_STAT_SIZE];
    struct pid_stat stat;
    size_t length = fixture_read(METRON_FIXTURES "/linux-4.18/proc/1200/stat", text, sizeof(text));

    assert_int_equal(pid_stat_parse(text, length, &stat), 0);
    assert_string_equal(stat.comm, "make");
    assert_int_equal(stat.child_user_ticks, 4021);
    assert_int_equal(stat.child_system_ticks, 877);
    assert_int_equal(stat.start_stack, 140735301243472);
    assert_int_equal(stat.ignored_signals, 0); /* it catches SIGCHLD, the next field says */
    assert_int_equal(stat.blocked_ticks, 2);
}

static void zombie_is_read(void **state)
{
    (void)state;
    char text[PID_STAT_SIZE];
    struct pid_stat stat;
    size_t length = fixture_read(METRON_FIXTURES "/linux-6.18/proc/19139/stat", text, sizeof(text));

    assert_int_equal(pid_stat_parse(text, length, &stat), 0);
    assert_int_equal(stat.state, 'Z');
    assert_int_equal(stat.ppid, 19135);
    assert_int_equal(stat.vsize_bytes, 0);
    assert_int_equal(stat.start_stack, 0);
}

static void kernel_thread_is_read(void **state)
{
    (void)state;
    char text[PID_STAT_SIZE];
    struct pid_stat stat;
    size_t length = fixture_read(METRON_FIXTURES "/linux-6.18/proc/2/stat", text, sizeof(text));

    assert_int_equal(pid_stat_parse(text, length, &stat), 0);
    assert_string_equal(stat.comm, "kthreadd");
    assert_int_equal(stat.ppid, 0);
}

static void name_that_looks_like_the_line_is_a_name(void **state)
{
    (void)state;
    char text[PID_STAT_SIZE];
    struct pid_stat stat;
    size_t length = fixture_read(METRON_FIXTURES "/linux-6.18/proc/19138/stat", text, sizeof(text));
    static const char forged[] = "7 (x) R 1 2 3 4 5) S 70 7 7 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 99 4096 1\n";

    assert_int_equal(pid_stat_parse(text, length, &stat), 0);
    assert_string_equal(stat.comm, "a) R (b\nc");
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.ppid, 19135);

    assert_int_equal(pid_stat_parse(forged, sizeof(forged) - 1, &stat), 0);
    assert_string_equal(stat.comm, "x) R 1 2 3 4 5");
    assert_int_equal(stat.ppid, 70);
}

static void empty_and_overlong_names_are_names(void **state)
{
    (void)state;
    static const char rest[] = ") S 70 7 7 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 99 4096 1\n";
    struct pid_stat stat;
    char text[PID_STAT_SIZE] = "7 (";
    size_t length = 3;

    memcpy(text + length, rest, sizeof(rest));
    assert_int_equal(pid_stat_parse(text, strlen(text), &stat), 0);
    assert_string_equal(stat.comm, "");

    memset(text + length, 'n', 200);
    memcpy(text + length + 200, rest, sizeof(rest));
    assert_int_equal(pid_stat_parse(text, strlen(text), &stat), 0);
    assert_int_equal(strlen(stat.comm), sizeof(stat.comm) - 1);
}

static void line_that_ends_at_rss_has_no_start_stack(void **state)
{
    static const char line[] = "7 (x) S 70 7 8 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 99 4096 11\n";
    static const char short_line[] = "7 (x) S 70 7 8 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 99 4096\n";
    struct pid_stat stat;

    /* A whole line before it, so that nothing of that one is left over. */
    recorded_process_is_read(state);
    assert_int_equal(pid_stat_parse(line, sizeof(line) - 1, &stat), 0);
    assert_int_equal(stat.rss_pages, 11);
    assert_int_equal(stat.start_stack, 0);
    assert_int_equal(stat.ignored_signals, 0);
    assert_int_equal(stat.blocked_ticks, 0);
    assert_int_equal(pid_stat_parse(short_line, sizeof(short_line) - 1, &stat), -EBADMSG);
}

/* A thread's own line, and that of a process made by clone without a signal: exit_signal is -1. */
static void a_process_that_tells_its_parent_nothing_is_read(void **state)
{
    (void)state;
    static const char line[] =
        "7 (x) S 70 7 8 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 99 4096 11 25 26 27 28 29 30 31 32 "
        "65536 34 35 36 37 -1 39 40 41 1234 43 0 45 46 47 48 49 50 51 52\n";
    struct pid_stat stat;

    assert_int_equal(pid_stat_parse(line, sizeof(line) - 1, &stat), 0);
    assert_int_equal(stat.ignored_signals, 1 << (SIGCHLD - 1));
    assert_int_equal(stat.blocked_ticks, 1234);
}

static void ignored_signals_are_those_of_the_process(void **state)
{
    (void)state;
    char text[PID_STAT_SIZE];
    struct pid_stat stat;

    (void)signal(SIGCHLD, SIG_IGN);
    (void)signal(SIGUSR2, SIG_IGN);
    size_t length = fixture_read("/proc/self/stat", text, sizeof(text));
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGUSR2, SIG_DFL);
    assert_int_equal(pid_stat_parse(text, length, &stat), 0);
    assert_true(stat.ignored_signals >> (SIGCHLD - 1) & 1);
    assert_true(stat.ignored_signals >> (SIGUSR2 - 1) & 1);
    assert_false(stat.ignored_signals >> (SIGUSR1 - 1) & 1);
    length = fixture_read("/proc/self/stat", text, sizeof(text));
    assert_int_equal(pid_stat_parse(text, length, &stat), 0);
    assert_false(stat.ignored_signals >> (SIGCHLD - 1) & 1);
}

static void negative_ids_are_kept_and_negative_times_refused(void **state)
{
    (void)state;
    static const char released[] = "7 (x) X 0 -1 -1 0 -1 64 1 2 3 4 5 6 7 8 -20 -5 1 0 99 4096 11\n";
    static const char negative[] = "7 (x) S 70 7 8 0 -1 64 1 2 3 4 -5 6 7 8 20 0 1 0 99 4096 11\n";
    struct pid_stat stat;

    assert_int_equal(pid_stat_parse(released, sizeof(released) - 1, &stat), 0);
    assert_int_equal(stat.session, -1);
    assert_int_equal(pid_stat_parse(negative, sizeof(negative) - 1, &stat), -EBADMSG);
}

static void numbers_too_large_saturate_or_are_refused(void **state)
{
    (void)state;
    static const char faults[] = "7 (x) S 70 7 8 0 -1 64 99999999999999999999999 2 3 4 5 6 7 8 20 0 1 0 99 "
                                 "18446744073709551615 18446744073709551616\n";
    static const char parent[] = "7 (x) S 99999999999 7 8 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 99 4096 11\n";
    static const char pid[] = "4294967303 (x) S 70 7 8 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 99 4096 11\n";
    static const char threads[] = "7 (x) S 70 7 8 0 -1 64 1 2 3 4 5 6 7 8 20 0 4294967296 0 99 4096 11\n";
    struct pid_stat stat;

    assert_int_equal(pid_stat_parse(faults, sizeof(faults) - 1, &stat), 0);
    assert_true(stat.minor_faults == UINT64_MAX);
    assert_true(stat.vsize_bytes == UINT64_MAX);
    assert_true(stat.rss_pages == UINT64_MAX);
    assert_int_equal(pid_stat_parse(parent, sizeof(parent) - 1, &stat), -EBADMSG);
    assert_int_equal(pid_stat_parse(pid, sizeof(pid) - 1, &stat), -EBADMSG);
    assert_int_equal(pid_stat_parse(threads, sizeof(threads) - 1, &stat), -EBADMSG);
}

/* Each prefix lies in a block of exactly its size, so that a sanitiser sees a read past its end. */
static void cut_off_text_is_refused_or_right(void **state)
{
    (void)state;
    static const char *const paths[] = {
        METRON_FIXTURES "/linux-6.18/proc/19135/stat",
        METRON_FIXTURES "/linux-6.18/proc/19138/stat",
        METRON_FIXTURES "/linux-6.18/proc/19139/stat",
        METRON_FIXTURES "/linux-4.18/proc/1200/stat",
    };

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        char text[PID_STAT_SIZE];
        size_t length = fixture_read(paths[i], text, sizeof(text)), accepted = 0;
        struct pid_stat whole;

        memset(&whole, 0, sizeof(whole));
        assert_int_equal(pid_stat_parse(text, length, &whole), 0);
        for (size_t cut = 0; cut < length; cut++) {
            char *prefix = malloc(cut + 1);
            struct pid_stat stat;
            int status;

            assert_non_null(prefix);
            memset(&stat, 0, sizeof(stat));
            prefix = realloc(prefix, cut > 0 ? cut : 1);
            memcpy(prefix, text, cut);
            status = pid_stat_parse(prefix, cut, &stat);
            free(prefix);
            if (status == 0) {
                assert_memory_equal(&stat, &whole, sizeof(stat));
                accepted++;
            } else {
                assert_int_equal(status, -EBADMSG);
                assert_int_equal(accepted, 0); /* once enough is there, more never makes it less */
            }
        }
    }
}

static void other_bytes_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        ")",
        "7",
        "7 (x)",
        "(x) S 1",
        "7 x) S 70 7 8 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 99 4096 11\n",
        "7(x) S 70 7 8 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 99 4096 11\n",
        "7 (x)S 70 7 8 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 99 4096 11\n",
        "7 (x) S  70 7 8 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 99 4096 11\n",
        "7 (x) S 70 7 8 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 99 4096 11x",
        "7 (x) S 70 7 8 0 -1 64 1 2 3 - 5 6 7 8 20 0 1 0 99 4096 11\n",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct pid_stat stat;

        assert_int_equal(pid_stat_parse(texts[i], strlen(texts[i]), &stat), -EBADMSG);
    }
}

static void own_line_is_read(void **state)
{
    (void)state;
    char text[PID_STAT_SIZE];
    struct pid_stat stat;
    size_t length = fixture_read("/proc/self/stat", text, sizeof(text));

    assert_int_equal(pid_stat_parse(text, length, &stat), 0);
    assert_int_equal(stat.pid, getpid());
    assert_int_equal(stat.ppid, getppid());
    assert_int_equal(stat.session, getsid(0));
    assert_int_equal(stat.state, 'R');
    assert_true(stat.rss_pages > 0 && stat.start_stack > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_taken_from_its_place),
        cmocka_unit_test(recorded_process_is_read),
        cmocka_unit_test(older_kernel_is_read),
        cmocka_unit_test(zombie_is_read),
        cmocka_unit_test(kernel_thread_is_read),
        cmocka_unit_test(name_that_looks_like_the_line_is_a_name),
        cmocka_unit_test(empty_and_overlong_names_are_names),
        cmocka_unit_test(line_that_ends_at_rss_has_no_start_stack),
        cmocka_unit_test(a_process_that_tells_its_parent_nothing_is_read),
        cmocka_unit_test(ignored_signals_are_those_of_the_process),
        cmocka_unit_test(negative_ids_are_kept_and_negative_times_refused),
        cmocka_unit_test(numbers_too_large_saturate_or_are_refused),
        cmocka_unit_test(cut_off_text_is_refused_or_right),
        cmocka_unit_test(other_bytes_are_refused),
        cmocka_unit_test(own_line_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
