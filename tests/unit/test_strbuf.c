/* Growable strings: growth, NUL bytes, and an overflow that is remembered. */
#include "base/strbuf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void empty_buffer_reads_as_empty_text(void **state)
{
    (void)state;
    struct strbuf buffer = STRBUF_INIT;

    assert_string_equal(strbuf_text(&buffer), "");
    strbuf_fini(&buffer);
    strbuf_fini(&buffer);
    assert_null(buffer.data);
}

static void appends_grow_and_stay_terminated(void **state)
{
    (void)state;
    struct strbuf buffer = STRBUF_INIT;
    size_t growths = 0;
    size_t capacity = 0;

    for (size_t i = 0; i < 100000; i++) {
        strbuf_addc(&buffer, (char)('a' + i % 26));
        assert_int_equal(buffer.length, i + 1);
        assert_int_equal(buffer.data[i + 1], '\0');
        growths += buffer.capacity != capacity;
        capacity = buffer.capacity;
    }
    assert_in_range(growths, 1, 20); /* doubling: not one reallocation per byte */
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(buffer.data[i], 'a' + i % 26);
    strbuf_fini(&buffer);
}

static void exact_capacity_keeps_room_for_the_nul(void **state)
{
    (void)state;
    char block[256];

    memset(block, 'x', sizeof(block));
    for (size_t length = 0; length <= sizeof(block); length++) {
        struct strbuf buffer = STRBUF_INIT;

        strbuf_add(&buffer, block, length);
        assert_true(buffer.capacity > buffer.length);
        assert_int_equal(strlen(strbuf_text(&buffer)), length);
        strbuf_fini(&buffer);
    }
}

static void nul_bytes_are_kept(void **state)
{
    (void)state;
    struct strbuf buffer = STRBUF_INIT;

    strbuf_add(&buffer, "a\0b", 3);
    strbuf_adds(&buffer, "c");
    assert_int_equal(buffer.length, 4);
    assert_memory_equal(buffer.data, "a\0bc", 5);
    strbuf_fini(&buffer);
}

static void formatted_text_of_any_length_fits(void **state)
{
    (void)state;
    char text[3000];

    for (size_t length = 0; length < sizeof(text); length += 37) {
        struct strbuf buffer = STRBUF_INIT;

        memset(text, 'y', length);
        text[length] = '\0';
        strbuf_adds(&buffer, "<");
        strbuf_addf(&buffer, "%s|%d", text, 42);
        assert_int_equal(buffer.length, 1 + length + 3);
        assert_string_equal(buffer.data + 1 + length, "|42");
        strbuf_fini(&buffer);
    }
}

static void overflow_is_remembered_and_drops_later_appends(void **state)
{
    (void)state;
    struct strbuf buffer = STRBUF_INIT;

    strbuf_adds(&buffer, "kept");
    assert_int_equal(strbuf_reserve(&buffer, SIZE_MAX - 4), -ENOMEM);
    assert_int_equal(strbuf_reserve(&buffer, SIZE_MAX), -ENOMEM);
    assert_true(buffer.failed);
    strbuf_adds(&buffer, "dropped");
    strbuf_addf(&buffer, "%d", 1);
    assert_string_equal(strbuf_text(&buffer), "kept");

    strbuf_reset(&buffer);
    assert_false(buffer.failed);
    assert_string_equal(strbuf_text(&buffer), "");
    strbuf_adds(&buffer, "again");
    assert_string_equal(strbuf_text(&buffer), "again");
    strbuf_fini(&buffer);
}

static void reset_keeps_the_memory(void **state)
{
    (void)state;
    struct strbuf buffer = STRBUF_INIT;

    assert_int_equal(strbuf_reserve(&buffer, 5000), 0);
    size_t capacity = buffer.capacity;
    char *data = buffer.data;

    strbuf_adds(&buffer, "text");
    strbuf_reset(&buffer);
    assert_int_equal(buffer.capacity, capacity);
    assert_ptr_equal(buffer.data, data);
    strbuf_fini(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_buffer_reads_as_empty_text),
        cmocka_unit_test(appends_grow_and_stay_terminated),
        cmocka_unit_test(exact_capacity_keeps_room_for_the_nul),
        cmocka_unit_test(nul_bytes_are_kept),
        cmocka_unit_test(formatted_text_of_any_length_fits),
        cmocka_unit_test(overflow_is_remembered_and_drops_later_appends),
        cmocka_unit_test(reset_keeps_the_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
