/*
 * reduce_group: what reduce_any computes, on GPUs, where few outputs of a plane are made
 * of many elements each: the work-items of a group share them.
 *
 * Responsible for all kinds but MTS_REDUCE_LOG_SUM_EXP and positions of extremes. A group
 * takes some neighbouring outputs at once, and has a power of two of work-items:
 *
 *     work-item   = slice * wide + output
 *     wide        outputs side by side, a power of two
 *     slices      of an output's elements: every n-th one each; they meet in LOCAL memory
 */
#if VEC != 1
#error "a work-item of reduce_group loads single numbers"
#endif
#define REDUCE_GROUP 256 /* most work-items of a group */

INLINE float group_join(mts_u32 kind, float a, float b) {
    return kind == MTS_REDUCE_MAX    ? mts_most(a, b)
           : kind == MTS_REDUCE_MIN  ? mts_least(a, b)
           : kind == MTS_REDUCE_PROD ? a * b
                                     : a + b;
}

INLINE float group_start(mts_u32 kind) {
    return kind == MTS_REDUCE_MAX    ? -INFINITY
           : kind == MTS_REDUCE_MIN  ? INFINITY
           : kind == MTS_REDUCE_PROD ? 1.0f
                                     : 0.0f;
}

INLINE float group_term(mts_u32 kind, float x) {
    if (kind == MTS_REDUCE_L1) return mts_fabs(x);
    return kind >= MTS_REDUCE_L2 && kind <= MTS_REDUCE_MEAN_SQUARE ? x * x : x;
}

/* Offset of element `i` of an output. */
INLINE mts_u32 group_offset(GLOBAL const mts_reduce_params *r, mts_u32 i) {
    mts_u32 at = 0;
    for (int d = 5; d >= 0; d--) {
        const mts_u32 extent = r->extent[d];
        if (extent == 1) continue;
        at += i % extent * r->step[d];
        i /= extent;
    }
    return at;
}

/* `count` elements of an output, 0 where there is none. All work-items of the output get
   the result. */
INLINE float group_reduce(GLOBAL const mts_real *from, GLOBAL const mts_reduce_params *r, mts_u32 count,
                          LOCAL_PTR float *parts, mts_u32 lane, mts_u32 lanes, mts_u32 wide) {
    const mts_u32 kind = r->kind;
    float v = group_start(kind);
    for (mts_u32 i = lane / wide; i < count; i += lanes / wide)
        v = group_join(kind, v, group_term(kind, mts_load(from + group_offset(r, i))));
    BARRIER();
    parts[lane] = v;
    for (mts_u32 n = lanes / 2; n >= wide; n /= 2) {
        BARRIER();
        if (lane < n) parts[lane] = group_join(kind, parts[lane], parts[lane + n]);
    }
    BARRIER();
    return parts[lane & (wide - 1)];
}

INLINE float group_end(mts_u32 kind, float v, float count) {
    if (kind == MTS_REDUCE_MEAN || kind == MTS_REDUCE_MEAN_SQUARE) return v / count;
    return kind == MTS_REDUCE_L2 ? mts_sqrt(v) : kind == MTS_REDUCE_LOG_SUM ? mts_log(v) : v;
}

KERNEL void reduce_group__f32_planar(MTS_ARGS) {
    GLOBAL const mts_reduce_params *r = MTS_MEMBER(mts_reduce_params);
    LOCAL float parts[REDUCE_GROUP];
    const mts_u32 lane = mts_local_id(0), lanes = mts_local_size(0), groups = mts_global_size(0) / lanes;
    const mts_u32 height = r->dest.dims[4], width = r->dest.dims[5];
    const mts_u32 count =
        r->extent[0] * r->extent[1] * r->extent[2] * r->extent[3] * r->extent[4] * r->extent[5];
    const mts_span s = mts_span_open(act, &r->dest); /* writes the zeros after the last plane */
    const int present = mts_global_id(1) < mts_planes(&r->dest);
    mts_u32 wide = 1;
    while (wide < width && wide < lanes) wide *= 2;
    const mts_u32 across = (width + wide - 1) / wide, blocks = present ? height * across : 0;
    const mts_u32 from = mts_view_plane(&r->src, &s), to = s.plane + r->dest.gap;
    for (mts_u32 block = mts_group_id(0); block < blocks; block += groups) {
        const mts_u32 y = block / across, x = (block - y * across) * wide + (lane & (wide - 1));
        const float v = group_reduce(act + from + y * r->src.stride[4] + x * r->src.stride[5], r, x < width ? count : 0,
                                     parts, lane, lanes, wide);
        if (lane < wide && x < width) mts_store(act + to + y * r->dest.row + x, group_end(r->kind, v, (float)count));
    }
    for (mts_u32 y = mts_global_id(0); present && y < height; y += mts_global_size(0))
        mts_rows_zero(act, &r->dest, s.plane, y, 1);
}
