/*
 * pack.c: copies of the rows that small images are made of. Each row of an image is mixed
 * of two rows of the frame; only these go to the device.
 */
#include "frame/pack.h"

#include <string.h>

static bool is_packable(const mts_frame_params *r)
{
    return !r->turned_by && !r->turned && !r->box[0] && r->h / 2 >= r->rows;
}

/* The first image of the batch that is made of the same rows. */
static uint32_t find_same(const mts_frame_batch *batch, uint32_t image)
{
    const mts_frame_pack *own = &batch->packs[image];
    for (uint32_t i = batch->first; i < image; i++) {
        const mts_frame_pack *other = &batch->packs[i];
        if (!batch->params[i].idle && other->y == own->y && other->h == own->h && other->rows == own->rows &&
            other->flip == own->flip) {
            return i;
        }
    }
    return image;
}

size_t mts_frame_pack_bytes(const mts_frame_batch *batch, const mts_frame_planes *planes, size_t most)
{
    size_t bytes = 0;
    for (uint32_t i = batch->first; i < batch->first + batch->count; i++) {
        const mts_frame_params *r = &batch->params[i];
        mts_frame_pack *pack = &batch->packs[i];
        if (r->idle) {
            continue;
        }
        if (!is_packable(r)) {
            return 0;
        }
        *pack = (mts_frame_pack){.y = r->y, .h = r->h, .rows = r->rows, .flip = r->flip_y};
        const uint32_t same = find_same(batch, i);
        memcpy(pack->at, batch->packs[same].at, sizeof pack->at);
        for (uint32_t k = 0; same == i && k < planes->count; k++) {
            pack->at[k] = (uint32_t)bytes;
            bytes += 2 * (size_t)r->rows * planes->row_bytes[k];
            if (bytes > most) {
                return 0;
            }
        }
    }
    return bytes;
}

/* Copies the two rows of each row of an image, upright. */
static void copy(const mts_frame_pack *pack, const mts_frame_view *view, unsigned char *to)
{
    for (uint32_t i = 0; i < 2 * pack->rows; i++) {
        const uint32_t m = (2 * (i / 2) + 1) * pack->h - pack->rows;
        const uint32_t row = m / (2 * pack->rows) + i % 2;
        const uint32_t y = pack->y + (pack->flip ? pack->h - 1 - row : row);
        for (uint32_t k = 0; k < view->planes.count; k++) {
            const size_t bytes = view->planes.row_bytes[k];
            memcpy(to + pack->at[k] + i * bytes,
                   (const char *)view->plane[k] +
                       (size_t)(y >> (k > 0 ? view->planes.down : 0)) * view->stride[k],
                   bytes);
        }
    }
}

void mts_frame_pack_rows(const mts_frame_batch *batch, const mts_frame_view *view, unsigned char *to)
{
    mts_frame_view dense = *view;
    memcpy(dense.stride, view->planes.row_bytes, sizeof dense.stride);
    for (uint32_t i = batch->first; i < batch->first + batch->count; i++) {
        mts_frame_params *r = &batch->params[i];
        if (r->idle) {
            continue;
        }
        if (find_same(batch, i) == i) {
            copy(&batch->packs[i], view, to);
        }
        mts_frame_params_place(r, &dense, batch->packs[i].at);
        r->packed = 1;
        r->y = r->flip_y = r->shift[0] = 0;
    }
}
