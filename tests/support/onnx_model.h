/*
 * onnx_model.h: ONNX files made by hand, field by field in protobuf's wire format, so that tests of the
 * importer do not rest on the library that it uses itself and may write what no such library would.
 */
#ifndef MTS_TESTS_SUPPORT_ONNX_MODEL_H
#define MTS_TESTS_SUPPORT_ONNX_MODEL_H

#include <stddef.h>
#include <stdint.h>

#define ONNX_FLOAT 1
#define ONNX_UINT8 2
#define ONNX_INT8 3
#define ONNX_INT64 7
#define ONNX_FLOAT16 10

typedef struct onnx_bytes {
    unsigned char *data; /* malloc */
    size_t size, capacity;
} onnx_bytes;

typedef struct onnx_model {
    onnx_bytes graph, node, file, function, functions;
    int64_t opset;
} onnx_model;

void onnx_model_begin(onnx_model *model, int64_t opset);
/* A dimension of -1 is symbolic; rank -1: no shape at all. */
void onnx_model_input(onnx_model *model, const char *name, int type, int rank, const int64_t *dims);
void onnx_model_output(onnx_model *model, const char *name);
/* Initialisers with raw data. */
void onnx_model_tensor(onnx_model *model, const char *name, int type, int rank, const int64_t *dims,
                       const void *data, size_t bytes);
void onnx_model_floats(onnx_model *model, const char *name, int rank, const int64_t *dims, const float *data);
void onnx_model_ints(onnx_model *model, const char *name, int count, const int64_t *data);
/* inputs and outputs: names separated by commas; attributes follow. The node is named "<op>_<outputs>". */
void onnx_model_node(onnx_model *model, const char *op, const char *inputs, const char *outputs);
void onnx_model_domain(onnx_model *model, const char *domain);
void onnx_model_attr_int(onnx_model *model, const char *name, int64_t number);
void onnx_model_attr_float(onnx_model *model, const char *name, float number);
void onnx_model_attr_text(onnx_model *model, const char *name, const char *text);
void onnx_model_attr_ints(onnx_model *model, const char *name, int count, const int64_t *numbers);
void onnx_model_attr_texts(onnx_model *model, const char *name, int count, const char *const *texts);
/* A graph as attribute; the branch, begun with onnx_model_begin, is consumed. */
void onnx_model_attr_graph(onnx_model *model, const char *name, onnx_model *branch);
/* An attribute that the function's caller gives under the name `of_call`; `type` is the number of its type. */
void onnx_model_attr_ref(onnx_model *model, const char *name, const char *of_call, int type);
/* A function of the model: nodes that follow are its own until it ends. opset 0: it imports none. */
void onnx_model_function(onnx_model *model, const char *domain, const char *name, const char *inputs,
                         const char *outputs, int64_t opset);
/* The default of an attribute of the function. */
void onnx_model_function_float(onnx_model *model, const char *name, float number);
void onnx_model_function_end(onnx_model *model);
/* The file; valid until onnx_model_end. */
const onnx_bytes *onnx_model_file(onnx_model *model);
void onnx_model_end(onnx_model *model);

/* Wire format, for what the functions above do not write. */
void onnx_put_varint(onnx_bytes *out, uint64_t number);
void onnx_put_int(onnx_bytes *out, int field, int64_t number);
void onnx_put_bytes(onnx_bytes *out, int field, const void *data, size_t size);

#endif
