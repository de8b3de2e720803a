/*
 * bundle.c: see bundle.h.
 */
#include "ros2/bundle.h"

#include <stdio.h>
#include <string.h>

#include "compiler/models/bundle.h"
#include "compiler/passes/discover.h"

static const char *labels[] = {"red", "green", "blue"};

typedef struct wanted {
    const char *name;
    uint32_t color, labels;
    float scale; /* of pixels */
    uint32_t rank;
    int64_t input[4], output[4];
} wanted;

/* y = x in another shape. */
static bool task_add(mts_archive *archive, mts_task *task, const wanted *w, mts_error *error)
{
    const mts_shape input = mts_shape_make(4, w->input);
    const mts_shape output = mts_shape_make(w->rank, w->output);
    mts_graph *graph = mts_graph_create(&archive->arena, w->name);
    mts_attrs attrs;
    uint32_t y = MTS_NONE;
    if (!graph) {
        return false;
    }
    const uint32_t x = mts_graph_add_input(graph, "x", MTS_TYPE_FLOAT32, &input);
    memset(&attrs, 0, sizeof attrs);
    attrs.reshape.shape = output;
    if (mts_graph_add_node(graph, MTS_OP_RESHAPE, "shape", &x, 1, &attrs, &y, error) != 0 ||
        mts_graph_add_output(graph, "y", y, MTS_TYPE_FLOAT32, &output, error) != 0) {
        return false;
    }
    task->name = w->name;
    task->graph = graph;
    task->preprocess.color = w->color;
    task->label_count = w->labels;
    task->labels = w->labels ? labels : NULL;
    for (int c = 0; c < 4; c++) {
        task->preprocess.std[c] = w->scale;
    }
    return true;
}

int bundle_write(const char *path)
{
    static const wanted tasks[] = {
        {"colour.rgb", MTS_COLOR_RGB, 3, 25.0f, 2, {1, 3, 1, 1}, {1, 3}},
        {"boxes", MTS_COLOR_GREY, 0, 1.0f, 3, {1, 1, BOX_ROWS, 6}, {1, BOX_ROWS, 6}},
        {"means", MTS_COLOR_RGB, 0, 1.0f, 2, {1, 3, 2, 2}, {3, 4}},
    };
    const uint32_t count = sizeof tasks / sizeof tasks[0];
    const mts_discover_options options = {0};
    mts_discover_report report = {0};
    mts_error error = {0};
    mts_bundle_bytes bytes = {0};
    mts_archive *archive = mts_archive_create(mts_allocator_default());
    bool made = archive != NULL;
    if (made) {
        archive->tasks = mts_arena_zero(&archive->arena, count, sizeof *archive->tasks);
        archive->task_count = archive->tasks ? count : 0;
        made = archive->tasks != NULL;
    }
    for (uint32_t i = 0; made && i < count; i++) {
        made = task_add(archive, &archive->tasks[i], &tasks[i], &error);
    }
    made = made && mts_discover(archive, &options, &report, &error) == MTS_STATUS_OK &&
           mts_bundle_encode(archive, mts_allocator_default(), &bytes, &error) == MTS_STATUS_OK;
    FILE *file = made ? fopen(path, "wb") : NULL;
    made = file && fwrite(bytes.data, 1, bytes.size, file) == bytes.size;
    if (file && fclose(file) != 0) {
        made = false;
    }
    mts_bundle_bytes_release(&bytes);
    mts_archive_destroy(&archive);
    if (!made) {
        (void)printf("no bundle: %s\n", error.text);
    }
    return made ? 0 : 1;
}
