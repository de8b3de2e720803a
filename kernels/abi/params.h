/*
 * params.h: the kernel parameters, structs that lie in the parameter buffer.
 *
 * Responsible for the memory layout of the parameter buffer: the host (sdk/lower) writes
 * it once when a session is made, the kernels (OpenCL C, CUDA, platform/reference) read
 * it. This file is compiled by all of them, so it holds only 32-bit fields and no include
 * of its own: the includer defines `mts_u32`, `mts_i32` and `mts_f32` (4 bytes each)
 * beforehand. Not responsible for filling or interpreting them.
 *
 * Every kernel has one signature:
 *
 *     kernel(real *act, const real *pool, const u32 *params, u32 first)
 *
 * real   what a session stores, its elements: float32, or float16 where the kernels are built with HALF (then
 *        "floats" and f32 of act and pool mean these elements below)
 * act    activations arena; every offset into it is in elements
 * pool   packed weights, scales, biases, masks; every offset into it is in elements
 * params parameter buffer: kernel parameters of all launches of a session; a word index
 * counts its u32 from 0
 * first  word index of the first parameters of this launch
 *
 * A launch of a stitched layer covers many tasks. The convolution kernels find their work
 * in a tile list (get_global_id(0) / tile); all other kernels take member m =
 * get_global_id(2), whose parameters lie at params[first + m * (size of their struct /
 * 4)].
 *
 * Storage of a tensor ("planar"): dims are left-padded to six, d[4] = rows (H), d[5] =
 * columns (W), the first four name the plane. A plane is `gap` zero floats, then H rows
 * of `row` floats (W values, then row - W zeros), rounded up; planes follow each other at
 * `pitch` floats, `tail` zero floats follow the last one, so that a tap that leaves the
 * image reads a zero:
 *
 *     base - gap            base                      base - gap + pitch
 *     | 0 0 .. 0            | v v v v 0 | v v v v 0 | (round up, 0) | 0 0 .. 0 | v v v v 0 ...
 *     |<------ gap -------->|<- row --->|           |               |<- gap of the next plane
 *
 * A kernel that writes a tensor writes its zeros too: arena memory is reused, a border
 * does not stay clear. A dense tensor has gap = tail = 0, row = W, pitch = H * W.
 */
#ifndef MTS_KERNELS_ABI_PARAMS_H
#define MTS_KERNELS_ABI_PARAMS_H

#include "kernels/abi/kinds.h"

#define MTS_PARAM_NONE 0xffffffffu /* an absent offset or index */
#define MTS_PARAM_RANK 6

/* ---- the stitched convolution: tiles, jobs, segments, epilogues ------------------------------------- */

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
 * conv_packed: a job has one image, rows_b 0, no mask and no plane; its `tap` is the word
 * index of this. Input, outputs and residuals lie in planes of any row length, or (blocks:
 * MTS_BLOCKS_..) in packs of 4 channels: channel c of pixel p is
 *
 *     act[base + (c / 4 * 4) * pitch + p * 4 + c % 4]
 *
 * and lanes beyond the last channel are 0: the epilogue's `last` is that channel, gap and
 * tail are 0. Tap k of output pixel (y, x) is pixel (y * stride_y + k / kernel_w *
 * dilation_y - top, x * stride_x + k % kernel_w * dilation_x - left) of the input, or 0
 * where that has no such pixel. Pixel p of the job is row p / row, column p % row; what
 * lies beyond w columns is set to 0. Segments count channels from the image's first.
 * Weights lie packed
 *
 *     [taps][(channel % 4 + count + 3) / 4][4 channels][rows_a, rounded up to 4]
 *
 * with zeros in the lanes of channels and rows that are not the segment's. A depthwise job
 * (MTS_BLOCKS_DEPTHWISE) has at most 4 rows and one segment, row r reads its channel
 * channel + r, and weights lie packed [taps][4].
 */
#define MTS_CHANNEL_PACK 4u
#define MTS_PACKED_ROWS 8u /* rows of a job at most */
typedef struct mts_packed_params {
    mts_u32 blocks;
    mts_u32 in_row, in_h, in_w;
    mts_u32 zeros; /* at act[zeros] lies a pack of zeros */
    mts_u32 kernel_w, stride_y, stride_x, dilation_y, dilation_x, top, left;
    mts_u32 h, w, row; /* of the output */
    mts_u32 res_row;
} mts_packed_params;

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

/* ---- everything else -------------------------------------------------------------------------------- */

/* A tensor that is read: element (i0..i5) at base + sum i * stride. A broadcast dimension
   has stride 0. */
typedef struct mts_view_params {
    mts_u32 base;
    mts_u32 stride[MTS_PARAM_RANK];
} mts_view_params;

/*
 * A tensor that is written. The grid is (n, planes + 1, members), planes = d[0] d[1] d[2]
 * d[3]: work-item (x, q, m) owns a run of ceil(pitch / n) floats of plane q from base -
 * gap + q * pitch on, whatever n is (kernels/dest.h), and writes values where the image
 * lies, zeros elsewhere. The extra plane q = planes writes the `tail` zeros.
 */
typedef struct mts_dest_params {
    mts_u32 base;
    mts_u32 dims[MTS_PARAM_RANK];
    mts_u32 row, pitch, gap, tail;
} mts_dest_params;

typedef struct mts_unary_params {
    mts_dest_params dest;
    mts_view_params src;
    mts_u32 fn;
    mts_f32 a, b;
} mts_unary_params;

typedef struct mts_binary_params {
    mts_dest_params dest;
    mts_view_params lhs, rhs;
    mts_u32 kind, fn; /* fn(lhs kind rhs) */
    mts_f32 a, b;
    mts_u32 lhs_pool, rhs_pool; /* 1: this operand's base is a pool offset (a constant) */
} mts_binary_params;

/* in[0] != 0 ? in[1] : in[2] */
typedef struct mts_select_params {
    mts_dest_params dest;
    mts_view_params in[3];
    mts_u32 in_pool[3]; /* 1: this operand's base is a pool offset (a constant) */
} mts_select_params;

/* y = fn(scale[c] x + bias[c]), c = coordinate 3 (channels of [N, C, H, W]), or the column. */
typedef struct mts_scale_params {
    mts_dest_params dest;
    mts_view_params src;
    mts_u32 scale, bias, slope; /* pool offsets of f32[channels], or NONE */
    mts_u32 columns;            /* 1: channels are columns, `scale` and `bias` are there and `slope` is not */
    mts_u32 fn;
    mts_f32 a, b;
} mts_scale_params;

/* Slice, transpose, expand, a change of layout: out(i) = src at sum i * stride (start is
   in base). */
typedef struct mts_copy_params {
    mts_dest_params dest;
    mts_view_params src;
    mts_u32 src_pool;             /* 1: src.base is a pool offset; 2: see mts_space_to_depth_params */
    mts_i32 step[MTS_PARAM_RANK]; /* signed stride used instead of src.stride (negative steps) */
} mts_copy_params;

/* Part i covers coordinates [start_i, start_i+1) along `axis`; the last part ends at
   dims[axis]. */
typedef struct mts_part_params {
    mts_u32 start;
    mts_u32 pool; /* 1: view.base is a pool offset */
    mts_view_params view;
} mts_part_params;

typedef struct mts_concat_params {
    mts_dest_params dest;
    mts_u32 axis;
    mts_u32 parts, part; /* count, word index of mts_part_params[] */
} mts_concat_params;

typedef struct mts_pad_params {
    mts_dest_params dest;
    mts_view_params src;
    mts_u32 src_dims[MTS_PARAM_RANK];
    mts_i32 before[MTS_PARAM_RANK]; /* may be negative (crop) */
    mts_u32 mode;
    mts_f32 value;
} mts_pad_params;

/* Coordinate `axis` of the source is params[index + coordinate `axis` of the output]. */
typedef struct mts_gather_params {
    mts_dest_params dest;
    mts_view_params src;
    mts_u32 axis, index;
} mts_gather_params;

typedef struct mts_pool_params {
    mts_dest_params dest;
    mts_view_params src;
    mts_u32 in_h, in_w;
    mts_u32 window[2], stride[2], dilation[2]; /* window: kernel size (kernel is a keyword of OpenCL C) */
    mts_i32 pad[4];                            /* top, left, bottom, right */
    mts_u32 kind, include_pad;                 /* include_pad: divide by the window inside the padded image */
} mts_pool_params;

/* Reduced coordinates run over extent[] with stride step[]; the others have extent 1. */
typedef struct mts_reduce_params {
    mts_dest_params dest;
    mts_view_params src;
    mts_u32 extent[MTS_PARAM_RANK], step[MTS_PARAM_RANK];
    mts_u32 kind;
} mts_reduce_params;

/* Softmax along one axis of `length` values at stride src.stride[axis]. */
typedef struct mts_softmax_params {
    mts_dest_params dest;
    mts_view_params src;
    mts_u32 axis, length, log;
} mts_softmax_params;

/* y = x / (bias + alpha / size * sum of squares over `size` neighbouring
   channels)^beta. */
typedef struct mts_lrn_params {
    mts_dest_params dest;
    mts_view_params src;
    mts_u32 channels, size;
    mts_f32 alpha, beta, bias;
} mts_lrn_params;

/* Rows and columns only. Index 0: rows, 1: columns. roi: start and end as a fraction
   (TF_CROP). */
typedef struct mts_resize_params {
    mts_dest_params dest;
    mts_view_params src;
    mts_u32 in[2];
    mts_f32 scale[2]; /* output / input, as the model states it */
    mts_f32 roi_start[2], roi_end[2];
    mts_u32 mode, coord, round, exclude_outside;
    mts_f32 cubic_a, extrapolation;
} mts_resize_params;

/*
 * y(.., b, n, j) = src(.., b, k, j), k = index(.., b, n, j), a whole number: `length` is
 * added to one below 0, then 0 and length - 1 bound it.
 */
typedef struct mts_take_params {
    mts_dest_params dest;
    mts_view_params src, index;
    mts_u32 src_pool, index_pool; /* 1: base is a pool offset */
    mts_u32 length;               /* of coordinate 4 of src */
} mts_take_params;

/* Sums or products (kind) of the elements along `axis` up to each one: from the end if
   `reverse`, without itself if `exclusive`. */
typedef struct mts_scan_params {
    mts_dest_params dest;
    mts_view_params src;
    mts_u32 axis, length, kind, exclusive, reverse;
} mts_scan_params;

/* Positions of the dest.dims[5] largest or smallest of `length` elements along coordinate
   5, in order. */
typedef struct mts_order_params {
    mts_dest_params dest;
    mts_view_params src;
    mts_u32 length, largest;
} mts_order_params;

/* Planes of in_h x in_w pixels at the columns (grid(.., 0)) and rows (grid(.., 1)) of a
   grid in -1..1. */
typedef struct mts_sample_params {
    mts_dest_params dest;
    mts_view_params src, grid; /* grid: coordinates image, row, column, 0 or 1 */
    mts_u32 in_h, in_w;
    mts_u32 src_pool, grid_pool; /* 1: base is a pool offset */
    mts_u32 mode, padding, align;
} mts_sample_params;

/*
 * Steps of a recurrent layer of `hidden` units: src [length, sequences, gates * hidden],
 * dest with the state after each step (kernels/recur). weight: pool offset of
 * [hidden][gates * hidden].
 */
typedef struct mts_recur_params {
    mts_dest_params dest;
    mts_view_params src, h, c; /* h, c: [sequences, hidden] before the first step */
    mts_u32 h_pool, c_pool;    /* 1: base is a pool offset */
    mts_u32 states;            /* bit 0: h is given, bit 1: c; else zeros */
    mts_u32 weight, bias;      /* pool offsets; bias of GRU_AFTER's last gate, or NONE */
    mts_u32 kind, reverse, length, hidden;
} mts_recur_params;

/*
 * y = fn(scale (x - mean) factor + bias), mean and factor of a set of elements. Dimension
 * d of the output is sets[d] times lines[d]: coordinate c lies in set c / lines[d]. A set
 * consists of lines along dimension 5, one for each of the first five lines[]; where
 * lines[5] is 1 and sets[5] is not, neighbouring columns are sets of their own.
 *
 * Work-group u takes the sets from u / cuts * batch on, at most `batch` of them, which
 * are counted row-major over the first five sets[] (over all six, where dimension 5 is in
 * the set), and of their columns a stretch of `cut`: number u % cuts. A line's floats lie
 * side by side: src.stride[5] is 1, that of scale and bias is 0 or 1.
 */
typedef struct mts_norm_params {
    mts_dest_params dest;
    mts_view_params src;
    mts_view_params scale, bias; /* in the pool; base NONE: 1, 0 */
    mts_u32 sets[MTS_PARAM_RANK], lines[MTS_PARAM_RANK];
    mts_u32 batch, cuts, cut;
    mts_u32 kind, fn;
    mts_f32 epsilon, a, b;
} mts_norm_params;

/* out[.., i, j] = alpha sum_k lhs[.., i, k] rhs[.., k, j] + beta add[.., i, j]. */
typedef struct mts_matmul_params {
    mts_dest_params dest;
    mts_view_params lhs, rhs, add; /* lhs.stride[5], rhs.stride[4]: along k */
    mts_u32 depth;
    mts_u32 lhs_pool, rhs_pool, add_pool; /* 1: base is a pool offset */
    mts_f32 alpha, beta;                  /* beta = 0: add is not read */
} mts_matmul_params;

/* Transposed convolution; weights [in channels][out channels / group][kh][kw] in the
   pool. */
typedef struct mts_deconv_params {
    mts_dest_params dest;
    mts_view_params src;
    mts_u32 in_channels, in_h, in_w, group;
    mts_u32 window[2], stride[2], dilation[2]; /* window: kernel size (kernel is a keyword of OpenCL C) */
    mts_i32 pad[2];                            /* top, left */
    mts_u32 weight, bias;                      /* bias: pool offset of f32[out channels], or NONE */
    mts_u32 fn;
    mts_f32 a, b;
} mts_deconv_params;

/*
 * Space-to-depth for a strided convolution: phase (py, px) of channel c is a plane of
 * `rows` x `row` floats at out + ((c * sy + py) * sx + px) * pitch; its element (y, x) is
 * input (y * sy + py - top, x * sx + px - left), zero outside the image. With it every
 * tap of a strided convolution is a constant pixel offset. Grid: (n, channels / each,
 * rounded up, members): a work-item owns a run of ceil(pitch / n) positions in all phases
 * of `each` channels.
 */
typedef struct mts_space_to_depth_params {
    mts_u32 out, pitch, rows, row; /* pitch >= rows * row; the rest of a plane is written 0 */
    mts_u32 channels, each, sy, sx;
    mts_i32 top, left;
    /* act offset of pixel 0 of channel 0; floats between channels, rows and columns */
    mts_u32 src, src_pitch, src_row, src_column;
    mts_u32 in_h, in_w;
    mts_u32 src_pool; /* 1: src is a pool offset. 2: the launch's `pool` is the caller's memory (zero-copy):
                         float32 whatever the session stores, and src counts floats; no member then says 1 */
} mts_space_to_depth_params;

/*
 * A region of a camera frame to one image of a model's input. The launch's `pool` is the
 * frame buffer, not the weight pool: its size changes with the camera's, and it holds
 * bytes whatever a session stores.
 *
 * The image has height x width pixels; channel c of pixel (i, j) lies at out + c *
 * step[0] + i * step[1] + j
 * * step[2]. Pixels of rows [top, top + rows) and columns [left, left + columns) show the
 *   region, all others are bars and have the values bar[c].
 *
 * Seen upright the region has as many rows and columns of pixels as it has of h and w, or
 * of w and h where it is `turned`. Its pixel (p, q) is the frame's pixel (x, y) with x =
 * x0 + (turned ? p : q), from the right end of the region where flip_x is 1, y = y0 +
 * (turned ? q : p), from its lower end where flip_y is 1. Along each of its directions
 * (0: rows, 1: columns) image pixel i covers [i, i + 1) * ratio pixels of it. With box[d]
 * 1 all that it covers count by their covered parts (ratio is then at least 1), else the
 * two pixels next to the middle of it (half-pixel centres, edge clamped).
 *
 * `packed` says that the buffer's rows are not those of a frame: rows 2 i and 2 i + 1 of
 * the buffer are the two that image row top + i is mixed of, in this order; ratio[0] is
 * then at least 2, box[0], turned, flip_y, y and shift[0] are 0. The upper one is row m /
 * (2 rows) of the region, rounded down, m = (2 i + 1) h - rows, and the rest is the lower
 * one's weight.
 *
 * With `turned_by` 1 the region is a rectangle at any place and angle instead. Point (u,
 * v) of the part of the image that shows it, 0, 0 at its upper left corner and u in
 * columns, is point (m[0] u + m[1] v + m[2], m[3] u + m[4] v + m[5]) of the frame, where
 * the middle of the first pixel is 0.5, 0.5. An image pixel is the mean of box[0] rows of
 * box[1] points, evenly spread over it, each mixed of the four pixels next to it. Of
 * these, the ones outside of the w x h pixels from (x, y) on, which are all that the
 * frame has of the rectangle, have the colour `fill` or, with `edge` 1, that of the
 * nearest one inside. turned, flip_x, flip_y and packed are 0 then.
 *
 * A pixel of the frame is three bytes: the first at plane[0] + y * stride[0] + x *
 * pixel[0], the others at plane[k] + (y >> shift[0]) * stride[k] + (x >> shift[1]) *
 * pixel[1]. They are red, green, blue, or with yuv 1 Y = gain a + bias, red = Y + rv (c -
 * 128), green = Y - gu (b - 128) - gv (c - 128), blue = Y + bu (b - 128), each clamped to
 * 0..255 before pixels are mixed. Channel c of the result is colour order[c] (0 red, 1
 * green, 2 blue, 3 luma BT.601), (colour - mean[c]) * scale[c]. With least < most it is
 * rounded to the nearest integer, ties to even, and clamped to least..most; bar[c] is
 * written as it is.
 *
 * Grid: (n, rows of the highest image, members): a work-item owns ceil(width / n) pixels
 * of a row.
 */
typedef struct mts_frame_params {
    mts_u32 idle; /* 1: nothing is read or written */
    mts_u32 out, channels, height, width, step[3];
    mts_u32 top, left, rows, columns;
    mts_u32 plane[3], stride[3], pixel[2], shift[2]; /* bytes from the buffer's start, bytes, bytes, bits */
    mts_u32 x, y, w, h;
    mts_u32 turned, flip_x, flip_y, packed;
    mts_u32 box[2];
    mts_f32 ratio[2], inverse[2]; /* and 1 / ratio */
    mts_u32 yuv;
    mts_f32 gain, bias, bu, gu, gv, rv;
    mts_u32 order[4];
    mts_f32 mean[4], scale[4], bar[4];
    mts_u32 turned_by, edge;
    mts_f32 m[6], fill[3];
    mts_f32 least, most;
} mts_frame_params;

#endif
