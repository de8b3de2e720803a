/*
 * order.c: the common order of channels (family.h): shared channels first, in one order
 * for all tasks.
 *
 * Within a group of values whose channels move together, a channel is known by the
 * classes that it has in all of them. Channels known alike in several tasks come first,
 * those of most tasks and most values ahead; the rest keeps its order.
 */
#include "compiler/passes/family.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/size.h"

/* What the channels of a group are known by. */
typedef struct known {
    uint64_t *keys;
    uint32_t *depth; /* classes that went into the key */
    uint32_t *entries;
    const uint32_t *last; /* labels seen last: values that hand them on count once */
} known;

typedef struct place {
    uint64_t tasks;
    uint32_t count, depth, class, channel; /* count: of tasks */
} place;

static bool order_make(mts_family *family)
{
    family->orders = mts_arena_zero(family->arena, family->count, sizeof(*family->orders));
    for (uint32_t t = 0; family->orders && t < family->count; t++) {
        family->orders[t] =
            mts_arena_zero(family->arena, family->channels[t].group_count, sizeof(**family->orders));
        if (!family->orders[t]) {
            return false;
        }
    }
    return family->orders;
}

static known *known_make(mts_family *family, uint32_t task)
{
    const mts_channels *channels = &family->channels[task];
    known *groups = mts_arena_zero(family->arena, channels->group_count, sizeof(*groups));
    for (uint32_t g = 0; groups && g < channels->group_count; g++) {
        const uint32_t count = channels->groups[g].channels;
        if (channels->groups[g].kind != MTS_CHANNEL_FREE) {
            continue;
        }
        groups[g].keys = mts_arena_zero(family->arena, count, sizeof(*groups[g].keys));
        groups[g].depth = mts_arena_zero(family->arena, count, sizeof(*groups[g].depth));
        groups[g].entries = mts_arena_zero(family->arena, count, sizeof(*groups[g].entries));
        if (!groups[g].keys || !groups[g].depth || !groups[g].entries) {
            return NULL;
        }
    }
    return groups;
}

static void know_task(mts_family *family, uint32_t task, known *groups)
{
    const mts_graph *graph = family->graphs[task];
    const mts_channels *channels = &family->channels[task];
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const uint32_t value = graph->nodes[n].output, g = channels->group_of[value];
        const uint32_t *labels = family->value_labels[task][value];
        if (g == MTS_NONE || !groups[g].keys || !labels || labels == groups[g].last) {
            continue;
        }
        groups[g].last = labels;
        for (uint32_t c = 0; c < channels->groups[g].channels; c++) {
            if (labels[c] != MTS_CLASS_NONE) {
                const uint64_t words[2] = {groups[g].keys[c], labels[c]};
                groups[g].keys[c] = mts_hash(words, sizeof(words), 4);
                groups[g].depth[c]++;
            }
        }
    }
}

static bool add_task(mts_family *family, uint32_t task, known *groups, mts_class_map *map)
{
    const mts_channels *channels = &family->channels[task];
    for (uint32_t g = 0; g < channels->group_count; g++) {
        for (uint32_t c = 0; groups[g].keys && c < channels->groups[g].channels; c++) {
            groups[g].entries[c] = MTS_CLASS_NONE;
            if (groups[g].depth[c] > 0 &&
                !mts_class_map_add(map, groups[g].keys[c], task, &groups[g].entries[c])) {
                return false;
            }
        }
    }
    return true;
}

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    int order = MTS_COMPARE(y->count, x->count);
    order = order != 0 ? order : MTS_COMPARE(x->tasks, y->tasks);
    order = order != 0 ? order : MTS_COMPARE(y->depth, x->depth);
    order = order != 0 ? order : MTS_COMPARE(x->class, y->class);
    return order != 0 ? order : MTS_COMPARE(x->channel, y->channel);
}

/* The order of one group; NULL in *out if it stays as it is. */
static bool order_group(mts_family *family, const known *group, uint32_t count, const mts_class_map *map,
                        uint32_t **out)
{
    place *places = mts_arena_zero(family->arena, count, sizeof(*places));
    uint32_t *order = mts_arena_zero(family->arena, count, sizeof(*order));
    bool moved = false;
    if (!places || !order) {
        return false;
    }
    for (uint32_t c = 0; c < count; c++) {
        const uint32_t entry = group->entries[c];
        const uint64_t tasks = entry == MTS_CLASS_NONE ? 0 : map->entries[entry].tasks;
        const bool shared = mts_bits_count(tasks) > 1;
        places[c] = (place){.tasks = shared ? tasks : 0,
                            .count = shared ? mts_bits_count(tasks) : 0,
                            .depth = shared ? group->depth[c] : 0,
                            .class = shared ? entry : MTS_CLASS_NONE,
                            .channel = c};
    }
    qsort(places, count, sizeof(*places), compare_places);
    for (uint32_t c = 0; c < count; c++) {
        order[c] = places[c].channel;
        moved = moved || order[c] != c;
    }
    *out = moved ? order : NULL;
    return true;
}

static bool order_task(mts_family *family, uint32_t task, const known *groups, const mts_class_map *map)
{
    const mts_channels *channels = &family->channels[task];
    for (uint32_t g = 0; g < channels->group_count; g++) {
        if (groups[g].keys &&
            !order_group(family, &groups[g], channels->groups[g].channels, map, &family->orders[task][g])) {
            return false;
        }
    }
    return true;
}

/* Order of a group that follows from its parts; they have fewer channels and are
   complete. */
static bool order_parts(mts_family *family, uint32_t task, uint32_t g)
{
    const mts_channels *channels = &family->channels[task];
    const mts_channel_group *group = &channels->groups[g];
    uint32_t *order = mts_arena_zero(family->arena, group->channels, sizeof(*order));
    uint32_t first = 0, at = 0;
    bool moved = false;
    for (uint32_t p = 0; order && p < group->part_count; p++) {
        const mts_channel_part *part = &channels->parts[group->part_first + p];
        const uint32_t count = channels->groups[part->group].channels;
        const uint32_t *own = family->orders[task][part->group];
        moved = moved || own;
        for (uint32_t c = 0; c < count; c++) {
            for (uint32_t k = 0; k < part->factor; k++) {
                order[at++] = first + (own ? own[c] : c) * part->factor + k;
            }
        }
        first += count * part->factor;
    }
    family->orders[task][g] = moved ? order : NULL;
    return order;
}

/* Small groups first, because parts are smaller than their whole. */
static bool order_composed(mts_family *family, uint32_t task)
{
    const mts_channels *channels = &family->channels[task];
    uint32_t done = 0;
    for (;;) {
        uint32_t next = UINT32_MAX;
        for (uint32_t g = 0; g < channels->group_count; g++) {
            const mts_channel_group *group = &channels->groups[g];
            if (group->kind == MTS_CHANNEL_PARTS && group->channels > done && group->channels < next) {
                next = group->channels;
            }
        }
        if (next == UINT32_MAX) {
            return true;
        }
        for (uint32_t g = 0; g < channels->group_count; g++) {
            if (channels->groups[g].kind == MTS_CHANNEL_PARTS && channels->groups[g].channels == next &&
                !order_parts(family, task, g)) {
                return false;
            }
        }
        done = next;
    }
}

static const uint32_t *order_of(const mts_family *family, uint32_t task, uint32_t value)
{
    const uint32_t g = value == MTS_NONE ? MTS_NONE : family->channels[task].group_of[value];
    return g == MTS_NONE ? NULL : family->orders[task][g];
}

/* Labels in the new order, a copy. */
static bool move_labels(mts_family *family, const uint32_t *order, uint32_t count, uint32_t **labels)
{
    if (!order || !*labels) {
        return true;
    }
    uint32_t *moved = mts_arena_zero(family->arena, count, sizeof(*moved));
    if (!moved) {
        return false;
    }
    for (uint32_t c = 0; c < count; c++) {
        moved[c] = (*labels)[order[c]];
    }
    *labels = moved;
    return true;
}

bool mts_family_order(mts_family *family)
{
    known *groups[MTS_CLASS_TASKS_MAX] = {0};
    mts_class_map map;
    mts_class_map_init(&map, family->classes.allocator);
    bool done = order_make(family);
    for (uint32_t t = 0; t < family->count && done; t++) {
        groups[t] = known_make(family, t);
        done = groups[t];
        if (done) {
            know_task(family, t, groups[t]);
            done = add_task(family, t, groups[t], &map);
        }
    }
    for (uint32_t t = 0; t < family->count && done; t++) {
        done = order_task(family, t, groups[t], &map) && order_composed(family, t);
    }
    mts_class_map_release(&map);
    return done;
}

bool mts_family_permute_labels(mts_family *family)
{
    for (uint32_t t = 0; t < family->count; t++) {
        const mts_graph *graph = family->graphs[t];
        for (uint32_t v = 0; v < graph->value_count; v++) {
            if (order_of(family, t, v) &&
                !move_labels(family, order_of(family, t, v), (uint32_t)graph->values[v].shape.dims[1],
                             &family->value_labels[t][v])) {
                return false;
            }
        }
        for (uint32_t n = 0; n < graph->node_count; n++) {
            const mts_node *node = &graph->nodes[n];
            if (node->op == MTS_OP_CONV && !move_labels(family, order_of(family, t, node->output),
                                                        (uint32_t)graph->values[node->output].shape.dims[1],
                                                        &family->row_labels[t][n])) {
                return false;
            }
        }
    }
    return true;
}
