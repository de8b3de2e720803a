/*
 * traffic.c: the bytes that a step has to move at least: every distinct input and
 * constant once, every output once. What a kernel really moves is more where it reads
 * something twice; a profile compares with this.
 */
#include "lower/traffic.h"

#include <stdlib.h>

#include "base/size.h"
#include "lower/encode.h"

/* Something that is read: a value (kind 0), a block of weights (1) or a constant without
   a number (2). */
typedef struct source {
    uint64_t id;
    uint64_t bytes;
    uint32_t kind, owner;
} source;

typedef struct sources {
    source *items;
    size_t count, capacity;
    const mts_encoding *encoding;
    bool failed;
} sources;

static uint64_t value_elements(const mts_encoding *encoding, uint32_t value)
{
    return mts_shape_count(&encoding->stitched->values[value].shape);
}

/* With the zeros that fill up packs of channels: they are moved as well. */
static uint64_t stored_elements(const mts_encoding *encoding, uint32_t value)
{
    const mts_storage *s = &encoding->plan->storages[encoding->plan->value_storage[value]];
    const bool packs = MTS_HAS_PACKED && s->lanes == MTS_CHANNEL_PACK;
    return packs ? (uint64_t)mts_storage_planes(s) * s->pitch : value_elements(encoding, value);
}

static uint64_t value_bytes(const mts_encoding *encoding, uint32_t value)
{
    return stored_elements(encoding, value) * mts_precision_size(encoding->precision);
}

static void add_source(sources *s, source fresh)
{
    if (s->failed || !mts_alloc_grow(s->encoding->arena->allocator, (void **)&s->items, &s->capacity,
                                     s->count + 1, sizeof *s->items)) {
        s->failed = true;
        return;
    }
    s->items[s->count++] = fresh;
}

/* Weights lie in the pool in the session's precision, whatever the bundle holds, or as
   `size` bytes each. */
static void add_constant(sources *s, const mts_member *member, const mts_value *value, size_t size)
{
    uint32_t out = 0;
    uint32_t in = 0;
    uint32_t inner = 0;
    mts_value_matrix(value, &out, &in, &inner);
    for (uint32_t b = 0; b < value->block_count; b++) {
        const mts_block_ref *ref = &value->blocks[b];
        const bool numbered = ref->block != MTS_NONE;
        add_source(s, (source){.id = numbered ? ref->block : (uint64_t)(uintptr_t)ref->data,
                               .kind = numbered ? 1 : 2,
                               .owner = mts_encode_owner(s->encoding, member),
                               .bytes = (uint64_t)ref->out_count * ref->in_count * inner * size});
    }
}

static int compare_sources(const void *left, const void *right)
{
    const source *a = left, *b = right;
    return mts_order(MTS_COMPARE(a->kind, b->kind),
                     mts_order(MTS_COMPARE(a->owner, b->owner), MTS_COMPARE(a->id, b->id)));
}

/* Whether a value is never stored: the launch that reads it computes it. */
static bool is_fused(const mts_encoding *encoding, uint32_t value)
{
    const uint32_t producer = encoding->stitched->values[value].member;
    return MTS_FUSES && producer != MTS_NONE && encoding->plan->members[producer].fused;
}

/* Adds what a member reads; returns the bytes that it stores. */
static uint64_t add_member(sources *s, uint32_t index)
{
    const mts_encoding *encoding = s->encoding;
    const mts_member *member = &encoding->stitched->members[index];
    const mts_member_plan *how = &encoding->plan->members[index];
    const bool codes = how->variant == MTS_VARIANT_BYTES || how->variant == MTS_VARIANT_CODES;
    const size_t size = mts_precision_size(encoding->precision);
    uint64_t bytes = how->bare || how->fused ? 0 : value_bytes(encoding, member->output);
    bytes += how->codes_conversion != MTS_NONE ? value_elements(encoding, member->output) : 0;
    for (uint32_t i = 0; i < member->input_count; i++) {
        const mts_value *constant = mts_member_operand(encoding->stitched, member, i);
        if (member->inputs[i] != MTS_NONE && !is_fused(encoding, member->inputs[i])) {
            const uint64_t elements = codes ? value_elements(encoding, member->inputs[i])
                                            : stored_elements(encoding, member->inputs[i]);
            add_source(s, (source){.id = member->inputs[i], .bytes = elements * (codes ? 1 : size)});
        } else if (member->inputs[i] == MTS_NONE && constant) {
            add_constant(s, member, constant, codes && i == 1 ? 1 : size);
        }
    }
    return bytes;
}

/* Of a layer, with those that are fused into it. */
static uint64_t layer_bytes(const mts_encoding *encoding, uint32_t index)
{
    const mts_fusion *fusion = &encoding->plan->fusions[index];
    const bool fuses = mts_plan_fuses(encoding->plan, index);
    const uint32_t layers[] = {index, fuses ? fusion->depthwise : mts_plan_summand(encoding->plan, index),
                               fuses ? fusion->expand : MTS_NONE};
    sources s = {.encoding = encoding};
    uint64_t bytes = 0;
    for (int i = 0; i < 3 && layers[i] != MTS_NONE; i++) {
        const mts_layer *layer = &encoding->stitched->layers[layers[i]];
        for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
            bytes += add_member(&s, m);
        }
    }
    if (s.count > 0) {
        qsort(s.items, s.count, sizeof *s.items, compare_sources);
    }
    for (size_t i = 0; i < s.count; i++) {
        bytes += i > 0 && compare_sources(&s.items[i - 1], &s.items[i]) == 0 ? 0 : s.items[i].bytes;
    }
    mts_alloc_free(encoding->arena->allocator, s.items);
    return s.failed ? 0 : bytes;
}

uint64_t mts_traffic_bytes(const mts_encoding *encoding, const mts_step *step)
{
    const mts_plan *plan = encoding->plan;
    uint64_t bytes = 0;
    if (step->kind == MTS_STEP_LAYER) {
        return layer_bytes(encoding, step->first);
    }
    for (uint32_t i = 0; i < step->count && step->kind == MTS_STEP_INPUT; i++) {
        const uint32_t value = plan->imports[step->first + i];
        bytes += value_elements(encoding, value) * sizeof(float) + value_bytes(encoding, value);
    }
    for (uint32_t i = 0; i < step->count && step->kind != MTS_STEP_INPUT; i++) {
        const mts_conversion *c = &plan->conversions[plan->order[step->first + i]];
        bytes += c->zero_copy ? value_elements(encoding, c->value) * sizeof(float)
                              : value_bytes(encoding, c->value);
        /* a part of planes in another order spans planes that it does not write */
        const mts_storage *to = &plan->storages[c->storage];
        const uint64_t floats = to->planes ? (uint64_t)mts_storage_planes(to) * to->pitch : to->floats;
        bytes += floats * mts_precision_size(encoding->precision);
    }
    return bytes;
}
