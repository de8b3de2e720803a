/*
 * encode_bytes.c: conv_bytes: the jobs of convolutions of 8-bit numbers. A job has up to
 * 12 rows, which are a multiple of four but for the last ones, so that four of them fill
 * a word of codes; a depthwise convolution has a job for each word. fc_bytes: fully
 * connected layers, whose rows are lanes. Not responsible for which layers these are
 * (plan/bytes.c) nor for the pixels of a tile (encode_tile.c).
 */
#include "base/check.h"
#include "lower/conv_jobs.h"
#include "lower/encode_tile.h"
#include "lower/encoders.h"
#include "lower/launch_shape.h"
#include "stitch/tiles.h"

/* GPU_ROWS and GPU_PIXELS: what a work-item of a GPU takes at a time. */
enum { ROWS_MOST = 12, GPU_ROWS = 8, GPU_PIXELS = 4, WORD = MTS_WORD_CODES };

/* A member while its jobs are made. */
typedef struct bytes_site {
    mts_conv_site conv;
    const mts_member_plan *how;
    const mts_value *weight;
    mts_grid grid; /* of the input */
    bool depthwise;
    uint32_t owner, task_mask;
} bytes_site;

/* What lies between rows of codes must be codes of 0, also where floats would not be
 * read: means count it. */
static void find_mask(bytes_site *site, mts_encoding *encoding)
{
    const mts_storage *out = site->conv.out;
    const mts_conversion *c = site->how->codes_conversion != MTS_NONE
                                  ? &encoding->plan->conversions[site->how->codes_conversion]
                                  : NULL;
    const bool exact = out->row == out->dims[5] && site->conv.pixels == out->dims[4] * out->row;
    if (c && !exact && (c->rows != out->dims[4] || out->row != out->dims[5])) {
        site->conv.mask =
            mts_weights_mask(&encoding->pool, out->dims[4], out->row, out->dims[5], site->conv.pixels);
    }
}

/* Behind the taps: how rows are read. */
static void add_rows_params(const bytes_site *site, mts_encoding *encoding)
{
    const mts_conv_site *conv = &site->conv;
    mts_bytes_rows rows = {0};
    if (mts_bytes_by_rows(encoding->stitched, conv->member)) {
        rows = (mts_bytes_rows){.row = conv->row,
                                .height = conv->out->dims[4],
                                .width = conv->out->dims[5],
                                .step = conv->conv->stride[0] * conv->in_row};
    }
    const uint32_t at = mts_param_buffer_add(&encoding->params, &rows, MTS_PARAM_WORDS(mts_bytes_rows));
    MTS_CHECK(encoding->params.failed || at == conv->tap + conv->taps);
}

static void open_site(bytes_site *site, mts_encoding *encoding, uint32_t member)
{
    const mts_stitched *s = encoding->stitched;
    mts_conv_site_init(&site->conv, encoding, member);
    const mts_member *m = site->conv.member;
    site->how = &encoding->plan->members[member];
    site->weight = mts_member_operand(s, m, 1);
    site->grid = encoding->plan->grids[m->inputs[0]];
    site->depthwise = site->conv.conv->group > 1;
    site->owner = mts_encode_owner(encoding, m);
    site->task_mask = mts_encode_task_mask(encoding, member);
    site->conv.scale =
        mts_weights_scaled(&encoding->pool, mts_member_operand(s, m, 2), site->conv.scatter,
                           site->conv.channels, (double)site->grid.step * (double)MTS_INT8_STEP, site->owner);
}

/* ---- a job ---- */

static mts_epilogue_params epilogue_of(mts_encoding *encoding, bytes_site *site, uint32_t image, uint32_t row)
{
    mts_epilogue_params e = mts_conv_epilogue(encoding, &site->conv, image, row);
    if (site->how->bare) {
        e.out = MTS_PARAM_NONE;
    }
    if (site->how->codes_conversion != MTS_NONE) {
        const mts_conversion *c = &encoding->plan->conversions[site->how->codes_conversion];
        const mts_storage *storage = &encoding->plan->storages[c->storage];
        const uint32_t words = MTS_CODE_WORDS(site->conv.channels);
        mts_codes_params codes = {.pitch = storage->pitch, .before = c->top * storage->row + c->left};
        codes.out = (mts_u32)storage->offset + image * words * storage->pitch + codes.before;
        codes.after = storage->pitch - codes.before - site->conv.pixels;
        e.res = mts_param_buffer_add(&encoding->params, &codes, MTS_PARAM_WORDS(mts_codes_params));
    }
    return e;
}

/* The segments of a job while they are made: the second pass writes what the first one
   counted. */
typedef struct segment_list {
    mts_segment_params *segments; /* NULL: count */
    uint32_t count;
} segment_list;

static void add_segment(mts_encoding *encoding, const bytes_site *site, uint32_t ref,
                        const mts_weights_part *part, segment_list *list)
{
    if (list->segments) {
        list->segments[list->count] = (mts_segment_params){
            .channel = part->channel / WORD,
            .count = MTS_CODE_WORDS(part->channel % WORD + part->count),
            .weight_a = mts_weights_words(&encoding->pool, site->weight, ref, part, site->owner),
            .weight_b = (mts_u32)(mts_i32)-site->grid.least};
    }
    list->count++;
}

/* What one byte does not hold: segments of the runs of words that have such weights,
   which are few. */
static void add_rests(mts_encoding *encoding, const bytes_site *site, uint32_t ref, mts_weights_part part,
                      segment_list *list)
{
    const uint32_t end = part.channel + part.count;
    mts_weights_part run = part;
    run.rest = true;
    run.count = 0;
    for (uint32_t channel = part.channel; channel < end; channel += part.count) {
        const uint32_t left = WORD - channel % WORD;
        part.channel = channel;
        part.count = end - channel < left ? end - channel : left;
        if (mts_weights_has_rest(site->weight, ref, &part)) {
            run.channel = run.count == 0 ? channel : run.channel;
            run.count += part.count;
        } else if (run.count > 0) {
            add_segment(encoding, site, ref, &run, list);
            run.count = 0;
        }
    }
    if (run.count > 0) {
        add_segment(encoding, site, ref, &run, list);
    }
}

static void list_segments(mts_encoding *encoding, const bytes_site *site, const mts_row_blocks *rows,
                          const mts_row_block *block, mts_weights_part part, segment_list *list)
{
    list->count = 0;
    for (uint32_t s = 0; s < block->segments; s++) {
        const mts_tile_segment *from = &rows->segments[block->segment + s];
        part.channel = site->depthwise ? part.row : from->channel;
        part.count = site->depthwise ? 1 : from->count;
        add_segment(encoding, site, from->ref_a, &part, list);
        if (site->weight->dtype != MTS_TYPE_INT8) {
            add_rests(encoding, site, from->ref_a, part, list);
        }
    }
}

static void add_rows(mts_tiler *t, bytes_site *site, const mts_row_blocks *rows, const mts_row_block *block,
                     uint32_t row, uint32_t count)
{
    const mts_conv_site *conv = &site->conv;
    const uint32_t words = MTS_CODE_WORDS(conv->in_channels);
    const uint32_t depth = site->depthwise ? 1 : conv->in_channels;
    const mts_weights_part part = {.row = row, .rows = count, .diagonal = site->depthwise};
    mts_tile_job fresh = {.order = row, .task_mask = site->task_mask};
    segment_list list = {0};
    list_segments(t->encoding, site, rows, block, part, &list);
    list.segments = mts_arena_zero(&t->scratch, list.count, sizeof *list.segments);
    if (!list.segments) {
        mts_tiler_memory(t);
        return;
    }
    list_segments(t->encoding, site, rows, block, part, &list);
    fresh.segments = list.segments;
    fresh.work = (uint64_t)count * depth * conv->taps;
    fresh.params = (mts_conv_params){.rows_a = count,
                                     .in_pitch = conv->in_pitch,
                                     .pixels = conv->pixels,
                                     .taps = conv->taps,
                                     .tap = conv->tap,
                                     .segments = list.count,
                                     .mask = conv->mask};
    for (uint32_t image = 0; image < conv->images && t->status == MTS_STATUS_OK; image++) {
        const mts_epilogue_params epilogue = epilogue_of(t->encoding, site, image, row);
        fresh.params.in = conv->in + image * words * conv->in_pitch;
        if (mts_tiler_add(t, &fresh, &epilogue)) {
            t->encoding->mul_adds += fresh.work * conv->out->dims[4] * conv->out->dims[5];
        }
    }
}

/* Runs of rows that have the same weight blocks, each in jobs of even size. */
static void add_member(mts_tiler *t, uint32_t index)
{
    bytes_site site;
    mts_row_blocks runs;
    open_site(&site, t->encoding, index);
    add_rows_params(&site, t->encoding);
    find_mask(&site, t->encoding);
    t->members++;
    t->status = mts_tiles_cut(site.weight, 0, site.conv.channels, UINT32_MAX, MTS_TILES_EVEN, &t->scratch,
                              &runs, t->encoding->error);
    const uint32_t rows = t->encoding->device->is_gpu ? (uint32_t)GPU_ROWS : (uint32_t)ROWS_MOST;
    const uint32_t most = site.depthwise ? 1 : rows / WORD;
    for (uint32_t b = 0; t->status == MTS_STATUS_OK && b < runs.count; b++) {
        const mts_row_block *run = &runs.blocks[b];
        const uint32_t words = MTS_CODE_WORDS(run->rows_a), jobs = (words + most - 1) / most;
        for (uint32_t j = 0; j < jobs && t->status == MTS_STATUS_OK; j++) {
            const uint32_t first = words * j / jobs * WORD, end = words * (j + 1) / jobs * WORD;
            add_rows(t, &site, &runs, run, run->row_a + first,
                     (end < run->rows_a ? end : run->rows_a) - first);
        }
    }
}

mts_status mts_encode_bytes(mts_encoding *encoding, const mts_layer *layer, const mts_kernel_config *config)
{
    mts_kernel_config usual = mts_tile_usual(encoding->device);
    mts_tiler t;
    (void)config;
    usual.vectors = encoding->device->is_gpu ? GPU_PIXELS : usual.vectors;
    mts_tiler_begin(&t, encoding, layer, ROWS_MOST, NULL);
    for (uint32_t m = layer->first; t.status == MTS_STATUS_OK && m < layer->first + layer->count; m++) {
        if (encoding->plan->members[m].variant == MTS_VARIANT_BYTES) {
            add_member(&t, m);
        }
    }
    const mts_encoded_launch launch = {.kind = MTS_LAUNCH_GRID,
                                       .kernel = "conv_bytes__i32_words",
                                       .defines = mts_launch_defines(encoding->device, encoding->precision)};
    const mts_status status = t.status == MTS_STATUS_OK ? mts_tile_launch(&t, &usual, launch) : t.status;
    mts_tiler_close(&t);
    return status;
}

/* ---- fully connected ---- */

#if MTS_HAS_FC_BYTES

bool mts_fc_bytes_accepts(const mts_encoding *encoding, const mts_layer *layer)
{
    const mts_stitched *s = encoding->stitched;
    bool accepts = encoding->device->byte_products && !encoding->device->is_gpu &&
                   encoding->precision == MTS_PRECISION_FLOAT32;
    for (uint32_t m = layer->first; accepts && m < layer->first + layer->count; m++) {
        accepts = encoding->plan->members[m].variant != MTS_VARIANT_FC ||
                  (mts_bytes_accepts(s, &s->members[m], encoding->plan->grids) &&
                   mts_member_operand(s, &s->members[m], 1)->dtype == MTS_TYPE_INT8);
    }
    return accepts;
}

/* Rows from part->row on, of all images. */
static mts_status add_fc_rows(mts_param_list *list, bytes_site *site, const mts_row_blocks *rows,
                              const mts_row_block *block, mts_weights_part part)
{
    mts_encoding *encoding = list->encoding;
    mts_conv_site *conv = &site->conv;
    segment_list segments = {0};
    list_segments(encoding, site, rows, block, part, &segments);
    segments.segments = mts_arena_zero(encoding->arena, segments.count, sizeof *segments.segments);
    if (!segments.segments) {
        return mts_encode_memory(encoding);
    }
    list_segments(encoding, site, rows, block, part, &segments);
    mts_fc_bytes_params params = {.rows = part.rows,
                                  .in_pitch = conv->in_pitch,
                                  .channels = conv->in_channels,
                                  .segments = segments.count,
                                  .epilogues = 1,
                                  .inverse = 1.0f / site->grid.step,
                                  .least = site->grid.least};
    params.segment = mts_param_buffer_add(&encoding->params, segments.segments,
                                          segments.count * MTS_PARAM_WORDS(mts_segment_params));
    encoding->mul_adds += (uint64_t)conv->images * part.rows * conv->in_channels;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t image = 0; status == MTS_STATUS_OK && image < conv->images; image++) {
        const mts_epilogue_params e = mts_conv_epilogue(encoding, conv, image, part.row);
        params.in = conv->in + image * conv->in_channels * conv->in_pitch;
        params.epilogue = mts_param_buffer_add(&encoding->params, &e, MTS_PARAM_WORDS(mts_epilogue_params));
        status = mts_param_list_add(list, &params, site->task_mask);
    }
    return status;
}

static mts_status add_fc(mts_param_list *list, mts_arena *scratch, uint32_t member)
{
    mts_encoding *encoding = list->encoding;
    bytes_site site = {0};
    mts_row_blocks runs;
    open_site(&site, encoding, member);
    mts_status status = mts_tiles_cut(site.weight, 0, site.conv.channels, UINT32_MAX, MTS_TILES_EVEN, scratch,
                                      &runs, encoding->error);
    for (uint32_t b = 0; status == MTS_STATUS_OK && b < runs.count; b++) {
        const mts_row_block *run = &runs.blocks[b];
        for (uint32_t r = 0; status == MTS_STATUS_OK && r < run->rows_a; r += MTS_FC_BYTES_ROWS) {
            const uint32_t left = run->rows_a - r;
            const mts_weights_part part = {.row = run->row_a + r,
                                           .rows = left < MTS_FC_BYTES_ROWS ? left : MTS_FC_BYTES_ROWS};
            status = add_fc_rows(list, &site, &runs, run, part);
        }
    }
    return status;
}

mts_status mts_encode_fc_bytes(mts_encoding *encoding, const mts_layer *layer,
                               const mts_kernel_config *config)
{
    mts_param_list list = {.encoding = encoding, .size = sizeof(mts_fc_bytes_params)};
    mts_encoded_launch launch = {.kernel = "fc_bytes__i32_words",
                                 .defines = mts_launch_defines(encoding->device, encoding->precision),
                                 .label = mts_encode_label(encoding, layer, "fc"),
                                 .local = {1, 1, 1},
                                 .global = {1, 1, 1}};
    mts_arena scratch;
    mts_status status = MTS_STATUS_OK;
    (void)config;
    mts_arena_init(&scratch, encoding->arena->allocator);
    for (uint32_t m = layer->first; status == MTS_STATUS_OK && m < layer->first + layer->count; m++) {
        if (encoding->plan->members[m].variant == MTS_VARIANT_FC) {
            status = add_fc(&list, &scratch, m);
            launch.members++;
        }
    }
    launch.global[2] = (uint32_t)list.count;
    MTS_TRY(status, mts_param_list_launch(&list, &launch, MTS_ENTRY_PARAMS));
    mts_param_list_release(&list);
    mts_arena_release(&scratch);
    return status;
}

#endif
