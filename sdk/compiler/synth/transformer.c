/*
 * transformer.c: BERT (Devlin et al. 2019; sizes of Turc et al. 2019) and ViT-Ti
 * (Dosovitskiy et al. 2021, Touvron et al. 2021), in the form that the pass of tokens
 * gives imported ones: tokens are pixels of images of one row.
 *
 * Widths are multiples of the number of heads, rounded up. BERT reads a line of token
 * numbers; its vocabulary is small, because an embedding is only copied.
 */
#include "compiler/synth/synth.h"

#include <stdio.h>
#include <string.h>

#define NAME_SIZE 48
#define WORDS 1024
#define PATCH 16

typedef struct sizes {
    uint32_t layers, width, heads, inner;
    float epsilon;
} sizes;

static mts_synth_tensor linear(mts_synth *s, mts_synth_tensor x, const char *prefix, const char *part,
                               uint32_t width, uint32_t fn, uint32_t residual)
{
    char name[NAME_SIZE];
    (void)snprintf(name, sizeof name, "%s.%s", prefix, part);
    const mts_synth_layer layer = {
        .name = name, .width = width, .kernel = 1, .stride = 1, .fn = fn, .residual = residual};
    return mts_synth_conv(s, x, &layer);
}

static mts_synth_tensor norm(mts_synth *s, mts_synth_tensor x, const char *prefix, const char *part,
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

static mts_synth_tensor attention(mts_synth *s, mts_synth_tensor x, const char *prefix, const sizes *a,
                                  uint32_t residual)
{
    char name[NAME_SIZE];
    mts_attrs attrs;
    const mts_synth_tensor q = linear(s, x, prefix, "q", a->width, MTS_FN_NONE, MTS_NONE);
    const mts_synth_tensor k = linear(s, x, prefix, "k", a->width, MTS_FN_NONE, MTS_NONE);
    const mts_synth_tensor v = linear(s, x, prefix, "v", a->width, MTS_FN_NONE, MTS_NONE);
    const uint32_t inputs[3] = {q.value, k.value, v.value};
    memset(&attrs, 0, sizeof attrs);
    /* products of two vectors of a head grow with its channels */
    attrs.attention = (mts_attrs_attention){.heads = a->heads, .scale = (float)a->heads / (float)q.width.all};
    (void)snprintf(name, sizeof name, "%s.attention", prefix);
    const mts_synth_tensor y = mts_synth_node(s, MTS_OP_ATTENTION, name, inputs, 3, &attrs, v.width);
    return linear(s, y, prefix, "out", a->width, MTS_FN_NONE, residual);
}

/* Another tensor beside x: a binary sum, or a concatenation of tokens. */
static mts_synth_tensor with_constant(mts_synth *s, mts_synth_tensor x, const char *name, bool joins)
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

static mts_synth_tensor reshaped(mts_synth *s, mts_synth_tensor x, const char *name, const mts_shape *shape)
{
    mts_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    attrs.reshape.shape = *shape;
    return mts_synth_node(s, MTS_OP_RESHAPE, name, &x.value, 1, &attrs, x.width);
}

static mts_synth_tensor first_token(mts_synth *s, mts_synth_tensor x)
{
    mts_attrs attrs;
    if (s->status != MTS_STATUS_OK) {
        return x;
    }
    const mts_shape *shape = &s->graph->values[x.value].shape;
    memset(&attrs, 0, sizeof attrs);
    attrs.slice = (mts_attrs_slice){.step = {1, 1, 1, 1}, .size = {shape->dims[0], shape->dims[1], 1, 1}};
    return mts_synth_node(s, MTS_OP_SLICE, "first", &x.value, 1, &attrs, x.width);
}

/* Numbers of tokens [N, S] to images [N, W, 1, S]. */
static mts_synth_tensor embed(mts_synth *s, mts_synth_tensor tokens, const sizes *a)
{
    mts_attrs attrs;
    if (s->status != MTS_STATUS_OK) {
        return tokens;
    }
    const mts_shape *shape = &s->graph->values[tokens.value].shape;
    const int64_t images = shape->dims[0], rows = shape->dims[1];
    tokens.width = mts_synth_channels(s, a->width);
    const int64_t width = tokens.width.all;
    const mts_shape column = mts_shape_make(3, (int64_t[]){1, images * rows, 1});
    const mts_shape lines = mts_shape_make(3, (int64_t[]){images, rows, width});
    const mts_shape image = mts_shape_make(4, (int64_t[]){images, width, 1, rows});
    const mts_shape table = mts_shape_make(3, (int64_t[]){1, WORDS, width});
    mts_synth_tensor x = reshaped(s, tokens, "numbers", &column);
    const uint32_t inputs[2] = {mts_synth_constant(s, "words", &table, 0.0f, 1.0f), x.value};
    memset(&attrs, 0, sizeof attrs);
    x = mts_synth_node(s, MTS_OP_TAKE, "embedding", inputs, 2, &attrs, tokens.width);
    x = reshaped(s, x, "embedding.lines", &lines);
    attrs.transpose = (mts_attrs_transpose){.perm = {0, 2, 1}};
    x = mts_synth_node(s, MTS_OP_TRANSPOSE, "embedding.turned", &x.value, 1, &attrs, x.width);
    return reshaped(s, x, "embedding.image", &image);
}

void mts_synth_bert(mts_synth *s, mts_synth_tensor tokens, bool base)
{
    const sizes a = base ? (sizes){12, 768, 12, 3072, 1e-12f} : (sizes){4, 512, 8, 2048, 1e-12f};
    s->multiple = a.heads;
    mts_synth_tensor x = with_constant(s, embed(s, tokens, &a), "positions", false);
    x = norm(s, x, "embedding", "norm", a.epsilon);
    for (uint32_t i = 0; i < a.layers; i++) {
        char prefix[NAME_SIZE - 16];
        (void)snprintf(prefix, sizeof prefix, "layer%u", i);
        x = norm(s, attention(s, x, prefix, &a, x.value), prefix, "norm1", a.epsilon);
        const mts_synth_tensor y = linear(s, x, prefix, "inner", a.inner, MTS_FN_GELU, MTS_NONE);
        x = norm(s, linear(s, y, prefix, "outer", a.width, MTS_FN_NONE, x.value), prefix, "norm2", a.epsilon);
    }
    mts_synth_classify(s, first_token(s, x), "classifier");
}

void mts_synth_vit(mts_synth *s, mts_synth_tensor image)
{
    const sizes a = {12, 192, 3, 768, 1e-6f};
    s->multiple = a.heads;
    const mts_synth_layer patches = {
        .name = "patches", .width = a.width, .kernel = PATCH, .stride = PATCH, .residual = MTS_NONE};
    mts_synth_tensor x = mts_synth_conv(s, image, &patches);
    if (s->status == MTS_STATUS_OK) {
        const mts_shape *shape = &s->graph->values[x.value].shape;
        const mts_shape line = mts_shape_make(
            4, (int64_t[]){shape->dims[0], shape->dims[1], 1, shape->dims[2] * shape->dims[3]});
        x = reshaped(s, x, "patches.line", &line);
    }
    x = with_constant(s, with_constant(s, x, "class", true), "positions", false);
    for (uint32_t i = 0; i < a.layers; i++) {
        char prefix[NAME_SIZE - 16];
        (void)snprintf(prefix, sizeof prefix, "layer%u", i);
        x = attention(s, norm(s, x, prefix, "norm1", a.epsilon), prefix, &a, x.value);
        const mts_synth_tensor y = linear(s, norm(s, x, prefix, "norm2", a.epsilon), prefix, "inner", a.inner,
                                          MTS_FN_GELU, MTS_NONE);
        x = linear(s, y, prefix, "outer", a.width, MTS_FN_NONE, x.value);
    }
    mts_synth_classify(s, first_token(s, norm(s, x, "head", "norm", a.epsilon)), "classifier");
}
