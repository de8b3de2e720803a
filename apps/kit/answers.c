/*
 * answers.c: numbers to answers.
 */
#include "answers.h"

#include <math.h>
#include <string.h>

#include "files.h"

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

double cli_value(const mts_tensor *tensor, size_t index)
{
    const unsigned char *bytes = (const unsigned char *)tensor->data + index * cli_type_size(tensor->type);
    switch (tensor->type) {
    case MTS_TYPE_FLOAT32:
        ELEMENT(float)
    case MTS_TYPE_FLOAT64:
        ELEMENT(double)
    case MTS_TYPE_INT32:
        ELEMENT(int32_t)
    case MTS_TYPE_INT64:
        ELEMENT(int64_t)
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

size_t cli_value_count(const mts_tensor *tensor)
{
    const size_t size = cli_type_size(tensor->type);
    return size ? tensor->bytes / size : 0;
}

uint32_t cli_value_largest(const mts_tensor *tensor)
{
    const size_t count = cli_value_count(tensor);
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = cli_value(tensor, i) > cli_value(tensor, best) ? i : best;
    }
    return (uint32_t)best;
}

/* Puts a value into the list of the largest, which is sorted; equal values keep their order. */
static void top_insert(cli_answer *answer, size_t most, uint32_t index, double value)
{
    size_t place = answer->top_count;
    while (place > 0 && answer->top[place - 1].score < value) {
        place--;
    }
    if (place >= most) {
        return;
    }
    const size_t kept = answer->top_count < most ? answer->top_count : most - 1;
    memmove(&answer->top[place + 1], &answer->top[place], (kept - place) * sizeof answer->top[0]);
    answer->top[place] = (cli_top){index, value};
    answer->top_count = kept + 1;
}

static void to_probabilities(const mts_tensor *output, cli_answer *answer)
{
    double sum = 0;
    double exponentials = 0;
    for (size_t i = 0; i < answer->count; i++) {
        const double value = cli_value(output, i);
        sum += value;
        exponentials += exp(value - answer->most);
    }
    if (answer->least >= 0.0 && fabs(sum - 1.0) < 1e-3) {
        return; /* they are */
    }
    for (size_t i = 0; i < answer->top_count; i++) {
        answer->top[i].score = exp(answer->top[i].score - answer->most) / exponentials;
    }
}

void cli_answer_find(const mts_task_desc *task, const mts_tensor *output, size_t most, cli_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    answer->count = cli_value_count(output);
    answer->classifies = answer->count > 0 && answer->count == task->label_count;
    most = most < CLI_TOP_MOST ? most : CLI_TOP_MOST;
    answer->least = (double)INFINITY;
    answer->most = -(double)INFINITY;
    for (size_t i = 0; i < answer->count; i++) {
        const double value = cli_value(output, i);
        answer->least = value < answer->least ? value : answer->least;
        answer->most = value > answer->most ? value : answer->most;
        if (!isnan(value)) {
            top_insert(answer, most, (uint32_t)i, value);
        }
    }
    if (answer->classifies) {
        to_probabilities(output, answer);
    }
}
