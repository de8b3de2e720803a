/*
 * schedule.c: see schedule.h.
 */
#include "platform/cpu/schedule.h"

#include "device/dependencies.h"
#include "platform/cpu/levels.h"

/* The first launch of a strand. `root`: of each launch one of its strand that is not
   later. */
static uint32_t find_root(uint32_t *root, uint32_t launch)
{
    while (root[launch] != launch) {
        root[launch] = root[root[launch]];
        launch = root[launch];
    }
    return launch;
}

static void find_strands(const mts_dependencies *d, uint32_t *root)
{
    for (uint32_t i = 0; i < d->count; i++) {
        root[i] = i;
    }
    for (uint32_t i = 0; i < d->count; i++) {
        for (uint32_t k = d->next_first[i]; k < d->next_first[i + 1]; k++) {
            const uint32_t a = find_root(root, i);
            const uint32_t b = find_root(root, d->next[k]);
            root[a > b ? a : b] = a < b ? a : b;
        }
    }
}

/* The longest way to each launch from one that waits for none. Returns how many levels
   that makes. level: [count], zeros. */
static uint32_t find_levels(const mts_dependencies *d, uint32_t *level)
{
    uint32_t levels = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        for (uint32_t k = d->next_first[i]; k < d->next_first[i + 1]; k++) {
            uint32_t *next = &level[d->next[k]];
            *next = *next > level[i] ? *next : level[i] + 1;
        }
        levels = level[i] < levels ? levels : level[i] + 1;
    }
    return levels;
}

/* Launches by a key below their number or equal to it, those of one key as they were.
   end: [count + 1], zeros; then where the launches of each key end. */
static void find_places(const uint32_t *key, uint32_t count, uint32_t *end, uint32_t *place,
                        uint32_t *launch_of)
{
    for (uint32_t i = 0; i < count; i++) {
        end[key[i] + 1]++;
    }
    for (uint32_t i = 0; i < count; i++) {
        end[i + 1] += end[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        place[i] = end[key[i]]++;
        launch_of[place[i]] = i;
    }
}

/*
 * Places by levels if there is little that could run beside other launches, else by
 * strands. level_first: [count + 1], zeros. key, end: scratch. Returns how many levels.
 */
static uint32_t choose_places(const mts_dependencies *d, uint32_t *key, uint32_t *end, uint32_t *place,
                              uint32_t *launch_of, uint32_t *level_first)
{
    const uint32_t levels = MTS_CPU_LEVELS ? find_levels(d, key) : 0;
    const bool narrow = 2 * (uint64_t)d->count <= 3 * (uint64_t)levels;
    if (!narrow) {
        find_strands(d, key);
        for (uint32_t i = 0; i < d->count; i++) {
            key[i] = find_root(key, i); /* which is not later, so it is final for all later ones */
        }
    }
    find_places(key, d->count, end, place, launch_of);
    for (uint32_t i = 0; narrow && i < levels; i++) {
        level_first[i + 1] = end[i];
    }
    return narrow ? levels : 0;
}

/* The dependencies with places for launches. */
static void rename_launches(const mts_dependencies *d, const uint32_t *place, const uint32_t *launch_of,
                            uint32_t *waits, uint32_t *next_first, uint32_t *next)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        const uint32_t launch = launch_of[i];
        waits[i] = d->waits[launch];
        next_first[i] = at;
        for (uint32_t k = d->next_first[launch]; k < d->next_first[launch + 1]; k++) {
            next[at++] = place[d->next[k]];
        }
    }
    next_first[d->count] = at;
}

mts_status mts_cpu_schedule_make(const mts_launch *launches, size_t count, const mts_allocator *allocator,
                                 mts_cpu_schedule *out, mts_error *error)
{
    mts_dependencies d;
    *out = (mts_cpu_schedule){0};
    const mts_status status = mts_dependencies_find(launches, count, allocator, &d, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    uint32_t *scratch = mts_alloc_zero(allocator, 3 * count + 1, sizeof *scratch);
    uint32_t *block = mts_alloc_zero(allocator, 4 * count + 2 + d.next_first[count], sizeof *block);
    if (scratch && block) {
        uint32_t *key = scratch, *place = scratch + count, *end = scratch + 2 * count;
        uint32_t *launch_of = block, *waits = block + count, *next_first = block + 2 * count;
        uint32_t *level_first = block + 3 * count + 1, *next = block + 4 * count + 2;
        const uint32_t levels = choose_places(&d, key, end, place, launch_of, level_first);
        rename_launches(&d, place, launch_of, waits, next_first, next);
        *out = (mts_cpu_schedule){{d.count, waits, next_first, next, levels, level_first}, launch_of, block};
    } else {
        mts_alloc_free(allocator, block);
    }
    mts_alloc_free(allocator, scratch);
    mts_dependencies_release(&d, allocator);
    return out->block ? MTS_STATUS_OK : mts_fail_memory(error);
}

void mts_cpu_schedule_release(mts_cpu_schedule *schedule, const mts_allocator *allocator)
{
    mts_alloc_free(allocator, schedule->block);
    *schedule = (mts_cpu_schedule){0};
}
