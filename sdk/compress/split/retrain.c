/*
 * retrain.c: see retrain.h. The teacher is the whole network, whose probabilities are
 * summed up to the subnet's scores: each class of its own, and each other group as one.
 */
#include "compress/split/retrain.h"

#include <stdio.h>

#include "compiler/models/options.h"
#include "compiler/passes/clone.h"
#include "compress/split/narrow.h"
#include "compress/train/distill.h"

/* The whole network with the logarithms of what the subnet should say as its output. */
static mts_status make_teacher(const mts_split *split, const mts_ending *ending, mts_arena *arena,
                               mts_graph **out, mts_error *error)
{
    const mts_head_layer layers[2] = {{.outputs = split->head.classes, .softmax = true},
                                      {.outputs = ending->scores,
                                       .inputs = split->head.classes,
                                       .weight = ending->selects,
                                       .bias = ending->floors,
                                       .log = true}};
    return mts_head_replace(mts_split_task(split)->graph, split->head.output, layers, 2, arena, out, NULL,
                            error);
}

static int progress(void *context, float fraction, double loss, double left)
{
    const mts_split *split = context;
    mts_error error = {0};
    char what[96];
    (void)fraction; /* of one of several subnets: the whole stands where it was */
    (void)snprintf(what, sizeof what, "re-training: loss %.4f, %.0f s left", loss, left);
    return mts_options_progress(split->options, 0.0f, what, &error) != MTS_STATUS_OK;
}

/* The subnet's score of each image's label; NULL: there are no labels, or no memory. */
static uint32_t *label_scores(mts_split *split, const mts_ending *ending)
{
    const uint32_t *labels = split->wanted->labels;
    uint32_t *scores = labels ? mts_arena_zero(&split->arena, split->images, sizeof *scores) : NULL;
    for (uint32_t i = 0; scores && i < split->images; i++) {
        scores[i] = ending->score_of[labels[i]];
    }
    return scores;
}

static mts_status train(mts_split *split, const mts_ending *ending, uint32_t trunk, mts_graph *student_graph,
                        const mts_graph *teacher_graph, mts_error *error)
{
    mts_net *student = NULL;
    mts_net *teacher = NULL;
    mts_distill_options options;
    mts_distill_report report;
    mts_distill_options_default(&options);
    options.seconds = split->wanted->retrain_seconds;
    options.seed = split->wanted->seed;
    options.soft = true;
    options.labels = label_scores(split, ending);
    options.label_part = MTS_SPLIT_LABELS;
    if (split->wanted->labels && !options.labels) {
        return mts_fail_memory(error);
    }
    options.names = (const char *const[]){mts_split_task(split)->name};
    options.frozen_nodes = &trunk;
    options.progress = progress;
    options.context = split;
    mts_status status = mts_net_create(student_graph, split->allocator, &student, error);
    MTS_TRY(status, mts_net_create(teacher_graph, split->allocator, &teacher, error));
    MTS_TRY(status, mts_distill(&student, (const mts_net *const *)&teacher, 1, NULL, 0, split->data, &options,
                                split->allocator, &report, error));
    if (status == MTS_STATUS_OK && !mts_net_store(student, NULL, student_graph)) {
        status = mts_fail_memory(error);
    }
    mts_net_destroy(&teacher);
    mts_net_destroy(&student);
    return status;
}

/* Nodes of the trunk that are in the student too, where they stand in front as well. */
static uint32_t trunk_of(const mts_split *split, const uint32_t *nodes)
{
    const uint32_t trunk = mts_split_trunk(split);
    uint32_t count = 0;
    for (uint32_t n = 0; n < trunk; n++) {
        count += nodes[n] != MTS_NONE ? 1 : 0;
    }
    return count;
}

mts_status mts_split_retrain(mts_split *split, const mts_ending *ending, const mts_graph *body,
                             const mts_ending_layer *end, mts_retrained *out, mts_error *error)
{
    const uint32_t value = split->head.input;
    const mts_head_layer layer = {.outputs = ending->scores,
                                  .inputs = (uint32_t)body->values[value].shape.dims[1],
                                  .weight = end->weight,
                                  .bias = end->bias};
    mts_graph *teacher = NULL;
    mts_graph *student = NULL;
    uint32_t *nodes = NULL;
    mts_status status = make_teacher(split, ending, &split->arena, &teacher, error);
    MTS_TRY(status, mts_head_replace(body, value, &layer, 1, &split->arena, &student, &nodes, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    out->graph = mts_graph_clone(student, &split->arena);
    out->value = student->nodes[nodes[body->values[value].producer]].output;
    return out->graph ? train(split, ending, trunk_of(split, nodes), out->graph, teacher, error)
                      : mts_fail_memory(error);
}
