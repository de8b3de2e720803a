/*
 * test_stages.c: what a task group ends with belongs to its stage: where the last layer has no launch of its own (a
 * concatenation made in place, a RESHAPE), the copies for it run before the deadline is looked at.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/control.h"
#include "engine/engine.h"
#include "platform/os/os.h"
#include "support/net.h"

enum { SIDE = 3, CHANNELS = 2, INPUT = CHANNELS * SIDE * SIDE, OUTPUT_MOST = 2 * INPUT };

typedef enum ending { END_CONCAT, END_PADDED_CONCAT, END_RESHAPE, END_ACTIVATION } ending;

typedef struct stage_world {
    mts_arena arena;
    test_net net;
    mts_device *device;
    mts_engine *engine;
} stage_world;

static float weights[CHANNELS * CHANNELS * 9];

static void must(mts_status status, const mts_error *error)
{
    if (status != MTS_STATUS_OK) {
        fail_msg("%s", error->text);
    }
}

static uint32_t add(mts_graph *graph, mts_op op, const uint32_t *inputs, uint32_t count,
                    const mts_attrs *attrs)
{
    mts_error error = {0};
    uint32_t value = MTS_NONE;
    must(mts_graph_add_node(graph, op, mts_op_name(op), inputs, count, attrs, &value, &error), &error);
    return value;
}

static uint32_t add_conv(mts_graph *graph, uint32_t x)
{
    const mts_shape shape = mts_shape_make(4, (const int64_t[]){CHANNELS, CHANNELS, 3, 3});
    const uint32_t inputs[] = {x, mts_graph_add_const(graph, "w", MTS_TYPE_FLOAT32, &shape, weights)};
    const mts_attrs attrs = {
        .conv = {.kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .pad = {1, 1, 1, 1}, .group = 1}};
    return add(graph, MTS_OP_CONV, inputs, 2, &attrs);
}

static const mts_graph *make_graph(mts_arena *arena, const char *name, ending end)
{
    mts_graph *graph = mts_graph_create(arena, name);
    const mts_shape shape = mts_shape_make(4, (const int64_t[]){1, CHANNELS, SIDE, SIDE});
    const mts_attrs negative = {.unary = {.act = {.fn = MTS_FN_NEG}}};
    const mts_attrs concat = {.concat = {.axis = 1}};
    const mts_attrs flat = {.reshape = {.shape = mts_shape_make(2, (const int64_t[]){1, INPUT})}};
    uint32_t value = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape);
    mts_error error = {0};
    value = end == END_CONCAT || end == END_ACTIVATION ? add(graph, MTS_OP_UNARY, &value, 1, &negative)
                                                       : add_conv(graph, value);
    if (end == END_CONCAT || end == END_PADDED_CONCAT) {
        value = add(graph, MTS_OP_CONCAT, (const uint32_t[]){value, value}, 2, &concat);
    } else if (end == END_RESHAPE) {
        value = add(graph, MTS_OP_RESHAPE, &value, 1, &flat);
    }
    must(mts_graph_add_output(graph, "y", value, MTS_TYPE_FLOAT32, &graph->values[value].shape, &error),
         &error);
    return graph;
}

static void open(stage_world *w, ending end)
{
    const mts_engine_options options = {.strategy = MTS_STRATEGY_SEQUENTIAL, .separate_inputs = true};
    mts_error error = {0};
    mts_arena_init(&w->arena, mts_allocator_default());
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        weights[i] = 1.0f + (float)i;
    }
    const mts_graph *graphs[] = {make_graph(&w->arena, "first", end),
                                 make_graph(&w->arena, "second", END_ACTIVATION)};
    must(net_make(graphs, 2, 0.0f, &w->net, &error), &error);
    must(net_device_open("reference", NULL, &w->device, &error), &error);
    must(mts_planned_engine_create(w->device, w->net.archive, &options, NULL, &w->engine, NULL, &error),
         &error);
}

static void close(stage_world *w)
{
    mts_engine_destroy(&w->engine);
    mts_device_destroy(&w->device);
    net_release(&w->net);
    mts_arena_release(&w->arena);
}

/* One run over inputs that begin with `base`. A deadline of 1 ms has passed when the first group has ended. */
static size_t run(stage_world *w, float base, uint32_t deadline_ms, float *out, uint64_t runs[2])
{
    float input[INPUT];
    mts_error error = {0};
    const void *data = NULL;
    size_t size = 0;
    for (int i = 0; i < INPUT; i++) {
        input[i] = base + (float)i;
    }
    for (uint32_t t = 0; t < 2; t++) {
        must(mts_engine_set_input(w->engine, t, 0, input, sizeof input, &error), &error);
    }
    mts_engine_deadline(w->engine, deadline_ms);
    must(mts_engine_submit(w->engine, &error), &error);
    const uint64_t begin = mts_os_clock_ns();
    while (deadline_ms == 1 && mts_os_clock_ns() - begin < 3000000u) {
    }
    must(mts_engine_wait(w->engine, &error), &error);
    must(mts_engine_output(w->engine, 0, 0, &data, &size, &error), &error);
    assert_true(size <= OUTPUT_MOST * sizeof *out);
    memcpy(out, data, size);
    for (uint32_t t = 0; t < 2; t++) {
        must(mts_engine_output_run(w->engine, t, &runs[t], &error), &error);
    }
    return size;
}

static void check(ending end)
{
    static const uint32_t deadlines[] = {1, 3600000};
    stage_world w = {.engine = NULL};
    float wanted[OUTPUT_MOST];
    float other[OUTPUT_MOST];
    float found[OUTPUT_MOST];
    uint64_t before[2];
    uint64_t after[2];
    open(&w, end);
    const size_t size = run(&w, 1.0f, 0, wanted, before);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run(&w, -7.0f, 0, other, before), size);
        assert_memory_not_equal(other, wanted, size);
        assert_int_equal(run(&w, 1.0f, deadlines[i], found, after), size);
        assert_int_equal(after[0], before[0] + 1);
        assert_int_equal(after[1], before[1] + (i == 0 ? 0u : 1u)); /* the second group is left out */
        assert_memory_equal(found, wanted, size);
    }
    close(&w);
}

static void a_concatenation_in_place_ends_with_its_group(void **state)
{
    (void)state;
    check(END_CONCAT);
}

static void a_copy_to_a_dense_output_follows_a_concatenation(void **state)
{
    (void)state;
    check(END_PADDED_CONCAT);
}

static void a_reshaped_output_ends_with_its_group(void **state)
{
    (void)state;
    check(END_RESHAPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_concatenation_in_place_ends_with_its_group),
        cmocka_unit_test(a_copy_to_a_dense_output_follows_a_concatenation),
        cmocka_unit_test(a_reshaped_output_ends_with_its_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
