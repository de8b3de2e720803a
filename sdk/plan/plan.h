/*
 * plan.h: where every tensor of a stitched program lies, and the steps that run it.
 *
 * Decides the storage of each value (kernels/abi/params.h, "Storage of a tensor"), the
 * conversions between layouts, the order of steps and the arena offsets. Pure: no device
 * calls; sdk/lower turns steps into launches.
 *
 * Layout rules. A stitched convolution walks flattened pixels, so its input, output and
 * residual share one row length; values tied so form a class, whose row is the largest
 * that a member needs (width + padding). A strided convolution, or one whose input has to
 * be dense, reads a space-to-depth copy instead (mts_space_to_depth_params). On devices
 * with `depthwise_rows`, depthwise ones read images of any row length without a border.
 * Inputs, outputs, fully connected layers' results, and both sides of a RESHAPE and of a
 * GATHER are dense; a RESHAPE is an alias and costs nothing. What only 1x1 and depthwise
 * convolutions touch may lie in blocks of channels instead (blocks.h).
 */
#ifndef MTS_PLAN_PLAN_H
#define MTS_PLAN_PLAN_H

#include "plan/arena.h"
#include "plan/bytes.h"
#include "stitch/stitch.h"

#define MTS_PLAN_ALIGN 16u /* floats: planes of convolutions begin on a vector of the widest device */

/* The smallest library fuses nothing: it has no kernel for it. */
#ifdef MTS_SMALL
#define MTS_FUSES 0
#else
#define MTS_FUSES 1
#endif

/* Whether the library has convolutions whose output rows are the lanes of a vector, and
   blocks of channels (blocks.h): no processor but x86-64's has vectors of 16 floats, and
   libraries for others stay free of them. */
#if defined(__x86_64__)
#define MTS_HAS_ROW_LANES 1
#else
#define MTS_HAS_ROW_LANES 0
#endif

/* Whether the library has convolutions of tensors in packs of channels (packed.h). */
#ifdef MTS_SMALL
#define MTS_HAS_PACKED 0
#else
#define MTS_HAS_PACKED 1
#endif

/* Whether the library has fully connected layers of 8-bit numbers. */
#ifdef MTS_SMALL
#define MTS_HAS_FC_BYTES 0
#else
#define MTS_HAS_FC_BYTES 1
#endif

/* Whether a device may run independent launches at once, for which groups need memory of
   their own (lanes.h). Without backend `cpu` (sdk/CMakeLists.txt) the smallest library has
   no such device. */
#if defined(MTS_SMALL) && !defined(MTS_WITH_CPU)
#define MTS_HAS_LANES 0
#else
#define MTS_HAS_LANES 1
#endif

/* Whether values may lie in planes of another one in any order (shuffles.h). */
#ifdef MTS_SMALL
#define MTS_HAS_SHUFFLES 0
#else
#define MTS_HAS_SHUFFLES 1
#endif

typedef struct mts_plan mts_plan;

typedef enum mts_storage_region {
    MTS_REGION_INPUT = 0,
    MTS_REGION_OUTPUT = 1,
    MTS_REGION_TRANSIENT = 2
} mts_storage_region;

/*
 * Where the data of a graph input is. ARENA: written there by the engine. ZERO_COPY: in
 * the caller's own buffer; space-to-depth conversions read it there, for other readers a
 * step copies it into the arena just before the first of them. PARTS: in several such
 * buffers, always copied.
 */
typedef enum mts_input_kind {
    MTS_INPUT_ARENA = 0,
    MTS_INPUT_ZERO_COPY = 1,
    MTS_INPUT_PARTS = 2
} mts_input_kind;

/* A tensor in the arena, or planes of one; element 0 of plane 0 is at float offset +
   gap. */
typedef struct mts_storage {
    uint32_t dims[MTS_TENSOR_RANK_MAX]; /* left-padded with ones */
    uint32_t row, pitch, gap, tail;
    uint64_t floats; /* everything: gap, planes, tail, slack */
    uint64_t offset; /* floats from the arena's start */
    mts_storage_region region;
    uint32_t first, last; /* steps that touch it */
    uint32_t host; /* the storage that it is a part of, `at` floats behind its beginning; or MTS_NONE */
    uint64_t at;
    /* Of a part: plane p of it is plane planes[p] from there; NULL: plane p. Only convolutions
       and copies write such a part, and nothing reads it. */
    const uint32_t *planes;
    /* 0: planes. MTS_CHANNEL_BLOCK or MTS_CHANNEL_PACK: so many planes at a time share their
       place: lane c of pixel p is float p * lanes + c of it. Without a border. Only 1x1 and
       depthwise convolutions touch blocks (blocks.h). Members that touch packs keep the
       lanes beyond the last channel 0 (packed.h). */
    uint32_t lanes;
} mts_storage;

typedef enum mts_variant {
    MTS_VARIANT_NONE = 0, /* not a convolution: in floats */
    MTS_VARIANT_TILE = 1,
    MTS_VARIANT_DEPTHWISE = 2,
    MTS_VARIANT_FC = 3,
    MTS_VARIANT_BYTES = 4,  /* of 8-bit numbers: it reads planes of codes (bytes.h) */
    MTS_VARIANT_CODES = 5,  /* no convolution: it reads and stores planes of codes (codes.h) */
    MTS_VARIANT_PACKED = 6, /* convolutions of any kind; operands where they lie (packed.h) */
    MTS_VARIANT_COUNT = 7
} mts_variant;

/*
 * A copy of a value in another layout: dense, or space-to-depth: split into stride[0] x
 * stride[1] phases with a border. Where all readers are 1x1 convolutions, only the phase
 * that they read is copied.
 */
typedef struct mts_conversion {
    uint32_t value; /* svalue that is copied */
    /* Where it is read: `value`, or the operand of the TRANSPOSE that produces it and has
       no launch (transposes.h). */
    uint32_t source;
    uint32_t storage;
    bool space_to_depth; /* else dense, or a part */
    bool part;           /* into the storage of a concatenation that `member` makes in place */
    uint32_t member;
    /* Of space_to_depth: the copy is planes of codes (bytes.h), whose words are the dims'
       channels. Of codes: the member that computes the value and stores them, so that no
       step does, or MTS_NONE; and the conversion, to codes as well, of which the step makes
       this one, or MTS_NONE. */
    bool codes;
    uint32_t producer, from;
    bool made;      /* a step for it exists */
    bool zero_copy; /* reads the caller's buffer, not the value's storage */
    uint32_t stride[2];
    uint32_t phases;        /* planes for each channel: 1, or all */
    uint32_t top, left;     /* border before the image; phase 0 begins there */
    uint32_t rows, columns; /* of a phase plane */
} mts_conversion;

/* How a member reads its operands; those without a variant read values where they lie. */
typedef struct mts_member_plan {
    mts_variant variant;
    uint32_t input_conversion;    /* or MTS_NONE: the value's own storage */
    uint32_t residual_conversion; /* likewise; of CODES: the second operand */
    uint32_t codes_conversion;    /* that it stores besides its output; or MTS_NONE */
    bool bare;                    /* its output itself is not stored: all readers read those codes */
    bool fused;                   /* a reader's step computes it: its output is not stored (fuse.h) */
    bool in_place; /* has no launch: its operands' storages are parts of its output's, or the other
                                     way round (places.h) */
    bool shuffles; /* a TRANSPOSE in place, whose operand is written where its result lies (shuffles.h) */
} mts_member_plan;

/* Layers that a fused block consists of; expand may be MTS_NONE. */
typedef struct mts_fused_layers {
    uint32_t expand, depthwise, project;
} mts_fused_layers;

/* Of a layer: how it is part of a fused block. */
typedef struct mts_fusion {
    uint32_t into;              /* the layer whose step computes this one too, or MTS_NONE */
    uint32_t depthwise, expand; /* of a block's last layer: the others, or MTS_NONE */
#if MTS_FUSES
    uint32_t summand; /* of a sum: the layer that computes an operand in its step, or MTS_NONE */
#endif
    const char *reason; /* of a layer that could be such a last one: why it is not; else NULL */
    bool large;         /* with its expansion it does not fit the device */
    bool large_pair;    /* nor without */
} mts_fusion;

/* Decides about blocks that could be fused. */
typedef struct mts_plan_fuse {
    /* Why the layers are not fused, or NULL: they are. */
    const char *(*refuses)(void *context, const mts_stitched *stitched, const mts_fused_layers *layers);
    /* Whether the device has the memory for the block that ends with a layer. The plan
       has layouts, and no offsets. */
    bool (*fits)(void *context, const mts_plan *plan, uint32_t layer);
    void *context;
    bool sums; /* the device computes sums with a summand of theirs (sums.h) */
} mts_plan_fuse;

typedef enum mts_step_kind {
    MTS_STEP_LAYER = 0,
    MTS_STEP_SPACE_TO_DEPTH = 1,
    MTS_STEP_DENSE = 2,
    MTS_STEP_INPUT = 3
} mts_step_kind;

/*
 * LAYER: all members of layer `first`, and of those that are fused into it. INPUT: the
 * caller's data of inputs imports[first .. first + count), into their storages. Else
 * conversions order[first .. first + count). `group`: of the layer that the step is or
 * serves, which need not have a step itself; MTS_NONE: it serves outputs of several
 * groups.
 */
typedef struct mts_step {
    mts_step_kind kind;
    uint32_t first, count;
    uint32_t group;
    /* Ascending. Steps of equal waves do not depend on each other, and may share
       launches. */
    uint32_t wave;
    /* uses[use .. use + uses): what it reads and writes. */
    uint32_t use, uses;
} mts_step;

/* A step reads or writes a storage; of a part only the part, not its host. */
typedef struct mts_storage_use {
    uint32_t step, storage;
    bool writes;
} mts_storage_use;

struct mts_plan {
    const mts_stitched *stitched;
    uint32_t storage_count, conversion_count, step_count, order_count, import_count, use_count;
    mts_storage *storages;
    mts_conversion *conversions;
    mts_step *steps;
    mts_storage_use *uses;   /* in step order */
    uint32_t *order;         /* conversions in step order */
    uint32_t *imports;       /* input svalues in step order */
    uint32_t *import_value;  /* per storage: the input svalue that an INPUT step brings, or MTS_NONE */
    uint32_t *value_storage; /* per svalue */
    /* Per svalue: of a zero-copy input that is written in another order of dimensions,
       the result of the TRANSPOSE that does so, which an INPUT step brings in its place;
       or MTS_NONE. */
    uint32_t *turned;
    mts_grid *grids;           /* per svalue: the 8-bit numbers that it holds */
    mts_member_plan *members;  /* per member */
    mts_fusion *fusions;       /* per layer */
    uint32_t **output_storage; /* [graph][output], MTS_NONE for constants */
    /* With `depthwise_rows` or `packed` MTS_ROW_ZEROS floats that stay 0 come first; then inputs, outputs
       and transients, up to these. */
    uint64_t input_floats, output_floats, arena_floats;
};

/* Waves (plan/waves.h), on a device whose launches cost time. */
typedef struct mts_plan_waves {
    /* Steps of equal numbers are computed by one program, so that they may share a
       launch; MTS_NONE: with no other. The plan has layouts, and no offsets. */
    uint32_t (*program)(void *context, const mts_plan *plan, const mts_step *step);
    void *context;
    /* Multiply-adds that a compute unit does in the time of a launch. */
    uint64_t launch;
    uint32_t units;
    /* Elements that one unit computes at least where a layer is cut into many tiles. */
    uint32_t tile;
    /* Where no schedule fits, one is searched that does (plan/bounded_waves.h). */
    bool bounded;
} mts_plan_waves;

/* All outlive the plan. */
typedef struct mts_plan_request {
    const mts_stitched *stitched;
    const uint8_t *inputs; /* mts_input_kind of each svalue that is an input; NULL: all are in the arena */
    bool byte_products;  /* the device multiplies bytes: convolutions of 8-bit numbers read planes of codes */
    bool depthwise_rows; /* the device runs mts_plan_by_rows convolutions without phases and borders */
    bool spread_planes;  /* planes are spread over the sets of a cache (layout.c) */
    /* Values may lie in blocks of channels: rows as lanes, in float32 (plan/blocks.h).
       Rows of conv_tile's usual tiles; 0: all values are planes. */
    uint32_t tile_rows;
    bool packed;                 /* convolutions take and store packs of channels (plan/packed.h) */
    const mts_plan_fuse *fuse;   /* NULL: nothing is fused */
    uint32_t lanes;              /* groups that run at the same time at most (plan/lanes.h); 0: one */
    const mts_plan_waves *waves; /* instead of lanes; NULL: each step is a wave */
    uint64_t lane_floats;        /* what lanes or waves may add to the arena, beside a tenth of it */
    uint64_t arena_most; /* floats of an arena with those: one that is larger has none. 0: no such limit */
} mts_plan_request;

/* The result lives in `arena`. Errors: OUT_OF_MEMORY, LIMIT (over 2^31 floats). */
mts_status mts_plan_create(const mts_plan_request *request, mts_arena *arena, mts_plan **out,
                           mts_error *error);

/*
 * Whether a depthwise convolution has a shape that depthwise_rows computes: 3 x 3 or 5 x
 * 5 taps, stride 1 or 2, or dilated in wide images, not padded by more than the taps
 * reach. It reads rows of any length, so its input and output need not be of one class.
 * width: of its output.
 */
bool mts_plan_by_rows(const mts_attrs_conv *conv, uint64_t width);
/* Last input coordinate that output coordinate out - 1 reaches, counted from the image's
   start; may be < 0. */
int64_t mts_plan_reach(const mts_attrs_conv *conv, int axis, int64_t out);
/* Whether a layer's step computes others too. */
bool mts_plan_fuses(const mts_plan *plan, uint32_t layer);
/* The layer that a sum's step computes too (sums.h), or MTS_NONE. */
static inline uint32_t mts_plan_summand(const mts_plan *plan, uint32_t layer)
{
#if MTS_FUSES
    return plan->fusions ? plan->fusions[layer].summand : MTS_NONE;
#else
    (void)plan;
    (void)layer;
    return MTS_NONE;
#endif
}
/* What computes a member, as far as shapes tell; NONE: no convolution. */
mts_variant mts_plan_variant(const mts_stitched *stitched, const mts_member *member);
/* Operators whose launch states the output in other dimensions than the value has, so
   that it must be dense. */
bool mts_plan_changes_rank(const mts_node *node);
/* Marks, per svalue, outputs of graphs and what operators read dense. */
void mts_plan_mark_dense(const mts_stitched *stitched, bool *dense);
/* Whether an operator reads its input dense, by a copy if need be (RESHAPE, GATHER). */
bool mts_plan_reads_dense(mts_op op);
/* The conversion that is a value's dense copy, or MTS_NONE. */
uint32_t mts_plan_dense_copy(const mts_plan *plan, uint32_t value);
/* What a step costs beside its launch, in multiply-adds. */
uint64_t mts_step_cost(const mts_plan *plan, const mts_step *step);
/* Whether a storage is row-major without any padding. */
bool mts_storage_is_dense(const mts_storage *storage);
uint32_t mts_storage_planes(const mts_storage *storage);
/* Planes from an image to the next: its channels, with those that fill up its lanes. */
uint32_t mts_storage_channels(const mts_storage *storage);

#endif
