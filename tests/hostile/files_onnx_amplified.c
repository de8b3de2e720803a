/*
 * files_onnx_amplified.c: small ONNX models that ask for much: for time that grows with the square of their size, and
 * for memory that is many times their size.
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

typedef struct amplified_row {
    const char *class, *name, *origin;
    void (*put)(onnx_model *model, int64_t size);
    int64_t size;
} amplified_row;

/* Empty messages: `size` is the field of a graph. */
static void empty_messages(onnx_model *model, int64_t size)
{
    for (int i = 0; i < 480000; i++) {
        onnx_put_bytes(&model->graph, (int)size, "", 0);
    }
    onnx_model_output(model, "x");
}

/* Empty attributes of one node, or names of its inputs. */
static void empty_parts(onnx_model *model, int64_t size)
{
    onnx_model_node(model, "Relu", "x", "y");
    for (int i = 0; i < 480000; i++) {
        onnx_put_bytes(&model->node, (int)size, "", 0);
    }
    onnx_model_output(model, "y");
}

static void chain(onnx_model *model, int64_t size)
{
    char from[16] = "x", to[16];
    for (int i = 0; i < (int)size; i++) {
        (void)snprintf(to, sizeof to, "%x", i);
        onnx_bytes node = {0};
        onnx_put_bytes(&node, 1, from, strlen(from));
        onnx_put_bytes(&node, 2, to, strlen(to));
        onnx_put_bytes(&node, 4, "Relu", 4);
        onnx_put_bytes(&model->graph, 1, node.data, node.size);
        free(node.data);
        memcpy(from, to, sizeof from);
    }
    onnx_model_output(model, from);
}

/* Nodes that all read the same value. */
static void fan(onnx_model *model, int64_t size)
{
    char to[16];
    for (int i = 0; i < (int)size; i++) {
        (void)snprintf(to, sizeof to, "%x", i);
        onnx_bytes node = {0};
        onnx_put_bytes(&node, 1, "x", 1);
        onnx_put_bytes(&node, 2, to, strlen(to));
        onnx_put_bytes(&node, 4, i % 2 ? "Abs" : "Neg", 3);
        onnx_put_bytes(&model->graph, 1, node.data, node.size);
        free(node.data);
    }
    onnx_model_output(model, "0");
    onnx_model_output(model, "1");
}

/* One node with a great many inputs. */
static void wide(onnx_model *model, int64_t size)
{
    onnx_model_node(model, "Concat", "x", "y");
    for (int i = 1; i < (int)size; i++) {
        onnx_put_bytes(&model->node, 1, "x", 1);
    }
    onnx_model_attr_int(model, "axis", 0);
    onnx_model_output(model, "y");
}

static void outputs(onnx_model *model, int64_t size)
{
    char to[16];
    for (int i = 0; i < (int)size; i++) {
        (void)snprintf(to, sizeof to, "o%d", i);
        onnx_model_node(model, "Relu", "x", to);
        onnx_model_output(model, to);
    }
}

static void initialisers(onnx_model *model, int64_t size)
{
    static const float number = 1;
    char name[16];
    for (int i = 0; i < (int)size; i++) {
        (void)snprintf(name, sizeof name, "%x", i);
        onnx_model_floats(model, name, 0, NULL, &number);
    }
    onnx_model_node(model, "Add", "x,1", "y");
    onnx_model_output(model, "y");
}

/* A constant of `size` elements that costs no bytes, and what reads it. */
static void constants(onnx_model *model, int64_t size)
{
    char to[16];
    onnx_model_ints(model, "s", 1, &size);
    for (int i = 0; i < 32; i++) {
        (void)snprintf(to, sizeof to, "c%d", i);
        onnx_model_node(model, "ConstantOfShape", "s", to);
        onnx_model_output(model, to);
    }
}

static void reductions(onnx_model *model, int64_t size)
{
    char to[16];
    onnx_model_ints(model, "s", 1, &size);
    onnx_model_node(model, "ConstantOfShape", "s", "c");
    for (int i = 0; i < 4000; i++) {
        (void)snprintf(to, sizeof to, "r%d", i);
        onnx_model_node(model, "ReduceMax", "c", to);
        onnx_model_output(model, to);
    }
}

/* Each concatenates the one before with itself. */
static void doubling(onnx_model *model, int64_t size)
{
    static const float numbers[2] = {1, 2};
    char from[40], to[16];
    onnx_model_floats(model, "d0", 1, TWO, numbers);
    for (int i = 0; i < (int)size; i++) {
        (void)snprintf(from, sizeof from, "d%d,d%d", i, i);
        (void)snprintf(to, sizeof to, "d%d", i + 1);
        onnx_model_node(model, "Concat", from, to);
        onnx_model_attr_int(model, "axis", 0);
    }
    onnx_model_output(model, to);
}

/* 800 KB of weights, transposed again and again. */
static void transposed(onnx_model *model, int64_t size)
{
    static const float zeros[200000];
    char from[16], to[16];
    onnx_model_floats(model, "t0", 2, (const int64_t[]){400, 500}, zeros);
    for (int i = 0; i < (int)size; i++) {
        (void)snprintf(from, sizeof from, "t%d", i);
        (void)snprintf(to, sizeof to, "t%d", i + 1);
        onnx_model_node(model, "Transpose", from, to);
    }
    onnx_model_output(model, to);
}

/* Scales that each could be folded into the 800 KB of weights before them. */
static void folded(onnx_model *model, int64_t size)
{
    static float weights[200000], scale[400];
    char from[40], to[16];
    for (int i = 0; i < 200000; i++) {
        weights[i] = (float)(i % 17);
    }
    for (int i = 0; i < 400; i++) {
        scale[i] = (float)(i % 5 + 1);
    }
    onnx_model_input(model, "q", ONNX_FLOAT, 4, (const int64_t[]){1, 500, 2, 2});
    onnx_model_floats(model, "w", 4, (const int64_t[]){400, 500, 1, 1}, weights);
    onnx_model_floats(model, "s", 4, (const int64_t[]){1, 400, 1, 1}, scale);
    onnx_model_node(model, "Conv", "q,w", "f0");
    for (int i = 0; i < (int)size; i++) {
        (void)snprintf(from, sizeof from, "f%d,s", i);
        (void)snprintf(to, sizeof to, "f%d", i + 1);
        onnx_model_node(model, i % 2 ? "Add" : "Mul", from, to);
    }
    onnx_model_output(model, to);
}

/* The same weights in many layers, each with a scale of its own. */
static void tied(onnx_model *model, int64_t size)
{
    static float weights[200000], scale[500];
    char from[40], to[16];
    for (int i = 0; i < 200000; i++) {
        weights[i] = (float)(i % 13);
    }
    for (int i = 0; i < 400; i++) {
        scale[i] = (float)(i % 3 + 1);
    }
    onnx_model_input(model, "q", ONNX_FLOAT, 4, (const int64_t[]){1, 500, 2, 2});
    onnx_model_floats(model, "w", 4, (const int64_t[]){400, 500, 1, 1}, weights);
    for (int i = 0; i < (int)size; i++) {
        char name[16];
        scale[0] = (float)i;
        (void)snprintf(name, sizeof name, "s%d", i);
        onnx_model_floats(model, name, 4, (const int64_t[]){1, 400, 1, 1}, scale);
        (void)snprintf(to, sizeof to, "c%d", i);
        onnx_model_node(model, "Conv", "q,w", to);
        (void)snprintf(from, sizeof from, "c%d,s%d", i, i);
        (void)snprintf(to, sizeof to, "o%d", i);
        onnx_model_node(model, "Mul", from, to);
        onnx_model_output(model, to);
    }
}

static void some_constants(onnx_model *model, int64_t size)
{
    static const float numbers[7] = {1, 2, 3, 4, 5, 6, 7};
    char to[16];
    onnx_model_ints(model, "s", 1, &size);
    for (int i = 0; i < 7; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%d,s", i);
        (void)snprintf(to, sizeof to, "n%d", i);
        onnx_model_floats(model, to, 1, (const int64_t[]){1}, &numbers[i]);
        (void)snprintf(to, sizeof to, "e%d", i);
        onnx_model_node(model, "Expand", name, to);
        onnx_model_output(model, to);
    }
}

/* The same, each of them an output. */
static void kept(onnx_model *model, int64_t size)
{
    static const float ones[200000] = {1, 2, 3};
    char to[16];
    onnx_model_floats(model, "w", 2, (const int64_t[]){400, 500}, ones);
    for (int i = 0; i < (int)size; i++) {
        const float number = (float)i;
        char scale[16];
        (void)snprintf(scale, sizeof scale, "s%d", i);
        (void)snprintf(to, sizeof to, "w,s%d", i);
        onnx_model_floats(model, scale, 0, NULL, &number);
        char result[16];
        (void)snprintf(result, sizeof result, "k%d", i);
        onnx_model_node(model, "Mul", to, result);
        onnx_model_output(model, result);
    }
}

/* A recurrent layer over many steps, which are written out. */
static void steps(onnx_model *model, int64_t size)
{
    static const float weights[16] = {1};
    onnx_model_input(model, "q", ONNX_FLOAT, 3, (const int64_t[]){size, 1, 1});
    onnx_model_floats(model, "W", 3, (const int64_t[]){1, 4, 1}, weights);
    onnx_model_floats(model, "R", 3, (const int64_t[]){1, 4, 1}, weights);
    onnx_model_node(model, "LSTM", "q,W,R", "y");
    onnx_model_attr_int(model, "hidden_size", 1);
    onnx_model_output(model, "y");
}

static void many_recurrent(onnx_model *model, int64_t size)
{
    static const float weights[16] = {1};
    char to[16];
    onnx_model_input(model, "q", ONNX_FLOAT, 3, (const int64_t[]){1000, 1, 1});
    onnx_model_floats(model, "W", 3, (const int64_t[]){1, 4, 1}, weights);
    onnx_model_floats(model, "R", 3, (const int64_t[]){1, 4, 1}, weights);
    for (int i = 0; i < (int)size; i++) {
        (void)snprintf(to, sizeof to, "y%d", i);
        onnx_model_node(model, "LSTM", "q,W,R", to);
        onnx_model_attr_int(model, "hidden_size", 1);
        onnx_model_output(model, to);
    }
}

/* Strides that would be split into as many phases. */
static void strides(onnx_model *model, int64_t size)
{
    static const float weights[9] = {1};
    onnx_model_input(model, "q", ONNX_FLOAT, 4, (const int64_t[]){1, 1, 4, 4});
    onnx_model_floats(model, "w", 4, (const int64_t[]){1, 1, 3, 3}, weights);
    onnx_model_node(model, "ConvTranspose", "q,w", "y");
    onnx_model_attr_ints(model, "strides", 2, (const int64_t[]){size, size});
    onnx_model_output(model, "y");
}

/* Weights of a small file, spread by a dilation. */
static void dilated(onnx_model *model, int64_t size)
{
    static const float weights[49] = {1};
    onnx_model_input(model, "q", ONNX_FLOAT, 4, (const int64_t[]){1, 1, 6 * size + 1, 6 * size + 1});
    onnx_model_floats(model, "w", 4, (const int64_t[]){1, 1, 7, 7}, weights);
    onnx_model_node(model, "Conv", "q,w", "y");
    onnx_model_attr_ints(model, "dilations", 2, (const int64_t[]){size, size});
    onnx_model_output(model, "y");
}

/* One group for each channel makes a weight of its own for each. */
static void resized(onnx_model *model, int64_t size)
{
    onnx_model_input(model, "q", ONNX_FLOAT, 4, (const int64_t[]){1, 1, 2, 2});
    onnx_model_ints(model, "k", 4, (const int64_t[]){1, 1, size, size});
    onnx_model_node(model, "Resize", "q,,,k", "y");
    onnx_model_attr_text(model, "mode", "cubic");
    onnx_model_output(model, "y");
}

/* Tensors whose numbers take a byte each in the file. */
static void packed_numbers(onnx_model *model, int64_t size)
{
    onnx_bytes tensor = {0}, packed = {0};
    for (int64_t i = 0; i < size; i++) {
        onnx_put_varint(&packed, 1);
    }
    onnx_put_int(&tensor, 1, size);
    onnx_put_int(&tensor, 2, ONNX_INT64);
    onnx_put_bytes(&tensor, 7, packed.data, packed.size);
    onnx_put_bytes(&tensor, 8, "n", 1);
    onnx_put_bytes(&model->graph, 5, tensor.data, tensor.size);
    free(packed.data);
    free(tensor.data);
    onnx_model_node(model, "Cast", "n", "f");
    onnx_model_attr_int(model, "to", ONNX_FLOAT);
    onnx_model_output(model, "f");
}

static void many_dims(onnx_model *model, int64_t size)
{
    onnx_bytes tensor = {0}, packed = {0};
    for (int64_t i = 0; i < size; i++) {
        onnx_put_varint(&packed, 1);
    }
    onnx_put_bytes(&tensor, 1, packed.data, packed.size);
    onnx_put_int(&tensor, 2, ONNX_FLOAT);
    onnx_put_bytes(&tensor, 8, "n", 1);
    onnx_put_bytes(&tensor, 9, "\0\0\0\0", 4);
    onnx_put_bytes(&model->graph, 5, tensor.data, tensor.size);
    free(packed.data);
    free(tensor.data);
    onnx_model_node(model, "Add", "x,n", "y");
    onnx_model_output(model, "y");
}

static void sorted(onnx_model *model, int64_t size)
{
    const int64_t k = size / 2;
    onnx_model_ints(model, "s", 1, &size);
    onnx_model_ints(model, "k", 1, &k);
    onnx_model_node(model, "ConstantOfShape", "s", "c");
    onnx_model_node(model, "TopK", "c,k", "v,i");
    onnx_model_output(model, "v");
}

static void range(onnx_model *model, int64_t size)
{
    onnx_model_tensor(model, "a", ONNX_INT64, 0, NULL, (const int64_t[]){0}, 8);
    onnx_model_tensor(model, "e", ONNX_INT64, 0, NULL, &size, 8);
    onnx_model_tensor(model, "d", ONNX_INT64, 0, NULL, (const int64_t[]){1}, 8);
    onnx_model_node(model, "Range", "a,e,d", "y");
    onnx_model_output(model, "y");
}

static void one_hot(onnx_model *model, int64_t size)
{
    static const float values[2] = {0, 1};
    static int64_t ids[4096];
    onnx_model_ints(model, "i", 4096, ids);
    onnx_model_tensor(model, "d", ONNX_INT64, 0, NULL, &size, 8);
    onnx_model_floats(model, "v", 1, TWO, values);
    onnx_model_node(model, "OneHot", "i,d,v", "y");
    onnx_model_output(model, "y");
}

static const amplified_row rows[] = {
    {CLASS_BOMB, "empty_nodes", NULL, empty_messages, 1},
    {CLASS_BOMB, "empty_tensors", NULL, empty_messages, 5},
    {CLASS_BOMB, "empty_value_infos", NULL, empty_messages, 13},
    {CLASS_BOMB, "empty_annotations", NULL, empty_messages, 14},
    {CLASS_BOMB, "empty_attributes", NULL, empty_parts, 5},
    {CLASS_BOMB, "empty_input_names", NULL, empty_parts, 1},
    {CLASS_BOMB, "numbers_of_one_byte", NULL, packed_numbers, 900000},
    {CLASS_BOMB, "constants_of_4_mb", NULL, constants, 1 << 20},
    {CLASS_BOMB, "constants_of_400_mb", NULL, constants, 100 << 20},
    {CLASS_BOMB, "concatenated_with_itself_28_times", NULL, doubling, 28},
    {CLASS_BOMB, "concatenated_with_itself_22_times", NULL, doubling, 22},
    {CLASS_BOMB, "weights_transposed_2000_times", NULL, transposed, 2000},
    {CLASS_BOMB, "weights_kept_200_times", NULL, kept, 200},
    {CLASS_BOMB, "7_constants_of_3_mb", NULL, some_constants, 700000},
    {CLASS_BOMB, "scales_folded_200_times", NULL, folded, 200},
    {CLASS_BOMB, "weights_of_60_layers", NULL, tied, 60},
    {CLASS_BOMB, "range_of_2e27", NULL, range, 1 << 27},
    {CLASS_BOMB, "range_of_2e22", NULL, range, 1 << 22},
    {CLASS_BOMB, "one_hot_of_4096_by_65536", NULL, one_hot, 65536},
    {CLASS_BOMB, "resized_to_60000", NULL, resized, 60000},
    {CLASS_RANK, "tensor_of_rank_900000", NULL, many_dims, 900000},
    {CLASS_TIME, "chain_of_50000", NULL, chain, 50000},
    {CLASS_TIME, "chain_of_20000", NULL, chain, 20000},
    {CLASS_TIME, "fan_of_50000", NULL, fan, 50000},
    {CLASS_TIME, "node_of_300000_inputs", NULL, wide, 300000},
    {CLASS_TIME, "outputs_4096", "found by attack: 21 GB", outputs, 4096},
    {CLASS_TIME, "initialisers_50000", "found by attack: 44 s", initialisers, 50000},
    {CLASS_TIME, "reductions_of_a_constant", "found by attack: 108 s", reductions, 1 << 22},
    {CLASS_TIME, "steps_1000", NULL, steps, 1000},
    {CLASS_TIME, "steps_1000000", NULL, steps, 1000000},
    {CLASS_TIME, "recurrent_layers_2000", NULL, many_recurrent, 2000},
    {CLASS_TIME, "recurrent_layers_40", NULL, many_recurrent, 40},
    {CLASS_TIME, "stride_65536", NULL, strides, 65536},
    {CLASS_TIME, "stride_64", NULL, strides, 64},
    {CLASS_TIME, "dilation_1000", NULL, dilated, 1000},
    {CLASS_TIME, "largest_half_of_a_constant", NULL, sorted, 1 << 20},
};

static void put_amplified(onnx_bytes *out, const void *data)
{
    const amplified_row *row = data;
    onnx_model model;
    onnx_model_begin(&model, 13);
    onnx_model_input(&model, "x", ONNX_FLOAT, 1, TWO);
    row->put(&model, row->size);
    const onnx_bytes *file = onnx_model_file(&model);
    hostile_add(out, file->data, file->size);
    onnx_model_end(&model);
}

void hostile_onnx_amplified(hostile_visit *visit, void *context)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const hostile_file file = {.class = rows[i].class,
                                   .name = rows[i].name,
                                   .origin = rows[i].origin,
                                   .kind = HOSTILE_MODEL,
                                   .end = HOSTILE_EITHER,
                                   .put = put_amplified,
                                   .row = &rows[i]};
        visit(&file, context);
    }
}
