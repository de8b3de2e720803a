/*
 * lane.c: see lane.h.
 */
#include "compress/train/lane.h"

#include <math.h>
#include <string.h>

static const float *answer_values(mts_net_run *run, const mts_net *net, uint32_t output)
{
    return mts_net_run_value(run, mts_net_graph(net)->outputs[output].value);
}

/* What the student should answer: as the teacher, or that with labels. */
static const float *aim_at(mts_lane *lane, uint32_t output, const uint32_t *indices, uint32_t images)
{
    const mts_lane_task *of = lane->of;
    const mts_answer *answer = &of->answers[output];
    const float *teacher = answer_values(lane->teacher, of->teacher, output);
    if (!lane->aims || answer->classes == 0) {
        return teacher;
    }
    for (uint32_t i = 0; i < images; i++) {
        mts_answer_with_label(teacher + (size_t)i * answer->classes, answer->classes, of->labels[indices[i]],
                              of->label_part, lane->aims + (size_t)i * answer->classes);
    }
    return lane->aims;
}

static void compare(mts_lane *lane, const uint32_t *indices, uint32_t images, uint32_t batch)
{
    const mts_lane_task *of = lane->of;
    for (uint32_t i = 0; i < of->answer_count; i++) {
        if (of->answers[i].computed) {
            lane->loss += mts_answer_loss(&of->answers[i], aim_at(lane, i, indices, images),
                                          answer_values(lane->student, of->student, i), images, batch,
                                          of->answer_count, mts_net_run_output_gradient(lane->student, i));
        }
    }
}

static void gradients_take(mts_lane *lane, const mts_parameters *parameters, bool add)
{
    const mts_graph *graph = mts_net_graph(lane->of->student);
    const uint32_t task = lane->of->task;
    for (uint32_t i = parameters->first[task]; i < parameters->first[task + 1]; i++) {
        const mts_parameter_array *array = &parameters->arrays[i];
        const mts_net_layer layer = mts_net_run_gradient(lane->student, array->node);
        size_t count = 0;
        const float *from = mts_parameter_of(&layer, graph, array->node, array->which, &count);
        float *to = lane->gradients + array->offset;
        if (!add && from) {
            memcpy(to, from, array->count * sizeof(float));
        } else if (!add) {
            memset(to, 0, array->count * sizeof(float));
        }
        for (size_t e = 0; add && from && e < array->count; e++) {
            to[e] += from[e];
        }
    }
}

static mts_status chunk_step(mts_lane *lane, mts_data *data, const mts_batch *batch, uint32_t at,
                             uint32_t images, mts_error *error)
{
    const uint32_t teacher_nodes = mts_net_graph(lane->of->teacher)->node_count;
    const uint32_t student_nodes = mts_net_graph(lane->of->student)->node_count;
    mts_status status = mts_data_feed(data, lane->of->task, lane->teacher, batch->indices + at, images,
                                      batch->changes + at, error);
    if (status == MTS_STATUS_OK) {
        mts_net_run_copy_inputs(lane->student, lane->teacher, images);
        status = mts_net_run_forward(lane->teacher, images, 0, teacher_nodes, error);
    }
    MTS_TRY(status, mts_net_run_forward(lane->student, images, 0, student_nodes, error));
    if (status == MTS_STATUS_OK) {
        compare(lane, batch->indices + at, images, batch->size);
        status = mts_net_run_backward(lane->student, images, error);
    }
    return status;
}

/* Bytes of the largest vector of classes. */
static size_t classes_most(const mts_lane_task *of)
{
    size_t most = 1;
    for (uint32_t i = 0; i < of->answer_count; i++) {
        most = of->answers[i].classes > most ? of->answers[i].classes : most;
    }
    return most * sizeof(float);
}

mts_status mts_lane_init(mts_lane *lane, size_t elements, const mts_allocator *allocator, mts_error *error)
{
    const mts_status status =
        mts_net_run_create(lane->of->teacher, lane->chunk, MTS_NET_INFERENCE, &lane->teacher, error);
    if (status != MTS_STATUS_OK) {
        return status;
    }
    lane->gradients = mts_alloc_zero(allocator, elements, sizeof(float));
    lane->aims = lane->of->labels ? mts_alloc_zero(allocator, lane->chunk, classes_most(lane->of)) : NULL;
    if (!lane->gradients || (lane->of->labels && !lane->aims)) {
        return mts_fail_memory(error);
    }
    return mts_net_run_create(lane->of->student, lane->chunk, MTS_NET_TRAINING, &lane->student, error);
}

void mts_lane_release(mts_lane *lane, const mts_allocator *allocator)
{
    mts_net_run_destroy(&lane->teacher);
    mts_net_run_destroy(&lane->student);
    mts_alloc_free(allocator, lane->gradients);
    mts_alloc_free(allocator, lane->aims);
    lane->gradients = lane->aims = NULL;
}

mts_status mts_lane_step(mts_lane *lane, mts_data *data, const mts_batch *batch,
                         const mts_parameters *parameters, mts_error *error)
{
    lane->loss = 0;
    for (uint32_t at = lane->first; at < lane->end; at += lane->chunk) {
        const uint32_t left = lane->end - at;
        const mts_status status =
            chunk_step(lane, data, batch, at, left < lane->chunk ? left : lane->chunk, error);
        if (status != MTS_STATUS_OK) {
            return status;
        }
        gradients_take(lane, parameters, at > lane->first);
    }
    return MTS_STATUS_OK;
}

/* Sums of the teacher's answers to images that are in its run. */
static mts_status answers_add(mts_lane *lane, uint32_t images, mts_error *error)
{
    const mts_lane_task *of = lane->of;
    const mts_status status =
        mts_net_run_forward(lane->teacher, images, 0, mts_net_graph(of->teacher)->node_count, error);
    for (uint32_t i = 0; i < of->answer_count && status == MTS_STATUS_OK; i++) {
        if (of->answers[i].computed) {
            mts_answer_add(&of->answers[i], answer_values(lane->teacher, of->teacher, i), images);
        }
    }
    return status;
}

/* Root mean square of a node's output in the student's run. */
static double reach_of(const mts_lane *lane, uint32_t node, uint32_t images)
{
    const mts_graph *graph = mts_net_graph(lane->of->student);
    const uint32_t value = graph->nodes[node].output;
    const size_t count = images * mts_shape_count(&graph->values[value].shape);
    const float *values = mts_net_run_value(lane->student, value);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)values[i] * (double)values[i];
    }
    return count ? sqrt(sum / (double)count) : 0;
}

/* Units of the task's arrays, from images that are in the teacher's run. */
static mts_status units_measure(mts_lane *lane, uint32_t images, mts_parameters *parameters, mts_error *error)
{
    const uint32_t task = lane->of->task;
    mts_net_run_copy_inputs(lane->student, lane->teacher, images);
    const mts_status status =
        mts_net_run_forward(lane->student, images, 0, mts_net_graph(lane->of->student)->node_count, error);
    for (uint32_t i = parameters->first[task]; i < parameters->first[task + 1] && status == MTS_STATUS_OK;
         i++) {
        mts_parameter_array *array = &parameters->arrays[i];
        const bool bias = array->which == MTS_PARAMETER_BIAS;
        mts_parameter_measure(array, bias ? reach_of(lane, array->node, images) : 0);
    }
    return status;
}

mts_status mts_lane_measure(mts_lane *lane, mts_parameters *parameters, mts_data *data,
                            const uint32_t *indices, uint32_t count, mts_error *error)
{
    mts_status status = MTS_STATUS_OK;
    for (uint32_t at = 0; at < count && status == MTS_STATUS_OK; at += lane->chunk) {
        const uint32_t images = count - at < lane->chunk ? count - at : lane->chunk;
        status = mts_data_feed(data, lane->of->task, lane->teacher, indices + at, images, NULL, error);
        MTS_TRY(status, answers_add(lane, images, error));
        if (status == MTS_STATUS_OK && at == 0) {
            status = units_measure(lane, images, parameters, error);
        }
    }
    for (uint32_t i = 0; i < lane->of->answer_count && status == MTS_STATUS_OK; i++) {
        if (lane->of->answers[i].computed) {
            mts_answer_measure(&lane->of->answers[i], count);
        }
    }
    return status;
}
