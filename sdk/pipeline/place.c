/*
 * place.c: the engines of a placement, and what runs need of it: links, early outputs. Not
 * responsible for finding it (placement.c), nor for running (parts.c).
 */
#include "pipeline/pipeline.h"

#ifndef MTS_SMALL

#include "pipeline/state.h"

/* What a processor copies; a launch takes mts_device_info.launch_ns. */
#define COPIED_BYTES_A_NS 8u

/* ---- what runs need of a partition ---- */

static mts_status place_early(mts_pipeline *p, mts_error *error)
{
    const mts_partition *parts = &p->now->plan.partition;
    p->now->early = mts_arena_zero(&p->now->arena, p->task_count, sizeof *p->now->early);
    p->now->early_bytes = 0;
    for (uint32_t t = 0; p->now->early && t < p->task_count; t++) {
        const mts_graph *graph = p->archive->tasks[p->tasks[t]].graph;
        p->now->early[t] = mts_arena_zero(&p->now->arena, graph->output_count, sizeof **p->now->early);
        if (!p->now->early[t]) {
            return mts_fail_memory(error);
        }
        for (uint32_t o = 0; o < graph->output_count; o++) {
            mts_early_output *early = &p->now->early[t][o];
            early->is_early = parts->chain && parts->outputs[t][o].part + 1 < parts->part_count;
            early->at = p->now->early_bytes;
            (void)mts_shape_bytes(&graph->outputs[o].shape, graph->outputs[o].dtype, &early->size);
            p->now->early_bytes += early->is_early ? (early->size + 15) / 16 * 16 : 0;
        }
    }
    return p->now->early ? MTS_STATUS_OK : mts_fail_memory(error);
}

/* Tasks that read one link share the input: it is given once. */
static mts_status list_feeds(mts_pipeline *p, uint32_t part, mts_error *error)
{
    const mts_part *what = &p->now->plan.partition.parts[part];
    const uint32_t links = p->now->plan.partition.link_count;
    bool *given = mts_arena_zero(&p->now->arena, links, sizeof *given);
    p->now->feeds[part] = mts_arena_zero(&p->now->arena, links, sizeof *p->now->feeds[part]);
    p->now->feed_counts[part] = 0;
    if (!given || !p->now->feeds[part]) {
        return mts_fail_memory(error);
    }
    for (uint32_t k = 0; k < what->archive->task_count; k++) {
        for (uint32_t i = 0; i < what->archive->tasks[k].graph->input_count; i++) {
            const uint32_t link = what->inputs[k][i].link;
            if (link != MTS_NONE && !given[link]) {
                given[link] = true;
                p->now->feeds[part][p->now->feed_counts[part]++] = (mts_pipeline_feed){k, i, link};
            }
        }
    }
    return MTS_STATUS_OK;
}

/* What a run has of its own: room for links and early outputs. */
static mts_status make_run_links(mts_pipeline *p, mts_pipeline_run *run, mts_error *error)
{
    const uint32_t links = p->now->plan.partition.link_count;
    const bool half = p->options.engine.precision != MTS_PRECISION_FLOAT32;
    run->links = mts_arena_zero(&p->now->arena, p->now->link_elements, sizeof *run->links);
    run->link_data = mts_arena_zero(&p->now->arena, links, sizeof *run->link_data);
    run->halves = mts_arena_zero(&p->now->arena, half ? p->now->link_elements : 0, sizeof *run->halves);
    run->early = mts_arena_zero(&p->now->arena, p->now->early_bytes, 1);
    if (!run->links || !run->link_data || !run->halves || !run->early) {
        return mts_fail_memory(error);
    }
    for (uint32_t l = 0; l < links; l++) {
        run->link_data[l] = run->links + p->now->link_at[l];
    }
    return MTS_STATUS_OK;
}

static mts_status make_links(mts_pipeline *p, mts_error *error)
{
    const mts_partition *parts = &p->now->plan.partition;
    p->now->link_at = mts_arena_zero(&p->now->arena, (size_t)parts->link_count + 1, sizeof *p->now->link_at);
    if (!p->now->link_at) {
        return mts_fail_memory(error);
    }
    p->now->link_elements = 0;
    for (uint32_t l = 0; l < parts->link_count; l++) {
        p->now->link_at[l] = p->now->link_elements;
        p->now->link_elements += (parts->link_elements[l] + 15) / 16 * 16;
    }
    mts_status status = place_early(p, error);
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < parts->part_count; i++) {
        status = list_feeds(p, i, error);
    }
    p->now->kept = status == MTS_STATUS_OK ? mts_arena_zero(&p->now->arena, p->now->early_bytes, 1) : NULL;
    if (status == MTS_STATUS_OK && !p->now->kept) {
        status = mts_fail_memory(error);
    }
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < p->slots + p->spare; i++) {
        status = make_run_links(p, &p->items[i], error);
    }
    return status;
}

/* ---- memory that devices share ---- */

/* Whether a part reads its links where they lie, rather than copying them from there: each takes a
   launch more, in which so many bytes could be copied. */
static bool reads_in_place(const mts_pipeline *p, uint32_t part)
{
    const mts_placed *now = p->now;
    const uint32_t device = now->plan.partition.parts[part].device;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < now->feed_counts[part]; i++) {
        bytes += now->plan.partition.link_elements[now->feeds[part][i].link] * sizeof(float);
    }
    return mts_placement_reads(&p->options, device) &&
           bytes >= (uint64_t)now->feed_counts[part] * p->devices[device]->info.launch_ns * COPIED_BYTES_A_NS;
}

/* ---- engines ---- */

/* links: values that cross are read in place where they can be. */
static mts_engine_options part_options(const mts_pipeline *p, uint32_t part, bool links, uint32_t *priorities)
{
    const mts_part *what = &p->now->plan.partition.parts[part];
    const bool root = mts_pipeline_is_root(p, part);
    const bool last = !mts_pipeline_is_chain(p) || part + 1 == p->now->plan.partition.part_count;
    mts_engine_options options = p->options.engine;
    for (uint32_t t = 0; t < what->archive->task_count; t++) {
        priorities[t] = options.priorities ? options.priorities[what->tasks[t]] : 0;
    }
    options.priorities = options.priorities ? priorities : NULL;
    options.tasks = NULL;
    options.task_count = 0;
    options.separate_inputs = root && options.separate_inputs;
    options.zero_copy_inputs = root ? options.zero_copy_inputs : links && reads_in_place(p, part);
    /* The caller's memory is bound to the engine, not to its slots. */
    options.links_out = links && !last && !(root && options.zero_copy_inputs) && !options.persistent &&
                        options.precision == MTS_PRECISION_FLOAT32;
    options.link_slots = options.links_out || (!root && options.zero_copy_inputs) ? p->slots + p->spare : 0;
    options.drop_oldest = false;
    const uint32_t own = p->part_slots < p->slots ? p->part_slots : p->slots;
    options.slots = root ? p->slots + p->spare : last ? p->slots : own;
    /* After a loss inputs of the run to come are set while all runs are in flight again. */
    options.slots += root && p->copies ? 1 : 0;
    options.depth = own;
    return options;
}

static mts_status create_part(mts_pipeline *p, uint32_t part, bool links, uint32_t *priorities,
                              mts_error *error)
{
    const mts_part *what = &p->now->plan.partition.parts[part];
    const mts_engine_options options = part_options(p, part, links, priorities);
    p->devices[what->device]->full = false;
    return mts_planned_engine_create(p->devices[what->device], what->archive, &options, &p->options.how,
                                     &p->now->engines[part], &p->now->reports[part], error);
}

/* Where the memory budget has no room to read values in place they are copied. */
static mts_status build_part(mts_pipeline *p, uint32_t part, uint32_t *priorities, mts_error *error)
{
    const mts_part *what = &p->now->plan.partition.parts[part];
    mts_status status = create_part(p, part, true, priorities, error);
    if (status == MTS_STATUS_LIMIT && part_options(p, part, true, priorities).link_slots > 0) {
        status = create_part(p, part, false, priorities, error);
    }
    if (status != MTS_STATUS_OK) {
        return mts_fail_prefix(error, status, "part %u of %u, on device '%s'", part + 1,
                               p->now->plan.partition.part_count, p->ids[what->device]);
    }
    p->now->numbers[part] = 0;
    mts_engine_hold(p->now->engines[part], true);
    if (mts_pipeline_is_root(p, part)) {
        mts_engine_deadline(p->now->engines[part], p->deadline_ms);
    }
    return MTS_STATUS_OK;
}

/* Of the parts that are not built, bits of `built`, the one whose device is expected to be fullest:
   where that is refused nothing else was built for it. */
static uint32_t fullest_part(const mts_pipeline *p, uint32_t built)
{
    const mts_placement_plan *plan = &p->now->plan;
    uint32_t fullest = MTS_NONE;
    double most = -1.0;
    for (uint32_t i = 0; i < plan->partition.part_count; i++) {
        const uint64_t memory = plan->costs[plan->partition.parts[i].device].memory;
        const uint64_t own = plan->partition.chain && plan->chain.stage_count == plan->partition.part_count
                                 ? plan->chain.stages[i].memory
                                 : 0;
        const double part = memory > 0 ? (double)own / (double)memory : 0.0;
        if ((built >> i & 1u) == 0 && part > most) {
            fullest = i;
            most = part;
        }
    }
    return fullest;
}

/* *failed: the part whose engine was refused, or MTS_NONE. */
static mts_status build(mts_pipeline *p, uint32_t *failed, mts_error *error)
{
    uint32_t *priorities = mts_alloc_zero(p->allocator, p->task_count, sizeof *priorities);
    mts_status status = priorities ? MTS_STATUS_OK : mts_fail_memory(error);
    MTS_TRY(status, make_links(p, error));
    *failed = MTS_NONE;
    uint32_t built = 0;
    for (uint32_t n = 0; status == MTS_STATUS_OK && n < p->now->plan.partition.part_count; n++) {
        const uint32_t i = fullest_part(p, built);
        built |= 1u << i;
        status = build_part(p, i, priorities, error);
        *failed = status != MTS_STATUS_OK ? i : MTS_NONE;
    }
    mts_alloc_free(p->allocator, priorities);
    return status;
}

/* Everything of a placement but how it was found. */
static void empty_engines(mts_placed *placed, const mts_allocator *allocator)
{
    for (uint32_t i = MTS_PARTITION_DEVICES; i-- > 0;) { /* those that read come before what they read */
        mts_engine_destroy(&placed->engines[i]);
        mts_planning_report_release(&placed->reports[i]);
    }
    mts_arena_release(&placed->arena);
    mts_arena_init(&placed->arena, allocator);
}

void mts_placed_empty(mts_placed *placed, const mts_allocator *allocator)
{
    empty_engines(placed, allocator);
    mts_placement_release(&placed->plan);
    mts_arena_release(&placed->arena);
    *placed = (mts_placed){0};
    mts_arena_init(&placed->arena, allocator);
}

/* Memory was predicted, and a device has less than what its part takes. */
static bool is_too_large(const mts_pipeline *p, mts_status status, uint32_t part)
{
    return part != MTS_NONE &&
           (status == MTS_STATUS_LIMIT || (status == MTS_STATUS_OUT_OF_MEMORY &&
                                           p->devices[p->now->plan.partition.parts[part].device]->full));
}

mts_status mts_pipeline_place(mts_pipeline *p, mts_error *error)
{
    uint32_t failed = MTS_NONE;
    mts_status status =
        mts_placement_find(&p->now->plan, p->archive, p->tasks, p->task_count, &p->options, error);
    MTS_TRY(status, build(p, &failed, error));
    while (is_too_large(p, status, failed)) {
        mts_error none = {0};
        empty_engines(p->now, p->allocator);
        if (mts_placement_again(&p->now->plan, failed, &p->options, &none) != MTS_STATUS_OK) {
            break; /* what was said of the last one holds */
        }
        status = build(p, &failed, error);
    }
    if (status == MTS_STATUS_OK && error) {
        *error = (mts_error){0}; /* of what was tried and did not fit */
    }
    if (status != MTS_STATUS_OK) {
        mts_placed_empty(p->now, p->allocator);
    }
    return status;
}

#endif
