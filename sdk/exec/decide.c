/*
 * decide.c: from options to a decision, by cache or by measurement, and from the decision to an engine.
 *
 * The way down when kernels do not build or run: the decided choices, the defaults, the smallest tiles. What
 * comes after is the caller's: another device, of which `reference` needs no driver.
 */
#include <string.h>

#include "exec/plan_cache.h"
#include "platform/os/os.h"

#define PLANNED 0.8f /* of the progress bar, if anything is measured */

static mts_code resolve_tasks(mts_planning *p, const mts_engine_options *options)
{
    p->task_count = options->tasks != NULL ? options->task_count : p->archive->task_count;
    if (p->task_count == 0) {
        return mts_fail(p->error, MTS_CODE_INVALID_ARGUMENT, "a session needs at least one task");
    }
    p->tasks = mts_arena_zero(&p->arena, p->task_count, sizeof *p->tasks);
    p->graphs = mts_arena_zero(&p->arena, p->task_count, sizeof *p->graphs);
    p->priorities = mts_arena_zero(&p->arena, p->task_count, sizeof *p->priorities);
    p->class_of = mts_arena_zero(&p->arena, p->task_count, sizeof *p->class_of);
    p->group_of = mts_arena_zero(&p->arena, p->task_count, sizeof *p->group_of);
    if (p->tasks == NULL || p->graphs == NULL || p->priorities == NULL || p->class_of == NULL ||
        p->group_of == NULL) {
        return mts_planning_memory(p);
    }
    for (uint32_t i = 0; i < p->task_count; i++) {
        p->tasks[i] = options->tasks != NULL ? options->tasks[i] : i;
        p->priorities[i] = options->priorities != NULL ? options->priorities[i] : 0;
        if (p->tasks[i] >= p->archive->task_count) {
            return mts_fail(p->error, MTS_CODE_NOT_FOUND, "the bundle has no task %u", p->tasks[i]);
        }
        p->graphs[i] = p->archive->tasks[p->tasks[i]].graph;
    }
    return MTS_CODE_OK;
}

static bool measures(const mts_planning *p)
{
    const bool groups = p->options.grouping == MTS_GROUPING_KIND_MEASURED &&
                        p->options.strategy != MTS_STRATEGY_KIND_SEQUENTIAL;
    return groups || p->options.tuning_ms > 0;
}

static mts_code measure(mts_planning *p)
{
    if (p->options.tuning_ms > 0) {
        mts_tuning_cache_load(p);
    }
    mts_code code = mts_planning_tune(p);
    if (code != MTS_CODE_OK) {
        return code;
    }
    if (p->options.grouping != MTS_GROUPING_KIND_MEASURED ||
        p->options.strategy == MTS_STRATEGY_KIND_SEQUENTIAL) {
        return mts_planning_fit(p);
    }
    code = mts_planning_group(p);
    return code != MTS_CODE_OK ? code : mts_planning_tune(p); /* layers that the groups have changed */
}

static mts_code measure_and_store(mts_planning *p)
{
    const mts_code code = measure(p);
    if (code == MTS_CODE_OK) {
        mts_plan_cache_store(p);
    }
    return code;
}

/* What runs in which order; measured, if anything is, or as an earlier session found out. */
static mts_code decide(mts_planning *p)
{
    mts_code code = mts_planning_classes(p);
    p->decision.group_of = p->group_of;
    p->decision.slice_bytes = mts_choice_slice_bytes(&p->device->info);
    if (code != MTS_CODE_OK) {
        return code;
    }
    if (!measures(p)) {
        return mts_planning_fit(p);
    }
    p->findings.cached = mts_plan_cache_load(p);
    return p->findings.cached ? MTS_CODE_OK : measure_and_store(p);
}

/* ---- making ---- */

/* The caller's progress, in the part of the bar that is left. */
typedef struct rest {
    int (*progress)(void *context, float fraction, const char *what);
    void *context;
    float first;
} rest;

static int rest_report(void *context, float fraction, const char *what)
{
    const rest *r = context;
    return r->progress(r->context, r->first + (1.0f - r->first) * fraction, what);
}

static mts_code make_with(mts_planning *p, const mts_choices *choices, bool *kernels_failed, mts_engine **out)
{
    rest r = {.progress = p->options.progress, .context = p->options.context};
    mts_engine_options options = p->options;
    mts_decision decision = p->decision;
    r.first = measures(p) && !p->findings.cached ? PLANNED : 0.0f;
    options.tasks = p->tasks;
    options.task_count = p->task_count;
    options.context = &r;
    options.progress = r.progress != NULL ? rest_report : NULL;
    decision.choices = choices;
    mts_engine_aids aids = {.like = NULL};
    const mts_code code =
        mts_engine_create_decided(p->device, p->archive, &options, &decision, &aids, out, p->error);
    *kernels_failed = aids.kernels_failed;
    return code;
}

static mts_code make(mts_planning *p, mts_engine **out)
{
    const mts_choice smallest = mts_choice_smallest(&p->device->info);
    const mts_choices last = {.forced = &smallest};
    const mts_choices *const ladder[] = {p->decision.choices, NULL, &last};
    mts_error first = {0};
    bool failed = false;
    mts_code code = make_with(p, ladder[0], &failed, out);
    first = *p->error;
    for (uint32_t rung = p->decision.choices != NULL ? 1 : 2; failed && rung < 3; rung++) {
        mts_log_write(p->device->log, MTS_LOG_LEVEL_WARNING, "a session cannot be made as planned: %s",
                      p->error->text);
        p->findings.fallback = rung;
        if (p->options.cache != NULL) {
            p->options.cache->skipped++;
        }
        code = make_with(p, ladder[rung], &failed, out);
    }
    if (failed) {
        *p->error = first; /* what is wrong with the plan, not with the last resort */
    }
    return code;
}

/* ---- what the engine keeps ---- */

static bool keep_findings(const mts_planning *p, mts_engine *engine)
{
    const mts_findings *from = &p->findings;
    mts_findings *to = &engine->findings;
    *to = *from;
    to->findings = mts_arena_zero(&engine->arena, from->finding_count, sizeof *to->findings);
    to->trials = mts_arena_zero(&engine->arena, from->trial_count, sizeof *to->trials);
    if (to->findings == NULL || to->trials == NULL) {
        return false;
    }
    if (from->finding_count > 0) {
        memcpy(to->findings, from->findings, from->finding_count * sizeof *to->findings);
    }
    if (from->trial_count > 0) {
        memcpy(to->trials, from->trials, from->trial_count * sizeof *to->trials);
    }
    engine->slice_bytes = p->decision.slice_bytes;
    engine->stats.predicted_ms = from->predicted_ms;
    engine->stats.planning_ms = from->planning_ms;
    return true;
}

static void release(mts_planning *p)
{
    mts_engine_destroy(&p->previous);
    mts_choices_release(&p->choices);
    mts_alloc_free(p->allocator, p->failed);
    mts_alloc_free(p->allocator, p->findings.findings);
    mts_alloc_free(p->allocator, p->findings.trials);
    mts_arena_release(&p->arena);
}

mts_code mts_engine_create(mts_device *device, const mts_archive *archive, const mts_engine_options *options,
                           mts_engine **out, mts_error *error)
{
    mts_error ignored = {0};
    mts_planning p = {.device = device,
                      .archive = archive,
                      .allocator = device->allocator,
                      .options = *options,
                      .start = mts_os_clock_ns(),
                      .error = error != NULL ? error : &ignored};
    *out = NULL;
    mts_arena_init(&p.arena, p.allocator);
    mts_choices_init(&p.choices, p.allocator);
    mts_code code = mts_planning_report(&p, 0.0f, "planning");
    code = code != MTS_CODE_OK ? code : resolve_tasks(&p, options);
    code = code != MTS_CODE_OK ? code : decide(&p);
    p.findings.planning_ms = (double)(mts_os_clock_ns() - p.start) * 1e-6;
    code = code != MTS_CODE_OK ? code : make(&p, out);
    if (p.findings.cached && (code == MTS_CODE_LIMIT || code == MTS_CODE_INVALID_ARGUMENT)) {
        mts_plan_cache_refuse(&p); /* under a right checksum: not what this library has written */
        code = measure_and_store(&p);
        code = code != MTS_CODE_OK ? code : make(&p, out);
    }
    if (code == MTS_CODE_OK && !keep_findings(&p, *out)) {
        code = mts_planning_memory(&p);
        mts_engine_destroy(out);
    }
    release(&p);
    return code;
}
