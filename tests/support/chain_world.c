/*
 * chain_world.c: see chain_world.h.
 */
#include "support/chain_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/nets.h"

const char *const chain_ids[CHAIN_DEVICES] = {"a", "b", "c", "d", "e", "f"};

void chain_world_make(chain_world *w, uint32_t layers, uint32_t tasks)
{
    mts_net_plan plan = {.tasks = tasks, .shared = 4, .seed = 3};
    const mts_graph *graphs[CHAIN_TASKS] = {NULL};
    mts_error error = {0};
    memset(w, 0, sizeof *w);
    mts_arena_init(&w->arena, mts_allocator_default());
    for (uint32_t t = 0; t < tasks; t++) {
        mts_net net;
        mts_net_begin(&net, &plan, &w->arena, t);
        mts_net_value x = mts_net_input(&net, 4, 8);
        for (uint32_t i = 0; i < layers; i++) {
            x = mts_net_conv(&net, x, mts_net_channels(&net, true), 3, 1, NULL);
        }
        mts_net_end(&net, mts_net_mean(&net, x), 4);
        assert_false(net.failed);
        graphs[t] = net.graph;
    }
    test_must(net_make_as_is(graphs, tasks, &w->net, &error), &error, "net");
    (void)mts_shape_bytes(&graphs[0]->inputs[0].shape, MTS_TYPE_FLOAT32, &w->input_bytes);
    w->archive = w->net.archive;
    w->input = mts_arena_zero(&w->arena, w->input_bytes, 1);
}

void chain_world_close(chain_world *w)
{
    mts_pipeline_destroy(&w->pipeline);
    for (uint32_t d = 0; d < CHAIN_DEVICES; d++) {
        mts_device_destroy(&w->devices[d]);
    }
    if (w->archive != w->net.archive) {
        mts_archive_destroy(&w->archive);
    }
    net_release(&w->net);
    mts_arena_release(&w->arena);
}

void chain_world_fill(chain_world *w, uint32_t frame)
{
    for (size_t i = 0; i < w->input_bytes / sizeof(float); i++) {
        w->input[i] = (float)((frame * 31 + i * 7) % 97) / 97.0f;
    }
}

void chain_world_submit(chain_world *w)
{
    mts_error error = {0};
    test_must(mts_pipeline_set_input(w->pipeline, 0, 0, w->input, w->input_bytes, &error), &error, "input");
    test_must(mts_pipeline_submit(w->pipeline, &error), &error, "submit");
}

float chain_world_answer(const chain_world *w)
{
    const void *data = NULL;
    size_t size = 0;
    mts_error error = {0};
    test_must(mts_pipeline_output(w->pipeline, 0, 0, &data, &size, &error), &error, "output");
    return ((const float *)data)[0];
}
