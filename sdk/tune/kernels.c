/*
 * kernels.c: the best choice for each layer by measurement.
 *
 * Each candidate is applied to all layers of a session and timed launch by launch, in turns with the default,
 * so that one engine measures it for every layer and a disturbed machine disturbs both. What wins is put
 * together and has to beat the default as a whole. What one session has no time for the next one goes on
 * with. Not responsible for what a choice means (exec/encode_*.c) nor for keeping it (plan_cache.c).
 */
#include <stdio.h>
#include <string.h>

#include "tune/plan_cache.h"
#include "engine/profile.h"
#include "platform/os/os.h"

enum { PROFILE_RUNS = 5, CANDIDATES_MOST = 32 };

#define BETTER 0.97 /* of the default's time: less is noise */

/* Layers of one signature in one engine: mean time of a layer. */
typedef struct timing {
    uint64_t signature, kind;
    uint32_t members, layers;
    mts_kernel_config choice;
    double ms;
} timing;

typedef struct tuner {
    mts_planning *p;
    uint64_t deadline; /* nanoseconds of the clock */
    uint64_t longest;  /* that a candidate took */
    float from;        /* of the progress bar */
    mts_kernel_config candidates[CANDIDATES_MOST];
    uint32_t candidate_count, first, tried; /* earlier sessions have run those before `first` */
    mts_engine *usual;                      /* default choices */
    mts_engine_launch *launches;
    timing *base, *other;
    uint32_t base_count, other_count, capacity;
    double *best; /* per base timing: smallest part of the default's time so far */
    mts_kernel_config *choice;
} tuner;

/* For one more candidate, and for running the winners together. The first always has time: a tuning gets on.
 */
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
    return mts_planning_report_progress(p, p->fraction, what);
}

/* ---- engines ---- */

static mts_status make(const tuner *t, const mts_kernel_configs *choices, mts_engine **out)
{
    mts_planning *p = t->p;
    const mts_sample_request request = {.group_of = p->group_of,
                                        .slice_bytes = p->decision.slice_bytes,
                                        .choices = choices,
                                        .own_kernels = true};
    return mts_sample_create(p, &request, out);
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
static mts_status profile(tuner *t, mts_engine *engine, timing *list, uint32_t *count)
{
    mts_engine_view view;
    mts_status code = mts_engine_profile(engine, PROFILE_RUNS, t->launches, t->p->error);
    mts_engine_view_get(engine, &view);
    *count = 0;
    for (uint32_t i = 0; code == MTS_STATUS_OK && i < view.launch_count; i++) {
        const mts_encoded_launch *launch = &view.launches[i];
        const bool same = i > 0 && view.launches[i - 1].layer == launch->layer;
        if (launch->signature != 0) {
            add_time(list, count, launch, t->launches[i].duration_ms, same);
        }
    }
    for (uint32_t i = 0; i < *count; i++) {
        list[i].ms /= list[i].layers > 0 ? list[i].layers : 1;
    }
    return code;
}

static uint32_t launch_count(const mts_engine *engine)
{
    mts_engine_stats stats;
    mts_engine_stats_get(engine, &stats);
    return stats.launches;
}

/* Launches of any sample fit: a layer is a handful at most. */
static mts_status make_room(tuner *t)
{
    mts_planning *p = t->p;
    t->capacity = launch_count(t->usual) * 4 + 64;
    t->launches = mts_arena_zero(&p->arena, t->capacity, sizeof *t->launches);
    t->base = mts_arena_zero(&p->arena, t->capacity, sizeof *t->base);
    t->other = mts_arena_zero(&p->arena, t->capacity, sizeof *t->other);
    t->best = mts_arena_zero(&p->arena, t->capacity, sizeof *t->best);
    t->choice = mts_arena_zero(&p->arena, t->capacity, sizeof *t->choice);
    return t->launches && t->base && t->other && t->best && t->choice ? MTS_STATUS_OK
                                                                      : mts_planning_memory(p);
}

/* ---- candidates ---- */

static void use_failed(mts_planning *p, size_t count)
{
    mts_kernel_configs *const tables[] = {&p->choices, &p->planned, &p->defaults};
    p->failed_count = count;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        tables[i]->failed = p->failed;
        tables[i]->failed_count = count;
    }
}

mts_status mts_planning_failed(mts_planning *p, const mts_kernel_config *choice)
{
    if (mts_kernel_configs_failed(&p->defaults, choice)) {
        return MTS_STATUS_OK;
    }
    if (!mts_alloc_grow(p->allocator, (void **)&p->failed, &p->failed_capacity, p->failed_count + 1,
                        sizeof *p->failed)) {
        return mts_planning_memory(p);
    }
    p->failed[p->failed_count] = *choice;
    use_failed(p, p->failed_count + 1);
    return MTS_STATUS_OK;
}

void mts_planning_forgive(mts_planning *p, size_t count)
{
    use_failed(p, count);
}

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
                t->choice[i] = *candidate;
            }
        }
    }
}

static mts_status try_candidate(tuner *t, const mts_kernel_config *candidate)
{
    mts_planning *p = t->p;
    mts_engine *engine = NULL;
    const mts_kernel_configs forced = {.forced = candidate};
    mts_status code = make(t, &forced, &engine);
    if (code == MTS_STATUS_OK && launch_count(engine) > t->capacity) {
        code = mts_fail(p->error, MTS_STATUS_LIMIT, "a candidate has too many launches");
    }
    MTS_TRY(code, profile(t, t->usual, t->base, &t->base_count));
    MTS_TRY(code, profile(t, engine, t->other, &t->other_count));
    if (code == MTS_STATUS_OK) {
        compare(t, candidate);
        p->report.candidates++;
    } else if (mts_sample_is_recoverable(code)) {
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
    return code;
}

/*
 * Counts as failed until it has run: where a kernel takes the device or the process with it, the next start
 * does not try it again. A program that is not to be had here has not failed.
 */
static mts_status try_marked(tuner *t, const mts_kernel_config *candidate)
{
    mts_planning *p = t->p;
    const size_t before = p->failed_count;
    const uint64_t start = mts_os_clock_ns();
    mts_status code = mts_planning_failed(p, candidate);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    mts_tuning_cache_store(p);
    code = try_candidate(t, candidate);
    if (code != MTS_STATUS_DEVICE && code != MTS_STATUS_DEVICE_LOST) {
        mts_planning_forgive(p, before);
    }
    const uint64_t passed = mts_os_clock_ns() - start;
    t->longest = passed > t->longest ? passed : t->longest;
    return mts_sample_is_recoverable(code) ? MTS_STATUS_OK : code;
}

static mts_status try_all(tuner *t)
{
    mts_planning *p = t->p;
    mts_status code = MTS_STATUS_OK;
    while (code == MTS_STATUS_OK && t->tried < t->candidate_count && has_time(t)) {
        const mts_kernel_config *candidate = &t->candidates[t->tried];
        code = report(t);
        if (code == MTS_STATUS_OK && mts_kernel_configs_failed(&p->defaults, candidate)) {
            skip(t);
        } else
            MTS_TRY(code, try_marked(t, candidate));
        t->tried += code == MTS_STATUS_OK ? 1 : 0;
    }
    p->report.complete = t->tried == t->candidate_count;
    return code;
}

/* ---- the result ---- */

static uint32_t tried_before(const tuner *t, uint64_t signature)
{
    const mts_kernel_config_entry *known = mts_kernel_configs_find(&t->p->choices, signature);
    return known ? known->tried : 0;
}

/* Each layer begins with what it is known to be best with. */
static void begin(tuner *t)
{
    for (uint32_t i = 0; i < t->base_count; i++) {
        const mts_kernel_config_entry *known = mts_kernel_configs_find(&t->p->choices, t->base[i].signature);
        const bool faster = known && known->ms > 0.0 && known->ms < known->default_ms;
        t->best[i] = faster ? known->ms / known->default_ms : 1.0;
        t->choice[i] = faster ? known->choice : t->base[i].choice;
    }
}

/* The best so far, after `tried` candidates. */
static mts_status keep(tuner *t, uint32_t tried)
{
    mts_status code = MTS_STATUS_OK;
    for (uint32_t i = 0; code == MTS_STATUS_OK && i < t->base_count; i++) {
        const uint32_t before = tried_before(t, t->base[i].signature);
        const mts_kernel_config_entry entry = {.signature = t->base[i].signature,
                                               .kind = t->base[i].kind,
                                               .members = t->base[i].members,
                                               .tried = tried > before ? tried : before,
                                               .choice = t->choice[i],
                                               .ms = t->base[i].ms * t->best[i],
                                               .default_ms = t->base[i].ms};
        code = mts_kernel_configs_add(&t->p->choices, &entry, t->p->error);
    }
    return code;
}

static mts_status race_winners(tuner *t, bool *won)
{
    mts_planning *p = t->p;
    mts_engine *tuned = NULL;
    mts_status code = make(t, &p->choices, &tuned);
    code = code != MTS_STATUS_OK
               ? code
               : mts_sample_compare(p, t->usual, tuned, &p->report.default_ms, &p->report.tuned_ms);
    *won = code == MTS_STATUS_OK && p->report.tuned_ms < MTS_SAMPLE_TIE * p->report.default_ms;
    if (tuned) {
        mts_engine_destroy(&p->previous);
        p->previous = tuned;
    }
    if (mts_sample_is_recoverable(code)) {
        code = MTS_STATUS_OK;
        skip(t);
    }
    return code;
}

/*
 * All winners together against the default. Where that is not faster the default is what is kept, except for
 * layers that an earlier tuning has finished. Until then nothing is: the next session goes on.
 */
static mts_status judge(tuner *t)
{
    mts_planning_report *f = &t->p->report;
    uint32_t better = 0;
    for (uint32_t i = 0; i < t->base_count; i++) {
        better += t->best[i] < 1.0 ? 1 : 0;
    }
    bool won = false;
    mts_status code = keep(t, t->tried - 1);
    if (code == MTS_STATUS_OK && better > 0) {
        code = race_winners(t, &won);
    }
    if (code != MTS_STATUS_OK && code != MTS_STATUS_DEVICE_LOST) {
        return code;
    }
    for (uint32_t i = 0; i < t->base_count && !won; i++) {
        if (tried_before(t, t->base[i].signature) < t->candidate_count) {
            t->best[i] = 1.0;
            t->choice[i] = t->base[i].choice;
        }
    }
    f->layers_changed += won ? better : 0;
    f->layers_tuned += t->base_count;
    const mts_status kept = keep(t, t->tried);
    return code != MTS_STATUS_OK ? code : kept;
}

/* Where earlier sessions stopped: candidates that all layers of the engine have been tried with. */
static uint32_t first_untried(const tuner *t)
{
    mts_engine_view view;
    uint32_t first = t->candidate_count;
    mts_engine_view_get(t->usual, &view);
    for (uint32_t i = 0; i < view.launch_count; i++) {
        const uint64_t signature = view.launches[i].signature;
        const uint32_t tried = signature != 0 ? tried_before(t, signature) : first;
        first = tried < first ? tried : first;
    }
    return first;
}

static mts_status tune(tuner *t)
{
    mts_planning *p = t->p;
    mts_device_info info = p->device->info;
    info.gemm = info.gemm && p->options.precision == MTS_PRECISION_FLOAT32; /* libraries' products are */
    t->candidate_count = mts_kernel_config_candidates(&info, t->candidates, CANDIDATES_MOST);
    mts_status code = make(t, NULL, &t->usual);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    t->first = t->tried = first_untried(t);
    p->report.complete = t->first == t->candidate_count;
    if (p->report.complete) {
        return MTS_STATUS_OK;
    }
    code = make_room(t);
    MTS_TRY(code, profile(t, t->usual, t->base, &t->base_count));
    if (code == MTS_STATUS_UNSUPPORTED) {
        p->report.complete = 1; /* nothing can be timed: the defaults it is */
        return MTS_STATUS_OK;
    }
    if (code != MTS_STATUS_OK) {
        return code;
    }
    begin(t);
    code = try_all(t);
    if (code == MTS_STATUS_OK) {
        return judge(t);
    }
    if (t->tried > 0) {
        (void)keep(t, t->tried);
    }
    return code;
}

mts_status mts_planning_tune(mts_planning *p)
{
    const uint64_t start = mts_os_clock_ns();
    const uint64_t limit = (uint64_t)p->how.tuning_ms * 1000000u;
    tuner t = {.p = p, .from = p->fraction, .deadline = start + limit - p->tuned_ns};
    p->report.complete = 0;
    if (p->tuned_ns >= limit) {
        return MTS_STATUS_OK;
    }
    mts_status code = tune(&t);
    if (t.base_count > 0) {
        mts_tuning_cache_store(p);
    }
    if (mts_sample_is_recoverable(code)) {
        code = MTS_STATUS_OK; /* the session itself will say what is wrong */
    }
    if (t.usual) {
        mts_engine_destroy(&p->previous);
        p->previous = t.usual;
    }
    if (code == MTS_STATUS_OK) {
        p->decision.choices = p->choices.count > 0 ? &p->choices : NULL;
    }
    p->tuned_ns += mts_os_clock_ns() - start;
    return code;
}
