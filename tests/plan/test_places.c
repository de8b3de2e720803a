/*
 * test_places.c: which concatenations, slices and paddings of channels need no launch, and where their values lie.
 * That nothing is overwritten is the business of test_memory.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"

/* A network of 1 x C x 5 x 7 values. */
typedef struct world {
    mts_arena arena;
    mts_graph *graph;
    mts_stitched *stitched;
    mts_plan *plan;
} world;

static mts_shape image(int64_t channels)
{
    return mts_shape_make(4, (const int64_t[]){1, channels, 5, 7});
}

static uint32_t add(world *w, mts_op op, const uint32_t *inputs, uint32_t count, const mts_attrs *attrs)
{
    uint32_t value = MTS_NONE;
    mts_error error = {0};
    assert_int_equal(mts_graph_add_node(w->graph, op, NULL, inputs, count, attrs, &value, &error),
                     MTS_STATUS_OK);
    return value;
}

static uint32_t relu(world *w, uint32_t value)
{
    const mts_attrs attrs = {.unary = {.act = {.fn = MTS_FN_RELU}}};
    return add(w, MTS_OP_UNARY, &value, 1, &attrs);
}

static uint32_t concat(world *w, uint32_t a, uint32_t b, uint32_t axis)
{
    const mts_attrs attrs = {.concat = {.axis = axis}};
    return add(w, MTS_OP_CONCAT, (const uint32_t[]){a, b}, 2, &attrs);
}

static uint32_t channels(world *w, uint32_t value, int64_t first, int64_t count)
{
    const mts_attrs attrs = {
        .slice = {.start = {0, first, 0, 0}, .step = {1, 1, 1, 1}, .size = {1, count, 5, 7}}};
    return add(w, MTS_OP_SLICE, &value, 1, &attrs);
}

static uint32_t zeros(world *w, uint32_t value, int64_t before, int64_t after)
{
    const mts_attrs attrs = {
        .pad = {.mode = MTS_PAD_CONSTANT, .before = {0, before, 0, 0}, .after = {0, after, 0, 0}}};
    return add(w, MTS_OP_PAD, &value, 1, &attrs);
}

static uint32_t world_open(world *w, int64_t count)
{
    const mts_shape shape = image(count);
    mts_arena_init(&w->arena, mts_allocator_default());
    w->graph = mts_graph_create(&w->arena, "net");
    assert_non_null(w->graph);
    return mts_graph_add_input(w->graph, "x", MTS_TYPE_FLOAT32, &shape);
}

static void output(world *w, uint32_t value)
{
    assert_int_equal(mts_graph_add_output(w->graph, w->graph->output_count ? "z" : "y", value,
                                          MTS_TYPE_FLOAT32, &w->graph->values[value].shape, NULL),
                     MTS_STATUS_OK);
}

static void make_plan(world *w)
{
    static const uint32_t group = 0, slot = 0;
    static const uint32_t *const slots = &slot;
    const mts_graph *const graph = w->graph;
    mts_error error = {0};
    const mts_stitch_request request = {.graphs = &graph,
                                        .graph_count = 1,
                                        .group_of = &group,
                                        .group_count = 1,
                                        .slot_of = &slots,
                                        .share = true};
    assert_int_equal(mts_stitch(&request, &w->arena, &w->stitched, &error), MTS_STATUS_OK);
    const mts_plan_request wanted = {.stitched = w->stitched};
    assert_int_equal(mts_plan_create(&wanted, &w->arena, &w->plan, &error), MTS_STATUS_OK);
}

/* Launches of an operator. */
static uint32_t steps_of(const world *w, mts_op op)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->plan->step_count; i++) {
        const mts_step *step = &w->plan->steps[i];
        count += step->kind == MTS_STEP_LAYER && w->stitched->layers[step->first].op == op;
    }
    return count;
}

static const mts_storage *storage_of(const world *w, uint32_t value)
{
    return &w->plan->storages[w->plan->value_storage[w->stitched->value_of[0][value]]];
}

/* The plane of `host` where a value begins. */
static uint32_t plane_of(const world *w, uint32_t value, uint32_t host)
{
    const mts_storage *part = storage_of(w, value);
    const mts_storage *whole = storage_of(w, host);
    assert_int_equal(part->pitch, whole->pitch);
    return (uint32_t)((part->offset - whole->offset) / whole->pitch);
}

static void operands_are_written_where_their_concatenation_lies(void **state)
{
    world w;
    (void)state;
    const uint32_t x = world_open(&w, 3);
    const uint32_t a = relu(&w, x);
    const uint32_t b = relu(&w, a);
    const uint32_t c = concat(&w, b, a, 1);
    const uint32_t d = concat(&w, relu(&w, c), c, 1);
    output(&w, relu(&w, d));
    make_plan(&w);
    assert_int_equal(steps_of(&w, MTS_OP_CONCAT), 0);
    assert_int_equal(w.plan->order_count, 0);
    assert_int_equal(plane_of(&w, b, c), 0);
    assert_int_equal(plane_of(&w, a, c), 3);
    assert_int_equal(plane_of(&w, c, d), 6);
    assert_int_equal(plane_of(&w, a, d), 9);
    mts_arena_release(&w.arena);
}

static void what_lies_elsewhere_is_copied(void **state)
{
    world w;
    (void)state;
    const uint32_t x = world_open(&w, 3);
    const uint32_t a = relu(&w, x);
    const uint32_t twice = concat(&w, a, a, 1);
    const uint32_t with_input = concat(&w, x, relu(&w, twice), 1);
    const uint32_t rows = concat(&w, relu(&w, a), relu(&w, relu(&w, a)), 2);
    output(&w, relu(&w, with_input));
    output(&w, relu(&w, rows));
    make_plan(&w);
    assert_int_equal(steps_of(&w, MTS_OP_CONCAT), 1); /* of rows */
    assert_int_equal(w.plan->order_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(w.plan->conversions[w.plan->order[i]].part);
    }
    mts_arena_release(&w.arena);
}

static void channels_are_read_where_they_lie(void **state)
{
    world w;
    (void)state;
    const uint32_t x = world_open(&w, 8);
    const uint32_t a = relu(&w, x);
    const uint32_t low = channels(&w, a, 0, 5);
    const uint32_t high = channels(&w, a, 5, 3);
    const uint32_t more = relu(&w, high);
    const uint32_t all = concat(&w, concat(&w, low, high, 1), more, 1);
    const uint32_t b = relu(&w, all);
    output(&w, b);
    output(&w, channels(&w, b, 2, 3)); /* an output has to be whole */
    make_plan(&w);
    assert_int_equal(steps_of(&w, MTS_OP_SLICE), 1);
    assert_int_equal(steps_of(&w, MTS_OP_CONCAT), 0);
    assert_int_equal(w.plan->order_count, 0);
    assert_int_equal(plane_of(&w, low, all), 0);
    assert_int_equal(plane_of(&w, high, all), 5);
    assert_int_equal(plane_of(&w, more, all), 8);
    mts_arena_release(&w.arena);
}

static void planes_of_zeros_are_written_by_the_producer(void **state)
{
    world w;
    (void)state;
    const uint32_t x = world_open(&w, 3);
    const uint32_t a = relu(&w, x);
    const uint32_t more = zeros(&w, a, 0, 5);
    const uint32_t before = zeros(&w, relu(&w, more), 1, 0);
    output(&w, relu(&w, before));
    make_plan(&w);
    assert_int_equal(steps_of(&w, MTS_OP_PAD), 1);
    assert_int_equal(plane_of(&w, a, more), 0);
    assert_int_equal(storage_of(&w, a)->tail, 5 * storage_of(&w, more)->pitch);
    mts_arena_release(&w.arena);
}

/* As in a dense block: each concatenation begins with the operands of the one before. */
static void concatenations_that_continue_each_other_are_one(void **state)
{
    world w;
    uint32_t parts[6];
    uint32_t wholes[6];
    (void)state;
    const mts_attrs attrs = {.concat = {.axis = 1}};
    parts[0] = wholes[0] = relu(&w, world_open(&w, 3));
    for (uint32_t i = 1; i < 6; i++) {
        parts[i] = relu(&w, wholes[i - 1]);
        wholes[i] = add(&w, MTS_OP_CONCAT, parts, i + 1, &attrs);
    }
    output(&w, relu(&w, wholes[5]));
    make_plan(&w);
    assert_int_equal(steps_of(&w, MTS_OP_CONCAT), 0);
    assert_int_equal(w.plan->order_count, 0);
    assert_int_equal(plane_of(&w, wholes[2], wholes[5]), 0);
    assert_int_equal(plane_of(&w, parts[3], wholes[5]), 3 + 3 + 6);
    mts_arena_release(&w.arena);
}

/* A chain of values inside of each other that is longer than the limit is cut by copies. */
static void nested_values_have_a_limit(void **state)
{
    world w;
    (void)state;
    uint32_t value = relu(&w, world_open(&w, 1));
    for (uint32_t i = 0; i < 200; i++) {
        value = concat(&w, value, relu(&w, channels(&w, value, 0, 1)), 1);
    }
    output(&w, relu(&w, value));
    make_plan(&w);
    assert_int_equal(steps_of(&w, MTS_OP_CONCAT), 0);
    assert_int_equal(steps_of(&w, MTS_OP_SLICE), 0);
    assert_int_equal(w.plan->order_count, 1);
    mts_arena_release(&w.arena);
}

static uint32_t reshape(world *w, uint32_t value, uint32_t rank, const int64_t *dims)
{
    mts_attrs attrs = {.reshape = {.shape = mts_shape_make(rank, dims)}};
    return add(w, MTS_OP_RESHAPE, &value, 1, &attrs);
}

/* The two RESHAPEs of a channel shuffle: no dense copy before, none behind. */
static void planes_stay_when_leading_dimensions_change(void **state)
{
    world w;
    (void)state;
    const uint32_t a = relu(&w, world_open(&w, 6));
    const uint32_t joined = concat(&w, relu(&w, a), a, 1);
    const uint32_t groups = reshape(&w, joined, 5, (const int64_t[]){1, 2, 6, 5, 7});
    const mts_attrs swap = {.transpose = {.perm = {0, 2, 1, 3, 4}}};
    const uint32_t turned = add(&w, MTS_OP_TRANSPOSE, &groups, 1, &swap);
    const uint32_t shuffled = reshape(&w, turned, 4, (const int64_t[]){1, 12, 5, 7});
    const uint32_t high = channels(&w, shuffled, 6, 6);
    const uint32_t flat = reshape(&w, high, 3, (const int64_t[]){1, 6, 35});
    output(&w, relu(&w, flat));
    output(&w, reshape(&w, relu(&w, high), 3, (const int64_t[]){6, 5, 7})); /* an output has to be whole */
    make_plan(&w);
    assert_int_equal(steps_of(&w, MTS_OP_CONCAT), 0);
    assert_int_equal(steps_of(&w, MTS_OP_SLICE), 0);
    assert_int_equal(w.plan->order_count, 0);
    assert_int_equal(plane_of(&w, groups, joined), 0);
    assert_int_equal(plane_of(&w, high, turned), 6);
    mts_arena_release(&w.arena);
}

/* The two halves of [2, 6, 5, 7], as a shuffle's GATHERs read them, one of planes 2 and 3 alone. */
static void positions_of_leading_dimensions_are_read_where_they_lie(void **state)
{
    world w;
    (void)state;
    const uint32_t a = relu(&w, world_open(&w, 12));
    const uint32_t pair = reshape(&w, a, 5, (const int64_t[]){2, 1, 6, 5, 7});
    const mts_attrs half = {
        .slice = {.start = {1, 0, 0, 0, 0}, .step = {1, 1, 1, 1, 1}, .size = {1, 1, 6, 5, 7}}};
    const mts_attrs some = {
        .slice = {.start = {1, 0, 2, 0, 0}, .step = {1, 1, 1, 1, 1}, .size = {1, 1, 2, 5, 7}}};
    const mts_attrs both = {
        .slice = {.start = {0, 0, 2, 0, 0}, .step = {1, 1, 1, 1, 1}, .size = {2, 1, 2, 5, 7}}};
    const mts_attrs sum = {.binary = {.kind = MTS_BIN_ADD}};
    const uint32_t second = add(&w, MTS_OP_SLICE, &pair, 1, &half);
    const uint32_t two = add(&w, MTS_OP_SLICE, &pair, 1, &some);
    const uint32_t apart = add(&w, MTS_OP_SLICE, &pair, 1, &both); /* planes 2, 3, 8, 9 */
    const uint32_t image = reshape(&w, second, 4, (const int64_t[]){1, 6, 5, 7});
    output(&w, relu(&w, image));
    output(&w, add(&w, MTS_OP_BINARY, (const uint32_t[]){two, apart}, 2, &sum));
    make_plan(&w);
    assert_int_equal(steps_of(&w, MTS_OP_SLICE), 1);
    assert_int_equal(w.plan->order_count, 0);
    assert_int_equal(plane_of(&w, second, a), 6);
    assert_int_equal(plane_of(&w, image, a), 6);
    assert_int_equal(plane_of(&w, two, a), 8);
    mts_arena_release(&w.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_are_written_where_their_concatenation_lies),
        cmocka_unit_test(what_lies_elsewhere_is_copied),
        cmocka_unit_test(channels_are_read_where_they_lie),
        cmocka_unit_test(planes_of_zeros_are_written_by_the_producer),
        cmocka_unit_test(concatenations_that_continue_each_other_are_one),
        cmocka_unit_test(nested_values_have_a_limit),
        cmocka_unit_test(planes_stay_when_leading_dimensions_change),
        cmocka_unit_test(positions_of_leading_dimensions_are_read_where_they_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
