/*
 * deconv_any: transposed convolution, gathered: output (y, x) sums the inputs (iy, ix)
 * and kernel positions (ky, kx) with iy * stride + ky * dilation - top = y, likewise for
 * columns.
 *
 * A vector holds outputs `stride` columns apart: they use the same kernel columns and
 * neighbouring inputs. DECONV_ROWS output channels of a group are computed together, by
 * the work-item of the first one: an input vector is loaded once for all of them, and a
 * weight serves MTS_BLOCK vectors. With stride 2 the two phases of a row are interleaved
 * in registers before they are stored.
 *
 *     weight[c][row][tap]  x  | v 0 | v 1 | v 2 | v 3 |  inputs of channel c  =  rows x MTS_BLOCK sums of one phase
 */
#if VEC > 1
#define DECONV_ROWS 4
#else
#define DECONV_ROWS 1 /* GPUs: a work-group for each plane */
#endif
#define DECONV_PHASES 2

/* Vectors whose sums of all rows fit into registers. */
#if REGS >= 32 || VEC == 1
#define DECONV_NV MTS_BLOCK
#else
#define DECONV_NV 2
#endif

/* What the channels of a member's group share at one kernel row of an output row. */
typedef struct deconv_taps {
    GLOBAL const mts_deconv_params *r;
    GLOBAL const mts_real *weight; /* of the first row's first channel, kernel column 0 */
    mts_u32 taps, step;            /* weights from a row to the next, from an input channel to the next */
    mts_u32 channels;              /* of the input, in a group */
    mts_u32 row, bottom, end;      /* act offsets of column 0 of the first and the last channel; end of the input */
} deconv_taps;

/* n / d rounded down. */
INLINE mts_i32 deconv_floor(mts_i32 n, mts_i32 d) { return n >= 0 ? n / d : -((d - 1 - n) / d); }

/* acc += one kernel position of all channels, for `rows` rows by nv vectors that may be
 * loaded where they lie. masked: lanes outside of the image count as 0. */
INLINE void deconv_products(GLOBAL const mts_real *act, const deconv_taps *t, mts_u32 kx, mts_i32 first, int masked,
                            mts_vec acc[DECONV_ROWS][MTS_BLOCK], const int from, const int rows, const int nv) {
    GLOBAL const mts_real *weight = t->weight + kx;
    GLOBAL const mts_real *at = act + (t->row + (mts_u32)(first + from * VEC)); /* wraps where first is negative */
    const mts_u32 pitch = t->r->src.stride[3];
    mts_vec sum[DECONV_ROWS][MTS_BLOCK];
    UNROLL for (int k = 0; k < rows; k++) UNROLL for (int j = 0; j < nv; j++) sum[k][j] = mts_vec_splat(0.0f);
    for (mts_u32 c = t->channels; c; c--, at += pitch, weight += t->step) {
        mts_vec in[MTS_BLOCK];
        UNROLL for (int j = 0; j < nv; j++) in[j] = mts_vec_load(at + j * VEC);
        UNROLL for (int k = 0; k < rows; k++) {
            const mts_vec w = mts_vec_splat(mts_load(weight + (mts_u32)k * t->taps));
            UNROLL for (int j = 0; j < nv; j++) sum[k][j] = mts_vec_fma(w, in[j], sum[k][j]);
        }
    }
    if (masked) {
        UNROLL for (int j = 0; j < nv; j++) {
            const mts_vec inside =
                mts_vec_between((float)(first + (from + j) * VEC), 1.0f, 0.0f, (float)t->r->in_w);
            UNROLL for (int k = 0; k < rows; k++) sum[k][j] = mts_vec_keep(inside, sum[k][j]);
        }
    }
    UNROLL for (int k = 0; k < rows; k++) UNROLL for (int j = 0; j < nv; j++)
        acc[k][from + j] = mts_vec_add(acc[k][from + j], sum[k][j]);
}

#define DECONV_CHANNELS(mode)                                                                                \
    for (mts_u32 c = t->channels; c; c--, row += t->r->src.stride[3], weight += t->step)                     \
        sum = mts_vec_fma(mts_vec_splat(mts_load(weight)), mts_reach_load(act, &reach, row, mode), sum);

/* The same for one row and vector j, wherever its inputs lie. */
INLINE mts_vec deconv_gathered(GLOBAL const mts_real *act, const deconv_taps *t, mts_u32 kx, mts_i32 first, mts_u32 left,
                               mts_u32 k) {
    GLOBAL const mts_real *weight = t->weight + (kx + k * t->taps);
    mts_u32 row = t->row;
    const mts_reach reach = mts_reach_open(&t->r->src, first, 1, t->r->in_w, left, 0.0f, row, t->bottom, t->end);
    mts_vec sum = mts_vec_splat(0.0f);
    MTS_REACH_MODES(&reach, DECONV_CHANNELS)
    return mts_reach_close(&reach, sum);
}

/* One kernel position; first: input column of the first output, of which `left` are
   wanted. */
INLINE void deconv_tap(GLOBAL const mts_real *act, const deconv_taps *t, mts_u32 kx, mts_i32 first, mts_u32 left,
                       mts_vec acc[DECONV_ROWS][MTS_BLOCK], const int rows) {
    const mts_u32 lanes = mts_least(left, MTS_BLOCK * VEC);
    const int nv = lanes <= VEC ? 1 : MTS_BLOCK;
    const mts_i32 before = (mts_i32)(t->row - t->r->src.base) + first, after = (mts_i32)(t->end - t->bottom) - first;
    const int masked = first < 0 || first + (mts_i32)lanes > (mts_i32)t->r->in_w;
    if (VEC > 1 && t->r->src.stride[5] == 1 && before >= 0 && after >= nv * VEC) {
        if (nv == 1) {
            deconv_products(act, t, kx, first, masked, acc, 0, rows, 1);
        } else {
            for (int from = 0; from < MTS_BLOCK; from += DECONV_NV)
                deconv_products(act, t, kx, first, masked, acc, from, rows, DECONV_NV);
        }
        return;
    }
    for (mts_u32 j = 0; j < MTS_BLOCK && left > j * VEC; j++)
        for (mts_u32 k = 0; k < (mts_u32)rows; k++)
            acc[k][j] = mts_vec_add(acc[k][j], deconv_gathered(act, t, kx, first + (mts_i32)(j * VEC), left - j * VEC, k));
}

/* Outputs x, x + stride, .. of a row, `left` of them are wanted, of `rows` channels from
   that of the span on. */
INLINE void deconv_outputs(GLOBAL const mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_deconv_params *r,
                           const mts_span *s, mts_u32 x, mts_u32 left, mts_u32 end, mts_vec acc[DECONV_ROWS][MTS_BLOCK],
                           const int rows) {
    const mts_u32 outs = r->dest.dims[3] / r->group, channel = s->c[3], taps = r->window[0] * r->window[1];
    const mts_i32 high = (mts_i32)r->stride[0], wide = (mts_i32)r->stride[1];
    deconv_taps t;
    t.r = r;
    t.taps = taps;
    t.step = outs * taps;
    t.channels = r->in_channels / r->group;
    t.end = end;
    const mts_u32 first = channel / outs * t.channels;
    const mts_u32 src = mts_view_plane(&r->src, s) + (first - channel) * r->src.stride[3];
    GLOBAL const mts_real *weight = pool + r->weight + (first * outs + channel % outs) * taps;
    UNROLL for (int k = 0; k < rows; k++) {
        const mts_vec bias =
            mts_vec_splat(r->bias == MTS_PARAM_NONE ? 0.0f : mts_load(pool + (r->bias + channel + (mts_u32)k)));
        UNROLL for (int j = 0; j < MTS_BLOCK; j++) acc[k][j] = bias;
    }
    for (mts_u32 ky = 0; ky < r->window[0]; ky++) {
        const mts_i32 y = (mts_i32)s->y + r->pad[0] - (mts_i32)(ky * r->dilation[0]), iy = deconv_floor(y, high);
        if (iy * high != y || iy < 0 || iy >= (mts_i32)r->in_h) continue;
        t.weight = weight + ky * r->window[1];
        t.row = src + (mts_u32)iy * r->src.stride[4];
        t.bottom = t.row + (t.channels - 1) * r->src.stride[3];
        for (mts_u32 kx = 0; kx < r->window[1]; kx++) {
            const mts_i32 place = (mts_i32)x + r->pad[1] - (mts_i32)(kx * r->dilation[1]), ix = deconv_floor(place, wide);
            if (ix * wide == place) deconv_tap(act, &t, kx, ix, left, acc, rows);
        }
    }
    for (int k = 0; k < rows; k++) mts_block_fn(r->fn, acc[k], r->a, r->b);
}

/* A stretch of a row, of `rows` channels whose planes follow one another. */
INLINE void deconv_stretch(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_deconv_params *r,
                           const mts_span *s, mts_u32 end, const int rows) {
    const mts_u32 stride = r->stride[1], pitch = r->dest.pitch;
    mts_vec v[DECONV_PHASES][DECONV_ROWS][MTS_BLOCK];
    for (mts_u32 i = 0; i < s->n; i += MTS_BLOCK * VEC * stride)
        for (mts_u32 phase = 0; phase < stride && i + phase < s->n; phase++) {
            const mts_u32 left = (s->n - i - phase + stride - 1) / stride;
            const int paired = VEC > 1 && stride == 2 && s->n - i > 1;
            deconv_outputs(act, pool, r, s, s->x + i + phase, left, end, v[paired ? phase : 0], rows);
            if (paired && phase == 0) continue;
            for (mts_u32 k = 0; k < (mts_u32)rows; k++) {
                GLOBAL mts_real *to = act + (s->to + i + k * pitch);
#if VEC > 1
                for (mts_u32 j = 0; paired && j < MTS_BLOCK && i + 2 * j * VEC < s->n; j++) {
                    const mts_u32 rest = s->n - i - 2 * j * VEC;
                    mts_row_store(to + 2 * j * VEC, mts_vec_zip_low(v[0][k][j], v[1][k][j]), rest, 0);
                    if (rest > VEC)
                        mts_row_store(to + 2 * j * VEC + VEC, mts_vec_zip_high(v[0][k][j], v[1][k][j]), rest - VEC, 0);
                }
#endif
                for (mts_u32 j = 0; !paired && j < MTS_BLOCK * VEC && j < left; j++)
                    mts_store(to + phase + j * stride, ((const float *)v[0][k])[j]);
            }
        }
}

INLINE mts_u32 deconv_end(GLOBAL const mts_deconv_params *r) {
    const mts_u32 end = mts_view_end(&r->src, &r->dest, r->in_h, r->in_w);
    return end + (r->in_channels - r->dest.dims[3]) *
                     r->src.stride[3]; /* its channels are not those of the output */
}

KERNEL void deconv_any__f32_planar(MTS_ARGS) {
    GLOBAL const mts_deconv_params *r = MTS_MEMBER(mts_deconv_params);
    const mts_u32 item = mts_global_id(0), items = mts_global_size(0), plane = mts_global_id(1);
    const mts_u32 outs = r->dest.dims[3] / r->group, end = deconv_end(r);
    mts_span s = mts_span_of(act, &r->dest, item, items, plane);
    const mts_u32 row = s.c[3] % outs;
    /* a group's last few channels stand alone */
    const int together = outs - row / DECONV_ROWS * DECONV_ROWS >= DECONV_ROWS;
    if (plane >= mts_planes(&r->dest) || (together && row % DECONV_ROWS != 0)) return;
    for (mts_u32 k = 1; together && k < DECONV_ROWS; k++) { /* the zeros of the other planes */
        mts_span other = mts_span_of(act, &r->dest, item, items, plane + k);
        while (mts_span_next(act, &r->dest, &other)) {}
    }
    while (mts_span_next(act, &r->dest, &s)) {
        if (together) {
            deconv_stretch(act, pool, r, &s, end, DECONV_ROWS);
        } else {
            deconv_stretch(act, pool, r, &s, end, 1);
        }
    }
}
