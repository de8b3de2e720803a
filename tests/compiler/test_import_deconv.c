/*
 * The ONNX importer on transposed convolutions of quantised weights: they become
 * convolutions of the same integers, and give what the numbers that the integers stand
 * for give.
 */
#include "compiler/import_fixture.h"
#include "compiler/passes/fold.h"
#include "import_fault.h"
#include "support/net.h"

#include <math.h>

enum { IN = 6, OUT = 3, HEIGHT = 4, WIDTH = 6, NUMBERS_MOST = IN * OUT * 16, RESULTS_MOST = OUT * 16 * 24 };

/* A transposed convolution, and whether it becomes a convolution. */
typedef struct deconv_case {
    int64_t kernel[2], stride[2], pads[4], output_pad[2];
    int type;
    bool by_channel, bias, becomes;
    int64_t group; /* 0: 1 */
    int64_t zero;  /* zero point of all weights, stored as int64; 0: `zeros`, in the weights' type */
    bool infinite; /* a number of the bias */
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

static const float scales[OUT] = {0.5f, 0.25f, 0.0625f}, bias[OUT] = {1.0f, -2.0f, 0.5f},
                   infinite[OUT] = {1.0f, -INFINITY, 0.5f};
static const uint8_t zeros[OUT] = {128, 120, 3};

static int64_t group_of(const deconv_case *c)
{
    return c->group ? c->group : 1;
}

/* What stands for 0 in the weights of channel o. */
static int64_t zero_of(const deconv_case *c, int64_t o)
{
    return c->zero ? c->zero : c->type == ONNX_INT8 ? (int8_t)zeros[o] : zeros[o];
}

static void add_zeros(const deconv_case *c)
{
    if (c->zero) {
        onnx_model_tensor(&model, "z", ONNX_INT64, 0, NULL, &c->zero, sizeof c->zero);
    } else {
        onnx_model_tensor(&model, "z", c->type, c->by_channel ? 1 : 0, DIMS(OUT), zeros,
                          c->by_channel ? OUT : 1);
    }
}

static void add_node(const deconv_case *c, const char *inputs, const char *output)
{
    onnx_model_node(&model, "ConvTranspose", inputs, output);
    onnx_model_attr_ints(&model, "strides", 2, c->stride);
    onnx_model_attr_ints(&model, "pads", 4, c->pads);
    onnx_model_attr_ints(&model, "output_padding", 2, c->output_pad);
    onnx_model_attr_int(&model, "group", group_of(c));
}

/* wf: dequantised codes, or the numbers that they stand for. */
static void add_weights(const deconv_case *c, bool quantised)
{
    const int64_t positions = c->kernel[0] * c->kernel[1], out = OUT / group_of(c);
    const int64_t count = IN * out * positions;
    float numbers[NUMBERS_MOST];
    if (quantised) {
        onnx_model_tensor(&model, "w", c->type, INTS(IN, out, c->kernel[0], c->kernel[1]), weight,
                          (size_t)count);
        onnx_model_floats(&model, "s", c->by_channel ? 1 : 0, DIMS(OUT), scales);
        add_zeros(c);
        onnx_model_node(&model, "DequantizeLinear", "w,s,z", "wf");
        onnx_model_attr_int(&model, "axis", 1);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t o = c->by_channel ? i / positions % OUT : 0;
        const int64_t code = c->type == ONNX_INT8 ? (int8_t)weight[i] : weight[i];
        numbers[i] = (float)(code - zero_of(c, o)) * scales[o];
    }
    onnx_model_floats(&model, "wf", INTS(IN, out, c->kernel[0], c->kernel[1]), numbers);
}

/* y = ConvTranspose(x, wf). The caller ends the model. */
static void write_model(const deconv_case *c, bool quantised)
{
    onnx_model_begin(&model, 21);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, IN, HEIGHT, WIDTH));
    onnx_model_floats(&model, "b", INTS(OUT), c->infinite ? infinite : bias);
    add_weights(c, quantised);
    add_node(c, c->bias ? "x,wf,b" : "x,wf", "y");
    onnx_model_output(&model, "y");
}

static const mts_graph *make(const deconv_case *c, bool quantised)
{
    write_model(c, quantised);
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

static void assert_same(const mts_graph *graph, const mts_graph *other, size_t number)
{
    static float found[RESULTS_MOST], wanted[RESULTS_MOST];
    const size_t count = run(graph, found);
    assert_int_equal(run(other, wanted), count);
    for (size_t i = 0; i < count; i++) {
        const bool both_infinite = isinf(wanted[i]) && found[i] >= wanted[i] && found[i] <= wanted[i];
        if (!both_infinite && !(fabsf(found[i] - wanted[i]) <= 1e-4f * (1.0f + fabsf(wanted[i])))) {
            fail_msg("case %zu: [%zu] is %g, not %g", number, i, (double)found[i], (double)wanted[i]);
        }
    }
}

static void compare(const deconv_case *c, size_t number)
{
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
    assert_same(graph, make(c, false), number);
}

static void quantised_weights_become_those_of_a_convolution(void **state)
{
    static const deconv_case cases[] = {
        {{2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}, ONNX_INT8, true, true, .becomes = true},
        {{2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}, ONNX_UINT8, false, false, .becomes = true},
        {{3, 3}, {2, 2}, {0, 0, 1, 1}, {0, 0}, ONNX_INT8, false, true, .becomes = true},
        {{3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, ONNX_UINT8, true, true, .becomes = true},
        {{3, 2}, {3, 2}, {0, 0, 0, 0}, {0, 0}, ONNX_INT8, true, false, .becomes = true},
        {{4, 2}, {2, 2}, {1, 0, 1, 0}, {0, 0}, ONNX_INT8, true, true, .becomes = true},
        /* half of the convolution's weights or more would be zeros */
        {{2, 2}, {2, 2}, {1, 0, 1, 0}, {0, 0}, ONNX_INT8, true, true, .becomes = false},
        {{4, 4}, {2, 2}, {1, 1, 1, 1}, {0, 0}, ONNX_INT8, true, true, .becomes = false},
        /* a size that is no multiple of the stride, and a stride of 1 */
        {{3, 3}, {2, 2}, {0, 0, 0, 0}, {0, 0}, ONNX_INT8, true, true, .becomes = false},
        {{3, 3}, {1, 1}, {1, 1, 1, 1}, {0, 0}, ONNX_INT8, true, true, .becomes = false},
        {{3, 3}, {2, 2}, {0, 0, 1, 1}, {0, 0}, ONNX_UINT8, false, true, true, .zero = 255},
        /* uint8 and int8 do not hold these zero points */
        {{3, 3}, {2, 2}, {0, 0, 1, 1}, {0, 0}, ONNX_UINT8, false, true, false, .zero = 300},
        {{3, 3}, {2, 2}, {0, 0, 1, 1}, {0, 0}, ONNX_UINT8, false, true, false, .zero = -1},
        {{3, 3}, {2, 2}, {0, 0, 1, 1}, {0, 0}, ONNX_INT8, false, true, false, .zero = 128},
        /* several groups, and an infinite number of the bias */
        {{2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}, ONNX_INT8, false, true, false, .group = 3},
        {{2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}, ONNX_INT8, false, true, false, .infinite = true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        compare(&cases[i], i);
    }
}

/* y is quantised after a bound. */
static const mts_graph *make_rounded(const deconv_case *c, bool quantised)
{
    const float step = 4.0f;
    onnx_model_begin(&model, 21);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, IN, HEIGHT, WIDTH));
    add_weights(c, quantised);
    onnx_model_floats(&model, "t", 0, NULL, &step);
    onnx_model_tensor(&model, "low", ONNX_INT8, 0, NULL, "\x80", 1);
    add_node(c, "x,wf", "a");
    onnx_model_node(&model, "Relu", "a", "r");
    onnx_model_node(&model, "QuantizeLinear", "r,t,low", "q");
    onnx_model_node(&model, "DequantizeLinear", "q,t,low", "y");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    onnx_model_end(&model);
    return graph;
}

/* Bound and rounding end the convolution, and what puts results side by side moves codes. */
static void roundings_end_the_convolution(void **state)
{
    const deconv_case c = {{2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}, ONNX_INT8, false, false, .becomes = true};
    (void)state;
    const mts_graph *graph = make_rounded(&c, true);
    mts_graph *folded = NULL;
    assert_int_equal(mts_fold(graph, &arena, &folded, &error), MTS_STATUS_OK);
    assert_int_equal(folded->node_count, 2);
    assert_int_equal(folded->nodes[0].op, MTS_OP_CONV);
    assert_int_equal(folded->nodes[0].attrs.conv.act.fn, MTS_FN_QUANT8);
    assert_true(mts_deconv_is_shuffle(&folded->nodes[1], &folded->values[folded->nodes[1].inputs[1]]));
    assert_same(folded, make_rounded(&c, false), 0);
}

static void memory_runs_out_anywhere(void **state)
{
    const deconv_case c = {{3, 3}, {2, 2}, {0, 0, 1, 1}, {0, 0}, ONNX_INT8, true, true, .becomes = true};
    (void)state;
    write_model(&c, true);
    onnx_bytes file = *onnx_model_file(&model);
    fault_each_import(file.data, file.size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(quantised_weights_become_those_of_a_convolution, set_up, tear_down),
        cmocka_unit_test_setup_teardown(roundings_end_the_convolution, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_runs_out_anywhere, set_up, tear_down),
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
