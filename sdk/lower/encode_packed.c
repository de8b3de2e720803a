/*
 * encode_packed.c: conv_packed: a layer's convolutions of tensors in packs of channels ->
 * jobs of up to 8 rows, a list of tiles, one launch. Of a transposed convolution each phase
 * has jobs of its own. Not responsible for which values lie so (plan/packed.c) nor for
 * cutting pixels (encode_tile.c).
 */
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "lower/conv_jobs.h"
#include "lower/encode_tile.h"
#include "lower/encoders.h"
#include "lower/launch_shape.h"
#include "lower/pack_heads.h"
#include "lower/packed_tile.h"
#include "plan/packed.h"
#include "plan/phases.h"
#include "plan/transposes.h"
#include "stitch/tiles.h"

#if MTS_HAS_PACKED

/* A shape that was written, and its word index. */
typedef struct packed_shape {
    mts_packed_params params;
    uint32_t at;
} packed_shape;

typedef struct packing {
    mts_tiler tiler;
    /* Of the layer's wave: its tile, and which jobs the program takes. */
    mts_packed_tile tile;
    mts_packed_jobs jobs;
    /* Of the members so far, each once. */
    packed_shape *shapes;
    uint32_t shape_count;
    mts_pack_heads heads;
} packing;

/* A member's jobs: those of a convolution, or of a phase of a transposed one. */
typedef struct packed_part {
    mts_conv_site *site;
    const mts_value *weight;
    const mts_packed_params *shape;
    bool turned;
    /* Of a transposed one: its taps, and floats from its output's first pixel to the phase's. */
    mts_weights_taps taps;
    uint32_t out;
} packed_part;

static bool is_depthwise(const mts_encoding *encoding, uint32_t member)
{
    return mts_packed_is_depthwise(encoding->stitched, &encoding->stitched->members[member]);
}

/* Packs a row block's weights and writes its K segments, whose channels count from the
   image's first: of a depthwise convolution the rows' own. */
static const mts_segment_params *pack_segments(mts_tiler *t, const mts_conv_site *site,
                                               const mts_value *weight, const mts_pack_heads *heads,
                                               const mts_row_blocks *rows, const mts_row_block *block,
                                               uint32_t group)
{
    const uint32_t owner = mts_encode_owner(t->encoding, site->member);
    const uint32_t member = (uint32_t)(site->member - t->encoding->stitched->members);
    const bool diagonal = (site->blocks & MTS_BLOCKS_DEPTHWISE) != 0;
    const uint32_t base = diagonal ? block->row_a : group * (site->in_channels / site->conv->group);
    mts_segment_params *segments = mts_arena_zero(&t->scratch, block->segments, sizeof *segments);
    for (uint32_t s = 0; segments && s < block->segments; s++) {
        const mts_tile_segment *all = &rows->segments[block->segment];
        const mts_tile_segment *from = &all[s];
        mts_weights_head head = {.ref = MTS_NONE};
        uint32_t given = 0; /* channels that the next segment takes */
        if (!diagonal) {
            head.count = mts_pack_heads_count(heads, member, all, s, base);
            head.ref = head.count > 0 ? all[s - 1].ref_a : MTS_NONE;
            given = s + 1 < block->segments ? mts_pack_heads_count(heads, member, all, s + 1, base) : 0;
        }
        const mts_weights_part part = {.row = block->row_a,
                                       .rows = block->rows_a,
                                       .channel = from->channel,
                                       .count = from->count - given,
                                       .diagonal = diagonal};
        segments[s] = (mts_segment_params){.channel = base + from->channel - head.count,
                                           .count = diagonal ? block->rows_a : head.count + part.count,
                                           .weight_b = MTS_PARAM_NONE};
        segments[s].weight_a =
            mts_weights_packed(&t->encoding->pool, weight, from->ref_a, &part, &head,
                               diagonal ? 0 : segments[s].channel % MTS_CHANNEL_PACK, owner);
    }
    if (!segments) {
        mts_tiler_memory(t);
    }
    return segments;
}

/*
 * The input of a convolution as [N, C, H, W] in the last four strides, that of channels
 * divided by 4 in packs. It may be a reshaped alias, or be read for a TRANSPOSE.
 */
static mts_view_params find_input(const mts_encoding *encoding, uint32_t value)
{
    enum { FIRST = MTS_PARAM_RANK - 4 };
    const mts_plan *plan = encoding->plan;
    const mts_storage *storage = &plan->storages[plan->value_storage[value]];
    const uint32_t source = mts_transpose_source(plan, value);
    const mts_view_params from = mts_encode_view(encoding, source);
    mts_view_params view = from;
    if (storage->lanes > 0) {
        view.stride[2] = mts_storage_channels(storage) * storage->pitch;
        view.stride[4] *= MTS_CHANNEL_PACK;
        view.stride[5] = MTS_CHANNEL_PACK;
    } else if (source != value) {
        const mts_member *by = &encoding->stitched->members[encoding->stitched->values[value].member];
        const mts_attrs_transpose *order = &mts_member_node(encoding->stitched, by)->attrs.transpose;
        for (uint32_t d = 0; d < 4; d++) {
            view.stride[FIRST + d] = from.stride[FIRST + order->perm[d]];
        }
    }
    return view;
}

/* What the jobs of a member have in common. A plan with such members begins with zeros. */
static mts_packed_params shape_of(const mts_encoding *encoding, const mts_conv_site *site,
                                  const mts_view_params *view)
{
    const mts_plan *plan = encoding->plan;
    const mts_member *m = site->member;
    const mts_attrs_conv *conv = site->conv;
    const int64_t *in = encoding->stitched->values[m->inputs[0]].shape.dims;
    mts_packed_params p = {.blocks = site->blocks,
                           .in_row = view->stride[4],
                           .in_step = view->stride[5],
                           .in_h = (uint32_t)in[2],
                           .in_w = (uint32_t)in[3],
                           .kernel_w = conv->kernel[1],
                           .stride_y = conv->stride[0],
                           .stride_x = conv->stride[1],
                           .dilation_y = conv->dilation[0],
                           .dilation_x = conv->dilation[1],
                           .top = conv->pad[0],
                           .left = conv->pad[1],
                           .h = site->out->dims[4],
                           .w = site->out->dims[5],
                           .row = site->out->row,
                           .out_row = site->out->row,
                           .out_step = 1};
    p.plane = site->blocks & MTS_BLOCKS_OUT ? 0 : p.h * p.row;
    if (site->residual != MTS_PARAM_NONE) {
        p.res_row = mts_encode_view(encoding, m->inputs[4]).stride[4];
        p.blocks |= plan->storages[plan->value_storage[m->inputs[4]]].lanes > 0 ? MTS_BLOCKS_RESIDUAL : 0;
    }
    return p;
}

/* Word index of a member's mts_packed_params, which equal members share: jobs are equal
   only if theirs are. */
static uint32_t write_shape(packing *p, const mts_packed_params *shape)
{
    mts_param_buffer *params = &p->tiler.encoding->params;
    for (uint32_t i = 0; i < p->shape_count; i++) {
        if (memcmp(&p->shapes[i].params, shape, sizeof *shape) == 0) {
            return p->shapes[i].at;
        }
    }
    const uint32_t at = mts_param_buffer_add(params, shape, MTS_PARAM_WORDS(mts_packed_params));
    p->shapes[p->shape_count++] = (packed_shape){*shape, at};
    return at;
}

/* A transposed convolution's inputs are the image, the weight and the bias. */
static mts_epilogue_params find_epilogue(mts_tiler *t, const packed_part *part, uint32_t image, uint32_t row)
{
    const mts_conv_site *site = part->site;
    mts_epilogue_params epilogue = mts_conv_epilogue(t->encoding, part->site, image, row);
    if (part->turned) {
        epilogue.bias = epilogue.scale;
        epilogue.scale = MTS_PARAM_NONE;
        epilogue.out += part->out;
    }
    if (site->blocks & MTS_BLOCKS_OUT) {
        epilogue.last = site->channels - 1;
    }
    return epilogue;
}

/* The jobs of a block of rows, one for each image. segments: NULL where memory was short. */
static void add_jobs(mts_tiler *t, const packed_part *part, const mts_row_block *block,
                     const mts_segment_params *segments)
{
    const mts_conv_site *site = part->site;
    const mts_packed_params *shape = part->shape;
    const mts_member *members = t->encoding->stitched->members;
    mts_tile_job fresh = {.order = block->row_a,
                          .task_mask = mts_encode_task_mask(t->encoding, (uint32_t)(site->member - members)),
                          .segments = segments};
    fresh.params = (mts_conv_params){.rows_a = block->rows_a,
                                     .in_pitch = site->in_pitch,
                                     .pixels = shape->h * shape->row,
                                     .taps = site->taps,
                                     .tap = site->tap,
                                     .segments = block->segments,
                                     .mask = MTS_PARAM_NONE};
    fresh.shape = site->tap;
    fresh.work = (uint64_t)block->rows_a * (site->in_channels / site->conv->group) * site->taps;
    for (uint32_t image = 0; segments && image < site->images && t->status == MTS_STATUS_OK; image++) {
        fresh.params.in = site->in + image * site->in_image;
        const mts_epilogue_params epilogue = find_epilogue(t, part, image, block->row_a);
        if (mts_tiler_add(t, &fresh, &epilogue)) {
            t->encoding->mul_adds += fresh.work * shape->h * shape->w;
        }
    }
}

static void add_convolution(packing *p, const packed_part *part, uint32_t group, uint32_t most)
{
    mts_tiler *t = &p->tiler;
    const mts_conv_site *site = part->site;
    const uint32_t rows_of = site->blocks & MTS_BLOCKS_DEPTHWISE ? 1 : site->conv->group;
    const uint32_t count = site->channels / rows_of;
    mts_row_blocks rows;
    t->status = mts_tiles_cut(part->weight, group * count, count, most, MTS_TILES_FULL, &t->scratch, &rows,
                              t->encoding->error);
    for (uint32_t b = 0; t->status == MTS_STATUS_OK && b < rows.count; b++) {
        add_jobs(t, part, &rows.blocks[b],
                 pack_segments(t, site, part->weight, &p->heads, &rows, &rows.blocks[b], group));
    }
}

/* Of a transposed convolution: the weight is one block, of which a job has one segment. */
static const mts_segment_params *pack_phase(mts_tiler *t, const packed_part *part, const mts_row_block *block,
                                            uint32_t group)
{
    const mts_conv_site *site = part->site;
    const bool diagonal = (site->blocks & MTS_BLOCKS_DEPTHWISE) != 0;
    const uint32_t depth = site->in_channels / site->conv->group, outs = site->channels / site->conv->group;
    const mts_weights_head none = {.ref = MTS_NONE};
    const mts_weights_part from = {.row = diagonal ? block->row_a : block->row_a - group * outs,
                                   .rows = block->rows_a,
                                   .channel = diagonal ? 0 : group * depth,
                                   .count = depth,
                                   .diagonal = diagonal,
                                   .taps = part->taps};
    mts_segment_params *segment = mts_arena_zero(&t->scratch, 1, sizeof *segment);
    if (!segment) {
        mts_tiler_memory(t);
        return NULL;
    }
    *segment = (mts_segment_params){.channel = diagonal ? block->row_a : group * depth,
                                    .count = diagonal ? block->rows_a : depth,
                                    .weight_b = MTS_PARAM_NONE};
    segment->weight_a = mts_weights_packed(&t->encoding->pool, part->weight, 0, &from, &none,
                                           diagonal ? 0 : segment->channel % MTS_CHANNEL_PACK,
                                           mts_encode_owner(t->encoding, site->member));
    return segment;
}

/* Makes the shape of a convolution that of a phase; false: the output has no pixel of it. */
static bool take_phase(packed_part *part, mts_packed_params *shape, const uint32_t number[2])
{
    mts_conv_site *site = part->site;
    const mts_attrs_conv *conv = site->conv;
    const mts_phase down = mts_phase_of(conv, 0, number[0]), right = mts_phase_of(conv, 1, number[1]);
    if (shape->h <= number[0] || shape->row <= number[1]) {
        return false;
    }
    shape->out_step = conv->stride[1];
    shape->out_row = shape->row * conv->stride[0];
    shape->plane = number[0] + number[1] == 0 ? shape->plane : 0;
    part->out = (number[0] * shape->row + number[1]) * (site->blocks & MTS_BLOCKS_OUT ? MTS_CHANNEL_PACK : 1);
    shape->h = mts_u32_ceil_div(shape->h - number[0], conv->stride[0]);
    shape->w = shape->w > number[1] ? mts_u32_ceil_div(shape->w - number[1], conv->stride[1]) : 0;
    shape->row = mts_u32_ceil_div(shape->row - number[1], conv->stride[1]);
    shape->stride_y = shape->stride_x = 1;
    shape->dilation_y = down.dilation;
    shape->dilation_x = right.dilation;
    shape->top = -down.offset;
    shape->left = -right.offset;
    shape->kernel_w = right.count;
    site->taps = down.count * right.count;
    part->taps = (mts_weights_taps){.rows = down.count,
                                    .columns = right.count,
                                    .first = down.first * conv->kernel[1] + right.first,
                                    .down = down.step * conv->kernel[1],
                                    .right = right.step};
    return true;
}

/* Of a transposed convolution, whose `whole` shape is that of a convolution. */
static void add_phases(packing *p, packed_part *part, const mts_packed_params *whole, uint32_t group,
                       uint32_t most)
{
    const mts_attrs_conv *conv = part->site->conv;
    const uint32_t groups = part->site->blocks & MTS_BLOCKS_DEPTHWISE ? 1 : conv->group;
    const uint32_t outs = part->site->channels / groups;
    for (uint32_t n = 0; n < conv->stride[0] * conv->stride[1]; n++) {
        const uint32_t number[2] = {n / conv->stride[1], n % conv->stride[1]};
        mts_packed_params shape = *whole;
        if (!take_phase(part, &shape, number)) {
            continue;
        }
        part->shape = &shape;
        part->site->tap = write_shape(p, &shape);
        for (uint32_t row = 0; row < outs && p->tiler.status == MTS_STATUS_OK; row += most) {
            const mts_row_block block = {
                .row_a = group * outs + row, .rows_a = outs - row < most ? outs - row : most, .segments = 1};
            add_jobs(&p->tiler, part, &block, pack_phase(&p->tiler, part, &block, group));
        }
    }
}

static void add_member(packing *p, uint32_t index)
{
    mts_tiler *t = &p->tiler;
    const mts_stitched *s = t->encoding->stitched;
    const mts_view_params view = find_input(t->encoding, s->members[index].inputs[0]);
    const bool depthwise = is_depthwise(t->encoding, index);
    mts_conv_site site;
    mts_conv_site_open(&site, t->encoding, index);
    site.in = view.base;
    site.in_pitch = view.stride[3];
    site.in_image = view.stride[2];
    site.blocks |= depthwise ? MTS_BLOCKS_DEPTHWISE : 0;
    const mts_packed_params shape = shape_of(t->encoding, &site, &view);
    const uint32_t most = depthwise ? MTS_CHANNEL_PACK : p->tile.rows;
    packed_part part = {.site = &site,
                        .weight = mts_member_operand(s, &s->members[index], 1),
                        .shape = &shape,
                        .turned = t->layer->op == MTS_OP_DECONV};
    site.tap = part.turned ? 0 : write_shape(p, &shape);
    t->members++;
    for (uint32_t g = 0; g < (depthwise ? 1 : site.conv->group) && t->status == MTS_STATUS_OK; g++) {
        if (part.turned) {
            add_phases(p, &part, &shape, g, most);
        } else {
            add_convolution(p, &part, g, most);
        }
    }
}

/* Whether an image over the open section reaches all weights so far, those of the launch
   among them. */
static bool takes_images(const mts_encoding *encoding)
{
    const mts_weights *pool = &encoding->pool;
    return encoding->images && mts_weights_section_count(pool, mts_weights_section(pool)) <=
                                   MTS_CHANNEL_PACK * encoding->device->image_texels;
}

/* What the layer's members of a kind compute. */
static mts_packed_work work_of(const mts_encoding *encoding, const mts_layer *layer, bool depthwise)
{
    const mts_stitched *stitched = encoding->stitched;
    mts_packed_work work = {.depthwise = depthwise};
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        const mts_member *member = &stitched->members[m];
        const int64_t *dims = stitched->values[member->output].shape.dims;
        if (encoding->plan->members[m].variant == MTS_VARIANT_PACKED &&
            is_depthwise(encoding, m) == depthwise) {
            const uint64_t pixels = (uint64_t)dims[0] * (uint64_t)dims[2] * (uint64_t)dims[3];
            const uint64_t products =
                mts_node_mul_adds(stitched->graphs[member->graph], mts_member_node(stitched, member)) /
                (pixels * (uint64_t)dims[1]);
            work.outputs += pixels * mts_u64_ceil_div((uint64_t)dims[1], MTS_CHANNEL_PACK);
            work.products = products > work.products ? products : work.products;
        }
    }
    return work;
}

/* Adds what a layer computes to works[*count], if a program of one kind does. */
static void add_works(const mts_encoding *encoding, const mts_layer *layer, bool depthwise,
                      mts_packed_work *works, uint32_t *count)
{
    const bool joins = mts_packed_joins(encoding->device, encoding->precision);
    for (int kind = 0; kind < 2; kind++) {
        const mts_packed_work work = work_of(encoding, layer, kind != 0);
        if (work.outputs > 0 && (joins || work.depthwise == depthwise)) {
            works[(*count)++] = work;
        }
    }
}

/* Steps of a wave take one program, so that they share a launch (merge.c). */
static mts_status choose_program(packing *p, bool depthwise)
{
    const mts_encoding *encoding = p->tiler.encoding;
    const mts_plan *plan = encoding->plan;
    const mts_step *first = encoding->wave;
    const mts_step *end = first;
    while (end < plan->steps + plan->step_count && end->wave == first->wave) {
        end++;
    }
    uint32_t count = 0;
    mts_packed_work *works = mts_arena_zero(&p->tiler.scratch, 2 * (size_t)(end - first), sizeof *works);
    if (!works) {
        return mts_encode_memory(p->tiler.encoding);
    }
    for (const mts_step *s = first; s < end; s++) {
        if (s->kind == MTS_STEP_LAYER) {
            add_works(encoding, &encoding->stitched->layers[s->first], depthwise, works, &count);
        }
    }
    bool some[2] = {false, false}; /* jobs of either kind */
    for (uint32_t w = 0; w < count; w++) {
        some[works[w].depthwise] = true;
    }
    p->jobs = !some[1] ? MTS_PACKED_JOBS_DENSE : some[0] ? MTS_PACKED_JOBS_ANY : MTS_PACKED_JOBS_DEPTHWISE;
    if (count > 0) { /* else the layer has no members of the kind */
        p->tile = mts_packed_tile_choose(encoding->device, encoding->precision, works, count);
    }
    return MTS_STATUS_OK;
}

/* NULL: no memory. */
static const char *defines_of(mts_encoding *encoding, const packing *p)
{
    const mts_packed_tile *tile = &p->tile;
    char text[160];
    char group[32] = "";
    if (tile->exact) {
        (void)snprintf(group, sizeof group, " -DGROUP=%u", tile->local);
    }
    (void)snprintf(text, sizeof text, "%s -DPIXELS=%u -DPACKS=%u%s",
                   mts_launch_packed_defines(encoding->precision, p->jobs, takes_images(encoding)),
                   tile->pixels, tile->rows / MTS_CHANNEL_PACK, group);
    return mts_arena_string(encoding->strings, text);
}

/* That its members have at most: one each, or one for each phase. */
static size_t count_shapes(const mts_encoding *encoding, const mts_layer *layer)
{
    const mts_member *first = &encoding->stitched->members[layer->first];
    const mts_attrs_conv *conv = &mts_member_node(encoding->stitched, first)->attrs.conv;
    return (size_t)layer->count * (layer->op == MTS_OP_DECONV ? conv->stride[0] * conv->stride[1] : 1);
}

/* The launch of a layer's depthwise members, or of its others. */
static mts_status encode_members(mts_encoding *encoding, const mts_layer *layer, bool depthwise)
{
    mts_encoded_launch launch = {.kind = MTS_LAUNCH_PACKED, .kernel = "conv_packed__f32_lanes"};
    packing p = {0};
    mts_tiler *t = &p.tiler;
    mts_tiler_begin(t, encoding, layer, MTS_PACKED_ROWS, NULL);
    p.shapes = mts_arena_zero(&t->scratch, count_shapes(encoding, layer), sizeof *p.shapes);
    if (!p.shapes || !mts_pack_heads_find(&p.heads, encoding->stitched, layer, &t->scratch)) {
        mts_tiler_memory(t);
    } else if (t->status == MTS_STATUS_OK) {
        t->status = choose_program(&p, depthwise);
    }
    for (uint32_t m = layer->first; t->status == MTS_STATUS_OK && m < layer->first + layer->count; m++) {
        if (encoding->plan->members[m].variant == MTS_VARIANT_PACKED &&
            is_depthwise(encoding, m) == depthwise) {
            add_member(&p, m);
        }
    }
    mts_status status = t->status;
    if (status == MTS_STATUS_OK && t->members > 0) {
        const mts_kernel_config config = {.rows = depthwise ? MTS_CHANNEL_PACK : p.tile.rows,
                                          .vectors = p.tile.pixels,
                                          .local = p.tile.local};
        launch.defines = defines_of(encoding, &p);
        status = launch.defines ? mts_tile_launch(t, &config, launch) : mts_encode_memory(encoding);
    }
    mts_tiler_close(t);
    return status;
}

mts_status mts_encode_packed(mts_encoding *encoding, const mts_layer *layer, const mts_kernel_config *config)
{
    (void)config; /* nothing was measured of it */
    mts_status status = encode_members(encoding, layer, false);
    MTS_TRY(status, encode_members(encoding, layer, true));
    return status;
}

#endif
