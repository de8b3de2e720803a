/*
 * alone.c: the element functions that no convolution ends with (MTS_FUNCTIONS_ALONE),
 * once for each instruction set.
 *
 * Drivers build a program for each of them (-DFN). Here all programs share this one,
 * which takes a vector by address. In the smallest library (MTS_SMALL) they share those
 * that convolutions end with too, but for the shortest. The build compiles it like a
 * kernel.
 */
#include "platform/cpu/kernel.h"

#define ALONE_CASE(NAME, formula)                                                                            \
    case MTS_FN_##NAME:                                                                                      \
        r = formula;                                                                                         \
        break;

void MTS_CPU_SYMBOL(mts_cpu_alone_)(mts_u32 fn, float *lanes, float a, float b)
{
    const mts_vec v = mts_vec_get(lanes);
    mts_vec r = v;
    switch (fn) {
        MTS_FUNCTIONS_ALONE(ALONE_CASE)
#ifdef MTS_CPU_FN_SHARED
        MTS_FUNCTIONS_FUSED(ALONE_CASE)
#endif
    default:
        break;
    }
    mts_vec_put(lanes, r);
}
