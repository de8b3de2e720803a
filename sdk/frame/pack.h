/*
 * pack.h: rows of frames that are shown much smaller than they are: only those that an
 * image is made of are copied. Pure.
 */
#ifndef MTS_FRAME_PACK_H
#define MTS_FRAME_PACK_H

#include "frame/params.h"

/* The rows that were packed for an image, see mts_frame_params. */
typedef struct mts_frame_pack {
    uint32_t y, h, rows, flip;
    uint32_t at[MTS_FRAME_PLANES];
} mts_frame_pack;

/* Images [first, first + count) with their parameters and, while a frame is staged, their
   packed rows. */
typedef struct mts_frame_batch {
    mts_frame_params *params;
    mts_frame_pack *packs;
    uint32_t first, count;
} mts_frame_batch;

/* Bytes of the rows that the images are made of if that is at most `most`, else 0. The
 * parameters hold the sizes of the images. */
size_t mts_frame_pack_bytes(const mts_frame_batch *batch, const mts_frame_planes *planes, size_t most);
/* After the former was more than 0: copies the rows to `to`, and changes the parameters
   accordingly. */
void mts_frame_pack_rows(const mts_frame_batch *batch, const mts_frame_view *view, unsigned char *to);

#endif
