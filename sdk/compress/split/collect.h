/*
 * collect.h: what a network computes of the calibration images, value by value.
 */
#ifndef MTS_COMPRESS_SPLIT_COLLECT_H
#define MTS_COMPRESS_SPLIT_COLLECT_H

#include "compress/data/data.h"
#include "compress/net/net.h"

/* A value of the graph, and where it goes: f32[images][elements], in the layout of
   net/net.h. */
typedef struct mts_collect {
    uint32_t value;
    float *out;
} mts_collect;

/* Runs `net` on every image of a task of the data, on all processors. */
mts_status mts_collect_values(const mts_net *net, mts_data *data, uint32_t task, const mts_collect *wanted,
                              uint32_t count, const mts_allocator *allocator, mts_error *error);

#endif
