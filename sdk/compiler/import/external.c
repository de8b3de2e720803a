/*
 * external.c: reads the entries of a tensor with external data, and keeps the files that
 * they name mapped.
 */
#include "compiler/import/external.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

#define FILES_MOST 4096u /* exporters write one file, or one per tensor */

typedef struct data_file {
    const char *name;
    mts_os_map map;
} data_file;

typedef struct data_range {
    uint32_t file;
    uint64_t offset, size;
} data_range;

struct mts_external {
    const mts_allocator *allocator;
    mts_arena arena; /* names, files, ranges */
    const char *folder;
    size_t bytes_most, bytes_left, copies_left;
    data_file *files;
    uint32_t file_count;
    size_t file_capacity;
    data_range *ranges;
    uint32_t range_count;
    size_t range_capacity;
};

/* What the entries of a tensor say. */
typedef struct place {
    const char *location;
    uint64_t offset, length;
    bool has_offset, has_length;
} place;

mts_status mts_external_create(const mts_allocator *allocator, const char *model_path, size_t bytes_most,
                               mts_external **out, mts_error *error)
{
    *out = NULL;
    mts_external *external = mts_alloc_zero(allocator, 1, sizeof *external);
    if (!external) {
        return mts_fail_memory(error);
    }
    external->allocator = allocator;
    external->bytes_most = external->bytes_left = external->copies_left = bytes_most;
    mts_arena_init(&external->arena, allocator);
    char *folder = (char *)mts_arena_string(&external->arena, model_path);
    if (!folder) {
        mts_external_destroy(&external);
        return mts_fail_memory(error);
    }
    char *slash = strrchr(folder, '/');
    if (slash) {
        slash[slash == folder ? 1 : 0] = '\0';
    }
    external->folder = slash ? folder : ".";
    *out = external;
    return MTS_STATUS_OK;
}

void mts_external_destroy(mts_external **external)
{
    if (!external || !*external) {
        return;
    }
    mts_external *self = *external;
    *external = NULL;
    for (uint32_t i = 0; i < self->file_count; i++) {
        mts_os_unmap(&self->files[i].map);
    }
    mts_alloc_free(self->allocator, self->files);
    mts_alloc_free(self->allocator, self->ranges);
    mts_arena_release(&self->arena);
    mts_alloc_free(self->allocator, self);
}

size_t mts_external_bytes(const mts_external *external)
{
    return external ? external->bytes_most - external->bytes_left : 0;
}

bool mts_external_is(const Onnx__TensorProto *tensor)
{
    return tensor->n_external_data > 0 ||
           (tensor->has_data_location && tensor->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__DEFAULT);
}

/* Digits only: a sign, a space or an overflow is no number. */
static bool read_number(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    if (!*text) {
        return false;
    }
    for (; *text; text++) {
        const uint64_t digit = (uint64_t)(*text - '0');
        if (*text < '0' || *text > '9' || value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

static mts_status read_entry(const Onnx__StringStringEntryProto *entry, place *where, mts_error *error)
{
    const char *key = entry->key ? entry->key : "";
    const char *value = entry->value ? entry->value : "";
    const bool is_offset = strcmp(key, "offset") == 0;
    if (strcmp(key, "location") == 0 && !where->location) {
        where->location = value;
        return MTS_STATUS_OK;
    }
    if (strcmp(key, "checksum") == 0) { /* of the whole file; informative, as the specification says */
        return MTS_STATUS_OK;
    }
    bool *has = is_offset ? &where->has_offset : &where->has_length;
    if ((!is_offset && strcmp(key, "length") != 0) || *has) {
        return mts_fail(error, MTS_STATUS_MALFORMED,
                        "its external data has an unknown or repeated entry '%s'", key);
    }
    *has = true;
    if (!read_number(value, is_offset ? &where->offset : &where->length)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "its external data has the %s '%s', which is no number",
                        key, value);
    }
    return MTS_STATUS_OK;
}

static mts_status open_file(mts_external *self, const char *name, uint32_t *out, mts_error *error)
{
    for (uint32_t i = self->file_count; i-- > 0;) { /* mostly that of the tensor before */
        if (strcmp(self->files[i].name, name) == 0) {
            *out = i;
            return MTS_STATUS_OK;
        }
    }
    if (self->file_count == FILES_MOST) {
        return mts_fail(error, MTS_STATUS_LIMIT, "its external data is in more than %u files", FILES_MOST);
    }
    data_file file = {.name = mts_arena_string(&self->arena, name)};
    if (!file.name || !mts_alloc_grow(self->allocator, (void **)&self->files, &self->file_capacity,
                                      self->file_count + 1u, sizeof *self->files)) {
        return mts_fail_memory(error);
    }
    mts_status status = mts_os_map_beneath(self->folder, name, &file.map, error);
    if (status == MTS_STATUS_OK && file.map.size > self->bytes_left) {
        status = mts_fail(error, MTS_STATUS_LIMIT, "%s: %zu bytes, the limit has %zu left", name,
                          file.map.size, self->bytes_left);
        mts_os_unmap(&file.map);
    }
    if (status == MTS_STATUS_OK) {
        self->bytes_left -= file.map.size;
        *out = self->file_count;
        self->files[self->file_count++] = file;
    }
    return status;
}

static mts_status add_range(mts_external *self, uint32_t file, uint64_t offset, uint64_t size,
                            mts_error *error)
{
    if (!mts_alloc_grow(self->allocator, (void **)&self->ranges, &self->range_capacity,
                        self->range_count + 1u, sizeof *self->ranges)) {
        return mts_fail_memory(error);
    }
    self->ranges[self->range_count++] = (data_range){.file = file, .offset = offset, .size = size};
    return MTS_STATUS_OK;
}

static int compare_ranges(const void *one, const void *other)
{
    const data_range *a = one, *b = other;
    return mts_order(MTS_COMPARE(a->file, b->file),
                     mts_order(MTS_COMPARE(a->offset, b->offset), MTS_COMPARE(a->size, b->size)));
}

mts_status mts_external_count_copy(mts_external *external, size_t bytes, mts_error *error)
{
    if (!external) {
        return MTS_STATUS_OK;
    }
    if (bytes > external->copies_left) {
        return mts_fail(error, MTS_STATUS_LIMIT,
                        "copies of its external data take more than the limit of the files' bytes");
    }
    external->copies_left -= bytes;
    return MTS_STATUS_OK;
}

/* Tied weights name one range twice; other overlaps only occur in files that were made to
   confuse. */
mts_status mts_external_check(mts_external *external, mts_error *error)
{
    if (!external || external->range_count < 2) {
        return MTS_STATUS_OK;
    }
    qsort(external->ranges, external->range_count, sizeof *external->ranges, compare_ranges);
    for (uint32_t i = 1; i < external->range_count; i++) {
        const data_range *before = &external->ranges[i - 1];
        const data_range *range = &external->ranges[i];
        if (compare_ranges(before, range) != 0 && before->file == range->file &&
            range->offset - before->offset < before->size) {
            return mts_fail(error, MTS_STATUS_MALFORMED,
                            "%s: the external data of two tensors overlaps at offset %llu",
                            external->files[range->file].name, (unsigned long long)range->offset);
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_external_find(mts_external *external, const Onnx__TensorProto *tensor, size_t size,
                             const void **data, mts_error *error)
{
    place where = {0};
    uint32_t file = 0;
    mts_status status = MTS_STATUS_OK;
    *data = NULL;
    if (!external) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "it lies in another file (external data), and a model in memory has no folder");
    }
    for (size_t i = 0; status == MTS_STATUS_OK && i < tensor->n_external_data; i++) {
        status = read_entry(tensor->external_data[i], &where, error);
    }
    if (status == MTS_STATUS_OK && !where.location) {
        status = mts_fail(error, MTS_STATUS_MALFORMED, "its external data has no location");
    }
    MTS_TRY(status, open_file(external, where.location, &file, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const mts_os_map *map = &external->files[file].map;
    if (where.offset > map->size || size > map->size - where.offset ||
        (where.has_length && where.length != size)) {
        return mts_fail(
            error, MTS_STATUS_MALFORMED,
            "its shape needs %zu bytes; its external data is %llu bytes at offset %llu of a file of %zu",
            size, (unsigned long long)(where.has_length ? where.length : size),
            (unsigned long long)where.offset, map->size);
    }
    if (size > 0) {
        status = add_range(external, file, where.offset, size, error);
    }
    if (status == MTS_STATUS_OK) {
        *data = map->data + where.offset;
    }
    return status;
}
