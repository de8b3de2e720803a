/*
 * random_steps.c: steps of random networks that are no convolutions, see random_steps.h: sums along a dimension,
 * positions, other places, normalisations, recurrent layers.
 */
#include "support/random_steps.h"

/* Sums along a dimension of the picture. */
void random_step_scan(random_builder *b)
{
    const mts_attrs attrs = {.scan = {.axis = random_draw(&b->family, 2, 3),
                                      .exclusive = random_draw(&b->family, 0, 1),
                                      .reverse = random_draw(&b->family, 0, 1)}};
    const mts_attrs tame = {.unary = {.act = {.fn = MTS_FN_TANH}}};
    if (random_add_node(b, MTS_OP_UNARY, &b->x, 1, &tame, &b->x)) {
        (void)random_add_node(b, MTS_OP_SCAN, &b->x, 1, &attrs, &b->x);
    }
}

/* Every column sorted, or minus its largest, its smallest element: what positions that rounding moves give too. */
void random_step_positions(random_builder *b)
{
    const mts_shape s = *random_shape_of(b, b->x);
    const bool sorts = random_chance(&b->family, 50);
    const mts_shape planes =
        mts_shape_make(3, (const int64_t[]){s.dims[0] * s.dims[1], s.dims[2], s.dims[3]});
    const mts_attrs rows = {.reshape = {.shape = planes}}, back = {.reshape = {.shape = s}}, none = {0};
    const mts_attrs turn = {.transpose = {.perm = {0, 2, 1}}}, sub = {.binary = {.kind = MTS_BIN_SUB}};
    const mts_attrs order = {
        .order = {.count = (uint32_t)s.dims[2], .largest = random_draw(&b->family, 0, 1)}};
    const mts_attrs arg = {
        .reduce = {.kind = random_draw(&b->family, MTS_REDUCE_ARG_MAX, MTS_REDUCE_ARG_MIN_LAST),
                   .axes = 2,
                   .keep = 1}};
    uint32_t y = b->x, at = b->x;
    bool good = random_add_node(b, MTS_OP_RESHAPE, &b->x, 1, &rows, &y);
    if (sorts) {
        good = good && random_add_node(b, MTS_OP_TRANSPOSE, &y, 1, &turn, &at) &&
               random_add_node(b, MTS_OP_ORDER, &at, 1, &order, &at) &&
               random_add_node(b, MTS_OP_TRANSPOSE, &at, 1, &turn, &at);
    } else {
        good = good && random_add_node(b, MTS_OP_REDUCE, &y, 1, &arg, &at);
    }
    good = good && random_add_node(b, MTS_OP_TAKE, (const uint32_t[]){y, at}, 2, &none, &at);
    if (good && !sorts) {
        good = random_add_node(b, MTS_OP_BINARY, (const uint32_t[]){y, at}, 2, &sub, &at);
    }
    if (good) {
        (void)random_add_node(b, MTS_OP_RESHAPE, &at, 1, &back, &b->x);
    }
}

/* The picture at other positions, which float16 holds exactly. */
void random_step_sample(random_builder *b)
{
    const mts_shape s = *random_shape_of(b, b->x);
    const mts_attrs attrs = {.sample = {.mode = random_draw(&b->family, MTS_RESIZE_NEAREST, MTS_RESIZE_CUBIC),
                                        .padding = random_draw(&b->family, 0, 2),
                                        .align = random_draw(&b->family, 0, 1)}};
    const mts_shape shape = mts_shape_make(4, (const int64_t[]){s.dims[0], s.dims[2], s.dims[3], 2});
    const size_t count = mts_shape_count(&shape);
    float *grid = mts_arena_zero(b->arena, count, sizeof *grid);
    for (size_t i = 0; grid && i < count; i++) {
        grid[i] = ((float)random_draw(&b->family, 0, 150) - 75.0f) / 64.0f;
    }
    const uint32_t inputs[2] = {
        b->x, mts_graph_add_const(b->graph, random_fresh_name(b, "g"), MTS_TYPE_FLOAT32, &shape, grid)};
    (void)random_add_node(b, MTS_OP_SAMPLE, inputs, 2, &attrs, &b->x);
}

/* A normalisation of any kind, over any dimensions but the batch, of groups of channels where they divide. */
void random_step_norm(random_builder *b)
{
    const mts_shape s = *random_shape_of(b, b->x);
    const uint32_t axes = random_draw(&b->family, 1, 7) << 1, layer = random_draw(&b->family, 0, 1u << 30);
    const bool halves = random_chance(&b->family, 30) && (axes & 2u) != 0 && s.dims[1] % 2 == 0;
    const mts_attrs attrs = {
        .norm = {.kind = random_draw(&b->family, 0, MTS_NORM_COUNT - 1),
                 .axes = axes,
                 .groups = halves ? 2 : 1,
                 /* above what rounding makes of planes that are constant */
                 .epsilon = 0.3f,
                 .act = {.fn = random_draw(&b->family, 0, 1) ? MTS_FN_RELU : MTS_FN_NONE}}};
    const bool with_scale = random_chance(&b->family, 60), with_bias = random_chance(&b->family, 60);
    const uint32_t columns = (uint32_t)s.dims[3];
    const uint32_t inputs[3] = {b->x,
                                with_scale ? random_add_vector(b, columns, 1.0f, layer, true) : MTS_NONE,
                                with_bias ? random_add_vector(b, columns, 0.0f, layer + 1, false) : MTS_NONE};
    (void)random_add_node(b, MTS_OP_NORM, inputs, 3, &attrs, &b->x);
}

/* Rows of the picture as the steps of a recurrent layer, whose results become channels beside one another. */
void random_step_recur(random_builder *b)
{
    static const uint32_t gates[MTS_RECUR_COUNT] = {4, 3, 3, 1};
    const mts_shape s = *random_shape_of(b, b->x);
    const uint32_t kind = random_draw(&b->family, 0, MTS_RECUR_COUNT - 1);
    const uint32_t hidden = random_draw(&b->family, 1, 6), layer = random_draw(&b->family, 0, 1u << 30);
    const int64_t wide = hidden * gates[kind], columns = s.dims[3];
    const mts_shape into = mts_shape_make(2, (const int64_t[]){columns, wide});
    const mts_shape own = mts_shape_make(2, (const int64_t[]){hidden, wide});
    const mts_attrs product = {.matmul = {.alpha = 1.0f, .beta = 1.0f}};
    const mts_attrs steps = {
        .reshape = {.shape = mts_shape_make(3, (const int64_t[]){s.dims[0] * s.dims[1], s.dims[2], wide})}};
    const mts_attrs recur = {.recur = {.kind = kind, .reverse = random_draw(&b->family, 0, 1)}};
    const uint32_t pair[2] = {b->x, random_add_weight(b, &into, layer, random_draw(&b->family, 0, 1) * 1000)};
    uint32_t y = b->x;
    if (s.dims[0] * s.dims[1] > 16 || !random_add_node(b, MTS_OP_MATMUL, pair, 2, &product, &y) ||
        !random_add_node(b, MTS_OP_RESHAPE, &y, 1, &steps, &y)) {
        return;
    }
    const bool biased = kind == MTS_RECUR_GRU_AFTER;
    const uint32_t inputs[5] = {y, random_add_weight(b, &own, layer + 1, 1000), MTS_NONE, MTS_NONE,
                                biased ? random_add_vector(b, hidden, 0.0f, layer + 2, true) : MTS_NONE};
    if (!random_add_node(b, MTS_OP_RECUR, inputs, biased ? 5 : 2, &recur, &y)) {
        return;
    }
    const mts_attrs back = {
        .reshape = {.shape = mts_shape_make(4, (const int64_t[]){s.dims[0], s.dims[1], s.dims[2],
                                                                 random_shape_of(b, y)->dims[2]})}};
    (void)random_add_node(b, MTS_OP_RESHAPE, &y, 1, &back, &b->x);
}
