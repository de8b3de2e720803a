/*
 * batch.c: see batch.h.
 */
#include "compress/train/batch.h"

#include <string.h>

/* SplitMix64 (Steele, Lea, Flood 2014), as a number below `end`. */
static uint32_t random_below(uint64_t *state, uint32_t end)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (uint32_t)((z >> 32) * end >> 32);
}

static void shuffle(mts_batch *batch)
{
    for (uint32_t left = batch->images; left > 1; left--) {
        const uint32_t other = random_below(&batch->state, left);
        const uint32_t image = batch->order[left - 1];
        batch->order[left - 1] = batch->order[other];
        batch->order[other] = image;
    }
}

/* A whole number from -shift to shift. */
static int32_t random_move(mts_batch *batch)
{
    return (int32_t)random_below(&batch->state, 2 * batch->shift + 1) - (int32_t)batch->shift;
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
    shuffle(batch); /* so that the first images in the order are any */
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
        shuffle(batch);
        batch->at = 0;
    }
    batch->indices = batch->order + batch->at;
    batch->at += batch->size;
    for (uint32_t i = 0; i < batch->size; i++) {
        batch->changes[i] = (mts_data_change){.mirror = batch->mirror && random_below(&batch->state, 2)};
        if (batch->shift) {
            batch->changes[i].right = random_move(batch);
            batch->changes[i].down = random_move(batch);
        }
    }
}
