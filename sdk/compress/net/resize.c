/*
 * resize.c: interpolation by ONNX's definitions, forwards and backwards. Channels are the
 * innermost loop.
 */
#include <math.h>

#include "compress/net/inside.h"
#include "kernels/abi/kinds.h"

typedef struct taps {
    int count; /* 0: outside the crop */
    int64_t at[4];
    double weight[4];
} taps;

typedef struct resize {
    const mts_attrs_resize *attrs;
    size_t channels;
    int64_t in[2];
} resize;

/* Where output coordinate `at` lies in the input, in float as other run-times compute
   it. */
static float coordinate(const resize *r, int axis, uint32_t at)
{
    const mts_attrs_resize *a = r->attrs;
    const float x = (float)at, last = (float)r->in[axis] - 1.0f;
    const uint32_t out = a->out[axis];
    switch (a->coord) {
    case MTS_COORD_PYTORCH_HALF_PIXEL:
        return out > 1 ? (x + 0.5f) / a->scale[axis] - 0.5f : 0.0f;
    case MTS_COORD_ALIGN_CORNERS:
        return out > 1 ? x * last / (float)(out - 1) : 0.0f;
    case MTS_COORD_ASYMMETRIC:
        return x / a->scale[axis];
    case MTS_COORD_TF_HALF_PIXEL:
        return (x + 0.5f) / a->scale[axis];
    case MTS_COORD_TF_CROP:
        return out > 1 ? a->roi_start[axis] * last +
                             x * (a->roi_end[axis] - a->roi_start[axis]) * last / (float)(out - 1)
                       : 0.5f * (a->roi_start[axis] + a->roi_end[axis]) * last;
    default:
        return (x + 0.5f) / a->scale[axis] - 0.5f;
    }
}

static float nearest(uint32_t round, float x)
{
    switch (round) {
    case MTS_ROUND_PREFER_CEIL:
        return floorf(x + 0.5f);
    case MTS_ROUND_FLOOR:
        return floorf(x);
    case MTS_ROUND_CEIL:
        return ceilf(x);
    default:
        return ceilf(x - 0.5f);
    }
}

static double cubic_weight(double a, double distance)
{
    const double d = fabs(distance);
    if (d <= 1.0) {
        return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
    }
    return d < 2.0 ? ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a : 0.0;
}

static taps cubic_taps(const resize *r, float x, int64_t last)
{
    taps t = {.count = 4};
    double sum = 0.0;
    for (int i = 0; i < 4; i++) {
        t.at[i] = (int64_t)floorf(x) - 1 + i;
        const bool outside = t.at[i] < 0 || t.at[i] > last;
        t.weight[i] = r->attrs->exclude_outside && outside
                          ? 0.0
                          : cubic_weight((double)r->attrs->cubic_a, (double)x - (double)t.at[i]);
        sum += t.weight[i];
    }
    for (int i = 0; i < 4 && r->attrs->exclude_outside; i++) {
        t.weight[i] /= sum;
    }
    return t;
}

static taps find_taps(const resize *r, int axis, uint32_t at)
{
    const int64_t last = r->in[axis] - 1;
    float x = coordinate(r, axis, at);
    taps t = {.count = 0};
    if (r->attrs->coord == MTS_COORD_TF_CROP && (x < 0.0f || x > (float)last)) {
        return t;
    }
    if (r->attrs->mode == MTS_RESIZE_NEAREST) {
        t = (taps){1, {(int64_t)nearest(r->attrs->round, x)}, {1.0}};
    } else if (r->attrs->mode == MTS_RESIZE_LINEAR) {
        x = x < 0.0f ? 0.0f : x > (float)last ? (float)last : x;
        const double above = (double)x - floor((double)x);
        t = (taps){2, {(int64_t)x, (int64_t)x + 1}, {1.0 - above, above}};
    } else {
        t = cubic_taps(r, x, last);
    }
    for (int i = 0; i < t.count; i++) {
        t.at[i] = t.at[i] < 0 ? 0 : t.at[i] > last ? last : t.at[i];
    }
    return t;
}

static void add_scaled(float *restrict to, const float *restrict from, float weight, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] += weight * from[i];
    }
}

/* Forwards out = sum of taps of image; backwards image += taps of out. */
static void pixel(const resize *r, const taps *rows, const taps *columns, bool back, float *image, float *out)
{
    const float start = rows->count && columns->count ? 0.0f : r->attrs->extrapolation;
    for (size_t c = 0; c < r->channels && !back; c++) {
        out[c] = start;
    }
    for (int y = 0; y < rows->count; y++) {
        for (int x = 0; x < columns->count; x++) {
            float *from = image + (size_t)(rows->at[y] * r->in[1] + columns->at[x]) * r->channels;
            const float weight = (float)(rows->weight[y] * columns->weight[x]);
            if (weight != 0.0f) {
                add_scaled(back ? from : out, back ? out : from, weight, r->channels);
            }
        }
    }
}

static void walk(const mts_step *step, bool back, float *x, float *y)
{
    const mts_attrs_resize *attrs = &step->node->attrs.resize;
    const int64_t *in = mts_run_shape(step->run, step->node->inputs[0])->dims;
    const resize r = {.attrs = attrs, .channels = (size_t)in[1], .in = {in[2], in[3]}};
    const size_t image = (size_t)(in[2] * in[3]) * r.channels;
    for (size_t n = 0; n < (size_t)in[0] * step->count; n++, x += image) {
        for (uint32_t oy = 0; oy < attrs->out[0]; oy++) {
            const taps rows = find_taps(&r, 0, oy);
            for (uint32_t ox = 0; ox < attrs->out[1]; ox++, y += r.channels) {
                const taps columns = find_taps(&r, 1, ox);
                pixel(&r, &rows, &columns, back, x, y);
            }
        }
    }
}

mts_status mts_forward_resize(const mts_step *step)
{
    walk(step, false, mts_run_view(step->run, step->node->inputs[0], step->first).data,
         mts_run_view(step->run, step->node->output, step->first).data);
    return MTS_STATUS_OK;
}

mts_status mts_backward_resize(const mts_step *step)
{
    const uint32_t input = step->node->inputs[0];
    float *gradient = mts_run_open_gradient(step->run, input, step->count);
    if (gradient) {
        walk(step, true, gradient, mts_run_view_gradient(step->run, step->node->output, 0).data);
    }
    return MTS_STATUS_OK;
}
