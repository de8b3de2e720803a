/*
 * distill_fixture.h: a family of small networks to distill, and the ties of their filters, for the tests of
 * distillation. Failures fail the running test.
 */
#ifndef MTS_TESTS_COMPRESS_DISTILL_FIXTURE_H
#define MTS_TESTS_COMPRESS_DISTILL_FIXTURE_H

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/import/import.h"
#include "compress/net/threads.h"
#include "compiler/passes/fold.h"
#include "compress/train/distill.h"
#include "compress/train/lane.h"
#include "platform/os/os.h"
#include "support/data.h"
#include "support/fault_allocator.h"

#define TASKS 3
#define SIZE 8
#define IMAGES 96
#define FILTERS 6
#define CLASSES 4

static mts_error error;

/* A family of small networks, trained: [0] of a pair is the student. */
typedef struct family {
    mts_arena arena;
    mts_task tasks[TASKS];
    mts_net *students[TASKS], *teachers[TASKS];
    mtsz_data source;
    mts_data *data;
    uint32_t fail_at; /* image that cannot be had */
    float fraction;   /* of the last progress */
    double loss, left;
    uint32_t calls, cancel_at;
    mts_fault_allocator memory;
} family;

static inline float noise(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return (float)(*random >> 8) / 8388608.0f - 1.0f;
}

/* ---- graphs ---- */

static inline uint32_t constant(mts_graph *graph, uint32_t rank, const int64_t *dims, float middle,
                                float spread, uint32_t *random)
{
    char name[16];
    const mts_shape shape = mts_shape_make(rank, dims);
    const size_t count = mts_shape_count(&shape);
    float *data = mts_arena_zero(graph->arena, count, sizeof *data);
    for (size_t i = 0; i < count; i++) {
        data[i] = middle + spread * noise(random);
    }
    (void)snprintf(name, sizeof name, "c%u", (unsigned)graph->value_count);
    return mts_graph_add_const(graph, name, MTS_TYPE_FLOAT32, &shape, data);
}

static inline uint32_t node(mts_graph *graph, mts_op op, const uint32_t *inputs, uint32_t count,
                            const mts_attrs *attrs)
{
    uint32_t value = MTS_NONE;
    char name[16];
    (void)snprintf(name, sizeof name, "n%u", (unsigned)graph->node_count);
    if (mts_graph_add_node(graph, op, name, inputs, count, attrs, &value, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return value;
}

/* kernel 3 or 1, scale and bias, maybe a residual, ReLU */
static inline uint32_t conv(mts_graph *graph, uint32_t x, int64_t filters, int64_t kernel, uint32_t residual,
                            uint32_t fn, uint32_t *random)
{
    const int64_t inputs = graph->values[x].shape.dims[1], one[1] = {filters};
    const int64_t dims[4] = {filters, inputs, kernel, kernel};
    const int32_t pad = (int32_t)(kernel / 2);
    const mts_attrs attrs = {.conv = {.kernel = {(uint32_t)kernel, (uint32_t)kernel},
                                      .stride = {1, 1},
                                      .dilation = {1, 1},
                                      .pad = {pad, pad, pad, pad},
                                      .group = 1,
                                      .act = {.fn = fn}}};
    const float spread = sqrtf(6.0f / (float)(inputs * kernel * kernel));
    const uint32_t weight = constant(graph, 4, dims, 0, spread, random);
    const uint32_t scale = constant(graph, 1, one, 1, 0.2f, random);
    const uint32_t bias = constant(graph, 1, one, 0, 0.2f, random);
    return node(graph, MTS_OP_CONV, (const uint32_t[]){x, weight, scale, bias, residual},
                residual == MTS_NONE ? 4 : 5, &attrs);
}

/* Nodes 0, 1, 2: convolutions; then mean, head (node 4), softmax. */
static inline mts_graph *graph_make(mts_arena *arena, const char *name, uint32_t seed)
{
    const mts_shape image = {4, {1, 3, SIZE, SIZE}};
    const mts_attrs mean = {.reduce = {.kind = MTS_REDUCE_MEAN, .axes = 12, .keep = 1}};
    const mts_attrs flat = {.reshape = {.shape = {2, {1, CLASSES}}}};
    const mts_attrs soft = {.softmax = {.axis = 1}};
    mts_graph *graph = mts_graph_create(arena, name);
    uint32_t random = seed;
    uint32_t x = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &image);
    x = conv(graph, x, FILTERS, 3, MTS_NONE, MTS_FN_RELU, &random);
    const uint32_t y = conv(graph, x, FILTERS, 3, MTS_NONE, MTS_FN_RELU, &random);
    x = conv(graph, y, FILTERS, 3, x, MTS_FN_RELU, &random);
    x = node(graph, MTS_OP_REDUCE, &x, 1, &mean);
    x = conv(graph, x, CLASSES, 1, MTS_NONE, MTS_FN_NONE, &random);
    x = node(graph, MTS_OP_RESHAPE, &x, 1, &flat);
    x = node(graph, MTS_OP_SOFTMAX, &x, 1, &soft);
    assert_int_equal(mts_graph_add_output(graph, "y", x, MTS_TYPE_FLOAT32, &graph->values[x].shape, &error),
                     MTS_STATUS_OK);
    return graph;
}

/* ---- the family ---- */

static inline int image(void *context, uint32_t index, uint32_t width, uint32_t height, unsigned char *rgb)
{
    const family *f = context;
    uint32_t random = index * 77u + 1;
    for (uint32_t i = 0; i < 4; i++) {
        (void)noise(&random);
    }
    const float light = noise(&random), slope = noise(&random), turn = noise(&random);
    for (uint32_t i = 0; i < width * height * 3; i++) {
        const float x = (float)(i / 3 % width) / (float)width, y = (float)(i / 3) / (float)(width * height);
        const float value = 128 + 60 * (light + slope * x + turn * y * (float)(i % 3)) + 40 * noise(&random);
        rgb[i] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
    return f->fail_at == index;
}

static inline int progress(void *context, float fraction, double loss, double left)
{
    family *f = context;
    assert_true(fraction >= 0 && fraction <= 1);
    f->fraction = fraction;
    f->loss = loss;
    f->left = left;
    return ++f->calls == f->cancel_at;
}

static inline void family_make(family *f, uint32_t images)
{
    static const char *const names[TASKS] = {"first", "second", "third"};
    memset(f, 0, sizeof *f);
    f->fail_at = MTS_NONE;
    mts_fault_allocator_init(&f->memory, 0);
    mts_arena_init(&f->arena, mts_allocator_default());
    for (uint32_t i = 0; i < TASKS; i++) {
        f->tasks[i] =
            (mts_task){.name = names[i],
                       .graph = graph_make(&f->arena, names[i], i + 1),
                       .preprocess = {.color = MTS_COLOR_RGB, .mean = {128, 128, 128}, .std = {64, 64, 64}}};
        assert_int_equal(mts_net_create(f->tasks[i].graph, mts_allocator_default(), &f->teachers[i], &error),
                         MTS_STATUS_OK);
        assert_int_equal(mts_net_create(f->tasks[i].graph, mts_allocator_default(), &f->students[i], &error),
                         MTS_STATUS_OK);
    }
    mtsz_data_default(&f->source);
    f->source.count = images;
    f->source.context = f;
    f->source.image = image;
    /* Images are not kept, so that a callback may fail late. */
    if (mts_data_create(&f->source, f->tasks, TASKS, 0, mts_allocator_default(), &f->data, &error) !=
        MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static inline void family_free(family *f)
{
    for (uint32_t i = 0; i < TASKS; i++) {
        mts_net_destroy(&f->students[i]);
        mts_net_destroy(&f->teachers[i]);
    }
    mts_data_destroy(&f->data);
    mts_arena_release(&f->arena);
    assert_int_equal(f->memory.alive, 0);
}

static inline size_t weight_count(const mts_net_layer *layer)
{
    return (size_t)layer->outputs * layer->rows * layer->columns * layer->inputs;
}

/* Changes all weights of convolutions by a part of their size. */
static inline void perturb(mts_net *net, float part, uint32_t seed)
{
    const mts_graph *graph = mts_net_graph(net);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const mts_net_layer layer = mts_net_layer_of(net, i);
        for (size_t k = 0; layer.weight && k < weight_count(&layer); k++) {
            layer.weight[k] *= 1 + part * noise(&seed);
        }
        if (layer.weight) {
            mts_net_touch(net, i);
        }
    }
}

/* All parameters of a net, one after another, on the heap. */
static inline float *parameters(const mts_net *net, size_t *count)
{
    float *all = NULL;
    *count = 0;
    for (uint32_t i = 0; i < mts_net_graph(net)->node_count; i++) {
        const mts_net_layer layer = mts_net_layer_of(net, i);
        const float *arrays[3] = {layer.weight, layer.scale, layer.bias};
        const size_t counts[3] = {weight_count(&layer), layer.outputs, layer.outputs};
        for (int k = 0; k < 3; k++) {
            if (arrays[k]) {
                all = realloc(all, (*count + counts[k]) * sizeof *all);
                memcpy(all + *count, arrays[k], counts[k] * sizeof *all);
                *count += counts[k];
            }
        }
    }
    return all;
}

static inline void assert_parameters(const mts_net *net, const float *want)
{
    size_t count = 0;
    float *all = parameters(net, &count);
    assert_memory_equal(all, want, count * sizeof *all);
    free(all);
}

static inline mts_distill_options options(family *f)
{
    mts_distill_options o;
    mts_distill_options_default(&o);
    o.seconds = 60;
    o.epochs = 12;
    o.batch = 16;
    o.shift = 1;
    o.progress = progress;
    o.context = f;
    return o;
}

static inline mts_status distill(family *f, const mts_tie *ties, uint32_t tie_count,
                                 const mts_distill_options *o, mts_distill_report *report)
{
    return mts_distill(f->students, (const mts_net *const *)f->teachers, TASKS, ties, tie_count, f->data, o,
                       &f->memory.allocator, report, &error);
}

static inline void must(mts_status status)
{
    if (status != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

/* ---- ties: filters 0..3 of node 1, in each task at other places ---- */

static const uint32_t tie_tasks[TASKS] = {0, 1, 2}, tie_nodes[TASKS] = {1, 1, 1};
static const uint32_t places[TASKS][4] = {{0, 1, 2, 3}, {5, 4, 3, 2}, {1, 3, 5, 0}};
static const uint32_t *const tie_outs[TASKS] = {places[0], places[1], places[2]};

static inline mts_tie filters_tie(void)
{
    return (mts_tie){.task_count = TASKS,
                     .tasks = tie_tasks,
                     .nodes = tie_nodes,
                     .out_count = 4,
                     .in_count = FILTERS,
                     .outs = tie_outs};
}

/* The tie's cells of the first task come to the others. */
static inline void make_equal(mts_net *const *nets, const mts_tie *tie)
{
    const mts_net_layer from = mts_net_layer_of(nets[tie->tasks[0]], tie->nodes[0]);
    const uint32_t taps = from.rows * from.columns;
    for (uint32_t i = 1; i < tie->task_count; i++) {
        const mts_net_layer to = mts_net_layer_of(nets[tie->tasks[i]], tie->nodes[i]);
        for (uint32_t k = 0; k < tie->out_count; k++) {
            for (uint32_t j = 0; j < tie->in_count; j++) {
                for (uint32_t tap = 0; tap < taps; tap++) {
                    const uint32_t source = tie->ins ? tie->ins[0][j] : j;
                    const uint32_t target = tie->ins ? tie->ins[i][j] : j;
                    to.weight[(tie->outs[i][k] * taps + tap) * to.inputs + target] =
                        from.weight[(tie->outs[0][k] * taps + tap) * from.inputs + source];
                }
            }
        }
        mts_net_touch(nets[tie->tasks[i]], tie->nodes[i]);
    }
}

static inline uint32_t cells_that_differ(mts_net *const *nets, const mts_tie *tie)
{
    uint32_t differ = 0;
    const mts_net_layer from = mts_net_layer_of(nets[tie->tasks[0]], tie->nodes[0]);
    const uint32_t taps = from.rows * from.columns;
    for (uint32_t i = 1; i < tie->task_count; i++) {
        const mts_net_layer to = mts_net_layer_of(nets[tie->tasks[i]], tie->nodes[i]);
        for (uint32_t k = 0; k < tie->out_count * taps * tie->in_count; k++) {
            const uint32_t out = k / (taps * tie->in_count), tap = k / tie->in_count % taps;
            const uint32_t in = k % tie->in_count;
            const float *a = &from.weight[(tie->outs[0][out] * taps + tap) * from.inputs +
                                          (tie->ins ? tie->ins[0][in] : in)];
            const float *b =
                &to.weight[(tie->outs[i][out] * taps + tap) * to.inputs + (tie->ins ? tie->ins[i][in] : in)];
            differ += memcmp(a, b, sizeof *a) != 0;
        }
    }
    return differ;
}

/* ---- tests ---- */

#endif
