/*
 * xlnet.c: XLNet (Yang et al. 2019), base: attention with relative positions, in the form that
 * the pass of tokens gives imported ones.
 *
 * Scores are (q + u) k + (q + v) r: u is the bias of the product q, v - u is added to it. r,
 * a row for each distance of two tokens, comes from constants only, so it is the weight of a
 * convolution with a group for each head. What it gives for a query lies by distance; the
 * shift, which only moves elements, puts it by key, and attention adds it as a mask.
 */
#include "compiler/synth/synth.h"

#include <stdio.h>
#include <string.h>

#define NAME_SIZE 48
#define LAYERS 12
#define WIDTH 768
#define HEADS 12
#define INNER 3072
#define EPSILON 1e-12f

static mts_synth_tensor product(mts_synth *s, mts_synth_tensor x, const char *prefix, const char *part,
                                uint32_t residual)
{
    char name[NAME_SIZE];
    (void)snprintf(name, sizeof name, "%s.%s", prefix, part);
    const mts_synth_layer layer = {
        .name = name, .width = WIDTH, .kernel = 1, .stride = 1, .unbiased = true, .residual = residual};
    return mts_synth_conv(s, x, &layer);
}

static mts_synth_tensor add_vector(mts_synth *s, mts_synth_tensor x, const char *prefix)
{
    char name[NAME_SIZE];
    mts_attrs attrs;
    const mts_shape shape = mts_shape_make(4, (int64_t[]){1, x.width.all, 1, 1});
    memset(&attrs, 0, sizeof attrs);
    attrs.binary.kind = MTS_BIN_ADD;
    (void)snprintf(name, sizeof name, "%s.q.positions", prefix);
    const uint32_t inputs[2] = {x.value, mts_synth_constant(s, name, &shape, 0.0f, 0.1f)};
    return mts_synth_node(s, MTS_OP_BINARY, name, inputs, 2, &attrs, x.width);
}

/* Scores by distance, [N, HEADS * 2 S, 1, S]. Whole heads are shared. */
static mts_synth_tensor distances(mts_synth *s, mts_synth_tensor q, const char *prefix, uint32_t tokens)
{
    char name[NAME_SIZE];
    mts_attrs attrs;
    const uint32_t depth = q.width.all / HEADS, rows = 2 * tokens;
    const mts_synth_width out = {HEADS * rows, q.width.shared / depth * rows, 0}, in = {depth, depth, 0};
    memset(&attrs, 0, sizeof attrs);
    attrs.conv = (mts_attrs_conv){.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .group = HEADS};
    (void)snprintf(name, sizeof name, "%s.distances.weight", prefix);
    const uint32_t inputs[2] = {q.value, mts_synth_weight(s, name, out, in, 1, false)};
    (void)snprintf(name, sizeof name, "%s.distances", prefix);
    s->layer++;
    return mts_synth_node(s, MTS_OP_CONV, name, inputs, 2, &attrs, out);
}

static mts_synth_tensor cut(mts_synth *s, mts_synth_tensor x, const char *name, uint32_t axis, int64_t first,
                            int64_t count)
{
    mts_attrs attrs;
    if (s->status != MTS_STATUS_OK) {
        return x;
    }
    const mts_shape *shape = &s->graph->values[x.value].shape;
    memset(&attrs, 0, sizeof attrs);
    for (uint32_t i = 0; i < 4; i++) {
        attrs.slice.step[i] = 1;
        attrs.slice.size[i] = shape->dims[i];
    }
    attrs.slice.start[axis] = first;
    attrs.slice.size[axis] = count;
    return mts_synth_node(s, MTS_OP_SLICE, name, &x.value, 1, &attrs, x.width);
}

/* From [query, distance S - query + key] to [query, key]. */
static mts_synth_tensor shift(mts_synth *s, mts_synth_tensor x, const char *prefix, int64_t images,
                              int64_t tokens)
{
    char name[NAME_SIZE];
    mts_attrs attrs;
    const mts_shape rows = mts_shape_make(4, (int64_t[]){images, HEADS, 2 * tokens, tokens});
    const mts_shape shifted = mts_shape_make(4, (int64_t[]){images, HEADS, tokens, 2 * tokens - 1});
    memset(&attrs, 0, sizeof attrs);
    attrs.transpose = (mts_attrs_transpose){.perm = {0, 1, 3, 2}};
    (void)snprintf(name, sizeof name, "%s.by_distance", prefix);
    x = mts_synth_reshape(s, x, name, &rows);
    (void)snprintf(name, sizeof name, "%s.by_query", prefix);
    x = mts_synth_node(s, MTS_OP_TRANSPOSE, name, &x.value, 1, &attrs, x.width);
    (void)snprintf(name, sizeof name, "%s.shift", prefix);
    x = cut(s, mts_synth_reshape(s, x, name, &rows), name, 2, 1, 2 * tokens - 1);
    (void)snprintf(name, sizeof name, "%s.by_key", prefix);
    return cut(s, mts_synth_reshape(s, x, name, &shifted), name, 3, 0, tokens);
}

static mts_synth_tensor attention(mts_synth *s, mts_synth_tensor x, const char *prefix)
{
    char name[NAME_SIZE];
    mts_attrs attrs;
    if (s->status != MTS_STATUS_OK) {
        return x;
    }
    const mts_shape shape = s->graph->values[x.value].shape;
    const mts_synth_tensor q = mts_synth_linear(s, x, prefix, "q", WIDTH, MTS_FN_NONE, MTS_NONE);
    const mts_synth_tensor k = product(s, x, prefix, "k", MTS_NONE);
    const mts_synth_tensor v = product(s, x, prefix, "v", MTS_NONE);
    mts_synth_tensor bias = distances(s, add_vector(s, q, prefix), prefix, (uint32_t)shape.dims[3]);
    bias = shift(s, bias, prefix, shape.dims[0], shape.dims[3]);
    const uint32_t inputs[4] = {q.value, k.value, v.value, bias.value};
    memset(&attrs, 0, sizeof attrs);
    attrs.attention = (mts_attrs_attention){.heads = HEADS, .scale = (float)HEADS / (float)q.width.all};
    (void)snprintf(name, sizeof name, "%s.attention", prefix);
    const mts_synth_tensor y = mts_synth_node(s, MTS_OP_ATTENTION, name, inputs, 4, &attrs, v.width);
    return product(s, y, prefix, "out", x.value);
}

void mts_synth_xlnet(mts_synth *s, mts_synth_tensor tokens)
{
    s->multiple = HEADS;
    mts_synth_tensor x = mts_synth_embed(s, tokens, WIDTH);
    for (uint32_t i = 0; i < LAYERS; i++) {
        char prefix[NAME_SIZE - 24];
        (void)snprintf(prefix, sizeof prefix, "layer%u", i);
        x = mts_synth_norm(s, attention(s, x, prefix), prefix, "norm1", EPSILON);
        const mts_synth_tensor y = mts_synth_linear(s, x, prefix, "inner", INNER, MTS_FN_GELU, MTS_NONE);
        x = mts_synth_norm(s, mts_synth_linear(s, y, prefix, "outer", WIDTH, MTS_FN_NONE, x.value), prefix,
                           "norm2", EPSILON);
    }
    x = mts_synth_linear(s, mts_synth_token(s, x, true), "summary", "dense", WIDTH, MTS_FN_TANH, MTS_NONE);
    mts_synth_classify(s, x, "classifier");
}
