/*
 * tflite.h: a TensorFlow Lite model becomes a graph of the run-time's operators.
 *
 * The reader of reader.h finds the model's parts, the functions of table.c lower its
 * operators through the emitters that the ONNX importer uses too (../lower.h). TFLite
 * keeps images as [N,H,W,C]; the graph keeps them as [N,C,H,W] (lower.h of this folder).
 * Inputs and outputs keep the shape and order of the file.
 */
#ifndef MTS_COMPILER_IMPORT_TFLITE_TFLITE_H
#define MTS_COMPILER_IMPORT_TFLITE_TFLITE_H

#include "compiler/import/import.h"

/* Whether the bytes are a TensorFlow Lite model: by the identifier in the file, not by
   its name. */
bool mts_tflite_is(const void *data, size_t size);
/* As mts_import_memory; messages do not start with the file's name. Options must not hold
   bindings. */
mts_status mts_tflite_import(const void *data, size_t size, const mts_import_options *options,
                             mts_arena *arena, mts_graph **graph, mts_error *error);
/* Name and number of an operator of the table; NULL after the last. */
const char *mts_tflite_operator_at(size_t index, uint32_t *code);

/* As mts_import_notes_read, from memory; messages do not start with the file's name. */
mts_status mts_tflite_notes(const void *data, size_t size, mts_arena *arena, mts_import_notes *notes,
                            mts_error *error);

#endif
