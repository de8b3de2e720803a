/*
 * depthwise_rows of blocks: depthwise convolution of 3 x 3 or 5 x 5 taps and stride 1 or 2
 * of tensors whose channels lie side by side, MTS_CHANNEL_BLOCK of them.
 *
 * Responsible for convolutions with one input channel per output channel, taps side by
 * side and any padding. Grid: (1, ceil(blocks / each), members): a work-item owns whole
 * blocks. Not responsible for planes (depthwise_rows__f32_planar).
 *
 * The lanes of a vector are channels, so that nothing is shuffled and no lane is empty. A
 * row of pixels goes from left to right: a column of taps is loaded once for all the
 * output pixels that it is a part of, whose sums stay in registers.
 *
 *     input column x       tap column 2 of output pixel x - 1, which is then stored
 *                          tap column 1 of x
 *                          tap column 0 of x + 1, whose sum begins
 *
 * Pixels beside the image are read from zeros. The weights carry the scale and sums begin
 * with the bias, so that only bounds follow the products; other functions are applied to
 * what was stored.
 */
#define BLOCKS_TAPS 5 /* rows and columns of taps at most */
#define EACH_TAP(M) M(0) M(1) M(2) M(3) M(4)
#define EACH_LIVE(M, k) M(k, 0) M(k, 1) M(k, 2) M(k, 3) M(k, 4)

/* What a member's blocks have in common. */
typedef struct blocks_job {
    GLOBAL const mts_real *zeros; /* a block of them */
    mts_u32 in_h, in_w, top, left, h, w, out_pitch;
    mts_vec bias, low, high; /* of the block at hand */
} blocks_job;

/* The rows of taps of an output row: where each begins, and all bits where it lies in the
   image, so that it goes on from pixel to pixel. */
typedef struct blocks_lines {
    GLOBAL const mts_real *at[BLOCKS_TAPS];
    mts_u32 moves[BLOCKS_TAPS];
} blocks_lines;

/* clang-format off */
/* The sum of pixel d is acc[(d + turn) % ring]. */
#define BLOCKS_FMA(k, d)                                                                                     \
    if ((d) < live && tap - (d) * stride >= 0 && tap - (d) * stride < size)                                  \
        acc[((d) + turn) % ring] = mts_vec_fma(v, w[(k) * size + tap - (d) * stride],                        \
                                               (k) == 0 && tap == (d) * stride ? p->bias : acc[((d) + turn) % ring]);
#define BLOCKS_TAP(k)                                                                                        \
    if ((k) < size) {                                                                                        \
        mts_vec v = mts_vec_load(inside ? lines->at[k] + (offset & lines->moves[k]) : p->zeros);             \
        mts_vec_hold(v);                                                                                     \
        EACH_LIVE(BLOCKS_FMA, k)                                                                             \
    }
#define BLOCKS_FIRST(i) if ((i) < size - stride) blocks_column(p, lines, x++, w, acc, 0, i, live, size, stride);
#define BLOCKS_MOVE(k, d) if ((d) + 1 < live) acc[d] = acc[(d) + 1];
/* An output pixel, and the next ones as far as `after` of them go. */
#define BLOCKS_PIXEL(after, turn)                                                                            \
    {                                                                                                        \
        blocks_column(p, lines, x++, w, acc, turn, size - stride, 1 + (after), size, stride);                \
        if (stride > 1) blocks_column(p, lines, x++, w, acc, turn, size - 1, 1 + (after), size, stride);     \
        mts_vec_store(out, mts_vec_min(p->high, mts_vec_max(p->low, acc[(turn) % live])));                   \
        out += MTS_CHANNEL_BLOCK;                                                                            \
    }
/* clang-format on */

/* The products of input column x, column `tap` of the taps for the first of `live`
   pixels. */
INLINE void blocks_column(const blocks_job *p, const blocks_lines *lines, mts_u32 x, const mts_vec *w, mts_vec *acc,
                          const int turn, const int tap, const int live, const int size, const int stride) {
    const int ring = (size - 1) / stride + 1;
    const int inside = x < p->in_w;
    const mts_u32 offset = x * MTS_CHANNEL_BLOCK;
    EACH_TAP(BLOCKS_TAP)
}

/* An output row. Sums take turns on registers with 3 taps, else they move up. Behind the
   last pixels none begins. */
INLINE void blocks_row(const blocks_job *p, const blocks_lines *lines, const mts_vec *w, GLOBAL mts_real *out,
                       const int size, const int stride) {
    const int live = (size - 1) / stride + 1;
    mts_vec acc[BLOCKS_TAPS + 1]; /* the last one is never used */
    const mts_u32 last = p->w + 1 >= (mts_u32)live ? (mts_u32)live - 1 : 0;
    mts_u32 x = 0u - p->left, left = p->w - last;
    EACH_TAP(BLOCKS_FIRST)
    if (size == 3) {
        for (; left >= (mts_u32)live; left -= (mts_u32)live) {
            BLOCKS_PIXEL(live - 1, 0)
            BLOCKS_PIXEL(live - 1, 1)
            if (live > 2) BLOCKS_PIXEL(live - 1, 2)
        }
    }
    for (; left > 0; left--) {
        BLOCKS_PIXEL(live - 1, 0)
        EACH_LIVE(BLOCKS_MOVE, 0)
    }
    if (last > 0) {
        if (live > 4) BLOCKS_PIXEL(3, live - 5)
        if (live > 3) BLOCKS_PIXEL(2, live - 4)
        if (live > 2) BLOCKS_PIXEL(1, live - 3)
        BLOCKS_PIXEL(0, live - 2)
    }
}

/* VEC channels of a block, from where in, out and weight point. */
INLINE void blocks_plane(const blocks_job *shared, GLOBAL const mts_real *in, GLOBAL mts_real *out,
                         GLOBAL const mts_real *weight, mts_vec scale, const int size, const int stride) {
    const blocks_job own = *shared;
    const blocks_job *p = &own;
    mts_vec w[BLOCKS_TAPS * BLOCKS_TAPS];
    blocks_lines lines;
    UNROLL for (int k = 0; k < size * size; k++) w[k] = mts_vec_mul(mts_vec_load(weight + k * (int)MTS_CHANNEL_BLOCK), scale);
    for (mts_u32 y = 0; y < p->h; y++) {
        for (int k = 0; k < size; k++) {
            const mts_u32 row = y * (mts_u32)stride + (mts_u32)k - p->top; /* above the image: more than its rows */
            const int inside = row < p->in_h;
            lines.at[k] = inside ? in + row * p->in_w * MTS_CHANNEL_BLOCK : p->zeros;
            lines.moves[k] = inside ? ~0u : 0u;
        }
        blocks_row(p, &lines, w, out + y * p->w * MTS_CHANNEL_BLOCK, size, stride);
    }
}
#define BLOCKS_OF(name, size, stride)                                                                        \
    OUTLINE void blocks_plane_##name(const blocks_job *p, GLOBAL const mts_real *in, GLOBAL mts_real *out,   \
                                     GLOBAL const mts_real *weight, mts_vec scale) {                         \
        blocks_plane(p, in, out, weight, scale, size, stride);                                               \
    }
BLOCKS_OF(3, 3, 1)
BLOCKS_OF(3_by_2, 3, 2)
BLOCKS_OF(5, 5, 1)
BLOCKS_OF(5_by_2, 5, 2)

/* Applies a function that is more than bounds, in place, and clears what lies behind the
   pixels. */
INLINE void blocks_finish(const blocks_job *p, GLOBAL const mts_epilogue_params *e, GLOBAL mts_real *out, mts_vec slope) {
    const mts_u32 pixels = p->h * p->w;
    const int simple = mts_fn_is_simple(e->fn);
    for (mts_u32 i = 0; i < pixels && (!simple || mts_fn_bends(e->fn)); i++) {
        GLOBAL mts_real *at = out + i * MTS_CHANNEL_BLOCK;
        mts_vec v = mts_vec_load(at);
        v = simple ? mts_vec_min(p->high, mts_vec_max(p->low, mts_vec_slope(v, slope))) : mts_vec_element(e->fn, v, e->a, e->b);
        mts_vec_store(at, v);
    }
    for (mts_u32 i = pixels; i < p->out_pitch; i++) mts_vec_store(out + i * MTS_CHANNEL_BLOCK, mts_vec_splat(0.0f));
}

/* VEC channels from c on, at lane c % MTS_CHANNEL_BLOCK of their block. */
INLINE void blocks_lanes(blocks_job *p, GLOBAL const mts_depthwise_blocks_params *job, GLOBAL mts_real *act,
                         GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params, mts_u32 c) {
    GLOBAL const mts_epilogue_params *e = &job->epilogue;
    const mts_u32 lane = c % MTS_CHANNEL_BLOCK;
    const int plain = mts_fn_is_simple(e->fn) && !mts_fn_bends(e->fn);
    GLOBAL const mts_real *in = act + (job->in + (c - lane) * job->in_pitch + lane);
    GLOBAL mts_real *out = act + (e->out + (c - lane) * e->out_pitch + lane);
    GLOBAL const mts_real *weight = pool + (params[job->weight + c / MTS_CHANNEL_BLOCK] + lane);
    const mts_vec scale = e->scale == MTS_PARAM_NONE ? mts_vec_splat(1.0f) : mts_vec_load(pool + (e->scale + c));
    const mts_vec slope =
        e->slope == MTS_PARAM_NONE ? mts_vec_splat(mts_fn_slope(e->fn, e->a)) : mts_vec_load(pool + (e->slope + c));
    p->bias = e->bias == MTS_PARAM_NONE ? mts_vec_splat(0.0f) : mts_vec_load(pool + (e->bias + c));
    p->low = mts_vec_splat(plain ? mts_fn_low(e->fn, e->a, e->b) : -INFINITY);
    p->high = mts_vec_splat(plain ? mts_fn_high(e->fn, e->b) : INFINITY);
    if (job->size == 3 && job->stride == 1) {
        blocks_plane_3(p, in, out, weight, scale);
    } else if (job->size == 3) {
        blocks_plane_3_by_2(p, in, out, weight, scale);
    } else if (job->stride == 1) {
        blocks_plane_5(p, in, out, weight, scale);
    } else {
        blocks_plane_5_by_2(p, in, out, weight, scale);
    }
    p->low = mts_vec_splat(mts_fn_low(e->fn, e->a, e->b));
    p->high = mts_vec_splat(mts_fn_high(e->fn, e->b));
    blocks_finish(p, e, out, slope);
}

KERNEL void depthwise_rows__f32_blocks(MTS_ARGS) {
    GLOBAL const mts_depthwise_blocks_params *job =
        (GLOBAL const mts_depthwise_blocks_params *)(params + first) + mts_global_id(2);
    const mts_u32 begin = mts_global_id(1) * job->each, end = mts_least(job->blocks, begin + job->each);
    blocks_job p;
    p.zeros = act + job->zeros;
    p.in_h = job->in_h;
    p.in_w = job->in_w;
    p.top = job->top;
    p.left = job->left;
    p.h = job->h;
    p.w = job->w;
    p.out_pitch = job->epilogue.out_pitch;
    if (mts_global_id(0) > 0) return;
    for (mts_u32 c = begin * MTS_CHANNEL_BLOCK; c < end * MTS_CHANNEL_BLOCK; c += VEC)
        blocks_lanes(&p, job, act, pool, params, c);
}
