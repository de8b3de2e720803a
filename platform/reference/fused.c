/*
 * fused.c: the reference kernel of fused blocks: a depthwise convolution with the 1 x 1
 * convolutions before and behind it, pixel by pixel.
 */
#include <string.h>

#include "platform/reference/epilogue.h"

#ifndef MTS_SMALL /* the smallest library has no such blocks */

/* The jobs that a list names, of which the parameters are then known to exist. */
static const mts_conv_params *job_of(const mts_reference_call *call, uint32_t list, uint32_t i)
{
    return (const mts_conv_params *)(const void *)(call->params + call->params[list + i]);
}

static const mts_epilogue_params *end_of(const mts_reference_call *call, const mts_conv_params *job)
{
    return (const mts_epilogue_params *)(const void *)(call->params + job->epilogue);
}

/* channels: of what the job reads; UINT32_MAX: as the arena is checked for each. */
static const char *check_job(const mts_reference_call *call, const mts_fused_params *p, uint32_t index,
                             bool expands)
{
    const mts_conv_params *job = mts_reference_params(call, index, MTS_PARAM_WORDS(mts_conv_params));
    if (!job || job->rows_b > 0 || job->rows_a == 0 || job->rows_a > MTS_FUSED_ROWS || job->epilogues != 1) {
        return "a job is not one of a fused block";
    }
    const mts_epilogue_params *e =
        mts_reference_params(call, job->epilogue, MTS_PARAM_WORDS(mts_epilogue_params));
    const mts_segment_params *segment = mts_reference_params(
        call, job->segment, (uint64_t)job->segments * MTS_PARAM_WORDS(mts_segment_params));
    if (!e || !segment) {
        return "an epilogue or segments lie outside the kernel parameters";
    }
    for (uint32_t s = 0; s < job->segments; s++) {
        const uint64_t above = (uint64_t)segment[s].channel + segment[s].count;
        const uint64_t image = (uint64_t)(p->in_h - 1) * p->in_row + p->in_w;
        if (!mts_reference_in_pool(call, segment[s].weight_a, (uint64_t)segment[s].count * job->rows_a) ||
            (expands ? !mts_reference_in_act(call, p->in, (above - 1) * p->in_pitch + image)
                     : above > p->channels)) {
            return "a segment's weights or channels do not exist";
        }
    }
    if (!expands) {
        return job->pixels < p->h * p->row ? "a job has too few pixels"
               : job->mask != MTS_PARAM_NONE && !mts_reference_in_pool(call, job->mask, job->pixels)
                   ? "the mask leaves the pool"
                   : mts_reference_check_epilogue(call, e, job->rows_a, job->pixels);
    }
    const uint32_t *list = mts_reference_params(call, e->index, job->rows_a);
    for (uint32_t r = 0; list && r < job->rows_a; r++) {
        list = list[r] < p->channels ? list : NULL;
    }
    return list ? NULL : "an expanded channel does not exist";
}

static const char *check_jobs(const mts_reference_call *call, const mts_fused_params *p, uint32_t list,
                              uint32_t count, bool expands)
{
    const uint32_t *jobs = mts_reference_params(call, list, count);
    const char *reason = jobs ? NULL : "a list of jobs lies outside the kernel parameters";
    for (uint32_t i = 0; !reason && i < count; i++) {
        reason = check_job(call, p, jobs[i], expands);
    }
    return reason;
}

static const char *check(const mts_reference_call *call, const mts_fused_params *p)
{
    const bool sized = (p->size == 3 || p->size == 5) && (p->stride == 1 || p->stride == 2);
    if (!sized || p->top >= p->size || p->left >= p->size || p->w > p->row || p->in_w > p->in_row ||
        p->part == 0 || p->h == 0 || p->w == 0 || p->in_h == 0 || p->in_w == 0 || p->channels == 0 ||
        p->channels > MTS_FUSED_CHANNELS || p->jobs == 0) {
        return "the shape is not one of a fused block";
    }
    const uint64_t image = (uint64_t)(p->in_h - 1) * p->in_row + p->in_w;
    const uint32_t *index = mts_reference_params(call, p->between.index, p->channels);
    bool inside = index;
    for (uint32_t c = 0; inside && c < p->channels; c++) {
        inside = index[c] < p->channels;
    }
    if (!inside ||
        (p->expands == 0 &&
         !mts_reference_in_act(call, p->in, (uint64_t)(p->channels - 1) * p->in_pitch + image)) ||
        !mts_reference_in_pool(call, p->weight, (uint64_t)p->channels * p->size * p->size)) {
        return "input, weights or channels of the depthwise convolution do not exist";
    }
    const char *reason = check_jobs(call, p, p->job, p->jobs, false);
    return reason ? reason : check_jobs(call, p, p->expand, p->expands, true);
}

/* A row of a job at one pixel, of planes `pitch` apart from `x` on. */
static double product(const mts_reference_call *call, const mts_conv_params *job, uint32_t row,
                      const float *x, uint64_t pitch)
{
    const mts_segment_params *segment =
        (const mts_segment_params *)(const void *)(call->params + job->segment);
    double sum = 0.0;
    for (uint32_t s = 0; s < job->segments; s++, segment++) {
        const float *weight = call->pool + segment->weight_a + row;
        for (uint32_t c = 0; c < segment->count; c++, weight += job->rows_a) {
            sum += (double)*weight * (double)x[(segment->channel + c) * pitch];
        }
    }
    return sum;
}

/* Depthwise channel c at an output pixel; job, row: that expand its input, or NULL. */
static float depthwise(const mts_reference_call *call, const mts_fused_params *p, uint32_t c,
                       const mts_conv_params *job, uint32_t row, uint32_t y, uint32_t x)
{
    const float *weight = call->pool + p->weight + (uint64_t)c * p->size * p->size;
    double sum = 0.0;
    for (uint32_t k = 0; k < p->size * p->size; k++) {
        const int64_t at_y = (int64_t)y * p->stride + k / p->size - p->top;
        const int64_t at_x = (int64_t)x * p->stride + k % p->size - p->left;
        if (at_y < 0 || at_y >= p->in_h || at_x < 0 || at_x >= p->in_w) {
            continue;
        }
        const float *at = call->act + p->in + at_y * p->in_row + at_x;
        const float value = job ? mts_reference_end(call, end_of(call, job), row,
                                                    product(call, job, row, at, p->in_pitch), 0.0f)
                                : at[(uint64_t)c * p->in_pitch];
        sum += (double)weight[k] * (double)value;
    }
    return mts_reference_end(call, &p->between, c, sum, 0.0f);
}

static void pixel(const mts_reference_call *call, const mts_fused_params *p, uint32_t y, uint32_t x)
{
    const uint32_t *index = call->params + p->between.index;
    float kept[MTS_FUSED_CHANNELS] = {0};
    for (uint32_t c = 0; p->expands == 0 && c < p->channels; c++) {
        kept[index[c]] = depthwise(call, p, c, NULL, 0, y, x);
    }
    for (uint32_t i = 0; i < p->expands; i++) {
        const mts_conv_params *job = job_of(call, p->expand, i);
        for (uint32_t r = 0; r < job->rows_a; r++) {
            const uint32_t c = call->params[end_of(call, job)->index + r];
            kept[index[c]] = depthwise(call, p, c, job, r, y, x);
        }
    }
    for (uint32_t i = 0; i < p->jobs; i++) {
        const mts_conv_params *job = job_of(call, p->job, i);
        for (uint32_t r = 0; r < job->rows_a; r++) {
            const double sum = product(call, job, r, kept, 1);
            mts_reference_store_row(call, end_of(call, job), r, y * p->row + x, 1, MTS_PARAM_NONE, &sum);
        }
    }
}

static const char *member(const mts_reference_call *call, const void *params)
{
    const mts_fused_params *p = params;
    const char *reason = check(call, p);
    for (uint32_t y = 0; !reason && y < p->h; y++) {
        for (uint32_t x = 0; x < p->w; x++) {
            pixel(call, p, y, x);
        }
    }
    for (uint32_t i = 0; !reason && i < p->jobs; i++) {
        const mts_conv_params *job = job_of(call, p->job, i);
        const mts_epilogue_params *e = end_of(call, job);
        for (uint32_t r = 0; r < job->rows_a; r++) {
            float *out = call->act + e->out + (uint64_t)call->params[e->index + r] * e->out_pitch;
            for (uint32_t y = 0; y < p->h; y++) {
                memset(out + y * p->row + p->w, 0, (p->row - p->w) * sizeof *out);
            }
            mts_reference_store_border(call, e, r, p->h * p->row, true, true);
        }
    }
    return reason;
}

#endif

const char *mts_reference_fused_rows__f32_planar(const mts_reference_call *call)
{
#ifdef MTS_SMALL
    (void)call;
    return "the smallest library has no such kernel";
#else
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_fused_params), member);
#endif
}
