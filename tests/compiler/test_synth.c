/*
 * Synthetic bundles have the widths, the sharing and the values that their options ask for.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bundle/archive.h"
#include "mts/mtsc.h"
#include "platform/os/os.h"
#include "support/synth.h"

#define LOGITS 10

static mtsc_synth_options options(mtsc_arch arch, uint32_t tasks, const double *prune, double share)
{
    mtsc_synth_options o;
    mtsc_synth_options_default(&o);
    o.arch = arch;
    o.tasks = tasks;
    o.prune = prune;
    o.prune_count = prune ? 1 : 0;
    o.share = share;
    o.input = 32;
    return o;
}

static const mts_value *weight(const test_synth *b, uint32_t task, const char *node)
{
    const mts_graph *graph = b->archive->tasks[task].graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (strcmp(graph->nodes[i].name, node) == 0) {
            return &graph->values[graph->nodes[i].inputs[1]];
        }
    }
    fail_msg("no node '%s'", node);
    return NULL;
}

static void check_shape(const mts_value *value, int64_t out, int64_t in, int64_t kernel)
{
    assert_int_equal(value->shape.dims[0], out);
    assert_int_equal(value->shape.dims[1], in);
    assert_int_equal(value->shape.dims[2], kernel);
}

static void a_pruned_resnet18_has_the_published_widths_weights_and_operations(void **state)
{
    (void)state;
    const double prune = 0.9;
    mtsc_synth_options o = options(MTSC_ARCH_RESNET18, 1, &prune, 0.9);
    o.input = 224;
    test_synth b;
    test_synth_open(&b, &o);
    check_shape(weight(&b, 0, "conv1"), 6, 3, 7);
    check_shape(weight(&b, 0, "layer1.1.conv2"), 6, 6, 3);
    check_shape(weight(&b, 0, "layer2.0.downsample"), 13, 6, 1);
    check_shape(weight(&b, 0, "layer3.0.conv1"), 26, 13, 3);
    check_shape(weight(&b, 0, "layer4.1.conv2"), 51, 51, 3);
    check_shape(weight(&b, 0, "fc"), LOGITS, 51, 1);
    const mts_graph *graph = b.archive->tasks[0].graph;
    uint64_t weights = 0;
    uint64_t mul_adds = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const mts_node *node = &graph->nodes[i];
        weights += node->op == MTS_OP_CONV ? mts_shape_count(&graph->values[node->inputs[1]].shape) : 0;
        mul_adds += mts_node_mul_adds(graph, node);
    }
    assert_in_range(weights, 110000, 115000);
    assert_in_range(2 * mul_adds, 54000000, 60000000);
    test_synth_close(&b);
}

static uint32_t count_of(const test_synth *b, mts_op op)
{
    const mts_graph *graph = b->archive->tasks[0].graph;
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        count += graph->nodes[i].op == op;
    }
    return count;
}

static void transformers_have_their_layers_and_share_blocks_of_them(void **state)
{
    (void)state;
    test_synth b;
    mtsc_synth_options o = options(MTSC_ARCH_BERT_SMALL, 2, NULL, 0.5);
    test_synth_open(&b, &o);
    assert_int_equal(count_of(&b, MTS_OP_CONV), 4 * 6 + 1);
    assert_int_equal(count_of(&b, MTS_OP_ATTENTION), 4);
    assert_int_equal(count_of(&b, MTS_OP_NORM), 9);
    check_shape(weight(&b, 0, "layer3.inner"), 2048, 512, 1);
    assert_int_equal(weight(&b, 0, "layer3.inner")->blocks[0].block,
                     weight(&b, 1, "layer3.inner")->blocks[0].block);
    assert_int_equal(weight(&b, 1, "layer3.inner")->block_count, 3);
    assert_int_equal(b.archive->tasks[0].graph->inputs[0].dtype, MTS_TYPE_INT64);
    test_synth_close(&b);
    const double prune = 0.5;
    o = options(MTSC_ARCH_VIT_TINY, 1, &prune, 1.0);
    o.input = 64;
    test_synth_open(&b, &o);
    assert_int_equal(count_of(&b, MTS_OP_ATTENTION), 12);
    check_shape(weight(&b, 0, "layer11.q"), 96, 96, 1);
    check_shape(weight(&b, 0, "patches"), 96, 3, 16);
    const mts_shape tokens = {.rank = 4, .dims = {1, 96, 1, 17}};
    const mts_graph *graph = b.archive->tasks[0].graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].op == MTS_OP_ATTENTION) {
            assert_true(mts_shape_equal(&graph->values[graph->nodes[i].output].shape, &tokens));
        }
    }
    test_synth_close(&b);
    o = options(MTSC_ARCH_BERT_BASE, 1, &prune, 1.0);
    test_synth_open(&b, &o);
    check_shape(weight(&b, 0, "layer11.outer"), 384, 1536, 1);
    test_synth_close(&b);
}

static uint64_t weights_of(const test_synth *b)
{
    const mts_graph *graph = b->archive->tasks[0].graph;
    uint64_t count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].op == MTS_OP_CONV) {
            count += mts_shape_count(&graph->values[graph->nodes[i].inputs[1]].shape);
        }
    }
    return count;
}

static void resnext50_has_its_published_weights_and_shares_whole_groups(void **state)
{
    (void)state;
    test_synth b;
    mtsc_synth_options o = options(MTSC_ARCH_RESNEXT50, 1, NULL, 1.0);
    o.classes = 1000;
    test_synth_open(&b, &o);
    assert_in_range(weights_of(&b), 24900000, 25000000); /* 25.0 million with biases */
    check_shape(weight(&b, 0, "layer4.2.conv2"), 1024, 32, 3);
    test_synth_close(&b);
    const double prune = 0.75;
    o = options(MTSC_ARCH_RESNEXT50, 2, &prune, 0.55);
    test_synth_open(&b, &o);
    check_shape(weight(&b, 0, "layer2.0.conv2"), 64, 2, 3);
    const mts_value *first = weight(&b, 0, "layer2.0.conv2"), *second = weight(&b, 1, "layer2.0.conv2");
    assert_int_equal(first->block_count, 2);
    assert_int_equal(first->blocks[0].out_count, 34); /* 35 are not whole groups of 2 */
    assert_int_equal(first->blocks[0].block, second->blocks[0].block);
    assert_int_not_equal(first->blocks[1].block, second->blocks[1].block);
    test_synth_close(&b);
}

static void xlnet_and_mobilevit_have_their_layers_and_share_blocks_of_them(void **state)
{
    (void)state;
    const double prune = 0.5;
    test_synth b;
    mtsc_synth_options o = options(MTSC_ARCH_XLNET_BASE, 2, &prune, 0.75);
    test_synth_open(&b, &o);
    assert_int_equal(count_of(&b, MTS_OP_ATTENTION), 12);
    /* 12 heads of 32 channels, 2 x 32 distances */
    check_shape(weight(&b, 0, "layer3.distances"), 768, 32, 1);
    assert_int_equal(weight(&b, 0, "layer3.distances")->blocks[0].out_count, 9 * 64);
    assert_int_equal(weight(&b, 0, "layer3.distances")->blocks[0].block,
                     weight(&b, 1, "layer3.distances")->blocks[0].block);
    test_synth_close(&b);
    o = options(MTSC_ARCH_MOBILEVIT, 2, NULL, 0.5);
    o.input = 64;
    o.classes = 1000;
    test_synth_open(&b, &o);
    assert_int_equal(count_of(&b, MTS_OP_ATTENTION), 9);
    assert_in_range(weights_of(&b), 5400000, 5600000); /* 5.6 million with vectors */
    const mts_value *join = weight(&b, 0, "layer3.join");
    check_shape(join, 96, 192, 3);
    assert_int_equal(join->block_count, 5); /* U and Y of two runs, [X; Z] */
    assert_int_equal(join->blocks[2].in_first, 96);
    assert_int_equal(join->blocks[2].block, weight(&b, 1, "layer3.join")->blocks[2].block);
    test_synth_close(&b);
    o.input = 96;
    assert_int_equal(mtsc_synth(&o, "none.mtsb", NULL, NULL), MTS_STATUS_INVALID_ARGUMENT);
}

/* Exported, and compiled again from the ONNX files: discovery follows shared channels through
   every operator of the architecture. */
static void sharing_is_found_again(mtsc_arch arch, uint32_t input, double prune, double least)
{
    const char *again = "synth-test-again.mtsb";
    test_synth b;
    mtsc_synth_options o = options(arch, 3, &prune, 0.75);
    mtsc_summary summary = {.size = sizeof summary};
    mtsc_compiler *compiler = NULL;
    o.input = input;
    test_synth_open(&b, &o);
    assert_int_equal(mtsc_compiler_create(NULL, &compiler), MTS_STATUS_OK);
    for (uint32_t t = 0; t < 3; t++) {
        char path[64];
        (void)snprintf(path, sizeof path, "synth-test-%u.onnx", t);
        assert_int_equal(mtsc_export(b.path, b.archive->tasks[t].name, path, NULL), MTS_STATUS_OK);
        mtsc_task task;
        mtsc_task_default(&task);
        task.name = b.archive->tasks[t].name;
        task.model = path;
        assert_int_equal(mtsc_compiler_add(compiler, &task), MTS_STATUS_OK);
        (void)unlink(path);
    }
    assert_int_equal(mtsc_compiler_write(compiler, again, &summary), MTS_STATUS_OK);
    mtsc_compiler_destroy(&compiler);
    (void)unlink(again);
    const double saved = (double)(b.summary.weights_bytes_unshared - b.summary.weights_bytes);
    const double found = (double)(summary.weights_bytes_unshared - summary.weights_bytes);
    if (!(found >= least * saved)) {
        fail_msg("%.0f of %.0f bytes saved were found by architecture %d", found, saved, (int)arch);
    }
    test_synth_close(&b);
}

static void sharing_through_transformers_and_convolution_groups_is_found_again(void **state)
{
    (void)state;
    sharing_is_found_again(MTSC_ARCH_BERT_SMALL, 32, 0.75, 1.0);
    sharing_is_found_again(MTSC_ARCH_VIT_TINY, 64, 0.5, 1.0);
    sharing_is_found_again(MTSC_ARCH_XLNET_BASE, 32, 0.9, 1.0);
    sharing_is_found_again(MTSC_ARCH_MOBILEVIT, 64, 0.5, 0.95);  /* but for depthwise filters */
    sharing_is_found_again(MTSC_ARCH_RESNEXT50, 32, 0.75, 0.95); /* layers of few groups stay whole */
}

static void resnet50_and_vgg16_have_their_published_weights_when_not_pruned(void **state)
{
    (void)state;
    test_synth b;
    mtsc_synth_options o = options(MTSC_ARCH_RESNET50, 1, NULL, 1.0);
    o.classes = 1000;
    test_synth_open(&b, &o);
    /* 25,557,032 with two vectors per normalisation; the classifier has its bias */
    assert_int_equal(b.summary.weights_bytes, 4u * 25557032u);
    test_synth_close(&b);
    const double prune = 0.5;
    o = options(MTSC_ARCH_VGG16, 1, &prune, 1.0);
    o.input = 224;
    test_synth_open(&b, &o);
    check_shape(weight(&b, 0, "conv1_1"), 32, 3, 3);
    check_shape(weight(&b, 0, "conv5_3"), 256, 256, 3);
    check_shape(weight(&b, 0, "fc6"), 2048, 256 * 49, 1);
    check_shape(weight(&b, 0, "fc8"), LOGITS, 2048, 1);
    test_synth_close(&b);
}

static void check_ref(const mts_block_ref *ref, uint32_t out_first, uint32_t out, uint32_t in_first,
                      uint32_t in)
{
    assert_int_equal(ref->out_first, out_first);
    assert_int_equal(ref->out_count, out);
    assert_int_equal(ref->in_first, in_first);
    assert_int_equal(ref->in_count, in);
}

static void shared_channels_come_first_and_their_weights_are_stored_once(void **state)
{
    (void)state;
    const double prune = 0.9;
    const mtsc_synth_options o = options(MTSC_ARCH_RESNET18, 3, &prune, 0.9);
    test_synth b;
    test_synth_open(&b, &o);
    assert_int_equal(b.summary.families, 1);
    const mts_value *a = weight(&b, 0, "layer3.0.conv1");
    const mts_value *c = weight(&b, 2, "layer3.0.conv1");
    assert_int_equal(a->block_count, 3);
    check_ref(&a->blocks[0], 0, 23, 0, 12);
    check_ref(&a->blocks[1], 0, 23, 12, 1);
    check_ref(&a->blocks[2], 23, 3, 0, 13);
    assert_int_equal(a->blocks[0].block, c->blocks[0].block);
    assert_int_not_equal(a->blocks[1].block, c->blocks[1].block);
    assert_int_not_equal(a->blocks[2].block, c->blocks[2].block);
    /* all channels of the image are common: no Y */
    a = weight(&b, 1, "conv1");
    assert_int_equal(a->block_count, 2);
    check_ref(&a->blocks[0], 0, 5, 0, 3);
    check_ref(&a->blocks[1], 5, 1, 0, 3);
    /* the classifier is private */
    assert_int_equal(weight(&b, 1, "fc")->block_count, 1);
    assert_int_not_equal(weight(&b, 1, "fc")->blocks[0].block, weight(&b, 0, "fc")->blocks[0].block);
    test_synth_close(&b);
}

static void tasks_of_different_widths_share_what_the_narrowest_has(void **state)
{
    (void)state;
    const double prune[] = {0.9, 0.85};
    mtsc_synth_options o = options(MTSC_ARCH_RESNET18, 4, prune, 0.9);
    o.prune_count = 2;
    test_synth b;
    test_synth_open(&b, &o);
    check_shape(weight(&b, 0, "layer4.1.conv1"), 51, 51, 3);
    check_shape(weight(&b, 3, "layer4.1.conv1"), 77, 77, 3);
    const mts_value *a = weight(&b, 0, "layer4.1.conv1");
    const mts_value *c = weight(&b, 3, "layer4.1.conv1");
    check_ref(&a->blocks[0], 0, 46, 0, 46);
    check_ref(&c->blocks[0], 0, 46, 0, 46);
    check_ref(&c->blocks[2], 46, 31, 0, 77);
    assert_int_equal(a->blocks[0].block, c->blocks[0].block);
    test_synth_close(&b);
}

static void everything_or_nothing_is_shared_at_the_ends_of_the_ratio(void **state)
{
    (void)state;
    const double prune = 0.9;
    test_synth b;
    mtsc_synth_options o = options(MTSC_ARCH_RESNET18, 2, &prune, 1.0);
    test_synth_open(&b, &o);
    assert_int_equal(weight(&b, 0, "layer2.1.conv1")->block_count, 1);
    assert_int_equal(weight(&b, 0, "layer2.1.conv1")->blocks[0].block,
                     weight(&b, 1, "layer2.1.conv1")->blocks[0].block);
    test_synth_close(&b);
    o.share = 0.0;
    test_synth_open(&b, &o);
    assert_int_equal(weight(&b, 0, "layer2.1.conv1")->block_count, 1);
    assert_int_equal(b.summary.weights_bytes, b.summary.weights_bytes_unshared);
    test_synth_close(&b);
}

static void batches_are_taken_in_turn_and_only_single_images_take_frames(void **state)
{
    (void)state;
    const uint32_t batch[] = {1, 3};
    const double prune = 0.95;
    mtsc_synth_options o = options(MTSC_ARCH_RESNET18, 3, &prune, 0.9);
    o.batch = batch;
    o.batch_count = 2;
    test_synth b;
    test_synth_open(&b, &o);
    for (uint32_t t = 0; t < 3; t++) {
        const mts_task *task = &b.archive->tasks[t];
        assert_int_equal(task->graph->inputs[0].shape.dims[0], batch[t % 2]);
        assert_int_equal(task->graph->outputs[0].shape.dims[0], batch[t % 2]);
        assert_int_equal(task->preprocess.color != MTS_COLOR_NONE, batch[t % 2] == 1);
    }
    test_synth_close(&b);
}

static void equal_options_give_equal_bytes_and_other_seeds_other_weights(void **state)
{
    (void)state;
    const double prune = 0.9;
    mtsc_synth_options o = options(MTSC_ARCH_RESNET18, 2, &prune, 0.9);
    test_synth a, b, c;
    test_synth_open(&a, &o);
    test_synth_open(&b, &o);
    o.seed = 2;
    test_synth_open(&c, &o);
    assert_int_equal(a.map.size, b.map.size);
    assert_memory_equal(a.map.data, b.map.data, a.map.size);
    assert_int_equal(a.map.size, c.map.size);
    assert_memory_not_equal(weight(&a, 0, "conv1")->blocks[0].data, weight(&c, 0, "conv1")->blocks[0].data,
                            64);
    test_synth_close(&a);
    test_synth_close(&b);
    test_synth_close(&c);
}

/* A program that was built with older headers: its structs end earlier. */
static void structs_of_a_smaller_size_are_accepted_and_of_an_unknown_one_refused(void **state)
{
    (void)state;
    const double prune = 0.95;
    mtsc_synth_options o = options(MTSC_ARCH_RESNET18, 1, &prune, 0.9);
    test_synth whole, older;
    test_synth_open(&whole, &o);
    o.size = offsetof(mtsc_synth_options, seed);
    o.seed = 99; /* behind the end: not read */
    test_synth_open(&older, &o);
    assert_int_equal(older.map.size, whole.map.size);
    assert_memory_equal(older.map.data, whole.map.data, whole.map.size);
    test_synth_close(&older);

    mtsc_options compiler;
    mtsc_options_default(&compiler);
    compiler.size = offsetof(mtsc_options, log);
    mtsc_summary summary = {.size = offsetof(mtsc_summary, deviation), .deviation = 7.0};
    assert_int_equal(mtsc_synth(&o, whole.path, &compiler, &summary), MTS_STATUS_OK);
    assert_int_equal(summary.tasks, 1);
    assert_true(summary.deviation == 7.0); /* behind the end: not written */
    o.size = sizeof o + sizeof(size_t);
    assert_int_equal(mtsc_synth(&o, whole.path, NULL, NULL), MTS_STATUS_INVALID_ARGUMENT);
    compiler.size = sizeof compiler + sizeof(size_t);
    assert_int_equal(mtsc_export(whole.path, "t0", "synth-test.onnx", &compiler),
                     MTS_STATUS_INVALID_ARGUMENT);
    test_synth_close(&whole);
}

static void a_task_does_not_depend_on_how_many_follow(void **state)
{
    (void)state;
    const double prune = 0.9;
    test_synth few, many;
    mtsc_synth_options o = options(MTSC_ARCH_RESNET18, 2, &prune, 0.9);
    test_synth_open(&few, &o);
    o.tasks = 5;
    test_synth_open(&many, &o);
    const mts_graph *a = few.archive->tasks[1].graph;
    const mts_graph *b = many.archive->tasks[1].graph;
    assert_int_equal(a->value_count, b->value_count);
    for (uint32_t v = 0; v < a->value_count; v++) {
        for (uint32_t i = 0; i < a->values[v].block_count; i++) {
            const mts_block *x = &few.archive->blocks[a->values[v].blocks[i].block];
            assert_memory_equal(x->data, b->values[v].blocks[i].data, x->size);
        }
    }
    test_synth_close(&few);
    test_synth_close(&many);
}

static mts_runtime *open_runtime(const char *device)
{
    mts_runtime_options o;
    mts_runtime *runtime = NULL;
    mts_runtime_options_default(&o);
    o.device = device;
    return mts_runtime_create(&o, &runtime) == MTS_STATUS_OK ? runtime : NULL;
}

/* Logits of all tasks, each with its own random image. */
static void run(mts_runtime *runtime, const char *path, mts_strategy strategy, uint32_t tasks, float *logits)
{
    static float pixels[3 * 32 * 32];
    mts_bundle *opened = NULL;
    mts_session *session = NULL;
    mts_session_options o;
    mts_ticket ticket = 0;
    uint32_t random = 1;
    mts_session_options_default(&o);
    o.strategy = strategy;
    o.separate_inputs = 1;
    assert_int_equal(mts_bundle_open(runtime, path, &opened), MTS_STATUS_OK);
    assert_int_equal(mts_session_create(runtime, opened, &o, &session), MTS_STATUS_OK);
    for (uint32_t t = 0; t < tasks; t++) {
        char name[16];
        (void)snprintf(name, sizeof name, "t%u", t);
        for (size_t i = 0; i < sizeof pixels / sizeof pixels[0]; i++) {
            random = random * 1664525u + 1013904223u;
            pixels[i] = (float)(random >> 8) / 8388608.0f - 1.0f;
        }
        const mts_tensor input = {pixels, sizeof pixels, MTS_TYPE_FLOAT32, 4, {1, 3, 32, 32}};
        assert_int_equal(mts_session_input(session, name, 0, &input), MTS_STATUS_OK);
    }
    assert_int_equal(mts_session_submit(session, NULL, &ticket), MTS_STATUS_OK);
    assert_int_equal(mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE), MTS_STATUS_OK);
    for (uint32_t t = 0; t < tasks; t++) {
        char name[16];
        mts_tensor output;
        (void)snprintf(name, sizeof name, "t%u", t);
        assert_int_equal(mts_session_output(session, name, 0, &output), MTS_STATUS_OK);
        assert_int_equal(output.bytes, LOGITS * sizeof(float));
        memcpy(logits + (size_t)t * LOGITS, output.data, output.bytes);
    }
    mts_session_destroy(&session);
    mts_bundle_destroy(&opened);
}

/* Neither exploded nor faded, whatever the depth. */
static void check_sane(const float *logits, uint32_t tasks)
{
    for (uint32_t t = 0; t < tasks; t++) {
        double energy = 0.0;
        for (uint32_t i = 0; i < LOGITS; i++) {
            energy += (double)logits[t * LOGITS + i] * (double)logits[t * LOGITS + i];
        }
        const double size = sqrt(energy / LOGITS);
        assert_true(size > 1e-2 && size < 1e2);
    }
}

/* Building kernels takes its time on some devices: the first case is for those. */
static void strategies_agree(const char *device, size_t most)
{
    enum { TASKS = 4 };
    static const struct {
        mtsc_arch arch;
        double prune[2], share;
    } cases[] = {{MTSC_ARCH_RESNET18, {0.9, 0.85}, 0.7},
                 {MTSC_ARCH_RESNET18, {0.9, 0.9}, 0.9},
                 {MTSC_ARCH_RESNET50, {0.9, 0.9}, 1.0},
                 {MTSC_ARCH_VGG16, {0.9, 0.85}, 0.9},
                 {MTSC_ARCH_VGG16, {0.95, 0.95}, 0.0}};
    mts_runtime *runtime = open_runtime(device);
    if (!runtime) {
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && i < most; i++) {
        float alone[TASKS * LOGITS], together[TASKS * LOGITS];
        mtsc_synth_options o = options(cases[i].arch, TASKS, cases[i].prune, cases[i].share);
        o.prune_count = 2;
        test_synth b;
        test_synth_open(&b, &o);
        run(runtime, b.path, MTS_STRATEGY_SEQUENTIAL, TASKS, alone);
        run(runtime, b.path, MTS_STRATEGY_COMPACT, TASKS, together);
        check_sane(alone, TASKS);
        for (size_t k = 0; k < TASKS * LOGITS; k++) {
            assert_true(fabsf(alone[k] - together[k]) <= 1e-4f * fmaxf(1.0f, fabsf(alone[k])));
        }
        test_synth_close(&b);
    }
    mts_runtime_destroy(&runtime);
}

static void strategies_agree_on_plain_c_and_values_stay_sane(void **state)
{
    (void)state;
    strategies_agree("reference", SIZE_MAX);
}

static void strategies_agree_on_the_best_device_and_values_stay_sane(void **state)
{
    (void)state;
    strategies_agree(NULL, 1);
}

static void options_that_make_no_sense_are_refused_and_write_nothing(void **state)
{
    (void)state;
    char text[256];
    const double bad_prune[] = {0.5, 1.0};
    const double nan_prune[] = {NAN};
    const uint32_t bad_batch[] = {0};
    mtsc_options compiler;
    mtsc_options_default(&compiler);
    compiler.error_text = text;
    compiler.error_size = sizeof text;
    for (int i = 0; i < 9; i++) {
        mtsc_synth_options o = options(MTSC_ARCH_RESNET18, 2, NULL, 0.9);
        o.arch = i == 0 ? (mtsc_arch)9 : o.arch;
        o.tasks = i == 1 ? 0 : i == 2 ? 1025 : o.tasks;
        o.share = i == 3 ? 1.5 : o.share;
        o.input = i == 4 ? 31 : o.input;
        o.classes = i == 5 ? 0 : o.classes;
        o.prune = i == 6 ? bad_prune : i == 7 ? nan_prune : NULL;
        o.prune_count = i == 6 ? 2 : i == 7 ? 1 : 0;
        o.batch = i == 8 ? bad_batch : NULL;
        o.batch_count = i == 8 ? 1 : 0;
        text[0] = '\0';
        assert_int_equal(mtsc_synth(&o, "synth-test-refused.mtsb", &compiler, NULL),
                         MTS_STATUS_INVALID_ARGUMENT);
        assert_true(strlen(text) > 10);
        assert_int_equal(access("synth-test-refused.mtsb", F_OK), -1);
    }
    assert_int_equal(mtsc_synth(NULL, "x", NULL, NULL), MTS_STATUS_INVALID_ARGUMENT);
    const mtsc_synth_options o = options(MTSC_ARCH_RESNET18, 1, NULL, 0.9);
    assert_int_equal(mtsc_synth(&o, NULL, NULL, NULL), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mtsc_synth(&o, "/no such folder/x.mtsb", NULL, NULL), MTS_STATUS_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pruned_resnet18_has_the_published_widths_weights_and_operations),
        cmocka_unit_test(transformers_have_their_layers_and_share_blocks_of_them),
        cmocka_unit_test(resnext50_has_its_published_weights_and_shares_whole_groups),
        cmocka_unit_test(xlnet_and_mobilevit_have_their_layers_and_share_blocks_of_them),
        cmocka_unit_test(sharing_through_transformers_and_convolution_groups_is_found_again),
        cmocka_unit_test(resnet50_and_vgg16_have_their_published_weights_when_not_pruned),
        cmocka_unit_test(shared_channels_come_first_and_their_weights_are_stored_once),
        cmocka_unit_test(tasks_of_different_widths_share_what_the_narrowest_has),
        cmocka_unit_test(everything_or_nothing_is_shared_at_the_ends_of_the_ratio),
        cmocka_unit_test(batches_are_taken_in_turn_and_only_single_images_take_frames),
        cmocka_unit_test(equal_options_give_equal_bytes_and_other_seeds_other_weights),
        cmocka_unit_test(structs_of_a_smaller_size_are_accepted_and_of_an_unknown_one_refused),
        cmocka_unit_test(a_task_does_not_depend_on_how_many_follow),
        cmocka_unit_test(strategies_agree_on_plain_c_and_values_stay_sane),
        cmocka_unit_test(strategies_agree_on_the_best_device_and_values_stay_sane),
        cmocka_unit_test(options_that_make_no_sense_are_refused_and_write_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
