/*
 * Stub of the NDK's camera/NdkCameraDevice.h: what apps/android uses of it. See README.md.
 */
#ifndef STUB_CAMERA_NDK_CAMERA_DEVICE_H
#define STUB_CAMERA_NDK_CAMERA_DEVICE_H

#include <camera/NdkCameraCaptureSession.h>

typedef struct ACameraDevice ACameraDevice;
typedef void (*ACameraDevice_StateCallback)(void *context, ACameraDevice *device);
typedef void (*ACameraDevice_ErrorStateCallback)(void *context, ACameraDevice *device, int error);
typedef struct ACameraDevice_StateCallbacks {
    void *context;
    ACameraDevice_StateCallback onDisconnected;
    ACameraDevice_ErrorStateCallback onError;
} ACameraDevice_StateCallbacks;

typedef enum {
    TEMPLATE_PREVIEW = 1,
    TEMPLATE_STILL_CAPTURE = 2,
    TEMPLATE_RECORD = 3
} ACameraDevice_request_template;

typedef struct ACaptureSessionOutput ACaptureSessionOutput;
typedef struct ACaptureSessionOutputContainer ACaptureSessionOutputContainer;

camera_status_t ACameraDevice_close(ACameraDevice *device);
camera_status_t ACameraDevice_createCaptureRequest(const ACameraDevice *device,
                                                   ACameraDevice_request_template templateId,
                                                   ACaptureRequest **request);
camera_status_t ACaptureSessionOutputContainer_create(ACaptureSessionOutputContainer **container);
void ACaptureSessionOutputContainer_free(ACaptureSessionOutputContainer *container);
camera_status_t ACaptureSessionOutputContainer_add(ACaptureSessionOutputContainer *container,
                                                   const ACaptureSessionOutput *output);
camera_status_t ACaptureSessionOutput_create(ACameraWindowType *anw, ACaptureSessionOutput **output);
void ACaptureSessionOutput_free(ACaptureSessionOutput *output);
camera_status_t ACameraDevice_createCaptureSession(ACameraDevice *device,
                                                   const ACaptureSessionOutputContainer *outputs,
                                                   const ACameraCaptureSession_stateCallbacks *callbacks,
                                                   ACameraCaptureSession **session);

#endif
