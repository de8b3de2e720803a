/*
 * densify.c: sparse constants of TensorFlow Lite as dense ones.
 *
 * A sparse tensor is stored as a tree with one level for each dimension, in the order
 * that the file states, and then one for each dimension that is cut into blocks. A dense
 * level has all its positions, a sparse one lists them for each node of the level above.
 * The nodes of the last level are the stored elements.
 */
#include "compiler/import/tflite/model.h"

#include <string.h>

#define LEVELS_MOST (2 * MTS_TENSOR_RANK_MAX)

typedef struct sparse_level {
    int64_t size;
    bool is_dense;
    /* positions of node p are indices[segments[p] .. segments[p + 1]) */
    mts_flat_vector segments, indices;
    mts_flat_kind segments_kind, indices_kind;
    /* of an element, for each position of this level */
    int64_t stride;
} sparse_level;

typedef struct sparse_form {
    uint32_t rank, count;
    uint32_t dim[LEVELS_MOST]; /* the tensor's dimension that a level counts */
    sparse_level levels[LEVELS_MOST];
} sparse_form;

static mts_flat_vector read_numbers(mts_tflite *model, const mts_flat_table *table, uint32_t field,
                                    mts_flat_kind *kind)
{
    static const mts_flat_kind kinds[3] = {MTS_FLAT_I32, MTS_FLAT_U16, MTS_FLAT_U8};
    static const size_t sizes[3] = {4, 2, 1};
    const int64_t type = mts_flat_int(&model->flat, table, field, MTS_FLAT_U8, 0);
    if (type < 1 || type > 3) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED, "a list of sparse positions has type %lld",
                        (long long)type);
        return (mts_flat_vector){0};
    }
    const mts_flat_table list = mts_flat_child(&model->flat, table, field + 1);
    *kind = kinds[type - 1];
    return mts_flat_list(&model->flat, &list, 0, sizes[type - 1]);
}

/* Which dimension each level counts: a permutation of all, then those that the block map
   names. */
static bool read_order(mts_tflite *model, const mts_tflite_tensor *tensor, sparse_form *form)
{
    const mts_flat_vector order = mts_flat_list(&model->flat, &tensor->sparsity, 0, 4);
    const mts_flat_vector blocks = mts_flat_list(&model->flat, &tensor->sparsity, 1, 4);
    const uint32_t rank = tensor->shape.rank;
    uint32_t seen = 0, cut = 0;
    form->rank = rank;
    form->count = order.count;
    bool fits = blocks.count <= rank && order.count == rank + blocks.count;
    for (uint32_t i = 0; fits && i < order.count; i++) {
        const int64_t at = mts_flat_at(&model->flat, &order, MTS_FLAT_I32, i);
        /* dimensions come first, then blocks */
        fits = at >= (i < rank ? 0 : (int64_t)rank) &&
               at < (i < rank ? (int64_t)rank : (int64_t)order.count) && (seen >> at & 1u) == 0;
        if (fits) {
            const int64_t dim =
                i < rank ? at : mts_flat_at(&model->flat, &blocks, MTS_FLAT_I32, (uint32_t)at - rank);
            fits = dim >= 0 && dim < (int64_t)rank && (i < rank || (cut >> dim & 1u) == 0);
            seen |= 1u << at;
            cut |= fits && i >= rank ? 1u << dim : 0;
            form->dim[i] = fits ? (uint32_t)dim : 0;
        }
    }
    return fits;
}

/* Sizes of levels must multiply to those of the tensor. */
static bool read_levels(mts_tflite *model, const mts_tflite_tensor *tensor, sparse_form *form)
{
    const mts_flat_vector list = mts_flat_list(&model->flat, &tensor->sparsity, 2, 4);
    int64_t block[MTS_TENSOR_RANK_MAX] = {1, 1, 1, 1, 1, 1}, stride = 1;
    bool fits = list.count == form->count;
    for (uint32_t i = 0; fits && i < form->count; i++) {
        sparse_level *level = &form->levels[i];
        const mts_flat_table table = mts_flat_table_at(&model->flat, &list, i);
        level->is_dense = mts_flat_int(&model->flat, &table, 0, MTS_FLAT_I8, 0) == 0;
        if (level->is_dense) {
            level->size = mts_flat_int(&model->flat, &table, 1, MTS_FLAT_I32, 0);
        } else {
            level->segments = read_numbers(model, &table, 2, &level->segments_kind);
            level->indices = read_numbers(model, &table, 4, &level->indices_kind);
            /* a sparse level covers what its dimension leaves to it */
            level->size = -1;
        }
        const uint32_t dim = form->dim[i];
        const int64_t whole = tensor->shape.dims[dim];
        fits = level->size == -1 || (level->size >= 1 && level->size <= whole);
        block[dim] = i < form->rank ? block[dim] : level->size;
    }
    /* blocks are stated by their size; a dimension has as many positions as blocks fit */
    for (uint32_t i = 0; fits && i < form->count; i++) {
        const uint32_t dim = form->dim[i];
        const int64_t whole = tensor->shape.dims[dim], cut = block[dim];
        sparse_level *level = &form->levels[i];
        fits = cut >= 1 && whole % cut == 0;
        if (fits && i < form->rank) {
            fits = level->size == -1 || level->size == whole / cut;
            level->size = whole / cut;
        }
    }
    for (uint32_t i = form->rank; fits && i-- > 0;) {
        const int64_t inner = stride;
        stride *= tensor->shape.dims[i];
        for (uint32_t j = 0; j < form->count; j++) {
            const bool is_block = j >= form->rank;
            if (form->dim[j] == i) {
                form->levels[j].stride = is_block ? inner : inner * block[i];
            }
        }
    }
    return fits && mts_import_ok(model->import);
}

/* The nodes of the next level from those of this one: an element's number each. Returns
 * their count, or SIZE_MAX if the lists do not fit. */
static size_t descend(mts_tflite *model, const sparse_level *level, const int64_t *from, size_t count,
                      int64_t *to, size_t most)
{
    size_t made = 0;
    if (!level->is_dense && level->segments.count != count + 1) {
        return SIZE_MAX;
    }
    for (size_t p = 0; p < count; p++) {
        int64_t first = 0, end = level->size;
        if (!level->is_dense) {
            first = mts_flat_at(&model->flat, &level->segments, level->segments_kind, (uint32_t)p);
            end = mts_flat_at(&model->flat, &level->segments, level->segments_kind, (uint32_t)p + 1);
            if (first < 0 || end < first || end > (int64_t)level->indices.count) {
                return SIZE_MAX;
            }
        }
        if ((size_t)(end - first) > most - made) {
            return SIZE_MAX;
        }
        for (int64_t i = first; i < end; i++) {
            const int64_t at = level->is_dense ? i
                                               : mts_flat_at(&model->flat, &level->indices,
                                                             level->indices_kind, (uint32_t)i);
            if (at < 0 || at >= level->size) {
                return SIZE_MAX;
            }
            to[made++] = from[p] + at * level->stride;
        }
    }
    return made;
}

void mts_tflite_densify(mts_tflite *model, const mts_tflite_tensor *tensor, size_t size, unsigned char *out)
{
    const size_t most = mts_shape_count(&tensor->shape);
    sparse_form form = {0};
    bool fits = read_order(model, tensor, &form) && read_levels(model, tensor, &form) && most > 0;
    int64_t *from = fits ? mts_arena_zero(&model->import->scratch, most, sizeof *from) : NULL;
    int64_t *to = from ? mts_arena_zero(&model->import->scratch, most, sizeof *to) : NULL;
    size_t count = 1;
    if (fits && !to) {
        mts_import_fail(model->import, MTS_STATUS_OUT_OF_MEMORY, "not enough memory for a sparse constant");
    }
    for (uint32_t i = 0; to && fits && i < form.count; i++) {
        count = descend(model, &form.levels[i], from, count, to, most);
        fits = count != SIZE_MAX;
        int64_t *other = from;
        from = to;
        to = other;
    }
    if (!fits || (mts_import_ok(model->import) && tensor->bytes != count * size)) {
        mts_import_fail(model->import, MTS_STATUS_MALFORMED,
                        "tensor '%s': its sparse form does not fit its shape", tensor->name);
    }
    for (size_t i = 0; mts_import_ok(model->import) && i < count; i++) {
        memcpy(out + (size_t)from[i] * size, tensor->data + i * size, size);
    }
}
