/*
 * resample.h: pictures in another size.
 */
#ifndef MTS_APPS_RESAMPLE_H
#define MTS_APPS_RESAMPLE_H

#include "kit/image.h"

/*
 * Stretches a picture to width x height pixels, R G B, dense: linear between pixels where it grows, as the
 * run-time does it; where it shrinks, a mean of all pixels that weighs near ones more. False: no memory, or
 * a side is 0.
 */
bool cli_resample(const cli_image *image, uint32_t width, uint32_t height, unsigned char *rgb);

#endif
