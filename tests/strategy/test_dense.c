/*
 * test_dense.c: where channels go in a dense graph, what its constants hold, and what is refused.
 *
 * That dense and padded graphs compute the right numbers is shown by tests/engine/test_strategies.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/fault.h"
#include "strategy/dense.h"

#define SHARED 2 /* channels that both tasks have; task t has t + 1 more */
#define U_BLOCK 7

static mts_arena arena;
static mts_error error;

static const float *numbers(size_t count, float first)
{
    float *data = mts_arena_zero(&arena, count, sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++) {
        data[i] = first + (float)i;
    }
    return data;
}

static uint32_t vector(mts_graph *graph, int64_t count, float first)
{
    return mts_graph_add_const(graph, NULL, MTS_TYPE_FLOAT32, &(mts_shape){1, {count}},
                               numbers((size_t)count, first));
}

static uint32_t add(mts_graph *graph, mts_op op, const uint32_t *inputs, uint32_t count,
                    const mts_attrs *attrs)
{
    uint32_t value = MTS_NONE;
    assert_int_equal(mts_graph_add_node(graph, op, mts_op_name(op), inputs, count, attrs, &value, &error),
                     MTS_STATUS_OK);
    return value;
}

/* 1x1 convolution whose first `shared` filters over the first `common` inputs are block `u`, numbers from 1;
   the rest is the task's own, numbers from `own`. */
static uint32_t add_conv(mts_graph *graph, uint32_t x, uint32_t rows, uint32_t shared, uint32_t common,
                         uint32_t u, float own, uint32_t fn)
{
    const uint32_t columns = (uint32_t)graph->values[x].shape.dims[1];
    const mts_shape shape = {4, {rows, columns, 1, 1}};
    const uint32_t weight =
        mts_graph_add_const(graph, NULL, MTS_TYPE_FLOAT32, &shape, numbers((size_t)rows * columns, own));
    mts_block_ref *blocks = mts_arena_zero(&arena, 3, sizeof *blocks);
    uint32_t count = 0;
    assert_non_null(blocks);
    if (shared > 0) {
        blocks[count++] = (mts_block_ref){u, 0, shared, 0, common, numbers((size_t)shared * common, 1.0f)};
    }
    if (shared > 0 && common < columns) {
        blocks[count++] = (mts_block_ref){
            MTS_NONE, 0, shared, common, columns - common, numbers((size_t)shared * columns, own + 1000.0f)};
    }
    if (shared < rows) {
        blocks[count++] = (mts_block_ref){MTS_NONE, shared,  rows - shared,
                                          0,        columns, numbers((size_t)rows * columns, own)};
    }
    graph->values[weight].blocks = blocks;
    graph->values[weight].block_count = count;
    mts_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    attrs.conv = (mts_attrs_conv){
        .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1, .act = {.fn = fn}};
    const uint32_t inputs[4] = {x, weight, MTS_NONE, vector(graph, rows, own)};
    return add(graph, MTS_OP_CONV, inputs, 4, &attrs);
}

/* Two convolutions that share U, then a private one of 3 outputs. */
static mts_graph *task_graph(uint32_t task, uint32_t batch, uint32_t fn)
{
    const float own = 100.0f * (float)(task + 1);
    const uint32_t width = SHARED + 1 + task;
    mts_graph *graph = mts_graph_create(&arena, task == 0 ? "first" : "second");
    assert_non_null(graph);
    uint32_t x = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &(mts_shape){4, {batch, SHARED, 2, 2}});
    x = add_conv(graph, x, width, SHARED, SHARED, U_BLOCK, own, fn);
    x = add_conv(graph, x, width, SHARED, SHARED, U_BLOCK + 1, own, fn);
    x = add_conv(graph, x, 3, 0, 0, 0, own, MTS_FN_NONE);
    assert_int_equal(mts_graph_add_output(graph, "y", x, MTS_TYPE_FLOAT32, &graph->values[x].shape, &error),
                     MTS_STATUS_OK);
    return graph;
}

static mts_dense stitch(const mts_graph *const *graphs, uint32_t count)
{
    mts_dense dense;
    const mts_status status = mts_dense_stitch(graphs, count, &arena, &dense, &error);
    if (status != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(mts_graph_verify(dense.graph, &error), MTS_STATUS_OK);
    return dense;
}

static float at(const mts_value *value, size_t index)
{
    assert_int_equal(value->block_count, 1);
    assert_int_equal(value->blocks[0].block, MTS_NONE); /* nothing is shared any more */
    return ((const float *)value->blocks[0].data)[index];
}

static void assert_near(float got, float want)
{
    assert_true(got - want < 1e-6f && want - got < 1e-6f);
}

static void shared_channels_coincide_and_others_lie_side_by_side(void **state)
{
    (void)state;
    const mts_graph *graphs[2] = {task_graph(0, 1, MTS_FN_RELU), task_graph(1, 1, MTS_FN_RELU)};
    const mts_dense dense = stitch(graphs, 2);
    const mts_graph *g = dense.graph;
    const uint32_t total = SHARED + 1 + 2;
    assert_int_equal(g->node_count, 3);
    assert_int_equal(g->values[g->nodes[1].output].shape.dims[0], 2);
    assert_int_equal(g->values[g->nodes[1].output].shape.dims[1], total);
    assert_int_equal(g->values[g->nodes[2].output].shape.dims[1], 6);
    const mts_value *weight = &g->values[g->nodes[1].inputs[1]];
    const float *u = numbers((size_t)SHARED * SHARED, 1.0f);
    for (uint32_t r = 0; r < SHARED; r++) {
        for (uint32_t c = 0; c < SHARED; c++) {
            assert_near(at(weight, r * total + c), u[r * SHARED + c]);
        }
        /* Y of the first task over its own channel, Y of the second over its two */
        assert_near(at(weight, r * total + SHARED), 1100.0f + (float)r);
        assert_near(at(weight, r * total + SHARED + 1), 1200.0f + 2.0f * (float)r);
    }
    /* exclusive filters have zeros over the other task's channels */
    assert_near(at(weight, SHARED * total + SHARED + 1), 0.0f);
    assert_near(at(weight, SHARED * total + SHARED + 2), 0.0f);
    assert_near(at(weight, (SHARED + 1) * total + SHARED), 0.0f);
    assert_near(at(weight, (SHARED + 1) * total + SHARED + 1), 202.0f);
}

static void channels_that_an_images_task_does_not_have_are_cleared(void **state)
{
    (void)state;
    const mts_graph *graphs[2] = {task_graph(0, 1, MTS_FN_RELU), task_graph(1, 2, MTS_FN_RELU)};
    const mts_dense dense = stitch(graphs, 2);
    const mts_node *node = &dense.graph->nodes[0];
    const mts_value *scale = &dense.graph->values[node->inputs[2]];
    const mts_value *bias = &dense.graph->values[node->inputs[3]];
    static const float has[3][5] = {{1, 1, 1, 0, 0}, {1, 1, 0, 1, 1}, {1, 1, 0, 1, 1}};
    static const float biases[3][5] = {
        {100, 101, 102, 0, 0}, {200, 201, 0, 202, 203}, {200, 201, 0, 202, 203}};
    assert_int_equal(scale->shape.rank, 2);
    assert_int_equal(scale->shape.dims[0], 3);
    for (size_t i = 0; i < 15; i++) {
        assert_near(at(scale, i), has[i / 5][i % 5]);
        assert_near(at(bias, i), biases[i / 5][i % 5]);
    }
}

static void an_activation_that_is_not_zero_at_zero_is_masked(void **state)
{
    (void)state;
    const mts_graph *graphs[2] = {task_graph(0, 1, MTS_FN_SIGMOID), task_graph(1, 1, MTS_FN_SIGMOID)};
    const mts_graph *g = stitch(graphs, 2).graph;
    assert_int_equal(g->node_count, 5);
    assert_int_equal(g->nodes[1].op, MTS_OP_BINARY);
    assert_int_equal(g->nodes[1].attrs.binary.kind, MTS_BIN_MUL);
    const mts_value *mask = &g->values[g->nodes[1].inputs[1]];
    static const float has[10] = {1, 1, 1, 0, 0, 1, 1, 0, 1, 1};
    for (size_t i = 0; i < 10; i++) {
        assert_near(at(mask, i), has[i]);
    }
}

static void equal_models_are_one_model_with_a_larger_batch(void **state)
{
    (void)state;
    const mts_graph *one = task_graph(0, 1, MTS_FN_RELU);
    mts_graph *graph = task_graph(0, 1, MTS_FN_RELU);
    for (uint32_t v = 0; v < graph->value_count; v++) { /* every block is shared */
        for (uint32_t b = 0; b < graph->values[v].block_count; b++) {
            const uint32_t id = 100 * v + b;
            graph->values[v].blocks[b].block = id;
            one->values[v].blocks[b].block = id;
        }
    }
    const mts_graph *graphs[2] = {one, graph};
    const mts_dense dense = stitch(graphs, 2);
    for (uint32_t n = 0; n < 3; n++) {
        assert_int_equal(dense.graph->values[dense.graph->nodes[n].output].shape.dims[1],
                         one->values[one->nodes[n].output].shape.dims[1]);
    }
    assert_int_equal(dense.graph->output_count, 1);
    assert_int_equal(dense.outputs[1][0].first, mts_shape_count(&one->outputs[0].shape));
}

static void outputs_are_read_in_place_or_cut_out(void **state)
{
    (void)state;
    const mts_graph *apart[2] = {task_graph(0, 1, MTS_FN_RELU), task_graph(1, 1, MTS_FN_RELU)};
    const mts_dense dense = stitch(apart, 2);
    assert_int_equal(dense.graph->output_count, 1);
    assert_int_equal(dense.inputs[1][0].first, SHARED * 4);
    assert_int_equal(dense.outputs[0][0].first, 0);
    assert_int_equal(dense.outputs[1][0].first, (6 + 3) * 4); /* image 1, channel 3 of 6 */
    const mts_graph *batches[2] = {task_graph(0, 2, MTS_FN_RELU), task_graph(1, 3, MTS_FN_RELU)};
    const mts_dense cut = stitch(batches, 2);
    assert_int_equal(cut.graph->output_count, 2);
    assert_int_equal(cut.graph->nodes[3].op, MTS_OP_SLICE);
    assert_int_equal(cut.outputs[1][0].port, 1);
    assert_int_equal(cut.graph->outputs[1].shape.dims[0], 3);
    assert_int_equal(cut.graph->outputs[1].shape.dims[1], 3);
    assert_int_equal(cut.inputs[1][0].first, 2 * SHARED * 4);
}

/* x and a convolution of it whose `rows` shared filters differ in place between the tasks, added up. */
static mts_graph *residual_graph(uint32_t task, bool swapped)
{
    mts_graph *graph = mts_graph_create(&arena, "residual");
    assert_non_null(graph);
    uint32_t x = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &(mts_shape){4, {1, 2, 1, 1}});
    const uint32_t a = add_conv(graph, x, 2, 2, 2, U_BLOCK, 100.0f, MTS_FN_RELU);
    const uint32_t b = add_conv(graph, a, 2, 2, 2, U_BLOCK + 1, 100.0f, MTS_FN_NONE);
    if (swapped) { /* the same filters, for channels in another order */
        uint32_t *order = mts_arena_zero(&arena, 2, sizeof *order);
        assert_non_null(order);
        order[0] = task == 0 ? 0 : 1;
        order[1] = task == 0 ? 1 : 0;
        graph->nodes[1].scatter = order;
    }
    mts_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    attrs.binary.kind = MTS_BIN_ADD;
    const uint32_t inputs[2] = {a, b};
    x = add(graph, MTS_OP_BINARY, inputs, 2, &attrs);
    assert_int_equal(mts_graph_add_output(graph, "y", x, MTS_TYPE_FLOAT32, &graph->values[x].shape, &error),
                     MTS_STATUS_OK);
    return graph;
}

static void added_channels_have_one_order_or_are_set_apart(void **state)
{
    (void)state;
    const mts_graph *same[2] = {residual_graph(0, false), residual_graph(1, false)};
    const mts_graph *other[2] = {residual_graph(0, true), residual_graph(1, true)};
    const mts_graph *g = stitch(same, 2).graph;
    assert_int_equal(g->values[g->nodes[2].output].shape.dims[1], 2);
    g = stitch(other, 2).graph;
    assert_int_equal(g->values[g->nodes[2].output].shape.dims[1], 4);
}

/* A 1x1 convolution to 6 channels, of which `shared` filters are block 1 from row 0 on, then one of 3
   groups; the first `same` of its groups are equal in all tasks. */
static mts_graph *grouped_graph(uint32_t task, uint32_t shared, uint32_t same)
{
    const float own = 100.0f * (float)(task + 1);
    mts_graph *graph = mts_graph_create(&arena, task == 0 ? "first" : "second");
    assert_non_null(graph);
    uint32_t x = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &(mts_shape){4, {1, 2, 2, 2}});
    x = add_conv(graph, x, 6, shared, 2, 1, own, MTS_FN_RELU);
    float *data = mts_arena_zero(&arena, 24, sizeof *data);
    assert_non_null(data);
    for (uint32_t i = 0; i < 24; i++) { /* groups of 2 channels give 4 */
        data[i] = (i / 8 < same ? 1.0f : own) + (float)i;
    }
    mts_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    attrs.conv = (mts_attrs_conv){.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 3};
    const uint32_t inputs[2] = {
        x, mts_graph_add_const(graph, NULL, MTS_TYPE_FLOAT32, &(mts_shape){4, {12, 2, 1, 1}}, data)};
    x = add(graph, MTS_OP_CONV, inputs, 2, &attrs);
    assert_int_equal(mts_graph_add_output(graph, "y", x, MTS_TYPE_FLOAT32, &graph->values[x].shape, &error),
                     MTS_STATUS_OK);
    return graph;
}

/* Groups in the stitched graph of two tasks. */
static uint32_t stitched_groups(uint32_t shared, uint32_t same)
{
    const mts_graph *graphs[2] = {grouped_graph(0, shared, same), grouped_graph(1, shared, same)};
    const mts_dense dense = stitch(graphs, 2);
    const mts_graph *g = dense.graph;
    const mts_node *node = &g->nodes[1];
    const uint32_t groups = node->attrs.conv.group;
    assert_int_equal(g->values[node->inputs[0]].shape.dims[1], 2 * groups);
    assert_int_equal(g->values[node->output].shape.dims[1], 4 * groups);
    const mts_value *weight = &g->values[node->inputs[1]];
    for (uint32_t i = 0; i < 24; i++) { /* the first task keeps its place */
        assert_near(at(weight, i), (i / 8 < same ? 1.0f : 100.0f) + (float)i);
    }
    return groups;
}

static void groups_of_a_convolution_coincide_as_a_whole_or_not_at_all(void **state)
{
    (void)state;
    assert_int_equal(stitched_groups(0, 0), 6);
    assert_int_equal(stitched_groups(4, 2), 4);
    assert_int_equal(stitched_groups(4, 3), 4); /* equal filters over channels that differ */
    assert_int_equal(stitched_groups(3, 2), 5); /* half of the second group's channels are shared */
    assert_int_equal(stitched_groups(4, 1), 5); /* the second group's filters differ */
    assert_int_equal(stitched_groups(6, 3), 3);
}

static void convolution_groups_of_unequal_sizes_are_refused(void **state)
{
    (void)state;
    mts_dense dense;
    mts_graph *other = grouped_graph(1, 0, 0);
    mts_node *node = &other->nodes[1];
    other->values[node->inputs[1]].shape = (mts_shape){4, {6, 2, 1, 1}};
    other->values[node->inputs[1]].blocks[0].out_count = 6;
    other->values[node->output].shape.dims[1] = 6;
    const mts_graph *graphs[2] = {grouped_graph(0, 0, 0), other};
    assert_int_equal(mts_dense_stitch(graphs, 2, &arena, &dense, &error), MTS_STATUS_UNSUPPORTED);
    assert_non_null(strstr(error.text, "differ in size"));
}

/* The second task's number of channels differs; behind its convolutions both have an LRN, then another
   convolution. */
static mts_graph *lrn_graph(uint32_t task)
{
    mts_graph *graph = task_graph(task, 1, MTS_FN_RELU);
    mts_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    attrs.lrn = (mts_attrs_lrn){.size = 3, .alpha = 1.0f, .beta = 0.5f, .bias = 1.0f};
    const uint32_t x = graph->outputs[0].value;
    const uint32_t y = add(graph, MTS_OP_LRN, &x, 1, &attrs);
    graph->outputs[0].value = add_conv(graph, y, 3, 0, 0, 0, 7.0f, MTS_FN_NONE);
    return graph;
}

static uint32_t count_nodes(const mts_graph *graph, mts_op op)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        count += graph->nodes[n].op == op ? 1 : 0;
    }
    return count;
}

static const mts_node *find_node(const mts_graph *graph, mts_op op)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].op == op) {
            return &graph->nodes[n];
        }
    }
    fail_msg("no %s", mts_op_name(op));
    return NULL;
}

static void what_looks_across_channels_runs_for_each_task_on_its_own(void **state)
{
    (void)state;
    const mts_graph *graphs[2] = {lrn_graph(0), lrn_graph(1)};
    assert_true(mts_dense_alike(graphs[0], graphs[1]));
    const mts_graph *g = stitch(graphs, 2).graph;
    assert_int_equal(count_nodes(g, MTS_OP_LRN), 2);
    assert_int_equal(count_nodes(g, MTS_OP_CONV), 4); /* one for both tasks */
    const mts_node *lrn = find_node(g, MTS_OP_LRN);
    const mts_shape *own = &g->values[lrn->output].shape;
    assert_int_equal(own->dims[0], 1);
    assert_int_equal(own->dims[1], 3);
    /* side by side again for the convolution behind it: 3 channels of each task, 2 images */
    const mts_shape *joined = &g->values[find_node(g, MTS_OP_CONCAT)->output].shape;
    assert_int_equal(joined->dims[0], 2);
    assert_int_equal(joined->dims[1], 6);
}

/* A convolution to 4 channels, of which 2 are shared, normalised over channels, with a scale of `own`. */
static mts_graph *norm_graph(uint32_t task, float epsilon)
{
    const float own = 100.0f * (float)(task + 1);
    mts_graph *graph = mts_graph_create(&arena, task == 0 ? "first" : "second");
    assert_non_null(graph);
    uint32_t x = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &(mts_shape){4, {1, SHARED, 2, 2}});
    x = add_conv(graph, x, 4, SHARED, SHARED, U_BLOCK, own, MTS_FN_NONE);
    const uint32_t scale =
        mts_graph_add_const(graph, NULL, MTS_TYPE_FLOAT32, &(mts_shape){3, {4, 1, 1}}, numbers(4, own));
    mts_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    attrs.norm = (mts_attrs_norm){.axes = 2u, .groups = 1, .epsilon = epsilon};
    const uint32_t inputs[2] = {x, scale};
    x = add(graph, MTS_OP_NORM, inputs, 2, &attrs);
    assert_int_equal(mts_graph_add_output(graph, "y", x, MTS_TYPE_FLOAT32, &graph->values[x].shape, &error),
                     MTS_STATUS_OK);
    return graph;
}

static void a_normalisation_over_channels_is_one_of_groups_side_by_side(void **state)
{
    (void)state;
    const mts_graph *graphs[2] = {norm_graph(0, 1e-5f), norm_graph(1, 1e-5f)};
    const mts_graph *g = stitch(graphs, 2).graph;
    const mts_node *norm = find_node(g, MTS_OP_NORM);
    assert_int_equal(g->node_count, 2);
    assert_int_equal(norm->attrs.norm.groups, 2);
    /* the shared filters are not merged, as the tasks' channels have to follow one another */
    assert_int_equal(g->values[norm->output].shape.dims[1], 8);
    const mts_value *scale = &g->values[norm->inputs[1]];
    static const float factors[16] = {100, 101, 102, 103, 0, 0, 0, 0, 0, 0, 0, 0, 200, 201, 202, 203};
    for (size_t i = 0; i < 16; i++) {
        assert_near(at(scale, i), factors[i]);
    }
}

static void a_normalisation_that_divides_zeros_by_zero_runs_for_each_task(void **state)
{
    (void)state;
    const mts_graph *graphs[2] = {norm_graph(0, 0.0f), norm_graph(1, 0.0f)};
    assert_int_equal(count_nodes(stitch(graphs, 2).graph, MTS_OP_NORM), 2);
}

/* Heads of attention over convolutions that share filters; a mask [1, rows, 1, 3] as an input, if rows > 0. */
static mts_graph *attention_graph(uint32_t task, uint32_t rows)
{
    const float own = 100.0f * (float)(task + 1);
    mts_graph *graph = mts_graph_create(&arena, task == 0 ? "first" : "second");
    assert_non_null(graph);
    const uint32_t x = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &(mts_shape){4, {1, 2, 1, 3}});
    uint32_t inputs[4];
    for (uint32_t i = 0; i < 3; i++) {
        inputs[i] = add_conv(graph, x, 4, SHARED, SHARED, U_BLOCK + i, own, MTS_FN_NONE);
    }
    if (rows > 0) {
        inputs[3] = mts_graph_add_input(graph, "mask", MTS_TYPE_FLOAT32, &(mts_shape){4, {1, rows, 1, 3}});
    }
    mts_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    attrs.attention = (mts_attrs_attention){.heads = 2, .scale = 0.5f};
    const uint32_t y = add(graph, MTS_OP_ATTENTION, inputs, rows > 0 ? 4 : 3, &attrs);
    assert_int_equal(mts_graph_add_output(graph, "y", y, MTS_TYPE_FLOAT32, &graph->values[y].shape, &error),
                     MTS_STATUS_OK);
    return graph;
}

static void heads_of_attention_stand_side_by_side(void **state)
{
    (void)state;
    for (uint32_t rows = 0; rows <= 2; rows++) {
        const mts_graph *graphs[2] = {attention_graph(0, rows), attention_graph(1, rows)};
        const mts_graph *g = stitch(graphs, 2).graph;
        const mts_node *attention = find_node(g, MTS_OP_ATTENTION);
        assert_int_equal(count_nodes(g, MTS_OP_ATTENTION), 1);
        assert_int_equal(attention->attrs.attention.heads, 4);
        assert_int_equal(g->values[attention->output].shape.dims[0], 2);
        assert_int_equal(g->values[attention->output].shape.dims[1], 8);
        if (rows > 0) { /* a mask for all heads stays one row, one for each head has rows for all of them */
            const mts_shape *mask = &g->values[attention->inputs[3]].shape;
            assert_int_equal(mask->dims[0], 2);
            assert_int_equal(mask->dims[1], rows == 1 ? 1 : 4);
        }
    }
}

static void graphs_with_other_nodes_or_images_are_not_alike(void **state)
{
    (void)state;
    const mts_graph *graph = task_graph(0, 1, MTS_FN_RELU);
    assert_true(mts_dense_alike(graph, task_graph(1, 4, MTS_FN_RELU)));
    assert_false(mts_dense_alike(graph, task_graph(0, 1, MTS_FN_TANH)));
    assert_false(mts_dense_alike(graph, residual_graph(0, false)));
}

static void widths_are_padded_to_the_widest_but_not_those_of_outputs(void **state)
{
    (void)state;
    const mts_graph *graphs[2] = {task_graph(0, 1, MTS_FN_RELU), task_graph(1, 1, MTS_FN_RELU)};
    const mts_graph *padded[2];
    assert_int_equal(mts_dense_widen(graphs, 2, &arena, padded, &error), MTS_STATUS_OK);
    assert_ptr_equal(padded[1], graphs[1]);
    const mts_graph *g = padded[0];
    assert_int_equal(mts_graph_verify(g, &error), MTS_STATUS_OK);
    assert_int_equal(g->values[g->nodes[0].output].shape.dims[1], SHARED + 2);
    assert_int_equal(g->values[g->nodes[1].output].shape.dims[1], SHARED + 2);
    assert_int_equal(g->values[g->nodes[2].output].shape.dims[1], 3);
    for (uint32_t n = 0; n < 3; n++) {
        assert_int_equal(mts_node_mul_adds(g, &g->nodes[n]),
                         mts_node_mul_adds(graphs[1], &graphs[1]->nodes[n]));
    }
    const mts_value *weight = &g->values[g->nodes[1].inputs[1]];
    assert_near(at(weight, 3), 0.0f);  /* over the padded input */
    assert_near(at(weight, 12), 0.0f); /* the padded filter */
    assert_near(at(&g->values[g->nodes[1].inputs[3]], SHARED + 1), 0.0f);
}

static void every_failing_allocation_is_out_of_memory(void **state)
{
    (void)state;
    const mts_graph *pairs[3][2] = {{task_graph(0, 2, MTS_FN_SIGMOID), task_graph(1, 3, MTS_FN_SIGMOID)},
                                    {lrn_graph(0), lrn_graph(1)},
                                    {attention_graph(0, 2), attention_graph(1, 2)}};
    for (int what = 0; what < 6; what++) {
        const mts_graph *const *graphs = pairs[what / 2];
        uint32_t failed = 1;
        for (uint32_t nth = 1; failed > 0; nth++) {
            mts_wrap_allocator faulty;
            mts_arena small;
            mts_dense dense;
            const mts_graph *padded[2];
            mts_wrap_allocator_init(&faulty, mts_allocator_default(), nth);
            mts_arena_init(&small, &faulty.base);
            const mts_status status = what % 2 == 0 ? mts_dense_stitch(graphs, 2, &small, &dense, &error)
                                                    : mts_dense_widen(graphs, 2, &small, padded, &error);
            failed = faulty.failed;
            assert_int_equal(status, failed > 0 ? MTS_STATUS_OUT_OF_MEMORY : MTS_STATUS_OK);
            mts_arena_release(&small);
            assert_int_equal(faulty.alive, 0);
        }
    }
}

static void a_scale_may_have_a_row_for_each_image(void **state)
{
    (void)state;
    const mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    const mts_shape x = {4, {3, 2, 1, 1}};
    const mts_shape weight = {4, {5, 2, 1, 1}};
    const mts_shape good[2] = {{1, {5}}, {2, {3, 5}}};
    const mts_shape bad[3] = {{2, {5, 3}}, {2, {1, 5}}, {3, {3, 5, 1}}};
    mts_shape out;
    for (int i = 0; i < 2; i++) {
        const mts_shape *inputs[3] = {&x, &weight, &good[i]};
        assert_int_equal(mts_node_infer(MTS_OP_CONV, &attrs, inputs, 3, &out, &error), MTS_STATUS_OK);
    }
    for (int i = 0; i < 3; i++) {
        const mts_shape *inputs[3] = {&x, &weight, &bad[i]};
        assert_int_equal(mts_node_infer(MTS_OP_CONV, &attrs, inputs, 3, &out, &error), MTS_STATUS_MALFORMED);
    }
}

static int open_arena(void **state)
{
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    mts_arena_release(&arena);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_arena, close_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shared_channels_coincide_and_others_lie_side_by_side),
        TEST(channels_that_an_images_task_does_not_have_are_cleared),
        TEST(an_activation_that_is_not_zero_at_zero_is_masked),
        TEST(equal_models_are_one_model_with_a_larger_batch),
        TEST(outputs_are_read_in_place_or_cut_out),
        TEST(added_channels_have_one_order_or_are_set_apart),
        TEST(groups_of_a_convolution_coincide_as_a_whole_or_not_at_all),
        TEST(convolution_groups_of_unequal_sizes_are_refused),
        TEST(what_looks_across_channels_runs_for_each_task_on_its_own),
        TEST(a_normalisation_over_channels_is_one_of_groups_side_by_side),
        TEST(a_normalisation_that_divides_zeros_by_zero_runs_for_each_task),
        TEST(heads_of_attention_stand_side_by_side),
        TEST(graphs_with_other_nodes_or_images_are_not_alike),
        TEST(widths_are_padded_to_the_widest_but_not_those_of_outputs),
        TEST(every_failing_allocation_is_out_of_memory),
        TEST(a_scale_may_have_a_row_for_each_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
