/*
 * pool.c: see pool.h.
 */
#include "compiler/passes/pool.h"

#include <string.h>

#include "base/hash.h"
#include "base/size.h"

static bool same_block(const void *blocks, uint32_t index, const void *key)
{
    const mts_block *a = (const mts_block *)blocks + index, *b = key;
    return a->hash == b->hash && a->size == b->size && a->dtype == b->dtype &&
           (a->data == b->data || memcmp(a->data, b->data, a->size) == 0);
}

void mts_pool_init(mts_pool *pool, const mts_allocator *allocator)
{
    *pool = (mts_pool){.allocator = allocator, .map = {.allocator = allocator}};
}

void mts_pool_release(mts_pool *pool)
{
    mts_alloc_free(pool->allocator, pool->blocks);
    mts_map_release(&pool->map);
}

bool mts_pool_add(mts_pool *pool, const void *data, size_t size, mts_type dtype, uint32_t *block)
{
    const mts_block wanted = {
        .data = data, .size = size, .dtype = dtype, .hash = mts_hash(data, size, (uint64_t)dtype)};
    *block = mts_map_find(&pool->map, wanted.hash, same_block, pool->blocks, &wanted);
    if (*block != MTS_MAP_NONE) {
        return true;
    }
    void *blocks = pool->blocks;
    if (!mts_size_to_u32(pool->count, block) || *block == MTS_MAP_NONE ||
        !mts_alloc_grow(pool->allocator, &blocks, &pool->capacity, pool->count + 1, sizeof *pool->blocks)) {
        return false;
    }
    pool->blocks = blocks;
    pool->blocks[pool->count] = wanted;
    if (!mts_map_add(&pool->map, wanted.hash, *block)) {
        return false;
    }
    pool->count++;
    return true;
}
