/*
 * test_kernels_half.c: what a kernel built with HALF stores, to the bit, on the reference and on the other
 * device if there is one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "support/kernel_pair.h"

#define ACT 64
#define POOL 16
#define TABLE 128
#define IN 8
#define OUT 24

/* A launch of one group on buffers of its own. Returns what submitting it returned. */
static mts_status run(mts_device *device, const char *kernel, uint16_t *act, const uint16_t *pool,
                      const uint32_t *table, uint32_t members, mts_error *error)
{
    char options[32];
    (void)snprintf(options, sizeof options, "%s -DHALF=1", kernel_pair_scalar(device));
    const mts_kernel_desc desc = {.name = kernel, .defines = options};
    mts_buffer *buffers[3] = {NULL, NULL, NULL};
    mts_kernel *built = NULL;
    mts_command_list *list = NULL;
    const void *const data[3] = {act, pool, table};
    const size_t sizes[3] = {ACT * sizeof *act, POOL * sizeof *pool, TABLE * sizeof *table};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mts_buffer_create(device, sizes[i], &buffers[i], error), MTS_STATUS_OK);
        assert_int_equal(mts_buffer_write(buffers[i], 0, data[i], sizes[i], error), MTS_STATUS_OK);
    }
    assert_int_equal(mts_kernel_create(device, &desc, &built, error), MTS_STATUS_OK);
    const mts_launch launch = {.kernel = built,
                               .act = buffers[0],
                               .pool = buffers[1],
                               .params = buffers[2],
                               .global = {4, 2, members},
                               .local = {1, 1, 1},
                               .label = "half"};
    assert_int_equal(mts_command_list_create(device, &launch, 1, &list, error), MTS_STATUS_OK);
    const mts_status status = mts_command_list_submit(list, error);
    assert_int_equal(mts_buffer_read(buffers[0], 0, act, sizes[0], error), MTS_STATUS_OK);
    mts_command_list_destroy(&list);
    mts_kernel_destroy(&built);
    for (int i = 0; i < 3; i++) {
        mts_buffer_destroy(&buffers[i]);
    }
    return status;
}

static mts_dest_params row(uint32_t base, uint32_t count)
{
    const mts_dest_params dest = {.base = base, .dims = {1, 1, 1, 1, 1, count}, .row = count, .pitch = count};
    return dest;
}

/* 1.5 x in float32, rounded once: ties go to the even neighbour, what is too large becomes infinite. */
static void a_result_is_rounded_to_the_nearest_float16_once(void **state)
{
    static const uint16_t in[4] = {0x3c01, 0x3c03, 0x7bff, 0xbc01};  /* 1 + 1/1024, 1 + 3/1024, 65504 */
    static const uint16_t out[4] = {0x3e02, 0x3e04, 0x7c00, 0xbe02}; /* 1.5 + 1.5/1024, 1.5 + 4.5/1024 */
    const kernel_pair *pair = *state;
    for (int d = 0; d < 2; d++) {
        uint16_t act[ACT] = {0};
        uint16_t pool[POOL] = {0, mts_half_from_float(1.5f)};
        uint32_t table[TABLE] = {0};
        mts_error error = {0};
        const mts_dest_params from = row(IN, 4);
        const mts_scale_params r = {.dest = row(OUT, 4),
                                    .src = kernel_pair_view(&from),
                                    .scale = 1,
                                    .bias = MTS_PARAM_NONE,
                                    .slope = MTS_PARAM_NONE};
        memcpy(table, &r, sizeof r);
        memcpy(act + IN, in, sizeof in);
        if (pair->devices[d]) {
            assert_int_equal(run(pair->devices[d], "scale_any__f32_planar", act, pool, table, 1, &error),
                             MTS_STATUS_OK);
            assert_memory_equal(act + OUT, out, sizeof out);
        }
    }
}

/* Infinities, NaNs of any payload, negative zero and the smallest numbers lie around the output. */
static void what_is_not_written_keeps_its_bits(void **state)
{
    static const uint16_t odd[8] = {0x7c00, 0xfc00, 0x7e01, 0xfd55, 0x8000, 0x0001, 0x83ff, 0x7bff};
    const kernel_pair *pair = *state;
    for (int d = 0; d < 2; d++) {
        uint16_t act[ACT];
        uint16_t was[ACT];
        uint16_t pool[POOL] = {0};
        uint32_t table[TABLE] = {0};
        mts_error error = {0};
        const mts_dest_params from = row(IN, 4);
        const mts_unary_params r = {
            .dest = row(OUT, 4), .src = kernel_pair_view(&from), .fn = MTS_FN_CLIP, .a = 0.5f, .b = 0.5f};
        for (uint32_t i = 0; i < ACT; i++) {
            was[i] = odd[i % 8];
        }
        for (uint32_t i = 0; i < 4; i++) {
            was[IN + i] = 0x3c00;
        }
        memcpy(act, was, sizeof act);
        memcpy(table, &r, sizeof r);
        if (pair->devices[d]) {
            assert_int_equal(run(pair->devices[d], "unary_any__f32_planar", act, pool, table, 1, &error),
                             MTS_STATUS_OK);
            for (uint32_t i = 0; i < 4; i++) {
                was[OUT + i] = 0x3800;
            }
            assert_memory_equal(act, was, sizeof act);
        }
    }
}

/* One launch has one pool: it cannot be float16 weights and a caller's floats at once. */
static void a_pool_that_is_to_be_both_stored_and_imported_is_refused(void **state)
{
    const kernel_pair *pair = *state;
    uint16_t act[ACT] = {0};
    uint16_t pool[POOL] = {0};
    uint32_t table[TABLE] = {0};
    mts_error error = {0};
    mts_copy_params r[2] = {{.dest = row(OUT, 4), .src_pool = 1, .step = {0, 0, 0, 0, 0, 1}}};
    r[1] = r[0];
    r[1].dest = row(OUT + 4, 4);
    r[1].src_pool = 2;
    memcpy(table, r, sizeof r);
    assert_int_equal(run(pair->devices[0], "copy_any__f32_planar", act, pool, table, 2, &error),
                     MTS_STATUS_DEVICE);
    assert_non_null(strstr(error.text, "pool"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_is_rounded_to_the_nearest_float16_once),
        cmocka_unit_test(what_is_not_written_keeps_its_bits),
        cmocka_unit_test(a_pool_that_is_to_be_both_stored_and_imported_is_refused),
    };
    return cmocka_run_group_tests(tests, kernel_pair_setup, kernel_pair_teardown);
}
