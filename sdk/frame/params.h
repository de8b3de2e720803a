/*
 * params.h: the kernel parameters of images: where an image goes in the arena, and what
 * it shows of a frame. Pure.
 *
 * Every image of an input that takes frames has one mts_frame_params; a task without a
 * batch has one image.
 */
#ifndef MTS_FRAME_PARAMS_H
#define MTS_FRAME_PARAMS_H

#include "bundle/archive.h"
#include "device/kernel.h"
#include "frame/layout.h"
#include "frame/region.h"

/* What an image of an input shows of the next frame. */
typedef enum mts_frame_show {
    MTS_FRAME_SHOW_ALL = 0,    /* the frame's own region */
    MTS_FRAME_SHOW_REGION = 1, /* a region of the image */
    MTS_FRAME_SHOW_NOTHING = 2 /* nothing new: it keeps its content */
} mts_frame_show;

typedef struct mts_frame_image {
    /* The part that no frame changes: where it goes, colours, mean and scale. */
    mts_frame_params params;
    mts_region_defaults defaults;
    mts_frame_show show;
    mts_region region;
} mts_frame_image;

/* What a task says of its frames. */
mts_region_defaults mts_frame_defaults(const mts_preprocess *preprocess);
/* The constant part of the parameters of image `index` of an input with these dimensions,
 * which begins `offset` elements from the start of the arena. An input of type int8 or
 * uint8 holds integers of its type. */
mts_frame_params mts_frame_params_of(const mts_preprocess *preprocess, const int64_t dims[4], mts_type dtype,
                                     uint64_t offset, uint32_t index);
/* Completes them: a resolved region of a frame whose planes begin `at` bytes from the
   start of the buffer. */
void mts_frame_params_show(mts_frame_params *params, const mts_frame_view *view, const mts_region *region,
                           const uint32_t at[MTS_FRAME_PLANES]);
/* Only says where the planes of the pixels begin, and their strides. */
void mts_frame_params_place(mts_frame_params *params, const mts_frame_view *view,
                            const uint32_t at[MTS_FRAME_PLANES]);
/* The region that the caller gave for an image, or for the frame. */
const mts_region *mts_frame_given_region(const mts_frame_image *image, const mts_frame_view *view);
/* The region that an image shows of a frame, which is resolved. */
mts_region mts_frame_region(const mts_frame_image *image, const mts_frame_view *view);

#endif
