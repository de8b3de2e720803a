/*
 * picture.h: what an engine knows of pictures, and the arithmetic of their records.
 *
 * A picture is laid into the picture buffer plane by plane. Each image of a slot that takes pictures has one
 * record of the frame kernel; a task without a batch has one image.
 */
#ifndef MTS_FRAME_FRAME_H
#define MTS_FRAME_FRAME_H

#include "device/device.h"
#include "device/kernel.h"

#include "engine/engine.h"
#include "frame/import.h"

#define MTS_PICTURE_PLANES 3

/* Rows of a picture that were packed for an image, see mts_frame_params. */
typedef struct engine_pack {
    uint32_t y, h, rows, flip;
    uint32_t at[MTS_PICTURE_PLANES];
} engine_pack;

/* What an image of an input shows when a picture comes. */
typedef enum mts_picture_show {
    MTS_PICTURE_SHOW_ALL = 0,    /* the picture's own region */
    MTS_PICTURE_SHOW_REGION = 1, /* one of its own */
    MTS_PICTURE_SHOW_NOTHING = 2 /* it keeps what it holds */
} mts_picture_show;

typedef struct engine_image {
    mts_frame_params record; /* constant part: where it goes, colours, mean and scale */
    mts_picture_show show;
    mts_picture_region region;
} engine_image;

/* A launch over the images of one slot, or of all. */
typedef struct engine_picture_list {
    uint32_t first, count;  /* images */
    mts_command_list *list; /* reads the picture buffer; NULL: not made yet */
} engine_picture_list;

/* What of a list reads memory of the caller's. */
typedef struct engine_borrowing {

    mts_command_list *list;  /* NULL: not made yet */
    mts_buffer *buffer;      /* that memory, from a picture to the end of the run; or NULL */
    engine_foreign *foreign; /* whose buffer it is; NULL: its own */
} engine_borrowing;

/* Bytes on their way into the picture buffer. */
typedef struct engine_piece {
    const void *from;
    size_t to, size;
} engine_piece;

/* A picture of one run, from when it comes until it goes to the device. */
typedef struct engine_shot {
    uint32_t list; /* index of the launch */
    bool borrowed; /* read where it lies */
    bool alone;    /* no other one of this run: own memory stays as it is until the run has ended */
    bool brief;    /* pieces lie in memory that is the caller's again soon: they are copied at once */
    mts_frame_params *records; /* [image_count] */
    engine_piece pieces[MTS_PICTURE_PLANES];
    uint32_t piece_count;
    unsigned char *staging; /* pieces, if they do not lie in the caller's memory; of mts_host_create */
    size_t staging_bytes;
    engine_borrowing *borrowings; /* one per list */
} engine_shot;

typedef struct engine_pictures {
    mts_kernel *kernel;
    mts_buffer *buffer, *table;
    engine_picture_list *lists; /* one per slot, then one for all; NULL: no picture has come yet */
    uint32_t *slots;            /* of each list but the last */
    uint32_t slot_count, image_count;
    engine_image *images;
    engine_pack *packs; /* one per image; while a picture is prepared */
} engine_pictures;

/* Planes of a format in memory: a picture's bytes. */
typedef struct mts_picture_layout {
    uint32_t planes;
    uint32_t rows[MTS_PICTURE_PLANES], row_bytes[MTS_PICTURE_PLANES]; /* of pixels */
    uint32_t down; /* plane 1 and 2: picture rows of a row, as bits */
} mts_picture_layout;

mts_picture_layout mts_picture_lay_out(uint32_t format, uint32_t width, uint32_t height);
/* From the first to the last byte of a plane. */
size_t mts_picture_plane_bytes(const mts_picture_layout *layout, const uint32_t *stride, uint32_t plane);
/* INVALID_ARGUMENT: it is not inside the picture. */
mts_status mts_picture_region_check(const mts_picture_region *region, uint32_t width, uint32_t height,
                                    mts_error *error);
/* The constant part of an image's record, for image `index` of the batch. dims: of the input. */
mts_frame_params mts_picture_image(const mts_preprocess *preprocess, const int64_t dims[4], uint64_t offset,
                                   uint32_t index);
/* Completes it: a region of a picture whose planes lie at `at`, bytes from the buffer's start. */
void mts_picture_describe(mts_frame_params *record, const mts_picture *picture,
                          const mts_picture_region *region, const uint32_t at[MTS_PICTURE_PLANES]);
/*
 * Bytes of the rows that images [first, first + count) are made of, if that is at most `most`; else 0. Their
 * records say how large the images are.
 */
size_t mts_picture_pack_bytes(engine_pictures *pictures, const mts_frame_params *records, uint32_t first,
                              uint32_t count, const mts_picture_layout *layout, size_t most);
/* After it was more than 0: puts the rows into `to`, and makes the records say so. */
void mts_picture_pack(engine_pictures *pictures, mts_frame_params *records, uint32_t first, uint32_t count,
                      const mts_picture *picture, const mts_picture_layout *layout, unsigned char *to);
/* The region that an image shows of a picture. */
const mts_picture_region *mts_picture_shown(const engine_image *image, const mts_picture *picture);

#endif
