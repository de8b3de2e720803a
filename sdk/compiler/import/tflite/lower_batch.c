/*
 * lower_batch.c: SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND, which converters put around
 * dilated convolutions.
 *
 * A block of an image is cut into one image for each of its positions. Both directions
 * are a reshape, a transpose and a reshape; what is padded before is cropped after.
 */
#include <string.h>

#include "compiler/import/tflite/lower.h"

#define AXES MTS_TENSOR_RANK_MAX

/* Operands 1 and 2: the size of the block in each of its `count` dimensions, and what is
   added or cropped. */
typedef struct blocks {
    uint32_t count;
    int64_t size[AXES], edges[2 * AXES];
    /* positions of a block */
    int64_t total;
} blocks;

static bool read_blocks(mts_tflite *model, uint32_t rank, blocks *out)
{
    *out = (blocks){.total = 1};
    out->count = mts_tflite_ints(model, 1, "the block", out->size, AXES);
    const uint32_t edges = mts_tflite_ints(model, 2, "the padding", out->edges, 2 * AXES);
    if (!mts_import_ok(model->import)) {
        return false;
    }
    if (out->count < 1 || out->count + 1 > rank || edges != 2 * out->count) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "a block of %u dimensions does not fit rank %u",
                        out->count, rank);
        return false;
    }
    if (rank + out->count > AXES) {
        mts_import_fail(model->import, MTS_STATUS_LIMIT,
                        "a block of %u dimensions in rank %u needs rank %u, the most is %d", out->count, rank,
                        rank + out->count, AXES);
        return false;
    }
    for (uint32_t i = 0; i < out->count; i++) {
        const bool fits = out->size[i] >= 1 && out->size[i] <= 4096 && out->total <= 4096 &&
                          out->edges[2 * i] >= 0 && out->edges[2 * i + 1] >= 0 &&
                          out->edges[2 * i] <= INT32_MAX && out->edges[2 * i + 1] <= INT32_MAX;
        if (!fits) {
            mts_import_fail(model->import, MTS_STATUS_MALFORMED,
                            "dimension %u: a block of %lld with edges of %lld and %lld is out of range", i,
                            (long long)out->size[i], (long long)out->edges[2 * i],
                            (long long)out->edges[2 * i + 1]);
            return false;
        }
        out->total *= out->size[i];
    }
    return true;
}

/* The operand as the file has it, and its blocks. NULL: failed. */
static mts_import_value *begin(mts_tflite *model, blocks *block)
{
    mts_tflite_tensor *tensor = mts_tflite_in(model, 0);
    return read_blocks(model, tensor->shape.rank, block) ? mts_tflite_native(model, tensor) : NULL;
}

static mts_import_value *pad(mts_tflite *model, mts_import_value *x, const blocks *block)
{
    mts_attrs attrs = {.pad = {.mode = MTS_PAD_CONSTANT}};
    bool any = false;
    for (uint32_t i = 0; i < block->count; i++) {
        attrs.pad.before[1 + i] = block->edges[2 * i];
        attrs.pad.after[1 + i] = block->edges[2 * i + 1];
        any = any || block->edges[2 * i] || block->edges[2 * i + 1];
    }
    return any ? mts_import_emit(model->import, MTS_OP_PAD, &attrs, &x, 1) : x;
}

void mts_tflite_lower_space_to_batch(mts_tflite *model)
{
    blocks block;
    mts_import_value *x = begin(model, &block);
    x = x ? pad(model, x, &block) : NULL;
    if (!x) {
        return;
    }
    const uint32_t rank = x->shape.rank;
    /* [N, H, W, C] -> [N, H/b, b, W/b, b, C] -> [b, b, N, H/b, W/b, C] */
    mts_shape wide = {.rank = 1, .dims = {x->shape.dims[0]}};
    mts_shape out = {.rank = rank, .dims = {x->shape.dims[0] * block.total}};
    uint32_t perm[AXES] = {0};
    perm[block.count] = 0;
    for (uint32_t i = 1; i < rank; i++) {
        const bool cut = i <= block.count;
        const int64_t size = cut ? block.size[i - 1] : 1;
        if (x->shape.dims[i] % size != 0) {
            mts_import_fail(model->import, MTS_STATUS_MALFORMED,
                            "dimension %u of %lld is not a multiple of its block of %lld", i,
                            (long long)x->shape.dims[i], (long long)size);
            return;
        }
        out.dims[i] = x->shape.dims[i] / size;
        perm[block.count + i] = wide.rank;
        wide.dims[wide.rank++] = out.dims[i];
        if (cut) {
            perm[i - 1] = wide.rank;
            wide.dims[wide.rank++] = size;
        }
    }
    x = mts_import_emit_reshape(model->import, x, &wide);
    x = x ? mts_import_emit_transpose(model->import, x, perm) : NULL;
    mts_tflite_out(model, 0, x ? mts_import_emit_reshape(model->import, x, &out) : NULL, false);
}

static mts_import_value *crop(mts_tflite *model, mts_import_value *x, const blocks *block)
{
    mts_attrs_slice part = mts_import_whole(&x->shape);
    for (uint32_t i = 1; i <= block->count; i++) {
        part.start[i] = block->edges[2 * (i - 1)];
        part.size[i] -= part.start[i] + block->edges[2 * (i - 1) + 1];
        if (part.size[i] < 1) {
            mts_import_fail(model->import, MTS_STATUS_MALFORMED, "nothing is left of dimension %u of %lld", i,
                            (long long)x->shape.dims[i]);
            return NULL;
        }
    }
    return mts_import_emit_slice(model->import, x, &part);
}

void mts_tflite_lower_batch_to_space(mts_tflite *model)
{
    blocks block;
    mts_import_value *x = begin(model, &block);
    if (!x || x->shape.dims[0] % block.total != 0) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "the batch is no multiple of the block");
        return;
    }
    const uint32_t rank = x->shape.rank;
    /* [b*b*N, H, W, C] -> [b, b, N, H, W, C] -> [N, H, b, W, b, C] */
    mts_shape wide = {.rank = block.count + rank}, out = x->shape;
    uint32_t perm[AXES] = {0}, at = 0;
    memcpy(wide.dims, block.size, block.count * sizeof block.size[0]);
    memcpy(wide.dims + block.count, x->shape.dims, rank * sizeof x->shape.dims[0]);
    wide.dims[block.count] = out.dims[0] = x->shape.dims[0] / block.total;
    for (uint32_t i = 0; i < rank; i++) {
        perm[at++] = block.count + i;
        if (i >= 1 && i <= block.count) {
            perm[at++] = i - 1;
            out.dims[i] *= block.size[i - 1];
        }
    }
    x = mts_import_emit_reshape(model->import, x, &wide);
    x = x ? mts_import_emit_transpose(model->import, x, perm) : NULL;
    x = x ? mts_import_emit_reshape(model->import, x, &out) : NULL;
    mts_tflite_out(model, 0, x ? crop(model, x, &block) : NULL, false);
}
