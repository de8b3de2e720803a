/*
 * What operators refuse, attribute by attribute: of an operator that is right, one number is changed at a time.
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
#define FAR ((int64_t)1 << 31)

typedef struct node {
    mts_op op;
    mts_attrs attrs;
    uint32_t count;
    mts_shape inputs[6];
    bool absent[6];
} node;

static mts_error error;

static mts_status infer(const node *n)
{
    const mts_shape *inputs[6];
    mts_shape out;
    for (uint32_t i = 0; i < 6; i++) {
        inputs[i] = n->absent[i] ? NULL : &n->inputs[i];
    }
    error.text[0] = '\0';
    return mts_node_infer(n->op, &n->attrs, inputs, n->count, &out, &error);
}

/* The node with a change is refused with a sentence, and without it is not. */
#define REFUSED(make, change)                                                                                \
    do {                                                                                                     \
        node n = make();                                                                                     \
        assert_int_equal(infer(&n), MTS_STATUS_OK);                                                          \
        change;                                                                                              \
        if (infer(&n) != MTS_STATUS_MALFORMED) {                                                             \
            fail_msg("%s is taken", #change);                                                                \
        }                                                                                                    \
        assert_true(error.text[0] != '\0');                                                                  \
    } while (0)
#define TAKEN(make, change)                                                                                  \
    do {                                                                                                     \
        node n = make();                                                                                     \
        change;                                                                                              \
        if (infer(&n) != MTS_STATUS_OK) {                                                                    \
            fail_msg("%s: %s", #change, error.text);                                                         \
        }                                                                                                    \
    } while (0)

static node conv(void)
{
    return (node){
        MTS_OP_CONV,
        {.conv = {.kernel = {3, 2},
                  .stride = {1, 1},
                  .dilation = {1, 1},
                  .group = 2,
                  .act = {.fn = MTS_FN_PRELU}}},
        6,
        {*SHAPE(2, 4, 5, 5), *SHAPE(6, 2, 3, 2), *SHAPE(6), *SHAPE(2, 6), *SHAPE(2, 6, 3, 4), *SHAPE(6)},
        {false}};
}

static void convolutions_refuse_each_number_that_does_not_fit(void **state)
{
    (void)state;
    REFUSED(conv, n.inputs[0].rank = 3);
    REFUSED(conv, n.inputs[1].rank = 5; n.inputs[1].dims[4] = 1);
    REFUSED(conv, n.attrs.conv.kernel[0] = 2);
    REFUSED(conv, n.attrs.conv.kernel[1] = 3);
    REFUSED(conv, n.inputs[0].dims[1] = 6);
    REFUSED(conv, n.inputs[1].dims[0] = 5);
    REFUSED(conv, n.attrs.conv.output_pad[0] = 1);
    REFUSED(conv, n.attrs.conv.output_pad[1] = 1);
    REFUSED(conv, n.attrs.conv.pad[2] = -1);
    REFUSED(conv, n.attrs.conv.pad[1] = 65537);
    REFUSED(conv, n.attrs.conv.pad[3] = 65537);
    REFUSED(conv, n.inputs[3].dims[0] = 3);
    REFUSED(conv, n.inputs[3].dims[1] = 5);
    REFUSED(conv, n.inputs[3] = *SHAPE(2, 6, 1));
    REFUSED(conv, n.inputs[5] = *SHAPE(1, 6));
    REFUSED(conv, n.inputs[4].dims[3] = 5);
    REFUSED(conv, n.absent[5] = true);
    REFUSED(conv, n.attrs.conv.act.b = NAN);
    REFUSED(conv, n.attrs.conv.act.fn = MTS_FN_COS);
    TAKEN(conv, n.absent[2] = n.absent[3] = n.absent[4] = true);
}

static node deconv(void)
{
    return (node){MTS_OP_DECONV,
                  {.conv = {.kernel = {2, 2}, .stride = {2, 2}, .dilation = {1, 1}, .group = 2}},
                  3,
                  {*SHAPE(1, 4, 3, 3), *SHAPE(4, 3, 2, 2), *SHAPE(6)},
                  {false}};
}

static void transposed_convolutions_refuse_each_number_that_does_not_fit(void **state)
{
    (void)state;
    REFUSED(deconv, n.inputs[0].dims[1] = 5);
    REFUSED(deconv, n.inputs[0].dims[1] = n.inputs[1].dims[0] = 5);
    REFUSED(deconv, n.attrs.conv.output_pad[1] = 65537);
    REFUSED(deconv, n.attrs.conv.pad[0] = 65536); /* nothing is left */
    REFUSED(deconv, n.inputs[2] = *SHAPE(5));
}

static node pool(void)
{
    return (node){MTS_OP_POOL,
                  {.pool = {.kernel = {3, 3}, .stride = {2, 2}, .dilation = {1, 1}, .pad = {1, 1, 1, 1}}},
                  1,
                  {*SHAPE(1, 2, 5, 5)},
                  {false}};
}

static void pools_refuse_each_number_that_does_not_fit(void **state)
{
    (void)state;
    REFUSED(pool, n.inputs[0].rank = 3);
    REFUSED(pool, n.attrs.pool.kind = MTS_POOL_AVG + 1);
    REFUSED(pool, n.attrs.pool.ceil = 2);
    REFUSED(pool, n.attrs.pool.include_pad = 2);
    REFUSED(pool, n.attrs.pool.pad[1] = 3);
    REFUSED(pool, n.attrs.pool.pad[3] = 3);
    REFUSED(pool, n.attrs.pool.dilation[0] = 4);
    REFUSED(pool, n.attrs.pool.kernel[0] = 0);
}

static node lrn(void)
{
    return (node){MTS_OP_LRN, {.lrn = {.size = 3}}, 1, {*SHAPE(1, 2, 5, 5)}, {false}};
}

static node resize(void)
{
    return (node){
        MTS_OP_RESIZE, {.resize = {.out = {4, 4}, .scale = {2, 2}}}, 1, {*SHAPE(1, 2, 2, 2)}, {false}};
}

static void windows_and_sizes_refuse_numbers_that_are_none(void **state)
{
    (void)state;
    REFUSED(lrn, n.inputs[0].rank = 3);
    REFUSED(lrn, n.attrs.lrn.size = 65537);
    REFUSED(lrn, n.attrs.lrn.alpha = NAN);
    REFUSED(lrn, n.attrs.lrn.beta = INFINITY);
    REFUSED(lrn, n.attrs.lrn.bias = -INFINITY);
    REFUSED(resize, n.inputs[0].rank = 3);
    REFUSED(resize, n.attrs.resize.mode = MTS_RESIZE_CUBIC + 1);
    REFUSED(resize, n.attrs.resize.coord = MTS_COORD_TF_CROP + 1);
    REFUSED(resize, n.attrs.resize.round = MTS_ROUND_CEIL + 1);
    REFUSED(resize, n.attrs.resize.exclude_outside = 2);
    REFUSED(resize, n.attrs.resize.cubic_a = NAN);
    REFUSED(resize, n.attrs.resize.extrapolation = INFINITY);
    REFUSED(resize, n.attrs.resize.scale[0] = INFINITY);
    REFUSED(resize, n.attrs.resize.roi_start[1] = NAN);
    REFUSED(resize, n.attrs.resize.roi_end[0] = NAN);
}

static node matmul(void)
{
    return (node){
        MTS_OP_MATMUL, {.matmul = {.alpha = 1, .beta = 1}}, 2, {*SHAPE(2, 3, 4), *SHAPE(2, 4, 5)}, {false}};
}

static node choice(void)
{
    return (node){
        MTS_OP_SELECT, {.unary = {.act = {.fn = 0}}}, 3, {*SHAPE(2, 3), *SHAPE(3), *SHAPE(2, 1)}, {false}};
}

static node sum(void)
{
    return (node){MTS_OP_BINARY, {.binary = {.kind = MTS_BIN_ADD}}, 2, {*SHAPE(2, 3), *SHAPE(3)}, {false}};
}

static void operands_that_do_not_broadcast_are_refused(void **state)
{
    (void)state;
    REFUSED(matmul, n.inputs[1].dims[0] = 3);
    REFUSED(matmul, n.inputs[1].dims[1] = 3);
    REFUSED(matmul, n.attrs.matmul.alpha = NAN);
    REFUSED(matmul, n.attrs.matmul.beta = INFINITY);
    REFUSED(choice, n.inputs[2] = *SHAPE(3, 1));
    REFUSED(choice, n.inputs[1] = *SHAPE(4));
    REFUSED(choice, n.absent[2] = true);
    REFUSED(sum, n.inputs[1] = *SHAPE(4));
    REFUSED(sum, n.attrs.binary.act.fn = MTS_FN_CLIP; n.attrs.binary.act.a = NAN);
}

static node quantised(void)
{
    return (node){MTS_OP_UNARY,
                  {.unary = {.act = {.fn = MTS_FN_QUANT8, .a = 0.5f, .b = -128.0f}}},
                  1,
                  {*SHAPE(1, 2)},
                  {false}};
}

static void quantisation_needs_a_step_and_a_whole_number_with_zero_in_its_range(void **state)
{
    (void)state;
    REFUSED(quantised, n.attrs.unary.act.a = 0.0f);
    REFUSED(quantised, n.attrs.unary.act.a = INFINITY);
    REFUSED(quantised, n.attrs.unary.act.b = 1.0f);
    REFUSED(quantised, n.attrs.unary.act.b = -256.0f);
    REFUSED(quantised, n.attrs.unary.act.b = -0.5f);
    TAKEN(quantised, n.attrs.unary.act = ((mts_act){.fn = MTS_FN_QUANT16, .a = 1.0f, .b = -65535.0f}));
}

static node slice(void)
{
    return (node){MTS_OP_SLICE, {.slice = {.start = {1}, .step = {2}, .size = {3}}}, 1, {*SHAPE(7)}, {false}};
}

static node pad(void)
{
    return (node){MTS_OP_PAD, {.pad = {.before = {1}, .after = {1}}}, 1, {*SHAPE(5)}, {false}};
}

static void slices_and_paddings_stay_inside_of_what_is_there(void **state)
{
    (void)state;
    REFUSED(slice, n.attrs.slice.start[0] = 7);
    REFUSED(slice, n.attrs.slice.step[0] = -8);
    REFUSED(slice, n.attrs.slice.step[0] = 8);
    REFUSED(slice, n.attrs.slice.size[0] = 8);
    REFUSED(slice, n.attrs.slice.size[0] = 4);
    REFUSED(slice, n.attrs.slice.step[0] = -1);
    REFUSED(pad, n.attrs.pad.value = NAN);
    REFUSED(pad, n.attrs.pad.before[0] = -FAR);
    REFUSED(pad, n.attrs.pad.after[0] = FAR);
    REFUSED(pad, n.attrs.pad.after[0] = -FAR);
    REFUSED(pad, n.attrs.pad.before[0] = FAR - 5);
    REFUSED(pad, n.attrs.pad.after[0] = FAR - 5);
    REFUSED(pad, n.attrs.pad.mode = MTS_PAD_REFLECT; n.attrs.pad.after[0] = 5);
}

static node lstm(void)
{
    return (node){MTS_OP_RECUR,
                  {.recur = {.kind = MTS_RECUR_LSTM}},
                  4,
                  {*SHAPE(5, 2, 12), *SHAPE(3, 12), *SHAPE(2, 3), *SHAPE(2, 3)},
                  {false}};
}

static node gru(void)
{
    return (node){MTS_OP_RECUR,
                  {.recur = {.kind = MTS_RECUR_GRU_AFTER}},
                  5,
                  {*SHAPE(5, 2, 9), *SHAPE(3, 9), *SHAPE(2, 3), *SHAPE(1), *SHAPE(3)},
                  {false, false, false, true, false}};
}

static void recurrences_refuse_states_and_biases_of_other_kinds(void **state)
{
    (void)state;
    REFUSED(lstm, n.inputs[1].rank = 1);
    REFUSED(lstm, n.inputs[1].dims[1] = 9);
    REFUSED(lstm, n.inputs[0].dims[2] = 9);
    REFUSED(lstm, n.inputs[2] = *SHAPE(2, 3, 1));
    REFUSED(lstm, n.inputs[2].dims[1] = 4);
    REFUSED(lstm, n.inputs[3].dims[0] = 3);
    REFUSED(lstm, n.count = 5; n.inputs[4] = *SHAPE(3));
    REFUSED(gru, n.attrs.recur.kind = MTS_RECUR_GRU);
    REFUSED(gru, n.inputs[4] = *SHAPE(4));
    REFUSED(gru, n.absent[3] = false; n.inputs[3] = *SHAPE(2, 3));
}

static node softmax(void)
{
    return (node){MTS_OP_SOFTMAX, {.softmax = {.axis = 1}}, 1, {*SHAPE(2, 3)}, {false}};
}

static node norm(void)
{
    return (node){MTS_OP_NORM, {.norm = {.axes = 2, .groups = 1}}, 1, {*SHAPE(2, 4)}, {false}};
}

static node reduce(void)
{
    return (node){MTS_OP_REDUCE, {.reduce = {.axes = 2}}, 1, {*SHAPE(2, 4)}, {false}};
}

static node scan(void)
{
    return (node){MTS_OP_SCAN, {.scan = {.axis = 1}}, 1, {*SHAPE(2, 4)}, {false}};
}

static node sample(void)
{
    return (node){
        MTS_OP_SAMPLE, {.sample = {.mode = 0}}, 2, {*SHAPE(1, 2, 3, 4), *SHAPE(1, 5, 6, 2)}, {false}};
}

static void modes_and_flags_have_bounds(void **state)
{
    (void)state;
    REFUSED(softmax, n.attrs.softmax.log = 2);
    REFUSED(norm, n.attrs.norm.epsilon = INFINITY);
    REFUSED(norm, n.attrs.norm.groups = 2); /* of two dimensions */
    REFUSED(reduce, n.attrs.reduce.keep = 2);
    REFUSED(reduce, n.attrs.reduce.axes = 0);
    REFUSED(scan, n.attrs.scan.exclusive = 2);
    REFUSED(sample, n.attrs.sample.align = 2);
    REFUSED(sample, n.inputs[1].rank = 3);
    REFUSED(sample, n.inputs[0].rank = 3);
}

static node sides(void)
{
    return (node){
        MTS_OP_SAMPLE, {.sample = {.mode = 0}}, 2, {*SHAPE(1, 1, 1, 1), *SHAPE(1, 1, 1, 2)}, {false}};
}

static void groups_of_six_dimensions_and_long_sides_are_told_apart(void **state)
{
    node n = norm();
    (void)state;
    n.inputs[0] = *SHAPE(1, 4, 2, 2, 2, 2);
    n.attrs.norm.axes = 2u;
    n.attrs.norm.groups = 2;
    assert_int_equal(infer(&n), MTS_STATUS_UNSUPPORTED);
    n.attrs.norm.axes = 62u;
    assert_int_equal(infer(&n), MTS_STATUS_OK);
    n = sides();
    n.inputs[0].dims[2] = (int64_t)1 << 25;
    assert_int_not_equal(infer(&n), MTS_STATUS_OK);
    n = sides();
    n.inputs[0].dims[3] = (int64_t)1 << 25;
    assert_int_not_equal(infer(&n), MTS_STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_refuse_each_number_that_does_not_fit),
        cmocka_unit_test(transposed_convolutions_refuse_each_number_that_does_not_fit),
        cmocka_unit_test(pools_refuse_each_number_that_does_not_fit),
        cmocka_unit_test(windows_and_sizes_refuse_numbers_that_are_none),
        cmocka_unit_test(operands_that_do_not_broadcast_are_refused),
        cmocka_unit_test(quantisation_needs_a_step_and_a_whole_number_with_zero_in_its_range),
        cmocka_unit_test(slices_and_paddings_stay_inside_of_what_is_there),
        cmocka_unit_test(recurrences_refuse_states_and_biases_of_other_kinds),
        cmocka_unit_test(modes_and_flags_have_bounds),
        cmocka_unit_test(groups_of_six_dimensions_and_long_sides_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
