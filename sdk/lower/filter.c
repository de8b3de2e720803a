/*
 * filter.c: chooses the entries of launches that serve active tasks. Not responsible for
 * the command lists that are made of them (engine/filter.c).
 */
#include "lower/filter.h"

#include "device/kernel.h"

#include <string.h>

enum {
    TILE_WORDS = MTS_PARAM_WORDS(mts_tile_params),
    BLOCK_WORDS = MTS_PARAM_WORDS(mts_block_params),
    JOB_WORDS = MTS_PARAM_WORDS(mts_conv_params),
    EPILOGUE_WORDS = MTS_PARAM_WORDS(mts_epilogue_params)
};

/* A region while it is filled. */
typedef struct filling {
    mts_task_filter *filter;
    bool split;
    uint32_t stage;
    /* Index in the kernel parameters of the region's first word, and words in use. */
    uint32_t origin;
    size_t used;
} filling;

/* Appends words to the region; their index in the kernel parameters. */
static uint32_t put(filling *f, const uint32_t *words, size_t count)
{
    const uint32_t at = f->origin + (uint32_t)f->used;
    memcpy(f->filter->region + f->used, words, count * sizeof *words);
    f->used += count;
    return at;
}

/* Whether something that serves the tasks of a mask runs in this stage, as a part of
   launch `index`. */
static bool serves(const filling *f, uint32_t index, uint32_t mask)
{
    const uint32_t stage = f->filter->mask_stage[mask];
    const uint32_t planned = f->filter->of.encoded[index].stage;
    return stage != MTS_NONE && (!f->split || (planned != MTS_NONE ? planned : stage) == f->stage);
}

static bool keeps(const filling *f, uint32_t index, uint32_t entry)
{
    const mts_entries *entries = &f->filter->of.encoded[index].entries;
    return serves(f, index, entries->masks ? entries->masks[entry] : MTS_TASKS_ALL);
}

/* Copies of jobs that lose an epilogue. */
static void move_jobs(filling *f, uint32_t index)
{
    const mts_entries *entries = &f->filter->of.encoded[index].entries;
    const uint32_t *base = f->filter->of.params;
    for (uint32_t j = 0; j < entries->job_count; j++) {
        const mts_entry_job *job = &entries->jobs[j];
        uint32_t kept = 0;
        for (uint32_t e = 0; e < job->epilogues; e++) {
            kept += serves(f, index, job->masks[e]) ? 1 : 0;
        }
        f->filter->moved[j] = job->at;
        if (kept == 0 || kept == job->epilogues) {
            continue;
        }
        mts_conv_params params;
        memcpy(&params, base + job->at, sizeof params);
        params.epilogues = kept;
        params.epilogue = f->origin + (uint32_t)f->used;
        for (uint32_t e = 0; e < job->epilogues; e++) {
            if (serves(f, index, job->masks[e])) {
                put(f, base + job->epilogue + (size_t)e * EPILOGUE_WORDS, EPILOGUE_WORDS);
            }
        }
        f->filter->moved[j] = put(f, (const uint32_t *)(const void *)&params, JOB_WORDS);
    }
}

/* Where a job is now. */
static uint32_t job_at(const filling *f, const mts_entries *entries, uint32_t at)
{
    uint32_t low = 0;
    uint32_t high = entries->job_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (entries->jobs[middle].at < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < entries->job_count && entries->jobs[low].at == at ? f->filter->moved[low] : at;
}

/* Tiles that are kept; their number. */
static uint32_t keep_tiles(filling *f, uint32_t index, uint32_t *first)
{
    const mts_entries *entries = &f->filter->of.encoded[index].entries;
    uint32_t count = 0;
    move_jobs(f, index);
    *first = f->origin + (uint32_t)f->used;
    for (uint32_t i = 0; i < entries->count; i++) {
        if (keeps(f, index, i)) {
            mts_tile_params tile;
            memcpy(&tile, f->filter->of.params + entries->first + (size_t)i * TILE_WORDS, sizeof tile);
            tile.job = job_at(f, entries, tile.job);
            put(f, (const uint32_t *)(const void *)&tile, TILE_WORDS);
            count++;
        }
    }
    return count;
}

/* The same as parts of blocks; the number of blocks. */
static uint32_t keep_blocks(filling *f, uint32_t index, uint32_t *first)
{
    const mts_entries *entries = &f->filter->of.encoded[index].entries;
    mts_block_params block = {0};
    uint32_t at = 0;
    uint32_t count = 0;
    uint32_t run = 0;
    keep_tiles(f, index, &at);
    *first = f->origin + (uint32_t)f->used;
    for (uint32_t i = 0; i < entries->count; i++) {
        if (!keeps(f, index, i)) {
            continue;
        }
        if (count == 0 || block.parts == entries->parts || run != entries->runs[i]) {
            block = (mts_block_params){.part = at};
            run = entries->runs[i];
            count++;
            f->used += BLOCK_WORDS;
        }
        block.parts++;
        memcpy(f->filter->region + f->used - BLOCK_WORDS, &block, sizeof block);
        at += TILE_WORDS;
    }
    return count;
}

/* Also lowers the grid to what the highest entry that is kept needs. */
static uint32_t keep_params(filling *f, uint32_t index, uint32_t *first, uint32_t *height)
{
    const mts_entries *entries = &f->filter->of.encoded[index].entries;
    uint32_t count = 0;
    uint32_t highest = 0;
    *first = f->origin + (uint32_t)f->used;
    for (uint32_t i = 0; i < entries->count; i++) {
        if (keeps(f, index, i)) {
            put(f, f->filter->of.params + entries->first + (size_t)i * entries->words, entries->words);
            highest = entries->heights && entries->heights[i] > highest ? entries->heights[i] : highest;
            count++;
        }
    }
    *height = highest > 0 ? highest : *height;
    return count;
}

/* Copies the parameters of fully connected rows; rows that serve no active task store
   nothing. */
static void put_sharing(filling *f, uint32_t index, uint32_t entry)
{
    enum { EPILOGUES = offsetof(mts_fc_params, epilogues) / sizeof(uint32_t) };
    const mts_entries *entries = &f->filter->of.encoded[index].entries;
    uint32_t *copy = f->filter->region + f->used;
    put(f, f->filter->of.params + entries->first + (size_t)entry * entries->words, entries->words);
    copy[EPILOGUES] = keeps(f, index, entry) ? copy[EPILOGUES] : 0;
}

/*
 * Kernels take entries that share weights four, two or one at a time, and add up in an
 * order that depends on how many they take. Such a bundle is kept or left out as a whole,
 * so that sums keep their bits.
 */
static uint32_t keep_sharing(filling *f, uint32_t index, uint32_t *first)
{
    enum { SHARING = offsetof(mts_fc_params, sharing) / sizeof(uint32_t) };
    const mts_entries *entries = &f->filter->of.encoded[index].entries;
    uint32_t count = 0;
    *first = f->origin + (uint32_t)f->used;
    for (uint32_t i = 0; i < entries->count;) {
        uint32_t left = f->filter->of.params[entries->first + (size_t)i * entries->words + SHARING] + 1;
        uint32_t *head = NULL;
        while (left > 0) {
            const uint32_t bundle = left >= 4 ? 4 : left >= 2 ? 2 : 1;
            bool kept = false;
            for (uint32_t k = i; k < i + bundle; k++) {
                kept = kept || keeps(f, index, k);
            }
            for (uint32_t k = i; kept && k < i + bundle; k++, count++) {
                uint32_t *copy = f->filter->region + f->used;
                put_sharing(f, index, k);
                head = head ? head : copy;
                copy[SHARING] = MTS_PARAM_NONE;
                head[SHARING] = (uint32_t)((copy - head) / (ptrdiff_t)entries->words);
            }
            left -= bundle;
            i += bundle;
        }
    }
    return count;
}

/* Entries of the combined program that are kept, behind their number; the number of their
   work-groups. */
static uint32_t keep_mixed(filling *f, uint32_t index, uint32_t *first)
{
    const mts_entries *entries = &f->filter->of.encoded[index].entries;
    uint32_t count = 0;
    uint32_t groups = 0;
    uint32_t *number = f->filter->region + f->used;
    *first = put(f, &count, 1);
    for (uint32_t i = 0; i < entries->count; i++) {
        if (keeps(f, index, i)) {
            mts_mixed_params entry;
            memcpy(&entry, f->filter->of.params + entries->first + (size_t)i * entries->words, sizeof entry);
            entry.shift += entry.begin - groups;
            entry.begin = groups;
            put(f, (const uint32_t *)(const void *)&entry, entries->words);
            groups += entries->heights[i];
            count++;
        }
    }
    *number = count;
    return groups;
}

/* What is left of a launch; false: nothing. */
static bool keep_launch(filling *f, uint32_t index, mts_launch *out)
{
    const mts_entries *entries = &f->filter->of.encoded[index].entries;
    uint32_t count = 0;
    uint32_t first = 0;
    *out = f->filter->of.launches[index];
    out->params = NULL;
    out->pool = NULL;
    if (entries->kind == MTS_ENTRY_WHOLE || (!entries->masks && entries->job_count == 0)) {
        return keeps(f, index, 0); /* its parameters stay where they are */
    }
    switch (entries->kind) {
    case MTS_ENTRY_TILE:
        count = keep_tiles(f, index, &first);
        break;
    case MTS_ENTRY_BLOCK:
        count = keep_blocks(f, index, &first);
        break;
    case MTS_ENTRY_MIXED:
        count = keep_mixed(f, index, &first);
        break;
    case MTS_ENTRY_SHARING:
        count = keep_sharing(f, index, &first);
        break;
    default:
        count = keep_params(f, index, &first, &out->global[1]);
        break;
    }
    const bool groups = entries->kind == MTS_ENTRY_TILE || entries->kind == MTS_ENTRY_BLOCK ||
                        entries->kind == MTS_ENTRY_MIXED;
    out->first = first;
    out->global[groups ? 0 : 2] = groups ? count * out->local[0] : count;
    return count > 0;
}

/* Words that a launch needs at most. */
static size_t launch_words(const mts_task_filter_input *of, uint32_t index)
{
    const mts_entries *entries = &of->encoded[index].entries;
    const mts_launch *launch = &of->launches[index];
    if (entries->kind == MTS_ENTRY_WHOLE) {
        return 0;
    }
    size_t words = (size_t)entries->count * entries->words;
    words +=
        entries->kind == MTS_ENTRY_BLOCK ? launch->global[0] / launch->local[0] * (size_t)BLOCK_WORDS : 0;
    /* The number of entries, with every stage that has a part of the launch. */
    words += entries->kind != MTS_ENTRY_MIXED       ? 0
             : of->encoded[index].stage == MTS_NONE ? of->group_count
                                                    : 1;
    for (uint32_t j = 0; j < entries->job_count; j++) {
        words += JOB_WORDS + (size_t)entries->jobs[j].epilogues * EPILOGUE_WORDS;
    }
    return words;
}

mts_task_filter_sizes mts_task_filter_prepare(mts_task_filter *filter)
{
    const mts_task_filter_input *of = &filter->of;
    mts_task_filter_sizes sizes = {.launches = of->launch_count};
    for (uint32_t i = 0; i < of->launch_count; i++) {
        const mts_encoded_launch *encoded = &of->encoded[i];
        const uint32_t jobs = encoded->entries.kind != MTS_ENTRY_WHOLE ? encoded->entries.job_count : 0;
        /* Behind all layers: a part of it may be needed in every stage. */
        sizes.launches += encoded->stage == MTS_NONE ? of->group_count : 0;
        sizes.region_words += launch_words(of, i);
        sizes.jobs = jobs > sizes.jobs ? jobs : sizes.jobs;
    }
    return sizes;
}

/* The first task group of each mask's active tasks. */
static void find_mask_stages(mts_task_filter *filter, const uint32_t *active)
{
    const mts_task_filter_input *of = &filter->of;
    for (uint32_t i = 0; i < of->mask_count; i++) {
        filter->mask_stage[i] = MTS_NONE;
        for (uint32_t t = 0; t < of->task_count; t++) {
            const uint32_t both = of->masks[(size_t)i * of->mask_words + t / 32] & active[t / 32];
            const uint32_t group = of->task_group[t];
            if ((both >> t % 32 & 1u) != 0 && group < filter->mask_stage[i]) { /* MTS_NONE is the largest */
                filter->mask_stage[i] = group;
            }
        }
    }
}

size_t mts_task_filter_run(mts_task_filter *filter, const uint32_t *active, bool split, uint32_t origin,
                           mts_filtered_launches *out)
{
    const mts_task_filter_input *of = &filter->of;
    filling f = {.filter = filter, .split = split, .origin = origin};
    uint32_t count = 0;
    find_mask_stages(filter, active);
    for (uint32_t g = 0; g < of->group_count; g++) {
        f.stage = g;
        out->stage_first[g] = count;
        for (uint32_t i = 0; (g == 0 || split) && i < of->launch_count; i++) {
            const uint32_t stage = of->encoded[i].stage;
            if ((!split || stage == g || stage == MTS_NONE) && keep_launch(&f, i, &out->launches[count])) {
                out->origins[count++] = i;
            }
        }
    }
    out->stage_first[of->group_count] = count;
    return f.used;
}
