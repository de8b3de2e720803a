/*
 * codes.c: see codes.h. Not responsible for which values have codes (bytes.c).
 */
#include "plan/codes.h"

#include "plan/conversion.h"

/* ---- operators between convolutions ---- */

bool mts_codes_is_mean(const mts_node *node)
{
    return node->op == MTS_OP_REDUCE || (node->op == MTS_OP_POOL && node->attrs.pool.kind == MTS_POOL_AVG);
}

/* Whether the member that computes a value can store its codes. */
static bool is_stored(const mts_plan *plan, uint32_t value)
{
    const mts_stitched *s = plan->stitched;
    const uint32_t producer = value != MTS_NONE ? s->values[value].member : MTS_NONE;
    const mts_variant variant = producer != MTS_NONE ? plan->members[producer].variant : MTS_VARIANT_NONE;
    return (variant == MTS_VARIANT_CODES && !mts_codes_is_mean(mts_member_node(s, &s->members[producer]))) ||
           (variant == MTS_VARIANT_BYTES && mts_bytes_stores(s, &s->members[producer]));
}

static bool codes_reads(const mts_plan *plan, uint32_t member, uint32_t input)
{
    const mts_variant variant = plan->members[member].variant;
    return variant == MTS_VARIANT_CODES || (variant == MTS_VARIANT_BYTES && input == 0);
}

/* Values that something reads as floats, and as codes. */
static void find_readers(const mts_plan *plan, bool *floats, bool *codes)
{
    const mts_stitched *s = plan->stitched;
    for (uint32_t v = 0; v < s->value_count; v++) {
        floats[v] = codes[v] = false;
    }
    for (uint32_t m = 0; m < s->member_count; m++) {
        for (uint32_t i = 0; i < s->members[m].input_count; i++) {
            const uint32_t value = s->members[m].inputs[i];
            if (value != MTS_NONE) {
                codes[value] = codes[value] || codes_reads(plan, m, i);
                floats[value] = floats[value] || !codes_reads(plan, m, i);
            }
        }
    }
    for (uint32_t g = 0; g < s->graph_count; g++) {
        for (uint32_t o = 0; o < s->graphs[g]->output_count; o++) {
            const uint32_t value = s->value_of[g][s->graphs[g]->outputs[o].value];
            if (value != MTS_NONE) {
                floats[value] = true;
            }
        }
    }
}

/*
 * Whether a member should compute with codes: all operands are stored as codes, or one is
 * and the result is read as codes. A pool and a shuffle store no floats.
 */
static bool pays(const mts_plan *plan, const mts_member *member, bool floats, bool codes)
{
    const mts_op op = mts_member_node(plan->stitched, member)->op;
    const bool moves = op == MTS_OP_POOL || op == MTS_OP_DECONV;
    bool all = true, any = false;
    for (uint32_t i = 0; i < member->input_count; i++) {
        const bool stored = is_stored(plan, member->inputs[i]);
        all = all && (stored || member->inputs[i] == MTS_NONE);
        any = any || stored;
    }
    if (mts_codes_is_mean(mts_member_node(plan->stitched, member))) {
        return any;
    }
    return moves ? any && codes && !floats : any && (all || codes);
}

/* Each round takes at least one member out, and what reads or writes its values may
   follow in the next. */
mts_status mts_codes_choose(mts_plan *plan, mts_arena *arena, mts_error *error)
{
    const mts_stitched *s = plan->stitched;
    bool *floats = mts_arena_zero(arena, s->value_count, sizeof *floats);
    bool *codes = mts_arena_zero(arena, s->value_count, sizeof *codes);
    bool changed = true;
    if (!floats || !codes) {
        return mts_fail_memory(error);
    }
    for (uint32_t m = 0; m < s->member_count; m++) {
        mts_variant *variant = &plan->members[m].variant;
        if (*variant == MTS_VARIANT_NONE && (mts_bytes_maps(s, &s->members[m], plan->grids) ||
                                             mts_bytes_averages(s, &s->members[m], plan->grids))) {
            *variant = MTS_VARIANT_CODES;
        }
    }
    while (changed) {
        changed = false;
        find_readers(plan, floats, codes);
        for (uint32_t m = 0; m < s->member_count; m++) {
            const uint32_t value = s->members[m].output;
            if (plan->members[m].variant == MTS_VARIANT_CODES &&
                !pays(plan, &s->members[m], floats[value], codes[value])) {
                plan->members[m].variant = MTS_VARIANT_NONE;
                changed = true;
            }
        }
    }
    return MTS_STATUS_OK;
}

/* ---- who stores what ---- */

/* The codes of a value without a stride. */
static uint32_t planes_of(mts_plan *plan, uint32_t value)
{
    const uint32_t stride[2] = {1, 1};
    return mts_conversion_of(plan, value, stride, true);
}

/* Operators that compute with codes read and store planes of them. Convolutions' phases
 * of a value that is stored as codes are made of those. Borders are those of
 * convolutions. */
static void add_planes(mts_plan *plan, uint32_t member)
{
    const mts_member *m = &plan->stitched->members[member];
    mts_member_plan *how = &plan->members[member];
    if (how->variant == MTS_VARIANT_BYTES && is_stored(plan, m->inputs[0])) {
        (void)planes_of(plan, m->inputs[0]);
    }
    if (how->variant != MTS_VARIANT_CODES) {
        return;
    }
    how->input_conversion = planes_of(plan, m->inputs[0]);
    if (m->input_count > 1 && m->inputs[1] != MTS_NONE) {
        how->residual_conversion = planes_of(plan, m->inputs[1]);
    }
    if (!mts_codes_is_mean(mts_member_node(plan->stitched, m))) {
        (void)planes_of(plan, m->output);
    }
}

/* What operators other than convolutions read or store is the whole image. */
static void enlarge(mts_conversion *c, const mts_shape *shape)
{
    const uint32_t rows = c->top + (uint32_t)shape->dims[2], columns = c->left + (uint32_t)shape->dims[3];
    if (c->codes && c->stride[0] == 1 && c->stride[1] == 1) {
        c->rows = c->rows > rows ? c->rows : rows;
        c->columns = c->columns > columns ? c->columns : columns;
    }
}

static void link_conversion(mts_plan *plan, uint32_t conversion)
{
    mts_conversion *c = &plan->conversions[conversion];
    if (!c->codes || c->stride[0] != 1 || c->stride[1] != 1 || !is_stored(plan, c->value)) {
        return;
    }
    c->producer = plan->stitched->values[c->value].member;
    c->made = true;
    plan->members[c->producer].codes_conversion = conversion;
    plan->members[c->producer].bare = true; /* until a reader of the output itself is met */
}

/* Phases of a value whose codes are stored anyway are made of those. */
static void link_phases(mts_plan *plan, uint32_t conversion)
{
    mts_conversion *c = &plan->conversions[conversion];
    const uint32_t producer = plan->stitched->values[c->value].member;
    if (c->codes && c->producer == MTS_NONE && producer != MTS_NONE) {
        c->from = plan->members[producer].codes_conversion;
    }
}

static void clear_bare(mts_plan *plan, uint32_t value)
{
    const uint32_t producer = value != MTS_NONE ? plan->stitched->values[value].member : MTS_NONE;
    if (producer != MTS_NONE) {
        plan->members[producer].bare = false;
    }
}

/* Whether a member reads operand i as codes that its producer stores, or that are made of
   those. */
static bool reads_linked(const mts_plan *plan, uint32_t member, uint32_t i)
{
    const mts_member_plan *how = &plan->members[member];
    const uint32_t read = i == 0 ? how->input_conversion : how->residual_conversion;
    if (!codes_reads(plan, member, i) || read == MTS_NONE) {
        return false;
    }
    return plan->conversions[read].producer != MTS_NONE || plan->conversions[read].from != MTS_NONE;
}

void mts_codes_link(mts_plan *plan)
{
    const mts_stitched *s = plan->stitched;
    for (uint32_t m = 0; m < s->member_count; m++) {
        add_planes(plan, m);
    }
    for (uint32_t i = 0; i < plan->conversion_count; i++) {
        enlarge(&plan->conversions[i], &s->values[plan->conversions[i].value].shape);
        link_conversion(plan, i);
    }
    for (uint32_t i = 0; i < plan->conversion_count; i++) {
        link_phases(plan, i);
    }
    for (uint32_t m = 0; m < s->member_count; m++) {
        for (uint32_t i = 0; i < s->members[m].input_count; i++) {
            if (!reads_linked(plan, m, i)) {
                clear_bare(plan, s->members[m].inputs[i]);
            }
        }
    }
    for (uint32_t g = 0; g < s->graph_count; g++) {
        for (uint32_t o = 0; o < s->graphs[g]->output_count; o++) {
            clear_bare(plan, s->value_of[g][s->graphs[g]->outputs[o].value]);
        }
    }
}
