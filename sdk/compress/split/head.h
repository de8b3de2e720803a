/*
 * head.h: the end of a classifier: its last fully connected layer, and graphs that end
 * otherwise.
 */
#ifndef MTS_COMPRESS_SPLIT_HEAD_H
#define MTS_COMPRESS_SPLIT_HEAD_H

#include "bundle/archive.h"

/* The last fully connected layer of a classifier. */
typedef struct mts_head {
    uint32_t node;     /* a CONV over [1,features,1,1] */
    uint32_t features; /* length of what it reads */
    uint32_t input;    /* value that it reads */
    uint32_t output;   /* value of its scores, one a class */
    uint32_t classes;
} mts_head;

/* UNSUPPORTED names what makes the task no such classifier. */
mts_status mts_head_find(const mts_task *task, mts_head *out, mts_error *error);

/* Sets needed[node] of those that compute `value`; others are left as they are. */
void mts_head_mark(const mts_graph *graph, uint32_t value, bool *needed);

/* A fully connected layer and what follows it; arrays outlive the call only. */
typedef struct mts_head_layer {
    uint32_t outputs, inputs;
    const float *weight; /* [outputs][inputs]; NULL: no layer, what follows is of `value` itself */
    const float *bias;   /* [outputs] or NULL */
    bool softmax;        /* probabilities follow */
    bool log;            /* logarithms follow */
    const char *prefix;  /* of the first layer: names of all that is added begin with it; NULL: "split" */
} mts_head_layer;

/*
 * A copy of `graph` in `arena` that computes `value` ([1,K,1,1]) and then these layers;
 * its one output is what the last of them says, [1,outputs], named as the graph's first
 * output. Constants that are kept still refer to their data; *nodes (may be NULL)
 * receives, in the arena, the node of the copy for each of the graph's, or NONE.
 * OUT_OF_MEMORY, MALFORMED.
 */
mts_status mts_head_replace(const mts_graph *graph, uint32_t value, const mts_head_layer *layers,
                            uint32_t count, mts_arena *arena, mts_graph **out, uint32_t **nodes,
                            mts_error *error);

#endif
