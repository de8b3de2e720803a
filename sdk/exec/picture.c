/*
 * picture.c: camera pictures into inputs, on the device. The picture buffer, its launch table and lists are
 * made when the first picture comes and again when a larger one does; otherwise nothing is allocated.
 */
#include <string.h>

#include "exec/engine_internal.h"

static void release_lists(mts_engine *engine)
{
    for (uint32_t i = 0; engine->picture_lists != NULL && i <= engine->picture_count; i++) {
        mts_list_destroy(&engine->picture_lists[i]);
    }
}

void mts_engine_pictures_release(mts_engine *engine)
{
    release_lists(engine);
    mts_kernel_destroy(&engine->picture_kernel);
    mts_buffer_destroy(&engine->picture_table);
    mts_buffer_destroy(&engine->picture);
}

/* Constant part of a slot's record: destination, colours, mean and scale. */
static mts_rec_frame slot_record(const engine_slot *slot)
{
    const mts_preprocess *p = slot->preprocess;
    mts_rec_frame r = {.dest = slot->dest, .interleaved = p->interleaved};
    r.channels = p->color == MTS_COLOR_GREY ? 1 : 3;
    for (uint32_t c = 0; c < r.channels; c++) {
        r.order[c] = p->color == MTS_COLOR_GREY ? 3 : p->color == MTS_COLOR_BGR ? 2 - c : c;
        r.mean[c] = p->mean[c];
        r.scale[c] = 1.0f / p->std[c];
    }
    return r;
}

static mts_code prepare(mts_engine *engine, mts_error *error)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < engine->slot_count; i++) {
        count += engine->slots[i].preprocess != NULL ? 1 : 0;
    }
    uint32_t *slots = mts_arena_zero(&engine->arena, count, sizeof *slots);
    mts_rec_frame *records = mts_arena_zero(&engine->arena, count, sizeof *records);
    mts_list **lists = mts_arena_zero(&engine->arena, (size_t)count + 1, sizeof *lists);
    if (slots == NULL || records == NULL || lists == NULL) {
        return mts_fail(error, MTS_CODE_OUT_OF_MEMORY, "not enough memory for pictures");
    }
    uint32_t used = 0;
    for (uint32_t i = 0; i < engine->slot_count; i++) {
        if (engine->slots[i].preprocess != NULL) {
            slots[used] = i;
            records[used++] = slot_record(&engine->slots[i]);
        }
    }
    engine->picture_count = count; /* only now that all is there: a failed frame leaves nothing half made */
    engine->picture_slots = slots;
    engine->picture_records = records;
    engine->picture_lists = lists;
    return MTS_CODE_OK;
}

static mts_code make_kernel(mts_engine *engine, mts_error *error)
{
    const mts_kernel_desc desc = {.name = "frame_any__f32_planar",
                                  .defines =
                                      mts_encode_defines(&engine->device->info, engine->stats.precision)};
    mts_code code = mts_kernel_create(engine->device, &desc, &engine->picture_kernel, error);
    if (code == MTS_CODE_OK) {
        code = mts_buffer_create(engine->device, sizeof(mts_rec_frame) * engine->picture_count,
                                 &engine->picture_table, error);
    }
    return code;
}

/* One launch over records [first, first + count). */
static mts_code make_list(mts_engine *engine, uint32_t first, uint32_t count, mts_list **out,
                          mts_error *error)
{
    uint32_t pitch = 1;
    uint32_t planes = 1;
    for (uint32_t i = first; i < first + count; i++) {
        const mts_rec_dest *dest = &engine->picture_records[i].dest;
        const uint32_t own = dest->dims[0] * dest->dims[1] * dest->dims[2] * dest->dims[3];
        pitch = dest->pitch > pitch ? dest->pitch : pitch;
        planes = own > planes ? own : planes;
    }
    mts_launch launch = {.kernel = engine->picture_kernel,
                         .act = engine->act,
                         .pool = engine->picture,
                         .table = engine->picture_table,
                         .first = first * MTS_REC_WORDS(mts_rec_frame),
                         .label = "picture"};
    mts_encode_runs(&engine->device->info, pitch, launch.global, launch.local);
    mts_engine_fit_group(&launch, false);
    launch.global[1] = planes + 1;
    launch.global[2] = count;
    return mts_list_create(engine->device, &launch, 1, out, error);
}

static mts_code grow(mts_engine *engine, size_t bytes, mts_error *error)
{
    if (engine->picture != NULL && engine->picture->size >= bytes) {
        return MTS_CODE_OK;
    }
    if (engine->picture_kernel == NULL) {
        const mts_code code = make_kernel(engine, error);
        if (code != MTS_CODE_OK) {
            mts_engine_pictures_release(engine);
            return code;
        }
    }
    mts_buffer *larger = NULL;
    mts_code code = mts_buffer_create(engine->device, bytes, &larger, error);
    if (code != MTS_CODE_OK) {
        return code;
    }
    release_lists(engine);
    engine->stats.workspace_bytes += bytes - (engine->picture != NULL ? engine->picture->size : 0);
    engine->stats.peak_bytes += bytes - (engine->picture != NULL ? engine->picture->size : 0);
    mts_buffer_destroy(&engine->picture);
    engine->picture = larger;
    for (uint32_t i = 0; code == MTS_CODE_OK && i < engine->picture_count; i++) {
        code = make_list(engine, i, 1, &engine->picture_lists[i], error);
    }
    if (code == MTS_CODE_OK) {
        code =
            make_list(engine, 0, engine->picture_count, &engine->picture_lists[engine->picture_count], error);
    }
    if (code != MTS_CODE_OK) { /* the next picture tries again from the start */
        release_lists(engine);
        engine->stats.workspace_bytes -= bytes;
        engine->stats.peak_bytes -= bytes;
        mts_buffer_destroy(&engine->picture);
    }
    return code;
}

/* Position of a slot in the picture arrays; picture_count if it takes none. */
static uint32_t find_picture(const mts_engine *engine, uint32_t slot)
{
    uint32_t i = 0;
    while (i < engine->picture_count && engine->picture_slots[i] != slot) {
        i++;
    }
    return i;
}

static void describe(mts_rec_frame *record, const mts_picture *picture)
{
    record->format = picture->format;
    record->width = picture->width;
    record->height = picture->height;
    record->stride = picture->stride;
    record->crop_x = picture->crop_x;
    record->crop_y = picture->crop_y;
    record->crop_w = picture->crop_width;
    record->crop_h = picture->crop_height;
}

/* The last row ends with its last pixel, not with its stride. */
static size_t picture_bytes(const mts_picture *picture)
{
    const uint32_t pixel = picture->format == MTS_PIXEL_GREY                                        ? 1
                           : picture->format == MTS_PIXEL_RGBA || picture->format == MTS_PIXEL_BGRA ? 4
                                                                                                    : 3;
    return (size_t)picture->stride * (picture->height - 1) + (size_t)picture->width * pixel;
}

mts_code mts_engine_set_picture(mts_engine *engine, uint32_t task, const mts_picture *picture,
                                mts_error *error)
{
    if (engine->running) {
        return mts_fail(error, MTS_CODE_BUSY, "a run is under way: wait for it before the next picture");
    }
    if (engine->options.lend_inputs) {
        return mts_fail(error, MTS_CODE_INVALID_ARGUMENT,
                        "the inputs of this session are the caller's tensors: it takes no pictures");
    }
    mts_code code = engine->picture_lists == NULL ? prepare(engine, error) : MTS_CODE_OK;
    if (code != MTS_CODE_OK) {
        return code;
    }
    uint32_t first = 0;
    uint32_t count = engine->picture_count;
    const engine_task *t = task == MTS_NONE ? NULL : mts_engine_find(engine, task);
    if (task != MTS_NONE) {
        first = t != NULL && t->input_count > 0 ? find_picture(engine, t->inputs[0].slot) : count;
        count = first < count ? 1 : 0;
    }
    if (count == 0) {
        return mts_fail(
            error, MTS_CODE_INVALID_ARGUMENT,
            "no task here takes pictures: give its colour, mean and std to the compiler, or set tensors");
    }
    const size_t bytes = picture_bytes(picture);
    code = grow(engine, (bytes + 3) / 4 * 4, error);
    for (uint32_t i = first; code == MTS_CODE_OK && i < first + count; i++) {
        describe(&engine->picture_records[i], picture);
    }
    if (code == MTS_CODE_OK) {
        code = mts_buffer_write(engine->picture_table, first * sizeof(mts_rec_frame),
                                &engine->picture_records[first], count * sizeof(mts_rec_frame), error);
    }
    if (code == MTS_CODE_OK) {
        code = mts_buffer_write(engine->picture, 0, picture->data, bytes, error);
    }
    if (code == MTS_CODE_OK) {
        code =
            mts_list_submit(engine->picture_lists[task == MTS_NONE ? engine->picture_count : first], error);
    }
    return code;
}
