/*
 * files_onnx_models.c: ONNX models that are hostile as a whole: cycles, depth, external data, subgraphs, names, bytes that
 * do not fit their shapes, files that are cut off.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostile/files.h"

#define TWO                                                                                                  \
    (const int64_t[])                                                                                        \
    {                                                                                                        \
        2                                                                                                    \
    }
#define TWO_BYTES 8 /* of two floats */

static const float numbers[4] = {1, 2, 3, 4};

void hostile_add(onnx_bytes *out, const void *data, size_t size)
{
    unsigned char *grown = realloc(out->data, out->size + size + 1);
    if (!grown) {
        abort(); /* a test without memory has nothing to say */
    }
    out->data = grown;
    memcpy(out->data + out->size, data, size);
    out->size += size;
}

static void finish(onnx_bytes *out, onnx_model *model)
{
    const onnx_bytes *file = onnx_model_file(model);
    hostile_add(out, file->data, file->size);
    onnx_model_end(model);
}

static void begin(onnx_model *model)
{
    onnx_model_begin(model, 16);
    onnx_model_input(model, "x", ONNX_FLOAT, 1, TWO);
}

/* ---- order ---- */

typedef struct link_row {
    const char *class, *name;
    const char *links; /* "from>to from>to": nodes, each named by letters */
    const char *output;
} link_row;

static const link_row links[] = {
    {CLASS_CYCLE, "a_node_reads_itself", "y>y", "y"},
    {CLASS_CYCLE, "two_nodes_read_each_other", "a>b b>a", "b"},
    {CLASS_CYCLE, "output_that_nothing_makes", "x>a", "z"},
    {CLASS_CYCLE, "input_that_nothing_makes", "q>y", "y"},
    {CLASS_CYCLE, "a_value_that_is_made_twice", "x>y x>y", "y"},
    {CLASS_CYCLE, "a_node_that_makes_the_input", "x>x", "x"},
};

static void put_links(onnx_bytes *out, const void *data)
{
    const link_row *row = data;
    onnx_model model;
    begin(&model);
    for (const char *at = row->links; *at; at += at[3] ? 4 : 3) {
        const char from[2] = {at[0], 0}, to[2] = {at[2], 0};
        onnx_model_node(&model, "Relu", from, to);
    }
    onnx_model_output(&model, row->output);
    finish(out, &model);
}

/* ---- tensors ---- */

typedef struct tensor_row {
    const char *class, *name, *origin;
    int type, rank;
    int64_t dims[8];
    size_t bytes; /* of raw data */
} tensor_row;

static const tensor_row tensors[] = {
    {CLASS_BYTES, "fewer_bytes_than_the_shape", "CVE-2020-15208 (TensorFlow Lite)", 1, 1, {1000}, 8},
    {CLASS_BYTES, "more_bytes_than_the_shape", NULL, 1, 1, {1}, 12},
    {CLASS_BYTES, "no_bytes_at_all", NULL, 1, 2, {4, 4}, 0},
    {CLASS_BYTES, "half_an_element", NULL, 1, 1, {2}, 7},
    {CLASS_BYTES, "scalar_of_nothing", NULL, 1, 0, {0}, 0},
    {CLASS_OVERFLOW,
     "dims_wrap_to_the_right_count",
     "CVE-2021-29605 (TensorFlow Lite, sizes of arrays)",
     1,
     3,
     {(int64_t)1 << 32, (int64_t)1 << 32, 2},
     8},
    {CLASS_OVERFLOW, "dims_of_2e93", NULL, 1, 3, {(int64_t)1 << 31, (int64_t)1 << 31, (int64_t)1 << 31}, 8},
    {CLASS_COUNT, "dimension_below_0", NULL, 1, 2, {-1, -2}, 8},
    {CLASS_COUNT, "dimension_smallest", NULL, 1, 1, {INT64_MIN}, 8},
    {CLASS_RANK, "tensor_of_rank_8", NULL, 1, 8, {1, 1, 1, 1, 1, 1, 1, 2}, 8},
    {CLASS_TYPE, "tensor_of_unknown_type", NULL, 99, 1, {2}, 8},
    {CLASS_TYPE, "tensor_of_type_0", NULL, 0, 1, {2}, 8},
    {CLASS_TYPE, "tensor_of_text_in_raw_bytes", NULL, 8, 1, {2}, 8},
};

static void put_tensor(onnx_bytes *out, const void *data)
{
    const tensor_row *row = data;
    onnx_model model;
    begin(&model);
    onnx_model_tensor(&model, "w", row->type, row->rank, row->dims, numbers, row->bytes);
    onnx_model_node(&model, "Add", "x,w", "y");
    onnx_model_output(&model, "y");
    finish(out, &model);
}

/* ---- external data ---- */

typedef struct external_row {
    const char *class, *name, *origin;
    const char *location, *key, *value; /* and one more entry */
    hostile_end end;
} external_row;

#define TRAVERSAL "CVE-2022-25882, CVE-2024-27318 (ONNX)"
#define LINKS "CVE-2026-27489, CVE-2026-34447 (ONNX)"
#define INJECTION "ONNX: entries of external data became attributes"

static const external_row externals[] = {
    {CLASS_PATH, "up_and_away", TRAVERSAL, "../../../../etc/passwd", NULL, NULL, HOSTILE_REFUSED},
    {CLASS_PATH, "from_the_root", TRAVERSAL, "/etc/passwd", NULL, NULL, HOSTILE_REFUSED},
    {CLASS_PATH, "down_and_up", TRAVERSAL, "a/../../etc/passwd", NULL, NULL, HOSTILE_REFUSED},
    {CLASS_PATH, "the_folder_itself", NULL, ".", NULL, NULL, HOSTILE_REFUSED},
    {CLASS_PATH, "a_symbolic_link", LINKS, "link.bin", NULL, NULL, HOSTILE_REFUSED},
    {CLASS_PATH, "a_hard_link", "CVE-2026-34446 (ONNX)", "hard.bin", NULL, NULL, HOSTILE_REFUSED},
    {CLASS_PATH, "a_device", NULL, "/dev/zero", NULL, NULL, HOSTILE_REFUSED},
    {CLASS_PATH, "no_name", NULL, "", NULL, NULL, HOSTILE_REFUSED},
    {CLASS_OFFSET, "offset_beyond_the_file", NULL, "weights.bin", "offset", "64", HOSTILE_REFUSED},
    {CLASS_OFFSET, "offset_plus_size_wraps", NULL, "weights.bin", "offset", "18446744073709551612",
     HOSTILE_REFUSED},
    {CLASS_OFFSET, "offset_above_64_bits", NULL, "weights.bin", "offset", "18446744073709551616",
     HOSTILE_REFUSED},
    {CLASS_OFFSET, "offset_below_0", NULL, "weights.bin", "offset", "-8", HOSTILE_REFUSED},
    {CLASS_OFFSET, "length_beyond_the_file", NULL, "weights.bin", "length", "4096", HOSTILE_REFUSED},
    {CLASS_INJECT, "entry_class", INJECTION, "weights.bin", "__class__", "x", HOSTILE_REFUSED},
    {CLASS_INJECT, "entry_basepath", INJECTION, "weights.bin", "basepath", "/etc", HOSTILE_REFUSED},
    {CLASS_INJECT, "entry_dict", INJECTION, "weights.bin", "__dict__", "{}", HOSTILE_REFUSED},
    {CLASS_INJECT, "second_location", NULL, "weights.bin", "location", "../x", HOSTILE_REFUSED},
};

static void put_entry(onnx_bytes *tensor, const char *key, const char *value)
{
    onnx_bytes entry = {0};
    onnx_put_bytes(&entry, 1, key, strlen(key));
    onnx_put_bytes(&entry, 2, value, strlen(value));
    onnx_put_bytes(tensor, 13, entry.data, entry.size);
    free(entry.data);
}

static void put_external(onnx_bytes *out, const void *data)
{
    const external_row *row = data;
    onnx_bytes tensor = {0};
    onnx_model model;
    begin(&model);
    onnx_put_int(&tensor, 1, 2);
    onnx_put_int(&tensor, 2, ONNX_FLOAT);
    onnx_put_bytes(&tensor, 8, "w", 1);
    put_entry(&tensor, "location", row->location);
    if (row->key) {
        put_entry(&tensor, row->key, row->value);
    }
    onnx_put_int(&tensor, 14, 1);
    onnx_put_bytes(&model.graph, 5, tensor.data, tensor.size);
    free(tensor.data);
    onnx_model_node(&model, "Add", "x,w", "y");
    onnx_model_output(&model, "y");
    finish(out, &model);
}

/* ---- names ---- */

typedef struct name_row {
    const char *class, *name, *input, *output, *op;
    hostile_end end;
} name_row;

static const name_row names[] = {
    {CLASS_NAME, "escape_codes", "x\x1b[2J", "y\x1b]0;owned\x07", "Relu", HOSTILE_TAKEN},
    {CLASS_NAME, "escape_code_as_operator", "x", "y", "\x1b[31mEvil", HOSTILE_REFUSED},
    {CLASS_NAME, "path_as_name", "../../x", "/etc/passwd", "Relu", HOSTILE_TAKEN},
    {CLASS_NAME, "format_as_name", "%s%s%s%n", "%1000000d", "Relu", HOSTILE_TAKEN},
    {CLASS_NAME, "bytes_that_are_no_text", "\xff\xfe\x80", "\xc0\xaf", "Relu", HOSTILE_EITHER},
    {CLASS_NAME, "empty_names", "x", "", "Relu", HOSTILE_REFUSED},
    {CLASS_INJECT, "markup_as_name", "\"];x[label=\"", "\"}];{\"a\":\"", "Relu", HOSTILE_TAKEN},
};

static void put_name(onnx_bytes *out, const void *data)
{
    const name_row *row = data;
    onnx_model model;
    onnx_model_begin(&model, 16);
    onnx_model_input(&model, row->input, ONNX_FLOAT, 1, TWO);
    onnx_model_node(&model, row->op, row->input, row->output);
    onnx_model_output(&model, row->output);
    finish(out, &model);
}

static void put_long_name(onnx_bytes *out, const void *row)
{
    static char name[900001];
    (void)row;
    memset(name, 'n', sizeof name - 1);
    onnx_model model;
    begin(&model);
    onnx_model_node(&model, "Relu", "x", name + sizeof name / 2);
    onnx_model_output(&model, name + sizeof name / 2);
    finish(out, &model);
}

/* ---- depth, subgraphs, functions ---- */

static void put_nested_bytes(onnx_bytes *out, const void *row)
{
    onnx_bytes inner = {0};
    onnx_model model;
    (void)row;
    begin(&model);
    for (int i = 0; i < 400; i++) { /* a graph in an attribute of a node in a graph ... */
        onnx_bytes attribute = {0}, node = {0}, graph = {0};
        onnx_put_bytes(&attribute, 6, inner.data ? inner.data : (const void *)"", inner.size);
        onnx_put_bytes(&node, 5, attribute.data, attribute.size);
        onnx_put_bytes(&graph, 1, node.data, node.size);
        free(attribute.data);
        free(node.data);
        free(inner.data);
        inner = graph;
    }
    onnx_put_bytes(&model.graph, 1, inner.data, inner.size);
    free(inner.data);
    onnx_model_output(&model, "x");
    finish(out, &model);
}

/* A function that calls itself, or `row` of which each calls the next twice. */
static void put_functions(onnx_bytes *out, const void *row)
{
    const int count = *(const int *)row;
    char name[16], next[16];
    onnx_model model;
    begin(&model);
    onnx_model_node(&model, "f0", "x", "y");
    onnx_model_domain(&model, "own");
    onnx_model_output(&model, "y");
    for (int i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "f%d", i);
        (void)snprintf(next, sizeof next, "f%d", count == 1 ? 0 : i + 1);
        onnx_model_function(&model, "own", name, "a", "c", 16);
        onnx_model_node(&model, i + 1 == count && count > 1 ? "Relu" : next, "a", "b");
        onnx_model_domain(&model, i + 1 == count && count > 1 ? "" : "own");
        onnx_model_node(&model, i + 1 == count && count > 1 ? "Relu" : next, "b", "c");
        onnx_model_domain(&model, i + 1 == count && count > 1 ? "" : "own");
        onnx_model_function_end(&model);
    }
    finish(out, &model);
}

/* An If whose branch has an If ... */
static void put_branches(onnx_bytes *out, const void *row)
{
    const int depth = *(const int *)row;
    onnx_model inner, outer;
    onnx_model_begin(&inner, 16);
    onnx_model_node(&inner, "Relu", "x", "y");
    onnx_model_output(&inner, "y");
    for (int i = 0; i < depth; i++) {
        onnx_model_begin(&outer, 16);
        if (i + 1 == depth) {
            onnx_model_input(&outer, "x", ONNX_FLOAT, 1, TWO);
        }
        onnx_model_tensor(&outer, "c", 9, 0, NULL, "\1", 1);
        onnx_model_node(&outer, "If", "c", "y");
        onnx_model_attr_graph(&outer, "then_branch", &inner);
        onnx_model_output(&outer, "y");
        inner = outer;
    }
    finish(out, &inner);
}

/* The branch's own graph is the whole of a Loop without a body's outputs. */
static void put_loop(onnx_bytes *out, const void *row)
{
    onnx_model body, model;
    (void)row;
    onnx_model_begin(&body, 16);
    begin(&model);
    onnx_model_ints(&model, "n", 1, (const int64_t[]){INT64_MAX});
    onnx_model_node(&model, "Loop", "n,,x", "y");
    onnx_model_attr_graph(&model, "body", &body);
    onnx_model_output(&model, "y");
    finish(out, &model);
}

/* ---- formats ---- */

static void put_text(onnx_bytes *out, const void *row)
{
    hostile_add(out, row, strlen(row));
}

static void put_cut(onnx_bytes *out, const void *row)
{
    put_links(out, &links[4]);
    out->size = out->size * *(const size_t *)row / 8;
}

static void put_nothing(onnx_bytes *out, const void *row)
{
    hostile_add(out, row, 0);
}

static const int one = 1, ten = 10, forty = 40, two_hundred = 200, six = 6;
static const size_t eighths[2] = {3, 7};

static const hostile_file others[] = {
    {CLASS_NAME, "name_of_900_kb", NULL, HOSTILE_MODEL, HOSTILE_EITHER, NULL, put_long_name, NULL},
    {CLASS_DEPTH, "messages_400_deep", NULL, HOSTILE_MODEL, HOSTILE_REFUSED, NULL, put_nested_bytes, NULL},
    {CLASS_DEPTH, "branches_6_deep", NULL, HOSTILE_MODEL, HOSTILE_EITHER, NULL, put_branches, &six},
    {CLASS_DEPTH, "branches_200_deep", "CVE-2021-29591 (TensorFlow Lite)", HOSTILE_MODEL, HOSTILE_REFUSED,
     NULL, put_branches, &two_hundred},
    {CLASS_DEPTH, "functions_40_deep", NULL, HOSTILE_MODEL, HOSTILE_REFUSED, NULL, put_functions, &forty},
    {CLASS_GRAPH, "function_that_calls_itself", "CVE-2021-29591 (TensorFlow Lite)", HOSTILE_MODEL,
     HOSTILE_REFUSED, NULL, put_functions, &one},
    {CLASS_GRAPH, "functions_that_double_10_times", NULL, HOSTILE_MODEL, HOSTILE_EITHER, NULL, put_functions,
     &ten},
    {CLASS_GRAPH, "loop_of_2e63_steps", "CVE-2021-29591 (TensorFlow Lite)", HOSTILE_MODEL, HOSTILE_REFUSED,
     NULL, put_loop, NULL},
    {CLASS_FORMAT, "empty", NULL, HOSTILE_MODEL, HOSTILE_REFUSED, NULL, put_nothing, ""},
    {CLASS_FORMAT, "text", NULL, HOSTILE_MODEL, HOSTILE_REFUSED, NULL, put_text, "this is no model\n"},
    {CLASS_FORMAT, "pickle", NULL, HOSTILE_MODEL, HOSTILE_REFUSED, NULL, put_text,
     "\x80\x04"
     "cos\nsystem\n(S'id'\ntR."},
    {CLASS_FORMAT, "openvino_xml", "OpenVINO: dimensions of 10^12 without a bound", HOSTILE_MODEL,
     HOSTILE_REFUSED, NULL, put_text,
     "<?xml version=\"1.0\"?><net name=\"n\" version=\"11\"><layers><layer id=\"0\" type=\"Parameter\">"
     "<data shape=\"1000000000000\"/></layer></layers></net>"},
    {CLASS_FORMAT, "ncnn_param",
     "CVE-2026-50144 and others (ncnn: counts and indices of a file were trusted)", HOSTILE_MODEL,
     HOSTILE_REFUSED, NULL, put_text, "7767517\n2147483647 -1\nInput data 0 1 data 0=-1\n"},
    {CLASS_FORMAT, "tensorrt_engine", "TensorRT: an engine file is code of its maker", HOSTILE_MODEL,
     HOSTILE_REFUSED, NULL, put_text, "ftrt\x01\x01\x01\x01\xff\xff\xff\xff\xff\xff\xff\x7f"},
    {CLASS_FORMAT, "cut_at_3_eighths", NULL, HOSTILE_MODEL, HOSTILE_REFUSED, NULL, put_cut, &eighths[0]},
    {CLASS_FORMAT, "cut_at_7_eighths", NULL, HOSTILE_MODEL, HOSTILE_REFUSED, NULL, put_cut, &eighths[1]},
};

#define VISIT(table, maker, of_origin, of_end)                                                               \
    for (size_t i = 0; i < sizeof(table) / sizeof(table)[0]; i++) {                                          \
        const hostile_file file = {                                                                          \
            (table)[i].class, (table)[i].name, of_origin, HOSTILE_MODEL, of_end, NULL, maker, &(table)[i]};  \
        visit(&file, context);                                                                               \
    }

void hostile_onnx_models(hostile_visit *visit, void *context)
{
    VISIT(links, put_links, NULL, HOSTILE_REFUSED)
    VISIT(tensors, put_tensor, tensors[i].origin, HOSTILE_REFUSED)
    VISIT(externals, put_external, externals[i].origin, externals[i].end)
    VISIT(names, put_name, NULL, names[i].end)
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        visit(&others[i], context);
    }
}
