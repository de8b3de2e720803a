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
            return attribute;
        }
    }
    return NULL;
}

/* Old files leave `type` out; then the field that is set decides. */
static bool typed(mts_import *import, const Onnx__AttributeProto *attribute,
                  Onnx__AttributeProto__AttributeType type, bool set)
{
    bool fits = attribute->has_type ? attribute->type == type : set;
    if (!fits) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "attribute '%s' has another type than it must",
                        attribute->name);
    }
    return fits;
}

bool mts_attr_has(const mts_import *import, const char *name)
{
    return find(import, name);
}

int64_t mts_attr_int(mts_import *import, const char *name, int64_t fallback)
{
    const Onnx__AttributeProto *attribute = find(import, name);
    if (!attribute ||
        !typed(import, attribute, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT, attribute->has_i)) {
        return fallback;
    }
    return attribute->i;
}

float mts_attr_float(mts_import *import, const char *name, float fallback)
{
    const Onnx__AttributeProto *attribute = find(import, name);
    if (!attribute ||
        !typed(import, attribute, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT, attribute->has_f)) {
        return fallback;
    }
    return attribute->f;
}

const char *mts_attr_string(mts_import *import, const char *name, const char *fallback)
{
    const Onnx__AttributeProto *attribute = find(import, name);
    if (!attribute ||
        !typed(import, attribute, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING, attribute->has_s)) {
        return fallback;
    }
    const char *text = mts_arena_text(&import->scratch, (const char *)attribute->s.data, attribute->s.len);
    if (!text) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for an attribute");
        return fallback;
    }
    return text;
}

static bool fits_list(mts_import *import, const char *name, size_t count, uint32_t most)
{
    if (count > most) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "attribute '%s' has %zu numbers, at most %u fit",
                        name, count, most);
    }
    return count <= most;
}

uint32_t mts_attr_ints(mts_import *import, const char *name, int64_t *out, uint32_t most)
{
    const Onnx__AttributeProto *attribute = find(import, name);
    if (!attribute || !typed(import, attribute, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS, true) ||
        !fits_list(import, name, attribute->n_ints, most)) {
        return 0;
    }
    for (size_t i = 0; i < attribute->n_ints; i++) {
        out[i] = attribute->ints[i];
    }
    return (uint32_t)attribute->n_ints;
}

uint32_t mts_attr_floats(mts_import *import, const char *name, float *out, uint32_t most)
{
    const Onnx__AttributeProto *attribute = find(import, name);
    if (!attribute || !typed(import, attribute, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS, true) ||
        !fits_list(import, name, attribute->n_floats, most)) {
        return 0;
    }
    for (size_t i = 0; i < attribute->n_floats; i++) {
        out[i] = attribute->floats[i];
    }
    return (uint32_t)attribute->n_floats;
}

const Onnx__TensorProto *mts_attr_tensor(mts_import *import, const char *name)
{
    const Onnx__AttributeProto *attribute = find(import, name);
    if (!attribute ||
        !typed(import, attribute, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR, attribute->t)) {
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
