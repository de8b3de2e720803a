/*
 * trace.h: what a task's network has computed up to a node, kept for many images, so that a
 * walk over the rows computes each node once instead of starting at the inputs again.
 *
 * Only values that a later node reads are kept. Where these do not fit into the memory set
 * aside, the trace stays where it is and the caller computes the way from there.
 */
#ifndef MTS_COMPRESS_ZIP_TRACE_H
#define MTS_COMPRESS_ZIP_TRACE_H

#include "compress/data/data.h"
#include "compress/net/net.h"

typedef struct mts_zip_trace {
    const mts_allocator *allocator;
    const mts_graph *graph;
    uint32_t node;   /* all nodes before it are computed; 0: nothing is kept */
    uint32_t images; /* slots */
    uint32_t value_count, *values;
    size_t *elements; /* [value_count] of one image */
    size_t per_image; /* their sum */
    float *data;      /* [images][per_image] */
    size_t room;      /* numbers that `data` has room for */
} mts_zip_trace;

/* Bytes of an image's values that nodes from `node` on read of those before it. */
size_t mts_zip_trace_bytes(const mts_graph *graph, uint32_t node);
/* Room for the state before `node`, of undefined content; the room of an earlier state is
   used again, for new memory has to be cleared page by page. A trace begins as all zeros.
   False if memory is short; release in any case. */
bool mts_zip_trace_init(mts_zip_trace *trace, const mts_graph *graph, uint32_t node, uint32_t images,
                        const mts_allocator *allocator);
/* Forgets the state and keeps the room. */
void mts_zip_trace_empty(mts_zip_trace *trace);
void mts_zip_trace_release(mts_zip_trace *trace);
/* Copies the state of slots first .. first + count - 1 from the first images of a run. */
void mts_zip_trace_keep(mts_zip_trace *trace, mts_net_run *run, uint32_t first, uint32_t count);
/* Copies the state of slots first .. first + count - 1 into a run's images from `image` on. */
void mts_zip_trace_load(const mts_zip_trace *trace, mts_net_run *run, uint32_t image, uint32_t first,
                        uint32_t count);

#endif
