/*
 * lower_recurrent.c: LSTM, GRU and RNN.
 *
 * One fully connected layer computes what the inputs of all steps contribute. The
 * operator RECUR does the steps. What it does not know, peepholes and other functions of
 * an RNN, is written out step by step, for the number of steps is known; then there is a
 * limit of steps. Lengths that differ within a batch are not possible.
 */
#include <ctype.h>
#include <string.h>

#include "compiler/import/lower.h"

typedef struct recurrent {
    int64_t steps, batch, inputs, hidden;
    /* rows of `hidden` in the weights: 4 of an LSTM, 3 of a GRU, 1 of an RNN */
    int64_t gates;
    uint32_t directions;
    bool reverse;
    /* GRU: the reset gate applies to the product of the state */
    bool reset_after;
    /* RNN: its element function */
    uint32_t fn;
    /* [T,B,I] */
    mts_import_value *x;
} recurrent;

/* What a direction begins with. */
typedef struct start {
    /* what the inputs of all steps contribute, [T,B,rows] */
    mts_import_value *rows;
    /* GRU: biases that the state's product takes; NULL: none */
    mts_import_value *bias;
    /* [B,H]; NULL: zeros */
    mts_import_value *h, *c;
} start;

/* ---- small emitters ---- */

static mts_import_value *shaped(mts_import *import, mts_import_value *x, uint32_t rank, int64_t a, int64_t b,
                                int64_t c)
{
    const mts_shape shape = {.rank = rank, .dims = {a, b, c, 1}};
    return mts_import_emit_reshape(import, x, &shape);
}

static mts_import_value *joined(mts_import *import, mts_import_value **parts, uint32_t count, uint32_t axis)
{
    const mts_attrs attrs = {.concat = {.axis = axis}};
    return count == 1 ? parts[0] : mts_import_emit(import, MTS_OP_CONCAT, &attrs, parts, count);
}

/* ---- operands ---- */

static bool all_zero(const mts_import_value *value)
{
    for (size_t i = 0; i < mts_shape_count(&value->shape); i++) {
        const double number = mts_host_load(value->dtype, value->data, i);
        if (number < 0.0 || number > 0.0) {
            return false;
        }
    }
    return true;
}

/* Whether operand `index` has this shape; an absent one has. */
static bool has_shape(mts_import *import, uint32_t index, int64_t a, int64_t b, int64_t c, bool constant)
{
    const mts_import_value *value = mts_import_in(import, index);
    const mts_shape wanted = {.rank = c ? 3 : 2, .dims = {a, b, c}};
    char text[96];
    if (value && !mts_shape_equal(&value->shape, &wanted)) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "input %u has shape %s, which does not fit the others",
                        index, mts_shape_text(&value->shape, text, sizeof text));
        return false;
    }
    if (value && constant && !mts_import_is_const(value)) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "input %u must be a constant", index);
        return false;
    }
    return true;
}

/* Lengths must all be the number of steps. */
static void check_lengths(mts_import *import, const recurrent *net)
{
    const mts_import_value *lengths = mts_import_in(import, 4);
    bool full = !lengths || mts_import_is_const(lengths);
    for (size_t i = 0; full && lengths && i < mts_shape_count(&lengths->shape); i++) {
        full = mts_host_load_int(lengths->dtype, lengths->data, i) == net->steps;
    }
    if (!full) {
        mts_import_fail(
            import, MTS_STATUS_UNSUPPORTED,
            "sequence lengths must be constants that equal the %lld steps: with an input for them, "
            "give it that value",
            (long long)net->steps);
    }
}

/* The functions of the gates must be the usual ones; those of an RNN may be another for
   both directions. */
static void read_functions(mts_import *import, recurrent *net)
{
    static const mts_import_kind plain[] = {
        {"tanh", MTS_FN_TANH}, {"relu", MTS_FN_RELU}, {"sigmoid", MTS_FN_SIGMOID}};
    const uint32_t each = net->gates == 4 ? 3 : net->gates == 3 ? 2 : 1;
    char names[6][16];
    const uint32_t count = mts_attr_strings(import, "activations", names, 6);
    bool usual = count == 0 || count == each * net->directions;
    net->fn = MTS_FN_TANH;
    for (uint32_t i = 0; i < count && usual; i++) {
        for (char *at = names[i]; *at; at++) {
            *at = (char)tolower((unsigned char)*at);
        }
        const char *wanted = net->gates == 1 ? names[0] : i % each == 0 ? "sigmoid" : "tanh";
        usual = strcmp(names[i], wanted) == 0;
    }
    if (net->gates == 1 && count > 0) {
        net->fn = mts_import_kind_of(names[0], plain, sizeof plain / sizeof plain[0], MTS_FN_NONE);
    }
    if (!usual || net->fn == MTS_FN_NONE) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "these activations are not supported");
    }
}

static void read_options(mts_import *import, recurrent *net)
{
    const char *direction = mts_attr_string(import, "direction", "forward");
    net->directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
    net->reverse = strcmp(direction, "reverse") == 0;
    if (net->directions == 1 && !net->reverse && strcmp(direction, "forward") != 0) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "direction '%s' is not supported", direction);
    }
    net->reset_after = mts_attr_int(import, "linear_before_reset", 0) != 0;
    if (mts_attr_has(import, "clip") || mts_attr_int(import, "input_forget", 0) != 0) {
        mts_import_fail(import, MTS_STATUS_UNSUPPORTED, "clip and input_forget are not supported");
    }
    read_functions(import, net);
}

/* Whether RECUR does the steps. */
static bool has_operator(const mts_import *import, const recurrent *net)
{
    return (net->gates != 4 || !mts_import_in(import, 7)) && (net->gates != 1 || net->fn == MTS_FN_TANH);
}

static bool read_shapes(mts_import *import, recurrent *net)
{
    static const uint32_t swap[3] = {1, 0, 2};
    mts_import_value *x = mts_import_in(import, 0);
    const mts_import_value *r = mts_import_in(import, 2);
    const bool batch_first = mts_attr_int(import, "layout", 0) != 0;
    if (x->shape.rank != 3 || r->shape.rank != 3 || r->shape.dims[1] != net->gates * r->shape.dims[2]) {
        mts_import_fail(import, MTS_STATUS_MALFORMED, "X or R has no fitting shape");
        return false;
    }
    net->x = batch_first ? mts_import_emit_transpose(import, x, swap) : x;
    if (!net->x) {
        return false;
    }
    net->steps = net->x->shape.dims[0], net->batch = net->x->shape.dims[1],
    net->inputs = net->x->shape.dims[2];
    net->hidden = r->shape.dims[2];
    const int64_t rows = net->gates * net->hidden, d = net->directions;
    const int64_t first = batch_first ? net->batch : d, second = batch_first ? d : net->batch;
    return has_shape(import, 1, d, rows, net->inputs, true) &&
           has_shape(import, 2, d, rows, net->hidden, true) && has_shape(import, 3, d, 2 * rows, 0, true) &&
           has_shape(import, 5, first, second, net->hidden, false) &&
           has_shape(import, 6, first, second, net->hidden, false) &&
           has_shape(import, 7, d, 3 * net->hidden, 0, true);
}

/* ---- one direction ---- */

/* Initial state [B,H] of a direction, or NULL for zeros. */
static mts_import_value *initial(mts_import *import, const recurrent *net, uint32_t index, uint32_t d)
{
    mts_import_value *value = mts_import_in(import, index);
    if (!value || (mts_import_is_const(value) && all_zero(value))) {
        return NULL;
    }
    const uint32_t axis = mts_attr_int(import, "layout", 0) != 0 ? 1 : 0;
    return shaped(import, mts_import_emit_part(import, value, axis, d, 1), 2, net->batch, net->hidden, 1);
}

/* The biases of the inputs and of the state are one where both are only added. */
static mts_import_value *read_bias(mts_import *import, const recurrent *net, uint32_t d, start *own)
{
    const mts_import_value *b = mts_import_in(import, 3);
    const size_t rows = (size_t)(net->gates * net->hidden), kept = (size_t)(2 * net->hidden);
    const float *numbers = b ? mts_import_read_f32(import, b, "the bias") : NULL;
    float *sum = mts_arena_zero(&import->scratch, rows, sizeof *sum);
    float *apart = mts_arena_zero(&import->scratch, rows, sizeof *apart);
    if (!sum || !apart) {
        mts_import_fail(import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a bias");
    }
    if (!numbers || !mts_import_ok(import)) {
        return NULL;
    }
    numbers += (size_t)d * 2 * rows;
    for (size_t i = 0; i < rows; i++) {
        const bool is_apart = net->gates == 3 && net->reset_after && i >= kept;
        sum[i] = is_apart ? numbers[i] : numbers[i] + numbers[rows + i];
        apart[i] = is_apart ? numbers[rows + i] : 0.0f;
    }
    own->bias = net->gates == 3 && net->reset_after ? mts_import_vector(import, apart, (uint32_t)rows) : NULL;
    return mts_import_vector(import, sum, (uint32_t)rows);
}

/* Weight `index` of a direction, [rows,K,1,1]. */
static mts_import_value *weight_of(mts_import *import, uint32_t index, uint32_t d)
{
    mts_import_value *w = mts_import_emit_part(import, mts_import_in(import, index), 0, d, 1);
    return w ? shaped(import, w, 4, w->shape.dims[1], w->shape.dims[2], 1) : NULL;
}

static start begin(mts_import *import, const recurrent *net, uint32_t d)
{
    start own = {.h = initial(import, net, 5, d), .c = net->gates == 4 ? initial(import, net, 6, d) : NULL};
    mts_import_value *bias = read_bias(import, net, d, &own);
    own.rows = mts_import_emit_rows(import, net->x, weight_of(import, 1, d), bias);
    return own;
}

/* What a direction gives: states of all steps [T,1,B,H], and the last ones [1,B,H]. */
typedef struct results {
    mts_import_value *sequence, *h, *c;
} results;

static mts_import_value *as_sequence(mts_import *import, const recurrent *net, mts_import_value *states)
{
    const mts_shape shape = {.rank = 4, .dims = {net->steps, 1, net->batch, net->hidden}};
    return mts_import_emit_reshape(import, states, &shape);
}

/* ---- all steps at once ---- */

/* Vector `which` of the rows that RECUR leaves: h, and of an LSTM c beside it. */
static mts_import_value *last_state(mts_import *import, const recurrent *net, mts_import_value *y,
                                    bool backwards, int64_t which)
{
    mts_import_value *row = mts_import_emit_part(import, y, 0, backwards ? 0 : net->steps - 1, 1);
    return mts_import_emit_part(import, row, 2, which * net->hidden, net->hidden);
}

static results run_operator(mts_import *import, const recurrent *net, uint32_t d)
{
    const bool backwards = net->reverse || d == 1;
    const uint32_t kind = net->gates == 4    ? MTS_RECUR_LSTM
                          : net->gates == 1  ? MTS_RECUR_PLAIN
                          : net->reset_after ? MTS_RECUR_GRU_AFTER
                                             : MTS_RECUR_GRU;
    const mts_attrs_recur recur = {.kind = kind, .reverse = backwards};
    const start own = begin(import, net, d);
    mts_import_value *weight = mts_import_emit_part(import, mts_import_in(import, 2), 0, d, 1);
    weight = weight ? shaped(import, weight, 2, net->gates * net->hidden, net->hidden, 1) : NULL;
    mts_import_value *bias = mts_import_emit_part(import, own.bias, 0, 2 * net->hidden, net->hidden);
    mts_import_value *y = mts_import_emit_recur(import, &recur, own.rows, weight, own.h, own.c, bias);
    return (results){.sequence = as_sequence(import, net, mts_import_emit_part(import, y, 2, 0, net->hidden)),
                     .h = last_state(import, net, y, backwards, 0),
                     .c = net->gates == 4 ? last_state(import, net, y, backwards, 1) : NULL};
}

/* The same by steps that are written out. */
static results run_steps(mts_import *import, const recurrent *net, uint32_t d)
{
    const start own = begin(import, net, d);
    mts_import_value *peep = net->gates == 4 ? mts_import_in(import, 7) : NULL;
    mts_import_cell cell = {
        .is_lstm = net->gates == 4, .fn = net->fn, .weight = weight_of(import, 2, d), .h = own.h, .c = own.c};
    for (uint32_t i = 0; peep && i < 3; i++) {
        cell.peep[i] = mts_import_emit_part(import, mts_import_emit_part(import, peep, 0, d, 1), 1,
                                            (int64_t)i * net->hidden, net->hidden);
    }
    mts_import_value *all = mts_import_emit_steps(import, &cell, own.rows, net->reverse || d == 1);
    return (results){.sequence = as_sequence(import, net, all),
                     .h = cell.h ? shaped(import, cell.h, 3, 1, net->batch, net->hidden) : NULL,
                     .c = cell.c ? shaped(import, cell.c, 3, 1, net->batch, net->hidden) : NULL};
}

/* ---- the operators ---- */

/* Results [..,B,H] with the batch in front, where the layout says so. */
static void out(mts_import *import, uint32_t index, mts_import_value *y)
{
    static const uint32_t sequence[4] = {2, 0, 1, 3}, state[3] = {1, 0, 2};
    if (y && mts_attr_int(import, "layout", 0) != 0) {
        y = mts_import_emit_transpose(import, y, y->shape.rank == 4 ? sequence : state);
    }
    mts_import_out(import, index, y);
}

static void lower(mts_import *import, int64_t gates)
{
    recurrent net = {.gates = gates};
    read_options(import, &net);
    if (!mts_import_ok(import) || !read_shapes(import, &net)) {
        return;
    }
    check_lengths(import, &net);
    const bool at_once = has_operator(import, &net);
    mts_import_value *sequences[2] = {0}, *h[2] = {0}, *c[2] = {0};
    for (uint32_t d = 0; d < net.directions && mts_import_ok(import); d++) {
        const results got = at_once ? run_operator(import, &net, d) : run_steps(import, &net, d);
        sequences[d] = got.sequence;
        h[d] = got.h;
        c[d] = got.c;
    }
    if (!mts_import_ok(import)) {
        return;
    }
    if (mts_import_out_wanted(import, 0)) {
        out(import, 0, joined(import, sequences, net.directions, 1));
    }
    out(import, 1, joined(import, h, net.directions, 0));
    if (gates == 4) {
        out(import, 2, joined(import, c, net.directions, 0));
    }
}

void mts_lower_lstm(mts_import *import)
{
    lower(import, 4);
}

void mts_lower_gru(mts_import *import)
{
    lower(import, 3);
}

void mts_lower_rnn(mts_import *import)
{
    lower(import, 1);
}
