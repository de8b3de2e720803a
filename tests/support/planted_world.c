/*
 * planted_world.c: see planted_world.h.
 */
#include "support/planted_world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "engine/control.h"
#include "support/eval.h"

/* Smaller outputs than this are compared as if they were as large. */
#define LEAST 1e-3

static void make_task(planted_world *w, mts_net_build build, const mts_net_plan *plan, uint32_t task)
{
    mts_net net;
    mts_net_begin(&net, plan, &w->arena, task);
    build(&net);
    assert_false(net.failed);
    const size_t count = mts_shape_count(&net.graph->inputs[0].shape);
    float *input = mts_arena_zero(&w->arena, count, sizeof(float));
    float **values = mts_arena_zero(&w->arena, net.graph->value_count, sizeof *values);
    assert_true(input && values);
    for (size_t i = 0; i < count; i++) {
        input[i] = (float)((i * 37 + 11) % 101) / 50.0f - 1.0f;
    }
    w->graphs[task] = net.graph;
    w->input[task] = input;
    assert_true(mts_eval(net.graph, (const float *const *)&w->input[task], &w->arena, values));
    w->wanted[task] = values[net.graph->outputs[0].value];
}

void planted_world_make(planted_world *w, mts_net_build build, const mts_net_plan *plan)
{
    mts_error error = {0};
    *w = (planted_world){.tasks = plan->tasks};
    assert_in_range(plan->tasks, 1, PLANTED_TASKS);
    mts_arena_init(&w->arena, mts_allocator_default());
    for (uint32_t t = 0; t < plan->tasks; t++) {
        make_task(w, build, plan, t);
    }
    assert_int_equal(net_make(w->graphs, w->tasks, 0.0f, &w->net, &error), MTS_STATUS_OK);
}

void planted_world_release(planted_world *w)
{
    net_release(&w->net);
    mts_arena_release(&w->arena);
}

static void compare(const planted_world *w, const mts_engine *engine, uint32_t task, double tolerance)
{
    size_t count = 0;
    const float *got = net_output(engine, &w->net, task, 0, &count);
    const float *wanted = w->wanted[task];
    double most = LEAST;
    assert_non_null(got);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fabs((double)wanted[i]));
    }
    for (size_t i = 0; i < count; i++) {
        if (!(fabs((double)got[i] - (double)wanted[i]) <= tolerance * most)) {
            fail_msg("task %u, output %zu: %g instead of %g", task, i, (double)got[i], (double)wanted[i]);
        }
    }
}

void planted_world_check(const planted_world *w, mts_engine *engine, double tolerance)
{
    const void *data[PLANTED_TASKS];
    const void *const *inputs[PLANTED_TASKS];
    mts_error error = {0};
    for (uint32_t t = 0; t < w->tasks; t++) {
        data[t] = w->input[t];
        inputs[t] = &data[t];
    }
    const mts_status status = net_engine_run(engine, &w->net, inputs, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, MTS_STATUS_OK);
    for (uint32_t t = 0; t < w->tasks; t++) {
        compare(w, engine, t, tolerance);
    }
}

/* ---- some of the tasks ---- */

/* Copies of the first outputs of all tasks, in the world's arena. */
static float **make_results(planted_world *w)
{
    float **results = mts_arena_zero(&w->arena, w->tasks, sizeof *results);
    assert_non_null(results);
    for (uint32_t t = 0; t < w->tasks; t++) {
        const mts_graph *graph = w->graphs[t];
        const size_t count = mts_shape_count(&graph->values[graph->outputs[0].value].shape);
        results[t] = mts_arena_zero(&w->arena, count, sizeof *results[t]);
        assert_non_null(results[t]);
    }
    return results;
}

/* Whether task t's results have the same bits. */
static bool same_results(const planted_world *w, float *const *a, float *const *b, uint32_t t)
{
    const mts_graph *graph = w->graphs[t];
    const size_t count = mts_shape_count(&graph->values[graph->outputs[0].value].shape);
    return memcmp(a[t], b[t], count * sizeof(float)) == 0;
}

/* Runs the tasks of a set, all of which get an input. */
static void run_set(const planted_world *w, mts_engine *engine, uint32_t set, const float *input, float **out)
{
    const void *data[PLANTED_TASKS];
    const void *const *inputs[PLANTED_TASKS];
    mts_error error = {0};
    for (uint32_t t = 0; t < w->tasks; t++) {
        data[t] = input;
        inputs[t] = &data[t];
        assert_int_equal(mts_engine_enable(engine, t, (set >> t & 1u) != 0, &error), MTS_STATUS_OK);
    }
    assert_int_equal(net_engine_run(engine, &w->net, inputs, &error), MTS_STATUS_OK);
    for (uint32_t t = 0; t < w->tasks; t++) {
        size_t count = 0;
        const float *got = net_output(engine, &w->net, t, 0, &count);
        memcpy(out[t], got, count * sizeof *got);
    }
}

void planted_world_check_sets(planted_world *w, mts_engine *engine)
{
    const uint32_t all = (1u << w->tasks) - 1;
    const size_t size = mts_shape_count(&w->graphs[0]->inputs[0].shape);
    float **before = make_results(w), **after = make_results(w), **got = make_results(w);
    float *other = mts_arena_zero(&w->arena, size, sizeof *other);
    assert_non_null(other);
    for (size_t i = 0; i < size; i++) {
        other[i] = 0.5f - w->input[0][i];
    }
    run_set(w, engine, all, other, after);
    run_set(w, engine, all, w->input[0], before);
    for (uint32_t t = 0; t < w->tasks; t++) {
        assert_false(same_results(w, before, after, t));
    }
    for (uint32_t set = 1; set < all; set++) {
        run_set(w, engine, set, other, got);
        for (uint32_t t = 0; t < w->tasks; t++) {
            assert_true(same_results(w, got, (set >> t & 1u) != 0 ? after : before, t));
        }
        run_set(w, engine, all, w->input[0], got);
        for (uint32_t t = 0; t < w->tasks; t++) {
            assert_true(same_results(w, got, before, t));
        }
    }
}
