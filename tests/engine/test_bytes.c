/*
 * test_bytes.c: networks of 8-bit numbers on a device that multiplies bytes give what the reference computes in
 * floats, in every strategy, with shared weights, and take less memory than floats. The device is cpu, or the one that
 * MTS_TEST_DEVICE names; it multiplies bytes here also where it has no instruction for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "base/half.h"
#include "base/hash.h"
#include "support/net.h"
#include "support/second_device.h"

#define TASKS 3
#define LAYERS_MOST 8
#define SEEDS 24
#define SEEDS_COMPILED 12 /* where programs are compiled for each */
/* Sums lie on the border between two codes now and then, where the reference sums floats; it counts as one step, and
 * what follows may double it. */
#define STEPS_APART 2
#define EQUAL_LEAST 0.98

static mts_device *devices[2]; /* the reference, the other one */
/* Hash of all that the other one computes. It is printed: processors that multiply bytes in different ways print the same
 * one (tests/cross/same_bits.sh). */
static uint64_t outputs;

/* ---- networks ---- */

static uint32_t pick(uint64_t *state, uint32_t low, uint32_t high)
{
    *state = mts_hash(state, sizeof *state, 7);
    return low + (uint32_t)(*state >> 33) % (high - low + 1);
}

/* A network while it is built. */
typedef struct builder {
    mts_arena *arena;
    mts_graph *graph;
    uint64_t script; /* equal for all tasks: what the layers are */
    uint64_t common; /* weights that all tasks have */
    uint64_t own;    /* weights of this task */
    uint32_t x, channels, size, layer;
} builder;

static uint32_t constant(builder *b, mts_type dtype, const mts_shape *shape, const void *data)
{
    char name[32];
    (void)snprintf(name, sizeof name, "c%u", b->graph->value_count);
    const uint32_t value = mts_graph_add_const(b->graph, name, dtype, shape, data);
    assert_int_not_equal(value, MTS_NONE);
    return value;
}

static void node(builder *b, mts_op op, const uint32_t *inputs, uint32_t count, const mts_attrs *attrs)
{
    char name[32];
    mts_error error = {0};
    (void)snprintf(name, sizeof name, "n%u", b->graph->node_count);
    const mts_status status = mts_graph_add_node(b->graph, op, name, inputs, count, attrs, &b->x, &error);
    if (status != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

/* Codes of 8 bits: what they are worth and which of them is 0 differ from layer to
 * layer. Every other step is a simple part of 0.06, so that many numbers of one grid
 * lie between two of another. */
static mts_act quantised(builder *b)
{
    const bool simple = pick(&b->script, 0, 1);
    return (mts_act){.fn = MTS_FN_QUANT8,
                     .a = simple ? 0.06f / (float)pick(&b->script, 1, 6)
                                 : 0.01f + 0.0000137f * (float)pick(&b->script, 0, 3649),
                     .b = pick(&b->script, 0, 1) ? 0.0f : -(float)pick(&b->script, 0, 255)};
}

/* The first half of the rows is common to all tasks, or all rows are. Some weights are wide: codes of uint8 less their
 * zero point, as float16, few or many of which no byte holds. */
static uint32_t weights(builder *b, uint32_t rows, uint32_t columns, uint32_t kernel, bool whole)
{
    const size_t row = (size_t)columns * kernel * kernel;
    const uint32_t zero = pick(&b->script, 0, 3) ? 128 : pick(&b->script, 1, 254);
    const mts_type dtype = zero == 128 ? MTS_TYPE_INT8 : MTS_TYPE_FLOAT16;
    void *data = mts_arena_zero(b->arena, rows * row, sizeof(uint16_t));
    const mts_shape shape = {.rank = 4, .dims = {rows, columns, kernel, kernel}};
    assert_non_null(data);
    for (size_t i = 0; i < rows * row; i++) {
        uint64_t *state = whole || i / row < rows / 2 ? &b->common : &b->own;
        const int32_t steps = (int32_t)pick(state, 1, 254) - (int32_t)zero;
        if (dtype == MTS_TYPE_INT8) {
            ((int8_t *)data)[i] = (int8_t)steps;
        } else {
            ((uint16_t *)data)[i] = mts_half_from_float((float)steps * MTS_INT8_STEP);
        }
    }
    return constant(b, dtype, &shape, data);
}

static uint32_t vector(builder *b, uint32_t count, float low, float high)
{
    float *data = mts_arena_zero(b->arena, count, sizeof *data);
    const mts_shape shape = {.rank = 1, .dims = {count}};
    assert_non_null(data);
    for (uint32_t i = 0; i < count; i++) {
        data[i] = low + (high - low) * (float)pick(&b->own, 0, 1000) / 1000.0f;
    }
    return constant(b, MTS_TYPE_FLOAT32, &shape, data);
}

static void convolve(builder *b, bool depthwise)
{
    const uint32_t kernel = depthwise ? 3 : b->size < 3 ? 1 : 1 + 2 * pick(&b->script, 0, 1);
    const uint32_t stride = b->size > 6 ? pick(&b->script, 1, 2) : 1,
                   pad = pick(&b->script, 0, 2) ? kernel / 2 : 0;
    const uint32_t rows = depthwise ? b->channels : pick(&b->script, 1, 30);
    const bool whole = pick(&b->script, 0, 2) == 0;
    mts_attrs attrs = {.conv = {.kernel = {kernel, kernel},
                                .stride = {stride, stride},
                                .dilation = {1, 1},
                                .pad = {(int32_t)pad, (int32_t)pad, (int32_t)pad, (int32_t)pad},
                                .group = depthwise ? b->channels : 1}};
    const float products = (float)((depthwise ? 1 : b->channels) * kernel * kernel);
    uint32_t inputs[4] = {b->x};
    inputs[1] = weights(b, rows, depthwise ? 1 : b->channels, kernel, whole);
    inputs[2] = vector(b, rows, 0.2f / sqrtf(products), 1.0f / sqrtf(products));
    inputs[3] = vector(b, rows, -1.0f, 1.0f);
    if (pick(&b->script, 0, 5) > 0) {
        attrs.conv.act = quantised(b);
    }
    node(b, MTS_OP_CONV, inputs, 4, &attrs);
    b->channels = rows;
    b->size = (b->size + 2 * pad - kernel) / stride + 1;
}

static void round_value(builder *b)
{
    const mts_attrs attrs = {.unary = {.act = quantised(b)}};
    const uint32_t inputs[1] = {b->x};
    node(b, MTS_OP_UNARY, inputs, 1, &attrs);
}

/* step (x - zero) */
static void scale_input(builder *b, float zero)
{
    const float step = quantised(b).a;
    const mts_attrs attrs = {0};
    const uint32_t inputs[3] = {b->x, vector(b, b->channels, step, step),
                                vector(b, b->channels, -zero * step, -zero * step)};
    node(b, MTS_OP_SCALE, inputs, 3, &attrs);
}

/* What it was plus a convolution of it: the value has two readers, one of which takes floats. */
static void add_residual(builder *b)
{
    mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    const uint32_t x = b->x;
    uint32_t inputs[3] = {x, weights(b, b->channels, b->channels, 1, false)};
    inputs[2] = vector(b, b->channels, 0.1f, 0.3f);
    attrs.conv.act = quantised(b);
    node(b, MTS_OP_CONV, inputs, 3, &attrs);
    const mts_attrs sum = {.binary = {.kind = MTS_BIN_ADD, .act = quantised(b)}};
    const uint32_t both[2] = {b->x, x};
    node(b, MTS_OP_BINARY, both, 2, &sum);
}

/* A factor for each channel, rounded; or the larger of it and what it was; or zeros behind the channels. */
static void other(builder *b)
{
    const uint32_t x = b->x;
    mts_attrs attrs = {.unary = {.act = quantised(b)}};
    const uint32_t inputs[3] = {x, vector(b, b->channels, 0.5f, 1.5f), vector(b, b->channels, -0.5f, 0.5f)};
    const uint32_t kind = pick(&b->script, 0, 2);
    if (kind == 2) {
        attrs = (mts_attrs){.pad = {.after = {0, 4}}};
        node(b, MTS_OP_PAD, inputs, 1, &attrs);
        b->channels += 4;
        return;
    }
    node(b, MTS_OP_SCALE, inputs, 3, &attrs);
    if (kind == 1) {
        const mts_attrs most = {
            .binary = {.kind = pick(&b->script, 0, 1) ? MTS_BIN_MAX : MTS_BIN_SUB, .act = quantised(b)}};
        const uint32_t both[2] = {b->x, x};
        node(b, MTS_OP_BINARY, both, 2, &most);
    }
}

/* Twice as many rows and columns: four channels of a convolution for each of its own,
 * put side by side. */
static void enlarge(builder *b)
{
    mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    const uint32_t channels = pick(&b->script, 1, 9), rows = 4 * channels;
    uint32_t inputs[3] = {b->x, weights(b, rows, b->channels, 1, pick(&b->script, 0, 1) == 0)};
    inputs[2] = vector(b, rows, 0.1f, 0.3f);
    attrs.conv.act = quantised(b);
    node(b, MTS_OP_CONV, inputs, 3, &attrs);
    float *ones = mts_arena_zero(b->arena, 4 * (size_t)rows, sizeof *ones);
    const mts_shape shape = {.rank = 4, .dims = {rows, 1, 2, 2}};
    assert_non_null(ones);
    for (uint32_t i = 0; i < rows; i++) {
        ones[4 * i + i % 4] = 1.0f;
    }
    attrs.conv = (mts_attrs_conv){.kernel = {2, 2}, .stride = {2, 2}, .dilation = {1, 1}, .group = channels};
    inputs[0] = b->x;
    inputs[1] = constant(b, MTS_TYPE_FLOAT32, &shape, ones);
    node(b, MTS_OP_DECONV, inputs, 2, &attrs);
    b->channels = channels;
    b->size *= 2;
}

static void pool(builder *b)
{
    const mts_attrs attrs = {
        .pool = {.kind = MTS_POOL_MAX, .kernel = {2, 2}, .stride = {2, 2}, .dilation = {1, 1}}};
    const uint32_t inputs[1] = {b->x};
    node(b, MTS_OP_POOL, inputs, 1, &attrs);
    b->size /= 2;
}

/* One pixel, by a pool or by a mean over rows and columns. */
static void average(builder *b)
{
    const mts_attrs pool = {
        .pool = {.kind = MTS_POOL_AVG, .kernel = {b->size, b->size}, .stride = {1, 1}, .dilation = {1, 1}}};
    const mts_attrs mean = {.reduce = {.kind = MTS_REDUCE_MEAN, .axes = 1 << 2 | 1 << 3, .keep = 1}};
    const uint32_t inputs[1] = {b->x};
    const bool reduce = pick(&b->script, 0, 1);
    node(b, reduce ? MTS_OP_REDUCE : MTS_OP_POOL, inputs, 1, reduce ? &mean : &pool);
    b->size = 1;
}

static mts_graph *network(mts_arena *arena, uint32_t seed, uint32_t task)
{
    builder b = {
        .arena = arena, .graph = mts_graph_create(arena, "g"), .script = seed, .common = seed + 1000};
    mts_error error = {0};
    assert_non_null(b.graph);
    b.own = seed * 100 + task;
    b.channels = pick(&b.script, 1, 9);
    b.size = pick(&b.script, 5, 30);
    const mts_shape shape = {.rank = 4, .dims = {pick(&b.script, 1, 2), b.channels, b.size, b.size}};
    if (seed % 3 == 0) { /* integers of 8 bits */
        b.x = mts_graph_add_input(b.graph, "x", seed % 2 ? MTS_TYPE_INT8 : MTS_TYPE_UINT8, &shape);
        scale_input(&b, seed % 2 ? -5.0f : 130.0f);
    } else {
        b.x = mts_graph_add_input(b.graph, "x", MTS_TYPE_FLOAT32, &shape);
        round_value(&b);
    }
    for (uint32_t layers = pick(&b.script, 3, LAYERS_MOST); layers > 0; layers--) {
        switch (pick(&b.script, 0, 7)) {
        case 7:
            b.size < 20 ? enlarge(&b) : other(&b);
            break;
        case 6:
            other(&b);
            break;
        case 0:
            add_residual(&b);
            break;
        case 1:
            b.size > 4 ? pool(&b) : round_value(&b);
            break;
        case 2:
        case 3:
            convolve(&b, b.size >= 3);
            break;
        default:
            if (b.size >= 3) {
                convolve(&b, false);
            }
        }
    }
    if (pick(&b.script, 0, 2) == 0) {
        average(&b);
        round_value(&b);
        convolve(&b, false); /* fully connected */
    }
    round_value(&b);
    const mts_shape *out = &b.graph->values[b.x].shape;
    assert_int_equal(mts_graph_add_output(b.graph, "y", b.x, MTS_TYPE_FLOAT32, out, &error), MTS_STATUS_OK);
    return b.graph;
}

/* ---- running ---- */

typedef struct world {
    mts_arena arena;
    const mts_graph *graphs[TASKS];
    const void *inputs[TASKS];
    test_net net;
} world;

static void must(mts_status status, const mts_error *error)
{
    if (status != MTS_STATUS_OK) {
        fail_msg("%s: %s", mts_status_text(status), error->text);
    }
}

static const void *input_of(world *w, uint32_t task, uint64_t seed)
{
    const mts_port *port = &w->graphs[task]->inputs[0];
    const size_t count = mts_shape_count(&port->shape);
    float *data = mts_arena_zero(&w->arena, count, sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++) {
        if (port->dtype == MTS_TYPE_FLOAT32) {
            data[i] = (float)pick(&seed, 0, 4000) / 1000.0f - 2.0f;
        } else {
            ((uint8_t *)data)[i] = (uint8_t)pick(&seed, 0, 255);
        }
    }
    return data;
}

static bool packed; /* convolutions of floats take packs of channels */

static mts_engine *run(world *w, int device, mts_strategy strategy, mts_session_stats *stats)
{
    static const uint32_t list[TASKS] = {0, 1, 2};
    const mts_engine_options options = {.strategy = strategy,
                                        .separate_inputs = true,
                                        .tasks = list,
                                        .task_count = TASKS,
                                        .packed_channels = packed};
    const void *const *inputs[TASKS];
    mts_engine *engine = NULL;
    mts_error error = {0};
    for (uint32_t t = 0; t < TASKS; t++) {
        inputs[t] = &w->inputs[t];
    }
    must(mts_planned_engine_create(devices[device], w->net.archive, &options, NULL, &engine, NULL, &error),
         &error);
    must(net_engine_run(engine, &w->net, inputs, &error), &error);
    mts_engine_stats_get(engine, stats);
    return engine;
}

/* The step of a task's output, which a rounding ends. */
static float step_of(const mts_graph *graph)
{
    return graph->nodes[graph->node_count - 1].attrs.unary.act.a;
}

static void compare(const world *w, const mts_engine *found, const mts_engine *wanted, uint32_t seed,
                    int strategy)
{
    for (uint32_t t = 0; t < TASKS; t++) {
        size_t count = 0, equal = 0;
        const float *got = net_output(found, &w->net, t, 0, &count);
        const float *want = net_output(wanted, &w->net, t, 0, &count);
        const float step = step_of(w->graphs[t]);
        assert_non_null(got);
        assert_non_null(want);
        outputs = mts_hash(got, count * sizeof *got, outputs);
        for (size_t i = 0; i < count; i++) {
            const float apart = fabsf(got[i] - want[i]) / step;
            if (!(apart < STEPS_APART + 0.5f)) {
                fail_msg("seed %u, strategy %d, task %u: [%zu] is %g instead of %g, %g steps away", seed,
                         strategy, t, i, (double)got[i], (double)want[i], (double)apart);
            }
            equal += apart < 0.5f ? 1 : 0;
        }
        assert_true((double)equal >= EQUAL_LEAST * (double)count - 2.0);
    }
}

static void world_make(world *w, uint32_t seed)
{
    mts_error error = {0};
    memset(w, 0, sizeof *w);
    mts_arena_init(&w->arena, mts_allocator_default());
    for (uint32_t t = 0; t < TASKS; t++) {
        w->graphs[t] = network(&w->arena, seed, t);
        w->inputs[t] = input_of(w, t, seed * 10 + t);
    }
    must(net_make(w->graphs, TASKS, 0.0f, &w->net, &error), &error);
}

static void world_end(world *w)
{
    net_release(&w->net);
    mts_arena_release(&w->arena);
}

static void all_strategies_give_the_results_of_floats(void **state)
{
    const uint32_t seeds = strcmp(devices[1]->info.backend, "cpu") == 0 ? SEEDS : SEEDS_COMPILED;
    static const mts_strategy strategies[] = {MTS_STRATEGY_SEQUENTIAL, MTS_STRATEGY_NETFUSE,
                                              MTS_STRATEGY_DENSE, MTS_STRATEGY_COMPACT};
    (void)state;
    for (uint32_t seed = 1; seed <= seeds; seed++) {
        world w;
        mts_session_stats stats;
        world_make(&w, seed);
        mts_engine *wanted = run(&w, 0, MTS_STRATEGY_SEQUENTIAL, &stats);
        for (size_t s = 0; s < sizeof strategies / sizeof strategies[0]; s++) {
            mts_engine *found = run(&w, 1, strategies[s], &stats);
            compare(&w, found, wanted, seed, (int)s);
            mts_engine_destroy(&found);
        }
        mts_engine_destroy(&wanted);
        world_end(&w);
    }
}

/* Launches of an engine by a kernel whose name begins so. */
static uint32_t launches_of(const mts_engine *engine, const char *kernel)
{
    mts_engine_view view;
    uint32_t count = 0;
    mts_engine_view_get(engine, &view);
    for (uint32_t i = 0; i < view.launch_count; i++) {
        count += view.launches[i].kernel && strncmp(view.launches[i].kernel, kernel, strlen(kernel)) == 0;
    }
    return count;
}

/* Bytes come before packs: what multiplies bytes does so in a session with packs too. */
static void sessions_with_packs_of_channels_multiply_the_same_bytes(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= SEEDS_COMPILED; seed++) {
        world w;
        mts_session_stats stats;
        world_make(&w, seed);
        mts_engine *wanted = run(&w, 0, MTS_STRATEGY_SEQUENTIAL, &stats);
        packed = true;
        mts_engine *found = run(&w, 1, MTS_STRATEGY_COMPACT, &stats);
        packed = false;
        compare(&w, found, wanted, seed, 0);
        /* not as many: waves put those of several tasks into one launch, each session in its way */
        assert_int_equal(launches_of(found, "conv_bytes") > 0, devices[1]->info.byte_products);
        mts_engine_destroy(&wanted);
        mts_engine_destroy(&found);
        world_end(&w);
    }
}

/* Weights of a chain of 1x1 convolutions are bytes, and codes are all that it stores between its ends. */
static void weights_and_activations_take_a_quarter(void **state)
{
    (void)state;
    world w;
    mts_session_stats floats, bytes;
    memset(&w, 0, sizeof w);
    mts_arena_init(&w.arena, mts_allocator_default());
    for (uint32_t t = 0; t < TASKS; t++) {
        builder b = {
            .arena = &w.arena, .graph = mts_graph_create(&w.arena, "g"), .script = 1, .common = 2, .own = t};
        const mts_shape shape = {.rank = 4, .dims = {1, 64, 24, 24}};
        mts_error error = {0};
        b.channels = 64;
        b.x = mts_graph_add_input(b.graph, "x", MTS_TYPE_FLOAT32, &shape);
        round_value(&b);
        for (int i = 0; i < 3; i++) {
            mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
            uint32_t inputs[3] = {b.x, weights(&b, 64, 64, 1, true)};
            inputs[2] = vector(&b, 64, 0.05f, 0.1f);
            attrs.conv.act = quantised(&b);
            node(&b, MTS_OP_CONV, inputs, 3, &attrs);
        }
        round_value(&b);
        must(mts_graph_add_output(b.graph, "y", b.x, MTS_TYPE_FLOAT32, &shape, &error), &error);
        w.graphs[t] = b.graph;
        w.inputs[t] = input_of(&w, t, t);
    }
    mts_error error = {0};
    must(net_make(w.graphs, TASKS, 0.0f, &w.net, &error), &error);
    mts_engine *engines[2] = {run(&w, 0, MTS_STRATEGY_COMPACT, &floats),
                              run(&w, 1, MTS_STRATEGY_COMPACT, &bytes)};
    compare(&w, engines[1], engines[0], 0, 0);
    assert_true(bytes.weight_bytes < floats.weight_bytes / 2);
    assert_true(bytes.activation_bytes <= floats.activation_bytes);
    mts_engine_destroy(&engines[0]);
    mts_engine_destroy(&engines[1]);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_strategies_give_the_results_of_floats),
        cmocka_unit_test(sessions_with_packs_of_channels_multiply_the_same_bytes),
        cmocka_unit_test(weights_and_activations_take_a_quarter)};
    mts_error error = {0};
    const mts_status reference = net_device_open("reference", NULL, &devices[0], &error);
    const bool named = getenv("MTS_TEST_DEVICE") != NULL;
    const mts_status other = net_device_open(named ? "opencl" : "cpu", NULL, &devices[1], &error);
    if (other == MTS_STATUS_OK && second_device_has_dot() && !devices[1]->info.byte_products) {
        printf("MTS_PROFILE gives the device products of bytes, which it does not have\n");
        return 1;
    }
    if (other == MTS_STATUS_OK) {
        devices[1]->info.byte_products = true; /* kernels have a form in plain C */
    }
    if (reference != MTS_STATUS_OK || other != MTS_STATUS_OK) {
        printf("no such device\n");
        mts_device_destroy(&devices[0]);
        mts_device_destroy(&devices[1]);
        return 77;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("%s computes %016llx\n", devices[1]->info.name, (unsigned long long)outputs);
    mts_device_destroy(&devices[0]);
    mts_device_destroy(&devices[1]);
    return failed;
}
