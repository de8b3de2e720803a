/*
 * lower.h: steps of a plan -> launches, their kernel parameters and the content of the
 * weight pool. Pure: no device calls. The engine builds the kernels and uploads what
 * comes out.
 */
#ifndef MTS_LOWER_LOWER_H
#define MTS_LOWER_LOWER_H

#include "device/kernel.h"
#include "lower/launch.h"
#include "lower/param_buffer.h"
#include "lower/precision.h"
#include "lower/task_masks.h"
#include "lower/weights.h"
#include "plan/kernel_config.h"
#include "plan/plan.h"

/* Output rows of a tile at most, on any device. */
#define MTS_TILE_ROWS 13

/* Elements [first, first + count) of an input svalue are the zero-copy data of a slot. */
typedef struct mts_encode_part {
    uint32_t value, slot;
    size_t first, count;
} mts_encode_part;

/*
 * Row counts that the programs of conv_tile and conv_winograd are built for. One program
 * serves all layers, because a case takes tenths of a second to build.
 */
typedef struct mts_kernel_cases {
    /* conv_tile: [rows_a][rows_b]. */
    bool tile[MTS_TILE_ROWS + 1][MTS_TILE_ROWS + 1];
    /* conv_winograd: rows of a row block. */
    bool winograd[MTS_WINOGRAD_ROWS + 1];
    /* fused_rows: rows of a job; a bit for each MTS_FUSED_SHAPE. */
    bool fused[MTS_FUSED_ROWS + 1];
    uint32_t fused_shapes;
    /* mixed: a bit for each kernel (kernels/abi/mixed.h). */
    uint32_t mixed;
    /* Vectors of the scratch memory of conv_winograd's largest work-group. */
    uint32_t winograd_scratch;
    /* Likewise of fused_rows. */
    uint32_t fused_scratch;
} mts_kernel_cases;

/*
 * A plan while it is lowered. The caller sets the first block, initialises params and
 * pool, and may set `cases` to those of an engine whose kernels are to serve this one
 * too; the rest is zero.
 */
typedef struct mts_encoding {
    const mts_plan *plan;
    const mts_stitched *stitched;
    const mts_device_info *device;
    mts_precision precision;
    /* Kernels that can read weights through an image do so (-DIMAGES=1). */
    bool images;
    /* Measured kernel configurations; NULL: defaults. */
    const mts_kernel_configs *configs;
    /* Of zero-copy inputs. */
    const mts_encode_part *parts;
    uint32_t part_count;
    /* Tasks of members, conversions and inputs; NULL: there is one task. */
    mts_task_masks *masks;
    /* Scratch memory, which may be released after the upload. */
    mts_arena *arena;
    /* Labels and build options: live as long as the launches. */
    mts_arena *strings;
    mts_error *error;

    mts_param_buffer params;
    mts_weights pool;
    mts_kernel_cases cases;
    mts_encoded_launch *launches;
    size_t launch_count, launch_capacity;
    /* The step's weights did not fit into a section: no implementation that stores more
     * of them than the network has. */
    bool least_weights;
    /* Of the step, if a configuration decides about its layer; else zero. */
    mts_layer_facts facts;
    mts_kernel_config config;
    /* The configuration is one that was measured, or is forced: it stays as it is. */
    bool measured;
    /* Tiles that the step should have at least, so that the last one of its launch keeps no
       unit busy for long; 0: it is not encoded as a part of a plan. */
    uint32_t tiles_least;
    /* The costs (mts_step_cost) of all steps of the step's wave. */
    uint64_t wave_cost;
    /* The wave's first step. */
    const mts_step *wave;
    /* mts_layout of each storage (layouts.h), for reports. */
    const uint8_t *layouts;
    /* Multiply-adds of all launches so far, and of those that were appended. */
    uint64_t mul_adds, counted;
} mts_encoding;

/*
 * Encodes every step. With pool.section_most set, the weights of each step lie in one
 * section of the pool; LIMIT names a layer whose weights do not fit into one. On failure
 * release with mts_encoding_release all the same.
 */
mts_status mts_encode_plan(mts_encoding *encoding);
/* Only the launches of each step by themselves, without build options of kernels that serve
   several: for tests of how steps are cut. */
mts_status mts_encode_steps(mts_encoding *encoding);
/* Numbers of programs: conversions have those of mts_step_kind. */
enum {
    /* + mts_op, and above it the function and the kind that a program of its own computes. */
    /* Of fused blocks. */
    MTS_PROGRAM_FUSED = 1u << 4,
    /* Of all steps that the combined program computes (mix.h). */
    MTS_PROGRAM_MIXED = 1u << 5,
    MTS_PROGRAM_OPERATOR = 1u << 6,
    MTS_PROGRAM_FUNCTION = 1u << 8,
    MTS_PROGRAM_KIND = 1u << 16,
    /* Convolutions and fully connected layers: from this number on. */
    MTS_PROGRAM_CONV = 1u << 24
};
/*
 * The number of the program that computes most of a step: mts_plan_waves.program. The
 * context is a mts_encoding with stitched, device, precision, configs and arena. Steps of
 * equal numbers may share a launch, and mts_encode_plan finds out whether they do.
 */
uint32_t mts_encode_program(void *context, const mts_plan *plan, const mts_step *step);
void mts_encoding_release(mts_encoding *encoding);

#endif
