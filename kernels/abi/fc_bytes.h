/*
 * fc_bytes.h: the kernel parameters of fully connected layers of 8-bit numbers. A header
 * of its own because the smallest library's kernel texts do without it.
 */
#ifndef MTS_KERNELS_ABI_FC_BYTES_H
#define MTS_KERNELS_ABI_FC_BYTES_H

#include "kernels/abi/params.h"

/*
 * fc_bytes: up to MTS_FC_BYTES_ROWS rows of one image, input floats of a grid: channel c
 * at act + in + c * in_pitch. Segments are those of conv_bytes with one tap; their
 * channels are words. epilogue: as that of conv_bytes, but that res and slope are NONE and
 * floats are stored: out of row r is out + index[r] * out_pitch. Grid: (1, 1, members).
 */
#define MTS_FC_BYTES_ROWS 16
typedef struct mts_fc_bytes_params {
    mts_u32 rows, in, in_pitch, channels;
    mts_u32 segments, segment;
    mts_u32 epilogues, epilogue;
    mts_f32 inverse; /* 1 / step of the input */
    mts_f32 least;
} mts_fc_bytes_params;

#endif
