/*
 * launch.h: what a plan becomes: launches with all that the engine has to know to build,
 * record and filter them, and that reports say about them.
 */
#ifndef MTS_LOWER_LAUNCH_H
#define MTS_LOWER_LAUNCH_H

#include "device/device.h"
#include "lower/task_masks.h"
#include "plan/kernel_config.h"
#include "plan/plan.h"

/* How a launch's grid is made up, and what its kernel is built for. */
typedef enum mts_launch_kind {
    /* Any local[0] computes the same over the same global[0]. */
    MTS_LAUNCH_GRID = 0,
    /* conv_tile: global[0] is the number of work-groups times local[0], so both shrink
       together. */
    MTS_LAUNCH_TILES,
    /* conv_packed: likewise; with -DGROUP=n exactly n work-items. */
    MTS_LAUNCH_PACKED,
    /* conv_winograd: likewise. */
    MTS_LAUNCH_WINOGRAD,
    /* The kernel is built for work-groups of exactly local[0] work-items. */
    MTS_LAUNCH_BLOCKS,
    /* fused_rows: global[0] is the number of parts times local[0], so both shrink together;
       a work-group of any size computes a part. */
    MTS_LAUNCH_FUSED,
    /* mixed: as conv_tile, of different kernels. */
    MTS_LAUNCH_MIXED,
    /* A matrix product of the device's library: `gemm`, and no kernel. */
    MTS_LAUNCH_GEMM
} mts_launch_kind;

typedef struct mts_encoded_launch {
    mts_launch_kind kind;
    /* Name in the manifest, and build options; of a GEMM for reports only. */
    const char *kernel, *defines;
    /* Index of its kernel parameters. */
    uint32_t first;
    /* Section of the weight pool that it reads. */
    uint32_t section;
    /* 0: it reads the weight pool; else 1 + the slot whose zero-copy data it reads in the
       pool's place. */
    uint32_t source;
    /* Of a MIXED launch: the same of the buffers that its members read in the pool's
       place, from the first one on; the others are 0. */
    uint32_t sources[MTS_LAUNCH_SOURCES];
    uint32_t global[3], local[3];
    mts_gemm gemm;
    /* What it consists of, and the tasks that each part works for. */
    mts_entries entries;
    const char *label;
    /* Computations, and the tasks that need them. */
    uint32_t members, tasks;
    /* Of the layer, if a kernel configuration decides about it (plan/kernel_config.h);
       else 0. */
    uint64_t signature, layer_kind;
    /* The configuration that was followed, if there is one. */
    mts_kernel_config config;
    /* Index of the stitched layer, the first of several, and its task group; MTS_NONE for
       conversions, which may serve several groups, and for layers of several. */
    uint32_t layer, group;
    /* Task group that the launch runs with, also where it is a conversion; MTS_NONE: a
       part of it may be needed with every group, behind that group's layers. */
    uint32_t stage;
    /* Its step in the plan, the first of several, and that step's wave. */
    uint32_t step, wave;
    uint64_t mul_adds;
    /* What it touches of the activations, as its step does; see mts_launch. */
    const mts_access *accesses;
    uint32_t access_count;
    /* Bytes that have to be moved at least. Of a layer's launches only the one with most
       work has them. */
    uint64_t bytes;
    /* Of a fused block: its layers; else `project` is MTS_NONE. */
    mts_fused_layers fused;
    /* Of the last layer of a block that could be fused: why it is not; else NULL. */
    const char *apart;
    /* Why a launch that only moves, resizes or pools is there; NULL: it computes. */
    const char *moves;
    /* Those of `bytes` that such launches have, also where they are parts of a launch that
       computes. */
    uint64_t moved_bytes;
    /* How the activations lie that it reads and writes: sets of bits of mts_layout. */
    uint8_t reads, writes;
} mts_encoded_launch;

#endif
