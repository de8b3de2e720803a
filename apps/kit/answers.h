/*
 * answers.h: what a task's first output says: the best labels with their probabilities,
 * or plain values.
 */
#ifndef MTS_KIT_ANSWERS_H
#define MTS_KIT_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mts/kit.h"
#include "mts/mts.h"

#define CLI_TOP_MOST 100

typedef struct cli_answer {
    bool classifies; /* output 0 has one value per label */
    size_t count;    /* of values of output 0 */
    size_t top_count;
    mts_kit_class top[CLI_TOP_MOST];
    double least, most; /* of all values */
} cli_answer;

/* The `most` largest values. Scores of a classifier become probabilities (softmax) unless
 * they are that already. */
void cli_answer_find(const mts_task_desc *task, const mts_tensor *output, size_t most, cli_answer *answer);
/* Index of the largest value; 0 if there are none. */
uint32_t cli_value_largest(const mts_tensor *tensor);

#endif
