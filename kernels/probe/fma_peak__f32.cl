/*
 * fma_peak: the multiply-add peak of a device, measured through the same path as every
 * other kernel.
 *
 * Responsible for a number to compare kernels with: each work-item runs CHAINS
 * independent chains of multiply-adds on vectors, `rounds` long: 2 * VEC * CHAINS *
 * rounds floating-point operations. Not responsible for timing.
 *
 * Kernel parameters at params[first]: rounds. Writes one vector per work-item to act.
 */
#ifndef CHAINS
#define CHAINS 16 /* more than latency x ports of the device */
#endif

KERNEL void fma_peak__f32(MTS_ARGS) {
    const mts_u32 item = mts_global_id(0);
    const mts_u32 rounds = params[first];
    const mts_vec a = mts_vec_splat(mts_load(pool)), b = mts_vec_splat(mts_load(pool + 1));
    mts_vec chain[CHAINS];
    UNROLL for (int i = 0; i < CHAINS; i++) chain[i] = mts_vec_splat((float)(item + i));
    for (mts_u32 n = 0; n < rounds; n++) {
        UNROLL for (int i = 0; i < CHAINS; i++) chain[i] = mts_vec_fma(chain[i], a, b);
    }
    mts_vec sum = chain[0];
    UNROLL for (int i = 1; i < CHAINS; i++) sum = mts_vec_add(sum, chain[i]);
    mts_vec_store(act + item * VEC, sum);
}
