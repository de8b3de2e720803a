/*
 * ops.c: the table of operators made from ops.h: names and arity.
 */
#include "graph/infer.h"

typedef struct op_row {
    const char *name;
    uint32_t least, most;
} op_row;

static const op_row rows[MTS_OP_COUNT] = {
#define OP_ROW(NAME, text, least, most, member) [MTS_OP_##NAME] = {text, least, most},
    MTS_OPS(OP_ROW)
#undef OP_ROW
};

const char *mts_op_name(mts_op op)
{
    return (unsigned)op < MTS_OP_COUNT ? rows[op].name : "unknown";
}

void mts_op_arity(mts_op op, uint32_t *least, uint32_t *most)
{
    *least = rows[op].least;
    *most = rows[op].most;
}
