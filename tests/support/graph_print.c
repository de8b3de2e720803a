/*
 * graph_print.c: see graph_print.h.
 */
#include "support/graph_print.h"

#include <inttypes.h>

#include "graph/op.h"

static void print_field(const mts_op_field *field, const unsigned char *from, mts_text *text)
{
    for (uint32_t i = 0; i < field->count; i++) {
        const char *separator = i > 0 ? "," : " ";
        switch (field->kind) {
        case MTS_OP_FIELD_WORD:
            mts_text_add(text, "%s%" PRId32, separator, ((const int32_t *)(const void *)from)[i]);
            break;
        case MTS_OP_FIELD_FLOAT:
            mts_text_add(text, "%s%g", separator, (double)((const float *)(const void *)from)[i]);
            break;
        case MTS_OP_FIELD_LONG:
            mts_text_add(text, "%s%" PRId64, separator, ((const int64_t *)(const void *)from)[i]);
            break;
        case MTS_OP_FIELD_ACT: {
            const mts_act *act = &((const mts_act *)(const void *)from)[i];
            mts_text_add(text, "%s%" PRIu32 "(%g,%g)", separator, act->fn, (double)act->a, (double)act->b);
            break;
        }
        }
    }
}

static void print_node(const mts_graph *graph, uint32_t index, mts_text *text)
{
    const mts_node *node = &graph->nodes[index];
    const mts_op_row *row = mts_op_find(node->op);
    const mts_value *out = &graph->values[node->output];
    char shape[96];
    mts_text_add(text, "%4u %-9s %s(", index, row->name, node->name);
    for (uint32_t i = 0; i < node->input_count; i++) {
        const uint32_t input = node->inputs[i];
        mts_text_add(text, "%s%s", i > 0 ? ", " : "", input == MTS_NONE ? "-" : graph->values[input].name);
    }
    mts_text_add(text, ") -> %s %s", out->name, mts_shape_text(&out->shape, shape, sizeof shape));
    for (uint32_t i = 0; i < row->field_count; i++) {
        print_field(&row->fields[i], (const unsigned char *)&node->attrs + row->fields[i].offset, text);
    }
    mts_text_add(text, "\n");
}

static void print_port(const char *what, const mts_graph *graph, const mts_port *port, mts_text *text)
{
    char shape[96];
    mts_text_add(text, "%s %s (%s) %s %s\n", what, port->name, graph->values[port->value].name,
                 mts_type_name(port->dtype), mts_shape_text(&port->shape, shape, sizeof shape));
}

void graph_print(const mts_graph *graph, mts_text *text)
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
