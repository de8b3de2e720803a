/*
 * fold_fixture.h: what the tests of the fold pass have in common: a model before and after it, and comparing the two.
 */
#ifndef MTS_TESTS_COMPILER_FOLD_FIXTURE_H
#define MTS_TESTS_COMPILER_FOLD_FIXTURE_H

#include <math.h>
#include <string.h>

#include "compiler/passes/fold.h"
#include "model_fixture.h"
#include "support/eval.h"
#include "support/fault_each.h"

static mts_graph *before, *after;
static float noise[4096]; /* -1 to 1 */

/* A model with the image x and constants: weights w and one, a number a channel (b, s, m, v; c of
   the image's rank), two. */
static inline void draw_noise(void)
{
    uint32_t random = 1;
    for (size_t i = 0; i < 4096; i++) {
        random = random * 1664525u + 1013904223u;
        noise[i] = (float)(random >> 8) / 8388608.0f - 1.0f;
    }
}

static inline void begin_fold(int64_t height, int64_t width)
{
    draw_noise();
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2, 4, height, width));
    onnx_model_floats(&model, "w", INTS(4, 4, 3, 3), noise);
    onnx_model_floats(&model, "one", INTS(4, 4, 1, 1), noise + 200);
    onnx_model_floats(&model, "b", INTS(4), noise + 300);
    onnx_model_floats(&model, "s", INTS(4), noise + 310);
    onnx_model_floats(&model, "m", INTS(4), noise + 320);
    onnx_model_floats(&model, "v", INTS(4), (const float[]){1, 2, 3, 4});
    onnx_model_floats(&model, "c", INTS(4, 1, 1), noise + 330);
    onnx_model_floats(&model, "two", 0, NULL, (const float[]){2});
}

static inline int open_fold(void **state)
{
    (void)open_model(state);
    begin_fold(6, 6);
    return 0;
}

static inline void conv_padded(const char *inputs, const char *output, int64_t pad)
{
    onnx_model_node(&model, "Conv", inputs, output);
    onnx_model_attr_ints(&model, "pads", INTS(pad, pad, pad, pad));
}

static inline void conv(const char *inputs, const char *output)
{
    conv_padded(inputs, output, strchr(inputs, 'w') ? 1 : 0);
}

static inline void number(const char *name, float value)
{
    const float data[1] = {value};
    onnx_model_floats(&model, name, 0, NULL, data);
}

static inline void fold_file(const void *data, size_t size)
{
    if (mts_import_memory(data, size, "m", NULL, &arena, &before, &error) != MTS_STATUS_OK ||
        mts_fold(before, &arena, &after, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(mts_graph_verify(after, &error), MTS_STATUS_OK);
}

static inline void fold(void)
{
    const onnx_bytes *file = onnx_model_file(&model);
    fold_file(file->data, file->size);
}

static inline mts_status fold_with(const mts_allocator *allocator, void *unused)
{
    mts_arena small;
    mts_graph *out = NULL;
    (void)unused;
    mts_arena_init(&small, allocator);
    const mts_status status = mts_fold(before, &small, &out, &error);
    assert_int_equal(out != NULL, status == MTS_STATUS_OK);
    mts_arena_release(&small);
    return status;
}

/* Both graphs give the same numbers for some input. */
static inline void assert_equal_results(void)
{
    float **a = mts_arena_zero(&arena, before->value_count, sizeof(*a));
    float **b = mts_arena_zero(&arena, after->value_count, sizeof(*b));
    const float *inputs[1] = {noise + 1000};
    assert_true(mts_eval(before, inputs, &arena, a));
    assert_true(mts_eval(after, inputs, &arena, b));
    for (uint32_t o = 0; o < before->output_count; o++) {
        const float *x = a[before->outputs[o].value], *y = b[after->outputs[o].value];
        for (size_t i = 0; i < mts_shape_count(&before->outputs[o].shape); i++) {
            if (!(fabsf(x[i] - y[i]) <= 1e-5f + 1e-5f * fabsf(x[i]))) {
                fail_msg("output %u, element %zu: %g became %g", o, i, (double)x[i], (double)y[i]);
            }
        }
    }
}

static inline void assert_ops(uint32_t count, const mts_op *ops)
{
    assert_int_equal(after->node_count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(mts_op_name(after->nodes[i].op), mts_op_name(ops[i]));
    }
}
#define OPS(...)                                                                                             \
    assert_ops((uint32_t)(sizeof((const mts_op[]){__VA_ARGS__}) / sizeof(mts_op)),                           \
               (const mts_op[]){__VA_ARGS__})

#endif
