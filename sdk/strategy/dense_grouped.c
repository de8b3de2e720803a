/*
 * dense_grouped.c: stitched channels of a grouped convolution.
 *
 * It stays grouped: a task's group reads a run of stitched channels that begins at a
 * multiple of the group's size, and writes the run of the same number. So groups coincide as
 * a whole or not at all. Where single channels of a group were merged before, or the filters
 * of groups that coincide differ, the input channels of the later task stay unmerged, and the
 * pass is made again.
 */
#include "strategy/dense_work.h"

#ifndef MTS_SMALL

typedef struct grouped {
    mts_dense_site site;
    mts_dense_group *in;
    uint32_t entry;      /* of the input */
    uint32_t read, made; /* channels of a group: of the input, of the output */
    bool fresh;          /* the output's channels have no places yet */
    bool fits;
} grouped;

static mts_status open_grouped(mts_dense_space *s, grouped *g, uint32_t node)
{
    const mts_channel_map *map = s->map;
    mts_status status = mts_dense_site_open(s, &g->site, node, true);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    g->entry = mts_channel_map_input(map, 0, node, 0);
    g->in = mts_dense_group_of(s, g->entry);
    g->read = (uint32_t)g->site.weights[0]->shape.dims[1];
    g->made = mts_channel_map_channels(map, 0, g->site.out) / map->graphs[0]->nodes[node].attrs.conv.group;
    g->fresh = !g->site.to->set;
    g->fits = true;
    for (uint32_t t = 1; t < map->task_count; t++) {
        const mts_node *other = &map->graphs[t]->nodes[node];
        if ((uint32_t)g->site.weights[t]->shape.dims[1] != g->read ||
            mts_channel_map_channels(map, t, g->site.out) != g->made * other->attrs.conv.group) {
            return mts_dense_refuse(s, node, "the tasks' convolution groups differ in size");
        }
    }
    if (g->fresh && !mts_dense_group_open(s, g->site.to, g->site.out, g->in->total / g->read * g->made + 1)) {
        return mts_dense_short(s);
    }
    return status;
}

/* Whether a task's group is a run of its own place; `merged`: other tasks have some of it. */
static bool is_aligned(const grouped *g, uint32_t task, uint32_t group, bool *merged)
{
    const uint32_t *pos = g->in->pos[task] + (size_t)group * g->read;
    bool run = pos[0] % g->read == 0;
    *merged = false;
    for (uint32_t i = 0; i < g->read; i++) {
        run = run && pos[i] == pos[0] + i;
        for (uint32_t u = 0; u < task; u++) {
            *merged = *merged || g->in->at[(size_t)pos[i] * g->site.tasks + u] != MTS_NONE;
        }
    }
    return run;
}

static mts_status separate_group(mts_dense_space *s, grouped *g, uint32_t task, uint32_t group)
{
    mts_status status = MTS_STATUS_OK;
    g->fits = false;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < g->read; i++) {
        status = mts_dense_separate(s, g->site.node, g->entry, task, group * g->read + i);
    }
    return status;
}

/* Any place, where the pass will be made again. */
static mts_status put_anywhere(mts_dense_space *s, grouped *g, uint32_t task, uint32_t channel)
{
    if (!mts_dense_group_reserve(s, g->site.to)) {
        return mts_dense_short(s);
    }
    mts_dense_group_put(s, g->site.to, task, channel, g->site.to->total++);
    return MTS_STATUS_OK;
}

static mts_status place_channel(mts_dense_space *s, grouped *g, uint32_t task, uint32_t channel, bool aligned)
{
    mts_dense_group *to = g->site.to;
    const uint32_t group = channel / g->made;
    const uint32_t wanted = g->in->pos[task][(size_t)group * g->read] / g->read * g->made + channel % g->made;
    if (g->fresh && !aligned) {
        return put_anywhere(s, g, task, channel);
    }
    if (g->fresh) {
        mts_dense_group_put(s, to, task, channel, wanted);
    }
    mts_status status = MTS_STATUS_OK;
    if (to->pos[task][channel] != wanted) {
        status = mts_dense_separate(s, g->site.node, g->site.out, task, channel);
        MTS_TRY(status, separate_group(s, g, task, group));
    } else if (aligned &&
               mts_dense_contradiction(&g->site, task, g->site.row_of[task][channel], wanted) != MTS_NONE) {
        status = separate_group(s, g, task, group);
    }
    return status;
}

static mts_status place_group(mts_dense_space *s, grouped *g, uint32_t task, uint32_t group)
{
    bool merged = false;
    const bool aligned = is_aligned(g, task, group, &merged);
    mts_status status = MTS_STATUS_OK;
    if (!aligned) {
        g->fits = false;
        status = merged ? separate_group(s, g, task, group) : status;
    }
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < g->made; i++) {
        status = place_channel(s, g, task, group * g->made + i, aligned);
    }
    return status;
}

mts_status mts_dense_place_grouped(mts_dense_space *s, uint32_t node)
{
    grouped g;
    mts_status status = open_grouped(s, &g, node);
    if (status == MTS_STATUS_OK && g.fresh) {
        g.site.to->total = g.in->total / g.read * g.made;
    }
    for (uint32_t t = 0; status == MTS_STATUS_OK && t < s->map->task_count; t++) {
        const uint32_t groups = mts_channel_map_channels(s->map, t, g.entry) / g.read;
        for (uint32_t i = 0; status == MTS_STATUS_OK && i < groups; i++) {
            status = place_group(s, &g, t, i);
        }
    }
    return status == MTS_STATUS_OK && !g.fits && !s->again
               ? mts_dense_refuse(s, node, "its convolution groups fit no common order of channels")
               : status;
}

#endif
