/*
 * onnx_function.c: what ONNX nodes compute an element function. Opset 13 lacks some of
 * them.
 */
#include "compiler/emit/onnx_build.h"

#include <math.h>

static void add_clip(mts_onnx *onnx, const mts_act *act, const char *x, const char *output)
{
    const char *inputs[3] = {x, mts_onnx_float_const(onnx, act->a), mts_onnx_float_const(onnx, act->b)};
    (void)mts_onnx_node(onnx, "Clip", inputs, 3, output);
}

static void add_leaky(mts_onnx *onnx, const mts_act *act, const char *x, const char *output)
{
    const mts_act bound = {.fn = MTS_FN_CLIP, .a = act->b, .b = INFINITY};
    const bool bounded = act->fn == MTS_FN_LEAKY_BOUND;
    const char *leaky = bounded ? mts_onnx_temporary(onnx) : output;
    mts_onnx_float(onnx, mts_onnx_node(onnx, "LeakyRelu", &x, 1, leaky), "alpha", act->a);
    if (bounded) {
        add_clip(onnx, &bound, leaky, output);
    }
}

/* A cast there and back. */
static void add_round_trip(mts_onnx *onnx, mts_type dtype, const char *x, const char *output)
{
    const char *between = mts_onnx_temporary(onnx);
    (void)mts_onnx_cast(onnx, x, dtype, between);
    (void)mts_onnx_cast(onnx, between, MTS_TYPE_FLOAT32, output);
}

/* 8 bits go through uint8; 16 bits, which only new opsets know, through arithmetic. */
static void add_quantisation(mts_onnx *onnx, const mts_act *act, const char *x, const char *output)
{
    const char *step = mts_onnx_float_const(onnx, act->a);
    const char *codes = mts_onnx_temporary(onnx);
    if (act->fn == MTS_FN_QUANT8) {
        const char *zero = mts_onnx_temporary(onnx);
        (void)mts_onnx_cast(onnx, mts_onnx_float_const(onnx, -act->b), MTS_TYPE_UINT8, zero);
        const char *const in[3] = {x, step, zero}, *const back[3] = {codes, step, zero};
        (void)mts_onnx_node(onnx, "QuantizeLinear", in, 3, codes);
        (void)mts_onnx_node(onnx, "DequantizeLinear", back, 3, output);
        return;
    }
    const mts_act range = {.fn = MTS_FN_CLIP, .a = act->b, .b = act->b + 65535.0f};
    add_clip(onnx, &range, mts_onnx_one(onnx, "Round", mts_onnx_two(onnx, "Div", x, step, NULL), NULL),
             codes);
    (void)mts_onnx_two(onnx, "Mul", codes, step, output);
}

static const char *plain_name(uint32_t fn)
{
    static const char *const names[MTS_FN_COUNT] = {
        [MTS_FN_NONE] = "Identity", [MTS_FN_RELU] = "Relu",   [MTS_FN_SIGMOID] = "Sigmoid",
        [MTS_FN_TANH] = "Tanh",     [MTS_FN_EXP] = "Exp",     [MTS_FN_SQRT] = "Sqrt",
        [MTS_FN_ABS] = "Abs",       [MTS_FN_NEG] = "Neg",     [MTS_FN_FLOOR] = "Floor",
        [MTS_FN_CEIL] = "Ceil",     [MTS_FN_LOG] = "Log",     [MTS_FN_RECIPROCAL] = "Reciprocal",
        [MTS_FN_ERF] = "Erf",       [MTS_FN_ROUND] = "Round", [MTS_FN_SIGN] = "Sign",
        [MTS_FN_SIN] = "Sin",       [MTS_FN_COS] = "Cos",     [MTS_FN_TAN] = "Tan",
        [MTS_FN_ASIN] = "Asin",     [MTS_FN_ACOS] = "Acos",   [MTS_FN_ATAN] = "Atan",
        [MTS_FN_SINH] = "Sinh",     [MTS_FN_COSH] = "Cosh",   [MTS_FN_ASINH] = "Asinh",
        [MTS_FN_ACOSH] = "Acosh",   [MTS_FN_ATANH] = "Atanh", [MTS_FN_SOFTPLUS] = "Softplus"};
    return names[fn];
}

static const char *with(mts_onnx *onnx, const char *op, const char *x, float number)
{
    return mts_onnx_two(onnx, op, x, mts_onnx_float_const(onnx, number), NULL);
}

/* x / 2 (1 + gate): the two forms of Gelu, which ONNX has from opset 20 on. */
static void add_gelu(mts_onnx *onnx, bool tanh, const char *x, const char *output)
{
    const char *inner;
    if (tanh) {
        const char *cube =
            with(onnx, "Mul", mts_onnx_two(onnx, "Mul", x, mts_onnx_two(onnx, "Mul", x, x, NULL), NULL),
                 0.044715f);
        inner = with(onnx, "Mul", mts_onnx_two(onnx, "Add", x, cube, NULL), 0.79788456f);
    } else {
        inner = with(onnx, "Mul", x, 0.70710678f);
    }
    const char *gate = with(onnx, "Add", mts_onnx_one(onnx, tanh ? "Tanh" : "Erf", inner, NULL), 1.0f);
    (void)mts_onnx_two(onnx, "Mul", with(onnx, "Mul", x, 0.5f), gate, output);
}

/* b elu(x) */
static void add_elu(mts_onnx *onnx, const mts_act *act, const char *x, const char *output)
{
    const char *y = mts_onnx_temporary(onnx);
    mts_onnx_float(onnx, mts_onnx_node(onnx, "Elu", &x, 1, y), "alpha", act->a);
    (void)mts_onnx_two(onnx, "Mul", y, mts_onnx_float_const(onnx, act->b), output);
}

/* A test of x, whose result is a bool, as a number. */
static const char *add_test(mts_onnx *onnx, const char *op, const char *attribute, const char *x,
                            const char *output)
{
    const char *found = mts_onnx_temporary(onnx);
    Onnx__NodeProto *node = mts_onnx_node(onnx, op, &x, 1, found);
    if (attribute) {
        mts_onnx_int(onnx, node, attribute, 0);
    }
    output = output ? output : mts_onnx_temporary(onnx);
    (void)mts_onnx_cast(onnx, found, MTS_TYPE_FLOAT32, output);
    return output;
}

static void add_is_zero(mts_onnx *onnx, const char *x, const char *output)
{
    const char *set = mts_onnx_temporary(onnx);
    (void)mts_onnx_cast(onnx, x, MTS_TYPE_BOOL, set);
    (void)add_test(onnx, "Not", NULL, set, output);
}

/* a where x is -infinity, b where it is infinity. */
static void add_is_inf(mts_onnx *onnx, const mts_act *act, const char *x, const char *output)
{
    const char *below = add_test(onnx, "IsInf", "detect_positive", x, NULL);
    const char *above = add_test(onnx, "IsInf", "detect_negative", x, NULL);
    below = with(onnx, "Mul", below, act->a);
    above = with(onnx, "Mul", above, act->b);
    (void)mts_onnx_two(onnx, "Add", below, above, output);
}

static const char *add_hard_sigmoid(mts_onnx *onnx, float alpha, float beta, const char *x,
                                    const char *output)
{
    output = output ? output : mts_onnx_temporary(onnx);
    Onnx__NodeProto *node = mts_onnx_node(onnx, "HardSigmoid", &x, 1, output);
    mts_onnx_float(onnx, node, "alpha", alpha);
    mts_onnx_float(onnx, node, "beta", beta);
    return output;
}

/* What x is multiplied by in a function that is x times a gate. */
static const char *add_gate(mts_onnx *onnx, uint32_t fn, const char *x)
{
    return fn == MTS_FN_HARD_SWISH || fn == MTS_FN_HARD_SWISH_LINE
               ? add_hard_sigmoid(onnx, 1.0f / 6.0f, 0.5f, x, NULL)
           : fn == MTS_FN_SILU ? mts_onnx_one(onnx, "Sigmoid", x, NULL)
                               : mts_onnx_one(onnx, "Tanh", mts_onnx_one(onnx, "Softplus", x, NULL), NULL);
}

/* a x + b */
static void add_line(mts_onnx *onnx, const mts_act *act, const char *x, const char *output)
{
    const char *product = with(onnx, "Mul", x, act->a);
    (void)mts_onnx_two(onnx, "Add", product, mts_onnx_float_const(onnx, act->b), output);
}

void mts_onnx_function(mts_onnx *onnx, const mts_act *act, const char *slope, const char *x,
                       const char *output)
{
    switch (act->fn) {
    case MTS_FN_LEAKY:
    case MTS_FN_LEAKY_BOUND:
        add_leaky(onnx, act, x, output);
        break;
    case MTS_FN_CLIP:
        add_clip(onnx, act, x, output);
        break;
    case MTS_FN_PRELU:
        (void)mts_onnx_two(onnx, "PRelu", x, slope, output);
        break;
    case MTS_FN_HARD_SIGMOID:
        (void)add_hard_sigmoid(onnx, act->a, act->b, x, output);
        break;
    case MTS_FN_HARD_SWISH:
    case MTS_FN_SILU:
    case MTS_FN_MISH:
        (void)mts_onnx_two(onnx, "Mul", x, add_gate(onnx, act->fn, x), output);
        break;
    case MTS_FN_HARD_SWISH_LINE:
        add_line(onnx, act, mts_onnx_two(onnx, "Mul", x, add_gate(onnx, act->fn, x), NULL), output);
        break;
    case MTS_FN_TRUNC:
    case MTS_FN_NOT_ZERO:
        add_round_trip(onnx, act->fn == MTS_FN_TRUNC ? MTS_TYPE_INT64 : MTS_TYPE_BOOL, x, output);
        break;
    case MTS_FN_QUANT8:
    case MTS_FN_QUANT16:
        add_quantisation(onnx, act, x, output);
        break;
    case MTS_FN_GELU:
    case MTS_FN_GELU_TANH:
        add_gelu(onnx, act->fn == MTS_FN_GELU_TANH, x, output);
        break;
    case MTS_FN_ELU:
        add_elu(onnx, act, x, output);
        break;
    case MTS_FN_IS_ZERO:
        add_is_zero(onnx, x, output);
        break;
    case MTS_FN_IS_NAN:
        (void)add_test(onnx, "IsNaN", NULL, x, output);
        break;
    case MTS_FN_IS_INF:
        add_is_inf(onnx, act, x, output);
        break;
    default:
        (void)mts_onnx_one(onnx, plain_name(act->fn), x, output);
    }
}
