/*
 * nets.c: see nets.h.
 */
#include "support/nets.h"

#include <string.h>

#include "base/hash.h"

static float number(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t words[3] = {a, b, c};
    return (float)((double)(mts_hash(words, sizeof(words), 9) >> 40) / 16777216.0 - 0.5);
}

static uint32_t next_random(mts_net *net)
{
    net->random = net->random * 1664525u + 1013904223u;
    return net->random >> 8;
}

/* layer, owner (0: all tasks, 1 and 2: subsets, else a task's own), number */
static uint64_t identity(uint32_t layer, uint32_t owner, uint32_t index)
{
    return (uint64_t)layer << 40 | (uint64_t)owner << 20 | index;
}

static bool is_private(uint64_t id)
{
    return (id >> 20 & 0xfffffu) > 2;
}

static uint32_t add_const(mts_net *net, uint32_t rank, const int64_t *dims, const float *data)
{
    const mts_shape shape = mts_shape_make(rank, dims);
    const uint32_t value =
        data ? mts_graph_add_const(net->graph, NULL, MTS_TYPE_FLOAT32, &shape, data) : MTS_NONE;
    net->failed = net->failed || value == MTS_NONE;
    return value;
}

static uint32_t add_vector(mts_net *net, uint32_t count, float middle)
{
    float *data = mts_arena_zero(net->arena, count, sizeof(*data));
    net->vectors++;
    for (uint32_t i = 0; data && i < count; i++) {
        data[i] = middle + 0.25f * number(net->task + 100, net->vectors, i);
    }
    return add_const(net, 1, (int64_t[]){count}, data);
}

static mts_net_value add_node(mts_net *net, mts_op op, const uint32_t *inputs, uint32_t count,
                              const mts_attrs *attrs, mts_net_value like)
{
    mts_net_value out = like;
    out.value = MTS_NONE;
    mts_error error = {0};
    if (!net->failed) {
        net->failed = mts_graph_add_node(net->graph, op, NULL, inputs, count, attrs, &out.value, &error) !=
                      MTS_STATUS_OK;
    }
    return out;
}

void mts_net_begin(mts_net *net, const mts_net_plan *plan, mts_arena *arena, uint32_t task)
{
    *net = (mts_net){.plan = plan, .arena = arena, .task = task, .random = plan->seed * 977u + task * 7919u};
    net->graph = mts_graph_create(arena, "planted");
    net->failed = !net->graph;
}

mts_net_value mts_net_input(mts_net *net, int64_t channels, int64_t size)
{
    mts_net_value x = {.count = (uint32_t)channels};
    uint64_t *ids = mts_arena_zero(net->arena, x.count, sizeof(*ids));
    for (uint32_t i = 0; ids && i < x.count; i++) {
        ids[i] = identity(0, 0, i);
    }
    const mts_shape shape = mts_shape_make(4, (int64_t[]){1, channels, size, size});
    x.ids = ids;
    x.value = mts_graph_add_input(net->graph, "x", MTS_TYPE_FLOAT32, &shape);
    net->failed = net->failed || !ids || x.value == MTS_NONE;
    return x;
}

mts_net_value mts_net_channels(mts_net *net, bool share)
{
    const mts_net_plan *plan = net->plan;
    mts_net_value out = {.count = plan->shared + plan->subset + plan->exclusive};
    uint64_t *ids = mts_arena_zero(net->arena, out.count, sizeof(*ids));
    net->layer++;
    net->failed = net->failed || !ids;
    for (uint32_t i = 0; ids && i < out.count; i++) {
        const uint32_t owner = share && i < plan->shared                  ? 0
                               : share && i < plan->shared + plan->subset ? 1 + net->task % 2
                                                                          : 3 + net->task;
        ids[i] = identity(net->layer, owner, i);
    }
    for (uint32_t i = out.count; ids && plan->shuffled && i > 1; i--) {
        const uint32_t j = next_random(net) % i;
        const uint64_t id = ids[i - 1];
        ids[i - 1] = ids[j];
        ids[j] = id;
    }
    out.ids = ids;
    return out;
}

static mts_attrs conv_attrs(uint32_t kernel, uint32_t stride, uint32_t group)
{
    mts_attrs attrs;
    memset(&attrs, 0, sizeof(attrs));
    for (int i = 0; i < 2; i++) {
        attrs.conv.kernel[i] = kernel;
        attrs.conv.stride[i] = stride;
        attrs.conv.dilation[i] = 1;
    }
    for (int i = 0; i < 4; i++) {
        attrs.conv.pad[i] = (int32_t)(kernel / 2);
    }
    attrs.conv.group = group;
    attrs.conv.act.fn = MTS_FN_RELU;
    return attrs;
}

mts_net_value mts_net_conv(mts_net *net, mts_net_value x, mts_net_value out, uint32_t kernel, uint32_t stride,
                           const mts_net_value *residual)
{
    const uint32_t inner = kernel * kernel;
    float *data = mts_arena_zero(net->arena, (size_t)out.count * x.count * inner, sizeof(*data));
    for (size_t i = 0; data && i < (size_t)out.count * x.count * inner; i++) {
        const uint64_t to = out.ids[i / inner / x.count], from = x.ids[i / inner % x.count];
        const bool position = net->plan->filters && !is_private(to);
        data[i] = number(to, position ? i / inner % x.count : from, i % inner);
    }
    const uint32_t weight = add_const(net, 4, (int64_t[]){out.count, x.count, kernel, kernel}, data);
    const uint32_t inputs[] = {x.value, weight, add_vector(net, out.count, 1.0f),
                               add_vector(net, out.count, 0.0f), residual ? residual->value : MTS_NONE};
    const mts_attrs attrs = conv_attrs(kernel, stride, 1);
    return add_node(net, MTS_OP_CONV, inputs, residual ? 5 : 4, &attrs, out);
}

static mts_net_value depthwise(mts_net *net, mts_net_value x, uint32_t stride)
{
    float *data = mts_arena_zero(net->arena, (size_t)x.count * 9, sizeof(*data));
    for (size_t i = 0; data && i < (size_t)x.count * 9; i++) {
        data[i] = number(x.ids[i / 9], 1, i % 9);
    }
    const uint32_t inputs[] = {x.value, add_const(net, 4, (int64_t[]){x.count, 1, 3, 3}, data), MTS_NONE,
                               add_vector(net, x.count, 0.0f)};
    const mts_attrs attrs = conv_attrs(3, stride, x.count);
    return add_node(net, MTS_OP_CONV, inputs, 4, &attrs, x);
}

mts_net_value mts_net_depthwise(mts_net *net, mts_net_value x)
{
    return depthwise(net, x, 1);
}

mts_net_value mts_net_depthwise_half(mts_net *net, mts_net_value x)
{
    return depthwise(net, x, 2);
}

mts_net_value mts_net_deconv(mts_net *net, mts_net_value x, mts_net_value out, uint32_t kernel,
                             uint32_t stride, uint32_t group)
{
    const uint32_t rows = out.count / group, inner = kernel * kernel;
    float *data = mts_arena_zero(net->arena, (size_t)x.count * rows * inner, sizeof(*data));
    for (size_t i = 0; data && i < (size_t)x.count * rows * inner; i++) {
        data[i] = number(out.ids[i / inner % rows], x.ids[i / inner / rows], i % inner);
    }
    const uint32_t inputs[] = {x.value, add_const(net, 4, (int64_t[]){x.count, rows, kernel, kernel}, data),
                               add_vector(net, out.count, 0.0f)};
    mts_attrs attrs = conv_attrs(kernel, stride, group);
    for (int i = 0; i < 4; i++) {
        attrs.conv.pad[i] = 1;
    }
    return add_node(net, MTS_OP_DECONV, inputs, 3, &attrs, out);
}

mts_net_value mts_net_softmax(mts_net *net, mts_net_value x, uint32_t axis)
{
    mts_attrs attrs;
    memset(&attrs, 0, sizeof(attrs));
    attrs.softmax.axis = axis;
    return add_node(net, MTS_OP_SOFTMAX, &x.value, 1, &attrs, x);
}

mts_net_value mts_net_scale(mts_net *net, mts_net_value x)
{
    mts_attrs attrs;
    memset(&attrs, 0, sizeof(attrs));
    attrs.unary.act.fn = MTS_FN_PRELU;
    const uint32_t inputs[] = {x.value, add_vector(net, x.count, 1.0f), add_vector(net, x.count, 0.1f),
                               add_vector(net, x.count, 0.2f)};
    return add_node(net, MTS_OP_SCALE, inputs, 4, &attrs, x);
}

mts_net_value mts_net_add(mts_net *net, mts_net_value a, mts_net_value b)
{
    mts_attrs attrs;
    memset(&attrs, 0, sizeof(attrs));
    attrs.binary.kind = MTS_BIN_ADD;
    return add_node(net, MTS_OP_BINARY, (uint32_t[]){a.value, b.value}, 2, &attrs, a);
}

mts_net_value mts_net_pool(mts_net *net, mts_net_value x)
{
    mts_attrs attrs;
    memset(&attrs, 0, sizeof(attrs));
    attrs.pool.kind = MTS_POOL_MAX;
    for (int i = 0; i < 2; i++) {
        attrs.pool.kernel[i] = attrs.pool.stride[i] = 2;
        attrs.pool.dilation[i] = 1;
    }
    return add_node(net, MTS_OP_POOL, &x.value, 1, &attrs, x);
}

mts_net_value mts_net_double(mts_net *net, mts_net_value x)
{
    const mts_shape *shape = &net->graph->values[x.value].shape;
    mts_attrs attrs;
    memset(&attrs, 0, sizeof(attrs));
    attrs.resize.mode = MTS_RESIZE_NEAREST;
    attrs.resize.coord = MTS_COORD_HALF_PIXEL;
    attrs.resize.round = MTS_ROUND_PREFER_FLOOR;
    for (int i = 0; i < 2; i++) {
        attrs.resize.out[i] = 2 * (uint32_t)shape->dims[2 + i];
        attrs.resize.scale[i] = 2.0f;
    }
    return add_node(net, MTS_OP_RESIZE, &x.value, 1, &attrs, x);
}

mts_net_value mts_net_mean(mts_net *net, mts_net_value x)
{
    mts_attrs attrs;
    memset(&attrs, 0, sizeof(attrs));
    attrs.reduce.kind = MTS_REDUCE_MEAN;
    attrs.reduce.axes = 12;
    attrs.reduce.keep = 1;
    return add_node(net, MTS_OP_REDUCE, &x.value, 1, &attrs, x);
}

mts_net_value mts_net_concat(mts_net *net, mts_net_value a, mts_net_value b)
{
    mts_attrs attrs;
    memset(&attrs, 0, sizeof(attrs));
    attrs.concat.axis = 1;
    mts_net_value both = {.count = a.count + b.count};
    uint64_t *ids = mts_arena_zero(net->arena, both.count, sizeof(*ids));
    net->failed = net->failed || !ids;
    if (ids) {
        memcpy(ids, a.ids, a.count * sizeof(*ids));
        memcpy(ids + a.count, b.ids, b.count * sizeof(*ids));
    }
    both.ids = ids;
    return add_node(net, MTS_OP_CONCAT, (uint32_t[]){a.value, b.value}, 2, &attrs, both);
}

mts_net_value mts_net_shuffle(mts_net *net, mts_net_value x, uint32_t groups)
{
    const int64_t *dims = net->graph->values[x.value].shape.dims;
    const uint32_t each = x.count / groups;
    mts_net_value out = {.count = x.count};
    uint64_t *ids = mts_arena_zero(net->arena, x.count, sizeof(*ids));
    net->failed = net->failed || !ids || x.count % groups != 0;
    for (uint32_t i = 0; ids && i < x.count; i++) {
        ids[i] = x.ids[i % groups * each + i / groups];
    }
    out.ids = ids;
    const mts_attrs split = {
        .reshape = {.shape = mts_shape_make(5, (const int64_t[]){dims[0], groups, each, dims[2], dims[3]})}};
    const mts_attrs turn = {.transpose = {.perm = {0, 2, 1, 3, 4}}};
    const mts_attrs join = {
        .reshape = {.shape = mts_shape_make(4, (const int64_t[]){dims[0], x.count, dims[2], dims[3]})}};
    const mts_net_value parts = add_node(net, MTS_OP_RESHAPE, &x.value, 1, &split, x);
    const mts_net_value turned = add_node(net, MTS_OP_TRANSPOSE, &parts.value, 1, &turn, out);
    return add_node(net, MTS_OP_RESHAPE, &turned.value, 1, &join, out);
}

mts_net_value mts_net_slice(mts_net *net, mts_net_value x, uint32_t first, uint32_t count)
{
    const int64_t *dims = net->graph->values[x.value].shape.dims;
    const mts_net_value out = {.count = count, .ids = x.ids + first};
    const mts_attrs attrs = {.slice = {.start = {0, first, 0, 0},
                                       .step = {1, 1, 1, 1},
                                       .size = {dims[0], count, dims[2], dims[3]}}};
    return add_node(net, MTS_OP_SLICE, &x.value, 1, &attrs, out);
}

mts_net_value mts_net_flatten(mts_net *net, mts_net_value x)
{
    mts_attrs attrs;
    memset(&attrs, 0, sizeof(attrs));
    const int64_t *dims = net->graph->values[x.value].shape.dims;
    const uint32_t area = (uint32_t)(dims[2] * dims[3]);
    mts_net_value flat = {.count = x.count * area};
    uint64_t *ids = mts_arena_zero(net->arena, flat.count, sizeof(*ids));
    net->failed = net->failed || !ids;
    for (uint32_t i = 0; ids && i < flat.count; i++) {
        ids[i] = x.ids[i / area] | (uint64_t)(i % area + 1) << 56;
    }
    flat.ids = ids;
    attrs.reshape.shape = mts_shape_make(4, (int64_t[]){1, flat.count, 1, 1});
    return add_node(net, MTS_OP_RESHAPE, &x.value, 1, &attrs, flat);
}

void mts_net_end(mts_net *net, mts_net_value x, uint32_t classes)
{
    mts_net_value out = {.count = classes};
    uint64_t *ids = mts_arena_zero(net->arena, classes, sizeof(*ids));
    net->layer++;
    net->failed = net->failed || !ids;
    for (uint32_t i = 0; ids && i < classes; i++) {
        ids[i] = identity(net->layer, 3 + net->task, i);
    }
    out.ids = ids;
    if (net->failed) {
        return;
    }
    out = mts_net_conv(net, x, out, 1, 1, NULL);
    const mts_shape shape = mts_shape_make(2, (int64_t[]){1, classes});
    net->failed = net->failed || mts_graph_add_output(net->graph, "y", out.value, MTS_TYPE_FLOAT32, &shape,
                                                      NULL) != MTS_STATUS_OK;
}
