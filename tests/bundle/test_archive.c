/*
 * Bundles hold what was put into them, in one way only.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "bundle/attrs.h"
#include "bundle/format.h"
#include "bundle/sections.h"
#include "compiler/models/bundle.h"
#include "compiler/passes/discover.h"
#include "support/fault_each.h"
#include "support/graph_print.h"
#include "support/sample_archive.h"

static mts_archive *sample_discovered(void)
{
    mts_archive *archive = mts_sample_archive(mts_allocator_default());
    assert_non_null(archive);
    mts_discover_options options = {0};
    mts_discover_report report;
    mts_error error = {0};
    assert_int_equal(mts_discover(archive, &options, &report, &error), MTS_STATUS_OK);
    assert_true(report.bytes > 0 && report.bytes < report.bytes_unshared);
    return archive;
}

static void encode(const mts_archive *archive, mts_bundle_bytes *bytes)
{
    mts_error error = {0};
    assert_int_equal(mts_bundle_encode(archive, mts_allocator_default(), bytes, &error), MTS_STATUS_OK);
}

static mts_archive *read_back(const mts_bundle_bytes *bytes)
{
    mts_archive *archive = NULL;
    mts_error error = {0};
    const mts_status status =
        mts_archive_read(bytes->data, bytes->size, "sample", NULL, mts_allocator_default(), &archive, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, MTS_STATUS_OK);
    return archive;
}

/* A mapped file can be changed in place after it was verified. */
static void names_stay_what_they_were_when_the_bytes_change_after_reading(void **state)
{
    (void)state;
    mts_archive *before = sample_discovered();
    mts_bundle_bytes bytes;
    encode(before, &bytes);
    mts_archive *after = read_back(&bytes);
    memset(bytes.data, 'A', bytes.size);
    assert_int_equal(mts_archive_find(after, "mask-2.0_x"), 2);
    for (uint32_t t = 0; t < 3; t++) {
        const mts_task *a = &before->tasks[t], *b = &after->tasks[t];
        assert_string_equal(a->name, b->name);
        assert_string_equal(a->graph->name, b->graph->name);
        for (uint32_t i = 0; i < a->label_count; i++) {
            assert_string_equal(a->labels[i], b->labels[i]);
        }
        for (uint32_t i = 0; i < a->graph->node_count; i++) {
            assert_string_equal(a->graph->nodes[i].name, b->graph->nodes[i].name);
            assert_memory_equal(a->graph->nodes[i].inputs, b->graph->nodes[i].inputs,
                                a->graph->nodes[i].input_count * sizeof(uint32_t));
        }
        for (uint32_t i = 0; i < a->graph->output_count; i++) {
            assert_string_equal(a->graph->outputs[i].name, b->graph->outputs[i].name);
        }
    }
    mts_archive_destroy(&after);
    mts_archive_destroy(&before);
    mts_bundle_bytes_release(&bytes);
}

static void a_bundle_read_back_holds_the_same_tasks(void **state)
{
    (void)state;
    mts_archive *before = sample_discovered();
    mts_bundle_bytes bytes;
    encode(before, &bytes);
    mts_archive *after = read_back(&bytes);
    assert_int_equal(after->task_count, 3);
    assert_int_equal(after->block_count, before->block_count);
    assert_int_equal(mts_archive_find(after, "mask-2.0_x"), 2);
    assert_int_equal(mts_archive_find(after, "nobody"), MTS_NONE);
    for (uint32_t t = 0; t < 3; t++) {
        const mts_task *a = &before->tasks[t], *b = &after->tasks[t];
        mts_text x, y;
        mts_text_init(&x, mts_allocator_default());
        mts_text_init(&y, mts_allocator_default());
        graph_print(a->graph, &x);
        graph_print(b->graph, &y);
        assert_string_equal(mts_text_get(&x), mts_text_get(&y));
        mts_text_release(&x);
        mts_text_release(&y);
        assert_string_equal(a->name, b->name);
        assert_memory_equal(&a->preprocess, &b->preprocess, sizeof(a->preprocess));
        assert_int_equal(a->label_count, b->label_count);
        for (uint32_t i = 0; i < a->label_count; i++) {
            assert_string_equal(a->labels[i], b->labels[i]);
        }
        assert_int_equal(a->class_count, b->class_count);
        assert_memory_equal(a->class_map ? a->class_map : b->class_map, b->class_map, 4 * a->class_count);
        assert_memory_equal(a->graph->nodes[1].scatter, b->graph->nodes[1].scatter, 16);
    }
    mts_archive_destroy(&before);
    mts_archive_destroy(&after);
    mts_bundle_bytes_release(&bytes);
}

static void writing_what_was_read_gives_the_same_bytes(void **state)
{
    (void)state;
    mts_archive *before = sample_discovered();
    mts_bundle_bytes first, second;
    encode(before, &first);
    mts_archive *after = read_back(&first);
    encode(after, &second);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    mts_archive *again = read_back(&second);
    assert_true(again->hash == after->hash && again->hash != 0);
    mts_archive_destroy(&before);
    mts_archive_destroy(&after);
    mts_archive_destroy(&again);
    mts_bundle_bytes_release(&first);
    mts_bundle_bytes_release(&second);
}

static void equal_tasks_refer_to_the_same_blocks_and_blocks_are_aligned(void **state)
{
    (void)state;
    mts_archive *before = sample_discovered();
    mts_bundle_bytes bytes;
    encode(before, &bytes);
    mts_archive *after = read_back(&bytes);
    const mts_graph *a = after->tasks[0].graph, *b = after->tasks[2].graph;
    for (uint32_t v = 0; v < a->value_count; v++) {
        for (uint32_t i = 0; i < a->values[v].block_count; i++) {
            assert_int_equal(a->values[v].blocks[i].block, b->values[v].blocks[i].block);
        }
    }
    for (uint32_t i = 0; i < after->block_count; i++) {
        assert_int_equal((uintptr_t)after->blocks[i].data % 64, 0);
        assert_true((const unsigned char *)after->blocks[i].data >= bytes.data);
        assert_true((const unsigned char *)after->blocks[i].data + after->blocks[i].size <=
                    bytes.data + bytes.size);
    }
    mts_archive_destroy(&before);
    mts_archive_destroy(&after);
    mts_bundle_bytes_release(&bytes);
}

static void attributes_of_every_operator_survive_their_words(void **state)
{
    (void)state;
    for (uint32_t op = 0; op < MTS_OP_COUNT; op++) {
        const uint32_t count = mts_attrs_words((mts_op)op);
        uint32_t words[MTS_ATTRS_WORDS_MAX], again[MTS_ATTRS_WORDS_MAX];
        assert_in_range(count, op == MTS_OP_TAKE || op == MTS_OP_SELECT ? 0 : 1, MTS_ATTRS_WORDS_MAX);
        for (uint32_t i = 0; i < count; i++) {
            words[i] = i * 0x01010101u + op;
        }
        mts_attrs attrs;
        mts_attrs_decode((mts_op)op, words, &attrs);
        mts_attrs_encode((mts_op)op, &attrs, again);
        assert_memory_equal(words, again, count * sizeof(*words));
    }
    assert_int_equal(mts_attrs_words(MTS_OP_COUNT), UINT32_MAX);
}

/* Every field of the attributes has its word: attributes of random bytes come back where they are stored. */
static void attribute_words_cover_whole_structures(void **state)
{
    (void)state;
    assert_int_equal(mts_attrs_words(MTS_OP_CONV) * 4, sizeof(mts_attrs_conv));
    assert_int_equal(mts_attrs_words(MTS_OP_MATMUL) * 4, sizeof(mts_attrs_matmul));
    assert_int_equal(mts_attrs_words(MTS_OP_SCALE) * 4, sizeof(mts_attrs_unary));
    assert_int_equal(mts_attrs_words(MTS_OP_BINARY) * 4, sizeof(mts_attrs_binary));
    assert_int_equal(mts_attrs_words(MTS_OP_POOL) * 4, sizeof(mts_attrs_pool));
    assert_int_equal(mts_attrs_words(MTS_OP_REDUCE) * 4, sizeof(mts_attrs_reduce));
    assert_int_equal(mts_attrs_words(MTS_OP_SOFTMAX) * 4, sizeof(mts_attrs_softmax));
    assert_int_equal(mts_attrs_words(MTS_OP_LRN) * 4, sizeof(mts_attrs_lrn));
    assert_int_equal(mts_attrs_words(MTS_OP_CONCAT) * 4, sizeof(mts_attrs_axis));
    assert_int_equal(mts_attrs_words(MTS_OP_SLICE) * 4, sizeof(mts_attrs_slice));
    assert_int_equal(mts_attrs_words(MTS_OP_PAD) * 4, sizeof(mts_attrs_pad));
    assert_int_equal(mts_attrs_words(MTS_OP_GATHER) * 4, sizeof(mts_attrs_axis));
    assert_int_equal(mts_attrs_words(MTS_OP_TRANSPOSE) * 4, sizeof(mts_attrs_transpose));
    assert_int_equal(mts_attrs_words(MTS_OP_RESIZE) * 4, sizeof(mts_attrs_resize));
    assert_int_equal(mts_attrs_words(MTS_OP_SCAN) * 4, sizeof(mts_attrs_scan));
    assert_int_equal(mts_attrs_words(MTS_OP_ORDER) * 4, sizeof(mts_attrs_order));
    assert_int_equal(mts_attrs_words(MTS_OP_SAMPLE) * 4, sizeof(mts_attrs_sample));
    assert_int_equal(mts_attrs_words(MTS_OP_RECUR) * 4, sizeof(mts_attrs_recur));
    assert_int_equal(mts_attrs_words(MTS_OP_NORM) * 4, sizeof(mts_attrs_norm));
    assert_int_equal(mts_attrs_words(MTS_OP_ATTENTION) * 4, sizeof(mts_attrs_attention));
    assert_int_equal(mts_attrs_words(MTS_OP_TAKE), 0);
    assert_int_equal(mts_attrs_words(MTS_OP_RESHAPE), 1 + 2 * MTS_TENSOR_RANK_MAX);
}

static void limits_are_refused_with_the_numbers(void **state)
{
    (void)state;
    mts_archive *before = sample_discovered(), *after = NULL;
    mts_bundle_bytes bytes;
    mts_error error = {0};
    encode(before, &bytes);
    mts_archive_limits cases[5];
    for (int i = 0; i < 5; i++) {
        cases[i] = mts_archive_limits_default();
    }
    cases[0].file_bytes = bytes.size - 1;
    cases[1].tasks = 2;
    cases[2].nodes_per_task = before->tasks[0].graph->node_count - 1;
    cases[3].values_per_task = before->tasks[0].graph->value_count - 1;
    cases[4].blocks = before->block_count - 1;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(mts_archive_read(bytes.data, bytes.size, "sample", &cases[i],
                                          mts_allocator_default(), &after, &error),
                         MTS_STATUS_LIMIT);
        assert_null(after);
        assert_non_null(strstr(error.text, "sample: "));
    }
    const mts_archive_limits enough = {.file_bytes = bytes.size,
                                       .tasks = 3,
                                       .nodes_per_task = before->tasks[0].graph->node_count,
                                       .values_per_task = before->tasks[0].graph->value_count,
                                       .blocks = before->block_count};
    assert_int_equal(
        mts_archive_read(bytes.data, bytes.size, "sample", &enough, mts_allocator_default(), &after, &error),
        MTS_STATUS_OK);
    mts_archive_destroy(&after);
    mts_archive_destroy(&before);
    mts_bundle_bytes_release(&bytes);
}

static void a_newer_version_is_unsupported_not_malformed(void **state)
{
    (void)state;
    mts_archive *before = sample_discovered(), *after = NULL;
    mts_bundle_bytes bytes;
    mts_error error = {0};
    encode(before, &bytes);
    bytes.data[8]++;
    assert_int_equal(
        mts_archive_read(bytes.data, bytes.size, "sample", NULL, mts_allocator_default(), &after, &error),
        MTS_STATUS_UNSUPPORTED);
    assert_null(after);
    assert_int_equal(mts_archive_read(bytes.data + 1, bytes.size - 1, "sample", NULL, mts_allocator_default(),
                                      &after, &error),
                     MTS_STATUS_INVALID_ARGUMENT);
    mts_archive_destroy(&before);
    mts_bundle_bytes_release(&bytes);
}

/* A bundle that says no more than version 1 can is one of version 1, so that older readers open it. */
static void only_a_crop_needs_the_second_version(void **state)
{
    static const float crops[][4] = {{0.5f, 0, 0.6f, 1},   {0, 0, 0.5f, 0}, {-0.5f, 0, 0.5f, 1},
                                     {0, 1, 1, 1},         {0, 0, NAN, 1},  {0, 0, INFINITY, 1},
                                     {0.5f, 0.5f, 0, 0.5f}};
    (void)state;
    mts_archive *archive = sample_discovered();
    mts_archive *after = NULL;
    mts_bundle_bytes bytes;
    mts_error error = {0};
    encode(archive, &bytes);
    const size_t with = bytes.size;
    assert_int_equal(mts_load_u32(bytes.data + MTS_HEADER_VERSION), 2);
    mts_bundle_bytes_release(&bytes);
    for (size_t i = 0; i < sizeof crops / sizeof crops[0]; i++) {
        memcpy(archive->tasks[2].preprocess.crop, crops[i], sizeof crops[i]);
        archive->tasks[1].preprocess.crop[2] = archive->tasks[1].preprocess.crop[3] = 1.0f;
        encode(archive, &bytes);
        assert_int_equal(
            mts_archive_read(bytes.data, bytes.size, "sample", NULL, mts_allocator_default(), &after, &error),
            MTS_STATUS_MALFORMED);
        assert_non_null(strstr(error.text, "no part of a frame"));
        mts_bundle_bytes_release(&bytes);
    }
    for (uint32_t t = 0; t < 3; t++) {
        memset(archive->tasks[t].preprocess.crop, 0, sizeof archive->tasks[t].preprocess.crop);
    }
    encode(archive, &bytes);
    assert_int_equal(mts_load_u32(bytes.data + MTS_HEADER_VERSION), 1);
    assert_true(bytes.size < with);
    after = read_back(&bytes);
    assert_memory_equal(&archive->tasks[2].preprocess, &after->tasks[2].preprocess, sizeof(mts_preprocess));
    mts_archive_destroy(&after);
    mts_archive_destroy(&archive);
    mts_bundle_bytes_release(&bytes);
}

/* ---- bundles that were changed, with right checksums ---- */

static unsigned char *row_of(unsigned char *bytes, uint32_t section)
{
    return bytes + MTS_FORMAT_HEADER + section * MTS_FORMAT_SECTION;
}

static unsigned char *records_of(unsigned char *bytes, uint32_t section)
{
    return bytes + mts_load_u64(row_of(bytes, section) + MTS_SECTION_OFFSET);
}

static void seal(unsigned char *bytes)
{
    for (uint32_t i = 0; i < MTS_FORMAT_SECTION_COUNT; i++) {
        unsigned char *row = row_of(bytes, i);
        const uint64_t size =
            mts_load_u64(row + MTS_SECTION_RECORDS) * mts_load_u32(row + MTS_SECTION_STRIDE);
        mts_store_u64(row + MTS_SECTION_HASH, mts_hash(records_of(bytes, i), (size_t)size, i));
    }
    const uint64_t hash = mts_hash(bytes, MTS_HEADER_HASH, 0);
    mts_store_u64(
        bytes + MTS_HEADER_HASH,
        mts_hash(bytes + MTS_FORMAT_HEADER, (size_t)MTS_FORMAT_SECTION * MTS_FORMAT_SECTION_COUNT, hash));
}

/* One 32-bit number of a record is another one. */
typedef struct lie {
    uint32_t section;
    size_t record, field;
    uint32_t value;
    const char *sentence;
} lie;

static void a_bundle_that_lies_is_refused_though_its_checksums_are_right(void **state)
{
    static const lie lies[] = {
        {MTS_FORMAT_TASKS, 2, MTS_TASK_LABELS, 0, "5 records of section 'labels' belong to nothing"},
        {MTS_FORMAT_TASKS, 2, MTS_TASK_CLASSES, 2, "2 records of section 'classes' belong to nothing"},
        {MTS_FORMAT_TASKS, 2, MTS_TASK_LABELS, 6, "section 'labels' ends early: 6 records wanted, 5 left"},
        {MTS_FORMAT_TASKS, 1, MTS_TASK_NAME, 0, "task 1: its name "},
        {MTS_FORMAT_TASKS, 0, MTS_TASK_NAME, 0xffffff, "no string begins at 16777215"},
        {MTS_FORMAT_TASKS, 0, MTS_TASK_RESERVED & ~3u, 0x00010000, "a reserved field is not zero"},
        {MTS_FORMAT_TASKS, 0, MTS_TASK_RESERVED & ~3u, 0x01000000, "a reserved field is not zero"},
        {MTS_FORMAT_VALUES, 1, MTS_VALUE_RESERVED, 1, "value 1: kind 1 or a reserved field is out of range"},
        {MTS_FORMAT_VALUES, 1, MTS_VALUE_KIND, 3, "value 1: kind 3 or a reserved field is out of range"},
        {MTS_FORMAT_VALUES, 1, MTS_VALUE_DTYPE, MTS_TYPE_COUNT, "element type 10 does not exist"},
        {MTS_FORMAT_VALUES, 1, MTS_VALUE_RANK, 7, "rank 7 is above 6"},
        {MTS_FORMAT_VALUES, 1, MTS_VALUE_RANK, 3, "an unused dimension is not zero"},
        {MTS_FORMAT_VALUES, 0, MTS_VALUE_REFS, 1, "value 0: its shape is out of range or it is no constant"},
        {MTS_FORMAT_REFS, 0, MTS_REF_BLOCK, 99, "value 1: no block 99"},
        {MTS_FORMAT_REFS, 0, MTS_REF_OUT_COUNT, 3, "does not fit"},
        {MTS_FORMAT_REFS, 0, MTS_REF_OUT_COUNT, 0xffffffff, "does not fit"},
        {MTS_FORMAT_NODES, 0, MTS_NODE_OP, MTS_OP_COUNT, "node 0: operator "},
        {MTS_FORMAT_NODES, 1, MTS_NODE_OUTPUT, 0xffff, "output value 65535 is out of range"},
        {MTS_FORMAT_NODES, 0, MTS_NODE_ATTRS, 3, "node 0: 3 attribute words for operator conv"},
        {MTS_FORMAT_NODES, 0, MTS_NODE_SCATTER, 5, "node 0: its scatter list of 5 entries does not fit"},
        {MTS_FORMAT_NODES, 2, MTS_NODE_SCATTER, 4, "node 2: its scatter list of 4 entries does not fit"},
        {MTS_FORMAT_BLOCKS, 0, MTS_BLOCK_RESERVED, 1, "block 0: unused bytes are not zero"},
        {MTS_FORMAT_BLOCKS, 0, MTS_BLOCK_HASH, 1, "block 0: wrong checksum"},
        {MTS_FORMAT_BLOCKS, 0, MTS_BLOCK_DTYPE, 77, "block 0: element type 77 does not exist"},
        {MTS_FORMAT_BLOCKS, 0, MTS_BLOCK_SIZE, 0, "offset 0 and size 0 do not fit the weights"},
        {MTS_FORMAT_BLOCKS, 0, MTS_BLOCK_OFFSET, 64, "block 0: offset 64 and size "}};
    mts_archive *made = sample_discovered();
    mts_bundle_bytes bytes;
    (void)state;
    encode(made, &bytes);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        const size_t stride = mts_load_u32(row_of(bytes.data, lies[i].section) + MTS_SECTION_STRIDE);
        unsigned char *field =
            records_of(bytes.data, lies[i].section) + lies[i].record * stride + lies[i].field;
        const uint32_t before = mts_load_u32(field);
        mts_archive *archive = NULL;
        mts_error error = {0};
        mts_store_u32(field, lies[i].value);
        seal(bytes.data);
        const mts_status status =
            mts_archive_read(bytes.data, bytes.size, "lie", NULL, mts_allocator_default(), &archive, &error);
        if (status != MTS_STATUS_MALFORMED || !strstr(error.text, lies[i].sentence)) {
            fail_msg("lie %zu: %s, '%s' has no '%s'", i, mts_status_text(status), error.text,
                     lies[i].sentence);
        }
        mts_archive_destroy(&archive);
        mts_store_u32(field, before);
    }
    mts_bundle_bytes_release(&bytes);
    mts_archive_destroy(&made);
}

static void expect_malformed(mts_bundle_bytes *bytes, const char *sentence)
{
    mts_archive *archive = NULL;
    mts_error error = {0};
    seal(bytes->data);
    assert_int_equal(mts_archive_read(bytes->data, bytes->size, "weights", NULL, mts_allocator_default(),
                                      &archive, &error),
                     MTS_STATUS_MALFORMED);
    if (!strstr(error.text, sentence)) {
        fail_msg("'%s' has no '%s'", error.text, sentence);
    }
}

static void weights_have_no_bytes_that_no_block_names(void **state)
{
    mts_archive *made = sample_discovered();
    mts_bundle_bytes bytes;
    (void)state;
    encode(made, &bytes);
    unsigned char *blocks = records_of(bytes.data, MTS_FORMAT_BLOCKS);
    unsigned char *weights = records_of(bytes.data, MTS_FORMAT_WEIGHTS);
    const uint64_t first = mts_load_u64(blocks + MTS_BLOCK_SIZE);
    assert_true(first % MTS_FORMAT_ALIGN != 0);
    weights[first] = 1;
    expect_malformed(&bytes, "block 1: unused bytes are not zero");
    weights[first] = 0;
    unsigned char *last = blocks + (made->block_count - 1) * mts_section_stride(MTS_FORMAT_BLOCKS);
    const uint64_t size = mts_load_u64(last + MTS_BLOCK_SIZE) - 4;
    mts_store_u64(last + MTS_BLOCK_SIZE, size);
    mts_store_u64(last + MTS_BLOCK_HASH, mts_hash(weights + mts_load_u64(last + MTS_BLOCK_OFFSET),
                                                  (size_t)size, mts_load_u32(last + MTS_BLOCK_DTYPE)));
    expect_malformed(&bytes, "bytes follow the last block");
    mts_bundle_bytes_release(&bytes);
    mts_archive_destroy(&made);
}

static mts_status read_with(const mts_allocator *allocator, void *data)
{
    const mts_bundle_bytes *bytes = data;
    mts_archive *archive = NULL;
    mts_error error = {0};
    const mts_status status =
        mts_archive_read(bytes->data, bytes->size, "sample", NULL, allocator, &archive, &error);
    mts_archive_destroy(&archive);
    return status;
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    mts_archive *made = sample_discovered();
    mts_bundle_bytes bytes;
    encode(made, &bytes);
    mts_archive_destroy(&made);
    mts_fault_each(read_with, &bytes);
    mts_bundle_bytes_release(&bytes);
}

static mts_status discover_and_write_with(const mts_allocator *allocator, void *unused)
{
    const mts_discover_options options = {.tolerance = 0.01f};
    mts_discover_report report;
    mts_bundle_bytes bytes = {.allocator = allocator};
    mts_archive *archive = mts_sample_archive(allocator);
    mts_status status = archive ? mts_discover(archive, &options, &report, NULL) : MTS_STATUS_OUT_OF_MEMORY;
    (void)unused;
    MTS_TRY(status, mts_bundle_encode(archive, allocator, &bytes, NULL));
    mts_bundle_bytes_release(&bytes);
    mts_archive_destroy(&archive);
    return status;
}

static void discovering_and_writing_survive_every_failing_allocation(void **state)
{
    (void)state;
    mts_fault_each(discover_and_write_with, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bundle_read_back_holds_the_same_tasks),
        cmocka_unit_test(names_stay_what_they_were_when_the_bytes_change_after_reading),
        cmocka_unit_test(writing_what_was_read_gives_the_same_bytes),
        cmocka_unit_test(equal_tasks_refer_to_the_same_blocks_and_blocks_are_aligned),
        cmocka_unit_test(attributes_of_every_operator_survive_their_words),
        cmocka_unit_test(attribute_words_cover_whole_structures),
        cmocka_unit_test(limits_are_refused_with_the_numbers),
        cmocka_unit_test(a_newer_version_is_unsupported_not_malformed),
        cmocka_unit_test(only_a_crop_needs_the_second_version),
        cmocka_unit_test(a_bundle_that_lies_is_refused_though_its_checksums_are_right),
        cmocka_unit_test(weights_have_no_bytes_that_no_block_names),
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(discovering_and_writing_survive_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
