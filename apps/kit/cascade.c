/*
 * cascade.c: two bundles, two sessions, and what goes from one to the other.
 */
#include "cascade.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "measure.h"

/* What is known of a task: how many numbers it has for a face, and how much of the face
   it was trained to see, in parts of the box's longer side. */
static const struct {
    const char *name;
    uint32_t values;
    double factor;
    const char *labels[2]; /* where the bundle has none */
} tasks[CLI_FACE_TASK_COUNT] = {
    [CLI_FACE_GENDER] = {"gender", 2, 1.1, {"female", "male"}},
    [CLI_FACE_MASK] = {"mask", 2, 1.1, {"mask", "no mask"}},
    [CLI_FACE_POSE] = {"pose", 3, 1.4, {"", ""}},
    [CLI_FACE_LANDMARKS] = {"landmarks", 2 * CLI_FACE_POINTS, 1.3, {"", ""}},
};

/* A task of the bundle; name NULL: the bundle has none. */
typedef struct face_task {
    const char *name;
    uint32_t output;
    const char *const *labels; /* two, or NULL */
} face_task;

struct cli_cascade {
    const char *reason; /* the runtime's */
    cli_face_rule rule;
    mts_bundle *detector_bundle, *faces_bundle;
    mts_session *detector, *faces;
    const char *detector_task;
    uint32_t scores, boxes; /* outputs of the detector */
    uint32_t candidates;
    uint32_t batch;
    face_task tasks[CLI_FACE_TASK_COUNT];
    cli_face_box *found; /* [candidates] */
    cli_face *answers;   /* [candidates] */
    mts_region *regions; /* [batch] */
    cli_cascade_times times;
};

static bool refused(const cli_cascade *cascade, const char *what, mts_status status, char *error)
{
    const char *reason = cascade->reason && cascade->reason[0] ? cascade->reason : mts_status_name(status);
    (void)snprintf(error, CLI_ERROR, "%s%s%.*s", what, what[0] ? ": " : "", CLI_ERROR - 128, reason);
    return false;
}

static bool defect(char *error, const char *path, const char *sentence)
{
    (void)snprintf(error, CLI_ERROR, "%.512s: %s", path, sentence);
    return false;
}

static bool is_floats(const mts_port_desc *port, int64_t count)
{
    int64_t product = 1;
    for (uint32_t i = 0; i < port->rank; i++) {
        product *= port->dims[i];
    }
    return port->type == MTS_TYPE_FLOAT32 && product == count;
}

/* Output of a task that has `last` numbers for each of the rows; UINT32_MAX: none. *rows
 * is 0 for any number.
 */
static uint32_t output_find(const mts_bundle *bundle, const mts_task_desc *task, int64_t last, int64_t *rows)
{
    for (uint32_t i = 0; i < task->output_count; i++) {
        mts_port_desc port = {.size = sizeof port};
        if (mts_bundle_output(bundle, task->name, i, &port) != MTS_STATUS_OK || port.rank == 0) {
            continue;
        }
        if (*rows == 0 && port.rank == 3 && port.dims[0] == 1 && port.dims[2] == last) {
            *rows = port.dims[1];
        }
        if (*rows > 0 && is_floats(&port, *rows * last)) {
            return i;
        }
    }
    return UINT32_MAX;
}

static bool detector_check(cli_cascade *cascade, const char *path, char *error)
{
    mts_task_desc task = {.size = sizeof task};
    int64_t rows = 0;
    if (mts_bundle_task_count(cascade->detector_bundle) != 1 ||
        mts_bundle_task(cascade->detector_bundle, 0, &task) != MTS_STATUS_OK || !task.takes_frames) {
        return defect(error, path, "a bundle of one task that takes frames is needed as a detector");
    }
    cascade->detector_task = task.name;
    cascade->scores = output_find(cascade->detector_bundle, &task, 2, &rows);
    cascade->boxes = rows > 0 ? output_find(cascade->detector_bundle, &task, 4, &rows) : UINT32_MAX;
    if (cascade->scores == UINT32_MAX || cascade->boxes == UINT32_MAX || rows > INT32_MAX) {
        return defect(error, path,
                      "the detector needs outputs of 1 x N x 2 (scores) and 1 x N x 4 (boxes) in float32");
    }
    cascade->candidates = (uint32_t)rows;
    return true;
}

static bool task_check(cli_cascade *cascade, const char *path, const mts_task_desc *task, char *error)
{
    mts_port_desc port = {.size = sizeof port};
    for (size_t t = 0; t < CLI_FACE_TASK_COUNT; t++) {
        if (strcmp(task->name, tasks[t].name) != 0) {
            continue;
        }
        if (!task->takes_frames ||
            mts_bundle_input(cascade->faces_bundle, task->name, 0, &port) != MTS_STATUS_OK) {
            return defect(error, path, "every face task takes frames: give it a color in the task list");
        }
        int64_t batch = port.dims[0];
        const uint32_t output = output_find(cascade->faces_bundle, task, tasks[t].values, &batch);
        if (output == UINT32_MAX) {
            (void)snprintf(error, CLI_ERROR, "%.512s: task '%s' has no output of %u numbers for a face", path,
                           task->name, tasks[t].values);
            return false;
        }
        const bool smaller = cascade->batch == 0 || batch < cascade->batch;
        cascade->batch = smaller ? (uint32_t)batch : cascade->batch;
        cascade->tasks[t] = (face_task){task->name, output, task->label_count == 2 ? task->labels : NULL};
        return true;
    }
    (void)snprintf(error, CLI_ERROR, "%.512s: task '%.128s' is none of gender, mask, pose, landmarks", path,
                   task->name);
    return false;
}

static bool faces_check(cli_cascade *cascade, const char *path, char *error)
{
    for (uint32_t i = 0; i < mts_bundle_task_count(cascade->faces_bundle); i++) {
        mts_task_desc task = {.size = sizeof task};
        if (mts_bundle_task(cascade->faces_bundle, i, &task) != MTS_STATUS_OK ||
            !task_check(cascade, path, &task, error)) {
            return false;
        }
    }
    return cascade->batch > 0 || defect(error, path, "the bundle has no task");
}

static bool bundles_open(cli_cascade *cascade, mts_runtime *runtime, const cli_cascade_options *options,
                         char *error)
{
    mts_status status = mts_bundle_open(runtime, options->detector, &cascade->detector_bundle);
    if (status != MTS_STATUS_OK) {
        return refused(cascade, "", status, error);
    }
    status = mts_bundle_open(runtime, options->faces, &cascade->faces_bundle);
    if (status != MTS_STATUS_OK) {
        return refused(cascade, "", status, error);
    }
    return detector_check(cascade, options->detector, error) && faces_check(cascade, options->faces, error);
}

static bool sessions_make(cli_cascade *cascade, mts_runtime *runtime, const mts_session_options *wanted,
                          char *error)
{
    mts_session_options options;
    mts_session_options_default(&options);
    options = wanted ? *wanted : options;
    options.separate_inputs = 0;
    mts_status status = mts_session_create(runtime, cascade->detector_bundle, &options, &cascade->detector);
    if (status != MTS_STATUS_OK) {
        return refused(cascade, "detector", status, error);
    }
    options.separate_inputs = 1; /* each task sees more or less of the face */
    status = mts_session_create(runtime, cascade->faces_bundle, &options, &cascade->faces);
    return status == MTS_STATUS_OK || refused(cascade, "face tasks", status, error);
}

cli_cascade *cli_cascade_create(mts_runtime *runtime, const cli_cascade_options *options, const char *reason,
                                char *error)
{
    cli_cascade *cascade = calloc(1, sizeof *cascade);
    bool made = cascade;
    if (made) {
        cascade->reason = reason;
        cascade->rule = options->rule;
        made = bundles_open(cascade, runtime, options, error) &&
               sessions_make(cascade, runtime, options->session, error);
    } else {
        (void)snprintf(error, CLI_ERROR, "no memory");
    }
    if (made) {
        cascade->found = calloc(cascade->candidates, sizeof *cascade->found);
        cascade->answers = calloc(cascade->candidates, sizeof *cascade->answers);
        cascade->regions = calloc(cascade->batch, sizeof *cascade->regions);
        made = cascade->found && cascade->answers && cascade->regions;
        if (!made) {
            (void)snprintf(error, CLI_ERROR, "no memory for %u candidates", cascade->candidates);
        }
    }
    if (!made) {
        cli_cascade_destroy(&cascade);
    }
    return cascade;
}

void cli_cascade_destroy(cli_cascade **cascade)
{
    if (!*cascade) {
        return;
    }
    mts_session_destroy(&(*cascade)->detector);
    mts_session_destroy(&(*cascade)->faces);
    mts_bundle_destroy(&(*cascade)->detector_bundle);
    mts_bundle_destroy(&(*cascade)->faces_bundle);
    free((*cascade)->found);
    free((*cascade)->answers);
    free((*cascade)->regions);
    free(*cascade);
    *cascade = NULL;
}

static bool session_run(const cli_cascade *cascade, mts_session *session, const mts_frame *frame, char *error)
{
    mts_ticket ticket = 0;
    mts_status status = mts_session_submit(session, frame, &ticket);
    if (status == MTS_STATUS_OK) {
        status = mts_session_wait(session, ticket, MTS_TIMEOUT_INFINITE);
    }
    return status == MTS_STATUS_OK || refused(cascade, "", status, error);
}

static bool faces_detect(cli_cascade *cascade, const mts_frame *frame, uint32_t *count, char *error)
{
    mts_tensor scores;
    mts_tensor boxes;
    mts_frame whole = *frame;
    whole.region.fit = MTS_FIT_STRETCH; /* boxes are parts of the picture */
    if (whole.region.width == 0) {      /* of all of it, also where the task list crops */
        whole.region.width = frame->width;
        whole.region.height = frame->height;
    }
    if (!session_run(cascade, cascade->detector, &whole, error)) {
        return false;
    }
    const char *task = cascade->detector_task;
    mts_status status = mts_session_output(cascade->detector, task, cascade->scores, &scores);
    if (status == MTS_STATUS_OK) {
        status = mts_session_output(cascade->detector, task, cascade->boxes, &boxes);
    }
    if (status != MTS_STATUS_OK) {
        return refused(cascade, "", status, error);
    }
    *count = cli_faces_decode(&cascade->rule, scores.data, boxes.data, cascade->candidates, cascade->found);
    cli_faces_sort(cascade->found, *count);
    return true;
}

/* The network gives angles through a function that ends at 90 degrees (docs/CASCADE.md:
 * how that was found).
 */
static float degrees(float value)
{
    return (float)(90.0 * tanh((double)value / 2));
}

/* A task's numbers for a face; points become fractions of the picture instead of the
   crop. */
static void answer_set(const mts_frame *frame, cli_face *face, cli_face_task task, const float *values)
{
    uint32_t width = 0;
    uint32_t height = 0;
    switch (task) {
    case CLI_FACE_GENDER:
        memcpy(face->gender, values, sizeof face->gender);
        return;
    case CLI_FACE_MASK:
        memcpy(face->mask, values, sizeof face->mask);
        return;
    case CLI_FACE_POSE:
        for (size_t i = 0; i < 3; i++) {
            face->pose[i] = degrees(values[i]);
        }
        return;
    case CLI_FACE_LANDMARKS:
    case CLI_FACE_TASK_COUNT:
        break;
    }
    const cli_face_crop *crop = &face->crops[CLI_FACE_LANDMARKS];
    cli_frame_shown(frame, &width, &height);
    for (size_t i = 0; i < CLI_FACE_POINTS; i++) {
        face->points[i][0] = ((float)crop->x + values[2 * i] * (float)crop->width) / (float)width;
        face->points[i][1] = ((float)crop->y + values[2 * i + 1] * (float)crop->height) / (float)height;
    }
}

/* Up to a batch of faces, beginning with `first`. */
static bool batch_run(cli_cascade *cascade, const mts_frame *frame, uint32_t first, uint32_t count,
                      char *error)
{
    cli_face *faces = cascade->answers + first;
    mts_status status = MTS_STATUS_OK;
    for (size_t t = 0; t < CLI_FACE_TASK_COUNT && status == MTS_STATUS_OK; t++) {
        for (uint32_t i = 0; i < count; i++) {
            faces[i].crops[t] = cli_face_crop_of(frame, &faces[i].box, tasks[t].factor);
            cascade->regions[i] = cli_face_region(frame, &faces[i].crops[t]);
        }
        if (cascade->tasks[t].name) {
            status = mts_session_regions(cascade->faces, cascade->tasks[t].name, cascade->regions, count);
        }
    }
    if (status != MTS_STATUS_OK) {
        return refused(cascade, "", status, error);
    }
    if (!session_run(cascade, cascade->faces, frame, error)) {
        return false;
    }
    for (size_t t = 0; t < CLI_FACE_TASK_COUNT; t++) {
        const face_task *task = &cascade->tasks[t];
        mts_tensor output;
        if (!task->name) {
            continue;
        }
        status = mts_session_output(cascade->faces, task->name, task->output, &output);
        if (status != MTS_STATUS_OK) {
            return refused(cascade, "", status, error);
        }
        for (uint32_t i = 0; i < count; i++) {
            answer_set(frame, &faces[i], (cli_face_task)t,
                       (const float *)output.data + (size_t)i * tasks[t].values);
        }
    }
    return true;
}

bool cli_cascade_run(cli_cascade *cascade, const mts_frame *frame, const cli_face **faces, uint32_t *count,
                     char *error)
{
    uint32_t found = 0;
    const double start = cli_now_ms();
    cascade->times = (cli_cascade_times){0};
    *faces = cascade->answers;
    *count = 0;
    if (!faces_detect(cascade, frame, &found, error)) {
        return false;
    }
    const double detected = cli_now_ms();
    cascade->times.detector_ms = detected - start;
    for (uint32_t i = 0; i < found; i++) {
        cascade->answers[i] = (cli_face){.box = cascade->found[i]};
    }
    for (uint32_t first = 0; first < found; first += cascade->batch) {
        const uint32_t rest = found - first;
        if (!batch_run(cascade, frame, first, rest < cascade->batch ? rest : cascade->batch, error)) {
            return false;
        }
        cascade->times.batches++;
    }
    cascade->times.tasks_ms = found > 0 ? cli_now_ms() - detected : 0;
    *count = found;
    return true;
}

bool cli_cascade_has(const cli_cascade *cascade, cli_face_task task)
{
    return cascade->tasks[task].name;
}

const char *cli_cascade_label(const cli_cascade *cascade, cli_face_task task, uint32_t index)
{
    const char *const *labels = cascade->tasks[task].labels;
    return index >= 2 ? "" : labels ? labels[index] : tasks[task].labels[index];
}

cli_cascade_times cli_cascade_last(const cli_cascade *cascade)
{
    return cascade->times;
}

uint32_t cli_cascade_batch(const cli_cascade *cascade)
{
    return cascade->batch;
}

const mts_session *cli_cascade_tasks(const cli_cascade *cascade)
{
    return cascade->faces;
}
