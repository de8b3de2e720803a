/*
 * persistent.c: see persistent.h. The smallest library has no persistent launches: its
 * sessions go launch by launch.
 */
#include "engine/persistent.h"

#include "engine/builder.h"

#ifdef MTS_SMALL

uint32_t mts_persistent_count(const mts_persistent *persistent)
{
    return persistent->whole.count;
}

uint64_t mts_persistent_bytes(const mts_persistent *persistent, uint64_t bytes)
{
    (void)persistent;
    return bytes;
}

mts_status mts_persistent_plan(mts_builder *b)
{
    if (b->engine->options.persistent) {
        mts_log_write(b->engine->device->log, MTS_LOG_WARNING,
                      "this library was built without persistent launches");
    }
    return MTS_STATUS_OK;
}

void mts_persistent_drop(const mts_builder *b, const char *why)
{
    (void)b;
    (void)why;
}

mts_status mts_persistent_upload(const mts_builder *b)
{
    (void)b;
    return MTS_STATUS_OK;
}

mts_status mts_persistent_build(const mts_builder *b)
{
    (void)b;
    return MTS_STATUS_OK;
}

mts_status mts_persistent_first(const mts_builder *b, mts_buffer *stand_in)
{
    (void)b;
    (void)stand_in;
    return MTS_STATUS_OK;
}

mts_status mts_persistent_ask(const mts_persistent *persistent, uint32_t *failed, mts_error *error)
{
    (void)persistent;
    (void)failed;
    (void)error;
    return MTS_STATUS_OK;
}

void mts_persistent_give_up(mts_persistent *persistent, const char *why, bool for_good)
{
    (void)persistent;
    (void)why;
    (void)for_good;
}

void mts_persistent_release(mts_persistent *persistent)
{
    (void)persistent;
}

#else

#define KERNEL "persist_any__f32_planar"

enum {
    /* Times that work-groups may fail to meet before fewer of them try: a processor wakes
       its threads late at times. */
    MEETINGS = 3
};

uint32_t mts_persistent_count(const mts_persistent *persistent)
{
    return persistent->on ? persistent->whole.count : 0;
}

uint64_t mts_persistent_bytes(const mts_persistent *persistent, uint64_t bytes)
{
    const mts_persist *plan = &persistent->plan;
    return plan->run_count > 0 ? ((uint64_t)plan->origin + plan->word_count) * sizeof(uint32_t) : bytes;
}

static void refuse(const mts_builder *b, const char *why)
{
    mts_log_write(b->engine->device->log, MTS_LOG_WARNING,
                  "'%s': no persistent launches, a frame goes launch by launch: %s",
                  b->engine->device->info.name, why);
}

/* Behind a failure that only concerns the persistent form, as a device's memory that is full is
   one. */
static mts_status go_without(const mts_builder *b, mts_status status, const mts_error *why)
{
    const bool host_full = status == MTS_STATUS_OUT_OF_MEMORY && !b->engine->device->full;
    if (status == MTS_STATUS_OK || status == MTS_STATUS_DEVICE_LOST || host_full) {
        return status == MTS_STATUS_OK ? status : mts_fail(b->error, status, "%s", why->text);
    }
    refuse(b, why->text);
    return MTS_STATUS_OK;
}

void mts_persistent_drop(const mts_builder *b, const char *why)
{
    b->engine->persistent.plan = (mts_persist){0};
    refuse(b, why);
}

/* The runs of the encoded launches; `activations` in bytes. */
static mts_status find_runs(mts_builder *b, uint64_t activations)
{
    mts_persist *plan = &b->engine->persistent.plan;
    mts_error why = {0};
    mts_error *error = b->encoding.error; /* NULL while another plan is left */
    b->encoding.error = &why;
    const mts_status status =
        mts_persist_make(&b->encoding, (activations + sizeof(uint32_t) - 1) / sizeof(uint32_t), plan);
    b->encoding.error = error;
    if (status == MTS_STATUS_LIMIT) {
        mts_persistent_drop(b, why.text);
        return MTS_STATUS_OK;
    }
    if (status != MTS_STATUS_OK) {
        return mts_fail(b->error, status, "%s", why.text);
    }
    const uint64_t most = b->engine->device->info.buffer_bytes;
    if (most > 0 && mts_persistent_bytes(&b->engine->persistent, activations) > most) {
        mts_persistent_drop(b, "its tables have no room in the buffer of the activations");
    } else if (plan->run_count == 0) {
        refuse(b, "no two launches that follow each other are of kernels that the program has");
    }
    return MTS_STATUS_OK;
}

mts_status mts_persistent_plan(mts_builder *b)
{
    mts_engine *e = b->engine;
    e->persistent.plan = (mts_persist){0};
    if (!e->options.persistent) {
        return MTS_STATUS_OK;
    }
    if (!e->device->info.persistent) {
        refuse(b, e->device->info.overlaps
                      ? "its threads walk a frame's launches in one parallel region already"
                      : "the device has none");
        return MTS_STATUS_OK;
    }
    return find_runs(b, mts_precision_bytes(e->stats.precision, b->plan->arena_floats));
}

mts_status mts_persistent_upload(const mts_builder *b)
{
    const mts_persist *plan = &b->engine->persistent.plan;
    return plan->run_count == 0
               ? MTS_STATUS_OK
               : mts_buffer_write(b->engine->launches.act, (size_t)plan->origin * sizeof(uint32_t),
                                  plan->words, (size_t)plan->word_count * sizeof(uint32_t), b->error);
}

/* ---- how many work-groups ---- */

static mts_launch launch_of(const mts_engine *e, uint32_t params, const char *label)
{
    const mts_persistent *p = &e->persistent;
    return (mts_launch){.kernel = p->kernel,
                        .act = e->launches.act,
                        .pool = e->launches.weights[0],
                        .params = e->launches.params,
                        .first = params,
                        .global = {p->groups * p->plan.items, 1, 1},
                        .local = {p->plan.items, 1, 1},
                        .label = label};
}

static mts_status read_failed(const mts_engine *e, uint32_t *failed, mts_error *error)
{
    return mts_buffer_read(e->launches.act, (size_t)e->persistent.plan.origin * sizeof *failed, failed,
                           sizeof *failed, error);
}

/* Whether all work-groups of a launch were on the device at the same time. */
static mts_status meet(const mts_engine *e, bool *met, mts_error *error)
{
    const size_t at = (size_t)e->persistent.plan.origin * sizeof(uint32_t);
    const mts_launch launch = launch_of(e, e->persistent.plan.meeting, "work-groups meet");
    mts_command_list *list = NULL;
    uint32_t failed = 1;
    mts_status status = mts_command_list_create(e->device, &launch, 1, &list, error);
    for (uint32_t i = 0; status == MTS_STATUS_OK && failed != 0 && i < MEETINGS; i++) {
        status = mts_buffer_fill(e->launches.act, at, sizeof failed, 0, error);
        MTS_TRY(status, mts_command_list_submit(list, error));
        MTS_TRY(status, read_failed(e, &failed, error));
    }
    MTS_TRY(status, mts_buffer_fill(e->launches.act, at, sizeof failed, 0, error));
    mts_command_list_destroy(&list);
    *met = failed == 0;
    return status;
}

/* As many work-groups as the driver names, or half of them, and so on. */
static mts_status find_groups(mts_engine *e, mts_error *error)
{
    mts_persistent *p = &e->persistent;
    const uint32_t units = e->device->info.compute_units;
    bool met = false;
    mts_status status = MTS_STATUS_OK;
    p->groups = p->kernel->resident;
    met = p->kernel->resident_promised;
    while (status == MTS_STATUS_OK && !met && p->groups > 0) {
        status = meet(e, &met, error);
        p->groups = met ? p->groups : p->groups > units ? p->groups / 2 : 0;
    }
    return status != MTS_STATUS_OK || met
               ? status
               : mts_fail(error, MTS_STATUS_UNSUPPORTED,
                          "work-groups of %u work-items did not meet, one on each of %u compute units",
                          p->plan.items, units);
}

/* ---- the list ---- */

/* The engine's launches, where a run takes the place of those that it consists of. */
static mts_status make_whole(const mts_builder *b)
{
    mts_engine *e = b->engine;
    mts_persistent *p = &e->persistent;
    mts_launches *whole = &p->whole;
    *whole = (mts_launches){.device = e->device,
                            .weights = e->launches.weights,
                            .weight_count = e->launches.weight_count,
                            .generation = MTS_GENERATION_NONE};
    whole->items = mts_arena_zero(&e->arena, p->plan.launches, sizeof *whole->items);
    whole->encoded = mts_arena_zero(&e->arena, p->plan.launches, sizeof *whole->encoded);
    if (!whole->items || !whole->encoded) {
        return mts_builder_memory(b);
    }
    uint32_t run = 0;
    for (uint32_t i = 0; i < e->launches.count;) {
        const mts_persist_run *r = run < p->plan.run_count ? &p->plan.runs[run] : NULL;
        whole->encoded[whole->count] = e->launches.encoded[i];
        whole->items[whole->count] = e->launches.items[i];
        if (r && r->first == i) {
            whole->items[whole->count] = launch_of(e, r->params, e->launches.items[i].label);
            whole->encoded[whole->count].kind = MTS_LAUNCH_GRID; /* of one pool */
            run++;
        }
        i += r && r->first == i ? r->count : 1;
        whole->count++;
    }
    return MTS_STATUS_OK;
}

mts_status mts_persistent_build(const mts_builder *b)
{
    mts_engine *e = b->engine;
    mts_persistent *p = &e->persistent;
    const mts_kernel_desc desc = {
        .name = KERNEL, .defines = p->plan.defines, .resident_items = p->plan.items};
    mts_error why = {0};
    if (p->plan.run_count == 0) {
        return MTS_STATUS_OK;
    }
    mts_status status = mts_kernel_create(e->device, &desc, &p->kernel, &why);
    if (status == MTS_STATUS_OK && (p->kernel->work_group_size < p->plan.items || p->kernel->resident == 0)) {
        status = mts_fail(&why, MTS_STATUS_UNSUPPORTED,
                          "its program takes work-groups of %u work-items, %u are needed",
                          p->kernel->work_group_size, p->plan.items);
    }
    MTS_TRY(status, find_groups(e, &why));
    if (status != MTS_STATUS_OK) {
        return go_without(b, status, &why);
    }
    status = make_whole(b);
    p->on = status == MTS_STATUS_OK;
    return status;
}

mts_status mts_persistent_first(const mts_builder *b, mts_buffer *stand_in)
{
    mts_engine *e = b->engine;
    mts_persistent *p = &e->persistent;
    uint32_t failed = 0;
    mts_error why = {0};
    if (!p->on) {
        return MTS_STATUS_OK;
    }
    mts_status status = mts_launches_record(&p->whole, &e->inputs.slots, stand_in, &why);
    if (status == MTS_STATUS_OK) {
        status = mts_command_list_submit(p->whole.list, &why);
        const mts_status finished = mts_device_wait(e->device, status == MTS_STATUS_OK ? &why : NULL);
        MTS_TRY(status, finished);
        MTS_TRY(status, read_failed(e, &failed, &why));
    }
    if (status == MTS_STATUS_OK && failed != 0) {
        status = mts_fail(&why, MTS_STATUS_UNSUPPORTED, "a wait took too long in the first run");
    }
    p->on = status == MTS_STATUS_OK;
    if (stand_in) {
        p->whole.generation = MTS_GENERATION_NONE;
    }
    return go_without(b, status, &why);
}

/* ---- runs ---- */

mts_status mts_persistent_ask(const mts_persistent *persistent, uint32_t *failed, mts_error *error)
{
    return mts_buffer_read_async(persistent->whole.items[0].act,
                                 (size_t)persistent->plan.origin * sizeof *failed, failed, sizeof *failed,
                                 error);
}

void mts_persistent_give_up(mts_persistent *persistent, const char *why, bool for_good)
{
    mts_device *device = persistent->whole.device;
    persistent->on = !for_good;
    mts_log_write(device->log, MTS_LOG_WARNING, "'%s': %s: the frame is repeated launch by launch%s",
                  device->info.name, why, for_good ? ", and so are all from now on" : "");
}

void mts_persistent_release(mts_persistent *persistent)
{
    mts_command_list_destroy(&persistent->whole.list);
    mts_kernel_destroy(&persistent->kernel);
}

#endif
