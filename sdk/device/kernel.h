/*
 * kernel.h: the kernels that exist, as data.
 *
 * One row per kernel of kernels/manifest.def; the build generates the table (sources
 * embedded as packed text). A backend that compiles text takes `mts_kernel_text`;
 * platform/reference looks `name` up in its own table of C functions. Host code that
 * fills kernel parameters includes this file, not params.h alone.
 */
#ifndef MTS_DEVICE_KERNEL_H
#define MTS_DEVICE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

typedef uint32_t mts_u32;
typedef int32_t mts_i32;
typedef float mts_f32;

#include "kernels/abi/conv.h"
#include "kernels/abi/bytes.h"
#include "kernels/abi/mixed.h"
#include "kernels/abi/persist.h"
#include "kernels/abi/sum.h"

/* The combined program (kernels/abi/mixed.h), the one kernel that has sources. */
#define MTS_KERNEL_MIXED "mixed_any__f32_planar"

/* The build option of kernels that read weights through an image over their pool
   (MTS_WEIGHT_ARGS), on devices with image_texels. */
#define MTS_KERNEL_IMAGES "-DIMAGES=1"

#define MTS_PARAM_WORDS(type) ((uint32_t)(sizeof(type) / sizeof(mts_u32)))

typedef struct mts_kernel_source {
    /* <op>_<variant>__<dtype>_<layout> */
    const char *name;
    /* The whole program text. NULL: that of a kernel of the manifest, which is packed;
       then the fields below hold. */
    const char *source;
    /* Its part behind the head: bytes of all texts, unpacked. */
    uint32_t first, length;
    /* Of head and part. */
    uint64_t hash;
} mts_kernel_source;

/* The manifest's rows; *count receives their number. Constant data. */
const mts_kernel_source *mts_kernel_table(size_t *count);
/* NULL if there is no such kernel. */
const mts_kernel_source *mts_kernel_find(const char *name);

/*
 * The texts of the manifest's kernels as a deflate stream: first the head that all have
 * in common (prelude, kinds, parameters, walk), of so many bytes, then the rows' own
 * parts. Generated, like the table.
 */
extern const uint32_t mts_kernel_head;
extern const unsigned char mts_kernel_packed[];
extern const size_t mts_kernel_packed_size;

/* Of the whole program text. */
size_t mts_kernel_length(const mts_kernel_source *kernel);
uint64_t mts_kernel_hash(const mts_kernel_source *kernel, uint64_t seed);
/* The whole program text, terminated; NULL: no memory. Freed by mts_alloc_free. */
char *mts_kernel_text(const mts_kernel_source *kernel, const mts_allocator *allocator);

#endif
