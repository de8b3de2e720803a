/*
 * classes.c: the largest numbers of an output, as probabilities if wanted.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "mts/kit.h"

static size_t type_size(mts_type type)
{
    switch (type) {
    case MTS_TYPE_UINT8:
    case MTS_TYPE_INT8:
    case MTS_TYPE_BOOL:
        return 1;
    case MTS_TYPE_FLOAT16:
    case MTS_TYPE_UINT16:
    case MTS_TYPE_INT16:
        return 2;
    case MTS_TYPE_FLOAT32:
    case MTS_TYPE_INT32:
        return 4;
    case MTS_TYPE_FLOAT64:
    case MTS_TYPE_INT64:
        return 8;
    }
    return 0;
}

size_t mts_kit_count(const mts_tensor *tensor)
{
    const size_t size = type_size(tensor->type);
    return size ? tensor->bytes / size : 0;
}

static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31;
    const int fraction = bits & 1023;
    const double sign = bits & 0x8000 ? -1.0 : 1.0;
    if (exponent == 31) {
        return fraction ? (double)NAN : sign * (double)INFINITY;
    }
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

#define ELEMENT(type)                                                                                        \
    {                                                                                                        \
        type element;                                                                                        \
        memcpy(&element, bytes, sizeof element);                                                             \
        return (double)element;                                                                              \
    }

double mts_kit_value(const mts_tensor *tensor, size_t index)
{
    const unsigned char *bytes = (const unsigned char *)tensor->data + index * type_size(tensor->type);
    switch (tensor->type) {
    case MTS_TYPE_FLOAT32:
        ELEMENT(float)
    case MTS_TYPE_FLOAT64:
        ELEMENT(double)
    case MTS_TYPE_INT32:
        ELEMENT(int32_t)
    case MTS_TYPE_INT64:
        ELEMENT(int64_t)
    case MTS_TYPE_INT8:
        ELEMENT(int8_t)
    case MTS_TYPE_UINT16:
        ELEMENT(uint16_t)
    case MTS_TYPE_INT16:
        ELEMENT(int16_t)
    case MTS_TYPE_UINT8:
    case MTS_TYPE_BOOL:
        return bytes[0];
    case MTS_TYPE_FLOAT16: {
        uint16_t bits = 0;
        memcpy(&bits, bytes, sizeof bits);
        return half_value(bits);
    }
    }
    return (double)NAN;
}

/* Puts a number into the list of the largest, which is sorted; equal ones keep their
   order. */
static uint32_t insert(mts_kit_class *classes, uint32_t count, uint32_t most, uint32_t index, float score)
{
    uint32_t place = count;
    while (place > 0 && classes[place - 1].score < score) {
        place--;
    }
    if (place >= most) {
        return count;
    }
    const uint32_t kept = count < most ? count : most - 1;
    memmove(&classes[place + 1], &classes[place], (kept - place) * sizeof *classes);
    classes[place] = (mts_kit_class){index, score};
    return kept + 1;
}

/* e^(value - most); where the largest number is infinite, the infinite ones share the
   probability. */
static double weight(double value, double most)
{
    if (isinf(most)) {
        return isinf(value) && (value > 0.0) == (most > 0.0) ? 1.0 : 0.0;
    }
    return exp(value - most);
}

static void to_probabilities(const mts_tensor *tensor, mts_kit_class *classes, uint32_t count)
{
    double most = -(double)INFINITY;
    for (size_t i = 0; i < mts_kit_count(tensor); i++) {
        most = fmax(most, mts_kit_value(tensor, i)); /* fmax passes over NaN */
    }
    double least = most;
    double sum = 0;
    double exponentials = 0;
    for (size_t i = 0; i < mts_kit_count(tensor); i++) {
        const double value = mts_kit_value(tensor, i);
        if (isnan(value)) {
            continue;
        }
        sum += value;
        least = value < least ? value : least;
        exponentials += weight(value, most);
    }
    if (least >= 0.0 && fabs(sum - 1.0) < 1e-3) {
        return; /* they are */
    }
    for (uint32_t i = 0; i < count; i++) {
        classes[i].score = (float)(weight(mts_kit_value(tensor, classes[i].index), most) / exponentials);
    }
}

uint32_t mts_kit_top(const mts_tensor *tensor, uint32_t softmax, mts_kit_class *classes, uint32_t most)
{
    uint32_t count = 0;
    for (size_t i = 0; most > 0 && i < mts_kit_count(tensor) && i < UINT32_MAX; i++) {
        const double value = mts_kit_value(tensor, i);
        if (!isnan(value)) {
            count = insert(classes, count, most, (uint32_t)i, (float)value);
        }
    }
    if (softmax && count > 0) {
        to_probabilities(tensor, classes, count);
    }
    return count;
}
