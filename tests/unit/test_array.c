/* Growable arrays. */
#include "base/array.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct list {
    double *items;
    size_t count, capacity;
};

static void items_stay_while_an_array_grows(void **state)
{
    struct list list = {0};
    size_t moves = 0;

    (void)state;
    for (size_t i = 0; i < 10000; i++) {
        size_t before = list.capacity;
        assert_int_equal(ARRAY_RESERVE(list.items, list.capacity, list.count + 1), 0);
        moves += list.capacity != before;
        list.items[list.count++] = (double)i;
    }
    for (size_t i = 0; i < list.count; i++)
        assert_true(list.items[i] == (double)i);
    assert_in_range(moves, 1, 20);
    free(list.items);
}

static void room_for_many_is_made_at_once(void **state)
{
    const char **texts = NULL;
    size_t capacity = 0;

    (void)state;
    assert_int_equal(ARRAY_RESERVE(texts, capacity, 1000), 0);
    assert_in_range(capacity, 1000, 2000);
    texts[999] = "last";
    free(texts);
}

static void an_array_that_fits_keeps_its_place_and_gives_back_what_is_far_too_much(void **state)
{
    struct list list = {0};

    (void)state;
    assert_int_equal(ARRAY_FIT(list.items, list.capacity, 10000), 0);
    assert_in_range(list.capacity, 10000, 13000);
    list.items[5] = 5;
    size_t before = list.capacity;
    assert_int_equal(ARRAY_FIT(list.items, list.capacity, 5000), 0);
    assert_int_equal(list.capacity, before);
    assert_int_equal(ARRAY_FIT(list.items, list.capacity, 10), 0);
    assert_in_range(list.capacity, 10, 20);
    assert_true(list.items[5] == 5);
    assert_int_equal(ARRAY_FIT(list.items, list.capacity, list.count), 0); /* none */
    free(list.items);
}

static void without_memory_an_array_is_as_before(void **state)
{
    struct list list = {0};

    (void)state;
    assert_int_equal(ARRAY_RESERVE(list.items, list.capacity, 1), 0);
    list.items[0] = 1;
    struct list before = list;
    static const size_t far_too_many[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / sizeof(double) + 1};
    for (size_t i = 0; i < ARRAY_LENGTH(far_too_many); i++) {
        assert_int_equal(ARRAY_RESERVE(list.items, list.capacity, far_too_many[i]), -ENOMEM);
        assert_int_equal(ARRAY_FIT(list.items, list.capacity, far_too_many[i]), -ENOMEM);
        assert_ptr_equal(list.items, before.items);
        assert_int_equal(list.capacity, before.capacity);
        assert_true(list.items[0] == 1);
    }
    free(list.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_stay_while_an_array_grows),
        cmocka_unit_test(room_for_many_is_made_at_once),
        cmocka_unit_test(an_array_that_fits_keeps_its_place_and_gives_back_what_is_far_too_much),
        cmocka_unit_test(without_memory_an_array_is_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
