/*
 * attribute.c: inputs, outputs and attributes of the node at hand.
 */
#include "compiler/import/lower.h"

#include <string.h>

mts_import_value *mts_import_in(const mts_import *import, uint32_t index)
{
    return index < import->input_count ? import->inputs[index] : NULL;
}

bool mts_import_is_op(const mts_import *import, const char *op)
{
    return strcmp(import->node->op_type, op) == 0;
}

uint32_t mts_import_kind_of(const char *name, const mts_import_kind *kinds, size_t count, uint32_t fallback)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, kinds[i].name) == 0) {
            return kinds[i].kind;
        }
    }
    return fallback;
}

uint32_t mts_import_op_kind(const mts_import *import, const mts_import_kind *kinds, size_t count,
                            uint32_t fallback)
{
    return mts_import_kind_of(import->node->op_type, kinds, count, fallback);
}

bool mts_import_out_wanted(const mts_import *import, uint32_t index)
{
    return index < import->output_count && import->node->output[index][0] != '\0';
}

void mts_import_out(mts_import *import, uint32_t index, mts_import_value *value)
{
    if (!value || !mts_import_ok(import) || !mts_import_out_wanted(import, index)) {
        return;
    }
    const char *name = import->node->output[index];
    mts_import_name *entry = mts_import_intern(import, name);
    if (entry) {
        entry->value = value;
    }
    bool computed = value->id != MTS_NONE && import->graph->values[value->id].kind == MTS_VALUE_NODE;
    if (computed && !mts_graph_name_value(import->graph, value->id, name)) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a name");
    }
}

void mts_import_out_refuse(mts_import *import, uint32_t index, const char *why)
{
    mts_import_name *entry =
        mts_import_out_wanted(import, index) ? mts_import_intern(import, import->node->output[index]) : NULL;
    if (entry) {
        entry->refused = why;
    }
}

static const Onnx__AttributeProto *find(const mts_import *import, const char *name)
{
    for (size_t i = 0; i < import->node->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = import->node->attribute[i];
        if (attribute->name && strcmp(attribute->name, name) == 0) {
            const char *of_call = attribute->ref_attr_name;
            return of_call && *of_call ? mts_function_attribute(import->call, of_call) : attribute;
        }
    }
    return NULL;
}

/* Old files leave `type` out; then the field that is set decides. */
static bool is_set(const Onnx__AttributeProto *attribute, Onnx__AttributeProto__AttributeType type)
{
    switch (type) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        return attribute->has_i;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        return attribute->has_f;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        return attribute->has_s;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
        return attribute->t;
    default:
        return true; /* a list may be empty */
    }
}

#define FIND(import, name, TYPE) find_typed(import, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##TYPE)

static const Onnx__AttributeProto *find_typed(mts_import *import, const char *name,
                                              Onnx__AttributeProto__AttributeType type)
{
    const Onnx__AttributeProto *attribute = find(import, name);
    if (attribute && !(attribute->has_type ? attribute->type == type : is_set(attribute, type))) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "attribute '%s' has another type than it must", name);
        return NULL;
    }
    return attribute;
}

bool mts_attr_has(const mts_import *import, const char *name)
{
    return find(import, name);
}

int64_t mts_attr_int(mts_import *import, const char *name, int64_t fallback)
{
    const Onnx__AttributeProto *attribute = FIND(import, name, INT);
    return attribute ? attribute->i : fallback;
}

float mts_attr_float(mts_import *import, const char *name, float fallback)
{
    const Onnx__AttributeProto *attribute = FIND(import, name, FLOAT);
    return attribute ? attribute->f : fallback;
}

const char *mts_attr_string(mts_import *import, const char *name, const char *fallback)
{
    const Onnx__AttributeProto *attribute = FIND(import, name, STRING);
    if (!attribute) {
        return fallback;
    }
    const char *text = mts_arena_text(&import->scratch, (const char *)attribute->s.data, attribute->s.len);
    if (!text) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for an attribute");
        return fallback;
    }
    return text;
}

static uint32_t copy_list(mts_import *import, const char *name, const void *from, size_t count, size_t size,
                          void *out, uint32_t most)
{
    if (count > most) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "attribute '%s' has %zu numbers, at most %u fit",
                        name, count, most);
        return 0;
    }
    if (count > 0) {
        memcpy(out, from, count * size);
    }
    return (uint32_t)count;
}

uint32_t mts_attr_ints(mts_import *import, const char *name, int64_t *out, uint32_t most)
{
    const Onnx__AttributeProto *list = FIND(import, name, INTS);
    return list ? copy_list(import, name, list->ints, list->n_ints, sizeof *out, out, most) : 0;
}

uint32_t mts_attr_floats(mts_import *import, const char *name, float *out, uint32_t most)
{
    const Onnx__AttributeProto *list = FIND(import, name, FLOATS);
    return list ? copy_list(import, name, list->floats, list->n_floats, sizeof *out, out, most) : 0;
}

uint32_t mts_attr_strings(mts_import *import, const char *name, char (*out)[16], uint32_t most)
{
    const Onnx__AttributeProto *list = FIND(import, name, STRINGS);
    const size_t count = list ? list->n_strings : 0;
    if (count > most) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "attribute '%s' has %zu texts, at most %u fit", name,
                        count, most);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        const ProtobufCBinaryData *text = &list->strings[i];
        if (text->len >= sizeof out[0] || memchr(text->data, 0, text->len)) {
            mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "attribute '%s' has a text that is not known",
                            name);
            return 0;
        }
        memset(out[i], 0, sizeof out[0]);
        if (text->len > 0) {
            memcpy(out[i], text->data, text->len);
        }
    }
    return (uint32_t)count;
}

const Onnx__GraphProto *mts_attr_graph(mts_import *import, const char *name)
{
    const Onnx__AttributeProto *attribute = find(import, name);
    if (!attribute || !attribute->g) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "attribute '%s' holds no graph", name);
        return NULL;
    }
    return attribute->g;
}

const Onnx__TensorProto *mts_attr_tensor(mts_import *import, const char *name)
{
    const Onnx__AttributeProto *attribute = FIND(import, name, TENSOR);
    if (!attribute) {
        return NULL;
    }
    if (!attribute->t) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "attribute '%s' holds no tensor", name);
    }
    return attribute->t;
}

uint32_t mts_import_axis(mts_import *import, int64_t axis, uint32_t rank)
{
    int64_t at = axis < 0 ? axis + (int64_t)rank : axis;
    if (at < 0 || at >= (int64_t)rank) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "axis %lld does not fit rank %u", (long long)axis,
                        rank);
        return 0;
    }
    return (uint32_t)at;
}
