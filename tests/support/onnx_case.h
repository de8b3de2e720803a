/*
 * onnx_case.h: one case of ONNX's backend tests: a model, its inputs and the outputs it must give.
 *
 * Decides which cases are in scope (operators, element types) and which inputs are constants for the
 * compiler.
 */
#ifndef MTS_TESTS_SUPPORT_ONNX_CASE_H
#define MTS_TESTS_SUPPORT_ONNX_CASE_H

#include "compiler/import/import.h"

#define ONNX_CASE_PORTS 16
#define ONNX_CASE_REASON 512

typedef enum onnx_case_scope {
    ONNX_CASE_IN = 0,
    ONNX_CASE_OPERATOR, /* an operator that the SDK does not claim */
    ONNX_CASE_TYPE,     /* an element type other than float32 and integers that shape the work */
    ONNX_CASE_BROKEN    /* unreadable */
} onnx_case_scope;

typedef struct onnx_case {
    mts_arena arena;
    void *model; /* on the default allocator */
    size_t model_size;
    uint64_t hash; /* of model and inputs: equal cases of two sets are one */
    uint32_t input_count, output_count;
    mts_host_tensor inputs[ONNX_CASE_PORTS]; /* named as in the model */
    bool constant[ONNX_CASE_PORTS];          /* bound when the model is compiled */
    mts_host_tensor outputs[ONNX_CASE_PORTS];
} onnx_case;

/* Reads folder/model.onnx and folder/test_data_set_0. Release it in any case. */
onnx_case_scope onnx_case_read(const char *folder, onnx_case *out, char reason[ONNX_CASE_REASON]);
void onnx_case_release(onnx_case *one);
/* The tensor as float32 on the arena, NULL if memory is short. */
const float *onnx_tensor_floats(const mts_host_tensor *tensor, mts_arena *arena);

#endif
