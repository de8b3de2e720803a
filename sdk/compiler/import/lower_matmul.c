/*
 * lower_matmul.c: MatMul, Gemm and the reductions.
 *
 * A product with a constant matrix is a fully connected layer: a convolution over
 * [N,K,1,1]. Its weight keeps the model's bits; factors go into the convolution's scale.
 */
#include "base/size.h"
#include "compiler/import/lower.h"

#include <string.h>

static mts_import_value *transposed(mts_import *import, mts_import_value *x)
{
    uint32_t perm[MTS_TENSOR_RANK_MAX] = {0, 1, 2, 3, 4, 5};
    if (!x || x->shape.rank < 2) {
        return x;
    }
    perm[x->shape.rank - 2] = x->shape.rank - 1;
    perm[x->shape.rank - 1] = x->shape.rank - 2;
    return mts_import_emit_transpose(import, x, perm);
}

mts_import_value *mts_import_emit_connected(mts_import *import, mts_import_value *x, mts_import_value *weight,
                                            float scale, mts_import_value *bias)
{
    if (!x || !weight) {
        return NULL;
    }
    int64_t rows = x->shape.dims[0], inner = x->shape.dims[1], columns = weight->shape.dims[0];
    mts_shape in = {.rank = 4, .dims = {rows, inner, 1, 1}},
              cells = {.rank = 4, .dims = {columns, inner, 1, 1}};
    mts_shape out = {.rank = 2, .dims = {rows, columns}};
    mts_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1}};
    mts_import_value *rows_scale = NULL;
    weight = mts_import_fixed(import, mts_import_emit_reshape(import, weight, &cells), scale, &rows_scale);
    if (!rows_scale && scale != 1.0f) {
        const mts_shape each = {.rank = 1, .dims = {columns}};
        rows_scale = mts_import_filled(import, MTS_TYPE_FLOAT32, &each, (double)scale);
    }
    mts_import_value *inputs[4] = {mts_import_emit_reshape(import, x, &in), weight, rows_scale, bias};
    uint32_t count = bias ? 4 : rows_scale ? 3 : 2;
    return mts_import_emit_reshape(import, mts_import_emit(import, MTS_OP_CONV, &attrs, inputs, count), &out);
}

#define PRODUCTS_PER_STEP 8u /* of what a file may compute: multiply-adds run in vectors */
#define MADE_MOST ((size_t)1 << 20)

/* Whether the product of two constants is computed here: of one matrix on the right, as long as the file
   has steps left, and where it does not make a large constant of two small ones. */
static bool can_compute(const mts_import *import, const mts_import_value *a, const mts_import_value *b)
{
    const bool fits = mts_import_is_const(a) && mts_import_is_const(b) && a->dtype == MTS_TYPE_FLOAT32 &&
                      b->dtype == MTS_TYPE_FLOAT32 && a->shape.rank >= 2 && b->shape.rank == 2 &&
                      a->shape.dims[a->shape.rank - 1] == b->shape.dims[0] &&
                      mts_shape_count(&a->shape) > 0 && b->shape.dims[1] > 0;
    if (!fits) {
        return false;
    }
    const size_t rows = mts_shape_count(&a->shape),
                 columns = (size_t)b->shape.dims[1] / PRODUCTS_PER_STEP + 1;
    const size_t held = rows + mts_shape_count(&b->shape);
    size_t steps = 0, made = 0;
    return mts_size_mul(rows, columns, &steps) && steps <= import->work_left / 2 &&
           mts_size_mul(rows / (size_t)b->shape.dims[0], (size_t)b->shape.dims[1], &made) &&
           made <= (held > MADE_MOST ? held : MADE_MOST);
}

/* XLNet's products of positions, which come from constants only. */
static mts_import_value *multiply_constants(mts_import *import, const mts_import_value *a,
                                            const mts_import_value *b)
{
    const size_t inner = (size_t)b->shape.dims[0], columns = (size_t)b->shape.dims[1];
    const size_t rows = mts_shape_count(&a->shape) / inner;
    const float *left = a->data, *right = b->data;
    const mts_shape row = {.rank = 1, .dims = {b->shape.dims[1]}};
    mts_shape shape = a->shape;
    bool lasting = false, unused = false;
    shape.dims[shape.rank - 1] = b->shape.dims[1];
    double *sums = mts_import_alloc(import, MTS_TYPE_FLOAT64, &row, &unused);
    float *out = sums ? mts_import_alloc(import, MTS_TYPE_FLOAT32, &shape, &lasting) : NULL;
    for (size_t i = 0; out && i < rows; i++) {
        if (!mts_import_work(import, inner * (columns / PRODUCTS_PER_STEP + 1))) {
            return NULL;
        }
        memset(sums, 0, columns * sizeof *sums);
        for (size_t k = 0; k < inner; k++) {
            for (size_t j = 0; j < columns; j++) {
                sums[j] += (double)left[i * inner + k] * (double)right[k * columns + j];
            }
        }
        for (size_t j = 0; j < columns; j++) {
            out[i * columns + j] = (float)sums[j];
        }
    }
    return out ? mts_import_constant(import, MTS_TYPE_FLOAT32, &shape, out, lasting) : NULL;
}

static mts_import_value *multiply(mts_import *import, mts_import_value *a, mts_import_value *b)
{
    if (!a || !b) {
        return NULL;
    }
    if (can_compute(import, a, b)) {
        return multiply_constants(import, a, b);
    }
    bool connected = mts_import_is_const(b) && !mts_import_is_const(a) && a->shape.rank == 2 &&
                     b->shape.rank == 2 && a->shape.dims[1] == b->shape.dims[0];
    if (connected) {
        return mts_import_emit_connected(import, a, transposed(import, b), 1.0f, NULL);
    }
    mts_attrs attrs = {.matmul = {.alpha = 1.0f, .beta = 0.0f}};
    mts_import_value *both[2] = {a, b};
    return mts_import_emit(import, MTS_OP_MATMUL, &attrs, both, 2);
}

/* A vector on the left is a row, on the right a column; the dimension goes again
   afterwards. */
mts_import_value *mts_import_emit_matmul(mts_import *import, mts_import_value *a, mts_import_value *b)
{
    if (!a || !b) {
        return NULL;
    }
    bool row = a->shape.rank == 1, column = b->shape.rank == 1;
    if (a->shape.rank == 0 || b->shape.rank == 0) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "an operand is a scalar");
        return NULL;
    }
    mts_shape a_shape = {.rank = 2, .dims = {1, a->shape.dims[0]}};
    mts_shape b_shape = {.rank = 2, .dims = {b->shape.dims[0], 1}};
    a = row ? mts_import_emit_reshape(import, a, &a_shape) : a;
    b = column ? mts_import_emit_reshape(import, b, &b_shape) : b;
    mts_import_value *y = multiply(import, a, b);
    if (!y) {
        return NULL;
    }
    mts_shape shape = {.rank = y->shape.rank - 2};
    memcpy(shape.dims, y->shape.dims, sizeof(shape.dims));
    if (!row) {
        shape.dims[shape.rank++] = y->shape.dims[y->shape.rank - 2];
    }
    if (!column) {
        shape.dims[shape.rank++] = y->shape.dims[y->shape.rank - 1];
    }
    return mts_import_emit_reshape(import, y, &shape);
}

void mts_lower_matmul(mts_import *import)
{
    mts_import_out(import, 0,
                   mts_import_emit_matmul(import, mts_import_in(import, 0), mts_import_in(import, 1)));
}

/* beta * C as a vector over the columns, if that is its shape; NULL if it is not. */
static mts_import_value *bias_vector(mts_import *import, const mts_import_value *c, float beta,
                                     int64_t columns)
{
    size_t count = mts_shape_count(&c->shape);
    bool last = c->shape.rank == 0 || c->shape.dims[c->shape.rank - 1] == (int64_t)count;
    if (!mts_import_is_const(c) || c->shape.rank > 2 || !last || (count != 1 && count != (size_t)columns)) {
        return NULL;
    }
    const float *from = mts_import_read_f32(import, c, "C");
    mts_shape shape = {.rank = 1, .dims = {columns}};
    bool lasting = false;
    float *data = mts_import_alloc(import, MTS_TYPE_FLOAT32, &shape, &lasting);
    for (int64_t i = 0; from && data && i < columns; i++) {
        data[i] = beta * from[count == 1 ? 0 : i];
    }
    return data ? mts_import_constant(import, MTS_TYPE_FLOAT32, &shape, data, lasting) : NULL;
}

static mts_import_value *scaled(mts_import *import, mts_import_value *x, float factor)
{
    return factor == 1.0f
               ? x
               : mts_import_emit_binary(import, MTS_BIN_MUL, x,
                                        mts_import_scalar(import, MTS_TYPE_FLOAT32, (double)factor));
}

static bool gemm_shapes(mts_import *import, const mts_import_value *a, const mts_import_value *b)
{
    if (!a || !b || a->shape.rank != 2 || b->shape.rank != 2 || a->shape.dims[1] != b->shape.dims[0]) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "the shapes of A and B do not fit");
    }
    return mts_import_ok(import);
}

void mts_lower_gemm(mts_import *import)
{
    mts_import_value *a = mts_import_in(import, 0), *b = mts_import_in(import, 1),
                     *c = mts_import_in(import, 2);
    float alpha = mts_attr_float(import, "alpha", 1.0f), beta = mts_attr_float(import, "beta", 1.0f);
    bool trans_b = mts_attr_int(import, "transB", 0) != 0;
    if (mts_attr_int(import, "transA", 0) != 0) {
        a = transposed(import, a);
    }
    c = beta == 0.0f ? NULL : c;
    if (mts_import_is_const(b) && a && !mts_import_is_const(a)) {
        mts_import_value *rows = trans_b ? b : transposed(import, b); /* [O,K] */
        mts_import_value view = rows ? *rows : (mts_import_value){0};
        if (rows) {
            view.shape.dims[0] = rows->shape.dims[1];
            view.shape.dims[1] = rows->shape.dims[0];
        }
        if (!gemm_shapes(import, a, &view) || !rows) {
            return;
        }
        mts_import_value *bias = c ? bias_vector(import, c, beta, rows->shape.dims[0]) : NULL;
        mts_import_value *y = mts_import_emit_connected(import, a, rows, alpha, bias);
        y = c && !bias && y ? mts_import_emit_binary(import, MTS_BIN_ADD, y, scaled(import, c, beta)) : y;
        mts_import_out(import, 0, y);
        return;
    }
    b = trans_b ? transposed(import, b) : b;
    if (!gemm_shapes(import, a, b)) {
        return;
    }
    mts_attrs attrs = {.matmul = {.alpha = alpha, .beta = c ? beta : 0.0f}};
    mts_import_value *inputs[3] = {a, b, c};
    mts_import_out(import, 0, mts_import_emit(import, MTS_OP_MATMUL, &attrs, inputs, c ? 3 : 2));
}

/* Product over all elements of a constant, of which shape arithmetic may have none. */
static void product_of_shape(mts_import *import, bool keep)
{
    const mts_import_value *x = mts_import_in(import, 0);
    double product = 1.0;
    for (size_t i = 0; i < mts_shape_count(&x->shape); i++) {
        product *= mts_host_load(x->dtype, x->data, i);
    }
    mts_shape shape = {.rank = keep ? x->shape.rank : 0, .dims = {1, 1, 1, 1, 1, 1}};
    mts_import_out(import, 0,
                   mts_import_emit_reshape(import, mts_import_scalar(import, x->dtype, product), &shape));
}

uint32_t mts_import_reduce_axes(mts_import *import, const mts_import_value *x, bool as_input, bool *keep)
{
    int64_t numbers[MTS_TENSOR_RANK_MAX];
    const uint32_t count =
        as_input ? mts_import_ints(import, mts_import_in(import, 1), "the axes", numbers, MTS_TENSOR_RANK_MAX)
                 : mts_attr_ints(import, "axes", numbers, MTS_TENSOR_RANK_MAX);
    uint32_t axes = 0;
    *keep = mts_attr_int(import, "keepdims", 1) != 0;
    for (uint32_t i = 0; i < count; i++) {
        axes |= 1u << mts_import_axis(import, numbers[i], x->shape.rank);
    }
    const bool all = count == 0 && mts_attr_int(import, "noop_with_empty_axes", 0) == 0;
    return all ? (1u << x->shape.rank) - 1u : axes;
}

/* Of no dimension: what the kind makes of each element, as of a dimension of 1. */
static mts_import_value *reduce_nothing(mts_import *import, mts_import_value *x, uint32_t kind)
{
    mts_shape shape = x->shape;
    const mts_attrs attrs = {.reduce = {.kind = kind, .axes = 1u << x->shape.rank}};
    if (kind <= MTS_REDUCE_PROD) {
        return x;
    }
    if (shape.rank == MTS_TENSOR_RANK_MAX) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "no axes of an input of rank %u are not supported",
                        shape.rank);
        return NULL;
    }
    shape.dims[shape.rank++] = 1;
    x = mts_import_emit_reshape(import, x, &shape);
    return mts_import_emit(import, MTS_OP_REDUCE, &attrs, &x, 1);
}

void mts_lower_reduce(mts_import *import)
{
    static const mts_import_kind kinds[] = {
        {"ReduceMean", MTS_REDUCE_MEAN},      {"ReduceSum", MTS_REDUCE_SUM},
        {"ReduceMax", MTS_REDUCE_MAX},        {"ReduceMin", MTS_REDUCE_MIN},
        {"ReduceProd", MTS_REDUCE_PROD},      {"ReduceL1", MTS_REDUCE_L1},
        {"ReduceL2", MTS_REDUCE_L2},          {"ReduceSumSquare", MTS_REDUCE_SUM_SQUARE},
        {"ReduceLogSum", MTS_REDUCE_LOG_SUM}, {"ReduceLogSumExp", MTS_REDUCE_LOG_SUM_EXP}};
    mts_import_value *x = mts_import_in(import, 0);
    const bool is_sum = mts_import_is_op(import, "ReduceSum");
    bool keep = true;
    mts_attrs attrs = {0};
    attrs.reduce.axes = mts_import_reduce_axes(import, x, import->opset >= (is_sum ? 13 : 18), &keep);
    attrs.reduce.keep = keep;
    if (mts_import_is_op(import, "ReduceProd") && mts_import_is_const(x) &&
        attrs.reduce.axes + 1u == 1u << x->shape.rank) {
        product_of_shape(import, keep);
        return;
    }
    attrs.reduce.kind = mts_import_op_kind(import, kinds, sizeof kinds / sizeof kinds[0], MTS_REDUCE_MEAN);
    mts_import_out(import, 0,
                   attrs.reduce.axes == 0 ? reduce_nothing(import, x, attrs.reduce.kind)
                                          : mts_import_emit(import, MTS_OP_REDUCE, &attrs, &x, 1));
}
