/*
 * region.h: the fit of a region: what of it an input shows, and where. Pure; the run-time
 * and the decoders of libmtskit both use it, so that boxes come back to the pixels that
 * the network saw.
 */
#ifndef MTS_FRAME_REGION_H
#define MTS_FRAME_REGION_H

#include <stdbool.h>

#include "mts/types.h"

/* What a task says of its frames; it counts where a region says MTS_FIT_TASK or
   MTS_FILTER_TASK. */
typedef struct mts_region_defaults {
    mts_fit fit;
    mts_filter filter;
    uint8_t fill[4];
    /* Left, top, width, height as parts of the frame, all 0 or inside of it. It counts
     * where a region names no part. */
    float crop[4];
} mts_region_defaults;

/* Pixels of the input that show the region; the others are bars. */
typedef struct mts_region_part {
    uint32_t top, left, rows, columns;
} mts_region_part;

/* Whether the rotation exchanges width and height. */
static inline bool mts_region_is_quarter(const mts_region *region)
{
    return region->rotation == MTS_ROTATION_90 || region->rotation == MTS_ROTATION_270;
}
/* Where point (s, t) of a region with sides lies in the frame; s and t run from 0 to 1 as
 * the region is seen upright.
 */
void mts_region_point(const mts_region *region, double s, double t, double place[2]);
/*
 * The region that is shown: part, fit and filter are the region's, a task's, or the usual
 * ones, and CROP becomes the smaller region that it shows. `defaults` may be NULL.
 */
mts_region mts_region_resolve(const mts_region *region, const mts_region_defaults *defaults,
                              uint32_t frame_width, uint32_t frame_height, uint32_t input_width,
                              uint32_t input_height);
/* Replaces what a region leaves to the task: part, fit, bars and filter. */
mts_region mts_region_take_defaults(const mts_region *region, const mts_region_defaults *defaults,
                                    uint32_t frame_width, uint32_t frame_height);
/* The part of the input that a resolved region covers; seen upright, the region is `wide`
   by `high` pixels. */
mts_region_part mts_region_part_of(mts_fit fit, double wide, double high, uint32_t input_width,
                                   uint32_t input_height);

#endif
