/*
 * Stub of the NDK's media/NdkImageReader.h (API level 26): what apps/android uses of it. See README.md.
 */
#ifndef STUB_MEDIA_NDK_IMAGE_READER_H
#define STUB_MEDIA_NDK_IMAGE_READER_H

#include <android/native_window.h>
#include <media/NdkImage.h>

typedef struct AImageReader AImageReader;
typedef void (*AImageReader_ImageCallback)(void *context, AImageReader *reader);
typedef struct AImageReader_ImageListener {
    void *context;
    AImageReader_ImageCallback onImageAvailable;
} AImageReader_ImageListener;

media_status_t AImageReader_newWithUsage(int32_t width, int32_t height, int32_t format, uint64_t usage,
                                         int32_t maxImages, AImageReader **reader);
void AImageReader_delete(AImageReader *reader);
media_status_t AImageReader_getWindow(AImageReader *reader, ANativeWindow **window);
media_status_t AImageReader_acquireLatestImage(AImageReader *reader, AImage **image);
media_status_t AImageReader_setImageListener(AImageReader *reader, AImageReader_ImageListener *listener);

#endif
