/*
 * test_overflow.c: networks whose squares and sums float16 cannot hold are right in float16, under every strategy, and a
 * layer whose results do not fit is found by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "compiler/import/import.h"
#include "compiler/passes/fold.h"
#include "engine/overflow.h"
#include "support/net.h"
#include "support/onnx_model.h"

#define INTS(...)                                                                                            \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[])                             \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

enum { COUNT = 3 * 12 * 12, MOST = 8 * 12 * 12 };

static mts_device *device;
static float numbers[COUNT], weights[8 * 8 * 9], scales[8];

static int set_up(void **state)
{
    (void)state;
    mts_error error = {0};
    uint32_t random = 1;
    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) {
        random = random * 1664525u + 1013904223u;
        weights[i] = 100.0f * ((float)(random >> 8) / 8388608.0f - 1.0f);
        numbers[i % COUNT] = (float)(random >> 24) / 8.0f;
    }
    for (int i = 0; i < 8; i++) {
        scales[i] = 0.5f + 0.25f * (float)i;
    }
    return net_device_open("reference", NULL, &device, &error) == MTS_STATUS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    mts_device_destroy(&device);
    return 0;
}

static void begin(onnx_model *model)
{
    onnx_model_begin(model, 18);
    onnx_model_input(model, "x", ONNX_FLOAT, INTS(1, 3, 12, 12));
    onnx_model_floats(model, "w", INTS(8, 3, 3, 3), weights);
    onnx_model_floats(model, "v", INTS(8, 8, 3, 3), weights);
    onnx_model_floats(model, "s", INTS(8), scales);
    onnx_model_floats(model, "b", INTS(8), scales);
}

static void conv(onnx_model *model, const char *inputs, const char *output)
{
    onnx_model_node(model, "Conv", inputs, output);
    onnx_model_attr_ints(model, "pads", INTS(1, 1, 1, 1));
}

/* Activations of thousands, whose squares are no float16, and instance normalisations. */
static void style(onnx_model *model)
{
    begin(model);
    conv(model, "x,w", "c");
    onnx_model_node(model, "InstanceNormalization", "c,s,b", "n");
    onnx_model_node(model, "Relu", "n", "r");
    conv(model, "r,v", "d");
    onnx_model_node(model, "InstanceNormalization", "d,b,s", "y");
    onnx_model_output(model, "y");
}

/* A normalisation that was written as its formula, of groups, and a division by the norm of each pixel. */
static void portrait(onnx_model *model)
{
    begin(model);
    onnx_model_ints(model, "axes", 3, (const int64_t[]){1, 2, 3});
    onnx_model_floats(model, "e", 0, NULL, (const float[]){1e-5f});
    onnx_model_floats(model, "two", 0, NULL, (const float[]){2});
    onnx_model_floats(model, "g", INTS(4), scales);
    conv(model, "x,w", "c");
    onnx_model_node(model, "ReduceMean", "c,axes", "m");
    onnx_model_node(model, "Sub", "c,m", "d");
    onnx_model_node(model, "Pow", "d,two", "q");
    onnx_model_node(model, "ReduceMean", "q,axes", "u");
    onnx_model_node(model, "Add", "u,e", "f");
    onnx_model_node(model, "Sqrt", "f", "t");
    onnx_model_node(model, "Div", "d,t", "n");
    conv(model, "n,v", "k");
    onnx_model_node(model, "GroupNormalization", "k,g,g", "o");
    onnx_model_attr_int(model, "num_groups", 4);
    conv(model, "o,v", "p");
    onnx_model_node(model, "LpNormalization", "p", "y");
    onnx_model_attr_int(model, "axis", 1);
    onnx_model_output(model, "y");
}

/* The second convolution gives millions. */
static void overflowing(onnx_model *model)
{
    begin(model);
    conv(model, "x,w", "small");
    conv(model, "small,v", "large");
    onnx_model_node(model, "Sigmoid", "large", "z");
    onnx_model_node(model, "Sub", "large,z", "y");
    onnx_model_output(model, "y");
}

typedef struct world {
    mts_arena arena;
    test_net net;
    mts_engine *engine;
} world;

static void run(world *w, void (*make)(onnx_model *), mts_strategy strategy, mts_precision precision)
{
    onnx_model model = {0};
    mts_graph *graph = NULL, *folded = NULL;
    mts_error error = {0};
    const mts_engine_options options = {.strategy = strategy, .precision = precision};
    *w = (world){0};
    make(&model);
    mts_arena_init(&w->arena, mts_allocator_default());
    const onnx_bytes *file = onnx_model_file(&model);
    if (mts_import_memory(file->data, file->size, "m", NULL, &w->arena, &graph, &error) != MTS_STATUS_OK ||
        mts_fold(graph, &w->arena, &folded, &error) != MTS_STATUS_OK ||
        net_make((const mts_graph *const[]){folded, folded}, 2, 0.0f, &w->net, &error) != MTS_STATUS_OK ||
        mts_planned_engine_create(device, w->net.archive, &options, NULL, &w->engine, NULL, &error) !=
            MTS_STATUS_OK) {
        fail_msg("strategy %d: %s", (int)strategy, error.text);
    }
    const void *data[1] = {numbers};
    const void *const *inputs[2] = {data, data};
    if (net_engine_run(w->engine, &w->net, inputs, &error) != MTS_STATUS_OK) {
        fail_msg("strategy %d: %s", (int)strategy, error.text);
    }
    onnx_model_end(&model);
}

static void release(world *w)
{
    mts_engine_destroy(&w->engine);
    net_release(&w->net);
    mts_arena_release(&w->arena);
}

/* Within 2 % of the largest number of what float32 gives: float16 holds three digits, and layers add up. */
static void assert_right_in_float16(void (*make)(onnx_model *))
{
    for (int s = 0; s < MTS_STRATEGY_COUNT; s++) {
        world whole, half;
        size_t count = 0;
        float most = 0.0f;
        run(&whole, make, (mts_strategy)s, MTS_PRECISION_FLOAT32);
        run(&half, make, (mts_strategy)s, MTS_PRECISION_FLOAT16_STORAGE);
        const float *want = net_output(whole.engine, &whole.net, 1, 0, &count);
        const float *got = net_output(half.engine, &half.net, 1, 0, &count);
        assert_true(want && got && count <= MOST);
        for (size_t i = 0; i < count; i++) {
            most = fmaxf(most, fabsf(want[i]));
        }
        for (size_t i = 0; i < count; i++) {
            if (!(fabsf(got[i] - want[i]) <= 0.02f * most)) {
                fail_msg("strategy %d: [%zu] is %g instead of %g", s, i, (double)got[i], (double)want[i]);
            }
        }
        release(&whole);
        release(&half);
    }
}

static void instance_normalisations_of_large_activations_are_right_in_float16(void **state)
{
    (void)state;
    assert_right_in_float16(style);
}

static void normalisations_of_every_form_are_right_in_float16(void **state)
{
    (void)state;
    assert_right_in_float16(portrait);
}

static void the_first_layer_that_overflows_is_named(void **state)
{
    (void)state;
    for (int s = 0; s < MTS_STRATEGY_COUNT; s++) {
        world w;
        size_t count = 0;
        mts_error error = {0};
        const char *label = NULL;
        run(&w, overflowing, (mts_strategy)s, MTS_PRECISION_FLOAT16_STORAGE);
        const float *got = net_output(w.engine, &w.net, 0, 0, &count);
        assert_non_null(got);
        const float before = got[0];
        assert_int_equal(mts_engine_find_overflow(w.engine, &label, &error), MTS_STATUS_OK);
        assert_non_null(label);
        assert_non_null(strstr(label, "Conv_large"));
        /* outputs stay, and the next run is not disturbed */
        got = net_output(w.engine, &w.net, 0, 0, &count);
        assert_memory_equal(&got[0], &before, sizeof before);
        release(&w);
    }
}

static void a_network_that_fits_has_no_such_layer(void **state)
{
    (void)state;
    world w;
    mts_error error = {0};
    const char *label = "";
    run(&w, overflowing, MTS_STRATEGY_COMPACT, MTS_PRECISION_FLOAT32);
    assert_int_equal(mts_engine_find_overflow(w.engine, &label, &error), MTS_STATUS_OK);
    assert_null(label);
    release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instance_normalisations_of_large_activations_are_right_in_float16),
        cmocka_unit_test(normalisations_of_every_form_are_right_in_float16),
        cmocka_unit_test(the_first_layer_that_overflows_is_named),
        cmocka_unit_test(a_network_that_fits_has_no_such_layer),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
