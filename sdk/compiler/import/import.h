/*
 * import.h: an ONNX or TensorFlow Lite model becomes a graph of the run-time's operators.
 *
 * ONNX: opset 7 to 28, and of older ones the operators that have not changed since. A
 * TensorFlow Lite model is known by the identifier in the file (tflite/). Shapes are
 * static: unknown input dimensions are given by the caller. Everything that depends on
 * constants only is computed here. What is not supported is refused with file, node and
 * operator, and then no graph comes back. NonMaxSuppression and what follows it is left
 * out: the values that it reads become outputs (cut.c). Not responsible for optimising
 * the graph (sdk/compiler/passes).
 *
 * Thread-safety: the functions keep no state; arenas belong to their caller.
 */
#ifndef MTS_COMPILER_IMPORT_IMPORT_H
#define MTS_COMPILER_IMPORT_IMPORT_H

#include <stdint.h>

#include "graph/graph.h"

/* A dense tensor on the host, row-major. */
typedef struct mts_host_tensor {
    const char *name;
    mts_type dtype;
    mts_shape shape;
    const void *data;
} mts_host_tensor;

typedef struct mts_import_shape {
    const char *input; /* NULL: the model's only input */
    mts_shape shape;
} mts_import_shape;

/* An input of which every element is this number. */
typedef struct mts_import_number {
    const char *input;
    double number;
} mts_import_number;

typedef struct mts_import_options {
    const mts_import_shape *shapes; /* of inputs whose dimensions the model leaves open */
    size_t shape_count;
    const mts_host_tensor *bindings; /* inputs (by name) that become constants; data is copied */
    size_t binding_count;
    const mts_import_number
        *numbers; /* the same for inputs whose type and shape the model or `shapes` gives */
    size_t number_count;
    size_t file_most;  /* bytes of a file */
    size_t bytes_most; /* bytes of memory for the unpacked file, the graph and its constants */
    size_t
        beyond_most; /* bytes of the same beyond 8 times the files' size, unless 28 times the size is more */
    size_t computed_most; /* bytes of constants computed from others, beyond eight times the files' size */
    uint64_t work_most;   /* elements read and written for that, beyond 32 for each byte of the files */
    uint32_t nodes_most;  /* ONNX nodes */
    /* Called with a sentence where outputs of the model are replaced by others; NULL: not
       called. */
    void (*note)(void *context, const char *text);
    /* Called with the part of the model that is read, 0..1; false: the import ends with CANCELLED.
       NULL: not called. */
    bool (*progress)(void *context, float fraction);
    void *note_context; /* of both */
} mts_import_options;

/* No shapes, no bindings, 2 GiB of file, 4 GiB of memory, but not more than
   20 MiB and 8 times the files' size or 28 times that, 1 GiB of computed constants, 2^26 steps for them, 100000 nodes. */
mts_import_options mts_import_options_default(void);

/*
 * Imports a model. `options` may be NULL. The graph and its constants live in `arena`,
 * which the caller releases, also after a failure (*graph is then NULL). Errors:
 * NOT_FOUND, IO, MALFORMED, UNSUPPORTED, LIMIT, OUT_OF_MEMORY, CANCELLED (by progress),
 * INVALID_ARGUMENT (shapes, bindings or numbers that the model does not have or that contradict it); the text
 * starts with the file's name.
 */
mts_status mts_import_file(const char *path, const mts_import_options *options, mts_arena *arena,
                           mts_graph **graph, mts_error *error);
/* The same from memory; `name` stands for the file in messages. */
mts_status mts_import_memory(const void *data, size_t size, const char *name,
                             const mts_import_options *options, mts_arena *arena, mts_graph **graph,
                             mts_error *error);
/* What a file says of its model beside the graph. */
typedef struct mts_import_notes {
    /* Input 0 is (pixel - mean) / std of pixels 0..255, by channel; of quantised inputs
       in their integers. */
    bool normalises;
    float mean[4], std[4];
    /* Names of the classes of output 0. */
    uint32_t label_count;
    const char *const *labels;
} mts_import_notes;

/*
 * Reads the metadata of a TensorFlow Lite file; other files, and those without metadata,
 * have none. Labels live in the arena. Errors: those of mts_import_file; *notes is then
 * empty.
 */
mts_status mts_import_notes_read(const char *path, mts_arena *arena, mts_import_notes *notes,
                                 mts_error *error);

/* Reads a serialised TensorProto (the .pb files of ONNX test cases); data and name live
   in the arena. */
mts_status mts_import_tensor(const void *data, size_t size, mts_arena *arena, mts_host_tensor *tensor,
                             mts_error *error);

#endif
