/*
 * scalar.h: the vector words of kernels/prelude.h in C, where a vector is one number, and
 * the element functions and binary kinds of functions.h made of them.
 *
 * The includer defines beforehand:
 *   MTS_REAL          the type, float or double
 *   MTS_MATH(name)    its function of <math.h>: name##f or name
 *   mts_number(x)     a literal of the type: x##f or x
 * One source file includes it for one type. Not responsible for any formula.
 */
#ifndef MTS_KERNELS_ABI_SCALAR_H
#define MTS_KERNELS_ABI_SCALAR_H

#include <math.h>
#include <stdint.h>

#include "kernels/abi/functions.h"
#include "kernels/abi/kinds.h"

#define mts_vec_of(x) mts_number(x)
#define mts_vec_splat(x) ((MTS_REAL)(x))
#define mts_vec_add(a, b) ((a) + (b))
#define mts_vec_sub(a, b) ((a) - (b))
#define mts_vec_mul(a, b) ((a) * (b))
#define mts_vec_div(a, b) ((a) / (b))
#define mts_vec_fma(a, b, c) ((a) * (b) + (c))
#define mts_vec_neg(v) (-(v))
#define mts_vec_max(a, b) ((a) > (b) ? (a) : (b))
#define mts_vec_min(a, b) ((a) < (b) ? (a) : (b))
#define mts_vec_above(a, b) ((a) > (b) ? mts_number(1.0) : mts_number(0.0))
#define mts_vec_same(a, b) ((a) == (b) ? mts_number(1.0) : mts_number(0.0))
#define mts_vec_keep(m, v) ((m) != mts_number(0.0) ? (v) : mts_number(0.0))
#define mts_vec_slope(v, s) ((v) > mts_number(0.0) ? (v) : (s) * (v))
#define mts_vec_call(name, v) MTS_MATH(name)(v)
#define mts_vec_call_2(name, a, b) MTS_MATH(name)(a, b)
#define mts_vec_erf(v) MTS_MATH(erf)(v)
#define mts_vec_exp(v) MTS_MATH(exp)(v)
#define mts_vec_log(v) MTS_MATH(log)(v)
#define mts_vec_sqrt(v) MTS_MATH(sqrt)(v)
#define mts_vec_tanh(v) MTS_MATH(tanh)(v)
#define mts_vec_floor(v) MTS_MATH(floor)(v)
#define mts_vec_ceil(v) MTS_MATH(ceil)(v)
#define mts_vec_trunc(v) MTS_MATH(trunc)(v)
#define mts_vec_rint(v) MTS_MATH(rint)(v)
#define mts_vec_fabs(v) MTS_MATH(fabs)(v)

#define MTS_SCALAR_FUNCTION(NAME, formula)                                                                   \
    case MTS_FN_##NAME:                                                                                      \
        return formula;
#define MTS_SCALAR_BINARY(NAME, formula)                                                                     \
    case MTS_BIN_##NAME:                                                                                     \
        return formula;

/* An element function; NONE and PRELU, which needs a slope, give v. */
static inline MTS_REAL mts_scalar_function(uint32_t fn, MTS_REAL v, MTS_REAL a, MTS_REAL b)
{
    switch (fn) {
        MTS_FUNCTIONS(MTS_SCALAR_FUNCTION)
    default:
        return v;
    }
}

/* A kind of the binary operator. */
static inline MTS_REAL mts_scalar_binary(uint32_t kind, MTS_REAL x, MTS_REAL y)
{
    switch (kind) {
        MTS_BINARIES(MTS_SCALAR_BINARY)
    default:
        return x;
    }
}

#endif
