/*
 * prune_fixture.h: small networks with random weights, and images for them, for the tests of pruning.
 */
#ifndef MTS_TESTS_COMPRESS_PRUNE_FIXTURE_H
#define MTS_TESTS_COMPRESS_PRUNE_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "compress/prune/choose.h"
#include "compress/prune/refit.h"
#include "compress/prune/twins.h"
#include "support/eval.h"
#include "support/nets.h"

#define SIDE 8
#define IMAGES 64u
#define IMAGES_MOST 600u /* more than run at once */

static mts_arena arena;
static mts_error error;

static inline int set_up(void **state)
{
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    mts_arena_release(&arena);
    return 0;
}

static inline void must(mts_status status)
{
    if (status != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static inline float noise(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return (float)(*random >> 8) / 8388608.0f - 1.0f;
}

/* ---- building ---- */

static inline uint32_t constant(mts_graph *graph, uint32_t rank, const int64_t *dims, const float *data)
{
    const mts_shape shape = mts_shape_make(rank, dims);
    const uint32_t value = mts_graph_add_const(graph, NULL, MTS_TYPE_FLOAT32, &shape, data);
    assert_int_not_equal(value, MTS_NONE);
    return value;
}

/* Weights of which filter o + count / 2 is twice filter o, where they are `doubled`. */
static inline float *weights(uint32_t count, uint32_t size, bool doubled, uint32_t seed)
{
    float *data = mts_arena_zero(&arena, (size_t)count * size, sizeof *data);
    assert_non_null(data);
    for (uint32_t i = 0; i < count * size; i++) {
        const bool copy = doubled && i >= count / 2 * size;
        data[i] = copy ? 2.0f * data[i - count / 2 * size] : noise(&seed);
    }
    return data;
}

typedef struct layer {
    uint32_t outputs, kernel, group, residual; /* residual: a value, or MTS_NONE */
    bool doubled, relu, scaled;
} layer;

static inline uint32_t conv(mts_graph *graph, uint32_t x, layer l, uint32_t seed)
{
    const uint32_t inputs = (uint32_t)graph->values[x].shape.dims[1] / l.group;
    const uint32_t size = inputs * l.kernel * l.kernel;
    float *bias = weights(l.outputs, 1, l.doubled, seed + 1), *scale = weights(l.outputs, 1, false, seed + 2);
    for (uint32_t o = 0; o < l.outputs; o++) {
        scale[o] = 1.5f + 0.5f * scale[l.doubled ? o % (l.outputs / 2) : o];
    }
    /* filters of a depthwise convolution are equal for both halves: it hands the factor on */
    float *weight = weights(l.outputs, size, l.doubled && l.group == 1, seed);
    for (uint32_t i = l.outputs / 2 * size; l.doubled && l.group > 1 && i < l.outputs * size; i++) {
        weight[i] = weight[i - l.outputs / 2 * size];
    }
    const int64_t dims[] = {l.outputs, inputs, l.kernel, l.kernel}, vector[] = {l.outputs};
    const uint32_t operands[] = {x, constant(graph, 4, dims, weight),
                                 l.scaled ? constant(graph, 1, vector, scale) : MTS_NONE,
                                 constant(graph, 1, vector, bias), l.residual};
    const int32_t pad = (int32_t)(l.kernel / 2);
    mts_attrs attrs = {.conv = {.kernel = {l.kernel, l.kernel},
                                .stride = {1, 1},
                                .dilation = {1, 1},
                                .pad = {pad, pad, pad, pad},
                                .group = l.group,
                                .act.fn = l.relu ? MTS_FN_RELU : MTS_FN_NONE}};
    uint32_t value = MTS_NONE;
    must(mts_graph_add_node(graph, MTS_OP_CONV, "conv", operands, l.residual == MTS_NONE ? 4 : 5, &attrs,
                            &value, &error));
    return value;
}

static inline mts_graph *begin(uint32_t *x, uint32_t channels, int64_t side)
{
    mts_graph *graph = mts_graph_create(&arena, "test");
    const mts_shape shape = mts_shape_make(4, (int64_t[]){1, channels, side, side});
    assert_non_null(graph);
    *x = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape);
    return graph;
}

static inline void end(mts_graph *graph, uint32_t value)
{
    must(mts_graph_add_output(graph, "y", value, MTS_TYPE_FLOAT32, &graph->values[value].shape, &error));
    must(mts_graph_verify(graph, &error));
}

static inline mts_graph *build_chain(void)
{
    uint32_t x = 0;
    mts_graph *graph = begin(&x, 3, SIDE);
    x = conv(graph, x, (layer){8, 3, 1, MTS_NONE, true, true, true}, 10);
    x = conv(graph, x, (layer){6, 3, 1, MTS_NONE, false, true, true}, 20);
    end(graph, conv(graph, x, (layer){4, 1, 1, MTS_NONE, false, false, false}, 30));
    return graph;
}

/* The stream of a residual block is doubled, its inside is not. */
static inline mts_graph *build_residual(void)
{
    uint32_t x = 0;
    mts_graph *graph = begin(&x, 3, SIDE);
    x = conv(graph, x, (layer){8, 3, 1, MTS_NONE, true, true, false}, 10);
    const uint32_t inside = conv(graph, x, (layer){5, 3, 1, MTS_NONE, false, true, true}, 20);
    x = conv(graph, inside, (layer){8, 3, 1, x, true, true, false}, 30);
    end(graph, conv(graph, x, (layer){4, 1, 1, MTS_NONE, false, false, false}, 40));
    return graph;
}

static inline mts_graph *build_depthwise(void)
{
    uint32_t x = 0;
    mts_graph *graph = begin(&x, 3, SIDE);
    x = conv(graph, x, (layer){8, 3, 1, MTS_NONE, true, true, false}, 10);
    x = conv(graph, x, (layer){8, 3, 8, MTS_NONE, true, true, false}, 20);
    end(graph, conv(graph, x, (layer){4, 1, 1, MTS_NONE, false, false, false}, 30));
    return graph;
}

/* ---- images ---- */

static inline int tensor(void *context, uint32_t index, const char *task, uint32_t input, float *out,
                         size_t count)
{
    const float *values = context; /* four pixels, or NULL: noise */
    uint32_t random = index * 7919u + 3;
    (void)task;
    (void)input;
    for (size_t i = 0; i < count; i++) {
        out[i] = values ? values[i % 4] : noise(&random);
    }
    return 0;
}

static inline mts_prune_images images_of(mts_graph *graph, const float *values)
{
    static mts_task task;
    static uint32_t indices[IMAGES_MOST];
    static mtsz_data source;
    mts_prune_images images = {.indices = indices, .count = IMAGES};
    task = (mts_task){.name = "t", .graph = graph};
    mtsz_data_default(&source);
    source.count = IMAGES_MOST;
    source.tensor = tensor;
    source.context = (void *)(uintptr_t)values;
    for (uint32_t i = 0; i < IMAGES_MOST; i++) {
        indices[i] = i;
    }
    must(mts_data_create(&source, &task, 1, 1 << 20, mts_allocator_default(), &images.data, &error));
    return images;
}

#define EACH(i, list) for (size_t i = 0; i < sizeof(list) / sizeof((list)[0]); i++)

#endif
