/*
 * lower_recurrent.c: UNIDIRECTIONAL_SEQUENCE_LSTM on floats. Every run begins with states
 * of zeros, as a model does whose variables were just reset.
 */
#include "compiler/import/tflite/lower.h"

/* Operands: four gates each of weights of the input, weights of the state and biases. */
enum {
    FIRST_INPUT_WEIGHT = 1,
    FIRST_STATE_WEIGHT = 5,
    FIRST_PEEPHOLE = 9,
    PEEPHOLES = 3,
    FIRST_BIAS = 12,
    PROJECTION = 16,
    FIRST_NORM = 20,
    OPERANDS_LEAST = 20
};
enum { GATE_INPUT, GATE_FORGET, GATE_CELL, GATE_OUTPUT, GATES };
enum { OPTION_ACTIVATION = 0, OPTION_CELL_CLIP = 1, OPTION_TIME_MAJOR = 3, OPTION_DIAGONAL = 5 };

#define ACTIVATION_TANH 4

/* Why this layer is not supported, or NULL. */
static const char *obstacle(mts_tflite *model)
{
    for (uint32_t i = FIRST_NORM; i < FIRST_NORM + GATES; i++) {
        if (mts_tflite_in(model, i)) {
            return "a normalisation of its gates";
        }
    }
    /* its roundings at each step would have to be repeated for the same result */
    if (mts_tflite_is_quantised(model, mts_tflite_in(model, 0))) {
        return "its integer form";
    }
    if (mts_tflite_option(model, OPTION_DIAGONAL, MTS_FLAT_U8, 0) != 0) {
        return "a diagonal weight";
    }
    if (mts_tflite_option(model, OPTION_ACTIVATION, MTS_FLAT_I8, 0) != ACTIVATION_TANH) {
        return "another activation than tanh";
    }
    return mts_tflite_in(model, PROJECTION) ? "a projection" : NULL;
}

/* A gate's constant [rows] or [rows, columns]; NULL: failed. */
static mts_import_value *gate_of(mts_tflite *model, uint32_t index, const mts_shape *wanted)
{
    mts_tflite_tensor *tensor = mts_tflite_in(model, index);
    mts_import_value *value = tensor ? mts_tflite_native(model, tensor) : NULL;
    char text[96];
    if (mts_import_ok(model->import) && (!value || !mts_import_is_const(value))) {
        mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED, "input %u must be a constant", index);
    } else if (value && !mts_shape_equal(&value->shape, wanted)) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED,
                        "input %u has shape %s, which does not fit the others", index,
                        mts_shape_text(&value->shape, text, sizeof text));
    }
    return mts_import_ok(model->import) ? value : NULL;
}

/* The constants of all gates, one after another in the order of RECUR. Without an input
 * gate what is kept and what is added are 1 together: 1 - sigmoid(x) is sigmoid(-x), so
 * the gate is the forget gate's negation. */
static mts_import_value *gates_of(mts_tflite *model, uint32_t first, const mts_shape *wanted)
{
    static const uint32_t order[GATES] = {GATE_INPUT, GATE_OUTPUT, GATE_FORGET, GATE_CELL};
    const bool coupled = !mts_tflite_in(model, FIRST_INPUT_WEIGHT);
    const mts_attrs attrs = {.concat = {.axis = 0}};
    mts_import_value *parts[GATES] = {NULL};
    for (uint32_t i = 0; i < GATES; i++) {
        const bool absent = coupled && order[i] == GATE_INPUT;
        parts[i] = gate_of(model, first + (absent ? (uint32_t)GATE_FORGET : order[i]), wanted);
        if (absent && parts[i]) {
            parts[i] = mts_import_emit_unary(model->import, MTS_FN_NEG, 0.0f, 0.0f, parts[i]);
        }
        if (!parts[i]) {
            return NULL;
        }
    }
    return mts_import_emit(model->import, MTS_OP_CONCAT, &attrs, parts, GATES);
}

/* Peepholes in the order of mts_import_cell; whether there are any. A coupled input gate
 * has that of the forget gate, negated. */
static bool read_peepholes(mts_tflite *model, const mts_shape *wanted, mts_import_value **out)
{
    static const uint32_t order[PEEPHOLES] = {0, 2, 1};
    const bool coupled = !mts_tflite_in(model, FIRST_INPUT_WEIGHT);
    bool any = false;
    for (uint32_t i = 0; i < PEEPHOLES; i++) {
        any = any || mts_tflite_in(model, FIRST_PEEPHOLE + i);
    }
    for (uint32_t i = 0; i < PEEPHOLES && any; i++) {
        const bool absent = coupled && i == 0;
        out[i] = gate_of(model, FIRST_PEEPHOLE + (absent ? 1 : order[i]), wanted);
        out[i] =
            absent && out[i] ? mts_import_emit_unary(model->import, MTS_FN_NEG, 0.0f, 0.0f, out[i]) : out[i];
    }
    return any;
}

/* States [T,N,H]. RECUR knows neither peepholes nor a bound of c. It does the steps where
 * they cannot reach the bound: c grows by at most 1 in a step. */
static mts_import_value *run(mts_tflite *model, mts_import_value *rows, mts_import_value *weight)
{
    const mts_attrs_recur recur = {.kind = MTS_RECUR_LSTM};
    if (!rows || !weight) {
        return NULL;
    }
    const int64_t hidden = weight->shape.dims[1];
    const mts_shape vector = {.rank = 1, .dims = {hidden}};
    const float clip = mts_flat_float(&model->flat, &model->node->options, OPTION_CELL_CLIP, 0.0f);
    mts_import_cell cell = {.is_lstm = true, .clip = clip};
    const bool peeps = read_peepholes(model, &vector, cell.peep);
    if (!peeps && !(clip > 0.0f && clip < (float)rows->shape.dims[0])) {
        mts_import_value *y = mts_import_emit_recur(model->import, &recur, rows, weight, NULL, NULL, NULL);
        return mts_import_emit_part(model->import, y, 2, 0, hidden);
    }
    const mts_shape cells = {.rank = 4, .dims = {weight->shape.dims[0], hidden, 1, 1}};
    cell.weight = mts_import_emit_reshape(model->import, weight, &cells);
    return mts_import_emit_steps(model->import, &cell, rows, false);
}

void mts_tflite_lower_lstm(mts_tflite *model)
{
    static const uint32_t swap[3] = {1, 0, 2};
    mts_import *import = model->import;
    const mts_tflite_tensor *state = mts_tflite_in(model, FIRST_STATE_WEIGHT + GATE_FORGET);
    const char *why = obstacle(model);
    if (why) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "%s is not supported", why);
        return;
    }
    mts_import_value *x = mts_tflite_native(model, mts_tflite_in(model, 0));
    if (!x || model->node->inputs.count < OPERANDS_LEAST || !state || x->shape.rank != 3) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "the input has rank %u, or operands are missing",
                        x ? x->shape.rank : 0);
        return;
    }
    const bool time_first = mts_tflite_option(model, OPTION_TIME_MAJOR, MTS_FLAT_U8, 0) != 0;
    const int64_t hidden = state->shape.dims[0];
    const mts_shape input_weight = {.rank = 2, .dims = {hidden, x->shape.dims[2]}};
    const mts_shape state_weight = {.rank = 2, .dims = {hidden, hidden}},
                    vector = {.rank = 1, .dims = {hidden}};
    x = time_first ? x : mts_import_emit_transpose(import, x, swap);
    mts_import_value *weight = gates_of(model, FIRST_INPUT_WEIGHT, &input_weight);
    mts_import_value *rows = mts_import_emit_rows(import, x, weight, gates_of(model, FIRST_BIAS, &vector));
    mts_import_value *y = run(model, rows, gates_of(model, FIRST_STATE_WEIGHT, &state_weight));
    mts_tflite_out(model, 0, time_first ? y : mts_import_emit_transpose(import, y, swap), false);
}
