/*
 * weights_index.c: what sections on the device hold, for pools of later plans (weights.h).
 */
#include "lower/weights_entry.h"

#ifndef MTS_SMALL

#include "base/hash.h"

static bool is_fixed(const uintptr_t *fixed, size_t count, uint64_t address)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (fixed[middle] == address) {
            return true;
        }
        low = fixed[middle] < address ? middle + 1 : low;
        high = fixed[middle] < address ? high : middle;
    }
    return false;
}

/* Whether the key names the same content for as long as the fixed addresses live. */
static bool lasts(const mts_weights_key *key, const uintptr_t *fixed, size_t count)
{
    const bool ones = key->kind == MTS_WEIGHTS_SCALED && key->identity == 0; /* of no vector */
    const bool addressed = key->kind == MTS_WEIGHTS_DENSE || key->kind == MTS_WEIGHTS_ORDERED ||
                           key->kind == MTS_WEIGHTS_SCALED;
    return (key->by_address == 0 || ones) &&
           (!addressed || key->other == 0 || is_fixed(fixed, count, key->other));
}

bool mts_weights_index_make(const mts_weights *pool, uint32_t section, const uintptr_t *fixed, size_t count,
                            mts_weights_index *out)
{
    const size_t first = mts_weights_section_first(pool, section);
    const size_t elements = mts_weights_section_count(pool, section);
    *out = (mts_weights_index){.allocator = pool->allocator, .elements = elements};
    mts_map_init(&out->map, pool->allocator);
    out->items = mts_alloc_zero(pool->allocator, pool->entry_count, sizeof *out->items);
    bool done = out->items && mts_map_reserve(&out->map, pool->entry_count);
    for (size_t i = 0; done && i < pool->entry_count; i++) {
        const mts_weights_entry *entry = &pool->entries[i];
        if (entry->offset < first || entry->offset >= first + elements || !lasts(&entry->key, fixed, count)) {
            continue;
        }
        out->items[out->count] =
            (mts_weights_kept){.key = entry->key, .offset = (uint32_t)(entry->offset - first)};
        done = mts_map_add(&out->map, mts_hash(&entry->key, sizeof entry->key, 0), (uint32_t)out->count);
        out->count++;
    }
    return done;
}

void mts_weights_index_release(mts_weights_index *index)
{
    if (index->allocator) {
        mts_alloc_free(index->allocator, index->items);
        mts_map_release(&index->map);
        *index = (mts_weights_index){0};
    }
}

void mts_weights_index_blocks(const mts_weights_index *index, bool *blocks, uint32_t count)
{
    for (size_t i = 0; i < index->count; i++) {
        const mts_weights_key *key = &index->items[i].key;
        if (key->by_address == 0 && key->kind != MTS_WEIGHTS_MASK && key->identity < count) {
            blocks[key->identity] = true;
        }
    }
}

bool mts_weights_keep(mts_weights *pool, const mts_weights_index *const *kept, uint32_t count)
{
    if (count > 0 && !mts_alloc_grow(pool->allocator, (void **)&pool->sections, &pool->section_capacity, count,
                                     sizeof *pool->sections)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        pool->count += kept[i]->elements;
        pool->sections[pool->section_count++] = pool->count;
    }
    pool->kept = kept;
    pool->kept_count = count;
    return true;
}

#endif
