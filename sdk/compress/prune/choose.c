/*
 * choose.c: see choose.h. LAYER decides for each slot by itself; the other targets take
 * the step that costs least importance, slot by slot, until enough is gone.
 */
#include "compress/prune/choose.h"

#include <math.h>
#include <stdlib.h>

#include "base/size.h"

typedef struct ranked {
    double importance;
    uint32_t channel;
} ranked;

/* A slot's channels, most important first: it keeps the first `kept`. */
typedef struct slot_state {
    ranked *ranks;
    uint32_t kept;
} slot_state;

typedef struct chooser {
    const mts_choose_problem *problem;
    slot_state *slots; /* [slot] */
    uint32_t **kept;   /* [task][group] */
    uint64_t channels; /* left of the slots */
} chooser;

/* Equal importance: the earlier channel stays, so that the choice is the same
   everywhere. */
static int compare(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return mts_order(MTS_COMPARE(y->importance, x->importance), MTS_COMPARE(x->channel, y->channel));
}

static bool start(chooser *c, mts_arena *arena)
{
    const mts_choose_problem *problem = c->problem;
    c->slots = mts_arena_zero(arena, problem->slot_count, sizeof(*c->slots));
    c->kept = mts_arena_zero(arena, problem->task_count, sizeof(*c->kept));
    for (uint32_t t = 0; c->kept && t < problem->task_count; t++) {
        const mts_channels *channels = problem->costs[t].channels;
        c->kept[t] = mts_arena_zero(arena, channels->group_count, sizeof(**c->kept));
        if (!c->kept[t]) {
            return false;
        }
        for (uint32_t g = 0; g < channels->group_count; g++) {
            c->kept[t][g] = channels->groups[g].channels;
        }
    }
    for (uint32_t s = 0; c->slots && s < problem->slot_count; s++) {
        const mts_choose_slot *slot = &problem->slots[s];
        slot_state *state = &c->slots[s];
        state->ranks = mts_arena_zero(arena, slot->channels, sizeof(*state->ranks));
        if (!state->ranks) {
            return false;
        }
        for (uint32_t i = 0; i < slot->channels; i++) {
            state->ranks[i] = (ranked){slot->importance[i], i};
        }
        qsort(state->ranks, slot->channels, sizeof(*state->ranks), compare);
        state->kept = slot->channels;
        c->channels += (uint64_t)slot->channels * slot->member_count;
    }
    return c->slots && c->kept;
}

static void keep_first(chooser *c, uint32_t s, uint32_t count)
{
    const mts_choose_slot *slot = &c->problem->slots[s];
    c->channels -= (uint64_t)(c->slots[s].kept - count) * slot->member_count;
    c->slots[s].kept = count;
    for (uint32_t m = 0; m < slot->member_count; m++) {
        c->kept[slot->members[m].task][slot->members[m].group] = count;
    }
}

/* The nearest count that `round` allows. */
static uint32_t rounded(uint32_t count, uint32_t channels, uint32_t round)
{
    if (round <= 1 || channels < round) {
        return count > 0 ? count : 1;
    }
    const uint32_t near = (uint32_t)(((uint64_t)count + round / 2) / round * round);
    return near < round ? round : near > channels ? channels / round * round : near;
}

static void choose_layers(chooser *c)
{
    for (uint32_t s = 0; s < c->problem->slot_count; s++) {
        const uint32_t channels = c->problem->slots[s].channels;
        const uint32_t gone = (uint32_t)floor(c->problem->ratio * channels + 0.5);
        if (gone > 0) {
            keep_first(c, s, rounded(channels - gone, channels, c->problem->round));
        }
    }
}

/* What a slot keeps after its next step, 0: it has none. */
static uint32_t next_count(const chooser *c, uint32_t s)
{
    const uint32_t kept = c->slots[s].kept, round = c->problem->round;
    return c->problem->slots[s].channels < round ? kept - 1 : (kept - 1) / round * round;
}

static uint32_t cheapest(const chooser *c)
{
    uint32_t best = MTS_NONE;
    double least = 0;
    for (uint32_t s = 0; s < c->problem->slot_count; s++) {
        const uint32_t next = next_count(c, s);
        double price = 0;
        for (uint32_t i = next; i < c->slots[s].kept; i++) {
            price += c->slots[s].ranks[i].importance / (double)(c->slots[s].kept - next);
        }
        if (next > 0 && (best == MTS_NONE || price < least)) {
            best = s;
            least = price;
        }
    }
    return best;
}

/* What the target counts, of what is left. */
static uint64_t amount(const chooser *c)
{
    uint64_t all = 0;
    if (c->problem->target == MTSZ_TARGET_GLOBAL) {
        return c->channels;
    }
    for (uint32_t t = 0; t < c->problem->task_count; t++) {
        const mts_cost *cost = &c->problem->costs[t];
        mts_cost_settle(cost, c->kept[t]);
        all += c->problem->target == MTSZ_TARGET_FLOPS ? mts_cost_work(cost, c->kept[t])
                                                       : mts_cost_bytes(cost, c->kept[t]);
    }
    return all;
}

static mts_status choose_total(chooser *c, mts_error *error)
{
    const char *what = c->problem->target == MTSZ_TARGET_GLOBAL  ? "channels"
                       : c->problem->target == MTSZ_TARGET_FLOPS ? "multiply-adds"
                                                                 : "bytes";
    const uint64_t all = amount(c);
    const double wanted = (double)all * (1.0 - c->problem->ratio);
    uint64_t left = all;
    while ((double)left > wanted + 0.5) {
        const uint32_t s = cheapest(c);
        if (s == MTS_NONE) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                            "%.1f %% of the %s cannot be removed: with one channel left in every group %.1f "
                            "%% are gone",
                            c->problem->ratio * 100.0, what, 100.0 - 100.0 * (double)left / (double)all);
        }
        keep_first(c, s, next_count(c, s));
        left = amount(c);
    }
    return MTS_STATUS_OK;
}

static bool write_member(const chooser *c, uint32_t s, const mts_choose_member *member, mts_arena *arena,
                         bool ***keep)
{
    const mts_choose_slot *slot = &c->problem->slots[s];
    bool *list = mts_arena_zero(arena, slot->channels, sizeof(*list));
    for (uint32_t i = 0; list && i < c->slots[s].kept; i++) {
        const uint32_t channel = c->slots[s].ranks[i].channel;
        list[channel] = true;
    }
    keep[member->task][member->group] = list;
    return list;
}

static bool ***write_keep(const chooser *c, mts_arena *arena)
{
    bool ***keep = mts_arena_zero(arena, c->problem->task_count, sizeof(*keep));
    bool done = keep;
    for (uint32_t t = 0; done && t < c->problem->task_count; t++) {
        keep[t] = mts_arena_zero(arena, c->problem->costs[t].channels->group_count, sizeof(**keep));
        done = keep[t];
    }
    for (uint32_t s = 0; done && s < c->problem->slot_count; s++) {
        const mts_choose_slot *slot = &c->problem->slots[s];
        for (uint32_t m = 0; done && m < slot->member_count; m++) {
            done = write_member(c, s, &slot->members[m], arena, keep);
        }
    }
    return done ? keep : NULL;
}

mts_status mts_choose(const mts_choose_problem *problem, mts_arena *arena, bool ****keep, mts_error *error)
{
    chooser c = {.problem = problem};
    mts_status status = MTS_STATUS_OK;
    *keep = NULL;
    if (!start(&c, arena)) {
        return mts_fail_memory(error);
    }
    if (problem->target == MTSZ_TARGET_LAYER) {
        choose_layers(&c);
    } else {
        status = choose_total(&c, error);
    }
    if (status == MTS_STATUS_OK) {
        *keep = write_keep(&c, arena);
        status = *keep ? MTS_STATUS_OK : mts_fail_memory(error);
    }
    return status;
}
