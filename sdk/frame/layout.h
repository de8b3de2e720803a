/*
 * layout.h: a frame as the caller describes it: checks, and where the planes of its
 * pixels lie. Pure.
 */
#ifndef MTS_FRAME_LAYOUT_H
#define MTS_FRAME_LAYOUT_H

#include "base/status.h"
#include "mts/types.h"

#define MTS_FRAME_PLANES 3
/* Pixels of a side of a frame. */
#define MTS_FRAME_SIDE_MOST 16384u

/* The planes of a pixel format. */
typedef struct mts_frame_planes {
    uint32_t count;
    /* Per plane: rows, and bytes of the pixels of a row. */
    uint32_t rows[MTS_FRAME_PLANES], row_bytes[MTS_FRAME_PLANES];
    /* A row of plane 1 or 2 belongs to 1 << down rows of the frame. */
    uint32_t down;
} mts_frame_planes;

/* A checked frame: strides are large enough, and all planes together have at most 2^31 -
   1 bytes. */
typedef struct mts_frame_view {
    mts_frame frame;
    mts_frame_planes planes;
    /* Bytes from row to row, never 0. */
    uint32_t stride[MTS_FRAME_PLANES];
    /* HOST: the first byte of each plane. NV12, NV21: the pairs are plane 1. */
    const void *plane[MTS_FRAME_PLANES];
    /* Other memory: the first byte of each plane, counted from the start of the
       memory. */
    uint32_t offset[MTS_FRAME_PLANES];
} mts_frame_view;

mts_frame_planes mts_frame_planes_of(mts_pixel_format format, uint32_t width, uint32_t height);
/* Bytes from the first to the last pixel of a plane. */
size_t mts_frame_plane_bytes(const mts_frame_planes *planes, const uint32_t *stride, uint32_t plane);
/* Checks a frame and its region, and finds its planes. INVALID_ARGUMENT; LIMIT: too many
   bytes. */
mts_status mts_frame_view_make(const mts_frame *frame, mts_frame_view *out, mts_error *error);
/* Checks a region without a frame; `what` begins the error text. */
mts_status mts_region_check(const mts_region *region, const char *what, mts_error *error);
/* INVALID_ARGUMENT: the region is not inside a frame of this size. */
mts_status mts_region_check_inside(const mts_region *region, uint32_t width, uint32_t height,
                                   mts_error *error);

#endif
