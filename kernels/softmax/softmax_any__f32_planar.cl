/*
 * softmax_any: exp(x - max) / sum of it along one axis, or its logarithm x - max -
 * log(sum).
 *
 * On a CPU a work-item takes whole rows along columns, as many as the grid leaves it.
 * Memory holds the exponentials between the sum and the division, so that each is
 * computed once; in float16 they would lose digits there and are computed again. Along
 * another axis the stretch at coordinate 0 computes and writes the line of each of its
 * columns, so that neighbouring lanes read neighbouring floats; stretches at the other
 * coordinates have nothing to do.
 *
 * On a GPU (VEC 1) a work-group takes some neighbouring lines at once:
 *
 *     work-item   = slice * wide + line
 *     wide        lines side by side (1 along columns), a power of two
 *     slices      of a line: every n-th element each; they meet in LOCAL memory
 *
 * A group has a power of two of work-items.
 */
#include "kernels/softmax/softmax_meet.h"

/* exp(x - most) over the sum, or the logarithm of that. `scale`: 1 / sum, or log(sum). */
INLINE mts_vec softmax_value(mts_vec x, mts_vec most, mts_vec scale, mts_u32 log) {
    const mts_vec v = mts_vec_sub(x, most);
    return log ? mts_vec_sub(v, scale) : mts_vec_mul(mts_vec_exp(v), scale);
}

#if VEC == 1

/* One line for each of `wide` work-items; step, along: from one element to the next.
   length: 0 where there is no line. */
INLINE void softmax_lines(GLOBAL mts_real *to, GLOBAL const mts_real *from, mts_u32 step, mts_u32 along, mts_u32 length,
                          mts_u32 logs, LOCAL_PTR float *parts, mts_u32 lane, mts_u32 lanes, mts_u32 wide) {
    const mts_u32 first = lane / wide, slices = lanes / wide;
    float most = -INFINITY, sum = 0.0f;
    for (mts_u32 i = first; i < length; i += slices) {
        const float x = mts_load(from + i * step);
        most = mts_most(x, most);
    }
    most = softmax_meet(parts, most, lane, lanes, wide, 0);
    for (mts_u32 i = first; i < length; i += slices) sum += mts_exp(mts_load(from + i * step) - most);
    sum = softmax_meet(parts, sum, lane, lanes, wide, 1);
    const float scale = logs ? mts_log(sum) : 1.0f / sum;
    for (mts_u32 i = first; i < length; i += slices)
        mts_store(to + i * along, softmax_value(mts_load(from + i * step), most, scale, logs));
}

#else

/* Vectors that are combined side by side, so that one does not wait for another. */
#define SOFTMAX_BLOCK 4

INLINE float softmax_most(GLOBAL const mts_real *p, const mts_i32 step, mts_u32 length) {
    const mts_vec first = mts_row_load(p, step, length, 0);
    mts_vec most[SOFTMAX_BLOCK];
    mts_u32 i = 0;
    UNROLL for (int b = 0; b < SOFTMAX_BLOCK; b++) most[b] = first;
    for (; i + SOFTMAX_BLOCK * VEC <= length; i += SOFTMAX_BLOCK * VEC)
        UNROLL for (int b = 0; b < SOFTMAX_BLOCK; b++)
            most[b] = mts_vec_max(most[b], mts_row_load(p + (mts_i32)(i + b * VEC) * step, step, VEC, 0));
    for (; i < length; i += VEC)
        most[0] = mts_vec_max(most[0], mts_row_load(p + (mts_i32)i * step, step, length - i, 0));
    return mts_vec_most(mts_vec_max(mts_vec_max(most[0], most[1]), mts_vec_max(most[2], most[3])));
}

/* Stores the exponentials where they will be wanted. */
INLINE mts_vec softmax_exp(GLOBAL mts_real *to, mts_vec x, mts_vec most, mts_u32 left, mts_u32 log) {
    const mts_vec v = mts_vec_exp(mts_vec_sub(x, most));
    if (!HALF && !log) mts_row_store(to, v, left, 0);
    return v;
}

INLINE float softmax_sum(GLOBAL mts_real *to, GLOBAL const mts_real *p, const mts_i32 step, mts_u32 length,
                         mts_vec most, mts_u32 log) {
    mts_vec sum[SOFTMAX_BLOCK];
    mts_u32 i = 0;
    UNROLL for (int b = 0; b < SOFTMAX_BLOCK; b++) sum[b] = mts_vec_splat(0.0f);
    for (; i + SOFTMAX_BLOCK * VEC <= length; i += SOFTMAX_BLOCK * VEC)
        UNROLL for (int b = 0; b < SOFTMAX_BLOCK; b++) {
            const mts_u32 at = i + b * VEC;
            const mts_vec x = mts_row_load(p + (mts_i32)at * step, step, VEC, 0);
            sum[b] = mts_vec_add(sum[b], softmax_exp(to + at, x, most, VEC, log));
        }
    for (; i < length; i += VEC) {
        const mts_vec x = mts_row_load(p + (mts_i32)i * step, step, length - i, 0);
        mts_vec v = softmax_exp(to + i, x, most, length - i, log);
        for (mts_u32 k = length - i; k < VEC; k++) ((float *)&v)[k] = 0.0f;
        sum[0] = mts_vec_add(sum[0], v);
    }
    return mts_vec_sum(mts_vec_add(mts_vec_add(sum[0], sum[1]), mts_vec_add(sum[2], sum[3])));
}

/* `rows` rows of at most VEC columns, at most VEC of them: a lane is a row. Sums as
   softmax_row does. */
INLINE void softmax_short_rows(GLOBAL mts_real *to, GLOBAL const mts_real *p, GLOBAL const mts_softmax_params *r,
                               mts_u32 rows) {
    const mts_u32 step = r->src.stride[5];
    const mts_i32 down = (mts_i32)r->src.stride[4];
    mts_vec x[VEC], most = mts_row_load(p, down, rows, 0), sum = mts_vec_splat(0.0f);
    for (mts_u32 k = 0; k < r->length; k++) {
        x[k] = mts_row_load(p + k * step, down, rows, 0);
        most = mts_vec_max(most, x[k]);
    }
    for (mts_u32 k = 0; k < r->length; k++) {
        const mts_vec v = mts_vec_sub(x[k], most), e = mts_vec_exp(v);
        sum = mts_vec_add(sum, e);
        x[k] = r->log ? v : e;
    }
    const mts_vec scale = r->log ? mts_vec_log(sum) : mts_vec_div(mts_vec_splat(1.0f), sum);
    for (mts_u32 k = 0; k < r->length; k++)
        mts_row_scatter(to + k, (mts_i32)r->dest.row, r->log ? mts_vec_sub(x[k], scale) : mts_vec_mul(x[k], scale),
                        rows);
}

INLINE void softmax_row(GLOBAL mts_real *to, GLOBAL const mts_real *row, GLOBAL const mts_softmax_params *r,
                        const mts_i32 step) {
    const mts_vec most = mts_vec_splat(softmax_most(row, step, r->length));
    const mts_vec sum = mts_vec_splat(softmax_sum(to, row, step, r->length, most, r->log));
    const mts_vec scale = r->log ? mts_vec_log(sum) : mts_vec_div(mts_vec_splat(1.0f), sum);
    for (mts_u32 i = 0; i < r->length; i += VEC) {
        const mts_u32 left = r->length - i;
        mts_vec v;
        if (HALF || r->log) {
            v = softmax_value(mts_row_load(row + (mts_i32)i * step, step, left, 0), most, scale, r->log);
        } else {
            v = mts_vec_mul(mts_row_load(to + i, 1, left, 0), scale);
        }
        mts_row_store(to + i, v, left, 0);
    }
}

INLINE void softmax_line(GLOBAL mts_real *act, GLOBAL const mts_softmax_params *r, mts_u32 from, mts_u32 to,
                         mts_u32 along, mts_u32 left) {
    const mts_i32 step = (mts_i32)r->src.stride[5];
    GLOBAL const mts_real *p = act + from;
    const mts_u32 stride = r->src.stride[r->axis];
    mts_vec most = mts_row_load(p, step, left, 0), total = mts_vec_splat(0.0f);
    for (mts_u32 k = 1; k < r->length; k++)
        most = mts_vec_max(most, mts_row_load(p + k * stride, step, left, 0));
    for (mts_u32 k = 0; k < r->length; k++) {
        const mts_vec v = mts_vec_exp(mts_vec_sub(mts_row_load(p + k * stride, step, left, 0), most));
        if (!HALF && !r->log) mts_row_store(act + to + k * along, v, left, 0);
        total = mts_vec_add(total, v);
    }
    const mts_vec scale = r->log ? mts_vec_log(total) : mts_vec_div(mts_vec_splat(1.0f), total);
    for (mts_u32 k = 0; k < r->length; k++) {
        GLOBAL mts_real *const at = act + to + k * along;
        mts_vec v;
        if (HALF || r->log) {
            v = softmax_value(mts_row_load(p + k * stride, step, left, 0), most, scale, r->log);
        } else {
            v = mts_vec_mul(mts_row_load(at, 1, left, 0), scale);
        }
        mts_row_store(at, v, left, 0);
    }
}

#endif

/* Floats from one coordinate of `axis` to the next in the output. */
INLINE mts_u32 softmax_along(GLOBAL const mts_dest_params *d, mts_u32 axis) {
    mts_u32 along = axis == 4 ? d->row : d->pitch;
    for (mts_u32 i = 3; i > axis && i < 4; i--) along *= d->dims[i];
    return along;
}

#if VEC == 1
KERNEL void softmax_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_softmax_params *r = MTS_MEMBER(mts_softmax_params);
    LOCAL float parts[SOFTMAX_GROUP];
    const mts_u32 lane = mts_local_id(0), lanes = mts_local_size(0), groups = mts_global_size(0) / lanes;
    const mts_u32 axis = r->axis, height = r->dest.dims[4], width = r->dest.dims[5];
    const mts_span s = mts_span_open(act, &r->dest); /* writes the zeros after the last plane */
    const int present = mts_global_id(1) < mts_planes(&r->dest);
    const int begins = axis > 3 || (axis == 3 ? s.c[3] : axis == 2 ? s.c[2] : axis == 1 ? s.c[1] : s.c[0]) == 0;
    const mts_u32 along = axis == 5 ? 1 : softmax_along(&r->dest, axis), step = r->src.stride[axis];
    const mts_u32 columns = axis == 5 ? 1 : width, rows = axis == 4 ? 1 : height;
    mts_u32 wide = 1;
    while (wide < columns && wide < lanes) wide *= 2;
    const mts_u32 across = (columns + wide - 1) / wide, blocks = present && begins ? rows * across : 0;
    const mts_u32 from = mts_view_plane(&r->src, &s), to = s.plane + r->dest.gap;
    for (mts_u32 block = mts_group_id(0); block < blocks; block += groups) {
        const mts_u32 y = block / across, x = (block - y * across) * wide + (lane & (wide - 1));
        softmax_lines(act + to + y * r->dest.row + x, act + from + y * r->src.stride[4] + x * r->src.stride[5], step, along,
                      x < columns ? r->length : 0, r->log, parts, lane, lanes, wide);
    }
    for (mts_u32 y = mts_global_id(0); present && y < height; y += mts_global_size(0))
        mts_rows_zero(act, &r->dest, s.plane, y, 1);
}
#else
KERNEL void softmax_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_softmax_params *r = MTS_MEMBER(mts_softmax_params);
    mts_span s = mts_span_open(act, &r->dest);
    if (r->axis == 5) {
        const mts_u32 rows = mts_global_id(1) < mts_planes(&r->dest) ? r->dest.dims[4] : 0;
        GLOBAL const mts_real *src = act + mts_view_plane(&r->src, &s);
        GLOBAL mts_real *dest = act + s.plane + r->dest.gap;
        const mts_u32 chunk = (rows + mts_global_size(0) - 1) / mts_global_size(0);
        const mts_u32 end = mts_least((mts_global_id(0) + 1) * chunk, rows);
        mts_u32 each = r->length <= VEC ? VEC : 1; /* rows at once */
        for (mts_u32 y = mts_global_id(0) * chunk; y < end; y += each) {
            GLOBAL const mts_real *const row = src + y * r->src.stride[4];
            each = mts_least(each, end - y);
            if (r->length <= VEC) {
                softmax_short_rows(dest + y * r->dest.row, row, r, each);
            } else if (r->src.stride[5] == 1) {
                softmax_row(dest + y * r->dest.row, row, r, 1);
            } else {
                softmax_row(dest + y * r->dest.row, row, r, (mts_i32)r->src.stride[5]);
            }
            mts_rows_zero(act, &r->dest, s.plane, y, each);
        }
        return;
    }
    const mts_u32 along = softmax_along(&r->dest, r->axis);
    while (mts_span_next(act, &r->dest, &s)) {
        if ((r->axis == 4 ? s.y : s.c[r->axis & 3]) == 0) {
            const mts_u32 from = mts_view_at(&r->src, &s);
            for (mts_u32 i = 0; i < s.n; i += VEC)
                softmax_line(act, r, from + i * r->src.stride[5], s.to + i, along, s.n - i);
        }
    }
}
#endif
