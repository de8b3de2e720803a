/*
 * codes.h: words of four 8-bit codes, and the codes of numbers, as the kernels of bytes
 * make them (kernels/abi/bytes.h). In float: codes that were rounded in double would
 * differ by a step.
 */
#ifndef MTS_PLATFORM_REFERENCE_CODES_H
#define MTS_PLATFORM_REFERENCE_CODES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t mts_reference_word(const float *buffer, uint64_t at)
{
    uint32_t word;
    memcpy(&word, buffer + at, sizeof word);
    return word;
}

/* The nearest integer, halves to the even one, within least .. least + 255. */
static inline float mts_reference_number(float x, float least)
{
    const float number = rintf(fminf(x, 1.0e6f));
    return number > least ? fminf(number, least + 255.0f) : least;
}

static inline uint32_t mts_reference_code(float x, float least)
{
    return (uint32_t)(mts_reference_number(x, least) - least);
}

#endif
