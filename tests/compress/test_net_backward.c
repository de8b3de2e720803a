/*
 * test_net_backward.c: gradients of layers with weights and of whole networks equal differences.
 */
#include "net_trainer.h"

static void convolutions_with_every_activation(void **state)
{
    static const mts_act acts[] = {
        {MTS_FN_NONE, 0, 0},        {MTS_FN_RELU, 0, 0},
        {MTS_FN_LEAKY, 0.1f, 0},    {MTS_FN_LEAKY, -0.3f, 0},
        {MTS_FN_CLIP, -0.4f, 0.8f}, {MTS_FN_PRELU, 0, 0},
        {MTS_FN_SIGMOID, 0, 0},     {MTS_FN_HARD_SIGMOID, 0.3f, 0.5f},
        {MTS_FN_HARD_SWISH, 0, 0},  {MTS_FN_SILU, 0, 0},
        {MTS_FN_TANH, 0, 0},        {MTS_FN_LEAKY_BOUND, 0.3f, -0.1f},
        {MTS_FN_GELU, 0, 0},        {MTS_FN_HARD_SWISH_LINE, -0.7f, 0.4f},
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
        const random_family family = {.seed = seed, .tasks = 1, .steps = 2 + seed % 5, .net = true};
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
        cmocka_unit_test(random_networks),
        cmocka_unit_test(functions_without_derivatives_are_refused_by_name),
        cmocka_unit_test(what_lies_before_all_parameters_needs_no_gradient),
        cmocka_unit_test(gradients_are_overwritten_and_fewer_images_count_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
