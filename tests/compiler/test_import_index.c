/*
 * test_import_index.c: imported operators that pick and place elements by position, of constants and of
 * run-time values. What they compute at run time is checked by tests/conformance.
 */
#include "import_fixture.h"

#define ONNX_INT32 6

/* A constant [3,4] of 0..11 named "m". */
static void matrix(void)
{
    onnx_model_floats(&model, "m", 2, DIMS(3, 4), ramp);
}

static void int_matrix(const char *name, int rows, int columns, const int64_t *numbers)
{
    onnx_model_tensor(&model, name, ONNX_INT64, 2, DIMS(rows, columns), numbers,
                      (size_t)(rows * columns) * sizeof *numbers);
}

static void run_time_indices_of_a_table_become_one_take(void **state)
{
    (void)state;
    onnx_model_begin(&model, 18);
    onnx_model_floats(&model, "table", 2, DIMS(50, 8), ramp);
    onnx_model_input(&model, "words", ONNX_INT64, INTS(1, 5));
    onnx_model_node(&model, "Gather", "table,words", "y");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    const mts_node *take = node_of(graph, MTS_OP_TAKE, 0);
    assert_int_equal(graph->values[take->inputs[0]].kind, MTS_VALUE_CONST);
    assert_int_equal(graph->inputs[0].dtype, MTS_TYPE_INT64);
    assert_shape(&graph->outputs[0].shape, INTS(1, 5, 8));
}

static void constant_indices_are_checked_and_may_count_from_the_end(void **state)
{
    (void)state;
    const int64_t good[] = {-1, 0, 2, -3}, bad[] = {0, 1, 2, 3}, low[] = {0, 0, 0, -4};
    onnx_model_begin(&model, 18);
    matrix();
    int_matrix("i", 1, 4, good);
    onnx_model_node(&model, "GatherElements", "m,i", "y");
    onnx_model_output(&model, "y");
    NUMBERS(imported(), 8, 1, 10, 3);
    for (int i = 0; i < 2; i++) {
        onnx_model_end(&model);
        onnx_model_begin(&model, 18);
        matrix();
        int_matrix("i", 1, 4, i == 0 ? bad : low);
        onnx_model_node(&model, "GatherElements", "m,i", "y");
        onnx_model_output(&model, "y");
        refused(MTS_STATUS_MALFORMED, i == 0 ? "index 3" : "index -4");
    }
}

static void tuples_of_indices_name_elements_or_rows(void **state)
{
    (void)state;
    const int64_t pairs[] = {0, 1, -1, -1}, far[] = {0, 4};
    onnx_model_begin(&model, 18);
    matrix();
    int_matrix("i", 2, 2, pairs);
    onnx_model_node(&model, "GatherND", "m,i", "y");
    onnx_model_output(&model, "y");
    NUMBERS(imported(), 1, 11);
    onnx_model_end(&model);
    onnx_model_begin(&model, 18);
    matrix();
    int_matrix("i", 1, 2, far);
    onnx_model_node(&model, "GatherND", "m,i", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "index 4");
    onnx_model_end(&model);
    onnx_model_begin(&model, 18);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2, 3));
    onnx_model_input(&model, "i", ONNX_INT64, INTS(4, 3));
    onnx_model_node(&model, "GatherND", "x,i", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "do not fit");
}

/* Imports y = Gather(x [3, 4], index) along `axis`. */
static const mts_graph *gathered(int axis, int rank, const int64_t *shape, const int64_t *index)
{
    size_t count = 1;
    for (int i = 0; i < rank; i++) {
        count *= (size_t)shape[i];
    }
    onnx_model_end(&model);
    onnx_model_begin(&model, 18);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(3, 4));
    onnx_model_tensor(&model, "i", ONNX_INT64, rank, shape, index, count * sizeof *index);
    onnx_model_node(&model, "Gather", "x,i", "y");
    onnx_model_attr_int(&model, "axis", axis);
    onnx_model_output(&model, "y");
    return imported();
}

static void positions_in_equal_steps_are_a_slice(void **state)
{
    (void)state;
    const int64_t odd[] = {1, 3}, last[] = {-1}, back[] = {2, 1}, uneven[] = {0, 1, 3}, same[] = {1, 1};
    const mts_graph *graph = gathered(1, 1, DIMS(2), odd);
    assert_int_equal(graph->node_count, 1);
    const mts_attrs_slice *slice = &node_of(graph, MTS_OP_SLICE, 0)->attrs.slice;
    assert_true(slice->start[1] == 1 && slice->step[1] == 2 && slice->size[1] == 2);
    assert_true(slice->start[0] == 0 && slice->step[0] == 1 && slice->size[0] == 3);
    graph = gathered(0, 0, NULL, last);
    assert_int_equal(graph->node_count, 2);
    assert_true(node_of(graph, MTS_OP_SLICE, 0)->attrs.slice.start[0] == 2);
    assert_true(graph->outputs[0].shape.rank == 1 && graph->outputs[0].shape.dims[0] == 4);
    graph = gathered(1, 2, DIMS(1, 2), odd);
    assert_int_equal(graph->node_count, 2);
    assert_true(graph->outputs[0].shape.rank == 3 && graph->outputs[0].shape.dims[2] == 2);
    assert_int_equal(gathered(0, 1, DIMS(2), back)->nodes[0].op, MTS_OP_GATHER);
    assert_int_equal(gathered(1, 1, DIMS(3), uneven)->nodes[0].op, MTS_OP_GATHER);
    assert_int_equal(gathered(1, 1, DIMS(2), same)->nodes[0].op, MTS_OP_GATHER);
}

static void scatter(const char *op, const char *reduction, const int64_t *index, int rows, int columns,
                    const float *updates)
{
    onnx_model_end(&model);
    onnx_model_begin(&model, 18);
    matrix();
    int_matrix("i", rows, columns, index);
    onnx_model_floats(&model, "u", 2, DIMS(rows, op[7] == 'N' ? 4 : columns), updates);
    onnx_model_node(&model, op, "m,i,u", "y");
    onnx_model_attr_text(&model, "reduction", reduction);
    onnx_model_output(&model, "y");
}

static void updates_replace_or_are_combined(void **state)
{
    (void)state;
    const int64_t twice[] = {1, 1}, cells[] = {0, 2, 0, 0}, far[] = {3, 0};
    const float updates[] = {1, 2, 3, 4, 5, 6, 7, 8};
    scatter("ScatterND", "none", twice, 2, 1, updates); /* the last one stays */
    NUMBERS(imported(), 0, 1, 2, 3, 5, 6, 7, 8, 8, 9, 10, 11);
    scatter("ScatterND", "add", twice, 2, 1, updates);
    NUMBERS(imported(), 0, 1, 2, 3, 10, 13, 16, 19, 8, 9, 10, 11);
    scatter("ScatterND", "min", twice, 2, 1, updates);
    NUMBERS(imported(), 0, 1, 2, 3, 1, 2, 3, 4, 8, 9, 10, 11);
    scatter("ScatterElements", "mul", cells, 1, 4, updates);
    NUMBERS(imported(), 0, 1, 6, 12, 4, 5, 6, 7, 8, 18, 10, 11);
    scatter("ScatterND", "add", far, 2, 1, updates);
    refused(MTS_STATUS_MALFORMED, "index 3");
    scatter("ScatterND", "median", twice, 2, 1, updates);
    refused(MTS_STATUS_UNSUPPORTED, "median");
}

static void updates_at_run_time_are_placed_by_one_gather(void **state)
{
    (void)state;
    const int64_t rows[] = {2, 0};
    onnx_model_begin(&model, 18);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(3, 4));
    onnx_model_input(&model, "u", ONNX_FLOAT, INTS(2, 4));
    int_matrix("i", 2, 1, rows);
    onnx_model_node(&model, "ScatterND", "x,i,u", "y");
    onnx_model_output(&model, "y");
    const mts_graph *graph = imported();
    assert_int_equal(graph->node_count, 2);
    const mts_node *gather = node_of(graph, MTS_OP_GATHER, 0);
    const int32_t *from = graph->values[gather->inputs[1]].blocks[0].data;
    assert_true(from[0] == 4 && from[1] == 1 && from[2] == 3);
    onnx_model_end(&model);
    onnx_model_begin(&model, 18);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(3, 4));
    onnx_model_input(&model, "u", ONNX_FLOAT, INTS(2, 4));
    onnx_model_input(&model, "i", ONNX_INT64, INTS(2, 1));
    onnx_model_node(&model, "ScatterND", "x,i,u", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED, "known when the model is compiled");
}

static void constants_of_positions_are_computed(void **state)
{
    (void)state;
    const float mixed[] = {0, 5, -1, 0, 0, 2};
    onnx_model_begin(&model, 18);
    onnx_model_floats(&model, "x", 2, DIMS(2, 3), mixed);
    onnx_model_node(&model, "NonZero", "x", "y");
    onnx_model_output(&model, "y");
    NUMBERS(imported(), 0, 0, 1, 1, 2, 2);
    onnx_model_end(&model);
    onnx_model_begin(&model, 18);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2, 3));
    onnx_model_node(&model, "EyeLike", "x", "y");
    onnx_model_attr_int(&model, "k", 1);
    onnx_model_output(&model, "y");
    NUMBERS(imported(), 0, 1, 0, 0, 0, 1);
    onnx_model_end(&model);
    onnx_model_begin(&model, 18);
    matrix();
    onnx_model_node(&model, "Trilu", "m", "y");
    onnx_model_output(&model, "y");
    NUMBERS(imported(), 0, 1, 2, 3, 0, 5, 6, 7, 0, 0, 10, 11);
    onnx_model_end(&model);
    onnx_model_begin(&model, 18);
    onnx_model_ints(&model, "i", INTS(1, -1, 7));
    onnx_model_ints(&model, "depth", INTS(3));
    onnx_model_floats(&model, "v", 1, DIMS(2), mixed);
    onnx_model_node(&model, "OneHot", "i,depth,v", "y");
    onnx_model_output(&model, "y");
    NUMBERS(imported(), 0, 5, 0, 0, 0, 5, 0, 0, 0);
}

static void the_number_of_results_must_be_known(void **state)
{
    (void)state;
    onnx_model_begin(&model, 18);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2, 3));
    onnx_model_node(&model, "NonZero", "x", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED, "number of results");
    onnx_model_end(&model);
    onnx_model_begin(&model, 18);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2, 3));
    onnx_model_ints(&model, "k", INTS(4));
    onnx_model_node(&model, "TopK", "x,k", "y,i");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED, "4 of 3");
}

static void einsum(const char *equation, int second)
{
    onnx_model_end(&model);
    onnx_model_begin(&model, 18);
    onnx_model_input(&model, "a", ONNX_FLOAT, INTS(2, 3, 4));
    onnx_model_input(&model, "b", ONNX_FLOAT, INTS(2, 4, 5));
    onnx_model_node(&model, "Einsum", second ? "a,b" : "a", "y");
    onnx_model_attr_text(&model, "equation", equation);
    onnx_model_output(&model, "y");
}

static void equations_become_products_sums_and_transposes(void **state)
{
    (void)state;
    einsum("bij,bjk->bik", 1);
    const mts_graph *graph = imported();
    assert_int_equal(graph->node_count, 1);
    assert_int_equal(graph->nodes[0].op, MTS_OP_MATMUL);
    einsum("...ij, ...jk -> ...ik", 1);
    assert_shape(&imported()->outputs[0].shape, INTS(2, 3, 5));
    einsum("bij,cjk->ikbc", 1);
    assert_shape(&imported()->outputs[0].shape, INTS(3, 5, 2, 2));
    einsum("bij,bjk", 1); /* without an arrow: bik without b, which occurs twice */
    assert_shape(&imported()->outputs[0].shape, INTS(3, 5));
    einsum("bij->", 0);
    assert_int_equal(imported()->outputs[0].shape.rank, 0);
}

static void equations_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"bij,bjk->bxk",    "bij,bjk->bii", "bij",          "bij,bjk,kl->bi",
                                      "bijkl,bjk->b",    "bi,bjk->b",    "bij,bjk->b?",  "bij,bik->bj",
                                      "b..ij,bjk->bik",  "->",           "bij,bjk->b,i", "bij,bjk->bik-",
                                      "......ij,bjk->b", "iij,bjk->bk"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        einsum(bad[i], 1);
        refused(MTS_STATUS_MALFORMED, "equation");
    }
}

static void an_equation_without_an_operand_is_refused(void **state)
{
    (void)state;
    onnx_model_begin(&model, 18);
    onnx_model_input(&model, "a", ONNX_FLOAT, INTS(2));
    onnx_model_node(&model, "Einsum", "a,,a", "y");
    onnx_model_attr_text(&model, "equation", "i,i,i->i");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "operand is missing");
}

/* What no update meets keeps its number, also where the type has no infinity. */
static void updates_by_the_smaller_number_leave_the_others(void **state)
{
    static const int32_t data[3] = {5, -6, 7};
    static const int32_t update[1] = {-9};
    static const int64_t zero[1] = {0};
    (void)state;
    onnx_model_begin(&model, 18);
    onnx_model_tensor(&model, "x", ONNX_INT32, 1, DIMS(3), data, sizeof data);
    onnx_model_tensor(&model, "u", ONNX_INT32, 1, DIMS(1), update, sizeof update);
    onnx_model_tensor(&model, "i", ONNX_INT64, 1, DIMS(1), zero, sizeof zero);
    onnx_model_node(&model, "ScatterElements", "x,i,u", "s");
    onnx_model_attr_text(&model, "reduction", "min");
    onnx_model_node(&model, "Cast", "s", "y");
    onnx_model_attr_int(&model, "to", ONNX_FLOAT);
    onnx_model_output(&model, "y");
    NUMBERS(imported(), -9, -6, 7);
}

/* 17 GB of positions would be written before the first of them is used. */
static void a_few_bytes_of_a_model_do_not_take_all_memory(void **state)
{
    (void)state;
    onnx_model_begin(&model, 18);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 2147483647));
    onnx_model_node(&model, "Trilu", "x", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_LIMIT, "bytes");
}

static void constants_without_elements_are_refused_or_change_nothing(void **state)
{
    (void)state;
    onnx_model_begin(&model, 18);
    onnx_model_tensor(&model, "none", ONNX_FLOAT, 2, DIMS(0, 3), ramp, 0);
    onnx_model_node(&model, "Trilu", "none", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "no triangle");
    onnx_model_end(&model);
    onnx_model_begin(&model, 18);
    matrix();
    onnx_model_tensor(&model, "i", ONNX_INT64, 2, DIMS(0, 4), ramp, 0);
    onnx_model_tensor(&model, "u", ONNX_FLOAT, 2, DIMS(0, 4), ramp, 0);
    onnx_model_node(&model, "ScatterElements", "m,i,u", "y");
    onnx_model_output(&model, "y");
    NUMBERS(imported(), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    static const char *const ops[] = {"Gather", "GatherElements", "GatherND"};
    for (int k = 0; k < 3; k++) {
        onnx_model_end(&model);
        onnx_model_begin(&model, 18);
        matrix();
        onnx_model_tensor(&model, "i", ONNX_INT64, 2, DIMS(0, 2), ramp, 0);
        onnx_model_node(&model, ops[k], "m,i", "y");
        onnx_model_output(&model, "y");
        mts_graph *graph = NULL;
        assert_true(import_model(&graph) != MTS_STATUS_OK || graph->node_count == 0);
        error = (mts_error){0};
    }
}

static void samples_of_volumes_are_refused(void **state)
{
    (void)state;
    onnx_model_begin(&model, 20);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 2, 3, 4, 5));
    onnx_model_input(&model, "g", ONNX_FLOAT, INTS(1, 2, 2, 2, 3));
    onnx_model_node(&model, "GridSample", "x,g", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED, "two dimensions");
    onnx_model_end(&model);
    onnx_model_begin(&model, 20);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 2, 3, 4));
    onnx_model_input(&model, "g", ONNX_FLOAT, INTS(1, 2, 2, 2));
    onnx_model_node(&model, "GridSample", "x,g", "y");
    onnx_model_attr_text(&model, "padding_mode", "wrap");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED, "wrap");
}

/* ---- models that end in NonMaxSuppression ---- */

static char told[512];

static void hear(void *context, const char *text)
{
    (void)context;
    (void)snprintf(told, sizeof told, "%s", text);
}

/* A head of boxes and scores, suppression, and boxes that are picked by its result. */
static void detector(void)
{
    const int64_t most = 5;
    onnx_model_begin(&model, 18);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 6, 4));
    onnx_model_input(&model, "size", ONNX_FLOAT, INTS(4));
    onnx_model_node(&model, "Sigmoid", "x", "boxes");
    onnx_model_ints(&model, "axes", INTS(2));
    onnx_model_node(&model, "ReduceMax", "x,axes", "best");
    onnx_model_node(&model, "Transpose", "best", "scores");
    onnx_model_attr_ints(&model, "perm", INTS(0, 2, 1));
    onnx_model_ints(&model, "most", 1, &most);
    onnx_model_node(&model, "NonMaxSuppression", "boxes,scores,most", "chosen");
    onnx_model_ints(&model, "column", INTS(2));
    onnx_model_node(&model, "Gather", "chosen,column", "numbers");
    onnx_model_attr_int(&model, "axis", 1);
    onnx_model_node(&model, "Squeeze", "numbers", "flat");
    onnx_model_node(&model, "Gather", "boxes,flat", "picked");
    onnx_model_attr_int(&model, "axis", 1);
    onnx_model_node(&model, "Mul", "picked,size", "y");
    onnx_model_output(&model, "y");
    options.note = hear;
    told[0] = 0;
}

static void suppression_of_boxes_is_left_to_the_app(void **state)
{
    (void)state;
    detector();
    const mts_graph *graph = imported();
    assert_int_equal(graph->output_count, 2);
    assert_string_equal(graph->outputs[0].name, "boxes");
    assert_string_equal(graph->outputs[1].name, "scores");
    assert_shape(&graph->outputs[1].shape, INTS(1, 1, 6));
    assert_string_equal(told,
                        "NonMaxSuppression and what follows it is left to the app; the model's outputs are "
                        "now boxes 1x6x4, scores 1x1x6");
}

static void outputs_beside_the_suppression_stay(void **state)
{
    (void)state;
    detector();
    onnx_model_node(&model, "Relu", "x", "z");
    onnx_model_output(&model, "z");
    onnx_model_output(&model, "scores");
    const mts_graph *graph = imported();
    assert_int_equal(graph->output_count, 3);
    assert_string_equal(graph->outputs[0].name, "z");
    assert_string_equal(graph->outputs[1].name, "scores");
    assert_string_equal(graph->outputs[2].name, "boxes");
}

static void suppression_that_no_output_needs_changes_nothing(void **state)
{
    (void)state;
    detector();
    onnx_model_end(&model);
    onnx_model_begin(&model, 18);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 6, 4));
    onnx_model_input(&model, "s", ONNX_FLOAT, INTS(1, 1, 6));
    onnx_model_node(&model, "NonMaxSuppression", "x,s", "chosen");
    onnx_model_node(&model, "Relu", "x", "y");
    onnx_model_output(&model, "y");
    assert_int_equal(imported()->output_count, 1);
    assert_string_equal(told, "");
}

static void a_model_of_nothing_but_suppression_is_refused(void **state)
{
    (void)state;
    onnx_model_begin(&model, 18);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 6, 4));
    onnx_model_input(&model, "s", ONNX_FLOAT, INTS(1, 1, 6));
    onnx_model_node(&model, "NonMaxSuppression", "x,s", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED, "nothing is left of the model before NonMaxSuppression");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(run_time_indices_of_a_table_become_one_take),
        TEST(constant_indices_are_checked_and_may_count_from_the_end),
        TEST(tuples_of_indices_name_elements_or_rows),
        TEST(updates_replace_or_are_combined),
        TEST(positions_in_equal_steps_are_a_slice),
        TEST(updates_at_run_time_are_placed_by_one_gather),
        TEST(constants_of_positions_are_computed),
        TEST(the_number_of_results_must_be_known),
        TEST(equations_become_products_sums_and_transposes),
        TEST(equations_that_do_not_fit_are_refused),
        TEST(an_equation_without_an_operand_is_refused),
        TEST(updates_by_the_smaller_number_leave_the_others),
        TEST(a_few_bytes_of_a_model_do_not_take_all_memory),
        TEST(constants_without_elements_are_refused_or_change_nothing),
        TEST(samples_of_volumes_are_refused),
        TEST(suppression_of_boxes_is_left_to_the_app),
        TEST(outputs_beside_the_suppression_stay),
        TEST(suppression_that_no_output_needs_changes_nothing),
        TEST(a_model_of_nothing_but_suppression_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
