/*
 * kernel_config.c: signatures of layers, the table of defaults, and the table of what was measured.
 */
#include "plan/kernel_config.h"

#include <string.h>

#include "base/hash.h"
#include "plan/block.h"
#include "plan/winograd.h"

/*
 * Defaults: the last row that fits a device wins, so rows go from the general to the special. `name` is a
 * part of the device's name (any case), NULL: any.
 *
 * Rows times vectors of pixels fill the registers; many rows use an input vector often, few leave room for
 * vectors that share a weight. 13 rows by 2 vectors of 16 floats is best on AVX-512 (kernels/README.md). The
 * rows of GPUs are estimates that were not measured on one.
 */
typedef struct default_row {
    bool is_gpu;
    uint32_t vector_floats; /* at least */
    const char *name;
    mts_kernel_config choice;
    uint32_t tiles_per_unit;
} default_row;

static const default_row default_rows[] = {
    {.is_gpu = false, .choice = {.rows = 6, .vectors = 48, .local = 1}, .tiles_per_unit = 16},
    {.is_gpu = false,
     .vector_floats = 16,
     .choice = {.rows = 13, .vectors = 48, .local = 1},
     .tiles_per_unit = 16},
    {.is_gpu = true, .choice = {.rows = 8, .vectors = 4, .local = 64}, .tiles_per_unit = 16},
    {.is_gpu = true,
     .name = "adreno",
     .choice = {.rows = 8, .vectors = 4, .local = 64},
     .tiles_per_unit = 16},
    {.is_gpu = true, .name = "mali", .choice = {.rows = 8, .vectors = 4, .local = 64}, .tiles_per_unit = 16},
    {.is_gpu = true,
     .name = "nvidia",
     .choice = {.rows = 8, .vectors = 4, .local = 64},
     .tiles_per_unit = 16},
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool contains(const char *text, const char *part)
{
    for (; *text != '\0'; text++) {
        size_t i = 0;
        while (part[i] != '\0' && lower(text[i]) == part[i]) {
            i++;
        }
        if (part[i] == '\0') {
            return true;
        }
    }
    return false;
}

static const default_row *row_of(const mts_device_info *device)
{
    const default_row *found = &default_rows[0];
    for (size_t i = 0; i < sizeof default_rows / sizeof default_rows[0]; i++) {
        const default_row *row = &default_rows[i];
        if (row->is_gpu == device->is_gpu && device->vector_floats >= row->vector_floats &&
            (!row->name || contains(device->name, row->name) || contains(device->driver, row->name))) {
            found = row;
        }
    }
    return found;
}

/* A choice made for another device of the same kind may ask for larger groups than this one has. */
static mts_kernel_config fit(mts_kernel_config choice, const mts_device_info *device)
{
    if (choice.kernel == MTS_KERNEL_CONFIG_BLOCK) {
        return mts_block_fits(device, &choice) ? choice : fit(row_of(device)->choice, device);
    }
    choice.local = choice.local > device->work_group_size ? device->work_group_size : choice.local;
    choice.local = choice.local == 0 || !device->is_gpu ? 1 : choice.local;
    choice.rows = choice.rows == 0 ? 1 : choice.rows;
    choice.vectors = choice.vectors == 0 ? 1 : choice.vectors;
    return choice;
}

mts_kernel_config mts_kernel_config_tiles(const mts_device_info *device)
{
    return fit(row_of(device)->choice, device);
}

mts_kernel_config mts_kernel_config_default(const mts_device_info *device, const mts_layer_facts *facts)
{
    mts_kernel_config choice = mts_kernel_config_tiles(device);
    if (facts && facts->conv && mts_winograd_pays(device, facts)) {
        choice.kernel = MTS_KERNEL_CONFIG_WINOGRAD;
    }
    return facts && mts_block_pays(device, facts) ? mts_block_shape(device, facts) : choice;
}

static bool same_choice(const mts_kernel_config *a, const mts_kernel_config *b)
{
    return a->kernel == b->kernel && a->rows == b->rows && a->vectors == b->vectors && a->local == b->local &&
           a->depth == b->depth && a->parts == b->parts;
}

/* Appends a choice that fits the device and is not there yet. */
static void propose(const mts_device_info *device, mts_kernel_config choice, mts_kernel_config *out,
                    uint32_t *count, uint32_t most)
{
    const mts_kernel_config fitting = fit(choice, device);
    bool known = *count == most;
    for (uint32_t i = 0; i < *count && !known; i++) {
        known = same_choice(&fitting, &out[i]);
    }
    if (!known) {
        out[(*count)++] = fitting;
    }
}

/* Rows and vectors around the usual ones; a GPU, which has blocks besides, takes the first few rows. */
static void propose_tiles(const mts_device_info *device, mts_kernel_config usual, mts_kernel_config *out,
                          uint32_t *count, uint32_t most)
{
    static const uint32_t rows[] = {8, 4, 13, 6, 10};
    static const uint32_t halves[] = {2, 4, 1,
                                      8}; /* of twice the vectors: 1, 1/2, 2, 1/4 times the default */
    const size_t row_count = device->is_gpu ? 2 : sizeof rows / sizeof rows[0];
    for (size_t r = 0; r <= row_count; r++) { /* rows are built for, vectors are not */
        for (size_t v = 0; v < sizeof halves / sizeof halves[0]; v++) {
            mts_kernel_config choice = usual;
            choice.rows = r == 0 ? usual.rows : rows[r - 1];
            choice.vectors = usual.vectors * 2 / halves[v];
            propose(device, choice, out, count, most);
        }
    }
    for (uint32_t local = 16; device->is_gpu && local <= 256; local *= 2) {
        mts_kernel_config choice = usual;
        choice.local = local;
        propose(device, choice, out, count, most);
    }
}

uint32_t mts_kernel_config_candidates(const mts_device_info *device, mts_kernel_config *out, uint32_t most)
{
    const mts_kernel_config usual = mts_kernel_config_tiles(device);
    uint32_t count = 0;
    mts_kernel_config choice = usual;
    choice.kernel =
        MTS_KERNEL_CONFIG_WINOGRAD; /* the default of some layers; that of others is among the tiles */
    if (!device->is_gpu) {
        propose(device, choice, out, &count, most);
    }
    for (uint32_t b = 0; mts_block_candidate(device, b, &choice); b++) {
        propose(device, choice, out, &count, most);
    }
    propose_tiles(device, usual, out, &count, most);
    if (device->gemm) {
        choice = usual;
        choice.kernel = MTS_KERNEL_CONFIG_GEMM;
        propose(device, choice, out, &count, most);
    }
    return count;
}

mts_kernel_config mts_kernel_config_smallest(const mts_device_info *device)
{
    return fit(
        (mts_kernel_config){
            .kernel = MTS_KERNEL_CONFIG_TILE, .rows = 4, .vectors = device->is_gpu ? 1 : 16, .local = 16},
        device);
}

uint64_t mts_kernel_config_slice_bytes(const mts_device_info *device)
{
    enum { BYTES_PER_UNIT = 3 << 20 }; /* measured with 2 MiB of second level cache a core, docs/results */
    return device->is_gpu
               ? 0
               : (uint64_t)BYTES_PER_UNIT * (device->compute_units > 0 ? device->compute_units : 1);
}

uint32_t mts_kernel_config_tiles_per_unit(const mts_device_info *device)
{
    return row_of(device)->tiles_per_unit;
}

/* ---- signatures ---- */

/* Numbers of things in order of first appearance, so that a signature depends on what is equal only. */
typedef struct numbering {
    uint32_t *seen, *slots; /* slots: open-addressed, index + 1 */
    size_t count, slot_count;
} numbering;

static bool open_numbering(numbering *n, size_t most, mts_arena *scratch)
{
    *n = (numbering){.slot_count = 16};
    while (n->slot_count < most * 2) {
        n->slot_count *= 2;
    }
    n->seen = mts_arena_zero(scratch, most, sizeof *n->seen);
    n->slots = mts_arena_zero(scratch, n->slot_count, sizeof *n->slots);
    return n->seen && n->slots;
}

static uint32_t number_of(numbering *n, uint32_t thing)
{
    size_t slot = (size_t)mts_hash(&thing, sizeof thing, 0) & (n->slot_count - 1);
    while (n->slots[slot] != 0) {
        if (n->seen[n->slots[slot] - 1] == thing) {
            return n->slots[slot] - 1;
        }
        slot = (slot + 1) & (n->slot_count - 1);
    }
    n->seen[n->count++] = thing;
    n->slots[slot] = (uint32_t)n->count;
    return (uint32_t)n->count - 1;
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

void mts_kernel_configs_init(mts_kernel_configs *choices, const mts_allocator *allocator)
{
    *choices = (mts_kernel_configs){.allocator = allocator};
}

void mts_kernel_configs_release(mts_kernel_configs *choices)
{
    if (choices->allocator) {
        mts_alloc_free(choices->allocator, choices->entries);
    }
    *choices = (mts_kernel_configs){.allocator = choices->allocator};
}

mts_status mts_kernel_configs_add(mts_kernel_configs *choices, const mts_kernel_config_entry *entry,
                                  mts_error *error)
{
    for (size_t i = 0; i < choices->count; i++) {
        if (choices->entries[i].signature == entry->signature) {
            choices->entries[i] = *entry;
            return MTS_STATUS_OK;
        }
    }
    if (!mts_alloc_grow(choices->allocator, (void **)&choices->entries, &choices->capacity,
                        choices->count + 1, sizeof *choices->entries)) {
        return mts_fail_memory(error);
    }
    choices->entries[choices->count++] = *entry;
    return MTS_STATUS_OK;
}

const mts_kernel_config_entry *mts_kernel_configs_find(const mts_kernel_configs *choices, uint64_t signature)
{
    for (size_t i = 0; choices && i < choices->count; i++) {
        if (choices->entries[i].signature == signature) {
            return &choices->entries[i];
        }
    }
    return NULL;
}

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

bool mts_kernel_configs_failed(const mts_kernel_configs *choices, const mts_kernel_config *choice)
{
    for (size_t i = 0; choices && i < choices->failed_count; i++) {
        const mts_kernel_config *failed = &choices->failed[i];
        if (same_choice(failed, choice) || (failed->rows == 0 && failed->kernel == choice->kernel)) {
            return true;
        }
    }
    return false;
}

/* The first of the choice, the default, the default tiles and the smallest tiles that has not failed. */
static mts_kernel_config avoid_failed(const mts_kernel_configs *choices, const mts_device_info *device,
                                      const mts_layer_facts *facts, mts_kernel_config choice)
{
    if (mts_kernel_configs_failed(choices, &choice)) {
        choice = mts_kernel_config_default(device, facts);
    }
    if (mts_kernel_configs_failed(choices, &choice)) {
        choice = mts_kernel_config_tiles(device);
    }
    return mts_kernel_configs_failed(choices, &choice) ? mts_kernel_config_smallest(device) : choice;
}

mts_kernel_config mts_kernel_configs_get(const mts_kernel_configs *choices, const mts_device_info *device,
                                         const mts_layer_facts *facts)
{
    if (choices && choices->forced) {
        return fit(*choices->forced, device);
    }
    const mts_kernel_config_entry *found = mts_kernel_configs_find(choices, facts->signature);
    for (size_t i = 0; !found && choices && i < choices->count; i++) {
        found = choices->entries[i].kind == facts->kind ? &choices->entries[i] : NULL;
    }
    if (!found) {
        return avoid_failed(choices, device, facts, mts_kernel_config_default(device, facts));
    }
    for (size_t i = 0; found->signature != facts->signature && i < choices->count; i++) {
        const mts_kernel_config_entry *other = &choices->entries[i];
        if (other->kind == facts->kind &&
            distance(other->members, facts->members) < distance(found->members, facts->members)) {
            found = other;
        }
    }
    return avoid_failed(choices, device, facts, fit(found->choice, device));
}
