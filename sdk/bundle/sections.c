/*
 * sections.c: see sections.h.
 */
#include "bundle/sections.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/size.h"
#include "base/utf8.h"

typedef struct section_row {
    const char *name;
    uint32_t stride;
} section_row;

static const section_row rows[MTS_FORMAT_SECTION_COUNT] = {
#define SECTION_ROW(NAME, text, stride) {text, stride},
    MTS_FORMAT_SECTIONS(SECTION_ROW)
#undef SECTION_ROW
};

static const size_t table_size = (size_t)MTS_FORMAT_SECTION * MTS_FORMAT_SECTION_COUNT;

static mts_status check_header(const unsigned char *bytes, size_t size, mts_error *error)
{
    if (size < MTS_FORMAT_MAGIC_SIZE || memcmp(bytes, MTS_FORMAT_MAGIC, MTS_FORMAT_MAGIC_SIZE) != 0) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "not a bundle (no MTSB signature)");
    }
    if (size < MTS_FORMAT_HEADER + table_size) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "cut off within the header (%zu bytes)", size);
    }
    const uint32_t version = mts_load_u32(bytes + MTS_HEADER_VERSION);
    if (version < MTS_FORMAT_VERSION_FIRST || version > MTS_FORMAT_VERSION) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED,
                        "bundle version %u; this library reads versions %u to %u", version,
                        MTS_FORMAT_VERSION_FIRST, MTS_FORMAT_VERSION);
    }
    uint32_t native = 0;
    memcpy(&native, bytes + MTS_HEADER_ENDIAN, sizeof(native));
    if (mts_load_u32(bytes + MTS_HEADER_ENDIAN) != MTS_FORMAT_ENDIAN) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "wrong byte order mark");
    }
    if (native != MTS_FORMAT_ENDIAN) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "bundles are little-endian, this machine is not");
    }
    uint64_t hash = mts_hash(bytes, MTS_HEADER_HASH, 0);
    hash = mts_hash(bytes + MTS_FORMAT_HEADER, table_size, hash);
    if (hash != mts_load_u64(bytes + MTS_HEADER_HASH)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "wrong checksum of the header");
    }
    const uint64_t stated = mts_load_u64(bytes + MTS_HEADER_SIZE);
    if (stated != size) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "%zu bytes long, but the header says %llu", size,
                        (unsigned long long)stated);
    }
    if (mts_load_u32(bytes + MTS_HEADER_SECTIONS) != MTS_FORMAT_SECTION_COUNT ||
        !mts_bytes_zero(bytes + MTS_HEADER_RESERVED, MTS_HEADER_HASH - MTS_HEADER_RESERVED)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "unknown sections");
    }
    return MTS_STATUS_OK;
}

static uint32_t stride_in(uint32_t version, size_t section)
{
    return section == MTS_FORMAT_TASKS && version == MTS_FORMAT_VERSION_FIRST ? MTS_FORMAT_TASK_FIRST
                                                                              : rows[section].stride;
}

/* Sections lie in order, each at the next multiple of 64, with zeros between: nothing can
   overlap or hide. */
static mts_status open_section(const unsigned char *bytes, size_t size, size_t index, size_t *end,
                               mts_section *out, mts_error *error)
{
    const unsigned char *row = bytes + MTS_FORMAT_HEADER + index * MTS_FORMAT_SECTION;
    const char *name = rows[index].name;
    const uint32_t stride = stride_in(mts_load_u32(bytes + MTS_HEADER_VERSION), index);
    const uint64_t offset = mts_load_u64(row + MTS_SECTION_OFFSET);
    const uint64_t count = mts_load_u64(row + MTS_SECTION_RECORDS);
    size_t first = 0, length = 0, last = 0;
    if (mts_load_u32(row + MTS_SECTION_KIND) != index || mts_load_u32(row + MTS_SECTION_STRIDE) != stride) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "section %zu is not '%s' with records of %u bytes",
                        index, name, stride);
    }
    if (!mts_size_align(*end, MTS_FORMAT_ALIGN, &first) || offset != first || count > size ||
        !mts_size_mul((size_t)count, stride, &length) || !mts_size_add(first, length, &last) || last > size) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "section '%s' (offset %llu, %llu records) does not fit",
                        name, (unsigned long long)offset, (unsigned long long)count);
    }
    if (!mts_bytes_zero(bytes + *end, first - *end)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "unused bytes before section '%s' are not zero", name);
    }
    if (mts_hash(bytes + first, length, index) != mts_load_u64(row + MTS_SECTION_HASH)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "wrong checksum of section '%s'", name);
    }
    *out = (mts_section){.data = bytes + first, .count = (size_t)count, .stride = stride};
    *end = last;
    return MTS_STATUS_OK;
}

/* Text for people goes to terminals and JSON, so control bytes are refused besides broken
   UTF-8. */
static mts_status check_strings(const mts_section *strings, mts_error *error)
{
    if (strings->count == 0 || strings->data[strings->count - 1] != 0) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "the strings are not terminated");
    }
    for (size_t i = 0; i < strings->count;) {
        const bool end = strings->data[i] == 0;
        const size_t length = end ? 1 : mts_utf8_text(strings->data + i, strings->count - i);
        if (length == 0) {
            return mts_fail(error, MTS_STATUS_MALFORMED, "byte %zu of the strings is not text", i);
        }
        i += length;
    }
    return MTS_STATUS_OK;
}

size_t mts_section_stride(mts_format_section section)
{
    return rows[section].stride;
}

mts_status mts_sections_open(const unsigned char *bytes, size_t size, mts_sections *out, mts_error *error)
{
    mts_status status = check_header(bytes, size, error);
    size_t end = MTS_FORMAT_HEADER + table_size;
    for (size_t i = 0; i < MTS_FORMAT_SECTION_COUNT && status == MTS_STATUS_OK; i++) {
        status = open_section(bytes, size, i, &end, &out->at[i], error);
    }
    if (status == MTS_STATUS_OK && end != size) {
        status = mts_fail(error, MTS_STATUS_MALFORMED, "%zu bytes follow the last section", size - end);
    }
    MTS_TRY(status, check_strings(&out->at[MTS_FORMAT_STRINGS], error));
    if (status == MTS_STATUS_OK) {
        out->hash = mts_load_u64(bytes + MTS_HEADER_HASH);
    }
    return status;
}

mts_section_cursor mts_section_walk(const mts_sections *sections, mts_format_section section)
{
    return (mts_section_cursor){.data = sections->at[section].data,
                                .left = sections->at[section].count,
                                .stride = sections->at[section].stride,
                                .name = rows[section].name};
}

mts_status mts_section_take(mts_section_cursor *cursor, size_t count, const unsigned char **records,
                            mts_error *error)
{
    if (count > cursor->left) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "section '%s' ends early: %zu records wanted, %zu left",
                        cursor->name, count, cursor->left);
    }
    MTS_CHECK(cursor->stride > 0);
    *records = cursor->data;
    cursor->data += count * cursor->stride;
    cursor->left -= count;
    return MTS_STATUS_OK;
}

mts_status mts_section_end(const mts_section_cursor *cursor, mts_error *error)
{
    if (cursor->left != 0) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "%zu records of section '%s' belong to nothing",
                        cursor->left, cursor->name);
    }
    return MTS_STATUS_OK;
}

bool mts_bytes_zero(const unsigned char *bytes, size_t size)
{
    unsigned char any = 0;
    for (size_t i = 0; i < size; i++) {
        any |= bytes[i];
    }
    return any == 0;
}

mts_status mts_section_string(const mts_sections *sections, uint32_t offset, const char **out,
                              mts_error *error)
{
    const mts_section *strings = &sections->at[MTS_FORMAT_STRINGS];
    if (offset >= strings->count || (offset > 0 && strings->data[offset - 1] != 0)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "no string begins at %u", offset);
    }
    *out = (const char *)strings->data + offset;
    return MTS_STATUS_OK;
}
