/*
 * read_blocks.c: the weight blocks of a bundle; their bytes stay where they are.
 */
#include "bundle/reader.h"

#include "base/hash.h"
#include "base/size.h"

static mts_status read_block(mts_reader *reader, const unsigned char *record, size_t *end, mts_block *out)
{
    const mts_section *weights = &reader->sections.at[MTS_FORMAT_WEIGHTS];
    const uint64_t offset = mts_load_u64(record + MTS_BLOCK_OFFSET);
    const uint64_t size = mts_load_u64(record + MTS_BLOCK_SIZE);
    size_t first = 0, last = 0;
    if (!mts_size_align(*end, MTS_FORMAT_ALIGN, &first) || offset != first || size == 0 ||
        size > weights->count || !mts_size_add(first, (size_t)size, &last) || last > weights->count) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED,
                        "offset %llu and size %llu do not fit the weights", (unsigned long long)offset,
                        (unsigned long long)size);
    }
    mts_status status = mts_reader_dtype(reader, record + MTS_BLOCK_DTYPE, &out->dtype);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (mts_load_u32(record + MTS_BLOCK_RESERVED) != 0 ||
        !mts_bytes_zero(weights->data + *end, first - *end)) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED, "unused bytes are not zero");
    }
    out->data = weights->data + first;
    out->size = (size_t)size;
    out->hash = mts_load_u64(record + MTS_BLOCK_HASH);
    if (mts_hash(out->data, out->size, out->dtype) != out->hash) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED, "wrong checksum");
    }
    *end = last;
    return MTS_STATUS_OK;
}

mts_status mts_reader_blocks(mts_reader *reader)
{
    const mts_section *section = &reader->sections.at[MTS_FORMAT_BLOCKS];
    mts_archive *archive = reader->archive;
    if (section->count > reader->limits->blocks) {
        return mts_fail(reader->error, MTS_STATUS_LIMIT, "%zu blocks, the limit is %u", section->count,
                        reader->limits->blocks);
    }
    archive->blocks = mts_arena_zero(&archive->arena, section->count, sizeof(*archive->blocks));
    if (!archive->blocks) {
        return mts_fail_memory(reader->error);
    }
    const size_t stride = mts_section_stride(MTS_FORMAT_BLOCKS);
    size_t end = 0;
    for (size_t i = 0; i < section->count; i++) {
        mts_status status = read_block(reader, section->data + i * stride, &end, &archive->blocks[i]);
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(reader->error, status, "block %zu", i);
        }
    }
    archive->block_count = (uint32_t)section->count;
    if (end != reader->sections.at[MTS_FORMAT_WEIGHTS].count) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED, "bytes follow the last block");
    }
    return MTS_STATUS_OK;
}
