/*
 * The ONNX importer on nodes that stand for other nodes: functions that the model brings along, and `If` with a
 * condition that is known when compiling.
 */
#include <stdlib.h>

#include "compiler/import_fixture.h"
#include "import_fault.h"

static void begin(void)
{
    onnx_model_begin(&model, 17);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
}

/* y = LeakyRelu(x) with an attribute of the caller, which is 0.25 by default. */
static void leaky_function(const char *domain, const char *name)
{
    onnx_model_function(&model, domain, name, "a,b", "c", 11);
    onnx_model_function_float(&model, "slope", 0.25f);
    onnx_model_node(&model, "LeakyRelu", "a", "c");
    onnx_model_attr_ref(&model, "alpha", "slope", 1);
    onnx_model_function_end(&model);
}

static float slope_of(const mts_graph *graph, uint32_t index)
{
    const mts_node *node = node_of(graph, MTS_OP_UNARY, index);
    assert_int_equal(node->attrs.unary.act.fn, MTS_FN_LEAKY);
    return node->attrs.unary.act.a;
}

static void a_function_takes_the_attributes_of_its_caller_or_its_own_defaults(void **state)
{
    (void)state;
    begin();
    leaky_function("com.example", "Leaky");
    onnx_model_node(&model, "Leaky", "x", "u");
    onnx_model_domain(&model, "com.example");
    onnx_model_node(&model, "Leaky", "u,", "y");
    onnx_model_domain(&model, "com.example");
    onnx_model_attr_float(&model, "slope", 0.5f);
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_int_equal(graph->node_count, 2);
    assert_true(slope_of(graph, 0) > 0.24f && slope_of(graph, 0) < 0.26f);
    assert_true(slope_of(graph, 1) > 0.49f && slope_of(graph, 1) < 0.51f);
}

static void functions_call_functions_and_hand_attributes_on(void **state)
{
    (void)state;
    begin();
    leaky_function("com.example", "Leaky");
    onnx_model_function(&model, "com.example", "Twice", "x", "z", 0);
    onnx_model_node(&model, "Leaky", "x", "y");
    onnx_model_domain(&model, "com.example");
    onnx_model_attr_ref(&model, "slope", "outer_slope", 1);
    onnx_model_node(&model, "Leaky", "y", "z");
    onnx_model_domain(&model, "com.example");
    onnx_model_function_end(&model);
    onnx_model_node(&model, "Twice", "x", "y");
    onnx_model_domain(&model, "com.example");
    onnx_model_attr_float(&model, "outer_slope", 0.75f);
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_int_equal(graph->node_count, 2);
    assert_true(slope_of(graph, 0) > 0.74f && slope_of(graph, 1) < 0.26f);
}

static void a_function_has_the_opset_that_it_imports(void **state)
{
    (void)state;
    begin();
    onnx_model_function(&model, "f", "Clip6", "x", "y", 6);
    onnx_model_node(&model, "Clip", "x", "y");
    onnx_model_attr_float(&model, "max", 2.0f);
    onnx_model_function_end(&model);
    onnx_model_node(&model, "Clip6", "x", "u");
    onnx_model_domain(&model, "f");
    onnx_model_floats(&model, "low", 0, NULL, ramp);
    onnx_model_node(&model, "Clip", "u,low", "y");
    onnx_model_output(&model, "y");
    assert_int_equal(imported()->node_count, 2);
}

static void a_function_replaces_an_operator_of_the_same_name(void **state)
{
    (void)state;
    begin();
    onnx_model_function(&model, "", "Gelu", "x", "y", 17);
    onnx_model_node(&model, "Relu", "x", "y");
    onnx_model_function_end(&model);
    onnx_model_node(&model, "Gelu", "x", "y");
    onnx_model_output(&model, "y");
    assert_int_equal(node_of(imported(), MTS_OP_UNARY, 0)->attrs.unary.act.fn, MTS_FN_RELU);
}

static void names_of_a_function_are_its_own(void **state)
{
    (void)state;
    begin();
    onnx_model_function(&model, "f", "F", "x", "y", 17);
    onnx_model_node(&model, "Add", "x,outside", "y");
    onnx_model_function_end(&model);
    onnx_model_node(&model, "Relu", "x", "outside");
    onnx_model_node(&model, "F", "outside", "y");
    onnx_model_domain(&model, "f");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "node 'F_y' (F, opset 17): node 'Add_y' (Add, opset 17): 'outside' is not");
}

static void calls_in_a_circle_are_refused(void **state)
{
    (void)state;
    begin();
    onnx_model_function(&model, "f", "F", "x", "y", 17);
    onnx_model_node(&model, "G", "x", "y");
    onnx_model_domain(&model, "f");
    onnx_model_function_end(&model);
    onnx_model_function(&model, "f", "G", "x", "y", 17);
    onnx_model_node(&model, "F", "x", "y");
    onnx_model_domain(&model, "f");
    onnx_model_function_end(&model);
    onnx_model_node(&model, "F", "x", "y");
    onnx_model_domain(&model, "f");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "calls itself");
}

/* Function i calls function i + 1 twice. */
static void calls_that_double(int functions)
{
    begin();
    for (int i = 0; i < functions; i++) {
        char name[16], next[16];
        snprintf(name, sizeof name, "F%d", i);
        snprintf(next, sizeof next, i + 1 < functions ? "F%d" : "Relu", i + 1);
        onnx_model_function(&model, "f", name, "x", "y", 17);
        onnx_model_node(&model, next, "x", "u");
        onnx_model_domain(&model, i + 1 < functions ? "f" : "");
        onnx_model_node(&model, next, "u", "y");
        onnx_model_domain(&model, i + 1 < functions ? "f" : "");
        onnx_model_function_end(&model);
    }
    onnx_model_node(&model, "F0", "x", "y");
    onnx_model_domain(&model, "f");
    onnx_model_output(&model, "y");
}

static void calls_that_double_stop_at_the_limit_of_nodes(void **state)
{
    (void)state;
    options.nodes_most = 1000;
    calls_that_double(6);
    assert_int_equal(imported()->node_count, 64);
    onnx_model_end(&model);
    calls_that_double(25);
    refused(MTS_STATUS_LIMIT, "limit of 1000 nodes");
    onnx_model_end(&model);
    options.nodes_most = 100000;
    calls_that_double(60);
    refused(MTS_STATUS_LIMIT, "more than 32 deep");
}

static void damaged_functions_are_refused(void **state)
{
    (void)state;
    begin();
    leaky_function("f", "F");
    leaky_function("f", "F");
    onnx_model_output(&model, "x");
    refused(MTS_STATUS_MALFORMED, "two functions are named 'F'");
    onnx_model_end(&model);
    begin();
    onnx_model_function(&model, "f", "F", "a,a", "b", 17);
    onnx_model_node(&model, "Relu", "a", "b");
    onnx_model_function_end(&model);
    onnx_model_node(&model, "F", "x,x", "y");
    onnx_model_domain(&model, "f");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "two inputs are named 'a'");
    onnx_model_end(&model);
    begin();
    onnx_model_function(&model, "f", "F", "a", "b", 17);
    onnx_put_bytes(&model.function, 11, "\x2a\x7f", 2); /* a default attribute that is cut off */
    onnx_model_function_end(&model);
    onnx_model_output(&model, "x");
    refused(MTS_STATUS_MALFORMED, "default attribute 0 of function 'F'");
    onnx_model_end(&model);
    begin();
    leaky_function("f", "F");
    onnx_model_node(&model, "F", "x,x,x", "y");
    onnx_model_domain(&model, "f");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "3 inputs, wanted 0 to 2");
    onnx_model_end(&model);
    begin();
    leaky_function("f", "F");
    onnx_model_node(&model, "F", "x", "y,z");
    onnx_model_domain(&model, "f");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "2 outputs, the function has 1");
    onnx_model_end(&model);
    begin();
    onnx_model_function(&model, "f", "F", "a", "b", 17);
    onnx_model_function_end(&model);
    onnx_model_node(&model, "F", "x", "y");
    onnx_model_domain(&model, "f");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "'b' is not defined");
}

/* ---- If ---- */

static onnx_model branch(const char *op, const char *inputs)
{
    onnx_model graph;
    onnx_model_begin(&graph, 17);
    onnx_model_node(&graph, op, inputs, "inner");
    onnx_model_output(&graph, "inner");
    return graph;
}

/* y = If(condition): op_then(u) or op_else(u), where u = Relu(x). */
static void choice(const char *condition, const char *op_then, const char *op_else)
{
    onnx_model yes = branch(op_then, "u"), no = branch(op_else, "u");
    onnx_model_node(&model, "If", condition, "y");
    onnx_model_attr_graph(&model, "then_branch", &yes);
    onnx_model_attr_graph(&model, "else_branch", &no);
    onnx_model_node(&model, "Relu", "x", "u"); /* after its reader: the branches' names order the nodes */
    onnx_model_output(&model, "y");
}

static void a_known_condition_takes_its_branch_and_reads_outer_names(void **state)
{
    (void)state;
    for (unsigned char yes = 0; yes < 2; yes++) {
        begin();
        onnx_model_tensor(&model, "c", 9, 0, NULL, &yes, 1);
        choice("c", yes ? "Tanh" : "NotThere", yes ? "NotThere" : "Sigmoid");
        const mts_graph *graph = imported();
        assert_int_equal(graph->node_count, 2);
        assert_int_equal(node_of(graph, MTS_OP_UNARY, 1)->attrs.unary.act.fn,
                         yes ? MTS_FN_TANH : MTS_FN_SIGMOID);
        onnx_model_end(&model);
    }
}

static void a_condition_folds_from_shapes_and_branches_nest(void **state)
{
    (void)state;
    begin();
    onnx_model_ints(&model, "four", INTS(1, 4));
    onnx_model_node(&model, "Shape", "x", "s");
    onnx_model_node(&model, "Equal", "s,four", "same");
    onnx_model_node(&model, "Cast", "same", "numbers");
    onnx_model_attr_int(&model, "to", 7);
    onnx_model_node(&model, "ReduceMin", "numbers", "least");
    onnx_model_attr_int(&model, "keepdims", 0);
    onnx_model_node(&model, "Cast", "least", "c");
    onnx_model_attr_int(&model, "to", 9);
    onnx_model middle, yes = branch("Tanh", "u"), no = branch("NotThere", "u"),
                       other = branch("NotThere", "u");
    onnx_model_begin(&middle, 17);
    onnx_model_node(&middle, "If", "c", "inner");
    onnx_model_attr_graph(&middle, "then_branch", &yes);
    onnx_model_attr_graph(&middle, "else_branch", &no);
    onnx_model_output(&middle, "inner");
    onnx_model_node(&model, "If", "c", "y");
    onnx_model_attr_graph(&model, "then_branch", &middle);
    onnx_model_attr_graph(&model, "else_branch", &other);
    onnx_model_node(&model, "Relu", "x", "u");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_int_equal(graph->node_count, 2);
    assert_int_equal(node_of(graph, MTS_OP_UNARY, 1)->attrs.unary.act.fn, MTS_FN_TANH);
}

static void two_choices_may_use_the_same_inner_names(void **state)
{
    (void)state;
    static const unsigned char yes = 1;
    begin();
    onnx_model_tensor(&model, "c", 9, 0, NULL, &yes, 1);
    for (int i = 0; i < 2; i++) {
        onnx_model a = branch("Tanh", i ? "u" : "x"), b = branch("Relu", "x");
        onnx_model_node(&model, "If", "c", i ? "y" : "u");
        onnx_model_attr_graph(&model, "then_branch", &a);
        onnx_model_attr_graph(&model, "else_branch", &b);
    }
    onnx_model_output(&model, "y");
    assert_int_equal(imported()->node_count, 2);
}

static void a_function_with_a_choice_sees_its_own_names_and_attributes(void **state)
{
    (void)state;
    static const unsigned char yes = 1;
    begin();
    onnx_model_tensor(&model, "c", 9, 0, NULL, &yes, 1);
    onnx_model_function(&model, "f", "F", "a,choice", "b", 17);
    onnx_model inner, other = branch("Relu", "a");
    onnx_model_begin(&inner, 17);
    onnx_model_node(&inner, "LeakyRelu", "a", "b");
    onnx_model_attr_ref(&inner, "alpha", "slope", 1);
    onnx_model_output(&inner, "b");
    onnx_model_node(&model, "If", "choice", "b");
    onnx_model_attr_graph(&model, "then_branch", &inner);
    onnx_model_attr_graph(&model, "else_branch", &other);
    onnx_model_function_end(&model);
    onnx_model_node(&model, "F", "x,c", "y");
    onnx_model_domain(&model, "f");
    onnx_model_attr_float(&model, "slope", 0.5f);
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_true(slope_of(graph, 0) > 0.49f);
}

static void of_a_choice_at_run_time_both_branches_are_computed(void **state)
{
    (void)state;
    onnx_model_begin(&model, 17);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    onnx_model_input(&model, "c", 9, INTS(1));
    choice("c", "Tanh", "Sigmoid");
    const mts_graph *graph = imported();
    bool tanh_there = false;
    bool sigmoid_there = false;
    bool select_there = false;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const mts_node *node = &graph->nodes[i];
        const uint32_t fn = node->op == MTS_OP_UNARY ? (uint32_t)node->attrs.unary.act.fn : MTS_FN_NONE;
        tanh_there = tanh_there || fn == MTS_FN_TANH;
        sigmoid_there = sigmoid_there || fn == MTS_FN_SIGMOID;
        select_there = select_there || node->op == MTS_OP_SELECT;
    }
    assert_true(tanh_there && sigmoid_there && select_there);
    assert_int_equal(graph->outputs[0].shape.rank, 2);
}

static void a_choice_at_run_time_needs_branches_of_one_shape(void **state)
{
    (void)state;
    static const struct {
        int64_t conditions;
        const char *otherwise;
        mts_status status;
        const char *part;
    } cases[] = {{1, "Transpose", MTS_STATUS_UNSUPPORTED, "output 0 has another shape"},
                 {2, "Sigmoid", MTS_STATUS_MALFORMED, "the condition is not one value"},
                 {1, "NotThere", MTS_STATUS_UNSUPPORTED, "NotThere"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        onnx_model_begin(&model, 17);
        onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
        onnx_model_input(&model, "c", 9, INTS(cases[i].conditions));
        choice("c", "Tanh", cases[i].otherwise);
        refused(cases[i].status, cases[i].part);
        if (i + 1 < sizeof cases / sizeof *cases) {
            onnx_model_end(&model); /* the last one is the tear-down's */
        }
    }
}

static void loops_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const loops[] = {"Loop", "Scan"};
    for (size_t i = 0; i < 2; i++) {
        if (i > 0) {
            onnx_model_end(&model);
        }
        begin();
        onnx_model_node(&model, loops[i], "x", "y");
        onnx_model_output(&model, "y");
        refused(MTS_STATUS_UNSUPPORTED, loops[i]);
    }
}

static void damaged_choices_are_refused(void **state)
{
    (void)state;
    static const unsigned char yes = 1;
    begin();
    onnx_model_tensor(&model, "c", 9, 0, NULL, &yes, 1);
    onnx_model_node(&model, "If", "c", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "attribute 'then_branch' holds no graph");
    onnx_model_end(&model);
    begin();
    onnx_model_tensor(&model, "c", 9, 0, NULL, &yes, 1);
    choice("c", "Tanh", "Tanh");
    onnx_model_node(&model, "Relu", "y", "x2");
    onnx_model_node(&model, "If", "c,c", "z");
    onnx_model_output(&model, "z");
    refused(MTS_STATUS_MALFORMED, "2 inputs, wanted 1 to 1");
    onnx_model_end(&model);
    /* a branch that reads the result of its own node */
    begin();
    onnx_model_tensor(&model, "c", 9, 0, NULL, &yes, 1);
    onnx_model a = branch("Relu", "y"), b = branch("Relu", "x");
    onnx_model_node(&model, "If", "c", "y");
    onnx_model_attr_graph(&model, "then_branch", &a);
    onnx_model_attr_graph(&model, "else_branch", &b);
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "'y' is not defined before it is used");
    onnx_model_end(&model);
    /* an output that the branch does not define */
    begin();
    onnx_model_tensor(&model, "c", 9, 0, NULL, &yes, 1);
    onnx_model_begin(&a, 17);
    onnx_model_output(&a, "nothing");
    onnx_model_node(&model, "If", "c", "y");
    onnx_model_attr_graph(&model, "then_branch", &a);
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "'nothing' is not defined");
}

/* ---- damage ---- */

static const onnx_bytes *sample(void)
{
    static const unsigned char yes = 1;
    begin();
    onnx_model_tensor(&model, "c", 9, 0, NULL, &yes, 1);
    leaky_function("f", "F");
    onnx_model_node(&model, "F", "x", "v");
    onnx_model_domain(&model, "f");
    choice("c", "Tanh", "Sigmoid");
    onnx_model_node(&model, "Add", "y,v", "z");
    onnx_model_output(&model, "z");
    return onnx_model_file(&model);
}

static void a_flipped_bit_never_does_more_than_fail(void **state)
{
    (void)state;
    const onnx_bytes *file = sample();
    unsigned char *copy =
        malloc(file->size); /* of the exact size, so that a sanitizer sees a read past the end */
    options.bytes_most = 1 << 20;
    for (size_t i = 0; i < file->size * 8; i++) {
        mts_graph *graph = NULL;
        memcpy(copy, file->data, file->size);
        copy[i / 8] ^= (unsigned char)(1u << i % 8);
        const mts_status got =
            mts_import_memory(copy, file->size, "bad.onnx", &options, &arena, &graph, &error);
        assert_true((got == MTS_STATUS_OK) == (graph != NULL));
        mts_arena_release(&arena);
        mts_arena_init(&arena, mts_allocator_default());
    }
    free(copy);
}

static void each_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    onnx_bytes file = *sample();
    fault_each_import(file.data, file.size);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_function_takes_the_attributes_of_its_caller_or_its_own_defaults),
        TEST(functions_call_functions_and_hand_attributes_on),
        TEST(a_function_has_the_opset_that_it_imports),
        TEST(a_function_replaces_an_operator_of_the_same_name),
        TEST(names_of_a_function_are_its_own),
        TEST(calls_in_a_circle_are_refused),
        TEST(calls_that_double_stop_at_the_limit_of_nodes),
        TEST(damaged_functions_are_refused),
        TEST(a_known_condition_takes_its_branch_and_reads_outer_names),
        TEST(a_condition_folds_from_shapes_and_branches_nest),
        TEST(two_choices_may_use_the_same_inner_names),
        TEST(a_function_with_a_choice_sees_its_own_names_and_attributes),
        TEST(of_a_choice_at_run_time_both_branches_are_computed),
        TEST(a_choice_at_run_time_needs_branches_of_one_shape),
        TEST(loops_are_refused_by_name),
        TEST(damaged_choices_are_refused),
        TEST(a_flipped_bit_never_does_more_than_fail),
        TEST(each_failing_allocation_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
