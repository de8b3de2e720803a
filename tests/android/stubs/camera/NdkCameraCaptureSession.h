/*
 * Stub of the NDK's camera/NdkCameraCaptureSession.h: what apps/android uses of it. See README.md.
 */
#ifndef STUB_CAMERA_NDK_CAMERA_CAPTURE_SESSION_H
#define STUB_CAMERA_NDK_CAMERA_CAPTURE_SESSION_H

#include <camera/NdkCaptureRequest.h>

typedef struct ACameraCaptureSession ACameraCaptureSession;
typedef void (*ACameraCaptureSession_stateCallback)(void *context, ACameraCaptureSession *session);
typedef struct ACameraCaptureSession_stateCallbacks {
    void *context;
    ACameraCaptureSession_stateCallback onClosed;
    ACameraCaptureSession_stateCallback onReady;
    ACameraCaptureSession_stateCallback onActive;
} ACameraCaptureSession_stateCallbacks;
typedef struct ACameraCaptureSession_captureCallbacks ACameraCaptureSession_captureCallbacks;

void ACameraCaptureSession_close(ACameraCaptureSession *session);
camera_status_t ACameraCaptureSession_setRepeatingRequest(ACameraCaptureSession *session,
                                                          ACameraCaptureSession_captureCallbacks *callbacks,
                                                          int numRequests, ACaptureRequest **requests,
                                                          int *captureSequenceId);
camera_status_t ACameraCaptureSession_stopRepeating(ACameraCaptureSession *session);

#endif
