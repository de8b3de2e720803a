/*
 * dense_build.h: writes the graph of some tasks whose channels have got places. Internal
 * to sdk/strategy.
 */
#ifndef MTS_STRATEGY_DENSE_BUILD_H
#define MTS_STRATEGY_DENSE_BUILD_H

#include "strategy/dense_space.h"

typedef struct mts_dense_request {
    const mts_channel_map *map;
    const mts_dense_place *places; /* per entry */
    uint32_t first, count;         /* tasks [first, first + count) become one graph */
    bool clean;                    /* channels that a task does not have stay zero in its images */
} mts_dense_request;

/*
 * Builds nodes and inputs, not outputs. value_of[entry] receives the values,
 * image_of[task - first] each task's first image. Both arrays are the caller's. The graph
 * lives in `arena`.
 */
mts_status mts_dense_build(const mts_dense_request *request, mts_arena *arena, mts_graph **out,
                           uint32_t *value_of, uint32_t *image_of, mts_error *error);

/* A constant of another graph; its data stays where it is. MTS_NONE when memory is
   short. */
uint32_t mts_dense_reference(mts_graph *graph, const mts_value *constant);

#endif
