/*
 * print.c: what was found, as words and as JSON.
 */
#include <stdio.h>

#include "holistic.h"

/* Share of the mask that shows a person. */
static double mask_share(const holistic_result *result)
{
    double sum = 0;
    for (size_t i = 0; i < sizeof result->mask / sizeof result->mask[0]; i++) {
        sum += (double)result->mask[i];
    }
    return sum / (MASK_SIDE * MASK_SIDE);
}

void holistic_print(const holistic_result *result)
{
    for (uint32_t i = 0; i < result->face_count; i++) {
        const holistic_face *face = &result->faces[i];
        printf("  face   %5.1f %%  %.0f x %.0f pixels at %.0f, %.0f%s\n", 100.0 * (double)face->box.score,
               (double)(face->box.right - face->box.left), (double)(face->box.bottom - face->box.top),
               (double)face->box.left, (double)face->box.top,
               face->meshed ? ", 468 landmarks, two irises" : "");
    }
    if (result->posed) {
        uint32_t seen = 0;
        for (size_t i = 0; i < POSE_POINTS; i++) {
            seen += result->pose[i].visibility > 0.5f;
        }
        printf("  pose   %5.1f %%  %u of %d joints visible\n", 100.0 * (double)result->pose_score, seen,
               POSE_POINTS);
    }
    for (uint32_t i = 0; i < result->hand_count; i++) {
        const holistic_hand *hand = &result->hands[i];
        printf("  hand   %5.1f %%  %s, found by its %s\n", 100.0 * (double)hand->score,
               hand->right > 0.5f ? "right" : "left", hand->by_pose ? "wrist and hand_recrop" : "palm");
    }
    printf("  mask            a person is %.0f %% of the picture; %u runs of the session\n",
           100.0 * mask_share(result), result->runs);
}

static void points_json(cli_json *json, const char *key, const mts_kit_landmark *points, uint32_t count)
{
    cli_json_array(json, key);
    for (uint32_t i = 0; i < count; i++) {
        cli_json_array(json, NULL);
        cli_json_number(json, NULL, (double)points[i].x);
        cli_json_number(json, NULL, (double)points[i].y);
        cli_json_number(json, NULL, (double)points[i].z);
        cli_json_number(json, NULL, (double)points[i].visibility);
        cli_json_end(json, ']');
    }
    cli_json_end(json, ']');
}

static void face_json(cli_json *json, const holistic_face *face)
{
    const float edges[4] = {face->box.left, face->box.top, face->box.right, face->box.bottom};
    cli_json_object(json, NULL);
    cli_json_number(json, "score", (double)face->box.score);
    cli_json_array(json, "box");
    for (size_t i = 0; i < 4; i++) {
        cli_json_number(json, NULL, (double)edges[i]);
    }
    cli_json_end(json, ']');
    if (face->meshed) {
        points_json(json, "mesh", face->mesh, MESH_POINTS);
        points_json(json, "left_iris", face->irises[0], IRIS_POINTS);
        points_json(json, "right_iris", face->irises[1], IRIS_POINTS);
    }
    cli_json_end(json, '}');
}

void holistic_json(const holistic_result *result, cli_json *json)
{
    cli_json_array(json, "faces");
    for (uint32_t i = 0; i < result->face_count; i++) {
        face_json(json, &result->faces[i]);
    }
    cli_json_end(json, ']');
    cli_json_array(json, "hands");
    for (uint32_t i = 0; i < result->hand_count; i++) {
        cli_json_object(json, NULL);
        cli_json_number(json, "score", (double)result->hands[i].score);
        cli_json_number(json, "right", (double)result->hands[i].right);
        cli_json_string(json, "found_by", result->hands[i].by_pose ? "wrist" : "palm");
        points_json(json, "points", result->hands[i].points, HAND_POINTS);
        cli_json_end(json, '}');
    }
    cli_json_end(json, ']');
    if (result->posed) {
        points_json(json, "pose", result->pose, POSE_POINTS);
    }
    cli_json_number(json, "mask", mask_share(result));
    cli_json_integer(json, "runs", result->runs);
}
