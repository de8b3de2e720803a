/*
 * softmax_packed: what softmax_any computes, along channels that lie side by side in packs of
 * four (mts_softmax_packed_params). The result lies in packs or in planes.
 *
 * A work-group takes some neighbouring pixels at once, a work-item a pack of one of them in a
 * load:
 *
 *     work-item   = slice * wide + pixel
 *     wide        pixels side by side, a power of two
 *     slices      of a pixel's packs: every n-th one each; they meet in LOCAL memory
 *
 * Lanes beyond the last channel count for nothing, and are stored as 0. Built with VEC=4; a
 * group has a power of two of work-items.
 */
#if VEC != 4
#error "a pack has four lanes: -DVEC=4"
#endif
#include "kernels/softmax/softmax_meet.h"

/* 1 for the lanes of pack k that are channels. */
INLINE mts_vec softmax_inside(mts_u32 k, mts_u32 channels) {
    return mts_vec_between((float)(4 * k), 1.0f, 0.0f, (float)channels);
}

/* A pack, whose other lanes are -infinity. */
INLINE mts_vec softmax_pack(GLOBAL const mts_real *from, mts_u32 k, GLOBAL const mts_softmax_packed_params *r) {
    return mts_vec_select(softmax_inside(k, r->channels), mts_vec_load(from + 4 * k * r->in_pitch),
                          mts_vec_splat(-INFINITY));
}

INLINE void softmax_put(GLOBAL mts_real *to, mts_u32 k, GLOBAL const mts_softmax_packed_params *r, mts_vec v) {
    if (r->packs) {
        mts_vec_store(to + 4 * k * r->out_pitch, mts_vec_keep(softmax_inside(k, r->channels), v));
        return;
    }
    UNROLL for (mts_u32 i = 0; i < 4; i++)
        if (4 * k + i < r->channels) mts_store(to + (4 * k + i) * r->out_pitch, ((const float *)&v)[i]);
}

KERNEL void softmax_packed__f32_lanes(MTS_ARGS) {
    GLOBAL const mts_softmax_packed_params *r = MTS_MEMBER(mts_softmax_packed_params);
    LOCAL float parts[SOFTMAX_GROUP];
    const mts_u32 lane = mts_local_id(0), lanes = mts_local_size(0), groups = mts_global_size(0) / lanes;
    const mts_u32 wide = mts_least(r->wide, lanes), slice = lane / wide, slices = lanes / wide;
    const mts_u32 image = mts_global_id(1), blocks = image < r->images ? (r->pixels + wide - 1) / wide : 0;
    for (mts_u32 block = mts_group_id(0); block < blocks; block += groups) {
        const mts_u32 pixel = block * wide + (lane & (wide - 1));
        const mts_u32 packs = pixel < r->pixels ? (r->channels + 3) / 4 : 0;
        GLOBAL const mts_real *from = act + (r->in + image * r->in_image + 4 * pixel);
        GLOBAL mts_real *to = act + (r->out + image * r->out_image + (r->packs ? 4 * pixel : pixel));
        mts_vec all = mts_vec_splat(-INFINITY), sums = mts_vec_splat(0.0f);
        for (mts_u32 k = slice; k < packs; k += slices) all = mts_vec_max(softmax_pack(from, k, r), all);
        const float largest = softmax_meet(parts, mts_vec_most(all), lane, lanes, wide, 0);
        const mts_vec most = mts_vec_splat(largest);
        for (mts_u32 k = slice; k < packs; k += slices)
            sums = mts_vec_add(sums, mts_vec_exp(mts_vec_sub(softmax_pack(from, k, r), most)));
        const float sum = softmax_meet(parts, mts_vec_sum(sums), lane, lanes, wide, 1);
        const mts_vec scale = mts_vec_splat(r->log ? mts_log(sum) : 1.0f / sum);
        for (mts_u32 k = slice; k < packs; k += slices) {
            const mts_vec v = mts_vec_sub(softmax_pack(from, k, r), most);
            softmax_put(to, k, r, r->log ? mts_vec_sub(v, scale) : mts_vec_mul(mts_vec_exp(v), scale));
        }
    }
}
