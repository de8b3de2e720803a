/*
 * synth.h: builds networks of a known architecture with random weights, for measuring
 * (mtsc_synth).
 *
 * A task's network is built in the form that the compiler's passes give an imported one:
 * convolutions with scale, bias, residual and activation in one node. Widths and sharing
 * follow from two ratios:
 *
 *   width of a tensor     W = max(1, round((1 - prune) * width of the unpruned network)), halves up
 *   its shared channels   S = round(share * the smallest W of all tasks); they come first: [P | Q]
 *   weight of a layer     U   [S out][S in]             one block for all tasks
 *                         Y_t [S out][W in - S in]      of the task
 *                         X_t and Z_t [W out - S out][W in], one block of the task
 *
 * S depends only on the unpruned width, so tensors that are added have the same shared
 * channels. All channels of the image are common; scale and bias vectors, and the
 * classifier at the end, are the task's own.
 */
#ifndef MTS_COMPILER_SYNTH_SYNTH_H
#define MTS_COMPILER_SYNTH_SYNTH_H

#include "bundle/archive.h"
#include "mts/mtsc.h"

/* Channels of a tensor, the shared ones first. */
typedef struct mts_synth_width {
    uint32_t all, shared;
    /* 2: a concatenation of two such tensors, each `all` / 2 channels, the first `shared` of them; else 0 */
    uint32_t runs;
} mts_synth_width;

typedef struct mts_synth_tensor {
    uint32_t value; /* of the graph, MTS_NONE after a failure */
    mts_synth_width width;
} mts_synth_tensor;

typedef struct mts_synth_layer {
    const char *name;
    uint32_t width; /* of the unpruned network; 0: the classifier, options.classes outputs, nothing shared */
    uint32_t kernel, stride, pad;
    uint32_t groups; /* 0: one; the widths of both sides are multiples of it */
    bool unbiased;
    bool normalised;   /* a scale per channel, as batch normalisation leaves it */
    uint32_t fn;       /* MTS_FN_, without parameters */
    float gain;        /* mean of the scale */
    uint32_t residual; /* value that is added before the activation, or MTS_NONE */
} mts_synth_layer;

/* The bundle being made. Functions do nothing after a failure. */
typedef struct mts_synth {
    const mtsc_synth_options *options;
    const mts_allocator *allocator;
    mts_archive *archive;
    mts_graph *graph;  /* of the task in hand */
    uint32_t task;     /* in hand */
    uint32_t multiple; /* widths are rounded up to multiples of this: heads, convolution groups, else 1 */
    bool whole_groups; /* shared channels are whole groups, of `multiple` */
    uint32_t layer;    /* number of the next convolution of the task */
    uint32_t *shared;  /* [layer]: block U, MTS_NONE if nothing is shared; on the allocator */
    size_t shared_count, shared_capacity;
    mts_block *blocks; /* on the allocator */
    size_t block_count, block_capacity;
    uint64_t bytes, bytes_unshared;
    mts_status status;
    mts_error *error;
} mts_synth;

/* Records a failure for which no sentence was written yet; returns `status`. */
mts_status mts_synth_fail(mts_synth *synth, mts_status status, const char *what);

/* ---- weights.c ---- */
mts_synth_width mts_synth_channels(const mts_synth *synth, uint32_t width);
/* A convolution's weight in blocks: of the filters' inputs `in`; exclusive: one block. */
uint32_t mts_synth_weight(mts_synth *synth, const char *name, mts_synth_width out, mts_synth_width in,
                          uint32_t kernel, bool exclusive);
/* A vector of the task's own, uniform in [middle - spread, middle + spread]. */
uint32_t mts_synth_vector(mts_synth *synth, const char *name, uint32_t count, float middle, float spread);

/* The same of any shape, one block. */
uint32_t mts_synth_constant(mts_synth *synth, const char *name, const mts_shape *shape, float middle,
                            float spread);

/* A table [1, rows, width] of the task's own whose shared columns are equal in all tasks. */
uint32_t mts_synth_table(mts_synth *synth, const char *name, uint32_t rows, mts_synth_width width);

/* ---- layers.c ---- */
/* A node and its name. */
mts_synth_tensor mts_synth_node(mts_synth *synth, mts_op op, const char *name, const uint32_t *inputs,
                                uint32_t count, const mts_attrs *attrs, mts_synth_width width);
mts_synth_tensor mts_synth_conv(mts_synth *synth, mts_synth_tensor x, const mts_synth_layer *layer);
mts_synth_tensor mts_synth_max_pool(mts_synth *synth, mts_synth_tensor x, const char *name, uint32_t kernel,
                                    uint32_t stride, uint32_t pad);
mts_synth_tensor mts_synth_mean(mts_synth *synth, mts_synth_tensor x, const char *name);
/* [N,C,H,W] to [N,C*H*W,1,1]; shared features stay first. */
mts_synth_tensor mts_synth_flatten(mts_synth *synth, mts_synth_tensor x, const char *name);
/* A product of tokens [N, C, 1, S]; its name is prefix.part. */
mts_synth_tensor mts_synth_linear(mts_synth *synth, mts_synth_tensor x, const char *prefix, const char *part,
                                  uint32_t width, uint32_t fn, uint32_t residual);
/* Layer normalisation over channels. */
mts_synth_tensor mts_synth_norm(mts_synth *synth, mts_synth_tensor x, const char *prefix, const char *part,
                                float epsilon);
/* A constant beside x: in front of its tokens, or (joins false) added to each channel of each token. */
mts_synth_tensor mts_synth_with_constant(mts_synth *synth, mts_synth_tensor x, const char *name, bool joins);
mts_synth_tensor mts_synth_reshape(mts_synth *synth, mts_synth_tensor x, const char *name,
                                   const mts_shape *shape);
/* The classifier, and its result as the task's output. */
void mts_synth_classify(mts_synth *synth, mts_synth_tensor x, const char *name);

/* ---- resnet.c, vgg.c: from the image to the output ---- */
void mts_synth_resnet(mts_synth *synth, mts_synth_tensor image);
void mts_synth_vgg16(mts_synth *synth, mts_synth_tensor image);

void mts_synth_mobilevit(mts_synth *synth, mts_synth_tensor image);

/* ---- transformer.c, xlnet.c: tokens: [N, S] ---- */
void mts_synth_bert(mts_synth *synth, mts_synth_tensor tokens, bool base);
void mts_synth_vit(mts_synth *synth, mts_synth_tensor image);
void mts_synth_xlnet(mts_synth *synth, mts_synth_tensor tokens);

/* Products, attention of heads, and the product behind it, to which `residual` is added. */
mts_synth_tensor mts_synth_attention(mts_synth *synth, mts_synth_tensor x, const char *prefix, uint32_t width,
                                     uint32_t heads, uint32_t residual);
/* Numbers of tokens [N, S] to images [N, W, 1, S]. */
mts_synth_tensor mts_synth_embed(mts_synth *synth, mts_synth_tensor tokens, uint32_t unpruned);
/* The first token of an image, or the last one. */
mts_synth_tensor mts_synth_token(mts_synth *synth, mts_synth_tensor x, bool last);

#endif
