/*
 * packed_tile.h: how much a work-item of conv_packed computes.
 *
 * Larger tiles load less for a product, smaller ones need fewer registers and give a GPU
 * more work-items. Figures of devices are plan/device_defaults.c's. Pure.
 */
#ifndef MTS_LOWER_PACKED_TILE_H
#define MTS_LOWER_PACKED_TILE_H

#include "lower/precision.h"
#include "plan/device_defaults.h"

typedef struct mts_packed_tile {
    /* Rows (output channels) and pixels of a work-item, and work-items of a work-group. */
    uint32_t rows, pixels, local;
    /* The program is built for work-groups of exactly `local`. */
    bool exact;
} mts_packed_tile;

/* Registers of 32 bits that the main loop of a tile holds: an estimate for a compiler that
   keeps nothing else there. */
uint32_t mts_packed_registers(const mts_packed_tile *tile, mts_precision precision);
/* Convolutions of one kind that a step of a wave computes. */
typedef struct mts_packed_work {
    bool depthwise;    /* a work-item computes 4 rows at most */
    uint64_t outputs;  /* packs of four channels of a pixel */
    uint64_t products; /* multiply-adds of one number, at most */
} mts_packed_work;

/* Whether depthwise and other convolutions of a wave share a program. In products of float16
   that one needs twice the registers (docs/results/gpu_static.md), which not all devices
   have. */
bool mts_packed_joins(const mts_device_info *device, mts_precision precision);
/*
 * The tile of steps that compute `works` in one launch, at least one. Of one
 * step the largest tile whose registers a work-item of the device has, and with which the
 * launch still has as many waves for each compute unit as the device wants. Steps of a wave
 * that differ in it take one all the same, as they would else be launches one after another:
 * the one with the least time by a model in which a unit reaches its speed with the waves
 * that the device wants. What the table does not say of a device is no limit.
 */
mts_packed_tile mts_packed_tile_choose(const mts_device_info *device, mts_precision precision,
                                       const mts_packed_work *works, uint32_t count);

#endif
