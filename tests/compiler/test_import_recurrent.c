/*
 * test_import_recurrent.c: what LSTM, GRU and RNN need, and how they are refused. What they compute is checked by
 * tests/conformance.
 */
#include "import_fixture.h"

/* A network of `steps` steps, a batch of 1, 2 inputs and 3 states. */
static void begin(const char *op, int64_t gates, int64_t steps, const char *inputs, const char *outputs)
{
    onnx_model_end(&model);
    onnx_model_begin(&model, 14);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(steps, 1, 2));
    onnx_model_floats(&model, "w", INTS(1, gates * 3, 2), ramp);
    onnx_model_floats(&model, "r", INTS(1, gates * 3, 3), ramp);
    onnx_model_node(&model, op, inputs, outputs);
    onnx_model_attr_int(&model, "hidden_size", 3);
}

static void wrong(mts_status status, const char *part)
{
    onnx_model_output(&model, "y");
    refused(status, part);
}

static uint32_t count_of(const mts_graph *graph, mts_op op)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        count += graph->nodes[i].op == op;
    }
    return count;
}

static void all_steps_are_one_product_and_one_recurrence(void **state)
{
    (void)state;
    begin("LSTM", 4, 5, "x,w,r", "y,h,c");
    onnx_model_output(&model, "y");
    onnx_model_output(&model, "h");
    onnx_model_output(&model, "c");
    const mts_graph *graph = imported();
    assert_int_equal(count_of(graph, MTS_OP_CONV), 1);
    assert_int_equal(count_of(graph, MTS_OP_RECUR), 1);
    assert_int_equal(node_of(graph, MTS_OP_RECUR, 0)->attrs.recur.kind, MTS_RECUR_LSTM);
    assert_shape(&graph->outputs[0].shape, INTS(5, 1, 1, 3));
    assert_shape(&graph->outputs[1].shape, INTS(1, 1, 3));
    assert_shape(&graph->outputs[2].shape, INTS(1, 1, 3));
    begin("GRU", 3, 2000, "x,w,r", "y,h"); /* any number of steps */
    onnx_model_attr_int(&model, "linear_before_reset", 1);
    onnx_model_attr_text(&model, "direction", "reverse");
    onnx_model_output(&model, "h");
    const mts_node *recur = node_of(imported(), MTS_OP_RECUR, 0);
    assert_int_equal(recur->attrs.recur.kind, MTS_RECUR_GRU_AFTER);
    assert_int_equal(recur->attrs.recur.reverse, 1);
}

static void each_step_that_is_written_out_reads_the_same_weights(void **state)
{
    (void)state;
    begin("RNN", 1, 5, "x,w,r", "y,h");
    onnx_model_attr_texts(&model, "activations", 1, (const char *const[]){"Relu"});
    onnx_model_output(&model, "y");
    onnx_model_output(&model, "h");
    const mts_graph *graph = imported();
    assert_shape(&graph->outputs[0].shape, INTS(5, 1, 1, 3));
    assert_shape(&graph->outputs[1].shape, INTS(1, 1, 3));
    /* one for the inputs of all steps, and one for the state of all but the first, which is zero */
    assert_int_equal(count_of(graph, MTS_OP_CONV), 5);
    const uint32_t weight = node_of(graph, MTS_OP_CONV, 1)->inputs[1];
    for (uint32_t i = 2; i < 5; i++) {
        assert_int_equal(node_of(graph, MTS_OP_CONV, i)->inputs[1], weight);
    }
}

static void what_is_not_supported_is_refused_with_the_reason(void **state)
{
    (void)state;
    begin("GRU", 3, 5, "x,w,r,,n", "y");
    onnx_model_ints(&model, "n", INTS(4));
    wrong(MTS_STATUS_UNSUPPORTED, "sequence lengths must be constants that equal the 5 steps");
    begin("GRU", 3, 5, "x,w,r", "y");
    onnx_model_attr_float(&model, "clip", 1);
    wrong(MTS_STATUS_UNSUPPORTED, "clip and input_forget are not supported");
    begin("GRU", 3, 5, "x,w,r", "y");
    onnx_model_attr_text(&model, "direction", "sideways");
    wrong(MTS_STATUS_UNSUPPORTED, "direction 'sideways' is not supported");
    begin("RNN", 1, 5, "x,w,r", "y");
    onnx_model_attr_texts(&model, "activations", 1, (const char *const[]){"Affine"});
    wrong(MTS_STATUS_UNSUPPORTED, "these activations are not supported");
    begin("LSTM", 4, 5, "x,w,r", "y");
    onnx_model_attr_texts(&model, "activations", 3, (const char *const[]){"Sigmoid", "Relu", "Tanh"});
    wrong(MTS_STATUS_UNSUPPORTED, "these activations are not supported");
    begin("RNN", 1, 5, "x,w,r", "y");
    onnx_model_attr_texts(&model, "activations", 1, (const char *const[]){"a name that is far too long"});
    wrong(MTS_STATUS_UNSUPPORTED, "attribute 'activations' has a text that is not known");
    begin("RNN", 1, 2000, "x,w,r", "y");
    onnx_model_attr_texts(&model, "activations", 1, (const char *const[]){"Relu"});
    wrong(MTS_STATUS_LIMIT, "2000 steps, at most 1024 are possible");
}

static void shapes_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    begin("LSTM", 3, 5, "x,w,r", "y");
    wrong(MTS_STATUS_MALFORMED, "X or R has no fitting shape");
    begin("LSTM", 4, 5, "x,w,r,b", "y");
    onnx_model_floats(&model, "b", INTS(1, 12), ramp);
    wrong(MTS_STATUS_MALFORMED, "input 3 has shape 1x12, which does not fit the others");
    begin("LSTM", 4, 5, "x,w,r,,,h", "y");
    onnx_model_floats(&model, "h", INTS(2, 1, 3), ramp);
    wrong(MTS_STATUS_MALFORMED, "input 5 has shape 2x1x3");
    begin("LSTM", 4, 5, "x,w,r", "y");
    onnx_model_attr_text(&model, "direction", "bidirectional");
    wrong(MTS_STATUS_MALFORMED, "input 1 has shape 1x12x2");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(all_steps_are_one_product_and_one_recurrence),
        TEST(each_step_that_is_written_out_reads_the_same_weights),
        TEST(what_is_not_supported_is_refused_with_the_reason),
        TEST(shapes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
