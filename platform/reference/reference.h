/*
 * reference.h: what the files of the plain C backend share.
 *
 * Every kernel is one C function that follows the definition of its parameters in
 * kernels/abi/params.h and nothing else: the functions are the oracle that other backends
 * are compared with, and the last fallback where no driver works. They share no code with
 * kernels/. Unlike those they check every range they are about to touch, so that wrong
 * parameters are an error text and not a crash.
 */
#ifndef MTS_PLATFORM_REFERENCE_REFERENCE_H
#define MTS_PLATFORM_REFERENCE_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "device/device.h"
#include "device/kernel.h"

/* One launch. Sizes are in floats and words; of a launch that half.c has still to
   convert, in elements. */
typedef struct mts_reference_call {
    float *act;
    const float *pool;
    const uint32_t *params;
    uint64_t act_size, pool_size, params_size;
    uint64_t pool_bytes;        /* a frame in the pool's place need not end on a float */
    mts_buffer *const *sources; /* MTS_LAUNCH_SOURCES of the combined program */
    uint32_t first;
    uint32_t groups;  /* along the first dimension */
    uint32_t members; /* along the last one */
} mts_reference_call;

/* Runs a launch. NULL: done; else the reason why the params is wrong. */
typedef const char *mts_reference_function(const mts_reference_call *call);

/* A function for each kernel of the manifest; device.c leaves out probes, which measure a
   device. */
#define KERNEL(folder, name, params, walk, made_for) mts_reference_function mts_reference_##name;
#include "kernels/manifest.def"
#undef KERNEL

/* ---- float16 (half.c) ---- */

/* A command list's buffers for its arena and pool as floats. */
typedef struct mts_reference_half {
    float *act, *pool;
    uint64_t act_room, pool_room;
    const void *made_of; /* the stored pool that `pool` now holds; NULL when a command list begins to run */
    uint64_t made;       /* its elements */
} mts_reference_half;

/* Whether a kernel's options say that act and pool hold float16. */
bool mts_reference_half_asked(const char *defines);
/* Makes room for arenas and pools of that many elements; false: no memory. */
bool mts_reference_half_reserve(mts_reference_half *half, const mts_allocator *allocator, uint64_t act,
                                uint64_t pool);
void mts_reference_half_free(mts_reference_half *half, const mts_allocator *allocator);
/* Runs a launch on buffers of float16, for which there is room. Returns what
   mts_reference_function does. */
const char *mts_reference_half_run(mts_reference_half *half, const mts_reference_call *stored,
                                   const char *kernel, mts_reference_function *run);

/* ---- parameters ---- */

/* Words [index, index + count) of the parameter buffer, or NULL. */
const void *mts_reference_params(const mts_reference_call *call, uint64_t index, uint64_t count);

typedef const char *(*mts_reference_member)(const mts_reference_call *call, const void *params);
/* Calls `run` for each member's params of `words` words. */
const char *mts_reference_members(const mts_reference_call *call, uint32_t words, mts_reference_member run);

/* ---- tensors ---- */

/* Whether [first, first + count) lies in the arena (in the pool). */
bool mts_reference_in_act(const mts_reference_call *call, uint64_t first, uint64_t count);
bool mts_reference_in_pool(const mts_reference_call *call, uint64_t first, uint64_t count);
/* Whether every element of a view of these dimensions lies in its buffer. */
bool mts_reference_view_fits(const mts_reference_call *call, const mts_view_params *view,
                             const uint32_t *dims, bool pool);
/* Offset of an element. */
uint64_t mts_reference_view_at(const mts_view_params *view, const uint32_t *at);
uint64_t mts_reference_dest_at(const mts_dest_params *dest, const uint32_t *at);

/* Value of the output element at coordinates at[6]. */
typedef float (*mts_reference_value)(const mts_reference_call *call, const void *params, const uint32_t *at);
/* Writes a tensor: values of the image, and the zeros around it. */
const char *mts_reference_write(const mts_reference_call *call, const mts_dest_params *dest,
                                const void *params, mts_reference_value value);
/* A mts_reference_value: 0, where the elements are not computed one by one. */
float mts_reference_zero(const mts_reference_call *call, const void *params, const uint32_t *at);

/* An element function; slope is for MTS_FN_PRELU. */
float mts_reference_apply(uint32_t fn, float x, float a, float b, float slope);
/* What becomes of the sum's first summand x at coordinates at[6] (kernels/abi/sum.h). */
float mts_reference_sum(const mts_reference_call *call, const mts_addend_params *e, const uint32_t *at,
                        float x);
/* A kind of the binary operator. */
float mts_reference_combine(uint32_t kind, float x, float y);

#endif
