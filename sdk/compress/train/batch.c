/*
 * batch.c: see batch.h.
 */
#include "compress/train/batch.h"

#include <string.h>

#include "compress/train/random.h"

/* A whole number from -shift to shift. */
static int32_t random_move(mts_batch *batch)
{
    return (int32_t)mts_random_below(&batch->state, 2 * batch->shift + 1) - (int32_t)batch->shift;
}

bool mts_batch_init(mts_batch *batch, uint32_t images, uint32_t size, uint32_t shift, bool mirror,
                    uint64_t seed, const mts_allocator *allocator)
{
    *batch = (mts_batch){.allocator = allocator,
                         .images = images,
                         .size = size,
                         .shift = shift,
                         .mirror = mirror,
                         .state = seed,
                         .at = images};
    batch->order = mts_alloc_zero(allocator, images, sizeof(*batch->order));
    batch->changes = mts_alloc_zero(allocator, size, sizeof(*batch->changes));
    for (uint32_t i = 0; batch->order && i < images; i++) {
        batch->order[i] = i;
    }
    if (!batch->order || !batch->changes) {
        return false;
    }
    mts_random_shuffle(&batch->state, batch->order,
                       batch->images); /* so that the first images in the order are any */
    return true;
}

void mts_batch_release(mts_batch *batch)
{
    if (batch->allocator) {
        mts_alloc_free(batch->allocator, batch->order);
        mts_alloc_free(batch->allocator, batch->changes);
    }
    memset(batch, 0, sizeof(*batch));
}

void mts_batch_next(mts_batch *batch)
{
    if (batch->at + batch->size > batch->images) {
        mts_random_shuffle(&batch->state, batch->order, batch->images);
        batch->at = 0;
    }
    batch->indices = batch->order + batch->at;
    batch->at += batch->size;
    for (uint32_t i = 0; i < batch->size; i++) {
        batch->changes[i] = (mts_data_change){.mirror = batch->mirror && mts_random_below(&batch->state, 2)};
        if (batch->shift) {
            batch->changes[i].right = random_move(batch);
            batch->changes[i].down = random_move(batch);
        }
    }
}
