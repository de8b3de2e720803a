/*
 * siblings.c: see siblings.h.
 */
#include "compiler/passes/siblings.h"

#include "base/size.h"

static int compare_pairs(const uint32_t a[2], const uint32_t b[2])
{
    return mts_order(MTS_COMPARE(a[0], b[0]), MTS_COMPARE(a[1], b[1]));
}

static int compare_convs(const mts_attrs_conv *a, const mts_attrs_conv *b)
{
    const int kernel = compare_pairs(a->kernel, b->kernel), stride = compare_pairs(a->stride, b->stride);
    return kernel ? kernel : stride ? stride : compare_pairs(a->dilation, b->dilation);
}

/* Whether the second of two neighbours should and may come first. */
static bool should_swap(const mts_node *a, const mts_node *b)
{
    return a->op == MTS_OP_CONV && b->op == MTS_OP_CONV && a->inputs[0] == b->inputs[0] &&
           !mts_u32_find(b->inputs, b->input_count, a->output) &&
           compare_convs(&a->attrs.conv, &b->attrs.conv) > 0;
}

static void place(mts_graph *graph, uint32_t at, mts_node node)
{
    graph->nodes[at] = node;
    graph->values[node.output].producer = at;
}

void mts_graph_sort_siblings(mts_graph *graph)
{
    for (uint32_t n = 1; n < graph->node_count; n++) {
        for (uint32_t at = n; at > 0 && should_swap(&graph->nodes[at - 1], &graph->nodes[at]); at--) {
            const mts_node first = graph->nodes[at - 1];
            place(graph, at - 1, graph->nodes[at]);
            place(graph, at, first);
        }
    }
}
