/*
 * lower_element.c: operators that work element by element, normalisations and softmax.
 */
#include "compiler/import/lower.h"

#include <float.h>
#include <math.h>
#include <string.h>

void mts_lower_unary(mts_import *import)
{
    static const mts_import_kind functions[] = {{"Relu", MTS_FN_RELU},
                                                {"LeakyRelu", MTS_FN_LEAKY},
                                                {"HardSigmoid", MTS_FN_HARD_SIGMOID},
                                                {"Sigmoid", MTS_FN_SIGMOID},
                                                {"Tanh", MTS_FN_TANH},
                                                {"Exp", MTS_FN_EXP},
                                                {"Sqrt", MTS_FN_SQRT},
                                                {"Abs", MTS_FN_ABS},
                                                {"Neg", MTS_FN_NEG},
                                                {"Floor", MTS_FN_FLOOR},
                                                {"Ceil", MTS_FN_CEIL},
                                                {"Log", MTS_FN_LOG},
                                                {"Reciprocal", MTS_FN_RECIPROCAL},
                                                {"Erf", MTS_FN_ERF},
                                                {"Round", MTS_FN_ROUND},
                                                {"Sign", MTS_FN_SIGN},
                                                {"Sin", MTS_FN_SIN},
                                                {"Cos", MTS_FN_COS},
                                                {"Tan", MTS_FN_TAN},
                                                {"Asin", MTS_FN_ASIN},
                                                {"Acos", MTS_FN_ACOS},
                                                {"Atan", MTS_FN_ATAN},
                                                {"Sinh", MTS_FN_SINH},
                                                {"Cosh", MTS_FN_COSH},
                                                {"Asinh", MTS_FN_ASINH},
                                                {"Acosh", MTS_FN_ACOSH},
                                                {"Atanh", MTS_FN_ATANH},
                                                {"HardSwish", MTS_FN_HARD_SWISH},
                                                {"Softplus", MTS_FN_SOFTPLUS},
                                                {"Mish", MTS_FN_MISH}};
    const uint32_t fn =
        mts_import_op_kind(import, functions, sizeof functions / sizeof functions[0], MTS_FN_NONE);
    float a = 0.0f, b = 0.0f;
    if (fn == MTS_FN_LEAKY) {
        a = mts_attr_float(import, "alpha", 0.01f);
    } else if (fn == MTS_FN_HARD_SIGMOID) {
        a = mts_attr_float(import, "alpha", 0.2f);
        b = mts_attr_float(import, "beta", 0.5f);
    }
    mts_import_out(import, 0, mts_import_emit_unary(import, fn, a, b, mts_import_in(import, 0)));
}

void mts_lower_clip_attrs(mts_import *import)
{
    float least = mts_attr_float(import, "min", -FLT_MAX), most = mts_attr_float(import, "max", FLT_MAX);
    mts_import_out(import, 0,
                   mts_import_emit_unary(import, MTS_FN_CLIP, least, most, mts_import_in(import, 0)));
}

/* Bounds may be absent, constants, or run-time scalars. */
void mts_lower_clip(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0), *low = mts_import_in(import, 1),
                     *high = mts_import_in(import, 2);
    bool known = (!low || mts_import_is_const(low)) && (!high || mts_import_is_const(high));
    float least = -FLT_MAX, most = FLT_MAX;
    if (!known) {
        x = low ? mts_import_emit_binary(import, MTS_BIN_MAX, x, low) : x;
        x = high ? mts_import_emit_binary(import, MTS_BIN_MIN, x, high) : x;
        mts_import_out(import, 0, x);
        return;
    }
    (void)mts_import_floats(import, low, "min", &least, 1);
    (void)mts_import_floats(import, high, "max", &most, 1);
    mts_import_out(import, 0, mts_import_emit_unary(import, MTS_FN_CLIP, least, most, x));
}

/* ONNX broadcasts the slope from the right; a vector that only fits the channels is taken
   as one slope a channel, which is what models of older exporters mean. */
void mts_lower_prelu(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0), *slope = mts_import_in(import, 1);
    mts_shape both;
    bool fits = mts_shape_broadcast(&slope->shape, &x->shape, &both) && mts_shape_equal(&both, &x->shape);
    if (!fits && slope->shape.rank == 1 && x->shape.rank > 2 && slope->shape.dims[0] == x->shape.dims[1]) {
        mts_shape shape = {.rank = x->shape.rank - 1};
        for (uint32_t i = 0; i < shape.rank; i++) {
            shape.dims[i] = i == 0 ? slope->shape.dims[0] : 1;
        }
        slope = mts_import_emit_reshape(import, slope, &shape);
    } else if (!fits) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "the slope does not broadcast to the input");
    }
    mts_import_out(import, 0, mts_import_emit_binary(import, MTS_BIN_PRELU, x, slope));
}

/* b (x > 0 ? x : a (exp(x) - 1)) */
void mts_lower_elu(mts_import *import)
{
    const bool selu = mts_import_is_op(import, "Selu");
    const float alpha = mts_attr_float(import, "alpha", selu ? 1.67326319217681884765625f : 1.0f);
    const float gamma = selu ? mts_attr_float(import, "gamma", 1.05070102214813232421875f) : 1.0f;
    mts_import_out(import, 0,
                   mts_import_emit_unary(import, MTS_FN_ELU, alpha, gamma, mts_import_in(import, 0)));
}

void mts_lower_gelu(mts_import *import)
{
    const char *form = mts_attr_string(import, "approximate", "none");
    const bool tanh = form && strcmp(form, "tanh") == 0;
    if (form && !tanh && strcmp(form, "none") != 0) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "approximate is '%s', not 'none' or 'tanh'", form);
    }
    mts_import_out(import, 0,
                   mts_import_emit_unary(import, tanh ? MTS_FN_GELU_TANH : MTS_FN_GELU, 0.0f, 0.0f,
                                         mts_import_in(import, 0)));
}

/* IsNaN and IsInf. */
void mts_lower_is_number(mts_import *import)
{
    const bool nan = mts_import_is_op(import, "IsNaN");
    const bool below = !nan && mts_attr_int(import, "detect_negative", 1) != 0;
    const bool above = !nan && mts_attr_int(import, "detect_positive", 1) != 0;
    mts_import_out(import, 0,
                   mts_import_emit_test(import, nan ? MTS_FN_IS_NAN : MTS_FN_IS_INF, below ? 1.0f : 0.0f,
                                        above ? 1.0f : 0.0f, mts_import_in(import, 0)));
}

static mts_import_value *softmax_along(mts_import *import, mts_import_value *x, uint32_t axis)
{
    mts_attrs attrs = {.softmax = {.axis = axis, .log = mts_import_is_op(import, "LogSoftmax")}};
    return mts_import_emit(import, MTS_OP_SOFTMAX, &attrs, &x, 1);
}

void mts_lower_softmax(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0);
    uint32_t axis = mts_import_axis(import, mts_attr_int(import, "axis", -1), x->shape.rank);
    mts_import_out(import, 0, softmax_along(import, x, axis));
}

/* Before opset 13 the input is seen as a matrix [before axis][from axis on]. */
void mts_lower_softmax_legacy(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0);
    uint32_t axis = mts_import_axis(import, mts_attr_int(import, "axis", 1), x->shape.rank);
    int64_t rows = 1, columns = 1, inner = 1;
    for (uint32_t i = 0; i < x->shape.rank; i++) {
        *(i < axis ? &rows : &columns) *= x->shape.dims[i];
        inner *= i > axis ? x->shape.dims[i] : 1;
    }
    if (inner == 1) {
        mts_import_out(import, 0, softmax_along(import, x, axis));
        return;
    }
    mts_shape matrix = {.rank = 2, .dims = {rows, columns}};
    mts_import_value *y = softmax_along(import, mts_import_emit_reshape(import, x, &matrix), 1);
    mts_import_out(import, 0, mts_import_emit_reshape(import, y, &x->shape));
}

static uint32_t binary_kind(const mts_import *import)
{
    static const mts_import_kind kinds[] = {{"Sub", MTS_BIN_SUB},
                                            {"Mul", MTS_BIN_MUL},
                                            {"Div", MTS_BIN_DIV},
                                            {"Max", MTS_BIN_MAX},
                                            {"Min", MTS_BIN_MIN}};
    return mts_import_op_kind(import, kinds, sizeof kinds / sizeof kinds[0], MTS_BIN_ADD);
}

void mts_lower_binary(mts_import *import)
{
    mts_import_out(import, 0,
                   mts_import_emit_binary(import, binary_kind(import), mts_import_in(import, 0),
                                          mts_import_in(import, 1)));
}

void mts_lower_pow(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0), *exponent = mts_import_in(import, 1);
    bool one = mts_import_is_const(exponent) && mts_shape_count(&exponent->shape) == 1 &&
               exponent->shape.rank <= x->shape.rank && !mts_import_is_const(x);
    double number = one ? mts_host_load(exponent->dtype, exponent->data, 0) : 0.0;
    mts_import_value *y = number == 2.0   ? mts_import_emit_binary(import, MTS_BIN_MUL, x, x)
                          : number == 0.5 ? mts_import_emit_unary(import, MTS_FN_SQRT, 0.0f, 0.0f, x)
                                          : mts_import_emit_binary(import, MTS_BIN_POW, x, exponent);
    mts_import_out(import, 0, y);
}

/* Sum, Mean, Max, Min of any number of inputs. */
void mts_lower_nary(mts_import *import)
{
    mts_import_value *y = mts_import_in(import, 0);
    for (uint32_t i = 1; i < import->input_count; i++) {
        y = mts_import_emit_binary(import, binary_kind(import), y, mts_import_in(import, i));
    }
    if (mts_import_is_op(import, "Mean") && y) {
        mts_import_value *count = mts_import_scalar(import, y->dtype, (double)import->input_count);
        y = mts_import_emit_binary(import, MTS_BIN_DIV, y, count);
    }
    mts_import_out(import, 0, y);
}

/* Per-channel statistics become y = scale x + bias, kept apart from any weight. */
void mts_lower_batch_norm(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0);
    const float *in[4];
    static const char *const what[4] = {"scale", "bias", "mean", "variance"};
    double epsilon = (double)mts_attr_float(import, "epsilon", 1e-5f);
    if (mts_attr_int(import, "training_mode", 0) != 0 || mts_attr_int(import, "spatial", 1) != 1) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED,
                        "only the inference form with one number a channel is supported");
    }
    if (x->shape.rank < 2) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "an input of rank %u is not supported",
                        x->shape.rank);
        return;
    }
    int64_t channels = x->shape.dims[1];
    for (uint32_t i = 0; i < 4; i++) {
        const mts_import_value *value = mts_import_in(import, i + 1);
        in[i] = mts_import_read_f32(import, value, what[i]);
        if (mts_shape_count(&value->shape) != (size_t)channels) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "%s has %zu numbers for %lld channels", what[i],
                            mts_shape_count(&value->shape), (long long)channels);
        }
    }
    mts_shape vector = {.rank = 1, .dims = {channels}};
    bool lasting[2] = {false, false};
    float *scale = mts_import_alloc(import, MTS_TYPE_FLOAT32, &vector, &lasting[0]);
    float *bias = mts_import_alloc(import, MTS_TYPE_FLOAT32, &vector, &lasting[1]);
    if (!mts_import_ok(import)) {
        return;
    }
    for (int64_t i = 0; i < channels; i++) {
        double factor = (double)in[0][i] / sqrt((double)in[3][i] + epsilon);
        scale[i] = (float)factor;
        bias[i] = (float)((double)in[1][i] - (double)in[2][i] * factor);
    }
    mts_attrs attrs = {0};
    mts_import_value *inputs[3] = {x,
                                   mts_import_constant(import, MTS_TYPE_FLOAT32, &vector, scale, lasting[0]),
                                   mts_import_constant(import, MTS_TYPE_FLOAT32, &vector, bias, lasting[1])};
    mts_import_out(import, 0, mts_import_emit(import, MTS_OP_SCALE, &attrs, inputs, 3));
    for (uint32_t i = 1; i < import->output_count; i++) {
        mts_import_out_refuse(import, i, "the training outputs of BatchNormalization are not supported");
    }
}

void mts_lower_lrn(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0);
    int64_t size = mts_attr_int(import, "size", 0);
    if (size < 1 || size > 65536 || x->shape.rank < 2) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "size %lld or rank %u is out of range", (long long)size,
                        x->shape.rank);
        return;
    }
    mts_attrs attrs = {.lrn = {.size = (uint32_t)size,
                               .alpha = mts_attr_float(import, "alpha", 1e-4f),
                               .beta = mts_attr_float(import, "beta", 0.75f),
                               .bias = mts_attr_float(import, "bias", 1.0f)}};
    mts_shape four = {.rank = 4, .dims = {x->shape.dims[0], x->shape.dims[1], 1, 1}};
    for (uint32_t i = 2; i < x->shape.rank; i++) {
        four.dims[3] *= x->shape.dims[i];
    }
    four = x->shape.rank == 4 ? x->shape : four;
    mts_import_value *wide = mts_import_emit_reshape(import, x, &four);
    mts_import_value *y = mts_import_emit(import, MTS_OP_LRN, &attrs, &wide, 1);
    mts_import_out(import, 0, mts_import_emit_reshape(import, y, &x->shape));
}

void mts_lower_dropout(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0), *ratio = mts_import_in(import, 1);
    int64_t training = 0;
    float rate = 0.5f;
    (void)mts_import_ints(import, mts_import_in(import, 2), "training_mode", &training, 1);
    if (training != 0) {
        (void)mts_import_floats(import, ratio, "ratio", &rate, 1);
        if (rate != 0.0f) {
            mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "dropout for training is not supported");
        }
    }
    mts_import_out(import, 0, x);
    if (mts_import_out_wanted(import, 1)) {
        mts_import_out(import, 1, mts_import_filled(import, MTS_TYPE_BOOL, &x->shape, 1.0));
    }
}

void mts_lower_identity(mts_import *import)
{
    mts_import_out(import, 0, mts_import_in(import, 0));
}

void mts_lower_cast(mts_import *import)
{
    mts_import_value *x = mts_import_in(import, 0);
    int64_t to = mts_attr_int(import, "to", 0);
    mts_type dtype;
    if (to < 0 || to > INT32_MAX || !mts_proto_dtype((int32_t)to, &dtype)) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "a cast to %s is not supported",
                        mts_proto_dtype_name(to < 0 || to > 100 ? -1 : (int32_t)to));
        return;
    }
    mts_import_out(import, 0, mts_import_emit_cast(import, x, dtype));
}
