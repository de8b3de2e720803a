/*
 * test_detectors.c: anchors, boxes and suppression of single-shot detectors, beside MediaPipe.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mts/kit.h"

/* apollo11_crew.jpg, 600 x 471: made by tests/kit/expected.py face. */
static const struct {
    uint32_t anchor;
    float score, box[16];
} candidates[] = {
    {142,
     0.06003127f,
     {2.263501f, 3.932368f, 15.39762f, 15.39770f, 0.8947186f, 4.062772f, 5.085091f, 1.926610f, 4.913898f,
      6.397929f, 5.380904f, 7.834899f, -3.009681f, 4.034263f, 6.450668f, -0.5475018f}},
    {143,
     0.2355962f,
     {2.378626f, 3.936157f, 15.04971f, 15.04954f, 1.421107f, 4.554583f, 5.127112f, 2.361588f, 5.245455f,
      6.627154f, 5.635608f, 7.895492f, -2.411375f, 4.316853f, 6.259472f, -0.2641862f}},
    {174,
     0.1447396f,
     {1.597210f, -3.129050f, 17.25465f, 17.25495f, -0.3816117f, -2.782089f, 3.740028f, -5.226163f, 3.382339f,
      0.1608491f, 4.211375f, 1.179339f, -3.545763f, -3.599336f, 6.176221f, -8.825933f}},
    {175,
     0.3110904f,
     {1.659060f, -3.367175f, 17.09123f, 17.09120f, -0.05400219f, -2.583789f, 3.557143f, -5.167552f, 3.594264f,
      -0.2448269f, 4.352030f, 0.7001775f, -3.077055f, -3.442299f, 5.627202f, -8.764587f}},
    {177,
     0.1700042f,
     {-3.557689f, -3.276350f, 20.03639f, 20.03631f, -7.963003f, -2.643485f, -2.869147f, -5.902933f,
      -3.970604f, 0.3914335f, -1.957322f, 2.292132f, -9.665465f, -2.724259f, 2.429642f, -9.763224f}},
    {246,
     0.2911601f,
     {1.396978f, -0.2091601f, 17.47913f, 17.47930f, 1.553427f, -2.632025f, 6.163500f, -0.8576289f, 3.941385f,
      2.776877f, 1.884650f, 4.333948f, -4.767426f, -5.580256f, 5.768069f, -1.480482f}},
    {247,
     0.4070506f,
     {1.109431f, -0.5397697f, 16.68891f, 16.68883f, 1.635146f, -2.473964f, 5.758316f, -0.8093002f, 4.093613f,
      2.625765f, 1.969274f, 3.881207f, -4.943710f, -5.588165f, 4.724637f, -1.805973f}},
};

/* What MediaPipe 0.10.21 makes of them, in pixels. */
static const struct {
    float score, edges[4], points[6][2];
} faces[] = {
    {0.6003805f,
     {397.0897f, 174.9575f, 477.1267f, 254.9947f},
     {{438.7278f, 204.7917f},
      {459.1690f, 212.8459f},
      {450.0906f, 229.4040f},
      {440.2874f, 235.9789f},
      {408.4796f, 190.5736f},
      {455.7837f, 209.0291f}}},
    {0.5771512f,
     {253.0114f, 85.20598f, 332.5639f, 164.7585f},
     {{283.0344f, 127.3765f},
      {302.4162f, 115.5351f},
      {301.0597f, 139.2859f},
      {305.2371f, 145.4189f},
      {268.4080f, 125.4444f},
      {313.9417f, 100.3513f}}},
};

static void anchors_lie_where_mediapipe_has_them(void **state)
{
    static const struct {
        mts_kit_ssd_kind kind;
        uint32_t count;
    } known[] = {{MTS_KIT_SSD_FACE, 896}, {MTS_KIT_SSD_PALM, 2016}, {MTS_KIT_SSD_POSE, 2254}};
    static float anchors[2254][2];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        mts_kit_ssd ssd;
        assert_int_equal(mts_kit_ssd_default(known[i].kind, &ssd), MTS_STATUS_OK);
        assert_int_equal(mts_kit_anchors(&ssd, anchors[0], 2254), known[i].count);
        const float first = 4.0f / (float)ssd.width; /* half of the first step */
        assert_float_equal(anchors[0][0], first, 1e-7f);
        assert_float_equal(anchors[1][0], first, 1e-7f); /* two at each place */
        assert_float_equal(anchors[2][0], 3 * first, 1e-7f);
        assert_float_equal(anchors[2][1], first, 1e-7f);
        const float last = 1.0f - (i == 2 ? 16.0f : 8.0f) / (float)ssd.width;
        assert_float_equal(anchors[known[i].count - 1][0], last, 1e-6f);
        assert_float_equal(anchors[known[i].count - 1][1], last, 1e-6f);
    }
}

static void faces_are_those_of_mediapipe(void **state)
{
    static float boxes[896][16], scores[896], anchors[896][2];
    static mts_kit_detection found[896];
    const mts_region letterbox = {.middle = {300, 235.5f}, .sides = {600, 600}};
    mts_kit_ssd ssd;
    mts_kit_map map;
    (void)state;
    for (size_t i = 0; i < 896; i++) {
        scores[i] = -20.0f;
    }
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        scores[candidates[i].anchor] = candidates[i].score;
        memcpy(boxes[candidates[i].anchor], candidates[i].box, sizeof boxes[0]);
    }
    assert_int_equal(mts_kit_ssd_default(MTS_KIT_SSD_FACE, &ssd), MTS_STATUS_OK);
    assert_int_equal(mts_kit_anchors(&ssd, anchors[0], 896), 896);
    uint32_t count = mts_kit_ssd_decode(&ssd, anchors[0], boxes[0], scores, found);
    assert_int_equal(count, sizeof candidates / sizeof candidates[0]);
    count = mts_kit_nms(&ssd.nms, found, count);
    assert_int_equal(count, sizeof faces / sizeof faces[0]);
    mts_kit_map_of_region(&letterbox, 600, 471, 128, 128, &map);
    mts_kit_detections_map(&map, found, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_float_equal(found[i].score, faces[i].score, 1e-6f);
        assert_float_equal(found[i].left, faces[i].edges[0], 1e-3f);
        assert_float_equal(found[i].top, faces[i].edges[1], 1e-3f);
        assert_float_equal(found[i].right, faces[i].edges[2], 1e-3f);
        assert_float_equal(found[i].bottom, faces[i].edges[3], 1e-3f);
        for (uint32_t p = 0; p < 6; p++) {
            assert_float_equal(found[i].points[p][0], faces[i].points[p][0], 1e-3f);
            assert_float_equal(found[i].points[p][1], faces[i].points[p][1], 1e-3f);
        }
    }
}

static void options_out_of_range_find_nothing(void **state)
{
    static float anchors[896][2], boxes[896][16], scores[896];
    static mts_kit_detection found[896];
    mts_kit_ssd ssd;
    (void)state;
    assert_int_equal(mts_kit_ssd_default((mts_kit_ssd_kind)3, &ssd), MTS_STATUS_INVALID_ARGUMENT);
    assert_int_equal(mts_kit_ssd_default(MTS_KIT_SSD_FACE, &ssd), MTS_STATUS_OK);
    const mts_kit_ssd good = ssd;
    ssd.steps[2] = 0;
    assert_int_equal(mts_kit_anchors(&ssd, anchors[0], 896), 0);
    assert_int_equal(mts_kit_ssd_decode(&ssd, anchors[0], boxes[0], scores, found), 0);
    ssd = good;
    ssd.layers = MTS_KIT_LAYERS_MAX + 1;
    assert_int_equal(mts_kit_anchors(&ssd, anchors[0], 896), 0);
    ssd = good;
    ssd.points = MTS_KIT_POINTS_MAX + 1;
    assert_int_equal(mts_kit_ssd_decode(&ssd, anchors[0], boxes[0], scores, found), 0);
    ssd = good;
    ssd.size = 8;
    assert_int_equal(mts_kit_anchors(&ssd, anchors[0], 896), 0);
    ssd = good;
    ssd.width = ssd.height = 16384; /* more anchors than there may be */
    assert_int_equal(mts_kit_anchors(&ssd, NULL, 0), 0);
    mts_kit_nms_options nms = {.size = sizeof nms, .overlap = NAN};
    assert_int_equal(mts_kit_nms(&nms, found, 3), 0);
}

static void numbers_that_are_not_finite_are_no_candidates(void **state)
{
    static float anchors[896][2], boxes[896][16], scores[896];
    static mts_kit_detection found[896];
    static const float odd[4] = {NAN, INFINITY, -INFINITY, 3e38f};
    mts_kit_ssd ssd;
    (void)state;
    assert_int_equal(mts_kit_ssd_default(MTS_KIT_SSD_FACE, &ssd), MTS_STATUS_OK);
    (void)mts_kit_anchors(&ssd, anchors[0], 896);
    for (size_t i = 0; i < 896; i++) {
        boxes[i][2] = boxes[i][3] = 10.0f;
        boxes[i][i % 16] = odd[i % 3];
        scores[i] = 5.0f;
    }
    assert_int_equal(mts_kit_ssd_decode(&ssd, anchors[0], boxes[0], scores, found), 0);
    memset(boxes, 0, sizeof boxes); /* no area */
    assert_int_equal(mts_kit_ssd_decode(&ssd, anchors[0], boxes[0], scores, found), 0);
    for (size_t i = 0; i < 896; i++) {
        boxes[i][2] = boxes[i][3] = 10.0f;
        scores[i] = NAN;
    }
    assert_int_equal(mts_kit_ssd_decode(&ssd, anchors[0], boxes[0], scores, found), 0);
    scores[7] = INFINITY; /* a logit that leaves no doubt */
    scores[9] = -INFINITY;
    assert_int_equal(mts_kit_ssd_decode(&ssd, anchors[0], boxes[0], scores, found), 1);
    assert_int_equal(found[0].index, 7);
    assert_true(found[0].score == 1.0f);
}

static void an_infinite_score_is_no_candidate(void **state)
{
    static const float scores[4] = {0, INFINITY, 0, 0.9f};
    static const float boxes[8] = {0.1f, 0.1f, 0.5f, 0.5f, 0.2f, 0.2f, 0.5f, 0.5f};
    mts_kit_detection found[2];
    (void)state;
    assert_int_equal(mts_kit_corners_decode(scores, boxes, 2, 2, 0.5f, found), 1);
    assert_int_equal(found[0].index, 1);
}

static void labels_suppress_each_other_only_if_wanted(void **state)
{
    const mts_kit_detection same[3] = {
        {.right = 10, .bottom = 10, .score = 0.5f, .label = 1, .index = 0},
        {.right = 10, .bottom = 10, .score = 0.9f, .label = 2, .index = 1},
        {.right = 10, .bottom = 10, .score = 0.9f, .label = 2, .index = 2},
    };
    mts_kit_detection found[3];
    mts_kit_nms_options options = {.size = sizeof options, .overlap = 0.5f};
    (void)state;
    memcpy(found, same, sizeof found);
    assert_int_equal(mts_kit_nms(&options, found, 3), 2);
    assert_int_equal(found[0].index, 1); /* of equal scores the smaller index */
    assert_int_equal(found[1].index, 0);
    memcpy(found, same, sizeof found);
    options.across_labels = 1;
    assert_int_equal(mts_kit_nms(&options, found, 3), 1);
    assert_int_equal(mts_kit_nms(NULL, NULL, 0), 0);
    /* of a program whose header had no across_labels; of one with a newer header */
    options.size = offsetof(mts_kit_nms_options, across_labels) / sizeof(size_t) * sizeof(size_t);
    options.across_labels = 1;
    memcpy(found, same, sizeof found);
    assert_int_equal(mts_kit_nms(&options, found, 3), 2);
    options.size = sizeof options + sizeof(size_t);
    assert_int_equal(mts_kit_nms(&options, found, 3), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anchors_lie_where_mediapipe_has_them),
        cmocka_unit_test(faces_are_those_of_mediapipe),
        cmocka_unit_test(options_out_of_range_find_nothing),
        cmocka_unit_test(numbers_that_are_not_finite_are_no_candidates),
        cmocka_unit_test(an_infinite_score_is_no_candidate),
        cmocka_unit_test(labels_suppress_each_other_only_if_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
