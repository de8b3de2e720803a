/*
 * npy.c: reads NumPy's .npy files of float32 and uint8. Not responsible for other types or for writing.
 */
#include "support/npy.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "platform/os/os.h"

#define NPY_FILE_MOST ((size_t)1 << 30)

/* Text behind `key` in the header, or NULL. */
static const char *header_find(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    return at ? at + strlen(key) : NULL;
}

static bool header_shape(const char *header, npy_array *out)
{
    const char *at = header_find(header, "'shape': (");
    if (!at) {
        return false;
    }
    out->count = 1;
    while (*at && *at != ')') {
        char *end = NULL;
        const long long dim = strtoll(at, &end, 10);
        if (end == at || dim < 0 || out->rank == NPY_RANK_MOST ||
            !mts_size_mul(out->count, (size_t)dim, &out->count)) {
            return false;
        }
        out->dims[out->rank++] = dim;
        at = end + strspn(end, ", ");
    }
    return *at == ')';
}

static bool parse(char *bytes, size_t size, npy_array *out)
{
    if (size < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0) {
        return false;
    }
    const unsigned char *head = (const unsigned char *)bytes;
    const bool wide = head[6] >= 2;
    const size_t start = wide ? 12 : 10;
    size_t length = (size_t)head[8] | (size_t)head[9] << 8;
    if (wide) {
        length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
    }
    if (length == 0 || length > size - start) {
        return false;
    }
    char *header = bytes + start;
    header[length - 1] = 0; /* a line feed */
    const char *type = header_find(header, "'descr': '");
    if (!type || !header_find(header, "'fortran_order': False") || !header_shape(header, out)) {
        return false;
    }
    out->element_size = strncmp(type, "<f4'", 4) == 0 ? 4 : strncmp(type, "|u1'", 4) == 0 ? 1 : 0;
    out->data = bytes + start + length;
    return out->element_size && out->count <= (size - start - length) / out->element_size;
}

bool npy_read(const char *path, npy_array *out)
{
    size_t size = 0;
    *out = (npy_array){0};
    if (mts_os_file_read(mts_allocator_default(), path, NPY_FILE_MOST, &out->memory, &size, NULL) !=
        MTS_STATUS_OK) {
        return false;
    }
    if (!parse(out->memory, size, out)) {
        npy_release(out);
        return false;
    }
    return true;
}

void npy_release(npy_array *array)
{
    mts_alloc_free(mts_allocator_default(), array->memory);
    *array = (npy_array){0};
}
