/*
 * bench_world.h: the three arrays of a launch (activations, pool, table) under construction, with planar
 * tensors.
 *
 * Responsible for growing arrays, reserving tensors with their zeros, and filling them with numbers that are
 * neither zero nor denormal. Not responsible for operators.
 */
#ifndef MTS_BENCH_WORLD_H
#define MTS_BENCH_WORLD_H

#include <stddef.h>
#include <stdint.h>

typedef uint32_t mts_u32;
typedef int32_t mts_i32;
typedef float mts_f32;
#include "kernels/abi/conv.h"

typedef struct bench_world {
    float *act, *pool;
    mts_u32 *table;
    size_t act_count, pool_count, table_count;
    uint64_t seed;
} bench_world;

/* A planar tensor: see params.h. */
typedef struct bench_tensor {
    mts_u32 base, channels, h, w, row, gap, tail, pitch;
} bench_tensor;

void bench_world_free(bench_world *world);
/* Uniform in +-[0.1, 1.1). */
float bench_world_random(bench_world *world);
/* Reserve `count` elements (activations and pool 64-byte aligned) and return the offset; zeroed. */
mts_u32 bench_world_act(bench_world *world, size_t count);
mts_u32 bench_world_pool(bench_world *world, size_t count);
mts_u32 bench_world_table(bench_world *world, size_t count);
/* Copies a record into the table. */
mts_u32 bench_world_record(bench_world *world, const void *record, size_t size);
/* Reserves a tensor, all zeros; bench_tensor_fill gives its values, bench_tensor_poison makes all of it NaN.
 */
bench_tensor bench_tensor_make(bench_world *world, mts_u32 channels, mts_u32 h, mts_u32 w, mts_u32 row,
                               mts_u32 gap, mts_u32 tail);
void bench_tensor_fill(bench_world *world, const bench_tensor *tensor);
void bench_tensor_poison(bench_world *world, const bench_tensor *tensor);
/* Values that are not 0 outside the image, plus NaNs anywhere: 0 is right. */
size_t bench_tensor_dirt(const float *act, const bench_tensor *tensor);
float bench_tensor_at(const float *act, const bench_tensor *tensor, int channel, int y, int x);

#endif
