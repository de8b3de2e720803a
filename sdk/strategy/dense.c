/*
 * dense.c: several graphs as one dense graph, and graphs padded to equal widths: places,
 * build, outputs.
 */
#include "strategy/dense.h"

#include <stdio.h>

#include "strategy/dense_build.h"

typedef struct stitcher {
    mts_channel_map map;
    mts_dense_place *places;
    uint32_t *value_of, *image_of;
    uint32_t *output_of; /* [entry]: output of the stitched graph, or MTS_NONE */
    mts_arena *arena;
    mts_dense *out;
    mts_error *error;
} stitcher;

static mts_status short_of_memory(mts_error *error)
{
    return mts_fail_memory(error);
}

static size_t elements_of_channel(const mts_shape *shape)
{
    size_t count = 1;
    for (uint32_t i = 2; i < shape->rank; i++) {
        count *= (size_t)shape->dims[i];
    }
    return count;
}

/* ---- one graph of several ---- */

static bool is_run(const stitcher *s, uint32_t entry, uint32_t task)
{
    const uint32_t *pos = s->places[entry].pos[task];
    const uint32_t channels = mts_channel_map_channels(&s->map, task, entry);
    for (uint32_t c = 1; c < channels; c++) {
        if (pos[c] != pos[0] + c) {
            return false;
        }
    }
    return true;
}

/* The task's images, and of them its channels where those follow one another. */
static mts_status cut_images(stitcher *s, uint32_t entry, uint32_t task, bool run, uint32_t *value)
{
    const mts_shape *own = mts_channel_map_shape(&s->map, task, entry);
    const mts_shape *all = &s->out->graph->values[s->value_of[entry]].shape;
    mts_attrs attrs = {.slice = {.start = {0}}};
    for (uint32_t i = 0; i < MTS_TENSOR_RANK_MAX; i++) {
        attrs.slice.step[i] = 1;
        attrs.slice.size[i] = i < all->rank ? all->dims[i] : 1;
    }
    attrs.slice.start[0] = s->image_of[task];
    attrs.slice.size[0] = own->dims[0];
    if (run) {
        attrs.slice.start[1] = s->places[entry].pos[task][0];
        attrs.slice.size[1] = own->dims[1];
    }
    return mts_graph_add_node(s->out->graph, MTS_OP_SLICE, "task", &s->value_of[entry], 1, &attrs, value,
                              s->error);
}

static mts_status pick_channels(stitcher *s, uint32_t entry, uint32_t task, uint32_t *value)
{
    const mts_shape index = {.rank = 1, .dims = {mts_channel_map_channels(&s->map, task, entry)}};
    int32_t *numbers = mts_arena_zero(s->arena, mts_shape_count(&index), sizeof *numbers);
    if (!numbers) {
        return short_of_memory(s->error);
    }
    for (int64_t c = 0; c < index.dims[0]; c++) {
        numbers[c] = (int32_t)s->places[entry].pos[task][c];
    }
    const uint32_t constant = mts_graph_add_const(s->out->graph, NULL, MTS_TYPE_INT32, &index, numbers);
    if (constant == MTS_NONE) {
        return short_of_memory(s->error);
    }
    const mts_attrs attrs = {.gather = {.axis = 1}};
    const uint32_t inputs[2] = {*value, constant};
    return mts_graph_add_node(s->out->graph, MTS_OP_GATHER, "channels", inputs, 2, &attrs, value, s->error);
}

static mts_status add_port(stitcher *s, uint32_t value, uint32_t *port)
{
    char name[32];
    mts_graph *graph = s->out->graph;
    *port = graph->output_count;
    (void)snprintf(name, sizeof name, "stitched%u", *port);
    return mts_graph_add_output(graph, name, value, MTS_TYPE_FLOAT32, &graph->values[value].shape, s->error);
}

/* Read out of the stitched value if the task's part of it is one piece, else cut out by
   nodes of its own. */
static mts_status add_output(stitcher *s, uint32_t task, uint32_t output)
{
    const mts_graph *graph = s->map.graphs[task];
    const uint32_t entry = s->map.entry_of[task][graph->outputs[output].value];
    mts_dense_port *port = &s->out->outputs[task][output];
    *port = (mts_dense_port){.port = MTS_NONE};
    if (entry == MTS_NONE) {
        return MTS_STATUS_OK;
    }
    const mts_shape *own = mts_channel_map_shape(&s->map, task, entry);
    const uint32_t total = s->places[entry].total;
    const bool run = is_run(s, entry, task);
    if (run && (own->dims[0] == 1 || own->dims[1] == (int64_t)total)) {
        const size_t channel = (size_t)s->image_of[task] * total + s->places[entry].pos[task][0];
        mts_status status = MTS_STATUS_OK;
        if (s->output_of[entry] == MTS_NONE) {
            status = add_port(s, s->value_of[entry], &s->output_of[entry]);
        }
        *port = (mts_dense_port){.port = s->output_of[entry], .first = channel * elements_of_channel(own)};
        return status;
    }
    uint32_t value = MTS_NONE;
    mts_status status = cut_images(s, entry, task, run, &value);
    if (status == MTS_STATUS_OK && !run) {
        status = pick_channels(s, entry, task, &value);
    }
    return status == MTS_STATUS_OK ? add_port(s, value, &port->port) : status;
}

static mts_status add_ports(stitcher *s)
{
    const uint32_t tasks = s->map.task_count;
    mts_status status = MTS_STATUS_OK;
    s->out->inputs = mts_arena_zero(s->arena, tasks, sizeof *s->out->inputs);
    s->out->outputs = mts_arena_zero(s->arena, tasks, sizeof *s->out->outputs);
    if (!s->out->inputs || !s->out->outputs) {
        return short_of_memory(s->error);
    }
    for (uint32_t t = 0; status == MTS_STATUS_OK && t < tasks; t++) {
        const mts_graph *graph = s->map.graphs[t];
        s->out->inputs[t] = mts_arena_zero(s->arena, graph->input_count, sizeof **s->out->inputs);
        s->out->outputs[t] = mts_arena_zero(s->arena, graph->output_count, sizeof **s->out->outputs);
        if (!s->out->inputs[t] || !s->out->outputs[t]) {
            return short_of_memory(s->error);
        }
        for (uint32_t i = 0; i < graph->input_count; i++) {
            const mts_shape *shape = &graph->inputs[i].shape;
            const size_t image = mts_shape_count(shape) / (size_t)shape->dims[0];
            s->out->inputs[t][i] = (mts_dense_port){.port = i, .first = s->image_of[t] * image};
        }
        for (uint32_t o = 0; status == MTS_STATUS_OK && o < graph->output_count; o++) {
            status = add_output(s, t, o);
        }
    }
    return status;
}

mts_status mts_dense_stitch(const mts_graph *const *graphs, uint32_t count, mts_arena *arena, mts_dense *out,
                            mts_error *error)
{
    stitcher s = {.arena = arena, .out = out, .error = error};
    *out = (mts_dense){0};
    mts_status status = mts_channel_map_create(&s.map, graphs, count, arena, error);
    MTS_TRY(status, mts_dense_places(&s.map, arena, &s.places, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    s.value_of = mts_arena_zero(arena, s.map.entry_count, sizeof *s.value_of);
    s.image_of = mts_arena_zero(arena, count, sizeof *s.image_of);
    s.output_of = mts_arena_zero(arena, s.map.entry_count, sizeof *s.output_of);
    if (!s.value_of || !s.image_of || !s.output_of) {
        return short_of_memory(error);
    }
    for (uint32_t w = 0; w < s.map.entry_count; w++) {
        s.output_of[w] = MTS_NONE;
    }
    const mts_dense_request request = {
        .map = &s.map, .places = s.places, .first = 0, .count = count, .clean = true};
    status = mts_dense_build(&request, arena, &out->graph, s.value_of, s.image_of, error);
    return status == MTS_STATUS_OK ? add_ports(&s) : status;
}
