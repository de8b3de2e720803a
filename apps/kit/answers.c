/*
 * answers.c: what a task's first output says. The numbers are found by libmtskit.
 */
#include "answers.h"

#include <math.h>
#include <string.h>

uint32_t cli_value_largest(const mts_tensor *tensor)
{
    mts_kit_class best = {0};
    (void)mts_kit_top(tensor, 0, &best, 1);
    return best.index;
}

void cli_answer_find(const mts_task_desc *task, const mts_tensor *output, size_t most, cli_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    answer->count = mts_kit_count(output);
    answer->classifies = answer->count > 0 && answer->count == task->label_count;
    answer->top_count = mts_kit_top(output, answer->classifies, answer->top,
                                    (uint32_t)(most < CLI_TOP_MOST ? most : CLI_TOP_MOST));
    answer->least = (double)INFINITY;
    answer->most = -(double)INFINITY;
    for (size_t i = 0; i < answer->count; i++) {
        const double value = mts_kit_value(output, i);
        answer->least = value < answer->least ? value : answer->least;
        answer->most = value > answer->most ? value : answer->most;
    }
}
