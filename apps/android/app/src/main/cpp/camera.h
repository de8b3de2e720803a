/*
 * camera.h: one camera of the device, through the NDK: pictures for the networks, and the
 * same ones on a window.
 *
 * Opened and closed by the Activity's thread; camera_take and camera_release are called
 * by another one in between. Every picture that was taken is released before
 * camera_close.
 */
#ifndef MTS_ANDROID_CAMERA_H
#define MTS_ANDROID_CAMERA_H

#include <android/native_window.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frames.h"
#include "mts/mts.h"

typedef struct camera_options {
    bool front;        /* else the one that looks away from the viewer */
    int32_t display;   /* degrees by which the screen is turned */
    frame_size wanted; /* at least */
    int32_t held;      /* pictures that are out at the same time, at most */
    ANativeWindow *
        preview; /* shows what the camera sees; NULL: nothing does. The caller keeps it valid until camera_close */
    void *context; /* of the following, which may be called from any thread until camera_close returns */
    void (*ready)(void *context); /* a picture has come */
    /* A sentence: a picture cannot be used, and the next one may do; or the camera is
       gone, and none comes */
    void (*failed)(void *context, const char *reason);
} camera_options;

typedef struct camera camera;

/* NULL: a sentence was written. The app has the permission to use cameras. */
camera *camera_open(const camera_options *options, char *error, size_t error_size);
/* Functions of an engine_source; `context` is the camera. */
void *camera_take(void *context, mts_frame *frame);
bool camera_import(void *context, void *picture, mts_frame *frame);
void camera_release(void *context, void *picture);
/* NULL and pointers to NULL are fine. */
void camera_close(camera **closed);

#endif
