/*
 * lower.h: steps of a plan -> launches, records and pool content. Internal to sdk/exec.
 *
 * One lower_<family>.c per kernel family fills the records of device/record.h; lower.c holds what they share and the
 * table from operators to functions. No device calls: engine.c builds kernels and uploads.
 */
#ifndef MTS_EXEC_LOWER_H
#define MTS_EXEC_LOWER_H

#include "device/device.h"
#include "device/kernel.h"
#include "exec/pool.h"
#include "exec/table.h"
#include "plan/plan.h"

typedef struct mts_lowered_launch {
    const char *kernel, *defines; /* name in the manifest, build options */
    uint32_t first;               /* table index */
    uint32_t global[3], local[3];
    bool by_group; /* global[0] counts work-groups times local[0]: both shrink together */
    const char *label;
    uint32_t members, tasks; /* computations, and the tasks they serve */
} mts_lowered_launch;

typedef struct mts_lowering {
    const mts_plan *plan;
    const mts_stitched *stitched;
    const mts_device_info *device;
    mts_arena *arena;   /* scratch, may be released after the upload */
    mts_arena *strings; /* labels and build options: live as long as the launches */
    mts_table table;
    mts_pool pool;
    mts_lowered_launch *launches;
    size_t launch_count, launch_capacity;
    uint64_t mul_adds;
    mts_error *error;
} mts_lowering;

/* Lowers every step. On failure release with mts_lowering_release all the same. */
mts_code mts_lower_plan(mts_lowering *lowering);
void mts_lowering_release(mts_lowering *lowering);

/* ---- shared by the lower_*.c files ---- */
mts_code mts_lower_memory(mts_lowering *lowering); /* OUT_OF_MEMORY with its text */
/* Pool owner of a member's constants: MTS_NONE when sharing. */
uint32_t mts_lower_owner(const mts_lowering *lowering, const mts_member *member);
mts_rec_dest mts_lower_dest(const mts_lowering *lowering, uint32_t storage);
/* A dense storage written as other dimensions with the same elements. */
mts_rec_dest mts_lower_dest_as(const mts_lowering *lowering, uint32_t storage, const uint32_t dims[MTS_REC_RANK]);
/* A value where it lies. */
mts_rec_view mts_lower_view(const mts_lowering *lowering, uint32_t value);
/* Row-major strides of dims. */
void mts_lower_strides(const uint32_t dims[MTS_REC_RANK], uint32_t stride[MTS_REC_RANK]);
/* Operand i of a member, broadcast to dims; *pool says whether it is a constant in the pool. */
mts_rec_view mts_lower_operand(mts_lowering *lowering, const mts_member *member, uint32_t input,
                               const uint32_t dims[MTS_REC_RANK], uint32_t *pool);
/* Offset of an optional vector operand in the pool, or MTS_REC_NONE. */
uint32_t mts_lower_vector(mts_lowering *lowering, const mts_member *member, uint32_t input, const uint32_t *order,
                          uint32_t count);
/* Appends a launch; kernel and defines are copied by reference. */
mts_code mts_lower_launch(mts_lowering *lowering, const mts_lowered_launch *launch);
/* Launch over `count` records of `words` words that each begin with a mts_rec_dest. */
mts_code mts_lower_dests(mts_lowering *lowering, const char *kernel, const char *label, const void *records,
                         uint32_t words, uint32_t count);
/* "-DVEC=.." of the device. */
const char *mts_lower_defines(const mts_lowering *lowering);
/* "conv 3x3 x32 layer1.0.conv1" */
const char *mts_lower_label(mts_lowering *lowering, const mts_layer *layer, const char *what);

mts_code mts_lower_conv(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_tile(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_depthwise(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_fc(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_unary(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_binary(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_scale(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_pool(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_resize(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_lrn(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_deconv(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_reduce(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_softmax(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_matmul(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_concat(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_slice(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_pad(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_gather(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_transpose(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_expand(mts_lowering *lowering, const mts_layer *layer);
mts_code mts_lower_phases(mts_lowering *lowering, const mts_step *step);
mts_code mts_lower_copies(mts_lowering *lowering, const mts_step *step);

#endif
