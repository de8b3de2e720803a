/*
 * test_yolo.c: heads of the YOLO family, beside Ultralytics.
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

/* Random predictions [4 + 3][24]: made by tests/kit/expected.py yolo. */
static const float v8[7][24] = {
    {221.0000f, 221.6000f, 163.1000f, 117.2000f, 70.80000f, 136.7000f, 141.7000f, 69.10000f,
     69.80000f, 259.8000f, 190.5000f, 106.9000f, 147.0000f, 254.8000f, 239.5000f, 228.8000f,
     138.5000f, 158.6000f, 195.3000f, 72.20000f, 171.1000f, 114.3000f, 235.9000f, 72.80000f},
    {195.8000f, 234.0000f, 105.5000f, 239.1000f, 234.4000f, 63.70000f, 201.5000f, 60.20000f,
     160.7000f, 147.3000f, 100.7000f, 125.0000f, 221.2000f, 123.3000f, 89.80000f, 199.7000f,
     149.7000f, 219.8000f, 107.1000f, 124.0000f, 220.0000f, 161.4000f, 161.3000f, 107.2000f},
    {61.50000f, 153.3000f, 68.60000f, 144.5000f, 96.80000f, 155.1000f, 99.90000f, 153.6000f,
     115.6000f, 84.00000f, 134.1000f, 127.4000f, 128.4000f, 106.4000f, 82.20000f, 124.1000f,
     70.70000f, 129.2000f, 123.5000f, 97.70000f, 139.9000f, 79.40000f, 99.00000f, 139.8000f},
    {98.00000f, 131.3000f, 121.3000f, 154.1000f, 159.2000f, 132.4000f, 140.9000f, 75.30000f,
     131.3000f, 144.8000f, 100.1000f, 115.3000f, 107.9000f, 155.9000f, 91.70000f, 100.2000f,
     60.10000f, 102.0000f, 123.1000f, 153.5000f, 152.4000f, 92.70000f, 158.9000f, 78.80000f},
    {0.8230000f,   0.1570000f, 0.4050000f, 0.07300000f, 0.8580000f, 0.8290000f, 0.1400000f, 0.5270000f,
     0.2580000f,   0.4920000f, 0.5530000f, 0.1060000f,  0.8640000f, 0.2790000f, 0.4470000f, 0.05700000f,
     0.003000000f, 0.1950000f, 0.3420000f, 0.9280000f,  0.8900000f, 0.4810000f, 0.4550000f, 0.6670000f},
    {0.8590000f, 0.3370000f,   0.7940000f,  0.3990000f, 0.5940000f, 0.7370000f, 0.5010000f,  0.6910000f,
     0.6970000f, 0.006000000f, 0.03900000f, 0.1490000f, 0.2140000f, 0.2030000f, 0.04900000f, 0.2170000f,
     0.6010000f, 0.8860000f,   0.3500000f,  0.3660000f, 0.4170000f, 0.6800000f, 0.7850000f,  0.9410000f},
    {0.3760000f,  0.7070000f, 0.3420000f, 0.8240000f,  0.2310000f,  0.8710000f, 0.5050000f, 0.7250000f,
     0.5350000f,  0.3160000f, 0.4940000f, 0.05000000f, 0.04300000f, 0.5300000f, 0.4770000f, 0.8330000f,
     0.02000000f, 0.5570000f, 0.4910000f, 0.5980000f,  0.7300000f,  0.5250000f, 0.5630000f, 0.4920000f},
};

/* What Ultralytics leaves of them with conf_thres 0.5 and iou_thres 0.45: edges, score, class. */
static const float left[][6] = {
    {2.900002f, 67.80000f, 142.7000f, 146.6000f, 0.9410000f, 1.000000f},
    {23.35000f, 47.25000f, 121.0500f, 200.7500f, 0.9280000f, 0.000000f},
    {101.1500f, 143.8000f, 241.0500f, 296.2000f, 0.8900000f, 0.000000f},
    {94.00001f, 168.8000f, 223.2000f, 270.8000f, 0.8860000f, 1.000000f},
    {59.14999f, -2.499996f, 214.2500f, 129.9000f, 0.8710000f, 2.000000f},
    {190.2500f, 146.8000f, 251.7500f, 244.8000f, 0.8590000f, 1.000000f},
    {22.40000f, 154.8000f, 119.2000f, 314.0000f, 0.8580000f, 0.000000f},
    {166.7500f, 149.6000f, 290.8500f, 249.8000f, 0.8330000f, 2.000000f},
    {44.95000f, 162.0500f, 189.4500f, 316.1500f, 0.8240000f, 2.000000f},
    {128.8000f, 44.85000f, 197.4000f, 166.1500f, 0.7940000f, 1.000000f},
    {186.4000f, 81.85001f, 285.4000f, 240.7500f, 0.7850000f, 1.000000f},
    {-7.700005f, 22.55000f, 145.9000f, 97.85001f, 0.7250000f, 2.000000f},
    {12.00000f, 95.05000f, 127.6000f, 226.3500f, 0.6970000f, 1.000000f},
    {74.60001f, 115.0500f, 154.0000f, 207.7500f, 0.6800000f, 1.000000f},
    {103.1500f, 119.6500f, 173.8500f, 179.7500f, 0.6010000f, 1.000000f},
    {123.4500f, 50.65000f, 257.5500f, 150.7500f, 0.5530000f, 0.000000f},
    {201.6000f, 45.35001f, 308.0000f, 201.2500f, 0.5300000f, 2.000000f},
    {91.75000f, 131.0500f, 191.6500f, 271.9500f, 0.5050000f, 2.000000f},
};

#define LEFT (sizeof left / sizeof left[0])

static void expect_left(const mts_kit_detection *found, uint32_t count)
{
    assert_int_equal(count, LEFT);
    for (uint32_t i = 0; i < count; i++) {
        assert_float_equal(found[i].left * 320, left[i][0], 1e-3f);
        assert_float_equal(found[i].top * 320, left[i][1], 1e-3f);
        assert_float_equal(found[i].right * 320, left[i][2], 1e-3f);
        assert_float_equal(found[i].bottom * 320, left[i][3], 1e-3f);
        assert_float_equal(found[i].score, left[i][4], 1e-6f);
        assert_int_equal(found[i].label, (uint32_t)left[i][5]);
    }
}

static void boxes_are_those_of_ultralytics(void **state)
{
    mts_kit_yolo yolo = {.size = sizeof yolo,
                         .kind = MTS_KIT_YOLO_V8,
                         .classes = 3,
                         .rows = 24,
                         .width = 320,
                         .height = 320,
                         .least_score = 0.5f};
    mts_kit_detection found[24];
    (void)state;
    expect_left(found, mts_kit_nms(NULL, found, mts_kit_yolo_decode(&yolo, v8[0], found)));

    float v5[24][8]; /* the same numbers row by row, surely objects */
    for (size_t row = 0; row < 24; row++) {
        for (size_t k = 0; k < 7; k++) {
            v5[row][k < 4 ? k : k + 1] = v8[k][row];
        }
        v5[row][4] = 1.0f;
    }
    yolo.kind = MTS_KIT_YOLO_V5;
    expect_left(found, mts_kit_nms(NULL, found, mts_kit_yolo_decode(&yolo, v5[0], found)));

    yolo.kind = MTS_KIT_YOLO_END_TO_END; /* what is left, as such a network gives it */
    yolo.rows = LEFT;
    expect_left(found, mts_kit_yolo_decode(&yolo, left[0], found));
}

/* YOLOX counts from the cells of three grids; FastestDet from those of one. */
static void cells_have_their_places(void **state)
{
    static float values[(16 + 4 + 1) * 6];
    mts_kit_detection found[21];
    mts_kit_yolo yolo = {.size = sizeof yolo,
                         .kind = MTS_KIT_YOLO_X,
                         .classes = 1,
                         .rows = 21,
                         .width = 32,
                         .height = 32,
                         .least_score = 0.5f};
    (void)state;
    for (size_t row = 0; row < 21; row++) {
        values[row * 6] = values[row * 6 + 1] = 0.5f; /* in the middle of the cell, as large as it: e^0 */
        values[row * 6 + 4] = values[row * 6 + 5] = 0.9f;
    }
    assert_int_equal(mts_kit_yolo_decode(&yolo, values, found), 21);
    assert_float_equal(found[5].left, 0.25f, 1e-6f); /* second row, second column of four */
    assert_float_equal(found[5].bottom, 0.5f, 1e-6f);
    assert_float_equal(found[18].left, 0.0f, 1e-6f); /* of the grid of two: second row, first column */
    assert_float_equal(found[18].top, 0.5f, 1e-6f);
    assert_float_equal(found[20].right, 1.0f, 1e-6f);
    assert_float_equal(found[0].score, 0.81f, 1e-6f);

    static const float cells[7][4] = {{0.9f, 0.9f, 0.9f, 0.9f}, {0}, {0}, {0}, {0}, {0.1f, 0.1f, 0.1f, 0.1f},
                                      {0.8f, 0.8f, 0.8f, 0.8f}};
    yolo.kind = MTS_KIT_YOLO_FASTEST;
    yolo.classes = 2;
    yolo.rows = 4;
    assert_int_equal(mts_kit_yolo_decode(&yolo, cells[0], found), 4);
    assert_float_equal((found[3].left + found[3].right) / 2, 0.5f, 1e-6f); /* tanh 0 plus column 1 of two */
    assert_float_equal(found[3].right - found[3].left, 0.5f, 1e-6f);       /* the logistic function of 0 */
    assert_float_equal(found[3].score, powf(0.9f, 0.6f) * powf(0.8f, 0.4f), 1e-6f);
    assert_int_equal(found[3].label, 1);
}

static void shapes_tell_the_kind(void **state)
{
    static const struct {
        int64_t dims[4];
        uint32_t rank;
        mts_status status;
        mts_kit_yolo_kind kind;
        uint32_t classes, rows;
    } shapes[] = {
        {{1, 84, 8400}, 3, MTS_STATUS_OK, MTS_KIT_YOLO_V8, 80, 8400},
        {{1, 25200, 85}, 3, MTS_STATUS_OK, MTS_KIT_YOLO_V5, 80, 25200},
        {{1, 8400, 85}, 3, MTS_STATUS_OK, MTS_KIT_YOLO_X, 80, 8400},
        {{1, 300, 6}, 3, MTS_STATUS_OK, MTS_KIT_YOLO_END_TO_END, 0, 300},
        {{1, 85, 22, 22}, 4, MTS_STATUS_OK, MTS_KIT_YOLO_FASTEST, 80, 484},
        {{1, 1000}, 2, MTS_STATUS_UNSUPPORTED, MTS_KIT_YOLO_V8, 0, 0},
        {{2, 84, 8400}, 3, MTS_STATUS_UNSUPPORTED, MTS_KIT_YOLO_V8, 0, 0},
        {{1, 8401, 85}, 3, MTS_STATUS_UNSUPPORTED, MTS_KIT_YOLO_V8, 0, 0},
        {{1, 4, 8400}, 3, MTS_STATUS_UNSUPPORTED, MTS_KIT_YOLO_V8, 0, 0},
        {{1, 84, INT64_MAX}, 3, MTS_STATUS_UNSUPPORTED, MTS_KIT_YOLO_V8, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        mts_kit_yolo yolo = {0};
        mts_tensor output = {.rank = shapes[i].rank};
        memcpy(output.dims, shapes[i].dims, sizeof shapes[i].dims);
        assert_int_equal(mts_kit_yolo_guess(&output, 640, 640, &yolo), shapes[i].status);
        assert_int_equal(yolo.kind, shapes[i].kind);
        assert_int_equal(yolo.classes, shapes[i].classes);
        assert_int_equal(yolo.rows, shapes[i].rows);
    }
}

static void odd_numbers_are_no_boxes(void **state)
{
    float values[6] = {10, 10, NAN, 5, 1, 1};
    mts_kit_detection found[1];
    mts_kit_yolo yolo = {
        .size = sizeof yolo, .kind = MTS_KIT_YOLO_V5, .classes = 1, .rows = 1, .width = 32, .height = 32};
    (void)state;
    assert_int_equal(mts_kit_yolo_decode(&yolo, values, found), 0);
    values[2] = 5;
    values[5] = NAN;
    assert_int_equal(mts_kit_yolo_decode(&yolo, values, found), 0);
    values[5] = 1;
    assert_int_equal(mts_kit_yolo_decode(&yolo, values, found), 1);
    yolo.kind = MTS_KIT_YOLO_END_TO_END;
    values[2] = values[3] = 20;
    values[5] = -3e30f; /* a class that cannot be */
    assert_int_equal(mts_kit_yolo_decode(&yolo, values, found), 1);
    assert_int_equal(found[0].label, 0);
    yolo.kind = MTS_KIT_YOLO_X; /* more rows than the grids of 32 x 32 pixels have */
    yolo.rows = 0;
    assert_int_equal(mts_kit_yolo_decode(&yolo, values, found), 0);
    yolo.size = 0;
    assert_int_equal(mts_kit_yolo_decode(&yolo, values, found), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_are_those_of_ultralytics),
        cmocka_unit_test(cells_have_their_places),
        cmocka_unit_test(shapes_tell_the_kind),
        cmocka_unit_test(odd_numbers_are_no_boxes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
