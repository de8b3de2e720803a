/*
 * params.h: the kernel parameters, structs that lie in the parameter buffer. Those of
 * convolutions are in conv.h.
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

/* y = fn(scale[c] x + bias[c]), c the sum of channel[0] times coordinate 2, channel[1] times
   coordinate 3 and channel[2] times the column: of planes coordinate 3. */
typedef struct mts_scale_params {
    mts_dest_params dest;
    mts_view_params src;
    mts_u32 scale, bias, slope; /* pool offsets of f32[channels], or NONE */
    mts_u32 channel[3];         /* channel[2]: 0 or 1 */
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
    mts_u32 lane_bits;                         /* 0, or columns are those of packs: see below */
} mts_pool_params;

/*
 * Windows over packs (mts_pool_params, mts_resize_params): coordinate 3 is a pack and
 * column k of it and of the operand is lane k % 4 of pixel k / 4, 4 = 1 << lane_bits. A
 * pool's in_w, dilation[1], pad[1] and pad[3] then count these columns, its stride pixels;
 * what a resize has counts pixels, but dest.
 */

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
    mts_u32 lane_bits; /* as a pool's */
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

/* Attention of images of one row, [images, channels, 1, tokens]: heads have equally many channels, `depth` of q
   and k. Grid: (n, images * heads + 1, members), see kernels/attention. */
typedef struct mts_attention_params {
    mts_dest_params dest;
    mts_view_params q, k, v; /* stride[5] is 1 */
    mts_view_params mask;    /* of [images, heads, queries, keys] */
    mts_u32 mask_pool;       /* 1: mask.base is a pool offset; NONE: there is no mask */
    mts_u32 heads, depth, keys;
    mts_f32 scale;
} mts_attention_params;

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
