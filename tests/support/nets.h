/*
 * nets.h: families of small networks with planted sharing.
 *
 * Every channel of a network has an identity. A weight depends on the identities of its output and its input
 * alone, so tasks share exactly the weights between identities that they have in common; each task holds its
 * channels in an order of its own.
 */
#ifndef MTS_TESTS_NETS_H
#define MTS_TESTS_NETS_H

#include "bundle/archive.h"

/* Channels of a layer of a task: `shared` common ones, `subset` common to tasks of equal `task % 2`, others
 * private. */
typedef struct mts_net_plan {
    uint32_t tasks;
    uint32_t shared, subset, exclusive; /* channels of a layer */
    bool shuffled;                      /* each task has an order of its own */
    bool filters; /* a shared filter spans all inputs by position (residual form), else by identity (uxyz) */
    uint32_t seed;
} mts_net_plan;

typedef struct mts_net {
    const mts_net_plan *plan;
    mts_arena *arena;
    mts_graph *graph;
    uint32_t task, layer, vectors, random;
    bool failed;
} mts_net;

/* A value with its channels' identities. */
typedef struct mts_net_value {
    uint32_t value, count;
    const uint64_t *ids;
} mts_net_value;

void mts_net_begin(mts_net *net, const mts_net_plan *plan, mts_arena *arena, uint32_t task);
mts_net_value mts_net_input(mts_net *net, int64_t channels, int64_t size);
/* Identities of a layer's channels, planned; `share` false: all private. */
mts_net_value mts_net_channels(mts_net *net, bool share);
/* Convolution with padding kernel / 2, bias and ReLU. `out` gives the identities. residual may be NULL. */
mts_net_value mts_net_conv(mts_net *net, mts_net_value x, mts_net_value out, uint32_t kernel, uint32_t stride,
                           const mts_net_value *residual);
mts_net_value mts_net_depthwise(mts_net *net, mts_net_value x);
/* The same with stride 2. */
mts_net_value mts_net_depthwise_half(mts_net *net, mts_net_value x);
/* Transposed convolution with padding 1, bias and ReLU, `stride` times the rows and columns and a few.
   group: 1, or the channels of x and out. */
mts_net_value mts_net_deconv(mts_net *net, mts_net_value x, mts_net_value out, uint32_t kernel,
                             uint32_t stride, uint32_t group);
mts_net_value mts_net_softmax(mts_net *net, mts_net_value x, uint32_t axis);
/* Per-task batch normalisation left as a SCALE node. */
mts_net_value mts_net_scale(mts_net *net, mts_net_value x);
mts_net_value mts_net_add(mts_net *net, mts_net_value a, mts_net_value b);
mts_net_value mts_net_pool(mts_net *net, mts_net_value x);
/* Twice the rows and columns, each pixel four times. */
mts_net_value mts_net_double(mts_net *net, mts_net_value x);
mts_net_value mts_net_mean(mts_net *net, mts_net_value x);
mts_net_value mts_net_concat(mts_net *net, mts_net_value a, mts_net_value b);
/* One channel of each of `groups` groups of neighbours in turn (ShuffleNet). */
mts_net_value mts_net_shuffle(mts_net *net, mts_net_value x, uint32_t groups);
/* Channels [first, first + count). */
mts_net_value mts_net_slice(mts_net *net, mts_net_value x, uint32_t first, uint32_t count);
/* [N,C,H,W] -> [N,CHW,1,1] */
mts_net_value mts_net_flatten(mts_net *net, mts_net_value x);
/* Private fully connected layer, the graph's output. */
void mts_net_end(mts_net *net, mts_net_value x, uint32_t classes);

/* Whole networks (nets_build.c). */
typedef void (*mts_net_build)(mts_net *net);

/* 3 convolutions with a pool between, global mean, private classifier. */
void mts_net_build_chain(mts_net *net);
/* Two residual blocks; the sum keeps its own channels. */
void mts_net_build_residual(mts_net *net);
/* Two branches joined by channels, as in SqueezeNet. */
void mts_net_build_concat(mts_net *net);
/* A image flattened into a shared fully connected layer. */
void mts_net_build_flatten(mts_net *net);
void mts_net_build_depthwise(mts_net *net);
/* Shared at first, all private from the third layer on. */
void mts_net_build_prefix(mts_net *net);

#endif
