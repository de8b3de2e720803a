/*
 * npy.h: reads NumPy's .npy files (version 1 or 2, little-endian, row-major) of float32 and uint8.
 */
#ifndef MTS_TESTS_SUPPORT_NPY_H
#define MTS_TESTS_SUPPORT_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NPY_RANK_MOST 8

typedef struct npy_array {
    void *memory; /* the file */
    const void *data;
    size_t count;        /* elements */
    size_t element_size; /* 4: float32, 1: uint8 */
    uint32_t rank;
    int64_t dims[NPY_RANK_MOST];
} npy_array;

/* False if there is no such file or it is something else; *out is then empty. */
bool npy_read(const char *path, npy_array *out);
void npy_release(npy_array *array);

#endif
