/*
 * stage.c: what is taken of a picture when it comes: hold of its memory, or the rows that are going
 * to be read; and what its images' records say. Not responsible for giving that to the device (picture.c).
 */
#include <string.h>

#include "engine/engine_internal.h"

#define PLANE_ALIGN ((size_t)64)
#define GAP_MOST ((size_t)65536) /* between the planes of memory that is borrowed */

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
static mts_status borrow(mts_engine *engine, engine_shot *shot, const mts_picture *picture,
                         const mts_picture_layout *layout, placement *where, mts_error *error)
{
    engine_borrowing *borrowing = &shot->borrowings[shot->list];
    const size_t bytes = picture->zero_copy &&
                                 (engine->device->info.imports & MTS_MEMORY_BIT(MTS_MEMORY_HOST)) != 0 &&
                                 !borrowing->buffer
                             ? contiguous_bytes(picture, layout, where->at)
                             : 0;
    if (bytes == 0) {
        return MTS_STATUS_OK;
    }
    const mts_memory memory = {.kind = MTS_MEMORY_HOST, .host = picture->plane[0], .size = bytes};
    mts_status code = mts_buffer_import(engine->device, &memory, &borrowing->buffer, error);
    if (code == MTS_STATUS_OK) {
        code = mts_picture_refer(engine, &engine->pictures.lists[shot->list], borrowing, error);
        if (code != MTS_STATUS_OK) {
            mts_buffer_destroy(&borrowing->buffer);
        }
        shot->borrowed = code == MTS_STATUS_OK;
    }
    return code == MTS_STATUS_UNSUPPORTED ? MTS_STATUS_OK : code;
}

/* Bytes of a foreign memory up to the end of the last plane. */
static size_t foreign_bytes(const mts_picture *picture, const mts_picture_layout *layout)
{
    size_t end = 0;
    for (uint32_t k = 0; k < layout->planes; k++) {
        const size_t plane = picture->offset[k] + mts_picture_plane_bytes(layout, picture->stride, k);
        end = plane > end ? plane : end;
    }
    return end;
}

/*
 * Takes hold of the memory that a foreign picture lies in: where the device reads it, nothing is copied;
 * elsewhere *begun is to be ended when the rows have been, and *host is the picture as the processor sees it.
 */
static mts_status begin_foreign(mts_engine *engine, engine_shot *shot, const mts_picture_layout *layout,
                                mts_picture *host, placement *where, engine_foreign **begun, mts_error *error)
{
    engine_borrowing *borrowing = &shot->borrowings[shot->list];
    const mts_memory memory = {
        .kind = host->memory, .host = host->handle, .fd = host->fd, .size = foreign_bytes(host, layout)};
    engine_foreign *foreign = NULL;
    const void *address = NULL;
    mts_status code = mts_foreign_get(engine, &memory, &foreign, error);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    if (foreign->buffer && !borrowing->buffer) {
        *borrowing =
            (engine_borrowing){.list = borrowing->list, .buffer = foreign->buffer, .foreign = foreign};
        foreign->users++;
        memcpy(where->at, host->offset, sizeof where->at);
        code = mts_picture_refer(engine, &engine->pictures.lists[shot->list], borrowing, error);
        if (code != MTS_STATUS_OK) {
            mts_picture_let_go(borrowing);
        }
        shot->borrowed = code == MTS_STATUS_OK;
        return code;
    }
    code = mts_foreign_begin(engine, foreign, &address, error);
    if (code == MTS_STATUS_OK) {
        *begun = foreign;
        host->memory = MTS_MEMORY_HOST;
        host->zero_copy = false;
        for (uint32_t k = 0; k < layout->planes; k++) {
            host->plane[k] = (const char *)address + host->offset[k];
        }
    }
    return code;
}

static mts_status place(mts_engine *engine, engine_shot *shot, const mts_picture *picture,
                        const mts_picture_layout *layout, placement *where, bool keep, mts_error *error)
{
    const mts_status code = borrow(engine, shot, picture, layout, where, error);
    if (code != MTS_STATUS_OK || shot->borrowed) {
        return code;
    }
    for (uint32_t k = 0; k < layout->planes; k++) {
        where->at[k] = (uint32_t)where->bytes;
        where->bytes += mts_picture_plane_bytes(layout, picture->stride, k);
        where->bytes = (where->bytes + PLANE_ALIGN - 1) / PLANE_ALIGN * PLANE_ALIGN;
    }
    return mts_picture_room(engine, shot, where->bytes, keep, error);
}

static mts_status check_regions(const mts_engine *engine, const engine_picture_list *list,
                                const mts_picture *picture, mts_error *error)
{
    mts_status code = MTS_STATUS_OK;
    for (uint32_t i = list->first; code == MTS_STATUS_OK && i < list->first + list->count; i++) {
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
        const mts_frame_params *r = &shot->records[i];
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
    shot->brief = way->now && !picture->zero_copy;
    if (!shot->brief && !picture->zero_copy) {
        keep_pieces(shot);
    }
}

/* From a picture that the processor sees, or that the device reads where it lies. */
static mts_status take(mts_engine *engine, engine_shot *shot, const mts_picture_way *way,
                       const mts_picture *picture, const mts_picture_layout *layout, placement *where,
                       mts_error *error)
{
    const mts_status code =
        shot->borrowed ? MTS_STATUS_OK : place(engine, shot, picture, layout, where, !way->now, error);
    if (code == MTS_STATUS_OK) {
        describe(engine, shot, picture, where);
    }
    if (code == MTS_STATUS_OK && !shot->borrowed) {
        gather(engine, shot, way, picture, layout, where);
    }
    return code;
}

mts_status mts_picture_prepare(mts_engine *engine, engine_flight *flight, const mts_picture_way *way,
                               const mts_picture *picture, mts_error *error)
{
    const mts_picture_layout layout = mts_picture_lay_out(picture->format, picture->width, picture->height);
    engine_shot *shot = &flight->shot;
    engine_foreign *begun = NULL;
    mts_picture host = *picture;
    mts_picture_way how = *way;
    placement where = {0};
    mts_status code = mts_picture_find_list(engine, way->task, &shot->list, error);
    shot->alone = way->alone;
    shot->borrowed = shot->brief = false;
    shot->piece_count = 0;
    MTS_TRY(code, check_regions(engine, &engine->pictures.lists[shot->list], picture, error));
    MTS_TRY(code, mts_picture_make_kernel(engine, error));
    if (code == MTS_STATUS_OK && picture->memory != MTS_MEMORY_HOST) {
        how.now = false; /* the processor sees it only until the end of this call */
        code = begin_foreign(engine, shot, &layout, &host, &where, &begun, error);
    }
    MTS_TRY(code, take(engine, shot, &how, &host, &layout, &where, error));
    if (begun) {
        mts_foreign_end(engine, begun);
    }
    return code;
}
