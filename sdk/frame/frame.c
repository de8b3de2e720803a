/*
 * picture.c: camera pictures into inputs, on the device. The picture buffer, its launch table and lists are
 * made when the first picture comes and again when a larger one does; otherwise nothing is allocated, but for
 * memory that is borrowed. Not responsible for what is taken of a picture (stage.c).
 */
#include <inttypes.h>
#include <string.h>

#include "engine/engine_internal.h"

static void release_lists(mts_engine *engine)
{
    engine_pictures *p = &engine->pictures;
    for (uint32_t i = 0; p->lists && i <= p->slot_count; i++) {
        mts_command_list_destroy(&p->lists[i].list);
    }
}

void mts_picture_let_go(engine_borrowing *borrowing)
{
    if (borrowing->foreign) {
        borrowing->foreign->users--;
        borrowing->foreign = NULL;
        borrowing->buffer = NULL;
    }
    mts_buffer_destroy(&borrowing->buffer);
}

void mts_picture_return(mts_engine *engine, engine_flight *flight)
{
    for (uint32_t i = 0; flight->shot.borrowings && i <= engine->pictures.slot_count; i++) {
        mts_picture_let_go(&flight->shot.borrowings[i]);
    }
}

void mts_engine_pictures_release(mts_engine *engine)
{
    engine_pictures *p = &engine->pictures;
    release_lists(engine);
    for (uint32_t f = 0; p->lists && f < engine->places + engine->spare; f++) {
        engine_flight *flight = &engine->flights[f];
        for (uint32_t i = 0; flight->shot.borrowings && i <= p->slot_count; i++) {
            mts_command_list_destroy(&flight->shot.borrowings[i].list);
        }
        mts_picture_return(engine, flight);
        mts_host_destroy(engine->device, (void **)&flight->shot.staging);
    }
    mts_foreigns_release(engine);
    mts_kernel_destroy(&p->kernel);
    mts_buffer_destroy(&p->table);
    mts_buffer_destroy(&p->buffer);
}

/* ---- once ---- */

static uint32_t slot_images(const engine_slot *slot)
{
    return slot->preprocess ? (uint32_t)slot->dims[0] : 0;
}

static void fill_images(const mts_engine *engine, engine_picture_list *lists, uint32_t *slots,
                        engine_image *images)
{
    uint32_t used = 0;
    uint32_t image = 0;
    for (uint32_t s = 0; s < engine->slot_count; s++) {
        const engine_slot *slot = &engine->slots[s];
        const uint32_t count = slot_images(slot);
        if (count > 0) {
            slots[used] = s;
            lists[used++] = (engine_picture_list){.first = image, .count = count};
        }
        for (uint32_t i = 0; i < count; i++) {
            images[image++].record = mts_picture_image(slot->preprocess, slot->dims, slot->offset, i);
        }
    }
    lists[used] = (engine_picture_list){.first = 0, .count = image};
}

/* What each flight has of its own. */
static bool make_shots(mts_engine *engine, const engine_pictures *made)
{
    for (uint32_t f = 0; f < engine->places + engine->spare; f++) {
        engine_shot *shot = &engine->flights[f].shot;
        shot->records = mts_arena_zero(&engine->arena, made->image_count, sizeof *shot->records);
        shot->borrowings =
            mts_arena_zero(&engine->arena, (size_t)made->slot_count + 1, sizeof *shot->borrowings);
        if (!shot->records || !shot->borrowings) {
            return false;
        }
    }
    return true;
}

static mts_status make_ready(mts_engine *engine, mts_error *error)
{
    uint32_t slot_count = 0;
    uint32_t image_count = 0;
    if (engine->pictures.lists) {
        return MTS_STATUS_OK;
    }
    for (uint32_t s = 0; s < engine->slot_count; s++) {
        slot_count += engine->slots[s].preprocess ? 1 : 0;
        image_count += slot_images(&engine->slots[s]);
    }
    engine_pictures made = {.slot_count = slot_count, .image_count = image_count};
    made.lists = mts_arena_zero(&engine->arena, (size_t)slot_count + 1, sizeof *made.lists);
    made.slots = mts_arena_zero(&engine->arena, slot_count, sizeof *made.slots);
    made.images = mts_arena_zero(&engine->arena, image_count, sizeof *made.images);
    made.packs = mts_arena_zero(&engine->arena, image_count, sizeof *made.packs);
    if (!made.lists || !made.slots || !made.images || !made.packs || !make_shots(engine, &made)) {
        return mts_fail_memory(error);
    }
    fill_images(engine, made.lists, made.slots, made.images);
    engine->pictures = made; /* only now that all is there: a failed frame leaves nothing half made */
    return MTS_STATUS_OK;
}

mts_status mts_picture_make_kernel(mts_engine *engine, mts_error *error)
{
    engine_pictures *p = &engine->pictures;
    const mts_kernel_desc desc = {.name = "frame_any__f32_planar",
                                  .defines =
                                      mts_encode_defines(&engine->device->info, engine->stats.precision)};
    if (p->kernel) {
        return MTS_STATUS_OK;
    }
    mts_status code = mts_kernel_create(engine->device, &desc, &p->kernel, error);
    MTS_TRY(code,
            mts_buffer_create(engine->device, sizeof(mts_frame_params) * p->image_count, &p->table, error));
    if (code != MTS_STATUS_OK) {
        mts_kernel_destroy(&p->kernel);
    }
    return code;
}

/* ---- lists ---- */

/* One launch over the images of a list. */
static mts_launch launch_of(const mts_engine *engine, const engine_picture_list *list, mts_buffer *pool)
{
    const engine_pictures *p = &engine->pictures;
    uint32_t width = 1;
    uint32_t height = 1;
    for (uint32_t i = list->first; i < list->first + list->count; i++) {
        const mts_frame_params *r = &p->images[i].record;
        width = r->width > width ? r->width : width;
        height = r->height > height ? r->height : height;
    }
    mts_launch launch = {.kernel = p->kernel,
                         .act = engine->act,
                         .pool = pool,
                         .params = p->table,
                         .first = list->first * MTS_PARAM_WORDS(mts_frame_params),
                         .label = "picture"};
    mts_encode_runs(&engine->device->info, width, launch.global, launch.local);
    mts_engine_fit_group(&launch, false);
    launch.global[1] = height;
    launch.global[2] = list->count;
    return launch;
}

/* The list that reads a borrowed picture, over its memory. */
mts_status mts_picture_refer(mts_engine *engine, const engine_picture_list *list, engine_borrowing *borrowing,
                             mts_error *error)
{
    const mts_launch launch = launch_of(engine, list, borrowing->buffer);
    if (borrowing->list) {
        const mts_status code = mts_command_list_update(borrowing->list, &launch, 1, error);
        if (code == MTS_STATUS_OK) {
            return code;
        }
        mts_command_list_destroy(&borrowing->list); /* one that could not be updated is of no more use */
        if (code != MTS_STATUS_UNSUPPORTED) {
            return code;
        }
    }
    return mts_command_list_create(engine->device, &launch, 1, &borrowing->list, error);
}

/* The picture buffer, as large as it has to be. */
static mts_status grow(mts_engine *engine, size_t bytes, mts_error *error)
{
    engine_pictures *p = &engine->pictures;
    const size_t before = p->buffer ? p->buffer->size : 0;
    if (before >= bytes) {
        return MTS_STATUS_OK;
    }
    mts_buffer *larger = NULL;
    mts_status code = mts_buffer_create(engine->device, bytes, &larger, error);
    if (code == MTS_STATUS_OK && p->buffer) {
        code = mts_device_wait(engine->device, error); /* runs under way may read the smaller one */
    }
    if (code != MTS_STATUS_OK) {
        mts_buffer_destroy(&larger);
        return code;
    }
    release_lists(engine);
    mts_buffer_destroy(&p->buffer);
    p->buffer = larger;
    engine->stats.workspace_bytes += bytes - before;
    engine->stats.peak_bytes += bytes - before;
    return MTS_STATUS_OK;
}

/*
 * A shot's own memory, at once as much as pictures of that size can take: packed rows are half of it at most,
 * and all is only kept where a picture may have to wait for its turn, or is not there for longer than a call.
 */
static mts_status reserve(const mts_engine *engine, engine_shot *shot, bool keep, mts_error *error)
{
    const size_t all = engine->pictures.buffer->size;
    const size_t bytes = keep || engine->places > 1 ? all : all / 2;
    if (shot->staging_bytes >= bytes) {
        return MTS_STATUS_OK;
    }
    void *staging = NULL;
    const mts_status code = mts_host_create(engine->device, bytes, &staging, error);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    mts_host_destroy(engine->device, (void **)&shot->staging); /* its last run has ended */
    shot->staging = staging;
    shot->staging_bytes = bytes;
    return MTS_STATUS_OK;
}

mts_status mts_picture_room(mts_engine *engine, engine_shot *shot, size_t bytes, bool keep, mts_error *error)
{
    const mts_status code = grow(engine, bytes, error);
    return code == MTS_STATUS_OK ? reserve(engine, shot, keep, error) : code;
}

/* The list of a task, or of all (MTS_NONE). */
mts_status mts_picture_find_list(mts_engine *engine, uint32_t task, uint32_t *list, mts_error *error)
{
    if (engine->options.lend_inputs) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "the inputs of this session are the caller's tensors: it takes no pictures");
    }
    const mts_status code = make_ready(engine, error);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    engine_pictures *p = &engine->pictures;
    const engine_task *t = task == MTS_NONE ? NULL : mts_engine_find(engine, task);
    uint32_t i = task == MTS_NONE && p->slot_count > 0 ? p->slot_count : 0;
    while (task != MTS_NONE && t && t->input_count > 0 && i < p->slot_count &&
           p->slots[i] != t->inputs[0].slot) {
        i++;
    }
    *list = i;
    if (p->slot_count == 0 || (task != MTS_NONE && (!t || t->input_count == 0 || i == p->slot_count))) {
        return mts_fail(
            error, MTS_STATUS_INVALID_ARGUMENT,
            "no task here takes pictures: give its colour, mean and std to the compiler, or set tensors");
    }
    return MTS_STATUS_OK;
}

/* ---- one picture ---- */

static mts_status enqueue(mts_buffer *buffer, const engine_piece *piece, bool stays, mts_error *error)
{
    return stays ? mts_buffer_write_async(buffer, piece->to, piece->from, piece->size, error)
                 : mts_buffer_write(buffer, piece->to, piece->from, piece->size, error);
}

mts_status mts_picture_hand_over(mts_engine *engine, engine_flight *flight, mts_error *error)
{
    engine_pictures *p = &engine->pictures;
    const engine_shot *shot = &flight->shot;
    engine_picture_list *list = &p->lists[shot->list];
    const engine_piece records = {.from = &shot->records[list->first],
                                  .to = list->first * sizeof *shot->records,
                                  .size = list->count * sizeof *shot->records};
    /* Always: what was enqueued before a failure may never have arrived. */
    mts_status code = enqueue(p->table, &records, shot->alone, error);
    for (uint32_t i = 0; code == MTS_STATUS_OK && i < shot->piece_count; i++) {
        code = enqueue(p->buffer, &shot->pieces[i], shot->alone && !shot->brief, error);
    }
    if (code == MTS_STATUS_OK && !shot->borrowed && !list->list) {
        const mts_launch launch = launch_of(engine, list, p->buffer);
        code = mts_command_list_create(engine->device, &launch, 1, &list->list, error);
    }
    MTS_TRY(code,
            mts_command_list_submit(shot->borrowed ? shot->borrowings[shot->list].list : list->list, error));
    return code;
}

mts_status mts_engine_set_picture(mts_engine *engine, uint32_t task, const mts_picture *picture,
                                  mts_error *error)
{
    engine_flight *flight = mts_flight_next(engine, error);
    if (!flight) {
        return MTS_STATUS_BUSY;
    }
    const mts_picture_way way = {.task = task, .now = true};
    mts_status code = mts_picture_prepare(engine, flight, &way, picture, error);
    if (code == MTS_STATUS_OK) {
        flight->early = flight->early || flight->shot.borrowed;
        code = mts_picture_hand_over(engine, flight, error);
        if (code != MTS_STATUS_OK) {
            (void)mts_device_wait(engine->device, NULL); /* the launch may be under way all the same */
            mts_picture_let_go(&flight->shot.borrowings[flight->shot.list]);
        }
    }
    return code;
}

static bool within(const engine_picture_list *list, const engine_picture_list *own)
{
    return own->first >= list->first && own->first < list->first + list->count;
}

static void show_regions(engine_pictures *p, const engine_picture_list *own,
                         const mts_picture_regions *regions)
{
    for (uint32_t i = 0; i < own->count; i++) {
        engine_image *image = &p->images[own->first + i];
        if (i < regions->count) {
            image->region = regions->get(regions->context, i);
        }
        image->show = regions->count == 0  ? MTS_PICTURE_SHOW_ALL
                      : i < regions->count ? MTS_PICTURE_SHOW_REGION
                                           : MTS_PICTURE_SHOW_NOTHING;
    }
}

mts_status mts_engine_set_regions(mts_engine *engine, uint32_t task, const mts_picture_regions *regions,
                                  mts_error *error)
{
    const uint32_t count = regions->count;
    uint32_t index = 0;
    const mts_status code = mts_picture_find_list(engine, task, &index, error);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    engine_pictures *p = &engine->pictures;
    const engine_picture_list *list = &p->lists[index];
    for (uint32_t s = 0; s < p->slot_count; s++) {
        if (within(list, &p->lists[s]) && p->lists[s].count < count) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "%" PRIu32 " regions are more than the %" PRIu32 " images of the input", count,
                            p->lists[s].count);
        }
    }
    for (uint32_t s = 0; s < p->slot_count; s++) {
        if (within(list, &p->lists[s])) {
            show_regions(p, &p->lists[s], regions);
        }
    }
    return MTS_STATUS_OK;
}
