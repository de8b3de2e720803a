/*
 * functions.c: the functions that a model brings along: found by name, with their default
 * attributes. Not responsible for their bodies (nodes.c).
 */
#include "compiler/import/lower.h"

#include <string.h>

#include "base/hash.h"

/* Fields of onnx.proto that older copies of it do not have. */
enum { FIELD_NODE_OVERLOAD = 8, FIELD_FUNCTION_DEFAULTS = 11, FIELD_FUNCTION_OVERLOAD = 13 };

struct mts_function {
    const Onnx__FunctionProto *proto;
    const char *name, *domain, *overload;
    const Onnx__AttributeProto **defaults;
    size_t default_count;
    /* The defaults are messages of their own, for the function's descriptor does not know
       them. */
    bool owned;
};

static const char *domain_of(const char *domain)
{
    return domain && strcmp(domain, "ai.onnx") != 0 ? domain : "";
}

static bool same_function(const void *entries, uint32_t index, const void *key)
{
    const mts_function *one = &((const mts_function *)entries)[index], *other = key;
    return strcmp(one->name, other->name) == 0 && strcmp(one->domain, other->domain) == 0 &&
           strcmp(one->overload, other->overload) == 0;
}

/* A text field by its number; "" if it is absent. NULL after a failure. */
static const char *text_field(mts_import *import, const ProtobufCMessage *message, uint32_t number)
{
    const char *member = mts_proto_member(message, number, 0);
    mts_proto_bytes bytes;
    if (member || !mts_proto_extra(message, number, 0, &bytes)) {
        return member ? member : "";
    }
    const char *text = mts_arena_text(&import->scratch, (const char *)bytes.data, bytes.size);
    if (!text) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a name");
    }
    return text;
}

static const Onnx__AttributeProto *read_default(mts_import *import, const mts_function *function,
                                                size_t index)
{
    mts_error why = {0};
    mts_proto_bytes bytes = {0};
    if (!function->owned) {
        return mts_proto_member(&function->proto->base, FIELD_FUNCTION_DEFAULTS, index);
    }
    (void)mts_proto_extra(&function->proto->base, FIELD_FUNCTION_DEFAULTS, index, &bytes);
    const ProtobufCMessage *message = mts_proto_unpack(&onnx__attribute_proto__descriptor, bytes.data,
                                                       bytes.size, &import->function_memory, &why);
    if (!message) {
        mts_import_fail(import, why.code, "default attribute %zu of function '%s': %s", index, function->name,
                        why.text);
    }
    return (const Onnx__AttributeProto *)message;
}

#define DEFAULTS_MOST 1024

static void read_defaults(mts_import *import, mts_function *function)
{
    const ProtobufCMessage *message = &function->proto->base;
    mts_proto_bytes bytes;
    size_t count = 0;
    function->owned = !protobuf_c_message_descriptor_get_field(message->descriptor, FIELD_FUNCTION_DEFAULTS);
    while (function->owned ? mts_proto_extra(message, FIELD_FUNCTION_DEFAULTS, count, &bytes)
                           : mts_proto_member(message, FIELD_FUNCTION_DEFAULTS, count) != NULL) {
        if (++count > DEFAULTS_MOST) {
            mts_import_fail(import, MTS_STATUS_LIMIT, "function '%s' has more than %d default attributes",
                            function->name, DEFAULTS_MOST);
            return;
        }
    }
    function->defaults = mts_arena_zero(&import->scratch, count, sizeof(*function->defaults));
    if (!function->defaults) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for attributes");
        return;
    }
    for (size_t i = 0; i < count && mts_import_ok(import); i++) {
        function->defaults[i] = read_default(import, function, i);
        function->default_count += function->defaults[i] != NULL;
    }
}

static void enter(mts_import *import, const Onnx__FunctionProto *proto)
{
    mts_function *function = &import->functions[import->function_count];
    *function = (mts_function){.proto = proto,
                               .name = proto->name ? proto->name : "",
                               .domain = domain_of(proto->domain),
                               .overload = text_field(import, &proto->base, FIELD_FUNCTION_OVERLOAD)};
    if (!mts_import_ok(import)) {
        return;
    }
    const uint64_t hash = mts_hash_text(function->name);
    if (mts_map_find(&import->function_map, hash, same_function, import->functions, function) !=
        MTS_MAP_NONE) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "two functions are named '%s'", function->name);
        return;
    }
    for (size_t i = 0; i < proto->n_node; i++) {
        if (!proto->node[i]->op_type) {
            mts_import_fail(import, MTS_STATUS_MALFORMED, "node %zu of function '%s' has no operator", i,
                            function->name);
            return;
        }
    }
    if (!mts_map_add(&import->function_map, hash, (uint32_t)import->function_count)) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for functions");
        return;
    }
    import->function_count++;
    read_defaults(import, function);
}

void mts_functions_init(mts_import *import, const Onnx__ModelProto *model)
{
    mts_proto_memory_init(&import->function_memory, import->arena->allocator,
                          import->room_most - import->message_bytes);
    mts_map_init_arena(&import->function_map, &import->scratch);
    if (model->n_functions == 0) {
        return;
    }
    import->functions = mts_arena_zero(&import->scratch, model->n_functions, sizeof(*import->functions));
    if (!import->functions) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for functions");
        return;
    }
    for (size_t i = 0; i < model->n_functions && mts_import_ok(import); i++) {
        enter(import, model->functions[i]);
    }
}

void mts_functions_release(mts_import *import)
{
    for (size_t i = 0; i < import->function_count; i++) {
        const mts_function *function = &import->functions[i];
        for (size_t j = 0; function->owned && j < function->default_count; j++) {
            mts_proto_free((ProtobufCMessage *)(uintptr_t)function->defaults[j], &import->function_memory);
        }
    }
    import->function_count = 0;
}

const mts_function *mts_function_find(mts_import *import, const Onnx__NodeProto *node)
{
    if (import->function_count == 0) {
        return NULL;
    }
    const mts_function key = {.name = node->op_type,
                              .domain = domain_of(node->domain),
                              .overload = text_field(import, &node->base, FIELD_NODE_OVERLOAD)};
    if (!key.overload) {
        return NULL;
    }
    const uint32_t index =
        mts_map_find(&import->function_map, mts_hash_text(key.name), same_function, import->functions, &key);
    return index == MTS_MAP_NONE ? NULL : &import->functions[index];
}

const Onnx__FunctionProto *mts_function_body(const mts_function *function)
{
    return function->proto;
}

static const Onnx__AttributeProto *among(const Onnx__AttributeProto *const *attributes, size_t count,
                                         const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (attributes[i]->name && strcmp(attributes[i]->name, name) == 0) {
            return attributes[i];
        }
    }
    return NULL;
}

const Onnx__AttributeProto *mts_function_attribute(const mts_import_call *call, const char *name)
{
    while (call) {
        const Onnx__AttributeProto *given =
            among((const Onnx__AttributeProto *const *)call->node->attribute, call->node->n_attribute, name);
        if (!given) {
            return among(call->function->defaults, call->function->default_count, name);
        }
        if (!given->ref_attr_name || !*given->ref_attr_name) {
            return given;
        }
        name = given->ref_attr_name;
        call = call->outer;
    }
    return NULL;
}

int64_t mts_import_opset(Onnx__OperatorSetIdProto *const *sets, size_t count, int64_t fallback)
{
    int64_t opset = fallback;
    for (size_t i = 0; i < count; i++) {
        if (*domain_of(sets[i]->domain) == '\0') {
            opset = sets[i]->version;
        }
    }
    return opset;
}
