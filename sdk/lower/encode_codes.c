/*
 * encode_codes.c: map_bytes and pool_bytes: members of a layer that compute with codes
 * (MTS_VARIANT_CODES), one launch for each kernel. Not responsible for which members
 * these are (plan/codes.c), nor for convolutions (encode_bytes.c).
 */
#include "lower/encoders.h"
#include "lower/launch_shape.h"
#include "plan/codes.h"

static mts_codes_dest dest_of(const mts_encoding *encoding, uint32_t member)
{
    const mts_plan *plan = encoding->plan;
    const mts_conversion *c = &plan->conversions[plan->members[member].codes_conversion];
    const mts_storage *storage = &plan->storages[c->storage];
    const mts_shape *shape = &encoding->stitched->values[c->value].shape;
    return (mts_codes_dest){.out = (mts_u32)storage->offset,
                            .pitch = storage->pitch,
                            .rows = c->rows,
                            .row = storage->row,
                            .images = (mts_u32)shape->dims[0],
                            .channels = (mts_u32)shape->dims[1],
                            .top = c->top,
                            .left = c->left,
                            .height = (mts_u32)shape->dims[2],
                            .width = (mts_u32)shape->dims[3],
                            .inverse = 1.0f / plan->grids[c->value].step,
                            .least = plan->grids[c->value].least};
}

static mts_codes_source source_of(const mts_encoding *encoding, uint32_t conversion, float sign)
{
    const mts_plan *plan = encoding->plan;
    const mts_conversion *c = &plan->conversions[conversion];
    const mts_storage *storage = &plan->storages[c->storage];
    const mts_grid *grid = &plan->grids[c->value];
    return (mts_codes_source){.src = (mts_u32)storage->offset + c->top * storage->row + c->left,
                              .pitch = storage->pitch,
                              .row = storage->row,
                              .words =
                                  MTS_CODE_WORDS((mts_u32)encoding->stitched->values[c->value].shape.dims[1]),
                              .factor = sign * grid->step,
                              .least = grid->least};
}

static void fill_map(mts_encoding *encoding, uint32_t index, void *params)
{
    const mts_member *member = &encoding->stitched->members[index];
    const mts_member_plan *how = &encoding->plan->members[index];
    const mts_node *node = mts_member_node(encoding->stitched, member);
    const bool minus = node->op == MTS_OP_BINARY && node->attrs.binary.kind == MTS_BIN_SUB;
    mts_map_params *r = params;
    r->dest = dest_of(encoding, index);
    r->in[0] = source_of(encoding, how->input_conversion, 1.0f);
    r->in[1] = r->in[0];
    r->kind = MTS_MAP_ALONE;
    r->step = encoding->plan->grids[member->output].step;
    r->floats.base = MTS_PARAM_NONE;
    if (!how->bare) {
        r->floats = mts_encode_output(encoding, member);
    }
    r->scale = r->bias = MTS_PARAM_NONE;
    if (node->op == MTS_OP_BINARY) {
        r->in[1] = source_of(encoding, how->residual_conversion, minus ? -1.0f : 1.0f);
        r->kind = minus ? MTS_BIN_ADD : node->attrs.binary.kind;
    } else if (node->op == MTS_OP_SCALE) {
        r->scale = mts_encode_vector(encoding, member, 1, NULL, r->dest.channels);
        r->bias = mts_encode_vector(encoding, member, 2, NULL, r->dest.channels);
    }
}

static void fill_pool(mts_encoding *encoding, uint32_t index, void *params)
{
    const mts_member *member = &encoding->stitched->members[index];
    const mts_attrs_pool *pool = &mts_member_node(encoding->stitched, member)->attrs.pool;
    const mts_shape *in = &encoding->stitched->values[member->inputs[0]].shape;
    mts_pool_codes_params *r = params;
    *r = (mts_pool_codes_params){.dest = dest_of(encoding, index),
                                 .in_h = (mts_u32)in->dims[2],
                                 .in_w = (mts_u32)in->dims[3],
                                 .window = {pool->kernel[0], pool->kernel[1]},
                                 .stride = {pool->stride[0], pool->stride[1]},
                                 .pad = {pool->pad[0], pool->pad[1]}};
    r->in = source_of(encoding, encoding->plan->members[index].input_conversion, 1.0f);
}

static void fill_spread(mts_encoding *encoding, uint32_t index, void *params)
{
    mts_spread_params *r = params;
    r->dest = dest_of(encoding, index);
    r->in = source_of(encoding, encoding->plan->members[index].input_conversion, 1.0f);
}

/* Means of planes, which are floats: one launch over their tensors. */
static mts_status encode_means(mts_encoding *encoding, const mts_layer *layer, const char *label)
{
    mts_mean_params *params = mts_arena_zero(encoding->arena, layer->count, sizeof *params);
    uint32_t *masks = mts_arena_zero(encoding->arena, layer->count, sizeof *masks);
    uint32_t count = 0;
    if (!params || !masks) {
        return mts_encode_memory(encoding);
    }
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        if (encoding->plan->members[m].variant == MTS_VARIANT_CODES) {
            const mts_member *member = &encoding->stitched->members[m];
            const mts_shape *in = &encoding->stitched->values[member->inputs[0]].shape;
            params[count] = (mts_mean_params){
                .dest = mts_encode_output(encoding, member),
                .in = source_of(encoding, encoding->plan->members[m].input_conversion, 1.0f),
                .height = (mts_u32)in->dims[2],
                .width = (mts_u32)in->dims[3]};
            masks[count++] = mts_encode_task_mask(encoding, m);
        }
    }
    const uint32_t words = MTS_PARAM_WORDS(mts_mean_params);
    mts_status status = mts_encode_dests(encoding, "mean_bytes__i32_words", label, params, words, count);
    MTS_TRY(status, mts_encode_entries(encoding, MTS_ENTRY_PARAMS, words, masks, count));
    return status;
}

/* A kernel, and how a member's parameters are made, which begin with a mts_codes_dest. */
typedef struct codes_kernel {
    const char *name;
    uint32_t words;
    void (*fill)(mts_encoding *encoding, uint32_t member, void *params);
} codes_kernel;

static const codes_kernel map = {"map_bytes__i32_words", MTS_PARAM_WORDS(mts_map_params), fill_map};
static const codes_kernel pool = {"pool_bytes__i32_words", MTS_PARAM_WORDS(mts_pool_codes_params), fill_pool};
static const codes_kernel spread = {"spread_bytes__i32_words", MTS_PARAM_WORDS(mts_spread_params),
                                    fill_spread};

mts_status mts_encode_codes(mts_encoding *encoding, const mts_layer *layer, const char *label)
{
    const mts_node *node = mts_member_node(encoding->stitched, &encoding->stitched->members[layer->first]);
    if (mts_codes_is_mean(node)) {
        return encode_means(encoding, layer, label);
    }
    const codes_kernel *kernel = layer->op == MTS_OP_POOL     ? &pool
                                 : layer->op == MTS_OP_DECONV ? &spread
                                                              : &map;
    const size_t size = kernel->words * sizeof(mts_u32);
    mts_encoded_launch launch = {.kernel = kernel->name, .label = label};
    char *params = mts_arena_zero(encoding->arena, layer->count, size);
    uint32_t *masks = mts_arena_zero(encoding->arena, layer->count, sizeof *masks);
    mts_extent extent;
    if (!params || !masks || !mts_extent_open(encoding, &extent, layer->count)) {
        return mts_encode_memory(encoding);
    }
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        if (encoding->plan->members[m].variant == MTS_VARIANT_CODES) {
            mts_codes_dest *dest = (void *)(params + extent.count * size);
            kernel->fill(encoding, m, dest);
            masks[extent.count] = mts_encode_task_mask(encoding, m);
            mts_extent_add(&extent, dest->pitch, dest->images * MTS_CODE_WORDS(dest->channels));
        }
    }
    mts_launch_over_planes(encoding->device, extent.pitch, (uint64_t)extent.planes * extent.count,
                           launch.global, launch.local);
    mts_status status = mts_extent_launch(encoding, &extent, &launch, params, kernel->words);
    MTS_TRY(status, mts_encode_entries(encoding, MTS_ENTRY_PARAMS, kernel->words, masks, extent.count));
    return status;
}
