/*
 * encode_reduce.c: reductions, softmax, matrix products.
 *
 * What an element of their results costs depends on the length of a line or the depth of
 * a product, so that they have grids of their own: on a CPU a work-item does what takes
 * some microseconds, however few elements that are.
 */
#include <stdio.h>

#include "lower/encoders.h"
#include "lower/launch_shape.h"
#include "lower/pack_dims.h"

/* Of a work-item of a CPU: elements that are read, products that are added. */
#define ITEM_ELEMENTS 8192u
#define ITEM_PRODUCTS ((uint64_t)1 << 18)

static uint32_t most_of(uint32_t a, uint64_t b)
{
    return b > a ? (uint32_t)b : a;
}

/* Work-items of a plane of `pitch` elements, each of which is made of `length` others. */
static uint32_t items_of_lines(const mts_encoding *encoding, uint32_t pitch, uint64_t length)
{
    const uint32_t vectors = pitch / mts_launch_vector(encoding->device) + 1;
    const uint64_t items = ((uint64_t)pitch * length + ITEM_ELEMENTS - 1) / ITEM_ELEMENTS;
    if (encoding->device->is_gpu) {
        return pitch;
    }
    return items < vectors ? most_of(1, items) : vectors;
}

/* Of packs, whose rows, columns or both are reduced; false: there are none. */
static bool reduce_packs(mts_encoding *encoding, const mts_member *member, mts_reduce_params *r)
{
    enum { ROWS = 2, COLUMNS = 3 };
    const uint32_t axes = mts_member_node(encoding->stitched, member)->attrs.reduce.axes;
    const int64_t *in = encoding->stitched->values[member->inputs[0]].shape.dims;
    mts_pack_form form;
    uint32_t pool = 0;
    if (!mts_packs_touch(encoding, member, &form)) {
        return false;
    }
    r->dest = mts_packs_output(encoding, member, &form);
    r->src = mts_packs_operand(encoding, member, 0, &form, &pool);
    for (uint32_t d = 0; d < MTS_PARAM_RANK; d++) {
        r->extent[d] = 1;
    }
    for (uint32_t axis = ROWS; axis <= COLUMNS; axis++) {
        const uint32_t at = form.at[axis];
        const bool reduced = (axes >> axis & 1) != 0;
        r->extent[at] = reduced ? (uint32_t)in[axis] : 1;
        r->step[at] = reduced ? r->src.stride[at] : 0;
    }
    return true;
}

static void fill_reduce(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_attrs_reduce *reduce = &mts_member_node(encoding->stitched, member)->attrs.reduce;
    const mts_shape *in = &encoding->stitched->values[member->inputs[0]].shape;
    /* Of the output, the reduced dimensions kept as 1. */
    uint32_t dims[MTS_PARAM_RANK];
    mts_shape_pad(in, dims);
    mts_reduce_params *r = params;
    r->kind = reduce->kind;
    if (reduce_packs(encoding, member, r)) {
        return;
    }
    r->src = mts_encode_view(encoding, member->inputs[0]);
    for (uint32_t d = 0; d < MTS_PARAM_RANK; d++) {
        const uint32_t skip = MTS_PARAM_RANK - in->rank;
        const bool reduced = d >= skip && (reduce->axes >> (d - skip) & 1) != 0;
        r->extent[d] = reduced ? dims[d] : 1;
        r->step[d] = reduced ? r->src.stride[d] : 0;
        dims[d] = reduced ? 1 : dims[d];
    }
    r->dest = mts_encode_dest_as(encoding, encoding->plan->value_storage[member->output], dims);
}

static uint32_t reduce_positions(const mts_stitched *stitched, const mts_member *member)
{
    const mts_attrs_reduce *reduce = &mts_member_node(stitched, member)->attrs.reduce;
    const mts_shape *in = &mts_member_operand(stitched, member, 0)->shape;
    return MTS_REDUCE_IS_POSITION(reduce->kind) ? (uint32_t)in->dims[mts_reduce_axis(reduce)] : 0;
}

/* Elements of an output. */
static uint64_t reduce_length(const mts_reduce_params *r)
{
    uint64_t length = 1;
    for (uint32_t d = 0; d < MTS_PARAM_RANK; d++) {
        length *= r->extent[d];
    }
    return length;
}

/*
 * Whether the work-items of a GPU's group share the elements of an output (reduce_group).
 * One for each output would leave most of a group idle where a plane has few outputs.
 */
static bool is_shared(uint32_t kind, uint64_t outputs, uint64_t length)
{
    enum { OUTPUTS_MOST = 16, LENGTH_LEAST = 16 };
    return !MTS_REDUCE_IS_POSITION(kind) && kind != MTS_REDUCE_LOG_SUM_EXP && outputs <= OUTPUTS_MOST &&
           length >= LENGTH_LEAST;
}

bool mts_reduce_is_shared(const mts_encoding *encoding, const mts_layer *layer)
{
    bool shared = encoding->device->is_gpu;
    for (uint32_t m = layer->first; shared && m < layer->first + layer->count; m++) {
        const mts_member *member = &encoding->stitched->members[m];
        const mts_attrs_reduce *reduce = &mts_member_node(encoding->stitched, member)->attrs.reduce;
        const mts_shape *in = &mts_member_operand(encoding->stitched, member, 0)->shape;
        uint32_t dims[MTS_PARAM_RANK];
        uint64_t length = 1, outputs = 1;
        mts_shape_pad(in, dims);
        for (uint32_t d = 0; d < MTS_PARAM_RANK; d++) {
            const uint32_t skip = MTS_PARAM_RANK - in->rank;
            const bool reduced = d >= skip && (reduce->axes >> (d - skip) & 1) != 0;
            length *= reduced ? dims[d] : 1;
            outputs *= d >= 4 && !reduced ? dims[d] : 1;
        }
        shared = is_shared(reduce->kind, outputs, length);
    }
    return shared;
}

static mts_status launch_reduce(mts_encoding *encoding, const char *kernel, const char *label,
                                const void *params, uint32_t words, uint32_t count)
{
    const mts_reduce_params *r = params;
    bool shared = encoding->device->is_gpu;
    uint32_t items = 1;
    for (uint32_t i = 0; r && i < count; i++) {
        const uint64_t length = reduce_length(&r[i]);
        shared = shared && is_shared(r[i].kind, (uint64_t)r[i].dest.dims[4] * r[i].dest.dims[5], length);
        items = most_of(items, items_of_lines(encoding, r[i].dest.pitch, length));
    }
    return mts_encode_dests_over(encoding, shared ? "reduce_group__f32_planar" : kernel, label, params, words,
                                 count, items);
}

MTS_OPERATOR_LAUNCHED(reduce, reduce, fill_reduce, reduce_positions, launch_reduce);

static void fill_softmax(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_attrs_softmax *softmax = &mts_member_node(encoding->stitched, member)->attrs.softmax;
    mts_softmax_params *r = params;
    mts_pack_form form;
    r->length = mts_encode_line(encoding, member, softmax->axis, &r->dest, &r->src, &r->axis);
    r->log = softmax->log;
    if (mts_packs_touch(encoding, member, &form)) { /* along rows or columns */
        uint32_t pool = 0;
        r->dest = mts_packs_output(encoding, member, &form);
        r->src = mts_packs_operand(encoding, member, 0, &form, &pool);
        r->axis = form.at[softmax->axis];
    }
}

/* Of a plane. On a GPU a work-group takes neighbouring lines (kernels/softmax). */
static uint32_t items_of_softmax(const mts_encoding *encoding, const mts_softmax_params *r)
{
    const uint32_t height = r->dest.dims[4];
    const bool by_rows = r->axis == MTS_PARAM_RANK - 1;
    if (encoding->device->is_gpu) {
        uint32_t global[3];
        uint32_t local[3];
        mts_launch_over_plane(encoding->device, 1, global, local);
        const uint32_t columns = by_rows ? 1 : r->dest.dims[5];
        const uint32_t rows = r->axis == MTS_PARAM_RANK - 2 ? 1 : height;
        return rows * ((columns + local[0] - 1) / local[0]) * local[0];
    }
    if (!by_rows) {
        return items_of_lines(encoding, r->dest.pitch, r->length);
    }
    const uint64_t items = ((uint64_t)height * r->length + ITEM_ELEMENTS - 1) / ITEM_ELEMENTS;
    return items < height ? most_of(1, items) : height;
}

static mts_status launch_softmax(mts_encoding *encoding, const char *kernel, const char *label,
                                 const void *params, uint32_t words, uint32_t count)
{
    const mts_softmax_params *r = params;
    uint32_t items = 1;
    for (uint32_t i = 0; r && i < count; i++) {
        items = most_of(items, items_of_softmax(encoding, &r[i]));
    }
    return mts_encode_dests_over(encoding, kernel, label, params, words, count, items);
}

MTS_OPERATOR_LAUNCHED(softmax, softmax, fill_softmax, NULL, launch_softmax);

#if MTS_HAS_PACKED

bool mts_softmax_takes_packs(const mts_encoding *encoding, const mts_layer *layer)
{
    const mts_member *member = &encoding->stitched->members[layer->first];
    mts_pack_form form;
    return layer->op == MTS_OP_SOFTMAX &&
           mts_member_node(encoding->stitched, member)->attrs.softmax.axis == 1 &&
           mts_packs_touch(encoding, member, &form);
}

/* Pixels side by side of a work-group: all of its work-items, or fewer, which share pixels,
   where a GPU would else have too few groups. */
static uint32_t softmax_width(const mts_device_info *device, const mts_softmax_packed_params *r)
{
    enum { GROUPS_OF_UNIT = 4 };
    uint32_t global[3];
    uint32_t local[3];
    mts_launch_over_plane(device, r->pixels, global, local);
    const uint64_t wanted =
        (uint64_t)GROUPS_OF_UNIT * (device->compute_units > 0 ? device->compute_units : 1);
    uint32_t wide = local[0];
    while (wide > 1 && (uint64_t)r->images * ((r->pixels + wide - 1) / wide) < wanted &&
           local[0] / wide * MTS_CHANNEL_PACK < r->channels) {
        wide /= 2;
    }
    return wide;
}

/* The operand lies in packs, the result there or dense (plan/packed.c). */
static void fill_softmax_packed(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_plan *plan = encoding->plan;
    const mts_storage *in = &plan->storages[plan->value_storage[member->inputs[0]]];
    const mts_storage *out = &plan->storages[plan->value_storage[member->output]];
    const int64_t *dims = encoding->stitched->values[member->output].shape.dims;
    mts_softmax_packed_params *r = params;
    *r = (mts_softmax_packed_params){.images = (mts_u32)dims[0],
                                     .channels = (mts_u32)dims[1],
                                     .pixels = (mts_u32)(dims[2] * dims[3]),
                                     .in = mts_encode_view(encoding, member->inputs[0]).base,
                                     .in_image = mts_storage_channels(in) * in->pitch,
                                     .in_pitch = in->pitch,
                                     .out = mts_encode_view(encoding, member->output).base,
                                     .out_image = mts_storage_channels(out) * out->pitch,
                                     .out_pitch = out->pitch,
                                     .packs = out->lanes > 0,
                                     .log = mts_member_node(encoding->stitched, member)->attrs.softmax.log};
    r->wide = softmax_width(encoding->device, r);
}

static mts_status launch_softmax_packed(mts_encoding *encoding, const char *kernel, const char *label,
                                        const void *params, uint32_t words, uint32_t count)
{
    const mts_softmax_packed_params *r = params;
    mts_encoded_launch launch = {.kernel = kernel, .label = label};
    mts_extent extent;
    uint32_t blocks = 1;
    if (!params || !mts_extent_open(encoding, &extent, count)) {
        return mts_encode_memory(encoding);
    }
    launch.defines = mts_launch_packed_defines(encoding->precision, MTS_PACKED_JOBS_DENSE, false);
    for (uint32_t i = 0; i < count; i++) {
        mts_extent_add(&extent, r[i].pixels, r[i].images);
        blocks = most_of(blocks, (r[i].pixels + r[i].wide - 1) / r[i].wide);
    }
    mts_launch_over_plane(encoding->device, 1, launch.global, launch.local);
    launch.global[0] = blocks * launch.local[0];
    return mts_extent_launch(encoding, &extent, &launch, params, words);
}

const mts_operator mts_operator_softmax_packed = {
    "softmax_packed__f32_lanes", "softmax", MTS_PARAM_WORDS(mts_softmax_packed_params),
    fill_softmax_packed,         NULL,      launch_softmax_packed};

#endif

/* A factor's view: batch dimensions broadcast to the output's, the matrix dimensions its
   own. */
static mts_view_params factor(mts_encoding *encoding, const mts_member *member, uint32_t input,
                              const uint32_t out[MTS_PARAM_RANK], uint32_t *pool)
{
    uint32_t dims[MTS_PARAM_RANK];
    mts_shape_pad(&mts_member_operand(encoding->stitched, member, input)->shape, dims);
    for (int d = 0; d < 4; d++) {
        dims[d] = out[d];
    }
    return mts_encode_operand(encoding, member, input, dims, pool);
}

static void fill_matmul(mts_encoding *encoding, const mts_member *member, void *params)
{
    const mts_node *node = mts_member_node(encoding->stitched, member);
    const mts_shape *lhs = &mts_member_operand(encoding->stitched, member, 0)->shape;
    const bool adds = mts_member_operand(encoding->stitched, member, 2);
    mts_matmul_params *r = params;
    r->dest = mts_encode_output(encoding, member);
    r->lhs = factor(encoding, member, 0, r->dest.dims, &r->lhs_pool);
    r->rhs = factor(encoding, member, 1, r->dest.dims, &r->rhs_pool);
    if (adds) {
        r->add = mts_encode_operand(encoding, member, 2, r->dest.dims, &r->add_pool);
    }
    r->depth = (mts_u32)lhs->dims[lhs->rank - 1];
    r->alpha = node->attrs.matmul.alpha;
    r->beta = adds ? node->attrs.matmul.beta : 0.0f;
    encoding->mul_adds += mts_node_mul_adds(encoding->stitched->graphs[member->graph], node);
}

#ifndef MTS_SMALL

/* Work-items of a plane where groups share tiles (matmul_block), which they do if both matrices fill a
   quarter of one; 0: they do not. */
static uint32_t items_of_block(const mts_encoding *encoding, const mts_matmul_params *r, uint32_t count)
{
    enum { SIDE = 32, SIDE_LEAST = 16, DEPTH_LEAST = 8, GROUP = 64, LOCAL_BYTES = 2 * 32 * 16 * 4 };
    uint32_t items = encoding->device->is_gpu && encoding->device->local_bytes >= LOCAL_BYTES ? 1 : 0;
    for (uint32_t i = 0; r && items > 0 && i < count; i++) {
        const uint32_t height = r[i].dest.dims[4], width = r[i].dest.dims[5];
        const uint64_t tiles = (uint64_t)((height + SIDE - 1) / SIDE) * ((width + SIDE - 1) / SIDE);
        const bool pays = height >= SIDE_LEAST && width >= SIDE_LEAST && r[i].depth >= DEPTH_LEAST;
        items = pays ? most_of(items, tiles * GROUP) : 0;
    }
    return items;
}

/* Groups that share tiles; of float16 they use matrix units where there are, as conv_block does. */
static mts_status launch_matmul_block(mts_encoding *encoding, const char *label, const void *params,
                                      uint32_t words, uint32_t count, uint32_t items)
{
    const mts_device_info *device = encoding->device;
    mts_status status =
        mts_encode_dests_over(encoding, "matmul_block__f32_planar", label, params, words, count, items);
    if (status == MTS_STATUS_OK && encoding->precision == MTS_PRECISION_FLOAT16 && device->matrix_units) {
        mts_encoded_launch *launch = &encoding->launches[encoding->launch_count - 1];
        char defines[128];
        (void)snprintf(defines, sizeof defines, "%s -DMATRIX=1", launch->defines);
        launch->defines = mts_arena_string(encoding->strings, defines);
        status = launch->defines ? status : mts_encode_memory(encoding);
    }
    return status;
}

#endif

static mts_status launch_matmul(mts_encoding *encoding, const char *kernel, const char *label,
                                const void *params, uint32_t words, uint32_t count)
{
    const mts_matmul_params *r = params;
    uint32_t items = 1;
#ifndef MTS_SMALL
    const uint32_t shared = items_of_block(encoding, r, count);
    if (shared > 0) {
        return launch_matmul_block(encoding, label, params, words, count, shared);
    }
#endif
    for (uint32_t i = 0; r && i < count; i++) {
        /* On a GPU a work-item has four rows of a column (kernels/matmul). */
        const uint64_t tiles = (uint64_t)((r[i].dest.dims[4] + 3) / 4) * r[i].dest.dims[5];
        const uint64_t products = (uint64_t)r[i].dest.dims[4] * r[i].dest.dims[5] * r[i].depth;
        items =
            most_of(items, encoding->device->is_gpu ? tiles : (products + ITEM_PRODUCTS - 1) / ITEM_PRODUCTS);
    }
    return mts_encode_dests_over(encoding, kernel, label, params, words, count, items);
}

MTS_OPERATOR_LAUNCHED(matmul, matmul, fill_matmul, NULL, launch_matmul);
