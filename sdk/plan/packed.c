/*
 * packed.c: see packed.h. Not responsible for kernel parameters (sdk/lower).
 */
#include "plan/packed.h"

#include "device/kernel.h"
#include "plan/phases.h"

enum { LANES = MTS_CHANNEL_PACK, CHANNELS = 1, ROWS = 2, COLUMNS = 3 };

typedef struct packer {
    const mts_plan *plan;
    const mts_stitched *stitched;
    const mts_blocks_facts *facts;
    bool *packs;  /* per svalue: it lies in packs, as far as is known */
    bool *shared; /* per svalue: it lies in another one's storage, or another one in its own */
} packer;

static bool is_whole(int64_t channels)
{
    return channels % LANES == 0;
}

/* Whether zeros beyond the last channel are at most a third of what a value has. */
static bool fills_packs(const mts_shape *shape)
{
    const uint64_t channels = (uint64_t)shape->dims[CHANNELS];
    return 3 * mts_u64_ceil_div(channels, LANES) * LANES <= 4 * channels;
}

bool mts_packed_is_depthwise(const mts_stitched *stitched, const mts_member *member)
{
    const mts_node *node = mts_member_node(stitched, member);
    return (node->op == MTS_OP_CONV || node->op == MTS_OP_DECONV) && node->attrs.conv.group > 1 &&
           node->attrs.conv.group == (uint64_t)stitched->values[member->inputs[0]].shape.dims[CHANNELS];
}

/* A transposed convolution whose weight is one block. */
static bool takes_phases(const mts_stitched *stitched, const mts_member *member)
{
    const mts_node *node = mts_member_node(stitched, member);
    const mts_value *weight = mts_member_operand(stitched, member, 1);
    return node->op == MTS_OP_DECONV && member->inputs[0] != MTS_NONE && member->inputs[1] == MTS_NONE &&
           weight->block_count == 1 && mts_phases_pay(&node->attrs.conv);
}

/* Depthwise ones only where a pack of outputs reads a pack of inputs. */
bool mts_packed_takes(const mts_stitched *stitched, const mts_member *member, mts_variant variant)
{
    if (variant != MTS_VARIANT_TILE && variant != MTS_VARIANT_DEPTHWISE && !takes_phases(stitched, member)) {
        return false;
    }
    const mts_shape *in = &stitched->values[member->inputs[0]].shape;
    const mts_shape *out = &stitched->values[member->output].shape;
    return !mts_packed_is_depthwise(stitched, member) || (in->dims[1] == out->dims[1] && fills_packs(out));
}

/* One image of one pixel, channel by channel. */
static bool is_pixel(const mts_shape *shape)
{
    return shape->dims[0] == 1 &&
           (shape->rank == 2 || (shape->rank == 4 && shape->dims[ROWS] == 1 && shape->dims[COLUMNS] == 1));
}

uint32_t mts_packed_zeros_behind(const mts_shape *shape)
{
    return is_pixel(shape) ? LANES - 1 : 0;
}

/* ---- what members ask of their values ---- */

static const mts_shape *shape_of(const packer *p, uint32_t value)
{
    return &p->stitched->values[value].shape;
}

static bool in_packs(const packer *p, uint32_t value)
{
    return value != MTS_NONE && p->packs[value];
}

static bool touches_packs(const packer *p, const mts_member *member)
{
    bool touches = p->packs[member->output];
    for (uint32_t i = 0; i < member->input_count; i++) {
        touches = touches || in_packs(p, member->inputs[i]);
    }
    return touches;
}

/* Whether all operands are values that lie in packs. */
static bool reads_packs_only(const packer *p, const mts_member *member)
{
    bool only = true;
    for (uint32_t i = 0; i < member->input_count; i++) {
        only = only && in_packs(p, member->inputs[i]);
    }
    return only;
}

/* Functions of which 0 is 0: lanes beyond the last channel stay so. */
static bool keeps_zero(const mts_act *act)
{
    switch (act->fn) {
    case MTS_FN_NONE:
    case MTS_FN_RELU:
    case MTS_FN_LEAKY:
    case MTS_FN_HARD_SWISH:
    case MTS_FN_TANH:
    case MTS_FN_SQRT:
    case MTS_FN_SILU:
    case MTS_FN_ABS:
    case MTS_FN_NEG:
    case MTS_FN_GELU:
    case MTS_FN_GELU_TANH:
        return true;
    case MTS_FN_CLIP:
        return act->a <= 0.0f && act->b >= 0.0f;
    default:
        return false;
    }
}

/* Each operand lies as it does where channels fill packs; else packs keep their zeros. */
static bool elements_agree(const packer *p, const mts_member *member)
{
    const mts_node *node = mts_member_node(p->stitched, member);
    const mts_shape *out = shape_of(p, member->output);
    if (out->rank != 4) {
        return false;
    }
    if (is_whole(out->dims[CHANNELS])) {
        return true;
    }
    const bool keeps = node->op == MTS_OP_UNARY ||
                       (node->op == MTS_OP_BINARY &&
                        (node->attrs.binary.kind <= MTS_BIN_MUL || node->attrs.binary.kind == MTS_BIN_MAX ||
                         node->attrs.binary.kind == MTS_BIN_MIN));
    return keeps && keeps_zero(mts_node_act(node)) && p->packs[member->output] && reads_packs_only(p, member);
}

/* Planes that a member stores beside packs that it reads. */
static bool stores_planes(const packer *p, uint32_t value)
{
    const mts_shape *shape = shape_of(p, value);
    return is_whole(shape->dims[CHANNELS]) ||
           (is_pixel(shape) && !p->shared[value] && !p->facts->tied[value]);
}

/* Packs are made of packs only. */
static bool windows_agree(const packer *p, const mts_member *member)
{
    const mts_node *node = mts_member_node(p->stitched, member);
    const bool keeps = is_whole(shape_of(p, member->output)->dims[CHANNELS]) || node->op == MTS_OP_POOL ||
                       node->attrs.resize.coord != MTS_COORD_TF_CROP;
    return keeps && in_packs(p, member->inputs[0]) &&
           (p->packs[member->output] || stores_planes(p, member->output));
}

/* Rows, columns or both. */
static bool reduction_agrees(const packer *p, const mts_member *member)
{
    const mts_attrs_reduce *reduce = &mts_member_node(p->stitched, member)->attrs.reduce;
    const mts_shape *out = shape_of(p, member->output);
    const bool keeps = reduce->kind != MTS_REDUCE_LOG_SUM && reduce->kind != MTS_REDUCE_LOG_SUM_EXP &&
                       !MTS_REDUCE_IS_POSITION(reduce->kind);
    const bool stays = reduce->keep != 0 || is_pixel(out);
    return keeps && stays && in_packs(p, member->inputs[0]) &&
           (reduce->axes & ~(1u << ROWS | 1u << COLUMNS)) == 0 &&
           (p->packs[member->output] || stores_planes(p, member->output));
}

/* Along channels a kernel of its own stores packs, or planes without a border. */
static bool softmax_agrees(const packer *p, const mts_member *member)
{
    const uint32_t axis = mts_member_node(p->stitched, member)->attrs.softmax.axis, out = member->output;
    const bool dense = !p->shared[out] && !p->facts->tied[out];
    if (shape_of(p, out)->rank != 4 || !in_packs(p, member->inputs[0])) {
        return false;
    }
    return axis == CHANNELS ? p->facts->places[out].zeros == 0 && (p->packs[out] || dense)
                            : axis != 0 && is_whole(shape_of(p, out)->dims[CHANNELS]) &&
                                  (p->packs[out] || stores_planes(p, out));
}

/* Parts begin with a pack; one that ends within a pack is the last. */
static bool parts_agree(const packer *p, const mts_member *member)
{
    const uint32_t axis = mts_member_node(p->stitched, member)->attrs.concat.axis;
    bool agree = shape_of(p, member->output)->rank == 4;
    for (uint32_t i = 0; agree && i < member->input_count; i++) {
        const mts_shape *part = &mts_member_operand(p->stitched, member, i)->shape;
        const bool ends = axis != CHANNELS || i + 1 == member->input_count;
        agree = is_whole(part->dims[CHANNELS]) ||
                (ends && p->packs[member->output] && in_packs(p, member->inputs[i]));
    }
    return agree;
}

static bool slice_agrees(const packer *p, const mts_member *member)
{
    const mts_attrs_slice *slice = &mts_member_node(p->stitched, member)->attrs.slice;
    const mts_shape *out = shape_of(p, member->output);
    if (out->rank != 4 || slice->step[CHANNELS] != 1 || !is_whole(slice->start[CHANNELS])) {
        return false;
    }
    const int64_t end = slice->start[CHANNELS] + slice->size[CHANNELS];
    return is_whole(slice->size[CHANNELS]) || (p->packs[member->output] && in_packs(p, member->inputs[0]) &&
                                               end == shape_of(p, member->inputs[0])->dims[CHANNELS]);
}

/* Of channels, only zeros behind the last one. */
static bool pad_agrees(const packer *p, const mts_member *member)
{
    const mts_attrs_pad *pad = &mts_member_node(p->stitched, member)->attrs.pad;
    const mts_shape *out = shape_of(p, member->output);
    const bool zeros = pad->mode == MTS_PAD_CONSTANT && pad->value == 0.0f;
    const bool grows = pad->after[CHANNELS] != 0;
    if (out->rank != 4 || pad->before[CHANNELS] != 0 || pad->after[CHANNELS] < 0 || (grows && !zeros)) {
        return false;
    }
    const bool whole =
        is_whole(out->dims[CHANNELS]) && is_whole(shape_of(p, member->inputs[0])->dims[CHANNELS]);
    return whole || (p->packs[member->output] && in_packs(p, member->inputs[0]) &&
                     (zeros || pad->mode != MTS_PAD_CONSTANT));
}

/* Input 0 of a convolution is the image, 4 the residual. */
static bool convolution_agrees(const packer *p, const mts_member *member)
{
    bool agrees = true;
    for (uint32_t i = 0; i < member->input_count; i++) {
        agrees = agrees && (i == 0 || i == 4 || !in_packs(p, member->inputs[i]));
    }
    return agrees;
}

/* Operands of a concatenation in place that lie elsewhere are copied, as planes. */
static bool has_copies(const packer *p, const mts_member *member)
{
    uint32_t wanted = 0;
    uint32_t plane = 0;
    const uint32_t root = mts_place_root(p->facts->places, member->output, &wanted);
    bool copies = false;
    for (uint32_t i = 0; i < member->input_count; i++) {
        const uint32_t value = member->inputs[i];
        copies = copies || value == MTS_NONE || mts_place_root(p->facts->places, value, &plane) != root ||
                 plane != wanted;
        wanted += value != MTS_NONE ? (uint32_t)shape_of(p, value)->dims[CHANNELS] : 0;
    }
    return copies;
}

/* Of members without a launch, whose values lie within each other. */
static bool place_agrees(const packer *p, const mts_member *member)
{
    const mts_op op = mts_member_node(p->stitched, member)->op;
    return op == MTS_OP_SLICE || op == MTS_OP_PAD || (op == MTS_OP_CONCAT && !has_copies(p, member));
}

/* Whether a member computes what it touches where that lies now. */
static bool agrees(const packer *p, uint32_t index)
{
    const mts_member *member = &p->stitched->members[index];
    const mts_member_plan *how = &p->plan->members[index];
    if (!touches_packs(p, member)) {
        return true;
    }
    if (how->variant != MTS_VARIANT_NONE) {
        return how->variant == MTS_VARIANT_PACKED && convolution_agrees(p, member);
    }
    if (how->in_place) {
        return place_agrees(p, member);
    }
    switch (mts_member_node(p->stitched, member)->op) {
    case MTS_OP_UNARY:
    case MTS_OP_BINARY:
    case MTS_OP_SELECT:
    case MTS_OP_SCALE:
        return elements_agree(p, member);
    case MTS_OP_POOL:
    case MTS_OP_RESIZE:
        return windows_agree(p, member);
    case MTS_OP_REDUCE:
        return reduction_agrees(p, member);
    case MTS_OP_SOFTMAX:
        return softmax_agrees(p, member);
    case MTS_OP_CONCAT:
        return parts_agree(p, member);
    case MTS_OP_SLICE:
        return slice_agrees(p, member);
    case MTS_OP_PAD:
        return pad_agrees(p, member);
    default:
        return false;
    }
}

/* ---- values ---- */

/* Whether a value that lies in another one, or holds some, may do so in packs: all are
   whole ones. Convolutions write no zeros behind packs, other kernels do. */
static bool is_placed_by_packs(const packer *p, uint32_t value)
{
    const mts_shape *shape = shape_of(p, value);
    const mts_place *place = &p->facts->places[value];
    const uint32_t producer = p->stitched->values[value].member;
    return shape->dims[0] == 1 && is_whole(shape->dims[CHANNELS]) && place->plane % LANES == 0 &&
           !place->planes &&
           (place->zeros == 0 ||
            (producer != MTS_NONE && p->plan->members[producer].variant == MTS_VARIANT_NONE));
}

/* Whether a value may lie in packs, as far as it alone tells. One pixel of an image lies
   the same in both layouts, and counts as planes. */
static bool is_packable(const packer *p, uint32_t value)
{
    const mts_shape *shape = shape_of(p, value);
    return !p->facts->forced[value] && !p->facts->dense[value] && shape->rank == 4 && fills_packs(shape) &&
           !is_pixel(shape) && (!p->shared[value] || is_placed_by_packs(p, value));
}

/* Puts all that a member touches into planes; false: it was there. */
static bool put_into_planes(packer *p, const mts_member *member)
{
    const bool touched = touches_packs(p, member);
    p->packs[member->output] = false;
    for (uint32_t i = 0; i < member->input_count; i++) {
        if (member->inputs[i] != MTS_NONE) {
            p->packs[member->inputs[i]] = false;
        }
    }
    return touched;
}

/* A value and the one that holds it lie alike; false: they did. */
static bool lay_alike(packer *p, uint32_t value)
{
    uint32_t plane = 0;
    const uint32_t root = mts_place_root(p->facts->places, value, &plane);
    const bool differ = p->packs[value] != p->packs[root];
    p->packs[value] = p->packs[root] = p->packs[value] && p->packs[root];
    return differ;
}

/* The members of a softmax along channels are one launch: all of them read packs, or none does. */
static bool lay_softmax_alike(packer *p, const mts_layer *layer)
{
    const mts_member *members = &p->stitched->members[layer->first];
    uint32_t reading = 0;
    bool changed = false;
    for (uint32_t i = 0; layer->op == MTS_OP_SOFTMAX && i < layer->count; i++) {
        reading += in_packs(p, members[i].inputs[0]) ? 1 : 0;
    }
    for (uint32_t i = 0; reading > 0 && reading < layer->count && i < layer->count; i++) {
        changed = put_into_planes(p, &members[i]) || changed;
    }
    return changed;
}

/* From all that may be packs on, until no member refuses what is left: each round puts
   values into planes and none back. */
static void settle(packer *p)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t m = p->stitched->member_count; m-- > 0;) {
            if (!agrees(p, m)) {
                changed = put_into_planes(p, &p->stitched->members[m]) || changed;
            }
        }
        for (uint32_t l = 0; l < p->stitched->layer_count; l++) {
            changed = lay_softmax_alike(p, &p->stitched->layers[l]) || changed;
        }
        for (uint32_t v = 0; v < p->stitched->value_count; v++) {
            changed = lay_alike(p, v) || changed;
        }
    }
}

mts_status mts_packed_choose(const mts_plan *plan, const mts_blocks_facts *facts, bool *blocks,
                             mts_arena *arena, mts_error *error)
{
    const mts_stitched *s = plan->stitched;
    packer p = {.plan = plan, .stitched = s, .facts = facts, .packs = blocks};
    p.shared = mts_arena_zero(arena, s->value_count, sizeof *p.shared);
    if (!p.shared) {
        return mts_fail_memory(error);
    }
    mts_blocks_find_shared(s, facts->places, p.shared);
    for (uint32_t m = 0; m < s->member_count; m++) {
        blocks[s->members[m].output] = is_packable(&p, s->members[m].output);
    }
    settle(&p);
    return MTS_STATUS_OK;
}
