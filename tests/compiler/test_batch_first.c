/*
 * test_batch_first.c: values with tokens before a batch of several compute with the batch first, so that
 * attention and products find images of tokens.
 */
#include "compiler/passes/batch_first.h"
#include "compiler/passes/tokens.h"
#include "fold_fixture.h"

enum { TOKENS = 12, IMAGES = 3, WIDTH = 8, HEADS = 2, DEPTH = 4 };

static mts_graph *folded;

static int set_up(void **state)
{
    (void)open_model(state);
    draw_noise();
    onnx_model_begin(&model, 17);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(IMAGES, TOKENS, WIDTH));
    onnx_model_floats(&model, "w", INTS(WIDTH, WIDTH), noise);
    onnx_model_floats(&model, "u", INTS(WIDTH, WIDTH), noise + 100);
    onnx_model_floats(&model, "b", INTS(WIDTH), noise + 200);
    onnx_model_floats(&model, "places", INTS(TOKENS, 1, WIDTH), noise + 300);
    return 0;
}

static void turn(void)
{
    mts_graph *first = NULL, *tokens = NULL;
    fold();
    folded = after;
    assert_int_equal(mts_batch_first(folded, &arena, &first, &error), MTS_STATUS_OK);
    assert_int_equal(mts_graph_verify(first, &error), MTS_STATUS_OK);
    assert_int_equal(mts_fold(first, &arena, &first, &error), MTS_STATUS_OK);
    assert_int_equal(mts_tokens(first, &arena, &tokens, &error), MTS_STATUS_OK);
    assert_int_equal(mts_fold(tokens, &arena, &after, &error), MTS_STATUS_OK);
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

static void swap(const char *input, const char *output)
{
    onnx_model_node(&model, "Transpose", input, output);
    onnx_model_attr_ints(&model, "perm", INTS(1, 0, 2));
}

static void products_and_what_stands_between_them_keep_the_batch_in_front(void **state)
{
    (void)state;
    swap("x", "t");
    onnx_model_node(&model, "MatMul", "t,w", "p");
    onnx_model_node(&model, "Add", "p,b", "s");
    onnx_model_node(&model, "Relu", "s", "n");
    onnx_model_node(&model, "Add", "n,t", "r");
    onnx_model_node(&model, "MatMul", "r,u", "q");
    swap("q", "y");
    onnx_model_output(&model, "y");
    turn();
    assert_int_equal(count_of(MTS_OP_CONV), 2);
    assert_int_equal(count_of(MTS_OP_TRANSPOSE), 2); /* of images at both ends */
    assert_equal_results();
}

static void normalisation_of_tokens_needs_no_moves(void **state)
{
    (void)state;
    swap("x", "t");
    onnx_model_node(&model, "MatMul", "t,w", "p");
    onnx_model_node(&model, "LayerNormalization", "p,b,b", "n");
    onnx_model_node(&model, "MatMul", "n,u", "q");
    swap("q", "y");
    onnx_model_output(&model, "y");
    turn();
    OPS(MTS_OP_TRANSPOSE, MTS_OP_RESHAPE, MTS_OP_CONV, MTS_OP_NORM, MTS_OP_CONV, MTS_OP_RESHAPE,
        MTS_OP_TRANSPOSE);
}

/* Constants that differ from token to token are added with the tokens first. */
static void what_has_no_rule_keeps_its_order(void **state)
{
    (void)state;
    swap("x", "t");
    onnx_model_node(&model, "MatMul", "t,w", "p");
    onnx_model_node(&model, "Add", "p,places", "q");
    onnx_model_node(&model, "Relu", "q", "y");
    onnx_model_output(&model, "y");
    turn();
    assert_int_equal(count_of(MTS_OP_CONV), 1);
    assert_equal_results();
}

static void nothing_happens_without_products_or_without_a_batch(void **state)
{
    (void)state;
    mts_graph *same = NULL;
    swap("x", "t");
    onnx_model_node(&model, "Relu", "t", "y");
    onnx_model_output(&model, "y");
    fold();
    assert_int_equal(mts_batch_first(after, &arena, &same, &error), MTS_STATUS_OK);
    assert_ptr_equal(same, after);
    onnx_model_end(&model);
    onnx_model_begin(&model, 17);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, TOKENS, WIDTH));
    onnx_model_floats(&model, "w", INTS(WIDTH, WIDTH), noise);
    swap("x", "t");
    onnx_model_node(&model, "MatMul", "t,w", "y");
    onnx_model_output(&model, "y");
    fold();
    assert_int_equal(mts_batch_first(after, &arena, &same, &error), MTS_STATUS_OK);
    assert_ptr_equal(same, after);
}

/* A layer of torch's encoders: the batch is behind the tokens in attention alone. */
static void what_stands_behind_the_end_has_the_batch_in_front_already(void **state)
{
    (void)state;
    swap("x", "t");
    onnx_model_node(&model, "MatMul", "t,w", "p");
    swap("p", "e");
    onnx_model_node(&model, "MatMul", "e,u", "f");
    onnx_model_node(&model, "Relu", "f", "r");
    onnx_model_node(&model, "MatMul", "r,w", "y");
    onnx_model_output(&model, "y");
    turn();
    assert_int_equal(count_of(MTS_OP_CONV), 3);
    assert_int_equal(count_of(MTS_OP_TRANSPOSE), 2); /* of images at both ends */
    assert_equal_results();
}

/* Not a row for each token but an element for each: the indices keep their order. */
static void elements_that_are_looked_up_keep_their_order(void **state)
{
    (void)state;
    onnx_model_input(&model, "i", ONNX_INT64, INTS(IMAGES, TOKENS, WIDTH));
    onnx_model_floats(&model, "table", INTS(TOKENS * IMAGES, WIDTH), noise + 400);
    onnx_model_ints(&model, "flat", INTS(TOKENS * IMAGES, WIDTH));
    swap("x", "t");
    onnx_model_node(&model, "MatMul", "t,w", "p");
    swap("i", "j");
    onnx_model_node(&model, "Reshape", "j,flat", "k");
    onnx_model_node(&model, "GatherElements", "table,k", "g");
    onnx_model_output(&model, "p");
    onnx_model_output(&model, "g");
    turn();
    assert_int_equal(count_of(MTS_OP_TAKE), 1);
}

static void einsum(const char *inputs, const char *equation, const char *output)
{
    onnx_model_node(&model, "Einsum", inputs, output);
    onnx_model_attr_text(&model, "equation", equation);
}

/* Relative attention as XLNet is exported (tests/differential compares its numbers), with positions that were
   expanded over the batch. */
static void relative_attention(void)
{
    static float expanded[2 * TOKENS * IMAGES * WIDTH];
    for (size_t i = 0; i < sizeof expanded / sizeof *expanded; i++) {
        expanded[i] = noise[1000 + i / (IMAGES * WIDTH) * WIDTH + i % WIDTH];
    }
    for (uint32_t i = 0; i < 4; i++) {
        static const char *const names[] = {"wq", "wk", "wv", "wr"};
        onnx_model_floats(&model, names[i], INTS(WIDTH, HEADS, DEPTH), noise + 400 + 64 * i);
    }
    onnx_model_floats(&model, "wo", INTS(WIDTH, HEADS, DEPTH), noise + 700);
    onnx_model_floats(&model, "bias", INTS(HEADS, DEPTH), noise + 800);
    onnx_model_floats(&model, "far", INTS(2 * TOKENS, IMAGES, WIDTH), expanded);
    onnx_model_ints(&model, "rows", INTS(IMAGES, HEADS, 2 * TOKENS, TOKENS));
    onnx_model_ints(&model, "columns", INTS(IMAGES, HEADS, TOKENS, 2 * TOKENS - 1));
    onnx_model_ints(&model, "one", INTS(1));
    onnx_model_ints(&model, "two", INTS(2));
    onnx_model_ints(&model, "zero", INTS(0));
    onnx_model_ints(&model, "three", INTS(3));
    onnx_model_ints(&model, "tokens", INTS(TOKENS));
    onnx_model_ints(&model, "all", INTS(1000));
    swap("x", "t");
    einsum("t,wq", "ibh,hnd->ibnd", "q");
    einsum("t,wk", "ibh,hnd->ibnd", "k");
    einsum("t,wv", "ibh,hnd->ibnd", "v");
    einsum("far,wr", "ibh,hnd->ibnd", "r");
    onnx_model_node(&model, "Add", "q,bias", "qb");
    einsum("qb,k", "ibnd,jbnd->bnij", "content");
    einsum("qb,r", "ibnd,jbnd->bnij", "distance");
    onnx_model_node(&model, "Reshape", "distance,rows", "d1");
    onnx_model_node(&model, "Slice", "d1,one,all,two", "d2");
    onnx_model_node(&model, "Reshape", "d2,columns", "d3");
    onnx_model_node(&model, "Slice", "d3,zero,tokens,three", "d4");
    onnx_model_node(&model, "Add", "content,d4", "scores");
    onnx_model_node(&model, "Softmax", "scores", "weights");
    onnx_model_attr_int(&model, "axis", 3);
    einsum("weights,v", "bnij,jbnd->ibnd", "heads");
    einsum("heads,wo", "ibnd,hnd->ibh", "o");
    onnx_model_node(&model, "Add", "o,t", "sum");
    swap("sum", "y");
    onnx_model_output(&model, "y");
}

static void attention_of_xlnet_over_a_batch_is_one_operator(void **state)
{
    (void)state;
    relative_attention();
    turn();
    assert_int_equal(count_of(MTS_OP_ATTENTION), 1);
    assert_int_equal(count_of(MTS_OP_SOFTMAX), 0);
    assert_int_equal(count_of(MTS_OP_MATMUL), 0);
    assert_int_equal(count_of(MTS_OP_CONV), 5); /* q, k, v, distances and the last one */
}

static mts_status turn_with(const mts_allocator *allocator, void *unused)
{
    mts_arena small;
    mts_graph *out = NULL;
    (void)unused;
    mts_arena_init(&small, allocator);
    const mts_status status = mts_batch_first(folded, &small, &out, &error);
    assert_int_equal(out != NULL, status == MTS_STATUS_OK);
    mts_arena_release(&small);
    return status;
}

static void a_lack_of_memory_is_reported(void **state)
{
    (void)state;
    relative_attention();
    turn();
    mts_fault_each(turn_with, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, close_model)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(products_and_what_stands_between_them_keep_the_batch_in_front),
        TEST(normalisation_of_tokens_needs_no_moves),
        TEST(what_has_no_rule_keeps_its_order),
        TEST(what_stands_behind_the_end_has_the_batch_in_front_already),
        TEST(elements_that_are_looked_up_keep_their_order),
        TEST(nothing_happens_without_products_or_without_a_batch),
        TEST(attention_of_xlnet_over_a_batch_is_one_operator),
        TEST(a_lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
