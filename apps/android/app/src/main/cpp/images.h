/*
 * images.h: a picture of an AImageReader as a frame of the library. This is the only file
 * that knows how the picture's memory reaches the device.
 */
#ifndef MTS_ANDROID_IMAGES_H
#define MTS_ANDROID_IMAGES_H

#include <media/NdkImage.h>
#include <stdbool.h>
#include <stdint.h>

#include "mts/mts.h"

/* AHARDWAREBUFFER_USAGE_... that a reader's pictures need. */
uint64_t image_usage(void);
/* Everything but rotation and mirror; the memory is the image's, until AImage_delete.
 * NULL, or what is wrong.
 */
const char *image_frame(const AImage *image, mts_frame *frame);
/* Of such a frame: the same one in the image's hardware buffer, for devices that read it.
 * False: as it was.
 */
bool image_buffer(const AImage *image, mts_frame *frame);

#endif
