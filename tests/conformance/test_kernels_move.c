/*
 * test_kernels_move.c: copy, concat, pad, gather and phase agree with the reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/kernel_pair.h"

#define CASES 16
#define MEMBERS 3

/* A transposed, partly reversed view of a tensor. */
static void copy_params(kernel_pair *pair, mts_copy_params *r)
{
    uint32_t dims[MTS_PARAM_RANK];
    uint32_t own[MTS_PARAM_RANK];
    uint32_t order[MTS_PARAM_RANK] = {0, 1, 2, 3, 4, 5};
    kernel_pair_dims(pair, dims, 1, 20);
    for (uint32_t i = 0; i < MTS_PARAM_RANK; i++) {
        const uint32_t k = kernel_pair_pick(pair, 0, 2) ? i : kernel_pair_pick(pair, i, 5);
        const uint32_t swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        own[order[i]] = dims[i];
    }
    const mts_view_params view = kernel_pair_operand(pair, own, false, &r->src_pool);
    r->src.base = view.base;
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        r->step[i] = (int32_t)view.stride[order[i]];
        if (kernel_pair_pick(pair, 0, 3) == 0) {
            r->src.base += (dims[i] - 1) * (uint32_t)r->step[i];
            r->step[i] = -r->step[i];
        } else if (kernel_pair_pick(pair, 0, 3) == 0 && dims[i] > 2) {
            r->step[i] *= 2;
            dims[i] = (dims[i] + 1) / 2;
        }
    }
    r->dest = kernel_pair_output(pair, dims);
}

static void copy_follows_signed_and_transposed_steps(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_copy_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (int m = 0; m < MEMBERS; m++) {
            copy_params(pair, &params[m]);
        }
        kernel_pair_run_dest(pair, "copy_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

/* Depth to space: columns 2 x and 2 x + 1 of the result lie in two planes. */
static void copy_interleaves_pairs(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_copy_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (int m = 0; m < MEMBERS; m++) {
            const uint32_t own[MTS_PARAM_RANK] = {
                1, 2, 1, 2, kernel_pair_pick(pair, 1, 9), kernel_pair_pick(pair, 1, 70)};
            const uint32_t dims[MTS_PARAM_RANK] = {1, 1, own[4], 2, own[5], 2};
            const mts_view_params view = kernel_pair_operand(pair, own, false, &params[m].src_pool);
            const uint32_t from[MTS_PARAM_RANK] = {0, 0, 4, 3, 5, 1};
            params[m].src.base = view.base;
            for (int i = 0; i < MTS_PARAM_RANK; i++) {
                params[m].step[i] = (int32_t)view.stride[from[i]];
            }
            params[m].dest = kernel_pair_output(pair, dims);
        }
        kernel_pair_run_dest(pair, "copy_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

/* Planes whose rows and columns change places, as those of channels first and last do. */
static void copy_turns_rows_and_columns(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_copy_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (int m = 0; m < MEMBERS; m++) {
            const uint32_t rows = kernel_pair_pick(pair, 1, 70);
            const uint32_t columns = kernel_pair_pick(pair, 1, 45);
            const uint32_t own[MTS_PARAM_RANK] = {1, 1, 1, 2, columns, rows};
            const uint32_t dims[MTS_PARAM_RANK] = {1, 1, 1, 2, rows, columns};
            const mts_view_params view = kernel_pair_operand(pair, own, false, &params[m].src_pool);
            params[m].src.base = view.base;
            for (int i = 0; i < MTS_PARAM_RANK; i++) {
                params[m].step[i] = (int32_t)view.stride[i == 4 ? 5 : i == 5 ? 4 : i];
            }
            params[m].dest = kernel_pair_output(pair, dims);
        }
        kernel_pair_run_dest(pair, "copy_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

static void copy_reads_floats_of_a_zero_copy_input_whatever_is_stored(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_copy_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        pair->raw_pool = true;
        for (int m = 0; m < MEMBERS; m++) {
            copy_params(pair, &params[m]);
            params[m].src_pool *= 2;
        }
        kernel_pair_run_dest(pair, "copy_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

static void concat_params(kernel_pair *pair, mts_concat_params *r, uint32_t axis)
{
    mts_part_params parts[5] = {0};
    uint32_t dims[MTS_PARAM_RANK];
    kernel_pair_dims(pair, dims, 2, 24);
    r->axis = axis;
    r->parts = kernel_pair_pick(pair, 1, 5);
    dims[axis] = 0;
    for (uint32_t i = 0; i < r->parts; i++) {
        uint32_t own[MTS_PARAM_RANK];
        memcpy(own, dims, sizeof own);
        own[axis] = kernel_pair_pick(pair, 1, 9);
        parts[i].start = dims[axis];
        parts[i].view = kernel_pair_operand(pair, own, false, &parts[i].pool);
        dims[axis] += own[axis];
    }
    r->part = kernel_pair_words(pair, parts, r->parts * MTS_PARAM_WORDS(mts_part_params));
    r->dest = kernel_pair_output(pair, dims);
}

static void concat_agrees_along_every_axis(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 2 * MTS_PARAM_RANK; n++) {
        mts_concat_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            concat_params(pair, &params[m], (n + m) % MTS_PARAM_RANK);
        }
        kernel_pair_run_dest(pair, "concat_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

static void pad_params(kernel_pair *pair, mts_pad_params *r, uint32_t mode)
{
    uint32_t dims[MTS_PARAM_RANK];
    kernel_pair_dims(pair, r->src_dims, 2, 20);
    r->src = kernel_pair_operand(pair, r->src_dims, false, NULL);
    r->mode = mode;
    r->value = kernel_pair_float(pair, -9.0f, 9.0f);
    for (int i = 0; i < MTS_PARAM_RANK; i++) {
        const int32_t size = (int32_t)r->src_dims[i];
        r->before[i] = i < 2 ? 0 : (int32_t)kernel_pair_pick(pair, 0, 6) - 2;
        if (mode == MTS_PAD_REFLECT && r->before[i] > size - 1) {
            r->before[i] = size - 1;
        }
        const int32_t after =
            i < 2 ? 0 : (int32_t)kernel_pair_pick(pair, 0, (uint32_t)(size < 5 ? size : 5)) - 1;
        const int32_t whole = size + r->before[i] + after;
        dims[i] = whole > 0 ? (uint32_t)whole : 1;
    }
    r->dest = kernel_pair_output(pair, dims);
}

static void pad_agrees_in_every_mode_and_when_it_crops(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        mts_pad_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            pad_params(pair, &params[m], (n + m) % 3);
        }
        kernel_pair_run_dest(pair, "pad_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

static void gather_params(kernel_pair *pair, mts_gather_params *r, uint32_t axis)
{
    uint32_t dims[MTS_PARAM_RANK];
    uint32_t index[64];
    kernel_pair_dims(pair, dims, 2, 20);
    const uint32_t size = dims[axis];
    r->axis = axis;
    r->src = kernel_pair_operand(pair, dims, false, NULL);
    dims[axis] = kernel_pair_pick(pair, 1, 30);
    const bool in_a_row = kernel_pair_pick(pair, 0, 1) == 1;
    for (uint32_t i = 0; i < dims[axis]; i++) {
        index[i] = in_a_row ? (i + size / 4) % size : kernel_pair_pick(pair, 0, size - 1);
    }
    r->index = kernel_pair_words(pair, index, dims[axis]);
    r->dest = kernel_pair_output(pair, dims);
}

static void gather_agrees_along_every_axis(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 4 * MTS_PARAM_RANK; n++) {
        mts_gather_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            gather_params(pair, &params[m], (n + m) % MTS_PARAM_RANK);
        }
        kernel_pair_run_dest(pair, "gather_any__f32_planar", params, MEMBERS, sizeof params[0]);
    }
}

static void space_to_depth_params(kernel_pair *pair, mts_space_to_depth_params *r, bool zero_copy)
{
    const bool few = kernel_pair_pick(pair, 0, 3) == 0; /* a few pixels of many channels */
    const uint32_t dims[MTS_PARAM_RANK] = {1,
                                           1,
                                           1,
                                           kernel_pair_pick(pair, 1, few ? 40 : 4),
                                           kernel_pair_pick(pair, 1, few ? 4 : 40),
                                           kernel_pair_pick(pair, 1, few ? 6 : 70)};
    if (zero_copy) {
        r->src = kernel_pair_pool(pair, dims[3] * dims[4] * dims[5]);
        r->src_pitch = dims[4] * dims[5];
        r->src_row = dims[5];
        r->src_column = 1;
        r->src_pool = 2;
    } else {
        const mts_dest_params source = kernel_pair_place(pair, dims);
        r->src = source.base;
        r->src_pitch = source.pitch;
        r->src_row = source.row;
        r->src_column = 1;
    }
    if (kernel_pair_pick(pair, 0, 1)) { /* channels last: dense, and no larger */
        r->src_pitch = 1;
        r->src_column = dims[3];
        r->src_row = dims[5] * dims[3];
    }
    r->in_h = dims[4];
    r->in_w = dims[5];
    r->channels = dims[3];
    r->each = kernel_pair_pick(pair, 1, 9);
    r->sy = kernel_pair_pick(pair, 1, 3);
    r->sx = kernel_pair_pick(pair, 1, 3);
    r->top = (int32_t)kernel_pair_pick(pair, 0, 4) - 1;
    r->left = (int32_t)kernel_pair_pick(pair, 0, 4) - 1;
    r->rows = (r->in_h + 4) / r->sy + 1;
    r->row = (r->in_w + 4) / r->sx + kernel_pair_pick(pair, 1, 3);
    r->pitch = r->rows * r->row + kernel_pair_pick(pair, 0, 20);
    const uint32_t planes = r->channels * r->sy * r->sx;
    r->out = kernel_pair_act(pair, planes * r->pitch);
    kernel_pair_may_write(pair, r->out, planes * r->pitch);
}

static void run_phases(kernel_pair *pair, bool zero_copy)
{
    static const struct {
        const char *defines;
        uint32_t run, local;
    } builds[] = {{"-DVEC=1", 1, 16}, {"-DVEC=16", 96, 1}, {"-DVEC=4", 7, 4}, {"-DVEC=8", 1, 64}};
    for (uint32_t n = 0; n < CASES; n++) {
        mts_space_to_depth_params params[MEMBERS] = {0};
        uint32_t pitch = 0;
        kernel_pair_start(pair, n + 1);
        pair->raw_pool = zero_copy;
        for (int m = 0; m < MEMBERS; m++) {
            space_to_depth_params(pair, &params[m], zero_copy);
            pitch = params[m].pitch > pitch ? params[m].pitch : pitch;
        }
        const uint32_t first =
            kernel_pair_words(pair, params, MEMBERS * MTS_PARAM_WORDS(mts_space_to_depth_params));
        for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
            const uint32_t local[3] = {builds[i].local, 1, 1};
            const uint32_t items = (pitch + builds[i].run - 1) / builds[i].run;
            const uint32_t grid[3] = {(items + local[0] - 1) / local[0] * local[0], 40, MEMBERS};
            kernel_pair_run(pair, "space_to_depth_any__f32_planar", builds[i].defines, first, grid, local);
        }
    }
}

/* Many channels of few rows, which a work-item splits as a whole. */
static void small_planes_params(kernel_pair *pair, mts_space_to_depth_params *r)
{
    const uint32_t dims[MTS_PARAM_RANK] = {
        1, 1, 1, 24, kernel_pair_pick(pair, 5, 12), kernel_pair_pick(pair, 5, 16)};
    const mts_dest_params source = kernel_pair_place(pair, dims);
    *r = (mts_space_to_depth_params){.src = source.base,
                                     .src_pitch = source.pitch,
                                     .src_row = source.row,
                                     .src_column = 1,
                                     .in_h = dims[4],
                                     .in_w = dims[5],
                                     .channels = dims[3],
                                     .each = kernel_pair_pick(pair, 1, 9),
                                     .sy = 2,
                                     .sx = 2,
                                     .top = (int32_t)kernel_pair_pick(pair, 0, 1),
                                     .left = (int32_t)kernel_pair_pick(pair, 0, 1)};
    r->rows = (r->in_h + (uint32_t)r->top + 1) / 2;
    r->row = (r->in_w + (uint32_t)r->left + 1) / 2;
    r->pitch = r->rows * r->row + kernel_pair_pick(pair, 0, 3);
    const uint32_t planes = r->channels * 4;
    r->out = kernel_pair_act(pair, planes * r->pitch);
    kernel_pair_may_write(pair, r->out, planes * r->pitch);
}

static void phases_of_small_planes_end_with_them(void **state)
{
    static const char *const builds[] = {"-DVEC=16", "-DVEC=8", "-DVEC=4"};
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < CASES; n++) {
        const uint32_t local[3] = {1, 1, 1}, grid[3] = {1, 24, MEMBERS};
        mts_space_to_depth_params params[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        for (int m = 0; m < MEMBERS; m++) {
            small_planes_params(pair, &params[m]);
        }
        const uint32_t first =
            kernel_pair_words(pair, params, MEMBERS * MTS_PARAM_WORDS(mts_space_to_depth_params));
        for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
            kernel_pair_run(pair, "space_to_depth_any__f32_planar", builds[i], first, grid, local);
        }
    }
}

static void phase_splits_images_of_any_stride_and_border(void **state)
{
    run_phases(*state, false);
}

static void space_to_depth_reads_floats_of_a_zero_copy_input_whatever_is_stored(void **state)
{
    run_phases(*state, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copy_follows_signed_and_transposed_steps),
        cmocka_unit_test(copy_interleaves_pairs),
        cmocka_unit_test(copy_turns_rows_and_columns),
        cmocka_unit_test(copy_reads_floats_of_a_zero_copy_input_whatever_is_stored),
        cmocka_unit_test(concat_agrees_along_every_axis),
        cmocka_unit_test(pad_agrees_in_every_mode_and_when_it_crops),
        cmocka_unit_test(gather_agrees_along_every_axis),
        cmocka_unit_test(phase_splits_images_of_any_stride_and_border),
        cmocka_unit_test(phases_of_small_planes_end_with_them),
        cmocka_unit_test(space_to_depth_reads_floats_of_a_zero_copy_input_whatever_is_stored),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
