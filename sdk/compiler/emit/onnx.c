/*
 * onnx.c: the ONNX model around the nodes: names, inputs, outputs, serialisation.
 */
#include "compiler/emit/onnx.h"

#include <stdio.h>
#include <string.h>

#include "compiler/emit/onnx_build.h"

#define OPSET 13
#define IR_VERSION 7 /* the one that came with opset 12 and 13 */

static bool names_port(const mts_port *ports, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(ports[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_port_name(const mts_graph *graph, const char *name)
{
    return names_port(graph->inputs, graph->input_count, name) ||
           names_port(graph->outputs, graph->output_count, name);
}

/* An output that is the node's value itself needs no node of its own. */
static bool is_direct(const mts_graph *graph, const mts_port *port)
{
    const mts_value *value = &graph->values[port->value];
    return value->kind == MTS_VALUE_NODE && port->dtype == MTS_TYPE_FLOAT32 &&
           mts_shape_equal(&port->shape, &value->shape) &&
           !names_port(graph->inputs, graph->input_count, port->name);
}

/* Names of inputs and outputs are the ports'; a value that only happens to have such a name gets another. */
static void name_values(mts_onnx *onnx)
{
    const mts_graph *graph = onnx->graph;
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const char *name = graph->values[i].name;
        if (*name && strncmp(name, "mts.", 4) != 0 && !is_port_name(graph, name)) {
            onnx->names[i] = name;
            continue;
        }
        char made[32];
        snprintf(made, sizeof(made), "mts.v%u", i);
        onnx->names[i] = mts_arena_string(onnx->arena, made);
        onnx->failed = onnx->failed || !onnx->names[i];
    }
    bool *named = mts_onnx_alloc(onnx, graph->value_count, sizeof(*named));
    for (uint32_t i = 0; named && i < graph->output_count; i++) {
        if (is_direct(graph, &graph->outputs[i]) && !named[graph->outputs[i].value]) {
            named[graph->outputs[i].value] = true;
            onnx->names[graph->outputs[i].value] = graph->outputs[i].name;
        }
    }
    for (uint32_t i = 0; i < graph->input_count; i++) {
        if (graph->inputs[i].dtype == MTS_TYPE_FLOAT32) {
            onnx->names[graph->inputs[i].value] = graph->inputs[i].name;
        }
    }
}

static Onnx__ValueInfoProto **make_infos(mts_onnx *onnx, const mts_port *ports, uint32_t count, size_t *made)
{
    Onnx__ValueInfoProto **infos = mts_onnx_alloc(onnx, count, sizeof *infos);
    for (*made = 0; *made < count && !onnx->failed; ++*made) {
        const mts_port *port = &ports[*made];
        infos[*made] = mts_onnx_value_info(onnx, port->name, port->dtype, &port->shape);
    }
    return infos;
}

static void add_inputs(mts_onnx *onnx)
{
    const mts_graph *graph = onnx->graph;
    onnx->proto->input = make_infos(onnx, graph->inputs, graph->input_count, &onnx->proto->n_input);
    for (uint32_t i = 0; i < graph->input_count && !onnx->failed; i++) {
        const mts_port *port = &graph->inputs[i];
        if (port->dtype != MTS_TYPE_FLOAT32) {
            (void)mts_onnx_cast(onnx, port->name, MTS_TYPE_FLOAT32, onnx->names[port->value]);
        }
    }
}

static void add_outputs(mts_onnx *onnx)
{
    const mts_graph *graph = onnx->graph;
    onnx->proto->output = make_infos(onnx, graph->outputs, graph->output_count, &onnx->proto->n_output);
    for (uint32_t i = 0; i < graph->output_count && !onnx->failed; i++) {
        const mts_port *port = &graph->outputs[i];
        const char *from = mts_onnx_value(onnx, port->value);
        /* the value itself, or an input that is handed on as it came */
        if (strcmp(from, port->name) == 0 || names_port(graph->inputs, graph->input_count, port->name)) {
            continue;
        }
        bool typed = port->dtype != MTS_TYPE_FLOAT32;
        const char *shaped = typed ? mts_onnx_temporary(onnx) : port->name;
        const char *inputs[2] = {from, mts_onnx_ints_const(onnx, port->shape.dims, port->shape.rank)};
        (void)mts_onnx_node(onnx, "Reshape", inputs, 2, shaped);
        if (typed) {
            (void)mts_onnx_cast(onnx, shaped, port->dtype, port->name);
        }
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

/* ONNX has one name space: an output may have an input's name only if it is that input. */
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

static mts_status build(mts_onnx *onnx, mts_error *error)
{
    const mts_graph *graph = onnx->graph;
    mts_status status = MTS_STATUS_OK;
    onnx->proto = mts_onnx_alloc(onnx, 1, sizeof(*onnx->proto));
    onnx->names = mts_onnx_alloc(onnx, graph->value_count, sizeof(*onnx->names));
    onnx->stored = mts_onnx_alloc(onnx, graph->value_count, sizeof(*onnx->stored));
    if (!onnx->failed) {
        onnx__graph_proto__init(onnx->proto);
        onnx->proto->name = mts_arena_string(onnx->arena, *graph->name ? graph->name : "graph");
        name_values(onnx);
    }
    if (!onnx->failed) {
        add_inputs(onnx);
    }
    for (uint32_t i = 0; i < graph->node_count && !onnx->failed && status == MTS_STATUS_OK; i++) {
        status = mts_onnx_add(onnx, &graph->nodes[i], error);
        if (status != MTS_STATUS_OK) {
            return mts_fail_prefix(error, status, "node '%s'", graph->nodes[i].name);
        }
    }
    if (!onnx->failed) {
        add_outputs(onnx);
    }
    return onnx->failed || !onnx->proto->name ? mts_fail_memory(error) : MTS_STATUS_OK;
}

mts_status mts_onnx_export(const mts_graph *graph, const mts_allocator *allocator, void **data, size_t *size,
                           mts_error *error)
{
    mts_arena arena;
    mts_onnx onnx = {.graph = graph, .arena = &arena};
    *data = NULL;
    *size = 0;
    mts_arena_init(&arena, allocator);
    mts_status status = check_ports(graph, error);
    MTS_TRY(status, build(&onnx, error));
    MTS_TRY(status, pack(&onnx, allocator, data, size, error));
    mts_arena_release(&arena);
    return status;
}
