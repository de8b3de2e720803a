/*
 * tflite_model.h: TensorFlow Lite files made by hand, so that tests of the importer do not rest on a library and
 * may write what no library would.
 */
#ifndef MTS_TESTS_SUPPORT_TFLITE_MODEL_H
#define MTS_TESTS_SUPPORT_TFLITE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#define TFLITE_FLOAT32 0
#define TFLITE_FLOAT16 1
#define TFLITE_INT32 2
#define TFLITE_INT8 9
#define TFLITE_CUSTOM 32
#define TFLITE_TENSORS 40
#define TFLITE_OPERATORS 12

typedef struct tflite_bytes {
    /* malloc */
    unsigned char *data;
    size_t size, capacity;
} tflite_bytes;

/* One level of a sparse tensor; a dense one has no lists. */
typedef struct tflite_level {
    int dense_size;
    int segment_count, index_count;
    const int32_t *segments, *indices;
} tflite_level;

typedef struct tflite_tensor {
    const char *name;
    int type, rank;
    int32_t dims[8];
    const void *data;
    size_t bytes;
    const float *scales;
    int scale_count, scale_dim;
    int64_t zero;
    int is_variable;
    const tflite_level *levels;
    int level_count;
    const int32_t *order, *blocks;
    int block_count;
} tflite_tensor;

typedef struct tflite_operator {
    int code;
    const char *custom;
    int32_t inputs[24], outputs[4];
    int input_count, output_count;
    uint32_t options[8], present; /* by field */
    const void *custom_options;
    size_t custom_bytes;
} tflite_operator;

typedef struct tflite_model {
    tflite_tensor tensors[TFLITE_TENSORS];
    tflite_operator operators[TFLITE_OPERATORS];
    int32_t inputs[4], outputs[4];
    int tensor_count, operator_count, input_count, output_count;
    int subgraphs; /* the same one so many times */
    /* Metadata, if either is given: how input 0 is normalised, and names of the classes of output 0 in a file of
       an archive behind the model. */
    const float *means, *deviations;
    int mean_count;
    const char *label_file, *labels;
    tflite_bytes file;
} tflite_model;

void tflite_begin(tflite_model *model);
/* The number of a new tensor; data stays the caller's. rank 0 and dims NULL: a scalar. */
int tflite_add(tflite_model *model, const char *name, int type, int rank, const int32_t *dims,
               const void *data, size_t bytes);
int tflite_floats(tflite_model *model, const char *name, int rank, const int32_t *dims, const float *data);
int tflite_ints(tflite_model *model, const char *name, int count, const int32_t *data);
int tflite_input(tflite_model *model, const char *name, int rank, const int32_t *dims);
/* A float32 tensor without data, to be some operator's result. */
int tflite_value(tflite_model *model, const char *name, int rank, const int32_t *dims);
void tflite_output(tflite_model *model, int tensor);
/* Up to 3 inputs, -1: none follow. Options are set afterwards. */
void tflite_node(tflite_model *model, int code, int output, int a, int b, int c);
void tflite_option(tflite_model *model, int field, int32_t number);
void tflite_option_float(tflite_model *model, int field, float number);
/* The file; valid until tflite_end. */
const tflite_bytes *tflite_file(tflite_model *model);
void tflite_end(tflite_model *model);

#endif
