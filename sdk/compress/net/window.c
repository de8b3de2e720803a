/*
 * window.c: pooling and local response normalisation, forwards and backwards. Channels
 * are the innermost loop.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "compress/net/inside.h"
#include "kernels/abi/kinds.h"

/* ---- pool ---- */

/* Taps first .. end - 1 of a window that starts at `start` lie in the image; tap k at
 * start + k * dilation.
 */
typedef struct tap_range {
    int64_t start, first, end;
} tap_range;

typedef struct pool {
    const mts_attrs_pool *attrs;
    size_t channels;
    int64_t in[2], out[2];
} pool;

static tap_range taps_inside(int64_t start, int64_t taps, int64_t dilation, int64_t low, int64_t high)
{
    tap_range range = {.start = start,
                       .first = start < low ? (low - start + dilation - 1) / dilation : 0,
                       .end = start < high ? (high - 1 - start) / dilation + 1 : 0};
    range.end = range.end < taps ? range.end : taps;
    range.first = range.first < range.end ? range.first : range.end;
    return range;
}

static tap_range pool_range(const pool *p, int axis, int64_t at)
{
    const mts_attrs_pool *a = p->attrs;
    return taps_inside(at * a->stride[axis] - a->pad[axis], a->kernel[axis], a->dilation[axis], 0,
                       p->in[axis]);
}

/* What an average divides by: taps in the image, or in the padded one. */
static float pool_share(const pool *p, int64_t y, int64_t x)
{
    const mts_attrs_pool *a = p->attrs;
    const int64_t at[2] = {y, x};
    int64_t count = 1;
    for (int i = 0; i < 2; i++) {
        const int64_t low = a->include_pad ? -(int64_t)a->pad[i] : 0;
        const int64_t high = p->in[i] + (a->include_pad ? a->pad[i + 2] : 0);
        const tap_range taps =
            taps_inside(at[i] * a->stride[i] - a->pad[i], a->kernel[i], a->dilation[i], low, high);
        count *= taps.end - taps.first;
    }
    return count > 0 ? 1.0f / (float)count : 0.0f;
}

static size_t tap_offset(const pool *p, const tap_range *rows, const tap_range *columns, int64_t ky,
                         int64_t kx)
{
    const int64_t y = rows->start + ky * p->attrs->dilation[0];
    const int64_t x = columns->start + kx * p->attrs->dilation[1];
    return (size_t)(y * p->in[1] + x) * p->channels;
}

static void take_most(float *restrict y, const float *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        y[i] = x[i] > y[i] ? x[i] : y[i];
    }
}

static void take_sum(float *restrict y, const float *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        y[i] += x[i];
    }
}

static void pool_pixel(const pool *p, const float *image, int64_t oy, int64_t ox, float *out)
{
    const tap_range rows = pool_range(p, 0, oy), columns = pool_range(p, 1, ox);
    const bool most = p->attrs->kind == MTS_POOL_MAX;
    for (size_t c = 0; c < p->channels; c++) {
        out[c] = most ? -FLT_MAX : 0.0f;
    }
    for (int64_t ky = rows.first; ky < rows.end; ky++) {
        for (int64_t kx = columns.first; kx < columns.end; kx++) {
            (most ? take_most : take_sum)(out, image + tap_offset(p, &rows, &columns, ky, kx), p->channels);
        }
    }
    const float share = most ? 1.0f : pool_share(p, oy, ox);
    for (size_t c = 0; c < p->channels && !most; c++) {
        out[c] *= share;
    }
}

static pool pool_of(const mts_step *step)
{
    const int64_t *in = mts_run_shape(step->run, step->node->inputs[0])->dims;
    const int64_t *out = mts_run_shape(step->run, step->node->output)->dims;
    return (pool){.attrs = &step->node->attrs.pool,
                  .channels = (size_t)in[1],
                  .in = {in[2], in[3]},
                  .out = {out[2], out[3]}};
}

static size_t images_of(const mts_step *step)
{
    return (size_t)mts_run_shape(step->run, step->node->output)->dims[0] * step->count;
}

mts_status mts_forward_pool(const mts_step *step)
{
    const pool p = pool_of(step);
    const size_t in = (size_t)(p.in[0] * p.in[1]) * p.channels;
    const float *x = mts_run_view(step->run, step->node->inputs[0], step->first).data;
    float *y = mts_run_view(step->run, step->node->output, step->first).data;
    for (size_t n = 0; n < images_of(step); n++, x += in) {
        for (int64_t oy = 0; oy < p.out[0]; oy++) {
            for (int64_t ox = 0; ox < p.out[1]; ox++, y += p.channels) {
                pool_pixel(&p, x, oy, ox, y);
            }
        }
    }
    return MTS_STATUS_OK;
}

/* The gradient of a maximum goes to the first tap that has it. */
static void give_most(const pool *p, const float *image, const tap_range *rows, const tap_range *columns,
                      const float *y, const float *d, float *gradient)
{
    for (size_t c = 0; c < p->channels; c++) {
        bool given = false;
        for (int64_t ky = rows->first; ky < rows->end && !given; ky++) {
            for (int64_t kx = columns->first; kx < columns->end && !given; kx++) {
                const size_t at = tap_offset(p, rows, columns, ky, kx) + c;
                given = image[at] == y[c];
                gradient[at] += given ? d[c] : 0.0f;
            }
        }
    }
}

static void give_share(const pool *p, const tap_range *rows, const tap_range *columns, float share,
                       const float *d, float *gradient)
{
    for (int64_t ky = rows->first; ky < rows->end; ky++) {
        for (int64_t kx = columns->first; kx < columns->end; kx++) {
            float *to = gradient + tap_offset(p, rows, columns, ky, kx);
            for (size_t c = 0; c < p->channels; c++) {
                to[c] += share * d[c];
            }
        }
    }
}

mts_status mts_backward_pool(const mts_step *step)
{
    const uint32_t input = step->node->inputs[0];
    float *gradient = mts_run_open_gradient(step->run, input, step->count);
    if (!gradient) {
        return MTS_STATUS_OK;
    }
    const pool p = pool_of(step);
    const size_t in = (size_t)(p.in[0] * p.in[1]) * p.channels;
    const float *x = mts_run_view(step->run, input, 0).data;
    const float *y = mts_run_view(step->run, step->node->output, 0).data;
    const float *d = mts_run_view_gradient(step->run, step->node->output, 0).data;
    for (size_t n = 0; n < images_of(step); n++, x += in, gradient += in) {
        for (int64_t o = 0; o < p.out[0] * p.out[1]; o++, y += p.channels, d += p.channels) {
            const tap_range rows = pool_range(&p, 0, o / p.out[1]);
            const tap_range columns = pool_range(&p, 1, o % p.out[1]);
            if (p.attrs->kind == MTS_POOL_MAX) {
                give_most(&p, x, &rows, &columns, y, d, gradient);
            } else {
                give_share(&p, &rows, &columns, pool_share(&p, o / p.out[1], o % p.out[1]), d, gradient);
            }
        }
    }
    return MTS_STATUS_OK;
}

/* ---- lrn ---- */

/* What a channel is divided by, before the power. */
static double lrn_base(const mts_attrs_lrn *attrs, const float *x, int64_t c, int64_t channels)
{
    const tap_range near = taps_inside(c - (attrs->size - 1) / 2, attrs->size, 1, 0, channels);
    double sum = 0.0;
    for (int64_t k = near.start + near.first; k < near.start + near.end; k++) {
        sum += (double)x[k] * (double)x[k];
    }
    return (double)attrs->bias + (double)attrs->alpha / attrs->size * sum;
}

static void lrn_pixel(const mts_attrs_lrn *attrs, const float *x, float *y, int64_t channels)
{
    for (int64_t c = 0; c < channels; c++) {
        y[c] = (float)((double)x[c] / pow(lrn_base(attrs, x, c, channels), (double)attrs->beta));
    }
}

mts_status mts_forward_lrn(const mts_step *step)
{
    const int64_t *dims = mts_run_shape(step->run, step->node->output)->dims;
    const float *x = mts_run_view(step->run, step->node->inputs[0], step->first).data;
    float *y = mts_run_view(step->run, step->node->output, step->first).data;
    const size_t pixels = images_of(step) * (size_t)(dims[2] * dims[3]);
    for (size_t i = 0; i < pixels; i++) {
        lrn_pixel(&step->node->attrs.lrn, x + i * (size_t)dims[1], y + i * (size_t)dims[1], dims[1]);
    }
    return MTS_STATUS_OK;
}

/* y = x / base^beta, where the base holds the squares of the channels near by. */
static void lrn_pixel_back(const mts_attrs_lrn *attrs, const float *x, const float *d, float *gradient,
                           int64_t channels)
{
    const double factor = 2.0 * (double)attrs->alpha / attrs->size * (double)attrs->beta;
    for (int64_t c = 0; c < channels; c++) {
        const tap_range near = taps_inside(c - (attrs->size - 1) / 2, attrs->size, 1, 0, channels);
        const double base = lrn_base(attrs, x, c, channels);
        const double divisor = pow(base, (double)attrs->beta);
        const double share = factor * (double)d[c] * (double)x[c] / (divisor * base);
        gradient[c] += (float)((double)d[c] / divisor);
        for (int64_t k = near.start + near.first; k < near.start + near.end; k++) {
            gradient[k] -= (float)(share * (double)x[k]);
        }
    }
}

mts_status mts_backward_lrn(const mts_step *step)
{
    const uint32_t input = step->node->inputs[0];
    float *gradient = mts_run_open_gradient(step->run, input, step->count);
    if (!gradient) {
        return MTS_STATUS_OK;
    }
    const int64_t *dims = mts_run_shape(step->run, input)->dims;
    const float *x = mts_run_view(step->run, input, 0).data;
    const float *d = mts_run_view_gradient(step->run, step->node->output, 0).data;
    const size_t channels = (size_t)dims[1], pixels = images_of(step) * (size_t)(dims[2] * dims[3]);
    for (size_t i = 0; i < pixels; i++) {
        lrn_pixel_back(&step->node->attrs.lrn, x + i * channels, d + i * channels, gradient + i * channels,
                       dims[1]);
    }
    return MTS_STATUS_OK;
}
