/*
 * pixels.h: a region of a frame as the pixels of an input, in plain C. The reference
 * backend and the calibration of libmtsz both use it, so that methods see the numbers
 * that a session computes. Pure.
 */
#ifndef MTS_PLATFORM_REFERENCE_PIXELS_H
#define MTS_PLATFORM_REFERENCE_PIXELS_H

#include "device/kernel.h"

typedef struct mts_reference_pixels {
    /* mts_frame_params.out counts from here. */
    float *image;
    uint64_t elements;
    /* mts_frame_params.plane counts from here. */
    const unsigned char *frame;
    uint64_t frame_bytes;
} mts_reference_pixels;

/* Follows the definition of mts_frame_params. NULL: done; else the reason why the
 * parameters are wrong; then nothing was written. */
const char *mts_reference_pixels_write(const mts_reference_pixels *to, const mts_frame_params *params);

#endif
