/*
 * test_net_store.c: parameters of nets are changed, copied and stored in graphs; batches and parts of graphs run.
 */
#include "net_sample.h"

static void layers_have_the_sizes_of_the_graph(void **state)
{
    sample s;
    (void)state;
    open_sample(&s);
    const mts_net_layer first = mts_net_layer_of(s.net, 0), second = mts_net_layer_of(s.net, 1);
    assert_int_equal(first.outputs, 8);
    assert_int_equal(first.inputs, 3);
    assert_int_equal(first.rows * 10 + first.columns, 33);
    assert_null(first.slope);
    assert_non_null(second.slope);
    assert_true(first.bias[3] == 0.0f && second.scale[3] == 1.0f);
    const float *graph_weight = s.f.graph->values[s.f.graph->nodes[0].inputs[1]].blocks[0].data;
    for (size_t o = 0; o < 8; o++) { /* [o][c][k] in the graph, [o][k][c] here */
        assert_true(first.weight[(o * 9 + 4) * 3 + 2] == graph_weight[(o * 3 + 2) * 9 + 4]);
    }
    assert_null(mts_net_layer_of(s.net, 2).weight);
    assert_int_equal(mts_net_layer_of(s.net, 2).outputs, 0);
    assert_ptr_equal(mts_net_graph(s.net), s.f.graph);
    assert_null(mts_net_run_value(s.run, s.f.graph->nodes[0].inputs[1]));
    close_sample(&s);
}

static void a_batch_answers_as_its_images_alone(void **state)
{
    sample s;
    float want[35];
    (void)state;
    open_sample(&s);
    forward(s.run, 7, s.f.graph);
    memcpy(want, mts_net_run_value(s.run, s.output), sizeof want);
    mts_net_run *one = NULL;
    mts_error error = {0};
    fixture_must(mts_net_run_create(s.net, 1, MTS_NET_INFERENCE, &one, &error), &error);
    for (size_t i = 0; i < 7; i++) {
        memcpy(mts_net_run_input(one, 0), mts_net_run_input(s.run, 0) + i * 216, 216 * sizeof(float));
        forward(one, 1, s.f.graph);
        assert_true(difference(mts_net_run_value(one, s.output), want + i * 5, 5) <= 1e-5);
    }
    memset(mts_net_run_value(s.run, s.output), 0, sizeof want);
    forward(s.run, 4, s.f.graph); /* fewer images: the others' values stay */
    assert_true(difference(mts_net_run_value(s.run, s.output), want, 20) <= 1e-5);
    assert_true(mts_net_run_value(s.run, s.output)[20] == 0.0f);
    mts_net_run_destroy(&one);
    close_sample(&s);
}

static void a_part_of_the_nodes_goes_on_from_changed_values(void **state)
{
    sample s;
    float want[35];
    mts_error error = {0};
    (void)state;
    open_sample(&s);
    const uint32_t middle = s.f.graph->nodes[1].output;
    const size_t count = 7 * mts_shape_count(fixture_shape(&s.f, middle));
    forward(s.run, 7, s.f.graph);
    memcpy(want, mts_net_run_value(s.run, s.output), sizeof want);
    float *value = mts_net_run_value(s.run, middle);
    for (size_t i = 0; i < count; i++) {
        value[i] *= 2.0f;
    }
    fixture_must(mts_net_run_forward(s.run, 7, 2, 4, &error), &error);
    const float *bias = mts_net_layer_of(s.net, 3).bias, *got = mts_net_run_value(s.run, s.output);
    for (size_t i = 0; i < 35; i++) { /* what follows is linear but for the bias */
        assert_true(fabsf(got[i] - (2.0f * want[i] - bias[i % 5])) < 1e-4f);
    }
    assert_int_equal(mts_net_run_forward(s.run, 8, 0, 4, &error), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_net_run_forward(s.run, 7, 0, 5, &error), MTS_STATUS_INVALID_ARGUMENT);
    close_sample(&s);
}

static void linear_parts_of_convolutions(void **state)
{
    sample s;
    mts_error error = {0};
    (void)state;
    open_sample(&s);
    forward(s.run, 7, s.f.graph);
    const size_t count = 7 * 8 * 9 * 8;
    float *raw = calloc(count, sizeof *raw), *linear = calloc(count, sizeof *linear);
    assert_true(raw && linear);
    for (uint32_t node = 0; node < 2; node++) {
        const mts_net_layer layer = mts_net_layer_of(s.net, node);
        fixture_must(mts_net_run_linear(s.run, 7, node, true, raw, &error), &error);
        fixture_must(mts_net_run_linear(s.run, 7, node, false, linear, &error), &error);
        const float *x = mts_net_run_value(s.run, s.f.graph->nodes[0].output);
        const float *y = mts_net_run_value(s.run, s.f.graph->nodes[node].output);
        for (size_t i = 0; i < count; i++) {
            const size_t c = i % 8;
            assert_true(fabsf(linear[i] - (layer.scale[c] * raw[i] + layer.bias[c])) < 1e-4f);
            const float sum = linear[i] + (node == 1 ? x[i] : 0.0f);
            const float slope = layer.slope ? layer.slope[c] : 0.0f;
            assert_true(fabsf(y[i] - (sum > 0.0f ? sum : slope * sum)) < 1e-4f);
        }
    }
    assert_int_equal(mts_net_run_linear(s.run, 7, 2, true, raw, &error), MTS_STATUS_INVALID_ARGUMENT);
    free(raw);
    free(linear);
    close_sample(&s);
}

static void changes_count_once_they_are_touched(void **state)
{
    sample s;
    float before[35], twice[35];
    (void)state;
    open_sample(&s);
    forward(s.run, 7, s.f.graph);
    memcpy(before, mts_net_run_value(s.run, s.output), sizeof before);
    const mts_net_layer last = mts_net_layer_of(s.net, 3);
    for (size_t i = 0; i < 5 * 8; i++) {
        last.weight[i] *= 2.0f;
    }
    for (size_t i = 0; i < 5; i++) {
        last.bias[i] *= 2.0f;
    }
    mts_net_touch(s.net, 3);
    forward(s.run, 7, s.f.graph);
    for (size_t i = 0; i < 35; i++) {
        twice[i] = 2.0f * before[i];
    }
    assert_true(difference(mts_net_run_value(s.run, s.output), twice, 35) <= 1e-5);
    mts_net_layer_of(s.net, 3).scale[0] = 0.0f; /* a scale alone counts too */
    mts_net_layer_of(s.net, 3).bias[0] = 0.25f;
    mts_net_touch(s.net, 3);
    forward(s.run, 7, s.f.graph);
    assert_true(mts_net_run_value(s.run, s.output)[5] == 0.25f);
    close_sample(&s);
}

static void copies_take_over_all_parameters(void **state)
{
    sample s;
    float want[35], got[35];
    mts_net *other = NULL;
    mts_error error = {0};
    (void)state;
    open_sample(&s);
    fixture_must(mts_net_create(s.f.graph, mts_allocator_default(), &other, &error), &error);
    for (uint32_t node = 0; node < 4; node++) {
        const mts_net_layer layer = mts_net_layer_of(other, node);
        for (uint32_t i = 0; i < layer.outputs; i++) {
            layer.scale[i] *= 0.5f;
            layer.bias[i] += 0.1f;
            layer.weight[i] -= 0.2f;
        }
    }
    answers_of(&s, other, want);
    forward(s.run, 7, s.f.graph);
    assert_true(difference(mts_net_run_value(s.run, s.output), want, 35) > 1e-3);
    mts_net_copy(s.net, other);
    forward(s.run, 7, s.f.graph);
    memcpy(got, mts_net_run_value(s.run, s.output), sizeof got);
    assert_true(difference(got, want, 35) <= 1e-6);
    mts_net_destroy(&other);
    close_sample(&s);
}

/* ---- store ---- */

static void stored_parameters_make_an_equal_net(void **state)
{
    sample s;
    float want[35], got[35];
    mts_net *other = NULL;
    mts_error error = {0};
    (void)state;
    open_sample(&s);
    const float old = ((const float *)s.f.graph->values[s.f.graph->nodes[0].inputs[1]].blocks[0].data)[0];
    const mts_net_layer second = mts_net_layer_of(s.net, 1);
    mts_net_layer_of(s.net, 0).weight[0] += 1.0f;
    second.scale[2] = 1.5f; /* the graph has no scale there */
    second.slope[1] = -0.25f;
    answers_of(&s, s.net, want);
    mts_graph *clone = mts_graph_clone(s.f.graph, &s.f.arena);
    assert_true(clone && mts_net_store(s.net, NULL, clone));
    fixture_must(mts_graph_verify(clone, &error), &error);
    assert_true(clone->nodes[1].inputs[2] != MTS_NONE); /* scale, not 1 */
    assert_true(clone->nodes[0].inputs[3] == MTS_NONE); /* bias, still 0 */
    fixture_must(mts_net_create(clone, mts_allocator_default(), &other, &error), &error);
    answers_of(&s, other, got);
    assert_memory_equal(got, want, sizeof got);
    const float kept = ((const float *)s.f.graph->values[s.f.graph->nodes[0].inputs[1]].blocks[0].data)[0];
    assert_true(kept == old); /* the net's own graph stays as it was */
    mts_net_destroy(&other);
    close_sample(&s);
}

static void only_the_named_nodes_are_stored(void **state)
{
    sample s;
    (void)state;
    open_sample(&s);
    mts_graph *clone = mts_graph_clone(s.f.graph, &s.f.arena);
    const bool nodes[4] = {false, true, false, false};
    mts_net_layer_of(s.net, 0).weight[0] += 1.0f;
    mts_net_layer_of(s.net, 1).weight[0] += 1.0f;
    assert_true(clone && mts_net_store(s.net, nodes, clone));
    for (uint32_t node = 0; node < 4; node++) {
        if (s.f.graph->nodes[node].op == MTS_OP_CONV) {
            const void *mine = s.f.graph->values[s.f.graph->nodes[node].inputs[1]].blocks[0].data;
            const void *stored = clone->values[clone->nodes[node].inputs[1]].blocks[0].data;
            assert_true((mine == stored) == (node != 1));
        }
    }
    close_sample(&s);
}

/* Two convolutions read one weight; after different changes each has its own. */
static void a_weight_of_two_nodes_is_parted(void **state)
{
    fixture f;
    mts_error error = {0};
    mts_net *net = NULL, *other = NULL;
    (void)state;
    fixture_begin(&f, 21);
    const mts_shape shape = fixture_shape4(1, 4, 5, 5), weight = fixture_shape4(4, 4, 1, 1);
    const uint32_t w = fixture_const(&f, &weight, 0.0f, 1.0f);
    const mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    uint32_t x = fixture_input(&f, &shape);
    for (int i = 0; i < 2; i++) {
        x = fixture_node(&f, MTS_OP_CONV, (const uint32_t[]){x, w}, 2, &attrs);
    }
    fixture_output(&f, "y", x);
    fixture_must(mts_net_create(f.graph, mts_allocator_default(), &net, &error), &error);
    mts_net_layer_of(net, 0).weight[5] = 3.0f;
    mts_net_layer_of(net, 1).weight[5] = 4.0f;
    mts_graph *clone = mts_graph_clone(f.graph, &f.arena);
    assert_true(clone && mts_net_store(net, NULL, clone));
    fixture_must(mts_graph_verify(clone, &error), &error);
    fixture_must(mts_net_create(clone, mts_allocator_default(), &other, &error), &error);
    assert_true(mts_net_layer_of(other, 0).weight[5] == 3.0f);
    assert_true(mts_net_layer_of(other, 1).weight[5] == 4.0f);
    mts_net_destroy(&net);
    mts_net_destroy(&other);
    fixture_end(&f);
}

static void what_was_float16_is_stored_as_float16_while_it_can_be(void **state)
{
    static const uint16_t ones[2 * 2] = {0x3c00, 0x3c00, 0x3c00, 0x3c00};
    (void)state;
    for (int large = 0; large < 2; large++) {
        fixture f;
        mts_error error = {0};
        mts_net *net = NULL, *other = NULL;
        fixture_begin(&f, 22);
        const mts_shape shape = fixture_shape4(1, 2, 3, 3), weight = fixture_shape4(2, 2, 1, 1);
        const uint32_t w = mts_graph_add_const(f.graph, NULL, MTS_TYPE_FLOAT16, &weight, ones);
        const mts_attrs attrs = {
            .conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
        const uint32_t x = fixture_input(&f, &shape);
        fixture_output(&f, "y", fixture_node(&f, MTS_OP_CONV, (const uint32_t[]){x, w}, 2, &attrs));
        fixture_must(mts_net_create(f.graph, mts_allocator_default(), &net, &error), &error);
        mts_net_layer_of(net, 0).weight[1] = large ? 65536.0f : 0.1f;
        mts_graph *clone = mts_graph_clone(f.graph, &f.arena);
        assert_true(clone && mts_net_store(net, NULL, clone));
        fixture_must(mts_graph_verify(clone, &error), &error);
        assert_int_equal(clone->values[w].dtype, large ? MTS_TYPE_FLOAT32 : MTS_TYPE_FLOAT16);
        fixture_must(mts_net_create(clone, mts_allocator_default(), &other, &error), &error);
        assert_true(mts_net_layer_of(other, 0).weight[0] == 1.0f);
        const float expected = large ? 65536.0f : 0.1f;
        assert_float_equal(mts_net_layer_of(other, 0).weight[1], expected, 1e-4f);
        mts_net_destroy(&net);
        mts_net_destroy(&other);
        fixture_end(&f);
    }
}

/* Filters out of order (scatter) come back in the order of their channels. */
static void scattered_filters_run_and_are_stored_in_order(void **state)
{
    static const uint32_t scatter[4] = {2, 0, 3, 1};
    fixture f;
    mts_error error = {0};
    mts_net *net = NULL;
    (void)state;
    fixture_begin(&f, 22);
    const mts_shape shape = fixture_shape4(1, 3, 5, 5), weight = fixture_shape4(4, 3, 1, 1);
    const mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    const uint32_t inputs[2] = {fixture_input(&f, &shape), fixture_const(&f, &weight, 0.0f, 1.0f)};
    fixture_output(&f, "y", fixture_node(&f, MTS_OP_CONV, inputs, 2, &attrs));
    f.graph->nodes[0].scatter = scatter;
    fixture_must(mts_graph_verify(f.graph, &error), &error);
    fixture_must(mts_net_create(f.graph, mts_allocator_default(), &net, &error), &error);
    mts_graph *clone = mts_graph_clone(f.graph, &f.arena);
    assert_true(clone && mts_net_store(net, NULL, clone));
    assert_null(clone->nodes[0].scatter);
    const float *rows = f.graph->values[inputs[1]].blocks[0].data;
    const float *stored = clone->values[inputs[1]].blocks[0].data;
    for (size_t r = 0; r < 4; r++) {
        assert_memory_equal(stored + (size_t)scatter[r] * 3, rows + r * 3, 3 * sizeof *rows);
        assert_memory_equal(mts_net_layer_of(net, 0).weight + (size_t)scatter[r] * 3, rows + r * 3,
                            3 * sizeof *rows);
    }
    mts_net_destroy(&net);
    float data[3 * 5 * 5], *images[TASKS][IMAGES];
    fixture_fill(data, 3 * 5 * 5, 23);
    for (int i = 0; i < TASKS * IMAGES; i++) {
        images[i / IMAGES][i % IMAGES] = data;
    }
    test_net bundle;
    const mts_graph *graph = f.graph;
    fixture_must(net_make_as_is(&graph, 1, &bundle, &error), &error);
    assert_non_null(bundle.archive->tasks[0].graph->nodes[0].scatter);
    compare_archive(&bundle, images, "scattered filters");
    net_release(&bundle);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_have_the_sizes_of_the_graph),
        cmocka_unit_test(a_batch_answers_as_its_images_alone),
        cmocka_unit_test(a_part_of_the_nodes_goes_on_from_changed_values),
        cmocka_unit_test(linear_parts_of_convolutions),
        cmocka_unit_test(changes_count_once_they_are_touched),
        cmocka_unit_test(copies_take_over_all_parameters),
        cmocka_unit_test(stored_parameters_make_an_equal_net),
        cmocka_unit_test(only_the_named_nodes_are_stored),
        cmocka_unit_test(a_weight_of_two_nodes_is_parted),
        cmocka_unit_test(what_was_float16_is_stored_as_float16_while_it_can_be),
        cmocka_unit_test(scattered_filters_run_and_are_stored_in_order),
    };
    mts_error error = {0};
    omp_set_num_threads(1); /* tiny convolutions on a busy machine: threads would only wait for each other */
    if (net_device_open("reference", NULL, &reference, &error) != MTS_STATUS_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mts_device_destroy(&reference);
    return failed;
}
