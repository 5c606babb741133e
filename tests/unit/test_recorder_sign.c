/* The last sign of a metron that records elsewhere: the end of its usage.jsonl, whole, cut off, or strange.
 */
#include "store/recorder_sign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define RECORD(SECOND) "{\"timestamp\":\"2026-11-15T18:00:" SECOND "+00:00\",\"elapsed\":1}\n"
#define EIGHTEEN       1794765600.0

static char path[] = "/tmp/metron-sign-XXXXXX";

static bool sign_of(const char *text, size_t length, struct recorder_sign *sign)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return recorder_sign_read(path, sign);
}

static void the_newest_record_and_the_gap_before_it_are_told(void **state)
{
    (void)state;
    static const char text[] = RECORD("01.5") RECORD("11.5") RECORD("31.5");
    struct recorder_sign sign;

    assert_true(sign_of(text, strlen(text), &sign));
    assert_true(sign.newest == EIGHTEEN + 31.5 && sign.gap == 20);
    assert_true(sign_of(text, strlen(RECORD("01.5")), &sign));
    assert_true(sign.newest == EIGHTEEN + 1.5 && sign.gap == 0);
}

static void a_line_that_is_cut_off_or_strange_is_no_sign(void **state)
{
    (void)state;
    static const char cut[] = RECORD("01.5") "{\"timestamp\":\"2026-11-15T1";
    static const char strange[] = "{\"timestamp\":\"soon\"}\n[]\n\0\0\n";
    struct recorder_sign sign;

    assert_true(sign_of(cut, strlen(cut), &sign));
    assert_true(sign.newest == EIGHTEEN + 1.5);
    assert_false(sign_of(strange, sizeof(strange), &sign));
    assert_false(sign_of("", 0, &sign));
    assert_false(recorder_sign_read("/nowhere/usage.jsonl", &sign));
    assert_false(recorder_sign_read("/tmp", &sign));
}

static void only_the_end_of_a_long_file_is_looked_at(void **state)
{
    (void)state;
    const size_t filler = (size_t)3 << 20;
    static const char last[] = "\n" RECORD("40") RECORD("50");
    char *text = malloc(filler + sizeof(last));
    struct recorder_sign sign;

    assert_non_null(text);
    memset(text, 'x', filler);
    memcpy(text + filler, last, sizeof(last));
    assert_true(sign_of(text, filler + strlen(last), &sign));
    assert_true(sign.newest == EIGHTEEN + 50 && sign.gap == 10);
    free(text);
}

static int setup(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_record_and_the_gap_before_it_are_told),
        cmocka_unit_test(a_line_that_is_cut_off_or_strange_is_no_sign),
        cmocka_unit_test(only_the_end_of_a_long_file_is_looked_at),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
