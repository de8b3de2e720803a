/*
 * minimize.h: the minimum of a smooth function of many numbers, by limited-memory BFGS
 * (Liu, Nocedal 1989).
 */
#ifndef MTS_COMPRESS_SPLIT_MINIMIZE_H
#define MTS_COMPRESS_SPLIT_MINIMIZE_H

#include "base/alloc.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the function's value at x[size] and its gradient. */
typedef mts_status (*mts_minimize_function)(void *context, const double *x, double *value, double *gradient,
                                            mts_error *error);

/*
 * Moves x[size] from where it is to a place where the function is smaller; it never gets
 * larger. Ends after `steps`, or where a step gains less than `tolerance` times the
 * value. OUT_OF_MEMORY; INVALID_ARGUMENT where the function is no number at the start;
 * failures of the function.
 */
mts_status mts_minimize(mts_minimize_function function, void *context, double *x, size_t size, uint32_t steps,
                        double tolerance, const mts_allocator *allocator, mts_error *error);

#endif
