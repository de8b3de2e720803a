/*
 * The allocator's helpers and the arena, with an allocator that counts and fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/support/fault.h"

static void arrays_are_zero_and_their_size_is_checked(void **state)
{
    (void)state;
    const mts_allocator *allocator = mts_allocator_default();
    unsigned char *memory = mts_alloc_zero(allocator, 100, 3);
    assert_non_null(memory);
    for (size_t i = 0; i < 300; i++) {
        assert_int_equal(memory[i], 0);
    }
    mts_alloc_free(allocator, memory);
    assert_null(mts_alloc_zero(allocator, SIZE_MAX / 2, 3));
    void *empty = mts_alloc_zero(allocator, 0, 8);
    assert_non_null(empty);
    mts_alloc_free(allocator, empty);
    mts_alloc_free(allocator, NULL);
}

static void growing_keeps_the_elements_and_zeroes_the_new_ones(void **state)
{
    (void)state;
    mts_wrap_allocator fault;
    mts_wrap_allocator_init(&fault, mts_allocator_default(), 0);
    void *array = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 1000; i++) {
        assert_true(mts_alloc_grow(&fault.base, &array, &capacity, i + 1, sizeof(size_t)));
        assert_true(capacity > i);
        assert_true(((size_t *)array)[i] == 0);
        ((size_t *)array)[i] = i + 1;
    }
    for (size_t i = 0; i < 1000; i++) {
        assert_true(((size_t *)array)[i] == i + 1);
    }
    assert_in_range(fault.calls, 1, 12); /* doubling, not one by one */
    mts_alloc_free(&fault.base, array);
    assert_int_equal(fault.alive, 0);
}

static void growing_that_fails_leaves_the_array_valid(void **state)
{
    (void)state;
    mts_wrap_allocator fault;
    mts_wrap_allocator_init(&fault, mts_allocator_default(), 2);
    void *array = NULL;
    size_t capacity = 0;
    assert_true(mts_alloc_grow(&fault.base, &array, &capacity, 4, 4));
    ((uint32_t *)array)[3] = 77;
    void *before = array;
    assert_false(mts_alloc_grow(&fault.base, &array, &capacity, 5, 4));
    assert_false(mts_alloc_grow(&fault.base, &array, &capacity, SIZE_MAX / 2, 4));
    assert_ptr_equal(array, before);
    assert_int_equal(capacity, 4);
    assert_int_equal(((uint32_t *)array)[3], 77);
    mts_alloc_free(&fault.base, array);
}

static void an_arena_hands_out_aligned_zeroed_disjoint_memory(void **state)
{
    (void)state;
    mts_wrap_allocator fault;
    mts_wrap_allocator_init(&fault, mts_allocator_default(), 0);
    mts_arena arena;
    mts_arena_init(&arena, &fault.base);
    for (size_t i = 0; i < 2000; i++) {
        const size_t size = i % 97;
        unsigned char *memory = mts_arena_zero(&arena, size, 1);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t k = 0; k < size; k++) {
            assert_int_equal(memory[k], 0);
            memory[k] = 0xff; /* an overlap shows as a byte that is not zero */
        }
    }
    for (size_t i = 0; i < 24; i++) { /* until blocks stop doubling */
        assert_non_null(mts_arena_zero(&arena, (size_t)1 << 17, 1));
    }
    unsigned char *large = mts_arena_zero(&arena, 3, (size_t)1 << 20);
    assert_non_null(large);
    assert_int_equal(large[((size_t)3 << 20) - 1], 0);
    assert_true(arena.used >= ((size_t)3 << 20));
    assert_null(mts_arena_zero(&arena, SIZE_MAX / 4, 8));
    assert_null(mts_arena_zero(&arena, SIZE_MAX - 3, 1));
    mts_arena_release(&arena);
    assert_int_equal(fault.alive, 0);
    assert_true(arena.used == 0);
    mts_arena_release(&arena);
}

static void an_arena_copies_strings_and_reports_lack_of_memory(void **state)
{
    (void)state;
    mts_wrap_allocator fault;
    mts_wrap_allocator_init(&fault, mts_allocator_default(), 2);
    mts_arena arena;
    mts_arena_init(&arena, &fault.base);
    assert_string_equal(mts_arena_string(&arena, "face"), "face");
    assert_string_equal(mts_arena_text(&arena, "facade", 3), "fac");
    assert_string_equal(mts_arena_text(&arena, NULL, 0), "");
    assert_null(mts_arena_text(&arena, "x", SIZE_MAX));
    assert_null(mts_arena_zero(&arena, 1 << 20, 1)); /* the second block */
    assert_string_equal(mts_arena_string(&arena, "again"), "again");
    mts_arena_release(&arena);
    assert_int_equal(fault.alive, 0);
}

static void an_array_of_an_arena_grows_by_doubling(void **state)
{
    (void)state;
    mts_wrap_allocator fault;
    mts_wrap_allocator_init(&fault, mts_allocator_default(), 2);
    mts_arena arena;
    mts_arena_init(&arena, &fault.base);
    void *array = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 100; i++) {
        assert_true(mts_arena_grow(&arena, &array, &capacity, (size_t)i + 1, sizeof(uint32_t)));
        assert_int_equal(((uint32_t *)array)[i], 0);
        ((uint32_t *)array)[i] = i;
    }
    assert_int_equal(capacity, 128);
    assert_false(mts_arena_grow(&arena, &array, &capacity, 100000, sizeof(uint32_t)));
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(((uint32_t *)array)[i], i);
    }
    mts_arena_release(&arena);
}

static void sizes_that_no_memory_has_are_refused(void **state)
{
    (void)state;
    mts_arena arena;
    void *array = NULL;
    size_t capacity = SIZE_MAX / 2 + 8;
    mts_arena_init(&arena, mts_allocator_default());
    assert_null(mts_arena_zero(&arena, SIZE_MAX - 31, 1)); /* its block's header is too much */
    assert_false(mts_alloc_grow(mts_allocator_default(), &array, &capacity, capacity + 1, 1));
    assert_false(mts_arena_grow(&arena, &array, &capacity, capacity + 1, 1));
    assert_null(array);
    assert_true(mts_alloc_grow(mts_allocator_default(), &array, &capacity, capacity, 1)); /* there already */
    assert_true(mts_arena_grow(&arena, &array, &capacity, 1, 1));
    capacity = 0;
    array = mts_alloc_zero(mts_allocator_default(), 8, 0);
    void *before = array;
    assert_true(mts_alloc_grow(mts_allocator_default(), &array, &capacity, 1, 1)); /* of none to one */
    assert_ptr_not_equal(array, before);
    mts_alloc_free(mts_allocator_default(), array);
    mts_arena_release(&arena);
}

static void a_string_is_copied_or_there_is_no_memory(void **state)
{
    (void)state;
    mts_wrap_allocator fault;
    mts_wrap_allocator_init(&fault, mts_allocator_default(), 2);
    char *copy = mts_alloc_string(&fault.base, "nose");
    assert_string_equal(copy, "nose");
    assert_null(mts_alloc_string(&fault.base, ""));
    mts_alloc_free(&fault.base, copy);
    assert_int_equal(fault.alive, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_zero_and_their_size_is_checked),
        cmocka_unit_test(growing_keeps_the_elements_and_zeroes_the_new_ones),
        cmocka_unit_test(growing_that_fails_leaves_the_array_valid),
        cmocka_unit_test(an_arena_hands_out_aligned_zeroed_disjoint_memory),
        cmocka_unit_test(an_array_of_an_arena_grows_by_doubling),
        cmocka_unit_test(an_arena_copies_strings_and_reports_lack_of_memory),
        cmocka_unit_test(sizes_that_no_memory_has_are_refused),
        cmocka_unit_test(a_string_is_copied_or_there_is_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
