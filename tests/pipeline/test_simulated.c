/*
 * Pipelines on simulated devices: throughput grows with devices as the slowest stage allows, latency stays flat below
 * saturation and is bounded above it, and runs under random delays keep their order and their data.
 *
 * MTS_TEST_FRAMES: frames under random delays (1000). MTS_TEST_PRINT=1 prints the figures of docs/results/placement.md.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "pipeline/measure.h"
#include "pipeline/pipeline.h"
#include "platform/null/null.h"
#include "support/chain_world.h"
#include "support/nets.h"
#include "support/timed_device.h"

#define LAYERS 192u
#define MS 1000000u

static bool prints(void)
{
    return getenv("MTS_TEST_PRINT") != NULL;
}

static void make_net(chain_world *w, uint32_t layers)
{
    chain_world_make(w, layers, 1);
    timed_reset();
}

static void open_null(chain_world *w, uint32_t count, const timed_costs *costs)
{
    const mts_device_options options = {.allocator = mts_allocator_default()};
    mts_error error = {0};
    for (uint32_t d = 0; d < count; d++) {
        mts_null_limits limits;
        mts_null_limits_default(&limits);
        test_must(mts_null_open(&limits, &options, &w->devices[d], &error), &error, "null");
        timed_install(w->devices[d], costs);
    }
}

static void make_pipeline(chain_world *w, uint32_t devices, uint32_t slots, const mts_chain *chain,
                          bool replan)
{
    mts_error error = {0};
    const mts_pipeline_options options = {.devices = w->devices,
                                          .device_count = devices,
                                          .ids = chain_ids,
                                          .engine = {.slots = slots, .depth = 2},
                                          .stages = true,
                                          .chain = chain,
                                          .replan = replan};
    test_must(mts_pipeline_create(w->net.archive, &options, &w->pipeline, &error), &error, "pipeline");
}

static bool is_finished(const chain_world *w)
{
    mts_engine_run run = {0};
    return mts_pipeline_oldest(w->pipeline, &run) && run.finished;
}

/* Frames a second of the clock, submitted whenever there is room. */
static double throughput(chain_world *w, uint32_t frames)
{
    mts_error error = {0};
    uint32_t submitted = 0;
    uint32_t taken = 0;
    uint64_t first = 0;
    while (taken < frames) {
        mts_pipeline_advance(w->pipeline);
        if (is_finished(w)) {
            test_must(mts_pipeline_take(w->pipeline, &error), &error, "take");
            first = taken == 0 ? timed_now : first; /* from here on the pipeline is full */
            taken++;
        } else if (submitted < frames && mts_pipeline_can_start(w->pipeline)) {
            chain_world_submit(w);
            submitted++;
        } else {
            assert_true(timed_next());
        }
    }
    return (double)(frames - 1) / ((double)(timed_now - first) * 1e-9);
}

/* Shockwave's figure: so many times the frames of one device. */
static void throughput_grows_with_devices(void **state)
{
    (void)state;
    const timed_costs costs = {.launch_ns = MS / 4, .copy_ns = 20000, .copy_ns_per_byte = 1.0};
    double one = 0.0;
    for (uint32_t count = 1; count <= CHAIN_DEVICES; count++) {
        chain_world w;
        mts_chain chain = {.stage_count = 0};
        make_net(&w, LAYERS);
        open_null(&w, count, &costs);
        make_pipeline(&w, count, 2 * count + 1, NULL, false);
        const uint32_t parts = mts_pipeline_part_count(w.pipeline);
        uint32_t most = 0;
        for (uint32_t i = 0; i < parts; i++) {
            mts_session_stats stats;
            mts_engine_stats_get(mts_pipeline_part(w.pipeline, i), &stats);
            most = stats.launches > most ? stats.launches : most;
        }
        (void)chain;
        const double rate = throughput(&w, 200);
        /* The bound: the part with most launches, and nothing else. */
        const double bound = 1e9 / ((double)most * (double)costs.launch_ns);
        one = count == 1 ? rate : one;
        if (prints()) {
            print_message("%u devices: %.2f frames/s, %.2f times one; bound %.2f, of %u launches\n", count,
                          rate, rate / one, bound, most);
        }
        assert_int_equal(parts, count);
        assert_true(rate <= bound * 1.001 && rate >= bound * 0.9);
        assert_true(rate / one >= 0.9 * count);
        chain_world_close(&w);
    }
}

/* ---- arrivals ---- */

static uint32_t draws;

static double draw(void)
{
    draws++;
    return (double)(mts_hash(&draws, sizeof draws, 77) >> 40) / (double)(1u << 24);
}

/* A stage takes 10 ms, give or take a fifth. */
static uint64_t about_ten_ms(void *context, uint32_t launches)
{
    (void)context;
    (void)launches;
    return (uint64_t)((8.0 + 4.0 * draw()) * MS);
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return a < b ? -1 : a > b;
}

typedef struct latencies {
    double p50, p99, longest;
    uint32_t answered;
} latencies;

static latencies summarise(double *ms, uint32_t count)
{
    qsort(ms, count, sizeof *ms, compare);
    return (latencies){ms[count / 2], ms[count * 99 / 100], ms[count - 1], count};
}

/* Frames that arrive evenly at `load` of a frame each 10 ms; one that finds no room is dropped, as a camera's. */
static latencies arrivals(double load, uint32_t frames)
{
    chain_world w;
    const timed_costs costs = {.list_ns = about_ten_ms, .launch_ns = MS};
    const mts_chain chain = {.stage_count = 3, .stages = {{0, 0, 4}, {1, 4, 8}, {2, 8, 14}}};
    double *ms = calloc(frames, sizeof *ms);
    double *begun = calloc(frames + 1, sizeof *begun);
    uint32_t arrived = 0;
    uint32_t submitted = 0;
    uint32_t taken = 0;
    mts_error error = {0};
    make_net(&w, 12);
    open_null(&w, 3, &costs);
    make_pipeline(&w, 3, 5, &chain, false);
    const double gap = 10.0 * MS / load;
    const double start = (double)timed_now;
    while (arrived < frames || taken < submitted) {
        mts_pipeline_advance(w.pipeline);
        const double next = start + (double)arrived * gap;
        if (is_finished(&w)) {
            test_must(mts_pipeline_take(w.pipeline, &error), &error, "take");
            ms[taken] = ((double)timed_now - begun[taken]) / MS;
            taken++;
        } else if (arrived < frames && next <= (double)timed_now) {
            if (mts_pipeline_can_start(w.pipeline)) {
                begun[submitted++] = next;
                chain_world_submit(&w);
            }
            arrived++;
        } else {
            const uint64_t now = timed_now;
            const bool moved = timed_next();
            if (arrived < frames && (!moved || (double)timed_now > next)) {
                timed_now = (uint64_t)next + 1 > now ? (uint64_t)next + 1 : now;
            }
        }
    }
    const latencies found = summarise(ms, taken);
    free(ms);
    free(begun);
    chain_world_close(&w);
    return found;
}

/* The same stages with queues without bound between them, by the recursion of a tandem queue: a frame begins at a
   stage when it has come there and the frame before it has left. */
static latencies without_bound(double load, uint32_t frames)
{
    double left[3] = {0.0, 0.0, 0.0};
    double *ms = calloc(frames, sizeof *ms);
    for (uint32_t f = 0; f < frames; f++) {
        const double arrived = (double)f * 10.0 / load;
        double at = arrived;
        for (int s = 0; s < 3; s++) {
            at = fmax(at, left[s]) + 8.0 + 4.0 * draw();
            left[s] = at;
        }
        ms[f] = at - arrived;
    }
    const latencies found = summarise(ms, frames);
    free(ms);
    return found;
}

static void latency_is_flat_below_saturation_and_bounded_above(void **state)
{
    (void)state;
    const double loads[] = {0.5, 0.8, 0.9, 1.0, 1.1, 1.3};
    const uint32_t frames = 600;
    latencies least = {0};
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        draws = 0;
        const latencies on = arrivals(loads[i], frames);
        const latencies off = without_bound(loads[i], frames);
        const latencies later = without_bound(loads[i], 4 * frames);
        least = i == 0 ? on : least;
        if (prints()) {
            print_message(
                "load %.1f: back-pressure p50 %.1f p99 %.1f most %.1f ms, %u of %u answered; without p50 "
                "%.1f p99 %.1f ms, of four times as many frames %.1f ms\n",
                loads[i], on.p50, on.p99, on.longest, on.answered, frames, off.p50, off.p99, later.p99);
        }
        if (loads[i] <= 0.9) { /* flat: no frame is dropped, and the tail stays */
            assert_int_equal(on.answered, frames);
            assert_true(on.p99 <= 1.5 * least.p99);
        } else { /* bounded by the slots: five frames of 12 ms at most before one, and its own stages */
            assert_true(on.longest <= 5 * 12.0 + 3 * 12.0);
        }
        if (loads[i] > 1.05) { /* without bounds it grows with the run */
            assert_true(later.p99 > 3.0 * off.p99 && off.p99 > 5.0 * on.p99);
        }
    }
}

/* ---- order and data ---- */

static uint64_t any_delay(void *context, uint32_t launches)
{
    (void)context;
    (void)launches;
    return draw() < 0.1 ? 20 * MS : (uint64_t)(draw() * MS);
}

static void open_reference(chain_world *w, uint32_t count, const timed_costs *costs)
{
    mts_error error = {0};
    for (uint32_t d = 0; d < count; d++) {
        test_must(net_device_open("reference", NULL, &w->devices[d], &error), &error, "reference");
        timed_install(w->devices[d], costs);
    }
}

static void nothing_is_lost_or_changes_places(void **state)
{
    (void)state;
    enum { KINDS = 97 };
    chain_world w;
    float want[KINDS];
    const char *given = getenv("MTS_TEST_FRAMES");
    const uint32_t frames = given ? (uint32_t)strtoul(given, NULL, 10) : 1000;
    const timed_costs costs = {.list_ns = any_delay, .launch_ns = MS, .copy_ns = 1000};
    const mts_chain chain = {.stage_count = 4, .stages = {{2, 0, 1}, {0, 1, 2}, {1, 2, 3}, {3, 3, 6}}};
    mts_error error = {0};
    make_net(&w, 4);
    open_reference(&w, 4, &costs);
    make_pipeline(&w, 4, 7, &chain, false);
    for (uint32_t f = 0; f < KINDS; f++) { /* one by one */
        chain_world_fill(&w, f);
        chain_world_submit(&w);
        test_must(mts_pipeline_wait_until(w.pipeline, UINT64_MAX, &error), &error, "wait");
        test_must(mts_pipeline_take(w.pipeline, &error), &error, "take");
        want[f] = chain_world_answer(&w);
        assert_true(f == 0 || want[f] < want[0] || want[f] > want[0]);
    }
    uint32_t submitted = 0;
    uint32_t taken = 0;
    while (taken < frames) {
        mts_engine_run run = {0};
        mts_pipeline_advance(w.pipeline);
        if (is_finished(&w)) {
            (void)mts_pipeline_oldest(w.pipeline, &run);
            assert_int_equal(run.number, KINDS + taken + 1);
            test_must(mts_pipeline_take(w.pipeline, &error), &error, "take");
            const float got = chain_world_answer(&w);
            assert_memory_equal(&got, &want[taken % KINDS], sizeof got);
            taken++;
        } else if (submitted < frames && mts_pipeline_can_start(w.pipeline)) {
            chain_world_fill(&w, submitted % KINDS);
            chain_world_submit(&w);
            submitted++;
        } else {
            assert_true(timed_next());
        }
    }
    assert_int_equal(mts_pipeline_in_flight(w.pipeline), 0);
    assert_int_equal(submitted, frames);
    chain_world_close(&w);
}

/* Layers of equal cost have equal times, whatever they are called: all alike, or as parts of labels. */
static void names_of_layers_do_not_matter(void **state)
{
    (void)state;
    static const char *const names[] = {"same", "conv 3x3 x7 relu", " x1 ", "#0", ""};
    enum { FEW = 24 };
    const timed_costs costs = {.launch_ns = 250000};
    chain_world w;
    make_net(&w, FEW);
    open_null(&w, 1, &costs);
    for (uint32_t name = 0; name < sizeof names / sizeof names[0]; name++) {
        const mts_graph *graph = w.archive->tasks[0].graph;
        const mts_engine_options options = {.slots = 1};
        const uint32_t task = 0;
        mts_arena arena;
        mts_units units;
        mts_error error = {0};
        mts_arena_init(&arena, mts_allocator_default());
        for (uint32_t n = 0; n < graph->node_count; n++) {
            graph->nodes[n].name = names[name];
        }
        test_must(mts_units_make(w.archive, &task, 1, false, &arena, &units, &error), &error, "units");
        double *ms = mts_arena_zero(&arena, units.count, sizeof *ms);
        test_must(mts_measure_units(&units, w.devices[0], &options, ms, &error), &error, "times");
        assert_true(units.count >= FEW);
        for (uint32_t i = 1; i + 1 < units.count; i++) {
            assert_true(ms[i] > 0.5 * ms[units.count / 2] && ms[i] < 2.0 * ms[units.count / 2]);
        }
        mts_arena_release(&arena);
    }
    chain_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(throughput_grows_with_devices),
        cmocka_unit_test(latency_is_flat_below_saturation_and_bounded_above),
        cmocka_unit_test(nothing_is_lost_or_changes_places),
        cmocka_unit_test(names_of_layers_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
