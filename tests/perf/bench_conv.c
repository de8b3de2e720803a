/*
 * bench_conv.c: builds a convolution launch of many tasks and checks its result.
 *
 * Responsible for laying out tensors, packing weights into blocks and writing tiles, jobs, segments and
 * epilogues as sdk/lower does. Not responsible for timing or printing.
 */
#include "bench_conv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 256, TAPS_MOST = 49 };

typedef struct block {
    int a0, rows_a, rows_b; /* first shared row; first exclusive row is `shared` (the last block has them) */
} block;

/* The layer in the world: weights in plain order [task][out][in][tap]; the check reads them. */
static struct {
    bench_tensor in, out; /* of task 0; those of task t lie t * stride later */
    mts_u32 in_stride, out_stride;
    float *weights;
    mts_u32 scale, bias;
} made;

static int least(int a, int b)
{
    return a < b ? a : b;
}
static int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}
static int shared_of(const bench_conv *l, int channels)
{
    return channels * l->shared / 100;
}
static size_t taps_of(const bench_conv *l)
{
    return (size_t)(l->kernel * l->kernel);
}

/* Where an output row is stored: scattered, where 7 makes a permutation. */
static int channel_of(const bench_conv *l, int row)
{
    return l->out % 7 == 0 ? row : (row * 7 + 3) % l->out;
}

static float *weight_at(const bench_conv *l, int task, int o, int i)
{
    return made.weights +
           (((size_t)task * (size_t)l->out + (size_t)o) * (size_t)l->in + (size_t)i) * taps_of(l);
}

/* Even blocks of at most `most` rows; in UXYZ the exclusive rows ride in the last block. */
static int split(const bench_conv *l, int most, block *blocks)
{
    const int shared = l->shared ? shared_of(l, l->out) : l->out;
    const int count = ceil_div(l->out, most);
    int row = 0;
    for (int b = 0; b < count; b++) {
        const int rows = (l->out - row) / (count - b) + ((l->out - row) % (count - b) != 0);
        const int a = row >= shared ? 0 : least(rows, shared - row);
        blocks[b] = (block){row, a, rows - a};
        row += rows;
    }
    return count;
}

/* The blocks that GPUs have (conv_tile): of at most 8 shared rows, or of at most 4 shared and 4 exclusive
   ones. */
static int split_for_gpu(const bench_conv *l, int most, block *blocks)
{
    const int shared = l->shared ? shared_of(l, l->out) : l->out;
    int count = 0;
    for (int row = 0; row < l->out; count++) {
        const int rows = least(least(most, 8), l->out - row),
                  a = row >= shared ? 0 : least(rows, shared - row);
        const int b = a > 4 ? 0 : least(rows - a, 4);
        blocks[count] = (block){row, a, b};
        row += a + b;
    }
    return count;
}

/* The row length with the fewest vectors; among equals the longest, up to a multiple of the vector. */
static int row_policy(const bench_conv *l, int vector)
{
    const int pad = l->kernel / 2, shortest = l->w + (l->stride > 1 ? (l->kernel - 1) / l->stride : pad);
    int best = shortest;
    for (int row = shortest; row < shortest + vector; row++) {
        if (ceil_div(l->h * row, vector) > ceil_div(l->h * shortest, vector))
            break;
        if (row % vector == 0 || (row % 8 == 0 && best % vector))
            best = row;
    }
    return best;
}

static void make_weights(bench_world *w, const bench_conv *l)
{
    const size_t count = (size_t)l->tasks * (size_t)l->out * (size_t)l->in * taps_of(l);
    const int si = shared_of(l, l->in), so = shared_of(l, l->out);
    made.weights = realloc(made.weights, count * sizeof(float));
    for (size_t i = 0; i < count; i++)
        made.weights[i] = bench_world_random(w);
    for (int t = 1; t < l->tasks; t++)
        for (int o = 0; o < so; o++)
            memcpy(weight_at(l, t, o, 0), weight_at(l, 0, o, 0), (size_t)si * taps_of(l) * sizeof(float));
}

/* Packs weights [inputs i0..i1)[taps][rows o0..o1). */
static mts_u32 pack(bench_world *w, const bench_conv *l, int task, int o0, int o1, int i0, int i1)
{
    const size_t taps = taps_of(l), rows = (size_t)(o1 - o0);
    const mts_u32 at = bench_world_pool(w, (size_t)(i1 - i0) * taps * rows);
    for (int i = i0; i < i1; i++)
        for (size_t k = 0; k < taps; k++)
            for (int o = o0; o < o1; o++)
                w->pool[at + ((size_t)(i - i0) * taps + k) * rows + (size_t)(o - o0)] =
                    weight_at(l, task, o, i)[k];
    return at;
}

static mts_u32 make_segments(bench_world *w, const bench_conv *l, int task, block b, mts_u32 *common)
{
    const int si = shared_of(l, l->in), a1 = b.a0 + b.rows_a, b1 = a1 + b.rows_b;
    if (!l->shared) {
        const mts_segment_params s = {pack(w, l, task, b.a0, a1, 0, l->in), MTS_PARAM_NONE, 0,
                                      (mts_u32)l->in};
        return bench_world_record(w, &s, sizeof s);
    }
    if (task == 0)
        *common = b.rows_a ? pack(w, l, 0, b.a0, a1, 0, si) : 0;
    mts_segment_params s[2] = {{*common, MTS_PARAM_NONE, 0, (mts_u32)si},
                               {0, MTS_PARAM_NONE, (mts_u32)si, (mts_u32)(l->in - si)}};
    if (b.rows_b)
        s[0].weight_b = pack(w, l, task, a1, b1, 0, si);
    if (b.rows_a)
        s[1].weight_a = pack(w, l, task, b.a0, a1, si, l->in);
    if (b.rows_b)
        s[1].weight_b = pack(w, l, task, a1, b1, si, l->in);
    return bench_world_record(w, s, sizeof s);
}

static mts_u32 make_epilogue(bench_world *w, const bench_conv *l, int task, block b, const mts_u32 *index)
{
    const bench_tensor *o = &made.out;
    const mts_u32 row = (mts_u32)task * (mts_u32)l->out + (mts_u32)b.a0;
    mts_epilogue_params e = {0};
    e.out = o->base + (mts_u32)task * made.out_stride;
    e.out_pitch = o->pitch;
    e.gap = o->gap;
    e.last = o->channels - 1;
    e.tail = o->tail;
    e.index = bench_world_record(w, index + b.a0, (size_t)(b.rows_a + b.rows_b) * 4);
    e.scale = made.scale + row;
    e.bias = made.bias + row;
    e.slope = e.res = MTS_PARAM_NONE;
    e.fn = MTS_FN_RELU;
    return bench_world_record(w, &e, sizeof e);
}

/* Offsets of the kernel positions; with a stride the input lies in stride x stride phase planes a channel. */
static void make_taps(const bench_conv *l, mts_i32 *tap)
{
    const int s = l->stride, pad = l->kernel / 2;
    for (int y = 0; y < l->kernel; y++)
        for (int x = 0; x < l->kernel; x++) {
            const int phase = (y % s) * s + x % s;
            tap[y * l->kernel + x] = s == 1 ? (y - pad) * (int)made.in.row + x - pad
                                            : phase * (int)made.in.pitch + y / s * (int)made.in.row + x / s;
        }
}

static void make_tensors(bench_world *w, const bench_conv *l, int row)
{
    const mts_u32 s = (mts_u32)l->stride, r = (mts_u32)row, halo = (mts_u32)(l->kernel / 2) * (r + 1);
    const mts_u32 h = (mts_u32)l->h + (s > 1 ? (mts_u32)((l->kernel - 1) / l->stride) : 0);
    mts_u32 next = 0;
    for (int t = 0; t < l->tasks; t++) {
        bench_tensor in = bench_tensor_make(w, (mts_u32)l->in * s * s, h, s > 1 ? r : (mts_u32)l->w, r,
                                            s > 1 ? 0 : halo, halo + 64);
        if (t == 0)
            made.in = in;
        if (t == 1)
            next = in.base;
        bench_tensor_fill(w, &in);
    }
    made.in_stride = next - made.in.base;
    for (int t = 0; t < l->tasks; t++) {
        bench_tensor out =
            bench_tensor_make(w, (mts_u32)l->out, (mts_u32)l->h, (mts_u32)l->w, r, r + 1, r + 17);
        if (t == 0)
            made.out = out;
        if (t == 1)
            next = out.base;
        bench_tensor_poison(w, &out);
    }
    made.out_stride = next - made.out.base;
}

static mts_u32 make_mask(bench_world *w, const bench_conv *l, mts_u32 pixels, mts_u32 row)
{
    const mts_u32 mask = bench_world_pool(w, pixels);
    for (mts_u32 p = 0; p < pixels; p++)
        w->pool[mask + p] = p / row < (mts_u32)l->h && p % row < (mts_u32)l->w ? 1.0f : 0.0f;
    return mask;
}

static void add_case(char *defines, int a, int b)
{
    char text[32];
    snprintf(text, sizeof text, "CASE(%d,%d)", a, b);
    if (!strstr(defines, text))
        strncat(defines, text, 1023 - strlen(defines));
}

/* Vectors a tile: whole planes when there are jobs enough, else pieces for every unit; never too long. */
static mts_u32 tile_policy(const bench_conv *l, mts_u32 vectors, int blocks, uint32_t units)
{
    const mts_u32 jobs = (mts_u32)(blocks * l->tasks);
    mts_u32 pieces = 1;
    if (l->tile)
        return (mts_u32)l->tile;
    while (vectors / pieces > 48 || (jobs * pieces < 16 * units && vectors / pieces > 4))
        pieces++;
    return (vectors + pieces - 1) / pieces;
}

static mts_u32 make_tiles(bench_world *w, const mts_u32 *jobs, mts_u32 count, mts_u32 pixels, mts_u32 tile,
                          mts_u32 *tiles)
{
    const mts_u32 each = (pixels + tile - 1) / tile;
    const mts_u32 first = bench_world_table(w, (size_t)count * each * 2);
    mts_tile_params *t = (mts_tile_params *)(w->table + first);
    for (mts_u32 j = 0; j < count; j++)
        for (mts_u32 i = 0; i < each; i++)
            *t++ = (mts_tile_params){jobs[j], i * tile};
    *tiles = count * each;
    return first;
}

void bench_conv_make(bench_world *w, const bench_conv *l, uint32_t units, uint32_t vector,
                     bench_launch *launch, char *defines)
{
    static mts_u32 jobs[65536], index[4096], common[BLOCKS];
    const int row = l->row ? l->row : row_policy(l, 16);
    const mts_u32 vectors = (mts_u32)ceil_div(l->h * row, 16), pixels = vectors * 16;
    const char *extra = getenv("BENCH_DEFINES") ? getenv("BENCH_DEFINES") : "";
    mts_i32 tap[TAPS_MOST];
    block blocks[BLOCKS];
    const bool for_gpu = vector == 1;
    const int most = l->most ? l->most : 13,
              count = for_gpu ? split_for_gpu(l, most, blocks) : split(l, most, blocks);
    mts_u32 n = 0, tiles = 0;

    make_tensors(w, l, row);
    make_weights(w, l);
    make_taps(l, tap);
    mts_conv_params job = {.in = made.in.base, .pixels = pixels, .taps = (mts_u32)taps_of(l)};
    job.in_pitch = made.in.pitch * (mts_u32)(l->stride * l->stride);
    job.tile = tile_policy(l, vectors, count, units) * 16;
    job.tap = bench_world_record(w, tap, taps_of(l) * 4);
    job.segments = l->shared ? 2 : 1;
    job.epilogues = 1;
    job.mask = make_mask(w, l, pixels, (mts_u32)row);
    made.scale = bench_world_pool(w, (size_t)(l->tasks * l->out));
    made.bias = bench_world_pool(w, (size_t)(l->tasks * l->out));
    for (mts_u32 i = 0; i < (mts_u32)(l->tasks * l->out); i++) {
        w->pool[made.scale + i] = bench_world_random(w);
        w->pool[made.bias + i] = bench_world_random(w);
    }
    for (int i = 0; i < l->out; i++)
        index[i] = (mts_u32)channel_of(l, i);
    snprintf(defines, 1024, "%s%s", extra,
             for_gpu ? "" : " -DCASES="); /* a GPU's program has one set of them */
    for (int b = 0; b < count && !for_gpu; b++)
        add_case(defines, blocks[b].rows_a, blocks[b].rows_b);
    for (int b = 0; b < count; b++)
        for (int t = 0; t < l->tasks; t++) {
            job.rows_a = (mts_u32)blocks[b].rows_a;
            job.rows_b = (mts_u32)blocks[b].rows_b;
            job.in = made.in.base + (mts_u32)t * made.in_stride;
            job.segment = make_segments(w, l, t, blocks[b], &common[b]);
            job.epilogue = make_epilogue(w, l, t, blocks[b], index);
            jobs[n++] = bench_world_record(w, &job, sizeof job);
        }
    *launch = (bench_launch){"conv_tile__f32_planar", defines, 0, {1, 1, 1}, {1, 1, 1}};
    launch->first = make_tiles(w, jobs, n, pixels, job.tile, &tiles);
    launch->global[0] = tiles;
}

/* ---- the same layer for conv_winograd ---- */

/* G g Gt of one 3 x 3 kernel, position (y, x). */
static float transformed(const float *g, int y, int x)
{
    static const double change[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
    double sum = 0.0;
    for (int i = 0; i < 9; i++)
        sum += change[y][i / 3] * change[x][i % 3] * (double)g[i];
    return (float)sum;
}

static mts_u32 pack_winograd(bench_world *w, const bench_conv *l, int task, block b, int i0, int i1)
{
    const size_t rows = (size_t)(b.rows_a + b.rows_b);
    const mts_u32 at = bench_world_pool(w, (size_t)(i1 - i0) * 16 * rows);
    for (size_t p = 0; p < 16; p++)
        for (int i = i0; i < i1; i++)
            for (size_t o = 0; o < rows; o++)
                w->pool[at + (p * (size_t)(i1 - i0) + (size_t)(i - i0)) * rows + o] =
                    transformed(weight_at(l, task, b.a0 + (int)o, i), (int)p / 4, (int)p % 4);
    return at;
}

/* Row blocks [first, first + count) of a task, each of one or, where channels are shared, two segments. */
static mts_u32 make_row_blocks(bench_world *w, const bench_conv *l, int task, const block *blocks, int count,
                               mts_u32 (*common)[2])
{
    static mts_winograd_rows_params list[BLOCKS];
    const int si = l->shared ? shared_of(l, l->in) : l->in;
    for (int b = 0; b < count; b++) {
        const int own = blocks[b].a0 >= shared_of(l, l->out);
        mts_segment_params s[2] = {{0, MTS_PARAM_NONE, 0, (mts_u32)si},
                                   {0, MTS_PARAM_NONE, (mts_u32)si, (mts_u32)(l->in - si)}};
        if (task == 0 || !l->shared || own)
            common[b][0] = pack_winograd(w, l, task, blocks[b], 0, si);
        s[0].weight_a = common[b][0];
        if (l->shared)
            s[1].weight_a = pack_winograd(w, l, task, blocks[b], si, l->in);
        list[b].row = (mts_u32)(blocks[b].a0 - blocks[0].a0);
        list[b].rows = (mts_u32)(blocks[b].rows_a + blocks[b].rows_b);
        list[b].segments = l->shared ? 2 : 1;
        list[b].segment = bench_world_record(w, s, sizeof s);
    }
    return bench_world_record(w, list, (size_t)count * sizeof *list);
}

/* Blocks of rows that are all shared or all exclusive. */
static int split_winograd(const bench_conv *l, int most, block *blocks)
{
    const int ends[2] = {l->shared ? shared_of(l, l->out) : l->out, l->out};
    int count = 0;
    for (int k = 0, row = 0; k < 2; k++)
        while (row < ends[k]) {
            const int left = ends[k] - row, rows = ceil_div(left, ceil_div(left, most));
            blocks[count++] = (block){row, rows, 0};
            row += rows;
        }
    return count;
}

void bench_conv_make_winograd(bench_world *w, const bench_conv *l, uint32_t units, uint32_t vector,
                              bench_launch *launch, char *defines)
{
    static mts_u32 jobs[65536], index[4096], common[BLOCKS][2];
    const int row = l->row ? l->row : l->w + 1, vec = (int)vector;
    block blocks[BLOCKS];
    const int count = split_winograd(l, l->most ? l->most : 13, blocks);
    mts_u32 n = 0, tiles = 0;
    make_tensors(w, l, row);
    make_weights(w, l);
    mts_winograd_params job = {
        .in = made.in.base - (mts_u32)row - 1, .in_pitch = made.in.pitch, .channels = (mts_u32)l->in};
    job.h = (mts_u32)l->h;
    job.w = (mts_u32)l->w;
    job.row = (mts_u32)row;
    job.columns = (job.w + 2) / 2;
    job.tiles = job.columns * ((job.h + 1) / 2);
    const int all = ceil_div((int)job.tiles, vec);
    int most = l->tile ? l->tile : 2;
    most = ceil_div(all, ceil_div(all, most));
    job.tile = (mts_u32)(most * vec);
    int parts = 1;
    while (l->tasks * ceil_div(all, most) * parts < 6 * (int)units && count >= 4 * parts)
        parts++;
    job.epilogues = 1;
    made.scale = bench_world_pool(w, (size_t)(l->tasks * l->out));
    made.bias = bench_world_pool(w, (size_t)(l->tasks * l->out));
    for (mts_u32 i = 0; i < (mts_u32)(l->tasks * l->out); i++) {
        w->pool[made.scale + i] = bench_world_random(w);
        w->pool[made.bias + i] = bench_world_random(w);
    }
    for (int i = 0; i < l->out; i++)
        index[i] = (mts_u32)channel_of(l, i);
    for (int k = 0; k < parts; k++)
        for (int t = 0; t < l->tasks; t++) {
            const int b0 = count * k / parts, b1 = count * (k + 1) / parts;
            block rows = blocks[b0];
            rows.rows_a = blocks[b1 - 1].a0 + blocks[b1 - 1].rows_a - rows.a0;
            job.in = made.in.base - (mts_u32)row - 1 + (mts_u32)t * made.in_stride;
            job.blocks = (mts_u32)(b1 - b0);
            job.block = make_row_blocks(w, l, t, blocks + b0, b1 - b0, common + b0);
            job.epilogue = make_epilogue(w, l, t, rows, index);
            jobs[n++] = bench_world_record(w, &job, sizeof job);
        }
    snprintf(defines, 1024,
             "%s -DSCRATCH=%d -DCASES=", getenv("BENCH_DEFINES") ? getenv("BENCH_DEFINES") : "",
             MTS_WINOGRAD_SCRATCH(most, vec, l->in, (int)job.columns, row));
    for (int b = 0; b < count; b++) {
        char text[32];
        snprintf(text, sizeof text, "CASE(%d)", blocks[b].rows_a);
        if (!strstr(defines, text))
            strncat(defines, text, 1023 - strlen(defines));
    }
    *launch = (bench_launch){"conv_winograd__f32_planar", defines, 0, {1, 1, 1}, {1, 1, 1}};
    launch->first = make_tiles(w, jobs, n, job.tiles, job.tile, &tiles);
    launch->global[0] = tiles;
}

static double expect(const bench_world *world, const bench_conv *l, int task, int o, int y, int x)
{
    const int s = l->stride, pad = l->kernel / 2;
    bench_tensor in = made.in;
    double sum = 0.0;
    in.base += (mts_u32)task * made.in_stride;
    for (int i = 0; i < l->in; i++) {
        const float *weight = weight_at(l, task, o, i);
        for (int ky = 0; ky < l->kernel; ky++)
            for (int kx = 0; kx < l->kernel; kx++) {
                const float v = s == 1 ? bench_tensor_at(world->act, &in, i, y + ky - pad, x + kx - pad)
                                       : bench_tensor_at(world->act, &in, (i * s + ky % s) * s + kx % s,
                                                         y + ky / s, x + kx / s);
                sum += (double)(weight[ky * l->kernel + kx] * v);
            }
    }
    return sum;
}

double bench_conv_error(const bench_world *world, const bench_conv *l, const float *result)
{
    double worst = 0.0;
    for (int t = 0; t < l->tasks; t++) {
        bench_tensor out = made.out;
        out.base += (mts_u32)t * made.out_stride;
        if (bench_tensor_dirt(result, &out))
            return INFINITY;
        const int all = (double)l->h * l->w * l->out * l->in < 3e5;
        for (int o = 0; o < l->out; o++) {
            const int channel = channel_of(l, o);
            const size_t row = (size_t)(t * l->out + o);
            /* every row and pixel of small layers; of large ones each row at pixels that walk over the plane
             */
            for (int p = all ? 0 : (o * 5 + t) % 11; p < l->h * l->w; p += all ? 1 : 11) {
                const int y = p / l->w, x = p % l->w;
                double e = expect(world, l, t, o, y, x) * (double)world->pool[made.scale + row] +
                           (double)world->pool[made.bias + row];
                e = e > 0.0 ? e : 0.0;
                const double difference =
                    fabs((double)bench_tensor_at(result, &out, channel, y, x) - e) / (1.0 + fabs(e));
                if (!(difference <= worst))
                    worst = difference;
            }
        }
    }
    return worst;
}

double bench_conv_flops(const bench_conv *l)
{
    return 2.0 * l->tasks * l->in * l->out * (double)taps_of(l) * l->h * l->w;
}

double bench_conv_bytes(const bench_conv *l)
{
    const double plane = (double)l->h * l->w;
    return 4.0 * l->tasks *
           (plane * (l->out + (double)l->in * l->stride * l->stride) +
            (double)l->in * l->out * (double)taps_of(l));
}
