/*
 * bench_conv.h: records, data and a plain C check of a convolution layer of many tasks.
 *
 * Responsible for the policy the benchmark measures (row blocks, tile size, row length). Not responsible for
 * timing.
 */
#ifndef MTS_BENCH_CONV_H
#define MTS_BENCH_CONV_H

#include "bench_device.h"
#include "bench_world.h"

typedef struct bench_conv {
    const char *name;
    int tasks, in, out, h, w; /* channels; size of the output */
    int kernel, stride;
    int shared;          /* percent of channels shared in UXYZ form; 0: private weights */
    int most, tile, row; /* policy: most rows of a case, vectors of a tile, row length; 0: the default */
} bench_conv;

/* Fills the world and the launch; `defines` has 1024 bytes and lives as long as the launch. With a
   vector of 1 blocks are those of GPUs. */
void bench_conv_make(bench_world *world, const bench_conv *layer, uint32_t units, uint32_t vector,
                     bench_launch *launch, char *defines);
/* The same for conv_winograd; the layer has 3 x 3 taps and stride 1. */
void bench_conv_make_winograd(bench_world *world, const bench_conv *layer, uint32_t units, uint32_t vector,
                              bench_launch *launch, char *defines);
/* Largest error relative to 1 + |expected|; infinite where a border is not 0. */
double bench_conv_error(const bench_world *world, const bench_conv *layer, const float *result);
double bench_conv_flops(const bench_conv *layer);
/* Of input, output and weights, each once, float32. */
double bench_conv_bytes(const bench_conv *layer);

#endif
