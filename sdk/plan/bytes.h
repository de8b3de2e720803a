/*
 * bytes.h: which values of a stitched program hold 8-bit numbers, and which convolutions
 * can be computed with them (kernels/abi/bytes.h).
 *
 * Quantised activations are real numbers in a graph: multiples of a step, which the
 * function QUANT8 of the node that computes them states, or a SCALE of an input of 8
 * bits. Operators that only move elements pass them on. Pure.
 */
#ifndef MTS_PLAN_BYTES_H
#define MTS_PLAN_BYTES_H

#include "stitch/stitch.h"

/* All elements are step * k, k a whole number in least .. least + 255. step 0: not
   known. */
typedef struct mts_grid {
    float step, least;
} mts_grid;

/* Fills grids[value_count]. */
void mts_bytes_grids(const mts_stitched *stitched, mts_grid *grids);
/* Whether a member is a convolution of 8-bit numbers that conv_bytes computes: int8
 * weights, or float16 ones that two bytes add up to (codes of uint8 less their zero
 * point), an input of known grid, dense or with one filter for each channel, sums that
 * fit int32. */
bool mts_bytes_accepts(const mts_stitched *stitched, const mts_member *member, const mts_grid *grids);
/* Whether such a convolution reads every other column of codes where they lie
 * (mts_bytes_rows). Others with a stride read phases: a vector holds one row, which dense
 * ones of few columns hardly fill. */
bool mts_bytes_by_rows(const mts_stitched *stitched, const mts_member *member);
/* Whether it can store its result as codes: QUANT8 ends it, and its rows are output
   channels in order. */
bool mts_bytes_stores(const mts_stitched *stitched, const mts_member *member);

/* Whether an operator that is no convolution can be computed with codes: element-wise
 * ones and SCALE whose operands and result are grids of rank 4, maximum pools, and zeros
 * behind channels. */
bool mts_bytes_maps(const mts_stitched *stitched, const mts_member *member, const mts_grid *grids);

/* Whether a member is the mean of each plane of an input of known grid, rank 4 as its
 * result: mean_bytes computes it of codes, and stores floats. */
bool mts_bytes_averages(const mts_stitched *stitched, const mts_member *member, const mts_grid *grids);

#endif
