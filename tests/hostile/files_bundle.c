/*
 * files_bundle.c: bundles of which one number is hostile, with checksums that are right, so that what lies behind them is
 * reached. The sample holds a bit of everything that a bundle can have.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "bundle/format.h"
#include "compiler/models/bundle.h"
#include "compiler/passes/discover.h"
#include "hostile/files.h"
#include "support/sample_archive.h"

#define WHOLE MTS_FORMAT_SECTION_COUNT /* the header instead of a section */

typedef struct bundle_row {
    const char *class, *name, *origin;
    uint32_t section, record, field, bytes;
    uint64_t number;
} bundle_row;

/* In the section's row of the table: RECORD is MTS_ROW. */
#define ROW UINT32_MAX

static const bundle_row rows[] = {
    {CLASS_OFFSET, "section_beyond_the_file", NULL, MTS_FORMAT_NODES, ROW, MTS_SECTION_OFFSET, 8, 1u << 30},
    {CLASS_OFFSET, "section_offset_wraps", NULL, MTS_FORMAT_NODES, ROW, MTS_SECTION_OFFSET, 8,
     UINT64_MAX - 63},
    {CLASS_OFFSET, "block_offset_wraps", NULL, MTS_FORMAT_BLOCKS, 0, MTS_BLOCK_OFFSET, 8, UINT64_MAX - 63},
    {CLASS_OFFSET, "block_beyond_the_weights", NULL, MTS_FORMAT_BLOCKS, 0, MTS_BLOCK_SIZE, 8, UINT64_MAX / 2},
    {CLASS_OFFSET, "file_size_lies", NULL, WHOLE, 0, MTS_HEADER_SIZE, 8, UINT64_MAX},
    {CLASS_COUNT, "records_2e61", "ncnn: counts of a file were trusted", MTS_FORMAT_VALUES, ROW,
     MTS_SECTION_RECORDS, 8, (uint64_t)1 << 61},
    {CLASS_COUNT, "sections_2e32", NULL, WHOLE, 0, MTS_HEADER_SECTIONS, 4, UINT32_MAX},
    {CLASS_COUNT, "stride_0", NULL, MTS_FORMAT_VALUES, ROW, MTS_SECTION_STRIDE, 4, 0},
    {CLASS_COUNT, "values_of_a_task_2e32", NULL, MTS_FORMAT_TASKS, 0, MTS_TASK_VALUES, 4, UINT32_MAX},
    {CLASS_COUNT, "nodes_of_a_task_2e32", NULL, MTS_FORMAT_TASKS, 0, MTS_TASK_NODES, 4, UINT32_MAX},
    {CLASS_COUNT, "inputs_of_a_node_2e32", NULL, MTS_FORMAT_NODES, 0, MTS_NODE_INPUTS, 4, UINT32_MAX},
    {CLASS_COUNT, "attributes_of_a_node_2e32", NULL, MTS_FORMAT_NODES, 0, MTS_NODE_ATTRS, 4, UINT32_MAX},
    {CLASS_COUNT, "labels_2e32", NULL, MTS_FORMAT_TASKS, 0, MTS_TASK_LABELS, 4, UINT32_MAX},
    {CLASS_AXIS, "string_beyond_the_strings", NULL, MTS_FORMAT_TASKS, 0, MTS_TASK_NAME, 4, UINT32_MAX - 1},
    {CLASS_AXIS, "input_that_is_no_value", "ncnn: indices of a file were trusted, 149 bytes",
     MTS_FORMAT_INPUTS, 0, 0, 4, 0x09090909},
    {CLASS_AXIS, "result_that_is_no_value", "ncnn: indices of a file were trusted", MTS_FORMAT_NODES, 0,
     MTS_NODE_OUTPUT, 4, 0x7fffffff},
    {CLASS_AXIS, "block_that_is_not_there", NULL, MTS_FORMAT_REFS, 0, MTS_REF_BLOCK, 4, 0x7fffffff},
    {CLASS_AXIS, "port_of_no_value", NULL, MTS_FORMAT_PORTS, 0, MTS_PORT_VALUE, 4, 0x7fffffff},
    {CLASS_RANK, "value_of_rank_2e32", NULL, MTS_FORMAT_VALUES, 0, MTS_VALUE_RANK, 4, UINT32_MAX},
    {CLASS_RANK, "port_of_rank_7", NULL, MTS_FORMAT_PORTS, 0, MTS_PORT_RANK, 4, 7},
    {CLASS_OVERFLOW, "dimension_2e62", NULL, MTS_FORMAT_VALUES, 0, MTS_VALUE_DIMS, 8, (uint64_t)1 << 62},
    {CLASS_OVERFLOW, "dimension_smallest_of_a_port", NULL, MTS_FORMAT_PORTS, 0, MTS_PORT_DIMS, 8,
     (uint64_t)1 << 63},
    {CLASS_TYPE, "value_of_type_2e31", NULL, MTS_FORMAT_VALUES, 0, MTS_VALUE_DTYPE, 4, 0x80000000},
    {CLASS_TYPE, "operator_2e31", NULL, MTS_FORMAT_NODES, 0, MTS_NODE_OP, 4, 0x80000000},
    {CLASS_TYPE, "block_of_another_type", NULL, MTS_FORMAT_BLOCKS, 0, MTS_BLOCK_DTYPE, 4, 77},
    {CLASS_CYCLE, "node_reads_its_own_result", NULL, MTS_FORMAT_INPUTS, 0, 0, 4, 0xffff},
    {CLASS_FORMAT, "version_99", NULL, WHOLE, 0, MTS_HEADER_VERSION, 4, 99},
    {CLASS_FORMAT, "other_byte_order", NULL, WHOLE, 0, MTS_HEADER_ENDIAN, 4, 0x04030201},
    {CLASS_FORMAT, "reserved_bytes_used", NULL, WHOLE, 0, MTS_HEADER_RESERVED, 4, 1},
};

static void mend_checksums(unsigned char *bytes, size_t size)
{
    for (uint32_t i = 0; i < MTS_FORMAT_SECTION_COUNT; i++) {
        unsigned char *row = bytes + MTS_FORMAT_HEADER + i * MTS_FORMAT_SECTION;
        const uint64_t offset = mts_load_u64(row + MTS_SECTION_OFFSET);
        const uint64_t count = mts_load_u64(row + MTS_SECTION_RECORDS);
        const uint64_t stride = mts_load_u32(row + MTS_SECTION_STRIDE);
        if (offset <= size && stride > 0 && count <= (size - offset) / stride) {
            mts_store_u64(row + MTS_SECTION_HASH, mts_hash(bytes + offset, (size_t)(count * stride), i));
        }
    }
    const size_t table = (size_t)MTS_FORMAT_SECTION * MTS_FORMAT_SECTION_COUNT;
    const uint64_t hash = mts_hash(bytes, MTS_HEADER_HASH, 0);
    mts_store_u64(bytes + MTS_HEADER_HASH, mts_hash(bytes + MTS_FORMAT_HEADER, table, hash));
}

static void put_sample(onnx_bytes *out)
{
    mts_discover_options options = {0};
    mts_discover_report report;
    mts_bundle_bytes bytes;
    mts_archive *archive = mts_sample_archive(mts_allocator_default());
    if (!archive || mts_discover(archive, &options, &report, NULL) != MTS_STATUS_OK ||
        mts_bundle_encode(archive, mts_allocator_default(), &bytes, NULL) != MTS_STATUS_OK) {
        abort(); /* a test without memory has nothing to say */
    }
    hostile_add(out, bytes.data, bytes.size);
    mts_bundle_bytes_release(&bytes);
    mts_archive_destroy(&archive);
}

static void put_number(onnx_bytes *out, const void *data)
{
    const bundle_row *row = data;
    put_sample(out);
    unsigned char *at = out->data;
    if (row->section < WHOLE) {
        unsigned char *entry = out->data + MTS_FORMAT_HEADER + row->section * MTS_FORMAT_SECTION;
        const uint64_t stride = mts_load_u32(entry + MTS_SECTION_STRIDE);
        at = row->record == ROW ? entry
                                : out->data + mts_load_u64(entry + MTS_SECTION_OFFSET) + row->record * stride;
    }
    if (row->bytes == 8) {
        mts_store_u64(at + row->field, row->number);
    } else {
        mts_store_u32(at + row->field, (uint32_t)row->number);
    }
    mend_checksums(out->data, out->size);
}

/* Names of tasks and labels hold escape codes instead of letters. */
static void put_escapes(onnx_bytes *out, const void *row)
{
    (void)row;
    put_sample(out);
    const unsigned char *entry = out->data + MTS_FORMAT_HEADER + MTS_FORMAT_STRINGS * MTS_FORMAT_SECTION;
    unsigned char *at = out->data + mts_load_u64(entry + MTS_SECTION_OFFSET);
    const uint64_t size = mts_load_u64(entry + MTS_SECTION_RECORDS);
    for (uint64_t i = 0; i < size; i++) {
        at[i] = at[i] ? 0x1b : 0;
    }
    mend_checksums(out->data, out->size);
}

/* No string ends. */
static void put_endless(onnx_bytes *out, const void *row)
{
    (void)row;
    put_sample(out);
    const unsigned char *entry = out->data + MTS_FORMAT_HEADER + MTS_FORMAT_STRINGS * MTS_FORMAT_SECTION;
    memset(out->data + mts_load_u64(entry + MTS_SECTION_OFFSET), 'A',
           (size_t)mts_load_u64(entry + MTS_SECTION_RECORDS));
    mend_checksums(out->data, out->size);
}

static void put_whole(onnx_bytes *out, const void *row)
{
    (void)row;
    put_sample(out);
}

static void put_cut(onnx_bytes *out, const void *row)
{
    (void)row;
    put_sample(out);
    out->size /= 2;
}

static const hostile_file others[] = {
    {CLASS_NAME, "escape_codes_in_all_strings", NULL, HOSTILE_BUNDLE, HOSTILE_REFUSED, NULL, put_escapes,
     NULL},
    {CLASS_MISSING, "strings_without_an_end", "CVE-2024-27319 (ONNX)", HOSTILE_BUNDLE, HOSTILE_REFUSED, NULL,
     put_endless, NULL},
    {CLASS_FORMAT, "bundle_cut_in_half", NULL, HOSTILE_BUNDLE, HOSTILE_REFUSED, NULL, put_cut, NULL},
    {CLASS_FORMAT, "the_sample_itself", NULL, HOSTILE_BUNDLE, HOSTILE_TAKEN, NULL, put_whole, NULL},
};

void hostile_bundles(hostile_visit *visit, void *context)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const hostile_file file = {rows[i].class,   rows[i].name, rows[i].origin, HOSTILE_BUNDLE,
                                   HOSTILE_REFUSED, NULL,         put_number,     &rows[i]};
        visit(&file, context);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        visit(&others[i], context);
    }
}
