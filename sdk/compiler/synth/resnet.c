/*
 * resnet.c: ResNet18 and ResNet50 (He et al. 2016; the stride of a bottleneck is on its
 * 3x3 convolution), and ResNeXt50 of 32 groups of 4 channels (Xie et al. 2017): bottlenecks of
 * twice the width whose 3x3 convolutions are grouped.
 */
#include "compiler/synth/synth.h"

#include <stdio.h>

#define NAME_SIZE 48
#define STAGES 4
#define GROUPS 32u /* of ResNeXt */

/* Gain of a block's last convolution: small, so that sixteen additions do not blow the
   sum up. */
#define GAIN_LAST 0.3f

typedef struct stage {
    uint32_t width, blocks, stride;
} stage;

typedef struct block {
    char prefix[NAME_SIZE - 16];
    uint32_t width, out, stride;
    uint32_t groups; /* of the 3x3 convolution of a bottleneck */
} block;

static mts_synth_tensor conv(mts_synth *s, mts_synth_tensor x, const block *b, const char *part,
                             uint32_t kernel, uint32_t width, uint32_t stride)
{
    char name[NAME_SIZE];
    (void)snprintf(name, sizeof name, "%s.%s", b->prefix, part);
    const mts_synth_layer layer = {.name = name,
                                   .width = width,
                                   .kernel = kernel,
                                   .stride = stride,
                                   .pad = kernel / 2,
                                   .groups = kernel > 1 ? b->groups : 1,
                                   .normalised = true,
                                   .fn = MTS_FN_RELU,
                                   .gain = 1.0f,
                                   .residual = MTS_NONE};
    return mts_synth_conv(s, x, &layer);
}

static mts_synth_tensor conv_last(mts_synth *s, mts_synth_tensor x, const block *b, const char *part,
                                  uint32_t kernel, uint32_t residual)
{
    char name[NAME_SIZE];
    (void)snprintf(name, sizeof name, "%s.%s", b->prefix, part);
    const mts_synth_layer layer = {.name = name,
                                   .width = b->out,
                                   .kernel = kernel,
                                   .stride = 1,
                                   .pad = kernel / 2,
                                   .normalised = true,
                                   .fn = MTS_FN_RELU,
                                   .gain = GAIN_LAST,
                                   .residual = residual};
    return mts_synth_conv(s, x, &layer);
}

static mts_synth_tensor shortcut(mts_synth *s, mts_synth_tensor x, const block *b)
{
    char name[NAME_SIZE];
    (void)snprintf(name, sizeof name, "%s.downsample", b->prefix);
    const mts_synth_layer layer = {.name = name,
                                   .width = b->out,
                                   .kernel = 1,
                                   .stride = b->stride,
                                   .normalised = true,
                                   .gain = 1.0f,
                                   .residual = MTS_NONE};
    return mts_synth_conv(s, x, &layer);
}

static mts_synth_tensor residual_block(mts_synth *s, mts_synth_tensor x, const block *b, bool bottleneck,
                                       bool first)
{
    const mts_synth_tensor skip = first && (b->stride > 1 || b->out != 64)
                                      ? shortcut(s, x, b)
                                      : x; /* ResNet18's first stage has none */
    if (!bottleneck) {
        const mts_synth_tensor y = conv(s, x, b, "conv1", 3, b->width, b->stride);
        return conv_last(s, y, b, "conv2", 3, skip.value);
    }
    mts_synth_tensor y = conv(s, x, b, "conv1", 1, b->width, 1);
    y = conv(s, y, b, "conv2", 3, b->width, b->stride);
    return conv_last(s, y, b, "conv3", 1, skip.value);
}

void mts_synth_resnet(mts_synth *s, mts_synth_tensor image)
{
    const bool bottleneck = s->options->arch != MTSC_ARCH_RESNET18;
    const bool grouped = s->options->arch == MTSC_ARCH_RESNEXT50;
    static const stage shallow[STAGES] = {{64, 2, 1}, {128, 2, 2}, {256, 2, 2}, {512, 2, 2}};
    static const stage deep[STAGES] = {{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}};
    const stage *stages = bottleneck ? deep : shallow;
    const mts_synth_layer stem = {.name = "conv1",
                                  .width = 64,
                                  .kernel = 7,
                                  .stride = 2,
                                  .pad = 3,
                                  .normalised = true,
                                  .fn = MTS_FN_RELU,
                                  .gain = 1.0f,
                                  .residual = MTS_NONE};
    s->multiple = grouped ? GROUPS : 1;
    s->whole_groups = grouped;
    mts_synth_tensor x = mts_synth_conv(s, image, &stem);
    x = mts_synth_max_pool(s, x, "maxpool", 3, 2, 1);
    for (uint32_t i = 0; i < STAGES; i++) {
        for (uint32_t k = 0; k < stages[i].blocks; k++) {
            block b = {.width = grouped ? 2 * stages[i].width : stages[i].width,
                       .groups = grouped ? GROUPS : 1,
                       .out = bottleneck ? 4 * stages[i].width : stages[i].width,
                       .stride = k == 0 ? stages[i].stride : 1};
            (void)snprintf(b.prefix, sizeof b.prefix, "layer%u.%u", i + 1, k);
            x = residual_block(s, x, &b, bottleneck, k == 0);
        }
    }
    mts_synth_classify(s, mts_synth_mean(s, x, "avgpool"), "fc");
}
