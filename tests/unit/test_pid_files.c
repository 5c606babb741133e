/* statm, status, io, limits and children: recorded, older, cut off anywhere, and not that file at all. */
#include "probe/pid/files.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
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

/* A copy in a block of exactly its size, so that a sanitiser sees a read past its end. */
static char *exact_copy(const char *text, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);

    assert_non_null(copy);
    memcpy(copy, text, length);
    return copy;
}

static void statm_gives_pages(void **state)
{
    (void)state;
    static const char text[] = "2120 371 340 10 0 138 0\n";
    struct pid_statm statm;

    assert_int_equal(pid_statm_parse(text, sizeof(text) - 1, &statm), 0);
    assert_int_equal(statm.size_pages, 2120);
    assert_int_equal(statm.resident_pages, 371);
    assert_int_equal(statm.shared_pages, 340);
}

static void statm_cut_off_or_malformed_is_refused(void **state)
{
    (void)state;
    static const char text[] = "2120 371 340 10 0 138 0\n";
    static const char *const others[] = {"a b c d\n", "1  2 3 4\n", "-1 2 3 4\n", "1 2 3\n"};
    struct pid_statm statm;

    for (size_t cut = 0; cut < sizeof(text); cut++) {
        char *prefix = exact_copy(text, cut);
        int status = pid_statm_parse(prefix, cut, &statm);

        free(prefix);
        assert_int_equal(status, cut <= strlen("2120 371 340") ? -EBADMSG : 0);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(pid_statm_parse(others[i], strlen(others[i]), &statm), -EBADMSG);
}

static void status_gives_peak_and_switches(void **state)
{
    (void)state;
    char text[8192];
    struct pid_status status;
    size_t length = fixture_read(METRON_FIXTURES "/linux-6.18/proc/19135/status", text, sizeof(text));

    assert_int_equal(pid_status_parse(text, length, &status), 0);
    assert_true(status.has_hwm && status.has_switches);
    assert_int_equal(status.hwm_bytes, 1608 * 1024);
    assert_int_equal(status.voluntary_switches, 5);
    assert_int_equal(status.involuntary_switches, 13);

    length = fixture_read(METRON_FIXTURES "/linux-4.18/proc/1200/status", text, sizeof(text));
    assert_int_equal(pid_status_parse(text, length, &status), 0);
    assert_true(status.has_hwm && status.has_switches);
    assert_int_equal(status.hwm_bytes, 2192 * 1024);
    assert_int_equal(status.voluntary_switches, 881);
    assert_int_equal(status.involuntary_switches, 64);
}

static void zombies_and_kernel_threads_have_no_peak(void **state)
{
    (void)state;
    static const char *const paths[] = {
        METRON_FIXTURES "/linux-6.18/proc/19139/status",
        METRON_FIXTURES "/linux-6.18/proc/2/status",
        METRON_FIXTURES "/linux-4.18/proc/1300/status",
    };

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        char text[8192];
        struct pid_status status;
        size_t length = fixture_read(paths[i], text, sizeof(text));

        assert_int_equal(pid_status_parse(text, length, &status), 0);
        assert_false(status.has_hwm);
        assert_true(status.has_switches);
    }
}

static void name_cannot_forge_a_line(void **state)
{
    (void)state;
    /* The kernel writes a newline in a name as the two characters \ and n. */
    static const char text[] = "Name:\tVmHWM: 9 kB\\nVmHWM: 8 kB\n"
                               "VmHWM:\t      12 kB\n"
                               "voluntary_ctxt_switches:\t3\n"
                               "nonvoluntary_ctxt_switches:\t4\n";
    struct pid_status status;

    assert_int_equal(pid_status_parse(text, sizeof(text) - 1, &status), 0);
    assert_int_equal(status.hwm_bytes, 12 * 1024);
}

static void lines_may_stand_in_any_order(void **state)
{
    (void)state;
    static const char text[] = "Name:\tx\n"
                               "nonvoluntary_ctxt_switches:\t4\n"
                               "voluntary_ctxt_switches:\t3\n"
                               "VmSwap:\t      5 kB\n"
                               "x86_Thread_features:\t\n"
                               "VmHWM:\t      12 kB\n";
    struct pid_status status;

    assert_int_equal(pid_status_parse(text, sizeof(text) - 1, &status), 0);
    assert_true(status.has_hwm && status.has_swap && status.has_switches);
    assert_int_equal(status.swap_bytes, 5 * 1024);
    assert_int_equal(status.voluntary_switches, 3);
    assert_int_equal(status.involuntary_switches, 4);
}

static void status_cut_off_is_absent_never_wrong(void **state)
{
    (void)state;
    char text[8192];
    size_t length = fixture_read(METRON_FIXTURES "/linux-6.18/proc/19135/status", text, sizeof(text));

    for (size_t cut = 0; cut < length; cut++) {
        char *prefix = exact_copy(text, cut);
        struct pid_status status;
        int result = pid_status_parse(prefix, cut, &status);

        free(prefix);
        assert_int_equal(result, cut < 5 ? -EBADMSG : 0);
        if (result == 0 && status.has_hwm)
            assert_int_equal(status.hwm_bytes, 1608 * 1024);
        assert_false(result == 0 && status.has_switches);
    }
}

static void value_that_is_no_number_is_absent(void **state)
{
    (void)state;
    static const char text[] = "Name:\tx\nVmHWM:\t 12x kB\nvoluntary_ctxt_switches:\t-3\n"
                               "nonvoluntary_ctxt_switches:\t\n";
    struct pid_status status;

    assert_int_equal(pid_status_parse(text, sizeof(text) - 1, &status), 0);
    assert_false(status.has_hwm || status.has_switches);
}

static void huge_peak_saturates(void **state)
{
    (void)state;
    static const char text[] = "Name:\tx\nVmHWM:\t18446744073709551615 kB\n";
    struct pid_status status;

    assert_int_equal(pid_status_parse(text, sizeof(text) - 1, &status), 0);
    assert_true(status.has_hwm && status.hwm_bytes == UINT64_MAX);
}

static const char io_text[] = "rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\n"
                              "read_bytes: 4096\nwrite_bytes: 323932160\ncancelled_write_bytes: 12288\n";

static void io_gives_bytes_and_calls(void **state)
{
    (void)state;
    struct pid_io io;

    assert_int_equal(pid_io_parse(io_text, sizeof(io_text) - 1, &io), 0);
    assert_int_equal(io.rchar, 323934931);
    assert_int_equal(io.wchar, 323929600);
    assert_int_equal(io.syscr, 632687);
    assert_int_equal(io.syscw, 632675);
    assert_int_equal(io.read_bytes, 4096);
    assert_int_equal(io.write_bytes, 323932160); /* what was truncated before it got there is not taken off */
}

static void io_follows_what_we_do(void **state)
{
    (void)state;
    char text[512];
    struct pid_io before, after;
    static const char block[12345];
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    ssize_t length = file_read(AT_FDCWD, "/proc/self/io", text, sizeof(text));

    if (length == -ENOENT || length == -EACCES) {
        print_message("skip %s: /proc/self/io cannot be read here\n", __func__);
        skip();
    }
    assert_int_equal(pid_io_parse(text, (size_t)length, &before), 0);
    assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
    length = file_read(AT_FDCWD, "/proc/self/io", text, sizeof(text));
    assert_int_equal(pid_io_parse(text, (size_t)length, &after), 0);
    assert_int_equal(after.wchar - before.wchar, sizeof(block));
    assert_int_equal(after.syscw - before.syscw, 1);
    assert_true(after.rchar > before.rchar); /* the file itself was read */
    (void)close(fd);
}

static void io_cut_off_is_refused(void **state)
{
    (void)state;
    size_t needed = (size_t)(strstr(io_text, "cancelled") - io_text);
    struct pid_io io;

    for (size_t cut = 0; cut < sizeof(io_text); cut++) {
        char *prefix = exact_copy(io_text, cut);
        int status = pid_io_parse(prefix, cut, &io);

        free(prefix);
        assert_int_equal(status, cut < needed ? -EBADMSG : 0);
    }
}

static void io_malformed_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "wchar: 1\nrchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 1\nwrite_bytes: 1\n",
        "rchar: -1\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 1\nwrite_bytes: 1\n",
        "rchar: 1x\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 1\nwrite_bytes: 1\n",
        "rchar: \nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 1\nwrite_bytes: 1\n",
        "rchar: 1\nwchar: 1\nsyscr: 1\nsyscw: 1\nwrite_bytes: 1\n",
        "not what the kernel writes\n",
    };
    struct pid_io io;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(pid_io_parse(texts[i], strlen(texts[i]), &io), -EBADMSG);
}

static void limits_give_the_soft_limit(void **state)
{
    (void)state;
    static const char unlimited[] =
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max open files            unlimited            unlimited            files     \n";
    char text[4096];
    uint64_t limit;
    size_t length = fixture_read(METRON_FIXTURES "/linux-4.18/proc/1200/limits", text, sizeof(text));

    assert_int_equal(pid_limits_parse(text, length, &limit), 0);
    assert_int_equal(limit, 1024);
    assert_int_equal(pid_limits_parse(unlimited, sizeof(unlimited) - 1, &limit), 0);
    assert_true(limit == UINT64_MAX);
}

static void limits_cut_off_or_without_the_line_are_refused(void **state)
{
    (void)state;
    char text[4096];
    size_t length = fixture_read(METRON_FIXTURES "/linux-4.18/proc/1200/limits", text, sizeof(text));
    size_t whole = (size_t)(strstr(text, "Max locked memory") - text);

    for (size_t cut = 0; cut <= length; cut++) {
        char *prefix = exact_copy(text, cut);
        uint64_t limit = 0;
        int status = pid_limits_parse(prefix, cut, &limit);

        free(prefix);
        assert_int_equal(status, cut < whole ? -EBADMSG : 0);
        if (status == 0)
            assert_int_equal(limit, 1024);
    }
}

struct seen {
    pid_t pids[16];
    int count;
};

static void remember(void *context, pid_t pid)
{
    struct seen *seen = context;

    assert_true(seen->count < 16);
    seen->pids[seen->count++] = pid;
}

static void children_are_visited_in_order(void **state)
{
    (void)state;
    struct seen seen = {.count = 0};

    assert_int_equal(pid_children_parse("12 13 4194303 ", 14, remember, &seen), 3);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.pids[0], 12);
    assert_int_equal(seen.pids[1], 13);
    assert_int_equal(seen.pids[2], 4194303);
    assert_int_equal(pid_children_parse("", 0, remember, &seen), 0);
}

static void child_cut_off_is_not_visited(void **state)
{
    (void)state;
    static const char text[] = "12 13 1415 ";

    for (size_t cut = 0; cut < sizeof(text); cut++) {
        struct seen seen = {.count = 0};
        char *prefix = exact_copy(text, cut);
        int expected = cut >= 11 ? 3 : cut >= 6 ? 2 : cut >= 3 ? 1 : 0;

        assert_int_equal(pid_children_parse(prefix, cut, remember, &seen), expected);
        assert_int_equal(seen.count, expected);
        free(prefix);
    }
}

static void child_without_a_number_here_is_passed_over(void **state)
{
    (void)state;
    struct seen seen = {.count = 0};

    assert_int_equal(pid_children_parse("0 13 ", 5, remember, &seen), 1);
    assert_int_equal(seen.pids[0], 13);
}

static void malformed_listing_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {" 12 ", "12\n13 ", "-1 ", "x", "12 99999999999 ", "12  13 "};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct seen seen = {.count = 0};

        assert_int_equal(pid_children_parse(texts[i], strlen(texts[i]), remember, &seen), -EBADMSG);
    }
}

static void identity_is_leader_owner_and_memory(void **state)
{
    (void)state;
    static const char user[] = "Name:\tcat\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t7588\nPid:\t7590\n"
                               "Uid:\t1000\t0\t0\t0\nGid:\t1\t1\t1\t1\nVmSize:\t    1480 kB\n";
    static const char kernel[] = "Name:\tkthreadd\nTgid:\t2\nUid:\t0\t0\t0\t0\nThreads:\t1\n";
    struct pid_identity identity;

    assert_int_equal(pid_identity_parse(user, sizeof(user) - 1, &identity), 0);
    assert_int_equal(identity.leader, 7588);
    assert_int_equal(identity.uid, 1000);
    assert_true(identity.has_memory);
    assert_int_equal(pid_identity_parse(kernel, sizeof(kernel) - 1, &identity), 0);
    assert_int_equal(identity.uid, 0);
    assert_false(identity.has_memory);
}

static void identity_cut_off_or_of_another_file_is_refused(void **state)
{
    (void)state;
    static const char text[] = "Name:\tcat\nTgid:\t7588\nUid:\t1000\t0\t0\t0\n";
    static const char *const others[] = {"", "Tgid:\t1\nUid:\t0\n", "Name:\tx\nTgid:\t0\nUid:\t0\n",
                                         "Name:\tx\nTgid:\t99999999999\nUid:\t0\n",
                                         "Name:\tx\nTgid:\t1\nUid:\t99999999999\n"};
    struct pid_identity identity;

    for (size_t cut = 0; cut < sizeof(text); cut++) {
        char *prefix = exact_copy(text, cut);
        int status = pid_identity_parse(prefix, cut, &identity);

        free(prefix);
        assert_int_equal(status, cut < sizeof(text) - 1 ? -EBADMSG : 0);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(pid_identity_parse(others[i], strlen(others[i]), &identity), -EBADMSG);
}

static void pending_signals_are_those_that_take_effect(void **state)
{
    (void)state;
    static const char text[] =
        "Name:\tcat\nSigQ:\t1/95\nSigPnd:\t0000000000000500\nShdPnd:\t80000000000040aF\n"
        "ShdPnd:\t800000000000f001\nSigBlk:\t0000000000001000\nSigIgn:\t0000000000002400\n"
        "SigCgt:\t0000000000008002\n";
    uint64_t signals = 0;

    for (size_t cut = 0; cut < sizeof(text) - 1; cut++) {
        char *prefix = exact_copy(text, cut);

        assert_int_equal(pid_pending_parse(prefix, cut, &signals), -EBADMSG);
        free(prefix);
    }
    assert_int_equal(pid_pending_parse(text, sizeof(text) - 1, &signals), 0);
    assert_int_equal(signals, 0x8000000000004101);
    static const char hex[] =
        "Name:\tcat\nSigPnd:\t0123456789abcdef\nShdPnd:\t0000000000000000\nSigBlk:\t0000000000000000\n"
        "SigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n";
    assert_int_equal(pid_pending_parse(hex, sizeof(hex) - 1, &signals), 0);
    assert_int_equal(signals, 0x0123456789abcdef);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_is_leader_owner_and_memory),
        cmocka_unit_test(identity_cut_off_or_of_another_file_is_refused),
        cmocka_unit_test(pending_signals_are_those_that_take_effect),
        cmocka_unit_test(statm_gives_pages),
        cmocka_unit_test(statm_cut_off_or_malformed_is_refused),
        cmocka_unit_test(status_gives_peak_and_switches),
        cmocka_unit_test(zombies_and_kernel_threads_have_no_peak),
        cmocka_unit_test(name_cannot_forge_a_line),
        cmocka_unit_test(lines_may_stand_in_any_order),
        cmocka_unit_test(status_cut_off_is_absent_never_wrong),
        cmocka_unit_test(value_that_is_no_number_is_absent),
        cmocka_unit_test(huge_peak_saturates),
        cmocka_unit_test(io_gives_bytes_and_calls),
        cmocka_unit_test(io_follows_what_we_do),
        cmocka_unit_test(io_cut_off_is_refused),
        cmocka_unit_test(io_malformed_is_refused),
        cmocka_unit_test(limits_give_the_soft_limit),
        cmocka_unit_test(limits_cut_off_or_without_the_line_are_refused),
        cmocka_unit_test(children_are_visited_in_order),
        cmocka_unit_test(child_cut_off_is_not_visited),
        cmocka_unit_test(child_without_a_number_here_is_passed_over),
        cmocka_unit_test(malformed_listing_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
