/*
 * test_kernels_resize.c: resize and frame agree with the reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/kernel_pair.h"

#define MEMBERS 3

static void resize_record(kernel_pair *pair, mts_rec_resize *r, uint32_t mode, uint32_t coord)
{
    uint32_t dims[MTS_REC_RANK];
    kernel_pair_dims(pair, dims, 2, 24);
    r->src = kernel_pair_operand(pair, dims, false, NULL);
    r->mode = mode;
    r->coord = coord;
    r->round = kernel_pair_pick(pair, 0, 3);
    r->exclude_outside = kernel_pair_pick(pair, 0, 1);
    r->cubic_a = kernel_pair_pick(pair, 0, 1) ? -0.75f : -0.5f;
    r->extrapolation = 7.5f;
    for (int i = 0; i < 2; i++) {
        r->in[i] = dims[4 + i];
        dims[4 + i] = kernel_pair_pick(pair, 0, 2) ? kernel_pair_pick(pair, 1, 50) : r->in[i] * 2;
        r->scale[i] = (float)dims[4 + i] / (float)r->in[i];
        r->roi_start[i] = kernel_pair_float(pair, -0.3f, 0.4f);
        r->roi_end[i] = kernel_pair_float(pair, 0.5f, 1.3f);
    }
    r->dest = kernel_pair_output(pair, dims);
}

static void resize_agrees_in_every_mode_and_coordinate_system(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 36; n++) {
        mts_rec_resize records[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f; /* a coordinate's last bit times the slope of neighbouring pixels */
        for (uint32_t m = 0; m < MEMBERS; m++) {
            resize_record(pair, &records[m], n % 3, n / 3 % 6);
        }
        kernel_pair_run_dest(pair, "resize_any__f32_planar", records, MEMBERS, sizeof records[0]);
    }
}

static void frame_record(kernel_pair *pair, mts_rec_frame *r, uint32_t format)
{
    static const uint32_t bytes[] = {3, 3, 4, 4, 1};
    r->format = format;
    r->width = kernel_pair_pick(pair, 1, 60);
    r->height = kernel_pair_pick(pair, 1, 50);
    r->stride = r->width * bytes[format] + kernel_pair_pick(pair, 0, 9);
    r->src = kernel_pair_pool(pair, (r->stride * r->height + 3) / 4);
    unsigned char *picture = (unsigned char *)(pair->pool + r->src);
    for (uint32_t i = 0; i < r->stride * r->height; i++) {
        picture[i] = (unsigned char)kernel_pair_pick(pair, 0, 255);
    }
    r->crop_w = kernel_pair_pick(pair, 1, r->width);
    r->crop_h = kernel_pair_pick(pair, 1, r->height);
    r->crop_x = kernel_pair_pick(pair, 0, r->width - r->crop_w);
    r->crop_y = kernel_pair_pick(pair, 0, r->height - r->crop_h);
    r->channels = kernel_pair_pick(pair, 1, 4);
    r->interleaved = kernel_pair_pick(pair, 0, 1);
    for (int c = 0; c < 4; c++) {
        r->order[c] = kernel_pair_pick(pair, 0, 3);
        r->mean[c] = kernel_pair_float(pair, 0.0f, 200.0f);
        r->scale[c] = kernel_pair_float(pair, 0.005f, 0.05f);
    }
    uint32_t dims[MTS_REC_RANK] = {
        1, 1, 1, r->channels, kernel_pair_pick(pair, 1, 40), kernel_pair_pick(pair, 1, 40)};
    if (r->interleaved) {
        const uint32_t turned[MTS_REC_RANK] = {1, 1, 1, dims[4], dims[5], dims[3]};
        memcpy(dims, turned, sizeof dims);
    }
    r->dest = kernel_pair_output(pair, dims);
}

static void frame_agrees_for_every_format_crop_and_layout(void **state)
{
    kernel_pair *pair = *state;
    for (uint32_t n = 0; n < 20; n++) {
        mts_rec_frame records[MEMBERS] = {0};
        kernel_pair_start(pair, n + 1);
        pair->tolerance = 1e-4f; /* of values up to 255 before the scale */
        pair->raw_pool = true;
        for (uint32_t m = 0; m < MEMBERS; m++) {
            frame_record(pair, &records[m], (n + m) % 5);
        }
        kernel_pair_run_dest(pair, "frame_any__f32_planar", records, MEMBERS, sizeof records[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resize_agrees_in_every_mode_and_coordinate_system),
        cmocka_unit_test(frame_agrees_for_every_format_crop_and_layout),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
