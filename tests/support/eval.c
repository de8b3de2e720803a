/*
 * eval.c: see eval.h.
 */
#include "support/eval.h"

#include <math.h>
#include <string.h>

typedef struct eval {
    const mts_graph *graph;
    mts_arena *arena;
    float **values;
} eval;

static const mts_shape *shape_of(const eval *e, uint32_t value)
{
    return &e->graph->values[value].shape;
}

/* NaN: a function that is not known here. */
static float activate(const mts_act *act, float x, const float *slope, int64_t channel)
{
    switch (act->fn) {
    case MTS_FN_NONE:
        return x;
    case MTS_FN_TANH:
        return tanhf(x);
    case MTS_FN_RELU:
        return x > 0 ? x : 0;
    case MTS_FN_LEAKY:
        return x > 0 ? x : act->a * x;
    case MTS_FN_LEAKY_BOUND:
        return fmaxf(x > 0 ? x : act->a * x, act->b);
    case MTS_FN_NEG:
        return -x;
    case MTS_FN_ABS:
        return fabsf(x);
    case MTS_FN_CLIP:
        return fminf(fmaxf(x, act->a), act->b);
    case MTS_FN_HARD_SIGMOID:
        return fminf(fmaxf(act->a * x + act->b, 0), 1);
    case MTS_FN_HARD_SWISH:
        return x * fminf(fmaxf(x / 6 + 0.5f, 0), 1);
    case MTS_FN_HARD_SWISH_LINE:
        return act->a * x * fminf(fmaxf(x / 6 + 0.5f, 0), 1) + act->b;
    case MTS_FN_PRELU:
        return x > 0 ? x : slope[channel] * x;
    default:
        return NAN;
    }
}

static const float *input_of(const eval *e, const mts_node *node, uint32_t index)
{
    return index < node->input_count && node->inputs[index] != MTS_NONE ? e->values[node->inputs[index]]
                                                                        : NULL;
}

static float conv_at(const eval *e, const mts_node *node, int64_t n, int64_t row, int64_t y, int64_t x)
{
    const mts_attrs_conv *a = &node->attrs.conv;
    const mts_shape *in = shape_of(e, node->inputs[0]), *w = shape_of(e, node->inputs[1]);
    const int64_t per_group = w->dims[0] / (int64_t)a->group, first = row / per_group * w->dims[1];
    const float *data = e->values[node->inputs[0]], *weight = e->values[node->inputs[1]];
    double sum = 0;
    for (int64_t c = 0; c < w->dims[1]; c++) {
        for (int64_t ky = 0; ky < w->dims[2]; ky++) {
            for (int64_t kx = 0; kx < w->dims[3]; kx++) {
                const int64_t iy = y * a->stride[0] + ky * a->dilation[0] - a->pad[0];
                const int64_t ix = x * a->stride[1] + kx * a->dilation[1] - a->pad[1];
                if (iy >= 0 && iy < in->dims[2] && ix >= 0 && ix < in->dims[3]) {
                    sum +=
                        (double)data[((n * in->dims[1] + first + c) * in->dims[2] + iy) * in->dims[3] + ix] *
                        (double)weight[((row * w->dims[1] + c) * w->dims[2] + ky) * w->dims[3] + kx];
                }
            }
        }
    }
    return (float)sum;
}

static void eval_conv(const eval *e, const mts_node *node, float *out)
{
    const mts_shape *s = shape_of(e, node->output);
    const float *scale = input_of(e, node, 2), *bias = input_of(e, node, 3);
    const float *residual = input_of(e, node, 4), *slope = input_of(e, node, 5);
    for (int64_t n = 0; n < s->dims[0]; n++) {
        for (int64_t row = 0; row < s->dims[1]; row++) {
            const int64_t c = node->scatter ? (int64_t)node->scatter[row] : row;
            for (int64_t i = 0; i < s->dims[2] * s->dims[3]; i++) {
                const int64_t at = (n * s->dims[1] + c) * s->dims[2] * s->dims[3] + i;
                float value = conv_at(e, node, n, row, i / s->dims[3], i % s->dims[3]);
                value = value * (scale ? scale[c] : 1) + (bias ? bias[c] : 0) + (residual ? residual[at] : 0);
                out[at] = activate(&node->attrs.conv.act, value, slope, c);
            }
        }
    }
}

/* out += the input number `from` of channel c, spread over its window of output row `row`. */
static void spread(const eval *e, const mts_node *node, const int64_t from[2], float x, const float *weight,
                   float *out)
{
    const mts_attrs_conv *a = &node->attrs.conv;
    const mts_shape *s = shape_of(e, node->output), *w = shape_of(e, node->inputs[1]);
    for (int64_t ky = 0; ky < w->dims[2]; ky++) {
        for (int64_t kx = 0; kx < w->dims[3]; kx++) {
            const int64_t y = from[0] * a->stride[0] + ky * a->dilation[0] - a->pad[0];
            const int64_t at = from[1] * a->stride[1] + kx * a->dilation[1] - a->pad[1];
            if (y >= 0 && y < s->dims[2] && at >= 0 && at < s->dims[3]) {
                out[y * s->dims[3] + at] += x * weight[ky * w->dims[3] + kx];
            }
        }
    }
}

/* Each input adds to the outputs that its window covers. */
static void eval_deconv(const eval *e, const mts_node *node, float *out)
{
    const mts_shape *s = shape_of(e, node->output), *in = shape_of(e, node->inputs[0]);
    const mts_shape *w = shape_of(e, node->inputs[1]);
    const float *x = input_of(e, node, 0), *weight = input_of(e, node, 1), *bias = input_of(e, node, 2);
    const int64_t plane = s->dims[2] * s->dims[3], each = in->dims[2] * in->dims[3];
    const int64_t depth = in->dims[1] / (int64_t)node->attrs.conv.group;
    for (int64_t i = 0; i < s->dims[0] * s->dims[1] * plane; i++) {
        out[i] = bias ? bias[i / plane % s->dims[1]] : 0.0f;
    }
    for (int64_t i = 0; i < in->dims[0] * in->dims[1] * each; i++) {
        const int64_t n = i / each / in->dims[1], c = i / each % in->dims[1];
        const int64_t from[2] = {i % each / in->dims[3], i % in->dims[3]};
        for (int64_t r = 0; r < w->dims[1]; r++) {
            const int64_t row = c / depth * w->dims[1] + r;
            spread(e, node, from, x[i], weight + (c * w->dims[1] + r) * w->dims[2] * w->dims[3],
                   out + (n * s->dims[1] + row) * plane);
        }
    }
    for (int64_t i = 0; i < s->dims[0] * s->dims[1] * plane; i++) {
        out[i] = activate(&node->attrs.conv.act, out[i], NULL, 0);
    }
}

static void eval_softmax(const eval *e, const mts_node *node, float *out)
{
    const mts_shape *s = shape_of(e, node->output);
    const float *x = input_of(e, node, 0);
    int64_t step = 1;
    for (uint32_t d = node->attrs.softmax.axis + 1; d < s->rank; d++) {
        step *= s->dims[d];
    }
    const int64_t length = s->dims[node->attrs.softmax.axis];
    for (int64_t line = 0; line < (int64_t)mts_shape_count(s) / length; line++) {
        const int64_t first = line / step * step * length + line % step;
        double sum = 0;
        for (int64_t i = 0; i < length; i++) {
            sum += exp((double)x[first + i * step]);
        }
        for (int64_t i = 0; i < length; i++) {
            const double part = exp((double)x[first + i * step]) / sum;
            out[first + i * step] = (float)(node->attrs.softmax.log ? log(part) : part);
        }
    }
}

static void eval_scale(const eval *e, const mts_node *node, float *out)
{
    const mts_shape *s = shape_of(e, node->output);
    const float *x = input_of(e, node, 0), *scale = input_of(e, node, 1), *bias = input_of(e, node, 2);
    const int64_t rest = (int64_t)mts_shape_count(s) / (s->dims[0] * s->dims[1]);
    for (int64_t i = 0; i < (int64_t)mts_shape_count(s); i++) {
        const int64_t c = i / rest % s->dims[1];
        out[i] =
            activate(&node->attrs.unary.act, x[i] * scale[c] + (bias ? bias[c] : 0), input_of(e, node, 3), c);
    }
}

static float broadcast(const eval *e, uint32_t value, const mts_shape *out, int64_t index)
{
    uint32_t to[MTS_TENSOR_RANK_MAX], from[MTS_TENSOR_RANK_MAX];
    mts_shape_pad(out, to);
    mts_shape_pad(shape_of(e, value), from);
    int64_t at = 0, pitch = 1;
    for (int i = MTS_TENSOR_RANK_MAX; i-- > 0;) {
        at += from[i] > 1 ? index % to[i] * pitch : 0;
        index /= to[i];
        pitch *= from[i];
    }
    return e->values[value][at];
}

static bool eval_binary(const eval *e, const mts_node *node, float *out)
{
    const mts_shape *s = shape_of(e, node->output);
    for (int64_t i = 0; i < (int64_t)mts_shape_count(s); i++) {
        const float a = broadcast(e, node->inputs[0], s, i), b = broadcast(e, node->inputs[1], s, i);
        float value = 0;
        switch (node->attrs.binary.kind) {
        case MTS_BIN_ADD:
            value = a + b;
            break;
        case MTS_BIN_SUB:
            value = a - b;
            break;
        case MTS_BIN_MUL:
            value = a * b;
            break;
        case MTS_BIN_DIV:
            value = a / b;
            break;
        case MTS_BIN_MAX:
            value = fmaxf(a, b);
            break;
        case MTS_BIN_MIN:
            value = fminf(a, b);
            break;
        case MTS_BIN_PRELU:
            value = a > 0 ? a : a * b;
            break;
        default:
            return false;
        }
        out[i] = activate(&node->attrs.binary.act, value, NULL, 0);
    }
    return true;
}

/* alpha a b + beta c, where b is one matrix. */
static bool eval_matmul(const eval *e, const mts_node *node, float *out)
{
    const mts_attrs_matmul *m = &node->attrs.matmul;
    const mts_shape *s = shape_of(e, node->output), *b = shape_of(e, node->inputs[1]);
    const float *x = input_of(e, node, 0), *y = input_of(e, node, 1);
    const bool summand = input_of(e, node, 2) != NULL;
    if (b->rank != 2) {
        return false;
    }
    for (int64_t i = 0; i < (int64_t)mts_shape_count(s); i++) {
        const int64_t row = i / b->dims[1], column = i % b->dims[1];
        double sum = 0;
        for (int64_t k = 0; k < b->dims[0]; k++) {
            sum += (double)x[row * b->dims[0] + k] * (double)y[k * b->dims[1] + column];
        }
        out[i] = m->alpha * (float)sum + (summand ? m->beta * broadcast(e, node->inputs[2], s, i) : 0);
    }
    return true;
}

static void eval_pool(const eval *e, const mts_node *node, float *out)
{
    const mts_attrs_pool *a = &node->attrs.pool;
    const mts_shape *in = shape_of(e, node->inputs[0]), *s = shape_of(e, node->output);
    const float *x = input_of(e, node, 0);
    for (int64_t i = 0; i < (int64_t)mts_shape_count(s); i++) {
        const int64_t plane = i / (s->dims[2] * s->dims[3]), oy = i / s->dims[3] % s->dims[2],
                      ox = i % s->dims[3];
        float most = -INFINITY;
        for (int64_t k = 0; k < a->kernel[0] * a->kernel[1]; k++) {
            const int64_t y = oy * a->stride[0] + k / a->kernel[1] - a->pad[0];
            const int64_t z = ox * a->stride[1] + k % a->kernel[1] - a->pad[1];
            if (y >= 0 && y < in->dims[2] && z >= 0 && z < in->dims[3]) {
                most = fmaxf(most, x[(plane * in->dims[2] + y) * in->dims[3] + z]);
            }
        }
        out[i] = most;
    }
}

/* Mean over rows and columns. */
static void eval_reduce(const eval *e, const mts_node *node, float *out)
{
    const mts_shape *in = shape_of(e, node->inputs[0]);
    const float *x = input_of(e, node, 0);
    const int64_t area = in->dims[2] * in->dims[3];
    for (int64_t p = 0; p < in->dims[0] * in->dims[1]; p++) {
        double sum = 0;
        for (int64_t i = 0; i < area; i++) {
            sum += (double)x[p * area + i];
        }
        out[p] = (float)(sum / (double)area);
    }
}

/* Along dimension 1 of batch 1. */
static void eval_concat(const eval *e, const mts_node *node, float *out)
{
    const mts_shape *s = shape_of(e, node->output);
    size_t outer = 1;
    for (uint32_t i = 0; i < node->attrs.concat.axis; i++) {
        outer *= (size_t)s->dims[i];
    }
    for (size_t at = 0; at < outer; at++) {
        for (uint32_t i = 0; i < node->input_count; i++) {
            const size_t count = mts_shape_count(shape_of(e, node->inputs[i])) / outer;
            memcpy(out, input_of(e, node, i) + at * count, count * sizeof(*out));
            out += count;
        }
    }
}

/* The place in the input of output `o` of an axis, within the image. */
static double resized_place(const mts_attrs_resize *a, int axis, int64_t o, int64_t in)
{
    double place = ((double)o + 0.5) / (double)a->scale[axis] - 0.5;
    if (a->coord == MTS_COORD_ASYMMETRIC) {
        place = (double)o / (double)a->scale[axis];
    } else if (a->coord == MTS_COORD_ALIGN_CORNERS) {
        place = a->out[axis] == 1 ? 0 : (double)o * (double)(in - 1) / (double)(a->out[axis] - 1);
    } else if (a->coord == MTS_COORD_PYTORCH_HALF_PIXEL && a->out[axis] == 1) {
        place = 0;
    }
    return fmin(fmax(place, 0), (double)(in - 1));
}

/* Linear, and nearest with halves rounded down. */
static bool eval_resize(const eval *e, const mts_node *node, float *out)
{
    const mts_attrs_resize *a = &node->attrs.resize;
    const mts_shape *in = shape_of(e, node->inputs[0]), *s = shape_of(e, node->output);
    if (a->mode == MTS_RESIZE_CUBIC || a->coord > MTS_COORD_ASYMMETRIC ||
        (a->mode == MTS_RESIZE_NEAREST && a->round != MTS_ROUND_PREFER_FLOOR)) {
        return false;
    }
    for (int64_t i = 0; i < (int64_t)mts_shape_count(s); i++) {
        const float *x = input_of(e, node, 0) + i / (s->dims[2] * s->dims[3]) * in->dims[2] * in->dims[3];
        double y = resized_place(a, 0, i / s->dims[3] % s->dims[2], in->dims[2]);
        double z = resized_place(a, 1, i % s->dims[3], in->dims[3]);
        if (a->mode == MTS_RESIZE_NEAREST) {
            y = ceil(y - 0.5);
            z = ceil(z - 0.5);
        }
        const int64_t top = (int64_t)y, left = (int64_t)z;
        double sum = 0;
        for (int64_t k = 0; k < 4; k++) {
            const int64_t row = top + k / 2 < in->dims[2] ? top + k / 2 : top;
            const int64_t column = left + k % 2 < in->dims[3] ? left + k % 2 : left;
            sum += (k / 2 ? y - (double)top : 1 - y + (double)top) *
                   (k % 2 ? z - (double)left : 1 - z + (double)left) * (double)x[row * in->dims[3] + column];
        }
        out[i] = (float)sum;
    }
    return true;
}

/* Element i of the result is that of the operand whose position `at` gives, from the result's. */
static void gather(const eval *e, const mts_node *node, float *out,
                   void (*at)(const mts_attrs *attrs, uint32_t rank, const int64_t *to, int64_t *from))
{
    const mts_shape *in = shape_of(e, node->inputs[0]), *s = shape_of(e, node->output);
    for (size_t i = 0; i < mts_shape_count(s); i++) {
        int64_t to[MTS_TENSOR_RANK_MAX], from[MTS_TENSOR_RANK_MAX], place = 0;
        size_t rest = i;
        for (uint32_t d = s->rank; d-- > 0; rest /= (size_t)s->dims[d]) {
            to[d] = (int64_t)(rest % (size_t)s->dims[d]);
        }
        at(&node->attrs, s->rank, to, from);
        for (uint32_t d = 0; d < s->rank; d++) {
            place = place * in->dims[d] + from[d];
        }
        out[i] = input_of(e, node, 0)[place];
    }
}

static void transposed(const mts_attrs *attrs, uint32_t rank, const int64_t *to, int64_t *from)
{
    for (uint32_t d = 0; d < rank; d++) {
        from[attrs->transpose.perm[d]] = to[d];
    }
}

static void sliced(const mts_attrs *attrs, uint32_t rank, const int64_t *to, int64_t *from)
{
    for (uint32_t d = 0; d < rank; d++) {
        from[d] = attrs->slice.start[d] + to[d] * attrs->slice.step[d];
    }
}

static bool eval_node(eval *e, const mts_node *node)
{
    const size_t count = mts_shape_count(shape_of(e, node->output));
    float *out = mts_arena_zero(e->arena, count, sizeof(*out));
    e->values[node->output] = out;
    const mts_act *act = mts_node_act(node);
    const float slope = 1;
    if (!out || (act && isnan(activate(act, 0.5f, &slope, 0)))) {
        return false;
    }
    switch (node->op) {
    case MTS_OP_CONV:
        eval_conv(e, node, out);
        return true;
    case MTS_OP_DECONV:
        eval_deconv(e, node, out);
        return true;
    case MTS_OP_SOFTMAX:
        eval_softmax(e, node, out);
        return true;
    case MTS_OP_SCALE:
        eval_scale(e, node, out);
        return true;
    case MTS_OP_UNARY:
        for (size_t i = 0; i < count; i++) {
            out[i] = activate(&node->attrs.unary.act, input_of(e, node, 0)[i], NULL, 0);
        }
        return true;
    case MTS_OP_BINARY:
        return eval_binary(e, node, out);
    case MTS_OP_MATMUL:
        return eval_matmul(e, node, out);
    case MTS_OP_POOL:
        eval_pool(e, node, out);
        return true;
    case MTS_OP_REDUCE:
        eval_reduce(e, node, out);
        return true;
    case MTS_OP_RESIZE:
        return eval_resize(e, node, out);
    case MTS_OP_CONCAT:
        eval_concat(e, node, out);
        return true;
    case MTS_OP_TRANSPOSE:
        gather(e, node, out, transposed);
        return true;
    case MTS_OP_SLICE:
        gather(e, node, out, sliced);
        return true;
    case MTS_OP_RESHAPE:
        memcpy(out, input_of(e, node, 0), count * sizeof(*out));
        return true;
    default:
        return false;
    }
}

bool mts_eval(const mts_graph *graph, const float *const *inputs, mts_arena *arena, float **values)
{
    eval e = {.graph = graph, .arena = arena, .values = values};
    for (uint32_t v = 0; v < graph->value_count; v++) {
        if (graph->values[v].kind == MTS_VALUE_CONST) {
            values[v] = mts_arena_zero(arena, mts_shape_count(&graph->values[v].shape), sizeof(float));
            if (!values[v]) {
                return false;
            }
            mts_value_read_f32(&graph->values[v], values[v]);
        }
    }
    for (uint32_t i = 0; i < graph->input_count; i++) {
        values[graph->inputs[i].value] = (float *)(uintptr_t)inputs[i];
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!eval_node(&e, &graph->nodes[n])) {
            return false;
        }
    }
    return true;
}
