/*
 * map.c: open addressing with linear probing. A slot keeps half of the hash, so growing
 * needs no keys.
 */
#include "base/map.h"

#include "base/check.h"
#include "base/size.h"

#define SLOTS_FIRST ((size_t)64)

void mts_map_init(mts_map *map, const mts_allocator *allocator)
{
    *map = (mts_map){.allocator = allocator};
}

void mts_map_init_arena(mts_map *map, mts_arena *arena)
{
    *map = (mts_map){.arena = arena};
}

void mts_map_release(mts_map *map)
{
    if (!map->arena) {
        mts_alloc_free(map->allocator, map->slots);
    }
    *map = (mts_map){.allocator = map->allocator, .arena = map->arena};
}

uint32_t mts_map_find(const mts_map *map, uint64_t hash, mts_map_equal *equal, const void *entries,
                      const void *key)
{
    if (map->count == 0) {
        return MTS_MAP_NONE;
    }
    MTS_CHECK(map->count * 2 <= map->slot_count); /* so a free slot ends the search */
    const size_t mask = map->slot_count - 1;
    const uint32_t half = (uint32_t)hash;
    for (size_t at = half & mask; map->slots[at].entry != 0; at = (at + 1) & mask) {
        const uint32_t index = map->slots[at].entry - 1;
        if (map->slots[at].hash == half && equal(entries, index, key)) {
            return index;
        }
    }
    return MTS_MAP_NONE;
}

static void put(mts_map_slot *slots, size_t slot_count, mts_map_slot entry)
{
    MTS_CHECK(slot_count > 0 && (slot_count & (slot_count - 1)) == 0 && entry.entry != 0);
    size_t at = entry.hash & (slot_count - 1);
    while (slots[at].entry != 0) {
        at = (at + 1) & (slot_count - 1);
    }
    slots[at] = entry;
}

bool mts_map_reserve(mts_map *map, size_t count)
{
    size_t needed = 0, wanted = map->slot_count ? map->slot_count : SLOTS_FIRST;
    if (!mts_size_add(map->count, count, &needed) || !mts_size_mul(needed, 2, &needed)) {
        return false;
    }
    while (wanted < needed) {
        if (!mts_size_mul(wanted, 2, &wanted)) {
            return false;
        }
    }
    if (wanted == map->slot_count) {
        return true;
    }
    mts_map_slot *slots = map->arena ? mts_arena_zero(map->arena, wanted, sizeof *slots)
                                     : mts_alloc_zero(map->allocator, wanted, sizeof *slots);
    if (!slots) {
        return false;
    }
    for (size_t i = 0; i < map->slot_count; i++) {
        if (map->slots[i].entry != 0) {
            put(slots, wanted, map->slots[i]);
        }
    }
    if (!map->arena) {
        mts_alloc_free(map->allocator, map->slots);
    }
    map->slots = slots;
    map->slot_count = wanted;
    return true;
}

bool mts_map_add(mts_map *map, uint64_t hash, uint32_t index)
{
    MTS_CHECK(index < MTS_MAP_NONE);
    if (!mts_map_reserve(map, 1)) {
        return false;
    }
    put(map->slots, map->slot_count, (mts_map_slot){.hash = (uint32_t)hash, .entry = index + 1});
    map->count++;
    return true;
}
