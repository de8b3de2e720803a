/*
 * list.c: command lists: their launches, and how the threads of a device run them.
 */
#include "platform/cpu/cpu.h"

#include <stdatomic.h>
#include <string.h>

#include "platform/os/os.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#define PAGE 4096u /* threads' scratch does not share pages */
/* Work-groups are handed out one by one, or in so many chunks for each thread where there
   are more (chunk_begin). */
#define CHUNKS_PER_THREAD 4u

/* ---- numbers too small for a normal float: 0, as on other devices; they would take a hundred times as long ---- */

static uint64_t float_mode(void)
{
    uint64_t mode = 0;
#if defined(__x86_64__)
    mode = _mm_getcsr();
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
#endif
    return mode;
}

static void set_float_mode(uint64_t mode)
{
#if defined(__x86_64__)
    _mm_setcsr((unsigned)mode);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
    (void)mode;
#endif
}

/* The same mode for every thread, whatever the application's is: round to nearest, trap
   nothing. */
static void drop_small_numbers(void)
{
#if defined(__x86_64__)
    set_float_mode(0x9fc0u);
#elif defined(__aarch64__)
    set_float_mode((uint64_t)1 << 24);
#endif
}

/* ---- lists ---- */

void mts_cpu_list_destroy(mts_device *device, mts_command_list *list)
{
    mts_cpu_schedule_release(&((mts_cpu_list *)list)->schedule, device->allocator);
    mts_alloc_free(device->allocator, ((mts_cpu_list *)list)->launches);
    mts_alloc_free(device->allocator, list);
}

/* Scratch for what the kernels of a list ask for. */
static mts_status reserve(mts_cpu_device *device, mts_error *error)
{
    const size_t size = (device->scratch_wanted + PAGE - 1) / PAGE * PAGE;
    if (size <= device->scratch_size) {
        return MTS_STATUS_OK;
    }
    void *aligned = NULL;
    void *scratch =
        mts_host_block_alloc(device->base.allocator, size * device->base.info.compute_units, &aligned);
    if (!scratch) {
        return mts_fail_memory(error);
    }
    mts_alloc_free(device->base.allocator, device->scratch_block);
    device->scratch_block = scratch;
    device->scratch = aligned;
    device->scratch_size = size;
    return MTS_STATUS_OK;
}

/* What submitting needs, so that it allocates nothing: scratch, space in the pool,
   threads. */
static mts_status prepare(mts_cpu_device *device, size_t count, mts_error *error)
{
    const mts_status status = reserve(device, error);
    if (status == MTS_STATUS_OK && !mts_cpu_pool_reserve(device->pool, (uint32_t)count)) {
        return mts_fail_memory(error);
    }
    mts_cpu_pool_start(device->pool);
    return status;
}

/* An empty list may come without an array. */
static void copy_launches(mts_launch *to, const mts_launch *launches, size_t count)
{
    if (count > 0) {
        memcpy(to, launches, count * sizeof *launches);
    }
}

mts_status mts_cpu_list_create(mts_device *base, const mts_launch *launches, size_t count,
                               mts_command_list **out, mts_error *error)
{
    mts_cpu_list *list = mts_alloc_zero(base->allocator, 1, sizeof *list);
    if (!list) {
        return mts_fail_memory(error);
    }
    list->launches = mts_alloc_zero(base->allocator, count, sizeof *list->launches);
    mts_status status = list->launches ? MTS_STATUS_OK : mts_fail_memory(error);
    MTS_TRY(status, mts_cpu_schedule_make(launches, count, base->allocator, &list->schedule, error));
    MTS_TRY(status, prepare((mts_cpu_device *)base, count, error));
    if (status != MTS_STATUS_OK) {
        mts_cpu_list_destroy(base, &list->base);
        return status;
    }
    copy_launches(list->launches, launches, count);
    *out = &list->base;
    return MTS_STATUS_OK;
}

mts_status mts_cpu_list_update(mts_device *device, mts_command_list *list, const mts_launch *launches,
                               size_t count, mts_error *error)
{
    const mts_status status =
        reserve((mts_cpu_device *)device, error); /* kernels may be newer than the list */
    if (status == MTS_STATUS_OK) {
        copy_launches(((mts_cpu_list *)list)->launches, launches, count);
        ((mts_cpu_list *)list)->helpers = (mts_cpu_helpers){0};
    }
    return status;
}

/* ---- running ---- */

static void run_group(const mts_launch *launch, mts_cpu_item *item)
{
    const mts_host_buffer *act = (const mts_host_buffer *)launch->act;
    const mts_host_buffer *pool = (const mts_host_buffer *)launch->pool;
    const mts_host_buffer *params = (const mts_host_buffer *)launch->params;
    mts_cpu_function *run = ((const mts_cpu_kernel *)launch->kernel)->run;
    const uint32_t *words = (const uint32_t *)(const void *)params->bytes;
    for (item->local[2] = 0; item->local[2] < launch->local[2]; item->local[2]++) {
        for (item->local[1] = 0; item->local[1] < launch->local[1]; item->local[1]++) {
            for (item->local[0] = 0; item->local[0] < launch->local[0]; item->local[0]++) {
                run(act->bytes, pool->bytes, words, launch->first, item);
            }
        }
    }
}

/*
 * The order in which work-groups are handed out. As a rule the first dimension varies
 * first, then the second and the third. Of launches that have row blocks along the first
 * and members along the third, of which some only follow others (mts_fc_params.sharing),
 * all members of a row block come first: the work of each home is then the same, where
 * else the home of the members that are followed had all of it.
 */
typedef struct walk {
    uint32_t groups[3];
    bool members_first;
} walk;

static walk walk_of(const mts_launch *launch)
{
    walk w = {0};
    for (int d = 0; d < 3; d++) {
        w.groups[d] = launch->global[d] / launch->local[d];
    }
    w.members_first = w.groups[1] == 1;
    return w;
}

/* The work-group that follows so many others. */
static void walk_to(const walk *w, uint64_t index, mts_cpu_item *item)
{
    if (w->members_first) {
        item->group[0] = (uint32_t)(index / w->groups[2]);
        item->group[2] = (uint32_t)(index % w->groups[2]);
        return;
    }
    item->group[0] = (uint32_t)(index % w->groups[0]);
    item->group[1] = (uint32_t)(index / w->groups[0] % w->groups[1]);
    item->group[2] = (uint32_t)(index / w->groups[0] / w->groups[1]);
}

static void walk_on(const walk *w, mts_cpu_item *item)
{
    if (w->members_first) {
        item->group[2] = item->group[2] + 1 < w->groups[2] ? item->group[2] + 1 : 0;
        item->group[0] += item->group[2] == 0;
        return;
    }
    if (++item->group[0] == w->groups[0]) {
        item->group[0] = 0;
        if (++item->group[1] == w->groups[1]) {
            item->group[1] = 0;
            item->group[2]++;
        }
    }
}

/* Work-groups first to end - 1. */
static void run_groups(const mts_launch *launch, uint64_t first, uint64_t end, void *scratch)
{
    mts_cpu_item item = {.scratch = scratch};
    const walk w = walk_of(launch);
    for (int d = 0; d < 3; d++) {
        item.group_size[d] = launch->local[d];
        item.global_size[d] = launch->global[d];
    }
    walk_to(&w, first, &item);
    for (uint64_t i = first; i < end; i++) {
        run_group(launch, &item);
        walk_on(&w, &item);
    }
}

static uint64_t count_groups(const mts_launch *launch)
{
    uint64_t groups = 1;
    for (int d = 0; d < 3; d++) {
        groups *= launch->global[d] / launch->local[d];
    }
    return groups;
}

/* Who computed what, and when. */
typedef struct chunk_log {
    mts_chunk_time *chunks;
    size_t capacity;
    uint64_t zero;
    atomic_size_t count;
} chunk_log;

/* What a pool works on. */
typedef struct list_work {
    const mts_cpu_device *device;
    const mts_launch *launches;
    const uint32_t *launch_of;
    chunk_log *log; /* NULL: nothing is noted */
} list_work;

static uint32_t chunks_of(const void *work, uint32_t place, uint32_t threads)
{
    const list_work *w = work;
    const uint64_t groups = count_groups(&w->launches[w->launch_of[place]]);
    const uint64_t most = (uint64_t)threads * CHUNKS_PER_THREAD;
    return (uint32_t)(groups == 0 ? 1 : groups < most ? groups : most);
}

/*
 * The first work-group of a chunk. Work-groups are shared out evenly among homes. A
 * home's chunks become smaller towards its end: the first ones are long, so that what
 * lies side by side stays in one cache; the last ones are short, so that threads end
 * together. With n chunks the last i have i * i / (n * n) of the home's work-groups.
 */
static uint64_t chunk_begin(uint64_t groups, const mts_cpu_chunk *c, uint32_t chunk)
{
    const uint64_t first = groups * c->home_first / c->chunks, end = groups * c->home_end / c->chunks;
    const uint64_t left = c->home_end - chunk, all = c->home_end - c->home_first;
    return groups == c->chunks ? chunk : end - (end - first) * left * left / (all * all);
}

static void run_chunk(const void *work, const mts_cpu_chunk *chunk, uint32_t thread)
{
    const list_work *w = work;
    const mts_launch *launch = &w->launches[w->launch_of[chunk->launch]];
    const uint64_t groups = count_groups(launch);
    const uint64_t start = w->log ? mts_os_clock_ns() : 0;
    run_groups(launch, chunk_begin(groups, chunk, chunk->chunk), chunk_begin(groups, chunk, chunk->chunk + 1),
               w->device->scratch + thread * w->device->scratch_size);
    const size_t at = w->log ? atomic_fetch_add(&w->log->count, 1) : 0;
    if (w->log && at < w->log->capacity) {
        w->log->chunks[at] = (mts_chunk_time){.launch = w->launch_of[chunk->launch],
                                              .thread = thread,
                                              .start = start - w->log->zero,
                                              .end = mts_os_clock_ns() - w->log->zero};
    }
}

const mts_cpu_pool_calls mts_cpu_list_calls = {drop_small_numbers, chunks_of, run_chunk};

static void run_order(const list_work *work, const mts_cpu_order *order, bool alone)
{
    const uint64_t mode = float_mode();
    drop_small_numbers();
    mts_cpu_pool_run(work->device->pool, order, work, alone);
    set_float_mode(mode);
}

mts_status mts_cpu_list_submit(mts_device *device, mts_command_list *list, mts_error *error)
{
    mts_cpu_list *l = (mts_cpu_list *)list;
    const list_work work = {(const mts_cpu_device *)device, l->launches, l->schedule.launch_of, NULL};
    const uint64_t start = mts_os_clock_ns();
    (void)error;
    run_order(&work, &l->schedule.order, mts_cpu_helpers_stay(&l->helpers));
    mts_cpu_helpers_note(&l->helpers, mts_os_clock_ns() - start, device->info.compute_units);
    return MTS_STATUS_OK;
}

mts_status mts_cpu_list_trace(mts_device *device, mts_command_list *list, mts_chunk_time *chunks,
                              size_t capacity, size_t *count, mts_error *error)
{
    const mts_cpu_list *l = (const mts_cpu_list *)list;
    chunk_log log = {.chunks = chunks, .capacity = capacity, .zero = mts_os_clock_ns()};
    const list_work work = {(const mts_cpu_device *)device, l->launches, l->schedule.launch_of, &log};
    (void)error;
    run_order(&work, &l->schedule.order, false);
    *count = atomic_load(&log.count);
    return MTS_STATUS_OK;
}

/* One launch after the other, in the order of the list. */
mts_status mts_cpu_list_profile(mts_device *device, mts_command_list *list, mts_launch_time *times,
                                size_t count, mts_error *error)
{
    static const uint32_t zeros[2];
    static const mts_cpu_order alone = {1, zeros, zeros, zeros, 0, NULL};
    const mts_cpu_list *l = (const mts_cpu_list *)list;
    const uint64_t zero = mts_os_clock_ns();
    (void)error;
    for (uint32_t i = 0; i < count; i++) {
        const list_work work = {(const mts_cpu_device *)device, l->launches, &i, NULL};
        times[i].start = mts_os_clock_ns() - zero;
        run_order(&work, &alone, false);
        times[i].end = mts_os_clock_ns() - zero;
    }
    return MTS_STATUS_OK;
}
