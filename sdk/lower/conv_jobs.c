/*
 * conv_jobs.c: dense and grouped convolutions -> jobs, segments and epilogues, for the
 * kernels that take mts_conv_params.
 *
 * Jobs that have equal inputs and equal weights (tasks that share channels of a layer on
 * one common input) become one job with several epilogues: the product is computed once.
 * Not responsible for how the pixels of a job are cut (encode_tile.c, encode_block.c).
 */
#include "lower/conv_jobs.h"

#include "base/hash.h"
#include "base/size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lower/launch_shape.h"
#include "lower/row_lanes.h"
#include "stitch/tiles.h"

#ifdef MTS_SMALL
#define HAS_OWNERS 0 /* it runs on GPUs */
#else
#define HAS_OWNERS 1
#endif

mts_status mts_tiler_memory(mts_tiler *t)
{
    t->status = mts_encode_memory(t->encoding);
    return t->status;
}

static bool same_job(const void *jobs, uint32_t index, const void *wanted)
{
    const mts_tile_job *a = (const mts_tile_job *)jobs + index;
    const mts_tile_job *b = wanted;
    return a->params.in == b->params.in && a->params.segments == b->params.segments &&
           a->params.rows_a == b->params.rows_a && a->params.rows_b == b->params.rows_b &&
           a->params.in_pitch == b->params.in_pitch && a->params.pixels == b->params.pixels &&
           a->params.mask == b->params.mask && a->shape == b->shape && a->params.plane == b->params.plane &&
           a->params.blocks == b->params.blocks && a->params.out_image == b->params.out_image &&
           a->params.res_image == b->params.res_image &&
           memcmp(a->segments, b->segments, a->params.segments * sizeof *a->segments) == 0;
}

static void add_epilogue(mts_tiler *t, mts_tile_job *to, const mts_epilogue_params *params,
                         uint32_t task_mask)
{
    if (!mts_alloc_grow(t->scratch.allocator, (void **)&t->epilogues, &t->epilogue_capacity,
                        t->epilogue_count + 1, sizeof *t->epilogues)) {
        mts_tiler_memory(t);
        return;
    }
    const uint32_t index = (uint32_t)t->epilogue_count++;
    t->epilogues[index] = (mts_tile_epilogue){.params = *params, .next = MTS_NONE, .task_mask = task_mask};
    if (t->encoding->masks) {
        to->task_mask = to->params.epilogues == 0
                            ? task_mask
                            : mts_task_masks_join(t->encoding->masks, to->task_mask, task_mask);
    }
    if (to->params.epilogues++ == 0) {
        to->first_epilogue = index;
    } else {
        t->epilogues[to->last_epilogue].next = index;
    }
    to->last_epilogue = index;
}

bool mts_tiler_add(mts_tiler *t, const mts_tile_job *fresh, const mts_epilogue_params *epilogue)
{
    const bool shared = t->encoding->stitched->shared && !t->alone;
    const uint32_t key[2] = {fresh->params.in, fresh->segments[0].weight_a};
    const uint64_t hash = mts_hash(key, sizeof key, 0);
    const uint32_t known =
        shared ? mts_map_find(&t->equal_jobs, hash, same_job, t->jobs, fresh) : MTS_MAP_NONE;
    if (known != MTS_MAP_NONE) {
        add_epilogue(t, &t->jobs[known], epilogue, fresh->task_mask);
        return false;
    }
    if (!mts_alloc_grow(t->scratch.allocator, (void **)&t->jobs, &t->job_capacity, t->job_count + 1,
                        sizeof *t->jobs) ||
        (shared && !mts_map_add(&t->equal_jobs, hash, (uint32_t)t->job_count))) {
        mts_tiler_memory(t);
        return false;
    }
    mts_tile_job *added = &t->jobs[t->job_count++];
    *added = *fresh;
    add_epilogue(t, added, epilogue, fresh->task_mask);
    return true;
}

/* Packs a row block's weights and writes its K segments. */
static const mts_segment_params *pack_segments(mts_tiler *t, const mts_conv_site *site,
                                               const mts_value *weight, const mts_row_blocks *rows,
                                               const mts_row_block *block)
{
    mts_weights *pool = &t->encoding->pool;
    const uint32_t owner = mts_encode_owner(t->encoding, site->member);
    mts_segment_params *segments = mts_arena_zero(&t->scratch, block->segments, sizeof *segments);
    for (uint32_t s = 0; segments && s < block->segments; s++) {
        const mts_tile_segment *from = &rows->segments[block->segment + s];
        const uint32_t skip_a = (from->channel - weight->blocks[from->ref_a].in_first) * site->taps;
        segments[s] =
            (mts_segment_params){.channel = from->channel, .count = from->count, .weight_b = MTS_PARAM_NONE};
        segments[s].weight_a =
            mts_weights_rows(pool, weight, from->ref_a, block->row_a, block->rows_a, owner) +
            skip_a * block->rows_a;
        if (block->rows_b > 0) {
            const uint32_t skip_b = (from->channel - weight->blocks[from->ref_b].in_first) * site->taps;
            segments[s].weight_b =
                mts_weights_rows(pool, weight, from->ref_b, block->row_b, block->rows_b, owner) +
                skip_b * block->rows_b;
        }
    }
    if (!segments) {
        mts_tiler_memory(t);
    }
    return segments;
}

/* Whether the images of a member end with the same numbers. */
static bool images_end_alike(mts_tiler *t, mts_conv_site *site, const mts_row_block *block)
{
    const mts_epilogue_params first = mts_conv_epilogue(t->encoding, site, 0, block->row_a);
    const mts_epilogue_params last = mts_conv_epilogue(t->encoding, site, site->images - 1, block->row_a);
    return first.scale == last.scale && first.bias == last.bias && first.slope == last.slope;
}

/* Returns how many images a job has. */
static uint32_t put_rows_into_lanes(mts_tiler *t, mts_conv_site *site, const mts_row_block *block,
                                    mts_conv_params *params)
{
    const uint32_t images = site->blocks == 0 && images_end_alike(t, site, block) ? site->images : 1;
    params->blocks = site->blocks;
    params->plane = mts_row_lanes_plane(site);
    params->pixels = images * params->plane;
    params->in_image = site->in_channels * site->in_pitch;
    params->out_image = site->channels * site->out->pitch;
    params->res_image = site->channels * site->residual_pitch;
    return images;
}

/* Jobs of conv_tile on GPUs, which has a case for up to four rows and one for two times as
 * many: eight rows and a rest are fewer than two blocks of even size, rounded up. */
static bool rounds_rows(const mts_tiler *t)
{
    return t->cases && mts_launch_vector(t->encoding->device) == 1;
}

/* Notes which case of the kernel computes a block. */
static void note_case(mts_tiler *t, const mts_row_block *block)
{
    if (!t->cases) {
        return;
    }
    if (rounds_rows(t)) {
        t->cases->tile[4][block->rows_b > 0 || block->rows_a > 4 ? 4 : 0] = true;
    } else {
        t->cases->tile[block->rows_a][block->rows_b] = true;
    }
}

static bool has_block(const mts_value *weight, uint32_t block)
{
    bool has = false;
    for (uint32_t b = 0; b < weight->block_count; b++) {
        has = has || weight->blocks[b].block == block;
    }
    return has;
}

/* Of the jobs of a member, on a processor: whose caches hold an input for some of its jobs,
   and which expects weights where the last ones ended. A GPU is at work on all of a launch. */
static uint32_t find_owner(const mts_tiler *t, uint32_t index)
{
    const mts_stitched *s = t->encoding->stitched;
    const mts_layer *layer = t->layer;
    const mts_value *weight = mts_member_operand(s, &s->members[index], 1);
    bool common = t->encoding->device->is_gpu;
    for (uint32_t m = layer->first; m < layer->first + layer->count && !common; m++) {
        const mts_value *other = m == index ? NULL : mts_member_operand(s, &s->members[m], 1);
        for (uint32_t b = 0; other && b < weight->block_count; b++) {
            common = common || has_block(other, weight->blocks[b].block);
        }
    }
    return common ? 0 : 1 + index - layer->first;
}

static void add_row_block(mts_tiler *t, mts_conv_site *site, const mts_value *weight,
                          const mts_row_blocks *rows, const mts_row_block *block, uint32_t group)
{
    const uint32_t depth = site->in_channels / site->conv->group;
    const mts_member *members = t->encoding->stitched->members;
    mts_tile_job fresh = {.owner = t->owner,
                          .order = block->row_a,
                          .task_mask = mts_encode_task_mask(t->encoding, (uint32_t)(site->member - members))};
    fresh.segments = pack_segments(t, site, weight, rows, block);
    if (!fresh.segments) {
        return;
    }
    fresh.params = (mts_conv_params){.rows_a = block->rows_a,
                                     .rows_b = block->rows_b,
                                     .in_pitch = site->in_pitch,
                                     .pixels = site->pixels,
                                     .taps = site->taps,
                                     .tap = site->tap,
                                     .segments = block->segments,
                                     .mask = site->mask};
    fresh.work = (uint64_t)(block->rows_a + block->rows_b) * depth * site->taps;
    note_case(t, block);
    const uint32_t together =
        MTS_HAS_ROW_LANES && t->row_lanes ? put_rows_into_lanes(t, site, block, &fresh.params) : 1;
    for (uint32_t image = 0; image < site->images && t->status == MTS_STATUS_OK; image += together) {
        fresh.params.in = site->in + (image * site->in_channels + group * depth) * site->in_pitch;
        const mts_epilogue_params epilogue = mts_conv_epilogue(t->encoding, site, image, block->row_a);
        if (mts_tiler_add(t, &fresh, &epilogue)) {
            t->encoding->mul_adds += fresh.work * site->out->dims[4] * site->out->dims[5] * together;
        }
    }
}

static bool is_tiled(const mts_tiler *t, uint32_t member)
{
    return t->encoding->plan->members[member].variant == MTS_VARIANT_TILE;
}

/*
 * Rows of shared and of private blocks side by side load each input vector once. Where
 * members read one input, rows of a shared block stay separate instead: then their jobs
 * are equal and are computed once (mts_tiler_add).
 */
static mts_tiles_mode choose_mode(const mts_tiler *t, uint32_t index)
{
    const mts_layer *layer = t->layer;
    const mts_stitched *s = t->encoding->stitched;
    bool blocks = false;
    bool common = false;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        if (is_tiled(t, m)) {
            blocks = blocks || mts_member_operand(s, &s->members[m], 1)->block_count > 1;
            common = common || (m != index && s->members[m].inputs[0] == s->members[index].inputs[0]);
        }
    }
    if (!blocks) {
        return rounds_rows(t) ? MTS_TILES_FULL : MTS_TILES_EVEN;
    }
    return t->alone || (common && s->shared) ? MTS_TILES_FULL
           : rounds_rows(t)                  ? MTS_TILES_JOIN_QUADS
                                             : MTS_TILES_JOIN;
}

static void add_member(mts_tiler *t, uint32_t index)
{
    const mts_tiles_mode mode = choose_mode(t, index);
    mts_conv_site site;
    mts_conv_site_init(&site, t->encoding, index);
    const mts_value *weight = mts_member_operand(t->encoding->stitched, site.member, 1);
    const uint32_t groups = site.conv->group;
    const uint32_t rows_per_group = site.channels / groups;
    t->members++;
    t->owner = HAS_OWNERS ? find_owner(t, index) : 0;
    for (uint32_t g = 0; g < groups && t->status == MTS_STATUS_OK; g++) {
        mts_row_blocks rows;
        t->status = mts_tiles_cut(weight, g * rows_per_group, rows_per_group, t->rows, mode, &t->scratch,
                                  &rows, t->encoding->error);
        for (uint32_t b = 0; t->status == MTS_STATUS_OK && b < rows.count; b++) {
            add_row_block(t, &site, weight, &rows, &rows.blocks[b], g);
        }
    }
}

/* Larger first; equal work by weight rows, so that neighbours in the list use the same
   weights, or, where members have no weights in common, the same input. */
static int compare_jobs(const void *left, const void *right)
{
    const mts_tile_job *a = left, *b = right;
    const int place = mts_order(MTS_COMPARE(a->order, b->order), MTS_COMPARE(a->params.in, b->params.in));
    return mts_order(MTS_COMPARE(b->work * b->params.tile, a->work * a->params.tile),
                     HAS_OWNERS ? mts_order(MTS_COMPARE(a->owner, b->owner), place) : place);
}

/* Keeps the tasks of each epilogue of a job; t->shared has room for all jobs that have
   several. */
static void note_shared(mts_tiler *t, const mts_tile_job *job)
{
    uint32_t *masks = mts_arena_zero(t->encoding->strings, job->params.epilogues, sizeof *masks);
    uint32_t count = 0;
    for (uint32_t e = job->first_epilogue; masks && e != MTS_NONE; e = t->epilogues[e].next) {
        masks[count++] = t->epilogues[e].task_mask;
    }
    if (!masks) {
        mts_tiler_memory(t);
        return;
    }
    t->shared[t->shared_count++] = (mts_entry_job){
        .at = job->at, .epilogue = job->params.epilogue, .epilogues = job->params.epilogues, .masks = masks};
}

static bool make_room(mts_tiler *t)
{
    uint32_t count = 0;
    for (size_t i = 0; i < t->job_count; i++) {
        count += t->jobs[i].params.epilogues > 1 ? 1 : 0;
    }
    if (t->encoding->masks && count > 0) {
        t->shared = mts_arena_zero(t->encoding->strings, count, sizeof *t->shared);
        if (!t->shared) {
            mts_tiler_memory(t);
        }
    }
    return t->shared;
}

void mts_tiler_write(mts_tiler *t)
{
    const bool keeps = make_room(t);
    qsort(t->jobs, t->job_count, sizeof *t->jobs, compare_jobs);
    mts_param_buffer *params = &t->encoding->params;
    for (size_t i = 0; i < t->job_count; i++) {
        mts_tile_job *j = &t->jobs[i];
        j->params.segment = mts_param_buffer_add(params, j->segments,
                                                 j->params.segments * MTS_PARAM_WORDS(mts_segment_params));
        j->params.epilogue = (uint32_t)params->count;
        for (uint32_t e = j->first_epilogue; e != MTS_NONE; e = t->epilogues[e].next) {
            mts_param_buffer_add(params, &t->epilogues[e].params, MTS_PARAM_WORDS(mts_epilogue_params));
        }
        j->at = mts_param_buffer_add(params, &j->params, MTS_PARAM_WORDS(mts_conv_params));
        if (keeps && j->params.epilogues > 1) {
            note_shared(t, j);
        }
    }
}

const char *mts_tiler_label(const mts_tiler *t)
{
    const mts_stitched *s = t->encoding->stitched;
    const mts_attrs_conv *conv = &mts_member_node(s, &s->members[t->layer->first])->attrs.conv;
    char what[64];
    const bool turned = MTS_HAS_PACKED && t->layer->op == MTS_OP_DECONV;
    snprintf(what, sizeof what, turned ? "deconv %ux%u" : "conv %ux%u", conv->kernel[0], conv->kernel[1]);
    return mts_encode_label(t->encoding, t->layer, what);
}

void mts_tiler_entries(mts_tiler *t, mts_entry_kind kind, const uint32_t *masks, size_t count)
{
    mts_encoding *l = t->encoding;
    t->status = mts_encode_entries(l, kind, MTS_PARAM_WORDS(mts_tile_params), masks, count);
    mts_entries *entries = &l->launches[l->launch_count - 1].entries;
    entries->jobs = t->shared;
    entries->job_count = t->shared_count;
}

void mts_tiler_begin(mts_tiler *t, mts_encoding *encoding, const mts_layer *layer, uint32_t rows,
                     mts_kernel_cases *cases)
{
    *t = (mts_tiler){.encoding = encoding, .layer = layer, .rows = rows, .cases = cases};
    mts_arena_init(&t->scratch, encoding->arena->allocator);
    mts_map_init(&t->equal_jobs, encoding->arena->allocator);
}

static void add_members(mts_tiler *t)
{
    const mts_layer *layer = t->layer;
    for (uint32_t m = layer->first; t->status == MTS_STATUS_OK && m < layer->first + layer->count; m++) {
        if (is_tiled(t, m)) {
            add_member(t, m);
        }
    }
}

void mts_tiler_open(mts_tiler *t, mts_encoding *encoding, const mts_layer *layer, uint32_t rows,
                    mts_kernel_cases *cases)
{
    mts_tiler_begin(t, encoding, layer, rows, cases);
    add_members(t);
}

void mts_tiler_open_lanes(mts_tiler *t, mts_encoding *encoding, const mts_layer *layer)
{
    mts_tiler_begin(t, encoding, layer, encoding->device->vector_floats, NULL);
    t->row_lanes = true;
    add_members(t);
}

void mts_tiler_open_member(mts_tiler *t, mts_encoding *encoding, const mts_layer *layer, uint32_t member,
                           uint32_t rows)
{
    mts_tiler_begin(t, encoding, layer, rows, NULL);
    t->alone = true;
    add_member(t, member);
}

void mts_tiler_close(mts_tiler *t)
{
    mts_alloc_free(t->scratch.allocator, t->jobs);
    mts_map_release(&t->equal_jobs);
    mts_alloc_free(t->scratch.allocator, t->epilogues);
    mts_arena_release(&t->scratch);
}
