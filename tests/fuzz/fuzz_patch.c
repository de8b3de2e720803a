/*
 * libFuzzer target: any bytes as a patch of a small bundle. Checksums, the base's hash and the sizes are made
 * right first, so that what lies behind them is reached.
 *
 * What a patch makes has been read as a bundle; it must be one that is read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "bundle/sections.h"
#include "compiler/models/patch.h"
#include "compiler/models/patch_format.h"
#include "compiler/passes/discover.h"
#include "support/sample_archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const mts_bundle_bytes *base_bytes(void)
{
    static mts_bundle_bytes bytes; /* one for all inputs */
    if (!bytes.data) {
        const mts_allocator *allocator = mts_allocator_default();
        const mts_discover_options options = {.tolerance = 0};
        mts_discover_report report = {0};
        mts_archive *archive = mts_sample_archive(allocator);
        if (!archive || mts_discover(archive, &options, &report, NULL) != MTS_STATUS_OK ||
            mts_bundle_encode(archive, allocator, &bytes, NULL) != MTS_STATUS_OK) {
            abort();
        }
        mts_archive_destroy(&archive);
    }
    return &bytes;
}

/* The checksums of what the rows add, and the size of what they make. */
static void mend(unsigned char *patch, size_t size, const mts_bundle_bytes *base)
{
    const size_t table = (size_t)MTS_FORMAT_SECTION * MTS_FORMAT_SECTION_COUNT;
    size_t end = MTS_FORMAT_HEADER + table;
    uint64_t made = end;
    if (size < end) {
        return;
    }
    memcpy(patch, MTS_PATCH_MAGIC, MTS_FORMAT_MAGIC_SIZE);
    mts_store_u64(patch + MTS_PATCH_SIZE, size);
    mts_store_u64(patch + MTS_PATCH_BASE, mts_load_u64(base->data + MTS_HEADER_HASH));
    for (size_t i = 0; i < MTS_FORMAT_SECTION_COUNT; i++) {
        unsigned char *row = patch + MTS_FORMAT_HEADER + i * MTS_FORMAT_SECTION;
        const size_t first = (end + 63) / 64 * 64;
        const uint64_t added = mts_load_u64(row + MTS_PATCH_ADDED);
        if (first <= size && added <= size - first) {
            mts_store_u64(row + MTS_PATCH_SUM, mts_hash(patch + first, (size_t)added, i));
            end = first + (size_t)added;
        }
        made = (made + 63) / 64 * 64 + mts_load_u64(row + MTS_PATCH_KEPT) + added;
    }
    mts_store_u64(patch + MTS_PATCH_RESULT_SIZE, made);
    const uint64_t hash = mts_hash(patch, MTS_PATCH_HASH, 0);
    mts_store_u64(patch + MTS_PATCH_HASH, mts_hash(patch + MTS_FORMAT_HEADER, table, hash));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const mts_bundle_bytes *base = base_bytes();
    const mts_patch_file from = {base->data, base->size, "base"};
    void *bytes = NULL;
    mts_bundle_bytes made;
    mts_error error;
    if (size > ((size_t)1 << 20) || posix_memalign(&bytes, 64, size ? size : 1) != 0) {
        return 0;
    }
    memcpy(bytes, data, size);
    mend(bytes, size, base);
    const mts_patch_file patch = {bytes, size, "fuzz"};
    if (mts_patch_apply(&from, &patch, mts_allocator_default(), &made, &error) == MTS_STATUS_OK) {
        mts_archive *archive = NULL;
        if (mts_archive_read(made.data, made.size, "made", NULL, mts_allocator_default(), &archive, NULL) !=
            MTS_STATUS_OK) {
            abort(); /* a finding */
        }
        mts_archive_destroy(&archive);
    }
    mts_bundle_bytes_release(&made);
    free(bytes);
    return 0;
}
