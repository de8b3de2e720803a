/*
 * test_channel_blocks.c: networks whose values lie in blocks of channels compute what the reference does.
 *
 * Which values do so is checked in tests/plan/test_blocks.c.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/eval.h"
#include "support/net.h"
#include "support/nets.h"

#define TASKS_MOST 3
#define TOLERANCE 1e-5

typedef struct world {
    mts_arena arena;
    uint32_t tasks;
    const mts_graph *graphs[TASKS_MOST];
    float *input[TASKS_MOST];
    const float *wanted[TASKS_MOST];
    test_net net;
} world;

/* Inverted residuals on maps of plan->seed and 14 columns, with and without a residual, and readers of planes
   behind them. */
static void build(mts_net *net)
{
    static const int64_t sizes[] = {28, 14, 18, 10, 4};
    const mts_net_value x = mts_net_input(net, 3, sizes[net->plan->seed % (sizeof sizes / sizeof *sizes)]);
    /* behind a pool, no convolution's border reaches */
    const mts_net_value stem =
        mts_net_pool(net, mts_net_conv(net, x, mts_net_channels(net, true), 3, 1, NULL));
    const mts_net_value first = mts_net_conv(net, stem, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value narrow =
        mts_net_conv(net, mts_net_depthwise(net, first), mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value wide = mts_net_conv(net, narrow, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value sum = mts_net_conv(net, mts_net_depthwise(net, wide), narrow, 1, 1, &narrow);
    const mts_net_value more = mts_net_conv(net, sum, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value pair = mts_net_conv(net, mts_net_depthwise(net, more), narrow, 1, 1, &sum);
    const mts_net_value left = mts_net_conv(net, pair, mts_net_channels(net, true), 1, 1, NULL);
    const mts_net_value right = mts_net_conv(net, sum, mts_net_channels(net, true), 3, 1, NULL);
    mts_net_end(net, mts_net_mean(net, mts_net_concat(net, left, right)), 5);
}

static void make_world(world *w, const mts_net_plan *plan)
{
    mts_error error = {0};
    *w = (world){.tasks = plan->tasks};
    mts_arena_init(&w->arena, mts_allocator_default());
    for (uint32_t t = 0; t < plan->tasks; t++) {
        mts_net net;
        mts_net_begin(&net, plan, &w->arena, t);
        build(&net);
        assert_false(net.failed);
        w->graphs[t] = net.graph;
        const size_t count = mts_shape_count(&net.graph->inputs[0].shape);
        w->input[t] = mts_arena_zero(&w->arena, count, sizeof(float));
        float **values = mts_arena_zero(&w->arena, net.graph->value_count, sizeof *values);
        assert_true(w->input[t] && values);
        for (size_t i = 0; i < count; i++) {
            w->input[t][i] = (float)((i * 37 + 11) % 101) / 50.0f - 1.0f;
        }
        assert_true(mts_eval(net.graph, (const float *const *)&w->input[t], &w->arena, values));
        w->wanted[t] = values[net.graph->outputs[0].value];
    }
    assert_int_equal(net_make(w->graphs, w->tasks, 0.0f, &w->net, &error), MTS_STATUS_OK);
}

static void release_world(world *w)
{
    net_release(&w->net);
    mts_arena_release(&w->arena);
}

static void compare(const world *w, const mts_engine *engine)
{
    for (uint32_t t = 0; t < w->tasks; t++) {
        size_t count = 0;
        const float *got = net_output(engine, &w->net, t, 0, &count);
        double most = 1e-3;
        assert_non_null(got);
        for (size_t i = 0; i < count; i++) {
            most = fmax(most, fabs((double)w->wanted[t][i]));
        }
        for (size_t i = 0; i < count; i++) {
            if (!(fabs((double)got[i] - (double)w->wanted[t][i]) <= TOLERANCE * most)) {
                fail_msg("task %u, output %zu: %g instead of %g", t, i, (double)got[i],
                         (double)w->wanted[t][i]);
            }
        }
    }
}

/* Runs with all layers apart. */
static void run(const world *w, mts_device *device)
{
    const mts_kernel_config config = {.kernel = MTS_KERNEL_CONFIG_TILE, .rows = 6, .vectors = 4, .local = 16};
    const mts_kernel_configs forced = {.forced = &config};
    const mts_decision decision = {.configs = &forced};
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true};
    const void *data[TASKS_MOST];
    const void *const *inputs[TASKS_MOST];
    mts_engine *engine = NULL;
    mts_error error = {0};
    for (uint32_t t = 0; t < w->tasks; t++) {
        data[t] = w->input[t];
        inputs[t] = &data[t];
    }
    const mts_status status =
        mts_engine_create(device, w->net.archive, &options, &decision, NULL, &engine, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, MTS_STATUS_OK);
    assert_int_equal(net_engine_run(engine, &w->net, inputs, &error), MTS_STATUS_OK);
    compare(w, engine);
    mts_engine_destroy(&engine);
}

static void check(mts_device *device, const mts_net_plan *family)
{
    for (uint32_t seed = 0; seed < 5; seed++) {
        mts_net_plan plan = *family;
        world w;
        plan.seed = seed;
        make_world(&w, &plan);
        run(&w, device);
        release_world(&w);
    }
}

/* What MTS_TEST_DEVICE names, or skips the test: only `cpu` with vectors of 16 floats has blocks. */
static mts_device *device_with_blocks(void)
{
    mts_device *device = NULL;
    mts_error error = {0};
    if (net_device_open("opencl", NULL, &device, &error) != MTS_STATUS_OK) {
        skip();
    }
    if (!device->info.row_lanes) {
        mts_device_destroy(&device);
        skip();
    }
    return device;
}

static void one_network_agrees(void **state)
{
    (void)state;
    mts_device *device = device_with_blocks();
    check(device, &(mts_net_plan){.tasks = 1, .shared = 64});
    mts_device_destroy(&device);
}

static void tasks_that_share_all_weights_agree(void **state)
{
    (void)state;
    mts_device *device = device_with_blocks();
    check(device, &(mts_net_plan){.tasks = 3, .shared = 64});
    mts_device_destroy(&device);
}

static void tasks_that_share_some_or_no_weights_agree(void **state)
{
    (void)state;
    mts_device *device = device_with_blocks();
    check(device, &(mts_net_plan){.tasks = 3, .exclusive = 16});
    check(device, &(mts_net_plan){.tasks = 3, .shared = 16, .exclusive = 16, .shuffled = true});
    mts_device_destroy(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_network_agrees),
        cmocka_unit_test(tasks_that_share_all_weights_agree),
        cmocka_unit_test(tasks_that_share_some_or_no_weights_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
