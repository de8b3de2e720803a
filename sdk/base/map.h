/*
 * map.h: a hash map from things in the caller's array to their indices.
 *
 * The map stores a 32-bit index and a part of the hash per entry; keys and values stay in
 * the caller's array, and an equality function of the caller compares them. Entries
 * cannot be removed. A caller that must remove one marks it in its array, so that it
 * equals no key.
 *
 *     uint32_t index = mts_map_find(&map, hash, same_name, names, text);
 *     if (index == MTS_MAP_NONE && append(&names, text) && mts_map_add(&map, hash, count - 1)) ...
 *
 * Thread-safety: any number of threads may search a map that no thread changes.
 */
#ifndef MTS_BASE_MAP_H
#define MTS_BASE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"

#define MTS_MAP_NONE UINT32_MAX

/* Whether entry `index` of `entries` has this key. Called only where the hashes agree in
   32 bits. */
typedef bool mts_map_equal(const void *entries, uint32_t index, const void *key);

typedef struct mts_map_slot {
    /* Low half of the entry's hash. */
    uint32_t hash;
    /* Index plus 1; 0: free. */
    uint32_t entry;
} mts_map_slot;

/* A zeroed map with an allocator or an arena is empty and valid. */
typedef struct mts_map {
    const mts_allocator *allocator;
    /* Used instead of the allocator if it is not NULL. */
    mts_arena *arena;
    /* Open addressing, at most half full; slot_count is 0 or a power of two. */
    mts_map_slot *slots;
    size_t slot_count, count;
} mts_map;

/* Empty maps; the first entry allocates. */
void mts_map_init(mts_map *map, const mts_allocator *allocator);
/* The map's memory lives as long as the arena; mts_map_release is not needed. */
void mts_map_init_arena(mts_map *map, mts_arena *arena);
/* Frees the slots; the map is empty and usable after it. */
void mts_map_release(mts_map *map);

/* Index of the entry with this key, or MTS_MAP_NONE. `hash` is mts_hash of the key;
 * `entries` goes to `equal`. */
uint32_t mts_map_find(const mts_map *map, uint64_t hash, mts_map_equal *equal, const void *entries,
                      const void *key);

/* Makes room for `count` more entries, so that adding them cannot fail. False: no memory;
 * the map is as before. */
bool mts_map_reserve(mts_map *map, size_t count);

/* Adds an entry whose key the map does not have; index < MTS_MAP_NONE. False: no memory;
 * the map is as before. */
bool mts_map_add(mts_map *map, uint64_t hash, uint32_t index);

#endif
