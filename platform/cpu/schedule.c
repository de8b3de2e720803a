/*
 * schedule.c: see schedule.h.
 */
#include "platform/cpu/schedule.h"

#include "device/dependencies.h"

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

/* Launches by strand, strands by their first launch. place: of each launch; size: [count
   + 1], zeros. */
static void find_places(uint32_t *root, uint32_t count, uint32_t *size, uint32_t *place, uint32_t *launch_of)
{
    for (uint32_t i = 0; i < count; i++) {
        root[i] = find_root(root, i); /* which is not later, so it is final for all later ones */
        size[root[i] + 1]++;
    }
    for (uint32_t i = 0; i < count; i++) {
        size[i + 1] += size[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        place[i] = size[root[i]]++;
        launch_of[place[i]] = i;
    }
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
    uint32_t *block = mts_alloc_zero(allocator, 3 * count + 1 + d.next_first[count], sizeof *block);
    if (scratch && block) {
        uint32_t *root = scratch, *place = scratch + count, *size = scratch + 2 * count;
        uint32_t *launch_of = block, *waits = block + count, *next_first = block + 2 * count;
        uint32_t *next = block + 3 * count + 1;
        find_strands(&d, root);
        find_places(root, d.count, size, place, launch_of);
        rename_launches(&d, place, launch_of, waits, next_first, next);
        *out = (mts_cpu_schedule){{d.count, waits, next_first, next}, launch_of, block};
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
