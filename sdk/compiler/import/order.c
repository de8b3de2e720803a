/*
 * order.c: which ONNX nodes the outputs need, and in which order they can be computed.
 *
 * ONNX asks for sorted nodes; files that are not sorted are read all the same. The walk keeps its own stack,
 * for a chain of nodes may be as long as a file.
 */
#include "compiler/import/lower.h"

#include <string.h>

typedef enum mark { MARK_UNSEEN = 0, MARK_NEEDED, MARK_OPEN, MARK_DONE } mark;

typedef struct frame {
    uint32_t node;
    size_t next; /* input to look at */
} frame;

typedef struct walk {
    mts_import *import;
    unsigned char *marks; /* mark of each node */
    frame *stack;         /* a node is on it once */
    uint32_t *order;
    uint32_t depth, count;
} walk;

static uint32_t producer_of(mts_import *import, const char *name)
{
    const mts_import_name *entry = mts_import_find(import, name);
    return entry ? entry->producer : MTS_NONE;
}

static void push(walk *w, uint32_t node, mark as)
{
    w->marks[node] = (unsigned char)as;
    w->stack[w->depth++] = (frame){.node = node};
}

/* Marks everything behind the outputs. */
static void mark_needed(walk *w)
{
    const Onnx__GraphProto *graph = w->import->proto;
    for (size_t i = 0; i < graph->n_output; i++) {
        uint32_t node = producer_of(w->import, graph->output[i]->name ? graph->output[i]->name : "");
        if (node != MTS_NONE && w->marks[node] == MARK_UNSEEN) {
            push(w, node, MARK_NEEDED);
        }
        while (w->depth > 0) {
            const Onnx__NodeProto *proto = graph->node[w->stack[--w->depth].node];
            for (size_t j = 0; j < proto->n_input; j++) {
                node = producer_of(w->import, proto->input[j]);
                if (node != MTS_NONE && w->marks[node] == MARK_UNSEEN) {
                    push(w, node, MARK_NEEDED);
                }
            }
        }
    }
}

static void fail_cycle(walk *w, uint32_t node)
{
    const Onnx__NodeProto *proto = w->import->proto->node[node];
    mts_import_fail(w->import, MTS_STATUS_MALFORMED, "node '%s' (%s, opset %lld): it reads its own result",
                    proto->name ? proto->name : "", proto->op_type, (long long)w->import->opset);
}

/* Appends a node after everything that it reads. */
static void visit(walk *w, uint32_t start)
{
    push(w, start, MARK_OPEN);
    while (w->depth > 0 && mts_import_ok(w->import)) {
        frame *top = &w->stack[w->depth - 1];
        const Onnx__NodeProto *proto = w->import->proto->node[top->node];
        if (top->next == proto->n_input) {
            w->marks[top->node] = MARK_DONE;
            w->order[w->count++] = top->node;
            w->depth--;
            continue;
        }
        uint32_t node = producer_of(w->import, proto->input[top->next++]);
        if (node != MTS_NONE && w->marks[node] == MARK_NEEDED) {
            push(w, node, MARK_OPEN);
        } else if (node != MTS_NONE && w->marks[node] == MARK_OPEN) {
            fail_cycle(w, node);
        }
    }
}

const uint32_t *mts_import_order(mts_import *import, uint32_t *count)
{
    uint32_t nodes = (uint32_t)import->proto->n_node;
    walk w = {.import = import,
              .marks = mts_arena_zero(&import->scratch, nodes, 1),
              .stack = mts_arena_zero(&import->scratch, nodes, sizeof(frame)),
              .order = mts_arena_zero(&import->scratch, nodes, sizeof(uint32_t))};
    if (!w.marks || !w.stack || !w.order) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for nodes");
        return NULL;
    }
    mark_needed(&w);
    for (uint32_t i = 0; i < nodes && mts_import_ok(import); i++) {
        if (w.marks[i] == MARK_NEEDED) {
            visit(&w, i);
        }
    }
    *count = w.count;
    return mts_import_ok(import) ? w.order : NULL;
}
