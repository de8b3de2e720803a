/*
 * fusing.c: see fusing.h.
 *
 * Engines are timed launch by launch, in turns: one that fuses what it can, one that
 * fuses only pairs, and one that fuses nothing. What is faster of each block is compared
 * as a whole with nothing fused before it is kept: launches of two threads that are timed
 * one by one do not show what overlaps.
 */
#include "tune/fusing.h"

#include "engine/profile.h"
#include "lower/implementations.h"
#include "platform/os/os.h"
#include "tune/plan_cache.h"
#include "tune/sample.h"

/* Forms: inverted residuals where there are any, and only pairs. */
enum { ROUNDS = 3, PROFILE_RUNS = 5, FORMS = 2 };

/* Of the time for tuning blocks have a part; kernels have the rest. */
enum { SHARE = 4 };

/* Of the time apart; a smaller difference is noise. */
#define BETTER 0.97

/* Blocks of one signature: the least time of any. */
typedef struct block {
    mts_kernel_config_entry entry;
    double fused, apart;
} block;

typedef struct fuser {
    mts_planning *p;
    uint64_t deadline; /* nanoseconds of the clock */
    mts_engine *fused[FORMS], *apart;
    mts_launch_profile *times;
    double *layers; /* of the engine apart, per layer */
    block *blocks;
    uint32_t block_count, layer_count;
} fuser;

static mts_status make_forced(mts_planning *p, mts_kernel_config config, mts_engine **out)
{
    const mts_kernel_configs forced = {.forced = &config};
    return mts_sample_create_in_order(p, &forced, out);
}

static block *find_block(fuser *f, const mts_encoded_launch *launch)
{
    for (uint32_t i = 0; i < f->block_count; i++) {
        if (f->blocks[i].entry.signature == launch->signature) {
            return &f->blocks[i];
        }
    }
    block *b = &f->blocks[f->block_count++];
    *b = (block){.entry = {.signature = launch->signature,
                           .kind = launch->layer_kind,
                           .members = launch->members,
                           .tried = UINT32_MAX}};
    return b;
}

/* Makes room for the blocks of the session. */
static mts_status make_space(fuser *f)
{
    mts_planning *p = f->p;
    mts_engine_view view;
    mts_engine_view_get(f->apart, &view);
    size_t most = view.launch_count;
    for (uint32_t i = 0; i < view.launch_count; i++) {
        const uint32_t layer = view.launches[i].layer;
        f->layer_count = layer != MTS_NONE && layer >= f->layer_count ? layer + 1 : f->layer_count;
    }
    for (int form = 0; form < FORMS; form++) {
        most += mts_sample_launches(f->fused[form]);
    }
    f->times = mts_arena_zero(&p->arena, most, sizeof *f->times);
    f->layers = mts_arena_zero(&p->arena, f->layer_count, sizeof *f->layers);
    f->blocks = mts_arena_zero(&p->arena, most, sizeof *f->blocks);
    return f->times && f->layers && f->blocks ? MTS_STATUS_OK : mts_planning_memory(p);
}

static double layer_time(const fuser *f, uint32_t layer)
{
    return layer < f->layer_count ? f->layers[layer] : 0.0;
}

static double smaller(double old, double fresh)
{
    return old == 0.0 || fresh < old ? fresh : old;
}

/* One turn of an engine that fuses, when the layers apart were timed: the least time of a
   block with each signature. */
static mts_status time_form(fuser *f, mts_engine *engine)
{
    mts_engine_view view;
    mts_status status = mts_engine_profile(engine, PROFILE_RUNS, f->times, f->p->error);
    mts_engine_view_get(engine, &view);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < view.launch_count; i++) {
        const mts_fused_layers *layers = &view.launches[i].fused;
        if (layers->project != MTS_NONE) {
            block *b = find_block(f, &view.launches[i]);
            b->fused = smaller(b->fused, f->times[i].duration_ms);
            b->apart = smaller(b->apart, layer_time(f, layers->expand) + layer_time(f, layers->depthwise) +
                                             layer_time(f, layers->project));
        }
    }
    return status;
}

/* One turn of all engines. */
static mts_status time_blocks(fuser *f)
{
    mts_engine_view view;
    mts_status status = mts_engine_profile(f->apart, PROFILE_RUNS, f->times, f->p->error);
    mts_engine_view_get(f->apart, &view);
    for (uint32_t i = 0; i < f->layer_count; i++) {
        f->layers[i] = 0.0;
    }
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < view.launch_count; i++) {
        if (view.launches[i].layer != MTS_NONE) {
            f->layers[view.launches[i].layer] += f->times[i].duration_ms;
        }
    }
    for (int form = 0; form < FORMS; form++) {
        MTS_TRY(status, time_form(f, f->fused[form]));
    }
    return status;
}

/* Adds the blocks to configurations; fuses: the faster of each, else all are apart. any:
 * one is fused. */
static mts_status keep(const fuser *f, mts_kernel_configs *configs, bool fuses, bool *any)
{
    mts_status status = MTS_STATUS_OK;
    *any = false;
    for (uint32_t b = 0; status == MTS_STATUS_OK && b < f->block_count; b++) {
        block *from = &f->blocks[b];
        const bool fused = fuses && from->fused > 0.0 && from->fused < BETTER * from->apart;
        from->entry.config = fused ? (mts_kernel_config){.kernel = MTS_KERNEL_CONFIG_FUSED}
                                   : mts_kernel_config_tiles(&f->p->device->info);
        from->entry.ms = fused ? from->fused : from->apart;
        from->entry.default_ms = fused ? from->apart : from->fused;
        *any = *any || fused;
        status = mts_kernel_configs_add(configs, &from->entry, f->p->error);
    }
    return status;
}

/* An engine with the blocks beside all that is known; any: one is fused. */
static mts_status make_with(const fuser *f, bool fuses, bool *any, mts_engine **out)
{
    mts_planning *p = f->p;
    mts_kernel_configs trial;
    mts_status status = MTS_STATUS_OK;
    mts_kernel_configs_init(&trial, p->allocator);
    trial.failed = p->measured.failed;
    trial.failed_count = p->measured.failed_count;
    for (size_t i = 0; status == MTS_STATUS_OK && i < p->measured.count; i++) {
        status = mts_kernel_configs_add(&trial, &p->measured.entries[i], p->error);
    }
    MTS_TRY(status, keep(f, &trial, fuses, any));
    if (status == MTS_STATUS_OK && (*any || !fuses)) {
        status = mts_sample_create_in_order(p, &trial, out);
    }
    mts_kernel_configs_release(&trial);
    return status;
}

/* The blocks that are faster one by one have to be faster as a whole. What came out is
   known when the comparison is complete, not before. */
static mts_status compare_whole(fuser *f)
{
    mts_planning *p = f->p;
    mts_engine *chosen = NULL;
    mts_engine *without = NULL;
    double chosen_ms = 0.0;
    double without_ms = 0.0;
    bool any = false;
    mts_status status = make_with(f, true, &any, &chosen);
    if (status == MTS_STATUS_OK && any) {
        bool none = false;
        status = make_with(f, false, &none, &without);
        MTS_TRY(status, mts_sample_compare(p, without, chosen, &without_ms, &chosen_ms));
    }
    mts_engine_destroy(&chosen);
    mts_engine_destroy(&without);
    MTS_TRY(status, keep(f, &p->measured, any && chosen_ms <= without_ms, &any));
    return status;
}

/* ---- all of it ---- */

static bool has_time(const fuser *f)
{
    return mts_os_clock_ns() < f->deadline;
}

/* Whether a block of the session was not measured before, by a dry run. */
static mts_status count_unmeasured(mts_planning *p, uint32_t *count)
{
    mts_session_stats stats;
    mts_kernel_configs known = p->measured;
    known.unmeasured = count;
    *count = 0;
    const mts_sample_request request = {
        .group_of = p->group_of, .slice_bytes = p->decision.slice_bytes, .configs = &known, .in_order = true};
    return mts_sample_footprint(p, &request, &stats);
}

static void release_engines(fuser *f)
{
    for (int form = 0; form < FORMS; form++) {
        mts_engine_destroy(&f->fused[form]);
    }
    mts_engine_destroy(&f->apart);
}

/* Times the blocks; *timed: each engine had a turn at least. */
static mts_status time_all(fuser *f, bool *timed)
{
    mts_status status = MTS_STATUS_OK;
    bool left = has_time(f);
    for (uint32_t form = 0; left && status == MTS_STATUS_OK && form < FORMS; form++) {
        const mts_kernel_config fused = {.kernel = MTS_KERNEL_CONFIG_FUSED, .parts = 3 - form};
        status = make_forced(f->p, fused, &f->fused[form]);
        left = has_time(f);
    }
    if (left) {
        MTS_TRY(status, make_space(f));
    }
    for (int round = 0; left && round < ROUNDS && status == MTS_STATUS_OK; round++) {
        status = time_blocks(f);
        *timed = status == MTS_STATUS_OK;
        left = has_time(f);
    }
    return status;
}

/*
 * The tuning file says that blocks failed until they have run: where a kernel crashes the
 * device or the process, the next start does not try it again. The file alone says so, as
 * the engines that are tried here would follow it.
 */
static mts_status try_stored(fuser *f)
{
    const mts_kernel_config any = {.kernel = MTS_KERNEL_CONFIG_FUSED};
    mts_planning *p = f->p;
    const size_t before = p->failed_count;
    bool timed = false;
    mts_status status = mts_planning_add_failed(p, &any);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_tuning_cache_store(p);
    mts_planning_keep_failed(p, before);
    status = time_all(f, &timed);
    release_engines(f);
    if (status == MTS_STATUS_OK && timed && has_time(f)) {
        status = compare_whole(f);
    } else {
        p->blocks_left = status == MTS_STATUS_OK;
    }
    if (status == MTS_STATUS_DEVICE || status == MTS_STATUS_DEVICE_LOST) {
        (void)mts_planning_add_failed(p, &any); /* which had memory before */
    }
    mts_tuning_cache_store(p);
    return status;
}

static mts_status tune(fuser *f)
{
    mts_planning *p = f->p;
    uint32_t unmeasured = 0;
    mts_status status = count_unmeasured(p, &unmeasured);
    if (status != MTS_STATUS_OK || unmeasured == 0) {
        return status;
    }
    status = mts_planning_progress(p, p->fraction, "tuning, fused blocks");
    MTS_TRY(status, make_forced(p, mts_kernel_config_tiles(&p->device->info), &f->apart));
    MTS_TRY(status, try_stored(f));
    release_engines(f);
    return status;
}

mts_status mts_fusing_tune(mts_planning *p)
{
    const mts_kernel_config any = {.kernel = MTS_KERNEL_CONFIG_FUSED};
    const uint64_t start = mts_os_clock_ns();
    const uint64_t limit = (uint64_t)p->how.tuning_ms * 1000000u;
    fuser f = {.p = p, .deadline = start + limit / SHARE};
    p->blocks_left = false;
    if (p->tuned_ns >= limit || p->options.strategy != MTS_STRATEGY_COMPACT ||
        mts_kernel_configs_failed(&p->defaults, &any)) {
        return MTS_STATUS_OK;
    }
    mts_status status = tune(&f);
    if (mts_sample_is_recoverable(status)) {
        status = MTS_STATUS_OK; /* all stay as predicted, or apart where the kernel failed */
    }
    if (status == MTS_STATUS_OK && p->measured.count > 0) {
        p->decision.configs = &p->measured;
    }
    const uint64_t passed = mts_os_clock_ns() - start;
    p->tuned_ns += passed < limit / 2 ? passed : limit / 2; /* so that kernels have some as well */
    return status;
}
