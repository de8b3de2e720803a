/*
 * onnx.h: a graph becomes an ONNX model again, so that any other run-time can run exactly the same weights.
 *
 * Opset 13, standard operators, one file. Weights are dense float32 initialisers whatever blocks they consist
 * of; a convolution's scale and bias become a BatchNormalization behind it, so that importing the file again
 * finds the weights bit-equal. Names of inputs and outputs are kept.
 */
#ifndef MTS_COMPILER_EMIT_ONNX_H
#define MTS_COMPILER_EMIT_ONNX_H

#include "graph/graph.h"

/*
 * Serialises a valid graph. *data lies on the allocator and is NULL on failure; writing the file is the
 * caller's. Errors: OUT_OF_MEMORY, UNSUPPORTED (a mode that opset 13 cannot express).
 */
mts_status mts_onnx_export(const mts_graph *graph, const mts_allocator *allocator, void **data, size_t *size,
                           mts_error *error);

#endif
