/*
 * Stub of the NDK's camera/NdkCameraManager.h: what apps/android uses of it. See README.md.
 */
#ifndef STUB_CAMERA_NDK_CAMERA_MANAGER_H
#define STUB_CAMERA_NDK_CAMERA_MANAGER_H

#include <camera/NdkCameraDevice.h>
#include <camera/NdkCameraMetadata.h>

typedef struct ACameraManager ACameraManager;
typedef struct ACameraIdList {
    int numCameras;
    const char **cameraIds;
} ACameraIdList;

ACameraManager *ACameraManager_create(void);
void ACameraManager_delete(ACameraManager *manager);
camera_status_t ACameraManager_getCameraIdList(ACameraManager *manager, ACameraIdList **cameraIdList);
void ACameraManager_deleteCameraIdList(ACameraIdList *cameraIdList);
camera_status_t ACameraManager_getCameraCharacteristics(ACameraManager *manager, const char *cameraId,
                                                        ACameraMetadata **characteristics);
camera_status_t ACameraManager_openCamera(ACameraManager *manager, const char *cameraId,
                                          ACameraDevice_StateCallbacks *callback, ACameraDevice **device);

#endif
