/*
 * archive.c: see archive.h. Positions and names are those of PKWARE's description of zip
 * files: a record at the end tells where the directory lies, each of its entries where a
 * file's header lies, and behind that its bytes.
 */
#include "compiler/import/tflite/archive.h"

#include <stdint.h>
#include <string.h>

#include "base/inflate.h"

enum { END_BYTES = 22, ENTRY_BYTES = 46, HEADER_BYTES = 30, COMMENT_MOST = 65535, STORED = 0, DEFLATED = 8 };

typedef struct archive {
    const unsigned char *data;
    size_t size;
    /* Bytes of other things before the archive, which its positions do not count. */
    size_t before;
    size_t directory, directory_size;
    uint32_t entries;
} archive;

static uint32_t load16(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static uint32_t load32(const unsigned char *at)
{
    return load16(at) | load16(at + 2) << 16;
}

static bool inside(const archive *a, size_t at, size_t bytes)
{
    return at <= a->size && bytes <= a->size - at;
}

/* Looks for the record at the end; false: there is none, the model stands alone. */
static bool find_end(archive *a)
{
    const size_t least = a->size > END_BYTES + COMMENT_MOST ? a->size - END_BYTES - COMMENT_MOST : 0;
    for (size_t at = a->size >= END_BYTES ? a->size - END_BYTES + 1 : 0; at-- > least;) {
        const unsigned char *end = a->data + at;
        if (memcmp(end, "PK\5\6", 4) != 0 || load16(end + 20) != a->size - at - END_BYTES) {
            continue;
        }
        const size_t bytes = load32(end + 12), stated = load32(end + 16);
        a->entries = load16(end + 10);
        a->directory_size = bytes;
        /* the directory ends where this record begins */
        a->directory = bytes <= at ? at - bytes : SIZE_MAX;
        a->before = a->directory >= stated ? a->directory - stated : SIZE_MAX;
        return true;
    }
    return false;
}

static mts_status fail_damaged(mts_error *error)
{
    return mts_fail(error, MTS_STATUS_MALFORMED, "the archive behind the model is damaged");
}

/* The bytes of an entry, unpacked. */
static mts_status unpack(const archive *a, const unsigned char *entry, mts_arena *arena, const char **out,
                         size_t *bytes, mts_error *error)
{
    const uint32_t method = load16(entry + 10);
    const size_t packed = load32(entry + 20), size = load32(entry + 24), stated = load32(entry + 42);
    const size_t header = stated <= a->size ? a->before + stated : SIZE_MAX;
    if (!inside(a, header, HEADER_BYTES) || memcmp(a->data + header, "PK\3\4", 4) != 0) {
        return fail_damaged(error);
    }
    const size_t from = header + HEADER_BYTES + load16(a->data + header + 26) + load16(a->data + header + 28);
    if (!inside(a, from, packed) || (method == STORED && packed != size)) {
        return fail_damaged(error);
    }
    if ((load16(entry + 8) & 1u) || (method != STORED && method != DEFLATED)) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "a file in the archive behind the model is encrypted or packed by method %u", method);
    }
    if (size > MTS_TFLITE_FILE_MOST) {
        return mts_fail(error, MTS_STATUS_LIMIT,
                        "a file in the archive behind the model has %zu bytes, the limit is %zu", size,
                        MTS_TFLITE_FILE_MOST);
    }
    char *text = mts_arena_zero(arena, size + 1, 1);
    if (!text) {
        return mts_fail_memory(error);
    }
    if (method == STORED) {
        memcpy(text, a->data + from, size);
    } else if (!mts_inflate(a->data + from, packed, (unsigned char *)text, size)) {
        return fail_damaged(error);
    }
    *out = text;
    *bytes = size;
    return MTS_STATUS_OK;
}

mts_status mts_tflite_archive_find(const unsigned char *data, size_t size, const char *name, size_t length,
                                   mts_arena *arena, const char **out, size_t *bytes, mts_error *error)
{
    archive a = {.data = data, .size = size};
    *out = NULL;
    *bytes = 0;
    if (!find_end(&a)) {
        return MTS_STATUS_OK;
    }
    if (a.directory == SIZE_MAX || a.before == SIZE_MAX) {
        return fail_damaged(error);
    }
    size_t at = a.directory;
    const size_t end = a.directory + a.directory_size;
    for (uint32_t i = 0; i < a.entries; i++) {
        if (end - at < ENTRY_BYTES || memcmp(data + at, "PK\1\2", 4) != 0) {
            return fail_damaged(error);
        }
        const unsigned char *entry = data + at;
        const size_t named = load16(entry + 28);
        const size_t all = ENTRY_BYTES + named + load16(entry + 30) + load16(entry + 32);
        if (all > end - at) {
            return fail_damaged(error);
        }
        if (named == length && memcmp(entry + ENTRY_BYTES, name, length) == 0) {
            return unpack(&a, entry, arena, out, bytes, error);
        }
        at += all;
    }
    return MTS_STATUS_OK;
}
