/*
 * ending.c: see ending.h.
 */
#include "compress/split/ending.h"

#include "compress/split/logistic.h"

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

mts_status mts_ending_fit(const mts_split *split, const mts_ending *ending, const float *features,
                          uint32_t count, float *weight, float *bias, mts_error *error)
{
    float *targets = mts_alloc_zero(split->allocator, split->images, ending->scores * sizeof *targets);
    if (!targets) {
        return mts_fail_memory(error);
    }
    for (uint32_t i = 0; i < split->images; i++) {
        for (uint32_t c = 0; c < split->head.classes; c++) {
            targets[(size_t)i * ending->scores + ending->score_of[c]] +=
                split->answers[(size_t)i * split->head.classes + c];
        }
    }
    const mts_logistic problem = {.count = split->images,
                                  .inputs = count,
                                  .outputs = ending->scores,
                                  .rows = features,
                                  .targets = targets,
                                  .ridge = RIDGE,
                                  .steps = STEPS};
    const mts_status status = mts_logistic_fit(&problem, weight, bias, split->allocator, error);
    mts_alloc_free(split->allocator, targets);
    return status;
}

mts_status mts_ending_build(const mts_ending *ending, const mts_graph *body, uint32_t value,
                            uint32_t features, const float *weight, const float *bias, mts_arena *arena,
                            mts_graph **out, mts_error *error)
{
    const mts_head_layer layers[2] = {
        {.outputs = ending->scores, .inputs = features, .weight = weight, .bias = bias, .softmax = true},
        {.outputs = ending->classes + 1, .inputs = ending->scores, .weight = ending->sums}};
    const uint32_t count = ending->scores > ending->classes + 1 ? 2 : 1;
    return mts_head_replace(body, value, layers, count, arena, out, NULL, error);
}
