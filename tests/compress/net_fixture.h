/*
 * net_fixture.h: small graphs with random weights, and values in the layout of compress/net/net.h, for the
 * tests of nets. Failures fail the running test.
 */
#ifndef MTS_TESTS_COMPILER_NET_FIXTURE_H
#define MTS_TESTS_COMPILER_NET_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "compress/net/net.h"
#include "kernels/abi/kinds.h"

typedef struct fixture {
    mts_arena arena;
    mts_graph *graph;
    uint64_t state; /* of the random numbers */
} fixture;

static inline float fixture_noise(uint64_t *state)
{
    *state = mts_hash(state, sizeof *state, 99);
    return (float)(*state >> 40) / (float)(1u << 23) - 1.0f;
}

static inline void fixture_begin(fixture *f, uint64_t seed)
{
    mts_arena_init(&f->arena, mts_allocator_default());
    f->graph = mts_graph_create(&f->arena, "net");
    f->state = seed;
    assert_non_null(f->graph);
}

static inline void fixture_end(fixture *f)
{
    mts_arena_release(&f->arena);
}

static inline void fixture_must(mts_status status, const mts_error *error)
{
    if (status != MTS_STATUS_OK) {
        fail_msg("%s: %s", mts_status_text(status), error->text);
    }
}

static inline mts_shape fixture_shape4(int64_t n, int64_t c, int64_t h, int64_t w)
{
    return mts_shape_make(4, (const int64_t[]){n, c, h, w});
}

static inline uint32_t fixture_input(fixture *f, const mts_shape *shape)
{
    return mts_graph_add_input(f->graph, "x", MTS_TYPE_FLOAT32, shape);
}

/* A constant around `middle`. */
static inline uint32_t fixture_const(fixture *f, const mts_shape *shape, float middle, float spread)
{
    const size_t count = mts_shape_count(shape);
    float *data = mts_arena_zero(&f->arena, count, sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++) {
        data[i] = middle + spread * fixture_noise(&f->state);
    }
    return mts_graph_add_const(f->graph, NULL, MTS_TYPE_FLOAT32, shape, data);
}

static inline uint32_t fixture_vector(fixture *f, int64_t count, float middle, float spread)
{
    const mts_shape shape = mts_shape_make(1, &count);
    return fixture_const(f, &shape, middle, spread);
}

static inline uint32_t fixture_node(fixture *f, mts_op op, const uint32_t *inputs, uint32_t count,
                                    const mts_attrs *attrs)
{
    mts_error error = {0};
    uint32_t value = MTS_NONE;
    fixture_must(mts_graph_add_node(f->graph, op, mts_op_name(op), inputs, count, attrs, &value, &error),
                 &error);
    return value;
}

static inline const mts_shape *fixture_shape(const fixture *f, uint32_t value)
{
    return &f->graph->values[value].shape;
}

typedef struct fixture_conv {
    int64_t outputs;
    uint32_t kernel, stride, group;
    mts_act act;
    bool scale, bias;
    uint32_t residual; /* 0: none */
} fixture_conv;

/* Padding kernel / 2. */
static inline uint32_t fixture_add_conv(fixture *f, uint32_t x, const fixture_conv *c)
{
    const uint32_t group = c->group ? c->group : 1, stride = c->stride ? c->stride : 1;
    const int32_t pad = (int32_t)c->kernel / 2;
    const mts_shape weight =
        fixture_shape4(c->outputs, fixture_shape(f, x)->dims[1] / group, c->kernel, c->kernel);
    const mts_attrs attrs = {.conv = {.kernel = {c->kernel, c->kernel},
                                      .stride = {stride, stride},
                                      .dilation = {1, 1},
                                      .pad = {pad, pad, pad, pad},
                                      .group = group,
                                      .act = c->act}};
    const uint32_t inputs[6] = {x,
                                fixture_const(f, &weight, 0.0f, 0.5f),
                                c->scale ? fixture_vector(f, c->outputs, 1.0f, 0.4f) : MTS_NONE,
                                c->bias ? fixture_vector(f, c->outputs, 0.0f, 0.4f) : MTS_NONE,
                                c->residual ? c->residual : MTS_NONE,
                                c->act.fn == MTS_FN_PRELU ? fixture_vector(f, c->outputs, 0.2f, 0.1f)
                                                          : MTS_NONE};
    return fixture_node(f, MTS_OP_CONV, inputs, 6, &attrs);
}

static inline void fixture_output(fixture *f, const char *name, uint32_t value)
{
    mts_error error = {0};
    fixture_must(
        mts_graph_add_output(f->graph, name, value, MTS_TYPE_FLOAT32, fixture_shape(f, value), &error),
        &error);
}

static inline void fixture_fill(float *data, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        data[i] = fixture_noise(&seed);
    }
}

/* Between the graph's order and a net's, of one image. */
static inline void fixture_turn(const mts_shape *shape, const float *in, float *out, bool to_graph)
{
    const size_t count = mts_shape_count(shape);
    if (shape->rank != 4) {
        memcpy(out, in, count * sizeof *out);
        return;
    }
    const size_t channels = (size_t)shape->dims[1], pixels = (size_t)(shape->dims[2] * shape->dims[3]);
    for (size_t i = 0; i < count; i++) { /* i: place in the graph's order */
        const size_t image = i / (channels * pixels), c = i / pixels % channels, p = i % pixels;
        const size_t ours = (image * pixels + p) * channels + c;
        out[to_graph ? i : ours] = in[to_graph ? ours : i];
    }
}

#endif
