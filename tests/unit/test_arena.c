/* Memory given back all at once. */
#include "base/arena.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void memory_is_zeroed_and_aligned_for_any_type(void **state)
{
    (void)state;
    struct arena arena = {0};

    for (int round = 0; round < 2; round++) {
        for (size_t size = 1; size < 3000; size = size * 2 + 1) {
            unsigned char *bytes = arena_alloc(&arena, size);
            assert_non_null(bytes);
            assert_int_equal((uintptr_t)bytes % alignof(max_align_t), 0);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(bytes[i], 0);
            memset(bytes, 0xA5, size); /* must not be seen again after the reset */
        }
        arena_reset(&arena);
    }
    arena_fini(&arena);
}

static void pieces_do_not_overlap(void **state)
{
    (void)state;
    enum { PIECES = 200 };
    struct arena arena = {0};
    unsigned char *pieces[PIECES];

    /* sizes that fill chunks, one that just does not fit, and some larger than a chunk */
    for (size_t i = 0; i < PIECES; i++) {
        size_t size = 1 + i * 997;
        pieces[i] = arena_alloc(&arena, size);
        assert_non_null(pieces[i]);
        memset(pieces[i], (int)(i + 1), size);
    }
    for (size_t i = 0; i < PIECES; i++)
        for (size_t at = 0; at < 1 + i * 997; at++)
            if (pieces[i][at] != (unsigned char)(i + 1))
                fail_msg("piece %zu was written over at %zu", i, at);
    arena_fini(&arena);
}

static void a_piece_larger_than_a_chunk_is_given(void **state)
{
    (void)state;
    const size_t size = (size_t)1024 * 1024;
    struct arena arena = {0};

    assert_non_null(arena_alloc(&arena, 10));
    unsigned char *large = arena_alloc(&arena, size);
    assert_non_null(large);
    large[size - 1] = 1;
    assert_non_null(arena_alloc(&arena, 10));
    arena_fini(&arena);
}

static void a_piece_that_does_not_quite_fit_begins_a_chunk(void **state)
{
    (void)state;
    struct arena arena = {0};

    (void)arena_alloc(&arena, 16); /* so that the last of the others has half of the space it needs */
    const size_t held = arena_held(&arena);
    while (arena_held(&arena) == held)
        (void)arena_alloc(&arena, 32);
    assert_true(arena_used(&arena) - 32 < held - 16); /* what the first chunk gave */
    arena_fini(&arena);
}

static void a_reset_arena_gives_the_same_memory_again(void **state)
{
    (void)state;
    enum { PIECES = 40 };
    struct arena arena = {0};
    void *first[PIECES];

    for (size_t i = 0; i < PIECES; i++)
        first[i] = arena_alloc(&arena, 8000);
    for (int round = 0; round < 3; round++) {
        arena_reset(&arena);
        for (size_t i = 0; i < PIECES; i++)
            assert_ptr_equal(arena_alloc(&arena, 8000), first[i]);
    }
    arena_fini(&arena);
}

static void text_is_copied(void **state)
{
    (void)state;
    struct arena arena = {0};
    char text[] = "a name";
    char *copy = arena_strdup(&arena, text);

    assert_non_null(copy);
    text[0] = 'X';
    assert_string_equal(copy, "a name");
    assert_string_equal(arena_strdup(&arena, ""), "");
    arena_fini(&arena);
}

static void sizes_beyond_memory_are_refused(void **state)
{
    (void)state;
    struct arena arena = {0};

    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_null(arena_alloc(&arena, SIZE_MAX - alignof(max_align_t)));
    assert_non_null(arena_alloc(&arena, 16)); /* and it goes on working */
    arena_fini(&arena);
}

static void an_empty_arena_may_be_reset_and_ended(void **state)
{
    (void)state;
    struct arena arena = {0};

    arena_reset(&arena);
    assert_non_null(arena_alloc(&arena, 0));
    arena_fini(&arena);
    arena_fini(&arena);
    assert_non_null(arena_alloc(&arena, 1)); /* as good as new */
    arena_fini(&arena);
}

static void it_knows_its_size(void **state)
{
    (void)state;
    struct arena arena = {0};

    assert_int_equal(arena_used(&arena), 0);
    assert_int_equal(arena_held(&arena), 0);
    (void)arena_alloc(&arena, 32);
    (void)arena_alloc(&arena, 1000000);
    assert_int_equal(arena_used(&arena), 1000032);
    const size_t held = arena_held(&arena);
    assert_true(held > 1000032 && held < 1200000);
    arena_reset(&arena);
    assert_int_equal(arena_used(&arena), 0);
    assert_int_equal(arena_held(&arena), held);
    arena_fini(&arena);
    assert_int_equal(arena_held(&arena), 0);
}

static void memory_of_a_far_larger_report_is_given_back(void **state)
{
    (void)state;
    struct arena arena = {0};

    (void)arena_alloc(&arena, 3000000);
    const size_t held = arena_held(&arena);
    arena_recycle(&arena);
    assert_int_equal(arena_held(&arena), held);
    (void)arena_alloc(&arena, 2000000);
    arena_recycle(&arena); /* another of that size may come */
    assert_int_equal(arena_held(&arena), held);
    (void)arena_alloc(&arena, 1000);
    arena_recycle(&arena);
    assert_int_equal(arena_held(&arena), 0);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned_for_any_type),
        cmocka_unit_test(pieces_do_not_overlap),
        cmocka_unit_test(a_piece_larger_than_a_chunk_is_given),
        cmocka_unit_test(a_piece_that_does_not_quite_fit_begins_a_chunk),
        cmocka_unit_test(a_reset_arena_gives_the_same_memory_again),
        cmocka_unit_test(text_is_copied),
        cmocka_unit_test(sizes_beyond_memory_are_refused),
        cmocka_unit_test(an_empty_arena_may_be_reset_and_ended),
        cmocka_unit_test(it_knows_its_size),
        cmocka_unit_test(memory_of_a_far_larger_report_is_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
