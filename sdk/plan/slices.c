/*
 * slices.c: stages by dynamic programming, and the layers in their new order. Not
 * responsible for offsets (plan.c) nor for the target, which is measured or a default of
 * the device (kernel_config.c).
 */
#include "plan/slices.h"

/* What decides between cuts; only ratios matter. A launch, and a multiply-add, cost as
 * much as these bytes through memory. */
#define LAUNCH_BYTES 40000.0
#define MUL_ADD_BYTES 0.13

/* A group's layers [first, first + count) while they are cut; indices count from
   `first`. */
typedef struct cutter {
    const mts_stitched *stitched;
    uint32_t first, count;
    uint32_t *leads; /* graphs that lead a member, ascending */
    uint32_t lead_count;
    uint64_t *touched; /* [count] bytes that the layer reads and writes */
    uint64_t *living;  /* [count + 1] bytes that live across the cut before layer i */
    double *repeated;  /* [count] cost of the products that members share: each slice makes them again */
    double *cost;      /* [count + 1] of the best cuts of the first i layers */
    uint32_t *from;    /* [count + 1] first layer of the last stage */
    uint32_t *slices;  /* [count + 1] of that stage */
} cutter;

static uint64_t value_bytes(const mts_stitched *stitched, uint32_t value)
{
    return (uint64_t)mts_shape_count(&stitched->values[value].shape) * sizeof(float);
}

/* A strided convolution reads a copy of its input (plan.h), made just before. */
static bool copies_input(const mts_stitched *stitched, const mts_member *member)
{
    const mts_node *node = mts_member_node(stitched, member);
    return node->op == MTS_OP_CONV && (node->attrs.conv.stride[0] > 1 || node->attrs.conv.stride[1] > 1);
}

/* Whether an earlier member of the layer reads the same value as this one's operand i. */
static bool read_before(const mts_stitched *stitched, const mts_layer *layer, uint32_t member, uint32_t i)
{
    for (uint32_t m = layer->first; m < member; m++) {
        const mts_member *other = &stitched->members[m];
        if (i < other->input_count && other->inputs[i] == stitched->members[member].inputs[i]) {
            return true;
        }
    }
    return false;
}

static uint64_t layer_bytes(const mts_stitched *stitched, const mts_layer *layer)
{
    uint64_t bytes = 0;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        const mts_member *member = &stitched->members[m];
        bytes += value_bytes(stitched, member->output);
        for (uint32_t i = 0; i < member->input_count; i++) {
            if (member->inputs[i] != MTS_NONE && !read_before(stitched, layer, m, i)) {
                bytes += value_bytes(stitched, member->inputs[i]) *
                         (i == 0 && copies_input(stitched, member) ? 2 : 1);
            }
        }
    }
    return bytes;
}

/* How many earlier members of the layer have the same input and this block of weights. */
static uint32_t count_before(const mts_stitched *stitched, const mts_layer *layer, uint32_t member,
                             uint32_t block)
{
    uint32_t count = 0;
    for (uint32_t m = layer->first; m < member; m++) {
        const mts_value *weight = mts_member_operand(stitched, &stitched->members[m], 1);
        const bool same = weight && stitched->members[m].inputs[0] == stitched->members[member].inputs[0];
        for (uint32_t b = 0; same && b < weight->block_count; b++) {
            count += weight->blocks[b].block == block ? 1 : 0;
        }
    }
    return count;
}

/* Products of a block that two or more convolutions of one input have in common: a launch
 * computes them once.
 */
static double find_repeated(const mts_stitched *stitched, const mts_layer *layer)
{
    double mul_adds = 0.0;
    for (uint32_t m = layer->first; layer->op == MTS_OP_CONV && m < layer->first + layer->count; m++) {
        const mts_member *member = &stitched->members[m];
        const mts_value *weight = mts_member_operand(stitched, member, 1);
        const mts_attrs_conv *conv = &mts_member_node(stitched, member)->attrs.conv;
        const int64_t *out = stitched->values[member->output].shape.dims;
        for (uint32_t b = 0; weight && b < weight->block_count; b++) {
            const mts_block_ref *ref = &weight->blocks[b];
            if (ref->block != MTS_NONE && count_before(stitched, layer, m, ref->block) == 1) {
                mul_adds += (double)ref->out_count * ref->in_count * conv->kernel[0] * conv->kernel[1] *
                            (double)(out[0] * out[2] * out[3]);
            }
        }
    }
    return mul_adds * MUL_ADD_BYTES;
}

/* Fills living[]: values written before a cut and read behind it. Inputs are there in any
   case. */
static mts_status find_living(cutter *c, mts_arena *arena)
{
    const mts_stitched *s = c->stitched;
    uint32_t *last = mts_arena_zero(arena, s->value_count, sizeof *last);
    if (!last) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    for (uint32_t l = 0; l < c->count; l++) {
        const mts_layer *layer = &s->layers[c->first + l];
        for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
            for (uint32_t i = 0; i < s->members[m].input_count; i++) {
                if (s->members[m].inputs[i] != MTS_NONE) {
                    last[s->members[m].inputs[i]] = l;
                }
            }
        }
    }
    for (uint32_t l = 0; l < c->count; l++) {
        const mts_layer *layer = &s->layers[c->first + l];
        for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
            for (uint32_t cut = l + 1; cut <= last[s->members[m].output]; cut++) {
                c->living[cut] += value_bytes(s, s->members[m].output);
            }
        }
    }
    return MTS_STATUS_OK;
}

static void find_leads(cutter *c)
{
    const mts_stitched *s = c->stitched;
    for (uint32_t g = 0; g < s->graph_count; g++) {
        bool leads = false;
        for (uint32_t l = 0; l < c->count && !leads; l++) {
            const mts_layer *layer = &s->layers[c->first + l];
            for (uint32_t m = layer->first; m < layer->first + layer->count && !leads; m++) {
                leads = s->members[m].graph == g;
            }
        }
        if (leads) {
            c->leads[c->lead_count++] = g;
        }
    }
}

static mts_status open_group(cutter *c, mts_stitched *stitched, uint32_t first, mts_arena *arena)
{
    *c = (cutter){.stitched = stitched, .first = first};
    while (first + c->count < stitched->layer_count &&
           stitched->layers[first + c->count].group == stitched->layers[first].group) {
        c->count++;
    }
    c->leads = mts_arena_zero(arena, stitched->graph_count, sizeof *c->leads);
    c->touched = mts_arena_zero(arena, c->count, sizeof *c->touched);
    c->living = mts_arena_zero(arena, (size_t)c->count + 1, sizeof *c->living);
    c->repeated = mts_arena_zero(arena, c->count, sizeof *c->repeated);
    c->cost = mts_arena_zero(arena, (size_t)c->count + 1, sizeof *c->cost);
    c->from = mts_arena_zero(arena, (size_t)c->count + 1, sizeof *c->from);
    c->slices = mts_arena_zero(arena, (size_t)c->count + 1, sizeof *c->slices);
    if (!c->leads || !c->touched || !c->living || !c->repeated || !c->cost || !c->from || !c->slices) {
        return MTS_STATUS_OUT_OF_MEMORY;
    }
    for (uint32_t l = 0; l < c->count; l++) {
        const mts_layer *layer = &stitched->layers[first + l];
        c->repeated[l] = find_repeated(stitched, layer);
        c->touched[l] = layer_bytes(stitched, layer);
    }
    find_leads(c);
    return find_living(c, arena);
}

static uint32_t slices_of(const cutter *c, uint64_t touched, uint64_t target)
{
    const uint64_t slices = (touched + target - 1) / target;
    return slices < 1 ? 1 : slices > c->lead_count ? c->lead_count : (uint32_t)slices;
}

/* Best stages that end before layer `end`, from those that end earlier. */
static void extend(cutter *c, uint32_t end, uint64_t target)
{
    uint64_t most = 0;
    double repeated = 0.0;
    for (uint32_t first = end; first-- > 0;) {
        const uint32_t length = end - first;
        most = c->touched[first] > most ? c->touched[first] : most;
        repeated += c->repeated[first];
        const uint32_t slices = slices_of(c, most, target);
        const double crossing =
            c->living[first] > target ? (double)c->living[first] : 0.0; /* else in a cache */
        const double cost =
            c->cost[first] + crossing + LAUNCH_BYTES * slices * length + repeated * (double)(slices - 1);
        if (length == 1 || cost < c->cost[end]) {
            c->cost[end] = cost;
            c->from[end] = first;
            c->slices[end] = slices;
        }
    }
}

/* Members of a layer that graphs [low, high) lead; members stand in the order of their
   graphs. */
static mts_layer part_of(const mts_stitched *stitched, const mts_layer *layer, uint32_t low, uint32_t high)
{
    mts_layer part = *layer;
    part.count = 0;
    for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
        const uint32_t graph = stitched->members[m].graph;
        if (graph >= low && graph < high) {
            part.first = part.count == 0 ? m : part.first;
            part.count++;
        }
    }
    return part;
}

/* Appends the stage [first, end) in slices; returns the new number of layers. */
static uint32_t write_stage(const cutter *c, uint32_t first, uint32_t end, uint32_t slices, mts_layer *layers,
                            uint32_t count)
{
    for (uint32_t s = 0; s < slices; s++) {
        const uint32_t from = (uint32_t)((uint64_t)c->lead_count * s / slices);
        const uint32_t to = (uint32_t)((uint64_t)c->lead_count * (s + 1) / slices);
        const uint32_t low = s == 0 ? 0 : c->leads[from];
        const uint32_t high = s + 1 == slices ? MTS_NONE : c->leads[to];
        for (uint32_t l = first; l < end; l++) {
            const mts_layer part = part_of(c->stitched, &c->stitched->layers[c->first + l], low, high);
            if (part.count > 0) {
                layers[count++] = part;
            }
        }
    }
    return count;
}

/* Stages in the order of their layers. */
static uint32_t write_group(const cutter *c, mts_arena *arena, mts_layer *layers, uint32_t count)
{
    uint32_t *ends = mts_arena_zero(arena, c->count, sizeof *ends);
    uint32_t stages = 0;
    if (!ends) {
        return MTS_NONE;
    }
    for (uint32_t end = c->count; end > 0; end = c->from[end]) {
        ends[stages++] = end;
    }
    while (stages-- > 0) {
        count = write_stage(c, c->from[ends[stages]], ends[stages], c->slices[ends[stages]], layers, count);
    }
    return count;
}

mts_status mts_slices_cut(mts_stitched *stitched, uint64_t target, mts_arena *arena, mts_error *error)
{
    if (target == 0) {
        return MTS_STATUS_OK;
    }
    mts_layer *layers = mts_arena_zero(arena, stitched->member_count, sizeof *layers);
    mts_status status = layers ? MTS_STATUS_OK : MTS_STATUS_OUT_OF_MEMORY;
    uint32_t count = 0;
    uint32_t first = 0;
    while (status == MTS_STATUS_OK && first < stitched->layer_count) {
        cutter c;
        status = open_group(&c, stitched, first, arena);
        for (uint32_t end = 1; status == MTS_STATUS_OK && end <= c.count; end++) {
            extend(&c, end, target);
        }
        if (status == MTS_STATUS_OK) {
            count = write_group(&c, arena, layers, count);
            status = count != MTS_NONE ? MTS_STATUS_OK : MTS_STATUS_OUT_OF_MEMORY;
        }
        first += c.count;
    }
    if (status != MTS_STATUS_OK) {
        return mts_fail_memory(error);
    }
    stitched->layers = layers;
    stitched->layer_count = count;
    return MTS_STATUS_OK;
}
