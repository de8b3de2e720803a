/*
 * lower.c: the walk over a plan's steps, and the table of operators. Not responsible for
 * which kernel computes a convolution (implementations.c) nor for filling kernel
 * parameters (encode_*.c).
 */
#include "lower/lower.h"

#include <stdio.h>
#include <string.h>

#include "lower/encoders.h"
#include "lower/implementations.h"
#include "lower/merge.h"
#include "lower/mix.h"
#include "lower/layouts.h"
#include "lower/moves.h"
#include "lower/traffic.h"
#include "plan/device_defaults.h"

#define HALF_WHOLE_MAX 2048u /* float16 holds every whole number up to this one */

static const mts_operator *const operators[MTS_OP_COUNT] = {
#define OPERATOR(NAME, row) [MTS_OP_##NAME] = &mts_operator_##row,
    MTS_OPS(OPERATOR)
#undef OPERATOR
};

/* CONV has a table of its own (implementations.c). */
const mts_operator mts_operator_conv = {.kernel = NULL};
/* An alias, which has no step. */
const mts_operator mts_operator_reshape = {.kernel = NULL};

static mts_status check_positions(const mts_encoding *encoding, const mts_layer *layer)
{
    const mts_operator *row = operators[layer->op];
    for (uint32_t i = 0; row->positions && encoding->precision != MTS_PRECISION_FLOAT32 && i < layer->count;
         i++) {
        const mts_member *member = &encoding->stitched->members[layer->first + i];
        const uint32_t positions = row->positions(encoding->stitched, member);
        if (positions > HALF_WHOLE_MAX) {
            const mts_graph *graph = encoding->stitched->graphs[member->graph];
            return mts_fail(
                encoding->error, MTS_STATUS_UNSUPPORTED,
                "layer %s of task %s names positions in a dimension of %u, and float16 holds whole "
                "numbers up to %u; use float32",
                mts_node_title(graph, mts_member_node(encoding->stitched, member)), graph->name, positions,
                HALF_WHOLE_MAX);
        }
    }
    return MTS_STATUS_OK;
}

/* Functions and kinds that few networks have are computed by programs of their own
   (kernels/abi/functions.h). */
static mts_status build_for_function(mts_encoding *encoding, const mts_layer *layer)
{
    const mts_node *node = mts_member_node(encoding->stitched, &encoding->stitched->members[layer->first]);
    const mts_act *act = mts_node_act(node);
    const bool function = act && mts_fn_is_alone(act->fn);
    const bool kind = layer->op == MTS_OP_BINARY && node->attrs.binary.kind >= MTS_BIN_ALONE;
    if (!function && !kind) {
        return MTS_STATUS_OK;
    }
    mts_encoded_launch *launch = &encoding->launches[encoding->launch_count - 1];
    char text[128];
    int length = snprintf(text, sizeof text, "%s", launch->defines);
    if (function) {
        length += snprintf(text + length, sizeof text - (size_t)length, " -DFN=%u", act->fn);
    }
    if (kind) {
        (void)snprintf(text + length, sizeof text - (size_t)length, " -DKIND=%u", node->attrs.binary.kind);
    }
    launch->defines = mts_arena_string(encoding->strings, text);
    return launch->defines ? MTS_STATUS_OK : mts_encode_memory(encoding);
}

/* The launch of an operator over a layer's members without a variant: `count`, which is not
   0. */
static mts_status encode_floats(mts_encoding *encoding, const mts_layer *layer, const char *label,
                                uint32_t count)
{
    const mts_operator *row = operators[layer->op];
#if MTS_HAS_PACKED
    row = mts_softmax_takes_packs(encoding, layer) ? &mts_operator_softmax_packed : row;
#endif
    char *params = mts_arena_zero(encoding->arena, layer->count, row->words * sizeof(mts_u32));
    uint32_t *masks = mts_arena_zero(encoding->arena, layer->count, sizeof *masks);
    uint32_t next = 0;
    for (uint32_t m = layer->first; params && masks && m < layer->first + layer->count; m++) {
        if (encoding->plan->members[m].variant == MTS_VARIANT_NONE) {
            masks[next] = mts_encode_task_mask(encoding, m);
            row->fill(encoding, &encoding->stitched->members[m],
                      params + (size_t)next++ * row->words * sizeof(mts_u32));
        }
    }
    mts_status status = masks ? row->launch(encoding, row->kernel, label, params, row->words, count)
                              : mts_encode_memory(encoding);
    if (status == MTS_STATUS_OK && count < layer->count) { /* else mark_members does it */
        status = mts_encode_entries(encoding, MTS_ENTRY_PARAMS, row->words, masks, count);
    }
    MTS_TRY(status, build_for_function(encoding, layer));
    return status;
}

static mts_status encode_operator(mts_encoding *encoding, const mts_layer *layer)
{
    mts_status status = check_positions(encoding, layer);
    const char *label =
        status == MTS_STATUS_OK ? mts_encode_label(encoding, layer, operators[layer->op]->label) : NULL;
    uint32_t counts[MTS_VARIANT_COUNT] = {0};
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        counts[encoding->plan->members[m].variant]++;
    }
    if (status == MTS_STATUS_OK && counts[MTS_VARIANT_NONE] > 0) {
        status = encode_floats(encoding, layer, label, counts[MTS_VARIANT_NONE]);
    }
    if (status == MTS_STATUS_OK && counts[MTS_VARIANT_CODES] > 0) {
        status = mts_encode_codes(encoding, layer, label);
    }
#if MTS_HAS_PACKED
    if (status == MTS_STATUS_OK && counts[MTS_VARIANT_PACKED] > 0) {
        status = mts_encode_packed(encoding, layer, NULL);
    }
#endif
    return status;
}

/* Launches with one set of kernel parameters per member work for the tasks of those
   members. */
static mts_status mark_members(mts_encoding *encoding, const mts_layer *layer, size_t first)
{
    for (size_t l = first; encoding->masks && l < encoding->launch_count; l++) {
        mts_entries *entries = &encoding->launches[l].entries;
        if (entries->kind != MTS_ENTRY_PARAMS || entries->masks || entries->count != layer->count) {
            continue;
        }
        entries->masks = mts_arena_zero(encoding->strings, entries->count, sizeof *entries->masks);
        if (!entries->masks) {
            return mts_encode_memory(encoding);
        }
        memcpy(entries->masks, encoding->masks->members + layer->first,
               entries->count * sizeof *entries->masks);
    }
    return MTS_STATUS_OK;
}

static mts_status encode_layer(mts_encoding *encoding, const mts_layer *layer)
{
    const size_t first = encoding->launch_count;
    const bool sums =
        mts_plan_summand(encoding->plan, (uint32_t)(layer - encoding->stitched->layers)) != MTS_NONE;
    mts_status status = layer->op == MTS_OP_CONV ? mts_encode_conv(encoding, layer)
                        : sums                   ? mts_encode_sum(encoding, layer)
                                                 : encode_operator(encoding, layer);
    MTS_TRY(status, mark_members(encoding, layer, first));
    return status;
}

static mts_status encode_step(mts_encoding *encoding, const mts_step *step)
{
    return step->kind == MTS_STEP_SPACE_TO_DEPTH ? mts_encode_space_to_depth(encoding, step)
           : step->kind == MTS_STEP_DENSE        ? mts_encode_copies(encoding, step)
           : step->kind == MTS_STEP_INPUT        ? mts_encode_inputs(encoding, step)
                                          : encode_layer(encoding, &encoding->stitched->layers[step->first]);
}

/* Conversions count as one task each. */
static uint32_t count_tasks(const mts_encoding *encoding, const mts_step *step)
{
    if (step->kind != MTS_STEP_LAYER) {
        return step->count;
    }
    const mts_layer *layer = &encoding->stitched->layers[step->first];
    uint32_t tasks = 0;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        tasks += encoding->stitched->members[m].tasks;
    }
    return tasks;
}

/* Whether a launch of the step computes rows that zeros lie around. */
static bool reads_zeros(const mts_encoding *encoding, const mts_step *step)
{
    const mts_layer *layer = &encoding->stitched->layers[step->kind == MTS_STEP_LAYER ? step->first : 0];
    bool reads = false;
    for (uint32_t m = layer->first; step->kind == MTS_STEP_LAYER && m < layer->first + layer->count; m++) {
        const mts_variant variant = encoding->plan->members[m].variant;
        reads = reads || (MTS_HAS_PACKED && variant == MTS_VARIANT_PACKED) ||
                (variant == MTS_VARIANT_DEPTHWISE && mts_depthwise_by_rows(encoding, m));
    }
    return reads;
}

/* What the launches of a step touch of the arena, in bytes. */
static mts_access *find_accesses(const mts_encoding *encoding, const mts_step *step, uint32_t *count)
{
    const mts_plan *plan = encoding->plan;
    const size_t size = mts_precision_size(encoding->precision);
    mts_access *accesses = mts_arena_zero(encoding->strings, (size_t)step->uses + 1, sizeof *accesses);
    for (uint32_t i = 0; accesses && i < step->uses; i++) {
        const mts_storage_use *use = &plan->uses[step->use + i];
        const mts_storage *storage = &plan->storages[use->storage];
        accesses[i] = (mts_access){.begin = (size_t)storage->offset * size,
                                   .end = (size_t)(storage->offset + storage->floats) * size,
                                   .writes = use->writes};
    }
    *count = step->uses;
    if (accesses && reads_zeros(encoding, step)) {
        accesses[(*count)++] = (mts_access){.end = MTS_ROW_ZEROS * size};
    }
    return accesses;
}

/* What is known of all launches of a step. */
static mts_status describe_step(mts_encoding *encoding, const mts_step *step, size_t first)
{
    const bool layer = step->kind == MTS_STEP_LAYER;
    const uint32_t tasks = count_tasks(encoding, step);
    const char *moves = mts_moves_reason(encoding->plan, step);
    const mts_fusion *fusion = layer ? &encoding->plan->fusions[step->first] : NULL;
    const bool fuses = layer && mts_plan_fuses(encoding->plan, step->first);
    uint32_t access_count = 0;
    const mts_access *accesses = find_accesses(encoding, step, &access_count);
    size_t most = first;
    uint8_t reads = 0;
    uint8_t writes = 0;
    if (!accesses) {
        return mts_encode_memory(encoding);
    }
#if MTS_EXPLAINS_PLANS
    mts_layouts_find(encoding->plan, encoding->layouts, step, &reads, &writes);
#endif
    for (size_t l = first; l < encoding->launch_count; l++) {
        mts_encoded_launch *launch = &encoding->launches[l];
        launch->tasks = tasks;
        launch->signature = encoding->facts.signature;
        launch->layer_kind = encoding->facts.kind;
        launch->config = encoding->config;
        launch->layer = layer ? step->first : MTS_NONE;
        launch->group = layer ? step->group : MTS_NONE;
        launch->stage = step->group;
        launch->step = (uint32_t)(step - encoding->plan->steps);
        launch->wave = step->wave;
        launch->section = mts_weights_section(&encoding->pool);
        launch->moves = moves;
        launch->reads = reads;
        launch->writes = writes;
        launch->fused = (mts_fused_layers){.expand = fuses ? fusion->expand : MTS_NONE,
                                           .depthwise = fuses ? fusion->depthwise : MTS_NONE,
                                           .project = fuses ? step->first : MTS_NONE};
        launch->apart = fusion ? fusion->reason : NULL;
        launch->accesses = accesses;
        launch->access_count = access_count;
        most = launch->mul_adds > encoding->launches[most].mul_adds ? l : most;
    }
    if (most < encoding->launch_count) {
        mts_encoded_launch *launch = &encoding->launches[most];
        launch->bytes = mts_traffic_bytes(encoding, step);
        launch->moved_bytes = moves ? launch->bytes : 0;
    }
    return MTS_STATUS_OK;
}

/*
 * A launch ends when its last tile does. So a tile is at most one part in TILES_OF_UNIT of
 * what each unit computes of the launch: of the step's wave, whose launches are joined
 * where they can be. On processors, whose tiles are long as long as there are enough, the
 * wave has as many as one layer would have alone: shorter ones use each weight less often.
 */
static uint32_t find_tiles_least(const mts_encoding *encoding, const mts_step *step)
{
    enum { TILES_OF_UNIT = 8 };
    const mts_device_info *device = encoding->device;
    const uint32_t units = device->compute_units > 0 ? device->compute_units : 1;
    const uint32_t each = device->is_gpu ? TILES_OF_UNIT : mts_device_defaults_find(device)->tiles_per_unit;
    const double part = (double)mts_step_cost(encoding->plan, step) / (double)encoding->wave_cost;
    const uint32_t tiles = (uint32_t)((double)each * units * part);
    return device->is_gpu || tiles == 0 ? tiles + 1 : tiles;
}

/* What the wave that begins with a step computes. */
static uint64_t wave_cost(const mts_encoding *encoding, const mts_step *first)
{
    const mts_plan *plan = encoding->plan;
    const mts_step *end = plan->steps + plan->step_count;
    uint64_t cost = 0;
    for (const mts_step *s = first; s < end && s->wave == first->wave; s++) {
        cost += mts_step_cost(plan, s);
    }
    return cost > 0 ? cost : 1;
}

static mts_status encode_described(mts_encoding *encoding, const mts_step *step)
{
    const size_t first = encoding->launch_count;
    encoding->tiles_least = find_tiles_least(encoding, step);
    encoding->facts = (mts_layer_facts){0};
    encoding->config = (mts_kernel_config){0};
    encoding->measured = false;
    mts_status status = encode_step(encoding, step);
    MTS_TRY(status, describe_step(encoding, step, first));
    return status;
}

/* The weights of the step, which begin a section, are more than one holds. Only layers
   have weights. */
static mts_status refuse_weights(const mts_encoding *encoding, const mts_step *step)
{
    const mts_stitched *stitched = encoding->stitched;
    const mts_layer *layer = &stitched->layers[step->first];
    const mts_graph *graph = stitched->graphs[stitched->members[layer->first].graph];
    const size_t bytes = mts_precision_size(encoding->precision);
    const size_t count = mts_weights_section_count(&encoding->pool, mts_weights_section(&encoding->pool));
    return mts_fail(encoding->error, MTS_STATUS_LIMIT,
                    "the weights of layer %s of task %s need %zu bytes in one buffer; %s allows %zu: "
                    "%schoose another device",
                    mts_node_title(graph, mts_member_node(stitched, &stitched->members[layer->first])),
                    graph->name, count * bytes, encoding->device->name, encoding->pool.section_most * bytes,
                    encoding->precision == MTS_PRECISION_FLOAT32 ? "store them as float16, or " : "");
}

/* Takes back what was encoded since. */
static void take_back(mts_encoding *encoding, const mts_encoding *before)
{
    encoding->launch_count = before->launch_count;
    encoding->params.count = before->params.count;
    encoding->params.identity = before->params.identity;
    encoding->params.identity_count = before->params.identity_count;
    encoding->cases = before->cases;
    encoding->mul_adds = before->mul_adds;
    encoding->counted = before->counted;
}

/*
 * A step whose weights do not fit into the open section is taken back and begins the next
 * one. Where they do not fit into an empty one either, it is taken back again for
 * implementations that store fewer.
 */
static mts_status encode_whole(mts_encoding *encoding, const mts_step *step)
{
    const mts_encoding before = *encoding;
    const mts_weights_mark mark = mts_weights_mark_get(&encoding->pool);
    mts_status status = encode_described(encoding, step);
    for (int again = 0; again < 2 && status == MTS_STATUS_OK && !mts_weights_fits(&encoding->pool); again++) {
        take_back(encoding, &before);
        encoding->least_weights = again > 0;
        mts_weights_restart(&encoding->pool, &mark);
        status = encode_described(encoding, step);
        encoding->least_weights = false;
    }
    return status != MTS_STATUS_OK || mts_weights_fits(&encoding->pool) ? status
                                                                        : refuse_weights(encoding, step);
}

#ifndef MTS_SMALL
/* A launch reads one section. A step of which a section on the device has all weights reads
   that one, and adds none; else all of its weights go to the open section. */
static mts_status encode_kept(mts_encoding *encoding, const mts_step *step)
{
    const mts_encoding before = *encoding;
    const uint32_t closed = encoding->pool.kept_count - (encoding->pool.open ? 1 : 0);
    for (uint32_t s = 0; s < closed; s++) {
        encoding->pool.looking = s + 1;
        encoding->pool.missing = false;
        const mts_status status = encode_described(encoding, step);
        encoding->pool.looking = 0;
        if (status != MTS_STATUS_OK || !encoding->pool.missing) {
            return status;
        }
        take_back(encoding, &before);
    }
    return encode_whole(encoding, step);
}
#else
#define encode_kept encode_whole
#endif

_Static_assert((int)MTS_PROGRAM_OPERATOR + (int)MTS_OP_COUNT <= (int)MTS_PROGRAM_FUNCTION, "");

/* Operators are a kernel each; functions and kinds of their own are programs of their
   own, and so are reductions whose work-groups share an output: their work-items meet at
   barriers, which the combined program's cannot. */
static uint32_t operator_program(const mts_encoding *encoding, const mts_layer *layer)
{
    const mts_node *node = mts_member_node(encoding->stitched, &encoding->stitched->members[layer->first]);
    const mts_act *act = mts_node_act(node);
    const uint32_t function = act && mts_fn_is_alone(act->fn) ? act->fn + 1u : 0;
    const uint32_t kind = layer->op == MTS_OP_BINARY && node->attrs.binary.kind >= MTS_BIN_ALONE
                              ? node->attrs.binary.kind + 1u
                              : 0;
    const bool shared = layer->op == MTS_OP_REDUCE && mts_reduce_is_shared(encoding, layer);
    const bool mixed =
        function == 0 && kind == 0 && !shared && mts_mix_number(operators[layer->op]->kernel) != MTS_NONE;
    return mixed ? MTS_PROGRAM_MIXED
                 : MTS_PROGRAM_OPERATOR + (uint32_t)layer->op + function * MTS_PROGRAM_FUNCTION +
                       kind * MTS_PROGRAM_KIND;
}

uint32_t mts_encode_program(void *context, const mts_plan *plan, const mts_step *step)
{
    const mts_encoding *encoding = context;
    const mts_layer *layer = &plan->stitched->layers[step->first];
    const bool packed = MTS_HAS_PACKED && plan->members[layer->first].variant == MTS_VARIANT_PACKED;
    return step->kind != MTS_STEP_LAYER         ? MTS_PROGRAM_MIXED
           : layer->op == MTS_OP_CONV || packed ? mts_conv_program(encoding, plan, layer)
                                                : operator_program(encoding, layer);
}

mts_status mts_encode_steps(mts_encoding *encoding)
{
    mts_status status = MTS_STATUS_OK;
#if MTS_EXPLAINS_PLANS
    encoding->layouts = mts_layouts_create(encoding->plan, encoding->arena);
    status = encoding->layouts ? status : mts_encode_memory(encoding);
#endif
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < encoding->plan->step_count; i++) {
        const mts_step *step = &encoding->plan->steps[i];
        if (i == 0 || step[-1].wave != step->wave) {
            encoding->wave = step;
            encoding->wave_cost = wave_cost(encoding, step);
        }
        status = encode_kept(encoding, step);
    }
    return status;
}

mts_status mts_encode_plan(mts_encoding *encoding)
{
    mts_status status = mts_encode_steps(encoding);
    MTS_TRY(status, mts_encode_merge(encoding));
    MTS_TRY(status, mts_encode_cases(encoding));
    if (status == MTS_STATUS_OK && (encoding->params.failed || encoding->pool.failed)) {
        status = mts_encode_memory(encoding);
    }
    return status;
}

void mts_encoding_release(mts_encoding *encoding)
{
    mts_param_buffer_release(&encoding->params);
    mts_weights_release(&encoding->pool);
    mts_alloc_free(encoding->arena->allocator, encoding->launches);
    encoding->launches = NULL;
    encoding->launch_count = encoding->launch_capacity = 0;
}
