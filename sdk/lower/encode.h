/*
 * encode.h: steps of a plan -> launches, records and pool content.
 *
 * One encode_<family>.c per kernel family fills the records of kernels/abi/params.h; encode.c holds what they
 * share and the table from operators to functions. No device calls: engine.c builds kernels and uploads.
 */
#ifndef MTS_LOWER_ENCODE_H
#define MTS_LOWER_ENCODE_H

#include "device/device.h"
#include "device/kernel.h"
#include "lower/launch_shape.h"
#include "lower/precision.h"
#include "lower/task_masks.h"
#include "lower/param_buffer.h"
#include "lower/weights.h"
#include "plan/kernel_config.h"
#include "plan/plan.h"

#define MTS_TILE_ROWS 13 /* most output rows of a tile on any device */

typedef struct mts_encoded_launch {
    const char *kernel, *defines; /* name in the manifest, build options */
    uint32_t first;               /* index in the kernel parameters */
    uint32_t source;              /* 0: reads the weight pool; else 1 + the slot whose lent data it reads */
    uint32_t global[3], local[3];
    mts_gemm gemm;    /* m > 0: a matrix product; of the fields before only the kernel's name, for reports */
    bool by_group;    /* global[0] counts work-groups times local[0]: both shrink together */
    bool whole_group; /* the kernel is built for local[0] and takes nothing else */
    mts_entries entries; /* what it consists of, and whom that serves */
    const char *label;
    uint32_t members, tasks;  /* computations, and the tasks they serve */
    uint64_t signature, kind; /* of the layer, if there is a choice for it (plan/kernel_config.h), else 0 */
    mts_kernel_config choice; /* that was followed, if there is one */
    uint32_t layer;           /* index of the stitched layer; MTS_NONE for conversions */
    uint32_t group;           /* of tasks; MTS_NONE for conversions, which may serve several */
    uint64_t mul_adds;
    uint64_t bytes; /* that have to be moved at least; of a layer's launches only the one with most work has
                       them */
} mts_encoded_launch;

/* Elements [first, first + count) of an input svalue are a slot's lent data. */
typedef struct mts_encode_part {
    uint32_t value, slot;
    size_t first, count;
} mts_encode_part;

typedef struct mts_encoding {
    const mts_plan *plan;
    const mts_stitched *stitched;
    const mts_device_info *device;
    mts_precision precision;
    const mts_kernel_configs *choices; /* NULL: defaults */
    mts_layer_facts facts;             /* of the step, if there is a choice for its layer */
    mts_kernel_config choice;          /* of that layer */
    const mts_encode_part *parts;      /* of lent inputs */
    uint32_t part_count;
    mts_task_masks *masks; /* whom members and conversions serve; NULL: there is one task */
    mts_arena *arena;      /* scratch, may be released after the upload */
    mts_arena *strings;    /* labels and build options: live as long as the launches */
    mts_param_buffer params;
    mts_weights pool;
    mts_encoded_launch *launches;
    size_t launch_count, launch_capacity;
    bool cases[MTS_TILE_ROWS + 1][MTS_TILE_ROWS + 1]; /* (rows_a, rows_b) that occur */
    bool winograd_rows[MTS_WINOGRAD_ROWS + 1];        /* likewise, of its row blocks */
    uint32_t winograd_scratch;                        /* vectors of its largest group */
    uint64_t mul_adds, counted;                       /* of all launches so far; of those that are appended */
    mts_error *error;
} mts_encoding;

/* Encodes every step. On failure release with mts_encoding_release all the same. */
mts_status mts_encode_plan(mts_encoding *encoding);
void mts_encoding_release(mts_encoding *encoding);

/* ---- shared by the encode_*.c files ---- */
mts_status
mts_encode_memory(mts_encoding *encoding); /* OUT_OF_MEMORY, or LIMIT if the pool is full, with its text */
/* How a layer is to be computed. */
mts_status mts_encode_choice(mts_encoding *encoding, const mts_layer *layer, mts_kernel_config *choice);
/* Pool owner of a member's constants: MTS_NONE when sharing. */
uint32_t mts_encode_owner(const mts_encoding *encoding, const mts_member *member);
mts_dest_params mts_encode_dest(const mts_encoding *encoding, uint32_t storage);
/* A dense storage written as other dimensions with the same elements. */
mts_dest_params mts_encode_dest_as(const mts_encoding *encoding, uint32_t storage,
                                   const uint32_t dims[MTS_PARAM_RANK]);
/* A value where it lies. */
mts_view_params mts_encode_view(const mts_encoding *encoding, uint32_t value);
/* Row-major strides of dims. */
void mts_encode_strides(const uint32_t dims[MTS_PARAM_RANK], uint32_t stride[MTS_PARAM_RANK]);
/* Operand i of a member, broadcast to dims; *pool says whether it is a constant in the pool. */
mts_view_params mts_encode_operand(mts_encoding *encoding, const mts_member *member, uint32_t input,
                                   const uint32_t dims[MTS_PARAM_RANK], uint32_t *pool);
/* Offset of an optional vector operand in the pool, or MTS_PARAM_NONE. */
uint32_t mts_encode_vector(mts_encoding *encoding, const mts_member *member, uint32_t input,
                           const uint32_t *order, uint32_t count);
/* Appends a launch; kernel and defines are copied by reference. */
mts_status mts_encode_launch(mts_encoding *encoding, const mts_encoded_launch *launch);
/*
 * Says whom the entries of the launch that was appended last serve, by numbers of masks; they are copied. A
 * layer's params, one per member in their order, need no call. `words`: of an entry in the table.
 */
mts_status mts_encode_entries(mts_encoding *encoding, mts_entry_kind kind, uint32_t words,
                              const uint32_t *masks, size_t count);
/* Room for mts_entries.heights of a launch; NULL if they are not kept, or memory is short. */
uint32_t *mts_encode_heights(mts_encoding *encoding, uint32_t count);
/* The set of a member. */
uint32_t mts_encode_task_mask(const mts_encoding *encoding, uint32_t member);
/* Launch over `count` params of `words` words that each begin with a mts_dest_params. NULL params: memory
   was short when they were made, which is what it then returns. */
mts_status mts_encode_dests(mts_encoding *encoding, const char *kernel, const char *label, const void *params,
                            uint32_t words, uint32_t count);
/* Bytes that a step has to move at least. */
uint64_t mts_encode_traffic(const mts_encoding *encoding, const mts_step *step);
/* "conv 3x3 x32 layer1.0.conv1" */
const char *mts_encode_label(mts_encoding *encoding, const mts_layer *layer, const char *what);

mts_status mts_encode_conv(mts_encoding *encoding, const mts_layer *layer);
/* Gives every tile launch the row cases of all of them, "-DVEC=16 -DCASES=CASE(13,0)CASE(10,3)": one program
   serves all layers, because a case takes tenths of a second to build. */
mts_status mts_encode_cases(mts_encoding *encoding);
mts_status mts_encode_tile(mts_encoding *encoding, const mts_layer *layer);
/* Whether conv_winograd can compute a layer's dense convolutions on the device; then mts_encode_tile uses it
   if the choice says so. */
bool mts_encode_winograd_fits(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_winograd(mts_encoding *encoding, const mts_layer *layer,
                               const mts_kernel_config *choice);
/* As mts_encode_cases. */
mts_status mts_encode_winograd_cases(mts_encoding *encoding);
mts_status mts_encode_depthwise(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_fc(mts_encoding *encoding, const mts_layer *layer);
/* Whether all members of a layer can be matrix products of the device's library. */
bool mts_encode_gemm_fits(const mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_gemm(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_unary(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_binary(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_scale(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_pool(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_resize(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_lrn(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_deconv(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_reduce(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_softmax(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_matmul(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_concat(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_slice(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_pad(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_gather(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_transpose(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_expand(mts_encoding *encoding, const mts_layer *layer);
mts_status mts_encode_phases(mts_encoding *encoding, const mts_step *step);
mts_status mts_encode_copies(mts_encoding *encoding, const mts_step *step);
mts_status mts_encode_inputs(mts_encoding *encoding, const mts_step *step);

#endif
