/*
 * data.h: where the files lie that tests use but the repository does not hold (../shared/data, or the folder
 * named by the environment variable MTS_TEST_DATA).
 */
#ifndef MTS_TESTS_SUPPORT_DATA_H
#define MTS_TESTS_SUPPORT_DATA_H

#include <stdbool.h>
#include <stddef.h>

#define DATA_PATH 1024
#define DATA_SKIPPED 77 /* exit code of a test program that lacks what it needs */

/* Path of a file or folder of the data; returns `path`. `source` is the repository's root (MTS_SOURCE_DIR).
 */
const char *data_path(const char *source, const char *relative, char path[DATA_PATH]);
bool data_exists(const char *path);

/* What differs most between an output and its reference: see data_compare. */
typedef struct data_difference {
    size_t count;       /* elements out of tolerance */
    size_t worst;       /* index of the worst element */
    double worst_error; /* |got - want| there */
    double worst_share; /* the same over atol + rtol |want| */
} data_difference;

/* Elements with |got - want| <= atol + rtol |want| are equal; NaN equals NaN, an infinity itself. */
data_difference data_compare(const float *got, const float *want, size_t count, double rtol, double atol);

#endif
