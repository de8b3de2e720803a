/*
 * model.h: the parts of a TensorFlow Lite file: tensors, operators, inputs and outputs of
 * its one subgraph.
 */
#ifndef MTS_COMPILER_IMPORT_TFLITE_MODEL_H
#define MTS_COMPILER_IMPORT_TFLITE_MODEL_H

#include "compiler/import/lower.h"
#include "compiler/import/tflite/reader.h"

/* Numbers of element types in a file. */
enum {
    MTS_TFLITE_FLOAT32 = 0,
    MTS_TFLITE_FLOAT16 = 1,
    MTS_TFLITE_INT32 = 2,
    MTS_TFLITE_UINT8 = 3,
    MTS_TFLITE_INT64 = 4,
    MTS_TFLITE_BOOL = 6,
    MTS_TFLITE_INT16 = 7,
    MTS_TFLITE_INT8 = 9
};

#define MTS_TFLITE_CUSTOM 32u /* operator code of custom operators */

typedef struct mts_tflite_tensor {
    const char *name;
    mts_shape shape;
    int type;
    /* of a constant; NULL: none. Any alignment. */
    const unsigned char *data;
    size_t bytes;
    mts_flat_table quantization, sparsity;
    /* the dimensions that a file leaves open, a bit each */
    uint32_t open;
    /* the operator that computes it, or MTS_NONE */
    uint32_t producer;
    bool is_input, needed;
    /* kept from one run to the next; only operators with a state of their own read one */
    bool is_variable;
    /* a result of an operator that is left out */
    bool left;
    /* its values: in the file's order, and as [N,C,H,W]; NULL: not made (lower.h) */
    mts_import_value *native, *planar;
    /* a constant's float32 copy, if it is float16 */
    mts_import_value *wide;
} mts_tflite_tensor;

typedef struct mts_tflite_operator {
    uint32_t code;
    /* of a custom operator, else NULL */
    const char *custom;
    /* numbers of tensors; -1: absent */
    mts_flat_vector inputs, outputs;
    mts_flat_table options;
    mts_flat_vector custom_options;
    bool needed;
} mts_tflite_operator;

typedef struct mts_tflite {
    mts_import *import;
    mts_flat flat;
    size_t name_bytes; /* of all names that were read */
    const char *name;
    mts_tflite_tensor *tensors;
    mts_tflite_operator *operators;
    uint32_t tensor_count, operator_count;
    /* numbers of tensors */
    mts_flat_vector inputs, outputs;
    /* the operator at hand */
    const mts_tflite_operator *node;
    /* inputs have the shapes of the file, so that the results must have theirs */
    bool shapes_hold;
} mts_tflite;

/* Reads the file's parts and marks which of them the outputs need. Failures stick in
   model->import. */
void mts_tflite_read(mts_tflite *model);
/* "FLOAT32", ...; "a type of a newer schema" for other numbers. */
const char *mts_tflite_type_name(int type);
/* The SDK's type for it; false: it has none. */
bool mts_tflite_dtype(int type, mts_type *dtype);

/* densify.c: places the stored elements of a sparse tensor, `size` bytes each, into
   `out`, which is zero. */
void mts_tflite_densify(mts_tflite *model, const mts_tflite_tensor *tensor, size_t size, unsigned char *out);

#endif
