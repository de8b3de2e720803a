/*
 * random_net.h: families of small random networks, and an oracle for them.
 *
 * The networks of a family follow one script (drawn from the family's seed), so that they align; each task
 * varies it: input size, batch, channels, an extra node, private or shared weights. Every layout that the
 * planner knows occurs: any stride, padding, dilation and group, windows in the padding alone, kernels longer
 * than the image, strides longer than the kernel, fused residuals, operators between convolutions that read
 * padded tensors. Inputs are float32; exec/inputs and exec/edges have the other types.
 */
#ifndef MTS_TESTS_SUPPORT_RANDOM_NET_H
#define MTS_TESTS_SUPPORT_RANDOM_NET_H

#include "device/device.h"
#include "graph/graph.h"

typedef struct random_family {
    uint32_t seed, tasks, steps;
    bool common; /* all tasks take one input of one size */
    bool equal;  /* all tasks are the same network */
    bool net;    /* only operators that sdk/compress/net computes */
} random_family;

/* NULL when memory is short. */
mts_graph *random_net(const random_family *family, uint32_t task, mts_arena *arena);
/* The task's input, dense. With a common input it is the same for all tasks. */
float *random_input(const random_family *family, uint32_t task, const mts_graph *graph, uint32_t round,
                    mts_arena *arena);

/*
 * Evaluates a graph node by node: convolutions in plain C, every other operator as a graph of its own on
 * `reference`, where it meets nothing but dense tensors. values[v] receives each value.
 */
mts_status random_oracle(const mts_graph *graph, const float *const *inputs, mts_device *reference,
                         mts_arena *arena, float **values, mts_error *error);

#endif
