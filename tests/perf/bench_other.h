/*
 * bench_other.h: records, data and a plain C check of depthwise and fully connected layers of many tasks.
 */
#ifndef MTS_BENCH_OTHER_H
#define MTS_BENCH_OTHER_H

#include "bench_device.h"
#include "bench_world.h"

/* h, w: of the output. */
typedef struct bench_depthwise {
    const char *name;
    int tasks, channels, h, w, kernel, stride;
} bench_depthwise;

void bench_depthwise_make(bench_world *world, const bench_depthwise *layer, bench_launch *launch);
/* The same for depthwise_rows, which alone has strides. */
void bench_depthwise_make_rows(bench_world *world, const bench_depthwise *layer, bench_launch *launch);
double bench_depthwise_error(const bench_world *world, const bench_depthwise *layer, const float *result);
double bench_depthwise_flops(const bench_depthwise *layer);
/* Of input, output and weights, each once. */
double bench_depthwise_bytes(const bench_depthwise *layer);

typedef struct bench_fc {
    const char *name;
    int tasks, in, out;
} bench_fc;

void bench_fc_make(bench_world *world, const bench_fc *layer, uint32_t vector, bench_launch *launch);
double bench_fc_error(const bench_world *world, const bench_fc *layer, const float *result);
double bench_fc_flops(const bench_fc *layer);

#endif
