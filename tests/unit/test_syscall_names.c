/* System calls by name, on the architecture of this build. */
#include "probe/syscall_names.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

static void the_names_are_those_of_the_headers(void **state)
{
    (void)state;
    assert_string_equal(syscall_name(SYS_read), "read");
    assert_string_equal(syscall_name(SYS_write), "write");
    assert_string_equal(syscall_name(SYS_getppid), "getppid");
    assert_string_equal(syscall_name(SYS_futex), "futex");
    assert_string_equal(syscall_name(SYS_exit_group), "exit_group");
    assert_string_equal(syscall_name(SYS_pidfd_open), "pidfd_open");
#if defined(__x86_64__)
    assert_string_equal(syscall_name(0), "read");
    assert_string_equal(syscall_name(202), "futex");
#endif
}

/* What the kernel says that this process is doing: the number stands first in the line. */
static void call_is(ssize_t length, char *line, size_t size, const char *name)
{
    unsigned number;

    assert_true(length > 0 && (size_t)length < size);
    line[length] = '\0';
    assert_int_equal(sscanf(line, "%u", &number), 1); // NOLINT(cert-err34-c): checked
    assert_string_equal(syscall_name(number), name);
}

static void the_names_are_of_what_the_kernel_does(void **state)
{
    (void)state;
    char line[256];
    struct iovec part = {line, sizeof(line)};
    int fd = open("/proc/self/syscall", O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        print_message("this kernel has no /proc/self/syscall\n");
        skip();
    }
    call_is(read(fd, line, sizeof(line)), line, sizeof(line), "read");
    call_is(pread(fd, line, sizeof(line), 0), line, sizeof(line), "pread64");
    call_is(preadv(fd, &part, 1, 0), line, sizeof(line), "preadv");
    (void)close(fd);
}

static void a_number_without_name_is_told_as_it_is(void **state)
{
    (void)state;
    assert_string_equal(syscall_name(4095), "syscall_4095");
    assert_ptr_equal(syscall_name(4095), syscall_name(4095));
}

static void a_32_bit_call_is_of_another_table(void **state)
{
    (void)state;
    assert_string_equal(syscall_name(SYSCALL_COMPAT | 5), "compat_5");
    assert_string_equal(syscall_name(SYSCALL_COMPAT), "compat_0");
    assert_ptr_equal(syscall_name(SYSCALL_COMPAT | 5), syscall_name(SYSCALL_COMPAT | 5));
}

static void wild_numbers_share_a_name(void **state)
{
    (void)state;
    assert_string_equal(syscall_name(8192), "syscall_other");
    assert_string_equal(syscall_name(UINT32_MAX & ~SYSCALL_COMPAT), "syscall_other");
    assert_string_equal(syscall_name(SYSCALL_COMPAT | 1024), "compat_other");
    assert_string_equal(syscall_name(UINT32_MAX), "compat_other");
}

static void a_name_that_was_read_lasts(void **state)
{
    (void)state;
    char text[16] = "newest_call";
    const char *kept = syscall_name_keep(text);

    memset(text, 'x', sizeof(text) - 1);
    assert_string_equal(kept, "newest_call");
    assert_ptr_equal(syscall_name_keep("newest_call"), kept);
    assert_ptr_equal(syscall_name_keep("read"), syscall_name(SYS_read));
}

enum { THREADS = 8, TOGETHER = 100 };

static pthread_barrier_t together;
static const char *seen[THREADS][TOGETHER];

static void *keep_names(void *context)
{
    const char **mine = context;
    char text[32];

    (void)pthread_barrier_wait(&together);
    for (int i = 0; i < TOGETHER; i++) {
        (void)snprintf(text, sizeof(text), "at_once_%d", i);
        mine[i] = syscall_name_keep(text);
        (void)syscall_name(5000 + (unsigned)i);
    }
    return NULL;
}

static void threads_that_read_the_same_names_at_once_share_them(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    char text[32];

    assert_int_equal(pthread_barrier_init(&together, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, keep_names, seen[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    (void)pthread_barrier_destroy(&together);
    for (int i = 0; i < TOGETHER; i++) {
        (void)snprintf(text, sizeof(text), "at_once_%d", i);
        assert_string_equal(syscall_name_keep(text), text);
        for (int thread = 0; thread < THREADS; thread++)
            assert_ptr_equal(seen[thread][i], syscall_name_keep(text));
    }
}

static void names_that_were_read_are_bounded_in_number(void **state)
{
    (void)state;
    char text[32];

    for (int i = 0; i < 5000; i++) {
        (void)snprintf(text, sizeof(text), "made_up_%d", i);
        (void)syscall_name_keep(text);
    }
    assert_string_equal(syscall_name_keep("made_up_4999"), "syscall_other");
    assert_string_equal(syscall_name_keep("made_up_0"), "made_up_0");
    assert_string_equal(syscall_name_keep("read"), "read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_names_are_those_of_the_headers),
        cmocka_unit_test(the_names_are_of_what_the_kernel_does),
        cmocka_unit_test(a_number_without_name_is_told_as_it_is),
        cmocka_unit_test(a_32_bit_call_is_of_another_table),
        cmocka_unit_test(wild_numbers_share_a_name),
        cmocka_unit_test(a_name_that_was_read_lasts),
        cmocka_unit_test(threads_that_read_the_same_names_at_once_share_them),
        cmocka_unit_test(names_that_were_read_are_bounded_in_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
