/*
 * upload.c: what an engine takes of the device's memory, and filling it: arena, weights, launch tables.
 * Weights are packed as float32; here they become what the session computes with. Not responsible for packing
 * (weights.c).
 */
#include <math.h>

#include "base/half.h"
#include "engine/builder.h"

enum { PIECE = 1 << 16 }; /* weights that are float16 on the host at a time */

static mts_precision precision_of(const maker *m)
{
    return m->engine->stats.precision;
}

static mts_status make_buffer(const maker *m, uint64_t bytes, const char *what, mts_buffer **out)
{
    mts_device *device = m->engine->device;
    const size_t size = bytes > 0 ? (size_t)bytes : sizeof(float);
    if (device->info.buffer_bytes != 0 && size > device->info.buffer_bytes) {
        return mts_fail(m->error, MTS_STATUS_LIMIT, "the %s need %zu bytes in one buffer; %s allows %llu",
                        what, size, device->info.name, (unsigned long long)device->info.buffer_bytes);
    }
    const mts_status code = mts_buffer_create(device, size, out, m->error);
    return code == MTS_STATUS_OK ? code : mts_fail_prefix(m->error, code, "%s (%zu bytes)", what, size);
}

/* The first node that reads the pool's element at `at` as a constant. */
static const mts_node *find_reader(const maker *m, size_t at, uint32_t *graph)
{
    for (uint32_t g = 0; g < m->program.graph_count; g++) {
        const mts_graph *from = m->program.graphs[g];
        for (uint32_t n = 0; n < from->node_count; n++) {
            const mts_node *node = &from->nodes[n];
            for (uint32_t i = 0; i < node->input_count; i++) {
                const mts_value *value = node->inputs[i] != MTS_NONE ? &from->values[node->inputs[i]] : NULL;
                if (value && value->kind == MTS_VALUE_CONST &&
                    mts_weights_holds(&m->encoding.pool, at, value)) {
                    *graph = g;
                    return node;
                }
            }
        }
    }
    return NULL;
}

static mts_status too_large(const maker *m, size_t at)
{
    uint32_t g = 0;
    const double value = (double)m->encoding.pool.floats[at];
    const mts_node *node = find_reader(m, at, &g);
    if (!node) {
        return mts_fail(m->error, MTS_STATUS_LIMIT, "a weight of %g is too large for float16", value);
    }
    const mts_engine *e = m->engine;
    return mts_fail(m->error, MTS_STATUS_LIMIT,
                    "a weight of layer %s of task %s is %g, too large for float16; use float32",
                    mts_node_title(m->program.graphs[g], node),
                    e->archive->tasks[e->tasks[m->program.lead[g]].task].name, value);
}

/* Infinite weights stay what they are. */
static mts_status write_halves(const maker *m)
{
    const mts_weights *pool = &m->encoding.pool;
    const mts_allocator *allocator = m->engine->allocator;
    uint16_t *piece = mts_alloc_zero(allocator, PIECE, sizeof *piece);
    mts_status code = piece ? MTS_STATUS_OK : mts_maker_memory(m);
    for (size_t first = 0; code == MTS_STATUS_OK && first < pool->count; first += PIECE) {
        const size_t count = pool->count - first < PIECE ? pool->count - first : PIECE;
        mts_half_array_from_float(pool->floats + first, piece, count);
        for (size_t i = 0; code == MTS_STATUS_OK && i < count; i++) {
            if ((piece[i] & 0x7fffu) == 0x7c00u && isfinite(pool->floats[first + i])) {
                code = too_large(m, first + i);
            }
        }
        MTS_TRY(code, mts_buffer_write(m->engine->pool, first * sizeof *piece, piece, count * sizeof *piece,
                                       m->error));
    }
    mts_alloc_free(allocator, piece);
    return code;
}

static mts_status upload_weights(const maker *m)
{
    const mts_weights *pool = &m->encoding.pool;
    mts_status code =
        make_buffer(m, mts_precision_bytes(precision_of(m), pool->count), "weights", &m->engine->pool);
    if (code != MTS_STATUS_OK || pool->count == 0) {
        return code;
    }
    return precision_of(m) != MTS_PRECISION_FLOAT32
               ? write_halves(m)
               : mts_buffer_write(m->engine->pool, 0, pool->floats, pool->count * sizeof *pool->floats,
                                  m->error);
}

mts_status mts_maker_upload(maker *m)
{
    mts_engine *e = m->engine;
    const mts_param_buffer *table = &m->encoding.params;
    const size_t table_bytes = table->count * sizeof *table->words;
    mts_status code =
        make_buffer(m, mts_precision_bytes(precision_of(m), m->plan->arena_floats), "activations", &e->act);
    MTS_TRY(code, mts_buffer_fill(e->act, 0, e->act->size, 0, m->error));
    MTS_TRY(code, upload_weights(m));
    MTS_TRY(code, make_buffer(m, table_bytes, "launch tables", &e->table));
    return code != MTS_STATUS_OK || table_bytes == 0
               ? code
               : mts_buffer_write(e->table, 0, table->words, table_bytes, m->error);
}

mts_status mts_maker_weigh(const maker *m)
{
    mts_engine *e = m->engine;
    const uint64_t act = mts_precision_bytes(precision_of(m), m->plan->arena_floats);
    const uint64_t pool = mts_precision_bytes(precision_of(m), m->encoding.pool.count);
    const uint64_t table = m->encoding.params.count * sizeof(uint32_t) + mts_maker_lent_bytes(m);
    e->stats = (mts_engine_stats){.weight_bytes = pool,
                                  .activation_bytes = act,
                                  .workspace_bytes = table,
                                  .peak_bytes = act + pool + table,
                                  .mul_adds = m->encoding.mul_adds,
                                  .launches = e->launch_count,
                                  .groups = e->group_count,
                                  .precision = e->stats.precision};
    const mts_memory_budget budget = e->options.memory_budget;
    if (!mts_memory_budget_fits(budget, e->stats.peak_bytes)) {
        return mts_fail(m->error, MTS_STATUS_LIMIT, "the session needs %llu bytes, the memory budget is %llu",
                        (unsigned long long)e->stats.peak_bytes, (unsigned long long)budget.bytes);
    }
    return MTS_STATUS_OK;
}
