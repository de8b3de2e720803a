/*
 * align.c: rows of corresponding nodes of several graphs, by longest common subsequences.
 *
 * Graphs are merged one after another onto the rows so far. Among the longest
 * subsequences the one wins whose pairs agree more closely: equal weights first, equal
 * output shapes second. Not responsible for what sharing follows from a row
 * (sdk/compiler/passes/discover.h, sdk/stitch).
 */
#include "graph/align.h"

#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/size.h"

#define CELLS_MAX ((size_t)1 << 24) /* of one table; beyond it nodes are matched greedily, in linear time */
#define MEMBERS_MAX 16u             /* of a row that a node is compared with for its bonus */
#define WINDOW_MAX 64u              /* rows looked ahead by the greedy matching */
#define MATCH ((uint64_t)1 << 32)   /* one pair; the bonuses of a whole subsequence stay below it */
#define BONUS_WEIGHTS 4u
#define BONUS_SHAPE 1u

typedef enum step { STEP_MATCH = 0, STEP_ROW = 1, STEP_NODE = 2 } step;

typedef struct merge {
    const mts_graph *const *graphs;
    const mts_allocator *allocator;
    uint64_t *const *weights; /* [graph][node]: identity of the node's weights, 0: none */
    uint32_t count;           /* of graphs: length of a row */
    uint32_t graph;           /* that is being merged */
    uint32_t row_count;
    uint32_t *rows;  /* [row][count], on the allocator */
    uint32_t *first; /* [row] first graph that has a node in it, on the allocator */
    uint8_t *steps;  /* [row_count + nodes]: path through the table */
    size_t step_count;
    uint32_t matches;
} merge;

static uint64_t weights_identity(const mts_graph *graph, const mts_node *node)
{
    if (node->input_count < 2 || node->inputs[1] == MTS_NONE) {
        return 0;
    }
    const mts_value *value = &graph->values[node->inputs[1]];
    if (value->kind != MTS_VALUE_CONST) {
        return 0;
    }
    uint32_t out = 0, in = 0, inner = 0;
    mts_value_matrix(value, &out, &in, &inner);
    uint64_t hash = value->dtype + 1;
    for (uint32_t i = 0; i < value->block_count; i++) {
        const mts_block_ref *ref = &value->blocks[i];
        const size_t cells = (size_t)ref->out_count * ref->in_count * inner;
        uint64_t words[6] = {ref->out_first, ref->out_count, ref->in_first, ref->in_count, ref->block, 0};
        words[5] = ref->block == MTS_NONE ? mts_hash(ref->data, cells * mts_type_size(value->dtype), 0) : 0;
        hash = mts_hash(words, sizeof(words), hash);
    }
    return hash ? hash : 1;
}

static const uint32_t *row_at(const merge *m, size_t row)
{
    return m->rows + row * m->count;
}

/* A row's nodes are alike, so the first speaks for all. */
static bool row_alike(const merge *m, size_t row, uint32_t node)
{
    const mts_graph *own = m->graphs[m->graph], *other = m->graphs[m->first[row]];
    MTS_CHECK(row_at(m, row)[m->first[row]] < other->node_count && node < own->node_count);
    return mts_node_alike(other, &other->nodes[row_at(m, row)[m->first[row]]], own, &own->nodes[node]);
}

static uint64_t pair_score(const merge *m, size_t row, uint32_t node)
{
    const mts_graph *own = m->graphs[m->graph];
    const mts_shape *shape = &own->values[own->nodes[node].output].shape;
    const uint64_t weights = m->weights[m->graph][node];
    uint64_t bonus = 0;
    uint32_t members = 0;
    for (uint32_t g = m->first[row]; g < m->graph && members < MEMBERS_MAX; g++) {
        const uint32_t other = row_at(m, row)[g];
        if (other == MTS_NONE) {
            continue;
        }
        members++;
        const mts_graph *graph = m->graphs[g];
        const bool same_shape = mts_shape_equal(shape, &graph->values[graph->nodes[other].output].shape);
        const bool same_weights = weights && weights == m->weights[g][other];
        const uint64_t score = (same_shape ? BONUS_SHAPE : 0u) + (same_weights ? BONUS_WEIGHTS : 0u);
        bonus = bonus < score ? score : bonus;
    }
    return MATCH + bonus;
}

/* Scores of the best subsequences of all suffixes; `table` receives the first step of
   each, [row][node]. */
static void fill_table(const merge *m, uint32_t node_count, uint64_t *score, uint8_t *table)
{
    for (size_t row = m->row_count; row-- > 0;) {
        uint64_t diagonal = score[node_count]; /* of (row + 1, node + 1) */
        for (uint32_t node = node_count; node-- > 0;) {
            const uint64_t below = score[node]; /* row + 1, node */
            step best = STEP_ROW;
            uint64_t most = below;
            if (score[node + 1] > most) {
                best = STEP_NODE;
                most = score[node + 1];
            }
            if (row_alike(m, row, node)) {
                const uint64_t match = diagonal + pair_score(m, row, node);
                if (match >= most) {
                    best = STEP_MATCH;
                    most = match;
                }
            }
            table[row * node_count + node] = (uint8_t)best;
            diagonal = below;
            score[node] = most;
        }
    }
}

static void push_step(merge *m, step next)
{
    m->steps[m->step_count++] = (uint8_t)next;
    m->matches += next == STEP_MATCH;
}

static void walk_table(merge *m, uint32_t node_count, const uint8_t *table)
{
    size_t row = 0;
    uint32_t node = 0;
    while (row < m->row_count || node < node_count) {
        const step next = row == m->row_count  ? STEP_NODE
                          : node == node_count ? STEP_ROW
                                               : (step)table[row * node_count + node];
        push_step(m, next);
        row += next != STEP_NODE;
        node += next != STEP_ROW;
    }
}

static void walk_greedy(merge *m, uint32_t node_count)
{
    size_t row = 0;
    for (uint32_t node = 0; node < node_count; node++) {
        const size_t left = m->row_count - row;
        const size_t window = left < WINDOW_MAX ? left : WINDOW_MAX;
        size_t ahead = 0;
        while (ahead < window && !row_alike(m, row + ahead, node)) {
            ahead++;
        }
        if (ahead == window) {
            push_step(m, STEP_NODE);
            continue;
        }
        for (; ahead > 0; ahead--, row++) {
            push_step(m, STEP_ROW);
        }
        push_step(m, STEP_MATCH);
        row++;
    }
    for (; row < m->row_count; row++) {
        push_step(m, STEP_ROW);
    }
}

/* Finds the path of the graph's nodes through the rows. */
static bool find_steps(merge *m)
{
    const uint32_t node_count = m->graphs[m->graph]->node_count;
    size_t cells = 0, length = 0;
    if (!mts_size_add(m->row_count, node_count, &length)) {
        return false;
    }
    m->step_count = 0;
    m->matches = 0;
    m->steps = mts_alloc_zero(m->allocator, length, 1);
    if (!m->steps) {
        return false;
    }
    if (!mts_size_mul(m->row_count, node_count, &cells) || cells > CELLS_MAX) {
        walk_greedy(m, node_count);
        return true;
    }
    uint64_t *score = mts_alloc_zero(m->allocator, (size_t)node_count + 1, sizeof(*score));
    uint8_t *table = mts_alloc_zero(m->allocator, cells, 1);
    const bool done = score && table;
    if (done) {
        fill_table(m, node_count, score, table);
        walk_table(m, node_count, table);
    }
    mts_alloc_free(m->allocator, score);
    mts_alloc_free(m->allocator, table);
    return done;
}

/* Puts the graph's nodes into the rows along the steps. */
static bool apply_steps(merge *m)
{
    size_t cells = 0;
    uint32_t row_count = 0;
    if (!mts_size_mul(m->step_count, m->count, &cells) || !mts_size_to_u32(m->step_count, &row_count)) {
        return false;
    }
    uint32_t *rows = mts_alloc_zero(m->allocator, cells, sizeof(*rows));
    uint32_t *first = mts_alloc_zero(m->allocator, m->step_count, sizeof(*first));
    if (!rows || !first) {
        mts_alloc_free(m->allocator, rows);
        mts_alloc_free(m->allocator, first);
        return false;
    }
    size_t row = 0;
    uint32_t node = 0;
    MTS_CHECK(m->step_count + m->matches == (size_t)m->row_count + m->graphs[m->graph]->node_count);
    for (size_t i = 0; i < m->step_count; i++) {
        uint32_t *target = rows + i * m->count;
        if (m->steps[i] == STEP_NODE) {
            memset(target, 0xff, m->count * sizeof(*target));
            first[i] = m->graph;
        } else {
            memcpy(target, row_at(m, row), m->count * sizeof(*target));
            first[i] = m->first[row++];
        }
        if (m->steps[i] != STEP_ROW) {
            target[m->graph] = node++;
        }
    }
    MTS_CHECK(row == m->row_count && node == m->graphs[m->graph]->node_count); /* each stands in one row */
    mts_alloc_free(m->allocator, m->rows);
    mts_alloc_free(m->allocator, m->first);
    m->rows = rows;
    m->first = first;
    m->row_count = row_count;
    return true;
}

static bool merge_next(merge *m, uint32_t graph)
{
    m->graph = graph;
    const bool done = find_steps(m) && apply_steps(m);
    mts_alloc_free(m->allocator, m->steps);
    m->steps = NULL;
    return done;
}

static void weights_release(const mts_allocator *allocator, uint64_t **weights, uint32_t count)
{
    for (uint32_t g = 0; weights && g < count; g++) {
        mts_alloc_free(allocator, weights[g]);
    }
    mts_alloc_free(allocator, weights);
}

static uint64_t **weights_create(const mts_allocator *allocator, const mts_graph *const *graphs,
                                 uint32_t count)
{
    uint64_t **weights = mts_alloc_zero(allocator, count, sizeof(*weights));
    for (uint32_t g = 0; weights && g < count; g++) {
        weights[g] = mts_alloc_zero(allocator, graphs[g]->node_count, sizeof(**weights));
        if (!weights[g]) {
            weights_release(allocator, weights, count);
            return NULL;
        }
        for (uint32_t n = 0; n < graphs[g]->node_count; n++) {
            weights[g][n] = weights_identity(graphs[g], &graphs[g]->nodes[n]);
        }
    }
    return weights;
}

mts_status mts_graph_align(const mts_graph *const *graphs, uint32_t count, mts_arena *arena,
                           mts_alignment *out, mts_error *error)
{
    uint64_t **weights = weights_create(arena->allocator, graphs, count);
    merge m = {.graphs = graphs, .allocator = arena->allocator, .weights = weights, .count = count};
    bool done = weights;
    for (uint32_t g = 0; done && g < count; g++) {
        done = merge_next(&m, g);
    }
    uint32_t *nodes = NULL;
    if (done) {
        const size_t places = (size_t)m.row_count * count; /* fits: m.rows has as many */
        nodes = mts_arena_zero(arena, places, sizeof(*nodes));
        if (nodes && places) {
            memcpy(nodes, m.rows, places * sizeof(*nodes));
        }
    }
    mts_alloc_free(arena->allocator, m.rows);
    mts_alloc_free(arena->allocator, m.first);
    weights_release(arena->allocator, weights, count);
    if (!nodes) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "out of memory while aligning %u graphs", count);
    }
    *out = (mts_alignment){.graph_count = count, .row_count = m.row_count, .nodes = nodes};
    return MTS_STATUS_OK;
}
