/*
 * frames.h: what a camera of Android says about a picture, as a frame of the library:
 * planes, crop, which way up. Plain structs and arithmetic, no call of Android, so that
 * tests run it anywhere.
 */
#ifndef MTS_ANDROID_FRAMES_H
#define MTS_ANDROID_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mts/mts.h"

/* A picture of the format YUV_420_888: planes Y, U, V. Half the width and height of U and
 * V are rounded up.
 */
typedef struct frame_planes {
    const uint8_t *data[3];
    int32_t bytes[3]; /* of each plane, from its first pixel to its last */
    int32_t row_stride[3];
    int32_t pixel_stride[3];
    int32_t width, height;
    int32_t left, top, right,
        bottom; /* what of it is to be shown; right and bottom lie outside; all 0: everything */
} frame_planes;

/*
 * Fills size, planes, format, colour and crop; rotation and the rest are the caller's.
 * NULL, or what is wrong with the picture. Which format it is lies in the planes alone: U
 * and V apart are I420, pairs are NV12 or NV21 by which of the two addresses is the lower
 * one.
 */
const char *frame_from_planes(const frame_planes *planes, mts_frame *frame);

/*
 * The same frame as it lies in the hardware buffer that the planes are the processor's
 * view of: what points into that view becomes offsets. False, and nothing has changed:
 * the planes do not lie behind the first one.
 */
bool frame_to_buffer(const void *buffer, mts_frame *frame);

/*
 * What turns a picture upright, as the viewer of the screen sees it. sensor: degrees by
 * which the picture has to be turned clockwise while the device is held in its natural
 * way (ACAMERA_SENSOR_ORIENTATION). display: those by which the screen's contents are
 * turned (Display.getRotation() times 90). Other numbers than multiples of 90 are
 * rounded.
 */
mts_rotation frame_rotation(int32_t sensor, int32_t display, bool front);

/* One size of those that a camera offers. */
typedef struct frame_size {
    int32_t width, height;
} frame_size;

/*
 * The smallest offered size that is at least as wide and as high as `wanted`, in its
 * shape if there is one; else the largest. `offered`: count numbers, four to an entry:
 * format, width, height, and 0 for an output
 * (ACAMERA_SCALER_AVAILABLE_STREAM_CONFIGURATIONS). False: no entry has this format.
 */
bool frame_size_choose(const int32_t *offered, uint32_t count, int32_t format, frame_size wanted,
                       frame_size *out);

#endif
