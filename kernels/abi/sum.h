/*
 * sum.h: kernel parameters of sums that are part of the launch that computes a summand.
 * Like kernels/abi/params.h it is compiled by host and kernels; unlike it, it is no part of
 * every kernel's text.
 */
#ifndef MTS_KERNELS_ABI_SUM_H
#define MTS_KERNELS_ABI_SUM_H

/* y = fn(x + other), where x is what the parameters before it say; its dest is y's. */
typedef struct mts_addend_params {
    mts_view_params other;
    mts_u32 other_pool; /* 1: its base is a pool offset (a constant) */
    mts_u32 fn;
    mts_f32 a, b;
} mts_addend_params;

/* x: a binary operator that is one of MTS_BINARIES_COMMON. */
typedef struct mts_binary_sum_params {
    mts_binary_params binary;
    mts_addend_params addend;
} mts_binary_sum_params;

/*
 * x: nearest or linear, to twice the rows and the columns: of nearest each element four
 * times, of linear with half-pixel coordinates. Columns of source and other lie side by
 * side; lane_bits is 0.
 */
typedef struct mts_resize_sum_params {
    mts_resize_params resize;
    mts_addend_params addend;
} mts_resize_sum_params;

#endif
