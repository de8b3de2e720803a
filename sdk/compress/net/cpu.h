/*
 * cpu.h: oneDNN's objects of a run and of a convolution. Seen by dnnl.c, primitive.c and
 * conv*.c only.
 */
#ifndef MTS_COMPRESS_NET_CPU_H
#define MTS_COMPRESS_NET_CPU_H

#include <oneapi/dnnl/dnnl.h>

#include "compress/net/inside.h"

#define MTS_CPU_ALIGNMENT 64u

struct mts_engine_cpu {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    void *scratch; /* of primitives, grown */
    size_t scratch_bytes;
};

/* What a primitive of a convolution computes. */
typedef enum mts_conv_kind {
    MTS_CONV_ANSWER,  /* act(scale * conv + bias), where oneDNN knows the function */
    MTS_CONV_LINEAR,  /* scale * conv + bias */
    MTS_CONV_RAW,     /* conv */
    MTS_CONV_DATA,    /* gradient of the input from that of scale * conv */
    MTS_CONV_WEIGHTS, /* gradients of weight and bias from that of conv + bias */
    MTS_CONV_KINDS
} mts_conv_kind;

/* A primitive for a number of images and threads, and the weights in the order that it
   needs. */
typedef struct mts_conv_slot {
    int64_t images; /* 0: empty */
    int threads;
    uint64_t version, used; /* of the packed weights; when it was last used */
    dnnl_primitive_t primitive, reorder;
    dnnl_memory_t source, weight, plain, bias, result, room; /* plain: the weight in our order */
    void *packed;
    size_t packed_bytes, room_bytes;
} mts_conv_slot;

struct mts_conv {
    mts_conv_slot slots[MTS_CONV_KINDS][2]; /* the usual number of images, and that of the last chunk */
    uint64_t clock;
};

/* The codes of oneDNN as ours; what: the step that failed. */
mts_status mts_cpu_check(dnnl_status_t status, const char *what, mts_error *error);
/* Threads that oneDNN uses in this thread. */
int mts_cpu_threads(void);
/* The first aligned byte of memory that was taken with MTS_CPU_ALIGNMENT bytes to
   spare. */
void *mts_cpu_align(void *memory);
/* At least so many bytes of working memory, aligned from mts_cpu_align on. */
mts_status mts_cpu_room(mts_net_run *run, size_t bytes, mts_error *error);

/* A slot that is ready for `images`: primitive made, weights packed. */
mts_status mts_conv_slot_get(const mts_step *step, mts_conv_kind kind, int64_t images, mts_conv_slot **out);
void mts_conv_slot_clear(const mts_allocator *allocator, mts_conv_slot *slot);
/* Runs a forward or data primitive from `from` to `to`. */
mts_status mts_conv_slot_run(const mts_step *step, mts_conv_slot *slot, mts_conv_kind kind, const float *from,
                             float *to);
/* Runs a weights primitive: gradients in our order. */
mts_status mts_conv_slot_weights(const mts_step *step, mts_conv_slot *slot, const float *x, const float *d,
                                 float *weight, float *bias);

#endif
