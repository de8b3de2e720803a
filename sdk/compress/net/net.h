/*
 * net.h: a task's graph as a network of the host that can be looked into, changed and
 * trained.
 *
 * What calibration, zipping, pruning and distillation run. Convolutions and matrix
 * products are oneDNN's, forwards and backwards; everything is float32. A net holds the
 * structure and the parameters; a run holds the values (and gradients) of one batch of
 * images. Not responsible for where images come from (data/) nor for what is done with
 * the numbers.
 *
 * Layout: every image of a batch computes the graph on its own, so a value of a batch is
 * `batch` images one after another. An image's value of rank 4, [N,C,H,W] in the graph,
 * lies as [N][H][W][C]; any other rank lies row-major as in the graph. N is 1 in every
 * image network.
 *
 * Thread-safety: a net may be read by any number of threads (runs) while no thread
 * changes its parameters. A run belongs to one thread at a time. A run uses the threads
 * of the thread that calls it: callers that run several at once use mts_threads_run
 * (threads.h), which gives each of them one.
 */
#ifndef MTS_COMPRESS_NET_NET_H
#define MTS_COMPRESS_NET_NET_H

#include <stdbool.h>

#include "graph/graph.h"

typedef struct mts_net mts_net;
typedef struct mts_net_run mts_net_run;

/*
 * Parameters of a CONV, DECONV, SCALE or MATMUL-with-constant node, or their gradients.
 * Writable; the arrays never move. Absent ones are NULL.
 */
typedef struct mts_net_layer {
    uint32_t outputs, inputs; /* filters; channels that a filter reads (of one group). SCALE: outputs only */
    uint32_t rows, columns;   /* of the kernel */
    float *weight;            /* [outputs][rows][columns][inputs]; DECONV, MATMUL: as in the graph */
    float *scale, *bias;      /* [outputs]; a CONV always has both (1 and 0 where the graph has none) */
    float *slope;             /* [outputs], of PRELU */
} mts_net_layer;

/*
 * Copies a graph's parameters; the graph outlives the net and is not changed. UNSUPPORTED
 * names an operator that cannot be run here and its node; MALFORMED, LIMIT: a value
 * without elements or with 2^31 of them; OUT_OF_MEMORY.
 */
mts_status mts_net_create(const mts_graph *graph, const mts_allocator *allocator, mts_net **out,
                          mts_error *error);
void mts_net_destroy(mts_net **net);
const mts_graph *mts_net_graph(const mts_net *net);
/* Parameters of a node; all members 0 or NULL where it has none. */
mts_net_layer mts_net_layer_of(const mts_net *net, uint32_t node);
/* Has to follow every change of a node's parameters, before the next forward of any
   run. */
void mts_net_touch(mts_net *net, uint32_t node);
/* Copies all parameters of a net of the same graph (or of a clone of it). */
void mts_net_copy(mts_net *net, const mts_net *from);
/*
 * Writes the parameters of `nodes` (all if NULL) into `graph`, a clone of the net's:
 * constants get new bytes in the graph's arena, one block each, in float32, or rounded to
 * float16 where they were float16 and no number is beyond it (65504); a CONV gets scale
 * and bias where it has none and they are not 1 and 0. Other constants keep their bytes.
 * False if memory is short.
 */
bool mts_net_store(const mts_net *net, const bool *nodes, mts_graph *graph);

/* INFERENCE keeps all values of the last forward. TRAINING can go backwards too. */
typedef enum mts_net_mode { MTS_NET_INFERENCE, MTS_NET_TRAINING } mts_net_mode;

/*
 * Room for `batch` >= 1 images. TRAINING: UNSUPPORTED names an operator that gradients
 * cannot pass and its node. OUT_OF_MEMORY. Bytes that a run takes: mts_net_run_bytes.
 */
mts_status mts_net_run_create(const mts_net *net, uint32_t batch, mts_net_mode mode, mts_net_run **out,
                              mts_error *error);
/* Whether a TRAINING run could be made: UNSUPPORTED as there. OUT_OF_MEMORY. */
mts_status mts_net_trainable(const mts_net *net, mts_error *error);
void mts_net_run_destroy(mts_net_run **run);
size_t mts_net_run_bytes(const mts_net *net, uint32_t batch, mts_net_mode mode);

/* Where the images of graph input `index` go, in the layout above: f32[batch *
   elements]. */
float *mts_net_run_input(mts_net_run *run, uint32_t index);
/* Puts what is in the inputs of another run, of a net with the same inputs, into this
   one's. */
void mts_net_run_copy_inputs(mts_net_run *run, mts_net_run *from, uint32_t images);
/*
 * Computes nodes [first, end) in order from the values that are there, for the first
 * `images` <= batch images. INTERNAL with oneDNN's reason; OUT_OF_MEMORY.
 */
mts_status mts_net_run_forward(mts_net_run *run, uint32_t images, uint32_t first, uint32_t end,
                               mts_error *error);
/* The value of the last forward; NULL for constants that no run computes. Writable:
   callers may change it. */
float *mts_net_run_value(mts_net_run *run, uint32_t value);
/*
 * What a CONV computes of its inputs before residual and activation, scale * conv(x) +
 * bias, from the values that are there: f32[images][H][W][C]. With `raw`, conv(x) alone.
 * CONV only (INVALID_ARGUMENT).
 */
mts_status mts_net_run_linear(mts_net_run *run, uint32_t images, uint32_t node, bool raw, float *out,
                              mts_error *error);

/*
 * Where the caller puts the gradient of a loss by output `index` of the graph before it
 * goes backwards: f32[batch * elements], zero after creation. TRAINING only.
 */
float *mts_net_run_output_gradient(mts_net_run *run, uint32_t index);
/*
 * Goes backwards over the last forward (all nodes, `images` images) from the output
 * gradients. Gradients of parameters are summed over the images into the run's own
 * (overwritten, not added up). TRAINING only.
 */
mts_status mts_net_run_backward(mts_net_run *run, uint32_t images, mts_error *error);
/* Gradients of a node's parameters after backward. */
mts_net_layer mts_net_run_gradient(const mts_net_run *run, uint32_t node);

#endif
