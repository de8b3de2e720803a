/*
 * npy.c: NumPy's array files, for inputs that are no pictures and for outputs that other
 * programs compare.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

#define FILE_MOST ((size_t)1 << 30)
#define MAGIC "\x93NUMPY"
#define MAGIC_SIZE 6

static const struct {
    const char *descr;
    const char *name;
    size_t size;
} types[] = {
    [MTS_TYPE_FLOAT32] = {"<f4", "float32", 4}, [MTS_TYPE_FLOAT16] = {"<f2", "float16", 2},
    [MTS_TYPE_INT32] = {"<i4", "int32", 4},     [MTS_TYPE_INT64] = {"<i8", "int64", 8},
    [MTS_TYPE_UINT8] = {"|u1", "uint8", 1},     [MTS_TYPE_BOOL] = {"|b1", "bool", 1},
    [MTS_TYPE_FLOAT64] = {"<f8", "float64", 8}, [MTS_TYPE_INT8] = {"|i1", "int8", 1},
    [MTS_TYPE_UINT16] = {"<u2", "uint16", 2},   [MTS_TYPE_INT16] = {"<i2", "int16", 2},
};

size_t cli_type_size(mts_type type)
{
    return (size_t)type < sizeof types / sizeof types[0] ? types[type].size : 0;
}

const char *cli_type_name(mts_type type)
{
    return (size_t)type < sizeof types / sizeof types[0] ? types[type].name : "?";
}

/* The text after 'key': in the header's Python dictionary, or NULL. */
static const char *entry(const char *header, const char *key)
{
    char quoted[32];
    (void)snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *found = strstr(header, quoted);
    if (!found) {
        return NULL;
    }
    found += strlen(quoted);
    return found + strspn(found, " ");
}

static bool header_read(const char *header, mts_tensor *tensor)
{
    const char *descr = entry(header, "descr");
    const char *order = entry(header, "fortran_order");
    const char *shape = entry(header, "shape");
    if (!descr || !order || !shape || strncmp(order, "False", 5) != 0 || *shape != '(' || *descr != '\'') {
        return false;
    }
    size_t type = 0;
    while (type < sizeof types / sizeof types[0] && strncmp(descr + 1, types[type].descr, 3) != 0) {
        type++;
    }
    if (type == sizeof types / sizeof types[0]) {
        return false;
    }
    tensor->type = (mts_type)type;
    size_t bytes = types[type].size;
    shape++;
    while (*shape != ')') {
        char *end = NULL;
        const long long dim = strtoll(shape, &end, 10);
        if (end == shape || dim < 0 || (unsigned long long)dim > FILE_MOST ||
            tensor->rank >= MTS_TENSOR_RANK_MAX) {
            return false;
        }
        tensor->dims[tensor->rank++] = dim;
        bytes = dim != 0 && bytes > FILE_MOST / (size_t)dim ? FILE_MOST + 1 : bytes * (size_t)dim;
        shape = end + strspn(end, ", ");
    }
    tensor->bytes = bytes;
    return bytes <= FILE_MOST;
}

bool cli_npy_read(const char *path, mts_tensor *tensor, char *error)
{
    size_t size = 0;
    unsigned char *file = cli_file_read(path, FILE_MOST, &size, error);
    memset(tensor, 0, sizeof *tensor);
    if (!file) {
        return false;
    }
    const bool wide = size > MAGIC_SIZE && file[MAGIC_SIZE] >= 2;
    const size_t start = MAGIC_SIZE + 2 + (wide ? 4u : 2u);
    size_t length = 0;
    bool good = size > start && memcmp(file, MAGIC, MAGIC_SIZE) == 0;
    if (good) {
        length = file[8] | (size_t)file[9] << 8;
        length |= wide ? (size_t)file[10] << 16 | (size_t)file[11] << 24 : 0;
        good = length > 0 && length < size - start;
    }
    if (good) {
        file[start + length - 1] = '\0'; /* the header ends with a newline */
        good = header_read((const char *)file + start, tensor) && tensor->bytes == size - start - length;
    }
    if (good) {
        memmove(file, file + start + length, tensor->bytes);
        tensor->data = file;
        return true;
    }
    (void)snprintf(
        error, CLI_ERROR,
        "'%s' is no array that can be read (.npy, row by row, little-endian, at most %d dimensions)", path,
        MTS_TENSOR_RANK_MAX);
    free(file);
    return false;
}

bool cli_npy_write(const char *path, const mts_tensor *tensor, char *error)
{
    char header[256];
    int length = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                          types[tensor->type].descr);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        length +=
            snprintf(header + length, sizeof header - (size_t)length, "%lld,", (long long)tensor->dims[i]);
    }
    length += snprintf(header + length, sizeof header - (size_t)length, "), }");
    const size_t start = MAGIC_SIZE + 4;
    const size_t padded = ((start + (size_t)length + 1 + 63) & ~(size_t)63) - start;
    unsigned char *file = malloc(start + padded + tensor->bytes);
    if (!file) {
        (void)snprintf(error, CLI_ERROR, "no memory to write '%s'", path);
        return false;
    }
    memcpy(file, MAGIC "\x01\x00", MAGIC_SIZE + 2);
    file[8] = (unsigned char)(padded & 0xff);
    file[9] = (unsigned char)(padded >> 8);
    memset(file + start, ' ', padded);
    memcpy(file + start, header, (size_t)length);
    file[start + padded - 1] = '\n';
    if (tensor->bytes > 0) {
        memcpy(file + start + padded, tensor->data, tensor->bytes);
    }
    const bool written = cli_file_write(path, file, start + padded + tensor->bytes, error);
    free(file);
    return written;
}
