/*
 * libFuzzer target: any bytes as a bundle. Checksums are made right first, so that what lies behind them is
 * reached.
 *
 * An archive that opens is walked through: printed, aligned, encoded and read again, which must give the same
 * bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "bundle/format.h"
#include "compiler/emit/bundle.h"
#include "graph/align.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned char *row_of(unsigned char *bytes, uint32_t section)
{
    return bytes + MTS_FORMAT_HEADER + section * MTS_FORMAT_SECTION;
}

/* Records of a section that lie in the file, else none. */
static unsigned char *records_of(unsigned char *bytes, size_t size, uint32_t section, size_t *length)
{
    unsigned char *row = row_of(bytes, section);
    const uint64_t offset = mts_load_u64(row + MTS_SECTION_OFFSET);
    const uint64_t count = mts_load_u64(row + MTS_SECTION_RECORDS);
    const uint64_t stride = mts_load_u32(row + MTS_SECTION_STRIDE);
    const bool inside = stride > 0 && offset <= size && count <= (size - offset) / stride;
    *length = inside ? (size_t)(count * stride) : 0;
    return inside ? bytes + offset : NULL;
}

static void mend_blocks(unsigned char *bytes, size_t size)
{
    size_t length = 0, room = 0;
    unsigned char *blocks = records_of(bytes, size, MTS_FORMAT_BLOCKS, &length);
    const unsigned char *weights = records_of(bytes, size, MTS_FORMAT_WEIGHTS, &room);
    for (size_t at = 0; weights && at + 32 <= length; at += 32) {
        const uint64_t first = mts_load_u64(blocks + at + MTS_BLOCK_OFFSET);
        const uint64_t bytes_of = mts_load_u64(blocks + at + MTS_BLOCK_SIZE);
        if (first <= room && bytes_of <= room - first) {
            mts_store_u64(
                blocks + at + MTS_BLOCK_HASH,
                mts_hash(weights + first, (size_t)bytes_of, mts_load_u32(blocks + at + MTS_BLOCK_DTYPE)));
        }
    }
}

static void mend_checksums(unsigned char *bytes, size_t size)
{
    const size_t table = (size_t)MTS_FORMAT_SECTION * MTS_FORMAT_SECTION_COUNT;
    if (size < MTS_FORMAT_HEADER + table) {
        return;
    }
    mts_store_u64(bytes + MTS_HEADER_SIZE, size);
    mend_blocks(bytes, size);
    for (uint32_t i = 0; i < MTS_FORMAT_SECTION_COUNT; i++) {
        size_t length = 0;
        const unsigned char *records = records_of(bytes, size, i, &length);
        if (records) {
            mts_store_u64(row_of(bytes, i) + MTS_SECTION_HASH, mts_hash(records, length, i));
        }
    }
    const uint64_t hash = mts_hash(bytes, MTS_HEADER_HASH, 0);
    mts_store_u64(bytes + MTS_HEADER_HASH, mts_hash(bytes + MTS_FORMAT_HEADER, table, hash));
}

static void use(const mts_archive *archive)
{
    const mts_allocator *allocator = mts_allocator_default();
    mts_text text;
    mts_text_init(&text, allocator);
    mts_graph_print(archive->tasks[0].graph, &text);
    mts_text_release(&text);
    mts_bundle_bytes again;
    if (mts_bundle_encode(archive, allocator, &again, NULL) == MTS_CODE_OK) {
        /* a file may hold strings in another order; what it makes must be readable, and then stable */
        mts_archive *copy = NULL;
        mts_bundle_bytes third;
        if (mts_archive_read(again.data, again.size, "again", NULL, allocator, &copy, NULL) != MTS_CODE_OK ||
            mts_bundle_encode(copy, allocator, &third, NULL) != MTS_CODE_OK || third.size != again.size ||
            memcmp(third.data, again.data, third.size) != 0) {
            abort(); /* a finding */
        }
        mts_bundle_bytes_release(&third);
        mts_archive_destroy(&copy);
        mts_bundle_bytes_release(&again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *bytes = NULL;
    if (size > ((size_t)1 << 20) || posix_memalign(&bytes, 64, size ? size : 1) != 0) {
        return 0;
    }
    memcpy(bytes, data, size);
    mend_checksums(bytes, size);
    mts_archive *archive = NULL;
    mts_error error;
    if (mts_archive_read(bytes, size, "fuzz", NULL, mts_allocator_default(), &archive, &error) ==
        MTS_CODE_OK) {
        use(archive);
    }
    mts_archive_destroy(&archive);
    free(bytes);
    return 0;
}
