/*
 * planning.c: the state of planning a session: progress, classes of tasks, failed kernel
 * configurations. Not responsible for what is decided: groups (grouping.c), slices
 * (slicing.c), kernels (kernels.c).
 */
#include "tune/planning.h"

#include <string.h>

mts_status mts_planning_memory(const mts_planning *p)
{
    return mts_fail_memory(p->error);
}

mts_status mts_planning_progress(mts_planning *p, float fraction, const char *what)
{
    const mts_engine_options *o = &p->options;
    p->reported = fraction > p->reported ? fraction : p->reported;
    if (o->progress && o->progress(o->context, p->reported, what) != 0) {
        return mts_fail(p->error, MTS_STATUS_CANCELLED, "cancelled while planning the session (%s)", what);
    }
    return MTS_STATUS_OK;
}

static mts_status append(const mts_planning *p, void **array, size_t *capacity, uint32_t *count,
                         const void *element, size_t size)
{
    if (!mts_alloc_grow(p->allocator, array, capacity, (size_t)*count + 1, size)) {
        return mts_planning_memory(p);
    }
    memcpy((unsigned char *)*array + *count * size, element, size);
    ++*count;
    return MTS_STATUS_OK;
}

mts_status mts_planning_add_plan(mts_planning *p, const mts_considered_plan *plan)
{
    mts_planning_report *r = &p->report;
    return append(p, (void **)&r->plans, &r->plan_capacity, &r->plan_count, plan, sizeof *plan);
}

mts_status mts_planning_add_sample(mts_planning *p, const mts_planning_sample *sample)
{
    mts_planning_report *r = &p->report;
    return append(p, (void **)&r->samples, &r->sample_capacity, &r->sample_count, sample, sizeof *sample);
}

/* ---- classes ---- */

/* The first task of the next class: highest priority, then lowest index. MTS_NONE: all
   tasks have a class. */
static uint32_t next_leader(const mts_planning *p)
{
    uint32_t leader = MTS_NONE;
    for (uint32_t t = 0; t < p->task_count; t++) {
        if (p->class_of[t] == MTS_NONE && (leader == MTS_NONE || p->priorities[t] > p->priorities[leader])) {
            leader = t;
        }
    }
    return leader;
}

mts_status mts_planning_classes(mts_planning *p)
{
    uint32_t families = 0;
    uint32_t *family_of = mts_arena_zero(&p->arena, p->task_count, sizeof *family_of);
    mts_status status = family_of ? MTS_STATUS_OK : mts_planning_memory(p);
    MTS_TRY(status,
            mts_graph_families(p->graphs, p->task_count, p->allocator, family_of, &families, p->error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const bool alone = p->options.strategy == MTS_STRATEGY_SEQUENTIAL;
    for (uint32_t t = 0; t < p->task_count; t++) {
        p->class_of[t] = MTS_NONE;
    }
    p->class_count = 0;
    for (uint32_t leader = next_leader(p); leader != MTS_NONE; leader = next_leader(p), p->class_count++) {
        for (uint32_t t = leader; t < p->task_count; t++) {
            if (p->class_of[t] == MTS_NONE && family_of[t] == family_of[leader] &&
                p->priorities[t] == p->priorities[leader] && (t == leader || !alone)) {
                p->class_of[t] = p->group_of[t] = p->class_count;
            }
        }
    }
    return MTS_STATUS_OK;
}

/* ---- failed kernel configurations ---- */

void mts_planning_keep_failed(mts_planning *p, size_t count)
{
    mts_kernel_configs *const tables[] = {&p->measured, &p->planned, &p->defaults};
    p->failed_count = count;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        tables[i]->failed = p->failed;
        tables[i]->failed_count = count;
    }
}

mts_status mts_planning_add_failed(mts_planning *p, const mts_kernel_config *config)
{
    if (mts_kernel_configs_failed(&p->defaults, config)) {
        return MTS_STATUS_OK;
    }
    if (!mts_alloc_grow(p->allocator, (void **)&p->failed, &p->failed_capacity, p->failed_count + 1,
                        sizeof *p->failed)) {
        return mts_planning_memory(p);
    }
    p->failed[p->failed_count] = *config;
    mts_planning_keep_failed(p, p->failed_count + 1);
    return MTS_STATUS_OK;
}
