/*
 * The ONNX importer on transposed convolutions of quantised weights: they become
 * convolutions of the same integers, and give what the numbers that the integers stand
 * for give.
 */
#include "compiler/import_fixture.h"
#include "compiler/passes/fold.h"
#include "support/net.h"

#include <math.h>

enum { IN = 5, OUT = 3, HEIGHT = 4, WIDTH = 6, NUMBERS_MOST = IN * OUT * 16, RESULTS_MOST = OUT * 16 * 24 };

/* What a case has: and whether it becomes a convolution. */
typedef struct deconv_case {
    int64_t kernel[2], stride[2], pads[4], output_pad[2];
    int type;
    bool by_channel, bias, becomes;
} deconv_case;

static mts_device *device;

static uint8_t weight[NUMBERS_MOST];
static float x[IN * HEIGHT * WIDTH];

static void make_numbers(void)
{
    uint32_t state = 1;
    for (size_t i = 0; i < NUMBERS_MOST; i++) {
        state = state * 1664525u + 1013904223u;
        weight[i] = (uint8_t)(state >> 24);
    }
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)(state >> 24) / 128.0f - 1.0f;
    }
}

static const float scales[OUT] = {0.5f, 0.25f, 0.0625f}, bias[OUT] = {1.0f, -2.0f, 0.5f};
static const uint8_t zeros[OUT] = {128, 120, 3};

static void add_node(const deconv_case *c, const char *inputs, const char *output)
{
    onnx_model_node(&model, "ConvTranspose", inputs, output);
    onnx_model_attr_ints(&model, "strides", 2, c->stride);
    onnx_model_attr_ints(&model, "pads", 4, c->pads);
    onnx_model_attr_ints(&model, "output_padding", 2, c->output_pad);
}

/* y = ConvTranspose(x, dequantised codes), or of the numbers that those stand for. */
static const mts_graph *make(const deconv_case *c, bool quantised)
{
    const int64_t positions = c->kernel[0] * c->kernel[1], count = IN * OUT * positions;
    float numbers[NUMBERS_MOST];
    onnx_model_begin(&model, 21);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, IN, HEIGHT, WIDTH));
    onnx_model_floats(&model, "b", INTS(OUT), bias);
    if (quantised) {
        onnx_model_tensor(&model, "w", c->type, INTS(IN, OUT, c->kernel[0], c->kernel[1]), weight,
                          (size_t)count);
        onnx_model_floats(&model, "s", c->by_channel ? 1 : 0, DIMS(OUT), scales);
        onnx_model_tensor(&model, "z", c->type, c->by_channel ? 1 : 0, DIMS(OUT), zeros,
                          c->by_channel ? OUT : 1);
        onnx_model_node(&model, "DequantizeLinear", "w,s,z", "wf");
        onnx_model_attr_int(&model, "axis", 1);
    } else {
        for (int64_t i = 0; i < count; i++) {
            const int64_t o = c->by_channel ? i / positions % OUT : 0;
            numbers[i] = c->type == ONNX_INT8 ? (float)((int8_t)weight[i] - (int8_t)zeros[o]) * scales[o]
                                              : (float)(weight[i] - zeros[o]) * scales[o];
        }
        onnx_model_floats(&model, "wf", INTS(IN, OUT, c->kernel[0], c->kernel[1]), numbers);
    }
    add_node(c, c->bias ? "x,wf,b" : "x,wf", "y");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    onnx_model_end(&model);
    return graph;
}

static size_t run(const mts_graph *graph, float *out)
{
    const mts_engine_options how = {.strategy = MTS_STRATEGY_COMPACT};
    const void *data[1] = {x};
    const void *const *inputs = data;
    test_net net = {0};
    mts_engine *engine = NULL;
    size_t count = 0;
    mts_status status = net_make(&graph, 1, 0.0f, &net, &error);
    MTS_TRY(status, mts_planned_engine_create(device, net.archive, &how, NULL, &engine, NULL, &error));
    MTS_TRY(status, net_engine_run(engine, &net, &inputs, &error));
    if (status != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    const float *got = net_output(engine, &net, 0, 0, &count);
    assert_in_range(count, 1, RESULTS_MOST);
    memcpy(out, got, count * sizeof *out);
    mts_engine_destroy(&engine);
    net_release(&net);
    return count;
}

static void compare(const deconv_case *c, size_t number)
{
    static float found[RESULTS_MOST], wanted[RESULTS_MOST];
    const mts_graph *graph = make(c, true);
    uint32_t convolutions = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const mts_node *node = &graph->nodes[i];
        convolutions += node->op == MTS_OP_CONV;
        if (c->becomes && node->op == MTS_OP_DECONV) {
            assert_true(mts_deconv_is_shuffle(node, &graph->values[node->inputs[1]]));
        }
        if (c->becomes && node->op == MTS_OP_CONV) {
            assert_int_not_equal(graph->values[node->inputs[1]].dtype, MTS_TYPE_FLOAT32);
        }
    }
    assert_int_equal(convolutions, c->becomes ? 1 : 0);
    const size_t count = run(graph, found);
    assert_int_equal(run(make(c, false), wanted), count);
    for (size_t i = 0; i < count; i++) {
        if (!(fabsf(found[i] - wanted[i]) <= 1e-4f * (1.0f + fabsf(wanted[i])))) {
            fail_msg("case %zu: [%zu] is %g, not %g", number, i, (double)found[i], (double)wanted[i]);
        }
    }
}

static void quantised_weights_become_those_of_a_convolution(void **state)
{
    static const deconv_case cases[] = {
        {{2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}, ONNX_INT8, true, true, true},
        {{2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}, ONNX_UINT8, false, false, true},
        {{3, 3}, {2, 2}, {0, 0, 1, 1}, {0, 0}, ONNX_INT8, false, true, true},
        {{3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, ONNX_UINT8, true, true, true},
        {{3, 2}, {3, 2}, {0, 0, 0, 0}, {0, 0}, ONNX_INT8, true, false, true},
        {{4, 2}, {2, 2}, {1, 0, 1, 0}, {0, 0}, ONNX_INT8, true, true, true},
        {{4, 4}, {2, 2}, {1, 1, 1, 1}, {0, 0}, ONNX_INT8, true, true, false}, /* more than half of it zeros */
        {{3, 3}, {2, 2}, {0, 0, 0, 0}, {0, 0}, ONNX_INT8, true, true, false}, /* an odd size */
        {{3, 3}, {1, 1}, {1, 1, 1, 1}, {0, 0}, ONNX_INT8, true, true, false},
        {{2, 2}, {2, 2}, {1, 0, 1, 0}, {0, 0}, ONNX_INT8, true, true, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        compare(&cases[i], i);
    }
}

/* x is quantised, and so is y after a bound: both end the convolution, and what puts
 * results side by side moves codes. */
static void roundings_end_the_convolution(void **state)
{
    const deconv_case c = {{2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}, ONNX_INT8, false, false, true};
    const float step = 0.125f;
    (void)state;
    onnx_model_begin(&model, 21);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, IN, HEIGHT, WIDTH));
    onnx_model_tensor(&model, "w", ONNX_INT8, INTS(IN, OUT, 2, 2), weight, IN * OUT * 4);
    onnx_model_floats(&model, "s", 0, NULL, scales);
    onnx_model_floats(&model, "t", 0, NULL, &step);
    onnx_model_tensor(&model, "z", ONNX_INT8, 0, NULL, "\x80", 1);
    onnx_model_node(&model, "DequantizeLinear", "w,s", "wf");
    add_node(&c, "x,wf", "a");
    onnx_model_node(&model, "Relu", "a", "r");
    onnx_model_node(&model, "QuantizeLinear", "r,t,z", "q");
    onnx_model_node(&model, "DequantizeLinear", "q,t,z", "y");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    mts_graph *folded = NULL;
    assert_int_equal(mts_fold(graph, &arena, &folded, &error), MTS_STATUS_OK);
    assert_int_equal(folded->node_count, 2);
    assert_int_equal(folded->nodes[0].op, MTS_OP_CONV);
    assert_int_equal(folded->nodes[0].attrs.conv.act.fn, MTS_FN_QUANT8);
    assert_true(mts_deconv_is_shuffle(&folded->nodes[1], &folded->values[folded->nodes[1].inputs[1]]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(quantised_weights_become_those_of_a_convolution, set_up, tear_down),
        cmocka_unit_test_setup_teardown(roundings_end_the_convolution, set_up, tear_down),
    };
    make_numbers();
    if (net_device_open("reference", NULL, &device, &error) != MTS_STATUS_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mts_device_destroy(&device);
    return failed;
}
