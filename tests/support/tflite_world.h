/*
 * tflite_world.h: what a test of the TensorFlow Lite importer needs: a model that is written by hand, where its graph
 * goes, and a device that runs it.
 */
#ifndef MTS_TESTS_SUPPORT_TFLITE_WORLD_H
#define MTS_TESTS_SUPPORT_TFLITE_WORLD_H

#include "device/device.h"
#include "graph/graph.h"
#include "support/tflite_model.h"

typedef struct tflite_world {
    mts_arena arena;
    mts_error error;
    mts_device *device; /* the reference */
    tflite_model model; /* begun */
} tflite_world;

/* Returns 0, or -1 if there is no reference device, as a set-up of cmocka. */
int tflite_world_open(tflite_world *w);
int tflite_world_close(tflite_world *w);

/* Imports the model as "hand.tflite"; a failure leaves `graph` NULL. */
mts_status tflite_world_import(tflite_world *w, mts_graph **graph);
/* The imported and folded graph; fails the test if there is none. */
mts_graph *tflite_world_folded(tflite_world *w);
/* Fails the test unless the import fails with this status and a sentence that begins with the file and has `part`. */
void tflite_world_refuses(tflite_world *w, mts_status status, const char *part);

#endif
