/*
 * nodes.c: lowers the nodes of a scope: operators by the table, calls of the model's
 * functions and `If` by the nodes of their bodies, as if those stood in the node's place.
 * Of an `If` whose condition is known only at run time both branches are computed. Not
 * responsible for what an operator means (lower_*.c).
 */
#include "compiler/import/lower.h"

#include <string.h>

#define DEPTH_MOST 32u /* functions and branches inside each other */

static void name_outputs_of(mts_import *import, uint32_t index)
{
    const Onnx__NodeProto *node = import->scope->nodes[index];
    for (size_t i = 0; i < node->n_output && mts_import_ok(import); i++) {
        const char *name = node->output[i];
        if (!*name) {
            continue;
        }
        const mts_import_name *found = mts_import_find(import, name);
        mts_import_name *entry = found ? NULL : mts_import_intern(import, name);
        if (found) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "'%s' is defined more than once", name);
        } else if (entry) {
            entry->producer = index;
        }
    }
}

static void take_inputs(mts_import *import, size_t required, size_t most)
{
    const Onnx__NodeProto *node = import->node;
    if (node->n_input < required || node->n_input > most) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "%zu inputs, wanted %zu to %zu", node->n_input,
                        required, most);
        return;
    }
    import->input_count = (uint32_t)node->n_input;
    import->output_count = (uint32_t)node->n_output;
    import->inputs = mts_arena_zero(&import->scratch, node->n_input, sizeof(mts_import_value *));
    if (!import->inputs) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a node");
        return;
    }
    for (uint32_t i = 0; i < import->input_count && mts_import_ok(import); i++) {
        if (node->input[i][0] != '\0') {
            import->inputs[i] = mts_import_lookup(import, node->input[i]);
        }
        const bool may_miss = i >= required && most != MTS_LOWER_ANY;
        if (!import->inputs[i] && !may_miss) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "input %u is missing", i);
        }
    }
}

/* ---- bodies ---- */

/* Where the pass is; a body changes it, and its end restores it. */
typedef struct place {
    mts_import_scope *scope;
    mts_import_call *call;
    const Onnx__NodeProto *node;
    const char *title;
    mts_import_value **inputs;
    uint32_t input_count, output_count;
    int64_t opset;
} place;

static place leave(mts_import *import)
{
    const place from = {import->scope,  import->call,        import->node,         import->title,
                        import->inputs, import->input_count, import->output_count, import->opset};
    if (++import->depth > DEPTH_MOST) {
        mts_import_fail(import, MTS_STATUS_LIMIT,
                        "functions and branches lie more than %u deep in each other", DEPTH_MOST);
    }
    return from;
}

static void come_back(mts_import *import, const place *from)
{
    import->scope = from->scope;
    import->call = from->call;
    import->node = from->node;
    import->title = from->title;
    import->inputs = from->inputs;
    import->input_count = from->input_count;
    import->output_count = from->output_count;
    import->opset = from->opset;
    import->depth--;
}

/* An output of a body: its value, or why there is none. */
typedef struct result {
    mts_import_value *value;
    const char *refused;
} result;

/* Runs a body and finds those of its outputs that the node's readers want. NULL: it
   failed. */
static const result *run_body(mts_import *import, const place *from, const char *const *names, size_t count)
{
    const size_t wanted = from->output_count < count ? from->output_count : count;
    mts_import_run(import, names, wanted);
    mts_import_scope *body = import->scope;
    come_back(import, from);
    result *results = mts_arena_zero(&import->scratch, wanted + 1, sizeof *results);
    if (!results) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a node");
        return NULL;
    }
    for (uint32_t i = 0; i < wanted && mts_import_ok(import); i++) {
        if (!mts_import_out_wanted(import, i)) {
            continue;
        }
        import->scope = body;
        const mts_import_name *entry = mts_import_find(import, names[i]);
        results[i].refused = entry ? entry->refused : NULL;
        results[i].value = results[i].refused ? NULL : mts_import_lookup(import, names[i]);
        import->scope = from->scope;
    }
    return mts_import_ok(import) ? results : NULL;
}

/* The results of a body become those of the node that it stands for. */
static void bind_results(mts_import *import, const result *results, size_t count)
{
    for (uint32_t i = 0; results && i < import->output_count && i < count && mts_import_ok(import); i++) {
        if (results[i].refused) {
            mts_import_out_refuse(import, i, results[i].refused);
        } else if (results[i].value) {
            mts_import_out(import, i, results[i].value);
        }
    }
}

static void call_function(mts_import *import, const mts_function *function)
{
    const Onnx__FunctionProto *body = mts_function_body(function);
    for (const mts_import_call *call = import->call; call; call = call->outer) {
        if (call->function == function) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "the function calls itself");
            return;
        }
    }
    take_inputs(import, 0, body->n_input);
    if (!mts_import_ok(import) ||
        !mts_import_charge(import, body->n_node + body->n_input + body->n_output + 1)) {
        return;
    }
    if (import->output_count > body->n_output) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "%u outputs, the function has %zu",
                        import->output_count, body->n_output);
        return;
    }
    const place from = leave(import);
    mts_import_call call = {.function = function, .node = from.node, .outer = from.call};
    mts_import_scope scope;
    mts_import_begin(import, &scope, NULL, body->node, body->n_node);
    import->call = &call;
    import->opset = mts_import_opset(body->opset_import, body->n_opset_import, from.opset);
    for (size_t i = 0; i < body->n_input && mts_import_ok(import); i++) {
        mts_import_name *entry = mts_import_intern(import, body->input[i]);
        if (entry && (entry->value || entry->absent)) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "two inputs are named '%s'", entry->name);
        } else if (entry) {
            entry->value = i < from.input_count ? from.inputs[i] : NULL;
            entry->absent = !entry->value;
        }
    }
    bind_results(import, run_body(import, &from, (const char *const *)body->output, body->n_output),
                 body->n_output);
}

/* The results of a branch of the node; *count: of its outputs. NULL: it failed. */
static const result *run_branch(mts_import *import, const char *attribute, size_t *count)
{
    const Onnx__GraphProto *graph = mts_attr_graph(import, attribute);
    if (!graph || !mts_import_charge(import, graph->n_node + graph->n_initializer + graph->n_output + 1)) {
        return NULL;
    }
    if (graph->n_input > 0 || import->output_count > graph->n_output) {
        mts_import_fail(import, MTS_STATUS_MALFORMED,
                        "the branch has %zu inputs and %zu outputs, wanted 0 and %u", graph->n_input,
                        graph->n_output, import->output_count);
        return NULL;
    }
    const place from = leave(import);
    mts_import_scope scope;
    mts_import_begin(import, &scope, from.scope, graph->node, graph->n_node);
    mts_import_name_initialisers(import, graph);
    const char *const *outputs = mts_import_output_names(import, graph);
    *count = graph->n_output;
    return run_body(import, &from, outputs, outputs ? graph->n_output : 0);
}

/*
 * `If` whose condition is known only at run time: both branches are computed, and the
 * condition selects among their results. Nodes have no other effect than their results,
 * so that is the same.
 */
static void choose_at_run_time(mts_import *import, mts_import_value *condition)
{
    const mts_shape scalar = mts_shape_make(0, NULL);
    size_t count = 0;
    const result *yes = run_branch(import, "then_branch", &count);
    const result *no = yes ? run_branch(import, "else_branch", &count) : NULL;
    condition = no ? mts_import_emit_reshape(import, condition, &scalar) : NULL;
    for (uint32_t i = 0; i < import->output_count && mts_import_ok(import); i++) {
        mts_import_value *a = yes[i].value;
        mts_import_value *b = no[i].value;
        if (yes[i].refused || no[i].refused) {
            mts_import_out_refuse(import, i, yes[i].refused ? yes[i].refused : no[i].refused);
        } else if (a && b && (a->dtype != b->dtype || !mts_shape_equal(&a->shape, &b->shape))) {
            mts_import_fail(import, MTS_STATUS_UNSUPPORTED,
                            "the condition is known only at run time, and output %u has another shape or "
                            "element type in each branch",
                            i);
        } else if (a && b) {
            mts_import_out(import, i, mts_import_emit_select(import, condition, a, b));
        }
    }
}

static void lower_if(mts_import *import)
{
    take_inputs(import, 1, 1);
    mts_import_value *condition = mts_import_in(import, 0);
    if (!mts_import_ok(import)) {
        return;
    }
    if (mts_shape_count(&condition->shape) != 1) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "the condition is not one value");
        return;
    }
    if (!mts_import_is_const(condition)) {
        choose_at_run_time(import, condition);
        return;
    }
    const bool yes = mts_host_load(condition->dtype, condition->data, 0) != 0.0;
    size_t count = 0;
    const result *results = run_branch(import, yes ? "then_branch" : "else_branch", &count);
    bind_results(import, results, count);
}

/* ---- nodes ---- */

static bool is_standard(const Onnx__NodeProto *node)
{
    return !node->domain || !*node->domain || strcmp(node->domain, "ai.onnx") == 0;
}

static void lower_node(mts_import *import)
{
    const Onnx__NodeProto *node = import->node;
    int known[2] = {0, 0};
    const bool standard = is_standard(node);
    const mts_function *function = mts_function_find(import, node);
    if (function) {
        call_function(import, function);
        return;
    }
    if (standard && mts_import_is_op(import, "If")) {
        lower_if(import);
        return;
    }
    const mts_lower_row *row = standard ? mts_lower_find(node->op_type, import->opset, known) : NULL;
    if (!row && known[1] != 0) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED,
                        "the operator is known in opsets %d to %d: export the model in one of these",
                        known[0], known[1]);
        return;
    }
    if (!row) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "the operator is not supported%s%s",
                        standard ? "" : ": it is of domain ", standard ? "" : node->domain);
        return;
    }
    take_inputs(import, row->required, row->most);
    if (mts_import_ok(import)) {
        row->lower(import);
    }
}

static bool is_left(mts_import *import, const char *name)
{
    const mts_import_name *entry = *name ? mts_import_find(import, name) : NULL;
    return entry && entry->refused == mts_import_cut_reason;
}

/* Leaves out NonMaxSuppression of the main graph, and nodes that read results of what was
   left out. */
static bool leave_out(mts_import *import)
{
    const Onnx__NodeProto *node = import->node;
    bool left = is_standard(node) && import->depth == 0 && mts_import_is_op(import, "NonMaxSuppression");
    for (size_t i = 0; i < node->n_input && import->depth == 0; i++) {
        left = left || is_left(import, node->input[i]);
    }
    if (!left) {
        return false;
    }
    mts_import_cut_before(import, node->op_type);
    for (size_t i = 0; i < node->n_input && mts_import_ok(import); i++) {
        if (*node->input[i] && !is_left(import, node->input[i])) {
            mts_import_cut_keep(import, node->input[i], mts_import_lookup(import, node->input[i]));
        }
    }
    for (uint32_t i = 0; i < node->n_output && mts_import_ok(import); i++) {
        mts_import_name *entry = *node->output[i] ? mts_import_find(import, node->output[i]) : NULL;
        if (entry) {
            entry->refused = mts_import_cut_reason;
        }
    }
    return true;
}

static void lower_nodes(mts_import *import, const uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count && mts_import_ok(import); i++) {
        const Onnx__NodeProto *node = import->scope->nodes[order[i]];
        if (i % NODES_PER_TICK == 0) {
            mts_import_tick(import, import->depth == 0 ? (float)i / (float)count : import->fraction);
        }
        import->node = node;
        import->title = node->name;
        if (!leave_out(import)) {
            lower_node(import);
        }
        /* of nodes inside of nodes, the outermost and the innermost are named */
        if (!mts_import_ok(import) && (import->depth == 0 || !import->blamed)) {
            import->blamed = true;
            const char *name = node->name && *node->name ? node->name : node->n_output ? node->output[0] : "";
            import->status = mts_fail_prefix(import->error, import->status, "node '%s' (%s, opset %lld)",
                                             name, node->op_type, (long long)import->opset);
        }
    }
    import->node = NULL;
    import->title = NULL;
}

void mts_import_run(mts_import *import, const char *const *outputs, size_t output_count)
{
    const mts_import_scope *scope = import->scope;
    if (scope->node_count > import->options->nodes_most) {
        mts_import_fail(import, MTS_STATUS_LIMIT, "%zu nodes, the limit is %u", scope->node_count,
                        import->options->nodes_most);
    }
    for (size_t i = 0; i < scope->node_count && mts_import_ok(import); i++) {
        if (!scope->nodes[i]->op_type) { /* protobuf-c leaves it NULL when it is absent */
            mts_import_fail(import, MTS_STATUS_MALFORMED, "node %zu has no operator", i);
            return;
        }
        name_outputs_of(import, (uint32_t)i);
    }
    uint32_t count = 0;
    const uint32_t *order =
        mts_import_ok(import) ? mts_import_order(import, outputs, output_count, &count) : NULL;
    if (order) {
        lower_nodes(import, order, count);
    }
}
