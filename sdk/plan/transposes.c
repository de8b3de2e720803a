/*
 * transposes.c: which TRANSPOSEs have no launch. Not responsible for the copies that read
 * their operands (layout.c, sdk/lower/encode_convert.c).
 */
#include "plan/transposes.h"

/* How a value is read. */
typedef struct reading {
    uint32_t readers;
    /* By a convolution of floats with a stride, which reads a space-to-depth copy, one of
       bytes, which reads codes, or one for packs of channels, which reads any order of
       dimensions; by anything else. */
    bool by_copies, otherwise;
    /* By a graph's output or an operator that wants it dense; or it lies in another
       value, or another one in it. */
    bool fixed;
} reading;

static bool reads_copy(const mts_plan *plan, uint32_t member, uint32_t operand)
{
    const mts_variant variant = plan->members[member].variant;
    const mts_attrs_conv *conv =
        &mts_member_node(plan->stitched, &plan->stitched->members[member])->attrs.conv;
    return operand == 0 &&
           (variant == MTS_VARIANT_BYTES || (MTS_HAS_PACKED && variant == MTS_VARIANT_PACKED) ||
            ((variant == MTS_VARIANT_TILE || variant == MTS_VARIANT_DEPTHWISE) &&
             (conv->stride[0] != 1 || conv->stride[1] != 1)));
}

static void note_member(const mts_plan *plan, uint32_t index, reading *readings)
{
    const mts_member *member = &plan->stitched->members[index];
    for (uint32_t i = 0; i < member->input_count; i++) {
        if (member->inputs[i] != MTS_NONE) {
            reading *r = &readings[member->inputs[i]];
            r->readers++;
            r->by_copies = r->by_copies || reads_copy(plan, index, i);
            r->otherwise = r->otherwise || !reads_copy(plan, index, i);
        }
    }
}

static void find_readings(const mts_plan *plan, const bool *dense, const mts_place *places, reading *readings)
{
    const mts_stitched *s = plan->stitched;
    for (uint32_t m = 0; m < s->member_count; m++) {
        note_member(plan, m, readings);
    }
    for (uint32_t v = 0; v < s->value_count; v++) {
        readings[v].fixed = readings[v].fixed || dense[v];
        if (places[v].host != MTS_NONE) {
            readings[v].fixed = true;
            readings[places[v].host].fixed = true;
        }
    }
}

/* Its result is one image of rows and columns, which nothing wants where it lies. */
static bool may_vanish(const mts_stitched *s, const mts_member *member, const reading *readings)
{
    const mts_shape *shape = &s->values[member->output].shape;
    return member->inputs[0] != MTS_NONE && shape->rank == 4 && shape->dims[0] == 1 &&
           !readings[member->output].fixed;
}

static bool is_read_through(const mts_stitched *s, const mts_member *member, const reading *readings)
{
    const reading *r = &readings[member->output];
    return may_vanish(s, member, readings) && r->by_copies && !r->otherwise;
}

static bool is_turned(const mts_plan *plan, const uint8_t *inputs, const mts_member *member,
                      const reading *readings)
{
    const mts_stitched *s = plan->stitched;
    const uint32_t source = member->inputs[0];
    return may_vanish(s, member, readings) && inputs && s->values[source].member == MTS_NONE &&
           inputs[source] == MTS_INPUT_ZERO_COPY && readings[source].readers == 1 && !readings[source].fixed;
}

mts_status mts_transposes_find(mts_plan *plan, const uint8_t *inputs, const bool *dense, bool *forced,
                               const mts_place *places, mts_arena *arena, mts_error *error)
{
    const mts_stitched *s = plan->stitched;
    reading *readings = mts_arena_zero(arena, s->value_count, sizeof *readings);
    plan->turned = mts_arena_zero(arena, s->value_count, sizeof *plan->turned);
    if (!readings || !plan->turned) {
        return mts_fail_memory(error);
    }
    for (uint32_t v = 0; v < s->value_count; v++) {
        plan->turned[v] = MTS_NONE;
    }
    find_readings(plan, dense, places, readings);
    for (uint32_t l = 0; l < s->layer_count; l++) {
        const mts_layer *layer = &s->layers[l];
        bool all = layer->op == MTS_OP_TRANSPOSE;
        for (uint32_t m = layer->first; all && m < layer->first + layer->count; m++) {
            all = plan->members[m].variant == MTS_VARIANT_NONE &&
                  (is_read_through(s, &s->members[m], readings) ||
                   is_turned(plan, inputs, &s->members[m], readings));
        }
        for (uint32_t m = layer->first; all && m < layer->first + layer->count; m++) {
            const mts_member *member = &s->members[m];
            plan->members[m].in_place = true;
            if (is_read_through(s, member, readings)) {
                forced[member->output] = true;
            } else {
                plan->turned[member->inputs[0]] = member->output;
            }
        }
    }
    return MTS_STATUS_OK;
}

uint32_t mts_transpose_source(const mts_plan *plan, uint32_t value)
{
    const mts_stitched *s = plan->stitched;
    const uint32_t index = s->values[value].member;
    if (index == MTS_NONE || !plan->members[index].in_place) {
        return value;
    }
    const mts_member *member = &s->members[index];
    const bool through = mts_member_node(s, member)->op == MTS_OP_TRANSPOSE &&
                         !plan->members[index].shuffles && plan->turned[member->inputs[0]] != value;
    return through ? member->inputs[0] : value;
}

void mts_transposes_store(mts_plan *plan)
{
    for (uint32_t v = 0; v < plan->stitched->value_count; v++) {
        if (plan->turned[v] != MTS_NONE) {
            plan->import_value[plan->value_storage[v]] = MTS_NONE;
            plan->import_value[plan->value_storage[plan->turned[v]]] = v;
        }
    }
}
