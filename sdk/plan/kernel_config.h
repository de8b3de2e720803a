/*
 * kernel_config.h: how each layer is computed: which kernel, and the shape of its tiles.
 *
 * A configuration is found by the layer's signature, a hash of everything that its speed
 * depends on. Where nothing was measured, it comes from one table of defaults by vendor,
 * architecture and device (device_defaults.h): the only place that knows such numbers.
 * Pure; sdk/tune/kernels.c measures.
 */
#ifndef MTS_PLAN_KERNEL_CONFIG_H
#define MTS_PLAN_KERNEL_CONFIG_H

#include "device/device.h"
#include "stitch/stitch.h"

/* Kernel families of a dense or grouped convolution. One that cannot compute a layer
   leaves it to TILE. */
typedef enum mts_kernel_config_kernel {
    MTS_KERNEL_CONFIG_TILE = 0,     /* direct, tiles with K segments */
    MTS_KERNEL_CONFIG_WINOGRAD = 1, /* 3x3, stride 1 */
    MTS_KERNEL_CONFIG_GEMM = 2,     /* a dense matrix product of a library */
    MTS_KERNEL_CONFIG_BLOCK = 3,    /* direct, blocks staged in a GPU's local memory */
    MTS_KERNEL_CONFIG_FUSED = 4,    /* of a block's signature: its layers are one launch (lower/fuse.h) */
    MTS_KERNEL_CONFIG_MIXED = 5,    /* of no layer: the combined program, where it does not build */
    MTS_KERNEL_CONFIG_PACKED = 6,   /* of no layer: packs of channels, where conv_packed does not build */
    MTS_KERNEL_CONFIG_KERNEL_COUNT = 7
} mts_kernel_config_kernel;

typedef struct mts_kernel_config {
    uint32_t kernel;  /* mts_kernel_config_kernel */
    uint32_t rows;    /* output channels of a tile or block at most; a block's is 16, 32 or 64 */
    uint32_t vectors; /* vectors of pixels that a work-item walks at most; one float each on a GPU. BLOCK:
                         pixels of a block: 32, 64 or 128 */
    uint32_t local;   /* work-items of a tile or block; 1 on a CPU */
    uint32_t depth;   /* BLOCK: products that are staged at once: 8, 16 or 32; else 0 */
    uint32_t
        parts; /* BLOCK: stretches of pixels of different jobs in a block at most: 1, 2, 4. FUSED, if it is forced:
                         2: pairs only. Else 0 */
} mts_kernel_config;

/* What the configuration of a layer can depend on. */
typedef struct mts_layer_facts {
    uint64_t signature; /* op, attributes, sizes, members and how they share inputs and weight blocks */
    uint64_t kind;      /* likewise of the first member alone: equal for different numbers of tasks */
    uint32_t members;
    mts_op op;
    const mts_attrs_conv *conv; /* CONV only, else NULL */
    uint32_t in_channels, out_channels, height,
        width; /* CONV: of the first member; height, width of the output */
} mts_layer_facts;

/* A measured configuration. */
typedef struct mts_kernel_config_entry {
    uint64_t signature, kind;
    uint32_t members;
    uint32_t tried; /* of mts_kernel_config_candidates, from the first: all, or tuning can go on there */
    mts_kernel_config config;
    double ms, default_ms; /* of the layer's launches with this configuration, and with the default */
} mts_kernel_config_entry;

/* Measured configurations; an empty table (all zero) is valid and leaves everything to
   the defaults. */
typedef struct mts_kernel_configs {
    const mts_allocator *allocator;
    const mts_kernel_config *forced; /* for every layer, whatever the entries say; NULL: none */
    const mts_kernel_config *failed; /* do not build or run on the device: only if forced; the caller's. One
                                 with 0 rows stands for all of its kernel */
    /* Blocks that could be fused and that no entry is about are counted here; NULL: they
       are not. */
    uint32_t *unmeasured;
    mts_kernel_config_entry *entries;
    size_t failed_count, count, capacity;
} mts_kernel_configs;

/* Facts of layer `layer`; `scratch` is used, its content is not needed afterwards.
   OUT_OF_MEMORY only. */
mts_status mts_layer_facts_get(const mts_stitched *stitched, uint32_t layer, mts_arena *scratch,
                               mts_layer_facts *facts, mts_error *error);

bool mts_kernel_config_equal(const mts_kernel_config *a, const mts_kernel_config *b);
/* mts_decision.slice_bytes without measurements: what the caches of a CPU hold; 0 on a
   GPU, whose launches want all tasks. */
uint64_t mts_kernel_config_slice_bytes(const mts_device_info *device);

void mts_kernel_configs_init(mts_kernel_configs *configs, const mts_allocator *allocator);
void mts_kernel_configs_release(mts_kernel_configs *configs);
/* Adds an entry, or replaces that of the same signature. */
mts_status mts_kernel_configs_add(mts_kernel_configs *configs, const mts_kernel_config_entry *entry,
                                  mts_error *error);
/* The entry of this signature; NULL if there is none. */
const mts_kernel_config_entry *mts_kernel_configs_find(const mts_kernel_configs *configs, uint64_t signature);
bool mts_kernel_configs_failed(const mts_kernel_configs *configs, const mts_kernel_config *config);
/* The entry of the layer's signature, else that of the same kind of layer with the
 * nearest number of members, else NULL. `configs` may be NULL. */
const mts_kernel_config_entry *mts_kernel_configs_nearest(const mts_kernel_configs *configs,
                                                          const mts_layer_facts *facts);

#endif
