/* smaps_rollup: recorded, older, cut off anywhere, of a living process; and who shares an address space. */
#include "probe/smaps.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"

static size_t fixture_read(const char *path, char *text, size_t capacity)
{
    ssize_t length = file_read(AT_FDCWD, path, text, capacity);

    assert_true(length > 0);
    return (size_t)length;
}

static void a_recorded_rollup_is_in_bytes(void **state)
{
    (void)state;
    char text[SMAPS_SIZE];
    struct smaps smaps;
    size_t length = fixture_read(METRON_FIXTURES "/linux-6.18/proc/19135/smaps_rollup", text, sizeof(text));

    assert_int_equal(smaps_parse(text, length, &smaps), 0);
    assert_int_equal(smaps.pss_bytes, 189 * 1024);
    assert_int_equal(smaps.uss_bytes, 64 * 1024);
    assert_int_equal(smaps.swap_bytes, 0);
}

static void the_fewer_lines_of_an_older_kernel_are_enough(void **state)
{
    (void)state;
    char text[SMAPS_SIZE];
    struct smaps smaps;
    size_t length = fixture_read(METRON_FIXTURES "/linux-4.18/proc/1200/smaps_rollup", text, sizeof(text));

    assert_int_equal(smaps_parse(text, length, &smaps), 0);
    assert_int_equal(smaps.pss_bytes, 741 * 1024);
    assert_int_equal(smaps.uss_bytes, (204 + 488) * 1024);
}

static void each_line_is_taken_for_what_it_is(void **state)
{
    (void)state;
    static const char text[] = "5000-6000 ---p 00000000 00:00 0  [rollup]\n"
                               "Rss:  1 kB\nPss:  2 kB\nPss_Dirty:  3 kB\nShared_Clean:  4 kB\n"
                               "Private_Clean:  5 kB\nPrivate_Dirty:  60 kB\nShared_Hugetlb:  7 kB\n"
                               "Private_Hugetlb:  800 kB\nSwap:  9 kB\nSwapPss:  10 kB\nLocked:  11 kB\n";
    struct smaps smaps;

    assert_int_equal(smaps_parse(text, sizeof(text) - 1, &smaps), 0);
    assert_int_equal(smaps.pss_bytes, 2 * 1024);
    assert_int_equal(smaps.uss_bytes, 865 * 1024);
    assert_int_equal(smaps.swap_bytes, 10 * 1024);
}

static void a_rollup_cut_off_is_refused_or_right(void **state)
{
    (void)state;
    char text[SMAPS_SIZE];
    size_t length = fixture_read(METRON_FIXTURES "/linux-6.18/proc/19135/smaps_rollup", text, sizeof(text));
    size_t whole = (size_t)(strchr(strstr(text, "SwapPss:"), '\n') - text) + 1;

    for (size_t cut = 0; cut <= length; cut++) {
        char *prefix = malloc(cut > 0 ? cut : 1); /* of exactly this size: a byte too many is seen */
        struct smaps smaps;

        assert_non_null(prefix);
        memcpy(prefix, text, cut);
        int status = smaps_parse(prefix, cut, &smaps);
        free(prefix);
        assert_int_equal(status, cut < whole ? -EBADMSG : 0);
        if (status == 0)
            assert_int_equal(smaps.uss_bytes, 64 * 1024);
    }
}

static void what_is_no_number_of_kibibytes_is_refused(void **state)
{
    (void)state;
    static const char *const values[] = {"many kB", "", "12", "12 MB", "12 kB ", "18446744073709551615 kB"};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char text[SMAPS_SIZE];
        struct smaps smaps;
        int length = snprintf(text, sizeof(text),
                              "Pss: %s\nPrivate_Clean: 1 kB\nPrivate_Dirty: 1 kB\nPrivate_Hugetlb: 0 kB\n"
                              "SwapPss: 0 kB\n",
                              values[i]);
        assert_int_equal(smaps_parse(text, (size_t)length, &smaps), -EBADMSG);
    }
}

static void a_living_process_holds_what_it_touched(void **state)
{
    (void)state;
    const size_t held = 16 << 20;
    char text[SMAPS_SIZE];
    struct smaps before, after;

    assert_int_equal(smaps_parse(text, fixture_read("/proc/self/smaps_rollup", text, sizeof(text)), &before),
                     0);
    char *memory = mmap(NULL, held, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, held);
    assert_int_equal(smaps_parse(text, fixture_read("/proc/self/smaps_rollup", text, sizeof(text)), &after),
                     0);
    assert_int_equal(munmap(memory, held), 0);
    /* Whoever else starts or ends meanwhile changes our share of the libraries. */
    assert_in_range(after.pss_bytes - before.pss_bytes, held - (1 << 20), held + (1 << 20));
    assert_in_range(after.uss_bytes - before.uss_bytes, held - (1 << 20), held + (1 << 20));
    assert_true(after.pss_bytes >= after.uss_bytes);
}

static void only_a_vforked_child_shares_its_parents_memory(void **state)
{
    (void)state;
    int news[2];
    pid_t vforked = 0;

    assert_int_equal(pipe(news), 0);
    pid_t parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        /* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): it is what is tested */
        pid_t child = vfork();
        if (child == 0) {
            pid_t self = getpid();
            (void)!write(news[1], &self, sizeof(self));
            (void)pause();
            _exit(0);
        }
        _exit(0);
    }
    assert_int_equal(read(news[0], &vforked, sizeof(vforked)), sizeof(vforked));
    bool told = smaps_is_shared(getpid(), getpid()); /* whether this kernel tells at all */
    bool shared = smaps_is_shared(vforked, parent);
    bool forked_shared = smaps_is_shared(parent, getpid());
    (void)kill(vforked, SIGKILL);
    (void)kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    (void)close(news[0]);
    (void)close(news[1]);
    assert_false(forked_shared);
    if (!told) {
        print_message("the kernel has no kcmp here (CONFIG_KCMP)\n");
        skip();
    }
    assert_true(shared);
    assert_false(smaps_is_shared(parent, getpid())); /* it is gone */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_rollup_is_in_bytes),
        cmocka_unit_test(the_fewer_lines_of_an_older_kernel_are_enough),
        cmocka_unit_test(each_line_is_taken_for_what_it_is),
        cmocka_unit_test(a_rollup_cut_off_is_refused_or_right),
        cmocka_unit_test(what_is_no_number_of_kibibytes_is_refused),
        cmocka_unit_test(a_living_process_holds_what_it_touched),
        cmocka_unit_test(only_a_vforked_child_shares_its_parents_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
