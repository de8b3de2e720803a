/*
 * sample_archive.c: see sample_archive.h.
 */
#include "support/sample_archive.h"

#include <string.h>

typedef struct sample {
    mts_arena *arena;
    mts_graph *graph;
    bool failed;
} sample;

static uint32_t constant(sample *s, mts_type dtype, uint32_t rank, const int64_t *dims, int seed)
{
    const mts_shape shape = mts_shape_make(rank, dims);
    const size_t count = mts_shape_count(&shape);
    float *data = mts_arena_zero(s->arena, count, sizeof(*data));
    for (size_t i = 0; data && i < count; i++) {
        if (dtype == MTS_TYPE_INT32) {
            const int32_t index = (int32_t)((i * 3 + (size_t)seed) % 4);
            memcpy(&data[i], &index, sizeof(index));
        } else {
            data[i] = (float)((int)((i * 7 + (size_t)seed * 5) % 13) - 6) / 8.0f;
        }
    }
    const uint32_t value = data ? mts_graph_add_const(s->graph, NULL, dtype, &shape, data) : MTS_NONE;
    s->failed = s->failed || value == MTS_NONE;
    return value;
}

static uint32_t node(sample *s, mts_op op, const uint32_t *inputs, uint32_t count, const mts_attrs *attrs)
{
    uint32_t value = MTS_NONE;
    if (!s->failed) {
        s->failed = mts_graph_add_node(s->graph, op, mts_op_name(op), inputs, count, attrs, &value, NULL) !=
                    MTS_STATUS_OK;
    }
    return value;
}

static uint32_t conv(sample *s, uint32_t x, int64_t in, int64_t out, uint32_t kernel, int seed,
                     uint32_t residual)
{
    mts_attrs attrs;
    memset(&attrs, 0, sizeof(attrs));
    attrs.conv.kernel[0] = attrs.conv.kernel[1] = kernel;
    for (int i = 0; i < 2; i++) {
        attrs.conv.stride[i] = attrs.conv.dilation[i] = 1;
    }
    for (int i = 0; i < 4; i++) {
        attrs.conv.pad[i] = (int32_t)(kernel / 2);
    }
    attrs.conv.group = 1;
    attrs.conv.act.fn = MTS_FN_RELU;
    const uint32_t weight = constant(s, MTS_TYPE_FLOAT32, 4, (int64_t[]){out, in, kernel, kernel}, seed);
    const uint32_t bias = constant(s, MTS_TYPE_FLOAT32, 1, (int64_t[]){out}, seed + 1);
    const uint32_t inputs[] = {x, weight, MTS_NONE, bias, residual};
    return node(s, MTS_OP_CONV, inputs, residual == MTS_NONE ? 4 : 5, &attrs);
}

/* conv, residual conv with scatter, pool, gather, slice, reshape, fully connected */
static void fill(sample *s, int seed)
{
    mts_attrs attrs;
    const mts_shape input = mts_shape_make(4, (int64_t[]){1, 3, 6, 6});
    const uint32_t x = mts_graph_add_input(s->graph, "image", MTS_TYPE_FLOAT32, &input);
    s->failed = s->failed || x == MTS_NONE;
    uint32_t a = conv(s, x, 3, 4, 3, 1, MTS_NONE);
    uint32_t b = conv(s, a, 4, 4, 3, seed, a);
    if (!s->failed) {
        uint32_t *scatter = mts_arena_zero(s->arena, 4, sizeof(*scatter));
        s->failed = !scatter;
        for (uint32_t i = 0; scatter && i < 4; i++) {
            scatter[i] = 3 - i;
        }
        s->graph->nodes[s->graph->node_count - 1].scatter = scatter;
    }
    memset(&attrs, 0, sizeof(attrs));
    attrs.pool.kind = MTS_POOL_MAX;
    for (int i = 0; i < 2; i++) {
        attrs.pool.kernel[i] = attrs.pool.stride[i] = 2;
        attrs.pool.dilation[i] = 1;
    }
    b = node(s, MTS_OP_POOL, (uint32_t[]){b}, 1, &attrs);
    memset(&attrs, 0, sizeof(attrs));
    attrs.gather.axis = 1;
    const uint32_t index = constant(s, MTS_TYPE_INT32, 1, (int64_t[]){4}, seed);
    b = node(s, MTS_OP_GATHER, (uint32_t[]){b, index}, 2, &attrs);
    memset(&attrs, 0, sizeof(attrs));
    for (int i = 0; i < 4; i++) {
        attrs.slice.step[i] = 1;
        attrs.slice.size[i] = (int64_t[]){1, 4, 2, 3}[i];
    }
    b = node(s, MTS_OP_SLICE, (uint32_t[]){b}, 1, &attrs);
    memset(&attrs, 0, sizeof(attrs));
    attrs.reshape.shape = mts_shape_make(4, (int64_t[]){1, 24, 1, 1});
    b = node(s, MTS_OP_RESHAPE, (uint32_t[]){b}, 1, &attrs);
    b = conv(s, b, 24, 5, 1, seed + 3, MTS_NONE);
    const mts_shape out = mts_shape_make(2, (int64_t[]){1, 5});
    s->failed = s->failed ||
                mts_graph_add_output(s->graph, "answer", b, MTS_TYPE_FLOAT32, &out, NULL) != MTS_STATUS_OK;
}

static bool add_task(mts_archive *archive, const char *name, int seed)
{
    static const char *labels[] = {"cat", "Hündin", "", "bird", "no \"animal\""};
    static uint32_t classes[] = {0, 1, 4, 4};
    mts_task *task = &archive->tasks[archive->task_count];
    task->name = name;
    task->graph = mts_graph_create(&archive->arena, "sample");
    if (!task->graph) {
        return false;
    }
    sample s = {.arena = &archive->arena, .graph = task->graph};
    fill(&s, seed);
    task->preprocess = (mts_preprocess){
        .color = MTS_COLOR_RGB, .mean = {125.3f, 123.0f, 113.9f, 0.0f}, .std = {63.0f, 62.1f, 66.7f, 1.0f}};
    if (seed == 3) {
        task->preprocess.crop[0] = 0.25f;
        task->preprocess.crop[2] = task->preprocess.crop[3] = 0.5f;
    }
    if (seed != 3) {
        task->labels = labels;
        task->label_count = 5;
        task->class_map = classes;
        task->class_count = 4;
    }
    archive->task_count++;
    return !s.failed;
}

mts_archive *mts_sample_archive(const mts_allocator *allocator)
{
    mts_archive *archive = mts_archive_create(allocator);
    if (!archive) {
        return NULL;
    }
    archive->tasks = mts_arena_zero(&archive->arena, 3, sizeof(*archive->tasks));
    if (!archive->tasks || !add_task(archive, "age", 2) || !add_task(archive, "gender", 3) ||
        !add_task(archive, "mask-2.0_x", 2)) {
        mts_archive_destroy(&archive);
    }
    return archive;
}
