/*
 * test_net_backward_ops.c: gradients of operators without weights equal differences.
 */
#include "net_trainer.h"

static void scales_of_every_rank(void **state)
{
    static const int64_t dims[3][4] = {{6, 42}, {1, 6, 42}, {1, 6, 6, 7}};
    static const uint32_t fns[4] = {MTS_FN_RELU, MTS_FN_PRELU, MTS_FN_SILU, MTS_FN_NONE};
    (void)state;
    for (uint32_t rank = 2; rank <= 4; rank++) {
        for (uint32_t i = 0; i < 4; i++) {
            fixture f;
            const uint32_t x = add_reshape(&f, begin_case(&f, 70 + i), rank, dims[rank - 2]);
            const int64_t channels = dims[rank - 2][1];
            const bool prelu = fns[i] == MTS_FN_PRELU;
            const mts_attrs attrs = {.unary = {.act = {.fn = fns[i]}}};
            const uint32_t inputs[4] = {x, fixture_vector(&f, channels, 1.0f, 0.5f),
                                        fixture_vector(&f, channels, 0.0f, 0.5f),
                                        prelu ? fixture_vector(&f, channels, 0.2f, 0.1f) : MTS_NONE};
            end_case(&f, fixture_node(&f, MTS_OP_SCALE, inputs, prelu ? 4 : 3, &attrs));
        }
    }
}

static void element_functions(void **state)
{
    static const uint32_t fns[] = {
        MTS_FN_RELU,         MTS_FN_SIGMOID,  MTS_FN_TANH, MTS_FN_EXP,  MTS_FN_SILU,       MTS_FN_HARD_SWISH,
        MTS_FN_ABS,          MTS_FN_NEG,      MTS_FN_SQRT, MTS_FN_LOG,  MTS_FN_RECIPROCAL, MTS_FN_CLIP,
        MTS_FN_HARD_SIGMOID, MTS_FN_LEAKY,    MTS_FN_ERF,  MTS_FN_GELU, MTS_FN_GELU_TANH,  MTS_FN_SIN,
        MTS_FN_COS,          MTS_FN_TAN,      MTS_FN_ATAN, MTS_FN_SINH, MTS_FN_COSH,       MTS_FN_ASINH,
        MTS_FN_ELU,          MTS_FN_SOFTPLUS, MTS_FN_MISH};
    (void)state;
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++) {
        fixture f;
        uint32_t x = begin_case(&f, 80);
        if (fns[i] == MTS_FN_SQRT || fns[i] == MTS_FN_LOG || fns[i] == MTS_FN_RECIPROCAL) {
            const mts_attrs positive = {.unary = {.act = {.fn = MTS_FN_SIGMOID}}};
            x = fixture_node(&f, MTS_OP_UNARY, &x, 1, &positive);
        }
        const mts_attrs attrs = {.unary = {.act = {.fn = fns[i], .a = 0.2f, .b = 0.5f}}};
        end_case(&f, fixture_node(&f, MTS_OP_UNARY, &x, 1, &attrs));
    }
}

/* Both operands computed, one broadcast in every way, the other constant. */
static void binary_functions_with_broadcasts(void **state)
{
    static const uint32_t axes[4] = {0, 12, 2, 14}; /* dimensions that operand b lacks */
    (void)state;
    for (uint32_t kind = 0; kind < MTS_BIN_ALONE; kind++) {
        for (uint32_t i = 0; i < 4; i++) {
            fixture f;
            const uint32_t x = begin_case(&f, 90 + kind);
            const mts_attrs squash = {.unary = {.act = {.fn = MTS_FN_EXP}}};
            const fixture_conv conv = {.outputs = 6, .kernel = 1, .act = {.fn = MTS_FN_TANH}, .bias = true};
            uint32_t a = fixture_add_conv(&f, x, &conv), b = fixture_add_conv(&f, x, &conv);
            b = fixture_node(&f, MTS_OP_UNARY, &b, 1, &squash);
            a = kind == MTS_BIN_POW ? fixture_node(&f, MTS_OP_UNARY, &a, 1, &squash) : a;
            const mts_attrs mean = {.reduce = {.kind = MTS_REDUCE_MEAN, .axes = axes[i], .keep = 1}};
            b = axes[i] ? fixture_node(&f, MTS_OP_REDUCE, &b, 1, &mean) : b;
            const mts_attrs attrs = {
                .binary = {.kind = kind, .act = {.fn = i % 2 ? MTS_FN_SILU : MTS_FN_NONE}}};
            const bool swap = kind != MTS_BIN_POW && i == 3;
            end_case(&f, fixture_node(&f, MTS_OP_BINARY, (const uint32_t[]){swap ? b : a, swap ? a : b}, 2,
                                      &attrs));
        }
    }
}

static void binary_functions_with_a_constant(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        fixture f;
        const uint32_t x = begin_case(&f, 97);
        const mts_shape shape = mts_shape_make(3, (const int64_t[]){6, 1, 7});
        const uint32_t c = fixture_const(&f, &shape, 2.0f, 0.5f);
        const mts_attrs attrs = {.binary = {.kind = MTS_BIN_MUL, .act = {.fn = MTS_FN_RELU}}};
        end_case(&f,
                 fixture_node(&f, MTS_OP_BINARY, (const uint32_t[]){side ? c : x, side ? x : c}, 2, &attrs));
    }
}

static void pools(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        fixture f;
        const uint32_t x = begin_case(&f, 100 + i);
        const mts_attrs attrs = {.pool = {.kind = i % 2,
                                          .kernel = {3, 2},
                                          .stride = {2, 1},
                                          .dilation = {1, i < 4 ? 1u : 2u},
                                          .pad = {1, 0, 1, 1},
                                          .ceil = i < 2,
                                          .include_pad = i < 4}};
        end_case(&f, fixture_node(&f, MTS_OP_POOL, &x, 1, &attrs));
    }
}

static void reductions(void **state)
{
    (void)state;
    for (uint32_t axes = 1; axes < 16; axes += 2) {
        for (uint32_t kind = MTS_REDUCE_MEAN; kind <= MTS_REDUCE_MIN; kind++) {
            fixture f;
            const uint32_t x = begin_case(&f, 110 + axes);
            const mts_attrs attrs = {.reduce = {.kind = kind, .axes = axes, .keep = kind % 2}};
            end_case(&f, fixture_node(&f, MTS_OP_REDUCE, &x, 1, &attrs));
        }
        for (uint32_t kind = MTS_REDUCE_L1; kind <= MTS_REDUCE_LOG_SUM; kind++) {
            fixture f;
            const mts_attrs positive = {.unary = {.act = {.fn = MTS_FN_SIGMOID}}};
            uint32_t x = begin_case(&f, 110 + axes);
            x = kind == MTS_REDUCE_LOG_SUM ? fixture_node(&f, MTS_OP_UNARY, &x, 1, &positive) : x;
            const mts_attrs attrs = {.reduce = {.kind = kind, .axes = axes, .keep = kind % 2}};
            end_case(&f, fixture_node(&f, MTS_OP_REDUCE, &x, 1, &attrs));
        }
    }
}

/* Over spatial axes, groups of channels and the last axis; scales of a channel and of an element. */
static void normalisations(void **state)
{
    static const struct {
        uint32_t axes, groups;
        int64_t scale[3];
    } sets[4] = {{12, 1, {6, 1, 1}}, {14, 2, {6, 1, 1}}, {8, 1, {1, 1, 7}}, {2, 1, {6, 6, 7}}};
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t kind = 0; kind < MTS_NORM_COUNT; kind++) {
            fixture f;
            const uint32_t x = begin_case(&f, 170 + i);
            const mts_shape shape = mts_shape_make(3, sets[i].scale);
            const mts_attrs attrs = {.norm = {.kind = kind,
                                              .axes = sets[i].axes,
                                              .groups = sets[i].groups,
                                              .epsilon = 0.1f,
                                              .act = {.fn = i % 2 ? MTS_FN_SILU : MTS_FN_NONE}}};
            const uint32_t inputs[3] = {x, fixture_const(&f, &shape, 1.0f, 0.5f),
                                        fixture_const(&f, &shape, 0.0f, 0.5f)};
            end_case(&f, fixture_node(&f, MTS_OP_NORM, inputs, 3, &attrs));
        }
    }
}

/* Heads of unequal channels, a mask that is computed and broadcast over heads and queries. */
static void attention_of_heads(void **state)
{
    (void)state;
    for (uint32_t masked = 0; masked < 3; masked++) {
        fixture f;
        const fixture_conv wide = {.outputs = 6, .kernel = 1}, narrow = {.outputs = 4, .kernel = 1};
        const fixture_conv one = {.outputs = 1, .kernel = 1};
        const uint32_t x = add_reshape(&f, begin_case(&f, 180 + masked), 4, (const int64_t[]){3, 6, 1, 14});
        const mts_shape scores = mts_shape_make(3, (const int64_t[]){2, 14, 14});
        const uint32_t inputs[4] = {fixture_add_conv(&f, x, &wide), fixture_add_conv(&f, x, &wide),
                                    fixture_add_conv(&f, x, &narrow),
                                    masked == 1   ? fixture_add_conv(&f, x, &one)
                                    : masked == 2 ? fixture_const(&f, &scores, 0.0f, 1.0f)
                                                  : MTS_NONE};
        const mts_attrs attrs = {.attention = {.heads = 2, .scale = 0.7f}};
        end_case(&f, fixture_node(&f, MTS_OP_ATTENTION, inputs, masked ? 4 : 3, &attrs));
    }
}

/* A row that is taken twice, ones from the end and ones out of range. */
static void rows_taken_from_a_value(void **state)
{
    static const float numbers[6] = {1.0f, 0.0f, 1.0f, -1.0f, 99.0f, -99.0f};
    fixture f;
    (void)state;
    const uint32_t x = add_reshape(&f, begin_case(&f, 190), 3, (const int64_t[]){1, 6, 42});
    const mts_shape shape = mts_shape_make(3, (const int64_t[]){1, 6, 1});
    const uint32_t inputs[2] = {x, mts_graph_add_const(f.graph, NULL, MTS_TYPE_FLOAT32, &shape, numbers)};
    end_case(&f, fixture_node(&f, MTS_OP_TAKE, inputs, 2, &(mts_attrs){0}));
}

static void softmax_along_every_axis(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        fixture f;
        const uint32_t x = begin_case(&f, 130 + i);
        const mts_attrs attrs = {.softmax = {.axis = 1 + i % 3, .log = i / 3}};
        end_case(&f, fixture_node(&f, MTS_OP_SOFTMAX, &x, 1, &attrs));
    }
}

static void local_response_normalisation(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 4; size++) {
        fixture f;
        const uint32_t x = begin_case(&f, 135 + size);
        const mts_attrs attrs = {.lrn = {.size = size, .alpha = 0.5f, .beta = 0.75f, .bias = 1.0f}};
        end_case(&f, fixture_node(&f, MTS_OP_LRN, &x, 1, &attrs));
    }
}

static void slices_and_pads(void **state)
{
    (void)state;
    for (uint32_t mode = 0; mode < 3; mode++) {
        fixture f;
        const uint32_t x = begin_case(&f, 140 + mode);
        const mts_attrs cut = {.slice = {.start = {0, 1, 5, 0}, .step = {1, 2, -1, 3}, .size = {1, 3, 4, 3}}};
        const mts_attrs pad = {
            .pad = {.mode = mode, .value = 0.5f, .before = {0, 1, 2, -1}, .after = {0, 0, 1, 1}}};
        const uint32_t y = fixture_node(&f, MTS_OP_SLICE, &x, 1, &cut);
        end_case(&f, fixture_node(&f, MTS_OP_PAD, &y, 1, &pad));
    }
}

static void gathers(void **state)
{
    static const int32_t numbers[4] = {3, 0, 3, 5};
    (void)state;
    for (uint32_t axis = 1; axis < 3; axis++) {
        fixture f;
        const uint32_t x = begin_case(&f, 150 + axis);
        const mts_shape shape = mts_shape_make(2, (const int64_t[]){2, 2});
        const uint32_t index = mts_graph_add_const(f.graph, "index", MTS_TYPE_INT32, &shape, numbers);
        const mts_attrs attrs = {.gather = {.axis = axis}};
        end_case(&f, fixture_node(&f, MTS_OP_GATHER, (const uint32_t[]){x, index}, 2, &attrs));
    }
}

static void reshapes_transposes_and_expansions(void **state)
{
    (void)state;
    fixture f;
    const uint32_t x = begin_case(&f, 160);
    const mts_attrs turn = {.transpose = {.perm = {0, 2, 1, 3, 4}}};
    const mts_attrs wide = {.reshape = {.shape = mts_shape_make(5, (const int64_t[]){2, 1, 3, 12, 7})}};
    uint32_t y = add_reshape(&f, x, 5, (const int64_t[]){1, 2, 3, 6, 7});
    y = fixture_node(&f, MTS_OP_TRANSPOSE, &y, 1, &turn);
    y = add_reshape(&f, y, 4, (const int64_t[]){1, 3, 12, 7});
    const uint32_t between = add_reshape(&f, y, 4, (const int64_t[]){1, 7, 4, 9}); /* image to image */
    y = fixture_node(&f, MTS_OP_EXPAND, &y, 1, &wide);
    fixture_output(&f, "between", between);
    end_case(&f, y);
}

static void resizes(void **state)
{
    (void)state;
    for (uint32_t mode = 0; mode <= MTS_RESIZE_CUBIC; mode++) {
        fixture f;
        const uint32_t x = begin_case(&f, 170 + mode);
        const mts_attrs attrs = {.resize = {.mode = mode,
                                            .coord = MTS_COORD_HALF_PIXEL,
                                            .out = {11, 5},
                                            .scale = {11.0f / 6.0f, 5.0f / 7.0f},
                                            .cubic_a = -0.75f}};
        end_case(&f, fixture_node(&f, MTS_OP_RESIZE, &x, 1, &attrs));
    }
}

int main(void)
{
    omp_set_num_threads(1); /* tiny convolutions on a busy machine: threads would only wait for each other */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scales_of_every_rank),
        cmocka_unit_test(element_functions),
        cmocka_unit_test(binary_functions_with_broadcasts),
        cmocka_unit_test(binary_functions_with_a_constant),
        cmocka_unit_test(pools),
        cmocka_unit_test(reductions),
        cmocka_unit_test(normalisations),
        cmocka_unit_test(attention_of_heads),
        cmocka_unit_test(rows_taken_from_a_value),
        cmocka_unit_test(softmax_along_every_axis),
        cmocka_unit_test(local_response_normalisation),
        cmocka_unit_test(slices_and_pads),
        cmocka_unit_test(gathers),
        cmocka_unit_test(reshapes_transposes_and_expansions),
        cmocka_unit_test(resizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
