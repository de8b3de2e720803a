/*
 * onnx_case.c: reads a case of ONNX's backend tests from its folder. Not responsible for running it.
 */
#include "support/onnx_case.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "compiler/import/proto.h"
#include "onnx/onnx.pb-c.h"
#include "platform/os/os.h"

#define FILE_MOST ((size_t)256 << 20)

/*
 * Operators that the SDK claims, and the positions of their inputs that are weights or parameters of the
 * work: those are bound as constants. Every other float input stays a run-time input.
 */
static const struct claim {
    const char *op;
    uint32_t constant; /* bit i: input i */
    bool index;        /* its positions, or elements of any type, may be inputs and outputs */
} claims[] = {
    {"Conv", 6, false},
    {"ConvTranspose", 6, false},
    {"Gemm", 6, false},
    {"LSTM", 158, false},
    {"GRU", 30, false},
    {"RNN", 30, false},
    {"MatMul", 0, false},
    {"BatchNormalization", 30, false},
    {"Relu", 0, false},
    {"LeakyRelu", 0, false},
    {"PRelu", 0, false},
    {"Clip", 6, false},
    {"Sigmoid", 0, false},
    {"HardSigmoid", 0, false},
    {"HardSwish", 0, false},
    {"Tanh", 0, false},
    {"Exp", 0, false},
    {"Sqrt", 0, false},
    {"Softmax", 0, false},
    {"Add", 0, false},
    {"Sub", 0, false},
    {"Mul", 0, false},
    {"Div", 0, false},
    {"Sum", 0, false},
    {"MaxPool", 0, false},
    {"AveragePool", 0, false},
    {"GlobalAveragePool", 0, false},
    {"GlobalMaxPool", 0, false},
    {"ReduceMean", 2, false},
    {"ReduceSum", 2, false},
    {"ReduceMax", 2, false},
    {"ReduceMin", 2, false},
    {"Max", 0, false},
    {"Min", 0, false},
    {"Mean", 0, false},
    {"Pow", 0, false},
    {"Abs", 0, false},
    {"Neg", 0, false},
    {"Floor", 0, false},
    {"Ceil", 0, false},
    {"Log", 0, false},
    {"Reciprocal", 0, false},
    {"Erf", 0, false},
    {"Gelu", 0, false},
    {"Round", 0, false},
    {"Sign", 0, false},
    {"Sin", 0, false},
    {"Cos", 0, false},
    {"Tan", 0, false},
    {"Asin", 0, false},
    {"Acos", 0, false},
    {"Atan", 0, false},
    {"Sinh", 0, false},
    {"Cosh", 0, false},
    {"Asinh", 0, false},
    {"Acosh", 0, false},
    {"Atanh", 0, false},
    {"IsNaN", 0, false},
    {"IsInf", 0, false},
    {"Equal", 0, true},
    {"Greater", 0, true},
    {"GreaterOrEqual", 0, true},
    {"Less", 0, true},
    {"LessOrEqual", 0, true},
    {"And", 0, false},
    {"Or", 0, false},
    {"Xor", 0, false},
    {"Not", 0, false},
    {"Where", 0, true},
    {"Mod", 0, true},
    {"LogSoftmax", 0, false},
    {"Tile", 2, false},
    {"DepthToSpace", 0, false},
    {"SpaceToDepth", 0, false},
    {"Elu", 0, false},
    {"Selu", 0, false},
    {"Celu", 0, false},
    {"Softplus", 0, false},
    {"Mish", 0, false},
    {"Softsign", 0, false},
    {"Swish", 0, false},
    {"ThresholdedRelu", 0, false},
    {"LayerNormalization", 6, false},
    {"RMSNormalization", 2, false},
    {"InstanceNormalization", 6, false},
    {"GroupNormalization", 6, false},
    {"MeanVarianceNormalization", 0, false},
    {"LpNormalization", 0, false},
    {"ReduceL1", 2, false},
    {"ReduceL2", 2, false},
    {"ReduceSumSquare", 2, false},
    {"ReduceLogSum", 2, false},
    {"ReduceLogSumExp", 2, false},
    {"LRN", 0, false},
    {"Concat", 0, false},
    {"Split", 2, false},
    {"Slice", 30, false},
    {"Pad", 14, false},
    {"Gather", 2, false},
    {"Transpose", 0, false},
    {"Reshape", 2, false},
    {"Flatten", 0, false},
    {"Squeeze", 2, false},
    {"Unsqueeze", 2, false},
    {"Resize", 14, false},
    {"Upsample", 2, false},
    {"Cast", 0, false},
    {"Expand", 2, false},
    {"Dropout", 6, false},
    {"Identity", 0, false},
    {"Constant", 0, false},
    {"ConstantOfShape", 1, false},
    {"Shape", 0, false},
    {"ReduceProd", 2, false},
    {"GatherElements", 0, true},
    {"GatherND", 0, true},
    {"Compress", 2, false},
    {"ReverseSequence", 2, false},
    {"Trilu", 2, true},
    {"Scatter", 2, true},
    {"ScatterElements", 2, true},
    {"ScatterND", 2, true},
    {"ArgMax", 0, true},
    {"ArgMin", 0, true},
    {"TopK", 2, true},
    {"OneHot", 6, true},
    {"Hardmax", 0, false},
    {"CumSum", 2, true},
    {"CumProd", 2, true},
    {"GridSample", 0, false},
    {"EyeLike", 0, true},
    {"NonZero", 1, true},
    {"Einsum", 0, false},
    {"Range", 7, true},
    {"QuantizeLinear", 6, false},
    {"DequantizeLinear", 6, false},
    {"DynamicQuantizeLinear", 0, false},
    {"MatMulInteger", 14, false},
    {"ConvInteger", 14, false},
    {"QLinearConv", 0x1fe, false},
    {"QLinearMatMul", 0xfe, false},
};

/* Operators whose cases hold quantised numbers. */
static bool is_quantising(const char *op)
{
    static const char *const ops[] = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear",
                                      "MatMulInteger",  "ConvInteger",      "QLinearConv",
                                      "QLinearMatMul"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(ops[i], op) == 0) {
            return true;
        }
    }
    return false;
}

static const struct claim *claim_of(const char *op)
{
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        if (strcmp(claims[i].op, op) == 0) {
            return &claims[i];
        }
    }
    return NULL;
}

/* Whether every reader takes the value at a constant position. */
static bool is_parameter(const Onnx__GraphProto *graph, const char *name)
{
    bool read = false, parameter = true;
    for (size_t n = 0; n < graph->n_node; n++) {
        const Onnx__NodeProto *node = graph->node[n];
        for (size_t i = 0; i < node->n_input; i++) {
            if (strcmp(node->input[i], name) == 0) {
                read = true;
                parameter = parameter && i < 32 && (claim_of(node->op_type)->constant >> i & 1u);
            }
        }
    }
    return read && parameter;
}

static bool is_initializer(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_initializer; i++) {
        if (strcmp(graph->initializer[i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool only_shape(const Onnx__GraphProto *graph)
{
    return graph->n_node > 0 && strcmp(graph->node[graph->n_node - 1]->op_type, "Shape") == 0;
}

static int32_t element_type(const Onnx__ValueInfoProto *port)
{
    const Onnx__TypeProto *type = port->type;
    return type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && type->tensor_type
               ? type->tensor_type->elem_type
               : 0;
}

static bool fits_rank(const Onnx__ValueInfoProto *port)
{
    const Onnx__TypeProto__Tensor *type = element_type(port) != 0 ? port->type->tensor_type : NULL;
    return !type || !type->shape || type->shape->n_dim <= MTS_TENSOR_RANK_MAX;
}

static bool is_integer(int32_t type)
{
    return type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64 || type == ONNX__TENSOR_PROTO__DATA_TYPE__INT32;
}

static bool takes_integers(const Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        if (claim_of(graph->node[i]->op_type)->index) {
            return true;
        }
    }
    return false;
}

/* Floating point and integers of 8, 16 and 32 bits. */
static bool codes_in_scope(const Onnx__GraphProto *graph)
{
    bool fits = true;
    mts_type dtype;
    for (size_t i = 0; i < graph->n_input; i++) {
        fits = fits && mts_proto_dtype(element_type(graph->input[i]), &dtype);
    }
    for (size_t i = 0; i < graph->n_output; i++) {
        fits = fits && mts_proto_dtype(element_type(graph->output[i]), &dtype);
    }
    return fits;
}

static bool is_quantised(const Onnx__GraphProto *graph)
{
    bool quantised = graph->n_node > 0;
    for (size_t i = 0; i < graph->n_node; i++) {
        quantised = quantised && is_quantising(graph->node[i]->op_type);
    }
    return quantised;
}

/* Float32 everywhere, but for integers (and Dropout's switch) at constant positions, the result of Shape, and
   integers of operators whose positions are values; bools; and at most as many dimensions as the SDK has. */
static bool types_in_scope(const Onnx__GraphProto *graph)
{
    const bool index = takes_integers(graph);
    if (is_quantised(graph)) {
        return codes_in_scope(graph);
    }
    for (size_t i = 0; i < graph->n_input; i++) {
        const int32_t type = element_type(graph->input[i]);
        const bool parameter = is_parameter(graph, graph->input[i]->name);
        if (!fits_rank(graph->input[i])) {
            return false;
        }
        if (type != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT && !(index && is_integer(type)) &&
            type != ONNX__TENSOR_PROTO__DATA_TYPE__BOOL && !(parameter && is_integer(type))) {
            return false;
        }
    }
    for (size_t i = 0; i < graph->n_output; i++) {
        const int32_t type = element_type(graph->output[i]);
        if (type != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT && type != ONNX__TENSOR_PROTO__DATA_TYPE__BOOL &&
            !(is_integer(type) && (index || only_shape(graph)))) {
            return false;
        }
    }
    return true;
}

static bool read_file(const char *folder, const char *file, onnx_case *out, void **data, size_t *size)
{
    char path[1200];
    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    void *bytes = NULL;
    if (mts_os_file_read(mts_allocator_default(), path, FILE_MOST, &bytes, size, NULL) != MTS_STATUS_OK) {
        return false;
    }
    *data = mts_arena_zero(&out->arena, *size + 1, 1);
    if (*data) {
        memcpy(*data, bytes, *size);
    }
    mts_alloc_free(mts_allocator_default(), bytes);
    return *data;
}

static bool read_tensor(const char *folder, const char *kind, uint32_t index, onnx_case *out,
                        mts_host_tensor *tensor, mts_error *error)
{
    char file[64];
    void *data = NULL;
    size_t size = 0;
    (void)snprintf(file, sizeof file, "test_data_set_0/%s_%u.pb", kind, index);
    (void)mts_fail(error, MTS_STATUS_IO, "%s is missing", file);
    if (!read_file(folder, file, out, &data, &size)) {
        return false;
    }
    out->hash = mts_hash(data, size, out->hash);
    return mts_import_tensor(data, size, &out->arena, tensor, error) == MTS_STATUS_OK;
}

static bool read_data(const char *folder, const Onnx__GraphProto *graph, onnx_case *out, mts_error *error)
{
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = graph->input[i]->name;
        if (is_initializer(graph, name)) {
            continue;
        }
        mts_host_tensor *tensor = &out->inputs[out->input_count];
        if (out->input_count == ONNX_CASE_PORTS ||
            !read_tensor(folder, "input", out->input_count, out, tensor, error)) {
            return false;
        }
        tensor->name = mts_arena_string(&out->arena, name);
        out->constant[out->input_count++] = is_parameter(graph, name);
    }
    for (size_t i = 0; i < graph->n_output; i++) {
        if (i == ONNX_CASE_PORTS ||
            !read_tensor(folder, "output", (uint32_t)i, out, &out->outputs[i], error)) {
            return false;
        }
        out->outputs[i].name = mts_arena_string(&out->arena, graph->output[i]->name);
        out->output_count++;
    }
    return true;
}

static onnx_case_scope read_graph(const char *folder, const Onnx__GraphProto *graph, onnx_case *out,
                                  char *reason)
{
    mts_error error = {0};
    for (size_t n = 0; n < graph->n_node; n++) {
        if (!claim_of(graph->node[n]->op_type)) {
            return ONNX_CASE_OPERATOR;
        }
    }
    if (!types_in_scope(graph)) {
        return ONNX_CASE_TYPE;
    }
    if (!read_data(folder, graph, out, &error)) {
        (void)snprintf(reason, ONNX_CASE_REASON, "%s", error.text);
        return ONNX_CASE_BROKEN;
    }
    return ONNX_CASE_IN;
}

onnx_case_scope onnx_case_read(const char *folder, onnx_case *out, char reason[ONNX_CASE_REASON])
{
    memset(out, 0, sizeof *out);
    mts_arena_init(&out->arena, mts_allocator_default());
    if (!read_file(folder, "model.onnx", out, &out->model, &out->model_size)) {
        (void)snprintf(reason, ONNX_CASE_REASON, "no model.onnx");
        return ONNX_CASE_BROKEN;
    }
    out->hash = mts_hash(out->model, out->model_size, 0);
    Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, out->model_size, out->model);
    if (!model || !model->graph) {
        (void)snprintf(reason, ONNX_CASE_REASON, "model.onnx is not a model");
        onnx__model_proto__free_unpacked(model, NULL);
        return ONNX_CASE_BROKEN;
    }
    const onnx_case_scope scope = read_graph(folder, model->graph, out, reason);
    onnx__model_proto__free_unpacked(model, NULL);
    return scope;
}

void onnx_case_release(onnx_case *one)
{
    mts_arena_release(&one->arena);
}

const float *onnx_tensor_floats(const mts_host_tensor *tensor, mts_arena *arena)
{
    const size_t count = mts_shape_count(&tensor->shape);
    float *out = mts_arena_zero(arena, count, sizeof *out);
    for (size_t i = 0; out && i < count; i++) {
        switch (tensor->dtype) {
        case MTS_TYPE_FLOAT32:
            out[i] = ((const float *)tensor->data)[i];
            break;
        case MTS_TYPE_UINT8:
            out[i] = (float)((const uint8_t *)tensor->data)[i];
            break;
        case MTS_TYPE_INT8:
            out[i] = (float)((const int8_t *)tensor->data)[i];
            break;
        case MTS_TYPE_UINT16:
            out[i] = (float)((const uint16_t *)tensor->data)[i];
            break;
        case MTS_TYPE_INT16:
            out[i] = (float)((const int16_t *)tensor->data)[i];
            break;
        case MTS_TYPE_INT64:
            out[i] = (float)((const int64_t *)tensor->data)[i];
            break;
        case MTS_TYPE_INT32:
            out[i] = (float)((const int32_t *)tensor->data)[i];
            break;
        case MTS_TYPE_BOOL:
            out[i] = ((const uint8_t *)tensor->data)[i] != 0 ? 1.0f : 0.0f;
            break;
        default:
            return NULL;
        }
    }
    return out;
}
