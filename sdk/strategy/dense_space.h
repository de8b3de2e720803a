/*
 * dense_space.h: which stitched channel each channel of each task becomes. Internal to
 * sdk/strategy.
 */
#ifndef MTS_STRATEGY_DENSE_SPACE_H
#define MTS_STRATEGY_DENSE_SPACE_H

#include "strategy/dense_map.h"

/* Channels of an entry: pos[task][channel] < total; pos NULL: every channel keeps its
   number. */
typedef struct mts_dense_place {
    uint32_t total;
    uint32_t **pos;
} mts_dense_place;

/*
 * Stitched channels of every entry, for all tasks together. Output channels of a
 * convolution coincide where their filters share a weight block and contradict each other
 * nowhere; entries that are added have one order. apart[entry]: its node runs for each task alone.
 * The results (places[entry], apart) live in `arena`. Errors: UNSUPPORTED, LIMIT, OUT_OF_MEMORY.
 */
mts_status mts_dense_places(const mts_channel_map *map, mts_arena *arena, mts_dense_place **places,
                            bool **apart, mts_error *error);

/* Output channel of a convolution's weight row. */
uint32_t mts_dense_channel(const mts_node *node, uint32_t row);

#endif
