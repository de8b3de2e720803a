/*
 * lower_logic.c: comparisons, logic, choices and remainders, for the ONNX and the
 * TensorFlow Lite operators.
 *
 * A bool is a number that is 0 or 1 while the graph runs.
 */
#include "compiler/import/lower.h"

typedef mts_import_value *value;

mts_import_value *mts_import_emit_comparison(mts_import *import, mts_import_comparison how,
                                             mts_import_value *a, mts_import_value *b)
{
    static const uint32_t kinds[] = {
        [MTS_IMPORT_EQUAL] = MTS_BIN_EQUAL,     [MTS_IMPORT_NOT_EQUAL] = MTS_BIN_EQUAL,
        [MTS_IMPORT_GREATER] = MTS_BIN_GREATER, [MTS_IMPORT_GREATER_EQUAL] = MTS_BIN_GREATER_EQUAL,
        [MTS_IMPORT_LESS] = MTS_BIN_GREATER,    [MTS_IMPORT_LESS_EQUAL] = MTS_BIN_GREATER_EQUAL,
        [MTS_IMPORT_AND] = MTS_BIN_MIN,         [MTS_IMPORT_OR] = MTS_BIN_MAX};
    const bool swapped = how == MTS_IMPORT_LESS || how == MTS_IMPORT_LESS_EQUAL;
    value y = mts_import_emit_binary(import, kinds[how], swapped ? b : a, swapped ? a : b);
    y = how == MTS_IMPORT_NOT_EQUAL ? mts_import_emit_unary(import, MTS_FN_IS_ZERO, 0.0f, 0.0f, y) : y;
    return mts_import_convert(import, y, MTS_TYPE_BOOL);
}

mts_import_value *mts_import_emit_select(mts_import *import, mts_import_value *condition, mts_import_value *a,
                                         mts_import_value *b)
{
    const mts_attrs attrs = {0};
    value inputs[3] = {condition, a, b};
    if (!condition || !a || !b) {
        return NULL;
    }
    if (a->dtype != b->dtype) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "a choice between %s and %s", mts_type_name(a->dtype),
                        mts_type_name(b->dtype));
        return NULL;
    }
    return mts_import_emit(import, MTS_OP_SELECT, &attrs, inputs, 3);
}

void mts_lower_compare(mts_import *import)
{
    static const mts_import_kind kinds[] = {
        {"Equal", MTS_IMPORT_EQUAL},     {"Xor", MTS_IMPORT_NOT_EQUAL},
        {"Greater", MTS_IMPORT_GREATER}, {"GreaterOrEqual", MTS_IMPORT_GREATER_EQUAL},
        {"Less", MTS_IMPORT_LESS},       {"LessOrEqual", MTS_IMPORT_LESS_EQUAL},
        {"And", MTS_IMPORT_AND},         {"Or", MTS_IMPORT_OR}};
    const uint32_t how = mts_import_op_kind(import, kinds, sizeof kinds / sizeof kinds[0], MTS_IMPORT_EQUAL);
    mts_import_out(import, 0,
                   mts_import_emit_comparison(import, (mts_import_comparison)how, mts_import_in(import, 0),
                                              mts_import_in(import, 1)));
}

void mts_lower_not(mts_import *import)
{
    mts_import_out(import, 0,
                   mts_import_emit_test(import, MTS_FN_IS_ZERO, 0.0f, 0.0f, mts_import_in(import, 0)));
}

void mts_lower_where(mts_import *import)
{
    mts_import_out(import, 0,
                   mts_import_emit_select(import, mts_import_in(import, 0), mts_import_in(import, 1),
                                          mts_import_in(import, 2)));
}

/* The remainder has the sign of the dividend with `fmod`, else that of the divisor. */
void mts_lower_mod(mts_import *import)
{
    const uint32_t kind = mts_attr_int(import, "fmod", 0) != 0 ? MTS_BIN_FMOD : MTS_BIN_MOD;
    mts_import_out(import, 0,
                   mts_import_emit_binary(import, kind, mts_import_in(import, 0), mts_import_in(import, 1)));
}
