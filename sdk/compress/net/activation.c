/*
 * activation.c: element functions and their derivatives over dense arrays whose channels
 * lie innermost.
 */
#include "compress/net/inside.h"

#define MTS_REAL float
#define MTS_MATH(name) name##f
#define mts_number(x) x##f
#include "kernels/abi/scalar.h"

/* ---- forward ---- */

static void prelu(const float *slope, size_t channels, float *x, size_t count)
{
    for (size_t i = 0; i < count; i += channels) {
        for (size_t c = 0; c < channels; c++) {
            const float v = x[i + c];
            x[i + c] = v > 0.0f ? v : slope[c] * v;
        }
    }
}

/* A loop of its own for each function. */
#define APPLY(NAME, formula)                                                                                 \
    case MTS_FN_##NAME:                                                                                      \
        for (size_t i = 0; i < count; i++) {                                                                 \
            const float v = x[i];                                                                            \
            x[i] = formula;                                                                                  \
        }                                                                                                    \
        break;

void mts_act_apply(const mts_act *act, const float *slope, size_t channels, float *x, size_t count)
{
    const float a = act->a, b = act->b;
    switch (act->fn) {
        MTS_FUNCTIONS(APPLY)
    case MTS_FN_PRELU:
        prelu(slope, channels, x, count);
        break;
    default:
        break;
    }
}

/* ---- backward ---- */

/*
 * X(NAME, derivative): of the functions of kernels/abi/functions.h at v, which gave y.
 * Those of the first list need y alone. LEAKY, whose first half reads the sign that v and
 * y have in common, and PRELU are not here. A function without a row has no derivative
 * that a training could use: it is a step or a test.
 */
#define DERIVATIVES_OF_RESULTS(X)                                                                            \
    X(RELU, y > 0.0f ? 1.0f : 0.0f)                                                                          \
    X(CLIP, y > a && y < b ? 1.0f : 0.0f)                                                                    \
    X(SIGMOID, y *(1.0f - y))                                                                                \
    X(HARD_SIGMOID, y > 0.0f && y < 1.0f ? a : 0.0f)                                                         \
    X(TANH, 1.0f - y * y)                                                                                    \
    X(EXP, y)                                                                                                \
    X(SQRT, 0.5f / y)                                                                                        \
    X(NEG, -1.0f)                                                                                            \
    X(RECIPROCAL, -y *y)                                                                                     \
    X(TAN, 1.0f + y * y)                                                                                     \
    X(SOFTPLUS, 1.0f - expf(-y))
#define DERIVATIVES(X)                                                                                       \
    X(HARD_SWISH, v <= -3.0f ? 0.0f : v >= 3.0f ? 1.0f : v / 3.0f + 0.5f)                                    \
    X(HARD_SWISH_LINE, a *(v <= -3.0f ? 0.0f : v >= 3.0f ? 1.0f : v / 3.0f + 0.5f))                          \
    X(SILU, silu_derivative(v))                                                                              \
    X(ABS, v > 0.0f ? 1.0f : v < 0.0f ? -1.0f : 0.0f)                                                        \
    X(LOG, 1.0f / v)                                                                                         \
    X(ERF, 1.1283791670955126f * expf(-v * v))                                                               \
    X(GELU, 0.5f + 0.5f * erff(0.70710678f * v) + 0.39894228f * v * expf(-0.5f * v * v))                     \
    X(GELU_TANH, gelu_tanh_derivative(v))                                                                    \
    X(SIN, cosf(v))                                                                                          \
    X(COS, -sinf(v))                                                                                         \
    X(ASIN, 1.0f / sqrtf(1.0f - v * v))                                                                      \
    X(ACOS, -1.0f / sqrtf(1.0f - v * v))                                                                     \
    X(ATAN, 1.0f / (1.0f + v * v))                                                                           \
    X(SINH, coshf(v))                                                                                        \
    X(COSH, sinhf(v))                                                                                        \
    X(ASINH, 1.0f / sqrtf(v * v + 1.0f))                                                                     \
    X(ACOSH, 1.0f / sqrtf(v * v - 1.0f))                                                                     \
    X(ATANH, 1.0f / (1.0f - v * v))                                                                          \
    X(ELU, v > 0.0f ? b : b * a * expf(v))                                                                   \
    X(LEAKY_BOUND, mts_vec_slope(v, a) <= b ? 0.0f : v > 0.0f ? 1.0f : a)                                    \
    X(MISH, mish_derivative(v))

static float silu_derivative(float v)
{
    const float s = mts_vec_sigmoid(v);
    return s * (1.0f + v * (1.0f - s));
}

static float gelu_tanh_derivative(float v)
{
    const float t = tanhf(0.79788456f * (v + 0.044715f * v * v * v));
    return 0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * 0.79788456f * (1.0f + 0.134145f * v * v);
}

static float mish_derivative(float v)
{
    const float t = tanhf(mts_vec_softplus(v));
    return t + v * (1.0f - t * t) * mts_vec_sigmoid(v);
}

#define CASE(NAME, derivative) case MTS_FN_##NAME:

bool mts_act_needs_before(const mts_act *act)
{
    switch (act->fn) {
    case MTS_FN_LEAKY:
        return !(act->a > 0.0f); /* else the sign of the result is that of what was read */
    case MTS_FN_PRELU:
        DERIVATIVES(CASE)
        return true;
    default:
        return false;
    }
}

bool mts_act_has_derivative(const mts_act *act)
{
    switch (act->fn) {
    case MTS_FN_NONE:
    case MTS_FN_LEAKY:
    case MTS_FN_PRELU:
        DERIVATIVES_OF_RESULTS(CASE)
        DERIVATIVES(CASE)
        return true;
    default:
        return false;
    }
}

#define DERIVE_RESULT(NAME, derivative)                                                                      \
    case MTS_FN_##NAME:                                                                                      \
        for (size_t i = 0; i < count; i++) {                                                                 \
            const float y = results[i];                                                                      \
            (void)y;                                                                                         \
            d[i] *= derivative;                                                                              \
        }                                                                                                    \
        break;
#define DERIVE(NAME, derivative)                                                                             \
    case MTS_FN_##NAME:                                                                                      \
        for (size_t i = 0; i < count; i++) {                                                                 \
            const float v = x[i];                                                                            \
            d[i] *= derivative;                                                                              \
        }                                                                                                    \
        break;

void mts_act_derive(const mts_act *act, const float *slope, size_t channels, const float *x,
                    const float *results, float *d, size_t count)
{
    const float a = act->a, b = act->b;
    const float *sign = x ? x : results;
    switch (act->fn) {
        DERIVATIVES_OF_RESULTS(DERIVE_RESULT)
        DERIVATIVES(DERIVE)
    case MTS_FN_LEAKY:
        for (size_t i = 0; i < count; i++) {
            d[i] = sign[i] > 0.0f ? d[i] : a * d[i];
        }
        break;
    case MTS_FN_PRELU:
        for (size_t i = 0; i < count; i += channels) {
            for (size_t c = 0; c < channels; c++) {
                d[i + c] = x[i + c] > 0.0f ? d[i + c] : slope[c] * d[i + c];
            }
        }
        break;
    default:
        break;
    }
}

void mts_act_derive_slope(size_t channels, const float *x, const float *d, size_t count, float *gradient)
{
    for (size_t i = 0; i < count; i += channels) {
        for (size_t c = 0; c < channels; c++) {
            gradient[c] += x[i + c] < 0.0f ? d[i + c] * x[i + c] : 0.0f;
        }
    }
}
