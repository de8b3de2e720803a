/*
 * onnx_build.c: nodes, attributes, initialisers and value descriptions of an ONNX
 * message.
 */
#include "compiler/emit/onnx_build.h"

#include <stdio.h>
#include <string.h>

void *mts_onnx_alloc(mts_onnx *onnx, size_t count, size_t size)
{
    void *memory = onnx->failed ? NULL : mts_arena_zero(onnx->arena, count, size);
    onnx->failed = onnx->failed || !memory;
    return memory;
}

static char *text_of(mts_onnx *onnx, const char *text)
{
    char *copy = onnx->failed || !text ? NULL : mts_arena_string(onnx->arena, text);
    onnx->failed = onnx->failed || !copy;
    return copy;
}

bool mts_onnx_names_port(const mts_port *ports, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(ports[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

bool mts_onnx_is_port_name(const mts_graph *graph, const char *name)
{
    return mts_onnx_names_port(graph->inputs, graph->input_count, name) ||
           mts_onnx_names_port(graph->outputs, graph->output_count, name);
}

const char *mts_onnx_temporary(mts_onnx *onnx)
{
    char text[32];
    do {
        (void)snprintf(text, sizeof text, "mts.t%u", onnx->temporaries++);
    } while (mts_onnx_is_port_name(onnx->graph, text));
    const char *name = text_of(onnx, text);
    return name ? mts_onnx_prefixed(onnx, name) : NULL;
}

const char *mts_onnx_prefixed(mts_onnx *onnx, const char *name)
{
    const size_t length = strlen(onnx->prefix), size = strlen(name) + 1;
    char *made = length > 0 ? mts_onnx_alloc(onnx, length + size, 1) : NULL;
    if (made) {
        memcpy(made, onnx->prefix, length);
        memcpy(made + length, name, size);
    }
    return length > 0 ? made : name;
}

/* Appends a pointer to an array of them that grows by doubling; the old array stays in
   the arena. */
static bool append(mts_onnx *onnx, void *array, size_t *count, size_t *capacity, void *item)
{
    void **items = NULL;
    memcpy(&items, array, sizeof(items));
    if (*count == *capacity) {
        size_t wanted = *capacity ? *capacity * 2 : 64;
        void **bigger = mts_onnx_alloc(onnx, wanted, sizeof(*bigger));
        if (!bigger) {
            return false;
        }
        if (*count) {
            memcpy(bigger, items, *count * sizeof(*items));
        }
        items = bigger;
        *capacity = wanted;
        memcpy(array, &items, sizeof(items));
    }
    items[(*count)++] = item;
    return true;
}

Onnx__NodeProto *mts_onnx_node(mts_onnx *onnx, const char *op, const char *const *inputs, uint32_t count,
                               const char *output)
{
    Onnx__NodeProto *node = mts_onnx_alloc(onnx, 1, sizeof(*node));
    char **names = mts_onnx_alloc(onnx, (size_t)count + 1, sizeof(*names));
    if (!node || !names) {
        return NULL;
    }
    onnx__node_proto__init(node);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = text_of(onnx, inputs[i]);
    }
    names[count] = text_of(onnx, output);
    node->n_input = count;
    node->input = names;
    node->n_output = 1;
    node->output = names + count;
    node->op_type = text_of(onnx, op);
    node->name = names[count]; /* unique, which some run-times ask of node names */
    if (onnx->failed || !append(onnx, &onnx->proto->node, &onnx->proto->n_node, &onnx->node_capacity, node)) {
        return NULL;
    }
    return node;
}

static Onnx__AttributeProto *attribute(mts_onnx *onnx, Onnx__NodeProto *node, const char *name,
                                       Onnx__AttributeProto__AttributeType type)
{
    Onnx__AttributeProto *made = node ? mts_onnx_alloc(onnx, 1, sizeof(*made)) : NULL;
    Onnx__AttributeProto **list =
        made ? mts_onnx_alloc(onnx, node->n_attribute + 1, sizeof(Onnx__AttributeProto *)) : NULL;
    if (!list) {
        return NULL;
    }
    onnx__attribute_proto__init(made);
    made->name = text_of(onnx, name);
    made->has_type = 1;
    made->type = type;
    if (node->n_attribute) {
        memcpy(list, node->attribute, node->n_attribute * sizeof(Onnx__AttributeProto *));
    }
    list[node->n_attribute++] = made;
    node->attribute = list;
    return made;
}

void mts_onnx_int(mts_onnx *onnx, Onnx__NodeProto *node, const char *name, int64_t number)
{
    Onnx__AttributeProto *made = attribute(onnx, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    if (made) {
        made->has_i = 1;
        made->i = number;
    }
}

void mts_onnx_float(mts_onnx *onnx, Onnx__NodeProto *node, const char *name, float number)
{
    Onnx__AttributeProto *made = attribute(onnx, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    if (made) {
        made->has_f = 1;
        made->f = number;
    }
}

void mts_onnx_text(mts_onnx *onnx, Onnx__NodeProto *node, const char *name, const char *text)
{
    Onnx__AttributeProto *made = attribute(onnx, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    char *copy = text_of(onnx, text);
    if (made && copy) {
        made->has_s = 1;
        made->s = (ProtobufCBinaryData){.len = strlen(copy), .data = (uint8_t *)copy};
    }
}

void mts_onnx_ints(mts_onnx *onnx, Onnx__NodeProto *node, const char *name, const int64_t *numbers,
                   uint32_t count)
{
    Onnx__AttributeProto *made = attribute(onnx, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    int64_t *copy = mts_onnx_alloc(onnx, count, sizeof(*copy));
    if (made && copy) {
        memcpy(copy, numbers, count * sizeof(*copy));
        made->n_ints = count;
        made->ints = copy;
    }
}

static const char *add_tensor(mts_onnx *onnx, const char *name, int32_t type, const mts_shape *shape,
                              const void *data, size_t bytes)
{
    Onnx__TensorProto *tensor = mts_onnx_alloc(onnx, 1, sizeof(*tensor));
    int64_t *dims = mts_onnx_alloc(onnx, shape->rank, sizeof(*dims));
    if (!tensor || !dims || !data) {
        return NULL;
    }
    onnx__tensor_proto__init(tensor);
    memcpy(dims, shape->dims, shape->rank * sizeof(*dims));
    tensor->name = text_of(onnx, name);
    tensor->n_dims = shape->rank;
    tensor->dims = dims;
    tensor->has_data_type = 1;
    tensor->data_type = type;
    tensor->has_raw_data = 1;
    /* packing only reads what the message points to */
    memcpy(&tensor->raw_data.data, &data, sizeof(data));
    tensor->raw_data.len = bytes;
    bool done = !onnx->failed && append(onnx, &onnx->proto->initializer, &onnx->proto->n_initializer,
                                        &onnx->initializer_capacity, tensor);
    return done ? tensor->name : NULL;
}

const char *mts_onnx_floats_const(mts_onnx *onnx, const char *name, const mts_shape *shape, const float *data)
{
    return add_tensor(onnx, name ? name : mts_onnx_temporary(onnx), ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
                      shape, data, mts_shape_count(shape) * sizeof(*data));
}

const char *mts_onnx_data_const(mts_onnx *onnx, const char *name, mts_type dtype, const mts_shape *shape,
                                const void *data)
{
    return add_tensor(onnx, name ? name : mts_onnx_temporary(onnx), mts_onnx_dtype(dtype), shape, data,
                      mts_shape_count(shape) * mts_type_size(dtype));
}

const char *mts_onnx_ints_const(mts_onnx *onnx, const int64_t *numbers, uint32_t count)
{
    mts_shape shape = {.rank = 1, .dims = {count}};
    int64_t *copy = mts_onnx_alloc(onnx, count, sizeof(*copy));
    if (!copy) {
        return NULL;
    }
    memcpy(copy, numbers, count * sizeof(*copy));
    return add_tensor(onnx, mts_onnx_temporary(onnx), ONNX__TENSOR_PROTO__DATA_TYPE__INT64, &shape, copy,
                      count * sizeof(*copy));
}

const char *mts_onnx_float_const(mts_onnx *onnx, float number)
{
    mts_shape scalar = {0};
    float *copy = mts_onnx_alloc(onnx, 1, sizeof(*copy));
    if (!copy) {
        return NULL;
    }
    *copy = number;
    return mts_onnx_floats_const(onnx, NULL, &scalar, copy);
}

/* One of the same length and number that the model has already; NULL: there is none. */
static const char *find_vector(const mts_onnx_shared *shared, int64_t count, float number)
{
    for (uint32_t i = 0; shared && i < shared->vector_count; i++) {
        const mts_onnx_vector *known = &shared->vectors[i];
        if (known->count == count && memcmp(&known->number, &number, sizeof number) == 0) {
            return known->name;
        }
    }
    return NULL;
}

static void keep_vector(mts_onnx *onnx, mts_onnx_vector vector)
{
    mts_onnx_shared *shared = onnx->shared;
    if (shared->vector_count == shared->vector_capacity) {
        const uint32_t wanted = shared->vector_capacity ? shared->vector_capacity * 2 : 64;
        mts_onnx_vector *bigger = mts_onnx_alloc(onnx, wanted, sizeof *bigger);
        if (!bigger) {
            return;
        }
        if (shared->vector_count > 0) {
            memcpy(bigger, shared->vectors, shared->vector_count * sizeof *bigger);
        }
        shared->vectors = bigger;
        shared->vector_capacity = wanted;
    }
    shared->vectors[shared->vector_count++] = vector;
}

const char *mts_onnx_vector_const(mts_onnx *onnx, int64_t count, float number)
{
    const mts_shape shape = {.rank = 1, .dims = {count}};
    const char *name = find_vector(onnx->shared, count, number);
    if (name) {
        return name;
    }
    float *data = mts_onnx_alloc(onnx, (size_t)count, sizeof(*data));
    for (int64_t i = 0; data && i < count; i++) {
        data[i] = number;
    }
    name = data ? mts_onnx_floats_const(onnx, NULL, &shape, data) : NULL;
    if (name && onnx->shared) {
        keep_vector(onnx, (mts_onnx_vector){name, count, number});
    }
    return name;
}

int32_t mts_onnx_dtype(mts_type dtype)
{
    static const int32_t types[MTS_TYPE_COUNT] = {[MTS_TYPE_FLOAT32] = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
                                                  [MTS_TYPE_FLOAT16] = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16,
                                                  [MTS_TYPE_INT32] = ONNX__TENSOR_PROTO__DATA_TYPE__INT32,
                                                  [MTS_TYPE_INT64] = ONNX__TENSOR_PROTO__DATA_TYPE__INT64,
                                                  [MTS_TYPE_UINT8] = ONNX__TENSOR_PROTO__DATA_TYPE__UINT8,
                                                  [MTS_TYPE_BOOL] = ONNX__TENSOR_PROTO__DATA_TYPE__BOOL,
                                                  [MTS_TYPE_FLOAT64] = ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE,
                                                  [MTS_TYPE_INT8] = ONNX__TENSOR_PROTO__DATA_TYPE__INT8,
                                                  [MTS_TYPE_UINT16] = ONNX__TENSOR_PROTO__DATA_TYPE__UINT16,
                                                  [MTS_TYPE_INT16] = ONNX__TENSOR_PROTO__DATA_TYPE__INT16};
    return types[dtype];
}

static Onnx__ValueInfoProto *value_info(mts_onnx *onnx, const char *name, mts_type dtype,
                                        const mts_shape *shape)
{
    Onnx__ValueInfoProto *info = mts_onnx_alloc(onnx, 1, sizeof(*info));
    Onnx__TypeProto *type = mts_onnx_alloc(onnx, 1, sizeof(*type));
    Onnx__TypeProto__Tensor *tensor = mts_onnx_alloc(onnx, 1, sizeof(*tensor));
    Onnx__TensorShapeProto *dims = mts_onnx_alloc(onnx, 1, sizeof(*dims));
    Onnx__TensorShapeProto__Dimension **list =
        mts_onnx_alloc(onnx, MTS_TENSOR_RANK_MAX, sizeof(Onnx__TensorShapeProto__Dimension *));
    Onnx__TensorShapeProto__Dimension *items = mts_onnx_alloc(onnx, MTS_TENSOR_RANK_MAX, sizeof(*items));
    if (onnx->failed) {
        return NULL;
    }
    onnx__value_info_proto__init(info);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(tensor);
    onnx__tensor_shape_proto__init(dims);
    for (uint32_t i = 0; i < shape->rank; i++) {
        onnx__tensor_shape_proto__dimension__init(&items[i]);
        items[i].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        items[i].dim_value = shape->dims[i];
        list[i] = &items[i];
    }
    dims->n_dim = shape->rank;
    dims->dim = list;
    tensor->has_elem_type = 1;
    tensor->elem_type = mts_onnx_dtype(dtype);
    tensor->shape = dims;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    info->name = text_of(onnx, name);
    info->type = type;
    return info;
}

void mts_onnx_add_port(mts_onnx *onnx, bool output, const char *name, mts_type dtype, const mts_shape *shape)
{
    Onnx__ValueInfoProto *info = name ? value_info(onnx, name, dtype, shape) : NULL;
    if (info && output) {
        (void)append(onnx, &onnx->proto->output, &onnx->proto->n_output, &onnx->output_capacity, info);
    } else if (info) {
        (void)append(onnx, &onnx->proto->input, &onnx->proto->n_input, &onnx->input_capacity, info);
    }
}

const char *mts_onnx_one(mts_onnx *onnx, const char *op, const char *x, const char *output)
{
    output = output ? output : mts_onnx_temporary(onnx);
    return mts_onnx_node(onnx, op, &x, 1, output) ? output : NULL;
}

const char *mts_onnx_two(mts_onnx *onnx, const char *op, const char *a, const char *b, const char *output)
{
    const char *both[2] = {a, b};
    output = output ? output : mts_onnx_temporary(onnx);
    return mts_onnx_node(onnx, op, both, 2, output) ? output : NULL;
}

const char *mts_onnx_shaped(mts_onnx *onnx, const char *op, const char *x, const int64_t *dims, uint32_t rank,
                            const char *output)
{
    return mts_onnx_two(onnx, op, x, mts_onnx_ints_const(onnx, dims, rank), output);
}

const char *mts_onnx_cast(mts_onnx *onnx, const char *x, mts_type dtype, const char *output)
{
    output = output ? output : mts_onnx_temporary(onnx);
    mts_onnx_int(onnx, mts_onnx_node(onnx, "Cast", &x, 1, output), "to", mts_onnx_dtype(dtype));
    return output;
}
