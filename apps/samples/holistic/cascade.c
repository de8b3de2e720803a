/*
 * cascade.c: which task sees which part of the photo, step by step. Not responsible for
 * the decoding, which is libmtskit's.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "holistic.h"

typedef enum task_id {
    FACE_DETECTION,
    PALM_DETECTION,
    POSE_DETECTION,
    SEGMENTATION,
    FACE_LANDMARK,
    LEFT_IRIS,
    RIGHT_IRIS,
    POSE_LANDMARK,
    LEFT_RECROP,
    RIGHT_RECROP,
    LEFT_HAND,
    RIGHT_HAND,
    TASK_COUNT
} task_id;

#define OUTPUTS_MOST 4
#define CANDIDATES_MOST 2254
#define POSE_ALL 39 /* with those that only guide the next crop */
#define POSE_NUMBERS 5
#define HEAT_SIDE 64
#define HEAT_SQUARE 7
#define LEAST_SCORE 0.5f      /* that a crop shows a face, a hand, a pose */
#define LEAST_VISIBILITY 0.1f /* of a wrist */

/* Side of the input, and numbers of the outputs that are read (0: none). */
static const struct {
    const char *name;
    uint32_t side, numbers[OUTPUTS_MOST];
} tasks[TASK_COUNT] = {
    [FACE_DETECTION] = {"face_detection", 128, {896 * 16, 896}},
    [PALM_DETECTION] = {"palm_detection", 192, {2016 * 18, 2016}},
    [POSE_DETECTION] = {"pose_detection", 224, {2254 * 12, 2254}},
    [SEGMENTATION] = {"selfie_segmentation", MASK_SIDE, {MASK_SIDE * MASK_SIDE}},
    [FACE_LANDMARK] = {"face_landmark", 192, {MESH_POINTS * 3, 1}},
    [LEFT_IRIS] = {"left_iris", 64, {71 * 3, IRIS_POINTS * 3}},
    [RIGHT_IRIS] = {"right_iris", 64, {71 * 3, IRIS_POINTS * 3}},
    [POSE_LANDMARK] = {"pose_landmark", 256, {POSE_ALL * POSE_NUMBERS, 1, 0, HEAT_SIDE *HEAT_SIDE *POSE_ALL}},
    [LEFT_RECROP] = {"left_recrop", 256, {4}},
    [RIGHT_RECROP] = {"right_recrop", 256, {4}},
    [LEFT_HAND] = {"left_hand", 224, {HAND_POINTS * 3, 1, 1}},
    [RIGHT_HAND] = {"right_hand", 224, {HAND_POINTS * 3, 1, 1}},
};

typedef struct cascade {
    mts_session *session;
    mts_frame frame;
    holistic_result *result;
    const char *reason;
    char *error;
    bool active[TASK_COUNT];
    mts_kit_map maps[TASK_COUNT]; /* of what each task saw last */
    float anchors[CANDIDATES_MOST][2];
    mts_kit_detection found[CANDIDATES_MOST];
} cascade;

bool holistic_check(const mts_bundle *bundle, char *error)
{
    for (size_t t = 0; t < TASK_COUNT; t++) {
        for (uint32_t o = 0; o < OUTPUTS_MOST; o++) {
            mts_port_desc port = {.size = sizeof port};
            if (tasks[t].numbers[o] == 0) {
                continue;
            }
            int64_t count = 1;
            const mts_status status = mts_bundle_output(bundle, tasks[t].name, o, &port);
            for (uint32_t i = 0; status == MTS_STATUS_OK && i < port.rank; i++) {
                count *= port.dims[i];
            }
            if (status != MTS_STATUS_OK || port.type != MTS_TYPE_FLOAT32 || count != tasks[t].numbers[o]) {
                (void)snprintf(error, CLI_ERROR,
                               "task '%s' with %u numbers in output %u is needed: compile "
                               "apps/samples/holistic/holistic.json",
                               tasks[t].name, tasks[t].numbers[o], o);
                return false;
            }
        }
    }
    return true;
}

static bool checked(const cascade *c, mts_status status)
{
    if (status != MTS_STATUS_OK) {
        (void)snprintf(c->error, CLI_ERROR, "%.*s", CLI_ERROR - 1, c->reason);
    }
    return status == MTS_STATUS_OK;
}

/* The next run has this task, and it sees this part of the frame. */
static bool show_region(cascade *c, task_id task, const mts_region *region)
{
    mts_frame frame = c->frame;
    frame.region = *region;
    mts_kit_map_of_region(region, frame.width, frame.height, tasks[task].side, tasks[task].side,
                          &c->maps[task]);
    c->active[task] = true;
    return checked(c, mts_session_input_frame(c->session, tasks[task].name, &frame));
}

static bool show(cascade *c, task_id task, const mts_kit_roi *roi, mts_outside outside)
{
    mts_region region;
    mts_kit_region_of_roi(roi, outside, &region);
    region.mirror = task == LEFT_IRIS; /* the network knows right eyes */
    region.filter = MTS_FILTER_AREA;
    return show_region(c, task, &region);
}

/* Runs the tasks that were shown something. */
static bool run(cascade *c)
{
    mts_ticket ticket = 0;
    bool any = false;
    for (size_t t = 0; t < TASK_COUNT; t++) {
        any = any || c->active[t];
        if (!checked(c, mts_session_enable(c->session, tasks[t].name, c->active[t] ? 1 : 0))) {
            return false;
        }
        c->active[t] = false;
    }
    c->result->runs += any;
    return !any || (checked(c, mts_session_submit(c->session, NULL, &ticket)) &&
                    checked(c, mts_session_wait(c->session, ticket, MTS_TIMEOUT_INFINITE)));
}

/* Valid until the task runs again. */
static float *output(const cascade *c, task_id task, uint32_t index)
{
    mts_tensor tensor = {0};
    return checked(c, mts_session_output(c->session, tasks[task].name, index, &tensor)) ? tensor.data : NULL;
}

/* What a detector has found, in c->found; false: no output. */
static bool detect(cascade *c, task_id task, mts_kit_ssd_kind kind, uint32_t *count)
{
    mts_kit_ssd ssd;
    const float *boxes = output(c, task, 0);
    const float *scores = output(c, task, 1);
    if (!boxes || !scores || mts_kit_ssd_default(kind, &ssd) != MTS_STATUS_OK) {
        return false;
    }
    (void)mts_kit_anchors(&ssd, c->anchors[0], CANDIDATES_MOST);
    *count = mts_kit_ssd_decode(&ssd, c->anchors[0], boxes, scores, c->found);
    *count = mts_kit_nms(&ssd.nms, c->found, *count);
    mts_kit_detections_map(&c->maps[task], c->found, *count);
    return true;
}

static bool faces_keep(cascade *c)
{
    uint32_t count = 0;
    if (!detect(c, FACE_DETECTION, MTS_KIT_SSD_FACE, &count)) {
        return false;
    }
    for (uint32_t i = 0; i < count && c->result->face_count < FACES_MOST; i++) {
        c->result->faces[c->result->face_count++].box = c->found[i];
    }
    return true;
}

/* The detectors on the whole frame with black bars, the mask on the stretched one. */
static bool whole_frame(cascade *c)
{
    static const task_id detectors[3] = {FACE_DETECTION, PALM_DETECTION, POSE_DETECTION};
    const mts_region stretched = {.fit = MTS_FIT_STRETCH};
    for (size_t i = 0; i < 3; i++) {
        mts_kit_roi all;
        mts_kit_roi_of_frame(c->frame.width, c->frame.height, 1, 1, &all);
        if (!show(c, detectors[i], &all, MTS_OUTSIDE_FILL)) {
            return false;
        }
    }
    if (!show_region(c, SEGMENTATION, &stretched) || !run(c) || !faces_keep(c)) {
        return false;
    }
    const float *mask = output(c, SEGMENTATION, 0);
    if (mask) {
        memcpy(c->result->mask, mask, sizeof c->result->mask);
    }
    return mask;
}

static bool pose_read(cascade *c)
{
    float points[POSE_ALL][POSE_NUMBERS];
    const uint32_t side = tasks[POSE_LANDMARK].side;
    const float *values = output(c, POSE_LANDMARK, 0);
    const float *flag = output(c, POSE_LANDMARK, 1);
    const float *heat = output(c, POSE_LANDMARK, 3);
    if (!values || !flag || !heat) {
        return false;
    }
    memcpy(points, values, sizeof points);
    mts_kit_landmarks_refine(heat, HEAT_SIDE, HEAT_SIDE, HEAT_SQUARE, side, side, points[0], POSE_ALL,
                             POSE_NUMBERS);
    mts_kit_landmarks_map(&c->maps[POSE_LANDMARK], points[0], POSE_POINTS, POSE_NUMBERS, side, side,
                          c->result->pose);
    c->result->pose_score = flag[0];
    c->result->posed = flag[0] > LEAST_SCORE;
    return true;
}

/* The pose of the best detection. */
static bool pose_find(cascade *c)
{
    mts_kit_roi_rule rule;
    mts_kit_roi roi;
    uint32_t count = 0;
    if (!detect(c, POSE_DETECTION, MTS_KIT_SSD_POSE, &count)) {
        return false;
    }
    (void)mts_kit_roi_default(MTS_KIT_ROI_POSE, &rule);
    if (count == 0 || mts_kit_roi_of_detection(&rule, &c->found[0], &roi) != MTS_STATUS_OK) {
        return true;
    }
    return show(c, POSE_LANDMARK, &roi, MTS_OUTSIDE_EDGE) && run(c) && pose_read(c);
}

static bool hand_read(cascade *c, task_id task, bool by_pose)
{
    const uint32_t side = tasks[task].side;
    const float *values = output(c, task, 0);
    const float *flag = output(c, task, 1);
    const float *right = output(c, task, 2);
    if (!values || !flag || !right) {
        return false;
    }
    if (flag[0] > LEAST_SCORE && c->result->hand_count < HANDS_MOST) {
        holistic_hand *hand = &c->result->hands[c->result->hand_count++];
        *hand = (holistic_hand){.score = flag[0], .right = right[0], .by_pose = by_pose};
        mts_kit_landmarks_map(&c->maps[task], values, HAND_POINTS, 3, side, side, hand->points);
    }
    return true;
}

/* Shows the rectangles to the two hand tasks, two at a time. */
static bool hands_run(cascade *c, const mts_kit_roi *rois, uint32_t count, bool by_pose)
{
    for (uint32_t i = 0; i < count; i += 2) {
        const bool pair = i + 1 < count;
        if (!show(c, LEFT_HAND, &rois[i], MTS_OUTSIDE_EDGE) ||
            (pair && !show(c, RIGHT_HAND, &rois[i + 1], MTS_OUTSIDE_EDGE)) || !run(c) ||
            !hand_read(c, LEFT_HAND, by_pose) || (pair && !hand_read(c, RIGHT_HAND, by_pose))) {
            return false;
        }
    }
    return true;
}

static bool palms_find(cascade *c)
{
    mts_kit_roi rois[HANDS_MOST];
    mts_kit_roi_rule rule;
    uint32_t count = 0;
    uint32_t usable = 0;
    if (!detect(c, PALM_DETECTION, MTS_KIT_SSD_PALM, &count)) {
        return false;
    }
    (void)mts_kit_roi_default(MTS_KIT_ROI_HAND, &rule);
    for (uint32_t i = 0; i < count && usable < HANDS_MOST; i++) {
        usable += mts_kit_roi_of_detection(&rule, &c->found[i], &rois[usable]) == MTS_STATUS_OK;
    }
    return hands_run(c, rois, usable, false);
}

/* Whether a hand that was found has its wrist near this one: nearer than it is long. */
static bool hand_known(const cascade *c, const mts_kit_landmark *wrist)
{
    bool known = false;
    for (uint32_t i = 0; i < c->result->hand_count; i++) {
        const mts_kit_landmark *p = c->result->hands[i].points;
        const double length = hypot((double)p[12].x - (double)p[0].x, (double)p[12].y - (double)p[0].y);
        known = known || hypot((double)p[0].x - (double)wrist->x, (double)p[0].y - (double)wrist->y) < length;
    }
    return known;
}

/* Hands whose palm was not found, but the wrist: hand_recrop finds the crop. */
static bool wrists_follow(cascade *c)
{
    static const struct {
        task_id recrop;
        mts_kit_roi_kind kind;
        uint32_t wrist;
    } sides[2] = {{LEFT_RECROP, MTS_KIT_ROI_LEFT_RECROP, 15}, {RIGHT_RECROP, MTS_KIT_ROI_RIGHT_RECROP, 16}};
    mts_kit_roi rois[2];
    mts_kit_roi_rule rule;
    bool shown[2] = {false, false};
    uint32_t count = 0;
    for (size_t i = 0; i < 2; i++) {
        const mts_kit_landmark *wrist = &c->result->pose[sides[i].wrist];
        shown[i] =
            wrist->visibility > LEAST_VISIBILITY && !hand_known(c, wrist) &&
            mts_kit_roi_of_step(sides[i].kind, c->result->pose, POSE_POINTS, &rois[i]) == MTS_STATUS_OK;
        if (shown[i] && !show(c, sides[i].recrop, &rois[i], MTS_OUTSIDE_EDGE)) {
            return false;
        }
    }
    if (!run(c)) {
        return false;
    }
    (void)mts_kit_roi_default(MTS_KIT_ROI_RECROPPED_HAND, &rule);
    for (size_t i = 0; i < 2; i++) {
        mts_kit_landmark ends[2];
        const task_id task = sides[i].recrop;
        const float *values = shown[i] ? output(c, task, 0) : NULL;
        if (shown[i] && !values) {
            return false;
        }
        if (values) {
            mts_kit_landmarks_map(&c->maps[task], values, 2, 2, tasks[task].side, tasks[task].side, ends);
            count += mts_kit_roi_of_landmarks(&rule, ends, 2, &rois[count]) == MTS_STATUS_OK;
        }
    }
    return hands_run(c, rois, count, true);
}

static bool mesh_find(cascade *c, holistic_face *face)
{
    mts_kit_roi_rule rule;
    mts_kit_roi roi;
    (void)mts_kit_roi_default(MTS_KIT_ROI_FACE, &rule);
    if (mts_kit_roi_of_detection(&rule, &face->box, &roi) != MTS_STATUS_OK) {
        return true;
    }
    if (!show(c, FACE_LANDMARK, &roi, MTS_OUTSIDE_EDGE) || !run(c)) {
        return false;
    }
    const float *values = output(c, FACE_LANDMARK, 0);
    const float *flag = output(c, FACE_LANDMARK, 1);
    if (!values || !flag) {
        return false;
    }
    face->meshed = mts_kit_sigmoid(flag[0]) > LEAST_SCORE;
    mts_kit_landmarks_map(&c->maps[FACE_LANDMARK], values, MESH_POINTS, 3, tasks[FACE_LANDMARK].side,
                          tasks[FACE_LANDMARK].side, face->mesh);
    return true;
}

static bool irises_find(cascade *c, holistic_face *face)
{
    static const task_id eyes[2] = {LEFT_IRIS, RIGHT_IRIS};
    static const mts_kit_roi_kind steps[2] = {MTS_KIT_ROI_LEFT_IRIS, MTS_KIT_ROI_RIGHT_IRIS};
    for (size_t i = 0; i < 2; i++) {
        mts_kit_roi roi;
        if (mts_kit_roi_of_step(steps[i], face->mesh, MESH_POINTS, &roi) != MTS_STATUS_OK) {
            face->meshed = false;
            return true;
        }
        if (!show(c, eyes[i], &roi, MTS_OUTSIDE_EDGE)) {
            return false;
        }
    }
    if (!run(c)) {
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        const float *values = output(c, eyes[i], 1);
        if (!values) {
            return false;
        }
        mts_kit_landmarks_map(&c->maps[eyes[i]], values, IRIS_POINTS, 3, tasks[eyes[i]].side,
                              tasks[eyes[i]].side, face->irises[i]);
    }
    return true;
}

/* A face that is too small in the whole frame, where the pose has its head. */
static bool face_of_pose(cascade *c)
{
    mts_kit_roi roi;
    if (c->result->face_count > 0 || !c->result->posed ||
        mts_kit_roi_of_step(MTS_KIT_ROI_POSE_FACE, c->result->pose, POSE_POINTS, &roi) != MTS_STATUS_OK) {
        return true;
    }
    return show(c, FACE_DETECTION, &roi, MTS_OUTSIDE_FILL) && run(c) && faces_keep(c);
}

bool holistic_run(mts_session *session, const mts_frame *frame, holistic_result *result, const char *reason,
                  char *error)
{
    cascade c = {.session = session, .frame = *frame, .result = result, .reason = reason, .error = error};
    memset(result, 0, sizeof *result);
    bool good = whole_frame(&c) && pose_find(&c) && palms_find(&c);
    good = good && (!result->posed || wrists_follow(&c)) && face_of_pose(&c);
    for (uint32_t i = 0; i < result->face_count && good; i++) {
        good = mesh_find(&c, &result->faces[i]) &&
               (!result->faces[i].meshed || irises_find(&c, &result->faces[i]));
    }
    return good;
}
