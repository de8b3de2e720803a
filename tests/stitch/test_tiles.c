/*
 * test_tiles.c: row blocks cover a weight matrix in any blocks, and stitching merges equal work only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "stitch/stitch.h"
#include "stitch/tiles.h"
#include "support/random_net.h"

#define REFS_MOST 64

typedef struct matrix {
    mts_value value;
    mts_block_ref refs[REFS_MOST];
    uint64_t state;
} matrix;

static uint32_t pick(uint64_t *state, uint32_t low, uint32_t high)
{
    *state = mts_hash(state, sizeof *state, 5);
    return low + (uint32_t)(*state >> 33) % (high - low + 1);
}

static void cut(matrix *m, uint32_t row, uint32_t rows, uint32_t column, uint32_t columns, int depth)
{
    if (depth > 0 && pick(&m->state, 0, 4) > 0 && (rows > 1 || columns > 1)) {
        if (columns == 1 || (rows > 1 && pick(&m->state, 0, 1) == 0)) {
            const uint32_t first = pick(&m->state, 1, rows - 1);
            cut(m, row, first, column, columns, depth - 1);
            cut(m, row + first, rows - first, column, columns, depth - 1);
        } else {
            const uint32_t first = pick(&m->state, 1, columns - 1);
            cut(m, row, rows, column, first, depth - 1);
            cut(m, row, rows, column + first, columns - first, depth - 1);
        }
        return;
    }
    m->refs[m->value.block_count++] = (mts_block_ref){MTS_NONE, row, rows, column, columns, m};
}

static void matrix_make(matrix *m, uint64_t seed, uint32_t rows, uint32_t columns)
{
    *m = (matrix){.state = seed};
    m->value = (mts_value){.kind = MTS_VALUE_CONST, .blocks = m->refs};
    m->value.shape = mts_shape_make(4, (const int64_t[]){rows, columns, 3, 3});
    cut(m, 0, rows, 0, columns, 5);
}

static bool holds(const matrix *m, uint32_t ref, uint32_t row, uint32_t rows, uint32_t column,
                  uint32_t columns)
{
    const mts_block_ref *r = &m->refs[ref];
    return ref < m->value.block_count && row >= r->out_first && row + rows <= r->out_first + r->out_count &&
           column >= r->in_first && column + columns <= r->in_first + r->in_count;
}

/* Every row once, every input channel of it once, from the block that holds it. */
static void check_cut(const matrix *m, uint32_t first, uint32_t rows, uint32_t columns, uint32_t most,
                      const mts_row_blocks *cut_rows)
{
    unsigned char seen[256] = {0};
    for (uint32_t b = 0; b < cut_rows->count; b++) {
        const mts_row_block *block = &cut_rows->blocks[b];
        assert_true(block->rows_a > 0 && block->rows_a + block->rows_b <= most);
        assert_int_equal(block->row_b, block->row_a + block->rows_a);
        for (uint32_t r = block->row_a; r < block->row_a + block->rows_a + block->rows_b; r++) {
            assert_true(r >= first && r < first + rows);
            assert_int_equal(seen[r], 0);
            seen[r] = 1;
        }
        uint32_t channel = 0;
        for (uint32_t s = 0; s < block->segments; s++) {
            const mts_tile_segment *segment = &cut_rows->segments[block->segment + s];
            assert_int_equal(segment->channel, channel);
            assert_true(segment->count > 0);
            assert_true(holds(m, segment->ref_a, block->row_a, block->rows_a, channel, segment->count));
            assert_true(block->rows_b == 0
                            ? segment->ref_b == MTS_NONE
                            : holds(m, segment->ref_b, block->row_b, block->rows_b, channel, segment->count));
            channel += segment->count;
        }
        assert_int_equal(channel, columns);
    }
    for (uint32_t r = first; r < first + rows; r++) {
        assert_int_equal(seen[r], 1);
    }
}

static void row_blocks_cover_every_weight_once(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        matrix m;
        mts_arena arena;
        mts_row_blocks blocks;
        mts_error error = {0};
        uint64_t random = seed + 1000000;
        const uint32_t all = pick(&random, 1, 100), columns = pick(&random, 1, 40),
                       most = pick(&random, 1, 16);
        const uint32_t first = pick(&random, 0, all - 1), rows = pick(&random, 1, all - first);
        matrix_make(&m, seed, all, columns);
        mts_arena_init(&arena, mts_allocator_default());
        const mts_tiles_mode mode = (mts_tiles_mode)(seed % 4);
        assert_int_equal(mts_tiles_cut(&m.value, first, rows, most, mode, &arena, &blocks, &error),
                         MTS_STATUS_OK);
        check_cut(&m, first, rows, columns, most, &blocks);
        for (uint32_t b = 0; mode == MTS_TILES_JOIN_QUADS && b < blocks.count; b++) {
            const mts_row_block *block = &blocks.blocks[b];
            assert_true(block->rows_b == 0 || (block->rows_a <= 4 && block->rows_b <= 4));
        }
        mts_arena_release(&arena);
    }
}

/* Rows of block 0 as pieces (row, rows), a set. */
static void mark_pieces(const mts_row_blocks *blocks, uint32_t shared, unsigned char pieces[64][64])
{
    for (uint32_t b = 0; b < blocks->count; b++) {
        if (blocks->blocks[b].row_a < shared) {
            pieces[blocks->blocks[b].row_a][blocks->blocks[b].rows_a] = 1;
        }
    }
}

static void a_shared_block_is_cut_alike_whatever_stands_beside_it(void **state)
{
    (void)state;
    for (uint32_t shared = 1; shared < 60; shared += 3) {
        unsigned char first[64][64] = {{0}}, other[64][64];
        for (uint32_t exclusive = 0; exclusive < 20; exclusive++) {
            mts_block_ref refs[2] = {{1, 0, shared, 0, 4, &state}, {2, shared, exclusive, 0, 4, &state}};
            mts_value value = {.kind = MTS_VALUE_CONST, .blocks = refs, .block_count = exclusive ? 2 : 1};
            value.shape = mts_shape_make(4, (const int64_t[]){shared + exclusive, 4, 3, 3});
            for (mts_tiles_mode mode = MTS_TILES_FULL; mode <= MTS_TILES_JOIN_QUADS; mode++) {
                mts_arena arena;
                mts_row_blocks blocks;
                mts_arena_init(&arena, mts_allocator_default());
                assert_int_equal(
                    mts_tiles_cut(&value, 0, shared + exclusive, 13, mode, &arena, &blocks, NULL),
                    MTS_STATUS_OK);
                memset(other, 0, sizeof other);
                mark_pieces(&blocks, shared, exclusive == 0 ? first : other);
                if (exclusive > 0) {
                    assert_memory_equal(first, other, sizeof first);
                }
                mts_arena_release(&arena);
            }
        }
    }
}

/* ---- stitching ---- */

static void check_order(const mts_stitched *s)
{
    for (uint32_t l = 0; l < s->layer_count; l++) {
        const mts_layer *layer = &s->layers[l];
        for (uint32_t m = layer->first; m < layer->first + layer->count; m++) {
            assert_int_equal(mts_member_node(s, &s->members[m])->op, layer->op);
            for (uint32_t i = 0; i < s->members[m].input_count; i++) {
                const uint32_t value = s->members[m].inputs[i];
                if (value != MTS_NONE && s->values[value].member != MTS_NONE) {
                    assert_true(s->values[value].member < layer->first);
                }
            }
        }
    }
}

static void layers_read_only_what_earlier_layers_made_and_serve_every_node(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 300; seed++) {
        const random_family family = {
            .seed = 40000 + seed, .tasks = 1 + seed % 4, .steps = 3 + seed % 8, .common = seed % 2 == 0};
        const mts_graph *graphs[4];
        const uint32_t groups[4] = {0, 0, 0, 0}, slots[4] = {0, 1, 2, 3};
        const uint32_t *slot_of[4];
        mts_arena arena;
        mts_stitched *stitched = NULL;
        uint32_t nodes = 0, served = 0;
        mts_arena_init(&arena, mts_allocator_default());
        for (uint32_t t = 0; t < family.tasks; t++) {
            graphs[t] = random_net(&family, t, &arena);
            assert_non_null(graphs[t]);
            nodes += graphs[t]->node_count;
            slot_of[t] = &slots[family.common ? 0 : t];
        }
        const mts_stitch_request request = {.graphs = graphs,
                                            .graph_count = family.tasks,
                                            .group_of = groups,
                                            .group_count = 1,
                                            .slot_of = slot_of,
                                            .share = true};
        assert_int_equal(mts_stitch(&request, &arena, &stitched, NULL), MTS_STATUS_OK);
        check_order(stitched);
        for (uint32_t m = 0; m < stitched->member_count; m++) {
            served += stitched->members[m].tasks;
        }
        assert_int_equal(served, nodes);
        mts_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_blocks_cover_every_weight_once),
        cmocka_unit_test(a_shared_block_is_cut_alike_whatever_stands_beside_it),
        cmocka_unit_test(layers_read_only_what_earlier_layers_made_and_serve_every_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
