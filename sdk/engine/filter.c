/*
 * filter.c: choosing entries of launches, and the lists made of them. Not responsible for which tasks run
 * (control.c).
 */
#include "engine/filter.h"

#include <string.h>

#include "engine/engine_internal.h"

enum {
    TILE_WORDS = MTS_PARAM_WORDS(mts_tile_params),
    BLOCK_WORDS = MTS_PARAM_WORDS(mts_block_params),
    JOB_WORDS = MTS_PARAM_WORDS(mts_conv_params),
    EPILOGUE_WORDS = MTS_PARAM_WORDS(mts_epilogue_params)
};

/* A region while it is filled. */
typedef struct filter {
    const mts_engine *engine;
    mts_subsets *all;
    bool split;
    uint32_t stage;
    uint32_t origin; /* table index of the region */
    size_t used;     /* words of it */
} filter;

static mts_status no_memory(mts_error *error)
{
    return mts_fail_memory(error);
}

/* Appends words to the region; their table index. */
static uint32_t put(filter *f, const uint32_t *words, size_t count)
{
    const uint32_t at = f->origin + (uint32_t)f->used;
    memcpy(f->all->region + f->used, words, count * sizeof *words);
    f->used += count;
    return at;
}

/* Whether something that serves a set runs in this stage, as a part of launch `index`. */
static bool serves(const filter *f, uint32_t index, uint32_t set)
{
    const uint32_t stage = f->all->set_stage[set];
    const uint32_t planned = f->all->launch_stage[index];
    return stage != MTS_NONE && (!f->split || (planned != MTS_NONE ? planned : stage) == f->stage);
}

static bool keeps(const filter *f, uint32_t index, uint32_t entry)
{
    const mts_entries *entries = &f->engine->launches[index].entries;
    return serves(f, index, entries->masks ? entries->masks[entry] : MTS_TASKS_ALL);
}

/* Copies of jobs that lose an epilogue. */
static void move_jobs(filter *f, uint32_t index)
{
    const mts_entries *entries = &f->engine->launches[index].entries;
    const uint32_t *base = f->all->base;
    for (uint32_t j = 0; j < entries->job_count; j++) {
        const mts_entry_job *job = &entries->jobs[j];
        uint32_t kept = 0;
        for (uint32_t e = 0; e < job->epilogues; e++) {
            kept += serves(f, index, job->masks[e]) ? 1 : 0;
        }
        f->all->moved[j] = job->at;
        if (kept == 0 || kept == job->epilogues) {
            continue;
        }
        mts_conv_params record;
        memcpy(&record, base + job->at, sizeof record);
        record.epilogues = kept;
        record.epilogue = f->origin + (uint32_t)f->used;
        for (uint32_t e = 0; e < job->epilogues; e++) {
            if (serves(f, index, job->masks[e])) {
                put(f, base + job->epilogue + (size_t)e * EPILOGUE_WORDS, EPILOGUE_WORDS);
            }
        }
        f->all->moved[j] = put(f, (const uint32_t *)(const void *)&record, JOB_WORDS);
    }
}

/* Where a job is now. */
static uint32_t job_at(const filter *f, const mts_entries *entries, uint32_t at)
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
    return low < entries->job_count && entries->jobs[low].at == at ? f->all->moved[low] : at;
}

/* Tiles that are kept; their number. */
static uint32_t keep_tiles(filter *f, uint32_t index, uint32_t *first)
{
    const mts_entries *entries = &f->engine->launches[index].entries;
    uint32_t count = 0;
    move_jobs(f, index);
    *first = f->origin + (uint32_t)f->used;
    for (uint32_t i = 0; i < entries->count; i++) {
        if (keeps(f, index, i)) {
            mts_tile_params tile;
            memcpy(&tile, f->all->base + entries->first + (size_t)i * TILE_WORDS, sizeof tile);
            tile.job = job_at(f, entries, tile.job);
            put(f, (const uint32_t *)(const void *)&tile, TILE_WORDS);
            count++;
        }
    }
    return count;
}

/* The same as parts of blocks; the number of blocks. */
static uint32_t keep_blocks(filter *f, uint32_t index, uint32_t *first)
{
    const mts_entries *entries = &f->engine->launches[index].entries;
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
        memcpy(f->all->region + f->used - BLOCK_WORDS, &block, sizeof block);
        at += TILE_WORDS;
    }
    return count;
}

/* Also lowers the grid to the highest record that is kept. */
static uint32_t keep_records(filter *f, uint32_t index, uint32_t *first, uint32_t *height)
{
    const mts_entries *entries = &f->engine->launches[index].entries;
    uint32_t count = 0;
    uint32_t highest = 0;
    *first = f->origin + (uint32_t)f->used;
    for (uint32_t i = 0; i < entries->count; i++) {
        if (keeps(f, index, i)) {
            put(f, f->all->base + entries->first + (size_t)i * entries->words, entries->words);
            highest = entries->heights && entries->heights[i] > highest ? entries->heights[i] : highest;
            count++;
        }
    }
    *height = highest > 0 ? highest : *height;
    return count;
}

/* A record of fully connected outputs; where nothing of it serves, it stores nothing. */
static void put_sharing(filter *f, uint32_t index, uint32_t entry)
{
    enum { EPILOGUES = offsetof(mts_fc_params, epilogues) / sizeof(uint32_t) };
    const mts_entries *entries = &f->engine->launches[index].entries;
    uint32_t *copy = f->all->region + f->used;
    put(f, f->all->base + entries->first + (size_t)entry * entries->words, entries->words);
    copy[EPILOGUES] = keeps(f, index, entry) ? copy[EPILOGUES] : 0;
}

/*
 * Kernels take the records of a leader and its mates four, two or one at a time, and add up in an order that
 * depends on how many. So that sums keep their bits, such a party is kept or dropped as a whole.
 */
static uint32_t keep_sharing(filter *f, uint32_t index, uint32_t *first)
{
    enum { SHARING = offsetof(mts_fc_params, sharing) / sizeof(uint32_t) };
    const mts_entries *entries = &f->engine->launches[index].entries;
    uint32_t count = 0;
    *first = f->origin + (uint32_t)f->used;
    for (uint32_t i = 0; i < entries->count;) {
        uint32_t left = f->all->base[entries->first + (size_t)i * entries->words + SHARING] + 1;
        uint32_t *leader = NULL;
        while (left > 0) {
            const uint32_t party = left >= 4 ? 4 : left >= 2 ? 2 : 1;
            bool kept = false;
            for (uint32_t k = i; k < i + party; k++) {
                kept = kept || keeps(f, index, k);
            }
            for (uint32_t k = i; kept && k < i + party; k++, count++) {
                uint32_t *copy = f->all->region + f->used;
                put_sharing(f, index, k);
                leader = leader ? leader : copy;
                copy[SHARING] = MTS_PARAM_NONE;
                leader[SHARING] = (uint32_t)((copy - leader) / (ptrdiff_t)entries->words);
            }
            left -= party;
            i += party;
        }
    }
    return count;
}

/* What is left of a launch; false: nothing. */
static bool keep_launch(filter *f, uint32_t index, mts_launch *out)
{
    const mts_entries *entries = &f->engine->launches[index].entries;
    uint32_t count = 0;
    uint32_t first = 0;
    *out = f->engine->recorded[index];
    out->params = f->all->table;
    if (entries->kind == MTS_ENTRY_WHOLE || (!entries->masks && entries->job_count == 0)) {
        return keeps(f, index, 0); /* the engine's table stands at the start of this one */
    }
    switch (entries->kind) {
    case MTS_ENTRY_TILE:
        count = keep_tiles(f, index, &first);
        break;
    case MTS_ENTRY_BLOCK:
        count = keep_blocks(f, index, &first);
        break;
    case MTS_ENTRY_SHARING:
        count = keep_sharing(f, index, &first);
        break;
    default:
        count = keep_records(f, index, &first, &out->global[1]);
        break;
    }
    const bool groups = entries->kind == MTS_ENTRY_TILE || entries->kind == MTS_ENTRY_BLOCK;
    out->first = first;
    out->global[groups ? 0 : 2] = groups ? count * out->local[0] : count;
    return count > 0;
}

static size_t region_words(const mts_engine *engine, uint32_t index, uint32_t *most_jobs)
{
    const mts_entries *entries = &engine->launches[index].entries;
    const mts_launch *launch = &engine->recorded[index];
    if (entries->kind == MTS_ENTRY_WHOLE) {
        return 0;
    }
    size_t words = (size_t)entries->count * entries->words;
    words +=
        entries->kind == MTS_ENTRY_BLOCK ? launch->global[0] / launch->local[0] * (size_t)BLOCK_WORDS : 0;
    for (uint32_t j = 0; j < entries->job_count; j++) {
        words += JOB_WORDS + (size_t)entries->jobs[j].epilogues * EPILOGUE_WORDS;
    }
    *most_jobs = entries->job_count > *most_jobs ? entries->job_count : *most_jobs;
    return words;
}

/* The group before whose layers a launch stands, and how many launches stand behind all. */
static uint32_t find_stages(const mts_engine *engine, uint32_t *stages)
{
    uint32_t stage = MTS_NONE;
    uint32_t behind = 0;
    for (uint32_t i = engine->launch_count; i-- > 0;) {
        stage = engine->launches[i].layer != MTS_NONE ? engine->launches[i].group : stage;
        stages[i] = stage;
        behind += stage == MTS_NONE ? 1 : 0;
    }
    return behind;
}

static bool allocate_kept(const mts_engine *engine, mts_subsets *s)
{
    const mts_allocator *a = engine->allocator;
    for (uint32_t k = 0; k < s->kept_count; k++) {
        mts_subset *kept = &s->kept[k];
        kept->tasks = mts_alloc_zero(a, s->words, sizeof *kept->tasks);
        kept->launches = mts_alloc_zero(a, s->capacity, sizeof *kept->launches);
        kept->sources = mts_alloc_zero(a, s->capacity, sizeof *kept->sources);
        kept->stage_first = mts_alloc_zero(a, (size_t)engine->group_count + 1, sizeof *kept->stage_first);
        kept->lists = mts_alloc_zero(a, engine->group_count, sizeof *kept->lists);
        if (!kept->tasks || !kept->launches || !kept->sources || !kept->stage_first || !kept->lists) {
            return false;
        }
    }
    return true;
}

/* Sizes and host memory. */
static mts_status allocate(const mts_engine *engine, mts_subsets *s, mts_error *error)
{
    const mts_allocator *a = engine->allocator;
    uint32_t jobs = 0;
    s->launch_stage = mts_alloc_zero(a, engine->launch_count, sizeof *s->launch_stage);
    s->set_stage = mts_alloc_zero(a, s->set_count, sizeof *s->set_stage);
    if (!s->launch_stage || !s->set_stage) {
        return no_memory(error);
    }
    const uint32_t behind = find_stages(engine, s->launch_stage);
    for (uint32_t i = 0; i < engine->launch_count; i++) {
        s->region_words += region_words(engine, i, &jobs);
    }
    s->capacity = engine->launch_count + behind * engine->group_count;
    s->base_words = (uint32_t)(engine->table->size / sizeof(uint32_t));
    const uint64_t used = engine->stats.peak_bytes + mts_frames_bytes(&engine->frames) + engine->table->size;
    s->kept_count = MTS_SUBSETS_KEPT;
    while (s->kept_count > 0 &&
           (!mts_memory_budget_fits(engine->options.memory_budget,
                                    used + s->kept_count * s->region_words * sizeof(uint32_t)) ||
            s->base_words + s->kept_count * s->region_words >= UINT32_MAX)) {
        s->kept_count--;
    }
    if (s->kept_count == 0) {
        return mts_fail(
            error, MTS_STATUS_LIMIT,
            "running some of the tasks takes %llu more bytes, which the memory budget does not allow",
            (unsigned long long)(engine->table->size + s->region_words * sizeof(uint32_t)));
    }
    s->base = mts_alloc_zero(a, s->base_words, sizeof *s->base);
    s->region = mts_alloc_zero(a, s->region_words, sizeof *s->region);
    s->moved = mts_alloc_zero(a, jobs, sizeof *s->moved);
    return s->base && s->region && s->moved && allocate_kept(engine, s) ? MTS_STATUS_OK : no_memory(error);
}

static void release(const mts_engine *engine, mts_subsets *s)
{
    const mts_allocator *a = engine->allocator;
    for (uint32_t k = 0; k < MTS_SUBSETS_KEPT; k++) {
        mts_subset *kept = &s->kept[k];
        for (uint32_t g = 0; kept->lists && g < engine->group_count; g++) {
            mts_command_list_destroy(&kept->lists[g]);
        }
        mts_alloc_free(a, kept->tasks);
        mts_alloc_free(a, kept->launches);
        mts_alloc_free(a, kept->sources);
        mts_alloc_free(a, kept->stage_first);
        mts_alloc_free(a, kept->lists);
    }
    mts_buffer_destroy(&s->table);
    mts_alloc_free(a, s->base);
    mts_alloc_free(a, s->region);
    mts_alloc_free(a, s->launch_stage);
    mts_alloc_free(a, s->set_stage);
    mts_alloc_free(a, s->moved);
    *s = (mts_subsets){.words = s->words, .set_bits = s->set_bits, .set_count = s->set_count};
}

void mts_subsets_release(mts_engine *engine)
{
    release(engine, &engine->subsets);
}

/* The second table, with the engine's at its start. */
static mts_status prepare(mts_engine *engine, mts_error *error)
{
    mts_subsets *s = &engine->subsets;
    mts_status code = allocate(engine, s, error);
    const size_t base = s->base_words * sizeof *s->base;
    const size_t bytes = base + s->kept_count * s->region_words * sizeof *s->base;
    MTS_TRY(code, mts_buffer_read(engine->table, 0, s->base, base, error));
    MTS_TRY(code, mts_buffer_create(engine->device, bytes, &s->table, error));
    MTS_TRY(code, mts_buffer_write(s->table, 0, s->base, base, error));
    if (code != MTS_STATUS_OK) {
        release(engine, s);
        return code;
    }
    engine->stats.workspace_bytes += bytes;
    engine->stats.peak_bytes += bytes;
    return MTS_STATUS_OK;
}

/* The first group of each set's tasks that run. */
static void find_set_stages(const mts_engine *engine, mts_subsets *s, const uint32_t *tasks)
{
    for (uint32_t i = 0; i < s->set_count; i++) {
        s->set_stage[i] = MTS_NONE;
        for (uint32_t t = 0; t < engine->task_count; t++) {
            const uint32_t both = s->set_bits[(size_t)i * s->words + t / 32] & tasks[t / 32];
            const uint32_t group = engine->tasks[t].group;
            if ((both >> t % 32 & 1u) != 0 && group < s->set_stage[i]) { /* MTS_NONE is the largest */
                s->set_stage[i] = group;
            }
        }
    }
}

static void drop_lists(const mts_engine *engine, mts_subset *subset)
{
    for (uint32_t g = 0; g < engine->group_count; g++) {
        mts_command_list_destroy(&subset->lists[g]);
    }
}

static mts_status make_lists(const mts_engine *engine, mts_subset *subset, mts_error *error)
{
    mts_status code = MTS_STATUS_OK;
    drop_lists(engine, subset);
    for (uint32_t g = 0; code == MTS_STATUS_OK && g < engine->group_count; g++) {
        const uint32_t first = subset->stage_first[g];
        const uint32_t count = subset->stage_first[g + 1] - first;
        for (uint32_t i = first; i < first + count; i++) {
            const uint32_t source = subset->sources[i];
            subset->launches[i].pool = source == 0 ? engine->pool : engine->slots[source - 1].buffer;
        }
        if (count > 0) {
            code = mts_command_list_create(engine->device, subset->launches + first, count, &subset->lists[g],
                                           error);
        }
    }
    subset->lendings = engine->lendings;
    return code;
}

/* Fills a kept subset's region of the table and makes its lists. */
static mts_status make(mts_engine *engine, mts_subset *subset, mts_error *error)
{
    mts_subsets *s = &engine->subsets;
    const size_t place = (size_t)(subset - s->kept);
    filter f = {.engine = engine, .all = s, .split = subset->split};
    uint32_t count = 0;
    f.origin = s->base_words + (uint32_t)(place * s->region_words);
    find_set_stages(engine, s, subset->tasks);
    for (uint32_t g = 0; g < engine->group_count; g++) {
        f.stage = g;
        subset->stage_first[g] = count;
        for (uint32_t i = 0; (g == 0 || f.split) && i < engine->launch_count; i++) {
            if ((!f.split || s->launch_stage[i] == g || s->launch_stage[i] == MTS_NONE) &&
                keep_launch(&f, i, &subset->launches[count])) {
                subset->sources[count++] = engine->launches[i].source;
            }
        }
    }
    subset->stage_first[engine->group_count] = count;
    const mts_status code = mts_buffer_write(s->table, f.origin * sizeof *s->region, s->region,
                                             f.used * sizeof *s->region, error);
    return code != MTS_STATUS_OK ? code : make_lists(engine, subset, error);
}

/* The subset of a set, or the one that was not used for longest. */
static mts_subset *find(mts_subsets *s, const uint32_t *tasks, bool split, bool *found)
{
    mts_subset *oldest = &s->kept[0];
    *found = false;
    for (uint32_t k = 0; k < s->kept_count; k++) {
        mts_subset *kept = &s->kept[k];
        if (kept->made && kept->split == split && memcmp(kept->tasks, tasks, s->words * sizeof *tasks) == 0) {
            *found = true;
            return kept;
        }
        oldest = kept->used < oldest->used ? kept : oldest;
    }
    return oldest;
}

mts_status mts_subset_get(mts_engine *engine, const uint32_t *tasks, bool split, mts_subset **out,
                          mts_error *error)
{
    mts_subsets *s = &engine->subsets;
    bool found = false;
    mts_status code = !s->table ? prepare(engine, error) : MTS_STATUS_OK;
    if (code != MTS_STATUS_OK) {
        return code;
    }
    mts_subset *subset = find(s, tasks, split, &found);
    if (!found) {
        subset->made = false;
        subset->split = split;
        if (mts_flights_on_device(engine)) { /* one of them may run the lists that go */
            code = mts_device_wait(engine->device, error);
            if (code != MTS_STATUS_OK) {
                return code;
            }
        }
        memcpy(subset->tasks, tasks, s->words * sizeof *tasks);
        drop_lists(engine, subset);
        code = make(engine, subset, error);
    } else if (subset->lendings != engine->lendings) {
        code = make_lists(engine, subset, error);
    }
    subset->made = code == MTS_STATUS_OK;
    subset->used = ++s->clock;
    *out = subset;
    return code;
}
