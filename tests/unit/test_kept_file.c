/* Files that are read again and again, with many descriptors and with few. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "probe/kept_file.h"

static char path[] = "/tmp/test_kept_file.XXXXXX";

static void put(const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void reads(const struct kept_file *file, const char *expected)
{
    char text[64];
    ssize_t length = kept_file_read(file, text, sizeof(text));

    assert_int_equal(length, strlen(expected));
    assert_memory_equal(text, expected, strlen(expected));
}

static void allow_descriptors(rlim_t count)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = count < limit.rlim_max ? count : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void what_is_written_anew_is_read_anew(void **state)
{
    (void)state;
    struct kept_file file;

    put("first");
    assert_int_equal(kept_file_open(&file, path), 0);
    reads(&file, "first");
    put("and second");
    reads(&file, "and second");
    kept_file_close(&file);
    kept_file_close(&file); /* twice is once */
    char text[8];
    assert_int_equal(kept_file_read(&file, text, sizeof(text)), -EBADF);
}

static void with_descriptors_to_spare_it_is_kept_open(void **state)
{
    (void)state;
    struct kept_file file;

    allow_descriptors(1024);
    put("kept");
    assert_int_equal(kept_file_open(&file, path), 0);
    assert_true(file.fd >= 0);
    assert_null(file.path);
    reads(&file, "kept");
    kept_file_close(&file);
}

static void with_few_descriptors_none_is_kept(void **state)
{
    (void)state;
    struct kept_file file;

    allow_descriptors(64);
    put("opened anew");
    assert_int_equal(kept_file_open(&file, path), 0);
    assert_int_equal(file.fd, -1);
    reads(&file, "opened anew");
    assert_int_equal(unlink(path), 0);
    char text[8];
    assert_int_equal(kept_file_read(&file, text, sizeof(text)), -ENOENT);
    kept_file_close(&file);
    allow_descriptors(1024);
}

static void a_file_that_is_not_there_says_so(void **state)
{
    (void)state;
    struct kept_file file;
    char text[8];

    assert_int_equal(kept_file_open(&file, "/nonexistent/file"), -ENOENT);
    assert_int_equal(kept_file_read(&file, text, sizeof(text)), -EBADF);
    kept_file_close(&file);
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);

    return fd < 0 || close(fd) != 0;
}

static int remove_file(void **state)
{
    (void)state;
    (void)unlink(path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_anew_is_read_anew),
        cmocka_unit_test(with_descriptors_to_spare_it_is_kept_open),
        cmocka_unit_test(a_file_that_is_not_there_says_so),
        cmocka_unit_test(with_few_descriptors_none_is_kept),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
