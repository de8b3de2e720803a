/*
 * dependencies.c: one walk over the launches, with what was done last to each stretch of
 * memory.
 *
 * Memory is a sorted row of stretches. Each knows its last writer and the readers since
 * then. A write makes one stretch of what it covers, so there are about as many as there
 * are tensors at a time. Readers are lists that are never changed, only lengthened at
 * their head: two halves of a stretch share them.
 */
#include "device/dependencies.h"

#include <string.h>

#define NONE UINT32_MAX

/* From `begin` to the next one's. */
typedef struct stretch {
    size_t begin;
    uint32_t writer;
    /* Of `readers` of the walk. */
    uint32_t readers;
} stretch;

typedef struct reader {
    uint32_t launch, next;
} reader;

typedef struct edge {
    uint32_t from, to;
} edge;

typedef struct walk {
    const mts_allocator *allocator;
    stretch *stretches;
    size_t count;
    reader *readers;
    size_t reader_count, reader_capacity;
    edge *edges;
    size_t edge_count, edge_capacity;
    /* Per launch: the last launch that was found to wait for it. */
    uint32_t *waiting;
    /* The last launch without accesses, or NONE, and the first launch that none without
       accesses follows. */
    uint32_t barrier, since;
    bool failed;
} walk;

static void add_edge(walk *w, uint32_t from, uint32_t to)
{
    if (from == NONE || from == to || w->waiting[from] == to) {
        return;
    }
    if (!mts_alloc_grow(w->allocator, (void **)&w->edges, &w->edge_capacity, w->edge_count + 1,
                        sizeof *w->edges)) {
        w->failed = true;
        return;
    }
    w->waiting[from] = to;
    w->edges[w->edge_count++] = (edge){from, to};
}

/* The stretch that begins at `at`; it is made if there is none. */
static size_t split(walk *w, size_t at)
{
    size_t low = 0;
    size_t high = w->count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (w->stretches[middle].begin <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    if (w->stretches[low].begin == at) {
        return low;
    }
    stretch *s = &w->stretches[low];
    memmove(s + 1, s, (w->count - low) * sizeof *s);
    w->count++;
    s[1].begin = at;
    return low + 1;
}

static void add_reader(walk *w, stretch *s, uint32_t launch)
{
    if (s->readers != NONE && w->readers[s->readers].launch == launch) {
        return;
    }
    if (!mts_alloc_grow(w->allocator, (void **)&w->readers, &w->reader_capacity, w->reader_count + 1,
                        sizeof *w->readers)) {
        w->failed = true;
        return;
    }
    w->readers[w->reader_count] = (reader){launch, s->readers};
    s->readers = (uint32_t)w->reader_count++;
}

static void read(walk *w, const mts_access *access, uint32_t launch)
{
    const size_t first = split(w, access->begin);
    const size_t end = split(w, access->end);
    for (size_t i = first; i < end; i++) {
        add_edge(w, w->stretches[i].writer, launch);
        add_reader(w, &w->stretches[i], launch);
    }
}

static void write(walk *w, const mts_access *access, uint32_t launch)
{
    const size_t first = split(w, access->begin);
    const size_t end = split(w, access->end);
    for (size_t i = first; i < end; i++) {
        const stretch *s = &w->stretches[i];
        add_edge(w, s->writer, launch);
        for (uint32_t r = s->readers; r != NONE; r = w->readers[r].next) {
            add_edge(w, w->readers[r].launch, launch);
        }
    }
    w->stretches[first].writer = launch;
    w->stretches[first].readers = NONE;
    memmove(&w->stretches[first + 1], &w->stretches[end], (w->count - end) * sizeof *w->stretches);
    w->count -= end - first - 1;
}

/* A launch of another buffer than the first one's counts as one without accesses: ranges
   are of one buffer. */
static void visit(walk *w, const mts_launch *launches, uint32_t index)
{
    const mts_launch *launch = &launches[index];
    if (!launch->accesses || launch->act != launches[0].act) {
        for (uint32_t i = w->since; i < index; i++) {
            add_edge(w, i, index);
        }
        w->barrier = index;
        w->since = index;
        w->count = 1;
        w->stretches[0] = (stretch){0, index, NONE};
        return;
    }
    add_edge(w, w->barrier, index);
    for (int writes = 0; writes < 2; writes++) {
        for (uint32_t a = 0; a < launch->access_count; a++) {
            const mts_access *access = &launch->accesses[a];
            if (access->begin < access->end && access->writes == (writes == 1)) {
                (writes == 1 ? write : read)(w, access, index);
            }
        }
    }
}

/* Edges in order of their origin. */
static mts_status collect(const walk *w, size_t count, mts_dependencies *out, mts_error *error)
{
    uint32_t *block = mts_alloc_zero(w->allocator, 2 * count + 1 + w->edge_count, sizeof *block);
    if (!block || w->failed || w->edge_count > UINT32_MAX) {
        mts_alloc_free(w->allocator, block);
        return mts_fail_memory(error);
    }
    *out = (mts_dependencies){
        .count = (uint32_t)count, .waits = block, .next_first = block + count, .next = block + 2 * count + 1};
    for (size_t i = 0; i < w->edge_count; i++) {
        out->waits[w->edges[i].to]++;
        out->next_first[w->edges[i].from + 1]++;
    }
    for (size_t i = 0; i < count; i++) {
        out->next_first[i + 1] += out->next_first[i];
        w->waiting[i] = out->next_first[i];
    }
    for (size_t i = 0; i < w->edge_count; i++) {
        out->next[w->waiting[w->edges[i].from]++] = w->edges[i].to;
    }
    return MTS_STATUS_OK;
}

mts_status mts_dependencies_find(const mts_launch *launches, size_t count, const mts_allocator *allocator,
                                 mts_dependencies *out, mts_error *error)
{
    walk w = {.allocator = allocator, .count = 1, .barrier = NONE};
    size_t accesses = 0;
    *out = (mts_dependencies){0};
    for (size_t i = 0; i < count; i++) {
        accesses += launches[i].access_count;
    }
    w.stretches = mts_alloc_zero(allocator, 2 * accesses + 1, sizeof *w.stretches);
    w.waiting = mts_alloc_zero(allocator, count, sizeof *w.waiting);
    mts_status status = w.stretches && w.waiting && count < NONE ? MTS_STATUS_OK : mts_fail_memory(error);
    if (status == MTS_STATUS_OK) {
        w.stretches[0] = (stretch){0, NONE, NONE};
        memset(w.waiting, 0xff, count * sizeof *w.waiting);
        for (size_t i = 0; i < count; i++) {
            visit(&w, launches, (uint32_t)i);
        }
        status = collect(&w, count, out, error);
    }
    mts_alloc_free(allocator, w.stretches);
    mts_alloc_free(allocator, w.waiting);
    mts_alloc_free(allocator, w.readers);
    mts_alloc_free(allocator, w.edges);
    return status;
}

void mts_dependencies_release(mts_dependencies *dependencies, const mts_allocator *allocator)
{
    mts_alloc_free(allocator, dependencies->waits);
    *dependencies = (mts_dependencies){0};
}
