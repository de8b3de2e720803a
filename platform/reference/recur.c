/*
 * recur.c: the reference kernel of recurrent layers.
 */
#include <math.h>

#include "platform/reference/reference.h"

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* Where the numbers of a row lie: those of step t of sequence n. */
static float *row_of(const mts_reference_call *call, const mts_recur_params *r, uint32_t t, uint32_t n)
{
    const uint32_t at[MTS_PARAM_RANK] = {0, 0, 0, t, n, 0};
    return call->act + mts_reference_dest_at(&r->dest, at);
}

/* A number of the state before step i, which is step t in the order of rows: h (0) or c
   (1). */
static double state_of(const mts_reference_call *call, const mts_recur_params *r, uint32_t which, uint32_t i,
                       uint32_t t, uint32_t n, uint32_t unit)
{
    const mts_view_params *view = which ? &r->c : &r->h;
    const uint32_t at[MTS_PARAM_RANK] = {0, 0, 0, 0, n, unit};
    if (i > 0) {
        return (double)row_of(call, r, r->reverse ? t + 1 : t - 1, n)[which * r->hidden + unit];
    }
    if (!(r->states >> which & 1u)) {
        return 0.0;
    }
    return (double)((which ? r->c_pool : r->h_pool) ? call->pool
                                                    : call->act)[mts_reference_view_at(view, at)];
}

/* Where a step is, and how wide a row of the weight is. */
typedef struct place {
    uint32_t i, t, n, wide;
} place;

static double input_of(const mts_reference_call *call, const mts_recur_params *r, const place *p, uint32_t at)
{
    const uint32_t from[MTS_PARAM_RANK] = {0, 0, 0, p->t, p->n, at};
    return (double)call->act[mts_reference_view_at(&r->src, from)];
}

/* Product of the state with column `at` of the weight. */
static double product(const mts_reference_call *call, const mts_recur_params *r, const place *p, uint32_t at)
{
    double sum = 0.0;
    for (uint32_t k = 0; k < r->hidden; k++) {
        sum += state_of(call, r, 0, p->i, p->t, p->n, k) * (double)call->pool[r->weight + k * p->wide + at];
    }
    return sum;
}

static double gate(const mts_reference_call *call, const mts_recur_params *r, const place *p, uint32_t number,
                   uint32_t unit)
{
    const uint32_t at = number * r->hidden + unit;
    return input_of(call, r, p, at) + product(call, r, p, at);
}

static void lstm_step(const mts_reference_call *call, const mts_recur_params *r, const place *p, float *row)
{
    for (uint32_t u = 0; u < r->hidden; u++) {
        const double c = sigmoid(gate(call, r, p, 2, u)) * state_of(call, r, 1, p->i, p->t, p->n, u) +
                         sigmoid(gate(call, r, p, 0, u)) * tanh(gate(call, r, p, 3, u));
        row[u] = (float)(sigmoid(gate(call, r, p, 1, u)) * tanh(c));
        row[r->hidden + u] = (float)c;
    }
}

static void gru_step(const mts_reference_call *call, const mts_recur_params *r, const place *p, float *row)
{
    const uint32_t hidden = r->hidden;
    for (uint32_t u = 0; u < hidden; u++) {
        row[2 * hidden + u] = (float)sigmoid(gate(call, r, p, 0, u));
        row[hidden + u] =
            (float)(sigmoid(gate(call, r, p, 1, u)) * state_of(call, r, 0, p->i, p->t, p->n, u));
    }
    for (uint32_t u = 0; u < hidden; u++) {
        double sum = input_of(call, r, p, 2 * hidden + u);
        for (uint32_t k = 0; k < hidden; k++) {
            sum += (double)row[hidden + k] * (double)call->pool[r->weight + k * p->wide + 2 * hidden + u];
        }
        const double z = (double)row[2 * hidden + u];
        row[u] = (float)((1.0 - z) * tanh(sum) + z * state_of(call, r, 0, p->i, p->t, p->n, u));
    }
}

static void gru_after_step(const mts_reference_call *call, const mts_recur_params *r, const place *p,
                           float *row)
{
    for (uint32_t u = 0; u < r->hidden; u++) {
        const uint32_t at = 2 * r->hidden + u;
        const double bias = r->bias == MTS_PARAM_NONE ? 0.0 : (double)call->pool[r->bias + u];
        const double z = sigmoid(gate(call, r, p, 0, u)), reset = sigmoid(gate(call, r, p, 1, u));
        const double made = tanh(input_of(call, r, p, at) + reset * (product(call, r, p, at) + bias));
        row[u] = (float)((1.0 - z) * made + z * state_of(call, r, 0, p->i, p->t, p->n, u));
    }
}

static void sequence(const mts_reference_call *call, const mts_recur_params *r, uint32_t n, uint32_t wide)
{
    for (uint32_t i = 0; i < r->length; i++) {
        const place p = {.i = i, .t = r->reverse ? r->length - 1 - i : i, .n = n, .wide = wide};
        float *row = row_of(call, r, p.t, n);
        if (r->kind == MTS_RECUR_LSTM) {
            lstm_step(call, r, &p, row);
        } else if (r->kind == MTS_RECUR_GRU) {
            gru_step(call, r, &p, row);
        } else if (r->kind == MTS_RECUR_GRU_AFTER) {
            gru_after_step(call, r, &p, row);
        }
        for (uint32_t u = 0; r->kind == MTS_RECUR_PLAIN && u < r->hidden; u++) {
            row[u] = (float)tanh(gate(call, r, &p, 0, u));
        }
    }
}

static const char *recur_member(const mts_reference_call *call, const void *params)
{
    const mts_recur_params *r = params;
    const uint32_t *d = r->dest.dims;
    const uint32_t gates = r->kind == MTS_RECUR_LSTM ? 4 : r->kind == MTS_RECUR_PLAIN ? 1 : 3;
    const uint32_t vectors = r->kind == MTS_RECUR_LSTM ? 2 : r->kind == MTS_RECUR_GRU ? 3 : 1;
    const uint32_t wide = gates * r->hidden;
    const uint32_t in[MTS_PARAM_RANK] = {1, 1, 1, r->length, d[4], wide};
    const uint32_t state[MTS_PARAM_RANK] = {1, 1, 1, 1, d[4], r->hidden};
    if (r->kind >= MTS_RECUR_COUNT || r->hidden == 0 || d[0] * d[1] * d[2] != 1 || d[3] != r->length ||
        d[5] != vectors * r->hidden) {
        return "the result does not fit the kind";
    }
    if (!mts_reference_view_fits(call, &r->src, in, false) ||
        !mts_reference_in_pool(call, r->weight, (uint64_t)wide * r->hidden) ||
        (r->bias != MTS_PARAM_NONE && !mts_reference_in_pool(call, r->bias, r->hidden)) ||
        ((r->states & 1) && !mts_reference_view_fits(call, &r->h, state, r->h_pool)) ||
        ((r->states & 2) && !mts_reference_view_fits(call, &r->c, state, r->c_pool))) {
        return "an operand leaves its buffer";
    }
    const char *reason = mts_reference_write(call, &r->dest, r, mts_reference_zero);
    for (uint32_t n = 0; !reason && n < d[4]; n++) {
        sequence(call, r, n, wide);
    }
    return reason;
}

const char *mts_reference_recur_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_recur_params), recur_member);
}
