/*
 * cut.c: decides for each convolution of a family how its weights are cut, and cuts them
 * (family.h).
 *
 * Whole weights are shared by equal bytes without any cut. Whole filters (`filters`) and
 * the matrices of common channels (`uxyz`) are taken only where they save a good part of
 * the layer more; of equal savings the simpler cut wins.
 */
#include "compiler/passes/cut.h"

#include <string.h>

#include "base/hash.h"

#define LEAST_SHARE 20u /* a cut must save 1 / 20 of the row's bytes more than the simpler one */

static uint64_t value_bytes(const mts_value *value)
{
    return (uint64_t)mts_shape_count(&value->shape) * mts_type_size(value->dtype);
}

/* Tasks whose weight may be cut: read by this node only. */
static bool cut_begin(mts_family *family, uint32_t row, uint32_t *const *uses, mts_cut_row *cut)
{
    uint32_t members = 0;
    *cut = (mts_cut_row){.family = family, .row = row};
    for (uint32_t t = 0; t < family->count; t++) {
        const mts_node *node = mts_family_node(family, row, t);
        mts_value *weight = mts_family_weight(family, row, t);
        if (!weight) {
            weight = mts_family_grouped_weight(family, row, t);
            cut->grouped = cut->grouped || weight;
        }
        if (!weight || uses[t][node->inputs[1]] != 1) {
            continue;
        }
        cut->weights[t] = weight;
        cut->inputs[t] = family->value_labels[t][node->inputs[0]];
        cut->bytes += value_bytes(weight);
        members++;
    }
    cut->next = mts_arena_zero(family->arena, family->classes.count, sizeof(*cut->next));
    return cut->next && members > 1;
}

/*
 * Enters the weights into *map by their bytes, as a whole or filter by filter. labels[t]
 * receives the entries of a task, *saved the bytes that the map had already. False if
 * memory is short.
 */
static bool enter_weights(const mts_cut_row *cut, bool filters, mts_class_map *map, uint32_t **labels,
                          uint64_t *saved)
{
    *saved = 0;
    mts_class_map_init(map, cut->family->classes.allocator);
    bool done = true;
    for (uint32_t t = 0; t < cut->family->count && done; t++) {
        const mts_value *weight = cut->weights[t];
        if (!weight) {
            continue;
        }
        const uint32_t count = filters ? (uint32_t)weight->shape.dims[0] : 1;
        const size_t size = (size_t)value_bytes(weight) / count;
        const unsigned char *data = weight->blocks[0].data;
        labels[t] = mts_arena_zero(cut->family->arena, count, sizeof **labels);
        done = labels[t];
        for (uint32_t i = 0; i < count && done; i++) {
            const size_t before = map->count;
            const uint64_t key = mts_hash(data + i * size, size, (uint64_t)weight->dtype + 32);
            done = mts_class_map_add(map, key, t, &labels[t][i]);
            *saved += done && map->count == before ? size : 0;
        }
    }
    return done;
}

/* Bytes that equal whole weights save without a cut. */
static bool saved_whole(const mts_cut_row *cut, uint64_t *saved)
{
    mts_class_map map;
    uint32_t *labels[MTS_CLASS_TASKS_MAX] = {0};
    const bool done = enter_weights(cut, false, &map, labels, saved);
    mts_class_map_release(&map);
    return done;
}

/* Classes of whole filters, by their bytes. */
static bool label_filters(mts_cut_row *cut, uint32_t **labels)
{
    mts_class_map map;
    uint64_t saved = 0;
    bool done = enter_weights(cut, true, &map, labels, &saved);
    done = done && mts_class_map_close(&map, &cut->family->classes);
    for (uint32_t t = 0; t < cut->family->count && done; t++) {
        for (uint32_t f = 0; labels[t] && f < (uint32_t)cut->weights[t]->shape.dims[0]; f++) {
            labels[t][f] = map.entries[labels[t][f]].number;
        }
    }
    mts_class_map_release(&map);
    return done;
}

/* Takes the filters' labels of the walk: sharing over the channels in common. */
static void use_channels(mts_cut_row *cut)
{
    for (uint32_t t = 0; t < cut->family->count; t++) {
        const uint32_t node = cut->family->rows.nodes[(size_t)cut->row * cut->family->count + t];
        cut->filters[t] = cut->weights[t] ? cut->family->row_labels[t][node] : NULL;
    }
    mts_cut_find_sets(cut, false);
}

/* Leaves the labels of the rows that all tasks have in the same place, from the first one on. */
static void keep_prefix(const mts_cut_row *cut, uint32_t **labels)
{
    uint32_t rows = UINT32_MAX, last = 0;
    const uint32_t *first = NULL;
    for (uint32_t t = 0; t < cut->family->count; t++) {
        if (labels[t]) {
            const uint32_t count = (uint32_t)cut->weights[t]->shape.dims[0];
            first = first ? first : labels[t];
            rows = count < rows ? count : rows;
            for (uint32_t r = 0; r < rows; r++) {
                rows = labels[t][r] == first[r] ? rows : r;
            }
        }
    }
    for (uint32_t r = 0; first && r < rows; r++) { /* equal filters would be put side by side */
        rows = first[r] != MTS_CLASS_NONE && (r == 0 || first[r] > last) ? rows : r;
        last = first[r];
    }
    for (uint32_t t = 0; t < cut->family->count; t++) {
        for (uint32_t r = rows; labels[t] && r < (uint32_t)cut->weights[t]->shape.dims[0]; r++) {
            labels[t][r] = MTS_CLASS_NONE;
        }
    }
}

static bool use_filters(mts_cut_row *cut)
{
    uint32_t *labels[MTS_CLASS_TASKS_MAX] = {0};
    if (!label_filters(cut, labels)) {
        return false;
    }
    if (cut->grouped) {
        keep_prefix(cut, labels);
    }
    memcpy(cut->filters, labels, sizeof(labels));
    mts_cut_find_sets(cut, true);
    return true;
}

/* Whether the input channels of all members stay where they are, so that whole filters
 * can be compared already. */
static bool inputs_stay(const mts_cut_row *cut)
{
    for (uint32_t t = 0; t < cut->family->count; t++) {
        const mts_node *node = mts_family_node(cut->family, cut->row, t);
        const uint32_t g = cut->weights[t] ? cut->family->channels[t].group_of[node->inputs[0]] : MTS_NONE;
        if (g != MTS_NONE && cut->family->orders && cut->family->orders[t][g]) {
            return false;
        }
    }
    return true;
}

/* Picks the cut that saves most and leaves its labels and sets in *cut. */
static bool decide(mts_cut_row *cut, bool compare_bytes, mts_cut_kind *kind, uint64_t *saved)
{
    uint64_t whole = 0, filters = 0;
    *kind = MTS_CUT_WHOLE;
    if (compare_bytes) {
        if (!saved_whole(cut, &whole) || !use_filters(cut)) {
            return false;
        }
        filters = mts_cut_saved(cut);
    }
    use_channels(cut);
    const uint64_t channels = cut->grouped ? 0 : mts_cut_saved(cut), least = cut->bytes / LEAST_SHARE;
    *saved = whole;
    if (filters > *saved + least) {
        *saved = filters;
        *kind = MTS_CUT_FILTERS;
    }
    if (channels > *saved + least) {
        *saved = channels;
        *kind = MTS_CUT_CHANNELS;
    } else if (*kind == MTS_CUT_FILTERS) {
        return use_filters(cut);
    }
    return true;
}

static bool cut_row(mts_cut_row *cut)
{
    mts_cut_kind kind = MTS_CUT_WHOLE;
    uint64_t saved = 0;
    return decide(cut, true, &kind, &saved) &&
           (kind == MTS_CUT_WHOLE || mts_cut_apply(cut, kind == MTS_CUT_FILTERS));
}

static bool count_uses(mts_family *family, uint32_t **uses)
{
    for (uint32_t t = 0; t < family->count; t++) {
        uses[t] = mts_arena_zero(family->arena, family->graphs[t]->value_count, sizeof(**uses));
        if (!uses[t]) {
            return false;
        }
        mts_graph_count_uses(family->graphs[t], uses[t]);
    }
    return true;
}

bool mts_family_estimate(mts_family *family, bool moved, uint64_t *saved)
{
    uint32_t *uses[MTS_CLASS_TASKS_MAX] = {0};
    bool done = count_uses(family, uses);
    *saved = 0;
    for (uint32_t row = 0; row < family->rows.row_count && done; row++) {
        mts_cut_row cut;
        mts_cut_kind kind = MTS_CUT_WHOLE;
        uint64_t bytes = 0;
        if (cut_begin(family, row, uses, &cut)) {
            done = decide(&cut, !moved || inputs_stay(&cut), &kind, &bytes);
            *saved += bytes;
        }
        done = done && cut.next;
    }
    return done;
}

bool mts_family_cut(mts_family *family)
{
    uint32_t *uses[MTS_CLASS_TASKS_MAX] = {0};
    bool done = count_uses(family, uses);
    for (uint32_t row = 0; row < family->rows.row_count && done; row++) {
        mts_cut_row cut;
        if (cut_begin(family, row, uses, &cut)) {
            done = cut_row(&cut);
        }
        done = done && cut.next;
    }
    return done;
}
