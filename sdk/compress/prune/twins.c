/*
 * twins.c: see twins.h.
 */
#include "compress/prune/twins.h"

#include <string.h>

#include "base/size.h"

#define BATCH_MOST 256u
#define RUN_BYTES ((size_t)256 << 20)   /* of both networks' values of a chunk */
#define STORE_BYTES ((size_t)256 << 20) /* of what is kept of chunks */

static size_t floats_of(const mts_twins *twins, uint32_t side, uint32_t value)
{
    return mts_shape_count(&twins->graphs[side]->values[value].shape);
}

uint32_t mts_twins_chunk_images(const mts_twins *twins, uint32_t chunk)
{
    const uint32_t left = twins->images->count - chunk * twins->batch;
    return left < twins->batch ? left : twins->batch;
}

/* ---- opening ---- */

static bool find_readers(mts_twins *twins)
{
    const mts_graph *graph = twins->graphs[MTS_TWIN_ORIGINAL];
    twins->last_reader = mts_alloc_zero(twins->allocator, graph->value_count, sizeof(*twins->last_reader));
    for (uint32_t n = 0; twins->last_reader && n < graph->node_count; n++) {
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++) {
            if (graph->nodes[n].inputs[i] != MTS_NONE) {
                twins->last_reader[graph->nodes[n].inputs[i]] = n;
            }
        }
    }
    return twins->last_reader;
}

static bool fits(const mts_twins *twins)
{
    const size_t a = mts_net_run_bytes(twins->nets[MTS_TWIN_ORIGINAL], twins->batch, MTS_NET_INFERENCE);
    const size_t b = mts_net_run_bytes(twins->nets[MTS_TWIN_THIN], twins->batch, MTS_NET_INFERENCE);
    size_t both = 0;
    return mts_size_add(a, b, &both) && both <= RUN_BYTES;
}

mts_status mts_twins_open(const mts_graph *original, const mts_graph *thin, const mts_prune_images *images,
                          const mts_allocator *allocator, mts_twins *out, mts_error *error)
{
    *out =
        (mts_twins){.graphs = {original, thin}, .images = images, .allocator = allocator, .held = MTS_NONE};
    mts_status status = find_readers(out) ? MTS_STATUS_OK : mts_fail_memory(error);
    for (uint32_t side = 0; side < 2 && status == MTS_STATUS_OK; side++) {
        status = mts_net_create(out->graphs[side], allocator, &out->nets[side], error);
    }
    out->batch = images->count < BATCH_MOST ? images->count : BATCH_MOST;
    while (status == MTS_STATUS_OK && out->batch > 1 && !fits(out)) {
        out->batch /= 2;
    }
    out->chunk_count = (images->count + out->batch - 1) / out->batch;
    for (uint32_t side = 0; side < 2 && status == MTS_STATUS_OK; side++) {
        status = mts_net_run_create(out->nets[side], out->batch, MTS_NET_INFERENCE, &out->runs[side], error);
    }
    if (status == MTS_STATUS_OK) {
        out->stores = mts_alloc_zero(allocator, out->chunk_count, sizeof(*out->stores));
        status = out->stores ? MTS_STATUS_OK : mts_fail_memory(error);
    }
    return status;
}

static void drop_store(mts_twins *twins, uint32_t chunk)
{
    mts_twins_store *store = &twins->stores[chunk];
    twins->stored -= store->bytes;
    mts_alloc_free(twins->allocator, store->data);
    *store = (mts_twins_store){0};
}

void mts_twins_release(mts_twins *twins)
{
    if (!twins->allocator) {
        return;
    }
    for (uint32_t c = 0; twins->stores && c < twins->chunk_count; c++) {
        drop_store(twins, c);
    }
    for (uint32_t side = 0; side < 2; side++) {
        mts_net_run_destroy(&twins->runs[side]);
        mts_net_destroy(&twins->nets[side]);
    }
    mts_alloc_free(twins->allocator, twins->stores);
    mts_alloc_free(twins->allocator, twins->last_reader);
    *twins = (mts_twins){0};
}

/* ---- keeping what later nodes need ---- */

/* Whether node `node` or a later one reads a value that an earlier one makes, or none. */
static bool alive(const mts_twins *twins, uint32_t value, uint32_t node)
{
    const mts_value *v = &twins->graphs[MTS_TWIN_ORIGINAL]->values[value];
    return v->kind != MTS_VALUE_CONST && (v->producer == MTS_NONE || v->producer < node) &&
           twins->last_reader[value] >= node;
}

/* Copies living values between the runs and `data`, or only counts them; returns how many
   floats. */
static size_t copy_alive(const mts_twins *twins, uint32_t chunk, uint32_t node, float *data, bool restore)
{
    size_t count = 0;
    for (uint32_t v = 0; v < twins->graphs[MTS_TWIN_ORIGINAL]->value_count; v++) {
        for (uint32_t side = 0; side < 2 && alive(twins, v, node); side++) {
            const size_t floats = floats_of(twins, side, v) * mts_twins_chunk_images(twins, chunk);
            float *value = data ? mts_net_run_value(twins->runs[side], v) : NULL;
            if (value) {
                memcpy(restore ? value : data + count, restore ? data + count : value,
                       floats * sizeof(*value));
            }
            count += floats;
        }
    }
    return count;
}

/* Where memory is short or the values are many, they are computed again instead. */
static void keep(mts_twins *twins)
{
    const uint32_t chunk = twins->held;
    if (chunk == MTS_NONE || twins->done == 0) {
        return;
    }
    mts_twins_store *store = &twins->stores[chunk];
    drop_store(twins, chunk);
    const size_t bytes = copy_alive(twins, chunk, twins->done, NULL, false) * sizeof(float);
    if (bytes == 0 || bytes > STORE_BYTES - twins->stored) {
        return;
    }
    store->data = mts_alloc_zero(twins->allocator, bytes, 1);
    if (store->data) {
        store->node = twins->done;
        store->bytes = bytes;
        twins->stored += bytes;
        (void)copy_alive(twins, chunk, twins->done, store->data, false);
    }
}

static mts_status fill_inputs(mts_twins *twins, uint32_t chunk, mts_error *error)
{
    const mts_prune_images *images = twins->images;
    mts_net_run *original = twins->runs[MTS_TWIN_ORIGINAL];
    const uint32_t count = mts_twins_chunk_images(twins, chunk);
    const mts_status status =
        mts_data_feed(images->data, images->task, original, images->indices + (size_t)chunk * twins->batch,
                      count, NULL, error);
    if (status == MTS_STATUS_OK) {
        mts_net_run_copy_inputs(twins->runs[MTS_TWIN_THIN], original, count);
    }
    return status;
}

/* The runs take up another chunk, where it was left or from the start. */
static mts_status turn_to(mts_twins *twins, uint32_t chunk, uint32_t node, mts_error *error)
{
    const mts_twins_store *store = &twins->stores[chunk];
    keep(twins);
    twins->held = chunk;
    twins->done = 0;
    if (store->data && store->node <= node) {
        (void)copy_alive(twins, chunk, store->node, store->data, true);
        twins->done = store->node;
        return MTS_STATUS_OK;
    }
    return fill_inputs(twins, chunk, error);
}

mts_status mts_twins_advance(mts_twins *twins, uint32_t chunk, uint32_t node, mts_error *error)
{
    mts_status status = twins->held == chunk ? MTS_STATUS_OK : turn_to(twins, chunk, node, error);
    for (uint32_t side = 0; side < 2 && status == MTS_STATUS_OK; side++) {
        status = mts_net_run_forward(twins->runs[side], mts_twins_chunk_images(twins, chunk), twins->done,
                                     node, error);
    }
    twins->held = status == MTS_STATUS_OK ? chunk : MTS_NONE;
    twins->done = node;
    return status;
}
