/*
 * frame_bundle.c: see frame_bundle.h.
 */
#include "support/frame_bundle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/passes/discover.h"

static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

static void add_task(mts_archive *archive, uint32_t index, const frame_task *wanted)
{
    static const float one = 1.0f;
    const int64_t channels = wanted->color == MTS_COLOR_GREY ? 1 : 3;
    const int64_t planar[4] = {wanted->batch, channels, wanted->height, wanted->width};
    const int64_t inner[4] = {wanted->batch, wanted->height, wanted->width, channels};
    const mts_shape shape = mts_shape_make(4, wanted->interleaved ? inner : planar);
    const mts_shape scalar = mts_shape_make(0, NULL);
    mts_error error = {0};
    mts_task *task = &archive->tasks[index];
    mts_graph *graph = mts_graph_create(&archive->arena, names[index]);
    assert_non_null(graph);
    const uint32_t inputs[2] = {mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &shape),
                                mts_graph_add_const(graph, "one", MTS_TYPE_FLOAT32, &scalar, &one)};
    mts_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    attrs.binary.kind = MTS_BIN_MUL;
    uint32_t y = MTS_NONE;
    assert_int_equal(mts_graph_add_node(graph, MTS_OP_BINARY, "same", inputs, 2, &attrs, &y, &error), 0);
    assert_int_equal(mts_graph_add_output(graph, "y", y, MTS_TYPE_FLOAT32, &shape, &error), 0);
    task->name = names[index];
    task->graph = graph;
    task->preprocess.color = wanted->color;
    task->preprocess.interleaved = wanted->interleaved;
    task->preprocess.fit = wanted->fit;
    task->preprocess.filter = wanted->filter;
    memset(task->preprocess.fill, wanted->fill, 3);
    memcpy(task->preprocess.crop, wanted->crop, sizeof wanted->crop);
    for (int c = 0; c < 4; c++) {
        task->preprocess.mean[c] = wanted->mean;
        task->preprocess.std[c] = wanted->deviation;
    }
}

mts_archive *frame_archive_make(const frame_task *tasks, uint32_t count)
{
    assert_true(count <= sizeof names / sizeof names[0]);
    mts_archive *archive = mts_archive_create(mts_allocator_default());
    assert_non_null(archive);
    archive->tasks = mts_arena_zero(&archive->arena, count, sizeof *archive->tasks);
    assert_non_null(archive->tasks);
    archive->task_count = count;
    for (uint32_t i = 0; i < count; i++) {
        add_task(archive, i, &tasks[i]);
    }
    return archive;
}

void frame_bundle_make(const frame_task *tasks, uint32_t count, mts_bundle_bytes *out)
{
    const mts_discover_options options = {0};
    mts_discover_report report = {0};
    mts_error error = {0};
    mts_archive *archive = frame_archive_make(tasks, count);
    assert_int_equal(mts_discover(archive, &options, &report, &error), MTS_STATUS_OK);
    assert_int_equal(mts_bundle_encode(archive, mts_allocator_default(), out, &error), MTS_STATUS_OK);
    mts_archive_destroy(&archive);
}
