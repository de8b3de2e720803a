/*
 * epilogue.h: what the kernels with weights do with a row of sums: mts_epilogue_params.
 */
#ifndef MTS_PLATFORM_REFERENCE_EPILOGUE_H
#define MTS_PLATFORM_REFERENCE_EPILOGUE_H

#include "platform/reference/reference.h"

/* Stores `count` sums of a row from pixel `first` on. mask: pool offset of the first
 * pixel's mask, or NONE.
 */
void mts_reference_store_row(const mts_reference_call *call, const mts_epilogue_params *e, uint32_t row,
                             uint32_t first, uint32_t count, uint32_t mask, const double *sums);
/* Offset of a channel's pixel in a tensor of blocks of channels (mts_conv_params). */
uint64_t mts_reference_block(uint32_t pitch, uint32_t channel, uint32_t pixel);
/* mts_reference_store_row into a channel of blocks, without a mask. */
void mts_reference_store_lane(const mts_reference_call *call, const mts_epilogue_params *e, uint32_t row,
                              uint32_t channel, uint32_t first, uint32_t count, const double *sums);
/* The zeros before the plane of a row where its pixels start, and behind it where they
   end. */
void mts_reference_store_border(const mts_reference_call *call, const mts_epilogue_params *e, uint32_t row,
                                uint32_t pixels, bool starts, bool ends);
/* NULL, or why an epilogue of `rows` rows cannot be run. */
const char *mts_reference_check_epilogue(const mts_reference_call *call, const mts_epilogue_params *e,
                                         uint32_t rows, uint32_t pixels);

/* Scale, bias and function of a row's sum, to which `residual` is added. */
float mts_reference_end(const mts_reference_call *call, const mts_epilogue_params *e, uint32_t row, double sum,
                        float residual);

#endif
