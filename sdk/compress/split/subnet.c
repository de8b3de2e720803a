/*
 * subnet.c: one group's subnet: the whole network made narrow, with an end of its own.
 */
#include <math.h>
#include <stdio.h>

#include "compress/prune/importance.h"
#include "compress/split/collect.h"
#include "compress/split/ending.h"
#include "compress/split/narrow.h"
#include "compress/split/retrain.h"

/* A subnet being made. */
typedef struct subnet {
    mts_split *split;
    mts_ending ending;
    mts_graph *body; /* ends in `value`, whatever else it computes */
    uint32_t value;  /* of the body: what the end reads */
    mts_ending_layer layer;
} subnet;

static mts_status value_of_images(const mts_split *split, const mts_graph *graph, uint32_t value, float *out,
                                  mts_error *error)
{
    const mts_collect wanted = {value, out};
    mts_net *net = NULL;
    mts_status status = mts_net_create(graph, split->allocator, &net, error);
    MTS_TRY(status, mts_collect_values(net, split->data, 0, &wanted, 1, split->allocator, error));
    mts_net_destroy(&net);
    return status;
}

/* *loss: of images that are held out; NULL: none are. */
static mts_status fit_end(subnet *s, double *loss, mts_error *error)
{
    mts_split *split = s->split;
    float *rows = mts_alloc_zero(split->allocator, split->images, s->layer.features * sizeof *rows);
    mts_status status =
        rows ? value_of_images(split, s->body, s->value, rows, error) : mts_fail_memory(error);
    MTS_TRY(status, mts_ending_fit(split, &s->ending, rows, loss != NULL, &s->layer, error));
    if (loss) {
        MTS_TRY(status, mts_ending_loss(split, &s->ending, rows, &s->layer, loss, error));
    }
    mts_alloc_free(split->allocator, rows);
    return status;
}

/* The whole network made narrow in one way, with its end. */
static mts_status narrow(subnet *s, const mts_split_way *way, mts_arena *arena, double *loss,
                         mts_error *error)
{
    mts_split *split = s->split;
    const mts_status status = mts_split_narrow(split, s->ending.group, way, arena, &s->body, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    s->value = split->head.input;
    s->layer.features = (uint32_t)s->body->values[s->value].shape.dims[1];
    s->layer.weight = mts_arena_zero(arena, s->ending.scores, s->layer.features * sizeof(float));
    s->layer.bias = mts_arena_zero(arena, s->ending.scores, sizeof(float));
    return s->layer.weight && s->layer.bias ? fit_end(s, loss, error) : mts_fail_memory(error);
}

static void tell_theta(const subnet *s, double theta, double loss)
{
    char text[128];
    const mtsc_options *options = s->split->options;
    if (options->log) {
        (void)snprintf(text, sizeof text, "group %u: threshold %.3g times the mean (loss %.4f held out)",
                       s->ending.group + 1, theta, loss);
        options->log(options->context, MTS_LOG_INFO, text);
    }
}

/* The threshold whose subnet, fitted to the other images, answers those that are held out best. */
static mts_status search_theta(const subnet *wanted, double *theta, mts_error *error)
{
    static const double thetas[] = {1.0, 3.0, 6.0, 12.0};
    double least = INFINITY;
    mts_status status = MTS_STATUS_OK;
    for (size_t i = 0; i < sizeof thetas / sizeof thetas[0] && status == MTS_STATUS_OK; i++) {
        subnet s = *wanted;
        double loss = 0.0;
        mts_arena arena;
        mts_arena_init(&arena, s.split->allocator);
        status = narrow(&s, &(mts_split_way){thetas[i], true}, &arena, &loss, error);
        mts_arena_release(&arena);
        if (status == MTS_STATUS_OK && loss < least) {
            least = loss;
            *theta = thetas[i];
        }
    }
    if (status == MTS_STATUS_OK) {
        tell_theta(wanted, *theta, least);
    }
    return status;
}

/* What the finished subnet says of its classes, for the common answer. */
static mts_status ask_subnet(const subnet *s, const mts_graph *graph, mts_error *error)
{
    mts_split *split = s->split;
    const uint32_t count = s->ending.classes + 1;
    float *answers = mts_alloc_zero(split->allocator, split->images, count * sizeof *answers);
    const mts_status status = answers ? value_of_images(split, graph, graph->outputs[0].value, answers, error)
                                      : mts_fail_memory(error);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < split->images; i++) {
        for (uint32_t c = 0; c < split->head.classes; c++) {
            if (s->ending.score_of[c] < s->ending.classes) {
                split->combined[(size_t)i * split->head.classes + c] =
                    answers[(size_t)i * count + s->ending.score_of[c]];
            }
        }
    }
    mts_alloc_free(split->allocator, answers);
    return status;
}

static mts_status retrain(subnet *s, mts_error *error)
{
    mts_split *split = s->split;
    mts_retrained made;
    mts_status status = mts_split_retrain(split, &s->ending, s->body, &s->layer, &made, error);
    if (status == MTS_STATUS_OK) {
        s->body = made.graph;
        s->value = made.value;
        status = fit_end(s, NULL, error);
    }
    return status;
}

static mts_status make(subnet *s, uint32_t group, mts_error *error)
{
    mts_split *split = s->split;
    if (!mts_ending_init(split, group, &split->arena, &s->ending)) {
        return mts_fail_memory(error);
    }
    mts_split_way way = {.theta = MTS_IMPORTANCE_LARGE};
    mts_status status = MTS_STATUS_OK;
    if (split->wanted->search && split->wanted->ratio > 0.0) {
        status = search_theta(s, &way.theta, error);
    }
    MTS_TRY(status, narrow(s, &way, &split->arena, NULL, error));
    if (status == MTS_STATUS_OK && split->wanted->retrain_seconds > 0.0) {
        status = retrain(s, error);
    }
    mts_graph *graph = NULL;
    MTS_TRY(status, mts_ending_build(&s->ending, s->body, s->value, &s->layer, &split->arena, &graph, error));
    MTS_TRY(status, ask_subnet(s, graph, error));
    split->subnets[group].graph = graph;
    return status;
}

mts_status mts_split_subnet(mts_split *split, uint32_t group, mts_error *error)
{
    subnet s = {.split = split};
    const mts_status status = make(&s, group, error);
    return status == MTS_STATUS_OK
               ? status
               : mts_fail_prefix(error, status, "task '%s', group %u of %u", mts_split_task(split)->name,
                                 group + 1, split->wanted->groups);
}
