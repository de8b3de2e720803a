/*
 * conv.h: the kernel parameters of convolutions and fully connected layers: tiles, jobs,
 * segments, epilogues. What all kernels have in common stands in params.h, and this file
 * is compiled like it.
 */
#ifndef MTS_KERNELS_ABI_CONV_H
#define MTS_KERNELS_ABI_CONV_H

#include "kernels/abi/params.h"

/* One work-group's share: `tile` flattened pixels of one job. Sorted by descending
   work. */
typedef struct mts_tile_params {
    mts_u32 job;   /* word index of a mts_conv_params */
    mts_u32 pixel; /* first flattened output pixel */
} mts_tile_params;

/*
 * A block of output rows (channels) of one image of one task, or of several tasks that
 * have equal inputs and weights. Flattened pixel p = y * row + x has the same row length
 * in input and output; the accumulator
 * of row r at p is  sum over segments, channels c, taps k of  w[c][k][r] * act[in + c * in_pitch + p +
 * tap[k]]. Rows 0..rows_a-1 take their weights from weight_a, the rows_b after them from
 * weight_b.
 *
 * Where `plane` is not 0, pixel p of the job is pixel p % plane of image p / plane, and
 * the lanes of a vector are rows instead of pixels: at most 16 rows of one block, one
 * tap, no mask; plane and tile are multiples of 4. Only a device with `row_lanes` gets
 * such jobs.
 *
 * Such a job of one image may have its operands in blocks of channels instead of planes
 * (MTS_BLOCKS_..; mts_storage.lanes): channel c of pixel p is
 *
 *     act[in + (c / 16 * 16) * in_pitch + p * 16 + c % 16]
 *
 * and so are output and residual, for the 16 channels index[0] .. of a row block, which
 * begin with a multiple of 16.
 */
#define MTS_CHANNEL_BLOCK 16u /* channels that lie side by side */
#define MTS_BLOCKS_IN 1u      /* the input does so */
#define MTS_BLOCKS_OUT 2u     /* output and residual do so: rows_a is 16 */
#define MTS_BLOCKS_RESIDUAL 4u /* of mts_packed_params alone: the residual does so */
#define MTS_BLOCKS_DEPTHWISE 8u /* likewise: the convolution is a depthwise one */
typedef struct mts_conv_params {
    mts_u32 rows_a, rows_b;
    mts_u32 in;                  /* act offset of input pixel p = 0, channel 0 */
    mts_u32 in_pitch;            /* floats between input channels */
    mts_u32 pixels;              /* flattened pixels to store (out H * row, rounded up to the vector width) */
    mts_u32 tile;                /* flattened pixels of a tile */
    mts_u32 taps;                /* kernel positions */
    mts_u32 tap;                 /* word index of i32[taps]: pixel offset of a kernel position */
    mts_u32 segments, segment;   /* count, word index of mts_segment_params[] */
    mts_u32 epilogues, epilogue; /* count, word index of mts_epilogue_params[] */
    mts_u32 mask; /* pool offset of f32[pixels]: 1 where p lies in the image, 0 in the border; or NONE */
    mts_u32 plane; /* 0, or of a job that puts rows into lanes: flattened pixels of an image */
    mts_u32 in_image, out_image, res_image; /* then: floats from an image to the next */
    mts_u32 blocks;                         /* then: MTS_BLOCKS_.. */
} mts_conv_params;

/* K segment: `count` input channels from `channel` on; weights lie packed
   [count][taps][rows]. */
typedef struct mts_segment_params {
    mts_u32 weight_a; /* pool offset */
    mts_u32 weight_b; /* pool offset, or NONE when rows_b is 0 */
    mts_u32 channel;
    mts_u32 count;
} mts_segment_params;

/* y = fn(scale[r] * acc[r] + bias[r] + residual); stored at channel index[r] of one
   task's output. */
typedef struct mts_epilogue_params {
    mts_u32 out, out_pitch; /* act offset of pixel 0 of channel 0; floats between channels */
    mts_u32 gap;            /* zero floats to write before each stored channel (by the tile with pixel 0) */
    mts_u32 last, tail;     /* the tile that ends channel `last` writes `tail` zero floats after its plane;
                               last = NONE: none */
    mts_u32 index;          /* word index of u32[rows]: output channel of each row */
    mts_u32 scale, bias;    /* pool offsets of f32[rows]; NONE: 1, 0 */
    mts_u32 slope;          /* pool offset of f32[rows] for MTS_FN_PRELU, else NONE */
    mts_u32 res, res_pitch; /* act offset of the residual's pixel 0 of channel 0, or NONE; channel index[r] */
    mts_u32 fn;
    mts_f32 a, b;
} mts_epilogue_params;

/*
 * conv_block: what one work-group computes: the same rows of up to `parts` stretches of
 * pixels side by side. Part i covers `tile` pixels of a job from `pixel` on, both named
 * by a mts_tile_params. Jobs of a block agree in rows, taps, in_pitch, tile and in the
 * segments' number, channels and counts; they may have equal weights.
 */
typedef struct mts_block_params {
    mts_u32 parts, part; /* count, word index of mts_tile_params[] */
} mts_block_params;

/*
 * The stitched convolution of 3 x 3 taps, stride 1, by Winograd's F(2 x 2, 3 x 3): an
 * output tile of 2 x 2 pixels takes 16 products a channel and not 36 (A. Lavin, S. Gray:
 * Fast Algorithms for Convolutional Neural Networks, 2016):
 *
 *     Y = At [ sum over channels of (G g Gt) . (Bt d B) ] A      d: 4 x 4 inputs, g: 3 x 3 weights, Y: 2 x 2
 *     Bt = 1  0 -1  0    G = 1    0    0     At = 1  1  1  0
 *          0  1  1  0       1/2  1/2  1/2         0  1 -1 -1
 *          0 -1  1  0       1/2 -1/2  1/2
 *          0  1  0 -1        0    0    1
 *
 * Tile t covers rows 2 (t / columns) and columns 2 (t % columns) of the output and what
 * lies right and below; its d begins at act[in + c * in_pitch + 2 (t / columns) * row + 2
 * (t % columns)]. Where an output's last input column is column 2 * columns of d, that
 * column and column 0 hold zeros in every row: a kernel may take the one for the other. A
 * group (mts_tile_params, whose `pixel` is a tile) computes `tile` tiles of all the job's
 * rows.
 */
typedef struct mts_winograd_params {
    mts_u32 in, in_pitch;  /* act offset of tile 0's d of channel 0; floats between input channels */
    mts_u32 channels;      /* input channels: what the segments name lies below */
    mts_u32 h, w, row;     /* rows and columns of the output; floats of a row of output, input and residual */
    mts_u32 columns;       /* tiles of a row of tiles, at least w / 2, rounded up */
    mts_u32 tiles;         /* columns times h / 2, rounded up */
    mts_u32 tile;          /* tiles of a group, a multiple of VEC */
    mts_u32 blocks, block; /* count, word index of mts_winograd_rows_params[] */
    mts_u32 epilogues, epilogue; /* count, word index of mts_epilogue_params[] */
} mts_winograd_params;

/*
 * Output rows [row, row + rows) of a job (an epilogue's vectors count from the job's
 * first row). weight_a of a segment: G g Gt packed [16][count][rows], row-major 4 x 4;
 * weight_b is not used.
 */
typedef struct mts_winograd_rows_params {
    mts_u32 row, rows;
    mts_u32 segments, segment; /* count, word index of mts_segment_params[] */
} mts_winograd_rows_params;

/* Rows of a block at most, and the vectors of scratch that a group of `vectors` vectors
 * of `vec` tiles takes.
 */
#define MTS_WINOGRAD_ROWS 16
#define MTS_WINOGRAD_TILE_ROWS(vectors, vec, columns) (((vectors) * (vec) + (columns)-2) / (columns) + 1)
#define MTS_WINOGRAD_MOVES(columns, row, vec) ((2 * (columns) + 2) / (vec) + 2 * ((row) / (vec)) + 3)
#define MTS_WINOGRAD_SCRATCH(vectors, vec, channels, columns, row)                                           \
    (16 * ((vectors) * (channels) + 1) + 4 * MTS_WINOGRAD_ROWS * ((vectors) + 1) +                           \
     16 * MTS_WINOGRAD_ROWS * (vectors) +                                                                    \
     (4 * MTS_WINOGRAD_TILE_ROWS(vectors, vec, columns) * MTS_WINOGRAD_MOVES(columns, row, vec)) / (vec) +   \
     1)

/*
 * Depthwise convolution: member m, channel = get_global_id(1), flattened pixels along
 * get_global_id(0). Output channel c reads input channel c / multiplier; weights
 * pool[weight + c * taps + k]. The epilogue's index is read at [c]; scale, bias, slope
 * are f32[channels].
 */
typedef struct mts_depthwise_params {
    mts_u32 channels, multiplier;
    mts_u32 in, in_pitch, pixels, taps, tap, mask;
    mts_u32 weight;
    mts_epilogue_params epilogue;
} mts_depthwise_params;

/*
 * Depthwise convolution of size x size taps (3 or 5), stride 1 or 2 in both directions,
 * by rows: member m, work-item (i, j) computes rows i * part .. of channels j * each .. .
 * Tap (ky, kx) of output pixel (y, x) is pixel (y * stride + ky
 * * dilation - top, x * stride + kx * dilation - left) of the image of in_h x in_w pixels
 *   at act[in + c / multiplier * in_pitch], whose rows are in_row long, or 0 where that
 *   has no such pixel. Vectors may read up to 15 floats before a plane and 2 row + 32
 *   beyond its last pixel; what they read there counts for nothing, and at act[zeros] lie
 *   MTS_ROW_ZEROS zeros. `row` is that of output, residual and mask, what it has beyond w
 *   is set to 0; room: floats from pixel 0 of a plane on that its vectors may write, at
 *   least h * row rounded up to a vector. More than one part: row >= 16, part is a
 *   multiple of 16. A dilation of more than 1: stride 1, w > 16.
 */
#define MTS_ROW_ZEROS 80u
#define MTS_ROWS_NARROW 8u /* columns of a plane that fills vectors with channels, at most */
typedef struct mts_depthwise_rows_params {
    mts_u32 channels, multiplier, each;
    mts_u32 in, in_pitch, in_row, in_h, in_w, zeros;
    mts_u32 size, stride, dilation, top, left;
    mts_u32 h, w, row, part, room;
    mts_u32 mask; /* pool offset of f32[room], or NONE where row = w */
    mts_u32 weight;
    mts_epilogue_params epilogue;
} mts_depthwise_rows_params;

/*
 * The same of tensors in blocks of channels (mts_conv_params): member m, work-item (0, j)
 * computes blocks j * each .. of `blocks`. Taps side by side, one output channel for an
 * input channel; weights are pool[offset + k * 16 + c % 16] for tap k, with the offset at
 * params[weight + c / 16]. Of the epilogue's, index, gap, last and tail do not count:
 * channels keep their order, there is no residual, and pixels h * w to out_pitch are set
 * to 0.
 */
typedef struct mts_depthwise_blocks_params {
    mts_u32 blocks, each;
    mts_u32 in, in_pitch, in_h, in_w, zeros; /* at act[zeros] lies a block of zeros */
    mts_u32 size, stride, top, left;
    mts_u32 h, w;
    mts_u32 weight; /* word index of u32[blocks] */
    mts_epilogue_params epilogue;
} mts_depthwise_blocks_params;

/*
 * A depthwise convolution (3 x 3 or 5 x 5 taps, stride 1 or 2) with the 1 x 1 convolution
 * that reads it and, where `expands` is not 0, the 1 x 1 convolution that it reads, of
 * one image: group (i, 0) of member m computes rows i * part .. of all output channels.
 *
 * The depthwise one has `channels` channels; tap (ky, kx) of its pixel (y, x) is pixel (y
 * * stride + ky - top, x * stride + kx - left) of the image of in_h x in_w pixels, whose
 * rows are in_row long, or 0 where that has no such pixel; vectors may read as far beyond
 * a plane as those of mts_depthwise_rows_params. Of its epilogue only index, scale, bias,
 * slope, fn, a and b count. Jobs are words of mts_conv_params with rows_b 0 and one
 * epilogue; in, in_pitch, tile, taps and tap do not count. Those of `job` read the
 * depthwise channels and share pixels and mask; those of `expand` read the image at
 * act[in] and compute each of `channels` channels once, which they list as their
 * output's.
 *
 * part * row is a multiple of VEC, or there is one part.
 */
#define MTS_FUSED_ROWS 13u       /* rows of a job at most */
#define MTS_FUSED_CHANNELS 4096u /* depthwise channels at most */
typedef struct mts_fused_params {
    mts_u32 channels;
    mts_u32 in, in_pitch, in_row, in_h, in_w;
    mts_u32 size, stride, top, left;
    mts_u32 h, w, row, part;
    mts_u32 weight; /* pool offset of f32[channels][size][size] */
    mts_epilogue_params between;
    mts_u32 expands, expand; /* count, word index of u32[]: word indices of jobs */
    mts_u32 jobs, job;
} mts_fused_params;

/* Number of a member's taps and steps: 0 to 7. */
#define MTS_FUSED_SHAPE(size, stride, expands) (((expands) ? 4 : 0) + ((size) == 5 ? 2 : 0) + (int)(stride)-1)

/* Floats of a depthwise channel and of an expanded one in a group's memory, and the
   vectors of all. The last part's jobs walk pixels rounded up to 16, whatever VEC is. */
#define MTS_FUSED_KEPT(part, row, vec) (((part) * (row) + (vec) + 15) / (vec) * (vec))
#define MTS_FUSED_TAKEN(part, stride, size, in_row, vec)                                                     \
    (((((part)-1) * (stride) + (size)) * (in_row) + 6 * (vec) + 15) / (vec) * (vec))
#define MTS_FUSED_SCRATCH(p, vec)                                                                            \
    (((p)->channels * MTS_FUSED_KEPT((p)->part, (p)->row, vec) +                                             \
      ((p)->expands > 0 ? MTS_FUSED_ROWS : 0) *                                                              \
          MTS_FUSED_TAKEN((p)->part, (p)->stride, (p)->size, (p)->in_row, vec)) /                            \
     (vec))

/*
 * Fully connected: outputs of one image. Work-item get_global_id(0) computes rows [g *
 * lanes, (g + 1) * lanes). Weights of a segment lie packed [ceil(rows /
 * lanes)][count][lanes], rows beyond `rows` are zero. Input k of a segment: act[in +
 * (channel + k) * in_pitch]; only weight_a is used. epilogue.index/scale/bias/slope are
 * read at [row]; out of row r is out + index[r] * out_pitch.
 *
 * Rows that share weights are computed together: parameters with `sharing` n have n more
 * right behind them, of other tasks, with the same rows, lanes, in_pitch and segments but
 * for their weights, some of which are equal too. Those n have `sharing` NONE and are
 * computed with the first.
 */
typedef struct mts_fc_params {
    mts_u32 rows, lanes, in, in_pitch;
    mts_u32 segments, segment;
    mts_u32 epilogues, epilogue;
    mts_u32 sharing;
} mts_fc_params;

#include "kernels/abi/packed.h"

#endif
