/*
 * filter.c: memory and command lists of filtered launches. Not responsible for which
 * tasks are active (control.c), nor for what is left of launches (lower/filter.c).
 */
#include "engine/filter.h"

#include <inttypes.h>
#include <string.h>

#include "engine/state.h"

static bool allocate_kept(const mts_engine *engine, mts_filters *s, uint32_t end)
{
    const mts_allocator *a = engine->allocator;
    const uint32_t groups = engine->tasks.group_count;
    const uint32_t launches = s->sizes.launches;
    for (uint32_t k = s->kept_count; k < end; k++) {
        mts_filtered *kept = &s->kept[k];
        mts_filtered_launches *l = &kept->launches;
        kept->active = mts_alloc_zero(a, engine->tasks.mask_words, sizeof *kept->active);
        l->launches = mts_alloc_zero(a, launches, sizeof *l->launches);
        l->origins = mts_alloc_zero(a, launches, sizeof *l->origins);
        l->stage_first = mts_alloc_zero(a, (size_t)groups + 1, sizeof *l->stage_first);
        kept->lists = mts_alloc_zero(a, groups, sizeof *kept->lists);
        kept->list_first = mts_alloc_zero(a, (size_t)groups + 1, sizeof *kept->list_first);
        kept->list_origins = mts_alloc_zero(a, launches, sizeof *kept->list_origins);
        if (!kept->list_first || !kept->list_origins || !kept->active || !l->launches || !l->origins ||
            !l->stage_first || !kept->lists) {
            return false;
        }
    }
    return true;
}

/* Masks of a further chunk: as many as the memory budget allows. */
static uint32_t chunk_masks(const mts_engine *engine, const mts_filters *s)
{
    const uint64_t base = s->base_words * sizeof(uint32_t);
    const uint64_t used = engine->stats.peak_bytes + mts_frames_bytes(&engine->frames) + base;
    const mts_memory_budget budget = engine->options.memory_budget;
    const uint64_t region = s->region_words * sizeof(uint32_t);
    uint32_t count = MTS_FILTERS_CHUNK;
    while (count > 0 && (!mts_memory_budget_fits(budget, used + count * region) ||
                         s->base_words + count * s->region_words >= UINT32_MAX)) {
        count--;
    }
    return count;
}

/* Zeros on the host that are copied to the device without a wait: pinned, where the
   driver has that. */
static mts_status host_words(const mts_engine *engine, size_t words, void **out, mts_error *error)
{
    const size_t bytes = (words > 0 ? words : 1) * sizeof(uint32_t);
    const mts_status status = mts_host_create(engine->device, bytes, out, error);
    if (status == MTS_STATUS_OK) {
        memset(*out, 0, bytes);
    }
    return status;
}

static void destroy_words(const mts_engine *engine, uint32_t *words)
{
    void *memory = words;
    mts_host_destroy(engine->device, &memory);
}

static mts_status allocate(const mts_engine *engine, mts_filters *s, mts_error *error)
{
    const mts_allocator *a = engine->allocator;
    const mts_engine_tasks *tasks = &engine->tasks;
    mts_task_filter *f = &s->filter;
    f->mask_stage = mts_alloc_zero(a, f->of.mask_count, sizeof *f->mask_stage);
    s->task_group = mts_alloc_zero(a, tasks->count, sizeof *s->task_group);
    if (!f->mask_stage || !s->task_group) {
        return mts_fail_memory(error);
    }
    for (uint32_t t = 0; t < tasks->count; t++) {
        s->task_group[t] = tasks->items[t].group;
    }
    f->of.encoded = engine->launches.encoded;
    f->of.launches = engine->launches.items;
    f->of.launch_count = engine->launches.count;
    f->of.task_group = s->task_group;
    f->of.task_count = tasks->count;
    f->of.group_count = tasks->group_count;
    s->sizes = mts_task_filter_prepare(f);
    s->region_words = s->sizes.region_words;
    s->region_count = engine->submissions.depth;
    s->base_words = (uint32_t)(engine->launches.params->size / sizeof(uint32_t));
    f->moved = mts_alloc_zero(a, s->sizes.jobs, sizeof *f->moved);
    void *base = NULL;
    void *regions = NULL;
    mts_status status = f->moved ? MTS_STATUS_OK : mts_fail_memory(error);
    MTS_TRY(status, host_words(engine, s->base_words, &base, error));
    MTS_TRY(status, host_words(engine, s->region_count * s->region_words, &regions, error));
    f->of.params = s->base = base;
    s->regions = regions;
    return status;
}

static void drop_lists(const mts_engine *engine, mts_filtered *filtered)
{
    for (uint32_t g = 0; filtered->lists && g < engine->tasks.group_count; g++) {
        mts_command_list_destroy(&filtered->lists[g]);
    }
}

static void release_kept(const mts_engine *engine, mts_filtered *kept)
{
    const mts_allocator *a = engine->allocator;
    drop_lists(engine, kept);
    mts_alloc_free(a, kept->active);
    mts_alloc_free(a, kept->launches.launches);
    mts_alloc_free(a, kept->launches.origins);
    mts_alloc_free(a, kept->launches.stage_first);
    mts_alloc_free(a, kept->lists);
    mts_alloc_free(a, kept->list_first);
    mts_alloc_free(a, kept->list_origins);
    *kept = (mts_filtered){0};
}

void mts_filters_release(mts_engine *engine)
{
    const mts_allocator *a = engine->allocator;
    mts_filters *s = &engine->filters;
    for (uint32_t k = 0; k < MTS_FILTERS_KEPT; k++) {
        release_kept(engine, &s->kept[k]);
    }
    for (uint32_t c = 0; c < MTS_FILTERS_KEPT / MTS_FILTERS_CHUNK; c++) {
        mts_buffer_destroy(&s->params[c]);
    }
    destroy_words(engine, s->base);
    mts_alloc_free(a, s->task_group);
    destroy_words(engine, s->regions);
    mts_alloc_free(a, s->filter.mask_stage);
    mts_alloc_free(a, s->filter.moved);
    *s = (mts_filters){.filter = {.of = s->filter.of}};
}

/* Space for further masks; the engine's kernel parameters go to the start of its
   buffer. */
static mts_status add_chunk(mts_engine *engine, mts_error *error)
{
    mts_filters *s = &engine->filters;
    mts_buffer **params = &s->params[s->kept_count / MTS_FILTERS_CHUNK];
    const uint32_t count = chunk_masks(engine, s);
    const size_t base = s->base_words * sizeof *s->base;
    const size_t bytes = base + count * s->region_words * sizeof *s->base;
    if (count == 0) {
        return mts_fail(error, MTS_STATUS_LIMIT,
                        "running some of the tasks needs %" PRIu64
                        " more bytes, which the memory budget of %" PRIu64 " does not allow",
                        (uint64_t)base + s->region_words * sizeof *s->base,
                        engine->options.memory_budget.bytes);
    }
    mts_status status =
        allocate_kept(engine, s, s->kept_count + count) ? MTS_STATUS_OK : mts_fail_memory(error);
    MTS_TRY(status, mts_buffer_create(engine->device, bytes, params, error));
    MTS_TRY(status, mts_buffer_write_async(*params, 0, s->base, base, error));
    if (status != MTS_STATUS_OK) {
        mts_buffer_destroy(params);
        for (uint32_t k = s->kept_count; k < s->kept_count + count; k++) {
            release_kept(engine, &s->kept[k]);
        }
        return status;
    }
    s->kept_count += count;
    s->full = count < MTS_FILTERS_CHUNK || s->kept_count == MTS_FILTERS_KEPT;
    engine->stats.workspace_bytes += bytes;
    engine->stats.peak_bytes += bytes;
    return MTS_STATUS_OK;
}

/* Makes everything that all masks share, and space for the first ones. */
static mts_status prepare(mts_engine *engine, mts_error *error)
{
    mts_filters *s = &engine->filters;
    mts_status status = allocate(engine, s, error);
    MTS_TRY(status,
            mts_buffer_read(engine->launches.params, 0, s->base, s->base_words * sizeof *s->base, error));
    MTS_TRY(status, add_chunk(engine, error));
    if (status != MTS_STATUS_OK) {
        mts_filters_release(engine);
    }
    return status;
}

/* Whether the lists are of the same launches: then their kernels and accesses are, too. */
static bool has_same_launches(const mts_filtered *filtered, uint32_t groups)
{
    const mts_filtered_launches *l = &filtered->launches;
    const uint32_t count = l->stage_first[groups];
    return memcmp(filtered->list_first, l->stage_first, (groups + 1) * sizeof *l->stage_first) == 0 &&
           memcmp(filtered->list_origins, l->origins, count * sizeof *l->origins) == 0;
}

/* Gives a list its launches, which it may have been made of; else makes it anew. */
static mts_status make_list(const mts_engine *engine, const mts_launch *launches, uint32_t count,
                            mts_command_list **list, mts_error *error)
{
    if (*list) {
        const mts_status status = mts_command_list_update(*list, launches, count, error);
        if (status == MTS_STATUS_OK) {
            return status;
        }
        mts_command_list_destroy(list); /* a list whose update failed is unusable */
        if (status != MTS_STATUS_UNSUPPORTED) {
            return status;
        }
    }
    return count > 0 ? mts_command_list_create(engine->device, launches, count, list, error) : MTS_STATUS_OK;
}

static mts_status make_lists(const mts_engine *engine, mts_filtered *filtered, mts_error *error)
{
    const mts_filtered_launches *l = &filtered->launches;
    const uint32_t groups = engine->tasks.group_count;
    const size_t chunk = (size_t)(filtered - engine->filters.kept) / MTS_FILTERS_CHUNK;
    mts_buffer *params = engine->filters.params[chunk];
    mts_status status = MTS_STATUS_OK;
    if (!has_same_launches(filtered, groups)) {
        drop_lists(engine, filtered);
    }
    for (uint32_t g = 0; status == MTS_STATUS_OK && g < groups; g++) {
        const uint32_t first = l->stage_first[g];
        const uint32_t count = l->stage_first[g + 1] - first;
        for (uint32_t i = first; i < first + count; i++) {
            l->launches[i].params = params;
            mts_launches_bind(&engine->launches, &engine->inputs.slots, l->origins[i], NULL, &l->launches[i]);
        }
        status = make_list(engine, l->launches + first, count, &filtered->lists[g], error);
    }
    memcpy(filtered->list_first, l->stage_first, (groups + 1) * sizeof *l->stage_first);
    memcpy(filtered->list_origins, l->origins, l->stage_first[groups] * sizeof *l->origins);
    filtered->generation = engine->inputs.slots.generation;
    return status;
}

/*
 * Fills the region of a kept mask, and makes its lists. The copy to the device may still
 * be in the queue afterwards: it belongs to a run, and has ended when as many runs as
 * there are regions on the host have followed.
 */
static mts_status make(mts_engine *engine, mts_filtered *filtered, mts_error *error)
{
    mts_filters *s = &engine->filters;
    const size_t slot = (size_t)(filtered - s->kept) % MTS_FILTERS_CHUNK;
    mts_buffer *params = s->params[(size_t)(filtered - s->kept) / MTS_FILTERS_CHUNK];
    const uint32_t origin = s->base_words + (uint32_t)(slot * s->region_words);
    s->filter.region = s->regions + s->clock % s->region_count * s->region_words;
    const size_t words =
        mts_task_filter_run(&s->filter, filtered->active, filtered->split, origin, &filtered->launches);
    const mts_status status = mts_buffer_write_async(params, origin * sizeof(uint32_t), s->filter.region,
                                                     words * sizeof(uint32_t), error);
    return status == MTS_STATUS_OK ? make_lists(engine, filtered, error) : status;
}

/* The lists of a mask, or those that were not used for longest. */
static mts_filtered *find(mts_filters *s, const uint32_t *active, size_t mask_bytes, bool split, bool *found)
{
    mts_filtered *oldest = &s->kept[0];
    *found = false;
    for (uint32_t k = 0; k < s->kept_count; k++) {
        mts_filtered *kept = &s->kept[k];
        if (kept->made && kept->split == split && memcmp(kept->active, active, mask_bytes) == 0) {
            *found = true;
            return kept;
        }
        oldest = kept->used < oldest->used ? kept : oldest;
    }
    return oldest;
}

/*
 * Whether a run on the device may use the lists of a kept mask. Each run asked once, and
 * what failed after it asked left nothing on the device: so the lists of the last
 * `running` calls are in use at most.
 */
static bool is_in_use(const mts_filters *s, const mts_filtered *kept, uint32_t running)
{
    return kept->made && kept->used + running > s->clock;
}

mts_status mts_filters_get(mts_engine *engine, const uint32_t *active, bool split, uint32_t running,
                           mts_filtered **out, mts_error *error)
{
    mts_filters *s = &engine->filters;
    const size_t mask_bytes = engine->tasks.mask_words * sizeof *active;
    bool found = false;
    mts_status status = !s->base ? prepare(engine, error) : MTS_STATUS_OK;
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_filtered *filtered = find(s, active, mask_bytes, split, &found);
    if (!found && filtered->made && !s->full) { /* a mask goes only where no further chunk fits */
        s->full = add_chunk(engine, NULL) != MTS_STATUS_OK || s->full;
        filtered = find(s, active, mask_bytes, split, &found);
    }
    const bool stale = !found || filtered->generation != engine->inputs.slots.generation;
    if (stale && is_in_use(s, filtered, running)) {
        status = mts_device_wait(engine->device, error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
    }
    s->clock++;
    if (!found) {
        filtered->split = split;
        memcpy(filtered->active, active, mask_bytes);
        status = make(engine, filtered, error);
    } else if (filtered->generation != engine->inputs.slots.generation) {
        status = make_lists(engine, filtered, error);
    }
    filtered->made = status == MTS_STATUS_OK;
    filtered->used = s->clock;
    *out = filtered;
    return status;
}
