/*
 * import.c: an ONNX model becomes a graph: its inputs, its nodes (nodes.c), its outputs.
 *
 * What each operator means is in the lower_*.c files; how constants are computed in
 * host.c.
 */
#include "compiler/import/lower.h"
#include "compiler/import/tflite/tflite.h"

#include <string.h>

#include "platform/os/os.h"

mts_import_options mts_import_options_default(void)
{
    return (mts_import_options){.file_most = (size_t)2 << 30,
                                .bytes_most = (size_t)4 << 30,
                                .beyond_most = (size_t)20 << 20,
                                .computed_most = (size_t)1 << 30,
                                .work_most = (uint64_t)1 << 26,
                                .nodes_most = 100000};
}

/* ---- names ---- */

static bool is_initialiser(mts_import *import, const char *name)
{
    const mts_import_name *entry = mts_import_find(import, name);
    return entry && entry->tensor;
}

static void name_inputs(mts_import *import)
{
    for (size_t i = 0; i < import->proto->n_input && mts_import_ok(import); i++) {
        const char *name = import->proto->input[i]->name;
        if (!name || !*name) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "input %zu has no name", i);
            return;
        }
        mts_import_name *entry = mts_import_intern(import, name);
        if (entry && entry->input) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "two inputs are named '%s'", name);
        } else if (entry) {
            entry->input = true;
        }
    }
}

/* ---- inputs ---- */

static const mts_host_tensor *find_binding(const mts_import *import, const char *name)
{
    for (size_t i = 0; i < import->options->binding_count; i++) {
        if (strcmp(import->options->bindings[i].name, name) == 0) {
            return &import->options->bindings[i];
        }
    }
    return NULL;
}

static const mts_import_shape *find_shape(const mts_import *import, const char *name, bool only)
{
    for (size_t i = 0; i < import->options->shape_count; i++) {
        const char *wanted = import->options->shapes[i].input;
        if (wanted ? strcmp(wanted, name) == 0 : only) {
            return &import->options->shapes[i];
        }
    }
    return NULL;
}

/* Declared dimensions, -1 where open; false if the model does not even state the rank. */
static bool declared_shape(mts_import *import, const Onnx__TypeProto__Tensor *type, const char *name,
                           mts_shape *shape)
{
    *shape = (mts_shape){0};
    if (!type->shape) {
        return false;
    }
    if (type->shape->n_dim > MTS_TENSOR_RANK_MAX) {
        mts_import_fail(import, MTS_STATUS_LIMIT, "input '%s': rank %zu is above %d", name,
                        type->shape->n_dim, MTS_TENSOR_RANK_MAX);
        return false;
    }
    shape->rank = (uint32_t)type->shape->n_dim;
    for (uint32_t i = 0; i < shape->rank; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = type->shape->dim[i];
        bool known =
            dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && dim->dim_value > 0;
        shape->dims[i] = known ? dim->dim_value : -1;
    }
    return true;
}

/* Whether a dimension may be what was given. A batch of one is what exporters write down
 * for any batch; a graph that holds on to it, in a reshape, is refused where its shapes
 * do not fit. */
static bool may_be_given(const mts_shape *shape, uint32_t dim, int64_t given)
{
    const bool batch = dim == 0 && shape->rank > 1 && shape->dims[0] == 1;
    return shape->dims[dim] == -1 || shape->dims[dim] == given || batch;
}

static void apply_given(mts_import *import, const char *name, bool declared, const mts_shape *given,
                        mts_shape *shape)
{
    if (declared && given->rank != shape->rank) {
        mts_import_fail(import, MTS_STATUS_INVALID_ARGUMENT,
                        "input '%s' has rank %u, a shape of rank %u was given", name, shape->rank,
                        given->rank);
        return;
    }
    for (uint32_t i = 0; declared && i < shape->rank; i++) {
        if (!may_be_given(shape, i, given->dims[i])) {
            mts_import_fail(import, MTS_STATUS_INVALID_ARGUMENT,
                            "input '%s': dimension %u is %lld in the model, %lld was given", name, i,
                            (long long)shape->dims[i], (long long)given->dims[i]);
            return;
        }
    }
    *shape = *given;
}

/* An open first dimension of several is a batch and becomes 1. */
static void close_shape(mts_import *import, const char *name, bool declared, mts_shape *shape)
{
    if (!declared) {
        mts_import_fail(import, MTS_STATUS_INVALID_ARGUMENT, "input '%s' has no shape in the model: give one",
                        name);
        return;
    }
    if (shape->rank > 1 && shape->dims[0] == -1) {
        shape->dims[0] = 1;
    }
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == -1) {
            mts_import_fail(import, MTS_STATUS_INVALID_ARGUMENT,
                            "input '%s': dimension %u is open in the model: give the input's shape", name, i);
            return;
        }
    }
}

static mts_import_value *bind(mts_import *import, const mts_host_tensor *tensor)
{
    bool lasting = false;
    size_t bytes = 0;
    if (mts_shape_bytes(&tensor->shape, tensor->dtype, &bytes)) {
        mts_import_credit(import, bytes);
    }
    void *data = mts_import_alloc(import, tensor->dtype, &tensor->shape, &lasting);
    if (!data) {
        return NULL;
    }
    if (bytes) {
        memcpy(data, tensor->data, bytes);
    }
    return mts_import_constant(import, tensor->dtype, &tensor->shape, data, lasting);
}

static const mts_import_number *find_number(const mts_import *import, const char *name)
{
    for (size_t i = 0; i < import->options->number_count; i++) {
        if (strcmp(import->options->numbers[i].input, name) == 0) {
            return &import->options->numbers[i];
        }
    }
    return NULL;
}

static mts_import_value *add_input(mts_import *import, const Onnx__ValueInfoProto *info, bool only)
{
    const char *name = info->name;
    if (!info->type || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        !info->type->tensor_type) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "input '%s' is no tensor", name);
        return NULL;
    }
    mts_type dtype;
    if (!mts_proto_dtype(info->type->tensor_type->elem_type, &dtype)) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "input '%s' has type %s", name,
                        mts_proto_dtype_name(info->type->tensor_type->elem_type));
        return NULL;
    }
    mts_shape shape;
    bool declared = declared_shape(import, info->type->tensor_type, name, &shape);
    const mts_import_shape *given = find_shape(import, name, only);
    if (given) {
        apply_given(import, name, declared, &given->shape, &shape);
    } else {
        close_shape(import, name, declared, &shape);
    }
    const mts_import_number *number = find_number(import, name);
    return number ? mts_import_filled(import, dtype, &shape, number->number)
                  : mts_import_emit_input(import, name, dtype, &shape);
}

static void check_numbers(mts_import *import)
{
    for (size_t i = 0; i < import->options->number_count && mts_import_ok(import); i++) {
        const char *name = import->options->numbers[i].input;
        const mts_import_name *entry = mts_import_find(import, name);
        if (!entry || !entry->input || entry->tensor) {
            mts_import_fail(import, MTS_STATUS_INVALID_ARGUMENT, "there is no input '%s' to give a value to",
                            name);
        }
    }
}

static void define_inputs(mts_import *import)
{
    const Onnx__GraphProto *graph = import->proto;
    size_t real = 0;
    for (size_t i = 0; i < graph->n_input; i++) {
        real += !is_initialiser(import, graph->input[i]->name);
    }
    mts_import_check_ports(import, real, "inputs");
    for (size_t i = 0; i < graph->n_input && mts_import_ok(import); i++) {
        const char *name = graph->input[i]->name;
        mts_import_name *entry = mts_import_find(import, name);
        const mts_host_tensor *binding = find_binding(import, name);
        if (!entry || (entry->tensor && !binding)) {
            continue;
        }
        entry->value = binding ? bind(import, binding) : add_input(import, graph->input[i], real == 1);
    }
    for (size_t i = 0; i < import->options->shape_count && mts_import_ok(import); i++) {
        const char *name = import->options->shapes[i].input;
        const mts_import_name *entry = name ? mts_import_find(import, name) : NULL;
        bool known = name ? entry && entry->input && entry->value : real == 1;
        if (!known) {
            mts_import_fail(import, MTS_STATUS_INVALID_ARGUMENT, "there is no input '%s' to give a shape to",
                            name ? name : "(the only one)");
        }
    }
    check_numbers(import);
}

/* ---- outputs ---- */

static void define_output(mts_import *import, const Onnx__ValueInfoProto *info)
{
    const char *name = info->name ? info->name : "";
    mts_import_emit_output(import, name, mts_import_lookup(import, name));
}

static void define_outputs(mts_import *import)
{
    if (import->proto->n_output == 0) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "the model has no output");
    }
    for (size_t i = 0; i < import->proto->n_output && mts_import_ok(import); i++) {
        const mts_import_name *entry =
            mts_import_find(import, import->proto->output[i]->name ? import->proto->output[i]->name : "");
        if (!entry || entry->refused != mts_import_cut_reason) {
            define_output(import, import->proto->output[i]);
        }
    }
    mts_import_cut_outputs(import);
}

/* ---- models ---- */

static void run_import(mts_import *import)
{
    mts_import_scope scope;
    mts_import_begin(import, &scope, NULL, import->proto->node, import->proto->n_node);
    mts_import_check_ports(import, import->proto->n_output, "outputs");
    mts_import_name_initialisers(import, import->proto);
    name_inputs(import);
    if (mts_import_ok(import)) {
        define_inputs(import);
    }
    mts_import_run(import, mts_import_output_names(import, import->proto), import->proto->n_output);
    if (mts_import_ok(import)) {
        define_outputs(import);
    }
    MTS_TRY(import->status, mts_external_check(import->external, import->error));
    MTS_TRY(import->status, mts_graph_verify(import->graph, import->error));
}

static mts_status import_model(const Onnx__ModelProto *model, size_t size, size_t message_bytes,
                               mts_external *external, const mts_import_options *options, mts_arena *arena,
                               mts_graph **graph, mts_error *error)
{
    mts_import import = {.options = options,
                         .arena = arena,
                         .proto = model->graph,
                         .external = external,
                         .opset = mts_import_opset(model->opset_import, model->n_opset_import, 1),
                         .status = MTS_STATUS_OK,
                         .error = error};
    mts_import_budget(&import, size, message_bytes);
    if (!model->graph) {
        return mts_fail(error, MTS_STATUS_MALFORMED, "there is no graph in the model");
    }
    mts_arena_init(&import.scratch, arena->allocator);
    import.graph = mts_graph_create(arena, model->graph->name);
    mts_functions_init(&import, model);
    if (import.graph) {
        run_import(&import);
    } else {
        mts_import_fail(&import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a graph");
    }
    mts_functions_release(&import);
    mts_arena_release(&import.scratch);
    if (import.status == MTS_STATUS_OK) {
        *graph = import.graph;
    }
    return import.status;
}

static mts_status import_bytes(const void *data, size_t size, const char *name, mts_external *external,
                               const mts_import_options *options, mts_arena *arena, mts_graph **graph,
                               mts_error *error)
{
    mts_error local; /* messages are completed here even if the caller wants none */
    mts_error *out = error ? error : &local;
    mts_proto_memory memory;
    *graph = NULL;
    if (mts_tflite_is(data, size)) {
        const mts_status done = mts_tflite_import(data, size, options, arena, graph, out);
        return done == MTS_STATUS_OK ? done : mts_fail_prefix(out, done, "%s", name);
    }
    mts_proto_memory_init(&memory, arena->allocator, mts_import_room_of(options, size));
    ProtobufCMessage *message = mts_proto_unpack(&onnx__model_proto__descriptor, data, size, &memory, out);
    mts_status status = out->code;
    if (message) {
        status = import_model((const Onnx__ModelProto *)message, size, memory.used, external, options, arena,
                              graph, out);
    }
    mts_proto_free(message, &memory);
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(out, status, "%s", name);
}

mts_status mts_import_memory(const void *data, size_t size, const char *name,
                             const mts_import_options *options, mts_arena *arena, mts_graph **graph,
                             mts_error *error)
{
    const mts_import_options plain = mts_import_options_default();
    return import_bytes(data, size, name, NULL, options ? options : &plain, arena, graph, error);
}

mts_status mts_import_file(const char *path, const mts_import_options *options, mts_arena *arena,
                           mts_graph **graph, mts_error *error)
{
    const mts_import_options plain = mts_import_options_default();
    mts_os_map map = {0};
    mts_external *external = NULL;
    options = options ? options : &plain;
    *graph = NULL;
    mts_status status = mts_os_map_file(path, &map, error);
    if (status == MTS_STATUS_OK && map.size > options->file_most) {
        status = mts_fail(error, MTS_STATUS_LIMIT, "%s: %zu bytes, the limit is %zu", path, map.size,
                          options->file_most);
    }
    MTS_TRY(status, mts_external_create(arena->allocator, path, options->file_most, &external, error));
    MTS_TRY(status, import_bytes(map.data, map.size, path, external, options, arena, graph, error));
    mts_external_destroy(&external);
    mts_os_unmap(&map);
    return status;
}

mts_status mts_import_notes_read(const char *path, mts_arena *arena, mts_import_notes *notes,
                                 mts_error *error)
{
    mts_os_map map = {0};
    *notes = (mts_import_notes){0};
    mts_status status = mts_os_map_file(path, &map, error);
    if (status == MTS_STATUS_OK && mts_tflite_is(map.data, map.size)) {
        status = mts_tflite_notes(map.data, map.size, arena, notes, error);
        status = status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "%s", path);
    }
    mts_os_unmap(&map);
    return status;
}

mts_status mts_import_tensor(const void *data, size_t size, mts_arena *arena, mts_host_tensor *tensor,
                             mts_error *error)
{
    mts_proto_memory memory;
    mts_error local;
    mts_error *out = error ? error : &local;
    bool in_place = false;
    *tensor = (mts_host_tensor){0};
    mts_proto_memory_init(&memory, arena->allocator, SIZE_MAX);
    ProtobufCMessage *message = mts_proto_unpack(&onnx__tensor_proto__descriptor, data, size, &memory, out);
    if (!message) {
        return out->code;
    }
    mts_status status =
        mts_proto_tensor((const Onnx__TensorProto *)message, NULL, arena, tensor, &in_place, out);
    size_t bytes = 0;
    if (status == MTS_STATUS_OK) {
        (void)mts_shape_bytes(&tensor->shape, tensor->dtype, &bytes);
        void *copy = mts_arena_zero(arena, bytes, 1);
        const char *name = mts_arena_string(arena, tensor->name);
        if (copy && name) {
            if (bytes) {
                memcpy(copy, tensor->data, bytes);
            }
            tensor->data = copy;
            tensor->name = name;
        } else {
            status = mts_fail_memory(out);
        }
    }
    mts_proto_free(message, &memory);
    if (status != MTS_STATUS_OK) {
        *tensor = (mts_host_tensor){0};
    }
    return status;
}
