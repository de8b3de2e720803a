/*
 * draft.c: plans an engine without a device call: stitch, plan, encode, count its memory.
 * build.c makes the engine of it.
 */
#include <string.h>

#include "engine/builder.h"
#include "lower/fuse.h"
#include "lower/implementations.h"
#include "lower/launch_shape.h"
#include "plan/device_defaults.h"
#include "plan/fit.h"
#include "plan/origin.h"
#include "plan/slices.h"
#include "plan/wave_steps.h"

mts_status mts_builder_report(const mts_builder *b, float fraction, const char *what)
{
    const mts_engine_options *o = &b->engine->options;
    if (o->progress && o->progress(o->context, fraction, what) != 0) {
        return mts_fail(b->error, MTS_STATUS_CANCELLED, "cancelled while making the session (%s)", what);
    }
    return MTS_STATUS_OK;
}

static mts_status select_tasks(mts_builder *b, const uint32_t *tasks, uint32_t count)
{
    mts_engine *e = b->engine;
    e->tasks.count = tasks ? count : e->archive->task_count;
    if (e->tasks.count == 0) {
        return mts_fail(b->error, MTS_STATUS_INVALID_ARGUMENT, "a session needs at least one task");
    }
    e->tasks.items = mts_arena_zero(&e->arena, e->tasks.count, sizeof *e->tasks.items);
    e->tasks.mask_words = (e->tasks.count + 31) / 32;
    b->graphs = mts_arena_zero(&b->scratch, e->tasks.count, sizeof *b->graphs);
    b->group_of = mts_arena_zero(&b->scratch, e->tasks.count, sizeof *b->group_of);
    b->slot_of = mts_arena_zero(&b->scratch, e->tasks.count, sizeof *b->slot_of);
    if (!e->tasks.items || !b->graphs || !b->group_of || !b->slot_of) {
        return mts_builder_memory(b);
    }
    for (uint32_t i = 0; i < e->tasks.count; i++) {
        const uint32_t task = tasks ? tasks[i] : i;
        if (task >= e->archive->task_count) {
            return mts_fail(b->error, MTS_STATUS_NOT_FOUND, "the bundle has no task %u", task);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (e->tasks.items[k].task == task) {
                return mts_fail(b->error, MTS_STATUS_INVALID_ARGUMENT, "task %s is named twice",
                                e->archive->tasks[task].name);
            }
        }
        e->tasks.items[i].task = task;
        b->graphs[i] = e->archive->tasks[task].graph;
    }
    return MTS_STATUS_OK;
}

static void use_groups(mts_builder *b, const uint32_t *groups)
{
    b->engine->tasks.group_count = 0;
    for (uint32_t i = 0; i < b->engine->tasks.count; i++) {
        b->group_of[i] = groups ? groups[i] : i;
        b->engine->tasks.group_count = b->group_of[i] >= b->engine->tasks.group_count
                                           ? b->group_of[i] + 1
                                           : b->engine->tasks.group_count;
    }
}

static mts_status choose_groups(mts_builder *b)
{
    mts_engine *e = b->engine;
    mts_status status = MTS_STATUS_OK;
    if (b->decision.group_of || e->options.strategy == MTS_STRATEGY_SEQUENTIAL) {
        use_groups(b, b->decision.group_of);
    } else {
        status = mts_graph_families(b->graphs, e->tasks.count, e->allocator, b->group_of,
                                    &e->tasks.group_count, b->error);
    }
    return status;
}

/* The graphs that run; the strategy may split groups. */
static mts_status make_program(mts_builder *b)
{
    mts_engine *e = b->engine;
    const mts_status status = mts_program_make(b->graphs, e->tasks.count, b->group_of, e->options.strategy,
                                               &b->scratch, &b->program, b->error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    for (uint32_t i = 0; i < e->tasks.count; i++) {
        e->tasks.items[i].group = b->program.task_group[i];
    }
    e->tasks.group_count = b->program.group_count;
    e->note = mts_arena_string(&e->arena, b->program.note);
    return e->note ? MTS_STATUS_OK : mts_builder_memory(b);
}

/*
 * With lanes or waves a session may take a tenth more memory than its tasks take one by
 * one, where each has its own copy of every weight: numbers that the arena may grow by.
 * Weights count as they are stored; packed, they are more.
 */
static mts_status find_lane_floats(const mts_builder *b, uint64_t *out)
{
    const mts_archive *archive = b->engine->archive;
    const uint32_t all = UINT32_MAX;
    uint64_t own = 0;
    uint64_t stored = 0;
    uint32_t *seen = mts_alloc_zero(b->engine->allocator, archive->block_count, sizeof *seen);
    if (!seen) {
        return mts_builder_memory(b);
    }
    for (uint32_t g = 0; g < b->program.graph_count; g++) {
        own += mts_archive_block_bytes(archive, b->program.graphs[g], 1, false, seen, g + 1);
    }
    for (uint32_t g = 0; g < b->program.graph_count; g++) {
        stored += mts_archive_block_bytes(archive, b->program.graphs[g], 1, false, seen, all);
    }
    mts_alloc_free(b->engine->allocator, seen);
    *out = mts_memory_spare(own) + own - stored;
    return MTS_STATUS_OK;
}

/* Slices are planned in bytes of float32. */
static uint64_t slice_bytes(const mts_builder *b)
{
    const uint64_t bytes = b->decision.slice_bytes;
    const uint64_t times = sizeof(float) / mts_precision_size(b->engine->stats.precision);
    return bytes > UINT64_MAX / times ? UINT64_MAX : bytes * times;
}

/* What a buffer of the device holds, in the session's precision; 0: no limit is known. */
static uint64_t buffer_elements(const mts_builder *b)
{
    return b->engine->device->info.buffer_bytes / mts_precision_size(b->engine->stats.precision);
}

static bool uses(mts_use wanted, bool usual)
{
    return wanted == MTS_USE_ON || (wanted == MTS_USE_AUTO && usual);
}

static mts_status plan(mts_builder *b)
{
    const mts_kernel_config packed = {.kernel = MTS_KERNEL_CONFIG_PACKED};
    const mts_device_info *info = &b->info;
    mts_plan_request wanted = {
        .stitched = b->stitched,
        .inputs = b->input_kinds,
        .byte_products = info->byte_products && b->engine->stats.precision == MTS_PRECISION_FLOAT32,
        .depthwise_rows = mts_launch_by_processor(info),
        .spread_planes = !info->is_gpu,
        .packed = MTS_HAS_PACKED && info->packed_lanes == MTS_CHANNEL_PACK &&
                  uses(b->engine->options.packed_channels, mts_device_defaults_find(info)->packed) &&
                  !mts_kernel_configs_failed(b->decision.configs, &packed),
        .tile_rows = info->row_lanes && b->engine->stats.precision == MTS_PRECISION_FLOAT32
                         ? mts_kernel_config_tiles(info).rows
                         : 0};
    mts_status status = MTS_STATUS_OK;
    mts_encoding kernels = {.stitched = b->stitched,
                            .device = info,
                            .precision = b->engine->stats.precision,
                            .configs = b->decision.configs,
                            .arena = &b->scratch};
    const mts_plan_waves waves = {.program = mts_encode_program,
                                  .context = &kernels,
                                  .launch = (uint64_t)info->launch_ns * mts_wave_rate(info),
                                  .units = info->compute_units,
#ifndef MTS_SMALL
                                  .bounded = b->decision.slice_bytes != MTS_SLICE_APART,
#endif
                                  .tile = mts_wave_tile(info)};
    const mts_plan_fuse fuse = {.refuses = mts_fuse_refuses,
                                .fits = mts_fuse_fits,
                                .context = &kernels,
                                /* kernels/sum reads planes */
                                .sums = info->ready_kernels && !wanted.packed};
    /* the other strategies are as published: a layer is a launch */
    wanted.fuse = MTS_FUSES && b->engine->options.strategy == MTS_STRATEGY_COMPACT ? &fuse : NULL;
    if (b->overlapped) {
        wanted.lanes = info->overlaps ? info->compute_units : 0;
        wanted.waves = info->overlaps ? NULL : &waves;
        status = find_lane_floats(b, &wanted.lane_floats);
        wanted.arena_most = buffer_elements(b);
    }
    MTS_TRY(status, mts_plan_create(&wanted, &b->scratch, &b->plan, b->error));
    return status;
}

#ifndef MTS_SMALL
/* What the engine whose weights are shared has on the device. */
static mts_status find_kept(mts_builder *b)
{
    if (!b->shares_weights) {
        return MTS_STATUS_OK;
    }
    const mts_launches *from = &b->like->launches;
    b->there = mts_arena_zero(&b->scratch, b->engine->archive->block_count, sizeof *b->there);
    b->kept = mts_arena_zero(&b->scratch, from->weight_count, sizeof *b->kept);
    b->kept_from = mts_arena_zero(&b->scratch, from->weight_count, sizeof *b->kept_from);
    if (!b->there || !b->kept || !b->kept_from) {
        return mts_builder_memory(b);
    }
    /* the one that has room comes last: it is the open section */
    uint32_t roomy = MTS_NONE;
    for (uint32_t i = 0; i < from->weight_count; i++) {
        const mts_weights_store *store = from->stores[i];
        const bool keeps = store && store->index.elements > 0; /* an empty one is not kept */
        roomy = keeps && store->index.capacity > store->index.elements ? i : roomy;
    }
    for (uint32_t k = 0; k < from->weight_count + 1; k++) {
        const uint32_t i = k < from->weight_count ? k : roomy;
        if (i != MTS_NONE && (k == from->weight_count || i != roomy) && from->stores[i] &&
            from->stores[i]->index.elements > 0) {
            b->kept_from[b->kept_count] = i;
            b->kept[b->kept_count++] = &from->stores[i]->index;
            mts_weights_index_blocks(&from->stores[i]->index, b->there, b->engine->archive->block_count);
        }
    }
    b->grows = roomy != MTS_NONE;
    return MTS_STATUS_OK;
}
#endif

/* Layers for slices of so many bytes, from the uncut ones, and their plan. */
static mts_status cut_and_plan(mts_builder *b, const mts_stitched *uncut, uint64_t slices)
{
    *b->stitched = *uncut;
    mts_status status = mts_slices_cut(b->stitched, slices, &b->scratch, b->error);
    MTS_TRY(status, mts_fit_weights(b->stitched, buffer_elements(b), &b->scratch, b->error));
#ifndef MTS_SMALL
    if (b->there && !b->grows) { /* where there is room, launches read old and new weights */
        MTS_TRY(status, mts_origin_cut(b->stitched, b->there, b->engine->archive->block_count, &b->scratch,
                                       b->error));
    }
#endif
    MTS_TRY(status, plan(b));
    return status;
}

/* One buffer holds the activations: where it would be too large, smaller slices make them
   fewer. */
static mts_status plan_to_fit(mts_builder *b)
{
    /* the other strategies are as published: a layer is a launch */
    const bool sliced = b->engine->options.strategy == MTS_STRATEGY_COMPACT;
    const uint64_t most = buffer_elements(b);
    const mts_stitched uncut = *b->stitched;
    uint64_t slices = sliced ? slice_bytes(b) : 0;
    mts_status status = cut_and_plan(b, &uncut, slices);
    slices = slices > 0 ? slices : MTS_SLICE_FIRST;
    while (status == MTS_STATUS_OK && sliced && most > 0 && b->plan->arena_floats > most &&
           slices > MTS_SLICE_SMALLEST) {
        slices = slices > MTS_SLICE_FIRST >> 6 ? slices / 4 : MTS_SLICE_SMALLEST;
        status = cut_and_plan(b, &uncut, slices);
    }
    return status;
}

/* Launches of a higher priority come first, so layers of several priorities share
   none. */
static bool has_priorities(const mts_engine *e)
{
    bool differ = false;
    for (uint32_t i = 1; e->options.priorities && i < e->tasks.count; i++) {
        differ = differ || e->options.priorities[i] != e->options.priorities[0];
    }
    return differ;
}

static mts_status stitch_and_plan(mts_builder *b)
{
    const mts_program *program = &b->program;
    const mts_device_info *info = &b->info;
    /* The other strategies run models one after another. */
    b->overlapped = b->engine->options.strategy == MTS_STRATEGY_COMPACT &&
                    (info->overlaps || (info->launch_ns > 0 && !has_priorities(b->engine))) &&
                    !b->engine->options.in_order;
    const uint32_t **slots = mts_arena_zero(&b->scratch, program->graph_count, sizeof *slots);
    if (!slots) {
        return mts_builder_memory(b);
    }
    for (uint32_t g = 0; g < program->graph_count; g++) {
        slots[g] = b->slot_of[program->lead[g]]; /* slots of copied inputs belong to one task */
    }
    const mts_stitch_request request = {.graphs = program->graphs,
                                        .graph_count = program->graph_count,
                                        .group_of = program->group_of,
                                        .group_count = program->group_count,
                                        .slot_of = slots,
                                        .share = b->engine->options.strategy == MTS_STRATEGY_COMPACT};
    mts_status status = mts_stitch(&request, &b->scratch, &b->stitched, b->error);
    MTS_TRY(status, mts_build_zero_copy(b));
#ifndef MTS_SMALL
    MTS_TRY(status, find_kept(b));
#endif
    MTS_TRY(status, plan_to_fit(b));
    return status;
}

/* With several tasks some may run alone: the tasks that each part of a launch serves are
   kept. */
static mts_status make_masks(mts_builder *b)
{
    if (b->dry_run || b->engine->tasks.count < 2) {
        return MTS_STATUS_OK;
    }
    b->encoding.masks = &b->masks;
    return mts_task_masks_create(&b->masks, &b->program, b->engine->tasks.count, b->plan, &b->scratch,
                                 b->error);
}

static mts_status keep_masks(const mts_builder *b)
{
    mts_task_filter_input *to = &b->engine->filters.filter.of;
    const size_t words = b->masks.count * b->masks.words;
    uint32_t *masks = mts_arena_zero(&b->engine->arena, words, sizeof *masks);
    if (!masks) {
        return mts_builder_memory(b);
    }
    if (words > 0) {
        memcpy(masks, b->masks.bits, words * sizeof *masks);
    }
    to->masks = masks;
    to->mask_count = (uint32_t)b->masks.count;
    to->mask_words = b->engine->tasks.mask_words;
    return MTS_STATUS_OK;
}

static mts_status encode(mts_builder *b)
{
    b->encoding = (mts_encoding){
        .plan = b->plan,
        .stitched = b->stitched,
        .device = &b->info,
        .precision = b->engine->stats.precision,
        .images = MTS_HAS_PACKED && b->info.image_texels > 0 && !b->engine->device->no_images &&
                  uses(b->engine->options.weight_images, mts_device_defaults_find(&b->info)->images),
        .configs = b->decision.configs,
        .parts = b->parts,
        .part_count = b->part_count,
        .arena = &b->scratch,
        .strings = &b->engine->arena,
        .error = b->error};
    mts_param_buffer_init(&b->encoding.params, b->engine->allocator);
    mts_weights_init(&b->encoding.pool, b->encoding.precision, b->engine->allocator);
    /* a launch's offsets have 32 bits, and an entry ends at a multiple of some floats */
    const uint64_t most = buffer_elements(b), reach = INT32_MAX - 64;
    b->encoding.pool.section_most = (size_t)(most < reach ? most : reach);
#ifndef MTS_SMALL
    /* a section and the room behind it are one buffer, with the same limits */
    const uint64_t reserve = b->engine->options.weights_reserve / mts_precision_size(b->encoding.precision);
    const size_t half = b->encoding.pool.section_most / 2;
    b->reserve = reserve < half ? (size_t)reserve : half;
    b->encoding.pool.section_most -= b->reserve;
#endif
    b->encoding.pool.spare = mts_launch_vector(b->encoding.device) == 1 ? 3 : 0; /* of four rows */
    if (b->like) {
        b->encoding.cases = b->like->cases;
    }
    mts_status status = make_masks(b);
#ifndef MTS_SMALL
    if (b->kept_count > 0 && !mts_weights_keep(&b->encoding.pool, b->kept, b->kept_count)) {
        status = mts_builder_memory(b);
    }
#endif
    MTS_TRY(status, mts_encode_plan(&b->encoding));
    MTS_TRY(status, keep_masks(b));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_engine *e = b->engine;
    e->cases = b->encoding.cases;
    e->launches.count = (uint32_t)b->encoding.launch_count;
    e->launches.encoded = mts_arena_zero(&e->arena, e->launches.count, sizeof *e->launches.encoded);
    if (!e->launches.encoded) {
        return mts_builder_memory(b);
    }
    if (e->launches.count > 0) {
        memcpy(e->launches.encoded, b->encoding.launches, e->launches.count * sizeof *e->launches.encoded);
    }
    return MTS_STATUS_OK;
}

/* Whether the plan keeps to the memory budget; the sentence of a refusal is not kept. */
static bool keeps_budget(mts_builder *b)
{
    mts_error *error = b->error;
    b->error = NULL;
    const mts_status status = mts_build_footprint(b);
    b->error = error;
    return status == MTS_STATUS_OK;
}

/* The tables of persistent launches and the slots of links give way to the memory budget, whose
   smallest is that of launch by launch, with copies. */
static mts_status count_bytes(mts_builder *b)
{
    if (MTS_HAS_PERSISTENT && b->engine->persistent.plan.run_count > 0) {
        if (keeps_budget(b)) {
            return MTS_STATUS_OK;
        }
        mts_persistent_drop(b, "the memory budget has no room for its tables");
    }
#ifndef MTS_SMALL
    if (b->engine->links.moves) {
        if (keeps_budget(b)) {
            return MTS_STATUS_OK;
        }
        mts_links_drop(b);
    }
#endif
    return mts_build_footprint(b);
}

static mts_status encode_and_count(mts_builder *b)
{
    mts_status status = encode(b);
    MTS_TRY(status, mts_persistent_plan(b));
#ifndef MTS_SMALL
    MTS_TRY(status, mts_links_plan(b));
#endif
    MTS_TRY(status, count_bytes(b));
    return status;
}

/* Without lanes and waves where the memory budget does not allow them. */
static mts_status encode_within_budget(mts_builder *b)
{
    mts_error *error = b->error;
    if (!b->overlapped || !mts_memory_budget_is_limited(b->engine->options.memory_budget)) {
        return encode_and_count(b);
    }
    b->error = NULL;
    mts_status status = encode_and_count(b);
    b->error = b->encoding.error = error;
    if (status == MTS_STATUS_OK) {
        return status;
    }
    b->overlapped = false;
    mts_encoding_release(&b->encoding);
    mts_task_masks_release(&b->masks);
    status = plan(b);
    MTS_TRY(status, encode_and_count(b));
    return status;
}

static mts_status make(mts_builder *b, const mts_engine_options *options)
{
    mts_status status = mts_builder_report(b, 0.0f, "stitching");
    MTS_TRY(status, select_tasks(b, options->tasks, options->task_count));
    MTS_TRY(status, choose_groups(b));
    MTS_TRY(status, make_program(b));
    MTS_TRY(status, mts_build_slots(b));
    MTS_TRY(status, stitch_and_plan(b));
    MTS_TRY(status, mts_builder_report(b, 0.05f, "planning launches"));
    MTS_TRY(status, b->only_least ? MTS_STATUS_OK : encode_within_budget(b));
    return status;
}

mts_status mts_builder_draft(mts_builder *b, mts_device *device, const mts_archive *archive,
                             const mts_engine_options *options)
{
    const mts_allocator *allocator = device->allocator;
    mts_engine *engine = mts_alloc_zero(allocator, 1, sizeof *engine);
    mts_arena_init(&b->scratch, allocator);
    if (!engine) {
        return mts_fail_memory(b->error);
    }
    engine->device = device;
    engine->archive = archive;
    engine->allocator = allocator;
    engine->options = *options;
    engine->options.tasks = NULL;
    engine->submissions.slots = options->slots > 0 ? options->slots : 1;
    engine->submissions.depth = options->depth > 0 ? options->depth : 1;
    engine->submissions.spare = options->drop_oldest ? 1 : 0;
    engine->stats.precision = mts_precision_used(&device->info, options->precision);
    engine->launches.device = engine->inputs.slots.device = device;
    mts_arena_init(&engine->arena, allocator);
    b->engine = engine;
    b->info = device->info;
    b->info.gemm = b->info.gemm && engine->stats.precision == MTS_PRECISION_FLOAT32;
    return make(b, options);
}

void mts_builder_release(mts_builder *b)
{
#ifndef MTS_SMALL
    if (b->staging.count > 0) {
        (void)mts_device_wait(b->like->device, NULL); /* also where making the engine failed */
    }
    for (size_t i = 0; i < b->staging.count; i++) {
        mts_alloc_free(b->scratch.allocator, b->staging.items[i]);
    }
    mts_alloc_free(b->scratch.allocator, b->staging.items);
    mts_weights_index_release(&b->grown);
#endif
    if (b->encoding.arena) {
        mts_encoding_release(&b->encoding);
    }
    mts_task_masks_release(&b->masks);
    mts_arena_release(&b->scratch);
    mts_engine_destroy(&b->engine);
}
