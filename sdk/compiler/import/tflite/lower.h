/*
 * lower.h: what the functions of the TensorFlow Lite operators use: operands in the
 * layout at hand, options, results.
 *
 * A tensor of rank 4 is held as the file has it ("native": [N,H,W,C]) or as the graph
 * wants images ("planar": [N,C,H,W]), or both once both were asked for. A function works
 * in the layout that its operands have already, so that a transpose stands only where the
 * order becomes visible.
 */
#ifndef MTS_COMPILER_IMPORT_TFLITE_LOWER_H
#define MTS_COMPILER_IMPORT_TFLITE_LOWER_H

#include "compiler/import/tflite/model.h"

/* ---- operands (value.c) ---- */
/* Operand of the operator at hand, NULL if it is absent. */
mts_tflite_tensor *mts_tflite_in(mts_tflite *model, uint32_t index);
/* Whether the tensor is an image that is held planar, or an input of the model that may
   become so. */
bool mts_tflite_is_planar(const mts_tflite_tensor *tensor);
/* The tensor's value in the file's order; float16 constants as float32. NULL: failed. */
mts_import_value *mts_tflite_native(mts_tflite *model, mts_tflite_tensor *tensor);
/* The same, but constants keep the type of the file: for weights. */
mts_import_value *mts_tflite_weight(mts_tflite *model, mts_tflite_tensor *tensor);
/* As [N,C,H,W]; a lower rank is led by ones, as in broadcasting. */
mts_import_value *mts_tflite_planar(mts_tflite *model, mts_tflite_tensor *tensor);
mts_import_value *mts_tflite_value(mts_tflite *model, mts_tflite_tensor *tensor, bool planar);
/* `count` operands, all present, in one layout: planar where one of them is, which is
   returned. */
bool mts_tflite_align(mts_tflite *model, uint32_t count, mts_import_value **out);
/* Dimension of the held value for one of the file: 0, 1, 2, 3 are 0, 2, 3, 1 of a planar
   value. */
uint32_t mts_tflite_dim(bool planar, uint32_t dim);
/* An axis of the file, which may count from the end, as 0..rank-1. */
uint32_t mts_tflite_axis(mts_tflite *model, int64_t axis, uint32_t rank);
/* Numbers of a constant operand; absent: none. */
uint32_t mts_tflite_ints(mts_tflite *model, uint32_t index, const char *what, int64_t *out, uint32_t most);

/* ---- quantised tensors (quant.c) ---- */
/* Whether the tensor holds integers that stand for real numbers. */
bool mts_tflite_is_quantised(mts_tflite *model, const mts_tflite_tensor *tensor);
/* The real numbers that a quantised tensor's integers stand for. */
mts_import_value *mts_tflite_real(mts_tflite *model, const mts_tflite_tensor *tensor,
                                  mts_import_value *codes);
/* The integers of a quantised tensor that stand for real numbers. */
mts_import_value *mts_tflite_codes(mts_tflite *model, const mts_tflite_tensor *tensor,
                                   mts_import_value *real);
/* Real numbers rounded to those that the operator's result can hold; others as they
   are. */
mts_import_value *mts_tflite_round(mts_tflite *model, const mts_tflite_tensor *tensor,
                                   mts_import_value *real);

/* ---- options of the operator at hand, by field number ---- */
int64_t mts_tflite_option(mts_tflite *model, uint32_t field, mts_flat_kind kind, int64_t fallback);
/* The activation that the options of number `field` ask for, applied. */
mts_import_value *mts_tflite_activate(mts_tflite *model, mts_import_value *y, int64_t activation);

/* ---- results ---- */
/* Binds a result. Its shape must be the one that the file states. */
void mts_tflite_out(mts_tflite *model, uint32_t index, mts_import_value *value, bool planar);
/* Element type that the file states for the first result, of those that the SDK has;
   fails for others. */
bool mts_tflite_out_type(mts_tflite *model, mts_type *dtype);
/* Shape that the file states for a result. */
const mts_shape *mts_tflite_out_shape(mts_tflite *model, uint32_t index);

/* ---- operator table (table.c) ---- */
typedef struct mts_tflite_row {
    uint32_t code;
    const char *op;
    /* operands */
    uint32_t required, most;
    void (*lower)(mts_tflite *model);
} mts_tflite_row;
/* Row of an operator, or NULL. */
const mts_tflite_row *mts_tflite_find(const mts_tflite_operator *node);
/* Name of an operator for messages; text of [size] for those without one. */
const char *mts_tflite_operator_name(const mts_tflite_operator *node, char *text, size_t size);

/* A list, not a statement. */
/* clang-format off */
#define MTS_TFLITE_FUNCTIONS(X)                                                                              \
    X(conv) X(depthwise) X(transpose_conv) X(transpose_bias) X(max_pool) X(average_pool) X(resize_bilinear)   \
    X(resize_nearest) X(unary) X(compare) X(not) X(select) X(cast) X(floor_div) X(add_n) X(gelu) X(leaky) X(prelu) X(binary) X(squared_difference) X(softmax) X(l2_norm)  \
    X(dequantize) X(reduce) X(fully_connected) X(batch_matmul) X(concat) X(pad) X(mirror_pad) X(slice)       \
    X(strided_slice) X(split) X(split_sizes) X(gather) X(pack) X(unpack) X(reshape) X(squeeze)               \
    X(transpose) X(embedding) X(gather_nd) X(scatter_nd) X(arg) X(top_k) X(one_hot) X(cumsum) X(tile) X(broadcast) X(fill) X(depth_to_space) X(space_to_depth) X(shape) X(expand_dims)  \
    X(space_to_batch) X(batch_to_space) X(lstm)
/* clang-format on */
#define MTS_TFLITE_DECLARE(name) void mts_tflite_lower_##name(mts_tflite *model);
MTS_TFLITE_FUNCTIONS(MTS_TFLITE_DECLARE)
#undef MTS_TFLITE_DECLARE

#endif
