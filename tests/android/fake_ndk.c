/*
 * fake_ndk.c: see fake_ndk.h.
 */
#include "fake_ndk.h"

#include <android/asset_manager_jni.h>
#include <android/log.h>
#include <android/native_window_jni.h>
#include <camera/NdkCameraManager.h>
#include <media/NdkImageReader.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAD 100 /* bytes before the asset in its file */

struct ANativeWindow {
    int any;
};
struct AAssetManager {
    int any;
};
struct AAsset {
    int any;
};
struct AImageReader {
    AImageReader_ImageListener listener;
    ANativeWindow window;
    int32_t most, waiting, out;
};
struct AImage {
    AImageReader *reader;
    uint8_t pixels[FAKE_WIDTH * FAKE_HEIGHT * 3 / 2];
};
struct ACameraDevice {
    ACameraDevice_StateCallbacks callbacks;
};

static struct fake_world {
    fake_ndk seen;
    pthread_mutex_t lock;
    AImageReader *reader;
    ACameraDevice *device;
    bool running;
    struct AAssetManager assets;
    struct AAsset asset;
    ANativeWindow screen;
    int32_t crop_right;
    uint32_t given_back;
    char log[512];
} world = {.lock = PTHREAD_MUTEX_INITIALIZER};

fake_ndk *fake(void)
{
    return &world.seen;
}

void fake_reset(void)
{
    fake_arrays_release();
    world.seen = (fake_ndk){.fail_at = 0};
    world.reader = NULL;
    world.device = NULL;
    world.running = false;
    world.crop_right = 0;
    world.given_back = 0;
    world.log[0] = '\0';
}

void fake_crop(int32_t right)
{
    (void)pthread_mutex_lock(&world.lock);
    world.crop_right = right;
    (void)pthread_mutex_unlock(&world.lock);
}

uint32_t fake_given_back(void)
{
    (void)pthread_mutex_lock(&world.lock);
    const uint32_t given_back = world.given_back;
    (void)pthread_mutex_unlock(&world.lock);
    return given_back;
}

bool fake_has_failed(void)
{
    (void)pthread_mutex_lock(&world.lock);
    const bool has = world.seen.fail_at != 0 && world.seen.calls >= world.seen.fail_at;
    (void)pthread_mutex_unlock(&world.lock);
    return has;
}

bool fake_log_has(const char *part)
{
    (void)pthread_mutex_lock(&world.lock);
    const bool has = strstr(world.log, part);
    (void)pthread_mutex_unlock(&world.lock);
    return has;
}

bool fake_call_fails(void)
{
    (void)pthread_mutex_lock(&world.lock);
    const bool now = ++world.seen.calls == world.seen.fail_at;
    (void)pthread_mutex_unlock(&world.lock);
    return now;
}

void fake_count(int32_t objects)
{
    (void)pthread_mutex_lock(&world.lock);
    world.seen.alive += objects;
    world.seen.mistakes += world.seen.alive < 0 ? 1 : 0;
    (void)pthread_mutex_unlock(&world.lock);
}

/* An object of no size that can only be freed. */
static void *object_make(size_t size)
{
    void *made = fake_call_fails() ? NULL : calloc(1, size);
    fake_count(made ? 1 : 0);
    return made;
}

static void object_free(void *object)
{
    fake_count(-1);
    free(object);
}

static camera_status_t made(void *out, void *object)
{
    memcpy(out, &object, sizeof object);
    return object ? ACAMERA_OK : ACAMERA_ERROR_UNKNOWN;
}

static camera_status_t may_fail(void)
{
    return fake_call_fails() ? ACAMERA_ERROR_UNKNOWN : ACAMERA_OK;
}

static media_status_t media_may_fail(void)
{
    return fake_call_fails() ? AMEDIA_ERROR_UNKNOWN : AMEDIA_OK;
}

/* ---- pictures ---- */

bool fake_send(void)
{
    AImageReader_ImageListener listener = {.context = NULL, .onImageAvailable = NULL};
    (void)pthread_mutex_lock(&world.lock);
    if (world.running && world.reader) {
        world.reader->waiting++;
        world.seen.sent++;
        listener = world.reader->listener;
    }
    (void)pthread_mutex_unlock(&world.lock);
    if (listener.onImageAvailable) {
        listener.onImageAvailable(listener.context, world.reader);
    }
    return listener.onImageAvailable;
}

media_status_t AImageReader_newWithUsage(int32_t width, int32_t height, int32_t format, uint64_t usage,
                                         int32_t maxImages, AImageReader **reader)
{
    (void)usage;
    *reader = width == FAKE_WIDTH && height == FAKE_HEIGHT && format == AIMAGE_FORMAT_YUV_420_888
                  ? object_make(sizeof **reader)
                  : NULL;
    if (*reader) {
        (*reader)->most = maxImages;
        world.reader = *reader;
    }
    return *reader ? AMEDIA_OK : AMEDIA_ERROR_UNKNOWN;
}

void AImageReader_delete(AImageReader *reader)
{
    world.seen.mistakes += reader->out > 0 || world.running ? 1 : 0;
    world.reader = NULL;
    object_free(reader);
}

media_status_t AImageReader_getWindow(AImageReader *reader, ANativeWindow **window)
{
    *window = &reader->window;
    return media_may_fail();
}

media_status_t AImageReader_setImageListener(AImageReader *reader, AImageReader_ImageListener *listener)
{
    const media_status_t status = listener ? media_may_fail() : AMEDIA_OK;
    (void)pthread_mutex_lock(&world.lock);
    reader->listener =
        listener && status == AMEDIA_OK ? *listener : (AImageReader_ImageListener){.context = NULL};
    (void)pthread_mutex_unlock(&world.lock);
    return status;
}

media_status_t AImageReader_acquireLatestImage(AImageReader *reader, AImage **image)
{
    media_status_t status = media_may_fail();
    *image = NULL;
    (void)pthread_mutex_lock(&world.lock);
    if (status == AMEDIA_OK && reader->waiting == 0) {
        status = AMEDIA_IMGREADER_NO_BUFFER_AVAILABLE;
    }
    if (status == AMEDIA_OK && reader->out + 2 > reader->most) { /* the newest, and the one before it */
        world.seen.mistakes++;
        status = AMEDIA_IMGREADER_MAX_IMAGES_ACQUIRED;
    }
    if (status == AMEDIA_OK) {
        *image = calloc(1, sizeof **image);
        (*image)->reader = reader;
        memset((*image)->pixels, 128, sizeof(*image)->pixels); /* grey */
        reader->waiting = 0;
        reader->out++;
        world.seen.images++;
    }
    (void)pthread_mutex_unlock(&world.lock);
    return status;
}

void AImage_delete(AImage *image)
{
    (void)pthread_mutex_lock(&world.lock);
    world.seen.mistakes += image->reader != world.reader ? 1 : 0;
    image->reader->out--;
    world.seen.images--;
    world.given_back++;
    (void)pthread_mutex_unlock(&world.lock);
    free(image);
}

media_status_t AImage_getWidth(const AImage *image, int32_t *width)
{
    (void)image;
    *width = FAKE_WIDTH;
    return media_may_fail();
}

media_status_t AImage_getHeight(const AImage *image, int32_t *height)
{
    (void)image;
    *height = FAKE_HEIGHT;
    return media_may_fail();
}

media_status_t AImage_getFormat(const AImage *image, int32_t *format)
{
    (void)image;
    *format = AIMAGE_FORMAT_YUV_420_888;
    return media_may_fail();
}

media_status_t AImage_getCropRect(const AImage *image, AImageCropRect *rect)
{
    (void)image;
    (void)pthread_mutex_lock(&world.lock);
    *rect = (AImageCropRect){0, 0, world.crop_right ? world.crop_right : FAKE_WIDTH, FAKE_HEIGHT};
    (void)pthread_mutex_unlock(&world.lock);
    return media_may_fail();
}

media_status_t AImage_getNumberOfPlanes(const AImage *image, int32_t *numPlanes)
{
    (void)image;
    *numPlanes = 3;
    return media_may_fail();
}

media_status_t AImage_getPlanePixelStride(const AImage *image, int planeIdx, int32_t *pixelStride)
{
    (void)image;
    *pixelStride = planeIdx ? 2 : 1;
    return media_may_fail();
}

media_status_t AImage_getPlaneRowStride(const AImage *image, int planeIdx, int32_t *rowStride)
{
    (void)image;
    (void)planeIdx;
    *rowStride = FAKE_WIDTH;
    return media_may_fail();
}

media_status_t AImage_getPlaneData(const AImage *image, int planeIdx, uint8_t **data, int *dataLength)
{
    uint8_t *chroma = (uint8_t *)image->pixels + FAKE_WIDTH * FAKE_HEIGHT;
    *data = planeIdx ? chroma + (2 - planeIdx) : (uint8_t *)image->pixels; /* V first */
    *dataLength = planeIdx ? FAKE_WIDTH * FAKE_HEIGHT / 2 - 1 : FAKE_WIDTH * FAKE_HEIGHT;
    return media_may_fail();
}

/* No device here reads hardware buffers: nothing reads it. */
media_status_t AImage_getHardwareBuffer(const AImage *image, AHardwareBuffer **buffer)
{
    *buffer = (AHardwareBuffer *)(uintptr_t)image;
    return media_may_fail();
}

/* ---- the camera ---- */

ACameraManager *ACameraManager_create(void)
{
    return object_make(1);
}

void ACameraManager_delete(ACameraManager *manager)
{
    world.seen.mistakes += world.device ? 1 : 0;
    object_free(manager);
}

camera_status_t ACameraManager_getCameraIdList(ACameraManager *manager, ACameraIdList **cameraIdList)
{
    static const char *ids[] = {"0", "1"};
    (void)manager;
    *cameraIdList = object_make(sizeof **cameraIdList);
    if (*cameraIdList) {
        **cameraIdList = (ACameraIdList){.numCameras = world.seen.only_front ? 1 : 2,
                                         .cameraIds = world.seen.only_front ? ids + 1 : ids};
    }
    return *cameraIdList ? ACAMERA_OK : ACAMERA_ERROR_UNKNOWN;
}

void ACameraManager_deleteCameraIdList(ACameraIdList *cameraIdList)
{
    object_free(cameraIdList);
}

/* Its facts are the number of the camera. */
camera_status_t ACameraManager_getCameraCharacteristics(ACameraManager *manager, const char *cameraId,
                                                        ACameraMetadata **characteristics)
{
    char *number = object_make(1);
    (void)manager;
    if (number) {
        *number = cameraId[0];
    }
    return made(characteristics, number);
}

void ACameraMetadata_free(ACameraMetadata *metadata)
{
    object_free(metadata);
}

camera_status_t ACameraMetadata_getConstEntry(const ACameraMetadata *metadata, uint32_t tag,
                                              ACameraMetadata_const_entry *entry)
{
    static const uint8_t facing[] = {ACAMERA_LENS_FACING_BACK, ACAMERA_LENS_FACING_FRONT};
    static const int32_t sensor[] = {90, 270};
    static const int32_t offered[] = {AIMAGE_FORMAT_YUV_420_888, FAKE_WIDTH, FAKE_HEIGHT, 0};
    const int number = *(const char *)metadata == '1';
    *entry = (ACameraMetadata_const_entry){.tag = tag, .count = 1};
    if (tag == ACAMERA_LENS_FACING) {
        entry->data.u8 = &facing[number];
    } else if (tag == ACAMERA_SENSOR_ORIENTATION) {
        entry->data.i32 = &sensor[number];
    } else {
        entry->data.i32 = offered;
        entry->count = 4;
    }
    return may_fail();
}

camera_status_t ACameraManager_openCamera(ACameraManager *manager, const char *cameraId,
                                          ACameraDevice_StateCallbacks *callback, ACameraDevice **device)
{
    (void)manager;
    *device = NULL;
    if (world.seen.denied) {
        return ACAMERA_ERROR_PERMISSION_DENIED;
    }
    *device = object_make(sizeof **device);
    if (*device) {
        (*device)->callbacks = *callback;
        world.device = *device;
        world.seen.front_used = cameraId[0] == '1';
    }
    return *device ? ACAMERA_OK : ACAMERA_ERROR_UNKNOWN;
}

camera_status_t ACameraDevice_close(ACameraDevice *device)
{
    world.seen.mistakes += world.running ? 1 : 0;
    world.device = NULL;
    object_free(device);
    return ACAMERA_OK;
}

void fake_disconnect(void)
{
    world.device->callbacks.onDisconnected(world.device->callbacks.context, world.device);
    world.device->callbacks.onError(world.device->callbacks.context, world.device, 4);
}

camera_status_t ACameraDevice_createCaptureRequest(const ACameraDevice *device,
                                                   ACameraDevice_request_template templateId,
                                                   ACaptureRequest **request)
{
    (void)device;
    (void)templateId;
    return made(request, object_make(1));
}

void ACaptureRequest_free(ACaptureRequest *request)
{
    object_free(request);
}

camera_status_t ACaptureRequest_addTarget(ACaptureRequest *request, const ACameraOutputTarget *output)
{
    (void)request;
    (void)output;
    return may_fail();
}

camera_status_t ACameraOutputTarget_create(ACameraWindowType *window, ACameraOutputTarget **output)
{
    (void)window;
    return made(output, object_make(1));
}

void ACameraOutputTarget_free(ACameraOutputTarget *output)
{
    object_free(output);
}

camera_status_t ACaptureSessionOutputContainer_create(ACaptureSessionOutputContainer **container)
{
    return made(container, object_make(1));
}

void ACaptureSessionOutputContainer_free(ACaptureSessionOutputContainer *container)
{
    object_free(container);
}

camera_status_t ACaptureSessionOutputContainer_add(ACaptureSessionOutputContainer *container,
                                                   const ACaptureSessionOutput *output)
{
    (void)container;
    (void)output;
    return may_fail();
}

camera_status_t ACaptureSessionOutput_create(ACameraWindowType *anw, ACaptureSessionOutput **output)
{
    (void)anw;
    return made(output, object_make(1));
}

void ACaptureSessionOutput_free(ACaptureSessionOutput *output)
{
    object_free(output);
}

camera_status_t ACameraDevice_createCaptureSession(ACameraDevice *device,
                                                   const ACaptureSessionOutputContainer *outputs,
                                                   const ACameraCaptureSession_stateCallbacks *callbacks,
                                                   ACameraCaptureSession **session)
{
    const camera_status_t status = made(session, object_make(1));
    (void)device;
    (void)outputs;
    if (status == ACAMERA_OK) {
        callbacks->onReady(callbacks->context, *session);
    }
    return status;
}

void ACameraCaptureSession_close(ACameraCaptureSession *session)
{
    world.running = false;
    object_free(session);
}

camera_status_t ACameraCaptureSession_setRepeatingRequest(ACameraCaptureSession *session,
                                                          ACameraCaptureSession_captureCallbacks *callbacks,
                                                          int numRequests, ACaptureRequest **requests,
                                                          int *captureSequenceId)
{
    const camera_status_t status = may_fail();
    (void)session;
    (void)callbacks;
    (void)numRequests;
    (void)requests;
    (void)captureSequenceId;
    world.running = status == ACAMERA_OK;
    return status;
}

camera_status_t ACameraCaptureSession_stopRepeating(ACameraCaptureSession *session)
{
    (void)session;
    world.running = false;
    return ACAMERA_OK;
}

/* ---- windows, assets, the log ---- */

ANativeWindow *ANativeWindow_fromSurface(JNIEnv *env, jobject surface)
{
    (void)env;
    (void)surface;
    fake_count(1);
    return &world.screen;
}

void ANativeWindow_release(ANativeWindow *window)
{
    (void)window;
    world.seen.mistakes += world.running ? 1 : 0;
    fake_count(-1);
}

AAssetManager *AAssetManager_fromJava(JNIEnv *env, jobject assetManager)
{
    (void)env;
    (void)assetManager;
    return fake_call_fails() ? NULL : &world.assets;
}

AAsset *AAssetManager_open(AAssetManager *mgr, const char *filename, int mode)
{
    (void)mgr;
    (void)mode;
    if (!world.seen.asset || strcmp(filename, "app.mtsb") != 0 || fake_call_fails()) {
        return NULL;
    }
    fake_count(1);
    return &world.asset;
}

int AAsset_openFileDescriptor64(AAsset *asset, off64_t *outStart, off64_t *outLength)
{
    static const char lead[LEAD];
    char name[] = "fake-asset-XXXXXX";
    (void)asset;
    if (world.seen.compressed) {
        return -1;
    }
    const int file = mkstemp(name);
    (void)unlink(name);
    if (file < 0 || write(file, lead, LEAD) != LEAD ||
        write(file, world.seen.asset, world.seen.asset_size) != (ssize_t)world.seen.asset_size) {
        return -1;
    }
    *outStart = LEAD;
    *outLength = (off64_t)world.seen.asset_size;
    return file;
}

const void *AAsset_getBuffer(AAsset *asset)
{
    (void)asset;
    return fake_call_fails() ? NULL : world.seen.asset;
}

off64_t AAsset_getLength64(AAsset *asset)
{
    (void)asset;
    return (off64_t)world.seen.asset_size;
}

void AAsset_close(AAsset *asset)
{
    (void)asset;
    fake_count(-1);
}

int __android_log_write(int prio, const char *tag, const char *text)
{
    (void)pthread_mutex_lock(&world.lock);
    if (prio >= ANDROID_LOG_ERROR) {
        (void)snprintf(world.log, sizeof world.log, "%s: %s", tag, text);
    }
    (void)pthread_mutex_unlock(&world.lock);
    return 1;
}
