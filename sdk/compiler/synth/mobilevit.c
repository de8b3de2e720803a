/*
 * mobilevit.c: MobileViT-S (Mehta and Rastegari 2022): inverted residuals of MobileNetV2, and
 * blocks in which transformers look across the image.
 *
 * Such a block cuts its map into patches of 2x2 pixels; pixels at one place of their patches
 * are the tokens of one image, so one map becomes four images of tokens and back. Filters of
 * depthwise convolutions are shared like others.
 */
#include "compiler/synth/synth.h"

#include <stdio.h>
#include <string.h>

#define NAME_SIZE 48
#define PREFIX_SIZE 24
#define EXPANSION 4
#define HEADS 4
#define SIDE 2 /* of a patch */
#define EPSILON 1e-5f
#define GAIN_LAST 0.3f /* of a block's last convolution, as in resnet.c */

typedef struct part {
    const char *prefix, *name;
    uint32_t width, kernel, stride;
    bool depthwise, linear; /* linear: no function behind it */
    float gain;
    uint32_t residual;
} part;

static mts_synth_tensor conv(mts_synth *s, mts_synth_tensor x, const part *p)
{
    char name[NAME_SIZE];
    (void)snprintf(name, sizeof name, "%s.%s", p->prefix, p->name);
    const mts_synth_layer layer = {.name = name,
                                   .width = p->width,
                                   .kernel = p->kernel,
                                   .stride = p->stride,
                                   .pad = p->kernel / 2,
                                   .groups = p->depthwise ? x.width.all : 1,
                                   .normalised = true,
                                   .fn = p->linear ? MTS_FN_NONE : MTS_FN_SILU,
                                   .gain = p->gain,
                                   .residual = p->residual};
    return mts_synth_conv(s, x, &layer);
}

static mts_synth_tensor inverted(mts_synth *s, mts_synth_tensor x, const char *prefix, uint32_t in,
                                 uint32_t out, uint32_t stride)
{
    const uint32_t inner = in * EXPANSION, residual = in == out && stride == 1 ? x.value : MTS_NONE;
    mts_synth_tensor y = conv(s, x, &(part){prefix, "expand", inner, 1, 1, false, false, 1.0f, MTS_NONE});
    y = conv(s, y, &(part){prefix, "depthwise", inner, 3, stride, true, false, 1.0f, MTS_NONE});
    return conv(s, y,
                &(part){prefix, "project", out, 1, 1, false, true, residual == MTS_NONE ? 1.0f : GAIN_LAST,
                        residual});
}

static mts_synth_tensor move(mts_synth *s, mts_synth_tensor x, const char *prefix, const char *name,
                             const mts_shape *from, const mts_attrs *order, const mts_shape *to)
{
    char title[NAME_SIZE];
    (void)snprintf(title, sizeof title, "%s.%s", prefix, name);
    x = mts_synth_reshape(s, x, title, from);
    x = mts_synth_node(s, MTS_OP_TRANSPOSE, title, &x.value, 1, order, x.width);
    return mts_synth_reshape(s, x, title, to);
}

/* [N, C, H, W] to [4 N, C, 1, H W / 4], or back: `shape` is that of the map. */
static mts_synth_tensor patches(mts_synth *s, mts_synth_tensor x, const char *prefix, const mts_shape *shape,
                                bool back)
{
    const int64_t images = shape->dims[0], channels = x.width.all;
    const int64_t rows = shape->dims[2] / SIDE, columns = shape->dims[3] / SIDE;
    const mts_shape map = mts_shape_make(4, (int64_t[]){images, channels, rows * SIDE, columns * SIDE});
    const mts_shape line = mts_shape_make(4, (int64_t[]){images * SIDE * SIDE, channels, 1, rows * columns});
    const mts_shape cut = mts_shape_make(6, (int64_t[]){images, channels, rows, SIDE, columns, SIDE});
    const mts_shape lines = mts_shape_make(6, (int64_t[]){images, SIDE, SIDE, channels, rows, columns});
    mts_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    attrs.transpose = back ? (mts_attrs_transpose){.perm = {0, 3, 4, 1, 5, 2}}
                           : (mts_attrs_transpose){.perm = {0, 3, 5, 1, 2, 4}};
    return move(s, x, prefix, back ? "fold" : "unfold", back ? &lines : &cut, &attrs, back ? &map : &line);
}

static mts_synth_tensor concat(mts_synth *s, mts_synth_tensor a, mts_synth_tensor b, const char *prefix)
{
    char name[NAME_SIZE];
    mts_attrs attrs;
    const uint32_t inputs[2] = {a.value, b.value};
    memset(&attrs, 0, sizeof attrs);
    attrs.concat.axis = 1;
    (void)snprintf(name, sizeof name, "%s.concat", prefix);
    return mts_synth_node(s, MTS_OP_CONCAT, name, inputs, 2, &attrs,
                          (mts_synth_width){a.width.all * 2, a.width.shared, 2});
}

static mts_synth_tensor look_across(mts_synth *s, mts_synth_tensor x, const char *prefix, uint32_t width,
                                    uint32_t inner_width, uint32_t layers)
{
    char name[NAME_SIZE];
    mts_synth_tensor y = conv(s, x, &(part){prefix, "local", width, 3, 1, false, false, 1.0f, MTS_NONE});
    (void)snprintf(name, sizeof name, "%s.tokens", prefix);
    const mts_synth_layer tokens = {
        .name = name, .width = inner_width, .kernel = 1, .stride = 1, .unbiased = true, .residual = MTS_NONE};
    y = mts_synth_conv(s, y, &tokens);
    if (s->status != MTS_STATUS_OK) {
        return y;
    }
    const mts_shape shape = s->graph->values[y.value].shape;
    y = patches(s, y, prefix, &shape, false);
    for (uint32_t i = 0; i < layers; i++) {
        char layer[PREFIX_SIZE];
        (void)snprintf(layer, sizeof layer, "%s.%u", prefix, i);
        y = mts_synth_attention(s, mts_synth_norm(s, y, layer, "norm1", EPSILON), layer, inner_width, HEADS,
                                y.value);
        const mts_synth_tensor z = mts_synth_linear(s, mts_synth_norm(s, y, layer, "norm2", EPSILON), layer,
                                                    "inner", 2 * inner_width, MTS_FN_SILU, MTS_NONE);
        y = mts_synth_linear(s, z, layer, "outer", inner_width, MTS_FN_NONE, y.value);
    }
    y = patches(s, mts_synth_norm(s, y, prefix, "norm", EPSILON), prefix, &shape, true);
    y = conv(s, y, &(part){prefix, "project", width, 1, 1, false, false, 1.0f, MTS_NONE});
    return conv(s, concat(s, x, y, prefix),
                &(part){prefix, "join", width, 3, 1, false, false, 1.0f, MTS_NONE});
}

void mts_synth_mobilevit(mts_synth *s, mts_synth_tensor image)
{
    static const uint32_t widths[3][3] = {{96, 144, 2}, {128, 192, 4}, {160, 240, 3}};
    s->multiple = HEADS;
    mts_synth_tensor x = conv(s, image, &(part){"stem", "conv", 16, 3, 2, false, false, 1.0f, MTS_NONE});
    x = inverted(s, x, "layer1", 16, 32, 1);
    x = inverted(s, x, "layer2.0", 32, 64, 2);
    x = inverted(s, x, "layer2.1", 64, 64, 1);
    x = inverted(s, x, "layer2.2", 64, 64, 1);
    for (uint32_t i = 0, in = 64; i < 3; i++) {
        char prefix[PREFIX_SIZE - 12];
        (void)snprintf(prefix, sizeof prefix, "layer%u", i + 3);
        x = inverted(s, x, prefix, in, widths[i][0], 2);
        x = look_across(s, x, prefix, widths[i][0], widths[i][1], widths[i][2]);
        in = widths[i][0];
    }
    x = conv(s, x, &(part){"head", "conv", 640, 1, 1, false, false, 1.0f, MTS_NONE});
    mts_synth_classify(s, mts_synth_mean(s, x, "avgpool"), "classifier");
}
