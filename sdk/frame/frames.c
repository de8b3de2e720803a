/*
 * frames.c: the images, the kernel, the buffers and the command lists of inputs that take
 * frames. Not responsible for the way of one frame (stage.c).
 */
#include "frame/frames.h"

#include <inttypes.h>

#include "graph/graph.h"
#include "lower/launch_shape.h"

static void destroy_lists(mts_frames *frames)
{
    for (uint32_t i = 0; frames->lists && i <= frames->desc.input_count; i++) {
        mts_command_list_destroy(&frames->lists[i].list);
    }
}

void mts_frames_release(mts_frames *frames)
{
    destroy_lists(frames);
    mts_import_cache_release(&frames->imports);
    mts_kernel_destroy(&frames->kernel);
    mts_buffer_destroy(&frames->params);
    mts_buffer_destroy(&frames->buffer);
}

mts_status mts_frames_create(mts_frames *frames, const mts_frames_desc *desc, mts_error *error)
{
    *frames = (mts_frames){.desc = *desc};
    for (uint32_t i = 0; i < desc->input_count; i++) {
        frames->image_count += (uint32_t)desc->inputs[i].dims[0];
    }
    frames->lists = mts_arena_zero(desc->arena, (size_t)desc->input_count + 1, sizeof *frames->lists);
    frames->images = mts_arena_zero(desc->arena, frames->image_count, sizeof *frames->images);
    frames->packs = mts_arena_zero(desc->arena, frames->image_count, sizeof *frames->packs);
    if (!frames->lists || !frames->images || !frames->packs) {
        return mts_fail_memory(error);
    }
    uint32_t image = 0;
    for (uint32_t i = 0; i < desc->input_count; i++) {
        const mts_frame_input *input = &desc->inputs[i];
        const uint32_t count = (uint32_t)input->dims[0];
        frames->lists[i] = (mts_frame_list){.first = image, .count = count};
        for (uint32_t k = 0; k < count; k++) {
            frames->images[image].defaults = mts_frame_defaults(input->preprocess);
            frames->images[image++].params =
                mts_frame_params_of(input->preprocess, input->dims, input->dtype, input->offset, k);
        }
    }
    frames->lists[desc->input_count] = (mts_frame_list){.first = 0, .count = image};
    frames->desc.inputs = NULL;
    return MTS_STATUS_OK;
}

uint32_t mts_frames_list(const mts_frames *frames, uint32_t input)
{
    return input == MTS_NONE ? frames->desc.input_count : input;
}

uint64_t mts_frames_bytes(const mts_frames *frames)
{
    return (frames->buffer ? frames->buffer->size : 0) + frames->own_bytes;
}

mts_status mts_frames_make_kernel(mts_frames *frames, mts_error *error)
{
    mts_device *device = frames->desc.device;
    const mts_kernel_desc desc = {.name = "frame_any__f32_planar", .defines = frames->desc.defines};
    if (frames->kernel) {
        return MTS_STATUS_OK;
    }
    mts_status status = mts_kernel_create(device, &desc, &frames->kernel, error);
    MTS_TRY(status, mts_buffer_create(device, sizeof(mts_frame_params) * frames->image_count, &frames->params,
                                      error));
    if (status != MTS_STATUS_OK) {
        mts_kernel_destroy(&frames->kernel);
    }
    return status;
}

mts_launch mts_frames_launch(const mts_frames *frames, const mts_frame_list *list, mts_buffer *pool)
{
    uint32_t width = 1;
    uint32_t height = 1;
    for (uint32_t i = list->first; i < list->first + list->count; i++) {
        const mts_frame_params *r = &frames->images[i].params;
        width = r->width > width ? r->width : width;
        height = r->height > height ? r->height : height;
    }
    mts_launch launch = {.kernel = frames->kernel,
                         .act = frames->desc.act,
                         .pool = pool,
                         .params = frames->params,
                         .first = list->first * MTS_PARAM_WORDS(mts_frame_params),
                         .label = "frame"};
    mts_launch_over_plane(&frames->desc.device->info, width, launch.global, launch.local);
    mts_launch_fit(&launch, false);
    launch.global[1] = height;
    launch.global[2] = list->count;
    return launch;
}

mts_status mts_frames_grow(mts_frames *frames, size_t bytes, mts_error *error)
{
    mts_device *device = frames->desc.device;
    if (frames->buffer && frames->buffer->size >= bytes) {
        return MTS_STATUS_OK;
    }
    mts_buffer *larger = NULL;
    mts_status status = mts_buffer_create(device, bytes, &larger, error);
    if (status == MTS_STATUS_OK && frames->buffer) {
        status = mts_device_wait(device, error); /* runs on the device may read the smaller one */
    }
    if (status != MTS_STATUS_OK) {
        mts_buffer_destroy(&larger);
        return status;
    }
    destroy_lists(frames);
    mts_buffer_destroy(&frames->buffer);
    frames->buffer = larger;
    return MTS_STATUS_OK;
}

/* ---- regions ---- */

static void show_regions(mts_frames *frames, const mts_frame_list *own, const mts_region *regions,
                         uint32_t count)
{
    for (uint32_t i = 0; i < own->count; i++) {
        mts_frame_image *image = &frames->images[own->first + i];
        if (i < count) {
            image->region = regions[i];
        }
        image->show = count == 0  ? MTS_FRAME_SHOW_ALL
                      : i < count ? MTS_FRAME_SHOW_REGION
                                  : MTS_FRAME_SHOW_NOTHING;
    }
}

mts_status mts_frames_set_regions(mts_frames *frames, uint32_t input, const mts_region *regions,
                                  uint32_t count, mts_error *error)
{
    const uint32_t first = input == MTS_NONE ? 0 : input;
    const uint32_t end = input == MTS_NONE ? frames->desc.input_count : input + 1;
    for (uint32_t i = first; i < end; i++) {
        if (frames->lists[i].count < count) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "%" PRIu32 " regions are more than the %" PRIu32 " images of the input", count,
                            frames->lists[i].count);
        }
    }
    for (uint32_t i = first; i < end; i++) {
        show_regions(frames, &frames->lists[i], regions, count);
    }
    return MTS_STATUS_OK;
}
