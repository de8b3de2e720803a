/*
 * depthwise_tile: depthwise convolution of many tasks in one launch, a grid instead of a
 * tile list.
 *
 * Responsible for convolutions with one input channel per output channel, of any kernel
 * size, dilation and (through phases) stride. Grid: (x, channels, members); the
 * work-items along x share the plane's vectors: item i of n owns the vectors i, i + n, i
 * + 2 n, ... NV at a time, so n = 1 is right for a small plane on a CPU and n =
 * ceil(pixels / VEC / NV) for a large one or a GPU. Channels beyond a member's own do
 * nothing. Not responsible for dense convolutions.
 *
 * Tunables: NV. TAPS: fixed number of kernel positions, 0 if it varies.
 */
#ifdef PERSIST /* the convolutions have others before */
#undef NV
#endif
#ifndef NV
#define NV 4 /* 1 to 8 */
#endif
#ifndef TAPS
#define TAPS 0 /* 0, 9, 25 */
#endif

#define DEPTHWISE_EACH(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)

/* clang-format off */
#define DEPTHWISE_CLEAR(j) if (j < nv) v[j] = mts_vec_splat(0.0f);
#define DEPTHWISE_FMA(j) if (j < nv) v[j] = mts_vec_fma(mts_vec_load(at + j * step), w, v[j]);
#define DEPTHWISE_SCALE(j) if (j < nv) v[j] = mts_vec_fma(v[j], scale, bias);
#define DEPTHWISE_RES(j) if (j < nv) v[j] = mts_vec_add(v[j], mts_vec_load(res + j * step));
#define DEPTHWISE_SIMPLE(j) if (j < nv) v[j] = mts_vec_min(high, mts_vec_max(low, mts_vec_slope(v[j], negative)));
#define DEPTHWISE_MASK(j) if (j < nv) v[j] = mts_vec_keep(mts_vec_load(mask + j * step), v[j]);
#define DEPTHWISE_STORE(j) if (j < nv) mts_vec_store(out + j * step, v[j]);
/* clang-format on */

/* nv vectors from `pixel` on of channel c. Functions that are not simple are left to
   depthwise_tile_finish. */
INLINE void depthwise_tile_vectors(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                              GLOBAL const mts_depthwise_params *job, mts_u32 c, mts_u32 pixel, mts_u32 step,
                              const int nv) {
    GLOBAL const mts_epilogue_params *e = &job->epilogue;
    GLOBAL const mts_i32 *tap = (GLOBAL const mts_i32 *)(params + job->tap);
    GLOBAL const mts_real *x = act + job->in + c / job->multiplier * job->in_pitch + pixel;
    GLOBAL const mts_real *weight = pool + job->weight + c * job->taps;
    GLOBAL mts_real *out = act + e->out + params[e->index + c] * e->out_pitch + pixel;
    const mts_u32 taps = TAPS ? TAPS : job->taps;
    const mts_vec scale = mts_vec_splat(e->scale == MTS_PARAM_NONE ? 1.0f : mts_load(pool + (e->scale + c)));
    const mts_vec bias = mts_vec_splat(e->bias == MTS_PARAM_NONE ? 0.0f : mts_load(pool + (e->bias + c)));
    const mts_vec negative =
        mts_vec_splat(e->slope == MTS_PARAM_NONE ? mts_fn_slope(e->fn, e->a) : mts_load(pool + (e->slope + c)));
    const mts_vec low = mts_vec_splat(mts_fn_low(e->fn, e->a, e->b)), high = mts_vec_splat(mts_fn_high(e->fn, e->b));
    mts_vec v[8];

    DEPTHWISE_EACH(DEPTHWISE_CLEAR)
    for (mts_u32 k = 0; k < taps; k++) {
        GLOBAL const mts_real *at = x + tap[k];
        const mts_vec w = mts_vec_splat(mts_load(weight + k));
        DEPTHWISE_EACH(DEPTHWISE_FMA)
    }
    DEPTHWISE_EACH(DEPTHWISE_SCALE)
    if (e->res != MTS_PARAM_NONE) {
        GLOBAL const mts_real *res = act + e->res + params[e->index + c] * e->res_pitch + pixel;
        DEPTHWISE_EACH(DEPTHWISE_RES)
    }
    DEPTHWISE_EACH(DEPTHWISE_SIMPLE)
    if (job->mask != MTS_PARAM_NONE) {
        GLOBAL const mts_real *mask = pool + job->mask + pixel;
        DEPTHWISE_EACH(DEPTHWISE_MASK)
    }
    DEPTHWISE_EACH(DEPTHWISE_STORE)
}

/* Applies a function that is not simple, in place: to what was stored, which HALF has
   rounded. */
INLINE void depthwise_tile_finish(GLOBAL mts_real *out, GLOBAL const mts_real *pool, GLOBAL const mts_depthwise_params *job,
                             mts_u32 pixel, mts_u32 step) {
    GLOBAL const mts_epilogue_params *e = &job->epilogue;
    if (mts_fn_is_simple(e->fn)) return;
    for (; pixel < job->pixels; pixel += step) {
        const mts_vec x = mts_vec_load(out + pixel);
        mts_vec v = mts_vec_element(e->fn, x, e->a, e->b);
        if (job->mask != MTS_PARAM_NONE) v = mts_vec_keep(mts_vec_load(pool + job->mask + pixel), v);
        mts_vec_store(out + pixel, v);
    }
}

/* The zeros around the plane; each of the `count` work-items along x writes its share. */
INLINE void depthwise_tile_border(GLOBAL mts_real *plane, GLOBAL const mts_depthwise_params *job, mts_u32 channel, mts_u32 id,
                             mts_u32 count) {
    GLOBAL const mts_epilogue_params *e = &job->epilogue;
    mts_u32 plane_end = job->pixels;
    if (e->gap + job->pixels < e->out_pitch) plane_end = e->out_pitch - e->gap;
    if (e->last == channel) plane_end += e->tail;
    for (mts_u32 i = id; i < e->gap; i += count) mts_store(plane - e->gap + i, 0.0f);
    for (mts_u32 i = job->pixels + id; i < plane_end; i += count) mts_store(plane + i, 0.0f);
}

KERNEL void depthwise_tile__f32_planar(MTS_ARGS) {
    GLOBAL const mts_depthwise_params *job =
        (GLOBAL const mts_depthwise_params *)(params + first) + mts_global_id(2);
    const mts_u32 c = mts_global_id(1), step = mts_global_size(0) * VEC;
    mts_u32 pixel = mts_global_id(0) * VEC;
    if (c >= job->channels) return;
    const mts_u32 channel = params[job->epilogue.index + c];
    GLOBAL mts_real *plane = act + job->epilogue.out + channel * job->epilogue.out_pitch;

    for (; pixel + (NV - 1) * step < job->pixels; pixel += NV * step)
        depthwise_tile_vectors(act, pool, params, job, c, pixel, step, NV);
    for (; pixel < job->pixels; pixel += step) depthwise_tile_vectors(act, pool, params, job, c, pixel, step, 1);
    depthwise_tile_finish(plane, pool, job, mts_global_id(0) * VEC, step);
    depthwise_tile_border(plane, job, channel, mts_global_id(0), mts_global_size(0));
}
