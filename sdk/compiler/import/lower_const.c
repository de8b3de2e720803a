/*
 * lower_const.c: operators that exist only while the model is compiled: constants,
 * ranges.
 */
#include "compiler/import/lower.h"

#include <math.h>
#include <string.h>

static mts_import_value *from_numbers(mts_import *import, mts_type dtype, const double *floats,
                                      const int64_t *ints, uint32_t count, bool scalar)
{
    mts_shape shape = {.rank = scalar ? 0 : 1, .dims = {count}};
    bool lasting = false;
    void *data = mts_import_alloc(import, dtype, &shape, &lasting);
    for (uint32_t i = 0; data && i < count; i++) {
        if (floats) {
            mts_host_store(dtype, data, i, floats[i]);
        } else {
            mts_host_store_int(dtype, data, i, ints[i]);
        }
    }
    return data ? mts_import_constant(import, dtype, &shape, data, lasting) : NULL;
}

void mts_lower_constant(mts_import *import)
{
    mts_import_value *value = NULL;
    const Onnx__TensorProto *tensor = mts_attr_tensor(import, "value");
    float floats[64];
    double wide[64];
    int64_t ints[64];
    if (tensor) {
        value = mts_import_from_proto(import, tensor);
    } else if (mts_attr_has(import, "value_float")) {
        wide[0] = (double)mts_attr_float(import, "value_float", 0.0f);
        value = from_numbers(import, MTS_TYPE_FLOAT32, wide, NULL, 1, true);
    } else if (mts_attr_has(import, "value_int")) {
        ints[0] = mts_attr_int(import, "value_int", 0);
        value = from_numbers(import, MTS_TYPE_INT64, NULL, ints, 1, true);
    } else if (mts_attr_has(import, "value_floats")) {
        uint32_t count = mts_attr_floats(import, "value_floats", floats, 64);
        for (uint32_t i = 0; i < count; i++) {
            wide[i] = (double)floats[i];
        }
        value = from_numbers(import, MTS_TYPE_FLOAT32, wide, NULL, count, false);
    } else if (mts_attr_has(import, "value_ints")) {
        uint32_t count = mts_attr_ints(import, "value_ints", ints, 64);
        value = from_numbers(import, MTS_TYPE_INT64, NULL, ints, count, false);
    } else {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "a constant of this kind is not supported");
    }
    mts_import_out(import, 0, value);
}

void mts_lower_constant_of_shape(mts_import *import)
{
    int64_t dims[MTS_TENSOR_RANK_MAX];
    uint32_t rank = mts_import_ints(import, mts_import_in(import, 0), "the shape", dims, MTS_TENSOR_RANK_MAX);
    const Onnx__TensorProto *proto = mts_attr_tensor(import, "value");
    mts_import_value *one =
        proto ? mts_import_from_proto(import, proto) : mts_import_scalar(import, MTS_TYPE_FLOAT32, 0.0);
    mts_shape shape = mts_shape_make(rank, dims);
    if (!one || mts_shape_count(&one->shape) != 1 || !mts_shape_valid(&shape)) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "the shape or the value is out of range");
        return;
    }
    bool lasting = false;
    char *data = mts_import_alloc(import, one->dtype, &shape, &lasting);
    size_t size = mts_type_size(one->dtype), count = mts_shape_count(&shape);
    for (size_t i = 0; data && i < count; i++) {
        memcpy(data + i * size, one->data, size);
    }
    mts_import_out(import, 0, data ? mts_import_constant(import, one->dtype, &shape, data, lasting) : NULL);
}

static bool read_scalar(mts_import *import, uint32_t index, double *number)
{
    const mts_import_value *value = mts_import_in(import, index);
    if (!mts_import_is_const(value) || mts_shape_count(&value->shape) != 1) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "input %u must be one number known when compiling",
                        index);
        return false;
    }
    *number = mts_host_load(value->dtype, value->data, 0);
    return true;
}

void mts_lower_range(mts_import *import)
{
    double start = 0, limit = 0, delta = 0;
    if (!read_scalar(import, 0, &start) || !read_scalar(import, 1, &limit) ||
        !read_scalar(import, 2, &delta)) {
        return;
    }
    double count = ceil((limit - start) / delta);
    if (!(delta != 0) || !(count < 2147483648.0)) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "the range has no end");
        return;
    }
    mts_type dtype = mts_import_in(import, 0)->dtype;
    mts_shape shape = {.rank = 1, .dims = {count > 0 ? (int64_t)count : 0}};
    bool lasting = false;
    void *data = mts_import_alloc(import, dtype, &shape, &lasting);
    for (int64_t i = 0; data && i < shape.dims[0]; i++) {
        mts_host_store(dtype, data, (size_t)i, start + (double)i * delta);
    }
    mts_import_out(import, 0, data ? mts_import_constant(import, dtype, &shape, data, lasting) : NULL);
}

/* Ones on a diagonal; only the shape of the input is read. */
void mts_lower_eye_like(mts_import *import)
{
    const mts_import_value *x = mts_import_in(import, 0);
    const int64_t shift = mts_attr_int(import, "k", 0), type = mts_attr_int(import, "dtype", 0);
    mts_type dtype = x->dtype;
    if (type != 0 && (type < 0 || type > INT32_MAX || !mts_proto_dtype((int32_t)type, &dtype))) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "elements of type %lld are not supported",
                        (long long)type);
        return;
    }
    if (x->shape.rank != 2) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "rank %u instead of 2", x->shape.rank);
        return;
    }
    bool lasting = false;
    void *data = mts_import_alloc(import, dtype, &x->shape, &lasting);
    const int64_t columns = x->shape.dims[1];
    for (int64_t i = 0; data && i < x->shape.dims[0] * columns; i++) {
        mts_host_store(dtype, data, (size_t)i, i % columns - i / columns == shift ? 1.0 : 0.0);
    }
    mts_import_out(import, 0, data ? mts_import_constant(import, dtype, &x->shape, data, lasting) : NULL);
}

/* Positions of a constant's elements that are not 0: a column for each. */
void mts_lower_non_zero(mts_import *import)
{
    const mts_import_value *x = mts_import_in(import, 0);
    if (!mts_import_is_const(x)) {
        mts_import_fail(
            import, MTS_STATUS_UNSUPPORTED,
            "the number of results depends on values that are not known when the model is compiled");
        return;
    }
    const size_t all = mts_shape_count(&x->shape);
    mts_shape shape = {.rank = 2, .dims = {x->shape.rank, 0}};
    for (size_t i = 0; i < all; i++) {
        shape.dims[1] += mts_host_load(x->dtype, x->data, i) != 0;
    }
    bool lasting = false;
    int64_t *data = mts_import_alloc(import, MTS_TYPE_INT64, &shape, &lasting), column = 0;
    for (size_t i = 0; data && i < all; i++) {
        if (mts_host_load(x->dtype, x->data, i) == 0) {
            continue;
        }
        size_t rest = i;
        for (uint32_t d = x->shape.rank; d-- > 0;) {
            data[d * shape.dims[1] + column] = (int64_t)(rest % (size_t)x->shape.dims[d]);
            rest /= (size_t)x->shape.dims[d];
        }
        column++;
    }
    mts_import_out(import, 0,
                   data ? mts_import_constant(import, MTS_TYPE_INT64, &shape, data, lasting) : NULL);
}
