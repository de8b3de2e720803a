/*
 * bytes.h: the kernel parameters of operators on 8-bit numbers (conv_bytes, pack_bytes,
 * map_bytes, pool_bytes), beside those of params.h.
 *
 * Planes of codes: a number x of 8 bits is held as a code of 0 to 255, x = step * (code +
 * least), where `least` is between -255 and 0, so that -least is the code of 0. Codes of
 * four channels are one word of the arena, channel 4 w + i in its bits 8 i to 8 i + 7. A
 * plane of words has the geometry of a plane of floats, and a tensor of C channels has
 * MTS_CODE_WORDS(C) of them. Only programs for float32 storage have such planes.
 *
 * conv_bytes takes mts_conv_params over such planes. The sums are integers: sum over w *
 * (code - zero); the border of the input holds codes `zero`. What differs from conv_tile:
 *   job       rows_b is 0; in_pitch and the segments' channels are those of words
 *   segment   weight_a: pool offset of i32[rows], the sum of each row's weights in this segment, then of words of four
 *             int8 [count][taps][rows], rows rounded up to 4; channels of the first and last word that the segment does
 *             not have count 0. weight_b: `zero`
 *   tap       behind the taps lies a mts_bytes_rows
 *   epilogue  slope is NONE; res: word index of a mts_codes_params, or NONE; out NONE: no floats are stored
 */
#ifndef MTS_KERNELS_ABI_BYTES_H
#define MTS_KERNELS_ABI_BYTES_H

#include "kernels/abi/conv.h"

/* Codes of a word, the words of n codes, and a word of one code alone. */
#define MTS_WORD_CODES 4
#define MTS_CODE_WORDS(n) (((n) + MTS_WORD_CODES - 1) / MTS_WORD_CODES)
#define MTS_CODE_WORD(code) ((code) * 0x01010101u)

/*
 * Where conv_bytes reads pixel p of its output. row 0: at p + tap[k], as conv_tile does.
 * Else its output has rows of `row` words, `height` of them with `width` pixels, and is
 * read at y step + 2 x + tap[k]; what lies beside these pixels is border.
 */
typedef struct mts_bytes_rows {
    mts_u32 row, height, width;
    mts_u32 step; /* words of the input from an output row to the next */
} mts_bytes_rows;

/*
 * Where an epilogue that ends with QUANT8 stores its codes: pixel 0 of word 0 at `out`,
 * words `pitch` apart. Its rows are consecutive channels, and index[0] is a multiple of
 * 4. The tile with pixel 0 writes `before` codes of 0 before a plane, the last tile
 * `after` of them behind its pixels.
 */
typedef struct mts_codes_params {
    mts_u32 out, pitch;
    mts_u32 before, after;
} mts_codes_params;

/*
 * Floats whose values have 8 bits -> planes of codes, with the border and the phases of
 * mts_space_to_depth_params. Channels that the last word has and the tensor has not are
 * 0. Columns of the source are src_column floats apart. With `coded` the source is planes
 * of codes of the same grid itself: src, src_pitch and src_row are those of words, and
 * src_column is 1. Channel c of image i lies at src + (i * channels + c) *
 * src_pitch; word plane (i, w, phase) at out + ((i * words + w)
 * * phases + phase) * pitch, words = MTS_CODE_WORDS(channels). Grid: (n, images * words,
 *   members): a work-item owns rows of one word in all phases.
 */
typedef struct mts_pack_params {
    mts_u32 out, pitch, rows, row;
    mts_u32 images, channels, sy, sx;
    mts_u32 phases; /* planes of a word: sy * sx, or the first alone */
    mts_i32 top, left;
    mts_u32 src, src_pitch, src_row, src_column;
    mts_u32 in_h, in_w;
    mts_f32 inverse; /* 1 / step */
    mts_f32 least;
    mts_u32 coded;
} mts_pack_params;

/*
 * Planes of codes that an operator writes: word plane (i, w) at out + (i * words + w) *
 * pitch, `rows` rows of `row` words, pixel 0 of the image `top` rows and `left` words
 * inside. Everything around the image is the code of 0 (-least).
 */
typedef struct mts_codes_dest {
    mts_u32 out, pitch, rows, row;
    mts_u32 images, channels, top, left;
    mts_u32 height, width; /* of the image */
    mts_f32 inverse;       /* 1 / step */
    mts_f32 least;
} mts_codes_dest;

/* Planes of codes that an operator reads: pixel 0 of word plane (i, w) at src + (i *
 * words + w) * pitch. Code c is the number factor * (c + least); words of the result that
 * the operand has not are 0. */
typedef struct mts_codes_source {
    mts_u32 src, pitch, row, words;
    mts_f32 factor, least;
} mts_codes_source;

/*
 * map_bytes: element by element, of the numbers that codes stand for: kind NONE: in[0]
 * alone; else MTS_BIN_ADD, MUL, MAX or MIN of both. scale, bias: pool offsets of
 * f32[channels] as in SCALE, or NONE. floats: where the numbers are stored besides, or
 * its base NONE. Grid: (n, images * words, members): a work-item owns rows of one word.
 */
#define MTS_MAP_ALONE 0xffffffffu
typedef struct mts_map_params {
    mts_codes_dest dest;
    mts_codes_source in[2];
    mts_u32 kind;
    mts_u32 scale, bias;
    mts_f32 step;
    mts_dest_params floats;
} mts_map_params;

/* pool_bytes: the largest code of each window, of source and result of one grid. Windows
 * have a pixel of the image. Grid: as map_bytes. */
typedef struct mts_pool_codes_params {
    mts_codes_dest dest;
    mts_codes_source in;
    mts_u32 in_h, in_w;
    mts_u32 window[2], stride[2];
    mts_i32 pad[2]; /* above and on the left */
} mts_pool_codes_params;

/* mean_bytes: the numbers that the codes of each plane stand for, in the mean, as floats:
 * dims of dest are [1,1,images,channels,1,1]. Words between the rows of an image hold
 * codes of 0. Up to 65,536 pixels, whose sums a float holds. Grid: that of dest.h. */
#define MTS_MEAN_PIXELS_MOST 65536u
typedef struct mts_mean_params {
    mts_dest_params dest;
    mts_codes_source in;
    mts_u32 height, width; /* of the source's image */
} mts_mean_params;

/* spread_bytes: depth to space of 2 x 2 neighbours: code 2 y + x of word c of the
 * source's pixel is channel c of its neighbour (y, x), so that the source has a word
 * for each channel. Both have one grid; height and width of the result are even. Grid:
 * as map_bytes. */
typedef struct mts_spread_params {
    mts_codes_dest dest;
    mts_codes_source in;
} mts_spread_params;

#include "kernels/abi/fc_bytes.h"

#endif
