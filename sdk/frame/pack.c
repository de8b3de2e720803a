/*
 * pack.c: copies of pictures that are shown much smaller than they are. A small image is mixed of few
 * of a large picture's rows; only these go to the device, two for each row of the image.
 */
#include <string.h>

#include "frame/frame.h"

const mts_picture_region *mts_picture_shown(const engine_image *image, const mts_picture *picture)
{
    return image->show == MTS_PICTURE_SHOW_REGION ? &image->region : &picture->region;
}

static bool is_packable(const mts_frame_params *r)
{
    return !r->turned && !r->box[0] && r->h / 2 >= r->rows;
}

/* An image before this one with the same rows, or this one. */
static uint32_t find_same(const engine_pictures *p, const mts_frame_params *records, uint32_t first,
                          uint32_t image)
{
    const engine_pack *own = &p->packs[image];
    for (uint32_t i = first; i < image; i++) {
        const engine_pack *other = &p->packs[i];
        if (!records[i].idle && other->y == own->y && other->h == own->h && other->rows == own->rows &&
            other->flip == own->flip) {
            return i;
        }
    }
    return image;
}

size_t mts_picture_pack_bytes(engine_pictures *p, const mts_frame_params *records, uint32_t first,
                              uint32_t count, const mts_picture_layout *layout, size_t most)
{
    size_t bytes = 0;
    for (uint32_t i = first; i < first + count; i++) {
        const mts_frame_params *r = &records[i];
        if (r->idle) {
            continue;
        }
        if (!is_packable(r)) {
            return 0;
        }
        p->packs[i] = (engine_pack){.y = r->y, .h = r->h, .rows = r->rows, .flip = r->flip_y};
        const uint32_t same = find_same(p, records, first, i);
        memcpy(p->packs[i].at, p->packs[same].at, sizeof p->packs[i].at);
        for (uint32_t k = 0; same == i && k < layout->planes; k++) {
            p->packs[i].at[k] = (uint32_t)bytes;
            bytes += 2 * (size_t)r->rows * layout->row_bytes[k];
            if (bytes > most) {
                return 0;
            }
        }
    }
    return bytes;
}

/* The two rows of each of an image's rows, upright. */
static void copy(const engine_pack *pack, const mts_picture *picture, const mts_picture_layout *layout,
                 unsigned char *to)
{
    for (uint32_t i = 0; i < 2 * pack->rows; i++) {
        const uint32_t m = (2 * (i / 2) + 1) * pack->h - pack->rows;
        const uint32_t row = m / (2 * pack->rows) + i % 2;
        const uint32_t y = pack->y + (pack->flip ? pack->h - 1 - row : row);
        for (uint32_t k = 0; k < layout->planes; k++) {
            const size_t bytes = layout->row_bytes[k];
            memcpy(to + pack->at[k] + i * bytes,
                   (const char *)picture->plane[k] +
                       (size_t)(y >> (k > 0 ? layout->down : 0)) * picture->stride[k],
                   bytes);
        }
    }
}

void mts_picture_pack(engine_pictures *p, mts_frame_params *records, uint32_t first, uint32_t count,
                      const mts_picture *picture, const mts_picture_layout *layout, unsigned char *to)
{
    mts_picture dense = *picture;
    memcpy(dense.stride, layout->row_bytes, sizeof dense.stride);
    for (uint32_t i = first; i < first + count; i++) {
        mts_frame_params *r = &records[i];
        if (r->idle) {
            continue;
        }
        if (find_same(p, records, first, i) == i) {
            copy(&p->packs[i], picture, layout, to);
        }
        mts_picture_describe(r, &dense, mts_picture_shown(&p->images[i], picture), p->packs[i].at);
        r->packed = 1;
        r->y = r->flip_y = r->shift[0] = 0;
    }
}
