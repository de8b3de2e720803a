/*
 * exif.h: how a camera was held, as JPEG, PNG and WebP files say it.
 */
#ifndef MTS_KIT_EXIF_H
#define MTS_KIT_EXIF_H

#include <stdbool.h>

#include "image.h"

/*
 * Orientation of a JPEG, PNG or WebP file, 1 to 8 (Exif 2.32, tag 0x0112): 1 upright, 3 half
 * a turn, 6 to be turned to the right, 8 to the left; 2, 4, 5, 7 mirrored. 1 also: it says
 * none, it says nonsense, its chunk is cut off or has a wrong checksum, or it is of another
 * format.
 */
uint32_t cli_exif_orientation(const unsigned char *file, size_t size);
/* Turns and mirrors a picture, so that it is seen upright. False: no memory. */
bool cli_image_upright(cli_image *image, uint32_t orientation);

#endif
