/*
 * proto.h: protobuf messages from untrusted bytes, and tensors out of them.
 *
 * The library that unpacks messages recurses and allocates as the bytes say, so nesting
 * is checked before and memory is counted while it runs.
 */
#ifndef MTS_COMPILER_IMPORT_PROTO_H
#define MTS_COMPILER_IMPORT_PROTO_H

#include "compiler/import/external.h"
#include "compiler/import/import.h"
#include "onnx/onnx.pb-c.h"

/* Memory of unpacked messages, on an allocator and up to a limit. */
typedef struct mts_proto_memory {
    const mts_allocator *allocator;
    size_t used, most;
    ProtobufCAllocator functions;
    bool failed; /* the allocator had no memory */
} mts_proto_memory;

void mts_proto_memory_init(mts_proto_memory *memory, const mts_allocator *allocator, size_t most);
/* Unpacked messages; NULL with an error. Free with mts_proto_free. */
ProtobufCMessage *mts_proto_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t size,
                                   mts_proto_memory *memory, mts_error *error);
void mts_proto_free(ProtobufCMessage *message, mts_proto_memory *memory);

typedef struct mts_proto_bytes {
    const uint8_t *data;
    size_t size;
} mts_proto_bytes;

/* One of the texts or messages of a field, by its number; NULL: there is no such one, or
 * the descriptor does not know the field. */
const void *mts_proto_member(const ProtobufCMessage *message, uint32_t field, size_t index);
/* The bytes of one of the texts or messages that a message holds under a field number
 * which its descriptor does not know. False: there is no such one. */
bool mts_proto_extra(const ProtobufCMessage *message, uint32_t field, size_t index, mts_proto_bytes *bytes);

/* Element type of ONNX's number; false if this library has none such. */
bool mts_proto_dtype(int32_t onnx, mts_type *dtype);
const char *mts_proto_dtype_name(int32_t onnx);
/*
 * The tensor of a message. Data stays in the message, or in its external file, where it
 * lies there as needed (*in_place), else it is on the arena. bfloat16 becomes float32.
 * external: where external data is looked for; NULL refuses it. Errors: MALFORMED,
 * UNSUPPORTED (types), LIMIT, OUT_OF_MEMORY, and those of mts_external_find.
 */
mts_status mts_proto_tensor(const Onnx__TensorProto *proto, mts_external *external, mts_arena *arena,
                            mts_host_tensor *tensor, bool *in_place, mts_error *error);

#endif
