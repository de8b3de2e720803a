/*
 * tuning.c: the best choice for each layer by measurement.
 *
 * Each candidate is applied to all layers of a session and timed launch by launch, in turns with the default,
 * so that one engine measures it for every layer and a disturbed machine disturbs both. What wins is put
 * together and has to beat the default as a whole. Not responsible for what a choice means (exec/encode_*.c)
 * nor for keeping it (plan_cache.c).
 */
#include <stdio.h>
#include <string.h>

#include "exec/plan_cache.h"
#include "exec/profile.h"
#include "platform/os/os.h"

enum { PROFILE_RUNS = 5, CANDIDATES_MOST = 32 };

#define BETTER 0.97 /* of the default's time: less is noise */

/* Layers of one signature in one engine: mean time of a layer. */
typedef struct timing {
    uint64_t signature, kind;
    uint32_t members, layers;
    mts_choice choice;
    double ms;
} timing;

typedef struct tuner {
    mts_planning *p;
    uint64_t deadline; /* nanoseconds of the clock */
    mts_engine *usual; /* default choices */
    mts_engine_launch *launches;
    timing *base, *other;
    uint32_t base_count, other_count, capacity;
    double *best; /* per base timing: smallest part of the default's time so far */
    mts_choice *choice;
} tuner;

static bool out_of_time(const tuner *t)
{
    return mts_os_clock_ns() >= t->deadline;
}

static mts_code report(const tuner *t, uint32_t at, uint32_t count)
{
    char what[48];
    const uint64_t budget = (uint64_t)t->p->options.tuning_ms * 1000000u;
    const uint64_t now = mts_os_clock_ns();
    const uint64_t left = now < t->deadline ? t->deadline - now : 0;
    const float by_time = budget > 0 ? 1.0f - (float)left / (float)budget : 1.0f;
    const float by_count = count > 0 ? (float)at / (float)count : 1.0f;
    (void)snprintf(what, sizeof what, "tuning, candidate %u of %u", at + 1, count);
    return mts_planning_report(t->p, 0.1f + 0.6f * (by_time > by_count ? by_time : by_count), what);
}

/* ---- engines ---- */

static mts_code make(const tuner *t, const mts_choices *choices, mts_engine **out)
{
    mts_planning *p = t->p;
    const mts_trial_request request = {.group_of = p->group_of,
                                       .slice_bytes = p->decision.slice_bytes,
                                       .choices = choices,
                                       .own_kernels = true};
    return mts_trial_make(p, &request, out);
}

static void add_time(timing *list, uint32_t *count, const mts_encoded_launch *launch, double ms,
                     bool same_layer)
{
    uint32_t i = 0;
    while (i < *count && list[i].signature != launch->signature) {
        i++;
    }
    if (i == *count) {
        list[(*count)++] = (timing){.signature = launch->signature,
                                    .kind = launch->kind,
                                    .members = launch->members,
                                    .choice = launch->choice};
    }
    list[i].ms += ms;
    list[i].layers += same_layer ? 0 : 1;
}

/* Times of the layers that have choices. A layer may be several launches, which follow one another. */
static mts_code profile(tuner *t, mts_engine *engine, timing *list, uint32_t *count)
{
    mts_code code = mts_engine_profile(engine, PROFILE_RUNS, t->launches, t->p->error);
    *count = 0;
    for (uint32_t i = 0; code == MTS_CODE_OK && i < engine->launch_count; i++) {
        const mts_encoded_launch *launch = &engine->launches[i];
        const bool same = i > 0 && engine->launches[i - 1].layer == launch->layer;
        if (launch->signature != 0) {
            add_time(list, count, launch, t->launches[i].duration_ms, same);
        }
    }
    for (uint32_t i = 0; i < *count; i++) {
        list[i].ms /= list[i].layers > 0 ? list[i].layers : 1;
    }
    return code;
}

/* Launches of any trial fit: a layer is a handful at most. */
static mts_code make_room(tuner *t)
{
    mts_planning *p = t->p;
    t->capacity = t->usual->launch_count * 4 + 64;
    t->launches = mts_arena_zero(&p->arena, t->capacity, sizeof *t->launches);
    t->base = mts_arena_zero(&p->arena, t->capacity, sizeof *t->base);
    t->other = mts_arena_zero(&p->arena, t->capacity, sizeof *t->other);
    t->best = mts_arena_zero(&p->arena, t->capacity, sizeof *t->best);
    t->choice = mts_arena_zero(&p->arena, t->capacity, sizeof *t->choice);
    return t->launches != NULL && t->base != NULL && t->other != NULL && t->best != NULL && t->choice != NULL
               ? MTS_CODE_OK
               : mts_planning_memory(p);
}

/* ---- candidates ---- */

mts_code mts_planning_failed(mts_planning *p, const mts_choice *choice)
{
    if (!mts_alloc_grow(p->allocator, (void **)&p->failed, &p->failed_capacity, p->failed_count + 1,
                        sizeof *p->failed)) {
        return mts_planning_memory(p);
    }
    p->failed[p->failed_count++] = *choice;
    return MTS_CODE_OK;
}

static bool has_failed(const mts_planning *p, const mts_choice *choice)
{
    for (size_t i = 0; i < p->failed_count; i++) {
        if (memcmp(&p->failed[i], choice, sizeof *choice) == 0) {
            return true;
        }
    }
    return false;
}

static void skip(tuner *t)
{
    t->p->findings.skipped++;
    if (t->p->options.cache != NULL) {
        t->p->options.cache->skipped++;
    }
}

/* Keeps the candidate for the layers that it is best for so far. */
static void compare(tuner *t, const mts_choice *candidate)
{
    for (uint32_t i = 0; i < t->base_count; i++) {
        for (uint32_t k = 0; k < t->other_count; k++) {
            if (t->other[k].signature != t->base[i].signature || t->base[i].ms <= 0.0) {
                continue;
            }
            const double part = t->other[k].ms / t->base[i].ms;
            if (part < BETTER && part < t->best[i]) {
                t->best[i] = part;
                t->choice[i] = *candidate;
            }
        }
    }
}

static mts_code try_candidate(tuner *t, const mts_choice *candidate)
{
    mts_planning *p = t->p;
    mts_engine *engine = NULL;
    const mts_choices forced = {.forced = candidate};
    mts_code code = make(t, &forced, &engine);
    if (code == MTS_CODE_OK && engine->launch_count > t->capacity) {
        code = mts_fail(p->error, MTS_CODE_LIMIT, "a candidate has too many launches");
    }
    code = code != MTS_CODE_OK ? code : profile(t, t->usual, t->base, &t->base_count);
    code = code != MTS_CODE_OK ? code : profile(t, engine, t->other, &t->other_count);
    if (code == MTS_CODE_OK) {
        compare(t, candidate);
        p->findings.candidates++;
    } else if (mts_trial_is_mishap(code)) {
        mts_log_write(p->device->log, MTS_LOG_LEVEL_WARNING,
                      "tuning: kernel %u with %u rows, %u vectors, groups of %u is skipped: %s",
                      candidate->kernel, candidate->rows, candidate->vectors, candidate->local,
                      p->error->text);
        skip(t);
        code = code == MTS_CODE_DEVICE ? mts_planning_failed(p, candidate) : MTS_CODE_OK;
    }
    if (engine != NULL) {
        mts_engine_destroy(&p->previous);
        p->previous = engine;
    }
    return code;
}

static mts_code try_all(tuner *t)
{
    mts_planning *p = t->p;
    mts_choice candidates[CANDIDATES_MOST];
    const uint32_t count = mts_choice_candidates(&p->device->info, candidates, CANDIDATES_MOST);
    mts_code code = MTS_CODE_OK;
    uint32_t tried = 0;
    for (; code == MTS_CODE_OK && tried < count && !out_of_time(t); tried++) {
        code = report(t, tried, count);
        if (code == MTS_CODE_OK && has_failed(p, &candidates[tried])) {
            skip(t);
        } else if (code == MTS_CODE_OK) {
            code = try_candidate(t, &candidates[tried]);
        }
    }
    p->findings.complete = tried == count;
    return code;
}

/* ---- the result ---- */

/* What won, as choices of the planning; those of a cut-short tuning too, so that the next goes on. */
static mts_code keep(tuner *t, mts_choices *choices)
{
    mts_code code = MTS_CODE_OK;
    for (uint32_t i = 0; code == MTS_CODE_OK && i < t->base_count; i++) {
        const mts_choice_entry entry = {.signature = t->base[i].signature,
                                        .kind = t->base[i].kind,
                                        .members = t->base[i].members,
                                        .choice = t->choice[i],
                                        .ms = t->base[i].ms * t->best[i],
                                        .default_ms = t->base[i].ms};
        code = mts_choices_add(choices, &entry, t->p->error);
    }
    return code;
}

/* All winners together against the default; where that is not faster, the default is what is kept. */
static mts_code judge(tuner *t)
{
    mts_planning *p = t->p;
    mts_engine *tuned = NULL;
    bool better = false;
    for (uint32_t i = 0; i < t->base_count; i++) {
        better = better || t->best[i] < 1.0;
    }
    mts_code code = keep(t, &p->choices);
    if (code == MTS_CODE_OK && better) {
        code = make(t, &p->choices, &tuned);
        code = code != MTS_CODE_OK
                   ? code
                   : mts_trial_race(p, t->usual, tuned, &p->findings.default_ms, &p->findings.tuned_ms);
    }
    const bool wins =
        code == MTS_CODE_OK && better && p->findings.tuned_ms < MTS_TRIAL_TIE * p->findings.default_ms;
    if (tuned != NULL) {
        mts_engine_destroy(&p->previous);
        p->previous = tuned;
    }
    if (mts_trial_is_mishap(code)) {
        code = MTS_CODE_OK;
        skip(t);
    }
    for (uint32_t i = 0; i < t->base_count && !wins; i++) {
        t->best[i] = 1.0;
        t->choice[i] = t->base[i].choice;
    }
    for (uint32_t i = 0; i < t->base_count; i++) {
        p->findings.layers_changed += t->best[i] < 1.0;
    }
    p->findings.layers_tuned += t->base_count;
    return code != MTS_CODE_OK || wins ? code : keep(t, &p->choices);
}

/* Whether every layer of the engine has a choice already, from a cache or an earlier round. */
static bool all_known(const tuner *t)
{
    for (uint32_t i = 0; i < t->usual->launch_count; i++) {
        const uint64_t signature = t->usual->launches[i].signature;
        if (signature != 0 && mts_choices_find(&t->p->choices, signature) == NULL) {
            return false;
        }
    }
    return true;
}

static mts_code tune(tuner *t)
{
    mts_code code = make(t, NULL, &t->usual);
    if (code != MTS_CODE_OK || all_known(t)) {
        return code;
    }
    code = make_room(t);
    code = code != MTS_CODE_OK ? code : profile(t, t->usual, t->base, &t->base_count);
    if (code == MTS_CODE_UNSUPPORTED) {
        return MTS_CODE_OK; /* nothing can be timed: the defaults it is */
    }
    for (uint32_t i = 0; i < t->base_count; i++) {
        t->best[i] = 1.0;
        t->choice[i] = t->base[i].choice;
    }
    code = code != MTS_CODE_OK ? code : try_all(t);
    return code != MTS_CODE_OK ? code : judge(t);
}

mts_code mts_planning_tune(mts_planning *p)
{
    tuner t = {.p = p, .deadline = p->start + (uint64_t)p->options.tuning_ms * 1000000u};
    if (p->options.tuning_ms == 0 || out_of_time(&t)) {
        return MTS_CODE_OK;
    }
    const size_t before = p->choices.count + p->failed_count;
    mts_code code = tune(&t);
    if (mts_trial_is_mishap(code) && code != MTS_CODE_OUT_OF_MEMORY) {
        code = MTS_CODE_OK; /* the session itself will say what is wrong */
    }
    if (t.usual != NULL) {
        mts_engine_destroy(&p->previous);
        p->previous = t.usual;
    }
    if (code == MTS_CODE_OK) {
        p->decision.choices = p->choices.count > 0 ? &p->choices : NULL;
        if (p->choices.count + p->failed_count > before) {
            mts_tuning_cache_store(p);
        }
    }
    return code;
}
