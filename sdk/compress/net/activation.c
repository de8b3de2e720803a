/*
 * activation.c: element functions and their derivatives over dense arrays whose channels lie innermost.
 */
#include <math.h>

#include "compress/net/inside.h"
#include "kernels/abi/kinds.h"

/* ---- forward ---- */

static inline float clip(float x, float low, float high)
{
    const float raised = x < low ? low : x;
    return raised > high ? high : raised;
}

static inline float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

static float slow_function(const mts_act *act, float x)
{
    switch (act->fn) {
    case MTS_FN_SIGMOID:
        return sigmoid(x);
    case MTS_FN_HARD_SIGMOID:
        return clip(act->a * x + act->b, 0.0f, 1.0f);
    case MTS_FN_HARD_SWISH:
        return x * clip(x / 6.0f + 0.5f, 0.0f, 1.0f);
    case MTS_FN_TANH:
        return tanhf(x);
    case MTS_FN_EXP:
        return expf(x);
    case MTS_FN_SQRT:
        return sqrtf(x);
    case MTS_FN_SILU:
        return x * sigmoid(x);
    case MTS_FN_TRUNC:
        return truncf(x);
    case MTS_FN_ABS:
        return fabsf(x);
    case MTS_FN_NEG:
        return -x;
    case MTS_FN_FLOOR:
        return floorf(x);
    case MTS_FN_CEIL:
        return ceilf(x);
    case MTS_FN_LOG:
        return logf(x);
    case MTS_FN_RECIPROCAL:
        return 1.0f / x;
    case MTS_FN_QUANT8:
        return act->a * clip(rintf(x / act->a), act->b, act->b + 255.0f);
    case MTS_FN_QUANT16:
        return act->a * clip(rintf(x / act->a), act->b, act->b + 65535.0f);
    case MTS_FN_NOT_ZERO:
        return x != 0.0f ? 1.0f : 0.0f;
    default:
        return x;
    }
}

static void prelu(const float *slope, size_t channels, float *x, size_t count)
{
    for (size_t i = 0; i < count; i += channels) {
        for (size_t c = 0; c < channels; c++) {
            const float v = x[i + c];
            x[i + c] = v > 0.0f ? v : slope[c] * v;
        }
    }
}

void mts_act_apply(const mts_act *act, const float *slope, size_t channels, float *x, size_t count)
{
    switch (act->fn) {
    case MTS_FN_NONE:
        break;
    case MTS_FN_RELU:
        for (size_t i = 0; i < count; i++) {
            x[i] = x[i] < 0.0f ? 0.0f : x[i];
        }
        break;
    case MTS_FN_LEAKY:
        for (size_t i = 0; i < count; i++) {
            x[i] = x[i] > 0.0f ? x[i] : act->a * x[i];
        }
        break;
    case MTS_FN_CLIP:
        for (size_t i = 0; i < count; i++) {
            x[i] = clip(x[i], act->a, act->b);
        }
        break;
    case MTS_FN_PRELU:
        prelu(slope, channels, x, count);
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            x[i] = slow_function(act, x[i]);
        }
    }
}

/* ---- backward ---- */

bool mts_act_needs_before(const mts_act *act)
{
    switch (act->fn) {
    case MTS_FN_LEAKY:
        return !(act->a > 0.0f); /* else the sign of the result is that of what was read */
    case MTS_FN_PRELU:
    case MTS_FN_HARD_SWISH:
    case MTS_FN_SILU:
    case MTS_FN_ABS:
    case MTS_FN_LOG:
        return true;
    default:
        return false;
    }
}

bool mts_act_has_derivative(const mts_act *act)
{
    switch (act->fn) {
    case MTS_FN_TRUNC:
    case MTS_FN_FLOOR:
    case MTS_FN_CEIL:
    case MTS_FN_NOT_ZERO:
    case MTS_FN_QUANT8:
    case MTS_FN_QUANT16:
        return false;
    default:
        return act->fn < MTS_FN_COUNT;
    }
}

static float slow_derivative(const mts_act *act, float x, float y)
{
    switch (act->fn) {
    case MTS_FN_SIGMOID:
        return y * (1.0f - y);
    case MTS_FN_HARD_SIGMOID:
        return y > 0.0f && y < 1.0f ? act->a : 0.0f;
    case MTS_FN_HARD_SWISH:
        return x <= -3.0f ? 0.0f : x >= 3.0f ? 1.0f : x / 3.0f + 0.5f;
    case MTS_FN_TANH:
        return 1.0f - y * y;
    case MTS_FN_EXP:
        return y;
    case MTS_FN_SQRT:
        return 0.5f / y;
    case MTS_FN_SILU: {
        const float s = sigmoid(x);
        return s * (1.0f + x * (1.0f - s));
    }
    case MTS_FN_ABS:
        return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f;
    case MTS_FN_NEG:
        return -1.0f;
    case MTS_FN_LOG:
        return 1.0f / x;
    case MTS_FN_RECIPROCAL:
        return -y * y;
    default:
        return 1.0f;
    }
}

void mts_act_derive(const mts_act *act, const float *slope, size_t channels, const float *x, const float *y,
                    float *d, size_t count)
{
    switch (act->fn) {
    case MTS_FN_NONE:
        break;
    case MTS_FN_RELU:
        for (size_t i = 0; i < count; i++) {
            d[i] = y[i] > 0.0f ? d[i] : 0.0f;
        }
        break;
    case MTS_FN_LEAKY: {
        const float *sign = x ? x : y;
        for (size_t i = 0; i < count; i++) {
            d[i] = sign[i] > 0.0f ? d[i] : act->a * d[i];
        }
        break;
    }
    case MTS_FN_CLIP:
        for (size_t i = 0; i < count; i++) {
            d[i] = y[i] > act->a && y[i] < act->b ? d[i] : 0.0f;
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
        for (size_t i = 0; i < count; i++) {
            d[i] *= slow_derivative(act, x ? x[i] : 0.0f, y[i]);
        }
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
