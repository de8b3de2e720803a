/*
 * proto.c: bounded unpacking of protobuf messages and conversion of TensorProto.
 */
#include "compiler/import/proto.h"

#include <limits.h>
#include <string.h>

#include "base/size.h"

#define NESTING_MAX 24u /* messages inside messages; a model without subgraphs needs 8 */

typedef struct cursor {
    const uint8_t *at, *end;
} cursor;

static bool read_varint(cursor *in, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
        uint8_t byte = *in->at++;
        value |= (uint64_t)(byte & 0x7fu) << shift;
        if (!(byte & 0x80u)) {
            *out = value;
            return true;
        }
    }
    return false;
}

static bool skip(cursor *in, uint64_t count)
{
    if (count > (uint64_t)(in->end - in->at)) {
        return false;
    }
    in->at += count;
    return true;
}

/* Walks a message as its descriptor says; false if it is cut off, damaged or nested too
   deep. */
static bool scan(const ProtobufCMessageDescriptor *type, cursor in, unsigned depth)
{
    while (in.at < in.end) {
        uint64_t tag = 0, length = 0;
        if (!read_varint(&in, &tag) || tag >> 3 == 0 || tag >> 3 > INT_MAX) {
            return false;
        }
        switch (tag & 7u) {
        case 0:
            if (!read_varint(&in, &length)) {
                return false;
            }
            break;
        case 1:
        case 5:
            if (!skip(&in, (tag & 7u) == 1 ? 8 : 4)) {
                return false;
            }
            break;
        case 2: {
            if (!read_varint(&in, &length) || length > (uint64_t)(in.end - in.at)) {
                return false;
            }
            const ProtobufCFieldDescriptor *field =
                protobuf_c_message_descriptor_get_field(type, (unsigned)(tag >> 3));
            cursor inner = {in.at, in.at + length};
            if (field && field->type == PROTOBUF_C_TYPE_MESSAGE &&
                (depth == NESTING_MAX || !scan(field->descriptor, inner, depth + 1))) {
                return false;
            }
            in.at += length;
            break;
        }
        default:
            return false;
        }
    }
    return true;
}

static void *counted_alloc(void *context, size_t size)
{
    mts_proto_memory *memory = context;
    if (size > memory->most - memory->used) {
        return NULL;
    }
    void *block = memory->allocator->alloc(memory->allocator->context, size ? size : 1);
    memory->failed = memory->failed || !block;
    if (block) {
        memory->used += size; /* never given back: the limit is on all that one model asks for */
    }
    return block;
}

static void counted_free(void *context, void *block)
{
    mts_proto_memory *memory = context;
    memory->allocator->free(memory->allocator->context, block);
}

void mts_proto_memory_init(mts_proto_memory *memory, const mts_allocator *allocator, size_t most)
{
    *memory = (mts_proto_memory){.allocator = allocator, .most = most};
    memory->functions =
        (ProtobufCAllocator){.alloc = counted_alloc, .free = counted_free, .allocator_data = memory};
}

ProtobufCMessage *mts_proto_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t size,
                                   mts_proto_memory *memory, mts_error *error)
{
    if (size == 0 || !scan(type, (cursor){data, (const uint8_t *)data + size}, 0)) {
        (void)mts_fail(error, MTS_STATUS_MALFORMED, "no ONNX message, or it is cut off or damaged");
        return NULL;
    }
    ProtobufCMessage *message = protobuf_c_message_unpack(type, &memory->functions, size, data);
    if (!message && memory->failed) {
        (void)mts_fail_memory(error);
    } else if (!message) {
        bool full = memory->used > memory->most / 2;
        (void)mts_fail(error, full ? MTS_STATUS_LIMIT : MTS_STATUS_MALFORMED,
                       full ? "the ONNX message needs too much memory" : "the ONNX message is damaged");
    }
    return message;
}

void mts_proto_free(ProtobufCMessage *message, mts_proto_memory *memory)
{
    if (message) {
        protobuf_c_message_free_unpacked(message, &memory->functions);
    }
}

const void *mts_proto_member(const ProtobufCMessage *message, uint32_t field, size_t index)
{
    const ProtobufCFieldDescriptor *known =
        protobuf_c_message_descriptor_get_field(message->descriptor, field);
    const unsigned char *base = (const unsigned char *)message;
    const void *member = NULL;
    size_t count = 1;
    if (!known) {
        return NULL;
    }
    memcpy(&member, base + known->offset, sizeof member);
    if (known->label == PROTOBUF_C_LABEL_REPEATED) {
        memcpy(&count, base + known->quantifier_offset, sizeof count);
    }
    if (index >= count || known->label != PROTOBUF_C_LABEL_REPEATED) {
        return index < count ? member : NULL;
    }
    return ((const void *const *)member)[index];
}

bool mts_proto_extra(const ProtobufCMessage *message, uint32_t field, size_t index, mts_proto_bytes *bytes)
{
    for (unsigned i = 0; i < message->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *one = &message->unknown_fields[i];
        if (one->tag != field || one->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED || index-- > 0) {
            continue;
        }
        /* the length comes first, and the scan of the file has seen that it fits */
        cursor in = {one->data, one->data + one->len};
        uint64_t length = 0;
        if (!read_varint(&in, &length) || length > (uint64_t)(in.end - in.at)) {
            return false;
        }
        *bytes = (mts_proto_bytes){.data = in.at, .size = (size_t)length};
        return true;
    }
    return false;
}

bool mts_proto_dtype(int32_t onnx, mts_type *dtype)
{
    switch (onnx) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
        *dtype = MTS_TYPE_FLOAT32;
        return true;
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16:
        *dtype = MTS_TYPE_FLOAT16;
        return true;
    case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE:
        *dtype = MTS_TYPE_FLOAT64;
        return true;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT32:
        *dtype = MTS_TYPE_INT32;
        return true;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
        *dtype = MTS_TYPE_INT64;
        return true;
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT8:
        *dtype = MTS_TYPE_UINT8;
        return true;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT8:
        *dtype = MTS_TYPE_INT8;
        return true;
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT16:
        *dtype = MTS_TYPE_UINT16;
        return true;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT16:
        *dtype = MTS_TYPE_INT16;
        return true;
    case ONNX__TENSOR_PROTO__DATA_TYPE__BOOL:
        *dtype = MTS_TYPE_BOOL;
        return true;
    default:
        return false;
    }
}

const char *mts_proto_dtype_name(int32_t onnx)
{
    static const char *const names[] = {
        "undefined",      "float32",  "uint8",        "int8",           "uint16",
        "int16",          "int32",    "int64",        "string",         "bool",
        "float16",        "float64",  "uint32",       "uint64",         "complex",
        "complex",        "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
        "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
        "uint2",          "int2"};
    return onnx >= 0 && (size_t)onnx < sizeof(names) / sizeof(names[0]) ? names[onnx] : "unknown";
}

static mts_status read_shape(const Onnx__TensorProto *proto, mts_shape *shape, mts_error *error)
{
    if (proto->n_dims > MTS_TENSOR_RANK_MAX) {
        return mts_fail(error, MTS_STATUS_LIMIT, "rank %zu is above %d", proto->n_dims, MTS_TENSOR_RANK_MAX);
    }
    for (size_t i = 0; i < proto->n_dims; i++) {
        if (proto->dims[i] < 0 || proto->dims[i] >= (int64_t)1 << 31) {
            return mts_fail(error, MTS_STATUS_MALFORMED, "dimension %zu is %lld", i,
                            (long long)proto->dims[i]);
        }
    }
    *shape = mts_shape_make((uint32_t)proto->n_dims, proto->dims);
    if (!mts_shape_valid(shape) || mts_shape_count(shape) >= (size_t)1 << 31) {
        return mts_fail(error, MTS_STATUS_LIMIT, "a tensor has 2^31 elements or more");
    }
    return MTS_STATUS_OK;
}

/* Typed fields that hold the element type as it is; NULL if the type has no such
   field. */
static const void *typed_field(const Onnx__TensorProto *proto, mts_type dtype, size_t *count)
{
    switch (dtype) {
    case MTS_TYPE_FLOAT32:
        *count = proto->n_float_data;
        return proto->float_data;
    case MTS_TYPE_FLOAT64:
        *count = proto->n_double_data;
        return proto->double_data;
    case MTS_TYPE_INT32:
        *count = proto->n_int32_data;
        return proto->int32_data;
    case MTS_TYPE_INT64:
        *count = proto->n_int64_data;
        return proto->int64_data;
    default:
        *count = 0;
        return NULL;
    }
}

/* Types of 16 bits and fewer lie one per int32. */
static void narrow(const int32_t *in, size_t count, mts_type dtype, void *out)
{
    for (size_t i = 0; i < count; i++) {
        if (mts_type_size(dtype) == 2) {
            ((uint16_t *)out)[i] = (uint16_t)in[i];
        } else if (dtype == MTS_TYPE_BOOL) {
            ((uint8_t *)out)[i] = in[i] != 0;
        } else {
            ((uint8_t *)out)[i] = (uint8_t)in[i];
        }
    }
}

static mts_status count_mismatch(size_t found, size_t wanted, const char *what, mts_error *error)
{
    return mts_fail(error, MTS_STATUS_MALFORMED, "its shape needs %zu %s, it has %zu", wanted, what, found);
}

/* bfloat16 is the upper half of a float32. `raw`: pairs of bytes, or NULL: one number per
   int32. */
static mts_status widen(const Onnx__TensorProto *proto, const uint8_t *raw, size_t count, mts_arena *arena,
                        mts_host_tensor *tensor, mts_error *error)
{
    float *out = mts_arena_zero(arena, count, sizeof *out);
    if (!out) {
        return mts_fail_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t half = raw ? (uint32_t)raw[2 * i] | (uint32_t)raw[2 * i + 1] << 8
                                  : (uint32_t)proto->int32_data[i] & 0xffffu;
        const uint32_t bits = half << 16;
        memcpy(&out[i], &bits, sizeof bits);
    }
    tensor->data = out;
    return MTS_STATUS_OK;
}

static mts_status read_bfloat16(const Onnx__TensorProto *proto, mts_external *external, mts_arena *arena,
                                mts_host_tensor *tensor, mts_error *error)
{
    const size_t count = mts_shape_count(&tensor->shape);
    const void *raw = proto->has_raw_data ? proto->raw_data.data : NULL;
    mts_status status = MTS_STATUS_OK;
    if (mts_external_is(proto)) {
        status = mts_external_find(external, proto, 2 * count, &raw, error);
        MTS_TRY(status, mts_external_count_copy(external, sizeof(float) * count, error));
    } else if (proto->has_raw_data ? proto->raw_data.len != 2 * count : proto->n_int32_data != count) {
        status = mts_fail(error, MTS_STATUS_MALFORMED,
                          "its shape needs %zu elements of bfloat16, it has another number", count);
    }
    MTS_TRY(status, widen(proto, raw, count, arena, tensor, error));
    return status;
}

/* Data at an address that its elements cannot be read from. */
static mts_status copy_external(mts_external *external, size_t bytes, mts_arena *arena,
                                mts_host_tensor *tensor, mts_error *error)
{
    const mts_status status = mts_external_count_copy(external, bytes, error);
    void *copy = status == MTS_STATUS_OK ? mts_arena_zero(arena, bytes, 1) : NULL;
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (!copy) {
        return mts_fail_memory(error);
    }
    memcpy(copy, tensor->data, bytes);
    tensor->data = copy;
    return MTS_STATUS_OK;
}

static mts_status read_data(const Onnx__TensorProto *proto, mts_external *external, mts_arena *arena,
                            mts_host_tensor *tensor, bool *in_place, mts_error *error)
{
    size_t count = mts_shape_count(&tensor->shape), found = 0, bytes = 0;
    if (!mts_shape_bytes(&tensor->shape, tensor->dtype, &bytes)) {
        return mts_fail(error, MTS_STATUS_LIMIT, "the tensor is too large");
    }
    if (mts_external_is(proto)) {
        mts_status status = mts_external_find(external, proto, bytes, &tensor->data, error);
        *in_place = (uintptr_t)tensor->data % mts_type_size(tensor->dtype) == 0;
        if (status == MTS_STATUS_OK && !*in_place) {
            status = copy_external(external, bytes, arena, tensor, error);
        }
        if (status != MTS_STATUS_OK) {
            return status;
        }
    } else if (proto->has_raw_data) {
        tensor->data = proto->raw_data.data;
        *in_place = true;
        if (proto->raw_data.len != bytes) {
            return count_mismatch(proto->raw_data.len, bytes, "bytes", error);
        }
    } else {
        tensor->data = typed_field(proto, tensor->dtype, &found);
        *in_place = tensor->data != NULL;
        bool wide = mts_type_size(tensor->dtype) <= 2; /* one element per int32 */
        found = wide ? proto->n_int32_data : found;
        if (found != count) {
            return count_mismatch(found, count, "elements", error);
        }
        if (wide && count) {
            void *data = mts_arena_zero(arena, bytes, 1);
            if (!data) {
                return mts_fail_memory(error);
            }
            narrow(proto->int32_data, count, tensor->dtype, data);
            tensor->data = data;
        }
    }
    if (!tensor->data) {
        *in_place = false;
        tensor->data = mts_arena_zero(arena, 1, 1); /* no elements */
    }
    return tensor->data ? MTS_STATUS_OK : mts_fail_memory(error);
}

mts_status mts_proto_tensor(const Onnx__TensorProto *proto, mts_external *external, mts_arena *arena,
                            mts_host_tensor *tensor, bool *in_place, mts_error *error)
{
    const bool is_bfloat16 = proto->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16;
    *tensor = (mts_host_tensor){.name = proto->name ? proto->name : ""};
    *in_place = false;
    if (proto->segment) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "tensor '%s' is stored in segments", tensor->name);
    }
    tensor->dtype = MTS_TYPE_FLOAT32;
    if (!is_bfloat16 && !mts_proto_dtype(proto->data_type, &tensor->dtype)) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "tensor '%s' has type %s", tensor->name,
                        mts_proto_dtype_name(proto->data_type));
    }
    mts_status status = read_shape(proto, &tensor->shape, error);
    MTS_TRY(status, is_bfloat16 ? read_bfloat16(proto, external, arena, tensor, error)
                                : read_data(proto, external, arena, tensor, in_place, error));
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "tensor '%s'", tensor->name);
}
