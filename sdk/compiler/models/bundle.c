/*
 * bundle.c: see bundle.h. The tables are collected section by section, then laid out,
 * filled and hashed.
 */
#include "compiler/models/bundle.h"

#include "base/hash.h"
#include "base/size.h"
#include "bundle/attrs.h"
#include "bundle/format.h"
#include "compiler/models/strings.h"
#include "platform/os/os.h"

#define REF_WORDS 5u /* of a record of REFS */

typedef struct table {
    unsigned char *data;
    size_t size, capacity;
} table;

typedef struct encoder {
    const mts_archive *archive;
    const mts_allocator *allocator;
    mts_strings strings;
    table tables[MTS_FORMAT_SECTION_COUNT]; /* STRINGS and WEIGHTS are unused */
    size_t weights;                         /* bytes */
    bool failed;                            /* memory is short or something is too large */
    bool crops;                             /* a task has a crop, which version 1 cannot say */
} encoder;

static const size_t strides[MTS_FORMAT_SECTION_COUNT] = {
#define STRIDE(NAME, text, stride) stride,
    MTS_FORMAT_SECTIONS(STRIDE)
#undef STRIDE
};

static size_t stride_of(const encoder *e, size_t section)
{
    return section == MTS_FORMAT_TASKS && !e->crops ? MTS_FORMAT_TASK_FIRST : strides[section];
}

/* The next `count` records of a section, zeroed; NULL if there are none, or (then failed)
   no memory. */
static unsigned char *append(encoder *e, mts_format_section section, size_t count)
{
    table *t = &e->tables[section];
    size_t bytes = 0, end = 0;
    void *data = t->data;
    if (count == 0) {
        return NULL;
    }
    if (e->failed || !mts_size_mul(count, stride_of(e, section), &bytes) ||
        !mts_size_add(t->size, bytes, &end) || !mts_alloc_grow(e->allocator, &data, &t->capacity, end, 1)) {
        e->failed = true;
        return NULL;
    }
    t->data = data;
    unsigned char *records = t->data + t->size;
    t->size = end;
    return records;
}

static uint32_t string(encoder *e, const char *text)
{
    uint32_t offset = 0;
    if (!e->failed && !mts_strings_add(&e->strings, text ? text : "", &offset)) {
        e->failed = true;
    }
    return offset;
}

static void store_words(unsigned char *to, const uint32_t *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        mts_store_u32(to + 4u * (size_t)i, words[i]);
    }
}

/* Records of one word each. */
static void put_words(encoder *e, mts_format_section section, const uint32_t *words, uint32_t count)
{
    unsigned char *records = append(e, section, count);
    if (records) {
        store_words(records, words, count);
    }
}

_Static_assert(MTS_PORT_NAME == MTS_VALUE_NAME && MTS_PORT_VALUE == MTS_VALUE_KIND &&
                   MTS_PORT_DTYPE == MTS_VALUE_DTYPE && MTS_PORT_RANK == MTS_VALUE_RANK &&
                   MTS_PORT_DIMS == MTS_VALUE_DIMS,
               "the records of values and of ports begin alike");

/* A record of VALUES or PORTS; `word` is a value's kind, of a port the number of its
   value. */
static unsigned char *put_tensor(encoder *e, mts_format_section section, const char *name, uint32_t word,
                                 mts_type dtype, const mts_shape *shape)
{
    const uint32_t text = string(e, name);
    unsigned char *record = append(e, section, 1);
    if (record) {
        mts_store_u32(record + MTS_VALUE_NAME, text);
        mts_store_u32(record + MTS_VALUE_KIND, word);
        mts_store_u32(record + MTS_VALUE_DTYPE, (uint32_t)dtype);
        mts_store_u32(record + MTS_VALUE_RANK, shape->rank);
        for (uint32_t i = 0; i < shape->rank; i++) {
            mts_store_u64(record + MTS_VALUE_DIMS + 8u * (size_t)i, (uint64_t)shape->dims[i]);
        }
    }
    return record;
}

static void put_refs(encoder *e, const mts_value *value)
{
    for (uint32_t i = 0; i < value->block_count; i++) {
        const mts_block_ref *ref = &value->blocks[i];
        unsigned char *record = append(e, MTS_FORMAT_REFS, 1);
        if (record) {
            const uint32_t words[REF_WORDS] = {[MTS_REF_BLOCK / 4] = ref->block,
                                               [MTS_REF_OUT_FIRST / 4] = ref->out_first,
                                               [MTS_REF_OUT_COUNT / 4] = ref->out_count,
                                               [MTS_REF_IN_FIRST / 4] = ref->in_first,
                                               [MTS_REF_IN_COUNT / 4] = ref->in_count};
            store_words(record, words, REF_WORDS);
        }
    }
}

static void put_value(encoder *e, const mts_value *value)
{
    unsigned char *record =
        put_tensor(e, MTS_FORMAT_VALUES, value->name, (uint32_t)value->kind, value->dtype, &value->shape);
    if (record) {
        mts_store_u32(record + MTS_VALUE_REFS, value->block_count);
    }
    put_refs(e, value);
}

static void put_node(encoder *e, const mts_graph *graph, const mts_node *node)
{
    uint32_t words[MTS_ATTRS_WORDS_MAX];
    const uint32_t word_count = mts_attrs_words(node->op);
    const uint32_t name = string(e, node->name);
    uint32_t scatter = 0;
    if (node->scatter) {
        scatter = (uint32_t)graph->values[node->inputs[1]].shape.dims[0];
        put_words(e, MTS_FORMAT_SCATTER, node->scatter, scatter);
    }
    unsigned char *record = append(e, MTS_FORMAT_NODES, 1);
    if (record) {
        mts_store_u32(record + MTS_NODE_OP, (uint32_t)node->op);
        mts_store_u32(record + MTS_NODE_NAME, name);
        mts_store_u32(record + MTS_NODE_INPUTS, node->input_count);
        mts_store_u32(record + MTS_NODE_OUTPUT, node->output);
        mts_store_u32(record + MTS_NODE_ATTRS, word_count);
        mts_store_u32(record + MTS_NODE_SCATTER, scatter);
    }
    put_words(e, MTS_FORMAT_INPUTS, node->inputs, node->input_count);
    mts_attrs_encode(node->op, &node->attrs, words);
    put_words(e, MTS_FORMAT_ATTRS, words, word_count);
}

static void put_ports(encoder *e, const mts_port *ports, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const mts_port *port = &ports[i];
        (void)put_tensor(e, MTS_FORMAT_PORTS, port->name, port->value, port->dtype, &port->shape);
    }
}

static void put_graph(encoder *e, const mts_graph *graph)
{
    for (uint32_t i = 0; i < graph->value_count; i++) {
        put_value(e, &graph->values[i]);
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        put_node(e, graph, &graph->nodes[i]);
    }
    put_ports(e, graph->inputs, graph->input_count);
    put_ports(e, graph->outputs, graph->output_count);
}

static void put_task_record(encoder *e, const mts_task *task)
{
    const mts_graph *graph = task->graph;
    const uint32_t name = string(e, task->name), graph_name = string(e, graph->name);
    unsigned char *record = append(e, MTS_FORMAT_TASKS, 1);
    if (!record) {
        return;
    }
    mts_store_u32(record + MTS_TASK_NAME, name);
    mts_store_u32(record + MTS_TASK_GRAPH, graph_name);
    mts_store_u32(record + MTS_TASK_COLOR, task->preprocess.color);
    mts_store_u32(record + MTS_TASK_INTERLEAVED, task->preprocess.interleaved);
    for (size_t i = 0; i < 4; i++) {
        mts_store_f32(record + MTS_TASK_MEAN + 4 * i, task->preprocess.mean[i]);
        mts_store_f32(record + MTS_TASK_STD + 4 * i, task->preprocess.std[i]);
    }
    record[MTS_TASK_FIT] = (unsigned char)task->preprocess.fit;
    record[MTS_TASK_FILTER] = (unsigned char)task->preprocess.filter;
    memcpy(record + MTS_TASK_FILL, task->preprocess.fill, sizeof task->preprocess.fill);
    for (size_t i = 0; e->crops && i < 4; i++) {
        mts_store_f32(record + MTS_TASK_CROP + 4 * i, task->preprocess.crop[i]);
    }
    mts_store_u32(record + MTS_TASK_VALUES, graph->value_count);
    mts_store_u32(record + MTS_TASK_NODES, graph->node_count);
    mts_store_u32(record + MTS_TASK_INPUTS, graph->input_count);
    mts_store_u32(record + MTS_TASK_OUTPUTS, graph->output_count);
    mts_store_u32(record + MTS_TASK_LABELS, task->label_count);
    mts_store_u32(record + MTS_TASK_CLASSES, task->class_count);
}

static void put_task(encoder *e, const mts_task *task)
{
    put_task_record(e, task);
    put_graph(e, task->graph);
    for (uint32_t i = 0; i < task->label_count; i++) {
        const uint32_t label = string(e, task->labels[i]);
        put_words(e, MTS_FORMAT_LABELS, &label, 1);
    }
    put_words(e, MTS_FORMAT_CLASSES, task->class_map, task->class_count);
}

static void put_block(encoder *e, const mts_block *block)
{
    size_t offset = 0, end = 0;
    if (!mts_size_align(e->weights, MTS_FORMAT_ALIGN, &offset) || !mts_size_add(offset, block->size, &end)) {
        e->failed = true;
        return;
    }
    unsigned char *record = append(e, MTS_FORMAT_BLOCKS, 1);
    if (record) {
        mts_store_u64(record + MTS_BLOCK_OFFSET, offset);
        mts_store_u64(record + MTS_BLOCK_SIZE, block->size);
        mts_store_u64(record + MTS_BLOCK_HASH, mts_hash(block->data, block->size, block->dtype));
        mts_store_u32(record + MTS_BLOCK_DTYPE, (uint32_t)block->dtype);
    }
    e->weights = end;
}

static size_t section_bytes(const encoder *e, size_t section)
{
    return section == MTS_FORMAT_STRINGS   ? e->strings.size
           : section == MTS_FORMAT_WEIGHTS ? e->weights
                                           : e->tables[section].size;
}

/* Offsets of all sections and the size of the file. */
static bool place(const encoder *e, size_t *offsets, size_t *size)
{
    size_t end = MTS_FORMAT_HEADER + (size_t)MTS_FORMAT_SECTION * MTS_FORMAT_SECTION_COUNT;
    for (size_t i = 0; i < MTS_FORMAT_SECTION_COUNT; i++) {
        if (!mts_size_align(end, MTS_FORMAT_ALIGN, &offsets[i]) ||
            !mts_size_add(offsets[i], section_bytes(e, i), &end)) {
            return false;
        }
    }
    *size = end;
    return true;
}

static void fill_weights(const encoder *e, unsigned char *to)
{
    const unsigned char *record = e->tables[MTS_FORMAT_BLOCKS].data;
    for (uint32_t i = 0; i < e->archive->block_count; i++, record += strides[MTS_FORMAT_BLOCKS]) {
        memcpy(to + mts_load_u64(record + MTS_BLOCK_OFFSET), e->archive->blocks[i].data,
               e->archive->blocks[i].size);
    }
}

static void fill_section(const encoder *e, unsigned char *file, size_t index, size_t offset)
{
    unsigned char *row = file + MTS_FORMAT_HEADER + index * MTS_FORMAT_SECTION;
    const size_t bytes = section_bytes(e, index);
    if (index == MTS_FORMAT_STRINGS) {
        memcpy(file + offset, e->strings.data, bytes);
    } else if (index == MTS_FORMAT_WEIGHTS) {
        fill_weights(e, file + offset);
    } else if (bytes > 0) {
        memcpy(file + offset, e->tables[index].data, bytes);
    }
    mts_store_u32(row + MTS_SECTION_KIND, (uint32_t)index);
    mts_store_u32(row + MTS_SECTION_STRIDE, (uint32_t)stride_of(e, index));
    mts_store_u64(row + MTS_SECTION_OFFSET, offset);
    mts_store_u64(row + MTS_SECTION_RECORDS, bytes / stride_of(e, index));
    mts_store_u64(row + MTS_SECTION_HASH, mts_hash(file + offset, bytes, index));
}

static void fill_header(const encoder *e, unsigned char *file, size_t size)
{
    for (size_t i = 0; i < MTS_FORMAT_MAGIC_SIZE; i++) {
        file[i] = (unsigned char)MTS_FORMAT_MAGIC[i];
    }
    mts_store_u32(file + MTS_HEADER_VERSION, e->crops ? MTS_FORMAT_VERSION : MTS_FORMAT_VERSION_FIRST);
    mts_store_u32(file + MTS_HEADER_ENDIAN, MTS_FORMAT_ENDIAN);
    mts_store_u64(file + MTS_HEADER_SIZE, size);
    mts_store_u32(file + MTS_HEADER_SECTIONS, MTS_FORMAT_SECTION_COUNT);
    const uint64_t hash = mts_hash(file, MTS_HEADER_HASH, 0);
    const size_t table_size = (size_t)MTS_FORMAT_SECTION * MTS_FORMAT_SECTION_COUNT;
    mts_store_u64(file + MTS_HEADER_HASH, mts_hash(file + MTS_FORMAT_HEADER, table_size, hash));
}

static bool assemble(const encoder *e, mts_bundle_bytes *out)
{
    size_t offsets[MTS_FORMAT_SECTION_COUNT], size = 0, room = 0;
    if (e->failed || !place(e, offsets, &size) || !mts_size_add(size, MTS_FORMAT_ALIGN, &room)) {
        return false;
    }
    out->memory = mts_alloc_zero(e->allocator, room, 1);
    if (!out->memory) {
        return false;
    }
    const size_t skew = (uintptr_t)out->memory % MTS_FORMAT_ALIGN;
    out->data = (unsigned char *)out->memory + (skew ? MTS_FORMAT_ALIGN - skew : 0);
    out->size = size;
    for (size_t i = 0; i < MTS_FORMAT_SECTION_COUNT; i++) {
        fill_section(e, out->data, i, offsets[i]);
    }
    fill_header(e, out->data, size);
    return true;
}

mts_status mts_bundle_encode(const mts_archive *archive, const mts_allocator *allocator,
                             mts_bundle_bytes *out, mts_error *error)
{
    encoder e = {.archive = archive, .allocator = allocator};
    *out = (mts_bundle_bytes){.allocator = allocator};
    mts_strings_init(&e.strings, allocator);
    (void)string(&e, ""); /* the strings are never empty */
    for (uint32_t i = 0; i < archive->task_count; i++) {
        e.crops = e.crops || archive->tasks[i].preprocess.crop[2] > 0.0f;
    }
    for (uint32_t i = 0; i < archive->task_count; i++) {
        put_task(&e, &archive->tasks[i]);
    }
    for (uint32_t i = 0; i < archive->block_count; i++) {
        put_block(&e, &archive->blocks[i]);
    }
    const bool done = assemble(&e, out);
    for (size_t i = 0; i < MTS_FORMAT_SECTION_COUNT; i++) {
        mts_alloc_free(allocator, e.tables[i].data);
    }
    mts_strings_release(&e.strings);
    return done ? MTS_STATUS_OK : mts_fail_memory(error);
}

void mts_bundle_bytes_release(mts_bundle_bytes *bytes)
{
    mts_alloc_free(bytes->allocator, bytes->memory);
    *bytes = (mts_bundle_bytes){.allocator = bytes->allocator};
}

static mts_status check_bytes(const mts_bundle_bytes *bytes, const char *path, const mts_allocator *allocator,
                              mts_error *error)
{
    mts_archive *archive = NULL;
    mts_status status = mts_archive_read(bytes->data, bytes->size, path, NULL, allocator, &archive, error);
    mts_archive_destroy(&archive);
    if (status == MTS_STATUS_MALFORMED) {
        status =
            mts_fail_prefix(error, MTS_STATUS_INTERNAL, "the compiler made a bundle that cannot be read");
    }
    return status;
}

mts_status mts_bundle_write(const mts_archive *archive, const char *path, const mts_allocator *allocator,
                            mts_error *error)
{
    mts_bundle_bytes bytes = {.allocator = allocator};
    mts_status status = mts_bundle_encode(archive, allocator, &bytes, error);
    MTS_TRY(status, check_bytes(&bytes, path, allocator, error));
    MTS_TRY(status, mts_os_file_write(path, bytes.data, bytes.size, error));
    mts_bundle_bytes_release(&bytes);
    return status;
}
