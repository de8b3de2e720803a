/*
 * libFuzzer target: the input chooses a family of random networks (tests/support/random_net.c) and a strategy; device
 * cpu has to compute what the reference computes.
 */
#include <math.h>

#include "support/net.h"
#include "support/random_net.h"
#include "fuzz/fuzz_bytes.h"

#define TASKS_MOST 3
#define DEVIATION 2e-3f /* of the largest value: sums in another order */

static mts_device *devices[2];
static const char *const names[2] = {"reference", "cpu"};

static void compare(const mts_engine *const engines[2], const test_net *net, uint32_t tasks)
{
    for (uint32_t t = 0; t < tasks; t++) {
        size_t count = 0, other = 0;
        const float *right = net_output(engines[0], net, t, 0, &count);
        const float *found = net_output(engines[1], net, t, 0, &other);
        float most = 1e-3f;
        if (!right || !found || count != other) {
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            most = isfinite(right[i]) ? fmaxf(most, fabsf(right[i])) : INFINITY;
        }
        for (size_t i = 0; isfinite(most) && i < count; i++) {
            if (!(fabsf(right[i] - found[i]) <= DEVIATION * most)) {
                fprintf(stderr, "task %u, output %zu: %g, the reference has %g\n", t, i, (double)found[i],
                        (double)right[i]);
                abort(); /* a finding */
            }
        }
    }
}

static void run(const random_family *family, mts_strategy strategy, mts_arena *arena)
{
    const mts_graph *graphs[TASKS_MOST];
    const void *ports[TASKS_MOST];
    const void *const *inputs[TASKS_MOST];
    mts_engine *engines[2] = {NULL, NULL};
    test_net net;
    mts_error error = {0};
    for (uint32_t t = 0; t < family->tasks; t++) {
        graphs[t] = random_net(family, t, arena);
        if (!graphs[t]) {
            abort();
        }
        ports[t] = random_input(family, t, graphs[t], 0, arena);
        inputs[t] = &ports[t];
    }
    if (net_make(graphs, family->tasks, 0.0f, &net, &error) != MTS_STATUS_OK) {
        abort(); /* a finding: random networks are networks */
    }
    const mts_engine_options options = {.strategy = strategy, .separate_inputs = !family->common};
    bool ran = true;
    for (int d = 0; d < 2; d++) {
        ran = ran &&
              mts_planned_engine_create(devices[d], net.archive, &options, NULL, &engines[d], NULL, &error) ==
                  MTS_STATUS_OK &&
              net_engine_run(engines[d], &net, inputs, &error) == MTS_STATUS_OK;
    }
    if (ran) {
        const mts_engine *const both[2] = {engines[0], engines[1]};
        compare(both, &net, family->tasks);
    }
    mts_engine_destroy(&engines[0]);
    mts_engine_destroy(&engines[1]);
    net_release(&net);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes in = {data, size};
    mts_arena arena;
    for (int d = 0; d < 2 && !devices[d]; d++) {
        if (net_device_open(names[d], NULL, &devices[d], NULL) != MTS_STATUS_OK) {
            abort();
        }
    }
    const random_family family = {.seed = fuzz_u32(&in) % 1000000,
                                  .tasks = 1 + fuzz_u8(&in) % TASKS_MOST,
                                  .steps = 1 + fuzz_u8(&in) % 8,
                                  .common = fuzz_u8(&in) % 2,
                                  .equal = fuzz_u8(&in) % 4 == 0};
    mts_arena_init(&arena, mts_allocator_default());
    run(&family, (mts_strategy)(fuzz_u8(&in) % MTS_STRATEGY_COUNT), &arena);
    mts_arena_release(&arena);
    return 0;
}
