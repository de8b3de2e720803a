/*
 * test_buffers.c: a device with small buffers. Weights go to several of them, layers whose members' weights are more
 * than one holds are cut, and what cannot be cut is refused by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/control.h"
#include "engine/state.h"
#include "support/net.h"
#include "support/synth.h"

#define TASKS 4
#define TOLERANCE 1e-5 /* of the largest output: a layer in parts may be computed by another kernel */

static mts_device *device;

typedef struct result {
    float *outputs;
    size_t count;
    uint32_t sections;
    mts_session_stats stats;
} result;

static mts_engine *make(const mts_archive *archive, mts_strategy strategy, uint64_t buffer, mts_status wanted,
                        mts_error *error)
{
    const mts_engine_options options = {.strategy = strategy, .separate_inputs = true};
    const mts_planning_options planning = {.grouping = MTS_GROUPING_FAMILY};
    const uint64_t before = device->info.buffer_bytes;
    mts_engine *engine = NULL;
    device->info.buffer_bytes = buffer != 0 ? buffer : before;
    const mts_status status =
        mts_planned_engine_create(device, archive, &options, &planning, &engine, NULL, error);
    device->info.buffer_bytes = before;
    if (status != wanted) {
        print_error("%s\n", error->text);
    }
    assert_int_equal(status, wanted);
    return engine;
}

static result run(const mts_archive *archive, mts_strategy strategy, uint64_t buffer)
{
    mts_error error = {0};
    result out = {0};
    mts_engine *engine = make(archive, strategy, buffer, MTS_STATUS_OK, &error);
    out.outputs = test_synth_run(engine, archive, &out.count);
    out.sections = engine->launches.weight_count;
    for (uint32_t i = 0; i < out.sections; i++) {
        assert_true(buffer == 0 || engine->launches.weights[i]->size <= buffer);
    }
    mts_engine_stats_get(engine, &out.stats);
    mts_engine_destroy(&engine);
    return out;
}

/* Outputs with buffers of `part` of what weights and activations take alike. */
static void compare(const mts_archive *archive, mts_strategy strategy, uint64_t part)
{
    result whole = run(archive, strategy, 0);
    assert_int_equal(whole.sections, 1);
    const uint64_t most = whole.stats.weight_bytes / part;
    const uint64_t limit = most > whole.stats.activation_bytes ? most : whole.stats.activation_bytes;
    result parts = run(archive, strategy, limit);
    assert_true(parts.sections > 1);
    assert_int_equal(whole.count, parts.count);
    const double difference = test_difference(whole.outputs, parts.outputs, whole.count);
    if (!(difference <= TOLERANCE)) {
        print_error("strategy %d, %u buffers: outputs differ by %g\n", strategy, parts.sections, difference);
        fail();
    }
    free(whole.outputs);
    free(parts.outputs);
}

static void weights_lie_in_several_buffers(void **state)
{
    const double prune = 0.8;
    test_synth b;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, TASKS, &prune, 1, 0.0);
    (void)state;
    test_synth_open(&b, &o);
    compare(b.archive, MTS_STRATEGY_SEQUENTIAL, 3);
    compare(b.archive, MTS_STRATEGY_COMPACT, 3);
    compare(b.archive, MTS_STRATEGY_COMPACT, 12); /* members of one layer apart */
    test_synth_close(&b);
}

static void shared_weights_stay_in_one_buffer(void **state)
{
    const double prune = 0.8;
    test_synth b;
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, TASKS, &prune, 1, 0.7);
    (void)state;
    test_synth_open(&b, &o);
    compare(b.archive, MTS_STRATEGY_COMPACT, 3);
    test_synth_close(&b);
}

/* Some tasks alone: their launches name the same buffers. */
static void filtered_launches_read_their_buffers(void **state)
{
    const double prune = 0.8;
    test_synth b;
    mts_error error = {0};
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, TASKS, &prune, 1, 0.0);
    (void)state;
    test_synth_open(&b, &o);
    result whole = run(b.archive, MTS_STRATEGY_COMPACT, 0);
    const uint64_t most = whole.stats.weight_bytes / 3;
    mts_engine *engine = make(b.archive, MTS_STRATEGY_COMPACT,
                              most > whole.stats.activation_bytes ? most : whole.stats.activation_bytes,
                              MTS_STATUS_OK, &error);
    size_t count = 0;
    float *all = test_synth_run(engine, b.archive, &count);
    float *zeros = calloc(mts_engine_largest_input(engine), sizeof *zeros);
    assert_non_null(zeros);
    assert_int_equal(mts_engine_fill_inputs(engine, zeros, &error), MTS_STATUS_OK);
    assert_int_equal(mts_engine_submit(engine, &error), MTS_STATUS_OK);
    assert_int_equal(mts_engine_wait(engine, &error), MTS_STATUS_OK);
    assert_int_equal(mts_engine_enable(engine, 1, false, &error), MTS_STATUS_OK);
    float *some = test_synth_run(engine, b.archive, &count);
    const size_t each = count / TASKS;
    assert_memory_equal(all, some, each * sizeof *all);
    assert_memory_not_equal(all + each, some + each, each * sizeof *all); /* of the zeros */
    assert_memory_equal(all + 2 * each, some + 2 * each, 2 * each * sizeof *all);
    free(zeros);
    free(all);
    free(some);
    free(whole.outputs);
    mts_engine_destroy(&engine);
    test_synth_close(&b);
}

static void weights_of_a_layer_that_no_buffer_holds_are_refused_by_name(void **state)
{
    test_synth b;
    mts_error error = {0};
    const mtsc_synth_options o = test_synth_options(MTSC_ARCH_RESNET18, 1, NULL, 0, 0.0);
    (void)state;
    test_synth_open(&b, &o);
    assert_null(make(b.archive, MTS_STRATEGY_COMPACT, (uint64_t)8 << 20, MTS_STATUS_LIMIT, &error));
    assert_non_null(strstr(error.text, "the weights of layer "));
    assert_non_null(strstr(error.text, "float16"));
    mts_engine *engine = make(b.archive, MTS_STRATEGY_COMPACT, (uint64_t)16 << 20, MTS_STATUS_OK, &error);
    assert_true(engine->launches.weight_count > 1);
    mts_engine_destroy(&engine);
    test_synth_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_lie_in_several_buffers),
        cmocka_unit_test(shared_weights_stay_in_one_buffer),
        cmocka_unit_test(filtered_launches_read_their_buffers),
        cmocka_unit_test(weights_of_a_layer_that_no_buffer_holds_are_refused_by_name),
    };
    static const char *const names[] = {"reference", "opencl", "cpu"};
    int failed = 0;
    for (size_t d = 0; d < sizeof names / sizeof names[0]; d++) {
        mts_error error = {0};
        if (net_device_open(names[d], NULL, &device, &error) != MTS_STATUS_OK) {
            print_message("%s: %s\n", names[d], error.text);
            continue;
        }
        failed += cmocka_run_group_tests_name(names[d], tests, NULL, NULL);
        mts_device_destroy(&device);
    }
    return failed;
}
