/*
 * builder.h: an engine while it is built, shared by build.c, ports.c and upload.c.
 */
#ifndef MTS_ENGINE_BUILDER_H
#define MTS_ENGINE_BUILDER_H

#include "engine/state.h"
#include "strategy/program.h"

#ifndef MTS_SMALL
/* Packed weights that are written without a wait, of the allocator. */
typedef struct mts_staging {
    void **items;
    size_t count, capacity;
} mts_staging;
#endif

/* What exists only while an engine is built. It does not move. */
typedef struct mts_builder {
    mts_engine *engine;
    mts_arena scratch;
    /* Per task. */
    const mts_graph **graphs;
    mts_decision decision;
    /* Its kernels are shared where the new engine needs the same, or NULL. */
    const mts_engine *like;
#ifndef MTS_SMALL
    /* See mts_engine_build.shares_weights; which blocks it has, or NULL. */
    bool shares_weights;
    bool *there;
    /* Sections of the weights: those of `like`, which come first, and their numbers there. */
    const mts_weights_index **kept;
    uint32_t *kept_from;
    uint32_t kept_count;
    /* The last of them has room, and what it holds then, once the engine is the session's. */
    bool grows;
    mts_weights_index grown;
    /* Elements behind the last section that stay free (options.weights_reserve), as far as a buffer
       and the offsets of launches reach. */
    size_t reserve;
    /* Host memory that the queue may still read. */
    mts_staging staging;
#endif
    /* Only the footprint is wanted, or the least that it can be: nothing is encoded. */
    bool dry_run, only_least;
    /* Groups run at the same time: in lanes of memory (plan/lanes.h), or in waves
       (plan/waves.h). */
    bool overlapped;
    /* Everything before kernels are built was done. */
    bool in_kernels;
    uint32_t *group_of;
    mts_program program;
    /* [task][input] */
    uint32_t **slot_of;
    mts_stitched *stitched;
    /* Per stitched value, see mts_plan_request; NULL: all inputs are kept. */
    uint8_t *input_kinds;
    /* Of zero-copy inputs. */
    mts_encode_part *parts;
    uint32_t part_count;
    /* Per slot; without a preprocess: takes no frames. */
    mts_frame_input *frame_inputs;
    mts_plan *plan;
    /* The tasks that each part of a launch serves. */
    mts_task_masks masks;
    /* What the session may use of the device: no float32 library for float16. */
    mts_device_info info;
    mts_encoding encoding;
    mts_error *error;
} mts_builder;

static inline mts_status mts_builder_memory(const mts_builder *b)
{
    return mts_fail(b->error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory to make a session of %u tasks",
                    b->engine->tasks.count);
}

/* ---- draft.c ---- */

/* Tells the caller's progress function; CANCELLED if that asks for it. */
mts_status mts_builder_report(const mts_builder *b, float fraction, const char *what);
/* All that needs no device: stitches, plans, encodes and counts bytes. */
mts_status mts_builder_draft(mts_builder *b, mts_device *device, const mts_archive *archive,
                             const mts_engine_options *options);
/* All that the builder holds; its engine, unless that is NULL. */
void mts_builder_release(mts_builder *b);

/* ---- ports.c ---- */

/* Gives every input a slot. */
mts_status mts_build_slots(mts_builder *b);
/* Which inputs stay in the caller's memory: input_kinds, parts, slots. The graphs are
   stitched. */
mts_status mts_build_zero_copy(mts_builder *b);
/* Fills the engine's ports, slots and frames; the plan exists and is encoded. */
mts_status mts_build_ports(mts_builder *b);

/* ---- upload.c ---- */

/* The memory of the engine, into its stats. LIMIT: over the budget. */
mts_status mts_build_footprint(const mts_builder *b);
/* Arena, weights and kernel parameters; LIMIT if a weight is too large for the session's
   precision. */
mts_status mts_build_upload(mts_builder *b);

#endif
