/*
 * Faces: what becomes of a detector's numbers, however odd, and crops that stay inside of every frame.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kit/faces.h"
#include "kit/frames.h"

#define MOST 8000

typedef struct candidates {
    uint32_t count;
    float scores[MOST][2];
    float boxes[MOST][4];
    cli_face_box faces[MOST];
} candidates;

static candidates c;

static int clear(void **state)
{
    (void)state;
    memset(&c, 0, sizeof c);
    return 0;
}

static void add(float score, float left, float top, float right, float bottom)
{
    const float box[4] = {left, top, right, bottom};
    assert_true(c.count < MOST);
    c.scores[c.count][0] = 1.0f - score;
    c.scores[c.count][1] = score;
    memcpy(c.boxes[c.count++], box, sizeof box);
}

static uint32_t decoded(void)
{
    const cli_face_rule rule = cli_face_rule_default();
    return cli_faces_decode(&rule, c.scores[0], c.boxes[0], c.count, c.faces);
}

static void only_candidates_with_the_least_score_are_faces_the_best_first(void **state)
{
    (void)state;
    add(0.69f, 0.1f, 0.1f, 0.2f, 0.2f);
    add(0.7f, 0.3f, 0.3f, 0.4f, 0.4f);
    add(0.9f, 0.5f, 0.5f, 0.6f, 0.6f);
    add(0.8f, 0.7f, 0.7f, 0.8f, 0.8f);
    assert_int_equal(decoded(), 3);
    assert_int_equal(c.faces[0].index, 2);
    assert_int_equal(c.faces[1].index, 3);
    assert_int_equal(c.faces[2].index, 1);
}

static void of_overlapping_candidates_the_best_stays(void **state)
{
    (void)state;
    add(0.8f, 0.10f, 0.10f, 0.30f, 0.30f);
    add(0.9f, 0.11f, 0.11f, 0.31f, 0.31f);
    add(0.95f, 0.25f, 0.25f, 0.45f, 0.45f); /* reaches into the others, by little */
    assert_int_equal(decoded(), 2);
    assert_int_equal(c.faces[0].index, 2);
    assert_int_equal(c.faces[1].index, 1);
}

static void what_only_a_suppressed_candidate_overlaps_stays(void **state)
{
    (void)state;
    add(0.9f, 0.00f, 0.0f, 0.20f, 0.2f);
    add(0.8f, 0.06f, 0.0f, 0.26f, 0.2f);  /* 0.54 with the first and with the third */
    add(0.75f, 0.12f, 0.0f, 0.32f, 0.2f); /* 0.25 with the first */
    assert_int_equal(decoded(), 2);
    assert_int_equal(c.faces[0].index, 0);
    assert_int_equal(c.faces[1].index, 2);
}

static void of_equal_scores_the_first_candidate_wins(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 50; i++) { /* pairs, both alike */
        const uint32_t pair = i / 2;
        const float at = (float)pair / 25.0f;
        add(0.9f, at, 0.5f, at + 0.03f, 0.6f);
    }
    assert_int_equal(decoded(), 25);
    for (uint32_t i = 0; i < 25; i++) {
        assert_int_equal(c.faces[i].index, 2 * i);
    }
}

static void numbers_that_are_none_are_no_faces(void **state)
{
    (void)state;
    const float odd[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        add(odd[i], 0.1f, 0.1f, 0.2f, 0.2f);
        add(0.9f, odd[i], 0.1f, 0.2f, 0.2f);
        add(0.9f, 0.1f, odd[i], 0.2f, 0.2f);
        add(0.9f, 0.1f, 0.1f, odd[i], 0.2f);
        add(0.9f, 0.1f, 0.1f, 0.2f, odd[i]);
    }
    assert_int_equal(decoded(), 0);
    add(0.9f, 0.1f, 0.1f, 0.2f, 0.2f);
    assert_int_equal(decoded(), 1);
}

static void boxes_outside_of_the_frame_or_empty_are_no_faces_and_those_that_reach_out_are(void **state)
{
    (void)state;
    add(0.9f, 1.0f, 0.1f, 1.2f, 0.2f);
    add(0.9f, -0.2f, 0.1f, 0.0f, 0.2f);
    add(0.9f, 0.1f, 1.1f, 0.2f, 1.2f);
    add(0.9f, 0.1f, -1.1f, 0.2f, -0.2f);
    add(0.9f, 0.2f, 0.1f, 0.2f, 0.2f);
    add(0.9f, 0.3f, 0.1f, 0.2f, 0.2f);
    add(0.9f, 0.1f, 0.3f, 0.2f, 0.2f);
    assert_int_equal(decoded(), 0);
    add(0.9f, -0.1f, -0.1f, 0.1f, 0.1f);
    add(0.9f, 0.9f, 0.9f, 1.3f, 1.3f);
    add(0.9f, -1e30f, -1e30f, 1e30f, 1e30f);
    assert_int_equal(decoded(), 3);
}

static void thousands_of_boxes_on_one_face_are_one_and_thousands_apart_are_all(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MOST; i++) {
        const float away = (float)(i % 89) * 1e-4f;
        add(0.8f + (float)(i * 7919 % MOST) * 1e-5f, 0.4f + away, 0.4f - away, 0.6f + away, 0.6f);
    }
    assert_int_equal(decoded(), 1);
    for (uint32_t i = 0; i < MOST; i++) {
        assert_true(c.faces[0].score >= c.scores[i][1]);
    }
    memset(&c, 0, sizeof c);
    for (uint32_t i = 0; i < 4420; i++) {
        const float x = (float)(i % 70) / 70.0f;
        const uint32_t row = i / 70;
        const float y = (float)row / 70.0f;
        add(0.8f, x, y, x + 0.012f, y + 0.012f);
    }
    assert_int_equal(decoded(), 4420);
}

static void without_candidates_there_are_no_faces(void **state)
{
    (void)state;
    const cli_face_rule rule = cli_face_rule_default();
    assert_int_equal(cli_faces_decode(&rule, NULL, NULL, 0, NULL), 0);
    cli_faces_sort(NULL, 0);
    add(0.1f, 0.1f, 0.1f, 0.2f, 0.2f);
    assert_int_equal(decoded(), 0);
}

static void the_largest_face_comes_first(void **state)
{
    (void)state;
    add(0.95f, 0.0f, 0.0f, 0.1f, 0.1f);
    add(0.90f, 0.2f, 0.0f, 0.5f, 0.3f);
    add(0.85f, 0.6f, 0.0f, 0.7f, 0.1f);
    add(0.80f, 0.6f, 0.5f, 0.8f, 0.7f);
    const uint32_t count = decoded();
    cli_faces_sort(c.faces, count);
    assert_int_equal(count, 4);
    assert_int_equal(c.faces[0].index, 1);
    assert_int_equal(c.faces[1].index, 3);
}

static void a_crop_is_a_square_around_the_middle_of_the_box(void **state)
{
    (void)state;
    const mts_frame frame = {.size = sizeof frame, .width = 600, .height = 400};
    const cli_face_box box = {.left = 0.25f,
                              .top = 0.25f,
                              .right = 0.35f,
                              .bottom = 0.5f,
                              .score = 0.9f}; /* 60 x 100 around 180, 150 */
    const cli_face_crop crop = cli_face_crop_of(&frame, &box, 1.1);
    assert_int_equal(crop.width, 110);
    assert_int_equal(crop.height, 110);
    assert_int_equal(crop.x, 125);
    assert_int_equal(crop.y, 95);
    const cli_face_box corner = {.left = -0.05f, .top = 0.9f, .right = 0.05f, .bottom = 1.1f, .score = 0.9f};
    const cli_face_crop moved = cli_face_crop_of(&frame, &corner, 1.5);
    assert_int_equal(moved.width, 120);
    assert_int_equal(moved.height, 120);
    assert_int_equal(moved.x, 0);
    assert_int_equal(moved.y, 280);
    const cli_face_box large = {.left = 0.1f, .top = 0.1f, .right = 0.9f, .bottom = 0.9f, .score = 0.9f};
    const cli_face_crop cut = cli_face_crop_of(&frame, &large, 1.4); /* 672 pixels */
    assert_int_equal(cut.width, 600);
    assert_int_equal(cut.height, 400);
    assert_int_equal(cut.x, 0);
    assert_int_equal(cut.y, 0);
}

static void every_crop_lies_inside_of_every_frame_however_it_is_turned(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 20000; i++) {
        mts_frame frame = {.size = sizeof frame, .width = (uint32_t)rand() % 50 + 1};
        frame.height = (uint32_t)rand() % 50 + 1;
        mts_region *part = &frame.region;
        if (rand() % 2) {
            part->x = (uint32_t)rand() % frame.width;
            part->y = (uint32_t)rand() % frame.height;
            part->width = (uint32_t)rand() % (frame.width - part->x) + 1;
            part->height = (uint32_t)rand() % (frame.height - part->y) + 1;
        }
        part->rotation = (mts_rotation)(rand() % 4 * 90);
        part->mirror = rand() % 2 ? 1 : 0;
        cli_face_box box = {.left = (float)rand() / (float)RAND_MAX * 2 - 1, .score = 1};
        box.top = (float)rand() / (float)RAND_MAX * 2 - 1;
        box.right = box.left + (float)rand() / (float)RAND_MAX + 1e-6f;
        box.bottom = box.top + (rand() % 9 == 0 ? 1e20f : (float)rand() / (float)RAND_MAX + 1e-6f);
        const cli_face_crop crop = cli_face_crop_of(&frame, &box, 1.0 + rand() % 5 * 0.1);
        const mts_region region = cli_face_region(&frame, &crop);
        const uint32_t right = part->width ? part->x + part->width : frame.width;
        const uint32_t bottom = part->width ? part->y + part->height : frame.height;
        assert_true(region.width >= 1 && region.height >= 1);
        assert_in_range(region.x, part->x, right - region.width);
        assert_in_range(region.y, part->y, bottom - region.height);
    }
}

/* The crop of the picture that is shown has the same pixels as the region of the frame. */
static void a_region_shows_the_pixels_of_its_crop(void **state)
{
    (void)state;
    unsigned char pixels[9 * 7 * 3];
    char error[CLI_ERROR];
    for (size_t i = 0; i < sizeof pixels; i++) {
        pixels[i] = (unsigned char)i;
    }
    for (int i = 0; i < 16; i++) {
        mts_frame frame = {.size = sizeof frame, .data = pixels, .width = 9, .height = 7};
        cli_image whole = {0};
        cli_image part = {0};
        if (i >= 8) {
            frame.region = (mts_region){.x = 1, .y = 1, .width = 7, .height = 6};
        }
        frame.region.rotation = (mts_rotation)(i % 4 * 90);
        frame.region.mirror = i / 4 % 2 ? 1 : 0;
        const cli_face_crop crop = {.x = 1, .y = 2, .width = 3, .height = 4};
        assert_true(cli_frame_to_image(&frame, &whole, error));
        frame.region = cli_face_region(&frame, &crop);
        assert_true(cli_frame_to_image(&frame, &part, error));
        assert_int_equal(part.width, 3);
        assert_int_equal(part.height, 4);
        for (uint32_t y = 0; y < 4; y++) {
            assert_memory_equal(part.pixels + (size_t)9 * y,
                                whole.pixels + 3 * ((size_t)(y + 2) * whole.width + 1), 9);
        }
        cli_image_release(&whole);
        cli_image_release(&part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(only_candidates_with_the_least_score_are_faces_the_best_first, clear),
        cmocka_unit_test_setup(of_overlapping_candidates_the_best_stays, clear),
        cmocka_unit_test_setup(what_only_a_suppressed_candidate_overlaps_stays, clear),
        cmocka_unit_test_setup(of_equal_scores_the_first_candidate_wins, clear),
        cmocka_unit_test_setup(numbers_that_are_none_are_no_faces, clear),
        cmocka_unit_test_setup(boxes_outside_of_the_frame_or_empty_are_no_faces_and_those_that_reach_out_are,
                               clear),
        cmocka_unit_test_setup(thousands_of_boxes_on_one_face_are_one_and_thousands_apart_are_all, clear),
        cmocka_unit_test_setup(without_candidates_there_are_no_faces, clear),
        cmocka_unit_test_setup(the_largest_face_comes_first, clear),
        cmocka_unit_test_setup(a_crop_is_a_square_around_the_middle_of_the_box, clear),
        cmocka_unit_test_setup(every_crop_lies_inside_of_every_frame_however_it_is_turned, clear),
        cmocka_unit_test_setup(a_region_shows_the_pixels_of_its_crop, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
