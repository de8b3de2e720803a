/*
 * files.h: hostile files by class. Each is made by a generator of a few lines; docs/SECURITY.md lists the classes.
 */
#ifndef MTS_TESTS_HOSTILE_FILES_H
#define MTS_TESTS_HOSTILE_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "support/onnx_model.h"

#define HOSTILE_FILE_MOST ((size_t)1 << 20)

typedef enum hostile_kind {
    HOSTILE_MODEL,  /* ONNX or TensorFlow Lite */
    HOSTILE_BUNDLE, /* of this SDK */
    HOSTILE_CONFIG  /* a list of tasks */
} hostile_kind;

/* What becomes of it: nothing but these. */
typedef enum hostile_end {
    HOSTILE_REFUSED,
    HOSTILE_TAKEN, /* it only looks dangerous */
    HOSTILE_EITHER /* depends on limits that may change */
} hostile_end;

typedef struct hostile_file {
    const char *class, *name;
    const char *origin; /* public report of the same mistake elsewhere; NULL: none that we know */
    hostile_kind kind;
    hostile_end end;
    const char *said; /* part of the sentence if it is refused; NULL: any */
    /* Adds the bytes; `context` is the row that it is made from. */
    void (*put)(onnx_bytes *out, const void *row);
    const void *row;
} hostile_file;

/* Adds bytes to a file. */
void hostile_add(onnx_bytes *out, const void *data, size_t size);

/* Called for each of the files. */
typedef void hostile_visit(const hostile_file *file, void *context);
void hostile_onnx_nodes(hostile_visit *visit, void *context);
void hostile_onnx_models(hostile_visit *visit, void *context);
void hostile_onnx_amplified(hostile_visit *visit, void *context);
void hostile_tflite(hostile_visit *visit, void *context);
void hostile_bundles(hostile_visit *visit, void *context);
void hostile_configs(hostile_visit *visit, void *context);

/* Names of classes. */
#define CLASS_OVERFLOW "shape overflow"
#define CLASS_OFFSET "offset wrap"
#define CLASS_COUNT "negative and huge counts"
#define CLASS_RANK "rank growth"
#define CLASS_AXIS "axis and index out of range"
#define CLASS_ZERO "division by zero from attributes"
#define CLASS_CYCLE "cycles and unknown names"
#define CLASS_DEPTH "depth"
#define CLASS_PATH "external data: traversal and links"
#define CLASS_INJECT "attribute injection"
#define CLASS_MISSING "missing inputs and fields"
#define CLASS_TYPE "types and casts"
#define CLASS_BYTES "bytes and shape differ"
#define CLASS_TIME "quadratic time"
#define CLASS_BOMB "decompression bombs"
#define CLASS_NAME "escape codes and paths in names"
#define CLASS_FORMAT "cut off and other formats"
#define CLASS_GRAPH "subgraphs and functions"

#endif
