/*
 * kernel_config.c: signatures of layers, and the table of measured kernel configurations.
 */
#include "plan/kernel_config.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"

bool mts_kernel_config_equal(const mts_kernel_config *a, const mts_kernel_config *b)
{
    return a->kernel == b->kernel && a->rows == b->rows && a->vectors == b->vectors && a->local == b->local &&
           a->depth == b->depth && a->parts == b->parts;
}

/* The smallest library has no room for the question. */
#ifdef MTS_SMALL
#define MTS_MORE_SLICES 0
#else
#define MTS_MORE_SLICES (1 << 19)
#endif

uint64_t mts_kernel_config_slice_bytes(const mts_device_info *device)
{
    /* measured with 2 MiB of second level cache a core, docs/results; where launches cost time
       (1 MiB a core there), fewer of them are worth a little more */
    enum { BYTES_PER_UNIT = 3 << 20, MORE = MTS_MORE_SLICES };
    const uint64_t bytes = BYTES_PER_UNIT + (device->launch_ns > 0 ? MORE : 0);
    return device->is_gpu ? 0 : bytes * (device->compute_units > 0 ? device->compute_units : 1);
}

/* ---- signatures ---- */

/* Numbers of things in order of first appearance, so that a signature depends on what is
   equal only. */
typedef struct numbering {
    uint32_t *seen;
    mts_map map; /* of `seen` */
} numbering;

static bool open_numbering(numbering *n, size_t most, mts_arena *scratch)
{
    n->seen = mts_arena_zero(scratch, most, sizeof *n->seen);
    mts_map_init_arena(&n->map, scratch);
    return n->seen && mts_map_reserve(&n->map, most);
}

static bool same_thing(const void *seen, uint32_t index, const void *thing)
{
    return ((const uint32_t *)seen)[index] == *(const uint32_t *)thing;
}

static uint32_t number_of(numbering *n, uint32_t thing)
{
    const uint64_t hash = mts_hash(&thing, sizeof thing, 0);
    uint32_t number = mts_map_find(&n->map, hash, same_thing, n->seen, &thing);
    if (number == MTS_MAP_NONE) {
        number = (uint32_t)n->map.count;
        n->seen[number] = thing;
        (void)mts_map_add(&n->map, hash, number); /* reserved */
    }
    return number;
}

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
    return mts_hash(data, size, hash);
}

static uint64_t mix_shape(uint64_t hash, const mts_shape *shape)
{
    return mix(mix(hash, &shape->rank, sizeof shape->rank), shape->dims, shape->rank * sizeof shape->dims[0]);
}

static uint64_t mix_conv(uint64_t hash, const mts_attrs_conv *conv)
{
    hash = mix(hash, conv->kernel, sizeof conv->kernel);
    hash = mix(hash, conv->stride, sizeof conv->stride);
    hash = mix(hash, conv->dilation, sizeof conv->dilation);
    hash = mix(hash, conv->pad, sizeof conv->pad);
    hash = mix(hash, &conv->group, sizeof conv->group);
    return mix(hash, &conv->act.fn, sizeof conv->act.fn);
}

/* One computation: sizes and attributes, nothing of what others do. */
static uint64_t member_kind(const mts_stitched *stitched, const mts_member *member)
{
    const mts_node *node = mts_member_node(stitched, member);
    const uint32_t op = (uint32_t)node->op;
    uint64_t hash = mix(0, &op, sizeof op);
    if (node->op == MTS_OP_CONV) {
        hash = mix_conv(hash, &node->attrs.conv);
    }
    for (uint32_t i = 0; i < member->input_count; i++) {
        const uint32_t present = node->inputs[i] != MTS_NONE;
        hash = mix(hash, &present, sizeof present);
        if (member->inputs[i] != MTS_NONE) {
            hash = mix_shape(hash, &stitched->values[member->inputs[i]].shape);
        }
    }
    return mix_shape(hash, &stitched->values[member->output].shape);
}

/* A weight block counts as shared if another member of the layer has it too. */
static uint64_t mix_blocks(uint64_t hash, const mts_stitched *stitched, const mts_member *member,
                           numbering *blocks)
{
    const mts_value *weight = member->input_count > 1 ? mts_member_operand(stitched, member, 1) : NULL;
    for (uint32_t b = 0; weight && weight->kind == MTS_VALUE_CONST && b < weight->block_count; b++) {
        const mts_block_ref *ref = &weight->blocks[b];
        const uint32_t key[5] = {stitched->shared ? number_of(blocks, ref->block) : 0, ref->out_first,
                                 ref->out_count, ref->in_first, ref->in_count};
        hash = mix(hash, key, sizeof key);
    }
    return hash;
}

static size_t count_blocks(const mts_stitched *stitched, const mts_layer *layer)
{
    size_t count = 0;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        const mts_member *member = &stitched->members[m];
        const mts_value *weight = member->input_count > 1 ? mts_member_operand(stitched, member, 1) : NULL;
        count += weight ? weight->block_count : 0;
    }
    return count;
}

mts_status mts_layer_facts_get(const mts_stitched *stitched, uint32_t layer, mts_arena *scratch,
                               mts_layer_facts *facts, mts_error *error)
{
    const mts_layer *l = &stitched->layers[layer];
    const mts_member *first = &stitched->members[l->first];
    const mts_node *node = mts_member_node(stitched, first);
    numbering blocks, inputs;
    if (!open_numbering(&blocks, count_blocks(stitched, l), scratch) ||
        !open_numbering(&inputs, l->count, scratch)) {
        return mts_fail_memory(error);
    }
    *facts = (mts_layer_facts){.op = l->op, .members = l->count, .kind = member_kind(stitched, first)};
    facts->signature = stitched->shared ? 1 : 0;
    for (uint32_t m = l->first; m < l->first + l->count; m++) {
        const mts_member *member = &stitched->members[m];
        const uint32_t input = member->input_count > 0 ? number_of(&inputs, member->inputs[0]) : 0;
        const uint64_t kind = member_kind(stitched, member);
        facts->signature = mix(facts->signature, &kind, sizeof kind);
        facts->signature = mix(facts->signature, &input, sizeof input);
        facts->signature = mix_blocks(facts->signature, stitched, member, &blocks);
    }
    if (l->op == MTS_OP_CONV) {
        const int64_t *in = stitched->values[first->inputs[0]].shape.dims;
        const int64_t *out = stitched->values[first->output].shape.dims;
        facts->conv = &node->attrs.conv;
        facts->in_channels = (uint32_t)in[1];
        facts->out_channels = (uint32_t)out[1];
        facts->height = (uint32_t)out[2];
        facts->width = (uint32_t)out[3];
    }
    return MTS_STATUS_OK;
}

/* ---- the table of what was measured ---- */

void mts_kernel_configs_init(mts_kernel_configs *configs, const mts_allocator *allocator)
{
    *configs = (mts_kernel_configs){.allocator = allocator};
}

void mts_kernel_configs_release(mts_kernel_configs *configs)
{
    if (configs->allocator) {
        mts_alloc_free(configs->allocator, configs->entries);
    }
    *configs = (mts_kernel_configs){.allocator = configs->allocator};
}

mts_status mts_kernel_configs_add(mts_kernel_configs *configs, const mts_kernel_config_entry *entry,
                                  mts_error *error)
{
    for (size_t i = 0; i < configs->count; i++) {
        if (configs->entries[i].signature == entry->signature) {
            configs->entries[i] = *entry;
            return MTS_STATUS_OK;
        }
    }
    if (!mts_alloc_grow(configs->allocator, (void **)&configs->entries, &configs->capacity,
                        configs->count + 1, sizeof *configs->entries)) {
        return mts_fail_memory(error);
    }
    configs->entries[configs->count++] = *entry;
    return MTS_STATUS_OK;
}

const mts_kernel_config_entry *mts_kernel_configs_find(const mts_kernel_configs *configs, uint64_t signature)
{
    for (size_t i = 0; configs && i < configs->count; i++) {
        if (configs->entries[i].signature == signature) {
            return &configs->entries[i];
        }
    }
    return NULL;
}

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

bool mts_kernel_configs_failed(const mts_kernel_configs *configs, const mts_kernel_config *config)
{
    for (size_t i = 0; configs && i < configs->failed_count; i++) {
        const mts_kernel_config *failed = &configs->failed[i];
        if (mts_kernel_config_equal(failed, config) ||
            (failed->rows == 0 && failed->kernel == config->kernel)) {
            return true;
        }
    }
    return false;
}

const mts_kernel_config_entry *mts_kernel_configs_nearest(const mts_kernel_configs *configs,
                                                          const mts_layer_facts *facts)
{
    const mts_kernel_config_entry *found = mts_kernel_configs_find(configs, facts->signature);
    for (size_t i = 0; configs && i < configs->count && (!found || found->signature != facts->signature);
         i++) {
        const mts_kernel_config_entry *other = &configs->entries[i];
        if (other->kind == facts->kind &&
            (!found || distance(other->members, facts->members) < distance(found->members, facts->members))) {
            found = other;
        }
    }
    return found;
}
