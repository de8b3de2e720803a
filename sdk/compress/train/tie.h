/*
 * tie.h: which weights of several tasks are one weight.
 */
#ifndef MTS_COMPRESS_TRAIN_TIE_H
#define MTS_COMPRESS_TRAIN_TIE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Cells of one row of aligned convolutions: for k < out_count and j < in_count, the
 * weight cell (kernel taps and all) of filter outs[i][k] and input channel ins[i][j] is
 * the same in all tasks[i]. What is no cell of a tie is a task's own.
 */
typedef struct mts_tie {
    uint32_t task_count;
    const uint32_t *tasks; /* indices of nets */
    const uint32_t *nodes; /* [task_count]: node in that task's graph, all of the same filter size */
    uint32_t out_count, in_count;
    const uint32_t *const *outs; /* [task_count][out_count] */
    const uint32_t *const *ins;  /* [task_count][in_count]; NULL: all input channels, in order */
    bool frozen;                 /* the cells keep their values */
} mts_tie;

#endif
