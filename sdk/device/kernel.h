/*
 * kernel.h: the kernels that exist, as data.
 *
 * One row per kernel of kernels/manifest.def; the build generates the table (sources embedded as packed
 * text). A backend that compiles text takes `mts_kernel_text`; platform/reference looks `name` up in its own
 * table of C functions. Host code that fills kernel parameters includes this file, not params.h alone.
 */
#ifndef MTS_DEVICE_KERNEL_H
#define MTS_DEVICE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

typedef uint32_t mts_u32;
typedef int32_t mts_i32;
typedef float mts_f32;

#include "kernels/abi/params.h"

#define MTS_PARAM_WORDS(type) ((uint32_t)(sizeof(type) / sizeof(mts_u32)))

typedef struct mts_kernel_source {
    const char *name;   /* <op>_<variant>__<dtype>_<layout> */
    const char *source; /* program text after `head`, packed as `head` is; plain ASCII is packed text too */
    const char *head;   /* that kernels of the manifest have in common: prelude, kinds, records; NULL: none */
} mts_kernel_source;

/* The manifest's rows; *count receives their number. Constant data. */
const mts_kernel_source *mts_kernel_table(size_t *count);
/* NULL if there is no such kernel. */
const mts_kernel_source *mts_kernel_find(const char *name);

/*
 * What packed text is short for: byte 128 + n stands for word n. Words end with a zero each, the last is
 * empty. A byte beyond them stands for itself. Generated, like the table.
 */
const char *mts_kernel_words(void);

/* Of the whole program text, head and source. The hash is that of the packed one and of the words. */
size_t mts_kernel_length(const mts_kernel_source *kernel);
uint64_t mts_kernel_hash(const mts_kernel_source *kernel, uint64_t seed);
/* The whole program text, terminated; NULL: no memory. Freed by mts_alloc_free. */
char *mts_kernel_text(const mts_kernel_source *kernel, const mts_allocator *allocator);

#endif
