/*
 * formats.h: names of pixel formats and colour standards on the command line, and how many bytes a dense
 * frame has.
 */
#ifndef MTS_CAMERA_FORMATS_H
#define MTS_CAMERA_FORMATS_H

#include <stddef.h>
#include <stdint.h>

#include "mts/mts.h"

/* "nv12", also names of other programs for the same ("yuy2", "gray8"); -1: unknown. Case does not matter. */
int format_find(const char *name);
const char *format_name(mts_pixel_format format);
/* "bt601", "bt601-full", "bt709", "bt709-full"; -1: unknown. */
int format_yuv_find(const char *name);
const char *format_yuv_name(mts_yuv yuv);
/* Bytes of a row of the first plane, without padding. */
size_t format_row_bytes(mts_pixel_format format, uint32_t width);
/* Bytes of a whole frame whose first plane has this stride and whose other planes follow it, with the stride
   that belongs to it. */
size_t format_frame_bytes(mts_pixel_format format, uint32_t height, size_t stride);
/* Stride of the planes of colour that belongs to the first plane's; 0: there are none. */
size_t format_chroma_stride(mts_pixel_format format, size_t stride);

#endif
