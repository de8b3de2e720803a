/*
 * retrain.h: trains a subnet to answer as the whole network does (train/distill.h),
 * and as labels say where there are some.
 */
#ifndef MTS_COMPRESS_SPLIT_RETRAIN_H
#define MTS_COMPRESS_SPLIT_RETRAIN_H

#include "compress/split/ending.h"

typedef struct mts_retrained {
    mts_graph *graph; /* in the split's arena */
    uint32_t value;   /* what its last layer reads */
} mts_retrained;

/*
 * Trains `body`, of the whole network's values, with the end of these weights for
 * wanted->retrain_seconds. The trunk stays as it is. Errors as mts_distill.
 */
mts_status mts_split_retrain(mts_split *split, const mts_ending *ending, const mts_graph *body,
                             const mts_ending_layer *end, mts_retrained *out, mts_error *error);

#endif
