/*
 * tflite_model.c: see tflite_model.h.
 *
 * Tables are written front to back: vtable, table, then what its offsets lead to. Every field takes four bytes,
 * which serves one-byte fields too, since numbers are little-endian.
 */
#include "support/tflite_model.h"

#include <stdlib.h>
#include <string.h>

static void put(tflite_bytes *out, const void *data, size_t size)
{
    while (out->size + size > out->capacity) {
        out->capacity = out->capacity ? out->capacity * 2 : 4096;
        unsigned char *grown = realloc(out->data, out->capacity);
        if (!grown) {
            abort();
        }
        out->data = grown;
    }
    if (size) {
        memcpy(out->data + out->size, data, size);
    }
    out->size += size;
}

static void put_u16(tflite_bytes *out, uint32_t number)
{
    const unsigned char bytes[2] = {(unsigned char)number, (unsigned char)(number >> 8)};
    put(out, bytes, sizeof bytes);
}

static void set_u32(tflite_bytes *out, size_t at, uint32_t number)
{
    for (int i = 0; i < 4; i++) {
        out->data[at + (size_t)i] = (unsigned char)(number >> 8 * i);
    }
}

static void put_u32(tflite_bytes *out, uint32_t number)
{
    const uint32_t nothing = 0;
    put(out, &nothing, sizeof nothing);
    set_u32(out, out->size - 4, number);
}

static void align(tflite_bytes *out, size_t to)
{
    const unsigned char nothing = 0;
    while (out->size % to) {
        put(out, &nothing, 1);
    }
}

/* A table with the fields of a bit mask; returns the position of field 0. */
static size_t table(tflite_bytes *out, size_t from, uint32_t present)
{
    const uint32_t fields = 14;
    align(out, 4);
    const size_t vtable = out->size;
    put_u16(out, 4 + 2 * fields);
    put_u16(out, 4 + 4 * fields);
    for (uint32_t i = 0; i < fields; i++) {
        put_u16(out, present >> i & 1u ? 4 + 4 * i : 0);
    }
    align(out, 4);
    const size_t at = out->size;
    put_u32(out, (uint32_t)(at - vtable));
    for (uint32_t i = 0; i < fields; i++) {
        put_u32(out, 0);
    }
    set_u32(out, from, (uint32_t)(at - from));
    return at + 4;
}

/* Elements follow their count, which is aligned so that they are. Returns the position of the first. */
static size_t vector(tflite_bytes *out, size_t from, uint32_t count, const void *data, size_t bytes,
                     size_t to)
{
    align(out, 4);
    while ((out->size + 4) % to) {
        put_u32(out, 0);
    }
    set_u32(out, from, (uint32_t)(out->size - from));
    put_u32(out, count);
    const size_t at = out->size;
    put(out, data, bytes);
    return at;
}

static void ints(tflite_bytes *out, size_t from, int count, const int32_t *numbers)
{
    (void)vector(out, from, (uint32_t)count, numbers, (size_t)count * 4, 4);
}

static size_t offsets(tflite_bytes *out, size_t from, int count)
{
    static const uint32_t nothing[64];
    return vector(out, from, (uint32_t)count, nothing, (size_t)count * 4, 4);
}

static void text(tflite_bytes *out, size_t from, const char *words)
{
    (void)vector(out, from, (uint32_t)strlen(words), words, strlen(words) + 1, 4);
}

static void sparsity(tflite_bytes *out, size_t from, const tflite_tensor *tensor)
{
    const size_t at = table(out, from, tensor->block_count ? 7u : 5u);
    ints(out, at, tensor->level_count, tensor->order);
    if (tensor->block_count) {
        ints(out, at + 4, tensor->block_count, tensor->blocks);
    }
    const size_t list = offsets(out, at + 8, tensor->level_count);
    for (int i = 0; i < tensor->level_count; i++) {
        const tflite_level *level = &tensor->levels[i];
        const size_t one = table(out, list + 4 * (size_t)i, level->segments ? 0x3du : 3u);
        set_u32(out, one, level->segments ? 1 : 0);
        set_u32(out, one + 4, (uint32_t)level->dense_size);
        if (level->segments) {
            set_u32(out, one + 8, 1);
            set_u32(out, one + 16, 1);
            ints(out, table(out, one + 12, 1u), level->segment_count, level->segments);
            ints(out, table(out, one + 20, 1u), level->index_count, level->indices);
        }
    }
}

static void quantization(tflite_bytes *out, size_t from, const tflite_tensor *tensor)
{
    const size_t at = table(out, from, 0x4cu);
    (void)vector(out, at + 8, (uint32_t)tensor->scale_count, tensor->scales, (size_t)tensor->scale_count * 4,
                 4);
    (void)vector(out, at + 12, 1, &tensor->zero, 8, 8);
    set_u32(out, at + 24, (uint32_t)tensor->scale_dim);
}

/* Tensor i has buffer i + 1; buffer 0 is empty. */
static void subgraph(tflite_model *model, size_t from)
{
    tflite_bytes *out = &model->file;
    const size_t at = table(out, from, 0x1fu);
    const size_t tensors = offsets(out, at, model->tensor_count);
    for (int i = 0; i < model->tensor_count; i++) {
        const tflite_tensor *tensor = &model->tensors[i];
        const uint32_t present = 0xfu | (tensor->scales ? 0x10u : 0) | (tensor->is_variable ? 0x20u : 0) |
                                 (tensor->levels ? 0x40u : 0);
        const size_t one = table(out, tensors + 4 * (size_t)i, present);
        ints(out, one, tensor->rank, tensor->dims);
        set_u32(out, one + 4, (uint32_t)tensor->type);
        set_u32(out, one + 8, tensor->data ? (uint32_t)i + 1 : 0);
        text(out, one + 12, tensor->name);
        if (tensor->scales) {
            quantization(out, one + 16, tensor);
        }
        set_u32(out, one + 20, (uint32_t)tensor->is_variable);
        if (tensor->levels) {
            sparsity(out, one + 24, tensor);
        }
    }
    ints(out, at + 4, model->input_count, model->inputs);
    ints(out, at + 8, model->output_count, model->outputs);
    const size_t list = offsets(out, at + 12, model->operator_count);
    for (int i = 0; i < model->operator_count; i++) {
        const tflite_operator *node = &model->operators[i];
        const size_t one = table(out, list + 4 * (size_t)i, node->custom_options ? 0x3fu : 0x1fu);
        set_u32(out, one, (uint32_t)i);
        ints(out, one + 4, node->input_count, node->inputs);
        ints(out, one + 8, node->output_count, node->outputs);
        const size_t options = table(out, one + 16, node->present);
        for (uint32_t j = 0; j < 8; j++) {
            set_u32(out, options + 4 * j, node->options[j]);
        }
        if (node->custom_options) {
            (void)vector(out, one + 20, (uint32_t)node->custom_bytes, node->custom_options,
                         node->custom_bytes, 4);
        }
    }
    text(out, at + 16, "main");
}

/* One tensor of the metadata, or a vector of none. */
static size_t metadata_tensor(tflite_bytes *out, size_t from, int present, uint32_t fields)
{
    const size_t list = offsets(out, from, present ? 1 : 0);
    return present ? table(out, list, fields) : 0;
}

static void metadata(tflite_model *model, size_t from)
{
    tflite_bytes inner = {0};
    put_u32(&inner, 0);
    put(&inner, "M001", 4);
    const size_t root = table(&inner, 0, 1u << 3);
    const size_t graph = table(&inner, offsets(&inner, root + 12, 1), 3u << 2);
    const size_t input = metadata_tensor(&inner, graph + 8, model->means != NULL, 1u << 4);
    if (input) {
        const size_t unit = table(&inner, offsets(&inner, input + 16, 1), 3u);
        set_u32(&inner, unit, 1);
        const size_t options = table(&inner, unit + 4, 3u);
        const size_t bytes = (size_t)model->mean_count * 4;
        (void)vector(&inner, options, (uint32_t)model->mean_count, model->means, bytes, 4);
        (void)vector(&inner, options + 4, (uint32_t)model->mean_count, model->deviations, bytes, 4);
    }
    const size_t output = metadata_tensor(&inner, graph + 12, model->label_file != NULL, 1u << 6);
    if (output) {
        const size_t file = table(&inner, offsets(&inner, output + 24, 1), 5u);
        text(&inner, file, model->label_file);
        set_u32(&inner, file + 8, 2);
    }
    (void)vector(&model->file, from, (uint32_t)inner.size, inner.data, inner.size, 16);
    free(inner.data);
}

/* A zip archive of one stored file, whose positions count from the archive. */
static void archive(tflite_bytes *out, const char *name, const char *words)
{
    const size_t start = out->size;
    const uint32_t bytes = (uint32_t)strlen(words), named = (uint32_t)strlen(name);
    for (int i = 0; i < 2; i++) {
        const size_t at = out->size;
        put(out, i ? "PK\1\2" : "PK\3\4", 4);
        put_u16(out, 20);
        for (int j = 0; j < (i ? 7 : 6); j++) {
            put_u16(out, 0); /* method, time and checksum say nothing */
        }
        put_u32(out, bytes);
        put_u32(out, bytes);
        put_u16(out, named);
        for (int j = 0; j < (i ? 8 : 1); j++) {
            put_u16(out, 0);
        }
        put(out, name, named);
        if (!i) {
            put(out, words, bytes);
            continue;
        }
        put(out, "PK\5\6\0\0\0\0\1\0\1\0", 12);
        put_u32(out, (uint32_t)(out->size - 12 - at));
        put_u32(out, (uint32_t)(at - start));
        put_u16(out, 0);
    }
}

static void write_file(tflite_model *model)
{
    const int has_metadata = model->means || model->label_file;
    tflite_bytes *out = &model->file;
    put_u32(out, 0);
    put(out, "TFL3", 4);
    const size_t root = table(out, 0, has_metadata ? 0x57u : 0x17u);
    set_u32(out, root, 3);
    const size_t codes = offsets(out, root + 4, model->operator_count);
    for (int i = 0; i < model->operator_count; i++) {
        const tflite_operator *node = &model->operators[i];
        const size_t one = table(out, codes + 4 * (size_t)i, node->custom ? 0xfu : 0xdu);
        set_u32(out, one, node->code < 127 ? (uint32_t)node->code : 127);
        set_u32(out, one + 8, 1);
        set_u32(out, one + 12, (uint32_t)node->code);
        if (node->custom) {
            text(out, one + 4, node->custom);
        }
    }
    const size_t graphs = offsets(out, root + 8, model->subgraphs);
    for (int i = 0; i < model->subgraphs; i++) {
        subgraph(model, graphs + 4 * (size_t)i);
    }
    const size_t buffers = offsets(out, root + 16, model->tensor_count + 1 + has_metadata);
    (void)table(out, buffers, 0);
    if (has_metadata) {
        const uint32_t last = (uint32_t)model->tensor_count + 1;
        const size_t entry = table(out, offsets(out, root + 24, 1), 3u);
        text(out, entry, "TFLITE_METADATA");
        set_u32(out, entry + 4, last);
        metadata(model, table(out, buffers + 4 * (size_t)last, 1u));
    }
    for (int i = 0; i < model->tensor_count; i++) {
        const tflite_tensor *tensor = &model->tensors[i];
        const size_t one = table(out, buffers + 4 * ((size_t)i + 1), tensor->data ? 1u : 0);
        if (tensor->data) {
            (void)vector(out, one, (uint32_t)tensor->bytes, tensor->data, tensor->bytes, 16);
        }
    }
    if (model->labels) {
        archive(out, model->label_file, model->labels);
    }
}

void tflite_begin(tflite_model *model)
{
    memset(model, 0, sizeof *model);
    model->subgraphs = 1;
}

int tflite_add(tflite_model *model, const char *name, int type, int rank, const int32_t *dims,
               const void *data, size_t bytes)
{
    tflite_tensor *tensor = &model->tensors[model->tensor_count];
    *tensor = (tflite_tensor){.name = name, .type = type, .rank = rank, .data = data, .bytes = bytes};
    for (int i = 0; i < rank; i++) {
        tensor->dims[i] = dims[i];
    }
    return model->tensor_count++;
}

int tflite_floats(tflite_model *model, const char *name, int rank, const int32_t *dims, const float *data)
{
    size_t count = 1;
    for (int i = 0; i < rank; i++) {
        count *= (size_t)dims[i];
    }
    return tflite_add(model, name, TFLITE_FLOAT32, rank, dims, data, count * 4);
}

int tflite_ints(tflite_model *model, const char *name, int count, const int32_t *data)
{
    return tflite_add(model, name, TFLITE_INT32, 1, &count, data, (size_t)count * 4);
}

int tflite_value(tflite_model *model, const char *name, int rank, const int32_t *dims)
{
    return tflite_add(model, name, TFLITE_FLOAT32, rank, dims, NULL, 0);
}

int tflite_input(tflite_model *model, const char *name, int rank, const int32_t *dims)
{
    const int tensor = tflite_value(model, name, rank, dims);
    model->inputs[model->input_count++] = tensor;
    return tensor;
}

void tflite_output(tflite_model *model, int tensor)
{
    model->outputs[model->output_count++] = tensor;
}

void tflite_node(tflite_model *model, int code, int output, int a, int b, int c)
{
    tflite_operator *node = &model->operators[model->operator_count++];
    const int inputs[3] = {a, b, c};
    *node = (tflite_operator){.code = code, .outputs = {output}, .output_count = 1};
    while (node->input_count < 3 && inputs[node->input_count] >= 0) {
        node->inputs[node->input_count] = inputs[node->input_count];
        node->input_count++;
    }
}

void tflite_option(tflite_model *model, int field, int32_t number)
{
    tflite_operator *node = &model->operators[model->operator_count - 1];
    node->options[field] = (uint32_t)number;
    node->present |= 1u << field;
}

void tflite_option_float(tflite_model *model, int field, float number)
{
    int32_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    tflite_option(model, field, bits);
}

const tflite_bytes *tflite_file(tflite_model *model)
{
    if (model->file.size == 0) {
        write_file(model);
    }
    return &model->file;
}

void tflite_end(tflite_model *model)
{
    free(model->file.data);
    memset(model, 0, sizeof *model);
}
