/*
 * Stub of the NDK's camera/NdkCaptureRequest.h: what apps/android uses of it. See README.md.
 */
#ifndef STUB_CAMERA_NDK_CAPTURE_REQUEST_H
#define STUB_CAMERA_NDK_CAPTURE_REQUEST_H

#include <android/native_window.h>
#include <camera/NdkCameraError.h>

typedef ANativeWindow ACameraWindowType;
typedef struct ACameraOutputTarget ACameraOutputTarget;
typedef struct ACaptureRequest ACaptureRequest;

camera_status_t ACameraOutputTarget_create(ACameraWindowType *window, ACameraOutputTarget **output);
void ACameraOutputTarget_free(ACameraOutputTarget *output);
camera_status_t ACaptureRequest_addTarget(ACaptureRequest *request, const ACameraOutputTarget *output);
void ACaptureRequest_free(ACaptureRequest *request);

#endif
