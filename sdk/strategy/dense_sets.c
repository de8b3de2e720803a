/*
 * dense_sets.c: nodes that combine channels: normalisation and attention over sets of channels
 * side by side, and nodes that run for each task alone.
 *
 * A normalisation of a task's channels is one of groups, and its heads are more heads, if the
 * channels of each task are a run that begins at a multiple of their number. Where a convolution
 * merged some of them, they are set unmerged and the pass is made again. Anything else that looks
 * across channels, or changes how many images there are, runs once for each task: on what is cut
 * out of the dense value, and its results stand side by side where a convolution reads them.
 */
#include "strategy/dense_work.h"

#ifndef MTS_SMALL

static uint32_t channels_of(const mts_dense_space *s, uint32_t task, uint32_t entry)
{
    return mts_channel_map_channels(s->map, task, entry);
}

/* Whether the tasks' channels are runs of equal length, each at a multiple of it. */
static bool is_aligned(const mts_dense_space *s, uint32_t entry)
{
    const mts_dense_group *g = mts_dense_group_of(s, entry);
    const uint32_t channels = channels_of(s, 0, entry);
    bool fits = g->total % channels == 0;
    for (uint32_t t = 0; fits && t < s->map->task_count; t++) {
        fits = channels_of(s, t, entry) == channels && g->pos[t][0] % channels == 0;
        for (uint32_t c = 1; fits && c < channels; c++) {
            fits = g->pos[t][c] == g->pos[t][0] + c;
        }
    }
    return fits;
}

/* Sets what a convolution merged of an entry unmerged; makes the pass again if there was any. */
static mts_status unmerge(mts_dense_space *s, uint32_t node, uint32_t entry)
{
    const mts_channel_map *map = s->map;
    const uint32_t origin = mts_dense_group_of(s, entry)->origin;
    if (origin < map->input_count || map->traits[origin - map->input_count].pass != MTS_CHANNELS_MIXED) {
        return MTS_STATUS_OK;
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 1; t < map->task_count; t++) {
        for (uint32_t c = 0; status == MTS_STATUS_OK && c < channels_of(s, t, entry); c++) {
            if (!mts_dense_is_unmerged(s, entry, t, c)) {
                status = mts_dense_separate(s, node, entry, t, c);
            }
        }
    }
    return status;
}

/* Whether a constant is there for all tasks or for none, and nothing that is computed. */
static bool is_constant(const mts_dense_space *s, uint32_t node, uint32_t input)
{
    const bool has = mts_channel_map_constant(s->map, 0, node, input) != NULL;
    bool same = mts_channel_map_input(s->map, 0, node, input) == MTS_NONE;
    for (uint32_t t = 1; t < s->map->task_count; t++) {
        same = same && has == (mts_channel_map_constant(s->map, t, node, input) != NULL);
    }
    return same;
}

/* Of zeros a normalisation makes zeros if nothing is divided by 0. */
static bool suits_norm(const mts_dense_space *s, uint32_t node)
{
    const mts_attrs_norm *norm = &s->map->graphs[0]->nodes[node].attrs.norm;
    const uint32_t in = mts_channel_map_input(s->map, 0, node, 0);
    const bool simple = norm->act.fn == MTS_FN_NONE || norm->act.fn == MTS_FN_RELU;
    return in != MTS_NONE && !s->apart[in] && mts_channel_map_shape(s->map, 0, in)->rank > 2 &&
           (norm->axes & 1u) == 0 && norm->epsilon > 0.0f && simple && is_constant(s, node, 1) &&
           is_constant(s, node, 2);
}

static mts_status try_norm(mts_dense_space *s, uint32_t node, bool *fits)
{
    const mts_attrs_norm *norm = &s->map->graphs[0]->nodes[node].attrs.norm;
    const uint32_t in = mts_channel_map_input(s->map, 0, node, 0);
    *fits = suits_norm(s, node) && ((norm->axes & 2u) == 0 || is_aligned(s, in));
    return *fits || !suits_norm(s, node) ? MTS_STATUS_OK : unmerge(s, node, in);
}

/* A mask for each image, of one row or of one for each head. */
static bool suits_mask(const mts_dense_space *s, uint32_t node)
{
    const mts_channel_map *map = s->map;
    const uint32_t mask = mts_channel_map_input(map, 0, node, 3);
    const uint32_t q = mts_channel_map_input(map, 0, node, 0);
    if (mask == MTS_NONE) {
        return is_constant(s, node, 3) && !mts_channel_map_constant(map, 0, node, 3);
    }
    const uint32_t rows = channels_of(s, 0, mask);
    bool fits = rows == 1 || rows == map->graphs[0]->nodes[node].attrs.attention.heads;
    for (uint32_t t = 0; fits && t < map->task_count; t++) {
        const mts_shape *shape = mts_channel_map_shape(map, t, mask);
        fits = shape->rank == 4 && shape->dims[0] == mts_channel_map_shape(map, t, q)->dims[0] &&
               shape->dims[1] == (int64_t)rows;
    }
    return fits;
}

/* Whether the tasks' channels of two entries have the same number among the runs. */
static bool same_runs(const mts_dense_space *s, uint32_t a, uint32_t b)
{
    const mts_dense_group *x = mts_dense_group_of(s, a), *y = mts_dense_group_of(s, b);
    const uint32_t wide = channels_of(s, 0, a), narrow = channels_of(s, 0, b);
    bool same = x->total / wide == y->total / narrow;
    for (uint32_t t = 0; same && t < s->map->task_count; t++) {
        same = x->pos[t][0] / wide == y->pos[t][0] / narrow;
    }
    return same;
}

static mts_status try_attention(mts_dense_space *s, uint32_t node, bool *fits)
{
    const uint32_t q = mts_channel_map_input(s->map, 0, node, 0);
    mts_status status = MTS_STATUS_OK;
    bool dense = true;
    bool aligned = true;
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t entry = mts_channel_map_input(s->map, 0, node, i);
        dense = dense && entry != MTS_NONE && !s->apart[entry];
    }
    dense = dense && suits_mask(s, node);
    for (uint32_t i = 0; dense && status == MTS_STATUS_OK && i < 3; i++) {
        const uint32_t entry = mts_channel_map_input(s->map, 0, node, i);
        const bool fit = is_aligned(s, entry) && aligned && same_runs(s, q, entry);
        aligned = aligned && fit;
        status = fit ? MTS_STATUS_OK : unmerge(s, node, entry);
    }
    *fits = dense && aligned;
    return status;
}

/* Gives an entry the places of another one; false where it has others already. */
static bool take_places(mts_dense_space *s, uint32_t entry, uint32_t like, bool *short_of_memory)
{
    const mts_dense_group *from = mts_dense_group_of(s, like);
    mts_dense_group *to = mts_dense_group_of(s, entry);
    const bool given = to->set;
    bool same = true;
    *short_of_memory = !given && !mts_dense_group_open(s, to, entry, from->total);
    for (uint32_t t = 0; same && !*short_of_memory && t < s->map->task_count; t++) {
        for (uint32_t c = 0; same && c < channels_of(s, t, entry); c++) {
            same = !given || to->pos[t][c] == from->pos[t][c];
            if (!given) {
                mts_dense_group_put(s, to, t, c, from->pos[t][c]);
            }
        }
    }
    to->total = given ? to->total : from->total;
    return same && to->total == from->total;
}

bool mts_dense_goes_apart(const mts_dense_space *s, uint32_t node)
{
    const mts_channel_map *map = s->map;
    const mts_node *first = &map->graphs[0]->nodes[node];
    const uint32_t out = map->input_count + node;
    if (map->traits[node].pass == MTS_CHANNELS_FIXED || first->op == MTS_OP_CONV) {
        return false;
    }
    bool apart = false;
    for (uint32_t i = 0; i < first->input_count; i++) {
        const uint32_t in = mts_channel_map_input(map, 0, node, i);
        apart = apart || (in != MTS_NONE && s->apart[in]);
        for (uint32_t t = 0; in != MTS_NONE && t < map->task_count; t++) {
            apart = apart ||
                    mts_channel_map_shape(map, t, in)->dims[0] != mts_channel_map_shape(map, t, out)->dims[0];
        }
    }
    return apart;
}

mts_status mts_dense_place_apart(mts_dense_space *s, uint32_t node)
{
    const uint32_t entry = s->map->input_count + node;
    mts_dense_group *g = mts_dense_group_of(s, entry);
    s->apart[entry] = true;
    if (g->set) {
        return MTS_STATUS_OK;
    }
    uint32_t total = 0;
    for (uint32_t t = 0; t < s->map->task_count; t++) {
        total += channels_of(s, t, entry);
    }
    if (!mts_dense_group_open(s, g, entry, total)) {
        return mts_dense_short(s);
    }
    for (uint32_t t = 0; t < s->map->task_count; t++) {
        for (uint32_t c = 0; c < channels_of(s, t, entry); c++) {
            mts_dense_group_put(s, g, t, c, g->total++);
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_dense_place_sets(mts_dense_space *s, uint32_t node)
{
    const mts_op op = s->map->graphs[0]->nodes[node].op;
    bool fits = false;
    bool short_of_memory = false;
    mts_status status = op == MTS_OP_NORM        ? try_norm(s, node, &fits)
                        : op == MTS_OP_ATTENTION ? try_attention(s, node, &fits)
                                                 : MTS_STATUS_OK;
    if (status == MTS_STATUS_OK && fits) {
        const uint32_t like = mts_channel_map_input(s->map, 0, node, op == MTS_OP_NORM ? 0 : 2);
        fits = take_places(s, s->map->input_count + node, like, &short_of_memory);
    }
    if (status != MTS_STATUS_OK || short_of_memory) {
        return status != MTS_STATUS_OK ? status : mts_dense_short(s);
    }
    return fits ? MTS_STATUS_OK : mts_dense_place_apart(s, node);
}

#endif
