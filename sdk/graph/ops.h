/*
 * ops.h: the list of operators of a task's graph: NAME of the enum value, and the row
 * (op.h) in the file of sdk/graph/ops. The order is part of the bundle format: append,
 * never reorder.
 *
 * The compiler lowers ONNX to these few; the run-time knows no others. Every operator has
 * one output.
 *
 * Inputs by position:
 *   CONV      x [N,C,H,W]; weight [O,C/group,kh,kw] const; then optional: scale [O], bias [O] const; residual
 *             (shape of the output); slope [O] const.   y = act(scale * conv(x) + bias + residual)
 *             Scale, bias and slope may be [N,O]: a row for each image, not together with a scatter.
 *             A fully connected layer is a CONV over [N,K,1,1].
 *   DECONV    x [N,C,H,W]; weight [C,O/group,kh,kw] const; optional bias [O] const (transposed convolution)
 *   MATMUL    a [..,M,K]; b [..,K,N]; optional c, broadcast to the output.   alpha a b + beta c
 *   SCALE     x [N,C,..]; scale [C] const; bias [C] const; optional slope [C] const.
 *             y = act(scale x + bias)
 *   UNARY     x
 *   BINARY    a, b (broadcast; either may be const)
 *   POOL      x [N,C,H,W]
 *   REDUCE, SOFTMAX  x
 *   LRN       x [N,C,H,W]
 *   CONCAT    x0, x1, ... (each may be const)
 *   SLICE, PAD, TRANSPOSE  x
 *   GATHER    x; index const i32
 *   RESHAPE   x (same elements, row-major)
 *   EXPAND    x
 *   RESIZE    x [N,C,H,W]
 *   TAKE      x [B,D,J]; index [B or 1,N,J or 1].   y[b,n,j] = x[b,index[b,n,j],j]; an index below 0 counts
 *             from the end, and what is then outside 0..D-1 is moved to the nearer end
 *   SCAN      x: sums or products of all elements up to each one, along an axis
 *   ORDER     x [..,D]: positions of the `count` largest or smallest elements of each row, in order; of equal
 *             elements the first one comes first
 *   RECUR     x [T,N,G*H], products of the input with the weights of G gates, and their biases; weight [H,G*H]
 *             const; then optional: state h [N,H], state c [N,H] (LSTM), bias [H] const (GRU_AFTER).
 *             Gates in the order of ONNX. y [T,N,H] is h after each step; LSTM: [T,N,2*H], c beside it;
 *             GRU: [T,N,3*H], with what it computes in between beside it
 *   SAMPLE    x [N,C,H,W]; grid [N,H',W',2] of columns and rows in -1..1.   [N,C,H',W']
 *   NORM      x; optional scale, bias const (broadcast to x).   y = act(scale (x - mean) / deviation + bias);
 *             mean and deviation are those of the elements along `axes` (of a group of channels)
 *   ATTENTION q [N,C,1,Q]; k [N,C,1,K]; v [N,D,1,K]; optional mask, broadcast to [N,heads,Q,K].   [N,D,1,Q]:
 *             for each head, v softmax(scale q k + mask): heads have equal runs of channels, the softmax runs
 *             over the K tokens
 *   SELECT    condition, a, b (broadcast; each may be const).   y = condition != 0 ? a : b
 *
 * All run-time values are float32 in a task's graph; the dtype of a graph input or output
 * says what the caller passes or gets, converted at the border.
 */
#ifndef MTS_GRAPH_OPS_H
#define MTS_GRAPH_OPS_H

/* A list, not statements. */
/* clang-format off */
#define MTS_OPS(X)           \
    X(CONV, conv)            \
    X(DECONV, deconv)        \
    X(MATMUL, matmul)        \
    X(SCALE, scale)          \
    X(UNARY, unary)          \
    X(BINARY, binary)        \
    X(POOL, pool)            \
    X(REDUCE, reduce)        \
    X(SOFTMAX, softmax)      \
    X(LRN, lrn)              \
    X(CONCAT, concat)        \
    X(SLICE, slice)          \
    X(PAD, pad)              \
    X(GATHER, gather)        \
    X(TRANSPOSE, transpose)  \
    X(RESHAPE, reshape)      \
    X(EXPAND, expand)        \
    X(RESIZE, resize)        \
    X(TAKE, take)            \
    X(SCAN, scan)            \
    X(ORDER, order)          \
    X(SAMPLE, sample)        \
    X(SELECT, select)        \
    X(RECUR, recur)          \
    X(NORM, norm)            \
    X(ATTENTION, attention)
/* clang-format on */

#endif
