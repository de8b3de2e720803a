/*
 * ops.c: the table of what an operator does forwards and backwards.
 */
#include "compress/net/inside.h"

#define ROW(OP, name) [MTS_OP_##OP] = {mts_forward_##name, mts_backward_##name}

const mts_net_op mts_net_ops[MTS_OP_COUNT] = {
    ROW(CONV, conv),       ROW(DECONV, deconv), ROW(MATMUL, matmul),  ROW(SCALE, scale),
    ROW(UNARY, unary),     ROW(BINARY, binary), ROW(POOL, pool),      ROW(REDUCE, reduce),
    ROW(SOFTMAX, softmax), ROW(LRN, lrn),       ROW(CONCAT, move),    ROW(SLICE, move),
    ROW(PAD, move),        ROW(GATHER, move),   ROW(TRANSPOSE, move), ROW(RESHAPE, move),
    ROW(EXPAND, move),     ROW(RESIZE, resize), ROW(NORM, norm),      ROW(ATTENTION, attention),
    ROW(TAKE, take),
};
