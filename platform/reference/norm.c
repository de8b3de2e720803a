/*
 * norm.c: the reference kernel of normalisations.
 */
#include <math.h>

#include "platform/reference/reference.h"

static float zero_value(const mts_reference_call *call, const void *params, const uint32_t *at)
{
    (void)call;
    (void)params;
    (void)at;
    return 0.0f;
}

/* Coordinates of element n of a set. */
static void element_at(const mts_norm_params *r, uint64_t set, uint64_t n, uint32_t at[MTS_PARAM_RANK])
{
    for (int d = MTS_PARAM_RANK - 1; d >= 0; d--) {
        at[d] = (uint32_t)(set % r->sets[d] * r->lines[d] + n % r->lines[d]);
        set /= r->sets[d];
        n /= r->lines[d];
    }
}

static double value_at(const mts_reference_call *call, const mts_norm_params *r, uint64_t set, uint64_t n)
{
    uint32_t at[MTS_PARAM_RANK];
    element_at(r, set, n, at);
    return (double)call->act[mts_reference_view_at(&r->src, at)];
}

static uint64_t product(const mts_u32 *numbers)
{
    uint64_t count = 1;
    for (int d = 0; d < MTS_PARAM_RANK; d++) {
        count *= numbers[d];
    }
    return count;
}

/* The mean, and what x - mean is divided by. */
static void measure(const mts_reference_call *call, const mts_norm_params *r, uint64_t set, double *mean,
                    double *divisor)
{
    const uint64_t count = product(r->lines);
    const double epsilon = (double)r->epsilon;
    double sum = 0.0, squares = 0.0, absolute = 0.0;
    for (uint64_t n = 0; n < count; n++) {
        sum += value_at(call, r, set, n);
    }
    *mean = r->kind <= MTS_NORM_DEVIATION ? sum / (double)count : 0.0;
    for (uint64_t n = 0; n < count; n++) {
        const double d = value_at(call, r, set, n) - *mean;
        squares += d * d;
        absolute += fabs(d);
    }
    switch (r->kind) {
    case MTS_NORM_L1:
        *divisor = absolute <= epsilon ? epsilon : absolute; /* NaN stays */
        break;
    case MTS_NORM_L2:
        *divisor = sqrt(squares) <= epsilon ? epsilon : sqrt(squares);
        break;
    case MTS_NORM_DEVIATION:
        *divisor = sqrt(squares / (double)count) + epsilon;
        break;
    default:
        *divisor = sqrt(squares / (double)count + epsilon);
    }
}

static double factor_at(const mts_reference_call *call, const mts_view_params *view, const uint32_t *at,
                        double absent)
{
    return view->base == MTS_PARAM_NONE ? absent : (double)call->pool[mts_reference_view_at(view, at)];
}

static void write_set(const mts_reference_call *call, const mts_norm_params *r, uint64_t set)
{
    double mean = 0.0, divisor = 1.0;
    measure(call, r, set, &mean, &divisor);
    for (uint64_t n = 0; n < product(r->lines); n++) {
        uint32_t at[MTS_PARAM_RANK];
        element_at(r, set, n, at);
        const double v = (value_at(call, r, set, n) - mean) / divisor * factor_at(call, &r->scale, at, 1.0) +
                         factor_at(call, &r->bias, at, 0.0);
        call->act[mts_reference_dest_at(&r->dest, at)] =
            mts_reference_apply(r->fn, (float)v, r->a, r->b, 0.0f);
    }
}

static const char *check(const mts_reference_call *call, const mts_norm_params *r)
{
    const mts_view_params *factors[2] = {&r->scale, &r->bias};
    for (int d = 0; d < MTS_PARAM_RANK; d++) {
        if (r->lines[d] == 0 || (uint64_t)r->sets[d] * r->lines[d] != r->dest.dims[d]) {
            return "the sets are not those of the dimensions";
        }
    }
    if (r->kind >= MTS_NORM_COUNT) {
        return "the kind does not exist";
    }
    for (int i = 0; i < 2; i++) {
        if (factors[i]->base != MTS_PARAM_NONE &&
            !mts_reference_view_fits(call, factors[i], r->dest.dims, true)) {
            return "a scale or bias leaves the pool";
        }
    }
    return mts_reference_view_fits(call, &r->src, r->dest.dims, false) ? NULL
                                                                       : "the operand leaves the arena";
}

static const char *norm_member(const mts_reference_call *call, const void *params)
{
    const mts_norm_params *r = params;
    const char *reason = check(call, r);
    reason = reason ? reason : mts_reference_write(call, &r->dest, r, zero_value);
    for (uint64_t set = 0; !reason && set < product(r->sets); set++) {
        write_set(call, r, set);
    }
    return reason;
}

const char *mts_reference_norm_any__f32_planar(const mts_reference_call *call)
{
    return mts_reference_members(call, MTS_PARAM_WORDS(mts_norm_params), norm_member);
}
