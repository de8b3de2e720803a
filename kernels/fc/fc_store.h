/*
 * fc_store.h: what follows the sums of a row block whose channels lie side by side: the
 * steps of fc_store, a vector at a time. Only the dialect in C has it, so that the texts
 * for OpenCL and CUDA stay small.
 */
#ifndef MTS_KERNELS_FC_STORE_H
#define MTS_KERNELS_FC_STORE_H

#if VEC > 1
/* Whether the VEC outputs of a block follow one another, without zeros around them. */
INLINE int fc_is_line(GLOBAL const mts_u32 *index, GLOBAL const mts_epilogue_params *e, mts_u32 count) {
    const mts_u32 first = index[0];
    mts_u32 other = 0;
    if (count < VEC || e->out_pitch != 1 || e->gap || (e->res != MTS_PARAM_NONE && e->res_pitch != 1)) return 0;
    for (mts_u32 i = 0; i < VEC; i++) other |= (index[i] - first) ^ i;
    return other == 0;
}

INLINE void fc_store_block(GLOBAL mts_real *act, GLOBAL const mts_real *pool, GLOBAL const mts_u32 *params,
                           GLOBAL const mts_epilogue_params *e, mts_u32 row, mts_u32 count, const float *sum) {
    GLOBAL const mts_u32 *index = params + e->index + row;
    if (!fc_is_line(index, e, count)) {
        fc_store(act, pool, params, e, row, count, sum);
        return;
    }
    const mts_u32 first = index[0];
    mts_vec v = mts_vec_get(sum);
    if (e->scale != MTS_PARAM_NONE) v = mts_vec_mul(v, mts_vec_load(pool + (e->scale + row)));
    mts_vec_hold(v); /* rounded, as fc_store rounds it */
    if (e->bias != MTS_PARAM_NONE) v = mts_vec_add(v, mts_vec_load(pool + (e->bias + row)));
    if (e->res != MTS_PARAM_NONE) v = mts_vec_add(v, mts_vec_load(act + (e->res + first)));
    if (e->fn == MTS_FN_PRELU) {
        v = mts_vec_slope(v, mts_vec_load(pool + (e->slope + row)));
    } else if (e->fn != MTS_FN_NONE) {
        v = mts_vec_element(e->fn, v, e->a, e->b);
    }
    mts_vec_store(act + e->out + first, v);
}
#define fc_store fc_store_block
#endif

#endif
