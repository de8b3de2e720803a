/*
 * test_kernels_conv.c: the kernels with weights (stitched convolution, fully connected) agree with
 * the reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lower/encode_block.h"
#include "support/conv_image.h"

#define EPILOGUES_MOST 3
#define MEMBERS 3
#define FC_MEMBERS 8
/* A function that is not simple is applied to what was stored: x near -3 rounded to float16, times its slope.
 */
#define STORED_BEFORE_FUNCTION 1e-3f

static uint32_t segments(kernel_pair *pair, mts_conv_params *job, uint32_t channels)
{
    mts_segment_params list[3];
    uint32_t channel = 0;
    job->segments = kernel_pair_pick(pair, 1, channels < 3 ? channels : 3);
    for (uint32_t s = 0; s < job->segments; s++) {
        list[s].channel = channel;
        list[s].count = s + 1 < job->segments ? 1 : channels - channel;
        list[s].weight_a = kernel_pair_pool(pair, list[s].count * job->taps * job->rows_a);
        list[s].weight_b =
            job->rows_b ? kernel_pair_pool(pair, list[s].count * job->taps * job->rows_b) : MTS_PARAM_NONE;
        channel += list[s].count;
    }
    return kernel_pair_words(pair, list, job->segments * MTS_PARAM_WORDS(mts_segment_params));
}

#define CASES " -DCASES=CASE(8,0)CASE(5,0)CASE(4,3)CASE(3,0)CASE(1,2)"
#define QUADS " -DCASES=CASE(4,0)CASE(4,4)" /* the same on GPUs */
static const uint32_t cases[5][2] = {{8, 0}, {5, 0}, {4, 3}, {3, 0}, {1, 2}};

static mts_conv_params conv_job(kernel_pair *pair)
{
    const conv_image i = conv_image_random(pair);
    const uint32_t channels = kernel_pair_pick(pair, 1, 7);
    const uint32_t pick = kernel_pair_pick(pair, 0, 4);
    mts_epilogue_params list[EPILOGUES_MOST];
    mts_conv_params job = {
        .rows_a = cases[pick][0], .rows_b = cases[pick][1], .pixels = i.pixels, .in_pitch = i.pitch};
    job.taps = i.kernel * i.kernel;
    job.tap = conv_image_taps(pair, &i);
    job.in = conv_image_place(pair, &i, channels);
    job.tile = CONV_VECTOR * kernel_pair_pick(pair, 1, 30);
    job.mask = conv_image_mask(pair, &i);
    job.segment = segments(pair, &job, channels);
    job.epilogues = kernel_pair_pick(pair, 1, EPILOGUES_MOST);
    for (uint32_t k = 0; k < job.epilogues; k++) {
        list[k] = conv_image_epilogue(pair, &i, job.rows_a + job.rows_b);
    }
    job.epilogue = kernel_pair_words(pair, list, job.epilogues * MTS_PARAM_WORDS(mts_epilogue_params));
    return job;
}

static void conv_agrees_for_segments_blocks_epilogues_and_tiles(void **state)
{
    static const struct {
        const char *defines;
        uint32_t local;
    } builds[] = {{"-DVEC=16" CASES, 1}, {"-DVEC=4" CASES, 2}, {"-DVEC=1 -DREGS=40" QUADS, 16}};
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 16; n++) {
        mts_tile_params tiles[256];
        uint32_t count = 0;
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f; /* sums of up to 175 products, times a scale */
        pair->half_slack = STORED_BEFORE_FUNCTION;
        for (uint32_t m = 0; m < MEMBERS; m++) {
            const mts_conv_params job = conv_job(pair);
            const uint32_t at = kernel_pair_words(pair, &job, MTS_PARAM_WORDS(mts_conv_params));
            for (uint32_t p = 0; p < job.pixels; p += job.tile) {
                tiles[count++] = (mts_tile_params){at, p};
            }
        }
        const uint32_t first = kernel_pair_words(pair, tiles, count * MTS_PARAM_WORDS(mts_tile_params));
        for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
            const uint32_t local[3] = {builds[i].local, 1, 1};
            const uint32_t grid[3] = {count * local[0], 1, 1};
            kernel_pair_run(pair, "conv_tile__f32_planar", builds[i].defines, first, grid, local);
        }
    }
}

/* ---- conv_tile, rows as lanes ---- */

#define LANES_ROWS 16u
#define LANES_IMAGES 4u
#define LANES_TILE 28u

/* The epilogue of several images, whose planes follow each other. */
static mts_epilogue_params lanes_epilogue(kernel_pair *pair, const conv_image *i, uint32_t rows,
                                          uint32_t images)
{
    mts_epilogue_params e = conv_image_epilogue(pair, i, rows);
    e.res = e.res == MTS_PARAM_NONE ? e.res : conv_image_place(pair, i, rows * images);
    e.out = conv_image_place(pair, i, rows * images);
    kernel_pair_may_write(pair, e.out - i->gap, rows * images * i->pitch + i->tail);
    return e;
}

static mts_conv_params lanes_job(kernel_pair *pair)
{
    const uint32_t channels = kernel_pair_pick(pair, 1, 40), images = kernel_pair_pick(pair, 1, LANES_IMAGES);
    mts_epilogue_params list[EPILOGUES_MOST];
    conv_image i = conv_image_random(pair);
    i.h = kernel_pair_pick(pair, 1, 9);
    i.row = i.w = kernel_pair_pick(pair, 1, 9);
    i.kernel = 1;
    i.pad = 0;
    i.gap = CONV_VECTOR * kernel_pair_pick(pair, 0, 1);
    i.pixels = (i.h * i.row + 3) / 4 * 4;
    i.pitch = i.gap + conv_align(i.pixels) + CONV_VECTOR * kernel_pair_pick(pair, 0, 1);
    mts_conv_params job = {.rows_a = kernel_pair_pick(pair, 1, LANES_ROWS),
                           .pixels = images * i.pixels,
                           .plane = i.pixels,
                           .in_pitch = i.pitch,
                           .in_image = channels * i.pitch,
                           .taps = 1,
                           .mask = MTS_PARAM_NONE};
    job.out_image = job.res_image = job.rows_a * i.pitch;
    job.tap = conv_image_taps(pair, &i);
    job.in = conv_image_place(pair, &i, channels * images);
    job.tile = 4 * kernel_pair_pick(pair, 1, LANES_TILE / 2);
    job.segment = segments(pair, &job, channels);
    job.epilogues = kernel_pair_pick(pair, 1, EPILOGUES_MOST);
    for (uint32_t k = 0; k < job.epilogues; k++) {
        list[k] = lanes_epilogue(pair, &i, job.rows_a, images);
    }
    job.epilogue = kernel_pair_words(pair, list, job.epilogues * MTS_PARAM_WORDS(mts_epilogue_params));
    return job;
}

/* Input, or output and residual, or all lie in blocks of channels: of two blocks one is stored. */
static mts_conv_params blocks_job(kernel_pair *pair)
{
    enum { STORED = 2 * LANES_ROWS };
    const uint32_t blocks = kernel_pair_pick(pair, 1, 3);
    const uint32_t block = LANES_ROWS * kernel_pair_pick(pair, 0, 1);
    const uint32_t channels =
        blocks & MTS_BLOCKS_IN ? LANES_ROWS * kernel_pair_pick(pair, 1, 3) : kernel_pair_pick(pair, 1, 40);
    uint32_t index[LANES_ROWS];
    mts_epilogue_params list[EPILOGUES_MOST];
    conv_image i = {.h = kernel_pair_pick(pair, 1, 9), .kernel = 1};
    i.row = i.w = kernel_pair_pick(pair, 1, 9);
    i.pitch = i.pixels = (i.h * i.row + 3) / 4 * 4;
    mts_conv_params job = {.rows_a =
                               blocks & MTS_BLOCKS_OUT ? LANES_ROWS : kernel_pair_pick(pair, 1, LANES_ROWS),
                           .pixels = i.pixels,
                           .plane = i.pixels,
                           .in_pitch = i.pitch,
                           .taps = 1,
                           .mask = MTS_PARAM_NONE,
                           .blocks = blocks};
    job.tap = conv_image_taps(pair, &i);
    job.in = conv_image_place(pair, &i, channels);
    job.tile = 4 * kernel_pair_pick(pair, 1, LANES_TILE / 2);
    const mts_segment_params all = {.weight_a = kernel_pair_pool(pair, channels * job.rows_a),
                                    .weight_b = MTS_PARAM_NONE,
                                    .count = channels};
    job.segments = 1;
    job.segment = kernel_pair_words(pair, &all, MTS_PARAM_WORDS(mts_segment_params));
    job.epilogues = kernel_pair_pick(pair, 1, EPILOGUES_MOST);
    for (uint32_t r = 0; r < LANES_ROWS; r++) {
        index[r] = block + r;
    }
    for (uint32_t k = 0; k < job.epilogues; k++) {
        list[k] = conv_image_epilogue(pair, &i, STORED);
        list[k].index = kernel_pair_words(pair, index, LANES_ROWS);
        list[k].last = MTS_PARAM_NONE;
    }
    job.epilogue = kernel_pair_words(pair, list, job.epilogues * MTS_PARAM_WORDS(mts_epilogue_params));
    return job;
}

static void check_lanes(kernel_pair *pair, mts_conv_params (*make)(kernel_pair *pair))
{
    for (uint32_t n = 0; n < 40; n++) {
        mts_tile_params tiles[256];
        uint32_t count = 0;
        kernel_pair_start(pair, n + 1);
        if (!pair->devices[1]->info.row_lanes) {
            skip();
        }
        pair->tolerance = 1e-4f;
        pair->float32_only = true;
        for (uint32_t m = 0; m < MEMBERS; m++) {
            const mts_conv_params job = make(pair);
            const uint32_t at = kernel_pair_words(pair, &job, MTS_PARAM_WORDS(mts_conv_params));
            for (uint32_t p = 0; p < job.pixels; p += job.tile) {
                tiles[count++] = (mts_tile_params){at, p};
            }
        }
        const uint32_t first = kernel_pair_words(pair, tiles, count * MTS_PARAM_WORDS(mts_tile_params));
        const uint32_t local[3] = {1, 1, 1}, grid[3] = {count, 1, 1};
        kernel_pair_run(pair, "conv_tile__f32_planar", "-DVEC=16", first, grid, local);
    }
    pair->float32_only = false;
}

static void conv_agrees_where_rows_are_lanes_of_one_or_more_images(void **state)
{
    check_lanes(*state, lanes_job);
}

static void conv_agrees_where_operands_lie_in_blocks_of_channels(void **state)
{
    check_lanes(*state, blocks_job);
}

/* ---- conv_block ---- */

#define BLOCK_JOBS 5
#define BLOCK_CHANNELS 6
#define BLOCK_CONV_TAPS_MOST 64 /* as the kernel has it */

/* A build of the kernel. */
typedef struct block_shape {
    uint32_t rows, columns, group, depth, parts;
} block_shape;

/* `job` with an input, outputs and weights of its own, but for the segments that it shares with the first
 * job. */
static mts_conv_params block_twin(kernel_pair *pair, const conv_image *i, const mts_conv_params *first)
{
    mts_segment_params list[3];
    mts_epilogue_params epilogues[2];
    mts_conv_params job = *first;
    memcpy(list, pair->table + first->segment, first->segments * sizeof *list);
    for (uint32_t s = 0; s < job.segments; s++) {
        if (kernel_pair_pick(pair, 0, 1)) {
            list[s].weight_a = kernel_pair_pool(pair, list[s].count * job.taps * job.rows_a);
            list[s].weight_b =
                job.rows_b ? kernel_pair_pool(pair, list[s].count * job.taps * job.rows_b) : MTS_PARAM_NONE;
        }
    }
    job.segment = kernel_pair_words(pair, list, job.segments * MTS_PARAM_WORDS(mts_segment_params));
    job.in = conv_image_place(pair, i, BLOCK_CHANNELS);
    job.mask = conv_image_mask(pair, i);
    job.epilogues = kernel_pair_pick(pair, 1, 2);
    for (uint32_t k = 0; k < job.epilogues; k++) {
        epilogues[k] = conv_image_epilogue(pair, i, job.rows_a + job.rows_b);
    }
    job.epilogue = kernel_pair_words(pair, epilogues, job.epilogues * MTS_PARAM_WORDS(mts_epilogue_params));
    return job;
}

/* Stretches of one to five jobs, side by side in blocks. Returns the table index of the blocks. */
static uint32_t block_list(kernel_pair *pair, const block_shape *shape, uint32_t *blocks)
{
    const conv_image i = conv_image_random(pair);
    const uint32_t jobs = kernel_pair_pick(pair, 1, BLOCK_JOBS);
    mts_block_params list[128];
    mts_conv_params first = {.pixels = i.pixels, .in_pitch = i.pitch, .tile = shape->columns / shape->parts};
    first.rows_a = kernel_pair_pick(pair, 1, shape->rows < CONV_ROWS_MOST ? shape->rows : CONV_ROWS_MOST);
    first.rows_b = kernel_pair_pick(
        pair, 0, (shape->rows < CONV_ROWS_MOST ? shape->rows : CONV_ROWS_MOST) - first.rows_a);
    first.taps = i.kernel * i.kernel;
    first.tap = conv_image_taps(pair, &i);
    first.segment = segments(pair, &first, BLOCK_CHANNELS);
    *blocks = 0;
    for (uint32_t m = 0; m < jobs; m++) {
        const mts_conv_params job = block_twin(pair, &i, &first);
        const uint32_t at = kernel_pair_words(pair, &job, MTS_PARAM_WORDS(mts_conv_params));
        for (uint32_t p = 0; p < job.pixels; p += job.tile) {
            const mts_tile_params stretch = {at, p};
            const uint32_t place_of = kernel_pair_words(pair, &stretch, MTS_PARAM_WORDS(mts_tile_params));
            const mts_block_params *last = *blocks ? &list[*blocks - 1] : NULL;
            const bool joins = last && last->parts < shape->parts &&
                               last->part + last->parts * MTS_PARAM_WORDS(mts_tile_params) == place_of;
            if (joins) {
                list[*blocks - 1].parts++;
            } else {
                list[(*blocks)++] = (mts_block_params){.parts = 1, .part = place_of};
            }
        }
    }
    return kernel_pair_words(pair, list, *blocks * MTS_PARAM_WORDS(mts_block_params));
}

/* A GPU has as much memory for a group as it says, and a program that wants more does not load. */
static bool fits(const kernel_pair *pair, uint64_t local_bytes)
{
    const mts_device_info *info = &pair->devices[1]->info;
    return !info->is_gpu || local_bytes <= info->local_bytes;
}

/* Weights and inputs, twice each, and the taps. */
static uint64_t block_bytes(const block_shape *shape)
{
    return sizeof(float) *
           (2ull * shape->depth * (shape->parts * shape->rows + shape->columns) + BLOCK_CONV_TAPS_MOST);
}

static void conv_block_agrees_for_shapes_parts_and_shared_weights(void **state)
{
    static const block_shape shapes[] = {{32, 64, 128, 8, 1},   {16, 64, 128, 8, 1},   {64, 64, 128, 8, 1},
                                         {16, 32, 64, 32, 1},   {32, 64, 128, 16, 2},  {32, 64, 128, 16, 4},
                                         {32, 128, 128, 16, 1}, {64, 128, 256, 16, 1}, {64, 64, 128, 16, 4},
                                         {32, 32, 64, 32, 1}};
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 3 * sizeof shapes / sizeof shapes[0]; n++) {
        const block_shape *shape = &shapes[n / 3];
        char defines[128];
        uint32_t blocks = 0;
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 2e-4f; /* sums of up to 150 products, times a scale */
        pair->half_slack = STORED_BEFORE_FUNCTION;
        pair->float32_only = n / 3 % 3 != 0; /* each build takes seconds */
        pair->product_slack = 0.1f;          /* sums of 8 such products are float16 too, times a scale */
        if (pair->devices[1]->info.work_group_size < shape->group || !fits(pair, block_bytes(shape))) {
            print_message("no room for %u x %u with %u parts\n", shape->rows, shape->columns, shape->parts);
            continue;
        }
        const uint32_t first = block_list(pair, shape, &blocks);
        const uint32_t local[3] = {shape->group, 1, 1};
        const uint32_t grid[3] = {blocks * shape->group, 1, 1};
        const mts_kernel_config config = {.kernel = MTS_KERNEL_CONFIG_BLOCK,
                                          .rows = shape->rows,
                                          .vectors = shape->columns,
                                          .local = shape->group,
                                          .depth = shape->depth,
                                          .parts = shape->parts};
        for (int matrix = 0; matrix <= mts_block_takes_matrices(&pair->devices[1]->info, &config); matrix++) {
            (void)snprintf(defines, sizeof defines,
                           "-DVEC=1 -DROWS=%u -DCOLUMNS=%u -DGROUP=%u -DDEPTH=%u -DPARTS=%u -DMATRIX=%d",
                           shape->rows, shape->columns, shape->group, shape->depth, shape->parts, matrix);
            kernel_pair_run(pair, "conv_block__f32_planar", defines, first, grid, local);
        }
    }
    pair->float32_only = false;
}

#define WINOGRAD_CASES " -DCASES=CASE(6)CASE(3)CASE(1)"
#define WINOGRAD_CHANNELS 9
#define WINOGRAD_TILE 48u
static const uint32_t winograd_cases[3] = {6, 3, 1};

static uint32_t winograd_rows(kernel_pair *pair, mts_winograd_params *job)
{
    mts_winograd_rows_params list[3];
    uint32_t rows = 0;
    job->blocks = kernel_pair_pick(pair, 1, 3);
    for (uint32_t b = 0; b < job->blocks; b++) {
        mts_segment_params segment[3];
        uint32_t channel = 0;
        list[b].row = rows;
        list[b].rows = winograd_cases[kernel_pair_pick(pair, 0, 2)];
        list[b].segments = kernel_pair_pick(pair, 1, job->channels < 3 ? job->channels : 3);
        for (uint32_t s = 0; s < list[b].segments; s++) {
            const bool last = s + 1 == list[b].segments;
            segment[s] = (mts_segment_params){.weight_b = MTS_PARAM_NONE, .channel = channel};
            segment[s].count = last ? job->channels - channel : 1;
            segment[s].weight_a = kernel_pair_pool(pair, 16 * segment[s].count * list[b].rows);
            channel += segment[s].count;
        }
        list[b].segment =
            kernel_pair_words(pair, segment, list[b].segments * MTS_PARAM_WORDS(mts_segment_params));
        rows += list[b].rows;
    }
    job->block = kernel_pair_words(pair, list, job->blocks * MTS_PARAM_WORDS(mts_winograd_rows_params));
    return rows;
}

/* The column after a row's last one and the first one, which a kernel may take for each other. */
static void clear_sides(kernel_pair *pair, const mts_winograd_params *job)
{
    for (uint32_t c = 0; c < job->channels; c++) {
        for (uint32_t y = 0; y < 2 * (job->tiles / job->columns) + 2; y++) {
            float *row = pair->act + job->in + c * job->in_pitch + y * job->row;
            row[0] = row[2 * job->columns] = 0.0f;
        }
    }
}

static mts_winograd_params winograd_job(kernel_pair *pair)
{
    conv_image i = conv_image_random(pair);
    mts_epilogue_params list[EPILOGUES_MOST];
    mts_winograd_params job = {.in_pitch = i.pitch, .h = i.h, .w = i.w, .row = i.row};
    const bool zeros = kernel_pair_pick(pair, 0, 1) != 0;
    job.channels = kernel_pair_pick(pair, 1, WINOGRAD_CHANNELS);
    job.columns = (i.w + (zeros ? 2 : 3)) / 2;
    job.tiles = job.columns * ((i.h + 1) / 2);
    job.tile = 16 * kernel_pair_pick(pair, 1, WINOGRAD_TILE / 16);
    job.in = conv_image_place(pair, &i, job.channels) - kernel_pair_pick(pair, 0, i.gap);
    if (zeros) {
        clear_sides(pair, &job);
    }
    const uint32_t rows = winograd_rows(pair, &job);
    job.epilogues = kernel_pair_pick(pair, 1, EPILOGUES_MOST);
    for (uint32_t k = 0; k < job.epilogues; k++) {
        list[k] = conv_image_epilogue(pair, &i, rows);
    }
    job.epilogue = kernel_pair_words(pair, list, job.epilogues * MTS_PARAM_WORDS(mts_epilogue_params));
    return job;
}

static void winograd_agrees_for_segments_blocks_epilogues_and_tiles(void **state)
{
    static const struct {
        const char *defines;
        uint32_t vec, scratch;
    } builds[] = {{"-DVEC=16 -DSCRATCH=4096" WINOGRAD_CASES, 16, 4096},
                  {"-DVEC=8 -DSCRATCH=8192" WINOGRAD_CASES, 8, 8192},
                  {"-DVEC=1 -DSCRATCH=65536" WINOGRAD_CASES, 1, 65536}};
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 32; n++) {
        mts_tile_params tiles[256];
        mts_winograd_params jobs[MEMBERS];
        uint32_t count = 0;
        kernel_pair_start(pair, n + 1);
        if (!fits(pair, sizeof(float) * builds[0].vec * builds[0].scratch)) {
            print_message("no room for a group's scratch\n");
            skip();
        }
        pair->tolerance = 1e-4f; /* sums of up to 81 products, times a scale */
        for (uint32_t m = 0; m < MEMBERS; m++) {
            jobs[m] = winograd_job(pair);
            const uint32_t at = kernel_pair_words(pair, &jobs[m], MTS_PARAM_WORDS(mts_winograd_params));
            for (uint32_t t = 0; t < jobs[m].tiles; t += jobs[m].tile) {
                tiles[count++] = (mts_tile_params){at, t};
            }
        }
        const uint32_t first = kernel_pair_words(pair, tiles, count * MTS_PARAM_WORDS(mts_tile_params));
        for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
            const uint32_t local[3] = {1, 1, 1};
            const uint32_t grid[3] = {count, 1, 1};
            for (uint32_t m = 0; m < MEMBERS; m++) {
                assert_true(MTS_WINOGRAD_SCRATCH(jobs[m].tile / builds[i].vec, builds[i].vec,
                                                 jobs[m].channels, jobs[m].columns,
                                                 jobs[m].row) <= builds[i].scratch);
            }
            kernel_pair_run(pair, "conv_winograd__f32_planar", builds[i].defines, first, grid, local);
        }
    }
}

/* Segment 0 of a row that shares weights has the weights of `list`, which is that of the row before; others fill `list`. */
static mts_fc_params fc_params(kernel_pair *pair, uint32_t lanes, const mts_fc_params *sharer,
                               mts_segment_params list[2])
{
    const conv_image pixel = {
        .h = 1, .w = 1, .row = 1, .pixels = 1, .pitch = kernel_pair_pick(pair, 1, 3), .kernel = 1};
    mts_epilogue_params e[2];
    mts_fc_params r = {
        .rows = kernel_pair_pick(pair, 1, CONV_ROWS_MOST), .lanes = lanes, .segments = 2, .epilogues = 2};
    uint32_t channel = 0;
    r.in_pitch = kernel_pair_pick(pair, 1, 4);
    if (sharer) {
        r.rows = sharer->rows;
        r.in_pitch = sharer->in_pitch;
        r.sharing = MTS_PARAM_NONE;
    }
    const uint32_t padded = (r.rows + lanes - 1) / lanes * lanes;
    for (int s = 0; s < 2; s++) {
        const uint32_t count = sharer ? list[s].count : kernel_pair_pick(pair, 1, 90);
        const uint32_t own = conv_align(kernel_pair_pool(pair, padded * count + CONV_VECTOR));
        list[s] = (mts_segment_params){.weight_a = sharer && s == 0 ? list[s].weight_a : own,
                                       .weight_b = MTS_PARAM_NONE,
                                       .channel = channel,
                                       .count = count};
        channel += count;
    }
    r.in = kernel_pair_act(pair, channel * r.in_pitch);
    r.segment = kernel_pair_words(pair, list, 2 * MTS_PARAM_WORDS(mts_segment_params));
    for (int k = 0; k < 2; k++) {
        e[k] = conv_image_epilogue(pair, &pixel, r.rows);
        e[k].tail = 0;
        e[k].last = MTS_PARAM_NONE;
    }
    r.epilogue = kernel_pair_words(pair, e, 2 * MTS_PARAM_WORDS(mts_epilogue_params));
    return r;
}

static void fc_agrees_for_segments_row_blocks_and_mates(void **state)
{
    static const struct {
        const char *kernel, *defines;
        uint32_t lanes, local;
    } builds[] = {{"fc_lanes__f32_planar", "-DVEC=16", 16, 1},
                  {"fc_lanes__f32_planar", "-DVEC=4", 4, 1},
                  {"fc_lanes__f32_planar", "-DVEC=1", 1, 1},
                  {"fc_block__f32_planar", "-DVEC=1 -DGROUP=64", 32, 64},
                  {"fc_block__f32_planar", "-DVEC=1 -DGROUP=128", 32, 128}};
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 40; n++) {
        const uint32_t lanes = builds[n % 5].lanes;
        const uint32_t local[3] = {builds[n % 5].local, 1, 1};
        const uint32_t grid[3] = {(CONV_ROWS_MOST + lanes - 1) / lanes * local[0], 1, FC_MEMBERS};
        mts_fc_params params[FC_MEMBERS];
        mts_segment_params list[2];
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f; /* sums of up to 180 products, times a scale */
        const uint32_t together = kernel_pair_pick(pair, 1, FC_MEMBERS);
        for (uint32_t m = 0; m < FC_MEMBERS; m++) {
            params[m] = fc_params(pair, lanes, m > 0 && m < together ? &params[0] : NULL, list);
        }
        params[0].sharing = together - 1;
        const uint32_t first = kernel_pair_words(pair, params, FC_MEMBERS * MTS_PARAM_WORDS(mts_fc_params));
        kernel_pair_run(pair, builds[n % 5].kernel, builds[n % 5].defines, first, grid, local);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_agrees_for_segments_blocks_epilogues_and_tiles),
        cmocka_unit_test(conv_agrees_where_rows_are_lanes_of_one_or_more_images),
        cmocka_unit_test(conv_agrees_where_operands_lie_in_blocks_of_channels),
        cmocka_unit_test(conv_block_agrees_for_shapes_parts_and_shared_weights),
        cmocka_unit_test(winograd_agrees_for_segments_blocks_epilogues_and_tiles),
        cmocka_unit_test(fc_agrees_for_segments_row_blocks_and_mates),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
