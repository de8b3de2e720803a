/*
 * attrs.h: the attributes of a node as the 32-bit words that a bundle stores.
 *
 * Reading and writing follow the fields of the operator's row, so the two cannot differ.
 * Not responsible for whether the numbers make sense (mts_node_infer).
 */
#ifndef MTS_BUNDLE_ATTRS_H
#define MTS_BUNDLE_ATTRS_H

#include "graph/graph.h"

#define MTS_ATTRS_WORDS_MAX 64u

/* Words of an operator's attributes; 0xffffffff if there is no such operator. */
uint32_t mts_attrs_words(mts_op op);
/* words[mts_attrs_words(op)] from the attributes. */
void mts_attrs_encode(mts_op op, const mts_attrs *attrs, uint32_t *words);
void mts_attrs_decode(mts_op op, const uint32_t *words, mts_attrs *attrs);

#endif
