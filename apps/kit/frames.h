/*
 * frames.h: frames of a camera on the command line ("nv12:640x480"), their size in
 * memory, and as RGB to draw on.
 */
#ifndef MTS_KIT_FRAMES_H
#define MTS_KIT_FRAMES_H

#include "image.h"

/* "rgb", "bgr", "rgba", "bgra", "grey", "nv12", "nv21", "i420", "yuyv", "uyvy". */
bool cli_format_find(const char *name, mts_pixel_format *out);
const char *cli_format_name(mts_pixel_format format);
/* "bt601", "bt601-full", "bt709", "bt709-full". */
bool cli_yuv_find(const char *name, mts_yuv *out);
const char *cli_yuv_name(mts_yuv yuv);
/* 0, 90, 180 or 270 as a number of degrees. */
bool cli_rotation_find(uint32_t degrees, mts_rotation *out);
/* Reads "FORMAT:WIDTHxHEIGHT" into a frame whose planes lie dense, one behind the
   other. */
bool cli_frame_parse(const char *text, mts_frame *frame);
/* Bytes of a row of the first plane, and of the planes of colour (0: there are none),
   without padding. */
size_t cli_format_row_bytes(mts_pixel_format format, uint32_t width);
size_t cli_format_chroma_bytes(mts_pixel_format format, uint32_t width);
/* Bytes of a frame whose planes lie dense, one behind the other. */
size_t cli_frame_bytes(const mts_frame *frame);
/* Width and height of what a frame shows: its region, turned. */
void cli_frame_shown(const mts_frame *frame, uint32_t *width, uint32_t *height);
/*
 * What a frame shows, pixel by pixel: its region, turned and mirrored, not resized. For
 * the eye; networks get what the run-time makes. `image` is made anew or, if it has that
 * size already, written over. False: no memory.
 */
bool cli_frame_to_image(const mts_frame *frame, cli_image *image, char *error);

#endif
