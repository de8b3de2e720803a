/*
 * files_tflite.c: TensorFlow Lite models of one operator whose options, operands or tables are hostile, most of them after
 * public reports on TensorFlow Lite. Each row is one file with an input x of 1x4x4x4, weights w of 4x1x1x4, numbers k.
 */
#include <string.h>

#include "hostile/files.h"
#include "support/tflite_model.h"

#define MOST INT32_MAX
#define LEAST INT32_MIN

typedef struct option {
    int field;
    int32_t number;
} option;

typedef struct tflite_row {
    const char *class, *name, *origin;
    int code;
    const char *inputs; /* letters of x, w, k; '-': none is given there */
    option options[3];  /* up to the first whose field is below 0 */
    int k_count;
    int32_t k[6];
    hostile_end end;
} tflite_row;

#define NONE                                                                                                 \
    {                                                                                                        \
        {                                                                                                    \
            -1, 0                                                                                            \
        }                                                                                                    \
    }
#define LIST(...)                                                                                            \
    (int)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)),                                               \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

static const tflite_row rows[] = {
    {CLASS_ZERO,
     "lite_conv_stride_0",
     "CVE-2021-29594",
     3,
     "xw",
     {{1, 0}, {2, 0}, {-1, 0}},
     0,
     {0},
     HOSTILE_REFUSED},
    {CLASS_ZERO,
     "lite_depthwise_multiplier_0",
     "CVE-2021-29602",
     4,
     "xw",
     {{1, 1}, {2, 1}, {3, 0}},
     0,
     {0},
     HOSTILE_EITHER},
    {CLASS_ZERO,
     "lite_pool_stride_0",
     "CVE-2021-29586",
     1,
     "x",
     {{3, 2}, {4, 2}, {1, 0}},
     0,
     {0},
     HOSTILE_REFUSED},
    {CLASS_ZERO,
     "lite_space_to_depth_0",
     "CVE-2021-29587",
     26,
     "x",
     {{0, 0}, {-1, 0}},
     0,
     {0},
     HOSTILE_REFUSED},
    {CLASS_ZERO,
     "lite_depth_to_space_0",
     "CVE-2021-29595",
     5,
     "x",
     {{0, 0}, {-1, 0}},
     0,
     {0},
     HOSTILE_REFUSED},
    {CLASS_ZERO, "lite_batch_to_space_0", "CVE-2021-29593", 37, "xkk", NONE, LIST(0, 0), HOSTILE_REFUSED},
    {CLASS_ZERO, "lite_space_to_batch_0", "CVE-2021-29597", 38, "xkk", NONE, LIST(0, 0), HOSTILE_REFUSED},
    {CLASS_ZERO, "lite_split_into_0", "CVE-2021-29599", 49, "kx", {{0, 0}, {-1, 0}}, LIST(3), HOSTILE_TAKEN},
    {CLASS_ZERO,
     "lite_svdf_rank_0",
     "CVE-2021-29598",
     27,
     "xwwx",
     {{0, 0}, {-1, 0}},
     0,
     {0},
     HOSTILE_REFUSED},
    {CLASS_ZERO, "lite_embedding_of_0", "CVE-2021-29596", 7, "kw", NONE, LIST(0), HOSTILE_EITHER},
    {CLASS_ZERO, "lite_slice_step_0", NULL, 45, "xkkk", NONE, LIST(0, 0, 0, 0), HOSTILE_REFUSED},
    {CLASS_COUNT, "lite_split_into_minus_1", NULL, 49, "kx", {{0, -1}, {-1, 0}}, LIST(3), HOSTILE_TAKEN},
    {CLASS_COUNT, "lite_reshape_below_0", NULL, 22, "xk", NONE, LIST(-4, -16), HOSTILE_REFUSED},
    {CLASS_COUNT,
     "lite_stride_smallest",
     NULL,
     3,
     "xw",
     {{1, LEAST}, {2, LEAST}, {-1, 0}},
     0,
     {0},
     HOSTILE_REFUSED},
    {CLASS_COUNT, "lite_slice_smallest", NULL, 65, "xkk", NONE, LIST(LEAST, LEAST, LEAST, LEAST),
     HOSTILE_REFUSED},
    {CLASS_COUNT, "lite_tile_below_0", NULL, 69, "xk", NONE, LIST(1, -1, 1, 1), HOSTILE_REFUSED},
    {CLASS_OVERFLOW, "lite_reshape_wraps", "CVE-2021-29605", 22, "xk", NONE, LIST(65536, 65536, 64),
     HOSTILE_REFUSED},
    {CLASS_OVERFLOW, "lite_tile_to_2e60", NULL, 69, "xk", NONE, LIST(1 << 30, 1 << 30, 1, 1),
     HOSTILE_REFUSED},
    {CLASS_OVERFLOW, "lite_pad_wraps", NULL, 34, "xk", NONE, LIST(MOST, MOST, MOST, MOST), HOSTILE_REFUSED},
    {CLASS_OVERFLOW, "lite_broadcast_to_2e90", NULL, 130, "xk", NONE, LIST(MOST, MOST, 4, 4),
     HOSTILE_REFUSED},
    {CLASS_OVERFLOW, "lite_fill_2e60", "CVE-2021-29605", 94, "kk", NONE, LIST(MOST, MOST), HOSTILE_REFUSED},
    {CLASS_OVERFLOW,
     "lite_concat_axis_wraps",
     "CVE-2021-29601",
     2,
     "xx",
     {{0, MOST}, {-1, 0}},
     0,
     {0},
     HOSTILE_REFUSED},
    {CLASS_OVERFLOW, "lite_resize_to_2e60", NULL, 23, "xk", NONE, LIST(MOST, MOST), HOSTILE_REFUSED},
    {CLASS_AXIS,
     "lite_gather_below_0",
     "CVE-2021-37687",
     36,
     "xk",
     {{0, 0}, {-1, 0}},
     LIST(-1),
     HOSTILE_REFUSED},
    {CLASS_AXIS, "lite_gather_axis_9", NULL, 36, "xk", {{0, 9}, {-1, 0}}, LIST(0), HOSTILE_REFUSED},
    {CLASS_AXIS, "lite_gathernd_beyond", "CVE-2022-35937", 107, "xk", NONE, LIST(9, 9), HOSTILE_REFUSED},
    {CLASS_AXIS, "lite_argmax_axis_9", "CVE-2021-29603", 56, "xk", NONE, LIST(9), HOSTILE_REFUSED},
    {CLASS_AXIS, "lite_expand_dims_9", "CVE-2021-37685", 70, "xk", NONE, LIST(9), HOSTILE_REFUSED},
    {CLASS_AXIS, "lite_segment_below_0", "CVE-2020-15212, CVE-2020-15214", 125, "xk", NONE, LIST(-1),
     HOSTILE_REFUSED},
    {CLASS_AXIS, "lite_one_hot_axis_9", NULL, 85, "kkkk", {{0, 9}, {-1, 0}}, LIST(4), HOSTILE_REFUSED},
    {CLASS_AXIS,
     "lite_split_axis_minus_9",
     "CVE-2021-29606",
     102,
     "xkk",
     {{0, 1}, {-1, 0}},
     LIST(-9),
     HOSTILE_REFUSED},
    {CLASS_AXIS, "lite_mean_axis_below", "CVE-2020-15207", 40, "xk", NONE, LIST(-9), HOSTILE_REFUSED},
    {CLASS_AXIS, "lite_transpose_twice_the_same", NULL, 39, "xk", NONE, LIST(0, 0, 0, 0), HOSTILE_REFUSED},
    {CLASS_RANK, "lite_expand_to_rank_9", NULL, 22, "xk", NONE, LIST(1, 1, 1, 1, 1, 64), HOSTILE_EITHER},
    {CLASS_MISSING,
     "lite_conv_without_weights",
     "CVE-2021-37681",
     3,
     "x-",
     {{1, 1}, {2, 1}, {-1, 0}},
     0,
     {0},
     HOSTILE_REFUSED},
    {CLASS_MISSING, "lite_reshape_without_shape", "CVE-2021-29592", 22, "x", NONE, 0, {0}, HOSTILE_EITHER},
    {CLASS_MISSING, "lite_add_without_operands", NULL, 0, "", NONE, 0, {0}, HOSTILE_REFUSED},
    {CLASS_MISSING, "lite_lstm_of_one_input", NULL, 16, "x", NONE, 0, {0}, HOSTILE_REFUSED},
    {CLASS_ZERO, "lite_hash_table", "CVE-2021-29604", 10, "kkx", NONE, LIST(0), HOSTILE_REFUSED},
    {CLASS_TYPE, "lite_code_9999", NULL, 9999, "x", NONE, 0, {0}, HOSTILE_REFUSED},
    {CLASS_TYPE, "lite_indices_of_float", NULL, 36, "xw", {{0, 0}, {-1, 0}}, 0, {0}, HOSTILE_REFUSED},
    {CLASS_GRAPH,
     "lite_while_of_itself",
     "CVE-2021-29591",
     119,
     "x",
     {{0, 0}, {1, 0}, {-1, 0}},
     0,
     {0},
     HOSTILE_REFUSED},
    {CLASS_GRAPH,
     "lite_if_of_graph_99",
     NULL,
     118,
     "xx",
     {{0, 99}, {1, 99}, {-1, 0}},
     0,
     {0},
     HOSTILE_REFUSED},
};

static int tensor_of(char letter, const int *known)
{
    return letter == 'x' ? known[0] : letter == 'w' ? known[1] : letter == 'k' ? known[2] : -1;
}

static void begin(tflite_model *model, int known[3], int k_count, const int32_t *k)
{
    static const float weights[16] = {1, -1};
    tflite_begin(model);
    known[0] = tflite_input(model, "x", 4, (const int32_t[]){1, 4, 4, 4});
    known[1] = tflite_floats(model, "w", 4, (const int32_t[]){4, 1, 1, 4}, weights);
    known[2] = tflite_ints(model, "k", k_count, k);
}

static void finish(onnx_bytes *out, tflite_model *model)
{
    const tflite_bytes *file = tflite_file(model);
    hostile_add(out, file->data, file->size);
    tflite_end(model);
}

static void put_operator(onnx_bytes *out, const void *data)
{
    const tflite_row *row = data;
    static tflite_model model;
    int known[3];
    begin(&model, known, row->k_count, row->k);
    const int y = tflite_value(&model, "y", 4, (const int32_t[]){1, 4, 4, 4});
    tflite_node(&model, row->code, y, -1, -1, -1);
    tflite_operator *node = &model.operators[0];
    node->input_count = (int)strlen(row->inputs);
    for (int i = 0; i < node->input_count; i++) {
        node->inputs[i] = tensor_of(row->inputs[i], known);
    }
    for (int i = 0; i < 3 && row->options[i].field >= 0; i++) {
        tflite_option(&model, row->options[i].field, row->options[i].number);
    }
    tflite_output(&model, y);
    finish(out, &model);
}

/* ---- tables ---- */

typedef struct table_row {
    const char *class, *name, *origin;
    int32_t input, output; /* of the operator; INT32_MAX: the right ones */
    int type, rank;        /* of the weights, 0: the right ones */
    int32_t dim;           /* of the weights, 0: the right one */
    size_t bytes;          /* of the weights, 0: the right number */
    hostile_end end;
} table_row;

static const table_row tables[] = {
    {CLASS_AXIS, "lite_tensor_minus_2", "CVE-2020-15211", -2, MOST, 0, 0, 0, 0, HOSTILE_REFUSED},
    {CLASS_AXIS, "lite_tensor_999", "CVE-2020-15211", 999, MOST, 0, 0, 0, 0, HOSTILE_REFUSED},
    {CLASS_AXIS, "lite_result_999", "CVE-2020-15211", MOST, 999, 0, 0, 0, 0, HOSTILE_REFUSED},
    {CLASS_CYCLE, "lite_result_is_the_input", "CVE-2020-15210", MOST, 0, 0, 0, 0, 0, HOSTILE_REFUSED},
    {CLASS_CYCLE, "lite_result_is_a_constant", "CVE-2020-15210", MOST, 1, 0, 0, 0, 0, HOSTILE_REFUSED},
    {CLASS_BYTES, "lite_fewer_bytes", "CVE-2020-15208", MOST, MOST, 0, 0, 0, 4, HOSTILE_REFUSED},
    {CLASS_BYTES, "lite_more_bytes", NULL, MOST, MOST, 0, 0, 0, 68, HOSTILE_REFUSED},
    {CLASS_COUNT, "lite_dimension_below_0", NULL, MOST, MOST, 0, 0, -4, 0, HOSTILE_REFUSED},
    {CLASS_COUNT, "lite_dimension_smallest", NULL, MOST, MOST, 0, 0, LEAST, 0, HOSTILE_REFUSED},
    {CLASS_OVERFLOW, "lite_dimension_largest", "CVE-2021-29605", MOST, MOST, 0, 0, MOST, 0, HOSTILE_REFUSED},
    {CLASS_RANK, "lite_weights_of_rank_8", NULL, MOST, MOST, 0, 8, 0, 0, HOSTILE_REFUSED},
    {CLASS_TYPE, "lite_type_77", NULL, MOST, MOST, 77, 0, 0, 0, HOSTILE_REFUSED},
    {CLASS_TYPE, "lite_type_of_text", NULL, MOST, MOST, 5, 0, 0, 0, HOSTILE_REFUSED},
};

static void put_table(onnx_bytes *out, const void *data)
{
    const table_row *row = data;
    static tflite_model model;
    int known[3];
    begin(&model, known, 0, NULL);
    const int y = tflite_value(&model, "y", 4, (const int32_t[]){1, 4, 4, 4});
    tflite_tensor *w = &model.tensors[known[1]];
    w->type = row->type ? row->type : w->type;
    w->dims[0] = row->dim ? row->dim : w->dims[0];
    w->bytes = row->bytes ? row->bytes : w->bytes;
    if (row->rank) {
        w->rank = row->rank;
        for (int i = 4; i < row->rank; i++) {
            w->dims[i] = 1;
        }
    }
    static const float more[32];
    w->data = row->bytes ? more : w->data;
    tflite_node(&model, 3, y, known[0], known[1], -1);
    tflite_option(&model, 1, 1);
    tflite_option(&model, 2, 1);
    model.operators[0].inputs[0] = row->input == MOST ? known[0] : row->input;
    model.operators[0].outputs[0] = row->output == MOST ? y : row->output;
    tflite_output(&model, row->output == MOST ? y : row->output < 3 ? row->output : y);
    finish(out, &model);
}

/* ---- bytes ---- */

static void put_plain(onnx_bytes *out)
{
    static const table_row right = {NULL, NULL, NULL, MOST, MOST, 0, 0, 0, 0, HOSTILE_TAKEN};
    put_table(out, &right);
}

/* The place of the root table leads beyond the file, to itself, or the file ends early. */
static void put_root(onnx_bytes *out, const void *row)
{
    put_plain(out);
    memcpy(out->data, row, 4);
}

static void put_cut(onnx_bytes *out, const void *row)
{
    (void)row;
    put_plain(out);
    out->size = out->size / 2;
}

/* Every 32-bit word that looks like a place leads to the file's own root. */
static void put_ring(onnx_bytes *out, const void *row)
{
    (void)row;
    put_plain(out);
    for (size_t at = 8; at + 4 <= out->size; at += 4) {
        uint32_t word = 0;
        memcpy(&word, out->data + at, 4);
        if (word >= 16 && word < out->size - at) {
            word = UINT32_MAX - (uint32_t)at + 9;
            memcpy(out->data + at, &word, 4);
        }
    }
}

static const hostile_file others[] = {
    {CLASS_OFFSET, "lite_root_beyond", NULL, HOSTILE_MODEL, HOSTILE_REFUSED, NULL, put_root,
     "\xff\xff\xff\x7f"},
    {CLASS_OFFSET, "lite_root_is_the_head", NULL, HOSTILE_MODEL, HOSTILE_REFUSED, NULL, put_root, "\0\0\0\0"},
    {CLASS_OFFSET, "lite_places_wrap", NULL, HOSTILE_MODEL, HOSTILE_REFUSED, NULL, put_ring, NULL},
    {CLASS_FORMAT, "lite_cut_in_half", NULL, HOSTILE_MODEL, HOSTILE_REFUSED, NULL, put_cut, NULL},
};

void hostile_tflite(hostile_visit *visit, void *context)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const hostile_file file = {rows[i].class, rows[i].name, rows[i].origin, HOSTILE_MODEL,
                                   rows[i].end,   NULL,         put_operator,   &rows[i]};
        visit(&file, context);
    }
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        const hostile_file file = {tables[i].class, tables[i].name, tables[i].origin, HOSTILE_MODEL,
                                   tables[i].end,   NULL,           put_table,        &tables[i]};
        visit(&file, context);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        visit(&others[i], context);
    }
}
