/*
 * quant.c: quantised tensors: their scales and zero points, constants of integers, and
 * activations, which are held as the real numbers that their integers stand for and
 * rounded to them where an operator computes them.
 */
#include "compiler/import/tflite/lower.h"

#define CHANNELS_MOST 65536u

bool mts_tflite_is_quantised(mts_tflite *model, const mts_tflite_tensor *tensor)
{
    const bool is_code = tensor->type == MTS_TFLITE_INT8 || tensor->type == MTS_TFLITE_UINT8 ||
                         tensor->type == MTS_TFLITE_INT16 || tensor->type == MTS_TFLITE_INT32 ||
                         tensor->type == MTS_TFLITE_INT64;
    return is_code && mts_flat_list(&model->flat, &tensor->quantization, 2, 4).count > 0;
}

/* Scales and zero points as constants; false after a failure. */
static bool parameters_of(mts_tflite *model, const mts_tflite_tensor *tensor, mts_import_value **scale,
                          mts_import_value **zero)
{
    const mts_flat_vector scales = mts_flat_list(&model->flat, &tensor->quantization, 2, 4);
    const mts_flat_vector zeros = mts_flat_list(&model->flat, &tensor->quantization, 3, 8);
    const mts_shape shape = {.rank = 1, .dims = {scales.count}};
    bool lasting[2] = {false, false};
    if (scales.count > CHANNELS_MOST || (zeros.count > 1 && zeros.count != scales.count)) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED,
                        "tensor '%s': %u scales and %u zero points do not fit", tensor->name, scales.count,
                        zeros.count);
        return false;
    }
    float *numbers = mts_import_alloc(model->import, MTS_TYPE_FLOAT32, &shape, &lasting[0]);
    int64_t *points = mts_import_alloc(model->import, MTS_TYPE_INT64, &shape, &lasting[1]);
    for (uint32_t i = 0; numbers && points && i < scales.count; i++) {
        const uint32_t at = zeros.count > 1 ? i : 0;
        numbers[i] = mts_flat_float_at(&model->flat, &scales, i);
        points[i] = zeros.count ? mts_flat_at(&model->flat, &zeros, MTS_FLAT_I64, at) : 0;
    }
    if (!numbers || !points) {
        return false;
    }
    *scale = mts_import_constant(model->import, MTS_TYPE_FLOAT32, &shape, numbers, lasting[0]);
    *zero = mts_import_constant(model->import, MTS_TYPE_INT64, &shape, points, lasting[1]);
    return *scale && *zero;
}

mts_import_value *mts_tflite_real(mts_tflite *model, const mts_tflite_tensor *tensor, mts_import_value *codes)
{
    mts_import_value *scale = NULL, *zero = NULL;
    if (!codes || !parameters_of(model, tensor, &scale, &zero)) {
        return NULL;
    }
    const int64_t axis = mts_flat_int(&model->flat, &tensor->quantization, 6, MTS_FLAT_I32, 0);
    if (axis < 0 || axis >= MTS_TENSOR_RANK_MAX) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "tensor '%s': dimension %lld has no scales",
                        tensor->name, (long long)axis);
        return NULL;
    }
    return mts_import_dequantize(model->import, codes, scale, zero, (uint32_t)axis);
}

static bool same_parameters(mts_tflite *model, const mts_tflite_tensor *a, const mts_tflite_tensor *b)
{
    const mts_flat_vector scales[2] = {mts_flat_list(&model->flat, &a->quantization, 2, 4),
                                       mts_flat_list(&model->flat, &b->quantization, 2, 4)};
    const mts_flat_vector zeros[2] = {mts_flat_list(&model->flat, &a->quantization, 3, 8),
                                      mts_flat_list(&model->flat, &b->quantization, 3, 8)};
    if (a->type != b->type || scales[0].count != 1 || scales[1].count != 1 || zeros[0].count != 1 ||
        zeros[1].count != 1) {
        return false;
    }
    const float x = mts_flat_float_at(&model->flat, &scales[0], 0);
    const float y = mts_flat_float_at(&model->flat, &scales[1], 0);
    return !(x < y || x > y) && mts_flat_at(&model->flat, &zeros[0], MTS_FLAT_I64, 0) ==
                                    mts_flat_at(&model->flat, &zeros[1], MTS_FLAT_I64, 0);
}

/* Whether the operator only moves elements, so that what it reads is rounded already. */
static bool only_moves(mts_tflite *model, const mts_tflite_tensor *result)
{
    /* CONCATENATION, DEPTH_TO_SPACE, MAX_POOL_2D, RESHAPE, SPACE_TO_DEPTH, PAD, GATHER,
       TRANSPOSE, SQUEEZE, STRIDED_SLICE, SPLIT, SLICE, EXPAND_DIMS, PACK, UNPACK,
       RESIZE_NEAREST_NEIGHBOR, SPLIT_V */
    static const uint32_t movers[] = {2, 5, 17, 22, 26, 34, 36, 39, 43, 45, 49, 65, 70, 83, 88, 97, 102};
    bool moves = false;
    for (size_t i = 0; i < sizeof movers / sizeof movers[0]; i++) {
        moves = moves || movers[i] == model->node->code;
    }
    for (uint32_t i = 0; moves && i < model->node->inputs.count; i++) {
        const int64_t number = mts_flat_at(&model->flat, &model->node->inputs, MTS_FLAT_I32, i);
        const mts_tflite_tensor *operand = number < 0 ? NULL : &model->tensors[number];
        moves =
            !operand || !mts_tflite_is_quantised(model, operand) || same_parameters(model, operand, result);
    }
    return moves;
}

mts_import_value *mts_tflite_codes(mts_tflite *model, const mts_tflite_tensor *tensor, mts_import_value *real)
{
    mts_import_value *scale = NULL, *zero = NULL;
    mts_type dtype = MTS_TYPE_FLOAT32;
    double low = 0, high = 0;
    if (!mts_tflite_dtype(tensor->type, &dtype) || !mts_import_code_range(dtype, &low, &high)) {
        mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED, "activation '%s' is quantised to type %s",
                        tensor->name, mts_tflite_type_name(tensor->type));
        return NULL;
    }
    return real && parameters_of(model, tensor, &scale, &zero)
               ? mts_import_quantize(model->import, real, scale, zero, dtype, 0)
               : NULL;
}

mts_import_value *mts_tflite_round(mts_tflite *model, const mts_tflite_tensor *tensor, mts_import_value *real)
{
    if (!real || !mts_tflite_is_quantised(model, tensor) || only_moves(model, tensor)) {
        return real;
    }
    if (mts_flat_list(&model->flat, &tensor->quantization, 2, 4).count != 1) {
        mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED, "activation '%s' has a scale for each channel",
                        tensor->name);
        return NULL;
    }
    mts_import_value *codes = mts_tflite_codes(model, tensor, real);
    return codes && codes->quantised ? codes->quantised->real : mts_tflite_real(model, tensor, codes);
}
