/*
 * fold_line.c: nodes that compute scale x + bias with one number each, however they are
 * written.
 */
#include <math.h>

#include "compiler/passes/fold_work.h"

bool mts_fold_near(float a, float b)
{
    return fabsf(a - b) < 1e-5f * (fabsf(b) > 1.0f ? fabsf(b) : 1.0f);
}

bool mts_fold_uniform(mts_fold_work *work, uint32_t value, float *number)
{
    const mts_value *constant = value == MTS_NONE ? NULL : mts_fold_value(work, value);
    if (!constant || constant->kind != MTS_VALUE_CONST || constant->dtype != MTS_TYPE_FLOAT32) {
        return false;
    }
    const size_t count = mts_shape_count(&constant->shape);
    float *numbers = mts_arena_zero(work->graph->arena, count, sizeof *numbers);
    if (!numbers) {
        work->failed = true;
        return false;
    }
    mts_value_read_f32(constant, numbers);
    for (size_t i = 1; i < count; i++) {
        if (!(numbers[i] >= numbers[0] && numbers[i] <= numbers[0])) {
            return false;
        }
    }
    *number = numbers[0];
    return true;
}

static bool binary_line(mts_fold_work *work, const mts_node *node, mts_fold_line *out)
{
    const uint32_t kind = node->attrs.binary.kind;
    const bool swapped = (kind == MTS_BIN_ADD || kind == MTS_BIN_MUL) &&
                         mts_fold_value(work, mts_fold_input(work, node, 0))->kind == MTS_VALUE_CONST;
    float number = 0.0f;
    const uint32_t constant = mts_fold_input(work, node, swapped ? 0 : 1);
    *out = (mts_fold_line){.x = mts_fold_input(work, node, swapped ? 1 : 0), .scale = 1.0f};
    if (kind > MTS_BIN_DIV || mts_shape_count(&mts_fold_value(work, constant)->shape) != 1 ||
        !mts_fold_uniform(work, constant, &number)) {
        return false;
    }
    out->bias = kind == MTS_BIN_ADD ? number : kind == MTS_BIN_SUB ? -number : 0.0f;
    out->scale = kind == MTS_BIN_MUL ? number : kind == MTS_BIN_DIV ? 1.0f / number : 1.0f;
    return mts_shape_equal(&mts_fold_value(work, out->x)->shape, &mts_fold_value(work, node->output)->shape);
}

bool mts_fold_as_line(mts_fold_work *work, const mts_node *node, uint32_t fn, mts_fold_line *out)
{
    const mts_act *act = node ? mts_node_act(node) : NULL;
    if (!act || act->fn != fn) {
        return false;
    }
    if (node->op == MTS_OP_SCALE && mts_fold_input(work, node, 3) == MTS_NONE) {
        *out = (mts_fold_line){.x = mts_fold_input(work, node, 0)};
        return mts_fold_uniform(work, mts_fold_input(work, node, 1), &out->scale) &&
               mts_fold_uniform(work, mts_fold_input(work, node, 2), &out->bias);
    }
    return node->op == MTS_OP_BINARY && binary_line(work, node, out);
}

bool mts_fold_is_line(mts_fold_work *work, const mts_node *node, uint32_t fn, float scale, float bias,
                      mts_fold_line *out)
{
    return mts_fold_as_line(work, node, fn, out) && mts_fold_near(out->scale, scale) &&
           mts_fold_near(out->bias, bias);
}
