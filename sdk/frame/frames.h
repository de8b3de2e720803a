/*
 * frames.h: what turns frames into inputs: the images of the inputs that take frames, the
 * frame kernel, and the buffer that frames are copied to.
 *
 * The kernel and the parameter buffer are made when the first frame comes, the frame
 * buffer then and when a larger frame comes. Apart from imports of memory nothing else is
 * allocated for a frame.
 */
#ifndef MTS_FRAME_FRAMES_H
#define MTS_FRAME_FRAMES_H

#include "device/device.h"
#include "frame/import.h"
#include "frame/pack.h"

/* An input that takes frames. */
typedef struct mts_frame_input {
    const mts_preprocess *preprocess;
    int64_t dims[4];
    mts_type dtype;
    /* Elements from the start of the arena. */
    uint64_t offset;
} mts_frame_input;

typedef struct mts_frames_desc {
    mts_device *device;
    /* Host memory that is not released before the frames. */
    mts_arena *arena;
    /* The inputs lie in this buffer. */
    mts_buffer *act;
    /* Build options of the frame kernel. */
    const char *defines;
    const mts_frame_input *inputs;
    uint32_t input_count;
    /* Several submissions may wait at a time: each keeps room for a whole frame. */
    bool queued;
} mts_frames_desc;

/* One launch over the images of one input, or of all inputs. */
typedef struct mts_frame_list {
    uint32_t first, count;
    /* Reads the frame buffer. NULL: not made yet. */
    mts_command_list *list;
} mts_frame_list;

typedef struct mts_frames {
    mts_frames_desc desc;
    mts_kernel *kernel;
    mts_buffer *buffer, *params;
    /* Of the buffers that submissions have of their own (stage.h). */
    uint64_t own_bytes;
    /* One per input, then one for all inputs. */
    mts_frame_list *lists;
    mts_frame_image *images;
    uint32_t image_count;
    /* Per image, while a frame is staged. */
    mts_frame_pack *packs;
    mts_import_cache imports;
} mts_frames;

/* desc->inputs is read during the call only. */
mts_status mts_frames_create(mts_frames *frames, const mts_frames_desc *desc, mts_error *error);
/* Nothing is on the device any more, and no frame is staged. */
void mts_frames_release(mts_frames *frames);
/* The index of the list of an input, or of all inputs (MTS_NONE). */
uint32_t mts_frames_list(const mts_frames *frames, uint32_t input);
/* From the next frame on, image i of the inputs shows regions[i] of it; later images keep
 * what they hold. count 0: every image shows the frame's own region. INVALID_ARGUMENT: an
 * input has fewer images. */
mts_status mts_frames_set_regions(mts_frames *frames, uint32_t input, const mts_region *regions,
                                  uint32_t count, mts_error *error);
/* Makes the kernel and the parameter buffer, unless they exist. */
mts_status mts_frames_make_kernel(mts_frames *frames, mts_error *error);
/* Makes the frame buffer at least this large. */
mts_status mts_frames_grow(mts_frames *frames, size_t bytes, mts_error *error);
/* The launch of a list that reads a frame from `pool`. */
mts_launch mts_frames_launch(const mts_frames *frames, const mts_frame_list *list, mts_buffer *pool);
/* Device memory that frames take. */
uint64_t mts_frames_bytes(const mts_frames *frames);

#endif
