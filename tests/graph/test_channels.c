/*
 * test_channels.c: how channels pass through each operator; an element function that does not keep 0 makes them dirty,
 * whatever its parameters are.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"

#define MTS_REAL float
#define MTS_MATH(name) name##f
#define mts_number(x) x##f
#include "kernels/abi/scalar.h"

/* What a node UNARY with this function does with channels; false: the function does not allow these parameters. */
static bool propagation_of(const mts_act *act, mts_propagation *out)
{
    const mts_shape shape = mts_shape_make(4, (const int64_t[]){1, 2, 3, 3});
    const mts_attrs attrs = {.unary = {.act = *act}};
    uint32_t value = 0;
    mts_arena own;
    mts_arena_init(&own, mts_allocator_default());
    mts_graph *net = mts_graph_create(&own, "net");
    assert_non_null(net);
    const uint32_t x = mts_graph_add_input(net, "x", MTS_TYPE_FLOAT32, &shape);
    const bool added =
        mts_graph_add_node(net, MTS_OP_UNARY, "y", &x, 1, &attrs, &value, NULL) == MTS_STATUS_OK;
    if (added) {
        *out = mts_node_propagation(net, &net->nodes[0]);
    }
    mts_arena_release(&own);
    return added;
}

static void channels_are_clean_where_the_function_of_zero_is_zero(void **state)
{
    (void)state;
    static const float numbers[] = {-INFINITY, -200.0f, -1.0f, -0.25f, 0.0f, 0.25f, 1.0f, 3.0f, INFINITY};
    const size_t count = sizeof numbers / sizeof *numbers;
    for (uint32_t fn = 0; fn < MTS_FN_COUNT; fn++) {
        size_t tried = 0;
        for (size_t i = 0; i < count * count; i++) {
            const mts_act act = {.fn = fn, .a = numbers[i / count], .b = numbers[i % count]};
            const float zero = mts_scalar_function(fn, 0.0f, act.a, act.b);
            mts_propagation rule;
            if (!propagation_of(&act, &rule)) {
                continue;
            }
            tried++;
            if (rule.dirty != !(fabsf(zero) <= 0.0f) || (rule.reason != NULL) != !isfinite(zero)) {
                print_error("function %u, a %g, b %g: %g of 0, dirty %d, reason %s\n", fn, (double)act.a,
                            (double)act.b, (double)zero, rule.dirty, rule.reason ? rule.reason : "none");
                fail();
            }
        }
        assert_true(tried > 0 || fn == MTS_FN_PRELU);
    }
}

/* ---- the rules of the operators ---- */

static mts_arena arena;
static mts_graph *graph;
static const float zeros[2 * 4 * 6 * 6];

static int set_up(void **state)
{
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    graph = mts_graph_create(&arena, "net");
    return graph ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    mts_arena_release(&arena);
    return 0;
}

/* [2,4,6,6] */
static uint32_t image(void)
{
    const mts_shape shape = mts_shape_make(4, (const int64_t[]){2, 4, 6, 6});
    return mts_graph_add_input(graph, NULL, MTS_TYPE_FLOAT32, &shape);
}

static uint32_t constant(uint32_t rank, const int64_t *dims)
{
    const mts_shape shape = mts_shape_make(rank, dims);
    return mts_graph_add_const(graph, NULL, MTS_TYPE_FLOAT32, &shape, zeros);
}

/* The rule of a node that is added. */
static mts_propagation rule(mts_op op, const uint32_t *inputs, uint32_t count, mts_attrs attrs)
{
    uint32_t value = 0;
    mts_error error = {0};
    if (mts_graph_add_node(graph, op, "node", inputs, count, &attrs, &value, &error) != MTS_STATUS_OK) {
        fail_msg("%s: %s", mts_op_name(op), error.text);
    }
    return mts_node_propagation(graph, &graph->nodes[graph->node_count - 1]);
}

#define RULE(op, attrs, ...)                                                                                 \
    rule(op, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),    \
         attrs)

static void expect(mts_propagation got, mts_channel_rule pass, bool dirty, const char *reason)
{
    assert_int_equal(got.pass, pass);
    assert_int_equal(got.dirty, dirty);
    assert_true((reason != NULL) == (got.reason != NULL));
    if (reason) {
        assert_string_equal(got.reason, reason);
    }
}

static mts_attrs window(uint32_t group)
{
    return (mts_attrs){.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = group}};
}

static void convolutions_mix_keep_or_group_channels(void **state)
{
    static const uint32_t order[] = {3, 2, 1, 0};
    const int64_t dense[] = {4, 4, 1, 1}, depth[] = {4, 1, 1, 1}, twice[] = {8, 1, 1, 1},
                  pair[] = {4, 2, 1, 1};
    const uint32_t x = image();
    (void)state;
    expect(RULE(MTS_OP_CONV, window(1), x, constant(4, dense)), MTS_CHANNELS_MIXED, false, NULL);
    expect(RULE(MTS_OP_CONV, window(4), x, constant(4, depth)), MTS_CHANNELS_KEPT, false, NULL);
    expect(RULE(MTS_OP_CONV, window(4), x, constant(4, twice)), MTS_CHANNELS_GROUPED, false, NULL);
    expect(RULE(MTS_OP_CONV, window(2), x, constant(4, pair)), MTS_CHANNELS_GROUPED, false, NULL);
    graph->nodes[graph->node_count - 1].scatter = order;
    expect(mts_node_propagation(graph, &graph->nodes[graph->node_count - 1]), MTS_CHANNELS_FIXED, false,
           "a grouped convolution whose channels are permuted");
    expect(RULE(MTS_OP_CONV, window(1), x, constant(4, dense), MTS_NONE, MTS_NONE, image()),
           MTS_CHANNELS_MIXED, false, NULL);
    graph->values[graph->nodes[graph->node_count - 1].inputs[4]].kind = MTS_VALUE_CONST;
    expect(mts_node_propagation(graph, &graph->nodes[graph->node_count - 1]), MTS_CHANNELS_FIXED, false,
           "a constant residual");
}

static void what_moves_channels_has_no_rule(void **state)
{
    const uint32_t x = image();
    const mts_attrs rows = {.pad = {.before = {0, 0, 1, 0}, .value = 0.0f}};
    const mts_attrs filled = {.pad = {.before = {0, 0, 1, 0}, .value = 2.0f}};
    const mts_attrs edge = {.pad = {.mode = MTS_PAD_EDGE, .after = {0, 0, 1, 0}, .value = 2.0f}};
    const mts_attrs wider = {.pad = {.after = {0, 1, 0, 0}}};
    const mts_attrs batch = {.pad = {.before = {1, 0, 0, 0}}};
    const mts_attrs inner = {.slice = {.step = {1, 1, 1, 1}, .size = {2, 4, 3, 6}}};
    const mts_attrs half = {.slice = {.step = {1, 1, 1, 1}, .size = {2, 2, 6, 6}}};
    const mts_attrs second = {.slice = {.start = {1}, .step = {1, 1, 1, 1}, .size = {1, 4, 6, 6}}};
    const mts_attrs turned = {.slice = {.start = {0, 3}, .step = {1, -1, 1, 1}, .size = {2, 4, 6, 6}}};
    const mts_attrs spatial = {.transpose = {.perm = {0, 1, 3, 2}}};
    const mts_attrs channels = {.transpose = {.perm = {0, 2, 1, 3}}};
    const mts_attrs images = {.transpose = {.perm = {1, 0, 2, 3}}};
    (void)state;
    expect(RULE(MTS_OP_PAD, rows, x), MTS_CHANNELS_KEPT, false, NULL);
    expect(RULE(MTS_OP_PAD, filled, x), MTS_CHANNELS_KEPT, true, NULL);
    expect(RULE(MTS_OP_PAD, edge, x), MTS_CHANNELS_KEPT, false, NULL);
    expect(RULE(MTS_OP_PAD, wider, x), MTS_CHANNELS_FIXED, false, "padding of channels");
    expect(RULE(MTS_OP_PAD, batch, x), MTS_CHANNELS_KEPT, false, "padding of channels");
    assert_null(RULE(MTS_OP_SLICE, inner, x).reason);
    assert_string_equal(RULE(MTS_OP_SLICE, half, x).reason, "a slice of channels");
    assert_string_equal(RULE(MTS_OP_SLICE, second, x).reason, "a slice of channels");
    assert_string_equal(RULE(MTS_OP_SLICE, turned, x).reason, "a slice of channels");
    assert_int_equal(RULE(MTS_OP_TRANSPOSE, spatial, x).pass, MTS_CHANNELS_KEPT);
    assert_int_equal(RULE(MTS_OP_TRANSPOSE, channels, x).pass, MTS_CHANNELS_FIXED);
    assert_int_equal(RULE(MTS_OP_TRANSPOSE, images, x).pass, MTS_CHANNELS_FIXED);
}

static void joins_and_sums_of_constants_are_told(void **state)
{
    const uint32_t x = image(), y = image();
    const int64_t same[] = {2, 4, 6, 6}, wide[] = {1, 4, 1, 1};
    const uint32_t c = constant(4, same), w = constant(4, wide);
    const mts_attrs first = {.concat = {.axis = 0}}, second = {.concat = {.axis = 1}},
                    third = {.concat = {.axis = 2}};
    mts_attrs kind = {.binary = {.kind = MTS_BIN_ADD}};
    (void)state;
    expect(RULE(MTS_OP_CONCAT, second, x, y), MTS_CHANNELS_JOINED, false, NULL);
    expect(RULE(MTS_OP_CONCAT, third, x, y), MTS_CHANNELS_KEPT, false, NULL);
    expect(RULE(MTS_OP_CONCAT, first, x, y), MTS_CHANNELS_KEPT, false, "a concatenation of batches");
    assert_int_equal(RULE(MTS_OP_CONCAT, second, x, c).pass, MTS_CHANNELS_FIXED);
    assert_int_equal(RULE(MTS_OP_BINARY, kind, x, y).pass, MTS_CHANNELS_KEPT);
    assert_null(RULE(MTS_OP_BINARY, kind, x, y).reason);
    for (kind.binary.kind = 0; kind.binary.kind < MTS_BIN_COUNT; kind.binary.kind++) {
        const uint32_t inputs[][2] = {{x, y}, {x, w}, {w, x}};
        for (int i = 0; i < 3; i++) {
            mts_error error;
            uint32_t value;
            if (mts_graph_add_node(graph, MTS_OP_BINARY, "b", inputs[i], 2, &kind, &value, &error) ==
                MTS_STATUS_OK) {
                const mts_propagation got = mts_node_propagation(graph, &graph->nodes[graph->node_count - 1]);
                const bool divides = kind.binary.kind == MTS_BIN_DIV || kind.binary.kind == MTS_BIN_POW;
                if (divides && i != 1) { /* zeros would be divided by zeros */
                    assert_true(got.dirty || got.reason || got.pass == MTS_CHANNELS_FIXED);
                }
            }
        }
    }
}

static void reductions_softmax_and_sizes_keep_channels_that_they_do_not_touch(void **state)
{
    const uint32_t x = image();
    const mts_attrs pixels = {.reduce = {.kind = MTS_REDUCE_MEAN, .axes = 12, .keep = 1}};
    const mts_attrs dropped = {.reduce = {.kind = MTS_REDUCE_MEAN, .axes = 12}};
    const mts_attrs over = {.reduce = {.kind = MTS_REDUCE_MEAN, .axes = 2, .keep = 1}};
    const mts_attrs images = {.reduce = {.kind = MTS_REDUCE_MEAN, .axes = 1, .keep = 1}};
    const mts_attrs lost = {.reduce = {.kind = MTS_REDUCE_MEAN, .axes = 1}};
    const mts_attrs rows = {.softmax = {.axis = 2}}, channels = {.softmax = {.axis = 1}},
                    batch = {.softmax = {.axis = 0}};
    const mts_attrs logs = {.softmax = {.axis = 1, .log = 1}};
    const mts_attrs plain = {.resize = {.out = {3, 3}, .scale = {0.5f, 0.5f}}};
    const mts_attrs outside = {.resize = {.out = {3, 3}, .scale = {0.5f, 0.5f}, .extrapolation = 1.0f}};
    const mts_attrs flat = {.reshape = {.shape = mts_shape_make(2, (const int64_t[]){2, 144})}};
    const mts_attrs moved = {.reshape = {.shape = mts_shape_make(2, (const int64_t[]){4, 72})}};
    const mts_attrs same = {.reshape = {.shape = mts_shape_make(3, (const int64_t[]){2, 4, 36})}};
    (void)state;
    expect(RULE(MTS_OP_REDUCE, pixels, x), MTS_CHANNELS_KEPT, false, NULL);
    expect(RULE(MTS_OP_REDUCE, dropped, x), MTS_CHANNELS_KEPT, false, NULL);
    assert_string_equal(RULE(MTS_OP_REDUCE, over, x).reason, "a reduction over channels");
    assert_string_equal(RULE(MTS_OP_REDUCE, images, x).reason, "a reduction over channels");
    assert_int_equal(RULE(MTS_OP_REDUCE, lost, x).pass, MTS_CHANNELS_FIXED);
    assert_true(RULE(MTS_OP_SOFTMAX, rows, x).dirty);
    assert_true(RULE(MTS_OP_SOFTMAX, channels, x).across);
    assert_true(RULE(MTS_OP_SOFTMAX, logs, x).dirty);
    assert_non_null(RULE(MTS_OP_SOFTMAX, batch, x).reason);
    assert_false(RULE(MTS_OP_RESIZE, plain, x).dirty);
    assert_true(RULE(MTS_OP_RESIZE, outside, x).dirty);
    const mts_propagation repeated = RULE(MTS_OP_RESHAPE, flat, x);
    assert_int_equal(repeated.pass, MTS_CHANNELS_REPEATED);
    assert_int_equal(repeated.factor, 36);
    assert_int_equal(RULE(MTS_OP_RESHAPE, moved, x).pass, MTS_CHANNELS_FIXED);
    assert_int_equal(RULE(MTS_OP_RESHAPE, same, x).pass, MTS_CHANNELS_KEPT);
}

static void a_vector_has_no_channels(void **state)
{
    const mts_shape shape = mts_shape_make(1, (const int64_t[]){4});
    const mts_attrs flat = {.reshape = {.shape = mts_shape_make(1, (const int64_t[]){288})}};
    const uint32_t v = mts_graph_add_input(graph, NULL, MTS_TYPE_FLOAT32, &shape);
    (void)state;
    expect(RULE(MTS_OP_UNARY, (mts_attrs){.unary = {.act = {.fn = MTS_FN_RELU}}}, v), MTS_CHANNELS_FIXED,
           false, "a tensor without a channel dimension");
    expect(RULE(MTS_OP_RESHAPE, flat, image()), MTS_CHANNELS_FIXED, false,
           "a tensor without a channel dimension");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_are_clean_where_the_function_of_zero_is_zero),
        cmocka_unit_test_setup_teardown(convolutions_mix_keep_or_group_channels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_moves_channels_has_no_rule, set_up, tear_down),
        cmocka_unit_test_setup_teardown(joins_and_sums_of_constants_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reductions_softmax_and_sizes_keep_channels_that_they_do_not_touch,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_vector_has_no_channels, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
