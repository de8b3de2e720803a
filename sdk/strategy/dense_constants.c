/*
 * dense_constants.c: constants over stitched channels: weights with explicit zeros, vectors per
 * image, masks.
 */
#include <string.h>

#include "strategy/dense_builder.h"

mts_status mts_dense_no_memory(const mts_dense_builder *b)
{
    return mts_fail_memory(b->error);
}

const mts_node *mts_dense_node(const mts_dense_builder *b, uint32_t task, uint32_t node)
{
    return &b->request->map->graphs[task]->nodes[node];
}

uint32_t mts_dense_out(const mts_dense_builder *b, uint32_t node)
{
    return b->request->map->input_count + node;
}

uint32_t mts_dense_stitched(const mts_dense_builder *b, uint32_t entry, uint32_t task, uint32_t channel)
{
    const mts_dense_place *p = &b->request->places[entry];
    return p->pos ? p->pos[task][channel] : channel;
}

static uint32_t channels_of(const mts_dense_builder *b, uint32_t entry, uint32_t task)
{
    return mts_channel_map_channels(b->request->map, task, entry);
}

static uint32_t end_of(const mts_dense_builder *b)
{
    return b->request->first + b->request->count;
}

bool mts_dense_has_redundant(const mts_dense_builder *b, uint32_t entry)
{
    for (uint32_t t = b->request->first; t < end_of(b); t++) {
        if (channels_of(b, entry, t) < b->request->places[entry].total) {
            return true;
        }
    }
    return false;
}

uint32_t mts_dense_images(const mts_dense_builder *b, uint32_t entry, uint32_t task)
{
    return (uint32_t)mts_channel_map_shape(b->request->map, task, entry)->dims[0];
}

uint32_t mts_dense_first_image(const mts_dense_builder *b, uint32_t entry, uint32_t task)
{
    uint32_t images = 0;
    for (uint32_t t = b->request->first; t < task; t++) {
        images += mts_dense_images(b, entry, t);
    }
    return images;
}

uint32_t mts_dense_all_images(const mts_dense_builder *b, uint32_t entry)
{
    return mts_dense_first_image(b, entry, end_of(b));
}

/* Images that constants of an entry tell apart: those of one task are alike. */
static uint32_t rows_of(const mts_dense_builder *b, uint32_t entry, uint32_t task)
{
    return b->request->count > 1 ? mts_dense_images(b, entry, task) : 1;
}

/* Zeroed data of a new constant; NULL: too large, or memory is short. */
static float *open_constant(const mts_dense_builder *b, const mts_shape *shape)
{
    return mts_shape_valid(shape) && mts_shape_count(shape) < (size_t)INT32_MAX
               ? mts_arena_zero(b->arena, mts_shape_count(shape), sizeof(float))
               : NULL;
}

static mts_status no_constant(const mts_dense_builder *b, const mts_shape *shape)
{
    const bool large = !mts_shape_valid(shape) || mts_shape_count(shape) >= (size_t)INT32_MAX;
    char text[96];
    return mts_fail(b->error, large ? MTS_STATUS_LIMIT : MTS_STATUS_OUT_OF_MEMORY,
                    "a stitched constant of %s %s", mts_shape_text(shape, text, sizeof text),
                    large ? "is too large" : "finds no memory");
}

static mts_status close_constant(mts_dense_builder *b, const mts_shape *shape, const float *data,
                                 uint32_t *value)
{
    *value = mts_graph_add_const(b->graph, NULL, MTS_TYPE_FLOAT32, shape, data);
    return *value != MTS_NONE ? MTS_STATUS_OK : mts_dense_no_memory(b);
}

static float *read_constant(mts_arena *scratch, const mts_value *value)
{
    float *data = mts_arena_zero(scratch, mts_shape_count(&value->shape), sizeof *data);
    if (data) {
        mts_value_read_f32(value, data);
    }
    return data;
}

uint32_t mts_dense_reference(mts_graph *graph, const mts_value *constant)
{
    const uint32_t value = mts_graph_add_const(graph, constant->name, constant->dtype, &constant->shape,
                                               constant->blocks[0].data);
    if (value != MTS_NONE) {
        graph->values[value].blocks = constant->blocks;
        graph->values[value].block_count = constant->block_count;
    }
    return value;
}

/* Adds one task's filters to the stitched weight [total out][in][inner]. */
static mts_status embed_filters(const mts_dense_builder *b, uint32_t n, uint32_t task, uint32_t in,
                                float *data)
{
    const mts_channel_map *map = b->request->map;
    const mts_value *weight = mts_channel_map_constant(map, task, n, 1);
    const uint32_t from = mts_channel_map_input(map, task, n, 0);
    const bool mixed = map->traits[n].pass == MTS_CHANNELS_MIXED;
    uint32_t rows = 0;
    uint32_t columns = 0;
    uint32_t inner = 0;
    mts_value_matrix(weight, &rows, &columns, &inner);
    mts_arena scratch;
    mts_arena_init(&scratch, b->arena->allocator);
    const float *source = read_constant(&scratch, weight);
    for (uint32_t r = 0; source && r < rows; r++) {
        const uint32_t row = mts_dense_stitched(b, mts_dense_out(b, n), task,
                                                mts_dense_channel(mts_dense_node(b, task, n), r));
        for (uint32_t c = 0; c < columns; c++) {
            const uint32_t column = mixed ? mts_dense_stitched(b, from, task, c) : c;
            memcpy(data + ((size_t)row * in + column) * inner, source + ((size_t)r * columns + c) * inner,
                   inner * sizeof *data);
        }
    }
    mts_arena_release(&scratch);
    return source ? MTS_STATUS_OK : mts_dense_no_memory(b);
}

mts_status mts_dense_add_weight(mts_dense_builder *b, uint32_t n, uint32_t *value)
{
    const mts_channel_map *map = b->request->map;
    mts_shape shape = mts_channel_map_constant(map, b->request->first, n, 1)->shape;
    shape.dims[0] = b->request->places[mts_dense_out(b, n)].total;
    if (map->traits[n].pass == MTS_CHANNELS_MIXED) {
        shape.dims[1] = b->request->places[mts_channel_map_input(map, 0, n, 0)].total;
    }
    float *data = open_constant(b, &shape);
    if (!data) {
        return no_constant(b, &shape);
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = b->request->first; status == MTS_STATUS_OK && t < end_of(b); t++) {
        status = embed_filters(b, n, t, (uint32_t)shape.dims[1], data);
    }
    return status == MTS_STATUS_OK ? close_constant(b, &shape, data, value) : status;
}

bool mts_dense_any_has(const mts_dense_builder *b, uint32_t n, uint32_t input)
{
    for (uint32_t t = b->request->first; t < end_of(b); t++) {
        if (mts_channel_map_constant(b->request->map, t, n, input)) {
            return true;
        }
    }
    return false;
}

mts_status mts_dense_add_vector(mts_dense_builder *b, uint32_t n, uint32_t input, mts_dense_fill fill,
                                const mts_shape *shape, uint32_t *value)
{
    const uint32_t entry = mts_dense_out(b, n);
    const size_t total = b->request->places[entry].total;
    float *data = open_constant(b, shape);
    mts_arena scratch;
    mts_arena_init(&scratch, b->arena->allocator);
    bool ok = data;
    for (size_t i = 0; ok && i < mts_shape_count(shape); i++) {
        data[i] = fill.dead;
    }
    for (uint32_t t = b->request->first; ok && t < end_of(b); t++) {
        const mts_value *own = mts_channel_map_constant(b->request->map, t, n, input);
        const float *source = own ? read_constant(&scratch, own) : NULL;
        const uint32_t first = mts_dense_first_image(b, entry, t);
        ok = !own || source;
        for (uint32_t i = 0; ok && i < rows_of(b, entry, t); i++) {
            for (uint32_t c = 0; c < channels_of(b, entry, t); c++) {
                data[(first + i) * total + mts_dense_stitched(b, entry, t, c)] =
                    source ? source[c] : fill.live;
            }
        }
    }
    mts_arena_release(&scratch);
    return ok ? close_constant(b, shape, data, value) : no_constant(b, shape);
}

mts_shape mts_dense_vector_shape(const mts_dense_builder *b, uint32_t entry)
{
    const int64_t total = b->request->places[entry].total;
    if (b->request->count == 1) {
        return (mts_shape){.rank = 1, .dims = {total}};
    }
    return (mts_shape){.rank = 2, .dims = {mts_dense_all_images(b, entry), total}};
}

mts_shape mts_dense_spread_shape(const mts_dense_builder *b, uint32_t entry)
{
    mts_shape shape = {.rank = mts_channel_map_shape(b->request->map, 0, entry)->rank};
    for (uint32_t i = 0; i < shape.rank; i++) {
        shape.dims[i] = 1;
    }
    shape.dims[0] = b->request->count == 1 ? 1 : mts_dense_all_images(b, entry);
    shape.dims[1] = b->request->places[entry].total;
    return shape;
}

/* One task's constant operand, broadcast over its images and channels of `data` [images,
   total, rest]. */
static void embed_operand(const mts_dense_builder *b, uint32_t entry, uint32_t task, const mts_value *own,
                          const float *source, float *data)
{
    const uint32_t rank = mts_channel_map_shape(b->request->map, task, entry)->rank;
    const uint32_t missing = rank - own->shape.rank;
    const int64_t own_images = missing > 0 ? 1 : own->shape.dims[0];
    const int64_t own_channels = missing > 1 ? 1 : own->shape.dims[1 - missing];
    const size_t rest = mts_shape_count(&own->shape) / (size_t)(own_images * own_channels);
    const size_t total = b->request->places[entry].total;
    const uint32_t first = mts_dense_first_image(b, entry, task);
    for (uint32_t i = 0; i < mts_dense_images(b, entry, task); i++) {
        for (uint32_t c = 0; c < channels_of(b, entry, task); c++) {
            const size_t image = own_images == 1 ? 0 : i;
            const size_t channel = own_channels == 1 ? 0 : c;
            const size_t to = (size_t)(first + i) * total + mts_dense_stitched(b, entry, task, c);
            memcpy(data + to * rest, source + (image * (size_t)own_channels + channel) * rest,
                   rest * sizeof *data);
        }
    }
}

mts_status mts_dense_add_operand(mts_dense_builder *b, uint32_t n, uint32_t input, float fill,
                                 uint32_t *value)
{
    const uint32_t entry = mts_dense_out(b, n);
    const mts_shape *own = &mts_channel_map_constant(b->request->map, b->request->first, n, input)->shape;
    mts_shape shape = mts_dense_spread_shape(b, entry);
    shape.dims[0] = mts_dense_all_images(b, entry);
    for (uint32_t i = 2; i < shape.rank; i++) {
        const uint32_t missing = shape.rank - own->rank;
        shape.dims[i] = i < missing ? 1 : own->dims[i - missing];
    }
    float *data = open_constant(b, &shape);
    if (!data) {
        return no_constant(b, &shape);
    }
    for (size_t i = 0; i < mts_shape_count(&shape); i++) {
        data[i] = fill;
    }
    mts_arena scratch;
    mts_arena_init(&scratch, b->arena->allocator);
    bool ok = true;
    for (uint32_t t = b->request->first; ok && t < end_of(b); t++) {
        const mts_value *constant = mts_channel_map_constant(b->request->map, t, n, input);
        const float *source = read_constant(&scratch, constant);
        ok = source;
        if (ok) {
            embed_operand(b, entry, t, constant, source, data);
        }
    }
    mts_arena_release(&scratch);
    return ok ? close_constant(b, &shape, data, value) : mts_dense_no_memory(b);
}
