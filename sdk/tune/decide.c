/*
 * decide.c: from options to a decision, by cache or by measurement, and from the decision
 * to an engine.
 *
 * Where kernels do not build or run, the session falls back step by step: from the
 * decided configurations to the defaults, the default tiles, the smallest tiles. A
 * configuration that failed is remembered and not tried again by later sessions. A
 * program that was not built ahead of time, where there is no compiler, is no such
 * failure: the next session may find it. After the last step the session fails, and its
 * runtime may move to another device (api/session.c).
 */
#include <string.h>

#include "lower/fuse.h"
#include "lower/implementations.h"
#include "platform/os/os.h"
#include "tune/fusing.h"
#include "tune/grouping.h"
#include "tune/kernels.h"
#include "tune/memory.h"
#include "tune/plan_cache.h"
#include "tune/tune.h"

static mts_status resolve_tasks(mts_planning *p, const mts_engine_options *options)
{
    p->task_count = options->tasks ? options->task_count : p->archive->task_count;
    if (p->task_count == 0) {
        return mts_fail(p->error, MTS_STATUS_INVALID_ARGUMENT, "a session needs at least one task");
    }
    p->tasks = mts_arena_zero(&p->arena, p->task_count, sizeof *p->tasks);
    p->graphs = mts_arena_zero(&p->arena, p->task_count, sizeof *p->graphs);
    p->priorities = mts_arena_zero(&p->arena, p->task_count, sizeof *p->priorities);
    p->class_of = mts_arena_zero(&p->arena, p->task_count, sizeof *p->class_of);
    p->group_of = mts_arena_zero(&p->arena, p->task_count, sizeof *p->group_of);
    if (!p->tasks || !p->graphs || !p->priorities || !p->class_of || !p->group_of) {
        return mts_planning_memory(p);
    }
    for (uint32_t i = 0; i < p->task_count; i++) {
        p->tasks[i] = options->tasks ? options->tasks[i] : i;
        p->priorities[i] = options->priorities ? options->priorities[i] : 0;
        if (p->tasks[i] >= p->archive->task_count) {
            return mts_fail(p->error, MTS_STATUS_NOT_FOUND, "the bundle has no task %u", p->tasks[i]);
        }
        p->graphs[i] = p->archive->tasks[p->tasks[i]].graph;
    }
    return MTS_STATUS_OK;
}

static bool measures_groups(const mts_planning *p)
{
    return p->how.grouping == MTS_GROUPING_MEASURED && p->options.strategy != MTS_STRATEGY_SEQUENTIAL;
}

static bool measures(const mts_planning *p)
{
    return measures_groups(p) || p->how.tuning_ms > 0;
}

/* A budget that cannot be kept is refused before anything is measured, and kept whatever
   is. */
static mts_status measure(mts_planning *p)
{
    const bool groups = measures_groups(p);
    p->fresh = true;
    mts_status status = mts_memory_choose_slices(p);
    mts_engine_draft_destroy(&p->draft); /* what is measured decides */
    MTS_TRY(status, groups ? mts_memory_find_least(p) : mts_memory_fit(p));
    MTS_TRY(status, MTS_FUSES ? mts_fusing_tune(p) : MTS_STATUS_OK);
    MTS_TRY(status, mts_kernels_tune(p));
    if (groups) {
        MTS_TRY(status, mts_grouping_measure(p));
        MTS_TRY(status, mts_kernels_tune(p)); /* layers that the groups have changed */
    }
    MTS_TRY(status, mts_memory_fit(p));
    p->report.complete = p->report.complete && !p->blocks_left;
    return status;
}

/* The plan is from the cache, but earlier sessions had no time for all candidates. */
static mts_status tune_more(mts_planning *p)
{
    p->fresh = true;
    p->report.layers_tuned = p->report.layers_changed = 0; /* the same layers are counted again */
    mts_status status = MTS_FUSES ? mts_fusing_tune(p) : MTS_STATUS_OK;
    MTS_TRY(status, mts_kernels_tune(p));
    MTS_TRY(status, mts_memory_fit(p));
    p->report.complete = p->report.complete && !p->blocks_left;
    return status;
}

/* What runs in which order: by default, by measurement, or as an earlier session found
   out. */
static mts_status decide(mts_planning *p)
{
    mts_status status = mts_planning_classes(p);
    p->decision.group_of = p->group_of;
    p->usual_slice_bytes = mts_kernel_config_slice_bytes(&p->device->info);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_tuning_cache_load(p);
    if (!measures(p)) {
        status = mts_memory_choose_slices(p);
        MTS_TRY(status, mts_memory_fit(p));
        return status;
    }
    p->report.cached = mts_plan_cache_load(p);
    if (!p->report.cached) {
        return measure(p);
    }
    return p->how.tuning_ms == 0 || p->report.complete != 0 ? MTS_STATUS_OK : tune_more(p);
}

/* ---- creating the engine ---- */

/* The caller's progress, in the part of the bar that is left. */
typedef struct rest {
    mts_planning *p;
    float first;
} rest;

static int rest_report(void *context, float fraction, const char *what)
{
    const rest *r = context;
    return mts_planning_progress(r->p, r->first + (1.0f - r->first) * fraction, what) != MTS_STATUS_OK;
}

static mts_status create_once(mts_planning *p, bool *kernels_failed, mts_engine **out)
{
    rest r = {.p = p, .first = p->reported};
    mts_engine_options options = p->options;
    mts_decision decision = p->decision;
    options.tasks = p->tasks;
    options.task_count = p->task_count;
    options.context = &r;
    options.progress = rest_report;
    decision.configs = decision.configs ? decision.configs : &p->defaults;
    mts_engine_build build = {.like = NULL};
    const bool no_images = p->device->no_images;
    p->device->full = false;
    mts_status status =
        p->draft ? mts_engine_build_draft(&p->draft, &options, &build, out, p->error)
                 : mts_engine_create(p->device, p->archive, &options, &decision, &build, out, p->error);
    if (status == MTS_STATUS_OUT_OF_MEMORY && p->device->full && p->previous) {
        mts_engine_destroy(&p->previous); /* the device does not fit the session beside the last sample */
        status = mts_engine_create(p->device, p->archive, &options, &decision, &build, out, p->error);
    }
    if (MTS_HAS_PACKED && status != MTS_STATUS_OK && !no_images && p->device->no_images) {
        mts_log_write(p->device->log, MTS_LOG_WARNING, "weights are read through buffers: %s",
                      p->error->text);
        status = mts_engine_create(p->device, p->archive, &options, &decision, &build, out, p->error);
    }
    *kernels_failed = build.kernels_failed;
    return status;
}

/* Marks kernels as failed; *marked: at least one was not marked before. */
static mts_status fail_kernels(mts_planning *p, const mts_kernel_config *kernels, size_t count, bool *marked)
{
    mts_status status = MTS_STATUS_OK;
    *marked = false;
    for (size_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
        if (!mts_kernel_configs_failed(&p->defaults, &kernels[i])) {
            *marked = true;
            status = mts_planning_add_failed(p, &kernels[i]);
        }
    }
    return status;
}

/* Likewise those that a device may have as its default besides tiles. Programs that join many
   kernels are the largest, so they go first and alone. */
static mts_status fail_special(mts_planning *p, bool *marked)
{
    static const mts_kernel_config joined[] = {{.kernel = MTS_KERNEL_CONFIG_MIXED},
                                               {.kernel = MTS_KERNEL_CONFIG_FUSED}};
    static const mts_kernel_config special[] = {
        {.kernel = MTS_KERNEL_CONFIG_BLOCK},
#if MTS_HAS_PACKED
        {.kernel = MTS_KERNEL_CONFIG_PACKED},
#endif
        {.kernel = MTS_KERNEL_CONFIG_WINOGRAD}
    };
    const mts_status status = fail_kernels(p, joined, sizeof joined / sizeof joined[0], marked);
    return status != MTS_STATUS_OK || *marked
               ? status
               : fail_kernels(p, special, sizeof special / sizeof special[0], marked);
}

/* Stores what a session has learnt about kernels. Where a program does not exist
 * (`absent`), it fell back for itself only. */
static void remember(mts_planning *p, size_t known, bool absent)
{
    if (absent) {
        p->fresh = false;
    } else if (p->failed_count > known) {
        mts_tuning_cache_store(p);
    }
}

/* Replaces the configurations that may have failed by the next safer ones; *left: there
   were some. */
static mts_status fall_back(mts_planning *p, bool *left)
{
    const mts_kernel_config tiles = mts_kernel_config_tiles(&p->device->info);
    *left = true;
    if (p->decision.configs) {
        p->decision.configs = NULL;
        p->fresh = true;
        p->report.fallback = 1;
        return MTS_STATUS_OK;
    }
    bool special = false;
    const mts_status status = fail_special(p, &special);
    if (status != MTS_STATUS_OK || special) {
        p->report.fallback = 1;
        return status;
    }
    *left = !mts_kernel_configs_failed(&p->defaults, &tiles);
    p->report.fallback = 2;
    return mts_planning_add_failed(p, &tiles);
}

static mts_status create(mts_planning *p, mts_engine **out)
{
    const size_t known = p->failed_count;
    const mts_kernel_config tiles = mts_kernel_config_tiles(&p->device->info);
    bool failed = false;
    bool left = true;
    bool absent = false;
    p->report.fallback = mts_kernel_configs_failed(&p->defaults, &tiles) ? 2 : 0;
    mts_status status = create_once(p, &failed, out);
    const mts_error first = *p->error;
    while (failed && left) {
        mts_log_write(p->device->log, MTS_LOG_WARNING, "a session cannot be created as planned: %s",
                      p->error->text);
        if (p->how.cache) {
            p->how.cache->skipped++;
        }
        absent = absent || status == MTS_STATUS_NOT_FOUND;
        status = fall_back(p, &left);
        if (status != MTS_STATUS_OK) {
            return status;
        }
        status = left ? create_once(p, &failed, out) : first.code;
    }
    if (p->report.fallback != 0 && (failed || status == MTS_STATUS_LIMIT)) {
        mts_planning_keep_failed(p, known);
        *p->error = first; /* the defect of the plan, not that of the last fallback */
        return first.code;
    }
    if (status == MTS_STATUS_OK) {
        remember(p, known, absent);
    }
    return status;
}

/* Whether another plan may succeed where this one failed. */
static bool is_plan_failure(mts_status status)
{
    return status != MTS_STATUS_OK && status != MTS_STATUS_CANCELLED && status != MTS_STATUS_OUT_OF_MEMORY &&
           status != MTS_STATUS_DEVICE_LOST;
}

/* A plan from the cache that cannot be created is refused, and measured again. */
static mts_status decide_and_create(mts_planning *p, mts_engine **out)
{
    mts_status status = decide(p);
    p->report.planning_ms = (double)(mts_os_clock_ns() - p->start) * 1e-6;
    MTS_TRY(status, create(p, out));
    if (p->report.cached && is_plan_failure(status)) {
        mts_plan_cache_refuse(p);
        status = measure(p);
        p->report.planning_ms = (double)(mts_os_clock_ns() - p->start) * 1e-6;
        MTS_TRY(status, create(p, out));
    }
    if (status == MTS_STATUS_OK && p->fresh) {
        mts_plan_cache_store(p);
    }
    return status;
}

#ifndef MTS_SMALL

static void *copy_of(const mts_allocator *allocator, const void *from, size_t count, size_t size)
{
    void *made = mts_alloc_zero(allocator, count, size);
    if (made && count > 0) {
        memcpy(made, from, count * size);
    }
    return made;
}

/* Keeps the decision in the report. */
static mts_status keep_plan(mts_planning *p, mts_kept_plan *kept)
{
    const mts_kernel_configs *configs = p->decision.configs ? p->decision.configs : &p->defaults;
    const bool groups = measures_groups(p);
    kept->slice_bytes = p->decision.slice_bytes;
    mts_kernel_configs_init(&kept->configs, p->allocator);
    kept->configs.entries = copy_of(p->allocator, configs->entries, configs->count, sizeof *configs->entries);
    kept->failed = copy_of(p->allocator, p->failed, p->failed_count, sizeof *p->failed);
    kept->task_count = groups ? p->task_count : 0;
    kept->tasks = copy_of(p->allocator, p->tasks, kept->task_count, sizeof *p->tasks);
    kept->groups = copy_of(p->allocator, p->group_of, kept->task_count, sizeof *p->group_of);
    if (!kept->configs.entries || !kept->failed || !kept->tasks || !kept->groups) {
        return mts_planning_memory(p);
    }
    kept->configs.count = kept->configs.capacity = configs->count;
    kept->configs.failed = kept->failed;
    kept->configs.failed_count = p->failed_count;
    return MTS_STATUS_OK;
}

/* The group that the session measured for a task; MTS_NONE: the task is new. */
static uint32_t kept_group(const mts_kept_plan *kept, uint32_t task)
{
    for (uint32_t i = 0; i < kept->task_count; i++) {
        if (kept->tasks[i] == task) {
            return kept->groups[i];
        }
    }
    return MTS_NONE;
}

/* Tasks of one class (a family and a priority) are one group, unless groups were measured: then
   those of one measured group are, and new ones of a class are a group. */
static void keep_groups(mts_planning *p, const mts_kept_plan *kept)
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < p->class_count; c++) {
        const uint32_t first = count;
        for (uint32_t t = 0; t < p->task_count; t++) {
            if (p->class_of[t] != c) {
                continue;
            }
            uint32_t group = MTS_NONE;
            for (uint32_t k = 0; k < t && group == MTS_NONE; k++) {
                const bool same = p->class_of[k] == c && p->group_of[k] >= first &&
                                  kept_group(kept, p->tasks[k]) == kept_group(kept, p->tasks[t]);
                group = same ? p->group_of[k] : MTS_NONE;
            }
            p->group_of[t] = group != MTS_NONE ? group : count++;
        }
    }
}

static mts_status change(mts_planning *p, const mts_kept_plan *kept, const mts_engine *like, mts_engine **out)
{
    mts_engine_options options = p->options;
    options.tasks = p->tasks;
    options.task_count = p->task_count;
    const mts_decision decision = {
        .group_of = p->group_of, .slice_bytes = kept->slice_bytes, .configs = &kept->configs};
    mts_engine_build build = {.like = like, .shares_weights = true};
    keep_groups(p, kept);
    return mts_engine_create(p->device, p->archive, &options, &decision, &build, out, p->error);
}

mts_status mts_planned_engine_change(mts_device *device, const mts_archive *archive,
                                     const mts_engine_options *options, const mts_kept_plan *kept,
                                     const mts_engine *like, mts_engine **out, mts_error *error)
{
    mts_planning p = {.device = device,
                      .archive = archive,
                      .allocator = device->allocator,
                      .options = *options,
                      .error = error};
    *out = NULL;
    mts_arena_init(&p.arena, p.allocator);
    mts_status status = resolve_tasks(&p, options);
    MTS_TRY(status, mts_planning_classes(&p));
    MTS_TRY(status, change(&p, kept, like, out));
    mts_arena_release(&p.arena);
    return status;
}

#endif

static void release(mts_planning *p)
{
    mts_engine_destroy(&p->previous);
    mts_engine_draft_destroy(&p->draft);
    mts_kernel_configs_release(&p->measured);
    mts_kernel_configs_release(&p->planned);
    mts_alloc_free(p->allocator, p->failed);
    mts_planning_report_release(&p->report);
    mts_arena_release(&p->arena);
}

mts_status mts_planned_engine_create(mts_device *device, const mts_archive *archive,
                                     const mts_engine_options *options, const mts_planning_options *how,
                                     mts_engine **out, mts_planning_report *report, mts_error *error)
{
    mts_error ignored = {0};
    mts_planning p = {.device = device,
                      .archive = archive,
                      .allocator = device->allocator,
                      .options = *options,
                      .report = {.allocator = device->allocator},
                      .start = mts_os_clock_ns(),
                      .error = error ? error : &ignored};
    p.how = how ? *how : p.how;
    p.options.precision = mts_precision_used(&device->info, options->precision);
    *out = NULL;
    mts_arena_init(&p.arena, p.allocator);
    mts_kernel_configs_init(&p.measured, p.allocator);
    mts_kernel_configs_init(&p.planned, p.allocator);
    mts_status status = mts_planning_progress(&p, 0.0f, "planning");
    MTS_TRY(status, resolve_tasks(&p, options));
    MTS_TRY(status, decide_and_create(&p, out));
    if (status == MTS_STATUS_OK && report) {
        *report = p.report;
        report->slice_bytes = p.decision.slice_bytes;
#ifndef MTS_SMALL
        status = keep_plan(&p, &report->kept);
        if (status != MTS_STATUS_OK) {
            mts_engine_destroy(out);
            mts_planning_report_release(report);
        }
#endif
        p.report = (mts_planning_report){0};
    }
    release(&p);
    return status;
}
