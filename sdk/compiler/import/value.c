/*
 * value.c: constants of the import: memory, element access, conversion to numbers.
 */
#include "compiler/import/lower.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

#define FILLED_PER_STEP 32u  /* bytes that are set in the time of one step of computing */
#define LASTING_BYTES 65536u /* larger results go where the graph can use them without a copy */

bool mts_import_is_const(const mts_import_value *value)
{
    return value->data;
}

bool mts_type_is_int(mts_type dtype)
{
    return dtype == MTS_TYPE_INT8 || dtype == MTS_TYPE_UINT16 || dtype == MTS_TYPE_INT16 ||
           dtype == MTS_TYPE_INT32 || dtype == MTS_TYPE_INT64 || dtype == MTS_TYPE_UINT8 ||
           dtype == MTS_TYPE_BOOL;
}

double mts_host_load(mts_type dtype, const void *data, size_t index)
{
    switch (dtype) {
    case MTS_TYPE_FLOAT32:
        return (double)((const float *)data)[index];
    case MTS_TYPE_FLOAT16:
        return (double)mts_half_to_float(((const uint16_t *)data)[index]);
    case MTS_TYPE_FLOAT64:
        return ((const double *)data)[index];
    default:
        return (double)mts_host_load_int(dtype, data, index);
    }
}

/* Conversion that is defined for every number: out of range goes to the nearest end, NaN
   to 0. */
static int64_t to_int(double number)
{
    if (isnan(number)) {
        return 0;
    }
    if (number >= 9.2e18) {
        return INT64_MAX;
    }
    return number <= -9.2e18 ? INT64_MIN : (int64_t)number;
}

#define LOAD(TYPE, c_type)                                                                                   \
    case MTS_TYPE_##TYPE:                                                                                    \
        return ((const c_type *)data)[index]

int64_t mts_host_load_int(mts_type dtype, const void *data, size_t index)
{
    switch (dtype) {
        LOAD(INT32, int32_t);
        LOAD(INT64, int64_t);
        LOAD(UINT8, uint8_t);
        LOAD(INT8, int8_t);
        LOAD(UINT16, uint16_t);
        LOAD(INT16, int16_t);
    case MTS_TYPE_BOOL:
        return ((const uint8_t *)data)[index] != 0;
    default:
        return to_int(mts_host_load(dtype, data, index));
    }
}

void mts_host_store(mts_type dtype, void *data, size_t index, double number)
{
    switch (dtype) {
    case MTS_TYPE_FLOAT32:
        ((float *)data)[index] = (float)number;
        break;
    case MTS_TYPE_FLOAT16:
        ((uint16_t *)data)[index] = mts_half_from_float((float)number);
        break;
    case MTS_TYPE_FLOAT64:
        ((double *)data)[index] = number;
        break;
    case MTS_TYPE_BOOL:
        ((uint8_t *)data)[index] = number != 0.0;
        break;
    default:
        mts_host_store_int(dtype, data, index, to_int(number));
    }
}

void mts_host_store_int(mts_type dtype, void *data, size_t index, int64_t number)
{
    switch (dtype) {
    case MTS_TYPE_INT32:
        ((int32_t *)data)[index] = (int32_t)(uint32_t)(uint64_t)number;
        break;
    case MTS_TYPE_INT64:
        ((int64_t *)data)[index] = number;
        break;
    case MTS_TYPE_UINT8:
    case MTS_TYPE_INT8:
        ((uint8_t *)data)[index] = (uint8_t)(uint64_t)number;
        break;
    case MTS_TYPE_UINT16:
    case MTS_TYPE_INT16:
        ((uint16_t *)data)[index] = (uint16_t)(uint64_t)number;
        break;
    case MTS_TYPE_BOOL:
        ((uint8_t *)data)[index] = number != 0;
        break;
    default:
        mts_host_store(dtype, data, index, (double)number);
    }
}

void *mts_import_alloc(mts_import *import, mts_type dtype, const mts_shape *shape, bool *lasting)
{
    size_t bytes = 0;
    *lasting = false;
    if (!mts_import_ok(import)) {
        return NULL;
    }
    if (!mts_shape_bytes(shape, dtype, &bytes) || mts_shape_count(shape) >= (size_t)1 << 31) {
        mts_import_fail(import, MTS_STATUS_LIMIT, "a constant has 2^31 elements or more");
        return NULL;
    }
    if (!mts_import_room(import, bytes)) {
        return NULL;
    }
    if (bytes > import->computed_left) {
        mts_import_fail(import, MTS_STATUS_LIMIT,
                        "a constant of %zu bytes: what the model computes from constants takes more than %zu "
                        "bytes beyond its file",
                        bytes, import->options->computed_most);
        return NULL;
    }
    if (!mts_import_work(import, bytes / FILLED_PER_STEP)) {
        return NULL;
    }
    import->computed_left -= bytes;
    *lasting = bytes >= LASTING_BYTES;
    void *data = mts_arena_zero(*lasting ? import->arena : &import->scratch, bytes, 1);
    if (!data) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a constant of %zu bytes",
                        bytes);
    }
    return data;
}

mts_import_value *mts_import_constant(mts_import *import, mts_type dtype, const mts_shape *shape,
                                      const void *data, bool lasting)
{
    mts_import_value *value =
        mts_import_room(import, 0) ? mts_arena_zero(&import->scratch, 1, sizeof(*value)) : NULL;
    if (!value) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a value");
        return NULL;
    }
    *value = (mts_import_value){.dtype = dtype,
                                .shape = *shape,
                                .data = data,
                                .lasting = lasting,
                                .id = MTS_NONE,
                                .raw_id = MTS_NONE};
    return value;
}

mts_import_value *mts_import_scalar(mts_import *import, mts_type dtype, double number)
{
    mts_shape shape = {0};
    bool lasting = false;
    void *data = mts_import_alloc(import, dtype, &shape, &lasting);
    if (!data) {
        return NULL;
    }
    mts_host_store(dtype, data, 0, number);
    return mts_import_constant(import, dtype, &shape, data, lasting);
}

mts_import_value *mts_import_filled(mts_import *import, mts_type dtype, const mts_shape *shape, double number)
{
    bool lasting = false;
    if (mts_type_is_int(dtype) && !(fabs(number) <= 9.0e15 && floor(number) == number)) {
        mts_import_fail(import, MTS_STATUS_INVALID_ARGUMENT,
                        "the value %g of an input of type %s is no whole number", number,
                        mts_type_name(dtype));
        return NULL;
    }
    void *data = mts_import_alloc(import, dtype, shape, &lasting);
    if (!data) {
        return NULL;
    }
    for (size_t i = 0; i < mts_shape_count(shape); i++) {
        if (mts_type_is_int(dtype)) {
            mts_host_store_int(dtype, data, i, (int64_t)number);
        } else {
            mts_host_store(dtype, data, i, number);
        }
    }
    return mts_import_constant(import, dtype, shape, data, lasting);
}

mts_import_value *mts_import_vector(mts_import *import, const float *numbers, uint32_t count)
{
    const mts_shape shape = {.rank = 1, .dims = {count}};
    bool lasting = false;
    void *data = mts_import_alloc(import, MTS_TYPE_FLOAT32, &shape, &lasting);
    if (!data) {
        return NULL;
    }
    memcpy(data, numbers, count * sizeof *numbers);
    return mts_import_constant(import, MTS_TYPE_FLOAT32, &shape, data, lasting);
}

mts_import_value *mts_import_from_proto(mts_import *import, const Onnx__TensorProto *proto)
{
    mts_host_tensor tensor;
    bool in_place = false;
    if (!mts_import_ok(import)) {
        return NULL;
    }
    mts_status status =
        mts_proto_tensor(proto, import->external, &import->scratch, &tensor, &in_place, import->error);
    if (status != MTS_STATUS_OK) {
        import->status = status;
        return NULL;
    }
    const size_t mapped = mts_external_bytes(import->external);
    mts_import_credit(import, mapped - import->external_seen);
    import->external_seen = mapped;
    if (!in_place && !mts_import_work(import, mts_shape_count(&tensor.shape))) {
        return NULL;
    }
    return mts_import_constant(import, tensor.dtype, &tensor.shape, tensor.data, false);
}

static size_t known_count(mts_import *import, const mts_import_value *value, const char *what, uint32_t most)
{
    if (!value || !mts_import_ok(import)) {
        return 0;
    }
    if (!mts_import_is_const(value)) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "%s must be known when the model is compiled", what);
        return 0;
    }
    size_t count = mts_shape_count(&value->shape);
    if (count > most) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "%s has %zu elements, at most %u fit", what, count,
                        most);
        return 0;
    }
    return count;
}

uint32_t mts_import_ints(mts_import *import, const mts_import_value *value, const char *what, int64_t *out,
                         uint32_t most)
{
    size_t count = known_count(import, value, what, most);
    for (size_t i = 0; i < count; i++) {
        out[i] = mts_host_load_int(value->dtype, value->data, i);
    }
    return (uint32_t)count;
}

uint32_t mts_import_floats(mts_import *import, const mts_import_value *value, const char *what, float *out,
                           uint32_t most)
{
    size_t count = known_count(import, value, what, most);
    for (size_t i = 0; i < count; i++) {
        out[i] = (float)mts_host_load(value->dtype, value->data, i);
    }
    return (uint32_t)count;
}

const float *mts_import_read_f32(mts_import *import, const mts_import_value *value, const char *what)
{
    size_t count = known_count(import, value, what, UINT32_MAX);
    if (!mts_import_ok(import) || !value) {
        return NULL;
    }
    if (value->dtype == MTS_TYPE_FLOAT32) {
        return value->data;
    }
    bool lasting = false;
    float *out = mts_import_alloc(import, MTS_TYPE_FLOAT32, &value->shape, &lasting);
    for (size_t i = 0; out && i < count; i++) {
        out[i] = (float)mts_host_load(value->dtype, value->data, i);
    }
    return out;
}
