/*
 * op.c: the table of operators, and the questions of graph.h that a row answers.
 *
 * Not responsible for the rules of any operator: they stand with its row in
 * sdk/graph/ops.
 */
#include "graph/op.h"

#include "base/check.h"

static const mts_op_row *const rows[MTS_OP_COUNT] = {
#define OP_ROW(NAME, row) [MTS_OP_##NAME] = &mts_op_##row,
    MTS_OPS(OP_ROW)
#undef OP_ROW
};

const mts_op_row *mts_op_find(mts_op op)
{
    return (unsigned)op < MTS_OP_COUNT ? rows[op] : NULL;
}

const char *mts_op_name(mts_op op)
{
    const mts_op_row *row = mts_op_find(op);
    return row ? row->name : "unknown";
}

mts_op_input mts_op_input_kind(mts_op op, uint32_t index)
{
    MTS_CHECK((unsigned)op < MTS_OP_COUNT);
    const uint32_t last = sizeof rows[op]->inputs / sizeof rows[op]->inputs[0] - 1;
    return rows[op]->inputs[index < last ? index : last];
}

bool mts_op_takes_constant(mts_op op, uint32_t index)
{
    return mts_op_input_kind(op, index) != MTS_OP_INPUT_DATA;
}

uint32_t mts_op_weight_out(mts_op op)
{
    return rows[op]->weight_out;
}

const mts_act *mts_node_act(const mts_node *node)
{
    const mts_op_row *row = rows[node->op];
    for (uint32_t i = 0; i < row->field_count; i++) {
        if (row->fields[i].kind == MTS_OP_FIELD_ACT) {
            return (const void *)((const char *)&node->attrs + row->fields[i].offset);
        }
    }
    return NULL;
}

bool mts_op_applies(mts_op op, uint32_t fn)
{
    return !mts_fn_is_alone(fn) || op == MTS_OP_UNARY || op == MTS_OP_BINARY || op == MTS_OP_SCALE ||
           op == MTS_OP_NORM;
}

uint64_t mts_node_mul_adds(const mts_graph *graph, const mts_node *node)
{
    const mts_op_row *row = rows[node->op];
    MTS_CHECK(node->input_count >= row->least && node->output < graph->value_count);
    return row->mul_adds(graph, node);
}

mts_propagation mts_node_propagation(const mts_graph *graph, const mts_node *node)
{
    if (graph->values[node->inputs[0]].shape.rank < 2 || graph->values[node->output].shape.rank < 2) {
        return (mts_propagation){.pass = MTS_CHANNELS_FIXED,
                                 .reason = "a tensor without a channel dimension"};
    }
    return rows[node->op]->channels(graph, node);
}

static mts_status check_inputs(const mts_op_row *row, const mts_infer_call *call)
{
    const uint32_t least = row->least, most = row->most;
    if (call->input_count < least || call->input_count > most) {
        return mts_fail(call->error, MTS_STATUS_MALFORMED, "%u inputs, wanted %u to %u", call->input_count,
                        least, most);
    }
    uint32_t required = most == MTS_OP_ANY ? call->input_count : least;
    for (uint32_t i = 0; i < call->input_count; i++) {
        if (!call->inputs[i]) {
            if (i < required) {
                return mts_fail(call->error, MTS_STATUS_MALFORMED, "input %u is missing", i);
            }
            continue;
        }
        mts_status status = mts_graph_check_shape(call->inputs[i], call->error);
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(call->error, status, "input %u", i);
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_node_infer(mts_op op, const mts_attrs *attrs, const mts_shape *const *inputs,
                          uint32_t input_count, mts_shape *out, mts_error *error)
{
    const mts_op_row *row = mts_op_find(op);
    if (!row) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "operator %u does not exist", (unsigned)op);
    }
    mts_infer_call call = {
        .op = op, .attrs = attrs, .inputs = inputs, .input_count = input_count, .error = error};
    mts_shape shape = {0};
    mts_status status = check_inputs(row, &call);
    MTS_TRY(status, row->infer(&call, &shape));
    MTS_TRY(status, mts_graph_check_shape(&shape, error));
    if (status != MTS_STATUS_OK) {
        return mts_fail_prefix(error, status, "%s", row->name);
    }
    *out = shape;
    return MTS_STATUS_OK;
}

const char *mts_node_title(const mts_graph *graph, const mts_node *node)
{
    if (node->name && node->name[0] != '\0') {
        return node->name;
    }
    const char *output = graph->values[node->output].name;
    return output ? output : "";
}
