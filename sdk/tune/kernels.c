/*
 * kernels.c: the best kernel configuration of each layer by measurement.
 *
 * Each candidate is applied to all layers of a session and timed launch by launch, in
 * turns with the default: one engine measures it for every layer, and a disturbed machine
 * disturbs both. The best configurations together have to be faster than the defaults as
 * a whole. A tuning that runs out of time goes on in the next session. Not responsible
 * for what a configuration means (sdk/lower) nor for storing it (plan_cache.c).
 */
#include "tune/kernels.h"

#include <stdio.h>
#include <string.h>

#include "engine/profile.h"
#include "lower/implementations.h"
#include "platform/os/os.h"
#include "tune/plan_cache.h"
#include "tune/sample.h"

enum { PROFILE_RUNS = 5, CANDIDATES_MOST = 32 };

/* Of the default's time; a smaller difference is noise. */
#define BETTER 0.97

/* Layers of one signature in one engine: mean time of a layer. */
typedef struct timing {
    uint64_t signature, kind;
    uint32_t members, layers;
    mts_kernel_config config;
    double ms;
} timing;

typedef struct tuner {
    mts_planning *p;
    uint64_t deadline; /* nanoseconds of the clock */
    uint64_t longest;  /* that a candidate took */
    float from;        /* of the progress bar */
    mts_kernel_config candidates[CANDIDATES_MOST];
    uint32_t candidate_count, first, tried; /* earlier sessions ran those before `first` */
    mts_engine *usual;                      /* with default configurations */
    mts_launch_profile *launches;
    timing *base, *other;
    uint32_t base_count, other_count, capacity;
    double *best; /* per base timing: smallest part of the default's time so far */
    mts_kernel_config *config;
} tuner;

/* Time for one more candidate and for the final comparison. The first candidate always
 * has it, so that every tuning gets on. */
static bool has_time(const tuner *t)
{
    return t->tried == t->first || mts_os_clock_ns() + 2 * t->longest < t->deadline;
}

static mts_status report(const tuner *t)
{
    char what[48];
    mts_planning *p = t->p;
    const float share = p->how.grouping == MTS_GROUPING_MEASURED ? 0.1f : 0.7f;
    const float part = (float)(t->tried - t->first) / (float)(t->candidate_count - t->first);
    (void)snprintf(what, sizeof what, "tuning, candidate %u of %u", t->tried + 1, t->candidate_count);
    p->fraction = t->from + share * part;
    return mts_planning_progress(p, p->fraction, what);
}

/* ---- engines ---- */

static void add_time(timing *list, uint32_t *count, const mts_encoded_launch *launch, double ms,
                     bool same_layer)
{
    uint32_t i = 0;
    while (i < *count && list[i].signature != launch->signature) {
        i++;
    }
    if (i == *count) {
        list[(*count)++] = (timing){.signature = launch->signature,
                                    .kind = launch->layer_kind,
                                    .members = launch->members,
                                    .config = launch->config};
    }
    list[i].ms += ms;
    list[i].layers += same_layer ? 0 : 1;
}

/* Whether candidates are for the launch: a fused block follows what fusing.c measured. */
static bool is_tuned(const mts_encoded_launch *launch)
{
    return launch->signature != 0 && launch->fused.project == MTS_NONE;
}

/* Times of the layers that have configurations. A layer may be several launches, which
   follow one another. */
static mts_status profile(tuner *t, mts_engine *engine, timing *list, uint32_t *count)
{
    mts_engine_view view;
    mts_status status = mts_engine_profile(engine, PROFILE_RUNS, t->launches, t->p->error);
    mts_engine_view_get(engine, &view);
    *count = 0;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < view.launch_count; i++) {
        const mts_encoded_launch *launch = &view.launches[i];
        const bool same = i > 0 && view.launches[i - 1].layer == launch->layer;
        if (is_tuned(launch)) {
            add_time(list, count, launch, t->launches[i].duration_ms, same);
        }
    }
    for (uint32_t i = 0; i < *count; i++) {
        list[i].ms /= list[i].layers > 0 ? list[i].layers : 1;
    }
    return status;
}

/* Space for the launches of any candidate: a layer has a handful at most. */
static mts_status make_space(tuner *t)
{
    mts_planning *p = t->p;
    t->capacity = mts_sample_launches(t->usual) * 4 + 64;
    t->launches = mts_arena_zero(&p->arena, t->capacity, sizeof *t->launches);
    t->base = mts_arena_zero(&p->arena, t->capacity, sizeof *t->base);
    t->other = mts_arena_zero(&p->arena, t->capacity, sizeof *t->other);
    t->best = mts_arena_zero(&p->arena, t->capacity, sizeof *t->best);
    t->config = mts_arena_zero(&p->arena, t->capacity, sizeof *t->config);
    return t->launches && t->base && t->other && t->best && t->config ? MTS_STATUS_OK
                                                                      : mts_planning_memory(p);
}

/* ---- candidates ---- */

static void skip(tuner *t)
{
    t->p->report.skipped++;
    if (t->p->how.cache) {
        t->p->how.cache->skipped++;
    }
}

/* Keeps the candidate for the layers that it is best for so far. */
static void compare(tuner *t, const mts_kernel_config *candidate)
{
    for (uint32_t i = 0; i < t->base_count; i++) {
        for (uint32_t k = 0; k < t->other_count; k++) {
            if (t->other[k].signature != t->base[i].signature || t->base[i].ms <= 0.0) {
                continue;
            }
            const double part = t->other[k].ms / t->base[i].ms;
            if (part < BETTER && part < t->best[i]) {
                t->best[i] = part;
                t->config[i] = *candidate;
            }
        }
    }
}

static mts_status try_candidate(tuner *t, const mts_kernel_config *candidate)
{
    mts_planning *p = t->p;
    mts_engine *engine = NULL;
    const mts_kernel_configs forced = {.forced = candidate};
    mts_status status = mts_sample_create_in_order(t->p, &forced, &engine);
    if (status == MTS_STATUS_OK && mts_sample_launches(engine) > t->capacity) {
        status = mts_fail(p->error, MTS_STATUS_LIMIT, "a candidate has too many launches");
    }
    MTS_TRY(status, profile(t, t->usual, t->base, &t->base_count));
    MTS_TRY(status, profile(t, engine, t->other, &t->other_count));
    if (status == MTS_STATUS_OK) {
        compare(t, candidate);
        p->report.candidates++;
    } else if (mts_sample_is_recoverable(status)) {
        mts_log_write(p->device->log, MTS_LOG_WARNING,
                      "tuning: kernel %u with %u rows, %u vectors, groups of %u is skipped: %s",
                      candidate->kernel, candidate->rows, candidate->vectors, candidate->local,
                      p->error->text);
        skip(t);
    }
    if (engine) {
        mts_engine_destroy(&p->previous);
        p->previous = engine;
    }
    return status;
}

/*
 * A candidate is stored as failed until it has run: where a kernel crashes the device or
 * the process, the next start does not try it again. A program that does not exist for
 * this device (NOT_FOUND) has not failed.
 */
static mts_status try_stored(tuner *t, const mts_kernel_config *candidate)
{
    mts_planning *p = t->p;
    const size_t before = p->failed_count;
    const uint64_t start = mts_os_clock_ns();
    mts_status status = mts_planning_add_failed(p, candidate);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_tuning_cache_store(p);
    status = try_candidate(t, candidate);
    if (status != MTS_STATUS_DEVICE && status != MTS_STATUS_DEVICE_LOST) {
        mts_planning_keep_failed(p, before);
    }
    const uint64_t passed = mts_os_clock_ns() - start;
    t->longest = passed > t->longest ? passed : t->longest;
    return mts_sample_is_recoverable(status) ? MTS_STATUS_OK : status;
}

static mts_status try_all(tuner *t)
{
    mts_planning *p = t->p;
    mts_status status = MTS_STATUS_OK;
    while (status == MTS_STATUS_OK && t->tried < t->candidate_count && has_time(t)) {
        const mts_kernel_config *candidate = &t->candidates[t->tried];
        status = report(t);
        if (status == MTS_STATUS_OK && mts_kernel_configs_failed(&p->defaults, candidate)) {
            skip(t);
        } else {
            MTS_TRY(status, try_stored(t, candidate));
        }
        t->tried += status == MTS_STATUS_OK ? 1 : 0;
    }
    p->report.complete = t->tried == t->candidate_count;
    return status;
}

/* ---- the result ---- */

static uint32_t tried_before(const tuner *t, uint64_t signature)
{
    const mts_kernel_config_entry *known = mts_kernel_configs_find(&t->p->measured, signature);
    return known ? known->tried : 0;
}

/* Each layer begins with the best configuration that is known for it. */
static void use_known(tuner *t)
{
    for (uint32_t i = 0; i < t->base_count; i++) {
        const mts_kernel_config_entry *known = mts_kernel_configs_find(&t->p->measured, t->base[i].signature);
        const bool faster = known && known->ms > 0.0 && known->ms < known->default_ms;
        t->best[i] = faster ? known->ms / known->default_ms : 1.0;
        t->config[i] = faster ? known->config : t->base[i].config;
    }
}

/* Adds the best so far, after `tried` candidates, to the measured configurations. */
static mts_status keep(tuner *t, uint32_t tried)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < t->base_count; i++) {
        const uint32_t before = tried_before(t, t->base[i].signature);
        const mts_kernel_config_entry entry = {.signature = t->base[i].signature,
                                               .kind = t->base[i].kind,
                                               .members = t->base[i].members,
                                               .tried = tried > before ? tried : before,
                                               .config = t->config[i],
                                               .ms = t->base[i].ms * t->best[i],
                                               .default_ms = t->base[i].ms};
        status = mts_kernel_configs_add(&t->p->measured, &entry, t->p->error);
    }
    return status;
}

static mts_status compare_tuned(tuner *t, bool *faster)
{
    mts_planning *p = t->p;
    mts_engine *tuned = NULL;
    mts_status status = mts_sample_create_in_order(t->p, &p->measured, &tuned);
    MTS_TRY(status, mts_sample_compare(p, t->usual, tuned, &p->report.default_ms, &p->report.tuned_ms));
    *faster = status == MTS_STATUS_OK && p->report.tuned_ms < MTS_SAMPLE_TIE * p->report.default_ms;
    if (tuned) {
        mts_engine_destroy(&p->previous);
        p->previous = tuned;
    }
    if (mts_sample_is_recoverable(status)) {
        status = MTS_STATUS_OK;
        skip(t);
    }
    return status;
}

/*
 * Runs the best configurations together against the defaults. Where they are not faster,
 * the defaults are stored, except for layers that an earlier tuning finished. The last
 * candidate counts as tried only after the comparison, so that the next session repeats
 * one that was interrupted.
 */
static mts_status final_comparison(tuner *t)
{
    mts_planning_report *f = &t->p->report;
    uint32_t better = 0;
    for (uint32_t i = 0; i < t->base_count; i++) {
        better += t->best[i] < 1.0 ? 1 : 0;
    }
    bool faster = false;
    mts_status status = keep(t, t->tried - 1);
    if (status == MTS_STATUS_OK && better > 0) {
        status = compare_tuned(t, &faster);
    }
    if (status != MTS_STATUS_OK && status != MTS_STATUS_DEVICE_LOST) {
        return status;
    }
    for (uint32_t i = 0; i < t->base_count && !faster; i++) {
        if (tried_before(t, t->base[i].signature) < t->candidate_count) {
            t->best[i] = 1.0;
            t->config[i] = t->base[i].config;
        }
    }
    f->layers_changed += faster ? better : 0;
    f->layers_tuned += t->base_count;
    const mts_status kept = keep(t, t->tried);
    return status != MTS_STATUS_OK ? status : kept;
}

/* The candidates that every layer of the engine was tried with in earlier sessions. */
static uint32_t first_untried(const tuner *t)
{
    mts_engine_view view;
    uint32_t first = t->candidate_count;
    mts_engine_view_get(t->usual, &view);
    for (uint32_t i = 0; i < view.launch_count; i++) {
        const mts_encoded_launch *launch = &view.launches[i];
        const uint32_t tried = is_tuned(launch) ? tried_before(t, launch->signature) : first;
        first = tried < first ? tried : first;
    }
    return first;
}

static mts_status tune(tuner *t)
{
    mts_planning *p = t->p;
    mts_device_info info = p->device->info;
    info.gemm = info.gemm && p->options.precision == MTS_PRECISION_FLOAT32; /* that of libraries is float32 */
    t->candidate_count = mts_kernel_config_candidates(&info, t->candidates, CANDIDATES_MOST);
    mts_status status = mts_sample_create_in_order(t->p, NULL, &t->usual);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    t->first = t->tried = first_untried(t);
    p->report.complete = t->first == t->candidate_count;
    if (p->report.complete) {
        return MTS_STATUS_OK;
    }
    status = make_space(t);
    MTS_TRY(status, profile(t, t->usual, t->base, &t->base_count));
    if (status == MTS_STATUS_UNSUPPORTED) {
        p->report.complete = 1; /* no clock for launches: the defaults stay */
        return MTS_STATUS_OK;
    }
    if (status != MTS_STATUS_OK) {
        return status;
    }
    use_known(t);
    status = try_all(t);
    if (status == MTS_STATUS_OK) {
        return final_comparison(t);
    }
    if (t->tried > 0) {
        (void)keep(t, t->tried);
    }
    return status;
}

mts_status mts_kernels_tune(mts_planning *p)
{
    const uint64_t start = mts_os_clock_ns();
    const uint64_t limit = (uint64_t)p->how.tuning_ms * 1000000u;
    tuner t = {.p = p, .from = p->fraction, .deadline = start + limit - p->tuned_ns};
    p->report.complete = 0;
    if (p->tuned_ns >= limit) {
        return MTS_STATUS_OK;
    }
    mts_status status = tune(&t);
    if (t.base_count > 0) {
        mts_tuning_cache_store(p);
    }
    if (mts_sample_is_recoverable(status)) {
        status = MTS_STATUS_OK; /* creating the session will fail with the cause */
    }
    if (t.usual) {
        mts_engine_destroy(&p->previous);
        p->previous = t.usual;
    }
    if (status == MTS_STATUS_OK) {
        p->decision.configs = p->measured.count > 0 ? &p->measured : NULL;
    }
    p->tuned_ns += mts_os_clock_ns() - start;
    return status;
}
