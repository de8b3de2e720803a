/*
 * bench_other.c: builds depthwise and fully connected launches of many tasks and checks their results.
 *
 * Responsible for their tensors, weights and records. Not responsible for timing or printing.
 */
#include "bench_other.h"

#include <math.h>
#include <stdlib.h>

/* What was made: of task 0; those of task t lie t strides later. */
static struct {
    bench_tensor in, out;
    mts_u32 in_stride, out_stride, weight, weight_stride, scale, bias, lanes;
} made;

static mts_u32 random_pool(bench_world *w, size_t count)
{
    const mts_u32 at = bench_world_pool(w, count);
    for (size_t i = 0; i < count; i++)
        w->pool[at + i] = bench_world_random(w);
    return at;
}

static mts_u32 identity(bench_world *w, int count)
{
    const mts_u32 at = bench_world_table(w, (size_t)count);
    for (int i = 0; i < count; i++)
        w->table[at + (mts_u32)i] = (mts_u32)i;
    return at;
}

static mts_epilogue_params epilogue(mts_u32 index)
{
    mts_epilogue_params e = {0};
    e.out = made.out.base;
    e.out_pitch = made.out.pitch;
    e.gap = made.out.gap;
    e.last = made.out.channels - 1;
    e.tail = made.out.tail;
    e.index = index;
    e.scale = made.scale;
    e.bias = made.bias;
    e.slope = e.res = MTS_PARAM_NONE;
    e.fn = MTS_FN_RELU;
    return e;
}

static void tensors(bench_world *w, int tasks, bench_tensor in, bench_tensor out)
{
    mts_u32 next = 0;
    for (int t = 0; t < tasks; t++) {
        const bench_tensor a = bench_tensor_make(w, in.channels, in.h, in.w, in.row, in.gap, in.tail);
        if (t == 0)
            made.in = a;
        if (t == 1)
            next = a.base;
        bench_tensor_fill(w, &a);
    }
    made.in_stride = next - made.in.base;
    for (int t = 0; t < tasks; t++) {
        const bench_tensor a = bench_tensor_make(w, out.channels, out.h, out.w, out.row, out.gap, out.tail);
        if (t == 0)
            made.out = a;
        if (t == 1)
            next = a.base;
        bench_tensor_poison(w, &a);
    }
    made.out_stride = next - made.out.base;
}

void bench_depthwise_make(bench_world *w, const bench_depthwise *l, bench_launch *launch)
{
    const mts_u32 pad = (mts_u32)l->kernel / 2, row = (mts_u32)l->w + pad, halo = pad * (row + 1);
    const mts_u32 taps = (mts_u32)(l->kernel * l->kernel), pixels = ((mts_u32)l->h * row + 15) / 16 * 16;
    const bench_tensor shape = {0, (mts_u32)l->channels, (mts_u32)l->h, (mts_u32)l->w, row, halo, halo + 16,
                                0};
    mts_depthwise_params r = {
        .channels = (mts_u32)l->channels, .multiplier = 1, .pixels = pixels, .taps = taps};
    tensors(w, l->tasks, shape, shape);
    made.weight_stride = (mts_u32)l->channels * taps;
    made.weight = random_pool(w, (size_t)l->tasks * made.weight_stride);
    made.scale = random_pool(w, (size_t)l->channels);
    made.bias = random_pool(w, (size_t)l->channels);
    r.in_pitch = made.in.pitch;
    r.tap = bench_world_table(w, taps);
    for (mts_u32 k = 0; k < taps; k++) {
        const mts_u32 y = k / (mts_u32)l->kernel, x = k % (mts_u32)l->kernel;
        w->table[r.tap + k] = (y - pad) * row + x - pad;
    }
    r.mask = bench_world_pool(w, pixels);
    for (mts_u32 p = 0; p < pixels; p++)
        w->pool[r.mask + p] = p / row < shape.h && p % row < shape.w ? 1.0f : 0.0f;
    r.epilogue = epilogue(identity(w, l->channels));
    *launch = (bench_launch){
        "depthwise_tile__f32_planar", "", 0, {1, shape.channels, (mts_u32)l->tasks}, {1, 1, 1}};
    for (int t = 0; t < l->tasks; t++) {
        r.in = made.in.base + (mts_u32)t * made.in_stride;
        r.weight = made.weight + (mts_u32)t * made.weight_stride;
        r.epilogue.out = made.out.base + (mts_u32)t * made.out_stride;
        const mts_u32 at = bench_world_record(w, &r, sizeof r);
        if (t == 0)
            launch->first = at;
    }
}

/* As the planner lays them out: no borders. */
void bench_depthwise_make_rows(bench_world *w, const bench_depthwise *l, bench_launch *launch)
{
    const mts_u32 pad = (mts_u32)l->kernel / 2, row = (mts_u32)l->w, s = (mts_u32)l->stride,
                  taps = (mts_u32)(l->kernel * l->kernel), h = (mts_u32)l->h;
    const bench_tensor out = {0, (mts_u32)l->channels, h, row, row, 0, 16, 0};
    bench_tensor in = out;
    in.h *= s;
    in.w *= s;
    in.row = in.w;
    in.tail = 2 * row + in.row + 32;
    const mts_u32 zeros = bench_world_act(w, MTS_ROW_ZEROS);
    tensors(w, l->tasks, in, out);
    made.weight_stride = (mts_u32)l->channels * taps;
    made.weight = random_pool(w, (size_t)l->tasks * made.weight_stride);
    made.scale = random_pool(w, (size_t)l->channels);
    made.bias = random_pool(w, (size_t)l->channels);
    mts_depthwise_rows_params r = {.channels = out.channels,
                                   .multiplier = 1,
                                   .each = l->w <= 8              ? 64
                                           : 8192 / (h * row) > 0 ? 8192 / (h * row)
                                                                  : 1,
                                   .in_pitch = made.in.pitch,
                                   .in_row = in.row,
                                   .in_h = in.h,
                                   .in_w = in.w,
                                   .zeros = zeros,
                                   .dilation = 1,
                                   .top = pad,
                                   .left = pad,
                                   .size = (mts_u32)l->kernel,
                                   .stride = s,
                                   .h = h,
                                   .w = out.w,
                                   .row = row,
                                   .part = h * row > 8192 && row >= 16 && h % 48 >= 4 ? 48 : h,
                                   .room = (h * row + 15) / 16 * 16,
                                   .mask = MTS_PARAM_NONE};
    r.epilogue = epilogue(identity(w, l->channels));
    *launch =
        (bench_launch){"depthwise_rows__f32_planar",
                       "",
                       0,
                       {(h + r.part - 1) / r.part, (out.channels + r.each - 1) / r.each, (mts_u32)l->tasks},
                       {1, 1, 1}};
    for (int t = 0; t < l->tasks; t++) {
        r.in = made.in.base + (mts_u32)t * made.in_stride;
        r.weight = made.weight + (mts_u32)t * made.weight_stride;
        r.epilogue.out = made.out.base + (mts_u32)t * made.out_stride;
        const mts_u32 at = bench_world_record(w, &r, sizeof r);
        if (t == 0)
            launch->first = at;
    }
}

static double difference(double got, double expected)
{
    return fabs(got - expected) / (1.0 + fabs(expected));
}

double bench_depthwise_error(const bench_world *w, const bench_depthwise *l, const float *result)
{
    const int pad = l->kernel / 2;
    double worst = 0.0;
    for (int i = 0; i < l->tasks * l->channels * l->h * l->w; i++) {
        const int x = i % l->w, y = i / l->w % l->h, c = i / l->w / l->h % l->channels,
                  t = i / l->w / l->h / l->channels;
        bench_tensor in = made.in, out = made.out;
        const float *weight =
            w->pool + made.weight + (mts_u32)t * made.weight_stride + c * l->kernel * l->kernel;
        double sum = 0.0;
        in.base += (mts_u32)t * made.in_stride;
        out.base += (mts_u32)t * made.out_stride;
        if (c + y + x == 0 && bench_tensor_dirt(result, &out))
            return INFINITY;
        for (int k = 0; k < l->kernel * l->kernel; k++)
            sum += (double)(weight[k] * bench_tensor_at(w->act, &in, c, y * l->stride + k / l->kernel - pad,
                                                        x * l->stride + k % l->kernel - pad));
        sum = sum * (double)w->pool[made.scale + (mts_u32)c] + (double)w->pool[made.bias + (mts_u32)c];
        const double d = difference((double)bench_tensor_at(result, &out, c, y, x), sum > 0.0 ? sum : 0.0);
        if (!(d <= worst))
            worst = d;
    }
    return worst;
}

double bench_depthwise_flops(const bench_depthwise *l)
{
    return 2.0 * l->tasks * l->channels * l->h * l->w * l->kernel * l->kernel;
}

double bench_depthwise_bytes(const bench_depthwise *l)
{
    const double plane = (double)l->h * l->w;
    return 4.0 * l->tasks * l->channels * (plane * (1 + l->stride * l->stride) + l->kernel * l->kernel);
}

void bench_fc_make(bench_world *w, const bench_fc *l, uint32_t vector, bench_launch *launch)
{
    const mts_u32 blocks = ((mts_u32)l->out + vector - 1) / vector, count = (mts_u32)l->in;
    const bench_tensor in = {0, 1, 1, count, count, 0, 0, 0},
                       out = {0, 1, 1, (mts_u32)l->out, (mts_u32)l->out, 0, 0, 0};
    mts_fc_params *r;
    tensors(w, l->tasks, in, out);
    made.lanes = vector;
    made.weight_stride = blocks * count * vector;
    made.weight = random_pool(w, (size_t)l->tasks * made.weight_stride);
    made.scale = random_pool(w, (size_t)l->out);
    made.bias = random_pool(w, (size_t)l->out);
    const mts_u32 index = identity(w, l->out);
    const mts_u32 first = bench_world_table(w, (size_t)l->tasks * sizeof *r / 4);
    for (int t = 0; t < l->tasks; t++) {
        const mts_segment_params s = {made.weight + (mts_u32)t * made.weight_stride, MTS_PARAM_NONE, 0,
                                      count};
        mts_epilogue_params e = epilogue(index);
        e.out = made.out.base + (mts_u32)t * made.out_stride;
        e.out_pitch = 1;
        e.fn = MTS_FN_NONE;
        const mts_u32 segment = bench_world_record(w, &s, sizeof s), at = bench_world_record(w, &e, sizeof e);
        r = (mts_fc_params *)(w->table + first) + t;
        *r = (mts_fc_params){
            (mts_u32)l->out, vector, made.in.base + (mts_u32)t * made.in_stride, 1, 1, segment, 1, at, 0};
    }
    *launch = (bench_launch){"fc_lanes__f32_planar", "", first, {blocks, 1, (mts_u32)l->tasks}, {1, 1, 1}};
}

double bench_fc_error(const bench_world *w, const bench_fc *l, const float *result)
{
    const mts_u32 lanes = made.lanes;
    double worst = 0.0;
    for (int t = 0; t < l->tasks; t++)
        for (int o = 0; o < l->out; o++) {
            const float *weight = w->pool + made.weight + (mts_u32)t * made.weight_stride +
                                  (mts_u32)o / lanes * lanes * (mts_u32)l->in + (mts_u32)o % lanes;
            const float *x = w->act + made.in.base + (mts_u32)t * made.in_stride;
            double sum = 0.0;
            for (int i = 0; i < l->in; i++)
                sum += (double)weight[(mts_u32)i * lanes] * (double)x[i];
            sum = sum * (double)w->pool[made.scale + (mts_u32)o] + (double)w->pool[made.bias + (mts_u32)o];
            const float got = result[made.out.base + (mts_u32)t * made.out_stride + (mts_u32)o];
            const double d = difference((double)got, sum);
            if (!(d <= worst))
                worst = d;
        }
    return worst;
}

double bench_fc_flops(const bench_fc *l)
{
    return 2.0 * l->tasks * l->in * l->out;
}
