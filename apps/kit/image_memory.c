/*
 * image_memory.c: the size that an image may have, and its memory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "decoders.h"

bool cli_image_size_check(uint32_t width, uint32_t height, char *reason)
{
    const bool fits = width > 0 && height > 0 && width <= CLI_SIDE_MOST && height <= CLI_SIDE_MOST &&
                      (uint64_t)width * height <= CLI_PIXELS_MOST;
    if (!fits) {
        (void)snprintf(reason, CLI_REASON,
                       "is too large, %" PRIu32 "x%" PRIu32 " pixels; at most %u a side and %" PRIu64
                       " altogether are read",
                       width, height, CLI_SIDE_MOST, CLI_PIXELS_MOST);
    }
    return fits;
}

bool cli_image_make(cli_image *image, uint32_t width, uint32_t height, char *reason)
{
    *image = (cli_image){.pixels = calloc((size_t)width * height, 3), .width = width, .height = height};
    if (!image->pixels) {
        (void)snprintf(reason, CLI_REASON, "cannot be decoded: there is no memory for its pixels");
        *image = (cli_image){0};
    }
    return image->pixels;
}

void cli_image_release(cli_image *image)
{
    free(image->pixels);
    *image = (cli_image){0};
}
