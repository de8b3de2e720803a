/*
 * combine.h: the answer of a classifier that was split: tasks NAME.1ofK to NAME.KofK that
 * know some classes each and whose last label is "none of these" (mts split).
 */
#ifndef MTS_APPS_COMBINE_H
#define MTS_APPS_COMBINE_H

#include "kit/answers.h"

#define CLI_SET_NAME 256

typedef struct cli_set {
    char name[CLI_SET_NAME];
    uint32_t count;
    uint32_t *members; /* [count], on the heap: indices of the tasks */
} cli_set;

typedef struct cli_sets {
    uint32_t count;
    cli_set *items;
} cli_sets;

/* A class of one of the subnets. */
typedef struct cli_vote {
    uint32_t member; /* of the set */
    uint32_t label;  /* of that task, never its last */
    double score;    /* probability */
} cli_vote;

/* The complete sets among tasks[count]; false if memory is short. Release in any case. */
bool cli_sets_find(const mts_task_desc *tasks, uint32_t count, cli_sets *out);
void cli_sets_release(cli_sets *sets);
/*
 * The `most` most probable classes of all subnets, best first, from the first outputs of
 * tasks[members[..]], outputs[count] in the order of the members; returns how many.
 */
size_t cli_set_votes(const cli_set *set, const mts_task_desc *tasks, const mts_tensor *outputs, size_t most,
                     cli_vote *votes);
/* Whether a vote is right for class `number` of a data set; false too where no subnet
   knows the class. */
bool cli_set_right(const cli_set *set, const mts_task_desc *tasks, const cli_vote *vote, uint32_t number);

#endif
