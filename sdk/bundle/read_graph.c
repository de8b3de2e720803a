/*
 * read_graph.c: one task's graph from the records of a bundle.
 *
 * Here every count, offset and index is made safe to follow; whether the graph makes
 * sense is for mts_graph_verify, which is called at the end.
 */
#include "bundle/reader.h"

#include "base/size.h"
#include "bundle/attrs.h"

#define ELEMENTS_MAX ((int64_t)1 << 31)
#define REFS_MAX 1024u /* of one constant: checking that they do not overlap takes the square of it */

static mts_status read_name(mts_reader *reader, const unsigned char *record, const char **out)
{
    return mts_section_string(&reader->sections, mts_load_u32(record), out, reader->error);
}

/* A constant's matrix is computed from its shape, so that must be sound before blocks are
   looked at. */
static bool shape_sound(const mts_shape *shape)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] <= 0 || shape->dims[i] >= ELEMENTS_MAX || count * shape->dims[i] >= ELEMENTS_MAX) {
            return false;
        }
        count *= shape->dims[i];
    }
    return true;
}

/* The referred block holds exactly the cells of the reference. */
static mts_status read_ref(mts_reader *reader, const mts_value *value, const unsigned char *record,
                           mts_block_ref *out)
{
    uint32_t rows = 0, columns = 0, inner = 0;
    mts_value_matrix(value, &rows, &columns, &inner);
    out->block = mts_load_u32(record + MTS_REF_BLOCK);
    out->out_first = mts_load_u32(record + MTS_REF_OUT_FIRST);
    out->out_count = mts_load_u32(record + MTS_REF_OUT_COUNT);
    out->in_first = mts_load_u32(record + MTS_REF_IN_FIRST);
    out->in_count = mts_load_u32(record + MTS_REF_IN_COUNT);
    if (out->block >= reader->archive->block_count) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED, "no block %u", out->block);
    }
    const mts_block *block = &reader->archive->blocks[out->block];
    size_t size = 0;
    if (!mts_size_mul(out->out_count, out->in_count, &size) || !mts_size_mul(size, inner, &size) ||
        !mts_size_mul(size, mts_type_size(value->dtype), &size) || size != block->size ||
        value->dtype != block->dtype) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED, "block %u (%s, %zu bytes) does not fit",
                        out->block, mts_type_name(block->dtype), block->size);
    }
    out->data = block->data;
    return MTS_STATUS_OK;
}

static mts_status read_refs(mts_reader *reader, uint32_t count, mts_value *value)
{
    const unsigned char *records = NULL;
    mts_status status = mts_section_take(&reader->refs, count, &records, reader->error);
    if (status != MTS_STATUS_OK || count == 0) {
        return status;
    }
    if (value->kind != MTS_VALUE_CONST || !shape_sound(&value->shape)) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED,
                        "its shape is out of range or it is no constant");
    }
    if (count > REFS_MAX) {
        return mts_fail(reader->error, MTS_STATUS_LIMIT, "%u blocks, at most %u are possible", count,
                        REFS_MAX);
    }
    value->blocks = mts_arena_zero(&reader->archive->arena, count, sizeof(*value->blocks));
    if (!value->blocks) {
        return mts_fail_memory(reader->error);
    }
    for (uint32_t i = 0; i < count && status == MTS_STATUS_OK; i++) {
        status =
            read_ref(reader, value, records + i * mts_section_stride(MTS_FORMAT_REFS), &value->blocks[i]);
    }
    value->block_count = count;
    return status;
}

static mts_status read_value(mts_reader *reader, const unsigned char *record, mts_value *out)
{
    const uint32_t kind = mts_load_u32(record + MTS_VALUE_KIND);
    out->producer = MTS_NONE;
    if (kind > MTS_VALUE_NODE || mts_load_u32(record + MTS_VALUE_RESERVED) != 0) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED, "kind %u or a reserved field is out of range",
                        kind);
    }
    out->kind = (mts_value_kind)kind;
    mts_status status = read_name(reader, record + MTS_VALUE_NAME, &out->name);
    MTS_TRY(status, mts_reader_dtype(reader, record + MTS_VALUE_DTYPE, &out->dtype));
    MTS_TRY(status, mts_reader_shape(reader, record + MTS_VALUE_RANK, record + MTS_VALUE_DIMS, &out->shape));
    return status == MTS_STATUS_OK ? read_refs(reader, mts_load_u32(record + MTS_VALUE_REFS), out) : status;
}

static mts_status read_values(mts_reader *reader, mts_graph *graph, uint32_t count)
{
    const unsigned char *records = NULL;
    mts_status status = mts_reader_take(reader, &reader->values, count, sizeof *graph->values, &records,
                                        (void **)&graph->values);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
        status = read_value(reader, records + i * mts_section_stride(MTS_FORMAT_VALUES), &graph->values[i]);
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(reader->error, status, "value %u", i);
        }
    }
    graph->value_count = count;
    graph->value_capacity = count;
    return status;
}

static mts_status read_attrs(mts_reader *reader, uint32_t count, mts_node *out)
{
    const unsigned char *records = NULL;
    uint32_t words[MTS_ATTRS_WORDS_MAX];
    if (count != mts_attrs_words(out->op) || count > MTS_ATTRS_WORDS_MAX) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED, "%u attribute words for operator %s", count,
                        mts_op_name(out->op));
    }
    mts_status status = mts_section_take(&reader->attrs, count, &records, reader->error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    for (uint32_t i = 0; i < count; i++) {
        words[i] = mts_load_u32(records + 4u * (size_t)i);
    }
    mts_attrs_decode(out->op, words, &out->attrs);
    return MTS_STATUS_OK;
}

/* As many entries as the weight has rows: what mts_graph_verify will read. */
static mts_status read_scatter(mts_reader *reader, const mts_graph *graph, uint32_t count, mts_node *out)
{
    if (count == 0) {
        return MTS_STATUS_OK;
    }
    const uint32_t weight = out->input_count > 1 ? out->inputs[1] : MTS_NONE;
    if (out->op != MTS_OP_CONV || weight >= graph->value_count || graph->values[weight].shape.rank != 4 ||
        graph->values[weight].shape.dims[0] != (int64_t)count) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED, "its scatter list of %u entries does not fit",
                        count);
    }
    uint32_t *scatter = NULL;
    const mts_status status = mts_reader_numbers(reader, &reader->scatter, count, &scatter);
    out->scatter = scatter;
    return status;
}

static mts_status read_node(mts_reader *reader, mts_graph *graph, uint32_t index, const unsigned char *record)
{
    mts_node *node = &graph->nodes[index];
    const uint32_t op = mts_load_u32(record + MTS_NODE_OP);
    node->output = mts_load_u32(record + MTS_NODE_OUTPUT);
    if (op >= MTS_OP_COUNT || node->output >= graph->value_count ||
        graph->values[node->output].producer != MTS_NONE) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED, "operator %u or output value %u is out of range",
                        op, node->output);
    }
    node->op = (mts_op)op;
    graph->values[node->output].producer = index;
    mts_status status = read_name(reader, record + MTS_NODE_NAME, &node->name);
    node->input_count = mts_load_u32(record + MTS_NODE_INPUTS);
    MTS_TRY(status, mts_reader_numbers(reader, &reader->inputs, node->input_count, &node->inputs));
    MTS_TRY(status, read_attrs(reader, mts_load_u32(record + MTS_NODE_ATTRS), node));
    MTS_TRY(status, read_scatter(reader, graph, mts_load_u32(record + MTS_NODE_SCATTER), node));
    return status;
}

static mts_status read_nodes(mts_reader *reader, mts_graph *graph, uint32_t count)
{
    const unsigned char *records = NULL;
    mts_status status = mts_reader_take(reader, &reader->nodes, count, sizeof *graph->nodes, &records,
                                        (void **)&graph->nodes);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
        status = read_node(reader, graph, i, records + i * mts_section_stride(MTS_FORMAT_NODES));
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(reader->error, status, "node %u", i);
        }
    }
    graph->node_count = count;
    graph->node_capacity = count;
    return status;
}

static mts_status read_port(mts_reader *reader, const unsigned char *record, mts_port *out)
{
    out->value = mts_load_u32(record + MTS_PORT_VALUE);
    mts_status status = read_name(reader, record + MTS_PORT_NAME, &out->name);
    MTS_TRY(status, mts_reader_dtype(reader, record + MTS_PORT_DTYPE, &out->dtype));
    return status == MTS_STATUS_OK
               ? mts_reader_shape(reader, record + MTS_PORT_RANK, record + MTS_PORT_DIMS, &out->shape)
               : status;
}

static mts_status read_ports(mts_reader *reader, uint32_t count, mts_port **out)
{
    const unsigned char *records = NULL;
    mts_status status = mts_reader_take(reader, &reader->ports, count, sizeof **out, &records, (void **)out);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
        status = read_port(reader, records + i * mts_section_stride(MTS_FORMAT_PORTS), &(*out)[i]);
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(reader->error, status, "port %u", i);
        }
    }
    return status;
}

mts_status mts_reader_shape(mts_reader *reader, const unsigned char *rank, const unsigned char *dims,
                            mts_shape *out)
{
    out->rank = mts_load_u32(rank);
    if (out->rank > MTS_TENSOR_RANK_MAX) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED, "rank %u is above %d", out->rank,
                        MTS_TENSOR_RANK_MAX);
    }
    for (uint32_t i = 0; i < MTS_TENSOR_RANK_MAX; i++) {
        out->dims[i] = (int64_t)mts_load_u64(dims + 8u * (size_t)i);
        if (i >= out->rank && out->dims[i] != 0) {
            return mts_fail(reader->error, MTS_STATUS_MALFORMED, "an unused dimension is not zero");
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_reader_dtype(mts_reader *reader, const unsigned char *bytes, mts_type *out)
{
    const uint32_t dtype = mts_load_u32(bytes);
    if (dtype >= MTS_TYPE_COUNT) {
        return mts_fail(reader->error, MTS_STATUS_MALFORMED, "element type %u does not exist", dtype);
    }
    *out = (mts_type)dtype;
    return MTS_STATUS_OK;
}

mts_status mts_reader_graph(mts_reader *reader, const char *name, const mts_reader_counts *counts,
                            mts_graph **out)
{
    mts_arena *arena = &reader->archive->arena;
    mts_graph *graph = mts_arena_zero(arena, 1, sizeof(*graph));
    if (!graph) {
        return mts_fail_memory(reader->error);
    }
    graph->arena = arena;
    graph->name = name;
    mts_status status = read_values(reader, graph, counts->values);
    MTS_TRY(status, read_nodes(reader, graph, counts->nodes));
    MTS_TRY(status, read_ports(reader, counts->inputs, &graph->inputs));
    MTS_TRY(status, read_ports(reader, counts->outputs, &graph->outputs));
    if (status == MTS_STATUS_OK) {
        graph->input_count = counts->inputs;
        graph->output_count = counts->outputs;
        status = mts_graph_verify(graph, reader->error);
    }
    *out = graph;
    return status;
}
