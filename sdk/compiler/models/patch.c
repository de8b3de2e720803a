/*
 * patch.c: see patch.h.
 */
#include "compiler/models/patch.h"

#include "base/hash.h"
#include "base/size.h"
#include "bundle/sections.h"
#include "compiler/models/patch_format.h"

#define SECTIONS MTS_FORMAT_SECTION_COUNT

static const size_t table_size = (size_t)MTS_FORMAT_SECTION * SECTIONS;

/* What a patch says of one section. */
typedef struct piece {
    size_t kept, added;
    const unsigned char *from; /* the added bytes */
    uint32_t stride;
} piece;

bool mts_patch_is(const void *bytes, size_t size)
{
    return size >= MTS_FORMAT_MAGIC_SIZE && memcmp(bytes, MTS_PATCH_MAGIC, MTS_FORMAT_MAGIC_SIZE) == 0;
}

static mts_status open_bundle(const mts_patch_file *file, mts_sections *out, mts_error *error)
{
    const mts_status status = mts_sections_open(file->data, file->size, out, error);
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "%s", file->name);
}

static size_t bytes_of(const mts_section *section)
{
    return section->count * section->stride;
}

/* `size` zeros at a multiple of 64. */
static bool make_room(const mts_allocator *allocator, size_t size, mts_bundle_bytes *out)
{
    size_t room = 0;
    *out = (mts_bundle_bytes){.allocator = allocator};
    if (!mts_size_add(size, MTS_FORMAT_ALIGN, &room)) {
        return false;
    }
    out->memory = mts_alloc_zero(allocator, room, 1);
    if (!out->memory) {
        return false;
    }
    const size_t skew = (uintptr_t)out->memory % MTS_FORMAT_ALIGN;
    out->data = (unsigned char *)out->memory + (skew ? MTS_FORMAT_ALIGN - skew : 0);
    out->size = size;
    return true;
}

/* The next range of `length` bytes at a multiple of 64 from *end on. */
static bool place(size_t length, size_t *end, size_t *first)
{
    return mts_size_align(*end, MTS_FORMAT_ALIGN, first) && mts_size_add(*first, length, end);
}

static void seal(unsigned char *file, size_t hash_at)
{
    const uint64_t hash = mts_hash(file, hash_at, 0);
    mts_store_u64(file + hash_at, mts_hash(file + MTS_FORMAT_HEADER, table_size, hash));
}

/* ---- making ---- */

static size_t common_bytes(const mts_section *a, const mts_section *b)
{
    const size_t most = bytes_of(a) < bytes_of(b) ? bytes_of(a) : bytes_of(b);
    size_t same = 0;
    if (memcmp(a->data, b->data, most) == 0) {
        return most;
    }
    while (a->data[same] == b->data[same]) {
        same++;
    }
    return same;
}

static void find_pieces(const mts_sections *base, const mts_sections *result, piece *pieces)
{
    for (size_t i = 0; i < SECTIONS; i++) {
        const mts_section *section = &result->at[i];
        const size_t kept = common_bytes(&base->at[i], section);
        pieces[i] = (piece){.kept = kept,
                            .added = bytes_of(section) - kept,
                            .from = section->data + kept,
                            .stride = (uint32_t)section->stride};
    }
}

static void fill_patch(const piece *pieces, unsigned char *file)
{
    size_t end = MTS_FORMAT_HEADER + table_size;
    for (size_t i = 0; i < SECTIONS; i++) {
        unsigned char *row = file + MTS_FORMAT_HEADER + i * MTS_FORMAT_SECTION;
        size_t first = 0;
        (void)place(pieces[i].added, &end, &first); /* it was counted before */
        memcpy(file + first, pieces[i].from, pieces[i].added);
        mts_store_u32(row + MTS_PATCH_KIND, (uint32_t)i);
        mts_store_u32(row + MTS_PATCH_STRIDE, pieces[i].stride);
        mts_store_u64(row + MTS_PATCH_KEPT, pieces[i].kept);
        mts_store_u64(row + MTS_PATCH_ADDED, pieces[i].added);
        mts_store_u64(row + MTS_PATCH_SUM, mts_hash(pieces[i].from, pieces[i].added, i));
    }
}

mts_status mts_patch_make(const mts_patch_file *base, const mts_patch_file *result,
                          const mts_allocator *allocator, mts_bundle_bytes *out, uint64_t *kept,
                          mts_error *error)
{
    mts_sections from;
    mts_sections to;
    piece pieces[SECTIONS];
    size_t size = MTS_FORMAT_HEADER + table_size;
    *out = (mts_bundle_bytes){.allocator = allocator};
    mts_status status = open_bundle(base, &from, error);
    MTS_TRY(status, open_bundle(result, &to, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    find_pieces(&from, &to, pieces);
    bool fits = true;
    uint64_t stays = 0;
    for (size_t i = 0; fits && i < SECTIONS; i++) {
        size_t first = 0;
        fits = place(pieces[i].added, &size, &first);
        stays += pieces[i].kept;
    }
    if (!fits || !make_room(allocator, size, out)) {
        return mts_fail_memory(error);
    }
    unsigned char *file = out->data;
    memcpy(file, MTS_PATCH_MAGIC, MTS_FORMAT_MAGIC_SIZE);
    mts_store_u32(file + MTS_PATCH_VERSION_AT, MTS_PATCH_VERSION);
    mts_store_u32(file + MTS_PATCH_ENDIAN, MTS_FORMAT_ENDIAN);
    mts_store_u64(file + MTS_PATCH_SIZE, size);
    mts_store_u64(file + MTS_PATCH_BASE, from.hash);
    mts_store_u64(file + MTS_PATCH_RESULT, to.hash);
    mts_store_u64(file + MTS_PATCH_RESULT_SIZE, result->size);
    mts_store_u32(file + MTS_PATCH_SECTIONS, SECTIONS);
    mts_store_u32(file + MTS_PATCH_RESULT_VERSION, mts_load_u32(result->data + MTS_HEADER_VERSION));
    fill_patch(pieces, file);
    seal(file, MTS_PATCH_HASH);
    if (kept) {
        *kept = stays;
    }
    return MTS_STATUS_OK;
}

/* ---- applying ---- */

static mts_status check_header(const mts_patch_file *patch, mts_error *error)
{
    const unsigned char *bytes = patch->data;
    if (!mts_patch_is(bytes, patch->size)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "not a patch (no MTSP signature)");
    }
    if (patch->size < MTS_FORMAT_HEADER + table_size) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "cut off within the header (%zu bytes)", patch->size);
    }
    const uint32_t version = mts_load_u32(bytes + MTS_PATCH_VERSION_AT);
    if (version != MTS_PATCH_VERSION) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "patch version %u; this library reads version %u",
                        version, MTS_PATCH_VERSION);
    }
    uint64_t hash = mts_hash(bytes, MTS_PATCH_HASH, 0);
    hash = mts_hash(bytes + MTS_FORMAT_HEADER, table_size, hash);
    if (hash != mts_load_u64(bytes + MTS_PATCH_HASH)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "wrong checksum of the header");
    }
    const uint64_t stated = mts_load_u64(bytes + MTS_PATCH_SIZE);
    if (stated != patch->size) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "%zu bytes long, but the header says %llu", patch->size,
                        (unsigned long long)stated);
    }
    const uint32_t made = mts_load_u32(bytes + MTS_PATCH_RESULT_VERSION);
    if (mts_load_u32(bytes + MTS_PATCH_ENDIAN) != MTS_FORMAT_ENDIAN ||
        mts_load_u32(bytes + MTS_PATCH_SECTIONS) != SECTIONS || made < MTS_FORMAT_VERSION_FIRST ||
        made > MTS_FORMAT_VERSION) {
        return mts_fail(error, MTS_STATUS_MALFORMED,
                        "unknown byte order mark, sections or version of the result");
    }
    return MTS_STATUS_OK;
}

/* One row; *end is where the added bytes of the section before end, *made where the result's
   section before does. */
static mts_status read_piece(const mts_patch_file *patch, const mts_section *base, size_t index, size_t *end,
                             size_t *made, piece *out, mts_error *error)
{
    const unsigned char *row = patch->data + MTS_FORMAT_HEADER + index * MTS_FORMAT_SECTION;
    const uint64_t kept = mts_load_u64(row + MTS_PATCH_KEPT);
    const uint64_t added = mts_load_u64(row + MTS_PATCH_ADDED);
    const size_t before = *end;
    size_t first = 0;
    size_t at = 0;
    size_t length = 0;
    *out = (piece){.stride = mts_load_u32(row + MTS_PATCH_STRIDE)};
    if (mts_load_u32(row + MTS_PATCH_KIND) != index || out->stride == 0) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "row %zu of its table is not that of section %zu", index,
                        index);
    }
    if (kept > bytes_of(base)) {
        return mts_fail(error, MTS_STATUS_MALFORMED,
                        "section %zu keeps %llu bytes of the base, which has %zu", index,
                        (unsigned long long)kept, bytes_of(base));
    }
    if (added > patch->size || !place((size_t)added, end, &first) || *end > patch->size ||
        !mts_size_add((size_t)kept, (size_t)added, &length) || !place(length, made, &at)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "the %llu bytes that it adds to section %zu do not fit",
                        (unsigned long long)added, index);
    }
    if (length % out->stride != 0 || !mts_bytes_zero(patch->data + before, first - before)) {
        return mts_fail(error, MTS_STATUS_MALFORMED,
                        "section %zu has no whole records, or unused bytes before it are not zero", index);
    }
    if (mts_hash(patch->data + first, (size_t)added, index) != mts_load_u64(row + MTS_PATCH_SUM)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "wrong checksum of what it adds to section %zu", index);
    }
    out->kept = (size_t)kept;
    out->added = (size_t)added;
    out->from = patch->data + first;
    return MTS_STATUS_OK;
}

static mts_status read_patch(const mts_patch_file *patch, const mts_sections *base, piece *pieces,
                             mts_error *error)
{
    size_t end = MTS_FORMAT_HEADER + table_size;
    size_t made = end;
    mts_status status = check_header(patch, error);
    if (status == MTS_STATUS_OK && mts_load_u64(patch->data + MTS_PATCH_BASE) != base->hash) {
        status = mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                          "it was made for a bundle with hash %016llx, this one has %016llx",
                          (unsigned long long)mts_load_u64(patch->data + MTS_PATCH_BASE),
                          (unsigned long long)base->hash);
    }
    for (size_t i = 0; status == MTS_STATUS_OK && i < SECTIONS; i++) {
        status = read_piece(patch, &base->at[i], i, &end, &made, &pieces[i], error);
    }
    if (status == MTS_STATUS_OK && end != patch->size) {
        status =
            mts_fail(error, MTS_STATUS_MALFORMED, "%zu bytes follow its last section", patch->size - end);
    }
    if (status == MTS_STATUS_OK && made != mts_load_u64(patch->data + MTS_PATCH_RESULT_SIZE)) {
        status =
            mts_fail(error, MTS_STATUS_MALFORMED, "its sections make %zu bytes, but the header says %llu",
                     made, (unsigned long long)mts_load_u64(patch->data + MTS_PATCH_RESULT_SIZE));
    }
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "%s", patch->name);
}

static void fill_result(const mts_sections *base, const piece *pieces, uint32_t version,
                        mts_bundle_bytes *out)
{
    unsigned char *file = out->data;
    size_t end = MTS_FORMAT_HEADER + table_size;
    for (size_t i = 0; i < SECTIONS; i++) {
        unsigned char *row = file + MTS_FORMAT_HEADER + i * MTS_FORMAT_SECTION;
        const size_t length = pieces[i].kept + pieces[i].added;
        size_t first = 0;
        (void)place(length, &end, &first); /* it was counted before */
        memcpy(file + first, base->at[i].data, pieces[i].kept);
        memcpy(file + first + pieces[i].kept, pieces[i].from, pieces[i].added);
        mts_store_u32(row + MTS_SECTION_KIND, (uint32_t)i);
        mts_store_u32(row + MTS_SECTION_STRIDE, pieces[i].stride);
        mts_store_u64(row + MTS_SECTION_OFFSET, first);
        mts_store_u64(row + MTS_SECTION_RECORDS, length / pieces[i].stride);
        mts_store_u64(row + MTS_SECTION_HASH, mts_hash(file + first, length, i));
    }
    memcpy(file, MTS_FORMAT_MAGIC, MTS_FORMAT_MAGIC_SIZE);
    mts_store_u32(file + MTS_HEADER_VERSION, version);
    mts_store_u32(file + MTS_HEADER_ENDIAN, MTS_FORMAT_ENDIAN);
    mts_store_u64(file + MTS_HEADER_SIZE, out->size);
    mts_store_u32(file + MTS_HEADER_SECTIONS, SECTIONS);
    seal(file, MTS_HEADER_HASH);
}

/* As every bundle is: the patch may have been made to say anything. */
static mts_status check_result(const mts_bundle_bytes *made, const mts_patch_file *patch,
                               const mts_allocator *allocator, mts_error *error)
{
    mts_archive *archive = NULL;
    mts_status status =
        mts_archive_read(made->data, made->size, "the result", NULL, allocator, &archive, error);
    mts_archive_destroy(&archive);
    if (status == MTS_STATUS_OK &&
        mts_load_u64(made->data + MTS_HEADER_HASH) != mts_load_u64(patch->data + MTS_PATCH_RESULT)) {
        status = mts_fail(error, MTS_STATUS_MALFORMED, "what it makes is not what its header says");
    }
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "%s", patch->name);
}

mts_status mts_patch_apply(const mts_patch_file *base, const mts_patch_file *patch,
                           const mts_allocator *allocator, mts_bundle_bytes *out, mts_error *error)
{
    mts_sections from;
    piece pieces[SECTIONS];
    *out = (mts_bundle_bytes){.allocator = allocator};
    mts_status status = open_bundle(base, &from, error);
    MTS_TRY(status, read_patch(patch, &from, pieces, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const size_t size = (size_t)mts_load_u64(patch->data + MTS_PATCH_RESULT_SIZE);
    if (!make_room(allocator, size, out)) {
        return mts_fail_memory(error);
    }
    fill_result(&from, pieces, mts_load_u32(patch->data + MTS_PATCH_RESULT_VERSION), out);
    status = check_result(out, patch, allocator, error);
    if (status != MTS_STATUS_OK) {
        mts_bundle_bytes_release(out);
    }
    return status;
}
