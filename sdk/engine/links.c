/*
 * links.c: see links.h. Not responsible for which runs go so (submission.c), nor for whose
 * inputs the outputs are (sdk/pipeline).
 */
#include "engine/builder.h"

#ifndef MTS_SMALL

#include <inttypes.h>
#include <string.h>

#include "base/half.h"
#include "engine/part.h"

/* ---- planned ---- */

static bool is_output(const mts_plan *plan, uint64_t offset)
{
    return offset >= plan->input_floats && offset < plan->input_floats + plan->output_floats;
}

/* Whether all outputs are computed, so that they lie in the region. */
static bool has_all_outputs(const mts_builder *b)
{
    for (uint32_t t = 0; t < b->engine->tasks.count; t++) {
        for (uint32_t o = 0; o < b->graphs[t]->output_count; o++) {
            const mts_program_port *from = &b->program.outputs[t][o];
            const uint32_t storage =
                from->port != MTS_NONE ? b->plan->output_storage[from->graph][from->port] : MTS_NONE;
            if (storage == MTS_NONE || !is_output(b->plan, b->plan->storages[storage].offset)) {
                return false;
            }
        }
    }
    return true;
}

/* kept[storage]: where they lay. */
static void move_outputs(mts_plan *plan, uint64_t by, uint64_t *kept)
{
    for (uint32_t s = 0; s < plan->storage_count; s++) {
        mts_storage *storage = &plan->storages[s];
        kept[s] = storage->offset;
        storage->offset += is_output(plan, storage->offset) ? by : 0;
    }
}

static void move_back(mts_plan *plan, const uint64_t *kept)
{
    for (uint32_t s = 0; s < plan->storage_count; s++) {
        plan->storages[s].offset = kept[s];
    }
}

/* The words that differ do so by the distance of the regions, and launches by nothing else. */
static mts_status compare(const mts_builder *b, const mts_encoding *moved, bool *equal)
{
    mts_links *links = &b->engine->links;
    const mts_param_buffer *from = &b->encoding.params;
    *equal = moved->launch_count == b->encoding.launch_count && moved->params.count == from->count;
    links->word_count = 0;
    for (size_t i = 0; *equal && i < from->count; i++) {
        const uint32_t by = moved->params.words[i] - from->words[i];
        links->word_count += by != 0 ? 1 : 0;
        *equal = by == 0 || by == (uint32_t)links->first;
    }
    for (size_t l = 0; *equal && l < moved->launch_count; l++) {
        const mts_encoded_launch *x = &moved->launches[l];
        const mts_encoded_launch *y = &b->encoding.launches[l];
        *equal = x->first == y->first && x->section == y->section && x->kind != MTS_LAUNCH_GEMM &&
                 strcmp(x->kernel, y->kernel) == 0 && strcmp(x->defines, y->defines) == 0;
    }
    if (!*equal) {
        return MTS_STATUS_OK;
    }
    links->words = mts_arena_zero(&b->engine->arena, links->word_count, sizeof *links->words);
    links->word_count = 0;
    for (size_t i = 0; links->words && i < from->count; i++) {
        if (moved->params.words[i] != from->words[i]) {
            links->words[links->word_count++] = (uint32_t)i;
        }
    }
    return links->words ? MTS_STATUS_OK : mts_builder_memory(b);
}

/* Encodes the plan once more with moved outputs. */
static mts_status find_words(mts_builder *b, bool *found)
{
    uint64_t *kept = mts_arena_zero(&b->scratch, b->plan->storage_count, sizeof *kept);
    mts_encoding moved = b->encoding;
    mts_task_masks masks = {0};
    mts_status status = kept ? MTS_STATUS_OK : mts_builder_memory(b);
    if (b->encoding.masks) {
        moved.masks = &masks;
        MTS_TRY(status, mts_task_masks_create(&masks, &b->program, b->engine->tasks.count, b->plan,
                                              &b->scratch, b->error));
    }
    if (status != MTS_STATUS_OK) {
        mts_task_masks_release(&masks);
        return status;
    }
    moved.strings = &b->scratch;
    moved.launches = NULL;
    moved.launch_count = moved.launch_capacity = 0;
    moved.mul_adds = moved.counted = 0;
    mts_param_buffer_init(&moved.params, b->engine->allocator);
    mts_weights_init(&moved.pool, moved.precision, b->engine->allocator);
    moved.pool.section_most = b->encoding.pool.section_most;
    moved.pool.spare = b->encoding.pool.spare;
    move_outputs(b->plan, b->engine->links.first, kept);
    status = mts_encode_plan(&moved);
    move_back(b->plan, kept);
    MTS_TRY(status, compare(b, &moved, found));
    mts_encoding_release(&moved);
    mts_task_masks_release(&masks);
    return status;
}

static void keep_apart(mts_builder *b, const char *why)
{
    mts_log_write(b->engine->device->log, MTS_LOG_INFO, "outputs of a part are copied to the next one: %s",
                  why);
    b->engine->links.moves = false;
}

static uint64_t count_room(const mts_links *links)
{
    return links->count * links->step;
}

mts_status mts_links_plan(mts_builder *b)
{
    mts_links *links = &b->engine->links;
    const mts_engine_options *o = &b->engine->options;
    const mts_plan *plan = b->plan;
    const uint64_t most = b->info.buffer_bytes / sizeof(float);
    *links = (mts_links){.count = o->link_slots, .moves = o->link_slots > 0 && o->links_out};
    links->step = plan->output_floats;
    links->first =
        (plan->arena_floats + MTS_PLAN_ALIGN - 1) / MTS_PLAN_ALIGN * MTS_PLAN_ALIGN - plan->input_floats;
    const uint64_t end = plan->input_floats + links->first + count_room(links);
    bool found = true;
    if (!links->moves) {
        return MTS_STATUS_OK;
    }
    if (end > INT32_MAX || (most > 0 && end > most) || !has_all_outputs(b) ||
        b->engine->stats.precision != MTS_PRECISION_FLOAT32) {
        keep_apart(b, "they are not all computed as float32, or have no room behind the activations");
        return MTS_STATUS_OK;
    }
    const mts_status status = b->dry_run ? MTS_STATUS_OK : find_words(b, &found);
    if (status == MTS_STATUS_OK && !found) {
        keep_apart(b, "launches depend on where they lie");
    } else if (status == MTS_STATUS_OK) {
        b->plan->arena_floats = end;
    }
    return status;
}

void mts_links_drop(mts_builder *b)
{
    mts_links *links = &b->engine->links;
    if (links->moves) {
        b->plan->arena_floats = b->plan->input_floats + links->first;
        keep_apart(b, "the memory budget has no room for them");
    }
}

uint64_t mts_links_bytes(const mts_builder *b)
{
    const mts_links *links = &b->engine->links;
    return links->moves ? (uint64_t)links->count * b->encoding.params.count * sizeof(uint32_t) : 0;
}

/* ---- built ---- */

static mts_status make_params(const mts_builder *b, uint32_t slot, mts_launches *launches)
{
    const mts_links *links = &b->engine->links;
    const mts_param_buffer *from = &b->encoding.params;
    const size_t bytes = from->count * sizeof *from->words;
    const uint32_t by = (uint32_t)(links->first + slot * links->step);
    launches->params = b->engine->launches.params;
    if (!links->moves || from->count == 0) {
        return MTS_STATUS_OK;
    }
    launches->params = NULL;
    uint32_t *words = mts_alloc_raw(b->engine->allocator, from->count, sizeof *words);
    if (!words) {
        return mts_builder_memory(b);
    }
    memcpy(words, from->words, bytes);
    for (size_t i = 0; i < links->word_count; i++) {
        words[links->words[i]] += by;
    }
    mts_status status = mts_buffer_create(b->engine->device, bytes, &launches->params, b->error);
    MTS_TRY(status, mts_buffer_write(launches->params, 0, words, bytes, b->error));
    mts_alloc_free(b->engine->allocator, words);
    return status;
}

mts_status mts_links_build(const mts_builder *b)
{
    mts_engine *e = b->engine;
    mts_links *links = &e->links;
    mts_status status = MTS_STATUS_OK;
    if (links->count == 0) {
        return MTS_STATUS_OK;
    }
    links->moves = links->moves && e->launches.act->host;
    links->slots = mts_arena_zero(&e->arena, links->count, sizeof *links->slots);
    if (!links->slots) {
        return mts_builder_memory(b);
    }
    for (uint32_t s = 0; status == MTS_STATUS_OK && s < links->count; s++) {
        status = make_params(b, s, &links->slots[s].launches);
    }
    return status;
}

/* What a launch touches, with its outputs in the region of a slot. */
static mts_status move_accesses(const mts_builder *b, uint64_t by, mts_launch *launch)
{
    mts_engine *e = b->engine;
    mts_access *moved = mts_arena_zero(&e->arena, (size_t)launch->access_count + 1, sizeof *moved);
    if (!moved) {
        return mts_builder_memory(b);
    }
    for (uint32_t i = 0; i < launch->access_count; i++) {
        const mts_access *from = &launch->accesses[i];
        const size_t bytes = is_output(b->plan, from->begin / sizeof(float)) ? (size_t)by * sizeof(float) : 0;
        moved[i] = (mts_access){from->begin + bytes, from->end + bytes, from->writes};
    }
    launch->accesses = launch->accesses ? moved : NULL;
    return MTS_STATUS_OK;
}

static mts_status prepare_slot(const mts_builder *b, uint32_t number)
{
    mts_engine *e = b->engine;
    mts_link_slot *slot = &e->links.slots[number];
    mts_buffer *params = slot->launches.params;
    const uint64_t by = e->links.first + number * e->links.step;
    slot->launches = e->launches;
    slot->launches.params = params;
    slot->launches.list = NULL;
    slot->launches.generation = MTS_GENERATION_NONE;
    slot->launches.items = mts_arena_zero(&e->arena, e->launches.count, sizeof *e->launches.items);
    slot->inputs = e->inputs.slots;
    slot->inputs.items = mts_arena_zero(&e->arena, e->inputs.slots.count, sizeof *slot->inputs.items);
    if (!slot->launches.items || !slot->inputs.items) {
        return mts_builder_memory(b);
    }
    if (e->inputs.slots.count > 0) {
        memcpy(slot->inputs.items, e->inputs.slots.items, e->inputs.slots.count * sizeof *slot->inputs.items);
    }
    mts_status status = MTS_STATUS_OK;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < e->launches.count; i++) {
        slot->launches.items[i] = e->launches.items[i];
        slot->launches.items[i].params = params;
        status = e->links.moves ? move_accesses(b, by, &slot->launches.items[i]) : status;
    }
    return status;
}

mts_status mts_links_prepare(const mts_builder *b)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t s = 0; status == MTS_STATUS_OK && s < b->engine->links.count; s++) {
        status = prepare_slot(b, s);
    }
    return status;
}

void mts_links_release(mts_links *links)
{
    for (uint32_t s = 0; links->slots && s < links->count; s++) {
        mts_link_slot *slot = &links->slots[s];
        mts_command_list_destroy(&slot->launches.list);
        if (links->moves) {
            mts_buffer_destroy(&slot->launches.params);
        }
        mts_zero_copy_release(&slot->inputs);
    }
}

/* ---- for a pipeline ---- */

void mts_engine_use_slot(mts_engine *engine, uint32_t slot)
{
    engine->links.next = slot;
}

/* Whether the next run is one of all tasks. Only parts that take the caller's inputs have a deadline,
   which might split it. */
static bool is_whole(const mts_engine *engine)
{
    bool whole = true;
    for (uint32_t t = 0; whole && t < engine->tasks.count; t++) {
        whole = !engine->tasks.items[t].schedule.disabled;
    }
    return whole;
}

/* A buffer over the memory of a link, or the device's own where it does not read that. */
static mts_status link_slot(mts_input_slots *slots, mts_input_slot *slot, const float *data, bool imports,
                            mts_error *error)
{
    const size_t bytes = slot->count * sizeof(float);
    const mts_memory memory = {.kind = MTS_MEMORY_HOST, .host = data, .size = bytes};
    mts_buffer *fresh = NULL;
    mts_status status = MTS_STATUS_UNSUPPORTED;
    if (slot->buffer && (slot->copied || slot->data == data)) {
        return slot->copied ? mts_buffer_write_async(slot->buffer, 0, data, bytes, error) : MTS_STATUS_OK;
    }
    if (imports) {
        status = mts_buffer_import(slots->device, &memory, &fresh, NULL);
    }
    const bool copies = status == MTS_STATUS_UNSUPPORTED;
    if (copies) {
        status = mts_buffer_create(slots->device, bytes, &fresh, error);
        MTS_TRY(status, mts_buffer_write_async(fresh, 0, data, bytes, error));
    }
    if (status != MTS_STATUS_OK) {
        mts_buffer_destroy(&fresh);
        return status;
    }
    slots->generation++;
    mts_buffer_destroy(&slot->buffer);
    slot->buffer = fresh;
    slot->data = data;
    slot->copied = copies;
    return MTS_STATUS_OK;
}

/* An input that lies in the arena. */
static mts_status write_arena(const mts_engine *engine, const mts_input_slot *slot, const float *floats,
                              uint16_t *halves, mts_error *error)
{
    const size_t size = mts_precision_size(engine->stats.precision);
    const void *data = floats;
    if (engine->stats.precision != MTS_PRECISION_FLOAT32) {
        mts_half_array_from_float(floats, halves, slot->count);
        data = halves;
    }
    return mts_buffer_write_async(engine->launches.act, (size_t)slot->offset * size, data, slot->count * size,
                                  error);
}

mts_status mts_engine_link_input(mts_engine *engine, uint32_t task, uint32_t input, const float *floats,
                                 uint16_t *halves, mts_error *error)
{
    const mts_engine_task *t = mts_tasks_find(&engine->tasks, task);
    if (!t || input >= t->input_count) {
        return mts_fail(error, MTS_STATUS_NOT_FOUND, "the part has no input %" PRIu32 " of task %" PRIu32,
                        input, task);
    }
    const bool linked = engine->links.count > 0 && is_whole(engine);
    const bool imports = linked && (engine->device->info.imports & MTS_MEMORY_BIT(MTS_MEMORY_HOST)) != 0;
    mts_input_slots *slots = linked ? &engine->links.slots[engine->links.next].inputs : &engine->inputs.slots;
    const uint32_t common = slots->items[t->inputs[input].slot].common;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t s = 0; status == MTS_STATUS_OK && s < slots->count; s++) {
        mts_input_slot *slot = &slots->items[s];
        if (slot->common == common) {
            status = slot->zero_copy ? link_slot(slots, slot, floats, imports, error)
                                     : write_arena(engine, slot, floats, halves, error);
        }
    }
    return status;
}

/* The oldest submission, if it has finished and its outputs lie in its slot. */
static const mts_submission *find_moved(const mts_engine *engine)
{
    const mts_submissions *all = &engine->submissions;
    const mts_submission *s = all->used > 0 ? all->queue[0] : NULL;
    return s && s->state == MTS_SUBMISSION_FINISHED && s->linked && engine->links.moves ? s : NULL;
}

bool mts_engine_moves(const mts_engine *engine)
{
    return engine->links.moves;
}

bool mts_engine_is_moved(const mts_engine *engine)
{
    return find_moved(engine) != NULL;
}

const float *mts_engine_moved_output(const mts_engine *engine, uint32_t task, uint32_t output)
{
    const mts_submission *s = find_moved(engine);
    const mts_engine_task *t = mts_tasks_find(&engine->tasks, task);
    const mts_links *links = &engine->links;
    return s && t && output < t->output_count
               ? (const float *)engine->launches.act->host + t->outputs[output].offset + links->first +
                     s->link_slot * links->step
               : NULL;
}
#endif
