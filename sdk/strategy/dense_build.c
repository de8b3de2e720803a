/*
 * dense_build.c: nodes over stitched channels: weights with explicit zeros, vectors per
 * image, masks. Not responsible for where channels go (dense_space.c, dense.c) nor for
 * outputs.
 */
#include "strategy/dense_build.h"

#include <string.h>

#define CLEARED (-6e4f) /* added before a softmax: such a channel gets probability 0; float16 holds it */

typedef struct builder {
    const mts_dense_request *request;
    mts_arena *arena;
    mts_graph *graph;
    uint32_t *value_of, *image_of;
    uint32_t images;
    mts_error *error;
} builder;

static mts_status short_of_memory(const builder *b)
{
    return mts_fail(b->error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory to stitch %u tasks",
                    b->request->count);
}

static const mts_node *node_of(const builder *b, uint32_t task, uint32_t node)
{
    return &b->request->map->graphs[task]->nodes[node];
}

static uint32_t entry_out(const builder *b, uint32_t node)
{
    return b->request->map->input_count + node;
}

static uint32_t place(const builder *b, uint32_t entry, uint32_t task, uint32_t channel)
{
    const mts_dense_place *p = &b->request->places[entry];
    return p->pos ? p->pos[task][channel] : channel;
}

static uint32_t channels_of(const builder *b, uint32_t entry, uint32_t task)
{
    return mts_channel_map_channels(b->request->map, task, entry);
}

/* Whether some image has channels that its task does not have. */
static bool has_redundant(const builder *b, uint32_t entry)
{
    for (uint32_t t = b->request->first; t < b->request->first + b->request->count; t++) {
        if (channels_of(b, entry, t) < b->request->places[entry].total) {
            return true;
        }
    }
    return false;
}

static uint32_t batch_of(const builder *b, uint32_t task)
{
    return (uint32_t)mts_channel_map_shape(b->request->map, task, 0)->dims[0];
}

/* First dimension of an entry: the batch, except in a graph of one task, which may do
   with it what it likes. */
static uint32_t leading(const builder *b, uint32_t entry)
{
    return b->request->count > 1
               ? b->images
               : (uint32_t)mts_channel_map_shape(b->request->map, b->request->first, entry)->dims[0];
}

/* ---- constants ---- */

/* Zeroed data of a new constant; NULL: too large, or memory is short. */
static float *open_constant(const builder *b, const mts_shape *shape)
{
    return mts_shape_valid(shape) && mts_shape_count(shape) < (size_t)INT32_MAX
               ? mts_arena_zero(b->arena, mts_shape_count(shape), sizeof(float))
               : NULL;
}

static mts_status no_constant(const builder *b, const mts_shape *shape)
{
    const bool large = !mts_shape_valid(shape) || mts_shape_count(shape) >= (size_t)INT32_MAX;
    char text[96];
    return mts_fail(b->error, large ? MTS_STATUS_LIMIT : MTS_STATUS_OUT_OF_MEMORY,
                    "a stitched constant of %s %s", mts_shape_text(shape, text, sizeof text),
                    large ? "is too large" : "finds no memory");
}

static mts_status close_constant(builder *b, const mts_shape *shape, const float *data, uint32_t *value)
{
    *value = mts_graph_add_const(b->graph, NULL, MTS_TYPE_FLOAT32, shape, data);
    return *value != MTS_NONE ? MTS_STATUS_OK : short_of_memory(b);
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

/* ---- convolutions ---- */

/* Adds one task's filters to the stitched weight [total out][in][inner]. */
static mts_status embed_filters(const builder *b, uint32_t n, uint32_t task, uint32_t in, float *data)
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
        const uint32_t row = place(b, entry_out(b, n), task, mts_dense_channel(node_of(b, task, n), r));
        for (uint32_t c = 0; c < columns; c++) {
            const uint32_t column = mixed ? place(b, from, task, c) : c;
            memcpy(data + ((size_t)row * in + column) * inner, source + ((size_t)r * columns + c) * inner,
                   inner * sizeof *data);
        }
    }
    mts_arena_release(&scratch);
    return source ? MTS_STATUS_OK : short_of_memory(b);
}

static mts_status add_weight(builder *b, uint32_t n, uint32_t *value)
{
    const mts_channel_map *map = b->request->map;
    mts_shape shape = mts_channel_map_constant(map, b->request->first, n, 1)->shape;
    shape.dims[0] = b->request->places[entry_out(b, n)].total;
    if (map->traits[n].pass == MTS_CHANNELS_MIXED) {
        shape.dims[1] = b->request->places[mts_channel_map_input(map, 0, n, 0)].total;
    }
    float *data = open_constant(b, &shape);
    if (!data) {
        return no_constant(b, &shape);
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t t = b->request->first; status == MTS_STATUS_OK && t < b->request->first + b->request->count;
         t++) {
        status = embed_filters(b, n, t, (uint32_t)shape.dims[1], data);
    }
    return status == MTS_STATUS_OK ? close_constant(b, &shape, data, value) : status;
}

static bool any_has(const builder *b, uint32_t n, uint32_t input)
{
    for (uint32_t t = b->request->first; t < b->request->first + b->request->count; t++) {
        if (mts_channel_map_constant(b->request->map, t, n, input)) {
            return true;
        }
    }
    return false;
}

/*
 * A vector per image [images, total], `live` where a task has none, zero in channels that
 * it does not have. `shape` is what the constant becomes: the same elements.
 */
static mts_status add_vector(builder *b, uint32_t n, uint32_t input, float live, const mts_shape *shape,
                             uint32_t *value)
{
    const uint32_t entry = entry_out(b, n);
    const size_t total = b->request->places[entry].total;
    float *data = open_constant(b, shape);
    mts_arena scratch;
    mts_arena_init(&scratch, b->arena->allocator);
    bool ok = data;
    for (uint32_t t = b->request->first; ok && t < b->request->first + b->request->count; t++) {
        const mts_value *own = mts_channel_map_constant(b->request->map, t, n, input);
        const float *source = own ? read_constant(&scratch, own) : NULL;
        const uint32_t first = b->image_of[t - b->request->first];
        ok = !own || source;
        for (uint32_t i = 0; ok && i < (b->request->count > 1 ? batch_of(b, t) : 1); i++) {
            for (uint32_t c = 0; c < channels_of(b, entry, t); c++) {
                data[(first + i) * total + place(b, entry, t, c)] = source ? source[c] : live;
            }
        }
    }
    mts_arena_release(&scratch);
    return ok ? close_constant(b, shape, data, value) : no_constant(b, shape);
}

/* [images, total], or [total] where all images are one task's. */
static mts_shape vector_shape(const builder *b, uint32_t entry)
{
    const int64_t total = b->request->places[entry].total;
    if (b->request->count == 1) {
        return (mts_shape){.rank = 1, .dims = {total}};
    }
    return (mts_shape){.rank = 2, .dims = {b->images, total}};
}

/* [images, total, 1, ...] of an entry's rank */
static mts_shape spread_shape(const builder *b, uint32_t entry)
{
    mts_shape shape = {.rank = mts_channel_map_shape(b->request->map, 0, entry)->rank};
    for (uint32_t i = 0; i < shape.rank; i++) {
        shape.dims[i] = 1;
    }
    shape.dims[0] = b->request->count == 1 ? 1 : b->images;
    shape.dims[1] = b->request->places[entry].total;
    return shape;
}

static mts_status add_node(builder *b, const mts_node *like, const uint32_t *inputs, uint32_t count,
                           const mts_attrs *attrs, uint32_t *value)
{
    const mts_status status =
        mts_graph_add_node(b->graph, like->op, like->name, inputs, count, attrs, value, b->error);
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(b->error, status, "stitching %s", like->name);
}

static mts_status build_conv(builder *b, uint32_t n, uint32_t *value)
{
    const mts_channel_map *map = b->request->map;
    const uint32_t entry = entry_out(b, n);
    const mts_node *node = node_of(b, b->request->first, n);
    const mts_shape vector = vector_shape(b, entry);
    const uint32_t residual = mts_channel_map_input(map, b->request->first, n, 4);
    uint32_t inputs[6] = {
        b->value_of[mts_channel_map_input(map, 0, n, 0)],        MTS_NONE, MTS_NONE, MTS_NONE,
        residual != MTS_NONE ? b->value_of[residual] : MTS_NONE, MTS_NONE};
    const float live[6] = {[2] = 1.0f};
    mts_status status = add_weight(b, n, &inputs[1]);
    for (uint32_t i = 2; status == MTS_STATUS_OK && i < 6; i++) {
        const bool clears = i == 2 && b->request->count > 1 && has_redundant(b, entry);
        if (i != 4 && (clears || any_has(b, n, i))) {
            status = add_vector(b, n, i, live[i], &vector, &inputs[i]);
        }
    }
    mts_attrs attrs = node->attrs;
    if (map->traits[n].pass == MTS_CHANNELS_KEPT) {
        attrs.conv.group = b->request->places[entry].total;
    } else if (mts_propagation_grouped(&map->traits[n])) {
        attrs.conv.group = b->request->places[mts_channel_map_input(map, 0, n, 0)].total /
                           (uint32_t)b->graph->values[inputs[1]].shape.dims[1];
    }
    return status == MTS_STATUS_OK ? add_node(b, node, inputs, 6, &attrs, value) : status;
}

/* ---- element by element ---- */

/* What keeps a channel of zeros zero as the right or left side of a binary operator. */
static float neutral(uint32_t kind)
{
    return kind == MTS_BIN_DIV || kind == MTS_BIN_POW ? 1.0f : 0.0f;
}

/* One task's constant operand, broadcast over its images and channels of `data` [images,
   total, rest]. */
static void embed_operand(const builder *b, uint32_t entry, uint32_t task, const mts_value *own,
                          const float *source, float *data)
{
    const uint32_t rank = mts_channel_map_shape(b->request->map, task, entry)->rank;
    const uint32_t missing = rank - own->shape.rank;
    const int64_t own_images = missing > 0 ? 1 : own->shape.dims[0];
    const int64_t own_channels = missing > 1 ? 1 : own->shape.dims[1 - missing];
    const size_t rest = mts_shape_count(&own->shape) / (size_t)(own_images * own_channels);
    const size_t total = b->request->places[entry].total;
    const uint32_t images = (uint32_t)mts_channel_map_shape(b->request->map, task, entry)->dims[0];
    for (uint32_t i = 0; i < images; i++) {
        for (uint32_t c = 0; c < channels_of(b, entry, task); c++) {
            const size_t image = own_images == 1 ? 0 : i;
            const size_t channel = own_channels == 1 ? 0 : c;
            const size_t to = (b->image_of[task - b->request->first] + i) * total + place(b, entry, task, c);
            memcpy(data + to * rest, source + (image * (size_t)own_channels + channel) * rest,
                   rest * sizeof *data);
        }
    }
}

/* The constants of all tasks at one operand of a binary node: [images, total, as the
   constant]. */
static mts_status add_operand(builder *b, uint32_t n, uint32_t input, uint32_t *value)
{
    const uint32_t entry = entry_out(b, n);
    const mts_shape *own = &mts_channel_map_constant(b->request->map, b->request->first, n, input)->shape;
    mts_shape shape = spread_shape(b, entry);
    shape.dims[0] = leading(b, entry);
    for (uint32_t i = 2; i < shape.rank; i++) {
        const uint32_t missing = shape.rank - own->rank;
        shape.dims[i] = i < missing ? 1 : own->dims[i - missing];
    }
    float *data = open_constant(b, &shape);
    if (!data) {
        return no_constant(b, &shape);
    }
    const float fill = neutral(node_of(b, 0, n)->attrs.binary.kind);
    for (size_t i = 0; i < mts_shape_count(&shape); i++) {
        data[i] = fill;
    }
    mts_arena scratch;
    mts_arena_init(&scratch, b->arena->allocator);
    bool ok = true;
    for (uint32_t t = b->request->first; ok && t < b->request->first + b->request->count; t++) {
        const mts_value *constant = mts_channel_map_constant(b->request->map, t, n, input);
        const float *source = read_constant(&scratch, constant);
        ok = source;
        if (ok) {
            embed_operand(b, entry, t, constant, source, data);
        }
    }
    mts_arena_release(&scratch);
    return ok ? close_constant(b, &shape, data, value) : short_of_memory(b);
}

static mts_status build_binary(builder *b, uint32_t n, uint32_t *value)
{
    const mts_channel_map *map = b->request->map;
    const mts_node *node = node_of(b, b->request->first, n);
    uint32_t inputs[2];
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < 2; i++) {
        const uint32_t from = mts_channel_map_input(map, b->request->first, n, i);
        inputs[i] = from != MTS_NONE ? b->value_of[from] : MTS_NONE;
        if (from == MTS_NONE) {
            status = add_operand(b, n, i, &inputs[i]);
        }
    }
    return status == MTS_STATUS_OK ? add_node(b, node, inputs, 2, &node->attrs, value) : status;
}

static mts_status combine(builder *b, const mts_node *like, uint32_t kind, const mts_act *act,
                          uint32_t constant, uint32_t *value)
{
    const mts_node binary = {.op = MTS_OP_BINARY, .name = like->name};
    mts_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    attrs.binary.kind = kind;
    if (act) {
        attrs.binary.act = *act;
    }
    const uint32_t inputs[2] = {*value, constant};
    return add_node(b, &binary, inputs, 2, &attrs, value);
}

/* scale x + bias and its activation; scale and bias per image are binary operators. */
static mts_status build_scale(builder *b, uint32_t n, uint32_t *value)
{
    const mts_node *node = node_of(b, b->request->first, n);
    const mts_shape shape = spread_shape(b, entry_out(b, n));
    const bool prelu = node->attrs.unary.act.fn == MTS_FN_PRELU;
    uint32_t constant = MTS_NONE;
    *value = b->value_of[mts_channel_map_input(b->request->map, 0, n, 0)];
    mts_status status = add_vector(b, n, 1, 1.0f, &shape, &constant);
    MTS_TRY(status, combine(b, node, MTS_BIN_MUL, NULL, constant, value));
    MTS_TRY(status, add_vector(b, n, 2, 0.0f, &shape, &constant));
    status = status != MTS_STATUS_OK
                 ? status
                 : combine(b, node, MTS_BIN_ADD, prelu ? NULL : &node->attrs.unary.act, constant, value);
    if (status == MTS_STATUS_OK && prelu) {
        status = add_vector(b, n, 3, 0.0f, &shape, &constant);
        MTS_TRY(status, combine(b, node, MTS_BIN_PRELU, NULL, constant, value));
    }
    return status;
}

/* Adds, or multiplies by, a constant that is `live` in channels that a task has and
   `dead` in the others. */
static mts_status apply_mask(builder *b, uint32_t n, uint32_t kind, float live, float dead, uint32_t *value)
{
    const uint32_t entry = entry_out(b, n);
    const mts_shape shape = spread_shape(b, entry);
    float *data = open_constant(b, &shape);
    if (!data) {
        return no_constant(b, &shape);
    }
    const size_t total = b->request->places[entry].total;
    for (size_t i = 0; i < mts_shape_count(&shape); i++) {
        data[i] = dead;
    }
    for (uint32_t t = b->request->first; t < b->request->first + b->request->count; t++) {
        for (uint32_t i = 0; i < (b->request->count > 1 ? batch_of(b, t) : 1); i++) {
            for (uint32_t c = 0; c < channels_of(b, entry, t); c++) {
                data[(b->image_of[t - b->request->first] + i) * total + place(b, entry, t, c)] = live;
            }
        }
    }
    uint32_t constant = MTS_NONE;
    mts_status status = close_constant(b, &shape, data, &constant);
    return status == MTS_STATUS_OK ? combine(b, node_of(b, b->request->first, n), kind, NULL, constant, value)
                                   : status;
}

/* ---- the rest: attributes follow the stitched shape ---- */

static mts_attrs widened(const builder *b, uint32_t n)
{
    const mts_node *node = node_of(b, b->request->first, n);
    const int64_t dims[2] = {leading(b, entry_out(b, n)), b->request->places[entry_out(b, n)].total};
    mts_attrs attrs = node->attrs;
    for (uint32_t i = 0; i < 2; i++) {
        if (node->op == MTS_OP_RESHAPE) {
            attrs.reshape.shape.dims[i] = dims[i];
        } else if (node->op == MTS_OP_SLICE) {
            attrs.slice.size[i] = dims[i];
        }
    }
    return attrs;
}

static mts_status build_other(builder *b, uint32_t n, uint32_t *value)
{
    const mts_channel_map *map = b->request->map;
    const mts_node *node = node_of(b, b->request->first, n);
    uint32_t *inputs = mts_arena_zero(b->arena, node->input_count, sizeof *inputs);
    if (!inputs) {
        return short_of_memory(b);
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        inputs[i] = b->value_of[mts_channel_map_input(map, b->request->first, n, i)];
    }
    mts_status status = MTS_STATUS_OK;
    if (map->traits[n].across && has_redundant(b, entry_out(b, n))) {
        *value = inputs[0];
        status = apply_mask(b, n, MTS_BIN_ADD, 0.0f, CLEARED, value);
        inputs[0] = *value;
    }
    const mts_attrs attrs = widened(b, n);
    return status == MTS_STATUS_OK ? add_node(b, node, inputs, node->input_count, &attrs, value) : status;
}

/* Whether a single task's node has no padding on any side. */
static bool is_unchanged(const builder *b, uint32_t n)
{
    const mts_channel_map *map = b->request->map;
    const uint32_t task = b->request->first;
    bool same = b->request->count == 1 && !has_redundant(b, entry_out(b, n));
    for (uint32_t i = 0; same && i < node_of(b, task, n)->input_count; i++) {
        const uint32_t entry = mts_channel_map_input(map, task, n, i);
        same = entry == MTS_NONE || !has_redundant(b, entry);
    }
    return same;
}

static mts_status copy_node(builder *b, uint32_t n, uint32_t *value)
{
    const mts_channel_map *map = b->request->map;
    const uint32_t task = b->request->first;
    const mts_node *node = node_of(b, task, n);
    uint32_t *inputs = mts_arena_zero(b->arena, node->input_count, sizeof *inputs);
    if (!inputs) {
        return short_of_memory(b);
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        const mts_value *constant = mts_channel_map_constant(map, task, n, i);
        const uint32_t entry = mts_channel_map_input(map, task, n, i);
        inputs[i] = entry != MTS_NONE ? b->value_of[entry] : MTS_NONE;
        if (constant) {
            inputs[i] = mts_dense_reference(b->graph, constant);
            if (inputs[i] == MTS_NONE) {
                return short_of_memory(b);
            }
        }
    }
    const mts_status status = add_node(b, node, inputs, node->input_count, &node->attrs, value);
    if (status == MTS_STATUS_OK) {
        b->graph->nodes[b->graph->node_count - 1].scatter = node->scatter;
    }
    return status;
}

static mts_status build_node(builder *b, uint32_t n)
{
    const mts_propagation *traits = &b->request->map->traits[n];
    uint32_t *value = &b->value_of[entry_out(b, n)];
    if (is_unchanged(b, n)) {
        return copy_node(b, n, value);
    }
    mts_status status = MTS_STATUS_OK;
    switch (node_of(b, 0, n)->op) {
    case MTS_OP_CONV:
        status = build_conv(b, n, value);
        break;
    case MTS_OP_BINARY:
        status = build_binary(b, n, value);
        break;
    case MTS_OP_SCALE:
        status = build_scale(b, n, value);
        break;
    default:
        status = build_other(b, n, value);
        break;
    }
    if (status == MTS_STATUS_OK && traits->dirty && b->request->clean && has_redundant(b, entry_out(b, n))) {
        status = apply_mask(b, n, MTS_BIN_MUL, 1.0f, 0.0f, value);
    }
    return status;
}

/* Batches of the tasks one after another; every computed value has to keep them in its
   first dimension. */
static mts_status count_images(builder *b)
{
    const mts_channel_map *map = b->request->map;
    for (uint32_t t = b->request->first; t < b->request->first + b->request->count; t++) {
        b->image_of[t - b->request->first] = b->images;
        b->images += batch_of(b, t);
        for (uint32_t w = 0; b->request->count > 1 && w < map->entry_count; w++) {
            const mts_shape *shape = mts_channel_map_shape(map, t, w);
            if (shape->rank < 2 || shape->dims[0] != (int64_t)batch_of(b, t)) {
                return mts_fail(b->error, MTS_STATUS_UNSUPPORTED,
                                "task %s: a tensor whose first dimension is not the batch",
                                map->graphs[t]->name);
            }
        }
    }
    return MTS_STATUS_OK;
}

static mts_status add_inputs(builder *b)
{
    const mts_graph *first = b->request->map->graphs[b->request->first];
    for (uint32_t i = 0; i < first->input_count; i++) {
        mts_shape shape = first->inputs[i].shape;
        if (b->request->count > 1) {
            shape.dims[0] = b->images;
        }
        b->value_of[i] = mts_graph_add_input(b->graph, first->inputs[i].name, first->inputs[i].dtype, &shape);
        if (b->value_of[i] == MTS_NONE) {
            return short_of_memory(b);
        }
    }
    return MTS_STATUS_OK;
}

mts_status mts_dense_build(const mts_dense_request *request, mts_arena *arena, mts_graph **out,
                           uint32_t *value_of, uint32_t *image_of, mts_error *error)
{
    const mts_graph *first = request->map->graphs[request->first];
    builder b = {
        .request = request, .arena = arena, .value_of = value_of, .image_of = image_of, .error = error};
    if (request->map->input_count == 0) {
        return mts_fail(error, MTS_STATUS_UNSUPPORTED, "task %s has no input", first->name);
    }
    b.graph = mts_graph_create(arena, first->name);
    mts_status status = b.graph ? count_images(&b) : short_of_memory(&b);
    MTS_TRY(status, add_inputs(&b));
    for (uint32_t n = 0; status == MTS_STATUS_OK && n < first->node_count; n++) {
        status = build_node(&b, n);
    }
    *out = b.graph;
    return status;
}
