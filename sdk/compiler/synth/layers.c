/*
 * layers.c: the few kinds of layers that the architectures consist of, as nodes of the
 * task's graph.
 */
#include "compiler/synth/synth.h"

#include <stdio.h>
#include <string.h>

#define NAME_SIZE 64

static const mts_synth_tensor nothing = {.value = MTS_NONE};

mts_synth_tensor mts_synth_node(mts_synth *s, mts_op op, const char *name, const uint32_t *inputs,
                                uint32_t count, const mts_attrs *attrs, mts_synth_width width)
{
    mts_synth_tensor out = {.value = MTS_NONE, .width = width};
    if (s->status == MTS_STATUS_OK) {
        s->status = mts_graph_add_node(s->graph, op, name, inputs, count, attrs, &out.value, s->error);
    }
    if (s->status == MTS_STATUS_OK && !mts_graph_name_value(s->graph, out.value, name)) {
        (void)mts_synth_fail(s, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a name");
    }
    return out;
}

static const char *part_name(char *text, const char *layer, const char *part)
{
    (void)snprintf(text, NAME_SIZE, "%s.%s", layer, part);
    return text;
}

/* Groups of tasks that are not equally pruned differ in size: their filters share nothing. */
static bool shares_groups(const mts_synth *s, uint32_t unpruned, mts_synth_width width)
{
    mts_synth all = *s;
    for (all.task = 0; all.task < s->options->tasks; all.task++) {
        if (mts_synth_channels(&all, unpruned).all != width.all) {
            return false;
        }
    }
    return true;
}

mts_synth_tensor mts_synth_conv(mts_synth *s, mts_synth_tensor x, const mts_synth_layer *layer)
{
    char name[NAME_SIZE];
    mts_attrs attrs;
    if (s->status != MTS_STATUS_OK) {
        return nothing;
    }
    const mts_synth_width width =
        layer->width > 0 ? mts_synth_channels(s, layer->width) : (mts_synth_width){s->options->classes, 0, 0};
    /* filters of whole groups: all of their inputs are shared where they are */
    const uint32_t groups = layer->groups > 0 ? layer->groups : 1, depth = x.width.all / groups;
    const mts_synth_width read = groups > 1 ? (mts_synth_width){depth, depth, 0} : x.width;
    memset(&attrs, 0, sizeof attrs);
    for (int i = 0; i < 2; i++) {
        attrs.conv.kernel[i] = layer->kernel;
        attrs.conv.stride[i] = layer->stride;
        attrs.conv.dilation[i] = 1;
    }
    for (int i = 0; i < 4; i++) {
        attrs.conv.pad[i] = (int32_t)layer->pad;
    }
    attrs.conv.group = groups;
    attrs.conv.act.fn = layer->fn;
    uint32_t inputs[5] = {x.value, MTS_NONE, MTS_NONE, MTS_NONE, layer->residual};
    inputs[1] = mts_synth_weight(s, part_name(name, layer->name, "weight"), width, read, layer->kernel,
                                 layer->width == 0 || (groups > 1 && !shares_groups(s, layer->width, width)));
    if (layer->normalised) {
        inputs[2] = mts_synth_vector(s, part_name(name, layer->name, "scale"), width.all, layer->gain,
                                     0.2f * layer->gain);
    }
    if (!layer->unbiased) {
        inputs[3] = mts_synth_vector(s, part_name(name, layer->name, "bias"), width.all, 0.05f, 0.1f);
    }
    s->layer++;
    return mts_synth_node(s, MTS_OP_CONV, layer->name, inputs, layer->residual == MTS_NONE ? 4 : 5, &attrs,
                          width);
}

mts_synth_tensor mts_synth_max_pool(mts_synth *s, mts_synth_tensor x, const char *name, uint32_t kernel,
                                    uint32_t stride, uint32_t pad)
{
    mts_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    attrs.pool.kind = MTS_POOL_MAX;
    for (int i = 0; i < 2; i++) {
        attrs.pool.kernel[i] = kernel;
        attrs.pool.stride[i] = stride;
        attrs.pool.dilation[i] = 1;
    }
    for (int i = 0; i < 4; i++) {
        attrs.pool.pad[i] = (int32_t)pad;
    }
    return mts_synth_node(s, MTS_OP_POOL, name, &x.value, 1, &attrs, x.width);
}

mts_synth_tensor mts_synth_mean(mts_synth *s, mts_synth_tensor x, const char *name)
{
    mts_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    attrs.reduce = (mts_attrs_reduce){.kind = MTS_REDUCE_MEAN, .axes = 4u | 8u, .keep = 1};
    return mts_synth_node(s, MTS_OP_REDUCE, name, &x.value, 1, &attrs, x.width);
}

mts_synth_tensor mts_synth_flatten(mts_synth *s, mts_synth_tensor x, const char *name)
{
    mts_attrs attrs;
    if (s->status != MTS_STATUS_OK) {
        return nothing;
    }
    const mts_shape *shape = &s->graph->values[x.value].shape;
    const uint32_t pixels = (uint32_t)(shape->dims[2] * shape->dims[3]);
    const mts_synth_width width = {x.width.all * pixels, x.width.shared * pixels, 0};
    memset(&attrs, 0, sizeof attrs);
    attrs.reshape.shape = mts_shape_make(4, (int64_t[]){shape->dims[0], width.all, 1, 1});
    return mts_synth_node(s, MTS_OP_RESHAPE, name, &x.value, 1, &attrs, width);
}

mts_synth_tensor mts_synth_linear(mts_synth *s, mts_synth_tensor x, const char *prefix, const char *part,
                                  uint32_t width, uint32_t fn, uint32_t residual)
{
    char name[NAME_SIZE];
    (void)snprintf(name, sizeof name, "%s.%s", prefix, part);
    const mts_synth_layer layer = {
        .name = name, .width = width, .kernel = 1, .stride = 1, .fn = fn, .residual = residual};
    return mts_synth_conv(s, x, &layer);
}

mts_synth_tensor mts_synth_norm(mts_synth *s, mts_synth_tensor x, const char *prefix, const char *part,
                                float epsilon)
{
    char name[NAME_SIZE], vector[NAME_SIZE + 8];
    mts_attrs attrs;
    const mts_shape shape = mts_shape_make(3, (int64_t[]){x.width.all, 1, 1});
    memset(&attrs, 0, sizeof attrs);
    attrs.norm = (mts_attrs_norm){.kind = MTS_NORM_VARIANCE, .axes = 2, .groups = 1, .epsilon = epsilon};
    (void)snprintf(name, sizeof name, "%s.%s", prefix, part);
    uint32_t inputs[3] = {x.value, MTS_NONE, MTS_NONE};
    (void)snprintf(vector, sizeof vector, "%s.scale", name);
    inputs[1] = mts_synth_constant(s, vector, &shape, 1.0f, 0.1f);
    (void)snprintf(vector, sizeof vector, "%s.bias", name);
    inputs[2] = mts_synth_constant(s, vector, &shape, 0.0f, 0.1f);
    return mts_synth_node(s, MTS_OP_NORM, name, inputs, 3, &attrs, x.width);
}

/* Another tensor beside x: a binary sum, or a concatenation of tokens. */
mts_synth_tensor mts_synth_with_constant(mts_synth *s, mts_synth_tensor x, const char *name, bool joins)
{
    char constant[NAME_SIZE];
    mts_attrs attrs;
    if (s->status != MTS_STATUS_OK) {
        return x;
    }
    const mts_shape *shape = &s->graph->values[x.value].shape;
    const mts_shape own = mts_shape_make(
        4, (int64_t[]){joins ? shape->dims[0] : 1, shape->dims[1], 1, joins ? 1 : shape->dims[3]});
    memset(&attrs, 0, sizeof attrs);
    if (joins) {
        attrs.concat.axis = 3;
    } else {
        attrs.binary.kind = MTS_BIN_ADD;
    }
    (void)snprintf(constant, sizeof constant, "%s.constant", name);
    const uint32_t made = mts_synth_constant(s, constant, &own, 0.0f, 0.1f);
    const uint32_t inputs[2] = {joins ? made : x.value, joins ? x.value : made};
    return mts_synth_node(s, joins ? MTS_OP_CONCAT : MTS_OP_BINARY, name, inputs, 2, &attrs, x.width);
}

mts_synth_tensor mts_synth_reshape(mts_synth *s, mts_synth_tensor x, const char *name, const mts_shape *shape)
{
    mts_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    attrs.reshape.shape = *shape;
    return mts_synth_node(s, MTS_OP_RESHAPE, name, &x.value, 1, &attrs, x.width);
}

void mts_synth_classify(mts_synth *s, mts_synth_tensor x, const char *name)
{
    const mts_synth_layer layer = {.name = name, .kernel = 1, .stride = 1, .residual = MTS_NONE};
    const mts_synth_tensor y = mts_synth_conv(s, x, &layer);
    if (s->status == MTS_STATUS_OK) {
        const mts_shape shape =
            mts_shape_make(2, (int64_t[]){s->graph->values[y.value].shape.dims[0], s->options->classes});
        s->status = mts_graph_add_output(s->graph, "output", y.value, MTS_TYPE_FLOAT32, &shape, s->error);
    }
}
