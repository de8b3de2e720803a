/*
 * space_to_depth_any: splits an image into the sy * sx phases of a strided convolution,
 * so that each tap of it is a constant pixel offset. See mts_space_to_depth_params;
 * unlike the other kernels it has no mts_dest_params: a work-item owns a run of positions
 * of some channels, in all of their phases.
 */

/* Where a row of the phases comes from. */
typedef struct phase_span {
    mts_source row; /* of the image; not read if it lies outside */
    int inside;     /* the image has this row */
    mts_i32 x;      /* image column of the first position in phase 0, may be outside */
    mts_u32 to;     /* act offset of the first position in phase 0 */
    mts_i32 n;      /* positions */
} phase_span;

/* First position whose column in phase px is at least `column`. */
INLINE mts_i32 phase_position(const phase_span *s, mts_i32 step, mts_i32 px, mts_i32 column)
{
    const mts_i32 ahead = column - s->x - px;
    return ahead <= 0 ? 0 : mts_least((ahead + step - 1) / step, s->n);
}

/* One phase of a row. */
INLINE void phase_one(GLOBAL mts_real *act, GLOBAL const mts_space_to_depth_params *r, const phase_span *s, mts_i32 px)
{
    const mts_i32 step = (mts_i32)r->sx, width = (mts_i32)r->in_w, wide = (mts_i32)r->src_column;
    const mts_i32 from = s->inside ? phase_position(s, step, px, 0) : s->n;
    const mts_i32 end = s->inside ? mts_most(from, phase_position(s, step, px, width)) : s->n;
    GLOBAL mts_real *to = act + s->to + (mts_u32)px * r->pitch;
    for (mts_i32 i = 0; i < from; i++)
        mts_store(to + i, 0.0f);
    for (mts_i32 i = end; i < s->n; i++)
        mts_store(to + i, 0.0f);
    for (mts_i32 i = from; i < end; i += VEC) {
        const mts_i32 column = s->x + px + i * step;
        const mts_u32 left = (mts_u32)(end - i);
        const mts_source from_column = mts_source_by(s->row, column * wide);
        const mts_u32 room = (mts_u32)((width - 1 - column) * wide + 1);
        mts_row_store(to + i, mts_source_row(from_column, step * wide, left, room), left, 0);
    }
}

#if VEC > 1
/* Both phases of stride 2 at once: every float of the image is loaded once. The last
 * vector laps over the one before. */
INLINE void phase_pair(GLOBAL mts_real *act, GLOBAL const mts_space_to_depth_params *r, const phase_span *s)
{
    const mts_i32 from = phase_position(s, 2, 0, 0), wide = (mts_i32)r->src_column;
    const mts_i32 end = mts_most(from, phase_position(s, 2, 1, (mts_i32)r->in_w));
    GLOBAL mts_real *even = act + s->to, *odd = even + r->pitch;
    for (mts_i32 i = 0; i < s->n; i++) {
        if (i == from)
            i = end;
        if (i == s->n)
            break;
        const mts_i32 column = s->x + 2 * i;
        float a = 0.0f, b = 0.0f;
        if (column >= 0 && column < (mts_i32)r->in_w)
            a = mts_source_load(s->row, column * wide);
        if (column + 1 >= 0 && column + 1 < (mts_i32)r->in_w)
            b = mts_source_load(s->row, (column + 1) * wide);
        mts_store(even + i, a);
        mts_store(odd + i, b);
    }
    for (mts_i32 i = from; i < end; i += VEC) {
        const mts_i32 at = mts_least(i, end - VEC);
        const mts_i32 column = s->x + 2 * at;
        const mts_vec a = mts_source_row(mts_source_by(s->row, column * wide), wide, VEC, VEC);
        const mts_vec b = mts_source_row(mts_source_by(s->row, (column + VEC) * wide), wide, VEC, VEC);
        mts_vec_store_any(even + at, mts_vec_even(a, b));
        mts_vec_store_any(odd + at, mts_vec_odd(a, b));
    }
}

/* Whether the pair has a vector of positions that lie inside in both phases. */
INLINE int phase_pairs(GLOBAL const mts_space_to_depth_params *r, const phase_span *s)
{
    return r->sx == 2 && s->inside &&
           phase_position(s, 2, 1, (mts_i32)r->in_w) - phase_position(s, 2, 0, 0) >= VEC;
}

/* The columns of phase px that the image has, 1 or 0. */
INLINE mts_vec phase_columns(GLOBAL const mts_space_to_depth_params *r, mts_i32 px)
{
    return mts_vec_between((float)(px - r->left), 2.0f, 0.0f, (float)r->in_w);
}

/*
 * A whole channel whose rows are shorter than a vector, stride 2: a row is one load of
 * what lies there, the next row included, without what the image does not have. A store
 * runs into the next row, which is written later, and ends with the plane. Rows that
 * could not be loaded so are left: the number of rows that are done is returned.
 */
INLINE mts_u32 phase_narrow(GLOBAL mts_real *act, mts_source base, GLOBAL const mts_space_to_depth_params *r,
                            mts_u32 channel)
{
    const mts_vec first = phase_columns(r, 0), second = phase_columns(r, 1), zero = mts_vec_splat(0.0f);
    const mts_i32 stop = (mts_i32)(r->src + r->channels * r->src_pitch);
    const mts_i32 src = (mts_i32)(r->src + channel * r->src_pitch) - r->left;
    mts_u32 y = 0;
    for (; y < r->rows; y++) {
        const mts_u32 left = r->pitch - y * r->row;
        for (mts_u32 py = 0; py < r->sy; py++) {
            GLOBAL mts_real *to = act + r->out + (channel * r->sy + py) * 2 * r->pitch + y * r->row;
            const mts_i32 in_y = (mts_i32)(y * r->sy + py) - r->top, at = src + in_y * (mts_i32)r->src_row;
            mts_vec a = zero, b = zero;
            if (in_y >= 0 && in_y < (mts_i32)r->in_h) {
                if (at < 0 || at + 2 * VEC > stop)
                    return y;
                a = mts_source_vec(base, at);
                b = mts_source_vec(base, at + VEC);
            }
            mts_row_store(to, mts_vec_keep(first, mts_vec_even(a, b)), left, 0);
            mts_row_store(to + r->pitch, mts_vec_keep(second, mts_vec_odd(a, b)), left, 0);
        }
    }
    return y;
}

/* Positions of a direction, from *first on, where phase p lies inside of `size` pixels;
   returns the one after the last. */
INLINE mts_u32 phase_inside(mts_i32 before, mts_i32 p, mts_i32 step, mts_i32 size, mts_u32 most, mts_u32 *first)
{
    const mts_i32 low = before - p, high = size - 1 + low;
    *first = low > 0 ? (mts_u32)((low + step - 1) / step) : 0;
    return high < 0 ? 0 : mts_least(most, (mts_u32)(high / step) + 1);
}

/* Planes of so few pixels that each is moved alone: where they go is found once for all
   channels from `channel` up to `stop`. */
#define PHASE_FEW 24
INLINE void phase_few(GLOBAL mts_real *act, mts_source base, GLOBAL const mts_space_to_depth_params *r, mts_u32 channel,
                      mts_u32 stop)
{
    const mts_u32 phases = r->sy * r->sx;
    for (mts_u32 p = 0; p < phases; p++) {
        const mts_i32 py = (mts_i32)(p / r->sx), px = (mts_i32)(p - (mts_u32)py * r->sx);
        mts_u32 top, left;
        const mts_u32 bottom = phase_inside(r->top, py, (mts_i32)r->sy, (mts_i32)r->in_h, r->rows, &top);
        const mts_u32 right = phase_inside(r->left, px, (mts_i32)r->sx, (mts_i32)r->in_w, r->row, &left);
        for (mts_u32 c = channel; c < stop; c++) {
            GLOBAL mts_real *to = act + r->out + (c * phases + p) * r->pitch;
            const mts_source src = mts_source_at(base, r->src + c * r->src_pitch);
            for (mts_u32 i = 0; i < r->pitch; i += VEC)
                mts_row_store(to + i, mts_vec_splat(0.0f), r->pitch - i, 0);
            for (mts_u32 y = top; y < bottom; y++) {
                const mts_i32 row = ((mts_i32)(y * r->sy) + py - r->top) * (mts_i32)r->src_row;
                mts_i32 x = ((mts_i32)(left * r->sx) + px - r->left) * (mts_i32)r->src_column;
                for (mts_u32 i = left; i < right; i++, x += (mts_i32)(r->sx * r->src_column))
                    mts_store(to + y * r->row + i, mts_source_load(src, row + x));
            }
        }
    }
}
#else
#define phase_pair(act, r, s)
#define phase_pairs(r, s) 0
#endif

/* All of a channel's positions from the at-th on, up to the end-th. */
INLINE void phase_channel(GLOBAL mts_real *act, mts_source base, GLOBAL const mts_space_to_depth_params *r, mts_u32 channel,
                          mts_u32 at, mts_u32 end)
{
    const mts_source src = mts_source_at(base, r->src + channel * r->src_pitch);
#if VEC > 1
    if (r->sx == 2 && r->src_column == 1 && r->row <= VEC && at == 0 && end == r->pitch)
        at = phase_narrow(act, base, r, channel) * r->row;
#endif
    while (at < end) {
        const mts_u32 y = at / r->row, x = at - y * r->row;
        const mts_u32 n = y < r->rows ? mts_least(end - at, r->row - x) : end - at;
        for (mts_u32 py = 0; py < r->sy; py++) {
            const mts_i32 in_y = (mts_i32)(y * r->sy + py) - r->top;
            phase_span s;
            s.inside = y < r->rows && in_y >= 0 && in_y < (mts_i32)r->in_h;
            s.row = mts_source_by(src, in_y * (mts_i32)r->src_row);
            s.x = (mts_i32)(x * r->sx) - r->left;
            s.to = r->out + (channel * r->sy + py) * r->sx * r->pitch + at;
            s.n = (mts_i32)n;
            if (phase_pairs(r, &s)) {
                phase_pair(act, r, &s);
            } else {
                for (mts_u32 px = 0; px < r->sx; px++)
                    phase_one(act, r, &s, (mts_i32)px);
            }
        }
        at += n;
    }
}

KERNEL void space_to_depth_any__f32_planar(MTS_ARGS)
{
    GLOBAL const mts_space_to_depth_params *r = MTS_MEMBER(mts_space_to_depth_params);
    const mts_u32 channel = mts_global_id(1) * r->each, stop = mts_least(channel + r->each, r->channels);
    const mts_u32 run = mts_run(r->pitch), at = mts_global_id(0) * run, end = mts_least(at + run, r->pitch);
    const mts_source base = mts_source_open(act, pool, r->src_pool);
#if VEC > 1
    if (at == 0 && end == r->pitch && r->in_h * r->in_w <= PHASE_FEW) {
        phase_few(act, base, r, channel, stop);
        return;
    }
#endif
    for (mts_u32 c = channel; c < stop; c++)
        phase_channel(act, base, r, c, at, end);
}
