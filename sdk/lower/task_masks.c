/*
 * task_masks.c: sets of tasks, from a plan. Not responsible for which entry of a launch has which (encode_*.c).
 */
#include "lower/task_masks.h"

#include <string.h>

/* Bits of everything that gets a set, before equal ones become one. */
typedef struct collector {
    mts_task_sets *sets;
    const mts_program *program;
    const mts_plan *plan;
    uint32_t *graphs, *members, *conversions, *values; /* rows of sets->words */
} collector;

static void add_bits(const collector *c, uint32_t *rows, uint32_t row, const uint32_t *from)
{
    for (uint32_t w = 0; w < c->sets->words; w++) {
        rows[(size_t)row * c->sets->words + w] |= from[w];
    }
}

static const uint32_t *row_of(const collector *c, const uint32_t *rows, uint32_t row)
{
    return rows + (size_t)row * c->sets->words;
}

/* Position of equal bits; appended if there are none. MTS_SERVES_ALL when memory is short. */
static uint32_t intern(mts_task_sets *sets, const uint32_t *bits)
{
    const size_t size = sets->words * sizeof *bits;
    for (size_t i = 0; i < sets->count; i++) {
        if (memcmp(sets->bits + i * sets->words, bits, size) == 0) {
            return (uint32_t)i;
        }
    }
    if (!mts_alloc_grow(sets->allocator, (void **)&sets->bits, &sets->capacity,
                        (sets->count + 1) * sets->words, sizeof *sets->bits)) {
        return MTS_SERVES_ALL;
    }
    memcpy(sets->bits + sets->count * sets->words, bits, size);
    return (uint32_t)sets->count++;
}

/* Tasks of each graph: dense graphs have several. */
static void mark_graphs(const collector *c)
{
    for (uint32_t t = 0; t < c->sets->tasks; t++) {
        for (uint32_t g = 0; g < c->program->graph_count; g++) {
            const bool own = c->program->task_graph[t] == g;
            c->graphs[(size_t)g * c->sets->words + t / 32] |= own ? 1u << t % 32 : 0;
        }
    }
}

static void mark_members(const collector *c)
{
    const mts_stitched *s = c->plan->stitched;
    for (uint32_t g = 0; g < s->graph_count; g++) {
        const mts_graph *graph = s->graphs[g];
        for (uint32_t n = 0; n < graph->node_count; n++) {
            const uint32_t value = s->value_of[g][graph->nodes[n].output];
            if (value != MTS_NONE && s->values[value].member != MTS_NONE) {
                add_bits(c, c->members, s->values[value].member, row_of(c, c->graphs, g));
            }
        }
        for (uint32_t i = 0; i < graph->input_count; i++) {
            const uint32_t value = s->value_of[g][graph->inputs[i].value];
            if (value != MTS_NONE) {
                add_bits(c, c->values, value, row_of(c, c->graphs, g));
            }
        }
    }
}

/* A conversion serves who reads it: members, and graph outputs that lie in it. */
static void mark_conversions(const collector *c)
{
    const mts_plan *plan = c->plan;
    const mts_stitched *s = plan->stitched;
    for (uint32_t m = 0; m < s->member_count; m++) {
        const uint32_t read[3] = {plan->members[m].input_conversion, plan->members[m].residual_conversion,
                                  s->members[m].input_count > 0 && s->members[m].inputs[0] != MTS_NONE
                                      ? mts_plan_dense_copy(plan, s->members[m].inputs[0])
                                      : MTS_NONE};
        const uint32_t reads = mts_plan_reads_dense(mts_member_node(s, &s->members[m])->op) ? 3 : 2;
        for (uint32_t i = 0; i < reads; i++) {
            if (read[i] != MTS_NONE) {
                add_bits(c, c->conversions, read[i], row_of(c, c->members, m));
            }
        }
    }
    for (uint32_t k = 0; k < plan->conversion_count; k++) {
        for (uint32_t g = 0; g < s->graph_count; g++) {
            for (uint32_t o = 0; o < s->graphs[g]->output_count; o++) {
                if (plan->output_storage[g][o] == plan->conversions[k].storage) {
                    add_bits(c, c->conversions, k, row_of(c, c->graphs, g));
                }
            }
        }
    }
}

/* What nobody is known to read serves all. */
static void number(const collector *c, const uint32_t *rows, uint32_t count, uint32_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *bits = row_of(c, rows, i);
        uint32_t any = 0;
        for (uint32_t w = 0; w < c->sets->words; w++) {
            any |= bits[w];
        }
        out[i] = any != 0 ? intern(c->sets, bits) : MTS_SERVES_ALL;
    }
}

static bool allocate(collector *c, mts_arena *arena)
{
    mts_task_sets *sets = c->sets;
    const mts_stitched *s = c->plan->stitched;
    const size_t size = sets->words * sizeof(uint32_t);
    c->graphs = mts_arena_zero(arena, c->program->graph_count, size);
    c->members = mts_arena_zero(arena, s->member_count, size);
    c->conversions = mts_arena_zero(arena, c->plan->conversion_count, size);
    c->values = mts_arena_zero(arena, s->value_count, size);
    sets->members = mts_arena_zero(arena, s->member_count, sizeof *sets->members);
    sets->conversions = mts_arena_zero(arena, c->plan->conversion_count, sizeof *sets->conversions);
    sets->values = mts_arena_zero(arena, s->value_count, sizeof *sets->values);
    uint32_t *all = mts_arena_zero(arena, 1, size);
    if (!c->graphs || !c->members || !c->conversions || !c->values || !sets->members || !sets->conversions ||
        !sets->values || !all) {
        return false;
    }
    for (uint32_t t = 0; t < sets->tasks; t++) {
        all[t / 32] |= 1u << t % 32;
    }
    return intern(sets, all) == MTS_SERVES_ALL && sets->count == 1;
}

mts_status mts_task_sets_make(mts_task_sets *sets, const mts_program *program, uint32_t tasks,
                              const mts_plan *plan, mts_arena *arena, mts_error *error)
{
    *sets = (mts_task_sets){.allocator = arena->allocator, .tasks = tasks, .words = (tasks + 31) / 32};
    collector c = {.sets = sets, .program = program, .plan = plan};
    if (!allocate(&c, arena)) {
        return mts_fail_memory(error);
    }
    mark_graphs(&c);
    mark_members(&c);
    mark_conversions(&c);
    number(&c, c.members, plan->stitched->member_count, sets->members);
    number(&c, c.conversions, plan->conversion_count, sets->conversions);
    number(&c, c.values, plan->stitched->value_count, sets->values);
    return MTS_STATUS_OK;
}

void mts_task_sets_release(mts_task_sets *sets)
{
    if (sets->bits) {
        mts_alloc_free(sets->allocator, sets->bits);
    }
    sets->bits = NULL;
    sets->count = sets->capacity = 0;
}

uint32_t mts_task_sets_join(mts_task_sets *sets, uint32_t a, uint32_t b)
{
    uint32_t any = 0; /* what a lacks */
    for (uint32_t w = 0; w < sets->words; w++) {
        any |= sets->bits[(size_t)b * sets->words + w] & ~sets->bits[(size_t)a * sets->words + w];
    }
    if (any == 0) {
        return a;
    }
    if (!mts_alloc_grow(sets->allocator, (void **)&sets->bits, &sets->capacity,
                        (sets->count + 1) * sets->words, sizeof *sets->bits)) {
        return MTS_SERVES_ALL;
    }
    uint32_t *joined = sets->bits + sets->count * sets->words; /* behind the last: kept only if it is new */
    for (uint32_t w = 0; w < sets->words; w++) {
        joined[w] = sets->bits[(size_t)a * sets->words + w] | sets->bits[(size_t)b * sets->words + w];
    }
    for (size_t i = 0; i < sets->count; i++) {
        if (memcmp(sets->bits + i * sets->words, joined, sets->words * sizeof *joined) == 0) {
            return (uint32_t)i;
        }
    }
    return (uint32_t)sets->count++;
}
