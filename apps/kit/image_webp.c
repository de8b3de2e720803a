/*
 * image_webp.c: WebP files by libwebp; of an animation nothing is shown.
 */
#include <stdio.h>
#include <webp/decode.h>

#include "decoders.h"

bool cli_webp_decode(const unsigned char *file, size_t size, cli_image *image, char *reason)
{
    WebPBitstreamFeatures what;
    *image = (cli_image){0};
    if (WebPGetFeatures(file, size, &what) != VP8_STATUS_OK || what.width <= 0 || what.height <= 0) {
        (void)snprintf(reason, CLI_REASON, "is a damaged picture: its header cannot be read");
        return false;
    }
    if (what.has_animation) {
        (void)snprintf(reason, CLI_REASON, "is an animation, not a picture");
        return false;
    }
    const uint32_t width = (uint32_t)what.width;
    const uint32_t height = (uint32_t)what.height;
    if (!cli_image_size_check(width, height, reason) || !cli_image_make(image, width, height, reason)) {
        return false;
    }
    if (!WebPDecodeRGBInto(file, size, image->pixels, (size_t)width * height * 3, what.width * 3)) {
        (void)snprintf(reason, CLI_REASON, "is a damaged picture: its pixels cannot be decoded");
        cli_image_release(image);
        return false;
    }
    return true;
}
