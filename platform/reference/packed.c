/*
 * packed.c: the reference of the kernels for tensors in packs of channels: the stitched
 * convolution (mts_packed_params) and softmax. Not responsible for what follows a sum
 * (epilogue.c).
 */
#include <math.h>

#include "platform/reference/epilogue.h"

static uint32_t round_up(uint32_t count)
{
    return (count + MTS_CHANNEL_PACK - 1) / MTS_CHANNEL_PACK * MTS_CHANNEL_PACK;
}

/* Offset of a channel's pixel in packs, or in planes. */
static uint64_t offset_of(uint32_t pitch, uint32_t channel, uint64_t pixel, bool packed)
{
    const uint32_t lane = channel % MTS_CHANNEL_PACK;
    return packed ? (uint64_t)(channel - lane) * pitch + pixel * MTS_CHANNEL_PACK + lane
                  : (uint64_t)channel * pitch + pixel;
}

/* Floats of one of a segment's taps. */
static uint64_t tap_floats(const mts_conv_params *job, const mts_packed_params *p,
                           const mts_segment_params *segment)
{
    const uint32_t lane = segment->channel % MTS_CHANNEL_PACK;
    if (p->blocks & MTS_BLOCKS_DEPTHWISE) {
        return MTS_CHANNEL_PACK;
    }
    return (uint64_t)round_up(lane + segment->count) * round_up(job->rows_a);
}

static const mts_segment_params *segments_of(const mts_reference_call *call, const mts_conv_params *job)
{
    return mts_reference_params(call, job->segment,
                                (uint64_t)job->segments * MTS_PARAM_WORDS(mts_segment_params));
}

static const char *check_job(const mts_reference_call *call, const mts_conv_params *job,
                             const mts_packed_params *p)
{
    const mts_segment_params *segment = segments_of(call, job);
    const bool in_packs = (p->blocks & MTS_BLOCKS_IN) != 0;
    if (!segment || job->rows_a == 0 || job->rows_a > MTS_PACKED_ROWS || job->rows_b > 0 ||
        p->kernel_w == 0 || p->row < p->w || job->pixels != (uint64_t)p->h * p->row || p->in_h == 0 ||
        p->in_w == 0 || (p->plane > 0 && (p->blocks & MTS_BLOCKS_OUT))) {
        return "the job is not one of conv_packed";
    }
    if ((p->blocks & MTS_BLOCKS_DEPTHWISE) &&
        (job->segments != 1 || job->rows_a > MTS_CHANNEL_PACK || segment->count != job->rows_a)) {
        return "the job is not a depthwise one of conv_packed";
    }
    if (!mts_reference_in_act(call, p->zeros, MTS_CHANNEL_PACK)) {
        return "the zeros leave the arena";
    }
    for (uint32_t s = 0; s < job->segments; s++) {
        const uint32_t last = segment[s].channel + segment[s].count - 1;
        const uint64_t pixel = (uint64_t)(p->in_h - 1) * p->in_row + (uint64_t)(p->in_w - 1) * p->in_step;
        if (!mts_reference_in_pool(call, segment[s].weight_a, tap_floats(job, p, &segment[s]) * job->taps)) {
            return "a segment's weights leave the pool";
        }
        if (!mts_reference_in_act(call, job->in + offset_of(job->in_pitch, last, 0, in_packs) + pixel, 1)) {
            return "a segment's input leaves the arena";
        }
    }
    return mts_reference_params(call, job->epilogue,
                                (uint64_t)job->epilogues * MTS_PARAM_WORDS(mts_epilogue_params))
               ? NULL
               : "epilogues lie outside the kernel parameters";
}

/* Of the output's plane, up to the last one that the job stores. */
static uint32_t out_pixels(const mts_packed_params *p)
{
    const uint64_t last = (uint64_t)(p->h - 1) * p->out_row + (uint64_t)(p->row - 1) * p->out_step;
    return p->plane > 0 ? p->plane : (uint32_t)last + 1;
}

static double sum_of(const mts_reference_call *call, const mts_conv_params *job, const mts_packed_params *p,
                     uint32_t row, uint32_t pixel)
{
    const mts_segment_params *segment = segments_of(call, job);
    const uint32_t rows = round_up(job->rows_a);
    const bool depthwise = (p->blocks & MTS_BLOCKS_DEPTHWISE) != 0;
    double sum = 0.0;
    for (uint32_t s = 0; s < job->segments; s++, segment++) {
        const uint32_t lane = segment->channel % MTS_CHANNEL_PACK;
        for (uint32_t k = 0; k < job->taps; k++) {
            const int64_t y =
                (int64_t)(pixel / p->row) * p->stride_y + k / p->kernel_w * p->dilation_y - p->top;
            const int64_t x =
                (int64_t)(pixel % p->row) * p->stride_x + k % p->kernel_w * p->dilation_x - p->left;
            const float *weight = call->pool + segment->weight_a + k * tap_floats(job, p, segment) + row;
            const bool inside = y >= 0 && y < p->in_h && x >= 0 && x < p->in_w;
            const uint32_t first = depthwise ? row : 0, end = depthwise ? row + 1 : segment->count;
            for (uint32_t c = first; c < end && inside; c++) {
                const uint64_t at =
                    offset_of(job->in_pitch, segment->channel + c, 0, p->blocks & MTS_BLOCKS_IN) +
                    (uint64_t)(y * p->in_row + x * p->in_step);
                const uint64_t of_channel = depthwise ? 0 : (uint64_t)(lane + c) * rows;
                sum += (double)weight[of_channel] * (double)call->act[job->in + at];
            }
        }
    }
    return sum;
}

static void store(const mts_reference_call *call, const mts_packed_params *p, const mts_epilogue_params *e,
                  uint32_t row, uint32_t pixel, double sum)
{
    const uint32_t channel = call->params[e->index + row];
    const uint32_t y = pixel / p->row, x = pixel % p->row;
    const bool packed = (p->blocks & MTS_BLOCKS_OUT) != 0;
    const uint64_t at = (uint64_t)y * p->out_row + (uint64_t)x * p->out_step;
    float *out = call->act + e->out + offset_of(e->out_pitch, channel, at, packed);
    const uint64_t residual =
        offset_of(e->res_pitch, channel, (uint64_t)y * p->res_row + x, p->blocks & MTS_BLOCKS_RESIDUAL);
    const float res = e->res == MTS_PARAM_NONE || x >= p->w ? 0.0f : call->act[e->res + residual];
    *out = x < p->w ? mts_reference_end(call, e, row, sum, res) : 0.0f;
    for (uint32_t lane = channel + 1; packed && channel == e->last && lane % MTS_CHANNEL_PACK != 0; lane++) {
        *++out = 0.0f;
    }
}

/* Pixels first .. end - 1 of a job. */
static void run_job(const mts_reference_call *call, const mts_conv_params *job, const mts_packed_params *p,
                    uint32_t first, uint32_t end)
{
    const mts_epilogue_params *e = mts_reference_params(call, job->epilogue, 0);
    for (uint32_t row = 0; row < job->rows_a; row++) {
        for (uint32_t pixel = first; pixel < end; pixel++) {
            const double sum = sum_of(call, job, p, row, pixel);
            for (uint32_t i = 0; i < job->epilogues; i++) {
                store(call, p, &e[i], row, pixel, sum);
            }
        }
        for (uint32_t i = 0; i < job->epilogues && p->plane > 0; i++) {
            mts_reference_store_border(call, &e[i], row, p->plane, first == 0, end == job->pixels);
        }
    }
}

const char *mts_reference_conv_packed__f32_lanes(const mts_reference_call *call)
{
    const mts_tile_params *tile =
        mts_reference_params(call, call->first, call->groups * MTS_PARAM_WORDS(mts_tile_params));
    for (uint64_t i = 0; tile && i < call->groups; i++, tile++) {
        const mts_conv_params *job = mts_reference_params(call, tile->job, MTS_PARAM_WORDS(mts_conv_params));
        const mts_packed_params *p =
            job ? mts_reference_params(call, job->tap, MTS_PARAM_WORDS(mts_packed_params)) : NULL;
        if (!p || tile->pixel >= job->pixels) {
            return "a tile's job lies outside the kernel parameters";
        }
        const char *reason = check_job(call, job, p);
        const mts_epilogue_params *e = mts_reference_params(call, job->epilogue, 0);
        for (uint32_t k = 0; k < job->epilogues && !reason && !(p->blocks & MTS_BLOCKS_OUT); k++) {
            reason = mts_reference_check_epilogue(call, &e[k], job->rows_a, out_pixels(p));
        }
        if (reason) {
            return reason;
        }
        const uint32_t left = job->pixels - tile->pixel;
        run_job(call, job, p, tile->pixel, tile->pixel + (left < job->tile ? left : job->tile));
    }
    return tile ? NULL : "a tile lies outside the kernel parameters";
}

/* ---- softmax ---- */

static void softmax_pixel(const mts_reference_call *call, const mts_softmax_packed_params *r, uint32_t image,
                          uint32_t pixel)
{
    const float *in = call->act + r->in + (uint64_t)image * r->in_image;
    float *out = call->act + r->out + (uint64_t)image * r->out_image;
    const uint32_t stored = r->packs ? round_up(r->channels) : r->channels;
    float most = -INFINITY;
    double sum = 0.0;
    for (uint32_t c = 0; c < r->channels; c++) {
        most = fmaxf(most, in[offset_of(r->in_pitch, c, pixel, true)]);
    }
    for (uint32_t c = 0; c < r->channels; c++) {
        sum += exp((double)in[offset_of(r->in_pitch, c, pixel, true)] - (double)most);
    }
    for (uint32_t c = 0; c < stored; c++) {
        const double v =
            c < r->channels ? (double)in[offset_of(r->in_pitch, c, pixel, true)] - (double)most : 0.0;
        out[offset_of(r->out_pitch, c, pixel, r->packs != 0)] = (float)(c >= r->channels ? 0.0
                                                                        : r->log         ? v - log(sum)
                                                                                         : exp(v) / sum);
    }
}

static const char *softmax_packed(const mts_reference_call *call, const void *params)
{
    const mts_softmax_packed_params *r = params;
    const uint64_t last = round_up(r->channels) - 1, image = r->images - 1;
    if (r->images == 0 || r->pixels == 0 || r->channels == 0 || r->wide == 0 ||
        (r->wide & (r->wide - 1)) != 0) {
        return "there is nothing to take the softmax of";
    }
    const uint64_t in =
        r->in + image * r->in_image + offset_of(r->in_pitch, (uint32_t)last, r->pixels - 1, true);
    const uint64_t out =
        r->out + image * r->out_image +
        offset_of(r->out_pitch, r->packs ? (uint32_t)last : r->channels - 1, r->pixels - 1, r->packs != 0);
    if (!mts_reference_in_act(call, in, 1) || !mts_reference_in_act(call, out, 1)) {
        return "an operand leaves the arena";
    }
    for (uint32_t i = 0; i < r->images; i++) {
        for (uint32_t p = 0; p < r->pixels; p++) {
            softmax_pixel(call, r, i, p);
        }
    }
    return NULL;
}

const char *mts_reference_softmax_packed__f32_lanes(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_softmax_packed_params), softmax_packed);
}
