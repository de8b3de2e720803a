/*
 * task.c: one ONNX model becomes one task of the compiler: import, passes, preprocessing,
 * labels.
 */
#include "base/sized.h"
#include "base/utf8.h"
#include "bundle/check.h"
#include "compiler/compiler.h"
#include "compiler/import/import.h"
#include "compiler/models/options.h"
#include "compiler/passes/fold.h"
#include "compiler/passes/batch_first.h"
#include "compiler/passes/tokens.h"

#include <stdio.h>
#include <string.h>

#define LABELS_MAX 1000000u

void mtsc_task_default_sized(mtsc_task *task, size_t size)
{
    const mtsc_task defaults = {.size = sizeof(mtsc_task), .std = {1.0f, 1.0f, 1.0f, 1.0f}};
    mts_sized_default(task, size, &defaults);
}

void mts_compiler_drop_tasks(mtsc_compiler *compiler, size_t count)
{
    while (compiler->count > count) {
        mts_compiler_task *last = &compiler->tasks[--compiler->count];
        mts_arena_release(last->arena);
        mts_alloc_free(compiler->allocator, last->arena);
        memset(last, 0, sizeof(*last));
    }
}

static bool normalises(const mtsc_task *task)
{
    bool changed = false;
    for (int i = 0; i < 4; i++) {
        changed = changed || task->mean[i] != 0.0f || task->std[i] != 1.0f;
    }
    return changed;
}

static mts_status check_arguments(const mtsc_compiler *compiler, const mtsc_task *task, mts_error *error)
{
    if (!task->name || !mts_task_name_valid(task->name)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "task name '%s': only 1 to 255 of A-Z a-z 0-9 _ . - are possible",
                        task->name ? task->name : "");
    }
    for (size_t i = 0; i < compiler->count; i++) {
        if (strcmp(compiler->tasks[i].task.name, task->name) == 0) {
            return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "task '%s': the name is taken", task->name);
        }
    }
    if (!task->model || !*task->model) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "task '%s': no model", task->name);
    }
    if ((task->shape_count && !task->shapes) || (task->label_count && !task->labels) ||
        (task->class_count && !task->class_map) || (task->value_count && !task->values) ||
        task->label_count > LABELS_MAX || task->class_count > LABELS_MAX) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "task '%s': shapes, values, labels or classes are missing or too many", task->name);
    }
    if ((int)task->fit < 0 || (int)task->fit > MTS_FIT_CROP || (int)task->filter < 0 ||
        (int)task->filter > MTS_FILTER_AREA || task->fill[3] != 0) {
        return mts_fail(
            error, MTS_STATUS_INVALID_ARGUMENT,
            "task '%s': fit %d, filter %d or the fourth byte of fill is none of mts_fit, mts_filter, 0",
            task->name, (int)task->fit, (int)task->filter);
    }
    if (!mts_preprocess_crop_valid(task->crop)) {
        return mts_fail(
            error, MTS_STATUS_INVALID_ARGUMENT,
            "task '%s': crop %g, %g, %g, %g is no rectangle inside of the frame: left, top, width "
            "and height are parts of the frame, from 0 to 1",
            task->name, (double)task->crop[0], (double)task->crop[1], (double)task->crop[2],
            (double)task->crop[3]);
    }
    if (task->color == MTSC_COLOR_NONE &&
        (task->fit != MTS_FIT_TASK || task->filter != MTS_FILTER_TASK || task->crop[2] > 0.0f)) {
        return mts_fail(
            error, MTS_STATUS_INVALID_ARGUMENT,
            "task '%s': fit, filter and crop are for pictures, but the task has no color; give one "
            "(rgb, bgr or grey), or leave them out",
            task->name);
    }
    if (task->color == MTSC_COLOR_NONE && normalises(task)) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "task '%s': mean and std normalise pictures, but the task has no color; give one "
                        "(rgb, bgr or grey), or leave them out",
                        task->name);
    }
    return MTS_STATUS_OK;
}

/* Element `i` of an array of sized structs, into `out` of `known` bytes. Every element
 * has the size of the first one, which tells where the next begins. */
static mts_status read_element(const void *array, uint32_t i, void *out, size_t known, const char *type,
                               const char *what, mts_error *error)
{
    size_t first = 0, size = 0;
    memcpy(&first, array, sizeof first);
    const unsigned char *given = (const unsigned char *)array + i * first;
    memcpy(&size, given, sizeof size);
    return size == first ? mts_sized_read(out, known, given, type, error)
                         : mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                                    "%s %u has %zu bytes, the first has %zu", what, i, size, first);
}

static mts_status read_shape(const mtsc_task *task, uint32_t i, mts_import_shape *out, mts_error *error)
{
    mtsc_input_shape shape = {.size = sizeof shape};
    const mts_status status =
        read_element(task->shapes, i, &shape, sizeof shape, "mtsc_input_shape", "input shape", error);
    if (status == MTS_STATUS_OK && shape.rank > MTS_TENSOR_RANK_MAX) {
        return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                        "an input shape has rank %u, at most %d is possible", shape.rank,
                        MTS_TENSOR_RANK_MAX);
    }
    if (status == MTS_STATUS_OK) {
        *out = (mts_import_shape){.input = shape.input, .shape = mts_shape_make(shape.rank, shape.dims)};
    }
    return status;
}

static mts_status read_value(const mtsc_task *task, uint32_t i, mts_import_number *out, mts_error *error)
{
    mtsc_input_value value = {.size = sizeof value};
    const mts_status status =
        read_element(task->values, i, &value, sizeof value, "mtsc_input_value", "input value", error);
    *out = (mts_import_number){.input = value.input, .number = value.number};
    return status == MTS_STATUS_OK && !value.input
               ? mts_fail(error, MTS_STATUS_INVALID_ARGUMENT, "input value %u names no input", i)
               : status;
}

/* What the caller says of the model's inputs. */
static mts_status read_inputs(const mtsc_task *task, mts_arena *arena, mts_import_options *out,
                              mts_error *error)
{
    mts_import_shape *shapes = mts_arena_zero(arena, task->shape_count, sizeof *shapes);
    mts_import_number *numbers = mts_arena_zero(arena, task->value_count, sizeof *numbers);
    mts_status status = shapes && numbers ? MTS_STATUS_OK : mts_fail_memory(error);
    for (uint32_t i = 0; i < task->shape_count && status == MTS_STATUS_OK; i++) {
        status = read_shape(task, i, &shapes[i], error);
    }
    for (uint32_t i = 0; i < task->value_count && status == MTS_STATUS_OK; i++) {
        status = read_value(task, i, &numbers[i], error);
    }
    out->shapes = shapes;
    out->shape_count = task->shape_count;
    out->numbers = numbers;
    out->number_count = task->value_count;
    return status;
}

/* The task whose import has something to say, and the options with the log for it. */
typedef struct listener {
    const mtsc_options *options;
    const char *task, *model;
} listener;

static void pass_note(void *context, const char *note)
{
    const listener *to = context;
    char text[1024];
    if (to->options->log) {
        (void)snprintf(text, sizeof text, "task '%s': %s", to->task, note);
        mts_utf8_clean(text, strlen(text));
        to->options->log(to->options->context, MTS_LOG_WARNING, text);
    }
}

static bool pass_progress(void *context, float fraction)
{
    const listener *to = context;
    return mts_options_progress(to->options, fraction, to->model, NULL) == MTS_STATUS_OK;
}

static mts_status import_graph(const mtsc_task *task, const mtsc_options *to, mts_arena *arena,
                               mts_graph **out, mts_error *error)
{
    listener ear = {.options = to, .task = task->name, .model = task->model};
    mts_import_options options = mts_import_options_default();
    mts_graph *imported = NULL;
    options.note = pass_note;
    options.progress = pass_progress;
    options.note_context = &ear;
    const size_t more = options.bytes_most - options.beyond_most;
    options.beyond_most += to->more_memory < more ? (size_t)to->more_memory : more;
    mts_status status = read_inputs(task, arena, &options, error);
    MTS_TRY(status, mts_import_file(task->model, &options, arena, &imported, error));
    if (status != MTS_STATUS_OK) {
        return status;
    }
    mts_graph *folded = NULL, *first = NULL, *tokens = NULL;
    status = mts_fold(imported, arena, &folded, error);
    MTS_TRY(status, mts_batch_first(folded, arena, &first, error));
    if (status == MTS_STATUS_OK && first != folded) {
        status = mts_fold(first, arena, &folded, error);
    }
    MTS_TRY(status, mts_tokens(folded, arena, &tokens, error));
    *out = tokens;
    if (status == MTS_STATUS_OK && tokens != folded) {
        status = mts_fold(tokens, arena, out, error);
    }
    return status == MTS_STATUS_OK ? status : mts_fail_prefix(error, status, "%s", task->model);
}

static bool wants_interleaved(const mts_graph *graph, mts_compiler_layout layout, uint32_t color)
{
    if (layout != MTS_COMPILER_LAYOUT_AUTO || color == MTS_COLOR_NONE || graph->input_count == 0) {
        return layout == MTS_COMPILER_LAYOUT_NHWC;
    }
    const mts_shape *shape = &graph->inputs[0].shape;
    const int64_t channels = color == MTS_COLOR_GREY ? 1 : 3;
    return shape->rank == 4 && shape->dims[1] != channels && shape->dims[3] == channels;
}

static mts_status copy_labels(const mtsc_task *task, mts_arena *arena, mts_task *out, mts_error *error)
{
    out->labels = mts_arena_zero(arena, task->label_count, sizeof(*out->labels));
    out->class_map = mts_arena_zero(arena, task->class_count, sizeof(*out->class_map));
    if (!out->labels || !out->class_map) {
        return mts_fail_memory(error);
    }
    for (uint32_t i = 0; i < task->label_count; i++) {
        out->labels[i] = mts_arena_string(arena, task->labels[i] ? task->labels[i] : "");
        if (!out->labels[i]) {
            return mts_fail_memory(error);
        }
    }
    if (task->class_count) {
        memcpy(out->class_map, task->class_map, task->class_count * sizeof(*out->class_map));
    }
    out->label_count = task->label_count;
    out->class_count = task->class_count;
    return MTS_STATUS_OK;
}

/* Means and deviations of pixels 0..1, which are published more often than those of
   pixels 0..255. */
static bool normalises_unit_range(const mtsc_task *task)
{
    bool within = normalises(task);
    for (int i = 0; i < 4; i++) {
        within = within && task->mean[i] >= -1.0f && task->mean[i] <= 1.0f && task->std[i] <= 1.0f;
    }
    return within;
}

static void warn_of_unit_range(const mtsc_options *options, const mtsc_task *task)
{
    char text[512];
    const double mean = (double)task->mean[0];
    const double std = (double)task->std[0];
    if (options->log && normalises_unit_range(task)) {
        (void)snprintf(
            text, sizeof text,
            "task '%s': mean %g and std %g look like those of pixels 0..1; pixels are 0..255 here, "
            "so multiply both by 255 (mean %g, std %g)",
            task->name, mean, std, 255.0 * mean, 255.0 * std);
        options->log(options->context, MTS_LOG_WARNING, text);
    }
}

/*
 * A classifier's output has one value for each label. Outputs of more than two dimensions
 * belong to detectors and segmenters, whose heads also hold boxes: their labels cannot be
 * counted here.
 */
static mts_status check_labels(const mtsc_task *task, const mts_graph *graph, mts_error *error)
{
    if (task->label_count == 0 || graph->output_count == 0) {
        return MTS_STATUS_OK;
    }
    const mts_shape *shape = &graph->values[graph->outputs[0].value].shape;
    const int64_t classes = shape->rank > 0 ? shape->dims[shape->rank - 1] : 1;
    if (shape->rank == 0 || shape->rank > 2 || classes == (int64_t)task->label_count) {
        return MTS_STATUS_OK;
    }
    return mts_fail(error, MTS_STATUS_INVALID_ARGUMENT,
                    "%u labels, but output '%s' has %lld values; give one label for each of them",
                    task->label_count, graph->outputs[0].name, (long long)classes);
}

/* Whether names can be those of the classes of output 0. */
static bool labels_fit(const mts_graph *graph, uint32_t count)
{
    const mts_shape *shape = graph->output_count ? &graph->outputs[0].shape : NULL;
    return shape && shape->rank > 0 && shape->dims[shape->rank - 1] == (int64_t)count;
}

/* Takes from the file's metadata what the caller leaves out: labels, and how images are
   normalised. */
static mts_status apply_notes(mtsc_task *task, const mts_graph *graph, mts_arena *arena, mts_error *error)
{
    mts_import_notes notes;
    const mts_status status = mts_import_notes_read(task->model, arena, &notes, error);
    if (status == MTS_STATUS_OK && task->label_count == 0 && labels_fit(graph, notes.label_count)) {
        task->labels = notes.labels;
        task->label_count = notes.label_count;
    }
    if (status == MTS_STATUS_OK && notes.normalises && task->color != MTSC_COLOR_NONE && !normalises(task)) {
        memcpy(task->mean, notes.mean, sizeof task->mean);
        memcpy(task->std, notes.std, sizeof task->std);
    }
    return status;
}

static mts_status fill_task(const mtsc_task *given, const mtsc_options *options, mts_compiler_layout layout,
                            mts_arena *arena, mts_task *out, mts_error *error)
{
    mtsc_task whole = *given;
    const mtsc_task *task = &whole;
    out->name = mts_arena_string(arena, task->name);
    if (!out->name) {
        return mts_fail_memory(error);
    }
    mts_status status = import_graph(task, options, arena, &out->graph, error);
    MTS_TRY(status, apply_notes(&whole, out->graph, arena, error));
    if (status == MTS_STATUS_OK) {
        out->preprocess.color = (uint32_t)task->color;
        out->preprocess.interleaved = wants_interleaved(out->graph, layout, out->preprocess.color);
        memcpy(out->preprocess.mean, task->mean, sizeof(task->mean));
        memcpy(out->preprocess.std, task->std, sizeof(task->std));
        out->preprocess.fit = (uint32_t)task->fit;
        out->preprocess.filter = (uint32_t)task->filter;
        memcpy(out->preprocess.fill, task->fill, sizeof(task->fill));
        memcpy(out->preprocess.crop, task->crop, sizeof task->crop);
        status = check_labels(task, out->graph, error);
        MTS_TRY(status, copy_labels(task, arena, out, error));
    }
    MTS_TRY(status, mts_task_check(out, error));
    return status;
}

mts_status mts_compiler_add_task(mtsc_compiler *compiler, const mtsc_task *task, mts_compiler_layout layout,
                                 mts_error *error)
{
    mts_status status = check_arguments(compiler, task, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    status = mts_options_progress(&compiler->options, 0.0f, task->model, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    void *tasks = compiler->tasks;
    mts_arena *arena = mts_alloc_zero(compiler->allocator, 1, sizeof(*arena));
    if (!arena || !mts_alloc_grow(compiler->allocator, &tasks, &compiler->capacity, compiler->count + 1,
                                  sizeof(*compiler->tasks))) {
        mts_alloc_free(compiler->allocator, arena);
        return mts_fail(error, MTS_STATUS_OUT_OF_MEMORY, "task '%s': out of memory", task->name);
    }
    compiler->tasks = tasks;
    mts_arena_init(arena, compiler->allocator);
    mts_compiler_task *added = &compiler->tasks[compiler->count++];
    *added = (mts_compiler_task){.arena = arena};
    status = fill_task(task, &compiler->options, layout, arena, &added->task, error);
    if (status != MTS_STATUS_OK) {
        mts_compiler_drop_tasks(compiler, compiler->count - 1);
        return mts_fail_prefix(error, status, "task '%s'", task->name);
    }
    warn_of_unit_range(&compiler->options, task);
    return MTS_STATUS_OK;
}
