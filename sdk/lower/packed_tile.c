/*
 * packed_tile.c: see packed_tile.h. Not responsible for jobs and launches
 * (encode_packed.c).
 */
#include "lower/packed_tile.h"

#include "device/kernel.h"

/* Those that conv_packed is built for, by products a load: 10.7, 8, 5.3, 3.2. */
static const mts_packed_tile tiles[] = {
    {.rows = 8, .pixels = 4}, {.rows = 4, .pixels = 4}, {.rows = 4, .pixels = 2}, {.rows = 4, .pixels = 1}};
enum { TILES = sizeof tiles / sizeof tiles[0] };

uint32_t mts_packed_registers(const mts_packed_tile *tile, mts_precision precision)
{
    enum { ADDRESSES = 2, OTHERS = 12 }; /* of a pixel; counters, offsets and sizes */
    const uint32_t sums = tile->rows * tile->pixels, pack = MTS_CHANNEL_PACK;
    const uint32_t inputs = pack * tile->pixels, weights = pack;
    const uint32_t half = precision == MTS_PRECISION_FLOAT16 ? (sums + inputs + weights) / 2 : 0;
    return sums + (half > 0 ? half : inputs + weights) + ADDRESSES * tile->pixels + OTHERS;
}

mts_packed_tile mts_packed_tile_choose(const mts_device_info *device, mts_precision precision, bool depthwise,
                                       uint64_t outputs)
{
    const mts_device_defaults *row = mts_device_defaults_find(device);
    const uint64_t wanted = (uint64_t)row->wave * row->waves * device->compute_units;
    uint32_t i = depthwise ? 1 : 0;
    while (i + 1 < TILES &&
           ((row->registers > 0 && mts_packed_registers(&tiles[i], precision) > row->registers) ||
            outputs / (tiles[i].rows / MTS_CHANNEL_PACK * tiles[i].pixels) < wanted)) {
        i++;
    }
    mts_packed_tile tile = tiles[i];
    tile.local = row->tile.local < device->work_group_size ? row->tile.local : device->work_group_size;
    tile.local = tile.local > 0 && device->is_gpu ? tile.local : 1;
    tile.exact = device->is_gpu && row->exact_groups;
    return tile;
}
