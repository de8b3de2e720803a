/*
 * holistic.h: the networks of MediaPipe's wheel on one photo, as the cascade that they
 * are: detectors of faces, palms and poses and a mask of the person first, then landmarks
 * of what they found, then irises.
 *
 * One session holds all twelve tasks; each step of the cascade switches on those that it
 * needs. docs/CASCADE.md
 */
#ifndef MTS_SAMPLE_HOLISTIC_H
#define MTS_SAMPLE_HOLISTIC_H

#include <stdbool.h>

#include "kit/files.h"
#include "kit/image.h"
#include "kit/json.h"
#include "mts/kit.h"
#include "mts/mts.h"

#define FACES_MOST 8
#define HANDS_MOST 8
#define MESH_POINTS 468
#define IRIS_POINTS 5
#define HAND_POINTS 21
#define POSE_POINTS 33
#define MASK_SIDE 256

typedef struct holistic_face {
    mts_kit_detection box; /* in pixels of the photo, as everything here */
    bool meshed;           /* the next two are there */
    mts_kit_landmark mesh[MESH_POINTS];
    mts_kit_landmark irises[2][IRIS_POINTS]; /* middle and edge, of the person's left and right eye */
} holistic_face;

typedef struct holistic_hand {
    float score, right; /* probabilities that it is a hand, and a right one */
    bool by_pose;       /* found through the wrist of the pose instead of a palm */
    mts_kit_landmark points[HAND_POINTS];
} holistic_hand;

typedef struct holistic_result {
    uint32_t face_count, hand_count;
    holistic_face faces[FACES_MOST];
    holistic_hand hands[HANDS_MOST];
    bool posed;
    float pose_score;
    mts_kit_landmark pose[POSE_POINTS];
    float mask[MASK_SIDE * MASK_SIDE]; /* of the whole photo, stretched: probability of a person */
    uint32_t runs;                     /* submissions */
} holistic_result;

/* False: a task is missing or has other outputs; `error` has CLI_ERROR bytes. */
bool holistic_check(const mts_bundle *bundle, char *error);
/* The session has separate inputs. `reason` is where the run-time writes its error
   text. */
bool holistic_run(mts_session *session, const mts_frame *frame, holistic_result *result, const char *reason,
                  char *error);
/* Onto the photo. */
bool holistic_draw(const holistic_result *result, cli_image *image, char *error);
void holistic_print(const holistic_result *result);
void holistic_json(const holistic_result *result, cli_json *json);

#endif
