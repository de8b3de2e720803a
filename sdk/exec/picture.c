/*
 * picture.c: camera pictures into inputs, on the device. The picture buffer, its launch table and lists are
 * made when the first picture comes and again when a larger one does; otherwise nothing is allocated, but for
 * memory that is borrowed. Not responsible for what the records say (picture_record.c).
 */
#include <inttypes.h>
#include <string.h>

#include "exec/engine_internal.h"

#define PLANE_ALIGN ((size_t)64)
#define GAP_MOST ((size_t)65536) /* between the planes of memory that is borrowed */

static void release_lists(mts_engine *engine)
{
    engine_pictures *p = &engine->pictures;
    for (uint32_t i = 0; p->lists != NULL && i <= p->slot_count; i++) {
        mts_list_destroy(&p->lists[i].list);
    }
}

void mts_picture_return(mts_engine *engine, engine_flight *flight)
{
    for (uint32_t i = 0; flight->shot.borrowings != NULL && i <= engine->pictures.slot_count; i++) {
        mts_buffer_destroy(&flight->shot.borrowings[i].buffer);
    }
}

void mts_engine_pictures_release(mts_engine *engine)
{
    engine_pictures *p = &engine->pictures;
    release_lists(engine);
    for (uint32_t f = 0; p->lists != NULL && f < engine->places; f++) {
        engine_flight *flight = &engine->flights[f];
        for (uint32_t i = 0; flight->shot.borrowings != NULL && i <= p->slot_count; i++) {
            mts_list_destroy(&flight->shot.borrowings[i].list);
        }
        mts_picture_return(engine, flight);
        mts_host_destroy(engine->device, (void **)&flight->shot.staging);
    }
    mts_kernel_destroy(&p->kernel);
    mts_buffer_destroy(&p->table);
    mts_buffer_destroy(&p->buffer);
}

/* ---- once ---- */

static uint32_t slot_images(const engine_slot *slot)
{
    return slot->preprocess != NULL ? (uint32_t)slot->dims[0] : 0;
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
    for (uint32_t f = 0; f < engine->places; f++) {
        engine_shot *shot = &engine->flights[f].shot;
        shot->records = mts_arena_zero(&engine->arena, made->image_count, sizeof *shot->records);
        shot->borrowings =
            mts_arena_zero(&engine->arena, (size_t)made->slot_count + 1, sizeof *shot->borrowings);
        if (shot->records == NULL || shot->borrowings == NULL) {
            return false;
        }
    }
    return true;
}

static mts_code make_ready(mts_engine *engine, mts_error *error)
{
    uint32_t slot_count = 0;
    uint32_t image_count = 0;
    if (engine->pictures.lists != NULL) {
        return MTS_CODE_OK;
    }
    for (uint32_t s = 0; s < engine->slot_count; s++) {
        slot_count += engine->slots[s].preprocess != NULL ? 1 : 0;
        image_count += slot_images(&engine->slots[s]);
    }
    engine_pictures made = {.slot_count = slot_count, .image_count = image_count};
    made.lists = mts_arena_zero(&engine->arena, (size_t)slot_count + 1, sizeof *made.lists);
    made.slots = mts_arena_zero(&engine->arena, slot_count, sizeof *made.slots);
    made.images = mts_arena_zero(&engine->arena, image_count, sizeof *made.images);
    made.packs = mts_arena_zero(&engine->arena, image_count, sizeof *made.packs);
    if (made.lists == NULL || made.slots == NULL || made.images == NULL || made.packs == NULL ||
        !make_shots(engine, &made)) {
        return mts_fail(error, MTS_CODE_OUT_OF_MEMORY, "not enough memory for pictures");
    }
    fill_images(engine, made.lists, made.slots, made.images);
    engine->pictures = made; /* only now that all is there: a failed frame leaves nothing half made */
    return MTS_CODE_OK;
}

static mts_code make_kernel(mts_engine *engine, mts_error *error)
{
    engine_pictures *p = &engine->pictures;
    const mts_kernel_desc desc = {.name = "frame_any__f32_planar",
                                  .defines =
                                      mts_encode_defines(&engine->device->info, engine->stats.precision)};
    if (p->kernel != NULL) {
        return MTS_CODE_OK;
    }
    mts_code code = mts_kernel_create(engine->device, &desc, &p->kernel, error);
    if (code == MTS_CODE_OK) {
        code = mts_buffer_create(engine->device, sizeof(mts_rec_frame) * p->image_count, &p->table, error);
    }
    if (code != MTS_CODE_OK) {
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
        const mts_rec_frame *r = &p->images[i].record;
        width = r->width > width ? r->width : width;
        height = r->height > height ? r->height : height;
    }
    mts_launch launch = {.kernel = p->kernel,
                         .act = engine->act,
                         .pool = pool,
                         .table = p->table,
                         .first = list->first * MTS_REC_WORDS(mts_rec_frame),
                         .label = "picture"};
    mts_encode_runs(&engine->device->info, width, launch.global, launch.local);
    mts_engine_fit_group(&launch, false);
    launch.global[1] = height;
    launch.global[2] = list->count;
    return launch;
}

/* The list that reads a borrowed picture, over its memory. */
static mts_code refer(mts_engine *engine, const engine_picture_list *list, engine_borrowing *borrowing,
                      mts_error *error)
{
    const mts_launch launch = launch_of(engine, list, borrowing->buffer);
    if (borrowing->list != NULL) {
        const mts_code code = mts_list_update(borrowing->list, &launch, 1, error);
        if (code == MTS_CODE_OK) {
            return code;
        }
        mts_list_destroy(&borrowing->list); /* one that could not be updated is of no more use */
        if (code != MTS_CODE_UNSUPPORTED) {
            return code;
        }
    }
    return mts_list_create(engine->device, &launch, 1, &borrowing->list, error);
}

/* The picture buffer, as large as it has to be. */
static mts_code grow(mts_engine *engine, size_t bytes, mts_error *error)
{
    engine_pictures *p = &engine->pictures;
    const size_t before = p->buffer != NULL ? p->buffer->size : 0;
    if (before >= bytes) {
        return MTS_CODE_OK;
    }
    mts_buffer *larger = NULL;
    mts_code code = mts_buffer_create(engine->device, bytes, &larger, error);
    if (code == MTS_CODE_OK && p->buffer != NULL) {
        code = mts_device_wait(engine->device, error); /* runs under way may read the smaller one */
    }
    if (code != MTS_CODE_OK) {
        mts_buffer_destroy(&larger);
        return code;
    }
    release_lists(engine);
    mts_buffer_destroy(&p->buffer);
    p->buffer = larger;
    engine->stats.workspace_bytes += bytes - before;
    engine->stats.peak_bytes += bytes - before;
    return MTS_CODE_OK;
}

/*
 * A shot's own memory, at once as much as pictures of that size can take: packed rows are half of it at most,
 * and all is only kept where a picture may have to wait for its turn.
 */
static mts_code reserve(const mts_engine *engine, engine_shot *shot, mts_error *error)
{
    const size_t all = engine->pictures.buffer->size;
    const size_t bytes = engine->places > 1 ? all : all / 2;
    if (shot->staging_bytes >= bytes) {
        return MTS_CODE_OK;
    }
    void *staging = NULL;
    const mts_code code = mts_host_create(engine->device, bytes, &staging, error);
    if (code != MTS_CODE_OK) {
        return code;
    }
    mts_host_destroy(engine->device, (void **)&shot->staging); /* its last run has ended */
    shot->staging = staging;
    shot->staging_bytes = bytes;
    return MTS_CODE_OK;
}

/* ---- one picture ---- */

/* Where a picture is read. */
typedef struct placement {
    uint32_t at[MTS_PICTURE_PLANES]; /* of its planes, bytes from the buffer's start */
    size_t bytes;                    /* of the picture buffer, if it is copied */
} placement;

/* Bytes from the first plane to the end of the last one, if they lie so that they can be one buffer; else 0.
 */
static size_t contiguous_bytes(const mts_picture *picture, const mts_picture_layout *layout,
                               uint32_t at[MTS_PICTURE_PLANES])
{
    const uintptr_t base = (uintptr_t)picture->plane[0];
    size_t end = 0;
    for (uint32_t k = 0; k < layout->planes; k++) {
        const uintptr_t plane = (uintptr_t)picture->plane[k];
        if (plane < base || plane - base < end || plane - base - end > GAP_MOST) {
            return 0;
        }
        at[k] = (uint32_t)(plane - base);
        end = at[k] + mts_picture_plane_bytes(layout, picture->stride, k);
    }
    return base % sizeof(float) == 0 && end <= INT32_MAX ? end : 0;
}

/*
 * Takes hold of the picture's memory, if it may and can. Of one run a list borrows one picture; a second one
 * for the same inputs is copied.
 */
static mts_code borrow(mts_engine *engine, engine_shot *shot, const mts_picture *picture,
                       const mts_picture_layout *layout, placement *where, mts_error *error)
{
    engine_borrowing *borrowing = &shot->borrowings[shot->list];
    const size_t bytes = picture->borrow &&
                                 (engine->device->info.imports & MTS_MEMORY_BIT(MTS_MEMORY_HOST)) != 0 &&
                                 borrowing->buffer == NULL
                             ? contiguous_bytes(picture, layout, where->at)
                             : 0;
    if (bytes == 0) {
        return MTS_CODE_OK;
    }
    const mts_memory memory = {.kind = MTS_MEMORY_HOST, .host = picture->plane[0], .size = bytes};
    mts_code code = mts_buffer_import(engine->device, &memory, &borrowing->buffer, error);
    if (code == MTS_CODE_OK) {
        code = refer(engine, &engine->pictures.lists[shot->list], borrowing, error);
        if (code != MTS_CODE_OK) {
            mts_buffer_destroy(&borrowing->buffer);
        }
        shot->borrowed = code == MTS_CODE_OK;
    }
    return code == MTS_CODE_UNSUPPORTED ? MTS_CODE_OK : code;
}

static mts_code place(mts_engine *engine, engine_shot *shot, const mts_picture *picture,
                      const mts_picture_layout *layout, placement *where, mts_error *error)
{
    const mts_code code = borrow(engine, shot, picture, layout, where, error);
    if (code != MTS_CODE_OK || shot->borrowed) {
        return code;
    }
    for (uint32_t k = 0; k < layout->planes; k++) {
        where->at[k] = (uint32_t)where->bytes;
        where->bytes += mts_picture_plane_bytes(layout, picture->stride, k);
        where->bytes = (where->bytes + PLANE_ALIGN - 1) / PLANE_ALIGN * PLANE_ALIGN;
    }
    const mts_code grown = grow(engine, where->bytes, error);
    return grown == MTS_CODE_OK ? reserve(engine, shot, error) : grown;
}

static mts_code check_regions(const mts_engine *engine, const engine_picture_list *list,
                              const mts_picture *picture, mts_error *error)
{
    mts_code code = MTS_CODE_OK;
    for (uint32_t i = list->first; code == MTS_CODE_OK && i < list->first + list->count; i++) {
        const engine_image *image = &engine->pictures.images[i];
        if (image->show != MTS_PICTURE_SHOW_NOTHING) {
            code = mts_picture_region_check(mts_picture_shown(image, picture), picture->width,
                                            picture->height, error);
        }
    }
    return code;
}

/* What the list's images show. */
static void describe(const mts_engine *engine, engine_shot *shot, const mts_picture *picture,
                     const placement *where)
{
    const engine_pictures *p = &engine->pictures;
    const engine_picture_list *list = &p->lists[shot->list];
    for (uint32_t i = list->first; i < list->first + list->count; i++) {
        shot->records[i] = p->images[i].record;
        if (p->images[i].show == MTS_PICTURE_SHOW_NOTHING) {
            shot->records[i].idle = 1;
        } else {
            mts_picture_describe(&shot->records[i], picture, mts_picture_shown(&p->images[i], picture),
                                 where->at);
        }
    }
}

/* The rows that are going to be read, where they lie. */
static void find_rows(const mts_engine *engine, engine_shot *shot, const mts_picture *picture,
                      const mts_picture_layout *layout, const placement *where)
{
    const engine_picture_list *list = &engine->pictures.lists[shot->list];
    uint32_t first = picture->height;
    uint32_t end = 0;
    for (uint32_t i = list->first; i < list->first + list->count; i++) {
        const mts_rec_frame *r = &shot->records[i];
        if (!r->idle) {
            first = r->y < first ? r->y : first;
            end = r->y + r->h > end ? r->y + r->h : end;
        }
    }
    for (uint32_t k = 0; first < end && k < layout->planes; k++) {
        const uint32_t shift = k > 0 ? layout->down : 0;
        const size_t from = (size_t)(first >> shift) * picture->stride[k];
        const size_t to = (size_t)((end - 1) >> shift) * picture->stride[k] + layout->row_bytes[k];
        shot->pieces[shot->piece_count++] = (engine_piece){
            .from = (const char *)picture->plane[k] + from, .to = where->at[k] + from, .size = to - from};
    }
}

/* Pieces into the shot's own memory: the caller's is not there any more when it is their turn. */
static void keep_pieces(engine_shot *shot)
{
    unsigned char *to = shot->staging;
    for (uint32_t i = 0; i < shot->piece_count; i++) {
        memcpy(to, shot->pieces[i].from, shot->pieces[i].size);
        shot->pieces[i].from = to;
        to += shot->pieces[i].size;
    }
}

/* What has to be copied, and from where. */
static void gather(mts_engine *engine, engine_shot *shot, const mts_picture_way *way,
                   const mts_picture *picture, const mts_picture_layout *layout, const placement *where)
{
    engine_pictures *p = &engine->pictures;
    const engine_picture_list *list = &p->lists[shot->list];
    const size_t most = p->buffer->size / 2; /* where packed rows are more, all are copied */
    const size_t packed = mts_picture_pack_bytes(p, shot->records, list->first, list->count, layout, most);
    if (packed > 0) {
        mts_picture_pack(p, shot->records, list->first, list->count, picture, layout, shot->staging);
        shot->pieces[shot->piece_count++] = (engine_piece){.from = shot->staging, .size = packed};
        return;
    }
    find_rows(engine, shot, picture, layout, where);
    shot->brief = way->now && !picture->borrow;
    if (!shot->brief && !picture->borrow) {
        keep_pieces(shot);
    }
}

/* The list of a task, or of all (MTS_NONE). */
static mts_code find_list(mts_engine *engine, uint32_t task, uint32_t *list, mts_error *error)
{
    if (engine->options.lend_inputs) {
        return mts_fail(error, MTS_CODE_INVALID_ARGUMENT,
                        "the inputs of this session are the caller's tensors: it takes no pictures");
    }
    const mts_code code = make_ready(engine, error);
    if (code != MTS_CODE_OK) {
        return code;
    }
    engine_pictures *p = &engine->pictures;
    const engine_task *t = task == MTS_NONE ? NULL : mts_engine_find(engine, task);
    uint32_t i = task == MTS_NONE && p->slot_count > 0 ? p->slot_count : 0;
    while (task != MTS_NONE && t != NULL && t->input_count > 0 && i < p->slot_count &&
           p->slots[i] != t->inputs[0].slot) {
        i++;
    }
    *list = i;
    if (p->slot_count == 0 ||
        (task != MTS_NONE && (t == NULL || t->input_count == 0 || i == p->slot_count))) {
        return mts_fail(
            error, MTS_CODE_INVALID_ARGUMENT,
            "no task here takes pictures: give its colour, mean and std to the compiler, or set tensors");
    }
    return MTS_CODE_OK;
}

mts_code mts_picture_prepare(mts_engine *engine, engine_flight *flight, const mts_picture_way *way,
                             const mts_picture *picture, mts_error *error)
{
    const mts_picture_layout layout = mts_picture_lay_out(picture->format, picture->width, picture->height);
    engine_shot *shot = &flight->shot;
    placement where = {0};
    mts_code code = find_list(engine, way->task, &shot->list, error);
    shot->alone = way->alone;
    shot->borrowed = shot->brief = false;
    shot->piece_count = 0;
    if (code == MTS_CODE_OK) {
        code = check_regions(engine, &engine->pictures.lists[shot->list], picture, error);
    }
    if (code == MTS_CODE_OK) {
        code = make_kernel(engine, error);
    }
    if (code == MTS_CODE_OK) {
        code = place(engine, shot, picture, &layout, &where, error);
    }
    if (code == MTS_CODE_OK) {
        describe(engine, shot, picture, &where);
    }
    if (code == MTS_CODE_OK && !shot->borrowed) {
        gather(engine, shot, way, picture, &layout, &where);
    }
    return code;
}

mts_code mts_engine_check_picture(mts_engine *engine, const mts_picture *picture, mts_error *error)
{
    uint32_t list = 0;
    const mts_code code = find_list(engine, MTS_NONE, &list, error);
    return code == MTS_CODE_OK ? check_regions(engine, &engine->pictures.lists[list], picture, error) : code;
}

static mts_code enqueue(mts_buffer *buffer, const engine_piece *piece, bool stays, mts_error *error)
{
    return stays ? mts_buffer_send(buffer, piece->to, piece->from, piece->size, error)
                 : mts_buffer_write(buffer, piece->to, piece->from, piece->size, error);
}

mts_code mts_picture_hand_over(mts_engine *engine, engine_flight *flight, mts_error *error)
{
    engine_pictures *p = &engine->pictures;
    const engine_shot *shot = &flight->shot;
    engine_picture_list *list = &p->lists[shot->list];
    const engine_piece records = {.from = &shot->records[list->first],
                                  .to = list->first * sizeof *shot->records,
                                  .size = list->count * sizeof *shot->records};
    /* Always: what was enqueued before a failure may never have arrived. */
    mts_code code = enqueue(p->table, &records, shot->alone, error);
    for (uint32_t i = 0; code == MTS_CODE_OK && i < shot->piece_count; i++) {
        code = enqueue(p->buffer, &shot->pieces[i], shot->alone && !shot->brief, error);
    }
    if (code == MTS_CODE_OK && !shot->borrowed && list->list == NULL) {
        const mts_launch launch = launch_of(engine, list, p->buffer);
        code = mts_list_create(engine->device, &launch, 1, &list->list, error);
    }
    if (code == MTS_CODE_OK) {
        code = mts_list_submit(shot->borrowed ? shot->borrowings[shot->list].list : list->list, error);
    }
    return code;
}

mts_code mts_engine_set_picture(mts_engine *engine, uint32_t task, const mts_picture *picture,
                                mts_error *error)
{
    engine_flight *flight = mts_flight_next(engine, error);
    if (flight == NULL) {
        return MTS_CODE_BUSY;
    }
    const mts_picture_way way = {.task = task, .now = true};
    mts_code code = mts_picture_prepare(engine, flight, &way, picture, error);
    if (code == MTS_CODE_OK) {
        code = mts_picture_hand_over(engine, flight, error);
        if (code != MTS_CODE_OK) {
            (void)mts_device_wait(engine->device, NULL); /* the launch may be under way all the same */
            mts_buffer_destroy(&flight->shot.borrowings[flight->shot.list].buffer);
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

mts_code mts_engine_set_regions(mts_engine *engine, uint32_t task, const mts_picture_regions *regions,
                                mts_error *error)
{
    const uint32_t count = regions->count;
    uint32_t index = 0;
    const mts_code code = find_list(engine, task, &index, error);
    if (code != MTS_CODE_OK) {
        return code;
    }
    engine_pictures *p = &engine->pictures;
    const engine_picture_list *list = &p->lists[index];
    for (uint32_t s = 0; s < p->slot_count; s++) {
        if (within(list, &p->lists[s]) && p->lists[s].count < count) {
            return mts_fail(error, MTS_CODE_INVALID_ARGUMENT,
                            "%" PRIu32 " regions are more than the %" PRIu32 " images of the input", count,
                            p->lists[s].count);
        }
    }
    for (uint32_t s = 0; s < p->slot_count; s++) {
        if (within(list, &p->lists[s])) {
            show_regions(p, &p->lists[s], regions);
        }
    }
    return MTS_CODE_OK;
}
