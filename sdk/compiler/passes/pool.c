/*
 * pool.c: see pool.h.
 */
#include "compiler/passes/pool.h"

#include <string.h>

#include "base/hash.h"
#include "base/size.h"

#define SLOTS_FIRST 256u

static bool same_block(const mts_block *a, const mts_block *b)
{
    return a->hash == b->hash && a->size == b->size && a->dtype == b->dtype &&
           (a->data == b->data || memcmp(a->data, b->data, a->size) == 0);
}

static size_t find_slot(const mts_pool *pool, const mts_block *block)
{
    size_t at = (size_t)block->hash & (pool->slot_count - 1);
    while (pool->slots[at] && !same_block(&pool->blocks[pool->slots[at] - 1], block)) {
        at = (at + 1) & (pool->slot_count - 1);
    }
    return at;
}

static bool grow_slots(mts_pool *pool)
{
    if (pool->slot_count && pool->count * 2 < pool->slot_count) {
        return true;
    }
    mts_pool bigger = *pool;
    bigger.slot_count = pool->slot_count ? pool->slot_count * 2 : SLOTS_FIRST;
    bigger.slots = mts_alloc_zero(pool->allocator, bigger.slot_count, sizeof(*bigger.slots));
    if (!bigger.slots) {
        return false;
    }
    for (size_t i = 0; i < pool->count; i++) {
        bigger.slots[find_slot(&bigger, &pool->blocks[i])] = (uint32_t)(i + 1);
    }
    mts_alloc_free(pool->allocator, pool->slots);
    *pool = bigger;
    return true;
}

void mts_pool_init(mts_pool *pool, const mts_allocator *allocator)
{
    *pool = (mts_pool){.allocator = allocator};
}

void mts_pool_release(mts_pool *pool)
{
    mts_alloc_free(pool->allocator, pool->blocks);
    mts_alloc_free(pool->allocator, pool->slots);
    mts_pool_init(pool, pool->allocator);
}

bool mts_pool_add(mts_pool *pool, const void *data, size_t size, mts_type dtype, uint32_t *block)
{
    const mts_block wanted = {
        .data = data, .size = size, .dtype = dtype, .hash = mts_hash(data, size, (uint64_t)dtype)};
    uint32_t number = 0;
    if (!grow_slots(pool) || !mts_size_to_u32(pool->count + 1, &number)) {
        return false;
    }
    const size_t slot = find_slot(pool, &wanted);
    if (pool->slots[slot]) {
        *block = pool->slots[slot] - 1;
        return true;
    }
    void *blocks = pool->blocks;
    if (!mts_alloc_grow(pool->allocator, &blocks, &pool->capacity, pool->count + 1, sizeof(*pool->blocks))) {
        return false;
    }
    pool->blocks = blocks;
    pool->blocks[pool->count] = wanted;
    pool->slots[slot] = number;
    *block = (uint32_t)pool->count++;
    return true;
}
