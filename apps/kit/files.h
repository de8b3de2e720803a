/*
 * files.h: reading whole files with a limit, and writing them so that no reader ever sees
 * half of one.
 *
 * The sentence of a failure goes into `error`, CLI_ERROR bytes.
 */
#ifndef MTS_KIT_FILES_H
#define MTS_KIT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "mts/mts.h"

#define CLI_ERROR 768

/* The bytes, followed by a zero byte, on the heap; NULL on failure. */
unsigned char *cli_file_read(const char *path, size_t most, size_t *size, char *error);
/* Under another name first, synchronised, then renamed: a failure leaves the old file. Of
   a link the target is replaced; what is there and no file (a directory, device, pipe or
   socket) is refused. */
bool cli_file_write(const char *path, const void *data, size_t size, char *error);

/* Reads NumPy's .npy (format 1 or 2, C order, little-endian). data is on the heap;
   free(tensor->data). */
bool cli_npy_read(const char *path, mts_tensor *tensor, char *error);
bool cli_npy_write(const char *path, const mts_tensor *tensor, char *error);

/* Bytes of an element, 0 if there is no such type. */
size_t cli_type_size(mts_type type);
const char *cli_type_name(mts_type type);

#endif
