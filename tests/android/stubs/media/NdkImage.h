/*
 * Stub of the NDK's media/NdkImage.h (API level 26): what apps/android uses of it. See README.md.
 */
#ifndef STUB_MEDIA_NDK_IMAGE_H
#define STUB_MEDIA_NDK_IMAGE_H

#include <android/hardware_buffer.h>
#include <media/NdkMediaError.h>
#include <stdint.h>

typedef struct AImage AImage;

enum AIMAGE_FORMATS { AIMAGE_FORMAT_YUV_420_888 = 0x23, AIMAGE_FORMAT_PRIVATE = 0x22 };

typedef struct AImageCropRect {
    int32_t left;
    int32_t top;
    int32_t right;
    int32_t bottom;
} AImageCropRect;

void AImage_delete(AImage *image);
media_status_t AImage_getWidth(const AImage *image, int32_t *width);
media_status_t AImage_getHeight(const AImage *image, int32_t *height);
media_status_t AImage_getFormat(const AImage *image, int32_t *format);
media_status_t AImage_getCropRect(const AImage *image, AImageCropRect *rect);
media_status_t AImage_getNumberOfPlanes(const AImage *image, int32_t *numPlanes);
media_status_t AImage_getPlanePixelStride(const AImage *image, int planeIdx, int32_t *pixelStride);
media_status_t AImage_getPlaneRowStride(const AImage *image, int planeIdx, int32_t *rowStride);
media_status_t AImage_getPlaneData(const AImage *image, int planeIdx, uint8_t **data, int *dataLength);
media_status_t AImage_getHardwareBuffer(const AImage *image, AHardwareBuffer **buffer);

#endif
