/*
 * mixed.h: the kernel parameters of the combined program, and the kernels that it
 * consists of.
 *
 * The combined program (kernels/mixed) computes what several kernels do, so that their
 * members share a launch. A launch is a list of entries, a member of any of those kernels
 * each. Like params.h this file is compiled by host and kernels, and includes only it.
 */
#ifndef MTS_KERNELS_ABI_MIXED_H
#define MTS_KERNELS_ABI_MIXED_H

#include "kernels/abi/conv.h"

/*
 * M(number, kernel): kernels whose work-items need no other one of their group, and that
 * take member get_global_id(2). Their rows of the manifest follow each other in this
 * order, before that of the combined program: its text is theirs and its own
 * (cmake/embed_kernels.cmake). Bit `number` of the build option MIXED says that the
 * program knows a kernel.
 */
#define MTS_MIXED(M)                                                                                         \
    M(0, space_to_depth_any__f32_planar)                                                                     \
    M(1, unary_any__f32_planar)                                                                              \
    M(2, binary_any__f32_planar)                                                                             \
    M(3, select_any__f32_planar)                                                                             \
    M(4, scale_any__f32_planar)                                                                              \
    M(5, copy_any__f32_planar)                                                                               \
    M(6, concat_any__f32_planar)                                                                             \
    M(7, pad_any__f32_planar)                                                                                \
    M(8, gather_any__f32_planar)                                                                             \
    M(9, take_any__f32_planar)                                                                               \
    M(10, pool_any__f32_planar)                                                                              \
    M(11, reduce_any__f32_planar)                                                                            \
    M(12, resize_any__f32_planar)                                                                            \
    M(13, depthwise_tile__f32_planar)                                                                        \
    M(14, depthwise_rows__f32_planar)

/* Buffers of the caller's float32 data that members may read in the pool's place:
   arguments of the kernel behind the usual ones (MTS_LAUNCH_SOURCES of device.h). */
#define MTS_MIXED_SOURCES 8

/*
 * The grid of a launch has one dimension. Its parameters are a word, the number of
 * entries, and the entries. Work-groups [begin, begin of the next one) compute an entry:
 * `width` of them for each row of its own launch's second dimension, with as many
 * work-items as that has along the first one, or some more. A member may be cut into
 * several entries.
 */
typedef struct mts_mixed_params {
    mts_u32 number; /* of the kernel (the word itself is a keyword of OpenCL C) */
    mts_u32 member; /* word index of the member's parameters */
    mts_u32 begin, width;
    mts_u32 source; /* 0: it reads the pool; else 1 + the index of the source that it reads */
    mts_u32 shift;  /* added to a work-group's number, that of the member's own launch; minus `begin`
                       unless the entry is a later part of a member */
} mts_mixed_params;

#endif
