/*
 * conv.c: the reference kernels with weights: stitched convolution (direct and
 * Winograd's), depthwise convolution, fully connected.
 *
 * Sums run in the order that kernels/abi/params.h states (segments, channels, taps), in
 * double: an oracle must be more exact than what is compared with it. Pixels are the
 * innermost loop, so that a compiler makes vectors of it: this is also the last fallback.
 * Not responsible for packing weights.
 */
#include <string.h>

#include "platform/reference/epilogue.h"

#define CHUNK 256 /* pixels whose sums are kept together: they stay in the first-level cache */

/* Whether pixels 0 .. pixels - 1 at every tap of `channels` input channels lie in the
   arena. */
static bool input_fits(const mts_reference_call *call, int64_t in, uint64_t pitch, uint64_t channels,
                       uint32_t pixels, const int32_t *tap, uint32_t taps)
{
    const int64_t reach = channels ? (int64_t)((channels - 1) * pitch) : 0;
    for (uint32_t k = 0; k < taps && channels && pixels; k++) {
        if (in + tap[k] < 0 || in + reach + tap[k] + pixels > (int64_t)call->act_size) {
            return false;
        }
    }
    return true;
}

/* sums[p] += weight * x[p] */
static void add_scaled(double *restrict sums, const float *restrict x, float weight, uint32_t count)
{
    for (uint32_t p = 0; p < count; p++) {
        sums[p] += (double)weight * (double)x[p];
    }
}

/* sums[p] += weight * one lane of x[p] */
static void add_lane(double *restrict sums, const float *restrict x, float weight, uint32_t count)
{
    for (uint32_t p = 0; p < count; p++) {
        sums[p] += (double)weight * (double)x[(uint64_t)p * MTS_CHANNEL_BLOCK];
    }
}

/* ---- conv_tile ---- */

static void conv_sums(const mts_reference_call *call, const mts_conv_params *job, uint32_t row,
                      uint32_t first, uint32_t count, double *sums)
{
    const int32_t *tap = (const int32_t *)(const void *)(call->params + job->tap);
    const mts_segment_params *segment =
        (const mts_segment_params *)(const void *)(call->params + job->segment);
    const uint32_t rows = row < job->rows_a ? job->rows_a : job->rows_b;
    memset(sums, 0, count * sizeof *sums);
    for (uint32_t s = 0; s < job->segments; s++, segment++) {
        const float *weight = call->pool + (row < job->rows_a ? segment->weight_a : segment->weight_b);
        weight += row < job->rows_a ? row : row - job->rows_a;
        for (uint32_t c = 0; c < segment->count; c++) {
            const float *x = call->act + job->in + (uint64_t)(segment->channel + c) * job->in_pitch + first;
            if (job->blocks & MTS_BLOCKS_IN) {
                const uint32_t channel = segment->channel + c;
                add_lane(sums, call->act + job->in + mts_reference_block(job->in_pitch, channel, first), *weight,
                         count);
                weight += rows;
                continue;
            }
            for (uint32_t k = 0; k < job->taps; k++, weight += rows) {
                add_scaled(sums, x + tap[k], *weight, count);
            }
        }
    }
}

static const char *check_segments(const mts_reference_call *call, const mts_conv_params *job)
{
    const int32_t *tap = mts_reference_params(call, job->tap, job->taps);
    const mts_segment_params *segment = mts_reference_params(
        call, job->segment, (uint64_t)job->segments * MTS_PARAM_WORDS(mts_segment_params));
    if (!tap || !segment) {
        return "taps or segments lie outside the kernel parameters";
    }
    for (uint32_t s = 0; s < job->segments; s++, segment++) {
        const uint64_t weights = (uint64_t)segment->count * job->taps;
        const int64_t in = (int64_t)job->in + (int64_t)((uint64_t)segment->channel * job->in_pitch);
        if (weights > UINT32_MAX ||
            (job->rows_a && !mts_reference_in_pool(call, segment->weight_a, weights * job->rows_a)) ||
            (job->rows_b && !mts_reference_in_pool(call, segment->weight_b, weights * job->rows_b))) {
            return "a segment's weights leave the pool";
        }
        if (!input_fits(call, in, job->in_pitch, segment->count, job->pixels, tap, job->taps)) {
            return "a segment's input leaves the arena";
        }
    }
    return NULL;
}

/* Epilogue i of a job, for an image of it: image 0 where the job has no `plane`. */
static mts_epilogue_params epilogue_of(const mts_reference_call *call, const mts_conv_params *job, uint32_t i,
                                       uint32_t image)
{
    const mts_epilogue_params *list =
        (const mts_epilogue_params *)(const void *)(call->params + job->epilogue);
    mts_epilogue_params e = list[i];
    if (job->plane > 0) {
        e.out += image * job->out_image;
        e.res += e.res == MTS_PARAM_NONE ? 0 : image * job->res_image;
        e.last = (image + 1) * job->plane < job->pixels ? MTS_PARAM_NONE : e.last;
    }
    return e;
}

/* What an image of a job is, as a job of one image; its epilogues are epilogue_of. */
static mts_conv_params job_of_image(const mts_conv_params *job, uint32_t image)
{
    mts_conv_params one = *job;
    if (job->plane > 0) {
        one.in += image * job->in_image;
        one.pixels = job->plane;
    }
    return one;
}

static const char *check_conv(const mts_reference_call *call, const mts_conv_params *job, uint32_t image)
{
    const mts_conv_params one = job_of_image(job, image);
    const char *reason = check_segments(call, &one);
    if (reason) {
        return reason;
    }
    if (!mts_reference_params(call, job->epilogue,
                              (uint64_t)job->epilogues * MTS_PARAM_WORDS(mts_epilogue_params))) {
        return "epilogues lie outside the kernel parameters";
    }
    if (job->mask != MTS_PARAM_NONE && !mts_reference_in_pool(call, job->mask, job->pixels)) {
        return "the mask leaves the pool";
    }
    if ((job->blocks && (job->plane != job->pixels || job->taps != 1)) ||
        ((job->blocks & MTS_BLOCKS_OUT) && job->rows_a != MTS_CHANNEL_BLOCK)) {
        return "a job in blocks of channels has not one image, one tap and the rows of a block";
    }
    for (uint32_t i = 0; i < job->epilogues && !reason; i++) {
        const mts_epilogue_params e = epilogue_of(call, job, i, image);
        reason = mts_reference_check_epilogue(call, &e, job->rows_a + job->rows_b, one.pixels);
    }
    return reason;
}

/* Pixels first .. end - 1 of an image. */
static void conv_run(const mts_reference_call *call, const mts_conv_params *job, uint32_t image,
                     uint32_t first, uint32_t end)
{
    const mts_conv_params one = job_of_image(job, image);
    double sums[CHUNK];
    for (uint32_t row = 0; row < job->rows_a + job->rows_b; row++) {
        for (uint32_t p = first; p < end; p += CHUNK) {
            const uint32_t count = end - p < CHUNK ? end - p : CHUNK;
            conv_sums(call, &one, row, p, count, sums);
            for (uint32_t i = 0; i < job->epilogues; i++) {
                const mts_epilogue_params e = epilogue_of(call, job, i, image);
                if (job->blocks & MTS_BLOCKS_OUT) {
                    mts_reference_store_lane(call, &e, row, call->params[e.index + row], p, count, sums);
                } else {
                    mts_reference_store_row(call, &e, row, p, count, job->mask, sums);
                }
            }
        }
        for (uint32_t i = 0; i < job->epilogues && !(job->blocks & MTS_BLOCKS_OUT); i++) {
            const mts_epilogue_params e = epilogue_of(call, job, i, image);
            mts_reference_store_border(call, &e, row, one.pixels, first == 0, end == one.pixels);
        }
    }
}

/* Pixels first .. end - 1 of a job, image by image. */
static const char *conv_stretch(const mts_reference_call *call, const mts_conv_params *job, uint32_t first,
                                uint32_t end)
{
    const uint32_t plane = job->plane > 0 ? job->plane : job->pixels;
    const char *reason = NULL;
    while (first < end && !reason) {
        const uint32_t image = first / plane, begin = image * plane;
        const uint32_t stop = end - begin < plane ? end - begin : plane;
        reason = check_conv(call, job, image);
        if (!reason) {
            conv_run(call, job, image, first - begin, stop);
        }
        first = begin + stop;
    }
    return reason;
}

/* `count` stretches of pixels from index `first` on. */
static const char *conv_stretches(const mts_reference_call *call, uint64_t first, uint64_t count)
{
    const mts_tile_params *tile = mts_reference_params(call, first, count * MTS_PARAM_WORDS(mts_tile_params));
    for (uint64_t i = 0; tile && i < count; i++, tile++) {
        const mts_conv_params *job = mts_reference_params(call, tile->job, MTS_PARAM_WORDS(mts_conv_params));
        if (!job || tile->pixel >= job->pixels) {
            return "a tile's job lies outside the kernel parameters";
        }
        const uint32_t left = job->pixels - tile->pixel;
        const uint32_t count_here = left < job->tile ? left : job->tile;
        const char *reason = conv_stretch(call, job, tile->pixel, tile->pixel + count_here);
        if (reason) {
            return reason;
        }
    }
    return tile ? NULL : "a tile lies outside the kernel parameters";
}

const char *mts_reference_conv_tile__f32_planar(const mts_reference_call *call)
{
    return conv_stretches(call, call->first, call->groups);
}

const char *mts_reference_conv_block__f32_planar(const mts_reference_call *call)
{
    const mts_block_params *block =
        mts_reference_params(call, call->first, (uint64_t)call->groups * MTS_PARAM_WORDS(mts_block_params));
    const char *reason = block ? NULL : "a block lies outside the kernel parameters";
    for (uint32_t g = 0; !reason && g < call->groups; g++) {
        reason = conv_stretches(call, block[g].part, block[g].parts);
    }
    return reason;
}

/* ---- conv_winograd ---- */

/* A row of outputs of a job, walked tile by tile. */
typedef struct winograd_row {
    const mts_winograd_params *job;
    const mts_winograd_rows_params *block;
    const mts_segment_params *segments;
    uint32_t row; /* of the block */
} winograd_row;

/* Bt d B of the 4 x 4 inputs at x. */
static void winograd_input(const float *x, uint32_t row, double v[16])
{
    double t[16];
    for (uint32_t j = 0; j < 4; j++) {
        const double d[4] = {x[j], x[row + j], x[2 * row + j], x[3 * row + j]};
        t[j] = d[0] - d[2];
        t[4 + j] = d[1] + d[2];
        t[8 + j] = d[2] - d[1];
        t[12 + j] = d[1] - d[3];
    }
    for (uint32_t i = 0; i < 16; i += 4) {
        v[i] = t[i] - t[i + 2];
        v[i + 1] = t[i + 1] + t[i + 2];
        v[i + 2] = t[i + 2] - t[i + 1];
        v[i + 3] = t[i + 1] - t[i + 3];
    }
}

/* y = At [ sum of U . V ] A of one tile. */
static void winograd_tile(const mts_reference_call *call, const winograd_row *r, uint64_t at, double y[4])
{
    double m[16] = {0};
    double v[16];
    for (uint32_t s = 0; s < r->block->segments; s++) {
        const mts_segment_params *segment = &r->segments[s];
        const uint64_t plane = (uint64_t)segment->count * r->block->rows; /* floats of a position */
        for (uint32_t c = 0; c < segment->count; c++) {
            const float *weight = call->pool + segment->weight_a + (uint64_t)c * r->block->rows + r->row;
            winograd_input(call->act + at + (uint64_t)(segment->channel + c) * r->job->in_pitch, r->job->row,
                           v);
            for (uint32_t p = 0; p < 16; p++) {
                m[p] += (double)weight[p * plane] * v[p];
            }
        }
    }
    double t[8];
    for (uint32_t j = 0; j < 4; j++) {
        t[j] = m[j] + m[4 + j] + m[8 + j];
        t[4 + j] = m[4 + j] - m[8 + j] - m[12 + j];
    }
    for (uint32_t k = 0; k < 2; k++) {
        y[2 * k] = t[4 * k] + t[4 * k + 1] + t[4 * k + 2];
        y[2 * k + 1] = t[4 * k + 1] - t[4 * k + 2] - t[4 * k + 3];
    }
}

static void winograd_store(const mts_reference_call *call, const winograd_row *r, uint32_t tile,
                           const double y[4])
{
    const mts_winograd_params *job = r->job;
    const mts_epilogue_params *e = mts_reference_params(call, job->epilogue, 0);
    const uint32_t row = r->block->row + r->row;
    const uint32_t top = tile / job->columns * 2;
    const uint32_t left = tile % job->columns * 2;
    const uint32_t count = left >= job->w ? 0 : job->w - left < 2 ? 1 : 2;
    for (uint32_t i = 0; i < job->epilogues; i++) {
        for (uint32_t k = 0; k < 2 && top + k < job->h; k++) {
            const uint32_t line = (top + k) * job->row;
            mts_reference_store_row(call, &e[i], row, line + left, count, MTS_PARAM_NONE, y + 2 * (size_t)k);
            if (tile % job->columns + 1 == job->columns) {
                float *out = call->act + e[i].out + (uint64_t)call->params[e[i].index + row] * e[i].out_pitch;
                memset(out + line + job->w, 0, (job->row - job->w) * sizeof *out);
            }
        }
    }
}

static void winograd_run(const mts_reference_call *call, winograd_row *r, uint32_t first, uint32_t end)
{
    const mts_winograd_params *job = r->job;
    const mts_epilogue_params *e = mts_reference_params(call, job->epilogue, 0);
    for (r->row = 0; r->row < r->block->rows; r->row++) {
        for (uint32_t t = first; t < end; t++) {
            double y[4];
            const uint64_t pixel = (uint64_t)(t / job->columns) * 2 * job->row + t % job->columns * 2;
            winograd_tile(call, r, job->in + pixel, y);
            winograd_store(call, r, t, y);
        }
        for (uint32_t i = 0; i < job->epilogues; i++) {
            mts_reference_store_border(call, &e[i], r->block->row + r->row, job->h * job->row, first == 0,
                                       end == job->tiles);
        }
    }
}

static const char *check_winograd_rows(const mts_reference_call *call, const mts_winograd_params *job,
                                       const mts_winograd_rows_params *block)
{
    const mts_segment_params *segment = mts_reference_params(
        call, block->segment, (uint64_t)block->segments * MTS_PARAM_WORDS(mts_segment_params));
    const mts_epilogue_params *e = mts_reference_params(
        call, job->epilogue, (uint64_t)job->epilogues * MTS_PARAM_WORDS(mts_epilogue_params));
    if (!segment || !e) {
        return "segments or epilogues lie outside the kernel parameters";
    }
    for (uint32_t s = 0; s < block->segments; s++) {
        if ((uint64_t)segment[s].channel + segment[s].count > job->channels ||
            !mts_reference_in_pool(call, segment[s].weight_a,
                                   (uint64_t)segment[s].count * block->rows * 16)) {
            return "a segment's weights leave the pool, or its channels the input";
        }
    }
    const char *reason = NULL;
    for (uint32_t i = 0; i < job->epilogues && !reason; i++) {
        reason = mts_reference_check_epilogue(call, &e[i], block->row + block->rows, job->h * job->row);
    }
    return reason;
}

static const char *check_winograd(const mts_reference_call *call, const mts_winograd_params *job)
{
    if (job->columns == 0 || job->row < job->w || (uint64_t)job->columns * 2 < job->w ||
        job->tiles != (uint64_t)job->columns * ((job->h + 1) / 2)) {
        return "the tiles do not cover the image";
    }
    const uint64_t reach = ((uint64_t)job->h + job->h % 2 + 1) * job->row + 2 * (uint64_t)job->columns + 2;
    if (job->channels > 0 &&
        !mts_reference_in_act(call, job->in, (uint64_t)(job->channels - 1) * job->in_pitch + reach)) {
        return "the input leaves the arena";
    }
    return NULL;
}

const char *mts_reference_conv_winograd__f32_planar(const mts_reference_call *call)
{
    for (uint32_t g = 0; g < call->groups; g++) {
        const uint32_t words = MTS_PARAM_WORDS(mts_tile_params);
        const mts_tile_params *tile = mts_reference_params(call, call->first + (uint64_t)g * words, words);
        const mts_winograd_params *job =
            tile ? mts_reference_params(call, tile->job, MTS_PARAM_WORDS(mts_winograd_params)) : NULL;
        const mts_winograd_rows_params *block =
            job ? mts_reference_params(call, job->block,
                                       (uint64_t)job->blocks * MTS_PARAM_WORDS(mts_winograd_rows_params))
                : NULL;
        if (!block || tile->pixel >= job->tiles) {
            return "a tile, its job or the job's rows lie outside the kernel parameters";
        }
        const char *reason = check_winograd(call, job);
        const uint32_t left = job->tiles - tile->pixel;
        const uint32_t end = tile->pixel + (left < job->tile ? left : job->tile);
        for (uint32_t b = 0; b < job->blocks && !reason; b++) {
            winograd_row row = {.job = job, .block = &block[b]};
            reason = check_winograd_rows(call, job, &block[b]);
            if (!reason) {
                row.segments = mts_reference_params(call, block[b].segment, 0);
                winograd_run(call, &row, tile->pixel, end);
            }
        }
        if (reason) {
            return reason;
        }
    }
    return NULL;
}

/* ---- depthwise_tile ---- */

static const char *check_depthwise(const mts_reference_call *call, const mts_depthwise_params *r)
{
    const int32_t *tap = mts_reference_params(call, r->tap, r->taps);
    if (!tap || r->multiplier == 0) {
        return "the taps lie outside the kernel parameters";
    }
    const uint64_t inputs = ((uint64_t)r->channels + r->multiplier - 1) / r->multiplier;
    if (!input_fits(call, r->in, r->in_pitch, inputs, r->pixels, tap, r->taps)) {
        return "the input leaves the arena";
    }
    if (!mts_reference_in_pool(call, r->weight, (uint64_t)r->channels * r->taps) ||
        (r->mask != MTS_PARAM_NONE && !mts_reference_in_pool(call, r->mask, r->pixels))) {
        return "the weights or the mask leave the pool";
    }
    return mts_reference_check_epilogue(call, &r->epilogue, r->channels, r->pixels);
}

static const char *depthwise_member(const mts_reference_call *call, const void *params)
{
    const mts_depthwise_params *r = params;
    const char *reason = check_depthwise(call, r);
    double sums[CHUNK];
    if (reason) {
        return reason;
    }
    const int32_t *tap = (const int32_t *)(const void *)(call->params + r->tap);
    for (uint32_t c = 0; c < r->channels; c++) {
        for (uint32_t p = 0; p < r->pixels; p += CHUNK) {
            const uint32_t count = r->pixels - p < CHUNK ? r->pixels - p : CHUNK;
            const float *x = call->act + r->in + (uint64_t)(c / r->multiplier) * r->in_pitch + p;
            memset(sums, 0, sizeof sums);
            for (uint32_t k = 0; k < r->taps; k++) {
                add_scaled(sums, x + tap[k], call->pool[r->weight + (uint64_t)c * r->taps + k], count);
            }
            mts_reference_store_row(call, &r->epilogue, c, p, count, r->mask, sums);
        }
        mts_reference_store_border(call, &r->epilogue, c, r->pixels, true, true);
    }
    return NULL;
}

const char *mts_reference_depthwise_tile__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_depthwise_params), depthwise_member);
}

/* ---- depthwise_rows ---- */

enum { ROWS_BEFORE = 15 }; /* floats that vectors may read before a plane */

static const char *check_depthwise_rows(const mts_reference_call *call, const mts_depthwise_rows_params *r)
{
    if (r->multiplier == 0 || r->each == 0 || r->part == 0 || (r->size != 3 && r->size != 5) ||
        (r->stride != 1 && r->stride != 2) || r->w > r->row || r->dilation == 0 || r->top > ROWS_BEFORE ||
        r->left > ROWS_BEFORE || (r->dilation > 1 && (r->stride > 1 || r->w <= ROWS_BEFORE + 1)) ||
        r->in_w > r->in_row || (uint64_t)r->h * r->row > r->room) {
        return "the shape is not one of depthwise_rows";
    }
    const uint64_t inputs = ((uint64_t)r->channels + r->multiplier - 1) / r->multiplier;
    if (r->h == 0 || r->w == 0 || r->in_h == 0 || r->in_w == 0 || inputs == 0 || r->in < ROWS_BEFORE ||
        !mts_reference_in_act(call, r->zeros, MTS_ROW_ZEROS) ||
        !mts_reference_in_act(call, r->in,
                              (inputs - 1) * r->in_pitch + (uint64_t)(r->in_h - 1) * r->in_row + r->in_w)) {
        return "the input leaves the arena";
    }
    if (!mts_reference_in_pool(call, r->weight, (uint64_t)r->channels * r->size * r->size) ||
        (r->mask != MTS_PARAM_NONE && !mts_reference_in_pool(call, r->mask, r->room))) {
        return "the weights or the mask leave the pool";
    }
    return mts_reference_check_epilogue(call, &r->epilogue, r->channels, r->room);
}

/* Sums of columns [first, first + count) of row y. */
static void depthwise_row(const mts_reference_call *call, const mts_depthwise_rows_params *r, uint32_t c,
                          uint32_t y, uint32_t first, uint32_t count, double *sums)
{
    const float *plane = call->act + r->in + (uint64_t)(c / r->multiplier) * r->in_pitch;
    const float *weight = call->pool + r->weight + (uint64_t)c * r->size * r->size;
    for (uint32_t i = 0; i < count; i++) {
        sums[i] = 0.0;
        for (uint32_t k = 0; k < r->size * r->size; k++) {
            const int64_t row = (int64_t)y * r->stride + k / r->size * r->dilation - r->top;
            const int64_t column = (int64_t)(first + i) * r->stride + k % r->size * r->dilation - r->left;
            if (row >= 0 && row < r->in_h && column >= 0 && column < r->in_w) {
                sums[i] += (double)weight[k] * (double)plane[row * r->in_row + column];
            }
        }
    }
}

static const char *depthwise_rows_member(const mts_reference_call *call, const void *params)
{
    const mts_depthwise_rows_params *r = params;
    const char *reason = check_depthwise_rows(call, r);
    double sums[CHUNK];
    if (reason) {
        return reason;
    }
    for (uint32_t c = 0; c < r->channels; c++) {
        for (uint32_t y = 0; y < r->h; y++) {
            float *out = call->act + r->epilogue.out + y * r->row;
            out += (uint64_t)call->params[r->epilogue.index + c] * r->epilogue.out_pitch;
            for (uint32_t x = 0; x < r->w; x += CHUNK) {
                const uint32_t count = r->w - x < CHUNK ? r->w - x : CHUNK;
                depthwise_row(call, r, c, y, x, count, sums);
                mts_reference_store_row(call, &r->epilogue, c, y * r->row + x, count, MTS_PARAM_NONE, sums);
            }
            memset(out + r->w, 0, (r->row - r->w) * sizeof *out);
        }
        mts_reference_store_border(call, &r->epilogue, c, r->h * r->row, true, true);
    }
    return NULL;
}

const char *mts_reference_depthwise_rows__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_depthwise_rows_params), depthwise_rows_member);
}

/* ---- fc_lanes ---- */

static const char *check_fc(const mts_reference_call *call, const mts_fc_params *r)
{
    const int32_t here = 0;
    const mts_segment_params *segment =
        mts_reference_params(call, r->segment, (uint64_t)r->segments * MTS_PARAM_WORDS(mts_segment_params));
    const mts_epilogue_params *e = mts_reference_params(
        call, r->epilogue, (uint64_t)r->epilogues * MTS_PARAM_WORDS(mts_epilogue_params));
    if (!segment || !e || r->lanes == 0) {
        return "segments or epilogues lie outside the kernel parameters";
    }
    const uint64_t padded = ((uint64_t)r->rows + r->lanes - 1) / r->lanes * r->lanes;
    for (uint32_t s = 0; s < r->segments; s++) {
        const int64_t in = (int64_t)r->in + (int64_t)((uint64_t)segment[s].channel * r->in_pitch);
        if (!mts_reference_in_pool(call, segment[s].weight_a, padded * segment[s].count)) {
            return "a segment's weights leave the pool";
        }
        if (!input_fits(call, in, r->in_pitch, segment[s].count, 1, &here, 1)) {
            return "a segment's input leaves the arena";
        }
    }
    const char *reason = NULL;
    for (uint32_t i = 0; i < r->epilogues && !reason; i++) {
        reason = mts_reference_check_epilogue(call, &e[i], r->rows, 1);
    }
    return reason;
}

static double fc_sum(const mts_reference_call *call, const mts_fc_params *r, uint32_t row)
{
    const mts_segment_params *segment = (const mts_segment_params *)(const void *)(call->params + r->segment);
    double sum = 0.0;
    for (uint32_t s = 0; s < r->segments; s++, segment++) {
        const uint64_t block = (uint64_t)(row / r->lanes) * segment->count * r->lanes;
        const float *weight = call->pool + segment->weight_a + block + row % r->lanes;
        const float *x = call->act + r->in + (uint64_t)segment->channel * r->in_pitch;
        for (uint32_t k = 0; k < segment->count; k++) {
            sum += (double)weight[(uint64_t)k * r->lanes] * (double)x[(uint64_t)k * r->in_pitch];
        }
    }
    return sum;
}

static const char *fc_member(const mts_reference_call *call, const void *params)
{
    const mts_fc_params *r = params;
    const char *reason = check_fc(call, r);
    if (reason) {
        return reason;
    }
    const mts_epilogue_params *e = (const mts_epilogue_params *)(const void *)(call->params + r->epilogue);
    for (uint32_t row = 0; row < r->rows; row++) {
        const double sum = fc_sum(call, r, row);
        for (uint32_t i = 0; i < r->epilogues; i++) {
            mts_reference_store_row(call, &e[i], row, 0, 1, MTS_PARAM_NONE, &sum);
            if (e[i].gap) { /* outputs without a gap need not be planes: nothing lies between them */
                mts_reference_store_border(call, &e[i], row, 1, true, true);
            }
        }
    }
    return NULL;
}

const char *mts_reference_fc_lanes__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_fc_params), fc_member);
}

const char *mts_reference_fc_block__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_fc_params), fc_member);
}
