/*
 * tiles.h: the rows of a convolution's weight matrix cut into row blocks with K segments
 * (docs/design/sharing.md).
 *
 * A row block is at most `most` output rows that run through the same input channels:
 * rows_a rows of one run of weight blocks and, next to them, rows_b of the following run,
 * so that shared and exclusive outputs of a task fit one tile and each input vector is
 * loaded once. A segment names the weight blocks of a range of input channels. Pure.
 */
#ifndef MTS_STITCH_TILES_H
#define MTS_STITCH_TILES_H

#include "graph/graph.h"

typedef struct mts_tile_segment {
    uint32_t channel, count; /* input channels, from the first of the rows' group */
    uint32_t ref_a, ref_b;   /* indices into the weight's blocks; ref_b MTS_NONE when rows_b is 0 */
} mts_tile_segment;

typedef struct mts_row_block {
    uint32_t row_a, rows_a;     /* weight rows [row_a, row_a + rows_a) */
    uint32_t row_b, rows_b;     /* row_b = row_a + rows_a */
    uint32_t segment, segments; /* in mts_row_blocks.segments */
} mts_row_block;

typedef struct mts_row_blocks {
    uint32_t count, segment_count;
    mts_row_block *blocks;
    mts_tile_segment *segments;
} mts_row_blocks;

/*
 * How runs of rows with the same weight blocks become row blocks. FULL and JOIN cut a run
 * by its own length alone, so that tasks which share a weight block but not their other
 * rows pack it alike and it is stored once.
 */
typedef enum mts_tiles_mode {
    MTS_TILES_EVEN = 0, /* each run by itself, in blocks of even size: nothing but whole layers is shared */
    MTS_TILES_FULL =
        1, /* each run by itself, in full blocks and a rest: jobs of equal operands stay recognisable */
    MTS_TILES_JOIN =
        2, /* likewise, but the rests of the first and the second run share a block where they fit */
    MTS_TILES_JOIN_QUADS = 3 /* likewise where each rest is of four rows at most */
} mts_tiles_mode;

/*
 * Cuts rows [first, first + rows) of a verified weight. most: rows of a block, at least 1
 * (UINT32_MAX: one block per run). The result lives in `arena`. OUT_OF_MEMORY only.
 */
mts_status mts_tiles_cut(const mts_value *weight, uint32_t first, uint32_t rows, uint32_t most,
                         mts_tiles_mode mode, mts_arena *arena, mts_row_blocks *out, mts_error *error);

#endif
