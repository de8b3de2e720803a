/*
 * build.c: makes an engine of its draft (draft.c): builds kernels, records the command
 * list. Not responsible for its ports (ports.c) and its memory on the device (upload.c).
 */
#include <string.h>

#include "engine/builder.h"

static mts_status find_kernel(mts_builder *b, const mts_encoded_launch *launch, mts_kernel **out)
{
    mts_engine *e = b->engine;
    for (uint32_t i = 0; i < e->launches.kernel_count; i++) {
        if (strcmp(e->launches.kernels[i].name, launch->kernel) == 0 &&
            strcmp(e->launches.kernels[i].defines, launch->defines) == 0) {
            *out = e->launches.kernels[i].kernel;
            return MTS_STATUS_OK;
        }
    }
    const mts_kernel_desc desc = {.name = launch->kernel, .defines = launch->defines};
    mts_built_kernel *kernel = &e->launches.kernels[e->launches.kernel_count];
    const mts_status status = mts_kernel_create(e->device, &desc, &kernel->kernel, b->error);
    if (status != MTS_STATUS_OK) {
        return mts_fail_prefix(b->error, status, "layer %s", launch->label);
    }
    kernel->name = launch->kernel;
    kernel->defines = launch->defines;
    e->launches.kernel_count++;
    *out = kernel->kernel;
    return MTS_STATUS_OK;
}

/* Whether the kernel is built for work-groups of exactly local[0] work-items. */
static bool is_exact(const mts_encoded_launch *launch)
{
    return launch->kind == MTS_LAUNCH_BLOCKS ||
           (MTS_HAS_PACKED && launch->kind == MTS_LAUNCH_PACKED && strstr(launch->defines, "-DGROUP="));
}

/* Kernels, and the launches that are going to be recorded. */
static mts_status prepare(mts_builder *b)
{
    mts_engine *e = b->engine;
    e->launches.items = mts_arena_zero(&e->arena, e->launches.count, sizeof *e->launches.items);
    e->launches.kernels = mts_arena_zero(&e->arena, e->launches.count, sizeof *e->launches.kernels);
    if (!e->launches.items || !e->launches.kernels) {
        return mts_builder_memory(b);
    }
    for (uint32_t i = 0; i < e->launches.count; i++) {
        const mts_encoded_launch *from = &e->launches.encoded[i];
        mts_launch *to = &e->launches.items[i];
        *to = (mts_launch){.act = e->launches.act,
                           .params = e->launches.params,
                           .first = from->first,
                           .label = from->label,
                           .accesses = from->accesses,
                           .access_count = from->access_count};
        memcpy(to->global, from->global, sizeof to->global);
        memcpy(to->local, from->local, sizeof to->local);
        mts_status status =
            mts_builder_report(b, 0.1f + 0.6f * (float)i / (float)e->launches.count, from->label);
        to->gemm = from->gemm;
        if (status == MTS_STATUS_OK && from->kind != MTS_LAUNCH_GEMM) {
            status = find_kernel(b, from, &to->kernel);
        }
        if (status != MTS_STATUS_OK) {
            return status;
        }
        if (is_exact(from) && to->kernel && to->kernel->work_group_size < to->local[0]) {
            return mts_fail(b->error, MTS_STATUS_DEVICE,
                            "layer %s: %s was built for work-groups of %u work-items, the device takes %u",
                            from->label, from->kernel, to->local[0], to->kernel->work_group_size);
        }
        if (to->kernel && !is_exact(from)) {
            mts_launch_fit(to, from->kind != MTS_LAUNCH_GRID);
        }
    }
    e->stats.kernels = e->launches.kernel_count;
    return MTS_STATUS_OK;
}

/* Zeros for the largest zero-copy input, which is float32 in any precision; *out is NULL
   if there is none. */
static mts_status make_stand_in(const mts_builder *b, mts_buffer **out)
{
    const mts_engine *e = b->engine;
    size_t bytes = 0;
    for (uint32_t s = 0; s < e->inputs.slots.count; s++) {
        const size_t own = e->inputs.slots.items[s].count * sizeof(float);
        bytes = e->inputs.slots.items[s].zero_copy && own > bytes ? own : bytes;
    }
    *out = NULL;
    if (bytes == 0) {
        return MTS_STATUS_OK;
    }
    const mts_status status = mts_buffer_create(e->device, bytes, out, b->error);
    return status != MTS_STATUS_OK ? status : mts_buffer_fill(*out, 0, bytes, 0, b->error);
}

/*
 * Records the command list. Runs once on zeros where the device's kernels may not be
 * complete: some drivers finish the build of a kernel at its first launch (PoCL takes
 * seconds), and a frame must not wait for that. The stand-in for zero-copy inputs goes.
 */
static mts_status run_once(const mts_builder *b)
{
    mts_engine *e = b->engine;
    mts_buffer *stand_in = NULL;
    mts_status status = make_stand_in(b, &stand_in);
    MTS_TRY(status, mts_persistent_first(b, stand_in));
    MTS_TRY(status, mts_launches_record(&e->launches, &e->inputs.slots, stand_in, b->error));
    if (status == MTS_STATUS_OK && e->launches.list && !e->device->info.ready_kernels) {
        status = mts_command_list_submit(e->launches.list, b->error);
        MTS_TRY(status, mts_device_wait(e->device, b->error));
    }
    if (status == MTS_STATUS_OK && e->launches.list) {
        status = mts_command_list_calibrate(e->launches.list, b->error);
    }
#ifndef MTS_SMALL
    if (b->staging.count > 0) {
        MTS_TRY(status, mts_device_wait(e->device, b->error));
    }
#endif
    if (stand_in) {
        e->launches.generation = MTS_GENERATION_NONE;
        mts_buffer_destroy(&stand_in);
    }
    return status;
}

/* Makes the engine of what the draft says. */
static mts_status make(mts_builder *b)
{
    mts_status status = mts_build_upload(b);
    MTS_TRY(status, mts_build_ports(b));
    MTS_TRY(status, mts_submissions_create(b->engine, b->error));
    b->in_kernels = status == MTS_STATUS_OK;
    MTS_TRY(status, prepare(b));
    MTS_TRY(status, mts_persistent_build(b));
#ifndef MTS_SMALL
    MTS_TRY(status, mts_links_prepare(b));
#endif
    MTS_TRY(status, mts_builder_report(b, 0.7f, "first run, for which drivers finish kernels"));
    MTS_TRY(status, run_once(b));
    MTS_TRY(status, mts_builder_report(b, 1.0f, "ready"));
    return status;
}

static mts_status draft(mts_device *device, const mts_archive *archive, const mts_engine_options *options,
                        const mts_builder *with, mts_engine_draft **out)
{
    mts_engine_draft *made = mts_alloc_zero(device->allocator, 1, sizeof *made);
    *out = made;
    if (!made) {
        return mts_fail_memory(with->error);
    }
    *made = *with;
    const mts_status status = mts_builder_draft(made, device, archive, options);
    if (status != MTS_STATUS_OK) {
        mts_engine_draft_destroy(out);
    }
    return status;
}

mts_status mts_engine_draft_create(mts_device *device, const mts_archive *archive,
                                   const mts_engine_options *options, const mts_decision *decision,
                                   mts_engine_draft **out, mts_session_stats *stats, mts_error *error)
{
    const mts_builder with = {.decision = *decision, .error = error};
    const mts_status status = draft(device, archive, options, &with, out);
    if (status == MTS_STATUS_OK) {
        *stats = (*out)->engine->stats;
    }
    return status;
}

void mts_engine_draft_destroy(mts_engine_draft **draft_at)
{
    if (draft_at && *draft_at) {
        mts_engine_draft *draft = *draft_at;
        const mts_allocator *allocator = draft->scratch.allocator;
        *draft_at = NULL;
        mts_builder_release(draft);
        mts_alloc_free(allocator, draft);
    }
}

mts_status mts_engine_build_draft(mts_engine_draft **from, const mts_engine_options *options,
                                  mts_engine_build *build, mts_engine **out, mts_error *error)
{
    mts_engine_draft *b = *from;
    b->error = b->encoding.error = error;
    b->engine->options.progress = options->progress;
    b->engine->options.context = options->context;
    const mts_status status = make(b);
    if (build) {
        build->kernels_failed =
            b->in_kernels && (status == MTS_STATUS_DEVICE || status == MTS_STATUS_NOT_FOUND);
    }
#ifndef MTS_SMALL
    if (status == MTS_STATUS_OK && b->grown.allocator) {
        b->engine->launches.grown_store = b->engine->launches.stores[b->kept_count - 1];
        b->engine->launches.grown = b->grown;
        b->grown = (mts_weights_index){0};
    }
#endif
    *out = status == MTS_STATUS_OK ? b->engine : NULL;
    b->engine = status == MTS_STATUS_OK ? NULL : b->engine;
    mts_engine_draft_destroy(from);
    return status;
}

mts_status mts_engine_create(mts_device *device, const mts_archive *archive,
                             const mts_engine_options *options, const mts_decision *decision,
                             mts_engine_build *build, mts_engine **out, mts_error *error)
{
    const mts_builder with = {.decision = *decision,
                              .like = build ? build->like : NULL,
#ifndef MTS_SMALL
                              .shares_weights = build && build->like && build->shares_weights,
#endif
                              .error = error};
    mts_engine_draft *made = NULL;
    *out = NULL;
    if (build) {
        build->kernels_failed = false;
    }
    const mts_status status = draft(device, archive, options, &with, &made);
    return status == MTS_STATUS_OK ? mts_engine_build_draft(&made, options, build, out, error) : status;
}

mts_status mts_engine_footprint(mts_device *device, const mts_archive *archive,
                                const mts_engine_options *options, const mts_decision *decision,
                                mts_session_stats *stats, mts_error *error)
{
    const mts_builder with = {.decision = *decision, .dry_run = true, .error = error};
    mts_engine_draft *made = NULL;
    const mts_status status = draft(device, archive, options, &with, &made);
    if (status == MTS_STATUS_OK) {
        *stats = made->engine->stats;
    }
    mts_engine_draft_destroy(&made);
    return status;
}

/* Whether some weights are packed as bytes. */
static bool multiplies_bytes(const mts_plan *plan)
{
    bool bytes = false;
    for (uint32_t m = 0; !bytes && m < plan->stitched->member_count; m++) {
        bytes = plan->members[m].variant == MTS_VARIANT_BYTES;
    }
    return bytes;
}

/* Of graphs that share nothing; the plan exists. */
static mts_status count_least(const mts_builder *b, uint64_t *bytes)
{
    const mts_precision precision = b->engine->stats.precision;
    const bool stored = multiplies_bytes(b->plan);
    uint32_t *seen = mts_alloc_zero(b->engine->allocator, b->engine->archive->block_count, sizeof *seen);
    if (!seen) {
        return mts_builder_memory(b);
    }
    *bytes = mts_precision_bytes(precision, b->plan->arena_floats);
    for (uint32_t g = 0; g < b->program.graph_count; g++) {
        *bytes += mts_archive_block_bytes(b->engine->archive, b->program.graphs[g],
                                          mts_precision_size(precision), stored, seen, g + 1);
    }
    mts_alloc_free(b->engine->allocator, seen);
    return MTS_STATUS_OK;
}

mts_status mts_engine_least(mts_device *device, const mts_archive *archive, const mts_engine_options *options,
                            const mts_decision *decision, uint64_t *bytes, mts_error *error)
{
    const mts_builder with = {.decision = *decision, .dry_run = true, .only_least = true, .error = error};
    mts_engine_draft *made = NULL;
    mts_status status = draft(device, archive, options, &with, &made);
    MTS_TRY(status, count_least(made, bytes));
    mts_engine_draft_destroy(&made);
    return status;
}
