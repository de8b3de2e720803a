/*
 * test_kernels_bytes.c: convolutions and other operators of 8-bit numbers and the packing of their inputs agree with the reference, code by
 * code. Sums are integers in both, so that all codes are equal but where a device rounds scale x sum + bias twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/conv_image.h"

#define ROWS_MOST 12
#define MEMBERS 3
#define CASES 24

/* Of all numbers of a case so many may differ by a step: sums that lie on the border between two codes. */
#define BETWEEN 1000

static uint32_t any_word(kernel_pair *pair)
{
    return kernel_pair_pick(pair, 0, 0xffff) << 16 | kernel_pair_pick(pair, 0, 0xffff);
}

/* Codes, or weights: all bytes are valid. Every fifth case has the largest products there are. */
static void fill_words(kernel_pair *pair, float *at, uint32_t count, bool most, uint32_t largest)
{
    for (uint32_t n = 0; n < count; n++) {
        const uint32_t word = most ? largest : any_word(pair);
        memcpy(at + n, &word, sizeof word);
    }
}

/* The sum of each row, which kernels rely on, then words of four weights. */
static uint32_t weights(kernel_pair *pair, uint32_t words, uint32_t rows, bool most)
{
    const uint32_t at = kernel_pair_pool(pair, rows + words * rows);
    fill_words(pair, pair->pool + at + rows, words * rows, most, 0x7f7f7f7fu);
    for (uint32_t r = 0; r < rows; r++) {
        int32_t sum = 0;
        for (uint32_t n = 0; n < words; n++) {
            int8_t bytes[4];
            memcpy(bytes, pair->pool + at + rows + n * rows + r, sizeof bytes);
            sum += bytes[0] + bytes[1] + bytes[2] + bytes[3];
        }
        memcpy(pair->pool + at + r, &sum, sizeof sum);
    }
    return at;
}

/* Codes, floats or both, of rows that begin at a word; `sums`: the sums themselves, as floats. */
static mts_epilogue_params epilogue(kernel_pair *pair, const conv_image *i, uint32_t rows, bool sums)
{
    static const uint32_t functions[] = {MTS_FN_NONE, MTS_FN_RELU, MTS_FN_HARD_SWISH};
    uint32_t index[ROWS_MOST];
    const uint32_t first = 4 * kernel_pair_pick(pair, 0, 1), stores = sums ? 3 : kernel_pair_pick(pair, 0, 3);
    const uint32_t planes = first + rows, words = MTS_CODE_WORDS(planes);
    mts_epilogue_params e = {.out_pitch = i->pitch, .gap = i->gap, .tail = i->tail, .last = planes - 1};
    for (uint32_t r = 0; r < rows; r++) {
        index[r] = first + r;
    }
    e.index = kernel_pair_words(pair, index, rows);
    e.scale = kernel_pair_pool(pair, rows);
    e.bias = kernel_pair_pick(pair, 0, 2) ? kernel_pair_pool(pair, rows) : MTS_PARAM_NONE;
    for (uint32_t r = 0; r < rows; r++) { /* most codes lie within 0..255, some do not */
        pair->pool[e.scale + r] = kernel_pair_float(pair, 1e-6f, 4e-5f);
    }
    if (sums) {
        e.scale = e.bias = MTS_PARAM_NONE;
    }
    e.slope = e.res = e.out = MTS_PARAM_NONE;
    e.fn = sums ? MTS_FN_NONE : stores == 3 ? functions[kernel_pair_pick(pair, 0, 2)] : MTS_FN_QUANT8;
    e.a = 0.0125f;
    e.b = -(float)kernel_pair_pick(pair, 0, 255);
    if (stores != 0) {
        e.out = conv_image_place(pair, i, planes);
        kernel_pair_may_write(pair, e.out - i->gap, planes * i->pitch + i->tail);
    }
    if (stores < 2) {
        const mts_codes_params codes = {.out = conv_image_place(pair, i, words),
                                        .pitch = i->pitch,
                                        .before = i->gap,
                                        .after = i->pitch - i->gap - i->pixels};
        e.res = kernel_pair_words(pair, &codes, MTS_PARAM_WORDS(mts_codes_params));
    }
    return e;
}

/* Taps, and an input of as many words: its rows are those of the output, or others, of
 * which every other column is read. */
static void add_input(kernel_pair *pair, const conv_image *i, mts_conv_params *job, uint32_t words, bool most)
{
    mts_bytes_rows rows = {0};
    uint32_t used = words * i->pitch + i->tail, before = i->gap;
    if (kernel_pair_pick(pair, 0, 1)) {
        const uint32_t down = kernel_pair_pick(pair, 1, 3);
        const uint32_t row = 2 * i->w + i->kernel + kernel_pair_pick(pair, 0, 3);
        int32_t tap[CONV_TAPS_MOST];
        for (uint32_t k = 0; k < job->taps; k++) {
            tap[k] = (int32_t)(k / i->kernel * row + k % i->kernel);
        }
        rows = (mts_bytes_rows){.row = i->row, .height = i->h, .width = i->w, .step = down * row};
        job->tap = kernel_pair_words(pair, tap, job->taps);
        job->in_pitch = ((i->h - 1) * down + i->kernel) * row + kernel_pair_pick(pair, 0, 5);
        used = words * job->in_pitch + 3 * CONV_VECTOR; /* whole vectors are read */
        before = 0;
        job->in = kernel_pair_act(pair, used);
    } else {
        job->tap = conv_image_taps(pair, i);
        job->in = conv_image_place(pair, i, words);
    }
    (void)kernel_pair_words(pair, &rows, MTS_PARAM_WORDS(mts_bytes_rows));
    fill_words(pair, pair->act + job->in - before, used, most, 0xffffffffu);
}

static mts_conv_params conv_job(kernel_pair *pair, bool most, bool sums)
{
    const conv_image i = conv_image_random(pair);
    const uint32_t rows = kernel_pair_pick(pair, 1, ROWS_MOST),
                   padded = MTS_CODE_WORDS(rows) * MTS_WORD_CODES;
    const uint32_t words = kernel_pair_pick(pair, 1, most ? 30 : 6);
    mts_segment_params list[2];
    mts_epilogue_params epilogues[2];
    mts_conv_params job = {
        .rows_a = rows, .pixels = i.pixels, .in_pitch = i.pitch, .taps = i.kernel * i.kernel};
    add_input(pair, &i, &job, words, most);
    job.tile = CONV_VECTOR * kernel_pair_pick(pair, 1, 30);
    job.mask = conv_image_mask(pair, &i);
    const uint32_t zero = kernel_pair_pick(pair, 0, 255);
    job.segments = words > 1 ? 2 : 1;
    for (uint32_t s = 0; s < job.segments;
         s++) { /* two segments may read one word, each some of its channels */
        list[s] = (mts_segment_params){.channel = s, .count = words - s, .weight_b = zero};
        list[s].weight_a = weights(pair, list[s].count * job.taps, padded, most);
    }
    job.segment = kernel_pair_words(pair, list, job.segments * MTS_PARAM_WORDS(mts_segment_params));
    job.epilogues = kernel_pair_pick(pair, 1, 2);
    for (uint32_t k = 0; k < job.epilogues; k++) {
        epilogues[k] = epilogue(pair, &i, rows, sums);
    }
    job.epilogue = kernel_pair_words(pair, epilogues, job.epilogues * MTS_PARAM_WORDS(mts_epilogue_params));
    return job;
}

static bool near(float a, float b)
{
    const float most = a < 0.0f ? -a : a, apart = a < b ? b - a : a - b;
    return !(apart > 1e-5f * (most > 1.0f ? most : 1.0f));
}

/* Numbers that are not equal: floats that are not near, or words whose bytes are more than a step apart, fail. */
static uint32_t count_different(const kernel_pair *pair, const float *a, const float *b)
{
    uint32_t different = 0;
    for (uint32_t n = 0; n < pair->act_used; n++) {
        unsigned char x[4], y[4];
        memcpy(x, a + n, sizeof x);
        memcpy(y, b + n, sizeof y);
        if (memcmp(x, y, sizeof x) == 0 || near(a[n], b[n])) {
            continue;
        }
        bool steps = true;
        for (int i = 0; i < 4; i++) {
            steps = steps && abs(x[i] - y[i]) <= 1;
        }
        /* a float one step (0.0125) away */
        const float apart = a[n] < b[n] ? b[n] - a[n] : a[n] - b[n];
        if (!steps && !(apart < 0.0126f)) {
            fail_msg("number %u is %g (%08x) on the reference, %g elsewhere", n, (double)a[n],
                     (unsigned)(x[0] | x[1] << 8 | x[2] << 16), (double)b[n]);
        }
        different++;
    }
    return different;
}

static bool is_cpu(const kernel_pair *pair)
{
    return strcmp(pair->devices[1]->info.backend, "cpu") == 0;
}

/* Builds for processors, and for a GPU, whose work-groups share a tile or a plane. */
static const struct {
    const char *defines;
    uint32_t local;
} builds[] = {{"-DVEC=16", 1}, {"-DVEC=1 -DREGS=40", 8}};

static float *result_of(kernel_pair *pair, int device, const char *kernel, size_t build, uint32_t first,
                        const uint32_t *grid)
{
    const uint32_t items = is_cpu(pair) ? 1 : builds[build].local;
    const uint32_t local[3] = {items, 1, 1}, whole[3] = {grid[0] * items, grid[1], grid[2]};
    return kernel_pair_result(pair, pair->devices[device], kernel, is_cpu(pair) ? "" : builds[build].defines,
                              first, whole, local);
}

static void compare(kernel_pair *pair, const char *kernel, uint32_t first, const uint32_t *grid)
{
    for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
        float *a = result_of(pair, 0, kernel, i, first, grid);
        float *b = result_of(pair, 1, kernel, i, first, grid);
        const uint32_t different = count_different(pair, a, b);
        free(a);
        free(b);
        assert_in_range(different, 0, pair->act_used / BETWEEN);
    }
}

/* Case n: the word at which its tiles begin, and how many there are. */
static uint32_t conv_case(kernel_pair *pair, uint32_t n, bool sums, uint32_t *count)
{
    mts_tile_params tiles[256];
    *count = 0;
    kernel_pair_start(pair, n + 1);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        const mts_conv_params job = conv_job(pair, n % 5 == 4, sums);
        const uint32_t at = kernel_pair_words(pair, &job, MTS_PARAM_WORDS(mts_conv_params));
        for (uint32_t p = 0; p < job.pixels; p += job.tile) {
            tiles[(*count)++] = (mts_tile_params){at, p};
        }
    }
    return kernel_pair_words(pair, tiles, *count * MTS_PARAM_WORDS(mts_tile_params));
}

static void conv_bytes_agrees_for_rows_segments_zero_points_codes_and_floats(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        uint32_t count = 0;
        const uint32_t first = conv_case(pair, n, false, &count);
        const uint32_t grid[3] = {count, 1, 1};
        compare(pair, "conv_bytes__i32_words", first, grid);
    }
}

static void sums_of_products_are_exact_on_every_device(void **state)
{
    kernel_pair *pair = *state;
    kernel_pair_needs_both(pair);
    for (uint32_t n = 0; n < CASES; n++) {
        uint32_t count = 0;
        const uint32_t first = conv_case(pair, n, true, &count);
        const uint32_t grid[3] = {count, 1, 1};
        const char *kernel = "conv_bytes__i32_words";
        float *a = result_of(pair, 0, kernel, n % 2, first, grid);
        float *b = result_of(pair, 1, kernel, n % 2, first, grid);
        assert_memory_equal(a, b, pair->act_used * sizeof *a);
        free(a);
        free(b);
    }
}

/* By hand: two channels of a word, codes 250 and 3, zero 5, weights 127 and -128, largest sums and ties. */
static void conv_bytes_takes_zero_away_rounds_halves_to_even_and_clamps(void **state)
{
    kernel_pair *pair = *state;
    kernel_pair_start(pair, 1);
    const int32_t tap = 0, sum = 127 - 128;
    const uint32_t codes = 250u | 3u << 8, weight = 127u | 128u << 8, index = 0;
    const uint32_t in = kernel_pair_act(pair, CONV_VECTOR), out = kernel_pair_act(pair, CONV_VECTOR);
    const uint32_t words = kernel_pair_act(pair, CONV_VECTOR), pool = kernel_pair_pool(pair, 8);
    for (uint32_t p = 0; p < CONV_VECTOR; p++) {
        memcpy(pair->act + in + p, &codes, sizeof codes);
    }
    memset(pair->pool + pool, 0, 8 * sizeof(float));
    memcpy(pair->pool + pool, &sum, sizeof sum);
    memcpy(pair->pool + pool + 4, &weight, sizeof weight);
    /* (250 - 5) 127 - (3 - 5) 128 ... = 31115 + 256 = 31371; the tie: 31371 / 62742 = 0.5, to 0; then -0.5 + 100 */
    const float scale[3] = {1.0f / 62742.0f, 3.0f / 62742.0f, 1.0f};
    const float expected[3] = {0.0f, 2.0f, 155.0f};
    const uint32_t at = kernel_pair_pool(pair, 1);
    for (int n = 0; n < 3; n++) {
        mts_epilogue_params e = {.out = out,
                                 .out_pitch = CONV_VECTOR,
                                 .last = MTS_PARAM_NONE,
                                 .scale = at,
                                 .bias = MTS_PARAM_NONE,
                                 .slope = MTS_PARAM_NONE,
                                 .fn = MTS_FN_QUANT8,
                                 .a = 1.0f,
                                 .b = -100.0f};
        const mts_codes_params stored = {.out = words, .pitch = CONV_VECTOR};
        mts_segment_params segment = {.weight_a = pool, .weight_b = 5, .count = 1};
        mts_conv_params job = {.rows_a = 1,
                               .in = in,
                               .in_pitch = CONV_VECTOR,
                               .pixels = CONV_VECTOR,
                               .tile = CONV_VECTOR,
                               .taps = 1,
                               .segments = 1,
                               .epilogues = 1,
                               .mask = MTS_PARAM_NONE};
        pair->pool[at] = scale[n];
        e.index = kernel_pair_words(pair, &index, 1);
        e.res = kernel_pair_words(pair, &stored, MTS_PARAM_WORDS(mts_codes_params));
        const mts_bytes_rows flat = {0};
        job.tap = kernel_pair_words(pair, &tap, 1);
        (void)kernel_pair_words(pair, &flat, MTS_PARAM_WORDS(mts_bytes_rows));
        job.segment = kernel_pair_words(pair, &segment, MTS_PARAM_WORDS(mts_segment_params));
        job.epilogue = kernel_pair_words(pair, &e, MTS_PARAM_WORDS(mts_epilogue_params));
        const mts_tile_params tile = {kernel_pair_words(pair, &job, MTS_PARAM_WORDS(mts_conv_params)), 0};
        const uint32_t first = kernel_pair_words(pair, &tile, MTS_PARAM_WORDS(mts_tile_params));
        const uint32_t one[3] = {1, 1, 1};
        for (int d = 0; d < 2; d++) {
            float *result = kernel_pair_result(pair, pair->devices[d], "conv_bytes__i32_words",
                                               d && !is_cpu(pair) ? "-DVEC=16" : "", first, one, one);
            uint32_t word;
            memcpy(&word, result + words + 3, sizeof word);
            assert_float_equal(result[out + 3], expected[n], 0.0f);
            assert_int_equal(word & 255u, (uint32_t)(expected[n] + 100.0f));
            free(result);
        }
    }
}

static mts_pack_params pack(kernel_pair *pair)
{
    const uint32_t stride = kernel_pair_pick(pair, 1, 3);
    mts_pack_params r = {.images = kernel_pair_pick(pair, 1, 2), .channels = kernel_pair_pick(pair, 1, 9)};
    r.sy = r.sx = stride;
    r.phases = kernel_pair_pick(pair, 0, 2) ? stride * stride : 1;
    r.in_h = kernel_pair_pick(pair, 1, 20);
    r.in_w = kernel_pair_pick(pair, 1, 70);
    r.coded = kernel_pair_pick(pair, 0, 1);
    r.src_column = r.coded || kernel_pair_pick(pair, 0, 1) ? 1 : kernel_pair_pick(pair, 2, 5);
    r.src_row = r.in_w * r.src_column + kernel_pair_pick(pair, 0, 3);
    r.src_pitch = r.in_h * r.src_row + kernel_pair_pick(pair, 0, 5);
    r.top = (int32_t)kernel_pair_pick(pair, 0, 2);
    r.left = (int32_t)kernel_pair_pick(pair, 0, 2);
    r.rows = (r.in_h + (uint32_t)r.top) / stride + kernel_pair_pick(pair, 1, 2);
    r.row = (r.in_w + (uint32_t)r.left) / stride + kernel_pair_pick(pair, 1, 3);
    r.pitch = conv_align(r.rows * r.row) + CONV_VECTOR * kernel_pair_pick(pair, 0, 1);
    r.inverse = 40.0f;
    r.least = -(float)kernel_pair_pick(pair, 0, 255);
    r.src = kernel_pair_act(pair, r.images * r.channels * r.src_pitch);
    for (uint32_t n = 0; n < r.images * r.channels * r.src_pitch; n++) {
        pair->act[r.src + n] = ((float)kernel_pair_pick(pair, 0, 300) + r.least - 20.0f) / r.inverse;
    }
    r.out = kernel_pair_act(pair, r.images * MTS_CODE_WORDS(r.channels) * r.phases * r.pitch);
    if (r.coded) { /* fewer planes than there are of floats, of any bytes */
        fill_words(pair, pair->act + r.src, r.images * MTS_CODE_WORDS(r.channels) * r.src_pitch, false, 0);
    }
    return r;
}

static void pack_bytes_agrees_for_borders_phases_channels_and_images(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_pack_params list[MEMBERS];
        uint32_t planes = 0;
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            list[m] = pack(pair);
            const uint32_t high = list[m].images * MTS_CODE_WORDS(list[m].channels);
            planes = high > planes ? high : planes;
        }
        const uint32_t first = kernel_pair_words(pair, list, MEMBERS * MTS_PARAM_WORDS(mts_pack_params));
        const uint32_t grid[3] = {kernel_pair_pick(pair, 1, 4), planes, MEMBERS};
        compare(pair, "pack_bytes__i32_words", first, grid);
    }
}

/* ---- operators on codes ---- */

static mts_codes_dest dest(kernel_pair *pair, uint32_t height, uint32_t width)
{
    mts_codes_dest d = {.height = height,
                        .width = width,
                        .images = kernel_pair_pick(pair, 1, 2),
                        .channels = kernel_pair_pick(pair, 1, 9),
                        .top = kernel_pair_pick(pair, 0, 2),
                        .left = kernel_pair_pick(pair, 0, 2)};
    d.rows = d.top + height + kernel_pair_pick(pair, 0, 2);
    d.row = d.left + width + kernel_pair_pick(pair, 0, 3);
    d.pitch = conv_align(d.rows * d.row) + CONV_VECTOR * kernel_pair_pick(pair, 0, 1);
    d.inverse = 1.0f / kernel_pair_float(pair, 0.01f, 0.05f);
    d.least = -(float)kernel_pair_pick(pair, 0, 255);
    d.out = kernel_pair_act(pair, d.images * MTS_CODE_WORDS(d.channels) * d.pitch);
    return d;
}

static mts_codes_source source(kernel_pair *pair, const mts_codes_dest *d, uint32_t height, uint32_t width)
{
    mts_codes_source s = {.row = width + kernel_pair_pick(pair, 0, 2), .words = MTS_CODE_WORDS(d->channels)};
    s.pitch = height * s.row + kernel_pair_pick(pair, 0, 5);
    s.factor = kernel_pair_float(pair, -0.05f, 0.05f);
    s.least = -(float)kernel_pair_pick(pair, 0, 255);
    s.src = kernel_pair_act(pair, d->images * s.words * s.pitch);
    fill_words(pair, pair->act + s.src, d->images * s.words * s.pitch, false, 0);
    return s;
}

static uint32_t map_vector(kernel_pair *pair, uint32_t count)
{
    return kernel_pair_pick(pair, 0, 1) ? kernel_pair_pool(pair, count) : MTS_PARAM_NONE;
}

static mts_map_params map(kernel_pair *pair)
{
    static const uint32_t kinds[] = {MTS_MAP_ALONE, MTS_BIN_ADD, MTS_BIN_MUL, MTS_BIN_MAX, MTS_BIN_MIN};
    const uint32_t height = kernel_pair_pick(pair, 1, 20), width = kernel_pair_pick(pair, 1, 40);
    mts_map_params r = {.kind = kinds[kernel_pair_pick(pair, 0, 4)]};
    r.dest = dest(pair, height, width);
    r.in[0] = source(pair, &r.dest, height, width);
    r.in[1] = source(pair, &r.dest, height, width);
    r.in[0].words -= r.in[0].words > 1 ? kernel_pair_pick(pair, 0, 1) : 0; /* zeros behind its channels */
    r.scale = map_vector(pair, r.dest.channels);
    r.bias = map_vector(pair, r.dest.channels);
    r.step = kernel_pair_float(pair, 0.01f, 0.05f);
    r.dest.inverse = 1.0f / r.step;
    r.floats.base = MTS_PARAM_NONE;
    if (kernel_pair_pick(pair, 0, 1)) {
        const uint32_t gap = CONV_VECTOR * kernel_pair_pick(pair, 0, 2),
                       row = width + kernel_pair_pick(pair, 0, 3);
        r.floats = (mts_dest_params){.dims = {1, 1, r.dest.images, r.dest.channels, height, width},
                                     .row = row,
                                     .gap = gap,
                                     .tail = gap,
                                     .pitch = gap + conv_align(height * row)};
        r.floats.base =
            kernel_pair_act(pair, r.dest.images * r.dest.channels * r.floats.pitch + r.floats.tail) + gap;
    }
    return r;
}

static mts_pool_codes_params pool(kernel_pair *pair)
{
    mts_pool_codes_params r = {.in_h = kernel_pair_pick(pair, 1, 20), .in_w = kernel_pair_pick(pair, 1, 70)};
    uint32_t size[2];
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t in = i == 0 ? r.in_h : r.in_w;
        r.window[i] = kernel_pair_pick(pair, 1, in < 3 ? in : 3);
        r.stride[i] = kernel_pair_pick(pair, 1, 3);
        r.pad[i] = (int32_t)kernel_pair_pick(pair, 0, r.window[i] - 1);
        size[i] = (in + 2 * (uint32_t)r.pad[i] - r.window[i]) / r.stride[i] + 1;
    }
    r.dest = dest(pair, size[0], size[1]);
    r.in = source(pair, &r.dest, r.in_h, r.in_w);
    return r;
}

static void map_bytes_agrees_for_kinds_borders_vectors_and_floats(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_map_params list[MEMBERS];
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            list[m] = map(pair);
        }
        const uint32_t first = kernel_pair_words(pair, list, MEMBERS * MTS_PARAM_WORDS(mts_map_params));
        const uint32_t grid[3] = {kernel_pair_pick(pair, 1, 4), 6, MEMBERS}; /* 2 images of 3 words */
        compare(pair, "map_bytes__i32_words", first, grid);
    }
}

static void pool_bytes_agrees_for_windows_strides_and_borders(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_pool_codes_params list[MEMBERS];
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            list[m] = pool(pair);
        }
        const uint32_t first =
            kernel_pair_words(pair, list, MEMBERS * MTS_PARAM_WORDS(mts_pool_codes_params));
        const uint32_t grid[3] = {kernel_pair_pick(pair, 1, 4), 6, MEMBERS};
        compare(pair, "pool_bytes__i32_words", first, grid);
    }
}

static void mean_bytes_agrees_for_rows_channels_and_images(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_mean_params list[MEMBERS] = {0};
        uint32_t planes = 0;
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            const uint32_t height = kernel_pair_pick(pair, 1, 9), width = kernel_pair_pick(pair, 1, 40);
            mts_mean_params *r = &list[m];
            const mts_codes_dest d = {.images = kernel_pair_pick(pair, 1, 2),
                                      .channels = kernel_pair_pick(pair, 1, 9)};
            r->in = source(pair, &d, height, width);
            for (uint32_t i = 0; i < d.images * r->in.words * r->in.pitch; i++) {
                const uint32_t zero = MTS_CODE_WORD((uint32_t)-r->in.least), at = i % r->in.pitch;
                if (at % r->in.row >= width || at / r->in.row >= height) { /* beside the image */
                    memcpy(pair->act + r->in.src + i, &zero, sizeof zero);
                }
            }
            r->height = height;
            r->width = width;
            r->dest = (mts_dest_params){.dims = {1, 1, d.images, d.channels, 1, 1}, .row = 1, .pitch = 1};
            r->dest.base = kernel_pair_act(pair, d.images * d.channels);
            planes = d.images * d.channels > planes ? d.images * d.channels : planes;
        }
        const uint32_t first = kernel_pair_words(pair, list, MEMBERS * MTS_PARAM_WORDS(mts_mean_params));
        const uint32_t grid[3] = {kernel_pair_pick(pair, 1, 4), planes + 1, MEMBERS};
        compare(pair, "mean_bytes__i32_words", first, grid);
    }
}

/* Codes of missing channels are 0, whatever the source has. */
static void spread_bytes_agrees_for_channels_rows_and_borders(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_spread_params list[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            const uint32_t height = kernel_pair_pick(pair, 1, 9), width = kernel_pair_pick(pair, 1, 40);
            mts_spread_params *r = &list[m];
            r->dest = dest(pair, 2 * height, 2 * width);
            mts_codes_dest wide = r->dest; /* four codes for each of its channels */
            wide.channels *= MTS_WORD_CODES;
            r->in = source(pair, &wide, height, width);
        }
        const uint32_t first = kernel_pair_words(pair, list, MEMBERS * MTS_PARAM_WORDS(mts_spread_params));
        const uint32_t grid[3] = {kernel_pair_pick(pair, 1, 4), 6, MEMBERS};
        compare(pair, "spread_bytes__i32_words", first, grid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_bytes_agrees_for_rows_segments_zero_points_codes_and_floats),
        cmocka_unit_test(sums_of_products_are_exact_on_every_device),
        cmocka_unit_test(conv_bytes_takes_zero_away_rounds_halves_to_even_and_clamps),
        cmocka_unit_test(pack_bytes_agrees_for_borders_phases_channels_and_images),
        cmocka_unit_test(map_bytes_agrees_for_kinds_borders_vectors_and_floats),
        cmocka_unit_test(pool_bytes_agrees_for_windows_strides_and_borders),
        cmocka_unit_test(mean_bytes_agrees_for_rows_channels_and_images),
        cmocka_unit_test(spread_bytes_agrees_for_channels_rows_and_borders),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
