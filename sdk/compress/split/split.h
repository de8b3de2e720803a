/*
 * split.h: a classifier while it is split into subnets, internal to split/.
 *
 * Steps: run the whole network (split.c), group its classes (group.c), make each group's
 * subnet (subnet.c) and its end (ending.c), name the results (name.c).
 */
#ifndef MTS_COMPRESS_SPLIT_SPLIT_H
#define MTS_COMPRESS_SPLIT_SPLIT_H

#include "compiler/models/models.h"
#include "compress/data/data.h"
#include "compress/net/net.h"
#include "compress/split/head.h"

typedef struct mts_split {
    const mts_allocator *allocator;
    const mtsc_options *options;
    const mtsz_split_options *wanted;
    mts_models models;
    mts_arena arena; /* of what the new tasks are made of, and of the arrays below */
    uint32_t task;   /* in models */
    mts_head head;
    mts_data *data; /* of this one task */
    mts_net *whole;
    uint32_t images;
    float *features;          /* [images][head.features]: what the last layer reads */
    float *answers;           /* [images][head.classes]: probabilities of the whole network */
    uint32_t *answer;         /* [images]: its most probable class */
    const uint32_t *class_of; /* [images]: of the labels where there are some, else `answer` */
    uint32_t *group_of;       /* [head.classes] */
    bool *needed;             /* [node of the task]: the subnets have it too */
    mts_task *subnets;        /* [wanted->groups] */
    float *combined; /* [images][head.classes]: the probabilities that subnets give to their classes */
} mts_split;

const mts_task *mts_split_task(const mts_split *split);
/* Multiply-adds of a graph's nodes from `first` on. */
uint64_t mts_split_work(const mts_graph *graph, uint32_t first);
/* A class's label, or its number where it has none. */
const char *mts_split_class(const mts_split *split, uint32_t number, char *text, size_t size);

/* How much labels count beside the whole network's probabilities. */
#define MTS_SPLIT_LABELS 0.5f

/* Fills group_of. */
mts_status mts_split_group(mts_split *split, mts_error *error);
/* Name, labels and class_map of subnets[group]; the graph is not touched. False if memory
   is short. */
bool mts_split_name(mts_split *split, uint32_t group);
/* INVALID_ARGUMENT: a name of a subnet is taken or too long. */
mts_status mts_split_names_check(const mts_split *split, mts_error *error);
/* Makes subnets[group].graph, and fills its classes' columns of `combined`. */
mts_status mts_split_subnet(mts_split *split, uint32_t group, mts_error *error);

#endif
