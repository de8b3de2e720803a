/*
 * import.c: the pass over a TensorFlow Lite model: inputs, operators in the file's order,
 * outputs.
 */
#include "compiler/import/tflite/tflite.h"

#include <string.h>

#include "compiler/import/tflite/lower.h"

/* By the numbers of the schema. */
enum { CODE_SUPPRESSION_V4 = 120, CODE_SUPPRESSION_V5 = 121 };

#define IDENTIFIER_AT 4

bool mts_tflite_is(const void *data, size_t size)
{
    return size >= IDENTIFIER_AT + 4 && memcmp((const char *)data + IDENTIFIER_AT, "TFL3", 4) == 0;
}

static mts_tflite_tensor *port(const mts_tflite *model, const mts_flat_vector *ports, uint32_t index)
{
    return &model->tensors[mts_flat_at(&model->flat, ports, MTS_FLAT_I32, index)];
}

/* ---- inputs ---- */

static bool port_type(mts_tflite *model, const mts_tflite_tensor *tensor, const char *what, mts_type *dtype)
{
    const bool known = mts_tflite_dtype(tensor->type, dtype);
    if (!known) {
        mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED, "%s '%s' has type %s", what, tensor->name,
                        mts_tflite_type_name(tensor->type));
    }
    return known;
}

static const mts_shape *given_shape(const mts_tflite *model, const char *name)
{
    const mts_import_options *options = model->import->options;
    for (size_t i = 0; i < options->shape_count; i++) {
        const char *wanted = options->shapes[i].input;
        if (wanted ? strcmp(wanted, name) == 0 : model->inputs.count == 1) {
            return &options->shapes[i].shape;
        }
    }
    return NULL;
}

/* Only open dimensions and a batch of 1 may be given another size. */
static void apply_given(mts_tflite *model, mts_tflite_tensor *tensor, const mts_shape *given)
{
    bool fits = given->rank == tensor->shape.rank;
    for (uint32_t i = 0; fits && i < given->rank; i++) {
        const bool is_batch = i == 0 && given->rank > 1 && tensor->shape.dims[0] == 1;
        fits = tensor->shape.dims[i] == given->dims[i] || is_batch || (tensor->open >> i & 1u) != 0;
    }
    if (!fits) {
        char stated[96], text[96];
        mts_import_fail(model->import, MTS_STATUS_INVALID_ARGUMENT,
                        "input '%s' has shape %s in the model, %s was given", tensor->name,
                        mts_shape_text(&tensor->shape, stated, sizeof stated),
                        mts_shape_text(given, text, sizeof text));
        return;
    }
    model->shapes_hold = model->shapes_hold && mts_shape_equal(given, &tensor->shape);
    tensor->shape = *given;
}

static bool has_input(const mts_tflite *model, const char *name)
{
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        if (strcmp(port(model, &model->inputs, i)->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void check_given(mts_tflite *model)
{
    const mts_import_options *options = model->import->options;
    if (options->binding_count > 0) {
        mts_import_fail(model->import, MTS_STATUS_INVALID_ARGUMENT,
                        "inputs of TensorFlow Lite models cannot become constants");
    }
    for (size_t i = 0; i < options->shape_count; i++) {
        const char *name = options->shapes[i].input;
        if (name ? !has_input(model, name) : model->inputs.count != 1) {
            mts_import_fail(model->import, MTS_STATUS_INVALID_ARGUMENT,
                            "there is no input '%s' to give a shape to", name ? name : "(the only one)");
        }
    }
    for (size_t i = 0; i < options->number_count; i++) {
        if (!has_input(model, options->numbers[i].input)) {
            mts_import_fail(model->import, MTS_STATUS_INVALID_ARGUMENT,
                            "there is no input '%s' to give a value to", options->numbers[i].input);
        }
    }
}

/* The value that the caller gave an input, or an input of the graph. */
static mts_import_value *define_input(mts_tflite *model, const mts_tflite_tensor *tensor, mts_type dtype)
{
    const mts_import_options *options = model->import->options;
    for (size_t i = 0; i < options->number_count; i++) {
        if (strcmp(options->numbers[i].input, tensor->name) == 0) {
            return mts_import_filled(model->import, dtype, &tensor->shape, options->numbers[i].number);
        }
    }
    return mts_import_emit_input(model->import, tensor->name, dtype, &tensor->shape);
}

static void define_inputs(mts_tflite *model)
{
    check_given(model);
    for (uint32_t i = 0; i < model->inputs.count && mts_import_ok(model->import); i++) {
        mts_tflite_tensor *tensor = port(model, &model->inputs, i);
        const mts_shape *given = given_shape(model, tensor->name);
        mts_type dtype = MTS_TYPE_FLOAT32;
        if (given) {
            apply_given(model, tensor, given);
        }
        if (mts_import_ok(model->import) && port_type(model, tensor, "input", &dtype)) {
            mts_import_value *value = define_input(model, tensor, dtype);
            tensor->native =
                mts_tflite_is_quantised(model, tensor) ? mts_tflite_real(model, tensor, value) : value;
        }
    }
}

/* ---- operators ---- */

static void check_operands(mts_tflite *model, const mts_tflite_row *row)
{
    const mts_tflite_operator *node = model->node;
    if (node->inputs.count < row->required || node->inputs.count > row->most) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "%u inputs, wanted %u to %u", node->inputs.count,
                        row->required, row->most);
        return;
    }
    const uint32_t required = row->most == 0xffffu ? node->inputs.count : row->required;
    for (uint32_t i = 0; i < required; i++) {
        if (!mts_tflite_in(model, i)) {
            mts_import_fail(model->import, MTS_STATUS_MALFORMED, "input %u is missing", i);
            return;
        }
    }
    /* what an operand is must be known before its layout is asked for */
    for (uint32_t i = 0; i < node->inputs.count; i++) {
        const mts_tflite_tensor *tensor = mts_tflite_in(model, i);
        if (tensor && !tensor->native && !tensor->planar && !tensor->data && !tensor->is_variable) {
            mts_import_fail(model->import, MTS_STATUS_MALFORMED,
                            "tensor '%s' is not defined before it is used", tensor->name);
            return;
        }
    }
}

static void lower_operator(mts_tflite *model)
{
    const mts_tflite_row *row = mts_tflite_find(model->node);
    if (!row) {
        mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED, "the %soperator is not supported",
                        model->node->custom ? "custom " : "");
        return;
    }
    check_operands(model, row);
    if (mts_import_ok(model->import)) {
        row->lower(model);
    }
    if (model->flat.broken) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "%s does not lie inside the file",
                        model->flat.broken);
    }
}

/* Leaves out the suppression of boxes, and operators that read results of what was left
   out. */
static bool leave_out(mts_tflite *model)
{
    const mts_tflite_operator *node = model->node;
    char text[32];
    bool left = node->custom ? strcmp(node->custom, "TFLite_Detection_PostProcess") == 0
                             : node->code == CODE_SUPPRESSION_V4 || node->code == CODE_SUPPRESSION_V5;
    for (uint32_t i = 0; i < node->inputs.count; i++) {
        const mts_tflite_tensor *tensor = mts_tflite_in(model, i);
        left = left || (tensor && tensor->left);
    }
    if (!left) {
        return false;
    }
    mts_import_cut_before(model->import, mts_tflite_operator_name(node, text, sizeof text));
    for (uint32_t i = 0; i < node->inputs.count && mts_import_ok(model->import); i++) {
        mts_tflite_tensor *tensor = mts_tflite_in(model, i);
        if (tensor && !tensor->left && !tensor->data) {
            mts_import_cut_keep(model->import, tensor->name, mts_tflite_native(model, tensor));
        }
    }
    for (uint32_t i = 0; i < node->outputs.count; i++) {
        model->tensors[mts_flat_at(&model->flat, &node->outputs, MTS_FLAT_I32, i)].left = true;
    }
    return true;
}

static void lower_operators(mts_tflite *model)
{
    for (uint32_t i = 0; i < model->operator_count && mts_import_ok(model->import); i++) {
        const mts_tflite_operator *node = &model->operators[i];
        if (!node->needed) {
            continue;
        }
        if (i % NODES_PER_TICK == 0) {
            mts_import_tick(model->import, (float)i / (float)model->operator_count);
        }
        const mts_tflite_tensor *first =
            &model->tensors[mts_flat_at(&model->flat, &node->outputs, MTS_FLAT_I32, 0)];
        model->node = node;
        model->import->title = first->name;
        if (!leave_out(model)) {
            lower_operator(model);
        }
        if (!mts_import_ok(model->import)) {
            char text[32];
            model->import->status =
                mts_fail_prefix(model->import->error, model->import->status, "operator %u '%s' (%s)", i,
                                first->name, mts_tflite_operator_name(node, text, sizeof text));
        }
    }
    model->import->title = NULL;
}

/* ---- outputs ---- */

static void define_outputs(mts_tflite *model)
{
    for (uint32_t i = 0; i < model->outputs.count && mts_import_ok(model->import); i++) {
        mts_tflite_tensor *tensor = port(model, &model->outputs, i);
        mts_type dtype = MTS_TYPE_FLOAT32;
        mts_import_value *value = tensor->left ? NULL : mts_tflite_native(model, tensor);
        if (value && port_type(model, tensor, "output", &dtype)) {
            value = mts_tflite_is_quantised(model, tensor) ? mts_tflite_codes(model, tensor, value)
                                                           : mts_import_retype(model->import, value, dtype);
            mts_import_emit_output(model->import, tensor->name, value);
        }
    }
    mts_import_cut_outputs(model->import);
}

/* ---- models ---- */

static void run_import(mts_tflite *model, mts_arena *arena)
{
    mts_import *import = model->import;
    mts_tflite_read(model);
    import->graph = mts_import_ok(import) ? mts_graph_create(arena, model->name) : NULL;
    if (!import->graph) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a graph");
        return;
    }
    mts_import_check_ports(import, model->inputs.count, "inputs");
    mts_import_check_ports(import, model->outputs.count, "outputs");
    if (mts_import_ok(import)) {
        define_inputs(model);
    }
    lower_operators(model);
    if (mts_import_ok(import)) {
        define_outputs(model);
    }
    MTS_TRY(import->status, mts_graph_verify(import->graph, import->error));
}

mts_status mts_tflite_import(const void *data, size_t size, const mts_import_options *options,
                             mts_arena *arena, mts_graph **graph, mts_error *error)
{
    mts_import import = {.options = options, .arena = arena, .status = MTS_STATUS_OK, .error = error};
    mts_tflite model = {.import = &import, .flat = {.data = data, .size = size}, .shapes_hold = true};
    mts_import_budget(&import, size, 0);
    mts_arena_init(&import.scratch, arena->allocator);
    run_import(&model, arena);
    mts_arena_release(&import.scratch);
    if (import.status == MTS_STATUS_OK) {
        *graph = import.graph;
    }
    return import.status;
}
