/*
 * test_masks_and_classes.c: masks at the size of a frame, and the largest numbers of an output.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mts/kit.h"

static void a_mask_is_as_large_as_the_frame(void **state)
{
    static const float mask[2][2] = {{0, 1}, {0, 1}};
    static const uint8_t row[4] = {0, 64, 191, 255};
    static const uint8_t hard[4] = {0, 0, 255, 255};
    uint8_t alpha[2][4];
    mts_kit_map map;
    (void)state;
    mts_kit_map_of_region(&(mts_region){0}, 4, 2, 2, 2, &map);
    assert_int_equal(
        mts_kit_mask_resize(&map, mask[0], 2, 2, 1, MTS_KIT_MASK_PROBABILITY, -1, 4, 2, alpha[0]),
        MTS_STATUS_OK);
    assert_memory_equal(alpha[0], row, 4);
    assert_memory_equal(alpha[1], row, 4);
    assert_int_equal(
        mts_kit_mask_resize(&map, mask[0], 2, 2, 1, MTS_KIT_MASK_PROBABILITY, 0.5f, 4, 2, alpha[0]),
        MTS_STATUS_OK);
    assert_memory_equal(alpha[0], hard, 4);
}

static void what_was_not_shown_is_no_part_of_a_mask(void **state)
{
    static const float mask[1] = {100}; /* a logit */
    static const uint8_t expected[4] = {0, 255, 255, 0};
    uint8_t alpha[4];
    mts_kit_map map;
    (void)state;
    mts_kit_map_of_region(&(mts_region){.x = 1, .width = 2, .height = 1}, 4, 1, 8, 8, &map);
    assert_int_equal(mts_kit_mask_resize(&map, mask, 1, 1, 1, MTS_KIT_MASK_LOGIT, -1, 4, 1, alpha),
                     MTS_STATUS_OK);
    assert_memory_equal(alpha, expected, 4);
    map.m[0] = 0;
    assert_int_equal(mts_kit_mask_resize(&map, mask, 1, 1, 1, MTS_KIT_MASK_LOGIT, -1, 4, 1, alpha),
                     MTS_STATUS_INVALID_ARGUMENT);
    map.m[0] = NAN;
    assert_int_equal(mts_kit_mask_resize(&map, mask, 1, 1, 1, MTS_KIT_MASK_LOGIT, -1, 4, 1, alpha),
                     MTS_STATUS_INVALID_ARGUMENT);
}

static void one_class_of_an_interleaved_mask_is_read(void **state)
{
    static const float mask[3] = {0.2f, NAN, 0.9f};
    uint8_t alpha[1];
    mts_kit_map map;
    (void)state;
    mts_kit_map_of_region(&(mts_region){0}, 1, 1, 1, 1, &map);
    for (size_t i = 0; i < 3; i++) {
        static const uint8_t expected[3] = {51, 0, 230};
        assert_int_equal(
            mts_kit_mask_resize(&map, mask + i, 1, 1, 3, MTS_KIT_MASK_PROBABILITY, -1, 1, 1, alpha),
            MTS_STATUS_OK);
        assert_int_equal(alpha[0], expected[i]);
    }
}

/* softmax of 1, 2, 3: 0.0900, 0.2447, 0.6652 */
static void scores_become_probabilities_once(void **state)
{
    float logits[4] = {2, NAN, 3, 1};
    float shares[3] = {0.25f, 0.5f, 0.25f};
    mts_kit_class top[4];
    (void)state;
    mts_tensor tensor = {.data = logits, .bytes = sizeof logits, .type = MTS_TYPE_FLOAT32};
    assert_int_equal(mts_kit_top(&tensor, 0, top, 2), 2);
    assert_int_equal(top[0].index, 2);
    assert_float_equal(top[0].score, 3, 0);
    logits[1] = -INFINITY;
    assert_int_equal(mts_kit_top(&tensor, 1, top, 4), 4);
    assert_float_equal(top[0].score, 0.66524f, 1e-5f);
    assert_float_equal(top[1].score, 0.24473f, 1e-5f);
    assert_float_equal(top[3].score, 0, 0);
    logits[1] = NAN;
    assert_int_equal(mts_kit_top(&tensor, 1, top, 4), 3);
    assert_float_equal(top[0].score, 0.66524f, 1e-5f);
    logits[0] = INFINITY;
    assert_int_equal(mts_kit_top(&tensor, 1, top, 4), 3);
    assert_float_equal(top[0].score, 1, 0);
    assert_float_equal(top[2].score, 0, 0);
    tensor = (mts_tensor){.data = shares, .bytes = sizeof shares, .type = MTS_TYPE_FLOAT32};
    assert_int_equal(mts_kit_top(&tensor, 1, top, 4), 3);
    assert_float_equal(top[0].score, 0.5f, 0);
    assert_int_equal(top[1].index, 0); /* of equal ones the smaller index */
    assert_int_equal(mts_kit_top(&tensor, 1, top, 0), 0);
    tensor.bytes = 0;
    assert_int_equal(mts_kit_top(&tensor, 1, top, 4), 0);
}

static void numbers_of_every_type_are_read(void **state)
{
    const uint16_t halves[3] = {0x3c00, 0xc000, 0x0001};
    const int64_t wide[2] = {-5, 7};
    const uint8_t bytes[2] = {3, 200};
    (void)state;
    mts_tensor tensor = {.data = (void *)(uintptr_t)halves, .bytes = sizeof halves, .type = MTS_TYPE_FLOAT16};
    assert_int_equal(mts_kit_count(&tensor), 3);
    assert_float_equal(mts_kit_value(&tensor, 0), 1, 0);
    assert_float_equal(mts_kit_value(&tensor, 1), -2, 0);
    assert_float_equal(mts_kit_value(&tensor, 2), 5.9604645e-8, 1e-15);
    tensor = (mts_tensor){.data = (void *)(uintptr_t)wide, .bytes = sizeof wide, .type = MTS_TYPE_INT64};
    assert_float_equal(mts_kit_value(&tensor, 0), -5, 0);
    tensor = (mts_tensor){.data = (void *)(uintptr_t)bytes, .bytes = sizeof bytes, .type = MTS_TYPE_UINT8};
    assert_float_equal(mts_kit_value(&tensor, 1), 200, 0);
    tensor.type = (mts_type)99;
    assert_int_equal(mts_kit_count(&tensor), 0);
    assert_true(isnan(mts_kit_value(&tensor, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mask_is_as_large_as_the_frame),
        cmocka_unit_test(what_was_not_shown_is_no_part_of_a_mask),
        cmocka_unit_test(one_class_of_an_interleaved_mask_is_read),
        cmocka_unit_test(scores_become_probabilities_once),
        cmocka_unit_test(numbers_of_every_type_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
