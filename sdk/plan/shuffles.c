/*
 * shuffles.c: see shuffles.h.
 *
 * ShuffleNet (Zhang et al., 2018, and Ma et al., 2018) cuts the channels of a convolution
 * or a concatenation into groups and takes one of each in turn: RESHAPE, TRANSPOSE,
 * RESHAPE. Kernels of convolutions store row r at plane index[r] of their output, so that
 * the order costs nothing where they write.
 */
#include "plan/shuffles.h"

#if MTS_HAS_SHUFFLES

/* A TRANSPOSE and what is in front of it. */
typedef struct shuffle {
    const mts_member *member;
    /* svalue whose planes are put into another order: the result of a CONCAT or of a
       convolution. */
    uint32_t source;
    const mts_member *concat; /* NULL: a convolution computes the source */
} shuffle;

typedef struct finder {
    const mts_stitched *stitched;
    mts_plan *plan;
    bool *forced;
    const bool *stays;
    mts_place *places;
    uint32_t *reader;   /* per svalue: the only member that reads it, once, or MTS_NONE */
    uint32_t *layer_of; /* per member */
    uint32_t *part_of;  /* per member: the layer of the TRANSPOSE that it is in front of */
} finder;

static uint32_t planes_of(const finder *f, uint32_t value, uint32_t dims[MTS_TENSOR_RANK_MAX])
{
    mts_shape_pad(&f->stitched->values[value].shape, dims);
    return dims[0] * dims[1] * dims[2] * dims[3];
}

static const mts_member *producer(const finder *f, uint32_t value)
{
    const uint32_t member = f->stitched->values[value].member;
    return member != MTS_NONE ? &f->stitched->members[member] : NULL;
}

static mts_member_plan *plan_of(const finder *f, const mts_member *member)
{
    return &f->plan->members[member - f->stitched->members];
}

static bool is_read_once(const finder *f, uint32_t value)
{
    return f->reader[value] != MTS_NONE && !f->stays[value] && f->places[value].host == MTS_NONE;
}

/* A RESHAPE in front of rows and columns that is read once. */
static bool keeps_planes(const finder *f, const mts_member *member)
{
    uint32_t from[MTS_TENSOR_RANK_MAX];
    uint32_t to[MTS_TENSOR_RANK_MAX];
    if (member->inputs[0] == MTS_NONE || !is_read_once(f, member->output)) {
        return false;
    }
    (void)planes_of(f, member->inputs[0], from);
    (void)planes_of(f, member->output, to);
    return from[4] == to[4] && from[5] == to[5] && f->stitched->values[member->inputs[0]].shape.rank >= 2 &&
           f->stitched->values[member->output].shape.rank >= 2;
}

/* A convolution of floats whose result is one image for one reader. Its residual would be
   read in the order of the result. */
static bool writes_anywhere(const finder *f, uint32_t value)
{
    const mts_member *member = producer(f, value);
    uint32_t dims[MTS_TENSOR_RANK_MAX];
    if (!member || !is_read_once(f, value) || f->forced[value]) {
        return false;
    }
    const mts_variant variant = plan_of(f, member)->variant;
    const bool adds = member->input_count > 4 && member->inputs[4] != MTS_NONE;
    return planes_of(f, value, dims) == dims[3] && !adds &&
           (variant == MTS_VARIANT_TILE || variant == MTS_VARIANT_DEPTHWISE || variant == MTS_VARIANT_PACKED);
}

/* A concatenation of the planes of one image, which nothing else reads. */
static bool joins_planes(const finder *f, const mts_member *member)
{
    const mts_node *node = mts_member_node(f->stitched, member);
    const mts_shape *shape = &f->stitched->values[member->output].shape;
    uint32_t dims[MTS_TENSOR_RANK_MAX];
    bool all = node->op == MTS_OP_CONCAT && plan_of(f, member)->variant == MTS_VARIANT_NONE &&
               planes_of(f, member->output, dims) == dims[3] &&
               MTS_TENSOR_RANK_MAX - shape->rank + node->attrs.concat.axis == 3 &&
               !f->forced[member->output] && is_read_once(f, member->output);
    for (uint32_t i = 0; all && i < member->input_count; i++) {
        all = member->inputs[i] != MTS_NONE;
    }
    return all;
}

/* Whether rows and columns stay the last two dimensions. */
static bool orders_planes(const finder *f, const mts_member *member)
{
    const uint32_t rank = f->stitched->values[member->output].shape.rank;
    const uint32_t *perm = mts_member_node(f->stitched, member)->attrs.transpose.perm;
    return rank >= 4 && perm[rank - 1] == rank - 1 && perm[rank - 2] == rank - 2 &&
           member->inputs[0] != MTS_NONE && !f->stays[member->output] && !f->forced[member->output] &&
           plan_of(f, member)->variant == MTS_VARIANT_NONE;
}

static bool find_shuffle(finder *f, const mts_member *member, shuffle *out)
{
    const uint32_t layer = f->layer_of[member - f->stitched->members];
    *out = (shuffle){.member = member, .source = member->inputs[0]};
    if (!orders_planes(f, member) || !is_read_once(f, out->source)) {
        return false;
    }
    const mts_member *before = producer(f, out->source);
    while (before && mts_member_node(f->stitched, before)->op == MTS_OP_RESHAPE && keeps_planes(f, before)) {
        f->part_of[before - f->stitched->members] = layer;
        out->source = before->inputs[0];
        before = producer(f, out->source);
    }
    if (before && joins_planes(f, before)) {
        bool any = false;
        for (uint32_t i = 0; i < before->input_count; i++) {
            any = any || writes_anywhere(f, before->inputs[i]);
        }
        f->part_of[before - f->stitched->members] = layer;
        out->concat = before;
        return any;
    }
    return writes_anywhere(f, out->source);
}

/* Plane of the result that plane p of the source becomes. */
static uint32_t place_of(const finder *f, const mts_member *member, uint32_t p)
{
    const mts_shape *from = &f->stitched->values[member->inputs[0]].shape;
    const uint32_t *perm = mts_member_node(f->stitched, member)->attrs.transpose.perm;
    const uint32_t leading = from->rank - 2;
    uint32_t at[MTS_TENSOR_RANK_MAX];
    uint32_t plane = 0;
    for (uint32_t d = leading; d-- > 0; p /= (uint32_t)from->dims[d]) {
        at[d] = p % (uint32_t)from->dims[d];
    }
    for (uint32_t d = 0; d < leading; d++) {
        plane = plane * (uint32_t)from->dims[perm[d]] + at[perm[d]];
    }
    return plane;
}

static bool store_shuffle(finder *f, const shuffle *s, mts_arena *arena)
{
    uint32_t dims[MTS_TENSOR_RANK_MAX];
    const uint32_t count = planes_of(f, s->source, dims);
    uint32_t *planes = mts_arena_zero(arena, count, sizeof *planes);
    for (uint32_t p = 0; planes && p < count; p++) {
        planes[p] = place_of(f, s->member, p);
    }
    const mts_place whole = {.host = s->member->output, .planes = planes};
    uint32_t at = 0;
    for (uint32_t i = 0; planes && s->concat && i < s->concat->input_count; i++) {
        const uint32_t value = s->concat->inputs[i];
        if (writes_anywhere(f, value)) {
            f->places[value] = (mts_place){.host = whole.host, .planes = planes + at};
        }
        at += planes_of(f, value, dims);
    }
    plan_of(f, s->member)->in_place = plan_of(f, s->member)->shuffles = true;
    for (uint32_t value = s->member->inputs[0]; value != s->source; value = producer(f, value)->inputs[0]) {
        f->places[value] = whole;
        f->forced[value] = false;
        plan_of(f, producer(f, value))->in_place = true;
    }
    f->places[s->source] = whole;
    if (s->concat) {
        plan_of(f, s->concat)->in_place = true;
    }
    return planes != NULL;
}

/* Whether all members of the layers in front of a TRANSPOSE's are in front of it. */
static bool is_whole(const finder *f, uint32_t layer)
{
    const mts_stitched *s = f->stitched;
    for (uint32_t m = 0; m < s->layers[layer].first; m++) {
        const mts_layer *of = &s->layers[f->layer_of[m]];
        for (uint32_t i = of->first; f->part_of[m] == layer && i < of->first + of->count; i++) {
            if (f->part_of[i] != layer) {
                return false;
            }
        }
    }
    return true;
}

/* The layer's TRANSPOSEs, or none of them. *stored: memory was enough. */
static void place_layer(finder *f, uint32_t index, shuffle *found, mts_arena *arena, bool *stored)
{
    const mts_layer *layer = &f->stitched->layers[index];
    bool all = layer->op == MTS_OP_TRANSPOSE;
    for (uint32_t i = 0; all && i < layer->count; i++) {
        all = find_shuffle(f, &f->stitched->members[layer->first + i], &found[i]);
    }
    for (uint32_t i = 0; all && is_whole(f, index) && i < layer->count; i++) {
        *stored = store_shuffle(f, &found[i], arena) && *stored;
    }
}

static void find_readers(const mts_stitched *s, uint32_t *reader)
{
    const uint32_t many = MTS_NONE - 1;
    for (uint32_t v = 0; v < s->value_count; v++) {
        reader[v] = MTS_NONE;
    }
    for (uint32_t m = 0; m < s->member_count; m++) {
        for (uint32_t i = 0; i < s->members[m].input_count; i++) {
            const uint32_t value = s->members[m].inputs[i];
            if (value != MTS_NONE) {
                reader[value] = reader[value] == MTS_NONE ? m : many;
            }
        }
    }
    for (uint32_t v = 0; v < s->value_count; v++) {
        reader[v] = reader[v] == many ? MTS_NONE : reader[v];
    }
}

mts_status mts_shuffles_find(mts_plan *plan, bool *forced, const bool *stays, mts_place *places,
                             mts_arena *arena, mts_error *error)
{
    const mts_stitched *s = plan->stitched;
    finder f = {.stitched = s, .plan = plan, .forced = forced, .stays = stays, .places = places};
    f.reader = mts_arena_zero(arena, s->value_count, sizeof *f.reader);
    f.layer_of = mts_arena_zero(arena, s->member_count, sizeof *f.layer_of);
    f.part_of = mts_arena_zero(arena, s->member_count, sizeof *f.part_of);
    shuffle *found = mts_arena_zero(arena, s->member_count, sizeof *found);
    bool stored = f.reader && f.layer_of && f.part_of && found;
    if (stored) {
        find_readers(s, f.reader);
    }
    for (uint32_t l = 0; stored && l < s->layer_count; l++) {
        for (uint32_t m = s->layers[l].first; m < s->layers[l].first + s->layers[l].count; m++) {
            f.layer_of[m] = l;
            f.part_of[m] = MTS_NONE;
        }
    }
    for (uint32_t l = 0; stored && l < s->layer_count; l++) {
        place_layer(&f, l, found, arena, &stored);
    }
    return stored ? MTS_STATUS_OK : mts_fail_memory(error);
}
#else
typedef int mts_shuffles_are_absent; /* a file of C declares something */
#endif
