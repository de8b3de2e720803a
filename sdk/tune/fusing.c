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

/* Of the time apart; a smaller difference is noise. */
#define BETTER 0.97

/* Blocks of one signature: the least time of any. */
typedef struct block {
    mts_kernel_config_entry entry;
    double fused, apart;
} block;

typedef struct fuser {
    mts_planning *p;
    mts_engine *fused[FORMS], *apart;
    mts_launch_profile *times;
    double *layers; /* of the engine apart, per layer */
    block *blocks;
    uint32_t block_count, layer_count;
} fuser;

static mts_status make(mts_planning *p, const mts_kernel_configs *configs, mts_engine **out)
{
    const mts_sample_request request = {.group_of = p->group_of,
                                        .slice_bytes = p->decision.slice_bytes,
                                        .configs = configs,
                                        .own_kernels = true,
                                        .in_order = true};
    return mts_sample_create(p, &request, out);
}

static mts_status make_forced(mts_planning *p, mts_kernel_config config, mts_engine **out)
{
    const mts_kernel_configs forced = {.forced = &config};
    return make(p, &forced, out);
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

static uint32_t launch_count(const mts_engine *engine)
{
    mts_engine_view view;
    mts_engine_view_get(engine, &view);
    return view.launch_count;
}

/* The blocks of the session; *fresh: one of them was not measured before. */
static mts_status find_blocks(fuser *f, bool *fresh)
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
        most += launch_count(f->fused[form]);
    }
    f->times = mts_arena_zero(&p->arena, most, sizeof *f->times);
    f->layers = mts_arena_zero(&p->arena, f->layer_count, sizeof *f->layers);
    f->blocks = mts_arena_zero(&p->arena, most, sizeof *f->blocks);
    if (!f->times || !f->layers || !f->blocks) {
        return mts_planning_memory(p);
    }
    *fresh = false;
    for (int form = 0; form < FORMS; form++) {
        mts_engine_view_get(f->fused[form], &view);
        for (uint32_t i = 0; i < view.launch_count; i++) {
            if (view.launches[i].fused.project != MTS_NONE) {
                (void)find_block(f, &view.launches[i]);
                *fresh = *fresh || !mts_kernel_configs_find(&p->measured, view.launches[i].signature);
            }
        }
    }
    return MTS_STATUS_OK;
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

/* Adds the blocks to the measured configurations; fuses: the faster of each, else all are
 * apart. any: one is fused. */
static mts_status keep(fuser *f, bool fuses, bool *any)
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
        status = mts_kernel_configs_add(&f->p->measured, &from->entry, f->p->error);
    }
    return status;
}

/* The blocks that are faster one by one have to be faster as a whole. */
static mts_status compare_whole(fuser *f)
{
    mts_planning *p = f->p;
    mts_engine *chosen = NULL;
    mts_engine *without = NULL;
    double chosen_ms = 0.0;
    double without_ms = 0.0;
    bool any = false;
    mts_status status = keep(f, false, &any);
    MTS_TRY(status, make(p, &p->measured, &without));
    MTS_TRY(status, keep(f, true, &any));
    if (status == MTS_STATUS_OK && any) {
        status = make(p, &p->measured, &chosen);
        MTS_TRY(status, mts_sample_compare(p, without, chosen, &without_ms, &chosen_ms));
        if (status != MTS_STATUS_OK || chosen_ms > without_ms) {
            const mts_status kept = keep(f, false, &any);
            status = status == MTS_STATUS_OK ? kept : status;
        }
    }
    mts_engine_destroy(&chosen);
    mts_engine_destroy(&without);
    return status;
}

static mts_status tune(fuser *f)
{
    mts_planning *p = f->p;
    bool fresh = false;
    mts_status status = mts_planning_progress(p, p->fraction, "tuning, fused blocks");
    for (uint32_t form = 0; form < FORMS; form++) {
        const mts_kernel_config fused = {.kernel = MTS_KERNEL_CONFIG_FUSED, .parts = 3 - form};
        MTS_TRY(status, make_forced(p, fused, &f->fused[form]));
    }
    MTS_TRY(status, make_forced(p, mts_kernel_config_tiles(&p->device->info), &f->apart));
    MTS_TRY(status, find_blocks(f, &fresh));
    for (int round = 0; fresh && round < ROUNDS && status == MTS_STATUS_OK; round++) {
        status = time_blocks(f);
    }
    if (fresh) {
        MTS_TRY(status, compare_whole(f));
    }
    return status;
}

mts_status mts_fusing_tune(mts_planning *p)
{
    const mts_kernel_config any = {.kernel = MTS_KERNEL_CONFIG_FUSED};
    const uint64_t start = mts_os_clock_ns();
    const size_t known = p->measured.count;
    fuser f = {.p = p};
    if (p->tuned_ns >= (uint64_t)p->how.tuning_ms * 1000000u || p->options.strategy != MTS_STRATEGY_COMPACT ||
        mts_kernel_configs_failed(&p->defaults, &any)) {
        return MTS_STATUS_OK;
    }
    mts_status status = tune(&f);
    for (int form = 0; form < FORMS; form++) {
        mts_engine_destroy(&f.fused[form]);
    }
    mts_engine_destroy(&f.apart);
    if (p->measured.count > known) {
        mts_tuning_cache_store(p);
    }
    if (mts_sample_is_recoverable(status)) {
        status =
            MTS_STATUS_OK; /* without a clock for launches, or without the kernel, all stay as predicted */
    }
    if (status == MTS_STATUS_OK && p->measured.count > 0) {
        p->decision.configs = &p->measured;
    }
    p->tuned_ns += mts_os_clock_ns() - start;
    return status;
}
