/*
 * Contracts of the checked arithmetic (sdk/base/size.h), proved by Frama-C's WP for all numbers: results are right or
 * refused, and nothing overflows on the way.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*@ requires \valid(out);
    assigns *out;
    ensures \result ==> *out == a + b;
    ensures !\result ==> a + b > SIZE_MAX && *out == \old(*out); */
static inline bool mts_size_add(size_t a, size_t b, size_t *out);

/*@ requires \valid(out);
    assigns *out;
    ensures \result ==> *out == a * b;
    ensures !\result ==> *out == \old(*out); */
static inline bool mts_size_mul(size_t a, size_t b, size_t *out);

/*@ requires \valid(out);
    assigns *out;
    ensures \result ==> *out == a * b && 0 <= *out;
    ensures !\result ==> *out == \old(*out); */
static inline bool mts_i64_mul(int64_t a, int64_t b, int64_t *out);

/*@ requires \valid(out);
    assigns *out;
    ensures \result ==> *out == a;
    ensures !\result ==> a > UINT32_MAX; */
static inline bool mts_size_to_u32(size_t a, uint32_t *out);

#include "base/size.h"
