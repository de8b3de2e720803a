/*
 * jni.c: the functions of MainActivity.java. An app is one object, which Java holds as a
 * number; everything but the engine's thread and the camera's callbacks happens on the
 * Activity's thread.
 */
#include <android/asset_manager_jni.h>
#include <android/log.h>
#include <android/native_window_jni.h>
#include <jni.h>
#include <stdlib.h>
#include <string.h>

#include "assets.h"
#include "camera.h"
#include "engine.h"
#include "view.h"

#define LOG_TAG "mts-camera"
#ifndef APP_DEVICE
#define APP_DEVICE NULL /* of mts_runtime_options; NULL: the GPU, where there is one */
#endif
#define FRAMES_IN_FLIGHT 3
#define NAME_MOST 128

typedef struct app {
    jobject asset_owner; /* Java's AssetManager has to live as long as the native one is used */
    AAssetManager *assets;
    char bundle[NAME_MOST];
    AAsset *held;
    view *view;
    engine *engine;
    camera *camera;
    ANativeWindow *window;
} app;

/* ---- what the engine and the camera call ---- */

static void write_log(void *context, mts_log_severity severity, const char *text)
{
    static const int priorities[] = {ANDROID_LOG_ERROR, ANDROID_LOG_WARN, ANDROID_LOG_INFO,
                                     ANDROID_LOG_DEBUG};
    const size_t known = sizeof priorities / sizeof priorities[0];
    (void)context;
    (void)__android_log_write((size_t)severity < known ? priorities[severity] : ANDROID_LOG_INFO, LOG_TAG,
                              text);
}

static mts_status open_bundle(void *context, mts_runtime *runtime, mts_bundle **out, const char **why)
{
    app *self = context;
    return assets_open(self->assets, self->bundle, runtime, out, &self->held, why);
}

static void close_bundle(void *context)
{
    app *self = context;
    assets_close(&self->held);
}

static void picture_ready(void *context)
{
    app *self = context;
    engine_notify(self->engine);
}

static void camera_failed(void *context, const char *reason)
{
    app *self = context;
    view_tell_failure(self->view, reason);
    write_log(NULL, MTS_LOG_ERROR, reason);
}

/* ---- the app ---- */

static app *to_app(jlong handle)
{
    return (app *)(intptr_t)handle;
}

/* False: Java has an exception pending, or the text is too long. */
static bool copy_text(JNIEnv *env, jstring from, char *to, size_t size)
{
    const char *text = from ? (*env)->GetStringUTFChars(env, from, NULL) : NULL;
    const size_t length = text ? strlen(text) : size;
    if (length < size) {
        memcpy(to, text, length + 1);
    }
    if (text) {
        (*env)->ReleaseStringUTFChars(env, from, text);
    }
    return length < size;
}

static void stop_camera(app *self)
{
    if (self->engine) {
        engine_pause(self->engine);
    }
    camera_close(&self->camera);
    if (self->window) {
        ANativeWindow_release(self->window);
        self->window = NULL;
    }
}

static void free_app(JNIEnv *env, app *self)
{
    stop_camera(self);
    engine_destroy(&self->engine);
    view_destroy(&self->view);
    if (self->asset_owner) {
        (*env)->DeleteGlobalRef(env, self->asset_owner);
    }
    free(self);
}

/* 0: no memory, no thread, or a path that is too long. */
JNIEXPORT jlong JNICALL Java_org_mts_camera_MainActivity_create(JNIEnv *env, jclass type, jobject assets,
                                                                jstring bundle, jstring cache_dir)
{
    char cache[1024];
    app *made = calloc(1, sizeof *made);
    (void)type;
    if (!made) {
        return 0;
    }
    made->asset_owner = (*env)->NewGlobalRef(env, assets);
    made->assets = made->asset_owner ? AAssetManager_fromJava(env, made->asset_owner) : NULL;
    made->view = view_create();
    if (made->assets && made->view && copy_text(env, bundle, made->bundle, sizeof made->bundle) &&
        copy_text(env, cache_dir, cache, sizeof cache)) {
        const engine_options options = {.device = APP_DEVICE,
                                        .cache_dir = cache,
                                        .frames_in_flight = FRAMES_IN_FLIGHT,
                                        .view = made->view,
                                        .context = made,
                                        .bundle_open = open_bundle,
                                        .bundle_closed = close_bundle,
                                        .log = write_log};
        made->engine = engine_create(&options);
    }
    if (!made->engine) {
        free_app(env, made);
        return 0;
    }
    return (jlong)(intptr_t)made;
}

/* Opens the camera and shows it on the surface. What went wrong is to be seen in
   text(). */
JNIEXPORT void JNICALL Java_org_mts_camera_MainActivity_resume(JNIEnv *env, jclass type, jlong handle,
                                                               jobject surface, jboolean front, jint display)
{
    app *self = to_app(handle);
    char error[160] = "";
    (void)type;
    stop_camera(self);
    self->window = ANativeWindow_fromSurface(env, surface);
    const camera_options options = {.front = front != JNI_FALSE,
                                    .display = display,
                                    .wanted = {640, 480},
                                    .held = FRAMES_IN_FLIGHT + 1,
                                    .preview = self->window,
                                    .context = self,
                                    .ready = picture_ready,
                                    .failed = camera_failed};
    self->camera = camera_open(&options, error, sizeof error);
    if (!self->camera) {
        camera_failed(self, error);
        stop_camera(self);
        return;
    }
    const engine_source source = {
        .context = self->camera, .take = camera_take, .import = camera_import, .release = camera_release};
    engine_resume(self->engine, &source);
}

/* Closes the camera; the networks stay. Before the surface is gone. */
JNIEXPORT void JNICALL Java_org_mts_camera_MainActivity_pause(JNIEnv *env, jclass type, jlong handle)
{
    (void)env;
    (void)type;
    stop_camera(to_app(handle));
}

/* UTF-8. NULL: no memory. */
JNIEXPORT jbyteArray JNICALL Java_org_mts_camera_MainActivity_text(JNIEnv *env, jclass type, jlong handle)
{
    char text[RESULTS_TEXT + 256];
    (void)type;
    view_text(to_app(handle)->view, text, sizeof text);
    const jsize length = (jsize)strlen(text);
    jbyteArray made = (*env)->NewByteArray(env, length);
    if (made) {
        (*env)->SetByteArrayRegion(env, made, 0, length, (const jbyte *)text);
    }
    return made;
}

/* Five numbers for each box: left, top, right, bottom as parts of the upright picture,
   and its score. */
JNIEXPORT jfloatArray JNICALL Java_org_mts_camera_MainActivity_boxes(JNIEnv *env, jclass type, jlong handle)
{
    results_box boxes[RESULTS_BOXES];
    (void)type;
    const jsize length = (jsize)(view_boxes(to_app(handle)->view, boxes) * (sizeof *boxes / sizeof(float)));
    jfloatArray made = (*env)->NewFloatArray(env, length);
    if (made) {
        (*env)->SetFloatArrayRegion(env, made, 0, length, &boxes[0].left);
    }
    return made;
}

JNIEXPORT void JNICALL Java_org_mts_camera_MainActivity_destroy(JNIEnv *env, jclass type, jlong handle)
{
    (void)type;
    free_app(env, to_app(handle));
}
