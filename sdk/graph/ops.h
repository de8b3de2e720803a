/*
 * ops.h: the operators of a task's graph, one row each.
 *
 * The compiler lowers ONNX to these few; the run-time knows no others. Columns: NAME, text, least and most
 * inputs (0xffff: any number), attribute member of mts_attrs. Every operator has exactly one output.
 *
 * Inputs by position:
 *   CONV      x [N,C,H,W]; weight [O,C/group,kh,kw] const; then optional: scale [O], bias [O] const; residual
 *             (shape of the output); slope [O] const.   y = act(scale * conv(x) + bias + residual)
 *             Scale, bias and slope may be [N,O]: a row for each image, not together with a scatter.
 *             A fully connected layer is a CONV over [N,K,1,1].
 *   DECONV    x [N,C,H,W]; weight [C,O/group,kh,kw] const; optional bias [O] const (transposed convolution)
 *   MATMUL    a [..,M,K]; b [..,K,N]; optional c, broadcast to the output.   alpha a b + beta c
 *   SCALE     x [N,C,..]; scale [C] const; bias [C] const; optional slope [C] const.   y = act(scale x +
 * bias) UNARY     x;  BINARY a, b (broadcast; either may be const) POOL      x [N,C,H,W];  REDUCE x;  SOFTMAX
 * x;  LRN x [N,C,H,W] CONCAT    x0, x1, ... (each may be const);  SLICE x;  PAD x;  GATHER x, index const i32
 *   TRANSPOSE x;  RESHAPE x (same elements, row-major);  EXPAND x;  RESIZE x [N,C,H,W]
 *
 * All run-time values are float32 in a task's graph; the dtype of a graph input or output says what the
 * caller passes or gets, converted at the border.
 */
#ifndef MTS_GRAPH_OPS_H
#define MTS_GRAPH_OPS_H

#define MTS_OPS(X)                                                                                           \
    X(CONV, "conv", 2, 6, conv)                                                                              \
    X(DECONV, "deconv", 2, 3, conv)                                                                          \
    X(MATMUL, "matmul", 2, 3, matmul)                                                                        \
    X(SCALE, "scale", 3, 4, unary)                                                                           \
    X(UNARY, "unary", 1, 1, unary)                                                                           \
    X(BINARY, "binary", 2, 2, binary)                                                                        \
    X(POOL, "pool", 1, 1, pool)                                                                              \
    X(REDUCE, "reduce", 1, 1, reduce)                                                                        \
    X(SOFTMAX, "softmax", 1, 1, softmax)                                                                     \
    X(LRN, "lrn", 1, 1, lrn)                                                                                 \
    X(CONCAT, "concat", 1, 0xffff, concat)                                                                   \
    X(SLICE, "slice", 1, 1, slice)                                                                           \
    X(PAD, "pad", 1, 1, pad)                                                                                 \
    X(GATHER, "gather", 2, 2, gather)                                                                        \
    X(TRANSPOSE, "transpose", 1, 1, transpose)                                                               \
    X(RESHAPE, "reshape", 1, 1, reshape)                                                                     \
    X(EXPAND, "expand", 1, 1, reshape)                                                                       \
    X(RESIZE, "resize", 1, 1, resize)

#endif
