/*
 * test_net_backward.c: gradients of nets equal central differences of a loss, for every operator that claims
 * to have them.
 *
 * The loss is the sum of all outputs, each times a fixed random number, added up in float64. Every case has a
 * convolution before the operator under test, so its weights' gradients have passed through the operator.
 * Forward is float32, so a difference is exact to about 1e-4 of the largest gradient; the tolerance is 1e-2
 * of it. Narrower steps are tried where a wide one may have stepped over the bend of a ReLU or a maximum.
 */
#include "net_fixture.h"

#include <math.h>

#include "support/random_net.h"

extern void omp_set_num_threads(int count); /* GNU OpenMP's */

#define IMAGES 3
#define TOLERANCE 1e-2
#define PARAMETERS_MOST 24 /* checked of an array */

typedef struct trainer {
    const mts_graph *graph;
    mts_net *net;
    mts_net_run *run;
} trainer;

static void open_trainer(trainer *t, const mts_graph *graph)
{
    mts_error error = {0};
    *t = (trainer){.graph = graph};
    fixture_must(mts_net_create(graph, mts_allocator_default(), &t->net, &error), &error);
    fixture_must(mts_net_run_create(t->net, IMAGES, MTS_NET_TRAINING, &t->run, &error), &error);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        fixture_fill(mts_net_run_input(t->run, i), IMAGES * mts_shape_count(&graph->inputs[i].shape), 5 + i);
    }
}

static void close_trainer(trainer *t)
{
    mts_net_run_destroy(&t->run);
    mts_net_destroy(&t->net);
    assert_null(t->run);
    assert_null(t->net);
}

/* How much element i of an output counts. */
static float share(uint32_t output, size_t i)
{
    uint64_t state = (uint64_t)output << 32 | i;
    return fixture_noise(&state);
}

static size_t output_count(const trainer *t, uint32_t output)
{
    return IMAGES * mts_shape_count(&t->graph->values[t->graph->outputs[output].value].shape);
}

static double loss(const trainer *t)
{
    mts_error error = {0};
    double sum = 0.0;
    fixture_must(mts_net_run_forward(t->run, IMAGES, 0, t->graph->node_count, &error), &error);
    for (uint32_t o = 0; o < t->graph->output_count; o++) {
        const float *y = mts_net_run_value(t->run, t->graph->outputs[o].value);
        for (size_t i = 0; i < output_count(t, o); i++) {
            sum += (double)y[i] * (double)share(o, i);
        }
    }
    return sum;
}

static void go_back(const trainer *t)
{
    mts_error error = {0};
    (void)loss(t);
    for (uint32_t o = 0; o < t->graph->output_count; o++) {
        float *gradient = mts_net_run_output_gradient(t->run, o);
        for (size_t i = 0; i < output_count(t, o); i++) {
            gradient[i] = share(o, i);
        }
    }
    fixture_must(mts_net_run_backward(t->run, IMAGES, &error), &error);
}

static double difference(const trainer *t, uint32_t node, float *parameter, float width)
{
    const float kept = *parameter;
    double both[2];
    for (int i = 0; i < 2; i++) {
        *parameter = i ? kept + width : kept - width;
        mts_net_touch(t->net, node);
        both[i] = loss(t);
    }
    *parameter = kept;
    mts_net_touch(t->net, node);
    return (both[1] - both[0]) / ((double)(kept + width) - (double)(kept - width));
}

static void check_array(const trainer *t, uint32_t node, const char *what, float *parameters,
                        const float *gradient, size_t count)
{
    static const float widths[4] = {5e-3f, 8e-4f, 1.5e-4f, 4e-5f};
    double most = 0.0;
    if (!parameters) {
        assert_null(gradient);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fabs((double)gradient[i]));
    }
    const double bound = TOLERANCE * most + 1e-3;
    const size_t step = count / PARAMETERS_MOST + 1;
    for (size_t i = 0; i < count; i += step) {
        const double got = (double)gradient[i];
        double want = 0.0;
        for (size_t k = 0; k < sizeof widths / sizeof *widths && (k == 0 || !(fabs(got - want) <= bound));
             k++) {
            want = difference(t, node, &parameters[i], widths[k]);
        }
        if (!(fabs(got - want) <= bound)) {
            fail_msg("node %u (%s), %s[%zu]: gradient %g, difference %g, largest %g", node,
                     mts_op_name(t->graph->nodes[node].op), what, i, got, want, most);
        }
    }
}

static size_t weight_count(const mts_graph *graph, uint32_t node)
{
    const mts_node *n = &graph->nodes[node];
    const uint32_t operand =
        n->op == MTS_OP_MATMUL && graph->values[n->inputs[1]].kind != MTS_VALUE_CONST ? 0 : 1;
    return mts_shape_count(&graph->values[n->inputs[operand]].shape);
}

/* All parameters of the graph; it has at least one with a gradient. */
static void check_graph(const mts_graph *graph)
{
    trainer t;
    double most = 0.0;
    open_trainer(&t, graph);
    go_back(&t);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const mts_net_layer layer = mts_net_layer_of(t.net, i);
        const mts_net_layer gradient = mts_net_run_gradient(t.run, i);
        const size_t weights = layer.weight ? weight_count(graph, i) : 0;
        check_array(&t, i, "weight", layer.weight, gradient.weight, weights);
        check_array(&t, i, "scale", layer.scale, gradient.scale, layer.outputs);
        check_array(&t, i, "bias", layer.bias, gradient.bias, layer.outputs);
        check_array(&t, i, "slope", layer.slope, gradient.slope, layer.outputs);
        for (size_t k = 0; k < weights; k++) {
            most = fmax(most, fabs((double)gradient.weight[k]));
        }
    }
    assert_true(most > 1e-3);
    close_trainer(&t);
}

/* ---- cases: a convolution of 2 channels to 6, the operator, its result as output ---- */

static uint32_t begin_case(fixture *f, uint64_t seed)
{
    fixture_begin(f, seed);
    const mts_shape shape = fixture_shape4(1, 2, 6, 7);
    const fixture_conv conv = {.outputs = 6, .kernel = 3, .scale = true, .bias = true};
    return fixture_add_conv(f, fixture_input(f, &shape), &conv);
}

static void end_case(fixture *f, uint32_t value)
{
    fixture_output(f, "y", value);
    check_graph(f->graph);
    fixture_end(f);
}

static void convolutions_with_every_activation(void **state)
{
    static const mts_act acts[] = {
        {MTS_FN_NONE, 0, 0},        {MTS_FN_RELU, 0, 0},
        {MTS_FN_LEAKY, 0.1f, 0},    {MTS_FN_LEAKY, -0.3f, 0},
        {MTS_FN_CLIP, -0.4f, 0.8f}, {MTS_FN_PRELU, 0, 0},
        {MTS_FN_SIGMOID, 0, 0},     {MTS_FN_HARD_SIGMOID, 0.3f, 0.5f},
        {MTS_FN_HARD_SWISH, 0, 0},  {MTS_FN_SILU, 0, 0},
        {MTS_FN_TANH, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        for (int residual = 0; residual < 2; residual++) {
            fixture f;
            const uint32_t x = begin_case(&f, 210 + i);
            const fixture_conv conv = {.outputs = 6,
                                       .kernel = 3,
                                       .scale = true,
                                       .bias = true,
                                       .act = acts[i],
                                       .residual = residual ? x : 0};
            end_case(&f, fixture_add_conv(&f, x, &conv));
        }
    }
}

static void convolutions_with_groups_strides_and_dilations(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        fixture f;
        const uint32_t x = begin_case(&f, 50 + i);
        const uint32_t group = i < 2 ? 1 : i < 4 ? 6 : 3;
        const mts_attrs attrs = {.conv = {.kernel = {3, 2},
                                          .stride = {1 + i % 2, 2},
                                          .dilation = {1 + i % 2, 1},
                                          .pad = {1, 0, 2, 1},
                                          .group = group}};
        const mts_shape weight = fixture_shape4(12, 6 / group, 3, 2);
        const uint32_t inputs[2] = {x, fixture_const(&f, &weight, 0.0f, 0.5f)};
        end_case(&f, fixture_node(&f, MTS_OP_CONV, inputs, 2, &attrs));
    }
}

/* A residual that is also the convolution's input, and a value that several nodes read. */
static void values_that_several_nodes_read(void **state)
{
    (void)state;
    fixture f;
    const uint32_t x = begin_case(&f, 60);
    const fixture_conv own = {
        .outputs = 6, .kernel = 3, .act = {.fn = MTS_FN_RELU}, .bias = true, .residual = x};
    const uint32_t y = fixture_add_conv(&f, x, &own);
    const fixture_conv next = {.outputs = 6, .kernel = 1, .act = {.fn = MTS_FN_RELU}, .residual = x};
    const uint32_t z = fixture_add_conv(&f, y, &next);
    const mts_attrs join = {.concat = {.axis = 1}};
    fixture_output(&f, "early", y);
    end_case(&f, fixture_node(&f, MTS_OP_CONCAT, (const uint32_t[]){x, z, y, x}, 4, &join));
}

static void fully_connected_layers(void **state)
{
    (void)state;
    fixture f;
    const uint32_t x = begin_case(&f, 61);
    const mts_attrs flat = {.reshape = {.shape = fixture_shape4(1, 6 * 6 * 7, 1, 1)}};
    const mts_attrs row = {.reshape = {.shape = mts_shape_make(2, (const int64_t[]){1, 5})}};
    const fixture_conv fc = {.outputs = 5, .kernel = 1, .bias = true};
    uint32_t y = fixture_node(&f, MTS_OP_RESHAPE, &x, 1, &flat);
    y = fixture_add_conv(&f, y, &fc);
    end_case(&f, fixture_node(&f, MTS_OP_RESHAPE, &y, 1, &row));
}

static void transposed_convolutions(void **state)
{
    (void)state;
    for (uint32_t group = 1; group <= 2; group++) {
        fixture f;
        const uint32_t x = begin_case(&f, 62 + group);
        const mts_attrs attrs = {.conv = {.kernel = {3, 2},
                                          .stride = {2, 1},
                                          .dilation = {1, 2},
                                          .pad = {1, 0, 0, 1},
                                          .group = group,
                                          .output_pad = {1, 0},
                                          .act = {.fn = MTS_FN_SILU}}};
        const mts_shape weight = fixture_shape4(6, 4 / (int64_t)group, 3, 2);
        const uint32_t inputs[3] = {x, fixture_const(&f, &weight, 0.0f, 0.5f),
                                    fixture_vector(&f, 4, 0.0f, 0.3f)};
        end_case(&f, fixture_node(&f, MTS_OP_DECONV, inputs, 3, &attrs));
    }
}

static uint32_t add_reshape(fixture *f, uint32_t x, uint32_t rank, const int64_t *dims)
{
    const mts_attrs attrs = {.reshape = {.shape = mts_shape_make(rank, dims)}};
    return fixture_node(f, MTS_OP_RESHAPE, &x, 1, &attrs);
}

static void matrix_products_with_constants(void **state)
{
    (void)state;
    for (int rank = 3; rank <= 4; rank++) {
        for (int side = 0; side < 2; side++) {
            fixture f;
            const uint32_t x = begin_case(&f, 64);
            const uint32_t a =
                add_reshape(&f, x, (uint32_t)rank,
                            rank == 4 ? (const int64_t[]){1, 6, 6, 7} : (const int64_t[]){6, 6, 7});
            const mts_shape shape =
                mts_shape_make(2, side ? (const int64_t[]){4, 6} : (const int64_t[]){7, 4});
            const uint32_t b = fixture_const(&f, &shape, 0.0f, 0.5f);
            const uint32_t inputs[3] = {side ? b : a, side ? a : b,
                                        side ? MTS_NONE : fixture_vector(&f, 4, 0.0f, 0.5f)};
            const mts_attrs attrs = {.matmul = {.alpha = 0.7f, .beta = 1.3f}};
            end_case(&f, fixture_node(&f, MTS_OP_MATMUL, inputs, 3, &attrs));
        }
    }
}

static void matrix_products_of_two_values(void **state)
{
    (void)state;
    fixture f;
    const uint32_t x = begin_case(&f, 65);
    const mts_attrs turn = {.transpose = {.perm = {0, 1, 3, 2}}};
    const mts_attrs attrs = {.matmul = {.alpha = 0.5f}};
    const uint32_t b = fixture_node(&f, MTS_OP_TRANSPOSE, &x, 1, &turn);
    end_case(&f, fixture_node(&f, MTS_OP_MATMUL, (const uint32_t[]){x, b}, 2, &attrs));
}

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
    static const uint32_t fns[] = {MTS_FN_RELU,         MTS_FN_SIGMOID,    MTS_FN_TANH,       MTS_FN_EXP,
                                   MTS_FN_SILU,         MTS_FN_HARD_SWISH, MTS_FN_ABS,        MTS_FN_NEG,
                                   MTS_FN_SQRT,         MTS_FN_LOG,        MTS_FN_RECIPROCAL, MTS_FN_CLIP,
                                   MTS_FN_HARD_SIGMOID, MTS_FN_LEAKY};
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
    for (uint32_t kind = 0; kind < MTS_BIN_COUNT; kind++) {
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
    }
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
    const uint32_t between = add_reshape(&f, y, 4, (const int64_t[]){1, 7, 4, 9}); /* picture to picture */
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

/* Along a random direction in all parameters of a layer at once. */
static void check_directions(const trainer *t)
{
    go_back(t);
    for (uint32_t i = 0; i < t->graph->node_count; i++) {
        const mts_net_layer layer = mts_net_layer_of(t->net, i);
        const mts_net_layer gradient = mts_net_run_gradient(t->run, i);
        const size_t count = layer.weight ? weight_count(t->graph, i) : 0;
        double best = 1e30, want = 0.0, norm = 0.0;
        for (size_t k = 0; k < count; k++) {
            norm += (double)gradient.weight[k] * (double)gradient.weight[k];
        }
        for (int trial = 0; trial < 3 && count > 0 && norm > 0.0; trial++) {
            const double width = (trial == 0 ? 1e-2 : trial == 1 ? 1e-3 : 1e-4) / sqrt(norm);
            double both[2];
            for (int side = 0; side < 2; side++) {
                for (size_t k = 0; k < count; k++) {
                    layer.weight[k] += (float)((side ? 2.0 : -1.0) * width * (double)gradient.weight[k]);
                }
                mts_net_touch(t->net, i);
                both[side] = loss(t);
            }
            for (size_t k = 0; k < count; k++) {
                layer.weight[k] -= (float)(width * (double)gradient.weight[k]);
            }
            mts_net_touch(t->net, i);
            want = (both[1] - both[0]) / (2.0 * width);
            best = fmin(best, fabs(want - norm) / norm);
        }
        if (count > 0 && norm > 1e-2 && !(best <= 0.1)) {
            fail_msg("node %u (%s): along its gradient the loss rises by %g instead of %g", i,
                     mts_op_name(t->graph->nodes[i].op), want, norm);
        }
    }
}

static void random_networks(void **state)
{
    (void)state;
    for (uint32_t seed = 300; seed < 340; seed++) {
        const random_family family = {.seed = seed, .tasks = 1, .steps = 2 + seed % 5};
        mts_arena arena;
        trainer t;
        mts_arena_init(&arena, mts_allocator_default());
        const mts_graph *graph = random_net(&family, 0, &arena);
        assert_non_null(graph);
        open_trainer(&t, graph);
        check_directions(&t);
        close_trainer(&t);
        mts_arena_release(&arena);
    }
}

/* ---- refusals and bookkeeping ---- */

static void functions_without_derivatives_are_refused_by_name(void **state)
{
    (void)state;
    fixture f;
    mts_error error = {0};
    mts_net *net = NULL;
    mts_net_run *run = NULL;
    const uint32_t x = begin_case(&f, 200);
    const mts_attrs attrs = {.unary = {.act = {.fn = MTS_FN_FLOOR}}};
    fixture_output(&f, "y", fixture_node(&f, MTS_OP_UNARY, &x, 1, &attrs));
    fixture_must(mts_net_create(f.graph, mts_allocator_default(), &net, &error), &error);
    assert_int_equal(mts_net_run_create(net, 1, MTS_NET_TRAINING, &run, &error), MTS_STATUS_UNSUPPORTED);
    assert_null(run);
    assert_non_null(strstr(error.text, "'unary' (unary)"));
    error.text[0] = '\0';
    assert_int_equal(mts_net_trainable(net, &error), MTS_STATUS_UNSUPPORTED);
    assert_non_null(strstr(error.text, "'unary' (unary)"));
    fixture_must(mts_net_run_create(net, 1, MTS_NET_INFERENCE, &run, &error), &error);
    assert_int_equal(mts_net_run_backward(run, 1, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_null(mts_net_run_output_gradient(run, 0));
    mts_net_run_destroy(&run);
    mts_net_destroy(&net);
    fixture_end(&f);
}

static void what_lies_before_all_parameters_needs_no_gradient(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f, 201);
    const mts_shape shape = fixture_shape4(1, 6, 5, 5);
    uint32_t x = fixture_input(&f, &shape);
    const mts_attrs attrs = {.unary = {.act = {.fn = MTS_FN_TRUNC}}};
    const mts_attrs spread = {.unary = {.act = {.fn = MTS_FN_EXP}}};
    x = fixture_node(&f, MTS_OP_UNARY, &x, 1, &spread);
    x = fixture_node(&f, MTS_OP_UNARY, &x, 1, &attrs);
    const fixture_conv conv = {.outputs = 4, .kernel = 3, .bias = true};
    end_case(&f, fixture_add_conv(&f, x, &conv));
}

static void gradients_are_overwritten_and_fewer_images_count_alone(void **state)
{
    (void)state;
    fixture f;
    trainer t;
    mts_error error = {0};
    const uint32_t x = begin_case(&f, 202);
    const fixture_conv conv = {.outputs = 4, .kernel = 3, .act = {.fn = MTS_FN_RELU}};
    fixture_output(&f, "y", fixture_add_conv(&f, x, &conv));
    open_trainer(&t, f.graph);
    go_back(&t);
    const float whole = mts_net_run_gradient(t.run, 0).weight[3];
    go_back(&t);
    assert_float_equal(mts_net_run_gradient(t.run, 0).weight[3], whole, 1e-6);
    float sum = 0.0f;
    const size_t in = mts_shape_count(fixture_shape(&f, f.graph->inputs[0].value));
    const size_t out = mts_shape_count(fixture_shape(&f, f.graph->outputs[0].value));
    for (uint32_t image = 0; image < IMAGES; image++) { /* one image at a time gives the parts of the sum */
        memmove(mts_net_run_input(t.run, 0), mts_net_run_input(t.run, 0) + (image ? in : 0),
                (IMAGES - image) * in * sizeof(float));
        memmove(mts_net_run_output_gradient(t.run, 0),
                mts_net_run_output_gradient(t.run, 0) + (image ? out : 0),
                (IMAGES - image) * out * sizeof(float));
        fixture_must(mts_net_run_forward(t.run, 1, 0, f.graph->node_count, &error), &error);
        fixture_must(mts_net_run_backward(t.run, 1, &error), &error);
        sum += mts_net_run_gradient(t.run, 0).weight[3];
    }
    assert_true(fabsf(sum - whole) <= 1e-4f * (1.0f + fabsf(whole)));
    close_trainer(&t);
    fixture_end(&f);
}

int main(void)
{
    omp_set_num_threads(1); /* tiny convolutions on a busy machine: threads would only wait for each other */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_with_every_activation),
        cmocka_unit_test(convolutions_with_groups_strides_and_dilations),
        cmocka_unit_test(values_that_several_nodes_read),
        cmocka_unit_test(fully_connected_layers),
        cmocka_unit_test(transposed_convolutions),
        cmocka_unit_test(matrix_products_with_constants),
        cmocka_unit_test(matrix_products_of_two_values),
        cmocka_unit_test(scales_of_every_rank),
        cmocka_unit_test(element_functions),
        cmocka_unit_test(binary_functions_with_broadcasts),
        cmocka_unit_test(binary_functions_with_a_constant),
        cmocka_unit_test(pools),
        cmocka_unit_test(reductions),
        cmocka_unit_test(softmax_along_every_axis),
        cmocka_unit_test(local_response_normalisation),
        cmocka_unit_test(slices_and_pads),
        cmocka_unit_test(gathers),
        cmocka_unit_test(reshapes_transposes_and_expansions),
        cmocka_unit_test(resizes),
        cmocka_unit_test(random_networks),
        cmocka_unit_test(functions_without_derivatives_are_refused_by_name),
        cmocka_unit_test(what_lies_before_all_parameters_needs_no_gradient),
        cmocka_unit_test(gradients_are_overwritten_and_fewer_images_count_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
