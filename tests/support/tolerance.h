/*
 * tolerance.h: how far outputs may be from a float32 reference, of an output's largest magnitude. The only
 * place of the tests that says it for whole networks.
 */
#ifndef MTS_TESTS_SUPPORT_TOLERANCE_H
#define MTS_TESTS_SUPPORT_TOLERANCE_H

/* What mts.h promises. */
#define TEST_TOLERANCE_FLOAT32 1e-4
/* What it says of float16: eleven bits are 5e-4 of a number, and every layer stores its own rounding. */
#define TEST_TOLERANCE_FLOAT16 2e-2
/*
 * An output that is a sum or a difference may in float16 be off by this much of its larger operand: where
 * nearly equal values cancel, what is left is their roundings.
 */
#define TEST_CANCELLED_FLOAT16 4e-3

#endif
