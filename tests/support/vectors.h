/*
 * vectors.h: the reference vectors of ref/ref.json of the data beside the
 * repository (data.h): a model, an image as fed, the outputs of an independent executor.
 */
#ifndef MTS_TESTS_SUPPORT_VECTORS_H
#define MTS_TESTS_SUPPORT_VECTORS_H

#include "mts/mtsc.h"
#include "support/data.h"
#include "support/npy.h"

#define VECTOR_OUTPUTS 4

typedef struct ref_vector {
    char name[64]; /* of the task, unique */
    char model[DATA_PATH];
    char family[32];        /* folder of the model below models/ */
    mtsc_input_shape shape; /* of the input; its name is `input` */
    char input[64];
    bool interleaved; /* the model wants [N,H,W,C] */
    mtsc_color color;
    float mean[4], scale[4]; /* x = (u8 - mean) scale */
    npy_array image;         /* u8 [H,W,C] */
    uint32_t output_count;
    npy_array outputs[VECTOR_OUTPUTS];
} ref_vector;

typedef struct ref_vectors {
    uint32_t count;
    ref_vector *at;
} ref_vectors;

/* Reads all vectors; false with a sentence in `reason` if one is wrong. `folder` holds models/ and ref/. */
bool ref_vectors_read(const char *folder, ref_vectors *out, char reason[DATA_PATH]);
void ref_vectors_release(ref_vectors *vectors);
/* The image as the model's input: float32 in the input's layout; to be freed. NULL: no memory. */
float *ref_vector_input(const ref_vector *vector);

#endif
