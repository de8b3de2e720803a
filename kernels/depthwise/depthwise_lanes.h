/*
 * depthwise_lanes.h: narrow planes of depthwise_rows, VEC of them at a time: the lanes of a
 * vector are channels.
 *
 * Part of depthwise_rows__f32_planar.cl, which says why and has what is used here. A device
 * without shuffles or with short vectors has none of it.
 */
#ifndef MTS_KERNELS_DEPTHWISE_LANES_H
#define MTS_KERNELS_DEPTHWISE_LANES_H
#define LANES_MOST 448 /* vectors of VEC channels' input and sums, in the first level cache */

/* clang-format off */
/* The lanes of a vector are channels: the same sums down a row of pixels. */
#define PIXEL_FMA(k, d)                                                                                      \
    if ((d) < live && tap - (d) * stride >= 0 && tap - (d) * stride < size) {                                \
        const mts_vec by = w[(k) * size + tap - (d) * stride];                                               \
        acc[((d) + turn) % ring] = mts_vec_fma(v, by, (k) == 0 && tap == (d) * stride ? bias : acc[((d) + turn) % ring]); \
    }
#define PIXEL_TAP(k)                                                                                         \
    if (k < size) {                                                                                          \
        mts_vec v = at[(k) * row];                                                                           \
        mts_vec_hold(v);                                                                                     \
        EACH_LIVE(PIXEL_FMA, k)                                                                              \
    }
#define PIXEL_FIRST(i) if ((i) < size - stride) depthwise_pixel(at++, row, w, p->bias, acc, 0, i, live, size, stride);
#define PIXEL_NEXT(k, d) if ((d) + 1 < live) acc[d] = acc[(d) + 1];
#define PIXEL(after, turn)                                                                                         \
    {                                                                                                        \
        depthwise_pixel(at++, row, w, p->bias, acc, turn, size - stride, 1 + (after), size, stride);                     \
        if (stride > 1) depthwise_pixel(at++, row, w, p->bias, acc, turn, size - 1, 1 + (after), size, stride);          \
        *out++ = mts_vec_min(p->high, mts_vec_max(p->low, acc[(turn) % live]));                                                                                          \
    }
/* clang-format on */

/* The image of VEC channels without its borders, as vectors of them. */
typedef struct depthwise_plane {
    mts_u32 rows, row; /* of taps, with what lies around the image */
    mts_u32 h;         /* rows of the image that taps meet */
} depthwise_plane;

INLINE depthwise_plane depthwise_plane_of(const depthwise_channel *p, mts_u32 size, mts_u32 stride) {
    depthwise_plane plane;
    plane.rows = (p->h - 1) * stride + size;
    plane.row = (p->w - 1) * stride + size;
    if (plane.row < p->left + p->in_w) plane.row = p->left + p->in_w;
    plane.h = plane.rows > p->top ? mts_least(plane.rows - p->top, p->in_h) : 0;
    return plane;
}

/* VEC channels' images, `pitch` apart, as one vector for each pixel, among the zeros of
   `to`. */
OUTLINE void depthwise_gather(const depthwise_channel *p, const depthwise_plane *plane, GLOBAL const mts_real *at,
                              mts_u32 pitch, mts_vec *to) {
    const mts_u32 count = plane->h > 0 ? (plane->h - 1) * p->in_row + p->in_w : 0;
    mts_u32 x = 0;
    to += p->top * plane->row + p->left;
    for (mts_u32 i = 0; i < count; i += VEC) {
        const mts_u32 some = mts_least(VEC, count - i);
        mts_vec v[VEC];
        UNROLL for (mts_u32 l = 0; l < VEC; l++) v[l] = mts_vec_load(at + l * pitch + i);
        mts_vec_transpose(v);
        for (mts_u32 l = 0; l < some; l++) {
            if (x < p->in_w) *to = v[l];
            to++;
            if (++x == p->in_row) {
                to += (int)plane->row - (int)x;
                x = 0;
            }
        }
    }
}

/* The reverse of channels index[0], index[1], .. */
OUTLINE void depthwise_scatter(const mts_vec *from, mts_u32 count, GLOBAL mts_real *out, mts_u32 pitch, mts_u32 gap,
                               GLOBAL const mts_u32 *index) {
    if (gap <= VEC) {
        for (mts_u32 l = 0; l < VEC; l++) mts_vec_store_any(out + index[l] * pitch - gap, mts_vec_splat(0.0f));
    } else {
        for (mts_u32 l = 0; l < VEC; l++) mts_zero(out + index[l] * pitch - gap, gap);
    }
    for (mts_u32 i = 0; i < count; i += VEC, from += VEC) {
        mts_vec v[VEC];
        UNROLL for (mts_u32 l = 0; l < VEC; l++) v[l] = from[l];
        mts_vec_transpose(v);
        UNROLL for (mts_u32 l = 0; l < VEC; l++) mts_vec_store_any(out + index[l] * pitch + i, v[l]);
    }
}

/* The products of a column of taps, column `tap` of the kernel for the first of `live`
   pixels. */
INLINE void depthwise_pixel(const mts_vec *at, mts_u32 row, const mts_vec *w, mts_vec bias, mts_vec *acc,
                            const int turn, const int tap, const int live, const int size, const int stride) {
    const int ring = (size - 1) / stride + 1;
    EACH_TAP(PIXEL_TAP)
}

/* `count` pixels side by side, of rows of `row` input vectors. */
INLINE void depthwise_pixels(const depthwise_channel *p, const mts_vec *w, const mts_vec *at, mts_u32 row, mts_vec *out,
                             mts_u32 count, const int size, const int stride) {
    const int live = (size - 1) / stride + 1;
    const mts_u32 last = count + 1 >= (mts_u32)live ? (mts_u32)live - 1 : 0;
    mts_vec acc[LIVE_MOST + 1];
    EACH_TAP(PIXEL_FIRST)
    mts_u32 left = count - last;
    DEPTHWISE_SLIDE(PIXEL, PIXEL_NEXT, 1)
}

/* Weights of VEC channels, one vector for each tap; `left` floats of the pool are
   theirs. */
INLINE void depthwise_weights(GLOBAL const mts_real *weight, mts_u32 left, mts_vec *w, mts_u32 taps) {
    for (mts_u32 k = 0; k < taps; k += VEC) {
        mts_vec v[VEC];
        for (mts_u32 l = 0; l < VEC; l++) {
            const mts_u32 at = l * taps + k;
            if (at + VEC <= left) {
                v[l] = mts_vec_load(weight + at);
            } else {
                float lanes[VEC];
                for (mts_u32 i = 0; i < VEC; i++) lanes[i] = at + i < left ? mts_load(weight + at + i) : 0.0f;
                v[l] = mts_vec_get(lanes);
            }
        }
        mts_vec_transpose(v);
        for (mts_u32 l = 0; l < VEC; l++)
            if (k + l < 25) w[k + l] = v[l];
    }
}

/* The sums of a plane, from t to behind it. */
INLINE void depthwise_lanes(const depthwise_channel *p, const depthwise_plane *plane, const mts_vec *w, mts_vec scale,
                            mts_vec *t, const int size, const int stride) {
    mts_vec by[25], *sum = t + plane->rows * plane->row;
    UNROLL for (int k = 0; k < size * size; k++) by[k] = mts_vec_mul(w[k], scale);
    for (mts_u32 y = 0; y < p->h; y++) {
        depthwise_pixels(p, by, t + y * (mts_u32)stride * plane->row, plane->row, sum + y * p->row, p->w, size, stride);
        for (mts_u32 x = p->w; x < p->row; x++) sum[y * p->row + x] = mts_vec_splat(0.0f);
    }
    for (mts_u32 i = p->h * p->row; i < p->room; i++) sum[i] = mts_vec_splat(0.0f);
}
#define LANES_OF(name, size, stride)                                                                         \
    OUTLINE void depthwise_lanes_##name(const depthwise_channel *p, const depthwise_plane *plane, const mts_vec *w,      \
                                        mts_vec scale, mts_vec *t) {                                         \
        const depthwise_channel own = *p;                                                                    \
        const depthwise_plane image = *plane;                                                                \
        depthwise_lanes(&own, &image, w, scale, t, size, stride);                                            \
    }
LANES_OF(3, 3, 1)
LANES_OF(3_by_2, 3, 2)
LANES_OF(5, 5, 1)
LANES_OF(5_by_2, 5, 2)

/* VEC channels from c on, but for functions that are not simple. t: zeros around the
   image, and space for it and sums. */
INLINE void depthwise_group(depthwise_channel *p, const depthwise_plane *plane, GLOBAL const mts_depthwise_rows_params *job,
                            GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params, mts_u32 c,
                            mts_vec *t) {
    GLOBAL const mts_epilogue_params *e = &job->epilogue;
    const mts_u32 taps = job->size * job->size;
    mts_vec w[25];
    depthwise_weights(pool + job->weight + c * taps, (job->channels - c) * taps, w, taps);
    const mts_vec scale = e->scale == MTS_PARAM_NONE ? mts_vec_splat(1.0f) : mts_vec_load(pool + (e->scale + c));
    p->bias = e->bias == MTS_PARAM_NONE ? mts_vec_splat(0.0f) : mts_vec_load(pool + (e->bias + c));
    depthwise_gather(p, plane, act + (job->in + c * job->in_pitch), job->in_pitch, t);
    if (job->size == 3 && job->stride == 1) {
        depthwise_lanes_3(p, plane, w, scale, t);
    } else if (job->size == 3) {
        depthwise_lanes_3_by_2(p, plane, w, scale, t);
    } else if (job->stride == 1) {
        depthwise_lanes_5(p, plane, w, scale, t);
    } else {
        depthwise_lanes_5_by_2(p, plane, w, scale, t);
    }
    depthwise_scatter(t + plane->rows * plane->row, p->room, act + e->out, e->out_pitch, e->gap, params + e->index + c);
}

/* Whether a work-item computes channels c to stop - 1 of whole planes by groups. */
INLINE int depthwise_by_groups(const depthwise_channel *p, const depthwise_plane *plane,
                               GLOBAL const mts_depthwise_rows_params *job, mts_u32 c, mts_u32 stop) {
    return p->w <= MTS_ROWS_NARROW && p->dilation == 1 && p->is_plain && job->multiplier == 1 && job->part >= job->h && c + VEC <= stop &&
           p->room <= LANES_MOST && plane->rows <= LANES_MOST && plane->row <= LANES_MOST &&
           plane->rows * plane->row + p->room + VEC <= LANES_MOST;
}

/* The last group begins among the channels of the one before rather than have fewer. */
INLINE void depthwise_groups(depthwise_channel *p, const depthwise_plane *plane, GLOBAL const mts_depthwise_rows_params *job,
                             GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params, mts_u32 c,
                             mts_u32 stop) {
    GLOBAL const mts_epilogue_params *e = &job->epilogue;
    mts_vec t[LANES_MOST];
    for (mts_u32 i = 0; i < plane->rows * plane->row; i++) t[i] = mts_vec_splat(0.0f);
    for (; c < stop; c += VEC) {
        const mts_u32 first = mts_least(c, stop - VEC);
        depthwise_group(p, plane, job, act, pool, params, first, t);
        for (mts_u32 i = first; i < first + VEC; i++) {
            const mts_u32 channel = params[e->index + i];
            p->out = act + e->out + channel * e->out_pitch;
            depthwise_behind(p, e, channel);
            depthwise_finish(p, e, 0, p->room);
        }
    }
}
#endif
