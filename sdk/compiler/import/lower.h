/*
 * lower.h: internals of the importer: values, the node at hand, and what the functions of
 * each ONNX operator use.
 *
 * The import is one pass over the ONNX nodes. A function of the operator table reads
 * inputs and attributes, emits run-time nodes and binds the outputs. Emitting a node
 * whose operands are all constants computes it at once, so the functions do not
 * distinguish shape arithmetic from run-time work. The first failure sticks: later calls
 * do nothing and return NULL or zeros, so that a function checks only where it would
 * dereference a result.
 */
#ifndef MTS_COMPILER_IMPORT_LOWER_H
#define MTS_COMPILER_IMPORT_LOWER_H

#include "base/map.h"
#include "compiler/import/import.h"
#include "compiler/import/proto.h"

struct mts_import_value;

/* The integers of a dequantised constant: numbers are scale * (code - zero). */
typedef struct mts_import_codes {
    struct mts_import_value *codes; /* int8 or uint8 */
    const float *scale;
    const int32_t *zero;
    uint32_t count; /* 1, or the length of dimension `axis` */
    uint32_t axis;
} mts_import_codes;

/* What was quantised at run time. Its integers are emitted when something reads them. */
typedef struct mts_import_quantised {
    struct mts_import_value *real; /* what dequantising gives */
    struct mts_import_value *x, *scale, *zero;
    mts_act codes; /* of x / scale, before the zero point is added */
} mts_import_quantised;

typedef struct mts_import_value {
    mts_type dtype;                        /* by ONNX; run-time values are float32 whatever it says */
    mts_shape shape;                       /* a constant may have dimensions of 0 */
    const void *data;                      /* of a constant, else NULL */
    bool lasting;                          /* data lies in the graph's arena */
    uint32_t id;                           /* in the graph; MTS_NONE while a constant is not there */
    uint32_t raw_id;                       /* the same as float16 or int8 weight, or int32 index */
    bool fixed;                            /* int8 in steps of MTS_INT8_STEP, as weights are stored */
    const mts_import_codes *codes;         /* of a constant, or NULL */
    const mts_import_quantised *quantised; /* of a run-time value of integers, or NULL */
} mts_import_value;

typedef struct mts_import_name {
    const char *name;
    uint32_t producer; /* node, or MTS_NONE */
    bool input;
    bool absent;                     /* an input of a function that the call leaves out */
    mts_import_value *value;         /* NULL while not defined */
    const Onnx__TensorProto *tensor; /* of an initialiser not yet read */
    const char *refused;             /* why the value does not exist, or NULL */
} mts_import_name;

/* The names of a graph, of a function's body, or of a branch. */
#define NODES_PER_TICK 64u /* for each call of the progress callback */

typedef struct mts_import_scope {
    /* Where a branch finds the names that it does not define; NULL: nowhere. */
    struct mts_import_scope *outer;
    Onnx__NodeProto *const *nodes;
    size_t node_count;
    mts_import_name *names;
    size_t name_capacity;
    mts_map name_map; /* indices of `names` */
} mts_import_scope;

typedef struct mts_function mts_function; /* functions.c */

/* A function at work. */
typedef struct mts_import_call {
    const mts_function *function;
    const Onnx__NodeProto *node; /* that calls it */
    struct mts_import_call *outer;
} mts_import_call;

/* Where the import stops (cut.c). */
typedef struct mts_import_cut {
    const char *op; /* the first operator that is left out; NULL: none is */
    /* values that such operators read */
    struct mts_import_kept {
        const char *name;
        mts_import_value *value;
    } * kept;
    size_t count, capacity;
} mts_import_cut;

typedef struct mts_import {
    const mts_import_options *options;
    mts_arena *arena;  /* of the graph */
    mts_arena scratch; /* of the import */
    mts_graph *graph;
    const Onnx__GraphProto *proto;
    mts_external *external; /* NULL: the model came from memory */
    int64_t opset;          /* of the standard operators where the pass is */
    size_t room_most;       /* bytes of both arenas and the unpacked file */
    size_t file_bytes;      /* of all files */
    size_t message_bytes;   /* of the unpacked file */
    size_t arena_before;    /* bytes that the arena held before */
    size_t computed_left;   /* bytes that computed constants may still take */
    uint64_t work_left;     /* elements that computing them may still read and write */
    uint64_t work_unseen;   /* elements since the progress callback was called */
    size_t external_seen;   /* bytes of external files that the limits allow for */
    float fraction;         /* of the nodes that are done */
    size_t read_count;      /* nodes and names of functions and branches that were read */
    uint32_t depth;         /* of functions and branches inside each other */
    bool blamed;            /* the message names the node that failed */
    mts_import_cut cut;
    mts_import_scope *scope;
    mts_import_call *call; /* NULL outside of functions */
    mts_function *functions;
    size_t function_count;
    mts_map function_map;
    mts_proto_memory function_memory;
    mts_status status;
    mts_error *error;
    /* name of the operator at hand, or NULL */
    const char *title;
    /* the node at hand */
    const Onnx__NodeProto *node;
    mts_import_value **inputs; /* NULL where absent */
    uint32_t input_count, output_count;
} mts_import;

/* ---- failure (failure.c) ---- */
void mts_import_fail(mts_import *import, mts_status status, const char *format, ...) MTS_PRINTF(3, 4);
bool mts_import_ok(const mts_import *import);

/* ---- the node at hand ---- */
/* NULL if absent. */
mts_import_value *mts_import_in(const mts_import *import, uint32_t index);
/* Binds an output, if the model names it. */
void mts_import_out(mts_import *import, uint32_t index, mts_import_value *value);
/* Makes reading an output fail with `why`. */
void mts_import_out_refuse(mts_import *import, uint32_t index, const char *why);
/* Whether the node is of this operator: several share a function. */
bool mts_import_is_op(const mts_import *import, const char *op);
typedef struct mts_import_kind {
    const char *name;
    uint32_t kind;
} mts_import_kind;
/* The kind that a table gives for a name, or for the node's operator, else `fallback`. */
uint32_t mts_import_kind_of(const char *name, const mts_import_kind *kinds, size_t count, uint32_t fallback);
uint32_t mts_import_op_kind(const mts_import *import, const mts_import_kind *kinds, size_t count,
                            uint32_t fallback);
bool mts_import_out_wanted(const mts_import *import, uint32_t index);

/* ---- attributes; a present attribute of another type is an error ---- */
bool mts_attr_has(const mts_import *import, const char *name);
int64_t mts_attr_int(mts_import *import, const char *name, int64_t fallback);
float mts_attr_float(mts_import *import, const char *name, float fallback);
/* A terminated copy; `fallback` if absent. */
const char *mts_attr_string(mts_import *import, const char *name, const char *fallback);
/* Values into out[most]; the count, 0 if absent; more than `most` is an error. */
uint32_t mts_attr_ints(mts_import *import, const char *name, int64_t *out, uint32_t most);
uint32_t mts_attr_floats(mts_import *import, const char *name, float *out, uint32_t most);
/* Short terminated texts into out[most]; the count, 0 if absent; a longer text is an
   error. */
uint32_t mts_attr_strings(mts_import *import, const char *name, char (*out)[16], uint32_t most);
const Onnx__TensorProto *mts_attr_tensor(mts_import *import, const char *name);
const Onnx__GraphProto *mts_attr_graph(mts_import *import, const char *name); /* NULL with a failure */
/* An axis, which may count from the end, as 0..rank-1. */
uint32_t mts_import_axis(mts_import *import, int64_t axis, uint32_t rank);

/* ---- constants (value.c) ---- */
bool mts_import_is_const(const mts_import_value *value);
/* Zeroed memory for a constant; large ones lie in the graph's arena (*lasting). NULL
   after a failure. */
void *mts_import_alloc(mts_import *import, mts_type dtype, const mts_shape *shape, bool *lasting);
mts_import_value *mts_import_constant(mts_import *import, mts_type dtype, const mts_shape *shape,
                                      const void *data, bool lasting);
/* Constants from numbers. */
mts_import_value *mts_import_scalar(mts_import *import, mts_type dtype, double number);
/* A constant of this shape whose elements are all this number, which an integer type must
   be able to hold. */
mts_import_value *mts_import_filled(mts_import *import, mts_type dtype, const mts_shape *shape,
                                    double number);
mts_import_value *mts_import_vector(mts_import *import, const float *numbers, uint32_t count);
mts_import_value *mts_import_from_proto(mts_import *import, const Onnx__TensorProto *proto);
/* Numbers of a constant; fail if it is none (`what` names it) or longer than `most`. The
 * count is returned.
 */
uint32_t mts_import_ints(mts_import *import, const mts_import_value *value, const char *what, int64_t *out,
                         uint32_t most);
uint32_t mts_import_floats(mts_import *import, const mts_import_value *value, const char *what, float *out,
                           uint32_t most);
/* A constant as float32 array on the scratch arena. NULL after a failure. */
const float *mts_import_read_f32(mts_import *import, const mts_import_value *value, const char *what);
/* Elements as numbers. */
double mts_host_load(mts_type dtype, const void *data, size_t index);
int64_t mts_host_load_int(mts_type dtype, const void *data, size_t index);
void mts_host_store(mts_type dtype, void *data, size_t index, double number);
void mts_host_store_int(mts_type dtype, void *data, size_t index, int64_t number);
bool mts_type_is_int(mts_type dtype); /* integers and bool */

/* ---- run-time nodes, or their results (emit.c) ---- */
/* One run-time node, or its result if all operands are constant. The result has the dtype
 * of the first input, of a SELECT that of the second. */
mts_import_value *mts_import_emit(mts_import *import, mts_op op, const mts_attrs *attrs,
                                  mts_import_value *const *inputs, uint32_t count);
mts_import_value *mts_import_emit_reshape(mts_import *import, mts_import_value *x, const mts_shape *shape);
mts_import_value *mts_import_emit_transpose(mts_import *import, mts_import_value *x, const uint32_t *perm);
/* All of a shape, for the caller to narrow. */
mts_attrs_slice mts_import_whole(const mts_shape *shape);
/* A part of x, or x itself where that is all of it. A part without elements exists of
   constants only. */
mts_import_value *mts_import_emit_slice(mts_import *import, mts_import_value *x, const mts_attrs_slice *part);
/* Positions [start, start + size) of dimension `axis`. */
mts_import_value *mts_import_emit_part(mts_import *import, mts_import_value *x, uint32_t axis, int64_t start,
                                       int64_t size);
mts_import_value *mts_import_emit_binary(mts_import *import, uint32_t kind, mts_import_value *a,
                                         mts_import_value *b);
mts_import_value *mts_import_emit_unary(mts_import *import, uint32_t fn, float a, float b,
                                        mts_import_value *x);
/* A unary operator whose results are 0 and 1, as bool. */
mts_import_value *mts_import_emit_test(mts_import *import, uint32_t fn, float a, float b,
                                       mts_import_value *x);
/* The same value under another element type. */
mts_import_value *mts_import_retype(mts_import *import, mts_import_value *x, mts_type dtype);
/* The same, but numbers of a constant are converted. */
mts_import_value *mts_import_convert(mts_import *import, mts_import_value *x, mts_type dtype);
/* A cast: to integers towards zero, to bool 1 for all but 0. */
mts_import_value *mts_import_emit_cast(mts_import *import, mts_import_value *x, mts_type dtype);
/* An input or output of the graph. */
mts_import_value *mts_import_emit_input(mts_import *import, const char *name, mts_type dtype,
                                        const mts_shape *shape);
void mts_import_emit_output(mts_import *import, const char *name, mts_import_value *value);

/* ---- comparisons and choices (lower_logic.c) ---- */
typedef enum mts_import_comparison {
    MTS_IMPORT_EQUAL,
    MTS_IMPORT_NOT_EQUAL, /* of two bools their exclusive or */
    MTS_IMPORT_GREATER,
    MTS_IMPORT_GREATER_EQUAL,
    MTS_IMPORT_LESS,
    MTS_IMPORT_LESS_EQUAL,
    MTS_IMPORT_AND, /* of bools, as the next one */
    MTS_IMPORT_OR
} mts_import_comparison;
/* A comparison of numbers, or bools with each other, broadcast; the result is bool. */
mts_import_value *mts_import_emit_comparison(mts_import *import, mts_import_comparison how,
                                             mts_import_value *a, mts_import_value *b);
/* condition ? a : b, each broadcast; a and b have the same element type. */
mts_import_value *mts_import_emit_select(mts_import *import, mts_import_value *condition, mts_import_value *a,
                                         mts_import_value *b);

/* ---- products and reductions (lower_matmul.c) ---- */
/* a [..,M,K] times b [..,K,N]; a constant matrix is the weight of a fully connected
   layer. */
mts_import_value *mts_import_emit_matmul(mts_import *import, mts_import_value *a, mts_import_value *b);
/* x [N,K] times weight [O,K] or [O,K,1,1] transposed, times scale, plus bias [O] (may be
   NULL) -> [N,O]. */
mts_import_value *mts_import_emit_connected(mts_import *import, mts_import_value *x, mts_import_value *weight,
                                            float scale, mts_import_value *bias);
/* Axes of a reduction, a bit each, from its attribute or from input 1; and whether they
   stay as ones. */
uint32_t mts_import_reduce_axes(mts_import *import, const mts_import_value *x, bool as_input, bool *keep);

/* ---- recurrent layers (emit_recur.c) ---- */
/* x [T,N,K] times weight [O,K] or [O,K,1,1] transposed, plus bias [O] (may be NULL) ->
   [T,N,O]. */
mts_import_value *mts_import_emit_rows(mts_import *import, mts_import_value *x, mts_import_value *weight,
                                       mts_import_value *bias);
/* RECUR of rows [T,N,G*H], with the state's weight [G*H,H] as models have it. The states
 * at the beginning [N,H] and the bias [H] of a GRU may be NULL, the states for zeros. */
mts_import_value *mts_import_emit_recur(mts_import *import, const mts_attrs_recur *recur,
                                        mts_import_value *rows, mts_import_value *weight, mts_import_value *h,
                                        mts_import_value *c, mts_import_value *bias);

/* A layer whose steps are written out, forwards or backwards: what RECUR does not
   know. */
typedef struct mts_import_cell {
    /* LSTM, with gates in the order input, output, forget, cell; else one gate through
       `fn` */
    bool is_lstm;
    uint32_t fn;
    /* of the state, [rows,H,1,1] */
    mts_import_value *weight;
    /* peepholes of input, output and forget gate; NULL: none */
    mts_import_value *peep[3];
    /* c stays within -clip and clip; 0: there is no bound */
    float clip;
    /* [N,H] before the first step, then after the last; NULL: zeros */
    mts_import_value *h, *c;
} mts_import_cell;
/* States [T,N,H] of all steps in the order of the rows [T,N,G*H]; the number of steps is
   limited. */
mts_import_value *mts_import_emit_steps(mts_import *import, mts_import_cell *cell, mts_import_value *rows,
                                        bool reverse);

/* ---- repeats (lower_shape.c) ---- */
/* Each dimension so many times; `count` is the rank. */
mts_import_value *mts_import_tile(mts_import *import, mts_import_value *x, const int64_t *repeats,
                                  uint32_t count);

/* ---- operators on constants (host.c) ---- */
/* Whether an operator with these attributes is computed here; then its result. */
bool mts_host_can_eval(mts_op op, const mts_attrs *attrs);
mts_import_value *mts_host_eval(mts_import *import, mts_op op, const mts_attrs *attrs,
                                mts_import_value *const *inputs, uint32_t count, const mts_shape *shape);

/* ---- sliding windows (window.c) ---- */
/* Always two-dimensional: rows, then columns. */
typedef struct mts_import_window {
    int64_t kernel[2], stride[2], dilation[2], pad[4];
} mts_import_window;
/* Whether every number is in range; fails if not. False after any failure. */
bool mts_import_window_fits(mts_import *import, const mts_import_window *window);
/* Padding that gives ceil(input / stride) results; the odd element goes to the end, or to
 * the beginning (`lower`). */
void mts_import_window_pad(mts_import_window *window, const mts_shape *planar, bool lower);
mts_attrs_conv mts_import_window_conv(const mts_import_window *window, int64_t group);
mts_attrs_pool mts_import_window_pool(const mts_import_window *window, uint32_t kind);
/* CONV or DECONV; `bias` [O] (may be NULL) is an operand where it is a constant, else
   added afterwards. */
mts_import_value *mts_import_emit_conv(mts_import *import, mts_op op, const mts_attrs *attrs,
                                       mts_import_value *x, mts_import_value *weight, mts_import_value *bias);
/* A transposed convolution (emit_deconv.c): of quantised weights a convolution of
 * them, whose results are put side by side. */
mts_import_value *mts_import_emit_deconv(mts_import *import, const mts_attrs *attrs, mts_import_value *x,
                                         mts_import_value *weight, mts_import_value *bias);

/* The convolution of these operands that the node's attributes describe
   (lower_window.c). */
mts_import_value *mts_import_conv(mts_import *import, mts_import_value *x, mts_import_value *weight,
                                  mts_import_value *bias);

/* ---- quantised constants (coded.c) ---- */
/* x / scale rounded, halves to even, and brought into the range. */
double mts_host_quantize(float x, float scale, double low, double high);
/* Range of a type that numbers are quantised to; false for others. */
bool mts_import_code_range(mts_type dtype, double *low, double *high);
/* Numbers of scale and zero along dimension `axis`. */
typedef struct mts_import_parameters {
    const float *scale;
    const int32_t *zero;
    uint32_t count; /* 1, or the length of the dimension */
    uint32_t axis;
} mts_import_parameters;
/* Whether as many scales and zero points are there as the shape needs; fails if not. */
bool mts_import_parameters_fit(mts_import *import, const mts_shape *shape, const mts_import_value *scale,
                               const mts_import_value *zero, uint32_t axis);
/* Constant ones, checked. */
bool mts_import_parameters_read(mts_import *import, const mts_shape *shape, const mts_import_value *scale,
                                const mts_import_value *zero, uint32_t axis, mts_import_parameters *out);
mts_import_value *mts_import_dequantize_constant(mts_import *import, mts_import_value *x,
                                                 const mts_import_value *scale, const mts_import_value *zero,
                                                 uint32_t axis);
mts_import_value *mts_import_quantize_constant(mts_import *import, mts_import_value *x,
                                               const mts_import_value *scale, const mts_import_value *zero,
                                               mts_type dtype, uint32_t axis);
/* A convolution's weight as it is stored: of quantised ones the integers, and in *scale
 * what multiplies each row, times `factor`; of others the weight itself, and NULL. */
mts_import_value *mts_import_fixed(mts_import *import, mts_import_value *weight, float factor,
                                   mts_import_value **scale);
/* `to` is `from` with elements moved: its codes are `codes`, with their scales along
   `axis`. */
void mts_import_keep_codes(mts_import *import, const mts_import_value *from, mts_import_value *codes,
                           uint32_t axis, mts_import_value *to);

/* ---- quantised values (quantize.c) ---- */
/* scale * (x - zero); zero may be NULL. Scale and zero are one number, or one for each
 * index of dimension `axis`. */
mts_import_value *mts_import_dequantize(mts_import *import, mts_import_value *x, mts_import_value *scale,
                                        mts_import_value *zero, uint32_t axis);
/* The integers of type `dtype` that stand for x. */
mts_import_value *mts_import_quantize(mts_import *import, mts_import_value *x, mts_import_value *scale,
                                      mts_import_value *zero, mts_type dtype, uint32_t axis);

/* ---- operators that are left to the app (cut.c) ---- */
/* Why the result of such an operator does not exist: what `refused` of its name points
   to. */
extern const char mts_import_cut_reason[];
void mts_import_cut_before(mts_import *import, const char *op);
/* A value that such an operator reads becomes an output, unless it is constant or an
   input. */
void mts_import_cut_keep(mts_import *import, const char *name, mts_import_value *value);
/* After the outputs that remain: adds those that were kept, and tells the caller. */
void mts_import_cut_outputs(mts_import *import);

/* ---- names (names.c) ---- */
/* Begins a scope without names. */
void mts_import_begin(mts_import *import, mts_import_scope *scope, mts_import_scope *outer,
                      Onnx__NodeProto *const *nodes, size_t node_count);
/* Names of the scope itself; both are valid until the next name is entered. */
mts_import_name *mts_import_find(mts_import *import, const char *name);
mts_import_name *mts_import_intern(mts_import *import, const char *name);
/* The defined value of a name, of an outer scope too; NULL: it is an absent input of a
 * function, or a failure. */
mts_import_value *mts_import_lookup(mts_import *import, const char *name);
void mts_import_name_initialisers(mts_import *import, const Onnx__GraphProto *graph);
/* Names of a graph's outputs; "" where one has none. NULL after a failure. */
const char *const *mts_import_output_names(mts_import *import, const Onnx__GraphProto *graph);

/* ---- what a file may cost (budget.c) ---- */
/* Bytes of memory that a file of this size may take. */
size_t mts_import_room_of(const mts_import_options *options, size_t file_bytes);
/* Sets the limits of an import of a file, whose unpacked message takes so many bytes. */
void mts_import_budget(mts_import *import, size_t file_bytes, size_t message_bytes);
/* Raises them by those of more bytes of files, or of the caller. */
void mts_import_credit(mts_import *import, size_t bytes);
/* Whether so many more bytes of memory may be taken; false after a failure. */
bool mts_import_room(mts_import *import, size_t bytes);
/* Counts nodes and names of a function or a branch against the limit of nodes; false
   after a failure. */
bool mts_import_charge(mts_import *import, size_t count);
/* Counts elements that computing a constant reads and writes; false after a failure. */
bool mts_import_work(mts_import *import, uint64_t elements);
/* LIMIT: a graph cannot have so many inputs or outputs. */
void mts_import_check_ports(mts_import *import, size_t count, const char *what);
/* Calls the progress callback, which may cancel the import. */
void mts_import_tick(mts_import *import, float fraction);

/* ---- order (order.c) ---- */
/* Numbers of the scope's nodes that these outputs need, each after those that it reads,
 * else as in the file. NULL: failed. */
const uint32_t *mts_import_order(mts_import *import, const char *const *outputs, size_t output_count,
                                 uint32_t *count);

/* ---- nodes (nodes.c) ---- */
/* Lowers the nodes of the scope that these outputs need. */
void mts_import_run(mts_import *import, const char *const *outputs, size_t output_count);

/* ---- functions of the model (functions.c) ---- */
/* Enters the functions of a model; release frees what they take, also after a failure. */
void mts_functions_init(mts_import *import, const Onnx__ModelProto *model);
void mts_functions_release(mts_import *import);
/* The function that a node calls, or NULL. */
const mts_function *mts_function_find(mts_import *import, const Onnx__NodeProto *node);
const Onnx__FunctionProto *mts_function_body(const mts_function *function);
/* The attribute that a function's body finds under a name: of the node that calls it,
 * else the default, else NULL. */
const Onnx__AttributeProto *mts_function_attribute(const mts_import_call *call, const char *name);
/* Version of the standard operators among opset imports. */
int64_t mts_import_opset(Onnx__OperatorSetIdProto *const *sets, size_t count, int64_t fallback);

/* ---- operator table (table.c) ---- */
#define MTS_LOWER_ANY 0xffffu /* as most inputs: any number, and none of them is optional */

typedef struct mts_lower_row {
    const char *op;
    int since, until;        /* opsets */
    uint32_t required, most; /* inputs */
    void (*lower)(mts_import *import);
} mts_lower_row;
/* Row number `index`, or NULL after the last. */
const mts_lower_row *mts_lower_row_at(size_t index);
/* Row of an operator in this opset, or NULL. known receives the first and the last opset
 * that has one; the last is 0 if none has. */
const mts_lower_row *mts_lower_find(const char *op, int64_t opset, int known[2]);

/* A list, not a statement. */
/* clang-format off */
#define MTS_LOWER_FUNCTIONS(X)                                                                               \
    X(lstm) X(gru) X(rnn) X(conv) X(conv_transpose) X(max_pool) X(average_pool) X(global_pool) X(batch_norm) X(lrn) X(unary) \
    X(clip_attrs) X(clip) X(prelu) X(gelu) X(is_number) X(softmax) X(softmax_legacy) X(binary) X(pow) X(nary) \
    X(dropout) X(identity) X(cast) X(reshape) X(flatten) X(squeeze) X(unsqueeze) X(transpose) X(expand) \
    X(shape) X(size) X(tile) X(depth_to_space) X(space_to_depth) X(constant) X(constant_of_shape) \
    X(range) X(where) X(compare) X(not) X(mod) X(slice) X(split) X(concat) X(gather) X(pad) X(resize) \
    X(resize_10) X(upsample_7) X(matmul) X(gemm) X(reduce) X(elu) X(celu) X(softsign) X(swish)            \
    X(thresholded_relu) X(layer_norm) X(instance_norm) X(group_norm) X(mean_variance_norm) X(lp_norm)     \
    X(gather_elements) X(gather_nd) X(compress) X(reverse_sequence) X(trilu)               \
    X(scatter_elements) X(scatter_nd) X(arg) X(top_k) X(one_hot) X(hardmax) X(scan) X(grid_sample)            \
    X(eye_like) X(non_zero) X(einsum)  \
    X(quantize) X(dequantize) X(dynamic_quantize) X(matmul_integer) X(conv_integer)    \
    X(qlinear_conv) X(qlinear_matmul)
/* clang-format on */
#define MTS_LOWER_DECLARE(name) void mts_lower_##name(mts_import *import);
MTS_LOWER_FUNCTIONS(MTS_LOWER_DECLARE)
#undef MTS_LOWER_DECLARE

#endif
