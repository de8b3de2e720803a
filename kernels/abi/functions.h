/*
 * functions.h: what each element function (MTS_FN_) and each kind of the binary operator
 * (MTS_BIN_) computes.
 *
 * A formula stands here once, for kernels, the reference backend, the importer and the
 * calibration net. It is written in the vector words of kernels/prelude.h; scalar.h
 * defines the same words in C for a single number. Like kinds.h this file holds nothing
 * but #define lines. Not responsible for MTS_FN_PRELU, whose slope is a vector, nor for
 * derivatives (sdk/compress/net/activation.c).
 *
 * Kernels that end with an element function choose among MTS_FUNCTIONS_FUSED at run time.
 * A program that applies one of MTS_FUNCTIONS_ALONE is built for just that one (-DFN in
 * kernels/dest.h), so that these cost the other programs neither registers nor time.
 * Kinds of the binary operator are divided likewise (-DKIND).
 */
#ifndef MTS_KERNELS_ABI_FUNCTIONS_H
#define MTS_KERNELS_ABI_FUNCTIONS_H

/* NaN in v stays NaN. */
#define mts_vec_clip(v, low, high) mts_vec_min(mts_vec_splat(high), mts_vec_max(mts_vec_splat(low), v))
#define mts_vec_sigmoid(v)                                                                                   \
    mts_vec_div(mts_vec_of(1.0), mts_vec_add(mts_vec_of(1.0), mts_vec_exp(mts_vec_neg(v))))
#define mts_vec_hard_sigmoid(v, a, b) mts_vec_clip(mts_vec_fma(v, a, b), mts_number(0.0), mts_number(1.0))
#define mts_vec_hard_swish(v)                                                                                \
    mts_vec_mul(v, mts_vec_hard_sigmoid(v, mts_vec_of(0.16666666666666666), mts_vec_of(0.5)))
/* 2 sqrt(2 / pi) (x + 0.044715 x^3); (1 + tanh(u)) / 2 is the sigmoid of 2 u, which is less code */
#define mts_vec_cubic(v)                                                                                     \
    mts_vec_mul(mts_vec_of(1.59576912160573072),                                                             \
                mts_vec_fma(mts_vec_of(0.044715), mts_vec_mul(v, mts_vec_mul(v, v)), v))
/* x (1 + t) / 2 */
#define mts_vec_gate(v, t) mts_vec_mul(mts_vec_mul(v, mts_vec_of(0.5)), mts_vec_add(mts_vec_of(1.0), t))
/* log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), which does not overflow. */
#define mts_vec_softplus(v)                                                                                  \
    mts_vec_add(mts_vec_max(mts_vec_of(0.0), v),                                                             \
                mts_vec_call(log1p, mts_vec_exp(mts_vec_neg(mts_vec_fabs(v)))))

/* -1, 0 or 1; NaN stays NaN. */
#define mts_vec_sign(v)                                                                                      \
    mts_vec_add(mts_vec_sub(mts_vec_above(v, mts_vec_of(0.0)), mts_vec_above(mts_vec_of(0.0), v)),           \
                mts_vec_keep(mts_vec_sub(mts_vec_of(1.0), mts_vec_same(v, v)), v))

/* The multiple of a that is nearest to v, of the b-th to the (b + width)-th. */
#define mts_vec_quant(v, a, b, width)                                                                        \
    mts_vec_mul(mts_vec_splat(a),                                                                            \
                mts_vec_clip(mts_vec_rint(mts_vec_div(v, mts_vec_splat(a))), b, (b) + (width)))

/* X(NAME, formula): the function MTS_FN_NAME of v with the parameters a and b. */
#define MTS_FUNCTIONS_FUSED(X)                                                                               \
    X(RELU, mts_vec_max(mts_vec_of(0.0), v))                                                                 \
    X(LEAKY, mts_vec_slope(v, mts_vec_splat(a)))                                                             \
    X(CLIP, mts_vec_clip(v, a, b))                                                                           \
    X(SIGMOID, mts_vec_sigmoid(v))                                                                           \
    X(HARD_SIGMOID, mts_vec_hard_sigmoid(v, mts_vec_splat(a), mts_vec_splat(b)))                             \
    X(HARD_SWISH, mts_vec_hard_swish(v))                                                                     \
    X(HARD_SWISH_LINE, mts_vec_fma(mts_vec_splat(a), mts_vec_hard_swish(v), mts_vec_splat(b)))               \
    X(TANH, mts_vec_tanh(v))                                                                                 \
    X(EXP, mts_vec_exp(v))                                                                                   \
    X(SQRT, mts_vec_sqrt(v))                                                                                 \
    X(SILU, mts_vec_mul(v, mts_vec_sigmoid(v)))                                                              \
    X(TRUNC, mts_vec_trunc(v))                                                                               \
    X(ABS, mts_vec_fabs(v))                                                                                  \
    X(NEG, mts_vec_neg(v))                                                                                   \
    X(FLOOR, mts_vec_floor(v))                                                                               \
    X(CEIL, mts_vec_ceil(v))                                                                                 \
    X(LOG, mts_vec_log(v))                                                                                   \
    X(RECIPROCAL, mts_vec_div(mts_vec_of(1.0), v))                                                           \
    X(QUANT8, mts_vec_quant(v, a, b, mts_number(255.0)))                                                     \
    X(QUANT16, mts_vec_quant(v, a, b, mts_number(65535.0)))                                                  \
    X(NOT_ZERO, mts_vec_keep(v, mts_vec_of(1.0)))                                                            \
    X(LEAKY_BOUND, mts_vec_max(mts_vec_splat(b), mts_vec_slope(v, mts_vec_splat(a))))                        \
    X(GELU, mts_vec_gate(v, mts_vec_erf(mts_vec_mul(v, mts_vec_of(0.70710678118654752)))))                   \
    X(GELU_TANH, mts_vec_mul(v, mts_vec_sigmoid(mts_vec_cubic(v))))

#define MTS_FUNCTIONS_ALONE(X)                                                                               \
    X(ERF, mts_vec_erf(v))                                                                                   \
    X(ROUND, mts_vec_rint(v))                                                                                \
    X(SIGN, mts_vec_sign(v))                                                                                 \
    X(SIN, mts_vec_call(sin, v))                                                                             \
    X(COS, mts_vec_call(cos, v))                                                                             \
    X(TAN, mts_vec_call(tan, v))                                                                             \
    X(ASIN, mts_vec_call(asin, v))                                                                           \
    X(ACOS, mts_vec_call(acos, v))                                                                           \
    X(ATAN, mts_vec_call(atan, v))                                                                           \
    X(SINH, mts_vec_call(sinh, v))                                                                           \
    X(COSH, mts_vec_call(cosh, v))                                                                           \
    X(ASINH, mts_vec_call(asinh, v))                                                                         \
    X(ACOSH, mts_vec_call(acosh, v))                                                                         \
    X(ATANH, mts_vec_call(atanh, v))                                                                         \
    X(ELU, mts_vec_mul(mts_vec_splat(b),                                                                     \
                       mts_vec_add(mts_vec_max(mts_vec_of(0.0), v),                                          \
                                   mts_vec_mul(mts_vec_splat(a),                                             \
                                               mts_vec_call(expm1, mts_vec_min(mts_vec_of(0.0), v))))))      \
    X(SOFTPLUS, mts_vec_softplus(v))                                                                         \
    X(MISH, mts_vec_mul(v, mts_vec_tanh(mts_vec_softplus(v))))                                               \
    X(IS_ZERO, mts_vec_same(v, mts_vec_of(0.0)))                                                             \
    X(IS_NAN, mts_vec_sub(mts_vec_of(1.0), mts_vec_same(v, v)))                                              \
    X(IS_INF, mts_vec_add(mts_vec_mul(mts_vec_splat(a), mts_vec_same(v, mts_vec_splat(-INFINITY))),          \
                          mts_vec_mul(mts_vec_splat(b), mts_vec_same(v, mts_vec_splat(INFINITY)))))

#define MTS_FUNCTIONS(X) MTS_FUNCTIONS_FUSED(X) MTS_FUNCTIONS_ALONE(X)

/* r, a remainder of the sign of the dividend, as one of the sign of y. The product of the
 * two tells whether their signs differ; the factor, 2^100, keeps it from becoming 0 where
 * both are tiny. */
#define mts_vec_mod_far(v) mts_vec_mul(v, mts_vec_of(1267650600228229401496703205376.0))
#define mts_vec_mod(r, y)                                                                                    \
    mts_vec_add(                                                                                             \
        r, mts_vec_keep(mts_vec_above(mts_vec_of(0.0), mts_vec_mul(mts_vec_mod_far(r), mts_vec_mod_far(y))), \
                        y))

/* X(NAME, formula): the kind MTS_BIN_NAME of x and y. */
#define MTS_BINARIES_COMMON(X)                                                                               \
    X(ADD, mts_vec_add(x, y))                                                                                \
    X(SUB, mts_vec_sub(x, y))                                                                                \
    X(MUL, mts_vec_mul(x, y))                                                                                \
    X(DIV, mts_vec_div(x, y))                                                                                \
    X(PRELU, mts_vec_slope(x, y))                                                                            \
    X(MAX, mts_vec_max(x, y))                                                                                \
    X(MIN, mts_vec_min(x, y))                                                                                \
    X(POW, mts_vec_call_2(pow, x, y))

#define MTS_BINARIES_ALONE(X)                                                                                \
    X(EQUAL, mts_vec_same(x, y))                                                                             \
    X(GREATER, mts_vec_above(x, y))                                                                          \
    X(GREATER_EQUAL, mts_vec_add(mts_vec_above(x, y), mts_vec_same(x, y)))                                   \
    X(MOD, mts_vec_mod(mts_vec_call_2(fmod, x, y), y))                                                       \
    X(FMOD, mts_vec_call_2(fmod, x, y))

#define MTS_BINARIES(X) MTS_BINARIES_COMMON(X) MTS_BINARIES_ALONE(X)

#endif
