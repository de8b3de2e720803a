/*
 * host.c: computes run-time operators on constants, for shape arithmetic and constant
 * subgraphs.
 *
 * Integers are computed as 64-bit integers, everything else in double and rounded to the
 * element type, which for one addition, multiplication, division or root gives the
 * float32 result exactly. Operators that only move elements work on bytes of any type.
 * Shapes and attributes have passed mts_node_infer.
 */
#include "compiler/import/lower.h"

#include <string.h>

#define MTS_REAL double
#define MTS_MATH(name) name
#define mts_number(x) x
#include "kernels/abi/scalar.h"

typedef struct stride_walk {
    mts_shape shape;                     /* of the output */
    int64_t stride[MTS_TENSOR_RANK_MAX]; /* of the input, in elements, per output dimension */
    int64_t base;                        /* of the input */
    int64_t at[MTS_TENSOR_RANK_MAX];     /* position in the output */
} stride_walk;

/* Input element of the current output position; then moves on in row-major order. */
static size_t step(stride_walk *walk)
{
    int64_t from = walk->base;
    for (uint32_t i = 0; i < walk->shape.rank; i++) {
        from += walk->at[i] * walk->stride[i];
    }
    for (uint32_t i = walk->shape.rank; i-- > 0;) {
        if (++walk->at[i] < walk->shape.dims[i]) {
            break;
        }
        walk->at[i] = 0;
    }
    return (size_t)from;
}

static void strides_of(const mts_shape *shape, int64_t *strides)
{
    int64_t stride = 1;
    for (uint32_t i = shape->rank; i-- > 0;) {
        strides[i] = stride;
        stride *= shape->dims[i];
    }
}

/* Walk over `out` that reads `in` broadcast to it. */
static stride_walk broadcast_walk(const mts_shape *in, const mts_shape *out)
{
    stride_walk walk = {.shape = *out};
    int64_t strides[MTS_TENSOR_RANK_MAX] = {0};
    strides_of(in, strides);
    uint32_t skip = out->rank - in->rank;
    for (uint32_t i = 0; i < in->rank; i++) {
        walk.stride[i + skip] = in->dims[i] == 1 ? 0 : strides[i];
    }
    return walk;
}

static void copy_walk(stride_walk *walk, size_t size, const void *in, void *out)
{
    size_t count = mts_shape_count(&walk->shape);
    for (size_t i = 0; i < count; i++) {
        memcpy((char *)out + i * size, (const char *)in + step(walk) * size, size);
    }
}

static void eval_slice(const mts_attrs *attrs, const mts_import_value *x, const mts_shape *shape, void *out)
{
    stride_walk walk = {.shape = *shape};
    int64_t strides[MTS_TENSOR_RANK_MAX] = {0};
    strides_of(&x->shape, strides);
    for (uint32_t i = 0; i < shape->rank; i++) {
        walk.base += attrs->slice.start[i] * strides[i];
        walk.stride[i] = attrs->slice.step[i] * strides[i];
    }
    copy_walk(&walk, mts_type_size(x->dtype), x->data, out);
}

static void eval_transpose(const mts_attrs *attrs, const mts_import_value *x, const mts_shape *shape,
                           void *out)
{
    stride_walk walk = {.shape = *shape};
    int64_t strides[MTS_TENSOR_RANK_MAX] = {0};
    strides_of(&x->shape, strides);
    for (uint32_t i = 0; i < shape->rank; i++) {
        walk.stride[i] = strides[attrs->transpose.perm[i]];
    }
    copy_walk(&walk, mts_type_size(x->dtype), x->data, out);
}

static void eval_concat(const mts_attrs *attrs, mts_import_value *const *inputs, uint32_t count,
                        const mts_shape *shape, void *out)
{
    size_t size = mts_type_size(inputs[0]->dtype), outer = 1, inner = size, offset = 0;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (i < attrs->concat.axis) {
            outer *= (size_t)shape->dims[i];
        } else if (i > attrs->concat.axis) {
            inner *= (size_t)shape->dims[i];
        }
    }
    size_t row = inner * (size_t)shape->dims[attrs->concat.axis];
    for (uint32_t i = 0; i < count; i++) {
        size_t part = inner * (size_t)inputs[i]->shape.dims[attrs->concat.axis];
        for (size_t j = 0; j < outer; j++) {
            memcpy((char *)out + j * row + offset, (const char *)inputs[i]->data + j * part, part);
        }
        offset += part;
    }
}

static bool eval_gather(const mts_attrs *attrs, const mts_import_value *x, const mts_import_value *index,
                        void *out)
{
    size_t size = mts_type_size(x->dtype), outer = 1, inner = size;
    size_t dim = (size_t)x->shape.dims[attrs->gather.axis], count = mts_shape_count(&index->shape);
    for (uint32_t i = 0; i < x->shape.rank; i++) {
        if (i < attrs->gather.axis) {
            outer *= (size_t)x->shape.dims[i];
        } else if (i > attrs->gather.axis) {
            inner *= (size_t)x->shape.dims[i];
        }
    }
    for (size_t j = 0; j < outer; j++) {
        for (size_t i = 0; i < count; i++) {
            int64_t at = mts_host_load_int(index->dtype, index->data, i);
            if (at < 0 || at >= (int64_t)dim) {
                return false;
            }
            memcpy((char *)out + (j * count + i) * inner,
                   (const char *)x->data + (j * dim + (size_t)at) * inner, inner);
        }
    }
    return true;
}

/* x [B,D,J] at positions [B or 1,N,J or 1] */
static void eval_take(const mts_import_value *x, const mts_import_value *index, const mts_shape *shape,
                      void *out)
{
    const size_t size = mts_type_size(x->dtype);
    stride_walk walk = broadcast_walk(&index->shape, shape);
    const int64_t dim = x->shape.dims[1], columns = shape->dims[2];
    for (size_t i = 0; i < mts_shape_count(shape); i++) {
        int64_t at = mts_host_load_int(index->dtype, index->data, step(&walk));
        at = at < 0 ? at + dim : at;
        at = at < 0 ? 0 : at >= dim ? dim - 1 : at;
        const int64_t plane = (int64_t)i / (shape->dims[1] * columns);
        memcpy((char *)out + i * size,
               (const char *)x->data + (size_t)((plane * dim + at) * columns + (int64_t)i % columns) * size,
               size);
    }
}

static double apply(const mts_act *act, double x)
{
    switch (act->fn) {
    case MTS_FN_QUANT8:
        return mts_host_quantize((float)x, act->a, (double)act->b, (double)act->b + 255.0) * (double)act->a;
    case MTS_FN_QUANT16:
        return mts_host_quantize((float)x, act->a, (double)act->b, (double)act->b + 65535.0) * (double)act->a;
    default:
        return mts_scalar_function(act->fn, x, (double)act->a, (double)act->b);
    }
}

/* The remainder of the sign of b (MOD) or a (FMOD); 0 where b is. */
static int64_t remainder_int(uint32_t kind, int64_t a, int64_t b)
{
    const int64_t rest = b == 0 || b == -1 ? 0 : a % b;
    return kind == MTS_BIN_MOD && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* Wraps around as the run-times of ONNX do; division by 0 gives 0. */
static int64_t combine_int(uint32_t kind, int64_t a, int64_t b)
{
    switch (kind) {
    case MTS_BIN_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case MTS_BIN_SUB:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case MTS_BIN_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case MTS_BIN_DIV:
        if (b == 0) {
            return 0;
        }
        return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
    case MTS_BIN_EQUAL:
        return a == b;
    case MTS_BIN_GREATER:
        return a > b;
    case MTS_BIN_GREATER_EQUAL:
        return a >= b;
    case MTS_BIN_MOD:
    case MTS_BIN_FMOD:
        return remainder_int(kind, a, b);
    case MTS_BIN_MAX:
        return a > b ? a : b;
    case MTS_BIN_MIN:
        return a < b ? a : b;
    default: {
        double power = pow((double)a, (double)b);
        return power > -9e18 && power < 9e18 ? (int64_t)power : 0;
    }
    }
}

/* y = scale x + bias by channel, as a normalisation of constants leaves it. */
static void eval_scale(mts_import_value *const *inputs, const mts_shape *shape, void *out)
{
    const mts_import_value *x = inputs[0], *scale = inputs[1], *bias = inputs[2];
    size_t inner = 1;
    for (uint32_t i = 2; i < shape->rank; i++) {
        inner *= (size_t)shape->dims[i];
    }
    for (size_t i = 0; i < mts_shape_count(shape); i++) {
        const size_t channel = i / inner % (size_t)shape->dims[1];
        const double factor = mts_host_load(scale->dtype, scale->data, channel);
        mts_host_store(x->dtype, out, i,
                       mts_host_load(x->dtype, x->data, i) * factor +
                           mts_host_load(bias->dtype, bias->data, channel));
    }
}

static void eval_binary(const mts_attrs *attrs, mts_import_value *const *inputs, const mts_shape *shape,
                        void *out)
{
    const mts_import_value *a = inputs[0], *b = inputs[1];
    stride_walk from_a = broadcast_walk(&a->shape, shape), from_b = broadcast_walk(&b->shape, shape);
    size_t count = mts_shape_count(shape);
    bool integers =
        mts_type_is_int(a->dtype) && mts_type_is_int(b->dtype) && attrs->binary.kind != MTS_BIN_PRELU;
    for (size_t i = 0; i < count; i++) {
        size_t at_a = step(&from_a), at_b = step(&from_b);
        if (integers) {
            mts_host_store_int(a->dtype, out, i,
                               combine_int(attrs->binary.kind, mts_host_load_int(a->dtype, a->data, at_a),
                                           mts_host_load_int(b->dtype, b->data, at_b)));
        } else {
            double y = mts_scalar_binary(attrs->binary.kind, mts_host_load(a->dtype, a->data, at_a),
                                         mts_host_load(b->dtype, b->data, at_b));
            mts_host_store(a->dtype, out, i, apply(&attrs->binary.act, y));
        }
    }
}

static void eval_select(mts_import_value *const *inputs, const mts_shape *shape, void *out)
{
    const size_t size = mts_type_size(inputs[1]->dtype), count = mts_shape_count(shape);
    stride_walk walks[3];
    for (uint32_t i = 0; i < 3; i++) {
        walks[i] = broadcast_walk(&inputs[i]->shape, shape);
    }
    for (size_t i = 0; i < count; i++) {
        const size_t at = step(&walks[0]), yes = step(&walks[1]), no = step(&walks[2]);
        const bool chosen = mts_host_load_int(inputs[0]->dtype, inputs[0]->data, at) != 0;
        memcpy((char *)out + i * size,
               (const char *)inputs[chosen ? 1 : 2]->data + (chosen ? yes : no) * size, size);
    }
}

static void eval_unary(const mts_attrs *attrs, const mts_import_value *x, void *out)
{
    size_t count = mts_shape_count(&x->shape);
    for (size_t i = 0; i < count; i++) {
        mts_host_store(x->dtype, out, i, apply(&attrs->unary.act, mts_host_load(x->dtype, x->data, i)));
    }
}

static double reduce_term(uint32_t kind, double x)
{
    return kind == MTS_REDUCE_L1                                     ? fabs(x)
           : kind >= MTS_REDUCE_L2 && kind <= MTS_REDUCE_MEAN_SQUARE ? x * x
                                                                     : x;
}

static double reduce_end(uint32_t kind, double sum, double count)
{
    const bool mean = kind == MTS_REDUCE_MEAN || kind == MTS_REDUCE_MEAN_SQUARE;
    return mean                         ? sum / count
           : kind == MTS_REDUCE_L2      ? sqrt(sum)
           : kind == MTS_REDUCE_LOG_SUM ? log(sum)
                                        : sum;
}

/* Output index of an input position: the strides of reduced dimensions are 0. */
static void eval_reduce(const mts_attrs *attrs, const mts_import_value *x, double *sums, void *out,
                        size_t outputs)
{
    mts_shape kept = x->shape;
    int64_t strides[MTS_TENSOR_RANK_MAX] = {0};
    double count = (double)mts_shape_count(&x->shape) / (double)outputs;
    stride_walk to = {.shape = x->shape};
    for (uint32_t i = 0; i < kept.rank; i++) {
        kept.dims[i] = attrs->reduce.axes >> i & 1u ? 1 : kept.dims[i];
    }
    strides_of(&kept, strides);
    for (uint32_t i = 0; i < kept.rank; i++) {
        to.stride[i] = attrs->reduce.axes >> i & 1u ? 0 : strides[i];
    }
    uint32_t kind = attrs->reduce.kind;
    double start = kind == MTS_REDUCE_MAX    ? -INFINITY
                   : kind == MTS_REDUCE_MIN  ? INFINITY
                   : kind == MTS_REDUCE_PROD ? 1
                                             : 0;
    for (size_t i = 0; i < outputs; i++) {
        sums[i] = start;
    }
    for (size_t i = 0; i < mts_shape_count(&x->shape); i++) {
        double number = mts_host_load(x->dtype, x->data, i), *sum = &sums[step(&to)];
        uint32_t how = kind == MTS_REDUCE_MAX    ? MTS_BIN_MAX
                       : kind == MTS_REDUCE_MIN  ? MTS_BIN_MIN
                       : kind == MTS_REDUCE_PROD ? MTS_BIN_MUL
                                                 : MTS_BIN_ADD;
        *sum = mts_scalar_binary(how, reduce_term(kind, number), *sum);
    }
    for (size_t i = 0; i < outputs; i++) {
        mts_host_store(x->dtype, out, i, reduce_end(kind, sums[i], count));
    }
}

bool mts_host_can_eval(mts_op op, const mts_attrs *attrs)
{
    if (op == MTS_OP_REDUCE) {
        return !MTS_REDUCE_IS_POSITION(attrs->reduce.kind) && attrs->reduce.kind != MTS_REDUCE_LOG_SUM_EXP;
    }
    return op == MTS_OP_TAKE || op == MTS_OP_SLICE || op == MTS_OP_TRANSPOSE || op == MTS_OP_RESHAPE ||
           op == MTS_OP_EXPAND || op == MTS_OP_CONCAT || op == MTS_OP_GATHER || op == MTS_OP_UNARY ||
           op == MTS_OP_BINARY || op == MTS_OP_SCALE || op == MTS_OP_SELECT;
}

static bool run(mts_import *import, mts_op op, const mts_attrs *attrs, mts_import_value *const *inputs,
                uint32_t count, const mts_shape *shape, void *out)
{
    const mts_import_value *x = inputs[0];
    stride_walk walk;
    switch (op) {
    case MTS_OP_SLICE:
        eval_slice(attrs, x, shape, out);
        return true;
    case MTS_OP_TRANSPOSE:
        eval_transpose(attrs, x, shape, out);
        return true;
    case MTS_OP_RESHAPE:
        memcpy(out, x->data, mts_shape_count(shape) * mts_type_size(x->dtype));
        return true;
    case MTS_OP_EXPAND:
        walk = broadcast_walk(&x->shape, shape);
        copy_walk(&walk, mts_type_size(x->dtype), x->data, out);
        return true;
    case MTS_OP_CONCAT:
        eval_concat(attrs, inputs, count, shape, out);
        return true;
    case MTS_OP_GATHER:
        return eval_gather(attrs, x, inputs[1], out);
    case MTS_OP_TAKE:
        eval_take(x, inputs[1], shape, out);
        return true;
    case MTS_OP_SELECT:
        eval_select(inputs, shape, out);
        return true;
    case MTS_OP_BINARY:
        eval_binary(attrs, inputs, shape, out);
        return true;
    case MTS_OP_UNARY:
        eval_unary(attrs, x, out);
        return true;
    case MTS_OP_SCALE:
        eval_scale(inputs, shape, out);
        return true;
    default: {
        bool lasting = false;
        double *sums = mts_import_alloc(import, MTS_TYPE_FLOAT64, shape, &lasting);
        if (sums) {
            eval_reduce(attrs, x, sums, out, mts_shape_count(shape));
        }
        return sums;
    }
    }
}

mts_import_value *mts_host_eval(mts_import *import, mts_op op, const mts_attrs *attrs,
                                mts_import_value *const *inputs, uint32_t count, const mts_shape *shape)
{
    mts_type dtype = inputs[op == MTS_OP_SELECT ? 1 : 0]->dtype;
    for (uint32_t i = 1; i < count && op == MTS_OP_CONCAT; i++) {
        if (inputs[i]->dtype != dtype) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "inputs have different element types");
            return NULL;
        }
    }
    bool lasting = false;
    if (!mts_import_work(import, mts_shape_count(shape))) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!mts_import_work(import, mts_shape_count(&inputs[i]->shape))) {
            return NULL;
        }
    }
    void *out = mts_import_alloc(import, dtype, shape, &lasting);
    if (!out) {
        return NULL;
    }
    if (!run(import, op, attrs, inputs, count, shape, out)) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "an index is out of range");
        return NULL;
    }
    return mts_import_constant(import, dtype, shape, out, lasting);
}
