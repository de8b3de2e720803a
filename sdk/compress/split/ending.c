/*
 * ending.c: see ending.h.
 */
#include "compress/split/ending.h"

#include <math.h>
#include <string.h>

#include "compress/split/logistic.h"
#include "compress/split/narrow.h"

#define RIDGE 1e-4
#define STEPS 200u
#define FLOOR 1e-4f

bool mts_ending_init(const mts_split *split, uint32_t group, mts_arena *arena, mts_ending *out)
{
    const uint32_t all = split->head.classes;
    *out = (mts_ending){.group = group};
    out->score_of = mts_arena_zero(arena, all, sizeof *out->score_of);
    for (uint32_t c = 0; c < all; c++) {
        out->classes += split->group_of[c] == group ? 1 : 0;
    }
    out->scores = out->classes + split->wanted->groups - 1;
    out->sums = mts_arena_zero(arena, out->classes + 1, out->scores * sizeof *out->sums);
    out->selects = mts_arena_zero(arena, out->scores, all * sizeof *out->selects);
    out->floors = mts_arena_zero(arena, out->scores, sizeof *out->floors);
    if (!out->score_of || !out->sums || !out->selects || !out->floors) {
        return false;
    }
    uint32_t local = 0;
    for (uint32_t c = 0; c < all; c++) {
        const uint32_t other = split->group_of[c];
        const uint32_t place = other < group ? other : other - 1;
        out->score_of[c] = other == group ? local++ : out->classes + place;
        out->selects[(size_t)out->score_of[c] * all + c] = 1.0f;
    }
    for (uint32_t s = 0; s < out->scores; s++) {
        out->sums[(size_t)(s < out->classes ? s : out->classes) * out->scores + s] = 1.0f;
        out->floors[s] = FLOOR;
    }
    return true;
}

/* What an image should be answered with, in scores of the subnet. */
static void target_of(const mts_split *split, const mts_ending *ending, uint32_t image, float *target)
{
    const uint32_t classes = split->head.classes;
    const bool labelled = split->wanted->labels != NULL;
    memset(target, 0, ending->scores * sizeof *target);
    for (uint32_t c = 0; c < classes; c++) {
        const float part = labelled ? 1.0f - MTS_SPLIT_LABELS : 1.0f;
        target[ending->score_of[c]] += part * split->answers[(size_t)image * classes + c];
    }
    if (labelled) {
        target[ending->score_of[split->wanted->labels[image]]] += MTS_SPLIT_LABELS;
    }
}

mts_status mts_ending_fit(const mts_split *split, const mts_ending *ending, const float *features,
                          bool held_out, const mts_ending_layer *layer, mts_error *error)
{
    float *targets = mts_alloc_zero(split->allocator, split->images, ending->scores * sizeof *targets);
    float *weights = mts_alloc_zero(split->allocator, split->images, sizeof *weights);
    mts_status status = targets && weights ? MTS_STATUS_OK : mts_fail_memory(error);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < split->images; i++) {
        target_of(split, ending, i, targets + (size_t)i * ending->scores);
        weights[i] = held_out && mts_split_holds_out(i) ? 0.0f : 1.0f;
    }
    const mts_logistic problem = {.count = split->images,
                                  .inputs = layer->features,
                                  .outputs = ending->scores,
                                  .rows = features,
                                  .targets = targets,
                                  .weights = held_out ? weights : NULL,
                                  .ridge = RIDGE,
                                  .steps = STEPS};
    MTS_TRY(status, mts_logistic_fit(&problem, layer->weight, layer->bias, split->allocator, error));
    mts_alloc_free(split->allocator, targets);
    mts_alloc_free(split->allocator, weights);
    return status;
}

/* Cross-entropy of one image; `scores` is overwritten. */
static double image_loss(const mts_ending *ending, const mts_ending_layer *layer, const float *features,
                         const float *target, double *scores)
{
    double most = -INFINITY, sum = 0.0, loss = 0.0;
    for (uint32_t s = 0; s < ending->scores; s++) {
        scores[s] = (double)layer->bias[s];
        for (uint32_t k = 0; k < layer->features; k++) {
            scores[s] += (double)layer->weight[(size_t)s * layer->features + k] * (double)features[k];
        }
        most = fmax(most, scores[s]);
    }
    for (uint32_t s = 0; s < ending->scores; s++) {
        sum += exp(scores[s] - most);
    }
    for (uint32_t s = 0; s < ending->scores; s++) {
        loss -= (double)target[s] * (scores[s] - most - log(sum));
    }
    return loss;
}

mts_status mts_ending_loss(const mts_split *split, const mts_ending *ending, const float *features,
                           const mts_ending_layer *layer, double *loss, mts_error *error)
{
    float *target = mts_alloc_zero(split->allocator, ending->scores, sizeof *target);
    double *scores = mts_alloc_zero(split->allocator, ending->scores, sizeof *scores);
    uint32_t count = 0;
    *loss = 0.0;
    for (uint32_t i = 0; target && scores && i < split->images; i++) {
        if (mts_split_holds_out(i)) {
            target_of(split, ending, i, target);
            *loss += image_loss(ending, layer, features + (size_t)i * layer->features, target, scores);
            count++;
        }
    }
    *loss = count ? *loss / count : 0.0;
    const bool done = target && scores;
    mts_alloc_free(split->allocator, target);
    mts_alloc_free(split->allocator, scores);
    return done ? MTS_STATUS_OK : mts_fail_memory(error);
}

mts_status mts_ending_build(const mts_ending *ending, const mts_graph *body, uint32_t value,
                            const mts_ending_layer *layer, mts_arena *arena, mts_graph **out,
                            mts_error *error)
{
    const mts_head_layer layers[2] = {
        {.outputs = ending->scores,
         .inputs = layer->features,
         .weight = layer->weight,
         .bias = layer->bias,
         .softmax = true},
        {.outputs = ending->classes + 1, .inputs = ending->scores, .weight = ending->sums}};
    const uint32_t count = ending->scores > ending->classes + 1 ? 2 : 1;
    return mts_head_replace(body, value, layers, count, arena, out, NULL, error);
}
