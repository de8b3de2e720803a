/*
 * The ONNX importer on damaged and hostile files: a clear error, no leak, no crash, no half graph.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/passes/fold.h"
#include "model_fixture.h"
#include "support/fault_allocator.h"

static mts_import_options options;
static const float numbers[64] = {1, 2, 3, 4, 5, 6, 7, 8};

static int set_up(void **state)
{
    (void)open_model(state);
    options = mts_import_options_default();
    return 0;
}

static mts_status import_bytes(const void *data, size_t size)
{
    mts_graph *graph = (mts_graph *)&arena;
    mts_status status = mts_import_memory(data, size, "bad.onnx", &options, &arena, &graph, &error);
    assert_true((status == MTS_STATUS_OK) == (graph != NULL));
    if (status == MTS_STATUS_OK) {
        assert_int_equal(mts_graph_verify(graph, &error), MTS_STATUS_OK);
        mts_graph *folded = NULL;
        assert_int_equal(mts_fold(graph, &arena, &folded, &error), MTS_STATUS_OK);
    } else {
        assert_int_equal(strncmp(error.text, "bad.onnx: ", 10), 0);
    }
    mts_arena_release(&arena);
    mts_arena_init(&arena, mts_allocator_default());
    return status;
}

static void refused(mts_status status, const char *part)
{
    const onnx_bytes *file = onnx_model_file(&model);
    mts_status got = import_bytes(file->data, file->size);
    if (got != status || !strstr(error.text, part)) {
        fail_msg("%s: '%s' is not %s: '%s'", mts_status_text(got), error.text, mts_status_text(status), part);
    }
    onnx_model_end(&model);
}

/* A bit of everything: window, folding, shapes, slices, attributes of all kinds. */
static const onnx_bytes *sample(void)
{
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 2, 6, 6));
    onnx_model_floats(&model, "w", INTS(2, 2, 3, 3), numbers);
    onnx_model_floats(&model, "v", INTS(2), numbers);
    onnx_model_ints(&model, "s", INTS(1, -1));
    onnx_model_ints(&model, "z", INTS(0));
    onnx_model_ints(&model, "t", INTS(1));
    onnx_model_ints(&model, "u", INTS(3));
    onnx_model_node(&model, "Conv", "x,w,v", "a");
    onnx_model_attr_ints(&model, "strides", INTS(2, 1));
    onnx_model_attr_ints(&model, "pads", INTS(0, 1, 1, 0));
    onnx_model_node(&model, "BatchNormalization", "a,v,v,v,v", "b");
    onnx_model_attr_float(&model, "epsilon", 0.5f);
    onnx_model_node(&model, "MaxPool", "b", "c");
    onnx_model_attr_ints(&model, "kernel_shape", INTS(2, 2));
    onnx_model_node(&model, "Shape", "c", "d");
    onnx_model_node(&model, "Gather", "d,z", "e");
    onnx_model_node(&model, "Concat", "e,s", "f");
    onnx_model_attr_int(&model, "axis", 0);
    onnx_model_node(&model, "Slice", "f,t,u", "g");
    onnx_model_node(&model, "Reshape", "c,g", "h");
    onnx_model_node(&model, "Softmax", "h", "y");
    onnx_model_output(&model, "y");
    return onnx_model_file(&model);
}

static void the_sample_itself_is_fine(void **state)
{
    (void)state;
    const onnx_bytes *file = sample();
    if (import_bytes(file->data, file->size) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static void a_file_cut_at_any_byte_is_refused(void **state)
{
    (void)state;
    const onnx_bytes *file = sample();
    for (size_t i = 0; i < file->size; i++) {
        /* a copy of the exact size, so that a sanitizer sees a read past the end */
        unsigned char *copy = malloc(i ? i : 1);
        memcpy(copy, file->data, i);
        assert_int_not_equal(import_bytes(copy, i), MTS_STATUS_OK);
        free(copy);
    }
}

static void a_flipped_bit_never_does_more_than_fail(void **state)
{
    (void)state;
    const onnx_bytes *file = sample();
    size_t refusals = 0;
    options.bytes_most = 1 << 20;
    for (size_t i = 0; i < file->size * 8; i++) {
        file->data[i / 8] ^= (unsigned char)(1u << i % 8);
        refusals += import_bytes(file->data, file->size) != MTS_STATUS_OK;
        file->data[i / 8] ^= (unsigned char)(1u << i % 8);
    }
    assert_true(refusals > file->size); /* the rest are names, weights and numbers that may be so */
}

static void overwritten_bytes_never_do_more_than_fail(void **state)
{
    (void)state;
    static const unsigned char values[] = {0x00, 0x7f, 0x80, 0xff};
    const onnx_bytes *file = sample();
    options.bytes_most = 1 << 20;
    for (size_t i = 0; i + 4 < file->size; i++) {
        unsigned char old[4];
        memcpy(old, file->data + i, 4);
        for (size_t j = 0; j < sizeof(values); j++) {
            memset(file->data + i, values[j], 4);
            (void)import_bytes(file->data, file->size);
        }
        memcpy(file->data + i, old, 4);
    }
}

static void each_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    const onnx_bytes *file = sample();
    mts_status status = MTS_STATUS_OUT_OF_MEMORY;
    for (size_t n = 1; status != MTS_STATUS_OK; n++) {
        mts_fault_allocator fault;
        mts_arena small;
        mts_graph *graph = NULL, *folded = NULL;
        mts_fault_allocator_init(&fault, n);
        mts_arena_init(&small, &fault.allocator);
        status = mts_import_memory(file->data, file->size, "m", NULL, &small, &graph, &error);
        if (status == MTS_STATUS_OK) {
            status = mts_fold(graph, &small, &folded, &error);
        }
        assert_true(status == MTS_STATUS_OK || status == MTS_STATUS_OUT_OF_MEMORY ||
                    status == MTS_STATUS_MALFORMED || status == MTS_STATUS_LIMIT);
        mts_arena_release(&small);
        assert_int_equal(fault.alive, 0);
        assert_true(n < 10000);
    }
}

static void cycles_and_unknown_names_are_refused(void **state)
{
    (void)state;
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2));
    onnx_model_node(&model, "Add", "x,b", "a");
    onnx_model_node(&model, "Add", "x,a", "b");
    onnx_model_output(&model, "b");
    refused(MTS_STATUS_MALFORMED, "(Add, opset 11): it reads its own result");
    onnx_model_begin(&model, 11);
    onnx_model_node(&model, "Relu", "a", "a");
    onnx_model_output(&model, "a");
    refused(MTS_STATUS_MALFORMED, "it reads its own result");
    onnx_model_begin(&model, 11);
    onnx_model_node(&model, "Relu", "nothing", "a");
    onnx_model_output(&model, "a");
    refused(MTS_STATUS_MALFORMED, "node 'Relu_a' (Relu, opset 11): 'nothing' is not defined");
    onnx_model_begin(&model, 11);
    onnx_model_output(&model, "nothing");
    refused(MTS_STATUS_MALFORMED, "'nothing' is not defined");
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2));
    onnx_model_node(&model, "Relu", "x", "x");
    onnx_model_output(&model, "x");
    refused(MTS_STATUS_MALFORMED, "more than once");
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2));
    refused(MTS_STATUS_MALFORMED, "no output");
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2));
    onnx_model_node(&model, "Relu", "x", "y");
    onnx_model_output(&model, "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "two outputs");
    onnx_model_begin(&model, 11);
    onnx_model_node(&model, "Add", "", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "0 inputs");
}

static void begin_add(void)
{
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(4));
}

static void end_add(void)
{
    onnx_model_node(&model, "Add", "x,c", "y");
    onnx_model_output(&model, "y");
}

static void tensors_whose_bytes_and_shape_differ_are_refused(void **state)
{
    (void)state;
    begin_add();
    onnx_model_tensor(&model, "c", ONNX_FLOAT, INTS(4), numbers, 15);
    end_add();
    refused(MTS_STATUS_MALFORMED, "tensor 'c'");
    begin_add();
    onnx_model_tensor(&model, "c", ONNX_FLOAT, INTS(-4), numbers, 16);
    end_add();
    refused(MTS_STATUS_MALFORMED, "dimension 0 is -4");
    begin_add();
    onnx_model_tensor(&model, "c", ONNX_FLOAT, INTS(65536, 65536), numbers, 0);
    end_add();
    refused(MTS_STATUS_LIMIT, "2^31");
    begin_add();
    onnx_model_tensor(&model, "c", ONNX_FLOAT, INTS(0, INT64_MAX), numbers, 0);
    end_add();
    refused(MTS_STATUS_MALFORMED, "dimension 1");
    begin_add();
    onnx_model_tensor(&model, "c", ONNX_FLOAT, INTS(1, 1, 1, 1, 1, 1, 1), numbers, 4);
    end_add();
    refused(MTS_STATUS_LIMIT, "rank 7");
    begin_add();
    onnx_model_tensor(&model, "c", 14, INTS(4), numbers, 32);
    end_add();
    refused(MTS_STATUS_UNSUPPORTED, "complex");
    begin_add();
    onnx_model_tensor(&model, "c", 12345, INTS(4), numbers, 4);
    end_add();
    refused(MTS_STATUS_UNSUPPORTED, "unknown");
    begin_add();
    onnx_model_tensor(&model, "c", ONNX_FLOAT, INTS(0), numbers, 0);
    end_add();
    refused(MTS_STATUS_MALFORMED, "(Add, opset 11)");
}

static void external_data_is_refused_wherever_it_points(void **state)
{
    (void)state;
    static const char *const places[] = {"weights.bin", "/etc/passwd", "../../secret"};
    for (size_t i = 0; i < 3; i++) {
        onnx_bytes tensor = {0}, entry = {0};
        begin_add();
        end_add();
        (void)onnx_model_file(&model); /* closes the node */
        onnx_put_bytes(&entry, 1, "location", 8);
        onnx_put_bytes(&entry, 2, places[i], strlen(places[i]));
        onnx_put_int(&tensor, 1, 4);
        onnx_put_int(&tensor, 2, ONNX_FLOAT);
        onnx_put_bytes(&tensor, 8, "c", 1);
        onnx_put_bytes(&tensor, 13, entry.data, entry.size);
        onnx_put_int(&tensor, 14, 1);
        onnx_put_bytes(&model.graph, 5, tensor.data, tensor.size);
        free(entry.data);
        free(tensor.data);
        refused(MTS_STATUS_UNSUPPORTED, "external data");
    }
}

static void nesting_without_end_is_refused_before_it_is_unpacked(void **state)
{
    (void)state;
    /* an attribute that holds a graph whose node has an attribute that holds a graph ... */
    static const int fields[3] = {6, 5, 1};
    onnx_bytes inner = {0};
    onnx_put_bytes(&inner, 1, "name", 4);
    for (int i = 0; i < 6002; i++) {
        onnx_bytes outer = {0};
        onnx_put_bytes(&outer, fields[i % 3], inner.data, inner.size);
        free(inner.data);
        inner = outer;
    }
    onnx_model_begin(&model, 11);
    onnx_put_bytes(&model.graph, 1, inner.data, inner.size);
    free(inner.data);
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "damaged");
}

static void small_files_cannot_ask_for_much_memory(void **state)
{
    (void)state;
    options.bytes_most = 1 << 20;
    onnx_model_begin(&model, 11);
    onnx_model_ints(&model, "s", INTS(30000, 30000));
    onnx_model_node(&model, "ConstantOfShape", "s", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_LIMIT, "needs more than 1048576 bytes");
    onnx_model_begin(&model, 11);
    onnx_model_floats(&model, "x", INTS(8), numbers);
    onnx_model_ints(&model, "s", INTS(100000, 8));
    onnx_model_node(&model, "Expand", "x,s", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_LIMIT, "bytes");
    options.bytes_most = (size_t)4 << 30; /* then what may be computed is the limit, and the node is named */
    options.computed_most = 1 << 20;
    onnx_model_begin(&model, 11);
    onnx_model_ints(&model, "s", INTS(30000, 30000));
    onnx_model_node(&model, "ConstantOfShape", "s", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_LIMIT, "node 'ConstantOfShape_y' (ConstantOfShape, opset 11)");
    onnx_model_begin(&model, 11);
    onnx_model_floats(&model, "x", INTS(8), numbers);
    onnx_model_ints(&model, "s", INTS(10000, 8));
    for (int i = 0; i < 4; i++) { /* each is small enough, all together are not */
        char to[16];
        snprintf(to, sizeof(to), "v%d", i);
        onnx_model_node(&model, "Expand", "x,s", to);
    }
    onnx_model_node(&model, "Concat", "v0,v1,v2,v3", "y");
    onnx_model_attr_int(&model, "axis", 0);
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_LIMIT, "computes from constants");
    options.bytes_most = 1 << 20;
    /* a million empty nodes of two bytes each */
    onnx_model_begin(&model, 11);
    for (int i = 0; i < 1000000; i++) {
        onnx_put_bytes(&model.graph, 1, "", 0);
    }
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_LIMIT, "memory");
    options = mts_import_options_default();
    options.nodes_most = 3;
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(2));
    for (int i = 0; i < 4; i++) {
        char from[16], to[16];
        snprintf(from, sizeof(from), i ? "v%d" : "x", i);
        snprintf(to, sizeof(to), "v%d", i + 1);
        onnx_model_node(&model, "Relu", from, to);
    }
    onnx_model_output(&model, "v4");
    refused(MTS_STATUS_LIMIT, "4 nodes, the limit is 3");
}

static void huge_run_time_values_are_refused(void **state)
{
    (void)state;
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 1 << 20, 1 << 20));
    onnx_model_node(&model, "Relu", "x", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_LIMIT, "input 'x'");
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 1, 4, 4));
    onnx_model_ints(&model, "p", INTS(0, 0, INT64_MAX, 0, 0, 0, INT64_MAX, 0));
    onnx_model_node(&model, "Pad", "x,p", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "Pad_y");
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 1, 4, 4));
    onnx_model_ints(&model, "s", INTS(INT64_MAX, INT64_MAX, 4, -1));
    onnx_model_node(&model, "Reshape", "x,s", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "Reshape_y");
}

static void attributes_that_divide_by_zero_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"strides", "dilations", "kernel_shape"};
    for (size_t i = 0; i < 3; i++) {
        onnx_model_begin(&model, 11);
        onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 1, 4, 4));
        onnx_model_node(&model, "MaxPool", "x", "y");
        if (i != 2) {
            onnx_model_attr_ints(&model, "kernel_shape", INTS(2, 2));
        }
        onnx_model_attr_text(&model, "auto_pad", "SAME_UPPER");
        onnx_model_attr_ints(&model, names[i], INTS(0, 1));
        onnx_model_output(&model, "y");
        refused(MTS_STATUS_MALFORMED, "out of range");
    }
    static const char *const ops[] = {"DepthToSpace", "SpaceToDepth"};
    for (size_t i = 0; i < 2; i++) {
        onnx_model_begin(&model, 11);
        onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4, 4, 4));
        onnx_model_node(&model, ops[i], "x", "y");
        onnx_model_attr_int(&model, "blocksize", 0);
        onnx_model_output(&model, "y");
        refused(MTS_STATUS_MALFORMED, "blocksize");
    }
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4, 4, 4));
    onnx_model_floats(&model, "w", INTS(4, 4, 1, 1), numbers);
    onnx_model_node(&model, "Conv", "x,w", "y");
    onnx_model_attr_int(&model, "group", 0);
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "group is 0");
}

static void attributes_of_another_type_are_refused(void **state)
{
    (void)state;
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    onnx_model_node(&model, "Softmax", "x", "y");
    onnx_model_attr_text(&model, "axis", "1");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "attribute 'axis'");
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    onnx_model_node(&model, "Softmax", "x", "y");
    onnx_model_attr_int(&model, "axis", -3);
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_MALFORMED, "axis -3");
}

static void operators_opsets_and_domains_that_are_not_known_are_named(void **state)
{
    (void)state;
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    onnx_model_node(&model, "Frobnicate", "x", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED,
            "bad.onnx: node 'Frobnicate_y' (Frobnicate, opset 11): the operator is not");
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    onnx_model_node(&model, "Relu", "x", "y");
    onnx_model_domain(&model, "com.example");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED, "com.example");
    onnx_model_begin(&model, 99);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    onnx_model_node(&model, "Relu", "x", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED, "opset 99");
    onnx_model_begin(&model, 5);
    onnx_model_input(&model, "x", ONNX_FLOAT, INTS(1, 4));
    onnx_model_node(&model, "Add", "x,x", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED,
            "(Add, opset 5): the operator is known in opsets 7 to 28: export the model in one of these");
    onnx_model_begin(&model, 11);
    onnx_model_input(&model, "x", 22, INTS(1, 4));
    onnx_model_node(&model, "Relu", "x", "y");
    onnx_model_output(&model, "y");
    refused(MTS_STATUS_UNSUPPORTED, "input 'x' has type int4");
}

static void files_that_are_missing_empty_or_no_models_are_refused(void **state)
{
    (void)state;
    mts_graph *graph = NULL;
    assert_int_equal(mts_import_file("/nonexistent/m.onnx", NULL, &arena, &graph, &error),
                     MTS_STATUS_NOT_FOUND);
    assert_non_null(strstr(error.text, "/nonexistent/m.onnx"));
    assert_int_equal(mts_import_file(MTS_SOURCE_DIR, NULL, &arena, &graph, &error), MTS_STATUS_IO);
    assert_int_equal(mts_import_file(MTS_SOURCE_DIR "/CMakeLists.txt", NULL, &arena, &graph, &error),
                     MTS_STATUS_MALFORMED);
    assert_null(graph);
    options.file_most = 10;
    assert_int_equal(mts_import_file(MTS_SOURCE_DIR "/CMakeLists.txt", &options, &arena, &graph, &error),
                     MTS_STATUS_LIMIT);
    assert_int_equal(import_bytes("", 0), MTS_STATUS_MALFORMED);
    mts_host_tensor tensor;
    assert_int_equal(mts_import_tensor("\x08", 1, &arena, &tensor, &error), MTS_STATUS_MALFORMED);
    assert_null(tensor.data);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, close_model)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_sample_itself_is_fine),
        TEST(a_file_cut_at_any_byte_is_refused),
        TEST(a_flipped_bit_never_does_more_than_fail),
        TEST(overwritten_bytes_never_do_more_than_fail),
        TEST(each_failing_allocation_is_reported_and_leaks_nothing),
        TEST(cycles_and_unknown_names_are_refused),
        TEST(tensors_whose_bytes_and_shape_differ_are_refused),
        TEST(external_data_is_refused_wherever_it_points),
        TEST(nesting_without_end_is_refused_before_it_is_unpacked),
        TEST(small_files_cannot_ask_for_much_memory),
        TEST(huge_run_time_values_are_refused),
        TEST(attributes_that_divide_by_zero_are_refused),
        TEST(attributes_of_another_type_are_refused),
        TEST(operators_opsets_and_domains_that_are_not_known_are_named),
        TEST(files_that_are_missing_empty_or_no_models_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
