/*
 * camera.c: see camera.h.
 */
#include "camera.h"

#include <camera/NdkCameraDevice.h>
#include <camera/NdkCameraManager.h>
#include <camera/NdkCameraMetadata.h>
#include <media/NdkImageReader.h>
#include <stdio.h>
#include <stdlib.h>

#include "images.h"

/* Taken at once: acquireLatestImage holds one image while it releases another. */
#define SPARE_IMAGES 2
#define ID_MOST 64

struct camera {
    camera_options options;
    char id[ID_MOST];
    int32_t sensor; /* degrees */
    frame_size size;
    ACameraManager *manager;
    ACameraDevice *device;
    AImageReader *reader;
    ACameraOutputTarget *targets[2]; /* of the reader and of the preview */
    ACaptureSessionOutput *outputs[2];
    ACaptureSessionOutputContainer *container;
    ACaptureRequest *request;
    ACameraCaptureSession *session;
};

/* ---- what the camera's threads call ---- */

static void on_image(void *context, AImageReader *reader)
{
    camera *self = context;
    (void)reader;
    self->options.ready(self->options.context);
}

static void on_disconnected(void *context, ACameraDevice *device)
{
    camera *self = context;
    (void)device;
    self->options.failed(self->options.context, "the camera was taken by another app, or is gone");
}

static void on_error(void *context, ACameraDevice *device, int error)
{
    camera *self = context;
    char sentence[96];
    (void)device;
    (void)snprintf(sentence, sizeof sentence, "the camera stopped with error %d", error);
    self->options.failed(self->options.context, sentence);
}

static void on_session(void *context, ACameraCaptureSession *session)
{
    (void)context;
    (void)session;
}

/* ---- choosing ---- */

/* Whether it is the one that is wanted, with what has to be known of it. */
static bool examine(camera *self, const char *id, bool any)
{
    ACameraMetadata *facts = NULL;
    ACameraMetadata_const_entry entry = {0};
    bool suits = false;
    if (ACameraManager_getCameraCharacteristics(self->manager, id, &facts) != ACAMERA_OK) {
        return false;
    }
    if (ACameraMetadata_getConstEntry(facts, ACAMERA_LENS_FACING, &entry) == ACAMERA_OK && entry.count == 1) {
        const bool front = entry.data.u8[0] == ACAMERA_LENS_FACING_FRONT;
        suits = any || front == self->options.front;
        self->options.front = suits ? front : self->options.front;
    }
    if (suits && ACameraMetadata_getConstEntry(facts, ACAMERA_SENSOR_ORIENTATION, &entry) == ACAMERA_OK &&
        entry.count == 1) {
        self->sensor = entry.data.i32[0];
    }
    suits = suits &&
            ACameraMetadata_getConstEntry(facts, ACAMERA_SCALER_AVAILABLE_STREAM_CONFIGURATIONS, &entry) ==
                ACAMERA_OK &&
            frame_size_choose(entry.data.i32, entry.count, AIMAGE_FORMAT_YUV_420_888, self->options.wanted,
                              &self->size);
    ACameraMetadata_free(facts);
    return suits && snprintf(self->id, sizeof self->id, "%s", id) < (int)sizeof self->id;
}

/* A device whose cameras all look the other way has a camera all the same. */
static const char *choose(camera *self)
{
    ACameraIdList *ids = NULL;
    bool found = false;
    if (ACameraManager_getCameraIdList(self->manager, &ids) != ACAMERA_OK) {
        return "the cameras of this device cannot be listed";
    }
    for (int any = 0; any < 2; any++) {
        for (int i = 0; i < ids->numCameras && !found; i++) {
            found = examine(self, ids->cameraIds[i], any == 1);
        }
    }
    ACameraManager_deleteCameraIdList(ids);
    return found ? NULL : "this device has no camera with pictures of the format YUV_420_888";
}

/* ---- opening ---- */

static const char *open_reader(camera *self)
{
    AImageReader_ImageListener listener = {.context = self, .onImageAvailable = on_image};
    if (AImageReader_newWithUsage(self->size.width, self->size.height, AIMAGE_FORMAT_YUV_420_888,
                                  image_usage(), self->options.held + SPARE_IMAGES,
                                  &self->reader) != AMEDIA_OK) {
        return "pictures that the GPU can read cannot be had from the camera";
    }
    if (AImageReader_setImageListener(self->reader, &listener) != AMEDIA_OK) {
        return "the camera's pictures cannot be waited for";
    }
    return NULL;
}

static const char *open_device(camera *self)
{
    ACameraDevice_StateCallbacks callbacks = {
        .context = self, .onDisconnected = on_disconnected, .onError = on_error};
    const camera_status_t status =
        ACameraManager_openCamera(self->manager, self->id, &callbacks, &self->device);
    if (status == ACAMERA_ERROR_PERMISSION_DENIED) {
        return "the app has no permission to use the camera";
    }
    if (status == ACAMERA_ERROR_CAMERA_IN_USE || status == ACAMERA_ERROR_MAX_CAMERA_IN_USE) {
        return "the camera is in use by another app";
    }
    if (status != ACAMERA_OK) {
        return "the camera cannot be opened";
    }
    if (ACameraDevice_createCaptureRequest(self->device, TEMPLATE_PREVIEW, &self->request) != ACAMERA_OK ||
        ACaptureSessionOutputContainer_create(&self->container) != ACAMERA_OK) {
        return "the camera takes no requests";
    }
    return NULL;
}

/* Pictures go to this window, too. */
static const char *add_window(camera *self, int place, ANativeWindow *window)
{
    if (ACaptureSessionOutput_create(window, &self->outputs[place]) != ACAMERA_OK ||
        ACaptureSessionOutputContainer_add(self->container, self->outputs[place]) != ACAMERA_OK ||
        ACameraOutputTarget_create(window, &self->targets[place]) != ACAMERA_OK ||
        ACaptureRequest_addTarget(self->request, self->targets[place]) != ACAMERA_OK) {
        return "the camera does not take a window";
    }
    return NULL;
}

static const char *start(camera *self)
{
    ACameraCaptureSession_stateCallbacks callbacks = {
        .context = self, .onClosed = on_session, .onReady = on_session, .onActive = on_session};
    ANativeWindow *window = NULL; /* the reader's */
    const char *fault = NULL;
    if (AImageReader_getWindow(self->reader, &window) != AMEDIA_OK) {
        return "the camera's pictures have no window";
    }
    fault = add_window(self, 0, window);
    if (!fault && self->options.preview) {
        fault = add_window(self, 1, self->options.preview);
    }
    if (fault) {
        return fault;
    }
    if (ACameraDevice_createCaptureSession(self->device, self->container, &callbacks, &self->session) !=
            ACAMERA_OK ||
        ACameraCaptureSession_setRepeatingRequest(self->session, NULL, 1, &self->request, NULL) !=
            ACAMERA_OK) {
        return "the camera does not start";
    }
    return NULL;
}

camera *camera_open(const camera_options *options, char *error, size_t error_size)
{
    camera *made = calloc(1, sizeof *made);
    const char *fault = made ? NULL : "no memory for a camera";
    if (made) {
        made->options = *options;
        made->manager = ACameraManager_create();
        fault = made->manager ? choose(made) : "this device has no cameras";
    }
    fault = fault ? fault : open_reader(made);
    fault = fault ? fault : open_device(made);
    fault = fault ? fault : start(made);
    if (fault) {
        (void)snprintf(error, error_size, "%s", fault);
        camera_close(&made);
    }
    return made;
}

/* ---- pictures ---- */

void *camera_take(void *context, mts_frame *frame)
{
    camera *self = context;
    AImage *image = NULL;
    if (AImageReader_acquireLatestImage(self->reader, &image) != AMEDIA_OK || !image) {
        return NULL;
    }
    const char *fault = image_frame(image, frame);
    if (fault) {
        AImage_delete(image);
        self->options.failed(self->options.context, fault);
        return NULL;
    }
    frame->region.rotation = frame_rotation(self->sensor, self->options.display, self->options.front);
    frame->region.mirror = self->options.front ? 1 : 0; /* as the preview shows it */
    return image;
}

bool camera_import(void *context, void *picture, mts_frame *frame)
{
    (void)context;
    return image_buffer(picture, frame);
}

void camera_release(void *context, void *picture)
{
    (void)context;
    AImage_delete(picture);
}

static void close_session(camera *self)
{
    if (self->session) {
        (void)ACameraCaptureSession_stopRepeating(self->session);
        ACameraCaptureSession_close(self->session);
    }
    if (self->request) {
        ACaptureRequest_free(self->request);
    }
    for (int i = 0; i < 2; i++) {
        if (self->targets[i]) {
            ACameraOutputTarget_free(self->targets[i]);
        }
        if (self->outputs[i]) {
            ACaptureSessionOutput_free(self->outputs[i]);
        }
    }
    if (self->container) {
        ACaptureSessionOutputContainer_free(self->container);
    }
}

void camera_close(camera **closed)
{
    camera *self = closed ? *closed : NULL;
    if (!self) {
        return;
    }
    if (self->reader) {
        (void)AImageReader_setImageListener(self->reader, NULL);
    }
    close_session(self);
    if (self->device) {
        (void)ACameraDevice_close(self->device);
    }
    if (self->reader) {
        AImageReader_delete(self->reader); /* last: its window was the session's */
    }
    if (self->manager) {
        ACameraManager_delete(self->manager);
    }
    free(self);
    *closed = NULL;
}
