/*
 * stage.c: what is taken of a frame when it comes: its memory is pinned, or the rows that
 * are going to be read are noted; and its launch. Not responsible for kernels, lists and
 * buffers of all frames (frames.c).
 */
#include "frame/stage.h"

#include <string.h>

#define PLANE_ALIGN ((size_t)64)
#define GAP_MOST ((size_t)65536) /* between the planes of memory that is pinned */

/* Where a frame is read. */
typedef struct placement {
    /* Of its planes, bytes from the start of the buffer. */
    uint32_t at[MTS_FRAME_PLANES];
    /* Of the frame buffer, if it is copied. */
    size_t bytes;
} placement;

mts_status mts_staged_frame_create(mts_staged_frame *staged, const mts_frames *frames, mts_error *error)
{
    const mts_frames_desc *desc = &frames->desc;
    const size_t bytes = frames->image_count * sizeof *staged->params;
    void *params = NULL;
    mts_status status = MTS_STATUS_OK;
    if (bytes > 0) { /* copied to the device without a wait */
        status = mts_host_create(desc->device, bytes, &params, error);
        if (status == MTS_STATUS_OK) {
            memset(params, 0, bytes);
        }
    }
    staged->params = params;
    staged->pins = mts_arena_zero(desc->arena, (size_t)desc->input_count + 1, sizeof *staged->pins);
    return status == MTS_STATUS_OK && !staged->pins ? mts_fail_memory(error) : status;
}

static void unpin(mts_frame_pin *pin)
{
    if (pin->import) {
        pin->import->users--;
        pin->import = NULL;
        pin->buffer = NULL;
    }
    mts_buffer_destroy(&pin->buffer);
}

void mts_frame_unpin_last(mts_staged_frame *staged)
{
    unpin(&staged->pins[staged->list]);
}

void mts_frame_unpin(mts_staged_frame *staged, const mts_frames *frames)
{
    for (uint32_t i = 0; staged->pins && i <= frames->desc.input_count; i++) {
        unpin(&staged->pins[i]);
    }
}

void mts_staged_frame_release(mts_staged_frame *staged, const mts_frames *frames)
{
    for (uint32_t i = 0; staged->pins && i <= frames->desc.input_count; i++) {
        mts_command_list_destroy(&staged->pins[i].list);
    }
    mts_frame_unpin(staged, frames);
    void *params = staged->params;
    mts_host_destroy(frames->desc.device, &params);
    staged->params = NULL;
    mts_host_destroy(frames->desc.device, (void **)&staged->staging);
    mts_command_list_destroy(&staged->own_list);
    mts_buffer_destroy(&staged->own);
}

/* ---- memory that is pinned ---- */

/* The list over memory that is pinned. */
static mts_status record(mts_frames *frames, const mts_frame_list *list, mts_frame_pin *pin, mts_error *error)
{
    const mts_launch launch = mts_frames_launch(frames, list, pin->buffer);
    if (pin->list) {
        const mts_status status = mts_command_list_update(pin->list, &launch, 1, error);
        if (status == MTS_STATUS_OK) {
            return status;
        }
        mts_command_list_destroy(&pin->list); /* a list whose update failed is unusable */
        if (status != MTS_STATUS_UNSUPPORTED) {
            return status;
        }
    }
    return mts_command_list_create(frames->desc.device, &launch, 1, &pin->list, error);
}

/* Bytes from the first plane to the end of the last one, if the planes can be one buffer;
   else 0. */
static size_t contiguous_bytes(const mts_frame_view *view, uint32_t at[MTS_FRAME_PLANES])
{
    const uintptr_t base = (uintptr_t)view->plane[0];
    size_t end = 0;
    for (uint32_t k = 0; k < view->planes.count; k++) {
        const uintptr_t plane = (uintptr_t)view->plane[k];
        if (plane < base || plane - base < end || plane - base - end > GAP_MOST) {
            return 0;
        }
        at[k] = (uint32_t)(plane - base);
        end = at[k] + mts_frame_plane_bytes(&view->planes, view->stride, k);
    }
    return base % sizeof(float) == 0 && end <= INT32_MAX ? end : 0;
}

/*
 * Pins host memory, if the caller allows it and the device can. A list pins one frame of
 * a run; a second one for the same inputs is copied.
 */
static mts_status pin_host(mts_frames *frames, mts_staged_frame *staged, const mts_frame_view *view,
                           placement *where, mts_error *error)
{
    mts_device *device = frames->desc.device;
    mts_frame_pin *pin = &staged->pins[staged->list];
    const size_t bytes = view->frame.zero_copy != 0 &&
                                 (device->info.imports & MTS_MEMORY_BIT(MTS_MEMORY_HOST)) != 0 && !pin->buffer
                             ? contiguous_bytes(view, where->at)
                             : 0;
    if (bytes == 0) {
        return MTS_STATUS_OK;
    }
    const mts_memory memory = {.kind = MTS_MEMORY_HOST, .host = view->plane[0], .size = bytes};
    mts_status status = mts_buffer_import(device, &memory, &pin->buffer, error);
    if (status == MTS_STATUS_OK) {
        status = record(frames, &frames->lists[staged->list], pin, error);
        if (status != MTS_STATUS_OK) {
            mts_buffer_destroy(&pin->buffer);
        }
        staged->zero_copy = status == MTS_STATUS_OK;
    }
    return status == MTS_STATUS_UNSUPPORTED ? MTS_STATUS_OK : status;
}

/* Bytes of other memory up to the end of the last plane. */
static size_t reach_of(const mts_frame_view *view)
{
    size_t end = 0;
    for (uint32_t k = 0; k < view->planes.count; k++) {
        const size_t plane = view->offset[k] + mts_frame_plane_bytes(&view->planes, view->stride, k);
        end = plane > end ? plane : end;
    }
    return end;
}

static mts_status pin_import(mts_frames *frames, mts_staged_frame *staged, mts_import *import,
                             mts_error *error)
{
    mts_frame_pin *pin = &staged->pins[staged->list];
    *pin = (mts_frame_pin){.list = pin->list, .buffer = import->buffer, .import = import};
    import->users++;
    const mts_status status = record(frames, &frames->lists[staged->list], pin, error);
    if (status != MTS_STATUS_OK) {
        unpin(pin);
    }
    staged->zero_copy = status == MTS_STATUS_OK;
    return status;
}

/*
 * Imports the memory that a frame lies in. Where the device reads it, it is pinned and
 * nothing is copied. Elsewhere the processor reads it at `host` until *reading is ended.
 */
static mts_status import_memory(mts_frames *frames, mts_staged_frame *staged, mts_frame_view *host,
                                placement *where, mts_import **reading, mts_error *error)
{
    const mts_memory memory = {
        .kind = host->frame.memory, .host = host->frame.buffer, .fd = host->frame.fd, .size = reach_of(host)};
    mts_import *import = NULL;
    const void *address = NULL;
    mts_status status = mts_import_get(&frames->imports, frames->desc.device, &memory, &import, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (import->buffer && !staged->pins[staged->list].buffer) {
        memcpy(where->at, host->offset, sizeof where->at);
        return pin_import(frames, staged, import, error);
    }
    status = mts_import_begin_read(&frames->imports, import, &address, error);
    if (status == MTS_STATUS_OK) {
        *reading = import;
        host->frame.memory = MTS_MEMORY_HOST;
        host->frame.zero_copy = 0;
        for (uint32_t k = 0; k < host->planes.count; k++) {
            host->plane[k] = (const char *)address + host->offset[k];
        }
    }
    return status;
}

/* ---- memory that is copied ---- */

/*
 * The staging memory, at once as much as frames of that size can need: packed rows are
 * half of it at most. The whole frame is only kept where it may have to wait for its
 * turn, or is the caller's again before that.
 */
static mts_status reserve(const mts_frames *frames, mts_staged_frame *staged, bool keep, mts_error *error)
{
    mts_device *device = frames->desc.device;
    const size_t all = frames->buffer->size;
    const size_t bytes = keep || frames->desc.queued ? all : all / 2;
    if (staged->staging_bytes >= bytes) {
        return MTS_STATUS_OK;
    }
    void *staging = NULL;
    const mts_status status = mts_host_create(device, bytes, &staging, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_host_destroy(device, (void **)&staged->staging); /* its last run has ended */
    staged->staging = staging;
    staged->staging_bytes = bytes;
    return MTS_STATUS_OK;
}

/* The buffer of its own, at least this large and mapped. It waits for the device only where that
   is not so yet: the first time, for larger frames, and after a failure. */
static mts_status reserve_own(mts_frames *frames, mts_staged_frame *staged, size_t bytes, mts_error *error)
{
    mts_device *device = frames->desc.device;
    mts_status status = MTS_STATUS_OK;
    staged->in_own = true;
    if (staged->own && staged->own->size < bytes) { /* its last run has ended */
        frames->own_bytes -= staged->own->size;
        mts_command_list_destroy(&staged->own_list);
        mts_buffer_destroy(&staged->own);
    }
    if (!staged->own) {
        status = mts_buffer_create(device, bytes, &staged->own, error);
        frames->own_bytes += status == MTS_STATUS_OK ? bytes : 0;
    }
    if (status == MTS_STATUS_OK && !staged->own->mapped) {
        status = mts_buffer_map(staged->own, 0, staged->own->size, true, error);
        MTS_TRY(status, mts_device_wait(device, error));
    }
    if (status == MTS_STATUS_OK && !staged->own_list) {
        const mts_launch launch = mts_frames_launch(frames, &frames->lists[staged->list], staged->own);
        status = mts_command_list_create(device, &launch, 1, &staged->own_list, error);
    }
    return status;
}

static mts_status place(mts_frames *frames, mts_staged_frame *staged, const mts_frame_view *view,
                        placement *where, bool keep, mts_error *error)
{
    mts_status status = pin_host(frames, staged, view, where, error);
    if (status != MTS_STATUS_OK || staged->zero_copy) {
        return status;
    }
    for (uint32_t k = 0; k < view->planes.count; k++) {
        where->at[k] = (uint32_t)where->bytes;
        where->bytes += mts_frame_plane_bytes(&view->planes, view->stride, k);
        where->bytes = (where->bytes + PLANE_ALIGN - 1) / PLANE_ALIGN * PLANE_ALIGN;
    }
    if (frames->desc.device->info.maps && staged->alone) {
        return reserve_own(frames, staged, where->bytes, error);
    }
    status = mts_frames_grow(frames, where->bytes, error);
    MTS_TRY(status, reserve(frames, staged, keep, error));
    return status;
}

static mts_status check_regions(const mts_frames *frames, const mts_frame_list *list,
                                const mts_frame_view *view, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = list->first; status == MTS_STATUS_OK && i < list->first + list->count; i++) {
        const mts_frame_image *image = &frames->images[i];
        if (image->show != MTS_FRAME_SHOW_NOTHING) {
            status = mts_region_check_inside(mts_frame_given_region(image, view), view->frame.width,
                                             view->frame.height, error);
        }
    }
    return status;
}

/* Fills in the parameters of the list's images. */
static void describe(const mts_frames *frames, mts_staged_frame *staged, const mts_frame_view *view,
                     const placement *where)
{
    const mts_frame_list *list = &frames->lists[staged->list];
    for (uint32_t i = list->first; i < list->first + list->count; i++) {
        const mts_frame_image *image = &frames->images[i];
        staged->params[i] = image->params;
        if (image->show == MTS_FRAME_SHOW_NOTHING) {
            staged->params[i].idle = 1;
        } else {
            const mts_region region = mts_frame_region(image, view);
            mts_frame_params_show(&staged->params[i], view, &region, where->at);
        }
    }
}

/* Notes the rows that are going to be read. */
static void find_rows(const mts_frames *frames, mts_staged_frame *staged, const mts_frame_view *view,
                      const placement *where)
{
    const mts_frame_list *list = &frames->lists[staged->list];
    uint32_t first = view->frame.height;
    uint32_t end = 0;
    for (uint32_t i = list->first; i < list->first + list->count; i++) {
        const mts_frame_params *r = &staged->params[i];
        if (!r->idle) {
            first = r->y < first ? r->y : first;
            end = r->y + r->h > end ? r->y + r->h : end;
        }
    }
    for (uint32_t k = 0; first < end && k < view->planes.count; k++) {
        const uint32_t shift = k > 0 ? view->planes.down : 0;
        const size_t from = (size_t)(first >> shift) * view->stride[k];
        const size_t to = (size_t)((end - 1) >> shift) * view->stride[k] + view->planes.row_bytes[k];
        staged->copies[staged->copy_count++] = (mts_copy_region){
            .from = (const char *)view->plane[k] + from, .to = where->at[k] + from, .size = to - from};
    }
}

/* Copies what was noted to where the device reads it. */
static void write_rows(mts_staged_frame *staged)
{
    for (uint32_t i = 0; i < staged->copy_count; i++) {
        const mts_copy_region *copy = &staged->copies[i];
        memcpy((unsigned char *)staged->own->mapped + copy->to, copy->from, copy->size);
    }
    staged->copy_count = 0;
}

/* Copies what was noted to the staging memory: the caller's is gone when it is
   enqueued. */
static void keep_rows(mts_staged_frame *staged)
{
    unsigned char *to = staged->staging;
    for (uint32_t i = 0; i < staged->copy_count; i++) {
        memcpy(to, staged->copies[i].from, staged->copies[i].size);
        staged->copies[i].from = to;
        to += staged->copies[i].size;
    }
}

/* Decides what is copied, and from where. */
static void gather(mts_frames *frames, mts_staged_frame *staged, bool now, const mts_frame_view *view,
                   const placement *where)
{
    const mts_frame_list *list = &frames->lists[staged->list];
    const mts_frame_batch batch = {
        .params = staged->params, .packs = frames->packs, .first = list->first, .count = list->count};
    const mts_buffer *to = staged->in_own ? staged->own : frames->buffer;
    const size_t most = to->size / 2; /* with more packed rows, all rows are copied */
    const size_t packed = mts_frame_pack_bytes(&batch, &view->planes, most);
    if (packed > 0) {
        mts_frame_pack_rows(&batch, view, staged->in_own ? staged->own->mapped : staged->staging);
        if (staged->in_own) {
            return;
        }
        staged->copies[staged->copy_count++] = (mts_copy_region){.from = staged->staging, .size = packed};
        return;
    }
    find_rows(frames, staged, view, where);
    if (staged->in_own) {
        write_rows(staged);
        return;
    }
    staged->brief = now && view->frame.zero_copy == 0;
    if (!staged->brief && view->frame.zero_copy == 0) {
        keep_rows(staged);
    }
}

mts_status mts_frame_stage(mts_frames *frames, mts_staged_frame *staged, const mts_frame_way *way,
                           const mts_frame_view *view, mts_error *error)
{
    mts_frame_view host = *view;
    mts_import *reading = NULL;
    placement where = {0};
    bool now = way->now;
    staged->list = mts_frames_list(frames, way->input);
    staged->alone = way->alone;
    staged->zero_copy = staged->brief = staged->in_own = false;
    staged->copy_count = 0;
    mts_status status = check_regions(frames, &frames->lists[staged->list], view, error);
    MTS_TRY(status, mts_frames_make_kernel(frames, error));
    if (status == MTS_STATUS_OK && view->frame.memory != MTS_MEMORY_HOST) {
        now = false; /* the processor reads the memory only until the end of this call */
        status = import_memory(frames, staged, &host, &where, &reading, error);
    }
    if (!staged->zero_copy) {
        MTS_TRY(status, place(frames, staged, &host, &where, !now, error));
    }
    if (status == MTS_STATUS_OK) {
        describe(frames, staged, &host, &where);
        if (!staged->zero_copy) {
            gather(frames, staged, now, &host, &where);
        }
    }
    if (reading) {
        mts_import_end_read(&frames->imports, reading);
    }
    return status;
}

/* ---- the launch ---- */

static mts_status enqueue(mts_buffer *buffer, const mts_copy_region *copy, bool asynchronous,
                          mts_error *error)
{
    return asynchronous ? mts_buffer_write_async(buffer, copy->to, copy->from, copy->size, error)
                        : mts_buffer_write(buffer, copy->to, copy->from, copy->size, error);
}

/* The list that reads the frame where it was copied to, made when it is first needed. */
static mts_status copied_list(mts_frames *frames, mts_frame_list *list, mts_error *error)
{
    if (list->list) {
        return MTS_STATUS_OK;
    }
    const mts_launch launch = mts_frames_launch(frames, list, frames->buffer);
    return mts_command_list_create(frames->desc.device, &launch, 1, &list->list, error);
}

/* The buffer is mapped again behind the launch, for the next frame of the submission. */
static mts_status submit_own(mts_staged_frame *staged, mts_error *error)
{
    mts_status status = mts_buffer_unmap(staged->own, error);
    MTS_TRY(status, mts_command_list_submit(staged->own_list, error));
    MTS_TRY(status, mts_buffer_map(staged->own, 0, staged->own->size, true, error));
    return status;
}

mts_status mts_frame_submit(mts_frames *frames, mts_staged_frame *staged, mts_error *error)
{
    mts_frame_list *list = &frames->lists[staged->list];
    const mts_copy_region params = {.from = &staged->params[list->first],
                                    .to = list->first * sizeof *staged->params,
                                    .size = list->count * sizeof *staged->params};
    /* Always written: what was enqueued before a failure may never have arrived. */
    mts_status status = enqueue(frames->params, &params, staged->alone, error);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < staged->copy_count; i++) {
        status = enqueue(frames->buffer, &staged->copies[i], staged->alone && !staged->brief, error);
    }
    if (staged->in_own) {
        MTS_TRY(status, submit_own(staged, error));
        return status;
    }
    if (!staged->zero_copy) {
        MTS_TRY(status, copied_list(frames, list, error));
    }
    MTS_TRY(status,
            mts_command_list_submit(staged->zero_copy ? staged->pins[staged->list].list : list->list, error));
    return status;
}
