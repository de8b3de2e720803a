/*
 * test_tokens.c: products of tokens with constant matrices become convolutions, and what
 * stands between them moves no elements.
 */
#include "compiler/passes/tokens.h"
#include "fold_fixture.h"

#include <stdio.h>

static mts_graph *folded;

static int set_up(void **state)
{
    (void)open_model(state);
    draw_noise();
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2, 12, 8));
    onnx_model_floats(&model, "w", INTS(8, 6), noise);
    onnx_model_floats(&model, "u", INTS(6, 8), noise + 100);
    onnx_model_floats(&model, "b", INTS(6), noise + 200);
    onnx_model_floats(&model, "c", INTS(8), noise + 210);
    onnx_model_floats(&model, "places", INTS(1, 12, 6), noise + 300);
    onnx_model_floats(&model, "half", 0, NULL, (const float[]){0.5f});
    return 0;
}

/* `before`: as the fold pass leaves it; `after`: convolutions, folded again. */
static void turn(void)
{
    mts_graph *turned = NULL;
    fold();
    folded = after;
    assert_int_equal(mts_tokens(folded, &arena, &turned, &error), MTS_STATUS_OK);
    assert_int_equal(mts_fold(turned, &arena, &after, &error), MTS_STATUS_OK);
    assert_int_equal(mts_graph_verify(after, &error), MTS_STATUS_OK);
}

static uint32_t count_of(mts_op op)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < after->node_count; i++) {
        count += after->nodes[i].op == op;
    }
    return count;
}

static void a_product_with_a_constant_is_a_convolution_with_an_epilogue(void **state)
{
    (void)state;
    onnx_model_node(&model, "MatMul", "x,w", "p");
    onnx_model_node(&model, "Add", "b,p", "s");
    onnx_model_node(&model, "Relu", "s", "y");
    onnx_model_output(&model, "y");
    turn();
    OPS(MTS_OP_TRANSPOSE, MTS_OP_RESHAPE, MTS_OP_CONV, MTS_OP_RESHAPE, MTS_OP_TRANSPOSE);
    const mts_node *conv = &after->nodes[2];
    assert_int_equal(conv->attrs.conv.act.fn, MTS_FN_RELU);
    assert_true(conv->inputs[3] != MTS_NONE);
    const mts_shape image = {.rank = 4, .dims = {2, 6, 1, 12}};
    assert_true(mts_shape_equal(&after->values[conv->output].shape, &image));
    assert_equal_results();
}

static void nothing_moves_elements_between_products(void **state)
{
    (void)state;
    onnx_model_node(&model, "MatMul", "x,w", "p");
    onnx_model_node(&model, "Add", "p,places", "q");
    onnx_model_node(&model, "Relu", "q", "r");
    onnx_model_node(&model, "MatMul", "r,u", "s");
    onnx_model_node(&model, "Mul", "s,half", "h");
    onnx_model_node(&model, "Add", "h,c", "t");
    onnx_model_node(&model, "Add", "t,x", "v");
    onnx_model_node(&model, "MatMul", "v,w", "y");
    onnx_model_output(&model, "y");
    turn();
    assert_int_equal(count_of(MTS_OP_CONV), 3);
    assert_int_equal(count_of(MTS_OP_TRANSPOSE), 2);
    assert_int_equal(count_of(MTS_OP_BINARY), 1); /* one number a token and channel */
    assert_equal_results();
    const mts_node *second = NULL;
    for (uint32_t i = 0, seen = 0; i < after->node_count; i++) {
        second = after->nodes[i].op == MTS_OP_CONV && ++seen == 2 ? &after->nodes[i] : second;
    }
    assert_true(second && second->input_count > 4 && second->inputs[4] != MTS_NONE);
}

static void normalisation_over_the_last_dimension_stays_on_the_image(void **state)
{
    (void)state;
    onnx_model_end(&model);
    onnx_model_begin(&model, 17);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 12, 8));
    onnx_model_floats(&model, "w", INTS(8, 6), noise);
    onnx_model_floats(&model, "u", INTS(6, 8), noise + 100);
    onnx_model_floats(&model, "b", INTS(6), noise + 200);
    onnx_model_node(&model, "MatMul", "x,w", "p");
    onnx_model_node(&model, "LayerNormalization", "p,b,b", "n");
    onnx_model_node(&model, "MatMul", "n,u", "y");
    onnx_model_output(&model, "y");
    turn();
    OPS(MTS_OP_TRANSPOSE, MTS_OP_RESHAPE, MTS_OP_CONV, MTS_OP_NORM, MTS_OP_CONV, MTS_OP_RESHAPE,
        MTS_OP_TRANSPOSE);
    assert_int_equal(after->nodes[3].attrs.norm.axes, 2);
    const mts_shape each = {.rank = 4, .dims = {1, 6, 1, 1}};
    assert_true(mts_shape_equal(&after->values[after->nodes[3].inputs[1]].shape, &each));
}

static void few_rows_are_a_fully_connected_layer(void **state)
{
    (void)state;
    onnx_model_end(&model);
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 3, 8));
    onnx_model_floats(&model, "w", INTS(8, 6), noise);
    onnx_model_node(&model, "MatMul", "x,w", "y");
    onnx_model_output(&model, "y");
    turn();
    OPS(MTS_OP_RESHAPE, MTS_OP_CONV, MTS_OP_RESHAPE);
    const mts_shape rows = {.rank = 4, .dims = {3, 6, 1, 1}};
    assert_true(mts_shape_equal(&after->values[after->nodes[1].output].shape, &rows));
    assert_equal_results();
}

static void slices_and_concatenations_stay_on_the_image(void **state)
{
    (void)state;
    onnx_model_node(&model, "MatMul", "x,w", "p");
    onnx_model_node(&model, "Concat", "p,p", "d");
    onnx_model_attr_int(&model, "axis", 2);
    onnx_model_node(&model, "Split", "d", "l,r");
    onnx_model_attr_int(&model, "axis", 1);
    onnx_model_node(&model, "Relu", "l", "y");
    onnx_model_output(&model, "y");
    onnx_model_output(&model, "r");
    turn();
    assert_int_equal(count_of(MTS_OP_CONV), 1);
    assert_equal_results();
}

static void products_of_values_and_graphs_without_products_stay(void **state)
{
    (void)state;
    mts_graph *turned = NULL;
    onnx_model_floats(&model, "wide", INTS(2, 8, 6), noise);
    onnx_model_node(&model, "MatMul", "x,wide", "p");
    onnx_model_node(&model, "Transpose", "x", "t");
    onnx_model_attr_ints(&model, "perm", INTS(0, 2, 1));
    onnx_model_node(&model, "MatMul", "t,p", "y");
    onnx_model_output(&model, "y");
    fold();
    assert_int_equal(mts_tokens(after, &arena, &turned, &error), MTS_STATUS_OK);
    assert_ptr_equal(turned, after);
}

/* Splits the channels of a product with `weight` into heads, as exporters do. */
static void heads(const char *input, const char *weight, const char *name, const int64_t *perm)
{
    char product[16], split[16], operands[64];
    (void)snprintf(product, sizeof product, "%s_p", name);
    (void)snprintf(split, sizeof split, "%s_s", name);
    (void)snprintf(operands, sizeof operands, "%s,%s", input, weight);
    onnx_model_node(&model, "MatMul", operands, product);
    (void)snprintf(operands, sizeof operands, "%s,split", product);
    onnx_model_node(&model, "Reshape", operands, split);
    onnx_model_node(&model, "Transpose", split, name);
    onnx_model_attr_ints(&model, "perm", 4, perm);
}

static void weights_of_heads(void)
{
    onnx_model_floats(&model, "wq", INTS(8, 6), noise);
    onnx_model_floats(&model, "wk", INTS(8, 6), noise + 50);
    onnx_model_floats(&model, "wv", INTS(8, 6), noise + 100);
}

/* q, k and v, ready for their products. */
static void heads_of_x(void)
{
    heads("x", "wq", "q", DIMS(0, 2, 1, 3));
    heads("x", "wk", "k", DIMS(0, 2, 3, 1));
    heads("x", "wv", "v", DIMS(0, 2, 1, 3));
}

/* Up to the result of the heads, of `rows` tokens. */
static void attend(bool masked)
{
    onnx_model_end(&model);
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2, 12, 8));
    onnx_model_input(&model, "mask", ONNX_FLOAT, INTS(2, 1, 1, 12));
    weights_of_heads();
    onnx_model_floats(&model, "wo", INTS(6, 8), noise + 150);
    onnx_model_floats(&model, "root", 0, NULL, (const float[]){2.0f});
    onnx_model_ints(&model, "split", INTS(2, 12, 2, 3));
    onnx_model_ints(&model, "join", INTS(2, 12, 6));
    heads_of_x();
    onnx_model_node(&model, "MatMul", "q,k", "products");
    onnx_model_node(&model, "Div", "products,root", masked ? "scaled" : "scores");
    if (masked) {
        onnx_model_node(&model, "Add", "scaled,mask", "scores");
    }
    onnx_model_node(&model, "Softmax", "scores", "weights");
    onnx_model_attr_int(&model, "axis", -1);
    onnx_model_node(&model, "MatMul", "weights,v", "sums");
    onnx_model_node(&model, "Transpose", "sums", "turned");
    onnx_model_attr_ints(&model, "perm", INTS(0, 2, 1, 3));
    onnx_model_node(&model, "Reshape", "turned,join", "joined");
    onnx_model_node(&model, "MatMul", "joined,wo", "y");
    onnx_model_output(&model, "y");
}

static const mts_node *find_node(mts_op op)
{
    for (uint32_t i = 0; i < after->node_count; i++) {
        if (after->nodes[i].op == op) {
            return &after->nodes[i];
        }
    }
    return NULL;
}

static void heads_with_a_softmax_are_one_operator_without_moves(void **state)
{
    (void)state;
    for (int masked = 0; masked < 2; masked++) {
        attend(masked);
        turn();
        assert_int_equal(count_of(MTS_OP_CONV), 4);
        assert_int_equal(count_of(MTS_OP_ATTENTION), 1);
        assert_int_equal(count_of(MTS_OP_MATMUL) + count_of(MTS_OP_SOFTMAX) + count_of(MTS_OP_SCALE), 0);
        assert_int_equal(count_of(MTS_OP_TRANSPOSE), 2); /* of the input and the output */
        const mts_node *node = find_node(MTS_OP_ATTENTION);
        assert_int_equal(node->attrs.attention.heads, 2);
        assert_true(node->attrs.attention.scale >= 0.5f && node->attrs.attention.scale <= 0.5f);
        assert_int_equal(node->input_count, masked ? 4 : 3);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(after->nodes[after->values[node->inputs[i]].producer].op, MTS_OP_CONV);
        }
    }
}

/* As XLNet has it: (q + u) k + (q + v) r, times a factor, less a mask. */
static void biased_heads_and_several_sums_are_attention(void **state)
{
    (void)state;
    onnx_model_end(&model);
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 12, 8));
    onnx_model_input(&model, "mask", ONNX_FLOAT, INTS(1, 1, 12, 12));
    weights_of_heads();
    onnx_model_floats(&model, "wo", INTS(6, 8), noise + 150);
    onnx_model_floats(&model, "u", INTS(2, 3), noise + 200);
    onnx_model_floats(&model, "v_bias", INTS(2, 3), noise + 210);
    onnx_model_floats(&model, "r", INTS(2, 3, 12), noise + 220);
    onnx_model_floats(&model, "root", 0, NULL, (const float[]){0.5f});
    onnx_model_floats(&model, "large", 0, NULL, (const float[]){1e4f});
    onnx_model_ints(&model, "split", INTS(1, 12, 2, 3));
    onnx_model_ints(&model, "join", INTS(1, 12, 6));
    onnx_model_node(&model, "MatMul", "x,wq", "q_p");
    onnx_model_node(&model, "Reshape", "q_p,split", "q_s");
    onnx_model_node(&model, "Add", "q_s,u", "q_u");
    onnx_model_node(&model, "Transpose", "q_u", "near");
    onnx_model_attr_ints(&model, "perm", INTS(0, 2, 1, 3));
    onnx_model_node(&model, "Add", "v_bias,q_s", "q_v");
    onnx_model_node(&model, "Transpose", "q_v", "far");
    onnx_model_attr_ints(&model, "perm", INTS(0, 2, 1, 3));
    heads("x", "wk", "k", DIMS(0, 2, 3, 1));
    heads("x", "wv", "v", DIMS(0, 2, 1, 3));
    onnx_model_node(&model, "MatMul", "near,k", "content");
    onnx_model_node(&model, "MatMul", "far,r", "places");
    onnx_model_node(&model, "Add", "content,places", "both");
    onnx_model_node(&model, "Mul", "both,root", "scaled");
    onnx_model_node(&model, "Mul", "mask,large", "hidden");
    onnx_model_node(&model, "Sub", "scaled,hidden", "scores");
    onnx_model_node(&model, "Softmax", "scores", "weights");
    onnx_model_attr_int(&model, "axis", -1);
    onnx_model_node(&model, "MatMul", "weights,v", "sums");
    onnx_model_node(&model, "Transpose", "sums", "turned");
    onnx_model_attr_ints(&model, "perm", INTS(0, 2, 1, 3));
    onnx_model_node(&model, "Reshape", "turned,join", "joined");
    onnx_model_node(&model, "MatMul", "joined,wo", "y");
    onnx_model_output(&model, "y");
    turn();
    assert_int_equal(count_of(MTS_OP_ATTENTION), 1);
    assert_int_equal(count_of(MTS_OP_MATMUL) + count_of(MTS_OP_SOFTMAX), 0);
    assert_int_equal(count_of(MTS_OP_CONV), 5); /* q, k, v, out, and positions with a group for each head */
    const mts_node *node = find_node(MTS_OP_ATTENTION);
    assert_int_equal(node->input_count, 4);
    assert_true(node->attrs.attention.scale >= 0.5f && node->attrs.attention.scale <= 0.5f);
    uint32_t grouped = 0;
    for (uint32_t i = 0; i < after->node_count; i++) {
        grouped += after->nodes[i].op == MTS_OP_CONV && after->nodes[i].attrs.conv.group == 2;
    }
    assert_int_equal(grouped, 1);
}

/* A factor behind the mask is one of scores and mask. A softmax over queries, and a product with
   the mask, are something else. */
static void what_only_looks_like_attention_stays(void **state)
{
    (void)state;
    attend(false);
    onnx_model_node(&model, "Softmax", "scores", "other");
    onnx_model_attr_int(&model, "axis", 2);
    onnx_model_node(&model, "MatMul", "other,v", "z");
    onnx_model_output(&model, "z");
    onnx_model_node(&model, "Add", "scores,mask", "late");
    onnx_model_node(&model, "Mul", "late,root", "later");
    onnx_model_node(&model, "Softmax", "later", "last");
    onnx_model_attr_int(&model, "axis", -1);
    onnx_model_node(&model, "MatMul", "last,v", "u");
    onnx_model_output(&model, "u");
    onnx_model_node(&model, "Mul", "scores,mask", "weighed");
    onnx_model_node(&model, "Softmax", "weighed", "third");
    onnx_model_attr_int(&model, "axis", -1);
    onnx_model_node(&model, "MatMul", "third,v", "s");
    onnx_model_output(&model, "s");
    turn();
    assert_int_equal(count_of(MTS_OP_ATTENTION), 2);
    assert_int_equal(count_of(MTS_OP_SOFTMAX), 2);
}

/* Four images of two heads, regrouped between the product and the softmax. `mask` has the shape of the
   second grouping, where it means something else than beside images and heads. */
static void attend_regrouped(mts_shape mask)
{
    onnx_model_end(&model);
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(4, 12, 8));
    onnx_model_input(&model, "mask", ONNX_FLOAT, (int)mask.rank, mask.dims);
    weights_of_heads();
    onnx_model_ints(&model, "split", INTS(4, 12, 2, 3));
    onnx_model_ints(&model, "other", INTS(2, 4, 1, 12, 12));
    onnx_model_ints(&model, "again", INTS(4, 2, 12, 12));
    heads_of_x();
    onnx_model_node(&model, "MatMul", "q,k", "products");
    onnx_model_node(&model, "Reshape", "products,other", "regrouped");
    onnx_model_node(&model, "Add", "regrouped,mask", "scores");
    onnx_model_node(&model, "Softmax", "scores", "weights");
    onnx_model_attr_int(&model, "axis", -1);
    onnx_model_node(&model, "Reshape", "weights,again", "grouped");
    onnx_model_node(&model, "MatMul", "grouped,v", "y");
    onnx_model_output(&model, "y");
}

static void a_mask_of_other_groups_stays_where_it_is(void **state)
{
    (void)state;
    attend_regrouped((mts_shape){.rank = 4, .dims = {4, 1, 12, 12}});
    turn();
    assert_int_equal(count_of(MTS_OP_ATTENTION), 0);
    assert_int_equal(count_of(MTS_OP_SOFTMAX), 1);
    attend_regrouped((mts_shape){.rank = 4, .dims = {1, 1, 12, 12}}); /* the same for all */
    turn();
    assert_int_equal(count_of(MTS_OP_ATTENTION), 1);
}

/* Each head's weights meet the other head's values, too. */
static void weights_that_meet_every_value_are_no_attention(void **state)
{
    (void)state;
    onnx_model_end(&model);
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 12, 8));
    weights_of_heads();
    onnx_model_ints(&model, "split", INTS(1, 12, 2, 3));
    onnx_model_ints(&model, "other", INTS(2, 1, 12, 12));
    heads_of_x();
    onnx_model_node(&model, "MatMul", "q,k", "scores");
    onnx_model_node(&model, "Softmax", "scores", "weights");
    onnx_model_attr_int(&model, "axis", -1);
    onnx_model_node(&model, "Reshape", "weights,other", "grouped");
    onnx_model_node(&model, "MatMul", "grouped,v", "y");
    onnx_model_output(&model, "y");
    turn();
    assert_int_equal(count_of(MTS_OP_ATTENTION), 0);
    assert_int_equal(count_of(MTS_OP_SOFTMAX), 1);
}

static void gelu_by_tanh_is_one_function(void **state)
{
    (void)state;
    onnx_model_floats(&model, "three", 0, NULL, (const float[]){3.0f});
    onnx_model_floats(&model, "small", 0, NULL, (const float[]){0.044715f});
    onnx_model_floats(&model, "root", 0, NULL, (const float[]){0.79788456f});
    onnx_model_floats(&model, "one", 0, NULL, (const float[]){1.0f});
    onnx_model_node(&model, "MatMul", "x,w", "p");
    onnx_model_node(&model, "Pow", "p,three", "cube");
    onnx_model_node(&model, "Mul", "cube,small", "scaled");
    onnx_model_node(&model, "Add", "p,scaled", "sum");
    onnx_model_node(&model, "Mul", "sum,root", "argument");
    onnx_model_node(&model, "Tanh", "argument", "t");
    onnx_model_node(&model, "Add", "t,one", "gate");
    onnx_model_node(&model, "Mul", "p,half", "h");
    onnx_model_node(&model, "Mul", "h,gate", "y");
    onnx_model_output(&model, "y");
    turn();
    OPS(MTS_OP_TRANSPOSE, MTS_OP_RESHAPE, MTS_OP_CONV, MTS_OP_RESHAPE, MTS_OP_TRANSPOSE);
    assert_int_equal(after->nodes[2].attrs.conv.act.fn, MTS_FN_GELU_TANH);
}

static mts_status turn_with(const mts_allocator *allocator, void *unused)
{
    mts_arena small;
    mts_graph *out = NULL;
    (void)unused;
    mts_arena_init(&small, allocator);
    const mts_status status = mts_tokens(folded, &small, &out, &error);
    assert_int_equal(out != NULL, status == MTS_STATUS_OK);
    mts_arena_release(&small);
    return status;
}

static void a_lack_of_memory_is_reported(void **state)
{
    (void)state;
    onnx_model_node(&model, "MatMul", "x,w", "p");
    onnx_model_node(&model, "Add", "p,places", "q");
    onnx_model_node(&model, "MatMul", "q,u", "y");
    onnx_model_output(&model, "y");
    turn();
    mts_fault_each(turn_with, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, close_model)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_product_with_a_constant_is_a_convolution_with_an_epilogue),
        TEST(nothing_moves_elements_between_products),
        TEST(normalisation_over_the_last_dimension_stays_on_the_image),
        TEST(few_rows_are_a_fully_connected_layer),
        TEST(slices_and_concatenations_stay_on_the_image),
        TEST(products_of_values_and_graphs_without_products_stay),
        TEST(heads_with_a_softmax_are_one_operator_without_moves),
        TEST(biased_heads_and_several_sums_are_attention),
        TEST(what_only_looks_like_attention_stays),
        TEST(a_mask_of_other_groups_stays_where_it_is),
        TEST(weights_that_meet_every_value_are_no_attention),
        TEST(gelu_by_tanh_is_one_function),
        TEST(a_lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
