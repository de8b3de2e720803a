/*
 * tokens_view.c: values as heads of transposed values.
 *
 * Exporters split channels into heads by RESHAPE and TRANSPOSE. Here a value is followed
 * through these as a view of the transposed value that it came from: a stride for each
 * dimension. Operands whose views are heads of a transposed value, and results that are
 * transposed again, need no moving at all.
 */
#include "compiler/passes/tokens_work.h"

#define CHAIN_MOST 8

typedef struct view {
    mts_shape shape;
    int64_t stride[MTS_TENSOR_RANK_MAX], offset;
} view;

const mts_node *mts_tokens_producer(const mts_graph *graph, uint32_t value)
{
    const bool made = value != MTS_NONE && graph->values[value].kind == MTS_VALUE_NODE;
    return made ? &graph->nodes[graph->values[value].producer] : NULL;
}

static view view_of_transposed(const mts_shape *shape)
{
    const mts_token_matrix m = mts_tokens_matrix(shape);
    view v = {.shape = *shape};
    int64_t image = m.rows * m.channels;
    for (uint32_t i = shape->rank; i-- > 0;) {
        const bool channels = i + 1 == shape->rank, rows = i + 2 == shape->rank;
        v.stride[i] = channels ? m.rows : rows ? 1 : image;
        image *= channels || rows ? 1 : shape->dims[i];
    }
    return v;
}

/* A value [images, channels, 1, rows] in plain form. */
static bool is_image(const mts_shape *shape)
{
    return shape->rank == 4 && shape->dims[2] == 1;
}

static view view_of_plain(const mts_shape *shape)
{
    view v = {.shape = *shape};
    int64_t step = 1;
    for (uint32_t i = shape->rank; i-- > 0;) {
        v.stride[i] = step;
        step *= shape->dims[i];
    }
    return v;
}

static mts_token_matrix matrix_of(const mts_shape *shape, bool image)
{
    return image ? (mts_token_matrix){shape->dims[0], shape->dims[3], shape->dims[1]}
                 : mts_tokens_matrix(shape);
}

mts_token_matrix mts_tokens_source_matrix(const mts_graph *graph, const mts_tokens_operand *of)
{
    return matrix_of(&graph->values[of->source].shape, of->image);
}

/*
 * The same elements in another shape: dimensions of both are matched in the smallest runs
 * of equal products, and those of a run of the old shape must lie as one. False: they do
 * not.
 */
static bool reshape_view(view *v, const mts_shape *to)
{
    view out = {.shape = *to, .offset = v->offset};
    uint32_t i = 0, o = 0;
    while (i < v->shape.rank || o < to->rank) {
        int64_t in = 1, made = 1, step = 1;
        uint32_t end = o;
        do {
            const bool grow = i < v->shape.rank && (in <= made || end == to->rank);
            if (grow && v->shape.dims[i] != 1) {
                if (in > 1 && step != v->shape.dims[i] * v->stride[i]) {
                    return false;
                }
                in *= v->shape.dims[i];
                step = v->stride[i];
            }
            i += grow;
            made *= grow ? 1 : to->dims[end];
            end += !grow;
        } while (in != made && (i < v->shape.rank || end < to->rank));
        if (in != made) {
            return false;
        }
        for (uint32_t d = end; d-- > o;) {
            out.stride[d] = step;
            step *= to->dims[d];
        }
        o = end;
    }
    *v = out;
    return true;
}

static bool slice_view(view *v, const mts_node *node, const mts_shape *to)
{
    for (uint32_t i = 0; i < to->rank; i++) {
        if (node->attrs.slice.step[i] != 1) {
            return false;
        }
        v->offset += node->attrs.slice.start[i] * v->stride[i];
    }
    v->shape = *to;
    return true;
}

/* x times one number: the number. */
bool mts_tokens_is_factor(const mts_graph *graph, const mts_node *node, uint32_t *x, float *factor)
{
    float bias = 0.0f;
    if (node->op == MTS_OP_SCALE) {
        const uint32_t added = node->input_count > 2 ? node->inputs[2] : MTS_NONE;
        *x = node->inputs[0];
        return node->attrs.unary.act.fn == MTS_FN_NONE &&
               mts_tokens_uniform(graph, node->inputs[1], factor) &&
               (added == MTS_NONE ||
                (mts_tokens_uniform(graph, added, &bias) && bias >= 0.0f && bias <= 0.0f));
    }
    if (node->op != MTS_OP_BINARY || node->attrs.binary.act.fn != MTS_FN_NONE ||
        (node->attrs.binary.kind != MTS_BIN_MUL && node->attrs.binary.kind != MTS_BIN_DIV)) {
        return false;
    }
    const bool divides = node->attrs.binary.kind == MTS_BIN_DIV;
    const uint32_t at = !divides && graph->values[node->inputs[0]].kind == MTS_VALUE_CONST ? 1 : 0;
    *x = node->inputs[at];
    if (graph->values[*x].kind == MTS_VALUE_CONST ||
        !mts_tokens_uniform(graph, node->inputs[1 - at], factor) ||
        !mts_shape_equal(&graph->values[*x].shape, &graph->values[node->output].shape)) {
        return false;
    }
    *factor = divides ? 1.0f / *factor : *factor;
    return true;
}

/* The value that a node moves, or multiplies by one number; MTS_NONE: it does neither. */
static uint32_t moved_by(const mts_graph *graph, const mts_node *node, float *factor)
{
    uint32_t x = MTS_NONE;
    *factor = 1.0f;
    if (!node) {
        return MTS_NONE;
    }
    if (node->op == MTS_OP_RESHAPE || node->op == MTS_OP_TRANSPOSE || node->op == MTS_OP_SLICE) {
        return node->inputs[0];
    }
    return mts_tokens_is_factor(graph, node, &x, factor) ? x : MTS_NONE;
}

static bool move_view(const mts_graph *graph, const mts_node *node, view *v)
{
    const mts_shape *to = &graph->values[node->output].shape;
    if (node->op == MTS_OP_RESHAPE) {
        return reshape_view(v, to);
    }
    if (node->op == MTS_OP_SLICE) {
        return slice_view(v, node, to);
    }
    if (node->op == MTS_OP_TRANSPOSE) {
        const view from = *v;
        v->shape = *to;
        for (uint32_t i = 0; i < to->rank; i++) {
            v->stride[i] = from.stride[node->attrs.transpose.perm[i]];
        }
    }
    return true;
}

/* What a value of shape [images,] heads, tokens and channels in some order is of a transposed
   value: `swapped`: [.., channels, tokens]. */
static bool is_heads(const view *v, const mts_shape *source, bool swapped, mts_tokens_operand *out)
{
    const mts_token_matrix m = matrix_of(source, out->image);
    const uint32_t rank = v->shape.rank;
    if (rank < 3 || rank > 4 || m.rows < 1) {
        return false;
    }
    const uint32_t tokens = swapped ? rank - 1 : rank - 2, channels = swapped ? rank - 2 : rank - 1;
    const bool joined = rank == 3 && m.images > 1; /* [images heads, ..]: of whole values */
    const int64_t images = rank == 4 ? v->shape.dims[0] : joined ? m.images : 1;
    out->heads = v->shape.dims[rank - 3] / (joined ? images : 1);
    out->depth = v->shape.dims[channels];
    out->first = v->offset / m.rows;
    if (joined && (v->shape.dims[0] != images * out->heads || out->heads * out->depth != m.channels)) {
        return false;
    }
    return images == m.images && (images == 1 || joined || v->stride[0] == m.rows * m.channels) &&
           v->shape.dims[tokens] == m.rows && (m.rows == 1 || v->stride[tokens] == 1) &&
           (out->depth == 1 || v->stride[channels] == m.rows) &&
           (out->heads == 1 || v->stride[rank - 3] == m.rows * out->depth) && v->offset % m.rows == 0 &&
           out->first + out->heads * out->depth <= m.channels && out->depth <= (int64_t)MTS_ATTENTION_DEPTH;
}

/* What a constant is added to that has an element for each channel of each head; the two are the
   last dimensions. MTS_NONE: the node does something else. */
static uint32_t biased_by(const mts_graph *graph, const mts_node *node, uint32_t *bias)
{
    if (!node || node->op != MTS_OP_BINARY || node->attrs.binary.kind != MTS_BIN_ADD ||
        node->attrs.binary.act.fn != MTS_FN_NONE) {
        return MTS_NONE;
    }
    const uint32_t at = graph->values[node->inputs[0]].kind == MTS_VALUE_CONST ? 0 : 1;
    const mts_value *added = &graph->values[node->inputs[at]], *x = &graph->values[node->inputs[1 - at]];
    const mts_shape *shape = &added->shape;
    const bool fits = added->kind == MTS_VALUE_CONST && added->dtype == MTS_TYPE_FLOAT32 &&
                      added->block_count == 1 && shape->rank >= 2 && x->kind != MTS_VALUE_CONST &&
                      mts_tokens_matrix(shape).images == 1 &&
                      mts_shape_equal(&x->shape, &graph->values[node->output].shape) &&
                      x->shape.dims[x->shape.rank - 1] == shape->dims[shape->rank - 1] &&
                      x->shape.dims[x->shape.rank - 2] == shape->dims[shape->rank - 2];
    *bias = fits ? node->inputs[at] : *bias;
    return fits ? node->inputs[1 - at] : MTS_NONE;
}

/* A way up from an operand. */
typedef struct way {
    const mts_node *chain[CHAIN_MOST];
    uint32_t length;
    uint32_t bias, biased; /* a constant, and which node of the chain adds it */
    float factor;          /* of all nodes */
    float before_bias;     /* of those below the one that adds */
} way;

/* Whether the last dimensions of a view are heads and their channels. */
static bool ends_in_heads(const view *v, int64_t rows)
{
    const uint32_t rank = v->shape.rank;
    const int64_t depth = v->shape.dims[rank - 1];
    return (depth == 1 || v->stride[rank - 1] == rows) &&
           (v->shape.dims[rank - 2] == 1 || v->stride[rank - 2] == rows * depth);
}

/* Whether the operand at the lower end of a way is heads of `value` at its upper end. */
static bool is_operand(const mts_graph *graph, const way *w, uint32_t value, bool image, bool swapped,
                       mts_tokens_operand *out)
{
    const mts_shape *source = &graph->values[value].shape;
    const mts_token_matrix m = matrix_of(source, image);
    *out = (mts_tokens_operand){.source = value, .image = image, .bias = w->bias};
    view v = image ? view_of_plain(source) : view_of_transposed(source);
    bool fits = true;
    for (uint32_t i = w->length; fits && i-- > 0;) {
        fits = move_view(graph, w->chain[i], &v) &&
               (w->bias == MTS_NONE || i != w->biased || ends_in_heads(&v, m.rows));
    }
    if (!fits || !is_heads(&v, source, swapped, out)) {
        return false;
    }
    /* a factor above the sum does not concern the bias, so that it cannot go into the scale */
    const mts_value *bias = w->bias == MTS_NONE ? NULL : &graph->values[w->bias];
    return !bias || (mts_tokens_matrix(&bias->shape).rows == out->heads &&
                     mts_tokens_matrix(&bias->shape).channels == out->depth && w->factor >= w->before_bias &&
                     w->factor <= w->before_bias);
}

bool mts_tokens_find_operand(const mts_graph *graph, uint32_t value, bool swapped, mts_tokens_operand *out,
                             float *scale)
{
    way w = {.bias = MTS_NONE, .factor = 1.0f};
    bool found = false;
    const float before = *scale;
    while (value != MTS_NONE) {
        const mts_value *at = &graph->values[value];
        for (uint32_t image = 0; image < 2; image++) {
            mts_tokens_operand own;
            if (at->shape.rank >= 2 && at->kind != MTS_VALUE_CONST && (image == 0 || is_image(&at->shape)) &&
                is_operand(graph, &w, value, image == 1, swapped, &own)) {
                *out = own;
                *scale = before * w.factor;
                found = true;
            }
        }
        const mts_node *node = mts_tokens_producer(graph, value);
        float factor = 1.0f;
        value = MTS_NONE;
        if (node && w.length < CHAIN_MOST) {
            const uint32_t x = w.bias == MTS_NONE ? biased_by(graph, node, &w.bias) : MTS_NONE;
            w.biased = x != MTS_NONE ? w.length : w.biased;
            w.before_bias = x != MTS_NONE ? w.factor : w.before_bias;
            value = x != MTS_NONE ? x : moved_by(graph, node, &factor);
            w.chain[w.length++] = node;
            w.factor *= factor;
        }
    }
    return found;
}

/* Where each element of a value lies, beside `v`. */
static bool same_view(const view *v, const view *own)
{
    bool fits = v->offset == 0;
    for (uint32_t i = 0; fits && i < own->shape.rank; i++) {
        fits = own->shape.dims[i] == 1 || own->stride[i] == v->stride[i];
    }
    return fits;
}

/* Whether a node only moves the result of an attention, to where it lies transposed or as an image. */
uint32_t mts_tokens_joins_heads(const mts_tokens_work *work, const mts_node *node, bool *image)
{
    const mts_graph *graph = work->from;
    const mts_node *chain[CHAIN_MOST] = {node};
    float factor = 1.0f;
    uint32_t value = node->op == MTS_OP_RESHAPE || node->op == MTS_OP_TRANSPOSE ? node->inputs[0] : MTS_NONE;
    for (uint32_t n = 1; value != MTS_NONE; n++) {
        const mts_node *made = mts_tokens_producer(graph, value);
        if (made && work->attentions[made - graph->nodes]) {
            view v = view_of_transposed(&graph->values[value].shape);
            bool fits = true;
            for (uint32_t i = n; fits && i-- > 0;) {
                fits = move_view(graph, chain[i], &v);
            }
            const mts_shape *shape = &graph->values[node->output].shape;
            const view transposed = view_of_transposed(shape), plain = view_of_plain(shape);
            *image = fits && is_image(shape) && same_view(&v, &plain);
            return *image || (fits && shape->rank >= 2 && same_view(&v, &transposed)) ? value : MTS_NONE;
        }
        if (!made || n == CHAIN_MOST || (made->op != MTS_OP_RESHAPE && made->op != MTS_OP_TRANSPOSE)) {
            return MTS_NONE;
        }
        chain[n] = made;
        value = moved_by(graph, made, &factor);
    }
    return MTS_NONE;
}

/* ---- building ---- */

static mts_status add_bias(mts_tokens_work *work, const mts_tokens_operand *of, uint32_t *out)
{
    const mts_value *bias = &work->from->values[of->bias];
    const mts_shape shape = {.rank = 4, .dims = {1, of->heads * of->depth, 1, 1}};
    const mts_attrs attrs = {.binary = {.kind = MTS_BIN_ADD}};
    const uint32_t inputs[2] = {
        *out, mts_graph_add_const(work->to, bias->name, MTS_TYPE_FLOAT32, &shape, bias->blocks[0].data)};
    return inputs[1] == MTS_NONE
               ? mts_tokens_short(work)
               : mts_graph_add_node(work->to, MTS_OP_BINARY, bias->name, inputs, 2, &attrs, out, work->error);
}

mts_status mts_tokens_emit_operand(mts_tokens_work *work, const mts_tokens_operand *of, uint32_t *out)
{
    mts_status status =
        of->image ? mts_tokens_plain(work, of->source, out) : mts_tokens_transposed(work, of->source, out);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    const mts_shape *shape = &work->to->values[*out].shape;
    const int64_t channels = of->heads * of->depth;
    if (of->first != 0 || channels != shape->dims[1]) {
        const mts_attrs attrs = {.slice = {.start = {0, of->first, 0, 0},
                                           .step = {1, 1, 1, 1},
                                           .size = {shape->dims[0], channels, 1, shape->dims[3]}}};
        status = mts_graph_add_node(work->to, MTS_OP_SLICE, NULL, out, 1, &attrs, out, work->error);
    }
    return status == MTS_STATUS_OK && of->bias != MTS_NONE ? add_bias(work, of, out) : status;
}

mts_status mts_tokens_emit_joined(mts_tokens_work *work, const mts_node *node, uint32_t value, bool image)
{
    const mts_shape *shape = &work->from->values[node->output].shape;
    mts_tokens_form *form = &work->forms[node->output];
    const mts_attrs attrs = {.reshape = {.shape = image ? *shape : mts_tokens_transposed_shape(shape)}};
    uint32_t x = MTS_NONE;
    mts_status status = mts_tokens_transposed(work, value, &x);
    MTS_TRY(status, mts_graph_add_node(work->to, MTS_OP_RESHAPE, NULL, &x, 1, &attrs,
                                       image ? &form->plain : &form->transposed, work->error));
    return status;
}
