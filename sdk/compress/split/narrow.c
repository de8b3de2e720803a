/*
 * narrow.c: see narrow.h. The importance of channels is measured on the images of the
 * group's classes alone; layers are fitted to as many images of other classes too, so
 * that "none" stays recognisable.
 */
#include "compress/split/narrow.h"

#include "compiler/models/options.h"
#include "compiler/passes/clone.h"
#include "compress/prune/choose.h"
#include "compress/prune/refit.h"

/* One group's pruning; everything lies in `arena`. */
typedef struct narrowing {
    const mts_split *split;
    const mts_split_way *way;
    mts_arena *arena;
    const mts_graph *graph;
    mts_channels channels;
    bool *removable;
    uint32_t *own;      /* images of the group's classes */
    uint32_t *balanced; /* own and others in turn */
    uint32_t own_count, balanced_count, group;
    bool **keep;
} narrowing;

static mts_status go_on(void *context, double share, const char *what, mts_error *error)
{
    const narrowing *n = context;
    const double done = ((double)n->group + share) / (double)n->split->wanted->groups;
    return mts_options_progress(n->split->options, (float)(0.1 + 0.8 * done), what, error);
}

uint64_t mts_split_work(const mts_graph *graph, uint32_t first)
{
    uint64_t sum = 0;
    for (uint32_t n = first; n < graph->node_count; n++) {
        sum += mts_node_mul_adds(graph, &graph->nodes[n]);
    }
    return sum;
}

uint32_t mts_split_trunk(const mts_split *split)
{
    const mts_graph *graph = mts_split_task(split)->graph;
    const double limit = split->wanted->trunk * (double)mts_split_work(graph, 0) * (1.0 + 1e-9);
    uint64_t sum = 0;
    for (uint32_t n = 0; split->wanted->trunk > 0.0 && n < graph->node_count; n++) {
        sum += mts_node_mul_adds(graph, &graph->nodes[n]);
        if ((double)sum > limit || n == split->head.node) {
            return n;
        }
    }
    return 0;
}

/* Channels that the trunk computes stay. */
static void keep_trunk(narrowing *n)
{
    const uint32_t trunk = mts_split_trunk(n->split);
    for (uint32_t i = 0; i < trunk; i++) {
        const uint32_t group = n->channels.group_of[n->graph->nodes[i].output];
        if (group != MTS_NONE) {
            n->removable[group] = false;
        }
    }
}

static bool select_images(narrowing *n)
{
    const mts_split *split = n->split;
    n->own = mts_arena_zero(n->arena, split->images, sizeof *n->own);
    n->balanced = mts_arena_zero(n->arena, split->images, 2 * sizeof *n->balanced);
    uint32_t *others = mts_arena_zero(n->arena, split->images, sizeof *others);
    uint32_t other_count = 0;
    if (!n->own || !n->balanced || !others) {
        return false;
    }
    for (uint32_t i = 0; i < split->images; i++) {
        if (n->way->held_out && mts_split_holds_out(i)) {
            continue;
        }
        if (split->group_of[split->class_of[i]] == n->group) {
            n->own[n->own_count++] = i;
        } else {
            others[other_count++] = i;
        }
    }
    for (uint32_t i = 0; i < n->own_count; i++) {
        n->balanced[n->balanced_count++] = n->own[i];
        if (other_count > 0) { /* spread over all of them */
            const uint64_t at = (uint64_t)i * other_count / n->own_count;
            n->balanced[n->balanced_count++] = others[at];
        }
    }
    return true;
}

static mts_prune_images images_of(narrowing *n, const uint32_t *indices, uint32_t count)
{
    return (mts_prune_images){
        .data = n->split->data, .indices = indices, .count = count, .go_on = go_on, .context = n};
}

/* Fills keep. */
static mts_status choose(narrowing *n, mts_error *error)
{
    double **importance = NULL;
    const mts_prune_images images = images_of(n, n->own, n->own_count);
    mts_cost cost;
    const mts_status status =
        mts_importance_find(n->graph, &n->channels, n->removable, n->split->wanted->criterion, n->way->theta,
                            &images, n->arena, &importance, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const uint32_t groups = n->channels.group_count;
    mts_choose_slot *slots = mts_arena_zero(n->arena, groups, sizeof *slots);
    mts_choose_member *members = mts_arena_zero(n->arena, groups, sizeof *members);
    if (!slots || !members || !mts_cost_make(n->graph, &n->channels, n->arena, &cost)) {
        return mts_fail_memory(error);
    }
    const uint32_t trunk = mts_split_trunk(n->split);
    const double behind = (double)mts_split_work(n->graph, trunk) / (double)mts_split_work(n->graph, 0);
    mts_choose_problem problem = {.task_count = 1,
                                  .costs = &cost,
                                  .slots = slots,
                                  .target = MTSZ_TARGET_FLOPS,
                                  .ratio = n->split->wanted->ratio * behind,
                                  .round = 1};
    for (uint32_t g = 0; g < groups; g++) {
        if (importance[g]) {
            members[problem.slot_count] = (mts_choose_member){.group = g};
            slots[problem.slot_count] = (mts_choose_slot){.channels = n->channels.groups[g].channels,
                                                          .member_count = 1,
                                                          .importance = importance[g],
                                                          .members = &members[problem.slot_count]};
            problem.slot_count++;
        }
    }
    bool ***keep = NULL;
    const mts_status chosen = mts_choose(&problem, n->arena, &keep, error);
    n->keep = chosen == MTS_STATUS_OK ? keep[0] : NULL;
    return chosen;
}

static mts_status thin_and_refit(narrowing *n, mts_graph **out, mts_error *error)
{
    const bool *const *keep = (const bool *const *)n->keep;
    const mts_prune_images images = images_of(n, n->balanced, n->balanced_count);
    mts_thin_kept *kept = NULL;
    mts_graph *thin = NULL;
    mts_status status = mts_thin_select(n->graph, &n->channels, keep, n->arena, &kept, error);
    MTS_TRY(status, mts_thin(n->graph, &n->channels, keep, n->arena, &thin, NULL, error));
    return status == MTS_STATUS_OK
               ? mts_refit(n->graph, &n->channels, kept, thin, NULL, &images, n->arena, out, error)
               : status;
}

mts_status mts_split_narrow(const mts_split *split, uint32_t group, const mts_split_way *way,
                            mts_arena *arena, mts_graph **out, mts_error *error)
{
    narrowing n = {
        .split = split, .way = way, .arena = arena, .graph = mts_split_task(split)->graph, .group = group};
    mts_status status = mts_channels_find(n.graph, arena, &n.channels, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    n.removable = mts_thin_removable(n.graph, &n.channels, arena);
    if (!n.removable || !select_images(&n)) {
        return mts_fail_memory(error);
    }
    if (split->wanted->ratio <= 0.0) {
        *out = mts_graph_clone(n.graph, arena);
        return *out ? MTS_STATUS_OK : mts_fail_memory(error);
    }
    keep_trunk(&n);
    status = choose(&n, error);
    return status == MTS_STATUS_OK ? thin_and_refit(&n, out, error) : status;
}
