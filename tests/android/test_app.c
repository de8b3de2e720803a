/*
 * The whole native part of the Android app on a fake NDK (fake_ndk.h), as MainActivity calls it: camera,
 * lifetimes, sentences, and every call of Android failing once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "android/fake_ndk.h"
#include "support/frame_bundle.h"

#define PATIENCE 10000 /* of 2 ms */

/* As javac -h writes them; compile.sh compares jni.c with that. */
jlong Java_org_mts_camera_MainActivity_create(JNIEnv *, jclass, jobject, jstring, jstring);
void Java_org_mts_camera_MainActivity_resume(JNIEnv *, jclass, jlong, jobject, jboolean, jint);
void Java_org_mts_camera_MainActivity_pause(JNIEnv *, jclass, jlong);
jbyteArray Java_org_mts_camera_MainActivity_text(JNIEnv *, jclass, jlong);
jfloatArray Java_org_mts_camera_MainActivity_boxes(JNIEnv *, jclass, jlong);
void Java_org_mts_camera_MainActivity_destroy(JNIEnv *, jclass, jlong);

static mts_bundle_bytes bundle;
static char text[4096];

static int make_bundle(void **state)
{
    static const frame_task task = {
        .color = MTS_COLOR_RGB, .batch = 1, .height = 4, .width = 8, .deviation = 1.0f};
    (void)state;
    frame_bundle_make(&task, 1, &bundle);
    return 0;
}

static int release_bundle(void **state)
{
    (void)state;
    fake_reset();
    mts_bundle_bytes_release(&bundle);
    return 0;
}

static jlong app_make(void)
{
    static char assets[] = "assets", name[] = "app.mtsb", cache[] = MTS_BINARY_DIR "/android-cache";
    return Java_org_mts_camera_MainActivity_create(fake_env(), NULL, assets, name, cache);
}

static jlong app_open(void)
{
    fake_reset();
    fake()->asset = bundle.data;
    fake()->asset_size = bundle.size;
    const jlong app = app_make();
    assert_true(app != 0);
    return app;
}

static void app_resume(jlong app, bool front)
{
    static char surface[] = "surface";
    Java_org_mts_camera_MainActivity_resume(fake_env(), NULL, app, surface, front, 0);
}

static const char *app_text(jlong app)
{
    size_t bytes = 0;
    jobject array = Java_org_mts_camera_MainActivity_text(fake_env(), NULL, app);
    text[0] = '\0';
    if (array) {
        const char *from = fake_array(array, &bytes);
        assert_true(bytes < sizeof text);
        memcpy(text, from, bytes);
        text[bytes] = '\0';
    }
    return text;
}

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* Pictures come until the screen says so. */
static void await_text(jlong app, const char *part)
{
    for (int i = 0; i < PATIENCE; i++) {
        (void)fake_send();
        if (strstr(app_text(app), part)) {
            return;
        }
        nap();
    }
    fail_msg("\"%s\" never was on the screen, but \"%s\"", part, text);
}

static void app_close(jlong app)
{
    Java_org_mts_camera_MainActivity_destroy(fake_env(), NULL, app);
    assert_int_equal(fake()->images, 0);
    assert_int_equal(fake()->alive, 0);
    assert_int_equal(fake()->mistakes, 0);
}

static void pictures_become_answers_on_the_screen(void **state)
{
    (void)state;
    const jlong app = app_open();
    app_resume(app, false);
    await_text(app, "a: "); /* its largest value: grey, by the factors of the library */
    assert_non_null(strstr(text, "(127.99"));
    assert_false(fake()->front_used);
    await_text(app, "frames a second");
    size_t bytes = 1;
    jobject boxes = Java_org_mts_camera_MainActivity_boxes(fake_env(), NULL, app);
    assert_non_null(boxes);
    (void)fake_array(boxes, &bytes);
    assert_int_equal(bytes, 0);
    app_close(app);
}

static void a_pause_closes_the_camera_and_the_session_goes_on_afterwards(void **state)
{
    (void)state;
    const jlong app = app_open();
    app_resume(app, false);
    await_text(app, "a: ");
    const int32_t open = fake()->alive;
    for (int i = 0; i < 5; i++) {
        for (int picture = 0; picture < i; picture++) {
            (void)fake_send();
        }
        Java_org_mts_camera_MainActivity_pause(fake_env(), NULL, app);
        assert_int_equal(fake()->images, 0);
        assert_true(fake()->alive < open);
        assert_false(fake_send());
        Java_org_mts_camera_MainActivity_pause(fake_env(), NULL, app);
        app_resume(app, i % 2 == 0);
        assert_int_equal(fake()->alive, open);
        assert_int_equal(fake()->front_used, i % 2 == 0);
        assert_true(fake_send());
    }
    app_resume(app, true); /* turned around while it runs */
    assert_int_equal(fake()->alive, open);
    app_close(app);
}

static void destroying_at_any_moment_leaves_nothing(void **state)
{
    (void)state;
    for (int pictures = 0; pictures < 12; pictures++) {
        const jlong app = app_open();
        app_resume(app, false);
        for (int i = 0; i < pictures; i++) {
            (void)fake_send();
            if (i % 3 == 2) {
                nap();
            }
        }
        app_close(app);
    }
}

static void a_compressed_bundle_is_kept_in_memory(void **state)
{
    (void)state;
    fake_reset();
    fake()->asset = bundle.data;
    fake()->asset_size = bundle.size;
    fake()->compressed = true;
    const jlong app = app_make();
    assert_true(app != 0);
    app_resume(app, false);
    await_text(app, "(127.99");
    app_close(app);
}

static void without_a_bundle_the_screen_says_so(void **state)
{
    (void)state;
    fake_reset();
    const jlong app = app_make();
    app_resume(app, false);
    await_text(app, "no bundle among its assets");
    assert_true(fake_log_has("no bundle among its assets"));
    app_close(app);
}

static void without_permission_the_screen_says_so_and_the_next_resume_works(void **state)
{
    (void)state;
    const jlong app = app_open();
    app_resume(app, false);
    await_text(app, "a: "); /* no sentence about the start is to come any more */
    fake()->denied = true;
    app_resume(app, false);
    assert_true(fake_log_has("mts-camera: the app has no permission to use the camera"));
    assert_non_null(strstr(app_text(app), "permission"));
    fake()->denied = false;
    app_resume(app, false);
    await_text(app, "frames a second"); /* pictures come, and the sentence has gone */
    app_close(app);
}

static void a_device_with_cameras_on_one_side_only_takes_what_there_is(void **state)
{
    (void)state;
    const jlong app = app_open();
    fake()->only_front = true;
    app_resume(app, false);
    assert_true(fake()->front_used);
    await_text(app, "(127.99");
    app_close(app);
}

static void a_camera_that_vanishes_is_a_sentence_and_can_be_opened_again(void **state)
{
    (void)state;
    const jlong app = app_open();
    app_resume(app, false);
    await_text(app, "a: ");
    fake_disconnect();
    assert_true(fake_log_has("error 4"));
    Java_org_mts_camera_MainActivity_pause(fake_env(), NULL, app);
    app_resume(app, false);
    await_text(app, "frames a second");
    app_close(app);
}

static void a_crop_outside_of_the_picture_is_refused_and_the_app_goes_on(void **state)
{
    (void)state;
    const jlong app = app_open();
    fake_crop(FAKE_WIDTH + 1);
    app_resume(app, false);
    for (int i = 0; i < PATIENCE && !fake_log_has("outside"); i++) {
        (void)fake_send();
        nap();
    }
    assert_true(fake_log_has("outside"));
    fake_crop(0);
    await_text(app, "(127.99");
    app_close(app);
}

/* Opens the app, sends some pictures and pauses. Returns how many calls could have failed. */
static uint32_t run_with_failure(uint32_t fail_at)
{
    fake_reset();
    fake()->asset = bundle.data;
    fake()->asset_size = bundle.size;
    fake()->fail_at = fail_at;
    const jlong app = app_make();
    if (app) {
        app_resume(app, false);
        for (uint32_t i = 0; i < 3; i++) {
            const uint32_t before = fake_given_back();
            (void)fake_send();
            for (int turn = 0; turn < PATIENCE && fake_given_back() == before && !fake_has_failed(); turn++) {
                nap();
            }
        }
        nap(); /* what failed has its consequences meanwhile */
        (void)app_text(app);
        Java_org_mts_camera_MainActivity_pause(fake_env(), NULL, app);
        assert_int_equal(fake()->images, 0);
        app_close(app);
    }
    assert_int_equal(fake()->alive, 0);
    assert_int_equal(fake()->mistakes, 0);
    return fake()->calls;
}

static void any_call_of_android_may_fail_and_nothing_is_left(void **state)
{
    (void)state;
    const uint32_t calls = run_with_failure(0);
    assert_true(calls > 30);
    for (uint32_t i = 1; i <= calls; i++) {
        (void)run_with_failure(i);
    }
    print_message("%u calls\n", calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_become_answers_on_the_screen),
        cmocka_unit_test(a_pause_closes_the_camera_and_the_session_goes_on_afterwards),
        cmocka_unit_test(destroying_at_any_moment_leaves_nothing),
        cmocka_unit_test(a_compressed_bundle_is_kept_in_memory),
        cmocka_unit_test(without_a_bundle_the_screen_says_so),
        cmocka_unit_test(without_permission_the_screen_says_so_and_the_next_resume_works),
        cmocka_unit_test(a_device_with_cameras_on_one_side_only_takes_what_there_is),
        cmocka_unit_test(a_camera_that_vanishes_is_a_sentence_and_can_be_opened_again),
        cmocka_unit_test(a_crop_outside_of_the_picture_is_refused_and_the_app_goes_on),
        cmocka_unit_test(any_call_of_android_may_fail_and_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, make_bundle, release_bundle);
}
