/*
 * upload.c: the device memory of an engine, and filling it: arena, weights, kernel
 * parameters. Not responsible for packing weights (lower/weights_pack.c).
 */
#include "engine/builder.h"

#include <stdlib.h>

#include "platform/os/thread.h"

/* The smallest library packs by itself. */
#ifdef MTS_SMALL
#define PACKS_BY_THREADS 0
#else
#define PACKS_BY_THREADS 1
#endif

enum { THREADS_MOST = 4, BYTES_OF_THREAD = 1 << 21 };

static mts_precision precision_of(const mts_builder *b)
{
    return b->engine->stats.precision;
}

static mts_status make_buffer(const mts_builder *b, uint64_t bytes, const char *what, mts_buffer **out)
{
    mts_device *device = b->engine->device;
    const size_t size = bytes > 0 ? (size_t)bytes : sizeof(float);
    const uint64_t most = device->info.buffer_bytes != 0 && device->info.buffer_bytes < SIZE_MAX
                              ? device->info.buffer_bytes
                              : SIZE_MAX;
    if (bytes > most) {
        return mts_fail(b->error, MTS_STATUS_LIMIT, "the %s need %llu bytes in one buffer; %s allows %llu",
                        what, (unsigned long long)bytes, device->info.name, (unsigned long long)most);
    }
    const mts_status status = mts_buffer_create(device, size, out, b->error);
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(b->error, status, "%s (%zu bytes)", what, size);
}

/* The first node that reads the pool's element at `at` as a constant. */
static const mts_node *find_reader(const mts_builder *b, size_t at, uint32_t *graph)
{
    for (uint32_t g = 0; g < b->program.graph_count; g++) {
        const mts_graph *from = b->program.graphs[g];
        for (uint32_t n = 0; n < from->node_count; n++) {
            const mts_node *node = &from->nodes[n];
            for (uint32_t i = 0; i < node->input_count; i++) {
                const mts_value *value = node->inputs[i] != MTS_NONE ? &from->values[node->inputs[i]] : NULL;
                if (value && value->kind == MTS_VALUE_CONST &&
                    mts_weights_holds(&b->encoding.pool, at, value)) {
                    *graph = g;
                    return node;
                }
            }
        }
    }
    return NULL;
}

static mts_status too_large(const mts_builder *b)
{
    uint32_t g = 0;
    const double value = (double)b->encoding.pool.too_large_value;
    const mts_node *node = find_reader(b, b->encoding.pool.too_large_at, &g);
    if (!node) {
        return mts_fail(b->error, MTS_STATUS_LIMIT, "a weight of %g is too large for float16", value);
    }
    const mts_engine *e = b->engine;
    return mts_fail(b->error, MTS_STATUS_LIMIT,
                    "a weight of layer %s of task %s is %g, too large for float16; use float32",
                    mts_node_title(b->program.graphs[g], node),
                    e->archive->tasks[e->tasks.items[b->program.lead[g]].task].name, value);
}

/* A part of a section that a thread packs. */
typedef struct packing {
    mts_weights *pool;
    mts_weights_cut cut;
    void *elements;
    bool done;
#if PACKS_BY_THREADS
    mts_os_thread thread;
#endif
} packing;

static void pack_part(void *context)
{
    packing *p = context;
    p->done = mts_weights_pack(p->pool, &p->cut, p->elements);
}

#if PACKS_BY_THREADS
/* Threads that pack a section: those of a device that is the processor, where there is
   work for them. A part of float16 allocates, which not every allocator does for threads. */
static uint32_t count_parts(const mts_builder *b, size_t bytes)
{
    const size_t parts = bytes / BYTES_OF_THREAD;
    const uint32_t most = b->info.compute_units < THREADS_MOST ? b->info.compute_units : THREADS_MOST;
    return b->info.is_gpu || precision_of(b) != MTS_PRECISION_FLOAT32 || parts < 2 ? 1
           : parts < most                                                          ? (uint32_t)parts
                                                                                   : most;
}

/* Most of it is the first touch of new memory, which the system clears. */
static bool pack(mts_builder *b, uint32_t section, size_t skip, size_t bytes, void *elements)
{
    packing parts[THREADS_MOST];
    bool started[THREADS_MOST] = {false};
    const uint32_t count = count_parts(b, bytes);
    bool done = true;
    for (uint32_t i = 0; i < count; i++) {
        parts[i] =
            (packing){.pool = &b->encoding.pool, .cut = {section, i, count, skip}, .elements = elements};
        started[i] = i > 0 && mts_os_thread_start(&parts[i].thread, pack_part, &parts[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!started[i]) {
            pack_part(&parts[i]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (started[i]) {
            mts_os_thread_join(&parts[i].thread);
        }
        done = done && parts[i].done;
    }
    return done;
}
#else
static bool pack(mts_builder *b, uint32_t section, size_t skip, size_t bytes, void *elements)
{
    (void)skip;
    packing whole = {.pool = &b->encoding.pool, .cut = {section, 0, 1}, .elements = elements};
    (void)bytes;
    pack_part(&whole);
    return whole.done;
}
#endif

#ifdef MTS_SMALL
#define shares_queue(b) false
#define keep_staged(b, memory) false
#else
/* Another thread runs frames: the write is one command behind theirs, and is not waited for. */
static bool shares_queue(const mts_builder *b)
{
    return b->shares_weights;
}

static bool keep_staged(mts_builder *b, void *memory)
{
    if (!mts_alloc_grow(b->scratch.allocator, (void **)&b->staging.items, &b->staging.capacity,
                        b->staging.count + 1, sizeof *b->staging.items)) {
        return false;
    }
    b->staging.items[b->staging.count++] = memory;
    return true;
}
#endif

#ifndef MTS_SMALL
/* Whether the engine holds a section that another one made: one with room in any case, so that
   later engines find it. */
static bool reads_section(const mts_builder *b, uint32_t section)
{
    bool reads =
        b->kept[section]->capacity > b->kept[section]->elements || (b->grows && section + 1 == b->kept_count);
    for (size_t l = 0; !reads && l < b->encoding.launch_count; l++) {
        reads = b->encoding.launches[l].section == section;
    }
    return reads;
}
#endif

/* Packs a section's weights, but for the first `skip` elements, where the device reads them, or
   into host memory that is written to its buffer then. */
static mts_status fill_section(mts_builder *b, uint32_t section, size_t skip, mts_buffer *to)
{
    mts_weights *pool = &b->encoding.pool;
    const size_t count = mts_weights_section_count(pool, section) - skip;
    const size_t size = mts_precision_size(precision_of(b));
    const size_t bytes = count * size;
    mts_status status = MTS_STATUS_OK;
    if (count == 0) {
        return status;
    }
    void *own = to->host ? NULL : mts_alloc_raw(pool->allocator, bytes, 1);
    void *elements = own ? own : to->host ? (unsigned char *)to->host + skip * size : NULL;
    if (!elements || !pack(b, section, skip, bytes, elements)) {
        status = mts_builder_memory(b);
    } else if (pool->too_large) {
        status = too_large(b);
    } else if (own && shares_queue(b) && keep_staged(b, own)) {
        return mts_buffer_write_async(to, skip * size, own, bytes, b->error);
    } else if (own) {
        status = mts_buffer_write(to, skip * size, own, bytes, b->error);
    }
    mts_alloc_free(pool->allocator, own);
    return status;
}

#ifdef MTS_SMALL
#define reserve_of(b, section) 0u
#else
/* Bytes behind a section's weights that stay free. */
static uint64_t reserve_of(const mts_builder *b, uint32_t section)
{
    const bool last = section == mts_weights_section(&b->encoding.pool);
    const uint64_t bytes = (uint64_t)b->reserve * mts_precision_size(precision_of(b));
    return last && !b->shares_weights ? bytes / 64 * 64 : 0;
}
#endif

static mts_status upload_section(mts_builder *b, uint32_t section, mts_buffer **out)
{
    const size_t count = mts_weights_section_count(&b->encoding.pool, section);
    const uint64_t bytes = mts_precision_bytes(precision_of(b), count) + reserve_of(b, section);
    mts_status status = make_buffer(b, bytes, "weights", out);
    MTS_TRY(status, fill_section(b, section, 0, *out));
    return status;
}

#ifdef MTS_SMALL
#define upload_part upload_section
#else
static int compare_addresses(const void *a, const void *b)
{
    const uintptr_t x = *(const uintptr_t *)a;
    const uintptr_t y = *(const uintptr_t *)b;
    return x < y ? -1 : x > y;
}

/* Addresses that live as long as the session: values of the archive's graphs, and orders of
   their rows. */
static uintptr_t *find_fixed(const mts_builder *b, size_t *count)
{
    size_t most = 0;
    for (uint32_t t = 0; t < b->engine->tasks.count; t++) {
        most += b->graphs[t]->value_count + b->graphs[t]->node_count;
    }
    uintptr_t *fixed = mts_alloc_zero(b->scratch.allocator, most, sizeof *fixed);
    *count = 0;
    for (uint32_t t = 0; fixed && t < b->engine->tasks.count; t++) {
        const mts_graph *graph = b->graphs[t];
        for (uint32_t v = 0; v < graph->value_count; v++) {
            fixed[(*count)++] = (uintptr_t)&graph->values[v];
        }
        for (uint32_t n = 0; n < graph->node_count; n++) {
            fixed[(*count)++] = (uintptr_t)graph->nodes[n].scatter;
        }
    }
    if (fixed) {
        qsort(fixed, *count, sizeof *fixed, compare_addresses);
    }
    return fixed;
}

static mts_status make_index(mts_builder *b, uint32_t section, mts_weights_store *store)
{
    size_t count = 0;
    uintptr_t *fixed = find_fixed(b, &count);
    const bool made =
        fixed && mts_weights_index_make(&b->encoding.pool, section, fixed, count, &store->index);
    mts_alloc_free(b->scratch.allocator, fixed);
    store->index.capacity += (size_t)(reserve_of(b, section) / mts_precision_size(precision_of(b)));
    return made ? MTS_STATUS_OK : mts_builder_memory(b);
}

/* New weights go to the room of a buffer that runs read: behind all that these read. */
static mts_status grow_store(mts_builder *b, uint32_t section, mts_weights_store *store)
{
    size_t count = 0;
    uintptr_t *fixed = find_fixed(b, &count);
    const bool made = fixed && mts_weights_index_grow(&b->encoding.pool, fixed, count, &b->grown);
    mts_alloc_free(b->scratch.allocator, fixed);
    return made ? fill_section(b, section, store->index.elements, store->buffer) : mts_builder_memory(b);
}

/* A section of the engine whose weights are shared, or a new one. */
static mts_status upload_part(mts_builder *b, uint32_t section, mts_buffer **out)
{
    mts_weights_store **store = &b->engine->launches.stores[section];
    if (section < b->kept_count) {
        *store = reads_section(b, section) ? b->like->launches.stores[b->kept_from[section]] : NULL;
        *out = *store ? (*store)->buffer : NULL;
        if (*store) {
            atomic_fetch_add(&(*store)->users, 1);
        }
        return b->grows && section + 1 == b->kept_count ? grow_store(b, section, *store) : MTS_STATUS_OK;
    }
    *store = mts_alloc_zero(b->engine->allocator, 1, sizeof **store);
    if (!*store) {
        return mts_builder_memory(b);
    }
    atomic_init(&(*store)->users, 1);
    mts_status status = make_index(b, section, *store);
    MTS_TRY(status, upload_section(b, section, &(*store)->buffer));
    *out = (*store)->buffer;
    return status;
}
#endif

static mts_status upload_weights(mts_builder *b)
{
    mts_launches *launches = &b->engine->launches;
    const uint32_t sections = mts_weights_section(&b->encoding.pool) + 1;
    launches->weights = mts_arena_zero(&b->engine->arena, sections, sizeof *launches->weights);
#ifndef MTS_SMALL
    launches->stores = mts_arena_zero(&b->engine->arena, sections, sizeof *launches->stores);
    if (!launches->stores) {
        return mts_builder_memory(b);
    }
#endif
    if (!launches->weights) {
        return mts_builder_memory(b);
    }
    launches->weight_count = sections;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t s = 0; status == MTS_STATUS_OK && s < sections; s++) {
        status = upload_part(b, s, &launches->weights[s]);
    }
#ifndef MTS_SMALL
    for (uint32_t s = 0; status == MTS_STATUS_OK && s < sections; s++) { /* the last one is always there */
        launches->weights[s] = launches->weights[s] ? launches->weights[s] : launches->weights[sections - 1];
    }
#endif
    return status;
}

static uint64_t activation_bytes(const mts_builder *b)
{
    return mts_persistent_bytes(&b->engine->persistent,
                                mts_precision_bytes(precision_of(b), b->plan->arena_floats));
}

mts_status mts_build_upload(mts_builder *b)
{
    mts_engine *e = b->engine;
    const mts_param_buffer *params = &b->encoding.params;
    const size_t param_bytes = params->count * sizeof *params->words;
    mts_status status = make_buffer(b, activation_bytes(b), "activations", &e->launches.act);
    MTS_TRY(status, mts_buffer_fill(e->launches.act, 0, e->launches.act->size, 0, b->error));
    MTS_TRY(status, mts_persistent_upload(b));
    MTS_TRY(status, upload_weights(b));
    MTS_TRY(status, make_buffer(b, param_bytes, "kernel parameters", &e->launches.params));
#ifndef MTS_SMALL
    MTS_TRY(status, mts_links_build(b));
#endif
    return status != MTS_STATUS_OK || param_bytes == 0
               ? status
               : mts_buffer_write(e->launches.params, 0, params->words, param_bytes, b->error);
}

/* Device memory for zero-copy inputs that the device cannot read in the caller's
   memory, or does not always. */
static uint64_t zero_copy_bytes(const mts_builder *b)
{
    const mts_input_slots *slots = &b->engine->inputs.slots;
    uint64_t bytes = 0;
    bool imported = (b->engine->device->info.imports & MTS_MEMORY_BIT(MTS_MEMORY_HOST)) != 0;
#ifndef MTS_SMALL
    /* Links are copied for runs of some of the tasks (links.h). */
    imported = imported && (b->engine->options.link_slots == 0 || b->engine->tasks.count == 1);
#endif
    if (imported) {
        return 0;
    }
    for (uint32_t s = 0; s < slots->count; s++) {
        bytes += slots->items[s].zero_copy ? slots->items[s].count * sizeof(float) : 0;
    }
    return bytes;
}

/* Elements of all sections that the engine holds. */
static size_t count_weights(const mts_builder *b)
{
    size_t count = b->encoding.pool.count;
#ifndef MTS_SMALL
    for (uint32_t s = 0; s < b->kept_count; s++) {
        count -= reads_section(b, s) ? 0 : mts_weights_section_count(&b->encoding.pool, s);
        /* with the room that is left in its buffer */
        count += b->kept[s]->capacity > mts_weights_section_count(&b->encoding.pool, s)
                     ? b->kept[s]->capacity - mts_weights_section_count(&b->encoding.pool, s)
                     : 0;
    }
    if (!b->shares_weights) {
        count += (size_t)(reserve_of(b, mts_weights_section(&b->encoding.pool)) /
                          mts_precision_size(precision_of(b)));
    }
#endif
    return count;
}

mts_status mts_build_footprint(const mts_builder *b)
{
    mts_engine *e = b->engine;
    const uint64_t act = activation_bytes(b);
    const uint64_t pool = mts_precision_bytes(precision_of(b), count_weights(b));
    uint64_t params = b->encoding.params.count * sizeof(uint32_t) + zero_copy_bytes(b);
#ifndef MTS_SMALL
    params += mts_links_bytes(b);
#endif
    e->stats = (mts_session_stats){.weight_bytes = pool,
                                   .activation_bytes = act,
                                   .workspace_bytes = params,
                                   .peak_bytes = act + pool + params,
                                   .mul_adds = b->encoding.mul_adds,
                                   .launches = e->launches.count,
                                   .groups = e->tasks.group_count,
                                   .precision = e->stats.precision};
    const mts_memory_budget budget = e->options.memory_budget;
    if (!mts_memory_budget_fits(budget, e->stats.peak_bytes)) {
        return mts_fail(b->error, MTS_STATUS_LIMIT, "the session needs %llu bytes, the memory budget is %llu",
                        (unsigned long long)e->stats.peak_bytes, (unsigned long long)budget.bytes);
    }
    return MTS_STATUS_OK;
}
