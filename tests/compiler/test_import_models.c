/*
 * Models made by others: all of them import, fold and survive the way to ONNX and back, or are refused by
 * name. Needs the data folder (support/data.h); skipped without it.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/emit/onnx.h"
#include "compiler/import/import.h"
#include "compiler/passes/fold.h"
#include "support/data.h"

/* Inputs whose sizes the files leave open. */
static const struct {
    const char *part;
    mts_shape shape;
} sizes[] = {{"gender_predictor", {4, {1, 3, 112, 112}}},
             {"mask_detector", {4, {1, 3, 112, 112}}},
             {"pose_estimation", {4, {1, 3, 90, 90}}},
             {"eye_state", {4, {1, 96, 96, 3}}}};

static mts_error error;

static mts_status import_file(const char *path, mts_arena *arena, mts_graph **graph)
{
    mts_import_options options = mts_import_options_default();
    mts_import_shape shape = {0};
    options.beyond_most = (size_t)1 << 30; /* weights of some are computed: 240 MB from 4 KB */
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (strstr(path, sizes[i].part)) {
            shape.shape = sizes[i].shape;
            options.shapes = &shape;
            options.shape_count = 1;
        }
    }
    return mts_import_file(path, &options, arena, graph, &error);
}

static mts_graph *folded(const char *path, mts_arena *arena)
{
    mts_graph *graph = NULL, *out = NULL;
    if (import_file(path, arena, &graph) != MTS_STATUS_OK ||
        mts_fold(graph, arena, &out, &error) != MTS_STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return out;
}

static void for_each(const char *pattern, size_t least, void (*visit)(const char *path))
{
    char full[DATA_PATH];
    glob_t found;
    assert_int_equal(glob(data_path(MTS_SOURCE_DIR, pattern, full), 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= least);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        visit(found.gl_pathv[i]);
    }
    globfree(&found);
}

static uint32_t count_ops(const mts_graph *graph, mts_op op)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        count += graph->nodes[i].op == op;
    }
    return count;
}

/* Same operators in the same order, same shapes, and every weight bit for bit. */
static void assert_same(const mts_graph *a, const mts_graph *b)
{
    assert_int_equal(a->node_count, b->node_count);
    assert_int_equal(a->input_count, b->input_count);
    assert_int_equal(a->output_count, b->output_count);
    for (uint32_t i = 0; i < a->node_count; i++) {
        const mts_node *x = &a->nodes[i], *y = &b->nodes[i];
        assert_int_equal(x->op, y->op);
        assert_true(mts_shape_equal(&a->values[x->output].shape, &b->values[y->output].shape));
        if (x->op != MTS_OP_CONV) {
            continue;
        }
        assert_memory_equal(&x->attrs.conv, &y->attrs.conv, sizeof(x->attrs.conv));
        for (uint32_t j = 1; j < x->input_count; j++) {
            if (x->inputs[j] == MTS_NONE || a->values[x->inputs[j]].kind != MTS_VALUE_CONST) {
                continue;
            }
            size_t count = mts_shape_count(&a->values[x->inputs[j]].shape);
            float *left = malloc(count * sizeof(float)), *right = malloc(count * sizeof(float));
            mts_value_read_f32(&a->values[x->inputs[j]], left);
            mts_value_read_f32(&b->values[y->inputs[j]], right);
            assert_memory_equal(left, right, count * sizeof(float));
            free(left);
            free(right);
        }
    }
    for (uint32_t i = 0; i < a->output_count; i++) {
        assert_string_equal(a->outputs[i].name, b->outputs[i].name);
        assert_int_equal(a->outputs[i].dtype, b->outputs[i].dtype);
        assert_true(mts_shape_equal(&a->outputs[i].shape, &b->outputs[i].shape));
    }
}

static void check_model(const char *path)
{
    mts_arena arena;
    void *data = NULL;
    size_t size = 0;
    mts_graph *again = NULL, *back = NULL;
    mts_arena_init(&arena, mts_allocator_default());
    const mts_graph *graph = folded(path, &arena);
    assert_int_equal(mts_graph_verify(graph, &error), MTS_STATUS_OK);
    assert_int_equal(count_ops(graph, MTS_OP_UNARY) > graph->node_count / 2, 0);
    if (mts_onnx_export(graph, mts_allocator_default(), &data, &size, &error) != MTS_STATUS_OK ||
        mts_import_memory(data, size, path, NULL, &arena, &again, &error) != MTS_STATUS_OK ||
        mts_fold(again, &arena, &back, &error) != MTS_STATUS_OK) {
        fail_msg("%s: %s", path, error.text);
    }
    assert_same(graph, back);
    mts_alloc_free(mts_allocator_default(), data);
    mts_arena_release(&arena);
}

static void all_models_import_fold_and_return_from_onnx_unchanged(void **state)
{
    (void)state;
    for_each("models/face/*.onnx", 7, check_model);
    for_each("models/squeezenet11/*.onnx", 4, check_model);
    for_each("models/detect/*.onnx", 3, check_model);
    for_each("models/misc/*.onnx", 4, check_model);
    for_each("cifar/models/*.onnx", 20, check_model);
}

static void check_light(const char *path)
{
    mts_arena arena;
    mts_arena_init(&arena, mts_allocator_default());
    assert_int_equal(mts_graph_verify(folded(path, &arena), &error), MTS_STATUS_OK);
    mts_arena_release(&arena);
}

static void graphs_of_the_model_zoo_import(void **state)
{
    (void)state;
    for_each("onnx/light/*.onnx", 9, check_light);
}

static void a_residual_network_folds_to_its_convolutions(void **state)
{
    (void)state;
    char path[DATA_PATH];
    mts_arena arena;
    uint32_t residuals = 0;
    mts_arena_init(&arena, mts_allocator_default());
    const mts_graph *graph =
        folded(data_path(MTS_SOURCE_DIR, "cifar/models/small_object.onnx", path), &arena);
    assert_int_equal(graph->node_count, 23);
    assert_int_equal(count_ops(graph, MTS_OP_CONV), 21); /* 20 and the classifier */
    assert_int_equal(count_ops(graph, MTS_OP_SCALE), 0);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const mts_node *node = &graph->nodes[i];
        residuals += node->op == MTS_OP_CONV && node->input_count > 4 && node->inputs[4] != MTS_NONE;
    }
    assert_int_equal(residuals, 8);
    mts_arena_release(&arena);
}

static void folding_leaves_every_weight_as_the_file_has_it(void **state)
{
    (void)state;
    char path[DATA_PATH];
    mts_arena arena;
    mts_graph *graph = NULL, *out = NULL;
    mts_arena_init(&arena, mts_allocator_default());
    assert_int_equal(
        import_file(data_path(MTS_SOURCE_DIR, "cifar/models/small_pet.onnx", path), &arena, &graph),
        MTS_STATUS_OK);
    assert_int_equal(mts_fold(graph, &arena, &out, &error), MTS_STATUS_OK);
    uint32_t found = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        for (uint32_t j = 0; graph->nodes[i].op == MTS_OP_CONV && j < out->node_count; j++) {
            found += out->nodes[j].op == MTS_OP_CONV &&
                     out->values[out->nodes[j].inputs[1]].blocks[0].data ==
                         graph->values[graph->nodes[i].inputs[1]].blocks[0].data;
        }
    }
    assert_int_equal(found, 21);
    mts_arena_release(&arena);
}

static void assert_refused(const char *relative, const char *operator_name, const char *node)
{
    char path[DATA_PATH];
    mts_arena arena;
    mts_graph *graph = NULL;
    mts_arena_init(&arena, mts_allocator_default());
    assert_int_equal(import_file(data_path(MTS_SOURCE_DIR, relative, path), &arena, &graph),
                     MTS_STATUS_UNSUPPORTED);
    assert_null(graph);
    if (!strstr(error.text, path) || !strstr(error.text, operator_name) || !strstr(error.text, node)) {
        fail_msg("%s", error.text);
    }
    mts_arena_release(&arena);
}

static void unsupported_models_are_refused_with_file_node_and_operator(void **state)
{
    (void)state;
    assert_refused("models/unsupported/mobilenet_v2_quant.onnx", "(QLinearAdd, opset 12)", "Add_27_quant");
    assert_refused("models/unsupported/fns-candy-legacyops.onnx", "(ImageScaler, opset 7)",
                   "scalerPreprocessor");
    assert_refused("models/unsupported/pcb-aoi.onnx", "(ImageScaler, opset 1)", "node '");
}

int main(void)
{
    char path[DATA_PATH];
    if (!data_exists(data_path(MTS_SOURCE_DIR, "models", path))) {
        fprintf(stderr, "skipped: there is no %s\n", path);
        return DATA_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_models_import_fold_and_return_from_onnx_unchanged),
        cmocka_unit_test(graphs_of_the_model_zoo_import),
        cmocka_unit_test(a_residual_network_folds_to_its_convolutions),
        cmocka_unit_test(folding_leaves_every_weight_as_the_file_has_it),
        cmocka_unit_test(unsupported_models_are_refused_with_file_node_and_operator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
