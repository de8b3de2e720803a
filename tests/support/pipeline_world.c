/*
 * pipeline_world.c: see pipeline_world.h.
 */
#include "support/pipeline_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/measure.h"
#include "support/must.h"
#include "support/random_net.h"

mts_device *pipeline_devices[PIPELINE_DEVICES];
const char *const pipeline_ids[PIPELINE_DEVICES] = {"first", "second", "third", "fourth"};

void pipeline_world_make(pipeline_world *w, const random_family *family)
{
    const mts_graph *graphs[PIPELINE_TASKS];
    mts_error error = {0};
    *w = (pipeline_world){.tasks = family->tasks, .separate = !family->common};
    mts_arena_init(&w->arena, mts_allocator_default());
    for (uint32_t t = 0; t < family->tasks; t++) {
        graphs[t] = random_net(family, t, &w->arena);
        assert_non_null(graphs[t]);
        for (uint32_t f = 0; f < PIPELINE_FRAMES; f++) {
            w->inputs[f][t] = random_input(family, t, graphs[t], f, &w->arena);
            assert_non_null(w->inputs[f][t]);
        }
    }
    test_must(net_make(graphs, family->tasks, 0.0f, &w->net, &error), &error, "net");
    w->options = (mts_pipeline_options){
        .devices = pipeline_devices,
        .ids = pipeline_ids,
        .stages = true,
        .groups = true,
        .engine = {.separate_inputs = w->separate, .slots = PIPELINE_FRAMES, .depth = 2}};
}

void pipeline_world_release(pipeline_world *w)
{
    net_release(&w->net);
    mts_arena_release(&w->arena);
}

/* One device, by the way of one. */
mts_pipeline *pipeline_world_one(const pipeline_world *w)
{
    mts_error error = {0};
    mts_engine *engine = NULL;
    mts_pipeline *p = NULL;
    test_must(mts_planned_engine_create(pipeline_devices[0], w->net.archive, &w->options.engine,
                                        &w->options.how, &engine, NULL, &error),
              &error, "engine");
    test_must(mts_pipeline_of_engine(&engine, mts_allocator_default(), &p, &error), &error, "pipeline");
    return p;
}

/* Units of the archive. */
uint32_t pipeline_world_units(const pipeline_world *w)
{
    mts_arena arena;
    mts_units units;
    uint32_t tasks[PIPELINE_TASKS] = {0, 1, 2};
    mts_arena_init(&arena, mts_allocator_default());
    assert_int_equal(mts_units_make(w->net.archive, tasks, w->tasks, w->separate, &arena, &units, NULL),
                     MTS_STATUS_OK);
    const uint32_t count = units.count;
    mts_arena_release(&arena);
    return count;
}

mts_pipeline *pipeline_world_chain(const pipeline_world *w, const mts_chain *chain)
{
    mts_error error = {0};
    mts_pipeline *p = NULL;
    mts_pipeline_options options = w->options;
    options.device_count = PIPELINE_DEVICES;
    options.chain = chain;
    test_must(mts_pipeline_create(w->net.archive, &options, &p, &error), &error, "chain");
    return p;
}

/* Stages that end at these units, on the devices in their order. */
mts_chain pipeline_chain_of(uint32_t count, const uint32_t *ends, uint32_t stages)
{
    mts_chain chain = {.stage_count = 0};
    uint32_t at = 0;
    for (uint32_t s = 0; s < stages; s++) {
        const uint32_t end = s + 1 == stages ? count : ends[s];
        if (end > at) {
            chain.stages[chain.stage_count] =
                (mts_chain_stage){.device = chain.stage_count, .first = at, .end = end};
            chain.stage_count++;
            at = end;
        }
    }
    return chain;
}

void pipeline_world_give(const pipeline_world *w, mts_pipeline *p, uint32_t frame)
{
    mts_error error = {0};
    for (uint32_t t = 0; t < w->tasks; t++) {
        const mts_graph *graph = w->net.archive->tasks[t].graph;
        for (uint32_t i = 0; i < graph->input_count; i++) {
            size_t size = 0;
            (void)mts_shape_bytes(&graph->inputs[i].shape, graph->inputs[i].dtype, &size);
            test_must(mts_pipeline_set_input(p, t, i, w->inputs[frame][t], size, &error), &error, "input");
        }
    }
}

void pipeline_world_submit(mts_pipeline *p)
{
    mts_error error = {0};
    while (!mts_pipeline_can_start(p)) { /* the first part has its two runs */
        mts_pipeline_advance(p);
    }
    test_must(mts_pipeline_submit(p, &error), &error, "submit");
}

void pipeline_world_take(mts_pipeline *p)
{
    mts_error error = {0};
    test_must(mts_pipeline_wait_until(p, UINT64_MAX, &error), &error, "wait");
    test_must(mts_pipeline_take(p, &error), &error, "take");
}

/* All outputs of the run that was taken last, one after another; the caller frees them. */
unsigned char *pipeline_world_read(const pipeline_world *w, const mts_pipeline *p, size_t *size)
{
    unsigned char *all = NULL;
    *size = 0;
    for (uint32_t t = 0; t < w->tasks; t++) {
        for (uint32_t o = 0; o < w->net.archive->tasks[t].graph->output_count; o++) {
            const void *data = NULL;
            size_t own = 0;
            mts_error error = {0};
            const mts_status status = mts_pipeline_output(p, t, o, &data, &own, &error);
            if (status == MTS_STATUS_NOT_FOUND) { /* it has not run yet */
                continue;
            }
            test_must(status, &error, "output");
            all = realloc(all, *size + own + 1);
            assert_non_null(all);
            memcpy(all + *size, data, own);
            *size += own;
        }
    }
    return all;
}

/* Runs all frames through both, the second with several in flight, and compares every output. */
void pipeline_world_same(const pipeline_world *w, mts_pipeline *one, mts_pipeline *other, const char *how)
{
    unsigned char *want[PIPELINE_FRAMES];
    size_t want_size[PIPELINE_FRAMES];
    for (uint32_t f = 0; f < PIPELINE_FRAMES; f++) {
        pipeline_world_give(w, one, f);
        pipeline_world_submit(one);
        pipeline_world_take(one);
        want[f] = pipeline_world_read(w, one, &want_size[f]);
    }
    uint32_t taken = 0;
    for (uint32_t f = 0; f < PIPELINE_FRAMES; f++) {
        while (!mts_pipeline_can_start(other)) {
            mts_pipeline_advance(other);
        }
        pipeline_world_give(w, other, f);
        pipeline_world_submit(other);
    }
    for (; taken < PIPELINE_FRAMES; taken++) {
        size_t size = 0;
        pipeline_world_take(other);
        unsigned char *got = pipeline_world_read(w, other, &size);
        assert_int_equal(size, want_size[taken]);
        if (memcmp(got, want[taken], size) != 0) {
            print_error("%s: frame %u differs\n", how, taken);
            fail();
        }
        free(got);
        free(want[taken]);
    }
}

void pipeline_world_compare(const pipeline_world *w, const mts_chain *chain, const char *how)
{
    mts_pipeline *one = pipeline_world_one(w);
    mts_pipeline *other = pipeline_world_chain(w, chain);
    assert_true(mts_pipeline_is_engine(one) && !mts_pipeline_is_engine(other));
    pipeline_world_same(w, one, other, how);
    mts_pipeline_destroy(&one);
    mts_pipeline_destroy(&other);
}
