/*
 * task_masks.c: sets of tasks, from a plan. Not responsible for which entry of a launch
 * has which (encode_*.c).
 */
#include "lower/task_masks.h"

#include <string.h>

/* Bits of everything that gets a set, before equal ones become one. */
typedef struct collector {
    mts_task_masks *masks;
    const mts_program *program;
    const mts_plan *plan;
    uint32_t *graphs, *members, *conversions, *values; /* rows of masks->words */
} collector;

static void add_bits(const collector *c, uint32_t *rows, uint32_t row, const uint32_t *from)
{
    for (uint32_t w = 0; w < c->masks->words; w++) {
        rows[(size_t)row * c->masks->words + w] |= from[w];
    }
}

static const uint32_t *row_of(const collector *c, const uint32_t *rows, uint32_t row)
{
    return rows + (size_t)row * c->masks->words;
}

/* Position of equal bits; appended if there are none. MTS_TASKS_ALL when memory is
   short. */
static uint32_t intern(mts_task_masks *masks, const uint32_t *bits)
{
    const size_t size = masks->words * sizeof *bits;
    for (size_t i = 0; i < masks->count; i++) {
        if (memcmp(masks->bits + i * masks->words, bits, size) == 0) {
            return (uint32_t)i;
        }
    }
    if (!mts_alloc_grow(masks->allocator, (void **)&masks->bits, &masks->capacity,
                        (masks->count + 1) * masks->words, sizeof *masks->bits)) {
        return MTS_TASKS_ALL;
    }
    memcpy(masks->bits + masks->count * masks->words, bits, size);
    return (uint32_t)masks->count++;
}

/* Tasks of each graph: dense graphs have several. */
static void mark_graphs(const collector *c)
{
    for (uint32_t t = 0; t < c->masks->tasks; t++) {
        for (uint32_t g = 0; g < c->program->graph_count; g++) {
            const bool own = c->program->task_graph[t] == g;
            c->graphs[(size_t)g * c->masks->words + t / 32] |= own ? 1u << t % 32 : 0;
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

/* A conversion is needed by its readers: members, and graph outputs that lie in it. */
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
        if (plan->conversions[k].part) {
            add_bits(c, c->conversions, k, row_of(c, c->members, plan->conversions[k].member));
        }
        for (uint32_t g = 0; g < s->graph_count; g++) {
            for (uint32_t o = 0; o < s->graphs[g]->output_count; o++) {
                if (plan->output_storage[g][o] == plan->conversions[k].storage) {
                    add_bits(c, c->conversions, k, row_of(c, c->graphs, g));
                }
            }
        }
    }
}

/* A value without a known reader is for all tasks. */
static void number(const collector *c, const uint32_t *rows, uint32_t count, uint32_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *bits = row_of(c, rows, i);
        uint32_t any = 0;
        for (uint32_t w = 0; w < c->masks->words; w++) {
            any |= bits[w];
        }
        out[i] = any != 0 ? intern(c->masks, bits) : MTS_TASKS_ALL;
    }
}

static bool allocate(collector *c, mts_arena *arena)
{
    mts_task_masks *masks = c->masks;
    const mts_stitched *s = c->plan->stitched;
    const size_t size = masks->words * sizeof(uint32_t);
    c->graphs = mts_arena_zero(arena, c->program->graph_count, size);
    c->members = mts_arena_zero(arena, s->member_count, size);
    c->conversions = mts_arena_zero(arena, c->plan->conversion_count, size);
    c->values = mts_arena_zero(arena, s->value_count, size);
    masks->members = mts_arena_zero(arena, s->member_count, sizeof *masks->members);
    masks->conversions = mts_arena_zero(arena, c->plan->conversion_count, sizeof *masks->conversions);
    masks->values = mts_arena_zero(arena, s->value_count, sizeof *masks->values);
    uint32_t *all = mts_arena_zero(arena, 1, size);
    if (!c->graphs || !c->members || !c->conversions || !c->values || !masks->members ||
        !masks->conversions || !masks->values || !all) {
        return false;
    }
    for (uint32_t t = 0; t < masks->tasks; t++) {
        all[t / 32] |= 1u << t % 32;
    }
    return intern(masks, all) == MTS_TASKS_ALL && masks->count == 1;
}

mts_status mts_task_masks_create(mts_task_masks *masks, const mts_program *program, uint32_t tasks,
                                 const mts_plan *plan, mts_arena *arena, mts_error *error)
{
    *masks = (mts_task_masks){.allocator = arena->allocator, .tasks = tasks, .words = (tasks + 31) / 32};
    collector c = {.masks = masks, .program = program, .plan = plan};
    if (!allocate(&c, arena)) {
        return mts_fail_memory(error);
    }
    mark_graphs(&c);
    mark_members(&c);
    mark_conversions(&c);
    number(&c, c.members, plan->stitched->member_count, masks->members);
    number(&c, c.conversions, plan->conversion_count, masks->conversions);
    number(&c, c.values, plan->stitched->value_count, masks->values);
    return MTS_STATUS_OK;
}

void mts_task_masks_release(mts_task_masks *masks)
{
    if (masks->bits) {
        mts_alloc_free(masks->allocator, masks->bits);
    }
    masks->bits = NULL;
    masks->count = masks->capacity = 0;
}

uint32_t mts_task_masks_join(mts_task_masks *masks, uint32_t a, uint32_t b)
{
    uint32_t any = 0; /* what a lacks */
    for (uint32_t w = 0; w < masks->words; w++) {
        any |= masks->bits[(size_t)b * masks->words + w] & ~masks->bits[(size_t)a * masks->words + w];
    }
    if (any == 0) {
        return a;
    }
    if (!mts_alloc_grow(masks->allocator, (void **)&masks->bits, &masks->capacity,
                        (masks->count + 1) * masks->words, sizeof *masks->bits)) {
        return MTS_TASKS_ALL;
    }
    uint32_t *joined =
        masks->bits + masks->count * masks->words; /* behind the last: kept only if it is new */
    for (uint32_t w = 0; w < masks->words; w++) {
        joined[w] = masks->bits[(size_t)a * masks->words + w] | masks->bits[(size_t)b * masks->words + w];
    }
    for (size_t i = 0; i < masks->count; i++) {
        if (memcmp(masks->bits + i * masks->words, joined, masks->words * sizeof *joined) == 0) {
            return (uint32_t)i;
        }
    }
    return (uint32_t)masks->count++;
}
