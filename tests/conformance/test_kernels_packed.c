/*
 * test_kernels_packed.c: the kernels for tensors in packs of channels agree with the reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/conv_image.h"

#define EPILOGUES_MOST 3
#define MEMBERS 3

/* Offsets of channels in packs, or in planes; a pixel of `channels` takes so many floats. */
static uint32_t packed_planes(uint32_t channels, bool packed)
{
    return packed ? (channels + MTS_CHANNEL_PACK - 1) / MTS_CHANNEL_PACK * MTS_CHANNEL_PACK : channels;
}

/* An image in packs, whose lanes beyond the last channel are 0, or in planes with rows of
   any length. Returns its offset. */
static uint32_t packed_place(kernel_pair *pair, uint32_t channels, uint32_t pitch, uint32_t pixels,
                             bool packed)
{
    const uint32_t planes = packed_planes(channels, packed);
    const uint32_t at = conv_align(kernel_pair_act(pair, planes * pitch + CONV_VECTOR));
    for (uint32_t c = channels; c < planes; c++) {
        for (uint32_t p = 0; p < pixels; p++) {
            const uint32_t lane = c % MTS_CHANNEL_PACK;
            pair->act[at + (c - lane) * pitch + p * MTS_CHANNEL_PACK + lane] = 0.0f;
        }
    }
    return at;
}

/* Weights of the rows beyond the last, and of channels beside the segment's, are 0. */
static uint32_t packed_weights(kernel_pair *pair, const mts_segment_params *s, uint32_t taps, uint32_t rows)
{
    const uint32_t lane = s->channel % MTS_CHANNEL_PACK, all = packed_planes(rows, true);
    const uint32_t channels = packed_planes(lane + s->count, true);
    const uint32_t at = conv_align(kernel_pair_pool(pair, taps * channels * all + CONV_VECTOR));
    for (uint32_t i = 0; i < taps * channels * all; i++) {
        const uint32_t channel = i / all % channels;
        if (i % all >= rows || channel < lane || channel >= lane + s->count) {
            pair->pool[at + i] = 0.0f;
        }
    }
    return at;
}

static uint32_t packed_segments(kernel_pair *pair, mts_conv_params *job, uint32_t channels)
{
    mts_segment_params list[3];
    uint32_t channel = kernel_pair_pick(pair, 0, channels - 1);
    job->segments = kernel_pair_pick(pair, 1, channels - channel < 3 ? channels - channel : 3);
    for (uint32_t s = 0; s < job->segments; s++) {
        list[s] = (mts_segment_params){.channel = channel, .weight_b = MTS_PARAM_NONE};
        list[s].count = s + 1 < job->segments ? 1 : channels - channel;
        list[s].weight_a = packed_weights(pair, &list[s], job->taps, job->rows_a);
        channel += list[s].count;
    }
    return kernel_pair_words(pair, list, job->segments * MTS_PARAM_WORDS(mts_segment_params));
}

/* Rows of a job are channels first, first + 1, .. of `channels`, or any. */
static mts_epilogue_params packed_epilogue(kernel_pair *pair, const mts_packed_params *p, uint32_t rows)
{
    const bool out = p->blocks & MTS_BLOCKS_OUT, res = p->blocks & MTS_BLOCKS_RESIDUAL;
    const bool ends = kernel_pair_pick(pair, 0, 1);
    const uint32_t first = MTS_CHANNEL_PACK * kernel_pair_pick(pair, 0, 1),
                   channels = first + rows + (ends ? 0 : 3);
    const uint32_t row = p->row * p->out_step, high = p->out_row / row;
    const bool turned = p->out_step > 1 || high > 1;
    conv_image i = {.h = p->h * high, .w = p->w * p->out_step, .row = row, .pixels = p->h * p->out_row};
    uint32_t index[MTS_PACKED_ROWS];
    i.gap = out ? 0 : CONV_VECTOR * kernel_pair_pick(pair, 0, 1);
    i.pitch = i.gap + i.pixels + (out ? 0 : kernel_pair_pick(pair, 0, 5));
    i.tail = out ? 0 : i.gap;
    mts_epilogue_params e = conv_image_epilogue(pair, &i, rows);
    if (kernel_pair_pick(pair, 0, 3) > 0) { /* else any order */
        for (uint32_t r = 0; r < rows; r++) {
            index[r] = first + r;
        }
        e.index = kernel_pair_words(pair, index, rows);
    }
    e.last = out || ends ? channels - 1 : MTS_PARAM_NONE;
    e.out = i.gap + packed_place(pair, channels + 8, i.pitch, 0, out);
    e.res_pitch = p->res_row * p->h;
    e.res = turned || kernel_pair_pick(pair, 0, 1)
                ? MTS_PARAM_NONE
                : packed_place(pair, channels + 8, e.res_pitch, p->w * p->h, res);
    kernel_pair_may_write(pair, e.out - i.gap, packed_planes(channels, out) * i.pitch + i.tail);
    if (turned && p->plane == 0) { /* the last phase of the stride */
        e.out += ((high - 1) * row + p->out_step - 1) * (out ? MTS_CHANNEL_PACK : 1);
    }
    return e;
}

/* One segment of a channel for each row, packed [taps][4]. */
static uint32_t depthwise_segment(kernel_pair *pair, mts_conv_params *job, uint32_t channels)
{
    mts_segment_params one = {.count = job->rows_a, .weight_b = MTS_PARAM_NONE};
    one.channel = kernel_pair_pick(pair, 0, channels - job->rows_a);
    one.weight_a = conv_align(kernel_pair_pool(pair, job->taps * MTS_CHANNEL_PACK + CONV_VECTOR));
    job->segments = 1;
    return kernel_pair_words(pair, &one, MTS_PARAM_WORDS(mts_segment_params));
}

static mts_conv_params packed_job(kernel_pair *pair, bool depthwise, uint32_t most)
{
    const uint32_t channels = kernel_pair_pick(pair, depthwise ? 4 : 1, 13),
                   kernel_h = kernel_pair_pick(pair, 1, 3);
    mts_epilogue_params list[EPILOGUES_MOST];
    mts_packed_params p = {.blocks = kernel_pair_pick(pair, 0, 7),
                           .in_h = kernel_pair_pick(pair, 1, 14),
                           .in_w = kernel_pair_pick(pair, 1, 14),
                           .kernel_w = kernel_pair_pick(pair, 1, 3),
                           .stride_y = kernel_pair_pick(pair, 1, 3),
                           .stride_x = kernel_pair_pick(pair, 1, 3),
                           .dilation_y = kernel_pair_pick(pair, 1, 2),
                           .dilation_x = kernel_pair_pick(pair, 1, 2),
                           .top = (int32_t)kernel_pair_pick(pair, 0, 3) - 1,
                           .left = (int32_t)kernel_pair_pick(pair, 0, 3) - 1,
                           .h = kernel_pair_pick(pair, 1, 14),
                           .w = kernel_pair_pick(pair, 1, 14)};
    const bool in = p.blocks & MTS_BLOCKS_IN;
    const bool last = !in && kernel_pair_pick(pair, 0, 2) == 0; /* channels come last */
    p.in_step = in ? MTS_CHANNEL_PACK : last ? channels : 1;
    p.in_row = p.in_step * (p.in_w + (in ? 0 : kernel_pair_pick(pair, 0, 3)));
    p.row = p.w + (p.blocks & MTS_BLOCKS_OUT ? 0 : kernel_pair_pick(pair, 0, 3));
    p.res_row = p.w + (p.blocks & MTS_BLOCKS_RESIDUAL ? 0 : kernel_pair_pick(pair, 0, 3));
    const bool turned = kernel_pair_pick(pair, 0, 2) == 0; /* a phase of a transposed convolution */
    p.out_step = turned ? kernel_pair_pick(pair, 1, 3) : 1;
    p.out_row = p.row * p.out_step * (turned ? kernel_pair_pick(pair, 1, 3) : 1);
    p.plane = p.blocks & MTS_BLOCKS_OUT || (turned && kernel_pair_pick(pair, 0, 1)) ? 0 : p.h * p.out_row;
    p.zeros = conv_align(kernel_pair_act(pair, MTS_CHANNEL_PACK + CONV_VECTOR));
    memset(pair->act + p.zeros, 0, MTS_CHANNEL_PACK * sizeof *pair->act);
    mts_conv_params job = {.rows_a = kernel_pair_pick(pair, 1, most),
                           .in_pitch = last ? 1 : p.in_row / p.in_step * p.in_h,
                           .pixels = p.h * p.row,
                           .tile = kernel_pair_pick(pair, 1, 100),
                           .taps = kernel_h * p.kernel_w,
                           .mask = MTS_PARAM_NONE};
    const uint32_t plane = p.in_row / p.in_step * p.in_h;
    job.in = packed_place(pair, channels, plane, plane, in);
    p.blocks |= depthwise ? MTS_BLOCKS_DEPTHWISE : 0;
    job.segment = depthwise ? depthwise_segment(pair, &job, channels) : packed_segments(pair, &job, channels);
    job.epilogues = kernel_pair_pick(pair, 1, EPILOGUES_MOST);
    for (uint32_t k = 0; k < job.epilogues; k++) {
        list[k] = packed_epilogue(pair, &p, job.rows_a);
    }
    job.epilogue = kernel_pair_words(pair, list, job.epilogues * MTS_PARAM_WORDS(mts_epilogue_params));
    job.tap = kernel_pair_words(pair, &p, MTS_PARAM_WORDS(mts_packed_params));
    return job;
}

/* Drivers build a program for each of these, and some for each size of a group: seconds each. So every shape of
   a work-item that takes jobs of so many rows is built once, with the other options in turns. */
typedef struct packed_build {
    bool depthwise, joined; /* joined: the program takes jobs of both kinds */
    uint32_t rows, pixels;  /* of a job, of a work-item */
    uint32_t turn;          /* odd: weights in an image, where the device has those */
} packed_build;

/* Build number n. A shape has its weights in the buffer or in an image, and the other way in a depthwise
   convolution; the only shape of eight rows has both. */
static packed_build packed_build_of(uint32_t n, bool depthwise, uint32_t most)
{
    const bool wide = most > MTS_CHANNEL_PACK;
    const uint32_t shape = n % (wide ? 2 : 3);
    return (packed_build){depthwise, false, most, wide ? 4 : 1u << shape, shape + (depthwise ? 1 : 0)};
}

static void run(kernel_pair *pair, const packed_build *b, uint32_t first, uint32_t count)
{
    static const uint32_t locals[] = {1, 16, 5};
    const bool has_images = pair->devices[1] && pair->devices[1]->info.image_texels > 0;
    const uint32_t local[3] = {locals[b->turn % 3], 1, 1}, grid[3] = {count * local[0], 1, 1};
    char defines[128];
    (void)snprintf(defines, sizeof defines, "-DVEC=4 -DPIXELS=%u -DPACKS=%u%s%s", b->pixels,
                   b->rows / MTS_CHANNEL_PACK,
                   b->joined      ? " -DDEPTHWISE=2"
                   : b->depthwise ? " -DDEPTHWISE=1"
                                  : "",
                   has_images && b->turn % 2 == 1 ? " " MTS_KERNEL_IMAGES : "");
    kernel_pair_run(pair, "conv_packed__f32_lanes", defines, first, grid, local);
}

/* A job of at most so many rows, and its tiles. */
static void add_tiles(kernel_pair *pair, bool depthwise, uint32_t most, mts_tile_params *tiles,
                      uint32_t *count)
{
    const mts_conv_params job = packed_job(pair, depthwise, most);
    const uint32_t at = kernel_pair_words(pair, &job, MTS_PARAM_WORDS(mts_conv_params));
    for (uint32_t p = 0; p < job.pixels; p += job.tile) {
        tiles[(*count)++] = (mts_tile_params){at, p};
    }
}

/* most: rows of a job. */
static void check(kernel_pair *pair, bool depthwise, uint32_t most)
{
    for (uint32_t n = 0; n < 40; n++) {
        const packed_build build = packed_build_of(n, depthwise, most);
        mts_tile_params tiles[MEMBERS * 256];
        uint32_t count = 0;
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f;
        pair->product_slack =
            depthwise ? 0.0f : 0.1f; /* sums of 16 such products are float16 too, times a scale */
        for (uint32_t m = 0; m < MEMBERS; m++) {
            add_tiles(pair, depthwise, most, tiles, &count);
        }
        run(pair, &build, kernel_pair_words(pair, tiles, count * MTS_PARAM_WORDS(mts_tile_params)), count);
    }
}

static void conv_packed_agrees_where_depthwise_convolutions_share_its_launch(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 20; n++) {
        /* of GPUs with many registers, and with few, which have weights in buffers (Mali) */
        static const packed_build builds[] = {{false, true, MTS_PACKED_ROWS, 4, 1},
                                              {false, true, MTS_CHANNEL_PACK, 4, 0}};
        const packed_build build = builds[n % 2];
        mts_tile_params tiles[MEMBERS * 256];
        uint32_t count = 0;
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f;
        pair->product_slack = 0.1f;
        for (uint32_t m = 0; m < MEMBERS; m++) {
            const bool depthwise = m % 2 != 0;
            add_tiles(pair, depthwise, depthwise ? MTS_CHANNEL_PACK : build.rows, tiles, &count);
        }
        run(pair, &build, kernel_pair_words(pair, tiles, count * MTS_PARAM_WORDS(mts_tile_params)), count);
    }
}

static void conv_packed_agrees_for_layouts_strides_segments_and_epilogues(void **state)
{
    check(*state, false, MTS_PACKED_ROWS);
    check(*state, false, MTS_CHANNEL_PACK);
}

static void conv_packed_agrees_for_depthwise_convolutions(void **state)
{
    check(*state, true, MTS_CHANNEL_PACK);
}

/* ---- softmax along channels of packs ---- */

static mts_softmax_packed_params softmax_of(kernel_pair *pair, bool packs)
{
    mts_softmax_packed_params r = {.images = kernel_pair_pick(pair, 1, 2),
                                   .pixels = kernel_pair_pick(pair, 1, 70),
                                   .channels =
                                       kernel_pair_pick(pair, 1, kernel_pair_pick(pair, 0, 3) ? 23 : 90),
                                   .wide = 1u << kernel_pair_pick(pair, 0, 6),
                                   .packs = packs,
                                   .log = kernel_pair_pick(pair, 0, 1)};
    r.in_pitch = r.out_pitch = r.pixels;
    r.in_image = packed_planes(r.channels, true) * r.in_pitch;
    r.out_image = packed_planes(r.channels, packs) * r.out_pitch;
    r.in = conv_align(kernel_pair_act(pair, r.images * r.in_image + CONV_VECTOR));
    r.out = conv_align(kernel_pair_act(pair, r.images * r.out_image + CONV_VECTOR));
    kernel_pair_may_write(pair, r.out, r.images * r.out_image);
    return r;
}

static void softmax_of_packs_agrees(void **state)
{
    static const uint32_t locals[] = {64, 1, 16};
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 24; n++) {
        mts_softmax_packed_params params[MEMBERS];
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f;
        for (uint32_t m = 0; m < MEMBERS; m++) {
            params[m] = softmax_of(pair, (n + m) % 2 != 0);
        }
        const uint32_t local[3] = {locals[n % 3], 1, 1}, grid[3] = {3 * local[0], 2, MEMBERS};
        kernel_pair_run(pair, "softmax_packed__f32_lanes", "-DVEC=4",
                        kernel_pair_words(pair, params, MEMBERS * MTS_PARAM_WORDS(mts_softmax_packed_params)),
                        grid, local);
    }
}

/* ---- pools and resizes, whose columns are lanes of packs ---- */

enum { LANE_BITS = 2 };

/* An operand in packs, [packs][in_h][in_w][4]. */
static mts_view_params packed_operand(kernel_pair *pair, uint32_t packs, uint32_t in_h, uint32_t in_w)
{
    const uint32_t dims[MTS_PARAM_RANK] = {1, 1, 1, packs, in_h, in_w << LANE_BITS};
    return kernel_pair_operand(pair, dims, false, NULL);
}

static mts_dest_params packed_output(kernel_pair *pair, uint32_t packs, uint32_t h, uint32_t w)
{
    const uint32_t dims[MTS_PARAM_RANK] = {1, 1, 1, packs, h, w << LANE_BITS};
    return kernel_pair_output(pair, dims);
}

static void packed_pool(kernel_pair *pair, mts_pool_params *r, uint32_t kind)
{
    const uint32_t packs = kernel_pair_pick(pair, 1, 3);
    uint32_t in[2], out[2];
    for (int i = 0; i < 2; i++) {
        in[i] = kernel_pair_pick(pair, 1, 17);
        r->window[i] = kernel_pair_pick(pair, 1, kernel_pair_pick(pair, 0, 4) ? 4 : 30);
        r->stride[i] = kernel_pair_pick(pair, 1, 3);
        r->dilation[i] = kernel_pair_pick(pair, 0, 3) ? 1 : 2;
        r->pad[i] = (int32_t)kernel_pair_pick(pair, 0, r->window[i] - 1);
        r->pad[i + 2] = (int32_t)kernel_pair_pick(pair, 0, r->window[i] - 1);
        const int32_t room =
            (int32_t)in[i] + r->pad[i] + r->pad[i + 2] - (int32_t)((r->window[i] - 1) * r->dilation[i] + 1);
        out[i] = room < 0 ? 1 : (uint32_t)room / r->stride[i] + 1;
    }
    r->kind = kind;
    r->include_pad = kernel_pair_pick(pair, 0, 1);
    r->lane_bits = LANE_BITS;
    r->in_h = in[0];
    r->in_w = in[1] << LANE_BITS;
    r->dilation[1] <<= LANE_BITS;
    r->pad[1] *= 1 << LANE_BITS;
    r->pad[3] *= 1 << LANE_BITS;
    r->src = packed_operand(pair, packs, in[0], in[1]);
    r->dest = packed_output(pair, packs, out[0], out[1]);
}

static void pools_of_packs_agree(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 40; n++) {
        mts_pool_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            packed_pool(pair, &params[m], (n + m) % 2);
        }
        kernel_pair_run_dest(pair, "pool_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

static void packed_resize(kernel_pair *pair, mts_resize_params *r, uint32_t mode, uint32_t coord)
{
    const uint32_t packs = kernel_pair_pick(pair, 1, 3);
    uint32_t out[2];
    *r = (mts_resize_params){.mode = mode,
                             .coord = coord,
                             .round = kernel_pair_pick(pair, 0, 3),
                             .cubic_a = -0.75f,
                             .extrapolation = 7.5f,
                             .lane_bits = LANE_BITS};
    for (int i = 0; i < 2; i++) {
        r->in[i] = kernel_pair_pick(pair, 1, 12);
        out[i] = kernel_pair_pick(pair, 0, 1) ? 2 * r->in[i] : kernel_pair_pick(pair, 1, 20);
        r->scale[i] = (float)out[i] / (float)r->in[i];
        r->roi_start[i] = kernel_pair_float(pair, -0.3f, 0.4f);
        r->roi_end[i] = kernel_pair_float(pair, 0.5f, 1.3f);
    }
    r->src = packed_operand(pair, packs, r->in[0], r->in[1]);
    r->dest = packed_output(pair, packs, out[0], out[1]);
}

static void resizes_of_packs_agree(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 36; n++) {
        mts_resize_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f;
        for (uint32_t m = 0; m < MEMBERS; m++) {
            packed_resize(pair, &params[m], n % 3, n / 3 % 6);
        }
        kernel_pair_run_dest(pair, "resize_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_packed_agrees_for_layouts_strides_segments_and_epilogues),
        cmocka_unit_test(conv_packed_agrees_for_depthwise_convolutions),
        cmocka_unit_test(conv_packed_agrees_where_depthwise_convolutions_share_its_launch),
        cmocka_unit_test(softmax_of_packs_agrees),
        cmocka_unit_test(pools_of_packs_agree),
        cmocka_unit_test(resizes_of_packs_agree),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
