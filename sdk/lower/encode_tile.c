/*
 * encode_tile.c: conv_tile: shapes of its tiles to measure, and a layer's jobs -> a
 * sorted tile list, one launch. Not responsible for the usual shapes
 * (plan/device_defaults.c).
 */
#include "lower/encode_tile.h"

#include <stdlib.h>

#include "base/size.h"
#include "lower/conv_jobs.h"
#include "lower/encoders.h"
#include "lower/row_lanes.h"
#include "plan/device_defaults.h"

/* ---- shapes ---- */

enum { GPU_ROWS = 8 }; /* of the kernel's larger case there */

mts_kernel_config mts_tile_clamp(const mts_device_info *device, mts_kernel_config config)
{
    config.local = config.local > device->work_group_size ? device->work_group_size : config.local;
    config.local = config.local == 0 || !device->is_gpu ? 1 : config.local;
    config.rows = config.rows == 0 ? 1 : device->is_gpu && config.rows > GPU_ROWS ? GPU_ROWS : config.rows;
    config.vectors = config.vectors == 0 ? 1 : config.vectors;
    return config;
}

mts_kernel_config mts_tile_usual(const mts_device_info *device)
{
    return mts_tile_clamp(device, mts_device_defaults_find(device)->tile);
}

bool mts_tile_prefers(const mts_device_info *device, const mts_layer_facts *facts, mts_kernel_config *out)
{
    (void)facts;
    *out = mts_tile_usual(device);
    return true;
}

/* Rows and vectors around the usual ones; a GPU, which has blocks besides, takes the
 * first few rows and then other work-groups. */
bool mts_tile_candidate(const mts_device_info *device, uint32_t index, mts_kernel_config *out)
{
    static const uint32_t rows[] = {8, 4, 13, 6, 10};
    /* Of twice the vectors: 1, 1/2, 2, 1/4 times the usual ones. */
    static const uint32_t halves[] = {2, 4, 1, 8};
    enum { HALVES = sizeof halves / sizeof halves[0], LOCAL_LEAST = 16, LOCALS = 5 };
    const uint32_t row_count = device->is_gpu ? 2 : sizeof rows / sizeof rows[0];
    /* Rows are built for, vectors are not. */
    const uint32_t row = index / HALVES;
    *out = mts_tile_usual(device);
    if (row <= row_count) {
        out->rows = row == 0 ? out->rows : rows[row - 1];
        out->vectors = out->vectors * 2 / halves[index % HALVES];
        return true;
    }
    const uint32_t local = index - (row_count + 1) * HALVES;
    out->local = (uint32_t)LOCAL_LEAST << (local < LOCALS ? local : 0);
    return device->is_gpu && local < LOCALS;
}

/* ---- launches ---- */

/*
 * Floats of input that consecutive tiles work on: half of a core's second level cache.
 * Row blocks take turns on such a batch, so that it is fetched once and each block's
 * weights serve all of it.
 */
enum { BATCH_FLOATS = 256 * 1024 };

static size_t count_tiles(const mts_tiler *t, uint32_t most)
{
    size_t tiles = 0;
    for (size_t i = 0; i < t->job_count; i++) {
        tiles += (t->jobs[i].params.pixels + most - 1) / most;
    }
    return tiles;
}

/*
 * Pixels of a tile. A CPU's work-item walks its tile alone: long tiles hide what a
 * work-group costs, shorter ones share a layer of few jobs out evenly. A GPU's group of
 * `local` work-items takes a few pixels each.
 */
static void choose_tiles(mts_tiler *t, const mts_kernel_config *config)
{
    const mts_device_info *device = t->encoding->device;
    const uint32_t units = device->compute_units > 0 ? device->compute_units : 1;
    const size_t enough = t->encoding->tiles_least > 0
                              ? t->encoding->tiles_least
                              : (size_t)mts_device_defaults_find(device)->tiles_per_unit * units;
    uint32_t most = config->vectors * (device->is_gpu ? config->local : device->vector_floats);
    while (!device->is_gpu && most >= 8 * MTS_PLAN_ALIGN && count_tiles(t, most) < enough) {
        most /= 2;
    }
    for (size_t i = 0; i < t->job_count; i++) {
        mts_conv_params *r = &t->jobs[i].params;
        const uint32_t align = r->plane > 0 ? 4 : MTS_PLAN_ALIGN;
        const uint32_t longest = r->plane > 0 ? MTS_ROW_LANES_TILE : most;
        const uint32_t parts = (r->pixels + longest - 1) / longest;
        const uint32_t even = (r->pixels + parts - 1) / parts;
        r->tile = (even + align - 1) / align * align;
    }
}

/* A tile while its place in the list is sought. */
typedef struct placed {
    mts_tile_params params;
    uint32_t in;     /* of its mts_tile_job */
    uint32_t batch;  /* of input that it reads */
    uint32_t job;    /* position in the sorted jobs */
    uint64_t floats; /* of input that it reads */
} placed;

static int by_input(const void *left, const void *right)
{
    const placed *a = left, *b = right;
    return mts_order(MTS_COMPARE(a->in, b->in),
                     mts_order(MTS_COMPARE(a->params.pixel, b->params.pixel), MTS_COMPARE(a->job, b->job)));
}

static int by_batch(const void *left, const void *right)
{
    const placed *a = left, *b = right;
    return mts_order(MTS_COMPARE(a->batch, b->batch),
                     mts_order(MTS_COMPARE(a->job, b->job), MTS_COMPARE(a->params.pixel, b->params.pixel)));
}

/* A tile reads the same pixels of each channel, in each of the phases that its taps point
   into. */
static uint64_t input_floats(const mts_tile_job *j)
{
    const mts_conv_params *r = &j->params;
    const uint32_t phases = r->in_pitch / r->pixels;
    const uint32_t planes = phases < r->taps ? phases : r->taps;
    return j->work / ((r->rows_a + r->rows_b) * r->taps) * r->tile * (planes > 0 ? planes : 1);
}

static size_t list_tiles(const mts_tiler *t, placed *tiles)
{
    size_t count = 0;
    for (size_t i = 0; i < t->job_count; i++) {
        const mts_tile_job *j = &t->jobs[i];
        for (uint32_t p = 0; p < j->params.pixels; p += j->params.tile) {
            if (tiles) {
                tiles[count] = (placed){.params = {.job = j->at, .pixel = p},
                                        .in = j->params.in,
                                        .job = (uint32_t)i,
                                        .floats = input_floats(j)};
            }
            count++;
        }
    }
    return count;
}

static bool reads_as_before(const placed *tiles, size_t i)
{
    return i > 0 && tiles[i].in == tiles[i - 1].in && tiles[i].params.pixel == tiles[i - 1].params.pixel;
}

/* Cuts the input, in its order in memory, into batches, one for each unit at least: what a
   thread reads is then mostly what it wrote. */
static void form_batches(placed *tiles, size_t count, uint32_t units)
{
    uint32_t batch = 0;
    uint64_t floats = 0, all = 0;
    qsort(tiles, count, sizeof *tiles, by_input);
    for (size_t i = 0; i < count; i++) {
        all += reads_as_before(tiles, i) ? 0 : tiles[i].floats;
    }
    const uint64_t part = units > 0 ? (all + units - 1) / units : all;
    const uint64_t most = part < BATCH_FLOATS ? part : BATCH_FLOATS;
    for (size_t i = 0; i < count; i++) {
        const bool same = reads_as_before(tiles, i);
        if (!same && floats > 0 && floats + tiles[i].floats > most) {
            batch++;
            floats = 0;
        }
        floats += same ? 0 : tiles[i].floats;
        tiles[i].batch = batch;
    }
    qsort(tiles, count, sizeof *tiles, by_batch);
}

/* Writes the list of tiles. A GPU runs many at once: it meets them in the order of the
   jobs. */
static uint32_t write_tiles(mts_tiler *t, uint32_t **masks, size_t *count)
{
    const uint32_t first = (uint32_t)t->encoding->params.count;
    *count = list_tiles(t, NULL);
    placed *tiles = mts_arena_zero(&t->scratch, *count, sizeof *tiles);
    *masks = mts_arena_zero(&t->scratch, *count, sizeof **masks);
    if (!tiles || !*masks) {
        mts_tiler_memory(t);
        return first;
    }
    list_tiles(t, tiles);
    if (!t->encoding->device->is_gpu) {
        form_batches(tiles, *count, t->encoding->device->compute_units);
    }
    for (size_t i = 0; i < *count; i++) {
        mts_param_buffer_add(&t->encoding->params, &tiles[i].params, MTS_PARAM_WORDS(mts_tile_params));
        (*masks)[i] = t->jobs[tiles[i].job].task_mask;
    }
    return first;
}

mts_status mts_tile_launch(mts_tiler *t, const mts_kernel_config *config, mts_encoded_launch launch)
{
    mts_encoding *l = t->encoding;
    const uint32_t local = config->local;
    choose_tiles(t, config);
    size_t tiles = 0;
    uint32_t *masks = NULL;
    mts_tiler_write(t);
    launch.members = t->members;
    launch.first = write_tiles(t, &masks, &tiles);
    launch.label = mts_tiler_label(t);
    if (t->status != MTS_STATUS_OK || tiles * local > UINT32_MAX) {
        return mts_encode_memory(l);
    }
    launch.global[0] = (uint32_t)tiles * local;
    launch.local[0] = local;
    launch.global[1] = launch.global[2] = launch.local[1] = launch.local[2] = 1;
    t->status = mts_encode_launch(l, &launch);
    if (t->status == MTS_STATUS_OK) {
        mts_tiler_entries(t, MTS_ENTRY_TILE, masks, tiles);
    }
    return t->status;
}

/* Tiles of a layer at least, if its tasks share nothing. */
static uint64_t estimate_tiles(const mts_layer_facts *facts, const mts_kernel_config *c)
{
    const uint64_t pixels = (uint64_t)facts->height * facts->width;
    const uint64_t across = (uint64_t)c->vectors * c->local;
    const uint64_t rows = facts->out_channels / facts->conv->group;
    return facts->members * facts->conv->group * ((rows + c->rows - 1) / c->rows) *
           ((pixels + across - 1) / across);
}

/*
 * Where a GPU would have fewer tiles than the step needs, each has fewer pixels, then fewer
 * rows. A weight is then used for fewer pixels and an input for fewer rows, which costs
 * less than units that have nothing to do. What was measured stays as it is.
 */
static mts_kernel_config cut_finer(const mts_encoding *encoding, const mts_kernel_config *config)
{
    enum { ROWS_FEWEST = 4 }; /* fewer are computed as four */
    mts_kernel_config c = mts_tile_clamp(encoding->device, *config);
    if (encoding->tiles_least == 0 || !encoding->device->is_gpu || !encoding->facts.conv ||
        (encoding->measured && mts_kernel_config_equal(config, &encoding->config))) {
        return c;
    }
    while ((c.vectors > 1 || c.rows > ROWS_FEWEST) &&
           estimate_tiles(&encoding->facts, &c) < encoding->tiles_least) {
        c.rows = c.vectors > 1 ? c.rows : c.rows / 2;
        c.vectors = c.vectors > 1 ? c.vectors / 2 : 1;
    }
    return c;
}

mts_status mts_encode_tile(mts_encoding *encoding, const mts_layer *layer, const mts_kernel_config *config)
{
    const mts_kernel_config finer = cut_finer(encoding, config);
    mts_tiler t;
    bool lanes = false;
    if (MTS_HAS_ROW_LANES) {
        const mts_status status = mts_row_lanes_choose(encoding, layer, finer.rows, &lanes);
        if (status != MTS_STATUS_OK) {
            return status;
        }
    }
    if (lanes) {
        mts_tiler_open_lanes(&t, encoding, layer);
    } else {
        mts_tiler_open(&t, encoding, layer, finer.rows, &encoding->cases);
    }
    const mts_encoded_launch launch = {.kind = MTS_LAUNCH_TILES, .kernel = "conv_tile__f32_planar"};
    const mts_status status = t.status == MTS_STATUS_OK ? mts_tile_launch(&t, &finer, launch) : t.status;
    mts_tiler_close(&t);
    return status;
}
