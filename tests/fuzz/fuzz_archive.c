/*
 * libFuzzer target: any bytes as a bundle. Checksums are made right first, so that what lies behind them is
 * reached.
 *
 * An archive that opens is walked through: printed, aligned, encoded and read again, which must give the same
 * bytes. If its values are few, a session over it is made on the reference device and runs once.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "bundle/format.h"
#include "compiler/models/bundle.h"
#include "tune/tune.h"
#include "graph/align.h"
#include "support/graph_print.h"
#include "support/net.h"

#define ELEMENTS_MOST 100000u /* of all values of a session that is made */
#define WORK_MOST 10000000u   /* multiply-adds */

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

static bool is_small(const mts_archive *archive)
{
    uint64_t elements = 0, work = 0;
    for (uint32_t t = 0; t < archive->task_count; t++) {
        const mts_graph *graph = archive->tasks[t].graph;
        for (uint32_t v = 0; v < graph->value_count; v++) {
            elements += mts_shape_count(&graph->values[v].shape);
        }
        for (uint32_t n = 0; n < graph->node_count; n++) {
            work += mts_node_mul_adds(graph, &graph->nodes[n]);
        }
    }
    return elements <= ELEMENTS_MOST && work <= WORK_MOST;
}

static void run_session(const mts_archive *archive)
{
    static mts_device *device; /* one for all inputs */
    const mts_engine_options options = {.strategy = MTS_STRATEGY_COMPACT, .separate_inputs = true};
    mts_engine *engine = NULL;
    if (!device && net_device_open("reference", NULL, &device, NULL) != MTS_STATUS_OK) {
        abort();
    }
    if (mts_planned_engine_create(device, archive, &options, NULL, &engine, NULL, NULL) == MTS_STATUS_OK &&
        (mts_engine_submit(engine, NULL) != MTS_STATUS_OK ||
         mts_engine_wait(engine, NULL) != MTS_STATUS_OK)) {
        abort(); /* a finding: the reference checks every access of a launch */
    }
    mts_engine_destroy(&engine);
}

static void use(const mts_archive *archive)
{
    if (is_small(archive)) {
        run_session(archive);
    }
    const mts_allocator *allocator = mts_allocator_default();
    mts_text text;
    mts_text_init(&text, allocator);
    graph_print(archive->tasks[0].graph, &text);
    mts_text_release(&text);
    mts_bundle_bytes again;
    if (mts_bundle_encode(archive, allocator, &again, NULL) == MTS_STATUS_OK) {
        /* a file may hold strings in another order; what it makes must be readable, and then stable */
        mts_archive *copy = NULL;
        mts_bundle_bytes third;
        if (mts_archive_read(again.data, again.size, "again", NULL, allocator, &copy, NULL) !=
                MTS_STATUS_OK ||
            mts_bundle_encode(copy, allocator, &third, NULL) != MTS_STATUS_OK || third.size != again.size ||
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
        MTS_STATUS_OK) {
        use(archive);
    }
    mts_archive_destroy(&archive);
    free(bytes);
    return 0;
}
