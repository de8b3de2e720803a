/*
 * formats.h: how rows of a pixel format lie in memory. Formats' names and pictures are the kit's
 * (kit/frames.h).
 */
#ifndef MTS_CAMERA_FORMATS_H
#define MTS_CAMERA_FORMATS_H

#include <stddef.h>
#include <stdint.h>

#include "mts/mts.h"

/* Bytes of a row of the first plane, without padding. */
size_t format_row_bytes(mts_pixel_format format, uint32_t width);
/* Bytes of a row of the planes of colour; 0: there are none. */
size_t format_chroma_bytes(mts_pixel_format format, uint32_t width);

/* "bt601", "bt601-full", "bt709", "bt709-full". */
const char *format_yuv_name(mts_yuv yuv);

#endif
