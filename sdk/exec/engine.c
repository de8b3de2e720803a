/*
 * engine.c: making and destroying an engine: stitch, plan, encode, build kernels, upload, record the list.
 */
#include <string.h>

#include "exec/engine_internal.h"

/* What exists only while an engine is made. */
typedef struct maker {
    mts_engine *engine;
    mts_arena scratch;
    const mts_graph **graphs;
    const uint32_t *given_groups; /* per task, or NULL */
    uint32_t *group_of;
    uint32_t **slot_of;
    mts_stitched *stitched;
    mts_plan *plan;
    mts_encoding encoding;
    mts_error *error;
} maker;

static mts_code short_of_memory(const maker *m)
{
    return mts_fail(m->error, MTS_CODE_OUT_OF_MEMORY, "not enough memory to make a session of %u tasks",
                    m->engine->task_count);
}

static mts_code report(const maker *m, float fraction, const char *what)
{
    const mts_engine_options *o = &m->engine->options;
    if (o->progress != NULL && o->progress(o->context, fraction, what) != 0) {
        return mts_fail(m->error, MTS_CODE_CANCELLED, "cancelled while making the session (%s)", what);
    }
    return MTS_CODE_OK;
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

static mts_code select_tasks(maker *m, const uint32_t *tasks, uint32_t count)
{
    mts_engine *e = m->engine;
    e->task_count = tasks != NULL ? count : e->archive->task_count;
    if (e->task_count == 0) {
        return mts_fail(m->error, MTS_CODE_INVALID_ARGUMENT, "a session needs at least one task");
    }
    e->tasks = mts_arena_zero(&e->arena, e->task_count, sizeof *e->tasks);
    m->graphs = mts_arena_zero(&m->scratch, e->task_count, sizeof *m->graphs);
    m->group_of = mts_arena_zero(&m->scratch, e->task_count, sizeof *m->group_of);
    m->slot_of = mts_arena_zero(&m->scratch, e->task_count, sizeof *m->slot_of);
    if (e->tasks == NULL || m->graphs == NULL || m->group_of == NULL || m->slot_of == NULL) {
        return short_of_memory(m);
    }
    for (uint32_t i = 0; i < e->task_count; i++) {
        const uint32_t task = tasks != NULL ? tasks[i] : i;
        if (task >= e->archive->task_count) {
            return mts_fail(m->error, MTS_CODE_NOT_FOUND, "the bundle has no task %u", task);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (e->tasks[k].task == task) {
                return mts_fail(m->error, MTS_CODE_INVALID_ARGUMENT, "task %s is named twice",
                                e->archive->tasks[task].name);
            }
        }
        e->tasks[i].task = task;
        m->graphs[i] = e->archive->tasks[task].graph;
    }
    return MTS_CODE_OK;
}

static void use_groups(maker *m, const uint32_t *groups)
{
    m->engine->group_count = 0;
    for (uint32_t i = 0; i < m->engine->task_count; i++) {
        m->group_of[i] = groups != NULL ? groups[i] : i;
        m->engine->group_count =
            m->group_of[i] >= m->engine->group_count ? m->group_of[i] + 1 : m->engine->group_count;
    }
}

static mts_code choose_groups(maker *m)
{
    mts_engine *e = m->engine;
    mts_code code = MTS_CODE_OK;
    if (m->given_groups != NULL || e->options.strategy == MTS_STRATEGY_KIND_SEQUENTIAL) {
        use_groups(m, m->given_groups);
    } else if (e->options.grouping == MTS_GROUPING_KIND_MEASURED) {
        code = mts_engine_group(e, m->graphs, m->group_of, &e->group_count, m->error);
    } else {
        code = mts_graph_families(m->graphs, e->task_count, e->allocator, m->group_of, &e->group_count,
                                  m->error);
    }
    for (uint32_t i = 0; code == MTS_CODE_OK && i < e->task_count; i++) {
        e->tasks[i].group = m->group_of[i];
    }
    return code;
}

static bool takes_pictures(const mts_preprocess *p, const mts_graph *graph, uint32_t input)
{
    const mts_shape *shape = &graph->inputs[input].shape;
    if (input != 0 || p->color == MTS_COLOR_NONE || shape->rank != 4 || shape->dims[0] != 1) {
        return false;
    }
    const int64_t channels = shape->dims[p->interleaved != 0 ? 3 : 1];
    return p->color == MTS_COLOR_GREY ? channels == 1 : channels == 3;
}

static bool same_preprocess(const mts_preprocess *a, const mts_preprocess *b)
{
    if (a->color != b->color || a->interleaved != b->interleaved) {
        return false;
    }
    for (int c = 0; c < 4; c++) {
        if (a->mean[c] < b->mean[c] || a->mean[c] > b->mean[c] || a->std[c] < b->std[c] ||
            a->std[c] > b->std[c]) {
            return false;
        }
    }
    return true;
}

/* Whether input `input` of tasks i and k is the same data when inputs are common. */
static bool common_input(const maker *m, uint32_t i, uint32_t k, uint32_t input)
{
    const mts_archive *archive = m->engine->archive;
    const mts_preprocess *a = &archive->tasks[m->engine->tasks[i].task].preprocess;
    const mts_preprocess *b = &archive->tasks[m->engine->tasks[k].task].preprocess;
    if (input >= m->graphs[k]->input_count) {
        return false;
    }
    const mts_port *x = &m->graphs[i]->inputs[input];
    const mts_port *y = &m->graphs[k]->inputs[input];
    if (x->dtype != y->dtype || !mts_shape_equal(&x->shape, &y->shape) || !same_preprocess(a, b)) {
        return false;
    }
    return takes_pictures(a, m->graphs[i], input) || strcmp(x->name, y->name) == 0;
}

static uint32_t find_slot(const maker *m, uint32_t task, uint32_t input)
{
    for (uint32_t k = 0; k < task && !m->engine->options.separate_inputs; k++) {
        if (common_input(m, task, k, input)) {
            return m->slot_of[k][input];
        }
    }
    return m->engine->slot_count++;
}

static mts_code assign_slots(maker *m)
{
    mts_engine *e = m->engine;
    size_t inputs = 0;
    for (uint32_t i = 0; i < e->task_count; i++) {
        const mts_graph *graph = m->graphs[i];
        inputs += graph->input_count;
        m->slot_of[i] = mts_arena_zero(&m->scratch, graph->input_count, sizeof **m->slot_of);
        if (m->slot_of[i] == NULL) {
            return short_of_memory(m);
        }
        for (uint32_t p = 0; p < graph->input_count; p++) {
            m->slot_of[i][p] = find_slot(m, i, p);
        }
    }
    e->slots = mts_arena_zero(&e->arena, inputs, sizeof *e->slots);
    return e->slots != NULL ? MTS_CODE_OK : short_of_memory(m);
}

static mts_code stitch_and_plan(maker *m)
{
    const mts_stitch_request request = {.graphs = m->graphs,
                                        .graph_count = m->engine->task_count,
                                        .group_of = m->group_of,
                                        .group_count = m->engine->group_count,
                                        .slot_of = (const uint32_t *const *)m->slot_of,
                                        .share = m->engine->options.strategy != MTS_STRATEGY_KIND_SEQUENTIAL};
    mts_code code = mts_stitch(&request, &m->scratch, &m->stitched, m->error);
    if (code == MTS_CODE_OK) {
        code = mts_plan_create(m->stitched, &m->scratch, &m->plan, m->error);
    }
    return code;
}

static mts_code encode(maker *m)
{
    m->encoding = (mts_encoding){.plan = m->plan,
                                 .stitched = m->stitched,
                                 .device = &m->engine->device->info,
                                 .arena = &m->scratch,
                                 .strings = &m->engine->arena,
                                 .error = m->error};
    mts_table_init(&m->encoding.table, m->engine->allocator);
    mts_weights_init(&m->encoding.pool, m->engine->allocator);
    mts_code code = mts_encode_plan(&m->encoding);
    if (code != MTS_CODE_OK) {
        return code;
    }
    mts_engine *e = m->engine;
    e->launch_count = (uint32_t)m->encoding.launch_count;
    e->launches = mts_arena_zero(&e->arena, e->launch_count, sizeof *e->launches);
    if (e->launches == NULL) {
        return short_of_memory(m);
    }
    if (e->launch_count > 0) {
        memcpy(e->launches, m->encoding.launches, e->launch_count * sizeof *e->launches);
    }
    return MTS_CODE_OK;
}

static mts_code upload(maker *m, const void *data, size_t bytes, const char *what, mts_buffer **out)
{
    mts_device *device = m->engine->device;
    const size_t size = bytes > 0 ? bytes : sizeof(float);
    if (device->info.buffer_bytes != 0 && size > device->info.buffer_bytes) {
        return mts_fail(m->error, MTS_CODE_LIMIT, "the %s need %zu bytes in one buffer; %s allows %llu", what,
                        size, device->info.name, (unsigned long long)device->info.buffer_bytes);
    }
    mts_code code = mts_buffer_create(device, size, out, m->error);
    if (code != MTS_CODE_OK) {
        return mts_fail_prefix(m->error, code, "%s (%zu bytes)", what, size);
    }
    if (data == NULL) {
        return mts_buffer_fill(*out, 0, size, 0, m->error);
    }
    return bytes > 0 ? mts_buffer_write(*out, 0, data, bytes, m->error) : MTS_CODE_OK;
}

static mts_code upload_all(maker *m)
{
    mts_engine *e = m->engine;
    const size_t act = (size_t)m->plan->arena_floats * sizeof(float);
    const size_t pool = m->encoding.pool.count * sizeof(float);
    const size_t table = m->encoding.table.count * sizeof(uint32_t);
    mts_code code = upload(m, NULL, act, "activations", &e->act);
    if (code == MTS_CODE_OK) {
        code = upload(m, m->encoding.pool.floats, pool, "weights", &e->pool);
    }
    if (code == MTS_CODE_OK) {
        code = upload(m, m->encoding.table.words, table, "launch tables", &e->table);
    }
    e->stats = (mts_engine_stats){.predicted_ms = e->stats.predicted_ms,
                                  .weight_bytes = pool,
                                  .activation_bytes = act,
                                  .workspace_bytes = table,
                                  .peak_bytes = (uint64_t)act + pool + table,
                                  .mul_adds = m->encoding.mul_adds,
                                  .launches = e->launch_count,
                                  .groups = e->group_count};
    return code;
}

static mts_code check_budget(const maker *m)
{
    const uint64_t budget = m->engine->options.memory_budget;
    const uint64_t peak = m->engine->stats.peak_bytes;
    return budget == 0 || peak <= budget
               ? MTS_CODE_OK
               : mts_fail(m->error, MTS_CODE_LIMIT, "the session needs %llu bytes, the memory budget is %llu",
                          (unsigned long long)peak, (unsigned long long)budget);
}

static mts_code find_kernel(maker *m, const mts_encoded_launch *launch, mts_kernel **out)
{
    mts_engine *e = m->engine;
    for (uint32_t i = 0; i < e->kernel_count; i++) {
        if (strcmp(e->kernels[i].name, launch->kernel) == 0 &&
            strcmp(e->kernels[i].defines, launch->defines) == 0) {
            *out = e->kernels[i].kernel;
            return MTS_CODE_OK;
        }
    }
    const mts_kernel_desc desc = {.name = launch->kernel, .defines = launch->defines};
    engine_kernel *kernel = &e->kernels[e->kernel_count];
    const mts_code code = mts_kernel_create(e->device, &desc, &kernel->kernel, m->error);
    if (code != MTS_CODE_OK) {
        return mts_fail_prefix(m->error, code, "layer %s", launch->label);
    }
    kernel->name = launch->kernel;
    kernel->defines = launch->defines;
    e->kernel_count++;
    *out = kernel->kernel;
    return MTS_CODE_OK;
}

/* Some devices build a kernel for fewer work-items than they advertise. */
void mts_engine_fit_group(mts_launch *launch, bool by_group)
{
    while (launch->local[0] > 1 && launch->local[0] > launch->kernel->work_group_size) {
        launch->local[0] /= 2;
        launch->global[0] = by_group ? launch->global[0] / 2 : launch->global[0];
    }
}

static mts_code record(maker *m)
{
    mts_engine *e = m->engine;
    mts_launch *launches = mts_arena_zero(&m->scratch, e->launch_count, sizeof *launches);
    e->kernels = mts_arena_zero(&e->arena, e->launch_count, sizeof *e->kernels);
    if (launches == NULL || e->kernels == NULL) {
        return short_of_memory(m);
    }
    for (uint32_t i = 0; i < e->launch_count; i++) {
        const mts_encoded_launch *from = &e->launches[i];
        mts_launch *to = &launches[i];
        *to = (mts_launch){
            .act = e->act, .pool = e->pool, .table = e->table, .first = from->first, .label = from->label};
        memcpy(to->global, from->global, sizeof to->global);
        memcpy(to->local, from->local, sizeof to->local);
        mts_code code = report(m, 0.1f + 0.9f * (float)i / (float)e->launch_count, from->label);
        if (code == MTS_CODE_OK) {
            code = find_kernel(m, from, &to->kernel);
        }
        if (code != MTS_CODE_OK) {
            return code;
        }
        mts_engine_fit_group(to, from->by_group);
    }
    e->stats.kernels = e->kernel_count;
    if (e->launch_count == 0) {
        return MTS_CODE_OK; /* every output is a constant or an input */
    }
    return mts_list_create(e->device, launches, e->launch_count, &e->list, m->error);
}

static mts_code make_inputs(maker *m, uint32_t index)
{
    mts_engine *e = m->engine;
    engine_task *task = &e->tasks[index];
    const mts_graph *graph = m->graphs[index];
    task->input_count = graph->input_count;
    task->inputs = mts_arena_zero(&e->arena, graph->input_count, sizeof *task->inputs);
    if (task->inputs == NULL) {
        return short_of_memory(m);
    }
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const uint32_t value = m->stitched->value_of[index][graph->inputs[i].value];
        const mts_storage *storage = &m->plan->storages[m->plan->value_storage[value]];
        const size_t count = mts_shape_count(&graph->inputs[i].shape);
        const mts_preprocess *p = &e->archive->tasks[task->task].preprocess;
        const uint32_t slot = m->slot_of[index][i];
        task->inputs[i] = (engine_port){
            .offset = storage->offset, .count = count, .dtype = graph->inputs[i].dtype, .slot = slot};
        e->slots[slot] = (engine_slot){.offset = storage->offset,
                                       .count = count,
                                       .dest = mts_encode_dest(&m->encoding, m->plan->value_storage[value]),
                                       .preprocess = takes_pictures(p, graph, i) ? p : NULL};
        e->staging_floats = count > e->staging_floats ? count : e->staging_floats;
    }
    return MTS_CODE_OK;
}

static mts_code make_output(maker *m, uint32_t index, uint32_t output)
{
    mts_engine *e = m->engine;
    const mts_graph *graph = m->graphs[index];
    const mts_port *port = &graph->outputs[output];
    engine_port *to = &e->tasks[index].outputs[output];
    *to = (engine_port){.count = mts_shape_count(&port->shape), .dtype = port->dtype};
    if (port->dtype != MTS_DTYPE_F32) {
        to->host = mts_arena_zero(&e->arena, to->count, mts_dtype_size(port->dtype));
        if (to->host == NULL) {
            return short_of_memory(m);
        }
    }
    const uint32_t storage = m->plan->output_storage[index][output];
    if (storage != MTS_NONE) {
        to->offset = m->plan->storages[storage].offset;
        if (m->plan->storages[storage].region == MTS_REGION_INPUT) {
            e->input_floats = (size_t)m->plan->input_floats;
        }
        return MTS_CODE_OK;
    }
    float *constant = mts_arena_zero(&e->arena, to->count, sizeof *constant);
    if (constant == NULL) {
        return short_of_memory(m);
    }
    mts_value_read_f32(&graph->values[port->value], constant);
    to->constant = constant;
    return MTS_CODE_OK;
}

static mts_code make_outputs(maker *m, uint32_t index)
{
    mts_engine *e = m->engine;
    engine_task *task = &e->tasks[index];
    task->output_count = m->graphs[index]->output_count;
    task->outputs = mts_arena_zero(&e->arena, task->output_count, sizeof *task->outputs);
    if (task->outputs == NULL) {
        return short_of_memory(m);
    }
    mts_code code = MTS_CODE_OK;
    for (uint32_t o = 0; code == MTS_CODE_OK && o < task->output_count; o++) {
        code = make_output(m, index, o);
    }
    return code;
}

static mts_code make_ports(maker *m)
{
    mts_engine *e = m->engine;
    mts_code code = MTS_CODE_OK;
    for (uint32_t i = 0; code == MTS_CODE_OK && i < e->task_count; i++) {
        code = make_inputs(m, i);
        if (code == MTS_CODE_OK) {
            code = make_outputs(m, i);
        }
    }
    e->output_offset = m->plan->input_floats;
    e->output_floats = (size_t)m->plan->output_floats;
    e->staging_floats = e->output_floats > e->staging_floats ? e->output_floats : e->staging_floats;
    e->staging = mts_alloc_zero(e->allocator, e->staging_floats, sizeof *e->staging);
    if (e->input_floats > 0) {
        e->input_mirror = mts_alloc_zero(e->allocator, e->input_floats, sizeof *e->input_mirror);
    }
    if (code == MTS_CODE_OK && (e->staging == NULL || (e->input_floats > 0 && e->input_mirror == NULL))) {
        code = short_of_memory(m);
    }
    return code;
}

static mts_code make(maker *m, const mts_engine_options *options)
{
    mts_code code = report(m, 0.0f, "stitching");
    code = code != MTS_CODE_OK ? code : select_tasks(m, options->tasks, options->task_count);
    code = code != MTS_CODE_OK ? code : choose_groups(m);
    code = code != MTS_CODE_OK ? code : assign_slots(m);
    code = code != MTS_CODE_OK ? code : stitch_and_plan(m);
    code = code != MTS_CODE_OK ? code : report(m, 0.05f, "packing weights");
    code = code != MTS_CODE_OK ? code : encode(m);
    code = code != MTS_CODE_OK ? code : upload_all(m);
    code = code != MTS_CODE_OK ? code : check_budget(m);
    code = code != MTS_CODE_OK ? code : record(m);
    code = code != MTS_CODE_OK ? code : make_ports(m);
    code = code != MTS_CODE_OK ? code : report(m, 1.0f, "ready");
    return code;
}

mts_code mts_engine_create(mts_device *device, const mts_archive *archive, const mts_engine_options *options,
                           mts_engine **out, mts_error *error)
{
    return mts_engine_create_grouped(device, archive, options, NULL, out, error);
}

mts_code mts_engine_create_grouped(mts_device *device, const mts_archive *archive,
                                   const mts_engine_options *options, const uint32_t *group_of,
                                   mts_engine **out, mts_error *error)
{
    *out = NULL;
    const mts_allocator *allocator = device->allocator;
    mts_engine *engine = mts_alloc_zero(allocator, 1, sizeof *engine);
    if (engine == NULL) {
        return mts_fail(error, MTS_CODE_OUT_OF_MEMORY, "not enough memory for a session");
    }
    engine->device = device;
    engine->archive = archive;
    engine->allocator = allocator;
    engine->options = *options;
    engine->options.tasks = NULL;
    mts_arena_init(&engine->arena, allocator);
    maker m = {.engine = engine, .given_groups = group_of, .error = error};
    mts_arena_init(&m.scratch, allocator);
    const mts_code code = make(&m, options);
    if (m.encoding.arena != NULL) {
        mts_encoding_release(&m.encoding);
    }
    mts_arena_release(&m.scratch);
    if (code != MTS_CODE_OK) {
        mts_engine_destroy(&engine);
    }
    *out = engine;
    return code;
}

void mts_engine_destroy(mts_engine **engine_at)
{
    if (engine_at == NULL || *engine_at == NULL) {
        return;
    }
    mts_engine *engine = *engine_at;
    *engine_at = NULL;
    if (engine->running) {
        mts_device_wait(engine->device, NULL); /* a lost device fails here, which changes nothing */
    }
    mts_engine_pictures_release(engine);
    mts_list_destroy(&engine->list);
    for (uint32_t i = 0; i < engine->kernel_count; i++) {
        mts_kernel_destroy(&engine->kernels[i].kernel);
    }
    mts_buffer_destroy(&engine->table);
    mts_buffer_destroy(&engine->pool);
    mts_buffer_destroy(&engine->act);
    mts_alloc_free(engine->allocator, engine->staging);
    mts_alloc_free(engine->allocator, engine->input_mirror);
    mts_arena_release(&engine->arena);
    mts_alloc_free(engine->allocator, engine);
}
