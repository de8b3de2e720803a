/*
 * verify.c: everything a loader must know before it trusts a graph from a file.
 *
 * The pointers of the graph must be valid for the counts it states (the bundle reader
 * sees to that); every number behind them is checked here.
 */
#include "graph/check.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "graph/limits.h"

static mts_status check_value(const mts_value *value, uint32_t index, mts_error *error)
{
    if (!value->name || (unsigned)value->kind > MTS_VALUE_NODE || (unsigned)value->dtype >= MTS_TYPE_COUNT) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "value %u: name, kind or type is out of range", index);
    }
    mts_status status = mts_graph_check_shape(&value->shape, error);
    if (status != MTS_STATUS_OK) {
        return mts_fail_prefix(error, status, "value '%s'", value->name);
    }
    if ((value->kind == MTS_VALUE_NODE) != (value->producer != MTS_NONE)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "value '%s': its kind does not fit its producer",
                        value->name);
    }
    if (value->kind == MTS_VALUE_NODE && value->dtype != MTS_TYPE_FLOAT32) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "value '%s': a node's output must be float32",
                        value->name);
    }
    if (value->kind != MTS_VALUE_CONST) {
        return value->block_count == 0 ? MTS_STATUS_OK
                                       : mts_fail(error, MTS_STATUS_MALFORMED,
                                                  "value '%s' is no constant but has blocks", value->name);
    }
    if (value->dtype != MTS_TYPE_FLOAT32 && value->dtype != MTS_TYPE_FLOAT16 &&
        value->dtype != MTS_TYPE_INT8 && value->dtype != MTS_TYPE_INT32) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "constant '%s' may not be of type %s", value->name,
                        mts_type_name(value->dtype));
    }
    return mts_graph_check_blocks(value, error);
}

static bool same_name(const void *entries, uint32_t index, const void *key)
{
    const mts_value *values = entries;
    return strcmp(values[index].name, key) == 0;
}

static mts_status check_names(const mts_graph *graph, mts_error *error)
{
    mts_map names;
    mts_map_init(&names, graph->arena->allocator);
    mts_status status = mts_map_reserve(&names, graph->value_count) ? MTS_STATUS_OK : mts_fail_memory(error);
    for (uint32_t i = 0; i < graph->value_count && status == MTS_STATUS_OK; i++) {
        const char *name = graph->values[i].name;
        const uint64_t hash = mts_hash_text(name);
        if (mts_map_find(&names, hash, same_name, graph->values, name) != MTS_MAP_NONE) {
            status = mts_fail(error, MTS_STATUS_MALFORMED, "two values are named '%s'", name);
        }
        (void)mts_map_add(&names, hash, i); /* reserved */
    }
    mts_map_release(&names);
    return status;
}

static mts_status check_order(const mts_graph *graph, const mts_node *node, uint32_t index, mts_error *error)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t input = node->inputs[i];
        if (input == MTS_NONE) {
            continue;
        }
        if (input >= graph->value_count) {
            return mts_fail(error, MTS_STATUS_MALFORMED, "input %u refers to value %u of %u", i, input,
                            graph->value_count);
        }
        const mts_value *value = &graph->values[input];
        if (value->kind == MTS_VALUE_NODE && value->producer >= index) {
            return mts_fail(error, MTS_STATUS_MALFORMED, "input %u ('%s') is not computed before the node", i,
                            value->name);
        }
    }
    if (node->output >= graph->value_count || graph->values[node->output].kind != MTS_VALUE_NODE ||
        graph->values[node->output].producer != index) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "its output is not a value of its own");
    }
    return MTS_STATUS_OK;
}

static mts_status check_node(const mts_graph *graph, uint32_t index, mts_error *error)
{
    const mts_node *node = &graph->nodes[index];
    mts_shape shape = {0};
    if (!node->name || (!node->inputs && node->input_count)) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "node %u has no name or inputs", index);
    }
    mts_status status = check_order(graph, node, index, error);
    MTS_TRY(status, mts_graph_check_node(graph, node, &shape, error));
    if (status == MTS_STATUS_OK && !mts_shape_equal(&shape, &graph->values[node->output].shape)) {
        status =
            mts_fail(error, MTS_STATUS_MALFORMED, "the stored output shape differs from the inferred one");
    }
    return status == MTS_STATUS_OK ? status
                                   : mts_fail_prefix(error, status, "node %u '%s'", index, node->name);
}

/* Each node owns one output (check_order), so equal counts mean that each produced value
   has its node. */
static mts_status check_producers(const mts_graph *graph, mts_error *error)
{
    uint32_t produced = 0;
    for (uint32_t i = 0; i < graph->value_count; i++) {
        produced += graph->values[i].kind == MTS_VALUE_NODE;
    }
    return produced == graph->node_count
               ? MTS_STATUS_OK
               : mts_fail(error, MTS_STATUS_MALFORMED, "%u computed values for %u nodes", produced,
                          graph->node_count);
}

static mts_status check_port(const mts_graph *graph, const mts_port *ports, uint32_t index, bool input,
                             mts_error *error)
{
    const mts_port *port = &ports[index];
    const char *what = input ? "input" : "output";
    if (!port->name || port->value >= graph->value_count || (unsigned)port->dtype >= MTS_TYPE_COUNT) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "%s %u: name, value or type is out of range", what,
                        index);
    }
    const mts_value *value = &graph->values[port->value];
    mts_status status = mts_graph_check_shape(&port->shape, error);
    if (status != MTS_STATUS_OK) {
        return mts_fail_prefix(error, status, "%s '%s'", what, port->name);
    }
    bool fits = input ? value->kind == MTS_VALUE_INPUT && mts_shape_equal(&port->shape, &value->shape) &&
                            port->dtype == value->dtype
                      : mts_shape_count(&port->shape) == mts_shape_count(&value->shape) &&
                            (value->kind != MTS_VALUE_CONST || value->dtype == MTS_TYPE_FLOAT32);
    if (!fits) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "%s '%s' does not fit its value", what, port->name);
    }
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(ports[i].name, port->name) == 0 || (input && ports[i].value == port->value)) {
            return mts_fail(error, MTS_STATUS_MALFORMED, "%s '%s' occurs twice", what, port->name);
        }
    }
    return MTS_STATUS_OK;
}

static mts_status check_ports(const mts_graph *graph, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    uint32_t inputs = 0;
    for (uint32_t i = 0; i < graph->value_count; i++) {
        inputs += graph->values[i].kind == MTS_VALUE_INPUT;
    }
    if (inputs != graph->input_count) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "%u input values for %u inputs", inputs,
                        graph->input_count);
    }
    for (uint32_t i = 0; i < graph->input_count && status == MTS_STATUS_OK; i++) {
        status = check_port(graph, graph->inputs, i, true, error);
    }
    for (uint32_t i = 0; i < graph->output_count && status == MTS_STATUS_OK; i++) {
        status = check_port(graph, graph->outputs, i, false, error);
    }
    return status;
}

mts_status mts_graph_verify(const mts_graph *graph, mts_error *error)
{
    if (graph->value_count > MTS_GRAPH_NODES_MAX || graph->node_count > MTS_GRAPH_NODES_MAX ||
        graph->input_count > MTS_GRAPH_PORTS_MAX || graph->output_count > MTS_GRAPH_PORTS_MAX) {
        return mts_fail(error, MTS_STATUS_LIMIT, "too many values, nodes, inputs or outputs");
    }
    if (!graph->name || graph->output_count == 0) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "a graph has no %s", graph->name ? "output" : "name");
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; i < graph->value_count && status == MTS_STATUS_OK; i++) {
        status = check_value(&graph->values[i], i, error);
    }
    MTS_TRY(status, check_names(graph, error));
    for (uint32_t i = 0; i < graph->node_count && status == MTS_STATUS_OK; i++) {
        status = check_node(graph, i, error);
    }
    MTS_TRY(status, check_producers(graph, error));
    return status == MTS_STATUS_OK ? check_ports(graph, error) : status;
}
