/*
 * dense.c: several graphs as one dense graph, and graphs padded to equal widths: places,
 * build, outputs.
 */
#include "strategy/dense.h"

#include <stdio.h>

#include "strategy/dense_builder.h"

typedef struct stitcher {
    mts_channel_map map;
    mts_dense_place *places;
    bool *apart;
    mts_dense_builder builder;
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

static mts_status add_port(stitcher *s, uint32_t value, mts_type dtype, uint32_t *port)
{
    char name[32];
    mts_graph *graph = s->out->graph;
    *port = graph->output_count;
    (void)snprintf(name, sizeof name, "stitched%u", *port);
    return mts_graph_add_output(graph, name, value, dtype, &graph->values[value].shape, s->error);
}

static bool is_apart(const stitcher *s, uint32_t entry)
{
#ifdef MTS_SMALL
    (void)s;
    (void)entry;
    return false;
#else
    return s->apart[entry];
#endif
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
    mts_status status = MTS_STATUS_OK;
    if (!is_apart(s, entry) && mts_dense_is_run(&s->builder, entry, task) &&
        (own->dims[0] == 1 || own->dims[1] == (int64_t)total)) {
        const size_t image = mts_dense_first_image(&s->builder, entry, task);
        const size_t channel = image * total + s->places[entry].pos[task][0];
        if (s->output_of[entry] == MTS_NONE) {
            status = add_port(s, s->builder.value_of[entry], MTS_TYPE_FLOAT32, &s->output_of[entry]);
        }
        *port = (mts_dense_port){.port = s->output_of[entry], .first = channel * elements_of_channel(own)};
        return status;
    }
    uint32_t value = MTS_NONE;
    status = mts_dense_alone(&s->builder, entry, task, &value);
    return status == MTS_STATUS_OK ? add_port(s, value, graph->outputs[output].dtype, &port->port) : status;
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
            s->out->inputs[t][i] =
                (mts_dense_port){.port = i, .first = mts_dense_first_image(&s->builder, i, t) * image};
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
    MTS_TRY(status, mts_dense_places(&s.map, arena, &s.places, &s.apart, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    s.output_of = mts_arena_zero(arena, s.map.entry_count, sizeof *s.output_of);
    if (!s.output_of) {
        return short_of_memory(error);
    }
    for (uint32_t w = 0; w < s.map.entry_count; w++) {
        s.output_of[w] = MTS_NONE;
    }
    const mts_dense_request request = {
        .map = &s.map, .places = s.places, .apart = s.apart, .first = 0, .count = count, .clean = true};
    s.builder = (mts_dense_builder){.request = &request, .arena = arena, .error = error};
    status = mts_dense_build(&s.builder);
    out->graph = s.builder.graph;
    return status == MTS_STATUS_OK ? add_ports(&s) : status;
}
