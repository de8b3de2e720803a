/*
 * half.h: IEEE 754 binary16 <-> binary32, round to nearest even, subnormals, infinities
 * and NaN kept.
 */
#ifndef MTS_BASE_HALF_H
#define MTS_BASE_HALF_H

#include <stddef.h>
#include <stdint.h>

float mts_half_to_float(uint16_t half);
uint16_t mts_half_from_float(float value);
void mts_half_array_to_float(const uint16_t *in, float *out, size_t count);
void mts_half_array_from_float(const float *in, uint16_t *out, size_t count);

#endif
