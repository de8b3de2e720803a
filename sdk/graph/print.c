/*
 * print.c: a listing of a graph for people, one node a line.
 */
#include "graph/op.h"

static void print_node(const mts_graph *graph, uint32_t index, mts_text *text)
{
    const mts_node *node = &graph->nodes[index];
    char shape[96];
    mts_text_add(text, "%4u %-9s %s(", index, mts_op_name(node->op), node->name);
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t input = node->inputs[i];
        mts_text_add(text, "%s%s", i ? ", " : "", input == MTS_NONE ? "-" : graph->values[input].name);
    }
    const mts_value *out = &graph->values[node->output];
    mts_text_add(text, ") -> %s %s", out->name, mts_shape_text(&out->shape, shape, sizeof(shape)));
    const mts_op_row *row = mts_op_find(node->op);
    if (row->print) {
        row->print(graph, node, text);
    }
    mts_text_add(text, "\n");
}

static void print_port(const char *what, const mts_graph *graph, const mts_port *port, mts_text *text)
{
    char shape[96];
    mts_text_add(text, "%s %s (%s) %s %s\n", what, port->name, graph->values[port->value].name,
                 mts_type_name(port->dtype), mts_shape_text(&port->shape, shape, sizeof(shape)));
}

const char *mts_node_title(const mts_graph *graph, const mts_node *node)
{
    if (node->name && node->name[0] != '\0') {
        return node->name;
    }
    const char *output = graph->values[node->output].name;
    return output ? output : "";
}

void mts_graph_print(const mts_graph *graph, mts_text *text)
{
    mts_text_add(text, "graph %s: %u nodes\n", graph->name, graph->node_count);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        print_port("input", graph, &graph->inputs[i], text);
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        print_node(graph, i, text);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        print_port("output", graph, &graph->outputs[i], text);
    }
}
