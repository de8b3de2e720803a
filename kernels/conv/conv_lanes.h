/*
 * conv_lanes.h: the jobs of conv_tile that put rows into lanes, in C alone: part of
 * conv_tile__f32_planar.cl.
 *
 * Maps of a few pixels leave most of a vector of pixels empty (49 of 64 lanes of 7x7, 4
 * of 16 of 2x2). Jobs with a `plane` put the rows into the lanes: a vector of weights is
 * read once for up to CONV_QUADS stretches of four pixels, whose inputs are scalar
 * broadcasts and which may lie in different images. A square of sums is then turned
 * over, so that everything behind the sums works on pixels. Not so where the output lies
 * in blocks of channels (MTS_BLOCKS_OUT): the sums of a pixel are what is stored.
 */
#ifndef MTS_KERNELS_CONV_LANES_H
#define MTS_KERNELS_CONV_LANES_H

#if defined(MTS_SOME_VECTORS) && VEC == 16
#define CONV_LANES 1
#define CONV_QUADS 7
#define EACH_QUAD(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6)

/* Offset of pixel p of the job in planes whose images lie so far apart. */
INLINE mts_u32 conv_image_at(GLOBAL const mts_conv_params *job, mts_u32 p, mts_u32 image) {
    const mts_u32 n = p / job->plane;
    return n * image + (p - n * job->plane);
}

/* clang-format off */
#define CONV_QUAD_AT(q) if (q < nq) x[q] = in + conv_image_at(job, pixel + 4 * q, job->in_image);
#define CONV_QUAD_CLEAR(q) \
    if (q < nq) acc[4 * q] = acc[4 * q + 1] = acc[4 * q + 2] = acc[4 * q + 3] = mts_vec_splat(0.0f);
#define CONV_QUAD_FMA_AT(q, i) acc[4 * q + i] = mts_vec_fma(mts_vec_splat(x[q][at + i]), w, acc[4 * q + i]);
#define CONV_QUAD_FMA(q) \
    if (q < nq) { CONV_QUAD_FMA_AT(q, 0) CONV_QUAD_FMA_AT(q, 1) CONV_QUAD_FMA_AT(q, 2) CONV_QUAD_FMA_AT(q, 3) }
#define CONV_QUAD_LOOP(load)                                                                                 \
    for (mts_u32 n = segment->count; n; n--) {                                                               \
        const mts_vec w = load;                                                                              \
        mts_fetch(wa + MTS_FETCH_STEPS * VEC, 0);                                                            \
        EACH_QUAD(CONV_QUAD_FMA)                                                                             \
        wa += rows;                                                                                          \
        at += pitch;                                                                                         \
    }
/* The input lies in blocks of VEC channels. */
#define CONV_BLOCK_FMA_AT(q, i) acc[4 * q + i] = mts_vec_fma(mts_vec_splat(from[(4 * q + i) * VEC]), w, acc[4 * q + i]);
#define CONV_BLOCK_FMA(q) \
    if (q < nq) { CONV_BLOCK_FMA_AT(q, 0) CONV_BLOCK_FMA_AT(q, 1) CONV_BLOCK_FMA_AT(q, 2) CONV_BLOCK_FMA_AT(q, 3) }
#define CONV_BLOCK_LOOP(load)                                                                                \
    for (mts_u32 n = 0; n < segment->count; n += VEC, at += VEC * pitch) {                                   \
        GLOBAL const mts_real *from = in + at;                                                               \
        for (mts_u32 c = 0; c < VEC; c++, from++) {                                                          \
            const mts_vec w = load;                                                                          \
            mts_fetch(wa + MTS_FETCH_STEPS * VEC, 0);                                                        \
            EACH_QUAD(CONV_BLOCK_FMA)                                                                        \
            wa += rows;                                                                                      \
        }                                                                                                    \
    }
#define CONV_QUAD_PUT(q) \
    if (q < nq) { v[4 * q] = acc[4 * q]; v[4 * q + 1] = acc[4 * q + 1]; v[4 * q + 2] = acc[4 * q + 2]; v[4 * q + 3] = acc[4 * q + 3]; }
/* clang-format on */

/* What ends the sums of a block of rows, and where they are stored. */
typedef struct conv_block_end {
    mts_vec scale, bias, slope, low, high;
    int simple, bends;
    GLOBAL mts_real *out;
    GLOBAL const mts_real *res; /* NULL: there is none */
} conv_block_end;

INLINE conv_block_end conv_block_end_of(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                                        GLOBAL const mts_epilogue_params *e, mts_u32 p) {
    const size_t first = params[e->index];
    conv_block_end end;
    end.scale = e->scale == MTS_PARAM_NONE ? mts_vec_splat(1.0f) : mts_vec_load(pool + e->scale);
    end.bias = e->bias == MTS_PARAM_NONE ? mts_vec_splat(0.0f) : mts_vec_load(pool + e->bias);
    end.slope = e->slope == MTS_PARAM_NONE ? mts_vec_splat(mts_fn_slope(e->fn, e->a)) : mts_vec_load(pool + e->slope);
    end.low = mts_vec_splat(mts_fn_low(e->fn, e->a, e->b));
    end.high = mts_vec_splat(mts_fn_high(e->fn, e->b));
    end.simple = mts_fn_is_simple(e->fn);
    end.bends = mts_fn_bends(e->fn);
    end.out = act + (e->out + first * e->out_pitch + (size_t)p * VEC);
    end.res = e->res == MTS_PARAM_NONE ? NULL : act + (e->res + first * e->res_pitch + (size_t)p * VEC);
    return end;
}

/* clang-format off */
#define CONV_EACH_PIXEL(q, M) if (q < nq) { M(4 * q) M(4 * q + 1) M(4 * q + 2) M(4 * q + 3) }
#define CONV_BLOCK_SCALE(i) acc[i] = mts_vec_fma(acc[i], end->scale, end->bias);
#define CONV_BLOCK_ADD(i) acc[i] = mts_vec_add(acc[i], mts_vec_load(end->res + (i) * VEC));
#define CONV_BLOCK_BEND(i) acc[i] = mts_vec_slope(acc[i], end->slope);
#define CONV_BLOCK_STORE(i) mts_vec_store(end->out + (i) * VEC, mts_vec_min(end->high, mts_vec_max(end->low, acc[i])));
#define CONV_BLOCK_SCALES(q) CONV_EACH_PIXEL(q, CONV_BLOCK_SCALE)
#define CONV_BLOCK_ADDS(q) CONV_EACH_PIXEL(q, CONV_BLOCK_ADD)
#define CONV_BLOCK_BENDS(q) CONV_EACH_PIXEL(q, CONV_BLOCK_BEND)
#define CONV_BLOCK_STORES(q) CONV_EACH_PIXEL(q, CONV_BLOCK_STORE)
/* clang-format on */

/* The sums of 4 nq pixels, a vector of rows for each: to v or, with an `end`, stored. */
INLINE void conv_quads(GLOBAL const mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                       GLOBAL const mts_conv_params *job, mts_u32 pixel, mts_vec *v, const conv_block_end *end,
                       const int nq, const int blocks) {
    GLOBAL const mts_segment_params *segment = (GLOBAL const mts_segment_params *)(params + job->segment);
    GLOBAL const mts_real *in = act + job->in + (mts_i32)params[job->tap], *x[CONV_QUADS];
    const mts_u32 rows = job->rows_a;
    const size_t pitch = job->in_pitch;
    mts_vec acc[4 * CONV_QUADS];
    if (blocks) {
        in += (size_t)pixel * VEC;
    } else {
        EACH_QUAD(CONV_QUAD_AT)
    }
    EACH_QUAD(CONV_QUAD_CLEAR)
    for (mts_u32 s = job->segments; s; s--, segment++) {
        GLOBAL const mts_real *wa = pool + segment->weight_a;
        size_t at = segment->channel * pitch;
        if (blocks && rows == VEC) {
            CONV_BLOCK_LOOP(mts_vec_load(wa))
        } else if (blocks) {
            CONV_BLOCK_LOOP(mts_vec_load_some(wa, rows))
        } else if (rows == VEC) {
            CONV_QUAD_LOOP(mts_vec_load(wa))
        } else {
            CONV_QUAD_LOOP(mts_vec_load_some(wa, rows))
        }
    }
    if (end) {
        EACH_QUAD(CONV_BLOCK_SCALES)
        if (end->res) { EACH_QUAD(CONV_BLOCK_ADDS) }
        if (end->bends) { EACH_QUAD(CONV_BLOCK_BENDS) }
        EACH_QUAD(CONV_BLOCK_STORES)
        return;
    }
    EACH_QUAD(CONV_QUAD_PUT)
}

/* The same of an input of either layout. */
OUTLINE void conv_quads_of(GLOBAL const mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                           GLOBAL const mts_conv_params *job, mts_u32 pixel, mts_vec *v, const conv_block_end *end,
                           mts_u32 quads) {
#define CONV_QUADS_OF(q)                                                                                     \
    case 2 * (q): conv_quads(act, pool, params, job, pixel, v, end, (q) + 1, 0); break;                      \
    case 2 * (q) + 1: conv_quads(act, pool, params, job, pixel, v, end, (q) + 1, 1); break;
    switch (2 * (quads - 1) + (job->blocks & MTS_BLOCKS_IN)) { EACH_QUAD(CONV_QUADS_OF) }
}

/* One epilogue of n pixels whose sums are stored as they are. */
INLINE void conv_store_block(GLOBAL const mts_epilogue_params *e, const conv_block_end *end, mts_u32 n, const mts_vec *sum) {
    for (mts_u32 i = 0; i < n; i++) {
        mts_vec v = mts_vec_fma(sum[i], end->scale, end->bias);
        if (end->res) v = mts_vec_add(v, mts_vec_load(end->res + i * VEC));
        if (end->bends) v = mts_vec_slope(v, end->slope);
        v = end->simple ? mts_vec_min(end->high, mts_vec_max(end->low, v)) : mts_vec_element(e->fn, v, e->a, e->b);
        mts_vec_store(end->out + i * VEC, v);
    }
}

/* Pixels first to end - 1 of a job whose output lies in blocks. A single epilogue of a
   simple function is done in the registers that hold the sums. */
OUTLINE void conv_lanes_to_blocks(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                                  GLOBAL const mts_conv_params *job, const mts_u32 first, const mts_u32 end) {
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    for (mts_u32 p = first; p < end;) {
        const mts_u32 left = (end - p + 3) / 4, parts = (left + CONV_QUADS - 1) / CONV_QUADS;
        const mts_u32 quads = (left + parts - 1) / parts;
        const conv_block_end alone = conv_block_end_of(act, pool, params, e, p);
        const int stores = job->epilogues == 1 && alone.simple;
        mts_vec v[2 * VEC];
        conv_quads_of(act, pool, params, job, p, v, stores ? &alone : NULL, quads);
        for (mts_u32 k = 0; k < job->epilogues && !stores; k++) {
            const conv_block_end one = conv_block_end_of(act, pool, params, e + k, p);
            conv_store_block(e + k, &one, 4 * quads, v);
        }
        p += 4 * quads;
    }
}

/* n pixels of a job, a multiple of 4 up to VEC: where every four of them lie in a plane of
   the output or residual. */
typedef struct conv_stretch {
    mts_u32 n;
    int alone; /* side by side in one image */
    mts_u32 at[VEC / 4];
} conv_stretch;

INLINE conv_stretch conv_stretch_at(GLOBAL const mts_conv_params *job, mts_u32 p, mts_u32 n, mts_u32 image) {
    conv_stretch s = {n, p % job->plane + n <= job->plane, {0}};
    for (mts_u32 i = 0; i < n; i += 4) s.at[i / 4] = conv_image_at(job, p + i, image);
    return s;
}

INLINE mts_vec conv_load_stretch(GLOBAL const mts_real *plane, const conv_stretch *s) {
    if (s->alone) return s->n == VEC ? mts_vec_load(plane + s->at[0]) : mts_vec_load_some(plane + s->at[0], s->n);
    float lanes[VEC] = {0};
    for (mts_u32 i = 0; i < s->n; i += 4) memcpy(lanes + i, plane + s->at[i / 4], 4 * sizeof *lanes);
    return mts_vec_get(lanes);
}

INLINE void conv_store_stretch(GLOBAL mts_real *plane, const conv_stretch *s, mts_vec v) {
    if (s->alone && s->n == VEC) {
        mts_vec_store(plane + s->at[0], v);
    } else if (s->alone) {
        mts_vec_store_some(plane + s->at[0], v, s->n);
    } else {
        float lanes[VEC];
        mts_vec_spill(lanes, v);
        for (mts_u32 i = 0; i < s->n; i += 4) memcpy(plane + s->at[i / 4], lanes + i, 4 * sizeof *lanes);
    }
}

/* One epilogue of a stretch, whose sums of row r are sum[r]. */
INLINE void conv_store_turned(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                              GLOBAL const mts_conv_params *job, GLOBAL const mts_epilogue_params *e, mts_u32 p, mts_u32 n,
                              const mts_vec *sum) {
    GLOBAL const mts_u32 *index = params + e->index;
    const int simple = mts_fn_is_simple(e->fn), bends = mts_fn_bends(e->fn), adds = e->res != MTS_PARAM_NONE;
    const mts_vec low = mts_vec_splat(mts_fn_low(e->fn, e->a, e->b)), high = mts_vec_splat(mts_fn_high(e->fn, e->b));
    const conv_stretch out = conv_stretch_at(job, p, n, job->out_image), res = conv_stretch_at(job, p, n, job->res_image);
    const mts_u32 rows = job->rows_a;
    const float slope = mts_fn_slope(e->fn, e->a);
    for (mts_u32 r = 0; r < rows; r++) {
        const mts_vec scale = mts_vec_splat(e->scale == MTS_PARAM_NONE ? 1.0f : mts_load(pool + (e->scale + r)));
        const mts_vec bias = mts_vec_splat(e->bias == MTS_PARAM_NONE ? 0.0f : mts_load(pool + (e->bias + r)));
        mts_vec v = mts_vec_fma(sum[r], scale, bias);
        if (adds) v = mts_vec_add(v, conv_load_stretch(act + (e->res + index[r] * e->res_pitch), &res));
        if (bends) v = mts_vec_slope(v, mts_vec_splat(e->slope == MTS_PARAM_NONE ? slope : mts_load(pool + (e->slope + r))));
        v = simple ? mts_vec_min(high, mts_vec_max(low, v)) : mts_vec_element(e->fn, v, e->a, e->b);
        conv_store_stretch(act + (e->out + index[r] * e->out_pitch), &out, v);
    }
}

INLINE void conv_lanes_zero(GLOBAL mts_real *p, mts_u32 count) {
    for (; count >= VEC; count -= VEC, p += VEC) mts_vec_store(p, mts_vec_splat(0.0f));
    if (count) mts_vec_store_some(p, mts_vec_splat(0.0f), count);
}

/* The zeros around the planes of an image: before them, and behind their pixels. */
INLINE void conv_lanes_border(GLOBAL mts_real *act, GLOBAL const mts_u32 *params, GLOBAL const mts_conv_params *job,
                              mts_u32 image, int starts, int ends) {
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    const int last = (image + 1) * job->plane == job->pixels;
    for (mts_u32 i = 0; i < job->epilogues; i++, e++) {
        const mts_u32 used = e->gap + job->plane, behind = e->out_pitch > used ? e->out_pitch - used : 0;
        for (mts_u32 r = 0; r < job->rows_a; r++) {
            const mts_u32 channel = params[e->index + r];
            GLOBAL mts_real *plane = act + (e->out + image * job->out_image + channel * e->out_pitch);
            if (starts) conv_lanes_zero(plane - e->gap, e->gap);
            if (ends) conv_lanes_zero(plane + job->plane, behind + (last && e->last == channel ? e->tail : 0));
        }
    }
}

OUTLINE void conv_lanes(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                        GLOBAL const mts_conv_params *job, const mts_u32 first, const mts_u32 end) {
    GLOBAL const mts_epilogue_params *e = (GLOBAL const mts_epilogue_params *)(params + job->epilogue);
    for (mts_u32 p = first; p < end;) {
        const mts_u32 left = (end - p + 3) / 4, parts = (left + CONV_QUADS - 1) / CONV_QUADS;
        const mts_u32 quads = (left + parts - 1) / parts;
        mts_vec v[2 * VEC];
        for (mts_u32 i = 4 * quads; i < 2 * VEC; i++) v[i] = mts_vec_splat(0.0f);
        conv_quads_of(act, pool, params, job, p, v, NULL, quads);
        for (mts_u32 i = 0; i < quads; i += VEC / 4) {
            const mts_u32 n = quads - i < VEC / 4 ? quads - i : VEC / 4;
            mts_vec_transpose(v + 4 * i);
            for (mts_u32 k = 0; k < job->epilogues; k++)
                conv_store_turned(act, pool, params, job, e + k, p + 4 * i, 4 * n, v + 4 * i);
        }
        p += 4 * quads;
    }
    for (mts_u32 image = first / job->plane; image * job->plane < end; image++)
        conv_lanes_border(act, params, job, image, image * job->plane >= first, (image + 1) * job->plane <= end);
}
#endif

#endif
