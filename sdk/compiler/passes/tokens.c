/*
 * tokens.c: which nodes read and make transposed values, and the graph of them. Not
 * responsible for how a node becomes one on transposed values (tokens_emit.c) nor for
 * constants and conversions (tokens_form.c).
 *
 * A node that can is transposed if one of its operands is made transposed, or if a reader wants
 * its result transposed.
 */
#include "compiler/passes/tokens.h"

#include "compiler/passes/tokens_work.h"

static bool is_data(const mts_graph *graph, uint32_t value)
{
    return value != MTS_NONE && graph->values[value].kind != MTS_VALUE_CONST;
}

/* Finds the attention that ends with a node, or the product of heads that it is; false: memory
   is short. */
static bool note_attention(mts_tokens_work *work, uint32_t n)
{
    mts_tokens_attention found;
    mts_tokens_heads heads;
    work->joins[n] = MTS_NONE;
    if (mts_tokens_attends(work->from, &work->from->nodes[n], &found)) {
        work->attentions[n] = mts_arena_zero(work->arena, 1, sizeof found);
        if (!work->attentions[n]) {
            return false;
        }
        *work->attentions[n] = found;
    } else if (!mts_tokens_connects(work->from, &work->from->nodes[n]) &&
               mts_tokens_multiplies_heads(work->from, &work->from->nodes[n], &heads)) {
        work->heads[n] = mts_arena_zero(work->arena, 1, sizeof heads);
        if (!work->heads[n]) {
            return false;
        }
        *work->heads[n] = heads;
    }
    work->joins[n] = mts_tokens_joins_heads(work, &work->from->nodes[n], &work->joins_image[n]);
    return true;
}

/* Where transposed values begin. */
static mts_status find_made(mts_tokens_work *work, bool *any)
{
    for (uint32_t n = 0; n < work->from->node_count; n++) {
        const mts_node *node = &work->from->nodes[n];
        if (!note_attention(work, n)) {
            return mts_tokens_short(work);
        }
        bool made = mts_tokens_connects(work->from, node) || work->attentions[n] || work->heads[n] ||
                    (work->joins[n] != MTS_NONE && !work->joins_image[n]);
        *any = *any || made || mts_tokens_connects_rows(work->from, node);
        for (uint32_t i = 0; !made && i < node->input_count; i++) {
            made = is_data(work->from, node->inputs[i]) && work->forms[node->inputs[i]].made_transposed &&
                   mts_tokens_transposable(work->from, node);
        }
        work->forms[node->output].made_transposed = made;
    }
    return MTS_STATUS_OK;
}

static void note_reading(mts_tokens_work *work, uint32_t value, bool transposed)
{
    if (is_data(work->from, value)) {
        mts_tokens_form *read = &work->forms[value];
        read->reads_transposed = read->reads_transposed || transposed;
        read->reads_plain = read->reads_plain || !transposed;
    }
}

static void note_readings(mts_tokens_work *work, uint32_t n)
{
    const mts_node *node = &work->from->nodes[n];
    const mts_tokens_attention *attention = work->attentions[n];
    if (attention) {
        for (uint32_t i = 0; i < 3; i++) {
            note_reading(work, attention->of[i].source, !attention->of[i].image);
        }
        for (uint32_t i = 0; i < attention->mask_count; i++) {
            note_reading(work, attention->masks[i].value, false);
        }
    } else if (work->heads[n]) {
        note_reading(work, work->heads[n]->x.source, !work->heads[n]->x.image);
    } else if (work->joins[n] != MTS_NONE) {
        note_reading(work, work->joins[n], true);
    } else {
        for (uint32_t i = 0; i < node->input_count; i++) {
            note_reading(work, node->inputs[i], work->transposed[n]);
        }
    }
}

/* From the outputs back: which forms are read, and so which nodes are transposed. */
static void find_readers(mts_tokens_work *work)
{
    const mts_graph *graph = work->from;
    for (uint32_t i = 0; i < graph->output_count; i++) {
        work->forms[graph->outputs[i].value].reads_plain = true;
    }
    for (uint32_t n = graph->node_count; n-- > 0;) {
        const mts_node *node = &graph->nodes[n];
        const mts_tokens_form *form = &work->forms[node->output];
        work->transposed[n] =
            form->made_transposed || (form->reads_transposed && mts_tokens_transposable(graph, node));
        if (form->reads_plain || form->reads_transposed) {
            note_readings(work, n);
        }
    }
}

static mts_status emit_plain(mts_tokens_work *work, const mts_node *node)
{
    uint32_t *inputs = mts_arena_zero(work->arena, node->input_count, sizeof *inputs);
    mts_status status = inputs ? MTS_STATUS_OK : mts_tokens_short(work);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < node->input_count; i++) {
        inputs[i] = MTS_NONE;
        if (node->inputs[i] != MTS_NONE) {
            status = mts_tokens_plain(work, node->inputs[i], &inputs[i]);
        }
    }
    uint32_t made = MTS_NONE;
    MTS_TRY(status, mts_graph_add_node(work->to, node->op, node->name, inputs, node->input_count,
                                       &node->attrs, &made, work->error));
    if (status == MTS_STATUS_OK) {
        work->to->nodes[work->to->values[made].producer].scatter = node->scatter;
        work->forms[node->output].plain = made;
    }
    return status;
}

static mts_status emit(mts_tokens_work *work, uint32_t n)
{
    const mts_node *node = &work->from->nodes[n];
    mts_tokens_form *form = &work->forms[node->output];
    if (!form->reads_plain && !form->reads_transposed) {
        return MTS_STATUS_OK;
    }
    const mts_status status = work->attentions[n] ? mts_tokens_emit_attention(work, node, work->attentions[n])
                              : work->heads[n]    ? mts_tokens_emit_heads(work, node, work->heads[n])
                              : work->joins[n] != MTS_NONE
                                  ? mts_tokens_emit_joined(work, node, work->joins[n], work->joins_image[n])
                              : work->transposed[n] ? mts_tokens_emit_transposed(work, node)
                              : mts_tokens_connects_rows(work->from, node)
                                  ? mts_tokens_emit_connected(work, node)
                                  : emit_plain(work, node);
    if (status != MTS_STATUS_OK) {
        return mts_fail_prefix(work->error, status, "node '%s'", mts_node_title(work->from, node));
    }
    const uint32_t made = form->transposed != MTS_NONE ? form->transposed : form->plain;
    return mts_graph_name_value(work->to, made, work->from->values[node->output].name)
               ? status
               : mts_tokens_short(work);
}

static mts_status build(mts_tokens_work *work)
{
    const mts_graph *graph = work->from;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < graph->input_count; i++) {
        const mts_port *port = &graph->inputs[i];
        const uint32_t value = mts_graph_add_input(work->to, port->name, port->dtype, &port->shape);
        work->forms[port->value].plain = value;
        status = value == MTS_NONE ? mts_tokens_short(work) : status;
    }
    for (uint32_t n = 0; status == MTS_STATUS_OK && n < graph->node_count; n++) {
        status = emit(work, n);
    }
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < graph->output_count; i++) {
        const mts_port *port = &graph->outputs[i];
        uint32_t value = MTS_NONE;
        status = mts_tokens_plain(work, port->value, &value);
        MTS_TRY(status,
                mts_graph_add_output(work->to, port->name, value, port->dtype, &port->shape, work->error));
    }
    return status;
}

mts_status mts_tokens(const mts_graph *graph, mts_arena *arena, mts_graph **out, mts_error *error)
{
    mts_tokens_work work = {.from = graph, .arena = arena, .error = error};
    *out = NULL;
    work.forms = mts_arena_zero(arena, graph->value_count, sizeof *work.forms);
    work.transposed = mts_arena_zero(arena, graph->node_count, sizeof *work.transposed);
    work.to = mts_graph_create(arena, graph->name);
    work.attentions = mts_arena_zero(arena, graph->node_count, sizeof *work.attentions);
    work.joins = mts_arena_zero(arena, graph->node_count, sizeof *work.joins);
    work.joins_image = mts_arena_zero(arena, graph->node_count, sizeof *work.joins_image);
    work.heads = mts_arena_zero(arena, graph->node_count, sizeof *work.heads);
    if (!work.heads || !work.joins_image || !work.forms || !work.transposed || !work.to || !work.attentions ||
        !work.joins) {
        return mts_tokens_short(&work);
    }
    for (uint32_t v = 0; v < graph->value_count; v++) {
        work.forms[v].plain = work.forms[v].transposed = MTS_NONE;
    }
    bool any = false;
    mts_status status = find_made(&work, &any);
    if (status == MTS_STATUS_OK && !any) {
        *out = (mts_graph *)graph;
        return status;
    }
    if (status == MTS_STATUS_OK) {
        find_readers(&work);
        status = build(&work);
    }
    *out = status == MTS_STATUS_OK ? work.to : NULL;
    return status;
}
