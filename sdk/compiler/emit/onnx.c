/*
 * onnx.c: the ONNX model around the nodes: names, inputs, outputs, serialisation.
 */
#include "compiler/emit/onnx.h"

#include <stdio.h>
#include <string.h>

#include "compiler/emit/onnx_build.h"

#define OPSET 13
#define IR_VERSION 7 /* the one that came with opset 12 and 13 */

/* An output that is the node's value itself needs no node of its own. */
static bool is_direct(const mts_graph *graph, const mts_port *port)
{
    const mts_value *value = &graph->values[port->value];
    return value->kind == MTS_VALUE_NODE && port->dtype == MTS_TYPE_FLOAT32 &&
           mts_shape_equal(&port->shape, &value->shape) &&
           !mts_onnx_names_port(graph->inputs, graph->input_count, port->name);
}

/* Names of inputs and outputs are the ports'; a value that only happens to have such a
   name gets another. */
static void name_values(mts_onnx *onnx)
{
    const mts_graph *graph = onnx->graph;
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const char *name = graph->values[i].name;
        if (*name && strncmp(name, "mts.", 4) != 0 && !mts_onnx_is_port_name(graph, name)) {
            onnx->names[i] = mts_onnx_prefixed(onnx, name);
            continue;
        }
        char made[48];
        (void)snprintf(made, sizeof made, "mts.v%u", i);
        for (uint32_t k = 0; mts_onnx_is_port_name(graph, made); k++) {
            (void)snprintf(made, sizeof made, "mts.v%u.%u", i, k);
        }
        onnx->names[i] = onnx->failed ? NULL : mts_arena_string(onnx->arena, made);
        onnx->failed = onnx->failed || !onnx->names[i];
        onnx->names[i] = onnx->failed ? NULL : mts_onnx_prefixed(onnx, onnx->names[i]);
    }
    bool *named = mts_onnx_alloc(onnx, graph->value_count, sizeof(*named));
    for (uint32_t i = 0; named && i < graph->output_count; i++) {
        if (is_direct(graph, &graph->outputs[i]) && !named[graph->outputs[i].value]) {
            named[graph->outputs[i].value] = true;
            onnx->names[graph->outputs[i].value] = mts_onnx_prefixed(onnx, graph->outputs[i].name);
        }
    }
    for (uint32_t i = 0; i < graph->input_count; i++) {
        if (graph->inputs[i].dtype == MTS_TYPE_FLOAT32) {
            onnx->names[graph->inputs[i].value] = onnx->input_names[i];
        }
    }
}

static void add_inputs(mts_onnx *onnx, const uint32_t *input_of)
{
    const mts_graph *graph = onnx->graph;
    for (uint32_t i = 0; i < graph->input_count && !onnx->failed; i++) {
        const mts_port *port = &graph->inputs[i];
        if (!input_of || input_of[i] == MTS_NONE) {
            mts_onnx_add_port(onnx, false, onnx->input_names[i], port->dtype, &port->shape);
        }
        if (port->dtype != MTS_TYPE_FLOAT32) {
            (void)mts_onnx_cast(onnx, onnx->input_names[i], MTS_TYPE_FLOAT32, onnx->names[port->value]);
        }
    }
}

/* The input that an output with its name is (check_ports); NULL: none has its name. */
static const char *handed_on(const mts_onnx *onnx, const mts_port *output)
{
    for (uint32_t i = 0; i < onnx->graph->input_count; i++) {
        if (strcmp(onnx->graph->inputs[i].name, output->name) == 0) {
            return onnx->input_names[i];
        }
    }
    return NULL;
}

static void add_output(mts_onnx *onnx, const mts_port *port)
{
    const char *name = mts_onnx_prefixed(onnx, port->name);
    const char *from = mts_onnx_value(onnx, port->value);
    const char *same = handed_on(onnx, port);
    mts_onnx_add_port(onnx, true, name, port->dtype, &port->shape);
    if (onnx->failed || strcmp(from, name) == 0 || (same && strcmp(same, name) == 0)) {
        return; /* the value itself, or an input that is handed on as it came */
    }
    if (same) { /* an input of another task's name */
        (void)mts_onnx_one(onnx, "Identity", same, name);
        return;
    }
    bool typed = port->dtype != MTS_TYPE_FLOAT32;
    const char *shaped = typed ? mts_onnx_temporary(onnx) : name;
    (void)mts_onnx_shaped(onnx, "Reshape", from, port->shape.dims, port->shape.rank, shaped);
    if (typed) {
        (void)mts_onnx_cast(onnx, shaped, port->dtype, name);
    }
}

static mts_status pack(mts_onnx *onnx, const mts_allocator *allocator, void **data, size_t *size,
                       mts_error *error)
{
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    Onnx__OperatorSetIdProto set = ONNX__OPERATOR_SET_ID_PROTO__INIT, *sets[1] = {&set};
    static char domain[] = "", producer[] = "mts";
    set.domain = domain;
    set.has_version = 1;
    set.version = OPSET;
    model.has_ir_version = 1;
    model.ir_version = IR_VERSION;
    model.producer_name = producer;
    model.n_opset_import = 1;
    model.opset_import = sets;
    model.graph = onnx->proto;
    size_t bytes = onnx__model_proto__get_packed_size(&model);
    if (bytes >= (size_t)1 << 31) {
        return mts_fail(error, MTS_STATUS_LIMIT,
                        "the model is larger than the 2 GiB that an ONNX file may have");
    }
    void *out = mts_alloc_zero(allocator, bytes, 1);
    if (!out) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a model of %zu bytes", bytes);
    }
    *size = onnx__model_proto__pack(&model, out);
    *data = out;
    return MTS_STATUS_OK;
}

/* ONNX has one name space: an output may have an input's name only if it is that
   input. */
static mts_status check_ports(const mts_graph *graph, mts_error *error)
{
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const mts_port *out = &graph->outputs[i];
        for (uint32_t j = 0; j < graph->input_count; j++) {
            const mts_port *in = &graph->inputs[j];
            bool same = in->value == out->value && in->dtype == out->dtype &&
                        mts_shape_equal(&in->shape, &out->shape);
            if (strcmp(in->name, out->name) == 0 && !same) {
                return mts_fail(error, MTS_STATUS_UNSUPPORTED, "an input and an output are both named '%s'",
                                in->name);
            }
        }
    }
    return MTS_STATUS_OK;
}

static void begin(mts_onnx *onnx, const char *name)
{
    onnx->proto = mts_onnx_alloc(onnx, 1, sizeof(*onnx->proto));
    if (!onnx->failed) {
        onnx__graph_proto__init(onnx->proto);
        onnx->proto->name = mts_arena_string(onnx->arena, name);
        onnx->failed = !onnx->proto->name;
    }
}

/* Adds a graph. input_of: see mts_onnx_task; inputs: what the model calls the inputs of
   those tasks. */
static mts_status add_graph(mts_onnx *onnx, const mts_graph *graph, const uint32_t *input_of,
                            const char *const *const *inputs, mts_error *error)
{
    mts_status status = check_ports(graph, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    onnx->graph = graph;
    onnx->names = mts_onnx_alloc(onnx, graph->value_count, sizeof(*onnx->names));
    onnx->stored = mts_onnx_alloc(onnx, graph->value_count, sizeof(*onnx->stored));
    onnx->input_names = mts_onnx_alloc(onnx, graph->input_count, sizeof *onnx->input_names);
    for (uint32_t i = 0; i < graph->input_count && !onnx->failed; i++) {
        onnx->input_names[i] = input_of && input_of[i] != MTS_NONE
                                   ? inputs[input_of[i]][i]
                                   : mts_onnx_prefixed(onnx, graph->inputs[i].name);
    }
    if (!onnx->failed) {
        name_values(onnx);
    }
    if (!onnx->failed) {
        add_inputs(onnx, input_of);
    }
    for (uint32_t i = 0; i < graph->node_count && !onnx->failed && status == MTS_STATUS_OK; i++) {
        status = mts_onnx_add(onnx, &graph->nodes[i], error);
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(error, status, "node '%s'", graph->nodes[i].name);
        }
    }
    for (uint32_t i = 0; i < graph->output_count && !onnx->failed; i++) {
        add_output(onnx, &graph->outputs[i]);
    }
    return onnx->failed ? mts_fail_memory(error) : MTS_STATUS_OK;
}

mts_status mts_onnx_export(const mts_graph *graph, const mts_allocator *allocator, void **data, size_t *size,
                           mts_error *error)
{
    mts_arena arena;
    mts_onnx onnx = {.arena = &arena, .prefix = ""};
    *data = NULL;
    *size = 0;
    mts_arena_init(&arena, allocator);
    begin(&onnx, *graph->name ? graph->name : "graph");
    mts_status status = add_graph(&onnx, graph, NULL, NULL, error);
    MTS_TRY(status, pack(&onnx, allocator, data, size, error));
    mts_arena_release(&arena);
    return status;
}

/* A slash ends the name of the task, which has none, so names of two tasks differ, and
   differ from "mts.". */
static const char *prefix_of(mts_onnx *onnx, const char *task)
{
    const size_t length = strlen(task);
    char *prefix = mts_onnx_alloc(onnx, length + 2, 1);
    if (prefix) {
        memcpy(prefix, task, length);
        prefix[length] = '/';
    }
    return prefix;
}

static mts_status add_tasks(mts_onnx *onnx, const mts_onnx_task *tasks, uint32_t count, mts_error *error)
{
    const char ***inputs = mts_onnx_alloc(onnx, count, sizeof *inputs);
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = 0; t < count && !onnx->failed && status == MTS_STATUS_OK; t++) {
        onnx->prefix = prefix_of(onnx, tasks[t].name);
        if (onnx->failed) {
            break;
        }
        status =
            add_graph(onnx, tasks[t].graph, tasks[t].input_of, (const char *const *const *)inputs, error);
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(error, status, "task '%s'", tasks[t].name);
        }
        inputs[t] = onnx->input_names;
    }
    return onnx->failed ? mts_fail_memory(error) : status;
}

mts_status mts_onnx_export_stitched(const mts_onnx_task *tasks, uint32_t count, uint32_t block_count,
                                    const mts_allocator *allocator, void **data, size_t *size,
                                    mts_error *error)
{
    mts_arena arena;
    mts_onnx_shared shared = {.block_count = block_count};
    mts_onnx onnx = {.arena = &arena, .prefix = "", .shared = &shared};
    *data = NULL;
    *size = 0;
    mts_arena_init(&arena, allocator);
    shared.blocks = mts_onnx_alloc(&onnx, block_count, sizeof *shared.blocks);
    begin(&onnx, "stitched");
    mts_status status = add_tasks(&onnx, tasks, count, error);
    MTS_TRY(status, pack(&onnx, allocator, data, size, error));
    mts_arena_release(&arena);
    return status;
}
