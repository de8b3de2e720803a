/*
 * batch.h: which images a step of training sees, and how they are changed.
 */
#ifndef MTS_COMPRESS_TRAIN_BATCH_H
#define MTS_COMPRESS_TRAIN_BATCH_H

#include "base/alloc.h"
#include "compress/data/data.h"

/* Every round over the images has an order of its own; images that fill no batch wait for
   another round. */
typedef struct mts_batch {
    const mts_allocator *allocator;
    uint32_t images, size; /* of the data; of a batch */
    uint32_t shift;
    bool mirror;
    uint64_t state;           /* of the random numbers */
    uint32_t at;              /* in the order: the next batch */
    uint32_t *order;          /* [images] */
    const uint32_t *indices;  /* [size] of the batch in hand */
    mts_data_change *changes; /* [size] */
} mts_batch;

/* 1 <= size <= images. False if memory is short; release in any case. */
bool mts_batch_init(mts_batch *batch, uint32_t images, uint32_t size, uint32_t shift, bool mirror,
                    uint64_t seed, const mts_allocator *allocator);
void mts_batch_release(mts_batch *batch);
/* Makes the next batch. */
void mts_batch_next(mts_batch *batch);

#endif
