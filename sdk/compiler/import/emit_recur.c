/*
 * emit_recur.c: the two parts of a recurrent layer, for the ONNX and the TensorFlow Lite
 * operators: one fully connected layer for what the inputs of all steps contribute, and
 * the steps. RECUR does those of the usual layers; what it does not know is written out
 * step by step, for the number of steps is known.
 */
#include "compiler/import/lower.h"

/* A step is about 20 nodes. */
#define STEPS_MOST 1024
#define NODES_PER_STEP 20

mts_import_value *mts_import_emit_rows(mts_import *import, mts_import_value *x, mts_import_value *weight,
                                       mts_import_value *bias)
{
    if (!x || !weight) {
        return NULL;
    }
    const int64_t *d = x->shape.dims;
    const mts_shape flat = {.rank = 2, .dims = {d[0] * d[1], d[2]}};
    const mts_shape out = {.rank = 3, .dims = {d[0], d[1], weight->shape.dims[0]}};
    mts_import_value *rows = mts_import_emit_reshape(import, x, &flat);
    return mts_import_emit_reshape(import, mts_import_emit_connected(import, rows, weight, 1.0f, bias), &out);
}

mts_import_value *mts_import_emit_recur(mts_import *import, const mts_attrs_recur *recur,
                                        mts_import_value *rows, mts_import_value *weight, mts_import_value *h,
                                        mts_import_value *c, mts_import_value *bias)
{
    static const uint32_t swap[2] = {1, 0};
    const mts_attrs attrs = {.recur = *recur};
    mts_import_value *inputs[5] = {rows, mts_import_emit_transpose(import, weight, swap), h, c, bias};
    const uint32_t count = bias ? 5 : c ? 4 : h ? 3 : 2;
    return rows && inputs[1] ? mts_import_emit(import, MTS_OP_RECUR, &attrs, inputs, count) : NULL;
}

/* ---- steps that are written out ---- */

static mts_import_value *plus(mts_import *import, mts_import_value *a, mts_import_value *b)
{
    return b ? mts_import_emit_binary(import, MTS_BIN_ADD, a, b) : a;
}

static mts_import_value *times(mts_import *import, mts_import_value *a, mts_import_value *b)
{
    return mts_import_emit_binary(import, MTS_BIN_MUL, a, b);
}

static mts_import_value *through(mts_import *import, uint32_t fn, mts_import_value *x)
{
    return mts_import_emit_unary(import, fn, 0.0f, 0.0f, x);
}

/* Gate `index` of the sums, with peephole * c, through the sigmoid. */
static mts_import_value *gate(mts_import *import, const mts_import_cell *cell, uint32_t index, int64_t hidden,
                              mts_import_value *sum, mts_import_value *c)
{
    mts_import_value *x = mts_import_emit_part(import, sum, 1, (int64_t)index * hidden, hidden);
    x = cell->peep[index] && c ? plus(import, x, times(import, c, cell->peep[index])) : x;
    return through(import, MTS_FN_SIGMOID, x);
}

/* Gates in the order input, output, forget, cell. */
static void step_lstm(mts_import *import, mts_import_cell *cell, mts_import_value *sum)
{
    const int64_t hidden = sum ? sum->shape.dims[1] / 4 : 0;
    mts_import_value *in = gate(import, cell, 0, hidden, sum, cell->c);
    mts_import_value *fresh =
        through(import, MTS_FN_TANH, mts_import_emit_part(import, sum, 1, 3 * hidden, hidden));
    mts_import_value *c = times(import, in, fresh);
    if (cell->c) {
        c = plus(import, times(import, gate(import, cell, 2, hidden, sum, cell->c), cell->c), c);
    }
    c = cell->clip > 0.0f ? mts_import_emit_unary(import, MTS_FN_CLIP, -cell->clip, cell->clip, c) : c;
    cell->c = c;
    mts_import_value *out = gate(import, cell, 1, hidden, sum, c);
    cell->h = times(import, out, through(import, MTS_FN_TANH, c));
}

/* Whether so many steps may be written out. */
static bool may_write_out(mts_import *import, int64_t steps)
{
    if (steps > STEPS_MOST) {
        mts_import_fail(import, MTS_STATUS_LIMIT, "%lld steps, at most %d are possible: give a shorter input",
                        (long long)steps, STEPS_MOST);
        return false;
    }
    return mts_import_charge(import, (size_t)steps * NODES_PER_STEP);
}

mts_import_value *mts_import_emit_steps(mts_import *import, mts_import_cell *cell, mts_import_value *rows,
                                        bool reverse)
{
    const mts_attrs attrs = {.concat = {.axis = 0}};
    if (!rows || !cell->weight || !may_write_out(import, rows->shape.dims[0])) {
        return NULL;
    }
    const int64_t steps = rows->shape.dims[0];
    const mts_shape row = {.rank = 2, .dims = {rows->shape.dims[1], rows->shape.dims[2]}};
    const mts_shape state = {.rank = 3, .dims = {1, rows->shape.dims[1], cell->weight->shape.dims[1]}};
    mts_import_value **parts = mts_arena_zero(&import->scratch, (size_t)steps, sizeof(mts_import_value *));
    if (!parts) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for the steps");
        return NULL;
    }
    /* one constant for all steps, which the codes of a quantised one would be widened
       from at each */
    mts_import_value *weight = mts_import_retype(import, cell->weight, cell->weight->dtype);
    for (int64_t i = 0; i < steps && mts_import_ok(import); i++) {
        const int64_t at = reverse ? steps - 1 - i : i;
        mts_import_value *sum =
            mts_import_emit_reshape(import, mts_import_emit_part(import, rows, 0, at, 1), &row);
        sum =
            cell->h ? plus(import, sum, mts_import_emit_connected(import, cell->h, weight, 1.0f, NULL)) : sum;
        if (cell->is_lstm) {
            step_lstm(import, cell, sum);
        } else {
            cell->h = through(import, cell->fn, sum);
        }
        parts[at] = mts_import_emit_reshape(import, cell->h, &state);
    }
    return !mts_import_ok(import) ? NULL
           : steps == 1           ? parts[0]
                                  : mts_import_emit(import, MTS_OP_CONCAT, &attrs, parts, (uint32_t)steps);
}
