/*
 * test_stitch.c: layers and members of hand-made graphs: what is merged, what stays unmerged, and in which order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "stitch/stitch.h"
#include "support/fault_each.h"

#define TASKS 2
static const float weights[4] = {1, 2, 3, 4};

static mts_arena arena;
static const mts_graph *graphs[TASKS];
static const uint32_t one_group[TASKS] = {0, 0};
static const uint32_t two_groups[TASKS] = {0, 1};
static const uint32_t slot_0 = 0;
static const uint32_t slot_1 = 1;

static int set_up(void **state)
{
    (void)state;
    mts_arena_init(&arena, mts_allocator_default());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mts_arena_release(&arena);
    return 0;
}

/* x -> conv 1x1 with weight block `first` -> conv 1x1 with weight block `second` -> y */
static const mts_graph *two_convolutions(uint32_t first, uint32_t second)
{
    const mts_shape image = mts_shape_make(4, (const int64_t[]){1, 2, 4, 4});
    const mts_shape weight = mts_shape_make(4, (const int64_t[]){2, 2, 1, 1});
    mts_attrs attrs = {0};
    attrs.conv = (mts_attrs_conv){.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1};
    const uint32_t blocks[2] = {first, second};
    mts_graph *graph = mts_graph_create(&arena, "net");
    uint32_t value = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &image);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t w = mts_graph_add_const(graph, i ? "w1" : "w0", MTS_TYPE_FLOAT32, &weight, weights);
        const uint32_t inputs[2] = {value, w};
        graph->values[w].blocks[0].block = blocks[i];
        assert_int_equal(
            mts_graph_add_node(graph, MTS_OP_CONV, i ? "c1" : "c0", inputs, 2, &attrs, &value, NULL),
            MTS_STATUS_OK);
    }
    assert_int_equal(mts_graph_add_output(graph, "y", value, MTS_TYPE_FLOAT32, &image, NULL), MTS_STATUS_OK);
    return graph;
}

static mts_stitch_request request(const uint32_t *group_of, uint32_t groups, const uint32_t *const *slots,
                                  bool share)
{
    return (mts_stitch_request){.graphs = graphs,
                                .graph_count = TASKS,
                                .group_of = group_of,
                                .group_count = groups,
                                .slot_of = slots,
                                .share = share};
}

static mts_stitched *stitch(const uint32_t *group_of, uint32_t groups, bool common_input, bool share)
{
    const uint32_t *const slots[TASKS] = {&slot_0, common_input ? &slot_0 : &slot_1};
    const mts_stitch_request wanted = request(group_of, groups, slots, share);
    mts_stitched *out = NULL;
    assert_int_equal(mts_stitch(&wanted, &arena, &out, NULL), MTS_STATUS_OK);
    return out;
}

static void work_on_a_common_input_with_common_weights_is_done_once(void **state)
{
    (void)state;
    graphs[0] = two_convolutions(7, 8);
    graphs[1] = two_convolutions(7, 8);
    const mts_stitched *s = stitch(one_group, 1, true, true);
    assert_int_equal(s->layer_count, 2);
    assert_int_equal(s->member_count, 2);
    assert_int_equal(s->members[0].tasks, TASKS);
    assert_int_equal(s->members[1].tasks, TASKS);
    assert_int_equal(s->value_of[0][graphs[0]->outputs[0].value],
                     s->value_of[1][graphs[1]->outputs[0].value]);
}

static void tasks_part_where_their_weights_differ(void **state)
{
    (void)state;
    graphs[0] = two_convolutions(7, 8);
    graphs[1] = two_convolutions(7, 9);
    const mts_stitched *s = stitch(one_group, 1, true, true);
    assert_int_equal(s->layer_count, 2);
    assert_int_equal(s->layers[0].count, 1);
    assert_int_equal(s->layers[1].count, 2);
    const mts_member *own = &s->members[s->layers[1].first];
    assert_int_equal(own[0].inputs[0], s->members[0].output);
    assert_int_equal(own[1].inputs[0], s->members[0].output);
    assert_int_not_equal(own[0].output, own[1].output);
}

static void equal_weights_on_different_inputs_are_different_work(void **state)
{
    (void)state;
    graphs[0] = two_convolutions(7, 8);
    graphs[1] = two_convolutions(7, 8);
    const mts_stitched *s = stitch(one_group, 1, false, true);
    assert_int_equal(s->layer_count, 2);
    assert_int_equal(s->member_count, 4);
    assert_int_equal(s->members[0].tasks, 1);
}

static void weights_without_an_identity_are_never_equal(void **state)
{
    (void)state;
    graphs[0] = two_convolutions(MTS_NONE, MTS_NONE);
    graphs[1] = two_convolutions(MTS_NONE, MTS_NONE);
    assert_int_equal(stitch(one_group, 1, true, true)->member_count, 4);
}

static void nothing_is_merged_where_weights_stay_private(void **state)
{
    (void)state;
    graphs[0] = two_convolutions(7, 8);
    graphs[1] = two_convolutions(7, 8);
    const mts_stitched *s = stitch(one_group, 1, true, false);
    assert_false(s->shared);
    assert_int_equal(s->layer_count, 2);
    assert_int_equal(s->member_count, 4);
}

static void groups_follow_one_another_and_share_no_layer(void **state)
{
    (void)state;
    graphs[0] = two_convolutions(7, 8);
    graphs[1] = two_convolutions(7, 8);
    const mts_stitched *s = stitch(two_groups, 2, true, true);
    assert_int_equal(s->layer_count, 4);
    for (uint32_t l = 0; l < s->layer_count; l++) {
        assert_int_equal(s->layers[l].group, l / 2);
        assert_int_equal(s->layers[l].count, 1);
    }
}

static void a_group_without_tasks_has_no_layers(void **state)
{
    static const uint32_t second[TASKS] = {1, 1};
    (void)state;
    graphs[0] = two_convolutions(7, 8);
    graphs[1] = two_convolutions(7, 8);
    const mts_stitched *s = stitch(second, 3, true, true);
    assert_int_equal(s->group_count, 3);
    assert_int_equal(s->layer_count, 2);
    assert_int_equal(s->layers[0].group, 1);
}

/* ---- what makes work another one ---- */

/* Changes one thing of the first convolution. */
typedef void change(mts_graph *graph);

static mts_value *weight_of(mts_graph *graph)
{
    return &graph->values[graph->nodes[0].inputs[1]];
}

static void other_block(mts_graph *graph)
{
    weight_of(graph)->blocks[0].block++;
}

static void other_rows(mts_graph *graph)
{
    weight_of(graph)->blocks[0].out_first++;
}

static void fewer_rows(mts_graph *graph)
{
    weight_of(graph)->blocks[0].out_count--;
}

static void other_columns(mts_graph *graph)
{
    weight_of(graph)->blocks[0].in_first++;
}

static void fewer_columns(mts_graph *graph)
{
    weight_of(graph)->blocks[0].in_count--;
}

static void no_blocks(mts_graph *graph)
{
    weight_of(graph)->block_count = 0;
}

static void other_type(mts_graph *graph)
{
    weight_of(graph)->dtype = MTS_TYPE_FLOAT16;
}

static void other_shape(mts_graph *graph)
{
    weight_of(graph)->shape = mts_shape_make(4, (const int64_t[]){2, 1, 2, 1});
}

static void other_attributes(mts_graph *graph)
{
    graph->nodes[0].attrs.conv.act.fn = MTS_FN_RELU;
}

static void scattered(mts_graph *graph)
{
    static const uint32_t order[] = {1, 0};
    graph->nodes[0].scatter = order;
}

/* The first convolution has a scale and a bias, or their places. */
static void give_inputs(mts_graph *graph, uint32_t count, uint32_t bias)
{
    mts_node *node = &graph->nodes[0];
    uint32_t *inputs = mts_arena_zero(&arena, 4, sizeof *inputs);
    memcpy(inputs, node->inputs, 2 * sizeof *inputs);
    inputs[2] = MTS_NONE;
    inputs[3] = bias;
    node->inputs = inputs;
    node->input_count = count;
}

static void a_place_for_a_scale(mts_graph *graph)
{
    give_inputs(graph, 3, MTS_NONE);
}

static void a_place_for_a_bias(mts_graph *graph)
{
    give_inputs(graph, 4, MTS_NONE);
}

static void a_bias(mts_graph *graph)
{
    give_inputs(graph, 4, graph->nodes[0].inputs[1]);
}

static uint32_t members_of(change *first, change *second)
{
    graphs[0] = two_convolutions(7, 8);
    graphs[1] = two_convolutions(7, 8);
    if (first) {
        first((mts_graph *)(uintptr_t)graphs[0]);
    }
    if (second) {
        second((mts_graph *)(uintptr_t)graphs[1]);
    }
    return stitch(one_group, 1, true, true)->member_count;
}

static void scattered_otherwise(mts_graph *graph)
{
    static const uint32_t order[] = {0, 1};
    graph->nodes[0].scatter = order;
}

static void work_is_the_same_only_where_nothing_of_it_differs(void **state)
{
    static change *const changes[] = {other_block, other_rows, fewer_rows,  other_columns,    fewer_columns,
                                      no_blocks,   other_type, other_shape, other_attributes, scattered};
    (void)state;
    assert_int_equal(members_of(NULL, NULL), 2);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        /* what differs goes on to differ: the second layer reads it */
        if (members_of(NULL, changes[i]) != 4 || members_of(changes[i], NULL) != 4) {
            fail_msg("change %zu is not noticed", i);
        }
    }
    assert_int_equal(members_of(NULL, a_place_for_a_scale), 4);
    assert_int_equal(members_of(a_bias, a_place_for_a_bias), 4);
    assert_int_equal(members_of(a_place_for_a_bias, a_bias), 4);
    assert_int_equal(members_of(a_bias, a_bias), 2);
    assert_int_equal(members_of(scattered, scattered), 2);
    assert_int_equal(members_of(scattered, scattered_otherwise), 4);
}

/* x -> two of its four columns -> y */
static const mts_graph *columns(int64_t first)
{
    const mts_shape shape = mts_shape_make(2, (const int64_t[]){1, 4});
    const mts_attrs attrs = {.slice = {.start = {0, first}, .step = {1, 1}, .size = {1, 2}}};
    mts_graph *graph = mts_graph_create(&arena, "columns");
    uint32_t value = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape);
    assert_int_equal(mts_graph_add_node(graph, MTS_OP_SLICE, "s", &value, 1, &attrs, &value, NULL),
                     MTS_STATUS_OK);
    assert_int_equal(
        mts_graph_add_output(graph, "y", value, MTS_TYPE_FLOAT32, &graph->values[value].shape, NULL),
        MTS_STATUS_OK);
    return graph;
}

static void slices_of_other_columns_are_other_work_in_one_layer(void **state)
{
    (void)state;
    graphs[0] = columns(0);
    graphs[1] = columns(0);
    assert_int_equal(stitch(one_group, 1, true, true)->member_count, 1);
    graphs[1] = columns(1);
    const mts_stitched *s = stitch(one_group, 1, true, true);
    assert_int_equal(s->layer_count, 1);
    assert_int_equal(s->member_count, 2);
}

static void an_operand_is_a_value_or_there_is_none(void **state)
{
    (void)state;
    graphs[0] = two_convolutions(7, 8);
    graphs[1] = two_convolutions(7, 8);
    a_place_for_a_bias((mts_graph *)(uintptr_t)graphs[0]);
    const mts_stitched *s = stitch(one_group, 1, true, true);
    const mts_member *member = &s->members[0];
    assert_ptr_equal(mts_member_operand(s, member, 1), &graphs[0]->values[graphs[0]->nodes[0].inputs[1]]);
    assert_null(mts_member_operand(s, member, 3));
    assert_null(mts_member_operand(s, member, 4));
}

/* ---- memory ---- */

static const mts_graph *chain(uint32_t count)
{
    const mts_shape shape = mts_shape_make(2, (const int64_t[]){1, 4});
    const mts_attrs attrs = {.unary = {.act = {.fn = MTS_FN_RELU}}};
    mts_graph *graph = mts_graph_create(&arena, "chain");
    uint32_t value = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(mts_graph_add_node(graph, MTS_OP_UNARY, NULL, &value, 1, &attrs, &value, NULL),
                         MTS_STATUS_OK);
    }
    assert_int_equal(mts_graph_add_output(graph, "y", value, MTS_TYPE_FLOAT32, &shape, NULL), MTS_STATUS_OK);
    return graph;
}

static mts_status stitch_with(const mts_allocator *allocator, void *data)
{
    const mts_stitch_request *wanted = data;
    mts_arena small;
    mts_stitched *out = NULL;
    mts_arena_init(&small, allocator);
    const mts_status status = mts_stitch(wanted, &small, &out, NULL);
    mts_arena_release(&small);
    return status;
}

static void each_failing_allocation_is_reported(void **state)
{
    (void)state;
    graphs[0] = two_convolutions(7, 8);
    graphs[1] = two_convolutions(7, 9);
    const uint32_t *const slots[TASKS] = {&slot_0, &slot_0};
    mts_stitch_request wanted = request(one_group, 1, slots, true);
    mts_fault_each(stitch_with, &wanted);
    for (uint32_t count = 20; count < 1500;
         count = count * 2 + 7) { /* each array needs a block of the arena once */
        graphs[0] = chain(count);
        graphs[1] = chain(count / 2);
        mts_fault_each(stitch_with, &wanted);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(work_on_a_common_input_with_common_weights_is_done_once),
        TEST(tasks_part_where_their_weights_differ),
        TEST(work_is_the_same_only_where_nothing_of_it_differs),
        TEST(a_group_without_tasks_has_no_layers),
        TEST(slices_of_other_columns_are_other_work_in_one_layer),
        TEST(an_operand_is_a_value_or_there_is_none),
        TEST(equal_weights_on_different_inputs_are_different_work),
        TEST(weights_without_an_identity_are_never_equal),
        TEST(nothing_is_merged_where_weights_stay_private),
        TEST(groups_follow_one_another_and_share_no_layer),
        TEST(each_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
