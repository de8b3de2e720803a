/*
 * test_memory.c: no tensor of a plan is overwritten while a step still reads it.
 *
 * Plans of random families are played step by step on an array that remembers who wrote each float last.
 * Whatever a step reads must still belong to the tensor it means, and all outputs must be whole at the end.
 *
 * `MTS_TEST_DAGS=170000 build/release/bin/plan_memory` tries more families than the suite has time for, each stitched
 * and in sequence, and of each three plans: a step after the other, in lanes, in waves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/dependencies.h"
#include "plan/lanes.h"
#include "plan/plan.h"
#include "plan/slices.h"
#include "support/random_net.h"
#include "support/synth.h"

#define FAMILIES 150
#define TASKS_MOST 5

typedef struct play {
    const mts_plan *plan;
    const mts_stitched *stitched;
    uint32_t *owner; /* storage + 1 of each float of the arena */
    uint32_t *order; /* of the steps */
    uint32_t seed, step;
} play;

static void write_storage(play *p, uint32_t storage)
{
    const mts_storage *s = &p->plan->storages[storage];
    assert_true(s->offset + s->floats <= p->plan->arena_floats);
    for (uint64_t i = 0; i < s->floats; i++) {
        p->owner[s->offset + i] = storage + 1;
    }
}

static uint32_t root_of(const play *p, uint32_t storage)
{
    const uint32_t host = p->plan->storages[storage].host;
    return host != MTS_NONE ? host : storage;
}

static bool is_shared(const play *p, uint32_t storage)
{
    for (uint32_t i = 0; i < p->plan->storage_count; i++) {
        if (p->plan->storages[i].host == root_of(p, storage)) {
            return true;
        }
    }
    return false;
}

/* Planes of a storage that has parts, or is one: written by itself, by its parts, or by what it is a part of. */
static void read_planes(const play *p, uint32_t storage)
{
    const mts_storage *s = &p->plan->storages[storage];
    const uint64_t end = s->offset + (uint64_t)mts_storage_planes(s) * s->pitch;
    for (uint64_t i = s->offset; i < end; i++) {
        if ((i - s->offset) % s->pitch < s->gap) {
            continue; /* zeros that neighbours write as well */
        }
        assert_true(p->owner[i] > 0);
        const uint32_t by = p->owner[i] - 1;
        const mts_storage *o = &p->plan->storages[by];
        const uint64_t own = o->offset + (uint64_t)mts_storage_planes(o) * o->pitch;
        const bool inside = o->offset >= s->offset && own <= end;
        if (root_of(p, by) != root_of(p, storage) || !(inside || (o->offset <= s->offset && own >= end))) {
            print_error("family %u, step %u: float %llu of storage %u belongs to storage %u\n", p->seed,
                        p->step, (unsigned long long)(i - s->offset), storage, by);
            fail();
        }
    }
}

static void read_storage(const play *p, uint32_t storage)
{
    const mts_storage *s = &p->plan->storages[storage];
    if (is_shared(p, storage)) {
        read_planes(p, storage);
        return;
    }
    for (uint64_t i = 0; i < s->floats; i++) {
        if (p->owner[s->offset + i] != storage + 1) {
            print_error("family %u, step %u: float %llu of storage %u belongs to storage %d\n", p->seed,
                        p->step, (unsigned long long)i, storage, (int)p->owner[s->offset + i] - 1);
            fail();
        }
    }
}

/* Where a member reads its operand `input`. */
static uint32_t operand_storage(const play *p, const mts_member *member, const mts_member_plan *how,
                                uint32_t input)
{
    const mts_plan *plan = p->plan;
    const uint32_t value = member->inputs[input];
    uint32_t conversion = MTS_NONE;
    if (input == 0 && mts_plan_reads_dense(mts_member_node(p->stitched, member)->op)) {
        conversion = mts_plan_dense_copy(plan, value);
    } else if (input == 0) {
        conversion = how->input_conversion;
    } else if (input == 4) {
        conversion = how->residual_conversion;
    }
    return conversion == MTS_NONE ? plan->value_storage[value] : plan->conversions[conversion].storage;
}

/* All members of a step run at once: everything is read while everything is written. */
static void play_layer(play *p, const mts_layer *layer)
{
    for (int phase = 0; phase < 3; phase++) {
        for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
            const mts_member *member = &p->stitched->members[m];
            for (uint32_t i = 0; phase != 1 && i < member->input_count; i++) {
                if (member->inputs[i] != MTS_NONE) {
                    read_storage(p, operand_storage(p, member, &p->plan->members[m], i));
                }
            }
            if (phase == 1) {
                write_storage(p, p->plan->value_storage[member->output]);
            }
        }
    }
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        read_storage(p, p->plan->value_storage[p->stitched->members[m].output]); /* no two write one place */
    }
}

static void play_conversions(play *p, const mts_step *step)
{
    for (int phase = 0; phase < 3; phase++) {
        for (uint32_t i = step->first; i < step->first + step->count; i++) {
            const mts_conversion *c = &p->plan->conversions[p->plan->order[i]];
            if (phase == 1) {
                write_storage(p, c->storage);
            } else if (!c->zero_copy) {
                read_storage(p, p->plan->value_storage[c->source]);
            }
        }
    }
    for (uint32_t i = step->first; i < step->first + step->count; i++) {
        read_storage(p, p->plan->conversions[p->plan->order[i]].storage);
    }
}

/* The caller's data comes into the arena. */
static void play_inputs(play *p, const mts_step *step)
{
    for (uint32_t i = step->first; i < step->first + step->count; i++) {
        const uint32_t input = p->plan->imports[i];
        const uint32_t turned = p->plan->turned[input];
        const uint32_t storage = p->plan->value_storage[turned != MTS_NONE ? turned : input];
        assert_int_equal(p->plan->import_value[storage], p->plan->imports[i]);
        write_storage(p, storage);
    }
}

static void play_run(play *p)
{
    const mts_plan *plan = p->plan;
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        if (plan->storages[i].region == MTS_REGION_INPUT) {
            write_storage(p, i);
        }
    }
    for (uint32_t i = 0; i < plan->step_count; i++) {
        p->step = p->order[i];
        const mts_step *step = &plan->steps[p->step];
        if (step->kind == MTS_STEP_LAYER) {
            play_layer(p, &p->stitched->layers[step->first]);
        } else if (step->kind == MTS_STEP_INPUT) {
            play_inputs(p, step);
        } else {
            play_conversions(p, step);
        }
    }
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        if (plan->storages[i].region != MTS_REGION_TRANSIENT) {
            read_storage(p, i); /* inputs serve the next run too */
        }
    }
}

/* Any order of the steps that what they read and write allows; the first is theirs. */
static void draw_order(play *p, uint32_t run)
{
    const mts_plan *plan = p->plan;
    mts_access *accesses = calloc(plan->use_count, sizeof *accesses);
    mts_launch *launches = calloc(plan->step_count, sizeof *launches);
    uint32_t *ready = calloc(plan->step_count, sizeof *ready);
    mts_dependencies d;
    assert_true(accesses && launches && ready);
    for (uint32_t u = 0; u < plan->use_count; u++) {
        const mts_storage *s = &plan->storages[plan->uses[u].storage];
        accesses[u] = (mts_access){s->offset, s->offset + s->floats, plan->uses[u].writes};
    }
    for (uint32_t i = 0; i < plan->step_count; i++) {
        launches[i].accesses = accesses + plan->steps[i].use;
        launches[i].access_count = plan->steps[i].uses;
    }
    assert_int_equal(mts_dependencies_find(launches, plan->step_count, mts_allocator_default(), &d, NULL),
                     MTS_STATUS_OK);
    uint32_t count = 0, done = 0, random = p->seed * 8 + run;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        ready[count] = i;
        count += d.waits[i] == 0;
    }
    for (; count > 0; done++) {
        random = random * 1664525u + 1013904223u;
        const uint32_t at = run == 0 ? 0 : (random >> 8) % count;
        const uint32_t step = ready[at];
        ready[at] = ready[--count];
        p->order[done] = run == 0 ? done : step;
        for (uint32_t k = d.next_first[step]; k < d.next_first[step + 1]; k++) {
            if (--d.waits[d.next[k]] == 0) {
                ready[count++] = d.next[k];
            }
        }
    }
    assert_int_equal(done, plan->step_count);
    mts_dependencies_release(&d, mts_allocator_default());
    free(ready);
    free(launches);
    free(accesses);
}

static uint64_t members_sum(const mts_stitched *stitched)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < stitched->layer_count; i++) {
        const mts_layer *layer = &stitched->layers[i];
        for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
            sum += m + 1;
        }
    }
    return sum;
}

/* Slices as small as a seed wants them, with every member in one layer still; how inputs come likewise. */
static void vary(const random_family *family, mts_stitched *stitched, uint8_t *inputs, mts_arena *arena)
{
    static const uint64_t targets[] = {0, 1, 2000, 20000};
    const uint64_t members = members_sum(stitched);
    mts_error error = {0};
    assert_int_equal(mts_slices_cut(stitched, targets[family->seed % 4], arena, &error), MTS_STATUS_OK);
    assert_true(members_sum(stitched) == members);
    for (uint32_t v = 0; v < stitched->value_count; v++) {
        inputs[v] = (uint8_t)((family->seed / 4 + v) % 3);
    }
}

static void play_plan(const mts_plan *plan, uint32_t seed)
{
    play p = {.plan = plan, .stitched = plan->stitched, .seed = seed};
    p.owner = calloc(plan->arena_floats, sizeof *p.owner);
    p.order = calloc(plan->step_count, sizeof *p.order);
    assert_true(p.owner && p.order);
    for (uint32_t run = 0; run < 3; run++) { /* later runs find what the first left behind */
        draw_order(&p, run);
        play_run(&p);
    }
    free(p.order);
    free(p.owner);
}

/* As many programs as there are kinds of steps and operators. */
static uint32_t program_of(void *context, const mts_plan *plan, const mts_step *step)
{
    (void)context;
    return step->kind == MTS_STEP_LAYER ? 10u + (uint32_t)plan->stitched->layers[step->first].op
                                        : (uint32_t)step->kind;
}

/* Steps of one wave may run in any order, and at the same time: none writes, by the place in the arena, what another one
 * of the wave touches. */
static void check_waves(const mts_plan *plan)
{
    for (uint32_t i = 0; i < plan->use_count; i++) {
        const mts_storage_use *a = &plan->uses[i];
        const mts_storage *s = &plan->storages[a->storage];
        assert_true(a->step == 0 || plan->steps[a->step].wave >= plan->steps[a->step - 1].wave);
        for (uint32_t k = 0; k < plan->use_count; k++) {
            const mts_storage_use *b = &plan->uses[k];
            const mts_storage *t = &plan->storages[b->storage];
            const bool apart = a->step == b->step || plan->steps[a->step].wave != plan->steps[b->step].wave ||
                               (!a->writes && !b->writes);
            assert_true(apart || s->offset >= t->offset + t->floats || t->offset >= s->offset + s->floats);
        }
    }
}

static void play_family(const random_family *family, bool share)
{
    mts_arena arena;
    const mts_graph *graphs[TASKS_MOST];
    const uint32_t groups[TASKS_MOST] = {0, 0, 0, 1, 1}, own[TASKS_MOST] = {0, 1, 2, 3, 4};
    uint32_t slots[TASKS_MOST];
    const uint32_t *slot_of[TASKS_MOST];
    mts_error error = {0};
    mts_arena_init(&arena, mts_allocator_default());
    for (uint32_t t = 0; t < family->tasks; t++) {
        graphs[t] = random_net(family, t, &arena);
        assert_non_null(graphs[t]);
        slots[t] = family->common ? 0 : t;
        slot_of[t] = &slots[t];
    }
    const mts_stitch_request request = {.graphs = graphs,
                                        .graph_count = family->tasks,
                                        .group_of = share ? groups : own,
                                        .group_count = share ? 2 : family->tasks,
                                        .slot_of = slot_of,
                                        .share = share};
    mts_stitched *stitched = NULL;
    mts_plan *plan = NULL;
    assert_int_equal(mts_stitch(&request, &arena, &stitched, &error), MTS_STATUS_OK);
    uint8_t *inputs = mts_arena_zero(&arena, stitched->value_count, 1);
    assert_non_null(inputs);
    vary(family, stitched, inputs, &arena);
    mts_plan_request wanted = {.stitched = stitched, .inputs = inputs};
    assert_int_equal(mts_plan_create(&wanted, &arena, &plan, &error), MTS_STATUS_OK);
    const uint64_t least = plan->arena_floats;
    wanted.lanes = family->seed % 4;
    wanted.lane_floats = family->seed % 3 == 0 ? 1000 : 1 << 30;
    assert_int_equal(mts_plan_create(&wanted, &arena, &plan, &error), MTS_STATUS_OK);
    assert_true(plan->arena_floats <= least + least / 10 + wanted.lane_floats);
    play_plan(plan, family->seed);
    const mts_plan_waves waves = {
        .program = program_of, .launch = 1 << 16, .units = 1 + family->seed % 9, .tile = 2048};
    wanted.waves = &waves;
    assert_int_equal(mts_plan_create(&wanted, &arena, &plan, &error), MTS_STATUS_OK);
    assert_true(plan->arena_floats <= least + least / 10 + wanted.lane_floats);
    check_waves(plan);
    play_plan(plan, family->seed);
    mts_arena_release(&arena);
}

static uint32_t families(void)
{
    const char *wanted = getenv("MTS_TEST_DAGS");
    return wanted ? (uint32_t)strtoul(wanted, NULL, 10) : FAMILIES;
}

static void a_stitched_plan_overwrites_nothing_that_is_needed(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < families(); i++) {
        play_family(
            &(random_family){
                .seed = 20000 + i, .tasks = 1 + i % TASKS_MOST, .steps = 3 + i % 8, .common = i % 3 == 0},
            true);
    }
}

static void a_sequential_plan_overwrites_nothing_that_is_needed(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < families(); i++) {
        play_family(
            &(random_family){
                .seed = 30000 + i, .tasks = 1 + i % TASKS_MOST, .steps = 3 + i % 8, .common = i % 3 == 0},
            false);
    }
}

/* ---- placement alone ---- */

static bool together(const mts_span *a, const mts_span *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static void spans_that_live_together_do_not_overlap(void **state)
{
    (void)state;
    uint32_t random = 7;
    for (int round = 0; round < 200; round++) {
        mts_span spans[60];
        uint64_t peak = 0, highest = 0;
        mts_error error = {0};
        for (int i = 0; i < 60; i++) {
            random = random * 1664525u + 1013904223u;
            const uint32_t first = random >> 8 & 31;
            spans[i] = (mts_span){.size = (random >> 13 & 7) == 0 ? 0 : random >> 20 & 1023,
                                  .first = first,
                                  .last = first + (random >> 4 & 7)};
        }
        assert_int_equal(mts_arena_place(spans, 60, 16, mts_allocator_default(), &peak, &error),
                         MTS_STATUS_OK);
        for (int i = 0; i < 60; i++) {
            assert_int_equal(spans[i].offset % 16, 0);
            const uint64_t end = spans[i].size ? spans[i].offset + spans[i].size : 0;
            highest = end > highest ? end : highest;
            for (int j = 0; j < i && spans[i].size; j++) {
                const bool apart = spans[j].size == 0 || spans[i].offset >= spans[j].offset + spans[j].size ||
                                   spans[j].offset >= spans[i].offset + spans[i].size;
                assert_true(apart || !together(&spans[i], &spans[j]));
            }
        }
        assert_true(peak >= highest && peak < highest + 16);
    }
}

/* ---- lanes ---- */

enum { GROUPS = 3 };

/* Three groups of one step each, which write 1600, 800 and `smallest` floats, in lanes that may take `spare` floats and a
   tenth of the largest group more than that group. */
static uint64_t place_groups(uint64_t smallest, uint64_t spare, mts_span spans[GROUPS])
{
    const uint64_t sizes[GROUPS] = {1600, 800, smallest};
    const mts_stitched stitched = {.group_count = GROUPS};
    mts_storage storages[GROUPS];
    mts_step steps[GROUPS];
    mts_storage_use uses[GROUPS];
    mts_arena arena;
    mts_error error = {0};
    uint64_t peak = 0;
    mts_arena_init(&arena, mts_allocator_default());
    for (uint32_t g = 0; g < GROUPS; g++) {
        storages[g] = (mts_storage){.floats = sizes[g], .host = MTS_NONE, .first = g, .last = g};
        steps[g] = (mts_step){.kind = MTS_STEP_DENSE, .group = g, .use = g, .uses = 1};
        uses[g] = (mts_storage_use){.step = g, .storage = g, .writes = true};
        spans[g] = (mts_span){.size = sizes[g], .first = g, .last = g};
    }
    const mts_plan plan = {.stitched = &stitched,
                           .storage_count = GROUPS,
                           .storages = storages,
                           .step_count = GROUPS,
                           .steps = steps,
                           .use_count = GROUPS,
                           .uses = uses};
    const mts_lanes_limits limits = {.lanes = GROUPS, .spare = spare, .peak = 1 << 20};
    test_must(mts_lanes_place(&plan, &limits, spans, &arena, &peak, &error), &error, "lanes");
    mts_arena_release(&arena);
    return peak;
}

static void lanes_take_the_groups_that_there_is_room_for(void **state)
{
    (void)state;
    mts_span spans[GROUPS];
    /* a tenth: the small group has a lane, the middle one stays behind the large one */
    assert_int_equal(place_groups(160, 0, spans), 1760);
    assert_int_equal(spans[0].offset, spans[1].offset);
    assert_int_equal(spans[2].offset, 1600);
    /* a lane for each of the three, or one for two of them */
    assert_int_equal(place_groups(160, 800, spans), 2560);
    assert_int_equal(spans[0].offset, 0);
    assert_true(spans[1].offset >= 1600 && spans[2].offset >= 1600);
    assert_int_equal(place_groups(160, 640, spans), 2400);
    assert_true(spans[1].offset >= 1600 && spans[2].offset >= 1600);
    /* not even the smallest group has room beside the large one */
    assert_int_equal(place_groups(176, 0, spans), 1600);
    assert_true(spans[0].offset == 0 && spans[1].offset == 0 && spans[2].offset == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stitched_plan_overwrites_nothing_that_is_needed),
        cmocka_unit_test(a_sequential_plan_overwrites_nothing_that_is_needed),
        cmocka_unit_test(spans_that_live_together_do_not_overlap),
        cmocka_unit_test(lanes_take_the_groups_that_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
