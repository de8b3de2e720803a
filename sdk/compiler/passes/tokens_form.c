/*
 * tokens_form.c: the two forms of values, and constants in them.
 */
#include "compiler/passes/tokens_work.h"

#include <string.h>

mts_status mts_tokens_short(const mts_tokens_work *work)
{
    return mts_fail_memory(work->error);
}

mts_token_matrix mts_tokens_matrix(const mts_shape *shape)
{
    mts_token_matrix m = {1, 1, 1};
    for (uint32_t i = 0; i < shape->rank; i++) {
        int64_t *to = i + 1 == shape->rank ? &m.channels : i + 2 == shape->rank ? &m.rows : &m.images;
        *to *= shape->dims[i];
    }
    return m;
}

mts_shape mts_tokens_transposed_shape(const mts_shape *shape)
{
    const mts_token_matrix m = mts_tokens_matrix(shape);
    return (mts_shape){.rank = 4, .dims = {m.images, m.channels, 1, m.rows}};
}

bool mts_tokens_uniform(const mts_graph *graph, uint32_t value, float *number)
{
    const mts_value *v = value == MTS_NONE ? NULL : &graph->values[value];
    if (!v || v->kind != MTS_VALUE_CONST || v->dtype != MTS_TYPE_FLOAT32 || v->block_count != 1 ||
        mts_shape_count(&v->shape) == 0) {
        return false;
    }
    const size_t count = mts_shape_count(&v->shape);
    mts_value_read_run(v, v->blocks[0].data, 0, 1, number);
    for (size_t i = 1; i < count; i++) {
        float other = 0.0f;
        mts_value_read_run(v, v->blocks[0].data, i, 1, &other);
        if (!(other >= *number && other <= *number)) {
            return false;
        }
    }
    return true;
}

static mts_status reshape(mts_tokens_work *work, uint32_t value, const mts_shape *shape, uint32_t *out)
{
    const mts_attrs attrs = {.reshape = {.shape = *shape}};
    return mts_graph_add_node(work->to, MTS_OP_RESHAPE, NULL, &value, 1, &attrs, out, work->error);
}

/* The last two dimensions change places. */
static mts_status swap(mts_tokens_work *work, uint32_t value, uint32_t *out)
{
    mts_attrs attrs = {.transpose = {.perm = {0, 1, 2, 3, 4, 5}}};
    const uint32_t rank = work->to->values[value].shape.rank;
    attrs.transpose.perm[rank - 2] = rank - 1;
    attrs.transpose.perm[rank - 1] = rank - 2;
    return mts_graph_add_node(work->to, MTS_OP_TRANSPOSE, NULL, &value, 1, &attrs, out, work->error);
}

static mts_status carry_constant(mts_tokens_work *work, const mts_value *from, uint32_t *out)
{
    const uint32_t made = mts_graph_add_const(work->to, from->name, from->dtype, &from->shape, NULL);
    if (made == MTS_NONE) {
        return mts_tokens_short(work);
    }
    work->to->values[made].blocks = from->blocks;
    work->to->values[made].block_count = from->block_count;
    *out = made;
    return MTS_STATUS_OK;
}

mts_status mts_tokens_plain(mts_tokens_work *work, uint32_t value, uint32_t *out)
{
    mts_tokens_form *form = &work->forms[value];
    const mts_value *from = &work->from->values[value];
    mts_status status = MTS_STATUS_OK;
    if (form->plain == MTS_NONE && from->kind == MTS_VALUE_CONST) {
        status = carry_constant(work, from, &form->plain);
    } else if (form->plain == MTS_NONE) {
        mts_shape swapped = from->shape;
        swapped.dims[swapped.rank - 2] = from->shape.dims[swapped.rank - 1];
        swapped.dims[swapped.rank - 1] = from->shape.dims[swapped.rank - 2];
        const bool stays = mts_tokens_matrix(&from->shape).rows == 1;
        uint32_t view = MTS_NONE;
        status = reshape(work, form->transposed, stays ? &from->shape : &swapped, &view);
        form->plain = view;
        MTS_TRY(status, stays ? MTS_STATUS_OK : swap(work, view, &form->plain));
    }
    *out = form->plain;
    return status;
}

mts_status mts_tokens_transposed(mts_tokens_work *work, uint32_t value, uint32_t *out)
{
    mts_tokens_form *form = &work->forms[value];
    mts_status status = MTS_STATUS_OK;
    if (form->transposed == MTS_NONE) {
        const mts_shape *shape = &work->from->values[value].shape;
        const mts_shape transposed = mts_tokens_transposed_shape(shape);
        uint32_t swapped = MTS_NONE;
        status = mts_tokens_plain(work, value, &swapped);
        MTS_TRY(status, mts_tokens_matrix(shape).rows == 1 ? MTS_STATUS_OK : swap(work, swapped, &swapped));
        MTS_TRY(status, reshape(work, swapped, &transposed, &form->transposed));
    }
    *out = form->transposed;
    return status;
}

/* Leading dimensions of 1, or those of the value. */
bool mts_tokens_constant_fits(const mts_value *constant, const mts_shape *shape)
{
    const mts_shape *own = &constant->shape;
    const mts_token_matrix m = mts_tokens_matrix(own), all = mts_tokens_matrix(shape);
    return constant->dtype == MTS_TYPE_FLOAT32 && constant->block_count == 1 && own->rank <= shape->rank &&
           (m.images == 1 || m.images == all.images) && (m.rows == 1 || m.rows == all.rows) &&
           (m.channels == 1 || m.channels == all.channels);
}

mts_status mts_tokens_transpose_constant(mts_tokens_work *work, uint32_t value, uint32_t *out)
{
    const mts_value *constant = &work->from->values[value];
    const mts_token_matrix m = mts_tokens_matrix(&constant->shape);
    const mts_shape transposed = mts_tokens_transposed_shape(&constant->shape);
    const void *data = constant->blocks[0].data;
    if (m.rows > 1 && m.channels > 1) {
        float *copy = mts_arena_zero(work->arena, mts_shape_count(&constant->shape), sizeof *copy);
        if (!copy) {
            return mts_tokens_short(work);
        }
        const size_t rows = (size_t)m.rows, channels = (size_t)m.channels;
        for (size_t i = 0; i < (size_t)m.images * rows * channels; i++) {
            const size_t image = i / (rows * channels), at = i % (rows * channels);
            mts_value_read_run(constant, data, i, 1,
                               copy + image * rows * channels + at % channels * rows + at / channels);
        }
        data = copy;
    }
    *out = mts_graph_add_const(work->to, constant->name, MTS_TYPE_FLOAT32, &transposed, data);
    return *out != MTS_NONE ? MTS_STATUS_OK : mts_tokens_short(work);
}

mts_status mts_tokens_filled(mts_tokens_work *work, int64_t count, float number, uint32_t *out)
{
    const mts_shape shape = {.rank = 1, .dims = {count}};
    float *data = mts_arena_zero(work->arena, (size_t)count, sizeof *data);
    for (int64_t i = 0; data && i < count; i++) {
        data[i] = number;
    }
    *out = data ? mts_graph_add_const(work->to, NULL, MTS_TYPE_FLOAT32, &shape, data) : MTS_NONE;
    return *out != MTS_NONE ? MTS_STATUS_OK : mts_tokens_short(work);
}
