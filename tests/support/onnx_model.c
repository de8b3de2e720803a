/*
 * onnx_model.c: see onnx_model.h. Field numbers are those of onnx.proto.
 */
#include "support/onnx_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(onnx_bytes *out, const void *data, size_t size)
{
    if (out->size + size > out->capacity) {
        out->capacity = (out->size + size) * 2;
        unsigned char *bigger = realloc(out->data, out->capacity);
        if (!bigger) {
            abort(); /* a test without memory has nothing to say */
        }
        out->data = bigger;
    }
    if (size) {
        memcpy(out->data + out->size, data, size);
    }
    out->size += size;
}

void onnx_put_varint(onnx_bytes *out, uint64_t number)
{
    do {
        unsigned char byte = (unsigned char)(number & 0x7fu);
        number >>= 7;
        byte = (unsigned char)(byte | (number ? 0x80u : 0u));
        put(out, &byte, 1);
    } while (number);
}

void onnx_put_int(onnx_bytes *out, int field, int64_t number)
{
    onnx_put_varint(out, (uint64_t)field << 3);
    onnx_put_varint(out, (uint64_t)number);
}

void onnx_put_bytes(onnx_bytes *out, int field, const void *data, size_t size)
{
    onnx_put_varint(out, ((uint64_t)field << 3) | 2u);
    onnx_put_varint(out, size);
    put(out, data, size);
}

static void put_text(onnx_bytes *out, int field, const char *text)
{
    onnx_put_bytes(out, field, text, strlen(text));
}

static void put_float(onnx_bytes *out, int field, float number)
{
    onnx_put_varint(out, ((uint64_t)field << 3) | 5u);
    put(out, &number, sizeof(number));
}

/* Adds a message as a field of another and empties it. */
static void put_message(onnx_bytes *out, int field, onnx_bytes *inner)
{
    onnx_put_bytes(out, field, inner->data, inner->size);
    free(inner->data);
    *inner = (onnx_bytes){0};
}

static void close_node(onnx_model *model)
{
    if (model->node.size && model->function.size) {
        put_message(&model->function, 7, &model->node);
    } else if (model->node.size) {
        put_message(&model->graph, 1, &model->node);
    }
}

void onnx_model_begin(onnx_model *model, int64_t opset)
{
    *model = (onnx_model){.opset = opset};
    put_text(&model->graph, 2, "graph");
}

static void put_value_info(onnx_bytes *graph, int field, const char *name, int type, int rank,
                           const int64_t *dims)
{
    onnx_bytes shape = {0}, tensor = {0}, wrapped = {0}, info = {0};
    for (int i = 0; i < rank; i++) {
        onnx_bytes dim = {0};
        if (dims[i] == -1) {
            put_text(&dim, 2, "N");
        } else {
            onnx_put_int(&dim, 1, dims[i]);
        }
        put_message(&shape, 1, &dim);
    }
    onnx_put_int(&tensor, 1, type);
    if (rank >= 0) {
        put_message(&tensor, 2, &shape);
    }
    put_message(&wrapped, 1, &tensor);
    put_text(&info, 1, name);
    put_message(&info, 2, &wrapped);
    put_message(graph, field, &info);
}

void onnx_model_input(onnx_model *model, const char *name, int type, int rank, const int64_t *dims)
{
    close_node(model);
    put_value_info(&model->graph, 11, name, type, rank, dims);
}

void onnx_model_output(onnx_model *model, const char *name)
{
    close_node(model);
    put_value_info(&model->graph, 12, name, ONNX_FLOAT, -1, NULL);
}

void onnx_model_tensor(onnx_model *model, const char *name, int type, int rank, const int64_t *dims,
                       const void *data, size_t bytes)
{
    onnx_bytes tensor = {0};
    close_node(model);
    for (int i = 0; i < rank; i++) {
        onnx_put_int(&tensor, 1, dims[i]);
    }
    onnx_put_int(&tensor, 2, type);
    put_text(&tensor, 8, name);
    onnx_put_bytes(&tensor, 9, data, bytes);
    put_message(&model->graph, 5, &tensor);
}

void onnx_model_floats(onnx_model *model, const char *name, int rank, const int64_t *dims, const float *data)
{
    size_t count = 1;
    for (int i = 0; i < rank; i++) {
        count *= (size_t)dims[i];
    }
    onnx_model_tensor(model, name, ONNX_FLOAT, rank, dims, data, count * sizeof(float));
}

void onnx_model_ints(onnx_model *model, const char *name, int count, const int64_t *data)
{
    const int64_t dims[1] = {count};
    onnx_model_tensor(model, name, ONNX_INT64, 1, dims, data, (size_t)count * sizeof(*data));
}

static void put_names(onnx_bytes *out, int field, const char *names)
{
    while (*names) {
        size_t length = strcspn(names, ",");
        onnx_put_bytes(out, field, names, length);
        names += length + (names[length] == ',');
    }
}

void onnx_model_node(onnx_model *model, const char *op, const char *inputs, const char *outputs)
{
    char name[128];
    close_node(model);
    put_names(&model->node, 1, inputs);
    put_names(&model->node, 2, outputs);
    snprintf(name, sizeof(name), "%s_%s", op, outputs);
    put_text(&model->node, 3, name);
    put_text(&model->node, 4, op);
}

void onnx_model_domain(onnx_model *model, const char *domain)
{
    put_text(&model->node, 7, domain);
}

static void put_attribute(onnx_model *model, const char *name, int type, onnx_bytes *value)
{
    put_text(value, 1, name);
    onnx_put_int(value, 20, type);
    put_message(&model->node, 5, value);
}

void onnx_model_attr_int(onnx_model *model, const char *name, int64_t number)
{
    onnx_bytes value = {0};
    onnx_put_int(&value, 3, number);
    put_attribute(model, name, 2, &value);
}

void onnx_model_attr_float(onnx_model *model, const char *name, float number)
{
    onnx_bytes value = {0};
    put_float(&value, 2, number);
    put_attribute(model, name, 1, &value);
}

void onnx_model_attr_text(onnx_model *model, const char *name, const char *text)
{
    onnx_bytes value = {0};
    put_text(&value, 4, text);
    put_attribute(model, name, 3, &value);
}

void onnx_model_attr_ints(onnx_model *model, const char *name, int count, const int64_t *numbers)
{
    onnx_bytes value = {0};
    for (int i = 0; i < count; i++) {
        onnx_put_int(&value, 8, numbers[i]);
    }
    put_attribute(model, name, 7, &value);
}

void onnx_model_attr_texts(onnx_model *model, const char *name, int count, const char *const *texts)
{
    onnx_bytes value = {0};
    for (int i = 0; i < count; i++) {
        put_text(&value, 9, texts[i]);
    }
    put_attribute(model, name, 8, &value);
}

void onnx_model_attr_graph(onnx_model *model, const char *name, onnx_model *branch)
{
    onnx_bytes value = {0};
    close_node(branch);
    put_message(&value, 6, &branch->graph);
    put_attribute(model, name, 5, &value);
    onnx_model_end(branch);
}

void onnx_model_attr_ref(onnx_model *model, const char *name, const char *of_call, int type)
{
    onnx_bytes value = {0};
    put_text(&value, 21, of_call);
    put_attribute(model, name, type, &value);
}

void onnx_model_function(onnx_model *model, const char *domain, const char *name, const char *inputs,
                         const char *outputs, int64_t opset)
{
    onnx_bytes set = {0};
    close_node(model);
    put_text(&model->function, 1, name);
    put_names(&model->function, 4, inputs);
    put_names(&model->function, 5, outputs);
    put_text(&model->function, 10, domain);
    if (opset) {
        onnx_put_int(&set, 2, opset);
        put_message(&model->function, 9, &set);
    }
}

void onnx_model_function_float(onnx_model *model, const char *name, float number)
{
    onnx_bytes value = {0};
    put_float(&value, 2, number);
    put_text(&value, 1, name);
    onnx_put_int(&value, 20, 1);
    put_message(&model->function, 11, &value);
}

void onnx_model_function_end(onnx_model *model)
{
    close_node(model);
    put_message(&model->functions, 25, &model->function);
}

const onnx_bytes *onnx_model_file(onnx_model *model)
{
    onnx_bytes set = {0};
    close_node(model);
    model->file.size = 0;
    onnx_put_int(&model->file, 1, 8); /* ir_version */
    onnx_put_int(&set, 2, model->opset);
    put_message(&model->file, 8, &set);
    onnx_put_bytes(&model->file, 7, model->graph.data, model->graph.size);
    put(&model->file, model->functions.data, model->functions.size);
    return &model->file;
}

void onnx_model_end(onnx_model *model)
{
    free(model->graph.data);
    free(model->node.data);
    free(model->file.data);
    free(model->function.data);
    free(model->functions.data);
    *model = (onnx_model){0};
}
