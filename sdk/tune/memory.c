/*
 * memory.c: keeps the memory budget by dry runs of plans. Which plan is fastest is
 * measured elsewhere (grouping.c, slicing.c).
 */
#include "tune/memory.h"
#include "plan/budget.h"

#include <string.h>

/* A plan that cannot be estimated is left out, and so is what it said. */
static mts_status forgive(const mts_planning *p, mts_status status)
{
    if (mts_sample_is_recoverable(status)) {
        *p->error = (mts_error){0};
        status = MTS_STATUS_OK;
    }
    return status;
}

/* Slices are halved this often before the smallest are tried. */
enum { STEPS = 7, SIZES_MOST = STEPS + 2 };

/* Sizes of slices worth trying, largest first; returns how many. Only stitched layers
   have slices. */
static int slice_sizes(const mts_planning *p, uint64_t sizes[SIZES_MOST])
{
    const uint64_t usual = mts_kernel_config_slice_bytes(&p->device->info);
    int count = 0;
    sizes[count++] = p->decision.slice_bytes;
    for (uint64_t size = (usual > 0 ? usual : MTS_SLICE_FIRST) / 2;
         p->options.strategy == MTS_STRATEGY_COMPACT && count <= STEPS; size /= 2) {
        sizes[count++] = size;
    }
    if (p->options.strategy == MTS_STRATEGY_COMPACT) {
        sizes[count++] = MTS_SLICE_SMALLEST;
    }
    return count;
}

mts_status mts_memory_footprint(mts_planning *p, const uint32_t *group_of, uint64_t slice_bytes,
                                const mts_kernel_configs *configs, mts_session_stats *stats)
{
    const mts_sample_request request = {.group_of = group_of, .slice_bytes = slice_bytes, .configs = configs};
    return mts_sample_footprint(p, &request, stats);
}

/* Tries slices, largest first, until the peak keeps the budget. *fits: it does, with
 * *slice_bytes; else *peak is that of the smallest slices and *least the smallest peak
 * seen. */
typedef struct attempt {
    bool fits;
    uint64_t slice_bytes, peak, least;
} attempt;

static mts_status try_slices(mts_planning *p, const uint32_t *group_of, const mts_kernel_configs *configs,
                             attempt *out)
{
    uint64_t sizes[SIZES_MOST];
    const int count = slice_sizes(p, sizes);
    mts_status status = MTS_STATUS_OK;
    *out = (attempt){.least = UINT64_MAX};
    for (int i = 0; status == MTS_STATUS_OK && !out->fits && i < count; i++) {
        mts_session_stats stats = {0};
        status = mts_memory_footprint(p, group_of, sizes[i], configs, &stats);
        out->slice_bytes = sizes[i];
        out->peak = stats.peak_bytes;
        out->least = stats.peak_bytes < out->least ? stats.peak_bytes : out->least;
        out->fits = mts_memory_budget_fits(p->options.memory_budget, stats.peak_bytes);
    }
    return status;
}

mts_status mts_memory_peak(mts_planning *p, const uint32_t *group_of, uint64_t *slice_bytes, uint64_t *peak)
{
    attempt found;
    const mts_status status = try_slices(p, group_of, p->decision.configs, &found);
    *slice_bytes = found.slice_bytes;
    *peak = found.peak;
    return status;
}

/* Every task in a group of its own, in the order of the classes. */
static uint32_t *each_alone(mts_planning *p)
{
    uint32_t *group_of = mts_arena_zero(&p->arena, p->task_count, sizeof *group_of);
    uint32_t next = 0;
    for (uint32_t number = 0; group_of && number < p->class_count; number++) {
        for (uint32_t t = 0; t < p->task_count; t++) {
            if (p->class_of[t] == number) {
                group_of[t] = next++;
            }
        }
    }
    return group_of;
}

/* ---- without a budget ---- */

#ifndef MTS_SMALL
/* Whether stitching can take more memory than tasks one by one: it joins some of them. */
static bool joins_tasks(const mts_planning *p)
{
    return p->options.strategy == MTS_STRATEGY_COMPACT && p->class_count < p->task_count &&
           !mts_memory_budget_is_limited(p->options.memory_budget);
}

/* Bytes of constants that the tasks hold one by one, as the bundle stores them: their
   least on a device. */
static mts_status constant_bytes(mts_planning *p, uint64_t *bytes)
{
    const size_t size = mts_precision_size(p->options.precision);
    uint32_t *seen = mts_alloc_zero(p->allocator, p->archive->block_count, sizeof *seen);
    *bytes = 0;
    for (uint32_t t = 0; seen && t < p->task_count; t++) {
        *bytes += mts_archive_block_bytes(p->archive, p->graphs[t], size, true, seen, t + 1);
    }
    mts_alloc_free(p->allocator, seen);
    return seen ? MTS_STATUS_OK : mts_planning_memory(p);
}

/*
 * What the session may take: a tenth above its tasks one by one. UINT64_MAX where it takes
 * less for certain, as the tasks' constants tell, or what they take at least. Only what
 * tells it without is encoded.
 */
static mts_status find_most(mts_planning *p, const mts_session_stats *stats, uint64_t *most)
{
    const mts_sample_request one_by_one = {.group_of = each_alone(p), .one_by_one = true};
    mts_session_stats alone = {0};
    uint64_t constants = 0;
    mts_status status = one_by_one.group_of ? constant_bytes(p, &constants) : mts_planning_memory(p);
    *most = UINT64_MAX;
    /* shared weights are stored once, so this is less in any case */
    if (status != MTS_STATUS_OK || stats->peak_bytes - stats->weight_bytes <= mts_memory_spare(constants)) {
        return status;
    }
    status = mts_sample_least(p, &one_by_one, &alone.peak_bytes);
    if (status == MTS_STATUS_OK && stats->peak_bytes > mts_memory_more(alone.peak_bytes)) {
        status = mts_sample_footprint(p, &one_by_one, &alone);
        *most = mts_memory_more(alone.peak_bytes);
    }
    return status;
}

/* Plans the session with slices of so many bytes. *fits: it takes at most `most` bytes, and
   is kept as the session's draft, and *kept is what it takes. */
static mts_status draft_within(mts_planning *p, uint64_t slices, uint64_t most, mts_session_stats *kept,
                               bool *fits)
{
    const mts_sample_request request = {
        .group_of = p->group_of, .slice_bytes = slices, .configs = p->decision.configs};
    mts_engine_draft *draft = NULL;
    mts_session_stats stats = {0};
    const mts_status status = mts_sample_draft(p, &request, &draft, &stats);
    *fits = status == MTS_STATUS_OK && stats.peak_bytes <= most;
    if (*fits) {
        *kept = stats;
        mts_engine_draft_destroy(&p->draft);
        p->draft = draft;
        draft = NULL;
    }
    mts_engine_draft_destroy(&draft);
    return status;
}

/* Slices are halved until they fit; then sizes between the last two are tried, because
   small slices are many launches. Where the smallest do not fit, those that it began with
   stay: they are the quicker ones. */
typedef struct interval {
    uint64_t fits, exceeds;
} interval;

static mts_status halve_slices(mts_planning *p, uint64_t most, mts_session_stats *kept, interval *i)
{
    enum { LEAST = 1 << 16 };
    const uint64_t usual = i->fits;
    mts_status status = MTS_STATUS_OK;
    bool fits = false;
    while (status == MTS_STATUS_OK && !fits && i->fits != MTS_SLICE_APART) {
        i->exceeds = i->fits;
        i->fits = i->exceeds == 0 ? MTS_SLICE_FIRST : i->exceeds / 2;
        i->fits = i->fits > LEAST ? i->fits : MTS_SLICE_APART;
        status = draft_within(p, i->fits, most, kept, &fits);
    }
    if (status == MTS_STATUS_OK && !fits) {
        mts_log_write(
            p->device->log, MTS_LOG_INFO,
            "no slices keep the session within %llu bytes, a tenth more than its tasks take one by one",
            (unsigned long long)most);
        *i = (interval){.fits = usual};
    }
    return status;
}

static mts_status bisect_slices(mts_planning *p, uint64_t most, mts_session_stats *kept, interval *i)
{
    mts_status status = MTS_STATUS_OK;
    for (int step = 0; status == MTS_STATUS_OK && step < 3 && i->exceeds > 0; step++) {
        const uint64_t size = i->fits + (i->exceeds - i->fits) / 2;
        bool fits = false;
        status = draft_within(p, size, most, kept, &fits);
        i->fits = fits ? size : i->fits;
        i->exceeds = fits ? i->exceeds : size;
    }
    return status;
}

/*
 * Slices of one task each, whose launches waves put together as memory allows
 * (plan/bounded_waves.h), instead of those that fit, whose session has so many launches. Only
 * where waves are: else they are more launches.
 */
static mts_status try_smallest(mts_planning *p, uint64_t most, const mts_session_stats *fits,
                               uint64_t *slice_bytes)
{
    const mts_sample_request request = {
        .group_of = p->group_of, .slice_bytes = MTS_SLICE_SMALLEST, .configs = p->decision.configs};
    mts_engine_draft *draft = NULL;
    mts_session_stats stats = {0};
    if (p->device->info.launch_ns == 0) {
        return MTS_STATUS_OK;
    }
    const mts_status status = mts_sample_draft(p, &request, &draft, &stats);
    if (status == MTS_STATUS_OK && stats.peak_bytes <= most && stats.launches < fits->launches &&
        stats.mul_adds <= fits->mul_adds) {
        mts_engine_draft_destroy(&p->draft);
        p->draft = draft;
        draft = NULL;
        *slice_bytes = MTS_SLICE_SMALLEST;
    }
    mts_engine_draft_destroy(&draft);
    return status == MTS_STATUS_OK ? status : forgive(p, status); /* those that fit remain */
}

/* The largest slices with which the session takes little enough, or those of the device. */
static mts_status choose_slices(mts_planning *p, uint64_t *slice_bytes)
{
    const mts_sample_request usual = {
        .group_of = p->group_of, .slice_bytes = *slice_bytes, .configs = p->decision.configs};
    interval sizes = {.fits = *slice_bytes};
    mts_session_stats stats = {0};
    uint64_t most = UINT64_MAX;
    mts_status status = mts_sample_draft(p, &usual, &p->draft, &stats);
    MTS_TRY(status, find_most(p, &stats, &most));
    if (status == MTS_STATUS_OK && stats.peak_bytes > most) {
        status = halve_slices(p, most, &stats, &sizes);
        MTS_TRY(status, bisect_slices(p, most, &stats, &sizes));
        if (status == MTS_STATUS_OK && stats.peak_bytes <= most) {
            status = try_smallest(p, most, &stats, &sizes.fits);
        }
    }
    *slice_bytes = sizes.fits;
    return status;
}
#endif

mts_status mts_memory_choose_slices(mts_planning *p)
{
    mts_status status = MTS_STATUS_OK;
#ifndef MTS_SMALL
    if (joins_tasks(p)) {
        uint64_t slices = p->usual_slice_bytes;
        status = choose_slices(p, &slices);
        p->usual_slice_bytes = status == MTS_STATUS_OK ? slices : p->usual_slice_bytes;
        if (status != MTS_STATUS_OK || p->options.persistent) {
            mts_engine_draft_destroy(&p->draft); /* drafts have no persistent launches */
        }
        /* what cannot be estimated says so when it is created */
        status = forgive(p, status);
    }
#endif
    p->decision.slice_bytes = p->usual_slice_bytes;
    return status;
}

static mts_status over_budget(const mts_planning *p, uint64_t smallest)
{
    return mts_fail(p->error, MTS_STATUS_LIMIT,
                    "no plan keeps the memory budget of %llu bytes; the smallest that can be met is %llu",
                    (unsigned long long)p->options.memory_budget.bytes, (unsigned long long)smallest);
}

/* ---- the plan that takes least ---- */

/* Of a few plans that are always counted, so that a budget of the smallest can be met,
   whatever is measured. */
typedef struct smallest {
    uint64_t peak, slice_bytes;
    const uint32_t *group_of;
} smallest;

static mts_status consider(mts_planning *p, const uint32_t *group_of, uint64_t slice_bytes, smallest *least)
{
    mts_session_stats stats = {0};
    const mts_status status = mts_memory_footprint(p, group_of, slice_bytes, NULL, &stats);
    if (status != MTS_STATUS_OK) {
        return least->group_of ? forgive(p, status) : status;
    }
    if (!least->group_of || stats.peak_bytes < least->peak) {
        *least = (smallest){.peak = stats.peak_bytes, .slice_bytes = slice_bytes, .group_of = group_of};
        p->fixed_bytes =
            p->options.strategy == MTS_STRATEGY_COMPACT ? stats.weight_bytes + stats.workspace_bytes : 0;
    }
    return MTS_STATUS_OK;
}

mts_status mts_memory_find_least(mts_planning *p)
{
    smallest least = {0};
    if (!mts_memory_budget_is_limited(p->options.memory_budget) || p->least_groups) {
        return MTS_STATUS_OK;
    }
    uint32_t *whole = mts_arena_zero(&p->arena, p->task_count, sizeof *whole);
    const uint32_t *alone = each_alone(p);
    if (!whole || !alone) {
        return mts_planning_memory(p);
    }
    memcpy(whole, p->class_of, p->task_count * sizeof *whole);
    mts_status status = consider(p, alone, p->decision.slice_bytes, &least);
    MTS_TRY(status, consider(p, alone, MTS_SLICE_SMALLEST, &least));
    MTS_TRY(status, consider(p, whole, p->decision.slice_bytes, &least));
    MTS_TRY(status, consider(p, whole, MTS_SLICE_SMALLEST, &least));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    if (!mts_memory_budget_fits(p->options.memory_budget, least.peak)) {
        return over_budget(p, least.peak);
    }
    p->least_groups = least.group_of;
    p->least_slice_bytes = least.slice_bytes;
    return MTS_STATUS_OK;
}

/* The slices stay: what is measured next is measured with the usual ones. */
mts_status mts_memory_use_least(mts_planning *p)
{
    mts_session_stats stats = {0};
    mts_status status = mts_memory_find_least(p);
    if (status != MTS_STATUS_OK || !mts_memory_budget_is_limited(p->options.memory_budget)) {
        return status;
    }
    memcpy(p->group_of, p->least_groups, p->task_count * sizeof *p->group_of);
    status = mts_memory_footprint(p, p->group_of, p->least_slice_bytes, p->decision.configs, &stats);
    if (status == MTS_STATUS_OK && !mts_memory_budget_fits(p->options.memory_budget, stats.peak_bytes)) {
        p->decision.configs = NULL; /* smaller tiles need more kernel parameters */
    }
    return status;
}

/* ---- making a decision fit ---- */

static mts_status fit_slices(mts_planning *p, const mts_kernel_configs *configs, attempt *found)
{
    const mts_status status = try_slices(p, p->group_of, configs, found);
    if (status == MTS_STATUS_OK && found->fits) {
        p->decision.slice_bytes = found->slice_bytes;
        p->decision.configs = configs;
    }
    return status;
}

mts_status mts_memory_fit(mts_planning *p)
{
    attempt found = {.fits = !mts_memory_budget_is_limited(p->options.memory_budget)};
    mts_status status = MTS_STATUS_OK;
    if (!found.fits && p->decision.configs) {
        status = fit_slices(p, p->decision.configs, &found);
    }
    if (status == MTS_STATUS_OK && !found.fits) {
        status = fit_slices(p, NULL, &found);
    }
    if (status != MTS_STATUS_OK || found.fits) {
        return status;
    }
    if (!p->least_groups) {
        return over_budget(p, found.least);
    }
    memcpy(p->group_of, p->least_groups, p->task_count * sizeof *p->group_of);
    p->decision.slice_bytes = p->least_slice_bytes;
    p->decision.configs = NULL;
    return MTS_STATUS_OK;
}
