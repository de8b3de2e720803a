/*
 * lower_logic.c: comparisons, logic, choices, casts and remainders of TensorFlow Lite.
 */
#include "compiler/import/tflite/lower.h"

#define OPERANDS_MOST 64u

/* By the numbers of the schema. */
enum { CODE_SELECT = 64 };

void mts_tflite_lower_compare(mts_tflite *model)
{
    static const struct {
        uint32_t code;
        mts_import_comparison how;
    } codes[] = {{58, MTS_IMPORT_LESS},  {61, MTS_IMPORT_GREATER},    {62, MTS_IMPORT_GREATER_EQUAL},
                 {71, MTS_IMPORT_EQUAL}, {63, MTS_IMPORT_LESS_EQUAL}, {72, MTS_IMPORT_NOT_EQUAL},
                 {84, MTS_IMPORT_OR},    {86, MTS_IMPORT_AND}};
    mts_import_value *both[2] = {NULL};
    const bool planar = mts_tflite_align(model, 2, both);
    mts_import_comparison how = MTS_IMPORT_EQUAL;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        how = codes[i].code == model->node->code ? codes[i].how : how;
    }
    mts_tflite_out(model, 0, mts_import_emit_comparison(model->import, how, both[0], both[1]), planar);
}

void mts_tflite_lower_not(mts_tflite *model)
{
    mts_import_value *x = NULL;
    const bool planar = mts_tflite_align(model, 1, &x);
    mts_tflite_out(model, 0, mts_import_emit_test(model->import, MTS_FN_IS_ZERO, 0.0f, 0.0f, x), planar);
}

/* SELECT chooses among whole rows by a condition of rank 1; SELECT_V2 broadcasts as
   everything else does. */
void mts_tflite_lower_select(mts_tflite *model)
{
    mts_import_value *x[3] = {NULL};
    const mts_shape *condition = &mts_tflite_in(model, 0)->shape, *rows = &mts_tflite_in(model, 1)->shape;
    if (model->node->code == CODE_SELECT && condition->rank == 1 && rows->rank > 1) {
        mts_import_fail(model->import, MTS_STATUS_UNSUPPORTED, "a choice among rows is not supported");
        return;
    }
    const bool planar = mts_tflite_align(model, 3, x);
    mts_tflite_out(model, 0, mts_import_emit_select(model->import, x[0], x[1], x[2]), planar);
}

void mts_tflite_lower_cast(mts_tflite *model)
{
    mts_import_value *x = NULL;
    mts_type dtype;
    const bool planar = mts_tflite_align(model, 1, &x);
    if (mts_tflite_out_type(model, &dtype)) {
        mts_tflite_out(model, 0, mts_import_emit_cast(model->import, x, dtype), planar);
    }
}

/* floor(a / b); of integers (a - (a mod b)) / b, which is exact. */
void mts_tflite_lower_floor_div(mts_tflite *model)
{
    mts_import_value *both[2] = {NULL};
    const bool planar = mts_tflite_align(model, 2, both);
    if (!both[0] || !both[1]) {
        return;
    }
    mts_import_value *a = both[0];
    const bool integers = mts_type_is_int(a->dtype);
    if (integers) {
        a = mts_import_emit_binary(model->import, MTS_BIN_SUB, a,
                                   mts_import_emit_binary(model->import, MTS_BIN_MOD, a, both[1]));
    }
    mts_import_value *y = mts_import_emit_binary(model->import, MTS_BIN_DIV, a, both[1]);
    y = integers ? y : mts_import_emit_unary(model->import, MTS_FN_FLOOR, 0.0f, 0.0f, y);
    mts_tflite_out(model, 0, y, planar);
}

void mts_tflite_lower_add_n(mts_tflite *model)
{
    mts_import_value *terms[OPERANDS_MOST] = {NULL};
    const uint32_t count = model->node->inputs.count;
    if (count > OPERANDS_MOST) {
        mts_import_fail(model->import, MTS_STATUS_LIMIT, "a sum of %u tensors, of which at most %u are added",
                        count, OPERANDS_MOST);
        return;
    }
    const bool planar = mts_tflite_align(model, count, terms);
    mts_import_value *sum = terms[0];
    for (uint32_t i = 1; i < count; i++) {
        sum = mts_import_emit_binary(model->import, MTS_BIN_ADD, sum, terms[i]);
    }
    mts_tflite_out(model, 0, sum, planar);
}
