/*
 * The cascade on the photos: as many faces as there are, batches, turned frames, and what it refuses.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "kit/cascade.h"
#include "kit/frames.h"
#include "kit/image.h"
#include "mts/mtsc.h"
#include "support/data.h"
#include "support/second_device.h"

#define WORK MTS_BINARY_DIR "/cascade"
#define SAMPLE MTS_SOURCE_DIR "/apps/samples/faces/"
#define NEAR 1e-3f

static char reason[512];
static mts_runtime *runtime;
static size_t allocations; /* of the run-time */

static void *count_alloc(void *context, size_t size)
{
    (void)context;
    allocations++;
    return malloc(size);
}

static void count_free(void *context, void *memory)
{
    (void)context;
    free(memory);
}

/* ---- bundles ---- */

static void file_copy(const char *from, const char *to)
{
    char error[CLI_ERROR];
    size_t size = 0;
    unsigned char *data = cli_file_read(from, 1 << 24, &size, error);
    if (!data || !cli_file_write(to, data, size, error)) {
        fail_msg("%s", error);
    }
    free(data);
}

/* A task list of the sample with the batch changed, beside copies of the models, compiled. */
static void bundle_make(const char *list, uint32_t batch, const char *bundle)
{
    static const char *const models[] = {"version-RFB-320", "gender_predictor", "mask_detector",
                                         "pose_estimation", "face_landmarker_pts5_net1"};
    char error[CLI_ERROR];
    char from[DATA_PATH];
    char to[1200];
    mtsc_options options;
    mtsc_compiler *compiler = NULL;
    size_t size = 0;
    assert_true(mkdir(WORK, 0777) == 0 || errno == EEXIST);
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        (void)snprintf(to, sizeof to, "models/face/%s.onnx", models[i]);
        (void)data_path(MTS_SOURCE_DIR, to, from);
        (void)snprintf(to, sizeof to, WORK "/%s.onnx", models[i]);
        file_copy(from, to);
    }
    (void)snprintf(to, sizeof to, SAMPLE "%s.json", list);
    char *text = (char *)cli_file_read(to, 1 << 20, &size, error);
    assert_non_null(text);
    for (char *at = strstr(text, "[4,"); at; at = strstr(at + 1, "[4,")) {
        at[1] = (char)('0' + batch);
    }
    assert_true(cli_file_write(WORK "/list.json", text, size, error));
    free(text);
    mtsc_options_default(&options);
    options.error_text = reason;
    options.error_size = sizeof reason;
    assert_int_equal(mtsc_compiler_create(&options, &compiler), MTS_STATUS_OK);
    if (mtsc_compiler_add_config(compiler, WORK "/list.json") != MTS_STATUS_OK ||
        mtsc_compiler_write(compiler, bundle, NULL) != MTS_STATUS_OK) {
        fail_msg("%s", reason);
    }
    mtsc_compiler_destroy(&compiler);
}

static int make_all(void **state)
{
    mts_runtime_options options;
    (void)state;
    bundle_make("detector", 1, WORK "/detector.mtsb");
    bundle_make("faces", 4, WORK "/faces4.mtsb");
    bundle_make("faces", 2, WORK "/faces2.mtsb");
    mts_runtime_options_default(&options);
    options.device = second_device_id("opencl:0");
    options.error_text = reason;
    options.error_size = sizeof reason;
    options.alloc = count_alloc;
    options.free = count_free;
    if (mts_runtime_create(&options, &runtime) != MTS_STATUS_OK) {
        options.device = "reference";
        assert_int_equal(mts_runtime_create(&options, &runtime), MTS_STATUS_OK);
    }
    return 0;
}

static int release_all(void **state)
{
    (void)state;
    mts_runtime_destroy(&runtime);
    return 0;
}

static cli_cascade *cascade_of(const char *faces, mts_strategy strategy)
{
    char error[CLI_ERROR] = "";
    mts_session_options session;
    mts_session_options_default(&session);
    session.strategy = strategy;
    const cli_cascade_options options = {.detector = WORK "/detector.mtsb",
                                         .faces = faces,
                                         .rule = cli_face_rule_default(),
                                         .session = &session};
    cli_cascade *cascade = cli_cascade_create(runtime, &options, reason, error);
    if (!cascade) {
        fail_msg("%s", error);
    }
    return cascade;
}

/* ---- pictures ---- */

static mts_frame photo_read(const char *name, cli_image *image)
{
    char path[DATA_PATH];
    char relative[64];
    char error[CLI_ERROR];
    (void)snprintf(relative, sizeof relative, "photos/%s", name);
    if (!cli_image_read(data_path(MTS_SOURCE_DIR, relative, path), image, error)) {
        fail_msg("%s", error);
    }
    mts_frame frame;
    mts_frame_default(&frame);
    frame.data = image->pixels;
    frame.width = image->width;
    frame.height = image->height;
    return frame;
}

static uint32_t run(cli_cascade *cascade, const mts_frame *frame, const cli_face **faces)
{
    char error[CLI_ERROR] = "";
    uint32_t count = 0;
    if (!cli_cascade_run(cascade, frame, faces, &count, error)) {
        fail_msg("%s", error);
    }
    return count;
}

static void assert_close(const float *a, const float *b, size_t count, float scale)
{
    for (size_t i = 0; i < count; i++) {
        if (!(fabsf(a[i] - b[i]) <= NEAR * scale)) {
            fail_msg("number %zu: %g and %g", i, (double)a[i], (double)b[i]);
        }
    }
}

static void assert_faces_close(const cli_face *a, const cli_face *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_close(&a[i].box.left, &b[i].box.left, 5, 1);
        assert_close(a[i].gender, b[i].gender, 2, 1);
        assert_close(a[i].mask, b[i].mask, 2, 1);
        assert_close(a[i].pose, b[i].pose, 3, 90);
        assert_close(a[i].points[0], b[i].points[0], 2 * (size_t)CLI_FACE_POINTS, 1);
    }
}

/* ---- tests ---- */

static void the_photos_have_the_faces_that_they_show(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t faces;
    } photos[] = {{"apollo11_crew.jpg", 3},
                  {"bike_riders.jpg", 2},
                  {"astronaut.png", 1},
                  {"dog-human.jpg", 1},
                  {"sportscar.jpg", 0}};
    cli_cascade *cascade = cascade_of(WORK "/faces4.mtsb", MTS_STRATEGY_COMPACT);
    for (size_t i = 0; i < sizeof photos / sizeof photos[0]; i++) {
        cli_image image;
        const cli_face *faces = NULL;
        const mts_frame frame = photo_read(photos[i].name, &image);
        assert_int_equal(run(cascade, &frame, &faces), photos[i].faces);
        assert_int_equal(cli_cascade_last(cascade).batches, photos[i].faces > 0);
        for (uint32_t f = 0; f < photos[i].faces; f++) {
            assert_close(&(float){faces[f].gender[0] + faces[f].gender[1]}, &(float){1}, 1, 1);
            assert_true(faces[f].mask[1] > 0.9f);                       /* nobody wears one */
            assert_true(faces[f].points[0][0] < faces[f].points[1][0]); /* eyes, from left to right */
            assert_true(faces[f].points[0][1] < faces[f].points[3][1]); /* above the mouth */
        }
        cli_image_release(&image);
    }
    cli_cascade_destroy(&cascade);
}

static void without_a_face_the_tasks_do_not_run(void **state)
{
    (void)state;
    mts_ticket ticket = 0;
    cli_image image;
    const cli_face *faces = NULL;
    cli_cascade *cascade = cascade_of(WORK "/faces4.mtsb", MTS_STRATEGY_COMPACT);
    const mts_frame frame = photo_read("sportscar.jpg", &image);
    assert_int_equal(run(cascade, &frame, &faces), 0);
    assert_true(cli_cascade_last(cascade).tasks_ms == 0.0);
    assert_int_not_equal(mts_session_output_ticket(cli_cascade_tasks(cascade), "gender", &ticket),
                         MTS_STATUS_OK); /* it has never run */
    cli_image_release(&image);
    cli_cascade_destroy(&cascade);
}

static void more_faces_than_the_batch_take_more_runs_and_get_the_same_answers(void **state)
{
    (void)state;
    cli_image image;
    const cli_face *four = NULL;
    const cli_face *two = NULL;
    const mts_frame frame = photo_read("apollo11_crew.jpg", &image);
    cli_cascade *wide = cascade_of(WORK "/faces4.mtsb", MTS_STRATEGY_COMPACT);
    cli_cascade *narrow = cascade_of(WORK "/faces2.mtsb", MTS_STRATEGY_COMPACT);
    assert_int_equal(cli_cascade_batch(narrow), 2);
    assert_int_equal(run(wide, &frame, &four), 3);
    assert_int_equal(run(narrow, &frame, &two), 3);
    assert_int_equal(cli_cascade_last(wide).batches, 1);
    assert_int_equal(cli_cascade_last(narrow).batches, 2);
    assert_faces_close(four, two, 3);
    for (size_t i = 1; i < 3; i++) { /* the largest first */
        assert_true(two[i - 1].crops[CLI_FACE_GENDER].width >= two[i].crops[CLI_FACE_GENDER].width);
    }
    cli_cascade_destroy(&narrow);
    cli_cascade_destroy(&wide);
    cli_image_release(&image);
}

static void stitched_tasks_answer_as_one_by_one(void **state)
{
    (void)state;
    cli_image image;
    const cli_face *a = NULL;
    const cli_face *b = NULL;
    const mts_frame frame = photo_read("bike_riders.jpg", &image);
    cli_cascade *stitched = cascade_of(WORK "/faces4.mtsb", MTS_STRATEGY_COMPACT);
    cli_cascade *alone = cascade_of(WORK "/faces4.mtsb", MTS_STRATEGY_SEQUENTIAL);
    mts_session_stats together = {.size = sizeof together};
    mts_session_stats apart = {.size = sizeof apart};
    assert_int_equal(run(stitched, &frame, &a), 2);
    assert_int_equal(run(alone, &frame, &b), 2);
    assert_faces_close(a, b, 2);
    assert_int_equal(mts_session_stats_get(cli_cascade_tasks(stitched), &together), MTS_STATUS_OK);
    assert_int_equal(mts_session_stats_get(cli_cascade_tasks(alone), &apart), MTS_STATUS_OK);
    assert_int_equal(together.groups, 1);
    assert_int_equal(apart.groups, 4);
    assert_true(together.launches < apart.launches);
    cli_cascade_destroy(&alone);
    cli_cascade_destroy(&stitched);
    cli_image_release(&image);
}

/* The picture as a camera that hangs askew would give it, with what puts it upright, has the same faces. */
static void a_turned_and_mirrored_frame_has_the_faces_of_the_upright_picture(void **state)
{
    (void)state;
    char error[CLI_ERROR];
    cli_image image;
    cli_face upright[3];
    const cli_face *faces = NULL;
    const mts_frame frame = photo_read("apollo11_crew.jpg", &image);
    cli_cascade *cascade = cascade_of(WORK "/faces4.mtsb", MTS_STRATEGY_COMPACT);
    assert_int_equal(run(cascade, &frame, &faces), 3);
    memcpy(upright, faces, sizeof upright);
    for (uint32_t i = 1; i < 8; i++) {
        cli_image turned = {0};
        mts_frame askew = frame;
        /* turning back undoes it; a mirror after the turn is undone by the same turn and mirror of half turns
           and by the other quarter turn's otherwise */
        const uint32_t quarters = i % 4;
        askew.region.mirror = i / 4;
        askew.region.rotation = (mts_rotation)(90 * (i / 4 ? quarters : (4 - quarters) % 4));
        assert_true(cli_frame_to_image(&askew, &turned, error));
        askew = frame;
        askew.data = turned.pixels;
        askew.width = turned.width;
        askew.height = turned.height;
        askew.region.mirror = i / 4;
        askew.region.rotation = (mts_rotation)(90 * quarters);
        assert_int_equal(run(cascade, &askew, &faces), 3);
        assert_faces_close(upright, faces, 3);
        cli_image_release(&turned);
    }
    cli_cascade_destroy(&cascade);
    cli_image_release(&image);
}

static void a_part_of_the_frame_has_the_faces_that_lie_in_it(void **state)
{
    (void)state;
    cli_image image;
    const cli_face *faces = NULL;
    mts_frame frame = photo_read("apollo11_crew.jpg", &image);
    cli_cascade *cascade = cascade_of(WORK "/faces4.mtsb", MTS_STRATEGY_COMPACT);
    frame.region = (mts_region){.x = 40, .y = 60, .width = 300, .height = 400};
    assert_int_equal(run(cascade, &frame, &faces), 2);
    /* the nearer one is around 151, 193 of the whole */
    assert_true(fabsf((faces[0].box.left + faces[0].box.right) / 2 * 300 + 40 - 151) < 6);
    assert_true(fabsf(faces[0].points[2][0] * 300 + 40 - 159) < 6);
    assert_true(fabsf(faces[0].points[2][1] * 400 + 60 - 198) < 6);
    cli_cascade_destroy(&cascade);
    cli_image_release(&image);
}

static void after_the_first_frames_nothing_is_allocated(void **state)
{
    (void)state;
    cli_image crew;
    cli_image car;
    const cli_face *faces = NULL;
    const mts_frame frames[2] = {photo_read("apollo11_crew.jpg", &crew), photo_read("sportscar.jpg", &car)};
    cli_cascade *cascade = cascade_of(WORK "/faces2.mtsb", MTS_STRATEGY_COMPACT);
    size_t before = 0;
    for (size_t i = 0; i < 12; i++) {
        before = i == 4 ? allocations : before;
        assert_int_equal(run(cascade, &frames[i % 2], &faces), i % 2 ? 0 : 3);
    }
    assert_int_equal(allocations, before);
    cli_cascade_destroy(&cascade);
    cli_image_release(&crew);
    cli_image_release(&car);
}

static void bundles_that_are_no_cascade_are_refused_with_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *detector, *faces, *said;
    } cases[] = {
        {WORK "/faces4.mtsb", WORK "/faces4.mtsb", "one task that takes frames"},
        {WORK "/detector.mtsb", WORK "/detector.mtsb", "task 'detector' is none of"},
        {WORK "/none.mtsb", WORK "/faces4.mtsb", "none.mtsb"},
        {WORK "/detector.mtsb", WORK "/list.json", "list.json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char error[CLI_ERROR] = "";
        const cli_cascade_options options = {
            .detector = cases[i].detector, .faces = cases[i].faces, .rule = cli_face_rule_default()};
        assert_null(cli_cascade_create(runtime, &options, reason, error));
        if (!strstr(error, cases[i].said)) {
            fail_msg("'%s' is not in '%s'", cases[i].said, error);
        }
    }
    cli_cascade *none = NULL;
    cli_cascade_destroy(&none);
}

static void a_frame_that_contradicts_itself_fails_and_the_next_one_works(void **state)
{
    (void)state;
    char error[CLI_ERROR] = "";
    cli_image image;
    const cli_face *faces = NULL;
    uint32_t count = 9;
    const mts_frame frame = photo_read("astronaut.png", &image);
    mts_frame bad = frame;
    cli_cascade *cascade = cascade_of(WORK "/faces4.mtsb", MTS_STRATEGY_COMPACT);
    bad.stride = 7;
    assert_false(cli_cascade_run(cascade, &bad, &faces, &count, error));
    assert_int_equal(count, 0);
    assert_non_null(strstr(error, "stride"));
    assert_int_equal(run(cascade, &frame, &faces), 1);
    cli_cascade_destroy(&cascade);
    cli_image_release(&image);
}

int main(void)
{
    char folder[DATA_PATH];
    if (!data_exists(data_path(MTS_SOURCE_DIR, "models/face", folder))) {
        printf("skipped: no models at %s\n", folder);
        return DATA_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_photos_have_the_faces_that_they_show),
        cmocka_unit_test(without_a_face_the_tasks_do_not_run),
        cmocka_unit_test(more_faces_than_the_batch_take_more_runs_and_get_the_same_answers),
        cmocka_unit_test(stitched_tasks_answer_as_one_by_one),
        cmocka_unit_test(a_turned_and_mirrored_frame_has_the_faces_of_the_upright_picture),
        cmocka_unit_test(a_part_of_the_frame_has_the_faces_that_lie_in_it),
        cmocka_unit_test(after_the_first_frames_nothing_is_allocated),
        cmocka_unit_test(bundles_that_are_no_cascade_are_refused_with_a_sentence),
        cmocka_unit_test(a_frame_that_contradicts_itself_fails_and_the_next_one_works),
    };
    return cmocka_run_group_tests(tests, make_all, release_all);
}
