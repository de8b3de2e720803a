/*
 * report_dot.c: the report for Graphviz: one graph, a box per stitched row, greener the
 * more of its weights is shared.
 */
#include <inttypes.h>

#include "bundle/report_kinds.h"

#define NAME_MOST 48

/* A name as the inside of a quoted Graphviz string; long names lose their head, which is
 * the less telling part. */
static void name_add(const char *name, mts_text *text)
{
    size_t length = 0;
    while (name[length]) {
        length++;
    }
    const char *from = length > NAME_MOST ? name + (length - NAME_MOST) : name;
    mts_text_add(text, "%s", length > NAME_MOST ? "..." : "");
    for (; *from; from++) {
        const unsigned char byte = (unsigned char)*from;
        if (byte == '"' || byte == '\\') {
            mts_text_add(text, "\\%c", byte);
        } else {
            mts_text_add(text, "%c", byte < 0x20 || byte >= 0x7f ? '?' : byte);
        }
    }
}

static void row_add(const mts_sharing *sharing, uint32_t family, uint32_t index, mts_text *text)
{
    const mts_sharing_row *row = &sharing->families[family].rows[index];
    const mts_graph *graph = sharing->archive->tasks[row->parts[0].task].graph;
    const mts_node *node = &graph->nodes[row->parts[0].node];
    mts_text_add(text, "    f%" PRIu32 "r%" PRIu32 " [label=\"", family, index);
    name_add(mts_node_title(graph, node), text);
    mts_text_add(text, "\\n%s, %" PRIu32 " of %" PRIu32 " tasks", mts_op_name(node->op), row->part_count,
                 sharing->families[family].task_count);
    if (row->bytes_unshared > 0) {
        const double common = (double)row->bytes_common / (double)row->bytes_unshared;
        mts_text_add(text, "\\n%" PRIu64 " of %" PRIu64 " bytes stored\", fillcolor=\"0.333 %.2f 0.95\"];\n",
                     row->bytes_stored, row->bytes_unshared, common * 0.8);
    } else {
        mts_text_add(text, "\", fillcolor=\"white\", color=\"grey60\"];\n");
    }
}

/* What stands at the end of an edge into a row: another row or an input of the family. */
static void source_add(uint32_t family, const mts_graph *graph, uint32_t value, const uint32_t *row_of,
                       mts_text *text)
{
    const uint32_t producer = graph->values[value].producer;
    if (producer != MTS_NONE) {
        mts_text_add(text, "f%" PRIu32 "r%" PRIu32, family, row_of[producer]);
        return;
    }
    for (uint32_t i = 0; i < graph->input_count; i++) {
        if (graph->inputs[i].value == value) {
            mts_text_add(text, "f%" PRIu32 "in%" PRIu32, family, i);
            return;
        }
    }
}

/* The edges of one task that an earlier task of the family has not drawn. */
static void edges_add(const mts_sharing *sharing, uint32_t family, uint32_t member, uint32_t *const *row_of,
                      mts_text *text)
{
    const mts_sharing_family *the = &sharing->families[family];
    const mts_graph *graph = sharing->archive->tasks[the->tasks[member]].graph;
    for (uint32_t r = 0; r < the->row_count; r++) {
        const mts_sharing_row *row = &the->rows[r];
        for (uint32_t p = 0; p < row->part_count; p++) {
            /* a row's edges are drawn for its first part; later parts mostly repeat
               them */
            if (p > 0 || row->parts[p].task != the->tasks[member]) {
                continue;
            }
            const mts_node *node = &graph->nodes[row->parts[p].node];
            for (uint32_t i = 0; i < node->input_count; i++) {
                const uint32_t value = node->inputs[i];
                if (value == MTS_NONE || graph->values[value].kind == MTS_VALUE_CONST) {
                    continue;
                }
                mts_text_add(text, "    ");
                source_add(family, graph, value, row_of[member], text);
                mts_text_add(text, " -> f%" PRIu32 "r%" PRIu32 ";\n", family, r);
            }
        }
    }
    for (uint32_t o = 0; o < graph->output_count; o++) {
        const uint32_t value = graph->outputs[o].value;
        mts_text_add(text,
                     "    f%" PRIu32 "t%" PRIu32 "out%" PRIu32
                     " [shape=ellipse, fillcolor=\"lightblue\", label=\"",
                     family, member, o);
        name_add(sharing->archive->tasks[the->tasks[member]].name, text);
        mts_text_add(text, "\\n");
        name_add(graph->outputs[o].name, text);
        mts_text_add(text, "\"];\n");
        if (graph->values[value].kind != MTS_VALUE_CONST) {
            mts_text_add(text, "    ");
            source_add(family, graph, value, row_of[member], text);
            mts_text_add(text, " -> f%" PRIu32 "t%" PRIu32 "out%" PRIu32 ";\n", family, member, o);
        }
    }
}

/* For each member: the row of each of its nodes. NULL if memory is short. */
static uint32_t **rows_index(mts_sharing *sharing, const mts_sharing_family *family)
{
    uint32_t **row_of = mts_arena_zero(&sharing->arena, family->task_count, sizeof(uint32_t *));
    for (uint32_t m = 0; row_of && m < family->task_count; m++) {
        const uint32_t nodes = sharing->archive->tasks[family->tasks[m]].graph->node_count;
        row_of[m] = mts_arena_zero(&sharing->arena, nodes, sizeof(uint32_t));
        if (!row_of[m]) {
            return NULL;
        }
        for (uint32_t r = 0; r < family->row_count; r++) {
            for (uint32_t p = 0; p < family->rows[r].part_count; p++) {
                if (family->rows[r].parts[p].task == family->tasks[m]) {
                    row_of[m][family->rows[r].parts[p].node] = r;
                }
            }
        }
    }
    return row_of;
}

static void inputs_add(const mts_sharing *sharing, uint32_t family, mts_text *text)
{
    const mts_sharing_family *the = &sharing->families[family];
    uint32_t most = 0;
    for (uint32_t m = 0; m < the->task_count; m++) {
        const mts_graph *graph = sharing->archive->tasks[the->tasks[m]].graph;
        for (; most < graph->input_count; most++) {
            mts_text_add(text,
                         "    f%" PRIu32 "in%" PRIu32 " [shape=ellipse, fillcolor=\"lightyellow\", label=\"",
                         family, most);
            name_add(graph->inputs[most].name, text);
            mts_text_add(text, "\"];\n");
        }
    }
}

mts_status mts_report_dot(mts_sharing *sharing, mts_text *text, mts_error *error)
{
    mts_text_add(text, "digraph bundle {\n  rankdir=TB;\n"
                       "  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10];\n");
    for (uint32_t f = 0; f < sharing->family_count; f++) {
        const mts_sharing_family *family = &sharing->families[f];
        uint32_t **row_of = rows_index(sharing, family);
        if (!row_of) {
            return mts_fail_memory(error);
        }
        mts_text_add(
            text, "  subgraph cluster_%" PRIu32 " {\n    label=\"family %" PRIu32 ", %" PRIu32 " tasks\";\n",
            f, f, family->task_count);
        inputs_add(sharing, f, text);
        for (uint32_t r = 0; r < family->row_count; r++) {
            if (family->rows[r].part_count > 0) {
                row_add(sharing, f, r, text);
            }
        }
        for (uint32_t m = 0; m < family->task_count; m++) {
            edges_add(sharing, f, m, row_of, text);
        }
        mts_text_add(text, "  }\n");
    }
    mts_text_add(text, "}\n");
    return MTS_STATUS_OK;
}
