/*
 * tensor.c: arithmetic on element types and shapes.
 */
#include "tensor/tensor.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"

#define ELEMENT_MOST 8 /* bytes of the widest element type */

static const struct {
    uint8_t size;
    const char *name;
} dtypes[MTS_TYPE_COUNT] = {
    [MTS_TYPE_FLOAT32] = {4, "float32"}, [MTS_TYPE_FLOAT16] = {2, "float16"},
    [MTS_TYPE_INT32] = {4, "int32"},     [MTS_TYPE_INT64] = {8, "int64"},
    [MTS_TYPE_UINT8] = {1, "uint8"},     [MTS_TYPE_BOOL] = {1, "bool"},
    [MTS_TYPE_FLOAT64] = {8, "float64"}, [MTS_TYPE_INT8] = {1, "int8"},
    [MTS_TYPE_UINT16] = {2, "uint16"},   [MTS_TYPE_INT16] = {2, "int16"},
};

/* Element count; false if a dimension is negative or the product overflows, even where
 * another dimension is 0. */
static bool count_checked(const mts_shape *shape, size_t *count)
{
    size_t nonzero = 1; /* product of the dimensions that are not 0 */
    bool empty = false;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0 || (uint64_t)shape->dims[i] > SIZE_MAX) {
            return false;
        }
        const size_t dim = (size_t)shape->dims[i];
        empty = empty || dim == 0;
        if (dim != 0 && !mts_size_mul(nonzero, dim, &nonzero)) {
            return false;
        }
    }
    size_t bytes = 0;
    if (!mts_size_mul(nonzero, ELEMENT_MOST, &bytes)) {
        return false;
    }
    *count = empty ? 0 : nonzero;
    return true;
}

size_t mts_type_size(mts_type dtype)
{
    return (unsigned)dtype < MTS_TYPE_COUNT ? dtypes[dtype].size : 0;
}

const char *mts_type_name(mts_type dtype)
{
    return (unsigned)dtype < MTS_TYPE_COUNT ? dtypes[dtype].name : "unknown";
}

bool mts_shape_valid(const mts_shape *shape)
{
    size_t count = 0;
    return shape->rank <= MTS_TENSOR_RANK_MAX && count_checked(shape, &count);
}

size_t mts_shape_count(const mts_shape *shape)
{
    size_t count = 0;
    return shape->rank <= MTS_TENSOR_RANK_MAX && count_checked(shape, &count) ? count : 0;
}

bool mts_shape_bytes(const mts_shape *shape, mts_type dtype, size_t *bytes)
{
    return mts_shape_valid(shape) && mts_size_mul(mts_shape_count(shape), mts_type_size(dtype), bytes);
}

bool mts_shape_equal(const mts_shape *a, const mts_shape *b)
{
    if (a->rank != b->rank) {
        return false;
    }
    for (uint32_t i = 0; i < a->rank && i < MTS_TENSOR_RANK_MAX; i++) {
        if (a->dims[i] != b->dims[i]) {
            return false;
        }
    }
    return true;
}

mts_shape mts_shape_make(uint32_t rank, const int64_t *dims)
{
    mts_shape shape = {0};
    shape.rank = rank;
    for (uint32_t i = 0; i < rank && i < MTS_TENSOR_RANK_MAX; i++) {
        shape.dims[i] = dims[i];
    }
    return shape;
}

const char *mts_shape_text(const mts_shape *shape, char *text, size_t size)
{
    size_t used = 0;
    if (size == 0) {
        return text;
    }
    text[0] = '\0';
    if (shape->rank == 0) {
        (void)snprintf(text, size, "scalar");
    }
    for (uint32_t i = 0; i < shape->rank && i < MTS_TENSOR_RANK_MAX; i++) {
        const int length =
            snprintf(text + used, size - used, i ? "x%lld" : "%lld", (long long)shape->dims[i]);
        if ((size_t)length >= size - used) { /* a length below 0, too */
            return text;
        }
        used += (size_t)length;
    }
    return text;
}

bool mts_shape_broadcast(const mts_shape *a, const mts_shape *b, mts_shape *out)
{
    mts_shape result = {0};
    if (a->rank > MTS_TENSOR_RANK_MAX || b->rank > MTS_TENSOR_RANK_MAX) {
        return false;
    }
    result.rank = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 0; i < result.rank; i++) {
        const uint32_t skip_a = result.rank - a->rank;
        const uint32_t skip_b = result.rank - b->rank;
        const int64_t da = i < skip_a ? 1 : a->dims[i - skip_a];
        const int64_t db = i < skip_b ? 1 : b->dims[i - skip_b];
        if (da != db && da != 1 && db != 1) {
            return false;
        }
        result.dims[i] = da == 1 ? db : da;
    }
    if (!mts_shape_valid(&result)) {
        return false;
    }
    *out = result;
    return true;
}

void mts_shape_pad(const mts_shape *shape, uint32_t dims[MTS_TENSOR_RANK_MAX])
{
    const uint32_t rank = shape->rank < MTS_TENSOR_RANK_MAX ? shape->rank : MTS_TENSOR_RANK_MAX;
    for (uint32_t i = 0; i < MTS_TENSOR_RANK_MAX; i++) {
        dims[i] =
            i < MTS_TENSOR_RANK_MAX - rank ? 1u : (uint32_t)shape->dims[i - (MTS_TENSOR_RANK_MAX - rank)];
    }
}
