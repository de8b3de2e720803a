/*
 * The map finds every entry that was added and no other one, through growth, collisions and lack of memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/map.h"
#include "tests/support/fault.h"

enum { ENTRIES = 5000 };

static bool same_number(const void *entries, uint32_t index, const void *key)
{
    return ((const uint32_t *)entries)[index] == *(const uint32_t *)key;
}

static uint64_t number_hash(uint32_t number)
{
    return mts_hash(&number, sizeof number, 0);
}

static void every_entry_is_found_while_the_map_grows(void **state)
{
    (void)state;
    static uint32_t numbers[ENTRIES];
    mts_wrap_allocator fault;
    mts_wrap_allocator_init(&fault, mts_allocator_default(), 0);
    mts_map map;
    mts_map_init(&map, &fault.base);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        numbers[i] = i * 7919u;
        assert_int_equal(mts_map_find(&map, number_hash(numbers[i]), same_number, numbers, &numbers[i]),
                         MTS_MAP_NONE);
        assert_true(mts_map_add(&map, number_hash(numbers[i]), i));
        for (uint32_t back = 0; back <= i; back += 1 + i / 16) {
            assert_int_equal(
                mts_map_find(&map, number_hash(numbers[back]), same_number, numbers, &numbers[back]), back);
        }
    }
    assert_true(map.count == ENTRIES && map.slot_count >= 2 * ENTRIES);
    assert_in_range(fault.calls, 1, 10); /* doubling, not one by one */
    mts_map_release(&map);
    assert_int_equal(fault.alive, 0);
    assert_int_equal(mts_map_find(&map, number_hash(0), same_number, numbers, &numbers[0]), MTS_MAP_NONE);
    assert_true(mts_map_add(&map, number_hash(0), 0)); /* usable again */
    mts_map_release(&map);
    assert_int_equal(fault.alive, 0);
}

static void entries_of_one_hash_are_told_apart_by_their_keys(void **state)
{
    (void)state;
    uint32_t numbers[200];
    mts_map map;
    mts_map_init(&map, mts_allocator_default());
    for (uint32_t i = 0; i < 200; i++) {
        numbers[i] = i;
        assert_true(mts_map_add(&map, i % 2 ? UINT64_MAX : 63, i)); /* 63: the last of the first slots */
    }
    for (uint32_t i = 0; i < 200; i++) {
        assert_int_equal(mts_map_find(&map, i % 2 ? UINT64_MAX : 63, same_number, numbers, &i), i);
        assert_int_equal(mts_map_find(&map, i % 2 ? 63 : UINT64_MAX, same_number, numbers, &i), MTS_MAP_NONE);
    }
    mts_map_release(&map);
}

static void a_failed_allocation_leaves_the_map_as_it_was(void **state)
{
    (void)state;
    uint32_t numbers[64];
    mts_wrap_allocator fault;
    mts_wrap_allocator_init(&fault, mts_allocator_default(), 2);
    mts_map map;
    mts_map_init(&map, &fault.base);
    uint32_t added = 0;
    for (; added < 64; added++) {
        numbers[added] = added;
        if (!mts_map_add(&map, number_hash(added), added)) {
            break;
        }
    }
    assert_int_equal(added, 32); /* half of the first slots; the second allocation failed */
    assert_false(mts_map_reserve(&map, SIZE_MAX));
    assert_false(mts_map_reserve(&map, SIZE_MAX / 2 - 40));
    assert_false(mts_map_reserve(&map, SIZE_MAX / 2 + 40));
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(mts_map_find(&map, number_hash(i), same_number, numbers, &i),
                         i < added ? i : MTS_MAP_NONE);
    }
    assert_true(mts_map_add(&map, number_hash(added), added)); /* there is memory again */
    assert_int_equal(mts_map_find(&map, number_hash(added), same_number, numbers, &added), added);
    mts_map_release(&map);
    assert_int_equal(fault.alive, 0);
}

static void reserved_entries_need_no_memory_and_an_arena_frees_a_map(void **state)
{
    (void)state;
    uint32_t numbers[1000];
    mts_wrap_allocator fault;
    mts_wrap_allocator_init(&fault, mts_allocator_default(), 0);
    mts_arena arena;
    mts_arena_init(&arena, &fault.base);
    mts_map map;
    mts_map_init_arena(&map, &arena);
    assert_true(mts_map_reserve(&map, 1000));
    const size_t used = arena.used;
    for (uint32_t i = 0; i < 1000; i++) {
        numbers[i] = ~i;
        assert_true(mts_map_add(&map, number_hash(~i), i));
    }
    assert_true(arena.used == used);
    assert_int_equal(mts_map_find(&map, number_hash(~500u), same_number, numbers, &numbers[500]), 500);
    mts_map_release(&map);
    mts_arena_release(&arena);
    assert_int_equal(fault.alive, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_is_found_while_the_map_grows),
        cmocka_unit_test(entries_of_one_hash_are_told_apart_by_their_keys),
        cmocka_unit_test(a_failed_allocation_leaves_the_map_as_it_was),
        cmocka_unit_test(reserved_entries_need_no_memory_and_an_arena_frees_a_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
