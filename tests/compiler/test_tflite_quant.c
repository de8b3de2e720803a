/*
 * The TensorFlow Lite importer on quantised models: weights stay int8, activations are rounded to their integers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/import/import.h"
#include "compiler/passes/fold.h"
#include "support/net.h"
#include "support/tflite_model.h"

#define QUANTIZE 114
#define DEQUANTIZE 6
#define CONV 3
#define RESHAPE 22

static mts_arena arena;
static mts_error error;
static mts_device *device;
static tflite_model model;
static const float eighth = 0.125f, quarter = 0.25f, half = 0.5f;
static const int32_t image[4] = {1, 1, 2, 2};

static int set_up(void **state)
{
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    error = (mts_error){0};
    tflite_begin(&model);
    return net_device_open("reference", NULL, &device, &error) == MTS_STATUS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    tflite_end(&model);
    mts_device_destroy(&device);
    mts_arena_release(&arena);
    return 0;
}

static void set_scale(int tensor, const float *scales, int count, int dim, int64_t zero)
{
    model.tensors[tensor].scales = scales;
    model.tensors[tensor].scale_count = count;
    model.tensors[tensor].scale_dim = dim;
    model.tensors[tensor].zero = zero;
}

static int activation(const char *name, const float *scale, int64_t zero)
{
    const int tensor = tflite_value(&model, name, 4, image);
    model.tensors[tensor].type = TFLITE_INT8;
    set_scale(tensor, scale, 1, 0, zero);
    return tensor;
}

static mts_graph *imported(void)
{
    const tflite_bytes *file = tflite_file(&model);
    mts_graph *graph = NULL, *folded = NULL;
    mts_status status =
        mts_import_memory(file->data, file->size, "hand.tflite", NULL, &arena, &graph, &error);
    MTS_TRY(status, mts_fold(graph, &arena, &folded, &error));
    if (status != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return folded;
}

static void refused(mts_status code, const char *part)
{
    const tflite_bytes *file = tflite_file(&model);
    mts_graph *graph = NULL;
    const mts_status status =
        mts_import_memory(file->data, file->size, "hand.tflite", NULL, &arena, &graph, &error);
    assert_true((status == MTS_STATUS_OK) == (graph != NULL));
    if (status != code || !strstr(error.text, part)) {
        fail_msg("%s: '%s' is not %s: '%s'", mts_status_text(status), error.text, mts_status_text(code),
                 part);
    }
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
    mts_status status = net_make(&graph, 1, 0.0f, &net, &error);
    MTS_TRY(status, mts_planned_engine_create(device, net.archive, &options, NULL, &engine, NULL, &error));
    MTS_TRY(status, net_engine_run(engine, &net, &inputs, &error));
    MTS_TRY(status, mts_engine_output(engine, 0, 0, &got, &size, &error));
    if (status != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
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
    const int w = tflite_add(&model, "w", TFLITE_INT8, 4, (const int32_t[]){2, 1, 1, 2}, weight, 4);
    set_scale(w, scales, 2, 0, 0);
    const int b = tflite_ints(&model, "b", 2, bias);
    set_scale(b, bias_scales, 2, 0, 0);
    tflite_node(&model, CONV, y, x, w, b);
    tflite_option(&model, 1, 1);
    tflite_option(&model, 2, 1);
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
    model.inputs[model.input_count++] = x;
    tflite_output(&model, y);
    const mts_graph *graph = imported();
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
    const int x = tflite_input(&model, "x", 4, image), q = activation("q", &quarter, 4);
    const int c = activation("c", &half, 10), y = tflite_value(&model, "y", 4, image);
    tflite_node(&model, QUANTIZE, q, x, -1, -1);
    quantised_conv(q, c);
    tflite_node(&model, DEQUANTIZE, y, c, -1, -1);
    tflite_output(&model, y);
    run(imported(), in, out, sizeof out);
    for (int i = 0; i < 4; i++) {
        assert_float_equal(out[i], wanted[i], 1e-5);
    }
}

static void what_only_moves_is_rounded_once(void **state)
{
    (void)state;
    const int32_t shape[4] = {1, 2, 1, 2};
    const int x = tflite_input(&model, "x", 4, image), q = activation("q", &quarter, 0);
    const int r = activation("r", &quarter, 0), y = tflite_value(&model, "y", 4, shape);
    memcpy(model.tensors[r].dims, shape, sizeof shape);
    tflite_node(&model, QUANTIZE, q, x, -1, -1);
    tflite_node(&model, RESHAPE, r, q, tflite_ints(&model, "shape", 4, shape), -1);
    tflite_node(&model, DEQUANTIZE, y, r, -1, -1);
    tflite_output(&model, y);
    uint32_t count = 0;
    const mts_graph *graph = imported();
    for (uint32_t i = 0; i < graph->node_count; i++) {
        count += graph->nodes[i].op == MTS_OP_UNARY;
    }
    assert_int_equal(count, 1);
    tflite_end(&model);
    tflite_begin(&model);
    const int a = tflite_input(&model, "x", 4, image), b = activation("q", &quarter, 0);
    const int c = activation("r", &eighth, 0), d = tflite_value(&model, "y", 4, image);
    tflite_node(&model, QUANTIZE, b, a, -1, -1);
    tflite_node(&model, QUANTIZE, c, b, -1, -1); /* another scale: once more */
    tflite_node(&model, DEQUANTIZE, d, c, -1, -1);
    tflite_output(&model, d);
    count = 0;
    graph = imported();
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
        model.inputs[model.input_count++] = x;
        tflite_output(&model, y);
        refused(MTS_STATUS_MALFORMED, i == 0 ? "step" : "out of range");
        tflite_end(&model);
        tflite_begin(&model);
    }
    const int x = activation("x", &quarter, (int64_t)1 << 40), y = activation("y", &half, 0);
    quantised_conv(x, y);
    model.inputs[model.input_count++] = x;
    tflite_output(&model, y);
    refused(MTS_STATUS_MALFORMED, "zero point");
    tflite_end(&model);
    tflite_begin(&model);
    const int a = activation("x", &quarter, 4), b = activation("y", &half, 500);
    quantised_conv(a, b);
    model.inputs[model.input_count++] = a;
    tflite_output(&model, b);
    refused(MTS_STATUS_MALFORMED, "0 within the range");
    tflite_end(&model);
    tflite_begin(&model);
    static const float two[2] = {0.5f, 0.25f};
    const int c = activation("x", &quarter, 4), d = activation("y", two, 0);
    model.tensors[d].scale_count = 2;
    quantised_conv(c, d);
    model.inputs[model.input_count++] = c;
    tflite_output(&model, d);
    refused(MTS_STATUS_UNSUPPORTED, "activation 'y' has a scale for each channel");
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
