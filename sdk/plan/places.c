/*
 * places.c: values that lie inside of another one's storage.
 *
 * Planes of a storage follow each other at one pitch, so neighbouring channels of one
 * image are a storage too. What writes or reads a value only sees its own storage:
 * offset, dimensions, pitch. A concatenation of channels therefore has no launch if its
 * operands' producers write into its storage; a slice of channels is read where it lies;
 * so is a tensor of other leading dimensions over the same planes (the RESHAPEs of a
 * channel shuffle); a tensor with planes of zeros behind it is written by the producer of
 * what they are added to, as the zeros behind every tensor are (`tail`).
 */
#include "plan/places.h"

#include "base/check.h"
#include "plan/shuffles.h"

/* Hosts above a value: at most so many, which bounds what finding the root of a value
   costs. */
enum { NESTED_MOST = 128 };

typedef struct finder {
    const mts_stitched *stitched;
    mts_member_plan *members;
    bool *forced;
    bool *stays; /* per svalue: a graph output, a reshaped one, or what a SCALE reads dense */
    mts_place *places;
    uint32_t *height; /* per svalue: of the values inside of it, each inside of the next; or more */
} finder;

static const mts_place nowhere = {.host = MTS_NONE};

static const mts_shape *shape_of(const mts_stitched *stitched, uint32_t value)
{
    return &stitched->values[value].shape;
}

static uint32_t channels_of(const mts_stitched *stitched, uint32_t value)
{
    uint32_t dims[MTS_TENSOR_RANK_MAX];
    mts_shape_pad(shape_of(stitched, value), dims);
    return dims[3];
}

/* Whether a value is one image whose dimension `axis` are its planes. */
static bool has_planes(const finder *f, uint32_t value, uint32_t axis)
{
    const mts_shape *shape = shape_of(f->stitched, value);
    uint32_t dims[MTS_TENSOR_RANK_MAX];
    mts_shape_pad(shape, dims);
    return MTS_TENSOR_RANK_MAX - shape->rank + axis == 3 && dims[0] == 1 && dims[1] == 1 && dims[2] == 1;
}

/* The dimension of a value's planes, or MTS_NONE. */
static uint32_t plane_axis(const finder *f, uint32_t value)
{
    const uint32_t rank = shape_of(f->stitched, value)->rank;
    const uint32_t axis = rank >= 3 ? rank - 3 : MTS_NONE;
    return axis != MTS_NONE && has_planes(f, value, axis) ? axis : MTS_NONE;
}

/* Whether the producer of a value may write it elsewhere. */
static bool can_move(const finder *f, uint32_t value)
{
    const uint32_t member = f->stitched->values[value].member;
    if (member == MTS_NONE || f->forced[value] || f->stays[value] || f->places[value].host != MTS_NONE) {
        return false;
    }
    return mts_member_node(f->stitched, &f->stitched->members[member])->op != MTS_OP_RESHAPE;
}

static uint32_t planes_of(const finder *f, uint32_t value)
{
    uint32_t dims[MTS_TENSOR_RANK_MAX];
    mts_shape_pad(shape_of(f->stitched, value), dims);
    return dims[0] * dims[1] * dims[2] * dims[3];
}

/* Puts a value inside of another one, unless too many lie inside of each other. */
static bool put(finder *f, uint32_t value, mts_place place)
{
    uint32_t inside = f->height[value] + 1;
    uint32_t nested = inside;
    for (uint32_t v = place.host; v != MTS_NONE; v = f->places[v].host) {
        nested++;
    }
    if (nested > NESTED_MOST) {
        return false;
    }
    for (uint32_t v = place.host; v != MTS_NONE; v = f->places[v].host, inside++) {
        f->height[v] = f->height[v] > inside ? f->height[v] : inside;
    }
    f->places[value] = place;
    return true;
}

/* ---- concatenations ---- */

/*
 * Operand `which` of a concatenation begins at `plane` of it and lies in a value that may
 * move there as a whole: all planes of that value are operands, at the right places. The
 * value, which is sliced or is a concatenation itself, then moves.
 */
static bool move_whole(finder *f, const mts_member *member, uint32_t which, uint32_t plane)
{
    uint32_t begin = 0;
    const uint32_t whole = mts_place_root(f->places, member->inputs[which], &begin);
    if (whole == member->inputs[which] || whole == member->output || !can_move(f, whole) || begin > plane) {
        return false;
    }
    const uint32_t from = plane - begin;
    const uint32_t end = from + planes_of(f, whole);
    uint32_t at = 0;
    for (uint32_t i = 0; i < member->input_count; i++) {
        const uint32_t count = channels_of(f->stitched, member->inputs[i]);
        if (at < end && at + count > from &&
            (mts_place_root(f->places, member->inputs[i], &begin) != whole || begin + from != at)) {
            return false;
        }
        at += count;
    }
    return at >= end && put(f, whole, (mts_place){.host = member->output, .plane = from});
}

static bool place_concat(finder *f, const mts_member *member)
{
    const mts_node *node = mts_member_node(f->stitched, member);
    if (f->forced[member->output] || !has_planes(f, member->output, node->attrs.concat.axis)) {
        return false;
    }
    for (uint32_t i = 0; i < member->input_count; i++) {
        if (member->inputs[i] == MTS_NONE) {
            return false;
        }
    }
    uint32_t plane = 0;
    bool any = false;
    for (uint32_t i = 0; i < member->input_count; i++) {
        const uint32_t value = member->inputs[i];
        if (can_move(f, value)) {
            any = put(f, value, (mts_place){.host = member->output, .plane = plane}) || any;
        } else {
            any = move_whole(f, member, i, plane) || any;
        }
        plane += channels_of(f->stitched, value);
    }
    return any;
}

/* ---- slices and zeros ---- */

static bool place_slice(finder *f, const mts_member *member)
{
    const mts_attrs_slice *slice = &mts_member_node(f->stitched, member)->attrs.slice;
    const uint32_t host = member->inputs[0];
    if (host == MTS_NONE || f->forced[host] || f->forced[member->output] || f->stays[member->output]) {
        return false;
    }
    const mts_shape *from = shape_of(f->stitched, host);
    uint64_t plane = 0;
    uint64_t inner = 1; /* planes of one position of a dimension */
    bool cut = false;   /* a dimension from here on is not whole */
    for (uint32_t d = from->rank; d-- > 0;) {
        const bool whole = slice->start[d] == 0 && slice->size[d] == from->dims[d];
        if (slice->step[d] != 1 || (!whole && d + 2 >= from->rank) || (cut && slice->size[d] != 1)) {
            return false;
        }
        cut = cut || !whole;
        plane += (uint64_t)slice->start[d] * inner;
        inner *= d + 2 >= from->rank ? 1 : (uint64_t)from->dims[d];
    }
    return plane <= UINT32_MAX && put(f, member->output, (mts_place){.host = host, .plane = (uint32_t)plane});
}

/* Only dimensions in front of rows and columns change, so that the planes stay as they
   are. */
static bool place_reshape(finder *f, const mts_member *member)
{
    const uint32_t host = member->inputs[0];
    if (host == MTS_NONE || f->forced[host] || f->stays[member->output]) {
        return false;
    }
    uint32_t from[MTS_TENSOR_RANK_MAX];
    uint32_t to[MTS_TENSOR_RANK_MAX];
    mts_shape_pad(shape_of(f->stitched, host), from);
    mts_shape_pad(shape_of(f->stitched, member->output), to);
    const bool planes_stay = from[4] == to[4] && from[5] == to[5] && shape_of(f->stitched, host)->rank >= 2 &&
                             shape_of(f->stitched, member->output)->rank >= 2;
    f->forced[member->output] =
        !planes_stay || !put(f, member->output, (mts_place){.host = host, .plane = 0});
    return !f->forced[member->output];
}

/* The producer of what zeros are added to has to have a launch, which writes them. */
static bool place_pad(finder *f, const mts_member *member)
{
    const mts_attrs_pad *pad = &mts_member_node(f->stitched, member)->attrs.pad;
    const uint32_t value = member->inputs[0];
    const uint32_t axis = value != MTS_NONE ? plane_axis(f, value) : MTS_NONE;
    if (axis == MTS_NONE || pad->mode != MTS_PAD_CONSTANT || pad->value != 0.0f ||
        f->forced[member->output] || !can_move(f, value) ||
        f->members[f->stitched->values[value].member].in_place) {
        return false;
    }
    for (uint32_t d = 0; d < shape_of(f->stitched, value)->rank; d++) {
        if (pad->before[d] != 0 || pad->after[d] < 0 || (pad->after[d] != 0 && d != axis)) {
            return false;
        }
    }
    return put(f, value, (mts_place){.host = member->output, .zeros = (uint32_t)pad->after[axis]});
}

static bool place_member(finder *f, const mts_member *member)
{
    switch (mts_member_node(f->stitched, member)->op) {
    case MTS_OP_CONCAT:
        return place_concat(f, member);
    case MTS_OP_SLICE:
        return place_slice(f, member);
    case MTS_OP_RESHAPE:
        return place_reshape(f, member);
    case MTS_OP_PAD:
        return place_pad(f, member);
    default:
        return false;
    }
}

/* Takes back what place_member did. */
static void unplace_member(finder *f, const mts_member *member)
{
    for (uint32_t i = 0; i < member->input_count; i++) {
        const uint32_t value = member->inputs[i];
        if (value == MTS_NONE) {
            continue;
        }
        uint32_t inside = value; /* of the output, directly: the operand or what it lies in */
        while (f->places[inside].host != MTS_NONE && f->places[inside].host != member->output) {
            inside = f->places[inside].host;
        }
        f->places[inside] = f->places[inside].host == member->output ? nowhere : f->places[inside];
    }
    const mts_op op = mts_member_node(f->stitched, member)->op;
    if (op == MTS_OP_SLICE || op == MTS_OP_RESHAPE) {
        f->places[member->output] = nowhere;
    }
    f->forced[member->output] = f->forced[member->output] || op == MTS_OP_RESHAPE;
}

/* All members of a layer are done in place, or none. */
static void place_layer(finder *f, const mts_layer *layer)
{
    const mts_member *members = &f->stitched->members[layer->first];
    const mts_member_plan *how = &f->members[layer->first];
    uint32_t done = 0;
    if (MTS_HAS_SHUFFLES && how->in_place) {
        return; /* of a shuffle */
    }
    while (done < layer->count && how[done].variant != MTS_VARIANT_CODES && place_member(f, &members[done])) {
        done++;
    }
    for (uint32_t i = 0; i < layer->count; i++) {
        f->members[layer->first + i].in_place = done == layer->count;
        if (done < layer->count && i < done) {
            unplace_member(f, &members[i]);
        }
    }
}

bool mts_place_scales_dense(const mts_stitched *stitched, const mts_member *member)
{
    return mts_member_node(stitched, member)->op == MTS_OP_SCALE &&
           shape_of(stitched, member->output)->rank != 4;
}

/* A value that a reshaped graph output lies over is one as well. */
static void find_stays(finder *f)
{
    const mts_stitched *s = f->stitched;
    for (uint32_t m = 0; m < s->member_count; m++) {
        if (mts_place_scales_dense(s, &s->members[m]) && s->members[m].inputs[0] != MTS_NONE) {
            f->stays[s->members[m].inputs[0]] = true;
        }
    }
    for (uint32_t g = 0; g < s->graph_count; g++) {
        for (uint32_t o = 0; o < s->graphs[g]->output_count; o++) {
            uint32_t value = s->value_of[g][s->graphs[g]->outputs[o].value];
            while (value != MTS_NONE) {
                f->stays[value] = true;
                const uint32_t member = s->values[value].member;
                const bool alias =
                    member != MTS_NONE && mts_member_node(s, &s->members[member])->op == MTS_OP_RESHAPE;
                value = alias ? s->members[member].inputs[0] : MTS_NONE;
            }
        }
    }
}

/* Each value's root becomes its host, so that all later questions take one step. */
static void resolve_roots(mts_place *places, uint32_t count)
{
    for (uint32_t v = 0; v < count; v++) {
        uint32_t plane = 0;
        const uint32_t root = mts_place_root(places, v, &plane);
        if (root != v) {
            places[v].host = root;
            places[v].plane = plane;
        }
    }
}

mts_status mts_places_find(mts_plan *plan, bool *forced, mts_place *places, mts_arena *arena,
                           mts_error *error)
{
    const mts_stitched *s = plan->stitched;
    finder f = {.stitched = s, .members = plan->members, .forced = forced, .places = places};
    f.stays = mts_arena_zero(arena, s->value_count, sizeof *f.stays);
    f.height = mts_arena_zero(arena, s->value_count, sizeof *f.height);
    if (!f.stays || !f.height) {
        return mts_fail_memory(error);
    }
    for (uint32_t v = 0; v < s->value_count; v++) {
        places[v] = nowhere;
    }
    find_stays(&f);
#if MTS_HAS_SHUFFLES
    const mts_status status = mts_shuffles_find(plan, forced, f.stays, places, arena, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    for (uint32_t v = 0; v < s->value_count; v++) {
        if (places[v].host != MTS_NONE) {
            f.height[places[v].host] = 1;
        }
    }
#endif
    for (uint32_t i = 0; i < s->layer_count; i++) {
        place_layer(&f, &s->layers[i]);
    }
    resolve_roots(places, s->value_count);
    return MTS_STATUS_OK;
}

uint32_t mts_place_root(const mts_place *places, uint32_t value, uint32_t *plane)
{
    *plane = 0;
    while (places[value].host != MTS_NONE) {
        *plane += places[value].plane;
        value = places[value].host;
    }
    return value;
}

/* ---- storages ---- */

size_t mts_places_copies_most(const mts_stitched *stitched)
{
    size_t count = 0;
    for (uint32_t m = 0; m < stitched->member_count; m++) {
        const mts_member *member = &stitched->members[m];
        count += mts_member_node(stitched, member)->op == MTS_OP_CONCAT ? member->input_count : 0;
    }
    return count;
}

/* Planes of the host from the first of a part to its last. */
static uint32_t planes_spanned(const mts_storage *part)
{
    uint32_t count = part->dims[0] * part->dims[1] * part->dims[2] * part->dims[3];
    for (uint32_t p = 0, most = count; MTS_HAS_SHUFFLES && part->planes && p < most; p++) {
        count = part->planes[p] >= count ? part->planes[p] + 1 : count;
    }
    return count;
}

/* Planes of a host's storage. place->host is not looked at. */
static void make_part(const mts_plan *plan, mts_storage *part, uint32_t host, const mts_place *place)
{
    const mts_storage *whole = &plan->storages[host];
    MTS_CHECK(part->row == whole->row && part->pitch == whole->pitch && part->gap == whole->gap);
    part->host = host;
    part->at = (uint64_t)place->plane * whole->pitch;
    part->planes = place->planes;
    part->tail = place->zeros * whole->pitch + whole->gap;
    part->floats = (uint64_t)planes_spanned(part) * whole->pitch + part->tail;
}

static void add_copy(mts_plan *plan, uint32_t value, uint32_t member, uint32_t host, const mts_place *place)
{
    plan->import_value[plan->storage_count] = MTS_NONE;
    mts_storage *part = &plan->storages[plan->storage_count];
    *part = plan->storages[host];
    part->region = MTS_REGION_TRANSIENT;
    mts_shape_pad(shape_of(plan->stitched, value), part->dims);
    make_part(plan, part, host, place);
    plan->conversions[plan->conversion_count++] = (mts_conversion){.value = value,
                                                                   .source = value,
                                                                   .storage = plan->storage_count++,
                                                                   .part = true,
                                                                   .producer = MTS_NONE,
                                                                   .from = MTS_NONE,
                                                                   .member = member};
}

/* The operands of a concatenation that lie elsewhere. */
static void add_copies(mts_plan *plan, const mts_place *places, uint32_t index)
{
    const mts_member *member = &plan->stitched->members[index];
    uint32_t base = 0;
    const uint32_t root = mts_place_root(places, member->output, &base);
    const uint32_t *planes = places[member->output].planes;
    mts_place wanted = {.plane = base, .planes = planes};
    for (uint32_t i = 0; i < member->input_count; i++) {
        const uint32_t value = member->inputs[i];
        const uint32_t count = channels_of(plan->stitched, value);
        uint32_t at = 0;
        if (mts_place_root(places, value, &at) != root || at != wanted.plane ||
            places[value].planes != wanted.planes) {
            add_copy(plan, value, index, plan->value_storage[root], &wanted);
        }
        wanted.planes += planes ? count : 0;
        wanted.plane += planes ? 0 : count;
    }
}

void mts_places_store(mts_plan *plan, const mts_place *places)
{
    const mts_stitched *s = plan->stitched;
    for (uint32_t v = 0; v < s->value_count; v++) {
        uint32_t plane = 0;
        const uint32_t root = mts_place_root(places, v, &plane);
        if (root != v) {
            const mts_place place = {.plane = plane, .planes = places[v].planes, .zeros = places[v].zeros};
            make_part(plan, &plan->storages[plan->value_storage[v]], plan->value_storage[root], &place);
        }
    }
    for (uint32_t m = 0; m < s->member_count; m++) {
        if (plan->members[m].in_place && mts_member_node(s, &s->members[m])->op == MTS_OP_CONCAT) {
            add_copies(plan, places, m);
        }
    }
}

void mts_places_join_dense(const mts_place *places, uint32_t count, bool *dense)
{
    for (uint32_t v = 0; v < count; v++) {
        uint32_t plane = 0;
        const uint32_t root = mts_place_root(places, v, &plane);
        dense[root] = dense[root] || dense[v];
    }
}
