/*
 * model.c: see model.h. Field numbers are those of the TensorFlow Lite schema.
 */
#include "compiler/import/tflite/model.h"

#include <string.h>

#define PORTS_MOST 1024u

/* Terminated copy of a string; "" where there is none. */
static const char *read_string(mts_tflite *model, const mts_flat_table *table, uint32_t field)
{
    const mts_flat_vector text = mts_flat_list(&model->flat, table, field, 1);
    /* tables may repeat, and every one of them would copy its name */
    model->name_bytes += text.count;
    if (model->name_bytes > model->flat.size) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "the model's names overlap");
        return "";
    }
    char *copy = text.count ? mts_arena_zero(&model->import->scratch, (size_t)text.count + 1, 1) : NULL;
    if (!copy) {
        if (text.count) {
            mts_import_fail(model->import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a name");
        }
        return "";
    }
    memcpy(copy, model->flat.data + text.at, text.count);
    return copy;
}

static void check_broken(mts_tflite *model)
{
    if (model->flat.broken) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "%s does not lie inside the file",
                        model->flat.broken);
    }
}

static void read_shape(mts_tflite *model, const mts_flat_table *table, mts_tflite_tensor *tensor)
{
    const mts_flat_vector dims = mts_flat_list(&model->flat, table, 0, 4);
    const mts_flat_vector signature = mts_flat_list(&model->flat, table, 7, 4);
    if (dims.count > MTS_TENSOR_RANK_MAX) {
        mts_import_fail(model->import, MTS_STATUS_LIMIT, "tensor '%s': rank %u is above %d", tensor->name,
                        dims.count, MTS_TENSOR_RANK_MAX);
        return;
    }
    tensor->shape.rank = dims.count;
    for (uint32_t i = 0; i < dims.count; i++) {
        tensor->shape.dims[i] = mts_flat_at(&model->flat, &dims, MTS_FLAT_I32, i);
        const bool is_open =
            signature.count == dims.count && mts_flat_at(&model->flat, &signature, MTS_FLAT_I32, i) < 0;
        tensor->open |= is_open ? 1u << i : 0;
    }
    if (!mts_shape_valid(&tensor->shape)) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "tensor '%s' has a dimension out of range",
                        tensor->name);
    }
}

/* A buffer lies in the file's tree, or, in large files, at a stated place behind it. */
static void read_buffer(mts_tflite *model, const mts_flat_vector *buffers, uint32_t index,
                        mts_tflite_tensor *tensor)
{
    if (index >= buffers->count) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "tensor '%s' has buffer %u, there are %u",
                        tensor->name, index, buffers->count);
        return;
    }
    const mts_flat_table buffer = mts_flat_table_at(&model->flat, buffers, index);
    const mts_flat_vector bytes = mts_flat_list(&model->flat, &buffer, 0, 1);
    const uint64_t offset = (uint64_t)mts_flat_int(&model->flat, &buffer, 1, MTS_FLAT_I64, 0);
    const uint64_t size = (uint64_t)mts_flat_int(&model->flat, &buffer, 2, MTS_FLAT_I64, 0);
    if (bytes.count) {
        tensor->data = model->flat.data + bytes.at;
        tensor->bytes = bytes.count;
    } else if (offset > 1 && size > 0) {
        if (offset > model->flat.size || size > model->flat.size - offset) {
            mts_import_fail(model->import, MTS_STATUS_MALFORMED, "buffer %u does not lie inside the file",
                            index);
            return;
        }
        tensor->data = model->flat.data + offset;
        tensor->bytes = (size_t)size;
    }
}

static void read_tensors(mts_tflite *model, const mts_flat_table *subgraph, const mts_flat_vector *buffers)
{
    const mts_flat_vector list = mts_flat_list(&model->flat, subgraph, 0, 4);
    model->tensors = mts_arena_zero(&model->import->scratch, list.count, sizeof *model->tensors);
    if (!model->tensors) {
        mts_import_fail(model->import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for %u tensors",
                        list.count);
        return;
    }
    model->tensor_count = list.count;
    for (uint32_t i = 0; i < list.count && mts_import_ok(model->import) && !model->flat.broken; i++) {
        mts_tflite_tensor *tensor = &model->tensors[i];
        const mts_flat_table table = mts_flat_table_at(&model->flat, &list, i);
        tensor->producer = MTS_NONE;
        tensor->name = read_string(model, &table, 3);
        tensor->type = (int)mts_flat_int(&model->flat, &table, 1, MTS_FLAT_I8, 0);
        tensor->quantization = mts_flat_child(&model->flat, &table, 4);
        tensor->is_variable = mts_flat_int(&model->flat, &table, 5, MTS_FLAT_U8, 0) != 0;
        tensor->sparsity = mts_flat_child(&model->flat, &table, 6);
        read_shape(model, &table, tensor);
        const int64_t buffer = mts_flat_int(&model->flat, &table, 2, MTS_FLAT_U32, 0);
        if (buffer > 0 && mts_import_ok(model->import)) {
            read_buffer(model, buffers, (uint32_t)buffer, tensor);
        }
        /* a constant without elements has no bytes either */
        if (!tensor->data && mts_import_ok(model->import) && mts_shape_count(&tensor->shape) == 0) {
            tensor->data = model->flat.data;
        }
    }
}

static bool index_fits(mts_tflite *model, int64_t index, bool may_be_absent)
{
    const bool fits = (index >= 0 && index < (int64_t)model->tensor_count) || (index == -1 && may_be_absent);
    if (!fits) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "tensor %lld is named, there are %u",
                        (long long)index, model->tensor_count);
    }
    return fits;
}

/* An operator reads constants, inputs and results of earlier operators, and every result
   has one producer. */
static void connect(mts_tflite *model, uint32_t number)
{
    const mts_tflite_operator *node = &model->operators[number];
    for (uint32_t i = 0; i < node->inputs.count; i++) {
        if (!index_fits(model, mts_flat_at(&model->flat, &node->inputs, MTS_FLAT_I32, i), true)) {
            return;
        }
    }
    for (uint32_t i = 0; i < node->outputs.count; i++) {
        const int64_t index = mts_flat_at(&model->flat, &node->outputs, MTS_FLAT_I32, i);
        if (!index_fits(model, index, false)) {
            return;
        }
        mts_tflite_tensor *tensor = &model->tensors[index];
        if (tensor->producer != MTS_NONE || tensor->is_input || tensor->data) {
            mts_import_fail(model->import, MTS_STATUS_MALFORMED, "tensor '%s' is defined more than once",
                            tensor->name);
            return;
        }
        tensor->producer = number;
    }
}

static void read_operator(mts_tflite *model, const mts_flat_table *table, const mts_flat_vector *codes,
                          mts_tflite_operator *node)
{
    const int64_t index = mts_flat_int(&model->flat, table, 0, MTS_FLAT_U32, 0);
    if (index >= (int64_t)codes->count) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "operator code %lld is named, there are %u",
                        (long long)index, codes->count);
        return;
    }
    const mts_flat_table code = mts_flat_table_at(&model->flat, codes, (uint32_t)index);
    const int64_t old = mts_flat_int(&model->flat, &code, 0, MTS_FLAT_I8, 0);
    const int64_t now = mts_flat_int(&model->flat, &code, 3, MTS_FLAT_I32, 0);
    node->code = (uint32_t)(now > old ? now : old);
    node->custom = node->code == MTS_TFLITE_CUSTOM ? read_string(model, &code, 1) : NULL;
    node->inputs = mts_flat_list(&model->flat, table, 1, 4);
    node->outputs = mts_flat_list(&model->flat, table, 2, 4);
    node->options = mts_flat_child(&model->flat, table, 4);
    node->custom_options = mts_flat_list(&model->flat, table, 5, 1);
}

static void read_operators(mts_tflite *model, const mts_flat_table *subgraph, const mts_flat_vector *codes)
{
    const mts_flat_vector list = mts_flat_list(&model->flat, subgraph, 3, 4);
    if (list.count > model->import->options->nodes_most) {
        mts_import_fail(model->import, MTS_STATUS_LIMIT, "%u operators, the limit is %u", list.count,
                        model->import->options->nodes_most);
        return;
    }
    model->operators = mts_arena_zero(&model->import->scratch, list.count, sizeof *model->operators);
    if (!model->operators) {
        mts_import_fail(model->import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for operators");
        return;
    }
    /* operators whose lists overlap would make work that grows with the square of the
       file */
    size_t operands = 0;
    for (uint32_t i = 0; i < list.count && mts_import_ok(model->import) && !model->flat.broken; i++) {
        const mts_flat_table table = mts_flat_table_at(&model->flat, &list, i);
        mts_tflite_operator *node = &model->operators[i];
        read_operator(model, &table, codes, node);
        operands += (size_t)node->inputs.count + node->outputs.count;
        if (operands > model->flat.size) {
            mts_import_fail(model->import, MTS_STATUS_MALFORMED, "the operators' lists of tensors overlap");
        }
        model->operator_count = i + 1;
        if (mts_import_ok(model->import)) {
            connect(model, i);
        }
    }
}

static void check_ports(mts_tflite *model, const mts_flat_vector *ports, const char *what)
{
    if (ports->count == 0 || ports->count > PORTS_MOST) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "the model has %u %ss, 1 to %u are possible",
                        ports->count, what, PORTS_MOST);
        return;
    }
    for (uint32_t i = 0; i < ports->count; i++) {
        const int64_t index = mts_flat_at(&model->flat, ports, MTS_FLAT_I32, i);
        if (!index_fits(model, index, false)) {
            return;
        }
        const char *name = model->tensors[index].name;
        for (uint32_t j = 0; j < i; j++) {
            const int64_t other = mts_flat_at(&model->flat, ports, MTS_FLAT_I32, j);
            if (index == other || strcmp(name, model->tensors[other].name) == 0) {
                mts_import_fail(model->import, MTS_STATUS_MALFORMED, "two %ss are named '%s'", what, name);
                return;
            }
        }
    }
}

/* Operators stand after those that they read, so one walk from the end finds what the
   outputs need. */
static void mark_needed(mts_tflite *model)
{
    for (uint32_t i = 0; i < model->outputs.count; i++) {
        model->tensors[mts_flat_at(&model->flat, &model->outputs, MTS_FLAT_I32, i)].needed = true;
    }
    for (uint32_t n = model->operator_count; n-- > 0;) {
        mts_tflite_operator *node = &model->operators[n];
        for (uint32_t i = 0; i < node->outputs.count; i++) {
            const int64_t index = mts_flat_at(&model->flat, &node->outputs, MTS_FLAT_I32, i);
            node->needed = node->needed || model->tensors[index].needed;
        }
        for (uint32_t i = 0; node->needed && i < node->inputs.count; i++) {
            const int64_t index = mts_flat_at(&model->flat, &node->inputs, MTS_FLAT_I32, i);
            if (index >= 0) {
                model->tensors[index].needed = true;
            }
        }
    }
}

void mts_tflite_read(mts_tflite *model)
{
    const mts_flat_table root = mts_flat_root(&model->flat);
    const mts_flat_vector codes = mts_flat_list(&model->flat, &root, 1, 4);
    const mts_flat_vector subgraphs = mts_flat_list(&model->flat, &root, 2, 4);
    const mts_flat_vector buffers = mts_flat_list(&model->flat, &root, 4, 4);
    check_broken(model);
    if (subgraphs.count == 0) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "the model has no subgraph");
        return;
    }
    /* The first one is the model. The others belong to operators (IF, WHILE, CALL_ONCE),
     * which are refused by name, or to signatures that nothing here asks for. */
    const mts_flat_table subgraph = mts_flat_table_at(&model->flat, &subgraphs, 0);
    model->name = read_string(model, &subgraph, 4);
    read_tensors(model, &subgraph, &buffers);
    model->inputs = mts_flat_list(&model->flat, &subgraph, 1, 4);
    model->outputs = mts_flat_list(&model->flat, &subgraph, 2, 4);
    check_broken(model);
    if (mts_import_ok(model->import)) {
        check_ports(model, &model->inputs, "input");
        check_ports(model, &model->outputs, "output");
    }
    for (uint32_t i = 0; mts_import_ok(model->import) && i < model->inputs.count; i++) {
        model->tensors[mts_flat_at(&model->flat, &model->inputs, MTS_FLAT_I32, i)].is_input = true;
    }
    if (mts_import_ok(model->import)) {
        read_operators(model, &subgraph, &codes);
    }
    check_broken(model);
    if (mts_import_ok(model->import)) {
        mark_needed(model);
    }
}

const char *mts_tflite_type_name(int type)
{
    static const char *const names[] = {"FLOAT32", "FLOAT16",    "INT32",  "UINT8",     "INT64",
                                        "STRING",  "BOOL",       "INT16",  "COMPLEX64", "INT8",
                                        "FLOAT64", "COMPLEX128", "UINT64", "RESOURCE",  "VARIANT",
                                        "UINT32",  "UINT16",     "INT4",   "BFLOAT16"};
    const int count = (int)(sizeof names / sizeof names[0]);
    return type >= 0 && type < count ? names[type] : "a type of a newer schema";
}

bool mts_tflite_dtype(int type, mts_type *dtype)
{
    static const struct {
        int type;
        mts_type dtype;
    } types[] = {{MTS_TFLITE_FLOAT32, MTS_TYPE_FLOAT32}, {MTS_TFLITE_FLOAT16, MTS_TYPE_FLOAT16},
                 {MTS_TFLITE_INT32, MTS_TYPE_INT32},     {MTS_TFLITE_INT64, MTS_TYPE_INT64},
                 {MTS_TFLITE_UINT8, MTS_TYPE_UINT8},     {MTS_TFLITE_BOOL, MTS_TYPE_BOOL},
                 {MTS_TFLITE_INT8, MTS_TYPE_INT8},       {MTS_TFLITE_INT16, MTS_TYPE_INT16}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].type == type) {
            *dtype = types[i].dtype;
            return true;
        }
    }
    return false;
}
