/*
 * pool.h: a set of weight blocks in which equal bytes of equal type occur once.
 */
#ifndef MTS_COMPILER_PASSES_POOL_H
#define MTS_COMPILER_PASSES_POOL_H

#include "base/map.h"
#include "bundle/archive.h"

typedef struct mts_pool {
    const mts_allocator *allocator;
    mts_block *blocks; /* on the allocator */
    size_t count, capacity;
    mts_map map; /* of blocks */
} mts_pool;

void mts_pool_init(mts_pool *pool, const mts_allocator *allocator);
void mts_pool_release(mts_pool *pool);
/* Number of the block with these bytes, which the caller keeps; false if memory is
   short. */
bool mts_pool_add(mts_pool *pool, const void *data, size_t size, mts_type dtype, uint32_t *block);

#endif
