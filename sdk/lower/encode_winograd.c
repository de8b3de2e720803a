/*
 * encode_winograd.c: a layer of 3 x 3 convolutions of stride 1 -> jobs, row blocks and a
 * list of tiles for conv_winograd, one launch.
 *
 * A group transforms all input channels of its tiles before it computes rows, so a job
 * has all output rows of an image; only where a layer has few tiles are its rows cut into
 * parts, which repeat that work. Jobs of equal inputs are not joined: where members read
 * one input by shared blocks the layer is left to tiles (encode_tile.c).
 */
#include "lower/encode_winograd.h"

#include "base/size.h"
#include "lower/launch_shape.h"
#include "lower/encode_conv.h"
#include "lower/encode_tile.h"
#include "lower/encoders.h"
#include "stitch/tiles.h"

enum {
    GROUPS_PER_UNIT = 4,   /* layers of fewer are cut into parts of rows where that is faster */
    ROWS_OF_PART = 8,      /* at least */
    INPUT_COST = 60,       /* products that a vector of an input channel's tiles takes to transform */
    OUTPUT_COST = 50,      /* and one of an output row */
    POSITIONS = 16,        /* of a tile, each with a product for an input channel and output row */
    CHANNEL_VECTORS = 256, /* channels times vectors of a group: its V (params.h) is 1 KiB for each of them */
    VECTORS_LEAST = 2,     /* as many as the rows of a full block take at a time */
    VECTORS_MOST = 8
};

/* ---- shapes ---- */

/* 3 x 3 taps, stride and dilation 1, one group. */
static bool computes(const mts_attrs_conv *conv)
{
    return conv->group == 1 && conv->kernel[0] == 3 && conv->kernel[1] == 3 && conv->stride[0] == 1 &&
           conv->stride[1] == 1 && conv->dilation[0] == 1 && conv->dilation[1] == 1;
}

/* Rows and vectors are those of tiles, which take over where the kernel cannot compute a
   layer. */
static mts_kernel_config usual(const mts_device_info *device)
{
    mts_kernel_config config = mts_tile_usual(device);
    config.kernel = MTS_KERNEL_CONFIG_WINOGRAD;
    return config;
}

/* The usual shape, which is the default of some layers. */
bool mts_winograd_candidate(const mts_device_info *device, uint32_t index, mts_kernel_config *out)
{
    *out = usual(device);
    return mts_launch_by_processor(device) && index == 0;
}

/*
 * Measured on two cores with AVX-512 (docs/results): from 32 channels on the products
 * that are saved outweigh the transforms. Transformed weights are 16/9 of the bytes,
 * which pays for images of 7 x 7 only because the kernel asks for them ahead.
 */
bool mts_winograd_prefers(const mts_device_info *device, const mts_layer_facts *facts, mts_kernel_config *out)
{
    enum { CHANNELS_LEAST = 32, PIXELS_LEAST = 36, LOCAL_LEAST = 1 << 20 };
    *out = usual(device);
    return facts && facts->conv && mts_launch_by_processor(device) && device->vector_floats >= 16 &&
           device->local_bytes >= LOCAL_LEAST && computes(facts->conv) &&
           facts->in_channels >= CHANNELS_LEAST && facts->out_channels >= CHANNELS_LEAST &&
           (uint64_t)facts->height * facts->width >= PIXELS_LEAST;
}

/* ---- launches ---- */

typedef struct winograd {
    mts_encoding *encoding;
    const mts_layer *layer;
    mts_arena scratch;
    uint32_t rows, parts, vec;
    mts_tile_params *tiles;
    size_t tile_count, tile_capacity;
    uint32_t *masks; /* per tile: number of a task mask */
    size_t mask_capacity;
    uint32_t members;
    mts_status status;
} winograd;

/* What a member's jobs share. */
typedef struct place {
    mts_conv_site site;
    mts_row_blocks rows;
    mts_winograd_params params;
    uint32_t task_mask;
} place;

static bool is_tiled(const mts_encoding *encoding, uint32_t member)
{
    return encoding->plan->members[member].variant == MTS_VARIANT_TILE;
}

static mts_status no_memory(winograd *w)
{
    w->status = mts_encode_memory(w->encoding);
    return w->status;
}

/*
 * Tiles of a row. The two input columns behind the last tile are also the first two of
 * the next row of tiles (params.h): enough that with padding on both sides the first of
 * them is a zero here and there.
 */
static uint32_t tile_columns(const mts_attrs_conv *conv, uint32_t w)
{
    return conv->pad[1] > 0 && conv->pad[3] > 0 ? w / 2 + 1 : (w + 1) / 2 + 1;
}

/* Of a device's memory for groups; drivers need some of it themselves. */
static uint64_t floats_allowed(const mts_device_info *device)
{
    return device->local_bytes / 8 * 7 / sizeof(float);
}

static uint32_t scratch_floats(uint32_t vec, const mts_winograd_params *r, uint32_t vectors)
{
    return vec * MTS_WINOGRAD_SCRATCH(vectors, vec, r->channels, r->columns, r->row);
}

static uint32_t group_vectors(const mts_device_info *device, const mts_winograd_params *r)
{
    const uint32_t vec = mts_launch_vector(device);
    const uint32_t all = mts_u32_ceil_div(r->tiles, vec);
    uint32_t most = CHANNEL_VECTORS / r->channels;
    most = most < VECTORS_LEAST ? VECTORS_LEAST : most > VECTORS_MOST ? VECTORS_MOST : most;
    while (most > 1 && scratch_floats(vec, r, most) > floats_allowed(device)) {
        most--;
    }
    return mts_u32_ceil_div(all, mts_u32_ceil_div(all, most)); /* even groups */
}

/* The params without offsets. */
static mts_winograd_params shape_of(const mts_encoding *encoding, uint32_t member)
{
    const mts_stitched *s = encoding->stitched;
    const mts_plan *plan = encoding->plan;
    const mts_storage *out = &plan->storages[plan->value_storage[s->members[member].output]];
    const mts_attrs_conv *conv = &mts_member_node(s, &s->members[member])->attrs.conv;
    mts_winograd_params r = {.h = out->dims[4], .w = out->dims[5], .row = out->row};
    r.channels = (uint32_t)s->values[s->members[member].inputs[0]].shape.dims[1];
    r.columns = tile_columns(conv, r.w);
    r.tiles = r.columns * mts_u32_ceil_div(r.h, 2);
    r.tile = group_vectors(encoding->device, &r) * mts_launch_vector(encoding->device);
    return r;
}

#ifdef MTS_SMALL /* has no bytes left for more */
static uint32_t parts_of(uint64_t groups, uint32_t units, uint32_t channels, uint32_t rows)
{
    (void)channels;
    (void)rows;
    return groups < (uint64_t)2 * units ? mts_u32_ceil_div(2 * units, (uint32_t)groups) : 1;
}
#else
/*
 * What the compute unit with most groups takes if rows are cut into so many parts, each of
 * which transforms the input again: in products of a vector of tiles.
 */
static uint64_t cost_of(uint64_t groups, uint32_t units, uint32_t channels, uint32_t rows, uint32_t parts)
{
    const uint64_t part = mts_u32_ceil_div(rows, parts);
    const uint64_t group =
        (uint64_t)channels * INPUT_COST + part * (POSITIONS * (uint64_t)channels + OUTPUT_COST);
    return (groups * parts + units - 1) / units * group;
}

static uint32_t parts_of(uint64_t groups, uint32_t units, uint32_t channels, uint32_t rows)
{
    uint32_t best = 1;
    for (uint32_t parts = 2;
         groups < (uint64_t)GROUPS_PER_UNIT * units && parts <= units * 2 && parts * ROWS_OF_PART <= rows;
         parts++) {
        if (cost_of(groups, units, channels, rows, parts) < cost_of(groups, units, channels, rows, best)) {
            best = parts;
        }
    }
    return best;
}
#endif

/* Parts that a member's rows are cut into, so that compute units share few groups out
   evenly. */
static void choose_parts(winograd *w)
{
    const mts_encoding *l = w->encoding;
    const uint32_t units = l->device->compute_units > 0 ? l->device->compute_units : 1;
    uint64_t groups = 0;
    uint32_t channels = 0, rows = 0;
    for (uint32_t m = w->layer->first; m < w->layer->first + w->layer->count; m++) {
        if (is_tiled(l, m)) {
            const mts_winograd_params r = shape_of(l, m);
            const mts_storage *out =
                &l->plan->storages[l->plan->value_storage[l->stitched->members[m].output]];
            groups += (uint64_t)mts_u32_ceil_div(r.tiles, r.tile) * out->dims[2];
            channels = r.channels;
            rows = out->dims[3];
        }
    }
    w->parts = groups > 0 ? parts_of(groups, units, channels, rows) : 1;
}

static void add_segments(winograd *w, const place *p, const mts_row_block *block,
                         mts_winograd_rows_params *out)
{
    mts_encoding *l = w->encoding;
    const mts_value *weight = mts_member_operand(l->stitched, p->site.member, 1);
    const uint32_t owner = mts_encode_owner(l, p->site.member);
    mts_segment_params *list = mts_arena_zero(&w->scratch, block->segments, sizeof *list);
    for (uint32_t s = 0; list && s < block->segments; s++) {
        const mts_tile_segment *from = &p->rows.segments[block->segment + s];
        list[s] =
            (mts_segment_params){.channel = from->channel, .count = from->count, .weight_b = MTS_PARAM_NONE};
        list[s].weight_a = mts_weights_winograd(&l->pool, weight, from->ref_a, block->row_a, block->rows_a,
                                                from->channel, from->count, owner);
    }
    if (!list) {
        no_memory(w);
        return;
    }
    out->rows = block->rows_a;
    out->segments = block->segments;
    out->segment =
        mts_param_buffer_add(&l->params, list, block->segments * MTS_PARAM_WORDS(mts_segment_params));
    l->cases.winograd[block->rows_a] = true;
}

/* Table index of the row blocks of a part, made once for all images of a member. */
static uint32_t add_blocks(winograd *w, const place *p)
{
    const uint32_t count = p->rows.count;
    mts_winograd_rows_params *list = mts_arena_zero(&w->scratch, count, sizeof *list);
    for (uint32_t b = 0; list && w->status == MTS_STATUS_OK && b < count; b++) {
        const mts_row_block *block = &p->rows.blocks[b];
        list[b].row = block->row_a - p->rows.blocks[0].row_a;
        add_segments(w, p, block, &list[b]);
    }
    if (!list) {
        no_memory(w);
        return 0;
    }
    return mts_param_buffer_add(&w->encoding->params, list,
                                count * MTS_PARAM_WORDS(mts_winograd_rows_params));
}

static void add_tiles(winograd *w, const mts_winograd_params *params, uint32_t task_mask)
{
    const uint32_t at =
        mts_param_buffer_add(&w->encoding->params, params, MTS_PARAM_WORDS(mts_winograd_params));
    const size_t needed = w->tile_count + mts_u32_ceil_div(params->tiles, params->tile);
    if (!mts_alloc_grow(w->scratch.allocator, (void **)&w->tiles, &w->tile_capacity, needed,
                        sizeof *w->tiles) ||
        !mts_alloc_grow(w->scratch.allocator, (void **)&w->masks, &w->mask_capacity, needed,
                        sizeof *w->masks)) {
        no_memory(w);
        return;
    }
    for (uint32_t t = 0; t < params->tiles; t += params->tile) {
        w->masks[w->tile_count] = task_mask;
        w->tiles[w->tile_count++] = (mts_tile_params){.job = at, .pixel = t};
    }
}

/* Output rows [first, first + rows) of all images. */
static void add_part(winograd *w, place *p, uint32_t first, uint32_t rows)
{
    mts_encoding *l = w->encoding;
    mts_winograd_params r = p->params;
    w->status = mts_tiles_cut(mts_member_operand(l->stitched, p->site.member, 1), first, rows, w->rows,
                              MTS_TILES_EVEN, &w->scratch, &p->rows, l->error);
    if (w->status != MTS_STATUS_OK) {
        return;
    }
    r.blocks = p->rows.count;
    r.block = add_blocks(w, p);
    r.epilogues = 1;
    for (uint32_t image = 0; image < p->site.images && w->status == MTS_STATUS_OK; image++) {
        const mts_epilogue_params epilogue = mts_conv_epilogue(l, &p->site, image, first);
        r.in = p->params.in + image * r.channels * r.in_pitch;
        r.epilogue = mts_param_buffer_add(&l->params, &epilogue, MTS_PARAM_WORDS(mts_epilogue_params));
        add_tiles(w, &r, p->task_mask);
    }
}

static void add_member(winograd *w, uint32_t index)
{
    mts_encoding *l = w->encoding;
    const uint32_t conversion = l->plan->members[index].input_conversion;
    place p = {.params = shape_of(l, index), .task_mask = mts_encode_task_mask(l, index)};
    mts_conv_site_open(&p.site, l, index);
    const mts_attrs_conv *conv = p.site.conv;
    uint32_t top = 0;
    uint32_t left = 0;
    if (conversion != MTS_NONE) {
        top = l->plan->conversions[conversion].top;
        left = l->plan->conversions[conversion].left;
    }
    p.params.in_pitch = p.site.in_pitch;
    p.params.in = p.site.in + top * p.params.row + left;
    p.params.in -= (uint32_t)conv->pad[0] * p.params.row + (uint32_t)conv->pad[1];
    const uint32_t parts = w->parts < p.site.channels ? w->parts : 1;
    for (uint32_t k = 0; k < parts && w->status == MTS_STATUS_OK; k++) {
        const uint32_t first = (uint32_t)((uint64_t)p.site.channels * k / parts);
        add_part(w, &p, first, (uint32_t)((uint64_t)p.site.channels * (k + 1) / parts) - first);
    }
    const uint32_t needed = scratch_floats(w->vec, &p.params, p.params.tile / w->vec) / w->vec;
    l->cases.winograd_scratch = needed > l->cases.winograd_scratch ? needed : l->cases.winograd_scratch;
    l->mul_adds +=
        (uint64_t)p.site.channels * p.params.channels * p.site.images * 9 * p.params.h * p.params.w;
    w->members++;
}

static mts_status finish(winograd *w)
{
    mts_encoding *l = w->encoding;
    mts_encoded_launch launch = {
        .kind = MTS_LAUNCH_WINOGRAD, .kernel = "conv_winograd__f32_planar", .members = w->members};
    launch.first =
        mts_param_buffer_add(&l->params, w->tiles, w->tile_count * MTS_PARAM_WORDS(mts_tile_params));
    launch.label = mts_encode_label(l, w->layer, "conv 3x3 winograd");
    if (w->tile_count > UINT32_MAX) {
        return mts_encode_memory(l);
    }
    launch.global[0] = (uint32_t)w->tile_count;
    launch.global[1] = launch.global[2] = 1;
    launch.local[0] = launch.local[1] = launch.local[2] = 1;
    w->status = mts_encode_launch(l, &launch);
    return w->status != MTS_STATUS_OK
               ? w->status
               : mts_encode_entries(l, MTS_ENTRY_TILE, MTS_PARAM_WORDS(mts_tile_params), w->masks,
                                    w->tile_count);
}

static bool share_block(const mts_value *a, const mts_value *b)
{
    for (uint32_t i = 0; i < a->block_count; i++) {
        for (uint32_t k = 0; k < b->block_count; k++) {
            if (a->blocks[i].block != MTS_NONE && a->blocks[i].block == b->blocks[k].block) {
                return true;
            }
        }
    }
    return false;
}

/* Whether two members read one input by a common weight block: tiles compute those rows
   once. */
static bool shares_products(const mts_stitched *s, const mts_layer *layer)
{
    for (uint32_t m = layer->first + 1; s->shared && m < layer->first + layer->count; m++) {
        for (uint32_t k = layer->first; k < m; k++) {
            if (s->members[k].inputs[0] == s->members[m].inputs[0] &&
                share_block(mts_member_operand(s, &s->members[k], 1),
                            mts_member_operand(s, &s->members[m], 1))) {
                return true;
            }
        }
    }
    return false;
}

bool mts_winograd_accepts(const mts_encoding *encoding, const mts_layer *layer)
{
    const mts_stitched *s = encoding->stitched;
    const uint32_t vec = mts_launch_vector(encoding->device);
    if (!mts_launch_by_processor(encoding->device) || encoding->least_weights || shares_products(s, layer)) {
        return false;
    }
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        if (!is_tiled(encoding, m)) {
            continue;
        }
        const mts_attrs_conv *conv = &mts_member_node(s, &s->members[m])->attrs.conv;
        if (!computes(conv)) {
            return false;
        }
        const mts_winograd_params r = shape_of(encoding, m);
        if (scratch_floats(vec, &r, r.tile / vec) > floats_allowed(encoding->device)) {
            return false;
        }
    }
    return true;
}

mts_status mts_encode_winograd(mts_encoding *encoding, const mts_layer *layer,
                               const mts_kernel_config *config)
{
    winograd w = {.encoding = encoding, .layer = layer, .vec = mts_launch_vector(encoding->device)};
    w.rows = config->rows < MTS_WINOGRAD_ROWS ? config->rows : MTS_WINOGRAD_ROWS;
    mts_arena_init(&w.scratch, encoding->arena->allocator);
    choose_parts(&w);
    for (uint32_t m = layer->first; w.status == MTS_STATUS_OK && m < layer->first + layer->count; m++) {
        if (is_tiled(encoding, m)) {
            add_member(&w, m);
        }
    }
    if (w.status == MTS_STATUS_OK) {
        w.status = finish(&w);
    }
    mts_alloc_free(w.scratch.allocator, w.tiles);
    mts_alloc_free(w.scratch.allocator, w.masks);
    mts_arena_release(&w.scratch);
    return w.status;
}
