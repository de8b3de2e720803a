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
    const bool addressed =
        key->kind == MTS_WEIGHTS_DENSE || key->kind == MTS_WEIGHTS_ORDERED || key->kind == MTS_WEIGHTS_SCALED;
    return (key->by_address == 0 || ones) &&
           (!addressed || key->other == 0 || is_fixed(fixed, count, key->other));
}

/* Appends the section's entries to an index with room for `most` of them. */
static bool add_entries(const mts_weights *pool, uint32_t section, const uintptr_t *fixed, size_t count,
                        mts_weights_index *out)
{
    const size_t first = mts_weights_section_first(pool, section);
    const size_t elements = mts_weights_section_count(pool, section);
    bool done = true;
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

static bool make_room(const mts_weights *pool, uint32_t section, size_t entries, mts_weights_index *out)
{
    const size_t elements = mts_weights_section_count(pool, section);
    *out = (mts_weights_index){.allocator = pool->allocator, .elements = elements, .capacity = elements};
    mts_map_init(&out->map, pool->allocator);
    out->items = mts_alloc_zero(pool->allocator, entries, sizeof *out->items);
    return out->items && mts_map_reserve(&out->map, entries);
}

bool mts_weights_index_make(const mts_weights *pool, uint32_t section, const uintptr_t *fixed, size_t count,
                            mts_weights_index *out)
{
    return make_room(pool, section, pool->entry_count, out) && add_entries(pool, section, fixed, count, out);
}

bool mts_weights_index_grow(const mts_weights *pool, const uintptr_t *fixed, size_t count,
                            mts_weights_index *out)
{
    const uint32_t section = pool->kept_count - 1;
    const mts_weights_index *old = pool->kept[section];
    bool done = make_room(pool, section, old->count + pool->entry_count, out);
    for (size_t i = 0; done && i < old->count; i++) {
        out->items[i] = old->items[i];
        done = mts_map_add(&out->map, mts_hash(&old->items[i].key, sizeof old->items[i].key, 0), (uint32_t)i);
        out->count++;
    }
    out->capacity = old->capacity;
    return done && add_entries(pool, section, fixed, count, out);
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
    if (count > 0 && !mts_alloc_grow(pool->allocator, (void **)&pool->sections, &pool->section_capacity,
                                     count, sizeof *pool->sections)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        pool->count += kept[i]->elements;
        if (i + 1 == count && kept[i]->capacity > kept[i]->elements) {
            pool->open = kept[i];
        } else {
            pool->sections[pool->section_count++] = pool->count;
        }
    }
    pool->kept = kept;
    pool->kept_count = count;
    return true;
}

#endif
