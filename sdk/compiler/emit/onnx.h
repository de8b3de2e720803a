/*
 * onnx.h: a graph becomes an ONNX model again, so that any other run-time can run exactly
 * the same weights.
 *
 * Opset 13, standard operators, one file. Weights are dense float32 initialisers whatever
 * blocks they consist of; a convolution's scale and bias become a BatchNormalization
 * behind it, so that importing the file again finds the weights bit-equal. Names of
 * inputs and outputs are kept.
 */
#ifndef MTS_COMPILER_EMIT_ONNX_H
#define MTS_COMPILER_EMIT_ONNX_H

#include "graph/graph.h"

/*
 * Serialises a valid graph. *data lies on the allocator and is NULL on failure; writing
 * the file is the caller's. Errors: OUT_OF_MEMORY, UNSUPPORTED (a mode that opset 13
 * cannot express).
 */
mts_status mts_onnx_export(const mts_graph *graph, const mts_allocator *allocator, void **data, size_t *size,
                           mts_error *error);

/* A task of a model that holds several. */
typedef struct mts_onnx_task {
    /* Unique, without a slash. */
    const char *name;
    const mts_graph *graph;
    /* Per input: the earlier task whose input of this index it is; MTS_NONE: it is an
       input of its own. NULL: all are. */
    const uint32_t *input_of;
} mts_onnx_task;

/*
 * Serialises valid graphs as one model in which every block of weights is stored once, in
 * its own type. Names of inputs, outputs and nodes begin with the task's and a slash.
 * Blocks are numbered below block_count. Otherwise as mts_onnx_export.
 */
mts_status mts_onnx_export_stitched(const mts_onnx_task *tasks, uint32_t count, uint32_t block_count,
                                    const mts_allocator *allocator, void **data, size_t *size,
                                    mts_error *error);

#endif
