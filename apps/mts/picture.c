/*
 * picture.c: from options and a file to a frame.
 */
#include "picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/frames.h"

#define RAW_MOST ((size_t)1 << 30)
#define SIDE_MOST 16384

static bool crop_parse(const char *text, mts_region *region)
{
    double numbers[4];
    if (cli_numbers(text, ',', numbers, 4) != 4) {
        return false;
    }
    for (size_t i = 0; i < 4; i++) {
        if (numbers[i] < (i < 2 ? 0 : 1) || numbers[i] > SIDE_MOST || numbers[i] != floor(numbers[i])) {
            return false;
        }
    }
    region->x = (uint32_t)numbers[0];
    region->y = (uint32_t)numbers[1];
    region->width = (uint32_t)numbers[2];
    region->height = (uint32_t)numbers[3];
    return true;
}

static bool fit_find(const char *name, mts_fit *fit)
{
    static const char *const names[] = {[MTS_FIT_STRETCH] = "stretch",
                                        [MTS_FIT_LETTERBOX] = "letterbox",
                                        [MTS_FIT_LETTERBOX_CORNER] = "letterbox-corner",
                                        [MTS_FIT_CROP] = "crop"};
    for (int i = MTS_FIT_STRETCH; i <= (int)MTS_FIT_CROP; i++) {
        if (strcmp(names[i], name) == 0) {
            *fit = (mts_fit)i;
            return true;
        }
    }
    return false;
}

static int region_check(const cli_picture_options *options, mts_region *region)
{
    if (options->crop && !crop_parse(options->crop, region)) {
        return cli_usage_error("run", "--crop takes X,Y,WIDTH,HEIGHT in pixels");
    }
    if (options->fit && !fit_find(options->fit, &region->fit)) {
        return cli_usage_error("run", "--fit is stretch, letterbox, letterbox-corner or crop, not '%s'",
                               options->fit);
    }
    if (options->filter && strcmp(options->filter, "area") == 0) {
        region->filter = MTS_FILTER_AREA;
    } else if (options->filter && strcmp(options->filter, "bilinear") == 0) {
        region->filter = MTS_FILTER_BILINEAR;
    } else if (options->filter) {
        return cli_usage_error("run", "--filter is bilinear or area, not '%s'", options->filter);
    }
    if (!cli_rotation_find(options->rotate, &region->rotation)) {
        return cli_usage_error("run", "--rotate is 0, 90, 180 or 270, not %u", options->rotate);
    }
    region->mirror = options->mirror ? 1 : 0;
    return -1;
}

int cli_picture_check(const cli_picture_options *options, mts_frame *frame)
{
    mts_yuv yuv = MTS_YUV_BT601;
    mts_frame_default(frame);
    if (!options->path && (options->pixels || options->yuv || options->fit || options->crop ||
                           options->filter || options->rotate || options->mirror)) {
        return cli_usage_error(
            "run", "--pixels, --yuv, --fit, --crop, --filter, --rotate and --mirror need --image");
    }
    if (options->pixels && !cli_frame_parse(options->pixels, frame)) {
        return cli_usage_error("run", "--pixels takes FORMAT:WIDTHxHEIGHT, such as nv12:640x480, not '%s'",
                               options->pixels);
    }
    if (options->yuv && !options->pixels) {
        return cli_usage_error("run", "--yuv needs --pixels");
    }
    if (options->yuv && !cli_yuv_find(options->yuv, &yuv)) {
        return cli_usage_error("run", "--yuv is bt601, bt601-full, bt709 or bt709-full, not '%s'",
                               options->yuv);
    }
    frame->yuv = yuv;
    return region_check(options, &frame->region);
}

/* The first of the frames that the file holds, and how it looks. */
static int raw_read(const cli_picture_options *options, cli_picture *picture)
{
    char error[CLI_ERROR];
    size_t size = 0;
    const size_t frame = cli_frame_bytes(&picture->frame);
    picture->raw = cli_file_read(options->path, RAW_MOST, &size, error);
    if (!picture->raw) {
        return cli_failure("run", "%s", error);
    }
    if (size == 0 || size % frame != 0) {
        return cli_failure("run", "'%s' has %zu bytes, which are no whole frames of %zu (--pixels %s)",
                           options->path, size, frame, options->pixels);
    }
    picture->frame.data = picture->raw;
    mts_frame whole = picture->frame;
    whole.region = (mts_region){0};
    return cli_frame_to_image(&whole, &picture->image, error) ? -1 : cli_failure("run", "%s", error);
}

static int photo_read(const cli_picture_options *options, cli_picture *picture)
{
    char error[CLI_ERROR];
    if (!cli_image_read(options->path, &picture->image, error)) {
        return cli_failure("run", "%s", error);
    }
    picture->frame.data = picture->image.pixels;
    picture->frame.width = picture->image.width;
    picture->frame.height = picture->image.height;
    picture->frame.format = MTS_PIXEL_FORMAT_RGB;
    return -1;
}

/* The part of the picture that is fitted into inputs. */
static int region_find(const cli_picture_options *options, mts_frame *frame)
{
    mts_region *region = &frame->region;
    if (options->crop) {
        return region->x + region->width > frame->width || region->y + region->height > frame->height
                   ? cli_failure("run", "--crop %s is not inside '%s', which has %ux%u pixels", options->crop,
                                 options->path, frame->width, frame->height)
                   : -1;
    }
    return -1; /* not given: the whole picture, or the part that each task's list gives */
}

void cli_picture_part(const cli_picture *picture, uint32_t part[4])
{
    const mts_region *region = &picture->frame.region;
    const bool whole = region->width == 0;
    part[0] = region->x;
    part[1] = region->y;
    part[2] = whole ? picture->frame.width : region->width;
    part[3] = whole ? picture->frame.height : region->height;
}

int cli_picture_read(const cli_picture_options *options, cli_picture *picture)
{
    const int status = options->pixels ? raw_read(options, picture) : photo_read(options, picture);
    return status < 0 ? region_find(options, &picture->frame) : status;
}

void cli_picture_release(cli_picture *picture)
{
    cli_image_release(&picture->image);
    free(picture->raw);
    *picture = (cli_picture){0};
}
