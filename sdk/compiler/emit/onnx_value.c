/*
 * onnx_value.c: values and constants. In a model of one graph a constant is an
 * initialiser in float32. In a model of several graphs each block of weights is one
 * initialiser, and nodes put a constant of several blocks together, which run-times do
 * once, when they load the model.
 */
#include "compiler/emit/onnx_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/* Parts in all bands of a constant (below); one of more is written as a copy. */
#define PARTS_MOST 65536u

float *mts_onnx_dense(mts_onnx *onnx, uint32_t value)
{
    const mts_value *constant = &onnx->graph->values[value];
    float *data = mts_onnx_alloc(onnx, mts_shape_count(&constant->shape), sizeof(*data));
    if (data) {
        mts_value_read_f32(constant, data);
    }
    return data;
}

/* What becomes of a constant. */
typedef struct parts {
    mts_onnx *onnx;
    const mts_value *value;
    /* The blocks from left to right. */
    mts_block_ref *refs;
    /* First rows of bands, and the row behind the last one. */
    uint32_t *cuts;
    uint32_t cut_count;
} parts;

static const char *number_text(mts_onnx *onnx, const char *format, uint32_t number)
{
    char text[32];
    (void)snprintf(text, sizeof text, format, number);
    char *copy = onnx->failed ? NULL : mts_arena_string(onnx->arena, text);
    onnx->failed = onnx->failed || !copy;
    return copy;
}

/* A block has the constant's shape but for its rows and columns. */
static mts_shape shape_of_block(const mts_value *value, const mts_block_ref *ref)
{
    mts_shape shape = value->shape;
    if (shape.rank > 0) {
        shape.dims[0] = ref->out_count;
    }
    if (shape.rank > 1) {
        shape.dims[1] = ref->in_count;
    }
    return shape;
}

/* Constants of other shapes may have the same bytes: a product and a convolution of one
   pixel. */
static const char *block_name(mts_onnx *onnx, const mts_value *value, const mts_block_ref *ref)
{
    const mts_shape shape = shape_of_block(value, ref);
    mts_onnx_block *known = ref->block < onnx->shared->block_count ? &onnx->shared->blocks[ref->block] : NULL;
    if (!known) {
        return mts_onnx_data_const(onnx, NULL, value->dtype, &shape, ref->data);
    }
    if (!known->name) {
        known->shape = shape;
        known->name = mts_onnx_data_const(onnx, number_text(onnx, "mts.b%u", ref->block), value->dtype,
                                          &shape, ref->data);
    }
    return mts_shape_equal(&known->shape, &shape)
               ? known->name
               : mts_onnx_shaped(onnx, "Reshape", known->name, shape.dims, shape.rank, NULL);
}

/* Rows first to end - 1 of the constant, of those that a block holds. */
static const char *rows_of(mts_onnx *onnx, const mts_value *value, const mts_block_ref *ref, uint32_t first,
                           uint32_t end)
{
    const int64_t axis = 0, from = (int64_t)first - ref->out_first, to = (int64_t)end - ref->out_first;
    const char *name = block_name(onnx, value, ref);
    if (from == 0 && to == ref->out_count) {
        return name;
    }
    const char *inputs[4] = {name, mts_onnx_ints_const(onnx, &from, 1), mts_onnx_ints_const(onnx, &to, 1),
                             mts_onnx_ints_const(onnx, &axis, 1)};
    const char *rows = mts_onnx_temporary(onnx);
    (void)mts_onnx_node(onnx, "Slice", inputs, 4, rows);
    return rows;
}

static const char *join(mts_onnx *onnx, const char *const *names, uint32_t count, int64_t axis)
{
    const char *joined = count == 1 ? names[0] : mts_onnx_temporary(onnx);
    if (count > 1) {
        mts_onnx_int(onnx, mts_onnx_node(onnx, "Concat", names, count, joined), "axis", axis);
    }
    return joined;
}

static int compare_columns(const void *left, const void *right)
{
    const mts_block_ref *a = left, *b = right;
    return mts_order(MTS_COMPARE(a->in_first, b->in_first), MTS_COMPARE(a->out_first, b->out_first));
}

static int compare_numbers(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return MTS_COMPARE(*a, *b);
}

/* Bands end where a block begins or ends, so each is made of whole rows of some blocks,
   side by side. */
static bool find_bands(parts *p)
{
    const uint32_t count = p->value->block_count;
    p->refs = mts_onnx_alloc(p->onnx, count, sizeof *p->refs);
    p->cuts = mts_onnx_alloc(p->onnx, 2 * (size_t)count, sizeof *p->cuts);
    if (!p->refs || !p->cuts) {
        return false;
    }
    memcpy(p->refs, p->value->blocks, count * sizeof *p->refs);
    qsort(p->refs, count, sizeof *p->refs, compare_columns);
    for (uint32_t i = 0; i < count; i++) {
        p->cuts[2 * i] = p->refs[i].out_first;
        p->cuts[2 * i + 1] = p->refs[i].out_first + p->refs[i].out_count;
    }
    qsort(p->cuts, 2 * (size_t)count, sizeof *p->cuts, compare_numbers);
    for (uint32_t i = 0; i < 2 * count; i++) {
        if (p->cut_count == 0 || p->cuts[p->cut_count - 1] != p->cuts[i]) {
            p->cuts[p->cut_count++] = p->cuts[i];
        }
    }
    return true;
}

static const char *band(const parts *p, uint32_t first, uint32_t end, const char **names)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->value->block_count && !p->onnx->failed; i++) {
        const mts_block_ref *ref = &p->refs[i];
        if (ref->out_first <= first && ref->out_first + ref->out_count >= end) {
            names[count++] = rows_of(p->onnx, p->value, ref, first, end);
        }
    }
    return p->onnx->failed ? NULL : join(p->onnx, names, count, 1);
}

/* The constant in its own type, or, of too many parts, a copy in float32. */
static const char *assemble(mts_onnx *onnx, uint32_t number, bool *copied)
{
    parts p = {.onnx = onnx, .value = &onnx->graph->values[number]};
    if (p.value->block_count == 1) {
        return block_name(onnx, p.value, p.value->blocks);
    }
    if (!find_bands(&p)) {
        return NULL;
    }
    const uint32_t bands = p.cut_count - 1;
    *copied = (uint64_t)bands * p.value->block_count > PARTS_MOST;
    if (*copied) {
        return mts_onnx_floats_const(onnx, NULL, &p.value->shape, mts_onnx_dense(onnx, number));
    }
    const char **names = mts_onnx_alloc(onnx, p.value->block_count, sizeof *names);
    const char **rows = mts_onnx_alloc(onnx, bands, sizeof *rows);
    for (uint32_t i = 0; names && rows && i < bands && !onnx->failed; i++) {
        rows[i] = band(&p, p.cuts[i], p.cuts[i + 1], names);
    }
    return onnx->failed ? NULL : join(onnx, rows, bands, 0);
}

/* A constant of a model of several graphs. Returns its name. */
static const char *of_blocks(mts_onnx *onnx, uint32_t value)
{
    const mts_type dtype = onnx->graph->values[value].dtype;
    bool copied = false;
    const char *name = assemble(onnx, value, &copied);
    if (name && dtype != MTS_TYPE_FLOAT32 && !copied) {
        name = mts_onnx_cast(onnx, name, MTS_TYPE_FLOAT32, NULL);
    }
    if (name && dtype == MTS_TYPE_INT8 && !copied) {
        name = mts_onnx_two(onnx, "Mul", name, mts_onnx_float_const(onnx, MTS_INT8_STEP), NULL);
    }
    onnx->failed = onnx->failed || !name;
    onnx->names[value] = name;
    return name;
}

const char *mts_onnx_value(mts_onnx *onnx, uint32_t value)
{
    if (value == MTS_NONE) {
        return "";
    }
    const mts_value *constant = &onnx->graph->values[value];
    if (constant->kind == MTS_VALUE_CONST && !onnx->stored[value]) {
        onnx->stored[value] = true;
        if (onnx->shared) {
            return of_blocks(onnx, value);
        }
        bool whole = constant->dtype == MTS_TYPE_FLOAT32 && constant->block_count == 1;
        (void)mts_onnx_floats_const(onnx, onnx->names[value], &constant->shape,
                                    whole ? constant->blocks[0].data : mts_onnx_dense(onnx, value));
    }
    return onnx->names[value];
}
