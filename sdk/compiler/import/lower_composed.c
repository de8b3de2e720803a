/*
 * lower_composed.c: ONNX operators that the run-time has no operator for, as several that
 * it has.
 *
 * The formulas are those of the ONNX specification. Where all operands are constant the
 * emitters compute the result at once, as everywhere in the importer.
 */
#include "compiler/import/lower.h"

typedef mts_import_value *value;

/* ---- what the formulas are written in ---- */

static value binary(mts_import *import, uint32_t kind, value a, value b)
{
    return mts_import_emit_binary(import, kind, a, b);
}

static value with_number(mts_import *import, uint32_t kind, value x, double number)
{
    return x ? binary(import, kind, x, mts_import_scalar(import, x->dtype, number)) : NULL;
}

static value unary(mts_import *import, uint32_t fn, value x)
{
    return mts_import_emit_unary(import, fn, 0.0f, 0.0f, x);
}

/* ---- activations ---- */

/* alpha elu(x / alpha) */
void mts_lower_celu(mts_import *import)
{
    const float alpha = mts_attr_float(import, "alpha", 1.0f);
    if (!(alpha > 0.0f)) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "alpha is %g; only numbers above 0 are supported",
                        (double)alpha);
    }
    value inner = with_number(import, MTS_BIN_DIV, mts_import_in(import, 0), (double)alpha);
    value y = mts_import_emit_unary(import, MTS_FN_ELU, 1.0f, 1.0f, inner);
    mts_import_out(import, 0, with_number(import, MTS_BIN_MUL, y, (double)alpha));
}

void mts_lower_softsign(mts_import *import)
{
    value x = mts_import_in(import, 0);
    value below = with_number(import, MTS_BIN_ADD, unary(import, MTS_FN_ABS, x), 1.0);
    mts_import_out(import, 0, binary(import, MTS_BIN_DIV, x, below));
}

/* x sigmoid(alpha x) */
void mts_lower_swish(mts_import *import)
{
    const float alpha = mts_attr_float(import, "alpha", 1.0f);
    value x = mts_import_in(import, 0);
    value inner = with_number(import, MTS_BIN_MUL, x, (double)alpha);
    mts_import_out(import, 0,
                   alpha < 1.0f || alpha > 1.0f
                       ? binary(import, MTS_BIN_MUL, x, unary(import, MTS_FN_SIGMOID, inner))
                       : unary(import, MTS_FN_SILU, x));
}

/* x where x > alpha, else 0: max(x - alpha, 0) and alpha where that is not 0, so that
   -infinity gives 0 */
void mts_lower_thresholded_relu(mts_import *import)
{
    const double alpha = (double)mts_attr_float(import, "alpha", 1.0f);
    value x = mts_import_in(import, 0);
    value above = unary(import, MTS_FN_RELU, with_number(import, MTS_BIN_SUB, x, alpha));
    value step = with_number(import, MTS_BIN_MUL, unary(import, MTS_FN_NOT_ZERO, above), alpha);
    mts_import_out(import, 0, binary(import, MTS_BIN_ADD, above, step));
}
