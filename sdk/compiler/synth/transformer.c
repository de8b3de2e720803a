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

mts_synth_tensor mts_synth_attention(mts_synth *s, mts_synth_tensor x, const char *prefix, uint32_t width,
                                     uint32_t heads, uint32_t residual)
{
    char name[NAME_SIZE];
    mts_attrs attrs;
    const mts_synth_tensor q = mts_synth_linear(s, x, prefix, "q", width, MTS_FN_NONE, MTS_NONE);
    const mts_synth_tensor k = mts_synth_linear(s, x, prefix, "k", width, MTS_FN_NONE, MTS_NONE);
    const mts_synth_tensor v = mts_synth_linear(s, x, prefix, "v", width, MTS_FN_NONE, MTS_NONE);
    const uint32_t inputs[3] = {q.value, k.value, v.value};
    memset(&attrs, 0, sizeof attrs);
    /* products of two vectors of a head grow with its channels */
    attrs.attention = (mts_attrs_attention){.heads = heads, .scale = (float)heads / (float)q.width.all};
    (void)snprintf(name, sizeof name, "%s.attention", prefix);
    const mts_synth_tensor y = mts_synth_node(s, MTS_OP_ATTENTION, name, inputs, 3, &attrs, v.width);
    return mts_synth_linear(s, y, prefix, "out", width, MTS_FN_NONE, residual);
}

mts_synth_tensor mts_synth_token(mts_synth *s, mts_synth_tensor x, bool last)
{
    mts_attrs attrs;
    if (s->status != MTS_STATUS_OK) {
        return x;
    }
    const mts_shape *shape = &s->graph->values[x.value].shape;
    memset(&attrs, 0, sizeof attrs);
    attrs.slice = (mts_attrs_slice){.start = {0, 0, 0, last ? shape->dims[3] - 1 : 0},
                                    .step = {1, 1, 1, 1},
                                    .size = {shape->dims[0], shape->dims[1], 1, 1}};
    return mts_synth_node(s, MTS_OP_SLICE, last ? "last" : "first", &x.value, 1, &attrs, x.width);
}

/* Numbers of tokens [N, S] to images [N, W, 1, S]. */
mts_synth_tensor mts_synth_embed(mts_synth *s, mts_synth_tensor tokens, uint32_t unpruned)
{
    mts_attrs attrs;
    if (s->status != MTS_STATUS_OK) {
        return tokens;
    }
    const mts_shape *shape = &s->graph->values[tokens.value].shape;
    const int64_t images = shape->dims[0], rows = shape->dims[1];
    tokens.width = mts_synth_channels(s, unpruned);
    const int64_t width = tokens.width.all;
    const mts_shape column = mts_shape_make(3, (int64_t[]){1, images * rows, 1});
    const mts_shape lines = mts_shape_make(3, (int64_t[]){images, rows, width});
    const mts_shape image = mts_shape_make(4, (int64_t[]){images, width, 1, rows});
    mts_synth_tensor x = mts_synth_reshape(s, tokens, "numbers", &column);
    const uint32_t inputs[2] = {mts_synth_table(s, "words", WORDS, tokens.width), x.value};
    memset(&attrs, 0, sizeof attrs);
    x = mts_synth_node(s, MTS_OP_TAKE, "embedding", inputs, 2, &attrs, tokens.width);
    x = mts_synth_reshape(s, x, "embedding.lines", &lines);
    attrs.transpose = (mts_attrs_transpose){.perm = {0, 2, 1}};
    x = mts_synth_node(s, MTS_OP_TRANSPOSE, "embedding.transposed", &x.value, 1, &attrs, x.width);
    return mts_synth_reshape(s, x, "embedding.image", &image);
}

void mts_synth_bert(mts_synth *s, mts_synth_tensor tokens, bool base)
{
    const sizes a = base ? (sizes){12, 768, 12, 3072, 1e-12f} : (sizes){4, 512, 8, 2048, 1e-12f};
    s->multiple = a.heads;
    mts_synth_tensor x = mts_synth_with_constant(s, mts_synth_embed(s, tokens, a.width), "positions", false);
    x = mts_synth_norm(s, x, "embedding", "norm", a.epsilon);
    for (uint32_t i = 0; i < a.layers; i++) {
        char prefix[NAME_SIZE - 16];
        (void)snprintf(prefix, sizeof prefix, "layer%u", i);
        x = mts_synth_norm(s, mts_synth_attention(s, x, prefix, a.width, a.heads, x.value), prefix, "norm1",
                           a.epsilon);
        const mts_synth_tensor y = mts_synth_linear(s, x, prefix, "inner", a.inner, MTS_FN_GELU, MTS_NONE);
        x = mts_synth_norm(s, mts_synth_linear(s, y, prefix, "outer", a.width, MTS_FN_NONE, x.value), prefix,
                           "norm2", a.epsilon);
    }
    mts_synth_classify(s, mts_synth_token(s, x, false), "classifier");
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
        x = mts_synth_reshape(s, x, "patches.line", &line);
    }
    x = mts_synth_with_constant(s, mts_synth_with_constant(s, x, "class", true), "positions", false);
    for (uint32_t i = 0; i < a.layers; i++) {
        char prefix[NAME_SIZE - 16];
        (void)snprintf(prefix, sizeof prefix, "layer%u", i);
        x = mts_synth_attention(s, mts_synth_norm(s, x, prefix, "norm1", a.epsilon), prefix, a.width, a.heads,
                                x.value);
        const mts_synth_tensor y = mts_synth_linear(s, mts_synth_norm(s, x, prefix, "norm2", a.epsilon),
                                                    prefix, "inner", a.inner, MTS_FN_GELU, MTS_NONE);
        x = mts_synth_linear(s, y, prefix, "outer", a.width, MTS_FN_NONE, x.value);
    }
    mts_synth_classify(s, mts_synth_token(s, mts_synth_norm(s, x, "head", "norm", a.epsilon), false),
                       "classifier");
}
