/*
 * layout.c: row classes, padding and storages. Not responsible for steps and offsets (plan.c, arena.c).
 */
#include "plan/layout.h"

#include "base/size.h"
#include "device/kernel.h"
#include "plan/blocks.h"
#include "plan/codes.h"
#include "plan/conversion.h"
#include "plan/fuse.h"
#include "plan/packed.h"
#include "plan/places.h"
#include "plan/transposes.h"

/* A value's own storage, or a conversion (index value_count + conversion), while classes are formed. */
typedef struct cell {
    uint32_t parent;                                   /* union-find */
    uint32_t row;                                      /* of a root: row length of the class */
    bool tied;                                         /* is an operand of a convolution by tiles */
    uint32_t pad_top, pad_bottom, pad_left, pad_right; /* border that its convolutions reach into */
    uint32_t beyond; /* floats behind it that rows may read, see mts_depthwise_rows_params */
} cell;

typedef struct layouter {
    mts_plan *plan;
    const mts_stitched *stitched;
    cell *cells;
    bool *forced; /* per svalue: must be dense */
    bool *dense;  /* per svalue: is read dense, so that anything between its planes costs a copy */
    mts_place *places;
    const uint8_t *inputs;
    const mts_plan_fuse *fuse;
    bool *blocks; /* per svalue: it lies in blocks of channels, or in packs */
    bool packed, depthwise_rows, byte_products, spread_planes;
    mts_error *error;
} layouter;

static uint64_t round_up(uint64_t value)
{
    return (value + MTS_PLAN_ALIGN - 1) / MTS_PLAN_ALIGN * MTS_PLAN_ALIGN;
}

static uint32_t find_root(cell *cells, uint32_t i)
{
    while (cells[i].parent != i) {
        cells[i].parent = cells[cells[i].parent].parent;
        i = cells[i].parent;
    }
    return i;
}

static void tie(layouter *l, uint32_t a, uint32_t b)
{
    const uint32_t x = find_root(l->cells, a);
    const uint32_t y = find_root(l->cells, b);
    l->cells[a].tied = true;
    l->cells[b].tied = true;
    if (x != y) {
        l->cells[y].parent = x;
        l->cells[x].row = mts_u32_max(l->cells[x].row, l->cells[y].row);
    }
}

static void need_row(layouter *l, uint32_t i, uint32_t row)
{
    const uint32_t root = find_root(l->cells, i);
    l->cells[root].row = mts_u32_max(l->cells[root].row, row);
}

static const mts_shape *value_shape(const layouter *l, uint32_t value)
{
    return &l->stitched->values[value].shape;
}

static uint32_t excess(int64_t reached, int64_t size)
{
    return reached >= size ? (uint32_t)(reached - size + 1) : 0;
}

static mts_input_kind input_kind(const layouter *l, uint32_t value)
{
    const bool in_arena = !l->inputs || l->stitched->values[value].member != MTS_NONE;
    return in_arena ? MTS_INPUT_ARENA : (mts_input_kind)l->inputs[value];
}

static uint32_t conversion_cell(const layouter *l, uint32_t conversion)
{
    return l->stitched->value_count + conversion;
}

/* Whether the last row or column that a convolution reads lies in the padding below or beside its input. */
static bool reads_beyond(const layouter *l, const mts_member *member, const mts_attrs_conv *conv)
{
    const mts_shape *in = value_shape(l, member->inputs[0]);
    const mts_shape *out = value_shape(l, member->output);
    return excess(mts_plan_reach(conv, 0, out->dims[2]), in->dims[2]) > 0 ||
           excess(mts_plan_reach(conv, 1, out->dims[3]), in->dims[3]) > 0;
}

static bool reads_codes_by_rows(const layouter *l, const mts_member *member)
{
    return l->plan->members[member - l->stitched->members].variant == MTS_VARIANT_BYTES &&
           mts_bytes_by_rows(l->stitched, member);
}

/* Borders first: rows and columns of a phase plane depend on the largest border of all readers. A copy of one
   phase has no borders. */
static void need_split_border(layouter *l, const mts_member *member, mts_member_plan *how)
{
    const mts_attrs_conv *conv = &mts_member_node(l->stitched, member)->attrs.conv;
    const uint32_t in_place[2] = {1, 1};
    how->input_conversion = mts_conversion_of(l->plan, member->inputs[0],
                                              reads_codes_by_rows(l, member) ? in_place : conv->stride,
                                              how->variant == MTS_VARIANT_BYTES);
    mts_conversion *c = &l->plan->conversions[how->input_conversion];
    c->top = mts_u32_max(c->top, (uint32_t)conv->pad[0]);
    c->left = mts_u32_max(c->left, (uint32_t)conv->pad[1]);
    if (conv->kernel[0] != 1 || conv->kernel[1] != 1 || conv->pad[0] != 0 || conv->pad[1] != 0 ||
        reads_beyond(l, member, conv) || input_kind(l, c->source) == MTS_INPUT_ZERO_COPY) {
        c->phases = c->stride[0] * c->stride[1];
    }
}

static void need_split_size(layouter *l, const mts_member *member, uint32_t conversion)
{
    const mts_attrs_conv *conv = &mts_member_node(l->stitched, member)->attrs.conv;
    const mts_shape *out = value_shape(l, member->output);
    mts_conversion *c = &l->plan->conversions[conversion];
    const int64_t y = mts_plan_reach(conv, 0, out->dims[2]) + c->top;
    const int64_t x = mts_plan_reach(conv, 1, out->dims[3]) + c->left;
    c->rows = mts_u32_max(c->rows, (uint32_t)(y / c->stride[0] + 1));
    c->columns = mts_u32_max(c->columns, (uint32_t)(x / c->stride[1] + 1));
}

static void need_native_border(layouter *l, const mts_member *member)
{
    const mts_attrs_conv *conv = &mts_member_node(l->stitched, member)->attrs.conv;
    const mts_shape *in = value_shape(l, member->inputs[0]);
    const mts_shape *out = value_shape(l, member->output);
    cell *c = &l->cells[member->inputs[0]];
    c->pad_top = mts_u32_max(c->pad_top, (uint32_t)conv->pad[0]);
    c->pad_left = mts_u32_max(c->pad_left, (uint32_t)conv->pad[1]);
    c->pad_bottom = mts_u32_max(c->pad_bottom, excess(mts_plan_reach(conv, 0, out->dims[2]), in->dims[2]));
    c->pad_right = mts_u32_max(c->pad_right, excess(mts_plan_reach(conv, 1, out->dims[3]), in->dims[3]));
    need_row(l, member->inputs[0], (uint32_t)in->dims[3] + mts_u32_max(c->pad_left, c->pad_right));
}

/* A residual lies pixel by pixel beside the output; a dense one is copied into the class. */
static void tie_residual(layouter *l, const mts_member *member, mts_member_plan *how)
{
    const uint32_t residual = member->input_count > 4 ? member->inputs[4] : MTS_NONE;
    if (residual == MTS_NONE) {
        return;
    }
    const mts_shape *shape = value_shape(l, residual);
    if (!l->forced[residual]) {
        tie(l, member->output, residual);
        need_row(l, residual, (uint32_t)shape->dims[3]);
        return;
    }
    const uint32_t stride[2] = {1, 1};
    how->residual_conversion = mts_conversion_of(l->plan, residual, stride, false);
    mts_conversion *c = &l->plan->conversions[how->residual_conversion];
    c->rows = mts_u32_max(c->rows, (uint32_t)shape->dims[2] + c->top);
    c->columns = mts_u32_max(c->columns, (uint32_t)shape->dims[3] + c->left);
}

static bool by_pixels(const mts_member_plan *how)
{
    return how->variant == MTS_VARIANT_TILE || how->variant == MTS_VARIANT_DEPTHWISE ||
           how->variant == MTS_VARIANT_BYTES;
}

/* Whether a member reads its input's image where it lies, in rows of any length. */
static bool reads_rows(const layouter *l, const mts_member *member)
{
    const mts_attrs_conv *conv = &mts_member_node(l->stitched, member)->attrs.conv;
    const mts_member_plan *how = &l->plan->members[member - l->stitched->members];
    return (l->depthwise_rows || how->fused) && how->variant == MTS_VARIANT_DEPTHWISE &&
           mts_plan_by_rows(conv, (uint64_t)value_shape(l, member->output)->dims[3]) &&
           !l->forced[member->inputs[0]];
}

static bool reads_native(const layouter *l, const mts_member *member)
{
    const mts_attrs_conv *conv = &mts_member_node(l->stitched, member)->attrs.conv;
    if (l->plan->members[member - l->stitched->members].variant == MTS_VARIANT_BYTES) {
        return false; /* it reads codes */
    }
    return (conv->stride[0] == 1 && conv->stride[1] == 1 && !l->forced[member->inputs[0]]) ||
           reads_rows(l, member);
}

static void classify_members(layouter *l)
{
    const mts_stitched *s = l->stitched;
    for (uint32_t v = 0; v < s->value_count; v++) {
        l->forced[v] = s->values[v].member == MTS_NONE;
    }
    for (uint32_t m = 0; m < s->member_count; m++) {
        mts_member_plan *how = &l->plan->members[m];
        *how = (mts_member_plan){.variant = mts_plan_variant(s, &s->members[m]),
                                 .input_conversion = MTS_NONE,
                                 .residual_conversion = MTS_NONE,
                                 .codes_conversion = MTS_NONE};
        if (l->byte_products && by_pixels(how) && mts_bytes_accepts(s, &s->members[m], l->plan->grids)) {
            how->variant = MTS_VARIANT_BYTES;
        }
        if (MTS_HAS_PACKED && l->packed && mts_packed_takes(s, &s->members[m], how->variant)) {
            how->variant = MTS_VARIANT_PACKED;
        }
        const mts_node *node = mts_member_node(s, &s->members[m]);
        l->forced[s->members[m].output] = how->variant == MTS_VARIANT_FC || mts_plan_changes_rank(node) ||
                                          mts_place_scales_dense(s, &s->members[m]);
    }
}

/* Borders first, then sizes and ties: a border moves every reader's phase coordinates. */
static void form_classes(layouter *l)
{
    const mts_stitched *s = l->stitched;
    for (uint32_t m = 0; m < s->member_count; m++) {
        if (by_pixels(&l->plan->members[m]) && !reads_native(l, &s->members[m])) {
            need_split_border(l, &s->members[m], &l->plan->members[m]);
        }
    }
    if (l->byte_products) {
        mts_codes_link(l->plan);
    }
    for (uint32_t m = 0; m < s->member_count; m++) {
        const mts_member *member = &s->members[m];
        mts_member_plan *how = &l->plan->members[m];
        if (!by_pixels(how)) {
            continue;
        }
        need_row(l, member->output, (uint32_t)value_shape(l, member->output)->dims[3]);
        if (reads_rows(l, member)) {
            need_row(l, member->inputs[0], (uint32_t)value_shape(l, member->inputs[0])->dims[3]);
            l->cells[member->output].tied = true;
            l->cells[member->inputs[0]].tied = true;
        } else if (how->input_conversion == MTS_NONE) {
            need_native_border(l, member);
            tie(l, member->output, member->inputs[0]);
        } else {
            need_split_size(l, member, how->input_conversion);
            if (reads_codes_by_rows(l, member)) {
                l->cells[member->output].tied = true;
            } else {
                tie(l, member->output, conversion_cell(l, how->input_conversion));
            }
        }
        if (how->codes_conversion != MTS_NONE) {
            tie(l, member->output, conversion_cell(l, how->codes_conversion));
        }
        tie_residual(l, member, how);
        if (how->residual_conversion != MTS_NONE) {
            tie(l, member->output, conversion_cell(l, how->residual_conversion));
        }
    }
    for (uint32_t i = 0; i < l->plan->conversion_count; i++) {
        need_row(l, conversion_cell(l, i), l->plan->conversions[i].columns);
    }
}

static void join_borders(cell *into, const cell *from)
{
    into->pad_top = mts_u32_max(into->pad_top, from->pad_top);
    into->pad_bottom = mts_u32_max(into->pad_bottom, from->pad_bottom);
    into->pad_left = mts_u32_max(into->pad_left, from->pad_left);
    into->pad_right = mts_u32_max(into->pad_right, from->pad_right);
}

/* What lies in one storage has one row length and one border. */
static void join_places(layouter *l)
{
    const uint32_t count = l->stitched->value_count;
    for (uint32_t v = 0; v < count; v++) {
        uint32_t plane = 0;
        const uint32_t root = mts_place_root(l->places, v, &plane);
        l->cells[root].tied = l->cells[root].tied || l->cells[v].tied;
        join_borders(&l->cells[root], &l->cells[v]);
    }
    for (uint32_t v = 0; v < count; v++) {
        uint32_t plane = 0;
        const uint32_t root = mts_place_root(l->places, v, &plane);
        if (root != v && l->cells[root].tied) {
            need_row(l, v, (uint32_t)value_shape(l, v)->dims[value_shape(l, v)->rank - 1]);
            tie(l, root, v);
        }
        join_borders(&l->cells[v], &l->cells[root]);
    }
}

/* What would lie in planes without a border may lie in blocks of channels; what all its
   members take so, in packs. */
static mts_status choose_blocks(layouter *l, uint32_t tile_rows, mts_arena *arena)
{
    bool *flat = mts_arena_zero(arena, 2 * (size_t)l->stitched->value_count, sizeof *flat);
    bool *tied = flat ? flat + l->stitched->value_count : NULL;
    const mts_blocks_facts facts = {flat, tied, l->forced, l->dense, l->places, tile_rows};
    for (uint32_t v = 0; flat && v < l->stitched->value_count; v++) {
        const cell *c = &l->cells[v];
        const mts_shape *shape = value_shape(l, v);
        flat[v] = c->tied && c->pad_top + c->pad_bottom + c->pad_left + c->pad_right == 0 &&
                  l->cells[find_root(l->cells, v)].row == (uint32_t)shape->dims[shape->rank - 1];
        tied[v] = c->tied;
    }
    return !flat                         ? mts_fail_memory(l->error)
           : MTS_HAS_PACKED && l->packed ? mts_packed_choose(l->plan, &facts, l->blocks, arena, l->error)
                                         : mts_blocks_choose(l->plan, &facts, l->blocks, arena, l->error);
}

/* When the rows of all classes are known. */
static void reach_beyond(layouter *l)
{
    const mts_stitched *s = l->stitched;
    for (uint32_t m = 0; m < s->member_count; m++) {
        const mts_member *member = &s->members[m];
        if (reads_rows(l, member)) {
            uint32_t plane = 0;
            cell *in = &l->cells[mts_place_root(l->places, member->inputs[0], &plane)];
            in->beyond = mts_u32_max(in->beyond, 2 * l->cells[find_root(l->cells, member->output)].row);
        }
    }
}

static mts_status add_storage(layouter *l, const mts_storage *storage, uint64_t plane, uint64_t slack,
                              uint32_t *index)
{
    mts_plan *plan = l->plan;
    mts_storage *s = &plan->storages[plan->storage_count];
    *s = *storage;
    s->floats = (uint64_t)mts_storage_planes(s) * plane + s->gap + s->tail + slack;
    if (plane > INT32_MAX || s->floats > INT32_MAX) {
        return mts_fail(l->error, MTS_STATUS_LIMIT,
                        "a tensor of %llu floats is too large for the 32-bit offsets of a launch",
                        (unsigned long long)s->floats);
    }
    s->pitch = (uint32_t)plane;
    s->first = MTS_NONE;
    s->host = MTS_NONE;
    plan->import_value[plan->storage_count] = MTS_NONE;
    *index = plan->storage_count++;
    return MTS_STATUS_OK;
}

static mts_status add_dense(layouter *l, const mts_shape *shape, mts_storage_region region, uint32_t slack,
                            uint32_t *index)
{
    mts_storage s = {.region = region};
    mts_shape_pad(shape, s.dims);
    s.row = s.dims[5];
    return add_storage(l, &s, (uint64_t)s.dims[4] * s.dims[5], slack, index);
}

/* Floats behind a convolution's operand: flattened pixels run to the end of the last row and
   vector, so that a tap which ends at the image's last column reads up to a row and a vector
   beyond it; the mask drops the value. */
static uint64_t overrun(uint32_t row)
{
    return (uint64_t)row + 2 * MTS_PLAN_ALIGN;
}

/*
 * Floats from one plane to the next. Planes of a CPU lie apart by no multiple of 128 floats,
 * as those of 16x16 or 64x64 pixels would: they would share few sets of the first level
 * cache when a pixel of all channels is read.
 */
static uint64_t spread(const layouter *l, uint64_t plane)
{
    const bool shares = plane % (8 * (uint64_t)MTS_PLAN_ALIGN) == 0;
    return l->spread_planes && shares ? plane + MTS_PLAN_ALIGN : plane;
}

static mts_status add_padded(layouter *l, uint32_t value, uint32_t *index)
{
    const cell *c = &l->cells[value];
    mts_storage s = {.region = MTS_REGION_TRANSIENT, .row = l->cells[find_root(l->cells, value)].row};
    mts_shape_pad(value_shape(l, value), s.dims);
    const uint64_t before = (uint64_t)c->pad_top * s.row + c->pad_left;
    const uint64_t after = (uint64_t)c->pad_bottom * s.row + c->pad_right;
    const uint64_t gap = round_up(before > after ? before : after);
    if (gap > INT32_MAX) {
        return mts_fail(l->error, MTS_STATUS_LIMIT, "the padding of a convolution is too large");
    }
    s.gap = (uint32_t)gap;
    s.tail = s.gap;
    /* the last row's vector ends in its plane, also where a row is shorter than a vector */
    const uint64_t rows = s.dims[4] > 0 ? s.dims[4] - 1 : 0;
    const uint64_t pixels = round_up((uint64_t)s.dims[4] * s.row);
    const uint64_t vectors = round_up(rows * s.row + MTS_PLAN_ALIGN);
    const uint64_t plane = gap + (l->depthwise_rows && vectors > pixels ? vectors : pixels);
    /* what lies in one storage has planes equally far apart */
    uint32_t place = 0;
    const bool dense = l->dense[mts_place_root(l->places, value, &place)];
    return add_storage(l, &s, dense ? plane : spread(l, plane), overrun(s.row) + c->beyond, index);
}

static mts_status add_blocks(layouter *l, uint32_t value, uint32_t *index)
{
    const uint32_t lanes = MTS_HAS_PACKED && l->packed ? MTS_CHANNEL_PACK : MTS_CHANNEL_BLOCK;
    const mts_storage s = mts_storage_of_blocks(value_shape(l, value), lanes);
    return add_storage(l, &s, (uint64_t)s.pitch, 0, index);
}

static mts_status add_space_to_depth(layouter *l, uint32_t conversion)
{
    mts_conversion *c = &l->plan->conversions[conversion];
    const mts_shape *shape = value_shape(l, c->value);
    mts_storage s = {.region = MTS_REGION_TRANSIENT,
                     .row = l->cells[find_root(l->cells, conversion_cell(l, conversion))].row};
    mts_shape_pad(shape, s.dims);
    const uint64_t image = (uint64_t)s.dims[4] * s.row;
    s.dims[3] = (c->codes ? MTS_CODE_WORDS(s.dims[3]) : s.dims[3]) * c->phases;
    s.dims[4] = c->rows;
    s.dims[5] = c->columns;
    c->zero_copy = input_kind(l, c->source) == MTS_INPUT_ZERO_COPY;
    uint64_t plane = round_up((uint64_t)c->rows * s.row);
    if (c->producer != MTS_NONE) { /* which stores whole vectors */
        const uint64_t stored = round_up((uint64_t)c->top * s.row + c->left + round_up(image));
        plane = stored > plane ? stored : plane;
    }
    return add_storage(l, &s, spread(l, plane), overrun(s.row), &c->storage);
}

/* The value's own storage if it is dense, else a dense copy, added on first use. */
static mts_status dense_copy(layouter *l, uint32_t value, uint32_t *storage)
{
    mts_plan *plan = l->plan;
    const uint32_t made = mts_plan_dense_copy(plan, value);
    if (mts_storage_is_dense(&plan->storages[plan->value_storage[value]])) {
        *storage = plan->value_storage[value];
        return MTS_STATUS_OK;
    }
    if (made != MTS_NONE) {
        *storage = plan->conversions[made].storage;
        return MTS_STATUS_OK;
    }
    mts_conversion *c = &plan->conversions[plan->conversion_count++];
    *c = (mts_conversion){.value = value, .source = value, .producer = MTS_NONE, .from = MTS_NONE};
    const mts_status status = add_dense(l, value_shape(l, value), MTS_REGION_TRANSIENT, 0, &c->storage);
    *storage = c->storage;
    return status;
}

/* The arena holds an input between runs, or only while it is read. */
static mts_status store_input(layouter *l, uint32_t value)
{
    uint32_t *storage = &l->plan->value_storage[value];
    const bool stays = input_kind(l, value) == MTS_INPUT_ARENA;
    const mts_storage_region region = stays ? MTS_REGION_INPUT : MTS_REGION_TRANSIENT;
    const mts_status status = add_dense(l, value_shape(l, value), region, 0, storage);
    if (status == MTS_STATUS_OK && !stays) {
        l->plan->import_value[*storage] = value;
    }
    return status;
}

/* In order of production, so that a RESHAPE finds its input's storage. */
static mts_status store_values(layouter *l)
{
    const mts_stitched *s = l->stitched;
    mts_status status = MTS_STATUS_OK;
    for (uint32_t v = 0; status == MTS_STATUS_OK && v < s->value_count; v++) {
        if (s->values[v].member == MTS_NONE) {
            status = store_input(l, v);
        }
    }
    for (uint32_t m = 0; status == MTS_STATUS_OK && m < s->member_count; m++) {
        const mts_member *member = &s->members[m];
        uint32_t *storage = &l->plan->value_storage[member->output];
        const mts_op op = mts_member_node(s, member)->op;
        const bool alias = op == MTS_OP_RESHAPE && !l->plan->members[m].in_place;
        const uint32_t zeros =
            MTS_HAS_PACKED && l->packed ? mts_packed_zeros_behind(value_shape(l, member->output)) : 0;
        if (alias || op == MTS_OP_GATHER) {
            status = dense_copy(l, member->inputs[0], storage);
        }
        if (status != MTS_STATUS_OK || alias) {
            continue;
        }
        status = (MTS_HAS_ROW_LANES || MTS_HAS_PACKED) && l->blocks[member->output]
                     ? add_blocks(l, member->output, storage)
                 : l->cells[member->output].tied && !mts_blocks_end(l->plan, l->blocks, m)
                     ? add_padded(l, member->output, storage)
                     : add_dense(l, value_shape(l, member->output), MTS_REGION_TRANSIENT, zeros, storage);
    }
    const uint32_t count = l->plan->conversion_count;
    for (uint32_t i = 0; status == MTS_STATUS_OK && i < count; i++) {
        if (l->plan->conversions[i].space_to_depth) {
            status = add_space_to_depth(l, i);
        }
    }
    return status;
}

/* A graph output is read where it lies if that is dense and not an input, else from a dense copy. */
static mts_status store_outputs(layouter *l)
{
    const mts_stitched *s = l->stitched;
    for (uint32_t g = 0; g < s->graph_count; g++) {
        for (uint32_t o = 0; o < s->graphs[g]->output_count; o++) {
            uint32_t *storage = &l->plan->output_storage[g][o];
            const uint32_t value = s->value_of[g][s->graphs[g]->outputs[o].value];
            *storage = MTS_NONE;
            if (value == MTS_NONE) {
                continue;
            }
            const mts_status status = dense_copy(l, value, storage);
            if (status != MTS_STATUS_OK) {
                return status;
            }
            if (l->plan->storages[*storage].region == MTS_REGION_TRANSIENT) {
                l->plan->storages[*storage].region = MTS_REGION_OUTPUT;
            }
        }
    }
    return MTS_STATUS_OK;
}

/* Variants of convolutions, values that have to be dense, and what is in place. */
static mts_status decide_in_place(layouter *l, mts_arena *arena)
{
    const mts_stitched *s = l->stitched;
    l->plan->members = mts_arena_zero(arena, s->member_count, sizeof *l->plan->members);
    l->forced = mts_arena_zero(arena, s->value_count, sizeof *l->forced);
    l->places = mts_arena_zero(arena, s->value_count, sizeof *l->places);
    l->plan->grids = mts_arena_zero(arena, s->value_count, sizeof *l->plan->grids);
    l->dense = mts_arena_zero(arena, s->value_count, sizeof *l->dense);
    if (!l->plan->members || !l->forced || !l->places || !l->plan->grids || !l->dense) {
        return mts_fail_memory(l->error);
    }
    mts_bytes_grids(s, l->plan->grids);
    mts_plan_mark_dense(s, l->dense);
    classify_members(l);
    mts_status status = l->byte_products ? mts_codes_choose(l->plan, arena, l->error) : MTS_STATUS_OK;
    MTS_TRY(status, mts_places_find(l->plan, l->forced, l->places, arena, l->error));
    MTS_TRY(status, mts_transposes_find(l->plan, l->inputs, l->dense, l->forced, l->places, arena, l->error));
    MTS_TRY(status, mts_fuse_find(l->plan, l->fuse, l->forced, arena, l->error));
    return status;
}

mts_status mts_layout_members(const mts_stitched *stitched, mts_arena *arena, const mts_member_plan **members,
                              mts_error *error)
{
    mts_plan plan = {.stitched = stitched};
    layouter l = {.plan = &plan, .stitched = stitched, .error = error};
    const mts_status status = decide_in_place(&l, arena);
    *members = plan.members;
    return status;
}

mts_status mts_layout_assign(mts_plan *plan, const mts_plan_request *request, mts_arena *arena,
                             mts_error *error)
{
    const mts_stitched *s = plan->stitched;
    layouter l = {.plan = plan,
                  .stitched = s,
                  .inputs = request->inputs,
                  .fuse = request->fuse,
                  .packed = request->packed,
                  .depthwise_rows = request->depthwise_rows,
                  .byte_products = request->byte_products,
                  .spread_planes = request->spread_planes,
                  .error = error};
    const size_t conversions = mts_conversions_most(s);
    plan->conversion_count = plan->storage_count = 0;
    plan->conversions = mts_arena_zero(arena, conversions, sizeof *plan->conversions);
    plan->storages = mts_arena_zero(arena, conversions + s->value_count, sizeof *plan->storages);
    plan->import_value = mts_arena_zero(arena, conversions + s->value_count, sizeof *plan->import_value);
    plan->value_storage = mts_arena_zero(arena, s->value_count, sizeof *plan->value_storage);
    l.cells = mts_arena_zero(arena, conversions + s->value_count, sizeof *l.cells);
    l.blocks = mts_arena_zero(arena, s->value_count, sizeof *l.blocks);
    if (!l.blocks || !plan->conversions || !plan->storages || !plan->import_value || !plan->value_storage ||
        !l.cells) {
        return mts_fail_memory(error);
    }
    for (size_t i = 0; i < conversions + s->value_count; i++) {
        l.cells[i].parent = (uint32_t)i;
    }
    mts_status status = decide_in_place(&l, arena);
    if (status == MTS_STATUS_OK) {
        form_classes(&l);
        join_places(&l);
        reach_beyond(&l);
        mts_places_join_dense(l.places, s->value_count, l.dense);
        if ((MTS_HAS_ROW_LANES && request->tile_rows > 0) || (MTS_HAS_PACKED && request->packed)) {
            status = choose_blocks(&l, request->tile_rows, arena);
        }
    }
    MTS_TRY(status, store_values(&l));
    if (status == MTS_STATUS_OK) {
        mts_places_store(plan, l.places);
        mts_transposes_store(plan);
        status = store_outputs(&l);
    }
    return status;
}
