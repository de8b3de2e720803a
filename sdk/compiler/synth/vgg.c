/*
 * vgg.c: VGG16 (Simonyan and Zisserman 2015), without batch normalisation. Its classifier
 * sees what five poolings leave of the image: 7x7 for 224x224, as published.
 */
#include "compiler/synth/synth.h"

#include <stdio.h>

#define NAME_SIZE 48

static mts_synth_tensor rectified(mts_synth *s, mts_synth_tensor x, const char *name, uint32_t width,
                                  uint32_t kernel)
{
    const mts_synth_layer layer = {.name = name,
                                   .width = width,
                                   .kernel = kernel,
                                   .stride = 1,
                                   .pad = kernel / 2,
                                   .fn = MTS_FN_RELU,
                                   .residual = MTS_NONE};
    return mts_synth_conv(s, x, &layer);
}

void mts_synth_vgg16(mts_synth *s, mts_synth_tensor image)
{
    static const struct {
        uint32_t width, layers;
    } stages[] = {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}};
    mts_synth_tensor x = image;
    char name[NAME_SIZE];
    for (uint32_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        for (uint32_t k = 0; k < stages[i].layers; k++) {
            (void)snprintf(name, sizeof name, "conv%u_%u", i + 1, k + 1);
            x = rectified(s, x, name, stages[i].width, 3);
        }
        (void)snprintf(name, sizeof name, "pool%u", i + 1);
        x = mts_synth_max_pool(s, x, name, 2, 2, 0);
    }
    x = mts_synth_flatten(s, x, "flatten");
    x = rectified(s, x, "fc6", 4096, 1);
    x = rectified(s, x, "fc7", 4096, 1);
    mts_synth_classify(s, x, "fc8");
}
