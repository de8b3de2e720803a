/*
 * dense_widen.c: graphs padded with channels of zeros to the widths of the widest.
 */
#include "strategy/dense.h"
#include "strategy/dense_builder.h"

typedef struct widener {
    mts_channel_map map;
    bool *fixed;    /* per entry, used at roots: the channels stay as they are */
    uint32_t *most; /* per entry: channels of the widest task */
    mts_arena *arena;
    mts_error *error;
} widener;

static mts_status short_of_memory(const widener *w)
{
    return mts_fail_memory(w->error);
}

static bool fix(widener *w, uint32_t entry)
{
    if (entry == MTS_NONE || w->fixed[mts_channel_map_root(&w->map, entry)]) {
        return false;
    }
    w->fixed[mts_channel_map_root(&w->map, entry)] = true;
    return true;
}

static bool fix_node(widener *w, uint32_t node)
{
    const uint32_t inputs = w->map.graphs[0]->nodes[node].input_count;
    bool changed = fix(w, w->map.input_count + node);
    for (uint32_t i = 0; i < inputs; i++) {
        changed = fix(w, mts_channel_map_input(&w->map, 0, node, i)) || changed;
    }
    return changed;
}

/* Channels derived from others can be padded only where nothing else decides about
   them. */
static bool must_fix(const widener *w, uint32_t node)
{
    const mts_propagation *traits = &w->map.traits[node];
    const uint32_t entry = w->map.input_count + node;
    const uint32_t root = mts_channel_map_root(&w->map, entry);
    const bool derived = traits->pass == MTS_CHANNELS_JOINED || traits->pass == MTS_CHANNELS_REPEATED;
    return traits->pass == MTS_CHANNELS_FIXED || mts_propagation_grouped(traits) || traits->across ||
           (derived && (root != entry || w->fixed[root]));
}

static void find_fixed(widener *w)
{
    for (uint32_t i = 0; i < w->map.input_count; i++) {
        fix(w, i);
    }
    for (uint32_t t = 0; t < w->map.task_count; t++) {
        const mts_graph *graph = w->map.graphs[t];
        for (uint32_t o = 0; o < graph->output_count; o++) {
            fix(w, w->map.entry_of[t][graph->outputs[o].value]);
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < w->map.graphs[0]->node_count; n++) {
            changed = (must_fix(w, n) && fix_node(w, n)) || changed;
        }
    }
}

static uint32_t place(const mts_dense_place *places, uint32_t entry, uint32_t task, uint32_t channel)
{
    return places[entry].pos ? places[entry].pos[task][channel] : channel;
}

/* Places of a concatenation's or flattening's channels, from those of its inputs. */
static mts_status derive(widener *w, uint32_t task, uint32_t node, mts_dense_place *places)
{
    const mts_channel_map *map = &w->map;
    const uint32_t entry = map->input_count + node;
    const mts_propagation *traits = &map->traits[node];
    const bool join = traits->pass == MTS_CHANNELS_JOINED;
    const uint32_t inputs = join ? map->graphs[task]->nodes[node].input_count : 1;
    const uint32_t factor = join ? 1 : traits->factor;
    mts_dense_place *to = &places[entry];
    to->pos = mts_arena_zero(w->arena, (size_t)task + 1, sizeof *to->pos);
    uint32_t *pos = mts_arena_zero(w->arena, mts_channel_map_channels(map, task, entry), sizeof *pos);
    if (!to->pos || !pos) {
        return short_of_memory(w);
    }
    to->pos[task] = pos;
    to->total = 0;
    for (uint32_t i = 0; i < inputs; i++) {
        const uint32_t from = mts_channel_map_input(map, task, node, i);
        const uint32_t channels = mts_channel_map_channels(map, task, from);
        for (uint32_t c = 0; c < channels * factor; c++) {
            *pos++ = to->total + place(places, from, task, c / factor) * factor + c % factor;
        }
        to->total += places[from].total * factor;
    }
    return MTS_STATUS_OK;
}

/* Places of one task's channels; *padded says whether there are more places than channels
   anywhere. */
static mts_status place_task(widener *w, uint32_t task, mts_dense_place *places, bool *padded)
{
    const mts_channel_map *map = &w->map;
    mts_status status = MTS_STATUS_OK;
    *padded = false;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < map->entry_count; i++) {
        const uint32_t root = mts_channel_map_root(map, i);
        const uint32_t channels = mts_channel_map_channels(map, task, i);
        const bool derived =
            i >= map->input_count && (map->traits[i - map->input_count].pass == MTS_CHANNELS_JOINED ||
                                      map->traits[i - map->input_count].pass == MTS_CHANNELS_REPEATED);
        if (root != i) {
            places[i] = places[root];
        } else if (w->fixed[root]) {
            places[i] = (mts_dense_place){.total = channels};
        } else if (derived) {
            status = derive(w, task, i - map->input_count, places);
        } else {
            places[i] = (mts_dense_place){.total = w->most[root]};
        }
        *padded = *padded || places[i].total > channels;
    }
    return status;
}

static mts_status add_outputs(widener *w, uint32_t task, const mts_dense_builder *builder)
{
    mts_graph *graph = builder->graph;
    const mts_graph *from = w->map.graphs[task];
    mts_status status = MTS_STATUS_OK;
    for (uint32_t o = 0; status == MTS_STATUS_OK && o < from->output_count; o++) {
        const mts_port *port = &from->outputs[o];
        const uint32_t entry = w->map.entry_of[task][port->value];
        const uint32_t value = entry != MTS_NONE ? builder->value_of[entry]
                                                 : mts_dense_reference(graph, &from->values[port->value]);
        status = value == MTS_NONE
                     ? short_of_memory(w)
                     : mts_graph_add_output(graph, port->name, value, port->dtype, &port->shape, w->error);
    }
    return status;
}

static mts_status widen_task(widener *w, uint32_t task, const mts_graph **out)
{
    mts_dense_place *places = mts_arena_zero(w->arena, w->map.entry_count, sizeof *places);
    bool padded = false;
    *out = w->map.graphs[task];
    if (!places) {
        return short_of_memory(w);
    }
    mts_status status = place_task(w, task, places, &padded);
    if (status != MTS_STATUS_OK || !padded) {
        return status;
    }
    const mts_dense_request request = {.map = &w->map, .places = places, .first = task, .count = 1};
    mts_dense_builder builder = {.request = &request, .arena = w->arena, .error = w->error};
    status = mts_dense_build(&builder);
    MTS_TRY(status, add_outputs(w, task, &builder));
    *out = builder.graph;
    return status;
}

mts_status mts_dense_widen(const mts_graph *const *graphs, uint32_t count, mts_arena *arena,
                           const mts_graph **out, mts_error *error)
{
    widener w = {.arena = arena, .error = error};
    mts_status status = mts_channel_map_create(&w.map, graphs, count, arena, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    w.fixed = mts_arena_zero(arena, w.map.entry_count, sizeof *w.fixed);
    w.most = mts_arena_zero(arena, w.map.entry_count, sizeof *w.most);
    if (!w.fixed || !w.most) {
        return short_of_memory(&w);
    }
    find_fixed(&w);
    for (uint32_t t = 0; t < count; t++) {
        for (uint32_t i = 0; i < w.map.entry_count; i++) {
            const uint32_t channels = mts_channel_map_channels(&w.map, t, i);
            w.most[i] = channels > w.most[i] ? channels : w.most[i];
        }
    }
    for (uint32_t t = 0; status == MTS_STATUS_OK && t < count; t++) {
        status = widen_task(&w, t, &out[t]);
    }
    return status;
}
