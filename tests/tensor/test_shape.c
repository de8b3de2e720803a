/*
 * Shapes: validity, counts, broadcasting, texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tensor/tensor.h"

#define SHAPE(...)                                                                                           \
    mts_shape_make((uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static const mts_shape scalar = {0, {0}};

static void counts_and_bytes_are_products_of_the_dimensions(void **state)
{
    (void)state;
    size_t bytes = 0;
    const mts_shape image = SHAPE(1, 3, 224, 224);
    const mts_shape empty = SHAPE(2, 0, 5);
    assert_true(mts_shape_count(&image) == 150528);
    assert_true(mts_shape_bytes(&image, MTS_TYPE_FLOAT32, &bytes));
    assert_true(bytes == 602112);
    assert_true(mts_shape_bytes(&image, MTS_TYPE_FLOAT16, &bytes));
    assert_true(bytes == 301056);
    assert_true(mts_shape_count(&scalar) == 1);
    assert_true(mts_shape_valid(&empty));
    assert_true(mts_shape_count(&empty) == 0);
}

static void shapes_that_overflow_or_are_negative_are_not_valid(void **state)
{
    (void)state;
    size_t bytes = 0;
    const int64_t half = (int64_t)1 << 32;
    const mts_shape huge = SHAPE(half, half);
    const mts_shape hidden = SHAPE(half, half, 0); /* a later zero does not undo the overflow */
    const mts_shape negative = SHAPE(3, -1);
    const mts_shape eight = SHAPE(INT64_MAX / 2); /* count fits, count times 8 does not */
    mts_shape deep = SHAPE(1);
    deep.rank = MTS_TENSOR_RANK_MAX + 1;
    assert_false(mts_shape_valid(&huge));
    assert_false(mts_shape_valid(&hidden));
    assert_false(mts_shape_valid(&negative));
    assert_false(mts_shape_valid(&deep));
    assert_false(mts_shape_valid(&eight));
    assert_false(mts_shape_bytes(&huge, MTS_TYPE_UINT8, &bytes));
    assert_true(mts_shape_count(&huge) == 0);
}

static void broadcasting_follows_the_rules_of_onnx(void **state)
{
    (void)state;
    mts_shape out = scalar;
    const mts_shape a = SHAPE(2, 1, 4, 1);
    const mts_shape b = SHAPE(3, 1, 5);
    const mts_shape both = SHAPE(2, 3, 4, 5);
    const mts_shape bad = SHAPE(2, 5);
    const mts_shape zero = SHAPE(0, 1);
    const mts_shape one = SHAPE(1, 7);
    const mts_shape zero_out = SHAPE(0, 7);
    assert_true(mts_shape_broadcast(&a, &b, &out));
    assert_true(mts_shape_equal(&out, &both));
    assert_true(mts_shape_broadcast(&b, &a, &out));
    assert_true(mts_shape_equal(&out, &both));
    assert_true(mts_shape_broadcast(&scalar, &a, &out));
    assert_true(mts_shape_equal(&out, &a));
    assert_true(mts_shape_broadcast(&zero, &one, &out));
    assert_true(mts_shape_equal(&out, &zero_out));
    assert_false(mts_shape_broadcast(&a, &bad, &out));
    assert_true(mts_shape_equal(&out, &zero_out)); /* a failure leaves the result alone */
    const mts_shape column = SHAPE((int64_t)1 << 40, 1);
    const mts_shape row = SHAPE((int64_t)1 << 40);
    assert_false(mts_shape_broadcast(&column, &row, &out)); /* each is valid, the result is not */
}

static void equality_looks_at_rank_and_every_dimension(void **state)
{
    (void)state;
    const mts_shape a = SHAPE(2, 3);
    const mts_shape b = SHAPE(2, 3, 1);
    const mts_shape c = SHAPE(2, 4);
    mts_shape d = SHAPE(2, 3);
    d.dims[5] = 99; /* beyond the rank */
    assert_false(mts_shape_equal(&a, &b));
    assert_false(mts_shape_equal(&a, &c));
    assert_true(mts_shape_equal(&a, &d));
}

static void texts_are_readable_and_terminated(void **state)
{
    (void)state;
    char text[64];
    char little[6];
    const mts_shape image = SHAPE(1, 3, 224, 224);
    assert_string_equal(mts_shape_text(&image, text, sizeof text), "1x3x224x224");
    assert_string_equal(mts_shape_text(&scalar, text, sizeof text), "scalar");
    assert_true(strlen(mts_shape_text(&image, little, sizeof little)) < sizeof little);
}

static void a_rank_that_no_shape_has_reads_nothing_beyond(void **state)
{
    (void)state;
    char text[64] = "kept";
    mts_shape out = scalar;
    int64_t dims[MTS_TENSOR_RANK_MAX + 1] = {2, 2, 2, 2, 2, 2, 2};
    mts_shape deep = mts_shape_make(MTS_TENSOR_RANK_MAX + 1, dims);
    mts_shape same = deep;
    uint32_t padded[MTS_TENSOR_RANK_MAX];
    assert_string_equal(mts_shape_text(&deep, text, 0), "kept");
    assert_string_equal(mts_shape_text(&deep, text, sizeof text), "2x2x2x2x2x2");
    assert_true(mts_shape_equal(&deep, &same));
    assert_false(mts_shape_broadcast(&deep, &scalar, &out));
    assert_false(mts_shape_broadcast(&scalar, &deep, &out));
    assert_int_equal(mts_shape_count(&deep), 0);
    mts_shape_pad(&deep, padded);
    assert_int_equal(padded[0], 2);
    assert_string_equal(mts_type_name((mts_type)-1), "unknown");
    const mts_shape long_row = SHAPE(INT64_MAX, 2);
    assert_false(mts_shape_valid(&long_row));
}

static void padding_puts_ones_on_the_left(void **state)
{
    (void)state;
    uint32_t dims[MTS_TENSOR_RANK_MAX];
    const uint32_t expected[MTS_TENSOR_RANK_MAX] = {1, 1, 1, 1, 7, 9};
    const uint32_t ones[MTS_TENSOR_RANK_MAX] = {1, 1, 1, 1, 1, 1};
    const mts_shape matrix = SHAPE(7, 9);
    mts_shape_pad(&matrix, dims);
    assert_memory_equal(dims, expected, sizeof dims);
    mts_shape_pad(&scalar, dims);
    assert_memory_equal(dims, ones, sizeof dims);
}

static void every_element_type_has_a_size_and_a_name(void **state)
{
    (void)state;
    static const size_t sizes[MTS_TYPE_COUNT] = {4, 2, 4, 8, 1, 1, 8, 1, 2, 2};
    for (int i = 0; i < MTS_TYPE_COUNT; i++) {
        assert_true(mts_type_size((mts_type)i) == sizes[i]);
        assert_string_not_equal(mts_type_name((mts_type)i), "unknown");
    }
    assert_true(mts_type_size(MTS_TYPE_COUNT) == 0);
    assert_true(mts_type_size((mts_type)-1) == 0);
    assert_string_equal(mts_type_name((mts_type)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_bytes_are_products_of_the_dimensions),
        cmocka_unit_test(shapes_that_overflow_or_are_negative_are_not_valid),
        cmocka_unit_test(broadcasting_follows_the_rules_of_onnx),
        cmocka_unit_test(equality_looks_at_rank_and_every_dimension),
        cmocka_unit_test(texts_are_readable_and_terminated),
        cmocka_unit_test(a_rank_that_no_shape_has_reads_nothing_beyond),
        cmocka_unit_test(padding_puts_ones_on_the_left),
        cmocka_unit_test(every_element_type_has_a_size_and_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
