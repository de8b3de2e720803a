/*
 * tiles.c: runs of rows with the same weight blocks, cut into row blocks.
 */
#include "stitch/tiles.h"

typedef struct run {
    uint32_t first, rows;
} run;

typedef struct cutter {
    const mts_value *weight;
    mts_row_blocks *out;
    run *runs;
    uint32_t run_count;
} cutter;

/* First row after `row` at which another weight block begins or ends; `end` if there is
   none. */
static uint32_t next_boundary(const mts_value *weight, uint32_t row, uint32_t end)
{
    uint32_t next = end;
    for (uint32_t i = 0; i < weight->block_count; i++) {
        const mts_block_ref *ref = &weight->blocks[i];
        const uint32_t edges[2] = {ref->out_first, ref->out_first + ref->out_count};
        for (int e = 0; e < 2; e++) {
            if (edges[e] > row && edges[e] < next) {
                next = edges[e];
            }
        }
    }
    return next;
}

/* The block that holds cell (row, channel). A verified weight covers every cell. */
static uint32_t block_at(const mts_value *weight, uint32_t row, uint32_t channel)
{
    for (uint32_t i = 0; i < weight->block_count; i++) {
        const mts_block_ref *ref = &weight->blocks[i];
        if (row - ref->out_first < ref->out_count && channel - ref->in_first < ref->in_count) {
            return i;
        }
    }
    return 0;
}

static uint32_t block_end(const mts_value *weight, uint32_t index)
{
    return weight->blocks[index].in_first + weight->blocks[index].in_count;
}

static void add_segments(cutter *c, mts_row_block *block)
{
    uint32_t rows = 0;
    uint32_t channels = 0;
    uint32_t inner = 0;
    mts_value_matrix(c->weight, &rows, &channels, &inner);
    block->segment = c->out->segment_count;
    for (uint32_t channel = 0; channel < channels;) {
        const uint32_t a = block_at(c->weight, block->row_a, channel);
        uint32_t b = MTS_NONE;
        uint32_t end = block_end(c->weight, a);
        if (block->rows_b > 0) {
            b = block_at(c->weight, block->row_b, channel);
            end = block_end(c->weight, b) < end ? block_end(c->weight, b) : end;
        }
        c->out->segments[c->out->segment_count++] =
            (mts_tile_segment){.channel = channel, .count = end - channel, .ref_a = a, .ref_b = b};
        channel = end;
    }
    block->segments = c->out->segment_count - block->segment;
}

static void add_block(cutter *c, uint32_t row, uint32_t rows_a, uint32_t rows_b)
{
    mts_row_block *block = &c->out->blocks[c->out->count++];
    *block = (mts_row_block){.row_a = row, .rows_a = rows_a, .row_b = row + rows_a, .rows_b = rows_b};
    add_segments(c, block);
}

/* Rows of the next block: what is left, spread evenly over as few blocks as `most`
   allows. */
static uint32_t even_share(uint32_t left, uint32_t most)
{
    const uint32_t blocks = left / most + (left % most != 0 ? 1 : 0);
    return left / blocks + (left % blocks != 0 ? 1 : 0);
}

static void cut_even(cutter *c, uint32_t most)
{
    for (uint32_t i = 0; i < c->run_count; i++) {
        uint32_t row = c->runs[i].first;
        for (uint32_t left = c->runs[i].rows; left > 0;) {
            const uint32_t rows = even_share(left, most);
            add_block(c, row, rows, 0);
            row += rows;
            left -= rows;
        }
    }
}

/* The first run ends with its rest and the others begin with theirs, so that two rests
   lie side by side, and share a block where neither has more than `rest_most` rows. */
static void cut_full(cutter *c, uint32_t most, uint32_t rest_most)
{
    run open = {0}; /* the first run's rest */
    for (uint32_t i = 0; i < c->run_count; i++) {
        const run *r = &c->runs[i];
        const uint32_t rest = r->rows % most;
        uint32_t row = r->first;
        if (i == 0) {
            open = (run){.first = row + r->rows - rest, .rows = rest};
        } else if (rest > 0) {
            if (open.rows > 0 && open.rows + rest <= most && open.rows <= rest_most && rest <= rest_most) {
                add_block(c, open.first, open.rows, rest);
                open.rows = 0;
            } else {
                add_block(c, row, rest, 0);
            }
            row += rest;
        }
        if (i == 1 && open.rows > 0) { /* nothing joined it */
            add_block(c, open.first, open.rows, 0);
            open.rows = 0;
        }
        for (uint32_t full = r->rows / most; full > 0; full--, row += most) {
            add_block(c, row, most, 0);
        }
    }
    if (open.rows > 0) {
        add_block(c, open.first, open.rows, 0);
    }
}

mts_status mts_tiles_cut(const mts_value *weight, uint32_t first, uint32_t rows, uint32_t most,
                         mts_tiles_mode mode, mts_arena *arena, mts_row_blocks *out, mts_error *error)
{
    *out = (mts_row_blocks){0};
    cutter c = {.weight = weight, .out = out};
    c.runs = mts_arena_zero(arena, rows, sizeof *c.runs);
    out->blocks = mts_arena_zero(arena, rows, sizeof *out->blocks);
    /* a row block has at most one segment per block edge of its one or two runs */
    const size_t per_block = (size_t)weight->block_count * 2;
    out->segments = mts_arena_zero(arena, (size_t)rows * per_block, sizeof *out->segments);
    if (!c.runs || !out->blocks || !out->segments) {
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "not enough memory to cut %u rows into tiles", rows);
    }
    for (uint32_t row = first; row < first + rows;) {
        const uint32_t end = next_boundary(weight, row, first + rows);
        c.runs[c.run_count++] = (run){.first = row, .rows = end - row};
        row = end;
    }
    if (mode == MTS_TILES_EVEN) {
        cut_even(&c, most);
    } else {
        cut_full(&c, most, mode == MTS_TILES_JOIN ? most : mode == MTS_TILES_JOIN_QUADS ? 4 : 0);
    }
    return MTS_STATUS_OK;
}
