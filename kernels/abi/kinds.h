/*
 * kinds.h: numbers of element functions and operator modes, the same in graphs, bundles
 * and kernels.
 *
 * Compiled by the host and by every kernel, so it holds nothing but #define lines. The
 * numbers are part of the bundle format: append, never renumber.
 */
#ifndef MTS_KERNELS_ABI_KINDS_H
#define MTS_KERNELS_ABI_KINDS_H

/* Element functions: fused activations and the unary operator (a, b are parameters). */
#define MTS_FN_NONE 0u         /* x */
#define MTS_FN_RELU 1u         /* max(x, 0) */
#define MTS_FN_LEAKY 2u        /* x > 0 ? x : a x */
#define MTS_FN_CLIP 3u         /* min(max(x, a), b) */
#define MTS_FN_PRELU 4u        /* x > 0 ? x : slope[channel] x; needs a slope vector */
#define MTS_FN_SIGMOID 5u      /* 1 / (1 + exp(-x)) */
#define MTS_FN_HARD_SIGMOID 6u /* min(max(a x + b, 0), 1) */
#define MTS_FN_HARD_SWISH 7u   /* x min(max(x / 6 + 0.5, 0), 1) */
#define MTS_FN_TANH 8u
#define MTS_FN_EXP 9u
#define MTS_FN_SQRT 10u
#define MTS_FN_SILU 11u  /* x sigmoid(x) */
#define MTS_FN_TRUNC 12u /* towards zero: a cast to an integer type and back */
#define MTS_FN_ABS 13u
#define MTS_FN_NEG 14u
#define MTS_FN_FLOOR 15u
#define MTS_FN_CEIL 16u
#define MTS_FN_LOG 17u
#define MTS_FN_RECIPROCAL 18u
#define MTS_FN_NOT_ZERO 19u /* x != 0 ? 1 : 0: a cast to bool and back */
/* Quantised to 8 or 16 bits and back: a c, where c is x / a rounded to the nearest
   integer, halves to the even one, then to the nearest of b .. b + 255 (65535). a > 0; b
   is an integer, and 0 is among the numbers. */
#define MTS_FN_QUANT8 20u
#define MTS_FN_QUANT16 21u
/* From here on UNARY, BINARY and SCALE alone apply a function, in programs built for it
   (mts_fn_is_alone). GELU, GELU_TANH and those from LEAKY_BOUND on are none of these: they
   may end a convolution, as all before this one may. */
#define MTS_FN_ALONE 22u
#define MTS_FN_ERF 22u
#define MTS_FN_GELU 23u      /* x (1 + erf(x / sqrt(2))) / 2 */
#define MTS_FN_GELU_TANH 24u /* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 */
#define MTS_FN_ROUND 25u     /* to the nearest integer, halves to the even one */
#define MTS_FN_SIGN 26u      /* -1, 0, 1 */
#define MTS_FN_SIN 27u
#define MTS_FN_COS 28u
#define MTS_FN_TAN 29u
#define MTS_FN_ASIN 30u
#define MTS_FN_ACOS 31u
#define MTS_FN_ATAN 32u
#define MTS_FN_SINH 33u
#define MTS_FN_COSH 34u
#define MTS_FN_ASINH 35u
#define MTS_FN_ACOSH 36u
#define MTS_FN_ATANH 37u
#define MTS_FN_ELU 38u             /* b (x > 0 ? x : a (exp(x) - 1)) */
#define MTS_FN_SOFTPLUS 39u        /* log(1 + exp(x)) */
#define MTS_FN_MISH 40u            /* x tanh(softplus(x)) */
#define MTS_FN_IS_ZERO 41u         /* x == 0 ? 1 : 0: the logical not */
#define MTS_FN_IS_NAN 42u          /* 1 or 0 */
#define MTS_FN_IS_INF 43u          /* a for -infinity, b for infinity, else 0 */
#define MTS_FN_LEAKY_BOUND 44u     /* max(x > 0 ? x : a x, b) */
#define MTS_FN_HARD_SWISH_LINE 45u /* a x min(max(x / 6 + 0.5, 0), 1) + b */
#define MTS_FN_COUNT 46u
#define mts_fn_is_alone(fn)                                                                                  \
    ((fn) >= MTS_FN_ALONE && (fn) != MTS_FN_GELU && (fn) != MTS_FN_GELU_TANH && (fn) < MTS_FN_LEAKY_BOUND)

#define MTS_BIN_ADD 0u
#define MTS_BIN_SUB 1u
#define MTS_BIN_MUL 2u
#define MTS_BIN_DIV 3u
#define MTS_BIN_PRELU 4u /* a > 0 ? a : a b */
#define MTS_BIN_MAX 5u
#define MTS_BIN_MIN 6u
#define MTS_BIN_POW 7u
/* The kinds from this one on have programs of their own (functions.h). */
#define MTS_BIN_ALONE 8u
#define MTS_BIN_EQUAL 8u          /* 1 or 0, as the two below: false for NaN */
#define MTS_BIN_GREATER 9u        /* a > b */
#define MTS_BIN_GREATER_EQUAL 10u /* a >= b */
#define MTS_BIN_MOD 11u           /* remainder of the sign of b */
#define MTS_BIN_FMOD 12u          /* remainder of the sign of a */
#define MTS_BIN_COUNT 13u

#define MTS_PAD_CONSTANT 0u
#define MTS_PAD_EDGE 1u
#define MTS_PAD_REFLECT 2u

#define MTS_POOL_MAX 0u
#define MTS_POOL_AVG 1u

#define MTS_REDUCE_MEAN 0u
#define MTS_REDUCE_SUM 1u
#define MTS_REDUCE_MAX 2u
#define MTS_REDUCE_MIN 3u
#define MTS_REDUCE_PROD 4u
/* The position of the largest or smallest element of one dimension: of the first such, or
   of the last. */
#define MTS_REDUCE_ARG_MAX 5u
#define MTS_REDUCE_ARG_MIN 6u
#define MTS_REDUCE_ARG_MAX_LAST 7u
#define MTS_REDUCE_ARG_MIN_LAST 8u
#define MTS_REDUCE_IS_POSITION(kind) ((kind) >= MTS_REDUCE_ARG_MAX && (kind) <= MTS_REDUCE_ARG_MIN_LAST)
/* Sums of terms, and what is made of them: float32 in between, whatever is stored. */
#define MTS_REDUCE_L1 9u           /* of |x| */
#define MTS_REDUCE_L2 10u          /* root of that of x^2 */
#define MTS_REDUCE_SUM_SQUARE 11u  /* of x^2 */
#define MTS_REDUCE_MEAN_SQUARE 12u /* mean of x^2 */
#define MTS_REDUCE_LOG_SUM 13u     /* logarithm of that of x */
#define MTS_REDUCE_LOG_SUM_EXP 14u /* logarithm of that of exp(x) */
#define MTS_REDUCE_COUNT 15u

#define MTS_SCAN_SUM 0u
#define MTS_SCAN_PROD 1u

/* What lies outside of an image that is sampled. */
#define MTS_SAMPLE_ZEROS 0u
#define MTS_SAMPLE_BORDER 1u
#define MTS_SAMPLE_REFLECT 2u

#define MTS_RESIZE_NEAREST 0u
#define MTS_RESIZE_LINEAR 1u
#define MTS_RESIZE_CUBIC 2u

#define MTS_COORD_HALF_PIXEL 0u
#define MTS_COORD_PYTORCH_HALF_PIXEL 1u
#define MTS_COORD_ALIGN_CORNERS 2u
#define MTS_COORD_ASYMMETRIC 3u
#define MTS_COORD_TF_HALF_PIXEL 4u
#define MTS_COORD_TF_CROP 5u

#define MTS_ROUND_PREFER_FLOOR 0u
#define MTS_ROUND_PREFER_CEIL 1u
#define MTS_ROUND_FLOOR 2u
#define MTS_ROUND_CEIL 3u

#define MTS_RECUR_LSTM 0u
#define MTS_RECUR_GRU 1u       /* the reset gate works on the state */
#define MTS_RECUR_GRU_AFTER 2u /* it works on the state's product (linear_before_reset) */
#define MTS_RECUR_PLAIN 3u     /* tanh */
#define MTS_RECUR_COUNT 4u

/* What x is divided by; d is x - mean. The sums run over what is normalised, e is
   epsilon. */
#define MTS_NORM_VARIANCE 0u  /* sqrt(mean of d^2 + e), of d */
#define MTS_NORM_DEVIATION 1u /* sqrt(mean of d^2) + e, of d */
#define MTS_NORM_RMS 2u       /* sqrt(mean of x^2 + e) */
#define MTS_NORM_L2 3u        /* max(sqrt(sum of x^2), e) */
#define MTS_NORM_L1 4u        /* max(sum of |x|, e) */
#define MTS_NORM_COUNT 5u

/* Most channels of a head of ATTENTION. */
#define MTS_ATTENTION_DEPTH 128u

#endif
