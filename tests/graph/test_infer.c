/*
 * Shapes of the operators: what ONNX says they are, and what is refused.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"

#define SHAPE(...)                                                                                           \
    (&(mts_shape){(uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define INFER(op, attrs, ...)                                                                                \
    infer(op, attrs, (const mts_shape *const[]){__VA_ARGS__},                                                \
          (uint32_t)(sizeof((const mts_shape *const[]){__VA_ARGS__}) / sizeof(void *)))

static mts_shape result;
static mts_error error;

static mts_status infer(mts_op op, mts_attrs attrs, const mts_shape *const *inputs, uint32_t count)
{
    result = (mts_shape){.rank = 99};
    return mts_node_infer(op, &attrs, inputs, count, &result, &error);
}

static void assert_result(const mts_shape *wanted)
{
    char a[96], b[96];
    assert_string_equal(mts_shape_text(&result, a, sizeof(a)), mts_shape_text(wanted, b, sizeof(b)));
}

static mts_attrs conv(uint32_t kernel, uint32_t stride, int32_t pad, uint32_t group)
{
    return (mts_attrs){.conv = {.kernel = {kernel, kernel},
                                .stride = {stride, stride},
                                .dilation = {1, 1},
                                .pad = {pad, pad, pad, pad},
                                .group = group}};
}

static void a_convolution_rounds_its_size_down(void **state)
{
    (void)state;
    assert_int_equal(INFER(MTS_OP_CONV, conv(3, 2, 1, 1), SHAPE(2, 3, 224, 225), SHAPE(64, 3, 3, 3)),
                     MTS_STATUS_OK);
    assert_result(SHAPE(2, 64, 112, 113));
}

static void a_depthwise_convolution_has_one_input_channel_a_filter(void **state)
{
    (void)state;
    assert_int_equal(INFER(MTS_OP_CONV, conv(3, 1, 1, 8), SHAPE(1, 8, 5, 5), SHAPE(8, 1, 3, 3)),
                     MTS_STATUS_OK);
    assert_result(SHAPE(1, 8, 5, 5));
    assert_int_equal(INFER(MTS_OP_CONV, conv(3, 1, 1, 4), SHAPE(1, 8, 5, 5), SHAPE(8, 1, 3, 3)),
                     MTS_STATUS_MALFORMED);
}

static void a_convolution_refuses_operands_that_do_not_fit(void **state)
{
    (void)state;
    const mts_attrs one = conv(1, 1, 0, 1);
    const mts_shape *x = SHAPE(1, 4, 5, 5), *w = SHAPE(6, 4, 1, 1);
    assert_int_equal(INFER(MTS_OP_CONV, one, x, w, SHAPE(6), SHAPE(6), SHAPE(1, 6, 5, 5)), MTS_STATUS_OK);
    assert_int_equal(INFER(MTS_OP_CONV, one, x, w, NULL, SHAPE(5)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_CONV, one, x, w, SHAPE(6, 1)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_CONV, one, x, w, NULL, NULL, SHAPE(1, 6, 5, 4)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_CONV, one, x, w, NULL, NULL, NULL, SHAPE(6)), MTS_STATUS_MALFORMED);
    mts_attrs prelu = one;
    prelu.conv.act.fn = MTS_FN_PRELU;
    assert_int_equal(INFER(MTS_OP_CONV, prelu, x, w, NULL, NULL, NULL, SHAPE(6)), MTS_STATUS_OK);
    assert_int_equal(INFER(MTS_OP_CONV, prelu, x, w), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_CONV, one, x), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_CONV, one, NULL, w), MTS_STATUS_MALFORMED);
}

static void no_attribute_of_a_window_divides_by_zero_or_overflows(void **state)
{
    (void)state;
    const mts_shape *x = SHAPE(1, 1, 5, 5), *w = SHAPE(1, 1, 1, 1);
    const uint32_t bad[] = {0, 65537, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        mts_attrs attrs = conv(1, 1, 0, 1);
        attrs.conv.stride[1] = bad[i];
        assert_int_equal(INFER(MTS_OP_CONV, attrs, x, w), MTS_STATUS_MALFORMED);
        attrs = conv(1, 1, 0, 1);
        attrs.conv.dilation[0] = bad[i];
        assert_int_equal(INFER(MTS_OP_CONV, attrs, x, w), MTS_STATUS_MALFORMED);
        attrs = conv(1, 1, 0, 1);
        attrs.conv.group = bad[i];
        assert_int_equal(INFER(MTS_OP_CONV, attrs, x, w), MTS_STATUS_MALFORMED);
        mts_attrs pool = {.pool = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}}};
        pool.pool.stride[0] = bad[i];
        assert_int_equal(INFER(MTS_OP_POOL, pool, x), MTS_STATUS_MALFORMED);
    }
    mts_attrs negative = conv(1, 1, -1, 1);
    assert_int_equal(INFER(MTS_OP_CONV, negative, x, w), MTS_STATUS_MALFORMED);
    negative.conv.pad[0] = INT32_MIN;
    assert_int_equal(INFER(MTS_OP_CONV, negative, x, w), MTS_STATUS_MALFORMED);
}

static void a_kernel_larger_than_its_padded_input_is_refused(void **state)
{
    (void)state;
    assert_int_equal(INFER(MTS_OP_CONV, conv(6, 1, 0, 1), SHAPE(1, 1, 5, 9), SHAPE(1, 1, 6, 6)),
                     MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_CONV, conv(7, 1, 1, 1), SHAPE(1, 1, 5, 5), SHAPE(1, 1, 7, 7)),
                     MTS_STATUS_OK);
    assert_result(SHAPE(1, 1, 1, 1));
}

static void a_transposed_convolution_inverts_the_size(void **state)
{
    (void)state;
    mts_attrs attrs = conv(3, 2, 1, 1);
    attrs.conv.output_pad[0] = 1;
    assert_int_equal(INFER(MTS_OP_DECONV, attrs, SHAPE(1, 4, 7, 7), SHAPE(4, 2, 3, 3), SHAPE(2)),
                     MTS_STATUS_OK);
    assert_result(SHAPE(1, 2, 14, 13));
}

static void a_pool_rounds_up_only_to_windows_that_begin_inside(void **state)
{
    (void)state;
    mts_attrs attrs = {.pool = {.kernel = {2, 2}, .stride = {2, 3}, .dilation = {1, 1}, .ceil = 1}};
    /* 5 -> windows at 0, 2, 4; 6 with stride 3 -> at 0, 3 and none at 6 */
    assert_int_equal(INFER(MTS_OP_POOL, attrs, SHAPE(1, 1, 5, 6)), MTS_STATUS_OK);
    assert_result(SHAPE(1, 1, 3, 2));
    attrs.pool.ceil = 0;
    assert_int_equal(INFER(MTS_OP_POOL, attrs, SHAPE(1, 1, 5, 6)), MTS_STATUS_OK);
    assert_result(SHAPE(1, 1, 2, 2));
    attrs.pool.pad[0] = 2; /* a window could lie in the padding alone */
    assert_int_equal(INFER(MTS_OP_POOL, attrs, SHAPE(1, 1, 5, 6)), MTS_STATUS_MALFORMED);
}

static void a_product_broadcasts_its_batches(void **state)
{
    (void)state;
    const mts_attrs attrs = {.matmul = {.alpha = 1.0f}};
    assert_int_equal(INFER(MTS_OP_MATMUL, attrs, SHAPE(2, 1, 3, 4), SHAPE(5, 4, 6)), MTS_STATUS_OK);
    assert_result(SHAPE(2, 5, 3, 6));
    assert_int_equal(INFER(MTS_OP_MATMUL, attrs, SHAPE(3, 4), SHAPE(4, 6), SHAPE(6)), MTS_STATUS_OK);
    assert_int_equal(INFER(MTS_OP_MATMUL, attrs, SHAPE(3, 4), SHAPE(4, 6), SHAPE(3)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_MATMUL, attrs, SHAPE(3, 4), SHAPE(4, 6), SHAPE(2, 3, 6)),
                     MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_MATMUL, attrs, SHAPE(3, 4), SHAPE(5, 6)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_MATMUL, attrs, SHAPE(4), SHAPE(4, 6)), MTS_STATUS_MALFORMED);
}

static void a_choice_broadcasts_its_three_operands(void **state)
{
    (void)state;
    const mts_attrs none = {0};
    assert_int_equal(INFER(MTS_OP_SELECT, none, SHAPE(2, 1, 3), SHAPE(4, 1), SHAPE(1)), MTS_STATUS_OK);
    assert_result(SHAPE(2, 4, 3));
    assert_int_equal(INFER(MTS_OP_SELECT, none, SHAPE(2, 3), SHAPE(2, 3), SHAPE(4)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_SELECT, none, SHAPE(2, 3), SHAPE(2, 3)), MTS_STATUS_MALFORMED);
}

/* Convolutions do not know the functions that have programs of their own. */
static void functions_that_no_convolution_ends_with_are_refused_there(void **state)
{
    (void)state;
    const mts_shape *x = SHAPE(1, 2, 3, 4), *w = SHAPE(2, 2, 1, 1);
    mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    attrs.conv.act.fn = MTS_FN_MISH;
    assert_int_equal(INFER(MTS_OP_CONV, attrs, x, w), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_DECONV, attrs, x, w), MTS_STATUS_MALFORMED);
    attrs.conv.act.fn = MTS_FN_GELU; /* both forms of Gelu may end one */
    assert_int_equal(INFER(MTS_OP_CONV, attrs, x, w), MTS_STATUS_OK);
    attrs.conv.act.fn = MTS_FN_GELU_TANH;
    assert_int_equal(INFER(MTS_OP_CONV, attrs, x, w), MTS_STATUS_OK);
    assert_int_equal(INFER(MTS_OP_UNARY, ((mts_attrs){.unary = {.act = {.fn = MTS_FN_MISH}}}), x),
                     MTS_STATUS_OK);
}

static void numbers_of_functions_and_modes_are_checked(void **state)
{
    (void)state;
    const mts_shape *x = SHAPE(1, 2, 3, 4);
    assert_int_equal(INFER(MTS_OP_UNARY, ((mts_attrs){.unary = {.act = {.fn = MTS_FN_COUNT}}}), x),
                     MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_UNARY, ((mts_attrs){.unary = {.act = {.fn = MTS_FN_PRELU}}}), x),
                     MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_UNARY, ((mts_attrs){.unary = {.act = {.fn = MTS_FN_LEAKY, .a = NAN}}}), x),
                     MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_BINARY, ((mts_attrs){.binary = {.kind = MTS_BIN_COUNT}}), x, x),
                     MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_REDUCE, ((mts_attrs){.reduce = {.kind = MTS_REDUCE_COUNT, .axes = 1}}), x),
                     MTS_STATUS_MALFORMED);
    assert_int_equal(
        INFER(MTS_OP_REDUCE, ((mts_attrs){.reduce = {.kind = MTS_REDUCE_ARG_MIN, .axes = 3}}), x),
        MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_REDUCE, ((mts_attrs){.reduce = {.axes = 16}}), x), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_SOFTMAX, ((mts_attrs){.softmax = {.axis = 4}}), x), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_LRN, ((mts_attrs){.lrn = {.size = 0}}), x), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_PAD, ((mts_attrs){.pad = {.mode = 3}}), x), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER((mts_op)MTS_OP_COUNT, ((mts_attrs){0}), x), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER((mts_op)-1, ((mts_attrs){0}), x), MTS_STATUS_MALFORMED);
}

static void reductions_keep_or_drop_their_axes(void **state)
{
    (void)state;
    mts_attrs attrs = {.reduce = {.kind = MTS_REDUCE_MEAN, .axes = 0xc, .keep = 1}};
    assert_int_equal(INFER(MTS_OP_REDUCE, attrs, SHAPE(1, 8, 7, 7)), MTS_STATUS_OK);
    assert_result(SHAPE(1, 8, 1, 1));
    attrs.reduce.keep = 0;
    assert_int_equal(INFER(MTS_OP_REDUCE, attrs, SHAPE(1, 8, 7, 7)), MTS_STATUS_OK);
    assert_result(SHAPE(1, 8));
}

static void joins_need_equal_dimensions_beside_the_axis(void **state)
{
    (void)state;
    mts_attrs attrs = {.concat = {.axis = 1}};
    assert_int_equal(INFER(MTS_OP_CONCAT, attrs, SHAPE(1, 2, 5), SHAPE(1, 3, 5), SHAPE(1, 4, 5)),
                     MTS_STATUS_OK);
    assert_result(SHAPE(1, 9, 5));
    assert_int_equal(INFER(MTS_OP_CONCAT, attrs, SHAPE(1, 2, 5), SHAPE(1, 3, 4)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_CONCAT, attrs, SHAPE(1, 2, 5), SHAPE(1, 3)), MTS_STATUS_MALFORMED);
    attrs.concat.axis = 3;
    assert_int_equal(INFER(MTS_OP_CONCAT, attrs, SHAPE(1, 2, 5)), MTS_STATUS_MALFORMED);
}

static void slices_stay_inside_their_input(void **state)
{
    (void)state;
    mts_attrs attrs = {.slice = {.start = {9}, .step = {-3}, .size = {4}}};
    assert_int_equal(INFER(MTS_OP_SLICE, attrs, SHAPE(10)), MTS_STATUS_OK); /* 9 6 3 0 */
    assert_result(SHAPE(4));
    attrs.slice.start[0] = 8; /* 8 5 2 -1 */
    assert_int_equal(INFER(MTS_OP_SLICE, attrs, SHAPE(10)), MTS_STATUS_MALFORMED);
    attrs.slice = (mts_attrs_slice){.start = {0}, .step = {INT64_MAX}, .size = {2}};
    assert_int_equal(INFER(MTS_OP_SLICE, attrs, SHAPE(10)), MTS_STATUS_MALFORMED);
    attrs.slice = (mts_attrs_slice){.start = {-1}, .step = {1}, .size = {1}};
    assert_int_equal(INFER(MTS_OP_SLICE, attrs, SHAPE(10)), MTS_STATUS_MALFORMED);
    attrs.slice = (mts_attrs_slice){.start = {0}, .step = {0}, .size = {1}};
    assert_int_equal(INFER(MTS_OP_SLICE, attrs, SHAPE(10)), MTS_STATUS_MALFORMED);
    attrs.slice = (mts_attrs_slice){.start = {0}, .step = {1}, .size = {0}};
    assert_int_equal(INFER(MTS_OP_SLICE, attrs, SHAPE(10)), MTS_STATUS_MALFORMED);
}

static void padding_may_crop_but_not_reflect_twice(void **state)
{
    (void)state;
    mts_attrs attrs = {.pad = {.mode = MTS_PAD_CONSTANT, .before = {-2, 1}, .after = {1, 0}}};
    assert_int_equal(INFER(MTS_OP_PAD, attrs, SHAPE(5, 5)), MTS_STATUS_OK);
    assert_result(SHAPE(4, 6));
    const int64_t far[3] = {(int64_t)1 << 32, (int64_t)1 << 31, INT32_MAX};
    for (int i = 0; i < 3; i++) { /* records hold 32-bit numbers */
        const mts_attrs moved = {.pad = {.mode = MTS_PAD_CONSTANT, .before = {far[i]}, .after = {-far[i]}}};
        assert_int_equal(INFER(MTS_OP_PAD, moved, SHAPE(5, 5)), MTS_STATUS_MALFORMED);
    }
    attrs.pad.before[0] = -6;
    assert_int_equal(INFER(MTS_OP_PAD, attrs, SHAPE(5, 5)), MTS_STATUS_MALFORMED);
    attrs.pad.before[0] = INT64_MAX;
    assert_int_equal(INFER(MTS_OP_PAD, attrs, SHAPE(5, 5)), MTS_STATUS_MALFORMED);
    attrs.pad = (mts_attrs_pad){.mode = MTS_PAD_REFLECT, .before = {4}};
    assert_int_equal(INFER(MTS_OP_PAD, attrs, SHAPE(5)), MTS_STATUS_OK);
    attrs.pad.before[0] = 5;
    assert_int_equal(INFER(MTS_OP_PAD, attrs, SHAPE(5)), MTS_STATUS_MALFORMED);
}

static void gathers_put_the_index_shape_in_place_of_the_axis(void **state)
{
    (void)state;
    mts_attrs attrs = {.gather = {.axis = 1}};
    assert_int_equal(INFER(MTS_OP_GATHER, attrs, SHAPE(2, 9, 4), SHAPE(3, 5)), MTS_STATUS_OK);
    assert_result(SHAPE(2, 3, 5, 4));
    assert_int_equal(INFER(MTS_OP_GATHER, attrs, SHAPE(2, 9, 4, 1, 1), SHAPE(3, 5, 1)), MTS_STATUS_MALFORMED);
}

static void indices_are_broadcast_beside_the_dimension_that_they_name(void **state)
{
    (void)state;
    const mts_attrs none = {0};
    assert_int_equal(INFER(MTS_OP_TAKE, none, SHAPE(2, 9, 4), SHAPE(2, 5, 4)), MTS_STATUS_OK);
    assert_result(SHAPE(2, 5, 4));
    assert_int_equal(INFER(MTS_OP_TAKE, none, SHAPE(2, 9, 4), SHAPE(1, 5, 1)), MTS_STATUS_OK);
    assert_result(SHAPE(2, 5, 4));
    assert_int_equal(INFER(MTS_OP_TAKE, none, SHAPE(2, 9, 4), SHAPE(2, 5, 3)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_TAKE, none, SHAPE(2, 9, 4), SHAPE(3, 5, 1)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_TAKE, none, SHAPE(2, 9), SHAPE(2, 5)), MTS_STATUS_MALFORMED);
}

static void positions_that_float32_cannot_name_are_refused(void **state)
{
    (void)state;
    const mts_attrs none = {0}, arg = {.reduce = {.kind = MTS_REDUCE_ARG_MAX, .axes = 1}};
    const mts_attrs order = {.order = {.count = 5}};
    const int64_t most = (int64_t)1 << 24;
    assert_int_equal(INFER(MTS_OP_TAKE, none, SHAPE(1, most, 1), SHAPE(1, 5, 1)), MTS_STATUS_OK);
    assert_int_equal(INFER(MTS_OP_TAKE, none, SHAPE(1, most + 1, 1), SHAPE(1, 5, 1)), MTS_STATUS_LIMIT);
    assert_int_equal(INFER(MTS_OP_REDUCE, arg, SHAPE(most)), MTS_STATUS_OK);
    assert_int_equal(INFER(MTS_OP_REDUCE, arg, SHAPE(most + 1)), MTS_STATUS_LIMIT);
    assert_int_equal(INFER(MTS_OP_ORDER, order, SHAPE(2, most)), MTS_STATUS_OK);
    assert_result(SHAPE(2, 5));
    assert_int_equal(INFER(MTS_OP_ORDER, order, SHAPE(2, most + 1)), MTS_STATUS_LIMIT);
    assert_non_null(strstr(error.text, "16777216"));
}

static void orders_scans_and_samples_check_what_they_are_told(void **state)
{
    (void)state;
    const mts_shape *x = SHAPE(1, 2, 3, 4);
    assert_int_equal(INFER(MTS_OP_ORDER, ((mts_attrs){.order = {.count = 0}}), x), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_ORDER, ((mts_attrs){.order = {.count = 5}}), x), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_ORDER, ((mts_attrs){.order = {.count = 1, .largest = 2}}), x),
                     MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_SCAN, ((mts_attrs){.scan = {.axis = 4}}), x), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_SCAN, ((mts_attrs){.scan = {.kind = 2}}), x), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_SCAN, ((mts_attrs){.scan = {.reverse = 2}}), x), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_SAMPLE, ((mts_attrs){0}), x, SHAPE(1, 5, 6, 2)), MTS_STATUS_OK);
    assert_result(SHAPE(1, 2, 5, 6));
    assert_int_equal(INFER(MTS_OP_SAMPLE, ((mts_attrs){0}), x, SHAPE(1, 5, 6, 3)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_SAMPLE, ((mts_attrs){0}), x, SHAPE(2, 5, 6, 2)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_SAMPLE, ((mts_attrs){.sample = {.mode = 3}}), x, SHAPE(1, 5, 6, 2)),
                     MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_SAMPLE, ((mts_attrs){.sample = {.padding = 3}}), x, SHAPE(1, 5, 6, 2)),
                     MTS_STATUS_MALFORMED);
}

static void recurrences_check_weights_and_states(void **state)
{
    (void)state;
    const mts_attrs lstm = {.recur = {.kind = MTS_RECUR_LSTM}}, gru = {.recur = {.kind = MTS_RECUR_GRU}};
    assert_int_equal(INFER(MTS_OP_RECUR, lstm, SHAPE(5, 2, 12), SHAPE(3, 12)), MTS_STATUS_OK);
    assert_result(SHAPE(5, 2, 6));
    assert_int_equal(INFER(MTS_OP_RECUR, lstm, SHAPE(5, 2, 12), SHAPE(3, 12), SHAPE(2, 3), SHAPE(2, 3)),
                     MTS_STATUS_OK);
    assert_int_equal(INFER(MTS_OP_RECUR, gru, SHAPE(5, 2, 9), SHAPE(3, 9), SHAPE(2, 3)), MTS_STATUS_OK);
    assert_result(SHAPE(5, 2, 9));
    assert_int_equal(INFER(MTS_OP_RECUR, gru, SHAPE(5, 2, 12), SHAPE(3, 12)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_RECUR, lstm, SHAPE(5, 2, 12), SHAPE(3, 12), SHAPE(5, 3)),
                     MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_RECUR, gru, SHAPE(5, 2, 9), SHAPE(3, 9), SHAPE(2, 3), SHAPE(2, 3)),
                     MTS_STATUS_MALFORMED);
    assert_int_equal(
        INFER(MTS_OP_RECUR, ((mts_attrs){.recur = {.kind = MTS_RECUR_COUNT}}), SHAPE(5, 2, 12), SHAPE(3, 12)),
        MTS_STATUS_MALFORMED);
    assert_int_equal(
        INFER(MTS_OP_RECUR, ((mts_attrs){.recur = {.reverse = 2}}), SHAPE(5, 2, 12), SHAPE(3, 12)),
        MTS_STATUS_MALFORMED);
}

static void normalisations_check_axes_groups_and_factors(void **state)
{
    (void)state;
    const mts_attrs good = {.norm = {.axes = 12, .groups = 1, .epsilon = 1e-5f}};
    const mts_attrs grouped = {.norm = {.axes = 14, .groups = 2}};
    const mts_attrs bad[] = {{.norm = {.axes = 0, .groups = 1}},
                             {.norm = {.axes = 16, .groups = 1}},
                             {.norm = {.axes = 12, .groups = 0}},
                             {.norm = {.axes = 12, .groups = 2}},
                             {.norm = {.axes = 14, .groups = 3}},
                             {.norm = {.axes = 12, .groups = 1, .epsilon = -1.0f}},
                             {.norm = {.axes = 12, .groups = 1, .epsilon = NAN}},
                             {.norm = {.axes = 12, .groups = 1, .act = {.fn = MTS_FN_COUNT}}},
                             {.norm = {.axes = 12, .groups = 1, .kind = MTS_NORM_COUNT}}};
    assert_int_equal(INFER(MTS_OP_NORM, good, SHAPE(1, 4, 6, 6), SHAPE(4, 1, 1), SHAPE(6)), MTS_STATUS_OK);
    assert_result(SHAPE(1, 4, 6, 6));
    assert_int_equal(INFER(MTS_OP_NORM, grouped, SHAPE(1, 4, 6, 6)), MTS_STATUS_OK);
    assert_int_equal(INFER(MTS_OP_NORM, good, SHAPE(1, 4, 6, 6), SHAPE(4)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_NORM, good, SHAPE(1, 4, 6, 6), SHAPE(2, 4, 6, 6)), MTS_STATUS_MALFORMED);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(INFER(MTS_OP_NORM, bad[i], SHAPE(1, 4, 6, 6)), MTS_STATUS_MALFORMED);
    }
}

static void attention_checks_heads_tokens_and_masks(void **state)
{
    (void)state;
    const mts_attrs good = {.attention = {.heads = 2, .scale = 0.5f}};
    const mts_attrs none = {.attention = {.heads = 0, .scale = 1.0f}};
    const mts_attrs uneven = {.attention = {.heads = 3, .scale = 1.0f}};
    const mts_attrs wide = {.attention = {.heads = 1, .scale = 1.0f}};
    const mts_attrs infinite = {.attention = {.heads = 2, .scale = INFINITY}};
    const mts_shape *q = SHAPE(2, 8, 1, 5), *k = SHAPE(2, 8, 1, 7), *v = SHAPE(2, 6, 1, 7);
    assert_int_equal(INFER(MTS_OP_ATTENTION, good, q, k, v), MTS_STATUS_OK);
    assert_result(SHAPE(2, 6, 1, 5));
    assert_int_equal(INFER(MTS_OP_ATTENTION, good, q, k, v, SHAPE(2, 1, 1, 7)), MTS_STATUS_OK);
    assert_int_equal(INFER(MTS_OP_ATTENTION, good, q, k, v, SHAPE(5, 7)), MTS_STATUS_OK);
    assert_int_equal(INFER(MTS_OP_ATTENTION, good, q, k, v, SHAPE(7, 5)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_ATTENTION, good, q, k, SHAPE(2, 6, 1, 5)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_ATTENTION, good, q, SHAPE(2, 6, 1, 7), v), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_ATTENTION, good, q, SHAPE(1, 8, 1, 7), v), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_ATTENTION, good, SHAPE(2, 8, 5, 1), k, v), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_ATTENTION, none, q, k, v), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_ATTENTION, uneven, q, k, v), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_ATTENTION, infinite, q, k, v), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_ATTENTION, wide, SHAPE(2, 129, 1, 5), SHAPE(2, 129, 1, 7), v),
                     MTS_STATUS_MALFORMED);
}

static void transposes_need_a_permutation(void **state)
{
    (void)state;
    mts_attrs attrs = {.transpose = {.perm = {2, 0, 1}}};
    assert_int_equal(INFER(MTS_OP_TRANSPOSE, attrs, SHAPE(2, 3, 4)), MTS_STATUS_OK);
    assert_result(SHAPE(4, 2, 3));
    attrs.transpose.perm[2] = 0;
    assert_int_equal(INFER(MTS_OP_TRANSPOSE, attrs, SHAPE(2, 3, 4)), MTS_STATUS_MALFORMED);
    attrs.transpose.perm[2] = 77;
    assert_int_equal(INFER(MTS_OP_TRANSPOSE, attrs, SHAPE(2, 3, 4)), MTS_STATUS_MALFORMED);
}

static void reshapes_keep_the_element_count(void **state)
{
    (void)state;
    mts_attrs attrs = {.reshape = {.shape = *SHAPE(6, 4)}};
    assert_int_equal(INFER(MTS_OP_RESHAPE, attrs, SHAPE(2, 3, 4)), MTS_STATUS_OK);
    assert_result(SHAPE(6, 4));
    assert_int_equal(INFER(MTS_OP_RESHAPE, attrs, SHAPE(2, 3, 5)), MTS_STATUS_MALFORMED);
    attrs.reshape.shape.rank = 7;
    assert_int_equal(INFER(MTS_OP_RESHAPE, attrs, SHAPE(2, 3, 4)), MTS_STATUS_LIMIT);
    attrs.reshape.shape = *SHAPE(3, 2);
    assert_int_equal(INFER(MTS_OP_EXPAND, attrs, SHAPE(2)), MTS_STATUS_OK);
    assert_result(SHAPE(3, 2));
    assert_int_equal(INFER(MTS_OP_EXPAND, attrs, SHAPE(3, 4)), MTS_STATUS_MALFORMED);
}

static void a_resize_needs_sizes_and_scales(void **state)
{
    (void)state;
    mts_attrs attrs = {.resize = {.out = {10, 20}, .scale = {2.0f, 2.0f}}};
    assert_int_equal(INFER(MTS_OP_RESIZE, attrs, SHAPE(1, 3, 5, 10)), MTS_STATUS_OK);
    assert_result(SHAPE(1, 3, 10, 20));
    attrs.resize.out[0] = 0;
    assert_int_equal(INFER(MTS_OP_RESIZE, attrs, SHAPE(1, 3, 5, 10)), MTS_STATUS_MALFORMED);
    attrs.resize.out[0] = 10;
    attrs.resize.scale[1] = 0.0f;
    assert_int_equal(INFER(MTS_OP_RESIZE, attrs, SHAPE(1, 3, 5, 10)), MTS_STATUS_MALFORMED);
    attrs.resize.scale[1] = NAN;
    assert_int_equal(INFER(MTS_OP_RESIZE, attrs, SHAPE(1, 3, 5, 10)), MTS_STATUS_MALFORMED);
}

static void empty_negative_and_huge_shapes_are_refused(void **state)
{
    (void)state;
    const mts_attrs none = {0};
    assert_int_equal(INFER(MTS_OP_UNARY, none, SHAPE(1, 0)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_UNARY, none, SHAPE(1, -4)), MTS_STATUS_MALFORMED);
    assert_int_equal(INFER(MTS_OP_UNARY, none, SHAPE(65536, 32768)), MTS_STATUS_LIMIT);
    assert_int_equal(INFER(MTS_OP_UNARY, none, SHAPE(INT64_MAX, INT64_MAX)), MTS_STATUS_LIMIT);
    assert_int_equal(INFER(MTS_OP_BINARY, none, SHAPE(65536, 1), SHAPE(1, 65536)), MTS_STATUS_LIMIT);
    assert_true(result.rank == 99); /* untouched by the failure */
    assert_non_null(strstr(error.text, "binary"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_rounds_its_size_down),
        cmocka_unit_test(a_depthwise_convolution_has_one_input_channel_a_filter),
        cmocka_unit_test(a_convolution_refuses_operands_that_do_not_fit),
        cmocka_unit_test(no_attribute_of_a_window_divides_by_zero_or_overflows),
        cmocka_unit_test(a_kernel_larger_than_its_padded_input_is_refused),
        cmocka_unit_test(a_transposed_convolution_inverts_the_size),
        cmocka_unit_test(a_pool_rounds_up_only_to_windows_that_begin_inside),
        cmocka_unit_test(a_product_broadcasts_its_batches),
        cmocka_unit_test(a_choice_broadcasts_its_three_operands),
        cmocka_unit_test(functions_that_no_convolution_ends_with_are_refused_there),
        cmocka_unit_test(numbers_of_functions_and_modes_are_checked),
        cmocka_unit_test(reductions_keep_or_drop_their_axes),
        cmocka_unit_test(joins_need_equal_dimensions_beside_the_axis),
        cmocka_unit_test(slices_stay_inside_their_input),
        cmocka_unit_test(padding_may_crop_but_not_reflect_twice),
        cmocka_unit_test(gathers_put_the_index_shape_in_place_of_the_axis),
        cmocka_unit_test(indices_are_broadcast_beside_the_dimension_that_they_name),
        cmocka_unit_test(positions_that_float32_cannot_name_are_refused),
        cmocka_unit_test(orders_scans_and_samples_check_what_they_are_told),
        cmocka_unit_test(recurrences_check_weights_and_states),
        cmocka_unit_test(normalisations_check_axes_groups_and_factors),
        cmocka_unit_test(attention_checks_heads_tokens_and_masks),
        cmocka_unit_test(transposes_need_a_permutation),
        cmocka_unit_test(reshapes_keep_the_element_count),
        cmocka_unit_test(a_resize_needs_sizes_and_scales),
        cmocka_unit_test(empty_negative_and_huge_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
