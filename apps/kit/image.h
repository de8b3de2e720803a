/*
 * image.h: pictures of files, as RGB in memory. A file is data of a stranger: the decoders
 * (decoders.h) are hardened libraries, or work in a child process with limits.
 */
#ifndef MTS_KIT_IMAGE_H
#define MTS_KIT_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "files.h"

#ifdef MTS_KIT_WEBP
#define CLI_IMAGE_FORMATS "PNG, JPEG, WebP, BMP, TGA or PNM"
#else
#define CLI_IMAGE_FORMATS "PNG, JPEG, BMP, TGA or PNM"
#endif

typedef struct cli_image {
    unsigned char *pixels; /* RGB, dense; on the heap */
    uint32_t width, height;
} cli_image;

/* Checks the size before it decodes anything: sides up to 16384, 64 million pixels. It
 * is turned upright as its Exif data say (JPEG, PNG, WebP). */
bool cli_image_read(const char *path, cli_image *image, char *error);
bool cli_image_write_png(const char *path, const cli_image *image, char *error);
void cli_image_release(cli_image *image);

#endif
