/*
 * bytes.c: see bytes.h. Not responsible for layouts (layout.c) nor for packing weights
 * (lower/weights.c).
 */
#include "plan/bytes.h"

#include <math.h>

#include "device/kernel.h"

/* Products of a sum: 65,000 times 255 * 128 stay below 2^31, and 33,000 times 255 *
   254. */
enum { PRODUCTS_MOST = 65000, PRODUCTS_MOST_WIDE = 33000 };
/* Columns of a dense convolution that reads row by row, at least: half of a vector. */
enum { WIDTH_LEAST = 8 };

static bool is_shuffle(const mts_stitched *stitched, const mts_member *member)
{
    const mts_node *node = mts_member_node(stitched, member);
    return node->op == MTS_OP_DECONV && mts_deconv_is_shuffle(node, mts_member_operand(stitched, member, 1));
}

/* Whether the result has no element that its operands do not have, so that their grid is
   its own. */
static bool only_moves(const mts_stitched *stitched, const mts_member *member)
{
    const mts_node *node = mts_member_node(stitched, member);
    switch (node->op) {
    case MTS_OP_DECONV:
        return is_shuffle(stitched, member);
    case MTS_OP_RESHAPE:
    case MTS_OP_TRANSPOSE:
    case MTS_OP_SLICE:
    case MTS_OP_EXPAND:
    case MTS_OP_CONCAT:
        return true;
    case MTS_OP_POOL: /* padding counts as minus infinity, and a window without gaps has a pixel of the image */
        return node->attrs.pool.kind == MTS_POOL_MAX && node->attrs.pool.dilation[0] == 1 &&
               node->attrs.pool.dilation[1] == 1;
    case MTS_OP_BINARY:
        return (node->attrs.binary.kind == MTS_BIN_MAX || node->attrs.binary.kind == MTS_BIN_MIN) &&
               node->attrs.binary.act.fn == MTS_FN_NONE;
    case MTS_OP_PAD:
        return node->attrs.pad.mode != MTS_PAD_CONSTANT ||
               !(node->attrs.pad.value < 0.0f || node->attrs.pad.value > 0.0f);
    default:
        return false;
    }
}

static bool same_grid(const mts_grid *a, const mts_grid *b)
{
    return !(a->step < b->step || a->step > b->step || a->least < b->least || a->least > b->least);
}

/* That of all operands, if they agree. */
static mts_grid passed_on(const mts_stitched *stitched, const mts_member *member, const mts_grid *grids)
{
    const mts_grid unknown = {0};
    mts_grid grid = unknown;
    const uint32_t count = mts_member_node(stitched, member)->op == MTS_OP_DECONV ? 1 : member->input_count;
    for (uint32_t i = 0; i < count; i++) {
        if (member->inputs[i] == MTS_NONE) {
            return unknown;
        }
        const mts_grid *of = &grids[member->inputs[i]];
        if (i > 0 && !same_grid(of, &grid)) {
            return unknown;
        }
        grid = *of;
    }
    return grid;
}

/* The least integer that callers can give for an input of 8 bits; false: the value is
 * no such input. */
static bool is_byte_input(const mts_stitched *stitched, uint32_t value, float *low)
{
    bool is = false;
    for (uint32_t g = 0; g < stitched->graph_count; g++) {
        for (uint32_t i = 0; i < stitched->graphs[g]->input_count; i++) {
            const mts_port *port = &stitched->graphs[g]->inputs[i];
            const bool bytes = port->dtype == MTS_TYPE_INT8 || port->dtype == MTS_TYPE_UINT8;
            if (stitched->value_of[g][port->value] == value) {
                *low = port->dtype == MTS_TYPE_INT8 ? -128.0f : 0.0f;
                if (!bytes) {
                    return false;
                }
                is = true;
            }
        }
    }
    return is;
}

/* The number that all elements of a vector are; `without` for an absent one. */
static bool is_uniform(const mts_value *vector, float without, float *number)
{
    *number = without;
    const size_t count = vector ? mts_shape_count(&vector->shape) : 0;
    for (size_t i = 0; i < count; i++) {
        float element = 0.0f;
        mts_value_read_run(vector, vector->blocks[0].data, i, 1, &element);
        *number = i == 0 ? element : *number;
        if (!(element >= *number && element <= *number)) {
            return false;
        }
    }
    return !vector || vector->block_count == 1;
}

/* That of integers of 8 bits which a caller gives and a SCALE of one factor makes
 * numbers of. */
static mts_grid grid_of_input(const mts_stitched *stitched, const mts_member *member)
{
    const mts_grid unknown = {0};
    float low = 0.0f, scale = 1.0f, bias = 0.0f;
    if (member->inputs[0] == MTS_NONE || stitched->values[member->inputs[0]].member != MTS_NONE ||
        mts_node_act(mts_member_node(stitched, member))->fn != MTS_FN_NONE ||
        (member->input_count > 3 && mts_member_operand(stitched, member, 3)) ||
        !is_byte_input(stitched, member->inputs[0], &low) ||
        !is_uniform(mts_member_operand(stitched, member, 1), 1.0f, &scale) ||
        !is_uniform(member->input_count > 2 ? mts_member_operand(stitched, member, 2) : NULL, 0.0f, &bias)) {
        return unknown;
    }
    const float exact = low + bias / scale, least = rintf(exact);
    return scale > 0.0f && fabsf(exact - least) < 1e-3f ? (mts_grid){.step = scale, .least = least} : unknown;
}

void mts_bytes_grids(const mts_stitched *stitched, mts_grid *grids)
{
    for (uint32_t v = 0; v < stitched->value_count; v++) {
        grids[v] = (mts_grid){0};
    }
    for (uint32_t m = 0; m < stitched->member_count; m++) { /* in the order of production */
        const mts_member *member = &stitched->members[m];
        const mts_node *node = mts_member_node(stitched, member);
        const mts_act *act = mts_node_act(node);
        if (act && act->fn == MTS_FN_QUANT8) {
            grids[member->output] = (mts_grid){.step = act->a, .least = act->b};
        } else if (node->op == MTS_OP_SCALE) {
            grids[member->output] = grid_of_input(stitched, member);
        } else if (only_moves(stitched, member)) {
            grids[member->output] = passed_on(stitched, member, grids);
        }
    }
}

/* An absent operand, or a constant vector. */
static bool is_vector(const mts_stitched *stitched, const mts_member *member, uint32_t input)
{
    const mts_value *value = input < member->input_count ? mts_member_operand(stitched, member, input) : NULL;
    return !value || value->shape.rank < 2;
}

static bool is_absent(const mts_stitched *stitched, const mts_member *member, uint32_t input)
{
    return input >= member->input_count || !mts_member_operand(stitched, member, input);
}

/* Whether codes hold the grid's numbers: 0 is one of them, since padding is, and no
   quotient by its step overflows. */
static bool grid_fits(const mts_grid *grid)
{
    return grid->step >= 1e-30f && grid->step <= 1e30f && grid->least >= -255.0f && grid->least <= 0.0f;
}

/*
 * Whether a float16 is MTS_INT8_STEP times a whole number of at most 254, which two bytes
 * add up to. Importers write differences of 8-bit codes so where int8 does not hold them.
 */
static bool is_wide_step(uint16_t half)
{
    const uint32_t size = half & 0x7fffu, exponent = size >> 10, digits = 1024u | (size & 1023u);
    return size == 0 || (size <= 0x3ff0u && exponent >= 8 && (digits & ((1u << (18u - exponent)) - 1u)) == 0);
}

/* Whether all weights are steps of MTS_INT8_STEP: int8, or float16 that two bytes add up
   to. */
static bool has_steps(const mts_value *weight)
{
    const size_t inner = (size_t)(weight->shape.dims[2] * weight->shape.dims[3]);
    bool steps = weight->dtype == MTS_TYPE_FLOAT16;
    for (uint32_t b = 0; steps && b < weight->block_count; b++) {
        const mts_block_ref *ref = &weight->blocks[b];
        const size_t count = (size_t)ref->out_count * ref->in_count * inner;
        for (size_t i = 0; steps && i < count; i++) {
            steps = is_wide_step(((const uint16_t *)ref->data)[i]);
        }
    }
    return steps || weight->dtype == MTS_TYPE_INT8;
}

bool mts_bytes_accepts(const mts_stitched *stitched, const mts_member *member, const mts_grid *grids)
{
    const mts_node *node = mts_member_node(stitched, member);
    const mts_value *weight = node->op == MTS_OP_CONV ? mts_member_operand(stitched, member, 1) : NULL;
    if (!weight || !grid_fits(&grids[member->inputs[0]])) {
        return false;
    }
    const uint32_t group = node->attrs.conv.group;
    const int64_t products = weight->shape.dims[1] * weight->shape.dims[2] * weight->shape.dims[3];
    const bool depthwise = (int64_t)group == stitched->values[member->inputs[0]].shape.dims[1] &&
                           (int64_t)group == weight->shape.dims[0] && weight->block_count == 1 &&
                           !node->scatter;
    const int64_t most = weight->dtype == MTS_TYPE_INT8 ? PRODUCTS_MOST : PRODUCTS_MOST_WIDE;
    return (group == 1 || depthwise) && products <= most && is_vector(stitched, member, 2) &&
           is_vector(stitched, member, 3) && is_absent(stitched, member, 4) &&
           is_absent(stitched, member, 5) && has_steps(weight);
}

bool mts_bytes_by_rows(const mts_stitched *stitched, const mts_member *member)
{
    const mts_attrs_conv *conv = &mts_member_node(stitched, member)->attrs.conv;
    const int64_t width = stitched->values[member->output].shape.dims[3];
    return conv->stride[1] == 2 && (conv->group > 1 || width >= WIDTH_LEAST);
}

bool mts_bytes_stores(const mts_stitched *stitched, const mts_member *member)
{
    const mts_node *node = mts_member_node(stitched, member);
    return node->attrs.conv.act.fn == MTS_FN_QUANT8 && !node->scatter &&
           mts_member_operand(stitched, member, 1)->block_count == 1;
}

/* Whole words of zeros behind the channels. */
static bool pads_words(const mts_stitched *stitched, const mts_member *member, const mts_attrs_pad *pad)
{
    bool words = pad->mode == MTS_PAD_CONSTANT && !(pad->value < 0.0f || pad->value > 0.0f) &&
                 stitched->values[member->inputs[0]].shape.dims[1] % 4 == 0;
    for (uint32_t d = 0; d < 4; d++) {
        words = words && pad->before[d] == 0 && (d == 1 ? pad->after[d] >= 0 : pad->after[d] == 0);
    }
    return words;
}

static bool maps_kind(const mts_stitched *stitched, const mts_member *member)
{
    const mts_node *node = mts_member_node(stitched, member);
    const uint32_t fn = mts_node_act(node) ? mts_node_act(node)->fn : MTS_FN_NONE;
    const uint32_t kind = node->attrs.binary.kind;
    switch (node->op) {
    case MTS_OP_UNARY:
        return fn == MTS_FN_QUANT8;
    case MTS_OP_SCALE:
        return fn == MTS_FN_QUANT8 && is_vector(stitched, member, 1) && is_vector(stitched, member, 2) &&
               is_absent(stitched, member, 3);
    case MTS_OP_BINARY:
        return (fn == MTS_FN_QUANT8 || fn == MTS_FN_NONE) &&
               (kind == MTS_BIN_ADD || kind == MTS_BIN_SUB || kind == MTS_BIN_MUL || kind == MTS_BIN_MAX ||
                kind == MTS_BIN_MIN);
    case MTS_OP_POOL:
        return only_moves(stitched, member) && node->attrs.pool.pad[0] >= 0 && node->attrs.pool.pad[1] >= 0;
    case MTS_OP_PAD:
        return pads_words(stitched, member, &node->attrs.pad);
    case MTS_OP_DECONV: /* of four phases, which one word has */
        return is_shuffle(stitched, member) && node->attrs.conv.kernel[0] == 2 &&
               node->attrs.conv.kernel[1] == 2;
    default:
        return false;
    }
}

bool mts_bytes_maps(const mts_stitched *stitched, const mts_member *member, const mts_grid *grids)
{
    const mts_node *node = mts_member_node(stitched, member);
    const uint32_t operands = node->op == MTS_OP_BINARY ? 2 : 1;
    const mts_shape *shape = &stitched->values[member->output].shape;
    if (shape->rank != 4 || node->scatter || !grid_fits(&grids[member->output])) {
        return false;
    }
    for (uint32_t i = 0; i < operands; i++) {
        const uint32_t value = i < member->input_count ? member->inputs[i] : MTS_NONE;
        const mts_shape *of = value != MTS_NONE ? &stitched->values[value].shape : NULL;
        const bool same = node->op != MTS_OP_BINARY || (of && mts_shape_equal(of, shape));
        if (!of || of->rank != 4 || !same || !grid_fits(&grids[value])) {
            return false;
        }
    }
    return maps_kind(stitched, member);
}

/* An average pool whose only window is the image, without padding. */
static bool is_whole_window(const mts_attrs_pool *pool, const mts_shape *in)
{
    bool whole = pool->kind == MTS_POOL_AVG;
    for (int i = 0; i < 2; i++) {
        whole = whole && (int64_t)pool->kernel[i] == in->dims[i + 2] && pool->dilation[i] == 1 &&
                pool->pad[i] == 0 && pool->pad[i + 2] == 0;
    }
    return whole;
}

bool mts_bytes_averages(const mts_stitched *stitched, const mts_member *member, const mts_grid *grids)
{
    /* a float holds sums of so many codes (mts_mean_params) */
    enum { ROWS_AND_COLUMNS = 1 << 2 | 1 << 3 };
    const mts_node *node = mts_member_node(stitched, member);
    const mts_attrs_reduce *reduce = &node->attrs.reduce;
    const mts_shape *out = &stitched->values[member->output].shape;
    if ((node->op != MTS_OP_POOL && node->op != MTS_OP_REDUCE) || member->inputs[0] == MTS_NONE ||
        !grid_fits(&grids[member->inputs[0]]) || node->scatter) {
        return false;
    }
    const mts_shape *in = &stitched->values[member->inputs[0]].shape;
    const bool image = in->rank == 4 && out->rank == 4 && out->dims[2] == 1 && out->dims[3] == 1 &&
                       in->dims[2] * in->dims[3] <= MTS_MEAN_PIXELS_MOST;
    return image &&
           (node->op == MTS_OP_POOL ? is_whole_window(&node->attrs.pool, in)
                                    : reduce->kind == MTS_REDUCE_MEAN && reduce->axes == ROWS_AND_COLUMNS);
}
