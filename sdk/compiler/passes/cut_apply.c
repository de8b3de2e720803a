/*
 * cut_apply.c: weights rewritten as rectangular blocks along the task sets of their
 * filters (cut.h).
 *
 * Rows are put into the order of their labels, private ones last; the node's scatter list
 * brings their outputs back.
 */
#include "compiler/passes/cut.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

typedef struct weight_row {
    uint32_t label, channel;
} weight_row;

typedef struct writer {
    mts_graph *graph;
    mts_value *weight;
    const unsigned char *data; /* as it was */
    const weight_row *rows;
    size_t cell;
    mts_block_ref *blocks;
    uint32_t block_count;
} writer;

static int compare_rows(const void *a, const void *b)
{
    const weight_row *x = a, *y = b;
    return mts_order(MTS_COMPARE(x->label, y->label), MTS_COMPARE(x->channel, y->channel));
}

/* Adds the block of rows [row, row + rows) and channels [first, end). */
static bool add_block(writer *w, uint32_t row, uint32_t rows, uint32_t first, uint32_t end)
{
    const size_t line = (end - first) * w->cell, pitch = (size_t)w->weight->shape.dims[1] * w->cell;
    unsigned char *data = mts_arena_zero(w->graph->arena, rows, line);
    if (!data) {
        return false;
    }
    for (uint32_t r = 0; r < rows; r++) {
        memcpy(data + r * line, w->data + w->rows[row + r].channel * pitch + first * w->cell, line);
    }
    w->blocks[w->block_count++] = (mts_block_ref){.block = MTS_NONE,
                                                  .out_first = row,
                                                  .out_count = rows,
                                                  .in_first = first,
                                                  .in_count = end - first,
                                                  .data = data};
    return true;
}

/* Blocks of consecutive rows of one set: a block per run of channels. */
static bool add_rows(mts_cut_row *cut, writer *w, uint32_t task, const mts_cut_set *set, bool whole,
                     uint32_t row, uint32_t rows)
{
    const uint32_t channels = (uint32_t)w->weight->shape.dims[1];
    if (!set || whole) {
        return add_block(w, row, rows, 0, channels);
    }
    mts_cut_link(cut, set->tasks);
    for (uint32_t c = 0; c < channels;) {
        bool common = false;
        const uint32_t end = mts_cut_run(cut, task, set->tasks, c, &common);
        if (!add_block(w, row, rows, c, end)) {
            return false;
        }
        c = end;
    }
    return true;
}

static bool write_blocks(mts_cut_row *cut, writer *w, uint32_t task, bool whole)
{
    const uint32_t count = (uint32_t)w->weight->shape.dims[0];
    for (uint32_t row = 0; row < count;) {
        const mts_cut_set *set = mts_cut_set_of(cut, w->rows[row].label);
        uint32_t end = row + 1;
        while (end < count && mts_cut_set_of(cut, w->rows[end].label) == set) {
            end++;
        }
        if (!add_rows(cut, w, task, set, whole, row, end - row)) {
            return false;
        }
        row = end;
    }
    return true;
}

static bool set_scatter(mts_graph *graph, mts_node *node, const weight_row *rows, uint32_t count)
{
    uint32_t *scatter = mts_arena_zero(graph->arena, count, sizeof(*scatter));
    bool moved = false;
    if (!scatter) {
        return false;
    }
    for (uint32_t r = 0; r < count; r++) {
        scatter[r] = rows[r].channel;
        moved = moved || scatter[r] != r;
    }
    node->scatter = moved ? scatter : NULL;
    return true;
}

static bool apply_task(mts_cut_row *cut, uint32_t task, bool whole)
{
    mts_graph *graph = cut->family->graphs[task];
    mts_value *weight = cut->weights[task];
    uint32_t count = 0, channels = 0, inner = 0;
    mts_value_matrix(weight, &count, &channels, &inner);
    weight_row *rows = mts_arena_zero(cut->family->arena, count, sizeof(*rows));
    const size_t most = (size_t)(cut->set_count + 1) * (2 * MTS_CUT_RUNS_MAX + 1);
    writer w = {.graph = graph,
                .weight = weight,
                .data = weight->blocks[0].data,
                .rows = rows,
                .cell = inner * mts_type_size(weight->dtype),
                .blocks = mts_arena_zero(graph->arena, most, sizeof(mts_block_ref))};
    if (!rows || !w.blocks) {
        return false;
    }
    bool shared = false;
    for (uint32_t r = 0; r < count; r++) {
        const uint32_t label = cut->filters[task] ? cut->filters[task][r] : MTS_CLASS_NONE;
        const bool used = mts_cut_set_of(cut, label);
        rows[r] = (weight_row){.label = used ? label : MTS_CLASS_NONE, .channel = r};
        shared = shared || used;
    }
    if (!shared) {
        return true;
    }
    qsort(rows, count, sizeof(*rows), compare_rows);
    mts_node *node = &graph->nodes[cut->family->rows.nodes[(size_t)cut->row * cut->family->count + task]];
    if (!write_blocks(cut, &w, task, whole) || !set_scatter(graph, node, rows, count)) {
        return false;
    }
    weight->blocks = w.blocks;
    weight->block_count = w.block_count;
    return true;
}

bool mts_cut_apply(mts_cut_row *cut, bool whole)
{
    for (uint32_t t = 0; t < cut->family->count; t++) {
        if (cut->weights[t] && !apply_task(cut, t, whole)) {
            return false;
        }
    }
    return true;
}
