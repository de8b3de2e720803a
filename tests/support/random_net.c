/*
 * random_net.c: random networks that align, see random_net.h. The oracle is in random_oracle.c.
 */
#include "support/random_net.h"
#include "support/random_steps.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define CHANNELS_MOST 24

uint32_t random_draw(uint64_t *state, uint32_t low, uint32_t high)
{
    *state = mts_hash(state, sizeof *state, 77);
    return low + (uint32_t)(*state >> 33) % (high - low + 1);
}

bool random_chance(uint64_t *state, uint32_t percent)
{
    return random_draw(state, 0, 99) < percent;
}

const mts_shape *random_shape_of(const random_builder *b, uint32_t value)
{
    return &b->graph->values[value].shape;
}

/* A number in -1..1 from what it stands for. */
static float noise(const uint32_t *key, size_t words, uint64_t seed)
{
    const uint64_t hash = mts_hash(key, words * sizeof *key, seed);
    return (float)(hash >> 40) / (float)(1u << 23) - 1.0f;
}

const char *random_fresh_name(random_builder *b, const char *what)
{
    char text[48];
    (void)snprintf(text, sizeof text, "%s%u", what, b->names++);
    return mts_arena_string(b->arena, text);
}

/* Weights of layer `layer`: those of the first `shared` rows are the same in all tasks, the others private.
 */
uint32_t random_add_weight(random_builder *b, const mts_shape *shape, uint32_t layer, uint32_t shared)
{
    const size_t count = mts_shape_count(shape);
    const size_t rows = (size_t)shape->dims[0], row = count / rows;
    const float gain = sqrtf(3.0f / (float)row);
    float *data = mts_arena_zero(b->arena, count, sizeof *data);
    for (size_t i = 0; data && i < count; i++) {
        const uint32_t key[4] = {layer, (uint32_t)(i / row), (uint32_t)(i % row),
                                 i / row < shared ? 0 : b->task + 1};
        data[i] = noise(key, 4, b->plan->seed) * gain;
    }
    return data ? mts_graph_add_const(b->graph, random_fresh_name(b, "w"), MTS_TYPE_FLOAT32, shape, data)
                : MTS_NONE;
}

/* A vector around `middle`; shared or private as a whole. */
uint32_t random_add_vector(random_builder *b, uint32_t count, float middle, uint32_t layer, bool shared)
{
    const mts_shape shape = mts_shape_make(1, (const int64_t[]){count});
    float *data = mts_arena_zero(b->arena, count, sizeof *data);
    for (uint32_t i = 0; data && i < count; i++) {
        const uint32_t key[4] = {layer, i, 1u << 20, shared ? 0 : b->task + 1};
        data[i] = middle + 0.3f * noise(key, 4, b->plan->seed);
    }
    return data ? mts_graph_add_const(b->graph, random_fresh_name(b, "v"), MTS_TYPE_FLOAT32, &shape, data)
                : MTS_NONE;
}

/* Appends a node; what does not fit the shapes at hand is left out, and false comes back. */
bool random_add_node(random_builder *b, mts_op op, const uint32_t *inputs, uint32_t count,
                     const mts_attrs *attrs, uint32_t *value)
{
    return mts_graph_add_node(b->graph, op, random_fresh_name(b, "n"), inputs, count, attrs, value, NULL) ==
           MTS_STATUS_OK;
}

static mts_act draw_act(uint64_t *state)
{
    const float bound = random_chance(state, 50) ? 0.3f : -0.05f;
    switch (random_draw(state, 0, 8)) {
    case 0:
        return (mts_act){.fn = MTS_FN_LEAKY_BOUND, .a = 0.1f, .b = bound};
    case 1:
        return (mts_act){.fn = MTS_FN_CLIP, .a = -0.5f, .b = 1.5f};
    case 2:
        return (mts_act){.fn = MTS_FN_SIGMOID};
    case 3:
        return (mts_act){.fn = MTS_FN_NONE};
    case 4:
        return (mts_act){.fn = MTS_FN_PRELU};
    case 5:
        return (mts_act){.fn = MTS_FN_LEAKY, .a = 0.1f};
    case 6:
        return (mts_act){.fn = MTS_FN_HARD_SWISH_LINE, .a = 0.7f, .b = bound};
    case 7:
        return (mts_act){.fn = MTS_FN_GELU};
    default:
        return (mts_act){.fn = MTS_FN_RELU};
    }
}

/* A convolution of value `x`. All its attributes are the family's; channels may be the task's own. */
static bool add_conv(random_builder *b, uint32_t x, uint32_t rows, const mts_attrs_conv *conv,
                     uint32_t residual, uint32_t *value)
{
    const uint32_t layer = random_draw(&b->family, 0, 1u << 30);
    const uint32_t share = random_draw(&b->family, 0, 3);
    const bool with_scale = random_chance(&b->family, 30), with_bias = random_chance(&b->family, 70);
    const uint32_t shared = share == 0 ? 0 : share == 1 ? rows / 2 : rows;
    const int64_t depth = random_shape_of(b, x)->dims[1] / conv->group;
    const mts_shape shape =
        mts_shape_make(4, (const int64_t[]){rows, depth, conv->kernel[0], conv->kernel[1]});
    uint32_t inputs[6] = {x,       random_add_weight(b, &shape, layer, shared), MTS_NONE, MTS_NONE, residual,
                          MTS_NONE};
    if (with_scale) {
        inputs[2] = random_add_vector(b, rows, 1.0f, layer + 1, random_chance(&b->family, 50));
    }
    if (with_bias) {
        inputs[3] = random_add_vector(b, rows, 0.0f, layer + 2, random_chance(&b->family, 50));
    }
    if (conv->act.fn == MTS_FN_PRELU) {
        inputs[5] = random_add_vector(b, rows, 0.2f, layer + 3, false);
    }
    const mts_attrs attrs = {.conv = *conv};
    return random_add_node(b, MTS_OP_CONV, inputs, 6, &attrs, value);
}

static mts_attrs_conv draw_window(uint64_t *state)
{
    static const uint32_t kernels[6][2] = {{3, 3}, {1, 1}, {3, 3}, {5, 5}, {1, 3}, {2, 2}};
    const uint32_t *kernel = kernels[random_draw(state, 0, 5)];
    const uint32_t stride = random_draw(state, 0, 9);
    mts_attrs_conv conv = {.group = 1};
    for (int i = 0; i < 2; i++) {
        conv.kernel[i] = kernel[i];
        conv.stride[i] = stride < 5   ? 1
                         : stride < 8 ? 2
                                      : random_draw(state, 1, 5); /* at times skips pixels */
        conv.dilation[i] = random_chance(state, 20) ? 2 : 1;
        conv.pad[i] = (int32_t)random_draw(state, 0, kernel[i] / 2 + 1);
        conv.pad[i + 2] =
            random_chance(state, 60) ? conv.pad[i] : (int32_t)random_draw(state, 0, kernel[i] / 2 + 1);
    }
    if (random_chance(state, 12)) { /* windows that stand in the padding alone */
        for (int i = 0; i < 4; i++) {
            conv.pad[i] = (int32_t)(conv.kernel[i % 2] + random_draw(state, 0, 2));
        }
    }
    conv.act = draw_act(state);
    return conv;
}

/* The family's number of channels, or sometimes the task's own. */
static uint32_t draw_channels(random_builder *b)
{
    const uint32_t common = random_draw(&b->family, 1, CHANNELS_MOST),
                   own = random_draw(&b->own, 1, CHANNELS_MOST);
    return random_chance(&b->own, 30) && !b->plan->equal ? own : common;
}

/* A filter along one axis, far longer than the image, whose end lies in the padding. */
static void step_long(random_builder *b)
{
    mts_attrs_conv conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1};
    const uint32_t axis = random_chance(&b->family, 75) ? 1 : 0, length = random_draw(&b->family, 100, 400);
    const uint32_t channels = draw_channels(b);
    conv.kernel[axis] = length;
    conv.stride[axis] = random_chance(&b->family, 70) ? 1 : random_draw(&b->family, 2, 6);
    conv.pad[axis] = (int32_t)(length / 2);
    conv.pad[axis + 2] = (int32_t)(length - length / 2 - random_draw(&b->family, 1, 5));
    conv.act = draw_act(&b->family);
    (void)add_conv(b, b->x, channels % 5 + 1, &conv, MTS_NONE, &b->x);
}

static void step_conv(random_builder *b)
{
    const mts_attrs_conv conv = draw_window(&b->family);
    (void)add_conv(b, b->x, draw_channels(b), &conv, MTS_NONE, &b->x);
}

/* Depthwise with any multiplier, or groups. */
static void step_groups(random_builder *b)
{
    mts_attrs_conv conv = draw_window(&b->family);
    const uint32_t channels = (uint32_t)random_shape_of(b, b->x)->dims[1];
    const bool depthwise = random_chance(&b->family, 60);
    const uint32_t multiplier = random_draw(&b->family, 1, 2);
    conv.group = depthwise ? channels : channels % 3 == 0 ? 3 : channels % 2 == 0 ? 2 : 1;
    if (channels * multiplier <= 2 * CHANNELS_MOST) {
        (void)add_conv(b, b->x, channels * multiplier, &conv, MTS_NONE, &b->x);
    }
}

static void step_residual(random_builder *b)
{
    mts_attrs_conv conv = {
        .kernel = {3, 3}, .stride = {1, 1}, .dilation = {1, 1}, .pad = {1, 1, 1, 1}, .group = 1};
    const uint32_t channels = (uint32_t)random_shape_of(b, b->x)->dims[1];
    const bool fused = random_chance(&b->family, 60);
    uint32_t y = b->x;
    conv.act = draw_act(&b->family);
    if (!add_conv(b, b->x, draw_channels(b), &conv, MTS_NONE, &y)) {
        return;
    }
    if (fused) {
        (void)add_conv(b, y, channels, &conv, b->x, &b->x);
        return;
    }
    uint32_t z = y;
    if (add_conv(b, y, channels, &conv, MTS_NONE, &z)) {
        const mts_attrs attrs = {.binary = {.kind = MTS_BIN_ADD, .act = {.fn = MTS_FN_RELU}}};
        (void)random_add_node(b, MTS_OP_BINARY, (const uint32_t[]){z, b->x}, 2, &attrs, &b->x);
    }
}

static void step_pool(random_builder *b)
{
    mts_attrs attrs = {.pool = {.kind = random_draw(&b->family, 0, 1)}};
    const uint32_t kernel = random_draw(&b->family, 2, 3), stride = random_draw(&b->family, 1, 2);
    for (int i = 0; i < 2; i++) {
        attrs.pool.kernel[i] = kernel;
        attrs.pool.stride[i] = stride;
        attrs.pool.dilation[i] = 1;
        attrs.pool.pad[i] = (int32_t)random_draw(&b->family, 0, 1);
        attrs.pool.pad[i + 2] = (int32_t)random_draw(&b->family, 0, 1);
    }
    attrs.pool.ceil = random_draw(&b->family, 0, 1);
    attrs.pool.include_pad = random_draw(&b->family, 0, 1);
    (void)random_add_node(b, MTS_OP_POOL, &b->x, 1, &attrs, &b->x);
}

static void step_concat(random_builder *b)
{
    mts_attrs_conv conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1};
    const mts_attrs attrs = {.concat = {.axis = 1}};
    const bool twice = random_chance(&b->family, 20);
    uint32_t y = b->x;
    conv.act = draw_act(&b->family);
    if (random_shape_of(b, b->x)->dims[1] > CHANNELS_MOST ||
        (!twice && !add_conv(b, b->x, draw_channels(b), &conv, MTS_NONE, &y))) {
        return;
    }
    (void)random_add_node(b, MTS_OP_CONCAT, (const uint32_t[]){b->x, y, b->x}, twice ? 3 : 2, &attrs, &b->x);
}

static void step_scale(random_builder *b)
{
    const uint32_t channels = (uint32_t)random_shape_of(b, b->x)->dims[1],
                   layer = random_draw(&b->family, 0, 1u << 30);
    const mts_attrs attrs = {.unary = {.act = draw_act(&b->family)}};
    const bool prelu = attrs.unary.act.fn == MTS_FN_PRELU;
    const uint32_t inputs[4] = {b->x, random_add_vector(b, channels, 1.0f, layer, true),
                                random_add_vector(b, channels, 0.0f, layer + 1, false),
                                prelu ? random_add_vector(b, channels, 0.2f, layer + 2, false) : MTS_NONE};
    (void)random_add_node(b, MTS_OP_SCALE, inputs, prelu ? 4 : 3, &attrs, &b->x);
}

static void step_unary(random_builder *b)
{
    static const uint32_t kinds[5] = {MTS_FN_RELU, MTS_FN_TANH, MTS_FN_SILU, MTS_FN_HARD_SWISH, MTS_FN_ABS};
    const mts_attrs attrs = {.unary = {.act = {.fn = kinds[random_draw(&b->family, 0, 4)]}}};
    (void)random_add_node(b, MTS_OP_UNARY, &b->x, 1, &attrs, &b->x);
}

/* A gate a channel, computed from the mean image. */
static void step_gate(random_builder *b)
{
    const mts_attrs mean = {.reduce = {.kind = MTS_REDUCE_MEAN, .axes = 12, .keep = 1}};
    const mts_attrs gate = {.binary = {.kind = MTS_BIN_MUL}};
    const mts_attrs_conv conv = {
        .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1, .act = {.fn = MTS_FN_SIGMOID}};
    uint32_t y = b->x;
    if (random_add_node(b, MTS_OP_REDUCE, &b->x, 1, &mean, &y) &&
        add_conv(b, y, (uint32_t)random_shape_of(b, b->x)->dims[1], &conv, MTS_NONE, &y)) {
        (void)random_add_node(b, MTS_OP_BINARY, (const uint32_t[]){b->x, y}, 2, &gate, &b->x);
    }
}

/* Channel shuffle: reshape, transpose, reshape. */
static void step_shuffle(random_builder *b)
{
    const mts_shape s = *random_shape_of(b, b->x);
    const int64_t groups = s.dims[1] % 2 == 0 ? 2 : 1;
    mts_attrs split = {
        .reshape = {.shape = mts_shape_make(
                        5, (const int64_t[]){s.dims[0], groups, s.dims[1] / groups, s.dims[2], s.dims[3]})}};
    const mts_attrs turn = {.transpose = {.perm = {0, 2, 1, 3, 4}}};
    const mts_attrs join = {.reshape = {.shape = s}};
    uint32_t y = b->x;
    if (random_add_node(b, MTS_OP_RESHAPE, &b->x, 1, &split, &y) &&
        random_add_node(b, MTS_OP_TRANSPOSE, &y, 1, &turn, &y)) {
        (void)random_add_node(b, MTS_OP_RESHAPE, &y, 1, &join, &b->x);
    }
}

static void step_resize(random_builder *b)
{
    const mts_shape *s = random_shape_of(b, b->x);
    mts_attrs attrs = {.resize = {.mode = random_draw(&b->family, 0, 1),
                                  .coord = MTS_COORD_ASYMMETRIC,
                                  .round = MTS_ROUND_FLOOR,
                                  .scale = {2.0f, 2.0f},
                                  .cubic_a = -0.75f}};
    attrs.resize.out[0] = (uint32_t)s->dims[2] * 2;
    attrs.resize.out[1] = (uint32_t)s->dims[3] * 2;
    if (s->dims[2] <= 10 && s->dims[3] <= 10) {
        (void)random_add_node(b, MTS_OP_RESIZE, &b->x, 1, &attrs, &b->x);
    }
}

static void step_pad(random_builder *b)
{
    mts_attrs attrs = {.pad = {.mode = MTS_PAD_CONSTANT, .value = 0.5f}};
    for (int i = 2; i < 4; i++) {
        attrs.pad.before[i] = random_draw(&b->family, 0, 2);
        attrs.pad.after[i] = random_draw(&b->family, 0, 2);
    }
    (void)random_add_node(b, MTS_OP_PAD, &b->x, 1, &attrs, &b->x);
}

/* Every second column, rows backwards. */
static void step_slice(random_builder *b)
{
    const mts_shape *s = random_shape_of(b, b->x);
    mts_attrs attrs = {.slice = {.step = {1, 1, 1, 1}}};
    for (int i = 0; i < 4; i++) {
        attrs.slice.size[i] = s->dims[i];
    }
    if (random_chance(&b->family, 50)) {
        attrs.slice.start[2] = s->dims[2] - 1;
        attrs.slice.step[2] = -1;
    }
    attrs.slice.step[3] = 2;
    attrs.slice.size[3] = (s->dims[3] + 1) / 2;
    if (s->dims[3] > 6) {
        (void)random_add_node(b, MTS_OP_SLICE, &b->x, 1, &attrs, &b->x);
    }
}

/* Two convolutions of one value that reach differently far beyond its border; their sum goes on. */
static void step_branches(random_builder *b)
{
    mts_attrs_conv wide = {
        .kernel = {5, 5}, .stride = {1, 1}, .dilation = {1, 1}, .pad = {2, 2, 2, 2}, .group = 1};
    mts_attrs_conv far = {
        .kernel = {3, 3}, .stride = {1, 1}, .dilation = {2, 2}, .pad = {2, 2, 2, 2}, .group = 1};
    const mts_attrs add = {.binary = {.kind = MTS_BIN_ADD}};
    const uint32_t stride = random_draw(&b->family, 1, 2), channels = draw_channels(b);
    uint32_t y = b->x, z = b->x;
    for (int i = 0; i < 2; i++) {
        wide.stride[i] = far.stride[i] = stride;
    }
    wide.act = draw_act(&b->family);
    far.act = draw_act(&b->family);
    if (add_conv(b, b->x, channels, &wide, MTS_NONE, &y) && add_conv(b, b->x, channels, &far, MTS_NONE, &z)) {
        (void)random_add_node(b, MTS_OP_BINARY, (const uint32_t[]){y, z}, 2, &add, &b->x);
    }
}

/* A transposed convolution that reads what a convolution may have padded. */
static void step_deconv(random_builder *b)
{
    mts_attrs attrs = {.conv = {.kernel = {3, 2}, .dilation = {1, 1}, .pad = {1, 0, 0, 1}, .group = 1}};
    const uint32_t rows = random_draw(&b->family, 1, 8), layer = random_draw(&b->family, 0, 1u << 30);
    const int64_t channels = random_shape_of(b, b->x)->dims[1];
    const mts_shape shape = mts_shape_make(4, (const int64_t[]){channels, rows, 3, 2});
    attrs.conv.stride[0] = random_draw(&b->family, 1, 2);
    attrs.conv.stride[1] = random_draw(&b->family, 1, 2);
    attrs.conv.act.fn = MTS_FN_RELU;
    const uint32_t inputs[3] = {
        b->x, random_add_weight(b, &shape, layer, random_draw(&b->family, 0, 1) ? (uint32_t)channels : 0),
        random_add_vector(b, rows, 0.0f, layer + 1, true)};
    if (random_shape_of(b, b->x)->dims[2] <= 12 && random_shape_of(b, b->x)->dims[3] <= 12) {
        (void)random_add_node(b, MTS_OP_DECONV, inputs, 3, &attrs, &b->x);
    }
}

static void step_lrn(random_builder *b)
{
    const mts_attrs attrs = {
        .lrn = {.size = random_draw(&b->family, 1, 5), .alpha = 0.1f, .beta = 0.75f, .bias = 1.0f}};
    (void)random_add_node(b, MTS_OP_LRN, &b->x, 1, &attrs, &b->x);
}

/* Channels or rows in another order, some of them twice. */
static void step_gather(random_builder *b)
{
    const mts_attrs attrs = {.gather = {.axis = random_draw(&b->family, 1, 2)}};
    const int64_t size = random_shape_of(b, b->x)->dims[attrs.gather.axis];
    const mts_shape shape = mts_shape_make(1, (const int64_t[]){size});
    int32_t *index = mts_arena_zero(b->arena, (size_t)size, sizeof *index);
    for (int64_t i = 0; index && i < size; i++) {
        index[i] = (int32_t)random_draw(&b->family, 0, (uint32_t)size - 1);
    }
    const uint32_t inputs[2] = {
        b->x, mts_graph_add_const(b->graph, random_fresh_name(b, "i"), MTS_TYPE_INT32, &shape, index)};
    (void)random_add_node(b, MTS_OP_GATHER, inputs, 2, &attrs, &b->x);
}

/* The image's columns times a matrix, with or without a summand, and a softmax along any dimension. */
static void step_matmul(random_builder *b)
{
    const mts_attrs attrs = {.matmul = {.alpha = 0.5f, .beta = 1.0f}};
    const uint32_t columns = random_draw(&b->family, 2, 12), layer = random_draw(&b->family, 0, 1u << 30);
    const mts_shape shape = mts_shape_make(2, (const int64_t[]){random_shape_of(b, b->x)->dims[3], columns});
    const mts_attrs soft = {.softmax = {.axis = random_draw(&b->family, 1, 3)}};
    const uint32_t inputs[3] = {
        b->x, random_add_weight(b, &shape, layer, random_chance(&b->family, 50) ? 1000 : 0),
        random_add_vector(b, columns, 0.0f, layer + 1, random_chance(&b->family, 50))};
    const bool with_softmax = random_chance(&b->family, 40), with_summand = random_chance(&b->family, 50);
    if (random_add_node(b, MTS_OP_MATMUL, inputs, with_summand ? 3 : 2, &attrs, &b->x) && with_softmax) {
        (void)random_add_node(b, MTS_OP_SOFTMAX, &b->x, 1, &soft, &b->x);
    }
}

/* The mean of the rows, expanded to the image again; dimensions dropped and brought back on the way. */
static void step_expand(random_builder *b)
{
    const mts_shape s = *random_shape_of(b, b->x);
    const mts_attrs mean = {
        .reduce = {.kind = random_draw(&b->family, MTS_REDUCE_MEAN, MTS_REDUCE_MIN), .axes = 4}};
    const mts_attrs back = {
        .reshape = {.shape = mts_shape_make(4, (const int64_t[]){s.dims[0], s.dims[1], 1, s.dims[3]})}};
    const mts_attrs wide = {.reshape = {.shape = s}};
    const mts_attrs sub = {.binary = {.kind = MTS_BIN_SUB}};
    uint32_t y = b->x;
    if (random_add_node(b, MTS_OP_REDUCE, &b->x, 1, &mean, &y) &&
        random_add_node(b, MTS_OP_RESHAPE, &y, 1, &back, &y) &&
        random_add_node(b, MTS_OP_EXPAND, &y, 1, &wide, &y)) {
        (void)random_add_node(b, MTS_OP_BINARY, (const uint32_t[]){b->x, y}, 2, &sub, &b->x);
    }
}

/* An image, of `shape` with channels first. */
static void add_input(random_builder *b, mts_shape shape, bool channels_last)
{
    const int64_t *d = shape.dims;
    const mts_shape last = mts_shape_make(4, (const int64_t[]){d[0], d[2], d[3], d[1]});
    const mts_attrs turn = {.transpose = {.perm = {0, 3, 1, 2}}};
    b->x = mts_graph_add_input(b->graph, "input", MTS_TYPE_FLOAT32, channels_last ? &last : &shape);
    if (channels_last) {
        (void)random_add_node(b, MTS_OP_TRANSPOSE, &b->x, 1, &turn, &b->x);
    }
}

static void add_output(random_builder *b, uint32_t value)
{
    if (mts_graph_add_output(b->graph, random_fresh_name(b, "out"), value, MTS_TYPE_FLOAT32,
                             random_shape_of(b, value), NULL) != MTS_STATUS_OK) {
        b->failed = true;
    }
}

/* Flattened, or the mean image; fully connected layers; a softmax over [N, K]. */
static void add_head(random_builder *b)
{
    const mts_attrs mean = {.reduce = {.kind = MTS_REDUCE_MEAN, .axes = 12, .keep = 1}};
    mts_attrs_conv conv = {
        .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = 1, .act = {.fn = MTS_FN_RELU}};
    const mts_shape s = *random_shape_of(b, b->x);
    const mts_attrs flat = {
        .reshape = {.shape = mts_shape_make(
                        4, (const int64_t[]){s.dims[0], s.dims[1] * s.dims[2] * s.dims[3], 1, 1})}};
    const bool flatten = random_chance(&b->family, 50);
    (void)(flatten ? random_add_node(b, MTS_OP_RESHAPE, &b->x, 1, &flat, &b->x)
                   : random_add_node(b, MTS_OP_REDUCE, &b->x, 1, &mean, &b->x));
    (void)add_conv(b, b->x, random_draw(&b->family, 8, 40), &conv, MTS_NONE, &b->x);
    conv.act.fn = MTS_FN_NONE;
    (void)add_conv(b, b->x, 2 + random_draw(&b->own, 0, 8), &conv, MTS_NONE, &b->x);
    const mts_attrs row = {
        .reshape = {.shape =
                        mts_shape_make(2, (const int64_t[]){s.dims[0], random_shape_of(b, b->x)->dims[1]})}};
    const mts_attrs soft = {.softmax = {.axis = 1}};
    (void)random_add_node(b, MTS_OP_RESHAPE, &b->x, 1, &row, &b->x);
    if (random_chance(&b->family, 50)) {
        (void)random_add_node(b, MTS_OP_SOFTMAX, &b->x, 1, &soft, &b->x);
    }
}

static void add_steps(random_builder *b)
{
    static void (*const steps[])(random_builder *) = {
        step_conv,          step_conv,        step_conv,        step_residual,
        step_residual,      step_groups,      step_pool,        step_concat,
        step_scale,         step_unary,       step_gate,        step_shuffle,
        step_resize,        step_pad,         step_slice,       step_branches,
        step_deconv,        step_lrn,         step_gather,      step_matmul,
        step_expand,        step_long,        random_step_scan, random_step_positions,
        random_step_sample, random_step_norm, random_step_recur};
    enum { STEPS = sizeof steps / sizeof *steps, NET_STEPS = STEPS - 5 };
    for (uint32_t i = 0; i < b->plan->steps; i++) {
        const uint32_t kind = random_draw(&b->family, 0, b->plan->net ? NET_STEPS - 1 : STEPS - 1);
        const bool out = random_chance(&b->family, 15);
        const uint64_t after = mts_hash(&b->family, sizeof b->family, i); /* however much the step draws */
        const mts_shape *s = random_shape_of(b, b->x);
        if (s->dims[2] <= 40 && s->dims[3] <= 40) {
            steps[kind](b);
        }
        if (random_chance(&b->own, 8) && !b->plan->equal) {
            step_unary(b); /* a node that the other tasks lack */
        }
        b->family = after;
        if (out && b->graph->values[b->x].producer != MTS_NONE) {
            add_output(b, b->x);
        }
    }
}

mts_graph *random_net(const random_family *family, uint32_t task, mts_arena *arena)
{
    random_builder b = {.plan = family, .arena = arena, .task = family->equal ? 0 : task};
    b.family = mts_hash(&family->seed, sizeof family->seed, 1);
    b.own = mts_hash(&family->seed, sizeof family->seed, 2 + b.task);
    b.graph = mts_graph_create(arena, "net");
    if (!b.graph) {
        return NULL;
    }
    uint64_t *size = family->common || family->equal ? &b.family : &b.own;
    const int64_t channels = random_draw(&b.family, 1, 4);
    const int64_t batch = random_chance(size, 25) ? 2 : 1, rows = random_draw(size, 5, 20),
                  columns = random_draw(size, 5, 20);
    const bool channels_last = random_chance(&b.family, 20);
    b.family = mts_hash(&family->seed, sizeof family->seed, 3);
    add_input(&b, mts_shape_make(4, (const int64_t[]){batch, channels, rows, columns}), channels_last);
    add_steps(&b);
    add_output(&b, b.x);
    add_head(&b);
    add_output(&b, b.x);
    return b.failed ? NULL : b.graph;
}

float *random_input(const random_family *family, uint32_t task, const mts_graph *graph, uint32_t round,
                    mts_arena *arena)
{
    const size_t count = mts_shape_count(&graph->inputs[0].shape);
    float *data = mts_arena_zero(arena, count, sizeof *data);
    for (size_t i = 0; data && i < count; i++) {
        const uint32_t key[3] = {round, family->common ? 0 : task, (uint32_t)i};
        data[i] = noise(key, 3, family->seed + 5);
    }
    return data;
}
