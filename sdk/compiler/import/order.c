/*
 * order.c: which ONNX nodes the outputs need, and in which order they can be computed.
 *
 * ONNX asks for sorted nodes; files that are not sorted are read all the same. The walk
 * keeps its own stack, for a chain of nodes may be as long as a file.
 */
#include "compiler/import/lower.h"

typedef enum mark { MARK_UNSEEN = 0, MARK_NEEDED, MARK_OPEN, MARK_DONE } mark;

typedef struct frame {
    uint32_t node;
    size_t next; /* input to look at */
} frame;

/* What a node reads: its inputs, and what the graphs in its attributes may read from
   outside. */
typedef struct reads {
    char *const *names;
    size_t count, capacity;
} reads;

typedef struct walk {
    mts_import *import;
    reads *reads;         /* of each node */
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

/* ---- what nodes read ---- */

static bool has_graph(const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_attribute; i++) {
        if (node->attribute[i]->g) {
            return true;
        }
    }
    return false;
}

static void add_read(mts_import *import, reads *list, char *name)
{
    void *names = (void *)list->names;
    if (!mts_import_charge(import, 1)) {
        return;
    }
    if (!mts_arena_grow(&import->scratch, &names, &list->capacity, list->count + 1, sizeof(char *))) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for names");
        return;
    }
    ((char **)names)[list->count++] = name;
    list->names = names;
}

/* Every name that the graphs mention: those that they define themselves have no producer
   outside. The depth is bounded by that of the file's messages. */
static void add_captured(mts_import *import, reads *list, const Onnx__NodeProto *node)
{
    for (size_t a = 0; a < node->n_attribute; a++) {
        const Onnx__GraphProto *graph = node->attribute[a]->g;
        for (size_t n = 0; graph && n < graph->n_node && mts_import_ok(import); n++) {
            for (size_t i = 0; i < graph->node[n]->n_input; i++) {
                add_read(import, list, graph->node[n]->input[i]);
            }
            add_captured(import, list, graph->node[n]);
        }
        for (size_t i = 0; graph && i < graph->n_output && mts_import_ok(import); i++) {
            if (graph->output[i]->name) {
                add_read(import, list, graph->output[i]->name);
            }
        }
    }
}

static void read_lists(walk *w, uint32_t nodes)
{
    for (uint32_t n = 0; n < nodes && mts_import_ok(w->import); n++) {
        const Onnx__NodeProto *node = w->import->scope->nodes[n];
        reads *list = &w->reads[n];
        if (!has_graph(node)) {
            *list = (reads){.names = node->input, .count = node->n_input};
            continue;
        }
        for (size_t i = 0; i < node->n_input; i++) {
            add_read(w->import, list, node->input[i]);
        }
        add_captured(w->import, list, node);
    }
}

/* ---- the walk ---- */

static void push(walk *w, uint32_t node, mark as)
{
    w->marks[node] = (unsigned char)as;
    w->stack[w->depth++] = (frame){.node = node};
}

/* Marks everything behind the outputs. */
static void mark_needed(walk *w, const char *const *outputs, size_t output_count)
{
    for (size_t i = 0; i < output_count; i++) {
        uint32_t node = producer_of(w->import, outputs[i]);
        if (node != MTS_NONE && w->marks[node] == MARK_UNSEEN) {
            push(w, node, MARK_NEEDED);
        }
        while (w->depth > 0) {
            const reads *list = &w->reads[w->stack[--w->depth].node];
            for (size_t j = 0; j < list->count; j++) {
                node = producer_of(w->import, list->names[j]);
                if (node != MTS_NONE && w->marks[node] == MARK_UNSEEN) {
                    push(w, node, MARK_NEEDED);
                }
            }
        }
    }
}

static void fail_cycle(walk *w, uint32_t node)
{
    const Onnx__NodeProto *proto = w->import->scope->nodes[node];
    mts_import_fail(w->import, MTS_STATUS_MALFORMED, "node '%s' (%s, opset %lld): it reads its own result",
                    proto->name ? proto->name : "", proto->op_type, (long long)w->import->opset);
}

/* Appends a node after everything that it reads. */
static void visit(walk *w, uint32_t start)
{
    push(w, start, MARK_OPEN);
    while (w->depth > 0 && mts_import_ok(w->import)) {
        frame *top = &w->stack[w->depth - 1];
        const reads *list = &w->reads[top->node];
        if (top->next == list->count) {
            w->marks[top->node] = MARK_DONE;
            w->order[w->count++] = top->node;
            w->depth--;
            continue;
        }
        uint32_t node = producer_of(w->import, list->names[top->next++]);
        if (node != MTS_NONE && w->marks[node] == MARK_NEEDED) {
            push(w, node, MARK_OPEN);
        } else if (node == top->node && top->next > w->import->scope->nodes[node]->n_input) {
            /* a branch has a name of its own that is also a result of the node */
            continue;
        } else if (node != MTS_NONE && w->marks[node] == MARK_OPEN) {
            fail_cycle(w, node);
        }
    }
}

const uint32_t *mts_import_order(mts_import *import, const char *const *outputs, size_t output_count,
                                 uint32_t *count)
{
    uint32_t nodes = (uint32_t)import->scope->node_count;
    walk w = {.import = import,
              .reads = mts_arena_zero(&import->scratch, nodes, sizeof(reads)),
              .marks = mts_arena_zero(&import->scratch, nodes, 1),
              .stack = mts_arena_zero(&import->scratch, nodes, sizeof(frame)),
              .order = mts_arena_zero(&import->scratch, nodes, sizeof(uint32_t))};
    if (!w.reads || !w.marks || !w.stack || !w.order) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for nodes");
        return NULL;
    }
    read_lists(&w, nodes);
    if (!mts_import_ok(import)) {
        return NULL;
    }
    mark_needed(&w, outputs, output_count);
    for (uint32_t i = 0; i < nodes && mts_import_ok(import); i++) {
        if (w.marks[i] == MARK_NEEDED) {
            visit(&w, i);
        }
    }
    *count = w.count;
    return mts_import_ok(import) ? w.order : NULL;
}
