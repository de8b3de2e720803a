/*
 * waves.c: list scheduling with a few rules, of which the best counts. Not responsible
 * for what a node is.
 */
#include "plan/waves.h"

#include <string.h>

#include "base/size.h"

/*
 * How the program of a wave is chosen among those that have nodes ready: by the sum over
 * its nodes of a power of the waves that have to follow them at least. The higher the
 * power, the less the longest chains wait; the lower, the more nodes a wave has.
 *
 * `waits`: by that sum divided by the same sum over all nodes that no other node of the
 * program has to run before. At 1 nothing is won by waiting with this wave; where it is
 * less, nodes that could join it are still to come. Which rule is best depends on the
 * graph.
 */
typedef struct rule {
    uint32_t power;
    bool waits;
} rule;

static const rule rules[] = {{4, false}, {8, false}, {2, false}, {1, false},
                             {4, true},  {8, true},  {16, true}, {2, true}};

/* Programs whose nodes are known to wait for each other; more would only take memory. */
#define TRACKED_MOST 64u

typedef struct scheduler {
    const mts_wave_request *request;
    uint32_t count, program_count;
    /* Per node: a dense number of its program, waves that follow at least, predecessors
       that have not run. */
    uint32_t *program, *height, *waits;
    /* Per node: whether it has run; and for each of `tracked` programs, how many of its
       predecessors are of that program, or come behind a node of it, that has not run. */
    bool *ran;
    uint32_t *above, tracked;
    /* Nodes whose predecessors have run, ascending. */
    uint32_t *ready;
    uint32_t ready_count;
    /* Per group: its nodes that have not run, the height of its longest chain, whether it
       has begun. */
    uint32_t *left, *longest;
    bool *begun;
    /* Groups that have begun and not ended. */
    uint32_t running;
    /* Per program: of the nodes that are ready, and of those in `front`. */
    double *score, *whole;
    /* Per program: the first node that no node of the program has to run before; the others
       follow in ascending order. */
    uint32_t *front, *later, *stack;
    mts_wave_schedule trial;
} scheduler;

/* ---- what no rule changes ---- */

/* Dense numbers, in order of appearance. A node without a program comes behind all
   programs. */
static void number_programs(scheduler *s, uint32_t *known)
{
    s->program_count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const uint32_t wanted = s->request->nodes[i].program;
        uint32_t at = 0;
        while (at < s->program_count && known[at] != wanted) {
            at++;
        }
        if (at == s->program_count && wanted != MTS_NONE) {
            known[s->program_count++] = wanted;
        }
        s->program[i] = at;
    }
    s->tracked = s->program_count < TRACKED_MOST ? s->program_count : TRACKED_MOST;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->request->nodes[i].program == MTS_NONE) {
            s->program[i] = s->program_count++;
        }
    }
}

static void find_heights(scheduler *s)
{
    const mts_dependencies *after = s->request->after;
    for (uint32_t i = s->count; i-- > 0;) {
        s->height[i] = 1;
        for (uint32_t k = after->next_first[i]; k < after->next_first[i + 1]; k++) {
            const uint32_t above = s->height[after->next[k]] + 1;
            s->height[i] = above > s->height[i] ? above : s->height[i];
        }
        const uint32_t group = s->request->nodes[i].group;
        if (group != MTS_NONE && s->height[i] > s->longest[group]) {
            s->longest[group] = s->height[i];
        }
    }
}

/* ---- one schedule ---- */

static void restart(scheduler *s)
{
    memcpy(s->waits, s->request->after->waits, s->count * sizeof *s->waits);
    memset(s->left, 0, s->request->group_count * sizeof *s->left);
    memset(s->begun, 0, s->request->group_count * sizeof *s->begun);
    memset(s->ran, 0, s->count * sizeof *s->ran);
    s->running = 0;
    s->ready_count = 0;
    s->trial.count = s->trial.waves = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const uint32_t group = s->request->nodes[i].group;
        if (s->waits[i] == 0) {
            s->ready[s->ready_count++] = i;
        }
        if (group != MTS_NONE) {
            s->left[group]++;
        }
    }
}

/* A node without a group may always run. */
static bool may_run(const scheduler *s, uint32_t node)
{
    const uint32_t group = s->request->nodes[node].group;
    return group == MTS_NONE || s->begun[group];
}

/* Waves that have to follow at least, if only nodes run that may. */
static uint32_t left_chain(const scheduler *s)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < s->ready_count; i++) {
        const uint32_t height = s->height[s->ready[i]];
        most = may_run(s, s->ready[i]) && height > most ? height : most;
    }
    return most;
}

/* Begins groups while the limit allows it, those with the longest chains first: short
   ones then run beside them. */
static void begin_groups(scheduler *s)
{
    const uint32_t early = s->request->early;
    uint32_t chain = early != MTS_NONE ? left_chain(s) : 0;
    while (s->running < s->request->groups_most) {
        uint32_t next = MTS_NONE;
        for (uint32_t g = 0; g < s->request->group_count; g++) {
            const bool waits = !s->begun[g] && s->left[g] > 0;
            next = waits && (next == MTS_NONE || s->longest[g] > s->longest[next]) ? g : next;
        }
        if (next == MTS_NONE || (uint64_t)s->longest[next] + early < chain) {
            return;
        }
        s->begun[next] = true;
        s->running++;
        chain = early != MTS_NONE && chain < s->longest[next] ? s->longest[next] : chain;
    }
}

/* A power of a height, which may lose low bits. */
static double value_of(const scheduler *s, uint32_t node, uint32_t power)
{
    double value = 1.0;
    for (uint32_t i = 0; i < power; i++) {
        value *= s->height[node];
    }
    return value;
}

/* ---- nodes that no other one of their program has to run before ---- */

/* Per tracked program. */
static uint32_t *above_of(const scheduler *s, uint32_t node)
{
    return s->above + (size_t)node * s->tracked;
}

/* Behind those that have smaller numbers, so that sums are made in one order. */
static void add_front(scheduler *s, uint32_t node)
{
    uint32_t *at = &s->front[s->program[node]];
    while (*at != MTS_NONE && *at < node) {
        at = &s->later[*at];
    }
    s->later[node] = *at;
    *at = node;
}

/* A node of an untracked program is taken to wait for none of its own. */
static void find_front(scheduler *s)
{
    const mts_dependencies *after = s->request->after;
    memset(s->front, 0xff, s->program_count * sizeof *s->front);
    memset(s->above, 0, (size_t)s->count * s->tracked * sizeof *s->above);
    for (uint32_t i = 0; i < s->count; i++) {
        const uint32_t *own = above_of(s, i);
        for (uint32_t p = 0; p < s->tracked; p++) {
            const bool passes = s->program[i] == p || own[p] > 0;
            for (uint32_t k = after->next_first[i]; passes && k < after->next_first[i + 1]; k++) {
                above_of(s, after->next[k])[p]++;
            }
        }
    }
    for (uint32_t i = s->count; i-- > 0;) {
        if (s->program[i] >= s->tracked || above_of(s, i)[s->program[i]] == 0) {
            add_front(s, i);
        }
    }
}

/*
 * A node has run, and so have all before it. Nodes behind it have one of its program less
 * above them; those that have none any more pass that on. Each edge is walked once for
 * each program, whatever the number of waves.
 */
static void lift(scheduler *s, uint32_t from)
{
    const mts_dependencies *after = s->request->after;
    const uint32_t program = s->program[from];
    uint32_t top = 0;
    s->stack[top++] = from;
    while (program < s->tracked && top > 0) {
        const uint32_t node = s->stack[--top];
        for (uint32_t k = after->next_first[node]; k < after->next_first[node + 1]; k++) {
            const uint32_t next = after->next[k];
            if (--above_of(s, next)[program] > 0) {
                continue;
            }
            if (s->program[next] == program) {
                add_front(s, next);
            } else {
                s->stack[top++] = next;
            }
        }
    }
}

/* Over nodes that may run, or may when those before them have. */
static double sum_front(scheduler *s, uint32_t program, uint32_t power)
{
    double sum = 0.0;
    for (uint32_t *at = &s->front[program]; *at != MTS_NONE;) {
        const uint32_t node = *at;
        if (s->ran[node]) {
            *at = s->later[node];
            continue;
        }
        sum += may_run(s, node) ? value_of(s, node, power) : 0.0;
        at = &s->later[node];
    }
    return sum;
}

/* Fills score[] of the programs that have nodes ready, where it is 0 if none of those may
   run, and whole[]. */
static void find_scores(scheduler *s, const rule *by)
{
    for (uint32_t i = 0; i < s->ready_count; i++) {
        s->score[s->program[s->ready[i]]] = s->whole[s->program[s->ready[i]]] = 0.0;
    }
    for (uint32_t i = 0; i < s->ready_count; i++) {
        if (may_run(s, s->ready[i])) {
            s->score[s->program[s->ready[i]]] += value_of(s, s->ready[i], by->power);
        }
    }
    for (uint32_t i = 0; by->waits && i < s->ready_count; i++) {
        const uint32_t program = s->program[s->ready[i]];
        if (s->score[program] > 0.0 && s->whole[program] <= 0.0) {
            s->whole[program] = sum_front(s, program, by->power);
        }
    }
}

static bool is_better(const scheduler *s, const rule *by, uint32_t program, uint32_t best)
{
    const double own = s->score[program];
    const double other = s->score[best];
    if (by->waits && own / s->whole[program] != other / s->whole[best]) {
        return own / s->whole[program] > other / s->whole[best];
    }
    return own > other;
}

/* The program of the next wave; ties go to the one that appears first. MTS_NONE: no node
   may run. */
static uint32_t choose_program(scheduler *s, const rule *by)
{
    uint32_t best = MTS_NONE;
    find_scores(s, by);
    for (uint32_t i = 0; i < s->ready_count; i++) {
        const uint32_t program = s->program[s->ready[i]];
        const bool may = s->score[program] > 0.0;
        best = may && (best == MTS_NONE || is_better(s, by, program, best)) ? program : best;
    }
    return best;
}

static void insert_ready(scheduler *s, uint32_t node)
{
    uint32_t at = s->ready_count++;
    while (at > 0 && s->ready[at - 1] > node) {
        s->ready[at] = s->ready[at - 1];
        at--;
    }
    s->ready[at] = node;
}

/* Runs all nodes of a program that may run, as one wave. */
static void run_wave(scheduler *s, uint32_t program, bool waits)
{
    const mts_dependencies *after = s->request->after;
    const uint32_t first = s->trial.count;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->ready_count; i++) {
        const uint32_t node = s->ready[i];
        if (s->program[node] == program && may_run(s, node)) {
            s->ran[node] = true;
            s->trial.wave[node] = s->trial.waves;
            s->trial.order[s->trial.count++] = node;
        } else {
            s->ready[kept++] = node;
        }
    }
    s->ready_count = kept;
    s->trial.waves++;
    for (uint32_t i = first; i < s->trial.count; i++) {
        const uint32_t node = s->trial.order[i];
        const uint32_t group = s->request->nodes[node].group;
        for (uint32_t k = after->next_first[node]; k < after->next_first[node + 1]; k++) {
            if (--s->waits[after->next[k]] == 0) {
                insert_ready(s, after->next[k]);
            }
        }
        if (group != MTS_NONE && --s->left[group] == 0) {
            s->running--;
        }
        if (waits) {
            lift(s, node);
        }
    }
}

/* Begins the group of the first node that is ready: none of the begun groups can go on
   without it. */
static void begin_needed(scheduler *s)
{
    s->begun[s->request->nodes[s->ready[0]].group] = true;
    s->running++;
}

static void schedule(scheduler *s, const rule *by)
{
    restart(s);
    if (by->waits) {
        find_front(s);
    }
    while (s->trial.count < s->count) {
        begin_groups(s);
        const uint32_t program = choose_program(s, by);
        if (program != MTS_NONE) {
            run_wave(s, program, by->waits);
        } else {
            begin_needed(s);
        }
    }
}

/* ---- the best ---- */

mts_status mts_waves_time(const mts_wave_request *request, const uint32_t *wave, uint32_t waves,
                          mts_arena *scratch, uint64_t *time, mts_error *error)
{
    const uint32_t units = request->device.units > 0 ? request->device.units : 1;
    uint64_t *work = mts_arena_zero(scratch, waves, sizeof *work);
    uint64_t *tile = mts_arena_zero(scratch, waves, sizeof *tile);
    *time = 0;
    if (!work || !tile) {
        return mts_fail_memory(error);
    }
    for (uint32_t i = 0; i < request->after->count; i++) {
        const mts_wave_node *node = &request->nodes[i];
        work[wave[i]] += node->cost;
        tile[wave[i]] = node->tile > tile[wave[i]] ? node->tile : tile[wave[i]];
    }
    for (uint32_t w = 0; w < waves; w++) {
        const uint64_t shared = (work[w] + units - 1) / units;
        *time += request->device.launch + (shared > tile[w] ? shared : tile[w]);
    }
    return MTS_STATUS_OK;
}

static mts_status open_scheduler(scheduler *s, mts_arena *arena, uint32_t **known, mts_error *error)
{
    const size_t count = s->count;
    const size_t groups = s->request->group_count;
    s->program = mts_arena_zero(arena, count, sizeof *s->program);
    s->height = mts_arena_zero(arena, count, sizeof *s->height);
    s->waits = mts_arena_zero(arena, count, sizeof *s->waits);
    s->ready = mts_arena_zero(arena, count, sizeof *s->ready);
    s->left = mts_arena_zero(arena, groups, sizeof *s->left);
    s->longest = mts_arena_zero(arena, groups, sizeof *s->longest);
    s->begun = mts_arena_zero(arena, groups, sizeof *s->begun);
    s->score = mts_arena_zero(arena, count, sizeof *s->score);
    s->whole = mts_arena_zero(arena, count, sizeof *s->whole);
    s->front = mts_arena_zero(arena, count, sizeof *s->front);
    s->later = mts_arena_zero(arena, count, sizeof *s->later);
    s->stack = mts_arena_zero(arena, count, sizeof *s->stack);
    s->ran = mts_arena_zero(arena, count, sizeof *s->ran);
    s->trial.order = mts_arena_zero(arena, count, sizeof *s->trial.order);
    s->trial.wave = mts_arena_zero(arena, count, sizeof *s->trial.wave);
    *known = mts_arena_zero(arena, count, sizeof **known);
    const bool ok = s->program && s->height && s->waits && s->ready && s->left && s->longest && s->begun &&
                    s->score && s->whole && s->front && s->later && s->stack && s->ran && s->trial.order &&
                    s->trial.wave && *known;
    return ok ? MTS_STATUS_OK : mts_fail_memory(error);
}

mts_status mts_waves_find(const mts_wave_request *request, mts_arena *arena, mts_wave_schedule *out,
                          mts_error *error)
{
    scheduler s = {.request = request, .count = request->after->count};
    uint32_t *known = NULL;
    *out = (mts_wave_schedule){.count = s.count};
    out->order = mts_arena_zero(arena, s.count, sizeof *out->order);
    out->wave = mts_arena_zero(arena, s.count, sizeof *out->wave);
    mts_status status =
        out->order && out->wave ? open_scheduler(&s, arena, &known, error) : mts_fail_memory(error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    number_programs(&s, known);
    find_heights(&s);
    s.above = mts_arena_zero(arena, s.count, s.tracked * sizeof *s.above);
    if (!s.above) {
        return mts_fail_memory(error);
    }
    for (size_t by = 0; status == MTS_STATUS_OK && by < sizeof rules / sizeof rules[0]; by++) {
        schedule(&s, &rules[by]);
        status = mts_waves_time(request, s.trial.wave, s.trial.waves, arena, &s.trial.time, error);
        if (by == 0 || s.trial.time < out->time) {
            memcpy(out->order, s.trial.order, s.count * sizeof *out->order);
            memcpy(out->wave, s.trial.wave, s.count * sizeof *out->wave);
            out->waves = s.trial.waves;
            out->time = s.trial.time;
        }
    }
    return status;
}
