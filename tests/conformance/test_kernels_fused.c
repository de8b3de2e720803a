/*
 * test_kernels_fused.c: fused blocks agree with the reference: pairs and inverted residuals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/conv_image.h"

#define MEMBERS 2
#define JOBS_MOST 4
#define CASES " -DCASES=CASE(8)CASE(5)CASE(1)"

/* Job of some rows, whose segments read all of `channels`. */
static mts_conv_params random_job(kernel_pair *pair, const conv_image *i, uint32_t channels, uint32_t rows)
{
    mts_segment_params segments[2] = {{.weight_b = MTS_PARAM_NONE}, {.weight_b = MTS_PARAM_NONE}};
    segments[0].count = kernel_pair_pick(pair, 1, channels);
    segments[1].channel = segments[0].count;
    segments[1].count = channels - segments[0].count;
    mts_conv_params job = {.rows_a = rows, .pixels = i->pixels, .epilogues = 1, .mask = MTS_PARAM_NONE};
    job.segments = segments[1].count > 0 ? 2 : 1;
    for (uint32_t s = 0; s < job.segments; s++) {
        segments[s].weight_a = kernel_pair_pool(pair, segments[s].count * rows);
    }
    job.segment = kernel_pair_words(pair, segments, job.segments * MTS_PARAM_WORDS(mts_segment_params));
    return job;
}

/* Jobs of all rows of an epilogue; returns how many, *list: the index of their list. */
static uint32_t random_jobs(kernel_pair *pair, const conv_image *i, uint32_t channels, mts_epilogue_params e,
                            uint32_t rows, uint32_t mask, uint32_t *list)
{
    static const uint32_t cases[] = {8, 5, 1};
    uint32_t jobs[16];
    uint32_t count = 0;
    for (uint32_t row = 0; row < rows; count++) {
        uint32_t k = kernel_pair_pick(pair, 0, 2);
        while (cases[k] > rows - row) {
            k++;
        }
        mts_conv_params job = random_job(pair, i, channels, cases[k]);
        job.mask = mask;
        job.epilogue = kernel_pair_words(pair, &e, MTS_PARAM_WORDS(e));
        jobs[count] = kernel_pair_words(pair, &job, MTS_PARAM_WORDS(job));
        row += job.rows_a;
        e.index += job.rows_a;
        e.scale += e.scale == MTS_PARAM_NONE ? 0 : job.rows_a;
        e.bias += e.bias == MTS_PARAM_NONE ? 0 : job.rows_a;
        e.slope += e.slope == MTS_PARAM_NONE ? 0 : job.rows_a;
    }
    *list = kernel_pair_words(pair, jobs, count);
    return count;
}

static conv_image random_image(kernel_pair *pair)
{
    conv_image i = conv_image_random(pair);
    if (kernel_pair_pick(pair, 0, 1)) { /* several vectors, at times whole ones without a border */
        i.w = kernel_pair_pick(pair, 0, 1) ? 32 : kernel_pair_pick(pair, 17, 50);
        i.row = i.w + (kernel_pair_pick(pair, 0, 1) ? 0 : kernel_pair_pick(pair, 1, 3));
        i.h = kernel_pair_pick(pair, 1, 12);
        i.gap = conv_align(i.pad * (i.row + 1));
        i.pixels = conv_align(i.h * i.row);
        i.pitch = i.gap + i.pixels;
        i.tail = i.gap + CONV_VECTOR;
    }
    return i;
}

static mts_fused_params fused_params(kernel_pair *pair, bool expands, uint32_t *parts)
{
    const conv_image i = random_image(pair);
    const uint32_t rows = kernel_pair_pick(pair, 1, 20);
    const uint32_t inputs = kernel_pair_pick(pair, 1, 9);
    mts_fused_params p = {.channels = kernel_pair_pick(pair, 1, 20),
                          .size = kernel_pair_pick(pair, 0, 1) ? 3 : 5,
                          .stride = kernel_pair_pick(pair, 1, 2),
                          .h = i.h,
                          .w = i.w,
                          .row = i.row,
                          .part = 1};
    while (p.part * p.row % CONV_VECTOR != 0) {
        p.part++;
    }
    p.part *= kernel_pair_pick(pair, 1, 3);
    p.part = p.part < p.h ? p.part : p.h;
    p.top = kernel_pair_pick(pair, 0, p.size - 1);
    p.left = kernel_pair_pick(pair, 0, p.size - 1);
    p.in_h = (i.h - 1) * p.stride + 1 + kernel_pair_pick(pair, 0, p.size);
    p.in_w = (i.w - 1) * p.stride + 1 + kernel_pair_pick(pair, 0, p.size);
    p.in_row = p.in_w + kernel_pair_pick(pair, 0, 3);
    p.in_pitch = p.in_h * p.in_row + kernel_pair_pick(pair, 0, 3);
    p.in =
        kernel_pair_act(pair, (expands ? inputs : p.channels) * p.in_pitch + 3 * p.in_row + 6 * CONV_VECTOR) +
        CONV_VECTOR;
    p.weight = kernel_pair_pool(pair, p.channels * p.size * p.size);
    p.between = conv_image_epilogue(pair, &i, p.channels);
    pair->region_count--; /* which is stored nowhere */
    if (expands) {
        mts_epilogue_params e = conv_image_epilogue(pair, &i, p.channels);
        pair->region_count--;
        e.res = MTS_PARAM_NONE;
        p.expands = random_jobs(pair, &i, inputs, e, p.channels, MTS_PARAM_NONE, &p.expand);
    }
    uint32_t mask = MTS_PARAM_NONE;
    while (mask == MTS_PARAM_NONE && (i.row > i.w || i.pixels > i.h * i.row)) {
        mask = conv_image_mask(pair, &i);
    }
    p.jobs = random_jobs(pair, &i, p.channels, conv_image_epilogue(pair, &i, rows), rows, mask, &p.job);
    *parts = (p.h + p.part - 1) / p.part;
    return p;
}

static void fused_blocks_agree(kernel_pair *pair, bool expands)
{
    static const struct {
        uint32_t vec, local;
    } builds[] = {{1, 32}, {4, 1}, {8, 1}, {16, 1}};
    /* a driver compiles wide vectors for long; the cpu backend has them compiled */
    const bool is_cpu = pair->devices[1] && strcmp(pair->devices[1]->info.backend, "cpu") == 0;
    const size_t build_count = is_cpu ? 4 : 1;
    /* local memory of an old GPU; blocks that need more are left to cpu */
    const uint32_t floats = is_cpu ? 65536 : 12288;
    uint32_t compared = 0;
    for (uint32_t n = 0; n < 24; n++) {
        bool fits = true;
        mts_fused_params params[MEMBERS];
        uint32_t most = 1;
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f;
        for (int m = 0; m < MEMBERS; m++) {
            uint32_t parts = 0;
            params[m] = fused_params(pair, expands, &parts);
            most = parts > most ? parts : most;
        }
        const uint32_t first = kernel_pair_words(pair, params, MEMBERS * MTS_PARAM_WORDS(mts_fused_params));
        for (size_t i = 0; i < build_count; i++) {
            char defines[128];
            (void)snprintf(defines, sizeof defines, "-DVEC=%u -DSCRATCH=%u" CASES, builds[i].vec,
                           floats / builds[i].vec);
            for (int m = 0; m < MEMBERS; m++) {
                fits = fits && MTS_FUSED_SCRATCH(&params[m], builds[i].vec) * builds[i].vec <= floats;
            }
            assert_true(fits || !is_cpu);
            if (!fits) {
                break;
            }
            compared++;
            const uint32_t local[3] = {builds[i].local, 1, 1};
            const uint32_t grid[3] = {most * builds[i].local, 1, MEMBERS};
            kernel_pair_run(pair, "fused_rows__f32_planar", defines, first, grid, local);
        }
    }
    assert_true(compared >= 12);
}

static void depthwise_with_pointwise_agrees(void **state)
{
    fused_blocks_agree(*state, false);
}

static void an_inverted_residual_agrees(void **state)
{
    fused_blocks_agree(*state, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depthwise_with_pointwise_agrees),
        cmocka_unit_test(an_inverted_residual_agrees),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
