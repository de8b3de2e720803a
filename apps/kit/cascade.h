/*
 * cascade.h: a face detector, and behind it the tasks of each face: two sessions of one
 * runtime. The boxes of the first become the regions of the second, which runs all faces
 * of a frame as one batch of all tasks stitched.
 *
 * A bundle of face tasks holds any of `gender`, `mask`, `pose` and `landmarks`, under
 * these names. docs/CASCADE.md
 */
#ifndef MTS_KIT_CASCADE_H
#define MTS_KIT_CASCADE_H

#include "faces.h"
#include "files.h"

#define CLI_FACE_POINTS 5

typedef enum cli_face_task {
    CLI_FACE_GENDER = 0,
    CLI_FACE_MASK = 1,
    CLI_FACE_POSE = 2,
    CLI_FACE_LANDMARKS = 3,
    CLI_FACE_TASK_COUNT = 4
} cli_face_task;

typedef struct cli_face {
    cli_face_box box;
    cli_face_crop crops[CLI_FACE_TASK_COUNT]; /* what each task sees */
    float gender[2], mask[2];                 /* probabilities, in the order of the task's labels */
    float pose[3]; /* yaw, pitch, roll in degrees; a head that leans to the left of the picture has a positive
                      roll */
    float points[CLI_FACE_POINTS][2]; /* x, y in parts of what the frame shows: eyes, nose, corners of the
                                         mouth; of a person who looks at the camera the left ones in the
                                         picture first */
} cli_face;

typedef struct cli_cascade_options {
    const char *detector, *faces; /* paths of bundles */
    cli_face_rule rule;
    const mts_session_options *session; /* for both, without names of tasks; NULL: the defaults */
} cli_cascade_options;

/* What the last run took, on the caller's clock, until the outputs could be read. */
typedef struct cli_cascade_times {
    double detector_ms; /* with the decoding */
    double tasks_ms;    /* of all batches; 0 without faces */
    uint32_t batches;
} cli_cascade_times;

typedef struct cli_cascade cli_cascade;

/* `error` has CLI_ERROR bytes; where the runtime has an error text of its own, that
   buffer is `reason`. */
cli_cascade *cli_cascade_create(mts_runtime *runtime, const cli_cascade_options *options, const char *reason,
                                char *error);
/* NULL is fine. */
void cli_cascade_destroy(cli_cascade **cascade);
/*
 * One frame, and waits. faces: the largest first, valid until the next run. The detector
 * sees the frame's region, stretched; a region that is turned or mirrored gives boxes and
 * points in the turned picture. More faces than the tasks' batch take several batches.
 * Allocates nothing after the first frames.
 */
bool cli_cascade_run(cli_cascade *cascade, const mts_frame *frame, const cli_face **faces, uint32_t *count,
                     char *error);
/* Whether the bundle has the task, and a name of one of its classes; never NULL. */
bool cli_cascade_has(const cli_cascade *cascade, cli_face_task task);
const char *cli_cascade_label(const cli_cascade *cascade, cli_face_task task, uint32_t index);
cli_cascade_times cli_cascade_last(const cli_cascade *cascade);
/* Faces that one run of the tasks takes. */
uint32_t cli_cascade_batch(const cli_cascade *cascade);
/* The session of the tasks, to look at. */
const mts_session *cli_cascade_tasks(const cli_cascade *cascade);

#endif
