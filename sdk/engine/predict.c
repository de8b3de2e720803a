/*
 * predict.c: see predict.h.
 */
#include "engine/predict.h"

#include "device/dependencies.h"
#include "engine/state.h"

/* Parts of the measured peaks that launches reach on the whole: conv 1x1 has 0.7 of the
 * multiply-adds, data movement 0.2 to 0.4 of a copy's bytes on device cpu (mts profile of
 * MobileNetV2, DeepLabV3 and pruned ResNet18s). */
#define WORK_PART 0.65
#define BYTES_PART 0.3
/* Milliseconds to begin a launch on a device that does not tell them. */
#define LEAST_GAP_MS 0.001
/* Chunks of a launch for each unit that takes part; more only make the prediction
   slower. */
#define CHUNKS_PER_UNIT 4u

uint32_t mts_engine_tiles(const mts_launch *launch)
{
    uint64_t tiles = 1;
    for (int d = 0; d < 3; d++) {
        tiles *= launch->local[d] > 0 ? launch->global[d] / launch->local[d] : 1;
    }
    return tiles == 0 ? 1 : tiles > UINT32_MAX ? UINT32_MAX : (uint32_t)tiles;
}

mts_launch_profile mts_engine_launch_describe(const mts_engine *engine, uint32_t index)
{
    const mts_encoded_launch *from = &engine->launches.encoded[index];
    return (mts_launch_profile){.label = from->label,
                                .kernel = from->kernel,
                                .group = from->group,
                                .computations = from->members,
                                .tasks = from->tasks,
                                .mul_adds = from->mul_adds,
                                .bytes = from->bytes,
                                .tiles = mts_engine_tiles(&engine->launches.items[index])};
}

/* Milliseconds of one unit. */
static double work_of(const mts_launch_profile *l, const mts_ceilings *ceilings, uint32_t units)
{
    const double work = 2e-6 * (double)l->mul_adds / (WORK_PART * ceilings->gflops);
    const double bytes = 1e-6 * (double)l->bytes / (BYTES_PART * ceilings->copy_gbps);
    return units * (work > bytes ? work : bytes);
}

static void run_in_turns(mts_launch_profile *out, uint32_t count, const mts_ceilings *ceilings,
                         uint32_t units, double gap)
{
    double clock = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t rounds = out[i].tiles / units + (out[i].tiles % units != 0 ? 1 : 0);
        out[i].start_ms = clock + gap;
        out[i].duration_ms = work_of(&out[i], ceilings, units) / out[i].tiles * rounds;
        clock = out[i].start_ms + out[i].duration_ms;
    }
}

/* Launches that units take chunks of. */
typedef struct simulation {
    const mts_dependencies *after;
    mts_launch_profile *out;
    uint32_t units;
    /* Per unit: when it has nothing to do, and the launch that it worked on last. */
    double *free_at;
    uint32_t *at;
    /* Per launch. */
    uint32_t *waits, *chunks_left;
    double *chunk_ms, *ready_at, *end;
    /* Launches that wait for none, in no order. */
    uint32_t *ready;
    uint32_t ready_count;
} simulation;

static uint32_t chunks_of(const simulation *s, uint32_t launch)
{
    const uint32_t most = s->units * CHUNKS_PER_UNIT;
    return s->out[launch].tiles < most ? s->out[launch].tiles : most;
}

static uint32_t first_free(const simulation *s)
{
    uint32_t unit = 0;
    for (uint32_t u = 1; u < s->units; u++) {
        unit = s->free_at[u] < s->free_at[unit] ? u : unit;
    }
    return unit;
}

/* How far launch b is behind a, counted around the end of the list. */
static uint32_t distance(const simulation *s, uint32_t a, uint32_t b)
{
    return b >= a ? b - a : s->after->count - a + b;
}

/* The position in `ready` of the launch that a unit takes: nearest behind its last one of
 * those that may start, else the one that may start first. */
static uint32_t choose(const simulation *s, uint32_t unit)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < s->ready_count; i++) {
        const uint32_t a = s->ready[best], b = s->ready[i];
        const bool a_may = s->ready_at[a] <= s->free_at[unit], b_may = s->ready_at[b] <= s->free_at[unit];
        const bool nearer = distance(s, s->at[unit], b) < distance(s, s->at[unit], a);
        const bool better = a_may != b_may ? b_may : a_may ? nearer : s->ready_at[b] < s->ready_at[a];
        best = better ? i : best;
    }
    return best;
}

static void finish(simulation *s, uint32_t launch)
{
    s->out[launch].duration_ms = s->end[launch] - s->out[launch].start_ms;
    for (uint32_t k = s->after->next_first[launch]; k < s->after->next_first[launch + 1]; k++) {
        const uint32_t next = s->after->next[k];
        s->ready_at[next] = s->ready_at[next] > s->end[launch] ? s->ready_at[next] : s->end[launch];
        if (--s->waits[next] == 0) {
            s->ready[s->ready_count++] = next;
        }
    }
}

/* The gap before the first chunk of a launch delays the other chunks too. */
static void take_chunk(simulation *s, double gap)
{
    const uint32_t unit = first_free(s);
    const uint32_t position = choose(s, unit);
    const uint32_t launch = s->ready[position];
    const bool begins = s->chunks_left[launch] == chunks_of(s, launch);
    const double now = s->free_at[unit] > s->ready_at[launch] ? s->free_at[unit] : s->ready_at[launch];
    const double begin = begins ? now + gap : now;
    if (begins) {
        s->out[launch].start_ms = s->ready_at[launch] = begin;
    }
    s->free_at[unit] = begin + s->chunk_ms[launch];
    s->end[launch] = s->free_at[unit] > s->end[launch] ? s->free_at[unit] : s->end[launch];
    s->at[unit] = launch;
    if (--s->chunks_left[launch] == 0) {
        s->ready[position] = s->ready[--s->ready_count];
        finish(s, launch);
    }
}

static void begin(simulation *s, const mts_ceilings *ceilings)
{
    for (uint32_t i = 0; i < s->after->count; i++) {
        s->chunks_left[i] = chunks_of(s, i);
        s->chunk_ms[i] = work_of(&s->out[i], ceilings, s->units) / s->chunks_left[i];
        s->waits[i] = s->after->waits[i];
        if (s->waits[i] == 0) {
            s->ready[s->ready_count++] = i;
        }
    }
}

static mts_status run_overlapped(const mts_engine *engine, mts_launch_profile *out,
                                 const mts_ceilings *ceilings, double gap, mts_error *error)
{
    const uint32_t count = engine->launches.count, units = engine->device->info.compute_units;
    mts_dependencies after;
    const mts_status status =
        mts_dependencies_find(engine->launches.items, count, engine->allocator, &after, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    double *times = mts_alloc_zero(engine->allocator, 3 * (size_t)count + units, sizeof *times);
    uint32_t *numbers = mts_alloc_zero(engine->allocator, 3 * (size_t)count + units, sizeof *numbers);
    if (times && numbers) {
        simulation s = {.after = &after,
                        .out = out,
                        .units = units,
                        .chunk_ms = times,
                        .ready_at = times + count,
                        .end = times + 2 * (size_t)count,
                        .free_at = times + 3 * (size_t)count,
                        .waits = numbers,
                        .chunks_left = numbers + count,
                        .ready = numbers + 2 * (size_t)count,
                        .at = numbers + 3 * (size_t)count};
        begin(&s, ceilings);
        while (s.ready_count > 0) {
            take_chunk(&s, gap);
        }
    }
    const bool done = times && numbers;
    mts_alloc_free(engine->allocator, times);
    mts_alloc_free(engine->allocator, numbers);
    mts_dependencies_release(&after, engine->allocator);
    return done ? MTS_STATUS_OK : mts_fail_memory(error);
}

mts_status mts_engine_predict(const mts_engine *engine, const mts_ceilings *ceilings, mts_launch_profile *out,
                              mts_error *error)
{
    const mts_device_info *info = &engine->device->info;
    const double gap = info->launch_ns > 0 ? 1e-6 * info->launch_ns : LEAST_GAP_MS;
    const uint32_t units = info->compute_units > 0 ? info->compute_units : 1;
    for (uint32_t i = 0; i < engine->launches.count; i++) {
        out[i] = mts_engine_launch_describe(engine, i);
    }
    if (info->overlaps && info->compute_units > 0) {
        return run_overlapped(engine, out, ceilings, gap, error);
    }
    run_in_turns(out, engine->launches.count, ceilings, units, gap);
    return MTS_STATUS_OK;
}
