/*
 * packed_tile.c: see packed_tile.h. Not responsible for jobs and launches
 * (encode_packed.c).
 */
#include "lower/packed_tile.h"

#include "base/size.h"
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

bool mts_packed_joins(const mts_device_info *device, mts_precision precision)
{
    return precision != MTS_PRECISION_FLOAT16 || mts_device_defaults_find(device)->registers == 0;
}

typedef struct tile_choice {
    const mts_device_defaults *row;
    uint64_t wave;
    uint64_t units;
    uint32_t largest; /* of tiles[] that the registers hold */
    const mts_packed_work *works;
    uint32_t count;
} tile_choice;

/* Packs that a work-item computes. */
static uint32_t packs_of(const mts_packed_tile *tile, const mts_packed_work *work)
{
    return (work->depthwise ? 1 : tile->rows / MTS_CHANNEL_PACK) * tile->pixels;
}

static uint32_t tile_alone(const tile_choice *c, const mts_packed_work *work)
{
    const uint64_t wanted = c->wave * c->row->waves * c->units;
    uint32_t i = work->depthwise && c->largest == 0 ? 1 : c->largest;
    while (i + 1 < TILES && work->outputs / packs_of(&tiles[i], work) < wanted) {
        i++;
    }
    return i;
}

/* Time of a work-item, in multiply-adds. A load takes as long as LOAD of them. */
static uint64_t item_time(const mts_packed_tile *tile, const mts_packed_work *work)
{
    enum { LOAD = 4 };
    const uint32_t rows = work->depthwise ? MTS_CHANNEL_PACK : tile->rows;
    const uint32_t loads =
        work->depthwise ? LOAD * (1 + tile->pixels) : LOAD * (rows + tile->pixels) / MTS_CHANNEL_PACK;
    return work->products * (rows * tile->pixels + loads);
}

/* Time of a launch of all works: of all work-items on all units, or of the longest one, whose
   wave waits for memory as it has a unit for itself. */
static uint64_t launch_time(const tile_choice *c, uint32_t i)
{
    uint64_t sum = 0;
    uint64_t longest = 0;
    for (uint32_t w = 0; w < c->count; w++) {
        const mts_packed_work *work = &c->works[w];
        const uint64_t item = item_time(&tiles[i], work);
        sum += item * mts_u64_ceil_div(work->outputs, packs_of(&tiles[i], work));
        longest = item > longest ? item : longest;
    }
    const uint64_t alone = longest * c->wave * c->row->waves;
    return sum / c->units > alone ? sum / c->units : alone;
}

/* The tile of a launch of all works. */
static uint32_t tile_together(const tile_choice *c)
{
    const uint32_t own = tile_alone(c, &c->works[0]);
    bool differ = false;
    uint32_t best = c->largest;
    for (uint32_t w = 1; w < c->count; w++) {
        differ = differ || tile_alone(c, &c->works[w]) != own;
    }
    for (uint32_t i = best + 1; differ && i < TILES; i++) {
        best = launch_time(c, i) < launch_time(c, best) ? i : best;
    }
    return differ ? best : own;
}

/* Work-items of a group: those of the row, in whole waves, as far as the device has them. */
static uint32_t choose_local(const mts_device_info *device, uint32_t usual, uint32_t wave)
{
    const uint32_t most = device->work_group_size;
    const uint32_t whole = wave > 0 ? mts_u32_ceil_div(usual, wave) * wave : usual;
    const uint32_t local = whole <= most ? whole : usual < most ? usual : most;
    return local > 0 && device->is_gpu ? local : 1;
}

mts_packed_tile mts_packed_tile_choose(const mts_device_info *device, mts_precision precision,
                                       const mts_packed_work *works, uint32_t count)
{
    tile_choice c = {.row = mts_device_defaults_find(device),
                     .wave = mts_device_wave(device),
                     .units = device->compute_units > 0 ? device->compute_units : 1,
                     .works = works,
                     .count = count};
    while (c.row->registers > 0 && c.largest + 1 < TILES &&
           mts_packed_registers(&tiles[c.largest], precision) > c.row->registers) {
        c.largest++;
    }
    mts_packed_tile tile = tiles[tile_together(&c)];
    tile.local = choose_local(device, c.row->tile.local, (uint32_t)c.wave);
    tile.exact = device->is_gpu && c.row->exact_groups;
    return tile;
}
