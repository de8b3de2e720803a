/*
 * engine.c: making and destroying an engine: stitch, plan, encode, build kernels, record the list. Not
 * responsible for its memory on the device (upload.c) nor for running it (submission.c).
 */
#include <string.h>

#include "engine/builder.h"
#include "plan/slices.h"

mts_status mts_maker_memory(const maker *m)
{
    return mts_fail(m->error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory to make a session of %u tasks",
                    m->engine->task_count);
}

static mts_status report(const maker *m, float fraction, const char *what)
{
    const mts_engine_options *o = &m->engine->options;
    if (o->progress && o->progress(o->context, fraction, what) != 0) {
        return mts_fail(m->error, MTS_STATUS_CANCELLED, "cancelled while making the session (%s)", what);
    }
    return MTS_STATUS_OK;
}

engine_task *mts_engine_find(const mts_engine *engine, uint32_t task)
{
    for (uint32_t i = 0; i < engine->task_count; i++) {
        if (engine->tasks[i].task == task) {
            return &engine->tasks[i];
        }
    }
    return NULL;
}

static mts_status select_tasks(maker *m, const uint32_t *tasks, uint32_t count)
{
    mts_engine *e = m->engine;
    e->task_count = tasks ? count : e->archive->task_count;
    if (e->task_count == 0) {
        return mts_fail(m->error, MTS_STATUS_INVALID_ARGUMENT, "a session needs at least one task");
    }
    e->tasks = mts_arena_zero(&e->arena, e->task_count, sizeof *e->tasks);
    e->subsets.words = (e->task_count + 31) / 32;
    m->graphs = mts_arena_zero(&m->scratch, e->task_count, sizeof *m->graphs);
    m->group_of = mts_arena_zero(&m->scratch, e->task_count, sizeof *m->group_of);
    m->slot_of = mts_arena_zero(&m->scratch, e->task_count, sizeof *m->slot_of);
    if (!e->tasks || !m->graphs || !m->group_of || !m->slot_of) {
        return mts_maker_memory(m);
    }
    for (uint32_t i = 0; i < e->task_count; i++) {
        const uint32_t task = tasks ? tasks[i] : i;
        if (task >= e->archive->task_count) {
            return mts_fail(m->error, MTS_STATUS_NOT_FOUND, "the bundle has no task %u", task);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (e->tasks[k].task == task) {
                return mts_fail(m->error, MTS_STATUS_INVALID_ARGUMENT, "task %s is named twice",
                                e->archive->tasks[task].name);
            }
        }
        e->tasks[i].task = task;
        m->graphs[i] = e->archive->tasks[task].graph;
    }
    return MTS_STATUS_OK;
}

static void use_groups(maker *m, const uint32_t *groups)
{
    m->engine->group_count = 0;
    for (uint32_t i = 0; i < m->engine->task_count; i++) {
        m->group_of[i] = groups ? groups[i] : i;
        m->engine->group_count =
            m->group_of[i] >= m->engine->group_count ? m->group_of[i] + 1 : m->engine->group_count;
    }
}

static mts_status choose_groups(maker *m)
{
    mts_engine *e = m->engine;
    mts_status code = MTS_STATUS_OK;
    if (m->decision.group_of || e->options.strategy == MTS_STRATEGY_SEQUENTIAL) {
        use_groups(m, m->decision.group_of);
    } else {
        code = mts_graph_families(m->graphs, e->task_count, e->allocator, m->group_of, &e->group_count,
                                  m->error);
    }
    return code;
}

/* The graphs that run; the strategy may split groups. */
static mts_status make_program(maker *m)
{
    mts_engine *e = m->engine;
    const mts_status code = mts_program_make(m->graphs, e->task_count, m->group_of, e->options.strategy,
                                             &m->scratch, &m->program, m->error);
    if (code != MTS_STATUS_OK) {
        return code;
    }
    for (uint32_t i = 0; i < e->task_count; i++) {
        e->tasks[i].group = m->program.task_group[i];
    }
    e->group_count = m->program.group_count;
    e->note = mts_arena_string(&e->arena, m->program.note);
    return e->note ? MTS_STATUS_OK : mts_maker_memory(m);
}

/* Slices are planned in bytes of float32. */
static uint64_t slice_bytes(const maker *m)
{
    const uint64_t bytes = m->decision.slice_bytes;
    const uint64_t times = sizeof(float) / mts_precision_size(m->engine->stats.precision);
    return bytes > UINT64_MAX / times ? UINT64_MAX : bytes * times;
}

static mts_status stitch_and_plan(maker *m)
{
    const mts_program *program = &m->program;
    const uint32_t **slots = mts_arena_zero(&m->scratch, program->graph_count, sizeof *slots);
    if (!slots) {
        return mts_maker_memory(m);
    }
    for (uint32_t g = 0; g < program->graph_count; g++) {
        slots[g] = m->slot_of[program->lead[g]]; /* slots of copied inputs belong to one task */
    }
    const mts_stitch_request request = {.graphs = program->graphs,
                                        .graph_count = program->graph_count,
                                        .group_of = program->group_of,
                                        .group_count = program->group_count,
                                        .slot_of = slots,
                                        .share = m->engine->options.strategy == MTS_STRATEGY_COMPACT};
    mts_status code = mts_stitch(&request, &m->scratch, &m->stitched, m->error);
    if (code == MTS_STATUS_OK &&
        request.share) { /* the other strategies are as published: a layer is a launch */
        code = mts_slices_cut(m->stitched, slice_bytes(m), &m->scratch, m->error);
    }
    MTS_TRY(code, mts_maker_parts(m));
    if (code == MTS_STATUS_OK) {
        const mts_plan_request wanted = {.stitched = m->stitched, .inputs = m->input_kinds};
        code = mts_plan_create(&wanted, &m->scratch, &m->plan, m->error);
    }
    return code;
}

/* With several tasks, what each part of a launch is for is kept: some of them may run alone. */
static mts_status make_sets(maker *m)
{
    if (m->weigh || m->engine->task_count < 2) {
        return MTS_STATUS_OK;
    }
    m->encoding.masks = &m->masks;
    return mts_task_masks_create(&m->masks, &m->program, m->engine->task_count, m->plan, &m->scratch,
                                 m->error);
}

static mts_status keep_sets(const maker *m)
{
    mts_subsets *to = &m->engine->subsets;
    const size_t words = m->masks.count * m->masks.words;
    to->set_bits = mts_arena_zero(&m->engine->arena, words, sizeof *to->set_bits);
    if (!to->set_bits) {
        return mts_maker_memory(m);
    }
    if (words > 0) {
        memcpy(to->set_bits, m->masks.bits, words * sizeof *to->set_bits);
    }
    to->set_count = (uint32_t)m->masks.count;
    return MTS_STATUS_OK;
}

static mts_status encode(maker *m)
{
    m->info = m->engine->device->info;
    m->info.gemm = m->info.gemm && m->engine->stats.precision == MTS_PRECISION_FLOAT32;
    m->encoding = (mts_encoding){.plan = m->plan,
                                 .stitched = m->stitched,
                                 .device = &m->info,
                                 .precision = m->engine->stats.precision,
                                 .choices = m->decision.configs,
                                 .parts = m->parts,
                                 .part_count = m->part_count,
                                 .arena = &m->scratch,
                                 .strings = &m->engine->arena,
                                 .error = m->error};
    mts_param_buffer_init(&m->encoding.params, m->engine->allocator);
    mts_weights_init(&m->encoding.pool, m->engine->allocator);
    if (m->like) {
        memcpy(m->encoding.cases, m->like->cases, sizeof m->like->cases);
        memcpy(m->encoding.winograd_rows, m->like->winograd_rows, sizeof m->like->winograd_rows);
        m->encoding.winograd_scratch = m->like->winograd_scratch;
    }
    mts_status code = make_sets(m);
    MTS_TRY(code, mts_encode_plan(&m->encoding));
    MTS_TRY(code, keep_sets(m));
    if (code != MTS_STATUS_OK) {
        return code;
    }
    mts_engine *e = m->engine;
    memcpy(e->cases, m->encoding.cases, sizeof e->cases);
    memcpy(e->winograd_rows, m->encoding.winograd_rows, sizeof e->winograd_rows);
    e->winograd_scratch = m->encoding.winograd_scratch;
    e->launch_count = (uint32_t)m->encoding.launch_count;
    e->launches = mts_arena_zero(&e->arena, e->launch_count, sizeof *e->launches);
    if (!e->launches) {
        return mts_maker_memory(m);
    }
    if (e->launch_count > 0) {
        memcpy(e->launches, m->encoding.launches, e->launch_count * sizeof *e->launches);
    }
    return MTS_STATUS_OK;
}

static mts_status find_kernel(maker *m, const mts_encoded_launch *launch, mts_kernel **out)
{
    mts_engine *e = m->engine;
    for (uint32_t i = 0; i < e->kernel_count; i++) {
        if (strcmp(e->kernels[i].name, launch->kernel) == 0 &&
            strcmp(e->kernels[i].defines, launch->defines) == 0) {
            *out = e->kernels[i].kernel;
            return MTS_STATUS_OK;
        }
    }
    const mts_kernel_desc desc = {.name = launch->kernel, .defines = launch->defines};
    engine_kernel *kernel = &e->kernels[e->kernel_count];
    const mts_status code = mts_kernel_create(e->device, &desc, &kernel->kernel, m->error);
    if (code != MTS_STATUS_OK) {
        return mts_fail_prefix(m->error, code, "layer %s", launch->label);
    }
    kernel->name = launch->kernel;
    kernel->defines = launch->defines;
    e->kernel_count++;
    *out = kernel->kernel;
    return MTS_STATUS_OK;
}

/* Kernels, and the launches that are going to be recorded. */
static mts_status prepare(maker *m)
{
    mts_engine *e = m->engine;
    e->recorded = mts_arena_zero(&e->arena, e->launch_count, sizeof *e->recorded);
    e->kernels = mts_arena_zero(&e->arena, e->launch_count, sizeof *e->kernels);
    if (!e->recorded || !e->kernels) {
        return mts_maker_memory(m);
    }
    for (uint32_t i = 0; i < e->launch_count; i++) {
        const mts_encoded_launch *from = &e->launches[i];
        mts_launch *to = &e->recorded[i];
        *to = (mts_launch){.act = e->act, .params = e->table, .first = from->first, .label = from->label};
        memcpy(to->global, from->global, sizeof to->global);
        memcpy(to->local, from->local, sizeof to->local);
        mts_status code = report(m, 0.1f + 0.9f * (float)i / (float)e->launch_count, from->label);
        to->gemm = from->gemm;
        if (code == MTS_STATUS_OK && from->gemm.m == 0) {
            code = find_kernel(m, from, &to->kernel);
        }
        if (code != MTS_STATUS_OK) {
            return code;
        }
        if (from->whole_group && to->kernel && to->kernel->work_group_size < to->local[0]) {
            return mts_fail(m->error, MTS_STATUS_DEVICE,
                            "layer %s: %s was built for groups of %u work-items, the device takes %u of it",
                            from->label, from->kernel, to->local[0], to->kernel->work_group_size);
        }
        if (to->kernel && !from->whole_group) {
            mts_launch_fit(to, from->by_group);
        }
    }
    e->stats.kernels = e->kernel_count;
    return MTS_STATUS_OK;
}

/* Zeros for the largest lent input, which is float32 in any precision; NULL in *out if none is lent. */
static mts_status make_stand_in(const maker *m, mts_buffer **out)
{
    const mts_engine *e = m->engine;
    size_t bytes = 0;
    for (uint32_t s = 0; s < e->slot_count; s++) {
        const size_t own = e->slots[s].count * sizeof(float);
        bytes = e->slots[s].lent && own > bytes ? own : bytes;
    }
    *out = NULL;
    if (bytes == 0) {
        return MTS_STATUS_OK;
    }
    const mts_status code = mts_buffer_create(e->device, bytes, out, m->error);
    return code != MTS_STATUS_OK ? code : mts_buffer_fill(*out, 0, bytes, 0, m->error);
}

/*
 * Records, and runs once on zeros: some drivers finish a kernel's build at its first launch (PoCL takes
 * seconds), and a frame must not wait for that. What stands for lent inputs goes.
 */
static mts_status run_once(const maker *m)
{
    mts_engine *e = m->engine;
    mts_buffer *stand_in = NULL;
    mts_status code = make_stand_in(m, &stand_in);
    MTS_TRY(code, mts_engine_record(e, stand_in, m->error));
    if (code == MTS_STATUS_OK && e->list) {
        code = mts_command_list_submit(e->list, m->error);
        MTS_TRY(code, mts_device_wait(e->device, m->error));
    }
    if (stand_in) {
        e->stale = true;
        mts_buffer_destroy(&stand_in);
    }
    return code;
}

static mts_status make(maker *m, const mts_engine_options *options)
{
    mts_status code = report(m, 0.0f, "stitching");
    MTS_TRY(code, select_tasks(m, options->tasks, options->task_count));
    MTS_TRY(code, choose_groups(m));
    MTS_TRY(code, make_program(m));
    MTS_TRY(code, mts_maker_slots(m));
    MTS_TRY(code, stitch_and_plan(m));
    MTS_TRY(code, report(m, 0.05f, "packing weights"));
    MTS_TRY(code, encode(m));
    MTS_TRY(code, mts_maker_weigh(m));
    if (m->weigh) {
        return code;
    }
    MTS_TRY(code, mts_maker_upload(m));
    MTS_TRY(code, mts_maker_ports(m));
    MTS_TRY(code, mts_flights_make(m->engine, m->error));
    m->in_kernels = code == MTS_STATUS_OK;
    MTS_TRY(code, prepare(m));
    MTS_TRY(code, run_once(m));
    MTS_TRY(code, report(m, 1.0f, "ready"));
    return code;
}

static mts_status create(mts_device *device, const mts_archive *archive, const mts_engine_options *options,
                         maker *m, mts_engine **out)
{
    *out = NULL;
    const mts_allocator *allocator = device->allocator;
    mts_engine *engine = mts_alloc_zero(allocator, 1, sizeof *engine);
    if (!engine) {
        return mts_fail_memory(m->error);
    }
    engine->device = device;
    engine->archive = archive;
    engine->allocator = allocator;
    engine->options = *options;
    engine->options.tasks = NULL;
    engine->places = options->places > 0 ? options->places : 1;

    engine->depth = options->depth > 0 ? options->depth : 1;
    engine->spare = options->drop_oldest ? 1 : 0;
    engine->stats.precision = mts_precision_used(&device->info, options->precision);
    mts_arena_init(&engine->arena, allocator);
    m->engine = engine;
    mts_arena_init(&m->scratch, allocator);
    const mts_status code = make(m, options);
    if (m->encoding.arena) {
        mts_encoding_release(&m->encoding);
    }
    mts_task_masks_release(&m->masks);
    mts_arena_release(&m->scratch);
    if (code != MTS_STATUS_OK) {
        mts_engine_destroy(&engine);
    }
    *out = engine;
    return code;
}

mts_status mts_engine_create(mts_device *device, const mts_archive *archive,
                             const mts_engine_options *options, const mts_decision *decision,
                             mts_engine_build *build, mts_engine **out, mts_error *error)
{
    maker m = {.decision = *decision, .like = build ? build->like : NULL, .error = error};
    const mts_status code = create(device, archive, options, &m, out);
    if (build) {
        build->kernels_failed = m.in_kernels && (code == MTS_STATUS_DEVICE || code == MTS_STATUS_NOT_FOUND);
    }
    return code;
}

mts_status mts_engine_footprint(mts_device *device, const mts_archive *archive,
                                const mts_engine_options *options, const mts_decision *decision,
                                mts_engine_stats *stats, mts_error *error)
{
    maker m = {.decision = *decision, .weigh = true, .error = error};
    mts_engine *engine = NULL;
    const mts_status code = create(device, archive, options, &m, &engine);
    if (code == MTS_STATUS_OK) {
        *stats = engine->stats;
    }
    mts_engine_destroy(&engine);
    return code;
}

void mts_engine_destroy(mts_engine **engine_at)
{
    if (!engine_at || !*engine_at) {
        return;
    }
    mts_engine *engine = *engine_at;
    *engine_at = NULL;
    if (engine->act) { /* also after a failed submission, or a frame without a run */
        (void)mts_device_wait(engine->device, NULL); /* a lost device fails here, which changes nothing */
    }
    mts_flights_release(engine);
    mts_frames_release(&engine->frames);
    mts_command_list_destroy(&engine->list);
    mts_subsets_release(engine);
    mts_engine_lent_release(engine);
    for (uint32_t i = 0; i < engine->kernel_count; i++) {
        mts_kernel_destroy(&engine->kernels[i].kernel);
    }
    mts_buffer_destroy(&engine->table);
    mts_buffer_destroy(&engine->pool);
    mts_buffer_destroy(&engine->act);
    mts_alloc_free(engine->allocator, engine->outputs);
    mts_alloc_free(engine->allocator, engine->conversion);
    mts_alloc_free(engine->allocator, engine->halves);
    mts_alloc_free(engine->allocator, engine->input_mirror);
    mts_arena_release(&engine->arena);
    mts_alloc_free(engine->allocator, engine);
}

void mts_engine_stats_get(const mts_engine *engine, mts_engine_stats *stats)
{
    *stats = engine->stats;
    stats->workspace_bytes += mts_frames_bytes(&engine->frames);
    stats->peak_bytes += mts_frames_bytes(&engine->frames);
}

void mts_engine_view_get(const mts_engine *engine, mts_engine_view *view)
{
    *view = (mts_engine_view){.device = engine->device,
                              .archive = engine->archive,
                              .options = &engine->options,
                              .task_count = engine->task_count,
                              .group_count = engine->group_count,
                              .launch_count = engine->launch_count,
                              .launches = engine->launches,
                              .note = engine->note};
}

uint32_t mts_engine_task_at(const mts_engine *engine, uint32_t position, uint32_t *group)
{
    *group = engine->tasks[position].group;
    return engine->tasks[position].task;
}

uint32_t mts_engine_group_of(const mts_engine *engine, uint32_t task)
{
    const engine_task *found = mts_engine_find(engine, task);
    return found ? found->group : MTS_NONE;
}
