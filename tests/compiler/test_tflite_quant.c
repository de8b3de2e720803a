/*
 * The TensorFlow Lite importer on quantised models: weights stay int8, activations are rounded to their integers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/net.h"
#include "support/tflite_world.h"

#define QUANTIZE 114
#define DEQUANTIZE 6
#define CONV 3
#define RESHAPE 22

static tflite_world world;
static const float eighth = 0.125f, quarter = 0.25f, half = 0.5f;
static const int32_t image[4] = {1, 1, 2, 2};

static int set_up(void **state)
{
    (void)state;
    return tflite_world_open(&world);
}

static int tear_down(void **state)
{
    (void)state;
    return tflite_world_close(&world);
}

static void set_scale(int tensor, const float *scales, int count, int dim, int64_t zero)
{
    world.model.tensors[tensor].scales = scales;
    world.model.tensors[tensor].scale_count = count;
    world.model.tensors[tensor].scale_dim = dim;
    world.model.tensors[tensor].zero = zero;
}

static int activation(const char *name, const float *scale, int64_t zero)
{
    const int tensor = tflite_value(&world.model, name, 4, image);
    world.model.tensors[tensor].type = TFLITE_INT8;
    set_scale(tensor, scale, 1, 0, zero);
    return tensor;
}

/* Runs the model; the output's bytes. */
static void run(const mts_graph *graph, const void *input, void *out, size_t bytes)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT};
    const void *data[1] = {input};
    const void *const *inputs = data;
    const void *got = NULL;
    size_t size = 0;
    test_net net = {0};
    mts_engine *engine = NULL;
    mts_status status = net_make(&graph, 1, 0.0f, &net, &world.error);
    MTS_TRY(status, mts_planned_engine_create(world.device, net.archive, &options, NULL, &engine, NULL,
                                              &world.error));
    MTS_TRY(status, net_engine_run(engine, &net, &inputs, &world.error));
    MTS_TRY(status, mts_engine_output(engine, 0, 0, &got, &size, &world.error));
    if (status != MTS_STATUS_OK) {
        fail_msg("%s", world.error.text);
    }
    assert_int_equal(size, bytes);
    memcpy(out, got, bytes);
    mts_engine_destroy(&engine);
    net_release(&net);
}

/* A 1x1 convolution of two channels between tensors of int8: scales by channel, a bias of int32. */
static void quantised_conv(int x, int y)
{
    static const int8_t weight[4] = {4, 0, -128, 127};
    static const float scales[2] = {0.5f, 0.25f}, bias_scales[2] = {0.125f, 0.0625f};
    static const int32_t bias[2] = {8, -16}; /* 1, -1 */
    const int w = tflite_add(&world.model, "w", TFLITE_INT8, 4, (const int32_t[]){2, 1, 1, 2}, weight, 4);
    set_scale(w, scales, 2, 0, 0);
    const int b = tflite_ints(&world.model, "b", 2, bias);
    set_scale(b, bias_scales, 2, 0, 0);
    tflite_node(&world.model, CONV, y, x, w, b);
    tflite_option(&world.model, 1, 1);
    tflite_option(&world.model, 2, 1);
}

static void integers_go_in_and_come_out(void **state)
{
    (void)state;
    static const int8_t in[4] = {4, 8, -4, 127};
    /* x = (q - 4) / 4: 0 1 -2 30.75; y0 = 2 x0 + 1, y1 = -32 x0 + 31.75 x1 - 1; q = 2 y - 10 */
    static const int8_t wanted[4] = {-8, 52, -16, 127};
    int8_t out[4];
    const int x = activation("x", &quarter, 4), y = activation("y", &half, -10);
    quantised_conv(x, y);
    world.model.inputs[world.model.input_count++] = x;
    tflite_output(&world.model, y);
    const mts_graph *graph = tflite_world_folded(&world);
    assert_int_equal(graph->inputs[0].dtype, MTS_TYPE_INT8);
    assert_int_equal(graph->outputs[0].dtype, MTS_TYPE_INT8);
    uint32_t weights = 0;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        weights += graph->values[v].kind == MTS_VALUE_CONST && graph->values[v].dtype == MTS_TYPE_INT8;
    }
    assert_int_equal(weights, 1);
    run(graph, in, out, sizeof out);
    assert_memory_equal(out, wanted, 4);
}

static void quantised_parts_of_float_models_round_their_results(void **state)
{
    (void)state;
    static const float in[4] = {0, 1.1f, -1.99f, 100.0f};
    /* x is rounded to quarters, at most 30.75 */
    static const float wanted[4] = {1, 31, -3, 58.5f};
    float out[4];
    const int x = tflite_input(&world.model, "x", 4, image), q = activation("q", &quarter, 4);
    const int c = activation("c", &half, 10), y = tflite_value(&world.model, "y", 4, image);
    tflite_node(&world.model, QUANTIZE, q, x, -1, -1);
    quantised_conv(q, c);
    tflite_node(&world.model, DEQUANTIZE, y, c, -1, -1);
    tflite_output(&world.model, y);
    run(tflite_world_folded(&world), in, out, sizeof out);
    for (int i = 0; i < 4; i++) {
        assert_float_equal(out[i], wanted[i], 1e-5);
    }
}

static void what_only_moves_is_rounded_once(void **state)
{
    (void)state;
    const int32_t shape[4] = {1, 2, 1, 2};
    const int x = tflite_input(&world.model, "x", 4, image), q = activation("q", &quarter, 0);
    const int r = activation("r", &quarter, 0), y = tflite_value(&world.model, "y", 4, shape);
    memcpy(world.model.tensors[r].dims, shape, sizeof shape);
    tflite_node(&world.model, QUANTIZE, q, x, -1, -1);
    tflite_node(&world.model, RESHAPE, r, q, tflite_ints(&world.model, "shape", 4, shape), -1);
    tflite_node(&world.model, DEQUANTIZE, y, r, -1, -1);
    tflite_output(&world.model, y);
    uint32_t count = 0;
    const mts_graph *graph = tflite_world_folded(&world);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        count += graph->nodes[i].op == MTS_OP_UNARY;
    }
    assert_int_equal(count, 1);
    tflite_end(&world.model);
    tflite_begin(&world.model);
    const int a = tflite_input(&world.model, "x", 4, image), b = activation("q", &quarter, 0);
    const int c = activation("r", &eighth, 0), d = tflite_value(&world.model, "y", 4, image);
    tflite_node(&world.model, QUANTIZE, b, a, -1, -1);
    tflite_node(&world.model, QUANTIZE, c, b, -1, -1); /* another scale: once more */
    tflite_node(&world.model, DEQUANTIZE, d, c, -1, -1);
    tflite_output(&world.model, d);
    count = 0;
    graph = tflite_world_folded(&world);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        count += graph->nodes[i].op == MTS_OP_UNARY;
    }
    assert_int_equal(count, 2);
}

static void damaged_quantisation_is_refused(void **state)
{
    (void)state;
    static const float bad[3] = {0.0f, -1.0f, 1e38f * 10.0f};
    for (int i = 0; i < 3; i++) {
        const int x = activation("x", &quarter, 4), y = activation("y", &bad[i], 0);
        quantised_conv(x, y);
        world.model.inputs[world.model.input_count++] = x;
        tflite_output(&world.model, y);
        tflite_world_refuses(&world, MTS_STATUS_MALFORMED, i == 0 ? "step" : "out of range");
        tflite_end(&world.model);
        tflite_begin(&world.model);
    }
    const int x = activation("x", &quarter, (int64_t)1 << 40), y = activation("y", &half, 0);
    quantised_conv(x, y);
    world.model.inputs[world.model.input_count++] = x;
    tflite_output(&world.model, y);
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "zero point");
    tflite_end(&world.model);
    tflite_begin(&world.model);
    const int a = activation("x", &quarter, 4), b = activation("y", &half, 500);
    quantised_conv(a, b);
    world.model.inputs[world.model.input_count++] = a;
    tflite_output(&world.model, b);
    tflite_world_refuses(&world, MTS_STATUS_MALFORMED, "0 within the range");
    tflite_end(&world.model);
    tflite_begin(&world.model);
    static const float two[2] = {0.5f, 0.25f};
    const int c = activation("x", &quarter, 4), d = activation("y", two, 0);
    world.model.tensors[d].scale_count = 2;
    quantised_conv(c, d);
    world.model.inputs[world.model.input_count++] = c;
    tflite_output(&world.model, d);
    tflite_world_refuses(&world, MTS_STATUS_UNSUPPORTED, "activation 'y' has a scale for each channel");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(integers_go_in_and_come_out),
        TEST(quantised_parts_of_float_models_round_their_results),
        TEST(what_only_moves_is_rounded_once),
        TEST(damaged_quantisation_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
