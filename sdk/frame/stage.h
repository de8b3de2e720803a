/*
 * stage.h: the way of one frame: staged when it comes, submitted when the device takes
 * it, unpinned when its run has ended.
 *
 * A frame is staged by what the device needs of it: its memory is pinned where the device
 * reads it in place, else the rows that are going to be read are noted or copied.
 */
#ifndef MTS_FRAME_STAGE_H
#define MTS_FRAME_STAGE_H

#include "frame/frames.h"

/* The caller's memory that a command list reads in place. */
typedef struct mts_frame_pin {
    /* NULL: not made yet. */
    mts_command_list *list;
    /* That memory, until the run has ended; or NULL. */
    mts_buffer *buffer;
    /* The import that owns the buffer; NULL: the pin does. */
    mts_import *import;
} mts_frame_pin;

/* Bytes that are copied to the frame buffer. */
typedef struct mts_copy_region {
    const void *from;
    size_t to, size;
} mts_copy_region;

/* A frame of one submission. */
typedef struct mts_staged_frame {
    /* Index of its launch. */
    uint32_t list;
    /* The device reads the caller's memory in place. */
    bool zero_copy;
    /* The only frame of its run: `params`, `staging` and `own` do not change until the run has
       ended. */
    bool alone;
    /* The copy regions are the caller's again when the call returns. */
    bool brief;
    /* [image_count]; of mts_host_create, as `staging`. */
    mts_frame_params *params;
    mts_copy_region copies[MTS_FRAME_PLANES];
    uint32_t copy_count;
    /* Copies of what cannot stay in the caller's memory; of mts_host_create. */
    unsigned char *staging;
    size_t staging_bytes;
    /* One per list. */
    mts_frame_pin *pins;
    /* Where the process writes buffers in place (mts_device_info.maps): a buffer of its own takes
       the bytes of a frame that is the only one of its run, once, and `own_list` reads it. Mapped
       while nothing that was submitted uses it. */
    mts_buffer *own;
    mts_command_list *own_list;
    bool in_own;
} mts_staged_frame;

/* How a frame comes. */
typedef struct mts_frame_way {
    /* The input that takes it; MTS_NONE: all inputs that take frames. */
    uint32_t input;
    /* See mts_staged_frame. */
    bool alone;
    /* It is submitted before the call of the library's user returns, and may wait for the
       device. */
    bool now;
} mts_frame_way;

mts_status mts_staged_frame_create(mts_staged_frame *staged, const mts_frames *frames, mts_error *error);
/* Nothing is on the device any more. */
void mts_staged_frame_release(mts_staged_frame *staged, const mts_frames *frames);

/* Pins the memory of a frame, or copies what the images show of it. */
mts_status mts_frame_stage(mts_frames *frames, mts_staged_frame *staged, const mts_frame_way *way,
                           const mts_frame_view *view, mts_error *error);
/* Enqueues the launch that fills the inputs, after the copies that it needs. */
mts_status mts_frame_submit(mts_frames *frames, mts_staged_frame *staged, mts_error *error);
/* Releases the memory that was pinned; no list that reads it is running. */
void mts_frame_unpin(mts_staged_frame *staged, const mts_frames *frames);
/* The same for the frame that was staged last. */
void mts_frame_unpin_last(mts_staged_frame *staged);

#endif
