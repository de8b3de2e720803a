/*
 * measure.c: times units on a device. The launches of an engine are profiled, and each is
 * counted for the unit that its nodes are named after; then all are scaled to what a
 * whole run takes, so that the gaps between launches count, too.
 */
#include "pipeline/pipeline.h"

#ifndef MTS_SMALL

#include "pipeline/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/profile.h"
#include "platform/os/os.h"

#define RUNS 3u
/* Before the number of a unit in the name of its nodes; no other part of a label has it. */
#define MARK "#"
#define COPY_SMALL ((size_t)4096)
#define COPY_LARGE ((size_t)1 << 22)

typedef struct measuring {
    const mts_units *units;
    mts_device *device;
    const mts_engine_options *options;
    double *unit_ms;
    mts_error *error;
} measuring;

/* Some units as an archive of their own, and an engine of it. */
typedef struct sample {
    uint32_t first, end;
    mts_arena arena;
    mts_partition partition;
    const mts_part *part;
    mts_engine *engine;
} sample;

static bool is_refusal(const measuring *m, mts_status status)
{
    return status == MTS_STATUS_LIMIT || status == MTS_STATUS_UNSUPPORTED || status == MTS_STATUS_DEVICE ||
           status == MTS_STATUS_NOT_FOUND || (status == MTS_STATUS_OUT_OF_MEMORY && m->device->full);
}

/* ---- launches and units ---- */

/* Gives each node the number of its unit as a name: labels of launches have the names of what they
   compute, and the bundle's own may be anything. */
static mts_status name_nodes(const measuring *m, sample *s)
{
    char **names = mts_arena_zero(&s->arena, s->end - s->first, sizeof *names);
    for (uint32_t i = 0; names && i < s->end - s->first; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, MARK "%u", s->first + i);
        names[i] = mts_arena_string(&s->arena, name);
        if (!names[i]) {
            return mts_fail_memory(m->error);
        }
    }
    for (uint32_t t = 0; names && t < s->part->archive->task_count; t++) {
        const mts_graph *graph = s->part->archive->tasks[t].graph;
        for (uint32_t n = 0; n < graph->node_count; n++) {
            graph->nodes[n].name = names[s->part->units[t][n] - s->first];
        }
    }
    return names ? MTS_STATUS_OK : mts_fail_memory(m->error);
}

/* The unit that a launch works for; `before` where the label does not say, as that of a conversion. */
static uint32_t unit_of(const sample *s, const mts_encoded_launch *launch, uint32_t before)
{
    const char *mark = strstr(launch->label, MARK);
    const unsigned long unit = mark ? strtoul(mark + strlen(MARK), NULL, 10) : MTS_NONE;
    return unit >= s->first && unit < s->end ? (uint32_t)unit : before;
}

/* ---- a sample ---- */

/* The units as a stage between what comes before and what comes after. */
static mts_status cut_out(const measuring *m, sample *s)
{
    mts_chain chain = {.stage_count = 0};
    const uint32_t ends[] = {s->first, s->end, m->units->count};
    uint32_t at = 0;
    uint32_t mine = 0;
    for (int i = 0; i < 3; i++) {
        if (ends[i] > at) {
            mine = i == 1 ? chain.stage_count : mine;
            chain.stages[chain.stage_count++] = (mts_chain_stage){.first = at, .end = ends[i]};
            at = ends[i];
        }
    }
    const mts_status status =
        mts_partition_chain(m->units, &chain, m->device->allocator, &s->partition, m->error);
    /* A part without anything to give is no part. */
    s->part = status == MTS_STATUS_OK && s->partition.part_count == chain.stage_count
                  ? &s->partition.parts[mine]
                  : NULL;
    return status;
}

static mts_status build(const measuring *m, sample *s)
{
    mts_engine_options options = *m->options;
    const mts_planning_options how = {.grouping = MTS_GROUPING_FAMILY};
    options.tasks = NULL;
    options.task_count = 0;
    options.priorities = NULL;
    options.in_order = true;
    options.persistent = false;
    options.zero_copy_inputs = false;
    options.separate_inputs = options.separate_inputs && s->first == 0;
    options.drop_oldest = false;
    options.slots = options.depth = 1;
    options.progress = NULL;
    return mts_planned_engine_create(m->device, s->part->archive, &options, &how, &s->engine, NULL, m->error);
}

static mts_status fill(const measuring *m, sample *s)
{
    const size_t count = mts_engine_largest_input(s->engine);
    float *values = mts_arena_zero(&s->arena, count, sizeof *values);
    if (!values) {
        return mts_fail_memory(m->error);
    }
    for (size_t i = 0; i < count; i++) { /* neither zero nor denormal */
        values[i] = 0.25f + (float)(i % 61) / 128.0f;
    }
    return mts_engine_fill_inputs(s->engine, values, m->error);
}

static mts_status time_run(const measuring *m, sample *s, double *ms)
{
    mts_status status = MTS_STATUS_OK;
    *ms = INFINITY;
    for (uint32_t r = 0; status == MTS_STATUS_OK && r < RUNS; r++) {
        const uint64_t start = mts_os_clock_ns();
        status = mts_engine_submit(s->engine, m->error);
        MTS_TRY(status, mts_engine_wait(s->engine, m->error));
        *ms = fmin(*ms, (double)(mts_os_clock_ns() - start) * 1e-6);
    }
    return status;
}

/* Without a profile: each unit has its part of the work. */
static void share_out(const measuring *m, const sample *s, double ms)
{
    double all = 0.0;
    for (uint32_t i = s->first; i < s->end; i++) {
        all += mts_units_work(m->units, i);
    }
    for (uint32_t i = s->first; i < s->end; i++) {
        m->unit_ms[i] = all > 0.0 ? ms * mts_units_work(m->units, i) / all : ms / (s->end - s->first);
    }
}

static mts_status time_units(const measuring *m, sample *s)
{
    double run = 0.0;
    mts_engine_view view;
    mts_engine_view_get(s->engine, &view);
    mts_launch_profile *times = mts_arena_zero(&s->arena, view.launch_count, sizeof *times);
    mts_status status = times ? fill(m, s) : mts_fail_memory(m->error);
    MTS_TRY(status, time_run(m, s, &run));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    status = mts_engine_profile(s->engine, RUNS, times, m->error);
    if (status == MTS_STATUS_UNSUPPORTED || view.launch_count == 0) {
        share_out(m, s, run);
        return MTS_STATUS_OK;
    }
    uint32_t unit = s->first;
    double sum = 0.0;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < view.launch_count; i++) {
        unit = unit_of(s, &view.launches[i], unit);
        m->unit_ms[unit] += times[i].duration_ms;
        sum += times[i].duration_ms;
    }
    for (uint32_t i = s->first; status == MTS_STATUS_OK && sum > 0.0 && run > sum && i < s->end; i++) {
        m->unit_ms[i] *= run / sum;
    }
    return status;
}

static mts_status measure(const measuring *m, uint32_t first, uint32_t end)
{
    sample s = {.first = first, .end = end};
    mts_arena_init(&s.arena, m->device->allocator);
    for (uint32_t i = first; i < end; i++) {
        m->unit_ms[i] = 0.0;
    }
    mts_status status = cut_out(m, &s);
    if (status == MTS_STATUS_OK && s.part) {
        m->device->full = false;
        status = name_nodes(m, &s);
        MTS_TRY(status, build(m, &s));
        MTS_TRY(status, time_units(m, &s));
    }
    mts_engine_destroy(&s.engine);
    mts_partition_release(&s.partition);
    mts_arena_release(&s.arena);
    if (!is_refusal(m, status)) {
        return status;
    }
    if (end - first == 1) {
        m->unit_ms[first] = INFINITY;
        return MTS_STATUS_OK;
    }
    const uint32_t middle = first + (end - first) / 2;
    status = measure(m, first, middle);
    MTS_TRY(status, measure(m, middle, end));
    return status;
}

mts_status mts_measure_units(const mts_units *units, mts_device *device, const mts_engine_options *options,
                             double *unit_ms, mts_error *error)
{
    mts_error ignored = {0};
    const measuring m = {.units = units,
                         .device = device,
                         .options = options,
                         .unit_ms = unit_ms,
                         .error = error ? error : &ignored};
    return units->count > 0 ? measure(&m, 0, units->count) : MTS_STATUS_OK;
}

/* ---- copies ---- */

static mts_status time_copy(mts_buffer *buffer, unsigned char *bytes, size_t size, bool to, double *ms,
                            mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    *ms = INFINITY;
    for (uint32_t r = 0; status == MTS_STATUS_OK && r < RUNS + 1; r++) {
        const uint64_t start = mts_os_clock_ns();
        status = to ? mts_buffer_write(buffer, 0, bytes, size, error)
                    : mts_buffer_read(buffer, 0, bytes, size, error);
        MTS_TRY(status, mts_device_wait(buffer->device, error));
        *ms = fmin(*ms, (double)(mts_os_clock_ns() - start) * 1e-6);
    }
    return status;
}

static mts_status measure_copy(mts_buffer *buffer, unsigned char *bytes, bool to, mts_copy_cost *cost,
                               mts_error *error)
{
    double small = 0.0;
    double large = 0.0;
    mts_status status = time_copy(buffer, bytes, COPY_SMALL, to, &small, error);
    MTS_TRY(status, time_copy(buffer, bytes, COPY_LARGE, to, &large, error));
    if (status == MTS_STATUS_OK) {
        cost->ms = small;
        cost->ms_per_byte = fmax(0.0, large - small) / (double)(COPY_LARGE - COPY_SMALL);
    }
    return status;
}

mts_status mts_measure_copies(mts_device *device, mts_copy_cost *to, mts_copy_cost *from, mts_error *error)
{
    mts_buffer *buffer = NULL;
    unsigned char *bytes = mts_alloc_zero(device->allocator, COPY_LARGE, 1);
    *to = *from = (mts_copy_cost){0};
    if (!bytes) {
        return mts_fail_memory(error);
    }
    mts_status status = mts_buffer_create(device, COPY_LARGE, &buffer, error);
    if (status == MTS_STATUS_OK) {
        status = measure_copy(buffer, bytes, true, to, error);
        MTS_TRY(status, measure_copy(buffer, bytes, false, from, error));
    } else if (status != MTS_STATUS_DEVICE_LOST) {
        status = MTS_STATUS_OK;
    }
    mts_buffer_destroy(&buffer);
    mts_alloc_free(device->allocator, bytes);
    return status;
}

#endif
